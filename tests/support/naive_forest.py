"""Slow reference of aggregated Mondrian trees, in plain Python, with 50 digits.

The mean over prunings is taken pruning by pruning, or by the recursion of Mourtada,
Gaïffas and Scornet (2021) for the sum of their weights.
"""

import math
from decimal import Decimal, localcontext
from itertools import product

import numpy as np

from support.naive import relative_to_means

LN_2 = math.log(2.0)
MASK = 2**64 - 1


class Generator:
    """SplitMix64."""

    def __init__(self, state):
        self.state = int(state)

    def uniform(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 11) / 2**53


class Node:
    """A node with the rows that it has learned.

    `weight` is the product of its likelihoods, of those that count.
    """

    def __init__(self, low, high):
        self.low, self.high = np.array(low), np.array(high)
        self.rows, self.weight = [], Decimal(1)
        self.time, self.children = math.inf, ()

    @property
    def sum_of_prunings(self):
        if not self.children:
            return self.weight
        left, right = self.children
        return (self.weight + left.sum_of_prunings * right.sum_of_prunings) / 2

    def prunings(self):
        """Yield the leaves of each pruning, with its prior weight."""
        if not self.children:
            yield [self], Decimal(1)
            return
        yield [self], Decimal(1) / 2
        for (a, p), (b, q) in product(*(child.prunings() for child in self.children)):
            yield a + b, p * q / 2

    def best_pruning(self):
        """Least loss of a pruning, with the logarithms of its prior weight added."""
        own = -float(self.weight.ln())
        if not self.children:
            return own
        below = sum(child.best_pruning() for child in self.children)
        return LN_2 + min(own, below)

    def child_of(self, x):
        return self.children[int(x[self.feature] > self.threshold)]


