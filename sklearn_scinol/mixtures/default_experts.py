"""The default experts of a mixture, see ``examples/benchmarks/experts.py``."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from ..views import dense_view_of

__all__ = ["MAX_CLASSES", "MAX_FOURIER_CLASSES", "Family", "default_experts"]

# Maximum numbers of features for experts of each kind with "auto".
MAX_ADDITIVE = 64
MAX_PAIRED = 24
MAX_FINELY_PAIRED = 10
MAX_SECOND_ORDER = 128
MAX_FOURIER = 64
MAX_NEIGHBORS = 64

# Number of random features.
N_RANDOM_FEATURES = 64

#: Maximum number of classes for experts of any of these kinds with "auto": each class
#: takes a covariance matrix, and weights of all bins.
MAX_CLASSES = 256

#: That for experts of random features, whose matrices are larger.
MAX_FOURIER_CLASSES = 64


class Family(NamedTuple):
    """The estimators of default experts, and parameters that all of them share."""

    scinol: type
    baseline: type
    implicit: type
    newton: type
    neighbors: type
    parameters: tuple[str, ...]


class Kinds(NamedTuple):
    """Properties of data and mixture that select default experts."""

    additive: bool
    interactions: bool
    fine_interactions: bool
    second_order: bool
    random_features: bool
    neighbors: bool
    is_regression: bool
    is_sparse: bool
    is_of_table: bool  # one of two views
    has_bounded_slope: bool  # ScInOL needs it


class DefaultExpert(NamedTuple):
    """A default expert: a field of :class:`Family`, and parameters of its own.

    With a bandwidth it learns random features of a Gaussian kernel whose standard
    deviation is that, times the root of the number of features.
    """

    name: str
    estimator: str
    parameters: dict[str, Any]
    is_used: Callable[[Kinds], bool] = lambda kinds: True
    bandwidth: float | None = None


STANDARD = {"center": "auto", "scale": True}
CONSTANT = {"algorithm": "constant", **STANDARD}
FORGETTING = {"prior_scale": 1.0, "forgetting": 0.01}


def _descent(algorithm, rate, **parameters):
    return {"algorithm": algorithm, "learning_rate": rate, **STANDARD, **parameters}


#: Default experts, in order. Beside additive or second-order experts, AdaGrad and slow
#: gradient descent would add little, so they are there without those only. One expert
#: ignores all features, so that the mixture is never far worse than that. On sparse
#: rows scaling makes rare features large, so that a constant rate has to be small. Of
#: tables in two views, pools have enough of the other experts.
DEFAULT_EXPERTS = (
    DefaultExpert(
        "no-features",
        "newton",
        {"random_features": 0},
        lambda kinds: kinds.second_order and not (kinds.is_sparse or kinds.is_of_table),
    ),
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
        lambda kinds: (
            not ((kinds.additive and kinds.second_order) or kinds.is_of_table)
        ),
    ),
    DefaultExpert("adaogd-0.5", "baseline", _descent("adaogd", 1 / 2)),
    DefaultExpert(
        "constant",
        "implicit",
        CONSTANT,
        lambda kinds: not (kinds.is_sparse or kinds.is_of_table),
    ),
    DefaultExpert(
        "constant-forgetting",
        "implicit",
        {**CONSTANT, "moment_forgetting": 0.03},
        lambda kinds: not kinds.is_sparse,
    ),
    DefaultExpert(
        "constant-forgetting",
        "implicit",
        {**CONSTANT, "moment_forgetting": 0.03, "beta": 1 / 32},
        lambda kinds: kinds.is_sparse,
    ),
    DefaultExpert("newton", "newton", {}, lambda kinds: kinds.second_order),
    DefaultExpert(
        "newton-forgetting",
        "newton",
        FORGETTING,
        lambda kinds: kinds.second_order,
    ),
    DefaultExpert(
        "fourier-1",
        "newton",
        {},
        lambda kinds: kinds.random_features,
        bandwidth=1.0,
    ),
    DefaultExpert(
        "fourier-0.25-forgetting",
        "newton",
        FORGETTING,
        lambda kinds: (
            kinds.random_features and not (kinds.is_regression or kinds.is_of_table)
        ),
        bandwidth=0.25,
    ),
    DefaultExpert(
        "fourier-1-forgetting",
        "newton",
        FORGETTING,
        lambda kinds: kinds.random_features and kinds.is_regression,
        bandwidth=1.0,
    ),
    DefaultExpert(
        "fourier-2",
        "newton",
        {},
        lambda kinds: kinds.random_features and kinds.is_regression,
        bandwidth=2.0,
    ),
    *(
        DefaultExpert(
            f"neighbors-{k}",
            "neighbors",
            {"n_neighbors": k},
            lambda kinds: kinds.neighbors,
        )
        for k in (1, 3, 10)
    ),
    DefaultExpert(
        "bins-scinol2",
        "scinol",
        {**STANDARD, "additive": True},
        lambda kinds: kinds.additive and kinds.has_bounded_slope,
    ),
    DefaultExpert(
        "pairs-adaogd-0.5",
        "baseline",
        _descent("adaogd", 1 / 2, additive=True, interactions=True),
        lambda kinds: kinds.interactions,
    ),
    DefaultExpert(
        "fine-pairs-scinol2",
        "scinol",
        {**STANDARD, "additive": True, "interactions": "fine"},
        lambda kinds: kinds.fine_interactions and kinds.has_bounded_slope,
    ),
)


def default_experts(mixture, loss, X):
    """Return the default experts of a mixture for rows like `X`.

    As (name, estimator, whether it sees the dense view of :class:`TableRows`).
    """
    dense = dense_view_of(X)
    is_of_table = dense is not None
    of_rows = _experts(mixture, loss, X, is_of_table)
    experts = [(*named, False) for named in of_rows]
    if is_of_table:
        of_dense = _experts(mixture, loss, dense, is_of_table)
        experts += [(f"dense-{name}", expert, True) for name, expert in of_dense]
    return experts


def _experts(mixture, loss, X, is_of_table):
    """Return the default experts on a view of rows like `X`, with their names."""
    family = mixture._family
    shared = {name: getattr(mixture, name) for name in family.parameters}
    if not is_classifier(mixture):
        shared["standardize_target"] = True
    kinds = _kinds(mixture, loss, X, is_of_table)
    experts = []
    for expert in DEFAULT_EXPERTS:
        if not expert.is_used(kinds):
            continue
        estimator = getattr(family, expert.estimator)
        names = estimator._get_param_names()
        parameters = {n: value for n, value in shared.items() if n in names}
        parameters |= expert.parameters
        if expert.bandwidth is not None:
            parameters |= _random_features(mixture, expert.bandwidth, X.shape[1])
        experts.append((expert.name, estimator(**parameters)))
    return experts


def _random_features(mixture, bandwidth, n_features):
    """Parameters of random features: the same ones for each mixture without a seed."""
    seed = mixture.random_state
    return {
        "random_features": N_RANDOM_FEATURES,
        "gamma": 0.5 / (bandwidth**2 * n_features),
        "random_state": seed if isinstance(seed, Integral) else 0,
    }


def _kinds(mixture, loss, X, is_of_table):
    """Decide what "auto" stands for."""
    d, is_sparse = X.shape[1], sparse.issparse(X)
    additive, pairs = mixture.additive, mixture.interactions
    second_order, random_features = mixture.second_order, mixture.random_features
    n_classes = mixture.classes_.size if is_classifier(mixture) else 1
    has_few_classes = n_classes <= MAX_CLASSES
    if additive == "auto":
        additive = d <= MAX_ADDITIVE and not is_sparse and has_few_classes
    if pairs == "auto":
        pairs = additive and 1 < d <= MAX_PAIRED and has_few_classes
    if second_order == "auto":
        second_order = d <= MAX_SECOND_ORDER and has_few_classes
    if random_features == "auto":
        is_small = d <= MAX_FOURIER and n_classes <= MAX_FOURIER_CLASSES
        random_features = is_small and not is_sparse
    neighbors = mixture.neighbors
    if is_of_table and is_sparse:  # they are on the dense view
        additive = pairs = random_features = neighbors = False
    if neighbors == "auto":
        # Without pools, which calibrate them, they are of little use.
        is_small = d <= MAX_NEIGHBORS and not (is_sparse or is_of_table)
        neighbors = is_small and mixture._pools(loss, 0)
    return Kinds(
        additive,
        pairs,
        pairs and d <= MAX_FINELY_PAIRED,
        second_order,
        random_features,
        neighbors,
        is_regression=not is_classifier(mixture),
        is_sparse=is_sparse,
        is_of_table=is_of_table,
        has_bounded_slope=bool(np.isfinite(loss.lipschitz)),
    )
