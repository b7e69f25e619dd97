"""Pipelines and transformers that learned different parts of a stream, merged."""

from collections import Counter
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from support.comparisons import assert_identical
from support.tables import KINDS, table

from sklearn_scinol import (
    AdaFTRLClassifier,
    AdaImplicitClassifier,
    DFEGClassifier,
    HedgeClassifier,
    OnlineNewtonClassifier,
    ScInOLClassifier,
    config_context,
    merge_models,
)
from sklearn_scinol.baselines import BaselineClassifier
from sklearn_scinol.pipeline import OnlinePipeline, make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineScaler,
    TableEncoder,
)

LEARNERS = {
    "scinol2": ScInOLClassifier(),
    "scinol1": ScInOLClassifier(algorithm="scinol1"),
    "scaled": ScInOLClassifier(scale=True, clip_ratio=2.0),
    "average": ScInOLClassifier(average=True),
    "adaimplicit": AdaImplicitClassifier(),
    "adagrad": BaselineClassifier("adagrad"),
    "adaftrl": AdaFTRLClassifier(),
    "newton": OnlineNewtonClassifier(),
    "dfeg": DFEGClassifier(),
    "rbf": DFEGClassifier(kernel="rbf", gamma=0.5),
    "hedge": HedgeClassifier(
        [("a", ScInOLClassifier()), ("b", BaselineClassifier("adam"))]
    ),
}
PARTS = ["cabdabca", "edgfaedd", "gbacgfba"]  # where each city may come


def cities(part, n=40, seed=0):
    """Rows with a city each, and labels that depend on it."""
    rng = np.random.default_rng(seed)
    names = rng.choice([*part], n)
    is_early = np.array([name < "d" for name in names])
    y = is_early ^ (rng.random(n) < 0.2)
    return [{"city": str(name)} for name in names], y.astype(int)


def learned(estimator, X, y, *parts, **keywords):
    """Return a copy that has learned the rows; or one for each part of them."""
    if parts:
        return [learned(estimator, X[part], y[part]) for part in parts]
    return deepcopy(estimator).partial_fit(X, y, classes=[0, 1], **keywords)


@pytest.fixture(autouse=True)
def numpy_engine():
    """Merging is none of the engine's work, and here nothing is compiled for it."""
    with config_context(engine="numpy"):
        yield


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("n_start", [0, 12])
def test_as_if_columns_had_been_known(name, n_start):
    """Shards that meet cities in another order each, and columns made by hand."""
    encoder = TableEncoder(n_hashed=1, n_named=8)
    pipeline = make_online_pipeline(encoder, LEARNERS[name])
    model = deepcopy(LEARNERS[name])

    def by_hand(rows):
        codes = [[row["city"] == city for city in "abcdefgh"] for row in rows]
        # As many columns as the encoder has, in which nothing comes.
        nothing = np.zeros((len(rows), 2))
        return sparse.csr_array(np.hstack([codes, nothing]).astype(float))

    start, of_hand = pipeline, model
    if n_start:
        X, y = cities("ab", n_start)
        start, of_hand = learned(pipeline, X, y), learned(model, by_hand(X), y)
    shards = [cities(part, 30 + 10 * k, k) for k, part in enumerate(PARTS)]
    pipelines = [learned(start, *shard) for shard in shards]
    models = [learned(of_hand, by_hand(X), y) for X, y in shards]
    before = deepcopy(pipelines)
    merged = merge_models(pipelines, start=start if n_start else None)
    expected = merge_models(models, start=of_hand if n_start else None)
    for one, same in zip(pipelines, before, strict=True):
        assert_identical(vars(one[-1]), vars(same[-1]))
    merged[-1]._check_state()
    rows = [{"city": city} for city in "abcdefgh"]
    tolerance = {"rtol": 1e-9, "atol": 1e-12}
    said = merged.decision_function(rows)
    assert_allclose(said, expected.decision_function(by_hand(rows)), **tolerance)
    if name == "scinol2":  # no sum has another order
        assert (said == expected.decision_function(by_hand(rows))).all()
    assert merged.n_samples_seen_ == expected.n_samples_seen_ == 120 + n_start
    assert merged.cumulative_loss_ == pytest.approx(expected.cumulative_loss_)
    X, y = cities("hgfedcba", 30, seed=9)
    merged.partial_fit(X, y)
    merged[-1]._check_state()
    expected.partial_fit(by_hand(X), y)
    said = merged.decision_function(rows)
    assert_allclose(said, expected.decision_function(by_hand(rows)), **tolerance)


