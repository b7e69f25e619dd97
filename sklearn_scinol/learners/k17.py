"""The coordinate-wise scale-invariant algorithm of Kotłowski (2017)."""

from typing import NamedTuple

import numpy as np

from .._invariants import ROUNDING
from .._portable import MAX_WEALTH, TINY, exact, exp, larger, smaller
from .bases.betting import solve_odd

#: The paper's factor of the potential.
ALPHA = 9 / 8


class State(NamedTuple):  # one entry for each coordinate and output
    S2: np.ndarray  # sum of x^2
    theta: np.ndarray  # minus the sum of the gradients g x


class Shared(NamedTuple):  # one entry for each output
    inverse_d: np.ndarray  # 1 over the number of coordinates


class K17(NamedTuple):
    r"""Algorithm 1 of *Scale-Invariant Unconstrained Online Learning* (2017).

    Before row :math:`t`, for each coordinate with value :math:`x`, :math:`S^2
    \leftarrow S^2 + x^2` and, with :math:`\alpha = 9/8`,

    .. math::
        w = \frac{\theta}{\alpha t d S^2} \exp \frac{\theta^2 + x^2}{2 \alpha S^2},

    and after it :math:`\theta \leftarrow \theta - g x`, with :math:`g \in [-1, 1]` the
    derivative of the loss.

    Parameters
    ----------
    d : float
        Number of coordinates.
    """

    d: float

    State = State
    Shared = Shared
    parameters = {"d": "n_coordinates"}
    scale_invariant = True
    bounded_gradients = True
    stays_finite = True

    def initial_state(self):
        return State(S2=TINY, theta=0.0)

    def initial_shared(self):
        return Shared(inverse_d=1.0 / self.d)

    def idle_state(self, s):
        return self.initial_state()._replace(S2=s.S2)

    def weight(self, s, i, x, t):
        return unscaled_weight(s.theta[i], x, s.S2[i] + x * x)

    def factor(self, shared, k, q, t):
        return shared.inverse_d[k] / (ALPHA * t)

    def square(self, s, i, x):
        return x * x

    def row_step(self, shared, k, g, dot, q, t):
        """Leave the shared numbers alone; pass the derivative on."""
        return g

    def update(self, s, i, x, g, step, t):
        s.S2[i] += x * x
        s.theta[i] -= g * x

    def reach(self, s, i, t):
        return 0.0 * s.S2[i]  # each |x| has a weight of its own

    def merged(self, s, shared, w, x, t):
        S2, inverse_d = larger(s.S2.sum(2), TINY), shared.inverse_d.mean()
        unscaled = w / self.factor(Shared(inverse_d), ..., 0.0, t + 1)[:, np.newaxis]
        largest = np.sqrt(t) * np.sqrt(S2)
        theta = solve_odd(
            lambda theta: unscaled_weight(theta, x, S2 + x * x), unscaled, largest
        )
        return State(S2, theta), Shared(inverse_d)

    def invariants(self, s, shared, t):
        yield "S2 is positive", s.S2 >= TINY
        yield "S2 is the same for all outputs", s.S2[0] == s.S2
        largest = ROUNDING * np.sqrt(t) * np.sqrt(s.S2)
        yield "theta^2 <= t S2", np.abs(s.theta) <= largest
        yield "inverse_d is 1 / d", shared.inverse_d == 1.0 / self.d


@exact
def unscaled_weight(theta, x, S2):
    """Weight up to the factor, without squares that may overflow."""
    ratio = theta / S2
    growth = exp((theta * ratio + x * (x / S2)) / (2 * ALPHA))
    return ratio * smaller(growth, MAX_WEALTH)
