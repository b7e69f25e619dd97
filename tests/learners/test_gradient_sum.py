"""What is special about learners whose weights are a multiple of the gradients' sum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support.registry import CASES, thinned

from sklearn_scinol import (
    AdaFTRLRegressor,
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
