"""Models that predict the labels that came last, whatever the features are."""

import numpy as np

from .._invariants import floats, is_number
from .._state import as_writable
from ..blocks import DenseRows
from ..learners.label_shares import learn_rows
from ..transforms.features import FeatureTransform
from .forest import PRIOR_ROWS
from .local import LocalModel


class LastLabelModel(LocalModel):
    """Predict by running shares of labels, which forget earlier rows.

    Parameters
    ----------
    forgetting : float
        Share of earlier rows that each row takes away.
    dirichlet : float or None
        Number of rows that each class has in advance; None stands for
        ``0.5 / n_classes``.
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

    def __init__(
        self, loss, n_features, n_outputs, *, forgetting, dirichlet, features=None
    ):
        features = features or FeatureTransform(n_features)
        super().__init__(loss, n_features, n_outputs, features=features)
        self.forgetting, self.dirichlet = forgetting, dirichlet
        self.counts = np.zeros(n_outputs + 1)

    @property
    def n_targets(self):
        return 1 if self.loss.joint else self.n_outputs

    # Learning.

    max_row_entries = 1

    def learn_transforms(self, engine, chunk, rows, weights, once):
        self.check_finite(chunk, rows, weights)
        return DenseRows(np.empty((len(weights.given), 0)))

    def learn_rows(self, engine, models, block, y):
        prior = self.dirichlet
        if prior is None:
            prior = PRIOR_ROWS / (self.n_outputs if self.loss.joint else 2)
        found, kept = np.empty((len(y), self.n_outputs)), 1.0 - self.forgetting
        counts = as_writable(self.counts, "C")
        engine.run_loop(learn_rows, counts, y, block.weights, kept, prior, found)
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
        return {"forgetting": self.forgetting, "dirichlet": self.dirichlet}

    def _merge_memories(self, shards, scales):
        counts = shards.counts
        counts = counts.mean(1) if self.forgetting else counts.sum(1)
        self.counts = np.maximum(counts, 0.0)

    def _parameters(self):
        is_share = is_number(self.forgetting, float) and 0.0 <= self.forgetting <= 1.0
        yield "forgetting is a share", is_share
        is_prior = is_number(self.dirichlet, float) and self.dirichlet > 0.0
        yield "dirichlet is a number", self.dirichlet is None or is_prior
        yield from floats("counts", self.counts, (self.n_outputs + 1,))
        yield "counts are not negative", self.counts >= 0.0
