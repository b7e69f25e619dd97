"""Copies of one model are merged with `start`, for their common rows count once."""

import pickle
from copy import deepcopy
from itertools import count, cycle, product

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from support.comparisons import assert_identical
from support.copies import COPIES

from sklearn_scinol import (
    DFEGClassifier,
    HedgeClassifier,
    HedgeRegressor,
    MondrianForestRegressor,
    OnlineConformalClassifier,
    OnlineConformalRegressor,
    OnlineKNeighborsRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
    merge_models,
)
from sklearn_scinol._invariants import check_parts
from sklearn_scinol._shards import origins_of
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineBinner, OnlineScaler, TableEncoder

EXPERTS = [("plain", ScInOLClassifier()), ("kernel", DFEGClassifier(kernel="rbf"))]
MODELS = {
    "classifier": ScInOLClassifier(new_classes="add"),
    "regressor": ScInOLRegressor(),
    "quantiles": ScInOLRegressor(loss="quantile", quantile=[0.1, 0.9]),
    "forest": MondrianForestRegressor(3, random_state=0),
    "neighbors": OnlineKNeighborsRegressor(),
    "mixture": HedgeClassifier(EXPERTS),
    "quantiles of mixtures": HedgeRegressor(
        [("a", ScInOLRegressor())], loss="quantile", quantile=[0.1, 0.9]
    ),
    "sets": OnlineConformalClassifier(ScInOLClassifier()),
    "intervals": OnlineConformalRegressor(ScInOLRegressor()),
    "scaler": OnlineScaler(),
    "binner": OnlineBinner(),
    "encoder": TableEncoder(),
    "transformers": make_online_pipeline(OnlineScaler(), OnlineBinner()),
    "pipeline": make_online_pipeline(TableEncoder(), ScInOLClassifier()),
    "pipeline of sets": make_online_pipeline(
        OnlineScaler(), OnlineConformalClassifier(ScInOLClassifier())
    ),
}
X = np.random.default_rng(0).normal(size=(30, 2))
Y = (X[:, 0] > 0.0).astype(int)
FIRST, SECOND, THIRD = np.split(np.arange(30), 3)
MATCH = "as it was when it was copied, as `start`"


def learn(model, rows):
    classes = {"classes": [0, 1]} if is_classifier(model) else {}
    targets = [Y[rows]] if classes or is_regressor(model) else []
    return model.partial_fit(X[rows], *targets, **classes)


@pytest.fixture(autouse=True)
def numpy_engine():
    with config_context(engine="numpy"):
        yield


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("name", "way"),
    sorted({*zip(MODELS, cycle(COPIES)), *product(["classifier"], COPIES)}),
)
def test_copies_need_their_start(name, way, tmp_path):
    make, way = MODELS[name], COPIES[way]
    paths = (tmp_path / str(i) for i in count())
    start = learn(clone(make), FIRST)
    a, b = (learn(way(start, next(paths)), rows) for rows in (SECOND, THIRD))
    before = [deepcopy(vars(each)) for each in (a, b, start)]
    for copies in [a, b], [start, a], [start, way(start, next(paths))]:
        with pytest.raises(ValueError, match=MATCH):
            merge_models(copies)
    assert_identical([vars(each) for each in (a, b, start)], before)
    merged = merge_models([a, b], start=start)
    again = way(merged, next(paths))
    assert origins_of(again) == origins_of(start) != set()
    for other in a, start:
        with pytest.raises(ValueError, match=MATCH):
            merge_models([again, other])
    merge_models([learn(again, FIRST), learn(b, FIRST)], start=start)
    check_parts(again, "merged")


@pytest.mark.cases(3)
@pytest.mark.parametrize("make", MODELS.values(), ids=[*MODELS])
def test_models_that_began_on_their_own_do_not(make):
    """Though they learned the same rows, which makes them equal."""
    a, b, c = (learn(clone(make), FIRST) for _ in "abc")
    assert_identical(vars(a), vars(b))
    assert joblib.hash(a) == joblib.hash(b)
    both = merge_models([a, b])
    merge_models([both, c])
    with pytest.raises(ValueError, match=MATCH):
        merge_models([both, a])
    with pytest.raises(ValueError, match=MATCH):
        merge_models([merge_models([a, c]), both])


