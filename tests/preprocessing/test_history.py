"""History of keys, against plain Python."""

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.comparisons import assert_checkpoints_nest
from support.naive_history import NaiveHistory, in_order, units
from support.registry import seeds

from sklearn_scinol import (
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
)
from sklearn_scinol._rollback import roll_back
from sklearn_scinol.merging import merge
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineHistory,
    OnlineTargetEncoder,
    TableEncoder,
)
from sklearn_scinol.tables.dense import Targets

START = pd.Timestamp("2024-02-28T22:00")
LABELS = ["no", "yes"]


def events(n=150, seed=0, n_cards=8):
    """Return a frame of events, and labels."""
    rng = np.random.default_rng(seed)
    seconds = np.cumsum(rng.exponential(3000.0, n) * (rng.random(n) < 0.8))
    seconds += np.where(rng.random(n) < 0.1, -5000.0, 0.0)  # some come late
    frame = pd.DataFrame(
        {
            "card": [f"c{i}" for i in rng.integers(n_cards, size=n)],
            "shop": rng.choice(["a", "b", "c"], n),
            "when": START + pd.to_timedelta(np.round(seconds, 3), unit="s"),
            "amount": rng.lognormal(3.0, 1.0, n),
            "constant": 3.25,
        }
    )
    frame.loc[1:, "card"] = frame["card"][1:].where(rng.random(n - 1) < 0.9)
    frame.loc[1:, "amount"] = frame["amount"][1:].where(rng.random(n - 1) < 0.9)
    frame.loc[1:, "when"] = frame["when"][1:].where(rng.random(n - 1) < 0.95)
    frame["when"] = frame["when"].astype("datetime64[us]")
    return frame, np.array(LABELS)[rng.integers(2, size=n)]


def seconds_of(frame):
    micros = frame["when"].to_numpy().astype("datetime64[us]").astype(np.int64)
    return np.where(frame["when"].isna(), np.nan, micros / 1e6)


def naive(keys, times, all_units, values, targets, n_places=2**18, scales=None):
    """Return the features of rows by a single key, each label right after its row."""
    history = NaiveHistory(n_places, values.shape[1], targets.shape[1])
    scales = np.ones(len(times)) if scales is None else scales
    rows = zip(keys, times, all_units, values, targets, scales, strict=True)
    found = []
    for key, t, unit, x, y, scale in rows:
        found.append(history.features(key, t, unit, x, scale))
        history.add(key, t, unit, x)
        history.add_label(key, y)
    return np.array(found)


def added(history, Z):
    """Return the columns that were added to a frame."""
    return Z.iloc[:, history.n_features_in_ :].to_numpy(float)


def numbers_only(frame):
    """Return the columns of a frame of events as numbers."""
    X = np.column_stack([pd.factorize(frame["card"])[0], seconds_of(frame)])
    return np.column_stack([X, frame[["amount", "constant"]]])


@pytest.mark.cases(2)
@pytest.mark.parametrize("n_places", [2**18, 3])
def test_against_plain_python(n_places, engine):
    frame, y = events()
    keys = ["card", ("shop", "hour"), ()]
    history = OnlineHistory(keys, "when", n_hashed=n_places)
    Z = history.partial_fit_transform(frame, y, classes=LABELS)
    hours = frame["when"].dt.hour.astype(object).where(frame["when"].notna(), None)
    of_rows = [
        [*frame["card"].astype(object).where(frame["card"].notna(), None)],
        [*zip(frame["shop"], hours, strict=True)],
        [()] * len(frame),
    ]
    t, y = in_order(seconds_of(frame)), (y == "yes")[:, np.newaxis].astype(float)
    values = frame[["amount", "constant"]].to_numpy()
    expected = np.hstack(
        [naive(each, t, [60.0] * len(t), values, y, n_places) for each in of_rows]
    )
    expected[0] = np.nan_to_num(expected[0])
    assert_allclose(added(history, Z), expected, rtol=1e-9, atol=1e-11)
    rest = Z.iloc[:, : history.n_features_in_]
    pd.testing.assert_frame_equal(rest, frame)


@pytest.mark.parametrize("n", [40, 150])
def test_times_that_are_numbers(n, engine):
    frame, y = events(n)
    X, y = numbers_only(frame), (y == "yes").astype(float)
    history = OnlineHistory([0], 1)
    Z = history.partial_fit_transform(X, y)[:, 4:]
    t = in_order(X[:, 1])
    unit = units(t)
    args = t, unit, X[:, 2:], y[:, np.newaxis], 2**18, unit
    assert_allclose(Z, np.nan_to_num(naive(X[:, 0], *args)), rtol=1e-9, atol=1e-11)
    row = np.array([X[3, 0], t[-1] + 77.0, 30.0, 2.0])
    again = clone(history).partial_fit(X, y).partial_fit_transform(row[np.newaxis], [1])
    assert_array_equal(history.transform(row[np.newaxis]), again)


