"""Transformer of features into one-hot codes of bins."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from .._docstrings import inherit_descriptions
from ..transforms.bins import N_QUANTILES, N_SAMPLES, FeatureBins
from ..transforms.placement import Moves
from .stream import FeatureTransformer


@inherit_descriptions
class OnlineBinner(FeatureTransformer):
    """Encodes features as one-hot codes of bins, on a stream.

    A linear model of the codes is a step function of each feature, a generalised
    additive model. The edges of the bins are values of the first rows, and stay, so
    that columns keep their meaning.

    Only the order of a feature's values matters: its logarithm, its rank or any
    increasing function has the same codes. A row costs O(n_features).

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows after which the edges are fixed. Rows before have no codes.
    n_quantiles : int, default=8
        Number of edges that are quantiles of the rows, and of edges that are quantiles
        of the distinct values, which matter where most rows have the same value.

    Attributes
    ----------
    edges_ : list of ndarray
        Edges of each feature, in ascending order. A bin includes its upper edge. Empty
        before they are fixed, and for features with up to two values, without codes.

    See Also
    --------
    sklearn.preprocessing.KBinsDiscretizer : Bins from all rows at once.

    Notes
    -----
    Each feature has ``2 * n_quantiles + 2`` columns from the first row on, and may not
    use all: one for each possible bin, and the last for NaN. They are sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_scinol import ScInOLRegressor
    >>> from sklearn_scinol.preprocessing import OnlineBinner
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 1))
    >>> y = np.abs(X[:, 0])
    >>> binner = OnlineBinner().partial_fit(X)
    >>> for features in X, binner.transform(X):
    ...     model = ScInOLRegressor().partial_fit(features, y)
    ...     print(f"{model.cumulative_loss_ / len(y):.2f}")
    0.47
    0.16
    >>> binner.transform([[0.1], [np.nan]]).indices
    array([ 4, 17], dtype=int32)
    """

    _parameter_constraints: dict = {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_quantiles": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, n_samples: int = N_SAMPLES, n_quantiles: int = N_QUANTILES
    ) -> None:
        self.n_samples = n_samples
        self.n_quantiles = n_quantiles

    def _new_state(self, n_features):
        return FeatureBins(n_features, self.n_samples, self.n_quantiles)

    def _state_alike(self):
        bins = self._state  # whose parameters were set before it began
        return FeatureBins(self.n_features_in_, bins.n_samples, bins.n_quantiles)

    def _learn(self, engine, rows):
        self._state.learn(rows)

    def _encode(self, engine, rows, learns):
        n_without = 0
        if learns and not self._state.is_fixed:
            n_without = self._state.n_missing
            self._state.learn(rows)
        codes = self._state.one_hot(engine, rows[n_without:])
        none = sparse.csr_array((len(rows) - codes.shape[0], codes.shape[1]))
        return sparse.vstack([none, codes], format="csr") if n_without else codes

    def _merge_state(self, engine, shards, sources):
        super()._merge_state(engine, shards, sources)
        n_each = self._state.n_columns
        n_columns = n_each * self.n_features_in_
        starts, placements = np.arange(0, n_columns, n_each), []
        for each in sources:
            moves = Moves(n_columns)
            self._state.add_moves(each._state, starts, moves)
            placements.append(moves.placement())
        return placements

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[np.object_]:
        """Get names of the columns of transformed rows.

        Parameters
        ----------
        input_features : array-like of str of shape (n_features,), default=None
            Feature names, if the input had none.

        Returns
        -------
        names : ndarray of str
            Such as "x0_bin0", and "x0_missing" for NaN.
        """
        check_is_fitted(self)
        codes = [f"bin{k}" for k in range(self._state.n_columns - 1)] + ["missing"]
        features = _check_feature_names_in(self, input_features)
        names = [f"{feature}_{code}" for feature in features for code in codes]
        return np.array(names, dtype=object)

    @property
    def edges_(self) -> list[NDArray[np.float64]]:
        """Edges of each feature."""
        check_is_fitted(self)
        return [edges[~np.isnan(edges)] for edges in self._state.edges]
