"""What `moment_forgetting` means, and what holds with it."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from support.comparisons import assert_close, assert_identical
from support.invariances import weights
from support.registry import ENGINES, LAYOUTS, compiled, compiled_runs, family, thinned
from support.scaled import (
    ALL,
    make,
    weights_of_standardised,
)

from sklearn_scinol import ScInOLRegressor, config_context
from sklearn_scinol._shards import Shards
from sklearn_scinol.blocks import CSRRows, DenseRows
from sklearn_scinol.config import current_engine
from sklearn_scinol.models.weights import WeightScale
from sklearn_scinol.transforms.features import FeatureTransform
from sklearn_scinol.transforms.placement import Placement

FORGETTING = 0.1
CASES = [case for case in ALL if case.has("moment_forgetting")]
# Kernels that are compiled anyway: forgetting is not a matter of types.
COMPILED = [
    run
    for run in compiled_runs()
    if family(run.case.estimator) in ("ScInOL", "AdaImplicit") and run.layout.scale
]

in_layouts = thinned(CASES, layout=LAYOUTS)


def standardized(X, c, center, forgetting, new=()):
    """Rows as a learner is to see them, and new ones, by sums over the rows before.

    Rows of weight 0 have the smallest weight of those before, as in estimators.
    """
    rows, c = np.array([*X, *new]), np.append(c, np.zeros(len(new)))
    Z = []
    for r, x in enumerate(rows):
        n = min(r, len(X))
        counts = c[:n] > 0.0
        ages = np.cumsum(counts[::-1])[::-1][counts]
        left = c[:n][counts] * (1.0 - forgetting) ** ages
        left = np.append(left, c[r] or min(c[:n][counts], default=1.0))
        seen = np.vstack([X[:n][counts], x])
        mean = left @ seen / left.sum()
        deviation = np.sqrt(left @ (seen - mean) ** 2 / left.sum())
        varies = deviation > 1e-8 * np.abs(mean)
        z = x - mean if center else x
        Z.append(np.where(varies, z / np.where(varies, deviation, 1.0), 0.0))
    return np.split(np.array(Z), [len(X)])


def assert_learns_standardized_rows(case, layout, forgetting, **parameters):
    X, y = case.data()
    new, _ = case.data(seed=3)
    c, container = weights(len(y)), layout.container
    estimator = make(case, layout, target=False, **parameters)
    charged = case.charged(estimator, container(X), y, sample_weight=c)
    plain = case.make()
    Z, Z_new = standardized(X, c, layout.center, forgetting, new)
    with config_context(engine="numpy"):
        c = weights_of_standardised(case, c)
        expected = case.charged(plain, container(Z), y, sample_weight=c)
        assert_close(charged, expected, 1e-9)
        expected = case.decision(plain, container(Z_new))
    assert_close(case.decision(estimator, container(new)), expected, 1e-9)


@thinned([case for case in ALL if not case.traits.by_vector], layout=LAYOUTS)
def test_scaling(case, layout, engine):
    assert_learns_standardized_rows(case, layout, 0.0)


# The moments.


@in_layouts
def test_forgetting(case, layout, engine):
    forgetting = {"moment_forgetting": FORGETTING}
    assert_learns_standardized_rows(case, layout, FORGETTING, **forgetting)


@pytest.mark.cases(2)
@pytest.mark.parametrize("run", COMPILED, ids=str)
@compiled
def test_compiled(run, engine):
    """A feature that gets stuck loses digits before it counts as constant."""
    case = run.case
    X, y = case.data(1000)
    c = weights(len(y))
    for stuck, tolerance in (False, 1e-10), (True, 1e-7):
        X[100:900, 2] = 0.3 if stuck else X[100:900, 2]
        rows, by_engine = run.layout.container(X), []
        for name in engine, "numpy":
            with config_context(engine=name):
                estimator = run.make(moment_forgetting=FORGETTING)
                charged = case.charged(estimator, rows, y, sample_weight=c)
                by_engine.append([charged, case.decision(estimator, rows)])
        for of_compiled, of_numpy in zip(*by_engine, strict=True):
            assert_close(of_compiled, of_numpy, tolerance)


# Sparse rows.


@thinned(CASES)
def test_without_moments_that_could_forget(case, engine):
    """Of sparse rows that are not scaled; and forgetting 0 is none."""
    X, y = case.data()
    c = weights(len(y))
    for rows, layout, changes in (
        (sparse.csr_array(X), LAYOUTS[2], [{}, {"moment_forgetting": FORGETTING}]),
        (X, LAYOUTS[1], [{"scale": True}, {"scale": True, "moment_forgetting": 0}]),
    ):
        models = [make(case, layout, **{"scale": False} | each) for each in changes]
        said = [case.charged(each, rows, y, sample_weight=c) for each in models]
        assert_identical(*said)
        assert_identical(*(case.decision(each, rows) for each in models))


class Scaled:
    """Rows as the transform of a stream scales them."""

    def __init__(self, n_features, forgetting):
        self.features = FeatureTransform(n_features, scale=True, forgetting=forgetting)
        self.weight_scale = WeightScale()

    def learn(self, X, c, is_sparse=True):
        c = self.weights(c)
        self.features.ensure_layout(is_sparse)
        engine = current_engine()
        if not is_sparse:
            return self.features.learn(engine, DenseRows(X.copy()), c).X
        X = sparse.csr_array(X)
        rows = X.data, X.indices.astype(np.uint32), X.indptr.astype(np.int32)
        learned = self.features.learn(engine, CSRRows(*rows), c)
        return sparse.csr_array((learned.data, X.indices, X.indptr), X.shape).toarray()

    def weights(self, c):
        weights = self.weight_scale.relative(c)
        self.weight_scale.learned(weights)
        return weights

    def predict(self, X):
        with np.errstate(all="ignore"):
            return self.features.transform(X, self.weight_scale.smallest)


@st.composite
def sparse_streams(draw):
    """Rows with gaps, their weights, the ends of chunks, and which are sparse."""
    value = st.sampled_from([0.0, 1.0, -1.0, 1.0 + 1e-9]) | st.floats(-1e3, 1e3)
    value = value.filter(lambda x: x == 0.0 or abs(x) > 1e-3)
    row = st.tuples(value, value, value)
    runs = draw(st.lists(st.tuples(row, st.integers(0, 60)), min_size=1, max_size=8))
    X = np.zeros((sum(1 + gap for _, gap in runs), 3))
    X[np.cumsum([0] + [1 + gap for _, gap in runs[:-1]])] = [x for x, _ in runs]
    weight = st.sampled_from([1.0, 1.0, 0.0, 0.5, 1e-3, 1e3])
    c = draw(st.lists(weight, min_size=len(X), max_size=len(X)))
    cuts = draw(st.lists(st.integers(0, len(X)), max_size=6))
    are_sparse = draw(st.lists(st.booleans(), min_size=7, max_size=7))
    return X, np.array(c), sorted(cuts), are_sparse


@pytest.mark.thorough
@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(stream=sparse_streams(), forgetting=st.sampled_from([1e-6, 0.01, 0.1, 0.9]))
def test_sums_over_all_rows(engine, stream, forgetting):
    X, c, cuts, are_sparse = stream
    whole, parts, mixed = (Scaled(3, forgetting) for _ in range(3))
    Z, new = whole.learn(X, c), np.array([[1.0, 0.0, -3.0]])
    expected, of_new = standardized(X, c, False, forgetting, new)
    assert_allclose(Z, expected, rtol=1e-6, atol=1e-12)
    chunks = np.split(np.arange(len(X)), cuts)
    assert_identical(np.vstack([parts.learn(X[i], c[i]) for i in chunks]), Z)
    assert_identical(parts.features.moments, whole.features.moments)
    assert_identical(parts.features._weight_sum, whole.features._weight_sum)
    of_mixed = [
        mixed.learn(X[i], c[i], is_sparse)
        for i, is_sparse in zip(chunks, are_sparse, strict=False)
    ]
    assert_allclose(np.vstack(of_mixed), expected, rtol=1e-6, atol=1e-12)
    predicted = whole.predict(sparse.csr_array(new)).toarray()
    assert_allclose(predicted, of_new, rtol=1e-6)
    assert_allclose(whole.predict(new), of_new, rtol=1e-6)


@pytest.mark.parametrize("engine", [*ENGINES, "numba"], indirect=True)
def test_long_gap(engine):
    """What came long ago counts nothing, and nothing overflows on the way."""
    n = 10**6 if engine == "numba" else 10**4
    scaled, rng = Scaled(3, 0.1), np.random.default_rng(0)
    first = rng.normal(size=(50, 3))
    scaled.learn(first, np.ones(50))
    kinds = np.append(np.zeros(n, np.int32), 1)
    indptr = np.cumsum(np.append(0, kinds), dtype=np.int32)
    engine = current_engine()
    rows = CSRRows(np.array([2.0]), np.array([1], np.uint32), indptr)
    c = scaled.weights(np.ones(n + 1))
    learned = scaled.features.learn(engine, rows, c)
    # The only value of weight 1 among rows of total weight 10.
    assert_allclose(learned.data, 1.0 / np.sqrt(0.1 * 0.9), rtol=1e-9)
    assert scaled.features.n_sparse == n + 51
    assert np.isfinite(scaled.features.moments).all()
    mean, variance = scaled.features.mean_and_variance()
    assert_allclose(mean, [0.0, 0.2, 0.0], atol=1e-100)
    assert_allclose(variance, [0.0, 4.0 * 0.09, 0.0], atol=1e-100)
    later = scaled.learn(np.array([[1.0, 0.0, 3.0]]), np.ones(1))
    assert_allclose(later, [[1.0 / 0.3, 0.0, 1.0 / 0.3]], rtol=1e-9)


def stream(n=60, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(2.0, 1.0, (n, n_features)) * (rng.random((n, n_features)) < 0.2)
    return X, weights(n, seed + 1)


def test_merged(engine):
    """Like transforms of the same rows that are dense, also later."""
    by_layout = []
    for is_sparse in True, False:
        transforms = []
        for seed in range(4):
            scaled = Scaled(4, FORGETTING)
            scaled.learn(*stream(seed=seed), is_sparse)
            transforms.append(scaled.features)
        start, *members = transforms
        shards = Shards(members, start, [0.5, 0.3, 0.2])
        merged, _ = FeatureTransform.merged(shards)
        assert all(np.all(holds) for _, holds in merged.invariants())
        by_layout.append([merged.weight_sum, *merged.mean_and_variance()])
        scaled.features = merged
        by_layout[-1].append(scaled.learn(*stream(seed=5), is_sparse))
    for of_sparse, of_dense in zip(*by_layout, strict=True):
        assert_close(np.array(of_sparse), np.array(of_dense), 1e-9)


@pytest.mark.parametrize("columns", [[2, 0, 1, 3], [3, 3, 1, 0, 2, 2]])
def test_other_columns(columns, engine):
    """They go on as if the columns had always been there."""
    X, c = stream()
    shares = sparse.csr_array(np.eye(4)[columns])
    scaled, expected = Scaled(4, FORGETTING), Scaled(len(columns), FORGETTING)
    scaled.learn(X[:40], c[:40])
    expected.learn(X[:40, columns], c[:40])
    before = scaled.features
    scaled.features = before.with_columns(Placement(shares, shares))
    assert_close(
        scaled.learn(X[40:, columns], c[40:]),
        expected.learn(X[40:, columns], c[40:]),
        1e-9,
    )
    assert scaled.features.n_sparse > before.n_sparse  # shares no array with it


# Features that no longer vary.


@pytest.mark.parametrize("center", [False, True])
def test_stuck_feature(center, engine):
    """It counts as constant before rounding is all that is left of its deviation."""
    X = np.random.default_rng(0).normal(size=(2000, 3))
    X[100:1500, 1] = 0.3
    X[:100, 2] = 7.0
    y = X[:, 0]
    parameters = {"center": center, "scale": True, "moment_forgetting": FORGETTING}
    estimator, without = (ScInOLRegressor(**parameters) for _ in range(2))
    estimator.partial_fit(X[:1400], y[:1400])
    assert estimator.coef_[1] == 0.0
    assert np.all(estimator.coef_[[0, 2]] != 0.0)
    without.partial_fit(X[:1400, [0, 2]], y[:1400])
    # The rows before it got stuck taught it something, which nothing is left of.
    expected = without.predict(X[1400:1500, [0, 2]])
    assert_allclose(estimator.predict(X[1400:1500]), expected, atol=0.05)
    errors = [
        np.abs(model.partial_fit_predict(rows, y[1400:]) - y[1400:])[100:].mean()
        for model, rows in ((estimator, X[1400:]), (without, X[1400:, [0, 2]]))
    ]
    assert errors[0] < 1.1 * errors[1]
    assert estimator.coef_[1] != 0.0


def test_units_of_a_stuck_feature(engine):
    """On the way to counting as constant it loses digits, as the user guide says."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    X[100:, 1] = 0.3
    y = X[:, 0]
    said = [
        ScInOLRegressor(scale=True, moment_forgetting=FORGETTING).partial_fit_predict(
            X * units, y
        )
        for units in (np.ones(3), np.array([3.7, 1e-13 / 3.0, 7e20]))
    ]
    assert_close(said[1], said[0], 1e-7)


