"""Centring and scaling of features by running moments."""

from copy import copy

import numpy as np
from scipy import sparse

from .._invariants import floats, is_count, is_number
from .._shards import Shards
from .._state import Part
from ..blocks import Moments
from . import moments
from .clipping import FeatureLimits, map_entries
from .ranges import MAX_VALUE, check_values
from .units import MAX_IN_UNITS, FeatureUnits


class FeatureTransform(Part):
    """Clips, centres and scales rows before a learner sees them.

    A row takes part in the moments that it is transformed with: the prediction knows
    the row, and no later one.

    Parameters
    ----------
    center : bool
        Whether features are centred at their running mean.
    scale : bool
        Whether they are divided by their running standard deviation.
    in_units : bool
        Whether values are taken in units of their features before that.
    clip_ratio : float or None
        Values are clipped, first of all, to ± `clip_ratio` times the largest so far.
    forgetting : float
        Share of the weight of past rows that each row takes away.

    Attributes
    ----------
    limits : FeatureLimits or None
    units : FeatureUnits or None
    moments : ndarray of shape (0 or 1 or 3 or 4, n_features)
        Weighted mean; with scaling also variance, and the sum of the weights in both:
        sparse rows leave out their zeros until the feature comes up again. If they
        forget, also `n_sparse` at that time. In Fortran order while rows are sparse.
    weight_sum : float
        Sum of the weights of the rows so far, less what is forgotten.
    n_sparse : float
        Number of sparse rows learned so far; 0 if they forget nothing.
    """

    _by_feature = ("moments",)

    def __init__(
        self,
        n_features,
        *,
        center=False,
        scale=False,
        in_units=False,
        clip_ratio=None,
        forgetting=0.0,
    ):
        self.n_features = n_features
        self.center = center
        self.scale = scale
        self.forgetting = forgetting
        n_moments = 3 + self.decays if scale else int(center)
        self.moments = np.zeros((n_moments, n_features))
        self._weight_sum = np.zeros(1 + self.decays)
        self.limits = None
        if clip_ratio is not None:
            self.limits = FeatureLimits(n_features, clip_ratio)
        self.units = FeatureUnits(n_features) if in_units else None

    @property
    def kind(self):
        """Parameters, equal for transforms with equal results."""
        ratio = None if self.limits is None else self.limits.ratio
        units = self.units is not None
        return self.center, self.scale, self.forgetting, units, ratio

    @property
    def has_moments(self):
        """Whether rows are centred or scaled."""
        return self.center or self.scale

    @property
    def has_altered_values(self):
        """Whether learned values were clipped, or units changed later."""
        outgrown = self.units is not None and self.units.some_outgrown
        return outgrown or (self.limits is not None and self.limits.some_clipped)

    @property
    def weight_sum(self):
        return float(self._weight_sum[0])

    @property
    def kept(self):
        """Factor of the sum of weights before each row."""
        return 1.0 - self.forgetting

    @property
    def decays(self):
        """Whether moments of sparse rows forget."""
        return self.scale and 1.0 - self.forgetting < 1.0

    @property
    def n_sparse(self):
        return float(self._weight_sum[1]) if self.decays else 0.0

    def ensure_layout(self, is_sparse):
        """Convert the moments to the layout of engines for dense or sparse rows.

        Those of a single feature have both; sessions see by the copy that zeros wait.
        """
        if not is_sparse:
            if self.moments.flags.f_contiguous:  # perhaps by sparse rows
                self.moments = np.require(self._moments_of_all(), requirements="C")
        elif self.scale and self.moments.flags.c_contiguous:
            self.moments = self.moments.copy(order="F")

    @property
    def has_waiting_zeros(self):
        """Whether zeros of sparse rows wait to be learned."""
        if not self.scale:
            return False
        waits = self.moments[2] < self.weight_sum
        if self.decays:
            waits |= self.moments[3] < self.n_sparse
        return bool(waits.any())

    def _moments_of_all(self):
        """Return the moments, with zeros that wait included."""
        if not self.has_waiting_zeros:
            return self.moments
        sums = np.repeat(self._weight_sum[:, np.newaxis], self.n_features, axis=1)
        return np.concatenate([self.mean_and_variance(), sums])

    def state(self):
        """Return the moments in the form that engines take, or None."""
        if not self.has_moments:
            return None
        return Moments(self.moments, self._weight_sum, bool(self.center), self.kept)

    @property
    def largest(self):
        """Maximum of a value in its unit, times the weight of its row."""
        return MAX_VALUE if self.units is None else MAX_IN_UNITS

    def learn_and_convert(self, engine, rows, weights, checks=True):
        """Learn limits and units, and return rows clipped and in units.

        See :meth:`FeatureUnits.learn_and_convert`. Without units, values that are too
        large raise :exc:`OutOfRange` if `checks`.
        """
        if self.limits is not None:
            rows = self.limits.learn_and_convert(engine, rows, weights)
        if self.units is None:
            if checks:
                check_values(engine, rows, weights)
            return rows, np.empty(0, np.intp)
        rows, outgrown = self.units.learn_and_convert(engine, rows, weights, checks)
        if outgrown.size:
            self.moments[:2, outgrown] = 0.0
        return rows, outgrown

    def learn(self, engine, rows, weights):
        """Learn from rows in order, and transform each; sparse ones are not centred."""
        if not self.has_moments:
            return rows
        return engine.transform_rows(self.state(), rows, weights)

    def can_replay(self, is_sparse):
        """Whether recorded calls can transform any row of ordinary values."""
        if is_sparse and self.scale and self.n_features == 1:
            return False  # calls for dense rows have the same arrays
        if not is_sparse and self.has_waiting_zeros:
            return False
        return self.limits is None and (self.units is None or self.units.are_one)

    def learn_and_transform(self, engine, rows, weights, checks=True):
        """Learn from raw rows in order; return them transformed, and outgrown units."""
        rows, outgrown = self.learn_and_convert(engine, rows, weights, checks)
        return self.learn(engine, rows, weights), outgrown

    def transform(self, X, weight):
        """Transform rows without learning, each with `weight` in its moments."""
        X = self.convert(X)
        if sparse.issparse(X):
            if not self.center:
                Z = X.astype(np.float64, copy=self.scale)
                if self.scale:
                    Z.data *= self._inverse_deviations(Z.data, weight, Z.indices)
                return Z
            X = X.toarray()
        Z = X.astype(np.float64, copy=False)
        if not self.center:
            return Z * self._inverse_deviations(Z, weight) if self.scale else Z
        factors = self._inverse_deviations(Z, weight) if self.scale else 1.0
        return (Z - self.moments[0]) * self._shares(weight)[1] * factors

    def to_raw(self, w, b, weight):
        """Convert coefficients of transformed rows to coefficients of raw rows.

        The weight is that of the rows, see :meth:`transform`.
        """
        w, b = self.to_units(w, b, weight)
        return w if self.units is None else self.units.to_raw(w), b

    def to_units(self, w, b, weight):
        """Convert coefficients of transformed rows to coefficients of rows in units."""
        w = w * self._factors(weight)
        return w, b - w @ self.moments[0] if self.center else b

    def from_units(self, w, b, weight):
        """Convert coefficients of rows in units to coefficients of transformed rows."""
        if self.center:
            b = b + w @ self.moments[0]
        factors = np.broadcast_to(self._factors(weight), w.shape)
        known = factors > 0.0
        return np.where(known, w, 0.0) / np.where(known, factors, 1.0), b

    def _factors(self, weight):
        """Return the factors of centred features."""
        factors = 1.0
        if self.scale:
            # For a row at the mean; any other row changes the standard deviation.
            factors = self._inverse_deviations(self.mean_and_variance()[0], weight)
        return factors * self._shares(weight)[1] if self.center else factors

    def convert(self, X):
        """Return rows clipped and in units of their features, without learning."""
        X = X if self.limits is None else self.limits.clip(X)
        if self.units is None or self.units.are_one:
            return X
        return map_entries(self.units.in_units, X.astype(np.float64, copy=False))

    def fresh(self):
        """Return a transform with these parameters, before the first row."""
        return FeatureTransform(
            self.n_features,
            center=self.center,
            scale=self.scale,
            in_units=self.units is not None,
            clip_ratio=None if self.limits is None else self.limits.ratio,
            forgetting=self.forgetting,
        )

    @property
    def seen(self):
        """Mask of the features that rows may have had."""
        seen = self.moments.any(axis=0)
        if self.limits is not None:
            seen |= self.limits.largest > 0.0
        return seen if self.units is None else seen | self.units.seen

    def with_columns(self, placement):
        """Return the transform of rows with other columns; see :class:`Placement`."""
        placed = copy(self)
        placed.n_features = placement.n_columns
        placed.moments = self._moments_of_all()
        placed.moments = placement.apply(placed.moments, placed.moments.any(axis=0))
        placed._weight_sum = self._weight_sum.copy()
        if self.limits is not None:
            placed.limits = self.limits.with_columns(placement)
        if self.units is not None:
            placed.units = self.units.with_columns(placement)
        return placed

    @classmethod
    def merged(cls, shards):
        """Merge transforms of the same kind.

        Also returns factors from each transform's units to the merged transform's
        units.
        """
        merged = shards.start.fresh()
        scales = [np.ones(merged.n_features) for _ in shards.members]
        if merged.limits is not None:
            merged.limits = FeatureLimits.merged(shards.limits)
        if merged.units is not None:
            merged.units, scales = FeatureUnits.merged(
                shards.map(lambda transform: transform.units)
            )
        if not merged.has_moments:
            return merged, scales
        scales_of_start = np.ones(merged.n_features)
        if merged.units is not None:
            scales_of_start = merged.units.scales_of(shards.start.units)

        def scaled_moments(transform, scale, share):
            mean, variance = transform.moments[0], np.zeros(merged.n_features)
            if transform.scale:
                mean, variance = transform.mean_and_variance()
            # With forgetting, all members have an equal effective number of rows.
            weight = transform.weight_sum * (share if merged.forgetting else 1.0)
            return scale * mean, scale * scale * variance, weight

        members = [*map(scaled_moments, shards.members, scales, shards.shares)]
        start = scaled_moments(shards.start, scales_of_start, not merged.forgetting)
        parts = Shards(members, start, shards.shares, shards.units)
        mean, variance, weight = moments.merged(parts)
        merged.moments[0], merged._weight_sum[0] = mean, weight
        if merged.scale:
            merged.moments[1], merged.moments[2] = variance, weight
        return merged, scales

    def _shares(self, weight):
        """Return the shares of a row, and of all rows before, in its moments."""
        return moments.add_weight(self.weight_sum, weight, False, self.kept)[1:]

    def mean_and_variance(self, features=...):
        """Return means and variances of all rows so far, with zeros that wait."""
        mean, variance, recorded = self.moments[:3, features]
        with np.errstate(all="ignore"):
            if self.decays:
                n_rows = self.n_sparse - self.moments[3, features]
                recorded = moments.decayed(recorded, n_rows, np.log(self.kept))
            shares = moments.shares_of_waiting(self.weight_sum, recorded)
            variance = moments.moved_variance(variance, *shares, -mean)
            return moments.moved_mean(mean, shares[0], -mean), variance

    def _inverse_deviations(self, values, weight, features=...):
        """Return factors of values, whose own rows count in the moments."""
        mean, variance = self.mean_and_variance(features)
        share, past = self._shares(weight)
        variance = moments.moved_variance(variance, share, past, values - mean)
        mean = moments.moved_mean(mean, share, values - mean)
        least = moments.least_variance(mean, self.kept)
        return moments.inverse_deviation(variance, least)

    def invariants(self):
        """Yield what holds between two calls."""
        yield "n_features is a number of features", is_count(self.n_features)
        for name in "center", "scale":
            yield f"{name} is true or false", is_number(getattr(self, name), bool)
        is_share = is_number(self.forgetting, float) and 0.0 <= self.forgetting < 1.0
        yield "forgetting is a share", is_share
        n_moments = 3 + self.decays if self.scale else int(self.center)
        yield from floats("moments", self.moments, (n_moments, self.n_features))
        yield from floats("weight_sum", self._weight_sum, (1 + self.decays,))
        yield "weight_sum >= 0", self._weight_sum >= 0.0
        if self.scale:
            _, variance, *recorded = self.moments
            yield "variance >= 0", variance >= 0.0
            yield "recorded >= 0", np.array(recorded) >= 0.0
        if self.decays:
            yield "recorded <= n_sparse", self.moments[3] <= self.n_sparse
        elif self.scale:
            yield "recorded <= weight_sum", self.moments[2] <= self.weight_sum
