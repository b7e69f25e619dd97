"""FreeGrad of Mhammedi and Koolen (2020), for linear models."""

from typing import NamedTuple

import numpy as np

from .._portable import (
    LARGEST_WEALTH,
    TINY,
    chosen,
    exact,
    exp,
    larger,
    portable,
    smaller,
)

__all__ = ["FreeGrad"]


#: Where V stops, so that quotients of it are numbers.
LARGEST_V = LARGEST_WEALTH**2


class State(NamedTuple):
    """One entry a coordinate and output."""

    h: np.ndarray  # largest |x| so far
    B: np.ndarray  # sum of |x| / h, each with the h of its row
    h_tau: np.ndarray  # the same two at the latest restart, the row itself included
    B_tau: np.ndarray
    G: np.ndarray  # sum of the gradients g x since the restart
    V: np.ndarray  # h_tau^2 plus the sum of their squares


class FreeGrad(NamedTuple):
    r"""Algorithm 2 of *Lipschitz and Comparator-Norm Adaptivity* (2020).

    Before a row, for each coordinate with value :math:`x`, :math:`h \leftarrow \max(h,
    |x|)`. With :math:`B` the sum of :math:`|x| / h` over the rows before, the algorithm
    restarts if :math:`h / h_\tau > B + 1`, and where the feature appears: :math:`h_\tau
    = h`, :math:`G = 0`, :math:`V = h^2` and :math:`B_\tau = B + |x| / h`. Then

    .. math::
        w = \frac{-G (2 V + h |G|) h_\tau^2}{2 (V + h |G|)^2 \sqrt V}
        \exp\left(\frac{G^2}{2 V + 2 h |G|}\right) \frac{1}{h_\tau B_\tau},

    and after the row, with :math:`g \in [-1, 1]` the derivative of the loss, :math:`G
    \leftarrow G + g x` and :math:`V \leftarrow V + (g x)^2`.

    Parameters
    ----------
    epsilon : float
        Initial wealth of each coordinate, here times that :math:`w`.
    """

    epsilon: float = 1.0

    State = State
    keeps_first = False
    bounded_gradients = True

    def initial_state(self):
        """Values of the fields before the first row."""
        return State(h=0.0, B=0.0, h_tau=0.0, B_tau=TINY, G=0.0, V=TINY)

    def weight(self, s, i, x, t):
        """Weight for a row with value `x` at coordinate `i`."""
        h = larger(s.h[i], np.abs(x))
        G = chosen(restarts(s, i, h), 0.0, s.G[i])
        return -self.epsilon * bet(G, s.V[i], h, s.h_tau[i]) / s.B_tau[i]

    def update(self, s, i, x, g, w, t):
        """Learn from the derivative `g` of the loss."""
        gx = g * x
        h = larger(s.h[i], np.abs(x))
        r = restarts(s, i, h)
        s.B[i] += np.abs(x) / larger(h, TINY)
        s.h[i] = h
        s.h_tau[i] = chosen(r, h, s.h_tau[i])
        s.B_tau[i] = chosen(r, s.B[i], s.B_tau[i])
        s.G[i] = chosen(r, 0.0, s.G[i]) + gx
        s.V[i] = smaller(chosen(r, h * h, s.V[i]) + gx * gx, LARGEST_V)

    def reach(self, s, i, t):
        """Largest ``|x|`` with the same weight as x = 0."""
        return s.h[i]


@exact
def bet(G, V, h, h_tau):
    """The formula as a product of quotients, none of which leaves the range."""
    a = V + h * np.abs(G)
    growth = exp(0.5 * G * (G / a))
    share = 0.5 * (1.0 + V / a) * (h_tau / np.sqrt(V))
    return G / a * share * smaller(growth, LARGEST_WEALTH)


@portable
def restarts(s, i, h):
    """Whether `h` has outgrown that of the latest restart, or there was none."""
    return h > (s.B[i] + 1.0) * s.h_tau[i]
