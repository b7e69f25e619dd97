"""Invariances of all learners, on every kind of stream and of rows."""

import copy
import pickle
from functools import partial
from inspect import Parameter, Signature, signature

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
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
from support.registry import LAYOUTS, REPRESENTATIVES, VARIED, thinned

from sklearn_scinol.transforms import bins

in_layouts = thinned(VARIED, layout=LAYOUTS)
plain_in_layouts = thinned(REPRESENTATIVES, layout=LAYOUTS)
SCALED = [case for case in VARIED if case.variant in ("scaled", "forgetful")]


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Fix edges of bins early."""
    monkeypatch.setattr(bins, "N_SAMPLES", 12)
    monkeypatch.setattr(bins, "N_QUANTILES", 2)


def tolerance(case, least=1e-12):
    """Tolerance where sums are in another order: `least` for plain and scaled rows."""
    return least if case.variant in ("", "scaled") else 1e-9


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


@pytest.mark.cases(30)
@thinned(VARIED, layout=LAYOUTS, split=["rows", "random", "blocks"])
def test_chunks_do_not_matter(case, layout, split, engine, monkeypatch):
    make = partial(case.make, center=layout.center)
    assert_chunks_do_not_matter(case, make, layout.container, split, monkeypatch)


@pytest.mark.cases(20)
@plain_in_layouts
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
@thinned(VARIED, first=["dense", "sparse"], center=["auto", False])
def test_dense_and_sparse_chunks(case, first, center, engine):
    """Zeros of sparse rows may wait; those of dense rows must not find them waiting."""
    X, y = case.data()
    X[:, 3] *= np.arange(len(y)) < 10  # ends with zeros
    c = weights(len(y))
    containers = [np.array, sparse.csr_array]
    if first == "sparse":
        containers.reverse()
    whole, mixed = (case.make(center=center) for _ in range(2))
    case.partial_fit(whole, containers[0](X), y, sample_weight=c)
    for chunk, rows in enumerate(np.split(np.arange(len(y)), [11, 19, 33])):
        container = containers[chunk % 2]
        case.partial_fit(mixed, container(X[rows]), y[rows], sample_weight=c[rows])
    assert_close_models(mixed, whole, tolerance(case))
    new, _ = case.data(seed=3)
    decision = case.decision(whole, new)
    for container in containers:
        said = case.decision(mixed, container(new))
        assert_close(said, decision, tolerance(case))


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
        if case.has("prior_scale") and hasattr(estimator, "coef_"):
            # It adds up in another order what may cancel.
            terms = np.abs(estimator.coef_) @ np.abs(X[: r + 1]).max(axis=0)
            rounding = 1e-10 * max(np.abs(decision).max(), 1e-5 * terms.max())
        ignored = case.charged(estimator, x, label, sample_weight=np.zeros(1))
        assert_allclose(ignored, decision, rtol=1e-10, atol=rounding)
        charged = case.charged(estimator, x, label)
        assert_allclose(charged, decision, rtol=1e-10, atol=rounding)
        said = before.partial_fit_predict(x, label)
        assert_allclose(said, answer, rtol=1e-10, atol=rounding)
        assert_identical(learned(before), learned(estimator))


@pytest.mark.cases(20)
@thinned(SCALE_INVARIANT + [case for case in VARIED if case.variant], layout=LAYOUTS)
def test_powers_of_two(case, layout, engine):
    make = partial(case.make, center=layout.center)
    plain, scaled, units = assert_powers_of_two_cancel(case, make, layout.container)
    if hasattr(plain, "regret_bound"):
        coef = np.random.default_rng(5).normal(size=plain.coef_.shape)
        assert scaled.regret_bound(coef / units) == plain.regret_bound(coef)


@pytest.mark.cases(20)
@thinned(SCALE_INVARIANT + SCALED, layout=LAYOUTS)
@on_streams
def test_any_units(case, layout, rows, random):
    """Where features are centred and scaled, with any zero as well."""
    X = rows[0]
    reach = 20.0 if case.variant else 270.0
    units = 10.0 ** random.uniform(-reach, reach, size=X.shape[1])
    shift = 10.0 * random.normal(size=X.shape[1]) * X.std(axis=0)
    shift *= layout.center and case in SCALED
    plain, moved = assert_cancels(case, layout, lambda X: (X + shift) * units, rows)
    assert_close(moved.coef_ * units, plain.coef_, 1e-9)


@pytest.mark.cases(20)
@plain_in_layouts
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


@pytest.mark.cases(20)
@thinned(VARIED)
def test_refused_chunks_change_nothing(case, engine):
    """Before and after edges of bins are fixed."""
    X, y = case.data()
    model = case.make()
    for start in range(0, len(y), 8):
        rows = slice(start, start + 8)
        bad = X[rows].copy()
        bad[5, 2] = np.nan
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match="NaN"):
            case.partial_fit(model, bad, y[rows])
        assert pickle.dumps(model) == before
        case.partial_fit(model, X[rows], y[rows])
