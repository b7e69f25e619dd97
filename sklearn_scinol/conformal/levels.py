"""Levels of coverage that corrections hold."""

import numpy as np

from .._invariants import ROUNDING, floats
from .._shards import Shards
from .._state import Part
from ..learners.interval_ends import Corrections, ErrorSizes, learn_ends
from ..models.served import runs_of


class Levels(Part):
    """Corrections that hold one or several levels of coverage, for one output.

    Attributes
    ----------
    sizes : ErrorSizes
        Running means of what the rows' targets are measured by.
    ends : Corrections
        Of lower ends, if there are any, then of upper ends.
    sums : ndarray of shape (2, n_levels)
        Weight of the rows whose target was covered, and weighted sums of the sizes of
        what covered them.
    """

    # Step of the corrections.
    _step: float

    def __init__(self, level, n_levels, rates, mean, limit):
        n_means, n_ends = len(rates), len(level)
        means = np.zeros(n_means), np.full(n_means, mean)
        self.sizes = ErrorSizes(np.array(rates), *means)
        corrections = np.zeros(n_ends), np.zeros(n_ends)
        limits = np.array([-limit, limit]), np.zeros(3), np.array([self._step])
        self.ends = Corrections(level, *corrections, *limits)
        self.sums = np.zeros((2, n_levels))

    @property
    def n_levels(self):
        """Number of levels of coverage."""
        return self.sums.shape[1]

    def _correct(self, engine, errors, quantiles, weights, served):
        """Learn the errors of rows; return the ends before each.

        These are the ends that a row was served, if it was; see :class:`ServedRows`.
        """
        ends, n = np.empty(quantiles.shape), len(quantiles)
        n_lower = len(self.ends.level) - self.n_levels
        is_known = np.zeros(n, dtype=bool) if served is None else served.is_known
        for rows in runs_of(is_known):
            if not is_known[rows.start]:
                of_rows = errors[rows], quantiles[rows], weights[rows]
                engine.learn_interval_ends(self.ends, *of_rows, n_lower, ends[rows])
                continue
            ends[rows] = served.values[rows]
            for r in np.flatnonzero(weights[rows] > 0.0) + rows.start:
                learn_ends(self.ends, errors[r], ends[r], weights[r])
        return ends if served is None else served.swap(ends)

    def _add_to_sums(self, of_rows, weights):
        """Add which targets were covered, and the sizes, each of (n, n_levels)."""
        steps = np.stack(of_rows, axis=1) * weights[:, np.newaxis, np.newaxis]
        sums = np.concatenate([self.sums[np.newaxis], steps])
        self.sums = np.cumsum(sums, axis=0)[-1]

    @property
    def total_weight(self):
        """Weight of the rows that were learned."""
        return self.ends.weights[2]

    @property
    def means(self):
        """Share of covered targets, and mean size: (2, n_levels); NaN before any."""
        return self.sums / (self.total_weight or np.nan)

    @property
    def bound(self):
        """Bound on the deviation of the coverage so far, for each level.

        Steps of a correction add up to its change. Where weights differ, they are
        relative to the largest one so far, which changes sums by parts.
        """
        first, largest, total = self.ends.weights
        if total == 0.0:
            return np.ones(self.n_levels)
        return self._of_levels(
            self.ends.largest * (2.0 * largest - first) / (self.ends.step * total)
        )

    def _of_levels(self, of_ends):
        """Add up the bounds of the ends of each level."""
        return of_ends

    # Merging.

    def _merge(self, members, start):
        """Merge what all have into this one; return the members as shards."""
        weights = np.array([m.total_weight - start.total_weight for m in members])
        shares = np.full(len(members), 1.0 / len(members))
        if weights.any():
            shares = weights / weights.sum()
        shards = Shards(members, start, shares)
        sizes, ends = shards.sizes, shards.ends
        forgets = start.sizes.rates > 0.0
        weight = np.where(forgets, sizes.weights.mean(), sizes.weights.sum())
        self.sizes = ErrorSizes(start.sizes.rates, weight, sizes.means.mean())
        largest = np.maximum.reduce([each.ends.weights for each in members])
        limits = np.stack([each.ends.limits for each in members])
        self.ends = self.ends._replace(
            correction=ends.correction.mean(),
            largest=ends.largest.max(),
            limits=np.array([limits[:, 0].min(), limits[:, 1].max()]),
            weights=np.array([*largest[:2], ends.weights.sum()[2]]),
        )
        self.sums = shards.sums.sum()
        return shards

    def invariants(self):
        """Yield what holds between two calls."""
        for name, values in self.sizes._asdict().items():
            yield from floats(f"{name} of sizes", values, self.sizes.rates.shape)
            if name != "means":
                yield f"{name} of sizes >= 0", values >= 0.0
        n_ends = len(self.ends.level)
        shapes = {"limits": 2, "weights": 3, "step": 1}
        for name, values in self.ends._asdict().items():
            yield from floats(f"{name} of ends", values, (shapes.get(name, n_ends),))
        level, correction, weights = (
            getattr(self.ends, name) for name in ("level", "correction", "weights")
        )
        yield "levels are probabilities", (level > 0.0) & (level < 1.0)
        yield "levels ascend", np.diff(level) > 0.0
        is_largest = np.abs(correction) <= self.ends.largest
        yield "largest is the largest correction", is_largest
        limits = self.ends.limits
        yield "0 is in the range of errors", (limits[0] <= 0.0) & (limits[1] >= 0.0)
        yield "the step is that of the class", self.ends.step == self._step
        yield "weights >= 0", weights >= 0.0
        yield "the largest weight is the largest", weights[0] <= weights[1]
        yield from floats("sums", self.sums, (2, self.sums.shape[-1]))
        yield "sums >= 0", self.sums >= 0.0
        is_part = self.sums[0] <= ROUNDING * weights[2]
        yield "covered rows are a part of all", is_part
