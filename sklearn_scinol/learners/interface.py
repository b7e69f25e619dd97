"""What learners declare, and the methods that engines call.

A learner is a NamedTuple of at least one hyperparameter.

There are three kinds. A :class:`Learner` works on one coordinate at a time. A
:class:`RowLearner` also keeps numbers that all coordinates of an output share, such as
the norm of the weights. A :class:`VectorLearner` sees a row as a vector and keeps
arrays of any shape, such as a matrix. The last two may learn from the loss itself
instead of its derivative. :func:`traits` tells what a learner has.
"""

from functools import cache
from typing import NamedTuple, Protocol

from .._hyperparameters import check_declared
from .bases.gradient_sum import GradientSum

__all__ = [
    "ImplicitVectorLearner",
    "Learner",
    "RowLearner",
    "Traits",
    "VectorLearner",
    "check_is_learner",
    "configured",
    "traits",
]


class Declarations(Protocol):
    """What a learner declares, as attributes of its class.

    Attributes
    ----------
    State : type of NamedTuple
        The names of the state's arrays.
    parameters : dict, default={}
        For each of its fields that an estimator sets, the name of what it is there:
        "learning_rate", "radius", "n_coordinates" and so on. Not used where a user
        passes the learner itself.
    scale_invariant : bool, default=False
        Whether predictions do not change with the unit of a feature.
    bounded_gradients : bool, default=False
        Whether it needs ``|g| <= 1``, and so a loss with a Lipschitz constant.
    stays_finite : bool, default=False
        Whether the state stays finite on all rows, targets and weights that are let
        in, for a loss with a Lipschitz constant; for others on values up to 1e30.
    keeps_first : bool, default=False
        Whether `regret_bound` needs the first non-zero ``|x|`` of each coordinate. The
        first array of `State` must then be 0 until that value has come.
    loss_methods : tuple of str, default=()
        What it calls of a loss beside its value and its derivative: "proximal",
        "minimiser" and so on.
    touches_all : bool, default=False
        Whether the state changes where ``x = 0``, for instance because it decays. Rows
        of a sparse matrix only touch the others; for such a learner they are made
        dense.
    odd : tuple of str, default=()
        The arrays of `State` that change their signs, and only these, where the target
        does. Asked of learners that take no joint loss.
    """

    State: type[NamedTuple]
    parameters: dict[str, str]
    scale_invariant: bool
    bounded_gradients: bool
    stays_finite: bool
    keeps_first: bool

    def merged(self, s, shared, w, x, t):
        """State of several that learned different rows, and what they share.

        Without it, models cannot be merged.

        Parameters
        ----------
        s : Shards
            Of `State`.
        shared : Shards or None
            Of `Shared`, where there is such.
        w : ndarray of shape (n_outputs, n_coordinates)
            The weights that it is to have, as closely as it can.
        x : ndarray of shape (n_coordinates,)
            The row that these are for: 0 but for the intercept.
        t : int
            Number of rows of all.

        Returns
        -------
        s : State
        shared : Shared or None
        """

    def invariants(self, s, shared, t):
        """Yield what holds after `t` rows, as pairs: a statement, and where it does.

        Of finite numbers: that all are is stated for each learner. Engines never call
        this. With kernels there is no `s`, and without shared numbers no `shared`.
        """


class Learner(Declarations, Protocol):
    """What the engines ask of a learner that works on coordinates.

    It sees features `x` and derivatives `g` of the loss. The engines put sample weights
    into `x`; where the learner needs ``|g| <= 1``, also the loss's Lipschitz constant.
    Each array of `State` has one entry an output and coordinate.
    """

    def initial_state(self):
        """State with, for each array, the number that it is filled with."""

    def idle_state(self, s):
        """State of an output whose losses had no slope so far, by that of another.

        Only where it is not the initial one, since some of it depends on rows alone.
        """

    def weight(self, s, i, x, t):
        """Weight with which row `t` is predicted; does not change the state."""

    def update(self, s, i, x, g, w, t):
        """Learn from row `t`, which was predicted with weight `w`."""

    def reach(self, s, i, t):
        """Largest ``|x|`` for which ``weight(s, i, x, t)`` is that of ``x = 0``.

        Only where `weight` depends on `x` at all; then no `factor` may depend on `q`.
        """

    def regret_bound(self, s, shared, u, t, first):
        """Numbers that sum to a bound on the regret against `u` after `t` rows.

        Only where such a bound is known.
        """


class RowLearner(Learner, Protocol):
    """What the engines ask besides, of a learner with numbers shared by an output.

    `dot` is the sum over a row of weight times `x`, `q` that of what `square` gives for
    the first output.

    Attributes
    ----------
    Shared : type of NamedTuple
        The names of those numbers, arrays of one entry an output.
    """

    Shared: type[NamedTuple]

    def initial_shared(self):
        """Shared numbers before the first row."""

    def idle_shared(self, shared):
        """The same for `Shared` as `idle_state` for `State`."""

    def factor(self, shared, k, q, t):
        """What all weights of output `k` are multiplied by at row `t`: elementwise."""

    def square(self, s, i, x):
        """Share of a coordinate in `q`, usually ``x * x``."""

    def row_step(self, shared, k, g, dot, q, t):
        """Learn from row `t`; return a number for `update`."""

    def implicit_row_step(self, shared, k, loss, y, c, scale, dot, q, t):
        """The same from the loss itself; only where there is no `row_step`.

        The sample weight is `c`, and not in `x`. In `update`, `g` then says nothing.
        For `scale` see :meth:`ImplicitVectorLearner.learn_implicitly`.
        """

    def update(self, s, i, x, g, step, t):
        """Learn from row `t`, for which `row_step` gave `step`."""

    def take_scale(self, shared, k):
        """Take a factor that is too small out of `shared`, for `fold`; else give 1.

        Only where a factor may become too small.
        """

    def fold(self, s, i, scale):
        """Multiply the weights by a factor, in the state."""


