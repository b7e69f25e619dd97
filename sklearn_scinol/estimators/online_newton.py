"""Estimators of implicit online Newton steps."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from .._docstrings import described_as, inherit_descriptions
from .._locks import reads
from .._typing import (
    ClassificationLoss,
    ClassWeight,
    MatrixLike,
    Quantiles,
    RandomState,
    RegressionLoss,
)
from ..learners import OnlineNewton, VovkAzouryWarmuth
from .classifier import OnlineClassifier
from .linear import LinearClassifier, LinearRegressor
from .regressor import PredictsDeviations
from .second_order import SecondOrder


@inherit_descriptions
class OnlineNewtonClassifier(SecondOrder, LinearClassifier):
    r"""Linear classifier of second order: it learns how features go together.

    Parameters
    ----------
    moderate : {"auto", True, False}, default="auto"
        Whether scores of two classes with "log_loss" are moderated by their variance
        [4]_, so that probabilities are less extreme where little is known.
    shared_covariance : bool, default=False
        Whether three and more classes share one covariance, of the mean of their
        curvatures, with "log_loss": K classes then take little more time and memory
        than two. Several labels a row do not share any.

    See Also
    --------
    OnlineNewtonRegressor : Regression with the same algorithm.
    ScInOLClassifier : Takes time in the number of features, for many of them.
    HedgeClassifier : A mixture of learners, one of which may be this.

    Notes
    -----
    :doc:`/user_guide/newton` has the formulas of the update, of moderated scores, which
    come from Gaussian assumed-density filtering as in [3]_, and of standardisation. No
    bound on the regret is claimed.

    References
    ----------
    .. [1] A. Rahimi, B. Recht. "Random features for large-scale kernel machines."
       Advances in Neural Information Processing Systems 20, 2007.
    .. [2] F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar.
       "Orthogonal random features." Advances in Neural Information Processing Systems
       29, 2016.
    .. [3] J. de Vilmarest, O. Wintenberger. "Stochastic online optimization using
       Kalman recursion." Journal of Machine Learning Research 22, 2021.
    .. [4] D. J. C. MacKay. "The evidence framework applied to classification
       networks." Neural Computation 4, 1992.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import OnlineNewtonClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OnlineNewtonClassifier().partial_fit(X, y, classes=[0, 1])
    >>> round(model.score(X, y), 2)
    0.98

    How sure it is of a score:

    >>> score, deviation = model.decision_function(X[:1], return_std=True)
    >>> score.round(1), deviation.round(1)
    (array([-6.6]), array([1.3]))
    """

    _own_constraints: dict = {
        "moderate": ["boolean", StrOptions({"auto"})],
        "shared_covariance": ["boolean"],
    }
    _bounds_regret = False

    def __init__(
        self,
        loss: ClassificationLoss = "log_loss",
        *,
        prior_scale: float = 0.3,
        forgetting: float = 0.0,
        moderate: bool | Literal["auto"] = "auto",
        shared_covariance: bool = False,
        center: bool | Literal["auto"] = True,
        scale: bool = True,
        clip_deviations: float | None = 3.0,
        clip_ratio: float | None = None,
        random_features: int | None = None,
        gamma: float | Literal["scale"] = "scale",
        fit_intercept: bool = True,
        max_iter: int = 1,
        tol: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        random_state: RandomState = None,
        warm_start: bool = False,
        verbose: bool | int = 0,
        class_weight: ClassWeight = None,
        new_classes: Literal["error", "add"] = "error",
    ) -> None:
        self.loss = loss
        self.prior_scale = prior_scale
        self.forgetting = forgetting
        self.moderate = moderate
        self.shared_covariance = shared_covariance
        self.center = center
        self.scale = scale
        self.clip_deviations = clip_deviations
        self.clip_ratio = clip_ratio
        self.random_features = random_features
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.class_weight = class_weight
        self.new_classes = new_classes

    def _make_learner(self, lipschitz):
        takes_moments = self._n_classes <= 2 and self.loss == "log_loss"
        return self._newton(
            OnlineNewton,
            moderate=self.moderate in ("auto", True) and takes_moments,
            shared_covariance=self._shares_covariance,
        )

    @property
    def _shares_covariance(self):
        is_joint = self.loss == "log_loss" and not self._output_shape
        return bool(self.shared_covariance) and is_joint

    @overload
    def decision_function(
        self, X: MatrixLike, return_std: Literal[False] = False
    ) -> NDArray[np.float64]: ...

    @overload
    def decision_function(
        self, X: MatrixLike, return_std: Literal[True]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    @reads
    @described_as(OnlineClassifier.decision_function)
    def decision_function(
        self, X: MatrixLike, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Predict scores, the algorithm's own predictions.

        For each row exactly what the algorithm would be charged for if the row came
        next.

        Parameters
        ----------
        return_std : bool, default=False
            Whether to return the standard deviations of the linear model's scores, too.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive for ``classes_[1]``; with several labels a row, a
            column is positive for rows that have its label.
        deviations : ndarray of the same shape
            Only if `return_std`: :math:`\sqrt{\langle x, P x \rangle}`, with P the
            covariance of the weights given the rows, by the normal approximation that
            is the algorithm's own. They are deviations of the unmoderated scores,
            ``scores * np.sqrt(1 + np.pi / 8 * deviations**2)``.
        """
        X = self._validate_rows(X)
        scores = self._to_output(self._decision_of_validated(X), "decision_function")
        if not return_std:
            return scores
        deviations = np.sqrt(self._model.variances(X))
        return scores, self._to_output(deviations, "decision_function")

    @property
    def coef_covariance_(self) -> NDArray[np.float64]:
        """Covariances of the weights given the rows, in the units of the features.

        Of shape (n_features, n_features), or with more than two classes, or several
        labels a row, (n_classes, n_features, n_features).
        """
        covariance = self._coef_covariance()
        return covariance[0] if len(covariance) == 1 else covariance


