"""Clipping of features at a multiple of their largest value so far."""

from copy import copy

import numpy as np
from scipy import sparse

from .._invariants import floats
from .._portable import chosen, each, larger
from .._state import Part
from ..blocks import DenseRows, repeat_to_entries

#: Limit of standardised values, for random features and distances.
MAX_DEVIATIONS = 4.0


def map_entries(function, X):
    """Replace the values of rows: an ndarray or a CSR array of the same shape.

    The function takes values and which features they are of, `...` for all features in
    turn. Zeros must stay zeros.
    """
    if not sparse.issparse(X):
        return function(X, ...)
    return type(X)((function(X.data, X.indices), X.indices, X.indptr), X.shape)


def clipped(x, largest, ratio):
    """Clip a finite value to ±`ratio` times the largest earlier value, if any."""
    limit = chosen(largest > 0.0, ratio * largest, np.inf)
    return chosen((np.abs(x) > limit) & (np.abs(x) < np.inf), np.copysign(limit, x), x)


def clip_dense(largest, rows, weights, ratio, out):
    """Fill `out` with dense values that are clipped by those before."""
    for r in range(weights.given.size):
        for i in each(0, largest.size):
            out[r, i] = z = clipped(rows.X[r, i], largest[i], ratio)
            if weights.given[r] > 0.0:
                largest[i] = larger(largest[i], np.abs(z))


def clip_sparse(largest, rows, weights, ratio, out):
    """Fill `out` with the values of sparse rows, clipped by those before."""
    for r in range(weights.given.size):
        for e in each(rows.indptr[r], rows.indptr[r + 1]):
            i = rows.indices[e]
            out[e] = z = clipped(rows.data[e], largest[i], ratio)
            if weights.given[r] > 0.0:
                largest[i] = larger(largest[i], np.abs(z))


class FeatureLimits(Part):
    """Clips each feature to ± `ratio` times its largest absolute value so far.

    An outlier thus has a bounded effect. Where a feature has grown for good, its limit
    follows, by the factor `ratio` at each row.

    Attributes
    ----------
    largest : ndarray of shape (n_features,)
        Largest absolute value so far, after clipping; 0 if there was none but 0.
    some_clipped : bool
        Whether a learned value was clipped.
    """

    _by_feature = ("largest",)

    def __init__(self, n_features, ratio):
        self.ratio = ratio
        self.largest = np.zeros(n_features)
        self.some_clipped = False

    def learn_and_convert(self, engine, rows, weights):
        """Clip rows, and learn from rows of positive weight."""
        clipped_rows = type(rows)(np.empty_like(rows[0]), *rows[1:])
        loop = clip_dense if isinstance(rows, DenseRows) else clip_sparse
        engine.run_loop(loop, self.largest, rows, weights, self.ratio, clipped_rows[0])
        changed = rows[0] != clipped_rows[0]
        if changed.any():
            is_learned = repeat_to_entries(rows, weights.given > 0.0)
            self.some_clipped |= bool((changed & is_learned).any())
        return clipped_rows

    def clip(self, X):
        """Clip rows without learning: an ndarray or a CSR array."""
        with np.errstate(over="ignore"):
            return map_entries(
                lambda x, features: clipped(x, self.largest[features], self.ratio), X
            )

    def with_columns(self, placement):
        """Return the limits of rows with other columns; see :class:`Placement`."""
        placed = copy(self)
        placed.largest = placement.apply(self.largest, self.largest > 0.0)
        return placed

    @classmethod
    def merged(cls, shards):
        """Merge the limits of several."""
        merged = cls(len(shards.start.largest), shards.start.ratio)
        merged.largest = shards.largest.max()
        merged.some_clipped = any(shards.some_clipped.members)
        return merged

    def invariants(self):
        """Yield what holds between two calls."""
        yield "ratio is above one", 1.0 < self.ratio < np.inf
        yield from floats("largest", self.largest, self.largest.shape)
        yield "largest >= 0", self.largest >= 0.0
