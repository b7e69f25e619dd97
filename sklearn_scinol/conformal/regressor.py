"""Regressor with prediction intervals that hold their level on a stream."""

from collections.abc import Sequence
from contextlib import nullcontext
from copy import copy, deepcopy
from functools import partial
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
    is_regressor,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted

from .._invariants import floats, is_count, is_number, same_structure
from .._locks import SharedByThreads, learns, reads
from .._rollback import learn_as_last_step, rollback_on_error
from .._shards import Shards
from .._steps import adds_rollbacks, checkpoint_step, merge_steps
from .._typing import MatrixLike, SampleWeight, _fit_context
from ..config import current_engine
from ..engines import get_engine
from ..estimators.parameters import PROBABILITIES
from ..estimators.regressor import MAX_TARGET, check_size
from ..estimators.rows import RowByRow
from ..estimators.validation import ALLOW_ZERO_WEIGHTS
from ..mixtures.model import recorded_deviations
from ..mixtures.regressor import HedgeRegressor
from ..models.weights import check_not_all_zero
from ..transforms.standard import StandardTransform
from ..views import dense_view_of
from .offsets import Offsets
from .rows import ConformalRows, predicts_by_row

__all__ = ["OnlineConformalRegressor"]

# Maximum number of features that widths of intervals are learned from.
MAX_FEATURES = 64

# Number of rows that `fit` lets an estimator from elsewhere predict, then learn.
CHUNK_ROWS = 100

METHODS = "predict", "predict_interval"

IntervalMethod: TypeAlias = Literal["predict", "predict_interval"]


