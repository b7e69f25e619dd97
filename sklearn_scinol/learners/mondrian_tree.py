r"""One tree of an aggregated Mondrian forest (Mourtada, Gaïffas and Scornet, 2021).

A node has a box, the smallest one around the rows that it has learned, and a time at
which it splits; a leaf's is infinite. A row :math:`x` goes down from the root. At a
node with the box :math:`[l, u]`, whose parent split at :math:`\tau_p`, the box would
have to grow by :math:`e_j = \max(l_j - x_j, 0) + \max(x_j - u_j, 0)` along feature
:math:`j`, in units of the range of the feature so far. With :math:`E` drawn from the
exponential distribution of mean :math:`1 / \sum_j e_j`, the row splits the node if
:math:`\tau_p + E` is before the node's own time: the node gets a new parent of that
time, and the row a new leaf beside it. The feature is drawn in proportion to
:math:`e_j`, the threshold uniformly from between the box and the row. Otherwise the box
grows, and the row goes on to a child.

Leaves of a single class take more rows of that class without a split. The splits are
only put off: a row of another class inside the box of such a leaf makes up for them.
This is not in the paper. Without it classes that overlap are not told apart.

Each node :math:`v` predicts from the rows that it has learned, and has the weight
:math:`w_v = \exp(-\eta L_v)`, where :math:`L_v` is the sum of its losses, for a leaf
without that of its first row. A new parent has rows and weight of the node below. The
tree predicts the mean over all its prunings. One with the leaves :math:`\mathcal P`
counts as :math:`2^{-c} \prod_{v \in \mathcal P} w_v`, where :math:`c` is the number of
its nodes, inner ones and leaves, that split in the tree. With

.. math::
    \bar w_v = \tfrac12 w_v + \tfrac12 \bar w_{\mathrm{left}} \bar w_{\mathrm{right}},

and :math:`\bar w_v = w_v` at a leaf, a node that is in the pruning is a leaf of it with
the probability :math:`w_v / 2 \bar w_v`. The state has that share. A row changes
shares on its way only, by ratios of likelihoods: no logarithms are needed.
"""

import numpy as np

