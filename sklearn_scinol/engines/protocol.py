"""What an engine does, and what it is given.

Arguments that travel together are NamedTuples, which compiled code takes as well.
Arrays of state are changed in place; numbers come back.
"""

from typing import NamedTuple, Protocol

import numpy as np

__all__ = [
    "Answers",
    "Block",
    "CSRRows",
    "CodePlaces",
    "Combination",
    "DenseRows",
    "Engine",
    "Entries",
    "Hedge",
    "Marks",
    "Moments",
    "RowWeights",
    "Shares",
    "Slots",
    "State",
    "TargetScale",
    "Task",
    "changeable",
    "of_values",
]


class DenseRows(NamedTuple):
    """Rows of features."""

    X: np.ndarray  # float64, C-contiguous, (n, d)


class CSRRows(NamedTuple):
    """Rows of a CSR matrix."""

    data: np.ndarray  # float64
    indices: np.ndarray  # uint32 (no wrap-around to compile), none twice in a row
    indptr: np.ndarray  # int32


def changeable(array, order=None):
    """An array that engines can change: itself, or a copy where it is mapped from disk.

    In C or Fortran order, if that is asked for.
    """
    flags = array.flags
    is_ordered = {"C": flags.c_contiguous, "F": flags.f_contiguous, None: True}[order]
    if type(array) is np.ndarray and is_ordered and flags.writeable and flags.aligned:
        return array
    return np.require(array, requirements=[*(order or ""), "A", "W", "E"])


def of_values(rows, of_rows):
    """What is so of rows, in the shape of their values or of one that fits it."""
    if isinstance(rows, DenseRows):
        return of_rows[:, np.newaxis]
    return np.repeat(of_rows, np.diff(rows.indptr))


class RowWeights(NamedTuple):
    """Weights of rows, see models/weights.py."""

    given: np.ndarray  # (n,), of their losses; rows of weight 0 are not learned
    relative: np.ndarray  # (n,), to the stream's first; positive for all rows
    after: np.ndarray  # (2,), what their scale knows once they are learned

    @property
    def heaviest(self):
        """The largest relative weight, or 1 if all are smaller."""
        return self.relative.max(initial=1.0)


class TargetScale(NamedTuple):
    """How a standardised target is predicted: one entry a row and output."""

    offset: np.ndarray  # mean of the targets before the row
    deviation: np.ndarray  # their standard deviation
    slope: np.ndarray  # what derivatives are multiplied by; 0 for the first target


class Moments(NamedTuple):
    """Running moments of features, see transforms/features.py."""

    values: np.ndarray  # (1 or 3, d)
    weight_sum: np.ndarray  # (1,), of the rows so far
    center: bool  # whether rows are centred; they are scaled where there are 3 moments
    kept: float = 1.0  # what dense rows multiply the weight of those before by


class CodePlaces(NamedTuple):
    """Where a row has ones, in a one-hot code of its bins; see transforms/bins.py."""

    features: np.ndarray  # (k,), those that are cut, ascending
    first: np.ndarray  # (k,), the column of the first bin of each
    pairs: np.ndarray  # (n_pairs, 2), features of each pair
    first_cells: np.ndarray  # (n_pairs,), the column of the first cell of each
    sides: np.ndarray  # (n_features, n_bins), the side of a cell that a bin belongs to
    n_sides: int


class Slots(NamedTuple):
    """Places of different keys in columns, see tables/vocabulary.py."""

    keys: np.ndarray  # uint64, (m, n_slots), in the order in which they came
    n_used: np.ndarray  # int64, (m,)
    n_seen: np.ndarray  # int64, (m,), keys that were given, until slots were full
    is_open: np.ndarray  # bool, (m,), False where slots are of no use
    fewest_seen: int  # for slots to be of use once they are full


class Marks(NamedTuple):
    """The first two keys that came to each place, or 0; see tables/hashed.py."""

    first: np.ndarray  # uint64, (n_places,)
    second: np.ndarray


class Entries(NamedTuple):
    """What rows of a table are made of, by columns in ascending order."""

    values: np.ndarray  # (n, p), for the first columns; NaN and 0 are left out
    codes: np.ndarray  # int32, (n, m), columns after these, ascending; -1 for none
    hashed: np.ndarray  # int32, (n, h), any columns after these; -1 for none
    words: np.ndarray  # int32, columns as `hashed`, as many as the row has
    words_indptr: np.ndarray  # int64, (n + 1,)


class Task(NamedTuple):
    """What stays the same all through a stream."""

    learner: tuple
    loss: tuple
    row_scale: float  # what rows are multiplied by for the learner
    lipschitz: float  # what derivatives are divided by for it
    averaging_starts: float  # number of trials before averaging
    fit_intercept: bool


