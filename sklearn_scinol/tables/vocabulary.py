"""Vocabularies of columns: the first distinct values, each with a slot of its own."""

import numpy as np

from .._invariants import is_count
from .._state import Part, as_writable
from ..blocks import Slots


class Vocabulary(Part):
    """Slots for the distinct keys of each column, in the order in which they come.

    A column's slots are retired if there were fewer keys than `fewest_seen` when they
    are full: its values hardly ever come again. `names` are of the keys of each column.
    """

    _replaced = ("names",)
    _undone = ("slots",)

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

    def find(self, engine, keys, is_given, name_of, learns):
        """Return the slots of the keys of rows, or -1, of shape (n, n_columns).

        New keys get slots if `learns`; else each has the next one, which no row had.
        `name_of` gives the name of the key in a row and a column.
        """
        n_before = self.slots.n_used.copy()
        # Arrays that are mapped from disk are copied, for predictions.
        slots = Slots(*map(as_writable, self.slots[:4]), self.slots.fewest_seen)
        found, came = engine.find_slots(slots, keys, is_given, learns)
        for j in np.flatnonzero(self.slots.n_used > n_before):
            for row in came[j, n_before[j] : self.slots.n_used[j]].tolist():
                self.names[j].append(name_of(row, j))
        return found

    def slot_names(self, j, name):
        """Return names of the slots of the column `name`."""
        names = [f"{name}={value}" for value in self.names[j]]
        return names + [f"{name}_slot{k}" for k in range(len(names), self.n_slots)]

    def copy_from(self, other, places):
        """Copy the columns of a vocabulary to these places, before the first row."""
        for mine, theirs in zip(self.slots[:4], other.slots[:4], strict=True):
            mine[places] = theirs
        for place, names in zip(places, other.names, strict=True):
            self.names[place] = names.copy()

    # Merging.

    @property
    def is_full(self):
        """Mask of the columns that have no slots left."""
        return self.slots.n_used == self.n_slots

    @classmethod
    def merged(cls, shards):
        """Merge vocabularies.

        Values that came first in one of them have slots first, and the last ones none
        if there are too many. Slots are of use if they were in each, and if new values
        were no more frequent than is allowed.
        """
        start = shards.start
        merged = cls(len(start.names), start.n_slots, start.slots.fewest_seen)
        keys, n_used, n_seen, is_open, fewest_seen = merged.slots
        n_seen[:] = shards.map(lambda each: each.slots.n_seen).sum()
        for j in range(len(start.names)):
            ranks, names = {}, {}
            for each in shards:
                for rank, key in enumerate(each.keys_of(j)):
                    ranks[key] = min(ranks.get(key, rank), rank)
                names.update(zip(each.keys_of(j), each.names[j], strict=True))
            found = sorted(ranks, key=lambda key: (ranks[key], key))
            n_found, n_slots = len(found), merged.n_slots
            found = found[:n_slots]
            n_used[j] = len(found)
            keys[j, : len(found)] = found
            merged.names[j] = [names[key] for key in found]
            comes_again = n_found * fewest_seen <= n_seen[j] * n_slots
            is_open[j] = all(each.slots.is_open[j] for each in shards)
            is_open[j] &= n_found < n_slots or comes_again
        return merged

    def keys_of(self, j):
        """Return the keys of a column that have slots, in order."""
        return self.slots.keys[j, : self.slots.n_used[j]].tolist()

    def slots_in(self, other, j):
        """Map the slots of a column to slots of another vocabulary, or to -1.

        Slots that are free in both stay where they are.
        """
        slots, n_used = np.arange(self.n_slots), int(self.slots.n_used[j])
        slots[n_used : other.slots.n_used[j]] = -1
        slot_of = {key: slot for slot, key in enumerate(other.keys_of(j))}
        slots[:n_used] = [slot_of.get(key, -1) for key in self.keys_of(j)]
        return slots

    def slots_not_in(self, other, j):
        """Return slots of a column whose keys another one does not have, and keys."""
        slots = np.flatnonzero(self.slots_in(other, j)[: self.slots.n_used[j]] < 0)
        return slots, self.slots.keys[j, slots]

    def add_moves(self, other, starts, moves):
        """Add moves of the slots of another vocabulary to `moves`."""
        for j, start in enumerate(starts):
            moves.add_block(start, self.slots_in(other, j), other.slots_in(self, j))

    def invariants(self):
        """Yield what holds between two calls, beyond :func:`same_structure`."""
        n_used = self.slots.n_used
        yield "fewest_seen is a count", is_count(self.slots.fewest_seen)
        yield "n_used is in its range", (n_used >= 0) & (n_used <= self.n_slots)
        yield "n_seen >= 0", self.slots.n_seen >= 0
        yield "keys have names", np.array([*map(len, self.names)]) == n_used
        yield (
            "names are text",
            all(isinstance(name, str) for names in self.names for name in names),
        )

    def _undo(self, X):
        saved = [each.copy() for each in self.slots[1:4]]

        def restore():
            for now, before in zip(self.slots[1:4], saved, strict=True):
                now[:] = before
            for j, (names, n_used) in enumerate(zip(self.names, saved[0], strict=True)):
                self.slots.keys[j, n_used:] = 0
                del names[n_used:]

        return restore
