"""The coordinate-wise scale-invariant algorithm of Kotłowski (2017)."""

from typing import NamedTuple

import numpy as np

from .._invariants import ROUNDING
from .._portable import MAX_WEALTH, TINY, exact, exp, larger, smaller
from .bases.betting import solved

__all__ = ["K17"]

#: The paper's factor of the potential.
ALPHA = 9 / 8


class State(NamedTuple):
    """One entry a coordinate and output."""

    S2: np.ndarray  # sum of x^2
    theta: np.ndarray  # minus the sum of the gradients g x


class Shared(NamedTuple):
    """One entry an output."""

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
    keeps_first = False

    def initial_state(self):
        """Values of the fields before the first row."""
        return State(S2=TINY, theta=0.0)

    def initial_shared(self):
        """Values of what the coordinates share, before the first row."""
        return Shared(inverse_d=1.0 / self.d)

    def idle_state(self, s):
        """State of an output whose losses had no slope, beside others."""
        return self.initial_state()._replace(S2=s.S2)

    def weight(self, s, i, x, t):
        """Weight for a row with value `x` at coordinate `i`, up to the factor."""
        return shrunk(s.theta[i], x, s.S2[i] + x * x)

    def factor(self, shared, k, q, t):
        """What all weights are multiplied by at row `t`."""
        return shared.inverse_d[k] / (ALPHA * t)

    def square(self, s, i, x):
        """Share of a coordinate in `q`."""
        return x * x

    def row_step(self, shared, k, g, dot, q, t):
        """Nothing is shared that learns."""
        return g

    def update(self, s, i, x, g, step, t):
        """Learn from the derivative `g` of the loss."""
        s.S2[i] += x * x
        s.theta[i] -= g * x

    def reach(self, s, i, t):
        """Every ``|x|`` has a weight of its own."""
        return 0.0 * s.S2[i]

    def merged(self, s, shared, w, x, t):
        """State of several, with the weights `w` for a row `x`."""
        S2, inverse_d = larger(s.S2.sum(2), TINY), shared.inverse_d.mean()
        of_theta = w / self.factor(Shared(inverse_d), ..., 0.0, t + 1)[:, np.newaxis]
        largest = np.sqrt(t) * np.sqrt(S2)
        theta = solved(lambda theta: shrunk(theta, x, S2 + x * x), of_theta, largest)
        return State(S2, theta), Shared(inverse_d)

    def invariants(self, s, shared, t):
        """What holds after `t` rows."""
        yield "S2 is positive", s.S2 >= TINY
        yield "S2 is the same for all outputs", s.S2[0] == s.S2
        largest = ROUNDING * np.sqrt(t) * np.sqrt(s.S2)
        yield "theta^2 <= t S2", np.abs(s.theta) <= largest
        yield "inverse_d is what it was", shared.inverse_d == 1.0 / self.d


@exact
def shrunk(theta, x, S2):
    """The formula without the squares in it, which may leave the range."""
    ratio = theta / S2
    growth = exp((theta * ratio + x * (x / S2)) / (2 * ALPHA))
    return ratio * smaller(growth, MAX_WEALTH)
