"""Slow, plain random Fourier features, from the papers and the docstring alone."""

import math

import numpy as np

from support.naive import inner


class FourierFeatures:
    """Cosines of random directions of rows, standardised by moments that stand still.

    Random numbers are drawn in the order of the package.
    """

    def __init__(self, n_features, n_components, gamma, seed):
        random = np.random.RandomState(seed)
        self.directions = []
        while len(self.directions) < n_components:
            width = min(n_features, n_components - len(self.directions))
            draws = random.normal(size=(n_features, width)).T.tolist()
            self.directions += orthonormal(draws)
        squares = random.chisquare(n_features, size=n_components)
        for direction, square in zip(self.directions, squares, strict=True):
            length = math.sqrt(2.0 * gamma) * math.sqrt(square)
            direction[:] = [length * value for value in direction]
        self.phases = [2.0 * math.pi * u for u in random.uniform(size=n_components)]
        self.rows, self.next_change = [], 1
        self.means = self.deviations = [0.0] * n_features

    def features_of(self, x):
        z = []
        for value, mean, deviation in zip(x, self.means, self.deviations, strict=True):
            standard = (value - mean) / deviation if deviation else 0.0
            z.append(max(-4.0, min(4.0, standard)))
        n = len(self.phases)
        return [
            math.sqrt(2.0 / n) * math.cos(inner(direction, z) + phase)
            for direction, phase in zip(self.directions, self.phases, strict=True)
        ]

    def learn(self, x, c=1.0):
        if c == 0.0:
            return
        self.rows.append((x, c))
        if len(self.rows) == self.next_change:
            self.next_change += max(1, len(self.rows) // 2)
            moments = [self.moments_of(j) for j in range(len(x))]
            self.means, self.deviations = zip(*moments, strict=True)

    def moments_of(self, j):
        total = sum(c for _, c in self.rows)
        mean = sum(c * x[j] for x, c in self.rows) / total
        variance = sum(c * (x[j] - mean) ** 2 for x, c in self.rows) / total
        has_varied = any(x[j] != self.rows[0][0][j] for x, _ in self.rows)
        return mean, math.sqrt(variance) if has_varied else 0.0


def orthonormal(vectors):
    """The orthonormal vectors of Gram and Schmidt."""
    found = []
    for vector in vectors:
        for other in found:
            along = inner(vector, other)
            vector = [v - along * o for v, o in zip(vector, other, strict=True)]
        length = math.sqrt(inner(vector, vector))
        found.append([v / length for v in vector])
    return found


class RandomFeatures:
    """A model of `naive` that learns random features instead of rows."""

    def __init__(self, model, fourier):
        self.model, self.fourier = model, fourier

    def decision_function(self, x, sample_weight=None):
        z = self.fourier.features_of(list(x))
        return self.model.decision_function(z, sample_weight)

    def learn(self, x, y, sample_weight=1.0):
        self.model.learn(self.fourier.features_of(list(x)), y, sample_weight)
        self.fourier.learn(list(x), sample_weight)
