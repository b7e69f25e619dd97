"""Columns that names are sent to by hashing, and which names came to them."""

import numpy as np

from .._invariants import is_count
from ..blocks import Marks, as_writable
from ..transforms.hashing import place
from .strings import Strings

__all__ = ["HashedColumns"]


class HashedColumns:
    """Sends keys to columns, and knows the first two that came to each.

    Parameters
    ----------
    n_columns : int

    Attributes
    ----------
    first, second : ndarray of uint64 of shape (n_columns,)
        Keys, or 0.
    remembered : list of (ndarray of int32, Strings)
        The columns that keys have come to as the first or the second one, and the names
        of these keys, in that order.
    """

    def __init__(self, n_columns):
        self.n_columns = n_columns
        self.first = np.zeros(n_columns, np.uint64)
        self.second = np.zeros(n_columns, np.uint64)
        self.remembered = []

    def places(self, keys):
        """Columns of keys."""
        return place(keys, np.uint64(self.n_columns)).astype(np.int32)

    def remember(self, engine, places, keys, names_of):
        """Remember the names of keys, if they are the first ones at their places.

        Parameters
        ----------
        engine : Engine
        places : ndarray of int32 of shape (n,)
            -1 for none.
        keys : ndarray of uint64 of shape (n,)
        names_of : callable
            Gives the names, as :class:`Strings`, of the keys with some numbers.
        """
        self.first, self.second = as_writable(self.first), as_writable(self.second)
        new = engine.mark_places(Marks(self.first, self.second), places, keys)
        if new.size:
            self.remembered.append((places[new], names_of(new)))
        # In pieces of falling sizes: each is copied a few times in all.
        while len(self.remembered) > 1 and _size(self, -2) < 2 * _size(self, -1):
            self._merge(2)

    def _merge(self, n_pieces):
        columns, names = zip(*self.remembered[-n_pieces:], strict=True)
        merged = np.concatenate(columns), Strings.concatenated(names)
        self.remembered[-n_pieces:] = [merged]

    def names(self):
        """The names that came to each column: a dict from columns to lists."""
        found = {}
        for columns, names in self.remembered:
            for i, column in enumerate(columns.tolist()):
                found.setdefault(column, []).append(names[i])
        return found

    def remember_all(self, engine, other):
        """Remember what another one does."""
        for columns, names in other._in_order():
            is_second = np.ones(len(columns), bool)
            is_second[np.unique(columns, return_index=True)[1]] = False
            keys = np.where(is_second, other.second[columns], other.first[columns])
            self.remember(engine, columns, keys, names.take)

    def _in_order(self):
        """All that is remembered, in one piece; nothing if there is none."""
        if not self.remembered:
            return []
        columns, names = zip(*self.remembered, strict=True)
        return [(np.concatenate(columns), Strings.concatenated(names))]

    def invariants(self):
        """What holds between two calls."""
        yield "n_columns is a number of columns", is_count(self.n_columns, 1)
        for keys in self.first, self.second:
            yield "there are keys", keys.dtype == np.uint64
            yield "each column has keys", keys.shape == (self.n_columns,)
        for columns, names in self.remembered:
            yield "columns are numbers", columns.dtype == np.int32
            yield "columns have names", columns.shape == (len(names),)
            yield "columns are there", (columns >= 0) & (columns < self.n_columns)
            yield "names are strings", isinstance(names, Strings)

    def checkpoint(self):
        """How to undo what will be remembered."""
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


def _size(hashed, piece):
    return len(hashed.remembered[piece][0])
