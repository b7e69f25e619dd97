"""Loops over the rows of a stream; `interface.py` says what an engine does."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from .._optional import missing

#: Values of the configuration `engine`.
ENGINES = ("auto", "numba", "numpy")


@cache
def get_engine(name):
    """Module of the engine `name`; "auto" is Numba where it is installed."""
    if name == "auto":
        name = "numba" if find_spec("numba") else "numpy"
    if name == "numba" and not find_spec("numba"):
        raise missing("numba", "The engine 'numba'")
    return import_module(f".{name}_engine", __name__)
