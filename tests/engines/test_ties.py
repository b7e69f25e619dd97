"""Engines give the same numbers where rounding might decide between two ways."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from sklearn_scinol import (
    AdaFTRLRegressor,
    AdaImplicitRegressor,
    MondrianForestRegressor,
    OnlineConformalRegressor,
    OnlineNewtonRegressor,
    ScInOLRegressor,
    config_context,
)
from sklearn_scinol.baselines import BaselineRegressor
from sklearn_scinol.losses import AbsoluteError, EpsilonInsensitive, Hinge, Quantile
from sklearn_scinol.losses.methods import meets

pytest.importorskip("numba", reason="numba is not installed")

QUANTILE = {"loss": "quantile", "quantile": 0.7}

MODELS = {
    "scinol2": ScInOLRegressor(),
    "scinol1": ScInOLRegressor(algorithm="scinol1", **QUANTILE),
    "not centred": ScInOLRegressor(center=False),
    "additive": ScInOLRegressor(additive=True),
    "tube": ScInOLRegressor(loss="epsilon_insensitive", epsilon=0.5),
    "newton": OnlineNewtonRegressor(),
    "newton's quantile": OnlineNewtonRegressor(**QUANTILE),
    "implicit": AdaImplicitRegressor(),
    "adaftrl": AdaFTRLRegressor(**QUANTILE),
    "freegrad": BaselineRegressor("freegrad"),
}


def by_both_engines(model, X, y, **keywords):
    """Return predictions before each row, of NumPy's engine and of the compiled one."""
    for engine in "numpy", "numba":
        with config_context(engine=engine):
            yield clone(model).partial_fit_predict(X, y, **keywords)


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODELS)
def test_predictions_that_meet_targets(name):
    """Again and again the mean of the targets is 0, as is the next target."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        others = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
        y = np.concatenate([[*random.permutation(others), 0.0] for _ in range(7)])
        X = np.full((len(y), 1), 10.0 ** random.integers(-10, 11))
        found, expected = by_both_engines(MODELS[name], X, y)
        assert_allclose(found, expected, rtol=0.0, atol=1e-9)


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["scinol2", "additive", "newton", "forest"])
def test_weights_that_span_eight_digits(name):
    model = {**MODELS, "forest": MondrianForestRegressor(3, random_state=0)}[name]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(80, 4)), rng.normal(size=80)
        found, expected = by_both_engines(
            model, X, y + X.sum(axis=1), sample_weight=1e8 ** rng.random(80)
        )
        assert_allclose(found, expected, rtol=0.0, atol=1e-8)


@pytest.mark.slow
def test_intervals_of_features_that_repeat_values():
    X, y = load_diabetes(return_X_y=True)
    model = OnlineConformalRegressor(ScInOLRegressor(), confidence_level=0.5)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(y)) if seed else ...
        keywords = {"method": "predict_interval"}
        found, expected = by_both_engines(model, X[order], y[order], **keywords)
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", [AbsoluteError(), Quantile(0.3)])
def test_residuals_within_rounding_are_none(loss):
    for y in -3e100, 0.7, 1e-200:
        p = y * (1.0 + 4e-15)
        assert loss.value(y, p) == 0.0 < loss.value(y, y * (1.0 + 1e-12))
        assert meets(loss, y, p, abs(y))
        assert not meets(loss, y, y * (1.0 + 1e-12), abs(y))
    assert loss.value(0.0, 1e-300) > 0.0
    assert not meets(loss, 0.0, 1e-300, 0.0)
    assert meets(loss, 0.0, 1e-17, 1.0)


def test_kinks_beside_the_target():
    tube = EpsilonInsensitive(0.5)
    assert meets(tube, 2.0, 2.5 + 1e-15, 2.0)
    assert not meets(tube, 2.0, 2.5 + 1e-9, 2.0)
    for y in -1.0, 1.0:
        assert Hinge().gradient(y, y * (1.0 + 1e-15)) == -y
        assert Hinge().gradient(y, y * (1.0 + 1e-12)) == 0.0
