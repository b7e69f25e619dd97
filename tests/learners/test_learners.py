"""Learners: what they declare, one that takes rows as vectors, and competitors."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from support.outside import LeastSquares
from support.registry import ENGINES, LEARNERS, thoroughly
from support.sums import linear

from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.learners.interface import traits

# What papers say of the algorithms; the registry goes by what the learners say.

FACTS = {
    "scale_invariant": "scinol1 scinol2 nag sfmd k17 freegrad coin",
    "bounded_gradients": "scinol1 scinol2 k17 freegrad coin",
    "implicit": "adaimplicit constant iomd online_newton code",
    "in_ball": "adaimplicit constant iomd ogd adaogd koolen orabona_pal",
    "bounds_regret": (
        "scinol1 scinol2 adaimplicit constant iomd sgd ogd adaogd kernel_gd dfeg "
        "koolen orabona_pal online_newton"
    ),
    "reaches": "scinol1 scinol2 nag sfmd k17 freegrad coin",
    "touches_all": "adam online_newton",
    "by_row": (
        "adaimplicit constant iomd sgd ogd adaogd kernel_gd nag k17 dfeg koolen "
        "orabona_pal code"
    ),
    "by_vector": "online_newton",
}


@pytest.mark.parametrize("trait", FACTS)
def test_traits(trait):
    having = {name for name in LEARNERS if getattr(traits(LEARNERS[name]), trait)}
    assert having == set(FACTS[trait].split())


# A learner of rows as vectors, with a matrix of its own.


def least_squares(X, Y, penalty):
    """Predictions before each row, and the weights after all."""
    X = np.column_stack([X, np.ones(len(X))])

    def solved(r):
        return np.linalg.solve(
            penalty * np.eye(X.shape[1]) + X[:r].T @ X[:r], X[:r].T @ Y[:r]
        )

    return np.array([X[r] @ solved(r) for r in range(len(X))]), solved(len(X)).T


@pytest.mark.parametrize(
    ("n_outputs", "engine"),
    [*product([1, 2], ENGINES), *thoroughly((2, "numba"))],
    indirect=["engine"],
)
def test_learner_of_vectors(n_outputs, engine):
    """The loss is (y - p)^2 / 2, or steps would be twice as long."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = linear(X, rng.normal(size=(3, n_outputs))) + 0.1 * rng.normal(size=(40, 1))
    expected, weights = map(np.squeeze, least_squares(X, Y + 1.0, 0.5))
    Y = np.squeeze(Y + 1.0)
    model = BaselineRegressor(LeastSquares(0.5), loss="squared_error", center=False)
    said = [
        model.partial_fit_predict(X[rows], Y[rows])
        for rows in np.split(np.arange(40), [1, 2, 30])
    ]
    assert_allclose(np.concatenate(said), expected, rtol=1e-10, atol=1e-12)
    assert_allclose(model.coef_, weights[..., :3], rtol=1e-12)
    assert_allclose(np.squeeze(model.intercept_), weights[..., 3], rtol=1e-12)
    at_rest = X @ model.coef_.T + np.squeeze(model.intercept_)
    assert_allclose(model.predict(X), at_rest, rtol=1e-12)


# Tests of learners with a rate or a bet, which the papers compare with.


def rows(n=60):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    return X, linear(X, rng.standard_normal(4)) + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_cocob_does_not_mind_the_unit_of_the_loss(container, engine):
    X, y = rows()
    model = BaselineRegressor("cocob", center=False)
    plain = clone(model).partial_fit_predict(container(X), y)
    for unit in 2.0**-8, 2.0**100:
        c = np.full(len(y), unit)
        said = clone(model).partial_fit_predict(container(X), y, sample_weight=c)
        assert_array_equal(said, plain)


@pytest.mark.thorough
def test_sparse_rows_of_adam_are_made_dense_a_block_at_a_time():
    """All of them at once would take 120 MB."""
    X = sparse.random(300, 50_000, density=1e-4, format="csr", random_state=0)
    y = np.arange(300) % 2
    model = BaselineClassifier("adam").partial_fit(X[:2], y[:2], classes=[0, 1])
    tracemalloc.start()
    model.partial_fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40e6


@pytest.mark.parametrize("algorithm", ["coin", "freegrad", "k17"])
def test_losses_without_a_bounded_slope(algorithm):
    words = f"loss='squared_error' is not supported with algorithm='{algorithm}'"
    with pytest.raises(ValueError, match=words):
        BaselineRegressor(algorithm, loss="squared_error").fit(*rows())
