"""Interfaces of an engine: loops over the rows of a block, and over columns of tables.

An engine is a module that has these functions. Their arguments are in
:mod:`sklearn_scinol.blocks`. Arrays of state are changed in place, numbers returned.
"""

from collections.abc import Callable
from typing import Protocol


class Engine(Protocol):
    """Loops that transform, predict and learn the rows of a block.

    Attributes
    ----------
    LEARNS_AT_ONCE : bool
        Whether an interrupted `learn_rows` has learned all rows or none, if they are
        not transformed.
    Recorder : type or None
        If not None, an engine that records calls, to be made again for each row. It has
        the functions needed to learn a row without new features. Their arguments are
        arrays that later rows are written into. Their results are filled when its
        `calls` are made, in order and without arguments. Arrays for sparse rows have
        room for more entries than `indptr` says.
    SavedArrays : type
        With a recorder. Takes contiguous arrays of float64, arrays of shape
        (n_features, ...), and a CSR array of one row, which selects features of the
        latter. `save` copies the numbers, `restore` writes them back, `are_finite` says
        whether all are finite.
    share_compiling : callable or None
        If not None, the engine compiles loops, and this makes a context in which
        processes share the work, by files in a `folder`, if one is given. Loops that
        another process is compiling run uncompiled meanwhile. A function `on_missing`
        is called once, before the first loop is compiled that is not in a cache on
        disk. Without `is_quiet`, a message says so where compiling takes long. The
        context gives a report with `has_compiled`, whether this process has compiled
        a loop, and `unsaved`, why one is not kept on disk, or ""; or None if loops run
        uncompiled.
    """

    LEARNS_AT_ONCE: bool
    Recorder: type | None
    share_compiling: Callable | None

    def run(self, function, *arguments):
        """Call a function that fills or changes arrays, between calls of the engine.

        A :class:`Recorder` puts it off, as all calls.
        """

    def norm(self, values):
        """Bound absolute values from above; NaN or infinity if one is not finite."""

    def first_values(self, seen, rows, weights):
        """Return features that learned sparse rows have, and their first values.

        Features of the mask `seen` are left out; those that are found are added to it.
        """

    def transform_rows(self, moments, rows, weights):
        """Centre and scale rows by the running moments, which learn each row first."""

    def add_codes(self, values, bins, features, width):
        """Return sparse rows with their values, and beside these one-hot codes of bins.

        The last rows have `bins`, of shape (n_last, n_features); earlier rows have
        values only. Only `features`, in ascending order, have codes, but each feature
        has columns for them, `width` in number.
        """

    def fourier_features(self, directions, phases, limit, X):
        """Return cosines of random directions, times ``sqrt(2 / n_components)``.

        They do not depend on the other rows to the last bit. Each of the directions, of
        shape (n_features, n_directions), is for two of the components, of which each
        has a phase, the last one maybe for one. Both are in full turns, so that angles
        of any size are reduced exactly. Values are clipped at plus and minus `limit`.
        """

    def learn_rows(self, task, state, block, out):
        """Learn from the rows of a block.

        Returns False if dense rows may have values above `block.largest`, or some that
        are not finite: the state and the moments are then not valid.
        """

    def inverse(self, A):
        """Return the inverse of a matrix that is positive definite but for rounding.

        Zeros between independent blocks stay exact. If an entry is not finite, all are
        NaN.
        """

    def learn_neighbors(self, recent, rows, targets, weights, query):
        """Predict each row from the nearest rows before it, then store it.

        Distances of standardised rows are Euclidean, in single precision. Of equal
        ones, the later row comes first. Rows of weight 0 are not stored. Returns sums
        of the weights of each class, or quantiles or means of targets, of shape
        (n_queries, n, n_classes or n_targets): 0 while no row is stored.
        """

    def run_loop(self, loop, *arguments):
        """Return what a loop of ``learners`` or ``transforms`` over rows returns.

        It is compiled as it stands for the types of the first arguments that it gets,
        once for each of the types that NamedTuples among them have. What is None in one
        call is so in all.
        """

    def compute_losses(self, loss, block, predictions, numbers):
        """Return the losses of predictions, of shape (n, K), or (n, 1) of a joint loss.

        All losses times their given weights are added to `numbers[1]`, one by one.
        """

    def stack(self, arrays):
        """Return arrays of equal shapes as one, with an axis more in front."""

    def learn_rounds(self, state, losses, c, weights, late=None):
        """Learn from rounds of experts' losses, of shape (K, n, n_outputs or 1).

        Of each round the sum over outputs counts, with its weight in `c`; rounds of
        weight 0 are not learned. `weights` is filled with those of the experts before
        each round, of shape (n, K). `late` is the :class:`LateRounds` of a
        :class:`FixedShareState`, if losses come late.
        """

    def mix(self, kind, predictions, weights):
        """Return the mixed predictions of experts: numbers, log odds, or log shares.

        They are the "mean" of predictions, of the probabilities that belong to
        "log_odds", or of the "softmax" of scores. Predictions are of shape
        (n_experts, n, K), weights of (1 or K, n or 1, n_experts).
        """

    # Columns of tables.

    def hash_strings(self, data, offsets):
        """Return keys of strings in UTF-8, of type uint64.

        They are MurmurHash3 of 32 bits, with seed 0 in the lower half and 1 in the
        upper.
        """

    def find_slots(self, slots, keys, is_given, learns):
        """Find the slots of keys, of shape (n, m); new keys take free slots.

        Returns the slots, -1 where there is none, and the rows that slots were taken
        at, of shape (m, n_slots). Unless it `learns`, each new key has the next slot.
        """

    def join_entries(self, entries, n_columns):
        """Return data, indices and indptr of rows, with each entry once, ascending.

        `n_columns` is the number of columns before those of `hashed`.
        """
