"""What holds for every learner, whatever the stream."""

import copy
import io
import pickle
from functools import partial
from inspect import Parameter, Signature, signature

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from support.comparisons import (
    assert_close,
    assert_close_models,
    assert_identical,
    learned,
)
from support.invariances import (
    SCALE_INVARIANT,
    assert_change_cancels,
    assert_chunks_do_not_matter,
    assert_powers_of_two_cancel,
    assert_rows_of_weight_zero_change_nothing,
    weights,
)
from support.registry import LAYOUTS, REPRESENTATIVES, thinned

from sklearn_scinol import ScInOLRegressor

in_layouts = thinned(REPRESENTATIVES, layout=LAYOUTS)


def on_streams(test):
    """Run a test on twenty short streams: rows, and random numbers."""

    def test_all(engine, **parameters):
        for seed in range(20):
            case = parameters["case"]
            rows = *case.data(10, seed=seed), case.data(5, seed=seed + 100)[0]
            random = np.random.default_rng(seed + 200)
            test(**parameters, rows=rows, random=random)

    names = [name for name in signature(test).parameters if name in ("case", "layout")]
    of_test = [Parameter(name, Parameter.KEYWORD_ONLY) for name in ("engine", *names)]
    test_all.__signature__ = Signature(of_test)
    return test_all


def assert_cancels(case, layout, change, rows, **given):
    make = partial(case.make, center=layout.center)
    return assert_change_cancels(case, make, layout.container, change, rows, **given)


@pytest.mark.cases(20)
@thinned(REPRESENTATIVES, layout=LAYOUTS, split=["rows", "random", "blocks"])
def test_chunks_do_not_matter(case, layout, split, engine, monkeypatch):
    make = partial(case.make, center=layout.center)
    assert_chunks_do_not_matter(case, make, layout.container, split, monkeypatch)


@pytest.mark.cases(20)
@in_layouts
def test_fit_is_partial_fit(case, layout, engine):
    X, y = case.data()
    X, c = layout.container(X), weights(len(y))
    streamed = case.make(center=layout.center)
    case.partial_fit(streamed, X, y, sample_weight=c)
    fitted = case.make(center=layout.center, max_iter=1, tol=None, shuffle=False)
    assert_identical(learned(fitted.fit(X, y, sample_weight=c)), learned(streamed))
    assert fitted.loss_curve_ == streamed.loss_curve_

    # A second epoch is a second call.
    case.partial_fit(streamed, X, y, sample_weight=c)
    fitted.set_params(max_iter=2).fit(X, y, sample_weight=c)
    assert_identical(learned(fitted), learned(streamed))
    assert fitted.loss_curve_ == streamed.loss_curve_


@pytest.mark.cases(20)
@thinned(REPRESENTATIVES, index_dtype=[np.int32, np.int64])
def test_dense_and_sparse(case, index_dtype, engine):
    X, y = case.data()
    c = weights(len(y))
    X_sparse = sparse.csr_array(X)
    X_sparse.indices = X_sparse.indices.astype(index_dtype)
    X_sparse.indptr = X_sparse.indptr.astype(index_dtype)

    from_dense, from_sparse = case.make(), case.make()
    charged = case.charged(from_dense, X, y, sample_weight=c)
    assert_close(
        case.charged(from_sparse, X_sparse, y, sample_weight=c), charged, 1e-12
    )
    assert_close_models(from_sparse, from_dense, 1e-12)
    new, _ = case.data(seed=3)
    assert_close(
        case.decision(from_sparse, sparse.csr_array(new)),
        case.decision(from_dense, new),
        1e-12,
    )


@pytest.mark.cases(20)
@thinned(REPRESENTATIVES, center=["auto", True, False])
def test_dense_chunks_then_sparse_ones(case, center, engine):
    X, y = case.data()
    half = len(y) // 2
    whole = case.make(center=center)
    case.partial_fit(whole, X, y)
    mixed = case.make(center=center)
    case.partial_fit(mixed, X[:half], y[:half])
    rest = sparse.csr_array(X[half:])
    if center is True and not case.traits.by_vector:
        with pytest.raises(ValueError, match="center"):
            case.partial_fit(mixed, rest, y[half:])
    else:
        case.partial_fit(mixed, rest, y[half:])
        assert_close_models(mixed, whole, 1e-12)


@pytest.mark.cases(20)
@thinned(REPRESENTATIVES)
def test_sparse_chunks_then_dense_ones(case, engine):
    X, y = case.data()
    half = len(y) // 2
    whole, mixed = case.make(center="auto"), case.make(center="auto")
    case.partial_fit(whole, sparse.csr_array(X), y)
    case.partial_fit(mixed, sparse.csr_array(X[:half]), y[:half])
    case.partial_fit(mixed, X[half:], y[half:])
    assert_close_models(mixed, whole, 1e-12)


