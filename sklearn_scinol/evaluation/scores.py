"""Running scores of predictions, by the metrics of scikit-learn."""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature

import numpy as np
from sklearn import metrics as of_sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

from .._curves import point_after
from .._validation import last_step
from ..estimators.regressor import with_quantiles
from ..estimators.waiting import take_rows


def _mean_pinball_loss(y_true, y_pred, *, quantile, sample_weight=None):
    """Return the mean pinball loss over rows, and over a list of quantiles."""
    of_quantile = partial(
        of_sklearn.mean_pinball_loss, y_true, sample_weight=sample_weight
    )
    if np.ndim(quantile) == 0:
        return of_quantile(y_pred, alpha=quantile)
    pairs = zip(y_pred.T, quantile, strict=True)
    return np.mean([of_quantile(p, alpha=level) for p, level in pairs])


def _ends(y_true, intervals):
    """Return lower and upper ends of intervals of one level."""
    if intervals.ndim != np.ndim(y_true) + 1:
        raise ValueError(
            "Metrics of intervals are for one level of coverage, not for a list."
        )
    return intervals[..., 0], intervals[..., 1]


def _coverage(y_true, intervals, sample_weight=None):
    """Return the share of targets in their intervals."""
    lower, upper = _ends(y_true, intervals)
    is_inside = (lower <= y_true) & (y_true <= upper)
    return np.average(is_inside, axis=0, weights=sample_weight).mean()


def _mean_width(y_true, intervals, sample_weight=None):
    """Return the mean width of intervals."""
    lower, upper = _ends(y_true, intervals)
    return np.average(upper - lower, axis=0, weights=sample_weight).mean()


class _IntervalScorer:
    """Scorer of prediction intervals, which scikit-learn does not have."""

    _sign, _response_method = 1, "predict_interval"

    def __init__(self, metric):
        self._score_func, self._kwargs = metric, {}

    def __call__(self, estimator, X, y, sample_weight=None):
        return self._score_func(y, estimator.predict_interval(X), sample_weight)


#: Metrics of intervals, by name.
INTERVAL_METRICS = {
    "coverage": _IntervalScorer(_coverage),
    "mean_width": _IntervalScorer(_mean_width),
}

#: Metrics that are means over rows, so that each block can be scored by itself.
_MEANS_OVER_ROWS = {
    _coverage,
    _mean_pinball_loss,
    _mean_width,
    of_sklearn.brier_score_loss,
    of_sklearn.log_loss,
    of_sklearn.mean_absolute_error,
    of_sklearn.mean_absolute_percentage_error,
    of_sklearn.mean_gamma_deviance,
    of_sklearn.mean_poisson_deviance,
    of_sklearn.mean_squared_error,
    of_sklearn.mean_squared_log_error,
    of_sklearn.top_k_accuracy_score,
}

# Further ones, of several labels: others have a confusion matrix.
_MEANS_OF_LABELS = {
    of_sklearn.accuracy_score,
    of_sklearn.hamming_loss,
    of_sklearn.zero_one_loss,
}

# Metrics that become means over several labels, and keywords for two classes each.
_MEANS_BY_LABEL: dict = {
    of_sklearn.brier_score_loss: {"pos_label": 1},
    of_sklearn.log_loss: {"labels": [0, 1]},
}

# Largest number of rows that wait to be scored.
_MAX_PENDING_ROWS = 10_000


def default_metrics(estimator):
    """Return default metrics of an estimator, by name: means over rows."""
    if with_quantiles(estimator) is not None:
        return ["neg_mean_pinball_loss"]
    if not is_classifier(estimator):
        return ["neg_mean_absolute_error"]
    if hasattr(estimator, "predict_proba"):
        return ["neg_log_loss", "accuracy"]
    return ["accuracy"]


def _metric_name(name):
    """Return the name of a metric, given as scores are printed, such as "log loss"."""
    if not isinstance(name, str):
        return name
    plain = name.lower().replace(" ", "_")
    known = {*get_scorer_names(), *INTERVAL_METRICS, "neg_mean_pinball_loss"}
    found = [each for each in ("", "neg_", "neg_mean_") if each + plain in known]
    return found[0] + plain if found else name


