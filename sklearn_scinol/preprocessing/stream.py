"""Base classes of transformers that learn from a stream."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from copy import deepcopy
from functools import partial
from secrets import token_hex
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import check_is_fitted, validate_data

from .._docstrings import LinkedToPages, described_as
from .._invariants import is_count, same_structure
from .._locks import SharedByThreads, learns, reads
from .._parameters import FixedParameters
from .._rollback import rollback_on_error
from .._shards import START_DIFFERS, Origins, Shards, origins_of
from .._state import Part, checkpoint
from .._typing import Labels, TableLike, Transformed, _fit_context
from .._validation import NamedChunk, add_advice, check_has_values, without_names
from ..config import current_engine
from ..estimators.invariants import invariants_of_input
from ..estimators.row_by_row import chunk_of, row_of
from ..estimators.waiting import join_rows, runs, take_rows


class StreamTransformer(
    SharedByThreads,
    Part,
    LinkedToPages,
    FixedParameters,
    TransformerMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Base of the transformers that learn from a stream, row after row.

    Attributes
    ----------
    n_samples_seen_ : int
        Number of rows so far.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names, if X has them.
    """

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

    def _targets(self, y, classes):
        """Return targets to learn, each after its row; None if there are none."""
        return None

    def _wants_targets(self, last):
        """Whether it learns targets in a pipeline whose last step is `last`."""
        return False

    def _learn_targets(self, engine, rows):
        """Learn the targets of rows that were observed before."""

    # Methods of all transformers.

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: TableLike, y: Any = None, *, classes: Labels | None = None
    ) -> Self:
        """Learn rows, and forget what was learned before.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Rows, in any units.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Labels or targets, whose means encoders of tables learn. Without `classes`,
            numbers are targets and other values are labels. Other transformers ignore
            them.
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
        self._learn_rows(X, self._learn, True, self._targets(y, classes))
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @described_as(fit)
    def partial_fit(
        self, X: TableLike, y: Any = None, *, classes: Labels | None = None
    ) -> Self:
        """Learn the next rows.

        Parameters
        ----------
        classes : array-like of shape (n_classes,), default=None
            All classes, if `y` has labels; the first call counts.
        """
        self._learn_rows(X, self._learn, self._is_first, self._targets(y, classes))
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @described_as(partial_fit)
    def partial_fit_transform(
        self, X: TableLike, y: Any = None, *, classes: Labels | None = None
    ) -> Transformed:
        """Learn the next rows in order, and transform each as it is learned.

        No row is transformed by later ones, or by its own target: the size of chunks
        changes nothing.

        Returns
        -------
        Z : array or CSR array of shape (n_samples, n_features_out)
            As :meth:`transform` would give for each row right before it is learned.
        """
        return self._learn_and_transform(X, self._targets(y, classes), self._is_first)

    @_fit_context(prefer_skip_nested_validation=True)
    @described_as(fit)
    def observe(self, X: TableLike) -> Self:
        """Learn the next rows before their labels are known, or without labels.

        With :meth:`learn_labels`, once labels come, this is what :meth:`partial_fit`
        does at once.

        Raises
        ------
        ValueError
            If the rows are not valid, or the first rows need targets. The transformer
            is then unchanged.
        """
        self._learn_rows(X, self._learn, self._is_first, None)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @described_as(observe)
    def observe_transform(self, X: TableLike) -> Transformed:
        """Learn the next rows before their labels are known, and transform each.

        Returns
        -------
        Z : array or CSR array of shape (n_samples, n_features_out)
            As from :meth:`partial_fit_transform`, by the labels that are known by now.
        """
        return self._learn_and_transform(X, None, self._is_first)

    @_fit_context(prefer_skip_nested_validation=True)
    @described_as(partial_fit)
    def learn_labels(
        self, X: TableLike, y: Any, *, classes: Labels | None = None
    ) -> Self:
        """Learn the labels of rows that were observed before.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            The rows, as they were when they were observed.

        Returns
        -------
        self : object
            The transformer, which is unchanged if it learns no labels.

        Raises
        ------
        NotFittedError
            If no row was observed yet.
        ValueError
            If the rows or targets are not valid. The transformer is then unchanged.
        """
        check_is_fitted(self)
        targets = self._targets(y, classes)
        if targets is not None:
            self._learn_late(X, targets)
        return self

    @reads
    @described_as(fit)
    def transform(self, X: TableLike) -> Transformed:
        """Transform rows, each as if it were the next of the stream.

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
        return self._encode(current_engine(), rows, learns=False)

    @property
    def _is_first(self):
        """Whether nothing was learned yet."""
        return not self.__sklearn_is_fitted__()

    def _learn_and_transform(self, X, targets, reset, encode=None):
        """Learn rows and their targets in order, and transform each.

        It may `encode` rows, given the engine, by more than :meth:`_encode` knows.
        """
        if encode is None:
            encode = partial(self._encode, learns=True)

        def encode_as_asked(engine, rows):
            Z = encode(engine, rows)  # sparse rows are refused for frames, and undone
            return _wrap_data_with_container("transform", Z, X, self)

        return self._learn_rows(X, encode_as_asked, reset, targets)

    @learns
    def _learn_rows(self, X, learn, reset, targets, are_new=True):
        with rollback_on_error(self) as rollbacks:
            self._settle_parameters(begins=reset)
            rows = self._read(X, reset)
            if targets is not None:
                rows = rows.with_targets(targets)
            if reset:
                self._start(rows)
                self.n_samples_seen_, self._origins = 0, Origins([token_hex(8)])
            else:
                rollbacks.append(checkpoint(self))
            result = learn(current_engine(), rows)
            self.n_samples_seen_ += are_new * len(rows)
            return result

    def _learn_late(self, X, targets):
        """Learn the targets of rows that were observed before."""
        self._learn_rows(X, self._learn_targets, False, targets, are_new=False)

    def _follow(self, X, late, targets, is_label):
        """Transform and observe rows; learn targets of others, `late`, in between.

        In the order of time, `is_label` has whether the next target comes, or row.
        """
        transformed = []
        for is_learned, rows in runs(is_label):
            if is_learned:
                self._learn_late(take_rows(late, rows), targets.part(rows))
            else:
                X_part = take_rows(X, rows)
                transformed.append(self._learn_and_transform(X_part, None, False))
        return join_rows(transformed)

    # One row at a time: the transformer is fitted, and parameters are not validated.

    def _is_array_row(self, x):
        """Whether a row is an array of as many numbers as there are features."""
        is_array = type(x) is np.ndarray and x.dtype == np.float64
        return is_array and x.shape == (self.n_features_in_,)

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

    def _learn_label(self, x, rollbacks, targets):
        """Learn the target of a single row that was observed before."""
        rollbacks.append(checkpoint(self))
        with without_names(self):
            rows = self._read(chunk_of(x), reset=False).with_targets(targets)
        self._learn_targets(current_engine(), rows)

    def _encode_row(self, x, learns, targets=None):
        """Transform a single row as a chunk, learned before if `learns`."""
        with without_names(self):
            rows = self._read(chunk_of(x), reset=False)
        if targets is not None:
            rows = rows.with_targets(targets)
        return row_of(self._encode(current_engine(), rows, learns))

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
        shares = np.full(len(members), 1.0 / len(members))
        shards = Shards(members, fresh if start is None else start, shares)
        n_rows = shards.map(lambda each: each.n_samples_seen_)
        if min(n_rows) < n_rows.start:
            raise ValueError(START_DIFFERS)
        merged.n_samples_seen_ = int(n_rows.sum())
        merged._origins = Origins(set().union(*map(origins_of, members)))
        engine = current_engine()
        return merged, merged._merge_state(engine, shards, sources)

    def _invariants(self):
        yield from super()._invariants()
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


