"""Models that predict the labels that came last, whatever the features are."""

import numpy as np
from scipy import sparse

from .._invariants import floats, is_number
from .._state import as_writable
from ..blocks import DenseRows
from ..transforms.features import FeatureTransform
from ..transforms.ranges import MAX_VALUE, OutOfRange
from .local import LocalModel
from .model import BLOCK_ROWS, ordered_blocks

# Number of rows that all classes have together in advance.
PRIOR_ROWS = 0.001


class LastLabelModel(LocalModel):
    """Predict by running shares of labels, which forget earlier rows.

    Parameters
    ----------
    loss : Loss
        Log loss.
    n_features, n_outputs : int
    forgetting : float
        Share of earlier rows that each row takes away.
    features : FeatureTransform, default=None
        Knows the columns, and transforms nothing.

    Attributes
    ----------
    counts : ndarray of shape (n_outputs + 1,)
        Numbers of rows that are remembered: of each class, or with each label; and of
        all.
    """

    shares_rows = False
    skips_zeros = None

    def __init__(self, loss, n_features, n_outputs, *, forgetting, features=None):
        features = features or FeatureTransform(n_features)
        super().__init__(loss, n_features, n_outputs, features=features)
        self.forgetting = forgetting
        self.counts = np.zeros(n_outputs + 1)

    @property
    def n_targets(self):
        return 1 if self.loss.joint else self.n_outputs

    # Learning.

    def _blocks(self, X, order=None):
        return ordered_blocks(X.shape[0], BLOCK_ROWS, order)

    def learn_transforms(self, engine, chunk, rows, weights, once):
        if not chunk.is_within(MAX_VALUE, weights):
            X = chunk.X[rows]
            if not np.isfinite(X.data if sparse.issparse(X) else X).all():
                raise OutOfRange("Input X contains NaN or infinity.")
        return DenseRows(np.empty((len(weights.given), 0)))

    def learn_rows(self, engine, models, block, y):
        found = np.empty((len(y), self.n_outputs))
        memory = as_writable(self.counts, "C"), y, block.weights, 1.0 - self.forgetting
        engine.learn_labels(*memory, PRIOR_ROWS, found)
        return [found]

    def _decision(self, found):
        return np.log(found)

    def add_classes(self, loss, is_new):
        counts, total = np.split(self.counts, [-1])
        if self.n_outputs == 1:
            counts = np.append(total - counts, counts)
        self.loss, self.n_outputs = loss, is_new.size
        self.counts = np.append(np.zeros(is_new.size), total)
        self.counts[:-1][~is_new] = counts

    # Predictions.

    def transform(self, X):
        return np.empty((X.shape[0], 0))

    # Merging.

    @property
    def _options(self):
        return {"forgetting": self.forgetting}

    def _merge_memories(self, shards, scales):
        counts = shards.counts
        counts = counts.mean(1) if self.forgetting else counts.sum(1)
        self.counts = np.maximum(counts, 0.0)

    def _parameters(self):
        is_share = is_number(self.forgetting, float) and 0.0 <= self.forgetting <= 1.0
        yield "forgetting is a share", is_share
        yield from floats("counts", self.counts, (self.n_outputs + 1,))
        yield "counts are not negative", self.counts >= 0.0
