"""Protocol of losses: what they declare, and the methods that are called."""

from typing import Protocol

import numpy as np

from .._hyperparameters import check_declared


class Loss(Protocol):
    r"""Attributes and methods of a loss, a NamedTuple of its parameters.

    `y` is the target, `p` the prediction :math:`\langle w, x \rangle`. Formulas are for
    scalars and arrays: NumPy runs them on arrays, the compiled engine on scalars.

    A parameter may be an array with a number for each output. The loss then has
    `of_output`, and `lipschitz` is the largest number of `lipschitz_by_output`.

    A *joint* loss couples the outputs: `y` is then the index of a class, and the last
    axis of `p` runs over three or more classes.

    Attributes
    ----------
    is_classification : bool
        Whether targets are classes, where `y` is 1 or -1; else `y` is a number.
    joint : bool
        Whether it couples the outputs.
    lipschitz : float
        Largest slope ``|g|``, or infinity. May be a property.
    piecewise_linear : bool
        Whether the loss has one slope on each side of the minimiser. Needed with
        `proximal`.
    lipschitz_by_output : ndarray of shape (n_outputs,)
        Largest slope of each output.
    """

    is_classification: bool
    joint: bool
    lipschitz: float
    piecewise_linear: bool
    lipschitz_by_output: np.ndarray

    def value(self, y, p):
        """Loss of the prediction `p`: not negative, and convex in it."""

    def gradient(self, y, p):
        """Derivative with respect to `p`; a subgradient where the loss has a kink."""

    def of_output(self, k):
        """Return the loss of one output, of a loss with a number for each."""

    # For joint losses, in place of `gradient`.

    def row_value(self, y, p):
        """Value of a joint loss at one row: `y` an int, `p` of shape (n_classes,)."""

    def row_gradient(self, y, p, g):
        """Put the derivatives of a joint loss at one row into `g`."""

    # For probabilities, implicit updates and comparators.

    def log_probabilities(self, p):
        """Log probabilities (n, n_classes), from predictions (n, 1) or (n, n_classes).

        Only for losses whose predictions are log odds.
        """

    def minimiser(self, y, p):
        """Minimiser of the loss next to `p`; infinite where there is none."""

    def proximal(self, y, p, s):
        r"""Step `u` that minimises :math:`\ell(p + u) + u^2 / (2 s)`, and the decrease.

        The decrease is :math:`\ell(p)` less that minimum, for :math:`0 < s \le`
        ``methods.MAX_STEP``. Compute neither as a difference of large numbers.
        """

    def stiffness(self, y, p, slope):
        """Second derivative for scalars, where the first one is `slope`.

        Where the loss is straight, that of a parabola with the same slope and minimum.
        """

    def row_proximal(self, y, p, s, g, buffers):
        r"""Put the derivatives of a joint loss after a proximal step into `g`.

        The step minimises :math:`\ell(p') + \sum_k (p'_k - p_k)^2 / (2 s_k)`, where
        :math:`p' = p - s g`. The three buffers, of the size of `p`, are overwritten.
        """

    def row_curvature(self, y, p, h):
        """Put the second derivatives by each prediction of a joint loss into `h`."""


def check_is_loss(loss):
    """Raise a TypeError if a class lacks what a loss must declare."""
    names = ["is_classification", "joint", "lipschitz", "value", "gradient"]
    if getattr(loss, "joint", False):
        names[-1:] = "row_value", "row_gradient"
    check_declared("loss", loss, names, [Loss])
