"""Labels that come by time: a row is predicted by exactly those known at its time."""

from datetime import timedelta

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from support import late
from support.comparisons import assert_identical
from support.steps import assert_same_steps

from sklearn_scinol import HedgeClassifier, OnlineConformalClassifier, ScInOLClassifier
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineHistory,
    OnlineScaler,
    OnlineTargetEncoder,
    TableEncoder,
)

N, START = 60, np.datetime64("2026-01-05T00:00", "us")


def table(n=N, seed=0):
    """Rows that are dicts, of which several come at once, and their labels."""
    rng = np.random.default_rng(seed)
    hours = np.sort(rng.choice(3 * n, n))
    rows = [
        {
            "when": (START + np.timedelta64(int(hour), "h")).item(),
            "card": f"c{rng.integers(6)}",
            "amount": float(np.round(rng.gamma(1.0, 50.0), 1)),
            "country": str(rng.choice(["NO", "FI", "SE"])),
        }
        for hour in hours
    ]
    y = np.array([row["amount"] > 60.0 or row["card"] == "c1" for row in rows])
    return rows, y.astype(int)


def arrivals(rows, delay):
    """Times of rows and of labels; None for labels that never come."""
    times = [row["when"] for row in rows]
    if isinstance(delay, int):
        return range(len(rows)), [i + delay + 1 for i in range(len(rows))]
    if delay is not None:
        return times, [time + delay for time in times]
    rng = np.random.default_rng(3)
    hours = rng.choice([0, 1, 30, 30, 200], len(rows))
    known = [t + timedelta(hours=int(h)) for t, h in zip(times, hours, strict=True)]
    return times, [None if i % 11 == 5 else each for i, each in enumerate(known)]


def plainly(model, *rows):
    found = late.plainly(model, *rows, "predict_proba", classes=[0, 1])
    return [*map(np.array, found)]


def validate(model, stream, method="predict_proba", **given):
    return late.validated(model, stream, method, classes=[0, 1], **given)[:2]


def chunks(rows, y, size):
    for start in range(0, len(y), size):
        yield rows[start : start + size], y[start : start + size]


LAST = [ScInOLClassifier(), HedgeClassifier()]


@pytest.mark.cases(4)
@pytest.mark.parametrize("size", [1, 17, N])
@pytest.mark.parametrize("delay", [15, timedelta(0), timedelta(days=2), None], ids=str)
@pytest.mark.parametrize("last", LAST, ids=str)
def test_tables(last, delay, size, engine):
    """As with keys, in any chunks, by a delay in rows, by times, or times of labels."""
    rows, y = table()
    times, known = arrivals(rows, delay)
    model = make_online_pipeline(TableEncoder(n_hashed=50), last)
    plain, model = clone(model), clone(model)
    labels, expected = plainly(plain, rows, y, times, known)
    given = {"delay": delay} | ({} if isinstance(delay, int) else {"time": "when"})
    if delay is None:
        rows = [row | {"known": t} for row, t in zip(rows, known, strict=True)]
        given = {"time": "when", "label_time": "known"}
    found, predictions = validate(model, chunks(rows, y, size), **given)
    assert_identical(found, labels)
    assert_identical(predictions, expected[:, 1])
    assert_same_steps(model[:1], plain[:1])
    assert model.cumulative_loss_ == plain.cumulative_loss_
    assert model.n_samples_seen_ == plain.n_samples_seen_
    assert_identical(model.predict_proba(table()[0]), plain.predict_proba(table()[0]))
    assert "known" not in model[0].feature_names_in_


OTHERS = {
    "scaler": make_online_pipeline(OnlineScaler(), ScInOLClassifier()),
    "foreign scaler": make_online_pipeline(StandardScaler(), ScInOLClassifier()),
    "means": make_online_pipeline(OnlineTargetEncoder(), ScInOLClassifier()),
    "history": make_online_pipeline(
        OnlineHistory([0, (0, 1), ()], 2, n_hashed=4), ScInOLClassifier()
    ),
    "sets": make_online_pipeline(
        OnlineScaler(), OnlineConformalClassifier(ScInOLClassifier())
    ),
    "nested": make_online_pipeline(
        OnlineScaler(), make_online_pipeline(OnlineTargetEncoder(), ScInOLClassifier())
    ),
    "alone": ScInOLClassifier(),
}


