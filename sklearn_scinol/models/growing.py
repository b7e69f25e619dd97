"""Arrays to which rows are appended."""

from copy import copy

import numpy as np
from scipy import sparse

from .._invariants import is_count

__all__ = ["GrowingArray", "GrowingSparseArray"]

# Arrays grow by this share at least, which bounds what is copied and what is not used.
GROWTH = 1 / 16


class GrowingArray:
    """Array to which rows are appended, mostly without a copy."""

    def __init__(self, *shape, dtype=np.float64):
        # Together, for threads that read while one appends.
        self._buffer_and_size = np.empty((0, *shape), dtype), 0

    def __getstate__(self):
        return {"_buffer_and_size": (self.rows, len(self.rows))}

    @property
    def rows(self):
        """The rows so far, a view."""
        buffer, size = self._buffer_and_size
        return buffer[:size]

    def append(self, rows):
        buffer, start = self._buffer_and_size
        size = start + len(rows)
        if size > len(buffer) or not buffer.flags.writeable:
            larger = np.empty(
                (size + int(GROWTH * size), *buffer.shape[1:]), buffer.dtype
            )
            larger[:start] = buffer[:start]
            buffer = larger
        buffer[start:size] = rows
        self._buffer_and_size = buffer, size

    def invariants(self):
        """What holds between two calls."""
        buffer, size = self._buffer_and_size
        yield "size is a number of rows", is_count(size)
        yield "there are so many", size <= len(buffer)

    def make_writable(self):
        buffer, size = self._buffer_and_size
        self._buffer_and_size = np.require(buffer, requirements=["W", "E"]), size

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
        shape, n = (indptr.size - 1, self._n_columns), indptr[-1]
        entries = self._data.rows[:n], self._indices.rows[:n]
        return sparse.csr_array((*entries, indptr), shape)

    def append(self, rows):
        end = self._data.rows.size
        self._data.append(rows.data)
        self._indices.append(rows.indices)
        # Last, for threads that read while one appends: entries are there by then.
        self._ends.append(end + rows.indptr[1:])

    def invariants(self):
        """What holds between two calls."""
        yield "there are columns", is_count(self._n_columns)
        indices, n_entries = self._indices.rows, len(self._data.rows)
        yield "indices are of the entries", len(indices) == n_entries
        ends = np.concatenate([[0], self._ends.rows, [n_entries]])
        yield "rows end in order", np.diff(ends) >= 0
        yield "indices are of columns", (indices >= 0) & (indices < self._n_columns)

    def checkpoint(self):
        other = copy(self)
        for name, array in vars(self).items():
            if isinstance(array, GrowingArray):
                setattr(other, name, array.checkpoint())
        return other
