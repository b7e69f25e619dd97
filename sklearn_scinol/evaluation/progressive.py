"""The loop of progressive validation, and its result."""

import sys
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._typing import Labels
from .scores import RunningScores, accepted_methods, default_metrics, make_scorers

__all__ = ["ProgressiveValidationResult", "progressive_validation"]


@dataclass(frozen=True, eq=False)
class ProgressiveValidationResult:
    """What :func:`progressive_validation` returns.

    Parameters
    ----------
    estimator : object
        The estimator that was given, which has learned the stream.
    scores : dict of str to float
        For each metric its value over all rows scored.
    n_samples : ndarray of shape (n_points,)
        Number of rows scored up to each point of the curves: every row up to the tenth,
        then 10 % apart, and the last one. Rows of weight 0 are not counted.
    curves : dict of str to ndarray of shape (n_points,)
        For each metric its value over all rows up to each point; nan where it is not
        defined yet, as the area under the ROC curve while there is one class only.
    seconds : float
        Time spent in predicting and learning, without that of reading and scoring.
    window : int or None
        Number of rows that the scores of the latest rows are over.
    window_n_samples : ndarray of shape (n_window_points,) or None
        Number of rows scored up to each point of the curves of the latest rows: a
        quarter of the window apart, and the last one.
    window_curves : dict of str to ndarray of shape (n_window_points,) or None
        For each metric its value over the latest rows, as many as `window` says, or all
        as long as there are fewer.
    """

    estimator: object
    scores: dict[str, float]
    n_samples: np.ndarray = field(repr=False)
    curves: dict[str, np.ndarray] = field(repr=False)
    seconds: float
    window: int | None
    window_n_samples: np.ndarray | None = field(repr=False)
    window_curves: dict[str, np.ndarray] | None = field(repr=False)


