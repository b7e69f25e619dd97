"""Models that predict by a forest of trees that mix all their prunings."""

import numpy as np

from .._invariants import is_count, is_number
from ..learners.trees import NodeFrequencies, NodeMeans
from ..transforms.targets import TargetTransform
from .local import LocalModel
from .trees import ExtraTrees, MondrianTrees

# Number of rows that all classes have in advance, unless `dirichlet` is given.
PRIOR_ROWS = 0.5


class ForestModel(LocalModel):
    """Predict by the mean of the trees of a :class:`Forest`, which has the options.

    The loss is log loss, or squared error. Values are taken in units of their features,
    where squares would be out of range.
    """

    #: Type of the memory.
    _trees: type

    #: Factor of losses in the weights of nodes.
    step = 1.0

    #: Number of rows that each class has in advance; None for ``0.5 / n_classes``.
    dirichlet: float | None = None

    def __init__(self, loss, n_features, n_outputs, *, features, **options):
        super().__init__(loss, n_features, n_outputs, features=features)
        n_columns = self.n_classes or n_outputs
        self.memory = self._trees(n_features, n_columns, self.n_classes, **options)

    @property
    def nodes(self):
        """How nodes predict."""
        if not self.n_classes:
            return NodeMeans(self.step)
        dirichlet = self.dirichlet
        if dirichlet is None:
            dirichlet = PRIOR_ROWS / self.n_classes
        return NodeFrequencies(self.step, dirichlet)

    def learn_rows(self, engine, models, block, y):
        of_kind = self._of_kind(block)
        arguments = self.nodes, block.rows, y, block.weights, *of_kind
        return [self.memory.learn(engine, *arguments)]

    def _of_kind(self, block):
        """Return what trees of a kind need besides rows, targets and weights."""
        return ()

    def _decision(self, found):
        """Return predictions from probabilities of classes, or from targets."""
        if not self.n_classes:
            return found
        if self.n_outputs == 1:
            return np.log(found[:, 1:] / found[:, :1])
        return np.log(found)

    @property
    def _options(self):
        return {"seeds": self.memory.seeds, "max_nodes": self.memory.max_nodes}


class MondrianForestModel(ForestModel):
    """Predict by an aggregated Mondrian forest, see :class:`ForestModel`.

    Parameters
    ----------
    step : float
        Factor of losses in the weights of nodes.
    dirichlet : float or None
        Number of rows that each class has in advance; None stands for
        ``0.5 / n_classes``.
    """

    _trees = MondrianTrees

    def __init__(self, loss, n_features, n_outputs, *, step, dirichlet, **options):
        super().__init__(loss, n_features, n_outputs, **options)
        self.step, self.dirichlet = step, dirichlet
        if not self.n_classes:
            self.target = TargetTransform(n_outputs, unit_free=False)

    def _of_kind(self, block):
        scale, n = block.target_scale, len(block.weights.given)
        if scale is None:
            return (np.zeros((n, self.n_targets)),)
        return (scale.deviation,)

    @property
    def _options(self):
        return super()._options | {"step": self.step, "dirichlet": self.dirichlet}

    def _parameters(self):
        yield "step is a number", is_number(self.step, float) and self.step > 0.0
        is_prior = is_number(self.dirichlet, float) and self.dirichlet > 0.0
        yield "dirichlet is a number", self.dirichlet is None or is_prior


class ExtraTreesModel(ForestModel):
    """Predict by trees that split where labels differ, see :class:`ExtraTrees`."""

    _trees = ExtraTrees

    @property
    def _options(self):
        penalty, window = self.memory.penalty, self.memory.recent.window
        return super()._options | {"penalty": penalty, "window": window}

    def _parameters(self):
        penalty, window = self.memory.penalty, self.memory.recent.window
        yield "penalty is a number", is_number(penalty, float) and penalty >= 0.0
        yield "window is a number of rows", is_count(window, 1)
