"""CODE is the limit of ever smaller coin bets, which is how its paper defines it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.sums import linear

from sklearn_scinol.learners import CODE
from sklearn_scinol.losses import AbsoluteError, Logistic

AS_GIVEN = 0.0, 1.0, 1.0  # the target's offset, spread and slope


def rows(classifies, size):
    rng = np.random.default_rng(0)
    X = size * rng.normal(size=(30, 3))
    y = linear(X, [1.0, -2.0, 0.5]) / size + rng.normal(size=30)
    return X, np.sign(y) if classifies else 3.0 * y


def learned(loss, X, y):
    """Weights, and the wealth, after some rows."""
    learner = CODE()
    shared = learner.Shared(*(np.full(1, value) for value in learner.initial_shared()))
    theta, s = np.zeros(3), learner.State(np.zeros((1, 3)))
    for t, (x, y_t) in enumerate(zip(X, y, strict=True), start=1):
        dot, q = s.theta[0] @ x, x @ x
        step = learner.implicit_row_step(
            shared, 0, loss, y_t, 1.0, AS_GIVEN, dot, q, float(t)
        )
        learner.update(s, 0, x, None, step, float(t))
    theta = s.theta[0]
    return learner.factor(shared, 0, 0.0, t + 1.0) * theta, shared.log_wealth[0]


def by_small_bets(loss, X, y, n):
    """The same by at most n bets a row, each on its n-th part."""
    theta, H, log_wealth = np.zeros(3), 1.0, 0.0
    for x, y_t in zip(X, y, strict=True):
        w = np.exp(log_wealth) * theta / H
        g, value = loss.gradient(y_t, w @ x) * x, loss.value(y_t, w @ x)
        for _ in range(n):
            now = np.exp(log_wealth) * theta / H
            if value + g @ (now - w) <= 0.0:
                break
            log_wealth += np.log1p(-(g @ theta) / H / n)
            theta, H = theta - g / n, H + g @ g / n
    return np.exp(log_wealth) * theta / H, log_wealth


@pytest.mark.parametrize("size", [0.3, 3.0])
@pytest.mark.parametrize("loss", [Logistic(), AbsoluteError()], ids=str)
def test_limit_of_small_bets(loss, size):
    X, y = rows(loss == Logistic(), size)
    weights, log_wealth = learned(loss, X, y)
    errors = []
    for n in 50, 400:
        some, logarithm = by_small_bets(loss, X, y, n)
        errors.append(max(*np.abs(some - weights), abs(logarithm - log_wealth)))
    assert errors[1] < errors[0] / 3
    assert_allclose(some, weights, atol=0.02 * np.abs(weights).max())


@pytest.mark.parametrize("loss", [Logistic(), AbsoluteError()], ids=str)
def test_model_of_a_row_is_not_overshot(loss):
    """The tangent at the prediction before is 0 at the one after, or still above."""
    X, y = rows(loss == Logistic(), 5.0)
    stopped = 0
    for n in range(len(X)):
        before, _ = learned(loss, X[:n], y[:n]) if n else (np.zeros(3), 0.0)
        after, _ = learned(loss, X[: n + 1], y[: n + 1])
        p = before @ X[n]
        model = loss.value(y[n], p) + loss.gradient(y[n], p) * (after @ X[n] - p)
        assert model > -1e-12
        stopped += model < 1e-12
    assert stopped > 10