class FeatureTransformer(StreamTransformer):
    """Base of the transformers of rows of numbers, where NaN is a missing value.

    The attribute `_state` has all that is learned.
    """

    _reads, _allows_nan = "numbers", True

    @abstractmethod
    def _new_state(self, n_features):
        """Return the state before the first row, by the parameters."""

    def _state_alike(self):
        """Return a new state that has the structure of a valid one."""
        return self._new_state(self.n_features_in_)

    def _read(self, X, reset):
        check_has_values(X=X)
        finite = "allow-nan" if self._allows_nan else True
        with add_advice(X, type(self).__name__):
            rows = validate_data(
                self, X, reset=reset, dtype=np.float64, ensure_all_finite=finite
            )
        NamedChunk.name_features(self, X)
        return rows

    def _encode_row(self, x, learns, targets=None):
        if self._is_array_row(x):
            is_usable = ~np.isinf(x) if self._allows_nan else np.isfinite(x)
            if is_usable.all():
                engine = current_engine()
                return row_of(self._encode(engine, x[np.newaxis], learns))
        return super()._encode_row(x, learns, targets)

    def _start(self, rows):
        self._state = self._new_state(rows.shape[1])

    def _fresh(self):
        fresh = super()._fresh()
        fresh._state = self._state.fresh()
        return fresh

    def _merge_state(self, engine, shards, sources):
        self._state = type(self._state).merged(shards.map(lambda each: each._state))
        return [None for _ in sources]

    def _invariants_of_state(self):
        yield from same_structure(self._state, self._state_alike(), "the state")

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_state")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_nan
        return tags
