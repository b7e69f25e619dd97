"""Online mirror descent with the Euclidean norm."""

from typing import NamedTuple

import numpy as np

from ..._invariants import ROUNDING
from ..._portable import TINY, larger, smaller

#: Leaves no step, and its products with small numbers are not NaN.
MAX_LAMBDA = 1e300

#: A smaller factor, or 0, is lost beside the step that comes with it.
MIN_SHRINK = 1e-20

#: A smaller scale is multiplied into the vector: by a pass over all coordinates, long
#: before numbers leave the range.
MIN_SCALE = 1e-50

#: Largest error of the norm after a step, as a share of the largest norm so far: the
#: root of the rounding errors of its square. Below `MIN_NORM` squares are 0.
NORM_ERROR, MIN_NORM = 3e-8, 1e-150


class State(NamedTuple):  # one entry for each coordinate and output
    v: np.ndarray  # the weights divided by `scale`


class Shared(NamedTuple):  # one entry for each output
    scale: np.ndarray  # factor of the vector; 1 where nothing was projected
    norm2: np.ndarray  # squared norm of the weights
    largest_norm2: np.ndarray  # the largest `norm2` so far
    lambda_: np.ndarray  # regularisation, the inverse of the step size
    delta_sum: np.ndarray  # part of the regret bound beside distance times lambda


class Parameters(NamedTuple):
    """Hyperparameters.

    Parameters
    ----------
    beta : float
        Scale of the step sizes, in units of the weights.
    radius : float
        Radius of the ball that the weights are kept in; infinity for none.
    """

    beta: float = 1.0
    radius: float = np.inf


class MirrorDescent(Parameters):
    r"""Weights ``w = scale * v``, which a projection changes in O(1).

    A subclass adds `row_step` or `implicit_row_step`, and with it the choice of
    :math:`\lambda`. The regret against `u` is always at most
    :math:`\max_t \tfrac12 \|u - w_t\|^2 \lambda_T + \sum_t \delta_t`, where
    :math:`\delta_t` is the decrease of an implicit step (Theorem 5.2 of Campolongo and
    Orabona 2020), or :math:`\|g_t\|^2 / (2 \lambda_t)` for a step along the gradient
    (equation 3 there).
    """

    __slots__ = ()

    State = State
    Shared = Shared
    parameters = {"beta": "learning_rate", "radius": "radius"}
    odd = ("v",)

    def initial_state(self):
        return State(v=0.0)

    def initial_shared(self):
        return Shared(
            scale=1.0, norm2=0.0, largest_norm2=0.0, lambda_=0.0, delta_sum=0.0
        )

    def weight(self, s, i, x, t):
        return s.v[i]

    def factor(self, shared, k, q, t):
        return shared.scale[k]

    def square(self, s, i, x):
        return x * x

    def update(self, s, i, x, g, step, t):
        s.v[i] -= step * x

    def take_scale(self, shared, k):
        scale = shared.scale[k]
        if scale >= MIN_SCALE:
            return 1.0
        shared.scale[k] = 1.0
        return scale

    def fold(self, s, i, scale):
        s.v[i] *= scale

    def regret_bound(self, s, shared, u, t, first):
        """Bound for each output; infinite where `u` is outside the ball."""
        norm = np.sqrt((u * u).sum(axis=1))
        distance = norm + np.sqrt(shared.largest_norm2)
        bound = 0.5 * distance**2 * shared.lambda_ + shared.delta_sum
        return np.where(norm <= self.radius * (1 + 1e-12), bound, np.inf)

    def merged(self, s, shared, w, x, t):
        shrink = smaller(1.0, self.radius / larger(np.hypot.reduce(w, axis=1), TINY))
        w = w * shrink[:, np.newaxis]
        norm2 = (w * w).sum(axis=1)
        learned = Shared(
            scale=np.ones_like(norm2),
            norm2=norm2,
            largest_norm2=larger(shared.largest_norm2.max(), norm2),
            lambda_=smaller(self.merged_lambda(shared.lambda_), MAX_LAMBDA),
            delta_sum=shared.delta_sum.sum(),
        )
        return State(w), learned

    def merged_lambda(self, shards):
        """Merge the regularisations, which most learners find anew at each row."""
        return shards.max()

    def invariants(self, s, shared, t):
        yield "0 < scale <= 1", (shared.scale > 0.0) & (shared.scale <= ROUNDING)
        yield "norm2 >= 0", shared.norm2 >= 0.0
        yield "norm2 <= largest_norm2", shared.norm2 <= shared.largest_norm2
        norm, largest = np.sqrt(shared.norm2), np.sqrt(shared.largest_norm2)
        yield "weights are in the ball", norm <= ROUNDING * self.radius
        yield "lambda_ >= 0", shared.lambda_ >= 0.0
        yield "delta_sum >= 0", shared.delta_sum >= 0.0
        distance = np.abs(shared.scale * np.hypot.reduce(s.v, axis=1) - norm)
        allowed = NORM_ERROR * np.sqrt(t) * largest + MIN_NORM
        yield "norm2 is the squared norm of the weights", distance <= allowed


def move(learner, shared, k, shrink, step, p, q):
    """Move to ``shrink * w + step * x``; return the step of `v` for `update`.

    Arguments: ``p = <w, x>`` and ``q = ||x||^2``.
    """
    norm2 = shrink * shrink * shared.norm2[k] + step * (2.0 * shrink * p + step * q)
    norm2 = larger(0.0, smaller(norm2, learner.radius * learner.radius))
    shared.norm2[k] = norm2
    shared.largest_norm2[k] = larger(shared.largest_norm2[k], norm2)
    shared.scale[k] *= larger(shrink, MIN_SHRINK)
    return -step / shared.scale[k]


def descend(learner, shared, k, g, dot, q):
    """Step along the gradient ``g x``, then project onto the ball."""
    p, step = shared.scale[k] * dot, -g / shared.lambda_[k]
    shared.delta_sum[k] -= 0.5 * g * q * step
    norm2 = shared.norm2[k] + step * (2.0 * p + step * q)
    shrink = 1.0
    if norm2 > learner.radius * learner.radius:
        shrink = learner.radius / np.sqrt(norm2)
    return move(learner, shared, k, shrink, shrink * step, p, q)