@pytest.mark.parametrize("name", LEARNERS)
def test_columns_that_no_row_had(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(2, size=60)
    X[rng.random(X.shape) < 0.5] = 0.0
    wide = np.zeros((60, 40))
    wide[:, [3, 20, 21, 39]] = X
    said = []
    for rows in map(sparse.csr_array, (X, wide)):
        models = [learned(LEARNERS[name], rows[i::2], y[i::2]) for i in (0, 1)]
        merged = merge_models(models)
        merged.partial_fit(rows, y)
        merged._check_state()
        said.append(merged.decision_function(rows))
    assert_allclose(*said, rtol=1e-9, atol=1e-12)


def test_cities_without_a_column_are_hashed():
    """Each city is predicted by the mean of what models say, whatever its column is."""
    pipeline = make_online_pipeline(
        TableEncoder(n_named=3, n_hashed=2**12), ScInOLClassifier()
    )
    shards = [cities(part, 40, k) for k, part in enumerate(PARTS)]
    models = [learned(pipeline, *shard) for shard in shards]
    merged = merge_models(models)
    rows = [{"city": city} for city in "abcdefgh"]
    mean = np.mean([model.decision_function(rows) for model in models], axis=0)
    assert_allclose(merged.decision_function(rows), mean, rtol=1e-12)
    backwards = merge_models(models[::-1])
    assert_allclose(backwards.decision_function(rows), mean, rtol=1e-12)
    assert backwards[0].categories_ == merged[0].categories_
    by_steps = merge_models([merge_models(models[:2]), models[2]])
    assert_allclose(by_steps.decision_function(rows), mean, rtol=1e-12)
    # Those that had a column in some model, and have none, are known by their hash.
    encoder = merged[0]
    named = {*encoder.categories_["city"]}
    assert len(named) == 3
    hashed = {name for names in encoder.hashed_names_.values() for name in names}
    assert {f"city={city}" for city in {*"abcdefg"} - named} <= hashed
    merged.partial_fit(*cities("abcdefgh"))
    merged[-1]._check_state()


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", ["scinol2", "hedge", "newton"])
def test_all_kinds_of_columns(name):
    """With the same bins, what is said is what models say on average."""
    rows = table(600)
    y = np.array([(row["age"] or 50) < 45 for row in rows], dtype=int)
    given = {"interactions": [("city", "flag")], "n_named": 12, "n_hashed": 40}
    encoder = TableEncoder(kinds=KINDS, **given)
    start = make_online_pipeline(encoder, LEARNERS[name])
    start = learned(start, rows[:150], y[:150])
    parts = slice(150, 300), slice(300, 450), slice(450, 600)
    models = learned(start, rows, y, *parts)
    merged = merge_models(models, start=start)
    said = [model.decision_function(rows) for model in models]
    distance = merged.decision_function(rows) - np.mean(said, axis=0)
    if name != "newton":
        assert np.abs(distance).mean() < 0.1 * np.abs(said).mean()
    scores = [model.score(rows, y) for model in models]
    assert merged.score(rows, y) >= np.mean(scores)
    assert merged[0].n_samples_seen_ == merged.n_samples_seen_ == 600
    merged.partial_fit(rows, y)[-1]._check_state()


@pytest.mark.parametrize("n_start", [0, 40])
def test_moments_are_those_of_all_rows(n_start):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1.0, 1e6, 1e-250] + [5.0, -1e7, 0.0]
    X[rng.random(X.shape) < 0.2] = np.nan
    start = OnlineScaler().partial_fit(X[:n_start]) if n_start else None
    models = [
        deepcopy(start or OnlineScaler()).partial_fit(X[part])
        for part in np.split(np.arange(n_start, 300), [100, 130])
    ]
    merged, whole = merge_models(models, start=start), OnlineScaler().partial_fit(X)
    assert_allclose(merged.mean_, whole.mean_, rtol=1e-10)
    assert_allclose(merged.var_, whole.var_, rtol=1e-10)
    assert merged.n_samples_seen_ == 300
    assert_allclose(merged.transform(X), whole.transform(X), rtol=1e-9)
    for each in merged, whole:
        each.partial_fit(X)
    assert_allclose(merged.transform(X), whole.transform(X), rtol=1e-9)


