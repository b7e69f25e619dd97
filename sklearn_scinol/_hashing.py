"""Hashes of 64 bits: two different names collide with a probability of 2^-64."""

import numpy as np

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
FIRST_BITS, SECOND_BITS, LAST_BITS = np.uint64(30), np.uint64(27), np.uint64(31)
HALF = np.uint64(32)
ONE = np.uint64(1)


def combine(h, key):
    """Combine a hash and a key; the order matters.

    Bits are mixed as in SplitMix64 (Steele, Lea and Flood, 2014).
    """
    h = (h ^ key) + STEP
    h = (h ^ (h >> FIRST_BITS)) * FIRST_FACTOR
    h = (h ^ (h >> SECOND_BITS)) * SECOND_FACTOR
    return h ^ (h >> LAST_BITS)


def place(h, n_places):
    """Return the place of a hash among up to 2^32 places."""
    return ((h >> HALF) * n_places) >> HALF


def searched(table, known, key):
    """Find the place of a key in a table of slots of known keys, or a free place.

    The table has 2^b places, of which one at least is free: -1.
    """
    last = np.uint64(table.size - 1)
    at = key & last
    while table[at] >= 0 and known[table[at]] != key:
        at = (at + ONE) & last
    return at


def free(table, known, at):
    """Free a place of a table of slots, so that all other keys are found."""
    last = np.uint64(table.size - 1)
    gap, at = at, (at + ONE) & last
    while table[at] >= 0:
        first = known[table[at]] & last  # where the search for this key begins
        if ((at - first) & last) >= ((at - gap) & last):
            table[gap], gap = table[at], at
        at = (at + ONE) & last
    table[gap] = -1
