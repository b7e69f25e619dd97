"""Estimators that scale features, and weights as their learners see them."""

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
