"""Slow references in plain Python, written straight from the papers' pseudo-code.

One row and one coordinate at a time, on lists of floats; sums are plain sums over the
recorded trials. Nothing here is shared with the package. The equations are those of

M. Kempka, W. Kotłowski, M. K. Warmuth: Adaptive Scale-Invariant Online Algorithms for
Learning Linear Models, ICML 2019: Algorithms 1 and 2 (one output), 3 and 4 (several
outputs, Appendix G), Theorems 3.1, 3.2, G.1 and G.2.
"""

import copy
import math


class Logistic:
    """ln(1 + exp(-yp)), y = +1 or -1."""

    lipschitz = 1.0

    def value(self, y, p):
        margin = y * p
        return math.log1p(math.exp(-abs(margin))) + max(0.0, -margin)

    def gradient(self, y, p):
        margin = y * p
        if margin > 0.0:
            return -y * math.exp(-margin) / (1.0 + math.exp(-margin))
        return -y / (1.0 + math.exp(margin))


class Hinge:
    """max(0, 1 - yp), y = +1 or -1."""

    lipschitz = 1.0

    def value(self, y, p):
        return max(0.0, 1.0 - y * p)

    def gradient(self, y, p):
        return -y if y * p <= 1.0 else 0.0


class AbsoluteError:
    """|p - y|."""

    lipschitz = 1.0

    def value(self, y, p):
        return abs(p - y)

    def gradient(self, y, p):
        return sign(p - y)


class Huber:
    """(p - y)^2 / 2 as far as |p - y| <= epsilon, from there on with slope epsilon."""

    def __init__(self, epsilon=0.1):
        self.epsilon = self.lipschitz = epsilon

    def value(self, y, p):
        residual = abs(p - y)
        if residual <= self.epsilon:
            return residual**2 / 2.0
        return self.epsilon * residual - self.epsilon**2 / 2.0

    def gradient(self, y, p):
        if abs(p - y) <= self.epsilon:
            return p - y
        return self.epsilon * sign(p - y)


class EpsilonInsensitive:
    """max(0, |p - y| - epsilon)."""

    lipschitz = 1.0

    def __init__(self, epsilon=0.1):
        self.epsilon = epsilon

    def value(self, y, p):
        return max(0.0, abs(p - y) - self.epsilon)

    def gradient(self, y, p):
        return sign(p - y) if abs(p - y) > self.epsilon else 0.0


class Quantile:
    """quantile * (y - p) below the target, (1 - quantile) * (p - y) above it."""

    def __init__(self, quantile=0.5):
        self.quantile = quantile
        self.lipschitz = max(quantile, 1.0 - quantile)

    def value(self, y, p):
        return self.quantile * (y - p) if p < y else (1.0 - self.quantile) * (p - y)

    def gradient(self, y, p):
        if p == y:
            return 0.0
        return -self.quantile if p < y else 1.0 - self.quantile


class Separate:
    """The sum over the outputs of a loss of one output; y is a list of targets."""

    def __init__(self, loss):
        self.loss = loss
        self.lipschitz = loss.lipschitz

    def value(self, y, p):
        return sum(self.loss.value(y_k, p_k) for y_k, p_k in zip(y, p, strict=True))

    def gradient(self, y, p):
        return [self.loss.gradient(y_k, p_k) for y_k, p_k in zip(y, p, strict=True)]


class CrossEntropy:
    """ln sum_k exp(p_k) - p_y, where y is the index of a class."""

    lipschitz = 1.0

    def value(self, y, p):
        largest = max(p)
        return largest + math.log(sum(math.exp(p_k - largest) for p_k in p)) - p[y]

    def gradient(self, y, p):
        largest = max(p)
        total = sum(math.exp(p_k - largest) for p_k in p)
        return [
            math.exp(p_k - largest) / total - (1.0 if k == y else 0.0)
            for k, p_k in enumerate(p)
        ]


#: By the names that the estimators give them.
LOSSES = {
    "log_loss": Logistic,
    "hinge": Hinge,
    "absolute_error": AbsoluteError,
    "huber": Huber,
    "epsilon_insensitive": EpsilonInsensitive,
    "quantile": Quantile,
}


