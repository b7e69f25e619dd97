"""Losses of a linear prediction: value, derivative, Lipschitz constant, link.

A loss is a NamedTuple of its parameters. `y` is the target, `p` the prediction
:math:`\\langle w, x \\rangle`. `gradient` is the derivative with respect to `p`; where
the loss has a kink it is a subgradient. It runs on arrays and, compiled, on scalars.

A *joint* loss couples the outputs: `y` is then the index of a class, the last axis of
`p` runs over the classes. It has `row_value`, the value of one row, and `row_gradient`,
which puts the derivatives of one row into an array.

`conjugate` is the convex conjugate :math:`\\sup_p a p - \\ell(p)`, infinite where no
tangent has the slope `a`; of a joint loss `a` has an axis of classes. It runs on arrays
only. `curvature` is the second derivative, of losses of one output that are not
`piecewise_linear`. `stiffness` is the same for scalars, with the first derivative as an
argument; but where the loss is straight, it is that of the parabola with the same slope
and the same minimum.

`lipschitz` is the largest slope, infinity where there is none.

Losses whose predictions are log odds have `log_probabilities`, the link.

Losses of one output have what implicit updates need, for scalars: `minimiser`, that of
the loss next to `p`, and `proximal`, the way `u` that minimises
:math:`\\ell(p + u) + u^2 / (2 s)` and how much lower than :math:`\\ell(p)` that minimum
is, for :math:`0 < s \\le` :data:`MAX_STEP`. Neither number is computed as a
difference, of which nothing would be left where it is small. `piecewise_linear` losses
have one slope on each side of the minimiser.

A joint loss has them for one row. `row_proximal` puts into `g` the derivatives at the
minimum of :math:`\\ell(p') + \\sum_k (p'_k - p_k)^2 / (2 s_k)`, at which
:math:`p' = p - s g`; `row_curvature` puts the second derivatives with respect to each
:math:`p_k` into an array.

To add one, write its class in `classification.py` or `regression.py` and name it in
:data:`CLASSIFICATION` or :data:`REGRESSION`; a parameter of the loss is a parameter of
the estimator.
"""

import numpy as np

from .classification import CrossEntropy, Hinge, Logistic, SquaredHinge
from .methods import MAX_STEP
from .regression import (
    AbsoluteError,
    EpsilonInsensitive,
    Huber,
    Quantile,
    SquaredError,
)

__all__ = [
    "CLASSIFICATION",
    "JOINT",
    "MAX_STEP",
    "REGRESSION",
    "AbsoluteError",
    "CrossEntropy",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Quantile",
    "SquaredError",
    "SquaredHinge",
    "as_targets",
    "identity",
    "with_bounded_slope",
]

#: Losses of two classes, or of each class against the rest.
CLASSIFICATION = {
    "log_loss": Logistic,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
}

#: What more than two classes have instead, with a learner that takes joint losses.
JOINT = {"log_loss": CrossEntropy}

REGRESSION = {
    "absolute_error": AbsoluteError,
    "squared_error": SquaredError,
    "huber": Huber,
    "epsilon_insensitive": EpsilonInsensitive,
    "quantile": Quantile,
}


def with_bounded_slope(losses):
    """Names of those whose derivative is bounded, for learners that need that."""
    return {name for name, loss in losses.items() if loss().lipschitz < np.inf}


def identity(loss):
    """Equal for losses that are the same; by itself, each without parameters is ()."""
    return type(loss), loss


def as_targets(y, loss, n_outputs):
    """Targets of some rows as the loss takes them.

    Parameters
    ----------
    y : ndarray of shape (n,) or (n, n_outputs)
        Indices of classes, or targets that are numbers.
    loss : Loss
    n_outputs : int

    Returns
    -------
    targets : ndarray of shape (n,) or (n, n_outputs)
        Indices of classes for a joint loss; else numbers, which for classes are 1 and
        -1: for the second of two, or for each of several against the rest.
    """
    if y.ndim == 2:
        return np.require(y, np.float64, ["C", "W"])
    if loss.joint:
        return y.astype(np.intp)
    if n_outputs == 1:
        return np.multiply(y[:, np.newaxis], 2.0, dtype=np.float64) - 1.0
    return np.where(y[:, np.newaxis] == np.arange(n_outputs), 1.0, -1.0)
