"""Estimators of the scale-invariant learners ScInOL1 and ScInOL2."""

from numbers import Real
from typing import Literal

from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import ClassWeight, LipschitzLoss, Quantiles, RandomState
from ..learners import ALGORITHMS
from ..losses import CLASSIFICATION, REGRESSION, with_bounded_slope
from .additive import Additive
from .linear import LinearClassifier, LinearRegressor
from .parameters import DEFAULT_MAX_ITER, DEFAULT_TOL, FORGETTING

_NAMES = ("scinol1", "scinol2")


class _ScInOL(Additive):
    """Parameters and learner of the classifier and the regressor."""

    _own_constraints = {
        **Additive._additive_constraints,
        "algorithm": [StrOptions(set(_NAMES))],
        "initial_wealth": [Interval(Real, 0, 1e100, closed="right")],
        "moment_forgetting": [FORGETTING],
    }

    def _make_learner(self, lipschitz):
        return ALGORITHMS[self.algorithm](float(self.initial_wealth))


class ScInOLClassifier(_ScInOL, LinearClassifier):
    r"""Linear classifier that learns row by row, with nothing to tune.

    Scale-Invariant Online Learning [1]_: no learning rate, and no scaling of features,
    for the predictions do not change when a feature's unit does. The regret is how
    much larger the total loss of the predictions is than that of the best linear model
    in hindsight, that is, chosen when all rows are known. It is near that of gradient
    descent with the best rate for each feature, also chosen in hindsight. A row costs
    O(n_features), a sparse row O(non-zeros).

    Parameters
    ----------
    loss : {"log_loss", "hinge"}, default="log_loss"
        "log_loss" is multinomial for more than two classes, "hinge" one versus rest.
    algorithm : {"scinol2", "scinol1"}, default="scinol2"
        The paper's second algorithm is bolder and nearly always better; the first has
        a bound without any ratio of feature values.
    initial_wealth : float, default=1.0
        The paper's ε. Nothing to tune: bounds depend on its logarithm.
    center : {"auto", True, False}, default="auto"
        Whether to subtract each feature's running mean; "auto": where rows are dense.
    scale : bool, default=False
        Whether to divide each feature by its running standard deviation.
    clip_ratio : float, default=None
        Clip values to ±`clip_ratio` × the feature's largest absolute value so far.
    moment_forgetting : float, default=0.0
        Share of its weight in means and deviations that a row loses per later row,
        dense or sparse; matters where features are centred or scaled.
    additive : bool, default=False
        Whether to learn a function of each feature: a multiple of the value, and a step
        function of it. See :doc:`/user_guide/additive`.
    interactions : {True, False, "fine"}, default=False
        Whether to learn functions of pairs of features as well; implies `additive`.
        "fine" has bins by 16 quantiles of the first 1,000 rows, not by 8 of 100.
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
    multilabel_
    n_samples_seen_
    t_
    cumulative_loss_

    See Also
    --------
    ScInOLRegressor : Regression with the same algorithm.
    sklearn.linear_model.SGDClassifier : Needs scaled features and a learning rate.

    Notes
    -----
    A row beyond the values seen so far has weights of its own, for its ``|x|`` takes
    part in them: `coef_` and `intercept_` are for rows within these values.
    :meth:`regret_bound` exists where rows and targets are learned as they are.
    :doc:`/user_guide/scinol` has the formulas.

    References
    ----------
    .. [1] M. Kempka, W. Kotłowski, M. K. Warmuth. "Adaptive scale-invariant online
       algorithms for learning linear models." ICML 2019.
       https://proceedings.mlr.press/v97/kempka19a.html

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import ScInOLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ScInOLClassifier()
    >>> for start in range(0, 500, 100):
    ...     rows = slice(start, start + 100)
    ...     model = model.partial_fit(X[rows], y[rows], classes=[0, 1])
    >>> round(model.score(X[500:], y[500:]), 2)
    0.97

    Other units, same predictions:

    >>> import numpy as np
    >>> Z = X * 2.0 ** np.arange(-15, 15)
    >>> model = ScInOLClassifier().partial_fit(X, y, classes=[0, 1])
    >>> other = ScInOLClassifier().partial_fit(Z, y, classes=[0, 1])
    >>> bool((model.decision_function(X) == other.decision_function(Z)).all())
    True
    """

    _parameter_constraints: dict = {
        **LinearClassifier._parameter_constraints,
        **_ScInOL._own_constraints,
        "loss": [StrOptions(with_bounded_slope(CLASSIFICATION))],
    }

    def __init__(
        self,
        loss: Literal["log_loss", "hinge"] = "log_loss",
        *,
        algorithm: Literal["scinol1", "scinol2"] = "scinol2",
        initial_wealth: float = 1.0,
        center: bool | Literal["auto"] = "auto",
        scale: bool = False,
        clip_ratio: float | None = None,
        moment_forgetting: float = 0.0,
        additive: bool | Literal["pairs"] = False,
        interactions: bool | Literal["fine"] = False,
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
        self.initial_wealth = initial_wealth
        self.center = center
        self.scale = scale
        self.clip_ratio = clip_ratio
        self.moment_forgetting = moment_forgetting
        self.additive = additive
        self.interactions = interactions
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


class ScInOLRegressor(_ScInOL, LinearRegressor):
    r"""Linear regression that learns row by row, with nothing to tune.

    Scale-Invariant Online Learning [1]_: no learning rate, and no scaling of features,
    for the predictions do not change when a feature's unit does. The regret is how
    much larger the total loss of the predictions is than that of the best linear model
    in hindsight, that is, chosen when all rows are known. It is near that of gradient
    descent with the best rate for each feature, also chosen in hindsight. A row costs
    O(n_features), a sparse row O(non-zeros).

    Parameters
    ----------
    loss : str, default="absolute_error"
        "absolute_error", "huber", "epsilon_insensitive" or "quantile".
    algorithm : {"scinol2", "scinol1"}, default="scinol2"
        The paper's second algorithm is bolder and nearly always better; the first has
        a bound without any ratio of feature values.
    initial_wealth : float, default=1.0
        The paper's ε. Nothing to tune: bounds depend on its logarithm.
    center : {"auto", True, False}, default="auto"
        Whether to subtract each feature's running mean; "auto": where rows are dense.
    scale : bool, default=False
        Whether to divide each feature by its running standard deviation.
    clip_ratio : float, default=None
        Clip values to ±`clip_ratio` × the feature's largest absolute value so far.
    moment_forgetting : float, default=0.0
        Share of its weight in means and deviations that a row loses per later row,
        dense or sparse; matters where features are centred or scaled.
    additive : bool, default=False
        Whether to learn a function of each feature: a multiple of the value, and a step
        function of it. See :doc:`/user_guide/additive`.
    interactions : {True, False, "fine"}, default=False
        Whether to learn functions of pairs of features as well; implies `additive`.
        "fine" has bins by 16 quantiles of the first 1,000 rows, not by 8 of 100.
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
    n_samples_seen_
    t_
    cumulative_loss_

    See Also
    --------
    ScInOLClassifier : Classification with the same algorithm.
    sklearn.linear_model.SGDRegressor : Needs scaled features and a learning rate.

    Notes
    -----
    A row beyond the values seen so far has weights of its own, for its ``|x|`` takes
    part in them: `coef_` and `intercept_` are for rows within these values.
    :meth:`regret_bound` exists where rows and targets are learned as they are.
    :doc:`/user_guide/scinol` has the formulas.

    References
    ----------
    .. [1] M. Kempka, W. Kotłowski, M. K. Warmuth. "Adaptive scale-invariant online
       algorithms for learning linear models." ICML 2019.
       https://proceedings.mlr.press/v97/kempka19a.html

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_scinol import ScInOLRegressor
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> model = ScInOLRegressor(random_state=0).fit(X, y)
    >>> round(model.score(X, y), 1)
    0.5
    >>> before_each_row = ScInOLRegressor().partial_fit_predict(X, y)
    >>> before_each_row.shape
    (442,)

    Three quantiles of the target of each row, which do not cross:

    >>> model = ScInOLRegressor(loss="quantile", quantile=[0.1, 0.5, 0.9])
    >>> model.partial_fit(X, y).predict(X[:2]).round()
    array([[103., 205., 262.],
           [ 37.,  58., 140.]])
    """

    _parameter_constraints: dict = {
        **LinearRegressor._parameter_constraints,
        **_ScInOL._own_constraints,
        "loss": [StrOptions(with_bounded_slope(REGRESSION))],
    }

    def __init__(
        self,
        loss: LipschitzLoss = "absolute_error",
        *,
        algorithm: Literal["scinol1", "scinol2"] = "scinol2",
        initial_wealth: float = 1.0,
        center: bool | Literal["auto"] = "auto",
        scale: bool = False,
        clip_ratio: float | None = None,
        moment_forgetting: float = 0.0,
        additive: bool | Literal["pairs"] = False,
        interactions: bool | Literal["fine"] = False,
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
        self.initial_wealth = initial_wealth
        self.center = center
        self.scale = scale
        self.clip_ratio = clip_ratio
        self.moment_forgetting = moment_forgetting
        self.additive = additive
        self.interactions = interactions
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
