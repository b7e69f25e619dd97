"""Base of all classifiers: classes, their weights, and predictions."""

from __future__ import annotations

from contextlib import suppress
from copy import copy, deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import unique_labels

from .._docstrings import described_as
from .._hyperparameters import is_value
from .._invariants import floats
from .._locks import reads
from .._shards import Shards
from .._state import checkpoint
from .._typing import (
    Labels,
    MatrixLike,
    Method,
    SampleWeight,
    _fit_context,
    available_if,
)
from ..losses import CLASSIFICATION, JOINT
from ..models.model import Chunk, arrays_of_outputs
from ..tables.frames import check_not_missing
from .class_weights import ClassWeightMixin
from .labels import (
    as_indicators,
    as_numpy_labels,
    check_discrete,
    encode,
    is_multilabel,
    merge_classes,
    spread_counts,
)
from .online_estimator import OnlineEstimator
from .rehearsal import compile_once, is_rehearsal


def _has_probabilities(estimator):
    if hasattr(estimator._loss_type, "log_probabilities"):
        return True
    loss = estimator._as_learned("loss")
    raise AttributeError(f"probability estimates are not available for loss={loss!r}")


class OnlineClassifier(ClassifierMixin, ClassWeightMixin, OnlineEstimator):
    """Base of classifiers that learn from a stream.

    Parameters
    ----------
    loss : {%(losses)s}, default="log_loss"
        "log_loss" is multinomial for more than two classes, others one versus rest.
    class_weight : dict or "balanced", default=None
        Weights of the classes; "balanced": inverse to their shares of the rows so far.
    new_classes : {"error", "add"}, default="error"
        What :meth:`partial_fit` does with new labels; "add" needs ``loss="log_loss"``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; with several labels a row, the numbers of the labels.
    multilabel_
    """

    _own_constraints: dict = {
        "loss": [StrOptions(set(CLASSIFICATION))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "new_classes": [StrOptions({"error", "add"})],
    }
    _METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba")

    # Shape of the labels of a row: none, or their number if a row has several.
    _output_shape: tuple[int, ...] = ()

    @property
    def multilabel_(self) -> bool:
        """Whether each row has any number of labels, instead of one class."""
        self._fitted_model()
        return bool(self._output_shape)

    @property
    def _n_classes(self):
        """Number of classes of which a row has one: two for each of several labels."""
        return 2 if self._output_shape else self.classes_.size

    # Whether the learner takes a loss that couples the classes.
    _takes_joint_losses: Any = True

    @_fit_context(prefer_skip_nested_validation=True)
    @described_as(OnlineEstimator.fit)
    def partial_fit(
        self,
        X: MatrixLike,
        y: Labels,
        classes: Labels | None = None,
        sample_weight: SampleWeight = None,
    ) -> Self:
        """Learn from the rows in order, each once.

        Parameters
        ----------
        y : array-like of shape (n_samples,), or {array-like, sparse matrix} of shape \
                (n_samples, n_labels)
            Their labels; or a matrix of zeros and ones that says which of several
            labels each row has. Each label is then learned as if alone.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream. Needed at the first call only; with
            ``new_classes="add"`` those that are known before the first row, by default
            the class of that row, or at a later call more of them. Several labels a row
            are the columns of `y`, with no need for `classes`.

        Raises
        ------
        ValueError
            If the data, the classes or the weights are not usable, or a label is none
            of the classes. The estimator is then as it was.

        Notes
        -----
        With ``new_classes="add"`` a class is added just before its first row of
        positive weight, in whichever chunk that is. A new class has the score 0 for all
        rows. While there is one class only, rows count as of weight 0. Each new class
        costs a copy of the model: pass `classes` if you know them. See
        :doc:`/user_guide/fitting`.

        Examples
        --------
        >>> from sklearn_scinol import ScInOLClassifier
        >>> model = ScInOLClassifier(new_classes="add")
        >>> model.partial_fit([[0.0], [1.0]], ["ham", "spam"]).classes_
        array(['ham', 'spam'], dtype='<U4')
        >>> model.partial_fit([[2.0]], ["eggs"]).classes_
        array(['eggs', 'ham', 'spam'], dtype='<U4')
        """
        self._partial_fit(X, y, sample_weight, classes)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @described_as(partial_fit)
    def partial_fit_predict(
        self,
        X: MatrixLike,
        y: Labels,
        *,
        classes: Labels | None = None,
        sample_weight: SampleWeight = None,
        method: Method = "predict",
    ) -> NDArray[Any]:
        """Predict each row, then learn from it.

        Parameters
        ----------
        method : {"predict", "decision_function", "predict_proba", \
                "predict_log_proba"}, default="predict"
            Which answer to return.

        Returns
        -------
        predictions : ndarray
            As the method would give, each row's made before its label was used. With
            `average` these are predictions of averaged weights, while
            `cumulative_loss_` counts the losses of the algorithm's own. Columns are of
            the classes known at the end of the call: a class that was not known at a
            row has probability 0 there, and the score minus infinity.

        Raises
        ------
        ValueError
            As :meth:`partial_fit`, or if `method` is not one of these.
        AttributeError
            If the loss has no probabilities and `method` asks for them.
        """
        self._check_method(method)
        return self._partial_fit(X, y, sample_weight, classes, method)

    @reads
    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """Predict the classes of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_labels)
            The class of highest score or probability; of several labels, 1 for those of
            positive score.
        """
        return self._to_output(self._decision(X), "predict")

    @reads
    @described_as(predict)
    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]:
        """Predict scores, the algorithm's own predictions.

        For each row exactly what the algorithm would be charged for if the row came
        next: the linear model `coef_`, `intercept_`, unless the class's notes say more.
        With `average` it is what the averaged weights predict instead.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive for ``classes_[1]``; with several labels a row, a
            column is positive for rows that have its label.
        """
        return self._to_output(self._decision(X), "decision_function")

    @available_if(_has_probabilities)
    @reads
    @described_as(predict)
    def predict_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """Predict the probabilities of the classes; with ``loss="log_loss"`` only.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. With several labels a row, those of having each
            label: rows do not sum to 1.
        """
        return self._to_output(self._decision(X), "predict_proba")

    @available_if(_has_probabilities)
    @reads
    @described_as(predict)
    def predict_log_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """Predict the logarithms of the probabilities; with ``loss="log_loss"`` only.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`, or of several labels.
        """
        return self._to_output(self._decision(X), "predict_log_proba")

    def _to_output(self, decision, method):
        are_labels, classes = bool(self._output_shape), self.classes_
        if classes.size == 1 and not are_labels:  # it is certain
            if method in ("predict_proba", "predict_log_proba"):
                return np.full((len(decision), 1), float(method == "predict_proba"))
            decision = np.zeros((len(decision), 1))
        is_of_two = decision.shape[1] == 1 and not are_labels
        if method == "predict":
            if are_labels or is_of_two:
                is_positive = (decision > 0.0).astype(np.intp)
                return is_positive if are_labels else classes[is_positive[:, 0]]
            return classes[decision.argmax(axis=1)]
        if method == "decision_function":
            return decision[:, 0] if is_of_two else decision
        if are_labels:  # each as one of two classes
            of_two = self._model.loss.log_probabilities(decision.reshape(-1, 1))
            log_probabilities = of_two[:, 1].reshape(decision.shape)
        else:
            log_probabilities = self._model.loss.log_probabilities(decision)
        is_log = method == "predict_log_proba"
        return log_probabilities if is_log else np.exp(log_probabilities)

    # Classes, which may come as the rows do.

    @property
    def _adds_classes(self):
        return self.new_classes == "add"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _check_first_call(
        self, first_call, classes, y=None, where="on the first call to partial_fit"
    ):
        if not first_call:
            if classes is not None and not self._adds_classes:
                self._check_same_classes(classes)
        elif classes is None and not (self._adds_classes or is_multilabel(y)):
            raise ValueError(f"classes must be passed {where}.")

    def _check_takes_classes(self, begins=False):
        """Check that classes can be added later, which needs log loss."""
        begins = begins or not self.__sklearn_is_fitted__()
        loss = self._loss_type if begins else self._model.loss
        if self.loss != "log_loss" or not hasattr(loss, "log_probabilities"):
            raise ValueError(
                f"new_classes='add' needs loss='log_loss', got loss={self.loss!r}."
            )

    def _validate(self, X, y, *arguments, **keywords):
        return super()._validate(X, as_numpy_labels(y), *arguments, **keywords)

    def _target_checks(self, y, reset):
        """Return keywords of scikit-learn's :func:`validate_data` for targets."""
        takes_several = is_multilabel(y) if reset else bool(self._output_shape)
        return {"multi_output": True} if takes_several else {}

    def _validate_target(
        self, y, sample_weight, reset=False, classes=None, row_by_row=True
    ):
        if y.ndim == 2 or (self._output_shape and not reset):
            return self._validate_indicators(y, sample_weight, reset, classes)
        adds = self._adds_classes
        if adds:
            self._check_takes_classes(begins=reset)
        if reset:
            self._set_first_classes(y, classes, row_by_row)
        elif classes is not None and adds:
            self._extend_classes(merge_classes(self.classes_, classes))
        classes = self.classes_
        codes, unseen = encode(y, classes)
        if unseen.size and not adds:
            check_discrete(unseen)
            unseen = sorted(set(unseen.tolist()), key=str)
            raise ValueError(
                f"y contains previously unseen labels: {unseen}. Pass all labels of "
                "the stream as classes= at the first call, or set new_classes='add'."
            )
        if unseen.size:
            classes = merge_classes(classes, unseen)
            codes, _ = encode(y, classes)
            if not row_by_row:
                self._extend_classes(classes)
        if not row_by_row:
            self._check_number(classes, 2)
        weigh = self._weigh_rows if row_by_row else self._weigh_all
        return weigh(codes, sample_weight, classes)

    def _validate_indicators(self, y, sample_weight, reset, classes):
        """Validate several labels a row; return the arguments of :class:`Chunk`."""
        if reset:
            self._output_shape, self.classes_ = y.shape[1:], np.arange(y.shape[1])
            self._class_weight = self._class_counts = None
            if self.class_weight is not None:
                raise ValueError(
                    "class_weight must be None with several labels, got "
                    f"{self.class_weight!r}. For weights of each label use "
                    "sklearn.multioutput.MultiOutputClassifier."
                )
        if y.shape[1:] != self._output_shape:
            raise self._shape_error(y)
        if classes is not None:
            self._check_same_classes(classes)
        return as_indicators(y), sample_weight, [(slice(0, y.shape[0]), self.classes_)]

    def _set_first_classes(self, y, classes, row_by_row):
        """Set the classes that are known before the first row."""
        vars(self).pop("_output_shape", None)  # of rows with several labels
        may_grow = self._adds_classes and row_by_row
        if classes is None:
            classes = y[:1] if may_grow else np.unique(y)
        check_not_missing(classes, "classes")
        check_discrete(classes)
        self.classes_ = unique_labels(classes)
        self._check_number(self.classes_, 1 if may_grow else 2)
        self._class_weight = self._class_counts = None
        if self.class_weight == "balanced":
            self._class_counts = np.zeros(self.classes_.size, np.intp)
        elif self.class_weight is not None:
            self._class_weight = self._weights_by_parameter(self.classes_)

    @staticmethod
    def _check_number(classes, least):
        if classes.size < least:
            raise ValueError(
                "The number of classes has to be greater than "
                f"{['zero', 'one'][least - 1]}; got {classes.size} class"
            )

    def _check_same_classes(self, classes):
        if not np.array_equal(self.classes_, unique_labels(classes)):
            if self._output_shape:
                raise ValueError(
                    f"`classes={classes!r}` are not the labels, which are the columns "
                    f"of y: {self.classes_!r}"
                )
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to "
                f"partial_fit, was: {self.classes_!r}"
            )

    def _extend_classes(self, classes):
        """Extend the classes to these, which include all current ones."""
        if classes.size == self.classes_.size:
            return
        self._check_new_classes(classes)
        # The old model stays unchanged, for a call that fails. Additional outputs have
        # new arrays, so that the old ones need no copy.
        shared = arrays_of_outputs(self._model) if classes.size > 2 else []
        self._model = deepcopy(self._model, {id(array): array for array in shared})
        self._add_classes(classes, ~np.isin(classes, self.classes_))

    def _compile_ahead(self, X):
        """Compile what a third class will need."""
        if self._adds_classes and self._n_outputs() == 1 and not is_rehearsal():
            with suppress(Exception):  # learning will fail with its own error
                compile_once(self, X)

    def _check_new_classes(self, classes):
        """Raise ValueError if the estimator cannot go on with these classes."""

    @property
    def _has_sessions(self):
        return not (
            self._weighs_classes or self._adds_classes or self.classes_.size == 1
        )

    @property
    def _n_codes(self):
        return None if self._output_shape else len(self.classes_)

    def _row_target_converter(self):
        if self._output_shape:
            return self._signs
        if self._weighs_classes or self.classes_.size == 1:
            return None
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}

        def code(label):
            try:
                return codes.get(label)
            except TypeError:  # an array
                return None

        return code

    def _signs(self, y):
        """Convert the labels of a row to targets; None if they need full validation."""
        if np.ma.is_masked(y):
            return None
        y = np.asarray(y)
        if y.shape != self._output_shape or y.dtype.kind not in "fiub":
            return None
        is_label = y == 1
        return 2.0 * is_label - 1.0 if (is_label | (y == 0)).all() else None

    def _add_classes(self, classes, is_new):
        """Set the classes, some of which are new, and extend the model in place."""
        self.classes_ = classes
        if self._class_weight is not None:
            self._class_weight = self._weights_by_parameter(classes)
        if self._class_counts is not None:
            self._class_counts = spread_counts(self._class_counts, ~is_new)
        if classes.size > 2:
            if np.count_nonzero(~is_new) == 1:  # two classes have one output
                is_new = is_new & (np.cumsum(is_new) > 1)
            self._model.add_classes(self._make_loss(), is_new)

    def _merged(self, others, start, placements=None):
        members = [self, *others] if start is None else [self, *others, start]
        classes = unique_labels(*(member.classes_ for member in members))
        members = [member._with_classes(classes) for member in members]
        start = None if start is None else members.pop()
        merge = super(OnlineClassifier, members[0])._merged
        merged = merge(members[1:], start, placements)
        if merged._class_counts is not None:
            counts = [member._class_counts for member in members]
            start_counts = 0 if start is None else start._class_counts
            counts = Shards(counts, start_counts, None).sum()
            merged._class_counts = counts.astype(np.intp)
        return merged

    def _with_classes(self, classes):
        """Return the estimator, or a copy that has been extended to these classes."""
        if np.array_equal(self.classes_, classes):
            return self
        if not self._adds_classes:
            raise ValueError(
                "Models of different classes can only be merged with "
                f"new_classes='add': one has {self.classes_}, all have {classes}."
            )
        estimator = copy(self)
        estimator._extend_classes(classes)
        return estimator

    @property
    def _loss_type(self):
        """Type of the loss; of a loss with a joint form, that of two classes."""
        loss = self._as_learned("loss")
        return type(loss) if is_value(loss) else CLASSIFICATION[loss]

    def _make_loss(self):
        if is_value(self.loss):
            loss = self._custom_loss()
            if loss.joint and self._n_classes <= 2:
                raise ValueError(
                    f"loss={self.loss!r} is of three or more classes, got "
                    f"{self._n_classes}."
                )
            if loss.joint and not self._takes_joint_losses:
                raise ValueError(
                    f"loss={self.loss!r} couples the classes, and the algorithm takes "
                    "losses of one output only."
                )
            return loss
        if self._n_classes > 2 and self._takes_joint_losses and self.loss in JOINT:
            return JOINT[self.loss]()
        return CLASSIFICATION[self.loss]()

    def _n_outputs(self, loss=None):
        if self._output_shape:
            return self._output_shape[0]
        return 1 if self.classes_.size <= 2 else self.classes_.size

    def _with_class_weights(self, chunk):
        weighed = self._weigh_rows(chunk.y, chunk.sample_weight, self.classes_)
        return Chunk(chunk.X, *weighed, served=chunk.served)

    def _invariants(self):
        yield from super()._invariants()
        if not self.__sklearn_is_fitted__():
            return
        n_classes = self.classes_.size
        yield "classes are an array", self.classes_.shape == (n_classes,)
        yield "classes are sorted", self.classes_[:-1] < self.classes_[1:]
        if self._output_shape:
            are_columns = np.array_equal(self.classes_, np.arange(*self._output_shape))
            yield "labels are numbers of columns", are_columns and n_classes > 1
            yield "labels have no weights of classes", not self._weighs_classes
        if self._class_weight is not None:
            yield from floats("class weights", self._class_weight, (n_classes,))
            yield "class weights are not negative", self._class_weight >= 0.0
        if self._class_counts is not None:
            counts = self._class_counts
            yield "each class has a count", counts.shape == (n_classes,)
            yield "counts are whole", counts.dtype == np.intp
            yield "counts are not negative", counts >= 0

    # Learning, segment by segment.

    def _checkpoint(self, chunk):
        if self._class_counts is None:
            return super()._checkpoint(chunk)
        return checkpoint(self._model, chunk.X)  # counts have all rows, or none

    def _parts(self, chunk):
        *_, (_, classes) = chunk.class_segments
        self._check_new_classes(classes)  # before any row is learned
        for rows, classes in chunk.class_segments:
            self._extend_classes(classes)
            part = chunk if len(chunk.class_segments) == 1 else chunk.part(rows)
            yield part
            if self._class_counts is not None:
                learned = part.y[part.sample_weight > 0.0]
                self._class_counts = self._class_counts + np.bincount(
                    learned, minlength=classes.size
                )

    def _join_answers(self, answers, chunk, method):
        if len(answers) == 1:
            return answers[0]
        if method == "predict":
            return np.concatenate(answers)
        never = 0.0 if method == "predict_proba" else -np.inf
        joined = np.full((len(chunk), self.classes_.size), never)
        for answer, (rows, classes) in zip(answers, chunk.class_segments, strict=True):
            if answer.ndim == 1:
                answer = self._scores_of_classes(answer, classes)
            joined[rows, np.searchsorted(self.classes_, classes)] = answer
        if method == "decision_function" and self.classes_.size == 2:
            return joined[:, 1] - joined[:, 0]
        return joined

    def _scores_of_classes(self, score, classes):
        """Return a column of scores for each of one or two classes."""
        if classes.size == 1:
            return score[:, np.newaxis]
        is_mirrored = self.classes_.size > 2 and not self._model.loss.joint
        return np.column_stack([-score if is_mirrored else np.zeros_like(score), score])
