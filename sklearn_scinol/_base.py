"""What all estimators share: validation, learning, prediction, fitted attributes."""

import inspect
from abc import ABCMeta, abstractmethod
from contextlib import contextmanager
from copy import deepcopy
from numbers import Integral, Real
from warnings import warn

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import (
    assert_all_finite,
    check_array,
    check_random_state,
    compute_class_weight,
)
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import (
    check_classification_targets,
    type_of_target,
    unique_labels,
)
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from ._callbacks import CallbackSupportMixin, with_callbacks
from ._model import BLOCK_ROWS
from .losses import CLASSIFICATION, JOINT, REGRESSION

__all__ = ["OnlineClassifier", "OnlineRegressor"]

# Measured by examples/benchmarks/epochs.py on 24 real data sets. With this tolerance
# `fit` stopped after 12 epochs (median; the most was 77), where the held-out loss was
# 6 % above the lowest of all epochs (median). A tenfold one stopped after 5 epochs at
# 8 %, a tenth of it after 16 at 6 % and, on small data, deep in overfitting.
DEFAULT_TOL = 1e-3
# As in SGDClassifier: so many that the tolerance decides.
DEFAULT_MAX_ITER = 1000

# Sums of larger values could overflow.
LARGEST_VALUE = 1e300

# scikit-learn 1.9 refuses weights that are all zero unless told otherwise.
_ALLOW_ZERO_WEIGHTS = (
    {"allow_all_zero_weights": True}
    if "allow_all_zero_weights" in inspect.signature(_check_sample_weight).parameters
    else {}
)