def _scorer_of(name, estimator):
    """Return the scorer of a name."""
    if name != "neg_mean_pinball_loss":
        return INTERVAL_METRICS.get(name) or get_scorer(name)
    quantile = getattr(last_step(estimator), "quantile", None)
    if quantile is None:
        raise ValueError(f"The metric {name!r} needs an estimator with a quantile.")
    return make_scorer(_mean_pinball_loss, greater_is_better=False, quantile=quantile)


def make_scorers(metrics, estimator):
    """Return scorers by name.

    Their private attributes `_score_func`, `_kwargs`, `_sign` and `_response_method`
    have been the same since scikit-learn 1.4.
    """
    if isinstance(metrics, str):
        metrics = [metrics]
    if not isinstance(metrics, dict):
        metrics = {_metric_name(name): name for name in metrics}
    if not metrics:
        raise ValueError("At least one metric is needed.")
    scorers = {}
    for name, metric in metrics.items():
        scorer = metric
        if isinstance(metric, str):
            scorer = _scorer_of(_metric_name(metric), estimator)
        if not hasattr(scorer, "_score_func"):
            raise ValueError(
                f"The metric {name!r} must be a name of scikit-learn's or made by "
                f"sklearn.metrics.make_scorer; got {metric!r}."
            )
        scorers[name] = scorer
    return scorers


def _with_classes(scorer, classes):
    """Return a scorer that knows the classes of all columns of predictions."""
    metric = scorer._score_func
    if "labels" not in signature(metric).parameters:
        return scorer
    return _scorer_like(scorer, metric, **{"labels": classes, **scorer._kwargs})


def _of_labels(scorer):
    """Return a scorer for several labels: of losses of probabilities, the mean."""
    metric = scorer._score_func
    if metric not in _MEANS_BY_LABEL:
        return scorer
    keywords = _MEANS_BY_LABEL[metric] | scorer._kwargs
    return _scorer_like(scorer, partial(_mean_of_labels, metric, keywords))


def _scorer_like(scorer, metric, **keywords):
    """Return a scorer of another metric of the same predictions."""
    return make_scorer(
        metric,
        response_method=scorer._response_method,
        greater_is_better=scorer._sign > 0,
        **keywords,
    )


def _mean_of_labels(metric, keywords, y, probabilities, **weights):
    """Return the mean over labels of the metric of each, as of two classes."""
    columns = zip(y.T, probabilities.T, strict=True)
    return np.mean([metric(*each, **keywords, **weights) for each in columns])


def accepted_methods(scorer):
    methods = scorer._response_method
    return (methods,) if isinstance(methods, str) else tuple(methods)


class _Predictions(BaseEstimator):
    """Stand-in for an estimator, whose methods return predictions that are known."""

    def __init__(self, predictions, classes=None):
        self.predictions = predictions
        self.classes = self.classes_ = classes
        for method, prediction in predictions.items():

            def predict(X, prediction=prediction):
                return prediction

            predict.__name__ = method
            setattr(self, method, predict)


class _ClassifierPredictions(ClassifierMixin, _Predictions):
    """Stand-in for a classifier."""


class _RegressorPredictions(RegressorMixin, _Predictions):
    """Stand-in for a regressor."""


