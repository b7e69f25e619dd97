"""Printed scores: a table while a model learns, and values at the end."""

from contextlib import suppress

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from ..evaluation.late import DelayedEstimator
from ..evaluation.scores import RunningScores
from .common import print_line

#: Printed names of scores.
NAMES = {
    "neg_log_loss": "log loss",
    "accuracy": "accuracy",
    "neg_mean_absolute_error": "absolute error",
    "r2": "R2",
    "coverage": "coverage",
    "mean_width": "mean width",
    "neg_mean_pinball_loss": "pinball loss",
}

#: Directions of alarms, in the past.
PAST = {"rise": "risen", "fall": "fallen"}

LINE = "{:>12} {:>12} {:>12} {:>14} {:>14} {:>9}".format

LINE_OF_INTERVALS = " {:>9} {:>12}".format

MAX_LABEL_LENGTH = 14


class RunningTable(RunningScores):
    """Scores of a stream that is learned, printed at rows 1, 2, 4, 8, ... and the last.

    Alarms of the :class:`LossMonitor`, if any, are printed as well. `arrivals` tells
    when labels come, if not at once.
    """

    def __init__(self, learner, is_quiet, monitor=None, arrivals=None):
        super().__init__(learner.scorers, monitor=monitor)
        self.learner, self.is_quiet = learner, is_quiet
        self.follower, self.label_time = learner, None
        self.label_delay = arrivals is not None
        if self.label_delay:
            self.follower = DelayedEstimator(learner, arrivals)
            self.label_time = arrivals.label_time
        self.loss_before = self.weight_before = 0.0
        self.block, self.latest_before, self.has_header = None, None, False

    def state(self):
        """Return all that learning has changed as plain data, but for the model."""
        return super().state() | {
            "before": (self.loss_before, self.weight_before),
            "latest": self._latest() if self.n_added else None,
            "late": self.follower.state() if self.label_delay else None,
        }

    def restore(self, state):
        """Go on from a :meth:`state`."""
        super().restore(state)
        self.loss_before, self.weight_before = state["before"]
        self.latest_before = state["latest"]
        if self.label_delay:
            self.follower.restore(state["late"])

    def learn(self, X, y, sample_weight=None):
        """Learn a chunk, and predict each row before."""
        self.rows = _without(X, self.label_time)
        self._learn(y, self.follower.follow, X, y, sample_weight)

    def learn_rest(self):
        """Learn the rows that wait for their labels."""
        self._learn(None, self.follower.finish)

    def _learn(self, y, learn, *rows):
        try:
            scored = learn(*rows)
        except Exception as error:
            with suppress(Exception):
                if self.follower.lacks_classes(y):
                    error.add_note(
                        "The classes are those of the first chunk: name all with "
                        "--classes."
                    )
            raise
        for block in scored:
            weights = block[2]
            if weights is not None and not weights.any():
                continue
            self.n_before, self.block = self.n_added, block
            self.add(*block, self.learner.classes)

    @staticmethod
    def _point_after(n):
        return max(1, 2 * n)

    def _add_point(self, values):
        super()._add_point(values)
        if not self.is_quiet:
            self._print_line(values)

    def _add_alarm(self, alarm):
        super()._add_alarm(alarm)
        if not self.is_quiet:
            print_line(
                f"row {alarm.row:,}: losses have {PAST[alarm.direction]} since about "
                f"row {alarm.change:,}",
                flush=True,
            )

    def _print_line(self, values):
        name, value = next(iter(values.items()))
        if not self.has_header:
            self.has_header = True
            lines = [LINE("average", "since", "", "current", "current", "number of")]
            last = "last", "rows", "label", "prediction", "features"
            name_of_loss = "wrong labels" if name == "accuracy" else NAMES[name]
            lines.append(LINE(name_of_loss, *last))
            if "coverage" in values:
                lines[0] += LINE_OF_INTERVALS("share in", "mean")
                lines[1] += LINE_OF_INTERVALS("interval", "width")
            for line in lines:
                print_line(line)
        weight = self.scores[name].weight
        loss = weight * (-value if name.startswith("neg_") else 1 - value)
        since = (loss - self.loss_before) / (weight - self.weight_before)
        average, self.loss_before, self.weight_before = loss / weight, loss, weight
        line = LINE(
            f"{average:.6g}", f"{since:.6g}", f"{self.n_added:,}", *self._latest()
        )
        if "coverage" in values:
            numbers = values["coverage"], values["mean_width"]
            line += LINE_OF_INTERVALS(*(f"{number:.6g}" for number in numbers))
        print_line(line, flush=True)

    def _latest(self):
        """Return label, prediction and number of features of the latest row."""
        if self.block is None:  # none were added since this was restored
            return self.latest_before
        y, answers, sample_weight = self.block
        row = self.n_added - self.n_before - 1
        if sample_weight is not None:  # rows of weight 0 do not count
            row = np.flatnonzero(sample_weight)[row]
        prediction = answers["predict"][row]
        # Where labels come late, of another row.
        n_features = self._n_features(self.rows.slice(row % len(self.rows), 1))
        return _shorten(y[row]), _shorten(prediction), n_features

    def _n_features(self, row):
        model = self.learner.predictor
        if isinstance(model, Pipeline) and len(model) > 1:
            row = model[:-1].transform(row)
        return row.nnz if sparse.issparse(row) else row.shape[1]


def _without(X, label_time):
    """Return a table without the times of labels, which estimators do not see."""
    return X.drop_columns(label_time) if label_time in X.column_names else X


def score_test(learner, chunks, label_time=None):
    """Score rows that are not learned, without the times of labels."""
    running = RunningScores(learner.scorers)
    for X, y, *sample_weight in chunks:
        if learner.is_classifier and not (known := np.isin(y, learner.classes)).all():
            raise ValueError(
                f"The test file has the class {_shorten(y[~known][0])}, but the model "
                "does not."
            )
        answers = learner.predict(_without(X, label_time))
        running.add(y, answers, *sample_weight or [None], learner.classes)
    return running.finish()


def _shorten(value):
    text = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    return text if len(text) <= MAX_LABEL_LENGTH else f"{text[: MAX_LABEL_LENGTH - 1]}…"
