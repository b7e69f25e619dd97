"""Losses of a linear prediction: value, derivative, Lipschitz constant, link.

A loss is a NamedTuple of its parameters. `y` is the target, `p` the prediction
:math:`\\langle w, x \\rangle`. `gradient` is the derivative with respect to `p`; where
the loss has a kink it is a subgradient. It runs on arrays and, compiled, on scalars.

A *joint* loss couples the outputs: `y` is then the index of a class, the last axis of
`p` runs over the classes, and `gradient` takes one row.

`lipschitz` is the largest slope, infinity where there is none.

Losses whose predictions are log odds have `log_probabilities`, the link.

Losses of one output have what implicit updates need, for scalars: `minimiser`, that of
the loss next to `p`, and `proximal`, the way `u` that minimises
:math:`\\ell(p + u) + u^2 / (2 s)` and how much lower than :math:`\\ell(p)` that minimum
is, for :math:`0 < s \\le` :data:`LARGEST_STEP`. Neither number is computed as a
difference, of which nothing would be left where it is small. `piecewise_linear` losses
have one slope on each side of the minimiser.

To add one, write its class here and name it in :data:`CLASSIFICATION` or
:data:`REGRESSION`; a parameter of the loss is a parameter of the estimator.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import log_expit, log_softmax, logsumexp

from ._portable import larger, portable, smaller

__all__ = [
    "CLASSIFICATION",
    "JOINT",
    "LARGEST_STEP",
    "REGRESSION",
    "AbsoluteError",
    "CrossEntropy",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Quantile",
    "SquaredError",
    "SquaredHinge",
    "with_bounded_slope",
]

#: Stands for an infinite step, which would make NaN of a product with 0.
LARGEST_STEP = 1e300

MOST_ITERATIONS = 100


# The methods of a loss as functions, which is how compiled code can call them.


def value(loss, y, p):
    """Loss of the prediction `p`."""
    return loss.value(y, p)


def gradient(loss, y, p):
    """Derivative with respect to `p`."""
    return loss.gradient(y, p)


def minimiser(loss, y, p):
    """Minimiser of the loss next to `p`; infinite where there is none."""
    return loss.minimiser(y, p)


def proximal(loss, y, p, s):
    """Way to the minimum of the loss plus the squared way over ``2 s``; decrease."""
    return loss.proximal(y, p, s)


@portable
def linear_step(m, slope, s):
    """Way down a slope that ends after `m`, and the decrease."""
    way = slope * s
    if way <= m:
        return way, 0.5 * slope * way
    return m, m * (slope - 0.5 * (m / s))


@portable
def quadratic_step(m, s):
    """Way down the parabola ``m**2 / 2`` towards ``m = 0``, and the decrease."""
    way = m / (1.0 + 1.0 / s)
    return way, 0.5 * m * way


@portable
def halley(u, s, derivative):
    """Next iterate for ``u = s sigma(-m - u)``, where `derivative` is that sigma."""
    f = u - s * derivative
    curvature = s * derivative * (1.0 - derivative)
    slope = 1.0 + curvature
    bend = 0.5 * f * curvature * (1.0 - 2.0 * derivative)
    return u - f * slope / (slope * slope + bend)


@portable
def long_logistic_step(m, s, high):
    """Way and decrease from a margin `m`, where the step along the slope is too long.

    The root is looked for in a bracket. Besides `high`, the step along the slope, it is
    below the logarithm of `s` beyond the point where the loss bends.
    """
    high = smaller(high, np.log1p(s) + larger(-m, 0.0))
    # What the equation gives for the upper end is below the root.
    low, u = 0.0, larger(0.0, np.log(s / high - 1.0) - m)
    for _ in range(MOST_ITERATIONS):
        derivative = 1.0 / (1.0 + np.exp(m + u))
        if u > s * derivative:
            high = u
        else:
            low = u
        last, u = u, halley(u, s, derivative)
        if not low <= u <= high:
            u = 0.5 * (low + high)
        if np.abs(u - last) ** 3 <= 1e-16 * u:  # what is left to go is less
            break
    derivative = u / s
    if u < 1.0:
        fall = np.log1p(derivative * np.expm1(u))
    elif m < -1.0:
        fall = u + np.log(derivative + (1.0 - derivative) * np.exp(-u))
    else:
        fall = np.log1p(np.exp(-m)) - np.log1p(np.exp(-m - u))
    return u, fall - 0.5 * u * derivative


class Logistic(NamedTuple):
    r"""Logistic loss :math:`\ln(1 + e^{-yp})`, for :math:`y = \pm 1`."""

    joint = False
    piecewise_linear = False
    lipschitz = 1.0

    def value(self, y, p):
        return np.maximum(-y * p, 0.0) + np.log1p(np.exp(-np.abs(p)))

    def gradient(self, y, p):
        return -y / (1.0 + np.exp(y * p))

    def minimiser(self, y, p):
        return y * np.inf

    def proximal(self, y, p, s):
        # With m = yp, u is the root of f(u) = u - s sigma(-m - u).
        m = y * p
        odds = np.exp(m)
        derivative = 1.0 / (1.0 + odds)
        high = s * derivative
        if high == 0.0:
            return 0.0, 0.0
        if high > 1.0:
            u, decrease = long_logistic_step(m, s, high)
            return y * u, decrease
        # Here f is nearly a line, and two steps from u = 0 are enough nearly always.
        u = growth = 0.0  # growth is e^u - 1
        for _ in range(MOST_ITERATIONS):
            last, u = u, halley(u, s, derivative)
            change = u - last
            if np.abs(change**3) * smaller(s, 1.0) <= 1e-16 * u:
                growth += (1.0 + growth) * change * (1.0 + change / 2 + change**2 / 6)
                break
            growth = np.expm1(u)
            derivative = 1.0 / (1.0 + odds * (1.0 + growth))
        derivative = u / s
        return y * u, np.log1p(derivative * growth) - 0.5 * u * derivative

    def log_probabilities(self, p):
        """Of the classes, from predictions of shape (n, 1) or (n, K).

        With K columns, one versus rest: K probabilities, divided by their sum.
        """
        if p.shape[1] == 1:
            return log_expit(np.hstack([-p, p]))
        of_each = log_expit(p)
        return of_each - logsumexp(of_each, axis=1, keepdims=True)


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
    piecewise_linear = True
    lipschitz = 1.0

    def value(self, y, p):
        return np.maximum(1.0 - y * p, 0.0)

    def gradient(self, y, p):
        return -y * (y * p <= 1.0)

    def minimiser(self, y, p):
        return y if y * p < 1.0 else p

    def proximal(self, y, p, s):
        m = 1.0 - y * p
        if m <= 0.0:
            return 0.0, 0.0
        way, decrease = linear_step(m, 1.0, s)
        return y * way, decrease


class SquaredHinge(NamedTuple):
    r"""Half the squared hinge loss, :math:`\max(0, 1 - yp)^2 / 2`."""

    joint = False
    piecewise_linear = False
    lipschitz = np.inf

    def value(self, y, p):
        return 0.5 * np.maximum(1.0 - y * p, 0.0) ** 2

    def gradient(self, y, p):
        return -y * np.maximum(1.0 - y * p, 0.0)

    def minimiser(self, y, p):
        return y if y * p < 1.0 else p

    def proximal(self, y, p, s):
        m = 1.0 - y * p
        if m <= 0.0:
            return 0.0, 0.0
        way, decrease = quadratic_step(m, s)
        return y * way, decrease


class AbsoluteError(NamedTuple):
    r"""Absolute error :math:`|p - y|`."""

    joint = False
    piecewise_linear = True
    lipschitz = 1.0

    def value(self, y, p):
        return np.abs(p - y)

    def gradient(self, y, p):
        return np.sign(p - y)

    def minimiser(self, y, p):
        return y

    def proximal(self, y, p, s):
        way, decrease = linear_step(np.abs(p - y), 1.0, s)
        return np.sign(y - p) * way, decrease


class SquaredError(NamedTuple):
    r"""Half the squared error, :math:`(p - y)^2 / 2`."""

    joint = False
    piecewise_linear = False
    lipschitz = np.inf

    def value(self, y, p):
        return 0.5 * (p - y) ** 2

    def gradient(self, y, p):
        return p - y

    def minimiser(self, y, p):
        return y

    def proximal(self, y, p, s):
        return quadratic_step(y - p, s)


class Huber(NamedTuple):
    r"""Huber loss: half the squared error up to `epsilon`, linear beyond."""

    epsilon: float = 0.1

    joint = False
    piecewise_linear = False

    @property
    def lipschitz(self):
        return self.epsilon

    def value(self, y, p):
        r = np.abs(p - y)
        inside = np.minimum(r, self.epsilon)
        return inside * (r - 0.5 * inside)

    def gradient(self, y, p):
        return np.minimum(np.maximum(p - y, -self.epsilon), self.epsilon)

    def minimiser(self, y, p):
        return y

    def proximal(self, y, p, s):
        r, kappa = np.abs(p - y), self.epsilon
        beyond = r - kappa
        if beyond <= 0.0:
            way, decrease = quadratic_step(r, s)
        elif beyond >= kappa * s:
            way, decrease = linear_step(r, kappa, s)
        else:  # down the line and on along the parabola
            way = r / (1.0 + 1.0 / s)
            of_line = kappa * (kappa + 2.0 * beyond) / (1.0 + 1.0 / s)
            # The quotient is no larger; to say so keeps compilers from a square.
            of_parabola = beyond * smaller(beyond / (1.0 + s), kappa)
            decrease = 0.5 * (of_line - of_parabola)
        return np.sign(y - p) * way, decrease


class EpsilonInsensitive(NamedTuple):
    r"""Absolute error beyond a tube: :math:`\max(0, |p - y| - \epsilon)`."""

    epsilon: float = 0.1

    joint = False
    piecewise_linear = True
    lipschitz = 1.0

    def value(self, y, p):
        return np.maximum(np.abs(p - y) - self.epsilon, 0.0)

    def gradient(self, y, p):
        return np.sign(p - y) * (np.abs(p - y) > self.epsilon)

    def minimiser(self, y, p):
        return larger(smaller(p, y + self.epsilon), y - self.epsilon)

    def proximal(self, y, p, s):
        m = np.abs(p - y) - self.epsilon
        if m <= 0.0:
            return 0.0, 0.0
        way, decrease = linear_step(m, 1.0, s)
        return np.sign(y - p) * way, decrease


class Quantile(NamedTuple):
    r"""Pinball loss: slope `quantile` below the target, ``1 - quantile`` above it."""

    quantile: float = 0.5

    joint = False
    piecewise_linear = True

    @property
    def lipschitz(self):
        return max(self.quantile, 1.0 - self.quantile)

    def value(self, y, p):
        return np.maximum(self.quantile * (y - p), (1.0 - self.quantile) * (p - y))

    def gradient(self, y, p):
        return (1.0 - self.quantile) * (p > y) - self.quantile * (p < y)

    def minimiser(self, y, p):
        return y

    def proximal(self, y, p, s):
        slope = self.quantile if p < y else 1.0 - self.quantile
        way, decrease = linear_step(np.abs(p - y), slope, s)
        return np.sign(y - p) * way, decrease


#: Losses of two classes, or of each class against the rest.
CLASSIFICATION = {
    "log_loss": Logistic,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
}

#: What more than two classes have instead, with a learner that takes joint losses.
JOINT = {"log_loss": CrossEntropy}

REGRESSION = {
    "absolute_error": AbsoluteError,
    "squared_error": SquaredError,
    "huber": Huber,
    "epsilon_insensitive": EpsilonInsensitive,
    "quantile": Quantile,
}


def with_bounded_slope(losses):
    """Names of those whose derivative is bounded, for learners that need that."""
    return {name for name, loss in losses.items() if loss().lipschitz < np.inf}
