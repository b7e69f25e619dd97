"""Where the state of a coordinate is while a row's pass works on it: in variables.

Learners write their state into arrays, and the processor would have to read back what
it has just written, which takes longer than most formulas do. In flat functions the
arrays of one coordinate are variables, which the compiler keeps in registers.
"""

import ast

from .flattening.values import Cannot, Known, Record, load_name


def registers(s):
    """Return variables for one coordinate of the state; uncompiled, the state."""
    return s


def load(own, s, i):
    """Copy coordinate `i` of the state to variables; return its place in `own`."""
    return i


def store(own, s, i):
    """Copy variables to coordinate `i` of the state."""


def from_records(s, fields):
    """Read the arrays of a state from `fields`, where a coordinate's are neighbours."""
    return s


def with_known(learner, known):
    """Return a learner of which hyperparameters are known before compiling.

    `known` has pairs of a name and the value that the learner has anyway.
    """
    return learner._replace(**dict(known))


class Entries:
    """An array of the state: a field of all, of shape (n_outputs, n_coordinates)."""

    ndim = 2

    def __init__(self, fields, number):
        self.fields = fields
        self.number = ast.Constant(number)

    def entry(self, place):
        """Return the expression of the entry at (output, coordinate)."""
        place = ast.Tuple([self.number, *place.elts], ast.Load())
        return ast.Subscript(self.fields, place, ast.Load())


class Variable:
    """An array of which a flat function has one entry in a variable."""

    def __init__(self, name):
        self.name = name
        self.place = None  # of the entry, once it is loaded

    def entry(self, place):
        """Return the expression of the entry."""
        is_variable = isinstance(getattr(place, "elts", [None])[-1], ast.Name)
        if not is_variable and ast.dump(place) != self.place:
            raise Cannot("a learner's method reads or writes another coordinate")
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
    i = flattener.expression(i)
    if hasattr(array, "entry"):
        entry = array.entry(i)
    else:
        entry = ast.Subscript(flattener.expression(array), i)
    entry.ctx = context()
    return entry


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
    i = flattener.kept(i, "i")
    if _are_variables(own):
        for variable in own.fields.values():
            variable.place = ast.dump(flattener.expression(i))
        _copy(flattener, s, i, own, i)
    return i


def _store(flattener, own, s, i):
    if _are_variables(own):
        _copy(flattener, own, i, s, i)
    return Known(None)


def _from_records(flattener, s, fields):
    arrays = {name: Entries(fields, f) for f, name in enumerate(s.fields)}
    return Record(s.kind, arrays)


def _with_known(flattener, learner, known):
    fields = {name: Known(value) for name, value in known.value}
    return Record(learner.kind, learner.fields | fields)


HANDLERS = {
    registers: _registers,
    load: _load,
    store: _store,
    from_records: _from_records,
    with_known: _with_known,
}
