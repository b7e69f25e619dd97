"""Rows one at a time, for estimators that hold a level."""

from typing import Any, NamedTuple

import numpy as np

from .._rollback import learn_as_last_step, rollback_on_error
from .._validation import without_names
from ..estimators.row_by_row import RowByRow, chunk_of, first_of
from ..estimators.served import Served
from ..estimators.waiting import Waiting


class Learning(NamedTuple):
    """How rows are learned."""

    served: Served | None = None  # what they were served, if their labels came late
    serves: bool = False  # whether to return what they are served by now
    prepared: Any = None  # ConformalRows, for a single row


AT_ONCE = Learning()


class ConformalRows(RowByRow):
    """Learn and predict single rows by a :class:`ConformalEstimator`."""

    def __init__(self, model, classes=None, n_features=None):
        super().__init__(model, classes, n_features)
        self._rows = {}

    def _learn_locked(self, x, y, sample_weight, method, served=None):
        model = self.estimator
        x, y = self._read(x), np.asarray([y])
        c = None if sample_weight is None else np.reshape(sample_weight, 1)
        is_fitted = model.__sklearn_is_fitted__()
        if not (is_fitted and model._predicts_each_row):
            is_told = is_fitted or self._classes is None
            given = {} if is_told else {"classes": self._classes}
            given["served"] = served
            return first_of(model._partial_fit(chunk_of(x), y, c, method, **given))
        self._x = x
        model._settle_parameters(begins=False)
        with rollback_on_error(model) as rollbacks:
            rows = chunk_of(x), y, c, rollbacks, Learning(served, prepared=self)
            learned, _ = model._learn(*rows)
            return first_of(model._answer(learned, method))

    def _predict_locked(self, x, method):
        model = self.estimator
        with without_names(model):
            return getattr(model, method)(chunk_of(self._read(x)))[0]

    def _serve_locked(self, x, method):
        """Predict a row whose label comes later, see :class:`Served`."""
        with without_names(self.estimator):
            answer, served = self.estimator._serve(chunk_of(x), method)
        return first_of(answer), served

    def _rows_of(self, estimator):
        """Return the object that learns single rows of an estimator."""
        found = self._rows.get(id(estimator))
        if found is None or found.estimator is not estimator:
            found = self._rows[id(estimator)] = estimator.row_by_row()
        return found

    # As `ConformalEstimator._learn_estimator` and the regressor do with chunks.

    def _learn_estimator(self, X, y, sample_weight, rollbacks, served=None):
        """Learn the row by the estimator; return its prediction."""
        estimator = self.estimator.estimator_
        c = None if sample_weight is None else sample_weight[0]
        learn, x = self._rows_of(estimator)._learn, self._x
        if served is not None:
            x = Waiting(x, served=served)
        row = x, y[0], c, self.estimator._estimator_method
        return np.asarray([learn_as_last_step(estimator, rollbacks, learn, *row)])

    def learn_quantiles(self, model, rollbacks, features, errors, sample_weight):
        """Learn the quantiles of an error by a model; return the quantiles before."""
        row = features[0], errors[0], sample_weight[0], "predict"
        learn = self._rows_of(model)._learn
        return learn_as_last_step(model, rollbacks, learn, *row)[np.newaxis]
