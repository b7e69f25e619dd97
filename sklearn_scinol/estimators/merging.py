"""Merging of estimators that have learned different rows."""

from copy import copy, deepcopy
from itertools import chain

import numpy as np
from sklearn.base import clone

from .._shards import START_IS_NEWER, Shards
from ..models.base import align_columns


class MergingMixin:
    """Merge the models and fitted attributes of :class:`OnlineEstimator`."""

    def _with_columns(self, placement):
        """Return a copy, to be merged, whose features are at other columns."""
        estimator = copy(self)
        estimator._model = self._model.with_columns(placement)
        return estimator

    def _merged(self, others, start, placements=None):
        """Return an estimator that has learned the rows of this one and of others.

        All were derived from `start`, whose rows count once; None stands for no rows.
        The placements have the columns of features of each, and of `start`, in the
        merged estimator; None stands for columns that stay.
        """
        members = [self, *others]
        estimators = members if start is None else [*members, start]
        models, back = align_columns(
            [each._model for each in estimators],
            placements or [None for _ in estimators],
        )
        start_model = models[0].fresh() if start is None else models.pop()
        n_rows = np.array([model.t - start_model.t for model in models], dtype=float)
        if (n_rows < 0).any():
            raise ValueError(START_IS_NEWER)
        if not others:
            return deepcopy(self)
        shares = np.full(len(models), 1.0 / len(models))
        if n_rows.any():
            shares = n_rows / n_rows.sum()
        merged = clone(self)
        for name, value in vars(self).items():
            is_fitted = name in self._private_state or name.endswith("_")
            if is_fitted and name != "_model":
                setattr(merged, name, deepcopy(value))
        with np.errstate(all="ignore"):
            model = type(models[0]).merged(Shards(models, start_model, shares))
            merged._model = model if back is None else model.with_columns(back)
        curves = [member.loss_curve_ for member in members]
        curve = [*chain.from_iterable(curves)]
        merged.loss_curve_ = self._truncated(curve)
        return merged
