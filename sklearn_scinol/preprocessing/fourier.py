"""Transformer of features into random Fourier features."""

from __future__ import annotations

from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from .._docstrings import inherit_descriptions
from .._typing import RandomState
from ..blocks import DenseRows, RowWeights
from ..estimators.parameters import GAMMA
from ..transforms.fourier import FourierFeatures
from .stream import FeatureTransformer


@inherit_descriptions
class RandomFourierFeatures(ClassNamePrefixFeaturesOutMixin, FeatureTransformer):
    r"""Maps features to random ones that approximate a kernel, on a stream.

    Linear models of the random features are models of a Gaussian kernel: they learn
    what depends on many features at once. The random features are
    :math:`\sqrt{2 / D} \cos(W x + b)` [1]_, where x has the features in standard
    deviations from their mean, clipped at ±4. Their inner products approximate
    :math:`\exp(-\gamma \lVert x - x' \rVert^2)`, the better for directions W that are
    orthogonal [2]_, each with its cosine and its sine [3]_.

    A row costs :math:`D d / 2` multiplications, with d features, and D cosines. Mean
    and deviation are over all rows so far, including the row itself. Rescaling a
    feature changes nothing, to the last bit if it is by a power of two.

    Parameters
    ----------
    gamma : float or "scale", default="scale"
        Parameter of the kernel. "scale" stands for ``1 / n_features``, since the
        variance of features is 1.
    n_components : int, default=64
        Number D of random features.
    random_state : int, RandomState instance or None, default=None
        Seed of the directions, which are drawn once, before the first row.

    Attributes
    ----------
    random_weights_ : ndarray of shape (n_features, n_components)
        Directions W, transposed, each of them twice.
    random_offset_ : ndarray of shape (n_components,)
        Phases b: 0 for the first of two, and :math:`-\pi / 2` for the second.

    See Also
    --------
    sklearn.kernel_approximation.RBFSampler : The same kernel, without standardisation.
    sklearn_scinol.DFEGClassifier : Learns with any kernel, and stores rows.

    Notes
    -----
    NaN is refused. Only transformers with the same directions can be merged: pass the
    same int as `random_state`, or let all begin as copies of one that has seen a row.

    References
    ----------
    .. [1] A. Rahimi, B. Recht. "Random features for large-scale kernel machines."
       Advances in Neural Information Processing Systems 20, 2007.
    .. [2] F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar.
       "Orthogonal random features." Advances in Neural Information Processing Systems
       29, 2016.
    .. [3] D. J. Sutherland, J. Schneider. "On the error of random Fourier features."
       Uncertainty in Artificial Intelligence, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_scinol import OnlineNewtonClassifier
    >>> from sklearn_scinol.preprocessing import RandomFourierFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = (X**2).sum(axis=1) < 1.4
    >>> fourier = RandomFourierFeatures(random_state=0).partial_fit(X)
    >>> for features in X, fourier.transform(X):
    ...     model = OnlineNewtonClassifier().partial_fit(features, y, [False, True])
    ...     print(f"{model.score(features, y):.2f}")
    0.54
    1.00
    """

    _parameter_constraints: dict = {
        "gamma": GAMMA,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    _allows_nan = False

    def __init__(
        self,
        gamma: float | Literal["scale"] = "scale",
        n_components: int = 64,
        random_state: RandomState = None,
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    def _new_state(self, n_features):
        random_state = check_random_state(self.random_state)
        return FourierFeatures(n_features, self.n_components, self.gamma, random_state)

    def _state_alike(self):
        n_components = self._state.n_components
        random_state = check_random_state(0)
        return FourierFeatures(self.n_features_in_, n_components, 1.0, random_state)

    def _encode(self, engine, rows, learns):
        if not learns:
            return self._state.transform(engine, rows, 1.0)
        ones = np.ones(len(rows))
        weights = RowWeights(ones, ones, ones, ones[:0])
        return self._state.learn(engine, DenseRows(rows), weights)

    def _invariants_of_state(self):
        yield from super()._invariants_of_state()
        yield "values have no other limits", self._state.features.limits is None

    @property
    def random_weights_(self) -> NDArray[np.float64]:
        """Directions, transposed: shape (n_features, n_components)."""
        check_is_fitted(self)
        W = self._state.directions.repeat(2, axis=1)
        return 2.0 * np.pi * W[:, : self._state.n_components]

    @property
    def random_offset_(self) -> NDArray[np.float64]:
        """Phases: shape (n_components,)."""
        check_is_fitted(self)
        return 2.0 * np.pi * self._state.phases

    @property
    def _n_features_out(self):
        return self._state.n_components
