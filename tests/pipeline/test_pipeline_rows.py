"""Pipelines that learn one row at a time do bitwise what `partial_fit` does."""

import datetime as dt
from copy import copy, deepcopy
from decimal import Decimal
from itertools import count

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from support.registry import ENGINES, THOROUGH, compiled, paired, thoroughly
from support.rows import assert_learns_alike
from support.steps import assert_same_steps
from support.tables import (
    KINDS,
    NAMES,
    SCALARS,
    SETTINGS,
    late_table,
    state_of,
    table,
)

from sklearn_scinol import (
    AdaImplicitClassifier,
    DFEGClassifier,
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
)
from sklearn_scinol.baselines import BaselineRegressor
from sklearn_scinol.models.session import Session
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineHistory,
    OnlineScaler,
    OnlineTargetEncoder,
    RandomFourierFeatures,
    TableEncoder,
)

ENCODER = TableEncoder(**SETTINGS, n_hashed=200)


def numbers(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) * [1.0, 100.0, 0.01] + [0.0, 50.0, 0.0]


def labels(n, n_classes=2, seed=1):
    return np.random.default_rng(seed).integers(n_classes, size=n)


LEARNERS = {
    "ScInOL": ScInOLClassifier(),
    "adds classes": ScInOLClassifier(new_classes="add"),
    "scales": AdaImplicitClassifier(scale=True),
    "averages": AdaImplicitClassifier(average=5),
    "touches all": DFEGClassifier(),
    "class weights": ScInOLClassifier(class_weight="balanced"),
    "clips": ScInOLClassifier(clip_ratio=2.0),
    "mixture": HedgeClassifier(),
    "regressor": ScInOLRegressor(standardize_target=True),
    "squares": BaselineRegressor("sgd", loss="squared_error", learning_rate=0.01),
    "mixture of regressors": HedgeRegressor(),
}
learners = pytest.mark.parametrize("learner", LEARNERS.values(), ids=[*LEARNERS])


def is_regressor(learner):
    return not hasattr(learner, "decision_function")


@pytest.mark.cases(3)
@learners
@pytest.mark.parametrize(
    ("n_outputs", "engine"), paired([1, 3], ENGINES), indirect=["engine"]
)
def test_tables(learner, n_outputs, engine):
    """With new keys, missing ones, and rows of weight 0."""
    # Edges of bins are fixed at the hundredth row.
    n = 60 if hasattr(learner, "estimators") and not THOROUGH else 112
    rows, c = table(n), np.random.default_rng(1).choice([0.0, 1.0, 4.0], n)
    chunk = range(15, n - 17)
    for row in rows[1::7]:
        del row["city"]
    model = make_online_pipeline(clone(ENCODER), clone(learner))
    if is_regressor(learner):
        y = np.random.default_rng(2).normal(size=(n, n_outputs))
        y = y[:, 0] if n_outputs == 1 else y
        assert_learns_alike(model, rows, y, c, chunk=chunk)
    else:
        y = np.array(["no", "yes", "perhaps"])[labels(n, max(n_outputs, 2))]
        given = {} if model[-1].new_classes == "add" else {"classes": np.unique(y)}
        method = "predict" if given == {} else "decision_function"
        assert_learns_alike(model, rows, y, c, method, chunk, **given)


def plain_table(n, n_cities=30):
    """Rows without texts, with more cities than have slots, and ages as any type."""
    rng, rows = np.random.default_rng(3), table(n)
    for i, row in enumerate(rows):
        del row["message"]
        row["city"] = f"city {int(rng.exponential(n_cities / 4))}"
        row["rooms"] = int(rng.integers(5))
        row["never"] = 0.0
        if i % 11 == 5:
            row["rooms"], row["city"], row["flag"] = str(row["rooms"]), None, "true"
        if i % 17 == 1:
            del row["rooms"], row["age"]
    return rows


