"""Engines: the loops that run a learner over rows, in NumPy or compiled by Numba.

Each is a module with the same functions, and both do the same.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

__all__ = ["ENGINES", "SparseRows", "get_engine"]

#: What the configuration `engine` may be.
ENGINES = ("auto", "numba", "numpy")


class SparseRows(NamedTuple):
    """Rows of a CSR matrix, as the engines take them."""

    data: np.ndarray  # float64
    indices: np.ndarray  # uint32 (no wrap-around to compile), none twice in a row
    indptr: np.ndarray  # int32


def get_engine(name):
    """Module of the engine `name`; "auto" is Numba where it is installed."""
    if name == "auto":
        name = "numba" if find_spec("numba") else "numpy"
    if name == "numba" and not find_spec("numba"):
        raise ImportError(
            "The engine 'numba' needs Numba: install it with "
            "`pip install sklearn-scinol[fast]`, or choose the engine 'numpy'."
        )
    return import_module(f"._{name}", __name__)
