"""Centring and scaling of targets by their running moments."""

import numpy as np

from .._invariants import floats, is_number
from .._portable import each
from .._state import Part
from ..blocks import TargetScale
from . import moments


def learn_targets(values, weight_sum, y, weights, unit_free, scale):
    """Fill the :class:`TargetScale` of targets before each row, which is then learned.

    Derivatives of the loss have the target's unit unless `unit_free`.
    """
    total = weight_sum[0]
    for r in range(y.shape[0]):
        any_before, learns = total > 0.0, weights.given[r] > 0.0
        total, share, past = moments.add_weight(total, weights.relative[r], learns)
        for k in each(0, y.shape[1]):
            mean, variance = values[0, k], values[1, k]
            scale.offset[r, k], scale.deviation[r, k] = mean, np.sqrt(variance)
            slope = 1.0 if any_before else 0.0
            if not unit_free:
                slope = moments.inverse_deviation(variance)
            scale.slope[r, k] = slope
            if learns:
                deviation = y[r, k] - mean
                values[0, k] = moments.moved_mean(mean, share, deviation)
                values[1, k] = moments.moved_variance(variance, share, past, deviation)
    weight_sum[0] = total


class TargetTransform(Part):
    """Lets a learner predict standardised targets.

    Mean and deviation are over all targets before the row. The first target has no
    deviation yet: only the mean learns from it.

    Parameters
    ----------
    unit_free : bool
        Whether derivatives of the loss have no unit. Otherwise they have the target's,
        and are divided by the deviation for the learner.

    Attributes
    ----------
    moments : ndarray of shape (2, n_outputs)
        Weighted mean and variance of the targets so far.
    weight_sum : ndarray of shape (1,)
    """

    def __init__(self, n_outputs, *, unit_free):
        self.unit_free = unit_free
        self.moments = np.zeros((2, n_outputs))
        self.weight_sum = np.zeros(1)

    @property
    def kind(self):
        """Parameters, equal for transforms with equal results."""
        return self.moments.shape[1], self.unit_free

    def fresh(self):
        """Return a transform with these parameters, before the first row."""
        return TargetTransform(self.moments.shape[1], unit_free=self.unit_free)

    @classmethod
    def merged(cls, shards):
        """Merge transforms of several parts of the rows."""
        merged = shards.start.fresh()
        parts = shards.map(lambda target: (*target.moments, target.weight_sum))
        mean, variance, merged.weight_sum[:] = moments.merged(parts)
        merged.moments[:] = mean, variance
        return merged

    def to_weights(self, w, b):
        """Convert the learner's coefficients to the target's unit."""
        deviation = np.sqrt(self.moments[1])[:, np.newaxis]
        # Weights of tiny values may be infinite.
        return np.where(deviation > 0.0, deviation * w, 0.0), self.to_raw(b)

    def from_weights(self, w, b):
        """Convert coefficients to the learner's; 0 where targets have not varied."""
        mean, variance = self.moments
        inverse = moments.inverse_deviation(variance)
        return inverse[:, np.newaxis] * w, inverse * (b - mean)

    def learn(self, engine, y, weights):
        """Learn from targets in order; return the :class:`TargetScale` before each."""
        scale = TargetScale(*(np.empty_like(y) for _ in TargetScale._fields))
        state = self.moments, self.weight_sum
        engine.run_loop(learn_targets, *state, y, weights, self.unit_free, scale)
        return scale

    def to_raw(self, p):
        """Convert the learner's predictions to the target's unit."""
        mean, variance = self.moments
        return mean + np.sqrt(variance) * p

    def invariants(self):
        """Yield what holds between two calls."""
        yield "unit_free is true or false", is_number(self.unit_free, bool)
        yield from floats("moments", self.moments, (2, self.moments.shape[-1]))
        yield from floats("weight_sum", self.weight_sum, (1,))
        yield "weight_sum >= 0", self.weight_sum >= 0.0
        yield "variance >= 0", self.moments[1] >= 0.0
