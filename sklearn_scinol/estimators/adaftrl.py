"""Estimators of AdaFTRL, which follows the regularised leader in a ball."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from .._typing import ClassificationLoss, ClassWeight, RandomState, RegressionLoss
from ..learners.adaftrl import TUNINGS, AdaFTRL
from .base import DEFAULT_MAX_ITER, DEFAULT_TOL, UNITS
from .linear import LinearClassifier, LinearRegressor

__all__ = ["AdaFTRLClassifier", "AdaFTRLRegressor"]


class _AdaFTRL:
    """What the two estimators have in common beyond being online."""

    _own_constraints = {
        "radius": [UNITS],
        "tuning": [StrOptions(set(TUNINGS))],
    }

    def _make_learner(self, lipschitz):
        return AdaFTRL(float(self.radius), TUNINGS[self.tuning])

    @property
    def delta_sum_(self) -> NDArray[np.float64]:
        """Sum of the mixability gaps so far, by output: shape (n_outputs,)."""
        return self._fitted_model().in_units_of_loss("delta_sum")


class AdaFTRLClassifier(_AdaFTRL, LinearClassifier):
    r"""Linear classifier with weights in a ball, and no learning rate.

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
        "log_loss" is the logistic loss; with more than two classes, multinomial
        cross-entropy. "hinge" is the loss of linear support vector machines,
        "squared_hinge" half its square; with more than two classes, one versus rest.

    radius : float, default=1.0
        Radius of the ball that the weights and the intercept of each output are in, in
        units of the weights, between 1e-20 and 1e20.

    tuning : {"koolen", "orabona_pal"}, default="koolen"
        How strong the regularisation is: as in [2]_, or as in [1]_, where it is 16
        times weaker and the bound's constant larger.

    center : {"auto", True, False}, default="auto"
        Whether each feature is centred at its running mean (the row itself included).
        "auto" centres dense input and not sparse, as decided by the first rows. False
        is the published algorithm.

    scale : bool, default=False
        Whether each feature is divided by its running standard deviation (the row
        itself included), so that units do not matter; with `center` it is standardised,
        as :class:`~sklearn.preprocessing.StandardScaler` would on rows so far. What has
        not varied yet is 0; zeros of sparse rows stay zeros. `coef_` is then for rows
        near the mean, since others take part in their deviation. False is the
        published algorithm.

    clip_ratio : float, default=None
        If given, a number above 1, such as 2: values of a feature are clipped at so
        many times the largest absolute value that it has had, which bounds the damage
        that an outlier does. The limit follows a feature that grows, by that factor at
        each row. With None a value a thousand times too large weakens its feature for
        very long.

    fit_intercept : bool, default=True
        Whether there is an intercept: a constant feature 1 with its own coordinate.

    max_iter : int, default=1000
        Most epochs of :meth:`fit`. :meth:`partial_fit` is always one.

    tol : float, default=1e-3
        :meth:`fit` stops after `n_iter_no_change` epochs in a row whose mean loss (of
        predictions made before each update, or with `early_stopping` of held-out rows)
        is not below the best so far by `tol` times that of the first epoch, so that
        units of the loss do not matter. The model is then that of the epoch of the
        lowest loss, at its end. None runs all epochs and keeps the last.

    early_stopping : bool, default=False
        Whether :meth:`fit` holds out `validation_fraction` of the rows, stratified,
        and stops by their mean loss. In the end it learns them, once.

    validation_fraction : float, default=0.1
        The fraction of the rows that is held out with `early_stopping`; those of weight
        0 do not count.

    n_iter_no_change : int, default=5
        Number of epochs without improvement before :meth:`fit` stops.

    shuffle : bool, default=True
        Whether :meth:`fit` shuffles the rows before each epoch.

    random_state : int, RandomState instance or None, default=None
        For the shuffling. An int gives the same result every time.

    average : bool or int, default=False
        Whether predictions are made with the mean of the weights after each row, as in
        averaged stochastic gradient descent. An int is the number of rows learned from
        which on the mean is taken.

    warm_start : bool, default=False
        Whether :meth:`fit` goes on from where the last call ended.

    verbose : int, default=0
        If positive, each epoch prints its mean loss, and that of held-out rows.

    class_weight : dict or "balanced", default=None
        Weights of the classes; the weight of a row is multiplied by that of its class.
        "balanced" makes it one over that class's share of the rows, by the number of
        classes: of all rows in :meth:`fit`, in :meth:`partial_fit` of those so far.

    new_classes : {"error", "add"}, default="error"
        What :meth:`partial_fit` does with a label that is none of `classes_`. "add",
        for ``loss="log_loss"`` only, makes it one of them, just before its row is
        predicted; `classes` need not be given then. See :meth:`partial_fit`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.

    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights in the units of the features.

    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.

    delta_sum_ : ndarray of shape (1,) or (n_classes,)
        Sum of the mixability gaps: how much more each row's linearised loss is than
        the increase of the regularised leader's. The regret is at most twice that with
        "koolen".

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where the input has such.

    n_iter_ : int
        Number of epochs of the last :meth:`fit`, also those after the best one.

    n_samples_seen_ : int
        Number of rows learned, over all epochs (up to the best one) and chunks; those
        of weight 0 excluded.

    t_ : float
        That number plus 1, as in :class:`~sklearn.linear_model.SGDClassifier`.

    cumulative_loss_ : float
        Weighted sum of the losses of the algorithm's predictions, each made before its
        row was learned.

    loss_curve_ : list of float
        Mean of those losses for each epoch, also those after the best one; or each of
        the latest calls of :meth:`partial_fit`, of which 1,000 are kept.

    validation_loss_curve_ : list of float
        Mean loss of the held-out rows after each epoch, if :meth:`fit` held out any.

    See Also
    --------
    AdaFTRLRegressor : The same for targets that are numbers.
    AdaImplicitClassifier : Takes a ball as well, and does not need it.
    sklearn_scinol.experts.AdaHedge : The same algorithm on the simplex.

    Notes
    -----
    With :math:`\theta` minus the sum of the gradients, :math:`D = U^2 / 2` for the
    radius :math:`U` and :math:`\Delta` the sum of the mixability gaps so far, the
    weights are :math:`\min(\eta, U / \|\theta\|)\, \theta` with :math:`1 / \eta =
    \Delta / D`, or :math:`\Delta / (16 D)` with "orabona_pal". The gaps are exact, also
    where the leader reaches the sphere. Losses are linearised, so that any convex one
    will do. With several outputs each has a ball of its own.

    :meth:`regret_bound` is :math:`2 \sqrt{D \sum_t \|g_t\|^2} + 4 U \max_t \|g_t\|`
    [2]_, with :math:`g_t` the gradients, and with "orabona_pal" :math:`5.3 \sqrt{D
    \sum_t \|g_t\|^2}` [1]_. It is infinite for a comparator outside the ball.

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
    r"""Linear regression with weights in a ball, and no learning rate.

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
        What predictions are charged. "absolute_error" aims at the median, "quantile" at
        another quantile; "squared_error" is half the square; "huber" the same up to
        `epsilon` and linear beyond; "epsilon_insensitive" ignores errors up to
        `epsilon`.

    radius : float, default=1.0
        Radius of the ball that the weights and the intercept of each output are in, in
        units of the weights, between 1e-20 and 1e20.

    tuning : {"koolen", "orabona_pal"}, default="koolen"
        How strong the regularisation is: as in [2]_, or as in [1]_, where it is 16
        times weaker and the bound's constant larger.

    center : {"auto", True, False}, default="auto"
        Whether each feature is centred at its running mean (the row itself included).
        "auto" centres dense input and not sparse, as decided by the first rows. False
        is the published algorithm.

    scale : bool, default=False
        Whether each feature is divided by its running standard deviation (the row
        itself included), so that units do not matter; with `center` it is standardised,
        as :class:`~sklearn.preprocessing.StandardScaler` would on rows so far. What has
        not varied yet is 0; zeros of sparse rows stay zeros. `coef_` is then for rows
        near the mean, since others take part in their deviation. False is the
        published algorithm.

    clip_ratio : float, default=None
        If given, a number above 1, such as 2: values of a feature are clipped at so
        many times the largest absolute value that it has had, which bounds the damage
        that an outlier does. The limit follows a feature that grows, by that factor at
        each row. With None a value a thousand times too large weakens its feature for
        very long.

    standardize_target : {"auto", True, False}, default="auto"
        Whether a prediction is the running mean of the target plus its running standard
        deviation (of the rows before) times what the algorithm says. `radius`
        is then in units of that deviation, and neither the unit nor the zero of the
        target matters. "auto" standardises it where features are centred: with
        ``center=False`` alone the algorithm is the paper's to the letter.

    epsilon : float, default=0.1
        Threshold of the losses "huber" and "epsilon_insensitive", in units of the
        target, up to 1e100; of "huber" up to 1e20, unless `standardize_target`.

    quantile : float, default=0.5
        The quantile of the loss "quantile", between 0 and 1.

    fit_intercept : bool, default=True
        Whether there is an intercept: a constant feature 1 with its own coordinate.

    max_iter : int, default=1000
        Most epochs of :meth:`fit`. :meth:`partial_fit` is always one.

    tol : float, default=1e-3
        :meth:`fit` stops after `n_iter_no_change` epochs in a row whose mean loss (of
        predictions made before each update, or with `early_stopping` of held-out rows)
        is not below the best so far by `tol` times that of the first epoch, so that
        units of the loss do not matter. The model is then that of the epoch of the
        lowest loss, at its end. None runs all epochs and keeps the last.

    early_stopping : bool, default=False
        Whether :meth:`fit` holds out `validation_fraction` of the rows
        and stops by their mean loss. In the end it learns them, once.

    validation_fraction : float, default=0.1
        The fraction of the rows that is held out with `early_stopping`; those of weight
        0 do not count.

    n_iter_no_change : int, default=5
        Number of epochs without improvement before :meth:`fit` stops.

    shuffle : bool, default=True
        Whether :meth:`fit` shuffles the rows before each epoch.

    random_state : int, RandomState instance or None, default=None
        For the shuffling. An int gives the same result every time.

    average : bool or int, default=False
        Whether predictions are made with the mean of the weights after each row, as in
        averaged stochastic gradient descent. An int is the number of rows learned from
        which on the mean is taken.

    warm_start : bool, default=False
        Whether :meth:`fit` goes on from where the last call ended.

    verbose : int, default=0
        If positive, each epoch prints its mean loss, and that of held-out rows.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Weights in the units of the features.

    intercept_ : ndarray of shape (1,) or (n_outputs,)
        Intercepts.

    delta_sum_ : ndarray of shape (n_outputs,)
        Sum of the mixability gaps: how much more each row's linearised loss is than
        the increase of the regularised leader's. The regret is at most twice that with
        "koolen".

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where the input has such.

    n_iter_ : int
        Number of epochs of the last :meth:`fit`, also those after the best one.

    n_samples_seen_ : int
        Number of rows learned, over all epochs (up to the best one) and chunks; those
        of weight 0 excluded.

    t_ : float
        That number plus 1, as in :class:`~sklearn.linear_model.SGDClassifier`.

    cumulative_loss_ : float
        Weighted sum of the losses of the algorithm's predictions, each made before its
        row was learned.

    loss_curve_ : list of float
        Mean of those losses for each epoch, also those after the best one; or each of
        the latest calls of :meth:`partial_fit`, of which 1,000 are kept.

    validation_loss_curve_ : list of float
        Mean loss of the held-out rows after each epoch, if :meth:`fit` held out any.

    See Also
    --------
    AdaFTRLClassifier : The same for labels.
    AdaImplicitRegressor : Takes a ball as well, and does not need it.
    sklearn_scinol.experts.AdaHedge : The same algorithm on the simplex.

    Notes
    -----
    With :math:`\theta` minus the sum of the gradients, :math:`D = U^2 / 2` for the
    radius :math:`U` and :math:`\Delta` the sum of the mixability gaps so far, the
    weights are :math:`\min(\eta, U / \|\theta\|)\, \theta` with :math:`1 / \eta =
    \Delta / D`, or :math:`\Delta / (16 D)` with "orabona_pal". The gaps are exact, also
    where the leader reaches the sphere. Losses are linearised, so that any convex one
    will do. With several outputs each has a ball of its own.

    :meth:`regret_bound` is :math:`2 \sqrt{D \sum_t \|g_t\|^2} + 4 U \max_t \|g_t\|`
    [2]_, with :math:`g_t` the gradients, and with "orabona_pal" :math:`5.3 \sqrt{D
    \sum_t \|g_t\|^2}` [1]_. It is infinite for a comparator outside the ball.

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
        quantile: float = 0.5,
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
