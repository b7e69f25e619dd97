"""Implicit updates of Campolongo and Orabona (2020), Algorithms 1 and 2."""

import numpy as np

from .._portable import portable, smaller
from ..losses import methods
from ..losses.proximal import proximal_step
from .bases.mirror_descent import LARGEST_LAMBDA, MirrorDescent, move

__all__ = ["IOMD", "AdaImplicit"]


class IOMD(MirrorDescent):
    r"""Implicit online mirror descent, Algorithm 1 with the step size of Section 7.

    .. math::
        w_{t+1} = \arg\min_{\|w\| \le R} \ell_t(w) + \frac{\lambda_t}{2} \|w - w_t\|^2,
        \qquad \lambda_t = \sqrt t / \beta.
    """

    __slots__ = ()

    stays_finite = True

    def implicit_row_step(self, shared, k, loss, y, c, dot, q, t):
        """Solve for the new weights of output `k`, at row `t`."""
        shared.lambda_[k] = np.sqrt(t) / self.beta
        g, _ = move_implicitly(self, shared, k, loss, y, c, shared.scale[k] * dot, q)
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

    stays_finite = True

    def implicit_row_step(self, shared, k, loss, y, c, dot, q, t):
        """Solve for the new weights of output `k`, at row `t`."""
        p = shared.scale[k] * dot
        unbounded = self.radius == np.inf and np.isinf(methods.minimiser(loss, y, p))
        if shared.lambda_[k] == 0.0 and unbounded and q > 0.0:
            first = c * methods.value(loss, y, p) / self.beta / self.beta
            shared.lambda_[k] = smaller(first, LARGEST_LAMBDA)
        g, decrease = move_implicitly(self, shared, k, loss, y, c, p, q)
        shared.lambda_[k] = smaller(
            shared.lambda_[k] + decrease / self.beta / self.beta, LARGEST_LAMBDA
        )
        return g


@portable
def move_implicitly(learner, shared, k, loss, y, c, p, q):
    """What `update` shall subtract, and the decrease; for ``p = <w, x>``."""
    shrink, step, decrease = proximal_step(
        loss, y, p, q, c, shared.lambda_[k], shared.norm2[k], learner.radius
    )
    shared.delta_sum[k] += decrease
    return move(learner, shared, k, shrink, step, p, q), decrease