class State(NamedTuple):
    """What learning changes.

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
    weight_scale: np.ndarray  # (2,), see models/weights.py


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


class Answers(NamedTuple):
    """What was said of rows before they were learned, and its losses; to be filled."""

    predictions: np.ndarray  # (n, K), what the learner is charged for
    averaged: np.ndarray | None  # (n, K), of the averaged weights, if there are such
    losses: np.ndarray  # (n, K), or (n, 1) for a joint loss

    @property
    def said(self):
        """What the model said."""
        return self.predictions if self.averaged is None else self.averaged

    @property
    def all_finite(self):
        """Whether all predictions are finite."""
        return bool(
            np.isfinite(self.predictions).all() and np.isfinite(self.said).all()
        )


class Combination(NamedTuple):
    """Rows whose weights are combinations of those rows and of others.

    `values` and `sums` are changed: the products of the rows with the combinations of
    coefficients, and with the sums of these over the trials, before the first row.
    """

    gram: np.ndarray  # (n, n), inner products of the rows
    values: np.ndarray  # (K, n)
    sums: np.ndarray | None  # (K, n), with averaging only
    is_new: np.ndarray  # (n,), whether a row takes room when its coefficient changes
    room: int  # for how many rows there is room; learning stops when all is taken
    coef: np.ndarray  # (n_support, K), coefficients of the others
    coef_sums: np.ndarray  # (n_support, K or 0)


class Hedge(NamedTuple):
    """State of AdaHedge, see learners/hedge.py."""

    log_K: float
    lead: np.ndarray  # (K,), cumulative losses less the smallest of them
    weights: np.ndarray  # (K,)
    totals: np.ndarray  # (K,), cumulative losses as they are
    gap: float  # sum of the mixability gaps
    loss: float  # sum of the losses of the mixture
    largest_range: float  # of a round: the largest loss less the smallest
    norm_of_ranges: float  # root of the sum of their squares


class Shares(NamedTuple):
    """State of fixed share with `A` shares, see learners/fixed_share.py."""

    mixable_scale: float  # 1 / eta where the loss is mixable with the rate eta, else 0
    log_paths: float  # ln(A K)
    shares: np.ndarray  # (A,)
    of_shares: np.ndarray  # (A,), weights of the shares
    of_experts: np.ndarray  # (A, K), weights of the experts for each of these
    weights: np.ndarray  # (K,), of the experts for all of them
    totals: np.ndarray  # (K,), cumulative losses
    t: float  # number of rounds
    scale: float  # 1 / eta of the next round
    gap: float  # sum of the mixability gaps
    loss: float  # sum of the losses of the mixture


class Engine(Protocol):
    """The functions of a module that runs the loops.

    Attributes
    ----------
    LEARNS_AT_ONCE : bool
        Whether `learn_rows` has learned all rows or none where it is interrupted, and
        has changed the moments if it has learned them.
    Recorder : type or None
        If there is one, an engine that notes calls, which can be made again and again:
        it has the functions that it takes to learn from a row of which nothing is new.
        They are given arrays that rows are put into later, and what they give back is
        filled when its `calls` are made, in order and without arguments. Sparse rows
        are put into arrays with room for more entries than `indptr` says.
    SavedArrays : type
        Where there is a recorder. Made of contiguous arrays of float64, of others of
        shape (n_features, ...), and of a CSR array of one row, whose features those are
        of: `save` keeps their numbers, `restore` puts them back, `are_finite` says
        whether all are.
    """

    LEARNS_AT_ONCE: bool
    Recorder: type | None

    def norm(self, values):
        """At least the largest of the absolute values; NaN or infinity if they go on.

        Parameters
        ----------
        values : ndarray
        """

    def clip_rows(self, largest, rows, weights, ratio):
        """Clip values at a multiple of the largest of their feature before the row.

        Parameters
        ----------
        largest : ndarray of shape (n_features,)
            Absolute values. Changed.
        rows : DenseRows or CSRRows
        weights : RowWeights
        ratio : float

        Returns
        -------
        rows : DenseRows or CSRRows
            A copy.
        """

    def first_values(self, seen, rows, weights):
        """First values other than 0 of features, in rows that are to be learned.

        Parameters
        ----------
        seen : ndarray of bool of shape (n_features,)
            Features that are left out. Changed: those that are found will be, too.
        rows : CSRRows
        weights : RowWeights

        Returns
        -------
        features : ndarray of int
        values : ndarray of float64
        """

    def transform_rows(self, moments, rows, weights):
        """Centre and scale rows by the running moments, which learn each row first.

        Parameters
        ----------
        moments : Moments
            Changed.
        rows : DenseRows or CSRRows
        weights : RowWeights

        Returns
        -------
        rows : DenseRows or CSRRows
        """

    def count_below(self, edges, X):
        """In which bins values are: how many edges of their features are below them.

        Parameters
        ----------
        edges : ndarray of shape (n_features, n_edges)
            In ascending order, then NaN, which is not below any number.
        X : ndarray of shape (n, n_features)
            Finite values.

        Returns
        -------
        bins : ndarray of intp of shape (n, n_features)
        """

    def add_codes(self, values, bins, places):
        """Rows with their values, and beside these ones in columns of their own.

        Parameters
        ----------
        values : ndarray of shape (n, n_features)
        bins : ndarray of intp of shape (n_last, n_features)
            Of the last rows; those before have values only.
        places : CodePlaces
            Columns are counted from the last value's.

        Returns
        -------
        rows : CSRRows
        """

    def transform_targets(self, moments, y, weights, unit_free):
        """Running location and scale of targets, before each row.

        Parameters
        ----------
        moments : Moments
            Mean and variance, of shape (2, K). Changed.
        y : ndarray of shape (n, K)
        weights : RowWeights
        unit_free : bool
            Whether derivatives of the loss have no unit; else they have the target's.

        Returns
        -------
        scale : TargetScale
        """

    def learn_rows(self, task, state, block, answers):
        """Learn from the rows of a block.

        Returns
        -------
        in_range : bool
            False if dense rows may have values above `block.largest`, or some that are
            not finite. What the state and the moments are then is of no use.
        """

    def learn_team(self, tasks, states, block, answers):
        """The same for several learners that see the same rows.

        Parameters
        ----------
        tasks : list of Task
            They differ in the parameters of the learner only.
        states : list of State
        block : Block
            Without moments.
        answers : list of Answers
            Without averages.
        """

    def change_units(self, learner, s, change):
        """Let a state be that of the same rows in other units.

        Parameters
        ----------
        learner : OnlineNewton
        s : State
            The learner's. Changed.
        change : Change
        """

    def learn_combination(self, task, state, block, combination, answers):
        """Learn from rows that weights are combinations of; count no losses.

        Returns
        -------
        n_learned : int
        increments, sum_increments : ndarray of shape (n, K)
            Changes of the rows' coefficients. The latter without columns unless
            averaging.
        """

    def charge(self, loss, block, predictions, total):
        """Losses of predictions.

        Returns
        -------
        losses : ndarray of shape (n, K), or (n, 1) for a joint loss
        total : float
            The sum of all losses by their given weights, added to `total` one by one.
        """

    def learn_rounds(self, state, losses, c):
        """Learn from rounds of experts' losses.

        Parameters
        ----------
        state : Hedge or Shares
            With AdaHedge or fixed share.
        losses : ndarray of shape (n, K)
            Multiplied by their weights already.
        c : ndarray of shape (n,)
            The weights of the rounds, positive.

        Returns
        -------
        state : Hedge or Shares
            With new numbers; its arrays are changed.
        weights : ndarray of shape (n, K)
            The weights before each round.
        """

    def mix(self, kind, answers, weights):
        """Means of what experts say.

        Parameters
        ----------
        kind : {"mean", "log_odds", "softmax"}
            Whether to take the mean of predictions, of the probabilities that belong
            to log odds, or of those that are the softmax of scores.
        answers : ndarray of shape (n_experts, n, K)
        weights : ndarray of shape (1 or K, n or 1, n_experts)

        Returns
        -------
        mean : ndarray of shape (n, K)
            A prediction, log odds, or logarithms of probabilities.
        """

    # Columns of tables.

    def standardise(self, moments, X):
        """Centre and scale values by the running moments, which learn each row first.

        Parameters
        ----------
        moments : ndarray of shape (3, n_features)
            Means, variances, and numbers of values that they are of. Changed.
        X : ndarray of shape (n, n_features)
            NaN is no value.

        Returns
        -------
        Z : ndarray of shape (n, n_features)
            NaN where `X` is.
        """

    def hash_strings(self, data, offsets):
        """Keys of strings.

        Parameters
        ----------
        data : ndarray of uint8
        offsets : ndarray of int64 of shape (n + 1,)

        Returns
        -------
        keys : ndarray of uint64 of shape (n,)
            MurmurHash3 of 32 bits, with seed 0 in the lower half and 1 in the upper.
        """

    def mix_keys(self, h, keys):
        """Keys of what keys stand for together, see transforms/hashing.py.

        Parameters
        ----------
        h, keys : ndarray of uint64
            Of shapes that broadcast together.

        Returns
        -------
        mixed : ndarray of uint64
        """

    def find_slots(self, slots, keys, is_given, learns):
        """Slots of keys, of which new ones take the next while there are any.

        Parameters
        ----------
        slots : Slots
            Changed if it learns.
        keys : ndarray of uint64 of shape (n, m)
        is_given : ndarray of bool of shape (n, m)
        learns : bool
            Whether rows are learned; else each new key has the next slot.

        Returns
        -------
        found : ndarray of int32 of shape (n, m)
            -1 where there is none.
        came : ndarray of int64 of shape (m, n_slots)
            The rows that slots were taken at, where that was one of these.
        """

    def mark_places(self, marks, places, keys):
        """Mark places by the first two different keys that come to them.

        Parameters
        ----------
        marks : Marks
            Changed.
        places : ndarray of int32 of shape (n,)
            -1 for none.
        keys : ndarray of uint64 of shape (n,)

        Returns
        -------
        new : ndarray of int64
            The numbers of the keys that have marked a place, ascending.
        """

    def join_entries(self, entries, n_columns):
        """Rows of all their entries, in ascending order and each once.

        Parameters
        ----------
        entries : Entries
        n_columns : int
            Before those of `hashed`.

        Returns
        -------
        data : ndarray of float64
        indices : ndarray of int32
        indptr : ndarray of int32
        """