from .._portable import (
    TINY,
    add_multiple,
    box_distance,
    chosen,
    copy_into,
    extend_box,
    larger,
    smaller,
)
from ..blocks import MondrianTree
from .trees import (
    BOXES,
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
    TIME,
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

#: Maximum number of splits by one row.
MAX_SPLITS = 32

#: Minimum range of a feature that has an inverse.
MIN_SPAN = 1e-300


def learn_rows(nodes, trees, rows, targets, weights, deviations, room, log, out, start):
    """Predict rows by a forest, each before it is learned, unless its weight is 0.

    Tree after tree: all of one may fit into the caches of a processor. Targets are
    numbers, or indices of classes; `deviations` are their standard deviations before
    each row. Nodes and boxes are saved in the log before they change, if it is needed;
    it has room for all. `out` is filled with probabilities of classes, or predictions
    of targets. `start` is the first tree, times `n`, plus the first row; where there
    was no room for a row in a tree, or the number of trees times `n`, is returned.
    """
    n_trees, n = trees.links.shape[0], out.shape[0]
    for k in range(start // n, n_trees):
        tree = one_tree(trees, k)
        for r in range(max(start - k * n, 0), n):
            c = weights.to_mean[r] if weights.given[r] > 0.0 else 0.0
            if c > 0.0 and is_full(tree, 2 * MAX_SPLITS):
                log.counts[IS_FULL] = 1
                unmark_saved(trees, log)
                return k * n + r
            x, y, deviation = rows.X[r], targets[r], deviations[r]
            learn_row(nodes, tree, k, n_trees, r, x, y, c, deviation, room, log, out[r])
    unmark_saved(trees, log)
    return n_trees * n


def learn_row(nodes, tree, k, n_trees, r, x, y, c, deviation, room, log, p):
    """Predict a row, then learn it if its weight `c` is positive.

    Trees count by the weights of the rows that they have learned. A row of less than
    the mean weight shapes a tree with the probability of their quotient. The tree is
    number `k` of `n_trees`, and the row number `r` of its block. `p` becomes the
    prediction of the forest, with its last tree.
    """
    root, n_rows = tree.place[ROOT], tree.place[ROWS]
    weight = tree.numbers[root, WEIGHT]
    if k == 0:
        p[:] = 0.0
        room.totals[r] = 0.0
    shapes = c > 0.0
    if shapes and c * n_rows < weight:
        shapes = uniform(tree) * weight < c * n_rows
    if shapes:
        low, high = tree.boxes[root, 0], tree.boxes[root, 1]
        if n_rows == 0:
            copy_into(x, low)
            copy_into(x, high)
        inverse_spans(x, low, high, room.inverse)
    weight = larger(weight, TINY)
    leaf, split, time, birth = descend(nodes, tree, k, x, y, c, shapes, room, log)
    if leaf < 0:
        log.counts[IS_BROKEN] = 1
        return
    predict_upwards(nodes, tree, leaf, room.own)
    add_multiple(weight, room.own, p)
    room.totals[r] += weight
    if k == n_trees - 1:
        p /= room.totals[r]
    if c > 0.0:
        is_outside, is_new = split >= 0, False
        if is_outside or (shapes and nodes.is_of_other(tree, leaf, y)):
            if is_outside:
                leaf = split
            else:
                save_box(tree, k, leaf, log)
                time = birth
            row = x, weight / larger(n_rows, 1)
            leaf, is_new = split_node(tree, leaf, time, row, is_outside, room)
        learn_upwards(nodes, tree, leaf, is_new, y, c, deviation, room)
        tree.place[ROWS] += 1


def one_tree(trees, k):
    """Return a tree of a forest."""
    return MondrianTree(
        trees.numbers[k],
        trees.shares[k],
        trees.sums[k],
        trees.links[k],
        trees.place[k],
        trees.state[k],
        trees.max_nodes,
        trees.boxes[k],
    )


def inverse_spans(x, low, high, inverse):
    """Write inverses of the ranges of features, those of a row included."""
    for j in range(x.size):
        span = larger(high[j], x[j]) - smaller(low[j], x[j])
        inverse[j] = chosen(span > MIN_SPAN, 1.0 / span, 0.0)


def descend(nodes, tree, k, x, y, c, searches, room, log):
    """Find the leaf of a row, and where the row is to be learned.

    If it `searches`, the row splits a node or extends the boxes on its way.

    Returns
    -------
    leaf : int
        Where the row ends as long as no node is split. -1 if a node on the way has
        another parent than the node before: ways in which none has are finite.
    split : int
        The node that the row splits, or -1.
    time : float
        Time of the split.
    birth : float
        Time at which the parent of the leaf splits.
    """
    links, numbers, boxes = tree.links, tree.numbers, tree.boxes
    may_grow = has_room(tree)
    node, birth, split, time = tree.place[ROOT], 0.0, -1, np.inf
    above, is_leaf = -1, False
    while not is_leaf:
        if node < 0 or links[node, PARENT] != above:
            return -1, split, time, birth
        is_leaf = links[node, LEFT] < 0
        if c > 0.0 and split < 0:
            save_node(tree, k, node, log)
        if searches:
            low, high = boxes[node, 0], boxes[node, 1]
            length = box_distance(x, low, high, room.inverse)
            if length > 0.0:
                if may_grow and not (is_leaf and nodes.is_pure(tree, node, y)):
                    u = uniform(tree)
                    # The logarithm takes long, and is rarely needed: -ln(1 - u) >= u.
                    if u < length * (numbers[node, TIME] - birth):
                        time = birth - np.log(1.0 - u) / length
                        searches = not time < numbers[node, TIME]
                if searches:
                    save_box(tree, k, node, log)
                    extend_box(x, low, high)
                else:
                    split = node
        if not is_leaf:
            birth = numbers[node, TIME]
            above, node = node, child_of(tree, node, x)
    return node, split, time, birth


def split_node(tree, node, time, row, is_outside, room):
    """Split a node whose box a row is outside of, or a leaf with rows of another class.

    A row outside gets a new leaf. In the box of a leaf the rows count as uniform: each
    split gives the two sides their shares of them, and the side of the new row is split
    again, until less than one row is left there.

    Returns
    -------
    leaf : int
        Of the row.
    is_alone : bool
        Whether the leaf has no other rows.
    """
    x, weight_of_row = row
    low, high = tree.boxes[node, 0], tree.boxes[node, 1]
    inverse, start, end = room.inverse, room.start, room.end
    leaf, is_alone, n_splits = node, False, 0
    while not is_alone and n_splits < MAX_SPLITS and has_room(tree):
        # Thresholds lie between the row and the box, or two corners of the box.
        for i in range(x.size):
            start[i] = x[i] if is_outside else low[i]
            end[i] = low[i] if is_outside else high[i]
        length = box_distance(start, end, high, inverse)
        if length == 0.0:
            break
        n_splits += 1
        if not is_outside:
            time -= np.log(1.0 - uniform(tree)) / length
            if not time < np.inf:  # the corners nearly coincide
                break
        j = feature_at(uniform(tree) * length, start, end, high, inverse)
        is_left = start[j] > high[j]
        bottom = high[j] if is_left else start[j]
        top = start[j] if is_left else end[j]
        way = uniform(tree)
        threshold = bottom + way * (top - bottom)
        threshold = threshold if threshold < top else bottom
        if not is_outside:
            is_left = not x[j] > threshold
        parent, other = insert_parent(tree, node, time, j, threshold, is_left)
        if is_outside:
            n = tree.shares.shape[1] // 2
            for i in range(n):
                # The weight of the parent is that of the node, and the leaf has 1.
                odds = 2.0 * tree.shares[node, i]
                tree.shares[parent, i] = odds / (1.0 + odds)
                tree.shares[parent, n + i] = 1.0 / (1.0 + odds)
            for i in range(x.size):
                tree.boxes[other, 0, i] = tree.boxes[other, 1, i] = x[i]
            extend_box(x, tree.boxes[parent, 0], tree.boxes[parent, 1])
            leaf, is_alone = other, True
            continue
        share = way if is_left else 1.0 - way
        is_alone = share * tree.numbers[node, WEIGHT] < weight_of_row
        share = 0.0 if is_alone else share
        cut_leaf(tree, node, other, share, j, threshold, is_left)
        if is_alone:
            for i in range(x.size):
                low[i] = high[i] = x[i]
    return leaf, is_alone


def feature_at(way, x, low, high, inverse):
    """Return the feature at some way from `x` to a box, one feature after the other."""
    place = 0
    for j in range(x.size):
        outside = larger(low[j] - x[j], 0.0) + larger(x[j] - high[j], 0.0)
        length = outside * inverse[j]
        if length > 0.0 and way >= 0.0:
            place = j
        way -= length
    return place


def cut_leaf(tree, leaf, other, share, j, threshold, is_left):
    """Leave a share of its rows and box to a leaf; another leaf gets the rest."""
    sums, boxes = tree.sums, tree.boxes
    for side in range(2):
        copy_into(boxes[leaf, side], boxes[other, side])
    if is_left:
        boxes[leaf, 1, j] = boxes[other, 0, j] = threshold
    else:
        boxes[leaf, 0, j] = boxes[other, 1, j] = threshold
    tree.numbers[other, WEIGHT] = (1.0 - share) * tree.numbers[leaf, WEIGHT]
    tree.numbers[leaf, WEIGHT] *= share
    for k in range(sums.shape[1]):
        sums[other, k] = (1.0 - share) * sums[leaf, k]
        sums[leaf, k] *= share


def insert_parent(tree, node, time, feature, threshold, is_left):
    """Give a node a new parent, and that another child: return parent and new leaf.

    The parent has the box and the rows of the node; leaf and parent have equal shares.
    """
    links, numbers = tree.links, tree.numbers
    parent, leaf = tree.place[SIZE], tree.place[SIZE] + 1
    tree.place[SIZE] += 2
    above = links[node, PARENT]
    if above < 0:
        tree.place[ROOT] = parent
    elif links[above, LEFT] == node:
        links[above, LEFT] = parent
    else:
        links[above, RIGHT] = parent
    links[parent, LEFT] = node if is_left else leaf
    links[parent, RIGHT] = leaf if is_left else node
    links[parent, PARENT] = above
    links[parent, FEATURE] = feature
    links[node, PARENT] = links[leaf, PARENT] = parent
    links[leaf, LEFT] = links[leaf, RIGHT] = links[leaf, FEATURE] = -1
    links[parent, SAVED] = links[leaf, SAVED] = 0
    numbers[parent, TIME] = time
    numbers[parent, THRESHOLD] = threshold
    numbers[parent, WEIGHT] = numbers[node, WEIGHT]
    numbers[leaf, TIME] = np.inf
    copy_into(tree.sums[node], tree.sums[parent])
    for i in range(tree.shares.shape[1]):
        tree.shares[parent, i] = tree.shares[leaf, i] = 0.5
    for side in range(2):
        copy_into(tree.boxes[node, side], tree.boxes[parent, side])
    return parent, leaf


def save_box(tree, k, node, log):
    """Save the box of a node in the log, before it changes for the first time."""
    if log.counts[IS_NEEDED] == 0 or tree.links[node, SAVED] & 2:
        return
    place = log.counts[BOXES]
    log.of_boxes[place, 0], log.of_boxes[place, 1] = k, node
    for side in range(2):
        copy_into(tree.boxes[node, side], log.boxes[place, side])
    log.counts[BOXES] += 1
    tree.links[node, SAVED] |= 2
