"""What the documentation promises, where it holds and where it says that it doesn't."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from support.sums import linear

from sklearn_scinol import (
    AdaFTRLRegressor,
    AdaImplicitRegressor,
    DFEGRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import BaselineRegressor

EXACT = [
    ScInOLRegressor(center=False),
    ScInOLRegressor("quantile", quantile=0.9, algorithm="scinol1", center=False),
    AdaImplicitRegressor(center=False),
    AdaFTRLRegressor(radius=10.0, center=False),
    DFEGRegressor(),
    BaselineRegressor("ogd", center=False),
]


def rows(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, linear(X, rng.normal(size=d)) + 0.1 * rng.standard_cauchy(n)


def refusal(estimator):
    """Why there is no `regret_bound`, in one sentence."""
    assert not hasattr(estimator, "regret_bound")
    with pytest.raises(AttributeError, match="regret_bound") as error:
        estimator.regret_bound([1.0])
    (reason,) = error.value.__cause__.args
    assert reason.endswith(".")
    assert "\n" not in reason
    return reason


# Where a bound on the regret is offered, it holds for models of the rows as they are.


def test_far_from_zero():
    """Seen before: a regret of 288,517 beside a "bound" of 903."""
    x = 2000.0 + np.random.default_rng(0).normal(size=(300, 1))
    y = x[:, 0]  # so that the model with weight 1 has no loss at all
    centred = ScInOLRegressor(standardize_target=False).partial_fit(x, y)
    assert "`center=False`" in refusal(centred)
    # What the theorem says is about centred rows, of which y is no fixed model.
    of_centred_rows = centred._model.regret_bound(np.ones((1, 1)), np.zeros(1))
    assert centred.cumulative_loss_ > 100 * of_centred_rows
    exact = ScInOLRegressor(center=False).partial_fit(x, y)
    assert exact.cumulative_loss_ <= exact.regret_bound([1.0])


@pytest.mark.parametrize("estimator", EXACT, ids=lambda e: type(e).__name__)
def test_bound_is_in_raw_units(estimator):
    X, y = rows()
    X += 5.0
    estimator = clone(estimator).partial_fit(X, y)
    for coef in np.zeros(3), np.full(3, 0.1), np.linalg.lstsq(X, y, rcond=None)[0]:
        loss = estimator._model.loss.value(y, X @ coef).sum()
        regret = estimator.cumulative_loss_ - loss
        assert regret <= estimator.regret_bound(coef) * (1 + 1e-9) + 1e-9 * loss


@pytest.mark.parametrize(
    "parameter", ["center", "scale", "standardize_target"], ids=str
)
@pytest.mark.parametrize("estimator", [ScInOLRegressor, BaselineRegressor])
def test_the_fitted_model_decides(estimator, parameter):
    X, y = rows(20)
    unchanged = {"center": False, "scale": False, "standardize_target": False}
    exact = estimator(**unchanged)
    assert hasattr(exact, "regret_bound")
    exact.partial_fit(X, y)
    bound = exact.regret_bound(np.ones(3))
    exact.set_params(**{parameter: True})  # as a later `fit` would have it
    assert exact.regret_bound(np.ones(3)) == bound

    other = estimator(**{**unchanged, parameter: True})
    assert f"pass `{parameter}=False`" in refusal(other)
    other.partial_fit(X, y)
    assert f"fit with `{parameter}=False`" in refusal(other)
    other.set_params(**unchanged)
    refusal(other)
    other.fit(X, y)
    assert np.isfinite(other.regret_bound(np.ones(3)))


@pytest.mark.parametrize("center", ["auto", False])
def test_auto_is_decided_by_the_first_rows(center):
    X, y = rows()
    model = ScInOLRegressor(center=center)
    assert hasattr(model, "regret_bound")
    model.fit(sparse.csr_array(X), y)
    assert np.isfinite(model.regret_bound(np.ones(3)))
    model.fit(X, y)
    assert hasattr(model, "regret_bound") == (center is False)


def test_algorithms_without_a_bound():
    X, y = rows()
    model = BaselineRegressor("nag", center=False)
    assert "No bound is known" in refusal(model)
    assert "No bound is known" in refusal(model.partial_fit(X, y))
    refusal(model.set_params(algorithm="ogd"))
    model.fit(X, y).set_params(algorithm="nag")
    assert np.isfinite(model.regret_bound(np.ones(3)))


def test_the_fitted_model_decides_about_kernels():
    X, y = rows()
    linear = DFEGRegressor().partial_fit(X, y)
    bound = linear.regret_bound(np.ones(3))
    assert linear.set_params(kernel="rbf").regret_bound(np.ones(3)) == bound
    with pytest.raises(ValueError, match="vectors"):
        linear.regret_bound(np.ones(2), vectors=X[:2])
    kernel = DFEGRegressor(kernel="rbf").partial_fit(X, y)
    bound = kernel.regret_bound(np.ones(2), vectors=X[:2])
    kernel.set_params(kernel="linear", center=True, scale=True)
    assert kernel.regret_bound(np.ones(2), vectors=X[:2]) == bound


# Averaging changes what is predicted, not what the bound is about.


def test_bound_with_averaging():
    X, y = rows()
    plain = ScInOLRegressor(center=False)
    predictions = plain.partial_fit_predict(X, y)
    average = ScInOLRegressor(center=False, average=True)
    averaged = average.partial_fit_predict(X, y)
    assert np.abs(averaged - y).sum() != pytest.approx(np.abs(predictions - y).sum())
    assert plain.cumulative_loss_ == pytest.approx(np.abs(predictions - y).sum())
    assert average.cumulative_loss_ == plain.cumulative_loss_
    assert average.regret_bound(np.ones(3)) == plain.regret_bound(np.ones(3))


# What the notes of the classes say of the bounds.


def test_worst_case_of_scinol2():
    """Theorem 3.2 says little if a first value is tiny, but what was seen may."""
    x = np.ones((100, 1))
    y = np.resize([0.0, 1.0, 1.0], 100)
    limits, always_one_half = {}, 100 * np.log(2)
    for first in 1.0, 1e-60:
        x[0] = first
        for algorithm in "scinol1", "scinol2":
            estimator = ScInOLClassifier(
                algorithm=algorithm, center=False, fit_intercept=False
            )
            bound = estimator.partial_fit(x, y, classes=[0, 1]).regret_bound([1.0])
            model = estimator._model
            S_hat = np.sqrt(model.state().S2 + 1.0).item()
            if algorithm == "scinol2":
                u, limit_of = np.ones(1), model.learner.limit_of_regret
                limit = limit_of(model.state(), u, model.first).item()
                expected = 1 + 2 * S_hat * (np.log(3 * S_hat**3 / first**2) - 1)
                assert bound < 0.5 * always_one_half
            else:
                limit = bound
                expected = 2 * S_hat * np.log1p(2 * S_hat * 100) + 1 + np.log(100)
            limits[algorithm, first] = limit
            assert limit == pytest.approx(expected, rel=1e-9)
    assert limits["scinol2", 1e-60] > 30 * always_one_half
    assert limits["scinol1", 1e-60] < 2 * always_one_half


def test_bound_with_max_support():
    """It holds in the space of the stored rows, and not beyond."""
    X = np.array([[0.0]] + [[100.0]] * 200)
    y = np.ones(len(X))
    model = BaselineRegressor(
        "kernel_gd", kernel="rbf", gamma=1.0, max_support=1, fit_intercept=False
    )
    model.partial_fit(X, y)
    assert (model.support_ == 0).all()
    K = np.exp(-((X - X.T) ** 2))
    for coef in 0.5, 1.0:
        loss = np.abs(K[:, 0] * coef - 1.0).sum()
        assert model.cumulative_loss_ - loss <= model.regret_bound([coef])
    # The model that is 1 at each of the two places has no loss.
    bound = model.regret_bound([1.0, 1.0], vectors=X[:2])
    assert model.cumulative_loss_ > bound
    room = model.set_params(max_support=None).fit(X, y)
    assert room.cumulative_loss_ <= room.regret_bound([1.0, 1.0], vectors=X[:2])


def test_bound_with_max_support_and_intercept():
    """A stored row brings its constant 1: the intercept is the coefficients' sum."""
    X, y = rows(40, 1)
    model = DFEGRegressor(kernel="rbf", max_support=3).partial_fit(X, y)
    coef, intercept = np.array([0.3, -0.2, 0.4]), 0.5
    assert model.dual_coef_.sum() == pytest.approx(model.intercept_.item())
    K = np.exp(-model.gamma_ * (X - model.support_vectors_.T) ** 2)
    loss = np.abs(K @ coef + intercept - y).sum()
    assert model.cumulative_loss_ - loss <= model.regret_bound(coef, intercept)
