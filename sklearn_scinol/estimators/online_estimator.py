"""Base of all estimators: validation, learning, prediction, fitted attributes."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections import ChainMap
from copy import deepcopy
from inspect import signature
from numbers import Integral, Real
from secrets import token_hex
from typing import Any, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from .._docstrings import LinkedToPages
from .._locks import SharedByThreads, learns, locks_of, reads
from .._parameters import FixedParameters
from .._rollback import rollback_on_error, rollbacks_around
from .._shards import Origins
from .._state import Part, checkpoint, make_writable
from .._typing import Labels, MatrixLike, SampleWeight, _fit_context
from .._validation import check_finite, without_names
from .._version import __version__
from ..config import current_engine
from ..models.model import Chunk
from ..models.served import ServedRows
from ..models.session import is_small, predict_few, session_of
from ..models.weights import check_not_all_zero
from ..transforms.ranges import OutOfRange
from .callbacks import CallbackSupportMixin, with_callbacks
from .invariants import InvariantsMixin
from .merging import MergingMixin
from .row_by_row import EstimatorRows, RowByRow
from .served import Served, ServedKey
from .validation import ValidationMixin
from .waiting import LearnsLate, Waiting, join_key, join_rows

# Minimum number of rows to hold out with early_stopping="auto".
MIN_HELD_OUT = 10

# Length of `loss_curve_` after `partial_fit`: it has the latest calls.
MAX_CURVE = 1000

OVERFLOW = (
    "Floating-point under-/overflow occurred. Scaling the features, or a smaller "
    "learning rate, might help."
)


class OnlineEstimator(
    LearnsLate,
    ValidationMixin,
    MergingMixin,
    InvariantsMixin,
    SharedByThreads,
    CallbackSupportMixin,
    LinkedToPages,
    FixedParameters,
    Part,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Base of classifiers and regressors that learn from a stream.

    Parameters
    ----------
    max_iter : int, default=1000
        Maximum number of epochs of :meth:`fit`. :meth:`partial_fit` is always one.
    tol : float, default=1e-3
        Least improvement, relative to the first epoch's loss; None runs all epochs.
    n_iter_no_change : int, default=5
        Number of epochs without improvement before :meth:`fit` stops.
    shuffle : bool, default=True
        Whether :meth:`fit` shuffles the rows before each epoch.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling and of the choice of held-out rows.
    warm_start : bool, default=False
        Whether :meth:`fit` goes on from where the last call ended.
    verbose : int, default=0
        If positive, print the mean loss of each epoch.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names, if X has them.
    n_iter_ : int
        Number of epochs of the last :meth:`fit`, including epochs after the best one.
    loss_curve_ : list of float
        Mean loss of each epoch, or of each of the latest 1,000 calls of `partial_fit`.
    n_samples_seen_
    t_
    cumulative_loss_
    """

    #: Constraints of the parameters that a class describes itself.
    _own_constraints: dict = {
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

    _changeable = frozenset({*_own_constraints, "new_classes", "n_jobs"})

    _changed = ("_model",)

    # In a pipeline it adds its own rollbacks, see `learn_as_last_step`.
    _adds_rollbacks = True

    # Attributes of a fitted estimator that are not public; callbacks need them.
    _private_state = ("_model", "_class_weight", "_class_counts", "_output_shape")

    _parameter_constraints: dict

    def __init_subclass__(cls, **keywords):
        """Collect constraints of the parameters of the signature from all bases."""
        super().__init_subclass__(**keywords)
        known: ChainMap = ChainMap()
        for each in map(vars, cls.__mro__):
            of_all = each.get("_parameter_constraints", {})
            known.maps.append(each.get("_own_constraints", of_all))
        names = signature(cls).parameters
        cls._parameter_constraints = {n: known[n] for n in names if n in known}

    # To be defined by subclasses.

    _model: Any
    _model_types: Any  # that `_model` may have
    _new_model: Any  # returns a model for rows like the first ones, and a loss

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
    def _to_output(self, decision, method):
        """Convert predictions of shape (n, n_outputs) to the output of `method`."""

    # Learning.

    def _start(self, X, n_epochs=1):
        """Create `_model` before it learns the first rows, up to `n_epochs` times."""
        self._model = self._new_model(X, self._make_loss())

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
            Rows, in any units.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels, or targets. In classification several columns, perhaps of a sparse
            matrix, have 1 for each label of a row, and else 0.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows' losses. None stands for ones; a row of
            weight 0 changes nothing.

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
            self._settle_parameters(begins=not continues)
            chunk = self._validate(
                X, y, sample_weight, reset=not continues, row_by_row=False
            )
            if chunk.sample_weight is not None:
                check_not_all_zero(chunk.sample_weight)
            if continues:
                rollbacks.append(checkpoint(self._model, chunk.X))
            else:
                self._start(chunk.X, self._max_epochs)
                if self._max_epochs > 1:
                    self._model.look_ahead(chunk)
                self._origins = Origins([token_hex(8)])
            self._compile_ahead(chunk.X)
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
        context = self._init_callback_context(max_subtasks=self._max_epochs)
        details = {"estimator": self, **data}
        self._run_callback(context.call_on_fit_task_begin, details)
        self.loss_curve_ = []
        vars(self).pop("validation_loss_curve_", None)
        if held_out is not None:
            validation = chunk.part(held_out)
            self.validation_loss_curve_ = []
        best_loss = np.inf
        restore_best = None
        n_no_change = 0
        converged = stopped = False
        while not (converged or stopped) and len(self.loss_curve_) < self._max_epochs:
            epoch = context.subcontext(task_name="epoch")
            self._run_callback(epoch.call_on_fit_task_begin, details)
            order = training
            if self.shuffle:
                rows = len(chunk) if training is None else training
                order = random_state.permutation(rows)
            is_first = not self.loss_curve_
            if is_first and self._max_epochs > 1:
                learned = self._learn_first(chunk, order, random_state)
            else:
                learned = self._learn(chunk, order, not is_first, is_first)
            for _ in learned:
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
                improves = loss < best_loss - self.tol * curve[0]
                n_no_change = 0 if improves else n_no_change + 1
                converged = n_no_change == self.n_iter_no_change
                if loss < best_loss:
                    best_loss = loss
                    restore_best = checkpoint(self._model, chunk.X)
            end_details = {
                **details,
                "reconstruction_attributes": self._fitted_attributes,
            }
            stopped = self._run_callback(epoch.call_on_fit_task_end, end_details)
        if restore_best is not None:
            restore_best()
        if held_out is not None:
            curve = self.loss_curve_
            for _ in self._learn(chunk, held_out, True, True):
                pass
            self._model.look_back(chunk)
            self.loss_curve_ = curve
        self._run_callback(context.call_on_fit_task_end, end_details)
        return converged or stopped

    def _run_callback(self, callback, details):
        """Call a callback; it may predict in other threads."""
        with locks_of(self).open_to_readers():
            return callback(**details)

    def _hold_out(self, chunk, random_state):
        """Split into indices of training and held-out rows; None, None if no split."""
        is_auto = self.early_stopping == "auto"
        has_a_choice = self.tol is not None and self._max_epochs > 1
        if not self.early_stopping or (is_auto and not has_a_choice):
            return None, None
        c, fraction = chunk.sample_weight, self.validation_fraction
        rows = np.arange(len(chunk)) if c is None else np.flatnonzero(c > 0.0)
        if is_auto and fraction * len(rows) < MIN_HELD_OUT:
            return None, None
        kind = StratifiedShuffleSplit if chunk.y.ndim == 1 else ShuffleSplit
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
    def _partial_fit(
        self, X, y, sample_weight, classes=None, method=None, served=None, serves=False
    ):
        """Learn rows in order; return predictions before each if `method` is given.

        With `served`, see :meth:`_serve`, rows that were served are charged for that,
        and it is what is returned. With `serves`, also return :class:`Served` of all
        rows.
        """
        with rollback_on_error(self) as rollbacks:
            is_first = not self.__sklearn_is_fitted__()
            chunk = self._prepare(X, y, sample_weight, classes)
            if served is not None:
                check_consistent_length(chunk.X, served)
                chunk.served = served
            self._compile_ahead(chunk.X)
            if not is_first:
                own = self._served_rows(chunk, serves)
                session = self._session(chunk.X, own is not None)
                if session is not None and self._learn_by(session, chunk, own):
                    answer = method and self._to_output(session.reported.copy(), method)
                    return (answer, self._as_served(own.values)) if serves else answer
                rollbacks.append(self._checkpoint(chunk))
            loss_before = self._model.cumulative_loss
            answer = self._learn_in_order(chunk, method, serves)
            self._record_call(loss_before, chunk.total_weight(slice(None)))
            if self._model.t and not vars(self).get("_origins"):
                self._origins = Origins([token_hex(8)])
            return answer

    #: Whether a session may learn chunks.
    _has_sessions = True

    def _session(self, X, serves):
        """Return a session for chunks like this one, or None; see models/session.py."""
        if not (self._has_sessions and is_small(X)):
            return None
        sizes = X.shape[1], self._n_codes, len(X)
        return session_of(self._model, current_engine(), *sizes, serves=serves)

    def _learn_by(self, session, chunk, served):
        """Learn a chunk by a session, if that is possible; return whether it was."""
        if not (session.rows.set_chunk(chunk) and session.accepts_rows()):
            return False
        if served is not None:
            session.served.copy_from(served)
        is_learned = session.learn(self)
        if is_learned and served is not None:
            served.copy_from(session.served)
        return is_learned

    #: Number of classes whose indices are targets.
    _n_codes: int | None = None

    def _compile_ahead(self, X):
        """Compile what later rows will need, if the first rows do not show it."""

    def _checkpoint(self, chunk):
        """Return a function that restores the model, perhaps at a row boundary.

        In a pipeline, whose other steps have learned all rows, it restores all rows.
        """
        if rollbacks_around(self) is not None:
            return checkpoint(self._model, chunk.X)
        return self._model.checkpoint_row_boundary(chunk)

    def _prepare(self, X, y, sample_weight, classes=None):
        """Validate rows; create the model before the first ones."""
        is_first = not self.__sklearn_is_fitted__()
        self._settle_parameters(begins=is_first)
        self._check_first_call(is_first, classes, y)
        chunk = self._validate(X, y, sample_weight, reset=is_first, classes=classes)
        if is_first:
            self._start(chunk.X)
            self.loss_curve_ = []
        return chunk

    # Methods that mixtures call of their experts.

    @learns
    def _learn_chunk(self, chunk, method):
        """Learn rows that were validated; return predictions of `method` before each.

        Losses are not recorded in `loss_curve_`.
        """
        return self._learn_in_order(self._with_class_weights(chunk), method)

    def _with_class_weights(self, chunk):
        """Return the chunk, with rows weighted by class if so configured."""
        return chunk

    def _serve_chunk(self, chunk, method):
        """Return predictions of `method` for rows of weight 0; see Model.serve."""
        return self._to_output(self._configured_model().serve(chunk), method)

    def _predict_validated(self, X, method):
        """Return the predictions of `method` for rows that were validated."""
        return self._to_output(self._configured_model().decision(X), method)

    def _learn_in_order(self, chunk, method, serves=False):
        """Learn; return predictions before each row if `method` is given.

        With `serves`, also return :class:`Served` of the rows.
        """
        self.n_iter_ = 1
        answers, served = [], []
        for part in self._parts(chunk):
            if serves or isinstance(part.served, Served):
                part = part.with_served(self._served_rows(part, serves))
            decision = np.empty((len(part), self._model.n_outputs))
            for rows, predictions in self._learn_rows(part):
                if method is not None:
                    decision[rows] = predictions
            answers.append(method and self._to_output(decision, method))
            if serves:
                served.append(self._as_served(part.served.values))
        answer = method and self._join_answers(answers, chunk, method)
        return (answer, Served.concatenate(served)) if serves else answer

    def _parts(self, chunk):
        """Yield parts of a chunk, each of which is learned with the same classes."""
        yield chunk

    def _join_answers(self, answers, chunk, method):
        """Join the predictions of the parts of a chunk."""
        (answer,) = answers
        return answer

    def _learn(self, chunk, order=None, is_repeated=False, are_new=True):
        """Learn once from each row, and append the mean loss to `loss_curve_`."""
        loss_before = self._model.cumulative_loss
        yield from self._learn_rows(chunk, order, is_repeated, are_new)
        rows = slice(None) if order is None else order
        self._record_call(loss_before, chunk.total_weight(rows))

    def _learn_first(self, chunk, order, random_state):
        """Learn from new rows, as :meth:`_learn`, in the first of several epochs."""
        return self._learn(chunk, order)

    def _configured_model(self):
        """Return the model, told the parameters that change none of its numbers."""
        return self._model

    def _learn_rows(self, chunk, order=None, is_repeated=False, are_new=True):
        """Learn once from each row; do not record losses in `loss_curve_`."""
        model, locks = self._configured_model(), locks_of(self)
        if not are_new:
            model.look_back(chunk, order)
        learned = model.learn(chunk, order, is_repeated, are_new)
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
            check_finite(values, type(self).__name__)
            raise
        if not model.is_finite(chunk):
            raise ValueError(OVERFLOW)

    def _record_call(self, loss_before, weight):
        """Append the mean loss of the rows of a call to `loss_curve_`."""
        if weight > 0:
            loss = (self._model.cumulative_loss - loss_before) / float(weight)
            self.loss_curve_ = [*self.loss_curve_, loss][-self._max_curve :]

    @property
    def _max_epochs(self):
        """Maximum number of times that `fit` learns each row."""
        return self.max_iter

    @property
    def _max_curve(self):
        """Maximum number of entries of `loss_curve_`."""
        return max(MAX_CURVE, self._max_epochs)

    # Rows whose labels come later.

    @reads
    def _serve(self, X, method="predict"):
        """Predict rows whose labels come later, by one method or several.

        Predictions are, to the last bit, those before each row if it were learned now
        with the smallest weight so far. Also returns :class:`Served`, for
        :meth:`_partial_fit` when the labels come.
        """
        X = self._validate_rows(X)
        model, n = self._configured_model(), X.shape[0]
        own = ServedRows.unknown(n, model.n_served, is_learned=False)
        decision = predict_few(model, X, self._n_codes, own)
        if decision is None:
            y = np.zeros(n, np.intp)
            if self._n_codes is None:
                y = np.zeros((n, self._n_outputs()))
            # One thread at a time: engines write to the state what it has.
            with locks_of(model).state:
                make_writable(model)
                decision = model.serve(Chunk(X, y, np.zeros(n), served=own))
        self._check_decision(decision)
        if isinstance(method, list):
            answers = [self._to_output(decision, each) for each in method]
        else:
            answers = self._to_output(decision, method)
        return answers, self._as_served(own.values)

    @property
    def _served_key(self):
        """Key of what this estimator serves."""
        return ServedKey.of(self, f"{self.n_features_in_} {self._model.served_key}")

    def _as_served(self, values):
        return Served.by_one(self._served_key, values)

    def _served_rows(self, chunk, serves):
        """Return what rows were served, for the model as it is now.

        None if no row was; or room for the predictions of all rows, with `serves`.
        """
        n_columns, found = self._model.n_served, None
        if chunk.served is not None:
            found = chunk.served.rows_for(self._served_key, n_columns)
        if found is None and serves:
            return ServedRows.unknown(len(chunk), n_columns)
        return found

    @property
    def _predicts_each_row(self):
        """Whether it ignores rows of weight 0, and predicts each row after all before.

        Not so do mixtures of estimators from elsewhere, which learn several at once.
        """
        parts = [self, *self.get_params().values()]
        learning = [each for each in parts if hasattr(each, "partial_fit")]
        return all(isinstance(each, OnlineEstimator) for each in learning)

    def _come(self, X, methods):
        if not (sparse.issparse(X) or isinstance(X, np.ndarray)):
            X = self._validate_rows(X)
        with without_names(self):
            return super()._come(X, methods)

    def _learn_waiting(self, waiting, y, sample_weight=None):
        with without_names(self):
            super()._learn_waiting(waiting, y, sample_weight)

    def _follow(self, X, methods, waiting, y, sample_weight, is_label):
        # In one call: rows of weight 0 are only predicted.
        late, rows = waiting.X, (waiting, y, sample_weight, is_label)
        if not (sparse.issparse(X) or isinstance(X, np.ndarray)):
            X = self._validate_rows(X)
        has_one = len(methods) == 1 and self._predicts_each_row
        if not has_one or join_key(X) != join_key(late):
            return super()._follow(X, methods, *rows)
        n = X.shape[0]
        order = np.empty(len(is_label), np.intp)
        order[~is_label], order[is_label] = np.arange(n), np.arange(n, len(is_label))
        # Their targets are valid, and not looked at.
        targets = np.full((n, *y.shape[1:]), self._any_target())
        c = np.ones(len(y)) if sample_weight is None else sample_weight
        with without_names(self):
            prediction, served = self._partial_fit(
                join_rows([X, late])[order],
                np.concatenate([targets, y])[order],
                np.concatenate([np.zeros(n), c])[order],
                method=methods[0],
                served=Served.concatenate([Served.unknown(n), waiting.served])[order],
                serves=True,
            )
        return [prediction[~is_label]], Waiting(X, (), served[~is_label])

    def _any_target(self):
        """Return a target that is valid for rows that are only predicted."""
        classes = getattr(self, "classes_", None)
        return 0.0 if classes is None or self._output_shape else classes[0]

    # One row at a time.

    def row_by_row(
        self, *, classes: Labels | None = None, n_features: int | None = None
    ) -> RowByRow:
        """Return an object to learn and predict one row at a time.

        Parameters
        ----------
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream, where a classifier has learned nothing yet, or
            the numbers of the labels if rows have several; not in regression.
        n_features : int, default=None
            Number of features, where nothing was learned yet and the first row is
            sparse.

        Returns
        -------
        rows : RowByRow
            With methods `learn_one`, `predict_one`, `predict_learn_one`,
            `predict_proba_one` and `decision_function_one`, at little cost a call.
            This estimator learns as by `partial_fit` with each row, to the last bit.
            `with_late_labels` keeps rows whose labels come later.
        """
        self._validate_params()
        begins, where = not self.__sklearn_is_fitted__(), "to row_by_row"
        self._check_first_call(begins, classes, where=where)
        return EstimatorRows(self, classes, n_features)

    @abstractmethod
    def _row_target_converter(self):
        """Return a function that converts a label or target to the model's.

        It returns None for those that need validation; where all do, it is None itself.
        """

    def _decision(self, X):
        return self._decision_of_validated(self._validate_rows(X))

    def _decision_of_validated(self, X, *details):
        decision = self._configured_model().decision(X, *details)
        self._check_decision(decision)
        return decision

    def _check_decision(self, decision):
        if not np.isfinite(decision).all():
            raise ValueError(
                "Input X contains values so far beyond those learned that predictions "
                "are infinite or a value too large for dtype('float64')."
            )

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
        """Weighted sum of the losses of the predictions made before each update.

        With several targets or quantiles, it is the sum over them.
        """
        return self._fitted_model().cumulative_loss

    def _fitted_model(self):
        check_is_fitted(self)
        return self._model
