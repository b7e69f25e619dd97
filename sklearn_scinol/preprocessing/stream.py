"""Base classes of transformers that learn from a stream."""

from abc import ABCMeta, abstractmethod
from copy import deepcopy
from functools import partial
from secrets import token_hex
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils._set_output import _wrap_method_output
from sklearn.utils.validation import check_is_fitted, validate_data

from .._invariants import is_count
from .._locks import SharedByThreads, learns, reads
from .._rollback import rollback_on_error
from .._shards import START_IS_NEWER, Origins, Shards, origins_of
from .._state import Part, checkpoint
from .._typing import Labels, TableLike, _fit_context
from .._validation import NamedChunk, add_advice, check_not_masked, without_names
from ..config import current_engine
from ..engines import get_engine
from ..estimators.invariants import invariants_of_input
from ..estimators.row_by_row import chunk_of, row_of
from ..tables.dense import Targets


class StreamTransformer(
    SharedByThreads, Part, TransformerMixin, BaseEstimator, metaclass=ABCMeta
):
    """Base of the transformers that learn from a stream, row after row."""

    # To be defined by subclasses.

    @abstractmethod
    def _read(self, X, reset):
        """Validate rows, and convert them for `_start` and `_encode`."""

    @abstractmethod
    def _start(self, rows):
        """Initialise the state for the first rows."""

    @abstractmethod
    def _encode(self, engine, rows, learns):
        """Transform rows, each after it was learned if `learns`."""

    @abstractmethod
    def _invariants_of_state(self):
        """Yield invariants of the state, besides the invariants of its parts."""

    @abstractmethod
    def _merge_state(self, engine, shards, sources):
        """Take the state of several transformers, before the first row.

        Return placements of the columns of each of the sources, which are the
        transformers and perhaps their common start; None for columns that stay.
        """

    def _learn(self, engine, rows):
        """Learn rows without transforming them."""
        self._encode(engine, rows, learns=True)

    # Methods of all transformers.

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: object = None) -> Self:
        """Learn rows, and forget what was learned before.

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
            If the rows are not valid. The transformer is then unchanged.
        """
        self._learn_rows(X, self._learn, reset=True)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: TableLike, y: object = None) -> Self:
        """Learn the next rows.

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
            If the rows are not valid. The transformer is then unchanged.
        """
        self._learn_rows(X, self._learn, reset=not self.__sklearn_is_fitted__())
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit_transform(self, X: TableLike, y: object = None) -> Any:
        """Learn the next rows in order, and transform each as it is learned.

        No row is transformed by later ones: the size of chunks changes nothing.

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
            If the rows are not valid. The transformer is then unchanged.
        """
        learn = _wrap_method_output(type(self)._learn_rows, "transform")
        encode = partial(self._encode, learns=True)
        return learn(self, X, encode, reset=not self.__sklearn_is_fitted__())

    @reads
    def transform(self, X: TableLike) -> Any:
        """Transform rows, each as if it were the next of the stream.

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
            If no row was learned yet.
        ValueError
            If the rows are not valid.
        """
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        return self._encode(get_engine(current_engine()), rows, learns=False)

    @learns
    def _learn_rows(self, X, learn, reset, targets=None):
        with rollback_on_error(self) as rollbacks:
            rows = self._read(X, reset)
            if targets is not None:
                rows = rows.with_targets(targets)
            if reset:
                self._start(rows)
                self.n_samples_seen_, self._origins = 0, Origins([token_hex(8)])
            else:
                rollbacks.append(checkpoint(self))
            result = learn(get_engine(current_engine()), rows)
            self.n_samples_seen_ += len(rows)
            return result

    # One row at a time: the transformer is fitted, and parameters are not validated.

    def _transform_row(self, x):
        """Transform a single row."""
        return self._encode_row(x, learns=False)

    def _learn_row(self, x, rollbacks, targets=None):
        """Learn a single row, and transform it.

        What restores the transformer is appended to `rollbacks` before it changes.
        """
        rollbacks.append(checkpoint(self))
        row = self._encode_row(x, learns=True, targets=targets)
        self.n_samples_seen_ += 1
        return row

    def _encode_row(self, x, learns, targets=None):
        """Transform a single row as a chunk, learned before if `learns`."""
        with without_names(self):
            rows = self._read(chunk_of(x), reset=False)
        if targets is not None:
            rows = rows.with_targets(targets)
        return row_of(self._encode(get_engine(current_engine()), rows, learns))

    # Merging.

    def _merged(self, others, start):
        """Merge this transformer and others."""
        return self._merged_with_placements(others, start)[0]

    def _merged_with_placements(self, others, start):
        """Merge transformers; also return their placements, and that of `start`."""
        members = [self, *others]
        sources = members if start is None else [*members, start]
        if not others:
            return deepcopy(self), [None for _ in sources]
        for other in sources[1:]:
            self._check_alike(other)
        fresh, merged = self._fresh(), self._fresh()
        shards = Shards(members, fresh if start is None else start, None)
        n_rows = shards.map(lambda each: each.n_samples_seen_)
        if min(n_rows) < n_rows.start:
            raise ValueError(START_IS_NEWER)
        merged.n_samples_seen_ = int(n_rows.sum())
        merged._origins = Origins(set().union(*map(origins_of, members)))
        engine = get_engine(current_engine())
        return merged, merged._merge_state(engine, shards, sources)

    def _invariants(self):
        """Yield what holds between two calls."""
        yield from invariants_of_input(self)
        if self.__sklearn_is_fitted__():
            yield "n_samples_seen_ is an integer", is_count(self.n_samples_seen_)
            yield from self._invariants_of_state()

    def _fresh(self):
        """Return a transformer of these columns before the first row."""
        fresh = clone(self)
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(fresh, name, deepcopy(value))
        fresh.n_samples_seen_ = 0
        fresh._start(np.empty((0, self.n_features_in_)))
        return fresh

    def _check_alike(self, other):
        """Check that another transformer encodes the same columns."""


