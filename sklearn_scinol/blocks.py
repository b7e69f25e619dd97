"""Blocks of rows, and the states that engines change: arguments that go together.

All are NamedTuples, which compiled code can take.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

#: Stored rows whose distances are computed side by side.
SIDE_BY_SIDE = 64

CACHE_LINE = 64  # bytes

#: Features of a stored row whose squares are summed side by side.
LANES = 16


class DenseRows(NamedTuple):
    """Rows of features."""

    X: np.ndarray  # float64, C-contiguous, (n, d)


class CSRRows(NamedTuple):
    """Rows of a CSR matrix."""

    data: np.ndarray  # float64
    indices: np.ndarray  # uint32 (no wrap-around to compile), none twice in a row
    indptr: np.ndarray  # int32


def aligned(array):
    """Return the array at the start of a cache line; passes are a fifth faster."""
    if array.__array_interface__["data"][0] % CACHE_LINE == 0:
        return array
    buffer = np.empty(array.nbytes + CACHE_LINE, np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE
    aligned = buffer[start : start + array.nbytes].view(array.dtype)
    aligned = aligned.reshape(array.shape)
    aligned[:] = array
    return aligned


def run(function, *arguments):
    """Call a function, which engines that record calls put off; see :class:`Engine`."""
    function(*arguments)


def as_read_only(array):
    """Return an array in C order that engines cannot change."""
    array = np.require(array, requirements="CAE")
    array.flags.writeable = False
    return array


def runs_of(mask):
    """Yield slices of rows that are all in a mask, or all not in it, in order."""
    ends = [0, *np.flatnonzero(np.diff(mask)) + 1, len(mask)]
    for start, stop in pairwise(ends):
        yield slice(int(start), int(stop))


def repeat_to_entries(rows, of_rows):
    """Repeat numbers of rows for the entries of each, or reshape them to broadcast."""
    if isinstance(rows, DenseRows):
        return of_rows[:, np.newaxis]
    return np.repeat(of_rows, np.diff(rows.indptr))


class RowWeights(NamedTuple):
    """Weights of rows, see models/weights.py."""

    given: np.ndarray  # (n,), of their losses; rows of weight 0 are not learned
    relative: np.ndarray  # (n,), to the stream's first; positive for all rows
    to_mean: np.ndarray  # (n,), relative to the mean up to the row; positive
    after: np.ndarray  # (7,), numbers of their scale once they are learned

    def largest(self, to_mean=True):
        """Return the largest relative weight, perhaps of both kinds; at least 1."""
        largest = self.relative.max(initial=1.0)
        return max(largest, self.to_mean.max(initial=1.0)) if to_mean else largest

    def part(self, rows):
        """Return the weights of a slice of the rows."""
        *of_rows, after = self
        return RowWeights(*(each[rows] for each in of_rows), after)

    @property
    def prior(self):
        """Unit of the prior of learners that have one, for all of these rows."""
        return self.after[-1]

    def keeps_prior(self, numbers):
        """Whether the unit of each row is that of the scale's numbers before.

        Before the unit is known it may be smaller for the first rows than for the last.
        """
        last = self.after.item(-1)
        if last != numbers.item(-1):
            return False
        return numbers.item(-2) > 0.0 or self.after.item(-2) == last


class TargetScale(NamedTuple):
    """Running mean and deviation of a standardised target: one a row and output."""

    offset: np.ndarray  # mean of the targets before the row
    deviation: np.ndarray  # their standard deviation
    slope: np.ndarray  # factor of derivatives; 0 for the first target


class Moments(NamedTuple):
    """Running moments of features, see transforms/features.py."""

    values: np.ndarray  # (1, 3 or 4, d)
    weight_sum: np.ndarray  # (1 or 2,), of the rows so far; number of sparse rows
    center: bool  # whether rows are centred; they are scaled where there are 3 moments
    kept: float = 1.0  # factor of the weight of earlier rows, at each row


class Slots(NamedTuple):
    """Places of different keys in columns, see tables/vocabulary.py."""

    keys: np.ndarray  # uint64, (m, n_slots), in the order in which they came
    n_used: np.ndarray  # int64, (m,)
    n_seen: np.ndarray  # int64, (m,), keys that were given, until slots were full
    is_open: np.ndarray  # bool, (m,), False where slots are of no use
    fewest_seen: int  # minimum of `n_seen` for full slots to be of use


class Marks(NamedTuple):
    """The first two keys that came to each place, or 0; see tables/hashed.py."""

    first: np.ndarray  # uint64, (n_places,)
    second: np.ndarray


class Means(NamedTuple):
    """Running means of targets, see transforms/target_means.py."""

    sums: np.ndarray  # (n_places, n_targets)
    weights: np.ndarray  # (n_places,)
    total: np.ndarray  # (1 + n_targets,), weight of all rows, and sums of targets
    start: float
    n_start: float


class Places(NamedTuple):
    """History of keys, each in a place of its own; see transforms/history.py."""

    keys: np.ndarray  # uint64, (n_places,)
    seen: np.ndarray  # int64, (n_places,), number of the last row of the key
    events: np.ndarray  # (n_places, 6 + 6 n_values)
    labels: np.ndarray  # (n_places, 1 + 4 n_targets)
    counts: np.ndarray  # int64, (2,), see KeyHistory
    table: np.ndarray  # int32, (2^b,), to search keys by; -1 where it is free
    queue: np.ndarray  # int32, places in order of `seen`, when it was made
    n_queued: int  # number of rows when the queue was made
    n_taken: np.ndarray  # int64, (1,), number of places taken from the queue
    n_done: np.ndarray  # int64, (1,), number of events of the last call


class Times(NamedTuple):
    """State of a :class:`Clock`."""

    numbers: np.ndarray  # (102,)
    unit: float
    has_unit: bool  # known before the first row
    is_counting: bool  # rows are one unit apart


class PlacesLog(NamedTuple):
    """Places as they were before a call changed them."""

    places: np.ndarray  # int32
    keys: np.ndarray
    seen: np.ndarray
    events: np.ndarray
    labels: np.ndarray
    n_saved: np.ndarray  # int64, (1,), number of places in the log
    n_used: int  # number of places used before the call
    n_rows: int  # number of rows before the call


class Events(NamedTuple):
    """Rows of a key for its history, perhaps with their labels."""

    keys: np.ndarray  # uint64, (n,)
    times: np.ndarray  # (n,), ascending; NaN for not known
    units: np.ndarray  # (n,), of time
    scales: np.ndarray  # (n,), which divide the time since the last row
    values: np.ndarray  # (n, n_values), NaN for missing
    targets: np.ndarray  # (n, n_targets)
    has_target: np.ndarray  # bool, (n,)


class LateEvents(NamedTuple):
    """Labels of earlier rows that come before, between or after rows."""

    keys: np.ndarray  # uint64, (n_late,), of the rows
    targets: np.ndarray  # (n_late, n_targets)
    has_target: np.ndarray  # bool, (n_late,)
    is_label: np.ndarray  # bool, (n + n_late,), in order of time


class Entries(NamedTuple):
    """Entries of the rows of a table, by columns in ascending order."""

    values: np.ndarray  # (n, p), for the first columns; NaN and 0 are left out
    codes: np.ndarray  # int32, (n, m), columns after `values`, ascending; -1 for none
    hashed: np.ndarray  # int32, columns after `codes`, of each row in any order
    indptr: np.ndarray  # int64, (n + 1,), where the hashed columns of each row begin


class Recent(NamedTuple):
    """The last rows of a stream, a ring; see models/recent.py.

    Row number `i` of the stream is in slot ``i % window``. Number `j` of slot `s` is
    ``rows[s // SIDE_BY_SIDE, j, s % SIDE_BY_SIDE]``: a feature, or if there are signs,
    the sum of all features by these. Feature `j` is then
    ``features[s, j // LANES, j % LANES]``.
    """

    rows: np.ndarray  # float32 or 64, (n_blocks, n_features or n_signs, SIDE_BY_SIDE)
    features: np.ndarray  # float32, (n_slots, n_groups, LANES); without signs none
    signs: np.ndarray  # float32, (n_features, n_signs), of 1 and -1, or without columns
    targets: np.ndarray  # (n_slots, n_targets), or (n_slots, 1) indices of classes
    weights: np.ndarray  # (n_slots,), relative
    n_rows: np.ndarray  # int64, (1,), number of rows so far
    window: int


def store_row(recent, slot, row, y, c):
    """Store a row, its targets and its weight in a slot, but for `features`."""
    block, place = slot // SIDE_BY_SIDE, slot % SIDE_BY_SIDE
    for j in range(row.size):
        recent.rows[block, j, place] = row[j]
    for k in range(y.size):
        recent.targets[slot, k] = y[k]
    recent.weights[slot] = c


def in_lanes(Z):
    """Return features as they are stored: of shape (n, n_groups, LANES)."""
    return np.pad(Z, [(0, 0), (0, -Z.shape[1] % LANES)]).reshape(len(Z), -1, LANES)


def stored_rows(signs, Z):
    """Return features in single precision, or their sums by signs."""
    if not signs.size:
        return Z
    sums = np.zeros((len(Z), signs.shape[1]), np.float32)
    # In the order of the features, which a product of matrices would not keep.
    for z, of_feature in zip(Z.T, signs, strict=True):
        sums += z[:, np.newaxis] * of_feature
    return sums


class NeighborQuery(NamedTuple):
    """Numbers of neighbours to search for, and how to predict from them."""

    n_neighbors: np.ndarray  # int64, (n_queries,)
    n_candidates: int  # of the search by signs, at least
    n_classes: int  # 0 in regression
    quantiles: np.ndarray  # (n_outputs,), of the targets; NaN for their means
    largest: float  # rows are clipped to ± this


class MondrianTree(NamedTuple):
    """A tree, whose nodes are in slots; see learners/mondrian_tree.py.

    A forest has an array of each for all of its trees, with one axis more.
    """

    numbers: np.ndarray  # (n_slots, 3): time and threshold of the split, and weight
    shares: np.ndarray  # (n_slots, 2 or 2 n_outputs): of nodes, then of what is below
    sums: np.ndarray  # (n_slots, n_classes or n_outputs), weights, or sums of targets
    links: np.ndarray  # int32, (n_slots, 5): both children, parent, feature, is saved
    place: np.ndarray  # int64, (3,): the root, and the numbers of nodes and rows
    state: np.ndarray  # uint64, (1,), of the generator of random numbers
    max_nodes: int
    boxes: np.ndarray  # (n_slots, 2, n_features), smallest and largest values


class ExtraTree(NamedTuple):
    """A tree, whose nodes are in slots; see learners/extra_tree.py.

    The first fields are as in :class:`MondrianTree`, but that the first number of a
    node is the weight of rows at which it tries to split, and that there is a fourth
    one: which row of the stream was the last of a leaf, from 1. All trees of a forest
    see the same last rows.
    """

    numbers: np.ndarray
    shares: np.ndarray
    sums: np.ndarray
    links: np.ndarray
    place: np.ndarray
    state: np.ndarray
    max_nodes: int
    gaps: np.ndarray  # int32, (n_stored,), from the last rows to those before in a leaf
    errors: np.ndarray  # (1 + n_outputs,), weight of rows, and sums of squared errors
    recent: Recent


class TreeRoom(NamedTuple):
    """Memory for a row in a Mondrian tree, and for sums over trees."""

    inverse: np.ndarray  # (n_features,), of the ranges of features
    start: np.ndarray  # (n_features,), from where to where a threshold may be
    end: np.ndarray
    totals: np.ndarray  # (n,), weights of the trees at each row
    own: np.ndarray  # (n_classes or n_outputs,), prediction of the tree
    p: np.ndarray  # (1 or n_outputs,), ratios of likelihoods


class SplitRoom(NamedTuple):
    """Memory for a row in an extra tree, and for a leaf that tries to split.

    A *group* is a class among the rows of the leaf, or an output.
    """

    p: np.ndarray  # (1 or n_outputs,), ratios of likelihoods
    own: np.ndarray  # (n_classes or n_outputs,), prediction of the tree
    leaves: np.ndarray  # int64, (n_trees,), of the row
    deviation: np.ndarray  # (0 or n_outputs,), of its errors
    order: np.ndarray  # int64, (n_features,), features in order
    drawn: np.ndarray  # int64, (n_features,), their places when they are drawn
    slots: np.ndarray  # int64, (m,), places of the rows of the leaf
    sizes: np.ndarray  # int64, (1,), number of groups
    labels: np.ndarray  # (m,), classes of groups
    totals: np.ndarray  # (n_groups,), rows of groups, or squared deviations
    values_of: np.ndarray  # (n_groups, m), ones of groups, or deviations
    values: np.ndarray  # (m,), of a feature
    thresholds: np.ndarray  # (n_thresholds,)
    left: np.ndarray  # (n_groups,), sums on the left
    logs: np.ndarray  # (2, m + 1), code lengths of so many rows of a class, and of all


class TreeLog(NamedTuple):
    """Nodes and boxes of a forest as they were before they changed."""

    counts: np.ndarray  # int64, (5,), see learners/trees.py
    nodes: np.ndarray  # int32, (n, 2), trees and slots
    numbers: np.ndarray
    shares: np.ndarray
    sums: np.ndarray
    links: np.ndarray
    of_boxes: np.ndarray  # int32, (n, 2), trees and slots
    boxes: np.ndarray


class Task(NamedTuple):
    """Learner, loss and constants of a stream."""

    learner: tuple
    loss: tuple
    row_scale: float  # factor of rows, for the learner
    lipschitz: float  # divisor of derivatives, for the learner
    averaging_starts: float  # number of trials before averaging
    fit_intercept: bool
    sees_means: bool  # whether the learner sees weights `to_mean`, not `relative`


class State(NamedTuple):
    """Arrays that learning changes.

    `fields` are in C order for dense rows (each field contiguous), in Fortran order for
    sparse ones (one record a coordinate). With averaging, the last two are the sum of
    the weights, and the clock up to which it goes.
    """

    fields: np.ndarray  # (n_fields, n_outputs, n_coordinates)
    shared: np.ndarray  # (n_shared, n_outputs)
    arrays: tuple  # the state of a learner that sees rows as vectors
    first: np.ndarray  # (n_coordinates,), first non-zero |x|, for learners that ask
    clock: np.ndarray  # (2, n_outputs), see learners/bases/averaging.py
    numbers: np.ndarray  # (2,): number of trials (learned rows), sum of their losses
    weight_scale: np.ndarray  # (7,), see models/weights.py


class Block(NamedTuple):
    """Rows to learn from, in order.

    With `standard`, the moments learn from dense rows, and these are centred and scaled
    by its own numbers: means and inverses of deviations.
    """

    rows: tuple  # DenseRows or CSRRows
    moments: tuple | None  # Moments, which learn and transform each row before; or None
    targets: np.ndarray  # (n, K), or (n,) indices of classes for a joint loss
    weights: tuple  # RowWeights
    target_scale: tuple | None  # TargetScale, if the target is standardised
    largest: float = np.inf  # value to be learned, times the weight if that is above 1
    standard: np.ndarray | None = None  # (2, d), see above


class Predictions(NamedTuple):
    """Arrays for predictions of rows before learning, and for their losses."""

    predictions: np.ndarray  # (n, K), which the learner is charged for
    averaged: np.ndarray | None  # (n, K), of the averaged weights, if any
    losses: np.ndarray  # (n, K), or (n, 1) for a joint loss

    @property
    def reported(self):
        """The predictions that the model returns."""
        return self.predictions if self.averaged is None else self.averaged

    @property
    def all_finite(self):
        """Whether all predictions are finite."""
        is_finite = bool(np.isfinite(self.predictions).all())
        if self.averaged is None:
            return is_finite
        return is_finite and bool(np.isfinite(self.averaged).all())


class Combination(NamedTuple):
    """Rows to learn by weights that are combinations of rows, new or stored.

    `values` and `sums` are changed: the products of the rows with the combinations of
    coefficients, and with the sums of these over the trials, before the first row.
    """

    gram: np.ndarray  # (n, n), inner products of the rows
    values: np.ndarray  # (K, n)
    sums: np.ndarray | None  # (K, n), with averaging only
    is_new: np.ndarray  # (n,), whether a row takes room when its coefficient changes
    room: int  # number of rows to store; learning stops when it is reached
    coef: np.ndarray  # (n_support, K), coefficients of stored rows
    coef_sums: np.ndarray  # (n_support, K or 0)
