"""Scale-free mirror descent of Orabona, Crammer and Cesa-Bianchi (2015)."""

from typing import NamedTuple

import numpy as np

from .._invariants import ROUNDING
from .._portable import MIN_SCALE, larger
from .bases.scale_invariant import maximum_invariants


class State(NamedTuple):  # one entry for each coordinate and output
    M: np.ndarray  # largest |x| so far
    theta: np.ndarray  # minus the sum of the gradients g x
    S2: np.ndarray  # 1 plus the sum of (g x)^2 / M^2, each with the M of its row


class SFMD(NamedTuple):
    r"""Online mirror descent with a regulariser that adapts to the features' units.

    Before a row, for each coordinate with value :math:`x`,

    .. math::
        M \leftarrow \max(M, |x|), \qquad
        w = \frac{\eta \theta}{\sqrt{d S^2} M^2},

    and after it :math:`\theta \leftarrow \theta - g x` and :math:`S^2 \leftarrow S^2 +
    (g x)^2 / M^2`.

    Parameters
    ----------
    eta : float
        Learning rate, in units of the predictions.
    d : float
        Number of coordinates.
    """

    eta: float
    d: float

    State = State
    parameters = {"eta": "learning_rate", "d": "n_coordinates"}
    scale_invariant = True
    stays_finite = True

    def initial_state(self):
        return State(M=0.0, theta=0.0, S2=1.0)

    def idle_state(self, s):
        return self.initial_state()._replace(M=s.M)

    def weight(self, s, i, x, t):
        M = larger(larger(s.M[i], np.abs(x)), MIN_SCALE)
        return self.eta * s.theta[i] / (M * M * np.sqrt(self.d * s.S2[i]))

    def update(self, s, i, x, g, w, t):
        s.M[i] = larger(s.M[i], np.abs(x))
        s.theta[i] -= g * x
        ratio = g * (x / larger(s.M[i], MIN_SCALE))
        s.S2[i] += ratio * ratio

    def reach(self, s, i, t):
        return s.M[i]

    def merged(self, s, shared, w, x, t):
        M, S2 = s.M.max(1), larger(s.S2.sum(), 1.0)
        scale = larger(M, MIN_SCALE)
        size = w * scale * np.sqrt(self.d * S2) / self.eta
        largest = np.sqrt(t * S2)
        return State(M, scale * np.clip(size, -largest, largest), S2), None

    def invariants(self, s, shared, t):
        yield from maximum_invariants(s)
        yield "S2 >= 1", s.S2 >= 1.0
        ratio = np.abs(s.theta) / larger(s.M, MIN_SCALE)
        yield "theta^2 <= t S2 M^2", ratio <= ROUNDING * np.sqrt(t * s.S2)
