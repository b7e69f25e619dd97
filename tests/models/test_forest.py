"""Aggregated Mondrian forests."""

import math
from copy import deepcopy
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier
from support import naive_forest
from support.comparisons import assert_identical, learned
from support.local import data, labels, make, stream, weights
from support.registry import EXTRA_TREES, FORESTS

from sklearn_scinol import (
    MondrianForestClassifier,
    MondrianForestRegressor,
    merge_models,
)
from sklearn_scinol.learners.trees import LEFT, PARENT, RIGHT
from sklearn_scinol.models import trees

estimators = pytest.mark.parametrize("estimator", FORESTS)


def trees_of(model, nodes, **options):
    """Naive trees that draw as the trees of a fitted forest did."""
    of_trees = model._model.memory.seeds[:, 0]
    return [naive_forest.Tree(seed, *nodes, **options) for seed in of_trees]


def deviations_before(y, c):
    """Standard deviation of the targets before each row."""
    found = [0.0]
    for n in range(1, len(y)):
        mean = np.average(y[:n], weights=c[:n])
        found.append(math.sqrt(np.average((y[:n] - mean) ** 2, weights=c[:n])))
    return np.array(found)


# Formulas.


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("parameters", [{}, {"step": 0.3, "dirichlet": 0.7}])
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_by_all_prunings(n_classes, parameters, weighted, engine):
    """The mean over all prunings, one by one, in 50 digits."""
    X, y = data(13, 3)
    y, c = labels(y, n_classes), weights(len(y)) if weighted else np.ones(len(y))
    model = MondrianForestClassifier(3, random_state=1, **parameters)
    said = model.partial_fit_predict(
        X, y, classes=range(n_classes), sample_weight=c, method="predict_proba"
    )
    dirichlet = parameters.get("dirichlet", 0.5 / n_classes)
    nodes = naive_forest.class_shares(n_classes, dirichlet, parameters.get("step", 1.0))
    trees = trees_of(model, nodes)
    expected = naive_forest.predictions(trees, X, y, c, by_pruning=True)
    assert_allclose(said, expected, rtol=1e-12)
    assert_array_equal(model.n_nodes_, [tree.n_nodes for tree in trees])
    assert max(len([*tree.root.prunings()]) for tree in trees) > 10
    losses = -np.log(said[np.arange(len(y)), y])
    assert model.cumulative_loss_ == pytest.approx(losses @ c)


