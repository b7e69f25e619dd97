"""Kernels in estimators: their parameters and attributes."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from .._docstrings import described_as
from .._typing import MatrixLike, available_if
from .._validation import check_finite
from ..models.kernel import Kernel, KernelModel
from ..models.linear import LinearModel
from .linear import _has_bound, _Linear


class KernelMethods:
    """Mixin for linear estimators that can learn with kernels.

    With any kernel but "linear" the model is a :class:`KernelModel`.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient; "scale": 1 / (n_features × variance of the first chunk),
        "auto": 1 / n_features.
    degree : float, default=3
        Degree of the kernel "poly".
    coef0 : float, default=1
        Constant in the kernels "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    max_support : int, default=None
        Maximum number of rows to store with a kernel; later ones are projected.

    Attributes
    ----------
    support_
    support_vectors_
    dual_coef_
    gamma_
    """

    _own_constraints: dict = {
        "kernel": [StrOptions({*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}), callable],
        "gamma": [
            StrOptions({"scale", "auto"}),
            Interval(Real, 0, None, closed="left"),
        ],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "max_support": [Interval(Integral, 1, None, closed="left"), None],
    }

    _model_types = LinearModel, KernelModel

    @property
    def _has_kernel(self):
        return self._as_learned("kernel") != "linear"

    def _centers(self, X):
        return not self._has_kernel and super()._centers(X)

    def _make_model(self, X, *arguments, **keywords):
        if not self._has_kernel:
            return super()._make_model(X, *arguments, **keywords)
        for name in ("center", "scale", "standardize_target", "additive", "clip_ratio"):
            if getattr(self, name, None) not in ("auto", False, None):
                off = None if name == "clip_ratio" else False
                raise ValueError(
                    f"{name} must be {off} with a kernel other than 'linear'."
                )
        if self.kernel == "precomputed" and self.max_support is not None:
            raise ValueError(
                "max_support must be None with kernel='precomputed', of which all of "
                "the kernel matrix is in memory already."
            )
        return KernelModel(
            *arguments,
            kernel=self._make_kernel(X),
            max_support=self.max_support,
            is_sparse=sparse.issparse(X),
            **keywords,
        )

    def _make_kernel(self, X):
        if self.kernel == "precomputed":
            return None
        if callable(self.kernel):
            return Kernel(self.kernel, self.kernel_params or {})
        parameters = {
            "gamma": self._scale(X) if isinstance(self.gamma, str) else self.gamma,
            "degree": self.degree,
            "coef0": self.coef0,
        }
        return Kernel(self.kernel, parameters)

    def _scale(self, X):
        if self.gamma == "auto":
            return 1.0 / X.shape[1]
        with np.errstate(all="ignore"):  # values that will be refused
            if sparse.issparse(X):
                variance = X.multiply(X).mean() - X.mean() ** 2
            else:
                variance = X.var()
            scale = 1.0 / np.float64(X.shape[1] * variance)
        return scale if np.isfinite(scale) else 1.0  # as for constant features

    def _validate(self, X, *arguments, **keywords):
        chunk = super()._validate(X, *arguments, **keywords)
        if self._has_kernel and not sparse.issparse(chunk.X):
            check_finite(chunk.X, type(self).__name__)
        elif self._as_learned("kernel") == "precomputed":
            raise ValueError("Sparse precomputed kernels are not supported.")
        return chunk

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients of the features, without a kernel."""
        if self._has_kernel:
            raise AttributeError("coef_ is only available when using a linear kernel")
        return super().coef_

    @property
    def support_(self) -> NDArray[np.intp]:
        """Numbers of the rows that are stored: shape (n_support,).

        Rows count in the order in which they came to :meth:`partial_fit`, or have in
        the `X` of :meth:`fit`.
        """
        return self._kernel_model("support_").support.rows.copy()

    @property
    def support_vectors_(self) -> NDArray[np.float64] | sparse.csr_array:
        """Stored rows: shape (n_support, n_features), no columns if precomputed."""
        return self._kernel_model("support_vectors_").vectors.rows.copy()

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Coefficients of the stored rows: shape (n_outputs, n_support)."""
        return self._kernel_model("dual_coef_").coefficients()[0]

    @property
    def gamma_(self) -> float:
        """Value of `gamma`, for kernels that have a name."""
        kernel = self._kernel_model("gamma_").kernel
        if kernel is None or not isinstance(kernel.metric, str):
            raise AttributeError("gamma_ is only available with a kernel of a name")
        return kernel.parameters["gamma"]

    def _kernel_model(self, attribute):
        if not self._has_kernel:
            raise AttributeError(f"{attribute} is not available with kernel='linear'")
        return self._fitted_model()

    @available_if(_has_bound)
    @described_as(_Linear.regret_bound)
    def regret_bound(
        self,
        coef: ArrayLike,
        intercept: ArrayLike = 0.0,
        *,
        vectors: MatrixLike | None = None,
    ) -> float:
        """Bound on the regret against a model, on the rows learned so far.

        `cumulative_loss_` minus the total loss of the model on the same rows, with the
        same weights, is at most this, up to rounding. After :meth:`fit` the rows of
        all epochs count. The user guide has the formula, and says against which
        models it holds with `max_support`.

        Parameters
        ----------
        coef : array-like of shape (n_features,) or (n_outputs, n_features)
            Weights of the model to compare with; one row an output (two classes have
            one). With a kernel, its coefficients of `vectors`, as `dual_coef_` has
            them.
        vectors : {array-like, sparse matrix} of shape (n_vectors, n_features), \
                default=None
            With a kernel, the rows that `coef` belongs to, by default
            `support_vectors_`. With a precomputed one, their kernel matrix.
        """
        model = self._fitted_model()
        if not isinstance(model, KernelModel):
            if vectors is not None:
                raise ValueError("vectors must be None with kernel='linear'.")
            return super().regret_bound(coef, intercept)
        if vectors is None:
            if model.kernel is None:
                raise ValueError("vectors must be given with kernel='precomputed'.")
            rows = model.vectors.rows
        else:
            rows = check_array(vectors, accept_sparse="csr", dtype=np.float64)
        n = rows.shape[0]
        expected = (n, n if model.kernel is None else model.n_features)
        if rows.shape != expected:
            raise ValueError(f"vectors.shape == {rows.shape}, expected {expected}!")
        weights, intercepts = self._check_comparator(coef, intercept, n)
        squares = np.zeros(len(weights))
        with np.errstate(all="ignore"):  # the norm of a large model may be infinite
            if n > 0:
                k = rows if model.kernel is None else model.kernel(rows)
                squares = ((weights @ k) * weights).sum(axis=1)
            norms = np.hypot(np.sqrt(np.maximum(squares, 0)), intercepts)
        return model.regret_bound(norms)
