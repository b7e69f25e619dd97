"""Slow reference of nearest neighbours on a stream, in plain Python.

Rows are lists of numbers. Distances are sums in single precision, one feature after
another, since nothing else decides alike which of two rows is nearer.
"""

import math

import numpy as np

from .naive import relative_to_means

N_SIGNS, N_LANES = 64, 16


class Neighbors:
    """The last rows of a stream, standardised when they came."""

    def __init__(self, n_neighbors, window, predict, n_candidates=None, largest=4.0):
        self.n_neighbors, self.window, self.predict = n_neighbors, window, predict
        self.n_candidates, self.largest = n_candidates, largest
        self.rows = []
        self.weight_sum, self.means, self.variances = 0.0, None, None

    def predict_learn(self, row, target, weight, to_mean):
        """Predict a row from those before it, then learn it.

        `to_mean` is its weight relative to the mean up to it.
        """
        z = self.standardised(row, weight)
        found = [
            (distance(z, stored), -number, y, c)
            for number, (stored, y, c) in enumerate(self.rows)
        ]
        if self.n_candidates:
            found = self.candidates(z)
        nearest = sorted(found)[: self.n_neighbors]
        self.rows = [*self.rows, (z, target, to_mean)][-self.window :]
        return self.predict([(y, c) for *_, y, c in nearest])

    def predictions(self, X, y, c):
        """Predict each row, then learn it."""
        rows = X.tolist(), y.tolist(), c.tolist(), relative_to_means(c)
        return [self.predict_learn(*row) for row in zip(*rows, strict=True)]

    def standardised(self, row, weight):
        """Update weighted means and variances; return deviations up to four."""
        if self.means is None:
            self.means, self.variances = [0.0] * len(row), [0.0] * len(row)
        total = self.weight_sum + weight
        z = []
        for j, x in enumerate(row):
            old = self.means[j]
            mean = old + weight / total * (x - old)
            squares = self.weight_sum * (self.variances[j] + (old - mean) ** 2)
            variance = (squares + weight * (x - mean) ** 2) / total
            self.means[j], self.variances[j] = mean, variance
            deviation = (x - mean) / math.sqrt(variance) if variance > 0.0 else 0.0
            z.append(np.float32(min(max(deviation, -self.largest), self.largest)))
        self.weight_sum = total
        return z

    def candidates(self, z):
        """Return the stored rows whose sums by signs are nearest, by all features."""
        bits = np.random.RandomState(0).randint(2, size=(len(z), N_SIGNS)).tolist()
        near = [
            (distance(sums(z, bits), sums(stored, bits)), -number)
            for number, (stored, *_) in enumerate(self.rows)
        ]
        found = []
        for _, place in sorted(near)[: max(self.n_candidates, self.n_neighbors)]:
            stored, y, c = self.rows[-place]
            lanes = (
                distance(z[i::N_LANES], stored[i::N_LANES]) for i in range(N_LANES)
            )
            found.append((sum(lanes, np.float32(0.0)), place, y, c))
        return found


def distance(a, b):
    total = np.float32(0.0)
    for a_j, b_j in zip(a, b, strict=True):
        total += (b_j - a_j) * (b_j - a_j)
    return total


def sums(row, bits):
    """Return sums of features with the signs of bits, in single precision."""
    totals = [np.float32(0.0)] * N_SIGNS
    for x, of_feature in zip(row, bits, strict=True):
        totals = [s + (x if b else -x) for s, b in zip(totals, of_feature, strict=True)]
    return totals


def counts(n_classes):
    """Return probabilities by votes, with half a vote shared by all classes."""

    def predict(nearest):
        votes = [0.5 / n_classes] * n_classes
        for y, c in nearest:
            votes[y] += c
        return [v / sum(votes) for v in votes]

    return predict


def mean(nearest):
    total = sum(c for _, c in nearest)
    return sum(c * y for y, c in nearest) / total if nearest else 0.0


def least(loss):
    """Return the middle of the values of least loss, on a grid of the targets."""

    def predict(nearest):
        if not nearest:
            return 0.0
        losses = [sum(c * loss(y, p) for y, c in nearest) for p, _ in nearest]
        pairs = zip(nearest, losses, strict=True)
        best = [p for (p, _), loss in pairs if loss <= min(losses) + 1e-12]
        return (min(best) + max(best)) / 2

    return predict
