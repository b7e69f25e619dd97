"""Write statements of a flat function: names, variables and constants."""

import ast
import builtins
import math
from collections import Counter
from contextlib import contextmanager

import numpy as np

from .values import Cannot, CannotHere, Known, Method, Record, calls, load_name


class Scope:
    """Variables of a function that is being put in place."""

    def __init__(self, function, source):
        self.function = function
        self.source = source
        self.values = {}
        self.names = {}
        self.carried = set()  # numbers from one step of a loop to the next
        self._enclosing = {}
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            self._enclosing[name] = cell.cell_contents

    def look_up(self, name):
        """Return what a variable stands for."""
        if name in self.values:
            return self.values[name]
        code = self.function.__code__
        if name in code.co_varnames or name in code.co_cellvars:
            raise Cannot(f"{name!r} is not assigned in all cases")
        if name in self._enclosing:
            return Known(self._enclosing[name])
        names = self.function.__globals__
        return Known(names[name] if name in names else getattr(builtins, name))


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
    """

    def __init__(self):
        self.block = []
        self.scope = None
        self.globals = {"np": np}
        self._taken = Counter(["np", *dir(builtins)])
        self._fixed = set()  # names that are assigned once, as arguments
        self._fleeting = set()  # names that calls may assign
        self._varying = set()  # names that are assigned several times

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
        name, code = type(node).__name__, self.scope.function.__code__
        method = getattr(self, f"_{name.lower()}{kind}", None)
        try:
            if method is None:
                raise Cannot(f"{name} cannot be compiled")
            return method(node)
        except CannotHere:
            raise
        except Exception as error:  # of any kind, as Python would raise when it runs
            kind = "" if isinstance(error, Cannot) else f"{type(error).__name__}: "
            line = code.co_firstlineno + node.lineno - 1
            raise CannotHere(
                f"{kind}{error}, in {self.scope.function.__qualname__} "
                f"({code.co_filename}, line {line}): write it otherwise, or set "
                "engine='numpy'."
            ) from error

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
            source = self.scope.source
            if source.n_assigned[name] > 1 or name in source.parameters:
                self._varying.add(names[name])
        return names[name]

    def kept(self, value, name="value", varying=()):
        """Return a value that may be used twice and that calls do not change.

        Later statements may change variables, but for those that are `varying`.
        """
        if isinstance(value, Record):
            fields = {f: self.kept(v, f, varying) for f, v in value.fields.items()}
            return Record(value.kind, fields)
        if isinstance(value, Method):
            return Method(value.function, self.kept(value.owner, name, varying))
        if isinstance(value, (Known, ast.Constant)):
            return value
        if isinstance(value, tuple):
            return tuple(self.kept(part, name, varying) for part in value)
        if isinstance(value, ast.Slice):
            bounds = value.lower, value.upper, value.step
            return ast.Slice(*(each and self.kept(each, name) for each in bounds))
        if isinstance(value, ast.Name) and value.id not in self._fleeting | {*varying}:
            return value
        if not isinstance(value, ast.expr):
            return value
        return self.copied(value, name)

    def copied(self, value, name):
        """Assign an expression to a new variable."""
        fresh = self.new_name(name)
        self.assign(fresh, value)
        return load_name(fresh)

    def discard(self, value):
        """Write the calls of a value that nothing uses."""
        if isinstance(value, ast.expr):
            if calls(value):
                self.emit(ast.Expr(value))
        elif isinstance(value, tuple):
            for part in value.fields.values() if isinstance(value, Record) else value:
                self.discard(part)

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
        raise Cannot("a method or a NamedTuple is no value of compiled code")

    def _constant(self, value):
        if value is None or isinstance(value, (bool, str)):
            return ast.Constant(value)
        if isinstance(value, (int, float)):
            return number(value)
        if isinstance(value, tuple):
            return ast.Tuple([self._constant(part) for part in value], ast.Load())
        if isinstance(value, range):
            bounds = value.start, value.stop, value.step
            return ast.Call(load_name("range"), [*map(number, bounds)], [])
        name = getattr(value, "__name__", "constant")
        if getattr(np, name, None) is value:
            return ast.Attribute(load_name("np"), name, ast.Load())
        if getattr(builtins, name, None) is value and name not in self._fixed:
            return load_name(name)
        for given, known in self.globals.items():
            if known is value:
                return load_name(given)
        name = self.new_name(name if name.isidentifier() else "constant")
        self.globals[name] = value
        return load_name(name)


def number(value):
    """Return the expression of a number."""
    if isinstance(value, int):
        value = int(value)
        if not -(2**63) <= value < 2**63:
            raise Cannot(f"{value} has more than 64 bits")
    else:
        value = float(value)
        if math.isnan(value):
            return ast.Attribute(load_name("np"), "nan", ast.Load())
    if math.copysign(1.0, value) < 0.0:  # `-2 ** x` is not (-2) ** x
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)
