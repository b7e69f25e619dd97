"""The second level of mixtures: log-linear pools, against references and promises."""

import copy
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.comparisons import assert_close
from support.experts import EXPERTS
from support.naive_late import LateClasses, LateNumbers, floats
from support.sums import linear

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineNewtonClassifier,
    config_context,
    merge_models,
)
from sklearn_scinol import losses as package_losses
from sklearn_scinol._shards import Shards
from sklearn_scinol.baselines import BaselineClassifier
from sklearn_scinol.blocks import Block, RowWeights
from sklearn_scinol.config import current_engine
from sklearn_scinol.models.pool import PoolModel


def stream(loss, n_outputs, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(n, 4)) + np.array([0.0, 1.0, -3.0, 0.0])
    y = linear(10.0 * X, rng.normal(size=(4, n_outputs))) + rng.normal(
        size=(n, n_outputs)
    )
    if loss == "log_loss":
        y = y.argmax(axis=1) if n_outputs > 1 else 1 * (y[:, 0] > y.mean())
    return X, (y[:, 0] if y.ndim == 2 and n_outputs == 1 else y)


def weights_of_rows(n):
    c = np.random.default_rng(2).exponential(size=n)
    c[::7] = 0.0
    return c


def charged(model, X, y, c, **method):
    classifies = isinstance(model, HedgeClassifier)
    method = {"method": "predict_log_proba"} if classifies else {}
    if classifies:
        method["classes"] = np.arange(max(y.max() + 1, 2))
    return model.partial_fit_predict(X, y, sample_weight=c, **method)


@pytest.mark.cases(3)
@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weighted"])
@pytest.mark.parametrize(
    ("loss", "n_outputs"),
    [("log_loss", 1), ("log_loss", 3), ("absolute_error", 1), ("squared_error", 1)],
)
def test_agrees_with_reference(loss, n_outputs, weighted, engine):
    X, y = stream(loss, n_outputs)
    c = weights_of_rows(len(y)) if weighted else np.ones(len(y))
    classifies = loss == "log_loss"
    make = partial(HedgeClassifier if classifies else HedgeRegressor, loss=loss)
    experts = [
        (name, clone(each).set_params(loss=loss)) for name, each in EXPERTS[classifies]
    ]
    alone = [make([expert], exclude=["pools"]) for expert in experts]
    said = np.array([charged(each, X, y, c) for each in alone])
    reference = LateNumbers(3, loss)
    if classifies:
        reference = LateClasses(3, max(n_outputs, 2))
    expected = []
    for r, (y_r, c_r) in enumerate(zip(y, c, strict=True)):
        served = reference.serve(said[:, r], c_r)
        expected.append(served["answer"])
        if c_r > 0:
            reference.learn(served, y_r, c_r)
    model = make(experts)
    assert_close(charged(model, X, y, c), expected, 1e-9)
    assert_allclose(model.weights_, floats(reference.hedge.weights()), rtol=1e-9)
    assert_allclose(model.cumulative_loss_, reference.total, rtol=1e-9)
    assert_allclose(model.pool_weights_.sum(), 1.0)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile"])
def test_engines_agree_on_several_outputs(loss):
    """Of a chunk, the targets of an output are not side by side in memory."""
    pytest.importorskip("numba")
    X, y = stream("absolute_error", 2)
    model = HedgeRegressor(EXPERTS[False], loss=loss)
    if loss == "quantile":
        model, y = model.set_params(quantile=[0.1, 0.9]), y[:, 0]
    said = []
    for name in "numpy", "numba":
        with config_context(engine=name):
            said.append(clone(model).partial_fit_predict(X, y))
    assert_close(*said, 1e-9)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_predictions_of_experts_who_are_too_sure(n_outputs, engine):
    """Their log odds are limited in learning and in predicting alike."""
    X, y = stream("log_loss", n_outputs, n=60)
    wild = BaselineClassifier("sgd", learning_rate=100.0)
    model = HedgeClassifier([*EXPERTS[True], ("wild", wild)])
    classes = np.arange(max(n_outputs, 2))
    model.partial_fit(X[:30], y[:30], classes=classes)
    assert np.abs(model.named_estimators_["wild"].decision_function(X)).max() > 20
    for r in range(30, 60):
        expected = model.decision_function(X[r : r + 1])
        said = model.partial_fit_predict(
            X[r : r + 1], y[r : r + 1], method="decision_function"
        )
        assert_allclose(said, expected, rtol=1e-9, atol=1e-12)


