"""Loop that finds the nearest rows of a stream.

Two rows search at once, so that stored rows are read once for both: reading takes most
of the time. The second one sees the first, if that is learned, in place of the oldest.
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

from ... import _portable
from ...blocks import LANES, SIDE_BY_SIDE, store_row
from .compiling import runs_loop, strict
from .substitutes import compiles, pointer_to, repeated

#: Bits of a key below the bits of the distance.
KEY_BITS = 32
LOW_BITS = 2**KEY_BITS - 1

#: Bits of infinity in single precision, and its key.
BITS_OF_INFINITY = 0x7F800000
NO_KEY = BITS_OF_INFINITY << KEY_BITS

#: Features after which rows that are all too far away are given up.
FEATURES_AT_ONCE = 16

#: Number of rows that search at once.
AT_ONCE = 2

#: Type of bits that stand for the rows of a block.
BITS = ir.IntType(SIDE_BY_SIDE)

VECTOR = ir.VectorType(ir.FloatType(), LANES)


class Room(NamedTuple):
    """Memory of the loop. An axis of size 2 is rows that search."""

    features: np.ndarray  # float32, (2, n_groups, LANES)
    rows: np.ndarray  # float32, (2, n_features or n_signs), what is stored of them
    sums: np.ndarray  # float32, (LANES,)
    distances: np.ndarray  # float32, (2, SIDE_BY_SIDE), squared, of rows of a block
    bits: np.ndarray  # int32, the same memory, in the same order: none is negative
    bounds: np.ndarray  # int32, (2,), bits of the smallest distance that is not near
    nearest: np.ndarray  # int64, (2, n_nearest), keys of the nearest so far, ascending
    slots: np.ndarray  # (n_nearest,), their places in the end, for one row
    values: np.ndarray  # (n_nearest,), targets in ascending order
    masses: np.ndarray  # (n_nearest,), and their weights


@runs_loop
def learn_neighbors(recent, rows, targets, weights, query):
    """Predict each row from the nearest rows before it, then store it."""
    (n, d), n_columns = rows.X.shape, query.n_classes or targets.shape[1]
    predictions = np.empty((query.n_neighbors.size, n, n_columns))
    most = max(int(query.n_neighbors.max()), query.n_candidates)
    most = max(min(most, len(recent.weights)), 1)
    distances = np.empty((AT_ONCE, SIDE_BY_SIDE), np.float32)
    room = Room(
        np.zeros((AT_ONCE, -(-d // LANES), LANES), np.float32),
        np.zeros((AT_ONCE, recent.signs.shape[1] or d), np.float32),
        np.empty(LANES, np.float32),
        distances,
        distances.view(np.int32),
        np.empty(AT_ONCE, np.int32),
        np.empty((AT_ONCE, most), np.int64),
        np.empty(most, np.intp),
        *np.empty((2, most)),
    )
    arguments = recent, rows, targets, weights, query, room, predictions
    return _learn_neighbors, arguments, predictions


@strict
def _learn_neighbors(recent, rows, targets, weights, query, room, predictions):
    for first in range(0, predictions.shape[1], AT_ONCE):
        n_rows = min(AT_ONCE, predictions.shape[1] - first)
        for q in range(n_rows):
            fill_row(recent, rows.X[first + q], query.largest, room, q)
        count = recent.n_rows[0]
        find_nearest(recent, room, n_rows, weights.given[first] > 0.0)
        for r in range(first, first + n_rows):
            n_stored = min(recent.n_rows[0], recent.window)
            find_slots(recent, room, r - first, count)
            for k in range(predictions.shape[0]):
                n_found = min(query.n_neighbors[k], n_stored)
                for c in range(predictions.shape[2]):
                    y = prediction(recent, room, n_found, query, c)
                    predictions[k, r, c] = y
            if weights.given[r] > 0.0:
                store(recent, room, r - first, targets[r], weights.to_mean[r])


def fill_row(recent, x, largest, room, q):
    """Fill row `q` with features, clipped, or with their sums by signs."""
    features, row, signs = room.features[q], room.rows[q], recent.signs
    for j in range(x.size):
        value = _portable.larger(_portable.smaller(x[j], largest), -largest)
        features[j // LANES, j % LANES] = value
    if signs.size == 0:
        for j in range(row.size):
            row[j] = features[j // LANES, j % LANES]
    else:
        for k in range(row.size):
            row[k] = 0.0
        for j in range(signs.shape[0]):
            value = features[j // LANES, j % LANES]
            for k in range(row.size):
                row[k] += value * signs[j, k]


def store(recent, room, q, y, c):
    """Store row `q`, its targets and its weight."""
    slot, features = recent.n_rows[0] % recent.window, room.features[q]
    store_row(recent, slot, room.rows[q], y, c)
    if recent.signs.size > 0:
        for j in range(features.shape[0]):
            for i in range(LANES):
                recent.features[slot, j, i] = features[j, i]
    recent.n_rows[0] += 1


def find_nearest(recent, room, n_rows, is_learned):
    """Find the keys of the nearest rows.

    The block of the next slot comes twice: rows before that slot are the latest, others
    the oldest. The key of a row has the bits of its distance, then its place in this
    order, so that the latest of equal ones comes first. For the second row, the first
    one, if it is learned, has place 0, and the row whose slot it takes is gone.
    """
    bits, bounds = room.bits, room.bounds
    for q in range(AT_ONCE):
        bounds[q] = BITS_OF_INFINITY if q < n_rows else 0
        for i in range(room.nearest.shape[1]):
            room.nearest[q, i] = NO_KEY
    if n_rows > 1 and is_learned:
        room.distances[1, 0] = 0.0
        for j in range(room.rows.shape[1]):
            deviation = room.rows[0, j] - room.rows[1, j]
            room.distances[1, 0] += deviation * deviation
        bounds[1] = insert(room.nearest[1], bits[1, 0], 0)
    count, window = recent.n_rows[0], recent.window
    n_stored, next_slot = min(count, window), count % window
    n_blocks = (n_stored + SIDE_BY_SIDE - 1) // SIDE_BY_SIDE
    for visit in range(n_blocks + 1 if n_stored > 0 else 0):
        block = (next_slot // SIDE_BY_SIDE - visit) % n_blocks
        start, stop = 0, min(SIDE_BY_SIDE, n_stored - block * SIDE_BY_SIDE)
        if visit == 0:
            stop = next_slot % SIDE_BY_SIDE
        elif visit == n_blocks:
            start = next_slot % SIDE_BY_SIDE
        if start < stop:
            of_first, of_second = near_rows(recent.rows, block, room)
            order = (visit + 1) * SIDE_BY_SIDE
            insert_near(room, 0, of_first, start, stop, order, room.nearest[0])
            start += is_learned and visit == n_blocks and n_stored == window
            insert_near(room, 1, of_second, start, stop, order, room.nearest[1])


def insert_near(room, q, near, start, stop, order, nearest):
    """Insert those rows of a block that are near to row `q`, from slots in a range."""
    bits, bound = room.bits, room.bounds[q]
    while near != 0:
        i = highest(near)
        near ^= 1 << i
        if start <= i < stop and bits[q, i] < bound:
            bound = insert(nearest, bits[q, i], order - i)
    room.bounds[q] = bound


def insert(nearest, bits, place):
    """Insert the bits of a distance, with a place; return those of the largest left."""
    key, last = np.int64(bits) << KEY_BITS | place, nearest.size - 1
    for at in range(last, 0, -1):
        nearest[at] = min(max(key, nearest[at - 1]), nearest[at])
    nearest[0] = min(key, nearest[0])
    return np.int32(nearest[last] >> KEY_BITS)


def find_slots(recent, room, q, count):
    """Find the slots of the rows nearest to row `q`, of which `count` had come."""
    n_stored, next_slot = min(count, recent.window), count % recent.window
    n_blocks = (n_stored + SIDE_BY_SIDE - 1) // SIDE_BY_SIDE
    for k in range(room.slots.size):
        key = room.nearest[q, k]
        if key == NO_KEY:
            break
        slot, place = next_slot, key & LOW_BITS
        if place > 0:
            visit, behind = (place - 1) // SIDE_BY_SIDE, (place - 1) % SIDE_BY_SIDE
            block = (next_slot // SIDE_BY_SIDE - visit) % n_blocks
            slot = (block + 1) * SIDE_BY_SIDE - 1 - behind
        if recent.signs.size > 0:
            key = key_of_features(recent, room, q, slot) | place
            sort_in(room.nearest[q], room.slots, k, slot, key)
        else:
            room.slots[k] = slot


def key_of_features(recent, room, q, slot):
    """Return the bits of the distance of all features, in those of a key."""
    sums, features = room.sums, room.features[q]
    for i in range(LANES):
        sums[i] = 0.0
    for j in range(features.shape[0]):
        for i in range(LANES):
            a = recent.features[slot, j, i] - features[j, i]
            sums[i] += a * a
    room.distances[0, 0] = 0.0
    for i in range(LANES):
        room.distances[0, 0] += sums[i]
    return np.int64(room.bits[0, 0]) << KEY_BITS


def sort_in(nearest, slots, k, slot, key):
    """Sort a key and its slot into the `k` ones before, in place of the next one."""
    at = k
    while at > 0 and nearest[at - 1] > key:
        nearest[at], slots[at] = nearest[at - 1], slots[at - 1]
        at -= 1
    nearest[at], slots[at] = key, slot


def near_rows(rows, block, room):
    """Compute squared distances of a block of rows; return bits of those in bound.

    Sums of squares never fall, not even when rounded: if all rows are out of bound,
    features are left.
    """
    searching, distances, bounds = room.rows, room.distances, room.bounds
    for q in range(AT_ONCE):
        for i in range(SIDE_BY_SIDE):
            distances[q, i] = 0.0
    a, b, first, n_features = -1, -1, 0, searching.shape[1]
    while (a != 0 or b != 0) and first < n_features:
        end = min(first + FEATURES_AT_ONCE, n_features)
        a, b = add_squares(rows, block, first, end, searching, distances, bounds)
        first = end
    return a, b


def add_squares(rows, block, first, end, searching, distances, bounds):
    """Add squares of some features to distances; return bits of those below bounds."""
    near = []
    for x, sums, bound in zip(searching, distances, bounds, strict=True):
        deviations = rows[block, first:end] - x[first:end, np.newaxis]
        for squares in deviations * deviations:
            sums += squares
        bits = np.packbits(sums.view(np.int32) < bound, bitorder="little")
        near.append(int.from_bytes(bits.tobytes(), "little"))
    return near


@compiles(add_squares)
@intrinsic
def _add_squares(typing_context, rows, block, first, end, searching, distances, bounds):
    def codegen(context, builder, signature, arguments):
        kinds = dict(enumerate(signature.args))
        rows, searching, distances, bounds = (
            arrayobj.make_array(kinds[i])(context, builder, arguments[i])
            for i in (0, 4, 5, 6)
        )
        block, first, end = arguments[1:4]
        n_features = cgutils.unpack_tuple(builder, rows.shape)[1]
        start = builder.mul(block, builder.mul(n_features, BITS(SIDE_BY_SIDE)))
        vectors = range(0, SIDE_BY_SIDE, LANES)

        def of_searching(q, lane):
            place = BITS(q * SIDE_BY_SIDE + lane)
            return pointer_to(builder, distances, place, VECTOR)

        sums = [
            [
                cgutils.alloca_once_value(
                    builder, builder.load(of_searching(q, lane), align=4)
                )
                for lane in vectors
            ]
            for q in range(AT_ONCE)
        ]
        with cgutils.for_range_slice(builder, first, end, BITS(1)) as (j, _):
            x = []
            for q in range(AT_ONCE):
                place = builder.add(builder.mul(n_features, BITS(q)), j)
                value = builder.load(builder.gep(searching.data, [place]))
                x.append(repeated(builder, value, LANES))
            at = builder.add(start, builder.mul(j, BITS(SIDE_BY_SIDE)))
            for lane, *totals in zip(vectors, *sums, strict=True):
                place = builder.add(at, BITS(lane))
                stored = builder.load(pointer_to(builder, rows, place, VECTOR), align=4)
                for value, total in zip(x, totals, strict=True):
                    deviation = builder.fsub(stored, value)
                    square = builder.fmul(deviation, deviation)
                    builder.store(builder.fadd(builder.load(total), square), total)
        near = [BITS(0)] * AT_ONCE
        for q, totals in enumerate(sums):
            bound = builder.load(builder.gep(bounds.data, [BITS(q)]))
            bound = repeated(builder, bound, LANES)
            for lane, total in zip(vectors, totals, strict=True):
                total = builder.load(total)
                builder.store(total, of_searching(q, lane), align=4)
                total = builder.bitcast(total, bound.type)
                is_near = builder.icmp_signed("<", total, bound)
                is_near = builder.bitcast(is_near, ir.IntType(LANES))
                bits = builder.shl(builder.zext(is_near, BITS), BITS(lane))
                near[q] = builder.or_(near[q], bits)
        return context.make_tuple(builder, signature.return_type, near)

    given = rows, block, first, end, searching, distances, bounds
    return types.UniTuple(types.int64, AT_ONCE)(*given), codegen


def highest(bits):
    """Return the place of the highest bit."""
    return bits.bit_length() - 1


@compiles(highest)
@intrinsic
def _highest(typing_context, bits):
    def codegen(context, builder, signature, arguments):
        n_zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(BITS(63), n_zeros)

    return types.int64(types.int64), codegen


def prediction(recent, room, n_found, query, c):
    """Return the votes for a class, or the mean or a quantile of a target."""
    if n_found == 0:
        return 0.0
    if query.n_classes == 0 and query.quantiles[c] >= 0.0:
        return quantile(recent, room, n_found, c, query.quantiles[c])
    total = mass = 0.0
    for i in range(n_found):
        slot = room.slots[i]
        weight = recent.weights[slot]
        if query.n_classes == 0:
            total += weight * recent.targets[slot, c]
        elif recent.targets[slot, 0] == c:
            total += weight
        mass += weight
    return total if query.n_classes > 0 else total / mass


def quantile(recent, room, n_found, c, level):
    """Return the middle of the values with the least pinball loss."""
    values, masses = room.values, room.masses
    total = 0.0
    for i in range(n_found):
        slot, at = room.slots[i], i
        y, weight = recent.targets[slot, c], recent.weights[slot]
        total += weight
        while at > 0 and values[at - 1] > y:
            values[at], masses[at] = values[at - 1], masses[at - 1]
            at -= 1
        values[at], masses[at] = y, weight
    total *= level
    first, mass = 0, masses[0]
    while mass < total and first < n_found - 1:
        first += 1
        mass += masses[first]
    second = min(first + (mass == total), n_found - 1)
    return 0.5 * (values[first] + values[second])
