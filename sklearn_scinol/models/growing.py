"""Arrays to which rows are appended."""

from copy import copy

import numpy as np
from scipy import sparse

__all__ = ["GrowingArray", "GrowingSparseArray"]

# Arrays grow by this share at least, which bounds what is copied and what is not used.
GROWTH = 1 / 16


class GrowingArray:
    """Array to which rows are appended, where memory allows without a copy."""

    def __init__(self, *shape, dtype=np.float64):
        self._buffer = np.empty((0, *shape), dtype)
        self._size = 0

    @property
    def rows(self):
        """The rows so far; not to be kept while others are appended."""
        return self._buffer[: self._size]

    def append(self, rows):
        size = self._size + len(rows)
        if not (self._buffer.flags.owndata and self._buffer.flags.writeable):
            self._buffer = np.array(self._buffer)  # it was mapped from a file
        if size > len(self._buffer):
            capacity = size + int(GROWTH * size)
            self._buffer.resize((capacity, *self._buffer.shape[1:]), refcheck=False)
        self._buffer[self._size : size] = rows
        self._size = size

    def make_writable(self):
        self._buffer = np.require(self._buffer, requirements=["W", "E"])

    def checkpoint(self):
        """The rows so far, in the same memory: only one of the two may go on."""
        return copy(self)


class GrowingSparseArray:
    """The same for a sparse matrix."""

    def __init__(self, n_columns):
        self._n_columns = n_columns
        self._data = GrowingArray()
        self._indices = GrowingArray(dtype=np.intp)
        self._ends = GrowingArray(dtype=np.intp)

    @property
    def rows(self):
        """The rows so far; not to be kept while others are appended."""
        indptr = np.append(0, self._ends.rows)
        shape = self._ends.rows.size, self._n_columns
        return sparse.csr_array((self._data.rows, self._indices.rows, indptr), shape)

    def append(self, rows):
        self._ends.append(self._data.rows.size + rows.indptr[1:])
        self._data.append(rows.data)
        self._indices.append(rows.indices)

    def checkpoint(self):
        other = copy(self)
        for name, array in vars(self).items():
            if isinstance(array, GrowingArray):
                setattr(other, name, array.checkpoint())
        return other
