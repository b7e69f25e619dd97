"""Write statements of a flat function: names, variables and constants."""

import ast
import builtins
from collections import Counter
from contextlib import contextmanager

import numpy as np

from .values import Cannot, Known, Method, Record, load_name


class Scope:
    """Variables of a function that is being put in place.

    Parameters
    ----------
    function : function
    source : Function
    """

    def __init__(self, function, source):
        self.function = function
        self.source = source
        self.values = {}
        self.names = {}
        self._outer = dict(function.__globals__)
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            self._outer[name] = cell.cell_contents

    def look_up(self, name):
        """Return what a variable stands for."""
        if name in self.values:
            return self.values[name]
        if name in self._outer:
            return Known(self._outer[name])
        return Known(getattr(builtins, name))


class Writer:
    """Write a flat function, statement by statement.

    Attributes
    ----------
    block : list of ast.stmt
        Statements that were written.
    scope : Scope
        Of the function that is being read.
    globals : dict
        Global names of the flat function.
    unowned : dict
        Maps names of arguments to what makes views of them for the whole function.
    """

    def __init__(self):
        self.block = []
        self.scope = None
        self.globals = {"np": np}
        self.unowned = {}
        self._taken = Counter(self.globals.keys())
        self._fixed = set()  # names that are assigned once, as arguments
        self._fleeting = set()  # names that calls may assign

    def new_name(self, name):
        """Return a name like `name` that the flat function does not have."""
        while True:
            n = self._taken[name]
            self._taken[name] += 1
            candidate = f"{name}_{n}" if n else name
            if candidate == name or candidate not in self._taken:
                if candidate != name:
                    self._taken[candidate] += 1
                return candidate

    def new_fleeting_name(self, name):
        """Return a new name of a variable that calls may assign."""
        name = self.new_name(name)
        self._fleeting.add(name)
        return name

    def handle(self, node, kind):
        """Call the method for a node of a function's source."""
        name = type(node).__name__
        method = getattr(self, f"_{name.lower()}{kind}", None)
        if method is None:
            function = self.scope.function.__qualname__
            raise Cannot(f"{name} cannot be compiled, in {function}")
        return method(node)

    def emit(self, statement):
        """Add a statement."""
        self.block.append(statement)

    def assign(self, name, expression):
        self.emit(ast.Assign([ast.Name(name, ast.Store())], expression))

    def variable(self, name):
        """Return the name of the present function's variable."""
        names = self.scope.names
        if name not in names:
            names[name] = self.new_name(name)
        return names[name]

    def kept(self, value, name="value"):
        """Return a value that later statements do not change and may use twice."""
        if isinstance(value, Record):
            fields = {f: self.kept(v, f) for f, v in value.fields.items()}
            return Record(value.kind, fields)
        if isinstance(value, (Known, Method, ast.Constant)):
            return value
        if isinstance(value, tuple):
            return tuple(self.kept(part, name) for part in value)
        if isinstance(value, ast.Name) and value.id not in self._fleeting:
            return value
        if not isinstance(value, ast.expr):
            return value
        return self.copied(value, name)

    def copied(self, value, name):
        """Assign an expression to a new variable."""
        fresh = self.new_name(name)
        self.assign(fresh, value)
        return load_name(fresh)

    @contextmanager
    def into(self, block):
        """Add statements to `block` instead."""
        before, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = before

    def expression(self, value):
        """Return what a value is in the flat function."""
        if isinstance(value, ast.expr):
            return value
        if isinstance(value, Known):
            return self._constant(value.value)
        if isinstance(value, tuple) and not isinstance(value, (Record, Method)):
            return ast.Tuple([self.expression(part) for part in value], ast.Load())
        raise Cannot(f"{value} is no value of compiled code")

    def _constant(self, value):
        if value is None or isinstance(value, (bool, int, float, str)):
            if isinstance(value, float) and value != value:
                return ast.Attribute(load_name("np"), "nan", ast.Load())
            return ast.Constant(value)
        if isinstance(value, tuple):
            return ast.Tuple([self._constant(part) for part in value], ast.Load())
        if isinstance(value, range):
            bounds = value.start, value.stop, value.step
            return ast.Call(load_name("range"), [*map(ast.Constant, bounds)], [])
        name = getattr(value, "__name__", None)
        if name and getattr(np, name, None) is value:
            return ast.Attribute(load_name("np"), name, ast.Load())
        if name and getattr(builtins, name, None) is value:
            return load_name(name)
        for given, known in self.globals.items():
            if known is value:
                return load_name(given)
        name = self.new_name(name or "constant")
        self.globals[name] = value
        return load_name(name)
