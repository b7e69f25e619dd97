"""Values that variables stand for while a function is flattened, and arguments.

A value is an expression of the flat function (an ``ast.expr``), something
:class:`Known` before compiling, a :class:`Record`, a :class:`Method`, or a tuple.
"""

import ast
from types import FunctionType
from typing import NamedTuple

import numpy as np

#: Names of functions that change no arguments.
PURE = {"smaller", "larger", "abs", "len", "range", "bool", "int", "float", "np.zeros"}
PURE |= {"np.empty", "np.empty_like", "np.arange"}


class Known(NamedTuple):
    """A Python object that is known before compiling."""

    value: object


class Record(NamedTuple):
    """A NamedTuple by its fields."""

    kind: type
    fields: dict


class Method(NamedTuple):
    """A method, and what it is called on."""

    function: FunctionType
    owner: object


class Ambiguous(NamedTuple):
    """A variable that stands for one thing or another, as branches were taken."""

    name: str


class Cannot(TypeError):
    """A function has what cannot be compiled, or would mean something else."""


class CannotHere(Cannot):
    """Error that names the function and the line that cannot be compiled."""


def is_none(value):
    """Whether a value is None, which compiled code decides before it runs."""
    return isinstance(value, Known) and value.value is None


def is_number(value):
    """Whether a value is one of the flat function: an expression, or a known number."""
    if isinstance(value, Known):
        return isinstance(value.value, (bool, int, float))
    return isinstance(value, ast.expr)


def load_name(name):
    """Return the expression of a variable."""
    return ast.Name(name, ast.Load())


def leaf_values(values):
    """Return the leaves of what arguments stand for."""
    found = []
    for value in values:
        if isinstance(value, Record):
            found += leaf_values(value.fields.values())
        elif type(value) is tuple:
            found += leaf_values(value)
        elif not is_none(value):
            found.append(value)
    return found


def calls(value):
    """Whether a value has a call that was not made yet."""
    leaves = [leaf for leaf in leaf_values([value]) if isinstance(leaf, ast.expr)]
    return any(isinstance(node, ast.Call) for leaf in leaves for node in ast.walk(leaf))


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


def is_leaf(argument):
    """Whether an argument stays whole: all but tuples that have tuples in them."""
    if not isinstance(argument, tuple):
        return True
    is_named = hasattr(argument, "_fields")
    return not is_named and not any(isinstance(part, tuple) for part in argument)


def is_absent(argument):
    """Whether an argument is None, or a tuple of nothing else."""
    if isinstance(argument, tuple) and not hasattr(argument, "_fields"):
        return bool(argument) and all(part is None for part in argument)
    return argument is None


def getter(values, taken):
    """Return a function of arguments that returns the parts of some names, as a tuple.

    `values` are what stands for the arguments, by :func:`structure`.
    """
    places = [leaf.place for leaf in leaf_values(values) if leaf.id in taken]
    return eval(f"lambda arguments: ({''.join(place + ', ' for place in places)})")


def structure(argument, name, place=""):
    """Return what stands for an argument, whose parts are named after it.

    Its leaves have a `place`, by which they are found in the arguments.
    """
    if is_absent(argument):
        return Known(None)
    if is_leaf(argument):
        leaf = load_name(name)
        leaf.ndim, leaf.place = dimensions(argument), place
        return leaf
    is_named = hasattr(argument, "_fields")
    fields = argument._fields if is_named else range(len(argument))
    parts = {
        field: structure(part, f"{name}_{field}", f"{place}[{i}]")
        for i, (field, part) in enumerate(zip(fields, argument, strict=True))
    }
    return Record(type(argument), parts) if is_named else tuple(parts.values())


def dimensions(argument):
    """Return the number of dimensions of an array, or of those in a tuple."""
    if isinstance(argument, tuple) and argument:
        argument = argument[0]
    return getattr(argument, "ndim", None)


def shape(value):
    """Return a key for how what stands for an argument is put together."""
    if isinstance(value, Record):
        return value.kind, *map(shape, value.fields.values())
    if isinstance(value, Known):
        return "leaf" if is_number(value) else ("known", value.value)
    return (tuple, *map(shape, value)) if type(value) is tuple else "leaf"


def named(shape, name):
    """Return what stands for an argument of a shape, whose parts are named after it."""
    if shape == "leaf":
        return load_name(name)
    kind, *parts = shape
    if kind == "known":
        return Known(parts[0])
    if not hasattr(kind, "_fields"):
        return tuple(named(part, f"{name}_{i}") for i, part in enumerate(parts))
    fields = zip(kind._fields, parts, strict=True)
    return Record(kind, {f: named(part, f"{name}_{f}") for f, part in fields})


def names_of(value):
    """Return the names in what stands for an argument, in the order of its leaves."""
    return [part.id for part in leaf_values([value]) if isinstance(part, ast.Name)]
