"""CoCoB, the continuous coin betting of Orabona and Tommasi (2017)."""

from typing import NamedTuple

import numpy as np

from .._invariants import ROUNDING
from .._portable import MAX_WEALTH, exact, larger, smaller
from .bases.betting import bet_and_stake


class State(NamedTuple):  # one entry for each coordinate and output
    L: np.ndarray  # largest |g x| so far
    A: np.ndarray  # sum of |g x|
    theta: np.ndarray  # minus the sum of the gradients g x
    R: np.ndarray  # reward of betting on the gradients, not below 0


class CoCoB(NamedTuple):
    r"""Continuous coin betting on each coordinate, COCOB-Backprop of its paper.

    With the gradient :math:`c = g x` of a coordinate, after a row,

    .. math::
        L \leftarrow \max(L, |c|), \qquad A \leftarrow A + |c|, \qquad
        R \leftarrow \max(R - c w, 0), \qquad \theta \leftarrow \theta - c, \qquad
        w = \frac{\theta (L + R)}{L \max(A + L, \alpha L)}.

    The weights do not depend on the unit of the loss, but on the units of features.

    Parameters
    ----------
    alpha : float
        The larger, the slower the start.
    initial_scale : float
        What :math:`L` starts from.
    """

    alpha: float = 100.0
    initial_scale: float = 1e-8

    State = State
    parameters = {}

    def initial_state(self):
        return State(L=self.initial_scale, A=0.0, theta=0.0, R=0.0)

    def weight(self, s, i, x, t):
        L = s.L[i]
        wealth = L + s.R[i]
        return bet(s.theta[i], L, wealth, larger(s.A[i] + L, self.alpha * L))

    def update(self, s, i, x, g, w, t):
        c = g * x
        s.L[i] = larger(s.L[i], np.abs(c))
        s.A[i] += np.abs(c)
        s.R[i] = smaller(larger(s.R[i] - c * w, 0.0), MAX_WEALTH * s.L[i])
        s.theta[i] -= c

    def merged(self, s, shared, w, x, t):
        L, A = s.L.max(1), s.A.sum(1)

        def reward(stake):
            per_wealth = self.stake(State(L, A, None, 1.0 - L))
            R = np.where(A > 0.0, stake / per_wealth - L, 0.0)
            return np.clip(R, 0.0, MAX_WEALTH * L)

        R = reward(s.map(self.stake).mean())
        bet, stake = bet_and_stake(w, self.stake(State(L, A, None, R)), np.ones_like(w))
        return State(L, A, bet * A, reward(stake)), None

    def stake(self, s):
        """Weight if all gradients had one sign."""
        return s.A * (s.L + s.R) / (s.L * larger(s.A + s.L, self.alpha * s.L))

    def invariants(self, s, shared, t):
        yield "L >= initial_scale", self.initial_scale <= s.L
        yield "|theta| <= A", np.abs(s.theta) <= ROUNDING * s.A
        yield "A <= t L", ROUNDING * t * s.L >= s.A
        yield "R >= 0", s.R >= 0.0
        yield "reward is in its range", s.R / s.L <= ROUNDING * MAX_WEALTH


@exact
def bet(theta, L, wealth, A):
    """Weight, as a product of quotients that do not overflow."""
    return theta / A * (wealth / L)
