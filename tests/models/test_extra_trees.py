"""Trees that split where labels differ."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier
from support import naive_extra_tree, naive_forest
from support.local import data, labels, stream, weights
from support.registry import ENGINES, seeds

from sklearn_scinol import (
    HedgeClassifier,
    OnlineExtraTreesClassifier,
    OnlineExtraTreesRegressor,
    config_context,
    merge_models,
)

BOTH = OnlineExtraTreesClassifier, OnlineExtraTreesRegressor
engines = pytest.mark.parametrize("engine", ENGINES, indirect=True)
estimators = pytest.mark.parametrize("estimator", BOTH)


def naive_trees(model, n_classes=0, **options):
    """Naive trees that draw as the trees of a fitted forest did."""
    if n_classes:
        nodes = naive_forest.class_shares(n_classes, 0.5 / n_classes)
    else:
        nodes = naive_forest.means(1.0)
    options = {"penalty": model.penalty, "window": model.window} | options
    return [
        naive_extra_tree.ExtraTree(seed, *nodes, n_classes=n_classes, **options)
        for seed in model._model.memory.seeds[:, 0]
    ]


# Formulas.


@pytest.mark.cases(4)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("options", [{}, {"window": 30}, {"max_nodes": 6}])
@pytest.mark.parametrize("weighted", [False, True])
@engines
def test_classes(n_classes, options, weighted, engine):
    X, y = data(220, 7)
    y, c = labels(y, n_classes), weights(len(y)) if weighted else np.ones(len(y))
    model = OnlineExtraTreesClassifier(3, penalty=0.5, random_state=1, **options)
    said = model.partial_fit_predict(
        X, y, classes=range(n_classes), sample_weight=c, method="predict_proba"
    )
    bound = {name: v for name, v in options.items() if name == "max_nodes"}
    trees = naive_trees(model, n_classes, **bound)
    assert_allclose(said, naive_forest.predictions(trees, X, y, c), rtol=1e-10)
    assert_array_equal(model.n_nodes_, [tree.n_nodes for tree in trees])
    assert model.n_nodes_.max() > 3
    losses = -np.log(said[np.arange(len(y)), y])
    assert model.cumulative_loss_ == pytest.approx(losses @ c)
    model._check_state()


@pytest.mark.cases(4)
@pytest.mark.parametrize("n_features", [1, 6])
@pytest.mark.parametrize("weighted", [False, True])
@engines
def test_numbers(n_features, weighted, engine):
    X, y = data(200, n_features)
    c = weights(len(y)) if weighted else np.ones(len(y))
    model = OnlineExtraTreesRegressor(3, penalty=0.5, random_state=1)
    said = model.partial_fit_predict(X, y, sample_weight=c)
    trees = naive_trees(model)
    expected = naive_forest.predictions(trees, X, y, c)[:, 0]
    assert_allclose(said, expected, rtol=1e-9, atol=1e-9)
    assert_array_equal(model.n_nodes_, [tree.n_nodes for tree in trees])
    assert model.n_nodes_.max() > 3


@engines
def test_all_prunings_one_by_one(engine):
    X, y = data(60, 3)
    y = labels(y, 2)
    model = OnlineExtraTreesClassifier(2, penalty=0.0, random_state=1)
    keywords = {"classes": [0, 1], "method": "predict_proba"}
    said = model.partial_fit_predict(X, y, **keywords)
    trees = naive_trees(model, 2)
    expected = naive_forest.predictions(trees, X, y, np.ones(len(y)), by_pruning=True)
    assert_allclose(said, expected, rtol=1e-12)
    assert max(len([*tree.root.prunings()]) for tree in trees) > 3


@pytest.mark.cases(4)
@pytest.mark.parametrize("kind", ["worst", "turn", "noise"])
@pytest.mark.parametrize(("n_trees", "max_nodes"), [(1, 1000), (3, 9)])
@engines
def test_regret_against_the_best_pruning(kind, n_trees, max_nodes, engine):
    """In hindsight, whatever the labels are; see Notes of the classifier.

    A pruning predicts by its leaf, and before that exists by the node above. The loss
    of a forest is at most the mean of its trees'.
    """
    rng = np.random.default_rng(0)
    X = rng.integers(5, size=(250, 2)).astype(float)
    model = OnlineExtraTreesClassifier(
        n_trees, penalty=0.0, max_nodes=max_nodes, random_state=2
    )
    model.partial_fit(X[:1], [0], classes=[0, 1])
    trees = naive_trees(model, 2, max_nodes=max_nodes)
    for tree in trees:
        tree.learn(X[0].tolist(), 0)
    for n, x in enumerate(X[1:]):
        (p,) = model.predict_proba([x])
        rule = x[0] > 2.0
        y = {"worst": int(np.argmin(p)), "turn": int(rule ^ (n > 120))}.get(
            kind, int(rng.random() < 0.4)
        )
        model.partial_fit([x], [y])
        for tree in trees:
            tree.learn(x.tolist(), y)
    assert_array_equal(model.n_nodes_, [tree.n_nodes for tree in trees])
    assert model.n_nodes_.min() > 1
    # A naive node's weight has the likelihoods of the nodes above, before its birth.
    best = [tree.root.best_pruning() for tree in trees]
    assert model.cumulative_loss_ <= np.mean(best) + 1e-9


# Properties.


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    "increasing", [np.arctan, np.cbrt, lambda X: 2.0**70 * X, lambda X: X / 2.0**70]
)
@estimators
@engines
@seeds
def test_increasing_functions_change_nothing(estimator, seed, increasing, engine):
    """To the last bit, where different values stay different."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-20, 20, size=(150, 5)).astype(float)
    y = X[:, 0] * (X[:, 1] > 3.0) + rng.integers(4, size=150)
    kind = {}
    if is_classifier(estimator()):
        y, kind = labels(y, 3), {"classes": [0, 1, 2], "method": "predict_proba"}
    said = [
        estimator(3, penalty=0.5, random_state=seed).partial_fit_predict(
            rows, y, **kind
        )
        for rows in (X, increasing(X))
    ]
    assert_array_equal(*said)


