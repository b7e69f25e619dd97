"""Functions of losses, which compiled code can call, too."""

import numpy as np

from .._portable import ROUNDING_SHARE, each

#: Stands for an infinite step, which would make NaN of a product with 0.
MAX_STEP = 1e300


def is_by_output(loss):
    """Whether a parameter of the loss is an array with a number for each output."""
    return any(isinstance(parameter, np.ndarray) for parameter in loss)


def of_output(loss, k, by_output):
    """Loss of one output."""
    return loss.of_output(k) if by_output else loss


def value(loss, y, p):
    """Loss of the prediction `p`, to the same bits for one row or several at once."""
    return loss.value(y, p)


def has_kinks(loss):
    """Whether derivatives jump where targets that are numbers are predicted."""
    return not loss.is_classification and getattr(loss, "piecewise_linear", False)


def meets(loss, y, p, size):
    """Whether `p` is a minimiser but for rounding of numbers that add up to `size`.

    There the sign of a derivative would depend on the order in which `p` is added up.
    """
    return abs(p - loss.minimiser(y, p)) < ROUNDING_SHARE * size


def derive(loss, by_output, lipschitz, y, predictions, r, g):
    """Compute the derivatives of the loss of a row, over the Lipschitz constant."""
    if loss.joint:
        loss.row_gradient(y[r], predictions[r], g)
    else:
        for k in each(0, g.size):
            own = of_output(loss, k, by_output)
            g[k] = own.gradient(y[r, k], predictions[r, k])
    if lipschitz != 1.0:
        for k in each(0, g.size):
            g[k] /= lipschitz
