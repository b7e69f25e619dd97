"""Progressive validation: predict each row, then learn it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_scalar
from sklearn.utils.validation import column_or_1d

from .._typing import Labels
from .._validation import is_fitted
from ..engines.clock import learning_time, stopped
from ..estimators.labels import as_indicators, is_multilabel
from ..estimators.rehearsal import adds_classes
from ..tables.frames import library_of
from .arrivals import Arrivals
from .late import DelayedEstimator
from .monitor import Alarm, LossMonitor
from .scores import RunningScores, accepted_methods, default_metrics, make_scorers


@dataclass(frozen=True, eq=False)
class ProgressiveValidationResult:
    """Result of :func:`~sklearn_scinol.evaluation.progressive_validation`.

    Parameters
    ----------
    estimator : object
        The estimator, which has learned the stream.
    scores : dict of str to float
        Value of each metric over all rows scored.
    n_samples : ndarray of shape (n_points,)
        Number of rows scored up to each point of the curves: every row up to the tenth,
        then 10 % apart, and the last one. Rows of weight 0 do not count.
    curves : dict of str to ndarray of shape (n_points,)
        Value of each metric over all rows up to each point; nan where it is undefined,
        as the area under the ROC curve with one class.
    seconds : float
        Time for predicting and learning, without reading, scoring and compiling.
    window : int or None
        Size of the window of latest rows.
    window_n_samples : ndarray of shape (n_window_points,) or None
        Number of rows scored up to each point of `window_curves`: a quarter of the
        window apart, and the last one.
    window_curves : dict of str to ndarray of shape (n_window_points,) or None
        Value of each metric over the latest `window` rows, or all if there are fewer.
    alarms : list of Alarm or None
        Alarms of the monitor, with rows counted as in `n_samples`.
    """

    estimator: object
    scores: dict[str, float]
    n_samples: np.ndarray = field(repr=False)
    curves: dict[str, np.ndarray] = field(repr=False)
    seconds: float
    window: int | None
    window_n_samples: np.ndarray | None = field(repr=False)
    window_curves: dict[str, np.ndarray] | None = field(repr=False)
    alarms: list[Alarm] | None


def progressive_validation(
    estimator: Any,
    stream: Iterable[Any],
    *,
    metrics: str | list[str] | dict[str, Any] | None = None,
    classes: Labels | None = None,
    target: str | None = None,
    window: int | None = None,
    delay: float | str | timedelta | None = None,
    time: str | int | None = None,
    label_time: str | int | None = None,
    monitor: LossMonitor | None = None,
    progress: bool = True,
) -> ProgressiveValidationResult:
    """Score an estimator on a stream, each row predicted before it is learned.

    Each row is a test and then a training row, so all data serve as both and no
    prediction has seen its label [1]_. The estimator is neither cloned nor reset: it
    goes on from where it is, and has learned the stream afterwards.

    How closely a prediction follows the row before depends on the estimator:

    - An estimator with `partial_fit_predict`, as in this package, predicts each row
      after learning all rows before it. The size of the chunks changes nothing.
    - Any other with `partial_fit` predicts a whole chunk, then learns it. Chunks of one
      row make that exact too, at the price of two calls a row. If it is not fitted, it
      learns the first chunk without being scored on it: let that chunk be small.
    - A :class:`~sklearn.pipeline.Pipeline` is treated as its last step. Before a chunk
      is predicted, the other steps see its features, never its labels: steps with
      `partial_fit`, as :class:`~sklearn.preprocessing.StandardScaler`, learn from the
      chunk and transform it; others only transform it, and must be stateless or fitted.

    *Late labels.* With a `delay` of d rows, the label of a row is known once d more
    rows have come. With `time`, the column with the times of rows, it is known once the
    `delay` has passed, such as "2d", or at the time in the column `label_time`. A row
    is predicted by exactly what was known at its time: by rows whose labels were known
    by then, and in a pipeline by the features of all rows before it. What waits are
    the rows as they were encoded when they came, and their predictions; losses that
    decide about experts, intervals and sets are those of these predictions.

    - So it is by an estimator with `row_by_row`, as all estimators of this package and
      an :class:`~sklearn_scinol.pipeline.OnlinePipeline` that ends in one. The size of
      the chunks changes nothing. Each row is learned as by
      ``row_by_row().with_late_labels()``.
    - Any other, and a :class:`~sklearn.pipeline.Pipeline` as a whole, predicts a chunk,
      then learns the rows whose labels have come by the end of the chunk, as a whole.

    Rows that come before the first label is learned are not scored, unless the
    estimator is fitted. Scores are of rows in the order of their labels. At the end of
    the stream the waiting rows are learned and scored as well, but for rows whose
    `label_time` is missing: their labels never come. Only waiting rows are kept.

    Parameters
    ----------
    estimator : object
        Classifier or regressor with `partial_fit`, or a pipeline that ends in one.
    stream : iterable
        Chunks of rows, each `(X, y)` or `(X, y, sample_weight)` with whatever the
        estimator takes: arrays, sparse matrices, frames, tables, for instance from
        :func:`~sklearn_scinol.streams.read_table`. With `target`, frames of pandas or
        polars, or tables and record batches of pyarrow, for instance from
        ``pandas.read_csv(..., chunksize=1000)``. Empty chunks are skipped.
    metrics : str, list of str or dict, default=None
        Names of scikit-learn's metrics, see :func:`~sklearn.metrics.get_scorer_names`,
        or a dict from your own names to these or to results of
        :func:`~sklearn.metrics.make_scorer`. Greater is better: losses are negative.
        None stands for "neg_log_loss" and "accuracy" of a classifier with
        probabilities, "accuracy" of any other, "neg_mean_absolute_error" in regression;
        with a list of quantiles the mean over them, "neg_mean_pinball_loss".
        With several labels a row "neg_log_loss" and "neg_brier_score" are means over
        labels, and "accuracy" the share of rows of which all labels are right.
        :class:`~sklearn_scinol.OnlineConformalRegressor` also has "coverage" and
        "mean_width" of its intervals, for one level; infinite ones do not count.
        "neg_mean_pinball_loss" is of the estimator's `quantile`. Names may be as scores
        are printed, such as "log loss"; results have them as here.
        All are exact. Memory stays constant for means over rows, "r2" and metrics of
        predicted labels (as "f1"); others (as "roc_auc") keep labels and predictions.
    classes : array-like of shape (n_classes,), default=None
        All classes of the stream. None stands for the classes of the first chunk if the
        classifier is not fitted; with ``new_classes="add"`` it takes classes as they
        come. Predictions made before a class came up give it the probability 0 and the
        decision value -inf; such a label costs about 36 in
        :func:`~sklearn.metrics.log_loss`, which clips it.
    target : str, default=None
        Name of the column to predict, if the stream consists of frames.
    window : int, default=None
        Number of latest rows to score as well, which shows how the quality changes
        along the stream. Their labels and predictions are kept.
    delay : int, float, str or timedelta, default=None
        Time between a row and its label: a number of rows that come in between; with
        `time` a time such as "2d", "12h", "90min" or "1w", or a number in the unit of
        `time`. None and 0 rows stand for labels that come before the next row.
    time : str or int, default=None
        Name of the column with the time of each row, of dates or numbers, or its number
        in an array. It stays among the features. Times ascend: one before the last
        counts as the last, and so does a missing one.
    label_time : str or int, default=None
        Column with the time at which each label was known, instead of a `delay`. It is
        no feature: estimators do not see it. Rows where it is missing are observed, but
        never learned or scored.
    monitor : LossMonitor, default=None
        Monitor that raises alarms when the losses of the rows have changed, such as
        ``LossMonitor()``; it goes on from where it is. The loss is the log loss if a
        metric needs probabilities, as by default; otherwise 1 for a wrong label and 0
        for a right one; in regression the absolute error, the mean of it over outputs.
    progress : bool, default=True
        Whether to show a progress bar on a terminal or in a notebook, if tqdm is
        installed and the stream takes over a second. Its time leaves compiling out.

    Returns
    -------
    result : ProgressiveValidationResult
        The final scores, their running curves, and the time spent.

    Raises
    ------
    ValueError
        If the stream is empty, has other chunks, or no row to score, or if a metric is
        unknown. The estimator raises its own errors. Any error in the middle of the
        stream has a note that names the chunk, and an attribute `result` with the
        scores so far, if any.
    TypeError
        If the estimator has no `partial_fit`, or the monitor is no
        :class:`LossMonitor`.

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
    arrivals = None
    if time is not None or label_time is not None or delay is not None:
        arrivals = Arrivals(delay, time, label_time)
    if monitor is not None and not isinstance(monitor, LossMonitor):
        raise TypeError(f"monitor must be a LossMonitor or None; got {monitor!r}.")
    learner = ProgressiveEstimator(estimator, metrics, classes)
    follower: Any = learner
    if arrivals is not None and (arrivals.delay or time is not None):
        follower = DelayedEstimator(learner, arrivals)
    running = RunningScores(learner.scorers, window, monitor)
    n_chunks = n_rows = 0
    y = None

    def add(scored):
        for labels, predictions, weights in scored:
            running.add(labels, predictions, weights, learner.classes)

    def result():
        fields = running.finish()
        return ProgressiveValidationResult(estimator, seconds=learner.seconds, **fields)

    with _progress_bar(progress) as bar:
        try:
            for chunk in stream:
                X, y, sample_weight = _unpack(chunk, target)
                if y.shape[0]:
                    if learner.is_classifier:
                        y = _as_labels(y)
                    add(follower.follow(X, y, sample_weight))
                n_chunks, n_rows = n_chunks + 1, n_rows + y.shape[0]
                if bar is not None:
                    bar.set_postfix(running.latest(), refresh=False)
                    bar.update(y.shape[0])
            add(follower.finish())
        except Exception as error:
            error.add_note(
                f"This happened at chunk {n_chunks} of the stream, counted from 0, "
                f"after {n_rows} rows."
            )
            # A metric may fail again, and must not hide the first error.
            with suppress(Exception):
                error.result = result()  # type: ignore[attr-defined]
            with suppress(Exception):
                if follower.lacks_classes(y):
                    error.add_note(
                        "The classes are from the first chunk: pass classes= with "
                        "all of them."
                    )
            raise
    if n_rows == 0:
        raise ValueError("The stream is empty.")
    return result()


