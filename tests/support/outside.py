"""Learners and losses as users write them: they are in no list of the package."""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

#: A number that a formula takes from its module.
POWER = 0.5


class Weights(NamedTuple):
    w: np.ndarray


def step_size(rate, t):
    return rate / t**POWER


class Descent(NamedTuple):
    """Gradient descent: no more than what a learner must declare."""

    rate: float = 1.0

    State = Weights

    def initial_state(self):
        return Weights(w=0.0)

    def weight(self, s, i, x, t):
        return s.w[i]

    def update(self, s, i, x, g, w, t):
        s.w[i] -= step_size(self.rate, t) * g * x


class MergingDescent(Descent):
    """The same, with what it takes to merge models."""

    __slots__ = ()

    def merged(self, s, shared, w, x, t):
        return Weights(w), None


class SqrtLoss(NamedTuple):
    r"""A smooth hinge, :math:`\sqrt{a + m^2} - m` of the margin ``m = y p``."""

    softness: float = 1.0

    is_classification = True
    joint = False
    lipschitz = 2.0

    def value(self, y, p):
        return np.sqrt(self.softness + p * p) - y * p

    def gradient(self, y, p):
        return p / np.sqrt(self.softness + p * p) - y


class CoshLoss(NamedTuple):
    r"""The smooth absolute error :math:`\sqrt{1 + (p - y)^2} - 1`."""

    is_classification = False
    joint = False
    lipschitz = 1.0

    def value(self, y, p):
        return np.sqrt(1.0 + (p - y) ** 2) - 1.0

    def gradient(self, y, p):
        return (p - y) / np.sqrt(1.0 + (p - y) ** 2)


class MarginLoss(NamedTuple):
    """Sum of hinge losses of the differences from the score of the right class."""

    is_classification = True
    joint = True
    lipschitz = 100.0

    def value(self, y, p):
        own = np.take_along_axis(p, np.reshape(y, (-1, 1)), axis=1)
        return np.maximum(1.0 + p - own, 0.0).sum(axis=1) - 1.0

    def row_value(self, y, p):
        total = -1.0
        for k in range(p.size):
            total += max(1.0 + p[k] - p[y], 0.0)
        return total

    def row_gradient(self, y, p, g):
        own = 0.0
        for k in range(p.size):
            g[k] = 1.0 if 1.0 + p[k] > p[y] else 0.0
            own += g[k]
        g[y] -= own


class Arrays(NamedTuple):
    """State of online least squares, for each output."""

    w: np.ndarray  # weights
    P: np.ndarray  # inverse of the matrix of second moments


class LeastSquares(NamedTuple):
    """Recursive least squares, with a penalty on squared weights: sees rows whole."""

    penalty: float = 1.0

    State = Arrays

    def initial_arrays(self, n_outputs, n_coordinates):
        P = np.empty((n_outputs, n_coordinates, n_coordinates))
        P[:] = np.eye(n_coordinates) / self.penalty
        return Arrays(np.zeros((n_outputs, n_coordinates)), P)

    def score(self, s, k, x, t):
        p = 0.0
        for j in range(x.size):
            p += s.w[k, j] * x[j]
        return p

    def learn(self, s, k, x, g, t):
        n, w, P = x.size, s.w[k], s.P[k]
        v = np.zeros(n)
        denominator = 1.0
        for i in range(n):
            for j in range(n):
                v[i] += P[i, j] * x[j]
            denominator += v[i] * x[i]
        for i in range(n):
            w[i] -= g * v[i] / denominator
            for j in range(n):
                P[i, j] -= v[i] * v[j] / denominator

    def weights(self, s, t):
        return s.w


class MeansOfDays(TransformerMixin, BaseEstimator):
    """A step: number of rows of the same day before, and mean of their targets."""

    def partial_fit(self, X, y=None, *, classes=None):
        self.observe(X)
        return self if y is None else self.learn_labels(X, y)

    def partial_fit_transform(self, X, y, *, classes=None):
        rows = []
        for x, target in zip(X, y, strict=True):
            rows.append(self.observe_transform([x])[0])
            self.learn_labels([x], [target])
        return np.array(rows)

    def observe(self, X):
        self.observe_transform(X)
        return self

    def observe_transform(self, X):
        if not hasattr(self, "n_rows_"):
            self.n_rows_, self.sums_, self.n_labels_ = np.zeros((3, 7))
        rows = []
        for (day,) in X:
            rows.append(MeansOfDays.transform(self, [[day]])[0])
            self.n_rows_[day] += 1
        return np.array(rows)

    def learn_labels(self, X, y, *, classes=None):
        for (day,), target in zip(X, y, strict=True):
            self.sums_[day] += target
            self.n_labels_[day] += 1
        return self

    def transform(self, X):
        days = np.ravel(X)
        means = self.sums_[days] / (1.0 + self.n_labels_[days])
        return np.column_stack([np.log1p(self.n_rows_[days]), means])
