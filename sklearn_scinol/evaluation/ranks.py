"""Ranks of numbers among all earlier ones, in bounded memory."""

from bisect import bisect_left
from copy import copy

import numpy as np

#: Maximum number of cells: numbers in the same cell count as equal.
MAX_CELLS = 1024

# All bits of an int64 but the sign.
MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)


def ordered_keys(values):
    """Return integers in the order of the floats: equal for equal ones alone."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.int64)  # -0.0 is 0.0
    return np.where(bits < 0, bits ^ MAGNITUDE, bits)


class Ranks:
    """Ranks of keys among all keys so far.

    A cell holds the keys that agree but for their last `n_dropped` bits. There are as
    few dropped bits as leave `MAX_CELLS` cells: the cells depend on which keys have
    come, not on their order. Hence among exchangeable keys each is equally likely to
    be the latest, also given the cells and their counts.
    """

    def __init__(self):
        self.n_dropped = 0
        self.cells, self.counts = [], []

    def copy(self):
        copied = copy(self)
        copied.cells, copied.counts = self.cells.copy(), self.counts.copy()
        return copied

    def add(self, key):
        """Add a key; return how many are in greater cells, and how many in its own."""
        cell = key >> self.n_dropped
        place = bisect_left(self.cells, cell)
        if place < len(self.cells) and self.cells[place] == cell:
            self.counts[place] += 1
        else:
            self.cells.insert(place, cell)
            self.counts.insert(place, 1)
        while len(self.cells) > MAX_CELLS:
            merged = {}
            for cell, count in zip(self.cells, self.counts, strict=True):
                merged[cell >> 1] = merged.get(cell >> 1, 0) + count
            self.cells, self.counts = [*merged], [*merged.values()]
            self.n_dropped += 1
            place = bisect_left(self.cells, key >> self.n_dropped)
        return sum(self.counts[place + 1 :]), self.counts[place]
