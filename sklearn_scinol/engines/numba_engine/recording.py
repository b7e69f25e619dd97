"""Record calls of the engine, to repeat them for each row."""

import ctypes
from functools import cache, partial

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from ...blocks import CSRRows
from . import learning
from .bound import joined
from .compiling import compiled
from .forest import forest_call
from .losses import losses_call
from .mixing import mix_call, rounds_call
from .neighbors import neighbors_call
from .pooling import pool_call
from .substitutes import compiles
from .tables import standardise_call
from .transforms import (
    Records,
    add_codes_call,
    count_below_call,
    fourier_features_call,
    scale_sparse_call,
    transform_dense_call,
    transform_targets_call,
)


class Recorder:
    """An engine that records calls instead of making them.

    Arrays that its methods return are filled when the calls are made.

    Attributes
    ----------
    calls : list of callable
        In order; they take no arguments.
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

    def transform_rows(self, moments, rows, weights):
        """See :class:`Engine`."""
        if isinstance(rows, CSRRows):
            return self._record(
                *scale_sparse_call(moments, rows, weights, Records.with_room(0))
            )
        return self._record(*transform_dense_call(moments, rows, weights))

    def transform_targets(self, moments, y, weights, unit_free):
        """See :class:`Engine`."""
        return self._record(*transform_targets_call(moments, y, weights, unit_free))

    def standardise(self, moments, X):
        """See :class:`Engine`."""
        return self._record(*standardise_call(moments, X))

    def count_below(self, edges, X):
        """See :class:`Engine`."""
        return self._record(*_run_now(*count_below_call(edges, X)))

    def fourier_features(self, directions, phases, limit, X):
        """See :class:`Engine`."""
        return self._record(*fourier_features_call(directions, phases, limit, X))

    def add_codes(self, values, bins, places):
        """See :class:`Engine`."""
        return self._record(*_run_now(*add_codes_call(values, bins, places)))

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
            self._record(*learning.learn_call(*arguments), None)

    def learn_neighbors(self, recent, rows, targets, weights, query):
        """See :class:`Engine`."""
        return self._record(*neighbors_call(recent, rows, targets, weights, query))

    def learn_forest(self, *arguments):
        """See :class:`Engine`."""
        return self._record(*forest_call(*arguments), None)

    def compute_losses(self, loss, block, predictions, numbers):
        """See :class:`Engine`."""
        return self._record(*losses_call(loss, block, predictions, numbers))

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

    def learn_rounds(self, state, losses, c, weights):
        """See :class:`Engine`."""
        self._record(*rounds_call(state, losses, c, weights), None)

    def mix(self, kind, predictions, weights):
        """See :class:`Engine`."""
        return self._record(*mix_call(kind, predictions, weights))

    def learn_pool(self, learner, loss, state, F, block):
        """See :class:`Engine`."""
        return self._record(*pool_call(learner, loss, state, F, block))

    def run(self, function, *arguments):
        """See :class:`Engine`."""
        self.calls.append(partial(function, *arguments))

    def _record(self, loop, arguments, result):
        self.calls.append(loop.bind(*arguments))
        return result


def _run_now(loop, arguments, result):
    """Call a loop that changes no state, since other arrays need the sizes."""
    loop(*arguments)
    return loop, arguments, result


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
        self.save = _copy_loop(False).bind(*places, self.room)
        self.restore = _copy_loop(True).bind(*places, self.room)
        self._is_finite = np.empty(1)
        self._check = _finite_loop().bind(*places, self._is_finite)

    def are_finite(self):
        """Whether all numbers in the arrays are finite, as they are now."""
        self._check()
        return self._is_finite[0] == 1.0


@cache
def _copy_loop(restores):

    def save(places, n_whole, indices, indptr, room):
        start = 0
        for i in range(len(places)):
            size, is_whole = places[i, 1], i < n_whole
            for j in range(1 if is_whole else indptr[1]):
                record = 0 if is_whole else indices[j]
                values = numbers_at(places[i, 0] + 8 * size * record, size)
                for k in range(size):
                    if restores:
                        values[k] = room[start + k]
                    else:
                        room[start + k] = values[k]
                start += size

    return compiled(save)


@cache
def _finite_loop():

    def are_finite(places, n_whole, indices, indptr, is_finite):
        is_finite[0] = 0.0
        for i in range(len(places)):
            size, is_whole = places[i, 1], i < n_whole
            for j in range(1 if is_whole else indptr[1]):
                record = 0 if is_whole else indices[j]
                values = numbers_at(places[i, 0] + 8 * size * record, size)
                for k in range(size):
                    if not np.isfinite(values[k]):
                        return
        is_finite[0] = 1.0

    return compiled(are_finite)


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
