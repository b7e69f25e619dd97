"""Running shares of labels: a baseline, and an expert of mixtures."""

from copy import deepcopy
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from support.comparisons import assert_identical
from support.local import weights
from support.naive import relative_to_means
from support.registry import seeds

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    config_context,
    merge_models,
)
from sklearn_scinol.baselines import LastLabelClassifier
from sklearn_scinol.mixtures import default_experts
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder


def stream(n=80, n_classes=3, seed=0):
    """Rows, and labels of which many come again."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    stays = rng.random(n) < 0.7
    for r in np.flatnonzero(stays[1:]) + 1:
        y[r] = y[r - 1]
    return rng.normal(size=(n, 4)), y


def probabilities(X, y, c=None, **parameters):
    """Learn a stream; return the model, and its probabilities before each row."""
    model = LastLabelClassifier(**parameters)
    knows = y.ndim == 1 and "new_classes" not in parameters
    keywords = {"classes": np.arange(y.max() + 1)} if knows else {}
    said = model.partial_fit_predict(
        X, y, sample_weight=c, method="predict_proba", **keywords
    )
    return model, said


# Formulas.


def shares(y, c, classes, forgetting, prior=0.5):
    """Probabilities before each row, in fractions, by weights that fall with age.

    All classes together have a prior.
    """
    kept, rows, found = 1 - Fraction(forgetting), [], []
    for label, weight in zip(y.tolist(), relative_to_means(c), strict=True):
        counts = dict.fromkeys(classes, Fraction(prior) / len(classes))
        for age, (known, c_row) in enumerate(reversed(rows)):
            counts[known] += kept**age * c_row
        found.append([float(n / sum(counts.values())) for n in counts.values()])
        if weight > 0.0:
            rows.append((label, Fraction(weight)))
    return np.array(found)


@pytest.mark.parametrize("forgetting", [0.95, 0.5, 0.0, 1.0])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dirichlet", [None, 5e-4])
@pytest.mark.parametrize("weighted", [False, True])
def test_shares_by_their_definition(forgetting, n_classes, dirichlet, weighted, engine):
    X, y = stream(n_classes=n_classes)
    c = weights(len(y)) if weighted else np.ones(len(y))
    c[5::9] = 0.0
    parameters = {"forgetting": forgetting, "dirichlet": dirichlet}
    model, said = probabilities(X, y, c, **parameters)
    prior = n_classes * (dirichlet or 0.5 / n_classes)
    of_rows = shares(y, c, range(n_classes), forgetting, prior)
    assert_allclose(said, of_rows, rtol=1e-11)
    losses = -np.log(of_rows[np.arange(len(y)), y])
    assert model.cumulative_loss_ == pytest.approx(losses @ c)
    assert model.n_samples_seen_ == np.count_nonzero(c)


def test_labels_of_a_row_are_alone(engine):
    X, y = stream()
    Y, c = (y[:, np.newaxis] == [0, 1, 2]).astype(int), weights(len(y))
    _, said = probabilities(X, Y, c)
    for k, of_label in enumerate(Y.T):
        _, alone = probabilities(X, of_label, c)
        assert_array_equal(said[:, k], alone[:, 1])


def test_classes_that_come_later(engine):
    X, y = stream(n_classes=5)
    names = np.array(list("dbeca"))[y]
    model, said = probabilities(X, names, new_classes="add")
    start = np.flatnonzero(y != y[0])[0]  # rows of a single class are not learned
    for r in range(start, len(y), 5):
        known = sorted({*names[: r + 1]})
        columns = np.searchsorted(model.classes_, known)
        ones = np.ones(r + 1 - start)
        expected = shares(names[start : r + 1], ones, known, 0.95)[-1]
        assert_allclose(said[r, columns], expected, rtol=1e-11)


# Invariances.


@seeds
def test_features_do_not_matter(seed, engine):
    X, y = stream(seed=seed)
    model, said = probabilities(X, y)
    columns = np.random.default_rng(seed).integers(1_000_000, size=len(y))
    wide = sparse.csr_array(
        (y + 1.0, (np.arange(len(y)), columns)), (len(y), 1_000_000)
    )
    for rows in np.zeros((len(y), 1)), 1e300 * X, np.asfortranarray(X), wide:
        other, same = probabilities(rows, y)
        assert_array_equal(same, said)
        assert_identical(other._model.counts, model._model.counts)
        assert_array_equal(other.predict(rows[:3]), model.predict(X[:3]))


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.floats(-40.0, 40.0)), min_size=1, max_size=30
    ),
    forgetting=st.floats(0.0, 1.0),
)
def test_any_weights(rows, forgetting):
    """Weights up to 80 powers of ten apart give probabilities above their least."""
    y, powers = map(np.array, zip(*rows, strict=True))
    X, c = np.zeros((len(y), 1)), 10.0**powers
    with config_context(engine="numpy"):
        said, in_other_units = (
            LastLabelClassifier(forgetting=forgetting).partial_fit_predict(
                X, y, classes=range(4), sample_weight=each, method="predict_proba"
            )
            for each in (c, 8.0 * c)
        )
    assert_array_equal(in_other_units, said)
    assert said.min() > 0.0
    assert_allclose(said.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(said, shares(y, c, range(4), forgetting), rtol=1e-9, atol=1e-12)


# Labels that come late, and labels of models that are merged.


def test_merged_shares_are_means_by_rows(engine):
    X, y = stream()
    start = LastLabelClassifier().partial_fit(X[:9], y[:9], classes=range(3))
    parts = []
    for rows in slice(9, 39), slice(39, 49):
        parts.append(deepcopy(start).partial_fit(X[rows], y[rows]))
    merged = merge_models(parts, start=start)
    means = [part._model.counts for part in parts]
    assert_allclose(merged._model.counts, 0.75 * means[0] + 0.25 * means[1])
    assert merged.n_samples_seen_ == 49
    merged._check_state()
    merged.partial_fit(X[49:], y[49:])


# In mixtures.


def test_it_is_in_mixtures_of_all_rows_once():
    X, y = stream()
    mixture = HedgeClassifier(exclude=["forest", "extra_trees", "random_features"])
    for rows in X, sparse.csr_array(X), np.hstack([X] * 40):
        model = clone(mixture).partial_fit(rows, y, classes=range(3))
        assert model.expert_kinds_["last_label"] == "last-label"
        alone = LastLabelClassifier(dirichlet=5e-4)
        alone.partial_fit(X, y, classes=range(3))
        own = model.named_estimators_["last-label"]
        assert_identical(own._model.counts, alone._model.counts)
        assert own.cumulative_loss_ == alone.cumulative_loss_
    table = [{"x": float(x), "kind": "ab"[int(x > 0)]} for x in X[:, 0]]
    pipeline = make_online_pipeline(TableEncoder(), clone(mixture))
    model = pipeline.partial_fit(table, y, classes=range(3))[-1]
    assert model.expert_kinds_["sparse rows, last_label"] == "last-label"
    reason = "none: the sparse rows have it"
    assert model.expert_kinds_["dense view, last_label"] == reason
    numbers = HedgeRegressor().partial_fit(X, y)
    assert "last_label" not in numbers.expert_kinds_


@pytest.mark.parametrize("engine", ["uncompiled"], indirect=True)
def test_sessions_learn_rows_of_all_kinds(engine):
    """Beside models that skip zeros, and those that do not, or alone."""
    X, y = stream(40)
    X[:, 1:][X[:, 1:] < 0.5] = 0.0
    last = ("last", LastLabelClassifier())
    mixtures = (
        HedgeClassifier(exclude=["second_order"]),
        HedgeClassifier([last, ("scinol", ScInOLClassifier())]),
        HedgeClassifier([last]),
        LastLabelClassifier(),
    )
    for model, container in product(mixtures, [np.array, sparse.csr_array]):
        model.partial_fit(container(X[:20]), y[:20], classes=range(3))
        rows, whole = model.row_by_row(), deepcopy(model)
        for x, label in zip(X[20:], y[20:], strict=True):
            filled = np.flatnonzero(x)
            rows.learn_one((filled, x[filled]), label)
        assert any(rows._sessions.values())
        whole.partial_fit(sparse.csr_array(X[20:]), y[20:])
        assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
        assert model.cumulative_loss_ == whole.cumulative_loss_


@pytest.mark.slow
def test_a_mixture_knows_labels_that_take_turns():
    """No expert of features can: they are noise."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), np.arange(400) % 3
    losses, others = [], {*default_experts.KINDS} - {"last_label", "second_order"}
    for exclude in others, others | {"last_label"}:
        model = HedgeClassifier(exclude=[*exclude])
        model.partial_fit(X, y, classes=range(3))
        best = model.expert_losses_.min()
        assert model.cumulative_loss_ <= best + model.regret_bound()
        losses.append(model.cumulative_loss_)
    assert losses[0] < 0.2 * losses[1]