@engines
def test_several_outputs(engine):
    """Their order does not matter, nor one that never changes."""
    X, y = data(200, 5, 2)

    def said(y):
        model = OnlineExtraTreesRegressor(3, penalty=0.5, random_state=0)
        return model.partial_fit_predict(X, y)

    assert_allclose(said(y[:, ::-1])[:, ::-1], said(y), rtol=1e-9, atol=1e-9)
    with_constant = said(np.column_stack([y[:, 0], np.full(len(y), 0.7)]))
    assert_allclose(with_constant[:, 0], said(y[:, 0]), rtol=1e-12)
    assert_allclose(with_constant[1:, 1], 0.7)


@engines
def test_rows_that_say_nothing_and_rules(engine):
    """Leaves of one label do not try to split; a rule is found at once."""
    X, _ = data()
    model = OnlineExtraTreesClassifier(3, random_state=0)
    model.partial_fit(X, np.ones(len(X), int), classes=[0, 1])
    assert_array_equal(model.n_nodes_, 1)
    assert_array_equal(model._model.memory.state, model._model.memory.seeds)
    model = OnlineExtraTreesRegressor(3, penalty=0.0, random_state=0)
    model.partial_fit(X, np.full((len(X), 2), 0.7))  # whose mean is inexact
    assert_array_equal(model.n_nodes_, 1)
    rng = np.random.default_rng(0)
    X = rng.integers(10, size=(300, 30)).astype(float)
    y = (X[:, 3] > 4.0).astype(int)
    model = OnlineExtraTreesClassifier(10, random_state=0)
    said = model.partial_fit_predict(X, y, classes=[0, 1])
    assert (said != y)[150:].mean() < 0.02


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(
                st.sampled_from([0.0, -1e300, 1e-310, 1.0]), min_size=2, max_size=2
            ),
            st.integers(0, 2),
            st.sampled_from([0.0, 1e-3, 1.0, 1e3]),
        ),
        min_size=30,
        max_size=90,
    )
)
def test_any_rows_and_weights(rows):
    """Probabilities stay probabilities, and the state keeps its invariants."""
    X, y, c = (np.array(each) for each in zip(*rows, strict=True))
    model = OnlineExtraTreesClassifier(2, penalty=0.0, window=20, random_state=0)
    with config_context(engine="numpy"):
        said = model.partial_fit_predict(
            X / 1e250,
            y,
            classes=[0, 1, 2],
            sample_weight=c + (np.arange(len(c)) == 0),
            method="predict_proba",
        )
    assert np.isfinite(said).all()
    assert (said > 0.0).all()
    assert_allclose(said.sum(axis=1), 1.0)
    model._check_state()


