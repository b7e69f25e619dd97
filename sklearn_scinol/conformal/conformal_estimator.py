"""Base of estimators that learn how far to trust the predictions of others."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from functools import partial
from itertools import chain, compress, product
from numbers import Integral
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.utils import Tags, _safe_indexing, check_consistent_length, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from .._docstrings import LinkedToPages, described_as
from .._invariants import floats, is_number
from .._locks import SharedByThreads, learns, reads
from .._parameters import FixedParameters
from .._rollback import learn_as_last_step, rollback_on_error
from .._steps import ShowsProgress, adds_rollbacks, checkpoint_step, merge_steps
from .._typing import Labels, MatrixLike, SampleWeight, _fit_context
from ..estimators.online_estimator import OnlineEstimator
from ..estimators.parameters import PROBABILITIES
from ..estimators.row_by_row import RowByRow
from ..estimators.served import Served, ServedKey
from ..estimators.waiting import LearnsLate
from ..models.weights import check_not_all_zero
from ..tables.frames import as_utc, is_dict_rows, is_missing_value, library_of
from .levels import Levels
from .row_by_row import AT_ONCE, ConformalRows, Learning

# Number of first rows that an estimator from elsewhere predicts, then learns, at once.
CHUNK_ROWS = 100

# Largest number of groups whose labels are given.
MAX_GROUPS = 10_000

# Types of what tells groups apart, in one column or several.
LABELS = str, int, float, tuple

#: Columns, or a function of rows, that tell groups of rows apart.
Groups: TypeAlias = str | int | list[str | int] | Callable[[Any], ArrayLike] | None


class ConformalEstimator(
    LearnsLate,
    SharedByThreads,
    LinkedToPages,
    ShowsProgress,
    FixedParameters,
    MetaEstimatorMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Base of estimators whose predictions hold a level of coverage.

    Parameters
    ----------
    estimator : estimator, default=None
        Any classifier with `partial_fit` and `predict_proba`, or regressor with
        `partial_fit`, or a pipeline that ends in one; it is cloned. Those of this
        package predict each row after learning all rows before it; others predict each
        chunk before they learn it. None stands for a mixture, :class:`HedgeClassifier`
        or :class:`HedgeRegressor`. If labels come late, a pipeline in here learns a row
        only then, and as it predicts by then: put its steps before this estimator, in a
        pipeline around it, to have them learn rows when they come.
    confidence_level : float or array-like of shape (n_levels,), default=0.9
        Share of the rows whose label is to be in the set, or target in the interval,
        between 0 and 1; or several in ascending order, for a set or interval each.
    groups : "auto", column, list of columns, callable or None, default=None
        Groups of rows that hold the level each, see `group_coverage_`. "auto": about
        thirds of the largest probabilities, or of the predicted widths times thirds of
        the predictions. Each value of a column, by name or index, is a group, or each
        combination of several; a callable takes rows and returns an array of their
        groups. A new group begins with what all rows have. None: all rows are one
        group.

    Attributes
    ----------
    estimator_ : estimator
        The classifier or regressor, which has learned.
    coverage_ : float or ndarray of shape (n_levels,)
        Share of the rows so far whose label was in the set, or target in the interval,
        each of the model before it learned the row, or the one that was served if
        labels come late. It counts rows as :meth:`coverage_bound` does, and is NaN
        before the first; with several outputs it has an axis of outputs before that of
        levels.
    groups_ : list
        Labels of the groups, in the order of their first rows.
    group_coverage_ : dict
        `coverage_` of each group, by its label.
    n_features_in_ : int
        Number of features, if the estimator has it.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names, if the estimator has them.
    loss_curve_ : list of float
        Mean losses of the estimator's calls or epochs, if it has them.
    n_samples_seen_ : int
        Number of rows learned, if the estimator has it.
    cumulative_loss_ : float
        Weighted sum of the estimator's losses before each update, if it has it.

    References
    ----------
    .. [1] I. Gibbs and E. Candès (2021). "Adaptive conformal inference under
       distribution shift". NeurIPS 34.
    """

    _parameter_constraints: dict = {
        "confidence_level": PROBABILITIES,
        "groups": [str, Integral, list, callable, None],
    }

    # Names of the thirds of the values whose thirds are groups, for "auto".
    _THIRDS: tuple[tuple[str, str, str], ...]

    # Methods to predict by, and the estimator's method that they build on.
    _METHODS: tuple[str, ...]
    _estimator_method: str

    # Class of the estimator that stands for None, and of the state of an output.
    _default: type[BaseEstimator]
    _state_type: type[Levels]

    # In a pipeline it adds its own rollbacks, see `learn_as_last_step`.
    _adds_rollbacks = True

    # For merging: the estimators check their own attributes.
    _equal_attributes = ()

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: float | Sequence[float] = 0.9,
        groups: Groups = None,
    ) -> None:
        self.estimator = estimator
        self.confidence_level = confidence_level
        self.groups = groups

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
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, if the estimator takes them; a row of
            weight 0 changes nothing.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the data or the weights are not usable. The model is then as it was.
        """
        with rollback_on_error(self):
            if sample_weight is not None:
                check_not_all_zero(sample_weight)
            given = self._given_to_first_call(y)
            for _ in self._learn_first(X, y, sample_weight, **given):
                pass
        return self

    def _learn_first(self, X, y, sample_weight, **given):
        """Forget all rows, and learn; yield what :meth:`_to_output` needs, by parts."""
        self._start()
        if self._predicts_each_row:
            starts = [0]
        else:
            weights = [] if np.ndim(sample_weight) == 0 else [sample_weight]
            check_consistent_length(X, y, *weights)
            starts = range(0, max(_num_samples(X), 1), CHUNK_ROWS)
        rows = X, y, sample_weight
        for start in starts:
            if len(starts) > 1:
                part = slice(start, start + CHUNK_ROWS)
                rows = [_safe_indexing(each, part) for each in (X, y, *weights)]
                rows += [sample_weight] * (1 - len(weights))
            learned, _ = self._learn(*rows, [], **given)  # all is new: no rollbacks
            yield learned
            given = {}

    def _given_to_first_call(self, y):
        """Return what the first call needs to know of all targets."""
        return {}

    @learns
    def _partial_fit(
        self, X, y, sample_weight, method=None, served=None, serves=False, **given
    ):
        """Learn rows in order; see :meth:`OnlineEstimator._partial_fit`.

        Returns
        -------
        predictions : ndarray or list of ndarray
            As the method would return, for each row before its label or target was
            used; for a list of methods a list. An estimator from elsewhere predicts all
            rows before it learns them; of its first chunk 100 at a time, and the first
            100 when it has learned them.

        Raises
        ------
        ValueError
            As :meth:`partial_fit`, or if `method` is not one of these.
        """
        with rollback_on_error(self) as rollbacks:
            given = {name: value for name, value in given.items() if value is not None}
            if not self.__sklearn_is_fitted__():
                parts = self._learn_first(X, y, sample_weight, **given)
                return _joined([self._answer(part, method) for part in parts])
            self._settle_parameters(begins=False)
            if served is not None:
                check_consistent_length(y, served)
            rows = X, y, sample_weight, rollbacks, Learning(served, serves)
            learned, served = self._learn(*rows, **given)
            answer = self._answer(learned, method)
            return (answer, served) if serves else answer

    def _answer(self, learned, method):
        """Return what a method predicted, or each of several, or None."""
        if isinstance(method, list):
            return [self._answer(learned, each) for each in method]
        return None if method is None else self._to_output(learned, method)

    # Rows whose labels come later.

    @reads
    def _serve(self, X, method="predict"):
        """Predict rows whose labels come later; see :meth:`OnlineEstimator._serve`."""
        check_is_fitted(self)
        *predicted, inner = self._serve_inner(X)
        learned, values = self._parts_of(X, *predicted, exactly=True)
        served = Served.by_one(self._served_key, values, inner)
        return self._answer(learned, method), served

    @abstractmethod
    def _serve_inner(self, X):
        """Return what the estimator predicts, and its own :class:`Served` or None."""

    @abstractmethod
    def _parts_of(self, X, *predicted, exactly=False):
        """Return what :meth:`_to_output` needs of rows, and what they are served.

        If `exactly`, that is what it is before each row, to the last bit.
        """

    @property
    def _predicts_each_row(self):
        """Whether it predicts each row after learning all rows before it."""
        return hasattr(self.estimator_, "partial_fit_predict")

    @property
    def _served_key(self):
        """Key of what this estimator serves."""
        return ServedKey.of(self, repr(self._layout()))

    def _layout(self):
        """Return what is the same in all models that can learn a row as served."""
        return (*self._levels.tolist(), self._output_shape)

    def _to_output(self, learned, method):
        """Return what a method predicted, of what :meth:`_learn` returns."""
        return learned[self._METHODS.index(method)]

    def _check_method(self, method):
        methods = method if isinstance(method, list) else [method]
        if not all(each in self._METHODS for each in methods):
            raise ValueError(f"method must be one of {self._METHODS}, got {method!r}.")

    def _start(self):
        """Forget all rows."""
        self._settle_parameters(begins=True)
        names = self.groups if isinstance(self.groups, list) else [0]
        if not (names and all(isinstance(name, str | int) for name in names)):
            raise ValueError(
                f"groups must name columns by texts or indices; got {self.groups!r}."
            )
        self.estimator_ = clone(self._given())
        name, kind = type(self.estimator_).__name__, get_tags(self).estimator_type
        if get_tags(self.estimator_).estimator_type != kind:
            raise ValueError(f"The estimator {name} should be a {kind}.")
        self._levels = np.atleast_1d(np.asarray(self.confidence_level, dtype=float))
        self._outputs, self._labels = None, []
        self._has_learned = self._is_merged = False

    def _given(self):
        """Return the estimator to clone."""
        return self._default() if self.estimator is None else self.estimator

    @abstractmethod
    def _learn(self, X, y, sample_weight, rollbacks, how=AT_ONCE, **given):
        """Learn rows; return what :meth:`_to_output` needs of each before.

        Also returns :class:`Served` of the rows, or None; see :class:`Learning`.
        """

    def _learn_inner(self, X, y, sample_weight, rollbacks, how, **given):
        """Learn rows by the estimator; return predictions, and its own `Served`."""
        learn = (how.prepared or self)._learn_estimator
        is_native = isinstance(self.estimator_, OnlineEstimator)
        if is_native and how.served is not None and how.served.inner is not None:
            given["served"] = how.served.inner
        if is_native and how.serves:
            return learn(X, y, sample_weight, rollbacks, serves=True, **given)
        return learn(X, y, sample_weight, rollbacks, **given), None

    def _learn_estimator(self, X, y, sample_weight, rollbacks, **given):
        """Learn rows by the estimator; return predictions, before each if possible."""
        estimator, method = self.estimator_, self._estimator_method
        if not given.keys().isdisjoint(("served", "serves")):
            learn = partial(learn_as_last_step, estimator, rollbacks)
            rows = X, y, sample_weight
            return learn(estimator._partial_fit, *rows, method=method, **given)
        if sample_weight is not None:
            given["sample_weight"] = sample_weight
        if not adds_rollbacks(estimator):
            rollbacks.append(checkpoint_step(estimator))
        learn = partial(learn_as_last_step, estimator, rollbacks)
        if self._predicts_each_row:
            return learn(estimator.partial_fit_predict, X, y, method=method, **given)
        predict = partial(getattr(estimator, method), X)
        predictions = predict() if self._has_learned else None
        learn(estimator.partial_fit, X, y, **given)
        return predict() if predictions is None else predictions

    def _without_unpredicted(self, weights):
        """Return weights that are 0 for rows of which no prediction was made before."""
        if self._has_learned or not weights.any():
            return weights
        self._has_learned = True
        n_unpredicted = len(weights)
        if self._predicts_each_row:
            n_unpredicted = np.argmax(weights > 0.0) + 1
        return np.where(np.arange(len(weights)) < n_unpredicted, 0.0, weights)

    # Groups of rows.

    @property
    def _n_thirds(self):
        """Number of values whose thirds are the groups."""
        return len(self._THIRDS) if self._as_learned("groups") == "auto" else 0

    @property
    def _n_groups(self):
        """Number of groups, with that of all rows."""
        return 1 + (3**self._n_thirds if self._n_thirds else len(self._labels))

    def _group_codes(self, X, labels=None):
        """Return the groups of rows by their labels; 0 for all that have none."""
        n, groups = _num_samples(X), self._as_learned("groups")
        if groups in (None, "auto"):
            return np.zeros(n, np.intp)
        if labels is None:
            labels = labels_of_groups(X, groups, self._labels)
        codes = {label: code for code, label in enumerate(self._labels, 1)}
        return np.array([codes.get(label, 0) for label in labels], np.intp)

    def _learn_groups(self, X, weights):
        """Return the groups of rows, and remember labels of rows that are learned."""
        if self.groups in (None, "auto"):
            return self._group_codes(X)
        labels = labels_of_groups(X, self.groups, self._labels)
        learned = dict.fromkeys(compress(labels, weights > 0.0))
        new = [label for label in learned if label not in self._labels]
        if len(self._labels) + len(new) > MAX_GROUPS:
            raise ValueError(
                f"groups={self.groups!r} makes more than {MAX_GROUPS:,} groups of rows."
            )
        self._labels = self._labels + new
        return self._group_codes(X, labels)

    @property
    def groups_(self) -> list[Any]:
        """Labels of the groups that rows were of."""
        check_is_fitted(self)
        if self._n_thirds:
            # The thirds of the first value come one after the other.
            return [", ".join(each[::-1]) for each in product(*self._THIRDS[::-1])]
        return [*self._labels]

    def _level_indices(self, confidence_level=None):
        """Return the index of a level, or indices of several; all if None.

        Parameters
        ----------
        confidence_level : float or list of float, default=None
            One or several of the levels that the model has learned. None stands for all
            of them.

        Raises
        ------
        ValueError
            If the rows are not usable, or the model has not learned a level.
        """
        if confidence_level is None:
            return slice(None) if np.ndim(self._as_learned("confidence_level")) else 0
        asked = np.asarray(confidence_level, dtype=float)
        if not (asked.ndim <= 1 and asked.size and np.isin(asked, self._levels).all()):
            raise ValueError(
                f"confidence_level={confidence_level!r} was not learned: the levels of "
                f"this model are {self._levels.tolist()}."
            )
        places = np.searchsorted(self._levels, asked)
        return int(places) if asked.ndim == 0 else places

    # Predictions.

    @reads
    def predict(
        self, X: MatrixLike, **predict_params: Any
    ) -> NDArray[Any] | tuple[NDArray[Any], ...]:
        """Predict rows by the estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        **predict_params : dict
            Parameters of the estimator's `predict`, such as `return_std`.

        Returns
        -------
        predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Targets in their units, or labels.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X, **predict_params)

    @described_as(OnlineEstimator.row_by_row)
    def row_by_row(
        self, *, classes: Labels | None = None, n_features: int | None = None
    ) -> RowByRow:
        """Return an object to learn and predict one row at a time.

        Returns
        -------
        rows : RowByRow
            With methods `learn_one`, `predict_one` and `predict_learn_one`, and of
            regressors `predict_interval_one`, of classifiers `predict_proba_one` and
            `predict_set_one`. It learns as by `partial_fit` with each row, to the last
            bit.
        """
        self._validate_params()
        return ConformalRows(self, classes if is_classifier(self) else None, n_features)

    # Fitted attributes.

    @property
    def coverage_(self) -> float | NDArray[np.float64]:
        """Share of the targets so far that were covered."""
        return self._of_levels(lambda each: each.means[0])

    @property
    def group_coverage_(self) -> dict[Any, Any]:
        """Share of the targets so far that were covered, for each of `groups_`."""
        return self._of_groups(lambda each: each.coverage_of_groups)

    def _bound(self, by_group):
        """Return the bound on the deviation of the coverage.

        Parameters
        ----------
        by_group : bool, default=False
            Whether to return the bounds of all groups, in which the same holds with
            the corrections and rows of the group. Else the bounds of groups add up,
            by their numbers of rows.

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
        if by_group:
            return self._of_groups(lambda each: each.bound_of_groups)
        return self._of_levels(lambda each: each.bound)

    def _of_groups(self, function):
        """Return what a function has for each group, by the groups' labels."""
        return {
            label: self._of_levels(lambda each, k=k: function(each)[k])
            for k, label in enumerate(self.groups_)
        }

    def _of_levels(self, function):
        check_is_fitted(self)
        values = np.stack([function(each) for each in self._outputs])
        values = values[:, self._level_indices()]
        values = values if self._output_shape else values[0]
        return values if np.ndim(values) else float(values)

    @property
    def _learner(self):
        """The estimator that has learned, or the one to clone."""
        return vars(self).get("estimator_", self.estimator)

    # For plots: the estimator whose coefficients explain predictions.
    _explained = _learner

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self._learner.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Feature names, if X has them."""
        return self._learner.feature_names_in_

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
        """Return a model of the rows of all; see :meth:`MergingMixin._merged`."""
        if not others:
            return deepcopy(self)
        members = [self, *others]
        everyone = [start, *members]
        merged = copy(self)
        merged.estimator_, _ = merge_steps(
            "estimator",
            [each.estimator_ for each in members],
            start and start.estimator_,
            placements or [None for _ in members] + [None] * (start is not None),
        )
        first = [] if start is None else [start]
        labels = chain.from_iterable(each._labels for each in [*first, *members])
        merged._labels = [*dict.fromkeys(labels)]
        first, *outputs = [each and each._placed_outputs(merged) for each in everyone]
        merged._outputs = [
            type(of_members[0]).merged(of_members, start and first[k])
            for k, of_members in enumerate(zip(*outputs, strict=True))
        ]
        merged._is_merged = True
        return merged

    def _placed_outputs(self, merged):
        """Return the outputs with the groups of a model that has them all."""
        if self._labels == merged._labels:
            return self._outputs
        places = [0, *(1 + merged._labels.index(label) for label in self._labels)]
        return [each.with_groups(places, merged._n_groups) for each in self._outputs]

    def _invariants(self):
        yield from super()._invariants()
        if not self.__sklearn_is_fitted__():
            return
        yield "there is an estimator", hasattr(self, "estimator_")
        levels = self._levels
        n_levels = np.size(self._as_learned("confidence_level"))
        yield from floats("levels", levels, (n_levels,))
        yield "levels are probabilities", (levels > 0.0) & (levels < 1.0)
        yield "levels ascend", np.diff(levels) > 0.0
        yield "the output shape is a tuple", isinstance(self._output_shape, tuple)
        yield "there are outputs", isinstance(self._outputs, list)
        are_labels = [isinstance(each, LABELS) or each is None for each in self._labels]
        yield "groups have labels", all(are_labels)
        yield "labels differ", len({*self._labels}) == len(self._labels)
        n_outputs = len(self._outputs)
        yield "the outputs fit their shape", np.prod(self._output_shape) == n_outputs
        yield "only regressors have several", n_outputs == 1 or is_regressor(self)
        expected = n_levels, self._n_thirds, self._n_groups
        for each in self._outputs:
            yield "outputs have states", type(each) is self._state_type
            sizes = each.n_levels, each.n_thirds, each.n_groups
            yield "states have all levels, thirds and groups", sizes == expected
        for name in "_has_learned", "_is_merged":
            yield f"{name} is true or false", is_number(vars(self).get(name), bool)


def _joined(answers):
    """Join the answers of parts of rows: arrays, lists of these, or None."""
    if isinstance(answers[0], list):
        return [*map(_joined, zip(*answers, strict=True))]
    return None if answers[0] is None else np.concatenate(answers)


def labels_of_groups(X, groups, known):
    """Return what tells the groups of rows apart: numbers, texts, None, or tuples.

    If labels are known, so are the columns: dicts may lack them.
    """
    n = _num_samples(X)
    if callable(groups):
        labels = np.asarray(groups(X))
        if labels.shape != (n,):
            raise ValueError(
                f"groups returned an array of shape {labels.shape}, expected ({n},)."
            )
        return [*map(_label, _python_values(labels))]
    names = groups if isinstance(groups, list) else [groups]
    columns = [[*map(_label, _column(X, name, known))] for name in names]
    return columns[0] if len(columns) == 1 else [*zip(*columns, strict=True)]


def _column(X, name, known):
    """Return the values of a column, of rows of any kind."""
    try:
        if known and is_dict_rows(X):
            return [row.get(name) for row in X]
        if isinstance(X, list):  # of dicts, or lists
            return [row[name] for row in X]
        is_arrow = library_of(X) == "pyarrow"  # which has batches as well as tables
        column = X[name] if is_arrow else _safe_indexing(X, name, axis=1)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"X has no column {name!r}, which groups names.") from error
    return _python_values(column.toarray() if sparse.issparse(column) else column)


def _python_values(values):
    """Return values of an array as a list of Python's types."""
    values = np.asarray(values).ravel()
    if values.dtype == "M8[ns]":  # which would become integers
        values = values.astype("M8[us]")
    return values.tolist()


def _label(value):
    """Return a value as a label, alike from all libraries; None if it is missing."""
    if isinstance(value, np.generic):
        (value,) = _python_values(value)
    if is_missing_value(value):
        return None
    value = as_utc(value)
    return value if isinstance(value, LABELS) else str(value)
