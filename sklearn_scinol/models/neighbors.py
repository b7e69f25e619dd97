"""Models that predict from the nearest of the last rows."""

from copy import copy

import numpy as np

from .._invariants import is_count, same_structure
from ..blocks import Block, DenseRows, NeighborQuery, Predictions, RowWeights
from ..config import current_engine
from ..engines import get_engine
from ..transforms.clipping import MAX_DEVIATIONS
from ..transforms.features import FeatureTransform
from .base import BLOCK_ROWS, Learned, Model, dense_rows, ordered_blocks, snapshot
from .recent import RecentRows

__all__ = ["NeighborsModel"]

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

    #: See :class:`LinearModel`.
    shares_rows = True
    skips_zeros = False
    target = None

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
            targets = chunk.targets(self.loss, self.n_outputs, rows)
            block = Block(Z, None, targets, weights, None)
            (learned,) = self.learn_stacked(engine, [self], block, are_new)
            yield Learned(rows, learned.predictions, True)

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
        """Replace transforms and last rows by those of models with equal keys.

        From then on, only :meth:`learn_stacked` may learn, with all of them. See
        :meth:`LinearModel.share_transforms`.
        """
        key = "features", self.features.kind, False
        self.features = shared.setdefault(key, self.features)
        self.recent = shared.setdefault(self.stack_key, self.recent)

    @property
    def stack_key(self):
        """Key of models that share their last rows, and find them together."""
        quantile = None if np.isnan(self.quantile) else self.quantile
        key = self.recent.window, self.n_classes, quantile, self.transforms_key
        return "neighbors", *key

    @staticmethod
    def learn_stacked(engine, models, block, are_new=True):
        """Learn a block with models of one `stack_key`, by one search.

        Rows that are not new are not stored again, or a row would be its own nearest
        neighbour, several times.

        Returns
        -------
        predicted : list of Predictions
            Of each model, before each row.
        """
        y = models[0].stored_targets(block.targets)
        searched = block
        if not are_new:
            given = np.zeros_like(block.weights.given)
            searched = block._replace(weights=block.weights._replace(given=given))
        found = models[0].search(engine, models, searched, y)
        return [
            model.read_search(engine, block, of_model)
            for model, of_model in zip(models, found, strict=True)
        ]

    def search(self, engine, models, block, y):
        """Find the nearest rows for all of the models, and store a block.

        Parameters
        ----------
        engine : Engine
        models : list of NeighborsModel
        block : Block
        y : ndarray of shape (n, n_targets)
            See :meth:`stored_targets`.

        Returns
        -------
        found : ndarray of shape (n_models, n, n_classes or n_outputs)
            See :meth:`Engine.learn_neighbors`.
        """
        window = self.recent.window
        n_neighbors = [min(model.n_neighbors, window) for model in models]
        query = NeighborQuery(
            np.array(n_neighbors, np.int64),
            self.n_classes,
            self.quantile,
            MAX_DEVIATIONS,
        )
        return self.recent.learn(engine, block.rows, y, block.weights, query)

    def read_search(self, engine, block, found):
        """Return predictions from what was found for a block, and add up losses."""
        decision = self._decision(found)
        losses = self._add_losses(engine, block, decision)
        self.t += np.count_nonzero(block.weights.given)
        self.weight_scale.learned(block.weights)
        return Predictions(decision, None, losses)

    def stored_targets(self, y):
        """Return targets as they are stored: indices of classes, or numbers."""
        if self.n_classes:
            y = y[:, np.newaxis] if y.ndim == 1 else y > 0.0
        return np.require(y, np.float64, ["C", "W"])

    def _decision(self, votes):
        """Return predictions from votes of classes, or from targets as they are."""
        if not self.n_classes:
            return votes
        shares = votes + PRIOR_VOTES / self.n_classes
        if self.n_outputs == 1:
            return np.log(shares[:, 1:] / shares[:, :1])
        return np.log(shares / (votes.sum(axis=1, keepdims=True) + PRIOR_VOTES))

    # As a part of a mixture that learns one row at a time, see models/row.py.

    @property
    def parts(self):
        """Objects with the state."""
        return [*self.features.parts, self.recent]

    def can_replay(self, is_sparse):
        """Whether recorded calls can learn any row of ordinary values."""
        return self.features.can_replay(is_sparse)

    @property
    def row_units(self):
        """Units of the features."""
        return self.features.units

    @property
    def next_change(self):
        """Number of rows for which there is no room."""
        return self.t + self.recent.n_free + 1

    def stays_finite(self, largest):
        """Return True: rows are clipped, and targets stay as they are."""
        return True

    def arrays_of_outputs(self):
        return [self.recent.targets]

    def add_classes(self, loss, is_new):
        self.loss, self.n_outputs = loss, is_new.size
        self.recent.add_classes(is_new)

    def is_finite(self, chunk):
        return bool(np.isfinite(self.numbers).all())

    def checkpoint(self, X):
        restore_rows = self.recent.checkpoint(X.shape[0])
        restore_others = snapshot(self, self.weight_scale, *self.features.parts)

        def restore():
            restore_others()
            restore_rows()

        return restore

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
        (decision,) = self.decisions_of_transformed([self], Z)
        return decision

    @staticmethod
    def decisions_of_transformed(models, Z):
        """Predict transformed rows with models of one `stack_key`, by one search."""
        first, n = models[0], len(Z)
        weights = RowWeights(np.zeros(n), np.ones(n), first.weight_scale.numbers)
        rows = DenseRows(np.require(Z, np.float64, ["C", "W"]))
        y = np.zeros((n, first.recent.targets.shape[1]))
        block = Block(rows, None, None, weights, None)
        found = first.search(get_engine(current_engine()), models, block, y)
        return [
            model._decision(of_model)
            for model, of_model in zip(models, found, strict=True)
        ]

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
