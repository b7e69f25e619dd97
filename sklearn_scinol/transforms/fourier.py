"""Random Fourier features of standardised rows."""

from copy import copy

import numpy as np

from .._invariants import floats, is_count
from .._state import Part
from ..blocks import as_read_only
from .clipping import MAX_DEVIATIONS
from .features import FeatureTransform


class FourierFeatures(Part):
    r"""Maps rows to random features whose inner products approximate a kernel.

    With x standardised, the features are :math:`\sqrt{2 / D} \cos(W x + b)`, where each
    direction is there with the phases 0 and :math:`-\pi / 2`, as cosine and sine. Their
    inner products have the mean :math:`\exp(-\gamma \lVert x - x' \rVert^2)`, and vary
    less around it than with random phases. Features that have not varied yet are 0.

    Rows are standardised by the moments of all rows so far, their own included.

    Parameters
    ----------
    n_components : int
        Number of random features.
    gamma : float or "scale"
        Parameter of the kernel; "scale" stands for ``1 / n_features``.
    limit : float, default=MAX_DEVIATIONS
        Standardised values are clipped at plus and minus this.

    Attributes
    ----------
    features : FeatureTransform
        Units and running moments of the rows so far.
    directions : ndarray of shape (n_features, n_directions)
        W, transposed, in full turns, without repetitions: half of `n_components`, or
        one more.
    """

    _replaced = ("directions",)

    def __init__(
        self,
        n_features,
        n_components,
        gamma,
        random_state,
        *,
        clip_ratio=None,
        limit=MAX_DEVIATIONS,
    ):
        self.n_components = n_components
        self.limit = limit
        self.features = FeatureTransform(
            n_features, center=True, scale=True, in_units=True, clip_ratio=clip_ratio
        )
        gamma = 1.0 / n_features if gamma == "scale" else gamma
        factor = np.sqrt(2.0) * np.sqrt(gamma) / (2.0 * np.pi)
        n_directions = -(-n_components // 2)
        self.directions = factor * _directions(n_features, n_directions, random_state)

    @property
    def phases(self):
        """The phases b, in full turns."""
        return np.resize([0.0, -0.25], self.n_components)

    def learn(self, engine, rows, weights, checks=True):
        """Learn rows in order; return their random features."""
        Z, _ = self.features.learn_and_transform(engine, rows, weights, checks)
        return self._convert(engine, Z.X)

    def transform(self, engine, X, weight):
        """Return the random features of rows without learning, each of a weight."""
        with np.errstate(all="ignore"):
            X = np.require(self.features.transform(X, weight), np.float64, "C")
        return self._convert(engine, X)

    def _convert(self, engine, X):
        # Arrays that are mapped from a file are read-only: with all of them so, there
        # is one type of arguments to compile for.
        arrays = map(as_read_only, (self.directions, self.phases))
        return engine.fourier_features(*arrays, self.limit, X)

    # Merging.

    def fresh(self):
        """Return a map with these directions, before the first row."""
        fresh = copy(self)
        fresh.features = self.features.fresh()
        return fresh

    def _has_directions_of(self, other):
        return np.array_equal(self.directions, other.directions)

    @classmethod
    def merged(cls, shards):
        """Merge moments; directions must be equal."""
        merged = shards.start.fresh()
        if not all(map(merged._has_directions_of, shards.members)):
            raise ValueError(
                "Random Fourier features of different directions cannot be merged: "
                "pass the same int as random_state, or let all begin as copies of one "
                "that has seen a row."
            )
        merged.features, _ = FeatureTransform.merged(shards.features)
        return merged

    def invariants(self):
        """Yield what holds between two calls."""
        n_features = self.features.n_features
        yield "directions is a matrix", np.ndim(self.directions) == 2
        yield "n_components is a number", is_count(self.n_components)
        yield "limit >= 1", self.limit >= 1.0
        shape = n_features, -(-self.n_components // 2)
        yield from floats("directions", self.directions, shape)
        is_standard = self.features.center and self.features.scale
        yield "features are centred and scaled", is_standard
        yield "features are in units", self.features.units is not None


def _directions(n_features, n_components, random_state):
    """Draw directions, each of them standard normal: (n_features, n_components).

    `n_features` directions in turn are orthogonal (Yu et al., 2016).
    """
    blocks = []
    for start in range(0, n_components, n_features):
        width = min(n_features, n_components - start)
        Q, R = np.linalg.qr(random_state.normal(size=(n_features, width)))
        blocks.append(Q * np.copysign(1.0, np.diag(R)))
    lengths = np.sqrt(random_state.chisquare(n_features, size=n_components))
    return lengths * np.hstack([np.empty((n_features, 0)), *blocks])
