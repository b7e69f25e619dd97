"""Competitors from the literature as estimators, most of which need a learning rate.

They are here to compare with, under the same conditions: the same loops, losses,
centring, averaging and progressive validation. Only they are worth a grid search.
"""

from __future__ import annotations

from typing import Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, StrOptions

from .._docstrings import described_as, inherit_descriptions
from .._hyperparameters import (
    check_declared,
    is_value,
    restored,
    stored,
    with_plain_numbers,
)
from .._typing import (
    ClassificationLoss,
    ClassWeight,
    KernelLike,
    Quantiles,
    RandomState,
    RegressionLoss,
)
from ..learners import BASELINES, OnlineNewton
from ..learners.interface import check_is_learner, make_learner, traits
from ..models.additive import new_bins
from .additive import Additive
from .classifier import OnlineClassifier
from .kernel import KernelMethods
from .linear import LinearClassifier, LinearRegressor
from .parameters import DEFAULT_MAX_ITER, DEFAULT_TOL, FORGETTING, POSITIVE, UNITS
from .regressor import OnlineRegressor

Algorithm: TypeAlias = Literal[
    "adagrad",
    "adam",
    "adaogd",
    "cocob",
    "code",
    "coin",
    "freegrad",
    "k17",
    "kernel_gd",
    "nag",
    "ogd",
    "sfmd",
    "sgd",
]


class Instance(HasMethods):
    """Constraint on a parameter that may be a learner or a loss itself."""

    def __init__(self, what):
        super().__init__([])
        self.what = what

    def is_satisfied_by(self, val):
        return is_value(val)

    def __str__(self):
        return f"an instance of a {self.what}"


class _Baseline(Additive, KernelMethods):
    """Parameters and learner of the classifier and the regressor.

    Parameters
    ----------
    radius : float, default=None
        Largest norm of the weights and the intercept of each output; with "ogd" and
        "adaogd" only. None means no limit.
    algorithm : str or learner, default="ogd"
        A :class:`~sklearn_scinol.learners.Learner` or a name. Gradient descent:
        "adagrad", "adam", "adaogd", "kernel_gd", "nag", "ogd", "sfmd" or "sgd"; without
        a learning rate: "cocob", "code", "coin", "freegrad" or "k17".
        :doc:`/user_guide/baselines` says what each does.
    learning_rate : float, default=1.0
        Learning rate, to be tuned; algorithms without one ignore it.
    normalizer : {"sum", "mean"}, default="sum"
        Divisor of "nag": the sum over features as published, or their mean, which saves
        tuning the rate to the number of features.
    kernel : str or callable, default="linear"
        "linear", or with "kernel_gd" as in :class:`~sklearn_scinol.DFEGClassifier`.

    Description
    -----------
    A row costs O(n_features), a sparse row O(non-zeros) but for "adam".

    Notes
    -----
    :meth:`regret_bound` exists for "sgd", "ogd", "adaogd" and "kernel_gd".
    :doc:`/user_guide/baselines` has its formula, the algorithms and their references.
    """

    _own_constraints: dict = {
        "algorithm": [StrOptions(set(BASELINES)), Instance("learner")],
        "learning_rate": [POSITIVE],
        "moment_forgetting": [FORGETTING],
        "normalizer": [StrOptions({"sum", "mean"})],
        "radius": [UNITS, None],
    }

    # Learners and losses that are passed themselves: their hyperparameters count as
    # parameters, by names such as "algorithm__rate".

    _NESTED = ("algorithm", "loss")

    @described_as(BaseEstimator.get_params)
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of the estimator, and those of a learner and a loss."""
        params = super().get_params(deep)
        for name in self._NESTED if deep else ():
            if is_value(value := params[name]):
                of_value = value._asdict().items()
                params |= {f"{name}__{field}": number for field, number in of_value}
        return params

    @described_as(BaseEstimator.set_params)
    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator, or "algorithm__rate" of its `algorithm`."""
        nested = {name: value for name, value in params.items() if "__" in name}
        self._keep_parameters(params)
        super().set_params(**{n: params[n] for n in params if n not in nested})
        valid = self.get_params()
        for name, value in nested.items():
            if name not in valid:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid "
                    f"parameters are: {sorted(valid)!r}."
                )
            owner, _, field = name.partition("__")
            setattr(self, owner, getattr(self, owner)._replace(**{field: value}))
        return self

    def __getstate__(self):
        state = super().__getstate__()
        values = {name: state[name] for name in self._NESTED if is_value(state[name])}
        return state | {name: stored(value) for name, value in values.items()}

    def __setstate__(self, state):
        of_values = {name: restored(state[name]) for name in self._NESTED}
        super().__setstate__(state | of_values)

    @property
    def _learner_type(self):
        if is_value(self.algorithm):
            return type(self.algorithm)
        return BASELINES[self.algorithm]

    @property
    def _bounds_regret(self):
        is_known = isinstance(self.algorithm, str) and self.algorithm in BASELINES
        if not (is_known or is_value(self.algorithm)):
            return False
        return traits(self._learner_type).bounds_regret

    @property
    def _takes_joint_losses(self) -> bool:
        """Whether it takes losses that couple classes; most implicit steps do not."""
        learner = self._learner_type
        return not traits(learner).implicit or hasattr(learner, "learn_jointly")

    def _make_learner(self, lipschitz):
        name, learner = self.algorithm, self._learner_type
        if is_value(name):
            self._check_given_learner()
        has = traits(learner)
        if self.radius is not None and (is_value(name) or not has.in_ball):
            raise ValueError(f"radius must be None with algorithm={name!r}.")
        if self._has_kernel and not has.takes_kernels:
            raise ValueError(
                f"kernel must be 'linear' with algorithm={name!r}: only 'kernel_gd' "
                "takes others."
            )
        if has.bounded_gradients and not np.isfinite(lipschitz).all():
            raise ValueError(
                f"loss={self.loss!r} is not supported with algorithm={name!r}, which "
                "needs one with a bounded slope."
            )
        if is_value(name):
            return with_plain_numbers(name)
        n_coordinates = self.n_features_in_
        if self.additive:
            n_coordinates += new_bins(n_coordinates).n_codes
        n_coordinates = float(n_coordinates + self.fit_intercept)
        values = {
            "learning_rate": float(self.learning_rate),
            "radius": np.inf if self.radius is None else float(self.radius),
            "n_coordinates": n_coordinates,
            "normalizer": n_coordinates if self.normalizer == "mean" else 1.0,
        }
        return make_learner(learner, values)

    def _check_given_learner(self):
        """Refuse a learner that is incomplete, or does not fit the other parameters."""
        learner = type(self.algorithm)
        check_is_learner(learner)
        if issubclass(learner, OnlineNewton):
            raise ValueError(
                f"algorithm={self.algorithm!r} is not supported: it is the algorithm "
                "of OnlineNewtonClassifier and OnlineNewtonRegressor."
            )
        needs = getattr(learner, "loss_methods", ())
        check_declared(f"loss for {learner.__name__}", type(self._make_loss()), needs)