@contextmanager
def _unchanged_on_error(estimator):
    """Give the estimator its attributes back if what is done in the block fails.

    Yields those attributes, for what will be changed in place to be copied there.
    """
    before = vars(estimator).copy()
    try:
        yield before
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class _OnlineEstimator(CallbackSupportMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the estimators: streams go in, the model's predictions come out."""

    _parameter_constraints: dict = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    # Attributes of a fitted estimator that are not public; callbacks need them.
    _private_state = ("_model", "_class_weight", "_output_shape")

    # What the subclasses give.

    @abstractmethod
    def _start(self, X):
        """Make the model, `_model`, before the first rows, which are `X`."""

    @abstractmethod
    def _make_loss(self):
        """Loss with the parameters of the estimator, for the targets it has seen."""

    @abstractmethod
    def _validate_target(self, y, reset, classes):
        """Check `y`; return what :meth:`_block_targets` takes, and weights or None."""

    @abstractmethod
    def _block_targets(self, y):
        """Targets of a block of rows as the loss takes them."""

    @abstractmethod
    def _respond(self, decision, method):
        """Turn predictions of shape (n, n_outputs) into the answer of `method`."""

    # Learning.

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from the rows, epoch after epoch, until the loss stops falling.

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
        # Callbacks score models on the data as the user has it: with labels, and names.
        given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        with _unchanged_on_error(self) as before:
            go_on = self.warm_start and self.__sklearn_is_fitted__()
            X, y, sample_weight = self._validate(X, y, sample_weight, reset=not go_on)
            if sample_weight is not None and not sample_weight.any():
                raise ValueError(
                    "Sample weights must contain at least one non-zero number."
                )
            if go_on:
                before["_model"] = self._model.checkpoint()
            else:
                self._start(X)
            converged = self._run_epochs(X, y, sample_weight, given)
        if self.tol is not None and not converged:
            warn(
                "Maximum number of iteration reached before convergence. Consider "
                "increasing max_iter to improve the fit.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    @with_callbacks
    def _run_epochs(self, X, y, sample_weight, given):
        """Learn epoch after epoch; return whether that ended before `max_iter`."""
        n = X.shape[0]
        random_state = check_random_state(self.random_state)
        context = self._init_callback_context(max_subtasks=self.max_iter)
        tell = {"estimator": self, **given}
        context.call_on_fit_task_begin(**tell)
        self.loss_curve_ = []
        best_loss = np.inf
        n_no_change = 0
        converged = stopped = False
        while not (converged or stopped) and len(self.loss_curve_) < self.max_iter:
            epoch = context.subcontext(task_name="epoch")
            epoch.call_on_fit_task_begin(**tell)
            order = random_state.permutation(n) if self.shuffle else None
            again = bool(self.loss_curve_)
            for _ in self._learn(X, y, sample_weight, order, again):
                pass
            loss = self.loss_curve_[-1]
            self.n_iter_ = len(self.loss_curve_)
            if self.verbose:
                print(f"Epoch {self.n_iter_}: mean loss {loss:.6g}")
            if self.tol is not None:
                no_change = loss > best_loss - self.tol * self.loss_curve_[0]
                n_no_change = n_no_change + 1 if no_change else 0
                converged = n_no_change == self.n_iter_no_change
            best_loss = min(loss, best_loss)
            tell_end = {**tell, "reconstruction_attributes": self._fitted_attributes}
            stopped = epoch.call_on_fit_task_end(**tell_end)
        context.call_on_fit_task_end(**tell_end)
        return converged or stopped

    def _fitted_attributes(self):
        """What a callback needs for an estimator that stopped here."""
        return {
            name: deepcopy(value)
            for name, value in vars(self).items()
            if name in self._private_state or name.endswith("_")
        }

    def _partial_fit(self, X, y, sample_weight, classes=None, method=None):
        """Learn from rows in order; return what `method` says before each, if given."""
        with _unchanged_on_error(self) as before:
            first_call = not self.__sklearn_is_fitted__()
            self._check_first_call(first_call, classes)
            X, y, sample_weight = self._validate(
                X, y, sample_weight, reset=first_call, classes=classes
            )
            if first_call:
                self._start(X)
                self.loss_curve_ = []
            elif self._model.is_small_beside(X):
                before["_model"] = self._model.checkpoint()
            elif not sparse.issparse(X):
                self._check_finite(X)
            return self._learn_in_order(X, y, sample_weight, method)

    def _learn_validated(self, X, y, sample_weight, method):
        """What `partial_fit_predict` does with rows that need no check any more."""
        y, sample_weight = self._with_target_weight(y, sample_weight)
        return self._learn_in_order(X, y, sample_weight, method)

    def _answer_validated(self, X, method):
        """What a method answers to rows that need no check any more."""
        return self._respond(self._model.decision(X), method)

    def _learn_in_order(self, X, y, sample_weight, method):
        self.n_iter_ = 1
        if method is None:
            for _ in self._learn(X, y, sample_weight):
                pass
            return None
        decision = np.empty((X.shape[0], self._model.n_outputs))
        for rows, predictions in self._learn(X, y, sample_weight):
            decision[rows] = predictions
        return self._respond(decision, method)

    def _check_method(self, method):
        if method not in self._METHODS:
            raise ValueError(f"method must be one of {self._METHODS}, got {method!r}.")
        getattr(self, method)

    def _check_first_call(self, first_call, classes):
        """Check that `partial_fit` has what it needs; nothing in regression."""

    def _learn(self, X, y, sample_weight, order=None, again=False):
        """Learn once from each row; the mean loss goes to the curve at the end."""
        model = self._model
        loss_before = model.cumulative_loss

        def targets(rows):
            return self._block_targets(y[rows])

        for rows, predictions in model.learn(X, targets, sample_weight, order, again):
            if not np.isfinite(predictions).all():
                # Where a row is not finite, neither is its prediction.
                if not sparse.issparse(X):
                    self._check_finite(X[rows])
                raise ValueError(
                    "Floating-point under-/overflow occurred. Scaling the features, or "
                    "a smaller learning rate, might help."
                )
            yield rows, predictions
        total = X.shape[0] if sample_weight is None else sample_weight.sum()
        if total > 0:
            self.loss_curve_.append((model.cumulative_loss - loss_before) / total)

    # Validation.

    def _validate(self, X, y, sample_weight, reset, classes=None):
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,  # see _check_finite
            **self._target_checks,
        )
        if sparse.issparse(X):
            self._check_finite(X.data)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight,
                X,
                dtype=np.float64,
                ensure_non_negative=True,
                **_ALLOW_ZERO_WEIGHTS,
            )
        y, sample_weight = self._with_target_weight(y, sample_weight, reset, classes)
        return _without_duplicates(X), y, sample_weight

    def _with_target_weight(self, y, sample_weight, reset=False, classes=None):
        """Check `y`, and multiply weights by those that it brings."""
        y, target_weight = self._validate_target(y, reset, classes)
        if target_weight is not None:
            sample_weight = target_weight * (
                1 if sample_weight is None else sample_weight
            )
        return y, sample_weight

    def _check_finite(self, X):
        """Refuse NaN, infinity and what would soon add up to it.

        Reading a large dense chunk takes a good part of the time of learning from it,
        so there this comes after learning, when a prediction is not finite, and the
        model is taken back. It comes before for sparse rows, and for a chunk so small
        that a copy of the model would cost more.
        """
        smallest, largest = float(X.min(initial=0)), float(X.max(initial=0))
        if smallest >= -LARGEST_VALUE and largest <= LARGEST_VALUE:  # false of NaN
            return
        with np.errstate(all="ignore"):
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")
        raise ValueError(
            f"Input X contains infinity or a value too large for {X.dtype!r}."
        )

    def _decision(self, X):
        check_is_fitted(self)
        X = validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        return self._model.decision(_without_duplicates(X))

    # What a fitted estimator tells.

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def n_samples_seen_(self):
        """Number of rows learned: those of positive weight."""
        return self._fitted_model().t

    @property
    def t_(self):
        """Number of rows learned, plus 1."""
        return self._fitted_model().t + 1.0

    @property
    def cumulative_loss_(self):
        """Weighted sum of the losses of the predictions made before each update."""
        return self._fitted_model().cumulative_loss

    def _fitted_model(self):
        check_is_fitted(self)
        return self._model


