"""Loop that finds the nearest rows of a stream."""

from functools import cache
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

from ... import _portable
from ...blocks import LANES, SIDE_BY_SIDE, store_row
from .compiling import STRICT, compiled, runs_loop
from .substitutes import compiles, pointer_to, repeated

#: Bits of a key below the bits of the distance.
KEY_BITS = 32
LOW_BITS = 2**KEY_BITS - 1

#: Bits of infinity in single precision, and its key.
BITS_OF_INFINITY = 0x7F800000
NO_KEY = BITS_OF_INFINITY << KEY_BITS

#: Features after which rows that are all too far away are given up.
FEATURES_AT_ONCE = 16

#: Type of bits that stand for the rows of a block.
BITS = ir.IntType(SIDE_BY_SIDE)

VECTOR = ir.VectorType(ir.FloatType(), LANES)


class Room(NamedTuple):
    """Memory of the loop."""

    features: np.ndarray  # float32, (n_groups, LANES), of the row in question
    row: np.ndarray  # float32, (n_features or n_signs,), what is stored of it in rows
    sums: np.ndarray  # float32, (LANES,)
    distances: np.ndarray  # float32, (SIDE_BY_SIDE,), squared, of rows of a block
    bits: np.ndarray  # int32, the same memory, in the same order: none is negative
    nearest: np.ndarray  # int64, (n_nearest,), keys of the nearest so far, ascending
    slots: np.ndarray  # (n_nearest,), their places in the end
    values: np.ndarray  # (n_nearest,), targets in ascending order
    masses: np.ndarray  # (n_nearest,), and their weights


