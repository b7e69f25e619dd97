"""The default experts of a mixture, chosen by ``examples/benchmarks/experts.py``."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

__all__ = ["MAX_CLASSES", "Family", "default_experts"]

# Maximum numbers of features for experts of each kind with "auto".
MAX_ADDITIVE = 64
MAX_PAIRED = 16
MAX_SECOND_ORDER = 128

#: Maximum number of classes for experts of any of these kinds with "auto": each class
#: takes a covariance matrix, and weights of all bins.
MAX_CLASSES = 256


class Family(NamedTuple):
    """The estimators of default experts, and parameters that all of them share."""

    scinol: type
    baseline: type
    implicit: type
    newton: type
    parameters: tuple[str, ...]


class Kinds(NamedTuple):
    """Properties of data and mixture that select default experts."""

    additive: bool
    interactions: bool
    second_order: bool
    is_sparse: bool
    has_bounded_slope: bool  # ScInOL needs it


class DefaultExpert(NamedTuple):
    """A default expert: a field of :class:`Family`, and parameters of its own."""

    name: str
    estimator: str
    parameters: dict[str, Any]
    is_used: Callable[[Kinds], bool] = lambda kinds: True


STANDARD = {"center": "auto", "scale": True}
CONSTANT = {"algorithm": "constant", **STANDARD}


def _descent(algorithm, rate, **parameters):
    return {"algorithm": algorithm, "learning_rate": rate, **STANDARD, **parameters}


#: Default experts, in order. AdaGrad learns from bins if there are additive experts,
#: otherwise from values. With additive or second-order experts, slow gradient descent
#: lowers no log loss or absolute error by .1 %. Moments of sparse rows forget nothing.
DEFAULT_EXPERTS = (
    DefaultExpert("scinol2", "scinol", {}, lambda kinds: kinds.has_bounded_slope),
    DefaultExpert(
        "adagrad-0.25",
        "baseline",
        _descent("adagrad", 1 / 4),
        lambda kinds: not kinds.additive,
    ),
    DefaultExpert(
        "adaogd-0.125",
        "baseline",
        _descent("adaogd", 1 / 8),
        lambda kinds: not (kinds.additive and kinds.second_order),
    ),
    DefaultExpert("adaogd-0.5", "baseline", _descent("adaogd", 1 / 2)),
    DefaultExpert("constant", "implicit", CONSTANT),
    DefaultExpert(
        "constant-forgetting",
        "implicit",
        {**CONSTANT, "moment_forgetting": 0.03},
        lambda kinds: not kinds.is_sparse,
    ),
    DefaultExpert("newton", "newton", {}, lambda kinds: kinds.second_order),
    DefaultExpert(
        "newton-forgetting",
        "newton",
        {"prior_scale": 1.0, "forgetting": 0.01},
        lambda kinds: kinds.second_order,
    ),
    DefaultExpert(
        "bins-scinol2",
        "scinol",
        {**STANDARD, "additive": True},
        lambda kinds: kinds.additive and kinds.has_bounded_slope,
    ),
    DefaultExpert(
        "bins-adagrad-0.25",
        "baseline",
        _descent("adagrad", 1 / 4, additive=True),
        lambda kinds: kinds.additive,
    ),
    DefaultExpert(
        "pairs-scinol2",
        "scinol",
        {**STANDARD, "additive": True, "interactions": True},
        lambda kinds: kinds.interactions and kinds.has_bounded_slope,
    ),
    DefaultExpert(
        "pairs-adaogd-0.5",
        "baseline",
        _descent("adaogd", 1 / 2, additive=True, interactions=True),
        lambda kinds: kinds.interactions,
    ),
)


def default_experts(mixture, loss, X):
    """Return the default experts of a mixture for rows like `X`, with their names."""
    family = mixture._family
    shared = {name: getattr(mixture, name) for name in family.parameters}
    if not is_classifier(mixture):
        shared["standardize_target"] = True
    kinds = _kinds(mixture, loss, X)
    return [
        (expert.name, getattr(family, expert.estimator)(**shared, **expert.parameters))
        for expert in DEFAULT_EXPERTS
        if expert.is_used(kinds)
    ]


def _kinds(mixture, loss, X):
    """Decide what "auto" stands for."""
    d, is_sparse = X.shape[1], sparse.issparse(X)
    additive, pairs = mixture.additive, mixture.interactions
    second_order = mixture.second_order
    has_few_classes = not is_classifier(mixture) or mixture.classes_.size <= MAX_CLASSES
    if additive == "auto":
        additive = d <= MAX_ADDITIVE and not is_sparse and has_few_classes
    if pairs == "auto":
        pairs = additive and 1 < d <= MAX_PAIRED and has_few_classes
    if second_order == "auto":
        second_order = d <= MAX_SECOND_ORDER and has_few_classes
    has_bounded_slope = bool(np.isfinite(loss.lipschitz))
    return Kinds(additive, pairs, second_order, is_sparse, has_bounded_slope)
