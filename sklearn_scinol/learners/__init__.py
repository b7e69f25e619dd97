"""Online learners of linear models: one algorithm, one file or one family.

A learner is a NamedTuple of its hyperparameters. Its methods are elementwise formulas
on the arrays of its state, written once: the NumPy engine calls them with whole rows
(``i`` is ``...`` or an index), the compiled engine with single coordinates (``i`` is a
pair output, coordinate). They may call NumPy's elementwise functions, and functions of
``_portable``. `interface.py` documents the methods, and the two kinds
of learners that see more of a row than a coordinate. `bases/` has what learners share.

Learners from outside the package declare the same.
"""

from .._portable import chosen, exact, larger, smaller
from .adaftrl import AdaFTRL
from .adaptive import AdaGrad, Adam
from .cocob import CoCoB
from .coin import Coin
from .coin_ode import CODE
from .dfeg import DFEG
from .freegrad import FreeGrad
from .gradient_descent import OGD, SGD, AdaOGD
from .implicit import IOMD, AdaImplicit, ConstantImplicit
from .interface import ImplicitVectorLearner, Learner, RowLearner, VectorLearner
from .k17 import K17
from .kernel_gd import KernelGD
from .nag import NAG
from .online_newton import OnlineNewton, VovkAzouryWarmuth
from .scinol1 import ScInOL1
from .scinol2 import ScInOL2
from .sfmd import SFMD

__all__ = [
    "CODE",
    "DFEG",
    "IOMD",
    "K17",
    "NAG",
    "OGD",
    "SFMD",
    "SGD",
    "AdaFTRL",
    "AdaGrad",
    "AdaImplicit",
    "AdaOGD",
    "Adam",
    "CoCoB",
    "Coin",
    "ConstantImplicit",
    "FreeGrad",
    "ImplicitVectorLearner",
    "KernelGD",
    "Learner",
    "OnlineNewton",
    "RowLearner",
    "ScInOL1",
    "ScInOL2",
    "VectorLearner",
    "VovkAzouryWarmuth",
    "chosen",
    "exact",
    "larger",
    "smaller",
]

#: Algorithms of the baselines, by name.
BASELINES = {
    "sgd": SGD,
    "adagrad": AdaGrad,
    "adam": Adam,
    "nag": NAG,
    "sfmd": SFMD,
    "cocob": CoCoB,
    "k17": K17,
    "ogd": OGD,
    "adaogd": AdaOGD,
    "kernel_gd": KernelGD,
    "freegrad": FreeGrad,
    "coin": Coin,
    "code": CODE,
}

#: Algorithms of all estimators, by name.
ALGORITHMS = {
    "scinol1": ScInOL1,
    "scinol2": ScInOL2,
    "adaimplicit": AdaImplicit,
    "iomd": IOMD,
    "constant": ConstantImplicit,
    **BASELINES,
}
