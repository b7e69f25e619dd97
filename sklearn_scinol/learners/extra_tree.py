r"""One tree of randomised splits that separate labels, whose prunings are mixed.

A leaf tries to split once its rows have come to a weight of 8, and again each time this
has grown by a fifth. It looks at those of its rows that are still in the window of the
stream's last rows, the latest 128 at most. It draws :math:`3 \sqrt d` features at
random, and four thresholds for each, which are values of its rows (extremely randomised
trees: Geurts, Ernst and Wehenkel, 2006). The best split is made if its gain is above
:math:`\rho \ln c`, where :math:`c` is the number of splits it was chosen from. Nothing
else decides: a split too many costs little under the mixture of prunings
(:mod:`.trees`), which gives half of the weight to the new children.

The gain is what the split saves of the code length of the labels. With the counts
:math:`n_1, \dots, n_K` they have the length of Krichevsky and Trofimov,

.. math::
    L = \sum_{i=0}^{n-1} \ln (i + K/2) - \sum_k \sum_{i=0}^{n_k-1} \ln (i + 1/2).

For numbers it is :math:`\frac12 n \ln (S / S') - \frac12 \ln n`, where :math:`S` and
:math:`S'` are the sums of squared deviations from the mean of the leaf, and from the
means of both sides.

Only comparisons of values matter: an increasing function of a feature changes nothing.
"""

from typing import NamedTuple

import numpy as np

from .._portable import TINY, add_multiple, count_at_most, larger, smaller, sum_at_most
from ..blocks import SIDE_BY_SIDE, ExtraTree, store_row
from .trees import (
    FEATURE,
    IS_BROKEN,
    IS_FULL,
    IS_NEEDED,
    LEFT,
    PARENT,
    RIGHT,
    ROOT,
    ROWS,
    SAVED,
    SIZE,
    THRESHOLD,
    WEIGHT,
    child_of,
    has_room,
    is_full,
    learn_upwards,
    predict_upwards,
    save_node,
    uniform,
    unmark_saved,
)

#: Weight of the rows of a leaf at its first try to split, and its growth to the next.
FIRST_TRY, GROWTH = 8.0, 1.2

#: Maximum number of rows that a split is chosen by.
MAX_ROWS = 128

#: Number of thresholds of each feature that is drawn.
N_THRESHOLDS = 4

#: Columns of the numbers of a node: the weight at which it tries to split, and the
#: number, from 1, of the last row of a leaf.
NEXT_TRY, LAST = 0, 3

#: Gains that differ by less count as equal: of such splits the first one is best.
MIN_DIFFERENCE = 1e-9

#: Smaller shares of squared deviations count as nothing left.
MIN_SHARE = 1e-12


class CodeLengthGain(NamedTuple):
    """Gain of a split in the code length of labels.

    Parameters
    ----------
    penalty : float
        Factor of the logarithm of the number of splits, which a gain must exceed.
    """

    penalty: float

    def differ(self, recent, n, room):
        """Number the classes of the rows of a leaf; return whether there are several.

        A group is a class, and has a 1 for each row of it.
        """
        n_classes = 0
        for i in range(n):
            label = recent.targets[room.slots[i], 0]
            group = 0
            while group < n_classes and room.labels[group] != label:
                group += 1
            if group == n_classes:
                room.labels[group], room.totals[group] = label, 0.0
                for k in range(n):
                    room.values_of[group, k] = 0.0
                n_classes += 1
            room.values_of[group, i] = 1.0
            room.totals[group] += 1.0
        room.sizes[0] = n_classes
        return n_classes > 1

    def gain(self, left, n, n_left, room):
        """Return the gain of a split of `n` rows."""
        of_classes, of_all = room.logs[0], room.logs[1]
        gain = of_all[n] - of_all[n_left] - of_all[n - n_left]
        for group in range(room.sizes[0]):
            n_there, n_of_class = int(left[group]), int(room.totals[group])
            gain += of_classes[n_there] + of_classes[n_of_class - n_there]
            gain -= of_classes[n_of_class]
        return gain


class VarianceGain(NamedTuple):
    """Gain of a split in the squared deviations of numbers.

    Parameters
    ----------
    penalty : float
        As in :class:`CodeLengthGain`.
    """

    penalty: float

    def differ(self, recent, n, room):
        """Take deviations from the means of a leaf; return whether there are any.

        A group is an output, and has the deviations of all rows.
        """
        n_targets, differ = recent.targets.shape[1], False
        room.sizes[0] = n_targets
        for k in range(n_targets):
            mean = total = 0.0
            first = recent.targets[room.slots[0], k]
            for i in range(n):  # exact if all are equal
                mean += (recent.targets[room.slots[i], k] - first) / n
            for i in range(n):
                deviation = recent.targets[room.slots[i], k] - first - mean
                room.values_of[k, i] = deviation
                total += deviation * deviation
            room.totals[k] = total
            differ = differ or total > 0.0
        return differ

    def gain(self, left, n, n_left, room):
        """Return the gain of a split of `n` rows, summed over the outputs."""
        gain, inverse = 0.0, 1.0 / n_left + 1.0 / (n - n_left)
        for k in range(room.sizes[0]):
            if room.totals[k] > 0.0:
                share = 1.0 - left[k] * left[k] * inverse / room.totals[k]
                gain -= 0.5 * n * np.log(larger(share, MIN_SHARE)) + 0.5 * np.log(n)
        return gain


