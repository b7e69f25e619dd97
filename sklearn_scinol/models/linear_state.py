"""State of linear models under an online learner, and predictions from it."""

import numpy as np
from scipy import sparse

from .._invariants import floats
from ..learners.bases.averaging import sum_before
from ..losses.methods import is_by_output
from ..transforms.features import FeatureTransform
from .online import OnlineModel

#: Larger coefficients become the largest number.
MAX_FLOAT = np.finfo(np.float64).max


class LinearState(OnlineModel):
    """Linear model of rows that were transformed, see :class:`OnlineModel`.

    Parameters
    ----------
    features : FeatureTransform, default=None
        Transform of the features before the learner; None for rows as they are.
    target : TargetTransform, default=None
        Transform of the target: the learner predicts it standardised.

    Attributes
    ----------
    fields : ndarray of shape (n_fields, n_outputs, n_coordinates)
        State of the learner, see :class:`.blocks.State` for its order. With averaging,
        the last two fields are the sum of the weights, and the clock of that sum.
    arrays : tuple of ndarray
        State of a learner that sees rows as vectors, which has no fields.
    first : ndarray of shape (n_coordinates,)
        First non-zero ``|x|`` of each coordinate, for learners with `keeps_first`.
    """

    _by_feature = "fields", "first"
    _by_output: tuple[str, ...] = ("fields", "arrays")

    def __init__(
        self,
        learner,
        loss,
        n_features,
        n_outputs,
        *,
        features=None,
        target=None,
        **keywords,
    ):
        super().__init__(learner, loss, n_features, n_outputs, **keywords)
        self.features = FeatureTransform(n_features) if features is None else features
        self.target = target
        self.arrays = ()
        if self.traits.by_vector:
            self.arrays = tuple(learner.initial_arrays(n_outputs, self.n_coordinates))
        initial = self._initial_fields()
        self.fields = np.empty((len(initial), n_outputs, self.n_coordinates))
        self.fields[:] = initial
        self.first = np.zeros(self.n_coordinates)

    def _initial_fields(self):
        """Values of `fields` for coordinates that were not seen: (n_fields, 1, 1)."""
        values = () if self.traits.by_vector else self.learner.initial_state()
        return np.reshape([*values, *([0.0] * (2 if self.average else 0))], (-1, 1, 1))

    def _add_outputs(self, origins):
        super()._add_outputs(origins)
        is_new, learner = origins.is_new, self.learner
        if self.traits.by_vector:
            arrays = learner.initial_arrays(is_new.size, self.n_coordinates)
            for values, old in zip(arrays, self.arrays, strict=True):
                if len(values) == 1:  # all outputs share it
                    values[:] = old
                else:
                    values[~is_new] = old[origins.sources[~is_new]]
            self.arrays = tuple(arrays)
        if self.fields.flags.c_contiguous:
            self.fields = self.fields.take(origins.sources, axis=1)
        else:
            self.fields = self.fields.T.take(origins.sources, axis=1).T
        if self.traits.by_vector:
            return
        names = learner.State._fields
        old = learner.State(*self.fields[: len(names), is_new])
        self._store_idle("state", self.fields, old, is_new)
        self.fields[len(names) :, is_new] = 0.0  # nothing to average yet
        is_odd = [name in getattr(learner, "odd", ()) for name in names]
        is_odd += [True, False] if self.average else []
        self.fields[np.ix_(is_odd, origins.signs < 0)] *= -1.0

    @property
    def n_columns(self):
        """Number of columns of rows as the learner sees them."""
        return self.n_features

    @property
    def n_coordinates(self):
        return self.n_columns + self.fit_intercept

    @property
    def lipschitz(self):
        """Divisor of the derivatives of the loss for the learner.

        With a standardised target the loss has no unit: it is divided by its Lipschitz
        constant or, by the transform of the target, by the standard deviation.
        """
        if self.target is None:
            return super().lipschitz
        return self.loss.lipschitz if self.target.unit_free else 1.0

    @property
    def sees_means(self):
        # No bound is known where rows or targets are transformed.
        alters = self.features.has_moments or self.target is not None
        return super().sees_means or (alters and not self.traits.has_wealth)

    @property
    def row_scale(self):
        return self.lipschitz if self.target is None else 1.0

    @property
    def slope_ratios(self):
        """Lipschitz constant of the loss over those of outputs, or None if all are 1.

        Derivatives are multiplied by them, so that each output learns as if alone. So
        are predictions, where the unit of targets is that of predictions.
        """
        is_divided = self.target is not None or self.traits.bounded_gradients
        if not (is_divided and is_by_output(self.loss)):
            return None
        ratios = self.loss.lipschitz / self.loss.lipschitz_by_output
        return None if (ratios == 1.0).all() else ratios

    def state(self):
        """State of the learner, as named arrays."""
        if self.traits.by_vector:
            return self.learner.State(*self.arrays)
        return self.learner.State(*self.fields[: len(self.learner.State._fields)])

    def invariants(self):
        yield from super().invariants()
        names = () if self.traits.by_vector else self.learner.State._fields
        names += ("sum of weights", "clock of the sum") if self.average else ()
        yield "fields has an array for each name", len(self.fields) == len(names)
        shape = self.n_outputs, self.n_coordinates
        for name, values in zip(names, self.fields, strict=True):
            yield from floats(name, values, shape)
        for name, values in zip(self.learner.State._fields, self.arrays, strict=False):
            yield from floats(name, values, values.shape)
        yield from floats("first", self.first, shape[1:])
        yield "first >= 0", self.first >= 0.0
        if self.average:
            last, clock = self.fields[-1], self.clock[0, :, np.newaxis]
            yield "sums are not ahead of the clock", (last >= 0.0) & (last <= clock)
        if self.traits.keeps_first:
            largest = self.state()[0]
            yield "first is at most the largest value", self.first <= largest
        yield from self._learner_invariants(self.state())

    def _sizes(self):
        yield from super()._sizes()
        n_features, target = self.features.n_features, self.target
        yield "features has n_features features", n_features == self.n_features
        if target is not None:
            shape = 2, self.n_outputs
            yield "target has moments for each output", target.moments.shape == shape
            is_bounded = np.isfinite(self.loss.lipschitz)
            yield "unit_free needs a bounded loss", is_bounded or not target.unit_free
        shape = (self.n_coordinates,)
        yield "first has an entry for each coordinate", self.first.shape == shape

    # Predictions.

    def decision_of_transformed(self, Z):
        """Predict rows that are transformed."""
        with np.errstate(all="ignore"):
            if self.averages:
                w, b = self._weights()
                p = Z @ w.T + b
            else:
                p = self._predict(Z)
            if self.target is not None:
                return self.target.to_raw(p)
            ratios = self.slope_ratios
            return p if ratios is None else ratios * p

    def _predict(self, Z):
        if not self.traits.reaches:
            return self._predict_shared(Z)
        return self._predict_reached(Z) * self._factor(0.0)

    def _predict_shared(self, Z):
        """Predict with weights that all rows share, up to a factor."""
        w, b = self._unscaled_weights()
        squares = Z.multiply(Z) if sparse.issparse(Z) else Z * Z
        q = np.asarray(squares.sum(axis=1)).reshape(-1, 1) + self.fit_intercept
        return (Z @ w.T + b) * self._factor(self.scale_of_predicted**2 * q)

    def _predict_reached(self, Z):
        """Predict with shared weights within reach, and with own weights beyond."""
        scale, s, t = self.scale_of_predicted, self.state(), self.t + 1
        is_sparse = sparse.issparse(Z)
        if is_sparse:
            entries = sparse.coo_array(Z)
            row, column, z = entries.row, entries.col, entries.data
        if is_sparse and z.size < self.n_columns:
            # Cheaper than the weights of all features, most of which are not used.
            p = np.tile(self._intercepts(), (Z.shape[0], 1))
        else:
            w, b = self._shared_weights(scale, s, t)
            features = (slice(None), slice(self.n_columns))
            reach = np.minimum.reduce(self.learner.reach(s, features, t)) / scale
            if is_sparse:
                beyond = np.abs(z) > reach[column]
                row, column, z = row[beyond], column[beyond], z[beyond]
                within = Z.copy()
                within.data[beyond] = 0.0
            else:
                beyond = np.abs(Z) > reach
                if not beyond.any():
                    return Z @ w.T + b
                row, column = np.nonzero(beyond)
                z, within = Z[beyond], np.where(beyond, 0.0, Z)
            p = within @ w.T + b
        if z.size:
            own = self.learner.weight(s, (slice(None), column), scale * z, t)
            for k, terms in enumerate(own * z):
                p[:, k] += np.bincount(row, terms, minlength=p.shape[0])
        return p

    def _weights(self):
        """Weights of features, for values within reach of the learner; intercepts."""
        if not self.averages:
            return self._latest_weights()
        total, last = self.fields[-2:]
        w = self.learner.weight(self.state(), ..., 0.0, self.t + 1)
        w_sum = sum_before(total, last, ..., w, self.clock[0, :, np.newaxis])
        return self._split(w_sum / (self.t - self.averaging_starts))

    def _split(self, weights):
        n = self.n_columns
        b = weights[:, n] if self.fit_intercept else np.zeros(self.n_outputs)
        return weights[:, :n], b

    def _latest_weights(self):
        """Weights of features and intercepts, without averaging."""
        w, b = self._unscaled_weights()
        factors = self._output_factors()
        return factors[:, np.newaxis] * w, factors * b

    def _unscaled_weights(self):
        """Weights of features and intercepts, without averaging and factors."""
        if self.traits.by_vector:
            return self._split(self.learner.weights(self.state(), self.t + 1))
        return self._shared_weights(self.scale_of_predicted, self.state(), self.t + 1)

    def _shared_weights(self, scale, s, t):
        """Weights of features, for values within reach, and of intercepts."""
        x = np.zeros(self.n_coordinates)
        x[self.n_columns :] = scale
        return self._split(self.learner.weight(s, ..., x, t))

    def _intercepts(self):
        if not self.fit_intercept:
            return np.zeros(self.n_outputs)
        i = (slice(None), self.n_columns)
        return self.learner.weight(self.state(), i, self.scale_of_predicted, self.t + 1)

    def coefficients(self):
        """Weights (n_outputs, n_features) and intercepts, in the units of raw rows."""
        with np.errstate(all="ignore"):
            w, b = self.features.to_raw(*self._weights(), self.weight_scale.smallest)
            if self.target is not None:
                w, b = self.target.to_weights(w, b)
            elif (ratios := self.slope_ratios) is not None:
                w, b = ratios[:, np.newaxis] * w, ratios * b
        # Weights of tiny values may overflow.
        return np.clip(w, -MAX_FLOAT, MAX_FLOAT), b

    def regret_bound(self, coef, intercept):
        """Bound on the regret against weights and intercepts, on the rows so far."""
        if self.features.has_altered_values:
            return np.inf
        u = self._learned_weights(coef, intercept)
        return self._bound(self.state(), u, self.first)

    def tuned_bound(self, coef, intercept):
        """Bound of gradient descent with rates tuned in hindsight; NaN if not known.

        Equation 4 of Kempka, Kotłowski and Warmuth (2019), for the learner's gradients.
        """
        s = self.state()
        if not hasattr(s, "S2") or self.features.has_altered_values:
            return np.nan
        u = self._learned_weights(coef, intercept)
        unit = self.weight_scale.unit or 1.0
        return float((np.abs(u) * np.sqrt(s.S2)).sum()) * unit

    def _learned_weights(self, coef, intercept):
        """Return weights for raw rows in the units of the rows learned."""
        if self.features.units is not None:
            coef = self.features.units.from_raw(coef)
        u = np.hstack([coef, intercept[:, np.newaxis]])[:, : self.n_coordinates]
        ratios = self.slope_ratios
        return u if ratios is None else u / ratios[:, np.newaxis]