@inherit_descriptions
class BaselineClassifier(_Baseline, LinearClassifier):
    r"""Linear classifier by a competitor from the literature.

    Parameters
    ----------
    loss : {%(losses)s} or loss, default="log_loss"
        A :class:`~sklearn_scinol.losses.Loss` or a name. "log_loss" is multinomial for
        more than two classes, others one versus rest.

    See Also
    --------
    BaselineRegressor : Regression with the same algorithm.
    sklearn_scinol.ScInOLClassifier : Has nothing to tune.
    sklearn_scinol.AdaImplicitClassifier : Is hardly sensitive to its parameter.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import maxabs_scale
    >>> from sklearn_scinol.baselines import BaselineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = maxabs_scale(X)
    >>> for rate in 0.01, 1, 100:
    ...     model = BaselineClassifier("ogd", loss="hinge", learning_rate=rate)
    ...     loss = model.partial_fit(X, y, classes=[0, 1]).cumulative_loss_ / len(y)
    ...     print(f"{rate:>6}: {loss:.2f}")
      0.01: 1.03
         1: 0.31
       100: 6.15
    """

    _own_constraints: dict = {
        "loss": [*OnlineClassifier._own_constraints["loss"], Instance("loss")]
    }

    def __init__(
        self,
        algorithm: Algorithm | tuple[Any, ...] = "ogd",
        *,
        loss: ClassificationLoss | tuple[Any, ...] = "log_loss",
        learning_rate: float = 1.0,
        normalizer: Literal["sum", "mean"] = "sum",
        radius: float | None = None,
        kernel: KernelLike = "linear",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        max_support: int | None = None,
        center: bool | Literal["auto"] = False,
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
        self.algorithm = algorithm
        self.loss = loss
        self.learning_rate = learning_rate
        self.normalizer = normalizer
        self.radius = radius
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.max_support = max_support
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
class BaselineRegressor(_Baseline, LinearRegressor):
    r"""Linear regression by a competitor from the literature.

    Parameters
    ----------
    loss : {%(losses)s} or loss, default="absolute_error"
        A :class:`~sklearn_scinol.losses.Loss` or a name, see
        :doc:`/user_guide/fitting`.

    See Also
    --------
    BaselineClassifier : Classification with the same algorithm.
    sklearn_scinol.ScInOLRegressor : Has nothing to tune.
    sklearn_scinol.AdaImplicitRegressor : Is hardly sensitive to its parameter.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_scinol.baselines import BaselineRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> for rate in 0.1, 1, 100:
    ...     model = BaselineRegressor("ogd", learning_rate=rate, scale=True)
    ...     print(f"{rate:>4}: {model.partial_fit(X, y).cumulative_loss_ / len(y):.0f}")
     0.1: 48
       1: 68
     100: 3707
    """

    _own_constraints: dict = {
        "loss": [*OnlineRegressor._own_constraints["loss"], Instance("loss")]
    }

    def __init__(
        self,
        algorithm: Algorithm | tuple[Any, ...] = "ogd",
        *,
        loss: RegressionLoss | tuple[Any, ...] = "absolute_error",
        learning_rate: float = 1.0,
        normalizer: Literal["sum", "mean"] = "sum",
        radius: float | None = None,
        kernel: KernelLike = "linear",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        max_support: int | None = None,
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
        self.algorithm = algorithm
        self.loss = loss
        self.learning_rate = learning_rate
        self.normalizer = normalizer
        self.radius = radius
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.max_support = max_support
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
