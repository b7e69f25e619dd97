"""Online Newton steps: what they are equal to, and what they say of themselves."""

import os
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from support import naive
from support.naive import relative_to_means
from support.registry import as_given
from support.sums import linear

from sklearn_scinol import (
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    merge_models,
)
from sklearn_scinol.estimators import second_order
from sklearn_scinol.losses import CrossEntropy

RAW = as_given(OnlineNewtonRegressor)

#: Weights of rows to draw from.
WEIGHTS = st.sampled_from([[1.0], [0.1, 1.0, 10.0]])


def rows(n=200, d=5, seed=0):
    """Correlated features, with a linear target."""
    rng = np.random.default_rng(seed)
    X = linear(rng.normal(size=(n, d)), rng.normal(size=(d, d)))
    return X, linear(X, rng.normal(size=d)) + 2.0, rng


# Least squares.


def ridge(X, y, c, prior_scale):
    """Weights and intercept, and the inverse of the matrix solved for."""
    Z = np.column_stack([X, np.ones(len(X))])
    penalty = np.full(Z.shape[1], 1.0 / prior_scale)
    penalty[-1] = 1.0 / max(prior_scale, 1.0)
    P = np.linalg.inv(np.diag(penalty) + (Z.T * c) @ Z)
    return P @ (Z.T * c) @ y, P


def test_ridge_of_standardised_rows(engine):
    """The first two rows teach moments only: there is no deviation yet."""
    X, y, _ = rows(211)  # after which moments change
    X *= [1e-5, 1.0, 3.0, 1e7, -1.0]
    X += [1e-4, 5.0, 0.0, 0.0, -7.0]
    model = OnlineNewtonRegressor(clip_deviations=None).partial_fit(X, y)
    Z, z = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    w, P = ridge(Z[2:], z[2:], np.ones(209), 0.3)
    assert_allclose(model.coef_, y.std() * w[:-1] / X.std(axis=0), rtol=1e-9)
    said = y.mean() + y.std() * (Z @ w[:-1] + w[-1])
    assert_allclose(model.predict(X), said, rtol=1e-9)
    noise, Z = model.noise_variance_[0], np.column_stack([Z, np.ones(211)])
    factors = np.sqrt(noise) / X.std(axis=0)
    covariance = factors[:, np.newaxis] * P[:-1, :-1] * factors
    assert_allclose(model.coef_covariance_, covariance, rtol=1e-9)
    _, deviation = model.predict(X, return_std=True)
    assert_allclose(deviation**2, noise * (1.0 + ((Z @ P) * Z).sum(axis=1)), rtol=1e-9)


def test_forecaster(engine):
    """Each prediction is that of ridge regression with the row's own target 0."""
    X, y, _ = rows(60)
    model = OnlineNewtonRegressor(vovk=True, **RAW)
    said = model.partial_fit_predict(X, y)
    for r in range(len(y)):
        w, _ = ridge(X[: r + 1], np.append(y[:r], 0.0), np.ones(r + 1), 0.3)
        assert_allclose(said[r], np.append(X[r], 1.0) @ w, rtol=1e-8, atol=1e-10)
    new = rows(5, seed=3)[0]
    once = [model.predict(new[r : r + 1])[0] for r in range(5)]
    assert_allclose(model.predict(new), once, rtol=1e-12)