@st.composite
def stuck_values(draw):
    """One feature that stays at a value for long, in turns, and weights of its rows."""
    value = st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0, 1.0 + 1e-9, 1e100])
    runs = draw(st.lists(st.tuples(value, st.integers(1, 400)), min_size=1, max_size=5))
    values = np.repeat(*map(np.array, zip(*runs, strict=True)))
    c = draw(st.sampled_from([1.0, 1e-3, 1e6])) ** (np.arange(len(values)) % 3)
    return values, c


@pytest.mark.slow
@pytest.mark.parametrize("center", [False, True])
@settings(suppress_health_check=list(HealthCheck))
@given(rows=stuck_values(), forgetting=st.floats(1e-6, 1.0, exclude_max=True))
def test_no_value_is_far(center, engine, rows, forgetting):
    """One of share a is at most sqrt((1 - a) / a) deviations from the mean."""
    values, c = rows
    estimator = ScInOLRegressor(
        center=center, scale=True, moment_forgetting=forgetting, fit_intercept=False
    )
    X = values[:, np.newaxis]
    charged = estimator.partial_fit_predict(X, values, sample_weight=c)
    assert np.isfinite(charged).all()
    assert np.isfinite(estimator.predict(X)).all()
    assert np.isfinite(estimator.coef_).all()
    if center:
        features = estimator._model.features
        weight_sum = features.weight_sum * (1.0 - forgetting)
        with np.errstate(all="ignore"):
            Z = features.transform(X, 1.0)
        assert np.abs(Z).max() <= np.sqrt(weight_sum) * (1.0 + 1e-9)


def test_tiny_value_long_ago(engine):
    """Its weight is infinite by now, and the target has long been the same."""
    values = np.zeros(41)
    values[0] = 7e-304
    estimator = ScInOLRegressor(scale=True, moment_forgetting=0.5, fit_intercept=False)
    estimator.partial_fit(values[:, np.newaxis], values)
    assert estimator.coef_ == [0.0]
