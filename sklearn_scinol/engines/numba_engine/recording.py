"""Record calls of the engine, to repeat them for each row."""

import ctypes
from functools import cache, partial
from importlib import import_module

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from ...blocks import CSRRows
from . import learning
from .bound import joined
from .compiling import compiled
from .substitutes import compiles


class Recorder:
    """An engine that records calls instead of making them.

    Arrays that its methods return are filled when the calls are made, in order and
    without arguments.
    """

    def __init__(self):
        self.calls, self._kept = [], []

    @property
    def functions(self):
        """Functions that make the calls, as few as possible."""
        return joined(self.calls)

    def norm(self, values):
        """Return 0, since no row is known yet."""
        return 0.0

    def first_values(self, seen, rows, weights):
        """Return no features: a recorded row has no new ones."""
        return np.empty(0, np.intp), np.empty(0)

    def __getattr__(self, name):
        """Return a function that records the call of the engine's function."""
        prepare = getattr(import_module(__package__), name).__wrapped__

        def record(*arguments):
            loop, arguments, result = prepare(*arguments)
            if name == "add_codes":  # also now: other arrays need the sizes of its rows
                loop(*arguments)
            self.calls.append(loop.bind(*arguments))
            return result

        return record

    def learn_rows(self, task, state, block, out):
        """See :class:`Engine`."""
        is_sparse = isinstance(block.rows, CSRRows)
        if is_sparse and block.moments is not None:
            rows = self.transform_rows(block.moments, block.rows, block.weights)
            block = block._replace(rows=rows, moments=None)
        arguments = task, state, block, out
        if is_sparse and state.first.size == 1:
            self.calls.append(partial(learning.learn_rows, *arguments))
        else:
            loop, arguments = learning.learn_call(*arguments)
            self.calls.append(loop.bind(*arguments))

    def stack(self, arrays):
        """See :class:`Engine`."""
        shape = len(arrays), *arrays[0].shape
        if not all(each.flags.c_contiguous for each in arrays):
            stacked = np.empty(shape)
            self.run(np.stack, arrays, 0, stacked)
            return stacked
        saved = SavedArrays(arrays)
        self.calls.append(saved.save)
        self._kept.append(saved)
        return saved.room.reshape(shape)

    def run(self, function, *arguments):
        """See :class:`Engine`."""
        self.calls.append(partial(function, *arguments))


class SavedArrays:
    """Copies of arrays, to restore them."""

    def __init__(self, arrays, of_features=(), X=None):
        # Their memory stays theirs as long as this holds them.
        arrays = [array for array in arrays if array.size]
        of_features = [array for array in of_features if array.size]
        self._arrays = arrays + of_features
        places = [(array.ctypes.data, array.size) for array in arrays]
        places += [(array.ctypes.data, array[0].size) for array in of_features]
        places = np.array(places, np.intp).reshape(-1, 2)
        sizes = places[:, 1].copy()
        indices, indptr = np.empty(0, np.int32), np.zeros(2, np.int32)
        if of_features:
            indices, indptr = X.indices, X.indptr
            sizes[len(arrays) :] *= len(indices)
        places = places, len(arrays), indices, indptr
        self.room = np.empty(sizes.sum())
        self.save = _loop("save").bind(*places, self.room)
        self.restore = _loop("restore").bind(*places, self.room)
        self._is_finite = np.empty(1)
        self._check = _loop("check").bind(*places, self._is_finite)

    def are_finite(self):
        """Whether all numbers in the arrays are finite, as they are now."""
        self._check()
        return self._is_finite[0] == 1.0


@cache
def _loop(purpose):
    """Return a loop over arrays, which saves, restores or checks their numbers."""

    def visit(places, n_whole, indices, indptr, room):
        start, are_finite = 0, True
        for i in range(len(places)):
            size, is_whole = places[i, 1], i < n_whole
            for j in range(1 if is_whole else indptr[1]):
                record = 0 if is_whole else indices[j]
                values = numbers_at(places[i, 0] + 8 * size * record, size)
                for k in range(size):
                    if purpose == "save":
                        room[start + k] = values[k]
                    elif purpose == "restore":
                        values[k] = room[start + k]
                    else:
                        are_finite &= np.isfinite(values[k])
                start += size
        if purpose == "check":
            room[0] = are_finite

    return compiled(visit)


def numbers_at(address, size):
    """Return the numbers at an address as an array."""
    numbers = ctypes.c_double * int(size)
    return np.frombuffer(numbers.from_address(int(address)), np.float64)


@compiles(numbers_at)
def numbers_of_pointer(address, size):
    return numba.carray(_pointer(address), size)


@intrinsic
def _pointer(typing_context, address):
    pointer = types.CPointer(types.float64)

    def codegen(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(address), codegen
