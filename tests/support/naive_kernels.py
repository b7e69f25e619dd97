"""Slow reference of learning with kernels, in plain Python like those of `naive`.

A model is a list of stored rows and their coefficients; norms are double sums over the
stored rows, and what depends on all trials is summed over all trials every time. The
equations are those of

F. Orabona: Dimension-Free Exponentiated Gradient, NIPS 2013: Algorithm 1, Theorem 1,
Section 5.

F. Orabona, J. Keshet, B. Caputo: Bounded Kernel-Based Online Learning, JMLR 10, 2009:
the projection of rows to the span of others.
"""

import math

import numpy as np

from support.naive import Weights

__all__ = ["KERNELS", "KernelModel"]


def rbf(a, b, gamma):
    return math.exp(-gamma * sum((a_i - b_i) ** 2 for a_i, b_i in pairs(a, b)))


def laplacian(a, b, gamma):
    return math.exp(-gamma * sum(abs(a_i - b_i) for a_i, b_i in pairs(a, b)))


def poly(a, b, gamma, degree, coef0):
    return (gamma * inner(a, b) + coef0) ** degree


def cosine(a, b):
    return inner(a, b) / math.sqrt(inner(a, a)) / math.sqrt(inner(b, b))


def inner(a, b):
    return sum((a_i * b_i for a_i, b_i in pairs(a, b)), 0.0)


def pairs(a, b):
    return zip(a, b, strict=True)


#: By the names that the estimators give them.
KERNELS = {"rbf": rbf, "laplacian": laplacian, "poly": poly, "cosine": cosine}


class DFEG:
    """Algorithm 1. `squares` has the squared norms of the rows so far."""

    def __init__(self, lipschitz, *, a=0.882, delta=1.0):
        self.lipschitz, self.a, self.delta = lipschitz, a, delta

    def H(self, squares):
        return self.delta + math.fsum(
            self.lipschitz**2 * max(math.sqrt(q), q) for q in squares
        )

    def factor(self, norm, squares):
        """Return the factor of theta; the last of the rows is the one predicted."""
        H = self.H(squares)
        return math.exp(norm / (self.a * math.sqrt(H))) / H**1.5 / norm

    def bound(self, u, squares, gradients):
        """Theorem 1, for a comparator of norm `u`."""
        if not squares:
            return 0.0
        H = self.H(squares)
        constant = 4 * math.exp(1 + 1 / self.a) / self.lipschitz / math.sqrt(self.delta)
        if u == 0:
            return constant
        return constant + self.a * u * math.sqrt(H) * (math.log(H**1.5 * u) - 1)


class KernelGD:
    """The competitor of Section 5."""

    def __init__(self, lipschitz, *, learning_rate=1.0):
        self.eta = learning_rate

    def factor(self, norm, squares):
        return self.eta / (2 * math.sqrt(len(squares)))

    def bound(self, u, squares, gradients):
        steps = (
            self.eta * g**2 * q / (4 * math.sqrt(t))
            for t, (g, q) in enumerate(pairs(gradients, squares), start=1)
        )
        return math.sqrt(len(squares)) / self.eta * u**2 + math.fsum(steps)


ALGORITHMS = {"dfeg": DFEG, "kernel_gd": KernelGD}


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
        self.algorithm = ALGORITHMS[algorithm](loss.lipschitz, **parameters)
        self.loss = loss
        self.kernel = kernel
        self.n_outputs = n_outputs
        self.fit_intercept = fit_intercept
        self.average = average
        self.max_support = max_support
        self.support = []  # numbers of the stored rows
        self.vectors = []
        self.gram = []  # their kernels
        self.coef = [[] for _ in range(n_outputs)]
        self.sum_of_coef = [[] for _ in range(n_outputs)]  # at rest, as averaged
        self.row_weights = Weights()
        # One entry a trial.
        self.squares = []
        self.gradients = []
        self.losses = []

    def learn(self, number, x, y, sample_weight=1.0):
        """Learn from row `number` of positive weight; return what is charged for."""
        c = self.row_weights.learned(sample_weight)
        p = self.charged(x, c)
        gradients = self.loss.gradient(y, p)
        self.squares.append(c**2 * self.square(x))
        self.gradients.append(gradients)
        self.losses.append(c * self.loss.value(y, p))
        if any(gradients):
            for place, share in self.places(number, x):
                for coef, g in pairs(self.coef, gradients):
                    coef[place] -= c * g * share
        if self.averages:
            for total, coef in pairs(self.sum_of_coef, self.at_rest()):
                total[:] = [a + b for a, b in pairs(total, coef)]
        return p

    def places(self, number, x):
        """Return the coefficients that a row goes to, and their shares."""
        if number in self.support:
            return [(self.support.index(number), 1.0)]
        if len(self.support) < self.max_support:
            k = self.kernels(x)
            for row, k_s in pairs(self.gram, k):
                row.append(k_s)
            self.gram.append([*k, self.k(x, x)])
            self.support.append(number)
            self.vectors.append(x)
            for coef in self.coef + self.sum_of_coef:
                coef.append(0.0)
            return [(len(self.support) - 1, 1.0)]
        return list(enumerate(self.projection(x)))

    def k(self, a, b):
        return self.kernel(a, b) + self.fit_intercept

    def kernels(self, x):
        return [self.k(x, x_s) for x_s in self.vectors]

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
        weights = []
        for coef in self.coef:
            norm = math.sqrt(
                max(
                    0.0,
                    math.fsum(c * inner(coef, k) for c, k in pairs(coef, self.gram)),
                )
            )
            factor = self.algorithm.factor(norm, squares) if norm else 0.0
            weights.append([factor * c for c in coef])
        return weights

    def at_rest(self):
        """Return weights without a row to predict."""
        return self.weights([*self.squares, 0.0])

    def charged(self, x, c, square=None):
        """The prediction that the row is charged for, if it is the next."""
        square = self.square(x) if square is None else square
        weights = self.weights([*self.squares, c**2 * square])
        return self.combined(weights, x)

    def decision_function(self, x, sample_weight=None, square=None):
        """The prediction of a row, for which another squared norm may be assumed."""
        if not self.averages:
            return self.charged(x, self.row_weights.predicted(sample_weight), square)
        return self.combined(self.dual_coef, x)

    def combined(self, weights, x):
        k = self.kernels(x)
        return [inner(w, k) for w in weights]

    @property
    def averages(self):
        return 0 < self.average <= len(self.squares)

    @property
    def dual_coef(self):
        if not self.averages:
            return self.at_rest()
        n = len(self.squares) - self.average + 1
        return [[c / n for c in total] for total in self.sum_of_coef]

    @property
    def intercept(self):
        return [sum(coef) * self.fit_intercept for coef in self.dual_coef]

    @property
    def cumulative_loss(self):
        return self.row_weights.unit * math.fsum(self.losses)

    def regret_bound(self, coef, intercept):
        """Against combinations of the stored rows, one an output."""
        gram = [[k - self.fit_intercept for k in row] for row in self.gram]
        total = 0.0
        for k in range(self.n_outputs):
            square = math.fsum(
                c * inner(coef[k], row) for c, row in pairs(coef[k], gram)
            )
            u = math.hypot(math.sqrt(max(0.0, square)), intercept[k])
            gradients = [g[k] for g in self.gradients]
            total += self.algorithm.bound(u, self.squares, gradients)
        return self.row_weights.unit * total
