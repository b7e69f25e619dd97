"""Newton steps on random Fourier features."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from support import naive
from support.naive_agreement import assert_agrees, learn, new_rows, sample_weights
from support.naive_fourier import FourierFeatures, RandomFeatures
from support.registry import CASES, REPRESENTATIVES, thinned

from sklearn_scinol import (
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    merge_models,
)
from sklearn_scinol.estimators import second_order
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import RandomFourierFeatures

CASES, REPRESENTATIVES = (
    [case for case in cases if case.algorithm == "online_newton"]
    for cases in (CASES, REPRESENTATIVES)
)
RANDOM = {"random_features": 7, "random_state": 0}


@pytest.mark.cases(3)
@thinned(CASES, center=[False, True], gamma=["scale", 0.5])
def test_reference(case, center, gamma, engine):
    X, y = case.data(25)
    c = sample_weights(len(y), weighted=True)
    model = naive.Model(
        case.algorithm,
        case.reference_loss(),
        7,
        case.n_outputs,
        center=center,
        moderate=case.loss == "log_loss" and case.n_outputs == 1,
    )
    value = 1 / 6 if gamma == "scale" else gamma
    reference = RandomFeatures(model, FourierFeatures(6, 7, value, seed=0))
    expected = learn(case, reference, X, y, c)
    estimator = case.make(center=center, gamma=gamma, **RANDOM)
    assert_agrees(case, case.charged(estimator, X, y, sample_weight=c), expected)
    of_new = [reference.decision_function(x) for x in new_rows(X)]
    assert_agrees(case, case.decision(estimator, new_rows(X)), of_new)
    assert_agrees(case, estimator.cumulative_loss_, model.cumulative_loss)
    estimator._check_state()


def test_clipped_values_do_not_widen_moments():
    X, y, _ = chessboard(500)
    X[50] = 1e6
    scores = [
        OnlineNewtonClassifier(clip_ratio=clip_ratio, **BOARD)
        .partial_fit(X, y, classes=[False, True])
        .score(X, y)
        for clip_ratio in (None, 2.0)
    ]
    assert scores[0] < 0.6
    assert scores[1] > 0.8


def test_a_pipeline_is_the_same(engine):
    """Of a model that takes random features as features."""
    X, y, new = chessboard(200)
    fourier = RandomFourierFeatures(0.5, 7, random_state=3)
    pipeline = make_online_pipeline(fourier, OnlineNewtonClassifier())
    model = OnlineNewtonClassifier(random_features=7, gamma=0.5, random_state=3)
    said = [
        each.partial_fit_predict(X, y, classes=[False, True], method="predict_proba")
        for each in (pipeline, model)
    ]
    assert_allclose(*said, rtol=1e-10)
    assert_allclose(pipeline.predict_proba(new), model.predict_proba(new), rtol=1e-10)


# What they can learn.


def chessboard(n):
    """Rows, labels by the colour of a field of 4 by 4, and new rows."""
    rng = np.random.default_rng(0)
    X, new = rng.uniform(0.0, 4.0, size=(2, n, 2))
    return X, np.floor(X).sum(axis=1) % 2 == 0, new


BOARD = {"random_features": 128, "gamma": 2.0, "random_state": 0}


# What they say of themselves.


def test_features_are_clipped(engine):
    X, y, _ = chessboard(100)
    options = {"center": False, "scale": False, "clip_deviations": 1.0}
    model = OnlineNewtonClassifier(**BOARD | options)
    model = model.partial_fit(X, y, classes=[False, True])._model
    Z = model.fourier.features.transform(X, 1.0)
    assert np.abs(Z).max() > 1.5
    Z = np.clip(Z, -1.0, 1.0)
    directions = model.fourier.directions.repeat(2, axis=1)[:, : model.n_features]
    expected = np.cos(2.0 * np.pi * (Z @ directions + model.fourier.phases))
    expected *= np.sqrt(2.0 / model.n_features)
    assert_allclose(model.transform(X), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("make", [OnlineNewtonClassifier, OnlineNewtonRegressor])
def test_what_has_no_meaning(make):
    X, y, _ = chessboard(20)
    model = make(random_features=3).partial_fit(X, y, **classes_of(make))
    for name in "coef_", "intercept_", "coef_covariance_":
        words = f"'{make.__name__}' has no attribute '{name}', since its weights"
        with pytest.raises(AttributeError, match=words):
            getattr(model, name)
    assert model.n_features_in_ == 2
    model._check_state()


def classes_of(make):
    return {"classes": [False, True]} if make is OnlineNewtonClassifier else {}


def test_no_bound_against_linear_models():
    X, y, _ = chessboard(20)
    model = OnlineNewtonRegressor(
        vovk=True,
        random_features=3,
        center=False,
        scale=False,
        standardize_target=False,
    )
    for verb in "pass", "fit with":
        with pytest.raises(AttributeError, match="regret_bound") as error:
            model.regret_bound([0.0, 0.0])
        assert f"{verb} `random_features=None`" in str(error.value.__cause__)
        model.partial_fit(X, 1.0 * y)


def test_what_is_too_large(monkeypatch):
    X, y, _ = chessboard(20)
    monkeypatch.setattr(second_order, "MAX_COVARIANCES", 50)
    words = "10 random features are too many for OnlineNewtonRegressor"
    with pytest.raises(ValueError, match=words):
        OnlineNewtonRegressor(random_features=10).partial_fit(X, 1.0 * y)
    words = "random_features == 9 for 6 features are too many: their directions"
    with pytest.raises(ValueError, match=words):
        OnlineNewtonRegressor(random_features=9).partial_fit(np.ones((2, 6)), [0, 1])


# Going on.


@pytest.mark.thorough
@pytest.mark.parametrize("n_start", [0, 100])
def test_merging(n_start):
    X, y, new = chessboard(1600)
    start = OnlineNewtonClassifier(**BOARD)
    if n_start:
        start.partial_fit(X[:n_start], y[:n_start], classes=[False, True])
    models = [
        deepcopy(start).partial_fit(X[i], y[i], classes=[False, True])
        for i in np.array_split(np.arange(n_start, 1600), 2)
    ]
    merged = merge_models(models, start=start if n_start else None)
    merged._check_state()
    whole = OnlineNewtonClassifier(**BOARD).partial_fit(X, y, classes=[False, True])
    moments = [each._model.fourier.features.moments for each in (merged, whole)]
    assert_allclose(*moments, rtol=1e-10)
    is_white = np.floor(new).sum(axis=1) % 2 == 0
    scores = [model.score(new, is_white) for model in (*models, whole, merged)]
    assert scores[-1] > min(scores[:-1])
    assert scores[-1] > 0.85
    merged.partial_fit(X, y)
    merged._check_state()


def test_epochs_and_seeds():
    X, y, new = chessboard(100)
    model = OnlineNewtonRegressor(max_iter=2, **BOARD)
    expected = clone(model).fit(X, y).predict(new)
    assert_array_equal(clone(model).fit(X, y).predict(new), expected)
    others = clone(model).set_params(random_state=1).fit(X, y).predict(new)
    assert (others != expected).all()
