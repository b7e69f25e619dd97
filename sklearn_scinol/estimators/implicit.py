"""Estimators of implicit updates: AdaImplicit and implicit online mirror descent."""

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
from ..learners import ALGORITHMS
from .linear import LinearClassifier, LinearRegressor
from .parameters import DEFAULT_MAX_ITER, DEFAULT_TOL, FORGETTING, UNITS


class _AdaImplicit:
    """Parameters and learner of the classifier and the regressor.

    Parameters
    ----------
    radius : float, default=None
        Largest norm of the weights and the intercept of each output. None: no limit.
    algorithm : {"adaimplicit", "constant", "iomd"}, default="adaimplicit"
        How the regularisation grows: with the losses, not at all (which follows streams
        that change [2]_), or as the square root of the number of rows.
    beta : float, default=1.0
        Scale of the steps, about the norm of the weights looked for. Too large costs
        little.

    Attributes
    ----------
    delta_sum_
    lambda_

    Description
    -----------
    An implicit update [1]_ does not step along the gradient of the loss but goes to the
    minimum of the loss itself plus a penalty on the way there. It never overshoots: the
    loss of a row after its update is no more than before, however wrong the step size.
    That makes it far less sensitive to its one parameter, `beta`, than gradient descent
    is and, with weights of bounded norm, gives a regret that is constant where losses
    vary little from row to row. A row costs O(n_features), a sparse row O(non-zeros).

    Notes
    -----
    A sample weight multiplies the loss in the minimum that the update goes to: a large
    one never overshoots either. :meth:`regret_bound` is infinite for a comparator
    outside the ball. :doc:`/user_guide/implicit` has its formula, and the first step.

    References
    ----------
    .. [1] N. Campolongo, F. Orabona. "Temporal variability in implicit online
       learning." NeurIPS 2020. https://arxiv.org/abs/2006.07503
    .. [2] B. Kulis, P. L. Bartlett. "Implicit online learning." ICML 2010.
    """

    _own_constraints: dict = {
        "algorithm": [StrOptions({"adaimplicit", "constant", "iomd"})],
        "beta": [UNITS],
        "moment_forgetting": [FORGETTING],
        "radius": [UNITS, None],
    }

    def _make_learner(self, lipschitz):
        radius = np.inf if self.radius is None else float(self.radius)
        return ALGORITHMS[self.algorithm](float(self.beta), radius)

    @property
    def lambda_(self) -> NDArray[np.float64]:
        """Regularisation, the inverse of the step size: shape (n_outputs,).

        It is that of the next row with "adaimplicit", otherwise that of the last.
        """
        return self._fitted_model().in_units_of_loss("lambda_")

    @property
    def delta_sum_(self) -> NDArray[np.float64]:
        """Sum of the paper's δ so far, by output: shape (n_outputs,).

        Each δ is the decrease of a row's loss in its update less the penalty on the
        way. The sum is at most the loss of the first row before it was learned, plus
        the temporal variability of the losses.
        """
        return self._fitted_model().in_units_of_loss("delta_sum")


@inherit_descriptions
class AdaImplicitClassifier(_AdaImplicit, LinearClassifier):
    r"""Linear classifier that learns by implicit updates, with an adaptive step size.

    Unlike :class:`ScInOLClassifier` it is sensitive to the scales of the features.

    Parameters
    ----------
    loss : {%(losses)s}, default="log_loss"
        One versus rest for more than two classes.

    See Also
    --------
    AdaImplicitRegressor : Regression with the same algorithm.
    ScInOLClassifier : Has nothing to tune, and is scale-invariant.
    sklearn_scinol.baselines.BaselineClassifier : The gradient descent that the paper
        compares with.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import maxabs_scale
    >>> from sklearn_scinol import AdaImplicitClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = maxabs_scale(X)
    >>> model = AdaImplicitClassifier(loss="hinge").partial_fit(X, y, classes=[0, 1])
    >>> round(model.score(X, y), 1)
    0.9
    """

    _takes_joint_losses = False

    def __init__(
        self,
        loss: ClassificationLoss = "log_loss",
        *,
        algorithm: Literal["adaimplicit", "iomd", "constant"] = "adaimplicit",
        beta: float = 1.0,
        radius: float | None = None,
        center: bool | Literal["auto"] = False,
        scale: bool = False,
        clip_ratio: float | None = None,
        moment_forgetting: float = 0.0,
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
        self.algorithm = algorithm
        self.beta = beta
        self.radius = radius
        self.center = center
        self.scale = scale
        self.clip_ratio = clip_ratio
        self.moment_forgetting = moment_forgetting
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
class AdaImplicitRegressor(_AdaImplicit, LinearRegressor):
    r"""Linear regression that learns by implicit updates, with an adaptive step size.

    Unlike :class:`ScInOLRegressor` it is sensitive to the scales of the features.

    See Also
    --------
    AdaImplicitClassifier : Classification with the same algorithm.
    ScInOLRegressor : Has nothing to tune, and is scale-invariant.
    sklearn_scinol.baselines.BaselineRegressor : The gradient descent that the paper
        compares with.

    Examples
    --------
    A target that drifts slowly is followed at a loss that hardly grows:

    >>> import numpy as np
    >>> from sklearn_scinol import AdaImplicitRegressor
    >>> X = np.ones((2000, 1))
    >>> y = 100 * np.sin(np.pi * np.arange(1, 2001) / 20000)
    >>> model = AdaImplicitRegressor(
    ...     "squared_error", radius=75, center=False, fit_intercept=False
    ... )
    >>> model = model.partial_fit(X, y, sample_weight=np.full(2000, 0.5))
    >>> round(model.cumulative_loss_, 3)
    0.153
    """

    def __init__(
        self,
        loss: RegressionLoss = "absolute_error",
        *,
        algorithm: Literal["adaimplicit", "iomd", "constant"] = "adaimplicit",
        beta: float = 1.0,
        radius: float | None = None,
        center: bool | Literal["auto"] = "auto",
        scale: bool = False,
        clip_ratio: float | None = None,
        moment_forgetting: float = 0.0,
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
        self.algorithm = algorithm
        self.beta = beta
        self.radius = radius
        self.center = center
        self.scale = scale
        self.clip_ratio = clip_ratio
        self.moment_forgetting = moment_forgetting
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
