"""A linear model under online Newton steps, which knows how sure it is."""

import numpy as np
from scipy import sparse

from .._invariants import floats
from ..config import get_config
from ..engines import get_engine
from ..engines.protocol import TargetScale, changeable
from ..learners.online_newton import Change
from ..transforms.moments import standardised
from .base import Learned
from .linear import LARGEST, LinearModel

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
    target_mean, target_deviation : ndarray of shape (n_outputs,)
        The same of targets.
    next_change : int
        Number of rows after which they change.
    """

    shares_rows = False

    def __init__(self, learner, loss, n_features, n_outputs, **keywords):
        super().__init__(learner, loss, n_features, n_outputs, **keywords)
        self.mean = np.zeros(n_features)
        self.deviation = np.full(n_features, 0.0 if self.features.has_moments else 1.0)
        self.target_mean = np.zeros(n_outputs)
        self.target_deviation = np.full(n_outputs, 1.0 if self.target is None else 0.0)
        self.next_change = 1

    def invariants(self):
        yield from super().invariants()
        for name in "mean", "deviation":
            yield from floats(name, getattr(self, name), (self.n_features,))
            of_target = f"target_{name}"
            yield from floats(of_target, getattr(self, of_target), (self.n_outputs,))
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

    def arrange(self, X):
        super().arrange(X)
        self.arrays = tuple(_aligned(a) for a in self.arrays)
        self.mean = changeable(self.mean)
        self.deviation = changeable(self.deviation)

    def learn(self, chunk, order=None, again=False, are_new=True):
        engine = get_engine(get_config()["engine"])
        self.arrange(chunk.X)
        for rows in self.blocks(chunk.X, order):
            indices = np.arange(rows.start, rows.stop) if order is None else rows
            while indices.size:
                part, indices = self._up_to_change(chunk, indices)
                some = part if order is not None else slice(part[0], part[-1] + 1)
                answers = self.learn_block(engine, self.block(engine, chunk, some))
                if self.t == self.next_change:
                    self._change_moments(engine)
                yield Learned(some, answers.said, answers.all_finite)

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
        self.next_change = self.t + max(1, self.t // 2)
        if not (self.features.has_moments or self.target is not None):
            return
        before = self.mean, self.deviation, self.target_mean, self.target_deviation
        mean, deviation, target_mean, target_deviation = before
        if self.features.scale:
            mean, variance = self.features.mean_and_variance()
            deviation = np.sqrt(variance)
        elif self.features.center:
            mean, deviation = self.features.moments[0].copy(), np.ones_like(deviation)
        if not self.features.center:
            mean = np.zeros_like(mean)
        if self.target is not None:
            target_mean, variance = self.target.moments.copy()
            target_deviation = np.sqrt(variance)
        self.mean, self.deviation = mean, deviation
        self.target_mean, self.target_deviation = target_mean, target_deviation
        with np.errstate(all="ignore"):
            change = Change(
                before[1] * _inverse(deviation),
                (before[0] - mean) * _inverse(deviation),
                before[3] * _inverse(target_deviation),
                (before[2] - target_mean) * _inverse(target_deviation),
                self.target is not None and self.target.unit_free,
            )
            engine.change_units(self.learner, self.state(), change)

    # Predictions.

    def transform(self, X):
        with np.errstate(all="ignore"):
            Z = self.features.enter_unlearned(X)
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
        return np.clip(w, -LARGEST, LARGEST), b

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
            factors = np.clip(factors[0], -LARGEST, LARGEST)
            covariances = np.stack([P[:d, :d] for P in self._matrices()])
            if with_noise:
                noise = np.minimum(s.noise * s.curvature, LARGEST)
                covariances *= noise[:, np.newaxis, np.newaxis]
            factors = np.clip(np.outer(factors, factors), -LARGEST, LARGEST)
            return np.clip(factors * covariances, -LARGEST, LARGEST)


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
