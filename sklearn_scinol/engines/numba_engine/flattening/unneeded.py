"""Remove statements of a flat function that are not needed."""

import ast
from collections import Counter

import numpy as np

from .source import walk

#: Names of functions that change no arguments.
PURE = {"smaller", "larger", "abs", "len", "range", "bool", "int", "float", "np.zeros"}
PURE |= {"np.empty", "np.empty_like", "np.arange"}


def without_unread(statements):
    """Remove assignments to variables that nothing reads."""
    while True:
        read, stored, numbers, added_to = set(), Counter(), Counter(), set()
        for node in walk(statements):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                read.add(node.id)
            elif isinstance(node, ast.Name):
                stored[node.id] += 1
            elif isinstance(node, ast.AugAssign):
                numbers[getattr(node.target, "id", None)] += 1
                added_to.add(getattr(node.target, "id", None))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                numbers[getattr(node.targets[0], "id", None)] += 1
        read |= added_to & (stored - numbers).keys()  # may be arrays, read elsewhere
        statements, n_removed = _without(statements, read)
        if not n_removed:
            return statements


def may_write(expression):
    """Whether an expression has calls that may change something."""
    called = [node for node in ast.walk(expression) if isinstance(node, ast.Call)]
    return not all(map(_is_pure, called))


def _is_pure(call):
    module, _, name = ast.unparse(call.func).rpartition(".")
    function = getattr(np, name, None) if module == "np" else None
    if isinstance(function, np.ufunc):
        return len(call.args) <= function.nin and not call.keywords
    return isinstance(function, type) or ast.unparse(call.func) in PURE


def _is_unneeded(statement, read):
    """Whether a statement with empty blocks does nothing."""
    if isinstance(statement, ast.If):
        return not may_write(statement.test)
    if isinstance(statement, ast.While):
        return False
    targets = {node.id for node in walk([statement.target]) if hasattr(node, "id")}
    return not targets & read and not may_write(statement.iter)


def _without(statements, read):
    kept, n_removed = [], 0
    for statement in statements:
        if isinstance(statement, (ast.If, ast.For, ast.While)):
            statement.body, n = _without(statement.body, read)
            statement.orelse, n_else = _without(statement.orelse, read)
            n_removed += n + n_else
            is_empty = not statement.body and not statement.orelse
            if is_empty and _is_unneeded(statement, read):
                n_removed += 1
                continue
            statement.body = statement.body or [ast.Pass()]
        elif isinstance(statement, (ast.Assign, ast.AugAssign)):
            target = getattr(statement, "target", None) or statement.targets[0]
            is_unread = isinstance(target, ast.Name) and target.id not in read
            if is_unread and not may_write(statement.value):
                n_removed += 1
                continue
        elif isinstance(statement, ast.Pass):
            continue
        kept.append(statement)
    return kept, n_removed
