"""ScInOL2 of Kempka, Kotłowski and Warmuth (2019), Algorithms 2 and 4."""

from math import inf
from typing import NamedTuple

import numpy as np

from .._portable import MAX_WEALTH, TINY, larger, smaller, squared_scale
from .bases.betting import bet_and_stake
from .bases.scale_invariant import gradient_invariants, maximum_invariants

#: Relative error of a sum, for each of its terms.
RELATIVE_ERROR = 2.0**-52

#: Number of first rows that may raise `M`: later, S^2 is what matters.
WIDENING_ROWS = 300


class State(NamedTuple):  # one entry for each coordinate and output
    M: np.ndarray  # largest |x| so far, or more after a wide row
    G: np.ndarray  # minus the sum of the gradients g x
    S2: np.ndarray  # sum of the squared gradients (g x)^2
    eta: np.ndarray  # wealth: the initial one minus the sum of g x w


class ScInOL2(NamedTuple):
    r"""The less cautious of the two scale-invariant learners.

    For its methods see :class:`.interface.Learner`.

    Before a row, for each coordinate with value :math:`x`,

    .. math::
        M \leftarrow \max(M, |x|), \qquad \hat S = \sqrt{S^2 + M^2}, \qquad
        \theta = G / \hat S, \qquad
        w = \mathrm{sgn}(\theta) \min\{|\theta|, 1\} \frac{\eta}{2 \hat S},

    and after it, with :math:`g \in [-1, 1]` the derivative of the loss,
    :math:`G \leftarrow G - g x`, :math:`S^2 \leftarrow S^2 + (g x)^2` and
    :math:`\eta \leftarrow \eta - g x w`. Where the unit of :math:`\epsilon` grows with
    the sample weights, :math:`\eta` grows by as much as :math:`\epsilon`.

    All coordinates bet at once, so that a row of many features is at first predicted
    far too boldly. Where :math:`r = \sum |x| / M` over a row exceeds `max_share`,
    :math:`M \leftarrow \max(M, |x| r / \text{max_share})` after it. Theorem 3.2 holds
    with that :math:`M`: its proof needs one that never falls and is at least
    :math:`|x|`.

    Parameters
    ----------
    initial_wealth : float
        The paper's :math:`\epsilon`.
    max_share : float
        Infinity for the paper's algorithm.
    """

    initial_wealth: float = 1.0
    max_share: float = inf

    State = State
    parameters = {"initial_wealth": "initial_wealth"}
    scale_invariant = True
    bounded_gradients = True
    stays_finite = True
    keeps_first = True

    def initial_state(self):
        return State(M=0.0, G=0.0, S2=TINY, eta=self.initial_wealth)

    def idle_state(self, s):
        return self.initial_state()._replace(M=s.M)

    def weight(self, s, i, x, t):
        """Weight for a row `t` with value `x` at coordinate `i`."""
        inverse = 1.0 / np.sqrt(squared_scale(s, i, x))  # 1 / S_hat
        theta = s.G[i] * inverse
        return larger(smaller(theta, 1.0), -1.0) * (0.5 * s.eta[i] * inverse)

    def update(self, s, i, x, g, w, t):
        """Learn from the derivative `g` of the loss at row `t`."""
        gx = g * x
        s.M[i] = larger(s.M[i], np.abs(x))
        s.G[i] -= gx
        s.S2[i] += gx * gx
        s.eta[i] = smaller(s.eta[i] - gx * w, MAX_WEALTH)

    def widens(self, n, t):
        return n > self.max_share and t <= WIDENING_ROWS

    def share(self, s, i, x):
        return np.abs(x) / larger(larger(s.M[i], np.abs(x)), TINY)

    def widen(self, s, i, x, r):
        s.M[i] = larger(s.M[i], np.abs(x) * larger(r / self.max_share, 1.0))

    def add_wealth(self, s, before):
        more = self.initial_wealth - before
        if more > 0.0:
            s.eta[:] = smaller(s.eta + more, MAX_WEALTH)
        else:
            s.eta[:] *= self.initial_wealth / before

    def reach(self, s, i, t):
        return s.M[i]

    def regret_bound(self, s, shared, u, t, first):
        """The smaller of :meth:`linear_regret` and Theorems 3.2 and G.2.

        These limit it for any data.
        """
        limit = self.limit_of_regret(s, u, first)
        return np.where(s.M > 0, np.fmin(self.linear_regret(s, u, t), limit), 0.0)

    def limit_of_regret(self, s, u, first):
        """Theorems 3.2 and G.2, coordinate by coordinate."""
        S_hat = np.sqrt(squared_scale(s, ..., 0.0))
        a = np.abs(u) * S_hat
        growth = 2 * np.log(S_hat / larger(first, TINY))
        logarithm = np.log(3 * larger(a, TINY)) - np.log(self.initial_wealth) + growth
        return self.initial_wealth + 2 * a * (logarithm - 1)

    def linear_regret(self, s, u, t):
        """Regret against `u` on linear losses, whose slopes are the derivatives seen.

        That on convex losses is at most this. Rounding in `t` rows is added.
        """
        largest = np.abs(u) * (s.M + np.sqrt(t * s.S2))  # also of a rounded slope
        rounding = t * RELATIVE_ERROR * (self.initial_wealth + s.eta + largest)
        return self.initial_wealth - s.eta + s.G * u + rounding

    def cost_of_wealth(self, s, added, t):
        """Return the added wealth: it can be lost, and what it won is left out."""
        return np.where(s.M > 0, added, 0.0)

    def merged(self, s, shared, w, x, t):
        M, S2 = s.M.max(1), larger(s.S2.sum(2), TINY)
        S_hat = np.sqrt(S2 + M * M)
        squares = s.map(lambda s: squared_scale(s, ..., 0.0))
        stake = s.eta.mean() / np.sqrt(squares.mean(2))
        largest = np.sqrt(t * S2) / S_hat
        theta, stake = bet_and_stake(2.0 * w, stake, smaller(largest, 1.0))
        # Weights do not tell how far theta is beyond 1: the mean of all does.
        sizes = s.map(lambda s: np.abs(s.G) / np.sqrt(squared_scale(s, ..., 0.0)))
        beyond = np.copysign(larger(smaller(sizes.mean(), largest), 1.0), theta)
        theta = np.where(np.abs(theta) > 1.0 - 1e-9, beyond, theta)
        eta = smaller(stake * S_hat, MAX_WEALTH)
        return State(M, theta * S_hat, S2, eta), None

    def invariants(self, s, shared, t):
        yield from maximum_invariants(s)
        yield from gradient_invariants(s, t)
        yield "eta >= 0", s.eta >= 0.0
        largest = max(MAX_WEALTH, self.initial_wealth)
        yield "wealth is in its range", s.eta <= largest