@pytest.mark.slow
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 1.0, 1e3]), st.booleans(), WEIGHTS
)
def test_bound(seed, unit, vovk, weights):
    """Against the best model for the bound, and others, on rows that mislead.

    It is an identity for the best model.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2, size=(40, 3)) * unit
    y = rng.choice([-1.0, 1.0, 100.0], size=40) * rng.random(40)
    c = rng.choice(weights, size=40)
    model = OnlineNewtonRegressor(vovk=vovk, prior_scale=10.0, **RAW)
    said = model.partial_fit_predict(X, y, sample_weight=c)
    y_bad = np.sign(-said) * 3.0  # the target is chosen against the learner
    for targets in (y, y_bad):
        model = OnlineNewtonRegressor(vovk=vovk, prior_scale=10.0, **RAW)
        model.partial_fit(X, targets, sample_weight=c)
        best, _ = ridge(X, targets, c / c[0], 10.0)
        for u in (best, np.zeros(4), rng.normal(size=4)):
            loss = 0.5 * np.sum(c * (targets - X @ u[:3] - u[3]) ** 2)
            regret = model.cumulative_loss_ - loss
            bound = model.regret_bound(u[:3], u[3])
            assert regret <= bound + 1e-6 * (abs(bound) + loss)
            if u is best and np.isfinite(bound):
                assert_allclose(regret, bound, rtol=1e-6, atol=1e-6 * loss)


@pytest.mark.parametrize("vovk", [False, True])
def test_there_is_a_bound_of_raw_rows_only(vovk):
    X, y, _ = rows(20)
    for changed in ({}, {"scale": True}, {"forgetting": 0.1}, {"center": True}):
        model = OnlineNewtonRegressor(vovk=vovk, **RAW | changed)
        assert hasattr(model, "regret_bound") == (not changed)
        assert hasattr(model.partial_fit(X, y), "regret_bound") == (not changed)
    model = OnlineNewtonRegressor("huber", vovk=vovk, **RAW)
    assert not hasattr(model, "regret_bound")
    if vovk:
        with pytest.raises(ValueError, match="got loss='huber'"):
            model.partial_fit(X, y)


# Log loss.


def full_covariance(model):
    """Of weights and intercept, of a model of rows as they are."""
    return model._model._matrices()[0]


@given(
    st.integers(2, 6),
    st.integers(0, 2**32 - 1),
    st.floats(-6.0, 8.0),
    st.floats(0.0, 4.0),
)
def test_step_of_several_classes(K, seed, log_step, log_size):
    """It solves g = softmax(p - s g) - e_y, however long it is."""
    rng = np.random.default_rng(seed)
    s = 10.0**log_step * rng.random(K)
    p = 10.0**log_size * rng.normal(size=K)
    y, g = int(rng.integers(K)), np.empty(K)
    CrossEntropy().row_proximal(y, p, s, g, np.empty((3, K)))
    z = p - s * g
    odds = np.exp(z - z.max())
    unit = np.arange(K) == y
    size = np.spacing(np.abs(p).max() + np.abs(z).max())
    assert_allclose(g, odds / odds.sum() - unit, rtol=0.0, atol=1e-12 + 8.0 * size)


def test_moderated_scores(engine):
    X, y, _ = rows(40)
    y = (y > np.median(y)).astype(int)
    model = OnlineNewtonClassifier(clip_deviations=None)
    said = model.partial_fit_predict(X, y, classes=[0, 1], method="decision_function")
    score = X @ model.coef_[0] + model.intercept_
    moderated, deviation = model.decision_function(X, return_std=True)
    expected = score / np.sqrt(1.0 + np.pi / 8.0 * deviation**2)
    assert_allclose(moderated, expected, rtol=1e-12)
    losses = np.logaddexp(0.0, (1 - 2 * y) * said)
    assert_allclose(model.cumulative_loss_, losses.sum(), rtol=1e-12)
    plain = OnlineNewtonClassifier(moderate=False).partial_fit(X, y, classes=[0, 1])
    score = plain.coef_[0] @ X[0] + plain.intercept_
    assert_allclose(plain.decision_function(X[:1]), score, rtol=1e-12)


# Features.


def test_values_are_clipped_after_they_are_standardised(engine):
    X, y, _ = rows()
    X[50] *= 1e6
    clipped = OnlineNewtonRegressor().partial_fit(X, y)
    free = OnlineNewtonRegressor(clip_deviations=None).partial_fit(X, y)
    assert np.abs(clipped._model.transform(X)).max() == 3.0
    assert np.abs(free._model.transform(X)).max() > 5.0
    # Without a mean there is nothing that a value is far from.
    off = OnlineNewtonRegressor(center=False).partial_fit(rows()[0] + 1e3, y)
    assert np.abs(off._model.transform(rows()[0] + 1e3)).max() > 3.0


@pytest.mark.parametrize("center", [True, "auto"])
def test_sparse_rows_are_centred(center, engine):
    X, y, _ = rows()
    X[X < 0.3] = 0.0
    model = OnlineNewtonRegressor(center=center).partial_fit(sparse.csr_array(X), y)
    dense = OnlineNewtonRegressor(center=center is True).partial_fit(X, y)
    assert_allclose(model.coef_, dense.coef_, rtol=1e-12)
    assert_allclose(model.predict(sparse.csr_array(X)), dense.predict(X), rtol=1e-9)


# A covariance that classes share.


def of_classes(n=60, n_classes=3):
    X, y, rng = rows(n, 4)
    return X, rng.integers(n_classes, size=n) * (y > np.median(y)), rng


@pytest.mark.parametrize("forgetting", [0.0, 0.02])
def test_shared_covariance(forgetting, engine):
    X, y, rng = of_classes(30)
    c = rng.exponential(size=len(y))
    options = {"forgetting": forgetting, "shared_covariance": True}
    reference = naive.OnlineNewton(5, 3, naive.CrossEntropy(), **options)
    to_means = relative_to_means(c)
    expected = [
        reference.learn([*x, 1.0], *each)
        for x, *each in zip(X.tolist(), y, to_means, strict=True)
    ]
    model = OnlineNewtonClassifier(**as_given(OnlineNewtonClassifier), **options)
    said = model.partial_fit_predict(
        X, y, classes=[0, 1, 2], sample_weight=c, method="decision_function"
    )
    assert_allclose(said, expected, rtol=1e-9, atol=1e-11)
    assert len(model._model.state().P) == 1
    assert_array_equal(*model.coef_covariance_[1:])


def test_two_classes_and_several_labels_share_nothing(engine):
    X, y, _ = of_classes()
    for targets in y > 0, np.column_stack([y > 0, y > 1, y == 0]).astype(int):
        one, other = (
            OnlineNewtonClassifier(shared_covariance=shared, shuffle=False).fit(
                X, targets
            )
            for shared in (False, True)
        )
        assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_merging_adds_shared_information(engine):
    X, y, _ = of_classes()
    raw = as_given(OnlineNewtonClassifier)
    model = OnlineNewtonClassifier(shared_covariance=True, **raw)
    parts = [
        clone(model).partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        for rows in (slice(0, 40), slice(40, 60))
    ]
    merged = merge_models(parts)
    merged._check_state()
    information = [np.linalg.inv(full_covariance(m)) for m in (*parts, merged)]
    w = [np.column_stack([m.coef_, m.intercept_]) for m in (*parts, merged)]
    prior = np.diag([*[1.0 / 0.3] * 4, 1.0])
    total = information[0] + information[1] - prior
    assert_allclose(information[2], total, rtol=1e-9, atol=1e-12)
    sums = [each @ A for each, A in zip(w, information, strict=True)]
    assert_allclose(sums[2], sums[0] + sums[1], rtol=1e-8, atol=1e-10)


def test_merging_forgets_the_start(engine):
    """A stream that forgets has forgotten the common start of its parts by now."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = X @ [1.0, -2.0, 3.0] + 0.1 * rng.normal(size=len(X))
    y[:500] *= -1.0
    model = OnlineNewtonRegressor(forgetting=0.02, standardize_target=False)
    start = model.partial_fit(X[:500], y[:500])
    parts = [
        deepcopy(start).partial_fit(X[rows], y[rows])
        for rows in (slice(500, 800), slice(800, None))
    ]
    merged = merge_models(parts, start=start)
    merged._check_state()
    assert_allclose(merged.coef_, [1.0, -2.0, 3.0], atol=0.05)


