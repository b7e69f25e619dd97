"""Trees that split where labels differ."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier
from support import naive_extra_tree, naive_forest
from support.local import data, labels, stream, weights
from support.registry import EXTRA_TREES, seeds

from sklearn_scinol import (
    OnlineExtraTreesClassifier,
    OnlineExtraTreesRegressor,
    config_context,
    merge_models,
)

estimators = pytest.mark.parametrize("estimator", EXTRA_TREES)


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


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("n_classes", "n_features", "options"),
    [
        *product([2, 4], [7], [{}, {"window": 30}, {"max_nodes": 6}]),
        (0, 1, {}),
        (0, 6, {}),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_reference(n_classes, n_features, options, weighted, engine):
    """Of classes, or of numbers."""
    X, y = data(150, n_features)
    c = weights(len(y)) if weighted else np.ones(len(y))
    options = {"penalty": 0.5, "random_state": 1, **options}
    if n_classes:
        y = labels(y, n_classes)
        model = OnlineExtraTreesClassifier(3, **options)
        kind = {"classes": range(n_classes), "method": "predict_proba"}
    else:
        model, kind = OnlineExtraTreesRegressor(3, **options), {}
    said = model.partial_fit_predict(X, y, sample_weight=c, **kind)
    bound = {name: v for name, v in options.items() if name == "max_nodes"}
    trees = naive_trees(model, n_classes, **bound)
    expected = naive_forest.predictions(trees, X, y, c)
    if n_classes:
        assert_allclose(said, expected, rtol=1e-10)
        losses = -np.log(said[np.arange(len(y)), y])
        assert model.cumulative_loss_ == pytest.approx(losses @ c)
    else:
        assert_allclose(said, expected[:, 0], rtol=1e-9, atol=1e-9)
    assert_array_equal(model.n_nodes_, [tree.n_nodes for tree in trees])
    assert model.n_nodes_.max() > 3
    model._check_state()


@pytest.mark.cases(4)
@pytest.mark.parametrize("kind", ["worst", "turn", "noise"])
@pytest.mark.parametrize(("n_trees", "max_nodes"), [(1, 1000), (3, 9)])
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


def other_class(memory):
    memory.recent.n_classes, memory.recent.targets[0] = 9, 8.0


def endless_window(memory):
    memory.recent.window = 2**50
    memory.recent.n_rows[0] = 2**50


def emptied(part, name):
    setattr(part, name, getattr(part, name)[..., :0])


def circle_beside_the_root(memory):
    """Nodes 0 and 1 are above each other, and the root is node 4."""
    memory.place[0, :2] = 4, 5
    memory.links[0, :4, :3] = [1, 2, 1], [0, 3, 0], [-1, -1, 0], [-1, -1, 1]
    memory.links[0, 4, :3] = -1
    memory.links[0, :5, 3] = 0, 0, -1, -1, -1


DAMAGE = [
    (lambda m: m.gaps[0, 5:6].__iadd__(1), "rows are in their leaves"),
    (lambda m: m.gaps[0, 5:6].fill(0), "gaps are positive"),
    (
        lambda m: m.numbers[0, :, 3].__isub__(m.links[0, :, 0] < 0),
        "leaves know their last rows",
    ),
    (lambda m: m.numbers[0, 0, 3:].fill(np.nan), "numbers of rows are not negative"),
    (other_class, "rows of the window have the classes"),
    (lambda m: emptied(m.recent, "targets"), "targets"),
    (lambda m: emptied(m, "shares"), "shares"),
    (endless_window, "rows"),
    (circle_beside_the_root, "leaves know their last rows"),
]


@pytest.mark.parametrize(("damage", "statement"), DAMAGE)
def test_damage_is_found(damage, statement, engine):
    X, y, kind = stream(OnlineExtraTreesClassifier)
    model = OnlineExtraTreesClassifier(2, penalty=0.0, random_state=0)
    model.partial_fit(X, y, **kind)
    assert model.n_nodes_.min() >= 5
    damage(model._model.memory)
    with pytest.raises(AssertionError, match=f"expected that {statement}"):
        model._check_state()
