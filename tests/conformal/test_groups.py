"""Groups of rows that hold the level each."""

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support.comparisons import assert_identical
from support.conformal import INTERVALS, SETS, learned

from sklearn_scinol import OnlineConformalRegressor, ScInOLRegressor, merge_models
from sklearn_scinol.conformal import conformal_estimator
from sklearn_scinol.persistence import load, save
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

kinds = pytest.mark.parametrize("kind", [INTERVALS, SETS], ids=["intervals", "sets"])


def table(n=400, seed=0):
    """Rows of three places, whose noise differs."""
    rng = np.random.default_rng(seed)
    places = rng.choice(["north", "south", None], size=n, p=[0.6, 0.3, 0.1])
    noise = np.where(places == "south", 5.0, 1.0) * rng.normal(size=n)
    frame = pd.DataFrame({"size": rng.normal(size=n), "place": places})
    return frame, frame["size"].to_numpy() + noise


def by_place(**parameters):
    pipeline = make_online_pipeline(TableEncoder(), ScInOLRegressor())
    return OnlineConformalRegressor(pipeline, groups="place", **parameters)


@kinds
@pytest.mark.parametrize("groups", ["auto", 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_group_is_within_its_bound(kind, groups, weighted):
    """Each group, and all: sums of rows that were covered, but for ties."""
    rng = np.random.default_rng(0)
    X, y = kind.data(3000)
    X[:, 1] = rng.choice(5, size=len(y), p=[0.5, 0.3, 0.1, 0.09, 0.01])
    c = rng.choice([0.0, 0.1, 1.0, 7.0], size=len(y)) if weighted else None
    model = kind.make(level=[0.5, 0.9]).set_params(groups=groups)
    covered = kind.covered(kind.said(model, X, y, sample_weight=c), y)
    coverage, bounds = model.group_coverage_, model.coverage_bound(by_group=True)
    assert [*coverage] == [*bounds] == model.groups_
    (state,) = model._outputs
    for label, bound in bounds.items():
        assert (np.abs(coverage[label] - [0.5, 0.9]) <= bound + 1e-9).all()
    weights = state.total_weights[1:, np.newaxis]
    for found, whole in (coverage, model.coverage_), (bounds, model.coverage_bound()):
        total = (weights * np.array([*found.values()])).sum(axis=0)
        assert_allclose(total / weights.sum(), whole)
    if groups == 1 and not weighted:
        for label in model.groups_:
            is_of_group = (X[:, 1] == label) & (np.arange(len(y)) > 2)
            near = covered[is_of_group].mean(axis=0)
            assert_allclose(coverage[label], near, atol=2.0 / is_of_group.sum())


def test_columns_of_frames():
    """By name or as several, of rows of any kind; a missing value is a group."""
    frame, y = table()
    model = by_place().partial_fit(frame[:200], y[:200])
    assert {*model.groups_} == {"north", "south", None}
    twin = deepcopy(model)
    said = model.partial_fit_predict(frame[200:], y[200:], method="predict_interval")
    rows = twin.row_by_row()
    records = frame[200:].to_dict("records")
    found = [
        rows.predict_learn_one(x, target, method="predict_interval")
        for x, target in zip(records, y[200:], strict=True)
    ]
    assert_array_equal(found, said)
    assert model.group_coverage_ == twin.group_coverage_
    named = OnlineConformalRegressor(
        model.estimator, groups=lambda X: X["place"].fillna("none")
    )
    listed = by_place().set_params(groups=["place", "place"])
    for other in named, listed:
        other.partial_fit(frame, y)
        assert [*other.group_coverage_.values()] == [*model.group_coverage_.values()]
    assert listed.groups_ == [(label, label) for label in model.groups_]


def test_rows_of_a_new_group():
    frame, y = table()
    model = by_place().partial_fit(frame, y)
    state = deepcopy(learned(model))
    new = frame[:5].assign(place="west")
    missing = model.predict_interval(frame[:5].assign(place=frame["place"].iloc[0]))
    assert (model.predict_interval(new) != missing).all()
    assert_identical(learned(model), state)
    model.partial_fit(new, y[:5], sample_weight=np.zeros(5))
    assert "west" not in model.groups_
    model.partial_fit(new, y[:5])
    assert model.groups_[-1] == "west"


def test_saved_and_merged(tmp_path):
    frame, y = table(900)
    start = by_place().partial_fit(frame[:20], y[:20])
    save(start, tmp_path / "model.skops")
    parts = [frame[20:500], frame[500:].assign(place="west")]
    models = [load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(start))]
    for model, part in zip(models, parts, strict=True):
        model.partial_fit(part, y[part.index])
    merged = merge_models(models, start=start)
    assert {*merged.groups_} == {"north", "south", None, "west"}
    (state,) = merged._outputs
    codes = {label: code for code, label in enumerate(merged.groups_, 1)}
    assert_allclose(state.total_weights[codes["west"]], 400.0)
    (alone,) = models[0]._outputs
    for label in "north", "south":
        own = alone.ends.correction[1 + models[0].groups_.index(label)]
        assert_allclose(state.ends.correction[codes[label]], own)
    merged.partial_fit(frame[:9], y[:9])


def test_several_outputs():
    X, y = INTERVALS.data(200, n_outputs=2)
    model = INTERVALS.make(level=[0.5, 0.9]).set_params(groups="auto").partial_fit(X, y)
    assert model.group_coverage_["wide, low"].shape == (2, 2)


@kinds
def test_errors(kind, monkeypatch):
    X, y = kind.data(40)
    model = kind.make().set_params(groups=1)
    monkeypatch.setattr(conformal_estimator, "MAX_GROUPS", 10)
    model.partial_fit(X[:5], y[:5], **kind.first)
    state = deepcopy(learned(model))
    with pytest.raises(ValueError, match="groups=1 makes more than 10 groups"):
        model.partial_fit(X, y)
    assert_identical(learned(model), state)
    with pytest.raises(AttributeError, match="no attribute 'group_coverage_'"):
        kind.make().group_coverage_  # noqa: B018
    for wrong, words in (1.5, "The 'groups' parameter"), ([[]], "groups must name"):
        with pytest.raises(ValueError, match=words):
            kind.make().set_params(groups=wrong).partial_fit(X, y, **kind.first)
    for wrong in "place", 7, [], lambda X: X[:3, 0], lambda X: X:
        with pytest.raises(ValueError, match="groups"):
            kind.make().set_params(groups=wrong).partial_fit(X, y, **kind.first)


@kinds
def test_groups_of_few_rows_correct_the_ends_of_all_rows(kind):
    X, y = kind.data(3000)
    X[:, 1] = np.arange(len(y)) // 60 * 6 + np.arange(len(y)) % 6
    model = kind.make(level=0.9).set_params(groups=1)
    covered = kind.covered(kind.said(model, X, y), y)[200:]
    assert abs(covered.mean() - 0.9) < 0.02
