"""Names of features in single rows are matched, or refused; never ignored."""

import re
from collections import namedtuple
from copy import deepcopy
from functools import partial
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler
from support.comparisons import assert_identical

from sklearn_scinol import (
    HedgeRegressor,
    MondrianForestRegressor,
    OnlineConformalRegressor,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.pipeline import OnlinePipeline, make_online_pipeline
from sklearn_scinol.preprocessing import OnlineBinner, OnlineScaler, TableEncoder

NAMES = ["a", "b", "c"]
X = np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 10.0, 0.1]
Y = X[:, 0] - X[:, 1]
FRAME = pd.DataFrame(X, columns=NAMES)
MODELS = [
    ScInOLRegressor(),
    MondrianForestRegressor(3, random_state=0),
    HedgeRegressor([("a", ScInOLRegressor()), ("b", OnlineNewtonRegressor())]),
    OnlineConformalRegressor(ScInOLRegressor()),
    make_online_pipeline(OnlineScaler(), ScInOLRegressor()),
    make_online_pipeline(OnlineBinner(10), OnlineConformalRegressor(ScInOLRegressor())),
    make_online_pipeline("passthrough", ScInOLRegressor()),
    make_online_pipeline(StandardScaler(), ScInOLRegressor()),
    make_online_pipeline(TableEncoder(n_hashed=8), ScInOLRegressor()),
    OnlineConformalRegressor(make_online_pipeline(OnlineScaler(), ScInOLRegressor())),
]
models = pytest.mark.parametrize("model", MODELS, ids=str)
ORDER = ["c", "a", "b"]


def fitted(model):
    return deepcopy(model).partial_fit(FRAME[:40], Y[:40])


def arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


def polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


#: From a frame of one row to that row, in another order of columns where it may be.
WAYS = {
    "dict": lambda row: row[ORDER].iloc[0].to_dict(),
    "mapping": lambda row: MappingProxyType(row[ORDER].iloc[0].to_dict()),
    "Series": lambda row: row[ORDER].iloc[0],
    "named tuple": lambda row: namedtuple("Row", ORDER)(*row[ORDER].iloc[0]),
    "frame": lambda row: row,
    "polars": polars,
    "arrow": arrow,
}


@pytest.mark.cases(3)
@models
def test_names_are_matched(model):
    by_chunk, named, kept = fitted(model), fitted(model), fitted(model)
    rows, late = named.row_by_row(), kept.row_by_row().with_late_labels()
    for i, (way, give) in enumerate(WAYS.items(), start=40):
        row, y = FRAME[i : i + 1], Y[i : i + 1]
        x = give(row)
        assert rows.predict_one(x) == by_chunk.predict(row)[0], way
        if hasattr(model, "predict_interval"):
            (interval,) = by_chunk.predict_interval(row)
            assert_identical(rows.predict_interval_one(x), interval)
        expected = by_chunk.partial_fit_predict(row, y)[0]
        assert late.predict_one(x, i) == expected, way
        rows.learn_one(x, Y[i])
        late.learn_one(i, Y[i])
    for each in named, kept:
        assert_identical(each.predict(FRAME), by_chunk.predict(FRAME))
    assert named.n_samples_seen_ == by_chunk.n_samples_seen_ == 47


@models
def test_names_that_do_not_fit_are_refused(model):
    one = fitted(model)
    rows, late = one.row_by_row(), one.row_by_row().with_late_labels()
    before = deepcopy(one)
    good = WAYS["dict"](FRAME[40:41])
    other, more = {**good, "d": 1.0}, {**good, "d": 1.0}
    del other["b"]
    fewer = {name: good[name] for name in "ab"}
    words = {
        "d": (other, more, pd.Series(other), namedtuple("Row", other)(*other.values())),
        "c": (fewer, pd.Series(fewer), pd.DataFrame([fewer])),
    }
    if "tableencoder" in getattr(model, "named_steps", {}):
        words["c"] = ()  # missing values, as always in dicts
    for name, all_x in words.items():
        for x in all_x:
            for call in (
                partial(rows.predict_one, x),
                partial(rows.learn_one, x, 1.0),
                partial(rows.predict_learn_one, x, 1.0),
                partial(late.predict_one, x, "other"),
            ):
                with pytest.raises(ValueError, match=rf"(?s)should match.*\b{name}\b"):
                    call()
    with pytest.raises(ValueError, match="should match"):
        late.keep_one(pd.Series(other), "key")
    assert not len(late)
    assert_identical(vars(one), vars(before))


