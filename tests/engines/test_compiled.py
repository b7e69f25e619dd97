"""What really is compiled: a covering set of kernels, against NumPy and with itself.

That the loops do the right thing is tested uncompiled, all over. What a compiler adds
is another order of sums, other elementary functions, vectors of numbers and memory that
overlaps: here each kernel meets what would show.
"""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from support.comparisons import (
    assert_close,
    assert_close_models,
    assert_identical,
    learned,
)
from support.invariances import (
    assert_chunks_do_not_matter,
    assert_powers_of_two_cancel,
    assert_rows_of_weight_zero_change_nothing,
    weights,
)
from support.registry import Case, compiled, compiled_runs, thoroughly

from sklearn_scinol import (
    DFEGClassifier,
    DFEGRegressor,
    ScInOLRegressor,
    config_context,
)
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor

pytest.importorskip("numba", reason="numba is not installed")


def stream(run):
    """Rows to learn from, their targets and weights, and new rows."""
    X, y = run.case.data()
    new, _ = run.case.data(seed=3)
    container = run.layout.container
    return container(X), y, weights(len(y)), container(new)


def tolerance(case):
    """In a ball, predictions of rows as long as these are differences."""
    return 1e-11 if case.algorithm in ("koolen", "orabona_pal") else 1e-12


@pytest.mark.parametrize("run", compiled_runs(), ids=str)
@compiled
def test_run(run, engine, monkeypatch):
    """All that is compared of a kernel, so that it is compiled once."""
    case, container = run.case, run.layout.container
    assert_engines_agree(run)
    for split in "random", "blocks":
        assert_chunks_do_not_matter(case, run.make, container, split, monkeypatch)
    if case.traits.scale_invariant or run.layout.scale:
        assert_powers_of_two_cancel(case, run.make, container)
    assert_rows_of_weight_zero_change_nothing(case, run.make, container)
    assert_copies_go_on(run)


def assert_engines_agree(run):
    """With dense rows in NumPy, where the compiled ones are sparse."""
    case, half = run.case, 20
    X, y, c, new = stream(run)
    with config_context(engine="numpy"):
        expected, by_turns, whole = (run.make() for _ in range(3))
        dense, dense_new = (run.case.data(seed=seed)[0] for seed in (None, 3))
        charged = case.charged(expected, dense, y, sample_weight=c)
        decision = case.decision(expected, dense_new)
        case.partial_fit(by_turns, X[:half], y[:half], sample_weight=c[:half])
    assert_close(case.charged(whole, X, y, sample_weight=c), charged, 1e-12)
    case.partial_fit(by_turns, X[half:], y[half:], sample_weight=c[half:])
    for model in whole, by_turns:
        assert_close_models(model, expected, tolerance(case))
        assert_close(case.decision(model, new), decision, tolerance(case))


def assert_copies_go_on(run):
    case, half = run.case, 20
    X, y, c, new = stream(run)
    original = run.make()
    case.partial_fit(original, X[:half], y[:half], sample_weight=c[:half])
    copies = [pickle.loads(pickle.dumps(original)), copy.deepcopy(original)]
    charged = case.charged(original, X[half:], y[half:])
    for revived in copies:
        assert_identical(case.charged(revived, X[half:], y[half:]), charged)
        assert_identical(learned(revived), learned(original))
        assert_identical(case.decision(revived, new), case.decision(original, new))


@pytest.mark.thorough
@compiled
def test_sparse_rows_of_one_feature(engine):
    """Arrays of one number have another type than others, for which nothing is made."""
    X = np.random.default_rng(0).standard_normal((30, 1))
    model = ScInOLRegressor(center=False, fit_intercept=False)
    with config_context(engine="numpy"):
        dense = clone(model).partial_fit_predict(X, X[:, 0])
    assert_close(model.partial_fit_predict(sparse.csr_array(X), X[:, 0]), dense, 1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "case",
    [
        Case(DFEGClassifier, "log_loss", "dfeg", 3, average=15),
        Case(DFEGClassifier, "hinge", "dfeg"),
        Case(DFEGRegressor, "quantile", "dfeg", 3),
        *thoroughly(Case(DFEGRegressor, "absolute_error", "dfeg", average=15)),
        Case(BaselineClassifier, "log_loss", "kernel_gd", average=15),
        *thoroughly(Case(BaselineRegressor, "huber", "kernel_gd", 3)),
    ],
    ids=str,
    scope="module",
)
@compiled
def test_combinations_of_rows(case, engine):
    def make():
        return case.make(kernel="rbf", gamma=0.5)

    X, y = case.data()
    X /= np.abs(X).max(axis=0)
    c, new = weights(len(y)), X[::-1] * 0.7
    with config_context(engine="numpy"):
        expected = make()
        charged = case.charged(expected, X, y, sample_weight=c)
        decision = case.decision(expected, new)
    whole, parts = make(), make()
    assert_close(case.charged(whole, X, y, sample_weight=c), charged, 1e-12)
    assert_close(case.decision(whole, new), decision, 1e-12)
    assert_close(whole.dual_coef_, expected.dual_coef_, 1e-12)
    for rows in np.split(np.arange(len(y)), [1, 7, 20]):
        case.partial_fit(parts, X[rows], y[rows], sample_weight=c[rows])
    assert_allclose(case.decision(parts, new), decision, rtol=1e-10)
