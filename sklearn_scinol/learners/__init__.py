"""Online learners of linear models: one algorithm, one file or one family.

A learner is a NamedTuple of its hyperparameters. Its methods are elementwise formulas
on the arrays of its state, written once: the NumPy engine calls them with whole rows
(``i`` is ``...`` or an index), the compiled engine with single coordinates (``i`` is a
pair output, coordinate). They may use NumPy's elementwise functions and those of
``_portable``, and nothing else. :class:`Learner` lists what each must have.

Some learners also keep numbers that all coordinates of an output share, such as the
norm of the weights. :class:`RowLearner` lists what they have besides. Their methods for
a whole row take scalars, in both engines, and may branch and loop.
"""

from typing import NamedTuple, Protocol

from .adaftrl import AdaFTRL
from .dfeg import DFEG
from .gradient_descent import OGD, AdaOGD
from .implicit import IOMD, AdaImplicit
from .kernel_gd import KernelGD
from .scinol1 import ScInOL1
from .scinol2 import ScInOL2

__all__ = [
    "ALGORITHMS",
    "DFEG",
    "IOMD",
    "OGD",
    "AdaFTRL",
    "AdaImplicit",
    "AdaOGD",
    "KernelGD",
    "Learner",
    "RowLearner",
    "ScInOL1",
    "ScInOL2",
]

#: The algorithms, by the names that estimators with a choice of them give them.
ALGORITHMS = {
    "scinol1": ScInOL1,
    "scinol2": ScInOL2,
    "adaimplicit": AdaImplicit,
    "iomd": IOMD,
    "ogd": OGD,
    "adaogd": AdaOGD,
    "kernel_gd": KernelGD,
}


class Learner(Protocol):
    """What the engines ask of a learner.

    It sees features `x` and derivatives `g` of the loss. The engines put sample weights
    into `x`; where the learner needs ``|g| <= 1``, also the loss's Lipschitz constant.

    Attributes
    ----------
    State : type of NamedTuple
        The names of the state's arrays, one entry an output and coordinate. A state
        must not change where ``x = 0``: rows of a sparse matrix touch the others only.
    keeps_first : bool
        Whether `regret_bound` needs the first non-zero ``|x|`` of each coordinate. The
        first array of `State` must then be 0 until that value has come.
    bounded_gradients : bool
        Whether it needs ``|g| <= 1``.
    """

    State: type[NamedTuple]
    keeps_first: bool
    bounded_gradients: bool

    def initial_state(self):
        """State with, for each array, the number that it is filled with."""

    def weight(self, s, i, x, t):
        """Weight with which row `t` is predicted; does not change the state."""

    def update(self, s, i, x, g, w, t):
        """Learn from row `t`, which was predicted with weight `w`."""

    def reach(self, s, i, t):
        """Largest ``|x|`` for which ``weight(s, i, x, t)`` is that of ``x = 0``.

        Only where `weight` depends on `x` at all.
        """

    def regret_bound(self, s, h, u, t, first):
        """Numbers that sum to a bound on the regret against `u` after `t` rows."""


class RowLearner(Learner, Protocol):
    """What the engines ask besides, of a learner with numbers shared by an output.

    `dot` is the sum over a row of weight times `x`, `q` the sum of the squares of `x`.
    The argument `w` of `update` is not filled in.

    Attributes
    ----------
    Shared : type of NamedTuple
        The names of those numbers, arrays of one entry an output.
    """

    Shared: type[NamedTuple]

    def initial_shared(self):
        """Shared numbers before the first row."""

    def factor(self, h, k, q, t):
        """What all weights of output `k` are multiplied by at row `t`: elementwise."""

    def step(self, h, k, g, dot, q, t):
        """Learn from row `t`; return what `update` gets in place of `g`."""

    def implicit_step(self, h, k, loss, y, c, dot, q, t):
        """The same from the loss itself; only where there is no `step`.

        The sample weight is `c`, and not in `x`.
        """

    def take_scale(self, h, k):
        """Take a factor that is too small out of `h`, for `fold`; else give 1."""

    def fold(self, s, i, scale):
        """Multiply the weights by a factor, in the state."""
