"""What transformers share that learn from a stream."""

from abc import ABCMeta, abstractmethod
from copy import deepcopy
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils._set_output import _wrap_method_output
from sklearn.utils.validation import check_is_fitted, validate_data

from .._invariants import is_count
from .._locks import SharedByThreads, learns, reads
from .._rollback import rollback_on_error
from .._shards import LATER_START, Shards
from .._typing import TableLike, _fit_context
from .._validation import advised, refuse_masks
from ..config import current_engine
from ..engines import get_engine
from ..estimators.base import invariants_of_input
from ..estimators.rows import chunk_of, row_of

__all__ = ["FeatureTransformer", "StreamTransformer"]


class StreamTransformer(
    SharedByThreads, TransformerMixin, BaseEstimator, metaclass=ABCMeta
):
    """Base of the transformers that learn from a stream, row after row."""

    # What the subclasses give.

    @abstractmethod
    def _read(self, X, reset):
        """Check rows; return them as `_start`, `_encode` take them."""

    @abstractmethod
    def _start(self, rows):
        """Get ready for the first rows."""

    @abstractmethod
    def _encode(self, engine, rows, learns):
        """Rows as they are transformed; each after it was learned, if they are."""

    @abstractmethod
    def _way_back_of_state(self):
        """How to undo what will be learned, but for attributes that are replaced."""

    @abstractmethod
    def _invariants_of_state(self):
        """What holds of what was learned, beyond what its parts state."""

    @abstractmethod
    def _take_state(self, engine, shards, everything):
        """Take what several transformers have learned, once ready for the first rows.

        Parameters
        ----------
        engine : Engine
        shards : Shards
        everything : list
            The transformers, and perhaps what they began as.

        Returns
        -------
        placements : list of Placement or None
            Where the columns of these lie in the columns that it has; None where
            they are the same.
        """

    def _learn(self, engine, rows):
        """Learn rows, where that costs less than to transform them as well."""
        self._encode(engine, rows, learns=True)

    # What they get.

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: object = None) -> Self:
        """Forget what was learned, and learn rows.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Rows, in any units.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.

        Raises
        ------
        ValueError
            If the rows are not usable. The transformer is then as it was.
        """
        self._take(X, self._learn, reset=True)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: TableLike, y: object = None) -> Self:
        """Go on with the next rows.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            The next rows of the stream.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The transformer.

        Raises
        ------
        ValueError
            If the rows are not usable. The transformer is then as it was.
        """
        self._take(X, self._learn, reset=not self.__sklearn_is_fitted__())
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit_transform(self, X: TableLike, y: object = None) -> Any:
        """Learn the next rows in order, and transform each as it is learned.

        Unlike with :meth:`partial_fit` and :meth:`transform` one after the other, no
        row is transformed by what came after it: how rows are cut into chunks changes
        nothing.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            The next rows of the stream.
        y : None
            Ignored.

        Returns
        -------
        Z : array or CSR array of shape (n_samples, n_features_out)
            As :meth:`transform` would give for each row right before it is learned.

        Raises
        ------
        ValueError
            If the rows are not usable. The transformer is then as it was.
        """

        take = _wrap_method_output(type(self)._take, "transform")
        encode = partial(self._encode, learns=True)
        return take(self, X, encode, reset=not self.__sklearn_is_fitted__())

    @reads
    def transform(self, X: TableLike) -> Any:
        """Transform rows, each as if it came next on the stream.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : array or CSR array of shape (n_samples, n_features_out)
            The transformed rows.

        Raises
        ------
        NotFittedError
            If there were no rows yet.
        ValueError
            If the rows are not usable.
        """
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        return self._encode(engine_in_use(), rows, learns=False)

    @learns
    def _take(self, X, learn, reset):
        with rollback_on_error(self) as rollbacks:
            rows = self._read(X, reset)
            if reset:
                self._start(rows)
                self.n_samples_seen_ = 0
            else:
                rollbacks.append(self._way_back_of_state())
            result = learn(engine_in_use(), rows)
            self.n_samples_seen_ += len(rows)
            return result

    def _of_row(self, x, learns):
        """What becomes of a single row, as rows one by one are handed on.

        Once fitted; parameters are not looked at, and whoever calls has a way back.
        """
        rows = self._read(chunk_of(x), reset=False)
        row = row_of(self._encode(engine_in_use(), rows, learns))
        self.n_samples_seen_ += learns
        return row

    # Merging.

    def _merged(self, others, start):
        """A transformer that has learned what this and others have."""
        return self._merged_and_placed(others, start)[0]

    def _merged_and_placed(self, others, start):
        """The same, and where the columns of each lie in those of the merged one.

        Returns
        -------
        merged : StreamTransformer
        placements : list of Placement or None
            For this and the others, and for `start` if there is one.
        """
        members = [self, *others]
        everything = members if start is None else [*members, start]
        if not others:
            return deepcopy(self), [None for _ in everything]
        for other in everything[1:]:
            self._check_alike(other)
        fresh, merged = self._fresh(), self._fresh()
        shards = Shards(members, fresh if start is None else start, None)
        n_rows = shards.of(lambda each: each.n_samples_seen_)
        if min(n_rows) < n_rows.start:
            raise ValueError(LATER_START)
        merged.n_samples_seen_ = int(n_rows.sum())
        return merged, merged._take_state(engine_in_use(), shards, everything)

    def _invariants(self):
        """What holds between two calls, see :mod:`sklearn_scinol._invariants`."""
        yield from invariants_of_input(self)
        if self.__sklearn_is_fitted__():
            n = self.n_samples_seen_  # of merged ones, earlier versions have a float
            yield (
                "n_samples_seen_ is a number of rows",
                is_count(int(n)) and int(n) == n,
            )
            yield from self._invariants_of_state()

    def _fresh(self):
        """One that is ready for the first rows."""
        fresh = clone(self)
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(fresh, name, deepcopy(value))
        fresh.n_samples_seen_ = 0
        fresh._start(np.empty((0, self.n_features_in_)))
        return fresh

    def _check_alike(self, other):
        """Check that rows of both have the same columns."""

    def _checkpoint(self):
        """How to take the transformer back to what it is now."""
        before = vars(self).copy()
        of_state = self._way_back_of_state() if self.__sklearn_is_fitted__() else None

        def restore():
            vars(self).clear()
            vars(self).update(before)
            if of_state:
                of_state()

        return restore


class FeatureTransformer(StreamTransformer):
    """Base of those that take rows of numbers, where NaN stands for what is missing."""

    def _read(self, X, reset):
        refuse_masks(X=X)
        with advised(X, type(self).__name__):
            return validate_data(
                self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def engine_in_use():
    """The engine that is configured."""
    return get_engine(current_engine())
