"""Slow reference of trees that split where labels differ, in plain Python.

Rows of a leaf are found by following the tree, code lengths by the gamma function.
"""

import math
from collections import Counter
from decimal import Decimal

from .naive_forest import Node, Tree


def code_length(labels, n_classes):
    """Code length of labels by Krichevsky and Trofimov, in nats."""
    n = len(labels)
    length = math.lgamma(n + n_classes / 2) - math.lgamma(n_classes / 2)
    for count in Counter(labels).values():
        length -= math.lgamma(count + 0.5) - math.lgamma(0.5)
    return length


def squared_deviations(values):
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


class ExtraTree(Tree):
    """A tree that learns rows; `n_classes` is 0 in regression."""

    def __init__(self, *nodes, penalty, window, n_classes, max_nodes=10**9):
        super().__init__(*nodes, max_nodes)
        self.penalty, self.window, self.n_classes = penalty, window, n_classes
        self.stored, self.errors = [], []

    def leaf_of(self, x):
        node = self.root
        while node.children:
            node = node.child_of(x)
        return node

    def _learn(self, x, y, c, deviation):
        if self.root is None:
            self.root = new_leaf()
        if not self.n_classes:
            weight = sum(c for _, c in self.errors)
            mean = sum(c * e * e for e, c in self.errors) / weight if weight else 0.0
            deviation = math.sqrt(mean)
            if self.root.rows:
                self.errors.append((y - float(self.predict(x)[0]), c))
        path = [self.root]
        while path[-1].children:
            path.append(path[-1].child_of(x))
        node = path[-1]
        for each in path:
            prediction = self.predict_node(each.rows)
            each.weight *= self.likelihood(prediction, y, c, deviation)
            each.rows.append((y, c))
        self.stored = [*self.stored, (x, y, c)][-self.window :]
        weight = sum(c for _, c in node.rows)
        if weight >= node.next_try and self.n_nodes + 2 <= self.max_nodes:
            split = self._best_split(node)
            if split is None:
                node.next_try = 1.2 * weight
            else:
                self._split_leaf(node, *split)

    def _best_split(self, leaf):
        rows = [row for row in self.stored[::-1] if self.leaf_of(row[0]) is leaf][:128]
        if len({y for _, y, _ in rows}) < 2:
            return None
        d = len(rows[0][0])
        left, n_drawn = list(range(d)), d if d <= 9 else math.ceil(3 * math.sqrt(d))
        best, split, n_splits = 0.0, None, 0
        for i in range(n_drawn):
            at = i + int(self.generator.uniform() * (d - i))
            left[i], left[at] = left[at], left[i]
            j = left[i]
            values = [x[j] for x, _, _ in rows]
            if len(set(values)) == 1:
                continue
            draws = [int(self.generator.uniform() * len(rows)) for _ in range(4)]
            for threshold in [values[draw] for draw in draws]:
                sides = [[], []]
                for x, y, _ in rows:
                    sides[x[j] > threshold].append(y)
                if sides[1]:
                    n_splits += 1
                    gain = self._gain(*sides)
                    if gain > best + 1e-9:
                        best, split = gain, (j, threshold)
        if split is None or best <= self.penalty * math.log(n_splits) + 1e-9:
            return None
        return split

    def _gain(self, left, right):
        both, n = [*left, *right], len(left) + len(right)
        if self.n_classes:
            lengths = [code_length(y, self.n_classes) for y in (both, left, right)]
            return lengths[0] - lengths[1] - lengths[2]
        rest = squared_deviations(left) + squared_deviations(right)
        share = max(rest / squared_deviations(both), 1e-12)
        return -0.5 * n * math.log(share) - 0.5 * math.log(n)

    def _split_leaf(self, leaf, feature, threshold):
        rows = [row for row in self.stored if self.leaf_of(row[0]) is leaf]
        leaf.feature, leaf.threshold = feature, threshold
        leaf.children = new_leaf(), new_leaf()
        # The weights of the children multiply to that of their parent.
        leaf.children[0].weight = leaf.weight
        for x, y, c in rows:
            leaf.child_of(x).rows.append((y, c))
        for child in leaf.children:
            child.next_try = max(8.0, sum(c for _, c in child.rows))
        self.n_nodes += 2


def new_leaf():
    leaf = Node([], [])
    leaf.weight, leaf.next_try = Decimal(1), 8.0
    return leaf
