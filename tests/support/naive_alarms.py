"""A slow reference of the alarms, in plain Python, written from the definitions.

Means of blocks are ranked by comparing all pairs, wealth is a sum over all blocks at
which it may have been added, and nothing is carried over from block to block.

V. Vovk, I. Nouretdinov, A. Gammerman: Testing Exchangeability On-line, ICML 2003.
J. Shin, A. Ramdas, A. Rinaldo: E-detectors, 2022.
G. L. Steele, D. Lea, C. H. Flood: Fast Splittable Pseudorandom Number Generators,
OOPSLA 2014, for the random numbers that break ties.
"""

import math
import struct
from statistics import NormalDist

ROWS = 16
SHARES = {0.35: 2, 0.7: 2, 1.4: 2, -0.35: 1, -0.7: 1, -1.4: 1}  # of nine
BITS = 2**64


def split_mix(h, key):
    h = ((h ^ key) + 0x9E3779B97F4A7C15) % BITS
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9 % BITS
    h = (h ^ (h >> 27)) * 0x94D049BB133111EB % BITS
    return h ^ (h >> 31)


def ordered(value):
    """Number the floats in their order; 0 is number 0."""
    (bits,) = struct.unpack(">q", struct.pack(">d", abs(value)))
    return bits if value >= 0 else -bits - 1


def cells_of(means, max_cells):
    """Drop the last bits of all means until few are different."""
    dropped = 0
    while len({ordered(mean) >> dropped for mean in means}) > max_cells:
        dropped += 1
    return [ordered(mean) >> dropped for mean in means]


def alarms(losses, false_alarm, max_cells=1024):
    """Return row, first row of the change and direction of each alarm."""
    found, h, first = [], split_mix(0, 1), 0
    starts = range(0, len(losses) - ROWS + 1, ROWS)
    blocks = [losses[start : start + ROWS] for start in starts]
    means = [sum(loss / ROWS for loss in block) for block in blocks]
    thetas, ranks, scores, differ = [], [], [], []
    for block in range(len(means)):
        h = split_mix(h, order_of(blocks[block]))
        cells = cells_of(means[first : block + 1], max_cells)
        greater = sum(cell > cells[-1] for cell in cells)
        equal = cells.count(cells[-1])
        theta = ((h >> 11) + 0.5) / 2**53
        thetas.append(theta)
        differ.append(equal < len(cells))
        p = (greater + theta * equal) / len(cells)
        ranks.append(0.5 - (greater + equal / 2) / len(cells))
        scores.append(-NormalDist().inv_cdf(p))
        if not differ[block]:
            continue
        begin = differ.index(True, first) - first
        change = change_of(scores[first:], ranks[first:], begin, false_alarm)
        if change is not None:
            start, is_rise = change
            direction = "rise" if is_rise else "fall"
            found.append(((block + 1) * ROWS, (first + start) * ROWS + 1, direction))
            first = block + 1
    return found


def order_of(block):
    """Return the places of the losses in ascending order, as digits to base 16."""
    places = sorted(range(ROWS), key=lambda place: (block[place], place))
    return sum(place * 16**digit for digit, place in enumerate(places))


def change_of(scores, ranks, begin, false_alarm):
    """Return the first block of a change and its direction, or None.

    Bets begin with the block `begin`, the first whose mean differs from those before.
    """
    n = len(scores)
    products = {
        shift: {
            start: math.exp(sum(shift * z - shift**2 / 2 for z in scores[start:]))
            for start in range(begin, n)
        }
        for shift in SHARES
    }
    wealth = {
        shift: ROWS * SHARES[shift] / 9 * sum(products[shift].values())
        for shift in SHARES
    }
    if sum(wealth.values()) < 1 / false_alarm:
        return None
    shift = max(SHARES, key=lambda shift: max(products[shift].values()))
    start = max(products[shift], key=products[shift].get)
    agrees = sum(ranks[start:]) * shift > 0
    return (start, shift > 0) if agrees else None
