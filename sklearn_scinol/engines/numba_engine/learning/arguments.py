"""Arguments of the loops over rows."""

from typing import NamedTuple

import numpy as np

from ....losses.methods import has_kinks


class LoopState(NamedTuple):
    """State as the loop takes it."""

    s: tuple  # the learner's arrays by their names, in `fields`
    fields: np.ndarray  # (n_fields, K, n_coordinates)
    shared: tuple | None
    first: np.ndarray
    clock: np.ndarray
    numbers: np.ndarray
    weight_scale: np.ndarray


class Scratch(NamedTuple):
    """Buffers of a row."""

    x: np.ndarray  # (2, m), transformed values of a dense row and of the one before
    sums: np.ndarray  # (m,), sums of weights
    w: np.ndarray  # (K, m), weights
    g: np.ndarray  # (K,), derivatives of the loss
    step: np.ndarray  # (K,), what learners by rows make of them
    dots: np.ndarray  # (K,), sums of weight times value


class Row(NamedTuple):
    """A row that is being predicted or learned."""

    r: int  # its place in the block
    side: int  # index of its values in `Scratch.x`, if it is dense
    start: int  # place of its first value among those of sparse rows
    n_values: int
    m: int  # number of its coordinates, with the intercept
    intercept: int  # coordinate of the intercept, which comes last
    c: float  # its weight, as the learner sees it
    learns: bool  # whether it is to be learned
    scale: float  # factor of the row for the learner
    t: float  # its number in the stream


class Variant(NamedTuple):
    """Properties of a loop that are known before it is compiled."""

    learner: type
    loss: type
    loss_by_output: bool  # whether the loss has a number for each output
    traits: tuple  # of the learner
    known: tuple  # hyperparameters of the learner that are infinite, with their values
    dense: bool
    center: bool
    scale: bool
    single_output: bool
    average: bool
    standard_target: bool
    has_fixed_moments: bool
    sees_means: bool

    @property
    def keeps_weight_sum(self):
        """Whether the loop updates moments."""
        return self.dense and (self.center or self.scale)

    @property
    def learns_late(self):
        """Whether a row is learned by the pass that predicts the next one.

        The state is then read and written once a row. Not if other code needs the
        state in between.
        """
        has = self.traits
        needs_state = self.average or has.by_vector or has.folds or has.touches_all
        return self.dense and not needs_state

    @property
    def has_kinks(self):
        """Whether derivatives jump where targets that are numbers are predicted."""
        return has_kinks(self.loss)