def _unpack(chunk, target):
    """Return X, y and sample_weight of a chunk."""
    if target is not None:
        if not hasattr(chunk, "columns"):
            raise ValueError(
                "With target=, the stream must consist of frames; got "
                f"{type(chunk).__name__}. Pass a single frame as [frame]."
            )
        is_arrow = library_of(chunk) == "pyarrow"
        columns = list(chunk.column_names if is_arrow else chunk.columns)
        if target not in columns:
            raise ValueError(f"There is no column {target!r} (columns: {columns}).")
        features = [column for column in columns if column != target]
        X = chunk.select(features) if is_arrow else chunk[features]
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


def _as_array(column):
    if sparse.issparse(column):
        return column
    if library_of(column) != "pyarrow":
        return np.asarray(column)
    from ..streams.columns import as_array

    return as_array(column)


def _as_labels(y):
    """Return labels of rows: one each, or a matrix that says which labels each has."""
    return as_indicators(y) if is_multilabel(y) else column_or_1d(y, warn=True)


def _progress_bar(progress):
    """Return a bar that appears after a second, or a context without one."""
    if not progress:
        return nullcontext()
    try:
        from tqdm import tqdm
    except ImportError:
        return nullcontext()

    class LearningBar(tqdm):
        """Bar whose time stands still while loops are compiled."""

        stopped = stopped()

        def update(self, n=1):
            pause, self.stopped = stopped() - self.stopped, stopped()
            if not self.disable:  # as by TQDM_DISABLE, or without a terminal
                self.start_t += pause
                self.last_print_t += pause
            return super().update(n)

    # None: without a terminal, which the output of a notebook is not either.
    disable = False if "ipykernel" in sys.modules else None
    return LearningBar(unit=" rows", unit_scale=True, delay=1, disable=disable)


