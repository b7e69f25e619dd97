"""Streams for models that predict from rows near by."""

import numpy as np
from sklearn.base import is_classifier

from support.registry import EXTRA_TREES, FORESTS, NEIGHBORS

from .sums import linear


def data(n=150, d=5, n_outputs=1, seed=0):
    """Rows in units far apart, some of which come back, and targets or classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2, size=(n, d)) * 10.0 ** np.arange(-2, d - 2)
    X[rng.random(X.shape) < 0.3] = 0.0
    X[1::5] = X[::5]
    y = linear(X, rng.normal(size=(d, n_outputs))) / 10.0 ** (d - 3)
    y += rng.normal(size=y.shape)
    return X, y if n_outputs > 1 else y[:, 0]


def labels(y, n_classes):
    return np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))


def stream(estimator, **sizes):
    """Rows and targets for an estimator, and what `partial_fit` needs besides."""
    X, y = data(**sizes)
    if is_classifier(estimator()):
        return X, labels(y, 3), {"classes": [0, 1, 2]}
    return X, y, {}


def weights(n):
    c = np.random.default_rng(1).choice([0.5, 1.0, 3.0], n)
    c[0] = 1.0
    return c


def make(estimator, **parameters):
    """Return an estimator of little memory."""
    if estimator in NEIGHBORS:
        return estimator(**{"n_neighbors": 3, "window": 70, **parameters})
    if estimator not in FORESTS:
        return estimator(**parameters)
    small = {"n_estimators": 3, "max_nodes": 90, "random_state": 0}
    if estimator in EXTRA_TREES:
        small |= {"penalty": 0.0, "window": 70}
    return estimator(**small | parameters)
