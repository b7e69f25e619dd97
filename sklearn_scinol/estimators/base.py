"""Base of all estimators: validation, learning, prediction, fitted attributes."""

import inspect
from abc import ABCMeta, abstractmethod
from contextlib import suppress
from copy import copy, deepcopy
from functools import cache
from itertools import chain
from numbers import Integral, Real
from typing import Any, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, InvalidParameterError
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from .._hyperparameters import with_numbers
from .._invariants import check, check_parts, finite, is_count
from .._locks import SharedByThreads, learns, locks_of
from .._rollback import rollback_on_error, rollbacks_around
from .._shards import LATER_START, Shards
from .._typing import Labels, MatrixLike, SampleWeight, _fit_context
from .._validation import (
    advised,
    refuse_masks,
    refuse_not_finite,
    refuse_wrong_indices,
)
from .._version import __version__
from ..losses import CLASSIFICATION, REGRESSION
from ..losses.interface import check_is_loss
from ..models.base import Chunk, in_common_columns
from ..transforms.ranges import OutOfRange
from .callbacks import CallbackSupportMixin, with_callbacks
from .rows import EstimatorRows, RowByRow

__all__ = [
    "DEFAULT_MAX_ITER",
    "DEFAULT_TOL",
    "MAX_PARAMETER",
    "POSITIVE",
    "UNITS",
    "OnlineEstimator",
    "are_finite",
]

# Range of parameters: squares of their products with each other and with values of
# features do not overflow.
MIN_PARAMETER, MAX_PARAMETER = 1e-20, 1e20
UNITS: Interval = Interval(Real, MIN_PARAMETER, MAX_PARAMETER, closed="both")
POSITIVE: Interval = Interval(Real, 0, MAX_PARAMETER, closed="right")

# Share of its weight that a row may lose with each later one.
FORGETTING: Interval = Interval(Real, 0, 1, closed="left")

# Measured by examples/benchmarks/epochs.py on 27 real data sets, with five epochs of
# patience. With this tolerance `fit` stopped after 24 epochs (median; the most was
# 100), and the loss of new rows was 3 % above the lowest of all epochs (median). A
# tenfold one stopped after 8 epochs at 2 %, but at 3.7 times the lowest on wine and 16
# times on mushrooms, which are separable; a tenth of it after 58 at 2 % and, on noise,
# deep in overfitting.
DEFAULT_TOL = 1e-3
# As in SGDClassifier: large enough for the tolerance to decide.
DEFAULT_MAX_ITER = 1000

# With early_stopping="auto", fewer rows than these are not held out.
MIN_HELD_OUT = 10

# Length of `loss_curve_` after `partial_fit`: it has the latest calls.
MAX_CURVE = 1000

OVERFLOW = (
    "Floating-point under-/overflow occurred. Scaling the features, or a smaller "
    "learning rate, might help."
)

# scikit-learn 1.9 refuses weights that are all zero unless told otherwise.
_ALLOW_ZERO_WEIGHTS = (
    {"allow_all_zero_weights": True}
    if "allow_all_zero_weights" in inspect.signature(_check_sample_weight).parameters
    else {}
)


