"""Methods of losses as functions, which compiled code can call."""

import numpy as np

from .._portable import ROUNDING_SHARE

#: Stands for an infinite step, which would make NaN of a product with 0.
MAX_STEP = 1e300


def is_by_output(loss):
    """Whether a parameter of the loss is an array with a number for each output."""
    return any(isinstance(parameter, np.ndarray) for parameter in loss)


def of_output(loss, k, by_output):
    """Loss of one output."""
    return loss.of_output(k) if by_output else loss


def value(loss, y, p):
    """Loss of the prediction `p`."""
    return loss.value(y, p)


def row_value(loss, y, p):
    """Value of a joint loss at one row."""
    return loss.row_value(y, p)


def gradient(loss, y, p):
    """Derivative with respect to `p`."""
    return loss.gradient(y, p)


def has_kinks(loss):
    """Whether derivatives jump where targets that are numbers are predicted."""
    return not loss.is_classification and getattr(loss, "piecewise_linear", False)


def meets(loss, y, p, size):
    """Whether `p` is a minimiser but for rounding of numbers that add up to `size`.

    There the sign of a derivative would depend on the order in which `p` is added up.
    """
    return abs(p - minimiser(loss, y, p)) < ROUNDING_SHARE * size


def row_gradient(loss, y, p, g):
    """Put the derivatives of a joint loss at one row into `g`."""
    loss.row_gradient(y, p, g)


def minimiser(loss, y, p):
    """Minimiser of the loss next to `p`; infinite where there is none."""
    return loss.minimiser(y, p)


def proximal(loss, y, p, s):
    """Step `u` that minimises ``loss(p + u) + u^2 / (2 s)``, and the decrease."""
    return loss.proximal(y, p, s)


def stiffness(loss, y, p, slope):
    """Second derivative where the first one is `slope`, or its substitute."""
    return loss.stiffness(y, p, slope)


def row_proximal(loss, y, p, s, g):
    """Put the derivatives of a joint loss after a proximal step into `g`."""
    loss.row_proximal(y, p, s, g)


def row_curvature(loss, y, p, h):
    """Put the second derivatives by each prediction of a joint loss into `h`."""
    loss.row_curvature(y, p, h)