class VectorLearner(Declarations, Protocol):
    """What the engines ask of a learner that sees the row as a vector.

    The row `x` has all coordinates, the intercept's last. The methods run once a row
    and output; they may loop over coordinates, and must not keep `x`.
    """

    def initial_arrays(self, n_outputs, n_coordinates):
        """State before the first row: arrays whose first axis is that of outputs."""

    def score(self, s, k, x, t):
        """Prediction of output `k` for row `t`; does not change what was learned.

        It may change the row, alike for each output.
        """

    def learn(self, s, k, x, g, t):
        """Learn from row `t`, where the loss has the derivative `g`."""

    def weights(self, s, t):
        """Weights of the next row, of shape (n_outputs, n_coordinates)."""


class ImplicitVectorLearner(VectorLearner, Protocol):
    """What the engines ask of one that learns from the loss, instead of `learn`.

    A row and its prediction are those that `score` saw last.
    """

    def charged(self, s, k, p, c):
        """What the learner says, and is charged for, where `score` gave `p`.

        The sample weight is `c`.
        """

    def learn_implicitly(self, s, k, loss, y, c, scale, p):
        """Learn from a loss of one output.

        It is that of the prediction ``offset + spread * p``, where `scale` is (offset,
        spread, slope): a target that is standardised has the first two, and its
        derivatives are multiplied by the last. For others they are (0, 1, 1).
        """

    def learn_jointly(self, s, loss, y, c, p):
        """Learn from a joint loss, where `score` gave the array `p`."""

    def settle(self, s):
        """Leave nothing of a row in the state, after the last one of a block."""


class Traits(NamedTuple):
    """What a learner has, read off its class."""

    by_vector: bool  # sees the row as a vector
    by_row: bool  # has numbers that the coordinates of an output share
    implicit: bool  # learns from the loss, not from its derivative
    folds: bool  # has a factor that may become too small
    reaches: bool  # has weights that depend on the row
    in_ball: bool  # can keep its weights in a ball
    takes_kernels: bool  # asks for no more of rows than inner products
    bounds_regret: bool
    touches_all: bool
    keeps_first: bool
    scale_invariant: bool
    bounded_gradients: bool
    stays_finite: bool


@cache
def traits(learner):
    """What a learner, given by its class, has.

    Parameters
    ----------
    learner : type

    Returns
    -------
    traits : Traits
    """

    def declares(name):
        return bool(getattr(learner, name, False))

    by_vector = hasattr(learner, "initial_arrays")
    from_loss = "learn_implicitly" if by_vector else "implicit_row_step"
    return Traits(
        by_vector=by_vector,
        by_row=hasattr(learner, "Shared"),
        implicit=hasattr(learner, from_loss),
        folds=hasattr(learner, "take_scale"),
        reaches=hasattr(learner, "reach"),
        in_ball="radius" in getattr(learner, "parameters", ()),
        takes_kernels=issubclass(learner, GradientSum),
        bounds_regret=hasattr(learner, "regret_bound"),
        touches_all=by_vector or declares("touches_all"),
        keeps_first=declares("keeps_first"),
        scale_invariant=declares("scale_invariant"),
        bounded_gradients=declares("bounded_gradients"),
        stays_finite=declares("stays_finite"),
    )


def check_is_learner(learner):
    """Refuse a class that lacks what a learner must declare.

    Parameters
    ----------
    learner : type

    Raises
    ------
    TypeError
    """

    def has_any(*names):
        return any(hasattr(learner, name) for name in names)

    protocols = [Declarations, Learner, RowLearner]
    names = ["State", "initial_state", "weight", "update"]
    if has_any("initial_arrays", "score", "learn", "learn_implicitly"):
        protocols = [Declarations, VectorLearner, ImplicitVectorLearner]
        names = ["State", "initial_arrays", "score", "weights"]
        if has_any("learn_implicitly", "charged", "learn_jointly"):
            names += ["charged", "learn_implicitly", "settle"]
        else:
            names.append("learn")
    elif has_any("Shared", "initial_shared", "factor", "row_step", "implicit_row_step"):
        names += ["Shared", "initial_shared", "factor", "square"]
        if not has_any("implicit_row_step"):
            names.append("row_step")
        if has_any("take_scale"):
            names.append("fold")
    check_declared("learner", learner, names, protocols)
    if not learner._fields:
        raise TypeError(
            f"A learner must have a hyperparameter, and {learner.__name__} has none: "
            "compiled code needs one."
        )


def configured(learner, values):
    """Learner with what an estimator sets.

    Parameters
    ----------
    learner : type
    values : dict
        By the names that `parameters` of the learner uses; may have others.

    Returns
    -------
    learner : Learner
    """
    return learner(**{own: values[name] for own, name in learner.parameters.items()})
