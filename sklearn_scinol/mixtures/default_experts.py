"""The default experts of a mixture, see ``examples/benchmarks/experts.py``."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from ..estimators.baseline import BaselineClassifier, BaselineRegressor
from ..estimators.boosted_trees import BoostedTreesClassifier, BoostedTreesRegressor
from ..estimators.forest import (
    MondrianForestClassifier,
    MondrianForestRegressor,
    OnlineExtraTreesClassifier,
    OnlineExtraTreesRegressor,
)
from ..estimators.implicit import AdaImplicitClassifier, AdaImplicitRegressor
from ..estimators.last_label import LastLabelClassifier
from ..estimators.neighbors import OnlineKNeighborsClassifier, OnlineKNeighborsRegressor
from ..estimators.online_newton import OnlineNewtonClassifier, OnlineNewtonRegressor
from ..estimators.scinol import ScInOLClassifier, ScInOLRegressor
from ..learners.extra_tree import MAX_ROWS
from ..losses import Quantile
from ..views import dense_view_of

# Maximum numbers of features for experts of each kind.
MAX_ADDITIVE = 64
MAX_SECOND_ORDER = 256
MAX_SPARSE_SECOND_ORDER = 128
MAX_FOURIER = 4096
MAX_FOURIER_IN_REGRESSION = 64  # targets have moments as well
MAX_NEIGHBORS = 4096
MAX_FOREST = 16

# Number of trees, twice as many in regression, and maximum number of nodes of a tree.
N_TREES = 5
MAX_NODES = 2**13

# Numbers of rows that extra trees choose splits from, where splits follow a change or
# not, and maximum number of their entries.
SHORT_WINDOW, WINDOW = 512, 2048
MAX_ENTRIES = 2**20

# Maximum number of features with a covariance for each class, and one that forgets.
MAX_COVARIANCES = 128

# Maximum number of features of rows that are not wide. Of a wide row no feature should
# decide, so that values are clipped.
MAX_NARROW = 64
CLIPPED = {"clip_deviations": 1.5}

# Parameters of neighbours in wide rows.
WIDE_NEIGHBORS = {"window": 3000, "n_candidates": 64, **CLIPPED}

# Parameters of random features of wide rows. To standardise as many would take a matrix
# inversion for each change of moments.
WIDE_FOURIER = {
    "random_features": 512,
    "prior_scale": 16.0,
    "center": False,
    "scale": False,
    "shared_covariance": True,
    **CLIPPED,
}

# Maximum number of rows that neighbours store of rows that are learned several times.
MAX_STORED = 2**13

# Number of other random features.
N_RANDOM_FEATURES = 64

#: Maximum number of classes for experts of any of these kinds: each class takes a
#: covariance matrix, and weights of all bins.
MAX_CLASSES = 256

#: That for experts of random features, whose matrices are larger.
MAX_FOURIER_CLASSES = 64

#: Why experts are not there that a mixture excludes.
EXCLUDED = "excluded"

#: Kinds of experts that a mixture can exclude.
KINDS = (
    *("second_order", "random_features", "neighbors"),
    *("forest", "extra_trees", "boosted_trees", "additive", "last_label"),
)

# Kinds of experts that draw random numbers.
DRAWN = "random_features", "forest", "extra_trees", "boosted_trees"

# Why experts that need a bounded slope are not there.
NO_BOUNDED_SLOPE = "the slope of the loss has no bound"


class Kinds(NamedTuple):
    """Properties of data and mixture that select default experts."""

    additive: bool
    second_order: bool
    random_features: bool
    neighbors: bool
    forest: bool
    extra_trees: bool
    boosted_trees: bool
    is_regression: bool
    is_sparse: bool
    is_of_table: bool  # one of two views
    n_features: int
    has_bounded_slope: bool  # ScInOL needs it
    last_label: bool = False  # in classification


class DefaultExpert(NamedTuple):
    """A default expert: classifier and regressor, and parameters of their own.

    With a bandwidth it learns random features of a Gaussian kernel whose standard
    deviation is that, times the root of the number of features.
    """

    name: str
    estimators: tuple[Any, Any]
    parameters: dict[str, Any]
    kind: str = "linear"  # another one is a field of `Kinds`
    is_used: Callable[[Kinds], bool] = lambda has: True
    bandwidth: float | None = None


class FoundKind(NamedTuple):
    """The experts of a kind that a mixture has, or why it has none."""

    view: str  # of a table, or ""
    kind: str
    names: str  # of the experts, or ""
    reason: str | None = None


# Parameters of all default experts, where mixture and expert have them.
SHARED = "loss", "epsilon", "quantile", "clip_ratio"

SCINOL = ScInOLClassifier, ScInOLRegressor
BASELINE = BaselineClassifier, BaselineRegressor
IMPLICIT = AdaImplicitClassifier, AdaImplicitRegressor
NEWTON = OnlineNewtonClassifier, OnlineNewtonRegressor
NEIGHBORS = OnlineKNeighborsClassifier, OnlineKNeighborsRegressor
FOREST = MondrianForestClassifier, MondrianForestRegressor
EXTRA_TREES = OnlineExtraTreesClassifier, OnlineExtraTreesRegressor
BOOSTED_TREES = BoostedTreesClassifier, BoostedTreesRegressor

STANDARD = {"center": "auto", "scale": True}
ADAGRAD = {"algorithm": "adagrad", "learning_rate": 1 / 4, **STANDARD}
ADAOGD = {"algorithm": "adaogd", "learning_rate": 1 / 8, **STANDARD}
CONSTANT = {"algorithm": "constant", "moment_forgetting": 0.03, **STANDARD}
SHARED_COVARIANCE = {"shared_covariance": True}
UNCLIPPED = {"clip_deviations": None}


def forgetting(rate):
    """Return parameters of Newton steps that forget a share of the rows."""
    return {"prior_scale": 1.0, "forgetting": rate}


# Parameters of random features of a narrow kernel.
NARROW = {"random_features": 32, **forgetting(0.01)}


#: Default experts, in order. Without ScInOL, whose losses have bounded slopes,
#: Newton steps without clipping learn linear functions of skewed features. Beside
#: additive and second-order experts, AdaGrad and AdaOGD would add little, so they
#: are there without those only. On sparse rows scaling makes rare features large, so
#: that a constant rate has to be small. Of tables in two views, pools have enough of
#: the other experts. The prior of the last label is so small that pools see which
#: labels came before it.
DEFAULT_EXPERTS = (
    DefaultExpert("scinol2", SCINOL, {}, is_used=lambda has: has.has_bounded_slope),
    DefaultExpert(
        "adagrad-0.25", BASELINE, ADAGRAD, is_used=lambda has: not has.additive
    ),
    DefaultExpert(
        *("adaogd-0.125", BASELINE, ADAOGD, "linear"),
        lambda has: not ((has.additive and has.second_order) or has.is_of_table),
    ),
    DefaultExpert(
        "constant-forgetting", IMPLICIT, CONSTANT, is_used=lambda has: not has.is_sparse
    ),
    DefaultExpert(
        *("constant-forgetting", IMPLICIT, {**CONSTANT, "beta": 1 / 32}, "linear"),
        lambda has: has.is_sparse,
    ),
    DefaultExpert(
        *("newton-forgetting-0.003", NEWTON, forgetting(0.003), "second_order"),
        lambda has: has.n_features <= MAX_COVARIANCES or has.is_regression,
    ),
    DefaultExpert(
        *("newton", NEWTON, SHARED_COVARIANCE, "second_order"),
        lambda has: has.n_features > MAX_COVARIANCES and not has.is_regression,
    ),
    DefaultExpert(
        *("newton-unclipped", NEWTON, UNCLIPPED, "second_order"),
        lambda has: has.is_regression and not has.has_bounded_slope,
    ),
    DefaultExpert(
        *("newton-forgetting-0.02", NEWTON, forgetting(0.02), "second_order"),
        lambda has: has.n_features <= MAX_COVARIANCES,
    ),
    DefaultExpert(
        *("fourier-0.5-wide", NEWTON, WIDE_FOURIER, "random_features"),
        lambda has: has.n_features > MAX_NARROW,
        bandwidth=0.5,
    ),
    DefaultExpert(
        *("fourier-1-forgetting", NEWTON, forgetting(0.003), "random_features"),
        lambda has: has.n_features <= MAX_NARROW,
        bandwidth=1.0,
    ),
    DefaultExpert(
        *("fourier-0.25-forgetting", NEWTON, NARROW, "random_features"),
        lambda has: (
            has.n_features <= MAX_NARROW and not (has.is_regression or has.is_of_table)
        ),
        bandwidth=0.25,
    ),
    DefaultExpert(
        *("fourier-2", NEWTON, {}, "random_features"),
        lambda has: has.is_regression,
        bandwidth=2.0,
    ),
    *(
        DefaultExpert(f"neighbors-{k}", NEIGHBORS, {"n_neighbors": k}, "neighbors")
        for k in (1, 3, 10)
    ),
    DefaultExpert("mondrian-forest", FOREST, {}, "forest"),
    DefaultExpert(
        "last-label", (LastLabelClassifier, None), {"dirichlet": 5e-4}, "last_label"
    ),
    DefaultExpert(
        *("extra-trees", EXTRA_TREES, {"penalty": 0.5, "window": WINDOW}),
        *("extra_trees", lambda has: not has.is_regression),
    ),
    DefaultExpert(
        *("extra-trees-recent", EXTRA_TREES, {"penalty": 1.0, "window": SHORT_WINDOW}),
        *("extra_trees", lambda has: not has.is_regression),
    ),
    DefaultExpert(
        *("extra-trees", EXTRA_TREES, {"penalty": 1.0, "window": WINDOW}),
        *("extra_trees", lambda has: has.is_regression),
    ),
    DefaultExpert("boosted-trees", BOOSTED_TREES, {}, "boosted_trees"),
    DefaultExpert(
        *("bins-scinol2", SCINOL, {**STANDARD, "additive": True}, "additive"),
        lambda has: has.has_bounded_slope,
    ),
)


def default_experts(mixture, loss, X, n_epochs):
    """Return the default experts of a mixture for rows like `X`, and what was found.

    The mixture learns its first rows at most `n_epochs` times.

    These are names, estimators, and whether each sees the dense view of
    :class:`TableRows`; and a list of :class:`FoundKind`.
    """
    dense = dense_view_of(X)
    if dense is None:
        of_rows, found = _experts(mixture, loss, X, n_epochs)
        return [(*named, False) for named in of_rows], found
    of_rows, in_rows = _experts(mixture, loss, X, n_epochs, "sparse rows")
    of_dense, in_dense = _experts(
        mixture, loss, dense, n_epochs, "dense view", "dense-"
    )
    experts = [(*named, False) for named in of_rows]
    return experts + [(*named, True) for named in of_dense], in_rows + in_dense


def _experts(mixture, loss, X, n_epochs, view="", prefix=""):
    """Return default experts on rows like `X`, with their names, and what was found."""
    shared = {name: getattr(mixture, name) for name in SHARED if hasattr(mixture, name)}
    if not is_classifier(mixture):
        shared["standardize_target"] = True
    if isinstance(loss, Quantile):
        shared["quantile"] = np.asarray(loss.quantile).tolist()
    kinds, reasons = _kinds(mixture, loss, X, n_epochs, is_of_table=bool(view))
    experts, by_kind = [], {"linear": []} | {kind: [] for kind in reasons}
    for expert in DEFAULT_EXPERTS:
        if not (getattr(kinds, expert.kind, True) and expert.is_used(kinds)):
            continue
        estimator = expert.estimators[kinds.is_regression]
        names = estimator._get_param_names()
        parameters = {n: value for n, value in shared.items() if n in names}
        parameters |= expert.parameters
        if "max_nodes" in names:
            parameters |= _forest(mixture)
        if "window" in expert.parameters:
            largest = max(MAX_ENTRIES // X.shape[1], MAX_ROWS)
            parameters["window"] = min(expert.parameters["window"], largest)
        if expert.kind == "neighbors" and kinds.n_features > MAX_NARROW:
            parameters |= WIDE_NEIGHBORS
        if expert.kind == "neighbors" and n_epochs > 1:
            parameters["window"] = MAX_STORED
        if expert.kind in DRAWN:
            parameters["random_state"] = _seed(mixture)
        if expert.bandwidth is not None:
            made = _random_features(expert.bandwidth, X.shape[1])
            parameters = made | parameters
        experts.append((prefix + expert.name, estimator(**parameters)))
        by_kind[expert.kind].append(prefix + expert.name)
    return experts, [
        FoundKind(view, kind, ", ".join(names), reasons.get(kind) or NO_BOUNDED_SLOPE)
        for kind, names in by_kind.items()
    ]


def _random_features(bandwidth, n_features):
    """Return the parameters of random features, but for what an expert has."""
    return {
        "random_features": N_RANDOM_FEATURES,
        "gamma": 0.5 / (bandwidth**2 * n_features),
    }


def _forest(mixture):
    """Return the parameters of a forest."""
    return {
        "n_estimators": N_TREES if is_classifier(mixture) else 2 * N_TREES,
        "max_nodes": MAX_NODES,
    }


def _seed(mixture):
    """Return the seed of experts: the same one for each mixture without a state."""
    seed = mixture.random_state
    if isinstance(seed, np.random.RandomState):
        return int(seed.randint(2**31 - 1))
    return 0 if seed is None else seed


def _kinds(mixture, loss, X, n_epochs, is_of_table):
    """Decide which kinds of experts there are; also return why there are no others."""
    d, is_sparse = X.shape[1], sparse.issparse(X)
    n_classes = mixture.classes_.size if is_classifier(mixture) else 1
    found, reasons = {}, {}

    def decide(kind, *conditions):
        conditions = (kind not in mixture._excluded, EXCLUDED), *conditions
        unmet = [reason for is_met, reason in conditions if not is_met]
        reasons[kind] = unmet[0] if unmet else None
        found[kind] = not unmet

    def at_most(limit, value=d, what="features"):
        return value <= limit, f"more than {limit} {what}"

    few_classes = at_most(MAX_CLASSES, n_classes, "classes")
    is_dense = not is_sparse, "rows are sparse"
    max_second_order = MAX_SPARSE_SECOND_ORDER if is_sparse else MAX_SECOND_ORDER
    decide("second_order", at_most(max_second_order), few_classes)
    decide(
        "random_features",
        is_dense,
        at_most(MAX_FOURIER if is_classifier(mixture) else MAX_FOURIER_IN_REGRESSION),
        at_most(MAX_FOURIER_CLASSES, n_classes, "classes"),
    )
    has_pools = not mixture._why_no_pools(loss, 0), "they are of use in pools only"
    is_alone = not is_of_table, "pools have enough of the others"
    decide("neighbors", is_dense, is_alone, at_most(MAX_NEIGHBORS), has_pools)
    of_trees = (
        is_dense,
        is_alone,
        few_classes,
        (not hasattr(loss, "quantile"), "forests predict means"),
        has_pools,
    )
    decide("forest", at_most(MAX_FOREST), *of_trees)
    decide("extra_trees", *of_trees)
    decide("boosted_trees", (n_epochs > 1, "rows are learned once"), *of_trees)
    decide("additive", is_dense, at_most(MAX_ADDITIVE), few_classes)
    if is_classifier(mixture):
        is_first_view = is_sparse or not is_of_table
        decide("last_label", (is_first_view, "the sparse rows have it"), has_pools)
    kinds = Kinds(
        **found,
        is_regression=not is_classifier(mixture),
        is_sparse=is_sparse,
        is_of_table=is_of_table,
        n_features=d,
        has_bounded_slope=bool(np.isfinite(loss.lipschitz)),
    )
    return kinds, reasons