def progressive_validation(
    estimator: Any,
    stream: Iterable[Any],
    *,
    metrics: str | list[str] | dict[str, Any] | None = None,
    classes: Labels | None = None,
    target: str | None = None,
    window: int | None = None,
    progress: bool = True,
) -> ProgressiveValidationResult:
    """Score an estimator on a stream, each row predicted before it is learned.

    Each row serves as a test and then as training, so all data are used for both and
    no prediction has seen its label [1]_. The estimator is neither cloned nor reset: it
    goes on from where it is, and has learned the stream afterwards.

    How closely a prediction follows the row before depends on the estimator:

    - One with `partial_fit_predict`, as all of this package have it, predicts each row
      from the model that has learned all rows before it. The size of the chunks
      changes nothing.
    - Any other with `partial_fit` predicts a whole chunk, then learns it. Chunks of
      one row make that exact too, at the price of two calls a row. As it cannot
      predict before it has learned something, an estimator that is not fitted learns
      the first chunk without being scored on it; `n_samples` counts the rows scored.
      To lose as little as possible, let the first chunk be small, but large enough for
      the estimator to predict from.
    - A :class:`~sklearn.pipeline.Pipeline` is treated as its last step is. The steps
      before see the features of each chunk, never the labels, before it is predicted:
      those with `partial_fit`, such as :class:`~sklearn.preprocessing.StandardScaler`,
      learn from the chunk and then transform it; the others only transform, so that
      they must be stateless or fitted.

    Parameters
    ----------
    estimator : object
        Classifier or regressor with `partial_fit`, or a pipeline that ends in one.
    stream : iterable
        Chunks of rows, each `(X, y)` or `(X, y, sample_weight)` with whatever the
        estimator takes: arrays, sparse matrices, frames, tables. Those of files come
        from :func:`~sklearn_scinol.streams.read_table`. With `target`, frames of pandas
        or polars, or tables and record batches of pyarrow, such as
        ``pandas.read_csv(..., chunksize=1000)`` gives. Chunks without rows are passed
        over.
    metrics : str, list of str or dict, default=None
        By default "neg_log_loss" and "accuracy" for a classifier that has
        probabilities, "accuracy" for any other, and "neg_mean_absolute_error" in
        regression. Otherwise names of scikit-learn's metrics, see
        :func:`~sklearn.metrics.get_scorer_names`. Or a dict from names of your own to
        such names or to what :func:`~sklearn.metrics.make_scorer` makes. As for all of
        scikit-learn's scores greater is better, so that losses are negative. Memory
        does not grow with the stream for means over rows (such as "neg_log_loss" and
        "neg_mean_absolute_error"), nor for "r2", nor for metrics of predicted labels
        (such as "accuracy" and "f1"); for all others (such as "roc_auc") the labels and
        predictions are kept. All are exact.
    classes : array-like of shape (n_classes,), default=None
        All classes of the stream. Without them, a classifier that is not fitted is told
        those of the first chunk, and raises an error at the first label that is none of
        them; one with ``new_classes="add"`` takes classes as they come. Predictions
        from before a class came up give it the probability 0, and the decision value
        -inf; a label that has the probability 0 costs about 36 in
        :func:`~sklearn.metrics.log_loss`, which clips it.
    target : str, default=None
        Name of the column to predict, if the stream consists of frames.
    window : int, default=None
        If given, the latest so many rows are scored as well, which shows how the
        quality changes along the stream. Their labels and predictions are kept.
    progress : bool, default=True
        Whether to show a progress bar where the stream takes longer than a second.
        Needs tqdm; without it there is no bar.

    Returns
    -------
    result : ProgressiveValidationResult
        The final scores, their running curves, and the time spent.

    Raises
    ------
    ValueError
        If the stream is empty or its chunks are none of these, if no row
        of it could be scored, or if a metric is unknown. What the estimator does not
        accept raises its own errors. An error in the middle of the stream, the stream's
        own as well, has a note that names the chunk, and an attribute `result` with the
        scores up to there, if there were any.
    TypeError
        If the estimator has no `partial_fit`.

    References
    ----------
    .. [1] A. Blum, A. Kalai and J. Langford (1999). "Beating the hold-out: bounds for
       k-fold and progressive cross-validation". COLT.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_scinol import ScInOLClassifier
    >>> from sklearn_scinol.evaluation import progressive_validation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> def stream():
    ...     for start in range(0, len(y), 10):
    ...         yield X[start : start + 10], y[start : start + 10]
    >>> result = progressive_validation(
    ...     ScInOLClassifier(), stream(), metrics="accuracy", classes=[0, 1]
    ... )
    >>> round(result.scores["accuracy"], 3)
    0.956
    >>> baseline = make_pipeline(StandardScaler(), SGDClassifier(random_state=0))
    >>> result = progressive_validation(
    ...     baseline, stream(), metrics="accuracy", classes=[0, 1]
    ... )
    >>> round(result.scores["accuracy"], 3)
    0.923
    """
    if window is not None:
        check_scalar(window, "window", Integral, min_val=1)
        window = int(window)
    learner = Learner(estimator, metrics, classes)
    running = RunningScores(learner.scorers, learner.is_classifier, window)
    n_chunks = n_rows = 0
    y = None

    def result():
        return ProgressiveValidationResult(
            estimator, seconds=learner.seconds, **running.finish()
        )

    with _progress_bar(progress) as bar:
        try:
            for chunk in stream:
                X, y, sample_weight = _unpack(chunk, target)
                if y.shape[0]:
                    if learner.is_classifier:
                        y = column_or_1d(y, warn=True)
                    answers = learner.answer_and_learn(X, y, sample_weight)
                    if answers is not None:
                        running.add(y, answers, sample_weight, learner.classes)
                n_chunks, n_rows = n_chunks + 1, n_rows + y.shape[0]
                if bar is not None:
                    bar.set_postfix(running.latest(), refresh=False)
                    bar.update(y.shape[0])
        except Exception as error:
            error.add_note(
                f"This happened at chunk {n_chunks} of the stream, counted from 0, "
                f"after {n_rows} rows."
            )
            # A metric may fail again, and must not take the place of what failed.
            with suppress(Exception):
                error.result = result()  # type: ignore[attr-defined]
            with suppress(Exception):
                if learner.lacks_classes(y):
                    error.add_note(
                        "The classes are those of the first chunk: pass classes= with "
                        "all of them."
                    )
            raise
    if n_rows == 0:
        raise ValueError("The stream is empty.")
    return result()


def _unpack(chunk, target):
    """X, y and sample_weight of a chunk."""
    if target is not None:
        if not hasattr(chunk, "columns"):
            raise ValueError(
                "With target=, the stream must consist of frames; got "
                f"{type(chunk).__name__}."
            )
        columns = list(chunk.column_names if _is_arrow(chunk) else chunk.columns)
        if target not in columns:
            raise ValueError(
                f"The target {target!r} is none of the columns of the frame: {columns}."
            )
        features = [column for column in columns if column != target]
        X = chunk.select(features) if _is_arrow(chunk) else chunk[features]
        return X, _as_array(chunk[target]), None
    if not isinstance(chunk, (tuple, list)) or len(chunk) not in (2, 3):
        raise ValueError(
            "The stream must consist of (X, y) or (X, y, sample_weight), or of frames "
            f"with target= naming a column; got {type(chunk).__name__}."
        )
    X, y, sample_weight = (*chunk, None)[:3]
    if sample_weight is not None:
        sample_weight = _as_array(sample_weight)
    return X, _as_array(y), sample_weight