class OnlineEstimator(
    SharedByThreads, CallbackSupportMixin, BaseEstimator, metaclass=ABCMeta
):
    """Base of classifiers and regressors that learn from a stream."""

    _parameter_constraints: dict = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    # Attributes of a fitted estimator that are not public; callbacks need them.
    _private_state = ("_model", "_class_weight", "_class_counts", "_output_shape")

    # To be defined by subclasses.

    _model: Any

    @property
    @abstractmethod
    def _model_types(self) -> tuple[type, ...]:
        """Return the types that `_model` may have."""

    @abstractmethod
    def _start(self, X):
        """Create `_model` before it learns `X`, the first rows."""

    @abstractmethod
    def _make_loss(self):
        """Return the loss, with its parameters, for the targets seen so far."""

    @abstractmethod
    def _validate_target(
        self, y, sample_weight, reset=False, classes=None, row_by_row=True
    ):
        """Validate `y`; return the arguments of :class:`Chunk` after the features.

        These have indices of classes, or targets of shape (n, n_outputs). With
        `row_by_row` the rows continue a stream; without, they are all data of `fit`.
        """

    @abstractmethod
    def _respond(self, decision, method):
        """Convert predictions of shape (n, n_outputs) to the output of `method`."""

    # Learning.

    @learns
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: SampleWeight = None
    ) -> Self:
        """Learn from the rows, epoch after epoch, until the loss stops falling.

        The model is that at the end of the epoch with the lowest loss; with
        ``tol=None``, of the last epoch. Losses are of predictions made before each
        update or, with `early_stopping`, of held-out rows, which are learned once in
        the end.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, in any units.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels, or targets; several outputs in regression only.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows' losses. None stands for ones.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the data or the weights are not usable. The estimator is then as it was.
        """
        # Callbacks score models on data as the user passed it: with labels and names.
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        with rollback_on_error(self) as rollbacks:
            continues = self.warm_start and self.__sklearn_is_fitted__()
            chunk = self._validate(
                X, y, sample_weight, reset=not continues, row_by_row=False
            )
            if chunk.sample_weight is not None and not chunk.sample_weight.any():
                raise ValueError(
                    "Sample weights must contain at least one non-zero number."
                )
            if continues:
                rollbacks.append(self._model.checkpoint(chunk.X))
            else:
                self._start(chunk.X)
            converged = self._run_epochs(chunk, data)
        if self.tol is not None and not converged:
            warn(
                "Maximum number of iteration reached before convergence. Consider "
                "increasing max_iter to improve the fit.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    @with_callbacks
    def _run_epochs(self, chunk, data):
        """Learn epoch after epoch; return whether it stopped before `max_iter`."""
        random_state = check_random_state(self.random_state)
        training, held_out = self._hold_out(chunk, random_state)
        context = self._init_callback_context(max_subtasks=self.max_iter)
        details = {"estimator": self, **data}
        self._call_back(context.call_on_fit_task_begin, details)
        self.loss_curve_ = []
        vars(self).pop("validation_loss_curve_", None)
        if held_out is not None:
            validation = chunk.part(held_out)
            self.validation_loss_curve_ = []
        best_loss = np.inf
        restore_best = None
        n_no_change = 0
        converged = stopped = False
        while not (converged or stopped) and len(self.loss_curve_) < self.max_iter:
            epoch = context.subcontext(task_name="epoch")
            self._call_back(epoch.call_on_fit_task_begin, details)
            order = training
            if self.shuffle:
                rows = len(chunk) if training is None else training
                order = random_state.permutation(rows)
            again = bool(self.loss_curve_)
            for _ in self._learn(chunk, order, again, not again):
                pass
            self.n_iter_ = len(self.loss_curve_)
            curve, report = self.loss_curve_, f"mean loss {self.loss_curve_[-1]:.6g}"
            if held_out is not None:
                curve = self.validation_loss_curve_
                curve.append(self._model.mean_loss(validation))
                report += f", held-out loss {curve[-1]:.6g}"
            if self.verbose:
                print(f"Epoch {self.n_iter_}: {report}")
            loss = curve[-1]
            if self.tol is not None:
                improves = loss <= best_loss - self.tol * curve[0]
                n_no_change = 0 if improves else n_no_change + 1
                converged = n_no_change == self.n_iter_no_change
                if loss < best_loss:
                    best_loss = loss
                    restore_best = self._model.checkpoint(chunk.X)
            end_details = {
                **details,
                "reconstruction_attributes": self._fitted_attributes,
            }
            stopped = self._call_back(epoch.call_on_fit_task_end, end_details)
        if restore_best is not None:
            restore_best()
        if held_out is not None:
            curve = self.loss_curve_
            for _ in self._learn(chunk, held_out, True, True):
                pass
            self.loss_curve_ = curve
        self._call_back(context.call_on_fit_task_end, end_details)
        return converged or stopped

    def _call_back(self, callback, details):
        """Call a callback; it may predict in other threads."""
        with locks_of(self).open_to_readers():
            return callback(**details)

    def _hold_out(self, chunk, random_state):
        """Split into indices of training and held-out rows; None, None if no split."""
        is_auto = self.early_stopping == "auto"
        has_a_choice = self.tol is not None and self.max_iter > 1
        if not self.early_stopping or (is_auto and not has_a_choice):
            return None, None
        c, fraction = chunk.sample_weight, self.validation_fraction
        rows = np.arange(len(chunk)) if c is None else np.flatnonzero(c > 0.0)
        if is_auto and fraction * len(rows) < MIN_HELD_OUT:
            return None, None
        kind = StratifiedShuffleSplit if is_classifier(self) else ShuffleSplit
        splitter = kind(test_size=fraction, random_state=random_state)
        try:
            _, places = next(splitter.split(rows, chunk.y[rows]))
        except ValueError as error:
            if is_auto:
                return None, None
            raise ValueError(
                f"Cannot hold out validation_fraction={fraction:g} of {len(rows)} "
                f"samples for early stopping: {str(error).rstrip('.')}."
            ) from error
        held_out = rows[places] if self.shuffle else np.sort(rows[places])
        return np.setdiff1d(np.arange(len(chunk)), held_out), held_out

    def _fitted_attributes(self):
        """Copy the attributes that make a fitted estimator, for callbacks."""
        return {
            name: deepcopy(value)
            for name, value in vars(self).items()
            if name in self._private_state or name.endswith("_")
        }

    @learns
    def _partial_fit(self, X, y, sample_weight, classes=None, method=None):
        """Learn rows in order; return predictions before each if `method` is given."""
        with rollback_on_error(self) as rollbacks:
            is_first = not self.__sklearn_is_fitted__()
            chunk = self._prepare(X, y, sample_weight, classes)
            if not is_first:
                rollbacks.append(self._checkpoint(chunk))
            loss_before = self._model.cumulative_loss
            answer = self._learn_in_order(chunk, method)
            self._record_call(loss_before, chunk.total_weight(slice(None)))
            return answer

    def _checkpoint(self, chunk):
        """Return a function that restores the model, perhaps at a row boundary.

        In a pipeline, whose other steps have learned all rows, it restores all rows.
        """
        if rollbacks_around(self) is not None:
            return self._model.checkpoint(chunk.X)
        return self._model.checkpoint_row_boundary(chunk)

    def _prepare(self, X, y, sample_weight, classes=None):
        """Validate rows; create the model before the first ones."""
        is_first = not self.__sklearn_is_fitted__()
        self._check_first_call(is_first, classes)
        chunk = self._validate(X, y, sample_weight, reset=is_first, classes=classes)
        if is_first:
            self._start(chunk.X)
            self.loss_curve_ = []
        return chunk

    # What a mixture asks of an expert, see `mixtures.expert.NativeEstimator`.

    @learns
    def _learn_chunk(self, chunk, method):
        """Learn rows that were validated, as a part of a call.

        Returns
        -------
        answers : ndarray
            Predictions of `method` before each row.
        weights : ndarray of shape (n,)
            Weights of the rows' losses.
        """
        chunk = self._weighed(chunk)
        c = chunk.sample_weight
        weights = np.ones(len(chunk)) if c is None else c
        return self._learn_in_order(chunk, method), weights

    def _weighed(self, chunk):
        """Return the chunk with the weights that this estimator gives its rows."""
        return chunk

    def _predict_validated(self, X, method):
        """Return the predictions of `method` for rows that were validated."""
        return self._respond(self._configured_model().decision(X), method)

    def _learn_in_order(self, chunk, method):
        """Learn; return predictions before each row if `method` is given."""
        self.n_iter_ = 1
        answers = [self._learn_part(part, method) for part in self._parts(chunk)]
        return None if method is None else self._join_answers(answers, chunk, method)

    def _parts(self, chunk):
        """Yield parts of a chunk, each of which is learned with the same classes."""
        yield chunk

    def _learn_part(self, chunk, method):
        decision = None
        if method is not None:
            decision = np.empty((len(chunk), self._model.n_outputs))
        for rows, predictions in self._learn_rows(chunk):
            if method is not None:
                decision[rows] = predictions
        return None if method is None else self._respond(decision, method)

    def _join_answers(self, answers, chunk, method):
        """Join the predictions of the parts of a chunk."""
        (answer,) = answers
        return answer

    def _check_method(self, method):
        if method not in self._METHODS:
            raise ValueError(f"method must be one of {self._METHODS}, got {method!r}.")
        getattr(self, method)

    def _check_first_call(self, first_call, classes):
        """Check the classes passed to `partial_fit`; nothing in regression."""

    def _learn(self, chunk, order=None, again=False, are_new=True):
        """Learn once from each row, and append the mean loss to `loss_curve_`."""
        loss_before = self._model.cumulative_loss
        yield from self._learn_rows(chunk, order, again, are_new)
        rows = slice(None) if order is None else order
        self._record_call(loss_before, chunk.total_weight(rows))

    def _configured_model(self):
        """Return the model, told the parameters that change none of its numbers."""
        return self._model

    def _learn_rows(self, chunk, order=None, again=False, are_new=True):
        """Learn once from each row; do not record losses in `loss_curve_`."""
        model, locks = self._configured_model(), locks_of(self)
        learned = model.learn(chunk, order, again, are_new)
        n_left = len(chunk) if order is None else len(order)
        try:
            for rows, predictions, all_finite in learned:
                if not all_finite:
                    raise ValueError(OVERFLOW)
                yield rows, predictions
                n_left -= len(predictions)
                if n_left and locks.is_wanted and model.is_finite(chunk):
                    locks.give_way()
        except OutOfRange:
            values = chunk.X.data if sparse.issparse(chunk.X) else chunk.X
            refuse_not_finite(values, type(self).__name__)
            raise
        if not model.is_finite(chunk):
            raise ValueError(OVERFLOW)

    def _record_call(self, loss_before, weight):
        """Append the mean loss of rows of this total weight to `loss_curve_`.

        Experts append an entry to their own curves as well.
        """
        self._model.end_call()
        if weight > 0:
            loss = (self._model.cumulative_loss - loss_before) / float(weight)
            curve = [*self.loss_curve_, loss]
            self.loss_curve_ = curve[-max(MAX_CURVE, self.max_iter) :]

    def _record_row(self, loss_before, weight, rollbacks):
        """Append the loss of one row to `loss_curve_` in place, and a rollback."""
        if weight == 0:
            return
        curve, n = self.loss_curve_, len(self.loss_curve_)
        n_dropped = n + 1 - max(MAX_CURVE, self.max_iter)
        dropped = curve[:n_dropped] if n_dropped > 0 else ()
        loss = (self._model.cumulative_loss - loss_before) / weight

        def restore():
            if curve and curve[-1] is loss:
                del curve[-1]
            if len(curve) < n:
                curve[:0] = dropped

        rollbacks.append(restore)
        curve.append(loss)
        if dropped:
            del curve[:n_dropped]

    # One row at a time.

    def row_by_row(
        self, *, classes: Labels | None = None, n_features: int | None = None
    ) -> RowByRow:
        """Return an object to learn and predict one row at a time.

        Parameters
        ----------
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream, where a classifier has learned nothing yet; not
            in regression.
        n_features : int, default=None
            Number of features, where nothing was learned yet and the first row is
            sparse.

        Returns
        -------
        rows : RowByRow
            With methods `learn_one`, `predict_one`, `predict_learn_one`,
            `predict_proba_one` and `decision_function_one`, at little cost a call.
            This estimator learns as by `partial_fit` with each row, to the last bit.
        """
        self._validate_params()
        self._check_first_call(not self.__sklearn_is_fitted__(), classes)
        return EstimatorRows(self, classes, n_features)

    @abstractmethod
    def _target_of_row(self):
        """Return a function that converts a label or target to the model's.

        The function returns None for labels and targets that need full validation. It
        is None itself where labels have weights.
        """

    # Validation.

    def _validate_params(self):
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            loss = getattr(self, "loss", None)
            losses = REGRESSION if is_classifier(self) else CLASSIFICATION
            if "The 'loss' parameter" in str(error) and loss in [*losses]:
                error.args = (f"{error} {self._loss_of_others()}",)
            raise

    def _loss_of_others(self):
        """Say whose loss it is, where it is none of this estimator."""
        kind = "Regressor" if is_classifier(self) else "Classifier"
        other = f"{kind.lower()}s, for instance of Hedge{kind}"
        return f"{self.loss!r} is a loss of {other}."

    def _given_loss(self):
        """Return the loss that was passed itself, instead of a name."""
        check_is_loss(type(self.loss))
        if bool(self.loss.is_classification) != is_classifier(self):
            raise ValueError(self._loss_of_others())
        loss = with_numbers(self.loss)
        if not loss.lipschitz > 0.0:
            raise ValueError(f"lipschitz == {loss.lipschitz} of {loss!r}, must be > 0.")
        return loss

    def _validate(self, X, y, sample_weight, reset, classes=None, row_by_row=True):
        if reset or not (
            self._has_validated_layout(X) and self._has_numeric_targets(X, y)
        ):
            refuse_masks(X=X, y=y)
            refuse_wrong_indices(X)
            with advised(X, type(self).__name__):
                X, y = validate_data(
                    self,
                    X,
                    y,
                    reset=reset,
                    accept_sparse="csr",
                    dtype=[np.float64, np.float32],
                    ensure_all_finite=False,  # see transforms/ranges.py
                    **self._target_checks,
                )
        X = _as_canonical(X)
        if sample_weight is not None:
            refuse_masks(sample_weight=sample_weight)
            sample_weight = _check_sample_weight(
                sample_weight,
                X,
                dtype=np.float64,
                ensure_non_negative=True,
                **_ALLOW_ZERO_WEIGHTS,
            )
        rest = self._validate_target(y, sample_weight, reset, classes, row_by_row)
        return Chunk(X, *rest)

    # scikit-learn's checks take longer than learning a row. Arrays as below pass them
    # unchanged.

    def _has_validated_layout(self, X):
        """Whether X has the validated type and width."""
        is_csr = sparse.issparse(X) and X.format == "csr"
        return (
            (type(X) is np.ndarray or is_csr)
            and X.dtype in (np.float64, np.float32)
            and X.ndim == 2
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
        )

    def _has_numeric_targets(self, X, y):
        """Whether targets are finite numbers, one a row."""
        return (
            type(y) is np.ndarray
            and y.shape == X.shape[:1]
            and (y.dtype.kind in "biu" or (y.dtype.kind == "f" and are_finite(y)))
        )

    def _validate_rows(self, X):
        """Validate rows to predict."""
        check_is_fitted(self)
        if self._has_validated_layout(X) and are_finite(
            X.data if sparse.issparse(X) else X
        ):
            return _as_canonical(X)
        refuse_masks(X=X)
        refuse_wrong_indices(X)
        with advised(X, type(self).__name__):
            X = validate_data(
                self,
                X,
                reset=False,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
            )
        return _as_canonical(X)

    def _decision(self, X):
        return self._decision_of_validated(self._validate_rows(X))

    def _decision_of_validated(self, X):
        decision = self._configured_model().decision(X)
        if not np.isfinite(decision).all():
            raise ValueError(
                "Input X contains values so far beyond those learned that predictions "
                "are infinite or a value too large for dtype('float64')."
            )
        return decision

    # Merging.

    def _with_columns(self, placement):
        """Return a copy, to be merged, whose features are at other columns."""
        estimator = copy(self)
        estimator._model = self._model.with_columns(placement)
        return estimator

    def _merged(self, others, start, placements=None):
        """Return an estimator that has learned the rows of this one and of others.

        All were derived from `start`, whose rows count once; None stands for no rows.
        The placements have the columns of features of each, and of `start`, in the
        merged estimator; None stands for columns that stay.
        """
        members = [self, *others]
        estimators = members if start is None else [*members, start]
        models, back = in_common_columns(
            [each._model for each in estimators],
            placements or [None for _ in estimators],
        )
        start_model = models[0].fresh() if start is None else models.pop()
        n_rows = np.array([model.t - start_model.t for model in models], dtype=float)
        if (n_rows < 0).any():
            raise ValueError(LATER_START)
        if not others:
            return deepcopy(self)
        shares = np.full(len(models), 1.0 / len(models))
        if n_rows.any():
            shares = n_rows / n_rows.sum()
        merged = clone(self)
        for name, value in vars(self).items():
            is_fitted = name in self._private_state or name.endswith("_")
            if is_fitted and name != "_model":
                setattr(merged, name, deepcopy(value))
        with np.errstate(all="ignore"):
            model = type(models[0]).merged(Shards(models, start_model, shares))
            merged._model = model if back is None else model.with_columns(back)
        curves = [member.loss_curve_ for member in members]
        curve = [*chain.from_iterable(curves)]
        merged.loss_curve_ = curve[-max(MAX_CURVE, self.max_iter) :]
        return merged

    # For tests and debugging.

    def _check_state(self):
        """Raise AssertionError if an invariant of the fitted state does not hold."""
        check_parts(self, type(self).__name__)
        check(self._finite_attributes(), type(self).__name__)

    def _finite_attributes(self):
        """Yield that public attributes are finite; some take long to compute."""
        for name in sorted({*vars(self), *_property_names(type(self))}):
            if name.endswith("_") and not name.startswith("_"):
                with suppress(AttributeError):  # another kind of model has that
                    yield from finite(name, getattr(self, name))

    def _invariants(self):
        """Yield what holds between two calls, see :mod:`sklearn_scinol._invariants`."""
        yield from invariants_of_input(self)
        if not self.__sklearn_is_fitted__():
            return
        model = self._model
        yield "the model is one of this estimator", isinstance(model, self._model_types)
        is_of_classes = getattr(type(model.loss), "is_classification", None)
        yield (
            "the loss is one of this estimator",
            is_of_classes is not None and bool(is_of_classes) == is_classifier(self),
        )
        yield "the model has the outputs", model.n_outputs == self._n_outputs()
        if hasattr(model, "n_features"):
            yield "the model has the features", model.n_features == self.n_features_in_
        yield "loss_curve_ is a list", isinstance(self.loss_curve_, list)
        yield "n_iter_ is a number", is_count(getattr(self, "n_iter_", 0))

    # Stored estimators have the version, as scikit-learn's own do.

    def __getstate__(self):
        return super().__getstate__() | {"_sklearn_scinol_version": __version__}

    def __setstate__(self, state):
        version = state.pop("_sklearn_scinol_version", __version__)
        if version != __version__:
            warn(
                InconsistentVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=__version__,
                    original_sklearn_version=version,
                ),
                stacklevel=2,
            )
        super().__setstate__(state)

    # Fitted attributes.

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows of positive weight learned, over all chunks and epochs.

        After :meth:`fit`, epochs after the best one do not count.
        """
        return self._fitted_model().t

    @property
    def t_(self) -> float:
        """Number of rows learned plus 1, as in scikit-learn's `SGDClassifier`."""
        return self._fitted_model().t + 1.0

    @property
    def cumulative_loss_(self) -> float:
        """Weighted sum of the losses of the predictions made before each update."""
        return self._fitted_model().cumulative_loss

    def _fitted_model(self):
        check_is_fitted(self)
        return self._model


def invariants_of_input(estimator):
    """Yield what holds of the parameters of an estimator and of its input features.

    Parameters of an unfitted estimator are validated when rows come.
    """
    names = estimator._get_param_names()
    yield "all parameters are there", all(hasattr(estimator, name) for name in names)
    if not estimator.__sklearn_is_fitted__():
        return
    estimator._validate_params()
    n_features = estimator.n_features_in_
    yield "n_features_in_ is a number of features", is_count(n_features, 1)
    if hasattr(estimator, "feature_names_in_"):
        names = estimator.feature_names_in_
        yield "each feature has a name", names.shape == (n_features,)
        yield "names are text", all(isinstance(name, str) for name in names)


def are_finite(values):
    """Whether all numbers of an array are finite."""
    return bool(np.isfinite(values).all())


@cache
def _property_names(cls):
    """Return the names of the properties of a class."""
    return [name for name in dir(cls) if isinstance(getattr(cls, name), property)]


def _as_canonical(X):
    """Return rows without duplicate indices: `X` itself, or a copy if it has any.

    Raise ValueError if indices of sparse rows are invalid.
    """
    if sparse.issparse(X):
        X.check_format(full_check=True)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X
