"""Learners whose weights are a multiple of the sum of the gradients."""

from typing import NamedTuple

import numpy as np

from ..._portable import chosen, exact, larger

#: Largest relative error of a norm after a step: the root of the rounding errors of its
#: square.
NORM_ERROR = 3e-8

#: Smaller norms count as this one, whose inverse is far from overflow.
MIN_NORM = 1e-150


class State(NamedTuple):  # one entry for each coordinate and output
    theta: np.ndarray  # minus the sum of the gradients


class GradientSum:
    r"""Weights ``w = factor * theta``, with :math:`\theta = -\sum_s g_s x_s`.

    A subclass adds `Shared`, `initial_shared`, `factor`, `row_step` and
    `merged_shared`: the shared numbers that go with weights of a given norm, and the
    norm of theta then. All need inner products only, so that they learn with kernels.
    """

    __slots__ = ()

    State = State

    def initial_state(self):
        return State(theta=0.0)

    def weight(self, s, i, x, t):
        return s.theta[i]

    def square(self, s, i, x):
        return x * x

    def update(self, s, i, x, g, step, t):
        s.theta[i] -= step * x

    def merged(self, s, shared, w, x, t):
        w_norm = np.hypot.reduce(w, axis=1)
        learned, norm = self.merged_shared(shared, w_norm, t)
        factor = np.where(w_norm > 0.0, norm / w_norm, 0.0)
        return State(w * factor[:, np.newaxis]), learned


@exact
def subtract_from_norm(shared, k, along, length):
    """Update the norm of theta for a vector that is subtracted from it.

    The vector has norm `length`; `along` is the inner product of theta and its
    direction. `shared.error` grows by what the new norm may be wrong by.
    """
    norm = shared.norm[k]
    cosine = along / norm if norm > 0.0 else 0.0
    across = norm * np.sqrt(larger((1.0 - cosine) * (1.0 + cosine), 0.0))
    shared.norm[k] = np.hypot(across, along - length)
    shared.error[k] = np.hypot(
        shared.error[k], NORM_ERROR * larger(norm, shared.norm[k])
    )


def safe_norm(shared, k):
    """Norm of theta, raised to what rounding may hide.

    Only a norm that is too small could make weights too large.
    """
    return larger(larger(shared.norm[k], shared.error[k]), MIN_NORM)


def zero_until_learned(factor, shared, k):
    """Replace a factor by 0 as long as no gradient has come, and theta is 0.

    That matters for the sum of all factors only.
    """
    return chosen(larger(shared.norm[k], shared.error[k]) > 0.0, factor, 0.0)


def norm_invariants(s, shared):
    """Invariants of the norm of theta; `s` is None with kernels."""
    yield "norm >= 0", shared.norm >= 0.0
    yield "error >= 0", shared.error >= 0.0
    if s is not None:
        distance = np.abs(np.hypot.reduce(s.theta, axis=1) - shared.norm)
        allowed = shared.error + MIN_NORM
        yield "norm is the norm of theta, up to rounding", distance <= allowed
