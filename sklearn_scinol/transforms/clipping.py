"""Clipping of features at a multiple of their largest value so far."""

from copy import copy

import numpy as np

from .._invariants import floats
from .._portable import chosen, portable
from ..blocks import as_writable, repeat_to_entries
from .entries import of_entries

__all__ = ["FeatureLimits", "clipped"]


@portable
def clipped(x, largest, ratio):
    """A finite value, up to `ratio` times the largest before, if there was one."""
    limit = chosen(largest > 0.0, ratio * largest, np.inf)
    return chosen((np.abs(x) > limit) & (np.abs(x) < np.inf), np.copysign(limit, x), x)


class FeatureLimits:
    """The largest value of each feature so far, a multiple of which is its limit.

    One value that is out of all proportion thus has the effect of one that is `ratio`
    times the largest; where a feature has grown for good, its limit follows, by that
    factor at each row.

    Parameters
    ----------
    n_features : int
    ratio : float

    Attributes
    ----------
    largest : ndarray of shape (n_features,)
        Largest absolute value so far, as it was clipped; 0 if there was none but 0.
    some_clipped : bool
        Whether some value has been clipped that was learned.
    """

    def __init__(self, n_features, ratio):
        self.ratio = ratio
        self.largest = np.zeros(n_features)
        self.some_clipped = False

    def learn_and_convert(self, engine, rows, weights):
        """Rows with values clipped; limits learn those that are to be learned.

        Parameters
        ----------
        engine : Engine
        rows : DenseRows or CSRRows
        weights : RowWeights

        Returns
        -------
        rows : DenseRows or CSRRows
        """
        clipped_rows = engine.clip_rows(self.largest, rows, weights, self.ratio)
        changed = rows[0] != clipped_rows[0]
        if (
            changed.any()
            and (changed & repeat_to_entries(rows, weights.given > 0.0)).any()
        ):
            self.some_clipped = True
        return clipped_rows

    def clip(self, X):
        """Rows as they are learned: an ndarray or a CSR array, without learning it."""
        with np.errstate(over="ignore"):
            return of_entries(
                lambda x, features: clipped(x, self.largest[features], self.ratio), X
            )

    def with_columns(self, placement):
        """Those of rows with other columns; see :class:`Placement`."""
        placed = copy(self)
        placed.largest = placement.of(self.largest, self.largest > 0.0)
        return placed

    @classmethod
    def merged(cls, shards):
        """Those of the rows of several."""
        merged = cls(len(shards.start.largest), shards.start.ratio)
        merged.largest = shards.largest.most()
        merged.some_clipped = any(shards.some_clipped.members)
        return merged

    def checkpoint(self, columns):
        """How to undo what rows with values in these columns only will do."""
        largest, some_clipped = self.largest.take(columns), self.some_clipped

        def restore():
            self.largest[columns], self.some_clipped = largest, some_clipped

        return restore

    def ensure_layout(self):
        """Make the state what can be changed; joblib maps arrays to be read only."""
        self.largest = as_writable(self.largest)

    def invariants(self):
        """What holds between two calls, see :mod:`sklearn_scinol._invariants`."""
        yield "ratio is above one", 1.0 < self.ratio < np.inf
        yield from floats("largest", self.largest, self.largest.shape)
        yield "largest >= 0", self.largest >= 0.0
