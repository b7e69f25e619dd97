"""Parse functions."""

import ast
import inspect
from collections import Counter
from functools import cache
from threading import Lock
from typing import NamedTuple

from .values import Cannot

#: Statements after which nothing of a block runs.
LEAVING = ast.Return, ast.Break, ast.Continue

#: Syntax that changes the meaning of a whole function, wherever it stands.
REFUSED = ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom


class Function(NamedTuple):
    """Source of a function: its parameters, statements and assigned variables."""

    signature: inspect.Signature
    parameters: tuple
    body: list
    n_assigned: Counter  # how often variables are assigned
    returns_in_loop: bool
    returns_none: set  # of bool: either, if some returns do


# CPython 3.11 may fail where two threads parse at the same time.
_parsing = Lock()


@cache
def parsed(function):
    """Parse a function."""
    code, name = function.__code__, function.__qualname__
    # A wrapper's own source. That of a code takes longer: all modules are looked at.
    own = code if hasattr(function, "__wrapped__") else function
    try:
        source = inspect.getsource(own)
    except OSError:
        raise TypeError(
            f"The source of {name}, which is to be compiled, cannot be found: define "
            "it in a file or a notebook, or set engine='numpy'."
        ) from None
    is_indented = source[0].isspace()
    try:
        with _parsing:
            tree = ast.parse("if True:\n" + source if is_indented else source).body[0]
    except SyntaxError:  # part of a line
        tree = None
    if is_indented and tree:
        tree = ast.increment_lineno(tree, -1).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise Cannot(f"{name} is no function defined by `def`")
    refused = [node for node in ast.walk(tree) if isinstance(node, REFUSED)]
    if refused or tree.args.vararg or tree.args.kwarg:
        what = type(refused[0]).__name__ if refused else "* in parameters"
        raise Cannot(f"{what} cannot be compiled, of {name}")
    body = tree.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    n_assigned = assigned(tree.body)
    loops = [node for node in walk(body) if isinstance(node, (ast.For, ast.While))]
    returns_none = {
        node.value is None or getattr(node.value, "value", node) is None
        for node in walk(body)
        if isinstance(node, ast.Return)
    }
    if not always_leaves(body):
        returns_none.add(True)
    signature = inspect.signature(function, follow_wrapped=False)
    return Function(
        signature,
        tuple(signature.parameters),
        body,
        n_assigned,
        any(returns(loop.body) for loop in loops),
        returns_none,
    )


def assigned(statements):
    """Count how often variables are assigned in statements."""
    names = [node for node in walk(statements) if isinstance(node, ast.Name)]
    return Counter(node.id for node in names if isinstance(node.ctx, ast.Store))


def walk(statements):
    """Yield the nodes of statements."""
    return ast.walk(ast.Module(statements, []))


def returns(statements):
    """Whether a return statement is among the statements, or in them."""
    return any(isinstance(node, ast.Return) for node in walk(statements))


def always_leaves(statements, kinds=ast.Return):
    """Whether statements return, or leave otherwise, whatever branches are taken."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return always_leaves(last.body, kinds) and always_leaves(last.orelse, kinds)
    if isinstance(last, ast.While) and getattr(last.test, "value", False) is True:
        return not any(isinstance(node, ast.Break) for node in walk(last.body))
    return isinstance(last, kinds)
