"""Slow reference of learning with kernels, like those of `naive`.

Norms are double sums over the stored rows; what depends on all trials is summed over
all trials every time. Factors of weights, and bounds, are those of `naive`. Later rows
are projected to the span of others as in

F. Orabona, J. Keshet, B. Caputo: Bounded Kernel-Based Online Learning, JMLR 10, 2009.
"""

import math

import numpy as np

from support.naive import ALGORITHMS, Weights, decimals, in_decimals

#: By the names that the estimators give them.
KERNELS = {
    "rbf": lambda a, b, gamma: math.exp(-gamma * np.sum((a - b) ** 2)),
    "laplacian": lambda a, b, gamma: math.exp(-gamma * np.sum(np.abs(a - b))),
    "poly": lambda a, b, gamma, degree, coef0: (gamma * (a @ b) + coef0) ** degree,
    "cosine": lambda a, b: a @ b / math.sqrt(a @ a) / math.sqrt(b @ b),
}


class KernelModel:
    """Learned row by row.

    A row of weight c, relative to the first, is the vector c * phi(x). The intercept is
    a feature 1, which adds 1 to the kernel. `average` is the first trial whose weights
    enter the average, 0 for none. When `max_support` rows are stored, later ones are
    projected to their span.
    """

    def __init__(
        self,
        algorithm,
        loss,
        kernel,
        n_outputs=1,
        *,
        fit_intercept=True,
        average=0,
        max_support=math.inf,
        **parameters,
    ):
        self.algorithm = ALGORITHMS[algorithm](1, n_outputs, loss, **parameters)
        self.loss, self.kernel, self.fit_intercept = loss, kernel, fit_intercept
        self.average, self.max_support = average, max_support
        self.support, self.vectors = [], []  # numbers of stored rows, and these rows
        self.gram = np.zeros((0, 0))  # their kernels
        self.coef, self.sum_of_coef = np.zeros((2, n_outputs, 0))
        self.row_weights = Weights()
        self.squares, self.gradients, self.losses = [], [], []  # one entry a trial

    def learn(self, number, x, y, sample_weight=1.0):
        """Learn from row `number` of positive weight."""
        c = self.row_weights.learned(sample_weight)
        p = self.charged(x, c).tolist()
        gradients = self.loss.gradient(y, p)
        self.squares.append(c**2 * self.square(x))
        self.gradients.append(gradients)
        self.losses.append(c * self.loss.value(y, p))
        if any(gradients):
            shares = self.shares(number, x)
            self.coef -= c * np.outer(gradients, shares)
        if self.averages:
            self.sum_of_coef += self.at_rest()

    def shares(self, number, x):
        """Return the stored rows' shares in a row, which may be stored first."""
        if number not in self.support and len(self.support) < self.max_support:
            k = [*self.kernels(x), self.k(x, x)]
            self.gram = np.pad(self.gram, (0, 1))
            self.gram[-1] = self.gram[:, -1] = k
            self.support.append(number)
            self.vectors.append(x)
            self.coef, self.sum_of_coef = (
                np.pad(each, ((0, 0), (0, 1))) for each in (self.coef, self.sum_of_coef)
            )
        if number in self.support:
            return np.equal(self.support, number)
        return self.projection(x)

    def k(self, a, b):
        return self.kernel(a, b) + self.fit_intercept

    def kernels(self, x):
        return np.array([self.k(x, x_s) for x_s in self.vectors])

    def projection(self, x):
        """Coefficients of the nearest point in the span of the stored rows."""
        return np.linalg.pinv(self.gram, rcond=1e-10) @ self.kernels(x)

    def square(self, x):
        """Squared norm of a row, as the algorithm sees it."""
        if len(self.support) < self.max_support:
            return self.k(x, x)
        return max(0.0, self.projection(x) @ self.kernels(x))

    def weights(self, squares):
        """Coefficients of the weights, for each output."""
        norms = np.sqrt(np.maximum(np.sum(self.coef @ self.gram * self.coef, 1), 0.0))
        with in_decimals():
            of_rows = decimals(np.sqrt(squares))
            factors = [self.algorithm.factor(u, of_rows) for u in decimals(norms)]
        return np.array(factors, float)[:, np.newaxis] * self.coef

    def at_rest(self):
        """Return weights without a row to predict."""
        return self.weights([*self.squares, 0.0])

    def charged(self, x, c, square=None):
        """The prediction that the row is charged for, if it is the next."""
        square = self.square(x) if square is None else square
        return self.weights([*self.squares, c**2 * square]) @ self.kernels(x)

    def decision_function(self, x, sample_weight=None, square=None):
        """The prediction of a row, for which another squared norm may be assumed."""
        if not self.averages:
            return self.charged(x, self.row_weights.predicted(sample_weight), square)
        return self.dual_coef @ self.kernels(x)

    @property
    def averages(self):
        return 0 < self.average <= len(self.squares)

    @property
    def dual_coef(self):
        if not self.averages:
            return self.at_rest()
        return self.sum_of_coef / (len(self.squares) - self.average + 1)

    @property
    def intercept(self):
        return self.dual_coef.sum(axis=1) * self.fit_intercept

    @property
    def cumulative_loss(self):
        return self.row_weights.unit * math.fsum(self.losses)

    def regret_bound(self, coef, intercept):
        """Against combinations of the stored rows, one an output."""
        squares = np.sum(coef @ (self.gram - self.fit_intercept) * coef, axis=1)
        norms = np.hypot(np.sqrt(np.maximum(squares, 0.0)), intercept)
        of_rows = np.sqrt(self.squares)
        gradients = np.reshape(self.gradients, (-1, len(norms), 1)).swapaxes(0, 1)
        with in_decimals():
            of_rows, gradients = decimals(of_rows), decimals(gradients * 1.0)
            bounds = [
                self.algorithm.bound(u, [*of_rows], g * of_rows[:, np.newaxis])
                for u, g in zip(decimals(norms), gradients, strict=True)
            ]
        return self.row_weights.unit * float(sum(bounds))
