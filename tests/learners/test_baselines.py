"""What is special to the competitors."""

import pickle
import tracemalloc
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import is_classifier
from support.sums import linear

from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor

BOUNDED = ["coin", "freegrad", "k17"]
ADAPTIVE = ["adagrad", "adam", "cocob", "nag", "sfmd", *BOUNDED]

#: The published algorithms.
regressor = partial(BaselineRegressor, center=False)

estimators = pytest.mark.parametrize(
    "estimator", [BaselineClassifier, regressor], ids=["classifier", "regressor"]
)
adaptive = pytest.mark.parametrize("algorithm", ADAPTIVE)


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


@estimators
def test_unusable_combinations(estimator, engine):
    X, y = rows()
    y = targets(estimator, y)
    squared = "squared_hinge" if estimator is BaselineClassifier else "squared_error"
    refused = [
        ({"algorithm": algorithm} | parameters, f"{words} with algorithm='{algorithm}'")
        for parameters, words, algorithms in (
            ({"loss": squared}, f"loss='{squared}' is not supported", BOUNDED),
            ({"radius": 1.0}, "radius must be None", ["sgd", *ADAPTIVE]),
            ({"kernel": "rbf"}, "kernel must be 'linear'", ["sgd", *ADAPTIVE]),
        )
        for algorithm in algorithms
    ]
    refused.append(({"normalizer": "max"}, "The 'normalizer' parameter of"))
    for parameters, words in refused:
        model = estimator(**parameters)
        before = pickle.dumps(vars(model))
        with pytest.raises(ValueError, match=words):
            model.fit(X, y)
        with pytest.raises(ValueError, match=words):
            charged(model, X, y)
        assert pickle.dumps(vars(model)) == before


@pytest.mark.cases(3)
@adaptive
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
@pytest.mark.parametrize("size", [1e-100, 1e-50, 1.0])
def test_always_wrong(algorithm, container, size, engine):
    """In the same direction, so that wealth grows as fast as it can."""
    X = size * np.ones((1000, 2))
    model = regressor(algorithm)
    predictions = charged(model, container(X), np.full(1000, 1e100))
    assert np.isfinite(predictions).all()
    assert np.isfinite(model.coef_).all()
    assert (np.diff(predictions[:500]) >= 0).mean() > 0.9
