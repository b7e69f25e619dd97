"""FreeGrad of Mhammedi and Koolen (2020), for linear models."""

from typing import NamedTuple

import numpy as np

from .._invariants import ROUNDING
from .._portable import MAX_WEALTH, TINY, chosen, exact, exp, larger, smaller
from .bases.betting import solve_odd
from .bases.scale_invariant import maximum_invariants

#: V stops here, so that its quotients are finite.
MAX_V = MAX_WEALTH**2

#: A bet below MAX_WEALTH has a sum of gradients of at most MAX_SUM sqrt(V).
MAX_SUM = 1e3


class State(NamedTuple):  # one entry for each coordinate and output
    M: np.ndarray  # largest |x| so far, the paper's h
    B: np.ndarray  # sum of |x| / M, each with the M of its row
    M_tau: np.ndarray  # M and B at the latest restart, its row included
    B_tau: np.ndarray
    G: np.ndarray  # sum of the gradients g x since the restart
    V: np.ndarray  # M_tau^2 plus the sum of their squares


class FreeGrad(NamedTuple):
    r"""Algorithm 2 of *Lipschitz and Comparator-Norm Adaptivity* (2020).

    Before a row, for each coordinate with value :math:`x`, :math:`M \leftarrow \max(M,
    |x|)`. With :math:`B` the sum of :math:`|x| / M` over the rows before, the algorithm
    restarts if :math:`M / M_\tau > B + 1`, and where the feature appears: :math:`M_\tau
    = M`, :math:`G = 0`, :math:`V = M^2` and :math:`B_\tau = B + |x| / M`. Then

    .. math::
        w = \frac{-G (2 V + M |G|) M_\tau^2}{2 (V + M |G|)^2 \sqrt V}
        \exp\left(\frac{G^2}{2 V + 2 M |G|}\right) \frac{1}{M_\tau B_\tau},

    and after the row, with :math:`g \in [-1, 1]` the derivative of the loss, :math:`G
    \leftarrow G + g x` and :math:`V \leftarrow V + (g x)^2`.

    Parameters
    ----------
    epsilon : float
        Initial wealth of each coordinate, here times that :math:`w`.
    """

    epsilon: float = 1.0

    State = State
    parameters = {}
    scale_invariant = True
    bounded_gradients = True
    stays_finite = True

    def initial_state(self):
        return State(M=0.0, B=0.0, M_tau=0.0, B_tau=TINY, G=0.0, V=TINY)

    def idle_state(self, s):
        V = smaller(larger(s.M_tau * s.M_tau, TINY), MAX_V)
        return s._replace(G=0.0, V=V)

    def weight(self, s, i, x, t):
        M = larger(s.M[i], np.abs(x))
        G = chosen(restarts(s, i, M), 0.0, s.G[i])
        return -self.epsilon * bet(G, s.V[i], M, s.M_tau[i]) / s.B_tau[i]

    def update(self, s, i, x, g, w, t):
        gx = g * x
        M = larger(s.M[i], np.abs(x))
        r = restarts(s, i, M)
        s.B[i] += np.abs(x) / larger(M, TINY)
        s.M[i] = M
        s.M_tau[i] = chosen(r, M, s.M_tau[i])
        s.B_tau[i] = chosen(r, s.B[i], s.B_tau[i])
        s.G[i] = chosen(r, 0.0, s.G[i]) + gx
        V = larger(chosen(r, M * M, s.V[i]), TINY)
        s.V[i] = smaller(V + gx * gx, MAX_V)

    def reach(self, s, i, t):
        return s.M[i]

    def merged(self, s, shared, w, x, t):
        M, M_tau = s.M.max(1), s.M_tau.max(1)
        V = smaller(larger(larger(s.V.sum(2), M_tau * M_tau), TINY), MAX_V)
        B, B_tau = s.B.sum(), s.B_tau.mean()
        known = State(M, B, M_tau, B_tau, 0.0, V)
        size = solve_odd(
            lambda G: self.weight(known._replace(G=-G), ..., 0.0, t),
            w,
            MAX_SUM * np.sqrt(V),
        )
        return known._replace(G=-size), None

    def invariants(self, s, shared, t):
        yield from maximum_invariants(s)
        yield "0 <= B <= t", (s.B >= 0.0) & (t >= s.B)
        yield "0 <= M_tau <= M", (s.M_tau >= 0.0) & (s.M_tau <= s.M)
        yield "0 < B_tau <= B", (s.B_tau > 0.0) & (s.B_tau <= larger(s.B, TINY))
        largest = ROUNDING * (s.B + 1.0) * s.M_tau
        yield "M is at most its limit since the restart", largest >= s.M
        yield "V is positive", s.V > 0.0
        yield "V is in its range", s.V <= MAX_V
        square_root = ROUNDING * np.sqrt(s.V)
        yield "M_tau^2 <= V", smaller(s.M_tau, np.sqrt(MAX_V)) <= square_root


@exact
def bet(G, V, M, M_tau):
    """Weight, as a product of quotients that do not overflow."""
    a = V + M * np.abs(G)
    growth = exp(0.5 * G * (G / a))
    share = 0.5 * (1.0 + V / a) * (M_tau / np.sqrt(V))
    return G / a * share * smaller(growth, MAX_WEALTH)


def restarts(s, i, M):
    """Whether `M` requires the first restart, or another one."""
    return (s.B[i] + 1.0) * s.M_tau[i] < M