@pytest.mark.cases(20)
@in_layouts
def test_prediction_is_what_is_charged(case, layout, engine):
    X, y = case.data(15)
    X[::7] *= 10.0 ** np.random.default_rng(4).integers(9, size=X[::7].shape)
    estimator = case.make(center=layout.center)
    case.partial_fit(estimator, layout.container(X[:1]), y[:1])
    for r in range(1, len(y)):
        x, label = layout.container(X[r : r + 1]), y[r : r + 1]
        decision = case.decision(estimator, x)
        answer = estimator.predict(x)
        before = copy.deepcopy(estimator)
        rounding = 0.0
        if case.has("prior_scale"):  # adds up in another order what may cancel
            terms = np.abs(estimator.coef_) @ np.abs(X[: r + 1]).max(axis=0)
            rounding = 1e-10 * max(np.abs(decision).max(), 1e-5 * terms.max())
        charged = case.charged(estimator, x, label)
        assert_allclose(charged, decision, rtol=1e-10, atol=rounding)
        said = before.partial_fit_predict(x, label)
        assert_allclose(said, answer, rtol=1e-10, atol=rounding)
        assert_identical(learned(before), learned(estimator))


@pytest.mark.cases(20)
@thinned(
    [case for case in REPRESENTATIVES if hasattr(case.make(), "predict_proba")],
    method=["predict_proba", "predict_log_proba"],
)
def test_probabilities_before_learning(case, method, engine):
    X, y = case.data()
    estimator = case.make()
    case.partial_fit(estimator, X[:-1], y[:-1])
    expected = getattr(estimator, method)(X[-1:])
    charged = estimator.partial_fit_predict(X[-1:], y[-1:], method=method)
    assert_allclose(charged, expected, rtol=1e-12)


@thinned(SCALE_INVARIANT, layout=LAYOUTS)
def test_powers_of_two(case, layout, engine):
    make = partial(case.make, center=layout.center)
    plain, scaled, units = assert_powers_of_two_cancel(case, make, layout.container)
    if case.has_bound and not layout.center:
        coef = np.random.default_rng(5).normal(size=plain.coef_.shape)
        assert scaled.regret_bound(coef / units) == plain.regret_bound(coef)


@pytest.mark.cases(20)
@thinned(SCALE_INVARIANT, layout=LAYOUTS)
@on_streams
def test_any_units(case, layout, rows, random):
    units = 10.0 ** random.uniform(-270.0, 270.0, size=rows[0].shape[1])
    assert_cancels(case, layout, lambda X: X * units, rows)


@pytest.mark.cases(20)
@in_layouts
@on_streams
def test_permuted_features(case, layout, rows, random):
    order = random.permutation(rows[0].shape[1])
    plain, permuted = assert_cancels(case, layout, lambda X: X[:, order], rows)
    assert_close(permuted.coef_, plain.coef_[..., order], 1e-9)


@pytest.mark.cases(20)
@thinned([case for case in REPRESENTATIVES if not case.counts_features], layout=LAYOUTS)
@on_streams
def test_column_that_tells_nothing(case, layout, rows, random):
    """A column of zeros; with centring, a column of any constant."""
    constant = 0.1 if layout.center else 0.0
    c = weights(len(rows[1]))

    def with_column(X):
        return np.insert(X, 2, constant, axis=1)

    plain, wider = assert_cancels(case, layout, with_column, rows, sample_weight=c)
    assert_array_equal(wider.coef_[..., 2], 0.0)
    assert_close(np.delete(wider.coef_, 2, axis=-1), plain.coef_, 1e-9)


@pytest.mark.cases(20)
@thinned(REPRESENTATIVES)
@on_streams
def test_shifted_features(case, rows, random):
    X = rows[0]
    shift = 10.0 * random.normal(size=X.shape[1]) * X.std(axis=0)
    plain, shifted = assert_cancels(case, LAYOUTS[1], lambda X: X + shift, rows)
    assert_close(shifted.coef_, plain.coef_, 1e-9)


@pytest.mark.cases(20)
@in_layouts
def test_rows_of_weight_zero(case, layout, engine):
    make = partial(case.make, center=layout.center)
    assert_rows_of_weight_zero_change_nothing(case, make, layout.container)


def with_pickle(estimator):
    return pickle.loads(pickle.dumps(estimator))


def with_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.cases(20)
@thinned(
    REPRESENTATIVES, layout=LAYOUTS, copied=[with_pickle, with_joblib, copy.deepcopy]
)
def test_copies_go_on(case, layout, copied, engine):
    X, y = case.data()
    X, half = layout.container(X), len(y) // 2
    original = case.make(center=layout.center)
    case.partial_fit(original, X[:half], y[:half])
    revived = copied(original)
    assert_identical(learned(revived), learned(original))
    assert_identical(
        case.charged(revived, X[half:], y[half:]),
        case.charged(original, X[half:], y[half:]),
    )
    assert_identical(learned(revived), learned(original))


@pytest.mark.cases(20)
@in_layouts
def test_clone_fits_the_same(case, layout, engine):
    X, y = case.data()
    X = layout.container(X)
    original = case.make(center=layout.center, max_iter=3, tol=None, random_state=0)
    original.fit(X, y)
    refitted = clone(original).fit(X, y)
    assert_identical(learned(refitted), learned(original))
    assert_identical(learned(original.fit(X, y)), learned(refitted))
    assert refitted.loss_curve_ == original.loss_curve_


@pytest.mark.parametrize("algorithm", ["scinol1", "scinol2"])
def test_wealth_stays_finite(algorithm, engine):
    """Always wrong in the same direction, so that wealth grows as fast as it can."""
    estimator = ScInOLRegressor(algorithm=algorithm, center=False)
    predictions = estimator.partial_fit_predict(
        np.ones((3000, 2)), np.full(3000, 1e100)
    )
    assert np.isfinite(predictions).all()
    assert np.isfinite(estimator.coef_).all()
    assert np.isfinite(estimator.cumulative_loss_)
