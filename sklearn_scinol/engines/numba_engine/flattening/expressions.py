"""Evaluate expressions of functions that are flattened."""

import ast
import inspect
from types import FunctionType

from .values import (
    Ambiguous,
    Cannot,
    Known,
    Method,
    Record,
    calls,
    is_none,
    is_number,
    load_name,
)
from .writer import Writer


class Expressions(Writer):
    """Find out what expressions stand for; write the statements that they need."""

    def evaluate(self, node):
        """Return what an expression stands for."""
        return self.handle(node, "_value")

    def operands(self, nodes):
        """Evaluate operands in order, also where a later one needs statements."""
        values = []
        for node in nodes:
            n_before = len(self.block)
            value = self.evaluate(node)
            added = self.block[n_before:]
            if added:
                del self.block[n_before:]
                values = [self.kept(each) for each in values]
                self.block += added
            values.append(value)
        return values

    def _name_value(self, node):
        value = self.scope.look_up(node.id)
        if isinstance(value, Ambiguous):
            raise Cannot(f"{value.name!r} stands for different things in two branches")
        return value

    def _constant_value(self, node):
        if not isinstance(node.value, bool | int | float | str | None):
            raise Cannot(f"{node.value!r} cannot be compiled")
        return Known(node.value)

    def _tuple_value(self, node):
        return tuple(self.operands(node.elts))

    def _attribute_value(self, node):
        owner = self.evaluate(node.value)
        if isinstance(owner, Known):
            return Known(getattr(owner.value, node.attr))
        if not isinstance(owner, Record):
            return ast.Attribute(self.expression(owner), node.attr, ast.Load())
        if node.attr in owner.fields:
            return owner.fields[node.attr]
        value = inspect.getattr_static(owner.kind, node.attr)
        if isinstance(value, property):
            return self.put_in_place(value.fget, [owner])
        if isinstance(value, FunctionType):
            return Method(value, owner)
        return Known(value)

    def _subscript_value(self, node):
        owner, place = self.operands([node.value, node.slice])
        if hasattr(owner, "entry"):
            return owner.entry(self.expression(place))
        if isinstance(place, Known) and isinstance(place.value, int):
            if isinstance(owner, Record):
                owner = tuple(owner.fields.values())
            if isinstance(owner, Known):
                return Known(owner.value[place.value])
            if isinstance(owner, tuple):
                return (self.kept(owner) if calls(owner) else owner)[place.value]
        return ast.Subscript(self.expression(owner), self.expression(place), ast.Load())

    def _slice_value(self, node):
        given = node.lower, node.upper, node.step
        values = iter(self.operands([part for part in given if part]))
        return ast.Slice(*(part and self.expression(next(values)) for part in given))

    def _call_value(self, node):
        by_name, n = [keyword.arg for keyword in node.keywords], len(node.args)
        if None in by_name:
            raise Cannot("** cannot be compiled")
        by_keyword = (keyword.value for keyword in node.keywords)
        function, *values = self.operands([node.func, *node.args, *by_keyword])
        return self.call(
            function, values[:n], dict(zip(by_name, values[n:], strict=True))
        )

    def _operation(self, write, values):
        """Write an operation on values, or carry it out if they are known."""
        if not all(isinstance(value, Known) for value in values):
            return write(*map(self.expression, values))
        known = {f"value_{k}": value.value for k, value in enumerate(values)}
        return Known(eval(ast.unparse(write(*map(load_name, known))), known))

    def _binop_value(self, node):
        values = self.operands([node.left, node.right])
        base = values[0].value if isinstance(values[0], Known) else None
        is_power_of_int = isinstance(node.op, ast.Pow) and isinstance(base, int)
        if is_power_of_int and not isinstance(values[1], Known):
            raise Cannot("an int ** n is 0 for n < 0: write a float, such as 2.0 ** n")
        return self._operation(lambda a, b: ast.BinOp(a, node.op, b), values)

    def _unaryop_value(self, node):
        evaluate = self.condition if isinstance(node.op, ast.Not) else self.evaluate
        value = evaluate(node.operand)
        if isinstance(node.op, ast.Invert) and not isinstance(value, Known):
            raise Cannot("~ means another thing for True than for 1")
        return self._operation(lambda operand: ast.UnaryOp(node.op, operand), [value])

    def _compare_value(self, node):
        n_before = len(self.block)
        values = self.operands([node.left, *node.comparators])
        needs_statements = len(self.block) > n_before
        if len(node.ops) > 1 and (needs_statements or not all(map(is_number, values))):
            raise Cannot("a chain of comparisons has calls, or more than numbers")
        if not all(isinstance(value, Known) for value in values):
            if any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
                raise Cannot("`in` cannot be compiled")
            is_identity = any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
            if is_identity is not any(map(is_none, values)):
                raise Cannot("compiled code compares with None, and only so, by `is`")
            if is_identity:
                self.discard(tuple(values))
                return Known(isinstance(node.ops[0], ast.IsNot))
        return self._operation(
            lambda first, *others: ast.Compare(first, node.ops, [*others]), values
        )

    def condition(self, node):
        """Return what the truth of an expression stands for."""
        if isinstance(node, ast.BoolOp):
            return self._boolop_value(node, self.condition)
        value = self.evaluate(node)
        if isinstance(value, Known):
            return Known(bool(value.value))
        if not isinstance(value, ast.expr):
            raise Cannot("the truth of a tuple, NamedTuple or method is asked for")
        return value

    def _boolop_value(self, node, evaluate=None):
        """Evaluate `and` or `or`; by :meth:`condition` where the truth alone counts."""
        stops_at, parts = isinstance(node.op, ast.Or), []
        for place, operand in enumerate(node.values):
            with self.into([]) as needed:
                value = (evaluate or self.evaluate)(operand)
            rest = node.values[place:]
            if parts and needed:
                return self._branching_boolop(node.op, parts, rest, evaluate)
            self.block += needed
            if isinstance(value, Known):
                truth_counts = evaluate and parts
                stops = bool(value.value) is stops_at
                if stops and truth_counts:
                    self.discard(self._either(node.op, parts))
                    return value
                if not stops and (truth_counts or len(rest) > 1):
                    continue
            parts.append(value)
            if isinstance(value, Known):
                break
        return self._either(node.op, parts)

    def _either(self, op, parts):
        """Return what operands of `and` or `or` amount to."""
        if len(parts) == 1:
            return parts[0]
        if not all(map(is_number, parts)):
            raise Cannot("`and` and `or` cannot be compiled but for numbers")
        return ast.BoolOp(op, [self.expression(part) for part in parts])

    def _branching_boolop(self, op, parts, rest, evaluate):
        """Evaluate operands that need statements only where they count."""
        first = self.copied(self.expression(self._either(op, parts)), "holds")
        with self.into([]) as block:
            node = ast.copy_location(ast.BoolOp(op, rest), rest[0])
            value = self._boolop_value(node, evaluate)
        branches = [(block, value), ([], first)]
        if isinstance(op, ast.Or):
            branches.reverse()
        return self._chosen(first, branches)

    def _ifexp_value(self, node):
        test = self.condition(node.test)
        if isinstance(test, Known):
            return self.evaluate(node.body if test.value else node.orelse)
        branches = []
        for branch in node.body, node.orelse:
            with self.into([]) as block:
                value = self.evaluate(branch)
            branches.append((block, value))
        values = [value for _, value in branches]
        if not any(block for block, _ in branches) and all(map(is_number, values)):
            body, orelse = map(self.expression, values)
            return ast.IfExp(self.expression(test), body, orelse)
        return self._chosen(test, branches)
