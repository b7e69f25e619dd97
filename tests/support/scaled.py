"""Estimators that scale features, and rows as their learners see them."""

import numpy as np
from numpy.testing import assert_allclose

from support.naive import relative_to_means
from support.registry import REPRESENTATIVES

PLAIN = [case for case in REPRESENTATIVES if not case.average and case.radius is None]

AVERAGED = [case for case in REPRESENTATIVES if case.average and case.radius is None]

ALL = [*PLAIN, *AVERAGED]


def has_target(case):
    return case.has("standardize_target")


def make(case, layout, *, target=True, **parameters):
    """The estimator, with scaling; its target standardised where that is possible."""
    if target and has_target(case):
        parameters["standardize_target"] = True
    return case.make(**{"center": layout.center, "scale": True} | parameters)


def weights_of_standardised(case, c):
    """Weights for a learner with a bound, as it sees those of rows that are scaled."""
    has = case.traits
    return relative_to_means(c) if has.bounds_regret and not has.has_wealth else c


def standardized_row(before, weights_before, x, c, center):
    """A row as the learner is to see it; of the smallest weight if of weight 0."""
    counts = weights_before > 0.0
    c = c or min(weights_before[counts], default=1.0)
    X = np.vstack([before[counts], x])
    weights_of_rows = np.append(weights_before[counts], c)
    total = weights_of_rows.sum()
    mean = weights_of_rows @ X / total
    variance = weights_of_rows @ (X - mean) ** 2 / total
    varies = np.ptp(X, axis=0) > 0.0
    z = x - mean if center else x
    return np.where(varies, z / np.sqrt(np.where(varies, variance, 1.0)), 0.0)


def assert_predictions_are_charged(case, estimator, container):
    X, y = case.data(15)
    X[::7] *= 10.0 ** np.random.default_rng(4).integers(9, size=X[::7].shape)
    case.partial_fit(estimator, container(X[:1]), y[:1])
    for r in range(1, len(y)):
        x, label = container(X[r : r + 1]), y[r : r + 1]
        decision = case.decision(estimator, x)
        ignored = case.charged(estimator, x, label, sample_weight=np.zeros(1))
        assert_allclose(ignored, decision, rtol=1e-10)
        assert_allclose(case.charged(estimator, x, label), decision, rtol=1e-10)
