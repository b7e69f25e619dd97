"""The last rows of a stream, among which models find the nearest."""

from copy import copy
from functools import lru_cache

import numpy as np

from .._invariants import finite, floats, is_count
from .._state import Part, as_writable
from ..blocks import (
    LANES,
    SIDE_BY_SIDE,
    Recent,
    aligned,
    as_read_only,
    in_lanes,
    stored_rows,
)
from .model import MAX_ROWS

#: Number of sums of features with random signs by which rows are searched.
N_SIGNS = 64


class RecentRows(Part):
    """Ring of the last rows that were learned, which several models may share.

    Memory for `window` rows takes `window` × `n_features` × 4 bytes, or 8 in double
    precision. It grows with the rows up to that.

    Sums of features with random signs have distances near those of the features
    (Achlioptas, 2003), and there are few of them.

    Parameters
    ----------
    n_features, n_targets : int
    window : int
        Number of rows to store.
    n_classes : int
        Number of classes, whose indices are the targets; 0 in regression.
    has_signs : bool
        Whether rows are searched by such sums.
    dtype : type
        Precision of the rows.

    Attributes
    ----------
    rows : ndarray of shape (n_blocks, n_features or N_SIGNS, SIDE_BY_SIDE)
    features : ndarray of float32 of shape (n_slots, n_groups, LANES)
        Standardised rows, see :class:`Recent`.
    targets : ndarray of shape (n_slots, n_targets)
    weights : ndarray of shape (n_slots,)
        Relative to the first weight of the stream.
    n_rows : ndarray of int64 of shape (1,)
        Number of rows so far.
    """

    _undone = "rows", "features", "targets", "weights", "n_rows"
    _by_output = ("targets",)

    def __init__(
        self,
        n_features,
        n_targets,
        window,
        n_classes=0,
        has_signs=False,
        dtype=np.float32,
    ):
        self.window = window
        self.n_classes = n_classes
        self.has_signs = has_signs
        self.rows = np.zeros((0, 0, 0), dtype)
        self._clear(n_features)
        self.targets = np.zeros((0, n_targets))
        self.weights = np.zeros(0)
        self.n_rows = np.zeros(1, np.int64)

    def _clear(self, n_features, n_blocks=0):
        """Store zeros, of so many features."""
        self.n_features = n_features
        rows, features = self._shapes(n_blocks)
        self.rows = np.zeros(rows, self.rows.dtype)
        self.features = np.zeros(features, np.float32)

    def _shapes(self, n_blocks):
        """Return the shapes of `rows` and `features`."""
        n_stored, n_groups = self.n_features, 0
        if self.has_signs:
            n_stored, n_groups = N_SIGNS, -(-self.n_features // LANES)
        rows = n_blocks, n_stored, SIDE_BY_SIDE
        return rows, (n_blocks * SIDE_BY_SIDE, n_groups, LANES)

    def learn(self, engine, rows, targets, weights, query):
        """Predict rows in order, each from those before; see the engine's function."""
        self._reserve(int(np.count_nonzero(weights.given)))
        return engine.learn_neighbors(self.state(), rows, targets, weights, query)

    def state(self):
        """Return the state in the form that engines take.

        Arrays that are mapped from disk are copied, for predictions.
        """
        arrays = [
            getattr(self, name)
            for name in ("rows", "features", "targets", "weights", "n_rows")
        ]
        if not self.n_rows.flags.writeable:
            arrays = [as_writable(array, "C") for array in arrays]
        rows, features, *others = arrays
        return Recent(rows, features, self.signs, *others, self.window)

    @property
    def signs(self):
        """Random signs of the features, see :class:`Recent`."""
        return _signs(self.n_features, N_SIGNS * self.has_signs)

    def _reserve(self, n_rows):
        """Make room for rows."""
        n_more = self._n_blocks(int(self.n_rows[0]) + n_rows) - len(self.rows)
        if n_more > 0:
            self.rows = aligned(_padded(self.rows, n_more))
            for name in "features", "targets", "weights":
                slots = _padded(getattr(self, name), n_more * SIDE_BY_SIDE)
                setattr(self, name, slots)

    @property
    def n_free(self):
        """Number of rows that there is room for; infinite if rows replace others."""
        n_slots = len(self.weights)
        return np.inf if n_slots >= self.window else n_slots - int(self.n_rows[0])

    def _undo(self, X):
        n_rows, saved = self.n_rows.copy(), []
        n = self.window if X is None else min(X.shape[0], self.window)
        for slots in self._next_slots(n):
            blocks = slice(slots.start // SIDE_BY_SIDE, -(-slots.stop // SIDE_BY_SIDE))
            of_slots = self.features, self.targets, self.weights
            places = (self.rows, blocks), *((array, slots) for array in of_slots)
            saved += [(array, place, array[place].copy()) for array, place in places]

        def restore():
            for array, place, values in saved:
                array[place] = values
            self.n_rows[:] = n_rows

        return restore

    def _next_slots(self, n):
        """Return the slots of the next rows, and if these are the last, the first."""
        start = int(self.n_rows[0]) % self.window
        stop, n_first = min(start + n, self.window), start + n - self.window
        return [slice(start, stop)] + [slice(0, n_first)] * (n_first > 0)

    def _n_blocks(self, count):
        """Return the number of blocks after so many rows: a power of two, or all."""
        n_blocks, n_all = -(-count // SIDE_BY_SIDE), -(-self.window // SIDE_BY_SIDE)
        return min(1 << (n_blocks - 1).bit_length(), n_all) if n_blocks else 0

    def add_classes(self, is_new):
        """Renumber the classes, some of which are new.

        Models that share the rows may all call this.
        """
        if is_new.size > self.n_classes:
            # One of the first two classes, or both, may be a placeholder that no row
            # has: 0 fills its place.
            numbers = np.append(np.flatnonzero(~is_new), 0)
            self.targets = numbers[self.targets.astype(np.intp)].astype(np.float64)
            self.n_classes = is_new.size

    # Merging.

    @property
    def latest(self):
        """Slots of the rows, the latest first."""
        count = int(self.n_rows[0])
        oldest = max(count - self.window, 0)
        return np.arange(count - 1, oldest - 1, -1) % self.window

    def fresh(self):
        """Return an empty ring of these sizes."""
        sizes = self.n_features, self.targets.shape[1], self.window
        return RecentRows(*sizes, self.n_classes, self.has_signs, self.rows.dtype)

    def with_columns(self, placement):
        """Return a copy of rows with other columns; see :class:`Placement`."""
        other, slots = copy(self), np.arange(len(self.weights))
        other._clear(placement.n_columns, len(self.rows))
        placed = placement.rows(self.at(slots))
        other._store_features(slots, placed.astype(self.rows.dtype))
        return other

    def forget(self, features):
        """Leave rows as they are: units of features do not show in them."""

    @classmethod
    def merged(cls, shards, scales):
        """Merge rings of disjoint rows, which started from the same ring.

        The latest rows of each stay, in proportion to its rows since the start, and if
        there is room, the latest rows of the start.
        """
        start, merged = shards.start, shards.start.fresh()
        n_start, parts = int(start.n_rows[0]), []
        for ring, unit in zip(shards.members, shards.units, strict=True):
            n_new = int(ring.n_rows[0]) - n_start
            slots = ring.latest[:n_new]
            parts.append(
                (np.arange(slots.size) / max(n_new, 1), *ring._at(slots, unit))
            )
            merged.n_rows += n_new
        merged.n_rows += n_start
        slots = start.latest
        parts.append((1.0 + np.arange(slots.size), *start._at(slots, 1.0)))
        ages, *columns = map(np.concatenate, zip(*parts, strict=True))
        youngest = np.argsort(ages, kind="stable")[: merged.window]
        merged._reserve(0)
        merged._store(merged.latest, *(column[youngest] for column in columns))
        return merged

    def _at(self, slots, unit):
        """Return rows, targets and weights of slots, with weights in another unit."""
        rows = self.at(slots)
        return rows, self.targets[slots], unit * self.weights[slots]

    def at(self, slots):
        """Return the rows of slots."""
        if self.has_signs:
            features = self.features[slots]
            features = features.reshape(len(slots), features.shape[1] * LANES)
            return features[:, : self.n_features]
        return self.rows[slots // SIDE_BY_SIDE, :, slots % SIDE_BY_SIDE]

    def _store_features(self, slots, Z):
        stored = stored_rows(self.signs, Z)
        self.rows[slots // SIDE_BY_SIDE, :, slots % SIDE_BY_SIDE] = stored
        if self.has_signs:
            self.features[slots] = in_lanes(Z)

    def _store(self, slots, rows, targets, weights):
        self._store_features(slots, rows)
        self.targets[slots], self.weights[slots] = targets, weights

    def invariants(self):
        """Yield what holds between two calls."""
        yield "window is a number of rows", is_count(self.window, 1)
        yield "n_classes is a number of classes", is_count(self.n_classes)
        yield "n_rows has one number", self.n_rows.shape == (1,)
        yield "n_rows is of int64", self.n_rows.dtype == np.int64
        is_in_range = 0 <= self.n_rows[0] <= MAX_ROWS
        yield "n_rows is a number of rows", is_in_range
        n_blocks = self._n_blocks(int(self.n_rows[0]))
        yield "rows are of floats", self.rows.dtype in (np.float32, np.float64)
        yield "features have single precision", self.features.dtype == np.float32
        yield "n_features is a number of features", is_count(self.n_features, 1)
        shapes = zip(("rows", "features"), self._shapes(n_blocks), strict=True)
        for name, shape in shapes:
            values = getattr(self, name)
            yield f"{name} have shape {shape}", values.shape == shape
            yield from finite(name, values)
        n_slots = n_blocks * SIDE_BY_SIDE
        yield from floats("weights", self.weights, (n_slots,))
        yield "weights are positive", self.weights[self.latest] > 0.0
        n_targets = max(self.targets.shape[1], 1)
        yield from floats("targets", self.targets, (n_slots, n_targets))
        if self.n_classes:
            codes = self.targets
            yield "targets are classes", (codes >= 0) & (codes < self.n_classes)
            yield "classes are whole numbers", codes % 1 == 0


@lru_cache(maxsize=4)
def _signs(n_features, n_signs):
    """Draw signs, always the same ones: (n_features, n_signs)."""
    bits = np.random.RandomState(0).randint(2, size=(n_features, n_signs))
    return as_read_only((2 * bits - 1).astype(np.float32))


def _padded(array, n_more):
    """Return an array with zeros at the end of its first axis."""
    return np.concatenate([array, np.zeros((n_more, *array.shape[1:]), array.dtype)])