@dataclass(kw_only=True)
class Rows:
    """Rows with their labels, and predictions by method, None if there are none.

    In regression `classes` is None, and without weights `sample_weight`.
    """

    y: np.ndarray
    predictions: dict | None
    sample_weight: np.ndarray | None
    classes: np.ndarray | None

    def __len__(self):
        return self.y.shape[0]

    def __getitem__(self, rows):
        return _of_fields(lambda values: take_rows(values[0], rows), [self])

    @property
    def are_multilabel(self):
        """Whether `y` says of each label which rows have it."""
        return self.classes is not None and self.y.ndim == 2

    def with_classes(self, classes):
        """Return the rows with predictions for more classes."""
        if self.classes is None or np.array_equal(self.classes, classes):
            return self
        predictions = {
            method: p
            if method == "predict"
            else _padded(method, p, self.classes, classes)
            for method, p in self.predictions.items()
        }
        return replace(self, predictions=predictions, classes=classes)

    def losses(self):
        """Return the loss of each row: the log loss if there are probabilities.

        Otherwise 1 for a wrong label, and in regression the absolute error, the mean of
        it over outputs. The log loss is clipped as by scikit-learn.
        """
        if self.classes is None:
            errors = np.abs(self.y - self.predictions["predict"])
            return errors.reshape(len(self), -1).mean(axis=1)
        if "predict_proba" not in self.predictions:
            return (self.y != self.predictions["predict"]).astype(np.float64)
        columns = np.searchsorted(self.classes, self.y)
        p = self.predictions["predict_proba"][np.arange(len(self)), columns]
        return -np.log(np.clip(p, np.finfo(p.dtype).eps, 1.0))

    def measured_by(self, scorer):
        """Return the rows that a scorer measures: not those of infinite intervals."""
        if not isinstance(scorer, _IntervalScorer):
            return self
        is_finite = np.isfinite(self.predictions["predict_interval"])
        return self[is_finite.reshape(len(self), -1).all(axis=1)]

    def score(self, scorer):
        """Return the score of the rows that it measures, NaN if there are none."""
        rows = self.measured_by(scorer)
        if not len(rows):
            return np.nan
        y, predictions, classes = rows.y, rows.predictions, rows.classes
        if classes is None:
            stand_in = _RegressorPredictions(predictions)
        elif rows.are_multilabel:
            scorer = _of_labels(scorer)
            # Given as two classes of each label: scikit-learn takes an array of two
            # labels for two classes.
            stand_in = _ClassifierPredictions(predictions, [[0, 1]] * y.shape[1])
        else:
            if "predict" not in accepted_methods(scorer):
                if classes.size == 1:  # which metrics do not take
                    y, classes = np.zeros(y.shape, dtype=int), np.arange(2)
                    rows = replace(rows, y=y, classes=classes[:1])
                    predictions = rows.with_classes(classes).predictions
                scorer = _with_classes(scorer, classes)
            stand_in = _ClassifierPredictions(predictions, classes)
        # Not all metrics take weights: weights of 1 are not passed on.
        weighted = np.any(rows.sample_weight != 1)
        sample_weight = {"sample_weight": rows.sample_weight} if weighted else {}
        return scorer(stand_in, None, y, **sample_weight)


def _padded(method, p, classes, all_classes):
    """Add columns of probability 0 to predictions, for classes that were not known.

    Decision values of two classes have no columns.
    """
    if p.ndim == 1 and all_classes.size == 2:
        return p
    if p.ndim == 1:
        p = np.column_stack([np.zeros_like(p), p])[:, -classes.size :]
    fill_value = 0.0 if method == "predict_proba" else -np.inf
    padded = np.full((p.shape[0], all_classes.size), fill_value)
    padded[:, np.searchsorted(all_classes, classes)] = p
    return padded


def concatenate(blocks, classes=None, join=np.concatenate):
    """Join blocks of rows, with all classes, or those that the last block knows."""
    classes = blocks[-1].classes if classes is None else classes
    return _of_fields(join, [rows.with_classes(classes) for rows in blocks])


def _of_fields(function, blocks):
    """Return rows whose fields a function makes of those of all blocks."""

    def made(values):
        if isinstance(values[0], dict):
            return {each: made([v[each] for v in values]) for each in values[0]}
        return None if values[0] is None else function(values)

    first, *_ = fields = [*map(vars, blocks)]
    names = [name for name in first if name != "classes"]
    return replace(blocks[0], **{n: made([f[n] for f in fields]) for n in names})


# Running scores: what rows change. Each is given its scorer, which is not saved.


class MeanScore:
    """Score that is a mean over rows, from the sum so far."""

    total = weight = 0.0

    def add(self, rows, scorer):
        rows = rows.measured_by(scorer)
        if len(rows):
            weight = rows.sample_weight.sum()
            self.total += weight * rows.score(scorer)
            self.weight += weight

    def value(self, scorer):
        return self.total / self.weight if self.weight else np.nan


