"""Losses of a linear prediction: value, derivative, Lipschitz constant, link.

A loss is a NamedTuple of its parameters. `y` is the target, `p` the prediction
:math:`\\langle w, x \\rangle`. `gradient` is the derivative with respect to `p`; where
the loss has a kink it is a subgradient. It runs on arrays and, compiled, on scalars.

A *joint* loss couples the outputs: `y` is then the index of a class, the last axis of
`p` runs over the classes, and `gradient` takes one row.

Losses whose predictions are log odds have `log_probabilities`, the link.

To add one, write its class here and name it in :data:`CLASSIFICATION` or
:data:`REGRESSION`; a parameter of the loss is a parameter of the estimator.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import log_expit, log_softmax

__all__ = [
    "CLASSIFICATION",
    "REGRESSION",
    "AbsoluteError",
    "CrossEntropy",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Quantile",
]


class Logistic(NamedTuple):
    r"""Logistic loss :math:`\ln(1 + e^{-yp})`, for :math:`y = \pm 1`."""

    joint = False
    lipschitz = 1.0

    def value(self, y, p):
        return np.maximum(-y * p, 0.0) + np.log1p(np.exp(-np.abs(p)))

    def gradient(self, y, p):
        return -y / (1.0 + np.exp(y * p))

    def log_probabilities(self, p):
        """Of the two classes, from predictions of shape (n, 1)."""
        return log_expit(np.hstack([-p, p]))


class CrossEntropy(NamedTuple):
    r"""Multinomial logistic loss :math:`\ln \sum_k e^{p_k} - p_y`."""

    joint = True
    lipschitz = 1.0

    def value(self, y, p):
        of_class = np.asarray(y)[..., np.newaxis]
        return -np.take_along_axis(log_softmax(p, axis=-1), of_class, axis=-1)[..., 0]

    def gradient(self, y, p):
        g = np.exp(p - p.max())
        g /= g.sum()
        g[y] -= 1.0
        return g

    def log_probabilities(self, p):
        """Of the classes, from predictions of shape (n, K)."""
        return log_softmax(p, axis=-1)


class Hinge(NamedTuple):
    r"""Hinge loss :math:`\max(0, 1 - yp)`, for :math:`y = \pm 1`."""

    joint = False
    lipschitz = 1.0

    def value(self, y, p):
        return np.maximum(1.0 - y * p, 0.0)

    def gradient(self, y, p):
        return -y * (y * p <= 1.0)


class AbsoluteError(NamedTuple):
    r"""Absolute error :math:`|p - y|`."""

    joint = False
    lipschitz = 1.0

    def value(self, y, p):
        return np.abs(p - y)

    def gradient(self, y, p):
        return np.sign(p - y)


class Huber(NamedTuple):
    r"""Huber loss: half the squared error up to `epsilon`, linear beyond."""

    epsilon: float = 0.1

    joint = False

    @property
    def lipschitz(self):
        return self.epsilon

    def value(self, y, p):
        r = np.abs(p - y)
        inside = np.minimum(r, self.epsilon)
        return inside * (r - 0.5 * inside)

    def gradient(self, y, p):
        return np.minimum(np.maximum(p - y, -self.epsilon), self.epsilon)


class EpsilonInsensitive(NamedTuple):
    r"""Absolute error beyond a tube: :math:`\max(0, |p - y| - \epsilon)`."""

    epsilon: float = 0.1

    joint = False
    lipschitz = 1.0

    def value(self, y, p):
        return np.maximum(np.abs(p - y) - self.epsilon, 0.0)

    def gradient(self, y, p):
        return np.sign(p - y) * (np.abs(p - y) > self.epsilon)


class Quantile(NamedTuple):
    r"""Pinball loss: slope `quantile` below the target, ``1 - quantile`` above it."""

    quantile: float = 0.5

    joint = False

    @property
    def lipschitz(self):
        return max(self.quantile, 1.0 - self.quantile)

    def value(self, y, p):
        return np.maximum(self.quantile * (y - p), (1.0 - self.quantile) * (p - y))

    def gradient(self, y, p):
        return (1.0 - self.quantile) * (p > y) - self.quantile * (p < y)


#: For each name the losses for two classes (one output) and for more (one a class).
CLASSIFICATION = {"log_loss": (Logistic, CrossEntropy), "hinge": (Hinge, Hinge)}

REGRESSION = {
    "absolute_error": AbsoluteError,
    "huber": Huber,
    "epsilon_insensitive": EpsilonInsensitive,
    "quantile": Quantile,
}
