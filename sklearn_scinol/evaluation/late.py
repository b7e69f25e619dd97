"""Late labels: rows are predicted as they come, and learned some rows later."""

from collections import deque
from copy import deepcopy
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.validation import _num_samples

from .._validation import without_names
from ..estimators.online_estimator import OnlineEstimator
from ..estimators.row_by_row import chunk_of, row_of
from ..views import dense_view_of
from .scores import _Rows


@dataclass
class _Chunk:
    """Rows with their labels, and weights or None."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None

    def __len__(self):
        return self.y.shape[0]

    def __getitem__(self, rows):
        c = self.sample_weight
        X = _safe_indexing(self.X, rows)
        return _Chunk(X, self.y[rows], None if c is None else c[rows])

    @property
    def weights(self):
        """Weights of the rows, which are ones if none are given."""
        c = self.sample_weight
        return np.ones(len(self)) if c is None else c


class _Queue:
    """Rows that wait, in blocks: those that came first leave first."""

    def __init__(self):
        self._blocks = deque()
        self._n_rows = 0

    def __len__(self):
        return self._n_rows

    def exchange(self, blocks, n):
        """Add blocks of rows, then remove the first `n` rows, and return their blocks.

        What stays of the new blocks is copied: it neither keeps the others in memory
        nor changes with them.
        """
        removed = []
        while n and self._blocks:
            block = self._blocks.popleft()
            if len(block) > n:
                self._blocks.appendleft(block[n:])
                block = block[:n]
            removed.append(block)
            n -= len(block)
            self._n_rows -= len(block)
        for block in blocks:
            n_removed = min(n, len(block))
            if n_removed:
                removed.append(block[:n_removed])
                n -= n_removed
            if n_removed < len(block):
                self._blocks.append(deepcopy(block[n_removed:]))
                self._n_rows += len(block) - n_removed
        return removed


class DelayedEstimator:
    """An estimator that predicts rows as they come, and learns each `delay` rows later.

    Parameters
    ----------
    learner : ProgressiveEstimator
    delay : int
        Row i is predicted once the rows up to i - 1 - `delay` are learned. At least 1.
    """

    def __init__(self, learner, delay):
        self.learner, self.delay = learner, delay
        self._waiting = _Queue()
        self._predicted = _Queue()
        estimator = learner.predictor
        self._is_exact = hasattr(estimator, "row_by_row") and not learner.transformers
        self._interleaves = self._is_exact and _predicts_each_row(estimator)
        self._row_by_row = None
        # Intervals or sets of rows that wait; those before them were not predicted.
        self._served, self._n_unserved = deque(), 0
        if "predict_interval" in learner.methods and not self._is_exact:
            raise ValueError(
                "Metrics of intervals with a delay need an OnlinePipeline, not a "
                "Pipeline."
            )
        self._due = []  # the rows that are learned at present

    def follow(self, X, y, sample_weight):
        """Predict the rows of a chunk, and learn the rows whose labels come meanwhile.

        Return labels, predictions by method, and weights of the rows that were learned,
        in blocks, without rows that came when nothing was learned yet.
        """
        check_consistent_length(X, y, sample_weight)
        start = perf_counter()
        chunk = _Chunk(_as_sliceable(X), y, sample_weight)
        self.learner.infer_classes(y)
        n_learned = max(len(self._waiting) + len(chunk) - self.delay, 0)
        self._due = self._waiting.exchange([chunk], n_learned)
        process = self._process_exactly if self._is_exact else self._process_chunk
        predicted = process(chunk, self._due)
        self.learner.seconds += perf_counter() - start
        return self._scored(predicted, n_learned)

    def finish(self):
        """Learn the rows that wait, and return them as :meth:`follow`."""
        start, n = perf_counter(), len(self._waiting)
        self._due = self._waiting.exchange([], n)
        for chunk in self._due:
            if self._is_exact and not self._interleaves:
                for row in _rows(chunk):
                    self._learn_row(*row)
            else:
                self._learn(chunk)
        self.learner.seconds += perf_counter() - start
        return self._scored([], n)

    def lacks_classes(self, y):
        """Whether labels show that the first chunk did not have all classes."""
        labels = [y, *(each.y for each in self._due)]
        return any(self.learner.lacks_classes(each) for each in labels)

    def _scored(self, predicted, n_learned):
        """Return what the next `n_learned` rows are scored by.

        All classes of their labels are known now; predictions may be older.
        """
        rows = self._predicted.exchange(predicted, n_learned)
        rows = [
            each.with_classes(self.learner.classes) for each in rows if each.predictions
        ]
        return [(each.y, each.predictions, each.sample_weight) for each in rows]

    # Each of these predicts a chunk, and learns the rows that are due: one after each
    # of the last rows of the chunk. They return the predictions in blocks.

    def _process_exactly(self, chunk, due):
        """Predict each row by what has learned all labels that came before it."""
        if self.learner.is_fitted:
            return self._process_fitted(chunk, due)
        if not due:
            return [self._not_scored(chunk)]
        n_early = len(chunk) - _n_rows(due) + 1
        first = due[0]
        early = self._not_scored(chunk[:n_early])
        self._learn(first[:1])
        self._next_served()
        rest = [each for each in [first[1:], *due[1:]] if len(each)]
        later = self._process_fitted(chunk[n_early:], rest)
        return [early, *later]

    def _process_fitted(self, chunk, due):
        if len(chunk) == 0:
            return []
        if self._interleaves:
            matrices = [self._as_matrix(each.X) for each in [chunk, *due]]
            if _can_be_stacked(matrices, [chunk, *due]):
                return self._process_at_once(chunk, due, matrices)
        return self._process_rows(chunk, due)

    def _process_at_once(self, chunk, due, matrices):
        """Predict and learn in one call: rows of weight 0 are only predicted."""
        learner, n = self.learner, len(chunk)
        # A row is learned after each of the last rows of the chunk.
        after = np.arange(n - _n_rows(due), n) + 0.5
        order = np.argsort(np.concatenate([np.arange(n), after]))
        # Rows that are only predicted have valid targets, which are not looked at.
        shape = (n, *chunk.y.shape[1:])
        y = np.full(shape, learner.classes[0] if learner.is_classifier else 0.0)
        c = [np.zeros(n), *(each.weights for each in due)]
        with without_names(learner.predictor):
            prediction = learner.learn_by(
                learner.predictor.partial_fit_predict,
                _stacked(matrices, order),
                np.concatenate([y, *(each.y for each in due)])[order],
                np.concatenate(c)[order],
                method=learner.methods[0],
            )
        return [self._predicted_rows(chunk, prediction[order < n])]

    def _process_rows(self, chunk, due):
        """Predict and learn row by row."""
        learner, blocks, start = self.learner, [], 0
        learned = (row for each in due for row in _rows(each))
        n_before = len(chunk) - _n_rows(due)
        predictions, classes = [], learner.classes
        for i, (x, _, _) in enumerate(_rows(chunk)):
            if learner.classes is not classes:
                part = chunk[start:i]
                blocks.append(self._predicted_rows(part, predictions, classes))
                start, predictions, classes = i, [], learner.classes
            predictions.append(self._predict_row(x))
            if i >= n_before:
                self._learn_row(*next(learned))
        part = chunk[start:]
        return [*blocks, self._predicted_rows(part, predictions, classes)]

    def _process_chunk(self, chunk, due):
        """Predict the whole chunk, then learn."""
        block = self._not_scored(chunk)
        if self.learner.is_fitted:
            block.predictions = self.learner.predict(chunk.X)
            block.classes = self.learner.classes
        for each in due:
            self._learn(each)
        return [block]

    def _not_scored(self, chunk):
        """Return rows that came when nothing could be predicted."""
        self._n_unserved += len(chunk)
        return _Rows(chunk.y, {}, chunk.weights, None)

    def _learn(self, chunk):
        self.learner.learn(chunk.X, chunk.y, chunk.sample_weight)

    def _as_matrix(self, X):
        """Return rows as an array or a sparse matrix."""
        if isinstance(X, np.ndarray) or sparse.issparse(X):
            return X
        return self.learner.predictor._validate_rows(X)

    def _predicted_rows(self, chunk, prediction, classes=None):
        """Return rows with predictions, made when `classes` were known: by default all.

        The predictions are an array, or a list with those of each row.
        """
        learner = self.learner
        if classes is None:
            classes = learner.classes
        if len(learner.methods) > 1:
            prediction = [np.array(each) for each in zip(*prediction, strict=True)]
        elif isinstance(prediction, list):
            is_label = learner.is_classifier and learner.methods == ["predict"]
            prediction = np.array(prediction, dtype=classes.dtype if is_label else None)
        predictions = learner.with_labels(prediction, classes)
        return _Rows(chunk.y, predictions, chunk.weights, classes)

    @property
    def _rows_of_estimator(self):
        if self._row_by_row is None:
            self._row_by_row = self.learner.predictor.row_by_row()
        return self._row_by_row

    def _predict_row(self, x):
        rows, methods = self._rows_of_estimator, self.learner.methods
        if not rows._serves:
            return getattr(rows, f"{methods[0]}_one")(x)
        predictions, served = rows._predict(x, "serve")
        self._served.append(served)
        found = [predictions[method] for method in methods]
        return found if len(methods) > 1 else found[0]

    def _next_served(self):
        """Return the :class:`ServedRow` of the next row to learn, or None."""
        if self._n_unserved:
            self._n_unserved -= 1
            return None
        return self._served.popleft() if self._served else None

    def _learn_row(self, x, y, sample_weight):
        served = self._next_served()
        if self.learner.first_call:
            c = None if sample_weight is None else np.reshape(sample_weight, 1)
            self.learner.learn(chunk_of(x), np.asarray([y]), c)
        else:
            x = x if served is None else served._replace(x=x)
            self._rows_of_estimator.learn_one(x, y, sample_weight)


def _n_rows(blocks):
    return sum(map(len, blocks))


def _predicts_each_row(estimator):
    """Whether it ignores rows of weight 0, and predicts each row after all before.

    So do estimators of this package, but not transformers in pipelines, nor mixtures of
    estimators from elsewhere, which predict several rows at once.
    """
    parts = [estimator, *estimator.get_params().values()]
    learning = [each for each in parts if hasattr(each, "partial_fit")]
    return all(isinstance(each, OnlineEstimator) for each in learning)


def _as_sliceable(X):
    """Return rows of a kind that can be sliced, and that is read fast."""
    if sparse.issparse(X):
        return X.tocsr()
    return np.asarray(X) if isinstance(X, np.memmap) else X


def _can_be_stacked(matrices, chunks):
    """Whether the rows of chunks make one array, or one sparse matrix."""
    X, y = matrices[0], chunks[0].y
    return all(
        each.shape[1:] == X.shape[1:] and _kind(each) == _kind(X) is not None
        for each in matrices
    ) and all(each.y.shape[1:] == y.shape[1:] for each in chunks)


def _kind(X):
    """Whether rows are sparse or an array of numbers; None if anything else."""
    if sparse.issparse(X):
        return "sparse" if dense_view_of(X) is None else None
    is_plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiub"
    return "dense" if is_plain else None


def _stacked(parts, order):
    """Return the rows of arrays or sparse matrices in a given order."""
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))[order]
    return np.concatenate(parts)[order]


def _rows(chunk):
    """Yield rows as :class:`RowByRow` takes them, their labels and weights."""
    X, y, c = chunk.X, chunk.y, chunk.sample_weight
    are_rows = isinstance(X, list) or (type(X) is np.ndarray and X.ndim == 2)
    for i in range(_num_samples(X)):
        x = X[i] if are_rows else row_of(_safe_indexing(X, slice(i, i + 1)))
        yield x, y[i], None if c is None else c[i]