@runs_loop
def learn_neighbors(recent, rows, targets, weights, query):
    """Predict each row from the nearest rows before it, then store it."""
    (n, d), n_columns = rows.X.shape, query.n_classes or targets.shape[1]
    predictions = np.empty((query.n_neighbors.size, n, n_columns))
    most = max(int(query.n_neighbors.max()), query.n_candidates)
    most = max(min(most, len(recent.weights)), 1)
    distances = np.empty(SIDE_BY_SIDE, np.float32)
    room = Room(
        np.zeros((-(-d // LANES), LANES), np.float32),
        np.empty(recent.signs.shape[1] or d, np.float32),
        np.empty(LANES, np.float32),
        distances,
        distances.view(np.int32),
        np.empty(most, np.int64),
        np.empty(most, np.intp),
        *np.empty((2, most)),
    )
    kind = "mean" if np.isnan(query.quantiles[0]) else "quantile"
    loop = _loop("votes" if query.n_classes else kind)
    arguments = recent, rows, targets, weights, query, room, predictions
    return loop, arguments, predictions


@cache
def _loop(kind):

    def learn_neighbors(recent, rows, targets, weights, query, room, predictions):
        count, row, features = recent.n_rows[0], room.row, room.features
        has_signs = recent.signs.size > 0
        for r in range(predictions.shape[1]):
            for j in range(rows.X.shape[1]):
                x = _portable.smaller(rows.X[r, j], query.largest)
                features[j // LANES, j % LANES] = _portable.larger(x, -query.largest)
            fill_row(recent.signs, features, row)
            n_stored = min(count, recent.window)
            if n_stored > 0:
                find_nearest(recent, room, n_stored, count % recent.window)
            for k in range(predictions.shape[0]):
                for c in range(predictions.shape[2]):
                    predictions[k, r, c] = 0.0
                if n_stored == 0:
                    continue
                n_found = min(query.n_neighbors[k], n_stored)
                for c in range(targets.shape[1]):
                    if kind == "votes":
                        add_votes(recent, room, n_found, predictions[k, r])
                    elif kind == "mean":
                        predictions[k, r, c] = mean(recent, room, n_found, c)
                    else:
                        level = query.quantiles[c]
                        y = quantile(recent, room, n_found, c, level)
                        predictions[k, r, c] = y
            if weights.given[r] > 0.0:
                slot = count % recent.window
                store_row(recent, slot, row, targets[r], weights.to_mean[r])
                if has_signs:
                    for j in range(features.shape[0]):
                        for i in range(LANES):
                            recent.features[slot, j, i] = features[j, i]
                count += 1
        recent.n_rows[0] = count

    return compiled(learn_neighbors, STRICT)


def fill_row(signs, features, row):
    """Fill a row with features, or with their sums by signs."""
    if signs.size == 0:
        for j in range(row.size):
            row[j] = features[j // LANES, j % LANES]
    else:
        for k in range(row.size):
            row[k] = 0.0
        for j in range(signs.shape[0]):
            x = features[j // LANES, j % LANES]
            for k in range(row.size):
                row[k] += x * signs[j, k]


def find_nearest(recent, room, n_stored, next_slot):
    """Find the slots of the nearest stored rows, the latest of equal ones first.

    The block of the next slot comes twice: rows before that slot are the latest, others
    the oldest. The key of a row has the bits of its distance, then its place in this
    order.
    """
    nearest, slots, bits = room.nearest, room.slots, room.bits
    last = nearest.size - 1
    for i in range(nearest.size):
        nearest[i] = NO_KEY
    n_blocks = (n_stored + SIDE_BY_SIDE - 1) // SIDE_BY_SIDE
    latest, place = next_slot // SIDE_BY_SIDE, next_slot % SIDE_BY_SIDE
    bound = np.int32(BITS_OF_INFINITY)
    for visit in range(n_blocks + 1):
        block = (latest - visit) % n_blocks
        start = place if visit == n_blocks else 0
        stop = min(SIDE_BY_SIDE, n_stored - block * SIDE_BY_SIDE)
        stop = place if visit == 0 else stop
        near = near_rows(recent.rows, block, room, bound) if start < stop else 0
        while near != 0:
            i = highest(near)
            near ^= 1 << i
            if start <= i < stop and bits[i] < bound:
                order = visit * SIDE_BY_SIDE + SIDE_BY_SIDE - 1 - i
                key = np.int64(bits[i]) << KEY_BITS | order
                for at in range(last, 0, -1):
                    nearest[at] = min(max(key, nearest[at - 1]), nearest[at])
                nearest[0] = min(key, nearest[0])
                bound = np.int32(nearest[last] >> KEY_BITS)
    for k in range(min(nearest.size, n_stored)):
        order = nearest[k] & LOW_BITS
        block = (latest - order // SIDE_BY_SIDE) % n_blocks
        slot = (block + 1) * SIDE_BY_SIDE - 1 - order % SIDE_BY_SIDE
        if recent.signs.size > 0:
            sort_in(room, k, slot, key_of_features(recent, room, slot) | order)
        else:
            slots[k] = slot


def key_of_features(recent, room, slot):
    """Return the bits of the distance of all features, in those of a key."""
    sums, features = room.sums, room.features
    for i in range(LANES):
        sums[i] = 0.0
    for j in range(features.shape[0]):
        for i in range(LANES):
            a = recent.features[slot, j, i] - features[j, i]
            sums[i] += a * a
    room.distances[0] = 0.0
    for i in range(LANES):
        room.distances[0] += sums[i]
    return np.int64(room.bits[0]) << KEY_BITS


def sort_in(room, k, slot, key):
    """Sort a key and its slot into the `k` ones before, in place of the next one."""
    nearest, slots, at = room.nearest, room.slots, k
    while at > 0 and nearest[at - 1] > key:
        nearest[at], slots[at] = nearest[at - 1], slots[at - 1]
        at -= 1
    nearest[at], slots[at] = key, slot


def near_rows(rows, block, room, bound):
    """Compute squared distances of a block of rows; return bits of those in bound.

    Sums of squares never fall, not even when rounded: if all rows are out of bound,
    features are left.
    """
    row, distances = room.row, room.distances
    for i in range(SIDE_BY_SIDE):
        distances[i] = 0.0
    near, first = -1, 0
    while near != 0 and first < row.size:
        end = min(first + FEATURES_AT_ONCE, row.size)
        near = add_squares(rows, block, first, end, row, distances, bound)
        first = end
    return near


def add_squares(rows, block, first, end, row, distances, bound):
    """Add squares of some features to distances; return bits of those below a bound."""
    deviations = rows[block, first:end] - row[first:end, np.newaxis]
    for squares in deviations * deviations:
        distances += squares
    near = np.packbits(distances.view(np.int32) < bound, bitorder="little")
    return int.from_bytes(near.tobytes(), "little")


@compiles(add_squares)
@intrinsic
def _add_squares(typing_context, rows, block, first, end, row, distances, bound):
    def codegen(context, builder, signature, arguments):
        kinds = dict(enumerate(signature.args))
        rows, row, distances = (
            arrayobj.make_array(kinds[i])(context, builder, arguments[i])
            for i in (0, 4, 5)
        )
        _, block, first, end, _, _, bound = arguments
        n_features, bits = cgutils.unpack_tuple(builder, rows.shape)[1], BITS(0)
        start = builder.mul(block, builder.mul(n_features, BITS(SIDE_BY_SIDE)))
        sums = []
        for lane in range(0, SIDE_BY_SIDE, LANES):
            total = builder.load(
                pointer_to(builder, distances, BITS(lane), VECTOR), align=4
            )
            sums.append(cgutils.alloca_once_value(builder, total))
        with cgutils.for_range_slice(builder, first, end, BITS(1)) as (j, _):
            x = builder.load(builder.gep(row.data, [j]))
            x = repeated(builder, x, LANES)
            at = builder.add(start, builder.mul(j, BITS(SIDE_BY_SIDE)))
            for k, total in enumerate(sums):
                place = builder.add(at, BITS(k * LANES))
                other = builder.load(pointer_to(builder, rows, place, VECTOR), align=4)
                deviation = builder.fsub(other, x)
                square = builder.fmul(deviation, deviation)
                builder.store(builder.fadd(builder.load(total), square), total)
        bounds = repeated(builder, bound, LANES)
        for k, total in enumerate(sums):
            total, lane = builder.load(total), BITS(k * LANES)
            builder.store(total, pointer_to(builder, distances, lane, VECTOR), align=4)
            near = builder.icmp_signed("<", builder.bitcast(total, bounds.type), bounds)
            near = builder.zext(builder.bitcast(near, ir.IntType(LANES)), BITS)
            bits = builder.or_(bits, builder.shl(near, lane))
        return bits

    return types.int64(rows, block, first, end, row, distances, bound), codegen


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


def add_votes(recent, room, n_found, votes):
    """Add up the weights of the classes of the nearest rows."""
    for i in range(n_found):
        slot = room.slots[i]
        votes[int(recent.targets[slot, 0])] += recent.weights[slot]


def mean(recent, room, n_found, c):
    """Return the mean of a target of the nearest rows."""
    total = mass = 0.0
    for i in range(n_found):
        slot = room.slots[i]
        total += recent.weights[slot] * recent.targets[slot, c]
        mass += recent.weights[slot]
    return total / mass


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
