"""The first different values of columns, each of which has a place of its own."""

import numpy as np

from ..engines.protocol import Slots, changeable

__all__ = ["Vocabulary"]


class Vocabulary:
    """Gives the different keys of each column slots, in the order in which they come.

    Parameters
    ----------
    n_columns, n_slots : int
    fewest_seen : int
        A column's slots are given up if there were fewer keys when they are full: its
        values hardly ever come again.

    Attributes
    ----------
    slots : Slots
    names : list of list of str
        Of the keys of each column.
    """

    def __init__(self, n_columns, n_slots, fewest_seen):
        self.slots = Slots(
            np.zeros((n_columns, n_slots), np.uint64),
            np.zeros(n_columns, np.int64),
            np.zeros(n_columns, np.int64),
            np.ones(n_columns, bool),
            fewest_seen,
        )
        self.names = [[] for _ in range(n_columns)]

    @property
    def n_slots(self):
        return self.slots.keys.shape[1]

    @property
    def some_open(self):
        """Whether slots are of use in some columns."""
        return bool(self.slots.is_open.any())

    def find(self, engine, keys, is_given, name_of, learns):
        """Slots of the keys of rows.

        Parameters
        ----------
        engine : Engine
        keys : ndarray of uint64 of shape (n, n_columns)
        is_given : ndarray of bool of shape (n, n_columns)
        name_of : callable
            Name of the key in a row and a column.
        learns : bool
            Whether new keys get slots; else each has the one that is next, which no
            row had before.

        Returns
        -------
        slots : ndarray of int32 of shape (n, n_columns)
            -1 for none.
        """
        self.slots = Slots(*map(changeable, self.slots[:4]), self.slots.fewest_seen)
        n_before = self.slots.n_used.copy()
        found, came = engine.find_slots(self.slots, keys, is_given, learns)
        for j in np.flatnonzero(self.slots.n_used > n_before):
            for row in came[j, n_before[j] : self.slots.n_used[j]].tolist():
                self.names[j].append(name_of(row, j))
        return found

    def slot_names(self, j, name):
        """Names of the columns of the slots of a column with that name."""
        names = [f"{name}={value}" for value in self.names[j]]
        return names + [f"{name}_slot{k}" for k in range(len(names), self.n_slots)]

    def way_back(self):
        """How to undo what will be learned."""
        n_used, n_seen, is_open = (each.copy() for each in self.slots[1:4])

        def restore():
            for now, before in zip(
                self.slots[1:4], (n_used, n_seen, is_open), strict=True
            ):
                now[:] = before
            for j, names in enumerate(self.names):
                self.slots.keys[j, n_used[j] :] = 0
                del names[n_used[j] :]

        return restore
