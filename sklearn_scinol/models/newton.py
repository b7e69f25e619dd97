"""Linear models under online Newton steps, which know their uncertainty."""

from copy import copy

import numpy as np
from scipy import linalg, sparse

from .._invariants import floats
from .._shards import Shards
from ..blocks import TargetScale, aligned
from ..config import current_engine
from ..learners.online_newton import UnitChange
from ..losses import SquaredError
from ..transforms.moments import standardised
from .linear import MAX_FLOAT, LinearModel


class NewtonModel(LinearModel):
    """Linear model of an :class:`OnlineNewton`; see :class:`LinearState`.

    Features and targets are standardised by moments that change only when the number of
    rows has grown by half. The state is then converted, as if all rows had been learned
    with the new moments.

    Attributes
    ----------
    mean, deviation : ndarray of shape (n_features,)
        Moments of the features; a deviation of 0 is not known yet.
    origin : ndarray of shape (n_features,)
        Values that stand for all rows before the deviation was known.
    target_mean, target_deviation : ndarray of shape (n_outputs,)
        Moments of the targets.
    next_change : int
        Number of rows after which moments change.
    """

    shares_rows = False

    def __init__(self, learner, loss, n_features, n_outputs, **keywords):
        super().__init__(learner, loss, n_features, n_outputs, **keywords)
        self.mean = np.zeros(n_features)
        self.origin = np.zeros(n_features)
        self.deviation = np.full(n_features, 0.0 if self.features.has_moments else 1.0)
        self.target_mean = np.zeros(n_outputs)
        self.target_deviation = np.full(n_outputs, 1.0 if self.target is None else 0.0)
        self.next_change = 1

    @property
    def arrays(self):
        """State of the learner, in arrays that are aligned to cache lines."""
        return vars(self)["arrays"]

    @arrays.setter
    def arrays(self, arrays):
        vars(self)["arrays"] = tuple(map(aligned, arrays))

    def __setstate__(self, state):
        super().__setstate__(state)
        if all(array.flags.writeable for array in self.arrays):
            self.arrays = self.arrays  # not where they are in a file

    def invariants(self):
        yield from super().invariants()
        has_intercept = self.learner.fit_intercept == self.fit_intercept
        yield "learner and model have equal fit_intercept", has_intercept
        yield "forgetting < 1", self.learner.forgetting < 1.0
        for name in "mean", "deviation", "origin":
            yield from floats(name, getattr(self, name), (self.n_features,))
        for name in "target_mean", "target_deviation":
            yield from floats(name, getattr(self, name), (self.n_outputs,))
        yield "deviation >= 0", self.deviation >= 0.0
        yield "target_deviation >= 0", self.target_deviation >= 0.0
        yield "next_change > t", self.next_change > self.t

    def _add_outputs(self, origins):
        super()._add_outputs(origins)
        self.target_mean = np.zeros(self.n_outputs)
        self.target_deviation = np.ones(self.n_outputs)
        # Predictions of a joint loss are not moderated.
        self.learner = self.learner._replace(moderate=False)

    @property
    def bounds_regret(self):
        is_ridge = isinstance(self.loss, SquaredError)
        return is_ridge and self.learner.forgetting == 0.0

    # Learning.

    def _count_rows(self, chunk):
        def count(rows):
            return chunk.count_to(rows, self.next_change - self.t)

        return count

    def end_block(self, engine):
        if self.t == self.next_change:
            self._change_moments(engine)

    def block(self, engine, chunk, rows, checks=True):
        block = super().block(engine, chunk, rows, checks)
        if self.target is not None:
            slope, ratios = 1.0, self.slope_ratios
            if not self.target.unit_free:
                slope = _inverse(self.target_deviation)
            elif ratios is not None:
                slope = ratios
            values = self.target_mean, self.target_deviation, slope
            scale = TargetScale(*(np.full_like(block.targets, each) for each in values))
            block = block._replace(target_scale=scale)
        if self.features.has_moments:
            standard = np.stack([self.mean, _inverse(self.deviation)])
            block = block._replace(standard=standard)
        return block

    def forget(self, features):
        super().forget(features)
        if self.features.has_moments:
            self.mean[features] = self.deviation[features] = 0.0

    def _change_moments(self, engine):
        """Convert the state to the moments of all rows so far."""
        before = copy(self)
        self._update_moments()
        is_new = (before.deviation == 0.0) & (self.deviation > 0.0)
        self.origin = np.where(is_new, self.mean, self.origin)
        self._change_units(engine, self.state(), before, self.mean)

    @property
    def _is_standardised(self):
        """Whether features or targets are standardised."""
        return self.features.has_moments or self.target is not None

    @property
    def _mean_of_rows(self):
        """Where features without a deviation were, or 0 if they are not centred."""
        is_centred = self.features.center and self.features.scale
        return self.features.mean_and_variance()[0] if is_centred else 0.0 * self.mean

    def _update_moments(self):
        """Compute the moments of all rows so far."""
        self.next_change = self.t + max(1, self.t // 2)
        if not self._is_standardised:
            return
        if self.features.scale:
            self.mean, variance = self.features.mean_and_variance()
            self.deviation = np.sqrt(variance)
        elif self.features.center:
            self.mean = self.features.moments[0].copy()
            self.deviation = np.ones_like(self.deviation)
        if not self.features.center:
            self.mean = np.zeros_like(self.mean)
        if self.target is not None:
            self.target_mean, variance = self.target.moments.copy()
            self.target_deviation = np.sqrt(variance)

    def _change_units(self, engine, s, other, origin, scale=1.0):
        """Convert a state from the moments of another model to these.

        `scale` is the factor of its rows. Features without a deviation there were all
        at `origin`.
        """
        if not self._is_standardised:
            return
        with np.errstate(all="ignore"):
            inverse = _inverse(self.deviation)
            target_inverse = _inverse(self.target_deviation)
            slope = scale * other.deviation * inverse
            zero = np.where(slope == 0.0, origin, scale * other.mean)
            change = UnitChange(
                slope,
                (zero - self.mean) * inverse,
                other.target_deviation * target_inverse,
                (other.target_mean - self.target_mean) * target_inverse,
                self.target is not None and self.target.unit_free,
            )
            self.learner.change_units(s, change, engine.inverse)

    # Merging.

    def with_columns(self, placement):
        model = super().with_columns(placement)
        initial = 0.0 if self.features.has_moments else 1.0
        is_seen = (self.deviation > 0.0) | (self.mean != 0.0)
        model.deviation = placement.apply(self.deviation, is_seen, initial)
        for name in "mean", "origin":
            values = np.broadcast_to(getattr(self, name), is_seen.shape)
            setattr(model, name, placement.apply(values, is_seen))
        forward = placement.forward.toarray()
        if self.fit_intercept:
            forward = linalg.block_diag(forward, 1.0)
        model.arrays = tuple(self.learner.with_columns(self.state(), forward))
        return model

    def _merge_learner(self, shards, scales):
        """Convert all states to the moments of all rows, and merge them."""
        engine = current_engine()
        self._update_moments()
        start, units = shards.start, self.features.units
        start_scale = 1.0 if units is None else units.scales_of(start.features.units)
        self.origin = start_scale * start._mean_of_rows

        def converted(model, origin, scale):
            s = model.state()._make(array.copy() for array in model.arrays)
            self._change_units(engine, s, model, origin, scale)
            return s

        members = []
        for model, scale in zip(shards, scales, strict=True):
            # The rows of the start have another origin in each model.
            at = scale * model._mean_of_rows
            origin = np.where(model.deviation > 0.0, scale * model.origin, at)
            own_start = converted(start, origin, start_scale)
            members.append((converted(model, at, scale), own_start))
        state = converted(start, self.origin, start_scale)
        s = Shards(members, (state, state), shards.shares, shards.units)
        w = np.empty((self.n_outputs, self.n_coordinates))
        self.arrays = tuple(self.learner.merged(s, None, w, None, self.t)[0])

    # Predictions.

    def transform(self, X):
        with np.errstate(all="ignore"):
            Z = self.features.convert(X)
            Z = Z.toarray() if sparse.issparse(Z) else Z
            Z = Z.astype(np.float64, copy=False)
            if self.features.has_moments:
                Z = standardised(Z, self.mean, _inverse(self.deviation))
            return np.clip(Z, -self.learner.limit, self.learner.limit)

    def decision_of_transformed(self, Z):
        with np.errstate(all="ignore"):
            return self.target_mean + self.target_deviation * self._predict(Z)

    def _predict(self, Z):
        p = super()._predict(Z)
        if not self.learner.moderates:
            return p
        q, c = self._variances_of_transformed(Z), self.weight_of_predicted
        return self.learner.moderated(p, q, c)

    def _variances_of_transformed(self, Z):
        if self.fit_intercept:
            Z = np.column_stack([Z, np.ones(len(Z))])
        q = [np.einsum("ij,ij->i", Z @ P, Z) for P in self._matrices()]
        return np.maximum(np.column_stack(q), 0.0)

    def _matrices(self):
        """Covariance matrices of the weights, one for each output."""
        return self.learner.covariances(self.state(), self.n_coordinates)

    def variances(self, X):
        """Return variances of predictions before moderation: (n, n_outputs)."""
        q = np.empty((X.shape[0], self.n_outputs))
        for rows in self.blocks(X):
            q[rows] = self._variances_of_transformed(self.transform(X[rows]))
        return q

    def target_variances(self, X):
        """Return variances of the targets of rows around their predictions."""
        s = self.state()
        return s.noise * (1.0 + s.curvature * self.variances(X))

    @property
    def noise(self):
        """Variance of the targets around the model: shape (n_outputs,)."""
        return self.state().noise.copy()

    def coefficients(self):
        w, b = self._weights()
        with np.errstate(all="ignore"):
            w = self.target_deviation[:, np.newaxis] * w * _inverse(self.deviation)
            b = self.target_mean + self.target_deviation * b - w @ self.mean
            if self.features.units is not None:
                w = self.features.units.to_raw(w)
        return np.clip(w, -MAX_FLOAT, MAX_FLOAT), b

    def coef_covariance(self, with_noise=False):
        """Return covariances of the weights: (n_outputs, n_features, n_features).

        They are in the units of the features; `with_noise` multiplies them by the noise
        of the targets.
        """
        d, s = self.n_features, self.state()
        with np.errstate(all="ignore"):
            factors = _inverse(self.deviation)[np.newaxis]
            if self.features.units is not None:
                factors = self.features.units.to_raw(factors)
            factors = np.clip(factors[0], -MAX_FLOAT, MAX_FLOAT)
            covariances = np.stack([P[:d, :d] for P in self._matrices()])
            if with_noise:
                noise = np.minimum(s.noise * s.curvature, MAX_FLOAT)
                covariances *= noise[:, np.newaxis, np.newaxis]
            factors = np.clip(np.outer(factors, factors), -MAX_FLOAT, MAX_FLOAT)
            return np.clip(factors * covariances, -MAX_FLOAT, MAX_FLOAT)


def _inverse(deviation):
    """Return 1 over deviations; 0 for deviations that are not known."""
    with np.errstate(all="ignore"):
        return np.where(deviation > 0.0, 1.0 / deviation, 0.0)
