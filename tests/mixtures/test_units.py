"""Mixtures of regressors in other units, whose numbers are equal but for rounding."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from support.sums import linear

from sklearn_scinol import HedgeRegressor, OnlineNewtonRegressor, ScInOLRegressor
from sklearn_scinol.experts import AdaHedge, FixedShare

QUANTILE = {"loss": "quantile", "quantile": 0.8}
SQUARED = {"loss": "squared_error"}

MIXTURES = {
    "absolute error": HedgeRegressor(
        [("linear", ScInOLRegressor()), ("newton", OnlineNewtonRegressor())]
    ),
    "quantile": HedgeRegressor(
        [
            ("linear", ScInOLRegressor(**QUANTILE)),
            ("newton", OnlineNewtonRegressor(**QUANTILE)),
        ],
        **QUANTILE,
    ),
    # Until forgetting makes a difference, both predict the same but for rounding.
    "squared error": HedgeRegressor(
        [
            ("newton", OnlineNewtonRegressor(**SQUARED)),
            ("forgetful", OnlineNewtonRegressor(forgetting=0.01, **SQUARED)),
        ],
        **SQUARED,
    ),
}

#: What targets become: of few values, experts are often clipped to the one that comes.
TARGETS = np.asarray, np.sign, np.round

engines = pytest.mark.parametrize("engine", ["numpy", "numba"], indirect=True)


@pytest.mark.cases(1)
@engines
@pytest.mark.parametrize("mixture", MIXTURES)
def test_other_units(mixture, engine):
    for seed in range(20):
        random = np.random.default_rng(seed)
        X = random.normal(size=(50, 3))
        noise = (random.exponential(size=50) - 0.5) * np.exp(X[:, 0])
        y = TARGETS[seed % 3](linear(X, [1.0, 2.0, 3.0]) + noise)

        def predicted(X, y):
            return clone(MIXTURES[mixture]).partial_fit_predict(X, y)

        plain, size = predicted(X, y), np.abs(y).max()
        scaled = predicted(X * [3.0, 1.0, 1e5], 7.0 * y) / 7.0
        assert_allclose(scaled, plain, rtol=0.0, atol=1e-9 * size)
        # The first prediction is 0, whatever the target's zero.
        moved = predicted(X + np.array([30.0, 0.0, -7.0]), y + 100.0)[1:]
        assert_allclose(moved, plain[1:] + 100.0, rtol=0.0, atol=1e-7 * size)


@engines
@pytest.mark.parametrize("weights", [AdaHedge, FixedShare])
def test_losses_that_differ_by_rounding_are_equal(weights, engine):
    losses = np.array([0.1 + 0.2, 0.3, 1.0, 0.3])
    assert losses[0] != losses[1]
    found, expected = weights(4), weights(4)
    found.update(losses[np.newaxis])
    expected.update(np.array([[0.3, 0.3, 1.0, 0.3]]))
    assert_allclose(found.weights_, expected.weights_, rtol=1e-12)
