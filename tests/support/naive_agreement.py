"""Compare estimators with the plain references of `naive`."""

import numpy as np
from numpy.testing import assert_allclose


def learn(case, model, X, y, sample_weight):
    """Predictions of the reference, each before its row was learned."""
    predictions = []
    for x, target, weight in zip(
        X, case.reference_targets(y), sample_weight, strict=True
    ):
        # Only an average predicts with anything but what the algorithm is charged for.
        predictions.append(model.decision_function(x, weight or None))
        if weight > 0.0:
            model.learn(x, target, weight)
    return np.array(predictions)


def assert_agrees(case, actual, expected):
    """Equal to 1e-10 or better, relative to the size of what is compared."""
    exact = case.traits.implicit and not case.traits.by_vector
    tolerance = 1e-12 if exact else 1e-10
    expected = np.asarray(expected)
    largest = np.abs(expected).max(initial=0.0)
    assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * largest)


def sample_weights(n_samples, weighted):
    weights = np.ones(n_samples)
    if weighted:
        weights = np.random.default_rng(1).exponential(size=n_samples)
        weights[[0, 7, 8, 21]] = 0.0
    return weights


def new_rows(X):
    return X * np.random.default_rng(2).choice([0.0, 0.5, 1.0, 30.0], size=X.shape)
