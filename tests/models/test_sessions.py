"""Chunks that are learned by sessions leave what the long way leaves, bitwise."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import count, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from support.comparisons import assert_identical
from support.kinds import KINDS
from support.registry import THOROUGH

from sklearn_scinol import (
    AdaImplicitClassifier,
    AdaImplicitRegressor,
    HedgeClassifier,
    HedgeRegressor,
    MondrianForestClassifier,
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
)
from sklearn_scinol._locks import Locks, locks_of
from sklearn_scinol.mixtures.mixture_model import MixtureModel
from sklearn_scinol.models import session as sessions
from sklearn_scinol.models.session import Session
from sklearn_scinol.models.transformed import TransformsRows

#: Sizes of chunks in turn: those that come again, and single rows.
SIZES = [12, 7, 7, 7, 1, 1, 7, 40, 40, 3, 40, 7, 1, 7, 1]


CALLS = "learn", "learn_one", "keep", "learn_kept", "predict", "predict_one"

#: Estimators whose arrays are replaced for rows of another form, or for large weights.
IN_ANY_ORDER = [
    ScInOLClassifier(center=False),
    AdaImplicitClassifier(center=False, scale=True),
    HedgeRegressor([("a", ScInOLRegressor()), ("b", AdaImplicitRegressor())]),
]


@pytest.fixture
def learned(monkeypatch):
    """Counts the chunks that sessions have learned."""
    counter, learn = count(), Session.learn

    def learn_and_count(session, estimator):
        has_learned = learn(session, estimator)
        if has_learned:
            next(counter)
        return has_learned

    monkeypatch.setattr(Session, "learn", learn_and_count)
    return lambda: next(copy.copy(counter))


def stream(kind, seed=0):
    rng = np.random.default_rng(seed)
    n = sum(SIZES)
    X = rng.normal(size=(n, 3)) * [1e-3, 1.0, 100.0]
    noisy = X / [1e-3, 1.0, 100.0] + rng.normal(size=(n, 3))
    if kind.n_labels:
        return X, (noisy[:, : kind.n_labels] > 0.0).astype(int), {}
    if not is_classifier(kind.estimator):
        return X, noisy[:, : kind.n_outputs].squeeze(), {}
    n_classes = max(kind.n_outputs, 2)
    y = noisy[:, :n_classes].argmax(axis=1)
    return X, y, {"classes": np.arange(n_classes)}


def chunks(*arrays):
    """Cut arrays into chunks of `SIZES`."""
    ends = np.cumsum(SIZES)[:-1]
    return zip(*(np.split(array, ends) for array in arrays), strict=True)


def learn_all(model, X, y, c, classes):
    """Learn chunk by chunk; return predictions before each row."""
    method = "decision_function" if is_classifier(model) else "predict"
    return np.concatenate(
        [
            model.partial_fit_predict(
                *rows, sample_weight=weights, method=method, **classes
            )
            for *rows, weights in chunks(X, y, c)
        ]
    )


LINEAR = [
    name
    for name, kind in KINDS.items()
    if kind.container is np.array
    and not hasattr(kind.estimator, "steps")
    and not hasattr(kind.estimator, "estimator")
    and "kernel" not in name
    and "class_weight" not in str(kind.estimator)
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("engine", ["uncompiled"], indirect=True)
def test_every_kind_of_model(name, weighted, engine, learned, monkeypatch):
    kind = KINDS[name]
    X, y, classes = stream(kind)
    c = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(X))
    c = c if weighted else np.ones(len(X))
    by_sessions, directly = clone(kind.estimator), clone(kind.estimator)
    said = learn_all(by_sessions, X, y, c, classes)
    n_learned = learned()
    with monkeypatch.context() as patch:
        patch.setattr(sessions, "MAX_ROWS", 0)
        expected = learn_all(directly, X, y, c, classes)
    assert learned() == n_learned
    assert_identical(said, expected)
    assert_identical(vars(by_sessions), vars(directly))
    if getattr(kind.estimator, "clip_ratio", None) is None:
        assert n_learned > 0


def call_in_any_order(model, seed, monkeypatch):
    """Learn and predict chunks and single rows, dense and sparse; return the model."""
    rng = np.random.default_rng(seed)
    d = rng.choice([1, 5])
    X = rng.normal(size=(80, d)) * (rng.random((80, d)) < 0.5)
    y = rng.integers(2, size=80)
    c = rng.choice([0.0, 0.5, 1.0, 3.0, 20.0], 80) if seed % 2 else np.ones(80)
    classes = {"classes": [0, 1]} if is_classifier(model) else {}
    model.partial_fit(X[:3], y[:3], **classes)
    rows = model.row_by_row()
    late, waiting = rows.with_late_labels(), []

    def predict(locks):  # as another thread, between two blocks of a chunk
        with locks.open_to_readers():
            rows.predict_one(X[0])

    monkeypatch.setattr(Locks, "give_way", predict)
    i = 3
    while i < 70:
        what, n, is_sparse = rng.choice(CALLS), rng.choice([1, 1, 5]), rng.integers(2)
        n = n if what == "learn" else 1
        chunk, x, label, weight = X[i : i + n], X[i], y[i], c[i]
        if is_sparse:
            chunk = sparse.csr_array(chunk)
            x = np.flatnonzero(x), x[np.flatnonzero(x)]
        if what == "learn":
            locks_of(model).is_wanted = True
            model.partial_fit(chunk, y[i : i + n], sample_weight=c[i : i + n])
        elif what == "learn_one":
            rows.learn_one(x, label, weight)
        elif what == "keep":
            late.predict_one(x, i)
            waiting.append((i, label, weight))
        elif what == "learn_kept" and waiting:
            late.learn_one(*waiting.pop(0))
        elif what == "predict":
            model.predict(chunk)
        elif what == "predict_one":
            rows.predict_one(x)
        i += n * (what in ("learn", "learn_one", "keep"))
    return model


@pytest.mark.parametrize("engine", ["uncompiled"], indirect=True)
@pytest.mark.parametrize("estimator", IN_ANY_ORDER)
def test_calls_in_any_order(as_users_run, estimator, engine, monkeypatch):
    """Sessions see arrays that other calls have replaced, between two or within one."""
    for seed in range(20 if THOROUGH else 6):
        by_sessions = call_in_any_order(clone(estimator), seed, monkeypatch)
        with monkeypatch.context() as patch:
            for kind in TransformsRows, MixtureModel:
                patch.setattr(kind, "session_type", None)
            expected = call_in_any_order(clone(estimator), seed, monkeypatch)
        assert_identical(vars(by_sessions), vars(expected))


@pytest.mark.parametrize("engine", ["numba"], indirect=True)
@pytest.mark.parametrize("mixture", [HedgeClassifier(), HedgeRegressor()])
def test_default_mixtures(as_users_run, mixture, engine, learned, monkeypatch):
    """Compiled, from the first row until bins are known, trees and windows grow."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1400, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=1400)
    classes = {"classes": [0, 1]} if is_classifier(mixture) else {}
    y = (y > 0.0).astype(int) if classes else y
    by_sessions, directly = clone(mixture), clone(mixture)
    cuts = [*range(0, 100, 20), *range(100, 1100, 100), *range(1100, 1401, 20)]
    for start, stop in pairwise(cuts):
        rows = X[start:stop], y[start:stop]
        by_sessions.partial_fit(*rows, **classes)
        with monkeypatch.context() as patch:
            patch.setattr(sessions, "MAX_ROWS", 0)
            directly.partial_fit(*rows, **classes)
    assert learned() > 8
    assert_identical(vars(by_sessions), vars(directly))


