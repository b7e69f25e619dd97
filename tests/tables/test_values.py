"""Values of columns, in all the ways in which they are written or missing."""

import datetime as dt
import math
import pickle
import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_scinol import HedgeClassifier, OnlineConformalClassifier, ScInOLClassifier
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineTargetEncoder, TableEncoder
from sklearn_scinol.tables import frames

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pandas = pytest.importorskip("pandas", reason="pandas is not installed")
polars = pytest.importorskip("polars", reason="polars is not installed")

KINDS = {
    "number": 1.5,
    "category": "x",
    "boolean": True,
    "date": dt.date(2024, 1, 1),
    "time": dt.time(18, 30),
    "text": "three words here",
}


def encoded(kind, values):
    """Encode values of a column in a chunk; return an array, and names."""
    encoder = TableEncoder(kinds={"x": kind}, n_hashed=1, n_named=2)
    X = encoder.partial_fit_transform([{"x": value} for value in values]).toarray()
    return X, encoder.get_feature_names_out().tolist()


# Times of the day.


def test_times_have_seconds_a_circle_and_an_hour():
    texts = ["00:00", "9:30", None, "23:59:59.5"]
    X, names = encoded("time", texts)
    seconds = np.array([0.0, 34_200.0, 86_399.5])
    angle = 2 * math.pi * seconds / 86_400
    given, missing = [0, 1, 3], names.index("x_missing")
    assert_allclose(X[given, names.index("x_day_sin")], np.sin(angle), atol=1e-12)
    assert_allclose(X[given, names.index("x_day_cos")], np.cos(angle), atol=1e-12)
    spread = seconds.std()
    assert_allclose(X[3, names.index("x")], (seconds[2] - seconds.mean()) / spread)
    for r, hour in zip(given, ["x_00h", "x_09h", "x_23h"], strict=True):
        assert X[r, names.index(hour)] == 1.0
    assert_array_equal(np.flatnonzero(X[2]), [missing])


def test_times_of_all_libraries():
    times = [dt.time(1, 2, 3), None, dt.time(23, 59)]
    arrow = [pa.array(times, pa.time64(unit)) for unit in ("us", "ns")]
    frames = [pa.table({"x": each}) for each in [*arrow, arrow[0].cast("time32[s]")]]
    frames += [polars.DataFrame({"x": times}), pandas.DataFrame({"x": times})]
    frames += [frames[0].to_pandas(types_mapper=pandas.ArrowDtype)]
    frames += [np.array(times, object)[:, np.newaxis]]
    for sparse_output in True, False:
        encoder = TableEncoder(sparse_output=sparse_output, n_hashed=1)
        expected = encoder.fit_transform([{"x": time} for time in times])
        for frame in frames:
            Z = encoder.fit_transform(frame)
            assert [*encoder.kinds_.values()] == ["time"]
            assert_array_equal(*(getattr(each, "data", each) for each in (Z, expected)))
    categories = TableEncoder(kinds={"x": "category"}).fit(frames[0]).categories_
    assert categories == {"x": ["01:02:03", "23:59:00"]}


def test_terms_of_times_add_up_to_the_decision(pyplot):
    rows = [{"x": dt.time(hour % 24, hour % 60)} for hour in range(100)]
    model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    model.partial_fit(rows, np.arange(100) % 24 > 12, classes=[False, True])
    (term,) = model.plot_terms().terms
    row = {"x": dt.time(18, 15)}
    at = term.points.tolist().index(18.25)
    decision = term.values[at] + model[-1].intercept_[0]
    assert_allclose(model.decision_function([row]), decision, rtol=1e-9)


# Numbers, dates and times in text.


@pytest.mark.parametrize(
    ("kind", "same", "refused"),
    [
        (
            "number",
            [("1e5", 1e5), (" 3 ", 3.0), ("+5", 5.0), ("nan", None), ("", None)],
            "1_000|0x10|１２|1,000|inf|Infinity|1e400",
        ),
        (
            "date",
            [
                ("20260131", dt.date(2026, 1, 31)),
                ("2026-01", dt.date(2026, 1, 1)),
                ("2026-01-31T18:00+02:00", dt.datetime(2026, 1, 31, 16)),
                ("2026-01-31 18:00:00Z", dt.datetime(2026, 1, 31, 18)),
                ("NaT", None),
                ("", None),
            ],
            "1700000000|1700010112345|today|now|2026W05123|2026-02-30|31/01/2026|"
            "0001-01-01T00:00+05:00|２０２６-01-01",
        ),
        (
            "time",
            [("9:05", dt.time(9, 5)), ("09:05:00.000", dt.time(9, 5)), ("", None)],
            "24:00|9|0930|09:60|09:05+01:00|１0:00|noon",
        ),
        ("boolean", [("TRUE", True), ("0", False), ("", None)], "yes|2|_1"),
    ],
)
def test_texts_are_read_as_what_they_are(kind, same, refused):
    for text, value in same:
        X, _ = encoded(kind, [KINDS[kind], text])
        assert_array_equal(X, encoded(kind, [KINDS[kind], value])[0])
        encoder = TableEncoder(kinds={"x": kind}).fit([{"x": KINDS[kind]}])
        alone = [encoder._transform_row({"x": each}) for each in (text, value)]
        assert_array_equal(alone[0].indices, alone[1].indices)
        assert_array_equal(alone[0].values, alone[1].values)
    for text in refused.split("|"):
        for rows in [[{"x": text}], [{"x": KINDS[kind]}, {"x": text}]]:
            with pytest.raises(ValueError, match="Column 'x' "):
                TableEncoder(kinds={"x": kind}).fit(rows)


