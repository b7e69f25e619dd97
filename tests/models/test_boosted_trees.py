"""Boosted trees, an expert of mixtures that learn rows several times."""

import pickle
import threading
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1
from sklearn.tree import ExtraTreeRegressor
from support.local import data, labels, weights
from support.registry import seeds

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    config_context,
    merge_models,
)
from sklearn_scinol.estimators.boosted_trees import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
)
from sklearn_scinol.mixtures import default_experts
from sklearn_scinol.models import boosted_trees
from sklearn_scinol.models.model import Chunk
from sklearn_scinol.transforms.placement import Placement

#: Mixtures with few experts beside boosted trees.
OTHERS = [*({*default_experts.KINDS} - {"boosted_trees"})]
mixture = partial(HedgeRegressor, exclude=OTHERS, random_state=0)

KINDS = "one target", "two targets", "two classes", "four classes", "labels"


def rows_of(kind, n=150, seed=0):
    X, y = data(n, 4, n_outputs=2, seed=seed)
    if kind == "two targets":
        return X, y
    if kind == "labels":
        return X, (y > 0).astype(int)
    if kind == "one target":
        return X, y[:, 0]
    return X, labels(y[:, 0], 2 if kind == "two classes" else 4)


def begun(kind, X, y, **parameters):
    """An estimator that has learned all rows once."""
    if kind in ("one target", "two targets"):
        return BoostedTreesRegressor(random_state=0, **parameters).partial_fit(X, y)
    classes = {} if kind == "labels" else {"classes": np.unique(y)}
    model = BoostedTreesClassifier(random_state=0, **parameters)
    return model.partial_fit(X, y, **classes)


def look_back(estimator, X, y, c=None, order=None, times=1):
    if y.ndim == 1 and isinstance(estimator, BoostedTreesRegressor):
        y = y[:, np.newaxis]
    for _ in range(times):
        estimator._model.look_back(Chunk(X, y, c), order)
    estimator._check_state()
    return estimator


def grown(kind, X, y, c=None, times=1, **parameters):
    return look_back(begun(kind, X, y, **parameters), X, y, c, times=times)


# Formulas.


def places(x, known):
    """Places of values among known ones, half by rank and half by size."""
    known = np.unique(known)
    found, n = [], known.size
    of_known = [(v - known[0]) / (known[-1] - known[0]) for v in known]
    of_known = [size + rank / (n - 1) for rank, size in enumerate(of_known)]
    for value in np.clip(x, known[0], known[-1]):
        k = int((known <= value).sum()) - 1
        share = 0.0
        if value > known[k]:
            share = (value - known[k]) / (known[k + 1] - known[k])
        found.append(of_known[k] + share * (of_known[min(k + 1, n - 1)] - of_known[k]))
    return np.array(found, np.float32)


def naive_predictions(kind, model, X, y, c, new, n_calls):
    """Predictions of new rows by trees of scikit-learn, boosted row by row."""
    Z, Z_new = (
        np.column_stack([places(x, known) for x, known in zip(of.T, X.T, strict=True)])
        for of in (X, new)
    )
    c = c / c.mean()
    if kind in ("two classes", "four classes"):
        y = (y[:, np.newaxis] == np.unique(y)).astype(float)
        y = y[:, 1:] if kind == "two classes" else y
    y = y.reshape(len(y), -1)
    if "target" in kind:
        start = [np.average(column, weights=c) for column in y.T]
    else:
        counts = [c[column == 1].sum() + 0.5 for column in y.T]
        others = [c[column == 0].sum() + 0.5 for column in y.T]
        start = np.log(counts)
        if kind != "four classes":
            start = start - np.log(others)
    F, F_new = np.tile(start, (len(X), 1)), np.tile(start, (len(new), 1))
    for call in range(n_calls):
        rng = np.random.RandomState([model._model.seed, 3 * call])
        for _ in range(3):
            if "target" in kind:
                residuals, h = y - F, np.ones(len(y))
                unit = np.abs(residuals).mean(axis=0)
            else:
                p = 1.0 / (1.0 + np.exp(-F))
                if kind == "four classes":
                    p = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
                residuals, unit = y - p, 1.0
                h = np.maximum((p * (1.0 - p)).max(axis=1), 0.01)
            steps = residuals / h[:, np.newaxis]
            for seed in rng.randint(2**31 - 1, size=5):
                tree = ExtraTreeRegressor(min_samples_leaf=8, random_state=seed)
                tree.fit(Z, steps / unit, c * h)
                leaves, of_new = tree.apply(Z), tree.apply(Z_new)
                for leaf in np.unique(leaves):
                    own = leaves == leaf
                    total = c[own] @ residuals[own] / (c[own] @ h[own])
                    F[own] += 0.3 / 5 * total
                    F_new[of_new == leaf] += 0.3 / 5 * total
    return F_new


