"""Alarms: as the definitions say, seldom without a change, and soon after one."""

import copy
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from support import naive_alarms
from support.registry import paired

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor
from sklearn_scinol.evaluation import (
    LossMonitor,
    ProgressiveValidationDisplay,
    progressive_validation,
)
from sklearn_scinol.evaluation import ranks as ranks_module


def all_alarms(losses, **parameters):
    monitor = LossMonitor(**parameters)
    monitor.update(losses)
    return monitor.alarms_


def changing(kind, rng):
    """Losses that rise and then fall."""
    high = np.repeat([0, 1, 0], 320)
    if kind == "wrong labels":
        return rng.random(960) < np.where(high, 0.5, 0.1)
    if kind == "far from zero":
        return 1e6 + rng.normal(high, 1)
    if kind == "of both signs":
        return rng.normal(2.0 * high - 1, 2)
    return rng.exponential(np.where(high, 1e-5, 1e-7))


@pytest.mark.parametrize("max_cells", [1024, 9])
@pytest.mark.parametrize(
    "kind", ["wrong labels", "far from zero", "of both signs", "small"]
)
def test_naive_reference(kind, max_cells, monkeypatch):
    monkeypatch.setattr(ranks_module, "MAX_CELLS", max_cells)
    losses = changing(kind, np.random.default_rng(3)).astype(float)
    found = all_alarms(losses, false_alarm=0.005)
    expected = naive_alarms.alarms(losses.tolist(), 0.005, max_cells)
    assert [(each.row, each.change, each.direction) for each in found] == expected
    assert {alarm.direction for alarm in found} == {"rise", "fall"}


def test_false_alarms_of_nearly_constant_losses():
    """All streams begin alike, with blocks that tie, and one loss in 1,000 differs."""
    n, false_alarm, n_streams, n_alarms = 944, 2.01e-5, 300, 0
    for seed in range(n_streams):
        losses = np.random.default_rng(seed).random(n) < 0.001
        n_alarms += bool(all_alarms(losses, false_alarm=false_alarm))
    expected = n_streams * n * false_alarm
    assert n_alarms < expected + 3 * np.sqrt(expected)


def test_constant_losses_raise_no_alarm():
    assert not all_alarms(np.full(20_000, 0.1), false_alarm=0.01)


def test_one_row_out_of_all_proportion_raises_no_alarm():
    losses = np.random.default_rng(0).exponential(size=2000)
    losses[1000] = 1e300
    assert not all_alarms(losses)


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("before", "after", "direction", "delay"),
    [(0.1, 0.2, "rise", 180), (0.2, 0.1, "fall", 290), (0.1, 0.5, "rise", 60)],
)
def test_changes_are_found(before, after, direction, delay):
    n, alarms = 2000, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rates = np.repeat([before, after], [n, 3000])
        found = all_alarms(rng.random(n + 3000) < rates)
        alarms += [alarm for alarm in found if alarm.row > n][:1]
    assert len(alarms) >= 39  # a false alarm just before a change may hide it
    assert np.mean([alarm.direction == direction for alarm in alarms]) > 0.9
    assert np.median([alarm.row - n for alarm in alarms]) < delay
    assert np.median([abs(alarm.change - n) for alarm in alarms]) < 60


@settings(max_examples=20)
@given(st.lists(st.integers(0, 1200), max_size=8))
def test_chunks_change_nothing(ends):
    losses = changing("small", np.random.default_rng(0))
    whole, parts = LossMonitor(0.01), LossMonitor(0.01)
    expected = whole.update(losses)
    places, start = [], 0
    for chunk in np.split(losses, sorted(ends)):
        places.extend(parts.update(chunk) + start)
        parts = copy.deepcopy(pickle.loads(pickle.dumps(parts)))
        start += len(chunk)
    assert places == expected.tolist() == [alarm.row - 1 for alarm in whole.alarms_]
    assert parts.alarms_ == whole.alarms_
    assert parts.n_samples_seen_ == whole.n_samples_seen_ == len(losses)


@pytest.mark.parametrize("factor", [2.0**-300, 2.0**300])
@pytest.mark.parametrize("kind", ["wrong labels", "small", "of both signs"])
def test_any_unit(kind, factor):
    losses = changing(kind, np.random.default_rng(0))
    found = all_alarms(losses, false_alarm=0.01)
    assert found
    assert all_alarms(losses * factor, false_alarm=0.01) == found


def test_largest_floats():
    losses = 1.7e308 * np.random.default_rng(0).uniform(-1, 1, 640)
    losses[320:] = abs(losses[320:])
    [alarm] = all_alarms(losses, false_alarm=0.001)
    assert (alarm.change, alarm.direction) == (321, "rise")


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        ([0.1, np.nan], "losses contains NaN"),
        ([np.inf], "losses contains infinity"),
        (0.5, "should be a 1d array"),
        ([[1.0, 2.0]], "should be a 1d array"),
        (["high"], "could not convert string to float"),
        (np.ma.masked_values([1.0, 2.0], 2.0), "losses has masked values"),
    ],
)
def test_bad_losses(losses, words):
    """The error is clear, and the monitor stays as it was."""
    rng = np.random.default_rng(0)
    monitor, other = LossMonitor(0.01), LossMonitor(0.01)
    for each in monitor, other:
        each.update(rng.exponential(size=40) if each is monitor else [])
    before = pickle.dumps(monitor)
    for each in monitor, LossMonitor():
        with pytest.raises(ValueError, match=words):
            each.update(losses)
    assert pickle.dumps(monitor) == before