class LabelScore:
    """Score of predicted labels, from the confusion matrix."""

    classes = None

    def add(self, rows, scorer):
        classes = rows.classes
        if self.classes is None or self.classes.size < classes.size:
            confusion = np.zeros((classes.size, classes.size))
            if self.classes is not None:
                places = np.searchsorted(classes, self.classes)
                confusion[np.ix_(places, places)] = self.confusion
            self.classes, self.confusion = classes, confusion
        labels = rows.y, rows.predictions["predict"]
        cells = tuple(np.searchsorted(self.classes, each) for each in labels)
        np.add.at(self.confusion, cells, rows.sample_weight)

    @property
    def weight(self):
        return self.confusion.sum()

    def value(self, scorer):
        true, predicted = self.confusion.nonzero()
        rows = Rows(
            y=self.classes[true],
            predictions={"predict": self.classes[predicted]},
            sample_weight=self.confusion[true, predicted],
            classes=self.classes,
        )
        return rows.score(scorer)


class R2Score:
    """Coefficient of determination, from moments of targets and errors."""

    n_rows = 0
    weight = mean = 0.0
    squares = squared_errors = 0.0  # sums, weighted: of deviations from the mean first

    def add(self, rows, scorer):
        y, c = rows.y.astype(np.float64), rows.sample_weight
        c = c.reshape(-1, *[1] * (y.ndim - 1))
        weight = c.sum()
        mean = (c * y).sum(axis=0) / weight
        total = self.weight + weight
        # Chan, Golub and LeVeque (1983): updating formulae for sample variances.
        between = self.weight * weight / total * (mean - self.mean) ** 2
        self.squares = self.squares + (c * (y - mean) ** 2).sum(axis=0) + between
        self.mean = self.mean + weight / total * (mean - self.mean)
        errors = (c * (y - rows.predictions["predict"]) ** 2).sum(axis=0)
        self.squared_errors = self.squared_errors + errors
        self.n_rows, self.weight = self.n_rows + len(rows), total

    def value(self, scorer):
        if self.n_rows < 2:
            return np.nan
        errors, squares = np.atleast_1d(self.squared_errors, self.squares)
        # For a constant target scikit-learn returns 1 if all is right, else 0.
        unexplained = (errors > 0.0).astype(np.float64)
        np.divide(errors, squares, out=unexplained, where=squares > 0.0)
        return np.mean(1.0 - unexplained)


class _AnyScore:
    """Any other score, from all labels and predictions."""

    def __init__(self):
        self.blocks = []

    def add(self, rows, scorer):
        method = next(m for m in accepted_methods(scorer) if m in rows.predictions)
        predictions = {method: rows.predictions[method]}
        self.blocks.append(replace(rows, predictions=predictions))

    def value(self, scorer):
        rows = concatenate(self.blocks)
        self.blocks = [rows]
        return rows.score(scorer)


#: Attributes of :class:`RunningScores` that rows change, but for the window.
_STATE = (
    *("n_added", "n_pending", "next_point", "pending"),
    *("scores", "n_samples", "curves", "monitor"),
)

# Silences metrics that warn where they are not defined yet.
_ignore_undefined_scores = partial(
    warnings.catch_warnings, action="ignore", category=UserWarning
)


def _as_arrays(curves):
    return {name: np.array(curve) for name, curve in curves.items()}


def _running_score(scorer, rows):
    metric = scorer._score_func
    means = _MEANS_OVER_ROWS | (_MEANS_OF_LABELS if rows.are_multilabel else set())
    if metric in means and scorer._kwargs.get("normalize", True):
        return MeanScore()
    if (
        rows.classes is not None
        and not rows.are_multilabel
        and accepted_methods(scorer) == ("predict",)
        and "sample_weight" in signature(metric).parameters
    ):
        return LabelScore()
    if metric is of_sklearn.r2_score and not scorer._kwargs:
        return R2Score()
    return _AnyScore()


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
        """Add rows up to `n_added`, and score them at a point."""
        self.blocks.append(block)
        if n_added % self.step == 0:
            self.score(n_added)

    def score(self, n_added):
        rows = concatenate(self.blocks)[-self.size :]
        self.blocks = [rows]
        self.n_samples.append(n_added)
        for name, scorer in self.scorers.items():
            self.curves[name].append(float(rows.score(scorer)))