def test_merging_many_that_forget(engine):
    """Merged models know a direction no better than the parts, which all forget."""
    rng = np.random.default_rng(0)
    z, noise, y = rng.normal(size=(3, 1280, 1))
    X, y = np.hstack([z, z + 0.05 * noise]), (z + 3.0 * noise + y).ravel()
    options = {"scale": False, "center": False, "standardize_target": False}
    model = OnlineNewtonRegressor(forgetting=0.05, fit_intercept=False, **options)
    parts = [
        deepcopy(model).partial_fit(X[rows], y[rows])
        for rows in np.split(np.arange(1280), 64)
    ]
    merged = merge_models(parts)
    differences = [each.coef_[1] - each.coef_[0] for each in (merged, *parts)]
    assert 0.0 < differences[0] < max(differences[1:])


def test_too_many_features(monkeypatch):
    monkeypatch.setattr(second_order, "MAX_COVARIANCES", 100)
    X, y, _ = rows(20, 13)
    OnlineNewtonRegressor(fit_intercept=False).partial_fit(X, y)
    words = "13 features are too many for OnlineNewtonRegressor.*use ScInOLRegressor"
    with pytest.raises(ValueError, match=words):
        OnlineNewtonRegressor().partial_fit(X, y)
    labelled = X[:, :9], np.arange(20) % 3
    with pytest.raises(ValueError, match=r"3 outputs.*use ScInOLClassifier"):
        OnlineNewtonClassifier().fit(*labelled)
    OnlineNewtonClassifier(shared_covariance=True).fit(*labelled)

    wide = sparse.csr_array((3, 1_000_000))  # before anything is allocated
    with pytest.raises(ValueError, match="1000000 features are too many"):
        OnlineNewtonClassifier().partial_fit(wide, [0, 1, 0], classes=[0, 1])


