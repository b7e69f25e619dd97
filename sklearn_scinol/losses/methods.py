"""The methods of a loss as functions, which is how compiled code can call them."""

__all__ = [
    "LARGEST_STEP",
    "gradient",
    "minimiser",
    "proximal",
    "row_gradient",
    "row_value",
    "value",
]

#: Stands for an infinite step, which would make NaN of a product with 0.
LARGEST_STEP = 1e300


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
