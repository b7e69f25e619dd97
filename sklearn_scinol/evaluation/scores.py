"""Scores of predictions while they come in, as metrics of scikit-learn have them."""

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    is_classifier,
)
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
    r2_score,
    top_k_accuracy_score,
)
from sklearn.utils.metaestimators import available_if

from .._curves import point_after

__all__ = ["RunningScores", "accepted_methods", "default_metrics", "make_scorers"]

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


def default_metrics(estimator):
    """Names of metrics for an estimator, of which all are means over rows."""
    if not is_classifier(estimator):
        return ["neg_mean_absolute_error"]
    if hasattr(estimator, "predict_proba"):
        return ["neg_log_loss", "accuracy"]
    return ["accuracy"]


def make_scorers(metrics):
    """The scorers by name.

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
        scorers[name] = scorer
    return scorers


def _with_labels(scorer, classes):
    """The scorer, told which classes the columns of its predictions stand for.

    It could not know otherwise from rows that do not hold all classes.
    """
    metric = scorer._score_func
    if "labels" not in signature(metric).parameters:
        return scorer
    return make_scorer(
        metric,
        response_method=scorer._response_method,
        greater_is_better=scorer._sign > 0,
        **{"labels": classes, **scorer._kwargs},
    )


def accepted_methods(scorer):
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
    """Labels, answers and weights of some rows.

    The answers are about `classes`, None in regression.
    """

    y: np.ndarray
    answers: dict
    sample_weight: np.ndarray
    classes: np.ndarray | None

    def __len__(self):
        return self.y.shape[0]

    def __getitem__(self, rows):
        answers = {method: answer[rows] for method, answer in self.answers.items()}
        return _Rows(self.y[rows], answers, self.sample_weight[rows], self.classes)

    def about(self, classes):
        """The same rows with answers about these classes, of which some are new."""
        if self.classes is None or np.array_equal(self.classes, classes):
            return self
        answers = {
            method: answer
            if method == "predict"
            else _padded(method, answer, self.classes, classes)
            for method, answer in self.answers.items()
        }
        return _Rows(self.y, answers, self.sample_weight, classes)

    def score(self, scorer):
        y, answers, classes = self.y, self.answers, self.classes
        if classes is None:
            stand_in = _RegressorAnswers(answers)
        else:
            if "predict" not in accepted_methods(scorer):
                if classes.size == 1:  # of which metrics know nothing
                    y, classes = np.zeros(y.shape, dtype=int), np.arange(2)
                    rows = _Rows(y, answers, self.sample_weight, np.zeros(1, dtype=int))
                    answers = rows.about(classes).answers
                scorer = _with_labels(scorer, classes)
            stand_in = _ClassifierAnswers(answers, classes)
        # Not all metrics take weights, so that they are not told of ones.
        weighted = np.any(self.sample_weight != 1)
        sample_weight = {"sample_weight": self.sample_weight} if weighted else {}
        return scorer(stand_in, None, y, **sample_weight)


def _padded(method, answer, classes, all_classes):
    """Predictions with columns for all classes, given those for some of them.

    Those that were not known have the probability 0. Decision values of two classes
    have no columns.
    """
    if answer.ndim == 1 and all_classes.size == 2:
        return answer
    if answer.ndim == 1:
        answer = np.column_stack([np.zeros_like(answer), answer])[:, -classes.size :]
    never = 0.0 if method == "predict_proba" else -np.inf
    padded = np.full((answer.shape[0], all_classes.size), never)
    padded[:, np.searchsorted(all_classes, classes)] = answer
    return padded


def _concatenate(blocks):
    """All rows, with answers about the classes of the last ones, which are the most."""
    classes = blocks[-1].classes
    blocks = [rows.about(classes) for rows in blocks]
    return _Rows(
        np.concatenate([rows.y for rows in blocks]),
        {
            method: np.concatenate([rows.answers[method] for rows in blocks])
            for method in blocks[0].answers
        },
        np.concatenate([rows.sample_weight for rows in blocks]),
        classes,
    )


class _MeanScore:
    """Score that is a mean over rows: the sum so far is all it needs."""

    def __init__(self, scorer):
        self.scorer = scorer
        self.total = 0.0
        self.weight = 0.0

    def add(self, rows):
        weight = rows.sample_weight.sum()
        self.total += weight * rows.score(self.scorer)
        self.weight += weight

    def value(self):
        return self.total / self.weight


class _LabelScore:
    """Score of predicted labels: the confusion matrix is all it needs."""

    def __init__(self, scorer):
        self.scorer = scorer
        self.classes = None

    def add(self, rows):
        if self.classes is None or self.classes.size < rows.classes.size:
            self._grow(rows.classes)
        cells = (
            np.searchsorted(self.classes, rows.y),
            np.searchsorted(self.classes, rows.answers["predict"]),
        )
        np.add.at(self.confusion, cells, rows.sample_weight)

    def _grow(self, classes):
        confusion = np.zeros((classes.size, classes.size))
        if self.classes is not None:
            places = np.searchsorted(classes, self.classes)
            confusion[np.ix_(places, places)] = self.confusion
        self.classes, self.confusion = classes, confusion

    @property
    def weight(self):
        return self.confusion.sum()

    def value(self):
        true, predicted = self.confusion.nonzero()
        rows = _Rows(
            self.classes[true],
            {"predict": self.classes[predicted]},
            self.confusion[true, predicted],
            self.classes,
        )
        return rows.score(self.scorer)


class _R2Score:
    """Coefficient of determination: moments of targets and errors are all it needs."""

    def __init__(self, scorer):
        self.n_rows = 0
        self.weight = 0.0
        self.mean = 0.0
        self.squares = 0.0  # weighted sum of squared deviations from the mean
        self.squared_errors = 0.0

    def add(self, rows):
        y, c = rows.y.astype(np.float64), rows.sample_weight
        c = c.reshape(-1, *[1] * (y.ndim - 1))
        weight = c.sum()
        mean = (c * y).sum(axis=0) / weight
        total = self.weight + weight
        # Chan, Golub and LeVeque (1983): updating formulae for sample variances.
        between = self.weight * weight / total * (mean - self.mean) ** 2
        self.squares = self.squares + (c * (y - mean) ** 2).sum(axis=0) + between
        self.mean = self.mean + weight / total * (mean - self.mean)
        errors = (c * (y - rows.answers["predict"]) ** 2).sum(axis=0)
        self.squared_errors = self.squared_errors + errors
        self.n_rows, self.weight = self.n_rows + len(rows), total

    def value(self):
        if self.n_rows < 2:
            return np.nan
        errors, squares = np.atleast_1d(self.squared_errors, self.squares)
        # Of a constant target scikit-learn says 1 if all is right, and else 0.
        unexplained = (errors > 0.0).astype(np.float64)
        np.divide(errors, squares, out=unexplained, where=squares > 0.0)
        return np.mean(1.0 - unexplained)


class _AnyScore:
    """Any other score: all labels and answers are kept."""

    def __init__(self, scorer):
        self.scorer = scorer
        self.blocks = []

    def add(self, rows):
        method = next(m for m in accepted_methods(self.scorer) if m in rows.answers)
        answers = {method: rows.answers[method]}
        self.blocks.append(_Rows(rows.y, answers, rows.sample_weight, rows.classes))

    def value(self):
        rows = _concatenate(self.blocks)
        self.blocks = [rows]
        return rows.score(self.scorer)


@contextmanager
def _too_few_rows_are_no_news():
    """For metrics that warn of what they cannot say yet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _as_arrays(curves):
    return {name: np.array(curve) for name, curve in curves.items()}