@pytest.mark.parametrize("false_alarm", [0, 1, -0.1, np.nan, "1e-4", None])
def test_bad_false_alarm(false_alarm):
    with pytest.raises(ValueError, match=re.escape("'false_alarm' parameter")):
        LossMonitor(false_alarm).update([0.5])


def validate(model, stream, **keywords):
    return progressive_validation(model, stream, progress=False, **keywords)


def changing_rows(n=2000):
    """Rows whose labels are at random after the first half."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    rule = X[:, 0] + 0.3 * rng.normal(size=n) > 0
    y = np.where(np.arange(n) < n // 2, rule, rng.random(n) < 0.5)
    return X, np.where(y, "yes", "no")


def log_losses(model, X, y, c=None):
    p = model.partial_fit_predict(
        X, y, classes=["no", "yes"], sample_weight=c, method="predict_proba"
    )
    return -np.log(np.where(y == "yes", p[:, 1], p[:, 0]))


@pytest.mark.cases(1)
@pytest.mark.parametrize(("size", "metrics"), paired([50, 7, 1], [None, "accuracy"]))
def test_monitor_of_a_classifier(metrics, size):
    """It watches log losses where there are probabilities, else wrong labels.

    Rows of weight 0 are left out, and those that a model needs to be fitted.
    """
    (X, y), c = changing_rows(), np.arange(2000) % 7
    if metrics is None:
        losses = log_losses(ScInOLClassifier(), X, y, c)
    else:
        predicted = ScInOLClassifier().partial_fit_predict(
            X, y, classes=["no", "yes"], sample_weight=c
        )
        losses = predicted != y
    stream = [
        tuple(each[k : k + size] for each in (X, y, c)) for k in range(0, 2000, size)
    ]
    given, monitor = {"classes": ["no", "yes"], "metrics": metrics}, LossMonitor()
    result = validate(ScInOLClassifier(), stream, monitor=monitor, **given)
    assert result.alarms == monitor.alarms_ == all_alarms(losses[c > 0])
    assert any(850 < alarm.row < 950 for alarm in result.alarms)
    assert monitor.n_samples_seen_ == result.n_samples[-1] == np.sum(c > 0)
    monitor, halves = LossMonitor(), [(X[:30], y[:30]), (X[30:], y[30:])]
    validate(SGDClassifier(random_state=0), halves, monitor=monitor)
    assert monitor.n_samples_seen_ == len(y) - 30


def test_monitor_of_probability_zero():
    """Losses are clipped, as scikit-learn's are."""
    X, y = changing_rows()
    X[1000:] = 1e9 * X[1000:]
    stream = [(X[:500], y[:500]), (X[500:], y[500:])]
    monitor, watched = LossMonitor(), []
    update = monitor.update
    monitor.update = lambda losses: watched.extend(losses) or update(losses)
    result = validate(GaussianNB(), stream, monitor=monitor)
    assert max(watched) == -np.log(np.finfo(float).eps)
    assert np.mean(watched) == pytest.approx(-result.scores["neg_log_loss"])


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_monitor_of_a_regressor(n_outputs):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 2))
    noise = rng.normal(size=(600, n_outputs)) * np.repeat([0.1, 3], 300)[:, None]
    y = X[:, :1] + noise
    y = y[:, 0] if n_outputs == 1 else y
    predicted = ScInOLRegressor().partial_fit_predict(X, y)
    losses = np.abs(predicted - y).reshape(600, n_outputs).mean(axis=1)
    result = validate(ScInOLRegressor(), [(X, y)], monitor=LossMonitor())
    assert result.alarms == all_alarms(losses)
    assert result.alarms[-1].direction == "rise"


def test_monitor_goes_on():
    """Rows of later streams are counted from their own beginning."""
    X, y = changing_rows()
    monitor, model, start = LossMonitor(), ScInOLClassifier(), 1010
    classes = ["no", "yes"]
    validate(model, [(X[:start], y[:start])], monitor=monitor, classes=classes)
    n_alarms = len(monitor.alarms_)
    result = validate(model, [(X[start:], y[start:])], monitor=monitor)
    expected = all_alarms(log_losses(ScInOLClassifier(), X, y))
    assert monitor.alarms_ == expected
    (alarm, *_), (other, *_) = result.alarms, expected[n_alarms:]
    assert (alarm.row, alarm.change) == (other.row - start, other.change - start)
    assert alarm.change <= 0 < alarm.row


@pytest.mark.parametrize("monitor", [1e-4, LossMonitor, True])
def test_bad_monitor(monitor):
    with pytest.raises(TypeError, match="monitor must be a LossMonitor or None"):
        validate(ScInOLClassifier(), [changing_rows()], monitor=monitor)


def test_display_of_alarms(pyplot):
    X, y = changing_rows()
    display = ProgressiveValidationDisplay.from_estimator(
        ScInOLClassifier(), [(X, y)], monitor=LossMonitor(), progress=False, color="red"
    )
    alarms = sorted(display.alarms, key=lambda alarm: alarm.direction == "fall")
    styles = {"rise": "--", "fall": ":"}
    assert (
        [
            (line.get_xdata()[0], line.get_linestyle(), line.get_color())
            for line in display.alarm_lines_
        ]
        == [(alarm.row, styles[alarm.direction], "red") for alarm in alarms]
        != []
    )
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    for direction in {alarm.direction for alarm in alarms}:
        assert f"Alarm: {direction} of the losses" in legend
