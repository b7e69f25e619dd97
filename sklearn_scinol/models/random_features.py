"""Newton steps on random Fourier features of rows."""

import numpy as np
from scipy import sparse

from .._shards import columns_differ
from ..blocks import DenseRows
from ..config import current_engine
from ..transforms.fourier import FourierFeatures
from .newton import NewtonModel


class RandomFeaturesModel(NewtonModel):
    """Newton model of random features, which take the place of the features.

    Its `n_features` are random ones, to which `fourier` maps rows.
    """

    def __init__(self, learner, loss, n_features, n_outputs, *, fourier, **keywords):
        self.fourier = fourier
        super().__init__(learner, loss, n_features, n_outputs, **keywords)

    @property
    def n_inputs(self):
        return self.fourier.features.n_features

    def _sizes(self):
        n_directions = self.fourier.n_components
        yield "each random feature has a direction", n_directions == self.n_features
        yield from super()._sizes()

    # Learning.

    @property
    def max_row_entries(self):
        return max(self.n_inputs, self.n_features)

    def _block_rows(self, engine, chunk, rows, weights, checks):
        checks = not chunk.is_within(self.fourier.features.largest, weights)
        rows = self.rows(chunk.X, rows)
        Z = DenseRows(self.fourier.learn(engine, rows, weights, checks))
        return Z, self.features.state()

    @property
    def row_units(self):
        return self.fourier.features.units

    def can_replay(self, is_sparse):
        can_transform = self.fourier.features.can_replay(is_sparse=False)
        return can_transform and super().can_replay(is_sparse)

    # Merging.

    @property
    def _options(self):
        return {**super()._options, "fourier": self.fourier.fresh()}

    def with_columns(self, placement):
        raise columns_differ("A model of random features")

    def _merge_transforms(self, shards):
        scales = super()._merge_transforms(shards)
        self.fourier = FourierFeatures.merged(shards.fourier)
        return scales

    # Predictions.

    def coefficients(self):
        """Weights of the features, which are 0 if there is not one random feature."""
        w, b = super().coefficients()
        return (w if self.n_features else np.zeros((len(w), self.n_inputs))), b

    def transform(self, X):
        X = X.toarray() if sparse.issparse(X) else X
        engine, weight = current_engine(), self.weight_scale.smallest
        return super().transform(self.fourier.transform(engine, X, weight))
