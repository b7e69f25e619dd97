"""Coin betting on max-normalised features, as in Vowpal Wabbit."""

from typing import NamedTuple

import numpy as np

from .._invariants import ROUNDING
from .._portable import MAX_WEALTH, MIN_SCALE, larger, smaller
from .bases.betting import bet_and_stake
from .bases.scale_invariant import maximum_invariants


class State(NamedTuple):  # one entry for each coordinate and output
    M: np.ndarray  # largest |x| so far
    theta: np.ndarray  # minus the sum of the gradients g x
    A: np.ndarray  # sum of |g x|
    wealth: np.ndarray  # minus the sum of g x w


class Coin(NamedTuple):
    r"""Coin betting on features divided by their largest value so far.

    Before a row, for each coordinate with value :math:`x`,

    .. math::
        M \leftarrow \max(M, |x|), \qquad
        w = (\alpha + W) \frac{\theta}{M (M + A)},

    and after it, with :math:`g \in [-1, 1]` the derivative of the loss, :math:`W
    \leftarrow W - g x w`, :math:`\theta \leftarrow \theta - g x` and :math:`A
    \leftarrow A + |g x|`. No bound on the regret of this very form is published.

    Parameters
    ----------
    alpha : float
        Initial wealth of each coordinate.
    """

    alpha: float = 4.0

    State = State
    parameters = {}
    scale_invariant = True
    bounded_gradients = True
    stays_finite = True

    def initial_state(self):
        return State(M=0.0, theta=0.0, A=0.0, wealth=0.0)

    def idle_state(self, s):
        return self.initial_state()._replace(M=s.M)

    def weight(self, s, i, x, t):
        M = larger(larger(s.M[i], np.abs(x)), MIN_SCALE)
        return (self.alpha + s.wealth[i]) * s.theta[i] / (M * (M + s.A[i]))

    def update(self, s, i, x, g, w, t):
        gx = g * x
        s.M[i] = larger(s.M[i], np.abs(x))
        s.wealth[i] = smaller(s.wealth[i] - gx * w, MAX_WEALTH)
        s.theta[i] -= gx
        s.A[i] += np.abs(gx)

    def reach(self, s, i, t):
        return s.M[i]

    def merged(self, s, shared, w, x, t):
        M, A = s.M.max(1), s.A.sum(1)
        bet, stake = bet_and_stake(w, s.map(self.stake).mean(-1), np.ones_like(w))
        wealth = stake / self.stake(State(M, None, A, 1.0 - self.alpha))
        wealth = np.where(A > 0.0, smaller(wealth - self.alpha, MAX_WEALTH), 0.0)
        return State(M, bet * A, A, wealth), None

    def stake(self, s):
        """Weight if all gradients had one sign."""
        M = larger(s.M, MIN_SCALE)
        return (self.alpha + s.wealth) * s.A / (M * (M + s.A))

    def invariants(self, s, shared, t):
        yield from maximum_invariants(s)
        yield "|theta| <= A", np.abs(s.theta) <= ROUNDING * s.A
        yield "A <= t M", ROUNDING * t * s.M >= s.A
        yield "wealth is not negative", self.alpha + s.wealth >= 0.0
        yield "wealth is in its range", s.wealth <= MAX_WEALTH
