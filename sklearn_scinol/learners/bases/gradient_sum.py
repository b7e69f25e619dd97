"""What learners have in common whose weights are a multiple of the sum of gradients."""

from typing import NamedTuple

import numpy as np

from ..._portable import chosen, exact, larger, portable

__all__ = ["GradientSum"]

#: What a norm can be wrong by after a step, relative to its size: the root of the
#: rounding errors of its square.
NORM_ERROR = 3e-8

#: Weights are as if no norm were below this: its inverse is far from overflow.
MIN_NORM = 1e-150


class State(NamedTuple):
    """One entry a coordinate and output."""

    theta: np.ndarray  # minus the sum of the gradients


class GradientSum:
    r"""Weights ``w = factor * theta``, with :math:`\theta = -\sum_s g_s x_s`.

    Each learner adds `Shared`, `initial_shared`, `factor` and `row_step`. None of them
    asks for more than inner products, so that they learn with kernels as well.
    """

    __slots__ = ()

    State = State
    scale_invariant = False
    bounded_gradients = False
    stays_finite = False
    keeps_first = False

    def initial_state(self):
        """Values of the fields before the first row."""
        return State(theta=0.0)

    def weight(self, s, i, x, t):
        """Weight of coordinate `i`, up to the factor."""
        return s.theta[i]

    def square(self, s, i, x):
        """Share of a coordinate in `q`."""
        return x * x

    def update(self, s, i, x, g, step, t):
        """Learn from the number that `row_step` gave."""
        s.theta[i] -= step * x

    def merged(self, s, shared, w, x, t):
        """State of several, with the weights `w` for a row `x`."""
        norm_of_w = np.hypot.reduce(w, axis=1)
        learned, norm = self.merged_shared(shared, norm_of_w, t)
        factor = np.where(norm_of_w > 0.0, norm / norm_of_w, 0.0)
        return State(w * factor[:, np.newaxis]), learned


@exact
def subtract(shared, k, along, length):
    """Bring the norm of theta up to date when a vector is subtracted from it.

    The vector has norm `length`, and theta the inner product `along` with it divided by
    its norm. Adds to `shared.error` what the new norm may be wrong by.
    """
    norm = shared.norm[k]
    cosine = along / norm if norm > 0.0 else 0.0
    across = norm * np.sqrt(larger((1.0 - cosine) * (1.0 + cosine), 0.0))
    shared.norm[k] = np.hypot(across, along - length)
    shared.error[k] = np.hypot(
        shared.error[k], NORM_ERROR * larger(norm, shared.norm[k])
    )


@portable
def safe_norm(shared, k):
    """Norm of theta; where rounding has left nothing of it, no less than it may be.

    A norm that is too small, and only that, could make weights too large.
    """
    return larger(larger(shared.norm[k], shared.error[k]), MIN_NORM)


@portable
def once_learned(factor, shared, k):
    """The factor; 0 as long as no gradient has come, and theta is 0.

    It would not matter there, but for the sum of all factors so far.
    """
    return chosen(larger(shared.norm[k], shared.error[k]) > 0.0, factor, 0.0)


def norm_invariants(s, shared):
    """What holds of the norm of theta, which is given unless rows have a kernel."""
    yield "norm >= 0", shared.norm >= 0.0
    yield "error >= 0", shared.error >= 0.0
    if s is not None:
        distance = np.abs(np.hypot.reduce(s.theta, axis=1) - shared.norm)
        allowed = shared.error + MIN_NORM
        yield "norm is that of theta, but for its error", distance <= allowed
