"""Values that variables stand for while a function is flattened, and arguments.

A value is an expression of the flat function (an ``ast.expr``), something
:class:`Known` before compiling, a :class:`Record`, a :class:`Method`, or a tuple.
"""

import ast
from types import FunctionType
from typing import NamedTuple


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


def places(argument, value, taken):
    """Return where the parts of an argument are that a flat function takes.

    Parameters
    ----------
    argument : object
    value : object
        What stands for it.
    taken : set of str
        Names of the parts that are taken.

    Returns
    -------
    places : list of tuple of int
        Indices that lead to each part.
    """
    if is_absent(argument) or is_leaf(argument):
        return [()] if isinstance(value, ast.Name) and value.id in taken else []
    values = value.fields.values() if isinstance(value, Record) else value
    return places_in(argument, values, taken)


def places_in(arguments, values, taken):
    """Return where the parts of several arguments are; see :func:`places`."""
    return [
        (i, *place)
        for i, each in enumerate(zip(arguments, values, strict=True))
        for place in places(*each, taken)
    ]


def getter(places):
    """Return a function of arguments that returns the parts at places, as a tuple."""
    parts = ["arguments" + "".join(f"[{i}]" for i in place) for place in places]
    return eval(f"lambda arguments: ({''.join(part + ', ' for part in parts)})")


def structure(argument, name):
    """Return what stands for an argument, whose parts are named after it."""
    if is_absent(argument):
        return Known(None)
    if is_leaf(argument):
        return leaf(name, dimensions(argument))
    if not hasattr(argument, "_fields"):
        return tuple(structure(a, f"{name}_{i}") for i, a in enumerate(argument))
    parts = zip(argument._fields, argument, strict=True)
    return Record(type(argument), {f: structure(a, f"{name}_{f}") for f, a in parts})


def leaf(name, ndim):
    """Return the expression of an argument with a number of dimensions, or None."""
    expression = load_name(name)
    expression.ndim = ndim
    return expression


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