def learn_rows(nodes, trees, rows, targets, weights, rule, room, log, out, start):
    """Predict rows by a forest, each before it is learned.

    Trees count by the weights of the rows that they have learned. Arguments are those
    of :func:`.mondrian_tree.learn_rows`, but for a rule of splits instead of
    deviations. Returns the row that some tree has no room for, or `n`.
    """
    n_trees, recent = trees.links.shape[0], trees.recent
    for r in range(start, out.shape[0]):
        c = weights.to_mean[r] if weights.given[r] > 0.0 else 0.0
        count, x, y, p = recent.n_rows[0], rows.X[r], targets[r], out[r]
        slot = count % recent.window
        if c > 0.0:
            for k in range(n_trees):
                if is_full(one_tree(trees, k), 2):
                    log.counts[IS_FULL] = 1
                    unmark_saved(trees, log)
                    return r
            store_row(recent, slot, x, y, c)
            recent.n_rows[0] = count + 1
        if not find_leaves(trees, x, room.leaves):
            log.counts[IS_BROKEN] = 1
            return r
        total = 0.0
        for k in range(n_trees):
            total += larger(trees.numbers[k, trees.place[k, ROOT], WEIGHT], TINY)
        for i in range(p.size):
            p[i] = 0.0
        for k in range(n_trees):
            tree, leaf, own = one_tree(trees, k), room.leaves[k], room.own
            predict_upwards(nodes, tree, leaf, own)
            share = larger(tree.numbers[tree.place[ROOT], WEIGHT], TINY) / total
            add_multiple(share, own, p)
            if c > 0.0:
                save_upwards(tree, k, leaf, log)
                find_deviations(tree, y, c, own, room)
                learn_upwards(nodes, tree, leaf, False, y, c, room.deviation, room)
                tree.place[ROWS] += 1
                add_row(tree, leaf, count + 1, recent)
                is_due = tree.numbers[leaf, WEIGHT] >= tree.numbers[leaf, NEXT_TRY]
                if is_due and has_room(tree):
                    try_to_split(rule, nodes, tree, leaf, recent, room)
    unmark_saved(trees, log)
    return out.shape[0]


def one_tree(trees, k):
    """Return a tree of a forest."""
    return ExtraTree(
        trees.numbers[k],
        trees.shares[k],
        trees.sums[k],
        trees.links[k],
        trees.place[k],
        trees.state[k],
        trees.max_nodes,
        trees.gaps[k],
        trees.errors[k],
        trees.recent,
    )


def find_leaves(trees, x, leaves):
    """Find the leaf of a row in each tree; return False where links make no tree.

    All trees go down together: each waits for memory at every node.
    """
    for k in range(leaves.size):
        leaves[k] = trees.place[k, ROOT]
    n_open = leaves.size
    while n_open > 0:
        n_open = 0
        for k in range(leaves.size):
            node = leaves[k]
            if trees.links[k, node, LEFT] >= 0:
                child = child_of(one_tree(trees, k), node, x)
                if child < 0 or trees.links[k, child, PARENT] != node:
                    return False
                leaves[k] = child
                n_open += 1
    return True


def save_upwards(tree, k, node, log):
    """Save a leaf and all nodes above, before they change."""
    if log.counts[IS_NEEDED] > 0:
        while node >= 0:
            save_node(tree, k, node, log)
            node = tree.links[node, PARENT]


def find_deviations(tree, y, c, p, room):
    """Find the root of the mean squared error so far, then add the tree's error.

    The first error counts as 0: it depends on the zero of the target.
    """
    weight = tree.errors[0]
    for k in range(room.deviation.size):
        mean_square = tree.errors[1 + k] / larger(weight, TINY)
        room.deviation[k] = np.sqrt(mean_square)
        error = y[k] - p[k] if tree.place[ROWS] > 0 else 0.0
        tree.errors[1 + k] += c * error * error
    if tree.place[ROWS] > 0:
        tree.errors[0] += c


