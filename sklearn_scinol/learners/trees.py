r"""Nodes of trees that mix all their prunings: predictions, weights, and a log.

Each node predicts from the rows that it has learned. A pruning of a tree cuts off what
is below some nodes, which become its leaves. A node of a pruning is a leaf of it with
the probability :math:`a`: from the root downwards, the tree predicts the share
:math:`a` of what the node predicts, and for the rest, :math:`b = 1 - a`, what the child
to which the row goes does. With the likelihoods :math:`p_v` of the node and :math:`f`
of that child, a row multiplies :math:`a` by :math:`p_v` and :math:`b` by :math:`f`, and
divides both by the sum: Bayes' rule. Both are stored, since one may be tiny.
"""

from typing import NamedTuple

import numpy as np

from .._hashing import STEP, combine
from .._portable import TINY, add_multiple, copy_into, exp, larger, smaller

# Columns of the links of nodes: other nodes, or -1, the feature of the split, and
# whether the node (1) and its box (2) are saved in the log.
LEFT, RIGHT, PARENT, FEATURE, SAVED = range(5)

# Entries of the counts of a log: saved nodes, saved boxes, whether it is needed,
# whether links make no tree, and whether rows are left for want of room.
NODES, BOXES, IS_NEEDED, IS_BROKEN, IS_FULL = range(5)

# Columns of the numbers of nodes; the first one of extra trees is NEXT_TRY.
TIME, THRESHOLD, WEIGHT = range(3)

# Entries of the place of a tree: its root, and the numbers of its nodes and of rows.
ROOT, SIZE, ROWS = range(3)

#: Minimum of a share, and range of the logarithms of likelihoods.
MIN_SHARE = 1e-290
MAX_LOSS = 600.0

# A uniform number has 53 random bits.
UNUSED_BITS, UNIT = np.uint64(11), 2.0**-53
ZERO = np.uint64(0)


class NodeFrequencies(NamedTuple):
    r"""Nodes that predict classes by their frequencies, under log loss.

    With :math:`n_k` rows of class :math:`k` of :math:`n`, the probability is
    :math:`(n_k + \alpha) / (n + K \alpha)`.

    Parameters
    ----------
    step : float
        :math:`\eta`; for 1 the mixture of prunings is exact.
    dirichlet : float
        :math:`\alpha`, the number of rows that each class has in advance.
    """

    step: float = 1.0
    dirichlet: float = 0.5

    def predict(self, tree, node, output, share, below, p):
        """Add a share of the node's prediction to a share of `p`, of what is below."""
        share /= tree.numbers[node, WEIGHT] + self.dirichlet * p.size
        for k in range(p.size):
            p[k] = below * p[k] + share * (tree.sums[node, k] + self.dirichlet)

    def likelihood(self, tree, node, output, y, c, deviation):
        """Exponential of minus the loss of the node, times step and weight."""
        n_classes = tree.sums.shape[1]
        total = tree.numbers[node, WEIGHT] + self.dirichlet * n_classes
        p = (tree.sums[node, int(y[0])] + self.dirichlet) / total
        power = c * self.step
        if power != 1.0:
            p = exp(larger(power * np.log(p), -MAX_LOSS))
        return p

    def is_pure(self, tree, node, y):
        """Whether all rows of the node have the class `y`."""
        return tree.sums[node, int(y[0])] == tree.numbers[node, WEIGHT]

    def is_of_other(self, tree, node, y):
        """Whether all rows of the node have one class, but not `y`."""
        n_classes_there = 0
        for k in range(tree.sums.shape[1]):
            n_classes_there += tree.sums[node, k] > 0.0
        return n_classes_there == 1 and tree.sums[node, int(y[0])] == 0.0

    def learn(self, tree, node, y, c):
        """Add a row to a node."""
        tree.sums[node, int(y[0])] += c
        tree.numbers[node, WEIGHT] += c


