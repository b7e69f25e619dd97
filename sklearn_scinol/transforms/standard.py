"""Standardisation of features with missing values."""

import numpy as np

from .._invariants import floats
from .._portable import chosen, each
from .._shards import Shards
from .._state import Part
from ..blocks import DenseRows, RowWeights, runs_of
from . import moments
from .moments import add_weight, inverse_deviation, moved_mean, moved_variance
from .units import FeatureUnits


def standardise(moments, X, Z):
    """Fill `Z` with values by the running moments, which learn each row first.

    NaN is no value, and stays.
    """
    means, variances, weight_sums = moments[0], moments[1], moments[2]
    for r in range(X.shape[0]):
        for j in each(0, X.shape[1]):
            x, mean, is_given = X[r, j], means[j], X[r, j] == X[r, j]
            total, share, past = add_weight(weight_sums[j], 1.0, True)
            deviation = x - mean
            variance = moved_variance(variances[j], share, past, deviation)
            z = past * deviation * inverse_deviation(variance)
            Z[r, j] = chosen(is_given, z, np.nan)
            moved = moved_mean(mean, share, deviation)
            means[j] = chosen(is_given, moved, mean)
            variances[j] = chosen(is_given, variance, variances[j])
            weight_sums[j] = chosen(is_given, total, weight_sums[j])


class StandardTransform(Part):
    """Standardisation of features by the running moments of their given values.

    A value takes part in the moments that it is transformed with.

    Attributes
    ----------
    units : FeatureUnits
    moments : ndarray of shape (3, n_features)
        Means, variances, and numbers of values.
    """

    def __init__(self, n_features):
        self.units = FeatureUnits(n_features)
        self.moments = np.zeros((3, n_features))

    def fresh(self):
        """Return a transform of these features before the first row."""
        return StandardTransform(self.moments.shape[1])

    def learn(self, engine, X):
        """Learn from rows in order, and transform each; values are finite or NaN."""
        is_missing = np.isnan(X)
        rows = np.where(is_missing, 0.0, X) if is_missing.any() else X
        ones = np.ones(len(X))
        weights = RowWeights(ones, ones, ones, ones[:0])
        _, outgrown = self.units.learn_and_convert(engine, DenseRows(rows), weights)
        self.moments[:2, outgrown] = 0.0
        X = self._in_units(X)
        standardised = np.empty(X.shape)
        engine.run_loop(standardise, self.moments, X, standardised)
        return standardised

    def learn_some(self, engine, X, is_learned):
        """Learn as `learn` does, but only some rows; transform each of the others."""
        if is_learned.all():
            return self.learn(engine, X)
        standardised = np.empty(X.shape)
        for rows in runs_of(is_learned):
            if is_learned[rows.start]:
                standardised[rows] = self.learn(engine, X[rows])
            else:
                standardised[rows] = self.transform(X[rows])
        return standardised

    def transform(self, X):
        """Transform each row as if it came next, without learning."""
        mean, variance, weight_sum = self.moments
        _, share, past = add_weight(weight_sum, 1.0, False)
        with np.errstate(all="ignore"):
            deviation = self._in_units(X) - mean
            moved = moved_variance(variance, share, past, deviation)
            return past * deviation * inverse_deviation(moved)

    def _in_units(self, X):
        return X if self.units.are_one else self.units.in_units(X)

    def raw_moments(self):
        """Return means and variances in the units of the values; perhaps infinite."""
        mean, variance, _ = self.moments
        exponents = self.units.exponents.astype(np.intc)
        with np.errstate(over="ignore"):
            return np.ldexp(mean, exponents), np.ldexp(variance, 2 * exponents)

    def copy_from(self, other, places):
        """Copy the features of another one to these places, before the first row."""
        self.units.copy_from(other.units, places)
        self.moments[:, places] = other.moments

    @classmethod
    def merged(cls, shards):
        """Merge transforms of several parts of the rows."""
        merged = shards.start.fresh()
        merged.units, scales = FeatureUnits.merged(shards.map(lambda each: each.units))
        scales = [merged.units.scales_of(shards.start.units), *scales]

        def in_units(standard, scale):
            mean, variance, weight_sum = standard.moments
            return scale * mean, scale * scale * variance, weight_sum

        start, *members = map(in_units, [shards.start, *shards.members], scales)
        merged.moments[:] = moments.merged(Shards(members, start, shards.shares))
        return merged

    def invariants(self):
        """Yield what holds between two calls."""
        yield from floats("moments", self.moments, self.moments.shape)
        yield "variances and counts are not negative", self.moments[1:] >= 0.0
