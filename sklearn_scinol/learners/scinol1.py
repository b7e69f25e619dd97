"""The cautious ScInOL1 of Kempka, Kotłowski and Warmuth (2019), Algorithms 1 and 3."""

from math import log
from typing import NamedTuple

import numpy as np

from .._invariants import ROUNDING
from .._portable import MAX_WEALTH, TINY, exact, expm1, larger, smaller, squared_scale
from .bases.scale_invariant import gradient_invariants, maximum_invariants

MAX_EXPONENT = log(MAX_WEALTH)


class State(NamedTuple):  # one entry for each coordinate and output
    M: np.ndarray  # largest |x| so far
    G: np.ndarray  # minus the sum of the gradients g x
    S2: np.ndarray  # sum of the squared gradients (g x)^2
    beta: np.ndarray  # factor of the potential


class ScInOL1(NamedTuple):
    r"""The cautious of the two scale-invariant learners.

    Before row :math:`t`, for each coordinate with value :math:`x`,

    .. math::
        M &\leftarrow \max(M, |x|), \qquad \hat S = \sqrt{S^2 + M^2}, \qquad
        \theta = G / \hat S, \\
        \beta &\leftarrow \min\{\beta, \epsilon \hat S^2 / (x^2 t)\}, \qquad
        w = \frac{\beta \,\mathrm{sgn}(\theta)}{2 \hat S} (e^{|\theta|/2} - 1),

    and after it, with :math:`g \in [-1, 1]` the derivative of the loss,
    :math:`G \leftarrow G - g x` and :math:`S^2 \leftarrow S^2 + (g x)^2`. Where
    :math:`\epsilon` grows with the sample weights, :math:`\beta` grows, too: the
    potential :math:`\beta (e^{|\theta|/2} - |\theta|/2 - 1)` by at most as much.

    Parameters
    ----------
    initial_wealth : float
        The paper's :math:`\epsilon`.
    """

    initial_wealth: float = 1.0

    State = State
    parameters = {"initial_wealth": "initial_wealth"}
    scale_invariant = True
    bounded_gradients = True
    stays_finite = True

    def initial_state(self):
        return State(M=0.0, G=0.0, S2=TINY, beta=self.initial_wealth)

    def idle_state(self, s):
        # `beta` does not matter before the first gradient.
        return self.initial_state()._replace(M=s.M)

    def weight(self, s, i, x, t):
        # The sign of G is the sign of theta = G / S_hat, and saves a division.
        half = 0.5 / np.sqrt(squared_scale(s, i, x))
        growth = expm1(smaller(np.abs(s.G[i]) * half, MAX_EXPONENT))
        beta = potential_factor(self, s, i, x, t)
        return beta * half * np.copysign(growth, s.G[i])

    def update(self, s, i, x, g, w, t):
        s.beta[i] = potential_factor(self, s, i, x, t)
        s.M[i] = larger(s.M[i], np.abs(x))
        s.G[i] -= g * x
        s.S2[i] += (g * x) ** 2

    def add_wealth(self, s, before):
        more = self.initial_wealth - before
        if more > 0.0:
            half = np.abs(s.G) * 0.5 / np.sqrt(squared_scale(s, ..., 0.0))
            potential = expm1(smaller(half, MAX_EXPONENT)) - half
            s.beta[:] += more / larger(potential, 1.0)
        else:
            s.beta[:] *= self.initial_wealth / before

    def reach(self, s, i, t):
        S_hat = np.sqrt(squared_scale(s, i, 0.0))
        return smaller(s.M[i], S_hat * np.sqrt(self.initial_wealth / (s.beta[i] * t)))

    def regret_bound(self, s, shared, u, t, first):
        """Theorems 3.1 and G.1 after `t` rows, coordinate by coordinate."""
        S_hat = np.sqrt(squared_scale(s, ..., 0.0))
        a = 2 * np.abs(u) * S_hat
        bound = a * np.log1p(a * t / self.initial_wealth)
        return np.where(
            s.M > 0, bound + self.initial_wealth * (1 + np.log(max(t, 1))), 0.0
        )

    def cost_of_wealth(self, s, added, t):
        """Return what rows cost, 1 / t of the added wealth each, and its adding."""
        return np.where(s.M > 0, added * (2 + np.log(max(t, 1))), 0.0)

    def merged(self, s, shared, w, x, t):
        M, S2 = s.M.max(1), larger(s.S2.sum(2), TINY)
        S_hat = np.sqrt(S2 + M * M)
        size = 2.0 * S_hat * np.abs(w)
        known = State(M, None, S2, s.beta.mean())
        beta = potential_factor(self, known, ..., x, t + 1)
        exponent = 2.0 * np.log1p(size / beta)
        exponent = smaller(exponent, np.sqrt(t * S2) / S_hat)
        least = np.where(w == 0.0, 0.0, size / np.expm1(0.5 * exponent))
        beta = smaller(larger(beta, least), self.initial_wealth)
        return State(M, np.copysign(exponent * S_hat, w), S2, beta), None

    def invariants(self, s, shared, t):
        yield from maximum_invariants(s)
        yield from gradient_invariants(s, t)
        yield "beta <= initial_wealth", s.beta <= ROUNDING * self.initial_wealth
        yield "beta > 0", s.beta > 0.0


def potential_factor(learner, s, i, x, t):
    """Value of `beta` for a row `t` with value `x` at coordinate `i`."""
    quotient = ratio_to_square(squared_scale(s, i, x), x, t)
    return smaller(s.beta[i], learner.initial_wealth * quotient)


@exact  # A small wealth times TINY would lose digits.
def ratio_to_square(squared, x, t):
    """Ratio of `squared` to ``x^2 t``; for x = 0 huge, infinite, or 1 before the rows.

    So `beta` stays as it is where x is 0.
    """
    return squared / (x * x * t + TINY)
