"""SmoothedLoss losses, and second derivatives of losses."""

import numpy as np
from scipy import sparse

from ..losses import Huber


class SmoothedLoss:
    r"""Moreau envelope of a piecewise linear loss, which is smooth.

    It is :math:`\min_u \ell(u) + (u - p)^2 / (2 \mu)`, for kinks that are further apart
    than the smoothing reaches.
    """

    joint = False

    def __init__(self, loss, y, mu):
        self.mu = mu
        self.kinks = kinks(loss, y)
        self.sides = [Huber(slope) for slope in np.abs(end_slopes(loss, y))]

    def _distances(self, p):
        """Pairs of a side of the loss and the distances beyond its kink, over mu."""
        left, right = self.kinks
        distances = np.maximum(left - p, 0), np.maximum(p - right, 0)
        return [*zip(self.sides, (d / self.mu for d in distances), strict=True)]

    def value(self, y, p):
        return self.mu * sum(side.value(0.0, d) for side, d in self._distances(p))

    def gradient(self, y, p):
        fall, rise = (side.gradient(0.0, d) for side, d in self._distances(p))
        return rise - fall

    def curvature(self, y, p):
        sides = self._distances(p)
        return sum((d > 0) * side.curvature(0.0, d) for side, d in sides) / self.mu


def kinks(loss, y):
    """Return the lowest and the highest minimiser of each loss."""
    minimiser = np.vectorize(loss.minimiser, otypes=[float])
    return minimiser(y, -np.inf), minimiser(y, np.inf)


def end_slopes(loss, y):
    """Return slopes of the loss far below and far above the targets."""
    with np.errstate(over="ignore"):
        return tuple(loss.gradient(y, np.full(y.shape, end)) for end in (-1e300, 1e300))


class Curvature:
    """Second derivatives of the losses of one output, of shape (n, 1)."""

    def __init__(self, curvature):
        self.curvature = curvature

    def __call__(self, directions):
        return self.curvature * directions

    def hessian(self, Z, c):
        return _gram(Z, c * self.curvature, Z)


class JointCurvature:
    """Second derivatives of a joint loss, from probabilities (n, n_outputs)."""

    def __init__(self, shares):
        self.shares = shares

    def __call__(self, directions):
        mean = (self.shares * directions).sum(axis=1, keepdims=True)
        return self.shares * (directions - mean)

    def hessian(self, Z, c):
        K, n = self.shares.shape[1], Z.shape[1]
        hessian = np.empty((K, n, K, n))
        for k in range(K):
            for other in range(k + 1):
                own, others = self.shares[:, [k]], self.shares[:, [other]]
                block = _gram(Z, c * own * ((k == other) - others), Z)
                hessian[k, :, other] = hessian[other, :, k] = block
        return hessian.reshape(K * n, K * n)


def _gram(Z, weights, other):
    if sparse.issparse(Z):
        return (Z.T @ sparse.diags_array(weights[:, 0]) @ other).toarray()
    return Z.T @ (weights * other)
