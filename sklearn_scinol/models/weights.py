"""Weights of rows, as learners see them."""

import numpy as np

from ..blocks import RowWeights, as_writable

__all__ = ["WeightScale", "check_range", "is_usual"]

#: The range of weights that are not 0: no quotient of two is beyond 1e100.
MIN_WEIGHT, MAX_WEIGHT = 1e-50, 1e50

# But for rounding, in the quotient and in products of those.
MIN_RELATIVE_WEIGHT = 0.999 * MIN_WEIGHT / MAX_WEIGHT


def is_usual(weight):
    """Whether a weight is in that range, or 0."""
    return weight == 0.0 or MIN_WEIGHT <= weight <= MAX_WEIGHT


def check_range(weights):
    """Refuse positive weights that are out of that range."""
    if weights.size == 0:
        return
    if weights.min() < MIN_WEIGHT or weights.max() > MAX_WEIGHT:
        raise ValueError(
            "Sample weights that are not 0 must be between "
            f"{MIN_WEIGHT:g} and {MAX_WEIGHT:g}."
        )


class WeightScale:
    """Takes the weights of a stream relative to the first positive one.

    So a number that all weights are multiplied by does not matter. A row that is only
    predicted counts as one of the smallest positive weight so far: whatever its weight,
    a row within the values seen before has then made no learner see larger values.

    Attributes
    ----------
    numbers : ndarray of shape (2,)
        `unit` and `smallest`, for engines.
    """

    def __init__(self):
        self.numbers = np.array([0.0, 1.0])

    @property
    def unit(self):
        """The first positive weight; 0 as long as there was none."""
        return float(self.numbers[0])

    @property
    def smallest(self):
        """The smallest positive weight so far, relative to `unit`."""
        return float(self.numbers[1])

    def relative(self, given):
        """Weights of the next rows, in order; they are not counted as learned yet.

        Parameters
        ----------
        given : ndarray of shape (n,) or int
            Non-negative weights, or a number of rows of weight 1.

        Returns
        -------
        weights : RowWeights

        Raises
        ------
        ValueError
            If a weight is out of range.
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
        """That of several streams, and what weights of each are multiplied by there."""
        units = [scale.unit for scale in (shards.start, *shards.members) if scale.unit]
        merged = cls()
        if not units:
            return merged, [1.0] * len(shards)
        factors = [(scale.unit or units[0]) / units[0] for scale in shards.members]
        smallest = [
            factor * scale.smallest
            for factor, scale in zip(factors, shards.members, strict=True)
        ]
        merged.numbers[:] = units[0], min(1.0, *smallest)
        return merged, factors

    def learned(self, weights):
        """Count rows as learned."""
        self.numbers[:] = weights.after

    def ensure_layout(self):
        """Make the state what engines take; joblib maps arrays to be read only."""
        self.numbers = as_writable(self.numbers)
