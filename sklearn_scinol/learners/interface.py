"""Protocols of learners: what they declare, and the methods that engines call.

A learner is a NamedTuple of at least one hyperparameter.

There are three kinds. A :class:`Learner` works on one coordinate at a time. A
:class:`RowLearner` also keeps numbers that all coordinates of an output share, such as
the norm of the weights. A :class:`VectorLearner` sees a row as a vector and keeps
arrays of any shape, such as a matrix. The last two may learn from the loss itself
instead of its derivative. :func:`traits` reads off a class what it has.
"""

from functools import cache
from typing import NamedTuple, Protocol

from .._hyperparameters import check_declared
from .bases.gradient_sum import GradientSum


class Declarations(Protocol):
    """Attributes and methods of the class of any learner.

    Attributes
    ----------
    State : type of NamedTuple
        Names of the state's arrays.
    parameters : dict, default={}
        Maps hyperparameters to the parameters of an estimator that set them, such as
        "learning_rate", "radius" or "n_coordinates". Not used where a user passes the
        learner itself.
    scale_invariant : bool, default=False
        Whether predictions do not change with the unit of a feature.
    bounded_gradients : bool, default=False
        Whether it needs ``|g| <= 1``, and so a loss with a Lipschitz constant.
    stays_finite : bool, default=False
        Whether the state stays finite on all valid rows, targets and weights, for a
        loss with a Lipschitz constant; for other losses on values up to 1e30.
    keeps_first : bool, default=False
        Whether `regret_bound` needs the first non-zero ``|x|`` of each coordinate. The
        first array of `State` must then be 0 before.
    loss_methods : tuple of str, default=()
        Methods of a loss that it calls, beside `value` and `gradient`.
    touches_all : bool, default=False
        Whether the state changes where ``x = 0``, for instance because it decays.
        Sparse rows are then made dense.
    odd : tuple of str, default=()
        Arrays of `State` that change their signs with the target; all others do not.
        For learners that take no joint loss.
    """

    State: type[NamedTuple]
    parameters: dict[str, str]
    scale_invariant: bool
    bounded_gradients: bool
    stays_finite: bool
    keeps_first: bool

    def merged(self, s, shared, w, x, t):
        """Merge states of disjoint rows; return the `State`, and the `Shared` or None.

        Optional: without it, models cannot be merged.

        Parameters
        ----------
        s : Shards of State
        shared : Shards of Shared, or None
        w : ndarray of shape (n_outputs, n_coordinates)
            Weights of the merged state, to be met as closely as possible.
        x : ndarray of shape (n_coordinates,)
            Row of these weights: 0 but for the intercept.
        t : int
            Number of rows of all states.
        """

    def invariants(self, s, shared, t):
        """Yield invariants after `t` rows, as pairs: a statement, and where it holds.

        Optional, and never called by engines. All numbers are known to be finite. With
        kernels there is no `s`, and without shared numbers no `shared`.
        """


class Learner(Declarations, Protocol):
    """Methods of a learner that works on one coordinate at a time.

    It sees features `x` and derivatives `g` of the loss. Engines multiply `x` by sample
    weights and, where the learner needs ``|g| <= 1``, by the Lipschitz constant. Sample
    weights are relative to the first one if it has a `regret_bound`, else to their mean
    up to the row. Each array of `State` has one entry for each output and coordinate.
    """

    def initial_state(self):
        """Return a state with the initial value of each array."""

    def idle_state(self, s):
        """Return the state of an output without gradients, from that of another one.

        Only for learners where it differs from the initial state: part of it depends on
        features alone.
        """

    def weight(self, s, i, x, t):
        """Return the weight for row `t`, without a change of the state."""

    def update(self, s, i, x, g, w, t):
        """Learn from row `t`, which was predicted with weight `w`."""

    def widens(self, n, t):
        """Return whether `widen` is called after row `t`, which has `n` entries.

        Only for learners that depend on how many features a row has. Entries may be 0.
        """

    def share(self, s, i, x):
        """Return the term of a coordinate in the sum that `widen` gets."""

    def widen(self, s, i, x, r):
        """Learn from the sum `r` of `share` over a row, for the first output."""

    def add_wealth(self, s, before):
        """Add to the wealth of all coordinates what `initial_wealth` was raised by.

        Only for learners with this hyperparameter, which is in the unit of the sample
        weights and grows with them. It was `before`; it is less only before the second
        row, when nothing was bet. The wealth is the last entry of the state.
        """

    def cost_of_wealth(self, s, added, t):
        """Return what wealth that was added adds to `regret_bound`, by coordinates."""

    def reach(self, s, i, t):
        """Return the largest ``|x|`` that has the same weight as ``x = 0``.

        Only for learners whose `weight` depends on `x`; their `factor` must not depend
        on `q`.
        """

    def regret_bound(self, s, shared, u, t, first):
        """Return numbers that sum to a bound on the regret against `u` after `t` rows.

        Only for learners with a known bound.
        """


