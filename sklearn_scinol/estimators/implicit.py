"""Estimators of implicit updates: AdaImplicit and implicit online mirror descent."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from .._typing import ClassificationLoss, ClassWeight, RandomState, RegressionLoss
from ..learners import ALGORITHMS
from .base import DEFAULT_MAX_ITER, DEFAULT_TOL, FORGETTING, UNITS
from .linear import LinearClassifier, LinearRegressor

__all__ = ["AdaImplicitClassifier", "AdaImplicitRegressor"]


class _AdaImplicit:
    """What the two estimators have in common beyond being online."""

    _own_constraints = {
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
        """Regularisation of the next step, by output: shape (n_outputs,)."""
        return self._fitted_model().in_units_of_loss("lambda_")

    @property
    def delta_sum_(self) -> NDArray[np.float64]:
        """Sum of the paper's δ so far, by output: shape (n_outputs,)."""
        return self._fitted_model().in_units_of_loss("delta_sum")


class AdaImplicitClassifier(_AdaImplicit, LinearClassifier):
    r"""Linear classifier that learns by implicit updates, with an adaptive step size.

    An implicit update [1]_ does not step along the gradient of the loss but goes to the
    minimum of the loss itself plus a penalty on the way there. It never overshoots: the
    loss of a row after its update is no more than before, however wrong the step size.
    That makes it far less sensitive to its one parameter, `beta`, than gradient descent
    is and, with weights in a ball, gives a regret that is constant where the losses
    vary little from row to row. A row costs O(n_features), a sparse row O(non-zeros).

    Unlike :class:`ScInOLClassifier` it is sensitive to the scales of the features.

    Parameters
    ----------
    loss : {"log_loss", "hinge", "squared_hinge"}, default="log_loss"
        "hinge" is the loss of linear support vector machines, "squared_hinge" half its
        square, "log_loss" the logistic loss. With more than two classes each is one
        versus rest.

    algorithm : {"adaimplicit", "constant", "iomd"}, default="adaimplicit"
        "adaimplicit" is Algorithm 2 of the paper, in which the regularisation grows
        with the losses suffered. "iomd" is Algorithm 1 with regularisation
        :math:`\sqrt t / \beta` at row :math:`t`. "constant" is the same with
        :math:`1 / \beta` at all rows [2]_: it forgets, and so follows streams that
        change.

    beta : float, default=1.0
        Scale of the steps, in units of the weights, between 1e-20 and 1e20; the best is
        about the distance to the weights looked for. If in doubt, take it too large.
        The theorem asks for :math:`\sqrt 2` times `radius`.

    radius : float, default=None
        If given, weights and intercept stay in the ball of that Euclidean norm (with
        more than two classes, those of each class). The step is the exact minimum over
        the ball.

    center : {"auto", True, False}, default=False
        Whether each feature is centred at its running mean (the row itself included).
        "auto" centres dense input and not sparse, as decided by the first rows. False
        is the paper's algorithm to the letter.

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

    moment_forgetting : float, default=0.0
        What part of its weight in the running means and standard deviations of `center`
        and `scale` a row loses with each later one, below 1: about ``1 /
        moment_forgetting`` rows count, so that features may drift. A feature that stays
        the same then counts as constant once its deviation is below 1e-8 times its
        mean. 0 forgets nothing; nor do sparse rows, where they are learned as such.

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

    lambda_ : ndarray of shape (1,) or (n_classes,)
        Regularisation :math:`\lambda`, the inverse of the step size: with "adaimplicit"
        that of the next row, with the others that of the last.

    delta_sum_ : ndarray of shape (1,) or (n_classes,)
        The sum of the :math:`\delta_t`, each the decrease of a row's loss in its update
        less the penalty on the way: the part of the regret bound that depends on the
        rows. At most the loss of the first row before it was learned, plus the temporal
        variability of the losses.

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
    AdaImplicitRegressor : The same for targets that are numbers.
    ScInOLClassifier : Has nothing to tune, and is scale-invariant.
    sklearn_scinol.baselines.BaselineClassifier : The gradient descent that the paper
        compares with.

    Notes
    -----
    A row of sample weight :math:`c` is one whose loss is multiplied by :math:`c`, in
    the minimum that the update goes to. A large weight never overshoots either.

    "adaimplicit" starts with :math:`\lambda = 0`: the first step goes to the minimum of
    its row's loss. The logistic loss has none. With a ball, the step then goes to the
    ball's farthest point in the direction of the row. Without one, it is taken with
    :math:`\lambda = \ell_t(w_t) / \beta^2` (:math:`\ln 2 / \beta^2` at the first row),
    and :math:`\lambda` goes on from there: no other choice needs a further parameter or
    depends on units that `beta` does not have already, it is the largest value that the
    update of :math:`\lambda` could have led to, and the regret bound holds for any.

    :meth:`regret_bound` is :math:`\frac12 (\|u\| + \max_t \|w_t\|)^2 \lambda_T + \sum_t
    \delta_t`, which is what Theorem 5.2 and the proof of Theorem 6.2 give before they
    bound :math:`\lambda_T` and :math:`\delta_t` from above. On a ball, with `beta`
    equal to :math:`\sqrt 2` times `radius`, it is at most the theorem's :math:`2 \beta
    \sqrt{3 \sum_t \|g_t\|^2}`, with :math:`g_t` the gradients. It is infinite for a
    comparator outside the ball. The theorem needs that bounded set. Without a `radius`
    the number above is still a bound, but it is known only afterwards: nothing limits
    the norms of the weights, and so it, in advance.

    References
    ----------
    .. [1] N. Campolongo, F. Orabona. "Temporal variability in implicit online
       learning." NeurIPS 2020. https://arxiv.org/abs/2006.07503
    .. [2] B. Kulis, P. L. Bartlett. "Implicit online learning." ICML 2010.

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

    _parameter_constraints: dict = {
        **LinearClassifier._parameter_constraints,
        **_AdaImplicit._own_constraints,
    }
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


class AdaImplicitRegressor(_AdaImplicit, LinearRegressor):
    r"""Linear regression that learns by implicit updates, with an adaptive step size.

    An implicit update [1]_ does not step along the gradient of the loss but goes to the
    minimum of the loss itself plus a penalty on the way there. It never overshoots: the
    loss of a row after its update is no more than before, however wrong the step size.
    That makes it far less sensitive to its one parameter, `beta`, than gradient descent
    is and, with weights in a ball, gives a regret that is constant where the losses
    vary little from row to row. A row costs O(n_features), a sparse row O(non-zeros).

    Unlike :class:`ScInOLRegressor` it is sensitive to the scales of the features.

    Parameters
    ----------
    loss : str, default="absolute_error"
        What predictions are charged. "absolute_error" aims at the median, "quantile" at
        another quantile; "squared_error" is half the square; "huber" the same up to
        `epsilon` and linear beyond; "epsilon_insensitive" ignores errors up to
        `epsilon`.

    algorithm : {"adaimplicit", "constant", "iomd"}, default="adaimplicit"
        "adaimplicit" is Algorithm 2 of the paper, in which the regularisation grows
        with the losses suffered. "iomd" is Algorithm 1 with regularisation
        :math:`\sqrt t / \beta` at row :math:`t`. "constant" is the same with
        :math:`1 / \beta` at all rows [2]_: it forgets, and so follows streams that
        change.

    beta : float, default=1.0
        Scale of the steps, in units of the weights, between 1e-20 and 1e20; the best is
        about the distance to the weights looked for. If in doubt, take it too large.
        The theorem asks for :math:`\sqrt 2` times `radius`.

    radius : float, default=None
        If given, weights and intercept of each output stay in the ball of that
        Euclidean norm. The step is the exact minimum over the ball.

    center : {"auto", True, False}, default="auto"
        Whether each feature is centred at its running mean (the row itself included).
        "auto" centres dense input and not sparse, as decided by the first rows. False
        is the paper's algorithm to the letter.

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

    moment_forgetting : float, default=0.0
        What part of its weight in the running means and standard deviations of `center`
        and `scale` a row loses with each later one, below 1: about ``1 /
        moment_forgetting`` rows count, so that features may drift. A feature that stays
        the same then counts as constant once its deviation is below 1e-8 times its
        mean. 0 forgets nothing; nor do sparse rows, where they are learned as such.

    standardize_target : {"auto", True, False}, default="auto"
        Whether a prediction is the running mean of the target plus its running standard
        deviation (of the rows before) times what the algorithm says. `beta` and
        `radius` are then in units of that deviation, and neither the unit nor the zero
        of the target matters. "auto" standardises it where features are centred: with
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

    lambda_ : ndarray of shape (1,) or (n_outputs,)
        Regularisation :math:`\lambda`, the inverse of the step size: with "adaimplicit"
        that of the next row, with the others that of the last.

    delta_sum_ : ndarray of shape (1,) or (n_outputs,)
        The sum of the :math:`\delta_t`, each the decrease of a row's loss in its update
        less the penalty on the way: the part of the regret bound that depends on the
        rows. At most the loss of the first row before it was learned, plus the temporal
        variability of the losses.

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
    AdaImplicitClassifier : The same for labels.
    ScInOLRegressor : Has nothing to tune, and is scale-invariant.
    sklearn_scinol.baselines.BaselineRegressor : The gradient descent that the paper
        compares with.

    Notes
    -----
    A row of sample weight :math:`c` is one whose loss is multiplied by :math:`c`, in
    the minimum that the update goes to. A large weight never overshoots either.

    :meth:`regret_bound` is :math:`\frac12 (\|u\| + \max_t \|w_t\|)^2 \lambda_T + \sum_t
    \delta_t`, which is what Theorem 5.2 and the proof of Theorem 6.2 give before they
    bound :math:`\lambda_T` and :math:`\delta_t` from above. On a ball, with `beta`
    equal to :math:`\sqrt 2` times `radius`, it is at most the theorem's :math:`2 \beta
    \sqrt{3 \sum_t \|g_t\|^2}`, with :math:`g_t` the gradients. It is infinite for a
    comparator outside the ball. The theorem needs that bounded set. Without a `radius`
    the number above is still a bound, but it is known only afterwards: nothing limits
    the norms of the weights, and so it, in advance.

    References
    ----------
    .. [1] N. Campolongo, F. Orabona. "Temporal variability in implicit online
       learning." NeurIPS 2020. https://arxiv.org/abs/2006.07503
    .. [2] B. Kulis, P. L. Bartlett. "Implicit online learning." ICML 2010.

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

    _parameter_constraints: dict = {
        **LinearRegressor._parameter_constraints,
        **_AdaImplicit._own_constraints,
    }

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