@inherit_descriptions
class OnlineNewtonRegressor(PredictsDeviations, SecondOrder, LinearRegressor):
    r"""Linear regression of second order, such as recursive least squares.

    With the squared error the weights are those of ridge regression on all rows so far,
    as standardised. Targets are standardised as features are.

    Parameters
    ----------
    vovk : bool, default=False
        Whether to predict as the forecaster of Vovk, Azoury and Warmuth [3]_ [4]_,
        whose regret is bounded before any row is known if targets are; with
        "squared_error" only.
    standardize_target : bool, default=True
        Whether to learn the target in running standard deviations from its mean.

    Attributes
    ----------
    noise_variance_

    See Also
    --------
    OnlineNewtonClassifier : Classification with the same algorithm.
    ScInOLRegressor : Takes time in the number of features, for many of them.
    HedgeRegressor : A mixture of learners, one of which may be this.
    sklearn.linear_model.BayesianRidge : Learns all rows at once, and its prior as well.

    Notes
    -----
    Standard deviations of targets are the root of the variance of the noise times 1
    plus the variance of the linear model. For a target with normal noise, 95 % of the
    rows are within 1.96 of them.

    :doc:`/user_guide/newton` has the formulas of the update, of standard deviations and
    of standardisation. :meth:`regret_bound` [3]_ [5]_ exists with "squared_error" and
    without forgetting, where features and targets are learned as they are.

    References
    ----------
    .. [1] A. Rahimi, B. Recht. "Random features for large-scale kernel machines."
       Advances in Neural Information Processing Systems 20, 2007.
    .. [2] F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar.
       "Orthogonal random features." Advances in Neural Information Processing Systems
       29, 2016.
    .. [3] V. Vovk. "Competitive on-line statistics." International Statistical Review
       69, 2001.
    .. [4] K. S. Azoury, M. K. Warmuth. "Relative loss bounds for on-line density
       estimation with the exponential family of distributions." Machine Learning 43,
       2001.
    .. [5] N. Cesa-Bianchi, G. Lugosi. "Prediction, learning, and games." Cambridge
       University Press, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_scinol import OnlineNewtonRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = OnlineNewtonRegressor().partial_fit(X, y)
    >>> round(model.score(X, y), 2)
    0.52

    A prediction, and the standard deviation of the target around it:

    >>> prediction, deviation = model.predict(X[:1], return_std=True)
    >>> prediction.round(), deviation.round()
    (array([205.]), array([54.]))
    """

    _own_constraints: dict = {"vovk": ["boolean"], "standardize_target": ["boolean"]}

    def __init__(
        self,
        loss: RegressionLoss = "squared_error",
        *,
        prior_scale: float = 0.3,
        forgetting: float = 0.0,
        vovk: bool = False,
        center: bool | Literal["auto"] = True,
        scale: bool = True,
        clip_deviations: float | None = 3.0,
        clip_ratio: float | None = None,
        random_features: int | None = None,
        gamma: float | Literal["scale"] = "scale",
        standardize_target: bool = True,
        epsilon: float = 0.1,
        quantile: Quantiles = 0.5,
        fit_intercept: bool = True,
        max_iter: int = 1,
        tol: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        random_state: RandomState = None,
        warm_start: bool = False,
        verbose: bool | int = 0,
    ) -> None:
        self.loss = loss
        self.prior_scale = prior_scale
        self.forgetting = forgetting
        self.vovk = vovk
        self.center = center
        self.scale = scale
        self.clip_deviations = clip_deviations
        self.clip_ratio = clip_ratio
        self.random_features = random_features
        self.gamma = gamma
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
        self.warm_start = warm_start
        self.verbose = verbose

    @property
    def _bounds_regret(self):
        return self.loss == "squared_error" and self.forgetting == 0.0

    def _make_learner(self, lipschitz):
        if self.vovk and self.loss != "squared_error":
            raise ValueError(
                f"vovk=True needs loss='squared_error'; got loss={self.loss!r}."
            )
        return self._newton(VovkAzouryWarmuth if self.vovk else OnlineNewton)

    def _decision_and_deviations(self, X):
        decision = self._decision_of_validated(X)
        return decision, np.sqrt(self._model.target_variances(X))

    @property
    def noise_variance_(self) -> NDArray[np.float64]:
        """Variance of the targets around the model: shape (n_outputs,).

        It is learned from the errors of the predictions made before each row: each
        squared, over 1 plus the variance of the prediction.
        """
        return self._fitted_model().noise

    @property
    def coef_covariance_(self) -> NDArray[np.float64]:
        """Covariances of the weights given the rows, in units of features and target.

        Of shape (n_features, n_features), or (n_outputs, n_features, n_features) if `y`
        had two dimensions.
        """
        covariance = self._coef_covariance(with_noise=True)
        return covariance[0] if self._is_flat else covariance