class ScInOL1:
    """Algorithms 1 and 3."""

    def __init__(self, n_coordinates, n_outputs, epsilon):
        self.epsilon = epsilon
        self.t = 0
        self.M = [0.0] * n_coordinates
        self.G = matrix(n_coordinates, n_outputs, 0.0)
        self.S2 = matrix(n_coordinates, n_outputs, 0.0)
        self.beta = matrix(n_coordinates, n_outputs, epsilon)

    def receive(self, x):
        self.t += 1
        for i, x_i in enumerate(x):
            self.M[i] = max(self.M[i], abs(x_i))
            if x_i == 0.0:
                continue  # the convention c/0 = infinity
            for k in range(len(self.beta[i])):
                self.beta[i][k] = min(
                    self.beta[i][k],
                    self.epsilon * (self.S2[i][k] + self.M[i] ** 2) / (x_i**2 * self.t),
                )

    def weight(self, i, k):
        root = math.sqrt(self.S2[i][k] + self.M[i] ** 2)
        if root == 0.0:
            return 0.0  # the convention 0/0 = 0
        theta = self.G[i][k] / root
        return (
            self.beta[i][k] * sign(theta) / (2.0 * root) * math.expm1(abs(theta) / 2.0)
        )

    def learn(self, x, g):
        for i, x_i in enumerate(x):
            for k, g_k in enumerate(g):
                self.G[i][k] -= g_k * x_i
                self.S2[i][k] += (g_k * x_i) ** 2

    @staticmethod
    def bound(u, root, x_tau, n_trials, epsilon):
        """The term of one coordinate and output in Theorems 3.1 and G.1."""
        u = abs(u)
        return 2.0 * u * root * math.log(
            1.0 + 2.0 * u * root * n_trials / epsilon
        ) + epsilon * (1.0 + math.log(n_trials))


class ScInOL2:
    """Algorithms 2 and 4."""

    def __init__(self, n_coordinates, n_outputs, epsilon):
        self.M = [0.0] * n_coordinates
        self.G = matrix(n_coordinates, n_outputs, 0.0)
        self.S2 = matrix(n_coordinates, n_outputs, 0.0)
        self.eta = matrix(n_coordinates, n_outputs, epsilon)

    def receive(self, x):
        for i, x_i in enumerate(x):
            self.M[i] = max(self.M[i], abs(x_i))

    def weight(self, i, k):
        root = math.sqrt(self.S2[i][k] + self.M[i] ** 2)
        if root == 0.0:
            return 0.0  # the convention 0/0 = 0
        theta = self.G[i][k] / root
        return sign(theta) * min(abs(theta), 1.0) / (2.0 * root) * self.eta[i][k]

    def learn(self, x, g):
        for i, x_i in enumerate(x):
            for k, g_k in enumerate(g):
                w = self.weight(i, k)
                self.G[i][k] -= g_k * x_i
                self.S2[i][k] += (g_k * x_i) ** 2
                self.eta[i][k] -= g_k * x_i * w

    @staticmethod
    def bound(u, root, x_tau, n_trials, epsilon):
        """The term of one coordinate and output in Theorems 3.2 and G.2."""
        u = abs(u)
        if u == 0.0:
            return epsilon
        return epsilon + 2.0 * u * root * (
            math.log(3.0 * u * root**3 / epsilon / x_tau**2) - 1.0
        )


ALGORITHMS = {"scinol1": ScInOL1, "scinol2": ScInOL2}