@pytest.mark.cases(6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_reference(kind, weighted, engine):
    X, y = rows_of(kind)
    c = weights(len(y)) if weighted else np.ones(len(y))
    model = grown(kind, X, y, c if weighted else None, times=2)
    new = np.vstack([X, rows_of(kind, seed=1)[0]])
    expected = naive_predictions(kind, model, X, y, c, new, 2)
    assert_allclose(model._model.decision(new), expected, rtol=1e-7, atol=1e-9)
    assert model._model.n_stages == 6


@pytest.mark.cases(5)
@seeds
@pytest.mark.parametrize("kind", KINDS)
def test_units(seed, kind):
    X, y = rows_of(kind, seed=seed)
    rng = np.random.default_rng(seed)
    factors = 2.0 ** rng.integers(-40, 40, X.shape[1])
    factor = 2.0 ** rng.integers(-300, 300) if "target" in kind else 1.0
    of_target = y * factor if "target" in kind else y
    expected = grown(kind, X, y, times=2)._model.decision(X)
    scaled = grown(kind, X * factors, of_target, times=2)._model
    assert_array_equal(scaled.decision(X * factors), expected * factor)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_any_parts(kind):
    """Rows are predicted alike by both engines, alone and together."""
    X, y = rows_of(kind)
    found = []
    for engine in "numpy", "auto":
        with config_context(engine=engine):
            model = grown(kind, X, y)._model
            found.append(model.decision(X))
            found.append(np.vstack([model.decision(x[np.newaxis]) for x in X]))
    expected = found[0]
    for each in found:
        assert_array_equal(each, expected)


# Rows that are new.


def test_new_rows_are_only_predicted(engine):
    X, y = rows_of("one target")
    model = begun("one target", X, y)
    assert_allclose(model.predict(X), y.mean())
    trees = look_back(model, X, y)._model.links
    X, y = rows_of("one target", seed=1)
    expected = model.predict(X)
    assert_array_equal(model.partial_fit_predict(X, y), expected)
    rows = model.row_by_row()
    assert [rows.predict_learn_one(*row) for row in zip(X, y, strict=True)] == [
        *expected
    ]
    assert model._model.links is trees


def test_stages_grow_anew_from_other_rows():
    X, y = rows_of("one target")
    model = look_back(begun("one target", X, y), X, y, order=np.arange(100), times=3)
    assert model._model.n_stages == 9
    look_back(model, X, y)
    assert (model._model.n_stages, model._model.n_grown) == (9, 150)
    look_back(model, X, y, times=50)
    assert model._model.n_stages == boosted_trees.MAX_STAGES


@pytest.mark.parametrize("weight", [0.1, 1e50])
def test_equal_weights(weight):
    X, y = rows_of("four classes")
    expected = grown("four classes", X, y, times=3)._model.decision(X)
    c = np.full(len(y), weight)
    weighted = grown("four classes", X, y, c, times=3)
    assert_array_equal(weighted._model.decision(X), expected)


def test_first_rows_without_weight():
    X, y = data(520, 4, n_outputs=1)
    c = np.repeat([0.0, 1.0], 260)
    model = mixture(shuffle=False).fit(X, y, c)
    assert model.named_estimators_["boosted-trees"]._model.n_stages > 0


def test_means_before_the_first_tree(engine):
    X, y = rows_of("two targets")
    model = begun("two targets", X[:1], y[:1])
    expected = np.cumsum(y, axis=0) / np.arange(1, len(y) + 1)[:, np.newaxis]
    found = model.partial_fit_predict(X[1:], y[1:])
    assert_allclose(found, expected[:-1], rtol=1e-9, atol=1e-12)
    assert_allclose(model.predict(X), np.tile(expected[-1], (len(X), 1)))


@pytest.mark.parametrize("start", [0.3, -1e9, 0.0])
def test_neighbouring_numbers(start):
    """Rows go where those with their values went when the tree grew."""
    known = np.array([start] * 4)
    for k in range(1, 4):
        known[k:] = np.nextafter(known[k:], np.inf)
    of_known = np.empty(4, np.float32)
    grid = boosted_trees._Grid(known, of_known)
    drawn = np.random.default_rng(0).uniform(0.0, of_known[-1], 100)
    thresholds = grid.values_at(drawn)
    assert_array_equal(
        np.less_equal.outer(known, thresholds), np.less_equal.outer(of_known, drawn)
    )


@pytest.mark.parametrize("limit", ["MAX_GROWN", "MAX_ENTRIES"])
def test_many_rows(limit, monkeypatch):
    """A stage grows from some of them, and others are drawn for the next."""
    X, y = rows_of("one target")
    monkeypatch.setattr(boosted_trees, "MAX_LEAVES", 20)
    of_row = X.shape[1] if limit == "MAX_ENTRIES" else 1
    monkeypatch.setattr(boosted_trees, limit, 60 * of_row)
    drawn = []
    monkeypatch.setattr(
        boosted_trees.BoostedTreesModel,
        "_targets",
        lambda self, y: drawn.append(y[:, 0]) or y,
    )
    grown("one target", X, y, times=2)
    first, second = map(set, drawn)
    assert len(first) == len(second) == 60
    assert first != second
    assert first < {*y}


def test_memory_is_limited(monkeypatch):
    X, y = rows_of("four classes")
    monkeypatch.setattr(boosted_trees, "MAX_VALUES", 7 * 5 * 512 * 4)
    assert grown("four classes", X, y, times=5)._model.n_stages == 7


@pytest.mark.parametrize("value", [0.0, 1e-250, -3.0, 1e90])
def test_constant_features_and_targets(value):
    X = np.full((50, 2), value)
    X[:25, 1] = -np.copysign(1.7e308, value)
    y = np.full(50, value)
    assert_allclose(grown("one target", X, y).predict(X), value, rtol=1e-12)


# Classes, columns and models to merge.


@pytest.mark.parametrize("n_before", [2, 3])
def test_new_classes(n_before):
    X, y = rows_of("four classes")
    kind = "two classes" if n_before == 2 else "four classes"
    old = y < n_before
    model = grown(kind, X[old], y[old], new_classes="add")
    before = model.predict_proba(X)
    model.partial_fit(X[:1], [3])
    after = model.predict_proba(X)
    assert after.shape == (len(X), n_before + 1)
    assert (after[:, -1] < 0.05).all()
    others = after[:, :-1] / after[:, :-1].sum(axis=1, keepdims=True)
    assert_allclose(others, before, rtol=1e-12)
    model._check_state()


def test_other_columns():
    X, y = rows_of("one target")
    model = grown("one target", X, y)._model
    order = [2, 0, 3, 1]
    moved = model.with_columns(Placement.identity(4).take(order))
    assert_array_equal(moved.decision(X[:, order]), model.decision(X))
    kept = model.with_columns(Placement.identity(4).take([0, 2]))
    zeros = X * [1.0, 0.0, 1.0, 0.0]
    assert_array_equal(kept.decision(X[:, [0, 2]]), model.decision(zeros))


# The mixture.


def test_mixtures_that_learn_rows_several_times():
    X, y = make_friedman1(400, n_features=6, random_state=0)
    regressor = mixture().fit(X, y)
    assert regressor.expert_kinds_["boosted_trees"] == "boosted-trees"
    model = regressor.named_estimators_["boosted-trees"]._model
    assert model.n_grown == 400  # also those that were held out
    for other in (
        mixture().partial_fit(X, y),
        mixture(max_iter=1, tol=None).fit(X, y),
    ):
        reason = other.expert_kinds_["boosted_trees"]
        assert reason == "none: rows are learned once"
    regressor.partial_fit(X[:3], y[:3])
    regressor._check_state()


def test_merged_mixtures():
    """Trees are those of the part with the most rows."""
    X, y = make_friedman1(200, n_features=5, random_state=0)
    parts = [mixture().fit(X[part], y[part]) for part in (slice(80), slice(80, 200))]
    merged = merge_models(parts)
    merged._check_state()
    trees = [each.named_estimators_["boosted-trees"] for each in (merged, *parts)]
    assert_array_equal(trees[0].predict(X), trees[2].predict(X))


@pytest.mark.cases(1)
@pytest.mark.parametrize("mixture", [HedgeRegressor, HedgeClassifier])
def test_they_make_fit_better(mixture):
    X = np.random.default_rng(0).uniform(size=(700, 6))
    first, second, third, fourth = (X[:, :4] > [0.3, 0.6, 0.6, 0.5]).T
    y = 4.0 * ((first & second) | (third & fourth)) + X[:, 4]
    if mixture is HedgeClassifier:
        y = labels(y, 3)
    slow = [kind for kind in OTHERS if kind != "second_order"]
    scores = [
        mixture(exclude=exclude, random_state=0).fit(X[:400], y[:400])
        for exclude in (slow, [*slow, "boosted_trees"])
    ]
    with_trees, without = (each.score(X[400:], y[400:]) for each in scores)
    assert with_trees > without


# State.


def fitted():
    X, y = rows_of("one target", 120)
    return mixture().fit(X, y), X, y


def test_trees_side_by_side(monkeypatch):
    model, X, y = fitted()
    threads, grow = set(), boosted_trees._grow_tree

    def grown(*arguments):
        threads.add(threading.get_ident())
        return grow(*arguments)

    monkeypatch.setattr(boosted_trees, "_grow_tree", grown)
    together = mixture(n_jobs=2).fit(X, y)
    assert_array_equal(together.predict(X), model.predict(X))
    assert threading.get_ident() not in threads


def test_saved_models_go_on(tmp_path):
    persistence = pytest.importorskip("sklearn_scinol.persistence")
    model, X, y = fitted()
    persistence.save(model, tmp_path / "model.skops")
    loaded = persistence.load(tmp_path / "model.skops")
    copied = pickle.loads(pickle.dumps(model))
    for each in model, loaded, copied:
        each.partial_fit(X[:20], y[:20])
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert_array_equal(copied.predict(X), model.predict(X))


def test_refused_rows_and_interruptions_change_nothing(monkeypatch):
    model, X, y = fitted()
    expected, calls = model.predict(X), []

    def interrupted(self, y):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return y

    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(np.vstack([X, np.full(X.shape[1], np.inf)]), [*y, 1.0])
    assert_array_equal(model.predict(X), expected)
    monkeypatch.setattr(boosted_trees.BoostedTreesModel, "_targets", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[::-1], y)
    assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("links", (0, 0), 9),
        ("links", (0, 1), 10**6),
        ("links", (1, 2), -1),
        ("roots", 0, 10**6),
        ("depths", 0, 10**6),
        ("thresholds", 0, np.nan),
        ("values", (0, 0), np.inf),
        ("start", 0, np.nan),
    ],
)
def test_damaged_state(name, place, value):
    X, y = rows_of("one target")
    model = grown("one target", X, y)
    array = getattr(model._model, name).copy()
    array[place] = value
    setattr(model._model, name, array)
    with pytest.raises(AssertionError, match="expected that"):
        model._check_state()
