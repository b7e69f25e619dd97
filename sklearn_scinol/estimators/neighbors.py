"""Estimators that predict from the nearest of the last rows."""

from __future__ import annotations

from numbers import Real
from typing import Literal

from sklearn.utils._param_validation import Interval

from .._docstrings import inherit_descriptions
from .._typing import Quantiles, RegressionLoss
from ..models.neighbors import NeighborsModel
from ..models.separate import SeparateModels
from ..transforms.features import FeatureTransform
from .classifier import OnlineClassifier
from .one_pass import COUNT, OnePassMixin
from .regressor import OnlineRegressor


class _Neighbors(OnePassMixin):
    """Mixin for :class:`OnlineClassifier` and :class:`OnlineRegressor`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of nearest rows to predict from.
    window : int, default=1000
        Number of rows to remember, the last ones.
    n_candidates : int, default=None
        Number of rows to compare by all features: those that are nearest by 64 sums of
        features with random signs [1]_, for more features than that. None: compare all
        rows.
    clip_deviations : float, default=4.0
        Clip values at this many standard deviations from the mean.

    Description
    -----------
    Distances are Euclidean, of features that are standardised by their running means
    and deviations: predictions do not change when a feature is rescaled or shifted. Use
    it where rows come back, or as an expert of a mixture.

    A row costs O(window × n_features) at most, or with `n_candidates`
    O((64 + n_candidates) × n_features + 64 × window). Each row is stored as it was
    standardised when it came, in single precision: all take window × n_features × 4
    bytes. Sparse rows are made dense, and refused if a thousand would take over 512 MB.
    Of rows at equal distances, the later ones are nearer. :func:`merge_models` keeps
    the latest rows of each model, in proportion to its number of rows.

    References
    ----------
    .. [1] D. Achlioptas. "Database-friendly random projections:
       Johnson-Lindenstrauss with binary coins." Journal of Computer and System Sciences
       66, 2003.
    """

    _own_constraints: dict = {
        "n_neighbors": [COUNT],
        "window": [COUNT],
        "n_candidates": [COUNT, None],
        "clip_deviations": [Interval(Real, 1, None, closed="left")],
    }

    _model_types = NeighborsModel, SeparateModels

    def _make_model(self, n_features, n_outputs, loss):
        self._check_width(n_features)
        return NeighborsModel(
            loss,
            n_features,
            n_outputs,
            n_neighbors=int(self.n_neighbors),
            window=int(self.window),
            n_candidates=int(self.n_candidates or 0),
            largest=float(self.clip_deviations),
            features=FeatureTransform(
                n_features, center=True, scale=True, in_units=True
            ),
        )


@inherit_descriptions
class OnlineKNeighborsClassifier(_Neighbors, OnlineClassifier):
    r"""Classifier that lets the nearest of the last rows vote.

    See Also
    --------
    OnlineKNeighborsRegressor : Regression from the nearest of the last rows.
    HedgeClassifier : Mixture of experts, which may be of this kind.
    sklearn.neighbors.KNeighborsClassifier : Searches all rows, and does not learn
        from streams.

    Notes
    -----
    Of K classes, one with :math:`n_c` of the n votes has the probability
    :math:`(n_c + 0.5 / K) / (n + 0.5)`. A row votes with its weight, relative to the
    stream's first one. The loss is the logarithmic one.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_scinol import OnlineKNeighborsClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OnlineKNeighborsClassifier(n_neighbors=3)
    >>> predictions = model.partial_fit_predict(X, y, classes=range(10))
    >>> print(f"{(predictions == y).mean():.2f}")
    0.94
    """

    _lacking = {"loss": "log_loss", "class_weight": None}

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        window: int = 1000,
        n_candidates: int | None = None,
        clip_deviations: float = 4.0,
        new_classes: Literal["error", "add"] = "error",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.window = window
        self.n_candidates = n_candidates
        self.clip_deviations = clip_deviations
        self.new_classes = new_classes


@inherit_descriptions
class OnlineKNeighborsRegressor(_Neighbors, OnlineRegressor):
    r"""Regression from the targets of the nearest of the last rows.

    Parameters
    ----------
    loss : str, default="absolute_error"
        "absolute_error", "huber" and "epsilon_insensitive" predict the median of the
        targets, "quantile" their quantile, "squared_error" their mean.

    See Also
    --------
    OnlineKNeighborsClassifier : Classification by the nearest of the last rows.
    HedgeRegressor : Mixture of experts, which may be of this kind.
    sklearn.neighbors.KNeighborsRegressor : Searches all rows, and does not learn from
        streams.

    Notes
    -----
    Targets count with the weights of their rows. Where a range of values has the least
    loss, its middle is predicted; before the first row, 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_scinol import OnlineKNeighborsRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(1000, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = OnlineKNeighborsRegressor().partial_fit(X, y)
    >>> round(model.score(X, y), 2)
    0.99
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        window: int = 1000,
        n_candidates: int | None = None,
        clip_deviations: float = 4.0,
        loss: RegressionLoss = "absolute_error",
        epsilon: float = 0.1,
        quantile: Quantiles = 0.5,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.window = window
        self.n_candidates = n_candidates
        self.clip_deviations = clip_deviations
        self.loss = loss
        self.epsilon = epsilon
        self.quantile = quantile
