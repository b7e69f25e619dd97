"""A coordinate's state in variables while a row's pass works on it.

Learners write their state into arrays, and the processor would have to read back what
it has just written, which takes longer than most formulas do. In flat functions the
arrays of one coordinate are variables, which the compiler keeps in registers.
"""

import ast

from .flattening import Known, Record, load_name

__all__ = ["HANDLERS", "load", "member", "move", "registers", "store"]


def registers(s):
    """Return variables for one coordinate of the state; uncompiled, the state."""
    return s


def load(own, s, i):
    """Copy coordinate `i` of the state to variables; return its place in `own`."""
    return i


def store(own, s, i):
    """Copy variables to coordinate `i` of the state."""


def move(s, i, target, j):
    """Copy coordinate `i` of the state to coordinate `j` of another."""
    for values, of_target in zip(s, target, strict=True):
        of_target[j] = values[i]


def member(values, e):
    """Return member `e` of learners that are learned side by side."""
    return values[e]


class Variable:
    """An array of which a flat function has one entry in a variable.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name):
        self.name = name

    def entry(self, place):
        """Return the expression of the entry, wherever that is."""
        return load_name(self.name)


def _registers(flattener, s):
    if not _are_of_coordinates(s):
        return s
    names = {field: flattener.new_fleeting_name(field) for field in s.fields}
    return Record(s.kind, {field: Variable(names[field]) for field in names})


def _are_of_coordinates(s):
    return all(getattr(array, "ndim", None) == 2 for array in s.fields.values())


def _are_variables(own):
    return all(isinstance(array, Variable) for array in own.fields.values())


def _entry(flattener, array, i, context):
    if isinstance(array, Variable):
        return ast.Name(array.name, context())
    i = flattener.expression(i)
    return ast.Subscript(flattener.expression(array), i, context())


def _copy(flattener, s, i, target, j):
    # All are read before the first is written, so that none waits for another.
    entries = [
        flattener.copied(_entry(flattener, array, i, ast.Load), field)
        for field, array in s.fields.items()
    ]
    for field, entry in zip(s.fields, entries, strict=True):
        of_target = _entry(flattener, target.fields[field], j, ast.Store)
        flattener.emit(ast.Assign([of_target], entry))


def _load(flattener, own, s, i):
    if _are_variables(own):
        _copy(flattener, s, i, own, i)
    return i


def _store(flattener, own, s, i):
    if _are_variables(own):
        _copy(flattener, own, i, s, i)
    return Known(None)


def _move(flattener, s, i, target, j):
    _copy(flattener, s, i, target, j)
    return Known(None)


def _member(flattener, values, e):
    if isinstance(values, Record):
        fields = {f: _member(flattener, v, e) for f, v in values.fields.items()}
        return Record(values.kind, fields)
    if isinstance(values, Known):
        return values
    one = _entry(flattener, values, e, ast.Load)
    one.ndim = values.ndim
    return one


HANDLERS = {
    registers: _registers,
    load: _load,
    store: _store,
    move: _move,
    member: _member,
}