class RowLearner(Learner, Protocol):
    """Further methods of a learner whose coordinates share numbers.

    `dot` is the sum of weight times `x` over a row, `q` the sum of `square` for the
    first output.

    Attributes
    ----------
    Shared : type of NamedTuple
        Names of the shared numbers, arrays with one entry for each output.
    """

    Shared: type[NamedTuple]

    def initial_shared(self):
        """Return the shared numbers before the first row."""

    def idle_shared(self, shared):
        """Return shared numbers of an output without gradients; see `idle_state`."""

    def factor(self, shared, k, q, t):
        """Return the factor of all weights of output `k` at row `t`, elementwise."""

    def square(self, s, i, x):
        """Return the term of a coordinate in `q`, usually ``x * x``."""

    def row_step(self, shared, k, g, dot, q, t):
        """Learn from row `t`; return a number for `update`."""

    def implicit_row_step(self, shared, k, loss, y, c, scale, dot, q, t):
        """Learn from the loss of row `t`, in place of `row_step`.

        The sample weight is `c`, and not part of `x`; `update` must not use `g`. For
        `scale` see :meth:`ImplicitVectorLearner.learn_implicitly`.
        """

    def update(self, s, i, x, g, step, t):
        """Learn from row `t`, for which `row_step` returned `step`."""

    def take_scale(self, shared, k):
        """Take a factor that has become too small out of `shared`; else return 1.

        Only for learners whose factor may become too small; needs `fold`.
        """

    def fold(self, s, i, scale):
        """Multiply the weights in the state by a factor."""


class VectorLearner(Declarations, Protocol):
    """Methods of a learner that sees rows as vectors.

    The row `x` has all coordinates, the intercept last. The methods run once for each
    row and output; they may loop over coordinates, and must not keep `x`.
    """

    def initial_arrays(self, n_outputs, n_coordinates):
        """Return the initial state: arrays whose first axis is outputs."""

    def score(self, s, k, x, t):
        """Return the prediction of output `k` for row `t`, without learning.

        It may change the row, in the same way for each output.
        """

    def learn(self, s, k, x, g, t):
        """Learn from row `t`, where the loss has the derivative `g`."""

    def weights(self, s, t):
        """Return the weights of the next row, of shape (n_outputs, n_coordinates)."""


class ImplicitVectorLearner(VectorLearner, Protocol):
    """Methods of a learner that sees rows as vectors and learns from the loss itself.

    They are about the row that `score` saw last, and its prediction.
    """

    def charged(self, s, k, p, c):
        """Return the prediction to report, where `score` was `p` and the weight is `c`.

        The learner is charged the loss of this prediction.
        """

    def learn_implicitly(self, s, k, loss, y, c, scale, p):
        """Learn from the loss of ``offset + spread * p``, for one output.

        `scale` is (offset, spread, slope): mean and deviation of a standardised target,
        and a factor of the derivatives. For other targets it is (0, 1, 1).
        """

    def learn_jointly(self, s, loss, y, c, p):
        """Learn from a joint loss, where `score` returned the array `p`."""

    def settle(self, s):
        """Finish pending updates, after the last row of a block."""


class Traits(NamedTuple):
    """Traits of a learner, read off its class."""

    by_vector: bool  # sees the row as a vector
    by_row: bool  # has numbers that the coordinates of an output share
    implicit: bool  # learns from the loss, not from its derivative
    folds: bool  # has a factor that may become too small
    reaches: bool  # has weights that depend on the row
    in_ball: bool  # can keep its weights in a ball
    widens: bool  # depends on how many features a row has
    has_wealth: bool  # has a wealth in the unit of the sample weights
    takes_kernels: bool  # needs inner products of rows only
    bounds_regret: bool
    touches_all: bool
    keeps_first: bool
    scale_invariant: bool
    bounded_gradients: bool
    stays_finite: bool


@cache
def traits(learner):
    """Return the :class:`Traits` of a learner's class."""

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
        widens=hasattr(learner, "widens"),
        has_wealth=hasattr(learner, "add_wealth"),
        takes_kernels=issubclass(learner, GradientSum),
        bounds_regret=hasattr(learner, "regret_bound"),
        touches_all=by_vector or declares("touches_all"),
        keeps_first=declares("keeps_first"),
        scale_invariant=declares("scale_invariant"),
        bounded_gradients=declares("bounded_gradients"),
        stays_finite=declares("stays_finite"),
    )


def check_is_learner(learner):
    """Raise a TypeError if a class lacks what a learner must declare."""

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


def make_learner(learner, values):
    """Return a learner of a class, from a dict of an estimator's parameters."""
    names = getattr(learner, "parameters", {})
    return learner(**{field: values[name] for field, name in names.items()})