def test_bins_are_those_of_the_first_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    whole = OnlineBinner(60, 3).partial_fit(X)
    few = [OnlineBinner(60, 3).partial_fit(rows) for rows in np.split(X, 3)]
    merged = merge_models(few)
    assert_identical(merged.edges_, whole.edges_)
    assert not any(map(len, merge_models(few[:1]).edges_))
    others = OnlineBinner(60, 3).partial_fit(-X)
    for models in ([whole, others, few[0]], [others, few[0], whole]):
        merged = merge_models(models)
        assert_identical(merged.edges_, min(whole.edges_, others.edges_, key=list_of))
        assert merged.n_samples_seen_ == 210


def list_of(edges):
    return [*map(list, edges)]


def test_bins_with_other_edges():
    """A step function stays one, as near as bins that overlap can tell."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(4000, 1))
    y = (np.abs(X[:, 0]) < 0.5).astype(int)
    pipeline = make_online_pipeline(OnlineBinner(), ScInOLClassifier())
    models = learned(pipeline, X, y, *np.split(np.arange(4000), 4))
    assert len({edges[0].tobytes() for edges in (m[0].edges_ for m in models)}) == 4
    merged = merge_models(models)
    merged[-1]._check_state()
    assert merged.score(X, y) > 0.9
    said = np.mean([model.decision_function(X) for model in models], axis=0)
    distance = np.abs(merged.decision_function(X) - said)
    assert distance.mean() < 0.3 * np.abs(said).mean()


def test_what_encoders_know():
    rows = table(300)
    parts = rows[:100], rows[100:220], rows[220:]
    make = TableEncoder(kinds=KINDS, n_named=200, n_hashed=2**16)
    models = [deepcopy(make).partial_fit(part) for part in parts]
    merged, whole = merge_models(models), deepcopy(make).partial_fit(rows)
    assert merged.n_samples_seen_ == 300
    for name, values in whole.categories_.items():
        if name != "noise":  # given up by one, and not by shards as small as these
            assert {*merged.categories_[name]} == {*values}
    known, expected = (
        Counter(name for names in each.hashed_names_.values() for name in names)
        for each in (merged, whole)
    )
    assert known == expected
    standards = [each._encoding.groups[0].standard for each in (merged, whole)]
    assert_allclose(*(each.moments for each in standards), rtol=1e-10)
    row = merged.transform(rows[:1])
    names = merged.get_feature_names_out()[row.indices]
    assert f"city={rows[0]['city']}" in names
    merged.partial_fit(rows)


UNDECIDED = TableEncoder(n_hashed=64, n_named=9, interactions=[("rooms", "city")])


def flats(n, **values):
    """Rows whose columns may have values that come first in some of the models only."""
    return [
        {"city": "ab"[i % 2], "rooms": None} | {k: of(i) for k, of in values.items()}
        for i in range(n)
    ]


@pytest.mark.parametrize("n_start", [1, 150])
def test_kinds_that_some_have_found(n_start):
    start = deepcopy(UNDECIDED).partial_fit(flats(n_start))
    rooms = flats(80, rooms=lambda i: i % 7)
    models = [deepcopy(start).partial_fit(part) for part in (flats(5), rooms, flats(9))]
    for first in models[0], models[1]:
        members = sorted(models, key=lambda model: model is not first)
        merged = merge_models(members, start=start)
        assert merged.kinds_ == {"city": "category", "rooms": "number"}
        assert merged.n_samples_seen_ == n_start + 94
        assert merged.categories_["rooms"] == [f"{k}" for k in range(7)]
        expected = deepcopy(start).partial_fit(rooms)
        X, Z = (each.transform(rooms) for each in (merged, expected))
        for name in "indices", "indptr":
            assert (getattr(X, name) == getattr(Z, name)).all()
        assert merged.partial_fit(flats(9, rooms=float)).n_samples_seen_ > n_start
    undecided = merge_models([models[0], models[2]], start=start)
    assert undecided.kinds_["rooms"] is None
    assert undecided.partial_fit(flats(1, rooms=bool)).kinds_["rooms"] == "boolean"
    assert [model.kinds_["rooms"] for model in models] == [None, "number", None]


def test_kinds_that_contradict_each_other():
    start = deepcopy(UNDECIDED).partial_fit(flats(1))
    models = [
        deepcopy(start).partial_fit(flats(5, **values))
        for values in ({}, {"rooms": float}, {"rooms": str})
    ]
    refused(ValueError, r"differ in \['rooms'\]: pass `kinds`", *models)
    refused(ValueError, r"differ in \['rooms'\]: pass `kinds`", *models[1:])
    early = deepcopy(UNDECIDED).partial_fit(flats(5, rooms=float))
    refused(ValueError, r"differ in \['rooms'\]: pass `kinds`", models[1], early)


@pytest.mark.parametrize("name", ["scinol2", "hedge"])
def test_learners_of_columns_that_were_missing_at_first(name):
    rows = flats(120, rooms=lambda i: None if i < 3 else i % 5)
    y = [int(row["rooms"] in (1, 2)) for row in rows]
    pipeline = make_online_pipeline(deepcopy(UNDECIDED), LEARNERS[name])
    start = learned(pipeline, rows[:1], y[:1])
    parts = slice(1, 3), slice(1, 60), slice(60, None)
    merged = merge_models(learned(start, rows, y, *parts), start=start)
    assert merged.score(rows, y) > 0.9


def test_numbers_that_hardly_come_again_have_no_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=120), rng.integers(30, size=120)])
    make = TableEncoder(n_named=50)
    models = [deepcopy(make).partial_fit(part) for part in (*np.split(X, 4), X)]
    # Once one has given them up, all have.
    for members, is_open in (
        (models[:4], [False, True]),
        ([models[0], models[4]], [False]),
    ):
        merged = merge_models(members)
        slots = merged._encoding.groups[0].vocabulary.slots
        assert slots.is_open[: len(is_open)].tolist() == is_open
    merged = merge_models(models[:4])
    assert len(merged.categories_["x1"]) == len(np.unique(X[:, 1]))


@pytest.mark.parametrize("as_expert", [False, True])
def test_steps_that_do_not_learn(as_expert):
    """Also of a pipeline that is an expert."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(2, size=60)
    scaler = FrozenEstimator(StandardScaler().fit(X))
    pipeline = make_online_pipeline(
        FunctionTransformer(np.abs), "passthrough", scaler, ScInOLClassifier()
    )
    experts = HedgeClassifier([("steps", pipeline), ("plain", ScInOLClassifier())])
    model = experts if as_expert else pipeline
    models = learned(model, X, y, slice(30), slice(30, None))
    merged = merge_models(models)
    if as_expert:
        merged._check_state()
        merged, *models = (each.estimators_[0] for each in (merged, *models))
    alone = merge_models([model[-1] for model in models])
    said = alone.decision_function(scaler.transform(np.abs(X)))
    assert (merged.decision_function(X) == said).all()
    assert merged[2] is not models[0][2]


