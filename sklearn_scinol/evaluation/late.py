"""Late labels: rows are predicted as they come, and learned when their labels come."""

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import _check_partial_fit_first_call

from ..engines.clock import learning_time
from ..estimators import waiting
from ..estimators.rehearsal import adds_classes
from .scores import Rows, concatenate


@dataclass(kw_only=True)
class _Block(Rows):
    """Rows that wait for their labels, with all that is known of them."""

    numbers: np.ndarray  # of the rows in the stream, ascending
    X: Any  # as they came, or `Waiting` once they were observed
    known: np.ndarray  # when their labels come
    waits: np.ndarray  # whether they were not learned yet
    predictions: dict | None = None
    classes: np.ndarray | None = None

    @property
    def rest(self):
        """The rows that still wait."""
        return self if self.waits.all() else self[np.flatnonzero(self.waits)]

    def due(self, horizon):
        """Return numbers of rows whose labels come by the horizon, and when they do."""
        is_due = self.waits & (self.known <= horizon)
        return self.numbers[is_due], self.known[is_due]

    @property
    def key(self):
        """Key that is the same for blocks that can be joined."""
        methods = None if self.predictions is None else (*self.predictions,)
        y, has_weights = self.y, self.sample_weight is not None
        return waiting.join_key(self.X), methods, y.shape[1:], y.dtype.kind, has_weights


def _joined(blocks, classes):
    """Join blocks with the same key, of which predictions are of fewer classes."""
    if len(blocks) == 1:
        return blocks[0]
    return concatenate(blocks, classes, waiting.join_rows)


class _Store:
    """Blocks of rows that wait, in the order in which they came."""

    def __init__(self):
        self._blocks = []

    def add(self, block):
        """Add rows that came last."""
        if len(block):
            self._blocks.append(block)

    def __iter__(self):
        return iter(self._blocks)

    def packed(self):
        """Return all rows as plain data."""
        rests = [block.rest for block in self._blocks]
        return [vars(rest) | {"X": waiting.pack_rows(rest.X)} for rest in rests]

    def take(self, numbers, classes):
        """Remove rows; return them in the order of `numbers`, in blocks."""
        starts = [block.numbers[0] for block in self._blocks]
        places = np.searchsorted(starts, numbers, side="right") - 1
        found, parts, order = np.unique(places), [], np.empty(len(numbers), np.intp)
        for place in found.tolist():
            block, own = self._blocks[place], places == place
            rows = np.searchsorted(block.numbers, numbers[own])
            block.waits[rows] = False
            order[own] = sum(map(len, parts)) + np.arange(len(rows))
            is_range = (np.diff(rows) == 1).all()
            parts.append(block[slice(rows[0], rows[-1] + 1) if is_range else rows])
        self._tidy(found)
        if len({part.key for part in parts}) == 1:
            joined, is_in_order = _joined(parts, classes), (np.diff(order) == 1).all()
            return [joined if is_in_order else joined[order]]
        ends = np.flatnonzero(np.diff(places)) + 1
        starts = np.cumsum([0, *map(len, parts)])
        taken = []
        for run in np.split(np.arange(len(numbers)), ends):
            part = np.searchsorted(found, places[run[0]])
            taken.append(parts[part][order[run] - starts[part]])
        return taken

    def _tidy(self, places):
        """Drop blocks that are empty, and copy what is left of others by half."""
        for place in places[::-1].tolist():
            block = self._blocks[place]
            if not block.waits.any():
                del self._blocks[place]
            elif 2 * block.waits.sum() < len(block):
                self._blocks[place] = block.rest

    def own(self, first):
        """Copy the rows from number `first` on, which change with those of the user."""
        for place, block in enumerate(self._blocks):
            if block.numbers[0] >= first:
                rest = block.rest
                self._blocks[place] = replace(rest, X=_copied(rest.X))

    def observe(self, observe):
        """Replace all rows that were not observed by what `observe` returns of them."""
        rests, self._blocks = [block.rest for block in self._blocks], []
        for rest in rests:
            self.add(_coming(replace(rest, X=observe(rest.X))))