def _without_duplicates(X):
    """Rows with no column twice; a copy where there are such, `X` itself otherwise."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _check_discrete(labels):
    """Refuse continuous targets; unlike scikit-learn's check, allow many classes."""
    if type_of_target(labels).startswith("continuous"):
        check_classification_targets(labels)


def _has_probabilities(estimator):
    if hasattr(CLASSIFICATION[estimator.loss], "log_probabilities"):
        return True
    raise AttributeError(
        f"probability estimates are not available for loss={estimator.loss!r}"
    )


class OnlineClassifier(ClassifierMixin, _OnlineEstimator):
    """Base of the classifiers."""

    _parameter_constraints: dict = {
        **_OnlineEstimator._parameter_constraints,
        "loss": [StrOptions(set(CLASSIFICATION))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }
    _target_checks = {}
    # Whether the learner takes a loss that couples the classes.
    _takes_joint_losses = True
    _METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba")

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from the rows in order, each once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The next rows of the stream.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream. Needed at the first call only.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows' losses. None stands for ones; a row of
            weight 0 changes nothing.

        Returns
        -------
        self : object
            The estimator, which has learned.

        Raises
        ------
        ValueError
            If the data, the classes or the weights are not usable, or a label is none
            of the classes. The estimator is then as it was.
        """
        self._partial_fit(X, y, sample_weight, classes)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit_predict(
        self, X, y, *, classes=None, sample_weight=None, method="predict"
    ):
        """Predict each row, then learn from it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The next rows of the stream.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream. Needed at the first call only.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows' losses.
        method : {"predict", "decision_function", "predict_proba", \
                "predict_log_proba"}, default="predict"
            Which answer to return.

        Returns
        -------
        predictions : ndarray
            As the method would give, each row's made before its label was used.

        Raises
        ------
        ValueError
            As :meth:`partial_fit`, or if there is no such method.
        AttributeError
            If the loss has no probabilities and `method` asks for them.
        """
        self._check_method(method)
        return self._partial_fit(X, y, sample_weight, classes, method)

    def predict(self, X):
        """Predict the classes of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._respond(self._decision(X), "predict")

    def decision_function(self, X):
        """Predict scores, the algorithm's own predictions.

        For each row exactly what the algorithm would be charged for if the row came
        next: the linear model `coef_`, `intercept_`, unless the class's notes say more.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive for ``classes_[1]``.
        """
        return self._respond(self._decision(X), "decision_function")

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Predict the probabilities of the classes; with ``loss="log_loss"`` only.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._respond(self._decision(X), "predict_proba")

    @available_if(_has_probabilities)
    def predict_log_proba(self, X):
        """Predict the logarithms of the probabilities; with ``loss="log_loss"`` only.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._respond(self._decision(X), "predict_log_proba")

    def _respond(self, decision, method):
        if method == "predict":
            if decision.shape[1] == 1:
                return self.classes_[(decision[:, 0] > 0).astype(np.intp)]
            return self.classes_[decision.argmax(axis=1)]
        if method == "decision_function":
            return decision[:, 0] if decision.shape[1] == 1 else decision
        log_probabilities = self._model.loss.log_probabilities(decision)
        return (
            np.exp(log_probabilities)
            if method == "predict_proba"
            else log_probabilities
        )

    def _check_first_call(self, first_call, classes):
        if not first_call:
            return
        if classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit. In order to "
                "use 'balanced' weights, use compute_class_weight('balanced', "
                "classes=classes, y=y). In place of y you can use a large enough "
                "sample of the full training set target to properly estimate the class "
                "frequency distributions. Pass the resulting weights as the "
                "class_weight parameter."
            )

    def _validate_target(self, y, reset, classes):
        if reset:
            classes = np.unique(y) if classes is None else classes
            _check_discrete(classes)
            self.classes_ = unique_labels(classes)
            if self.classes_.size < 2:
                raise ValueError(
                    "The number of classes has to be greater than one; got "
                    f"{self.classes_.size} class"
                )
        elif classes is not None and not np.array_equal(
            self.classes_, unique_labels(classes)
        ):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to "
                f"partial_fit, was: {self.classes_!r}"
            )
        codes = self._encode(y)
        if reset:
            self._class_weight = None
            if self.class_weight is not None:
                self._class_weight = compute_class_weight(
                    self.class_weight, classes=self.classes_, y=y
                )
        return codes, None if self._class_weight is None else self._class_weight[codes]

    def _encode(self, y):
        """Index of each label in `classes_`, in as few bytes as it takes."""
        codes = np.empty(y.size, dtype=np.min_scalar_type(self.classes_.size - 1))
        for start in range(0, y.size, BLOCK_ROWS):
            labels = y[start : start + BLOCK_ROWS]
            try:
                found = np.searchsorted(self.classes_, labels)
            except TypeError:  # labels that cannot be compared with the classes
                found = np.zeros(labels.size, dtype=np.intp)
            found[found == self.classes_.size] = 0
            unseen = labels[self.classes_[found] != labels]
            if unseen.size:
                self._refuse(unseen)
            codes[start : start + BLOCK_ROWS] = found
        return codes

    def _refuse(self, labels):
        """Raise an error that names the labels that are none of the classes."""
        _check_discrete(labels)
        unseen = sorted(set(labels.tolist()) - set(self.classes_.tolist()), key=str)
        raise ValueError(f"y contains previously unseen labels: {unseen}")

    def _block_targets(self, y):
        if self._model.loss.joint:
            return y.astype(np.intp)
        if self._model.n_outputs == 1:
            return np.where(y == 1, 1.0, -1.0)[:, np.newaxis]
        return np.where(y[:, np.newaxis] == np.arange(self._model.n_outputs), 1.0, -1.0)

    def _make_loss(self):
        if self.classes_.size > 2 and self._takes_joint_losses and self.loss in JOINT:
            return JOINT[self.loss]()
        return CLASSIFICATION[self.loss]()

    def _n_outputs(self):
        return 1 if self.classes_.size == 2 else self.classes_.size


class OnlineRegressor(RegressorMixin, _OnlineEstimator):
    """Base of the regressors."""

    _parameter_constraints: dict = {
        **_OnlineEstimator._parameter_constraints,
        "loss": [StrOptions(set(REGRESSION))],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }
    _target_checks = {"multi_output": True, "y_numeric": True}
    _METHODS = ("predict",)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from the rows in order, each once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The next rows of the stream.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows' losses. None stands for ones; a row of
            weight 0 changes nothing.

        Returns
        -------
        self : object
            The estimator, which has learned.

        Raises
        ------
        ValueError
            If the data or the weights are not usable. The estimator is then as it was.
        """
        self._partial_fit(X, y, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit_predict(self, X, y, *, sample_weight=None, method="predict"):
        """Predict each row, then learn from it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The next rows of the stream.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows' losses.
        method : {"predict"}, default="predict"
            For symmetry with the classifiers.

        Returns
        -------
        predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            As :meth:`predict` would give, each row's made before its target was used.

        Raises
        ------
        ValueError
            As :meth:`partial_fit`, or if there is no such method.
        """
        self._check_method(method)
        return self._partial_fit(X, y, sample_weight, method=method)

    def predict(self, X):
        """Predict the targets of rows.

        For each row exactly what the algorithm would be charged for if the row came
        next: the linear model `coef_`, `intercept_`, unless the class's notes say more.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            In the units of the targets.
        """
        return self._respond(self._decision(X), "predict")

    def _respond(self, decision, method):
        return decision if self._output_shape else decision[:, 0]

    def _validate_target(self, y, reset, classes):
        # Once more: so far y may be sparse, or was objects, with NaN unseen among them.
        y = check_array(y, ensure_2d=False, input_name="y")
        if reset:
            self._output_shape = y.shape[1:]
        outputs = y.reshape(y.shape[0], -1)
        if outputs.shape[1] != self._n_outputs():
            expected = (y.shape[0], *self._output_shape)
            raise ValueError(f"y.shape == {y.shape}, expected {expected}!")
        return outputs, None

    def _block_targets(self, y):
        return np.require(y, np.float64, ["C", "W"])

    def _make_loss(self):
        loss_type = REGRESSION[self.loss]
        loss = loss_type(*(float(getattr(self, name)) for name in loss_type._fields))
        if loss.lipschitz == 0:
            raise ValueError(f"epsilon == 0 with loss={self.loss!r}, must be > 0.")
        return loss

    def _n_outputs(self):
        return self._output_shape[0] if self._output_shape else 1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
