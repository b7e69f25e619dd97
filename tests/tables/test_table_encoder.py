"""Tables of all kinds of columns, made into rows of numbers."""

import datetime as dt
import math
import pickle
import re
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from support import naive
from support.tables import (
    KINDS,
    SETTINGS,
    late_table,
    state_of,
    table,
)

from sklearn_scinol.checks import check_step
from sklearn_scinol.preprocessing import OnlineScaler, TableEncoder
from sklearn_scinol.tables import frames

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pandas = pytest.importorskip("pandas", reason="pandas is not installed")
polars = pytest.importorskip("polars", reason="polars is not installed")


class NaiveEncoder:
    """From the documentation: names and values of the entries of each row."""

    n_first = 100

    def __init__(self, interactions, n_named, n_quantiles):
        self.interactions, self.n_named = interactions, n_named
        self.n_quantiles = n_quantiles
        self.values = {name: [] for name in KINDS}
        self.known = {name: [] for name in KINDS}
        self.is_of_use = dict.fromkeys(KINDS, True)

    def encode(self, row):
        entries, self.parts = {}, {}
        for name, kind in KINDS.items():
            value = row.get(name)
            if value is None:
                entries[f"{name}_missing"] = 1.0
                self.parts[name] = f"{name}_missing"
            else:
                getattr(self, kind)(entries, name, value)
            if kind == "date" and value:
                value = seconds_of(value)
            self.values[name].append(value)
        for names in self.interactions:
            entries[" & ".join(self.parts[name] for name in names)] = 1.0
        return {name: value for name, value in entries.items() if value != 0.0}

    def standardised(self, name, value):
        values = [v for v in [*self.values[name], value] if v is not None]
        deviation = np.std(values)
        return (value - np.mean(values)) / deviation if deviation else 0.0

    def has_slot(self, name, value, retires):
        known = self.known[name]
        if not self.is_of_use[name]:
            return False
        if value not in known and len(known) < self.n_named:
            known.append(value)
            if len(known) == self.n_named and retires:
                n_seen = sum(v is not None for v in self.values[name]) + 1
                self.is_of_use[name] = n_seen >= 2 * self.n_named
        return value in known

    def number(self, entries, name, value):
        entries[name] = self.standardised(name, value)
        first = self.values[name][: self.n_first]
        first = [math.nan if v is None else v for v in first]
        edges = naive.edges_of(first, self.n_quantiles)
        self.parts[name] = f"{name}_other"
        if len(first) == self.n_first and edges:
            self.parts[name] = self.bin(name, value, [f"{e:.6g}" for e in edges], edges)
            entries[self.parts[name]] = 1.0
        if self.has_slot(name, value, retires=True):
            entries[f"{name}={value:.12g}"] = 1.0
            if self.parts[name] == f"{name}_other":
                self.parts[name] = f"{name}={value:.12g}"

    def bin(self, name, value, texts, edges):
        if value <= edges[0]:
            return f"{name}<={texts[0]}"
        for (low, high), edge in zip(pairwise(texts), edges[1:], strict=True):
            if value <= edge:
                return f"{low}<{name}<={high}"
        return f"{name}>{texts[-1]}"

    def category(self, entries, name, value):
        self.has_slot(name, value, retires=False)
        entries[f"{name}={value}"] = 1.0
        self.parts[name] = f"{name}={value}"

    def boolean(self, entries, name, value):
        entries[name] = float(value)
        self.parts[name] = name if value else f"{name}=False"

    def date(self, entries, name, value):
        entries[name] = self.standardised(name, seconds_of(value))
        angle = 2 * math.pi * (value.timetuple().tm_yday - 1) / 365.25
        entries[f"{name}_year_sin"] = math.sin(angle)
        entries[f"{name}_year_cos"] = math.cos(angle)
        for part in ("%b", "%a", "%Hh"):
            entries[f"{name}_{value.strftime(part)}"] = 1.0

    def text(self, entries, name, value):
        words = re.findall(r"\w+|[^\w\s]", value.lower())
        for word in words + [" ".join(pair) for pair in pairwise(words)]:
            entries[f"{name}={word}"] = 1.0


def seconds_of(moment):
    return (moment - dt.datetime(1970, 1, 1)).total_seconds()


