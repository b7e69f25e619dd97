"""NAG of Ross, Mineiro and Langford, Normalized Online Learning (UAI 2013)."""

from typing import NamedTuple

import numpy as np

from .._invariants import ROUNDING
from .._portable import TINY, larger
from .bases.scale_invariant import maximum_invariants


class State(NamedTuple):  # one entry for each coordinate and output
    M: np.ndarray  # largest |x| so far, the paper's s
    v: np.ndarray  # the weights times M
    G: np.ndarray  # sum of the squared gradients (g x)^2


class Shared(NamedTuple):  # one entry for each output
    N: np.ndarray  # sum over rows and coordinates of (x / M)^2


class NAG(NamedTuple):
    r"""Normalised adaptive gradient descent.

    Before row :math:`t`, for each coordinate with value :math:`x`: where :math:`|x|` is
    above all before, :math:`w \leftarrow w M / |x|` and :math:`M \leftarrow |x|`.
    After it, :math:`N \leftarrow N + \sum_i x_i^2 / M_i^2`, and for each coordinate

    .. math::
        G \leftarrow G + (g x)^2, \qquad
        w \leftarrow w - \eta \sqrt{\frac{t D}{N}} \frac{g x}{M \sqrt G}.

    Parameters
    ----------
    eta : float
        Learning rate, in units of the predictions.
    D : float
        1 for the published algorithm, or the number of coordinates, so that the mean of
        :math:`x_i^2 / M_i^2` takes the place of the sum.
    """

    eta: float = 1.0
    D: float = 1.0

    State = State
    Shared = Shared
    parameters = {"eta": "learning_rate", "D": "normalizer"}
    scale_invariant = True
    stays_finite = True

    def initial_state(self):
        return State(M=0.0, v=0.0, G=TINY)

    def initial_shared(self):
        return Shared(N=0.0)

    def idle_state(self, s):
        return self.initial_state()._replace(M=s.M)

    def idle_shared(self, shared):
        return self.initial_shared()._replace(N=shared.N)

    def weight(self, s, i, x, t):
        return s.v[i] / larger(larger(s.M[i], np.abs(x)), TINY)

    def factor(self, shared, k, q, t):
        return 1.0

    def square(self, s, i, x):
        ratio = x / larger(larger(s.M[i], np.abs(x)), TINY)
        return ratio * ratio

    def row_step(self, shared, k, g, dot, q, t):
        """Return the step size of a row, for coordinates divided by `M`."""
        shared.N[k] += q
        if shared.N[k] == 0.0:
            return 0.0
        return self.eta * np.sqrt(t * self.D / shared.N[k])

    def update(self, s, i, x, g, step, t):
        gx = g * x
        s.M[i] = larger(s.M[i], np.abs(x))
        s.G[i] += gx * gx
        s.v[i] -= step * gx / np.sqrt(s.G[i])

    def reach(self, s, i, t):
        return s.M[i]

    def merged(self, s, shared, w, x, t):
        M = s.M.max(1)
        G = larger(s.G.sum(2), TINY)
        return State(M, w * M, G), Shared(N=shared.N.sum())

    def invariants(self, s, shared, t):
        yield from maximum_invariants(s)
        yield "G is positive", s.G >= TINY
        largest = ROUNDING * t * s.M.shape[1]  # for |x| <= M
        yield "0 <= N <= t d", (shared.N >= 0.0) & (largest >= shared.N)
