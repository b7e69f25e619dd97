"""Linear models of feature values and of one-hot codes of their bins."""

from copy import copy

import numpy as np
from scipy import sparse

from .._shards import Shards, columns_differ
from ..blocks import DenseRows
from ..config import current_engine
from ..transforms import bins
from .linear import LinearModel
from .model import at_once
from .transformed import BLOCK_ENTRIES


def new_bins(n_features):
    """Return the bins of features before the first row."""
    return bins.FeatureBins(n_features, bins.N_SAMPLES, bins.N_QUANTILES)


class AdditiveModel(LinearModel):
    """Linear model that learns a line and a step function of each feature.

    The learner sees transformed values and a one-hot code of the bin of each raw value.
    Rows before the edges of the bins are fixed have no codes. See :class:`LinearState`
    for the parameters.
    """

    def __init__(self, learner, loss, n_features, n_outputs, **keywords):
        self.bins = new_bins(n_features)
        super().__init__(learner, loss, n_features, n_outputs, **keywords)

    @property
    def n_columns(self):
        return self.n_features + self.bins.n_codes

    def _sizes(self):
        yield "each feature has bins", len(self.bins.edges) == self.n_features
        yield from super()._sizes()

    # Learning.

    def look_ahead(self, chunk):
        c = chunk.sample_weight
        rows = np.arange(len(chunk)) if c is None else np.flatnonzero(c > 0.0)
        n_most = max(BLOCK_ENTRIES // self.n_features, self.bins.n_samples)
        rows = rows[:: -(-len(rows) // n_most)]
        self.bins.fix(self.rows(chunk.X, rows).X)

    skips_zeros = False

    def learner_sees_csr(self, X):
        return True

    @property
    def max_row_entries(self):
        return 2 * self.n_features

    def _block_rows(self, engine, chunk, rows, weights, checks):
        return self.learn_transforms(engine, chunk, rows, weights, at_once), None

    def learn_transforms(self, engine, chunk, rows, weights, once):
        values = super().learn_transforms(engine, chunk, rows, weights, once)

        def learn_bins():
            is_learned = weights.given > 0.0
            return self.bins.learn_and_convert(
                engine, self.rows(chunk.X, rows).X, is_learned
            )

        row_bins = once(id(self.bins), learn_bins)
        return once(
            self.transforms_key, lambda: self._add_codes(engine, values, row_bins)
        )

    def _add_codes(self, engine, values, row_bins):
        coded = np.flatnonzero(self.bins.has_edges)
        return engine.add_codes(values.X, row_bins, coded, self.bins.n_columns)

    @property
    def transforms_key(self):
        return *super().transforms_key, id(self.bins)

    def share_transforms(self, shared):
        super().share_transforms(shared)
        self.bins = shared.setdefault("bins", self.bins)

    def can_replay(self, is_sparse):
        return super().can_replay(is_sparse) and self.bins.n_missing != 1

    # Merging.

    def seen_columns(self):
        return None  # bins are of all columns

    def with_columns(self, placement):
        raise columns_differ("An additive model")

    def _merge_transforms(self, shards):
        scales = super()._merge_transforms(shards)
        self.bins = bins.FeatureBins.merged(shards.bins)
        return scales

    def _merge_learner(self, shards, scales):
        members = [model._with_bins(self.bins) for model in shards.members]
        shards = Shards(members, shards.start, shards.shares, shards.units)
        super()._merge_learner(shards, scales)

    def _with_bins(self, feature_bins):
        """Return the closest model with other bins."""
        is_same = np.array_equal(self.bins.edges, feature_bins.edges, equal_nan=True)
        if is_same or not self.bins.is_fixed:
            return self
        model = copy(self)
        model.bins = feature_bins
        shares = feature_bins.shares_in(self.bins)
        model.fields = np.array(self.fields, order="C")
        codes = model.fields[:, :, self.n_features : self.n_columns]
        by_feature = codes.reshape(*codes.shape[:2], *shares.shape[:2], 1)
        codes[:] = (shares @ by_feature).reshape(codes.shape)
        codes[:, :, ~shares.any(axis=2).ravel()] = self._initial_fields()
        return model

    # Predictions.

    def columns_of(self, feature):
        width = self.bins.n_columns
        first = self.n_features + feature * width
        return [feature, *range(first, first + width)]

    def transform(self, X):
        engine = current_engine()
        X = X.toarray() if sparse.issparse(X) else X
        values = DenseRows(super().transform(X))
        rows = self._add_codes(engine, values, self.bins.convert(engine, X))
        csr = rows.data, rows.indices.view(np.int32), rows.indptr
        return sparse.csr_array(csr, shape=(len(X), self.n_columns))