def by_name(encoder, X):
    names = encoder.get_feature_names_out()
    for r in range(X.shape[0]):
        start, end = X.indptr[r : r + 2]
        yield dict(zip(names[X.indices[start:end]], X.data[start:end], strict=True))


def chunks(rows, size):
    return (rows[start : start + size] for start in range(0, len(rows), size))


def assert_same_entries(Z, X):
    """Of sparse rows, which are too wide to be made dense."""
    assert Z.shape == X.shape
    for name in ("data", "indices", "indptr"):
        assert_array_equal(getattr(Z, name), getattr(X, name))


@pytest.mark.cases(1)
@pytest.mark.parametrize("size", [7, 1, 1000])
def test_entries_of_each_row(engine, size):
    rows = table()
    encoder = TableEncoder(kinds={"message": "text"}, **SETTINGS)
    X = [encoder.partial_fit_transform(chunk) for chunk in chunks(rows, size)]
    assert encoder.kinds_ == KINDS
    X = sparse.vstack(X).tocsr()
    plain = NaiveEncoder(**SETTINGS)
    for r, (found, row) in enumerate(zip(by_name(encoder, X), rows, strict=True)):
        expected = plain.encode(row)
        # Values at the mean may be what rounding leaves.
        assert {name for name in found.keys() ^ expected.keys()} <= {"age"}, r
        for name in found.keys() | expected.keys():
            values = found.get(name, 0.0), expected.get(name, 0.0)
            assert_allclose(*values, rtol=1e-9, atol=1e-9)
    assert encoder.n_samples_seen_ == len(rows)
    assert encoder.categories_["city"] == plain.known["city"]
    assert not plain.is_of_use["noise"]
    assert plain.is_of_use["city"]


# Frames of all libraries.


def cast(rows, name, change):
    """Return a table of pyarrow with another column."""
    frame = pa.Table.from_pylist(rows)
    column = change(frame[name])
    return frame.set_column(frame.schema.get_field_index(name), name, column)


def in_two_dictionaries(column):
    halves = column.combine_chunks()[:5], column.combine_chunks()[5:]
    return pa.chunked_array([half.dictionary_encode() for half in halves])


TYPES = {"age": "Int64", "gain": "Float64", "flag": "boolean", "city": "string"}

FRAMES = {
    "pandas": pandas.DataFrame,
    "objects": lambda rows: pandas.DataFrame(rows).astype(object),
    "categories": lambda rows: pandas.DataFrame(rows).astype({"city": "category"}),
    "extension types": lambda rows: pandas.DataFrame(rows).astype(TYPES),
    "polars": lambda rows: polars.DataFrame(rows, infer_schema_length=None),
    "arrow": pa.Table.from_pylist,
    "arrow batch": pa.RecordBatch.from_pylist,
    "arrow slice": lambda rows: pa.Table.from_pylist([*rows[:3], *rows]).slice(3),
    "arrow dictionary": lambda rows: cast(rows, "city", in_two_dictionaries),
    "arrow large strings": lambda rows: cast(
        rows, "message", lambda column: column.cast(pa.large_string())
    ),
}


@pytest.mark.parametrize("without", [(), ("pyarrow",)], ids=["pyarrow", "without"])
@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_all_libraries(kind, without, monkeypatch):
    rows = table(120)
    frame = FRAMES[kind](rows)
    if without:
        if "arrow" in kind:
            pytest.skip("that is a frame of pyarrow")
        monkeypatch.setattr(frames, "find_spec", lambda name: None)
    expected = TableEncoder(**SETTINGS)
    X = expected.partial_fit_transform(rows)
    encoder = TableEncoder(**SETTINGS)
    Z = encoder.partial_fit_transform(frame)
    assert encoder.kinds_ == expected.kinds_ == KINDS
    assert_same_entries(Z, X)
    assert_array_equal(encoder.feature_names_in_, [*KINDS])
    names = [*KINDS][::-1]
    turned = frame.select(names) if hasattr(frame, "select") else frame[names]
    assert_same_entries(encoder.transform(turned), expected.transform(rows))


