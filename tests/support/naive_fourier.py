"""Slow, plain random Fourier features, from the papers and the docstring alone."""

import math

import numpy as np

from support.naive import inner


class FourierFeatures:
    """Cosines and sines of random directions of rows, standardised with the row itself.

    Random numbers are drawn in the order of the package.
    """

    def __init__(self, n_features, n_components, gamma, seed):
        random = np.random.RandomState(seed)
        self.directions, self.n_components = [], n_components
        n_directions = (n_components + 1) // 2
        while len(self.directions) < n_directions:
            width = min(n_features, n_directions - len(self.directions))
            draws = random.normal(size=(n_features, width)).T.tolist()
            self.directions += orthonormal(draws)
        squares = random.chisquare(n_features, size=n_directions)
        for direction, square in zip(self.directions, squares, strict=True):
            length = math.sqrt(2.0 * gamma) * math.sqrt(square)
            direction[:] = [length * value for value in direction]
        self.rows = []

    def features_of(self, x, c=1.0):
        """Features of a row, which counts in the moments with weight `c`."""
        rows, z = [*self.rows, (x, c)], []
        for j, value in enumerate(x):
            mean, deviation = moments_of(rows, j)
            standard = (value - mean) / deviation if deviation else 0.0
            z.append(max(-4.0, min(4.0, standard)))
        angles = [inner(direction, z) for direction in self.directions]
        pairs = [f for angle in angles for f in (math.cos(angle), math.sin(angle))]
        factor = math.sqrt(2.0 / self.n_components)
        return [factor * feature for feature in pairs[: self.n_components]]

    def learn(self, x, c=1.0):
        if c > 0.0:
            self.rows.append((x, c))


def moments_of(rows, j):
    """Mean and deviation; the latter is 0 where nothing has varied."""
    total = sum(c for _, c in rows)
    mean = sum(c * x[j] for x, c in rows) / total
    variance = sum(c * (x[j] - mean) ** 2 for x, c in rows) / total
    has_varied = any(x[j] != rows[0][0][j] for x, _ in rows)
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
        self.least = 1.0

    def decision_function(self, x, sample_weight=None):
        z = self.fourier.features_of(list(x), sample_weight or self.least)
        return self.model.decision_function(z, sample_weight)

    def learn(self, x, y, sample_weight=1.0):
        """Learn; a row of weight 0 is predicted as one of the least weight so far."""
        if sample_weight > 0.0:
            first = not self.fourier.rows
            self.least = min(sample_weight, sample_weight if first else self.least)
        z = self.fourier.features_of(list(x), sample_weight or self.least)
        self.model.learn(z, y, sample_weight)
        self.fourier.learn(list(x), sample_weight)
