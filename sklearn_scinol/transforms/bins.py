"""Bins of features, from the order of the values in the first rows."""

import numpy as np
from scipy import sparse

from .._invariants import floats

__all__ = ["FeatureBins"]


class FeatureBins:
    """Cuts features into bins whose edges are values of the first rows.

    The edges are quantiles of the rows, and of the distinct values: where most rows
    have the same value, the former are few. Only the order of the values matters: with
    an increasing function of a feature each value falls into the same bin.

    Parameters
    ----------
    n_features : int
    n_samples : int
        The edges are fixed once there are so many rows.
    n_quantiles : int
        Number of quantiles of each kind.

    Attributes
    ----------
    first : ndarray of shape (n_first, n_features)
        The first rows, as long as the edges are not fixed.
    edges : ndarray of shape (n_features, 2 n_quantiles)
        In ascending order, then NaN; a feature with up to two values has none.
    is_fixed : bool
        Whether the edges are.
    """

    def __init__(self, n_features, n_samples, n_quantiles):
        self.n_samples = n_samples
        self.n_quantiles = n_quantiles
        self.first = np.empty((0, n_features))
        self.edges = np.full((n_features, 2 * n_quantiles), np.nan)
        self.is_fixed = False

    @property
    def n_columns(self):
        """Columns for a feature: a bin more than edges, and the last for NaN."""
        return 2 * self.n_quantiles + 2

    def learn(self, X):
        """Learn from the next rows, of shape (n, n_features); NaN is no value."""
        if self.is_fixed:
            return
        self.first = np.vstack([self.first, X[: self.n_samples - len(self.first)]])
        if len(self.first) == self.n_samples:
            self.edges = np.stack([self._edges(values) for values in self.first.T])
            self.first = self.first[:0].copy()
            self.is_fixed = True

    def _edges(self, values):
        """Those of a feature, from its first values."""
        edges = np.full(2 * self.n_quantiles, np.nan)
        values = np.sort(values[~np.isnan(values)])
        distinct = np.unique(values)
        if distinct.size > 2:
            found = np.union1d(self._quantiles(values), self._quantiles(distinct))
            found = found[found < distinct[-1]]  # what is above no bin could tell
            edges[: found.size] = found
        return edges

    def _quantiles(self, ordered):
        """Some of the values, as far from each other as can be."""
        n = self.n_quantiles
        return ordered[np.arange(1, n + 1) * ordered.size // (n + 1)]

    def columns(self, X):
        """One-hot codes of rows: a CSR array of shape (n, n_features n_columns).

        A value has none while the edges are not fixed, or if its feature has no edges.
        """
        n, d = X.shape
        is_gap = np.isnan(X)
        has_bin = is_gap | ~np.isnan(self.edges[:, 0])
        bins = np.full((n, d), self.n_columns - 1)
        for j in range(d):
            # NaN is above all numbers, as edge and as value.
            number = np.searchsorted(self.edges[j], X[:, j], side="left")
            bins[:, j] = np.where(is_gap[:, j], bins[:, j], number)
        if not self.is_fixed:
            has_bin[:] = False
        rows, features = np.nonzero(has_bin)
        columns = features * self.n_columns + bins[rows, features]
        indptr = np.append(0, np.cumsum(has_bin.sum(axis=1)))
        shape = n, d * self.n_columns
        return sparse.csr_array((np.ones(rows.size), columns, indptr), shape=shape)

    def invariants(self):
        """What holds between two calls."""
        n_features = len(self.edges)
        n_first = len(self.first)
        yield "first has a column a feature", self.first.shape == (n_first, n_features)
        yield "first is kept while it is needed", (n_first == 0) or not self.is_fixed
        yield "first is not all that is needed", n_first < self.n_samples
        yield from floats(
            "edges", np.nan_to_num(self.edges), (n_features, 2 * self.n_quantiles)
        )
        with np.errstate(invalid="ignore"):
            steps = np.diff(self.edges, axis=1)
        yield "edges ascend", (steps > 0.0) | np.isnan(steps)
        yield "NaN comes last", np.diff(np.isnan(self.edges).astype(int), axis=1) >= 0