@pytest.mark.parametrize("then", ["rows", "chunk"])
def test_what_is_known_of_rows_is_forgotten_with_them(then, engine):
    """A refused row leaves neither its texts nor its counts."""
    rows, y = plain_table(160), labels(160)
    model = make_online_pipeline(TableEncoder(n_named=4), ScInOLClassifier())
    model.partial_fit(rows[:150], y[:150], classes=[0, 1])
    one, before = model.row_by_row().learn_one(rows[150], y[150]), deepcopy(model)
    expected = before.row_by_row()
    for row in {"city": "new", "rooms": 7}, {"city": "newer", "noise": 3.5}:
        with pytest.raises(ValueError, match="label"):
            one.learn_one(row, "no label")
        assert_same_steps(model, before)
        if then == "chunk":
            with pytest.raises(ValueError, match="label"):
                model.partial_fit([row, {"city": "third"}], ["no label", "none"])
            assert_same_steps(model, before)
        for learn in one, expected:
            learn.learn_one(row, 1)
        assert_same_steps(model, before)
        for each in model, before:
            each.partial_fit([row], [0])
        assert_same_steps(model, before)


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("chunk", [None, range(2, 90)])
def test_tables_whose_first_values_are_missing(chunk, engine):
    """Kinds are found by single rows, and by chunks, as `partial_fit` finds them."""
    model = make_online_pipeline(clone(ENCODER), ScInOLClassifier())
    y, method = labels(130), "decision_function"
    found = assert_learns_alike(
        model, late_table(160)[:130], y, None, method, chunk, classes=[0, 1]
    )
    assert found[0].kinds_ == KINDS | {"gain": None}


@pytest.mark.cases(1)
@compiled
@pytest.mark.parametrize(
    "learner", ["ScInOL", "mixture", *thoroughly("scales", "squares")]
)
def test_compiled_rows(learner, engine, monkeypatch):
    """In the end all rows take the short way, and no other loop runs in it."""
    counts = {kind: count() for kind in (TableEncoder, Session)}

    def counted(kind, name, is_done):
        method = getattr(kind, name)

        def call(*arguments):
            result = method(*arguments)
            if is_done(result):
                next(counts[kind])
            return result

        monkeypatch.setattr(kind, name, call)

    counted(TableEncoder, "_stack_row", lambda read: read is not None)
    counted(Session, "learn", bool)
    rows, y = table(130), labels(130)
    model = make_online_pipeline(clone(ENCODER), LEARNERS[learner])
    given = {} if is_regressor(LEARNERS[learner]) else {"classes": [0, 1]}
    model = assert_learns_alike(model, rows, y, **given)
    n_plain, n_fast = (next(copy(each)) for each in counts.values())
    assert n_plain == 129
    assert n_fast > 110
    one, before = model.row_by_row(), deepcopy(model)
    said = [one.predict_one(row) for row in rows[:20]]
    np.testing.assert_allclose(said, before.predict(rows[:20]), rtol=1e-9)
    assert_same_steps(model, before)


def text(n):
    return [row["message"] or "" for row in table(n)]


PIPELINES = {
    "scaler": ([StandardScaler()], numbers),
    "our scaler": ([OnlineScaler()], numbers),
    "bins": ([OnlineBinner(n_samples=20)], numbers),
    "fourier": ([RandomFourierFeatures(random_state=0)], numbers),
    "two": ([OnlineScaler(), OnlineBinner(n_samples=20)], numbers),
    "stateless": ([FunctionTransformer(np.cbrt)], numbers),
    "nothing": (["passthrough"], numbers),
    "lists": ([StandardScaler()], lambda n: numbers(n).tolist()),
    "texts": ([HashingVectorizer(n_features=50)], text),
    "nested": ([make_online_pipeline(StandardScaler(), OnlineScaler())], numbers),
    "target means": ([OnlineTargetEncoder()], lambda n: cells(n)),
    "history": ([OnlineHistory([0, (0, 1)], 2, n_hashed=9)], numbers),
    "events": (
        [
            OnlineHistory(
                ["city", ("flag", "weekday", "month", "day", "hour")],
                "when",
                values=["age"],
                n_hashed=4,
            ),
            TableEncoder(n_hashed=64),
        ],
        table,
    ),
    "cells": ([clone(ENCODER).set_params(interactions=None)], lambda n: cells(n)),
}


