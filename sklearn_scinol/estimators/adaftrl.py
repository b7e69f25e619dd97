"""Estimators of AdaFTRL, which follows the regularised leader at a bounded norm."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from .._docstrings import inherit_descriptions
from .._typing import (
    ClassificationLoss,
    ClassWeight,
    Quantiles,
    RandomState,
    RegressionLoss,
)
from ..learners.adaftrl import TUNINGS, AdaFTRL
from .linear import LinearClassifier, LinearRegressor
from .parameters import DEFAULT_MAX_ITER, DEFAULT_TOL, UNITS


class _AdaFTRL:
    """Parameters and learner of the classifier and the regressor.

    Parameters
    ----------
    radius : float, default=1.0
        Largest norm of the weights and the intercept of each output.
    tuning : {"koolen", "orabona_pal"}, default="koolen"
        Strength of the regularisation: as in [2]_, or 16 times weaker as in [1]_.

    Attributes
    ----------
    delta_sum_

    Description
    -----------
    AdaFTRL [1]_ follows the leader in the ball of a given radius: its weights would
    have been the best on the rows so far, but for a regularisation that grows with what
    following has cost. There is no learning rate, and the size of the losses does not
    matter: multiplied by any number they give the same weights. What has to be known is
    the `radius`, the norm of the weights looked for. A row costs O(n_features), a
    sparse row O(non-zeros).

    It is sensitive to the scales of the features.

    Notes
    -----
    :meth:`regret_bound` is infinite for a comparator outside the ball.
    :doc:`/user_guide/adaftrl` has the formulas of weights, mixability gaps and bounds.

    References
    ----------
    .. [1] F. Orabona, D. Pál. "Scale-free online learning." Theoretical Computer
       Science 716, 2018. https://arxiv.org/abs/1601.01974
    .. [2] W. M. Koolen. "AdaFTRL." 2016, on the author's blog.
    """

    _own_constraints: dict = {"radius": [UNITS], "tuning": [StrOptions(set(TUNINGS))]}

    def _make_learner(self, lipschitz):
        return AdaFTRL(float(self.radius), TUNINGS[self.tuning])

    @property
    def delta_sum_(self) -> NDArray[np.float64]:
        """Sum of the mixability gaps so far, by output: shape (n_outputs,).

        A gap is how much more a row's linearised loss is than the increase of the
        regularised leader's. The regret is at most twice the sum with "koolen".
        """
        return self._fitted_model().in_units_of_loss("delta_sum")


@inherit_descriptions
class AdaFTRLClassifier(_AdaFTRL, LinearClassifier):
    r"""Linear classifier with weights of bounded norm, and no learning rate.

    See Also
    --------
    AdaFTRLRegressor : Regression with the same algorithm.
    AdaImplicitClassifier : Takes a ball as well, and does not need it.
    sklearn_scinol.experts.AdaHedge : AdaFTRL on the simplex.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import maxabs_scale
    >>> from sklearn_scinol import AdaFTRLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = maxabs_scale(X)
    >>> model = AdaFTRLClassifier(radius=10).partial_fit(X, y, classes=[0, 1])
    >>> round(model.score(X, y), 1)
    0.9
    """

    def __init__(
        self,
        loss: ClassificationLoss = "log_loss",
        *,
        radius: float = 1.0,
        tuning: Literal["koolen", "orabona_pal"] = "koolen",
        center: bool | Literal["auto"] = "auto",
        scale: bool = False,
        clip_ratio: float | None = None,
        fit_intercept: bool = True,
        max_iter: int = DEFAULT_MAX_ITER,
        tol: float | None = DEFAULT_TOL,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        random_state: RandomState = None,
        average: bool | int = False,
        warm_start: bool = False,
        verbose: bool | int = 0,
        class_weight: ClassWeight = None,
        new_classes: Literal["error", "add"] = "error",
    ) -> None:
        self.loss = loss
        self.radius = radius
        self.tuning = tuning
        self.center = center
        self.scale = scale
        self.clip_ratio = clip_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.average = average
        self.warm_start = warm_start
        self.verbose = verbose
        self.class_weight = class_weight
        self.new_classes = new_classes


@inherit_descriptions
class AdaFTRLRegressor(_AdaFTRL, LinearRegressor):
    r"""Linear regression with weights of bounded norm, and no learning rate.

    See Also
    --------
    AdaFTRLClassifier : Classification with the same algorithm.
    AdaImplicitRegressor : Takes a ball as well, and does not need it.
    sklearn_scinol.experts.AdaHedge : AdaFTRL on the simplex.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_scinol import AdaFTRLRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaFTRLRegressor(radius=1000, center=False)
    >>> predictions = model.partial_fit_predict(X, y)
    >>> round(abs(predictions - y).mean())
    75
    """

    def __init__(
        self,
        loss: RegressionLoss = "absolute_error",
        *,
        radius: float = 1.0,
        tuning: Literal["koolen", "orabona_pal"] = "koolen",
        center: bool | Literal["auto"] = "auto",
        scale: bool = False,
        clip_ratio: float | None = None,
        standardize_target: bool | Literal["auto"] = "auto",
        epsilon: float = 0.1,
        quantile: Quantiles = 0.5,
        fit_intercept: bool = True,
        max_iter: int = DEFAULT_MAX_ITER,
        tol: float | None = DEFAULT_TOL,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        random_state: RandomState = None,
        average: bool | int = False,
        warm_start: bool = False,
        verbose: bool | int = 0,
    ) -> None:
        self.loss = loss
        self.radius = radius
        self.tuning = tuning
        self.center = center
        self.scale = scale
        self.clip_ratio = clip_ratio
        self.standardize_target = standardize_target
        self.epsilon = epsilon
        self.quantile = quantile
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.average = average
        self.warm_start = warm_start
        self.verbose = verbose