class ProgressiveEstimator:
    """An estimator that predicts the rows of a chunk, then learns them."""

    def __init__(self, estimator, metrics, classes):
        steps = [estimator]
        is_one_step = hasattr(estimator, "partial_fit_predict")
        if isinstance(estimator, Pipeline) and not is_one_step:
            steps = [step for _, step in estimator.steps]
        *transformers, self.predictor = steps
        self.transformers = [t for t in transformers if t not in (None, "passthrough")]
        self.predicts_by_row = hasattr(self.predictor, "partial_fit_predict")
        if not hasattr(self.predictor, "partial_fit"):
            raise TypeError(
                "progressive_validation needs an estimator with partial_fit, which "
                f"{type(self.predictor).__name__} does not have."
            )
        self.is_fitted = is_fitted(self.predictor)
        self.first_call = {}
        self.is_classifier = is_classifier(self.predictor)
        if self.is_classifier and classes is not None:
            # A fitted estimator checks them.
            self.first_call = {"classes": np.unique(classes)}
        self.infers_classes = (
            self.is_classifier
            and not self.is_fitted
            and classes is None
            and not adds_classes(self.predictor)
        )
        if metrics is None:
            metrics = default_metrics(self.predictor)
        self.scorers = make_scorers(metrics, self.predictor)
        self.methods = self._find_methods()
        self.seconds = 0.0
        self.is_multilabel = False

    def _find_methods(self):
        """Return names of the methods whose predictions the metrics need."""
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
        if not self.predicts_by_row:
            return list(dict.fromkeys(methods))
        both = ["predict", "predict_interval"]
        if "predict_interval" in methods and {*methods} <= {*both}:
            return both
        # One pass gives predictions of one method, from which labels follow.
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

    def follow(self, X, y, sample_weight):
        """Predict and learn the next rows of a stream.

        Return what is scored by now, in blocks: labels, predictions by method, weights.
        """
        start = learning_time()
        X = self._learn_features(X)
        self.infer_classes(y)
        predictions = None
        if self.predicts_by_row:
            method = self.methods[0] if len(self.methods) == 1 else self.methods
            learn = self.predictor.partial_fit_predict
            prediction = self.learn_by(learn, X, y, sample_weight, method=method)
            predictions = self.with_labels(prediction)
        else:
            if self.is_fitted:
                predictions = self._predict_transformed(X)
            self.learn_by(self.predictor.partial_fit, X, y, sample_weight)
        self.seconds += learning_time() - start
        return [] if predictions is None else [(y, predictions, sample_weight)]

    def finish(self):
        """Return what is scored when the stream has ended, see :meth:`follow`."""
        return []

    def learn(self, X, y, sample_weight):
        """Learn rows without predicting them."""
        X = self._learn_features(X)
        self.learn_by(self.predictor.partial_fit, X, y, sample_weight)

    def learn_by(self, learn, X, y, sample_weight, **parameters):
        """Learn transformed rows by a method of the predictor; return its result."""
        parameters |= self.first_call
        if sample_weight is not None:
            parameters["sample_weight"] = sample_weight
        result = learn(X, y, **parameters)
        self.is_fitted = True
        self.first_call = {}
        return result

    def infer_classes(self, y):
        """Take the classes from the labels of the first chunk, if none are given."""
        self.is_multilabel = self.is_classifier and y.ndim == 2
        if self.infers_classes and not (self.is_fitted or self.first_call):
            classes = np.arange(y.shape[1]) if self.is_multilabel else np.unique(y)
            self.first_call = {"classes": classes}

    def _learn_features(self, X):
        """Learn and transform rows by all steps but the last."""
        for transformer in self.transformers:
            if hasattr(transformer, "partial_fit"):
                transformer.partial_fit(X)
            X = transformer.transform(X)
        return X

    def predict(self, X):
        """Return predictions for rows that are not learned, by method."""
        for transformer in self.transformers:
            X = transformer.transform(X)
        predictions = self._predict_transformed(X)
        if self.predicts_by_row and len(self.methods) == 1:
            predictions = self.with_labels(predictions[self.methods[0]])
        return predictions

    def _predict_transformed(self, X):
        return {method: getattr(self.predictor, method)(X) for method in self.methods}

    @property
    def classes(self):
        """Classes that the estimator knows; None in regression."""
        return self.predictor.classes_ if self.is_classifier else None

    def knows(self, y):
        """Whether all labels are of classes that are known."""
        if not self.is_classifier or self.is_multilabel:
            return True
        return bool(np.isin(y, self.classes).all())

    def lacks_classes(self, y):
        """Whether the first chunk had fewer classes than the stream, or only one."""
        if not self.infers_classes or self.is_multilabel or y is None:
            return False
        classes = self.classes if self.is_fitted else self.first_call["classes"]
        return classes.size < 2 or not np.isin(y, classes).all()

    def with_labels(self, prediction):
        """Return predictions by method, and the labels that those of one imply."""
        if len(self.methods) > 1:
            return dict(zip(self.methods, prediction, strict=True))
        (method,) = self.methods
        if method == "predict":
            labels = prediction
        elif self.is_multilabel:
            middle = 0.5 if method == "predict_proba" else 0.0
            labels = (prediction > middle).astype(np.intp)
        elif prediction.ndim == 1:
            labels = self.classes[(prediction > 0).astype(np.intp)]
        else:
            labels = self.classes[prediction.argmax(axis=1)]
        return {method: prediction, "predict": labels}
