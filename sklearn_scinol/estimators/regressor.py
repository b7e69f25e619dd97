"""Base of all regressors: targets of one or several outputs."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from .._docstrings import described_as
from .._hyperparameters import is_value
from .._locks import reads
from .._typing import MatrixLike, SampleWeight, _fit_context
from .._validation import last_step
from ..losses import REGRESSION, Quantile
from ..losses.methods import is_by_output
from .online_estimator import OnlineEstimator
from .parameters import PROBABILITIES
from .validation import are_finite

#: Limit of targets: their squares, and sums of squares, are finite.
MAX_TARGET = 1e100


def check_size(y):
    """Refuse targets that are too large."""
    if np.abs(y).max() > MAX_TARGET:
        raise ValueError(
            f"Input y contains a value that is too large: above {MAX_TARGET:g}."
        )


class OnlineRegressor(RegressorMixin, OnlineEstimator):
    """Base of regressors that learn from a stream.

    Parameters
    ----------
    loss : {%(losses)s}, default="absolute_error"
        Loss of the predictions, see :doc:`/user_guide/fitting`.
    epsilon : float, default=0.1
        Threshold of "huber" and "epsilon_insensitive", in units of the target: choose
        the size of usual errors. Where errors are larger, they act as "absolute_error".
    quantile : float or array-like of shape (n_quantiles,), default=0.5
        The quantile of the loss "quantile", between 0 and 1, or several of them in
        ascending order: predictions then have a column for each, and do not cross.
    """

    _own_constraints: dict = {
        "loss": [StrOptions(set(REGRESSION))],
        "epsilon": [Interval(Real, 0, MAX_TARGET, closed="both")],
        "quantile": PROBABILITIES,
    }
    _METHODS = ("predict",)

    @_fit_context(prefer_skip_nested_validation=True)
    @described_as(OnlineEstimator.fit)
    def partial_fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: SampleWeight = None
    ) -> Self:
        """Learn from the rows in order, each once."""
        self._partial_fit(X, y, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @described_as(partial_fit)
    def partial_fit_predict(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sample_weight: SampleWeight = None,
        method: Literal["predict"] = "predict",
    ) -> NDArray[np.float64]:
        """Predict each row, then learn from it.

        Parameters
        ----------
        method : {"predict"}, default="predict"
            For symmetry with the classifiers.

        Returns
        -------
        predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            As :meth:`predict` would give, each row's made before its target was used.
            With a list of quantiles there is a column for each, and `cumulative_loss_`
            counts the losses of predictions before they are sorted. With `average`
            these are predictions of averaged weights, while `cumulative_loss_` counts
            the losses of the algorithm's own.

        Raises
        ------
        ValueError
            As :meth:`partial_fit`, or if `method` is not one of these.
        """
        self._check_method(method)
        return self._partial_fit(X, y, sample_weight, method=method)

    @reads
    def predict(self, X: MatrixLike) -> NDArray[np.float64]:
        """Predict the targets of rows.

        For each row exactly what the algorithm would be charged for if the row came
        next: the linear model `coef_`, `intercept_`, unless the class's notes say more.
        With `average` it is what the averaged weights predict instead.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            In the units of the targets. With a list of quantiles there is a column for
            each. They do not cross: the predictions of a row are sorted [1]_, which
            never raises the sum of its losses.

        References
        ----------
        .. [1] V. Chernozhukov, I. Fernández-Val, A. Galichon. "Quantile and
           probability curves without crossing." Econometrica 78(3), 2010.
        """
        return self._to_output(self._decision(X), "predict")

    def score(
        self, X: MatrixLike, y: ArrayLike, sample_weight: SampleWeight = None
    ) -> float:
        """Return the coefficient of determination R^2 of predictions.

        With a list of quantiles, it is the mean over them of the share of the pinball
        loss that is explained, :func:`~sklearn.metrics.d2_pinball_score`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            At most 1, which is best. 0 is that of the best constants.
        """
        if not (self.__sklearn_is_fitted__() and is_by_output(self._model.loss)):
            return super().score(X, y, sample_weight)
        pairs = zip(self._model.loss.quantile, self.predict(X).T, strict=True)
        scores = [
            d2_pinball_score(y, of_level, sample_weight=sample_weight, alpha=level)
            for level, of_level in pairs
        ]
        return float(np.mean(scores))

    def _to_output(self, decision, method):
        if is_by_output(self._model.loss):
            return np.sort(decision, axis=1)
        return decision if self._output_shape else decision[:, 0]

    @property
    def _is_flat(self):
        """Whether predictions are of shape (n_samples,)."""
        return not (self._output_shape or is_by_output(self._model.loss))

    @property
    def _has_quantiles(self):
        """Whether a list of quantiles is to be learned."""
        quantile = getattr(self, "quantile", 0.5)
        return self.loss == "quantile" and not isinstance(quantile, Real)

    def _target_checks(self, y, reset):
        return {"multi_output": True, "y_numeric": True}

    def _validate_target(
        self, y, sample_weight, reset=False, classes=None, row_by_row=True
    ):
        # y may still be sparse, or have NaN among objects.
        if not (type(y) is np.ndarray and y.dtype == np.float64 and are_finite(y)):
            if y.dtype.kind in "Mm":
                raise TypeError("y has dates or durations: convert them to numbers.")
            with np.errstate(all="ignore"):
                y = check_array(y, ensure_2d=False, input_name="y", dtype=np.float64)
        if reset:
            if y.ndim > 1 and self._has_quantiles:
                raise ValueError(
                    f"y should be a 1d array, got an array of shape {y.shape} instead: "
                    "a list of quantiles is of one target."
                )
            self._output_shape = y.shape[1:]
        check_size(y)
        outputs = y.reshape(y.shape[0], -1)
        if outputs.shape[1] != self._n_outputs():
            raise self._shape_error(y)
        return outputs, sample_weight

    def _row_target_converter(self):
        def number(y):
            if isinstance(y, np.floating):  # in single precision the limit is infinite
                y = float(y)
            if isinstance(y, Real) and -MAX_TARGET <= y <= MAX_TARGET:
                return float(y)
            return None

        def numbers(y):
            if np.ma.is_masked(y):
                return None
            y = np.asarray(y)
            if y.shape != self._output_shape or y.dtype.kind not in "fiub":
                return None
            y = y.astype(np.float64, copy=False)
            return y if np.abs(y).max() <= MAX_TARGET else None

        return numbers if self._output_shape else number

    def _make_loss(self):
        if is_value(self.loss):
            return self._custom_loss()
        if self._has_quantiles:
            return Quantile(np.array(self.quantile, dtype=np.float64))
        loss_type = REGRESSION[self.loss]
        loss = loss_type(*(float(getattr(self, name)) for name in loss_type._fields))
        if loss.lipschitz == 0:
            raise ValueError(f"epsilon == 0 with loss={self.loss!r}, must be > 0.")
        return loss

    def _n_outputs(self, loss=None):
        if loss is not None and is_by_output(loss):
            return len(loss.quantile)
        return self._output_shape[0] if self._output_shape else 1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = not self._has_quantiles
        return tags


class PredictsDeviations:
    """Mixin for regressors that know how far targets are from their predictions."""

    @abstractmethod
    def _decision_and_deviations(self, X):
        """Return predictions for validated rows, and deviations of the targets."""

    @overload
    def predict(
        self, X: MatrixLike, return_std: Literal[False] = False
    ) -> NDArray[np.float64]: ...

    @overload
    def predict(
        self, X: MatrixLike, return_std: Literal[True]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    @reads
    def predict(
        self, X: MatrixLike, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Predict the targets of rows.

        For each row exactly what the model would be charged for if the row came next.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return the standard deviations of the targets around their
            predictions, too.

        Returns
        -------
        predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            In the units of the targets.
        deviations : ndarray of the same shape
            Only if `return_std`: see the notes of the class.
        """
        X = self._validate_rows(X)
        if not return_std:
            return self._to_output(self._decision_of_validated(X), "predict")
        decision, deviations = self._decision_and_deviations(X)
        predictions = self._to_output(decision, "predict")
        if is_by_output(self._model.loss):  # as predictions are sorted
            order = np.argsort(decision, axis=1, kind="stable")
            return predictions, np.take_along_axis(deviations, order, axis=1)
        return predictions, self._to_output(deviations, "predict")


def with_quantiles(estimator):
    """Return the estimator, or the last step of a pipeline, that learns a list.

    None if it learns no list of quantiles.
    """
    last = last_step(estimator)
    return last if getattr(last, "_has_quantiles", False) else None
