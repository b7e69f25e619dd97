"""Types of common arguments, and typed decorators of scikit-learn."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

# Data.

#: Rows of features: arrays, frames, tables and sparse matrices.
MatrixLike: TypeAlias = ArrayLike | sparse.spmatrix | sparse.sparray
#: Rows of tables with columns of all kinds.
TableLike: TypeAlias = MatrixLike | Sequence[Mapping[str, Any]]
#: Labels of rows, or all classes.
Labels: TypeAlias = ArrayLike
SampleWeight: TypeAlias = ArrayLike | None
#: Prediction of one row: a label of any type, a number, or an array.
Prediction: TypeAlias = Any
#: An array or a CSR array, or a frame that `set_output` asks for.
Transformed: TypeAlias = Any

# Parameters.

ClassificationLoss: TypeAlias = Literal["log_loss", "hinge", "squared_hinge"]
#: Losses of regression with bounded gradients.
LipschitzLoss: TypeAlias = Literal[
    "absolute_error", "epsilon_insensitive", "huber", "quantile"
]
RegressionLoss: TypeAlias = LipschitzLoss | Literal["squared_error"]
#: A quantile, or several in ascending order.
Quantiles: TypeAlias = float | ArrayLike
ClassWeight: TypeAlias = dict[Any, float] | Literal["balanced"] | None
RandomState: TypeAlias = int | np.random.RandomState | None
KernelLike: TypeAlias = (
    Literal["additive_chi2", "chi2", "cosine", "laplacian", "linear"]
    | Literal["poly", "polynomial", "precomputed", "rbf", "sigmoid"]
    | Callable[..., float]
)
#: Methods by which a classifier predicts.
Method: TypeAlias = Literal[
    "predict", "decision_function", "predict_proba", "predict_log_proba"
]

#: Class of an estimator that is passed and returned.
Estimator = TypeVar("Estimator")

# Decorated functions keep their types.

if TYPE_CHECKING:
    Function = TypeVar("Function", bound=Callable[..., Any])

    def _fit_context(
        *, prefer_skip_nested_validation: bool
    ) -> Callable[[Function], Function]: ...

    def available_if(
        check: Callable[[Any], bool],
    ) -> Callable[[Function], Function]: ...

    def validate_params(
        parameter_constraints: dict[str, Any], *, prefer_skip_nested_validation: bool
    ) -> Callable[[Function], Function]: ...

else:
    from sklearn.base import _fit_context
    from sklearn.utils._param_validation import validate_params
    from sklearn.utils.metaestimators import available_if