@settings(max_examples=150)
@given(st.sampled_from([*KINDS]), st.text("0123456789:-+.TWZe_ \u0661", max_size=12))
def test_texts_mean_the_same_in_chunks_and_alone(kind, text):
    first = KINDS[kind] if kind in ("category", "text") else str(KINDS[kind])
    encoder = TableEncoder(kinds={"x": kind}, n_hashed=1, n_named=2)
    encoder.fit([{"x": first}])
    try:
        row = encoder._learn_row({"x": text}, [])
    except ValueError as error:
        with pytest.raises(ValueError, match=f"^{re.escape(str(error))}$"):
            encoded(kind, [first, text])
        return
    found = np.zeros(row.n_features)
    found[row.indices] = row.values
    assert_array_equal(found, encoded(kind, [first, text])[0][1])


# Missing values.


@pytest.mark.parametrize("kind", KINDS)
def test_a_chunk_without_values_is_of_any_type(kind):
    series = [[np.nan] * 2, [None] * 2, pandas.to_datetime([None] * 2)]
    dtypes = "Int64", "boolean", "string"
    series += [pandas.array([None] * 2, dtype) for dtype in dtypes]
    series += [pandas.Categorical([None] * 2), pandas.arrays.SparseArray([np.nan] * 2)]
    chunks = [pandas.DataFrame({"x": each}) for each in series]
    types = pa.null(), pa.date32(), pa.time32("s"), pa.list_(pa.int8()), pa.float32()
    chunks += [pa.table({"x": pa.nulls(2, each)}) for each in types]
    types = polars.Null, polars.Date, polars.Time, polars.List(polars.Int8)
    chunks += [polars.DataFrame({"x": [None] * 2}, {"x": each}) for each in types]
    chunks += [[{"x": ""}] * 2, [{"x": np.nan}, {"x": None}], [{}, {}]]
    first = [{"x": KINDS[kind]}]
    for declared in {"x": kind}, None:
        if declared is None and kind == "text":
            continue
        encoder = TableEncoder(kinds=declared, n_hashed=1).fit(first)
        expected = encoder.transform([{"x": None}] * 2)
        (missing,) = {*encoder.get_feature_names_out()[expected.indices]}
        assert missing == "x_missing"
        for chunk in chunks:
            X = pickle.loads(pickle.dumps(encoder)).partial_fit_transform(chunk)
            assert_array_equal(X.indices, expected.indices)
            late = TableEncoder(n_hashed=1).partial_fit([{"x": None}])
            late.partial_fit(chunk).partial_fit(first)
            assert declared or late.kinds_["x"] == kind


# Categories by their types.


@pytest.mark.parametrize("without", [(), ("pyarrow",)], ids=["pyarrow", "without"])
def test_types_of_categories(without, monkeypatch):
    """Whatever values they have, unless a kind is declared."""
    texts = ["a b c", "d e f", "g h i"]
    days = pandas.to_datetime(["2026-01-01", "2026-01-02", None])
    series = [
        pandas.Categorical(each) for each in ([3, 1, 2], [True, None], days, texts)
    ]
    frames_of_all = [pandas.DataFrame({"z": each}) for each in series]
    types = polars.Categorical, polars.Enum(texts)
    frames_of_all += [polars.DataFrame({"z": texts}, {"z": each}) for each in types]
    if without:
        monkeypatch.setattr(frames, "find_spec", lambda name: None)
    else:
        arrays = [pa.array(each).dictionary_encode() for each in ([3, 1, 2], texts)]
        frames_of_all += [pa.table({"z": each}) for each in arrays]
    for frame in frames_of_all:
        assert TableEncoder().fit(frame).kinds_ == {"z": "category"}
    encoder = TableEncoder().fit(frames_of_all[0])
    assert encoder.categories_ == {"z": ["3", "1", "2"]}
    number = TableEncoder(kinds={"z": "number"})
    expected = number.fit_transform([{"z": 3.0}, {"z": 1.0}, {"z": 2.0}]).toarray()
    assert_array_equal(number.fit_transform(frames_of_all[0]).toarray(), expected)


