"""Progressive loss of one shuffled pass over real data in raw units.

Everything at its default but the centring, off and on. The figures, from another
implementation of the same formulas, hold to the digits given.
"""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from support.registry import thoroughly

from sklearn_scinol import ScInOLClassifier


def mean_loss(estimator, X, y, order):
    keywords = {"classes": np.unique(y)} if is_classifier(estimator) else {}
    estimator.partial_fit(X[order], y[order], **keywords)
    return estimator.cumulative_loss_ / len(y)


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("load", "center", "expected"),
    [
        (load_breast_cancer, False, 0.456),
        (load_breast_cancer, "auto", 0.144),
        (load_digits, False, 0.451),
        (load_digits, "auto", 0.298),
        (load_wine, False, 0.897),
        (load_wine, "auto", 0.225),
    ],
)
@pytest.mark.parametrize("engine", ["numpy", *thoroughly("numba")], indirect=True)
def test_small_sets(load, center, expected, engine):
    X, y = load(return_X_y=True)
    losses = [
        mean_loss(
            ScInOLClassifier(center=center),
            X,
            y,
            np.random.default_rng(seed).permutation(len(y)),
        )
        for seed in range(5)
    ]
    assert np.mean(losses) == pytest.approx(expected, abs=0.5e-3)
