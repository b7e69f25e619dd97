"""Losses to try."""

from sklearn_scinol import losses
from support import naive


def both(name, targets, kinks, *parameters):
    """A loss of one output, its reference, targets to try, and where it has kinks."""
    pair = (getattr(each, name)(*parameters) for each in (losses, naive))
    return *pair, targets, kinks


SIGNS, NUMBERS = [-1.0, 1.0], [-2.5, 0.0, 3.0]
SEPARATE = {
    "logistic": both("Logistic", SIGNS, lambda y: []),
    "hinge": both("Hinge", SIGNS, lambda y: [y]),
    "squared hinge": both("SquaredHinge", SIGNS, lambda y: [y]),
    "squared": both("SquaredError", NUMBERS, lambda y: []),
    "absolute": both("AbsoluteError", NUMBERS, lambda y: [y]),
    "huber": both("Huber", NUMBERS, lambda y: [y - 0.7, y + 0.7], 0.7),
    "tube": both("EpsilonInsensitive", NUMBERS, lambda y: [y - 0.3, y + 0.3], 0.3),
    "tube of no width": both("EpsilonInsensitive", NUMBERS, lambda y: [y], 0.0),
    "median": both("Quantile", NUMBERS, lambda y: [y], 0.5),
    "low quantile": both("Quantile", NUMBERS, lambda y: [y], 0.1),
    "high quantile": both("Quantile", NUMBERS, lambda y: [y], 0.8),
}
