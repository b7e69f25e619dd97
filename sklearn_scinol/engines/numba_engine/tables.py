"""Loops over columns of tables."""

import numpy as np

from ..._hashing import searched
from .compiling import compiled

# MurmurHash3 of 32 bits (Appleby, 2011), in numbers of 64 bits.

LOW_HALF = np.uint64(0xFFFFFFFF)
C1, C2, N = np.uint64(0xCC9E2D51), np.uint64(0x1B873593), np.uint64(0xE6546B64)
C3, C4 = np.uint64(0x85EBCA6B), np.uint64(0xC2B2AE35)
FIVE, WORD = np.uint64(5), np.uint64(32)


def product(a, b):
    return (a * b) & LOW_HALF


def rotated(x, n_bits):
    return ((x << n_bits) | (x >> (WORD - n_bits))) & LOW_HALF


def scrambled(block):
    return product(rotated(product(block, C1), np.uint64(15)), C2)


def finished(h, n_bytes):
    h ^= n_bytes
    h = product(h ^ (h >> np.uint64(16)), C3)
    h = product(h ^ (h >> np.uint64(13)), C4)
    return h ^ (h >> np.uint64(16))


def hash_strings(data, offsets):
    """Keys of strings."""
    keys = np.empty(len(offsets) - 1, np.uint64)
    data.flags.writeable = False  # of one type, whether it was so or not
    _hash_strings(data, offsets, keys)
    return keys


@compiled
def _hash_strings(data, offsets, keys):
    for i in range(keys.size):
        start, size = offsets[i], offsets[i + 1] - offsets[i]
        low, high = np.uint64(0), np.uint64(1)
        block = np.uint64(0)
        for b in range(size):
            n_bits = np.uint64(8 * (b & 3))
            block |= np.uint64(data[start + b]) << n_bits
            if b & 3 == 3:
                block = scrambled(block)
                low = rotated(low ^ block, np.uint64(13)) * FIVE + N & LOW_HALF
                high = rotated(high ^ block, np.uint64(13)) * FIVE + N & LOW_HALF
                block = np.uint64(0)
        block = scrambled(block)  # of nothing it is nothing
        low = finished(low ^ block, np.uint64(size))
        high = finished(high ^ block, np.uint64(size))
        keys[i] = high << WORD | low


def find_slots(slots, keys, is_given, learns):
    """Slots of keys."""
    m, n_slots = slots.keys.shape
    found = np.empty(keys.shape, np.int32)
    table = np.full((m, 2 ** int(2 * n_slots - 1).bit_length()), -1, np.int32)
    came = np.zeros(slots.keys.shape, np.int64)
    _find_slots(slots, table, keys, is_given, learns, found, came)
    return found, came


@compiled
def _find_slots(slots, table, keys, is_given, learns, found, came):
    n_slots = slots.keys.shape[1]
    for j in range(keys.shape[1]):
        known = slots.keys[j]
        for slot in range(slots.n_used[j]):
            table[j, searched(table[j], known, known[slot])] = slot
    for r in range(keys.shape[0]):
        for j in range(keys.shape[1]):
            found[r, j] = -1
            if not (is_given[r, j] and slots.is_open[j]):
                continue
            known, n_used = slots.keys[j], slots.n_used[j]
            at = searched(table[j], known, keys[r, j])
            slot = table[j, at]
            if n_used < n_slots:
                is_new = slot < 0
                if is_new:
                    slot = n_used
                if learns:
                    slots.n_seen[j] += 1
                    if is_new:
                        known[slot], table[j, at] = keys[r, j], slot
                        came[j, slot] = r
                        slots.n_used[j] += 1
                        is_full = slots.n_used[j] == n_slots
                        is_of_use = slots.n_seen[j] >= slots.fewest_seen
                        slots.is_open[j] = not is_full or is_of_use
            found[r, j] = slot


def join_entries(entries, n_columns):
    """Rows of all their entries."""
    room = entries.values.size + entries.codes.size + entries.hashed.size
    data, indices = np.empty(room), np.empty(room, np.int32)
    indptr = np.zeros(len(entries.values) + 1, np.int32)
    n_entries = _join_entries(entries, n_columns, data, indices, indptr)
    return data[:n_entries], indices[:n_entries], indptr


@compiled
def _join_entries(entries, n_columns, data, indices, indptr):
    values, codes = entries.values, entries.codes
    end = 0
    for r in range(values.shape[0]):
        for j in range(values.shape[1]):
            if values[r, j] == values[r, j] and values[r, j] != 0.0:
                data[end], indices[end] = values[r, j], j
                end += 1
        start_of_ones = end
        for j in range(codes.shape[1]):
            if codes[r, j] >= 0:
                indices[end] = codes[r, j]
                end += 1
        start = end
        for j in range(entries.indptr[r], entries.indptr[r + 1]):
            indices[end] = n_columns + entries.hashed[j]
            end += 1
        if end > start + 1:
            indices[start:end].sort()
            given, end = end, start + 1
            for i in range(start + 1, given):
                if indices[i] != indices[end - 1]:
                    indices[end] = indices[i]
                    end += 1
        for i in range(start_of_ones, end):
            data[i] = 1.0
        indptr[r + 1] = end
    return end
