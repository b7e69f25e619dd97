"""Loops over the rows that a forest of trees learns."""

from functools import cache

from ...learners import mondrian_tree
from .compiling import compiled, runs_loop


@runs_loop
def learn_forest(nodes, *arguments):
    """Predict rows, each before it is learned; return where room runs out."""
    return _loop(type(nodes)), (nodes, *arguments), None


@cache
def _loop(nodes):
    return compiled(mondrian_tree.learn_rows)
