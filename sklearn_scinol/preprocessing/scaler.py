"""Transformer of features into standardised ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from .._docstrings import inherit_descriptions
from ..transforms.standard import StandardTransform
from .stream import FeatureTransformer


@inherit_descriptions
class OnlineScaler(OneToOneFeatureMixin, FeatureTransformer):
    """Standardises features, on a stream.

    Mean and variance are over all rows so far, including the row itself: the first
    row becomes zeros, and no value becomes larger than the square root of the number of
    rows. :class:`~sklearn.preprocessing.StandardScaler` leaves out a new row, and sees
    whole chunks before it transforms their rows.

    Rescaling a feature changes nothing, to the last bit if it is by a power of two.
    Learners of this package need no scaling; others do.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Mean of the values so far, in their units; 0 if there were none.
    var_ : ndarray of shape (n_features,)
        Variance of the values so far, not corrected for bias.

    See Also
    --------
    sklearn.preprocessing.StandardScaler : Standardises by all rows at once.

    Notes
    -----
    NaN is a missing value: it stays, and is left out of the moments, which are updated
    row by row [1]_ without cancellation.

    References
    ----------
    .. [1] B. P. Welford (1962). "Note on a method for calculating corrected sums of
       squares and products". Technometrics 4(3).

    Examples
    --------
    >>> from sklearn_scinol.preprocessing import OnlineScaler
    >>> scaler = OnlineScaler()
    >>> scaler.partial_fit_transform([[1e9], [3e9], [2e9]]).round(3)
    array([[0.],
           [1.],
           [0.]])
    >>> scaler.transform([[4e9]]).round(3)
    array([[1.342]])
    """

    _parameter_constraints: dict = {}

    def _new_state(self, n_features):
        return StandardTransform(n_features)

    def _encode(self, engine, rows, learns):
        if learns:
            return self._state.learn(engine, rows)
        return self._state.transform(rows)

    @property
    def mean_(self) -> NDArray[np.float64]:
        """Mean of the values so far."""
        check_is_fitted(self)
        return self._state.raw_moments()[0]

    @property
    def var_(self) -> NDArray[np.float64]:
        """Variance of the values so far."""
        check_is_fitted(self)
        return self._state.raw_moments()[1]
