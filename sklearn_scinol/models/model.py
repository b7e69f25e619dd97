"""Chunks of rows, and the interface of models that learn them block by block."""

from abc import ABCMeta, abstractmethod
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._invariants import floats, is_count, parameters
from .._parallel import run_in_turn
from .._state import Part, checkpoint, number_at, parts_of
from ..blocks import Block, DenseRows, RowWeights
from ..config import current_engine
from ..losses import as_targets
from ..losses.methods import is_by_output
from ..transforms.placement import Placement
from ..views import dense_view_of
from .weights import WeightScale

# Rows that engines learn at a time: enough to hide the overhead of a block, few enough
# for its buffers to be small.
BLOCK_ROWS = 16384

# Largest number of rows that float64 counts exactly.
MAX_ROWS = 2**53

#: Values up to this cannot overflow, with any loss.
MAX_SAFE_VALUE = 1e30

# Largest parameter of a loss.
MAX_PARAMETER = 1e100


class Chunk:
    """Rows of one call, in order.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, n_features)
        Features.
    y : ndarray of shape (n,) or (n, n_outputs)
        Indices of classes, or targets that are numbers.
    sample_weight : ndarray of shape (n,), default=None
        Non-negative weights; None stands for ones.
    class_segments : list of (slice, ndarray), default=()
        With labels, ranges of rows and the classes that are known at them.
    served : Served or ServedRows, default=None
        Predictions that the rows were served, if their labels came late.
    """

    def __init__(self, X, y, sample_weight=None, class_segments=(), served=None):
        self.X, self.y, self.sample_weight = X, y, sample_weight
        self.class_segments = class_segments
        self.served = served

    def __len__(self):
        return self.X.shape[0]

    def part(self, rows):
        """Return a chunk of some of the rows."""
        c, served = self.sample_weight, self.served
        return Chunk(
            self.X[rows],
            self.y[rows],
            None if c is None else c[rows],
            served=None if served is None else served[rows],
        )

    def with_served(self, served):
        """Return a chunk of the same rows with other predictions."""
        rest = self.y, self.sample_weight, self.class_segments
        return Chunk(self.X, *rest, served)

    def total_weight(self, rows):
        """Return the sum of the sample weights of some rows."""
        c = self.sample_weight
        return len(self.y[rows]) if c is None else c[rows].sum()

    @cached_property
    def dense_view(self):
        """Chunk of the dense view of the rows; see :class:`TableRows`."""
        X, c = dense_view_of(self.X), self.sample_weight
        return Chunk(X, self.y, c, self.class_segments, self.served)

    @cached_property
    def largest(self):
        """Upper bound of the absolute values of rows and their targets.

        It is NaN or infinite if some are not finite, or if to tell takes a copy.
        """
        X = values = self.X
        if sparse.issparse(X):
            values = X.data
        elif not (X.dtype == np.float64 and X.flags.c_contiguous):
            return np.inf
        norm = current_engine().norm(np.require(values, np.float64))
        return max(norm, np.abs(self.y).max(initial=0))

    def is_within(self, largest, weights):
        """Whether values, times the weights of their rows, are up to some number."""
        return bool(self.largest <= largest / weights.largest())

    def targets(self, loss, n_outputs, rows):
        """Return the targets of some rows in the form the loss takes."""
        return as_targets(self.y[rows], loss, n_outputs)

    def _weights(self, rows):
        if self.sample_weight is None:
            return len(self.y[rows])
        return np.require(self.sample_weight[rows], np.float64, ["C", "W"])

    def count_of_one_prior(self, scale, rows):
        """Count the first of some rows that are learned with one unit of the wealth."""
        return scale.count_of_one_prior(self._weights(rows))

    def count_to(self, rows, n):
        """Count the first of some rows up to the `n`-th that is learned, or to all."""
        y, c = self.y[rows], self.sample_weight
        if len(y) <= n or c is None:
            return min(len(y), n)
        n_learned = np.cumsum(c[rows] > 0.0)
        return min(int(np.searchsorted(n_learned, n)) + 1, len(y))

    def weights(self, scale, rows):
        """Return the weights of some rows on a stream with a weight scale."""
        return scale.relative(self._weights(rows))