# Types that are not supported.


def test_messages_name_the_column_and_a_remedy_that_works():
    intervals = pandas.interval_range(0, 3)
    periods = pandas.period_range("2020-01", periods=3, freq="M")
    as_text = ".astype('string')", lambda x: x.astype("string")
    as_dates = ".dt.to_timestamp()", lambda x: x.dt.to_timestamp()
    dense = ".sparse.to_dense()", lambda x: x.sparse.to_dense()
    for values, (remedy, apply) in [
        (intervals, as_text),
        ([intervals[0], None, intervals[1]], as_text),
        (pandas.cut(pandas.Series([1.0, 2.0, 3.0]), 3), as_text),
        (periods, as_dates),
        (pandas.Categorical(periods), as_dates),
        (pandas.arrays.SparseArray([0.0, 1.0, 0.0]), dense),
        (pandas.arrays.SparseArray([0, 1, 0]), dense),
        ([1j, 2, 3], ("two columns", lambda x: pandas.Series(x.to_numpy().real))),
        ([[1], [2], [3]], ("to numbers or text", lambda x: x.astype(str))),
        ([{"a": 1}] * 3, ("to numbers or text", lambda x: x.astype(str))),
    ]:
        column = pandas.Series(values)
        X = pandas.DataFrame({"good": [1.0, 2.0, 3.0], "bad": column})
        with pytest.raises(ValueError, match="Column 'bad' cannot be read") as caught:
            TableEncoder().fit(X)
        assert remedy in str(caught.value)
        TableEncoder().fit(X.assign(bad=apply(column)))
        TableEncoder(kinds={"bad": "drop"}).fit(X)


@pytest.mark.parametrize("learner", [TableEncoder(), ScInOLClassifier()])
def test_iterators_and_lazy_frames(learner):
    with pytest.raises(TypeError, match=r"X is an iterator.*: pass list\(X\)"):
        learner.fit(([x] for x in (1.0, 2.0)), [0, 1])
    X = polars.DataFrame({"x": [1.0, 2.0]})
    with pytest.raises(TypeError, match=r"X is a LazyFrame.*: pass X\.collect\(\)\."):
        learner.fit(X.lazy(), [0, 1])
    learner.fit(X.lazy().collect(), [0, 1])


@pytest.mark.parametrize("kind", ["number", "category"])
def test_booleans_among_numbers(kind):
    """Are what they are in rows of their own."""
    rows = [{"x": value} for value in (True, 2.5, None, False, np.int64(1), 2**60 + 1)]
    whole = TableEncoder(kinds={"x": kind}, n_hashed=1).fit(rows)
    single = TableEncoder(kinds={"x": kind}, n_hashed=1)
    for row in rows:
        single.partial_fit([row])
    assert whole.categories_ == single.categories_
    X = whole.transform(rows).toarray()
    assert_array_equal(X, single.transform(rows).toarray())


# Labels.


