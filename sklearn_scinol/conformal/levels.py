"""Levels of coverage that corrections hold."""

from copy import copy

import numpy as np

from .._invariants import ROUNDING, same_structure
from .._shards import Shards
from .._state import Part
from ..blocks import runs_of
from ..learners.interval_ends import (
    Corrections,
    ErrorSizes,
    learn_ends,
    learn_rows,
    nest,
)
from ..transforms.standard import StandardTransform

#: Deviations from the mean between which a third of normal values is.
THIRD = 0.43


class Levels(Part):
    """Corrections that hold one or several levels of coverage, for one output.

    Group 0 is of all rows, and the only one if there are no groups. Others correct its
    ends. Thirds of `n_thirds` values, and combinations of these, may be the groups.

    Ends ascend by `level`, the probabilities of targets below them. The running means
    have `rates`; they start at `mean`, and the range of errors at ±`limit`.

    Attributes
    ----------
    sizes : ErrorSizes
        Running means of what the rows' targets are measured by.
    ends : Corrections
        Of lower ends, if there are any, then of upper ends.
    sums : ndarray of shape (n_groups, 2, n_levels)
        For each group of rows, the weight of those whose target was covered, and
        weighted sums of the sizes of what covered them.
    thirds : StandardTransform or None
        Moments of the values whose thirds are the groups, unless these are given.
    """

    # Step of the corrections.
    _step: float

    def __init__(self, level, n_levels, rates, mean, limit, n_thirds):
        n_means, n_groups = len(rates), 1 + 3**n_thirds if n_thirds else 1
        means = np.zeros(n_means), np.full(n_means, mean)
        self.sizes = ErrorSizes(np.array(rates), *means)
        weights, step = np.zeros((n_groups, 3)), np.array([self._step])
        limits = np.array([-limit, limit])
        corrections = np.zeros((2, n_groups, len(level)))
        self.ends = Corrections(level, *corrections, limits, weights, step)
        self.sums = np.zeros((n_groups, 2, n_levels))
        self.thirds = StandardTransform(n_thirds) if n_thirds else None

    @property
    def levels(self):
        """Levels of coverage, ascending."""
        return self.ends.level

    @property
    def n_levels(self):
        """Number of levels of coverage."""
        return self.sums.shape[2]

    @property
    def _n_lower(self):
        """Number of lower ends."""
        return len(self.ends.level) - self.n_levels

    @property
    def n_groups(self):
        """Number of groups of rows, with that of all rows."""
        return len(self.sums)

    @property
    def n_thirds(self):
        """Number of values whose thirds are the groups; 0 if these are given."""
        return 0 if self.thirds is None else self.thirds.moments.shape[1]

    def make_groups(self, n_groups):
        """Make room for groups that are given."""
        if n_groups > self.n_groups:
            self._place_groups(np.arange(self.n_groups), n_groups)

    def with_groups(self, places, n_groups):
        """Return a copy whose groups are at places among others that have no rows."""
        placed = copy(self)
        placed._place_groups(places, n_groups)
        return placed

    def _place_groups(self, places, n_groups):
        """Move the groups to places among others that have no rows."""

        def moved(values):
            of_all = np.zeros((n_groups, *values.shape[1:]))
            of_all[places] = values
            return of_all

        names = "correction", "largest", "weights"
        of_ends = {name: moved(getattr(self.ends, name)) for name in names}
        self.ends, self.sums = self.ends._replace(**of_ends), moved(self.sums)

    def _learn_groups(self, engine, groups, values, weights, served):
        """Return the groups of rows: those given, or served, or by thirds of values."""
        if self.n_thirds == 0:
            return groups
        groups = _by_thirds(self.thirds.learn_some(engine, values, weights > 0.0))
        if served is not None:
            groups = served.swap(groups[:, np.newaxis])[:, 0].astype(np.intp)
        return groups

    def _ends_of(self, groups, values, quantiles):
        """Return the groups of rows that are not learned, and their ends."""
        if self.n_thirds:
            groups = _by_thirds(self.thirds.transform(values))
        ends, corrections = np.clip(quantiles, *self.ends.limits), self.ends.correction
        of_groups = np.where(groups[:, np.newaxis] > 0, corrections[groups], 0.0)
        for each in corrections[0], of_groups:
            ends += each
            nest(ends.T, self._n_lower)
        return groups, ends

    def _correct(self, engine, groups, errors, quantiles, weights, served):
        """Learn the errors of rows; return the ends before each.

        These are the ends that a row was served, if it was; see :class:`ServedRows`.
        """
        ends, n = np.empty(quantiles.shape), len(quantiles)
        is_known = np.zeros(n, dtype=bool) if served is None else served.is_known
        for rows in runs_of(is_known):
            if not is_known[rows.start]:
                of_rows = (each[rows] for each in (groups, errors, quantiles, weights))
                arguments = self.ends, *of_rows, self._n_lower, ends[rows]
                engine.run_loop(learn_rows, *arguments)
                continue
            ends[rows] = served.values[rows]
            for r in np.flatnonzero(weights[rows] > 0.0) + rows.start:
                row = (each[r] for each in (groups, errors, quantiles, weights))
                learn_ends(self.ends, *row, self._n_lower, ends[r])
        return ends if served is None else served.swap(ends)

    def _add_to_sums(self, groups, of_rows, weights):
        """Add which targets were covered, and the sizes, each of (n, n_levels)."""
        steps = np.stack(of_rows, axis=1) * weights[:, np.newaxis, np.newaxis]
        for group in {0, *groups[weights > 0.0].tolist()}:
            of_group = steps[groups == group] if group else steps
            sums = np.concatenate([self.sums[group : group + 1], of_group])
            self.sums[group] = np.cumsum(sums, axis=0)[-1]

    @property
    def total_weights(self):
        """Weights of the rows that were learned, by group."""
        return self.ends.weights[:, 2]

    @property
    def means(self):
        """Share of covered targets, and mean size: (2, n_levels); NaN before any."""
        return self.sums[0] / (self.total_weights[0] or np.nan)

    @property
    def coverage_of_groups(self):
        """Share of covered targets: (n_groups, n_levels); NaN before any."""
        total = self.total_weights[1:, np.newaxis]
        return self.sums[1:, 0] / np.where(total > 0.0, total, np.nan)

    @property
    def bound(self):
        """Bound on the deviation of the coverage so far, for each level."""
        has_groups = self.n_groups > 1
        deviations = self._deviations()[int(has_groups) :]
        return _quotients(deviations.sum(axis=0), self.total_weights[0])

    @property
    def bound_of_groups(self):
        """Bounds on the deviations of the coverage of groups: (n_groups, n_levels)."""
        return _quotients(self._deviations(), self.total_weights[:, np.newaxis])[1:]

    def _deviations(self):
        """Bounds on the weights that are covered more or less than the levels say.

        Steps of a correction add up to its change. Where weights differ, they are
        relative to the largest one so far, which changes sums by parts.
        """
        first, largest, _ = self.ends.weights.T[..., np.newaxis]
        return self._of_levels(
            self.ends.largest * (2.0 * largest - first) / self.ends.step
        )

    def _of_levels(self, of_ends):
        """Add up the bounds of the ends of each level."""
        return of_ends

    # Merging.

    @classmethod
    def merged(cls, members, start=None):
        """Merge levels that learned disjoint rows; those of `start` count once."""
        fresh = cls(members[0].levels, members[0].n_thirds)
        fresh.make_groups(members[0].n_groups)
        fresh._merge(members, fresh if start is None else start)
        return fresh

    def _merge(self, members, start):
        """Merge what all have into this one."""
        weights = np.stack([m.total_weights - start.total_weights for m in members])
        shards = Shards(members, start, _shares(weights[:, 0]))
        sizes, ends = shards.sizes, shards.ends
        of_groups = Shards(members, start, _shares(weights)[..., np.newaxis])
        forgets = start.sizes.rates > 0.0
        weight = np.where(forgets, sizes.weights.mean(), sizes.weights.sum())
        self.sizes = ErrorSizes(start.sizes.rates, weight, sizes.means.mean())
        largest = np.maximum.reduce([each.ends.weights for each in members])
        limits = np.stack([each.ends.limits for each in members])
        self.ends = self.ends._replace(
            correction=of_groups.ends.correction.mean(),
            largest=ends.largest.max(),
            limits=np.array([limits[:, 0].min(), limits[:, 1].max()]),
            weights=np.column_stack([largest[:, :2], ends.weights.sum()[:, 2]]),
        )
        self.sums = shards.sums.sum()
        if self.n_thirds:
            self.thirds = StandardTransform.merged(shards.thirds)

    def invariants(self):
        n_thirds, n_groups = self.n_thirds, self.n_groups
        yield "thirds have groups", n_thirds == 0 or n_groups == 1 + 3**n_thirds
        fresh = type(self)(self.levels, n_thirds)
        fresh.make_groups(n_groups)
        yield from same_structure(self, fresh, "levels")
        level, correction, largest, limits, weights, step = self.ends
        numbers = np.concatenate([*self.sizes, *map(np.ravel, self.ends)])
        yield "sizes and ends are finite", np.isfinite(numbers)
        yield "rates and weights of sizes >= 0", np.stack(self.sizes[:2]) >= 0.0
        yield "levels are probabilities", (level > 0.0) & (level < 1.0)
        yield "levels ascend", np.diff(level) > 0.0
        yield "no correction is larger", np.abs(correction) <= largest
        yield "0 is in the range of errors", (limits[0] <= 0.0) & (limits[1] >= 0.0)
        yield "the step is that of the class", step == self._step
        yield "weights >= 0", weights >= 0.0
        yield "the largest weight is the largest", weights[:, 0] <= weights[:, 1]
        yield "sums are finite and >= 0", np.isfinite(self.sums) & (self.sums >= 0.0)
        yield "covered rows are a part", self.sums[:, 0] <= ROUNDING * weights[:, 2:]


def _by_thirds(standardised):
    """Return the groups of rows, from 1 on, by thirds of each of (n, n_thirds)."""
    thirds = (standardised > -THIRD).astype(np.intp) + (standardised > THIRD)
    places = 3 ** np.arange(standardised.shape[1])
    return 1 + np.add.reduce(places * thirds, axis=1)


def _quotients(deviations, total):
    """Divide deviations by weights of rows; 1 where there are none."""
    ones = np.ones(deviations.shape)
    return np.divide(deviations, total, where=total > 0.0, out=ones)


def _shares(weights):
    """Return shares of weights along the first axis, equal if there are none."""
    total = weights.sum(axis=0)
    some = np.where(total > 0.0, total, 1.0)
    return np.where(total > 0.0, weights / some, 1.0 / len(weights))
