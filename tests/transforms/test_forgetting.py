"""What `moment_forgetting` means, and what holds with it."""

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from support.comparisons import assert_close, assert_identical
from support.invariances import (
    assert_chunks_do_not_matter,
    assert_powers_of_two_cancel,
    assert_rows_of_weight_zero_change_nothing,
    weights,
)
from support.registry import LAYOUTS, compiled, compiled_runs, family, thinned
from support.scaled import ALL, assert_predictions_are_charged, make, standardized_row

from sklearn_scinol import ScInOLRegressor, config_context
from sklearn_scinol.transforms.features import FeatureTransform

FORGETTING = 0.1
CASES = [case for case in ALL if case.has("moment_forgetting")]
DENSE = LAYOUTS[:2]
# Kernels that are compiled anyway: forgetting is not a matter of types.
COMPILED = [
    run
    for run in compiled_runs()
    if family(run.case.estimator) in ("ScInOL", "AdaImplicit")
    and run.layout.container is np.array
    and run.layout.scale
]

STAY_SPARSE = [
    case for case in CASES if not (case.traits.touches_all or case.traits.by_vector)
]

in_layouts = thinned(CASES, layout=DENSE)


def forgetful(case, layout, **parameters):
    return make(case, layout, **{"moment_forgetting": FORGETTING} | parameters)


def kept_weights(c, forgets):
    """What is left of the weights of rows after the last; some rows forget."""
    n_forgetting = np.cumsum((c > 0.0) & forgets)
    return c * (1.0 - FORGETTING) ** (n_forgetting[-1:] - n_forgetting)


def standardized(X, c, center, forgets, new=()):
    """Rows as a learner is to see them, and new ones that forget, too."""
    rows = [*X, *new]
    c_of_rows, forgets = np.append(c, np.zeros(len(new))), np.append(forgets, True)
    Z = []
    for r, x in enumerate(rows):
        r = min(r, len(c))
        kept = kept_weights(c[:r], forgets[:r])
        kept *= 1.0 - FORGETTING * forgets[r]
        smallest = min(c[:r][c[:r] > 0.0], default=1.0)
        Z.append(
            standardized_row(X[:r], kept, x, c_of_rows[len(Z)] or smallest, center)
        )
    return np.split(np.array(Z), [len(X)])


# The moments.


@in_layouts
def test_plain_learner_of_standardized_rows(case, layout, engine):
    X, y = case.data()
    new, _ = case.data(seed=3)
    c = weights(len(y))
    estimator = forgetful(case, layout, target=False)
    charged = case.charged(estimator, X, y, sample_weight=c)

    plain = case.make()
    Z, Z_new = standardized(X, c, layout.center, np.full(len(c), True), new)
    with config_context(engine="numpy"):
        assert_close(charged, case.charged(plain, Z, y, sample_weight=c), 1e-9)
        expected = case.decision(plain, Z_new)
    assert_close(case.decision(estimator, new), expected, 1e-9)


@thinned(CASES)
def test_none_is_zero(case, engine):
    X, y = case.data()
    plain, none = make(case, LAYOUTS[1]), forgetful(case, LAYOUTS[1])
    none.set_params(moment_forgetting=0)
    assert_identical(case.charged(none, X, y), case.charged(plain, X, y))


# What holds as without forgetting.


@thinned(CASES, layout=DENSE, split=["rows", "random", "blocks"])
def test_chunks_do_not_matter(case, layout, split, engine, monkeypatch):
    makes = partial(forgetful, case, layout)
    assert_chunks_do_not_matter(case, makes, np.array, split, monkeypatch)


@in_layouts
def test_rows_of_weight_zero(case, layout, engine):
    makes = partial(forgetful, case, layout)
    assert_rows_of_weight_zero_change_nothing(case, makes, np.array)


@in_layouts
def test_powers_of_two(case, layout, engine):
    assert_powers_of_two_cancel(case, partial(forgetful, case, layout), np.array)


@in_layouts
def test_any_units(case, layout, engine):
    """With centring, any zero as well."""
    X, y = case.data()
    new, _ = case.data(seed=3)
    rng = np.random.default_rng(4)
    units = 10.0 ** rng.uniform(-20.0, 20.0, size=X.shape[1])
    shift = 10.0 * rng.normal(size=X.shape[1]) * X.std(axis=0) * layout.center
    plain, moved = forgetful(case, layout), forgetful(case, layout)
    assert_close(
        case.charged(moved, (X + shift) * units, y), case.charged(plain, X, y), 1e-9
    )
    assert_close(
        case.decision(moved, (new + shift) * units), case.decision(plain, new), 1e-9
    )


@in_layouts
def test_prediction_is_what_is_charged(case, layout, engine):
    assert_predictions_are_charged(case, forgetful(case, layout), np.array)


