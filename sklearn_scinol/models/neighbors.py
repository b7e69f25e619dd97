"""Models that predict from the nearest of the last rows."""

from copy import copy

import numpy as np

from .._invariants import is_count, same_structure
from ..blocks import Block, DenseRows, NeighborQuery, RowWeights
from ..config import current_engine
from ..engines import get_engine
from ..transforms.features import FeatureTransform
from .base import BLOCK_ROWS, Learned, Model, dense_rows, ordered_blocks, snapshot
from .recent import RecentRows

__all__ = ["NeighborsModel"]

#: Standardised rows are clipped to ± this.
MAX_DEVIATIONS = 4.0

# Votes that classes have together before the first row.
PRIOR_VOTES = 0.5

# Largest number of entries of a block of rows, which may be copied (8 MB).
BLOCK_ENTRIES = 2**20


class NeighborsModel(Model):
    """Predict from the nearest of the last rows, each as standardised when it came.

    Parameters
    ----------
    loss : Loss
        Its minimiser among constants is what is predicted from numbers.
    n_features, n_outputs : int
    n_neighbors : int
    window : int
        Number of rows to store.
    features : FeatureTransform
        Centres and scales rows; models with equal transforms may share it.

    Attributes
    ----------
    recent : RecentRows
        The last rows; models that learn the same rows may share them.
    """

    def __init__(self, loss, n_features, n_outputs, *, n_neighbors, window, features):
        super().__init__(loss, n_outputs)
        self.n_features = n_features
        self.n_neighbors = n_neighbors
        self.features = features
        n_targets = 1 if self.n_classes else n_outputs
        self.recent = RecentRows(n_features, n_targets, window, self.n_classes)

    @property
    def n_classes(self):
        """Number of classes; 0 in regression."""
        return max(self.n_outputs, 2) if self.loss.is_classification else 0

    @property
    def quantile(self):
        """Quantile of the targets with the least loss; NaN for their mean."""
        if self.n_classes or not np.isfinite(self.loss.lipschitz):
            return np.nan
        return float(getattr(self.loss, "quantile", 0.5))

    # Learning.

    def learn(self, chunk, order=None, is_repeated=False, are_new=True):
        engine = get_engine(current_engine())
        self.ensure_layout(chunk.X)
        for rows in self._blocks(chunk.X, order):
            weights = chunk.weights(self.weight_scale, rows)
            Z = self.learn_transforms(engine, chunk.X, rows, weights, _at_once)
            (decision,) = self.learn_shared(engine, [self], Z, chunk.y[rows], weights)
            targets = chunk.targets(self.loss, self.n_outputs, rows)
            self._add_losses(engine, Block((), None, targets, weights, None), decision)
            self.t += np.count_nonzero(weights.given)
            self.weight_scale.learned(weights)
            yield Learned(rows, decision, True)

    def ensure_layout(self, X):
        """Convert the state to the layout of engines."""
        super()._ensure_layout()
        self.features.ensure_layout(False)
        self.recent.ensure_layout()

    def _blocks(self, X, order=None):
        size = max(BLOCK_ENTRIES // self.n_features, 1)
        return ordered_blocks(X.shape[0], min(size, BLOCK_ROWS), order)

    def learn_transforms(self, engine, X, rows, weights, once):
        """Return transformed rows; see :meth:`LinearModel.learn_transforms`."""

        def transform():
            block = dense_rows(X, rows)
            return self.features.learn_and_transform(engine, block, weights)

        transformed, _ = once(id(self.features), transform)
        return transformed

    @property
    def transforms_key(self):
        """Key of the transforms, equal for models with equal transformed rows."""
        return (id(self.features),)

    def share_transforms(self, shared):
        """Replace transforms; see :meth:`LinearModel.share_transforms`."""
        key = "features", self.features.kind, False
        self.features = shared.setdefault(key, self.features)

    @property
    def search_key(self):
        """Key of models that can share their last rows, and find them together."""
        quantile = None if np.isnan(self.quantile) else self.quantile
        return self.recent.window, self.n_classes, quantile, self.transforms_key

    def share_recent(self, shared):
        """Replace the last rows by those of models with equal `search_key`.

        From then on, only :meth:`learn_shared` may learn, with all of them.
        """
        self.recent = shared.setdefault(self.search_key, self.recent)

    @staticmethod
    def learn_shared(engine, models, rows, y, weights):
        """Learn transformed rows with models that share their last rows, by one search.

        Returns
        -------
        decisions : list of ndarray of shape (n, n_outputs)
            Predictions of each model, of each row from those before.
        """
        first = models[0]
        targets = np.require(y.reshape(len(y), -1), np.float64, ["C", "W"])
        n_neighbors = [min(model.n_neighbors, first.recent.window) for model in models]
        query = NeighborQuery(
            np.array(n_neighbors, np.int64),
            first.n_classes,
            first.quantile,
            MAX_DEVIATIONS,
        )
        predictions = first.recent.learn(engine, rows, targets, weights, query)
        return [
            model._decision(of_model)
            for model, of_model in zip(models, predictions, strict=True)
        ]

    def _decision(self, votes):
        """Return predictions from votes of classes, or from targets as they are."""
        if not self.n_classes:
            return votes
        shares = votes + PRIOR_VOTES / self.n_classes
        if self.n_outputs == 1:
            return np.log(shares[:, 1:] / shares[:, :1])
        return np.log(shares / (votes.sum(axis=1, keepdims=True) + PRIOR_VOTES))

    def arrays_of_outputs(self):
        return [self.recent.targets]

    def add_classes(self, loss, is_new):
        self.loss, self.n_outputs = loss, is_new.size
        self.recent.add_classes(is_new)

    def is_finite(self, chunk):
        return bool(np.isfinite(self.numbers).all())

    def checkpoint(self, X):
        return snapshot(self, self.weight_scale, self.recent, *self.features.parts)

    # Predictions.

    def decision(self, X):
        p = np.empty((X.shape[0], self.n_outputs))
        for rows in self._blocks(X):
            p[rows] = self.decision_of_transformed(self.transform(X[rows]))
        return p

    def transform(self, X):
        """Return transformed rows."""
        with np.errstate(all="ignore"):
            return self.features.transform(X, self.weight_scale.smallest)

    def decision_of_transformed(self, Z):
        """Predict transformed rows."""
        engine, n = get_engine(current_engine()), len(Z)
        targets = np.zeros((n, self.recent.targets.shape[1]))
        weights = RowWeights(np.zeros(n), np.ones(n), self.weight_scale.numbers)
        rows = DenseRows(np.require(Z, np.float64, ["C", "W"]))
        (decision,) = self.learn_shared(engine, [self], rows, targets, weights)
        return decision

    # Merging.

    def fresh(self):
        return type(self)(
            self.loss,
            self.n_features,
            self.n_outputs,
            n_neighbors=self.n_neighbors,
            window=self.recent.window,
            features=self.features.fresh(),
        )

    def with_columns(self, placement):
        model = copy(self)
        model.n_features = placement.n_columns
        model.features = self.features.with_columns(placement)
        model.recent = self.recent.with_columns(placement)
        return model

    def seen_columns(self):
        return self.features.seen

    @classmethod
    def merged(cls, shards):
        """Merge models of disjoint rows, which started from the same model.

        The latest rows of each stay, in proportion to its number of rows.
        """
        model = shards.start.fresh()
        shards = model.merge_counts(shards)
        model.features, _ = FeatureTransform.merged(
            shards.map(lambda part: part.features)
        )
        model.recent = RecentRows.merged(shards.map(lambda part: part.recent))
        return model

    def invariants(self):
        yield from super().invariants()
        yield "n_features is a number of features", is_count(self.n_features, 1)
        yield "n_neighbors is a number of rows", is_count(self.n_neighbors, 1)
        yield "window is a number of rows", is_count(self.recent.window, 1)
        yield from same_structure(self, self.fresh(), "model")
        n_classes = self.recent.n_classes
        yield "stored rows have the classes", n_classes == self.n_classes


def _at_once(key, function):
    """Call a function of transforms that are not shared."""
    return function()
