"""Regression losses."""

from typing import NamedTuple

import numpy as np

from .._portable import difference, larger, smaller
from .steps import linear_step, quadratic_step


class AbsoluteError(NamedTuple):
    r"""Absolute error :math:`|p - y|`."""

    is_classification = False
    joint = False
    piecewise_linear = True
    lipschitz = 1.0

    def value(self, y, p):
        return np.abs(difference(p, y))

    def gradient(self, y, p):
        return np.sign(p - y)

    def minimiser(self, y, p):
        return y

    def proximal(self, y, p, s):
        u, decrease = linear_step(np.abs(p - y), 1.0, s)
        return np.sign(y - p) * u, decrease


class SquaredError(NamedTuple):
    r"""Half the squared error, :math:`(p - y)^2 / 2`."""

    is_classification = False
    joint = False
    piecewise_linear = False
    lipschitz = np.inf

    def value(self, y, p):
        return 0.5 * difference(p, y) ** 2

    def gradient(self, y, p):
        return p - y

    def stiffness(self, y, p, slope):
        return 1.0

    def minimiser(self, y, p):
        return y

    def proximal(self, y, p, s):
        return quadratic_step(y - p, s)


class Huber(NamedTuple):
    r"""Huber loss: half the squared error up to `epsilon`, linear beyond."""

    epsilon: float = 0.1

    is_classification = False
    joint = False
    piecewise_linear = False

    @property
    def lipschitz(self):
        return self.epsilon

    def value(self, y, p):
        r = np.abs(difference(p, y))
        inside = np.minimum(r, self.epsilon)
        return inside * (r - 0.5 * inside)

    def gradient(self, y, p):
        return np.minimum(np.maximum(p - y, -self.epsilon), self.epsilon)

    def stiffness(self, y, p, slope):
        return self.epsilon / larger(np.abs(p - y), self.epsilon)

    def minimiser(self, y, p):
        return y

    def proximal(self, y, p, s):
        r, kappa = np.abs(p - y), self.epsilon
        beyond = r - kappa
        if beyond <= 0.0:
            u, decrease = quadratic_step(r, s)
        elif beyond >= kappa * s:
            u, decrease = linear_step(r, kappa, s)
        else:  # down the line and on along the parabola
            u = r / (1.0 + 1.0 / s)
            of_line = kappa * (kappa + 2.0 * beyond) / (1.0 + 1.0 / s)
            # A bound that always holds keeps compilers from squaring `beyond`.
            of_parabola = beyond * smaller(beyond / (1.0 + s), kappa)
            decrease = 0.5 * (of_line - of_parabola)
        return np.sign(y - p) * u, decrease


class EpsilonInsensitive(NamedTuple):
    r"""Absolute error beyond a tube: :math:`\max(0, |p - y| - \epsilon)`."""

    epsilon: float = 0.1

    is_classification = False
    joint = False
    piecewise_linear = True
    lipschitz = 1.0

    def value(self, y, p):
        return np.maximum(np.abs(difference(p, y)) - self.epsilon, 0.0)

    def gradient(self, y, p):
        return np.sign(p - y) * (np.abs(p - y) > self.epsilon)

    def minimiser(self, y, p):
        return larger(smaller(p, y + self.epsilon), y - self.epsilon)

    def proximal(self, y, p, s):
        m = np.abs(p - y) - self.epsilon
        if m <= 0.0:
            return 0.0, 0.0
        u, decrease = linear_step(m, 1.0, s)
        return np.sign(y - p) * u, decrease


class Quantile(NamedTuple):
    r"""Pinball loss: slope `quantile` below the target, ``1 - quantile`` above it.

    The quantile may be an array with a number for each output.
    """

    quantile: float | np.ndarray = 0.5

    is_classification = False
    joint = False
    piecewise_linear = True

    @property
    def lipschitz(self):
        return float(self.lipschitz_by_output.max())

    @property
    def lipschitz_by_output(self):
        return np.maximum(self.quantile, 1.0 - self.quantile)

    def of_output(self, k):
        return Quantile(self.quantile[k])

    def value(self, y, p):
        r = difference(p, y)
        return np.maximum(-self.quantile * r, (1.0 - self.quantile) * r)

    def gradient(self, y, p):
        return (1.0 - self.quantile) * (p > y) - self.quantile * (p < y)

    def minimiser(self, y, p):
        return y

    def proximal(self, y, p, s):
        slope = self.quantile if p < y else 1.0 - self.quantile
        u, decrease = linear_step(np.abs(p - y), slope, s)
        return np.sign(y - p) * u, decrease
