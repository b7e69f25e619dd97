"""Columns that keys are hashed to, and the names of their first keys."""

import numpy as np

from .._hashing import place
from .._invariants import is_count
from .._state import Part
from ..blocks import Marks
from .strings import Strings


def mark_places(marks, places, keys, new):
    """Store the first two different keys that come to each place; -1 is none.

    `new` is filled with the numbers of the keys that have marked a place, ascending;
    how many there are is returned.
    """
    n_new, nothing = 0, np.uint64(0)
    for i in range(places.size):
        at, key = places[i], keys[i]
        if at < 0:
            continue
        if marks.first[at] == nothing:
            marks.first[at] = key
        elif marks.second[at] == nothing and marks.first[at] != key:
            marks.second[at] = key
        else:
            continue
        new[n_new] = i
        n_new += 1
    return n_new


class HashedColumns(Part):
    """Columns that keys are hashed to, with the `first` two keys of each, or 0.

    `remembered` has, in pieces, columns that keys came to as the first or `second` one,
    and names of these keys, in order.
    """

    _replaced = ("remembered",)
    _undone = "first", "second"

    def __init__(self, n_columns):
        self.n_columns = n_columns
        self.first = np.zeros(n_columns, np.uint64)
        self.second = np.zeros(n_columns, np.uint64)
        self.remembered = []

    def places(self, keys):
        """Return the columns of keys."""
        return place(keys, np.uint64(self.n_columns)).astype(np.int32)

    def are_new(self, keys):
        """Return a mask of the keys that would be remembered."""
        places = self.places(keys)
        return (self.second[places] == 0) & (self.first[places] != keys)

    def remember(self, engine, places, keys, get_names):
        """Remember the names of keys that are the first or second ones of their column.

        Places are columns, or -1. `get_names` gives the names of some of the keys.
        Return the numbers of the keys that are remembered.
        """
        marks, new = Marks(self.first, self.second), np.empty(len(places), np.int64)
        new = new[: engine.run_loop(mark_places, marks, places, keys, new)].copy()
        if new.size:
            self.remembered.append((places[new], get_names(new)))
        # In pieces of falling sizes: each is copied a few times in all.
        while len(sizes := [len(columns) for columns, _ in self.remembered[-2:]]) == 2:
            if sizes[0] >= 2 * sizes[1]:
                break
            self.remembered[-2:] = [_concatenate(self.remembered[-2:])]
        return new

    def names(self):
        """Return names of each column's first keys: a dict of lists."""
        found = {}
        for columns, names in self.remembered:
            for i, column in enumerate(columns.tolist()):
                found.setdefault(column, []).append(names[i])
        return found

    def remember_all(self, engine, other):
        """Remember the names that other columns remember."""
        if not other.remembered:
            return
        columns, names = _concatenate(other.remembered)
        is_second = np.ones(len(columns), bool)
        is_second[np.unique(columns, return_index=True)[1]] = False
        keys = np.where(is_second, other.second[columns], other.first[columns])
        self.remember(engine, columns, keys, names.take)

    def invariants(self):
        """Yield what holds between two calls."""
        yield "n_columns is a number of columns", is_count(self.n_columns, 1)
        for keys in self.first, self.second:
            yield "keys are of type uint64", keys.dtype == np.uint64
            yield "each column has keys", keys.shape == (self.n_columns,)
        for columns, names in self.remembered:
            yield "columns are numbers", columns.dtype == np.int32
            yield "columns have names", columns.shape == (len(names),)
            yield "columns are in range", (columns >= 0) & (columns < self.n_columns)
            yield "names are strings", isinstance(names, Strings)

    def _undo(self, X):
        remembered = self.remembered.copy()

        def restore():
            self.remembered[:] = remembered
            # Keys may be marked whose names are not remembered yet.
            n_known = np.zeros(self.n_columns, np.int64)
            for columns, _ in remembered:
                n_known += np.bincount(columns, minlength=self.n_columns)
            self.first[n_known == 0] = 0
            self.second[n_known < 2] = 0

        return restore


def _concatenate(pieces):
    columns, names = zip(*pieces, strict=True)
    return np.concatenate(columns), Strings.concatenate(names)
