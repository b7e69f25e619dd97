"""Evaluate expressions of functions that are flattened."""

import ast
import inspect
import operator
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

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
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

    def _binop_value(self, node):
        left, right = self.operands([node.left, node.right])
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(OPERATORS[type(node.op)](left.value, right.value))
        is_whole = isinstance(left, Known) and isinstance(left.value, int)
        if is_whole and isinstance(node.op, ast.Pow):
            raise Cannot(f"{left.value} ** n is 0 for n < 0: write {left.value}.0 ** n")
        return ast.BinOp(self.expression(left), node.op, self.expression(right))

    def _unaryop_value(self, node):
        if isinstance(node.op, ast.Not):
            return self.condition(node)
        operand = self.evaluate(node.operand)
        if isinstance(operand, Known):
            return Known(OPERATORS[type(node.op)](operand.value))
        if isinstance(node.op, ast.Invert):
            raise Cannot("~ means another thing for True than for 1")
        return ast.UnaryOp(node.op, self.expression(operand))

    def _compare_value(self, node):
        if len(node.ops) > 1:
            return self._compared_in_turn(node)
        left, right = self.operands([node.left, *node.comparators])
        (op,) = node.ops
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(OPERATORS[type(op)](left.value, right.value))
        if isinstance(op, (ast.In, ast.NotIn)):
            raise Cannot("`in` cannot be compiled")
        is_identity = isinstance(op, (ast.Is, ast.IsNot))
        if is_identity is not (is_none(left) or is_none(right)):
            raise Cannot("compiled code compares with None, and only so, by `is`")
        if is_identity:
            self.discard((left, right))
            return Known(isinstance(op, ast.IsNot))
        return ast.Compare(self.expression(left), [op], [self.expression(right)])

    def _compared_in_turn(self, node):
        """Evaluate a chain of comparisons; those after one that fails are not made."""
        with self.into([]) as needed:
            values = self.operands([node.left, *node.comparators])
        are_known = all(isinstance(value, Known) for value in values)
        if not needed and not are_known and all(map(is_number, values)):
            first, *others = map(self.expression, values)
            return ast.Compare(first, node.ops, others)
        if needed or not are_known:
            raise Cannot("a chain of comparisons has calls, or more than numbers")
        pairs = zip(values, node.ops, values[1:], strict=False)
        return Known(all(OPERATORS[type(op)](a.value, b.value) for a, op, b in pairs))

    def condition(self, node):
        """Return what the truth of an expression stands for."""
        if isinstance(node, ast.BoolOp):
            return self._boolop_value(node, self.condition)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            value = self.condition(node.operand)
            if isinstance(value, Known):
                return Known(not value.value)
            return ast.UnaryOp(node.op, self.expression(value))
        value = self.evaluate(node)
        if isinstance(value, Record) or type(value) is tuple:
            self.discard(value)
            return Known(value != ())
        return Known(bool(value.value)) if isinstance(value, Known) else value

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
                stops = bool(value.value) is stops_at
                if not parts and (stops or len(rest) == 1):
                    return value
                if evaluate and stops:
                    self.discard(self._either(node.op, parts))
                    return value
                if not stops and (evaluate or len(rest) > 1):
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
        name, first = self.new_name("holds"), self._either(op, parts)
        self.assign(name, self.expression(first))
        with self.into([]) as block:
            node = ast.copy_location(ast.BoolOp(op, rest), rest[0])
            value = self._boolop_value(node, evaluate)
            if not is_number(value):
                raise Cannot("`and` and `or` cannot be compiled but for numbers")
            self.assign(name, self.expression(value))
        test = load_name(name)
        if isinstance(op, ast.Or):
            test = ast.UnaryOp(ast.Not(), test)
        self._emit_if(test, block, [])
        return load_name(name)

    def _ifexp_value(self, node):
        test = self.condition(node.test)
        if isinstance(test, Known):
            return self.evaluate(node.body if test.value else node.orelse)
        blocks, values = [], []
        for branch in node.body, node.orelse:
            with self.into([]) as block:
                values.append(self.evaluate(branch))
            blocks.append(block)
        if not any(blocks) and all(map(is_number, values)):
            body, orelse = map(self.expression, values)
            return ast.IfExp(self.expression(test), body, orelse)
        result = self._joined(blocks, values)
        self._emit_if(test, *blocks)
        return result
