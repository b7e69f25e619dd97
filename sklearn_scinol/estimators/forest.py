"""Forests of trees that mix all their prunings."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from .._docstrings import inherit_descriptions
from .._typing import ClassWeight, RandomState
from ..models.forest import ExtraTreesModel, MondrianForestModel
from ..models.separate import SeparateModels
from ..models.trees import GROWTH, MIN_SLOTS
from ..transforms.features import FeatureTransform
from .classifier import OnlineClassifier
from .one_pass import COUNT, OnePassMixin
from .regressor import OnlineRegressor
from .validation import too_wide_error

#: Maximum number of nodes of a tree: 254 MB for ten trees of 20 features.
MAX_NODES = 2**16

#: Maximum number of bounds of the first nodes of all trees: 2 GiB.
MAX_BOUNDS = 2**28

#: Constraints of `dirichlet`: with other numbers, probabilities round to 0 or are NaN.
DIRICHLET = [Interval(Real, 1e-10, 1e10, closed="both"), None]

POSITIVE = Interval(Real, 0.0, None, closed="neither")


class _Forest(OnePassMixin):
    """Mixin for :class:`OnlineClassifier` and :class:`OnlineRegressor`.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Seed of the splits.
    n_estimators : int, default=10
        Number of trees.
    max_nodes : int, default=65536
        Maximum number of nodes of a tree. A tree of this size does not split any more,
        and goes on to learn in the nodes that it has.

    Attributes
    ----------
    n_nodes_
    """

    _own_constraints: dict = {
        "n_estimators": [COUNT],
        "max_nodes": [COUNT],
        "random_state": ["random_state"],
    }

    _model: Any

    @property
    def _trees(self):
        """Parameters of the trees."""
        random_bytes = check_random_state(self.random_state).bytes(
            8 * self.n_estimators
        )
        return {
            "seeds": np.frombuffer(random_bytes, np.uint64)[:, np.newaxis],
            "max_nodes": int(self.max_nodes),
        }

    @property
    def n_nodes_(self) -> NDArray[np.int64]:
        """Number of nodes of each tree: shape (n_trees,), or (n_labels, n_trees)."""
        sizes = [memory.sizes for memory in self._fitted_model().memories]
        return np.stack(sizes) if len(sizes) > 1 else sizes[0].copy()


class _MondrianForest(_Forest):
    """Mixin of trees whose splits do not depend on labels.

    Description
    -----------
    Rows split the trees at random as they come, and each tree mixes all its prunings by
    their losses: no depth is chosen, and no rate [1]_. Lengths are in units of the
    range of a feature so far: predictions do not change when a feature is rescaled or
    shifted. A row takes time proportional to the depth of the trees and to the number
    of features. Sparse rows are made dense. :func:`merge_models` puts the trees of all
    models together, and rows of a common `start` are in the trees of each.

    References
    ----------
    .. [1] J. Mourtada, S. Gaïffas and E. Scornet (2021). "AMF: Aggregated Mondrian
       forests for online learning". Journal of the Royal Statistical Society B 83.
    """

    _own_constraints: dict = {"step": [POSITIVE]}
    _model_types = MondrianForestModel, SeparateModels

    def _make_model(self, n_features, n_outputs, loss):
        n_slots = min(GROWTH * MIN_SLOTS, int(self.max_nodes))
        has_labels = is_classifier(self) and self._output_shape
        n_trees = self.n_estimators * (self._n_outputs(loss) if has_labels else 1)
        if 2 * n_features * n_slots * n_trees > MAX_BOUNDS:
            part = f"the bounds of the first {n_slots} nodes of its trees"
            raise too_wide_error(self, f"{n_features} features", part, MAX_BOUNDS)
        dirichlet = getattr(self, "dirichlet", None)
        return MondrianForestModel(
            loss,
            n_features,
            n_outputs,
            step=float(self.step),
            dirichlet=None if dirichlet is None else float(dirichlet),
            features=FeatureTransform(n_features, in_units=True),
            **self._trees,
        )


class _ExtraTrees(_Forest):
    """Mixin of trees whose splits are chosen by labels.

    Parameters
    ----------
    penalty : float, default=1.0
        A split must gain more than this times the logarithm of the number of splits
        that it was chosen from. Smaller values let trees grow sooner.
    window : int, default=8192
        Number of rows to remember, the last ones, from which leaves choose splits.

    References
    ----------
    .. [1] P. Geurts, D. Ernst and L. Wehenkel. "Extremely randomized trees." Machine
       Learning 63, 2006.
    .. [2] F. M. J. Willems, Y. M. Shtarkov and T. J. Tjalkens. "The context-tree
       weighting method: basic properties." IEEE Transactions on Information Theory 41,
       1995.
    """

    _own_constraints: dict = {
        "penalty": [Interval(Real, 0.0, None, closed="left")],
        "window": [COUNT],
    }

    _model_types = ExtraTreesModel, SeparateModels

    def _make_model(self, n_features, n_outputs, loss):
        self._check_width(n_features)
        return ExtraTreesModel(
            loss,
            n_features,
            n_outputs,
            penalty=float(self.penalty),
            window=int(self.window),
            features=FeatureTransform(n_features, in_units=True),
            **self._trees,
        )


@inherit_descriptions
class MondrianForestClassifier(_MondrianForest, OnlineClassifier):
    r"""Classifier by a forest of random trees that learn each row once.

    Use it where classes lie in clusters; as an expert of :class:`HedgeClassifier` it is
    there by default.

    Parameters
    ----------
    step : float, default=1.0
        Factor of losses in the weights of prunings, see Notes.
    dirichlet : float, default=None
        Number of rows that each class has in advance in each node, from 1e-10 to 1e10;
        None stands for ``0.5 / n_classes``. The literature's is 0.5.

    See Also
    --------
    MondrianForestRegressor : Regression by a forest of random trees.
    HedgeClassifier : Mixture of experts, of which a forest is one.
    sklearn.ensemble.RandomForestClassifier : Forest of trees that see all rows at once.

    Notes
    -----
    A node with :math:`n_k` of its n rows of class k gives it the probability
    :math:`(n_k + \alpha) / (n + \alpha K)`, where :math:`\alpha` is `dirichlet`. The
    forest predicts the mean of its trees. The loss is the logarithmic one; with
    ``step=1`` and rows of equal weight, prunings have the weights of Bayes' rule: the
    bound on the loss is for such rows. Sample weights are divided by the mean of those
    up to the row. Splits are drawn from an
    exponential distribution whose rate is the way from the row to the box around the
    rows of a node: see :doc:`/user_guide/forests`.

    A node takes 16 bytes for each feature, 8 for each class and 60 besides: ten trees
    with `max_nodes` nodes of 20 features 260 MB.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import MondrianForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MondrianForestClassifier(random_state=0)
    >>> predictions = model.partial_fit_predict(X, y, classes=[0, 1])
    >>> print(f"{(predictions == y).mean():.2f}")
    0.95
    """

    _own_constraints: dict = {"dirichlet": DIRICHLET}
    _lacking = {"loss": "log_loss"}

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        step: float = 1.0,
        dirichlet: float | None = None,
        max_nodes: int = MAX_NODES,
        random_state: RandomState = None,
        class_weight: ClassWeight = None,
        new_classes: Literal["error", "add"] = "error",
    ) -> None:
        self.n_estimators = n_estimators
        self.step = step
        self.dirichlet = dirichlet
        self.max_nodes = max_nodes
        self.random_state = random_state
        self.class_weight = class_weight
        self.new_classes = new_classes


@inherit_descriptions
class MondrianForestRegressor(_MondrianForest, OnlineRegressor):
    r"""Regression by a forest of random trees that learn each row once.

    By itself it is seldom the best; as an expert of :class:`HedgeRegressor` it is there
    by default.

    Parameters
    ----------
    step : float, default=16.0
        Factor of losses in the weights of prunings, see Notes.

    See Also
    --------
    MondrianForestClassifier : Classification by a forest of random trees.
    HedgeRegressor : Mixture of experts, of which a forest is one.
    sklearn.ensemble.RandomForestRegressor : Forest of trees that see all rows at once.

    Notes
    -----
    A node predicts the mean of the targets of its rows, and the forest the mean of its
    trees; before the first row 0. Prunings have weights by squared errors, divided by
    twice the variance of the targets so far, times `step`. `cumulative_loss_` has half
    squared errors. Several outputs share the splits, and each has weights of its own.

    A node takes 16 bytes for each feature, 24 for each target and 44 besides: ten trees
    with `max_nodes` nodes of 20 features 254 MB. Nearly each row splits each tree.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_scinol import MondrianForestRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(200, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = MondrianForestRegressor(random_state=0).partial_fit(X, y)
    >>> round(model.score(X, y), 2)
    1.0
    """

    _lacking = {"loss": "squared_error"}

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        step: float = 16.0,
        max_nodes: int = MAX_NODES,
        random_state: RandomState = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.step = step
        self.max_nodes = max_nodes
        self.random_state = random_state


@inherit_descriptions
class OnlineExtraTreesClassifier(_ExtraTrees, OnlineClassifier):
    r"""Classifier by randomised trees that split where classes differ.

    Each leaf keeps trying to split: it draws features and thresholds at random, as in
    extremely randomised trees [1]_, and makes the best split if that shortens the code
    of its labels by enough. Each tree mixes all its prunings by their losses [2]_, so
    that splits too many cost little, and no depth is chosen. Values are only compared:
    any increasing function of a feature leaves the predictions as they are.

    Use it where classes follow rules of few thresholds, or where there are many
    features, most of which say nothing. As an expert of :class:`HedgeClassifier` it is
    there by default.

    A row takes time proportional to the depth of the trees, and whenever a leaf tries
    to split, to the root of the number of features and to `window`. Sparse rows are
    made dense, and refused if a thousand would take over 1 GB.

    See Also
    --------
    OnlineExtraTreesRegressor : Regression by trees that split where targets differ.
    MondrianForestClassifier : Trees whose splits do not depend on labels.
    HedgeClassifier : Mixture of experts, of which these trees are one.
    sklearn.ensemble.ExtraTreesClassifier : Trees that see all rows at once.

    Notes
    -----
    A leaf tries when its rows have come to a weight of 8, and again each time this has
    grown by a fifth, with at most 128 of its rows in the window. It draws
    :math:`3 \sqrt d` features and four thresholds for each, values of its rows. Of
    each class a node has :math:`1 / 2K` rows in advance. Sample weights are divided by
    the mean of those up to the row; splits are chosen by rows, whatever their weights.

    With rows of equal weight, the loss of a tree is at most that of any of its prunings
    plus :math:`\ln 2` for each node of the pruning that splits in the tree. A pruning
    predicts by the deepest of its nodes that exists.

    A node takes 68 bytes, and 8 for each class; a row of the window 8 for each feature,
    and 4 for each tree.
    :func:`merge_models` keeps up to 64 trees, of all models in turn, and the latest
    rows of each.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_scinol import OnlineExtraTreesClassifier
    >>> X = np.random.default_rng(0).uniform(size=(2000, 10))
    >>> y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.3)
    >>> model = OnlineExtraTreesClassifier(random_state=0)
    >>> predictions = model.partial_fit_predict(X, y, classes=[False, True])
    >>> print(f"{(predictions == y)[1000:].mean():.2f}")
    1.00
    """

    _lacking = {"loss": "log_loss"}

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        penalty: float = 1.0,
        window: int = 8192,
        max_nodes: int = MAX_NODES,
        random_state: RandomState = None,
        class_weight: ClassWeight = None,
        new_classes: Literal["error", "add"] = "error",
    ) -> None:
        self.n_estimators = n_estimators
        self.penalty = penalty
        self.window = window
        self.max_nodes = max_nodes
        self.random_state = random_state
        self.class_weight = class_weight
        self.new_classes = new_classes


@inherit_descriptions
class OnlineExtraTreesRegressor(_ExtraTrees, OnlineRegressor):
    r"""Regression by randomised trees that split where targets differ.

    Leaves try random splits, as in extremely randomised trees [1]_, and make the best
    one if it takes away enough of the squared deviations of their targets. Each tree
    mixes all its prunings [2]_, so that no depth is chosen. Values are only compared:
    any increasing function of a feature leaves the predictions as they are.

    See :class:`OnlineExtraTreesClassifier` for time and memory. Sparse rows are made
    dense.

    See Also
    --------
    OnlineExtraTreesClassifier : Classification, and how splits are chosen.
    MondrianForestRegressor : Trees whose splits do not depend on targets.
    HedgeRegressor : Mixture of experts, of which these trees are one.
    sklearn.ensemble.ExtraTreesRegressor : Trees that see all rows at once.

    Notes
    -----
    A node predicts the mean of the targets of its rows, and the forest the mean of its
    trees; before the first row 0. Prunings have weights by squared errors, divided by
    twice the mean squared error of the tree so far. The gain of a split of n rows is
    :math:`\frac12 n \ln (S / S') - \frac12 \ln n`, where S and S' are the sums of
    squared deviations from the mean, and from the means of both sides; several outputs
    add up. `cumulative_loss_` has half squared errors.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_scinol import OnlineExtraTreesRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(2000, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = OnlineExtraTreesRegressor(random_state=0).partial_fit(X, y)
    >>> round(model.score(X, y), 2)
    1.0
    """

    _lacking = {"loss": "squared_error"}

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        penalty: float = 1.0,
        window: int = 8192,
        max_nodes: int = MAX_NODES,
        random_state: RandomState = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.penalty = penalty
        self.window = window
        self.max_nodes = max_nodes
        self.random_state = random_state
