"""Validation of the parameters, rows and targets that estimators are given."""

import inspect

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from .._hyperparameters import with_plain_numbers
from .._validation import NamedChunk, add_advice, check_has_values, check_sparse_indices
from ..losses import CLASSIFICATION, REGRESSION
from ..losses.interface import check_is_loss
from ..models.model import Chunk
from ..tables.frames import check_not_missing

# scikit-learn 1.9 refuses weights that are all zero unless this is passed.
ALLOW_ZERO_WEIGHTS = (
    {"allow_all_zero_weights": True}
    if "allow_all_zero_weights" in inspect.signature(_check_sample_weight).parameters
    else {}
)


def too_wide_error(estimator, features, part, limit):
    """Return the error for features that make a part of a model too large."""
    narrow = "ScInOLClassifier" if is_classifier(estimator) else "ScInOLRegressor"
    return ValueError(
        f"{features} are too many for {type(estimator).__name__}: {part} would be more "
        f"than {limit} numbers; use {narrow} instead."
    )


class ValidationMixin:
    """Validate what users pass to an :class:`OnlineEstimator`."""

    _reads = "numbers"  # in rows with names, see `read_row`

    def _check_method(self, method):
        if method not in self._METHODS:
            raise ValueError(f"method must be one of {self._METHODS}, got {method!r}.")
        getattr(self, method)

    def _check_first_call(self, first_call, classes, y=None, where=""):
        """Check the classes passed to `partial_fit`; nothing in regression."""

    def _shape_error(self, y):
        """Return the error for targets with another number of outputs than before."""
        expected = (y.shape[0], *self._output_shape)
        return ValueError(f"y.shape == {y.shape}, expected {expected}!")

    def _validate_params(self):
        try:
            with np.errstate(over="ignore"):  # limits above those of single precision
                super()._validate_params()
        except InvalidParameterError as error:
            losses = [*CLASSIFICATION, *REGRESSION]
            if "The 'loss' parameter" in str(error) and self.loss in losses:
                error.args = (f"{error} {self._suggest_estimators()}",)
            raise

    def _suggest_estimators(self):
        """Return a message that names estimators that take the loss."""
        kinds = ["Regressor", "Classifier"][:: 1 if is_classifier(self) else -1]
        if self.loss in [*(CLASSIFICATION if is_classifier(self) else REGRESSION)]:
            kind = kinds[1]
            other = f"OnlineNewton{kind}, AdaImplicit{kind} and Hedge{kind}"
        else:
            other = f"{kinds[0].lower()}s, for instance of Hedge{kinds[0]}"
        return f"{self.loss!r} is a loss of {other}."

    def _custom_loss(self):
        """Return the loss that was passed itself, instead of a name."""
        check_is_loss(type(self.loss))
        if bool(self.loss.is_classification) != is_classifier(self):
            raise ValueError(self._suggest_estimators())
        loss = with_plain_numbers(self.loss)
        if not loss.lipschitz > 0.0:
            raise ValueError(f"lipschitz == {loss.lipschitz} of {loss!r}, must be > 0.")
        return loss

    def _validate(self, X, y, sample_weight, reset, classes=None, row_by_row=True):
        if reset or not (
            self._has_validated_layout(X) and self._has_numeric_targets(X, y)
        ):
            check_has_values(X=X, y=y)
            check_not_missing(y)
            check_sparse_indices(X)
            given = X
            with add_advice(X, type(self).__name__):
                X, y = validate_data(
                    self,
                    X,
                    y,
                    reset=reset,
                    accept_sparse="csr",
                    dtype=[np.float64, np.float32],
                    ensure_all_finite=False,  # see transforms/ranges.py
                    **self._target_checks(y, reset),
                )
            NamedChunk.name_features(self, given)
        X = _as_canonical(X)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, X)
        rest = self._validate_target(y, sample_weight, reset, classes, row_by_row)
        return Chunk(X, *rest)

    # scikit-learn's checks take longer than learning a row. Arrays as below pass them
    # unchanged.

    def _has_validated_layout(self, X):
        """Whether X has the validated type and width."""
        is_csr = sparse.issparse(X) and X.format == "csr"
        return (
            (type(X) is np.ndarray or is_csr)
            and X.dtype in (np.float64, np.float32)
            and X.ndim == 2
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
        )

    def _has_numeric_targets(self, X, y):
        """Whether targets are finite numbers, one a row."""
        return (
            type(y) is np.ndarray
            and y.shape == X.shape[:1]
            and (y.dtype.kind in "biu" or (y.dtype.kind == "f" and are_finite(y)))
        )

    def _validate_rows(self, X):
        """Validate rows to predict."""
        if not self.__sklearn_is_fitted__():  # the rest of the check takes longer
            check_is_fitted(self)
        if self._has_validated_layout(X) and are_finite(
            X.data if sparse.issparse(X) else X
        ):
            return _as_canonical(X)
        check_has_values(X=X)
        check_sparse_indices(X)
        with add_advice(X, type(self).__name__):
            X = validate_data(
                self,
                X,
                reset=False,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
            )
        return _as_canonical(X)


def check_weights(sample_weight, X):
    """Validate the weights of rows, which may all be zero; None stands for ones."""
    check_has_values(sample_weight=sample_weight)
    return _check_sample_weight(
        sample_weight,
        X,
        dtype=np.float64,
        ensure_non_negative=True,
        **ALLOW_ZERO_WEIGHTS,
    )


def are_finite(values):
    """Whether all numbers of an array are finite."""
    return bool(np.isfinite(values).all())


def _as_canonical(X):
    """Return rows without duplicate indices: `X` itself, or a copy if it has any.

    Raise ValueError if indices of sparse rows are invalid.
    """
    if sparse.issparse(X):
        X.check_format(full_check=True)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X
