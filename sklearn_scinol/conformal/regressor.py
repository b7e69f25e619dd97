"""Regressor with prediction intervals that hold their level on a stream."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from functools import partial
from itertools import takewhile
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _num_samples, check_is_fitted

from .._docstrings import described_as, inherit_descriptions
from .._invariants import same_structure
from .._locks import learns, reads
from .._rollback import learn_as_last_step
from .._shards import Shards
from .._state import checkpoint
from .._typing import MatrixLike, SampleWeight, _fit_context
from .._validation import last_step
from ..config import current_engine
from ..estimators.online_estimator import OnlineEstimator
from ..estimators.regressor import MAX_TARGET, check_size
from ..estimators.row_by_row import reader_of
from ..estimators.served import Served
from ..estimators.validation import check_weights
from ..mixtures.mixture_model import recorded_deviations
from ..mixtures.regressor import HedgeRegressor
from ..models.served import ServedRows
from ..tables.frames import open_frame
from ..tables.kinds import as_kind
from ..transforms.standard import StandardTransform
from ..views import dense_view_of
from .conformal_estimator import ConformalEstimator
from .offsets import Offsets
from .row_by_row import AT_ONCE

# Maximum number of features that widths of intervals are learned from.
MAX_FEATURES = 64

# Kinds of columns of tables that they are learned from.
NUMERIC = "number", "boolean"

IntervalMethod: TypeAlias = Literal["predict", "predict_interval"]


@inherit_descriptions
class OnlineConformalRegressor(RegressorMixin, ConformalEstimator):
    r"""Prediction intervals that hold their level while the stream changes.

    An interval has to contain the target of a row with a given probability. Its ends
    are learned from the errors of a regressor's predictions, each made before its
    target was used, and are corrected by every row: if targets have been beyond an end
    too often, the end moves out. The share of targets in the intervals approaches the
    level on any stream, whatever the regressor, as :meth:`coverage_bound` says [1]_.
    There is no step size to choose.

    Attributes
    ----------
    mean_width_ : float or ndarray of shape (n_levels,)
        Mean width of the intervals that `coverage_` counts, in the units of the
        targets, or NaN.

    See Also
    --------
    HedgeRegressor : Predicts without intervals; `loss="quantile"` learns quantiles.
    sklearn_scinol.evaluation.LossMonitor : Tells when losses change.

    Notes
    -----
    Intervals are wide where errors are large. This is learned from the sizes of the
    latest errors, from the prediction, from the standard deviation of
    :class:`HedgeRegressor`, and from up to 64 dense features: of a table that the
    estimator encodes, its numbers and booleans. Both ends are learned separately:
    errors may be skewed.

    Errors are measured in a running mean of their absolute values, and features are
    standardised: units and zeros of target and features do not matter. An additive
    model of the errors' quantiles, :class:`ScInOLRegressor`, gives the ends, clipped to
    the range of the errors so far. To each a correction is added: with each row it
    takes a gradient step on the pinball loss, of 0.05 units.
    :doc:`/user_guide/intervals` has the formulas, the proof and the measurements.

    The first row a model of this package sees, and the first 100 rows of others, or
    their first chunk if it has fewer, have no honest prediction: their errors are not
    learned. Before the first error intervals are infinite: nothing narrower is known to
    hold a level. While all errors are 0 they have no width. Neither counts in
    `coverage_`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn_scinol import OnlineConformalRegressor, ScInOLRegressor
    >>> X, y = make_friedman1(3000, noise=1.0, random_state=0)
    >>> model = OnlineConformalRegressor(ScInOLRegressor(), confidence_level=0.9)
    >>> intervals = model.partial_fit_predict(X, y, method="predict_interval")
    >>> lower, upper = intervals[-1000:].T
    >>> print(np.mean((lower <= y[-1000:]) & (y[-1000:] <= upper)))
    0.9
    """

    _parameter_constraints: dict = {
        **ConformalEstimator._parameter_constraints,
        "estimator": [HasMethods(["partial_fit", "predict"]), None],
    }
    _METHODS = "predict", "predict_interval"
    _THIRDS = ("narrow", "medium", "wide"), ("low", "middle", "high")
    _estimator_method = "predict"
    _default = HedgeRegressor
    _state_type = Offsets

    # Learning.

    @learns
    @_fit_context(prefer_skip_nested_validation=False)
    @described_as(ConformalEstimator.fit)
    def partial_fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: SampleWeight = None
    ) -> Self:
        """Learn from the rows in order, each once."""
        self._partial_fit(X, y, sample_weight)
        return self

    @learns
    @_fit_context(prefer_skip_nested_validation=False)
    @described_as(ConformalEstimator._partial_fit, partial_fit)
    def partial_fit_predict(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sample_weight: SampleWeight = None,
        method: IntervalMethod | list[IntervalMethod] = "predict",
    ) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Predict each row, then learn from it.

        Parameters
        ----------
        method : {"predict", "predict_interval"} or a list of both, default="predict"
            Whether to return predictions, intervals of all levels, or both.
        """
        self._check_method(method)
        return self._partial_fit(X, y, sample_weight, method)

    def _to_output(self, learned, method):
        predictions, offsets = learned
        if method == "predict_interval":
            return self._intervals(predictions, offsets)
        return predictions

    def _learn(self, X, y, sample_weight, rollbacks, how=AT_ONCE):
        is_first, rows = self._outputs is None, (X, y, sample_weight, rollbacks)
        with self._recorded_deviations() as recorded:
            predictions, inner = self._learn_inner(*rows, how)
        y, predictions = (np.asarray(each, np.float64) for each in (y, predictions))
        weights = check_weights(sample_weight, y)
        if predictions.shape != y.shape:
            raise ValueError(
                f"{type(self.estimator_).__name__} predicts an array of shape "
                f"{predictions.shape}, expected {y.shape} as of y."
            )
        check_size(y)
        if not (np.abs(predictions) <= MAX_TARGET).all():
            raise ValueError(
                f"{type(self.estimator_).__name__} predicts a value that is NaN or too "
                f"large: above {MAX_TARGET:g}."
            )
        n_outputs = predictions[:1].size
        if is_first:
            self._output_shape = y.shape[1:]
            thirds = self._n_thirds
            self._outputs = [Offsets(self._levels, thirds) for _ in range(n_outputs)]
            self._columns = self._find_columns(X)
            self._standard = StandardTransform(n_outputs + len(self._columns))
        own, of_outputs = None, [None] * n_outputs
        if how.served is not None or how.serves:
            own = self._own_served(how.served, len(y))
            of_predictions, *of_outputs = own.split(*self._served_sizes)
            predictions = of_predictions.swap(predictions.reshape(len(y), -1))
            predictions = predictions.reshape(y.shape)
        errors = (y - predictions).reshape(len(y), -1)
        weights = self._without_unpredicted(weights)
        engine, learned = current_engine(), []
        deviations = np.concatenate(recorded) if recorded else np.empty((len(y), 0))
        rollbacks.append(checkpoint(self._standard))
        features = self._features(X, predictions)
        features = self._standard.learn_some(engine, features, weights > 0.0)
        features, groups = _filled(features), self._learn_groups(X, weights)
        for k, offsets in enumerate(self._outputs):
            rollbacks.append(checkpoint(offsets))
            offsets.make_groups(self._n_groups)
            model, learn = offsets.quantiles, learn_as_last_step
            if how.prepared is not None:
                learn = partial(how.prepared.learn_quantiles, model, rollbacks)
            else:
                learn = partial(learn, model, rollbacks, model.partial_fit_predict)
            of_output = self._of_output(features, k), deviations[:, k : k + 1]
            of_rows = groups, errors[:, k], weights, *of_output
            learned.append(offsets.learn(engine, *of_rows, learn, of_outputs[k]))
        if how.serves:
            own = Served.by_one(self._served_key, own.values, inner)
        return (predictions, learned), own if how.serves else None

    @property
    def _served_sizes(self):
        """Numbers of columns of predictions, and of the states of each output."""
        n_features, has_deviations = 1 + len(self._columns), self._mixture is not None
        sizes = [each.n_served(n_features, has_deviations) for each in self._outputs]
        return [len(sizes), *sizes]

    def _own_served(self, served, n):
        """Return :class:`ServedRows` of this estimator itself."""
        found, n_columns = None, sum(self._served_sizes)
        if served is not None:
            found = served.rows_for(self._served_key, n_columns)
        return ServedRows.unknown(n, n_columns) if found is None else found

    @property
    def _mixture(self):
        """The mixture that predicts, or None."""
        last = last_step(self.estimator_)
        return last if isinstance(last, HedgeRegressor) else None

    def _recorded_deviations(self):
        mixture = self._mixture
        return nullcontext([]) if mixture is None else recorded_deviations(mixture)

    def _features(self, X, predictions):
        """Return what tells how large errors are: predictions, and dense features."""
        columns = self._read_columns(X)
        return np.column_stack([predictions.reshape(len(columns), -1), columns])

    def _find_columns(self, X):
        """Find the columns that widths of intervals are learned from, in first rows.

        Returns names of a table's numbers, booleans, and columns whose kind is not
        known yet; or places in dense rows. Frames have none if a transformer of another
        package may take their columns in any order.
        """
        reader, places = reader_of(self.estimator_), []
        reads = getattr(reader, "_reads", None)
        is_sparse = sparse.issparse(X) and dense_view_of(X) is None
        is_foreign = reads is None and hasattr(reader, "transform")
        if reads == "tables":
            kinds = getattr(self._encoder, "_first_kinds", {})
            names = sorted(open_frame(X).names)
            places = [n for n in names if kinds.get(n, "drop") in (*NUMERIC, None)]
        elif not (is_sparse or (is_foreign and hasattr(X, "columns"))):
            with suppress(TypeError, ValueError):  # of texts, or rows that are dicts
                dense = _dense(X)
                places = [*range(dense.shape[1])] if dense.ndim == 2 else []
        return places if len(places) <= MAX_FEATURES else []

    def _read_columns(self, X):
        """Return the values of the columns; NaN stands for missing ones."""
        if not self._columns:
            return np.empty((_num_samples(X), 0))
        if isinstance(self._columns[0], str):
            frame, kinds = open_frame(X), self._encoder.kinds_
            read = [_numbers(frame, name, kinds[name]) for name in self._columns]
            return np.stack(read, axis=1)
        dense, n_columns = _dense(X), len(self._columns)
        if dense.shape[1:] != (n_columns,):
            raise ValueError(
                f"X has other columns of numbers than before: expected {n_columns}."
            )
        return dense

    @property
    def _encoder(self):
        """The step that encodes tables, if all before it read tables, or None."""
        steps = (step for _, step in getattr(self.estimator_, "steps", ()))
        readers = takewhile(lambda step: getattr(step, "_reads", "") == "tables", steps)
        return next((step for step in readers if hasattr(step, "kinds_")), None)

    def _of_output(self, features, k):
        """Return the features for the errors of an output."""
        n_outputs = len(self._outputs)
        return np.column_stack([features[:, k], features[:, n_outputs:]])

    def _intervals(self, predictions, offsets, confidence_level=None):
        """Return the intervals around predictions.

        The offsets of each output are those of lower and of upper ends, each of shape
        (n, n_levels). For the level see :meth:`predict_interval`.
        """
        ends = np.stack([np.stack(each, axis=1) for each in offsets], axis=1)
        ends += predictions.reshape(len(ends), -1)[:, :, np.newaxis, np.newaxis]
        ends = ends[..., self._level_indices(confidence_level)]
        return ends if self._output_shape else ends[:, 0]

    # Predictions.

    @reads
    @described_as(ConformalEstimator._level_indices, ConformalEstimator.predict)
    def predict_interval(
        self, X: MatrixLike, confidence_level: float | Sequence[float] | None = None
    ) -> NDArray[np.float64]:
        """Predict intervals that contain the targets with a given probability.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2) or (n_samples, 2, n_levels)
            Lower and upper ends, in the units of the targets; for a list of levels, an
            interval for each. With several outputs the shape begins with
            (n_samples, n_outputs).
        """
        check_is_fitted(self)
        self._level_indices(confidence_level)
        parts, _ = self._parts_of(X, *self._predict_inner(X))
        predictions, offsets = parts
        return self._intervals(predictions, offsets, confidence_level)

    def _predict_inner(self, X):
        """Return the estimator's predictions, and standard deviations or None."""
        if self._mixture is None:
            return self.estimator_.predict(X), None
        return self.estimator_.predict(X, return_std=True)

    def _serve_inner(self, X):
        if not isinstance(self.estimator_, OnlineEstimator):
            return *self._predict_inner(X), None
        with self._recorded_deviations() as recorded:
            predictions, inner = self.estimator_._serve(X)
        if not recorded:
            return predictions, None, inner
        # A session predicts a power of two of rows.
        return predictions, np.concatenate(recorded)[: len(predictions)], inner

    def _parts_of(self, X, predictions, deviations, *, exactly=False):
        of_outputs = predictions.reshape(len(predictions), -1)
        if deviations is None:
            deviations = of_outputs[:, :0]
        deviations = deviations.reshape(len(of_outputs), -1)
        features = self._standard.transform(self._features(X, predictions))
        features, groups, found = _filled(features), self._group_codes(X), []
        for k, offsets in enumerate(self._outputs):
            of_output = self._of_output(features, k), deviations[:, k : k + 1]
            found.append(offsets.predict(groups, *of_output, exactly=exactly))
        offsets, states = zip(*found, strict=True)
        return (predictions, offsets), np.hstack([of_outputs, *states])

    def _layout(self):
        return (*super()._layout(), len(self._columns), self._mixture is not None)

    # Fitted attributes.

    @property
    def mean_width_(self) -> float | NDArray[np.float64]:
        """Mean width of the intervals so far, in the units of the targets."""
        return self._of_levels(lambda each: each.means[1])

    @described_as(ConformalEstimator._bound)
    def coverage_bound(
        self, by_group: bool = False
    ) -> float | NDArray[np.float64] | dict[object, object]:
        r"""Compute a bound on the deviation of the coverage so far from its level.

        Whatever the stream, the share of targets above the upper end of intervals of
        level :math:`1 - \alpha` differs from :math:`\alpha / 2` by at most :math:`C /
        (0.05\, T)`, and likewise below the lower end, where :math:`C` is the largest
        absolute correction of the end so far and :math:`T` the number of rows with an
        error of known unit. A target that is exactly an end counts as beyond it by the
        fraction :math:`\alpha / 2`. With weights that differ, :math:`1 / T` becomes
        twice the largest weight, less the first, over the sum of weights.

        Returns
        -------
        bound : float or ndarray of shape (n_levels,), or a dict of these
            Sum of the bounds of both ends: no larger deviation of :attr:`coverage_` was
            possible, given these corrections, but for targets that are exactly an end.
            With several outputs, an array with an axis of outputs before.

        Notes
        -----
        Let :math:`D` be the range of the errors in units and 0, and :math:`d` the
        largest number of rows that were learned between a row's interval and the row: 0
        unless labels come late. For level :math:`i`, counted from the innermost,
        :math:`C \le (i + 1/2)\, D + 0.05\, i\, (1 + d)`, for any weights. Groups
        correct the ends of all rows, of which :math:`D` is then the range, too. See
        :doc:`/user_guide/intervals` for the proof.
        """
        return self._bound(by_group)

    # Whether the dense view of :class:`TableRows` is used.
    _takes_dense_view = True

    # Merging.

    def _merged(self, others, start, placements=None):
        members = [self, *others]
        everyone = members if start is None else [*members, start]
        if any(each._columns != self._columns for each in everyone):
            raise ValueError("Only models of the same features can be merged.")
        merged = super()._merged(others, start, placements)
        if others:
            standards = [each._standard for each in members]
            fresh = StandardTransform(self._standard.moments.shape[1])
            first = fresh if start is None else start._standard
            merged._standard = StandardTransform.merged(Shards(standards, first, None))
        return merged

    def _invariants(self):
        yield from super()._invariants()
        if not self.__sklearn_is_fitted__():
            return
        columns, kinds = self._columns, getattr(self._encoder, "kinds_", {})
        yield "columns are a list", isinstance(columns, list)
        is_known = {*columns} <= {*kinds} or columns == [*range(len(columns))]
        yield "columns have names or places", is_known
        fresh = StandardTransform(len(self._outputs) + len(columns))
        yield from same_structure(self._standard, fresh, "the features")


def _filled(features):
    """Return standardised features with 0, the mean, for missing values."""
    return np.nan_to_num(features) if np.isnan(features).any() else features


def _dense(X):
    """Return rows of numbers, or their dense view, as an array."""
    dense = dense_view_of(X)
    if dense is None:
        dense = X.toarray() if sparse.issparse(X) else X
    if isinstance(dense, np.ndarray | list):
        return np.asarray(dense, dtype=np.float64)
    return check_array(dense, dtype=np.float64, ensure_all_finite=False)


def _numbers(frame, name, kind):
    """Return a column of a table as numbers; NaN where there is none."""
    if kind not in NUMERIC:
        return np.full(frame.n_rows, np.nan)
    column = as_kind(frame.column(name), kind, name)
    return np.where(column.is_missing, np.nan, column.values)
