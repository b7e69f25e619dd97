"""A call that fails while it learns leaves the estimator as it was."""

import copy
from operator import methodcaller

import numpy as np
import pytest
from scipy import sparse
from support.comparisons import assert_identical

from sklearn_scinol import HedgeRegressor, ScInOLRegressor
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.models.linear import LinearModel

N_FEATURES = 40
containers = pytest.mark.parametrize(
    "container", [np.array, sparse.csr_array], ids=["dense", "sparse"]
)
# One row, rows with fewer entries than there are features, rows with more.
amounts = pytest.mark.parametrize("n_rows", [1, 12, 300])


REFUSED = r"under-/overflow occurred|NaN or infinity|sums of losses are too large"


def rows(n, seed=0):
    """Rows with three entries each."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, N_FEATURES))
    for x in X:
        x[rng.choice(8, 3, replace=False)] = rng.normal(1.0, 0.1, size=3)
    return X


def diverging(**parameters):
    """Learns at a rate that only rows of 1e-10 can bear."""
    defaults = {"learning_rate": 1e20, "fit_intercept": False, "center": False}
    return BaselineRegressor("sgd", loss="squared_error", **defaults | parameters)


def assert_unchanged_by(fail, estimator):
    """Every attribute is bitwise what it was, and is not what it was by chance."""
    before = copy.deepcopy(estimator)
    with pytest.raises(ValueError, match=REFUSED):
        fail(estimator)
    assert_identical(vars(estimator), vars(before))
    return before


def assert_go_on_alike(one, other, X, y):
    assert_identical(one.partial_fit_predict(X, y), other.partial_fit_predict(X, y))
    assert_identical(vars(one), vars(other))


@containers
@amounts
@pytest.mark.parametrize("average", [False, 3])
def test_rows_too_large_for_the_rate(n_rows, container, average, engine):
    tame = container(rows(20) * 1e-10), np.full(20, 1e98)
    wild = container(rows(n_rows, seed=1) * 1e95), np.ones(n_rows)
    estimator = diverging(average=average).partial_fit(*tame)
    assert np.isfinite(estimator.coef_).all()
    assert estimator.coef_.any()
    for method in "partial_fit", "partial_fit_predict":
        for weights in {}, {"sample_weight": np.ones(n_rows)}:
            fail = methodcaller(method, *wild, **weights)
            before = assert_unchanged_by(fail, estimator)
    assert_go_on_alike(estimator, before, *tame)


@pytest.mark.parametrize("average", [False, 3])
def test_balls(average, engine, monkeypatch):
    """Now and then a sparse row changes what is kept of all features."""
    X, y = sparse.csr_array(rows(30)), np.random.default_rng(0).normal(size=30)
    model = BaselineRegressor(
        "ogd", loss="squared_error", learning_rate=1e6, radius=1e-9, average=average
    )
    model.partial_fit(X[:1], y[:1])
    for i in range(1, 30):
        with monkeypatch.context() as patch:
            patch.setattr(LinearModel, "is_finite", lambda *_: False)
            assert_unchanged_by(methodcaller("partial_fit", X[[i]], y[[i]]), model)
        model.partial_fit(X[[i]], y[[i]])


@containers
@pytest.mark.parametrize("n_rows", [12, 300])
def test_scaled_rows(n_rows, container, engine):
    """Their moments go back as well: those of the columns that came up, and all."""
    tame = container(rows(20)), np.zeros(20)
    wild = container(rows(n_rows, seed=1)), np.ones(n_rows)
    estimator = diverging(scale=True).partial_fit(*tame)
    assert estimator._model.features.moments.any()
    before = assert_unchanged_by(lambda e: e.partial_fit(*wild), estimator)
    assert_go_on_alike(estimator, before, *tame)


@pytest.mark.parametrize("n_rows", [12, 300])
def test_standardised_rows_and_targets(n_rows, engine):
    tame = rows(20), np.full(20, 3.0)
    wild = rows(n_rows, seed=1), np.random.default_rng(0).normal(size=n_rows)
    parameters = {"center": True, "scale": True, "standardize_target": True}
    estimator = diverging(**parameters).partial_fit(*tame)
    before = assert_unchanged_by(lambda e: e.partial_fit(*wild), estimator)
    assert_go_on_alike(estimator, before, *tame)


@containers
@pytest.mark.parametrize("n_rows", [2, 300])
def test_several_classes(n_rows, container, engine):
    tame = container(rows(20) * 1e-10), np.arange(20) % 3
    wild = container(rows(n_rows, seed=1) * 1e95), np.arange(n_rows) % 3
    estimator = BaselineClassifier(
        "sgd", loss="squared_hinge", learning_rate=1e20, fit_intercept=False
    )
    estimator.set_params(center=False).partial_fit(*tame, classes=[0, 1, 2])
    before = assert_unchanged_by(lambda e: e.partial_fit(*wild), estimator)
    assert_identical(
        estimator.decision_function(tame[0]), before.decision_function(tame[0])
    )


@containers
@amounts
def test_an_estimator_that_has_not_learned(n_rows, container, engine):
    wild = container(rows(max(n_rows, 3), seed=1) * 1e95), np.ones(max(n_rows, 3))
    for fail in (
        lambda e: e.partial_fit(*wild),
        lambda e: e.fit(*wild),
        lambda e: e.partial_fit_predict(*wild),
    ):
        estimator = diverging()
        assert_unchanged_by(fail, estimator)
        assert vars(estimator) == estimator.get_params()


@containers
def test_fit_of_a_fitted_estimator(container, engine):
    tame = container(rows(20) * 1e-10), np.full(20, 1e98)
    wild = container(rows(5, seed=1) * 1e95), np.ones(5)
    for warm_start in False, True:
        parameters = {"warm_start": warm_start, "max_iter": 2, "tol": None}
        estimator = diverging(**parameters).fit(*tame)
        before = assert_unchanged_by(lambda e: e.fit(*wild), estimator)
        assert_go_on_alike(estimator, before, *tame)


@containers
@amounts
def test_mixtures(n_rows, container, engine):
    """With one expert that diverges, whatever the others had learned by then."""
    tame = container(rows(20) * 1e-10), np.full(20, 1e98)
    wild = container(rows(n_rows, seed=1) * 1e95), np.ones(n_rows)
    experts = [
        ("first", ScInOLRegressor(center=False)),
        ("diverging", diverging()),
        ("last", ScInOLRegressor(algorithm="scinol1", center=False)),
    ]
    mixture = HedgeRegressor(experts, loss="squared_error").partial_fit(*tame)
    before = assert_unchanged_by(lambda e: e.partial_fit(*wild), mixture)
    assert_go_on_alike(mixture, before, *tame)
