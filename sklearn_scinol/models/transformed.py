"""Models that transform their rows, and learn them block by block."""

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ..config import current_engine
from ..transforms.features import FeatureTransform
from ..transforms.targets import TargetTransform
from .model import BLOCK_ROWS, Learned, at_once, dense_rows, ordered_blocks
from .served import learn_served
from .session import Session

# Largest number of entries of a block, which may be copied (8 MB).
BLOCK_ENTRIES = 2**20


class TransformsRows:
    """Mixin of a :class:`Model` of rows, and perhaps targets, that are transformed."""

    #: Whether it can share transformed rows with other models.
    shares_rows = True

    features: Any
    target: Any = None

    # Learning.

    def learn(self, chunk, order=None, is_repeated=False, are_new=True):
        engine = current_engine()
        self.ensure_layout(chunk.X)
        for rows in self.blocks(chunk.X, order, self._count_rows(chunk)):
            # No variable keeps the block, perhaps a copy, alive.
            block = partial(self.block, engine, chunk, rows)
            served = None if chunk.served is None else [chunk.served[rows]]
            predicted = None if served else self._learn_many(engine, chunk, rows)
            if predicted is None:
                (predicted,) = learn_served(engine, [self], block(), served, are_new)
            yield Learned(rows, predicted.reported, predicted.all_finite)

    def _count_rows(self, chunk):
        """Return a function that cuts blocks where the state changes, or None."""

    def _learn_many(self, engine, chunk, rows):
        """Learn a block in a faster way, if there is one; else return None."""

    def blocks(self, X, order=None, count=None):
        """Yield rows of `X` in order, as slices or indices, some at a time."""
        n, entries = X.shape[0], self.max_row_entries
        if self.learns_sparse(X):
            entries = X.nnz // n
        size = BLOCK_ENTRIES // max(entries, self.n_outputs, 1)
        return ordered_blocks(n, min(max(size, 1), BLOCK_ROWS), order, count)

    @property
    def max_row_entries(self):
        """Largest number of entries of a transformed dense row."""
        return self.n_features

    def learns_sparse(self, X):
        """Whether the rows stay sparse up to the transform."""
        return sparse.issparse(X) and bool(self.skips_zeros)

    def rows(self, X, rows):
        """Return rows for engines, copied only where necessary."""
        return dense_rows(X, rows)

    def target_scale(self, engine, y, weights, once=at_once):
        """Return the scale of targets, from which their transform has learned, or None.

        For `once` see :meth:`learn_transforms`.
        """
        target = self.target
        return target and once(id(target), lambda: target.learn(engine, y, weights))

    def learn_transforms(self, engine, chunk, rows, weights, once):
        """Return transformed rows, from which the transforms of features have learned.

        ``once(key, function)`` calls the function for a new key; for a known one it
        returns the former result.
        """

        def transform():
            block = self.rows(chunk.X, rows)
            checks = not chunk.is_within(self.features.largest, weights)
            return self.features.learn_and_transform(engine, block, weights, checks)

        transformed, outgrown = once(id(self.features), transform)
        self.forget(outgrown)
        return transformed

    @property
    def transforms_key(self):
        """Key of the transforms, equal for models with equal transformed rows."""
        return (id(self.features),)

    def share_transforms(self, shared):
        """Replace transforms by the transforms of models with equal keys.

        `shared` maps keys to transforms; new ones are added.
        """
        key = "features", self.features.kind, bool(self.skips_zeros)
        self.features = shared.setdefault(key, self.features)
        if self.target is not None:
            key = "target", self.target.kind
            self.target = shared.setdefault(key, self.target)

    # A few rows at a time, see models/session.py.

    session_type: type | None = Session

    def can_replay(self, is_sparse):
        """Whether recorded calls can learn any row of ordinary values."""
        return self.features.can_replay(is_sparse)

    @property
    def row_units(self):
        """Units of the features of rows as they are given."""
        return self.features.units

    # Predictions.

    def decision(self, X):
        p = np.empty((X.shape[0], self.n_outputs))
        for rows in self.blocks(X):
            Z = self.transform(X[rows])
            (p[rows],) = self.decisions_of_transformed([self], Z)
        return p

    def transform(self, X):
        """Return transformed rows, as the learner sees them."""
        with np.errstate(all="ignore"):
            return self.features.transform(X, self.weight_scale.smallest)

    # Merging.

    def _merge_transforms(self, shards):
        """Merge transforms; return scales, see :meth:`FeatureTransform.merged`."""
        self.features, scales = FeatureTransform.merged(shards.features)
        if self.target is not None:
            self.target = TargetTransform.merged(shards.target)
        return scales
