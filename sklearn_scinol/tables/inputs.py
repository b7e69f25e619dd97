"""Counts of what is missing, new, out of range or of another type in each column."""

import numpy as np

from .._invariants import same_structure
from .._state import Part

#: Names of the counted events, each relative to what was known before the row.
MEASURES = "missing", "unseen", "out_of_range", "changed_type"
MISSING, UNSEEN, OUT_OF_RANGE, CHANGED_TYPE = range(4)

#: Rows of a block; the window has the latest block and the one before it.
BLOCK = 1024


class InputCounts(Part):
    """Counts of events in the columns of a table, in all rows and in a window.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    start : int
        The first row of any window.
    block : int
        The block of the latest event.
    counts : ndarray of int64 of shape (3, 4, n_columns)
        In all rows, in the block before `block`, and in that, by `MEASURES`.
    limits : ndarray of shape (2, n_columns)
        Smallest and largest number so far; infinities for none. Never changed in place.
    types : ndarray of int8 of shape (n_columns,)
        Whether a column's first category looks like a number; -1 for none. Never
        changed in place.
    """

    _replaced = "limits", "types"

    def __init__(self, n_columns):
        self.n_rows = self.start = self.block = 0
        self.counts = np.zeros((3, len(MEASURES), n_columns), np.int64)
        self.limits = np.repeat([[np.inf], [-np.inf]], n_columns, axis=1)
        self.types = np.full(n_columns, -1, np.int8)

    def _latest(self):
        """Return the latest row's block, and counts in the one before it and in it."""
        block, (_, before, latest) = max(self.n_rows - 1, 0) // BLOCK, self.counts
        if block > self.block:
            before = latest if block == self.block + 1 else np.zeros_like(latest)
            latest = np.zeros_like(latest)
        return block, before, latest

    def _move(self):
        """Move the window to the latest row."""
        if self.n_rows > BLOCK * (self.block + 1):
            self.block, *self.counts[1:] = self._latest()

    def add(self, measure, columns, flags):
        """Add flags of the latest rows, of shape (n_rows, n_columns)."""
        if not flags.any():
            return
        self._move()
        start = BLOCK * self.block - (self.n_rows - len(flags))  # of the latest block
        first, last = max(start - BLOCK, 0), max(start, 0)
        self.counts[0, measure, columns] += (n_flags := flags.sum(axis=0))
        if last:
            self.counts[1, measure, columns] += flags[first:last].sum(axis=0)
            n_flags = flags[last:].sum(axis=0)
        self.counts[2, measure, columns] += n_flags

    def add_numbers(self, columns, X):
        """Add numbers, of which some may be out of the range so far."""
        low, high = self.limits[:, columns]
        X = np.asfortranarray(X)  # reduced several times
        limits = np.fmin(low, np.fmin.reduce(X)), np.fmax(high, np.fmax.reduce(X))
        wider = np.flatnonzero((limits[0] < low) | (limits[1] > high))
        if wider.size:
            X, low, high = X[:, wider], low[wider], high[wider]
            low = np.fmin.accumulate(np.vstack([low, X]))[:-1]
            high = np.fmax.accumulate(np.vstack([high, X]))[:-1]
            is_out = ((low > X) | (high < X)) & (low <= high)
            self.add(OUT_OF_RANGE, columns[wider], is_out)
            self.limits = self.limits.copy()
            self.limits[:, columns] = np.add(limits, 0.0)  # not -0.0

    def is_out_of_range(self, columns, X):
        """Return a mask of numbers beyond all so far, if there were any."""
        low, high = self.limits[:, columns]
        return ((low > X) | (high < X)) & (low <= high)

    def add_texts(self, columns, texts, is_missing):
        """Add categories, column by column, of which some may be of another type."""
        if is_missing.all():
            return
        is_number, is_given = _look_like_numbers(texts, len(columns)), ~is_missing
        new = np.flatnonzero((self.types[columns] < 0) & is_given.any(axis=0))
        if new.size:
            self.types = self.types.copy()
            self.types[columns[new]] = is_number[is_given.argmax(axis=0)[new], new]
        self.add(CHANGED_TYPE, columns, is_given & (is_number != self.types[columns]))

    def has_changed_type(self, columns, texts, is_missing):
        """Return a mask of categories of another type than the first of the column."""
        if is_missing.all():
            return False
        types = self.types[columns]
        has_changed = _look_like_numbers(texts, len(columns)) != types
        return has_changed & ~is_missing & (types >= 0)

    def add_row(self, events):
        """Add events of the latest row: measures, columns, and values that are known.

        Values are numbers out of range, and whether a text looks like a number.
        """
        self._move()
        for measure, column, value in events:
            if measure == OUT_OF_RANGE:
                low, high = self.limits[:, column].tolist()
                self.limits = self.limits.copy()
                self.limits[:, column] = min(value, low) + 0.0, max(value, high) + 0.0
                if low > high:
                    continue
            elif measure == CHANGED_TYPE and self.types[column] < 0:
                self.types = self.types.copy()
                self.types[column] = value
                continue
            self.counts[::2, measure, column] += 1

    def report(self, places):
        """Return shares by the names of columns, whose places are given by name."""
        block, *recent = self._latest()
        n_recent = self.n_rows - max(self.start, BLOCK * (block - 1))
        shares = {
            "": self.counts[0] / max(self.n_rows, 1),
            "_lately": sum(recent) / max(n_recent, 1),
        }
        return {
            name: {
                key + end: values[k, j].item()
                for end, values in shares.items()
                for k, key in enumerate(MEASURES)
            }
            for name, j in places.items()
        }

    @classmethod
    def merged(cls, shards):
        """Merge counts: their windows end, and the next one begins."""
        merged = cls(len(shards.start.types))
        merged.n_rows = merged.start = int(shards.map(lambda each: each.n_rows).sum())
        merged.block = max(merged.n_rows - 1, 0) // BLOCK
        merged.counts[0] = shards.map(lambda each: each.counts[0]).sum()
        merged.limits[0] = np.min([each.limits[0] for each in shards], axis=0)
        merged.limits[1] = np.max([each.limits[1] for each in shards], axis=0)
        merged.types[:] = np.max([each.types for each in shards], axis=0)
        return merged

    def invariants(self):
        """Yield what holds between two calls."""
        yield from same_structure(self, InputCounts(len(self.types)), "the counts")
        yield "the window has rows", 0 <= self.start <= self.n_rows
        yield "its block has come", 0 <= self.block <= max(self.n_rows - 1, 0) // BLOCK
        window = self.counts[1] + self.counts[2]
        yield (
            "counts are shares of rows",
            (window >= 0) & (self.counts[0] <= self.n_rows),
        )
        yield "the window is a part", (self.counts[1:] >= 0).all(axis=0)
        yield "the window is at most all", window <= self.counts[0]
        yield "blocks have counts", window <= 2 * BLOCK
        yield "types are known", (self.types >= -1) & (self.types <= 1)


def _look_like_numbers(texts, n_columns):
    """Return :func:`looks_like_number` of Strings that stand column by column."""
    starts = np.minimum(texts.offsets[:-1], texts.data.size - 1)  # of empty ones, too
    first, last = texts.data[starts], texts.data[texts.offsets[1:] - 1]
    # Bytes: those before the first of a range wrap around.
    is_number = (first - ord("+") <= ord("9") - ord("+")) & (
        last - ord(".") <= ord("9") - ord(".")
    )
    return is_number.reshape(n_columns, -1).T


def looks_like_number(text):
    """Tell whether a text begins and ends as numbers do."""
    return "+" <= text[0] <= "9" and "." <= text[-1] <= "9"


def rows_of_new(codes, n_before, n_rows):
    """Return a mask of the rows in which slots from `n_before` on come first."""
    flags, rows = np.zeros((n_rows, 1), bool), np.flatnonzero(codes >= n_before)
    flags[rows[np.unique(codes[rows], return_index=True)[1]]] = True
    return flags
