"""Implicit updates: the paper's experiment, what it proves, and extreme steps."""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from support.registry import CASES, thinned

from sklearn_scinol import AdaImplicitRegressor
from sklearn_scinol.baselines import BaselineRegressor

IMPLICIT = [
    case
    for case in CASES
    if case.algorithm in ("adaimplicit", "constant", "iomd") and not case.average
]

# The synthetic experiment of Campolongo and Orabona (2020), Section 7.


@pytest.mark.parametrize(
    ("estimator", "algorithm", "expected"),
    [
        (AdaImplicitRegressor, "adaimplicit", 0.153),
        (AdaImplicitRegressor, "iomd", 458.0),
        (BaselineRegressor, "adaogd", 0.379),
        (BaselineRegressor, "ogd", 444.0),
    ],
)
def test_synthetic_experiment(estimator, algorithm, expected, engine):
    """Cumulative loss of (x - y_t)^2 / 4 on a ball of diameter 150, with beta = 1."""
    T = 2000
    y = 100.0 * np.sin(np.pi * np.arange(1, T + 1) / (10 * T))
    model = estimator(
        algorithm=algorithm,
        loss="squared_error",
        radius=75.0,
        center=False,
        fit_intercept=False,
    )
    x = np.sqrt(0.5)
    model.partial_fit(np.full((T, 1), x), y * x)
    assert model.cumulative_loss_ == pytest.approx(expected, rel=0.01)


# What the paper proves.


def loss_of(case, estimator, x, y):
    """Loss of one row by the estimator as it is."""
    p = case.decision(estimator, x)
    (target,) = case.reference_targets(y)
    return case.reference_loss().value(target, p[0].tolist())


@pytest.mark.parametrize("case", IMPLICIT, ids=str)
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), beta=st.sampled_from([2.0**-20, 1.0, 2.0**20]))
def test_an_update_never_overshoots(case, seed, beta):
    """Proposition 4.1, equation 5: no row's loss is larger after its update."""
    X, y = case.data(12, seed)
    estimator = case.make(beta=beta)
    case.partial_fit(estimator, X[:1], y[:1])
    for r in range(1, 12):
        row = X[r : r + 1], y[r : r + 1]
        before, delta_sum = loss_of(case, estimator, *row), estimator.delta_sum_
        case.partial_fit(estimator, *row)
        assert loss_of(case, estimator, *row) <= before * (1 + 1e-12) + 1e-300
        assert (estimator.delta_sum_ >= delta_sum).all()


# Extremes.


def assert_finite(case, estimator, X, y):
    """What it is charged for, says, and has learned."""
    charged = case.charged(estimator, X, y)
    names = "coef_", "intercept_", "lambda_", "delta_sum_"
    numbers = [getattr(estimator, name) for name in names]
    for each in charged, *numbers, case.decision(estimator, X):
        assert np.isfinite(each).all()
    assert not np.isnan(estimator.cumulative_loss_)
    bound = estimator.regret_bound(np.zeros(estimator.coef_.shape))
    assert not np.isnan(bound)


@thinned(IMPLICIT, fit_intercept=[False, True], beta=[2.0**-20, 2.0**20])
def test_extreme_values_stay_finite(case, fit_intercept, beta, engine):
    """Of one size, or of many in turn."""
    rng = np.random.default_rng(0)
    X, y = case.data()
    # Losses that are squares, of quotients of those in turn, are to be in range.
    large = 30 if case.loss.startswith("squared") else 95
    sizes = [*product([1e-150, 1.0, 1e95], repeat=2)]
    for _ in range(5):
        in_turn = [10.0 ** rng.choice([-large, 0, large], len(y)) for _ in range(2)]
        sizes.append(in_turn)
    for unit, scale in sizes:
        estimator = case.make(beta=beta, fit_intercept=fit_intercept)
        new = (rng.standard_normal(X.shape).T * unit).T
        targets = y if case.classifies else (rng.standard_normal(y.shape).T * scale).T
        assert_finite(case, estimator, new, targets)


@pytest.mark.thorough
def test_sparse_rows_in_a_ball_fold_their_scale(engine):
    """Many projections make the common factor of the weights small."""
    rng = np.random.default_rng(0)
    X = sparse.random(800, 50, 0.1, format="csr", random_state=0) * 10.0
    y = rng.standard_normal(800)
    parameters = {"algorithm": "iomd", "beta": 1e3, "radius": 0.01, "average": 10}
    parameters["center"] = False
    from_sparse = AdaImplicitRegressor(**parameters).partial_fit(X, y)
    from_dense = AdaImplicitRegressor(**parameters).partial_fit(X.toarray(), y)
    assert_allclose(from_sparse.coef_, from_dense.coef_, rtol=1e-9, atol=1e-15)
    plain = AdaImplicitRegressor(**{**parameters, "average": False})
    models = []
    for r in range(800):
        models.append(plain.partial_fit(X[r : r + 1], y[r : r + 1]).coef_)
    mean = np.mean(models[9:], axis=0)
    assert_allclose(from_sparse.coef_, mean, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("exponent", [-6, -14, -25])
def test_averages_of_a_ball_after_rows_of_another_size(exponent, engine):
    """Steps that shrink the old weights to next to nothing: none of them is lost."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), 10.0 * rng.normal(size=40)
    X[rng.random(X.shape) < 0.5] = 0.0
    X[:20] *= 10.0**exponent
    y[:20] *= 10.0**exponent
    parameters = {"radius": 0.5, "center": False, "fit_intercept": False}
    averaged = AdaImplicitRegressor(average=True, **parameters)
    plain = AdaImplicitRegressor(**parameters)
    total = np.zeros(3)
    for r in range(40):
        row = X[r : r + 1], y[r : r + 1]
        total += plain.partial_fit(*row).coef_
        averaged.partial_fit(*row)
        largest = np.abs(total).max() / (r + 1)
        assert_allclose(
            averaged.coef_, total / (r + 1), rtol=1e-11, atol=1e-11 * largest
        )
