"""Arrays to which rows are appended."""

import numpy as np
from scipy import sparse

from .._invariants import is_count
from .._state import Part

# Smallest relative growth of a buffer, which bounds the copies and the unused memory.
GROWTH = 1 / 16


class GrowingArray(Part):
    """Array to which rows are appended, rarely with a copy."""

    _replaced = ("_buffer_and_size",)

    def __init__(self, *shape, dtype=np.float64):
        # One tuple, for threads that read while another appends.
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
            shape = size + int(GROWTH * size), *buffer.shape[1:]
            buffer = np.empty(shape, buffer.dtype)
            buffer[:start] = self.rows
        buffer[start:size] = rows
        self._buffer_and_size = buffer, size

    def invariants(self):
        buffer, size = self._buffer_and_size
        yield "size is a number of rows", is_count(size)
        yield "the buffer has at least `size` rows", size <= len(buffer)

    def make_writable(self):
        buffer, size = self._buffer_and_size
        self._buffer_and_size = np.require(buffer, requirements=["W", "E"]), size


class GrowingSparseArray(Part):
    """Sparse matrix to which rows are appended, rarely with a copy."""

    def __init__(self, n_columns):
        self._n_columns = n_columns
        self._data = GrowingArray()
        self._indices = GrowingArray(dtype=np.intp)
        self._ends = GrowingArray(dtype=np.intp)

    @property
    def rows(self):
        """The rows so far, a view that the next append may change."""
        indptr = np.append(0, self._ends.rows)
        shape, n = (indptr.size - 1, self._n_columns), indptr[-1]
        entries = self._data.rows[:n], self._indices.rows[:n]
        return sparse.csr_array((*entries, indptr), shape)

    def append(self, rows):
        end = self._data.rows.size
        self._data.append(rows.data)
        self._indices.append(rows.indices)
        # Last, for threads that read while another appends.
        self._ends.append(end + rows.indptr[1:])

    def invariants(self):
        yield "number of columns is a count", is_count(self._n_columns)
        indices, n_entries = self._indices.rows, len(self._data.rows)
        yield "each entry has an index", len(indices) == n_entries
        ends = np.concatenate([[0], self._ends.rows, [n_entries]])
        yield "ends of rows ascend", np.diff(ends) >= 0
        yield "indices are in their range", (indices >= 0) & (indices < self._n_columns)