# Long runs.

#: `make long` sets it to a million, on the compiled engine.
N_ROWS = int(os.environ.get("LONG_RUNS", 1_000))
of_long_runs = pytest.mark.parametrize(
    "engine", ["numba" if "LONG_RUNS" in os.environ else "numpy"], indirect=True
)


def streams():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 6))
    separable = (X[:, 0] > 0).astype(int)
    X[:, 3] = X[:, 2]
    X[:, 4] = 7.0
    X[:, 5] *= 1e100
    yield X, separable
    yield X * 1e-100, rng.integers(2, size=N_ROWS)
    yield X, np.zeros(N_ROWS, dtype=int)


@pytest.mark.cases(1)
@pytest.mark.slow
@of_long_runs
@pytest.mark.parametrize("forgetting", [0.0, 0.1])
@pytest.mark.parametrize("prior_scale", [0.3, 1e6])
def test_covariance_stays_positive(prior_scale, forgetting, engine):
    for X, y in streams():
        model = OnlineNewtonClassifier(prior_scale=prior_scale, forgetting=forgetting)
        model.partial_fit(X, y, classes=[0, 1])
        model._check_state()
        P = model._model._matrices()[0]
        largest = np.abs(P).max()
        assert np.linalg.eigvalsh(P).min() >= -1e-9 * largest
        assert np.trace(P) <= (1.0 + 1e-6) * (6 * prior_scale + max(prior_scale, 1.0))
        assert_array_equal(P, P.T)


def test_begins_again_where_rounding_leaves_nothing(engine):
    """Features of 1e95 as they are, and hardly any memory."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    X[1] *= 1e95
    model = OnlineNewtonRegressor("huber", scale=False, forgetting=0.99)
    for r in range(60):
        model.partial_fit(X[r : r + 1], y[r : r + 1])
        model._check_state()
    assert np.abs(model.predict(X[2:])).max() < 10.0
