"""Estimators of the scale-invariant learners ScInOL1 and ScInOL2."""

from numbers import Real

from sklearn.utils._param_validation import Interval, StrOptions

from ._base import OnlineClassifier, OnlineRegressor
from .learners import ScInOL1, ScInOL2

__all__ = ["ScInOLClassifier", "ScInOLRegressor"]

_ALGORITHMS = {"scinol1": ScInOL1, "scinol2": ScInOL2}
_CONSTRAINTS = {
    "algorithm": [StrOptions(set(_ALGORITHMS))],
    "initial_wealth": [Interval(Real, 0, None, closed="neither")],
}


class _ScInOL:
    """What the two estimators have in common beyond being online."""

    def _make_learner(self):
        return _ALGORITHMS[self.algorithm](float(self.initial_wealth))


class ScInOLClassifier(_ScInOL, OnlineClassifier):
    _parameter_constraints: dict = {
        **OnlineClassifier._parameter_constraints,
        **_CONSTRAINTS,
    }

    def __init__(
        self,
        loss="log_loss",
        *,
        algorithm="scinol2",
        initial_wealth=1.0,
        center="auto",
        fit_intercept=True,
        max_iter=100,
        tol=1e-3,
        shuffle=True,
        random_state=None,
        average=False,
        warm_start=False,
        verbose=0,
        class_weight=None,
    ):
        self.loss = loss
        self.algorithm = algorithm
        self.initial_wealth = initial_wealth
        self.center = center
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.random_state = random_state
        self.average = average
        self.warm_start = warm_start
        self.verbose = verbose
        self.class_weight = class_weight


class ScInOLRegressor(_ScInOL, OnlineRegressor):
    _parameter_constraints: dict = {
        **OnlineRegressor._parameter_constraints,
        **_CONSTRAINTS,
    }

    def __init__(
        self,
        loss="absolute_error",
        *,
        algorithm="scinol2",
        initial_wealth=1.0,
        center="auto",
        epsilon=0.1,
        quantile=0.5,
        fit_intercept=True,
        max_iter=100,
        tol=1e-3,
        shuffle=True,
        random_state=None,
        average=False,
        warm_start=False,
        verbose=0,
    ):
        self.loss = loss
        self.algorithm = algorithm
        self.initial_wealth = initial_wealth
        self.center = center
        self.epsilon = epsilon
        self.quantile = quantile
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.random_state = random_state
        self.average = average
        self.warm_start = warm_start
        self.verbose = verbose
