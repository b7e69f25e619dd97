"""Coin betting along a differential equation: Chen, Langford and Orabona (2022)."""

from typing import NamedTuple

import numpy as np

from .._invariants import ROUNDING
from .._portable import MAX_WEALTH, exact, larger, smaller
from ..losses import methods
from .bases.betting import solve_odd
from .implicit import in_units_of_loss

MAX_LOG_WEALTH = np.log(MAX_WEALTH)

#: A squared gradient below this share of `H` changes nothing.
MIN_SHARE = 1e-290

MAX_ITERATIONS = 200


class State(NamedTuple):  # one entry for each coordinate and output
    theta: np.ndarray  # minus the sum of the gradients h g x


class Shared(NamedTuple):  # one entry for each output
    log_wealth: np.ndarray
    H: np.ndarray  # 1 plus the sum of h ||g x||^2


class CODE(NamedTuple):
    r"""Coin betting by infinitely many steps on a truncated linear model of the loss.

    The weights are :math:`w = W \theta / H`. A row with loss :math:`\ell` and gradient
    :math:`g` at :math:`w` is replaced by :math:`\max(\ell + \langle g, w' - w \rangle,
    0)`, a lower bound of any non-negative loss. Until that is 0, and for a time
    :math:`h` of at most 1,

    .. math::
        \frac{d\theta}{dh} = -g, \qquad \frac{dH}{dh} = \|g\|^2, \qquad
        \frac{d \ln W}{dh} = -\frac{\langle g, \theta \rangle}{H},

    from :math:`\theta = 0` and :math:`H = W = 1` on. With :math:`\theta` and :math:`H`
    of before the row, the logarithm of the wealth after it is

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
    stays_finite = True
    odd = ("theta",)

    def initial_state(self):
        return State(theta=0.0)

    def initial_shared(self):
        return Shared(log_wealth=np.log(self.initial_wealth), H=1.0)

    def weight(self, s, i, x, t):
        return s.theta[i]

    def factor(self, shared, k, q, t):
        return np.exp(shared.log_wealth[k]) / shared.H[k]

    def square(self, s, i, x):
        return x * x

    def implicit_row_step(self, shared, k, loss, y, c, scale, dot, q, t):
        """Follow the equation until the model of the loss is 0, or until time 1."""
        H, p = shared.H[k], self.factor(shared, k, q, t) * dot
        y, c, p, q = in_units_of_loss(y, c, scale, p, q)
        g = c * loss.gradient(y, p)
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
        s.theta[i] -= step * x

    def merged(self, s, shared, w, x, t):
        """Merge states, so that the weights for a row `x` are `w`.

        Their wealth is more than its least by as much as in the mean of all.
        """
        H, w_norm = shared.H.sum(), np.hypot.reduce(w, axis=1)
        members = zip(shared.shares, s.theta, shared, strict=True)
        above = sum(
            share * larger(each.log_wealth - self.min_log_wealth(theta, each.H), 0.0)
            for share, theta, each in members
        )

        def log_wealth(norm):
            least = self.min_log_wealth(norm[:, np.newaxis], H)
            return smaller(least + above, MAX_LOG_WEALTH)

        norm = solve_odd(
            lambda norm: norm * np.exp(log_wealth(norm)) / H, w_norm, MAX_WEALTH * H
        )
        theta = w * np.where(w_norm > 0.0, norm / w_norm, 0.0)[:, np.newaxis]
        return State(theta), Shared(log_wealth(norm), H)

    def min_log_wealth(self, theta, H):
        """Lower bound of the logarithm of the wealth."""
        norm = np.hypot.reduce(theta, axis=1)
        return np.log(self.initial_wealth) + 0.5 * (norm / np.sqrt(H)) ** 2

    def invariants(self, s, shared, t):
        yield "H >= 1", shared.H >= 1.0
        yield "wealth is in its range", shared.log_wealth <= MAX_LOG_WEALTH
        least = smaller(self.min_log_wealth(s.theta, shared.H), MAX_LOG_WEALTH)
        held = ROUNDING * shared.log_wealth + 1e-9 * t
        yield "log_wealth is at least its lower bound", least <= held


@exact
def gain(bet, time, s):
    """Increase of the logarithm of the wealth when `H` becomes ``exp(s) H``.

    `bet` is the initial rate of growth of the wealth, `time` the time to double `H`.
    """
    return time * (np.expm1(s) + (bet - 1.0) * s)


@exact
def growth_until(log_wealth, bet, time, value, longest):
    """Growth `s`, up to `longest`, at which the truncated loss of a row is 0.

    There ``g p``, minus wealth times bet, is lower by `value` than at first. It falls
    from there on, so the root is unique. Newton's method finds it, with halving of the
    bracket where that is not safe.
    """
    wealth = np.exp(log_wealth)
    goal, extra = wealth * bet + value, bet - 1.0
    last = wealth * np.exp(gain(bet, time, longest)) * (1.0 + extra * np.exp(-longest))
    if last <= goal:
        return longest
    low, high, s, change = 0.0, longest, longest, longest
    for _ in range(MAX_ITERATIONS):
        growth, shrink = wealth * np.exp(gain(bet, time, s)), np.exp(-s)
        share = 1.0 + extra * shrink  # of the wealth that the bet is now
        f = growth * share - goal
        if f > 0.0:
            high = s
        else:
            low = s
        slope = growth * (time / shrink * share * share - extra * shrink)
        before, change = change, 0.5 * (low + high) - s
        if np.abs(2.0 * f) < np.abs(before * slope) and low <= s - f / slope <= high:
            change = -f / slope
        s += change
        if np.abs(change) <= 1e-16 * s:
            break
    return s