def test_weights_of_levels_and_pools(engine):
    X, y = stream("log_loss", 1)
    model = HedgeClassifier(EXPERTS[True]).partial_fit(X, y, classes=[0, 1])
    points, curve = model.pool_weights_curve_
    assert_array_equal(points, model.weights_curve_[0])
    assert curve.shape == (len(points), 4)
    assert_allclose(curve[0], [0.5, 1 / 6, 1 / 6, 1 / 6])
    assert_array_equal(curve[-1], model.pool_weights_)
    assert model.pool_coef_.shape == (3, 4)
    X, y = stream("absolute_error", 2)
    model = HedgeRegressor(EXPERTS[False]).partial_fit(X, y)
    assert model.pool_weights_.shape == (2, 4)
    assert model.pool_coef_.shape == (2, 3, 5)
    assert_allclose(model.pool_coef_.sum(axis=2), 1.0)
    assert model.pool_weights_curve_[1].shape == (len(points), 2, 4)


@pytest.mark.parametrize("name", ["pool_weights_", "pool_coef_"])
def test_without_pools(name):
    X, y = stream("log_loss", 1)
    with pytest.raises(NotFittedError):
        getattr(HedgeClassifier(), name)
    model = HedgeClassifier(exclude=["pools"]).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(AttributeError, match="no pools of experts: `expert_kinds_`"):
        getattr(model, name)


def test_pools_learn_rows_once():
    """In later epochs experts know the rows: their predictions are too good."""
    X, y = stream("log_loss", 1, n=60)
    for early_stopping in True, False:
        model = HedgeClassifier(
            EXPERTS[True], max_iter=4, tol=None, early_stopping=early_stopping
        ).fit(X, y)
        (level,) = model._model.levels
        assert {pool.t for pool in level.pools} == {level.hedge.n_rounds_} == {60}


def test_a_third_class_keeps_the_weights(engine):
    X, y = stream("log_loss", 3, n=60)
    few = y < 2
    model = HedgeClassifier(EXPERTS[True], new_classes="add")
    model.partial_fit(X[few], y[few], classes=[0, 1])
    before = model.pool_coef_.copy()
    model._add_classes(np.arange(3), np.array([False, False, True]))
    assert_array_equal(model.pool_coef_, before)
    model.partial_fit(X[~few], y[~few])
    assert (model.pool_coef_ != before).all()
    (level,) = model._model.levels
    assert {pool.t for pool in level.pools} == {60}


def test_rows_of_any_weight(engine):
    """A row that counts a million times moves the pools to its minimum, not beyond."""
    for n_outputs in 1, 3:
        X, y = stream("log_loss", n_outputs)
        c = np.where(np.arange(len(y)) == 20, 1e6, 1.0)
        model = HedgeClassifier(EXPERTS[True])
        model.partial_fit(X, y, classes=np.arange(max(n_outputs, 2)), sample_weight=c)
        assert np.abs(model.pool_coef_).max() < 30.0


def test_pools_have_nested_mixtures():
    """Mixtures without random features are pooled: they do not ignore all features."""
    inner = HedgeClassifier(EXPERTS[True], exclude=["random_features"])
    experts = [("newton", OnlineNewtonClassifier()), ("mixture", inner)]
    mixture = HedgeClassifier(experts)
    X, y = stream("log_loss", 1)
    mixture.partial_fit(X, y, classes=[0, 1])
    assert (mixture.pool_coef_ != 0.0).all()


def test_merged_pools_have_learned_all_rows(engine):
    """Merge pools of fixed experts: with squared errors they are ridge regressions."""
    rng = np.random.default_rng(0)
    F, y, ones = rng.normal(size=(60, 3)), rng.normal(size=(60, 1)), np.ones(60)
    start = PoolModel(package_losses.SquaredError(), 3, 0.1, 0.0)

    def learned(rows):
        pool, weights = start.fresh(), RowWeights(*[ones[rows]] * 3, np.ones(7))
        block = Block((), None, y[rows], weights, None)
        pool.learn_scores(current_engine(), F[rows], block)
        return pool

    parts = [learned(slice(0, 20)), learned(slice(20, 60))]
    merged = PoolModel.merged(Shards(parts, start, [1 / 3, 2 / 3]))
    whole = learned(slice(None))
    assert_allclose(merged.weights, whole.weights, rtol=1e-9)
    assert_allclose(merged.state().P, whole.state().P, rtol=1e-9, atol=1e-12)
    X, y = stream("log_loss", 3, n=90)
    start = HedgeClassifier(EXPERTS[True]).partial_fit(X[:30], y[:30], classes=range(3))
    shards = slice(30, 50), slice(50, 90)
    parts = [copy.deepcopy(start).partial_fit(X[s], y[s]) for s in shards]
    merged = merge_models(parts, start=start)
    (level,) = merged._model.levels
    assert level.pools[0].t == level.hedge.n_rounds_ == 90
    assert level.pools[0].weight_scale is merged._model.weight_scale
    merged.partial_fit(X, y)._check_state()