def cells(n):
    return np.array([[*row.values()] for row in table(n)], dtype=object)


@pytest.mark.cases(len(PIPELINES))
@pytest.mark.parametrize("kind", PIPELINES)
@pytest.mark.parametrize(
    ("nests", "engine"), paired([False, True], ENGINES), indirect=["engine"]
)
def test_other_steps(kind, nests, engine):
    steps, rows = PIPELINES[kind]
    last = ScInOLClassifier()
    if nests:
        last = make_online_pipeline(
            "passthrough", StandardScaler(with_mean=False), last
        )
    model = make_online_pipeline(*deepcopy(steps), last)
    y, c = labels(40), np.random.default_rng(1).choice([0.0, 1.0, 3.0], 40)
    by_rows = assert_learns_alike(model, rows(40), y, c, classes=[0, 1])
    one, before = by_rows.row_by_row(), deepcopy(by_rows)
    for row in rows(45)[40:]:
        asked = [row] if isinstance(rows(1), list) else row[np.newaxis]
        assert one.predict_one(row) == before.predict(asked)[0]
        for method in "decision_function", "predict_proba":
            said = getattr(one, f"{method}_one")(row)
            expected = getattr(before, method)(asked)[0]
            np.testing.assert_allclose(said, expected, rtol=1e-9)
    assert_same_steps(by_rows, before)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_between_steps(library, engine):
    pytest.importorskip(library, reason=f"{library} is not installed")
    X, y = numbers(20), labels(20)
    for step in StandardScaler(), OnlineScaler():
        model = make_online_pipeline(step, ScInOLClassifier())
        model.set_output(transform=library)
        model = assert_learns_alike(model, X, y, classes=[0, 1])
        assert hasattr(model[-1], "feature_names_in_")


