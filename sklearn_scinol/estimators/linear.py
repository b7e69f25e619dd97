"""Base of the linear estimators: parameters, coefficients and regret bounds."""

from __future__ import annotations

from abc import abstractmethod
from itertools import compress
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from .._hyperparameters import is_value
from .._typing import available_if
from ..learners.interface import traits
from ..losses.methods import is_by_output
from ..models.additive import AdditiveModel
from ..models.linear import LinearModel
from ..models.random_features import RandomFeaturesModel
from ..transforms.features import FeatureTransform
from ..transforms.targets import TargetTransform
from .classifier import OnlineClassifier
from .parameters import MAX_PARAMETER
from .regressor import OnlineRegressor

ABOVE_ONE = Interval(Real, 1, None, closed="neither")


def _has_bound(estimator):
    """Whether a bound on the regret is proved; AttributeError says why not.

    The algorithm must have a bound, and learn rows and targets as they are. A row that
    is centred or scaled is changed by another mean or deviation than the row before, so
    that no fixed model of raw rows is a fixed model of the rows learned. The fitted
    model decides, or before there is one the parameters.
    """
    is_fitted = estimator.__sklearn_is_fitted__()
    has_bound = (
        estimator._model.bounds_regret if is_fitted else estimator._bounds_regret
    )
    if not has_bound:
        raise AttributeError("No bound is known for its algorithm.")
    check_learned_in_order(estimator)
    if changes := _changing_parameters(estimator):
        off = {"random_features": None}
        instead = ", ".join(f"`{name}={off.get(name, False)}`" for name in changes)
        verb = "fit with" if is_fitted else "pass"
        raise AttributeError(
            "The bound holds for rows and targets that are learned as they are: "
            f"{verb} {instead}."
        )
    return True


def check_learned_in_order(estimator, model=None):
    """Raise AttributeError if the model was merged, or learned late labels.

    `model` is that of the estimator, or part of it.
    """
    if not estimator.__sklearn_is_fitted__():
        return
    model = model or estimator._model
    if model.is_merged:
        raise AttributeError(
            "The bound on the regret holds for each of the models that it was merged "
            "from."
        )
    if model.is_late[0]:
        raise AttributeError(
            "The bound on the regret is for labels that come before the next row."
        )


def _changing_parameters(estimator):
    """Return the parameters that change rows or targets before they are learned."""

    def is_on(name):
        return getattr(estimator, name, None) not in ("auto", False, None)

    names = "center", "scale", "standardize_target", "additive", "random_features"
    if not estimator.__sklearn_is_fitted__():
        return [*filter(is_on, names)]
    model = estimator._model
    if not isinstance(model, LinearModel):  # with a kernel
        return []
    centers, target = model.features.center, getattr(estimator, "standardize_target", 0)
    found = (
        centers,
        model.features.scale,
        # "auto" does so only where features are centred.
        model.target is not None and not (target == "auto" and centers),
        isinstance(model, AdditiveModel),
        isinstance(model, RandomFeaturesModel),
    )
    return [*compress(names, found)]


