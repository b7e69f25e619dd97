"""Progressive validation: each row of a stream is predicted before it is learned."""

import warnings
from contextlib import nullcontext
from dataclasses import dataclass, field
from inspect import signature
from time import perf_counter

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    is_classifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.metrics import (
    brier_score_loss,
    get_scorer,
    log_loss,
    make_scorer,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_gamma_deviance,
    mean_poisson_deviance,
    mean_squared_error,
    mean_squared_log_error,
    top_k_accuracy_score,
)
from sklearn.pipeline import Pipeline
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ._curves import point_after

__all__ = [
    "ProgressiveValidationDisplay",
    "ProgressiveValidationResult",
    "progressive_validation",
]

#: Metrics that are means over rows, so that blocks of rows can be scored one by one.
_MEANS_OVER_ROWS = {
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_gamma_deviance,
    mean_poisson_deviance,
    mean_squared_error,
    mean_squared_log_error,
    top_k_accuracy_score,
}

# No more rows than this wait for being scored, however far the next point is.
_MAX_WAITING_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class ProgressiveValidationResult:
    """What :func:`progressive_validation` returns.

    Attributes
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
    """

    estimator: object
    scores: dict
    n_samples: np.ndarray = field(repr=False)
    curves: dict = field(repr=False)
    seconds: float


def progressive_validation(
    estimator, stream, *, metrics, classes=None, target=None, progress=True
):
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
        estimator takes: arrays, sparse matrices, frames. With `target`, frames, such as
        ``pandas.read_csv(..., chunksize=1000)`` gives.
    metrics : str, list of str or dict
        Names of scikit-learn's metrics, see
        :func:`~sklearn.metrics.get_scorer_names`. Or a dict from names of your own to
        such names or to what :func:`~sklearn.metrics.make_scorer` makes. As for all of
        scikit-learn's scores greater is better, so that losses are negative. Memory
        does not grow with the stream for means over rows (such as "neg_log_loss" and
        "neg_mean_absolute_error") nor for metrics of predicted labels (such as
        "accuracy" and "f1"); for all others (such as "roc_auc" and "r2") the labels and
        predictions are kept. All are exact.
    classes : array-like of shape (n_classes,), default=None
        All classes of the stream. Needed for a classifier that is not fitted.
    target : str, default=None
        Name of the column to predict, if the stream consists of frames.
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
        If the stream is empty or consists of something else than said above, if no row
        of it could be scored, if a metric is unknown, or if classes are missing. What
        the estimator does not accept raises its own errors.
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
    learner = _Learner(estimator, metrics, classes)
    running = _RunningScores(learner.scorers, learner.classes)
    empty = True
    with _progress_bar(progress) as bar:
        for chunk in stream:
            empty = False
            X, y, sample_weight = _unpack(chunk, target)
            if learner.classes is not None:
                y = column_or_1d(y, warn=True)
            answers = learner.answer_and_learn(X, y, sample_weight)
            if answers is not None:
                running.add(y, answers, sample_weight)
            if bar is not None:
                bar.set_postfix(running.latest(), refresh=False)
                bar.update(y.shape[0])
    if empty:
        raise ValueError("The stream is empty.")
    return ProgressiveValidationResult(estimator, *running.finish(), learner.seconds)