class Learned(NamedTuple):
    """Rows that were learned, with the predictions made before."""

    rows: slice | np.ndarray  # of the chunk
    predictions: np.ndarray  # (n, n_outputs)
    all_finite: bool  # also of the predictions that the learner is charged for


class Model(Part, metaclass=ABCMeta):
    """State of an estimator: predicts, learns, and adds up its losses.

    Attributes
    ----------
    numbers : ndarray of shape (2,)
        `t` and `cumulative_loss`, for engines.
    is_late : ndarray of shape (1,)
        1 if it has learned rows for which another prediction was served, or in mixtures
        other weights, else 0.
    """

    #: Sessions for sizes of chunks, which are none of the attributes of the state.
    __slots__ = ("_sessions",)

    #: Whether it was merged from models that learned different rows.
    is_merged = False

    #: Number of learned rows at which the state changes by more than learning, and one
    #: from which on there may be no room.
    next_change: float = np.inf
    next_growth: float = np.inf

    #: Type of its sessions, which learn a few rows: see models/session.py.
    session_type: type | None = None

    #: Key of models that share a memory, and learn together; None if it is alone.
    memory_key: tuple | None = None

    def __init__(self, loss, n_outputs):
        self.loss = loss
        self.n_outputs = n_outputs
        self.numbers = np.zeros(2)
        self.is_late = np.zeros(1)
        self.weight_scale = WeightScale()

    def __getstate__(self):
        return vars(self)

    @property
    def t(self):
        """Number of rows learned, which have a positive weight."""
        return int(self.numbers[0])

    #: Weighted sum of the losses of predictions made before each update.
    cumulative_loss = number_at(1)

    @abstractmethod
    def learn(self, chunk, order=None, is_repeated=False, are_new=True):
        """Learn rows of a chunk block by block; yield :class:`Learned` for each.

        `order` has indices of the rows to learn; None stands for all. The call before
        had the same chunk if it `is_repeated`; if not `are_new`, some call has learned
        these rows.
        """

    def look_ahead(self, chunk):
        """Take from rows what helps to learn them, in several epochs."""

    def look_back(self, chunk, order=None, run=run_in_turn):
        """Take from rows that were learned what learning each once cannot.

        `run` runs calls as :func:`run_in_turn` does, or some at a time.
        """

    @abstractmethod
    def add_classes(self, loss, is_new):
        """Extend the model to more classes, at least three, for the loss of them all.

        `is_new` is a mask of the new ones; at least two are not new.
        """

    @abstractmethod
    def decision(self, X):
        """Predict rows, each as if it were the next one: shape (n, n_outputs)."""

    # Rows whose labels come later, see models/served.py.

    @property
    def n_served(self):
        """Number of columns of :class:`ServedRows`."""
        return self.n_outputs

    @property
    def served_key(self):
        """Text that is the same for models whose :class:`ServedRows` are alike."""
        return f"{type(self).__name__} {self.n_served} {self.loss!r}"

    def serve(self, chunk):
        """Predict rows of weight 0 exactly as they would be before they are learned.

        The :class:`ServedRows` of the chunk get their predictions.
        """
        return np.concatenate([each.predictions for each in self.learn(chunk)])

    def mean_loss(self, chunk):
        """Return the weighted mean loss of predictions by the present model."""
        c = chunk.sample_weight
        c = np.ones(len(chunk)) if c is None else c
        targets = chunk.targets(self.loss, self.n_outputs, slice(None))
        block = Block((), None, targets, RowWeights(c, c, c, c[:0]), None)
        engine = current_engine()
        with np.errstate(all="ignore"):  # the loss may be infinite
            decision = self.decision(chunk.X)
            numbers = np.zeros(2)
            engine.compute_losses(self.loss, block, decision, numbers)
            return float(numbers[1] / c.sum())

    # Merging.

    @abstractmethod
    def fresh(self):
        """Return a copy that has not learned anything."""

    @abstractmethod
    def with_columns(self, placement):
        """Return a copy for rows with other columns, to be merged with others.

        The copy shares state with this model. A :class:`Placement` maps the columns.
        """

    def seen_columns(self):
        """Return a mask of learned columns, or None if others may have changed."""
        return None

    def merge_counts(self, shards):
        """Add up rows and losses of models; return models in one unit."""
        self.is_merged = True
        self.numbers = np.maximum(shards.numbers.sum(), 0.0)
        self.is_late = shards.is_late.max()
        self.weight_scale, factors = WeightScale.merged(shards.weight_scale)
        return shards.in_units(factors)

    def in_units_of_means(self, shards):
        """Return models with rows in units of the mean weights; see WeightScale."""
        mean, pairs = self.weight_scale.mean, zip(shards, shards.units, strict=True)
        units = [unit * (each.weight_scale.mean / mean) for each, unit in pairs]
        return shards.in_units(units)

    @abstractmethod
    def is_finite(self, chunk):
        """Whether the state is finite, after finite predictions for a chunk."""

    def checkpoint_row_boundary(self, chunk):
        """Return a function that leaves a whole number of rows of a chunk learned.

        By default that is none of them.
        """
        return checkpoint(self, chunk.X)

    def invariants(self):
        """Yield statements that hold between calls; see :mod:`.._invariants`."""
        yield "n_outputs is a number of outputs", is_count(self.n_outputs, 1)
        yield from parameters("loss", self.loss, 0.0, MAX_PARAMETER)
        if is_by_output(self.loss):
            levels = self.loss.quantile
            yield from floats("quantile", levels, (self.n_outputs,))
            yield "quantiles ascend from 0 to 1", np.diff([0.0, *levels, 1.0]) > 0.0
        is_of_two = self.n_outputs <= 2
        yield "a joint loss has over 2 classes", not (self.loss.joint and is_of_two)
        yield from floats("numbers", self.numbers, (2,))
        yield "t is a whole number", self.numbers[0] == self.t
        yield "t is a number of rows", 0 <= self.t <= MAX_ROWS
        yield "cumulative_loss >= 0", self.cumulative_loss >= 0.0
        yield from floats("is_late", self.is_late, (1,))
        yield "is_late is 0 or 1", np.isin(self.is_late, [0.0, 1.0])
        has_unit = self.weight_scale.unit > 0.0 or self.t == 0
        yield "unit of weights is positive once rows are learned", has_unit

    def count_learned(self, weights):
        """Count rows that were learned."""
        self.numbers[0] += np.count_nonzero(weights.given)
        self.weight_scale.learned(weights)