class Tree:
    """A tree that learns rows, with the state of its generator of random numbers.

    `predict` predicts from the rows of a node, pairs of target and weight; `likelihood`
    takes prediction, target, row weight and deviation.
    """

    def __init__(self, state, predict, likelihood, max_nodes=10**9):
        self.generator, self.root = Generator(state), None
        self.predict_node, self.likelihood = predict, likelihood
        self.max_nodes, self.n_nodes, self.n_inner_splits = max_nodes, 1, 0
        self.founded = False  # whether the last row was the first one of a leaf

    def predict(self, x, by_pruning=False):
        """Mean over the prunings, of what the leaf predicts that has the row."""
        if self.root is None:
            return self.predict_node([])
        path = [self.root]
        while path[-1].children:
            path.append(path[-1].child_of(x))
        with localcontext(prec=50):
            if by_pruning:
                return self._mean_by_pruning(path)
            mean = self.predict_node(path[-1].rows)
            for node in reversed(path[:-1]):
                share = node.weight / (2 * node.sum_of_prunings)
                own = self.predict_node(node.rows)
                pairs = zip(own, mean, strict=True)
                mean = [share * a + (1 - share) * b for a, b in pairs]
            return mean

    def _mean_by_pruning(self, path):
        total, sums = Decimal(0), None
        for leaves, weight in self.root.prunings():
            for leaf in leaves:
                weight *= leaf.weight
            (of_row,) = (node for node in path if node in leaves)
            terms = [weight * p for p in self.predict_node(of_row.rows)]
            sums = [*map(sum, zip(sums, terms, strict=True))] if sums else terms
            total += weight
        return [p / total for p in sums]

    def learn(self, x, y, c=1.0, deviation=None):
        with localcontext(prec=50):
            self._learn(x, y, c, deviation)

    def _learn(self, x, y, c, deviation):
        self.founded = False
        if self.root is None:
            self.root = Node(x, x)
        shapes, total = True, float(sum(c for _, c in self.root.rows))
        if c * len(self.root.rows) < total:
            shapes = self.generator.uniform() * total < c * len(self.root.rows)
        spans = np.maximum(self.root.high, x) - np.minimum(self.root.low, x)
        units = np.divide(1.0, spans, out=np.zeros(len(x)), where=spans > 0.0)
        of_classes = self.likelihood.is_of_classes
        above, birth, node, path = None, 0.0, self.root, []
        while True:
            beyond = np.maximum(node.low - x, 0.0) + np.maximum(x - node.high, 0.0)
            ways = (beyond * units).tolist()
            labels = {target for target, _ in node.rows}
            is_pure = not node.children and of_classes and labels <= {y}
            may_split = shapes and sum(ways) > 0.0 and not is_pure
            if may_split and self.n_nodes + 2 <= self.max_nodes:
                u = self.generator.uniform()
                time = birth - math.log(1.0 - u) / sum(ways)
                if time < node.time:
                    path += self._split(above, node, time, ways, x)
                    break
            if shapes:
                node.low, node.high = np.minimum(node.low, x), np.maximum(node.high, x)
            path.append(node)
            if not node.children:
                break
            above, birth, node = node, node.time, node.child_of(x)
        labels = {target for target, _ in path[-1].rows}
        is_of_other = of_classes and len(labels - {y}) == len(labels) == 1
        if shapes and is_of_other and not self.founded:
            path[-1:] = self._split_pure(above, node, birth, units, x)
        for node in path:
            if not (self.founded and node is path[-1]):
                prediction = self.predict_node(node.rows)
                node.weight *= self.likelihood(prediction, y, c, deviation)
            node.rows.append((y, c))

    def _split_pure(self, above, node, time, units, x):
        """Split a leaf of one class, whose rows count as uniform in its box."""
        mean = sum(c for _, c in self.root.rows) / len(self.root.rows)
        added, path = 0, []
        while added < 32 and self.n_nodes + 2 <= self.max_nodes:
            ways = ((node.high - node.low) * units).tolist()
            if sum(ways) == 0.0:
                break
            added += 1
            time -= math.log(1.0 - self.generator.uniform()) / sum(ways)
            j, share = self._feature(ways), self.generator.uniform()
            low, high = node.low[j], node.high[j]
            threshold = low + share * (high - low)
            is_right = x[j] > threshold
            share = 1.0 - share if is_right else share
            share *= share * sum(c for _, c in node.rows) >= mean
            parent, other = Node(node.low, node.high), Node(node.low, node.high)
            parent.rows, parent.weight = [*node.rows], node.weight
            # The weights of the children multiply to that of the parent.
            (other.high if is_right else other.low)[j] = threshold
            (node.low if is_right else node.high)[j] = threshold
            other.rows = [(y, (1.0 - share) * c) for y, c in node.rows]
            node.rows = [(y, share * c) for y, c in node.rows]
            children = (other, node) if is_right else (node, other)
            self._insert(above, node, parent, time, j, threshold, children)
            path.append(parent)
            above = parent
            if share == 0.0:
                node.rows, node.low, node.high = [], np.array(x), np.array(x)
                other.weight, node.weight = node.weight, Decimal(1)
                self.founded = True
                break
        return [*path, node]

    def _insert(self, above, node, parent, time, feature, threshold, children):
        """Put a node with children in the place of another one."""
        parent.time, parent.feature, parent.threshold = time, feature, threshold
        parent.children = children
        self.n_nodes += 2
        if above is None:
            self.root = parent
        else:
            both = above.children
            above.children = tuple(parent if each is node else each for each in both)

    def _feature(self, ways):
        """Draw a feature in proportion to ways."""
        left, feature = self.generator.uniform() * sum(ways), 0
        for j, way in enumerate(ways):
            if way > 0.0 and left >= 0.0:
                feature = j
            left -= way
        return feature

    def _split(self, above, node, time, ways, x):
        feature = self._feature(ways)
        v, low, high = x[feature], node.low[feature], node.high[feature]
        bottom, top = (high, v) if v > high else (v, low)
        leaf = Node(x, x)
        parent = Node(np.minimum(node.low, x), np.maximum(node.high, x))
        parent.rows, parent.weight = [*node.rows], node.weight
        threshold = bottom + self.generator.uniform() * (top - bottom)
        children = (node, leaf) if v > high else (leaf, node)
        self._insert(above, node, parent, time, feature, threshold, children)
        self.n_inner_splits += bool(node.children)
        self.founded = True
        return parent, leaf


def class_shares(n_classes, dirichlet, step=1.0):
    """Return how nodes predict classes, and the likelihoods of labels."""

    def predict(rows):
        counts = [Decimal(dirichlet)] * n_classes
        for y, c in rows:
            counts[y] += Decimal(c)
        return [count / sum(counts) for count in counts]

    def likelihood(p, y, c, deviation):
        return p[y] ** (Decimal(c) * Decimal(step))

    likelihood.is_of_classes = True
    return predict, likelihood


def means(step=1.0):
    """Return how nodes predict numbers, and the likelihoods of targets."""

    def predict(rows):
        if not rows:
            return [Decimal(0)]
        total = sum(Decimal(c) for _, c in rows)
        return [sum(Decimal(c) * Decimal(y) for y, c in rows) / total]

    def likelihood(p, y, c, deviation):
        if deviation == 0.0:
            return Decimal(1)
        error = (Decimal(y) - p[0]) / Decimal(deviation)
        return (-Decimal(c) * Decimal(step) * error * error / 2).exp()

    likelihood.is_of_classes = False
    return predict, likelihood


def predictions(trees, X, y, c, deviations=None, by_pruning=False):
    """Mean predictions of trees before each row."""
    found = []
    deviations = np.zeros(len(y)) if deviations is None else deviations
    c = relative_to_means(c).tolist()
    rows = zip(X.tolist(), y.tolist(), c, deviations.tolist(), strict=True)
    for x, *row in rows:
        of_trees = [tree.predict(x, by_pruning) for tree in trees]
        found.append(np.mean(np.array(of_trees, float), axis=0))
        for tree in trees:
            tree.learn(x, *row)
    return np.array(found)
