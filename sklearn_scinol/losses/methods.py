"""The methods of a loss as functions, which is how compiled code can call them."""

__all__ = [
    "MAX_STEP",
    "gradient",
    "minimiser",
    "proximal",
    "row_curvature",
    "row_gradient",
    "row_proximal",
    "row_value",
    "stiffness",
    "value",
]

#: Stands for an infinite step, which would make NaN of a product with 0.
MAX_STEP = 1e300


def value(loss, y, p):
    """Loss of the prediction `p`."""
    return loss.value(y, p)


def row_value(loss, y, p):
    """Value of a joint loss at one row."""
    return loss.row_value(y, p)


def gradient(loss, y, p):
    """Derivative with respect to `p`."""
    return loss.gradient(y, p)


def row_gradient(loss, y, p, g):
    """Put the derivatives of a joint loss at one row into `g`."""
    loss.row_gradient(y, p, g)


def minimiser(loss, y, p):
    """Minimiser of the loss next to `p`; infinite where there is none."""
    return loss.minimiser(y, p)


def proximal(loss, y, p, s):
    """Way to the minimum of the loss plus the squared way over ``2 s``; decrease."""
    return loss.proximal(y, p, s)


def stiffness(loss, y, p, slope):
    """Second derivative where the first one is `slope`, or what stands for it."""
    return loss.stiffness(y, p, slope)


def row_proximal(loss, y, p, s, g):
    """Put the derivatives of a joint loss after an implicit step into `g`."""
    loss.row_proximal(y, p, s, g)


def row_curvature(loss, y, p, h):
    """Put the second derivatives of a joint loss, each with its own p, into `h`."""
    loss.row_curvature(y, p, h)
