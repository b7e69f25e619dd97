"""Estimators of AdaFTRL, which follows the regularised leader at a bounded norm."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

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
    """Parameters and learner of the classifier and the regressor."""

    _own_constraints = {
        "radius": [UNITS],
        "tuning": [StrOptions(set(TUNINGS))],
    }

    def _make_learner(self, lipschitz):
        return AdaFTRL(float(self.radius), TUNINGS[self.tuning])

    @property
    def delta_sum_(self) -> NDArray[np.float64]:
        """Sum of the mixability gaps so far, by output: shape (n_outputs,).

        A gap is how much more a row's linearised loss is than the increase of the
        regularised leader's. The regret is at most twice the sum with "koolen".
        """
        return self._fitted_model().in_units_of_loss("delta_sum")


class AdaFTRLClassifier(_AdaFTRL, LinearClassifier):
    r"""Linear classifier with weights of bounded norm, and no learning rate.

    AdaFTRL [1]_ follows the leader in the ball of a given radius: its weights would
    have been the best on the rows so far, but for a regularisation that grows with what
    following has cost. There is no learning rate, and the size of the losses does not
    matter: multiplied by any number they give the same weights. What has to be known is
    the `radius`, the norm of the weights looked for. A row costs O(n_features), a
    sparse row O(non-zeros).

    It is sensitive to the scales of the features.

    Parameters
    ----------
    loss : {"log_loss", "hinge", "squared_hinge"}, default="log_loss"
        "log_loss" is multinomial for more than two classes, the others one versus rest.
    radius : float, default=1.0
        Largest norm of the weights and the intercept of each output.
    tuning : {"koolen", "orabona_pal"}, default="koolen"
        Strength of the regularisation: as in [2]_, or 16 times weaker as in [1]_.
    center : {"auto", True, False}, default="auto"
        Whether to subtract each feature's running mean; "auto": where rows are dense.
    scale : bool, default=False
        Whether to divide each feature by its running standard deviation.
    clip_ratio : float, default=None
        Clip values to ±`clip_ratio` × the feature's largest absolute value so far.
    fit_intercept : bool, default=True
        Whether there is an intercept: a constant feature 1 with its own coordinate.
    max_iter : int, default=1000
        Maximum number of epochs of :meth:`fit`. :meth:`partial_fit` is always one.
    tol : float, default=1e-3
        Least improvement, relative to the first epoch's loss; None runs all epochs.
    early_stopping : bool, default=False
        Whether :meth:`fit` stops by the loss of held-out rows, and learns them last.
    validation_fraction : float, default=0.1
        Share of the rows that `early_stopping` holds out.
    n_iter_no_change : int, default=5
        Number of epochs without improvement before :meth:`fit` stops.
    shuffle : bool, default=True
        Whether :meth:`fit` shuffles the rows before each epoch.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling and of the choice of held-out rows.
    average : bool or int, default=False
        Whether to predict with averaged weights; an int: averaged from that row on.
    warm_start : bool, default=False
        Whether :meth:`fit` goes on from where the last call ended.
    verbose : int, default=0
        If positive, print the mean loss of each epoch.
    class_weight : dict or "balanced", default=None
        Weights of the classes; "balanced": inverse to their shares of the rows so far.
    new_classes : {"error", "add"}, default="error"
        What :meth:`partial_fit` does with new labels; "add" needs ``loss="log_loss"``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; with several labels a row, the numbers of the labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names, if X has them.
    n_iter_ : int
        Number of epochs of the last :meth:`fit`, including epochs after the best one.
    loss_curve_ : list of float
        Mean loss of each epoch, or of each of the latest 1,000 calls of `partial_fit`.
    validation_loss_curve_ : list of float
        Mean loss of the held-out rows after each epoch, if any were held out.
    coef_
    intercept_
    delta_sum_
    multilabel_
    n_samples_seen_
    t_
    cumulative_loss_

    See Also
    --------
    AdaFTRLRegressor : Regression with the same algorithm.
    AdaImplicitClassifier : Takes a ball as well, and does not need it.
    sklearn_scinol.experts.AdaHedge : AdaFTRL on the simplex.

    Notes
    -----
    :meth:`regret_bound` is infinite for a comparator outside the ball.
    :doc:`/user_guide/adaftrl` has the formulas of weights, mixability gaps and bounds.

    References
    ----------
    .. [1] F. Orabona, D. Pál. "Scale-free online learning." Theoretical Computer
       Science 716, 2018. https://arxiv.org/abs/1601.01974
    .. [2] W. M. Koolen. "AdaFTRL." 2016, on the author's blog.

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

    _parameter_constraints: dict = {
        **LinearClassifier._parameter_constraints,
        **_AdaFTRL._own_constraints,
    }

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


