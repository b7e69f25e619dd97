"""What all models have: learning block by block, and counting what it cost."""

from abc import ABCMeta, abstractmethod
from copy import deepcopy
from numbers import Integral
from typing import NamedTuple

import numpy as np

from .._invariants import floats
from ..engines.protocol import Answers, State, Task
from ..learners.interface import traits
from .weights import WeightScale

__all__ = ["BLOCK_ROWS", "Learned", "Model", "OnlineModel", "ordered_blocks"]

# A block is what the engines see at a time: enough rows to forget what a block costs,
# few enough for what is kept of each to be small.
BLOCK_ROWS = 8192

#: A learner that declares it stays finite on values and weights up to this.
LARGEST_TAME = 1e100


class Learned(NamedTuple):
    """A block of rows that was learned."""

    rows: slice | np.ndarray  # which rows of the chunk
    predictions: np.ndarray  # (n, n_outputs), each made before its row was learned
    all_finite: bool  # whether those that the learner is charged for are


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
    t : int
        Number of trials so far: rows with a positive weight.
    cumulative_loss : float
        Weighted sum of the losses of the predictions made before each update.
    """

    def __init__(self, loss, n_outputs):
        self.loss = loss
        self.n_outputs = n_outputs
        self.t = 0
        self.cumulative_loss = 0.0

    @abstractmethod
    def learn(self, X, y, sample_weight=None, order=None, again=False):
        """Learn from rows in order.

        Parameters
        ----------
        X : ndarray or CSR array of shape (n, n_features)
            Features.
        y : ndarray of shape (n,) or (n, n_outputs)
            Indices of classes, or targets that are numbers.
        sample_weight : ndarray of shape (n,), default=None
            Non-negative weights; None stands for ones.
        order : ndarray of int, default=None
            The order of the rows; None stands for the one they have.
        again : bool, default=False
            Whether these are the rows of the last call once more.

        Yields
        ------
        learned : Learned
            For each block.
        """

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

    def checkpoint(self):
        """Copy that goes on from here, whatever the model learns from now on."""
        return deepcopy(self)

    def is_small_beside(self, X):
        """Whether a checkpoint costs little beside learning from the rows."""
        return True

    def way_back(self, X, largest):
        """How to undo what learning the rows will do.

        Parameters
        ----------
        X : ndarray or CSR array of shape (n, n_features)
            The rows that are about to be learned.
        largest : float
            The largest of their values and weights, infinity if that is not known.

        Returns
        -------
        restore : callable
            Takes the model back to what it is now.
        """
        return self._restoring(vars(self.checkpoint()))

    def invariants(self):
        """What holds between two calls, see :mod:`sklearn_scinol._invariants`."""
        yield "t is a whole number", isinstance(self.t, Integral)
        yield "t >= 0", self.t >= 0
        yield "cumulative_loss is finite", np.isfinite(self.cumulative_loss)
        yield "cumulative_loss >= 0", self.cumulative_loss >= 0.0

    def _suffer(self, engine, block, predictions):
        """Count what predictions cost; return losses, and whether all are finite."""
        losses, self.cumulative_loss, all_finite = engine.charge(
            self.loss, block, predictions, self.cumulative_loss
        )
        return losses, all_finite

    def _restoring(self, before):
        def restore():
            vars(self).update(before)

        return restore


def ordered_blocks(n, size, order=None):
    """Give `n` rows in order, as slices or indices, at most `size` at a time."""
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        yield rows if order is None else order[rows]


def given_weights(rows, n, sample_weight):
    """Weights of `n` rows, or their number where none are given."""
    if sample_weight is None:
        return n
    return np.require(sample_weight[rows], np.float64, ["C", "W"])


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
    weight_scale : WeightScale
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
        self.weight_scale = WeightScale()

    @property
    def traits(self):
        """What the learner has."""
        return traits(type(self.learner))

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
        names = self.learner.Shared._fields if self.traits.by_row else ()
        yield "shared has an array for each name", len(self.shared) == len(names)
        for name, values in zip(names, self.shared, strict=True):
            yield from floats(name, values, (self.n_outputs,))
        yield from floats("clock", self.clock, (2, self.n_outputs))
        yield "clock >= 0", self.clock >= 0.0
        yield "clock counts trials", self.clock[1] <= self.t

    def _learner_invariants(self, s):
        """What the learner states, if it does."""
        if hasattr(self.learner, "invariants"):
            yield from self.learner.invariants(s, self.shared_state(), self.t)

    def shared_state(self):
        """Named arrays of what the learner keeps for all coordinates of an output."""
        return self.learner.Shared(*self.shared) if self.traits.by_row else None

    def _state(self, fields=None, arrays=(), first=None):
        """What learning changes, for engines."""
        return State(fields, self.shared, arrays, first, self.clock, float(self.t))

    def _answers(self, n):
        shape = n, self.n_outputs
        averaged = np.empty(shape) if self.average else None
        return Answers(np.empty(shape), averaged)

    def _arrange(self):
        """Make the state what engines take; joblib maps large ones, to be read only."""
        self.shared = np.require(self.shared, requirements=["W", "E"])
        self.clock = np.require(self.clock, requirements=["W", "E"])

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