def test_pipelines_in_pipelines():
    X, y = cities("abcdabcd")
    encoder = TableEncoder(n_named=2, n_hashed=64)
    inner = make_online_pipeline(encoder)
    said, parts = [], [slice(20), slice(20, None)]
    for first in inner, encoder:
        pipeline = make_online_pipeline(first, ScInOLClassifier())
        merged = merge_models(learned(pipeline, X, y, *parts))
        said.append(merged.decision_function(X))
    assert (said[0] == said[1]).all()
    encoders = [deepcopy(inner).partial_fit(X[part]) for part in parts]
    assert merge_models(encoders)[0].n_samples_seen_ == 40


def refused(error, match, *models, **keywords):
    before = deepcopy(models)
    with pytest.raises(error, match=match):
        merge_models(models, **keywords)
    for model, same in zip(models, before, strict=True):
        assert_identical(vars(model), vars(same))


def test_refused_transformers():
    X = [[0.0, 1.0], [1.0, 3.0]]
    scaler = OnlineScaler().partial_fit(X)
    refused(NotFittedError, "not fitted", scaler, OnlineScaler())
    other = OnlineBinner().partial_fit(X)
    refused(
        ValueError, "OnlineBinner cannot be merged with OnlineScaler", scaler, other
    )
    refused(ValueError, "n_samples differs", other, OnlineBinner(7).partial_fit(X))
    refused(ValueError, "same features", scaler, OnlineScaler().partial_fit([[1.0]]))
    later = deepcopy(scaler).partial_fit(X)
    refused(ValueError, "A model is not a copy of `start`", scaler, scaler, start=later)
    standard = StandardScaler().fit(X)
    refused(TypeError, "StandardScaler cannot be merged: only", standard, standard)