def test_arrays():
    X = np.array([[1.0, "a"], [2.0, "b"], [None, "a"]], dtype=object)
    encoder = TableEncoder(n_hashed=1)
    Z = encoder.partial_fit_transform(X)
    assert encoder.kinds_ == {"x0": "number", "x1": "category"}
    assert not hasattr(encoder, "feature_names_in_")
    asked = [encoder.transform(rows).indices for rows in (X.tolist(), X)]
    assert_array_equal(*asked)
    assert [*by_name(encoder, Z)] == [
        {"x0=1": 1.0, "x1=a": 1.0},
        {"x0": 1.0, "x0=2": 1.0, "x1=b": 1.0},
        {"x0_missing": 1.0, "x1=a": 1.0},
    ]
    with pytest.raises(ValueError, match="X has 3 features, but TableEncoder is expec"):
        encoder.transform(np.zeros((2, 3)))


EAST = dt.timezone(dt.timedelta(hours=2))

#: Values, their kind, and names of columns that encode them.
FOUND = [
    ([1, 2.5, Decimal("3.5"), np.float32(4)], "number", ["x=1", "x=2.5", "x=3.5"]),
    ([True, None, np.True_], "boolean", ["x", "x_missing", "x"]),
    ([dt.timedelta(minutes=2), None], "number", ["x=120", "x_missing"]),
    ([dt.date(2020, 5, 1), np.datetime64("2021-06-01T23")], "date", ["x_May"]),
    ([dt.datetime(2020, 1, 1, 1, tzinfo=EAST)], "date", ["x_23h"]),
    (["a", 3, 3.0, True], "category", ["x=a", "x=3", "x=3", "x=True"]),
    ([2**70, "a"], "category", [f"x={2**70}", "x=a"]),
    (["", "\0", "\ud800", "é" * 999], "category", ["x_missing", "x=\0"]),
    ([None, float("nan")], None, ["x_missing", "x_missing"]),
    (["New York", "Los Angeles"], "category", ["x=New York"]),
    (["a long way home"] * 5, "category", ["x=a long way home"]),
    (["call me now", "where are you?", "free entry to win"], "text", ["x=call me"]),
    (["12", "13"], "category", ["x=12"]),
]
DECLARED = [
    ([True, False], "number", ["x=1", "x=0"]),
    ([1, None, 2.0], "category", ["x=1", "x_missing", "x=2"]),
    ([True, False], "category", ["x=True", "x=False"]),
    ([dt.date(2020, 1, 1)], "category", ["x=2020-01-01T00:00:00.000000"]),
    ([1.0, 0], "boolean", ["x"]),
    (["One, two", None, 3], "text", ["x=one ,", "x_missing", "x=3"]),
]


@pytest.mark.cases(20)
@pytest.mark.parametrize(
    ("is_declared", "values", "kind", "names"),
    [*((False, *each) for each in FOUND), *((True, *each) for each in DECLARED)],
)
def test_objects_of_python(is_declared, values, kind, names):
    encoder = TableEncoder(kinds={"x": kind} if is_declared else None)
    X = encoder.partial_fit_transform([{"x": value} for value in values])
    assert encoder.kinds_ == {"x": kind}
    for name, found in zip(names, by_name(encoder, X), strict=False):
        assert name in found


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["red", "blue", "red"], "category"),
        (["New York", "Los Angeles"], "category"),
        (["a long way home"] * 5, "category"),
        (["call me now", "where are you?", "free entry to win"], "text"),
        ([None, None], None),
        (["12", "13"], "category"),
        (["2026-01-31T18:00:00.000Z", None, "2026-02-01"], "date"),
        (["2026-01-31", "2026-02-30"], "category"),
        (["2026", "20260131", "2026-01"], "category"),
        (["2026-01-31", "no date"], "category"),
        (["2026-01-310"], "category"),
    ],
)
def test_kinds_of_strings(texts, kind):
    encoder = TableEncoder().fit([{"x": text} for text in texts])
    assert encoder.kinds_ == {"x": kind}


# Columns that begin with missing values.


def test_entries_of_columns_that_are_missing_at_first(engine):
    """What declared kinds give, in other columns."""
    rows, settings = late_table(), {**SETTINGS, "n_hashed": 2**17}
    told, finds = TableEncoder(**settings, kinds=KINDS), TableEncoder(**settings)
    expected = [*by_name(told, told.partial_fit_transform(rows))]
    found = [*by_name(finds, finds.partial_fit_transform(rows))]
    for of_row, other in zip(found, expected, strict=True):
        assert of_row == pytest.approx(other, rel=1e-12)
    names = finds.get_feature_names_out()
    assert len({*names}) == len(names)
    assert finds.categories_ == told.categories_


