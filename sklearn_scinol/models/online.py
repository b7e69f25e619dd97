"""Models under an online learner, however their weights are stored."""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from .._hyperparameters import is_native, restored, stored
from .._invariants import floats, is_count, is_number, parameters, same_structure
from .._portable import MAX_WEALTH, TINY
from ..blocks import Predictions, Task
from ..learners.interface import traits
from .model import Model


class Origins(NamedTuple):
    """Outputs of a model in terms of its outputs before classes were added."""

    sources: np.ndarray  # (n_outputs,), former index; any for new ones
    signs: np.ndarray  # (n_outputs,), 1; -1 for a mirrored output; 0 for new ones

    @property
    def is_new(self):
        return self.signs == 0


class OnlineModel(Model):
    """Model under an online learner.

    Parameters
    ----------
    learner : Learner
        The algorithm, with its hyperparameters.
    fit_intercept : bool
        Whether a constant feature 1 is the last coordinate.
    average : int
        First trial whose weights are averaged; 0 for none.

    Attributes
    ----------
    prior : float
        Unit of the learner's initial wealth, if it has one; see :class:`WeightScale`.
    initial_wealth : float
        In this unit.
    shared : ndarray of shape (n_shared, n_outputs)
        Numbers that the coordinates of an output share, if any.
    clock : ndarray of shape (2, n_outputs)
        See :mod:`.learners.bases.averaging`.
    reference : int or None
        Output of a joint loss that was 0 as long as there were two classes.
    """

    def __init__(self, learner, loss, n_features, n_outputs, fit_intercept, average):
        super().__init__(loss, n_outputs)
        self.learner = learner
        self.initial_wealth = learner.initial_wealth if self.traits.has_wealth else 0.0
        self.prior = 1.0
        self.n_features = n_features
        self.fit_intercept = fit_intercept
        self.average = average
        shared = learner.initial_shared() if self.traits.by_row else ()
        self.shared = np.empty((len(shared), n_outputs))
        for values, initial in zip(self.shared, shared, strict=True):
            values[:] = initial
        self.clock = np.zeros((2, n_outputs))
        self.reference = None

    def __getstate__(self):
        state = vars(self) | {"learner": stored(self.learner)}
        if not is_native(type(self.loss)):
            state["loss"] = stored(self.loss)
        return state

    def __setstate__(self, state):
        names = "learner", "loss"
        vars(self).update(state, **{name: restored(state[name]) for name in names})

    def fresh(self):
        arguments = self._learner_of(1.0), self.loss, self.n_features, self.n_outputs
        keywords = {"fit_intercept": self.fit_intercept, "average": self.average}
        return type(self)(*arguments, **keywords, **self._options)

    def merge_counts(self, shards):
        if not hasattr(self.learner, "merged"):
            name = type(self.learner).__name__
            raise TypeError(
                f"{name} cannot be merged: a learner must declare `merged` for that."
            )
        return super().merge_counts(shards)

    @property
    @abstractmethod
    def _options(self):
        """Further arguments of the constructor, before the first row."""

    def add_classes(self, loss, is_new):
        old, signs = np.flatnonzero(~is_new), np.where(is_new, 0, 1)
        sources = np.cumsum(signs) - 1
        if self.n_outputs == 1:  # for the second of two classes
            sources[:] = 0
            signs[old[0]] = 0 if loss.joint else -1
            self.reference = int(old[0]) if loss.joint else None
        elif self.reference is not None:
            self.reference = int(old[self.reference])
        self.loss, self.n_outputs = loss, is_new.size
        self._add_outputs(Origins(np.maximum(sources, 0), signs))

    def _add_outputs(self, origins):
        """Add outputs, as if no loss had depended on them so far."""
        is_new = origins.is_new
        if self.traits.by_row:
            self.shared = self.shared[:, origins.sources]
            old = self.learner.Shared(*self.shared[:, is_new])
            self._store_idle("shared", self.shared, old, is_new)
        self.clock = np.where(is_new, 0.0, self.clock[:, origins.sources])

    def _store_idle(self, kind, arrays, old, is_new):
        """Store the state of new outputs, derived from the state of old ones."""
        from_old = getattr(self.learner, f"idle_{kind}", None)
        idle = from_old(old) if from_old else getattr(self.learner, f"initial_{kind}")()
        for values, new in zip(arrays, idle, strict=False):
            values[is_new] = new

    @property
    def n_inputs(self):
        """Number of features of rows as they are given."""
        return self.n_features

    @property
    def traits(self):
        """Traits of the learner."""
        return traits(type(self.learner))

    @property
    def bounds_regret(self):
        """Whether a bound on the regret is known."""
        return self.traits.bounds_regret

    @property
    def sees_means(self):
        """Whether the learner sees weights relative to their mean, not to the first.

        Its constants then stand for some rows, whatever the first one weighs. A bound
        on the regret needs the weights as they are.
        """
        return not (self.traits.has_wealth or self.bounds_regret)

    @property
    def averaging_starts(self):
        """Number of trials before averaging."""
        return max(self.average - 1, 0)

    @property
    def n_served(self):
        # Predictions that are charged for, and those by averaged weights.
        return self.n_outputs * (2 if self.average else 1)

    @property
    def averages(self):
        """Whether predictions are by averaged weights now."""
        return 0 < self.average <= self.t

    @property
    def lipschitz(self):
        """Divisor of the derivatives of the loss for the learner."""
        return self.loss.lipschitz if self.traits.bounded_gradients else 1.0

    @property
    def row_scale(self):
        """Factor of rows for the learner, so that its loss is the loss."""
        return self.lipschitz

    @property
    def scale_of_predicted(self):
        """Factor of rows for the learner in predictions without learning."""
        return self.row_scale * self.weight_of_predicted

    @property
    def weight_of_predicted(self):
        """Weight for the learner of a row that is predicted without learning."""
        scale = self.weight_scale
        return scale.smallest_to_mean if self.sees_means else scale.smallest

    @property
    def task(self):
        """Constants of the stream, for engines."""
        scales = float(self.row_scale), float(self.lipschitz)
        starts, fit_intercept = float(self.averaging_starts), bool(self.fit_intercept)
        constants = *scales, starts, fit_intercept, self.sees_means
        return Task(self.learner, self.loss, *constants)

    def invariants(self):
        yield from super().invariants()
        yield "n_features is a number of features", is_count(self.n_features)
        yield "average is a number of trials", is_count(self.average)
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
        yield "clock counts at most t trials", self.clock[1] <= self.t
        if self.reference is not None:
            yield "reference is a count", is_count(self.reference)
            yield "reference is one of the outputs", self.reference < self.n_outputs

    def _sizes(self):
        """Invariants of the sizes of a new model, checked before one is made."""
        yield "clock has all outputs", self.clock.shape == (2, self.n_outputs)

    def _learner_invariants(self, s):
        """Invariants of the learner, if it has any."""
        if hasattr(self.learner, "invariants"):
            yield from self.learner.invariants(s, self.shared_state(), self.t)

    def shared_state(self):
        """Shared numbers of the learner, as named arrays."""
        return self.learner.Shared(*self.shared) if self.traits.by_row else None

    def _learner_of(self, prior):
        """Return the learner with the wealth in some unit."""
        if not self.traits.has_wealth:
            return self.learner
        wealth = np.clip(self.initial_wealth * prior, TINY, MAX_WEALTH)
        return self.learner._replace(initial_wealth=float(wealth))

    def in_units_of_loss(self, name):
        """Shared number that is a sum of losses, in the unit of the sample weights."""
        return getattr(self.shared_state(), name) * (self.weight_scale.unit or 1.0)

    def _empty_predictions(self, n):
        shape = n, self.n_outputs
        averaged = np.empty(shape) if self.average else None
        losses = np.empty((n, 1 if self.loss.joint else self.n_outputs))
        return Predictions(np.empty(shape), averaged, losses)

    def _factor(self, q):
        """Factor of the weights for rows of squared norm `q`."""
        if not self.traits.by_row:
            return 1.0
        return self.learner.factor(self.shared_state(), ..., q, self.t + 1)

    def _output_factors(self):
        """Factors of the weights of all outputs, without a row."""
        return self._factor(0.0) * np.ones(self.n_outputs)

    def _bound(self, s, u, first):
        """Bound on the regret against the weights `u`, from the learner's state."""
        start, prior = self.weight_scale.priors
        learner = self._learner_of(start)
        with np.errstate(all="ignore"):
            bounds = learner.regret_bound(s, self.shared_state(), u, self.t, first)
            if self.traits.has_wealth:
                added = self.initial_wealth * (prior - start)
                bounds = bounds + learner.cost_of_wealth(s, added, self.t)
        return float(bounds.sum()) * (self.weight_scale.unit or 1.0)
