"""Coin betting along a differential equation: Chen, Langford and Orabona (2022)."""

from typing import NamedTuple

import numpy as np

from .._invariants import ROUNDING
from .._portable import MAX_WEALTH, exact, larger, smaller
from ..losses import methods
from .bases.betting import solved
from .implicit import in_units

__all__ = ["CODE"]

MAX_LOG_WEALTH = np.log(MAX_WEALTH)

#: A squared gradient that is a smaller share of `H` changes nothing that shows.
MIN_SHARE = 1e-290

MAX_ITERATIONS = 200


class State(NamedTuple):
    """One entry a coordinate and output."""

    theta: np.ndarray  # minus the sum of the gradients h g x


class Shared(NamedTuple):
    """One entry an output."""

    log_wealth: np.ndarray
    H: np.ndarray  # 1 plus the sum of h ||g x||^2


class CODE(NamedTuple):
    r"""Coin betting by infinitely many steps on a truncated linear model of the loss.

    The weights are :math:`w = W \theta / H`. A row with loss :math:`\ell` and gradient
    :math:`g` at :math:`w` is taken for :math:`\max(\ell + \langle g, w' - w \rangle,
    0)`, which no loss that is never negative is below. While that is not 0, for a time
    :math:`h` of at most 1,

    .. math::
        \frac{d\theta}{dh} = -g, \qquad \frac{dH}{dh} = \|g\|^2, \qquad
        \frac{d \ln W}{dh} = -\frac{\langle g, \theta \rangle}{H},

    from :math:`\theta = 0` and :math:`H = W = 1` on. With :math:`\theta` and :math:`H`
    those before the row, the logarithm of the wealth after it is

    .. math::
        \ln W + h - \frac{\langle g, \theta \rangle + H}{\|g\|^2}
        \ln\left(1 + \frac{h \|g\|^2}{H}\right).

    After any row, :math:`\ln W \ge \|\theta\|^2 / (2 H)`.

    Parameters
    ----------
    initial_wealth : float
        Value of `W` before the first row.
    """

    initial_wealth: float = 1.0

    State = State
    Shared = Shared
    parameters = {}
    scale_invariant = False
    bounded_gradients = False
    stays_finite = True
    keeps_first = False
    odd = ("theta",)

    def initial_state(self):
        """Values of the fields before the first row."""
        return State(theta=0.0)

    def initial_shared(self):
        """Values of what the coordinates share, before the first row."""
        return Shared(log_wealth=np.log(self.initial_wealth), H=1.0)

    def weight(self, s, i, x, t):
        """Weight of coordinate `i`, up to the factor."""
        return s.theta[i]

    def factor(self, shared, k, q, t):
        """What theta is multiplied by."""
        return np.exp(shared.log_wealth[k]) / shared.H[k]

    def square(self, s, i, x):
        """Share of a coordinate in the squared norm of the row."""
        return x * x

    def implicit_row_step(self, shared, k, loss, y, c, scale, dot, q, t):
        """Follow the equation until the model of the loss is 0, or for a time of 1."""
        H, p = shared.H[k], self.factor(shared, k, q, t) * dot
        y, c, p, q = in_units(y, c, scale, p, q)
        g = c * methods.gradient(loss, y, p)
        square = g * g * q
        if not square > MIN_SHARE * H:
            return 0.0
        bet, time = -g * (scale[1] * dot) / H, H / square
        longest = np.log1p(1.0 / time)
        value = c * methods.value(loss, y, p)
        s = growth_until(shared.log_wealth[k], bet, time, value, longest)
        h = smaller(time * np.expm1(s), 1.0)
        shared.log_wealth[k] = smaller(
            shared.log_wealth[k] + gain(bet, time, s), MAX_LOG_WEALTH
        )
        shared.H[k] += h * square
        return scale[1] * (h * g)

    def update(self, s, i, x, g, step, t):
        """Learn from the number that `implicit_row_step` gave."""
        s.theta[i] -= step * x

    def merged(self, s, shared, w, x, t):
        """State of several, with the weights `w` for a row `x`.

        Their wealth is more than its least by as much as in the mean of all.
        """
        H, norm_of_w = shared.H.sum(), np.hypot.reduce(w, axis=1)
        members = zip(shared.shares, s.theta, shared, strict=True)
        above = sum(
            share * larger(each.log_wealth - self.least(theta, each.H), 0.0)
            for share, theta, each in members
        )

        def log_wealth(norm):
            least = self.least(norm[:, np.newaxis], H)
            return smaller(least + above, MAX_LOG_WEALTH)

        norm = solved(
            lambda norm: norm * np.exp(log_wealth(norm)) / H,
            norm_of_w,
            MAX_WEALTH * H,
        )
        theta = w * np.where(norm_of_w > 0.0, norm / norm_of_w, 0.0)[:, np.newaxis]
        return State(theta), Shared(log_wealth(norm), H)

    def least(self, theta, H):
        """What the logarithm of the wealth cannot be below."""
        norm = np.hypot.reduce(theta, axis=1)
        return np.log(self.initial_wealth) + 0.5 * (norm / np.sqrt(H)) ** 2

    def invariants(self, s, shared, t):
        """What holds after `t` rows."""
        yield "H >= 1", shared.H >= 1.0
        yield "wealth is in its range", shared.log_wealth <= MAX_LOG_WEALTH
        least = smaller(self.least(s.theta, shared.H), MAX_LOG_WEALTH)
        held = ROUNDING * shared.log_wealth + 1e-9 * t
        yield "wealth is at least that of the gradients", least <= held


@exact
def gain(bet, time, s):
    """What is added to the logarithm of the wealth when `H` becomes ``exp(s) H``.

    Here `bet` is the share of the wealth that is won per unit of time, at first, and
    `time` what it takes to double `H`.
    """
    return time * (np.expm1(s) + (bet - 1.0) * s)


@exact
def growth_until(log_wealth, bet, time, value, longest):
    """The `s` up to `longest` at which a row's prediction makes up for its loss.

    That is ``g p``, minus wealth times bet, lower by `value` than at first. From there
    on it falls for good, wherever it has been: the root is the only one. Newton's
    method finds it, with halving of the bracket where that is not safe.
    """
    wealth = np.exp(log_wealth)
    goal, extra = wealth * bet + value, bet - 1.0
    last = wealth * np.exp(gain(bet, time, longest)) * (1.0 + extra * np.exp(-longest))
    if last <= goal:
        return longest
    low, high, s, change = 0.0, longest, longest, longest
    for _ in range(MAX_ITERATIONS):
        of_wealth, shrink = wealth * np.exp(gain(bet, time, s)), np.exp(-s)
        share = 1.0 + extra * shrink  # of the wealth that the bet is now
        f = of_wealth * share - goal
        if f > 0.0:
            high = s
        else:
            low = s
        slope = of_wealth * (time / shrink * share * share - extra * shrink)
        before, change = change, 0.5 * (low + high) - s
        if np.abs(2.0 * f) < np.abs(before * slope) and low <= s - f / slope <= high:
            change = -f / slope
        s += change
        if np.abs(change) <= 1e-16 * s:
            break
    return s