def _running_score(scorer, has_classes):
    metric = scorer._score_func
    if metric in _MEANS_OVER_ROWS and scorer._kwargs.get("normalize", True):
        return _MeanScore(scorer)
    if (
        has_classes
        and accepted_methods(scorer) == ("predict",)
        and "sample_weight" in signature(metric).parameters
    ):
        return _LabelScore(scorer)
    if metric is r2_score and not scorer._kwargs:
        return _R2Score(scorer)
    return _AnyScore(scorer)


class _Window:
    """Scores of the latest rows, at points a quarter of the window apart."""

    def __init__(self, size, scorers):
        self.size = size
        self.scorers = scorers
        self.step = max(size // 4, 1)
        self.blocks = []
        self.n_samples = []
        self.curves = {name: [] for name in scorers}

    def next_point(self, n_added):
        return n_added - n_added % self.step + self.step

    def add(self, block, n_added):
        """Add rows up to `n_added`, and score if this is a point."""
        self.blocks.append(block)
        if n_added % self.step == 0:
            self.score(n_added)

    def score(self, n_added):
        rows = _concatenate(self.blocks)[-self.size :]
        self.blocks = [rows]
        self.n_samples.append(n_added)
        for name, scorer in self.scorers.items():
            self.curves[name].append(float(rows.score(scorer)))


class RunningScores:
    """Curves of the scores, with the same points however the rows are chunked."""

    _point_after = staticmethod(point_after)

    def __init__(self, scorers, has_classes, window=None):
        self.window = None if window is None else _Window(window, scorers)
        self.scores = {
            name: _running_score(scorer, has_classes)
            for name, scorer in scorers.items()
        }
        self.curves = {name: [] for name in scorers}
        self.n_samples = []
        self.n_added = 0
        self.waiting = []
        self.n_waiting = 0
        self.next_point = self._point_after(0)

    def add(self, y, answers, sample_weight, classes):
        if sample_weight is None:
            sample_weight = np.ones(y.shape[0])
        rows = _Rows(y, answers, sample_weight, classes)
        if not sample_weight.all():
            rows = rows[sample_weight > 0]
        while len(rows):
            next_point = self.next_point
            if self.window is not None:
                next_point = min(next_point, self.window.next_point(self.n_added))
            n = min(next_point - self.n_added, _MAX_WAITING_ROWS - self.n_waiting)
            block, rows = rows[:n], rows[n:]
            self.waiting.append(block)
            self.n_waiting += len(block)
            self.n_added += len(block)
            if self.window is not None:
                with _too_few_rows_are_no_news():
                    self.window.add(block, self.n_added)
            at_point = self.n_added == self.next_point
            if at_point or self.n_waiting == _MAX_WAITING_ROWS:
                with _too_few_rows_are_no_news():
                    self._score_waiting()
                    if at_point:
                        self._add_point(self._values())
            if at_point:
                self.next_point = self._point_after(self.n_added)

    def latest(self):
        """The latest point as a progress bar shows it."""
        if not self.n_samples:
            return {}
        return {name: f"{curve[-1]:.4g}" for name, curve in self.curves.items()}

    def finish(self):
        """What the result has of the scores."""
        if self.n_added == 0:
            raise ValueError(
                "No row of the stream was scored: all have weight 0, or there was only "
                "the first chunk, which an estimator that is not fitted has to learn."
            )
        self._score_waiting()
        scores = self._values()
        if self.n_samples[-1] != self.n_added:
            self._add_point(scores)
        if self.window is not None and self.window.n_samples[-1:] != [self.n_added]:
            with _too_few_rows_are_no_news():
                self.window.score(self.n_added)
        latest = self.window
        return {
            "scores": scores,
            "n_samples": np.array(self.n_samples),
            "curves": _as_arrays(self.curves),
            "window": None if latest is None else latest.size,
            "window_n_samples": None if latest is None else np.array(latest.n_samples),
            "window_curves": None if latest is None else _as_arrays(latest.curves),
        }

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