class _Linear:
    """Mixin for :class:`OnlineClassifier` and :class:`OnlineRegressor`.

    Parameters
    ----------
    center : {"auto", True, False}, default="auto"
        Whether to subtract each feature's running mean; "auto": where rows are dense.
    scale : bool, default=False
        Whether to divide each feature by its running standard deviation.
    clip_ratio : float, default=None
        Clip values to ±`clip_ratio` × the feature's largest absolute value so far.
    fit_intercept : bool, default=True
        Whether there is an intercept: a constant feature 1 with its own coordinate.
    early_stopping : bool, default=False
        Whether :meth:`fit` stops by the loss of held-out rows, and learns them last.
    validation_fraction : float, default=0.1
        Share of the rows that `early_stopping` holds out.
    average : bool or int, default=False
        Whether to predict with averaged weights; an int: averaged from that row on.
    moment_forgetting : float, default=0.0
        Share of its weight in means and deviations that a row loses per later row,
        dense or sparse; matters where features are centred or scaled. If they are
        scaled, `coef_` is for rows near the means only.

    Attributes
    ----------
    validation_loss_curve_ : list of float
        Mean loss of the held-out rows after each epoch, if any were held out.
    coef_
    intercept_
    """

    _own_constraints: dict = {
        "center": ["boolean", StrOptions({"auto"})],
        "scale": ["boolean"],
        "clip_ratio": [ABOVE_ONE, None],
        "fit_intercept": ["boolean"],
        "average": [Interval(Integral, 0, None, closed="left"), "boolean"],
    }

    # To be defined by subclasses.

    _model: Any
    # Whether sparse rows are made dense in any case, and so can be centred.
    _makes_dense = False
    _model_type: Any = LinearModel
    _model_types: tuple[type, ...] = (LinearModel,)

    # Whether a regret bound is known for the parameters.
    _bounds_regret: Any = True

    @abstractmethod
    def _make_learner(self, lipschitz):
        """Return the learner of the estimator, for a loss of a Lipschitz constant.

        It is that of the loss as the learner sees it, or one for each output.
        """

    def _centers(self, X):
        """Whether features are centred; the first rows, `X`, decide with "auto"."""
        return not sparse.issparse(X) if self.center == "auto" else bool(self.center)

    def _standardizes_target(self, X):
        """Whether the target is standardised; "auto": where features are centred."""
        standardizes = getattr(self, "standardize_target", False)
        return self._centers(X) if standardizes == "auto" else bool(standardizes)

    def _new_model(self, X, loss):
        lipschitz = loss.lipschitz
        if is_by_output(loss) and not self._standardizes_target(X):
            lipschitz = loss.lipschitz_by_output
        elif np.isfinite(lipschitz):
            if self._standardizes_target(X):
                lipschitz = 1.0
            elif lipschitz > MAX_PARAMETER:
                name = "lipschitz" if is_value(self.loss) else "epsilon"
                raise ValueError(
                    f"{name} == {lipschitz:g} with loss={self.loss!r}, must be <= "
                    f"{MAX_PARAMETER:g} unless the target is standardised."
                )
        return self._make_model(
            X,
            self._make_learner(lipschitz),
            loss,
            X.shape[1],
            self._n_outputs(loss),
            fit_intercept=self.fit_intercept,
            average=int(getattr(self, "average", False)),
        )

    def _make_model(
        self, X, learner, loss, n_features, n_outputs, features=None, **keywords
    ):
        """Create the model before it learns `X`, the first rows."""
        if features is None:
            features = FeatureTransform(
                n_features,
                center=self._centers(X),
                scale=bool(self.scale),
                in_units=self.scale or traits(type(learner)).scale_invariant,
                clip_ratio=self.clip_ratio,
                forgetting=float(getattr(self, "moment_forgetting", 0.0)),
            )
        target = None
        if self._standardizes_target(X):
            target = TargetTransform(
                n_outputs, unit_free=bool(np.isfinite(loss.lipschitz))
            )
        model_type = self._model_type
        if getattr(self, "additive", False):
            has = traits(type(learner))
            if has.touches_all or has.by_vector:
                raise ValueError(
                    f"additive must be False with algorithm={self.algorithm!r}."
                )
            model_type = AdditiveModel
        return model_type(
            learner,
            loss,
            n_features,
            n_outputs,
            features=features,
            target=target,
            **keywords,
        )

    def _validate(self, X, *arguments, **keywords):
        chunk = super()._validate(X, *arguments, **keywords)
        makes_dense = self._makes_dense or getattr(self, "additive", False)
        can_center = makes_dense or not sparse.issparse(chunk.X)
        if not can_center and self.center not in ("auto", False):
            raise ValueError(
                "Cannot center sparse matrices: pass `center=False` or "
                "`center='auto'` instead."
            )
        return chunk

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights in the units of the features: shape (n_outputs, n_features).

        Of classifiers of two classes n_outputs is 1. Of regressors the shape is
        (n_features,), unless `y` had two dimensions or `quantile` is a list.
        """
        coef = self._coefficients("coef_")[0]
        return coef[0] if self._is_flat else coef

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts, in the units of the features: shape (n_outputs,)."""
        return self._coefficients("intercept_")[1]

    def _coefficients(self, attribute):
        """Return weights and intercepts, in the units of the features."""
        model = self._fitted_model()
        if isinstance(model, AdditiveModel):
            raise AttributeError(
                f"This {type(self).__name__!r} has no attribute {attribute!r}, since "
                "it is additive: see `plot_terms`."
            )
        return model.coefficients()

    @available_if(_has_bound)
    def regret_bound(self, coef: ArrayLike, intercept: ArrayLike = 0.0) -> float:
        """Bound on the regret against a linear model, on the rows learned so far.

        `cumulative_loss_` minus the total loss of the model on the same rows, with the
        same weights, is at most this, up to rounding. After :meth:`fit` the rows of
        all epochs count. The user guide has the formula.

        Parameters
        ----------
        coef : array-like of shape (n_features,) or (n_outputs, n_features)
            Weights of the model to compare with; one row an output (two classes have
            one).
        intercept : float or array-like of shape (n_outputs,), default=0.0
            Its intercepts.

        Returns
        -------
        bound : float
            In the units of the loss.

        Raises
        ------
        AttributeError
            If the model centres, scales, standardises or is additive, if it was merged
            or learned late labels, or no bound is known of its algorithm.
        ValueError
            If shapes do not fit, or the model has no intercept and `intercept` is not
            zero.

        Notes
        -----
        The method does not exist where features were centred or scaled, or the target
        standardised: each row is then changed by another mean and deviation, so that no
        bound is known against a fixed model of the rows as they are. Pass
        ``center=False``, which with sparse rows is what "auto" means. Once values have
        been clipped, the bound is infinite.

        With ``new_classes="add"`` the model is charged, at each row, for the classes
        known there only: its scores of the others are left out. In one versus rest it
        is charged for both of two classes.

        With `average` the bound is the same. It holds for the algorithm's own
        predictions, which `cumulative_loss_` counts, and not for predictions by
        averaged weights, which :meth:`partial_fit_predict` returns.
        """
        model = self._fitted_model()
        return model.regret_bound(
            *self._check_comparator(coef, intercept, model.n_features)
        )

    def _check_comparator(self, coef, intercept, n_columns):
        """Validate coefficients, of shape (n_outputs, n_columns), and intercepts."""
        model, n_outputs = self._model, self._model.n_outputs
        coef = check_array(
            coef,
            ensure_2d=False,
            ensure_min_samples=0,
            ensure_min_features=0,
            dtype=np.float64,
            input_name="coef",
        )
        expected = (n_outputs, n_columns)
        if coef.shape != expected and (n_outputs > 1 or coef.shape != expected[1:]):
            raise ValueError(f"coef.shape == {coef.shape}, expected {expected}!")
        intercept = np.array(intercept, dtype=np.float64)
        if intercept.shape not in [(), (1,), expected[:1]]:
            raise ValueError(
                f"intercept.shape == {intercept.shape}, expected {expected[:1]}!"
            )
        if not model.fit_intercept and intercept.any():
            raise ValueError("intercept must be 0 where fit_intercept=False.")
        coef = coef.reshape(expected)
        intercept = np.broadcast_to(intercept, expected[:1])
        if model.reference is not None:  # of a joint loss, which sees differences
            coef = coef - coef[model.reference]
            intercept = intercept - intercept[model.reference]
        return coef, intercept


class LinearClassifier(_Linear, OnlineClassifier):
    """Base of linear classifiers."""

    _is_flat = False


class LinearRegressor(_Linear, OnlineRegressor):
    """Base of linear regressors.

    Parameters
    ----------
    standardize_target : {"auto", True, False}, default="auto"
        Whether to learn the target in running standard deviations from its mean;
        "auto": where features are centred.
    """

    _own_constraints: dict = {"standardize_target": ["boolean", StrOptions({"auto"})]}
