"""Bins of features, with edges from the values of the first rows."""

import numpy as np
from scipy import sparse

from .._invariants import floats, is_count
from .._portable import each
from .._state import Part

# With edges from 30, 50, 70 and 100 rows, default mixtures had losses of .793, .797,
# .796 and .793 times AdaHedge of six linear learners (geometric means of 30 data sets).
N_SAMPLES = 100
N_QUANTILES = 8

# Number of points between two edges at which overlaps with other bins are measured.
N_STEPS = 16


def count_below(edges, X, bins):
    """Fill bins with the numbers of edges below finite values, by feature.

    Edges ascend; NaN after them is not below any number.
    """
    for r in each(0, X.shape[0]):
        for j in each(0, X.shape[1]):
            x, n_below = X[r, j], 0
            for e in range(edges.shape[1]):  # all: a search could not be vectorised
                n_below += edges[j, e] < x
            bins[r, j] = n_below


class FeatureBins(Part):
    """Cuts features into bins whose edges are values of the first rows.

    Edges are quantiles of the rows, and of the distinct values: where most rows have
    the same value, the former are few. Only the order of values matters: an increasing
    function of a feature has the same bins.

    Parameters
    ----------
    n_samples : int
        Number of rows after which the edges are fixed.
    n_quantiles : int
        Number of quantiles of each kind.

    Attributes
    ----------
    first : ndarray of shape (n_first, n_features)
        The first rows, as long as the edges are not fixed.
    edges : ndarray of shape (n_features, 2 n_quantiles)
        In ascending order, then NaN; a feature with up to two values has none.
    is_fixed : bool
        Whether the edges are fixed.
    """

    _replaced = "first", "edges"

    def __init__(self, n_features, n_samples, n_quantiles):
        self.n_samples = n_samples
        self.n_quantiles = n_quantiles
        self.first = np.empty((0, n_features))
        self.edges = np.full((n_features, 2 * n_quantiles), np.nan)
        self.is_fixed = False

    def fresh(self):
        """Return bins with the same parameters, before the first row."""
        return FeatureBins(len(self.edges), self.n_samples, self.n_quantiles)

    @property
    def n_columns(self):
        """Number of columns for a feature: a bin more than edges, and one for NaN."""
        return 2 * self.n_quantiles + 2

    @property
    def n_codes(self):
        """Number of columns for all features."""
        return len(self.edges) * self.n_columns

    @property
    def n_missing(self):
        """Number of rows until the edges are fixed."""
        return 0 if self.is_fixed else self.n_samples - len(self.first)

    def learn(self, X):
        """Learn from the next rows; NaN is left out."""
        if self.is_fixed:
            return
        self.first = np.vstack([self.first, X[: self.n_missing]])
        if len(self.first) == self.n_samples:
            self.fix(self.first)

    def fix(self, X):
        """Fix the edges, by the values of these rows."""
        self.edges = np.stack([self._edges(values) for values in X.T])
        self.first = self.first[:0].copy()
        self.is_fixed = True

    def _edges(self, values):
        """Return the edges of a feature, from its first values."""
        edges = np.full(2 * self.n_quantiles, np.nan)
        values = np.sort(values[~np.isnan(values)])
        distinct = np.unique(values)
        if distinct.size > 2:
            found = np.union1d(self._quantiles(values), self._quantiles(distinct))
            found = found[found < distinct[-1]]  # nothing is above the last
            edges[: found.size] = found
        return edges

    def _quantiles(self, ordered):
        """Return evenly spaced quantiles of ordered values."""
        n = self.n_quantiles
        return ordered[np.arange(1, n + 1) * ordered.size // (n + 1)]

    @property
    def has_edges(self):
        """Mask of the features with edges, of shape (n_features,)."""
        return ~np.isnan(self.edges[:, 0])

    def learn_and_convert(self, engine, X, is_learned):
        """Learn the rows of a mask in order; return the bins of the last rows.

        Rows before the edges are known have none.
        """
        if not self.is_fixed:
            places = np.flatnonzero(is_learned)[: self.n_missing]
            self.learn(X[places])
            X = X[places[-1] + 1 :] if self.is_fixed else X[:0]
        return self._bins_of(engine, X)

    def convert(self, engine, X):
        """Return the bins of rows without learning, see :meth:`learn_and_convert`."""
        return self._bins_of(engine, X if self.is_fixed else X[:0])

    def _bins_of(self, engine, X):
        bins = np.empty(X.shape, np.intp)
        X = np.require(X, np.float64, "C")
        engine.run_loop(count_below, self.edges, X, bins)
        return bins

    def one_hot(self, engine, X):
        """Return the codes of rows: a CSR array of shape (n, n_features n_columns).

        A value has none while the edges are not fixed, or if its feature has no edges.
        NaN is the last bin of each feature.
        """
        n, d = X.shape
        is_gap = np.isnan(X)
        has_bin = (is_gap | self.has_edges) & self.is_fixed
        bins = self._bins_of(engine, np.where(is_gap, 0.0, X))
        bins[is_gap] = self.n_columns - 1
        rows, features = np.nonzero(has_bin)
        shape = n, d * self.n_columns
        # Some learners elsewhere refuse int64.
        index = np.int32 if max(rows.size, shape[1]) < 2**31 else np.int64
        columns = (features * self.n_columns + bins[rows, features]).astype(index)
        indptr = np.append(0, np.cumsum(has_bin.sum(axis=1))).astype(index)
        return sparse.csr_array((np.ones(rows.size), columns, indptr), shape=shape)

    def copy_from(self, other, places):
        """Copy the features of other bins to these places, before the first row.

        All other features were missing in their rows.
        """
        self.first = np.full((len(other.first), len(self.edges)), np.nan)
        self.first[:, places] = other.first
        self.edges[places] = other.edges
        self.is_fixed = other.is_fixed

    # Merging.

    @classmethod
    def merged(cls, shards):
        """Merge bins: fixed edges of one member, or edges from all rows."""
        start = shards.start
        merged = start.fresh()
        members = [start] if start.is_fixed else shards.members
        if fixed := [bins.edges for bins in members if bins.is_fixed]:

            def in_order(edges):
                return np.nan_to_num(edges, nan=np.inf).ravel().tolist()

            merged.edges, merged.is_fixed = min(fixed, key=in_order).copy(), True
            return merged
        rows = [bins.first[len(start.first) :] for bins in shards.members]
        merged.learn(np.vstack([start.first, *rows]))
        return merged

    def shares_in(self, other):
        """Return shares of overlap with other bins: (n_features, n_columns, n_columns).

        Values are taken to be spread evenly between two edges. The shares of a bin sum
        to 1, or to 0 if one of the two has no edges.
        """
        return np.stack([self._shares(other, j) for j in range(len(self.edges))])

    def _shares(self, other, j):
        """Return shares of overlap of a feature's bins: (n_columns, n_columns)."""
        edges, others = (bins.edges[j] for bins in (self, other))
        edges, others = edges[~np.isnan(edges)], others[~np.isnan(others)]
        shares = np.zeros((self.n_columns, self.n_columns))
        if not (edges.size and others.size):
            return shares
        steps = np.arange(1, N_STEPS + 1) / N_STEPS
        inner = edges[:-1, np.newaxis] * (1.0 - steps) + edges[1:, np.newaxis] * steps
        inner[:, -1] = edges[1:]
        below = np.full(N_STEPS, edges[0])
        above = np.full(N_STEPS, np.nextafter(edges[-1], np.inf))
        found = np.searchsorted(others, np.vstack([below, inner, above]))
        for share, bins in zip(shares, found, strict=False):
            np.add.at(share, bins, 1.0 / N_STEPS)
        return shares

    def add_moves(self, other, starts, moves):
        """Add moves from the codes of other bins to the codes of these bins.

        `starts` has the first column of each feature.
        """
        if not other.is_fixed:
            return
        is_same = np.array_equal(self.edges, other.edges, equal_nan=True)
        for j, start in enumerate(() if is_same else starts):
            if np.array_equal(self.edges[j], other.edges[j], equal_nan=True):
                continue
            places = np.full(self.n_columns - 1, -1)
            forward = other._shares(self, j)
            known = np.flatnonzero(forward.any(axis=1))
            places[known] = forward[known].argmax(axis=1)
            moves.add_block(start, np.full_like(places, -1), places)
            shares = self._shares(other, j)
            columns, sources = np.nonzero(shares)
            moves.add(start + columns, start + sources, shares[columns, sources])

    def invariants(self):
        """Yield what holds between two calls."""
        for name in "n_samples", "n_quantiles":
            yield f"{name} is a count", is_count(getattr(self, name), 1)
        n_features = len(self.edges)
        n_first = len(self.first)
        yield "first has all features", self.first.shape == (n_first, n_features)
        yield "first is empty once edges are fixed", (n_first == 0) or not self.is_fixed
        yield "first has fewer than n_samples rows", n_first < self.n_samples
        yield from floats("first", np.nan_to_num(self.first), self.first.shape)
        yield from floats(
            "edges", np.nan_to_num(self.edges), (n_features, 2 * self.n_quantiles)
        )
        with np.errstate(invalid="ignore"):
            steps = np.diff(self.edges, axis=1)
        yield "edges ascend", (steps > 0.0) | np.isnan(steps)
        yield "NaN is last", np.diff(np.isnan(self.edges).astype(int), axis=1) >= 0
