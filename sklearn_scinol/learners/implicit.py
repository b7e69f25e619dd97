"""Implicit updates of Campolongo and Orabona (2020), Algorithms 1 and 2."""

import numpy as np

from .._portable import smaller
from ..losses import methods
from ..losses.proximal import proximal_step
from .bases.mirror_descent import MAX_LAMBDA, MirrorDescent, move

#: Smaller squared norms are too inaccurate to divide by.
MIN_SQUARE = 1e-290

#: Methods of a loss that the steps call.
LOSS_METHODS = ("minimiser", "proximal")


class IOMD(MirrorDescent):
    r"""Implicit online mirror descent, Algorithm 1 with the step size of Section 7.

    .. math::
        w_{t+1} = \arg\min_{\|w\| \le R} \ell_t(w) + \frac{\lambda_t}{2} \|w - w_t\|^2,
        \qquad \lambda_t = \sqrt t / \beta.
    """

    __slots__ = ()

    stays_finite = True
    loss_methods = LOSS_METHODS

    def implicit_row_step(self, shared, k, loss, y, c, scale, dot, q, t):
        shared.lambda_[k] = self.regularisation(t)
        row = in_units_of_loss(y, c, scale, shared.scale[k] * dot, q)
        g, _ = move_implicitly(self, shared, k, loss, row)
        return scale[1] * g

    def regularisation(self, t):
        return np.sqrt(t) / self.beta


class ConstantImplicit(IOMD):
    r"""Implicit online mirror descent with a constant :math:`\lambda = 1 / \beta`.

    It never stops adapting: for streams that change. Kulis and Bartlett (2010).
    """

    __slots__ = ()

    def regularisation(self, t):
        return 1.0 / self.beta


class AdaImplicit(MirrorDescent):
    r"""Implicit updates with adaptive regularisation, Algorithm 2.

    The step of :class:`IOMD` with :math:`\lambda_1 = 0` and
    :math:`\lambda_{t+1} = \lambda_t + \delta_t / \beta^2`, where

    .. math:: \delta_t = \ell_t(w_t) - \ell_t(w_{t+1})
        - \frac{\lambda_t}{2} \|w_{t+1} - w_t\|^2.

    Without a ball, a loss without a minimiser has no step for :math:`\lambda = 0`. Then
    :math:`\lambda` becomes :math:`\ell_t(w_t) / \beta^2` first, the most that
    :math:`\lambda_{t+1}` could be.
    """

    __slots__ = ()

    stays_finite = True
    loss_methods = LOSS_METHODS

    def implicit_row_step(self, shared, k, loss, y, c, scale, dot, q, t):
        row = in_units_of_loss(y, c, scale, shared.scale[k] * dot, q)
        y, c, p, q = row
        unbounded = self.radius == np.inf and np.isinf(loss.minimiser(y, p))
        if shared.lambda_[k] == 0.0 and unbounded and q > 0.0:
            first = c * methods.value(loss, y, p) / self.beta / self.beta
            shared.lambda_[k] = smaller(first, MAX_LAMBDA)
        g, decrease = move_implicitly(self, shared, k, loss, row)
        shared.lambda_[k] = smaller(
            shared.lambda_[k] + decrease / self.beta / self.beta, MAX_LAMBDA
        )
        return scale[1] * g

    def merged_lambda(self, shards):
        """Return the sum of the increases over all rows."""
        return shards.sum()


def in_units_of_loss(y, c, scale, p, q):
    """Target, weight, prediction and squared norm of a row as the loss sees them.

    The loss of ``offset + spread * p`` is that of ``spread * p`` for the target less
    the offset: the same weights predict it for a row ``spread * x``. Its derivatives,
    multiplied by the slope, include the spread already. A row teaches nothing while the
    spread is 0, or where the squared norm of ``spread * x`` leaves the range of floats.
    """
    offset, spread, slope = scale
    q = spread * spread * q
    teaches = spread > 0.0 and MIN_SQUARE <= q < np.inf
    weight = c * slope / spread if teaches else 0.0
    return y - offset, weight, spread * p, q if teaches else 0.0


def move_implicitly(learner, shared, k, loss, row):
    """Take the proximal step; return the step for `update`, and the decrease."""
    y, c, p, q = row
    shrink, step, decrease = proximal_step(
        loss, y, p, q, c, shared.lambda_[k], shared.norm2[k], learner.radius
    )
    shared.delta_sum[k] += decrease
    return move(learner, shared, k, shrink, step, p, q), decrease