@pytest.mark.parametrize("output", ["default", "pandas"])
@pytest.mark.parametrize("step", [StandardScaler(), OnlineScaler()])
def test_single_rows_of_frames(step, output):
    """No warning says that a dict has no names, or an array, in any step."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame, y = pandas.DataFrame(numbers(20), columns=[*"abc"]), labels(20)
    model = make_online_pipeline(step, ScInOLClassifier()).set_output(transform=output)
    rows = model.partial_fit(frame, y, classes=[0, 1]).row_by_row()
    for row in dict(frame.iloc[0]), frame.to_numpy()[0], frame[:1]:
        (expected,) = model.decision_function(frame[:1])
        np.testing.assert_allclose(rows.decision_function_one(row), expected)
        rows.learn_one(row, y[0])


def test_metadata_routing():
    """Weights go where they are requested, and nowhere else."""
    X, y, c = numbers(20), labels(20), np.random.default_rng(0).choice([1.0, 3.0], 20)
    with sklearn.config_context(enable_metadata_routing=True):
        for of_scaler, of_last in (True, True), (True, False), (False, True):
            scaler = StandardScaler().set_partial_fit_request(sample_weight=of_scaler)
            last = ScInOLClassifier().set_partial_fit_request(sample_weight=of_last)
            model = make_online_pipeline(scaler, last)
            model = assert_learns_alike(model, X, y, c, classes=[0, 1])
            has_weights = model[0].n_samples_seen_.item() == c.sum()
            assert has_weights == of_scaler
        model = make_online_pipeline(OnlineScaler(), ScInOLClassifier())
        rows = model.row_by_row(classes=[0, 1]).learn_one(X[0], y[0])
        with pytest.raises(ValueError, match="not explicitly set as requested"):
            rows.learn_one(X[1], y[1], 2.0)
        assert model.n_samples_seen_ == model[0].n_samples_seen_ == 1


@pytest.mark.cases(1)
def test_other_uses_in_between(engine):
    """Chunks, predictions, and `set_params`, which changes what learns."""
    rows, y = table(60), labels(60)
    by_rows = make_online_pipeline(clone(ENCODER), ScInOLClassifier())
    by_calls = clone(by_rows)
    one = by_rows.row_by_row(classes=[0, 1])
    for start, steps in {
        0: {},
        20: {"scinolclassifier": AdaImplicitClassifier()},
        40: {"tableencoder": clone(ENCODER), "scinolclassifier": HedgeClassifier()},
    }.items():
        for model in by_rows, by_calls:
            model.set_params(**{name: clone(step) for name, step in steps.items()})
        for i in range(start, start + 10):
            one.learn_one(rows[i], y[i])
            by_calls.partial_fit(rows[i : i + 1], y[i : i + 1], classes=[0, 1])
        for model in by_rows, by_calls:
            model.partial_fit(rows[start + 10 : start + 20], y[start + 10 : start + 20])
            model.predict(rows)
        assert_same_steps(by_rows, by_calls)


def test_where_it_is_available():
    foreign = make_online_pipeline(OnlineScaler(), SGDClassifier())
    frozen = FrozenEstimator(ScInOLClassifier())
    for last in OnlineScaler(), "passthrough", foreign[-1], frozen, foreign:
        assert not hasattr(make_online_pipeline(OnlineScaler(), last), "row_by_row")


def test_rows_before_anything_is_known():
    model = make_online_pipeline(OnlineScaler(), ScInOLClassifier())
    with pytest.raises(ValueError, match="classes must be passed to row_by_row"):
        model.row_by_row()
    rows = model.row_by_row(classes=[0, 1])
    with pytest.raises(NotFittedError):
        rows.predict_one([1.0, 2.0])
    with pytest.raises(ValueError, match="method must be one of"):
        rows.predict_learn_one([1.0, 2.0], 1, method="transform")
    unfitted = make_online_pipeline(sklearn.decomposition.PCA(), ScInOLClassifier())
    with pytest.raises(NotFittedError, match="has no partial_fit and is not fitted"):
        unfitted.row_by_row(classes=[0, 1]).learn_one([1.0, 2.0], 1)
    bad = make_online_pipeline(TableEncoder(n_named=0), ScInOLClassifier())
    with pytest.raises(ValueError, match="'n_named' parameter of TableEncoder"):
        bad.row_by_row(classes=[0, 1]).learn_one(GOOD, 1)


GOOD = table(1)[0]
BAD_ROWS = {
    "new key": (GOOD | {"other": 1}, 1, None, "names unseen at fit time: .'other'"),
    "word": (GOOD | {"age": "old"}, 1, None, "Column 'age' is of kind 'number'"),
    "infinity": (GOOD | {"gain": np.inf}, 1, None, "Column 'gain' contains infinity"),
    "huge": (GOOD | {"gain": 10**400}, 1, None, "Column 'gain' cannot be read"),
    "object": (GOOD | {"city": object()}, 1, None, "Column 'city' cannot be read"),
    "list": (GOOD | {"noise": [1]}, 1, None, "Column 'noise' cannot be read"),
    "flag": (GOOD | {"flag": 2}, 1, None, "2.0 is neither 0 nor 1"),
    "date": (GOOD | {"when": 3.0}, 1, None, "expected dates, got numbers"),
    "no name": (GOOD | {1: 2}, 1, None, "Feature names are only supported"),
    "array": (np.ones(3), 1, None, "The feature names should match|3 features"),
    "frame": ([GOOD], 1, None, "The feature names should match|Expected 2D|dict"),
    "number": (7.0, 1, None, "Expected 2D array, got 1D array"),
    "label": (GOOD, "perhaps", None, "y contains previously unseen labels"),
    "labels": (GOOD, [0, 2], None, "1d array|matrix of zeros and ones"),
    "weight": (GOOD, 1, -1.0, "Negative values in data"),
    "no weight": (GOOD, 1, np.nan, "Input sample_weight contains NaN"),
}


@pytest.mark.cases(3)
@pytest.mark.parametrize(("row", "y", "c", "words"), BAD_ROWS.values(), ids=[*BAD_ROWS])
@pytest.mark.parametrize("learner", [ScInOLClassifier(), HedgeClassifier()])
@pytest.mark.parametrize(
    ("n_before", "engine"), paired([0, 12], ENGINES), indirect=["engine"]
)
def test_bad_rows(learner, row, y, c, words, n_before, engine):
    n = n_before + 4
    rows, codes = table(n), labels(n)
    encoder = clone(ENCODER).set_params(kinds=KINDS)
    model = make_online_pipeline(encoder, clone(learner))
    one = model.row_by_row(classes=[0, 1])
    for i in range(n_before):
        one.learn_one(rows[i], codes[i])
    if n_before == 0 and words.startswith(("names unseen", "The feature names")):
        return
    before = deepcopy(model)
    with pytest.raises((ValueError, TypeError), match=words):
        one.learn_one(row, y, c)
    assert_same_steps(model, before)
    for i in range(n_before, n):
        one.learn_one(rows[i], codes[i])
        before.partial_fit(rows[i : i + 1], codes[i : i + 1], classes=[0, 1])
    assert_same_steps(model, before)


ODD = st.one_of(
    SCALARS,
    st.sampled_from(
        [np.inf, -np.inf, 10**400, 2**60 + 1, -0.0, b"a", "", "inf", "nan"]
    ),
    st.sampled_from([np.float64(0.1), np.float32(0.1), np.int8(1), np.bool_(True)]),
    st.sampled_from(
        [Decimal("0.1"), dt.timedelta(1), dt.date(2020, 2, 29), [1], "\ud800"]
    ),
    st.sampled_from([np.datetime64("NaT"), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]),
    st.sampled_from([" 12 ", "1e5", "TRUE", "0", "2020-01-01T10:00Z", "NaT", 1.0, 1]),
)
ODD_ROWS = st.lists(
    st.dictionaries(st.one_of(NAMES, st.just("e")), ODD, max_size=5), max_size=6
)


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("engine_name", ["numpy", "numba"])
@given(
    first=st.dictionaries(NAMES, SCALARS, min_size=1, max_size=4),
    rows=ODD_ROWS,
    kinds=st.dictionaries(NAMES, st.sampled_from([*KINDS.values(), "drop"])),
    ignores=st.booleans(),
)
def test_any_rows(engine_name, first, rows, kinds, ignores):
    """They become what they become in a chunk, or raise the same errors."""
    if engine_name == "numba":
        pytest.importorskip("numba", reason="numba is not installed")
    encoder = TableEncoder(
        kinds={name: kind for name, kind in kinds.items() if name in first},
        n_hashed=5,
        n_named=2,
        n_quantiles=1,
        new_columns="ignore" if ignores else "error",
    )
    by_rows = make_online_pipeline(encoder, ScInOLClassifier())
    by_calls = clone(by_rows)
    one = by_rows.row_by_row(classes=[0, 1])
    with config_context(engine=engine_name):
        for i, row in enumerate([first, first, *rows]):
            y, before = i % 2, state_of(by_calls[0])
            said = outcome(one.predict_learn_one, row, y)
            expected = outcome(by_calls.partial_fit_predict, [row], [y], classes=[0, 1])
            if isinstance(expected, np.ndarray):
                expected = expected[0]
            assert said == expected
            assert_same_steps(by_rows, by_calls)
            if isinstance(expected, tuple):
                assert state_of(by_calls[0]) == before
                continue
            X = by_calls[0].transform([row])
            X.check_format(full_check=True)
            assert X.has_canonical_format
            assert np.isfinite(X.data).all()


def outcome(call, *arguments, **keywords):
    try:
        return call(*arguments, **keywords)
    except (TypeError, ValueError) as error:
        return type(error), str(error)
