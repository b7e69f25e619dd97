"""Evaluate expressions of functions that are flattened."""

import ast
import inspect
import operator
from types import FunctionType

from .values import Ambiguous, Cannot, Known, Method, Record, load_name
from .writer import Writer

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}


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
                return owner[place.value]
        return ast.Subscript(self.expression(owner), self.expression(place), ast.Load())

    def _slice_value(self, node):
        bounds = [
            None if part is None else self.expression(self.evaluate(part))
            for part in (node.lower, node.upper, node.step)
        ]
        return ast.Slice(*bounds)

    def _call_value(self, node):
        function = self.evaluate(node.func)
        by_name, n = [keyword.arg for keyword in node.keywords], len(node.args)
        values = self.operands([*node.args, *(each.value for each in node.keywords)])
        return self.call(
            function, values[:n], dict(zip(by_name, values[n:], strict=True))
        )

    def _binop_value(self, node):
        left, right = self.operands([node.left, node.right])
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(OPERATORS[type(node.op)](left.value, right.value))
        return ast.BinOp(self.expression(left), node.op, self.expression(right))

    def _unaryop_value(self, node):
        operand = self.evaluate(node.operand)
        if isinstance(operand, Known):
            return Known(OPERATORS[type(node.op)](operand.value))
        return ast.UnaryOp(node.op, self.expression(operand))

    def _compare_value(self, node):
        values = self.operands([node.left, *node.comparators])
        if all(isinstance(value, Known) for value in values):
            pairs = zip(values, node.ops, values[1:], strict=False)
            return Known(
                all(OPERATORS[type(op)](a.value, b.value) for a, op, b in pairs)
            )
        if any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            return Known(isinstance(node.ops[0], ast.IsNot))
        first, *others = map(self.expression, values)
        return ast.Compare(first, node.ops, others)

    def _boolop_value(self, node):
        stops_at = isinstance(node.op, ast.Or)
        parts = []
        for operand in node.values:
            with self.into([]) as needed:
                value = self.evaluate(operand)
            if isinstance(value, Known):
                if bool(value.value) is stops_at:
                    return value
                continue
            if parts and needed:
                return self._branching_boolop(node.op, parts, operand, node.values)
            self.block += needed
            parts.append(value)
        if not parts:
            return Known(not stops_at)
        if len(parts) == 1:
            return parts[0]
        return ast.BoolOp(node.op, [self.expression(part) for part in parts])

    def _branching_boolop(self, op, parts, operand, operands):
        """Evaluate operands that need statements only where they count."""
        name = self.new_name("holds")
        first = [self.expression(part) for part in parts]
        self.assign(name, ast.BoolOp(op, first) if len(first) > 1 else first[0])
        rest = operands[operands.index(operand) :]
        with self.into([]) as block:
            node = rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
            self.assign(name, self.expression(self.evaluate(node)))
        test = load_name(name)
        if isinstance(op, ast.Or):
            test = ast.UnaryOp(ast.Not(), test)
        self._emit_if(test, block, [])
        return load_name(name)

    def _ifexp_value(self, node):
        test = self.evaluate(node.test)
        if isinstance(test, Known):
            return self.evaluate(node.body if test.value else node.orelse)
        blocks, values = [], []
        for branch in node.body, node.orelse:
            with self.into([]) as block:
                values.append(self.evaluate(branch))
            blocks.append(block)
        if not any(blocks) and not any(type(value) is tuple for value in values):
            body, orelse = map(self.expression, values)
            return ast.IfExp(self.expression(test), body, orelse)
        result = self._joined(blocks, values)
        self._emit_if(test, *blocks)
        return result
