"""Slow, plain random Fourier features, from the papers and the docstring alone."""

import math

import numpy as np


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
            self.directions += orthonormal(random.normal(size=(n_features, width)).T)
        squares = random.chisquare(n_features, size=n_directions)
        self.directions *= np.sqrt(2.0 * gamma * squares)[:, np.newaxis]
        self.rows, self.weights = [], []

    def features_of(self, x, c=1.0):
        """Features of a row, which counts in the moments with weight `c`."""
        rows, weights = np.array([*self.rows, x]), [*self.weights, c]
        mean = np.average(rows, axis=0, weights=weights)
        deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=weights))
        has_varied = np.ptp(rows, axis=0) > 0.0
        z = np.where(has_varied, (x - mean) / np.where(has_varied, deviation, 1.0), 0.0)
        angles = self.directions @ np.clip(z, -4.0, 4.0)
        pairs = np.column_stack([np.cos(angles), np.sin(angles)]).ravel()
        return math.sqrt(2.0 / self.n_components) * pairs[: self.n_components]

    def learn(self, x, c=1.0):
        if c > 0.0:
            self.rows.append(x)
            self.weights.append(c)


def orthonormal(vectors):
    """The orthonormal vectors of Gram and Schmidt."""
    found = []
    for vector in vectors:
        for other in found:
            vector = vector - (vector @ other) * other
        found.append(vector / math.sqrt(vector @ vector))
    return found


class RandomFeatures:
    """A model of `naive` that learns random features instead of rows."""

    def __init__(self, model, fourier):
        self.model, self.fourier = model, fourier

    def features_of(self, x, c):
        """A row of weight 0 is predicted as one of the least weight so far."""
        c = c or min(self.fourier.weights, default=1.0)
        return self.fourier.features_of(x, c).tolist()

    def decision_function(self, x, sample_weight=None):
        z = self.features_of(x, sample_weight)
        return self.model.decision_function(z, sample_weight)

    def learn(self, x, y, sample_weight=1.0):
        self.model.learn(self.features_of(x, sample_weight), y, sample_weight)
        self.fourier.learn(x, sample_weight)