def missing_labels(good):
    """Return labels of which the second is missing, in many ways."""
    a, _, b = good
    for missing in None, pandas.NA, np.nan, pandas.NaT:
        yield np.array([a, missing, b], object)
        yield [a, missing, b]
    dtypes = ["string", "category"] if isinstance(a, str) else ["Int64", "Float64"]
    for dtype in dtypes:
        yield pandas.Series([a, None, b], dtype=dtype)


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("estimator", "good"),
    [
        (ScInOLClassifier(new_classes="add"), [0, 1, 0]),
        (OnlineConformalClassifier(ScInOLClassifier()), ["u", "v", "u"]),
        (make_online_pipeline(TableEncoder(), ScInOLClassifier()), ["u", "v", "u"]),
        (make_online_pipeline(TableEncoder(n_hashed=64), HedgeClassifier()), [0, 1, 0]),
        (TableEncoder(), ["u", "v", "u"]),
        (OnlineTargetEncoder(), [0, 1, 0]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_missing_labels_are_refused(estimator, good):
    X = [[1.0], [2.0], [3.0]]
    bad = [*missing_labels(good)]
    for y in bad:
        with pytest.raises(ValueError, match="Input y contains NaN"):
            estimator.fit(X, y)
    estimator.fit(X, good)
    before = pickle.dumps(estimator)
    for y in bad:
        with pytest.raises(ValueError, match="Input y contains NaN"):
            estimator.partial_fit(X, y)
        assert pickle.dumps(estimator) == before
    if hasattr(estimator, "row_by_row") and not hasattr(estimator, "estimator"):
        rows = estimator.row_by_row()
        for y in bad[0][1], bad[2][1], bad[4][1]:
            with pytest.raises(ValueError, match="Input y contains NaN"):
                rows.learn_one(X[0], y)
        assert pickle.dumps(estimator) == before


# Names.

PIECES = "n_missing", "c", "_mean", "=", "_missing", "_2", "a", "<=", " & ", "_day_sin"
NAMES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("".join)


@settings(max_examples=40)
@given(st.dictionaries(NAMES, st.sampled_from([*KINDS]), min_size=1, max_size=5))
def test_names_of_encoded_columns_are_unique(kinds):
    rows = [{name: KINDS[kind] for name, kind in kinds.items()}, {}]
    for sparse_output, first in (True, 0), (False, 0), (True, 1), (False, 1):
        parameters = {"n_named": 2, "n_quantiles": 1, "n_hashed": 3}
        parameters |= {"kinds": kinds, "sparse_output": sparse_output}
        encoder = TableEncoder(**parameters)
        encoder.fit(rows[first:] + rows[:first], ["u", "v"], classes=["u", "v"])
        names = encoder.get_feature_names_out().tolist()
        assert len({*names}) == len(names)
        own = [name for name in kinds if kinds[name] not in ("category", "text")]
        assert {*own} <= {*names}
        assert not {*kinds} - {*own} & {*names}


# Whole numbers that float64 rounds.

BIG = [10**18 + i for i in range(4)] + [None, 7, -(2**53) - 1]


def frames_of_large_numbers():
    """Return frames with the same column of large whole numbers, by names."""
    yield "dicts", [{"x": value} for value in BIG]
    as_decimal = [value and Decimal(value) for value in BIG]
    yield "decimals", [{"x": value} for value in as_decimal]
    nullable = pandas.array(BIG, "Int64")
    yield "pandas", pandas.DataFrame({"x": nullable})
    yield "objects", pandas.DataFrame({"x": np.array(BIG, object)})
    yield "categories", pandas.DataFrame({"x": nullable}).astype("category")
    yield "polars", polars.DataFrame({"x": BIG})
    yield "pyarrow", pa.table({"x": BIG})
    yield "money", pa.table({"x": pa.array(as_decimal, pa.decimal128(38, 2))})


@pytest.mark.parametrize("has_pyarrow", [True, False])
def test_large_whole_numbers_stay_apart(has_pyarrow, monkeypatch):
    texts = [str(value) for value in BIG if value is not None]
    examples = dict(frames_of_large_numbers())
    if not has_pyarrow:
        monkeypatch.setattr(frames, "find_spec", lambda name: None)
        examples = {name: examples[name] for name in ("pandas", "objects", "polars")}
    as_floats = [{"x": value if value is None else float(value)} for value in BIG]
    expected = TableEncoder(n_hashed=1).fit_transform(as_floats).toarray()
    for name, frame in examples.items():
        encoder = TableEncoder(kinds={"x": "category"}, n_hashed=1).fit(frame)
        assert encoder.categories_ == {"x": texts}, name
        if name != "categories":
            X = TableEncoder(n_hashed=1).fit_transform(frame).toarray()
            assert_array_equal(X, expected)
    unsigned = np.array([[2**64 - 1], [2**64 - 2], [3]], np.uint64)
    encoder = TableEncoder(kinds={"x0": "category"}, n_hashed=1).fit(unsigned)
    assert encoder.categories_ == {"x0": [str(value) for value in unsigned.ravel()]}
    with pytest.raises(ValueError, match="1e\\+18 is neither 0 nor 1"):
        TableEncoder(kinds={"x": "boolean"}).fit([{"x": 10**18}])


def test_large_whole_numbers_of_single_rows():
    """They are the same category in a row, in a chunk, and as text."""
    y = np.arange(120) % 4
    numbers = [{"x": 10**18 + int(k)} for k in y]
    texts = [{"x": str(row["x"])} for row in numbers]
    model = make_online_pipeline(
        TableEncoder(kinds={"x": "category"}), ScInOLClassifier()
    )
    model.partial_fit(numbers, y, classes=[*range(4)])
    assert model.predict(numbers[:4]).tolist() == [0, 1, 2, 3]
    expected = model.decision_function(texts[:4])
    assert_array_equal(model.decision_function(numbers[:4]), expected)
    rows = model.row_by_row()
    for row, of_row in zip(numbers, expected, strict=False):
        assert_array_equal(rows.decision_function_one(row), of_row)