def arrays_of_outputs(model):
    """Return the large arrays that `add_classes` replaces."""
    values = [getattr(part, n) for part in parts_of(model) for n in part._by_output]
    return [*chain.from_iterable(v if type(v) is tuple else (v,) for v in values)]


def at_once(key, function):
    """Call a function of transforms that are not shared."""
    return function()


def fill(array, function, *arguments):
    """Fill an array with what a function returns, in a call of its own."""
    array[:] = function(*arguments)


def dense_rows(X, rows):
    """Return rows of `X` for engines, made dense, copied only where necessary."""
    if sparse.issparse(X):
        return DenseRows(X[rows].toarray().astype(np.float64, copy=False))
    return DenseRows(np.require(X[rows], np.float64, ["C", "W"]))


def ordered_blocks(n, size, order=None, count=None):
    """Yield `n` rows in order, as slices or indices, at most `size` at a time.

    ``count(rows)`` returns how many of the next rows fit into a block.
    """

    def rows(start, stop):
        return slice(start, stop) if order is None else order[start:stop]

    start, n = 0, n if order is None else len(order)
    while start < n:
        stop = min(start + size, n)
        if count is not None:
            stop = min(stop, start + count(rows(start, stop)))
        yield rows(start, stop)
        start = stop


def align_columns(models, placements):
    """Return models with equal columns: only learned columns, if these are few.

    Placements map the columns of the models, or are None. Also returns the placement of
    the columns of the merged model, or None if it has all columns.
    """
    seen = [model.seen_columns() for model in models]
    back = None
    if all(of_model is not None for of_model in seen):
        identity = Placement.identity(seen[0].size)
        given = [placement or identity for placement in placements]
        pairs = zip(given, seen, strict=True)
        columns = np.flatnonzero(sum(place.place_mask(each) for place, each in pairs))
        if 0 < 2 * columns.size < identity.n_columns:
            back = identity.take(columns).reversed()
            placements = [placement.take(columns) for placement in given]
    pairs = zip(models, placements, strict=True)
    return [
        model if placement is None else model.with_columns(placement)
        for model, placement in pairs
    ], back