def try_to_split(rule, nodes, tree, leaf, recent, room):
    """Split a leaf by the best of random splits, if one gains enough."""
    n = find_rows(tree, leaf, recent, room)
    best, feature, threshold, n_splits = 0.0, -1, 0.0, 0
    if rule.differ(recent, n, room):
        n_features = room.order.size
        n_drawn = min(n_features, int(np.ceil(3.0 * np.sqrt(n_features))))
        for i in range(n_drawn):
            other = i + int(uniform(tree) * (n_features - i))
            j, room.drawn[i] = room.order[other], other
            room.order[other], room.order[i] = room.order[i], j
            if has_thresholds(tree, j, n, recent, room):
                for t in range(room.thresholds.size):
                    n_left = add_up_left(room.thresholds[t], n, room)
                    if n_left < n:
                        n_splits += 1
                        gain = rule.gain(room.left, n, n_left, room)
                        if gain > best + MIN_DIFFERENCE:
                            best, feature, threshold = gain, j, room.thresholds[t]
        for i in range(n_drawn - 1, -1, -1):  # the order is as it was
            other = room.drawn[i]
            j = room.order[other]
            room.order[other], room.order[i] = room.order[i], j
    if feature >= 0 and best > rule.penalty * np.log(n_splits) + MIN_DIFFERENCE:
        split_leaf(nodes, tree, leaf, feature, threshold, recent)
    else:
        tree.numbers[leaf, NEXT_TRY] = GROWTH * tree.numbers[leaf, WEIGHT]


def find_rows(tree, leaf, recent, room):
    """Find the slots of the latest rows of a leaf; return how many there are."""
    n, row = 0, int(tree.numbers[leaf, LAST])
    while is_stored(row, recent) and n < MAX_ROWS:
        slot = slot_of(row, recent)
        room.slots[n] = slot
        row -= tree.gaps[slot]
        n += 1
    return n


def is_stored(row, recent):
    """Whether a row, by its number from 1, is in the window; 0 is not."""
    return row > max(recent.n_rows[0] - recent.window, 0)


def slot_of(row, recent):
    """Return the slot of a row, by its number from 1."""
    return (row - 1) % recent.window


def add_row(tree, leaf, row, recent):
    """Put a row, by its number from 1, in front of the others of its leaf."""
    gap = smaller(row - tree.numbers[leaf, LAST], recent.window)
    tree.gaps[slot_of(row, recent)] = gap
    tree.numbers[leaf, LAST] = row


def reverse_rows(tree, leaf, recent):
    """Let gaps lead from each row of a leaf to the next; return the first row, or 0."""
    row, after = int(tree.numbers[leaf, LAST]), 0
    while is_stored(row, recent):
        slot = slot_of(row, recent)
        before = row - tree.gaps[slot]
        tree.gaps[slot] = after - row if after > 0 else 0
        row, after = before, row
    return after


def has_thresholds(tree, j, n, recent, room):
    """Draw values of a feature as thresholds, and return True, unless all are equal."""
    values = room.values
    smallest = largest = values[0] = value_at(recent, room.slots[0], j)
    for i in range(1, n):
        values[i] = value_at(recent, room.slots[i], j)
        smallest, largest = smaller(smallest, values[i]), larger(largest, values[i])
    if smallest < largest:
        for t in range(room.thresholds.size):
            room.thresholds[t] = values[int(uniform(tree) * n)]
    return smallest < largest


def value_at(recent, slot, j):
    """Return a feature of a stored row."""
    return recent.rows[slot // SIDE_BY_SIDE, j, slot % SIDE_BY_SIDE]


def add_up_left(threshold, n, room):
    """Add up each group on the left of a threshold; return the number of rows there."""
    values = room.values
    for group in range(room.sizes[0]):
        room.left[group] = sum_at_most(values, threshold, n, room.values_of[group])
    return count_at_most(values, threshold, n)


def split_leaf(nodes, tree, leaf, feature, threshold, recent):
    """Split a leaf; its rows in the window go to the new leaves."""
    left, right = tree.place[SIZE], tree.place[SIZE] + 1
    tree.place[SIZE] += 2
    links, numbers = tree.links, tree.numbers
    for child in range(left, right + 1):
        links[child, LEFT] = links[child, RIGHT] = links[child, FEATURE] = -1
        links[child, PARENT], links[child, SAVED] = leaf, 0
        for i in range(tree.shares.shape[1]):
            tree.shares[child, i] = 0.5
        numbers[child, WEIGHT] = numbers[child, THRESHOLD] = 0.0
        numbers[child, LAST] = 0.0
        for i in range(tree.sums.shape[1]):
            tree.sums[child, i] = 0.0
    links[leaf, LEFT], links[leaf, RIGHT] = left, right
    links[leaf, FEATURE], numbers[leaf, THRESHOLD] = feature, threshold
    row, last = reverse_rows(tree, leaf, recent), int(numbers[leaf, LAST])
    while row > 0:
        slot = slot_of(row, recent)
        after = row + tree.gaps[slot] if row < last else 0
        is_right = value_at(recent, slot, feature) > threshold
        child = right if is_right else left
        add_row(tree, child, row, recent)
        nodes.learn(tree, child, recent.targets[slot], recent.weights[slot])
        row = after
    for child in range(left, right + 1):
        numbers[child, NEXT_TRY] = larger(FIRST_TRY, numbers[child, WEIGHT])
