"""Parse functions."""

import ast
import inspect
import textwrap
from collections import Counter
from functools import cache
from threading import Lock
from typing import NamedTuple

#: Statements after which nothing of a block runs.
LEAVING = ast.Return, ast.Break, ast.Continue


class Function(NamedTuple):
    """Source of a function: its parameters, statements and assigned variables."""

    parameters: tuple
    defaults: dict
    body: list
    n_assigned: Counter  # how often variables are assigned
    returns_in_loop: bool


# CPython 3.11 may fail where two threads parse at the same time.
_parsing = Lock()


@cache
def parsed(function):
    """Parse a function."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except OSError:
        raise TypeError(
            f"The source of {function.__qualname__}, which is to be compiled, cannot "
            "be found: define it in a file or a notebook, or set engine='numpy'."
        ) from None
    with _parsing:
        tree = ast.parse(source).body[0]
    body = tree.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    n_assigned, returns_in_loop = Counter(), False
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            n_assigned[node.id] += 1
        if isinstance(node, (ast.For, ast.While)):
            returns_in_loop |= returns(node.body)
    signature = inspect.signature(function).parameters
    return Function(
        tuple(signature),
        {
            name: parameter.default
            for name, parameter in signature.items()
            if parameter.default is not parameter.empty
        },
        body,
        n_assigned,
        returns_in_loop,
    )


def walk(statements):
    """Yield the nodes of statements."""
    return ast.walk(ast.Module(statements, []))


def returns(statements):
    """Whether a return statement is among the statements, or in them."""
    return any(isinstance(node, ast.Return) for node in walk(statements))


def always_returns(statements):
    """Whether the statements return whatever branches are taken."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return always_returns(last.body) and always_returns(last.orelse)
    return isinstance(last, ast.Return)
