"""Projected online gradient descent, with a fixed schedule or an adaptive one."""

import numpy as np

from .._portable import norm, smaller
from .bases.mirror_descent import MAX_LAMBDA, MirrorDescent, descend


class OGD(MirrorDescent):
    r"""Online gradient descent, :math:`\eta_t = \beta / \sqrt t`. Zinkevich (2003)."""

    __slots__ = ()

    def row_step(self, shared, k, g, dot, q, t):
        """Set the step size of output `k` at row `t`; step and project."""
        shared.lambda_[k] = np.sqrt(t) / self.beta
        return descend(self, shared, k, g, dot, q)


class SGD(OGD):
    """Stochastic gradient descent: `OGD` without a projection."""

    __slots__ = ()

    parameters = {"beta": "learning_rate"}


class AdaOGD(MirrorDescent):
    r"""Online gradient descent with an adaptive step size.

    :math:`\eta_t = \beta / \sqrt{\sum_{s \le t} \|g_s\|^2}`, of McMahan and Streeter
    (2010); called AdaOGD by Campolongo and Orabona (2020).
    """

    __slots__ = ()

    stays_finite = True

    def row_step(self, shared, k, g, dot, q, t):
        """Set the step size of output `k` at row `t`; step and project."""
        length = np.abs(g) * np.sqrt(q) / self.beta
        shared.lambda_[k] = smaller(norm(shared.lambda_[k], length), MAX_LAMBDA)
        if shared.lambda_[k] == 0.0:
            return 0.0
        return descend(self, shared, k, g, dot, q)

    def merged_lambda(self, shards):
        """Return the root of the sum of the squares."""
        return np.sqrt(shards.map(np.square).sum(2))
