"""What the estimators of linear models share: their parameters and coefficients."""

from abc import abstractmethod
from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from ._base import OnlineClassifier, OnlineRegressor
from ._model import LinearModel

__all__ = ["LinearClassifier", "LinearRegressor", "bounds_regret"]


def bounds_regret(estimator):
    """Whether a bound on the regret is known of what the estimator does."""
    # Bounds are for a target in units that do not change.
    standardizes = getattr(estimator, "standardize_target", False)
    return estimator._bounds_regret and not standardizes


class _Linear:
    """For a base before :class:`OnlineClassifier` or :class:`OnlineRegressor`."""

    _linear_constraints = {
        "center": ["boolean", StrOptions({"auto"})],
        "scale": ["boolean"],
        "fit_intercept": ["boolean"],
        "average": [Interval(Integral, 0, None, closed="left"), "boolean"],
    }

    # What the subclasses give.

    _bounds_regret = True

    @abstractmethod
    def _make_learner(self, loss):
        """Learner with the hyperparameters of the estimator."""

    def _start(self, X):
        loss = self._make_loss()
        self._model = self._make_model(
            X,
            self._make_learner(loss),
            loss,
            n_features=X.shape[1],
            n_outputs=self._n_outputs(),
            fit_intercept=self.fit_intercept,
            average=int(self.average),
        )

    def _make_model(self, X, *arguments, **keywords):
        """Model before the first row; `X` has the first rows."""
        center = not sparse.issparse(X) if self.center == "auto" else self.center
        return LinearModel(
            *arguments,
            center=bool(center),
            scale=bool(self.scale),
            standardize_target=bool(getattr(self, "standardize_target", False)),
            **keywords,
        )

    def _validate(self, X, y, sample_weight, reset, classes=None):
        X, y, sample_weight = super()._validate(X, y, sample_weight, reset, classes)
        if sparse.issparse(X) and self.center not in ("auto", False):
            raise ValueError(
                "Cannot center sparse matrices: pass `center=False` or "
                "`center='auto'` instead."
            )
        return X, y, sample_weight

    @property
    def intercept_(self):
        """Intercepts, in the units of the features: shape (n_outputs,)."""
        return self._fitted_model().coefficients()[1]

    @available_if(bounds_regret)
    def regret_bound(self, coef, intercept=0.0):
        """Bound on the regret against a linear model, on the rows learned so far.

        The total loss of the predictions made, each before its row was learned, exceeds
        that of the model by at most this: `cumulative_loss_` minus the comparator's
        total loss is never larger, whatever the rows. With centring or scaling the
        comparator acts on rows so transformed. The class's notes say whose theorem that
        is.

        Parameters
        ----------
        coef : array-like of shape (n_features,) or (n_outputs, n_features)
            Weights of the comparator; one row an output (two classes have one).
        intercept : float or array-like of shape (n_outputs,), default=0.0
            Intercepts of the comparator.

        Returns
        -------
        bound : float
            In the units of the loss.

        Raises
        ------
        ValueError
            If shapes do not fit, or the model has no intercept and `intercept` is not
            zero.
        """
        model = self._fitted_model()
        return model.regret_bound(
            *self._check_comparator(coef, intercept, model.n_features)
        )

    def _check_comparator(self, coef, intercept, n_columns):
        """Coefficients of shape (n_outputs, n_columns), and intercepts."""
        model = self._model
        coef = check_array(
            coef,
            ensure_2d=False,
            ensure_min_samples=0,
            ensure_min_features=0,
            dtype=np.float64,
            input_name="coef",
        )
        expected = (model.n_outputs, n_columns)
        if coef.shape != expected and (
            model.n_outputs > 1 or coef.shape != expected[1:]
        ):
            raise ValueError(f"coef.shape == {coef.shape}, expected {expected}!")
        intercept = np.array(intercept, dtype=np.float64)
        if intercept.shape not in [(), (1,), expected[:1]]:
            raise ValueError(
                f"intercept.shape == {intercept.shape}, expected {expected[:1]}!"
            )
        if not model.fit_intercept and intercept.any():
            raise ValueError("intercept must be 0 where fit_intercept=False.")
        return coef.reshape(expected), np.broadcast_to(intercept, expected[:1])


class LinearClassifier(_Linear, OnlineClassifier):
    """Base of the linear classifiers."""

    _parameter_constraints: dict = {
        **OnlineClassifier._parameter_constraints,
        **_Linear._linear_constraints,
    }

    @property
    def coef_(self):
        """Weights in the units of the features: shape (1 or n_classes, n_features)."""
        return self._fitted_model().coefficients()[0]


class LinearRegressor(_Linear, OnlineRegressor):
    """Base of the linear regressors."""

    _parameter_constraints: dict = {
        **OnlineRegressor._parameter_constraints,
        **_Linear._linear_constraints,
    }

    @property
    def coef_(self):
        """Weights in the units of the features.

        Of shape (n_features,), or (n_outputs, n_features) if `y` had two dimensions.
        """
        coef = self._fitted_model().coefficients()[0]
        return coef if self._output_shape else coef[0]