def test_refused_tables():
    make = TableEncoder()
    known = deepcopy(make).partial_fit([{"zip": 4, "city": "a"}])
    text = deepcopy(make).partial_fit([{"zip": "x4", "city": "a"}])
    refused(ValueError, r"differ in \['zip'\]: pass `kinds`, or let all", known, text)
    fewer = deepcopy(make).partial_fit([{"zip": 4}])
    refused(ValueError, "same features", known, fewer)
    turned = deepcopy(make).partial_fit([{"city": "a", "zip": 4}])
    refused(ValueError, r"feature_names_in=\['zip' 'city'\]", known, turned)
    make = TableEncoder(interactions=[("zip", "city")])
    a, b = (deepcopy(make).partial_fit([{"zip": code, "city": "a"}]) for code in (4, 5))
    refused(ValueError, "interactions of 'zip'", a, b)
    both = deepcopy(make).partial_fit([{"zip": code, "city": "a"} for code in (4, 5)])
    assert merge_models([a, both]).categories_["zip"] == ["4", "5"]


def test_refused_pipelines():
    X, y = cities("ab")
    encoder, last = TableEncoder(), ScInOLClassifier()
    model = learned(make_online_pipeline(encoder, last), X, y)
    for words, other in (
        ("n_named differs", make_online_pipeline(TableEncoder(n_named=2), last)),
        ("steps differs", OnlinePipeline([("encoder", encoder), ("learn", last)])),
        ("steps differs", make_online_pipeline(encoder, AdaImplicitClassifier())),
    ):
        refused(ValueError, words, model, learned(other, X, y))
    refused(ValueError, "cannot be merged with", model, learned(last, [[0.0]], [0]))
    other = make_online_pipeline(encoder, SGDClassifier(random_state=0))
    other = learned(other, X, y)
    refused(TypeError, "SGDClassifier cannot be merged", other, deepcopy(other))
    rows = [[0.0], [2.0]]
    make = make_online_pipeline(StandardScaler(), last)
    pair = learned(make, rows, [0, 1]), learned(make, np.square(rows), [0, 1])
    refused(ValueError, "'standardscaler' cannot be merged", *pair)


def test_refused_after_columns_that_differ():
    step = FunctionTransformer(accept_sparse=True)
    expert = make_online_pipeline(step, ScInOLClassifier())
    for *steps, words in (
        (step, ScInOLClassifier(), "'functiontransformer' cannot be merged, since the"),
        (ScInOLClassifier(additive=True), "An additive model cannot be merged, since"),
        # So are experts whose steps do with columns what nobody knows.
        (HedgeClassifier([("p", expert)]), "expert 'p' cannot be merged, since the"),
    ):
        make = make_online_pipeline(TableEncoder(n_hashed=1), *steps)
        a, b = (learned(make, *cities(part)) for part in ("abba", "baab"))
        refused(ValueError, words, a, b)
    make = make_online_pipeline(TableEncoder(n_hashed=1), step, ScInOLClassifier())
    start = learned(make, *cities("abba"))
    models = [learned(start, *cities("abba", seed=seed)) for seed in (1, 2)]
    assert merge_models(models, start=start).n_samples_seen_ == 120
