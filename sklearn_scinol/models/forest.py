"""Models that predict by an aggregated Mondrian forest."""

import numpy as np

from .._invariants import is_number
from ..learners.mondrian_tree import NodeFrequencies, NodeMeans
from ..transforms.targets import TargetTransform
from .local import LocalModel
from .trees import Forest

# Number of rows that all classes have in advance, unless `dirichlet` is given.
PRIOR_ROWS = 0.5


class ForestModel(LocalModel):
    """Predict by the mean of the trees of an aggregated Mondrian forest.

    Parameters
    ----------
    loss : Loss
        Log loss, or squared error.
    n_features, n_outputs : int
    step : float
        Factor of losses in the weights of nodes.
    dirichlet : float or None
        Number of rows that each class has in advance; None stands for
        ``0.5 / n_classes``.
    seeds, max_nodes
        See :class:`Forest`.
    features : FeatureTransform
        Takes values in units of their features, where squares would be out of range.

    Attributes
    ----------
    memory : Forest
    """

    def __init__(
        self,
        loss,
        n_features,
        n_outputs,
        *,
        step,
        dirichlet,
        seeds,
        max_nodes,
        features,
    ):
        super().__init__(loss, n_features, n_outputs, features=features)
        self.step, self.dirichlet = step, dirichlet
        if not self.n_classes:
            self.target = TargetTransform(n_outputs, unit_free=False)
        n_columns = self.n_classes or n_outputs
        self.memory = Forest(n_features, n_columns, self.n_classes, seeds, max_nodes)

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
        scale = block.target_scale
        deviations = np.zeros_like(y) if scale is None else scale.deviation
        arguments = self.nodes, block.rows, y, block.weights, deviations
        return [self.memory.learn(engine, *arguments)]

    def _decision(self, found):
        """Return predictions from probabilities of classes, or from targets."""
        if not self.n_classes:
            return found
        if self.n_outputs == 1:
            return np.log(found[:, 1:] / found[:, :1])
        return np.log(found)

    def arrays_of_outputs(self):
        return [self.memory.sums]

    @property
    def _options(self):
        memory = self.memory
        return {
            "step": self.step,
            "dirichlet": self.dirichlet,
            "seeds": memory.seeds,
            "max_nodes": memory.max_nodes,
        }

    def _parameters(self):
        yield "step is a number", is_number(self.step, float) and self.step > 0.0
        is_prior = is_number(self.dirichlet, float) and self.dirichlet > 0.0
        yield "dirichlet is a number", self.dirichlet is None or is_prior
