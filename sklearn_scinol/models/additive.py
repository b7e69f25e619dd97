"""A linear model of the bins that values fall into, beside the values themselves."""

from copy import copy

import numpy as np
from scipy import sparse

from .._shards import Shards, columns_differ
from ..blocks import DenseRows
from ..config import current_engine
from ..engines import get_engine
from ..transforms import bins
from .linear import LinearModel

__all__ = ["AdditiveModel", "n_columns", "new_bins"]


def new_bins(n_features):
    """Bins of features before the first row."""
    return bins.FeatureBins(n_features, bins.N_SAMPLES, bins.N_QUANTILES)


def n_columns(of_features, pairs):
    """Columns of the rows that a learner sees: values and codes of such bins."""
    return len(of_features.edges) + of_features.n_codes(pairs)


class AdditiveModel(LinearModel):
    """See :class:`LinearModel`; of each feature it learns a line and a step function.

    The learner sees the values as the transform of the features gives them, and beside
    them a one-hot code of the bin of each raw value; with `pairs` also one of the cell
    of each two features. Rows before the edges of the bins are fixed have no codes.

    Parameters
    ----------
    pairs : bool
        Whether the model is also one of pairs of features.

    Attributes
    ----------
    bins : FeatureBins
    """

    def __init__(self, learner, loss, n_features, n_outputs, *, pairs, **keywords):
        self.bins, self.pairs = new_bins(n_features), pairs
        super().__init__(learner, loss, n_features, n_outputs, **keywords)

    @property
    def n_columns(self):
        return n_columns(self.bins, self.pairs)

    @property
    def parts(self):
        return [*super().parts, self.bins]

    def _sizes(self):
        yield "bins are of the features", len(self.bins.edges) == self.n_features
        yield from super()._sizes()

    # Learning.

    passes_over_zeros = False

    def gives_csr(self, X):
        return True

    @property
    def largest_row(self):
        d = self.n_features
        return 2 * d + (d * (d - 1) // 2 if self.pairs else 0)

    def _rows_of_block(self, engine, X, rows, weights, checks):
        def at_once(_, make):
            return make()

        return self.learn_transforms(engine, X, rows, weights, at_once), None

    def learn_transforms(self, engine, X, rows, weights, once):
        values = super().learn_transforms(engine, X, rows, weights, once)

        def enter_bins():
            is_learned = weights.given > 0.0
            return self.bins.learn_and_convert(engine, self.rows(X, rows).X, is_learned)

        of_rows = once(id(self.bins), enter_bins)
        return once(self.sees, lambda: self._add_codes(engine, values, of_rows))

    def _add_codes(self, engine, values, of_rows):
        return engine.add_codes(values.X, of_rows, self.bins.places(self.pairs))

    @property
    def sees(self):
        return *super().sees, id(self.bins), self.pairs

    def share_transforms(self, shared):
        super().share_transforms(shared)
        self.bins = shared.setdefault(("bins", self.bins.kind), self.bins)

    def learns_rows_alike(self, is_sparse):
        return super().learns_rows_alike(is_sparse) and self.bins.is_fixed

    # Merging.

    @property
    def _options(self):
        return {**super()._options, "pairs": self.pairs}

    def seen_columns(self):
        return None  # Bins are of all.

    def with_columns(self, placement):
        raise columns_differ("An additive model")

    def _merge_transforms(self, shards):
        scales = super()._merge_transforms(shards)
        self.bins = bins.FeatureBins.merged(shards.of(lambda model: model.bins))
        return scales

    def _merge_learner(self, shards, scales):
        members = [model._with_bins(self.bins) for model in shards.members]
        shards = Shards(members, shards.start, shards.shares, shards.units)
        super()._merge_learner(shards, scales)

    def _with_bins(self, of_features):
        """The model for other bins, as near as can be."""
        is_same = np.array_equal(self.bins.edges, of_features.edges, equal_nan=True)
        if is_same or not self.bins.is_fixed:
            return self
        model = copy(self)
        model.bins = of_features
        shares = of_features.shares_in(self.bins, self.pairs)
        d = self.n_features
        codes = slice(d, d + shares.shape[0])
        model.fields = np.array(self.fields, order="C")
        of_codes = model.fields[:, :, codes]
        of_codes[:] = (of_codes.reshape(-1, shares.shape[0]) @ shares.T).reshape(
            of_codes.shape
        )
        of_codes[:, :, shares.sum(axis=1) == 0.0] = self._initial_fields()
        return model

    # Predictions.

    def columns_of(self, features):
        if len(features) == 1:
            (j,) = features
            width = self.bins.n_columns
            of_bins = self.n_features + j * width
            return np.append(j, np.arange(of_bins, of_bins + width))
        if not self.pairs:
            return np.empty(0, np.intp)
        first = self.n_features + self.bins.first_cell(*sorted(features))
        return np.arange(first, first + self.bins.n_cells)

    def transform(self, X):
        engine = get_engine(current_engine())
        X = X.toarray() if sparse.issparse(X) else X
        values = DenseRows(super().transform(X))
        rows = self._add_codes(engine, values, self.bins.convert(engine, X))
        csr = rows.data, rows.indices.view(np.int32), rows.indptr
        return sparse.csr_array(csr, shape=(len(X), self.n_columns))
