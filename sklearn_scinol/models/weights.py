"""Scale of sample weights, which makes their unit irrelevant."""

import numpy as np

from ..blocks import RowWeights, as_writable

__all__ = ["WeightScale", "check_not_all_zero", "check_range", "is_in_range"]

#: Range of positive weights: quotients of two are at most 1e100.
MIN_WEIGHT, MAX_WEIGHT = 1e-50, 1e50

# Smallest quotient of two weights, with room for rounding.
MIN_RELATIVE_WEIGHT = 0.999 * MIN_WEIGHT / MAX_WEIGHT


def is_in_range(weight):
    """Whether a weight is 0 or in the range of positive weights."""
    return weight == 0.0 or MIN_WEIGHT <= weight <= MAX_WEIGHT


def check_range(weights):
    """Raise an error if positive weights are out of range."""
    if weights.size == 0:
        return
    if weights.min() < MIN_WEIGHT or weights.max() > MAX_WEIGHT:
        raise ValueError(
            f"Sample weights must be 0 or between {MIN_WEIGHT:g} and {MAX_WEIGHT:g}."
        )


def check_not_all_zero(weights):
    """Raise an error if no weight is positive."""
    if not np.asarray(weights).any():
        raise ValueError("Sample weights must contain at least one non-zero number.")


class WeightScale:
    """Scale of a stream's weights: the first positive one becomes 1.

    So a factor of all weights does not matter. A row that is only predicted has the
    smallest positive weight so far: learners then see no larger values than before.
    """

    def __init__(self):
        self.numbers = np.array([0.0, 1.0])  # `unit` and `smallest`, for engines

    @property
    def unit(self):
        """The first positive weight; 0 before."""
        return float(self.numbers[0])

    @property
    def smallest(self):
        """The smallest positive weight so far, relative to `unit`."""
        return float(self.numbers[1])

    def relative(self, given):
        """Return :class:`RowWeights` of the next rows, without learning them.

        `given` are their non-negative weights, or a number of rows of weight 1. A
        weight out of range is an error.
        """
        unit, smallest = self.numbers
        if isinstance(given, int):
            given = np.ones(given)
            if unit in (0.0, 1.0):
                return RowWeights(given, given, np.array([1.0, smallest]))
        is_learned = given > 0.0
        positive = given[is_learned]
        if positive.size == 0:
            return RowWeights(given, np.full_like(given, smallest), self.numbers.copy())
        check_range(positive)
        unit = unit or positive[0]
        relative = np.where(is_learned, given / unit, np.inf)
        smallest = np.minimum.accumulate(np.append(smallest, relative))
        relative = np.where(is_learned, relative, smallest[1:])
        return RowWeights(given, relative, np.array([unit, smallest[-1]]))

    @classmethod
    def merged(cls, shards):
        """Merge the scales of streams; return factors of the weights of each."""
        units = [scale.unit for scale in (shards.start, *shards.members) if scale.unit]
        merged = cls()
        if not units:
            return merged, [1.0] * len(shards)
        factors = [(scale.unit or units[0]) / units[0] for scale in shards.members]
        pairs = zip(factors, shards.members, strict=True)
        smallest = [factor * scale.smallest for factor, scale in pairs]
        merged.numbers[:] = units[0], min(1.0, *smallest)
        return merged, factors

    def learned(self, weights):
        """Update the scale for rows that were learned."""
        self.numbers[:] = weights.after

    def ensure_layout(self):
        """Make the numbers writable."""
        self.numbers = as_writable(self.numbers)