class ProgressiveValidationDisplay:
    """Running score of an estimator on a stream, as a curve over the rows.

    Create it with :meth:`from_result` or :meth:`from_estimator`. To compare estimators,
    draw further ones on the `ax_` of the first.

    Parameters
    ----------
    n_samples : ndarray of shape (n_points,)
        Number of rows scored up to each point.
    scores : ndarray of shape (n_points,)
        Score over all rows up to each point.
    score_name : str, default=None
        Name of the score, in scikit-learn's manner, such as "neg_log_loss".
    name : str, default=None
        Name of the estimator, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curve.
    figure_ : matplotlib Figure
        Figure with the axes.
    line_ : matplotlib Line2D
        The curve.

    See Also
    --------
    progressive_validation : What computes the scores.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn_scinol import ScInOLClassifier
    >>> from sklearn_scinol.evaluation import (
    ...     ProgressiveValidationDisplay, progressive_validation
    ... )
    >>> X, y = load_wine(return_X_y=True)
    >>> result = progressive_validation(
    ...     ScInOLClassifier(), [(X, y)], metrics="neg_log_loss", classes=[0, 1, 2]
    ... )
    >>> display = ProgressiveValidationDisplay.from_result(result, negate_score=True)
    >>> display.ax_.get_ylabel()
    'Log loss'
    """

    def __init__(self, *, n_samples, scores, score_name=None, name=None):
        self.n_samples = n_samples
        self.scores = scores
        self.score_name = score_name
        self.name = name

    @classmethod
    def from_result(
        cls, result, *, metric=None, name=None, negate_score=False, ax=None, **kwargs
    ):
        """Draw a curve of a result of :func:`progressive_validation`.

        Parameters
        ----------
        result : ProgressiveValidationResult
            The result.
        metric : str, default=None
            Which of its metrics to draw. None stands for the first.
        name : str, default=None
            Name for the legend. None stands for the estimator's class.
        negate_score : bool, default=False
            Whether to draw the score with the opposite sign: a loss as a loss.
        ax : matplotlib Axes, default=None
            Axes to draw on. None stands for a new figure.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : ProgressiveValidationDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the result has no such metric.
        """
        if metric is None:
            metric = next(iter(result.curves))
        if metric not in result.curves:
            raise ValueError(
                f"The result has no metric {metric!r}, only {list(result.curves)}."
            )
        display = cls(
            n_samples=result.n_samples,
            scores=result.curves[metric],
            score_name=metric,
            name=type(result.estimator).__name__ if name is None else name,
        )
        return display.plot(ax, negate_score=negate_score, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator,
        stream,
        *,
        metrics,
        classes=None,
        target=None,
        progress=True,
        name=None,
        negate_score=False,
        ax=None,
        **kwargs,
    ):
        """Run :func:`progressive_validation` and draw its first metric.

        Parameters
        ----------
        estimator, stream, metrics, classes, target, progress
            As in :func:`progressive_validation`.
        name, negate_score, ax, **kwargs
            As in :meth:`from_result`.

        Returns
        -------
        display : ProgressiveValidationDisplay
            The display, drawn.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        result = progressive_validation(
            estimator,
            stream,
            metrics=metrics,
            classes=classes,
            target=target,
            progress=progress,
        )
        return cls.from_result(
            result, name=name, negate_score=negate_score, ax=ax, **kwargs
        )

    def plot(self, ax=None, *, name=None, negate_score=False, **kwargs):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None stands for a new figure.
        name : str, default=None
            Name for the legend. None stands for that of the display.
        negate_score : bool, default=False
            Whether to draw the score with the opposite sign: a loss as a loss.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : ProgressiveValidationDisplay
            The display itself.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        name = self.name if name is None else name
        if name is not None:
            kwargs = {"label": name, **kwargs}
        scores = np.negative(self.scores) if negate_score else self.scores
        (self.line_,) = ax.plot(self.n_samples, scores, **kwargs)
        ax.set(xlabel="Rows", ylabel=_score_label(self.score_name, negate_score))
        if self.line_.get_label() and not self.line_.get_label().startswith("_"):
            ax.legend()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _score_label(score_name, negate_score):
    """Words for a score: "Log loss" for the negated "neg_log_loss"."""
    name = "score" if score_name is None else score_name
    positive = name.removeprefix("neg_")
    negative = negate_score == (name == positive)
    label = f"negative {positive}" if negative else positive
    return label.replace("_", " ").capitalize()


def _unpack(chunk, target):
    """X, y and sample_weight of a chunk."""
    if target is not None:
        if not hasattr(chunk, "columns"):
            raise ValueError(
                "With target=, the stream must consist of frames; got "
                f"{type(chunk).__name__}."
            )
        columns = list(chunk.columns)
        if target not in columns:
            raise ValueError(
                f"The target {target!r} is none of the columns of the frame: {columns}."
            )
        features = [column for column in columns if column != target]
        return chunk[features], np.asarray(chunk[target]), None
    if not isinstance(chunk, (tuple, list)) or len(chunk) not in (2, 3):
        raise ValueError(
            "The stream must consist of (X, y) or (X, y, sample_weight), or of frames "
            f"with target= naming a column; got {type(chunk).__name__}."
        )
    X, y, sample_weight = (*chunk, None)[:3]
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight)
    return X, np.asarray(y), sample_weight


def _progress_bar(progress):
    """A bar that appears after a second; None where there is none to show."""
    if not progress:
        return nullcontext()
    try:
        from tqdm import tqdm
    except ImportError:
        return nullcontext()
    return tqdm(unit=" rows", unit_scale=True, delay=1)


class _Learner:
    """An estimator, and how to have it answer before it learns."""

    def __init__(self, estimator, metrics, classes):
        steps = [("", estimator)]
        if isinstance(estimator, Pipeline):
            steps = estimator.steps
        self.transformers = [
            step for _, step in steps[:-1] if step not in (None, "passthrough")
        ]
        self.predictor = steps[-1][1]
        if not hasattr(self.predictor, "partial_fit"):
            raise TypeError(
                "progressive_validation needs an estimator with partial_fit, which "
                f"{type(self.predictor).__name__} does not have."
            )
        self.fitted = _is_fitted(self.predictor)
        self.first_call = {}
        self.classes = None
        if is_classifier(self.predictor):
            if classes is not None:
                self.first_call = {"classes": np.unique(classes)}
            elif not self.fitted:
                raise ValueError(
                    "classes must be passed for a classifier that is not fitted: the "
                    "first chunk need not hold all of them."
                )
            # Given again, they are for a fitted estimator to check.
            self.classes = (
                self.predictor.classes_ if self.fitted else self.first_call["classes"]
            )
        self.scorers = _make_scorers(metrics, self.classes)
        self.by_row = hasattr(self.predictor, "partial_fit_predict")
        self.methods = self._find_methods()
        self.seconds = 0.0

    def _find_methods(self):
        """The methods whose answers the metrics need."""
        methods = []
        for name, scorer in self.scorers.items():
            accepted = _accepted_methods(scorer)
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
                {"predict", method} & set(_accepted_methods(scorer))
                for scorer in self.scorers.values()
            ):
                return [method]
        raise ValueError(
            f"The metrics {list(self.scorers)} need different kinds of predictions; "
            "only labels go together with others in one pass."
        )

    def answer_and_learn(self, X, y, sample_weight):
        """Answers to the rows from before their labels were used, for each method.

        None if the estimator had to learn before it can answer.
        """
        start = perf_counter()
        for transformer in self.transformers:
            if hasattr(transformer, "partial_fit"):
                transformer.partial_fit(X)
            X = transformer.transform(X)
        parameters = self.first_call
        if sample_weight is not None:
            parameters = {**parameters, "sample_weight": sample_weight}
        answers = None
        if self.by_row:
            (method,) = self.methods
            answer = self.predictor.partial_fit_predict(
                X, y, method=method, **parameters
            )
            answers = {"predict": self._labels(method, answer), method: answer}
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

    def _labels(self, method, answer):
        if method == "predict":
            return answer
        if answer.ndim == 1:
            return self.classes[(answer > 0).astype(np.intp)]
        return self.classes[answer.argmax(axis=1)]


def _is_fitted(estimator):
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _make_scorers(metrics, classes):
    """The scorers by name, told of the classes.

    What else is asked of them here they keep in private attributes, which have been the
    same since scikit-learn 1.4: `_score_func`, `_kwargs`, `_sign`, `_response_method`.
    """
    if isinstance(metrics, str):
        metrics = [metrics]
    if not isinstance(metrics, dict):
        metrics = {name: name for name in metrics}
    if not metrics:
        raise ValueError("At least one metric is needed.")
    scorers = {}
    for name, metric in metrics.items():
        scorer = get_scorer(metric) if isinstance(metric, str) else metric
        if not hasattr(scorer, "_score_func"):
            raise ValueError(
                f"The metric {name!r} must be a name of scikit-learn's or made by "
                f"sklearn.metrics.make_scorer; got {metric!r}."
            )
        scorers[name] = _with_labels(scorer, classes)
    return scorers


def _with_labels(scorer, classes):
    """The scorer, told which classes the columns of its predictions stand for.

    It could not know otherwise from rows that do not hold all classes.
    """
    metric = scorer._score_func
    if (
        classes is None
        or "predict" in _accepted_methods(scorer)
        or "labels" not in signature(metric).parameters
    ):
        return scorer
    return make_scorer(
        metric,
        response_method=scorer._response_method,
        greater_is_better=scorer._sign > 0,
        **{"labels": classes, **scorer._kwargs},
    )


def _accepted_methods(scorer):
    methods = scorer._response_method
    return (methods,) if isinstance(methods, str) else tuple(methods)


class _Answers(BaseEstimator):
    """Stands in for the estimator where a scorer asks for predictions."""

    def __init__(self, answers, classes=None):
        self.answers = answers
        self.classes = classes

    @property
    def classes_(self):
        return self.classes

    @available_if(lambda self: "predict" in self.answers)
    def predict(self, X):
        return self.answers["predict"]

    @available_if(lambda self: "decision_function" in self.answers)
    def decision_function(self, X):
        return self.answers["decision_function"]

    @available_if(lambda self: "predict_proba" in self.answers)
    def predict_proba(self, X):
        return self.answers["predict_proba"]


class _ClassifierAnswers(ClassifierMixin, _Answers):
    pass


class _RegressorAnswers(RegressorMixin, _Answers):
    pass


@dataclass
class _Rows:
    """Labels, answers and weights of some rows."""

    y: np.ndarray
    answers: dict
    sample_weight: np.ndarray

    def __len__(self):
        return self.y.shape[0]

    def __getitem__(self, rows):
        answers = {method: answer[rows] for method, answer in self.answers.items()}
        return _Rows(self.y[rows], answers, self.sample_weight[rows])

    def score(self, scorer, classes):
        if classes is None:
            stand_in = _RegressorAnswers(self.answers)
        else:
            stand_in = _ClassifierAnswers(self.answers, classes)
        # Not all metrics take weights, so that they are not told of ones.
        weighted = np.any(self.sample_weight != 1)
        sample_weight = {"sample_weight": self.sample_weight} if weighted else {}
        return scorer(stand_in, None, self.y, **sample_weight)


def _concatenate(blocks):
    return _Rows(
        np.concatenate([rows.y for rows in blocks]),
        {
            method: np.concatenate([rows.answers[method] for rows in blocks])
            for method in blocks[0].answers
        },
        np.concatenate([rows.sample_weight for rows in blocks]),
    )


class _MeanScore:
    """Score that is a mean over rows: the sum so far is all it needs."""

    def __init__(self, scorer, classes):
        self.scorer = scorer
        self.classes = classes
        self.total = 0.0
        self.weight = 0.0

    def add(self, rows):
        weight = rows.sample_weight.sum()
        self.total += weight * rows.score(self.scorer, self.classes)
        self.weight += weight

    def value(self):
        return self.total / self.weight


class _LabelScore:
    """Score of predicted labels: the confusion matrix is all it needs."""

    def __init__(self, scorer, classes):
        self.scorer = scorer
        self.classes = classes
        self.confusion = np.zeros((classes.size, classes.size))

    def add(self, rows):
        cells = (
            np.searchsorted(self.classes, rows.y),
            np.searchsorted(self.classes, rows.answers["predict"]),
        )
        np.add.at(self.confusion, cells, rows.sample_weight)

    def value(self):
        true, predicted = self.confusion.nonzero()
        rows = _Rows(
            self.classes[true],
            {"predict": self.classes[predicted]},
            self.confusion[true, predicted],
        )
        return rows.score(self.scorer, self.classes)


class _AnyScore:
    """Any other score: all labels and answers are kept."""

    def __init__(self, scorer, classes):
        self.scorer = scorer
        self.classes = classes
        self.blocks = []

    def add(self, rows):
        method = next(m for m in _accepted_methods(self.scorer) if m in rows.answers)
        answers = {method: rows.answers[method]}
        self.blocks.append(_Rows(rows.y, answers, rows.sample_weight))

    def value(self):
        rows = _concatenate(self.blocks)
        self.blocks = [rows]
        return rows.score(self.scorer, self.classes)


def _running_score(scorer, classes):
    metric = scorer._score_func
    if metric in _MEANS_OVER_ROWS and scorer._kwargs.get("normalize", True):
        return _MeanScore(scorer, classes)
    if (
        classes is not None
        and _accepted_methods(scorer) == ("predict",)
        and "sample_weight" in signature(metric).parameters
    ):
        return _LabelScore(scorer, classes)
    return _AnyScore(scorer, classes)


class _RunningScores:
    """Curves of the scores, with the same points however the rows are chunked."""

    def __init__(self, scorers, classes):
        self.scores = {
            name: _running_score(scorer, classes) for name, scorer in scorers.items()
        }
        self.curves = {name: [] for name in scorers}
        self.n_samples = []
        self.n_added = 0
        self.waiting = []
        self.n_waiting = 0
        self.next_point = point_after(0)

    def add(self, y, answers, sample_weight):
        if sample_weight is None:
            sample_weight = np.ones(y.shape[0])
        rows = _Rows(y, answers, sample_weight)
        if not sample_weight.all():
            rows = rows[sample_weight > 0]
        while len(rows):
            n = min(self.next_point - self.n_added, _MAX_WAITING_ROWS - self.n_waiting)
            block, rows = rows[:n], rows[n:]
            self.waiting.append(block)
            self.n_waiting += len(block)
            self.n_added += len(block)
            at_point = self.n_added == self.next_point
            if at_point or self.n_waiting == _MAX_WAITING_ROWS:
                with warnings.catch_warnings():
                    # Too few rows for some metrics is no news at the start.
                    warnings.simplefilter("ignore", UserWarning)
                    self._score_waiting()
                    if at_point:
                        self._add_point(self._values())
            if at_point:
                self.next_point = point_after(self.n_added)

    def latest(self):
        """The latest point as a progress bar shows it."""
        if not self.n_samples:
            return {}
        return {name: f"{curve[-1]:.4g}" for name, curve in self.curves.items()}

    def finish(self):
        """Final scores, number of rows at each point, and the curves."""
        if self.n_added == 0:
            raise ValueError(
                "No row of the stream was scored: all have weight 0, or there was only "
                "the first chunk, which an estimator that is not fitted has to learn."
            )
        self._score_waiting()
        scores = self._values()
        if self.n_samples[-1] != self.n_added:
            self._add_point(scores)
        curves = {name: np.array(curve) for name, curve in self.curves.items()}
        return scores, np.array(self.n_samples), curves

    def _score_waiting(self):
        if self.waiting:
            rows = _concatenate(self.waiting)
            for score in self.scores.values():
                score.add(rows)
            self.waiting = []
            self.n_waiting = 0

    def _values(self):
        return {name: float(score.value()) for name, score in self.scores.items()}

    def _add_point(self, values):
        self.n_samples.append(self.n_added)
        for name, value in values.items():
            self.curves[name].append(value)
