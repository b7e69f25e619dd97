"""Projected online gradient descent, with a fixed schedule or an adaptive one."""

import numpy as np

from .mirror_descent import MirrorDescent, descend

__all__ = ["OGD", "AdaOGD"]


class OGD(MirrorDescent):
    r"""Online gradient descent, :math:`\eta_t = \beta / \sqrt t`. Zinkevich (2003)."""

    __slots__ = ()

    def step(self, h, k, g, dot, q, t):
        """Step size and projection of output `k`, at row `t`."""
        h.lambda_[k] = np.sqrt(t) / self.beta
        return descend(self, h, k, g, dot, q)


class AdaOGD(MirrorDescent):
    r"""Online gradient descent with an adaptive step size.

    :math:`\eta_t = \beta / \sqrt{\sum_{s \le t} \|g_s\|^2}`, of McMahan and Streeter
    (2010); called AdaOGD by Campolongo and Orabona (2020).
    """

    __slots__ = ()

    def step(self, h, k, g, dot, q, t):
        """Step size and projection of output `k`, at row `t`."""
        h.lambda_[k] = np.hypot(h.lambda_[k], np.abs(g) * np.sqrt(q) / self.beta)
        if h.lambda_[k] == 0.0:
            return 0.0
        return descend(self, h, k, g, dot, q)
