"""AdaFTRL of Orabona and Pál (2016) on a Euclidean ball, also tuned as by Koolen."""

from typing import NamedTuple

import numpy as np

from .._invariants import ROUNDING
from .._portable import exact, larger, smaller
from .bases.gradient_sum import (
    MIN_NORM,
    NORM_ERROR,
    GradientSum,
    norm_invariants,
    safe_norm,
    subtract_from_norm,
    zero_until_learned,
)

#: Divisor of the regularisation, by the name of its authors.
TUNINGS = {"koolen": 1.0, "orabona_pal": 16.0}


class Shared(NamedTuple):  # one entry for each output; losses are linear
    norm: np.ndarray  # of theta, the negative sum of the losses
    error: np.ndarray  # bound on the rounding error of the norm
    delta_sum: np.ndarray  # sum of the mixability gaps
    total: np.ndarray  # root of the sum of the losses' squared norms
    largest: np.ndarray  # largest norm of a loss


class Parameters(NamedTuple):
    """Hyperparameters.

    Parameters
    ----------
    radius : float
        Radius `U` of the ball.
    divisor : float
        See :data:`TUNINGS`.
    """

    radius: float = 1.0
    divisor: float = 1.0


class AdaFTRL(GradientSum, Parameters):
    r"""Follow the leader, regularised by the mixability gaps so far.

    With :math:`R(w) = \tfrac12 \|w\|^2`, :math:`D = U^2 / 2` and
    :math:`1 / \eta_t = \sum_{s < t} \delta_s / (c D)`, where `c` is the divisor,

    .. math::
        w_t = \arg\min_{\|w\| \le U} -\langle w, \theta_t \rangle + R(w) / \eta_t
        = \min(\eta_t, U / \|\theta_t\|) \, \theta_t.

    The mixability gap :math:`\delta_t` is the loss of :math:`w_t` less the increase of
    that minimum.
    """

    __slots__ = ()

    Shared = Shared
    parameters = {"radius": "radius", "divisor": "tuning"}
    stays_finite = True

    def initial_shared(self):
        return Shared(norm=0.0, error=0.0, delta_sum=0.0, total=0.0, largest=0.0)

    def factor(self, shared, k, q, t):
        factor = smaller(rate(self, shared, k), self.radius / safe_norm(shared, k))
        return zero_until_learned(factor, shared, k)

    def row_step(self, shared, k, g, dot, q, t):
        """Add the mixability gap of the row, and the row to the norm of theta."""
        root = np.sqrt(q)
        length = np.abs(g) * root
        if length < MIN_NORM:  # lost in the norm, and so kept out of theta
            return 0.0
        along = np.sign(g) * dot / root
        before = shared.norm[k]
        subtract_from_norm(shared, k, along, length)
        gap = mixability_gap(
            rate(self, shared, k), self.radius, along, length, before, shared.norm[k]
        )
        shared.delta_sum[k] += larger(gap, 0.0)
        shared.total[k] = np.hypot(shared.total[k], length)
        shared.largest[k] = larger(shared.largest[k], length)
        return g

    def regret_bound(self, s, shared, u, t, first):
        """Bound for each output; infinite where `u` is outside the ball."""
        main = self.radius * np.sqrt(0.5) * shared.total
        if self.divisor == TUNINGS["koolen"]:
            bound = 2.0 * main + 4.0 * self.radius * shared.largest
        else:
            bound = 5.3 * main
        norm = np.sqrt((u * u).sum(axis=1))
        return np.where(norm <= self.radius * (1 + 1e-12), bound, np.inf)

    def merged_shared(self, shared, w_norm, t):
        delta_sum, largest = shared.delta_sum.sum(1), shared.largest.max(1)
        total = np.sqrt(shared.total.map(np.square).sum(2))
        known = Shared(0.0, 0.0, delta_sum, total, largest)
        norm = w_norm / rate(self, known, ...)
        is_inside = w_norm < (1.0 - 1e-12) * self.radius
        norm = np.where(is_inside, norm, larger(norm, shared.norm.mean()))
        norm = smaller(norm, np.sqrt(t) * total)
        return known._replace(norm=norm, error=NORM_ERROR * norm), norm

    def invariants(self, s, shared, t):
        yield from norm_invariants(s, shared)
        yield "delta_sum >= 0", shared.delta_sum >= 0.0
        yield "largest >= 0", shared.largest >= 0.0
        yield "largest <= total", shared.largest <= ROUNDING * shared.total
        largest = ROUNDING * np.sqrt(t) * shared.largest
        yield "total^2 <= t largest^2", shared.total <= largest
        largest = ROUNDING * np.sqrt(t) * shared.total + shared.error
        yield "norm^2 <= t total^2", shared.norm <= largest


def rate(learner, shared, k):
    """Learning rate: infinite before the first loss that is not 0."""
    return 0.5 * learner.divisor * learner.radius * learner.radius / shared.delta_sum[k]


@exact
def mixability_gap(eta, radius, along, length, before, after):
    """Gap of a linear loss, from the norms of theta before and after it.

    The loss has norm `length`; `along` is the inner product of theta and its direction.
    Where the leader stays inside the ball, or on the sphere, the gap has a formula of
    its own: a difference of the minima would lose its digits.
    """
    if eta == np.inf:
        return radius * length
    was_inside, is_inside = eta * before <= radius, eta * after <= radius
    if was_inside and is_inside:
        return 0.5 * eta * length * length
    if not (was_inside or is_inside):
        slope = along / before + (length - 2.0 * along) / (before + after)
        return radius * length * slope
    loss = (eta if was_inside else radius / before) * along * length
    increase = minimum(eta, radius, after) - minimum(eta, radius, before)
    return loss - increase


@exact
def minimum(eta, radius, norm):
    """Minimum of ``R(w) / eta - <w, theta>`` over the ball, from the norm of theta."""
    if eta * norm <= radius:
        return -0.5 * eta * norm * norm
    return radius * (0.5 * radius / eta - norm)