@pytest.mark.cases(6)
@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("size", [1, 23])
def test_arrays(kind, size, engine):
    """With columns by number, and times that are numbers, of which some go back."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(4, size=(N, 2)), np.sort(rng.gamma(1.0, 9.0, N))])
    y = (X[:, 0] + rng.integers(3, size=N) > 2).astype(int)
    X[30, 2], X[50, 2] = 0.0, X[51, 2]
    times = np.maximum.accumulate(X[:, 2]).tolist()
    known = [time + 2.5 for time in times]
    plain, model = clone(OTHERS[kind]), clone(OTHERS[kind])
    labels, expected = plainly(plain, X, y, times, known)
    found, predictions = validate(model, chunks(X, y, size), time=2, delay=2.5)
    assert_identical(found, labels)
    assert_identical(predictions, expected[:, 1])
    assert model.n_samples_seen_ == N


def test_time_in_frames():
    """Frames of all libraries have times: dates with time zones, or texts."""
    rows, y = table()
    plain = make_online_pipeline(TableEncoder(n_hashed=50), ScInOLClassifier())
    expected = validate(clone(plain), chunks(rows, y, 30), time="when", delay="36h")
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(rows)
    known = (frame["when"] + pandas.Timedelta("36h")).dt.tz_localize("UTC")
    with_known = frame.assign(known=known)
    texts = frame.assign(when=frame["when"].dt.strftime("%Y-%m-%d %H:%M"))
    table_of = arrow.Table.from_pandas(with_known)
    frame.index = frame.index * 0.5  # which slices would look up
    polars = pytest.importorskip("polars").from_pandas(frame)
    starts = range(0, N, 30)
    in_pandas = ((frame.iloc[i : i + 30], y[i : i + 30]) for i in starts)
    in_arrow = ((table_of.slice(i, 30), y[i : i + 30]) for i in starts)
    for stream, given in (
        (in_pandas, {"delay": "36h"}),
        (chunks(polars, y, 30), {"delay": "36h"}),
        (chunks(with_known, y, 30), {"label_time": "known"}),
        (in_arrow, {"label_time": "known"}),
        (chunks(texts, y, 30), {"delay": timedelta(hours=36)}),
    ):
        model = clone(plain).set_params(tableencoder__kinds={"when": "date"})
        assert_identical(validate(model, stream, time="when", **given), expected)
    others = frame.iloc[:40], frame.iloc[40:].rename(columns={"card": "other"})
    model = make_online_pipeline(OnlineTargetEncoder(), ScInOLClassifier())
    with pytest.raises(ValueError, match="feature names should match"):
        validate(model, zip(others, [y[:40], y[40:]], strict=True), delay=10)


def test_missing_times():
    """A row without a time comes at the time of the last one before it."""
    rows, y = table(40)
    times, _ = arrivals(rows, timedelta())
    for i in 20, 21, 39:
        rows[i]["when"], times[i] = None, times[i - 1]
    known = [time + timedelta(days=1) for time in times]
    model = make_online_pipeline(TableEncoder(n_hashed=50), ScInOLClassifier())
    labels, expected = plainly(clone(model), rows, y, times, known)
    found = validate(clone(model), chunks(rows, y, 9), time="when", delay="1d")
    assert_identical(found, (labels, expected[:, 1]))
    with pytest.raises(ValueError, match="The first row has no time"):
        validate(model, chunks(rows[20:], y[20:], 9), time="when", delay="1d")


@pytest.mark.cases(15)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delay": "2 fortnights", "time": "when"}, "number with one of the units"),
        ({"delay": "-2d", "time": "when"}, "number with one of the units"),
        ({"delay": timedelta(-1), "time": "when"}, "delay must not be negative"),
        ({"delay": -1.0, "time": "when"}, "delay == -1.0, must be >= 0"),
        ({"delay": np.nan, "time": "when"}, "delay must not be NaN"),
        ({"delay": 3, "time": "when"}, "Times are dates: delay must be a time such"),
        ({"delay": "2d", "time": "amount"}, "Times are numbers: delay must be"),
        ({"delay": "2d", "time": "card"}, "is not a date"),
        ({"delay": "2d", "time": "then"}, "There is no column 'then'"),
        ({"time": "when"}, "either delay= or label_time="),
        ({"time": "when", "delay": "2d", "label_time": "when"}, "either delay= or"),
        ({"time": "when", "label_time": "amount"}, "Times were dates before, but"),
        ({"label_time": "when"}, "label_time= needs time="),
        ({"time": "when", "label_time": "never"}, "came before anything was learned"),
        ({"delay": "2d"}, "delay='2d' needs time="),
    ],
)
def test_bad_times(given, message):
    rows, y = table(20)
    rows = [row | {"never": None} for row in rows]
    model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    with pytest.raises(ValueError, match=message):
        validate(model, chunks(rows, y, 7), **given)
    assert not hasattr(model[0], "kinds_")