def test_interactions_with_a_column_that_turns_out_to_be_text():
    encoder = TableEncoder(interactions=[("a", "b")])
    encoder.partial_fit([{"a": None, "b": 1.0}])
    before = state_of(encoder)
    for method in encoder.partial_fit, encoder.transform:
        with pytest.raises(
            ValueError, match="interactions has 'a', which is not a col"
        ):
            method([{"a": "so many words", "b": 1.0}])
        assert state_of(encoder) == before
    assert encoder.partial_fit([{"a": 3.0, "b": 1.0}]).kinds_["a"] == "number"


# What may be hashed to, and what is known of it.


@pytest.mark.parametrize("rows", [table(150), late_table(160)], ids=["", "late"])
def test_rows_are_learned_one_by_one(rows, engine):
    """So many that bins have edges; keys of several columns come to one."""
    check_step(TableEncoder(**SETTINGS | {"n_named": 1}, n_hashed=40), rows)


def test_the_same_values_in_other_columns(engine):
    row = {"a": "x", "b": "y", "c": "x", "d": "y", "s": "one two", "t": "one two"}
    kinds, pairs = {"s": "text", "t": "text"}, [("a", "b"), ("c", "d"), ("b", "a")]
    encoder = TableEncoder(kinds=kinds, interactions=pairs).fit([row])
    names = sorted(name for found in encoder.hashed_names_.values() for name in found)
    words = [f"{name}={text}" for name in "st" for text in ("one", "one two", "two")]
    assert names == ["a=x & b=y", "b=y & a=x", "c=x & d=y", *words]
    assert len(encoder.hashed_names_) == len(names)


def test_numbers_that_never_come_again_have_no_columns(engine):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=1000), rng.integers(0, 40, 1000), rng.normal(size=1000)]
    )
    X[rng.random(1000) < 0.8, 2] = 0.0
    encoder = TableEncoder(n_named=50, n_hashed=1)
    codes = encoder.partial_fit_transform(X)
    exact = [bool(re.match(r"x0=", name)) for name in encoder.get_feature_names_out()]
    n_exact = codes[:, np.flatnonzero(exact)].sum(axis=1)
    assert_array_equal(n_exact, np.arange(1000) < 50)
    assert_array_equal(encoder._encoding.retired_columns(), np.flatnonzero(exact))
    assert len(encoder.categories_["x1"]) == 40


@pytest.mark.parametrize("factor", [2.0**-300, 2.0**300, 2.0**-40, 1e9, 1e-7])
def test_units_do_not_matter(engine, factor):
    rows = table(200)
    encoders = [TableEncoder(**SETTINGS, kinds=KINDS) for _ in range(2)]
    other = [
        row | {name: row[name] and row[name] * factor for name in ("age", "gain")}
        for row in rows
    ]
    X, Z = (
        encoder.partial_fit_transform(each)
        for encoder, each in zip(encoders, (rows, other), strict=True)
    )
    if math.frexp(factor)[0] == 0.5:
        assert_same_entries(Z, X)
    else:
        assert (abs(Z - X) - 1e-7 * abs(X)).max() <= 1e-9


