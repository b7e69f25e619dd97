"""Transformers of features: bins."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from support import naive
from support.comparisons import assert_identical

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.evaluation import progressive_validation
from sklearn_scinol.preprocessing import OnlineBinner


@pytest.mark.cases(150)
@parametrize_with_checks([OnlineBinner(), OnlineBinner(n_samples=3, n_quantiles=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            rng.normal(size=n),
            np.where(rng.random(n) < 0.9, 0.0, rng.exponential(size=n)),
            rng.integers(0, 2, n),
            np.full(n, 7.0),
            rng.integers(0, 5, n),
            np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        ]
    )


def naive_codes(X, n_samples, n_quantiles):
    """By loops over rows and features, from what the docstring says."""
    n_columns = 2 * n_quantiles + 2
    codes = np.zeros((len(X), X.shape[1], n_columns))
    for j, first in enumerate(X[:n_samples].T):
        edges = naive.edges_of(first, n_quantiles)
        for i, value in enumerate(X[:, j]):
            if value != value:
                codes[i, j, -1] = 1
            elif edges:
                codes[i, j, sum(edge < value for edge in edges)] = 1
    return codes.reshape(len(X), -1)


@pytest.mark.parametrize("n_samples", [30, 50, 200])
@pytest.mark.parametrize("n_quantiles", [1, 3, 8])
def test_codes(n_samples, n_quantiles):
    X = rows()
    binner = OnlineBinner(n_samples, n_quantiles)
    codes = binner.fit_transform(X)
    assert isinstance(codes, sparse.csr_array)
    assert_array_equal(codes.toarray(), naive_codes(X, n_samples, n_quantiles))
    assert codes.sum(axis=1).max() <= X.shape[1]
    assert [edges.size > 0 for edges in binner.edges_] == [True] * 2 + [False] * 2 + [
        True
    ] * 2
    assert all(np.all(holds) for _, holds in binner._state.invariants())


@pytest.mark.parametrize("size", [1, 7, 49, 51])
def test_chunks_do_not_matter(size):
    X = rows()
    whole, parts = OnlineBinner().partial_fit(X), OnlineBinner()
    for start in range(0, len(X), size):
        parts.partial_fit(X[start : start + size])
        assert all(np.all(holds) for _, holds in parts._state.invariants())
    assert_identical(vars(parts), vars(whole))
    assert parts.n_samples_seen_ == len(X)


def test_rows_before_have_no_codes():
    X = rows()
    binner = OnlineBinner(n_samples=50).partial_fit(X[:49])
    assert binner.transform(X).nnz == 0
    assert [edges.size for edges in binner.edges_] == [0] * 6
    before = binner.transform(X).shape
    binner.partial_fit(X[49:50])
    codes = binner.transform(X)
    assert codes.nnz > 0
    assert codes.shape == before
    # Nothing changes any more.
    binner.partial_fit(1e6 * X[50:])
    assert_array_equal(binner.transform(X).toarray(), codes.toarray())
    assert binner.fit(1e6 * X).edges_[0].max() > 1e5


INCREASING = {
    "logarithm": np.log,
    "cube": lambda X: X**3,
    "reciprocal": lambda X: -1 / X,
    "rank": lambda X: np.unique(X, return_inverse=True)[1].reshape(X.shape),
    "units": lambda X: 1e-30 * X,
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("function", INCREASING.values(), ids=INCREASING)
@given(
    X=arrays(
        float, (40, 2), elements=st.integers(1, 30) | st.sampled_from([1e-3, 1e3, 0.5])
    )
)
def test_only_the_order_matters(function, X):
    plain = OnlineBinner(n_samples=25).fit_transform(X)
    other = OnlineBinner(n_samples=25).fit_transform(function(X))
    assert_array_equal(other.toarray(), plain.toarray())


def test_names():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X = rows()[:, :2]
    binner = OnlineBinner(n_quantiles=2).fit(X)
    of_one = ["bin0", "bin1", "bin2", "bin3", "bin4", "missing"]
    expected = [f"x{j}_{code}" for j in range(2) for code in of_one]
    assert [*binner.get_feature_names_out()] == expected
    named = OnlineBinner(n_quantiles=2).fit(pandas.DataFrame(X, columns=["a", "b"]))
    assert named.get_feature_names_out()[5] == "a_missing"
    assert binner.transform(X).shape[1] == len(expected)


def test_in_a_pipeline():
    """A step function tells what no line does."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    y = 1 * (np.abs(X[:, 0]) < 0.7)
    chunks = [(X[s : s + 20], y[s : s + 20]) for s in range(0, 1000, 20)]
    accuracy = {}
    for model in (
        ScInOLClassifier(),
        make_pipeline(OnlineBinner(), ScInOLClassifier()),
    ):
        result = progressive_validation(
            model, chunks, metrics="accuracy", classes=[0, 1]
        )
        accuracy[type(model).__name__] = result.scores["accuracy"]
    assert accuracy["ScInOLClassifier"] < 0.6
    assert accuracy["Pipeline"] > 0.85


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.ones((3, 5)), "X has 5 features, but OnlineBinner is expecting 6"),
        (np.full((3, 6), np.inf), "Input X contains infinity"),
        (np.full((3, 6), "a"), "could not convert string to float"),
        (np.ones((0, 6)), "Found array with 0 sample"),
        (np.ones(6), "Expected 2D array, got 1D array"),
    ],
)
def test_bad_rows_leave_the_bins_alone(X, words):
    binner = OnlineBinner().partial_fit(rows(30))
    before = pickle.dumps(binner)
    for method in binner.partial_fit, binner.fit, binner.transform:
        if method == binner.fit and "features" in words:
            continue
        with pytest.raises(ValueError, match=words):
            method(X)
    assert pickle.dumps(binner) == before


def test_what_cannot_be_asked_yet():
    binner = OnlineBinner()
    with pytest.raises(NotFittedError):
        binner.transform([[1.0]])
    with pytest.raises(NotFittedError):
        binner.edges_  # noqa: B018
    with pytest.raises(NotFittedError):
        binner.get_feature_names_out()


@pytest.mark.parametrize("parameter", ["n_samples", "n_quantiles"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "8", None])
def test_bad_parameters(parameter, value):
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter of"):
        OnlineBinner(**{parameter: value}).partial_fit([[1.0]])
