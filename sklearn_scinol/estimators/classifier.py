"""What all classifiers share: classes, their weights, and answers about them."""

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import (
    check_classification_targets,
    type_of_target,
    unique_labels,
)
from sklearn.utils.validation import check_non_negative

from ..losses import CLASSIFICATION, JOINT
from .base import OnlineEstimator

__all__ = ["OnlineClassifier"]

# Labels are looked up so many at a time, which bounds what that takes of memory.
BLOCK_ROWS = 8192


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


class OnlineClassifier(ClassifierMixin, OnlineEstimator):
    """Base of the classifiers."""

    _parameter_constraints: dict = {
        **OnlineEstimator._parameter_constraints,
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
            As the method would give, each row's made before its label was used. With
            `average` these are predictions of averaged weights, while
            `cumulative_loss_` counts the losses of the algorithm's own.

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
        With `average` it is what the averaged weights predict instead.

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
                weights = compute_class_weight(
                    self.class_weight, classes=self.classes_, y=y
                )
                assert_all_finite(weights, input_name="class_weight")
                check_non_negative(weights, f"{type(self).__name__}.class_weight")
                self._class_weight = weights
        return codes, None if self._class_weight is None else self._class_weight[codes]

    def _encode(self, y):
        """Index of each label in `classes_`, in as few bytes as it takes."""
        codes = np.empty(y.size, dtype=np.min_scalar_type(self.classes_.size - 1))
        for start in range(0, y.size, BLOCK_ROWS):
            labels = y[start : start + BLOCK_ROWS]
            codes[start : start + BLOCK_ROWS] = self._encode_block(labels)
        return codes

    def _encode_block(self, labels):
        if self.classes_.size == 2:
            is_second = labels == self.classes_[1]
            if np.all(is_second | (labels == self.classes_[0])):
                return is_second
        try:
            found = np.searchsorted(self.classes_, labels)
        except TypeError:  # labels that cannot be compared with the classes
            found = np.zeros(labels.size, dtype=np.intp)
        found[found == self.classes_.size] = 0
        unseen = labels[self.classes_[found] != labels]
        if unseen.size:
            self._refuse(unseen)
        return found

    def _refuse(self, labels):
        """Raise an error that names the labels that are none of the classes."""
        _check_discrete(labels)
        unseen = sorted(set(labels.tolist()) - set(self.classes_.tolist()), key=str)
        raise ValueError(f"y contains previously unseen labels: {unseen}")

    def _make_loss(self):
        if self.classes_.size > 2 and self._takes_joint_losses and self.loss in JOINT:
            return JOINT[self.loss]()
        return CLASSIFICATION[self.loss]()

    def _n_outputs(self):
        return 1 if self.classes_.size == 2 else self.classes_.size