class NodeMeans(NamedTuple):
    r"""Nodes that predict the means of targets, under squared error.

    The loss is :math:`(y - \hat y)^2 / 2 \sigma^2`, with the standard deviation
    :math:`\sigma` of all targets so far.

    Parameters
    ----------
    step : float
        :math:`\eta`.
    """

    step: float = 1.0

    def predict(self, tree, node, output, share, below, p):
        """Add a share of the node's prediction to a share of `p`, of what is below."""
        own = mean_of_node(tree, node, output)
        p[output] = below * p[output] + share * own

    def likelihood(self, tree, node, output, y, c, deviation):
        """Exponential of minus the loss of the node, times step and weight."""
        error = y[output] - mean_of_node(tree, node, output)
        spread = deviation[output]
        loss = 0.0
        if spread > 0.0:
            error = smaller(np.abs(error / spread), MAX_LOSS)
            loss = 0.5 * error * error
        return exp(-smaller(c * self.step * loss, MAX_LOSS))

    def is_pure(self, tree, node, y):
        """Return False: targets are numbers."""
        return False

    def is_of_other(self, tree, node, y):
        """Return False: targets are numbers."""
        return False

    def learn(self, tree, node, y, c):
        """Add a row to a node."""
        add_multiple(c, y, tree.sums[node])
        tree.numbers[node, WEIGHT] += c


def mean_of_node(tree, node, output):
    """Return the mean of the targets of a node; 0 before the first row."""
    weight = larger(tree.numbers[node, WEIGHT], TINY)
    return tree.sums[node, output] / weight


def has_room(tree):
    """Whether there are slots for a split."""
    return tree.place[SIZE] + 2 <= tree.links.shape[0]


def is_full(tree, n_nodes):
    """Whether a tree lacks slots for `n_nodes` more nodes, and may grow."""
    n_slots = tree.links.shape[0]
    return tree.place[SIZE] + n_nodes > n_slots and n_slots < tree.max_nodes


def learn_upwards(nodes, tree, node, is_new, y, c, deviation, room):
    """Learn a row at a leaf and all nodes above; a new leaf's first one is free."""
    ratios, shares, is_first = room.p, tree.shares, True
    n = ratios.size
    while node >= 0:
        for i in range(n):
            own = nodes.likelihood(tree, node, i, y, c, deviation)
            if is_first:
                ratios[i] = 1.0 if is_new else own
                continue
            # A new parent adds to the weight of what was there.
            before = 2.0 * shares[node, n + i] if is_new else 1.0
            own, below = shares[node, i] * own, shares[node, n + i] * ratios[i]
            total = own + below
            ratios[i] = total / before
            shares[node, i] = larger(own / total, MIN_SHARE)
            shares[node, n + i] = larger(below / total, MIN_SHARE)
        nodes.learn(tree, node, y, c)
        is_new = is_new and is_first  # at the parent of a new leaf
        node, is_first = tree.links[node, PARENT], False


def uniform(tree):
    """Draw a number from between 0 and 1, 1 excluded, with the tree's generator."""
    bits = combine(tree.state[0], ZERO)
    tree.state[0] += STEP
    return (bits >> UNUSED_BITS) * UNIT


def save_node(tree, k, node, log):
    """Save a node in the log, but for its box, before it changes for the first time."""
    if log.counts[IS_NEEDED] == 0 or tree.links[node, SAVED] & 1:
        return
    place = log.counts[NODES]
    log.nodes[place, 0], log.nodes[place, 1] = k, node
    copy_into(tree.numbers[node], log.numbers[place])
    copy_into(tree.shares[node], log.shares[place])
    copy_into(tree.sums[node], log.sums[place])
    for i in range(SAVED):
        log.links[place, i] = tree.links[node, i]
    log.counts[NODES] += 1  # now that it is whole, if NumPy's loops are interrupted
    tree.links[node, SAVED] |= 1


def unmark_saved(trees, log):
    """Clear the marks of nodes and boxes that a log has, for the next call."""
    for i in range(log.counts[NODES]):
        trees.links[log.nodes[i, 0], log.nodes[i, 1], SAVED] = 0
    for i in range(log.counts[BOXES]):
        trees.links[log.of_boxes[i, 0], log.of_boxes[i, 1], SAVED] = 0


def predict_upwards(nodes, tree, node, p):
    """Predict a row by a leaf and all nodes above."""
    shares, n, is_leaf = tree.shares, tree.shares.shape[1] // 2, True
    for i in range(p.size):
        p[i] = 0.0
    while node >= 0:
        for i in range(n):
            own, below = shares[node, i], shares[node, n + i]
            if is_leaf:
                own, below = 1.0, 0.0
            nodes.predict(tree, node, i, own, below, p)
        node, is_leaf = tree.links[node, PARENT], False


def child_of(tree, node, x):
    """Return the child of a node to which a row goes."""
    is_right = x[tree.links[node, FEATURE]] > tree.numbers[node, THRESHOLD]
    return tree.links[node, RIGHT] if is_right else tree.links[node, LEFT]