@estimators
@engines
def test_merged_leaves_wait_for_the_same_growth(estimator, engine):
    """In units of the mean weight of all rows, which differs from each model's."""
    X, y, kind = stream(estimator)
    models = [
        estimator(2, random_state=k).partial_fit(
            X, y, sample_weight=np.full(len(y), 10.0**k), **kind
        )
        for k in range(2)
    ]
    merged = merge_models(models)._model.memory
    memories = [model._model.memory for model in models]
    for k, n in enumerate(merged.sizes):
        own, place = memories[k // 2], k % 2
        next_try, _, weight, _ = merged.numbers[k, :n].T
        before, _, own_weight, _ = own.numbers[place, :n].T
        assert_allclose(next_try / weight, before / own_weight, rtol=1e-12)
        ratio = merged.errors[k, 0] / weight[0]
        assert ratio == pytest.approx(own.errors[place, 0] / own_weight[0])


@pytest.mark.cases(1)
@estimators
@engines
def test_memory(estimator, engine):
    """As documented: bytes of a node, and of a row of the window."""
    X, y, kind = stream(estimator, n=100)
    model = estimator(2, window=64, random_state=0).partial_fit(X, y, **kind)
    memory = model._model.memory
    of_node = sum(getattr(memory, name)[0, 0].nbytes for name in memory._BY_NODE)
    assert of_node == (3 * 8 + 68 if kind else 24 + 52)
    assert memory.recent.rows.nbytes == 64 * 8 * X.shape[1]
    assert memory.gaps.nbytes == 64 * 4 * 2


def other_leaf(memory):
    memory.gaps[0, 5] += 1


def no_way_back(memory):
    memory.gaps[0, 5] = 0


def other_last_row(memory):
    leaf = np.flatnonzero(memory.links[0, :, 0] < 0)[0]
    memory.numbers[0, leaf, 3] -= 1


def no_last_row(memory):
    memory.numbers[0, 0, 3] = np.nan


def other_class(memory):
    memory.recent.n_classes, memory.recent.targets[0] = 9, 8.0


def no_targets(memory):
    memory.recent.targets = memory.recent.targets[:, :0]


def no_shares(memory):
    memory.shares = memory.shares[..., :0]


def endless_window(memory):
    memory.recent.window = 2**50
    memory.recent.n_rows[0] = 2**50


def circle_beside_the_root(memory):
    """Nodes 0 and 1 are above each other, and the root is node 4."""
    memory.place[0, :2] = 4, 5
    memory.links[0, :4, :3] = [1, 2, 1], [0, 3, 0], [-1, -1, 0], [-1, -1, 1]
    memory.links[0, 4, :3] = -1
    memory.links[0, :5, 3] = 0, 0, -1, -1, -1


@pytest.mark.parametrize(
    ("damage", "statement"),
    [
        (other_leaf, "rows are in their leaves"),
        (no_way_back, "gaps are positive"),
        (other_last_row, "leaves know their last rows"),
        (no_last_row, "numbers of rows are not negative"),
        (other_class, "rows of the window have the classes"),
        (no_targets, "targets"),
        (no_shares, "shares"),
        (endless_window, "rows"),
        (circle_beside_the_root, "leaves know their last rows"),
    ],
)
@engines
def test_damage_is_found(damage, statement, engine):
    X, y, kind = stream(OnlineExtraTreesClassifier)
    model = OnlineExtraTreesClassifier(2, penalty=0.0, random_state=0)
    model.partial_fit(X, y, **kind)
    assert model.n_nodes_.min() >= 5
    damage(model._model.memory)
    with pytest.raises(AssertionError, match=f"expected that {statement}"):
        model._check_state()


@pytest.mark.slow
def test_wide_rows_have_extra_trees():
    """Unlike experts whose rows cost more with each feature."""
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(200, 300)).astype(float)
    y = (X[:, 7] > 0.0).astype(int)
    model = HedgeClassifier().partial_fit(X, y, classes=[0, 1])
    assert {"extra-trees", "extra-trees-recent"} <= {*model.named_estimators_}
