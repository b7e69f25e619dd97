"""Estimators of the scale-invariant learners ScInOL1 and ScInOL2."""

from numbers import Real
from typing import Literal

from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import ClassWeight, LipschitzLoss, RandomState
from ..learners import ALGORITHMS
from ..losses import CLASSIFICATION, REGRESSION, with_bounded_slope
from .additive import Additive
from .base import DEFAULT_MAX_ITER, DEFAULT_TOL, FORGETTING
from .linear import LinearClassifier, LinearRegressor

__all__ = ["ScInOLClassifier", "ScInOLRegressor"]

_NAMES = ("scinol1", "scinol2")


class _ScInOL(Additive):
    """What the two estimators have in common beyond being online."""

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
        "log_loss" is the logistic loss; with more than two classes, multinomial
        cross-entropy. "hinge" is that of linear support vector machines; with more than
        two classes, one versus rest.

    algorithm : {"scinol2", "scinol1"}, default="scinol2"
        Algorithm 2 or 1 of the paper (4 and 3 for more than two classes). The first is
        bolder and nearly always better; the second has a bound without any ratio of
        feature values (see the notes).

    initial_wealth : float, default=1.0
        The paper's ε, in units of the prediction, up to 1e100. Nothing to tune: bounds
        depend on its logarithm.

    center : {"auto", True, False}, default="auto"
        Whether each feature is centred at its running mean (the row itself included),
        which keeps the invariance to scale, adds one to shifts, and on most data lowers
        the loss. "auto" centres dense input and not sparse, as decided by the first
        rows; sparse rows that come later are then made dense, some at a time. False is
        the paper's algorithm to the letter.

    scale : bool, default=False
        Whether each feature is divided by its running standard deviation (the row
        itself included), so that units do not matter; with `center` it is standardised,
        as :class:`~sklearn.preprocessing.StandardScaler` would on rows so far. What has
        not varied yet is 0; zeros of sparse rows stay zeros. `coef_` is then for rows
        near the mean, since others take part in their deviation. False is the
        paper's algorithm, which is scale-invariant without that.

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

    additive : {False, True, "pairs"}, default=False
        Whether the model is additive: a function of each feature instead of a multiple
        of it. Beside the value there is then a one-hot code of the bin that the value
        falls into, with edges from the first 100 rows (see
        :class:`~sklearn_scinol.preprocessing.OnlineBinner`). With "pairs" there is also
        one for each two features, of the cells of a grid. :meth:`plot_terms` shows what
        was learned. A row costs what a sparse one with twice as many values does; with
        "pairs" the cost grows with the square of the number of features. Sparse rows
        are made dense, some at a time.

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
        Whether predictions are made with the mean of the weights after each row (at
        rest: without a row's own ``|x|``), as in averaged stochastic gradient descent.
        An int is the number of rows learned from which on the mean is taken.

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
        Weights in the units of the features, for rows within the values seen so far.

    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.

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
    ScInOLRegressor : The same for targets that are numbers.
    sklearn.linear_model.SGDClassifier : Needs scaled features and a learning rate.

    Notes
    -----
    A row beyond the values seen so far has weights of its own, for its ``|x|`` takes
    part in them; :meth:`decision_function` does what the algorithm would.

    With sample weights the algorithm sees the loss times the weight: rows of weight 0
    change nothing. Weights count relative to the first positive one, and
    :meth:`decision_function` predicts a row of the smallest weight so far.

    :meth:`regret_bound` is there with ``center=False``, or sparse input, and without
    `scale`. With :math:`M_i` the largest :math:`|x_i|` so far, :math:`S_i^2` the sum of
    the squared gradients and :math:`\hat S_i^2 = S_i^2 + M_i^2`, it is after :math:`T`
    rows the sum over coordinates (and classes, if more than two) of

    - :math:`\epsilon + 2 |u_i| \hat S_i (\ln(3 |u_i| \hat S_i^3 / (\epsilon
      x_{\tau_i}^2)) - 1)` for "scinol2" (Theorems 3.2 and G.2), where
      :math:`x_{\tau_i}` is the first value of the feature that is not 0;
    - :math:`2 |u_i| \hat S_i \ln(1 + 2 |u_i| \hat S_i T / \epsilon) + \epsilon (1 + \ln
      T)` for "scinol1" (Theorems 3.1 and G.1).

    So that of "scinol2" grows with the logarithm of the ratio of a feature's largest to
    its first value. In the worst case, a first value that is tiny beside later ones,
    it is vacuous, as the paper says; that of "scinol1" has no such ratio.

    What grows exponentially is capped at 1e150 (the wealth, or for "scinol1" its
    multiple of ε), far above what predicting targets takes, which are refused beyond
    1e100.

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
        What predictions are charged; each has a bounded derivative, which the theory
        asks for. "absolute_error" aims at the median, "quantile" at another quantile;
        "huber" is half the squared error up to `epsilon` and linear beyond;
        "epsilon_insensitive" ignores errors up to `epsilon`.

    algorithm : {"scinol2", "scinol1"}, default="scinol2"
        Algorithm 2 or 1 of the paper (4 and 3 for several outputs). The first is bolder
        and nearly always better; the second has a bound without any ratio of feature
        values (see the notes).

    initial_wealth : float, default=1.0
        The paper's ε, in units of the target, up to 1e100. Nothing to tune: bounds
        depend on its logarithm.

    center : {"auto", True, False}, default="auto"
        Whether each feature is centred at its running mean (the row itself included),
        which keeps the invariance to scale and adds one to shifts. "auto" centres dense
        input and not sparse, as decided by the first rows; sparse rows that come later
        are then made dense, some at a time. False is the paper's algorithm to the
        letter.

    scale : bool, default=False
        Whether each feature is divided by its running standard deviation (the row
        itself included), so that units do not matter; with `center` it is standardised,
        as :class:`~sklearn.preprocessing.StandardScaler` would on rows so far. What has
        not varied yet is 0; zeros of sparse rows stay zeros. `coef_` is then for rows
        near the mean, since others take part in their deviation. False is the
        paper's algorithm, which is scale-invariant without that.

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

    additive : {False, True, "pairs"}, default=False
        Whether the model is additive: a function of each feature instead of a multiple
        of it. Beside the value there is then a one-hot code of the bin that the value
        falls into, with edges from the first 100 rows (see
        :class:`~sklearn_scinol.preprocessing.OnlineBinner`). With "pairs" there is also
        one for each two features, of the cells of a grid. :meth:`plot_terms` shows what
        was learned. A row costs what a sparse one with twice as many values does; with
        "pairs" the cost grows with the square of the number of features. Sparse rows
        are made dense, some at a time.

    standardize_target : {"auto", True, False}, default="auto"
        Whether a prediction is the running mean of the target plus its running standard
        deviation (of the rows before) times what the algorithm says. `initial_wealth`
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
        Whether predictions are made with the mean of the weights after each row (at
        rest: without a row's own ``|x|``), as in averaged stochastic gradient descent.
        An int is the number of rows learned from which on the mean is taken.

    warm_start : bool, default=False
        Whether :meth:`fit` goes on from where the last call ended.

    verbose : int, default=0
        If positive, each epoch prints its mean loss, and that of held-out rows.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Weights in the units of the features, for rows within the values seen so far.

    intercept_ : ndarray of shape (1,) or (n_outputs,)
        Intercepts.

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
    ScInOLClassifier : The same for labels.
    sklearn.linear_model.SGDRegressor : Needs scaled features and a learning rate.

    Notes
    -----
    A row beyond the values seen so far has weights of its own, for its ``|x|`` takes
    part in them; :meth:`predict` does what the algorithm would.

    With sample weights the algorithm sees the loss times the weight: rows of weight 0
    change nothing. Weights count relative to the first positive one, and
    :meth:`predict` predicts a row of the smallest weight so far.

    :meth:`regret_bound` is there with ``center=False``, or sparse input, and without
    `scale` and `standardize_target`. With :math:`M_i` the largest :math:`|x_i|` so far,
    :math:`S_i^2` the sum of the squared gradients and :math:`\hat S_i^2 = S_i^2 +
    M_i^2`, it is after :math:`T` rows the sum over coordinates and outputs of

    - :math:`\epsilon + 2 |u_i| \hat S_i (\ln(3 |u_i| \hat S_i^3 / (\epsilon
      x_{\tau_i}^2)) - 1)` for "scinol2" (Theorems 3.2 and G.2), where
      :math:`x_{\tau_i}` is the first value of the feature that is not 0;
    - :math:`2 |u_i| \hat S_i \ln(1 + 2 |u_i| \hat S_i T / \epsilon) + \epsilon (1 + \ln
      T)` for "scinol1" (Theorems 3.1 and G.1).

    So that of "scinol2" grows with the logarithm of the ratio of a feature's largest to
    its first value. In the worst case, a first value that is tiny beside later ones,
    it is vacuous, as the paper says; that of "scinol1" has no such ratio.

    What grows exponentially is capped at 1e150 (the wealth, or for "scinol1" its
    multiple of ε), far above what predicting targets takes, which are refused beyond
    1e100.

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
        self.initial_wealth = initial_wealth
        self.center = center
        self.scale = scale
        self.clip_ratio = clip_ratio
        self.moment_forgetting = moment_forgetting
        self.additive = additive
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
