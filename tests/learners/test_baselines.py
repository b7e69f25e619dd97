"""What is special to the competitors."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import is_classifier
from support.sums import linear

from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor

#: The published algorithms.
regressor = partial(BaselineRegressor, center=False)

estimators = pytest.mark.parametrize(
    "estimator", [BaselineClassifier, regressor], ids=["classifier", "regressor"]
)


def rows(n_samples=60, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    y = linear(X, rng.standard_normal(n_features))
    return X, y + 0.3 * rng.standard_normal(n_samples)


def targets(estimator, y):
    return (y > 0).astype(int) if estimator is BaselineClassifier else y


def charged(model, X, y, **keywords):
    """Learn; what the algorithm was charged for."""
    if is_classifier(model):
        keywords |= {"classes": [0, 1], "method": "decision_function"}
    return model.partial_fit_predict(X, y, **keywords)


@estimators
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_cocob_does_not_mind_the_unit_of_the_loss(estimator, container, engine):
    X, y = rows()
    X, y = container(X), targets(estimator, y)
    plain = charged(estimator("cocob"), X, y)
    for unit in 2.0**-8, 2.0**100:
        said = charged(estimator("cocob"), X, y, sample_weight=np.full(len(y), unit))
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