class Model:
    """A linear model learned row by row by one of `ALGORITHMS`.

    The papers take a loss with Lipschitz constant 1. A row of weight c under a loss
    with Lipschitz constant L is the row L * c * x under a loss whose gradient is g / L;
    the prediction is that of the row itself. The intercept is a feature that is always
    1. With `center`, the learner is run on the rows minus their running mean (that row
    included). `average` is the first trial whose weights enter the average, 0 for none.
    """

    def __init__(
        self,
        algorithm,
        loss,
        n_features,
        n_outputs=1,
        *,
        initial_wealth=1.0,
        center=False,
        fit_intercept=True,
        average=0,
    ):
        self.algorithm = ALGORITHMS[algorithm](
            n_features + fit_intercept, n_outputs, initial_wealth
        )
        self.loss = loss
        self.n_features = n_features
        self.n_outputs = n_outputs
        self.initial_wealth = initial_wealth
        self.center = center
        self.fit_intercept = fit_intercept
        self.average = average
        self.mean = [0.0] * n_features
        self.total_weight = 0.0
        # One entry a trial: the row as centred, its weight, its target, the prediction
        # that was charged for, the gradient there, the weights after the trial.
        self.trials = []

    def learn(self, x, y, sample_weight=1.0):
        """Learn from a row of positive weight, return the prediction charged for."""
        x, sample_weight = [float(x_i) for x_i in x], float(sample_weight)
        z = self._centred(x, sample_weight)
        scaled = [self.loss.lipschitz * sample_weight * z_i for z_i in z]
        self.algorithm.receive(scaled)
        p = self._dot(self._weights(self.algorithm), z)
        g = self.loss.gradient(y, p)
        self.algorithm.learn(scaled, [g_k / self.loss.lipschitz for g_k in g])

        self.total_weight += sample_weight
        if self.center:
            share = sample_weight / self.total_weight
            for i in range(self.n_features):
                self.mean[i] += (x[i] - self.mean[i]) * share
        self.trials.append((z, sample_weight, y, p, g, self._weights(self.algorithm)))
        return p

    def decision_function(self, x, sample_weight=1.0):
        """The prediction of the row, were it the next one; nothing is stored."""
        z = self._centred(x, sample_weight)
        if self._averaging():
            return self._dot(self._average(), z)
        algorithm = copy.deepcopy(self.algorithm)
        algorithm.receive([self.loss.lipschitz * sample_weight * z_i for z_i in z])
        return self._dot(self._weights(algorithm), z)

    @property
    def coef(self):
        """Rows of coefficients, one an output, in the units of the rows given."""
        shrink = self._shrink(1.0)
        weights = (
            self._average() if self._averaging() else self._weights(self.algorithm)
        )
        return [
            [weights[i][k] * shrink for i in range(self.n_features)]
            for k in range(self.n_outputs)
        ]

    @property
    def intercept(self):
        """One intercept an output, in the units of the rows given."""
        at_mean = self.decision_function(self.mean)
        return [
            p - sum(c * m for c, m in zip(coef, self.mean, strict=True))
            for p, coef in zip(at_mean, self.coef, strict=True)
        ]

    @property
    def cumulative_loss(self):
        return sum(c * self.loss.value(y, p) for _, c, y, p, _, _ in self.trials)

    def comparator_loss(self, coef, intercept):
        """The loss over all trials of a fixed model, on the rows as centred."""
        u = self._comparator(coef, intercept)
        return sum(
            c * self.loss.value(y, self._dot(u, z)) for z, c, y, _, _, _ in self.trials
        )

    def regret_bound(self, coef, intercept):
        """Theorems 3.1, 3.2, G.1, G.2 from the recorded trials."""
        u = self._comparator(coef, intercept)
        lipschitz = self.loss.lipschitz
        total = 0.0
        for i in range(self.n_features + self.fit_intercept):
            x = [lipschitz * c * z[i] for z, c, _, _, _, _ in self.trials]
            nonzero = [abs(x_t) for x_t in x if x_t != 0.0]
            if not nonzero:
                continue
            for k in range(self.n_outputs):
                g = [g[k] / lipschitz for _, _, _, _, g, _ in self.trials]
                squares = sum((g_t * x_t) ** 2 for g_t, x_t in zip(g, x, strict=True))
                total += self.algorithm.bound(
                    u[i][k],
                    math.sqrt(squares + max(nonzero) ** 2),
                    nonzero[0],
                    len(self.trials),
                    self.initial_wealth,
                )
        return total

    def _centred(self, x, sample_weight):
        z = [float(x_i) for x_i in x]
        if self.center:
            shrink = self._shrink(sample_weight)
            z = [(x_i - m) * shrink for x_i, m in zip(z, self.mean, strict=True)]
        return z + [1.0] * self.fit_intercept

    def _shrink(self, sample_weight):
        """What is left of the distance to the mean once the row is in the mean."""
        if not self.center:
            return 1.0
        return self.total_weight / (self.total_weight + sample_weight)

    def _weights(self, algorithm):
        return [
            [algorithm.weight(i, k) for k in range(self.n_outputs)]
            for i in range(self.n_features + self.fit_intercept)
        ]

    def _averaging(self):
        return 0 < self.average <= len(self.trials)

    def _average(self):
        after = [trial[-1] for trial in self.trials[int(self.average) - 1 :]]
        return [
            [sum(w[i][k] for w in after) / len(after) for k in range(self.n_outputs)]
            for i in range(self.n_features + self.fit_intercept)
        ]

    def _comparator(self, coef, intercept):
        """The matrix of a comparator, coordinates by outputs."""
        u = [[coef[k][i] for k in range(self.n_outputs)] for i in range(len(coef[0]))]
        return u + [list(intercept)] * self.fit_intercept

    def _dot(self, weights, z):
        return [
            sum(w[k] * z_i for w, z_i in zip(weights, z, strict=True))
            for k in range(self.n_outputs)
        ]


def matrix(n_rows, n_columns, value):
    return [[value] * n_columns for _ in range(n_rows)]


def sign(a):
    return math.copysign(1.0, a) if a != 0.0 else 0.0
