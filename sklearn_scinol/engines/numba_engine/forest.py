"""Loops over the rows that a forest of trees learns."""

from functools import cache

from .compiling import compiled, runs_loop


@runs_loop
def learn_forest(learn_rows, nodes, *arguments):
    """Predict rows, each before it is learned; return where room runs out."""
    return _loop(learn_rows, type(nodes)), (nodes, *arguments), None


@cache
def _loop(learn_rows, nodes):
    return compiled(learn_rows)
