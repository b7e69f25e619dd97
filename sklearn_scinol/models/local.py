"""Models that predict a row from learned rows near it."""

from abc import abstractmethod
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from .._invariants import is_count, same_structure
from ..blocks import Block, Predictions, RowWeights
from ..config import current_engine
from ..transforms.ranges import MAX_VALUE, OutOfRange
from .model import Model, at_once, dense_rows
from .transformed import TransformsRows


class LocalModel(TransformsRows, Model):
    """Predict a row from learned rows near it, which a memory has.

    Attributes
    ----------
    memory : RecentRows, Forest or None
        What was learned; models with equal `memory_key` may share it.
    target : TargetTransform or None
        Running moments of the targets, where they are needed.
    """

    memory: Any = None
    skips_zeros: bool | None = False  # None for models that ignore rows

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

    def block(self, engine, chunk, rows):
        """Return a block of rows for the engine; the transforms learn from it."""
        weights = chunk.weights(self.weight_scale, rows)
        Z = self.learn_transforms(engine, chunk, rows, weights, at_once)
        y = chunk.targets(self.loss, self.n_outputs, rows)
        return Block(Z, None, y, weights, self.target_scale(engine, y, weights))

    def check_finite(self, chunk, rows, weights):
        """Refuse rows that are not finite, in a model that does not transform them."""
        if not chunk.is_within(MAX_VALUE, weights):
            X = chunk.X[rows]
            if not np.isfinite(X.data if sparse.issparse(X) else X).all():
                raise OutOfRange("Input X contains NaN or infinity.")

    def forget(self, features):
        """Forget what was learned of features, whose units have changed."""
        for memory in self.memories if features.size else ():
            memory.forget(features)

    def share_transforms(self, shared):
        """Replace transforms and memory by those of models with equal keys.

        If it is shared, only :meth:`learn_together` may learn from then on, with
        all of these models. See :meth:`TransformsRows.share_transforms`.
        """
        super().share_transforms(shared)
        if self.memory_key is not None:
            self._share_memories(shared)

    def _share_memories(self, shared):
        self.memory = shared.setdefault(self.memory_key, self.memory)

    @staticmethod
    def learn_together(engine, models, block, are_new=True):
        """Learn a block with models of one `memory_key`, which share their memory.

        Rows that are not new are not learned again: they would be their own neighbours,
        several times. Returns the :class:`Predictions` of each model, before each row.
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

        The models are those of one `memory_key`, of which this is the first. For `y`
        see :meth:`store_targets`. Returns what :meth:`predictions_of` takes of each
        model.
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

    @property
    def next_growth(self):
        """Number of rows for which there is no room."""
        n_free = min((memory.n_free for memory in self.memories), default=np.inf)
        return self.t + n_free + 1

    def stays_finite(self, largest):
        """Return True: what is predicted are means of targets, or probabilities."""
        return True

    # Predictions.

    @staticmethod
    def decisions_of_transformed(models, Z):
        """Predict transformed rows with models of one `memory_key`."""
        first, n = models[0], Z.shape[0]
        weights = RowWeights(np.zeros(n), *np.ones((2, n)), np.ones(0))
        rows = dense_rows(Z, slice(None))
        y = np.zeros((n, first.n_targets))
        block = Block(rows, None, None, weights, None)
        found = first.learn_rows(current_engine(), models, block, y)
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
        scales = model._merge_transforms(shards)
        model._merge_memories(model.in_units_of_means(shards), scales)
        return model

    def _merge_memories(self, shards, scales):
        """Merge what models have learned, in units of features with these scales."""
        self.memory = type(self.memory).merged(shards.memory, scales)

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
