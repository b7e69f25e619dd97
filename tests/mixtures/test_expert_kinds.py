"""Kinds of experts that mixtures report, and reasons why some are not there."""

import logging

import numpy as np
import pytest
from scipy import sparse
from support.tables import KINDS, table

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineKNeighborsRegressor,
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    ScInOLClassifier,
)
from sklearn_scinol.mixtures import default_experts, mixture_estimator
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder


def rows(n_features=3, n=12):
    X = np.random.default_rng(0).normal(size=(n, n_features))
    return X, X[:, 0] > 0


def kinds_of(X, y, **parameters):
    model = HedgeClassifier(**parameters).partial_fit(X, y, classes=[False, True])
    named = {name for value in model.expert_kinds_.values() for name in names(value)}
    assert named == {*model.named_estimators_}
    return model.expert_kinds_


def names(value):
    has_names = not value.startswith(("none: ", "of "))
    return value.split(", ") if has_names else []


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("kind", "reason", "n_features", "parameters"),
    [
        ("additive", "excluded", 3, {"exclude": ["additive"]}),
        ("additive", "more than 64 features", 65, {}),
        ("additive", "the slope of the loss", 3, {"loss": "squared_hinge"}),
        ("second_order", "more than 256 features", 257, {}),
        ("second_order", "excluded", 3, {"exclude": "second_order"}),
        ("random_features", "more than 4096 features", 4097, {}),
        ("neighbors", "more than 4096 features", 4097, {}),
        ("neighbors", "they are of use in pools only", 3, {"exclude": ("pools",)}),
        ("pools", "excluded", 3, {"exclude": ("pools",)}),
        ("pools", "the loss has no probabilities", 3, {"loss": "hinge"}),
    ],
)
def test_reasons(kind, reason, n_features, parameters):
    found = kinds_of(*rows(n_features), **parameters)
    assert found[kind].startswith(f"none: {reason}")


def test_wide_rows():
    X, y = rows(129)
    found = kinds_of(X, y)
    assert found["second_order"] == "newton"
    assert found["extra_trees"] == "extra-trees, extra-trees-recent"
    found = kinds_of(sparse.csr_array(X), y)
    assert found["second_order"] == "none: more than 128 features"
    X, y = rows(65)
    found = kinds_of(X, y)
    assert found["second_order"] == "newton-forgetting-0.003, newton-forgetting-0.02"
    assert found["random_features"] == "fourier-0.5-wide"
    assert found["neighbors"] == "neighbors-1, neighbors-3, neighbors-10"
    found = HedgeRegressor().partial_fit(X, y).expert_kinds_
    assert found["random_features"] == "none: more than 64 features"


@pytest.mark.parametrize("exclude", ["forrest", ["forrest"], ("pools", 3)])
def test_unknown_kinds(exclude):
    words = "'exclude' parameter of HedgeClassifier must have names among .*'pools'"
    with pytest.raises(ValueError, match=words):
        kinds_of(*rows(3), exclude=exclude)


@pytest.mark.slow
def test_epochs_have_neighbors_among_all_rows(monkeypatch):
    """Seen before: the last 1,000 rows of the first epoch, and the held-out ones."""
    monkeypatch.setattr(mixture_estimator, "N_REPEATS", 0)  # which take long
    X, y = rows(n=1500)[0], np.random.default_rng(1).integers(0, 2, 1500)
    others = [*({*default_experts.KINDS} - {"neighbors"})]

    def fitted(**parameters):
        model = HedgeClassifier(exclude=others, tol=None, random_state=0, **parameters)
        return model.fit(X, y)

    def found(model):
        """Share of the rows that find themselves, which were learned."""
        return np.mean(model.named_estimators_["neighbors-1"].predict(X) == y)

    assert found(fitted(max_iter=2)) > 0.95
    assert found(fitted(max_iter=1)) < 0.9  # as of `partial_fit`
    monkeypatch.setattr(default_experts, "MAX_STORED", 1000)
    assert found(fitted(max_iter=2)) < 0.9


def test_given_neighbors_keep_their_window():
    X, y = rows(n=40)
    nearest = OnlineKNeighborsRegressor(window=20)
    model = HedgeRegressor([("nearest", nearest)], max_iter=2, tol=None).fit(X, y)
    assert model.estimators_[0].window == 20


def test_two_views(caplog):
    model = make_online_pipeline(TableEncoder(kinds=KINDS), HedgeRegressor())
    with caplog.at_level(logging.INFO, "sklearn_scinol"):
        model.partial_fit(table(12), np.arange(12.0))
    kinds = model[-1].expert_kinds_
    names = "dense-newton-forgetting-0.003, dense-newton-forgetting-0.02"
    assert kinds["dense view, second_order"] == names
    assert kinds["sparse rows, additive"] == "none: rows are sparse"
    n_experts = len(model[-1].estimators_)
    line = f"HedgeRegressor has {n_experts} experts, without neighbors, forest and"
    assert line in caplog.text


def test_given_experts_are_named():
    experts = [("first", ScInOLClassifier()), ("second", OnlineNewtonClassifier())]
    model = HedgeClassifier(experts).partial_fit(*rows(), classes=[False, True])
    assert model.expert_kinds_ == {"given": "first, second", "pools": "of 2 experts"}


def test_too_many_features_are_one_sentence():
    """Before anything is allocated."""
    encoder = TableEncoder(sparse_output=True)
    model = make_online_pipeline(encoder, ScInOLClassifier(additive=True))
    words = "^additive=True is for up to 16,384 features, and X has 26[0-9],[0-9]*\\.$"
    with pytest.raises(ValueError, match=words):
        model.partial_fit(*rows(), classes=[False, True])
    assert not model[-1].__sklearn_is_fitted__()


def test_skewed_features_with_the_squared_error():
    """An expert without clipping learns linear functions of them."""
    X = np.exp(np.random.default_rng(0).normal(size=(800, 3)))
    y = X[:, 0] + 2 * X[:, 1] - X[:, 2]
    others = [*({*default_experts.KINDS} - {"second_order"})]
    mixture = HedgeRegressor(loss="squared_error", exclude=others)
    errors = [
        np.mean((model.partial_fit_predict(X, y) - y)[400:] ** 2)
        for model in (mixture, OnlineNewtonRegressor())
    ]
    assert errors[0] < 0.3 * errors[1]
