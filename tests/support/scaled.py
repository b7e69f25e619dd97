"""Estimators that scale features, and rows as their learners see them."""

import numpy as np

from support.naive import relative_to_means
from support.registry import REPRESENTATIVES

ALL = [case for case in REPRESENTATIVES if case.radius is None]
PLAIN = [case for case in ALL if not case.average]


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
