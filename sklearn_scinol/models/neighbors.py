"""Models that predict from the nearest of the last rows."""

import numpy as np

from .._invariants import is_count
from ..blocks import NeighborQuery
from .local import LocalModel
from .recent import RecentRows

# Votes that classes have together before the first row.
PRIOR_VOTES = 0.5


class NeighborsModel(LocalModel):
    """Predict from the nearest of the last rows, each as standardised when it came.

    Parameters
    ----------
    loss : Loss
        Its minimiser among constants is what is predicted from numbers.
    window : int
        Number of rows to store.
    n_candidates : int
        Number of stored rows to compare by all features; 0 stands for all rows.
    largest : float
        Standardised values are clipped at plus and minus this.
    """

    def __init__(
        self,
        loss,
        n_features,
        n_outputs,
        *,
        n_neighbors,
        window,
        n_candidates,
        largest,
        features,
    ):
        super().__init__(loss, n_features, n_outputs, features=features)
        self.n_neighbors = n_neighbors
        self.n_candidates = n_candidates
        self.largest = largest
        sizes = n_features, self.n_targets, window, self.n_classes
        self.memory = RecentRows(*sizes, has_signs=n_candidates > 0)

    @property
    def quantiles(self):
        """Quantile of each target with the least loss; NaN for its mean."""
        is_mean = self.n_classes or not np.isfinite(self.loss.lipschitz)
        quantile = np.nan if is_mean else getattr(self.loss, "quantile", 0.5)
        return np.full(self.n_outputs, quantile)

    @property
    def memory_key(self):
        """See :class:`LocalModel`: one search finds the rows for all."""
        found = self.memory.window, self.n_candidates, self.largest
        quantiles = self.quantiles.tobytes()
        return "neighbors", *found, self.n_classes, quantiles, self.transforms_key

    def learn_rows(self, engine, models, block, y):
        window = self.memory.window
        n_neighbors = [min(model.n_neighbors, window) for model in models]
        query = NeighborQuery(
            np.array(n_neighbors, np.int64),
            self.n_candidates,
            self.n_classes,
            self.quantiles,
            self.largest,
        )
        return self.memory.learn(engine, block.rows, y, block.weights, query)

    def _decision(self, found):
        """Return predictions from votes of classes, or from targets as they are."""
        if not self.n_classes:
            return found
        shares = found + PRIOR_VOTES / self.n_classes
        if self.n_outputs == 1:
            return np.log(shares[:, 1:] / shares[:, :1])
        return np.log(shares / (found.sum(axis=1, keepdims=True) + PRIOR_VOTES))

    @property
    def _options(self):
        return {
            "n_neighbors": self.n_neighbors,
            "window": self.memory.window,
            "n_candidates": self.n_candidates,
            "largest": self.largest,
        }

    def _parameters(self):
        yield "n_neighbors is a number of rows", is_count(self.n_neighbors, 1)
        yield "window is a number of rows", is_count(self.memory.window, 1)
        yield "n_candidates is a number of rows", is_count(self.n_candidates)
        has_features = self.memory.n_features == self.n_features
        yield "memory has n_features features", has_features
        has_signs = self.memory.has_signs == (self.n_candidates > 0)
        yield "memory has signs for candidates", has_signs
        yield "largest >= 1", self.largest >= 1.0