def test_the_scaler_is_that_of_scikit_learn(engine):
    rng = np.random.default_rng(0)
    X = rng.normal(1e6, [1e-3, 1, 1e3], size=(60, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    X[0] = 1e6  # nowhere is NaN all there is
    scaler, parts = OnlineScaler(), OnlineScaler()
    Z = scaler.partial_fit_transform(X)
    expected = [
        StandardScaler().fit(X[: r + 1]).transform(X[[r]])[0] for r in range(60)
    ]
    # The first column cancels in scikit-learn.
    assert_allclose(Z, expected, atol=1e-4)
    assert_allclose(Z[:, 1:], np.array(expected)[:, 1:], atol=1e-8)
    assert_allclose(scaler.mean_, np.nanmean(X, axis=0), rtol=1e-12)
    assert_allclose(scaler.var_, np.nanvar(X, axis=0), rtol=1e-5)
    assert_array_equal(parts.partial_fit_transform(X[:7]), Z[:7])
    for r in range(7, 60):
        asked = parts.transform(X[[r]])
        assert_array_equal(parts.partial_fit_transform(X[[r]])[0], Z[r])
        assert_allclose(asked[0], Z[r], rtol=1e-12, atol=1e-12)
    assert np.nanmax(np.abs(Z)) < math.sqrt(60)


# What is refused, and what stays.

GOOD = [{"a": 1.0, "b": "x", "c": True}, {"a": 2.0, "b": "y", "c": False}]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": "abc", "b": "x", "c": True}], r"'a' is of kind 'number'.*float: 'abc'"),
        ([{"a": math.inf, "b": "x"}], "'a' contains infinity or a value too large"),
        ([{"a": 10**400}], "'a'.*too large"),
        ([{"a": dt.date(2020, 1, 1)}], "expected numbers, got date"),
        ([{"b": ["x"]}], "'b' cannot be read: values of type list"),
        ([{"c": "perhaps"}], "'c' is of kind 'boolean': 'perhaps' is not one of"),
        ([{"c": 0.5}], "'c' is of kind 'boolean': 0.5 is neither 0 nor 1"),
        ([{"a": 1.0, "d": 1}], r"names unseen at fit time: \['d'\]"),
        ([{"a": 1.0, 7: 1}], "string names"),
        ([{"a": 1.0}, [1.0]], "Row 1 is not a dict"),
        ({"a": 1.0}, r"pass \[row\]"),
        ([], "Expected 2D array"),
        (np.empty((0, 3)), "0 sample"),
        (sparse.csr_array((2, 3)), "[Ss]parse data was passed"),
        ("a table", "Expected 2D array|could not convert"),
        (None, "None|Expected"),
    ],
)
@pytest.mark.parametrize(
    "method", ["partial_fit", "partial_fit_transform", "transform"]
)
def test_bad_tables_change_nothing(rows, message, method, engine):
    encoder = TableEncoder(n_hashed=5).partial_fit(GOOD)
    before = pickle.dumps(encoder)
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(encoder, method)(rows)
    assert pickle.dumps(encoder) == before


def test_columns_that_are_missing_or_new():
    frame = pandas.DataFrame(GOOD)
    encoder = TableEncoder().fit(frame)
    with pytest.raises(ValueError, match=r"yet now missing: \['b'\]"):
        encoder.transform(frame[["a", "c"]])
    with pytest.raises(ValueError, match=r"unseen at fit time: \['new'\]"):
        encoder.transform(frame.assign(new=1))
    options = {"missing_columns": "ignore", "new_columns": "ignore"}
    encoder = TableEncoder(**options).fit(frame)
    X = encoder.transform(frame.assign(new=1)[["new", "c"]])
    names = [{*found} for found in by_name(encoder, X)]
    assert names == [{"a_missing", "b_missing", "c"}, {"a_missing", "b_missing"}]
    # In dicts gaps are missing values.
    names = [{*found} for found in by_name(encoder, encoder.transform([{"c": True}]))]
    assert names == [{"a_missing", "b_missing", "c"}]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kinds": {"z": "number"}}, r"unknown columns: \['z'\] \(columns: \['a'"),
        ({"kinds": {"a": "numeric"}}, "kind of 'a' must be one of"),
        ({"kinds": dict.fromkeys("abc", "drop")}, "no columns, or all are dropped"),
        ({"interactions": [("a",)]}, "two or more"),
        ({"interactions": ["ab"]}, "two or more"),
        ({"interactions": [("a", "z")]}, "'z', which is not a column of kind"),
        ({"interactions": [("a", "b")], "kinds": {"b": "text"}}, "'b', which is not"),
        ({"n_hashed": 0}, "'n_hashed' parameter"),
        ({"new_columns": "add"}, "'new_columns' parameter"),
    ],
)
def test_bad_parameters(parameters, message):
    encoder = TableEncoder(**parameters)
    with pytest.raises(ValueError, match=message):
        encoder.partial_fit(GOOD)
    assert not encoder.__sklearn_is_fitted__()
    with pytest.raises(NotFittedError):
        encoder.transform(GOOD)


def test_columns_that_are_dropped():
    encoder = TableEncoder(kinds={"b": "drop"}).fit(GOOD)
    assert encoder.kinds_ == {"a": "number", "c": "boolean"}
    assert encoder.n_features_in_ == 3
    assert encoder.transform([{"b": ["anything"]}]).nnz == 2
