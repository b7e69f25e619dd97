"""Implicit updates: the paper's experiment, what it proves, and extreme steps."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from support import naive
from support.registry import CASES, thinned

from sklearn_scinol import AdaImplicitRegressor
from sklearn_scinol.baselines import BaselineRegressor

IMPLICIT = [
    case
    for case in CASES
    if case.algorithm in ("adaimplicit", "constant", "iomd") and not case.average
]

# What is a matter of formulas and takes long, on one engine.


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


@thinned(IMPLICIT)
def test_lambda_and_delta_sum(case, engine):
    X, y = case.data(20)
    estimator = case.make(beta=3.0)
    case.partial_fit(estimator, X, y)
    model = naive.Model(
        case.algorithm,
        case.reference_loss(),
        X.shape[1],
        case.n_outputs,
        beta=3.0,
        radius=case.radius,
    )
    for x, target in zip(X, case.reference_targets(y), strict=True):
        model.learn(x, target)
    assert_allclose(estimator.lambda_, model.lambda_, rtol=1e-12)
    assert_allclose(estimator.delta_sum_, model.delta_sum, rtol=1e-11)
    assert estimator.lambda_.shape == estimator.intercept_.shape
    if case.algorithm == "iomd":
        assert_allclose(estimator.lambda_, np.sqrt(len(y)) / 3.0)
    elif case.algorithm == "constant":
        assert_allclose(estimator.lambda_, 1 / 3.0)
    elif case.loss != "log_loss" or case.radius:
        assert_allclose(estimator.lambda_, estimator.delta_sum_ / 9.0)


@pytest.mark.cases(20)
@pytest.mark.parametrize("radius", [0.1, 1.0, 100.0])
@pytest.mark.parametrize(
    "loss", ["absolute_error", "huber", "epsilon_insensitive", "quantile"]
)
def test_bound_of_theorem_6_2(loss, radius, engine):
    """With beta = D the bound is no larger than the theorem's second term."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = 3.0 * rng.standard_cauchy(300)
    D = np.sqrt(2.0) * radius
    model = AdaImplicitRegressor(
        loss, radius=radius, beta=D, fit_intercept=False, center=False
    )
    p = model.partial_fit_predict(X, y)
    g = model._model.loss.gradient(y, p)
    theorem = 2.0 * D * np.sqrt(3.0 * (g**2 * (X**2).sum(axis=1)).sum())
    inside = radius * np.array([0.6, 0.0, -0.8, 0.0])
    assert model.regret_bound(inside) <= theorem
    assert model.regret_bound(2.0 * inside) == np.inf


# Extremes.


@thinned(IMPLICIT, fit_intercept=[False, True], beta=[2.0**-20, 2.0**20])
def test_extreme_values_stay_finite(case, fit_intercept, beta):
    rng = np.random.default_rng(0)
    X0, y0 = case.data()
    for unit in 1e-150, 1.0, 1e95:
        for scale in 1e-150, 1.0, 1e95:
            X = rng.standard_normal(X0.shape) * unit
            y = y0 if case.classifies else rng.standard_normal(y0.shape) * scale
            estimator = case.make(beta=beta, fit_intercept=fit_intercept)
            charged = case.charged(estimator, X, y)
            for numbers in (
                charged,
                estimator.coef_,
                estimator.intercept_,
                estimator.lambda_,
                estimator.delta_sum_,
                case.decision(estimator, X),
            ):
                assert np.isfinite(numbers).all()
            assert not np.isnan(estimator.cumulative_loss_)
            coef = np.zeros(estimator.coef_.shape)
            assert not np.isnan(estimator.regret_bound(coef))


@pytest.mark.cases(3)
@thinned(IMPLICIT)
def test_extreme_values_in_turn_stay_finite(case, engine):
    rng = np.random.default_rng(0)
    X0, y0 = case.data()
    for beta in 2.0**-20, 1.0, 2.0**20:
        for _ in range(5):
            # Losses that are squares, of quotients of these, are to be in range.
            large = 30 if case.loss.startswith("squared") else 95
            units = 10.0 ** rng.choice([-large, 0, large], size=(len(y0), 1))
            y = y0
            if not case.classifies:
                scales = 10.0 ** rng.choice([-large, 0, large], size=y0.shape)
                y = rng.standard_normal(y0.shape) * scales
            estimator = case.make(beta=beta, fit_intercept=False)
            X = rng.standard_normal(X0.shape) * units
            assert np.isfinite(case.charged(estimator, X, y)).all()
            assert np.isfinite(estimator.coef_).all()
            assert np.isfinite(estimator.lambda_).all()


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