class TargetTransformer(StreamTransformer):
    """Base of the transformers that also learn targets, each after its row."""

    @abstractmethod
    def _wants_targets(self, last):
        """Whether it learns targets in a pipeline whose last step is `last`."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: TableLike,
        y: Any = None,
        *,
        classes: Labels | None = None,
    ) -> Self:
        """Learn rows, and forget what was learned before.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Rows, in any units.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Labels or targets, whose means are learned. Without `classes`, numbers are
            targets and other values are labels.
        classes : array-like of shape (n_classes,), default=None
            All classes, if `y` has labels.

        Returns
        -------
        self : object
            The fitted transformer.

        Raises
        ------
        ValueError
            If the rows or targets are not valid. The transformer is then unchanged.
        """
        targets = _targets(y, classes)
        self._learn_rows(X, self._learn, reset=True, targets=targets)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(
        self,
        X: TableLike,
        y: Any = None,
        *,
        classes: Labels | None = None,
    ) -> Any:
        """Learn rows, and transform them.

        Means of targets in a row are of earlier rows only: they never know its own
        target. All else is as from :meth:`transform` after :meth:`fit`.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Rows, in any units.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            See :meth:`fit`.
        classes : array-like of shape (n_classes,), default=None
            See :meth:`fit`.

        Returns
        -------
        Z : array or CSR array of shape (n_samples, n_features_out)
            The transformed rows.

        Raises
        ------
        ValueError
            If the rows or targets are not valid. The transformer is then unchanged.
        """
        targets = _targets(y, classes)
        return self._with_means_before(X, self._learn_and_transform(X, targets, True))

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: TableLike,
        y: Any = None,
        *,
        classes: Labels | None = None,
    ) -> Self:
        """Learn the next rows.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            The next rows of the stream.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            See :meth:`fit`.
        classes : array-like of shape (n_classes,), default=None
            See :meth:`fit`; the first call counts.

        Returns
        -------
        self : object
            The transformer.

        Raises
        ------
        ValueError
            If the rows or targets are not valid. The transformer is then unchanged.
        """
        targets, is_first = _targets(y, classes), self._is_first
        self._learn_rows(X, self._learn, reset=is_first, targets=targets)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit_transform(
        self,
        X: TableLike,
        y: Any = None,
        *,
        classes: Labels | None = None,
    ) -> Any:
        """Learn the next rows in order, and transform each as it is learned.

        No row is transformed by later ones, or by its own target: the size of chunks
        changes nothing.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            The next rows of the stream.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            See :meth:`fit`.
        classes : array-like of shape (n_classes,), default=None
            See :meth:`fit`; the first call counts.

        Returns
        -------
        Z : array or CSR array of shape (n_samples, n_features_out)
            As :meth:`transform` would give for each row right before it is learned.

        Raises
        ------
        ValueError
            If the rows or targets are not valid. The transformer is then unchanged.
        """
        targets = _targets(y, classes)
        return self._learn_and_transform(X, targets, self._is_first)

    @property
    def _is_first(self):
        """Whether nothing was learned yet."""
        return not self.__sklearn_is_fitted__()

    def _learn_and_transform(self, X, targets, reset):
        """Learn rows and their targets in order, and transform each."""
        learn = _wrap_method_output(type(self)._learn_rows, "transform")
        encode = partial(self._encode, learns=True)
        return learn(self, X, encode, reset=reset, targets=targets)

    def _with_means_before(self, X, Z):
        """Return the rows of `fit_transform`, from those of a stream."""
        return Z


def _targets(y, classes):
    """Return targets to learn; None if there are none."""
    return None if y is None else Targets(y, classes)


class FeatureTransformer(StreamTransformer):
    """Base of the transformers of rows of numbers, where NaN is a missing value."""

    _reads, _allows_nan = "numbers", True

    def _read(self, X, reset):
        check_not_masked(X=X)
        finite = "allow-nan" if self._allows_nan else True
        with add_advice(X, type(self).__name__):
            rows = validate_data(
                self, X, reset=reset, dtype=np.float64, ensure_all_finite=finite
            )
        NamedChunk.name_features(self, X)
        return rows

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_nan
        return tags
