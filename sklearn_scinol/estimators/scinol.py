"""Estimators of the scale-invariant learners ScInOL1 and ScInOL2."""

from __future__ import annotations

from numbers import Real
from typing import Literal

from sklearn.utils._param_validation import Interval, StrOptions

from .._docstrings import inherit_descriptions
from .._typing import ClassWeight, LipschitzLoss, Quantiles, RandomState
from ..learners import ALGORITHMS
from ..losses import CLASSIFICATION, REGRESSION, with_bounded_slope
from .additive import Additive
from .linear import LinearClassifier, LinearRegressor
from .parameters import DEFAULT_MAX_ITER, DEFAULT_TOL, FORGETTING

_NAMES = ("scinol1", "scinol2")

#: Rows with a larger sum of ``|x| / M`` make ScInOL2 more cautious; rows with no more
#: features never do.
MAX_SHARE = 128.0


class _ScInOL(Additive):
    """Parameters and learner of the classifier and the regressor.

    Parameters
    ----------
    algorithm : {"scinol2", "scinol1"}, default="scinol2"
        The paper's second algorithm is bolder and nearly always better; the first has
        a bound without any ratio of feature values. In rows of more than 128 features
        "scinol2" begins more cautiously than published.
    initial_wealth : float, default=1.0
        The paper's ε. Nothing to tune: bounds depend on its logarithm.

    Description
    -----------
    Scale-Invariant Online Learning [1]_: no learning rate, and no scaling of features,
    for the predictions do not change when a feature's unit does. The regret is how
    much larger the total loss of the predictions is than that of the best linear model
    in hindsight, that is, chosen when all rows are known. It is near that of gradient
    descent with the best rate for each feature, also chosen in hindsight. A row costs
    O(n_features), a sparse row O(non-zeros).

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
    """

    _own_constraints: dict = {
        "algorithm": [StrOptions(set(_NAMES))],
        "initial_wealth": [Interval(Real, 0, 1e100, closed="right")],
        "moment_forgetting": [FORGETTING],
    }

    def _make_learner(self, lipschitz):
        learner = ALGORITHMS[self.algorithm](float(self.initial_wealth))
        is_second = self.algorithm == "scinol2"
        return learner._replace(max_share=MAX_SHARE) if is_second else learner


@inherit_descriptions
class ScInOLClassifier(_ScInOL, LinearClassifier):
    r"""Linear classifier that learns row by row, with nothing to tune.

    See Also
    --------
    ScInOLRegressor : Regression with the same algorithm.
    sklearn.linear_model.SGDClassifier : Needs scaled features and a learning rate.

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

    _own_constraints: dict = {"loss": [StrOptions(with_bounded_slope(CLASSIFICATION))]}

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
        additive: bool = False,
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


@inherit_descriptions
class ScInOLRegressor(_ScInOL, LinearRegressor):
    r"""Linear regression that learns row by row, with nothing to tune.

    See Also
    --------
    ScInOLClassifier : Classification with the same algorithm.
    sklearn.linear_model.SGDRegressor : Needs scaled features and a learning rate.

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

    _own_constraints: dict = {"loss": [StrOptions(with_bounded_slope(REGRESSION))]}

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
        additive: bool = False,
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
