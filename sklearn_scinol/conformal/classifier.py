"""Classifier with sets of labels that hold their level on a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, assert_all_finite, column_or_1d, get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_is_fitted

from .._docstrings import described_as, inherit_descriptions
from .._locks import learns, reads
from .._state import checkpoint
from .._typing import Labels, MatrixLike, SampleWeight, _fit_context
from ..config import current_engine
from ..estimators.labels import as_numpy_labels, check_discrete, encode, merge_classes
from ..estimators.online_estimator import OnlineEstimator
from ..estimators.served import Served
from ..estimators.validation import check_weights
from ..mixtures.classifier import HedgeClassifier
from ..models.served import ServedRows
from ..tables.frames import check_not_missing
from .conformal_estimator import ConformalEstimator
from .row_by_row import AT_ONCE
from .thresholds import Thresholds, log_odds_against

SetMethod: TypeAlias = Literal["predict", "predict_proba", "predict_set"]


@inherit_descriptions
class OnlineConformalClassifier(ClassifierMixin, ConformalEstimator):
    r"""Sets of labels that hold their level while the stream changes.

    A set has to contain the label of a row with a given probability. It has all labels
    of at least some probability, a threshold that is learned from the probabilities
    that a classifier gave to the rows' labels, each before it learned the row: if
    labels have been outside their sets too often, the threshold falls. The share of
    labels in the sets approaches the level on any stream, whatever the classifier, as
    :meth:`coverage_bound` says [1]_. There is no step size to choose.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    mean_size_ : float or ndarray of shape (n_levels,)
        Mean number of labels in the sets that `coverage_` counts, or NaN.

    See Also
    --------
    HedgeClassifier : Predicts labels and probabilities without sets.
    OnlineConformalRegressor : Intervals for numbers.

    Notes
    -----
    A set may be empty. Where the classifier is right more often than the level asks,
    even sets of one label hold the label too often: the rows of which the classifier is
    least certain then have empty sets. Ask for a higher level, or add the label of
    :meth:`predict` to each set: then at least so many labels are in the sets.

    The threshold is that of the log odds against a label, which are clipped to those of
    the probability 1e-6: a running mean of the odds against the rows' labels, plus a
    correction. With each row the correction takes a gradient step on the pinball loss,
    of 0.3. A probability that is exactly the threshold is in the set and changes
    nothing. :doc:`/user_guide/label_sets` has the formulas, the proof and the
    measurements.

    Weights of rows count in the coverage. Class weights of the estimator do not.

    The first row a model of this package sees, and the first 100 rows of others, or
    their first chunk if it has fewer, have no honest prediction: the threshold does not
    learn them. Until it has learned a row, sets have all labels. A class that the
    estimator adds when its first label comes is in no set before the next row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_scinol import OnlineConformalClassifier, ScInOLClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OnlineConformalClassifier(ScInOLClassifier(), confidence_level=0.95)
    >>> sets = model.partial_fit_predict(
    ...     X, y, classes=np.arange(10), method="predict_set"
    ... )
    >>> print(sets[-1000:][np.arange(1000), y[-1000:]].mean())
    0.948
    >>> print(f"{sets[-1000:].sum(axis=1).mean():.2f} labels")
    1.04 labels
    >>> model.classes_[model.predict_set(X[:1])[0]]
    array([0])
    """

    _parameter_constraints: dict = {
        **ConformalEstimator._parameter_constraints,
        "estimator": [HasMethods(["partial_fit", "predict_proba"]), None],
    }
    _METHODS = "predict", "predict_proba", "predict_set"
    _THIRDS = (("sure", "medium", "unsure"),)
    _estimator_method = "predict_proba"
    _default = HedgeClassifier
    _state_type = Thresholds

    # Learning.

    @learns
    @_fit_context(prefer_skip_nested_validation=False)
    @described_as(ConformalEstimator.fit)
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
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream, as the estimator's `partial_fit` takes them.

        Raises
        ------
        ValueError
            If the data, the classes or the weights are not usable. The model is then as
            it was.
        """
        self._partial_fit(X, y, sample_weight, classes=classes)
        return self

    @learns
    @_fit_context(prefer_skip_nested_validation=False)
    @described_as(ConformalEstimator._partial_fit, partial_fit)
    def partial_fit_predict(
        self,
        X: MatrixLike,
        y: Labels,
        *,
        classes: Labels | None = None,
        sample_weight: SampleWeight = None,
        method: SetMethod | list[SetMethod] = "predict",
    ) -> NDArray[Any] | list[NDArray[Any]]:
        """Predict each row, then learn from it.

        Parameters
        ----------
        method : {"predict", "predict_proba", "predict_set"} or a list of these, \
                default="predict"
            Whether to return labels, probabilities, sets of all levels, or several.
            Columns are of the classes known at the end of the call.
        """
        self._check_method(method)
        return self._partial_fit(X, y, sample_weight, method, classes=classes)

    def _given_to_first_call(self, y):
        check_not_missing(y)
        labels = column_or_1d(as_numpy_labels(y))
        assert_all_finite(labels, input_name="y")
        check_discrete(labels)
        return {"classes": unique_labels(labels)}

    def _learn(self, X, y, sample_weight, rollbacks, how=AT_ONCE, **given):
        is_first = self._outputs is None
        known = None if is_first else self.classes_
        P, inner = self._learn_inner(X, y, sample_weight, rollbacks, how, **given)
        labels = column_or_1d(as_numpy_labels(y))
        weights = check_weights(sample_weight, labels)
        named = given.get("classes", labels[:1])
        if is_first:
            known = named
        elif "classes" in given:
            known = merge_classes(known, named)
        self._check_probabilities(P, len(labels))
        if is_first:
            self._output_shape = ()
            self._outputs = [Thresholds(self._levels, self._n_thirds)]
        (thresholds,) = self._outputs
        scores, codes = self._scores(P, labels, weights, known)
        own = of_thresholds = None
        if how.served is not None or how.serves:
            own = self._own_served(how.served, len(labels))
            of_thresholds, of_scores = own.split(thresholds.n_served, scores.shape[1])
            scores = of_scores.swap(scores)
        weights = self._without_unpredicted(weights)
        rollbacks.append(checkpoint(thresholds))
        groups = self._learn_groups(X, weights)
        thresholds.make_groups(self._n_groups)
        engine = current_engine()
        rows = groups, scores, codes, weights
        sets = thresholds.learn(engine, *rows, of_thresholds)
        sets = sets[..., self._level_indices()]
        if how.serves:
            own = Served.by_one(self._served_key, own.values, inner)
        learned = self.classes_[P.argmax(axis=1)], P, sets
        return learned, own if how.serves else None

    def _own_served(self, served, n):
        """Return :class:`ServedRows` of this estimator: thresholds, then scores.

        Classes that were not known when a row was served have infinite scores.
        """
        n_own = self._outputs[0].n_served
        classes, mine = self.classes_, self._served_key
        own = ServedRows.unknown(n, n_own + classes.size)
        for i, key in enumerate(() if served is None else served.keys):
            if not key._replace(classes=mine.classes).fits(mine):
                continue
            rows, before = served.numbers == i, np.array(key.classes)
            values = served.values[rows, : n_own + before.size]
            of_classes = np.full((len(values), classes.size), np.inf)
            both = np.isin(classes, before), np.isin(before, classes)
            of_classes[:, both[0]] = values[:, n_own:][:, both[1]]
            own.values[rows] = np.hstack([values[:, :n_own], of_classes])
            own.is_known |= rows
        return own

    def _check_probabilities(self, P, n):
        expected = n, self.classes_.size
        if P.shape != expected:
            raise ValueError(
                f"{type(self.estimator_).__name__} predicts an array of shape "
                f"{P.shape}, expected {expected} for the classes."
            )
        if not ((P >= 0.0) & (P <= 1.0)).all():
            raise ValueError(
                f"{type(self.estimator_).__name__} predicts a probability that is NaN "
                "or not between 0 and 1."
            )

    def _scores(self, P, labels, weights, known):
        """Return the scores of all classes, and the indices of the rows' classes.

        Scores, of shape (n, n_classes), are infinite for classes whose first row is not
        before a row, unless they were `known` before the first row.
        """
        scores = log_odds_against(P)
        codes, unseen = encode(labels, self.classes_)
        if unseen.size and (weights > 0.0)[np.isin(labels, unseen)].any():
            unseen = sorted(set(unseen.tolist()), key=str)
            raise ValueError(f"y contains previously unseen labels: {unseen}.")
        for k in np.flatnonzero(~np.isin(self.classes_, known)):
            is_first = (codes == k) & (weights > 0.0)
            end = is_first.argmax() + 1 if is_first.any() else len(codes)
            scores[:end, k] = np.inf
        return scores, codes.astype(np.intp)

    # Predictions.

    @reads
    @described_as(ConformalEstimator.predict)
    def predict_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """Predict the probabilities of the classes by the estimator.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @reads
    @described_as(ConformalEstimator._level_indices, ConformalEstimator.predict)
    def predict_set(
        self, X: MatrixLike, confidence_level: float | Sequence[float] | None = None
    ) -> NDArray[np.bool_]:
        """Predict sets that contain the labels with a given probability.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes) or \
                (n_samples, n_classes, n_levels)
            Which classes are in the sets, in the order of `classes_`; for a list of
            levels, a set for each. A set of a higher level contains those of lower
            ones. A set may be empty.
        """
        check_is_fitted(self)
        places = self._level_indices(confidence_level)
        scores = log_odds_against(self.estimator_.predict_proba(X))
        (thresholds,), groups = self._outputs, self._group_codes(X)
        return thresholds.predict(groups, scores)[0][..., places]

    def _serve_inner(self, X):
        if isinstance(self.estimator_, OnlineEstimator):
            return self.estimator_._serve(X, "predict_proba")
        return self.estimator_.predict_proba(X), None

    def _parts_of(self, X, P, *, exactly=False):
        (thresholds,), scores = self._outputs, log_odds_against(P)
        sets, before = thresholds.predict(self._group_codes(X), scores)
        values = np.hstack([before, scores])
        labels = self.classes_[P.argmax(axis=1)]
        return (labels, P, sets[..., self._level_indices()]), values

    # Fitted attributes.

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes."""
        return self._learner.classes_

    @property
    def mean_size_(self) -> float | NDArray[np.float64]:
        """Mean number of labels in the sets so far."""
        return self._of_levels(lambda each: each.means[1])

    @described_as(ConformalEstimator._bound)
    def coverage_bound(
        self, by_group: bool = False
    ) -> float | NDArray[np.float64] | dict[object, object]:
        r"""Compute a bound on the deviation of the coverage so far from its level.

        Whatever the stream, the share of labels outside sets of level :math:`1 -
        \alpha` differs from :math:`\alpha` by at most :math:`C / (0.3\, T)`, where
        :math:`C` is the largest absolute correction so far and :math:`T` the number of
        rows that the threshold has learned. :math:`C` is at most 27.7, plus 0.3 times
        the number of levels, times one more than the number of rows learned between a
        set and its label, plus 0.3 for each row of a class that was not known when its
        set was made; with groups, at most twice that. A label whose probability is
        exactly the threshold counts as outside by the fraction :math:`\alpha`. With
        weights that differ, :math:`1 / T` becomes twice the largest weight, less the
        first, over the sum of weights. See :doc:`/user_guide/label_sets` for the proof.

        Returns
        -------
        bound : float or ndarray of shape (n_levels,), or a dict of these
            No larger deviation of :attr:`coverage_` was possible, given these
            corrections, but for labels that are exactly at the threshold.
        """
        return self._bound(by_group)

    @property
    def _takes_dense_view(self):
        """Whether the estimator learns the dense view of :class:`TableRows`."""
        return getattr(self._given(), "_takes_dense_view", False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = get_tags(self._given()).classifier_tags
        tags.classifier_tags.multi_label = False
        return tags