@pytest.mark.parametrize("engine", ["numba"], indirect=True)
@pytest.mark.parametrize("mixture", [HedgeClassifier(), HedgeRegressor()])
def test_default_mixtures_on_both_engines(as_users_run, mixture, engine):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(2, 150, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=150)
    classes = {"classes": [False, True]} if is_classifier(mixture) else {}
    y = y > 0.0 if classes else y
    compiled, expected = clone(mixture), clone(mixture)
    compiled.partial_fit(X, y, **classes)
    with config_context(engine="numpy"):
        expected.partial_fit(X, y, **classes)
    method = "predict_proba" if classes else "predict"
    said = [getattr(model, method)(new) for model in (compiled, expected)]
    assert_allclose(*said, rtol=1e-9)


def fitted(mixture=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(140, 4))
    mixture = HedgeClassifier() if mixture is None else mixture
    return mixture.partial_fit(X, X[:, 0] > 0.0, classes=[False, True]), X


def test_few_rows_are_predicted_alike(engine, monkeypatch):
    """By a model and its copies to the last bit, and as many rows to 1e-12."""
    model, X = fitted()
    before = copy.deepcopy(model)
    few = [model.predict_proba(X[:n]) for n in (1, 5, 17, 32, 5)]
    assert_identical(vars(model), vars(before))
    for each in model, before, pickle.loads(pickle.dumps(before)):
        for n, said in zip((1, 5, 17, 32, 5), few, strict=True):
            assert_array_equal(each.predict_proba(X[:n]), said)
    assert_allclose(few[3], model.predict_proba(X)[:32], rtol=1e-12, atol=1e-15)
    monkeypatch.setattr(sessions, "MAX_PREDICTED", 0)
    assert_allclose(few[3], model.predict_proba(X[:32]), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("engine", ["uncompiled"], indirect=True)
def test_rows_after_the_first_with_weights_in_any_order(engine):
    """The unit of a wealth is known after two rows: it may grow within a chunk."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, c = rng.normal(size=(5, 3)), rng.exponential(size=5)
        y = np.array([0, 1, 0, 0, 1])
        mixture = HedgeClassifier([("scinol", ScInOLClassifier())])
        mixture.partial_fit(X[:1], y[:1], classes=[0, 1], sample_weight=c[:1])
        expected = copy.deepcopy(mixture)
        mixture.predict(X[1:])  # by a session, which learns the same number of rows
        for model in mixture, expected:
            model.partial_fit(X[1:], y[1:], sample_weight=c[1:])
        actual, expected = (each.decision_function(X) for each in (mixture, expected))
        assert_array_equal(actual, expected)


@pytest.mark.parametrize("engine", ["numba"], indirect=True)
def test_threads_predict_few_rows(engine):
    model, X = fitted()

    def predict(n):
        with config_context(engine=engine):
            return model.predict_proba(X[n : n + 5])

    expected = [*map(predict, range(40))]
    with ThreadPoolExecutor(4) as pool:
        for said, own in zip(pool.map(predict, range(40)), expected, strict=True):
            assert_array_equal(said, own)


@pytest.mark.parametrize("engine", ["uncompiled"], indirect=True)
def test_rows_that_need_other_calls(engine, learned):
    """New features and huge values go the long way, rows of weight 0 do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:40, 2] = 0.0
    X[50, 1] = 1e35
    y, c = X[:, 0] > 0.0, np.ones(60)
    c[33] = 0.0
    model, whole = ScInOLClassifier(), ScInOLClassifier()
    counts = []
    for start in range(0, 60, 10):
        rows = slice(start, start + 10)
        model.partial_fit(X[rows], y[rows], [False, True], c[rows])
        counts.append(learned())
    assert np.diff([0, *counts]).tolist() == [0, 0, 1, 1, 0, 0]
    whole.partial_fit(X, y, [False, True], c)
    assert_identical(vars(model._model), vars(whole._model))


@pytest.mark.parametrize("engine", ["numba"], indirect=True)
def test_few_sessions_are_kept(engine):
    model, X = fitted()
    for n in range(1, 20):
        for _ in range(2):
            model.partial_fit(X[:n], X[:n, 0] > 0.0)
    assert 0 < len(model._model._sessions) <= sessions.MAX_SESSIONS
    assert "_sessions" not in pickle.loads(pickle.dumps(model))._model.__getstate__()


@pytest.mark.parametrize("engine", ["uncompiled"], indirect=True)
def test_forests_that_grow_have_sessions(engine, learned):
    """Chunks that trees have no room for are learned otherwise, to the last bit."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = X[:, 0] > X[:, 1]
    model, whole = (MondrianForestClassifier(2, random_state=0) for _ in range(2))
    for start in range(0, 300, 10):
        rows = slice(start, start + 10)
        model.partial_fit(X[rows], y[rows], [False, True])
    whole.partial_fit(X, y, [False, True])
    assert_identical(vars(model._model), vars(whole._model))
    assert 20 < learned() < 28
