"""Offsets of the ends of intervals from predictions, learned from their errors."""

import numpy as np

from .._invariants import ROUNDING, floats
from .._shards import Shards, merge
from ..blocks import as_writable
from ..estimators.scinol import ScInOLRegressor
from ..learners.interval_ends import (
    RATES,
    STEP,
    UNIT,
    ErrorSizes,
    IntervalEnds,
    nest,
)

__all__ = ["Offsets"]

# Indices of the other running means of absolute errors.
OTHERS = [k for k in range(len(RATES)) if k != UNIT]

# Limit of features that are quotients of sizes of errors.
MAX_RATIO = 10.0

# Limit of errors in units, far beyond what the ends of intervals can reach.
MAX_ERROR = 1e50


class Offsets:
    """Offsets of interval ends for one output.

    The unit of errors is a running mean of their absolute values. Quantiles of the
    errors in units are predicted by an additive model, from features that tell how
    difficult a row is. :mod:`~sklearn_scinol.learners.interval_ends` corrects them.

    Parameters
    ----------
    coverage : ndarray of shape (n_levels,)
        Shares of the targets that intervals have to contain, ascending.

    Attributes
    ----------
    sizes : ErrorSizes
    ends : IntervalEnds
        Lower ends, then upper ends, by ascending level.
    quantiles : ScInOLRegressor
        Predicts the quantiles of errors in units.
    sums : ndarray of shape (2, n_levels)
        Weight of the rows whose target was in the interval, and weighted sums of the
        intervals' widths.
    """

    def __init__(self, coverage):
        n_means, n_ends = len(RATES), 2 * len(coverage)
        levels = np.concatenate([0.5 - coverage[::-1] / 2, 0.5 + coverage / 2])
        means = np.zeros(n_means), np.zeros(n_means)
        self.sizes = ErrorSizes(np.array(RATES), *means)
        corrections = np.zeros(n_ends), np.zeros(n_ends)
        self.ends = IntervalEnds(levels, *corrections, np.zeros(2), np.zeros(3))
        self.quantiles = ScInOLRegressor(
            loss="quantile", quantile=levels.tolist(), additive=True, center=False
        )
        self.sums = np.zeros((2, len(coverage)))

    @property
    def n_levels(self):
        """Number of levels of coverage."""
        return self.sums.shape[1]

    def learn(self, engine, errors, weights, features, deviations, learn_quantiles):
        """Learn the errors of rows; return the offsets before each.

        Parameters
        ----------
        engine : Engine
        errors : ndarray of shape (n,)
            Targets less predictions.
        weights : ndarray of shape (n,)
            Rows of weight 0 are not learned.
        features : ndarray of shape (n, n_features)
            What the quantiles are predicted from.
        deviations : ndarray of shape (n,) or None
            Standard deviations of the targets, if the estimator has them.
        learn_quantiles : callable
            Learns features, errors in units and weights, and returns the quantiles
            predicted before each row.

        Returns
        -------
        lower, upper : ndarray of shape (n, n_levels)
        """
        sizes = np.empty((len(errors), len(RATES)))
        engine.learn_error_sizes(self.sizes, np.abs(errors), weights, sizes)
        unit, inverse = _unit(sizes)
        weights = np.where(unit > 0.0, weights, 0.0)
        F = self._features(sizes, inverse, features, deviations)
        with np.errstate(over="ignore"):
            errors = np.clip(errors * inverse, -MAX_ERROR, MAX_ERROR)
        quantiles = np.ascontiguousarray(learn_quantiles(F, errors, weights))
        ends = np.empty(quantiles.shape)
        engine.learn_interval_ends(self.ends, errors, quantiles, weights, ends)
        lower, upper = self._by_level(ends)
        errors, unit = errors[:, np.newaxis], unit[:, np.newaxis]
        of_rows = (lower <= errors) & (errors <= upper), unit * (upper - lower)
        steps = np.stack(of_rows, axis=1) * weights[:, np.newaxis, np.newaxis]
        sums = np.concatenate([self.sums[np.newaxis], steps])
        self.sums = np.cumsum(sums, axis=0)[-1]
        return unit * lower, unit * upper

    def predict(self, features, deviations):
        """Return the offsets of rows; for the parameters see :meth:`learn`."""
        n = len(features)
        sizes = np.tile(self.sizes.means, (n, 1))
        unit, inverse = _unit(sizes)
        if not unit[0] > 0.0:
            return np.zeros((n, self.n_levels)), np.zeros((n, self.n_levels))
        F = self._features(sizes, inverse, features, deviations)
        ends = np.clip(self.quantiles.predict(F), *self.ends.limits)
        ends += self.ends.correction
        nest(ends.T)
        lower, upper = self._by_level(ends)
        return unit[:, np.newaxis] * lower, unit[:, np.newaxis] * upper

    def _features(self, sizes, inverse, features, deviations):
        """Return the features of the quantiles, which have no unit of the target."""
        columns = [sizes[:, OTHERS]]
        if deviations is not None:
            columns.append(deviations[:, np.newaxis])
        with np.errstate(over="ignore"):
            ratios = np.hstack(columns) * inverse[:, np.newaxis]
        return np.hstack([np.fmin(ratios, MAX_RATIO), features])

    def _by_level(self, ends):
        """Return lower and upper ends by ascending coverage."""
        return ends[:, self.n_levels - 1 :: -1], ends[:, self.n_levels :]

    @property
    def total_weight(self):
        """Weight of the rows that were learned."""
        return self.ends.weights[2]

    @property
    def means(self):
        """Share of targets in their intervals, and mean width: (2, n_levels)."""
        return self.sums / (self.total_weight or 1.0)

    @property
    def bound(self):
        """Bound on the deviation of the coverage so far, for each level.

        Steps of a correction add up to its change. Where weights differ, they are
        relative to the largest one so far, which changes sums by parts.
        """
        first, largest, total = self.ends.weights
        if total == 0.0:
            return np.ones(self.n_levels)
        of_ends = self.ends.largest * (2.0 * largest - first) / (STEP * total)
        return of_ends[self.n_levels - 1 :: -1] + of_ends[self.n_levels :]

    # Restoring and merging.

    def checkpoint(self):
        """Return a function that restores all but the model of the quantiles."""
        states = [*self.sizes, *self.ends]
        before, sums = [state.copy() for state in states], self.sums

        def restore():
            for state, numbers in zip(states, before, strict=True):
                state[:] = numbers
            self.sums = sums

        return restore

    def ensure_layout(self):
        """Make arrays writable; joblib maps them read-only."""
        self.sizes = ErrorSizes(*map(as_writable, self.sizes))
        self.ends = IntervalEnds(*map(as_writable, self.ends))

    @classmethod
    def merged(cls, members, start=None):
        """Merge offsets that learned disjoint rows; those of `start` count once."""
        fresh = cls(2.0 * members[0].ends.level[members[0].n_levels :] - 1.0)
        start = fresh if start is None else start
        weights = np.array([m.total_weight - start.total_weight for m in members])
        shares = np.full(len(members), 1.0 / len(members))
        if weights.any():
            shares = weights / weights.sum()
        shards = Shards(members, start, shares)
        sizes, ends = shards.sizes, shards.ends
        forgets = start.sizes.rates > 0.0
        weight = np.where(forgets, sizes.weights.mean(), sizes.weights.sum())
        fresh.sizes = ErrorSizes(start.sizes.rates, weight, sizes.means.mean())
        limits = np.stack([each.ends.limits for each in members])
        largest = np.maximum.reduce([each.ends.weights for each in members])
        fresh.ends = IntervalEnds(
            start.ends.level,
            ends.correction.mean(),
            ends.largest.max(),
            np.array([limits[:, 0].min(), limits[:, 1].max()]),
            np.array([*largest[:2], ends.weights.sum()[2]]),
        )
        fitted = [m.quantiles for m in members if m.quantiles.__sklearn_is_fitted__()]
        if fitted:
            has_begun = start.quantiles.__sklearn_is_fitted__()
            fresh.quantiles = merge(fitted, start.quantiles if has_begun else None)
        fresh.sums = shards.sums.sum()
        return fresh

    def invariants(self):
        """Yield what holds between two calls."""
        n_means, n_ends = len(RATES), len(self.ends.level)
        for name, values in self.sizes._asdict().items():
            yield from floats(f"{name} of sizes", values, (n_means,))
            yield f"{name} of sizes >= 0", values >= 0.0
        shapes = n_ends, n_ends, n_ends, 2, 3
        pairs = zip(self.ends._asdict().items(), shapes, strict=True)
        for (name, values), length in pairs:
            yield from floats(f"{name} of ends", values, (length,))
        level, correction, largest, limits, weights = self.ends
        yield "levels are probabilities", (level > 0.0) & (level < 1.0)
        yield "levels ascend", np.diff(level) > 0.0
        yield "largest is the largest correction", np.abs(correction) <= largest
        yield "0 is in the range of errors", (limits[0] <= 0.0) & (limits[1] >= 0.0)
        yield "weights >= 0", weights >= 0.0
        yield "the largest weight is the largest", weights[0] <= weights[1]
        yield from floats("sums", self.sums, (2, n_ends // 2))
        yield "sums >= 0", self.sums >= 0.0
        is_part = self.sums[0] <= ROUNDING * weights[2]
        yield "covered rows are a part of all", is_part


def _unit(sizes):
    """Return the unit of errors before each row, and 1 over it; 0 if there is none."""
    unit = sizes[:, UNIT]
    with np.errstate(all="ignore"):
        inverse = np.where(unit > 0.0, 1.0 / unit, 0.0)
    return unit, np.fmin(inverse, np.finfo(float).max)