class DelayedEstimator:
    """An estimator that predicts rows as they come, and learns them with their labels.

    It is a :class:`ProgressiveEstimator`; :class:`Arrivals` tell when both come.
    """

    def __init__(self, learner, arrivals):
        self.learner, self.arrivals = learner, arrivals
        self._store, self._n_rows = _Store(), 0
        estimator = learner.predictor
        is_exact = hasattr(estimator, "row_by_row") and not learner.transformers
        self._process = self._process_rows if is_exact else self._process_chunk
        if "predict_interval" in learner.methods and not is_exact:
            raise ValueError(
                "Metrics of intervals with a delay need an OnlinePipeline, not a "
                "Pipeline."
            )
        self._labels = np.empty(0)  # that are learned at present
        nothing = dict.fromkeys(("X", "y", "known"), np.empty(0))
        nothing |= {"numbers": np.empty(0, np.intp), "waits": np.empty(0, bool)}
        self._nothing = _Block(**nothing, sample_weight=None)
        classes = learner.first_call.get("classes")
        if learner.is_fitted and classes is not None and not adds_classes(estimator):
            _check_partial_fit_first_call(estimator, classes)

    def follow(self, X, y, sample_weight):
        """Predict the rows of a chunk, and learn the rows whose labels come meanwhile.

        Return labels, predictions by method, and weights of the rows that were learned,
        in blocks, without rows that came when nothing was learned yet.
        """
        check_consistent_length(X, y, sample_weight)
        start = learning_time()
        self.learner.infer_classes(y)
        X, times, known, horizon = self.arrivals.read(_as_sliceable(X))
        first, n = self._n_rows, len(y)
        self._n_rows += n
        c = None if sample_weight is None else sample_weight.copy()
        of_rows = {"numbers": np.arange(first, first + n), "known": known}
        of_rows |= {"X": X, "y": y.copy(), "sample_weight": c}
        chunk = _Block(**of_rows, waits=np.ones(n, bool))
        numbers, before = self._due(chunk, times, horizon)
        blocks = self._process(chunk, numbers, before)
        self._store.own(first)
        self.learner.seconds += learning_time() - start
        return self._scores(blocks)

    def finish(self):
        """Learn the rows that wait, and return them as :meth:`follow`."""
        start = learning_time()
        end = np.finfo(np.float64).max  # other labels never come
        numbers, before = self._due(self._nothing, np.empty(0), end)
        blocks = []
        if len(numbers):
            blocks = self._process(self._nothing, numbers, before)
        self.learner.seconds += learning_time() - start
        return self._scores(blocks)

    def state(self):
        """Return the rows that wait and what is known of them, as plain data."""
        return {
            "waiting": self._store.packed(),
            "arrivals": self.arrivals.state(),
            "n_rows": self._n_rows,
        }

    def restore(self, state):
        """Go on from a :meth:`state`."""
        for packed in state["waiting"]:
            X = waiting.unpack_rows(packed["X"])
            self._store.add(_Block(**packed | {"X": X}))
        self.arrivals.restore(state["arrivals"])
        self._n_rows = state["n_rows"]

    def lacks_classes(self, y):
        """Whether labels show that the first chunk did not have all classes."""
        return any(self.learner.lacks_classes(each) for each in (y, self._labels))

    def _due(self, chunk, times, horizon):
        """Return the rows whose labels come by the horizon, and before which row each.

        These are rows that wait or of the chunk, which come at `times`.
        """
        due = [block.due(horizon) for block in (*self._store, chunk)]
        numbers, known = map(np.concatenate, zip(*due, strict=True))
        before = np.searchsorted(times, known)
        before = np.maximum(before, numbers - (self._n_rows - len(chunk)) + 1)
        order = np.lexsort([numbers, known, before])
        return numbers[order], before[order]

    def _scores(self, blocks):
        """Return what rows that were learned are scored by.

        All classes of their labels are known now; predictions may be older.
        """
        classes = self.learner.classes if blocks else None
        scored = [each for each in blocks if each.predictions is not None]
        rows = [each.with_classes(classes) for each in scored]
        return [(each.y, each.predictions, each.sample_weight) for each in rows]

    # Predict a chunk, and learn rows with the given numbers, each before a row of the
    # chunk. Return their blocks.

    def _process_chunk(self, chunk, numbers, before):
        """Predict the whole chunk, then learn."""
        learner = self.learner
        if learner.is_fitted and len(chunk):
            chunk.predictions = learner.predict(chunk.X)
            chunk.classes = learner.classes
        self._store.add(_coming(chunk))
        blocks = self._take(numbers) if len(numbers) else []
        for block in _learned_together(blocks):
            self._labels = block.y
            learner.learn(block.X, block.y, block.sample_weight)
        return blocks

    def _process_rows(self, chunk, numbers, before):
        """Predict each row by what has learned all labels that came before it."""
        blocks, n = [], len(chunk)
        if not self.learner.is_fitted:
            if not len(numbers):
                self._store.add(chunk)
                return []
            self._store.add(chunk[: before[0]])
            blocks += self._learn_first(numbers[0])
            chunk, n = chunk[before[0] :], n - before[0]
            numbers, before = numbers[1:], before[1:] - before[0]
        # Parts, in each of which no row comes and is learned: up to the first label of
        # one of its rows. The last one has labels that come after all rows.
        own, ends = numbers - (self._n_rows - n), np.full(n + 1, n + 1)
        ends[own[own >= 0]] = before[own >= 0]
        ends, start = np.minimum.accumulate(ends[::-1])[::-1], 0
        while start < max(n, 1 + before.max(initial=-1)):
            end = ends[start]
            due = slice(*np.searchsorted(before, [start, end]))
            rows = chunk[start:end], numbers[due], before[due] - start
            blocks += self._process_part(*rows)
            start = end
        return blocks

    def _learn_first(self, number):
        """Learn the first row; then the rows come that came before its label.

        They are predicted, not to be scored, but for the losses that decide later.
        """
        blocks, learner = self._take(np.array([number])), self.learner
        (block,) = blocks
        self._labels = block.y
        learner.learn(block.X, block.y, block.sample_weight)
        self._store.observe(lambda X: learner.predictor._come(X, learner.methods)[1])
        return blocks

    def _process_part(self, chunk, numbers, before):
        """Predict and learn rows, of which none comes and is learned."""
        due = self._take(numbers) if len(numbers) else []
        # In the order of time: each label before its row.
        keys = np.concatenate([2 * np.arange(len(chunk)) + 1, 2 * before])
        is_label = np.argsort(keys, kind="stable") >= len(chunk)
        n_switches, predictor = np.diff(is_label).sum(), self.learner.predictor
        late = _learned_together(due)
        if len(late) == 1 and n_switches > 1 and self.learner.knows(late[0].y):
            self._labels = late[0].y
            rows = late[0].X, late[0].y, late[0].sample_weight, is_label
            self._predict(chunk, predictor._follow, *rows)
            return due
        starts = np.cumsum([0, *map(len, late)])
        for is_learned, rows in waiting.runs(is_label):
            if not is_learned:
                self._predict(chunk[rows], predictor._come)
                continue
            first, last = np.searchsorted(starts, [rows.start + 1, rows.stop]) - 1
            for i in range(first, last + 1):
                now = late[i][max(rows.start - starts[i], 0) : rows.stop - starts[i]]
                self._labels = now.y
                predictor._learn_waiting(now.X, now.y, now.sample_weight)
        return due

    def _predict(self, chunk, predict, *late):
        """Predict the rows of a chunk, perhaps while others are learned; store them."""
        learner = self.learner
        predictions, chunk.X = predict(chunk.X, learner.methods, *late)
        found = predictions if len(learner.methods) > 1 else predictions[0]
        chunk.predictions, chunk.classes = learner.with_labels(found), learner.classes
        self._store.add(_coming(chunk))

    def _take(self, numbers):
        classes = self.learner.classes if self.learner.is_fitted else None
        return self._store.take(numbers, classes)


def _learned_together(blocks):
    """Join rows to learn, whose predictions do not count then, if they can be."""
    blocks = [replace(block, predictions=None, classes=None) for block in blocks]
    if len({block.key for block in blocks}) != 1:
        return blocks
    return [_joined(blocks, None)]


def _coming(block):
    """Return the rows whose labels will come."""
    comes = block.known < np.inf
    return block if comes.all() else block[np.flatnonzero(comes)]


def _copied(X):
    """Copy rows, but for what was predicted, which nothing changes."""
    if not isinstance(X, waiting.Waiting):
        return deepcopy(X)
    inputs = tuple((name, deepcopy(each)) for name, each in X.inputs)
    return X._replace(X=_copied(X.X), inputs=inputs)


def _as_sliceable(X):
    """Return rows of a kind that can be sliced, and that is read fast."""
    if sparse.issparse(X):
        return X.tocsr()
    return np.asarray(X) if isinstance(X, np.memmap) else X
