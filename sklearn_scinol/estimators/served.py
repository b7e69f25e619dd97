"""Predictions that rows were served, which wait for the rows' labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._shards import Origins, origins_of
from ..models.served import ServedRows

# Number of a row that was not served.
UNSERVED = -1


class ServedKey(NamedTuple):
    """Identity of an estimator that served rows: its origins, models and classes."""

    origins: Origins  # of the estimator, or of one that it was merged from
    models: str  # kinds, names and sizes
    classes: tuple[Any, ...] = ()

    @classmethod
    def of(cls, estimator, models):
        """Return the key of an estimator, whose models are described."""
        classes = getattr(estimator, "classes_", np.empty(0)).tolist()
        return cls(origins_of(estimator), models, tuple(classes))

    def fits(self, estimator):
        """Whether an estimator with a key can learn rows with this one."""
        return self.origins <= estimator.origins and self[1:] == estimator[1:]


class Served:
    """Predictions that rows were served, and those of all experts and pools.

    Rows are on the first axis: ``len(served)`` is their number, and ``served[rows]``
    has those of a slice or of indices. Predictions by estimators that have changed
    since, to other classes or experts or by fitting anew, stay here, and are not used.

    Parameters
    ----------
    keys : list of ServedKey
        Of the estimators that made the predictions.
    numbers : ndarray of intp of shape (n,)
        Index of the key of each row, or -1 if it was not served.
    values : ndarray of shape (n, n_columns)
        Numbers of each row; the first ones, if the estimator has fewer.
    inner : Served, default=None
        What an estimator within this one has served.
    """

    def __init__(self, keys, numbers, values, inner=None):
        self.keys, self.numbers, self.values = keys, numbers, values
        self.inner = inner

    @classmethod
    def by_one(cls, key, values, inner=None):
        """Return what one estimator has served."""
        return cls([key], np.zeros(len(values), np.intp), values, inner)

    @classmethod
    def unknown(cls, n):
        """Return rows that were not served."""
        return cls([], np.full(n, UNSERVED), np.empty((n, 0)))

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows):
        inner = None if self.inner is None else self.inner[rows]
        return Served(self.keys, self.numbers[rows], self.values[rows], inner)

    @classmethod
    def concatenate(cls, parts):
        """Return all rows of several objects, in order."""
        parts = list(parts)
        if len(parts) == 1:
            return parts[0]
        keys = [*dict.fromkeys(key for part in parts for key in part.keys)]
        width = max(part.values.shape[1] for part in parts)
        numbers, values = [], []
        for part in parts:
            places = np.array([*map(keys.index, part.keys), UNSERVED])
            numbers.append(places[part.numbers])
            missing = (0, 0), (0, width - part.values.shape[1])
            values.append(np.pad(part.values, missing, constant_values=np.nan))
        inner = None
        if any(part.inner is not None for part in parts):
            known = (part.inner or cls.unknown(len(part)) for part in parts)
            inner = cls.concatenate(known)
        return cls(keys, np.concatenate(numbers), np.concatenate(values), inner)

    def rows_for(self, key, n_columns):
        """Return a copy as :class:`ServedRows` for an estimator; None if none fits."""
        fitting = [i for i, own in enumerate(self.keys) if own.fits(key)]
        is_known = np.isin(self.numbers, fitting)
        if not is_known.any():
            return None
        values = np.empty((len(self), n_columns))
        values[is_known] = self.values[is_known, :n_columns]
        return ServedRows(values, is_known)