def test_without_a_time_rows_are_equally_far_apart(engine):
    frame, y = events(60)
    X, y = numbers_only(frame)[:, [0, 2]], (y == "yes").astype(float)
    Z = OnlineHistory([0]).partial_fit_transform(X, y)[:, 2:]
    args = range(60), [1.0] * 60, X[:, 1:], y[:, np.newaxis]
    assert_allclose(Z, np.nan_to_num(naive(X[:, 0], *args)), rtol=1e-9, atol=1e-11)


def test_labels_of_forgotten_keys_are_left_out(engine):
    rows = [{"card": each, "x": 1.0} for each in "abc"]
    history = OnlineHistory(["card"], n_hashed=2).observe(rows)
    history.learn_labels(rows[:2], [5.0, 7.0])
    (a, b, _), name = history.transform(rows), "card_target_last"
    assert (a[name], a["card_count"], b[name]) == (None, 0.0, 7.0)


@seeds
@pytest.mark.cases(3)
def test_units_of_powers_of_two(seed, engine):
    frame, y = events(70, seed)
    frame = frame[["card", "amount", "constant"]].assign(t=np.arange(70.0) ** 1.5)
    exponent = int(np.random.default_rng(seed).integers(-300, 300))
    of_amount, of_time = 2.0**exponent, 2.0 ** (exponent // 2)
    scaled = frame.assign(amount=of_amount * frame["amount"], t=of_time * frame["t"])
    history = OnlineHistory(time="t")
    Z = history.fit_transform(frame, y, classes=LABELS)
    other = history.fit_transform(scaled, y, classes=LABELS)
    for name in Z.columns[4:]:
        moves = "_amount_" in name and "ratio" not in name
        factor = of_amount if moves else 1.0
        assert_array_equal(other[name].to_numpy(), factor * Z[name].to_numpy(), name)


def test_frames_of_all_libraries(engine):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame, y = events(40)
    y = (y == "yes").astype(float)
    arrow = pa.Table.from_pandas(frame)
    batch = arrow.combine_chunks().to_batches()[0]
    expected = OnlineHistory(time="when").fit_transform(frame, y)
    for X in arrow, batch, polars.from_arrow(arrow):
        history = OnlineHistory(time="when")
        Z = history.fit_transform(X, y)
        assert type(Z) is type(X)
        as_frame = Z.to_pandas()
        assert [*as_frame.columns] == [*expected.columns]
        assert_array_equal(added(history, as_frame), added(history, expected))
    assert polars.from_arrow(arrow).columns == [*frame.columns]
    assert Z["all_since_last"].null_count() == 0  # the first row has 0
    assert Z["card_amount_last"].null_count() > 0
    X = np.arange(8.0).reshape(4, 2)
    Z = OnlineHistory([0]).fit_transform(pd.DataFrame(X), y[:4])  # without names
    assert_array_equal(Z, OnlineHistory([0]).fit_transform(X, y[:4]))


def dicts(frame):
    """Return rows of a frame of events, with None for what is missing."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [
        {**row, "when": row["when"] and row["when"].to_pydatetime()} for row in rows
    ]


def test_rows_that_are_dicts(engine):
    frame, y = events(40)
    y, rows = (y == "yes").astype(float), dicts(frame)
    expected = OnlineHistory(["card", ("shop", "hour"), ()], "when")
    Z = expected.fit_transform(frame, y)
    names = expected.get_feature_names_out()
    values = Z[names[5:]].astype(object).where(Z[names[5:]].notna(), None)
    found = clone(expected).fit_transform(rows, y)
    assert [[*each.values()][5:] for each in found] == values.to_numpy().tolist()
    assert [*found[0]] == [*names]
    assert {*rows[0]} == {*frame.columns}  # which did not change


def test_names():
    frame, _ = events(20)
    y = np.array(["u", "v", "w"])[np.arange(20) % 3]
    history = OnlineHistory([("shop", "hour"), ()], "when", values=["amount"])
    history.fit(frame, y, classes=["u", "v", "w"])
    names = history.get_feature_names_out()
    of_key = "count", "since_last", "count_1min", "count_1h", "count_1d", "count_1w"
    of_value = "last", "mean_4", "difference_4", "ratio_4"
    of_value = *of_value, "mean_32", "difference_32", "ratio_32"
    of_target = "last", "mean_2", "mean_8", "mean_64"
    expected = [
        *(f"shop_hour_{each}" for each in of_key),
        *(f"shop_hour_amount_{each}" for each in of_value),
        *(f"shop_hour_target_{each}_{k}" for k in "vw" for each in of_target),
    ]
    assert names[:27].tolist() == [*frame.columns, *expected, "all_count"]
    assert [*history.transform(frame).columns] == names.tolist()
    taken = frame.rename(columns={"constant": "shop_count"})
    assert "shop_count_2" in OnlineHistory(["shop"]).fit(taken).get_feature_names_out()


def test_columns_keep_their_names_when_labels_come(engine):
    """For the steps that follow: if classes were not known, names have numbers."""
    frame, _ = events(12)
    labels = np.array(["no", "yes", "late"])[[0, 1, 0, 1, 0, 0, 2, 1, 2, 0, 1, 2]]
    steps = OnlineHistory(["card"], "when"), TableEncoder()
    model = make_online_pipeline(*steps, ScInOLClassifier(new_classes="add"))
    by_row = clone(model)
    model.partial_fit(frame, labels)
    for i in range(12):
        by_row.partial_fit(frame[i : i + 1], labels[i : i + 1])
    names = model[0].get_feature_names_out()
    assert names[-1] == "card_target_mean_64_7"
    assert_array_equal(by_row[0].get_feature_names_out(), names)
    assert_array_equal(by_row.predict_proba(frame), model.predict_proba(frame))


def test_columns_by_default():
    frame, y = events(20)
    history = OnlineHistory(time="when").fit(frame.assign(ok=True), y == "yes")
    assert history.keys_ == [("card",), ("shop",), ()]
    assert history.values_ == ["amount", "constant"]
    history = OnlineHistory(["amount"], target=False).fit(frame, y)
    assert (history.keys_, history.values_) == ([("amount",)], ["constant"])
    assert not any("target" in name for name in history.get_feature_names_out())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"keys": ["card", "bank"]}, r"keys has unknown columns: \['bank'\]"),
        ({"keys": [0]}, r"keys has unknown columns: \['x0'\]"),
        ({"values": ["price"]}, r"unknown columns: \['price'\] \(columns: \['card"),
        ({"time": "at"}, r"no column 'at' \(columns: \['card'"),
        ({"keys": ["card", ("card",)]}, "keys must not be repeated"),
        ({"keys": [("card", "card")]}, "must not be repeated"),
        ({"keys": ["hour"]}, "has 'hour', which needs a time column of dates"),
        ({"keys": ["hour"], "time": "amount"}, "needs a time column of dates"),
        ({"time": "card"}, "'c.' is not a date"),
        ({"time": "empty"}, "'empty' has no value in the first rows"),
        ({"time": "ok"}, "column .ok. is of kind .boolean."),
        ({"values": ["card"]}, "could not convert string to float"),
        ({"n_hashed": 0}, "The 'n_hashed' parameter of"),
        ({"keys": "card"}, "The 'keys' parameter of"),
        ({"target": 2}, "The 'target' parameter of"),
    ],
)
def test_bad_parameters(parameters, message):
    frame, y = events(20)
    history = OnlineHistory(**parameters)
    with pytest.raises(ValueError, match=message):
        history.partial_fit(frame.assign(ok=True, empty=None), y)
    with pytest.raises(NotFittedError):
        history.transform(frame)
    with pytest.raises(ValueError, match=f"{message}|not fitted yet"):
        history.learn_labels(frame, y)


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"amount": np.inf}, "'amount' contains infinity"),
        ({"amount": "many"}, "could not convert string"),
        ({"when": "soon"}, "'soon' is not a date"),
        ({"when": 3.0}, "is not a date|expected dates"),
        ({"shop": [1, 2]}, "cannot be read"),
        ({"label": np.nan}, "Input y contains NaN"),
    ],
)
def test_bad_rows_change_nothing(bad, message, engine):
    frame, y = events(60)
    rows, y = dicts(frame), (y == "yes").astype(float)
    history = OnlineHistory(time="when", n_hashed=4)
    model = make_online_pipeline(history, TableEncoder(), ScInOLRegressor())
    model.partial_fit(rows[:40], y[:40])
    one, before = model.row_by_row(), pickle.dumps(history)
    row, label = rows[40] | bad, bad.get("label", 1.0)
    row.pop("label", None)
    chunk = [*rows[41:50], row], [*y[41:50], label]
    calls = [(one.learn_one, row, label)]
    for learn in model.partial_fit, history.partial_fit_transform, history.learn_labels:
        calls.append((learn, *chunk))
    if "label" not in bad:
        calls.append((history.observe, chunk[0]))
    for learn, *arguments in calls:
        with pytest.raises(ValueError, match=message):
            learn(*arguments)
        assert pickle.dumps(history) == before
    one.learn_one(rows[40], 1.0)
    assert pickle.dumps(history) != before


def test_shuffled_rows_are_told():
    frame, _ = events(300)
    OnlineHistory(time="when").fit(frame)
    shuffled = frame.sample(frac=1.0, random_state=0)
    with pytest.warns(UserWarning, match="'when', and count .* sort the rows by time"):
        OnlineHistory(time="when").fit(shuffled)


def test_one_time_in_the_future_is_told():
    """It stops the clock for all rows that follow."""
    frame, y = events(600)
    frame.loc[250, "when"] = future = frame["when"].max() + pd.Timedelta(9999, "D")
    history = OnlineHistory(time="when").fit(frame[:300], y[:300])
    with pytest.warns(UserWarning, match=f"before {future:%Y-%m-%dT%H}.*'when'"):
        history.partial_fit(frame[300:], y[300:])


def test_frames_have_the_columns_of_the_first(engine):
    frame, y = events(20)
    history = OnlineHistory(time="when").fit(frame, y)
    for other in frame.drop(columns="shop"), frame.assign(more=1.0):
        with pytest.raises(ValueError, match="'ignore' of OnlineHistory"):
            history.transform(other)
    assert history.transform([{"card": "c1", "more": 1}])[0]["more"] == 1


def test_frames_with_other_columns_are_learned_as_dicts(engine):
    ignore = {"missing_columns": "ignore", "new_columns": "ignore"}
    frame, y = events(20)
    with pytest.raises(ValueError, match="X has 1 features, but OnlineHistory"):
        OnlineHistory(**ignore).fit(np.eye(2)).transform([[1.0]])  # told by place
    for last in TableEncoder(**ignore), OnlineTargetEncoder(**ignore):
        steps = OnlineHistory(["card"], "when", **ignore), last, ScInOLClassifier()
        model = make_online_pipeline(*steps).partial_fit(frame, y, classes=LABELS)
        other = frame.drop(columns=["card", "when"]).assign(more=1.0)[::-1]
        said = model.decision_function(other)
        rows = other.astype(object).where(other.notna(), None).to_dict("records")
        assert_array_equal(model.decision_function(rows), said)


def test_merging_is_refused():
    frame, y = events(20)
    shards = [OnlineHistory(time="when").fit(frame, y) for _ in range(2)]
    with pytest.raises(ValueError, match="OnlineHistory cannot be merged"):
        merge(shards)
    merge(shards[:1])


def test_weights_of_0_leave_labels_out(engine):
    frame, y = events(20)
    model = make_online_pipeline(
        OnlineHistory([()]), TableEncoder(), ScInOLClassifier()
    )
    c = np.arange(20) % 2
    model.partial_fit(frame, y, classes=LABELS, sample_weight=c)
    labels = model[0]._histories[0].labels
    assert labels[0, 0] == 10.0
    assert labels[0, 1] == (y[19] == "yes")


@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "c"]])
@pytest.mark.parametrize("step", [OnlineHistory(["card"]), OnlineTargetEncoder()])
def test_order_of_classes_does_not_matter(step, labels):
    frame, _ = events(40)
    X, y = frame[["card", "shop"]], np.resize(labels, 40)
    model = clone(make_online_pipeline(step, TableEncoder(), ScInOLClassifier()))
    other = clone(model).partial_fit(X[:20], y[:20], classes=labels[::-1])
    model.partial_fit(X, y, classes=labels)
    other.partial_fit(X[20:], y[20:], classes=labels)
    names = model[0].get_feature_names_out()
    assert_array_equal(other[0].get_feature_names_out(), names)
    assert_array_equal(other.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("step", [OnlineHistory(["card"]), OnlineTargetEncoder()])
def test_scalar_weight(step):
    frame, y = events(20)
    X = frame[["card", "shop"]]
    steps = clone(step), TableEncoder(), ScInOLClassifier()
    model = make_online_pipeline(*steps)
    other = clone(model).partial_fit(X, y, LABELS, sample_weight=np.full(20, 2.0))
    model.partial_fit(X, y, LABELS, sample_weight=2.0)
    assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    with pytest.raises(ValueError, match="shape"):
        model.partial_fit(X, y, sample_weight=[2.0])


@pytest.mark.parametrize("step", [OnlineHistory(time="when"), OnlineTargetEncoder()])
def test_checkpoints_within_checkpoints(step, engine):
    frame, y = events(200)
    step, records = clone(step).fit(frame[:3], y[:3]), dicts(frame)

    def learn(rows):
        step.partial_fit(frame[rows], y[rows])
        step._transform_row(records[rows.start])

    assert_checkpoints_nest(step, learn, len(y))


def test_memory_is_as_documented():
    """Bytes of each place, when all are used."""
    X = np.column_stack([np.arange(3000.0) % 2048, np.ones(3000), np.ones(3000)])
    history = OnlineHistory([0], n_hashed=1024).fit(X, np.ones(3000))._histories[0]
    arrays = [getattr(history, name) for name in history._undone]
    arrays += [history._index[1].table, history._index[1].queue]
    assert sum(each.nbytes for each in arrays) == 1024 * (84 + 48 * 2 + 32 * 1)


TIMES = st.one_of(
    st.none(),
    st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2262, 1, 1)),
    st.datetimes(
        dt.datetime(2020, 1, 1),
        dt.datetime(2020, 1, 2),
        timezones=st.sampled_from([dt.UTC, dt.timezone(dt.timedelta(hours=-5))]),
    ),
    st.dates(dt.date(2020, 1, 1), dt.date(2020, 1, 2)),
    st.sampled_from(["2020-01-01", "2020-01-01T10:00:00+02:00", ""]),
)
NUMBERS = st.one_of(
    st.none(),
    st.floats(allow_infinity=False),
    st.integers(-3, 3).map(float),
    st.sampled_from([1e308, -1e308, 5e-324, 0.0]),
)
KEYS = st.one_of(st.none(), st.text(max_size=2), st.integers(0, 30), st.booleans())


@settings(deadline=None, max_examples=40)
@given(data=st.data(), n_hashed=st.integers(1, 4), size=st.integers(1, 5))
@pytest.mark.parametrize(
    ("times", "first"), [(TIMES, dt.date(2020, 1, 1)), (NUMBERS, 0.0)]
)
def test_any_times_and_keys(times, first, data, n_hashed, size):
    """Chunks, single rows, copies and invariants on hostile rows."""
    row = st.fixed_dictionaries({"t": times, "k": KEYS, "x": NUMBERS})
    rows = data.draw(st.lists(row, max_size=12))
    rows = [{"t": first, "k": "a", "x": 1.0}, *rows]
    y = np.arange(len(rows)) % 2.0
    history = OnlineHistory(["k", ()], "t", values=["x"], n_hashed=n_hashed)
    with config_context(engine="numpy"):
        whole = clone(history).partial_fit_transform(rows, y)
        found = history.partial_fit_transform(rows[:1], y[:1])
        for start in range(1, len(rows), size):
            chunk = slice(start, start + size)
            before = pickle.dumps(history)
            asked = history.transform(rows[start : start + 1])
            assert pickle.dumps(history) == before
            assert asked == whole[start : start + 1]
            rollbacks, targets = [], Targets(y[start : start + 1])
            of_row = history._transform_row(rows[start])
            learned = history._learn_row(rows[start], rollbacks, targets)
            for alone in of_row, learned:
                assert (alone if type(alone) is dict else alone.matrix[0]) == asked[0]
            roll_back(rollbacks)
            assert pickle.dumps(history) == before
            found += history.partial_fit_transform(rows[chunk], y[chunk])
            history = pickle.loads(pickle.dumps(history))
            for part in history, history._clock, *history._histories:
                name = "invariants" if part is not history else "_invariants"
                assert all(np.all(holds) for _, holds in getattr(part, name)())
    assert found == whole
    numbers = [z for row in whole for name, z in row.items() if name not in "tkx"]
    assert np.isfinite([z for z in numbers if z is not None]).all()


def test_dates_are_the_same_keys_beside_texts():
    day = dt.datetime(2026, 1, 2)
    history = OnlineHistory(["k"], target=False).fit([{"k": day}])
    (mixed, _), (alone,) = map(
        history.transform, ([{"k": day}, {"k": "x"}], [{"k": day}])
    )
    assert mixed == alone


def test_large_whole_numbers_are_different_keys():
    rows = [{"k": 2**60 + i % 3, "x": i} for i in range(9)]
    for X in rows, pd.DataFrame(rows):
        history = OnlineHistory(keys=["k"], target=False)
        seen = pd.DataFrame(history.partial_fit_transform(X))
        assert_allclose(np.expm1(seen["k_count"]), np.arange(9) // 3, atol=1e-12)
        for row, expected in zip(rows, history.transform(rows), strict=True):
            assert history._transform_row(row) == expected
            text = {"k": str(row["k"])}
            assert history.transform([row | text]) == [expected | text]
