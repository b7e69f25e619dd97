"""What all models have: learning block by block, and counting what it cost."""

from abc import ABCMeta, abstractmethod
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._hyperparameters import is_native, restored, stored
from .._invariants import floats, is_count, is_number, parameters, same_structure
from ..blocks import Block, Predictions, RowWeights, State, Task, as_writable
from ..config import current_engine
from ..engines import get_engine
from ..learners.interface import traits
from ..losses import as_targets
from ..transforms.placement import Placement
from .weights import MIN_RELATIVE_WEIGHT, WeightScale, is_usual

__all__ = [
    "BLOCK_ROWS",
    "MAX_SAFE_VALUE",
    "Chunk",
    "Learned",
    "Model",
    "OnlineModel",
    "in_common_columns",
    "ordered_blocks",
    "snapshot",
]

# A block is what the engines see at a time: enough rows to forget what a block costs,
# few enough for what is kept of each to be small.
BLOCK_ROWS = 16384

# Up to this, numbers of rows are integers that float64 has.
MAX_ROWS = 2**53

#: Values up to this are far from the end of the range, with any loss.
MAX_SAFE_VALUE = 1e30

# No parameter of a loss is above it.
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
    stages : list of (slice, ndarray), default=()
        With labels, rows at which the same classes are known, and these.
    """

    def __init__(self, X, y, sample_weight=None, stages=()):
        self.X, self.y, self.sample_weight = X, y, sample_weight
        self.stages = stages

    def __len__(self):
        return self.X.shape[0]

    def part(self, rows):
        """The chunk of some of the rows."""
        c = self.sample_weight
        return Chunk(self.X[rows], self.y[rows], None if c is None else c[rows])

    def total_weight(self, rows):
        """Sum of the weights of some rows, as they were given."""
        c = self.sample_weight
        return len(self.y[rows]) if c is None else c[rows].sum()

    @cached_property
    def largest(self):
        """No less than the largest absolute value of sparse rows and their targets."""
        engine = get_engine(current_engine())
        norm = engine.norm(np.require(self.X.data, np.float64))
        return max(norm, np.abs(self.y).max(initial=0))

    def targets(self, loss, n_outputs, rows):
        """Targets of some rows, as the loss takes them."""
        return as_targets(self.y[rows], loss, n_outputs)

    def weights(self, scale, rows):
        """Weights of some rows, on a stream with that scale."""
        given = self.sample_weight
        if given is None:
            given = len(self.y[rows])
        else:
            given = np.require(given[rows], np.float64, ["C", "W"])
        return scale.relative(given)


class Origins(NamedTuple):
    """What the outputs of a model were before there were more of them."""

    places: np.ndarray  # (n_outputs,), the output that each one was; any for new ones
    signs: np.ndarray  # (n_outputs,), 1; -1 for its mirror image; 0 for new ones

    @property
    def is_new(self):
        return self.signs == 0


class Learned(NamedTuple):
    """A block of rows that was learned."""

    rows: slice | np.ndarray  # which rows of the chunk
    predictions: np.ndarray  # (n, n_outputs), each made before its row was learned
    all_finite: bool  # whether they are, and those that the learner is charged for


class Model(metaclass=ABCMeta):
    """What an estimator has learned: predicts, learns, counts what it was charged.

    Parameters
    ----------
    loss : Loss
        The loss, with its parameters.
    n_outputs : int
        Number of outputs.

    Attributes
    ----------
    numbers : ndarray of shape (2,)
        `t` and `cumulative_loss`, for engines.
    weight_scale : WeightScale
    """

    #: Whether it is one of several that learned different rows.
    is_merged = False

    def __init__(self, loss, n_outputs):
        self.loss = loss
        self.n_outputs = n_outputs
        self.numbers = np.zeros(2)
        self.weight_scale = WeightScale()

    @property
    def t(self):
        """Number of trials so far: rows with a positive weight."""
        return int(self.numbers[0])

    @t.setter
    def t(self, value):
        self.numbers[0] = value

    @property
    def cumulative_loss(self):
        """Weighted sum of the losses of the predictions made before each update."""
        return self.numbers.item(1)

    @cumulative_loss.setter
    def cumulative_loss(self, value):
        self.numbers[1] = value

    @abstractmethod
    def learn(self, chunk, order=None, again=False, are_new=True):
        """Learn from rows in order.

        Parameters
        ----------
        chunk : Chunk
        order : ndarray of int, default=None
            The order of the rows, which need not be all; None stands for the one they
            have.
        again : bool, default=False
            Whether this is the chunk of the last call once more.
        are_new : bool, default=True
            Whether no call has learned these rows of it yet.

        Yields
        ------
        learned : Learned
            For each block.
        """

    def end_call(self):  # noqa: B027 - most models have no experts
        """Let experts record what the rows learned since the last call cost them."""

    @abstractmethod
    def add_classes(self, loss, is_new):
        """Go on with more classes than there were.

        Parameters
        ----------
        loss : Loss
            That of all of them.
        is_new : ndarray of bool of shape (n_classes,)
            Which of them are new; at least three classes, of which two are not.
        """

    def arrays_of_outputs(self):
        """Return large arrays that `add_classes` replaces by others."""
        return []

    @abstractmethod
    def decision(self, X):
        """Predictions of rows, each as if it were the next one to learn from.

        Parameters
        ----------
        X : ndarray or CSR array of shape (n, n_features)

        Returns
        -------
        p : ndarray of shape (n, n_outputs)
        """

    def mean_loss(self, chunk):
        """Weighted mean of the losses of rows that are predicted now."""
        c = chunk.sample_weight
        c = np.ones(len(chunk)) if c is None else c
        targets = chunk.targets(self.loss, self.n_outputs, slice(None))
        block = Block((), None, targets, RowWeights(c, c, c[:0]), None)
        engine = get_engine(current_engine())
        with np.errstate(all="ignore"):  # infinite if it is
            decision = self.decision(chunk.X)
            _, total = engine.charge(self.loss, block, decision, 0.0)
            return float(total / c.sum())

    # Merging.

    @abstractmethod
    def fresh(self):
        """The same before the first row."""

    @abstractmethod
    def with_columns(self, placement):
        """The model as it would be, had its rows had other columns.

        Parameters
        ----------
        placement : Placement

        Returns
        -------
        model : Model
            A copy to be merged with others, which shares state with this one.
        """

    def seen_columns(self):
        """Columns that rows had, as a mask, if all others are as at first; or None."""
        return None

    def take_numbers(self, shards):
        """Count the rows of several models, and what they cost.

        Parameters
        ----------
        shards : Shards

        Returns
        -------
        shards : Shards
            The same, where sample weights have the same unit.
        """
        self.is_merged = True
        self.numbers = np.maximum(shards.numbers.sum(), 0.0)
        scales = shards.of(lambda model: model.weight_scale)
        self.weight_scale, factors = WeightScale.merged(scales)
        return shards.in_units(factors)

    @abstractmethod
    def is_finite(self, chunk):
        """Whether the state is, after rows were learned and predictions were."""

    @abstractmethod
    def checkpoint(self, X):
        """How to undo what learning the rows `X` will do.

        Parameters
        ----------
        X : ndarray or CSR array of shape (n, n_features)

        Returns
        -------
        restore : callable
            Takes the model back to what it is now.
        """

    def prepared(self, engine, n_features, n_classes, n_entries=None):
        """Prepare to learn one row after the other, once a row was learned.

        Parameters
        ----------
        engine : Engine
        n_features : int
        n_classes : int or None
            None in regression.
        n_entries : int, default=None
            Number of entries of the next row, if rows are sparse.

        Returns
        -------
        prepared : PreparedModel or None
            None where there is no faster way than that of chunks.
        """
        return None

    def checkpoint_row_boundary(self, chunk):
        """How to leave a whole number of rows learned, where that costs less.

        Parameters
        ----------
        chunk : Chunk

        Returns
        -------
        restore : callable
            As :meth:`checkpoint`; or, where no row can make the model diverge, takes it
            to the rows that it has learned.
        """
        return self.checkpoint(chunk.X)

    def invariants(self):
        """What holds between two calls, see :mod:`sklearn_scinol._invariants`."""
        yield "n_outputs is a number of outputs", is_count(self.n_outputs, 1)
        yield from parameters("loss", self.loss, 0.0, MAX_PARAMETER)
        is_of_two = self.n_outputs <= 2
        yield "a joint loss is of three classes", not (self.loss.joint and is_of_two)
        yield from floats("numbers", self.numbers, (2,))
        yield "t is a whole number", self.numbers[0] == self.t
        yield "t is a number of rows", 0 <= self.t <= MAX_ROWS
        yield "cumulative_loss >= 0", self.cumulative_loss >= 0.0
        yield from floats("weight scale", self.weight_scale.numbers, (2,))
        unit, smallest = self.weight_scale.numbers
        yield (
            "unit of weights is positive once rows are learned",
            (unit >= 0.0 and (unit > 0.0 or self.t == 0)),
        )
        yield "unit of weights is a weight", is_usual(unit)
        yield "no weight is smaller", MIN_RELATIVE_WEIGHT <= smallest <= 1.0

    def _ensure_layout(self):
        """Make the state what engines take; joblib maps arrays, to be read only."""
        self.numbers = as_writable(self.numbers)
        self.weight_scale.ensure_layout()

    def _add_losses(self, engine, block, predictions):
        """Count what predictions cost; return the losses."""
        losses, self.cumulative_loss = engine.charge(
            self.loss, block, predictions, self.cumulative_loss
        )
        return losses


def snapshot(*parts):
    """How to take objects, and the arrays and lists in them, back to what they are."""
    before = [
        {name: _copied(value) for name, value in vars(part).items()} for part in parts
    ]

    def restore():
        for part, attributes in zip(parts, before, strict=True):
            vars(part).clear()
            vars(part).update(attributes)

    return restore


def _copied(value):
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    return value


def ordered_blocks(n, size, order=None):
    """Give `n` rows in order, as slices or indices, at most `size` at a time."""
    if order is not None:
        n = len(order)
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        yield rows if order is None else order[rows]


class OnlineModel(Model):
    """A model under an online learner, whatever its weights are stored as.

    Parameters
    ----------
    learner : Learner
        The algorithm, with its hyperparameters.
    loss : Loss
        The loss, with its parameters.
    n_features, n_outputs : int
        Numbers of features and of outputs.
    fit_intercept : bool
        Whether a constant feature 1 is added, as the last coordinate.
    average : int
        The trial from which on weights are averaged; 0 for none.

    Attributes
    ----------
    shared : ndarray of shape (n_shared, n_outputs)
        What the learner keeps for all coordinates of an output, if anything.
    clock : ndarray of shape (2, n_outputs)
        See :mod:`.learners.bases.averaging`.
    reference : int or None
        The output of a joint loss, if any, that was 0 while there were two classes.
    """

    def __init__(self, learner, loss, n_features, n_outputs, fit_intercept, average):
        super().__init__(loss, n_outputs)
        self.learner = learner
        self.n_features = n_features
        self.fit_intercept = fit_intercept
        self.average = average
        shared = [*learner.initial_shared()] if self.traits.by_row else []
        self.shared = np.tile(np.reshape(shared, (-1, 1)), n_outputs)
        self.clock = np.zeros((2, n_outputs))
        self.reference = None

    # Older pickles have the learner itself.

    def __getstate__(self):
        state = vars(self) | {"learner": stored(self.learner)}
        if not is_native(type(self.loss)):
            state["loss"] = stored(self.loss)
        return state

    def __setstate__(self, state):
        names = "learner", "loss"
        vars(self).update(state, **{name: restored(state[name]) for name in names})

    def fresh(self):
        return type(self)(
            self.learner,
            self.loss,
            self.n_features,
            self.n_outputs,
            fit_intercept=self.fit_intercept,
            average=self.average,
            **self._options,
        )

    def take_numbers(self, shards):
        if not hasattr(self.learner, "merged"):
            name = type(self.learner).__name__
            raise TypeError(
                f"{name} cannot be merged: a learner must declare `merged` for that."
            )
        return super().take_numbers(shards)

    @property
    @abstractmethod
    def _options(self):
        """What else such a model is made with, before the first row."""

    def add_classes(self, loss, is_new):
        old, signs = np.flatnonzero(~is_new), np.where(is_new, 0, 1)
        places = np.cumsum(signs) - 1
        if self.n_outputs == 1:  # for the second of two classes
            places[:] = 0
            signs[old[0]] = 0 if loss.joint else -1
            self.reference = int(old[0]) if loss.joint else None
        elif self.reference is not None:
            self.reference = int(old[self.reference])
        self.loss, self.n_outputs = loss, is_new.size
        self._add_outputs(Origins(np.maximum(places, 0), signs))

    def _add_outputs(self, origins):
        """Let new outputs be as if no loss had had a slope with respect to them."""
        is_new = origins.is_new
        if self.traits.by_row:
            self.shared = self.shared[:, origins.places]
            some = self.learner.Shared(*self.shared[:, is_new])
            self._store_idle("shared", self.shared, some, is_new)
        self.clock = np.where(is_new, 0.0, self.clock[:, origins.places])

    def _store_idle(self, kind, arrays, some, is_new):
        """Put the state of new outputs into arrays, by that of as many old ones."""
        by_old = getattr(self.learner, f"idle_{kind}", None)
        idle = by_old(some) if by_old else getattr(self.learner, f"initial_{kind}")()
        for values, new in zip(arrays, idle, strict=False):
            values[is_new] = new

    @property
    def traits(self):
        """What the learner has."""
        return traits(type(self.learner))

    @property
    def bounds_regret(self):
        """Whether a bound on the regret is known."""
        return self.traits.bounds_regret

    @property
    def averaging_starts(self):
        """Number of trials before averaging."""
        return max(self.average - 1, 0)

    @property
    def averages(self):
        """Whether predictions are those of averaged weights by now."""
        return 0 < self.average <= self.t

    @property
    def lipschitz(self):
        """What derivatives of the loss are divided by for the learner."""
        return self.loss.lipschitz if self.traits.bounded_gradients else 1.0

    @property
    def row_scale(self):
        """What rows are multiplied by for the learner, so that its loss is the loss."""
        return self.lipschitz

    @property
    def scale_of_predicted(self):
        """What rows that are only predicted are multiplied by for the learner."""
        return self.row_scale * self.weight_scale.smallest

    @property
    def task(self):
        """What stays the same all through the stream, for engines."""
        return Task(
            self.learner,
            self.loss,
            float(self.row_scale),
            float(self.lipschitz),
            float(self.averaging_starts),
            bool(self.fit_intercept),
        )

    def invariants(self):
        yield from super().invariants()
        yield "n_features is a number of features", is_count(self.n_features, 1)
        yield "average is a number of a trial", is_count(self.average)
        yield "fit_intercept is true or false", is_number(self.fit_intercept, bool)
        yield from parameters("learner", self.learner, 0.0, np.inf)
        is_bounded = np.isfinite(self.lipschitz)
        yield "slopes are bounded", is_bounded or not self.traits.bounded_gradients
        yield from self._sizes()
        yield from same_structure(self, self.fresh(), "model")
        names = self.learner.Shared._fields if self.traits.by_row else ()
        yield "shared has an array for each name", len(self.shared) == len(names)
        for name, values in zip(names, self.shared, strict=True):
            yield from floats(name, values, (self.n_outputs,))
        yield from floats("clock", self.clock, (2, self.n_outputs))
        yield "clock >= 0", self.clock >= 0.0
        yield "clock counts trials", self.clock[1] <= self.t
        if self.reference is not None:
            yield "reference is an output", is_count(self.reference)
            yield "reference is one of the outputs", self.reference < self.n_outputs

    def _sizes(self):
        """What holds of the numbers that say how much memory a new one takes."""
        yield "clock is of the outputs", self.clock.shape == (2, self.n_outputs)

    def _learner_invariants(self, s):
        """What the learner states, if it does."""
        if hasattr(self.learner, "invariants"):
            yield from self.learner.invariants(s, self.shared_state(), self.t)

    def shared_state(self):
        """Named arrays of what the learner keeps for all coordinates of an output."""
        return self.learner.Shared(*self.shared) if self.traits.by_row else None

    def in_units_of_loss(self, name):
        """One of them that is a sum of losses, with weights as they were given."""
        return getattr(self.shared_state(), name) * (self.weight_scale.unit or 1.0)

    def _state(self, fields=None, arrays=(), first=None):
        """What learning changes, for engines."""
        numbers = self.numbers, self.weight_scale.numbers
        return State(fields, self.shared, arrays, first, self.clock, *numbers)

    def _answers(self, n):
        shape = n, self.n_outputs
        averaged = np.empty(shape) if self.average else None
        losses = np.empty((n, 1 if self.loss.joint else self.n_outputs))
        return Predictions(np.empty(shape), averaged, losses)

    def _ensure_layout(self):
        super()._ensure_layout()
        self.shared = as_writable(self.shared)
        self.clock = as_writable(self.clock)

    def _factor(self, q):
        """What the vectors are multiplied by, for rows of squared norm `q`."""
        if not self.traits.by_row:
            return 1.0
        return self.learner.factor(self.shared_state(), ..., q, self.t + 1)

    def _factor_at_rest(self):
        """The same for each output, but without a row."""
        return self._factor(0.0) * np.ones(self.n_outputs)

    def _bound(self, s, u, first):
        """Bound on the regret against the vectors `u`, from the learner's state."""
        with np.errstate(all="ignore"):
            bounds = self.learner.regret_bound(s, self.shared_state(), u, self.t, first)
        return float(bounds.sum()) * (self.weight_scale.unit or 1.0)


def in_common_columns(models, placements):
    """Models to be merged with the same columns, if few: those that rows had.

    Parameters
    ----------
    models : list of Model
    placements : list of Placement or None
        Where their columns lie; None for those that are as they are.

    Returns
    -------
    models : list of Model
    back : Placement or None
        Of the columns of the merged model, if these are not all.
    """
    seen = [model.seen_columns() for model in models]
    back = None
    if all(of_model is not None for of_model in seen):
        unmoved = Placement.unmoved(seen[0].size)
        given = [placement or unmoved for placement in placements]
        pairs = zip(given, seen, strict=True)
        columns = np.flatnonzero(sum(place.reaches(each) for place, each in pairs))
        if 0 < 2 * columns.size < unmoved.n_columns:
            back = unmoved.take(columns).reversed()
            placements = [placement.take(columns) for placement in given]
    pairs = zip(models, placements, strict=True)
    return [
        model if placement is None else model.with_columns(placement)
        for model, placement in pairs
    ], back
