"""Weights of rows, as learners see them."""

import numpy as np

from ..engines.protocol import RowWeights

__all__ = ["WeightScale"]

#: So far a weight may be above others, and above 1: products with values are finite.
LARGEST_WEIGHT = 1e100

#: A positive weight counts as at least this, and so as positive.
SMALLEST_WEIGHT = np.finfo(np.float64).tiny


class WeightScale:
    """Takes the weights of a stream relative to the first positive one.

    So a number that all weights are multiplied by does not matter. A row that is only
    predicted counts as one of the smallest positive weight so far: whatever its weight,
    a row within the values seen before has then made no learner see larger values.

    Attributes
    ----------
    unit : float
        The first positive weight; 0 as long as there was none.
    smallest : float
        The smallest positive weight so far, relative to `unit`.
    """

    def __init__(self):
        self.unit = 0.0
        self.smallest = 1.0

    def enter(self, given):
        """Weights of the next rows, in order.

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
            If a weight is too large.
        """
        if isinstance(given, int):
            given = np.ones(given)
            if self.unit == 1.0:
                self.smallest = min(self.smallest, 1.0)
                return RowWeights(given, given)
        is_learned = given > 0.0
        if self.unit == 0.0 and is_learned.any():
            self.unit = float(given[is_learned.argmax()])
        with np.errstate(over="ignore"):
            relative = given / (self.unit or 1.0)
        if max(given.max(initial=0.0), relative.max(initial=0.0)) > LARGEST_WEIGHT:
            raise ValueError(
                f"Sample weights must not be larger than {LARGEST_WEIGHT:g}, nor than "
                f"{LARGEST_WEIGHT:g} times the first positive one."
            )
        relative = np.where(is_learned, np.maximum(relative, SMALLEST_WEIGHT), np.inf)
        smallest = np.minimum.accumulate(np.append(self.smallest, relative))
        self.smallest = float(smallest[-1])
        return RowWeights(given, np.where(is_learned, relative, smallest[1:]))
