"""Merging of estimators that have learned different rows."""

from copy import copy, deepcopy

import numpy as np
from sklearn.base import clone

from .._shards import START_DIFFERS, Origins, Shards, origins_of
from ..models.model import align_columns


class MergingMixin:
    """Merge the models and fitted attributes of :class:`OnlineEstimator`."""

    def _with_columns(self, placement):
        """Return a copy, to be merged, whose features are at other columns."""
        estimator = copy(self)
        estimator._model = self._model.with_columns(placement)
        return estimator

    def _continues(self, start):
        """Return False if `loss_curve_` tells that this is no continuation."""
        curve = self.loss_curve_
        is_whole = len(curve) < self._max_curve and not self.warm_start
        if start is None or not is_whole:  # cut off, or begun anew by `fit`
            return True
        return curve[: len(start.loss_curve_)] == start.loss_curve_

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
        if (n_rows < 0).any() or not all(each._continues(start) for each in members):
            raise ValueError(START_DIFFERS)
        if not others:
            return deepcopy(self)
        shares = n_rows if n_rows.any() else np.ones(len(models))
        shares = shares / shares.sum()
        merged = clone(self)
        for name, value in vars(self).items():
            is_fitted = name in self._private_state or name.endswith("_")
            if is_fitted and name != "_model":
                setattr(merged, name, deepcopy(value))
        with np.errstate(all="ignore"):
            model = type(models[0]).merged(Shards(models, start_model, shares))
            merged._model = model if back is None else model.with_columns(back)
        merged._origins = Origins(set().union(*map(origins_of, members)))
        curve = [loss for member in members for loss in member.loss_curve_]
        merged.loss_curve_ = curve[-self._max_curve :]
        return merged
