"""Base of estimators whose `fit` learns each row once, in order."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval

from .._docstrings import described_as
from .._typing import MatrixLike, SampleWeight
from ..models.separate import SeparateModels
from .online_estimator import OnlineEstimator
from .validation import too_wide_error

COUNT = Interval(Integral, 1, None, closed="left")

#: Number of rows of a window that must fit, and the maximum number of their values.
N_FIRST, MAX_FIRST = 1000, 2**27


class OnePassMixin:
    """Mixin for :class:`OnlineClassifier` and :class:`OnlineRegressor`."""

    # Parameters of other estimators, whose `fit` may learn rows several times.
    _lacking: dict[str, Any] = {
        "tol": None,
        "warm_start": False,
        "verbose": 0,
        "early_stopping": False,
        "shuffle": False,
        "random_state": None,
    }

    _max_epochs = 1

    _changeable = frozenset({"new_classes"})

    # To be defined by subclasses.

    _make_model: Any
    _n_outputs: Any
    _output_shape: tuple[int, ...]
    window: Any

    def _new_model(self, X, loss):
        """Return the model: with several labels one for each."""
        sizes = X.shape[1], self._n_outputs(loss)
        if not (is_classifier(self) and self._output_shape):
            return self._make_model(*sizes, loss)
        n_features, n_labels = sizes
        models = [self._make_model(n_features, 1, loss) for _ in range(n_labels)]
        features = models[0].features
        return SeparateModels(loss, *sizes, models=models, features=features)

    def _check_width(self, n_features):
        """Refuse features of which the first rows of the window would not fit."""
        n_rows = min(self.window, N_FIRST)
        if n_features * n_rows > MAX_FIRST:
            part = f"the first {n_rows} rows of the window"
            raise too_wide_error(self, f"{n_features} features", part, MAX_FIRST)

    @described_as(OnlineEstimator.fit)
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: SampleWeight = None
    ) -> Self:
        """Learn from the rows in order, each once, after forgetting all others."""
        return super().fit(X, y, sample_weight)
