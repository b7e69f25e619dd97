"""Learners: what they declare, and one that takes rows as vectors."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.outside import LeastSquares
from support.registry import ENGINES, LEARNERS, thoroughly
from support.sums import linear

from sklearn_scinol.baselines import BaselineRegressor
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
