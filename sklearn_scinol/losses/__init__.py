"""Losses of a linear prediction: value, derivative, Lipschitz constant, link.

A loss is a NamedTuple of its parameters. `interface.py` lists what it declares. To add
one to the package, write its class in `classification.py` or `regression.py` and name
it in :data:`CLASSIFICATION` or :data:`REGRESSION`; a parameter of the loss is a
parameter of the estimator. A loss from outside is passed to estimators itself.
"""

import numpy as np

from .classification import CrossEntropy, Hinge, Logistic, SquaredHinge
from .interface import Loss
from .regression import AbsoluteError, EpsilonInsensitive, Huber, Quantile, SquaredError

__all__ = [
    "AbsoluteError",
    "CrossEntropy",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Quantile",
    "SquaredError",
    "SquaredHinge",
]

#: Losses of two classes, or of each class against the rest.
CLASSIFICATION = {"log_loss": Logistic, "hinge": Hinge, "squared_hinge": SquaredHinge}

#: Losses of more than two classes, for learners that take joint losses.
JOINT = {"log_loss": CrossEntropy}

REGRESSION = {
    "absolute_error": AbsoluteError,
    "squared_error": SquaredError,
    "huber": Huber,
    "epsilon_insensitive": EpsilonInsensitive,
    "quantile": Quantile,
}


def with_bounded_slope(losses):
    """Return the names of losses with a Lipschitz constant."""
    return {name for name, loss in losses.items() if loss().lipschitz < np.inf}


def identity(loss):
    """Return a key of a loss: as tuples, all without parameters are equal."""
    return type(loss), [np.asarray(parameter).tolist() for parameter in loss]


def as_targets(y, loss, n_outputs):
    """Return targets in the form a loss takes: (n,) if it is joint, or (n, n_outputs).

    `y` has indices of classes, of shape (n,), or of shape (n, n_outputs) numbers, or 1
    for each label of a row and 0 for others. A joint loss takes indices. Others take
    numbers: for classes 1 and -1, for the second of two, for each of several against
    the rest, or for each label. Of several quantiles, all outputs have one target.
    """
    if y.ndim == 2 and not loss.is_classification:
        if y.shape[1] < n_outputs:
            y = np.repeat(y, n_outputs, axis=1)
        return np.require(y, np.float64, ["C", "W"])
    if loss.joint:
        return y.astype(np.intp)
    if n_outputs == 1 or y.ndim == 2:
        return np.multiply(y.reshape(len(y), -1), 2.0, dtype=np.float64) - 1.0
    return np.where(y[:, np.newaxis] == np.arange(n_outputs), 1.0, -1.0)
