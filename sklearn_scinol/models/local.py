"""Models that predict a row from learned rows near it."""

from abc import abstractmethod
from copy import copy
from typing import Any

import numpy as np

from .._invariants import is_count, same_structure
from ..blocks import Block, Predictions, RowWeights
from ..config import current_engine
from ..engines import get_engine
from ..transforms.features import FeatureTransform
from ..transforms.targets import TargetTransform
from .model import BLOCK_ROWS, Learned, Model, at_once, dense_rows, ordered_blocks
from .served import learn_served
from .session import Session, prepare

# Largest number of entries of a block of rows, which may be copied (8 MB).
BLOCK_ENTRIES = 2**20


class LocalModel(Model):
    """Predict a row from learned rows near it, which a memory has.

    Parameters
    ----------
    loss : Loss
    n_features, n_outputs : int
    features : FeatureTransform
        Transforms rows; models with equal transforms may share it.

    Attributes
    ----------
    memory : RecentRows, Forest or None
        What was learned; models with equal `memory_key` may share it.
    target : TargetTransform or None
        Running moments of the targets, where they are needed.
    """

    memory: Any = None

    #: See :class:`LinearModel`.
    shares_rows = True
    skips_zeros: bool | None = False  # None for models that ignore rows
    target = None

    def __init__(self, loss, n_features, n_outputs, *, features):
        super().__init__(loss, n_outputs)
        self.n_features = n_features
        self.features = features

    @property
    def n_classes(self):
        """Number of classes; 0 in regression."""
        return max(self.n_outputs, 2) if self.loss.is_classification else 0

    @property
    def n_targets(self):
        """Number of targets of a row as they are stored."""
        return 1 if self.n_classes else self.n_outputs

    @property
    def memories(self):
        """Memories of the stored rows: one, or one for each part of the model."""
        return [] if self.memory is None else [self.memory]

    # Learning.

    def learn(self, chunk, order=None, is_repeated=False, are_new=True):
        engine = get_engine(current_engine())
        self.ensure_layout(chunk.X)
        for rows in self._blocks(chunk.X, order):
            block = self.block(engine, chunk, rows)
            if chunk.served is None:
                (learned,) = self.learn_together(engine, [self], block, are_new)
            else:
                served = [chunk.served[rows]]
                (learned,) = learn_served(engine, [self], block, served, are_new)
            yield Learned(rows, learned.predictions, True)

    def _blocks(self, X, order=None):
        size = max(BLOCK_ENTRIES // self.n_features, 1)
        return ordered_blocks(X.shape[0], min(size, BLOCK_ROWS), order)

    def block(self, engine, chunk, rows):
        """Return a block of rows for the engine; the transforms learn from it."""
        weights = chunk.weights(self.weight_scale, rows)
        Z = self.learn_transforms(engine, chunk, rows, weights, at_once)
        y = chunk.targets(self.loss, self.n_outputs, rows)
        return Block(Z, None, y, weights, self.target_scale(engine, y, weights))

    def target_scale(self, engine, y, weights, once=at_once):
        """Return the scale of targets; see :meth:`LinearModel.target_scale`."""
        target = self.target
        return target and once(id(target), lambda: target.learn(engine, y, weights))

    def learn_transforms(self, engine, chunk, rows, weights, once):
        """Return transformed rows; see :meth:`LinearModel.learn_transforms`."""

        def transform():
            block = dense_rows(chunk.X, rows)
            checks = not chunk.is_within(self.features.largest, weights)
            return self.features.learn_and_transform(engine, block, weights, checks)

        transformed, outgrown = once(id(self.features), transform)
        if outgrown.size:
            for memory in self.memories:
                memory.forget(outgrown)
        return transformed

    @property
    def transforms_key(self):
        """Key of the transforms, equal for models with equal transformed rows."""
        return (id(self.features),)

    def share_transforms(self, shared):
        """Replace transforms and memory by those of models with equal keys.

        If it is shared, only :meth:`learn_together` may learn from then on, with
        all of these models. See :meth:`LinearModel.share_transforms`.
        """
        key = "features", self.features.kind, False
        self.features = shared.setdefault(key, self.features)
        if self.target is not None:
            key = "target", self.target.kind
            self.target = shared.setdefault(key, self.target)
        if self.memory_key is not None:
            self._share_memories(shared)

    def _share_memories(self, shared):
        self.memory = shared.setdefault(self.memory_key, self.memory)

    @staticmethod
    def learn_together(engine, models, block, are_new=True):
        """Learn a block with models of one `memory_key`, which share their memory.

        Rows that are not new are not learned again: they would be their own neighbours,
        several times.

        Returns
        -------
        predicted : list of Predictions
            Of each model, before each row.
        """
        learned = block
        if not are_new:
            given = np.zeros_like(block.weights.given)
            learned = block._replace(weights=block.weights._replace(given=given))
        y = np.empty((len(block.targets), models[0].n_targets))
        engine.run(models[0].store_targets, block.targets, y)
        found = models[0].learn_rows(engine, models, learned, y)
        return [
            model.predictions_of(engine, block, of_model)
            for model, of_model in zip(models, found, strict=True)
        ]

    @abstractmethod
    def learn_rows(self, engine, models, block, y):
        """Predict the rows of a block for all models, then let the memory learn them.

        Parameters
        ----------
        engine : Engine
        models : list of LocalModel
            Models of one `memory_key`, of which this is the first.
        block : Block
        y : ndarray of shape (n, n_targets)
            See :meth:`store_targets`.

        Returns
        -------
        found : list of ndarray of shape (n, n_classes or n_outputs)
            Of each model, before each row: what :meth:`predictions_of` takes.
        """

    def predictions_of(self, engine, block, found):
        """Return predictions from what was found for a block, and add up losses."""
        decision = np.empty((len(block.targets), self.n_outputs))
        engine.run(self._decide, found, decision, block.weights)
        losses = engine.compute_losses(self.loss, block, decision, self.numbers)
        return Predictions(decision, None, losses)

    def _decide(self, found, decision, weights):
        """Fill predictions from what was found for rows, and count the rows."""
        decision[:] = self._decision(found)
        self.count_learned(weights)

    @abstractmethod
    def _decision(self, found):
        """Return predictions from what was found for rows."""

    def store_targets(self, y, stored):
        """Fill targets as they are stored: indices of classes, or numbers."""
        if self.n_classes and y.ndim == 2:
            np.greater(y, 0.0, out=stored)
        else:
            stored[:] = y.reshape(stored.shape)

    def add_classes(self, loss, is_new):
        self.loss, self.n_outputs = loss, is_new.size
        self.memory.add_classes(is_new)

    def is_finite(self, chunk):
        return bool(np.isfinite(self.numbers).all())

    # A few rows at a time, see models/session.py.

    def ensure_layout(self, X):
        """Convert the state to the layout for rows of the type of `X`."""
        self.features.ensure_layout(is_sparse=False)

    def can_replay(self, is_sparse):
        """Whether recorded calls can learn any row of ordinary values."""
        return self.features.can_replay(is_sparse)

    @property
    def row_units(self):
        """Units of the features."""
        return self.features.units

    @property
    def next_growth(self):
        """Number of rows for which there is no room."""
        n_free = min((memory.n_free for memory in self.memories), default=np.inf)
        return self.t + n_free + 1

    def stays_finite(self, largest):
        """Return True: what is predicted are means of targets, or probabilities."""
        return True

    def learn_block(self, engine, block):
        """Learn a block; return predictions made before, with their losses."""
        (predicted,) = self.learn_together(engine, [self], block)
        return predicted

    def session(
        self, engine, n_features, n_classes, n_rows=1, n_entries=None, serves=False
    ):
        sizes = n_features, n_classes, n_rows, n_entries
        return prepare(Session, self, [self], engine, *sizes, serves=serves)

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
        """Predict transformed rows with models of one `memory_key`."""
        first, n = models[0], Z.shape[0]
        weights = RowWeights(np.zeros(n), *np.ones((2, n)), np.ones(0))
        rows = dense_rows(Z, slice(None))
        y = np.zeros((n, first.n_targets))
        block = Block(rows, None, None, weights, None)
        found = first.learn_rows(get_engine(current_engine()), models, block, y)
        return [
            model._decision(of_model)
            for model, of_model in zip(models, found, strict=True)
        ]

    # Merging.

    @property
    @abstractmethod
    def _options(self):
        """Further arguments of the constructor, before the first row."""

    def fresh(self):
        sizes = self.n_features, self.n_outputs
        features = self.features.fresh()
        return type(self)(self.loss, *sizes, features=features, **self._options)

    def with_columns(self, placement):
        model = copy(self)
        model.n_features = placement.n_columns
        model.features = self.features.with_columns(placement)
        if self.memory is not None:
            model.memory = self.memory.with_columns(placement)
        return model

    def seen_columns(self):
        return self.features.seen

    @classmethod
    def merged(cls, shards):
        """Merge models of disjoint rows, which started from the same model."""
        model = shards.start.fresh()
        shards = model.merge_counts(shards)
        features = shards.map(lambda part: part.features)
        model.features, scales = FeatureTransform.merged(features)
        model._merge_memories(model.in_units_of_means(shards), scales)
        if model.target is not None:
            targets = shards.map(lambda part: part.target)
            model.target = TargetTransform.merged(targets)
        return model

    def _merge_memories(self, shards, scales):
        """Merge what models have learned, in units of features with these scales."""
        memories = shards.map(lambda part: part.memory)
        self.memory = type(self.memory).merged(memories, scales)

    def invariants(self):
        yield from super().invariants()
        yield "n_features is a number of features", is_count(self.n_features, 1)
        yield from self._parameters()
        yield from same_structure(self, self.fresh(), "model")
        for memory in self.memories:
            yield "memories have the classes", memory.n_classes == self.n_classes

    @abstractmethod
    def _parameters(self):
        """Yield what holds of parameters that :meth:`fresh` needs."""
