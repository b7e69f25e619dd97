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
        Whether an interrupted `learn_rows` has learned all rows or none, and has
        changed the moments if it has learned them.
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
        """Bound absolute values from above; NaN or infinity if a value is not finite.

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
            Features to leave out. Changed: features that are found are added.
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
        """Count the edges below values, by feature: the bins of the values.

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

    def add_codes(self, values, bins, features, width):
        """Rows with their values, and beside these one-hot codes of bins.

        Parameters
        ----------
        values : ndarray of shape (n, n_features)
        bins : ndarray of intp of shape (n_last, n_features)
            Bins of the last rows; earlier rows have values only.
        features : ndarray of intp of shape (n_coded,)
            Features with codes, in ascending order.
        width : int
            Number of columns of the codes of each feature, coded or not.

        Returns
        -------
        rows : CSRRows
        """

    def fourier_features(self, directions, phases, limit, X):
        """Cosines of random directions of rows.

        Parameters
        ----------
        directions : ndarray of shape (n_features, n_directions)
            Each for two components, the last one maybe for one.
        phases : ndarray of shape (n_components,)
            Both in full turns, so that angles of any size are reduced exactly.
        limit : float
            Values are clipped at plus and minus this.
        X : ndarray of shape (n, n_features)

        Returns
        -------
        Z : ndarray of shape (n, n_components)
            Cosines times ``sqrt(2 / n_components)``, which do not depend on the other
            rows to the last bit.
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

    def learn_rows(self, task, state, block, out):
        """Learn from the rows of a block.

        Returns
        -------
        in_range : bool
            False if dense rows may have values above `block.largest`, or some that are
            not finite. The state and the moments are then not valid.
        """

    def inverse(self, A):
        """Return the inverse of a matrix that is positive definite but for rounding.

        Zeros between independent blocks stay exact. If an entry is not finite, all are
        NaN.
        """

    def learn_combination(self, task, state, block, combination, out):
        """Learn rows with weights that are combinations of rows; add up no losses.

        Returns
        -------
        n_learned : int
        increments, sum_increments : ndarray of shape (n, K)
            Changes of the rows' coefficients. The latter without columns unless
            averaging.
        """

    def learn_pool(self, learn_rows, learner, loss, state, F, block):
        """Learn rows with a log-linear pool, whose weights all classes share.

        Parameters
        ----------
        learn_rows : callable
            One of :mod:`.learners.log_linear_pool`.
        learner : Learner
        loss : CrossEntropy
        state : State
            Of the learner, with one output. Changed.
        F : ndarray of shape (n, n_classes, n_inputs)
            Log probabilities; inputs are padded like vectors of the state.
        block : Block
            Without rows.

        Returns
        -------
        scores : ndarray of shape (n, n_classes)
            Before each row.
        """

    def learn_neighbors(self, recent, rows, targets, weights, query):
        """Predict each row from the nearest rows before it, then store it.

        Distances are Euclidean, in single precision. Of equal ones, the later row
        comes first.

        Parameters
        ----------
        recent : Recent
            Changed. It has room for the rows.
        rows : DenseRows
            Standardised.
        targets : ndarray of shape (n, n_targets)
            As in `recent`.
        weights : RowWeights
            Rows of weight 0 are not stored.
        query : NeighborQuery

        Returns
        -------
        predictions : ndarray of shape (n_queries, n, n_classes or n_targets)
            Sums of the weights of each class, or quantiles or means of targets: 0 while
            no row is stored.
        """

    def run_loop(self, loop, *arguments):
        """Run a loop over rows that a module of ``learners`` has as it stands.

        Parameters
        ----------
        loop : callable
            Compiled for the types of the first arguments that it gets, one for each
            type of the first of them.
        *arguments

        Returns
        -------
        result : object
            What the loop returns.
        """

    def learn_error_sizes(self, sizes, errors, weights, out):
        """Learn running means of the sizes of errors.

        Parameters
        ----------
        sizes : ErrorSizes
            Changed.
        errors : ndarray of shape (n,)
            Absolute errors.
        weights : ndarray of shape (n,)
            Rows of weight 0 are not learned.
        out : ndarray of shape (n, n_means)
            Filled with the means before each row.
        """

    def learn_interval_ends(
        self, ends, groups, errors, quantiles, weights, n_lower, out
    ):
        """Correct quantiles of errors: ends of intervals, or thresholds of sets.

        Parameters
        ----------
        ends : Corrections
            Changed.
        groups : ndarray of intp of shape (n,)
            The groups of the rows.
        errors : ndarray of shape (n,)
        quantiles : ndarray of shape (n, n_ends)
            Predicted quantiles of the errors, C-contiguous.
        weights : ndarray of shape (n,)
            Rows of weight 0 are not learned.
        n_lower : int
            Number of lower ends, which come first.
        out : ndarray of shape (n, n_ends)
            Filled with the ends before each row.
        """

    def compute_losses(self, loss, block, predictions, numbers):
        """Compute the losses of predictions.

        Parameters
        ----------
        loss : Loss
        block : Block
        predictions : ndarray of shape (n, K)
        numbers : ndarray of shape (2,)
            All losses times their given weights are added to the second, one by one.

        Returns
        -------
        losses : ndarray of shape (n, K), or (n, 1) for a joint loss
        """

    def stack(self, arrays):
        """Return arrays of equal shapes as one, with an axis more in front."""

    def learn_rounds(self, state, losses, c, weights, late=None):
        """Learn from rounds of experts' losses.

        Parameters
        ----------
        state : AdaHedgeState or FixedShareState
            Changed.
        losses : ndarray of shape (K, n, n_outputs or 1)
            Of each round the sum over outputs counts.
        c : ndarray of shape (n,)
            The weights of the rounds; those of weight 0 are not learned.
        weights : ndarray of shape (n, K)
            Filled with the weights of experts before each round.
        late : LateRounds, default=None
            Of a :class:`FixedShareState`, if losses come late.
        """

    def mix(self, kind, predictions, weights):
        """Mix the predictions of experts.

        Parameters
        ----------
        kind : {"mean", "log_odds", "softmax"}
            Whether to take the mean of predictions, of the probabilities that belong
            to log odds, or of the softmax of scores.
        predictions : ndarray of shape (n_experts, n, K)
        weights : ndarray of shape (1 or K, n or 1, n_experts)

        Returns
        -------
        mean : ndarray of shape (n, K)
            A prediction, log odds, or logarithms of probabilities.
        """


class TableEngine(Protocol):
    """Functions of an engine's module for columns of tables."""

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
        """Keys of what keys stand for together, see _hashing.py.

        Parameters
        ----------
        h, keys : ndarray of uint64
            Of shapes that broadcast together.

        Returns
        -------
        mixed : ndarray of uint64
        """

    def find_slots(self, slots, keys, is_given, learns):
        """Find the slots of keys; new keys take free slots.

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
        """Store the first two different keys that come to each place.

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

    def target_means(self, means, places, indptr, smooth, targets, c, learns):
        """Means of targets by keys before each row, which is then learned.

        Parameters
        ----------
        means : Means
            Changed if it learns.
        places : ndarray of int32 of shape (n_keys,)
            Of the keys of all rows, one after the other; -1 for no key, whose mean is
            that of all.
        indptr : ndarray of int64 of shape (n + 1,)
            Where the keys of each row begin.
        smooth : ndarray of shape (n_keys,)
            Number of rows that the mean of all counts for.
        targets : ndarray of shape (n, n_targets)
        c : ndarray of shape (n,)
            Weights of rows.
        learns : bool

        Returns
        -------
        of_keys : ndarray of shape (n_keys, n_targets)
        of_all : ndarray of shape (n, n_targets)
        """

    def join_entries(self, entries, n_columns):
        """Rows of all their entries, in ascending order and each once.

        Parameters
        ----------
        entries : Entries
        n_columns : int
            Number of columns before the columns of `hashed`.

        Returns
        -------
        data : ndarray of float64
        indices : ndarray of int32
        indptr : ndarray of int32
        """
