"""Random Fourier features of standardised rows."""

from copy import copy

import numpy as np

from .._invariants import floats, is_count
from ..blocks import as_read_only
from .features import FeatureTransform
from .moments import inverse_deviation, next_change

__all__ = ["MAX_DEVIATIONS", "FourierFeatures"]

#: Standardised values are clipped at plus and minus this.
MAX_DEVIATIONS = 4.0


class FourierFeatures:
    r"""Maps rows to random features whose inner products approximate a kernel.

    With x standardised, the features are :math:`\sqrt{2 / D} \cos(W x + b)`. Their
    inner products have the mean :math:`\exp(-\gamma \lVert x - x' \rVert^2)`. Features
    that have not varied yet are 0 in x.

    Rows are standardised by moments that change only in :meth:`change_moments`: with
    each row, they would move all random features of all rows.

    Parameters
    ----------
    n_features : int
    n_components : int
        Number of random features.
    gamma : float or "scale"
        Parameter of the kernel; "scale" stands for ``1 / n_features``.
    random_state : RandomState
        Draws the directions and phases.
    clip_ratio : float, default=None
        See :class:`FeatureTransform`.

    Attributes
    ----------
    features : FeatureTransform
        Units and running moments of the rows so far.
    standard : ndarray of shape (2, n_features)
        Means that rows are standardised by, and inverses of deviations.
    directions : ndarray of shape (n_features, n_components)
        W, transposed, in full turns.
    phases : ndarray of shape (n_components,)
        b, in full turns.
    next_change : int
        Number of rows after which `standard` changes.
    """

    def __init__(
        self, n_features, n_components, gamma, random_state, *, clip_ratio=None
    ):
        self.features = FeatureTransform(
            n_features, center=True, scale=True, in_units=True, clip_ratio=clip_ratio
        )
        self.standard = np.zeros((2, n_features))
        gamma = 1.0 / n_features if gamma == "scale" else gamma
        factor = np.sqrt(2.0) * np.sqrt(gamma) / (2.0 * np.pi)
        directions = _directions(n_features, n_components, random_state)
        self.directions = factor * directions
        self.phases = random_state.uniform(size=n_components)
        self.next_change = 1

    @property
    def parts(self):
        """Objects that have the state."""
        return [self, *self.features.parts]

    @property
    def n_components(self):
        """Number of random features."""
        return self.phases.size

    def ensure_layout(self):
        """Make the state writable; joblib maps arrays read-only."""
        self.features.ensure_layout(is_sparse=False)

    def learn(self, engine, rows, weights):
        """Learn rows in order; return their random features, by the present moments."""
        rows, outgrown = self.features.learn_and_convert(engine, rows, weights)
        if outgrown.size:
            self.standard = self.standard.copy()
            self.standard[:, outgrown] = 0.0
        self.features.learn(engine, rows, weights)
        return self._convert(engine, rows.X)

    def change_moments(self, t):
        """Standardise by the moments of all rows so far, `t` in number."""
        mean, variance = self.features.mean_and_variance()
        with np.errstate(all="ignore"):
            self.standard = np.stack([mean, inverse_deviation(variance)])
        self.next_change = next_change(t)

    def transform(self, engine, X):
        """Return the random features of rows without learning."""
        with np.errstate(all="ignore"):
            X = np.require(self.features.convert(X), np.float64, "C")
        return self._convert(engine, X)

    def _convert(self, engine, X):
        # Of one type, whether they come from a file or not.
        arrays = map(as_read_only, (self.standard, self.directions, self.phases))
        return engine.fourier_features(*arrays, MAX_DEVIATIONS, X)

    def checkpoint(self):
        """Return a function that undoes what will be learned."""
        features = self.features.checkpoint(np.arange(len(self.directions)))
        before = vars(self).copy()  # its arrays are replaced

        def restore():
            vars(self).update(before)
            features()

        return restore

    # Merging.

    def fresh(self):
        """Return a map with these directions, before the first row."""
        fresh = copy(self)
        fresh.features = self.features.fresh()
        fresh.standard, fresh.next_change = np.zeros_like(self.standard), 1
        return fresh

    def _has_directions_of(self, other):
        is_equal = np.array_equal(self.directions, other.directions)
        return is_equal and np.array_equal(self.phases, other.phases)

    @classmethod
    def merged(cls, shards, t):
        """Merge the moments of `t` rows; directions must be equal."""
        merged = shards.start.fresh()
        if not all(map(merged._has_directions_of, shards.members)):
            raise ValueError(
                "Random Fourier features of different directions cannot be merged: "
                "pass the same int as random_state, or let all begin as copies of one "
                "that has seen a row."
            )
        features = shards.map(lambda each: each.features)
        merged.features, _ = FeatureTransform.merged(features)
        merged.change_moments(t)
        return merged

    def invariants(self):
        """Yield what holds between two calls."""
        n_features = self.features.n_features
        yield from floats("standard", self.standard, (2, n_features))
        yield "inverse deviations are not negative", self.standard[1] >= 0.0
        yield from floats("phases", self.phases, self.phases.shape)
        yield "phases is a vector", self.phases.ndim == 1 and self.phases.size > 0
        shape = n_features, self.n_components
        yield from floats("directions", self.directions, shape)
        is_standard = self.features.center and self.features.scale
        yield "features are centred and scaled", is_standard
        yield "features are in units", self.features.units is not None
        yield "next_change is a number of rows", is_count(self.next_change, 1)


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
    return lengths * np.hstack(blocks)