class OnlineConformalRegressor(
    SharedByThreads, MetaEstimatorMixin, RegressorMixin, BaseEstimator
):
    r"""Prediction intervals that hold their level while the stream changes.

    An interval has to contain the target of a row with a given probability. Its ends
    are learned from the errors of a regressor's predictions, each made before its
    target was used, and are corrected by every row: if targets have been beyond an end
    too often, the end moves out. The share of targets in the intervals approaches the
    level on any stream, whatever the regressor, as :meth:`coverage_bound` says [1]_.
    There is no step size to choose.

    Intervals are wide where errors are large. This is learned from the sizes of the
    latest errors, from the prediction, from the standard deviation of
    :class:`HedgeRegressor`, and from up to 64 dense features. Both ends are learned
    separately: errors may be skewed.

    Parameters
    ----------
    estimator : estimator, default=None
        Any regressor with `partial_fit`, or a pipeline that ends in one; it is cloned.
        Those of this package predict each row after learning all rows before it; others
        predict each chunk before they learn it. None stands for
        :class:`HedgeRegressor`.
    coverage : float or array-like of shape (n_levels,), default=0.9
        Share of the targets that intervals have to contain, between 0 and 1; or several
        in ascending order, for an interval each.

    Attributes
    ----------
    estimator_ : estimator
        The regressor, which has learned.
    coverage_ : float or ndarray of shape (n_levels,)
        Share of the targets so far that were in their intervals, each interval of the
        model before it learned the row. It counts rows as :meth:`coverage_bound` does;
        with several outputs it has an axis of outputs before that of levels.
    mean_width_ : float or ndarray of shape (n_levels,)
        Mean width of these intervals, in the units of the targets.
    n_features_in_ : int
        Number of features, if the estimator has it.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names, if the estimator has them.
    n_samples_seen_ : int
        Number of rows learned, if the estimator has it.
    cumulative_loss_ : float
        Weighted sum of the estimator's losses before each update, if it has it.
    loss_curve_ : list of float
        Mean losses of the estimator's calls or epochs, if it has them.

    See Also
    --------
    HedgeRegressor : Predicts without intervals; `loss="quantile"` learns quantiles.
    sklearn_scinol.evaluation.LossMonitor : Tells when losses change.

    Notes
    -----
    Errors are measured in a running mean of their absolute values, and features are
    standardised: units and zeros of target and features do not matter. An additive
    model of the errors' quantiles, :class:`ScInOLRegressor`, gives the ends, clipped to
    the range of the errors so far.
    To each a correction is added: with each row it takes a gradient step on the
    pinball loss, of 0.05 units. :doc:`/user_guide/intervals` has the formulas, the
    proof and the measurements.

    The first row a model of this package sees, and the first chunk of others, have no
    honest prediction: their errors are not learned. Before the first error intervals
    have no width.

    References
    ----------
    .. [1] I. Gibbs and E. Candès (2021). "Adaptive conformal inference under
       distribution shift". NeurIPS 34.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn_scinol import OnlineConformalRegressor, ScInOLRegressor
    >>> X, y = make_friedman1(3000, noise=1.0, random_state=0)
    >>> model = OnlineConformalRegressor(ScInOLRegressor(), coverage=0.9)
    >>> intervals = model.partial_fit_predict(X, y, method="predict_interval")
    >>> lower, upper = intervals[-1000:].T
    >>> print(np.mean((lower <= y[-1000:]) & (y[-1000:] <= upper)))
    0.9
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["partial_fit", "predict"]), None],
        "coverage": PROBABILITIES,
    }

    # In a pipeline it adds its own rollbacks, see `learn_as_last_step`.
    _adds_rollbacks = True

    # For merging: the estimators check their own attributes.
    _equal_attributes = ()

    def __init__(
        self, estimator: Any = None, *, coverage: float | Sequence[float] = 0.9
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage

    # Learning.

    @learns
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: SampleWeight = None
    ) -> Self:
        """Learn from the rows in order, each once, after forgetting all others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, as the estimator takes them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, if the estimator takes them.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the data or the weights are not usable. The model is then as it was.
        """
        with rollback_on_error(self) as rollbacks:
            if sample_weight is not None:
                check_not_all_zero(sample_weight)
            self._start()
            if predicts_by_row(self.estimator_):
                self._learn(X, y, sample_weight, rollbacks)
                return self
            n = _num_samples(X)
            for start in range(0, n, CHUNK_ROWS):
                rows = slice(start, start + CHUNK_ROWS)
                X_part, y_part, c_part = (
                    None if each is None else _safe_indexing(each, rows)
                    for each in (X, y, sample_weight)
                )
                self._learn(X_part, y_part, c_part, rollbacks)
        return self

    @learns
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: SampleWeight = None
    ) -> Self:
        """Learn from the rows in order, each once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The next rows of the stream, as the estimator takes them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, if the estimator takes them; a row of
            weight 0 changes nothing.

        Returns
        -------
        self : object
            The model, which has learned.

        Raises
        ------
        ValueError
            If the data or the weights are not usable. The model is then as it was.
        """
        self._partial_fit(X, y, sample_weight)
        return self

    @learns
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit_predict(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sample_weight: SampleWeight = None,
        method: IntervalMethod | list[IntervalMethod] = "predict",
    ) -> Any:
        """Predict each row, then learn from it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The next rows of the stream.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows.
        method : {"predict", "predict_interval"} or a list of both, default="predict"
            Whether to return predictions, intervals of all levels, or both.

        Returns
        -------
        predictions : ndarray or list of ndarray
            As the method would return, for each row before its target was used; for a
            list of methods a list. An estimator from elsewhere predicts all rows before
            it learns them, and its first chunk when it has learned it.

        Raises
        ------
        ValueError
            As :meth:`partial_fit`, or if `method` is not one of these.
        """
        self._check_method(method)
        return self._partial_fit(X, y, sample_weight, method)

    def _partial_fit(self, X, y, sample_weight, method=None):
        with rollback_on_error(self) as rollbacks:
            if not self.__sklearn_is_fitted__():
                self._start()
            return self._answer(method, *self._learn(X, y, sample_weight, rollbacks))

    def _answer(self, method, predictions, offsets):
        """Return what a method, or each of several, or None answers."""
        if isinstance(method, list):
            return [self._answer(each, predictions, offsets) for each in method]
        if method == "predict_interval":
            return self._intervals(predictions, offsets)
        return None if method is None else predictions

    def _check_method(self, method):
        methods = method if isinstance(method, list) else [method]
        if not all(each in METHODS for each in methods):
            raise ValueError(f"method must be one of {METHODS}, got {method!r}.")

    def _start(self):
        """Forget all rows."""
        self.estimator_ = clone(self._given())
        if not is_regressor(self.estimator_):
            name = type(self.estimator_).__name__
            raise ValueError(f"The estimator {name} should be a regressor.")
        self._levels = np.atleast_1d(np.asarray(self.coverage, dtype=float))
        self._outputs = None
        self._has_learned = self._is_merged = False

    def _given(self):
        """Return the estimator to clone."""
        return HedgeRegressor() if self.estimator is None else self.estimator

    def _learn(self, X, y, sample_weight, rollbacks, prepared=None):
        """Learn rows; return predictions and offsets of intervals before each.

        A single row may be learned by `prepared`, see :class:`ConformalRows`.
        """
        is_first = self._outputs is None
        learn = self._learn_estimator if prepared is None else prepared.learn_estimator
        predictions, deviations = learn(X, y, sample_weight, rollbacks)
        y = np.asarray(y, dtype=np.float64)
        weights = np.ones(len(y))
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight,
                y,
                dtype=np.float64,
                ensure_non_negative=True,
                **ALLOW_ZERO_WEIGHTS,
            )
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
        errors = (y - predictions).reshape(len(y), -1)
        if is_first:
            self._output_shape = y.shape[1:]
            self._outputs = [Offsets(self._levels) for _ in range(errors.shape[1])]
            self._n_columns = _columns(X, None).shape[1]
            self._standard = StandardTransform(errors.shape[1] + self._n_columns)
        if not self._has_learned and weights.any():
            # No prediction was made before these rows.
            n_unpredicted = len(weights)
            if predicts_by_row(self.estimator_):
                n_unpredicted = np.argmax(weights > 0.0) + 1
            weights = np.where(np.arange(len(weights)) < n_unpredicted, 0.0, weights)
            self._has_learned = True
        engine, learned = get_engine(current_engine()), []
        rollbacks.append(self._standard.checkpoint())
        features = self._learn_features(engine, X, predictions, weights)
        for k, offsets in enumerate(self._outputs):
            rollbacks.append(offsets.checkpoint())
            offsets.ensure_layout()
            learn = partial(_learn_quantiles, offsets.quantiles, rollbacks)
            if prepared is not None:
                learn = partial(prepared.learn_quantiles, k, rollbacks)
            deviation = None if deviations is None else deviations[:, k]
            of_rows = errors[:, k], weights, self._of_output(features, k), deviation
            learned.append(offsets.learn(engine, *of_rows, learn))
        return predictions, learned

    def _learn_estimator(self, X, y, sample_weight, rollbacks):
        """Learn rows by the estimator.

        Returns
        -------
        predictions : ndarray of the shape of `y`
            Made before each row, if that is possible.
        deviations : ndarray of shape (n, n_outputs) or None
            Standard deviations of the targets, if the estimator has them.
        """
        estimator = self.estimator_
        c = {} if sample_weight is None else {"sample_weight": sample_weight}
        if not adds_rollbacks(estimator):
            rollbacks.append(checkpoint_step(estimator))
        learn = partial(learn_as_last_step, estimator, rollbacks)
        if predicts_by_row(estimator):
            with self._recorded_deviations() as deviations:
                predictions = learn(estimator.partial_fit_predict, X, y, **c)
            return predictions, np.concatenate(deviations) if deviations else None
        if self._has_learned:
            predictions = estimator.predict(X)
            learn(estimator.partial_fit, X, y, **c)
            return predictions, None
        learn(estimator.partial_fit, X, y, **c)
        return estimator.predict(X), None

    @property
    def _mixture(self):
        """The mixture that predicts, or None."""
        last = self.estimator_
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        return last if isinstance(last, HedgeRegressor) else None

    def _recorded_deviations(self):
        mixture = self._mixture
        return nullcontext([]) if mixture is None else recorded_deviations(mixture)

    def _features(self, X, predictions):
        """Return what tells how large errors are: predictions, and dense features."""
        columns = _columns(X, self._n_columns)
        return np.column_stack([predictions.reshape(len(columns), -1), columns])

    def _learn_features(self, engine, X, predictions, weights):
        """Standardise features of rows, and learn those that have a weight."""
        features, is_learned = self._features(X, predictions), weights > 0.0
        if is_learned.all():
            return _filled(self._standard.learn(engine, features))
        standardised = np.empty(features.shape)
        changes = np.flatnonzero(np.diff(is_learned)) + 1
        for rows in np.split(np.arange(len(weights)), changes):
            if is_learned[rows[0]]:
                standardised[rows] = self._standard.learn(engine, features[rows])
            else:
                standardised[rows] = self._standard.transform(features[rows])
        return _filled(standardised)

    def _of_output(self, features, k):
        """Return the features for the errors of an output."""
        n_outputs = len(self._outputs)
        return np.column_stack([features[:, k], features[:, n_outputs:]])

    def _intervals(self, predictions, offsets, coverage=None):
        """Return the intervals around predictions.

        Parameters
        ----------
        predictions : ndarray of shape (n,) or (n, n_outputs)
        offsets : list of (ndarray, ndarray), each of shape (n, n_levels)
            Of lower and upper ends, for each output.
        coverage : float or list of float, default=None
            See :meth:`predict_interval`.
        """
        ends = np.stack([np.stack(each, axis=1) for each in offsets], axis=1)
        ends += predictions.reshape(len(ends), -1)[:, :, np.newaxis, np.newaxis]
        ends = ends[..., self._level_indices(coverage)]
        return ends if self._output_shape else ends[:, 0]

    def _level_indices(self, coverage=None):
        """Return the index of a level, or indices of several; all if None."""
        if coverage is None:
            return slice(None) if np.ndim(self.coverage) else 0
        asked = np.asarray(coverage, dtype=float)
        if not (asked.ndim <= 1 and asked.size and np.isin(asked, self._levels).all()):
            raise ValueError(
                f"coverage={coverage!r} was not learned: the levels of this model are "
                f"{self._levels.tolist()}."
            )
        places = np.searchsorted(self._levels, asked)
        return int(places) if asked.ndim == 0 else places

    # Predictions.

    @reads
    def predict(self, X: MatrixLike, **predict_params: Any) -> Any:
        """Predict the targets of rows by the estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        **predict_params : dict
            Parameters of the estimator's `predict`, such as `return_std`.

        Returns
        -------
        predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            In the units of the targets.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X, **predict_params)

    @reads
    def predict_interval(
        self, X: MatrixLike, coverage: float | Sequence[float] | None = None
    ) -> NDArray[np.float64]:
        """Predict intervals that contain the targets with a given probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        coverage : float or list of float, default=None
            One or several of the levels that the model has learned. None stands for all
            of them.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2) or (n_samples, 2, n_levels)
            Lower and upper ends, in the units of the targets; for a list of levels, an
            interval for each. With several outputs the shape begins with
            (n_samples, n_outputs).

        Raises
        ------
        ValueError
            If the rows are not usable, or the model has not learned a level.
        """
        check_is_fitted(self)
        self._level_indices(coverage)
        deviations = [None] * len(self._outputs)
        if self._mixture is None:
            predictions = self.estimator_.predict(X)
        else:
            predictions, deviations = self.estimator_.predict(X, return_std=True)
            deviations = deviations.reshape(len(deviations), -1).T
        features = self._standard.transform(self._features(X, predictions))
        features = _filled(features)
        predicted = [
            offsets.predict(self._of_output(features, k), deviations[k])
            for k, offsets in enumerate(self._outputs)
        ]
        return self._intervals(predictions, predicted, coverage)

    def row_by_row(
        self, *, classes: None = None, n_features: int | None = None
    ) -> RowByRow:
        """Return an object to learn and predict one row at a time.

        Parameters
        ----------
        classes : None
            For symmetry with classifiers.
        n_features : int, default=None
            Number of features, where nothing was learned yet and the first row is
            sparse.

        Returns
        -------
        rows : RowByRow
            With methods `learn_one`, `predict_one`, `predict_learn_one` and
            `predict_interval_one`. It learns as by :meth:`partial_fit` with each row,
            to the last bit.
        """
        self._validate_params()
        return ConformalRows(self, n_features)

    # What was learned.

    @property
    def coverage_(self) -> Any:
        """Share of the targets so far that were in their intervals."""
        return self._of_levels(lambda each: each.means[0], "coverage_")

    @property
    def mean_width_(self) -> Any:
        """Mean width of the intervals so far, in the units of the targets."""
        return self._of_levels(lambda each: each.means[1], "mean_width_")

    def coverage_bound(self) -> Any:
        r"""Compute a bound on the deviation of the coverage so far from its level.

        Whatever the stream, the share of targets above the upper end of intervals of
        level :math:`1 - \alpha` differs from :math:`\alpha / 2` by at most
        :math:`C / (0.05\, T)`, and likewise below the lower end, where :math:`C` is the
        largest absolute correction of the end so far and :math:`T` the number of rows
        with an error of known unit. With one level, :math:`C` is at most 1.5 times the
        range of the errors in units, plus 0.1. A target that is exactly an end may
        count on either side. With weights that differ, :math:`1 / T` becomes twice the
        largest weight, less the first, over the sum of weights. See
        :doc:`/user_guide/intervals` for the proof.

        Returns
        -------
        bound : float or ndarray of shape (n_levels,)
            Sum of the bounds of both ends: no larger deviation of :attr:`coverage_` was
            possible, given these corrections. With several outputs, an array with an
            axis of outputs before.

        Raises
        ------
        AttributeError
            If the model was merged from others, which have a bound each.
        """
        check_is_fitted(self)
        if self._is_merged:
            raise AttributeError(
                f"This {type(self).__name__!r} has no 'coverage_bound', which holds "
                "for each of the models that it was merged from."
            )
        return self._of_levels(lambda each: each.bound, "coverage_bound")

    def _of_levels(self, function, name):
        if not self.__sklearn_is_fitted__():
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}"
            )
        values = np.stack([function(each) for each in self._outputs])
        values = values[:, self._level_indices()]
        values = values if self._output_shape else values[0]
        return values if np.ndim(values) else float(values)

    def _fitted_or_given(self):
        return vars(self).get("estimator_", self.estimator)

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self._fitted_or_given().n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Feature names, if X has them."""
        return self._fitted_or_given().feature_names_in_

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned."""
        return self._fitted_or_given().n_samples_seen_

    @property
    def cumulative_loss_(self) -> float:
        """Weighted sum of the estimator's losses before each update."""
        return self._fitted_or_given().cumulative_loss_

    @property
    def loss_curve_(self) -> list[float]:
        """Mean losses of the estimator's calls or epochs."""
        return self._fitted_or_given().loss_curve_

    @property
    def _takes_dense_view(self):
        """Whether the dense view of :class:`TableRows` is used."""
        return True

    def __sklearn_is_fitted__(self):
        return vars(self).get("_outputs") is not None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self._given())
        tags.input_tags = of_estimator.input_tags
        tags.target_tags = of_estimator.target_tags
        return tags

    # Merging.

    def _merged(self, others, start, placements=None):
        """Return a model that has learned the rows of this one and of others.

        The placements have the columns of features of each, and of `start`.
        """
        members = [self, *others]
        everyone = members if start is None else [*members, start]
        if len({each._n_columns for each in everyone}) > 1:
            raise ValueError("Only models of the same features can be merged.")
        merged = copy(self)
        merged.estimator_, _ = merge_steps(
            "estimator",
            [each.estimator_ for each in members],
            start and start.estimator_,
            placements or [None for _ in everyone],
        )
        if not others:
            return deepcopy(self)
        merged._standard = StandardTransform.merged(
            Shards(
                [each._standard for each in members],
                StandardTransform(self._standard.moments.shape[1])
                if start is None
                else start._standard,
                None,
            )
        )
        merged._outputs = [
            Offsets.merged(
                [each._outputs[k] for each in members], start and start._outputs[k]
            )
            for k in range(len(self._outputs))
        ]
        merged._is_merged = True
        return merged

    def _invariants(self):
        """Yield what holds between two calls."""
        names = self._get_param_names()
        yield "all parameters are set", all(hasattr(self, name) for name in names)
        if not self.__sklearn_is_fitted__():
            return
        self._validate_params()
        yield "there is an estimator", hasattr(self, "estimator_")
        levels = self._levels
        yield from floats("levels", levels, (np.size(self.coverage),))
        yield "levels are probabilities", (levels > 0.0) & (levels < 1.0)
        yield "levels ascend", np.diff(levels) > 0.0
        yield "the output shape is a tuple", isinstance(self._output_shape, tuple)
        yield "there are outputs", isinstance(self._outputs, list)
        n_outputs = len(self._outputs)
        yield "the outputs fit their shape", np.prod(self._output_shape) == n_outputs
        for each in self._outputs:
            yield "outputs have offsets", isinstance(each, Offsets)
            yield "offsets have all levels", each.n_levels == len(levels)
        yield "n_columns is a count", is_count(self._n_columns)
        fresh = StandardTransform(n_outputs + self._n_columns)
        yield from same_structure(self._standard, fresh, "the features")
        for name in "_has_learned", "_is_merged":
            yield f"{name} is true or false", is_number(vars(self).get(name), bool)