def _is_arrow(values):
    """Whether these are a table, a batch or a column of pyarrow."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(
        values, (arrow.Table, arrow.RecordBatch, arrow.Array, arrow.ChunkedArray)
    )


def _as_array(column):
    if not _is_arrow(column):
        return np.asarray(column)
    from ..streams.columns import as_array

    return as_array(column)


def _progress_bar(progress):
    """A bar that appears after a second; None where there is none to show."""
    if not progress:
        return nullcontext()
    try:
        from tqdm import tqdm
    except ImportError:
        return nullcontext()
    return tqdm(unit=" rows", unit_scale=True, delay=1)


class Learner:
    """An estimator, and how to have it answer before it learns."""

    def __init__(self, estimator, metrics, classes):
        steps = [("", estimator)]
        answers_itself = hasattr(estimator, "partial_fit_predict")
        if isinstance(estimator, Pipeline) and not answers_itself:
            steps = estimator.steps
        self.transformers = [
            step for _, step in steps[:-1] if step not in (None, "passthrough")
        ]
        self.predictor = steps[-1][1]
        self.by_row = hasattr(self.predictor, "partial_fit_predict")
        if not hasattr(self.predictor, "partial_fit"):
            raise TypeError(
                "progressive_validation needs an estimator with partial_fit, which "
                f"{type(self.predictor).__name__} does not have."
            )
        self.fitted = _is_fitted(self.predictor)
        self.first_call = {}
        self.is_classifier = is_classifier(self.predictor)
        if self.is_classifier and classes is not None:
            # Given again, they are for a fitted estimator to check.
            self.first_call = {"classes": np.unique(classes)}
        self.guesses_classes = (
            self.is_classifier
            and not self.fitted
            and classes is None
            and not _adds_classes(self.predictor)
        )
        if metrics is None:
            metrics = default_metrics(self.predictor)
        self.scorers = make_scorers(metrics)
        self.methods = self._find_methods()
        self.seconds = 0.0

    def _find_methods(self):
        """The methods whose answers the metrics need."""
        methods = []
        for name, scorer in self.scorers.items():
            accepted = accepted_methods(scorer)
            usable = [method for method in accepted if hasattr(self.predictor, method)]
            if not usable:
                raise AttributeError(
                    f"The metric {name!r} needs {' or '.join(accepted)}, which "
                    f"{type(self.predictor).__name__} does not have."
                )
            methods.append(usable[0])
        if not self.by_row:
            return list(dict.fromkeys(methods))
        # One pass gives the answers of one method; labels follow from each of them.
        for method in ("predict", "decision_function", "predict_proba"):
            if hasattr(self.predictor, method) and all(
                {"predict", method} & set(accepted_methods(scorer))
                for scorer in self.scorers.values()
            ):
                return [method]
        raise ValueError(
            f"The metrics {list(self.scorers)} need different kinds of predictions; "
            "only labels go together with others in one pass."
        )

    def answer_and_learn(self, X, y, sample_weight):
        """Predictions to the rows from before their labels were used, for each method.

        None if the estimator had to learn before it can answer.
        """
        start = perf_counter()
        for transformer in self.transformers:
            if hasattr(transformer, "partial_fit"):
                transformer.partial_fit(X)
            X = transformer.transform(X)
        if self.guesses_classes and not self.fitted:
            self.first_call = {"classes": np.unique(y)}
        parameters = self.first_call
        if sample_weight is not None:
            parameters = {**parameters, "sample_weight": sample_weight}
        answers = None
        if self.by_row:
            (method,) = self.methods
            answer = self.predictor.partial_fit_predict(
                X, y, method=method, **parameters
            )
            answers = self._with_labels(method, answer)
        else:
            if self.fitted:
                answers = {
                    method: getattr(self.predictor, method)(X)
                    for method in self.methods
                }
            self.predictor.partial_fit(X, y, **parameters)
        self.fitted = True
        self.first_call = {}
        self.seconds += perf_counter() - start
        return answers

    def answer(self, X):
        """Predictions to rows that are not learned, of an estimator that is fitted."""
        for transformer in self.transformers:
            X = transformer.transform(X)
        answers = {
            method: getattr(self.predictor, method)(X) for method in self.methods
        }
        if self.by_row:
            (method,) = self.methods
            answers = self._with_labels(method, answers[method])
        return answers

    @property
    def classes(self):
        """Those that the estimator knows, and its answers are about."""
        return self.predictor.classes_ if self.is_classifier else None

    def lacks_classes(self, y):
        """Whether labels are more than the classes of the first chunk, or those few."""
        if not self.guesses_classes or y is None:
            return False
        classes = self.classes if self.fitted else self.first_call["classes"]
        return classes.size < 2 or not np.isin(y, classes).all()

    def _with_labels(self, method, answer):
        """The answers of a method, and the labels that follow from them."""
        if method == "predict":
            labels = answer
        elif answer.ndim == 1:
            labels = self.classes[(answer > 0).astype(np.intp)]
        else:
            labels = self.classes[answer.argmax(axis=1)]
        return {method: answer, "predict": labels}


def _adds_classes(estimator):
    """Whether classes may come later, as a parameter of the last step says."""
    if isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return getattr(estimator, "new_classes", None) == "add"


def _is_fitted(estimator):
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True
