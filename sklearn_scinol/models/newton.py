"""A linear model under online Newton steps, which knows how sure it is."""

from copy import copy

import numpy as np
from scipy import linalg, sparse

from .._invariants import floats
from .._shards import Shards
from ..blocks import TargetScale, as_writable
from ..config import current_engine
from ..engines import get_engine
from ..learners.online_newton import Change
from ..transforms.moments import standardised
from .base import Learned
from .linear import MAX_FLOAT, LinearModel

__all__ = ["NewtonModel"]

CACHE_LINE = 64  # bytes


class NewtonModel(LinearModel):
    """See :class:`LinearModel`; the learner is an :class:`OnlineNewton`.

    Features and targets are standardised by moments that stand still for a while: those
    of the rows up to the last time that their number had grown by half. Then the
    state goes over to new ones, as if all rows had been learned with these.

    Attributes
    ----------
    mean, deviation : ndarray of shape (n_features,)
        By which features are standardised; a deviation of 0 is not known yet.
    origin : ndarray of shape (n_features,)
        Where all rows were taken to be that came before the deviation was known.
    target_mean, target_deviation : ndarray of shape (n_outputs,)
        The same of targets.
    next_change : int
        Number of rows after which they change.
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

    def __setstate__(self, state):
        super().__setstate__(state)
        if "origin" not in state:  # of models that were saved before they had it
            self.origin = np.zeros_like(self.mean)

    def invariants(self):
        yield from super().invariants()
        yield (
            "the learner knows of the intercept",
            (self.learner.fit_intercept == self.fit_intercept),
        )
        yield "the learner forgets a part", self.learner.forgetting < 1.0
        for name in "mean", "deviation", "origin":
            yield from floats(name, getattr(self, name), (self.n_features,))
        for name in "target_mean", "target_deviation":
            yield from floats(name, getattr(self, name), (self.n_outputs,))
        yield "deviation >= 0", self.deviation >= 0.0
        yield "target_deviation >= 0", self.target_deviation >= 0.0
        yield "the next change is to come", self.next_change > self.t

    def _add_outputs(self, origins):
        super()._add_outputs(origins)
        self.target_mean = np.zeros(self.n_outputs)
        self.target_deviation = np.ones(self.n_outputs)
        # Those of a joint loss never are.
        self.learner = self.learner._replace(moderate=False)

    @property
    def bounds_regret(self):
        return super().bounds_regret and self.learner.forgetting == 0.0

    # Learning.

    def ensure_layout(self, X):
        super().ensure_layout(X)
        self.arrays = tuple(_aligned(a) for a in self.arrays)
        self.mean = as_writable(self.mean)
        self.deviation = as_writable(self.deviation)

    def learn(self, chunk, order=None, again=False, are_new=True):
        engine = get_engine(current_engine())
        self.ensure_layout(chunk.X)
        for rows in self.blocks(chunk.X, order):
            indices = np.arange(rows.start, rows.stop) if order is None else rows
            while indices.size:
                part, indices = self._up_to_change(chunk, indices)
                some = part if order is not None else slice(part[0], part[-1] + 1)
                answers = self.learn_block(engine, self.block(engine, chunk, some))
                if self.t == self.next_change:
                    self._change_moments(engine)
                yield Learned(some, answers.reported, answers.all_finite)

    def _up_to_change(self, chunk, rows):
        """Rows up to that after which moments change, and the others."""
        left = self.next_change - self.t
        if chunk.sample_weight is None:
            return rows[:left], rows[left:]
        n_learned = np.cumsum(chunk.sample_weight[rows] > 0.0)
        end = np.searchsorted(n_learned, left) + 1
        return rows[:end], rows[end:]

    def block(self, engine, chunk, rows, checks=True):
        block = super().block(engine, chunk, rows, checks)
        if self.target is not None:
            slope = 1.0 if self.target.unit_free else _inverse(self.target_deviation)
            standing = self.target_mean, self.target_deviation, slope
            block = block._replace(
                target_scale=TargetScale(
                    *(np.full_like(block.targets, value) for value in standing)
                )
            )
        if self.features.has_moments:
            standard = np.stack([self.mean, _inverse(self.deviation)])
            block = block._replace(standard=standard)
        return block

    def forget(self, features):
        super().forget(features)
        if self.features.has_moments:
            self.mean[features] = self.deviation[features] = 0.0

    def _change_moments(self, engine):
        """Go over to the moments of all rows so far."""
        before = copy(self)
        self._take_moments()
        is_new = (before.deviation == 0.0) & (self.deviation > 0.0)
        self.origin = np.where(is_new, self.mean, self.origin)
        self._change_units(engine, self.state(), before, self.mean)

    @property
    def _standardises(self):
        """Whether it does so with rows or targets."""
        return self.features.has_moments or self.target is not None

    def _take_moments(self):
        """Standardise by the moments of all rows so far, for a while."""
        self.next_change = self.t + max(1, self.t // 2)
        if not self._standardises:
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
        """Let a state be as if learned with these moments, and not with other ones.

        Rows were to be multiplied by a scale before these. Features that did not vary
        in the other ones were all at the origin.
        """
        if not self._standardises:
            return
        with np.errstate(all="ignore"):
            inverse, of_target = map(_inverse, (self.deviation, self.target_deviation))
            slope = scale * other.deviation * inverse
            zero = np.where(slope == 0.0, origin, scale * other.mean)
            change = Change(
                slope,
                (zero - self.mean) * inverse,
                other.target_deviation * of_target,
                (other.target_mean - self.target_mean) * of_target,
                self.target is not None and self.target.unit_free,
            )
            engine.change_units(self.learner, s, change)

    # Merging.

    def with_columns(self, placement):
        model = super().with_columns(placement)
        initial = 0.0 if self.features.has_moments else 1.0
        is_seen = (self.deviation > 0.0) | (self.mean != 0.0)
        model.deviation = placement.of(self.deviation, is_seen, initial)
        for name in "mean", "origin":
            values = np.broadcast_to(getattr(self, name), is_seen.shape)
            setattr(model, name, placement.of(values, is_seen))
        forward = placement.forward.toarray()
        if self.fit_intercept:
            forward = linalg.block_diag(forward, 1.0)
        model.arrays = tuple(self.learner.with_columns(self.state(), forward))
        return model

    def _merge_learner(self, shards, scales):
        """Let each go over to the moments of all rows, and add up what rows say."""
        engine = get_engine(current_engine())
        self._take_moments()
        self.origin = self.mean
        start, units = shards.start, self.features.units
        of_start = 1.0 if units is None else units.scales_of(start.features.units)

        def changed(model, origin, scale):
            s = model.state()._make(array.copy() for array in model.arrays)
            self._change_units(engine, s, model, origin, scale)
            return s

        pairs = []
        for model, scale in zip(shards, scales, strict=True):
            # Each has its own view of where the rows were that all began with.
            origin = np.where(model.deviation > 0.0, scale * model.origin, self.mean)
            began = changed(start, origin, of_start)
            pairs.append((changed(model, self.mean, scale), began))
        began = changed(start, self.mean, of_start)
        s = Shards(pairs, (began, began), shards.shares, shards.units)
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
        q, c = self._variances_of_transformed(Z), self.weight_scale.smallest
        return self.learner.moderated(p, q, c)

    def _variances_of_transformed(self, Z):
        if self.fit_intercept:
            Z = np.column_stack([Z, np.ones(len(Z))])
        q = [np.einsum("ij,ij->i", Z @ P, Z) for P in self._matrices()]
        return np.maximum(np.column_stack(q), 0.0)

    def _matrices(self):
        """Covariances of the weights, one matrix an output."""
        return self.learner.covariances(self.state(), self.n_coordinates)

    def variances(self, X):
        """Variances of the model's own predictions, in units of the loss.

        Parameters
        ----------
        X : ndarray or CSR array of shape (n, n_features)

        Returns
        -------
        q : ndarray of shape (n, n_outputs)
        """
        q = np.empty((X.shape[0], self.n_outputs))
        for rows in self.blocks(X):
            q[rows] = self._variances_of_transformed(self.transform(X[rows]))
        return q

    def target_variances(self, X):
        """Variances of the targets of rows around their predictions."""
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
        """Covariances of the weights in the units of the features.

        Parameters
        ----------
        with_noise : bool, default=False
            Whether the loss is the squared error in units of the noise, or for other
            losses what is most like it.

        Returns
        -------
        covariances : ndarray of shape (n_outputs, n_features, n_features)
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


def _aligned(array):
    """The same numbers, from where a line of the processor's cache begins.

    Vectors of four that lie in two lines take a fifth more of the time of a pass.
    """
    if array.__array_interface__["data"][0] % CACHE_LINE == 0:
        return array
    room = np.empty(array.nbytes + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    found = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[:] = array
    return found


def _inverse(deviation):
    """One over deviations; 0 for those that are not known."""
    with np.errstate(all="ignore"):
        return np.where(deviation > 0.0, 1.0 / deviation, 0.0)
