"""Implicit updates of Campolongo and Orabona (2020), Algorithms 1 and 2."""

import numpy as np

from .. import losses
from .._portable import portable, smaller
from .mirror_descent import MirrorDescent, move
from .proximal import proximal_step

__all__ = ["IOMD", "AdaImplicit"]

#: So large that no step is left, and its products with small numbers are not NaN.
LARGEST_LAMBDA = 1e300


class IOMD(MirrorDescent):
    r"""Implicit online mirror descent, Algorithm 1 with the step size of Section 7.

    .. math::
        w_{t+1} = \arg\min_{\|w\| \le R} \ell_t(w) + \frac{\lambda_t}{2} \|w - w_t\|^2,
        \qquad \lambda_t = \sqrt t / \beta.
    """

    __slots__ = ()

    def implicit_step(self, h, k, loss, y, c, dot, q, t):
        """Solve for the new weights of output `k`, at row `t`."""
        h.lambda_[k] = np.sqrt(t) / self.beta
        g, _ = move_implicitly(self, h, k, loss, y, c, h.scale[k] * dot, q)
        return g


class AdaImplicit(MirrorDescent):
    r"""Implicit updates with adaptive regularisation, Algorithm 2.

    The step of :class:`IOMD` with :math:`\lambda_1 = 0` and
    :math:`\lambda_{t+1} = \lambda_t + \delta_t / \beta^2`, where

    .. math:: \delta_t = \ell_t(w_t) - \ell_t(w_{t+1})
        - \frac{\lambda_t}{2} \|w_{t+1} - w_t\|^2.

    A loss without a minimiser has no step with :math:`\lambda = 0` unless there is a
    ball. It is then taken with :math:`\lambda = \ell_t(w_t) / \beta^2`, the most that
    :math:`\lambda_{t+1}` could become, which stays in :math:`\lambda`.
    """

    __slots__ = ()

    def implicit_step(self, h, k, loss, y, c, dot, q, t):
        """Solve for the new weights of output `k`, at row `t`."""
        p = h.scale[k] * dot
        unbounded = self.radius == np.inf and np.isinf(losses.minimiser(loss, y, p))
        if h.lambda_[k] == 0.0 and unbounded and q > 0.0:
            h.lambda_[k] = c * losses.value(loss, y, p) / self.beta**2
        g, decrease = move_implicitly(self, h, k, loss, y, c, p, q)
        h.lambda_[k] = smaller(h.lambda_[k] + decrease / self.beta**2, LARGEST_LAMBDA)
        return g


@portable
def move_implicitly(learner, h, k, loss, y, c, p, q):
    """What `update` shall subtract, and the decrease; for ``p = <w, x>``."""
    shrink, step, decrease = proximal_step(
        loss, y, p, q, c, h.lambda_[k], h.norm2[k], learner.radius
    )
    h.delta_sum[k] += decrease
    return move(learner, h, k, shrink, step, p, q), decrease