class RunningScores:
    """Curves of scores, whose points do not depend on the chunks."""

    _point_after = staticmethod(point_after)

    def __init__(self, scorers, window=None, monitor=None):
        self.window = None if window is None else _Window(window, scorers)
        self.monitor = monitor
        self.alarms = None if monitor is None else []
        self._n_monitored = getattr(monitor, "n_samples_seen_", 0)
        self.scorers, self.scores = scorers, {}
        self.curves = {name: [] for name in scorers}
        self.n_samples = []
        self.n_added = 0
        self.pending = []
        self.n_pending = 0
        self.next_point = self._point_after(0)

    def add(self, y, predictions, sample_weight, classes):
        c = np.ones(y.shape[0]) if sample_weight is None else sample_weight
        rows = Rows(y=y, predictions=predictions, sample_weight=c, classes=classes)
        if not c.all():
            rows = rows[c > 0]
        while len(rows):
            next_point = self.next_point
            if self.window is not None:
                next_point = min(next_point, self.window.next_point(self.n_added))
            n = min(next_point - self.n_added, _MAX_PENDING_ROWS - self.n_pending)
            block, rows = rows[:n], rows[n:]
            self.pending.append(block)
            self.n_pending += len(block)
            self.n_added += len(block)
            if self.monitor is not None:
                self._watch(block)
            if self.window is not None:
                with _ignore_undefined_scores():
                    self.window.add(block, self.n_added)
            at_point = self.n_added == self.next_point
            if at_point or self.n_pending == _MAX_PENDING_ROWS:
                with _ignore_undefined_scores():
                    self._score_pending()
                    if at_point:
                        self._add_point(self._values())
            if at_point:
                self.next_point = self._point_after(self.n_added)

    def latest(self):
        """Return the latest point as text for a progress bar."""
        if not self.n_samples:
            return {}
        return {name: f"{curve[-1]:.4g}" for name, curve in self.curves.items()}

    def finish(self):
        """Score the remaining rows; return the fields of the result."""
        if self.n_added == 0:
            raise ValueError(
                "No row of the stream was scored: all have weight 0, or came before "
                "anything was learned."
            )
        self._score_pending()
        scores = self._values()
        if self.n_samples[-1] != self.n_added:
            self._add_point(scores)
        if self.window is not None and self.window.n_samples[-1:] != [self.n_added]:
            with _ignore_undefined_scores():
                self.window.score(self.n_added)
        latest = self.window
        return {
            "scores": scores,
            "n_samples": np.array(self.n_samples),
            "curves": _as_arrays(self.curves),
            "window": None if latest is None else latest.size,
            "window_n_samples": None if latest is None else np.array(latest.n_samples),
            "window_curves": None if latest is None else _as_arrays(latest.curves),
            "alarms": self.alarms,
        }

    def state(self):
        """Return what rows have changed, to be saved."""
        self.pending = [concatenate(self.pending)] if self.pending else []
        return {name: vars(self)[name] for name in _STATE}

    def restore(self, state):
        """Go on from a :meth:`state` of scores by the same metrics, without window."""
        vars(self).update({name: state[name] for name in _STATE})
        if self.monitor is not None:
            self.alarms = [*getattr(self.monitor, "alarms_", ())]

    def _watch(self, rows):
        n_alarms, before = self.monitor.update(rows.losses()).size, self._n_monitored
        for alarm in self.monitor.alarms_[len(self.monitor.alarms_) - n_alarms :]:
            row, change = alarm.row - before, alarm.change - before
            self._add_alarm(replace(alarm, row=row, change=change))

    def _add_alarm(self, alarm):
        self.alarms.append(alarm)

    def _score_pending(self):
        if self.pending:
            rows = concatenate(self.pending)
            if not self.scores:
                self.scores = {
                    name: _running_score(scorer, rows)
                    for name, scorer in self.scorers.items()
                }
            for name, score in self.scores.items():
                score.add(rows, self.scorers[name])
            self.pending = []
            self.n_pending = 0

    def _values(self):
        values = {n: score.value(self.scorers[n]) for n, score in self.scores.items()}
        return {name: float(value) for name, value in values.items()}

    def _add_point(self, values):
        self.n_samples.append(self.n_added)
        for name, value in values.items():
            self.curves[name].append(value)
