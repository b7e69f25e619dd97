"""Base of estimators whose `fit` learns each row once, in order."""

from numbers import Integral
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from .._typing import MatrixLike, SampleWeight

__all__ = ["COUNT", "OnePassMixin"]

COUNT = Interval(Integral, 1, None, closed="left")


class OnePass(NamedTuple):
    """Parameters of `fit` that learns rows once, in order."""

    max_iter: int = 1
    tol: float | None = None
    early_stopping: bool = False
    shuffle: bool = False
    random_state: int | None = None
    warm_start: bool = False
    verbose: int = 0


class OnePassMixin:
    """Mixin for :class:`OnlineClassifier` and :class:`OnlineRegressor`."""

    _schedule = OnePass()

    # Parameters of other estimators that have one value here.
    _fixed_parameters: dict = {}

    def __getattr__(self, name: str) -> Any:
        if name in self._fixed_parameters:
            return self._fixed_parameters[name]
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}"
        )

    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: SampleWeight = None
    ) -> Self:
        """Learn from the rows in order, each once, after forgetting all others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, in any units.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels, or targets; several outputs in regression only.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows. None stands for ones.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the data or the weights are not usable. The estimator is then as it was.
        """
        return super().fit(X, y, sample_weight)
