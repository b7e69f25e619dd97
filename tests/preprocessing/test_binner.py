"""Transformers of features: bins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy import sparse
from support import naive

from sklearn_scinol.preprocessing import OnlineBinner


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
