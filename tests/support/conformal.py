"""Intervals and sets of labels: models to try, and rows for them."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier, SGDRegressor

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineConformalClassifier,
    OnlineConformalRegressor,
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)

from . import comparisons
from .sums import linear


def targets(n=150, n_outputs=None, seed=0):
    """Targets with errors that are skewed and larger for some rows."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    shape = (n,) if n_outputs is None else (n, n_outputs)
    noise = (random.exponential(size=shape) - 0.5).T * np.exp(X[:, 0])
    return X, (linear(X, [1.0, 2.0, 3.0]) + noise).T


def labels(n=150, n_classes=3, seed=0):
    """Return labels that depend on the features, and on chance."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    scores = linear(X, np.random.default_rng(9).normal(size=(3, n_classes)))
    return X, np.argmax(scores + random.gumbel(size=scores.shape), axis=1)


def weights(n):
    c = np.random.default_rng(1).choice([0.0, 0.1, 1.0, 5.0], size=n)
    c[:4] = 0.0, 1.0, 1.0, 0.1  # the third row is the first whose error is learned
    return c


def halves(X):
    """Return two groups of rows, by the sign of a feature."""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return X[:, 1] > 0.0


def in_halves(data):
    """Return a function that makes data with two groups of rows in a column."""

    def make(*arguments, **keywords):
        X, y = data(*arguments, **keywords)
        X[:, 1] = halves(X)
        return X, y

    return make


class Kind(NamedTuple):
    """Estimator of intervals or sets to test, and how its results are read."""

    model: type
    method: str
    data: Any
    linear: type
    mixture: Any  # of few experts
    elsewhere: Any
    first: dict  # what the first call needs
    groups: Any = None

    @property
    def has_ends(self):
        """Whether intervals are learned, not sets."""
        return self.method == "predict_interval"

    def make(self, estimator=None, level=0.8):
        estimator = clone(self.linear() if estimator is None else estimator)
        return self.model(estimator, confidence_level=level, groups=self.groups)

    def said(self, model, X, y, **arguments):
        """Return intervals or sets before each row, and learn the rows."""
        arguments = self.first | arguments
        return model.partial_fit_predict(X, y, method=self.method, **arguments)

    def predict(self, model, *arguments):
        return getattr(model, self.method)(*arguments)

    def covered(self, said, y):
        """Return which rows' targets are covered; for several levels, by each."""
        if self.method == "predict_set":
            return said[np.arange(len(y)), y]
        y = y.reshape(-1, *[1] * (said.ndim - 2))
        return (said[:, 0] <= y) & (y <= said[:, 1])


INTERVALS = Kind(
    OnlineConformalRegressor,
    "predict_interval",
    targets,
    ScInOLRegressor,
    HedgeRegressor(
        [("linear", ScInOLRegressor()), ("newton", OnlineNewtonRegressor())]
    ),
    SGDRegressor(random_state=0),
    {},
)

SETS = Kind(
    OnlineConformalClassifier,
    "predict_set",
    labels,
    ScInOLClassifier,
    HedgeClassifier(
        [("linear", ScInOLClassifier()), ("newton", OnlineNewtonClassifier())]
    ),
    SGDClassifier(loss="log_loss", random_state=0),
    {"classes": [0, 1, 2]},
)


def learned(model):
    """All that was learned, without what counts calls."""
    outputs = [dict(vars(each)) for each in model._outputs]
    for each in outputs:
        if "quantiles" in each:
            each["quantiles"] = of_estimator(each["quantiles"])
    found = {"estimator_": of_estimator(model.estimator_), "_outputs": outputs}
    return vars(model) | found


def of_estimator(estimator):
    if hasattr(estimator, "steps"):
        steps = [step for _, step in estimator.steps if step != "passthrough"]
        return [*map(of_estimator, steps)]
    if not hasattr(estimator, "estimators_"):
        return comparisons.learned(estimator)
    experts = [*map(comparisons.learned, estimator.estimators_)]
    weights = estimator.weights_, getattr(estimator, "pool_weights_", None)
    return [experts, weights, getattr(estimator._model, "squared_errors", None)]
