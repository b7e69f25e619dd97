"""Base of estimators whose `fit` learns each row once, in order."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval

from .._docstrings import described_as
from .._typing import MatrixLike, RandomState, SampleWeight
from ..models.separate import SeparateModels
from .online_estimator import OnlineEstimator

COUNT = Interval(Integral, 1, None, closed="left")


class OnePassMixin:
    """Mixin for :class:`OnlineClassifier` and :class:`OnlineRegressor`."""

    # Values of what are parameters of other estimators.
    max_iter, tol, early_stopping = 1, None, False
    shuffle, warm_start, verbose = False, False, 0
    random_state: RandomState = None

    # To be defined by subclasses.

    _make_model: Any
    _n_outputs: Any
    _output_shape: tuple[int, ...]

    def _new_model(self, X, loss):
        """Return the model: with several labels one for each."""
        sizes = X.shape[1], self._n_outputs(loss)
        if not (is_classifier(self) and self._output_shape):
            return self._make_model(*sizes, loss)
        n_features, n_labels = sizes
        models = [self._make_model(n_features, 1, loss) for _ in range(n_labels)]
        features = models[0].features
        return SeparateModels(loss, *sizes, models=models, features=features)

    @described_as(OnlineEstimator.fit)
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: SampleWeight = None
    ) -> Self:
        """Learn from the rows in order, each once, after forgetting all others."""
        return super().fit(X, y, sample_weight)
