"""Online learners of linear models: one algorithm, one file.

A learner is a NamedTuple of its hyperparameters. Its methods are elementwise formulas
on the arrays of its state, written once: the NumPy engine calls them with whole rows
(``i`` is ``...`` or an index), the compiled engine with single coordinates (``i`` is a
pair output, coordinate). They may use NumPy's elementwise functions and those of
``_portable``, and nothing else. :class:`Learner` lists what each must have.
"""

from typing import NamedTuple, Protocol

from .scinol1 import ScInOL1
from .scinol2 import ScInOL2

__all__ = ["ALGORITHMS", "Learner", "ScInOL1", "ScInOL2"]

#: Name of each algorithm, as in the estimators' parameter `algorithm`.
ALGORITHMS = {"scinol1": ScInOL1, "scinol2": ScInOL2}


class Learner(Protocol):
    """What the engines ask of a learner.

    All of them see features `x` and derivatives `g` of the loss with ``|g| <= 1``: the
    engines put sample weights and the Lipschitz constant of the loss into `x`.

    Attributes
    ----------
    State : type of NamedTuple
        The names of the state's arrays, one entry an output and coordinate. A state
        must not change where ``x = 0``: rows of a sparse matrix touch the others only.
    keeps_first : bool
        Whether `regret_bound` needs the first non-zero ``|x|`` of each coordinate. The
        first array of `State` must then be 0 until that value has come.
    """

    State: type[NamedTuple]
    keeps_first: bool

    def initial_state(self):
        """State with, for each array, the number that it is filled with."""

    def weight(self, s, i, x, t):
        """Weight with which row `t` is predicted; does not change the state."""

    def update(self, s, i, x, g, w, t):
        """Learn from row `t`, which was predicted with weight `w`."""

    def reach(self, s, i, t):
        """Largest ``|x|`` for which ``weight(s, i, x, t)`` is that of ``x = 0``."""

    def regret_bound(self, s, u, t, first):
        """Bound on the regret against `u` after `t` rows, by output and coordinate."""
