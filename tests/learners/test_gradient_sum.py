"""What is special about learners whose weights are a multiple of the gradients' sum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from support.registry import CASES, compiled, thinned, thoroughly

from sklearn_scinol import (
    AdaFTRLClassifier,
    AdaFTRLRegressor,
    DFEGClassifier,
    DFEGRegressor,
)

TUNINGS = ["koolen", "orabona_pal"]
tunings = pytest.mark.parametrize("tuning", TUNINGS)
OF_SUMS = [
    case for case in CASES if case.algorithm in ("dfeg", *TUNINGS) and not case.average
]


def length(model):
    return np.linalg.norm([*np.ravel(model.coef_), *model.intercept_])


# Numbers near the ends of the range.


@thinned(OF_SUMS, size=[1e-100, 1.0, 1e100], of_targets=[1e-100, 1.0, 1e100])
def test_extremes(case, size, of_targets, engine):
    X, y = case.data(60)
    X = X / np.abs(X).max() * size
    if not case.classifies:
        y = y / np.abs(y).max() * of_targets
    model = case.make()
    charged = case.charged(model, X, y)
    for numbers in (charged, model.coef_, model.intercept_, model.cumulative_loss_):
        assert np.isfinite(numbers).all()
    assert not np.isnan(model.regret_bound(np.zeros(model.coef_.shape)))
    mixed = case.make()  # rows of all sizes in turn
    sizes = np.resize([1e100, 1e-100, 1.0, 1e50], (60, 1))
    assert np.isfinite(case.charged(mixed, X / size * sizes, y)).all()


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "model",
    [
        DFEGClassifier(),
        AdaFTRLRegressor(tuning="orabona_pal", center=False),
        *thoroughly(
            DFEGClassifier("hinge"), DFEGRegressor(), AdaFTRLClassifier(center=False)
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("alternating", [False, True], ids=["equal", "alternating"])
@compiled
def test_a_million_rows(model, alternating, engine):
    model, n = clone(model), 1_000_000
    X = np.broadcast_to([3.0, -1.0, 2.0], (n, 3))
    y = np.ones(n)
    if alternating:
        y[::2] = -1.0
    if is_classifier(model):
        charged = model.partial_fit_predict(
            X, y, classes=[-1, 1], method="decision_function"
        )
    else:
        charged = model.partial_fit_predict(X, y)
    assert np.isfinite(charged).all()
    if alternating:
        of_zero = n * (np.log(2) if model.loss == "log_loss" else 1.0)
        bound = model.regret_bound(np.zeros(3))
        assert model.cumulative_loss_ - of_zero <= bound < 0.03 * of_zero
    else:
        assert charged[-1] > 0.9


# Norms that are all but lost.


@pytest.mark.cases(3)
@pytest.mark.parametrize("exponent", [4, 7, 8, 9, 12])
def test_long_rows_that_cancel(exponent, engine):
    """What rounding leaves of the norm does not make weights too large."""
    rng = np.random.default_rng(exponent)
    X = rng.standard_normal((200, 5))
    X[::2] *= 10.0**exponent
    X[1::2] = -X[::2] * (1 + 1e-16)  # brings theta back to next to nothing
    X = np.vstack([X, rng.standard_normal((200, 5))])
    y = np.concatenate([np.full(200, 1e3), np.full(200, 1.0)])
    model = DFEGRegressor(fit_intercept=False)
    for r in range(len(y)):
        model.partial_fit(X[r : r + 1], y[r : r + 1])
        h, theta = model._model.shared_state(), model._model.state().theta
        exact = np.linalg.norm(theta)
        assert_allclose(h.norm, exact, rtol=1e-6, atol=h.error[0])
        largest = np.exp(max(exact, h.error[0]) / (model.a * np.sqrt(h.H[0])))
        assert length(model) <= largest / h.H[0] ** 1.5 * (1 + 1e-6)


# DFEG.


@pytest.mark.parametrize("estimator", [DFEGClassifier, DFEGRegressor])
def test_coefficients_are_at_rest(estimator, engine):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = (X[:, 0] > 0).astype(int)
    model = estimator()
    if is_classifier(model):
        model.partial_fit(X, y, classes=[0, 1])
        predict = model.decision_function
    else:
        model.partial_fit(X, y)
        predict = model.predict
    at_rest = X @ np.ravel(model.coef_) + model.intercept_
    H = model._model.shared_state().H[0]
    norm = model._model.shared_state().norm[0]

    def log_factor(H):
        return norm / (model.a * np.sqrt(H)) - 1.5 * np.log(H)

    q = (X * X).sum(axis=1) + 1.0
    ratio = np.exp(log_factor(H + np.maximum(np.sqrt(q), q)) - log_factor(H))
    assert_allclose(predict(X), ratio * at_rest, rtol=1e-9)
    assert (ratio < 1.0).all()


# AdaFTRL.


@tunings
@pytest.mark.parametrize("power", [-150, -1, 10, 150])
def test_scale_of_losses_does_not_matter(tuning, power, engine):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 4)), rng.standard_normal(60)
    expected = AdaFTRLRegressor(tuning=tuning, center=False).partial_fit(X, y)
    model = AdaFTRLRegressor(tuning=tuning, center=False)
    model.partial_fit(X, y, sample_weight=np.full(60, 2.0**power))
    assert_array_equal(model.coef_, expected.coef_)
    assert_array_equal(model.intercept_, expected.intercept_)
    assert_array_equal(model.delta_sum_, 2.0**power * expected.delta_sum_)


@pytest.mark.slow
@tunings
@given(
    st.lists(
        st.tuples(
            st.floats(-3, 3), st.floats(-3, 3), st.floats(-100, 100), st.integers(-6, 6)
        ),
        min_size=1,
        max_size=25,
    ),
    st.sampled_from([1e-2, 1.0, 1e2]),
)
def test_gaps(tuning, rows, radius):
    """Each is between 0 and the range of the loss; the regret is at most two sums."""
    model = AdaFTRLRegressor(
        radius=radius, tuning=tuning, fit_intercept=False, center=False
    )
    total, losses = 0.0, []
    gap = 0.0
    for first, second, y, power in rows:
        x = 10.0**power * np.array([[first, second]])
        p = model.partial_fit_predict(x, [y])[0]
        loss = np.sign(p - y) * x[0]
        losses.append(loss)
        total += p * np.sign(p - y)
        increase = model.delta_sum_[0] - gap
        gap = model.delta_sum_[0]
        size = 2 * radius * np.linalg.norm(loss)
        assert 0.0 <= increase <= size + 1e-12 * (gap + size)
        assert length(model) <= radius * (1 + 1e-12)
    regret = total + radius * np.linalg.norm(np.sum(losses, axis=0))
    # Losses of a norm below 1e-150 count as none.
    rounding = radius * (1e-9 * np.abs(losses).sum() + 1e-150 * len(losses))
    constant = {"koolen": 2.0, "orabona_pal": 1.0 + 1.0 / 16.0}[tuning]
    assert regret <= constant * gap + rounding
