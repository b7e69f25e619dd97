"""Dimension-free exponentiated gradient of Orabona (NIPS 2013), Algorithm 1."""

from typing import NamedTuple

import numpy as np

from .._portable import MAX_WEALTH, larger, smaller
from .bases.gradient_sum import (
    MIN_NORM,
    NORM_ERROR,
    GradientSum,
    norm_invariants,
    safe_norm,
    subtract_from_norm,
    zero_until_learned,
)

MAX_EXPONENT = np.log(MAX_WEALTH)


class Shared(NamedTuple):  # one entry for each output
    H: np.ndarray  # delta plus the sum of L^2 max(||x||, ||x||^2)
    norm: np.ndarray  # of theta
    error: np.ndarray  # bound on the rounding error of the norm
    share2: np.ndarray  # square of the output's `shares`


class Parameters(NamedTuple):
    """Hyperparameters.

    Parameters
    ----------
    a : float
        Factor of the exponents' scale; the proof holds from 0.882 to 1.109.
    delta : float
        Value of `H` before the first row.
    lipschitz : float
        Lipschitz constant `L` of the loss, the largest of all outputs.
    shares : float or tuple of float
        The Lipschitz constant of each output, as a share of `lipschitz`.
    """

    a: float = 0.882
    delta: float = 1.0
    lipschitz: float = 1.0
    shares: float | tuple[float, ...] = 1.0


class DFEG(GradientSum, Parameters):
    r"""Exponentiated gradient on the norm, in whatever dimension.

    .. math::
        w_t = \frac{\theta_t}{\|\theta_t\|} H_t^{-3/2}
        \exp \frac{\|\theta_t\|}{a \sqrt{H_t}}, \qquad
        H_t = \delta + \sum_{s \le t} L^2 \max(\|x_s\|, \|x_s\|^2).
    """

    __slots__ = ()

    Shared = Shared
    parameters = {"a": "a", "delta": "delta", "lipschitz": "lipschitz"}
    stays_finite = True

    def initial_shared(self):
        return Shared(self.delta, 0.0, 0.0, np.square(self.shares))

    def idle_shared(self, shared):
        return self.initial_shared()._replace(H=shared.H)

    def factor(self, shared, k, q, t):
        length = shared.share2[k] * larger(np.sqrt(q), q)
        H = shared.H[k] + self.lipschitz * self.lipschitz * length
        norm = safe_norm(shared, k)
        exponent = norm / (self.a * np.sqrt(H)) - 1.5 * np.log(H)
        factor = np.exp(smaller(exponent, MAX_EXPONENT)) / norm
        return zero_until_learned(factor, shared, k)

    def row_step(self, shared, k, g, dot, q, t):
        """Add the row to `H`, and its gradient to the norm of theta."""
        root = np.sqrt(q)
        length = shared.share2[k] * larger(root, q)
        shared.H[k] += self.lipschitz * self.lipschitz * length
        if g == 0.0 or root == 0.0:
            return 0.0
        subtract_from_norm(shared, k, np.sign(g) * dot / root, np.abs(g) * root)
        return g

    def regret_bound(self, s, shared, u, t, first):
        """Theorem 1 for each output; no regret before the first row."""
        norm = np.sqrt((u * u).sum(axis=1))
        constant = 4.0 * np.exp(1.0 + 1.0 / self.a)
        lipschitz = self.lipschitz * np.asarray(self.shares)
        constant = constant / (lipschitz * np.sqrt(self.delta))
        logarithm = np.log(norm) + 1.5 * np.log(shared.H) - 1.0
        growth = (
            self.a * np.sqrt(shared.H) * norm * np.where(norm > 0.0, logarithm, 0.0)
        )
        return np.where(t > 0, constant + growth, 0.0)

    def merged_shared(self, shared, w_norm, t):
        H = larger(shared.H.sum(), self.delta)
        exponent = np.log(w_norm) + 1.5 * np.log(H)
        norm = larger(self.a * np.sqrt(H) * exponent, MIN_NORM)
        norm = np.where(w_norm > 0.0, norm, 0.0)
        return Shared(H, norm, NORM_ERROR * norm, shared.share2.max()), norm

    def invariants(self, s, shared, t):
        yield from norm_invariants(s, shared)
        yield "H >= delta", self.delta <= shared.H
        yield "share2 is the square of shares", shared.share2 == np.square(self.shares)
