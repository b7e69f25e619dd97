"""Put the bodies of functions in place of their calls."""

import ast
import inspect
from contextlib import contextmanager
from functools import cache
from types import FunctionType

from .expressions import Expressions
from .source import LEAVING, always_leaves, assigned, parsed, returns, walk
from .values import (
    Ambiguous,
    Cannot,
    Known,
    Method,
    Record,
    is_none,
    is_number,
    leaf_values,
    load_name,
    may_write,
    names_of,
)
from .writer import Scope

#: Functions whose results are known where their arguments are.
FOLDED = {range, min, max, len, abs, bool, float, int}


class Flattener(Expressions):
    """Flatten functions.

    Parameters
    ----------
    replacements : dict
        Maps functions to those that are put in their place.
    handlers : dict
        Maps functions to functions that take this object and what arguments stand for,
        and return what the result stands for.
    apart : callable
        Takes a function and what its arguments stand for; returns None, or a compiled
        function of their leaves, which is called instead.
    """

    def __init__(self, replacements, handlers, apart):
        super().__init__()
        self.replacements, self.handlers, self.apart = replacements, handlers, apart

    def flatten(self, function, values, takes_all=False):
        """Flatten a function whose arguments stand for `values`.

        It takes the parts of the arguments that it reads, or all of them. Returns the
        source, and the names of the parts of arguments that it takes.
        """
        source = parsed(function)
        self.scope = Scope(function, source)
        for value in values:
            self._fixed.update(names_of(value))
        self._taken.update([*self._fixed, function.__name__])
        if not self._fixed.isdisjoint(["np", "range"]):
            raise Cannot(f"{function.__qualname__} has a parameter np or range")
        for name, value in zip(source.parameters, values, strict=True):
            self._bind(name, value)
        self.statements(source.body)
        body = self.block or [ast.Pass()]
        arguments = [name for value in values for name in names_of(value)]
        if not takes_all:
            read = {node.id for node in walk(body) if isinstance(node, ast.Name)}
            arguments = [name for name in arguments if name in read]
        parameters = ast.arguments(
            [], [*map(ast.arg, arguments)], None, [], [], None, []
        )
        definition = ast.FunctionDef(function.__name__, parameters, body, [])
        definition.type_params = []
        module = ast.fix_missing_locations(ast.Module([definition], []))
        return ast.unparse(module), arguments

    def _bind(self, name, value):
        """Bind a parameter to a value, which is copied if the function assigns it."""
        scope = self.scope
        if scope.source.n_assigned[name] and is_number(value):
            self.assign(self.variable(name), self.expression(value))
            value = load_name(self.variable(name))
        scope.values[name] = value

    def put_in_place(self, function, values):
        """Write the body of a function; return what its result stands for."""
        source = parsed(function)
        values = [
            self.kept(v, n) for v, n in zip(values, source.parameters, strict=True)
        ]
        outer, self.scope = self.scope, Scope(function, source)
        try:
            for name, value in zip(source.parameters, values, strict=True):
                self._bind(name, value)
            return self._body(source.body)
        finally:
            self.scope = outer

    def _body(self, statements):
        """Write statements; return what the value that they return stands for."""
        for place, statement in enumerate(statements):
            if isinstance(statement, ast.Return):
                if statement.value is None:
                    return Known(None)
                return self.evaluate(statement.value)
            if isinstance(statement, ast.If) and returns([statement]):
                rest = statements[place + 1 :]
                return self._returning_branches(statement, rest)
            self.statement(statement)
        return Known(None)

    def _returning_branches(self, statement, rest):
        branches = [
            branch if always_leaves(branch) else [*branch, *rest]
            for branch in (statement.body, statement.orelse)
        ]
        test = self.condition(statement.test)
        if isinstance(test, Known):
            return self._body(branches[not test.value])
        written, values = [], self.scope.values
        for branch in branches:
            self.scope.values = dict(values)
            with self.into([]) as block:
                result = self._body(branch)
            written.append((block, result))
        self.scope.values = values
        return self._chosen(test, written)

    def _chosen(self, test, branches):
        """Write two branches, pairs of statements and a value; return the value."""
        blocks, values = zip(*branches, strict=True)
        result = self._joined(blocks, values)
        self._emit_if(test, *blocks)
        return result

    def _joined(self, blocks, results):
        """Assign the results of two branches to one name, or to one for each part."""
        if all(map(is_none, results)):
            return Known(None)
        if all(type(result) is tuple for result in results):
            parts = zip(*results, strict=True)
            return tuple(self._joined(blocks, part) for part in parts)
        if not all(map(is_number, results)):
            raise Cannot("two branches give None and a value, or no numbers")
        name = self.new_name("result")
        for block, result in zip(blocks, results, strict=True):
            with self.into(block):
                self.assign(name, self.expression(result))
        return load_name(name)

    def _emit_if(self, test, body, orelse):
        if body or orelse:
            self.emit(ast.If(self.expression(test), body or [ast.Pass()], orelse))
        else:
            self.discard(test)

    def call(self, function, values, keywords):
        """Return what the result of a call stands for."""
        if isinstance(function, ast.expr):
            return self._written_call(function, values, keywords)
        if isinstance(function, Method):
            function, values = function.function, [function.owner, *values]
        else:
            function = function.value
            is_known = all(isinstance(value, Known) for value in values)
            if is_known and function in FOLDED and not keywords:
                return Known(function(*(value.value for value in values)))
            function = self.replacements.get(function, function)
        if isinstance(function, type) and hasattr(function, "_fields"):
            if any("__new__" in vars(base) for base in function.__mro__[:-3]):
                raise Cannot(f"{function.__name__} has its own __new__")
            values = self._all_arguments(signature(function), values, keywords)
            fields = zip(function._fields, values, strict=True)
            return Record(function, {n: self.kept(v, n) for n, v in fields})
        if can_be_put_in_place(function):
            values = self._all_arguments(parsed(function).signature, values, keywords)
        if function in self.handlers:
            return self.handlers[function](self, *values)
        if function is len and type(values[0]) is tuple:
            self.discard(values[0])
            return Known(len(values[0]))
        compiled = self.apart(function, values)
        if compiled is not None:
            return self._call_apart(function, compiled, values)
        if can_be_put_in_place(function):
            return self.put_in_place(function, values)
        return self._written_call(self._constant(function), values, keywords)

    def _call_apart(self, function, compiled, values):
        """Write the call of a function that is compiled by itself."""
        call = self._written_call(self._constant(compiled), leaf_values(values), {})
        returns_none = parsed(function).returns_none
        if returns_none == {False}:
            return call
        if len(returns_none) == 2:
            raise Cannot(f"{function.__qualname__} returns None in some cases")
        self.emit(ast.Expr(call))
        return Known(None)

    def _all_arguments(self, signature, values, keywords):
        """Return the arguments in order, with those by name and the defaults."""
        if keywords:  # they are evaluated in the order of the call
            values = [self.kept(value) for value in values]
            keywords = {name: self.kept(v, name) for name, v in keywords.items()}
        given = signature.bind(*values, **keywords).arguments
        return [
            given[name] if name in given else Known(parameter.default)
            for name, parameter in signature.parameters.items()
        ]

    def _written_call(self, function, values, keywords):
        by_name = [ast.keyword(n, self.expression(v)) for n, v in keywords.items()]
        return ast.Call(function, [*map(self.expression, values)], by_name)

    # Statements.

    def statements(self, nodes):
        """Write statements, up to one that leaves the block."""
        for node in nodes:
            self.statement(node)
            if always_leaves(self.block, LEAVING):
                break

    def statement(self, node):
        """Write a statement."""
        self.handle(node, "")

    def _pass(self, node):
        pass

    def _expr(self, node):
        self.discard(self.evaluate(node.value))

    def _return(self, node):
        value = Known(None) if node.value is None else self.evaluate(node.value)
        self.emit(ast.Return(self.expression(value)))

    def _break(self, node):
        self.emit(ast.Break())

    def _continue(self, node):
        self.emit(ast.Continue())

    def _assign(self, node):
        value = self.evaluate(node.value)
        if len(node.targets) > 1:
            value = self.kept(value)
        for target in node.targets:
            self._store(target, value)

    def _store(self, target, value):
        if isinstance(target, ast.Tuple):
            self._store_parts(target, value)
        elif isinstance(target, ast.Name):
            self._store_name(target.id, value)
        else:
            with self.into([]) as needed:
                target = self._target(target)
            if needed:
                value = self.kept(value)
            self.block += needed
            self.emit(ast.Assign([target], self.expression(value)))

    def _store_parts(self, target, value):
        if isinstance(value, Record):
            value = tuple(value.fields.values())
        if isinstance(value, Known):
            value = tuple(map(Known, value.value))
        if isinstance(value, tuple):
            if len(value) > 1:
                value = self._before(target.elts, value)
            for one, part in zip(target.elts, value, strict=True):
                self._store(one, part)
            return
        if not all(isinstance(one, ast.Name) for one in target.elts):
            raise Cannot("parts of an array are assigned to more than variables")
        self.emit(ast.Assign([self._target(target)], self.expression(value)))

    def _before(self, targets, parts):
        """Return parts of a tuple as they are before any of the targets is assigned."""
        assigned = {self.scope.names.get(getattr(each, "id", None)) for each in targets}
        are_plain = all(isinstance(target, ast.Name) for target in targets)
        leaves = [each for each in leaf_values(parts) if isinstance(each, ast.expr)]
        in_any_order = are_plain and not any(map(may_write, leaves))
        before = []
        for part in parts:
            if not isinstance(part, ast.expr) or isinstance(part, ast.Constant):
                part = self.kept(part, "before", self._varying)
            else:
                names = {node.id for node in walk([part]) if isinstance(node, ast.Name)}
                if not in_any_order or names & (assigned | self._fleeting):
                    part = self.copied(part, "before")
            before.append(part)
        return before

    def _store_name(self, name, value):
        scope, is_known = self.scope, isinstance(value, Known)
        is_fixed = isinstance(value, ast.Name) and value.id in self._fixed
        # A parameter has a value before.
        is_parameter = name in scope.source.parameters
        is_assigned_once = scope.source.n_assigned[name] == 1 and not is_parameter
        if not is_number(value) or (is_assigned_once and (is_known or is_fixed)):
            if name in scope.carried:
                raise Cannot(f"{name!r} is no number after a step of the loop")
            scope.values[name] = self.kept(value, name, self._varying)
        else:
            self.assign(self.variable(name), self.expression(value))
            scope.values[name] = load_name(self.variable(name))

    def _target(self, target):
        """Return the expression of something that is assigned."""
        if isinstance(target, ast.Name):
            self.scope.values[target.id] = load_name(self.variable(target.id))
            return ast.Name(self.variable(target.id), ast.Store())
        if isinstance(target, ast.Tuple):
            return ast.Tuple([*map(self._target, target.elts)], ast.Store())
        if not isinstance(target, ast.Subscript):
            raise Cannot(f"{type(target).__name__} cannot be assigned")
        owner, place = self.operands([target.value, target.slice])
        if hasattr(owner, "entry"):
            entry = owner.entry(self.expression(place))
        elif isinstance(owner, ast.expr):
            entry = ast.Subscript(owner, self.expression(place))
        else:
            raise Cannot("entries are assigned of what is no array")
        entry.ctx = ast.Store()
        return entry

    def _augassign(self, node):
        if isinstance(node.target, ast.Name):
            target = self._name_value(node.target)
            if not isinstance(target, ast.Name):
                raise Cannot(f"{node.target.id!r} is no number")
            target = ast.Name(target.id, ast.Store())
        else:
            target = self._target(node.target)
        with self.into([]) as needed:
            value = self.expression(self.evaluate(node.value))
        if isinstance(target, ast.Subscript) and self._writes(needed):
            raise Cannot("what is added by a call that may change what it is added to")
        self.block += needed
        self.emit(ast.AugAssign(target, node.op, value))

    def _writes(self, statements):
        """Whether statements may change more than variables of their own."""
        return any(
            (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
            or (isinstance(node, ast.Name) and node.id in self._fleeting)
            or (isinstance(node, ast.expr) and may_write(node))
            for node in walk(statements)
        )

    def _if(self, node):
        test = self.condition(node.test)
        if isinstance(test, Known):
            self.statements(node.body if test.value else node.orelse)
            return
        blocks, before, after = [], self.scope.values, []
        for branch in node.body, node.orelse:
            self.scope.values = dict(before)
            with self.into([]) as block:
                self.statements(branch)
            blocks.append(block)
            if not always_leaves(block, LEAVING):
                after.append(self.scope.values)
        first, last = after[:1] or [before], after[-1:] or [before]
        self.scope.values = self._values_of_either(*first, *last)
        self._emit_if(test, *blocks)

    def _values_of_either(self, first, second):
        """Return what variables stand for after one branch or another."""
        values = {}
        for name in first.keys() & second.keys():
            one, other = first[name], second[name]
            is_variable = isinstance(one, ast.Name) and names_of(one) == names_of(other)
            values[name] = one if one is other or is_variable else Ambiguous(name)
        return values

    @contextmanager
    def _steps(self, node):
        """Write what a loop runs: its variables may have changed when it runs again."""
        if node.orelse:
            raise Cannot("`else` after a loop cannot be compiled")
        scope = self.scope
        changed = [name for name in assigned([node]) if name in scope.values]
        numbers = {n for n in changed if isinstance(scope.values[n], ast.Name)}
        scope.values |= {name: Ambiguous(name) for name in {*changed} - numbers}
        values, carried = dict(scope.values), scope.carried
        scope.carried = carried | numbers
        yield
        scope.values, scope.carried = values, carried

    def _while(self, node):
        with self._steps(node):
            with self.into([]) as needed:
                test = self.condition(node.test)
            if needed:
                raise Cannot("a condition of `while` has calls: use `while True`")
            with self.into([]) as body:
                self.statements(node.body)
        self.emit(ast.While(self.expression(test), body or [ast.Pass()], []))

    def _for(self, node):
        iterated = self.evaluate(node.iter)
        iterated = Known(()) if iterated == () else iterated
        if isinstance(iterated, Known) and self._needs_no_loop(node, iterated.value):
            for value in iterated.value:
                self.scope.values[node.target.id] = Known(value)
                self.statements(node.body)
                self.scope.values[node.target.id] = Ambiguous(node.target.id)
            return
        if not all(
            isinstance(each, (ast.Name, ast.Tuple, ast.Store))
            for each in ast.walk(node.target)
        ):
            raise Cannot("a loop assigns more than variables")
        with self._steps(node), self.into([]) as body:
            target = self._target(node.target)
            self.statements(node.body)
        body = body or [ast.Pass()]
        self.emit(ast.For(target, self.expression(iterated), body, []))

    def _needs_no_loop(self, node, iterated):
        """Whether it is known that a loop has no step, or a single one to its end."""
        if node.orelse or len(iterated) > 1:
            return False
        is_number = isinstance(node.target, ast.Name)
        is_carried = is_number and node.target.id in self.scope.carried
        leaves = any(isinstance(e, (ast.Break, ast.Continue)) for e in walk(node.body))
        return not iterated or (is_number and not is_carried and not leaves)


#: Return the signature of a class.
signature = cache(inspect.signature)


def can_be_put_in_place(function):
    """Whether the source of a function is that of its compiled form."""
    if not isinstance(function, FunctionType):
        return False
    return function.__module__.partition(".")[0] not in ("numba", "numpy")