class AdaFTRLRegressor(_AdaFTRL, LinearRegressor):
    r"""Linear regression with weights of bounded norm, and no learning rate.

    AdaFTRL [1]_ follows the leader in the ball of a given radius: its weights would
    have been the best on the rows so far, but for a regularisation that grows with what
    following has cost. There is no learning rate, and the size of the losses does not
    matter: multiplied by any number they give the same weights. What has to be known is
    the `radius`, the norm of the weights looked for. A row costs O(n_features), a
    sparse row O(non-zeros).

    It is sensitive to the scales of the features.

    Parameters
    ----------
    loss : str, default="absolute_error"
        "absolute_error", "squared_error", "huber", "epsilon_insensitive" or "quantile".
    radius : float, default=1.0
        Largest norm of the weights and the intercept of each output.
    tuning : {"koolen", "orabona_pal"}, default="koolen"
        Strength of the regularisation: as in [2]_, or 16 times weaker as in [1]_.
    center : {"auto", True, False}, default="auto"
        Whether to subtract each feature's running mean; "auto": where rows are dense.
    scale : bool, default=False
        Whether to divide each feature by its running standard deviation.
    clip_ratio : float, default=None
        Clip values to ±`clip_ratio` × the feature's largest absolute value so far.
    standardize_target : {"auto", True, False}, default="auto"
        Whether to learn the target in running standard deviations from its mean;
        "auto": where features are centred.
    epsilon : float, default=0.1
        Threshold of "huber" and "epsilon_insensitive", in units of the target: choose
        the size of usual errors. Where errors are larger, they act as "absolute_error".
    quantile : float or array-like of shape (n_quantiles,), default=0.5
        The quantile of the loss "quantile", between 0 and 1, or several of them in
        ascending order: predictions then have a column for each, and do not cross.
    fit_intercept : bool, default=True
        Whether there is an intercept: a constant feature 1 with its own coordinate.
    max_iter : int, default=1000
        Maximum number of epochs of :meth:`fit`. :meth:`partial_fit` is always one.
    tol : float, default=1e-3
        Least improvement, relative to the first epoch's loss; None runs all epochs.
    early_stopping : bool, default=False
        Whether :meth:`fit` stops by the loss of held-out rows, and learns them last.
    validation_fraction : float, default=0.1
        Share of the rows that `early_stopping` holds out.
    n_iter_no_change : int, default=5
        Number of epochs without improvement before :meth:`fit` stops.
    shuffle : bool, default=True
        Whether :meth:`fit` shuffles the rows before each epoch.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling and of the choice of held-out rows.
    average : bool or int, default=False
        Whether to predict with averaged weights; an int: averaged from that row on.
    warm_start : bool, default=False
        Whether :meth:`fit` goes on from where the last call ended.
    verbose : int, default=0
        If positive, print the mean loss of each epoch.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names, if X has them.
    n_iter_ : int
        Number of epochs of the last :meth:`fit`, including epochs after the best one.
    loss_curve_ : list of float
        Mean loss of each epoch, or of each of the latest 1,000 calls of `partial_fit`.
    validation_loss_curve_ : list of float
        Mean loss of the held-out rows after each epoch, if any were held out.
    coef_
    intercept_
    delta_sum_
    n_samples_seen_
    t_
    cumulative_loss_

    See Also
    --------
    AdaFTRLClassifier : Classification with the same algorithm.
    AdaImplicitRegressor : Takes a ball as well, and does not need it.
    sklearn_scinol.experts.AdaHedge : AdaFTRL on the simplex.

    Notes
    -----
    :meth:`regret_bound` is infinite for a comparator outside the ball.
    :doc:`/user_guide/adaftrl` has the formulas of weights, mixability gaps and bounds.

    References
    ----------
    .. [1] F. Orabona, D. Pál. "Scale-free online learning." Theoretical Computer
       Science 716, 2018. https://arxiv.org/abs/1601.01974
    .. [2] W. M. Koolen. "AdaFTRL." 2016, on the author's blog.

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

    _parameter_constraints: dict = {
        **LinearRegressor._parameter_constraints,
        **_AdaFTRL._own_constraints,
    }

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