@pytest.mark.cases(3)
@pytest.mark.parametrize("make", MODELS.values(), ids=[*MODELS])
def test_start_is_what_all_are_copies_of(make):
    """Rows of another one would be taken from what these have learned."""
    start, other = (learn(clone(make), FIRST) for _ in "ab")
    a, b = (learn(deepcopy(start), rows) for rows in (SECOND, THIRD))
    own = learn(clone(make), np.arange(20))
    for models, wrong in ([a, b], other), ([a, own], start), ([own], start):
        with pytest.raises(ValueError, match="A model is not a copy of `start`"):
            merge_models(models, start=wrong)
    merge_models([merge_models([a, b], start=start), start], start=start)


@pytest.mark.parametrize("name", ["classifier", "sets", "transformers", "scaler"])
def test_fit_begins_anew(name):
    model = learn(clone(MODELS[name]), FIRST)
    merge_models([deepcopy(model).fit(X, Y), deepcopy(model).fit(X, Y), model])


def test_warm_starts_go_on():
    model = ScInOLClassifier(warm_start=True, max_iter=2, tol=None).fit(X, Y)
    copies = deepcopy(model).fit(X, Y), deepcopy(model).fit(X, Y)
    with pytest.raises(ValueError, match=MATCH):
        merge_models(copies)
    assert merge_models(copies, start=model).n_samples_seen_ > 0


@pytest.mark.parametrize("name", ["classifier", "mixture", "sets", "pipeline"])
def test_single_rows(name):
    models = []
    for _ in range(2):
        rows = clone(MODELS[name]).row_by_row(classes=[0, 1])
        for x, y in zip(X[:5], Y[:5], strict=True):
            rows.learn_one(x, y)
        models.append(rows.estimator)
    merge_models(models)
    copied = pickle.loads(pickle.dumps(models[0])).row_by_row()
    copied.learn_one(X[5], Y[5])
    with pytest.raises(ValueError, match=MATCH):
        merge_models([models[0], copied.estimator])


@pytest.mark.parametrize("name", ["classifier", "mixture", "sets", "scaled"])
def test_rows_of_weight_zero_are_no_common_rows(name):
    """Of which a last step has learned nothing, but a scaler before it has."""
    make = MODELS.get(name, make_online_pipeline(OnlineScaler(), ScInOLClassifier()))
    first = {"classes": [0, 1], "sample_weight": np.zeros(10)}
    start = clone(make).partial_fit(X[FIRST], Y[FIRST], **first)
    copies = [learn(deepcopy(start), rows) for rows in (SECOND, THIRD)]
    if name == "scaled":
        assert merge_models(copies, start=start).n_samples_seen_ == 20
        return
    assert merge_models(copies).n_samples_seen_ == 20
    assert merge_models([start, deepcopy(start)]).n_samples_seen_ == 0


def test_a_failed_first_call_begins_nothing():
    model = ScInOLClassifier()
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit([[np.nan, 0.0]], [0], classes=[0, 1])
    assert not origins_of(model)


@pytest.mark.parametrize("freeze", [deepcopy, FrozenEstimator])
def test_transformers_may_know_earlier_rows(freeze):
    scaler = OnlineScaler().fit(X[FIRST])
    scalers = scaler, deepcopy(scaler)
    if freeze is FrozenEstimator:  # other processes have learned the same
        scalers = scaler, OnlineScaler().fit(X[FIRST])
    pipelines = [
        learn(make_online_pipeline(freeze(scaler), ScInOLClassifier()), rows)
        for scaler, rows in zip(scalers, (SECOND, THIRD), strict=True)
    ]
    assert merge_models(pipelines).n_samples_seen_ == 20


def test_forged_origins():
    model = learn(ScInOLClassifier(), FIRST)
    model._origins = ["name"]
    with pytest.raises(AssertionError, match="origins"):
        check_parts(model, "model")