def _learn_quantiles(model, rollbacks, features, errors, weights):
    """Learn quantiles of errors; return the quantiles before each row."""
    learn = model.partial_fit_predict
    rows = features, errors
    return learn_as_last_step(model, rollbacks, learn, *rows, sample_weight=weights)


def _filled(features):
    """Return standardised features with 0, the mean, for missing values."""
    return np.nan_to_num(features) if np.isnan(features).any() else features


def _columns(X, n_columns):
    """Return the dense features of rows that widths of intervals are learned from.

    Their number is `n_columns`; None stands for all, if there are at most
    :data:`MAX_FEATURES`.
    """
    none = np.empty((_num_samples(X), 0))
    if n_columns == 0:
        return none
    dense = dense_view_of(X)
    if dense is None and sparse.issparse(X):
        if n_columns is None:
            return none
        dense = X.toarray()
    try:
        dense = np.asarray(X if dense is None else dense, dtype=np.float64)
    except (TypeError, ValueError):  # texts, or rows that are dicts
        dense = none
    if n_columns is None:
        is_narrow = dense.ndim == 2 and dense.shape[1] <= MAX_FEATURES
        return dense if is_narrow else none
    if dense.shape != (len(none), n_columns):
        raise ValueError(
            f"X has other columns of numbers than before: expected {n_columns}."
        )
    return dense