@pytest.mark.parametrize("run", COMPILED, ids=str)
@pytest.mark.parametrize(("stuck", "tolerance"), [(False, 1e-10), (True, 1e-7)])
@compiled
def test_compiled(run, stuck, tolerance, engine):
    """A feature that gets stuck loses digits before it counts as constant."""
    case = run.case
    X, y = case.data(1000)
    X[100:900, 2] = 0.3 if stuck else X[100:900, 2]
    c = weights(len(y))
    by_engine = []
    for name in engine, "numpy":
        with config_context(engine=name):
            estimator = run.make(moment_forgetting=FORGETTING)
            charged = case.charged(estimator, X, y, sample_weight=c)
            by_engine.append([charged, case.decision(estimator, X)])
    for of_compiled, of_numpy in zip(*by_engine, strict=True):
        assert_close(of_compiled, of_numpy, tolerance)


# Sparse rows.


@thinned(STAY_SPARSE, scale=[False, True])
def test_sparse_rows_forget_nothing(case, scale, engine):
    X, y = case.data()
    new, _ = case.data(seed=3)
    X, new = sparse.csr_array(X), sparse.csr_array(new)
    c = weights(len(y))
    layout = LAYOUTS[2]
    plain = make(case, layout, scale=scale)
    other = forgetful(case, layout, scale=scale)
    expected = case.charged(plain, X, y, sample_weight=c)
    assert_identical(case.charged(other, X, y, sample_weight=c), expected)
    assert_identical(case.decision(other, new), case.decision(plain, new))
    assert_identical(other.coef_, plain.coef_)


@thinned(STAY_SPARSE)
def test_sparse_chunks_in_between(case, engine):
    """What they add to the moments later dense rows forget."""
    X, y = case.data()
    c = weights(len(y))
    n = np.arange(len(y))
    forgets = (n < 11) | (n >= 19)
    estimator = forgetful(case, LAYOUTS[0], target=False)
    charged = []
    for chunk in np.split(n, [11, 19, 33]):
        rows = X[chunk] if forgets[chunk[0]] else sparse.csr_array(X[chunk])
        answers = case.charged(estimator, rows, y[chunk], sample_weight=c[chunk])
        charged.append(answers)

    plain = case.make()
    Z, _ = standardized(X, c, False, forgets)
    expected = case.charged(plain, Z, y, sample_weight=c)
    assert_close(np.concatenate(charged), expected, 1e-9)


def test_way_back_from_sparse_rows():
    transform = FeatureTransform(4, scale=True, forgetting=FORGETTING)
    transform.ensure_layout(is_sparse=False)
    restore = transform.checkpoint([1, 2])
    before = transform.kept
    transform.ensure_layout(is_sparse=True)
    assert transform.kept == 1.0
    restore()
    assert transform.kept == before == 1.0 - FORGETTING


# Features that no longer vary.


@pytest.mark.parametrize("center", [False, True])
def test_stuck_feature(center, engine):
    """It counts as constant before rounding is all that is left of its deviation."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    X[100:1500, 1] = 0.3
    X[:100, 2] = 7.0
    y = X[:, 0]
    parameters = {"center": center, "scale": True, "moment_forgetting": FORGETTING}
    estimator = ScInOLRegressor(**parameters)
    estimator.partial_fit(X[:1400], y[:1400])
    assert estimator.coef_[1] == 0.0
    assert np.all(estimator.coef_[[0, 2]] != 0.0)
    without = ScInOLRegressor(**parameters).partial_fit(X[:1400, [0, 2]], y[:1400])
    # The rows before it got stuck taught it something, which nothing is left of.
    assert_allclose(
        estimator.predict(X[1400:1500]),
        without.predict(X[1400:1500, [0, 2]]),
        atol=0.05,
    )
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
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
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


def test_features_that_drift(engine):
    """The label says whether a value is above what was usual lately."""
    rng = np.random.default_rng(0)
    drift = np.cumsum(rng.normal(size=3000))
    x = drift + rng.normal(size=3000)
    y = x - drift
    errors = []
    for forgetting in 0.0, 0.1:
        estimator = ScInOLRegressor(scale=True, moment_forgetting=forgetting)
        said = estimator.partial_fit_predict(x[:, np.newaxis], y)
        errors.append(np.abs(said - y).mean())
    assert errors[1] < 0.91 * errors[0]


@pytest.mark.parametrize("forgetting", [-0.1, 1.0, np.nan, "much"])
def test_unusable_values(forgetting):
    with pytest.raises(ValueError, match="The 'moment_forgetting' parameter of"):
        ScInOLRegressor(moment_forgetting=forgetting).fit([[1.0], [2.0]], [0, 1])