@pytest.mark.parametrize("step", [1.0, 16.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_by_all_prunings(step, weighted, engine):
    X, y = data(8, 3, n_outputs=2)
    c = weights(len(y)) if weighted else np.ones(len(y))
    model = MondrianForestRegressor(3, step=step, random_state=1)
    said = model.partial_fit_predict(X, y, sample_weight=c)
    for k, of_output in enumerate(y.T):
        trees = trees_of(model, naive_forest.means(step))
        deviations = deviations_before(of_output, c)
        expected = naive_forest.predictions(
            trees, X, of_output, c, deviations, by_pruning=True
        )
        assert_allclose(said[:, k], expected[:, 0], rtol=1e-9, atol=1e-12)
    alone = MondrianForestRegressor(3, step=step, random_state=1)
    assert_array_equal(
        alone.partial_fit_predict(X, y[:, 1], sample_weight=c), said[:, 1]
    )


@pytest.mark.parametrize("max_nodes", [1, 2, 31, 32, 10_000])
def test_many_rows_by_the_recursion(max_nodes, engine):
    """Up to where trees grow no more."""
    X, y = data(90)
    y = labels(y, 3)
    model = MondrianForestClassifier(2, max_nodes=max_nodes, random_state=0)
    keywords = {"classes": range(3), "method": "predict_proba"}
    said = model.partial_fit_predict(X, y, **keywords)
    nodes = naive_forest.class_shares(3, 0.5 / 3)
    trees = trees_of(model, nodes, max_nodes=max_nodes)
    expected = naive_forest.predictions(trees, X, y, np.ones(len(y)))
    assert_allclose(said, expected, rtol=1e-10)
    assert_array_equal(model.n_nodes_, [tree.n_nodes for tree in trees])
    assert model.n_nodes_.max() <= max_nodes
    assert model._model.memory.n_slots <= max(max_nodes, 1)
    model._check_state()


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", ["few points", "ever farther"])
def test_regret_against_the_best_pruning(kind, engine):
    """In hindsight, of the least likely labels; see the user guide on forests."""
    X = np.arange(150.0)[:, np.newaxis] ** 2
    if kind == "few points":
        X = np.random.default_rng(0).integers(3, size=(150, 2)).astype(float)
    model = MondrianForestClassifier(1, random_state=2)
    model.partial_fit(X[:1], [0], classes=[0, 1])
    (tree,) = trees_of(model, naive_forest.class_shares(2, 0.25))
    tree.learn(X[0].tolist(), 0)
    loss, of_founding = math.log(2.0), 0.0
    for x in X[1:]:
        (p,) = model.predict_proba([x])
        y = int(np.argmin(p))
        model.partial_fit([x], [y])
        tree.learn(x.tolist(), y)
        if tree.founded:
            of_founding -= math.log(p[y])
        else:
            loss -= math.log(p[y])
    assert model.cumulative_loss_ == pytest.approx(loss + of_founding)
    bound = tree.root.best_pruning() + math.log(1.5) * tree.n_inner_splits
    assert loss <= bound + 1e-9
    assert model.n_nodes_[0] == tree.n_nodes


# Properties.


@estimators
def test_equal_rows_never_split(estimator, engine):
    X = np.tile([[1.0, 2.0]], (40, 1))
    y = np.arange(40) % 2
    kind = {"classes": [0, 1]} if is_classifier(estimator()) else {}
    model = estimator(3, random_state=0).partial_fit(X, y, **kind)
    assert_array_equal(model.n_nodes_, 1)
    X[:, 1] += y
    model = estimator(3, random_state=0).partial_fit(X, y, **kind)
    assert_array_equal(model.n_nodes_, 3)
    assert_array_equal(model.predict(X) > 0.5, y > 0.5)


def test_a_feature_outgrows_its_unit(engine):
    """All values before count as 0, as for all learners."""
    X, y, kind = stream(MondrianForestClassifier)
    X[:, 0] *= 1e-200
    X[80:, 0] *= 1e300
    model = MondrianForestClassifier(3, random_state=0)
    model.partial_fit(X[:80], y[:80], **kind)
    model.partial_fit(X[80:81], y[80:81])
    x = model._model.transform(X[80:81])[0, 0]
    assert_array_equal(np.unique(model._model.memory.boxes[..., 0]), sorted([0.0, x]))
    model._check_state()
    assert np.isfinite(model.partial_fit_predict(X, y)).all()


@pytest.mark.parametrize("way", ["down", "up"])
@estimators
def test_links_that_make_no_tree(way, estimator, engine):
    """An error says so, and nothing changes; a compiled loop would never end."""
    X, y, kind = stream(estimator)
    model = make(estimator).partial_fit(X[:99], y[:99], **kind)
    memory = model._model.memory
    links, root = memory.links[0], memory.place[0, 0]
    children = links[root, [LEFT, RIGHT]]
    if way == "down":
        links[root, [LEFT, RIGHT]] = root
    else:
        links[children, PARENT] = children
    before = deepcopy(model)
    for call in (
        partial(model.predict, X[99:]),
        partial(model.partial_fit, X[99:], y[99:]),
        lambda: model.row_by_row().learn_one(X[99], y[99]),
        lambda: model.row_by_row().predict_one(X[99]),
    ):
        with pytest.raises(RuntimeError, match="links between its nodes make no tree"):
            call()
        assert_identical(vars(model), vars(before))


# Merging.


@estimators
def test_merged_forests_unite(estimator, engine):
    X, y, kind = stream(estimator)
    options = {"window": 60} if estimator in EXTRA_TREES else {}
    start = estimator(2, random_state=0, **options)
    start.partial_fit(X[:30], y[:30], **kind)
    parts = slice(30, 110), slice(110, None)
    models = [deepcopy(start).partial_fit(X[part], y[part]) for part in parts]
    merged = merge_models(models, start=start)
    merged._check_state()
    assert merged.n_samples_seen_ == len(y)
    if estimator in EXTRA_TREES:
        assert merged._model.memory.recent.n_rows[0] == len(y)
    assert_array_equal(
        merged.n_nodes_, np.concatenate([model.n_nodes_ for model in models])
    )
    # Each tree counts by its rows, the start's among them.
    method = "predict_proba" if kind else "predict"
    said = [getattr(model, method)(X) for model in models]
    expected = (110 * said[0] + 70 * said[1]) / 180
    assert_allclose(getattr(merged, method)(X), expected, rtol=1e-12)
    assert_identical(learned(merge_models(models[:1])), learned(models[0]))
    swapped = merge_models(models[::-1], start=start)
    assert_allclose(getattr(swapped, method)(X), expected, rtol=1e-12)
    for model in merged, swapped:
        model.partial_fit(X, y)
        model._check_state()
    if not hasattr(merged, "window"):  # whose rows have an order, too
        said = [getattr(model, method)(X) for model in (merged, swapped)]
        assert_allclose(*said, rtol=1e-12)


@estimators
def test_merged_again_and_again(estimator, engine, monkeypatch):
    """Trees of all models in turn, as many as are kept, however often."""
    monkeypatch.setattr(trees, "MAX_MERGED_TREES", 4)
    X, y, kind = stream(estimator)
    merged = estimator(2, random_state=0).partial_fit(X[:30], y[:30], **kind)
    for _ in range(3):
        models = [deepcopy(merged).partial_fit(X[r:], y[r:]) for r in (30, 60, 90)]
        merged = merge_models(models, start=merged)
        merged._check_state()
        first, second, third = (model.n_nodes_ for model in models)
        expected = [*first[:2], second[0], third[0]]
        assert_array_equal(merged.n_nodes_, expected)


def test_merged_weights_and_units(engine):
    X, y, kind = stream(MondrianForestClassifier)
    scale = np.array([1.0, 1e-150, 1.0, 1.0, 1.0])
    models = [make(MondrianForestClassifier, n_estimators=2) for _ in range(3)]
    models[0].partial_fit(X[:80] * scale, y[:80], **kind)
    models[1].partial_fit(X[80:], y[80:], sample_weight=np.full(70, 4.0), **kind)
    models[2].partial_fit(X, y, sample_weight=np.zeros(150), **kind)
    merged = merge_models(models[:2])
    merged._check_state()
    weights_of_trees = merged._model.memory.numbers[:, :, 2].max(axis=1)
    # In units of the mean weight.
    expected = np.array([80.0, 80.0, 280.0, 280.0]) / (360.0 / 150.0)
    assert_allclose(weights_of_trees, expected, rtol=1e-14)
    merged = merge_models([models[2], models[1]])  # of which one has learned nothing
    assert_allclose(merged.predict_proba(X), models[1].predict_proba(X))
    both = merge_models([models[2], deepcopy(models[2])])
    assert_allclose(both.predict_proba(X), 1 / 3)
    both._check_state()


def test_rows_that_nearly_coincide(engine):
    """No leaf is split after an infinite time."""
    tiny, large = 1e-310, 1e77
    rows = [
        *([0.0, -5e-324, tiny], [-1.0, -3.0, -1e-200], [-1e-163, 0.0, 1e-163]),
        *([-tiny, 0.0, 1e-103], [-5e-324, 0.0, 1e-103], [1.0, 1.0, -1.0]),
        *([0.0, -large, 1e-155], [1e-16, 1.0, 1.0]),
    ]
    for seed in range(200):
        model = MondrianForestClassifier(2, random_state=seed)
        model.partial_fit(rows, [0, 1] * 4, classes=[0, 1])
        model._check_state()
