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
from .adaptive import AdaGrad, Adam
from .cocob import CoCoB
from .coin import Coin
from .dfeg import DFEG
from .freegrad import FreeGrad
from .gradient_descent import OGD, AdaOGD
from .implicit import IOMD, AdaImplicit
from .k17 import K17
from .kernel_gd import KernelGD
from .nag import NAG
from .scinol1 import ScInOL1
from .scinol2 import ScInOL2
from .sfmd import SFMD

__all__ = [
    "ALGORITHMS",
    "DFEG",
    "IOMD",
    "K17",
    "NAG",
    "OGD",
    "SFMD",
    "AdaFTRL",
    "AdaGrad",
    "AdaImplicit",
    "AdaOGD",
    "Adam",
    "CoCoB",
    "Coin",
    "FreeGrad",
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
    "sgd": OGD,
    "ogd": OGD,
    "adaogd": AdaOGD,
    "adagrad": AdaGrad,
    "adam": Adam,
    "nag": NAG,
    "sfmd": SFMD,
    "cocob": CoCoB,
    "k17": K17,
    "freegrad": FreeGrad,
    "coin": Coin,
    "kernel_gd": KernelGD,
}


class Learner(Protocol):
    """What the engines ask of a learner.

    It sees features `x` and derivatives `g` of the loss. The engines put sample weights
    into `x`; where the learner needs ``|g| <= 1``, also the loss's Lipschitz constant.

    Attributes
    ----------
    State : type of NamedTuple
        The names of the state's arrays, one entry an output and coordinate.
    touches_all : bool, default=False
        Whether the state changes where ``x = 0``. Rows of a sparse matrix only touch
        the others; for such a learner they are made dense.
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

        Only where `weight` depends on `x` at all; then no `factor` may depend on `q`.
        """

    def regret_bound(self, s, h, u, t, first):
        """Numbers that sum to a bound on the regret against `u` after `t` rows.

        Only where such a bound is known.
        """


class RowLearner(Learner, Protocol):
    """What the engines ask besides, of a learner with numbers shared by an output.

    `dot` is the sum over a row of weight times `x`, `q` the sum of the squares of `x`,
    or of what `square` gives for the first output.

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

    def square(self, s, i, x):
        """Share of a coordinate in `q`; only where that is not ``x * x``."""

    def step(self, h, k, g, dot, q, t):
        """Learn from row `t`; return a number for `update`."""

    def implicit_step(self, h, k, loss, y, c, dot, q, t):
        """The same from the loss itself; only where there is no `step`.

        The sample weight is `c`, and not in `x`. In `update`, `g` then says nothing.
        """

    def update(self, s, i, x, g, step, t):
        """Learn from row `t`, for which `step` was computed."""

    def take_scale(self, h, k):
        """Take a factor that is too small out of `h`, for `fold`; else give 1."""

    def fold(self, s, i, scale):
        """Multiply the weights by a factor, in the state."""
