"""Remove statements of a flat function that are not needed."""

import ast
from collections import Counter

from .source import LEAVING, walk
from .values import leaf_values

#: Names of modules and functions whose functions change no arguments.
PURE = "np", "min", "max", "abs", "len", "range", "bool", "int", "float"


def without_unreachable(statements):
    """Remove what stands after statements that leave a block."""
    kept = []
    for statement in statements:
        for block in "body", "orelse":
            if hasattr(statement, block):
                rest = without_unreachable(getattr(statement, block))
                setattr(statement, block, rest)
        kept.append(statement)
        if isinstance(statement, LEAVING):
            break
    return kept


def passed_on(statements, values):
    """Return names of arrays of which more is used than entries and sizes."""
    leaves = [each for each in leaf_values(values) if getattr(each, "ndim", None)]
    dimensions = {leaf.id: leaf.ndim for leaf in leaves}
    n_loaded, n_plain = Counter(), Counter()
    for node in walk(statements):
        if isinstance(node, ast.Name):
            n_loaded[node.id] += 1
        owner = getattr(node, "value", None)
        if not isinstance(owner, ast.Name):
            continue
        if isinstance(node, ast.Attribute):
            n_plain[owner.id] += node.attr in ("size", "shape")
        elif isinstance(node, ast.Subscript):
            place = node.slice
            places = place.elts if isinstance(place, ast.Tuple) else [place]
            is_entry = not any(isinstance(each, ast.Slice) for each in places)
            is_entry &= len(places) == dimensions.get(owner.id)
            n_plain[owner.id] += is_entry
    return {name for name in dimensions if n_loaded[name] > n_plain[name]}


def without_unread(statements):
    """Remove assignments to variables that nothing reads."""
    while True:
        read = Counter()
        for node in walk(statements):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                read[node.id] += 1
        statements, n_removed = _without(statements, read)
        if not n_removed:
            return statements


def _may_write(expression):
    """Whether an expression has calls of other functions than NumPy's and Python's."""
    called = [node.func for node in ast.walk(expression) if isinstance(node, ast.Call)]
    return any(
        ast.unparse(function).partition(".")[0] not in PURE for function in called
    )


def _without(statements, read):
    kept, n_removed = [], 0
    for statement in statements:
        if isinstance(statement, (ast.If, ast.For, ast.While)):
            statement.body, n = _without(statement.body, read)
            statement.orelse, n_else = _without(statement.orelse, read)
            n_removed += n + n_else
            is_empty = not statement.body and not statement.orelse
            if is_empty and not isinstance(statement, ast.While):
                n_removed += 1
                continue
            statement.body = statement.body or [ast.Pass()]
        elif isinstance(statement, (ast.Assign, ast.AugAssign)):
            target = getattr(statement, "target", None) or statement.targets[0]
            is_unread = isinstance(target, ast.Name) and not read[target.id]
            if is_unread and not _may_write(statement.value):
                n_removed += 1
                continue
        elif isinstance(statement, ast.Pass):
            continue
        kept.append(statement)
    return kept, n_removed
