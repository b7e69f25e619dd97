"""Learning and predicting one row at a time, at little cost a call."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from numbers import Real
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._docstrings import described_as
from .._locks import locks_of
from .._typing import Labels, Method, Prediction
from .._validation import (
    NamedChunk,
    check_has_values,
    dicts_error,
    names_error,
    without_names,
)
from ..config import current_engine
from ..models.served import ServedRows
from ..models.session import prepare_session
from ..models.weights import is_in_range
from ..views import TableRows, dense_view_of
from .late_labels import LateLabels
from .served import Served
from .waiting import Waiting

#: A row: values, or the indices of features and their values; for a pipeline what its
#: first step takes.
RowLike: TypeAlias = (
    ArrayLike | tuple[NDArray[np.integer], NDArray[Any]] | Mapping[str, Any]
)

# Stands for the target of rows that are only predicted.
NO_TARGET = object()


class SparseRow(NamedTuple):
    """Sparse row whose indices ascend and are in range."""

    indices: NDArray[np.integer]
    values: NDArray[Any]
    n_features: int
    dense_view: NDArray[np.float64] | None = None  # of shape (1, n_dense_features)

    @property
    def matrix(self):
        """Convert to a matrix of one row."""
        ends = np.array([0, len(self.indices)], dtype=self.indices.dtype)
        arrays, shape = (self.values, self.indices, ends), (1, self.n_features)
        if self.dense_view is None:
            return sparse.csr_array(arrays, shape=shape)
        return TableRows(arrays, shape=shape, dense_view=self.dense_view)


class OpaqueRow(NamedTuple):
    """Row of any type that a step of a pipeline returns, such as a frame."""

    matrix: Any


class RowByRow(metaclass=ABCMeta):
    """Learn and predict one row at a time, at little cost a call.

    Made by the method `row_by_row` of an estimator or of a pipeline. It has no state of
    its own: after each call the estimator is what `partial_fit` with that row would
    have made of it, and may be used in any other way in between.

    One thread learns at a time, and any number predict: by this object, by others of
    the same estimator, or by its own methods. What is learned does not change by that,
    and each prediction is that of the estimator between two rows.

    Most of the time of `partial_fit` with one row goes into validation and into calling
    compiled code. With the engine "numba" that is prepared once for linear estimators
    and mixtures of these, without class weights and `clip_ratio`. Other estimators take
    the time of `partial_fit`, and so do mixtures in which only some experts learn
    sparse rows without making them dense.

    A row `x` is an array of shape (n_features,), which is fastest with float64, or a
    sequence of numbers. A sparse row is a tuple of two arrays: the indices of features,
    ascending, and their values. It takes the time of its entries, however many features
    there are, unless the estimator centres them.

    Values are matched by name in a row with names: a dict of numbers, a named tuple, a
    Series of pandas, or a frame of one row, whose columns must be in order. A first row
    with names gives the estimator its own, as a frame does. An estimator without names
    takes dicts whose keys are the numbers of features.

    For a pipeline, a row is what its first step takes, which may be any dict. Steps are
    validated once as well, and a dict is encoded fast by a
    :class:`~sklearn_scinol.preprocessing.TableEncoder` that has learned dicts, if all
    its values are of the types bool, int, float, str, date, datetime or None, and none
    is of a new column; fastest without columns of texts and `interactions`. Steps of
    other packages take the time that they take.

    Parameters
    ----------
    estimator : estimator of this package
    classes : array-like of shape (n_classes,), default=None
        See `row_by_row`.
    n_features : int, default=None
        See `row_by_row`.

    Attributes
    ----------
    estimator : estimator of this package
        The one that learns.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import ScInOLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ScInOLClassifier()
    >>> rows = model.row_by_row(classes=[0, 1])
    >>> rows = rows.learn_one(X[0], y[0])
    >>> mistakes = sum(
    ...     rows.predict_learn_one(*row) != row[1] for row in zip(X[1:], y[1:])
    ... )
    >>> print(mistakes, model.n_samples_seen_)
    25 569
    """

    # Whether rows that come are learned before their labels.
    _observes = False

    def __init__(
        self,
        estimator: Any,
        classes: Labels | None = None,
        n_features: int | None = None,
    ) -> None:
        self.estimator = estimator
        self._classes = classes
        self._n_features = n_features
        self._locks = locks_of(estimator)

    def _read(self, x):
        """Return a row as the estimator takes it: by names, or sparse."""
        if not is_sparse(x):
            return read_row(self.estimator, x)
        reader = reader_of(self.estimator)
        return sparse_row(x, getattr(reader, "n_features_in_", self._n_features))

    def __reduce__(self):
        # Sessions and prepared calls are left out: they belong to this process.
        return type(self), (self.estimator, self._classes, self._n_features)

    def learn_one(self, x: RowLike, y: Any, sample_weight: float | None = None) -> Self:
        """Learn from a row.

        Parameters
        ----------
        x : array-like of shape (n_features,), tuple of two ndarray, or dict
            The next row of the stream.
        y : label, float or array-like of shape (n_outputs,)
            Its label or target; of several labels, 1 for those that it has, and else 0.
        sample_weight : float, default=None
            Non-negative weight of its loss. None stands for 1; a row of weight 0
            changes nothing.

        Returns
        -------
        self : RowByRow

        Raises
        ------
        ValueError
            If the row, the label or the weight is not usable. The estimator is then as
            it was.
        """
        self._learn(x, y, sample_weight, None)
        return self

    @described_as(learn_one)
    def predict_learn_one(
        self,
        x: RowLike,
        y: Any,
        sample_weight: float | None = None,
        *,
        method: Method = "predict",
    ) -> Prediction:
        """Predict a row, then learn from it: less work than to do one after the other.

        Parameters
        ----------
        method : {"predict", "decision_function", "predict_proba", \
                "predict_log_proba"}, default="predict"
            Which answer to return; of regressors "predict".

        Returns
        -------
        prediction : label, float or ndarray
            Made before `y` was used.

        Raises
        ------
        ValueError
            As :meth:`learn_one`, or if `method` is not one of these.
        AttributeError
            If the loss has no probabilities and `method` asks for them.
        """
        self._check_method(method)
        return self._learn(x, y, sample_weight, method)

    def predict_one(self, x: RowLike) -> Prediction:
        """Predict the label or the target of a row.

        Parameters
        ----------
        x : array-like of shape (n_features,), tuple of two ndarray, or dict

        Returns
        -------
        prediction : label, float or ndarray of shape (n_outputs,)
        """
        return self._predict(x, "predict")

    @described_as(predict_one)
    def decision_function_one(self, x: RowLike) -> float | NDArray[np.float64]:
        """Predict the scores of a row; of classifiers only.

        Returns
        -------
        scores : float or ndarray of shape (n_classes,)
        """
        self._check_method("decision_function")
        return self._predict(x, "decision_function")

    @described_as(predict_one)
    def predict_proba_one(self, x: RowLike) -> NDArray[np.float64]:
        """Predict the probabilities of the classes of a row.

        Returns
        -------
        probabilities : ndarray of shape (n_classes,)
            In the order of the estimator's `classes_`.

        Raises
        ------
        AttributeError
            If the loss has no probabilities.
        """
        self._check_method("predict_proba")
        return self._predict(x, "predict_proba")

    @described_as(predict_one)
    def predict_interval_one(self, x: RowLike) -> NDArray[np.float64]:
        """Predict intervals for the target of a row; of regressors with intervals only.

        Returns
        -------
        interval : ndarray of shape (2,) or (2, n_levels)
            As of :meth:`OnlineConformalRegressor.predict_interval
            <sklearn_scinol.OnlineConformalRegressor.predict_interval>`.
        """
        self._check_method("predict_interval")
        return self._predict(x, "predict_interval")

    @described_as(predict_one)
    def predict_set_one(self, x: RowLike) -> NDArray[np.bool_]:
        """Predict a set of labels for a row; of classifiers with sets only.

        Returns
        -------
        labels : ndarray of bool of shape (n_classes,) or (n_classes, n_levels)
            As of :meth:`OnlineConformalClassifier.predict_set
            <sklearn_scinol.OnlineConformalClassifier.predict_set>`.
        """
        self._check_method("predict_set")
        return self._predict(x, "predict_set")

    def with_late_labels(self, *, max_waiting: int = 10_000) -> LateLabels:
        """Return an object that keeps the rows it predicts until their labels come.

        Parameters
        ----------
        max_waiting : int, default=10_000
            Maximum number of rows that wait. One more drops the oldest, whose label may
            never come, without learning it.

        Returns
        -------
        late : LateLabels
            With methods `predict_one(x, key)`, `predict_proba_one(x, key)`,
            `decision_function_one(x, key)`, `predict_interval_one(x, key)` and
            `predict_set_one(x, key)`, and `learn_one(key, y)` for when the label has
            come. The keys are yours: any hashable values.
        """
        return LateLabels(self, max_waiting)

    @described_as(learn_one)
    def observe_one(self, x: RowLike) -> Self:
        """Learn a row whose label will not come; of pipelines with `observe` only.

        Raises
        ------
        NotFittedError
            If nothing was learned yet.
        ValueError
            If the row is not usable. The pipeline is then as it was.
        """
        self.estimator.observe  # noqa: B018
        self._come(x, None)
        return self

    def _check_method(self, method):
        """Raise an error if the estimator does not have the method."""
        self.estimator._check_method(method)

    def _learn(self, x, y, sample_weight, method):
        """Learn from a row; return its prediction before if `method` is given.

        A row may be :class:`Waiting`. Its prediction is that which it was served, and
        not known of pipelines.
        """
        locks = self._locks
        with locks.learning, locks.state:
            if locks.readers:
                locks.wait_for_readers()
            if type(x) is Waiting:
                return self._learn_waiting_locked(x, y, sample_weight, method)
            return self._learn_locked(x, y, sample_weight, method)

    def _predict(self, x, method):
        """Return the prediction of `method` for a row."""
        locks = self._locks
        locks.is_wanted = True
        with locks.state:
            if locks.readers:
                locks.wait_for_readers()
            return self._predict_locked(x, method)

    def _come(self, x, method):
        """Observe a row and predict it, unless `method` is None.

        Return the prediction, and a :class:`Waiting` to learn when the label comes.
        """
        locks = self._locks
        locks.is_wanted = True
        with locks.learning if self._observes else nullcontext(), locks.state:
            if locks.readers:
                locks.wait_for_readers()
            return self._come_locked(x, method)

    def _come_locked(self, x, method):
        """Predict a row, and observe it, while the estimator is locked."""
        x, served = self._read(x), Served.unknown(1)
        if method is None:
            check_is_fitted(self.estimator)
            return None, Waiting(x, served=served)
        prediction, served = self._serve_locked(x, method)
        return prediction, Waiting(x, served=served)

    def _learn_waiting_locked(self, waiting, y, sample_weight, method):
        """Learn a row that waited while the estimator is locked."""
        return self._learn_locked(waiting.X, y, sample_weight, method, waiting.served)

    @abstractmethod
    def _learn_locked(self, x, y, sample_weight, method, served=None):
        """Learn from a row while the estimator is locked."""

    @abstractmethod
    def _predict_locked(self, x, method):
        """Predict a row while the estimator is locked."""


class EstimatorRows(RowByRow):
    """Learn and predict single rows with an estimator that is no pipeline.

    Rows may also be a :class:`SparseRow` or :class:`OpaqueRow`, which pipelines give.
    """

    def __init__(self, estimator, classes=None, n_features=None):
        super().__init__(estimator, classes, n_features)
        self._sessions = {}  # by engines, and whether rows are served
        self._labels = self._target = None
        self._centers = self._is_compiled_ahead = False

    def _learn_locked(self, x, y, sample_weight, method, served=None):
        estimator, x = self.estimator, self._read(x)
        session = self._session_with(x, sample_weight, y, serves=served is not None)
        if session is not None:
            if served is not None:
                n_columns = session.model.n_served
                own = served.rows_for(estimator._served_key, n_columns)
                session.served.copy_from(own or ServedRows.unknown(1, n_columns))
            if session.learn(estimator):
                if not self._is_compiled_ahead:
                    self._is_compiled_ahead = True
                    estimator._compile_ahead(chunk_of(x))
                return self._to_output(session.reported, method)
        classes = None if estimator.__sklearn_is_fitted__() else self._classes
        if sample_weight is not None:
            sample_weight = np.reshape(sample_weight, 1)
        check_has_values(y=y)
        rows = chunk_of(x), np.asarray([y]), sample_weight
        with without_names(estimator):
            return first_of(estimator._partial_fit(*rows, classes, method, served))

    def _serve_locked(self, x, method):
        """Predict a row whose label comes later, as :meth:`OnlineEstimator._serve`."""
        estimator, x = self.estimator, self._read(x)
        check_is_fitted(estimator)
        session = self._session_with(x, 0.0, serves=True)
        if session is not None:
            session.served.is_known[:] = False
            if session.make_calls():
                values = session.served.values.copy()
                answer = self._to_output(session.reported, method)
                return answer, estimator._as_served(values)
        with without_names(estimator):
            answer, served = estimator._serve(chunk_of(x), method)
        return answer[0], served

    def _predict_locked(self, x, method):
        estimator, x = self.estimator, self._read(x)
        session = self._session_with(x, 0.0)
        if session is not None and session.make_calls():
            return self._to_output(session.reported, method)
        check_is_fitted(estimator)
        with without_names(estimator):
            return estimator._to_output(estimator._decision(chunk_of(x)), method)[0]

    def _to_output(self, reported, method):
        if method is None:
            return None
        if method == "predict" and self._labels is not None and reported.size == 1:
            return self._labels[int(reported.item(0) > 0.0)]  # as `_to_output` does
        # The next row overwrites the reported predictions.
        return self.estimator._to_output(reported.copy(), method)[0]

    def _session_with(self, x, weight, y=NO_TARGET, serves=False):
        """Return a session in which the row is written, or None."""
        if type(x) is OpaqueRow or self.estimator._learned_with:
            return None
        n_entries = len(x.indices) if type(x) is SparseRow else None
        estimator, kind = self.estimator, (current_engine(), serves)
        session, model = self._sessions.get(kind), getattr(estimator, "_model", None)
        if (
            session is None
            or model is not session.model
            or getattr(estimator, "classes_", None) is not self._labels
            or not session.accepts(n_entries)
            or not session.is_current
        ):
            session = self._begin_session(model, n_entries, *kind)
            self._sessions[kind] = session
        if session is None or not self._write_row(session, x, weight, y):
            return None
        return session if session.accepts_rows() else None

    def _begin_session(self, model, n_entries, engine, serves):
        estimator = self.estimator
        self._target = None
        if model is not None:
            self._target = estimator._row_target_converter()
        if self._target is None:
            return None
        self._labels = getattr(estimator, "classes_", None)
        self._centers = getattr(estimator, "center", None) is True
        has_codes = self._labels is not None and not estimator._output_shape
        n_classes = len(self._labels) if has_codes else None
        sizes = estimator.n_features_in_, n_classes
        return prepare_session(
            model, engine, *sizes, n_entries=n_entries, serves=serves
        )

    def _write_row(self, session, x, weight, y=NO_TARGET):
        """Write a row where it is learned; return False if it needs full validation."""
        row = session.rows
        if weight is None:
            weight = 1.0
        else:
            if isinstance(weight, np.floating):  # single precision has other limits
                weight = float(weight)
            if not (isinstance(weight, Real) and is_in_range(weight)):
                return False
        if y is not NO_TARGET:
            target = self._target(y)
            if target is None:
                return False
            row.set_target(target)
        n_features = row.X.shape[1]
        if type(x) is SparseRow:
            # center=True refuses sparse rows.
            if self._centers or x.n_features != n_features:
                return False
            if row.dense_view is not None and x.dense_view is None:
                return False
            row.set_values(x.values, x.indices, x.dense_view)
        else:
            if x.shape != (n_features,) or x.dtype.kind not in "fiub":
                return False
            row.set_values(x)
        row.set_weights(float(weight))
        return True

    def _read(self, x):
        """Convert a row to an array, unless a pipeline has converted it."""
        if type(x) in (SparseRow, OpaqueRow):
            return x
        if type(x) is not np.ndarray:
            x = super()._read(x)
            if type(x) in (SparseRow, OpaqueRow):
                return x
            check_has_values(X=x)
            x = np.asarray(x)
        if x.ndim != 1:
            raise ValueError(
                f"x must be one row, of shape (n_features,), got shape {x.shape}."
            )
        return x


def read_row(model, x):
    """Return a row with names as a model takes it: values by the names of its features.

    Other rows stay as they are. Without names, the numbers of features are names.
    """
    if type(x) in (np.ndarray, list, tuple, SparseRow, OpaqueRow):
        return x
    is_dict = isinstance(x, Mapping)
    if not is_dict and hasattr(x, "columns") and len(x) == 1:
        return OpaqueRow(x)  # a frame, whose names scikit-learn checks
    given, reader = x if is_dict else _values_by_name(x), reader_of(model)
    kind, n = (getattr(reader, each, None) for each in ("_reads", "n_features_in_"))
    if given is None:
        return x
    if kind == "tables" or (kind is None and is_dict and n is None):
        return given
    names = getattr(reader, "feature_names_in_", None)
    keys = range(len(given) if n is None else n) if names is None else names
    try:
        values = [*map(given.__getitem__, keys)]
    except KeyError:
        values = []
    is_new = False
    if not len(values) == len(keys) == len(given):
        if names is not None:
            missing, known = [key for key in names if key not in given], {*names}
            raise names_error([key for key in given if key not in known], missing)
        is_new = n is None and kind and all(isinstance(key, str) for key in given)
        if is_dict and not is_new:
            raise dicts_error(type(reader).__name__)
        if n is not None:
            name = type(reader).__name__
            message = (
                f"X has feature names, but {name} was fitted without feature names"
            )
            warnings.warn(message, stacklevel=2)
        values = [*given.values()]
    row = np.asarray(values)
    is_plain = not is_dict or row.dtype.kind in "fiub"
    if not is_plain and any(isinstance(value, str) for value in values):
        raise dicts_error(type(reader).__name__)
    if kind is None and names is not None and find_spec("pandas"):
        return OpaqueRow(import_module("pandas").DataFrame([values], columns=names))
    return OpaqueRow(NamedChunk.of_row(given)) if is_new else row


def _values_by_name(x):
    """Return the values of a named tuple or a Series by name; None for other rows."""
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return x._asdict()
    if not hasattr(x, "iloc") or not any(isinstance(name, str) for name in x.index):
        return None
    if not x.index.is_unique:
        raise ValueError("Names of features must not be repeated.")
    return x.to_dict()


def reader_of(model):
    """Return what reads the rows of a model: itself, or its estimator or first step."""
    while True:
        if hasattr(model, "steps"):
            steps = (step for _, step in model.steps)
            model = next(each for each in steps if each not in (None, "passthrough"))
        elif hasattr(model, "_given"):
            model = vars(model).get("estimator_", model._given())
        else:
            return model


def sparse_row(x, n_features):
    """Convert a tuple of indices and values to a :class:`SparseRow`."""
    if n_features is None:
        raise ValueError(
            "n_features must be passed to row_by_row where the first row is sparse."
        )
    if not _are_indices(*x, n_features):
        raise ValueError(
            "A sparse row must have indices in ascending order, from 0 to "
            f"{n_features - 1}, and as many values."
        )
    return SparseRow(*x, n_features)


def row_of(X):
    """Convert a matrix of one row to a row for :class:`EstimatorRows`."""
    if type(X) is np.ndarray and X.ndim == 2 and len(X) == 1:
        return X[0]
    if sparse.issparse(X) and X.format == "csr" and X.shape[0] == 1:
        is_whole = X.indptr[1] == len(X.indices)
        if is_whole and _are_indices(X.indices, X.data, X.shape[1]):
            return SparseRow(X.indices, X.data, X.shape[1], dense_view_of(X))
    return OpaqueRow(X)


def chunk_of(x):
    """Convert a row of any kind to a chunk of one."""
    if type(x) in (SparseRow, OpaqueRow):
        return x.matrix
    return x[np.newaxis] if isinstance(x, np.ndarray) else [x]


def first_of(answer):
    """Return the answer for the only row of a chunk, or several."""
    if isinstance(answer, list):
        return [*map(first_of, answer)]
    return None if answer is None else answer[0]


def is_sparse(x):
    """Whether a row is a tuple of two arrays."""
    if type(x) is not tuple or len(x) != 2:
        return False
    return all(isinstance(part, np.ndarray) for part in x)


def _are_indices(indices, values, n_features):
    """Whether indices and values make a canonical sparse row."""
    if indices.ndim != 1 or indices.shape != values.shape:
        return False
    if indices.dtype.kind not in "iu" or values.dtype.kind not in "fiub":
        return False
    if indices.size == 0:
        return True
    is_within = indices[0] >= 0 and indices[-1] < n_features
    return bool(is_within and (indices[1:] > indices[:-1]).all())