@models
def test_first_row_gives_the_names(model):
    if isinstance(model, OnlinePipeline) and isinstance(model[0], StandardScaler):
        pytest.skip("a step of another package")
    for way in "dict", "frame":
        one, expected = deepcopy(model), deepcopy(model)
        rows = one.row_by_row()
        for i in range(3):
            row = FRAME[ORDER][i : i + 1] if way != "frame" else FRAME[i : i + 1]
            rows.learn_one(WAYS[way](FRAME[i : i + 1]), Y[i])
            expected.partial_fit(row, Y[i : i + 1])
        if "passthrough" not in getattr(model, "named_steps", {}):
            assert [*one.feature_names_in_] == [*expected.feature_names_in_]
        assert_identical(one.predict(row), expected.predict(row))


def test_models_without_names():
    model = ScInOLRegressor().partial_fit(X[:40], Y[:40])
    rows, x = model.row_by_row(), X[40]
    expected = rows.predict_one(x)
    assert rows.predict_one({2: x[2], 0: x[0], 1: x[1]}) == expected
    assert rows.predict_one(pd.Series(x)) == expected
    words = "X has feature names, but ScInOLRegressor was fitted without feature names"
    for way in "Series", "named tuple", "frame":
        with pytest.warns(UserWarning, match=words):
            found = rows.predict_one(WAYS[way](pd.DataFrame([x], columns=ORDER)))
        assert found == expected
    for refused in (
        {0: 1.0, 1: 2.0},
        {1: 1.0, 2: 2.0, 3: 3.0},
        dict(zip("abc", x, strict=True)),
    ):
        with pytest.raises(TypeError, match="takes rows of numbers, not dicts"):
            rows.predict_one(refused)
    with pytest.raises(TypeError, match="takes rows of numbers, not dicts"):
        ScInOLRegressor().row_by_row().learn_one({"a": "Oslo"}, 1.0)
    first = ScInOLRegressor().row_by_row().learn_one({1: 2.0, 0: 1.0}, 1.0).estimator
    assert not hasattr(first, "feature_names_in_")
    assert_identical(
        vars(first), vars(ScInOLRegressor().partial_fit([[1.0, 2.0]], [1.0]))
    )


def test_keys_of_dicts_that_are_no_text():
    """As river gives rows of arrays."""
    model = make_online_pipeline(TableEncoder(n_hashed=8), ScInOLClassifier())
    model.partial_fit([{0: 1.0, 1: 100.0}, {0: 2.0, 1: 200.0}], [0, 1], classes=[0, 1])
    expected = model.predict_proba([{0: 1.5, 1: 150.0}])
    assert_identical(model.predict_proba([{1: 150.0, 0: 1.5}]), expected)
    assert_identical(model.predict_proba(np.array([[1.5, 150.0]])), expected)
    rows = model.row_by_row()
    assert_identical(rows.predict_proba_one({1: 150.0, 0: 1.5}), expected[0])
    encode = model[0].transform
    missing = encode([{1: 150.0}]).toarray()
    assert_identical(missing, encode([{1: 150.0, 0: None}]).toarray())
    with pytest.raises(ValueError, match=re.escape("unseen at fit time: ['x2']")):
        model.predict([{0: 1.0, 2: 3.0}])
    keys = ("a", 1), ("b", 2)
    encoder = TableEncoder(n_hashed=8).fit(
        [dict(zip(keys, x, strict=True)) for x in X[:, :2]]
    )
    x = dict(zip(keys, X[0], strict=False))
    other = dict(reversed(x.items()))
    assert_identical(
        encoder.transform([x]).toarray(), encoder.transform([other]).toarray()
    )
