"""What losses declare, and the methods that engines and learners call."""

from typing import Protocol

from .._hyperparameters import check_declared

__all__ = ["Loss", "check_is_loss"]


class Loss(Protocol):
    r"""What estimators ask of a loss: a NamedTuple of its parameters.

    `y` is the target, `p` the prediction :math:`\langle w, x \rangle`. Formulas are
    written for scalars and arrays at once, as those of learners are: NumPy runs them on
    arrays, the compiled engine on scalars.

    A *joint* loss couples the outputs: `y` is then the index of a class, the last axis
    of `p` runs over the classes, of which there are three or more.

    Attributes
    ----------
    is_classification : bool
        Whether it is a loss of classes, where `y` is 1 or -1; else `y` is a number.
    joint : bool
        Whether it couples the outputs.
    lipschitz : float
        The largest slope ``|g|``, infinity where slopes are not bounded. May be a
        property.
    piecewise_linear : bool
        Whether the loss has one slope on each side of the minimiser. For `minimiser`
        and `proximal`.
    """

    is_classification: bool
    joint: bool
    lipschitz: float
    piecewise_linear: bool

    def value(self, y, p):
        """Loss of the prediction `p`: not negative, and convex in it."""

    def gradient(self, y, p):
        """Derivative with respect to `p`; a subgradient where the loss has a kink."""

    # Of joint losses, beside `value`, in place of `gradient`.

    def row_value(self, y, p):
        """Value of a joint loss at one row: `y` an int, `p` of shape (n_classes,)."""

    def row_gradient(self, y, p, g):
        """Put the derivatives of a joint loss at one row into `g`."""

    # What probabilities, implicit updates and comparators need.

    def log_probabilities(self, p):
        """Logarithms of the probabilities of classes, if predictions are log odds.

        From predictions of shape (n, 1) or (n, n_classes) to shape (n, n_classes).
        """

    def conjugate(self, y, a):
        r"""Convex conjugate :math:`\sup_p a p - \ell(p)`, of arrays.

        Infinite where no tangent has the slope `a`; of a joint loss `a` has an axis of
        classes. For the best comparator.
        """

    def curvature(self, y, p):
        """Second derivative, of a loss of one output that is smooth."""

    def minimiser(self, y, p):
        """Minimiser of the loss next to `p`; infinite where there is none."""

    def proximal(self, y, p, s):
        r"""The step `u` that minimises :math:`\ell(p + u) + u^2 / (2 s)`; the decrease.

        The decrease is how much lower than :math:`\ell(p)` that minimum is, for
        :math:`0 < s \le` ``methods.MAX_STEP``. Neither number is computed as a
        difference, of which nothing would be left where it is small.
        """

    def stiffness(self, y, p, slope):
        """Second derivative of scalars, the first one being `slope`.

        Where the loss is straight, that of the parabola with the same slope and the
        same minimum.
        """

    def row_proximal(self, y, p, s, g):
        r"""Put the derivatives of a joint loss after an implicit step into `g`.

        The step leads to the minimum of :math:`\ell(p') + \sum_k (p'_k - p_k)^2 / (2
        s_k)`, at which :math:`p' = p - s g`.
        """

    def row_curvature(self, y, p, h):
        """Put the second derivatives of a joint loss, each with its own p, into `h`."""


def check_is_loss(loss):
    """Refuse a class that lacks what a loss must declare.

    Parameters
    ----------
    loss : type

    Raises
    ------
    TypeError
    """
    names = ["is_classification", "joint", "lipschitz", "value", "gradient"]
    if getattr(loss, "joint", False):
        names[-1:] = "row_value", "row_gradient"
    check_declared("loss", loss, names, [Loss])
