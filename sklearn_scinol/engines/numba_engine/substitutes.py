"""Compiled counterparts of what `_portable` has for NumPy.

The pass over a matrix is written in vectors of four numbers. Of a loop over numbers the
compiler makes one of vectors only if arrays do not overlap, which it has to find out
for each row, and what is left of a row that is no multiple of sixteen runs number by
number: on twenty features that is all of it.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

from ... import _portable
from ..._portable import BLOCK
from . import exponentials

NUMBER = ir.DoubleType()
VECTOR = ir.VectorType(NUMBER, BLOCK)
FUSED = ("contract",)

#: Maps functions for NumPy to functions of scalars and loops, see :func:`compiles`.
SUBSTITUTES = {
    _portable.exp: exponentials.exp,
    _portable.expm1: exponentials.expm1,
    _portable.log1p: exponentials.log1p,
    _portable.cosine: exponentials.cosine,
    _portable.each: range,
}


def compiles(function):
    """Mark the compiled counterpart of a function for NumPy."""

    def mark(substitute):
        SUBSTITUTES[function] = substitute
        return substitute

    return mark


# Numba compiles each `max` and `min` by itself, which takes 15 ms, and a conditional
# expression might become a jump, which takes long when it is not foreseen.


@compiles(max)
@compiles(_portable.larger)
@intrinsic
def larger(typing_context, a, b):
    return _selected(">", typing_context, a, b)


@compiles(min)
@compiles(_portable.smaller)
@intrinsic
def smaller(typing_context, a, b):
    return _selected("<", typing_context, a, b)


def _selected(comparison, typing_context, a, b):
    """Select `b` if it compares so with `a`, else `a`."""
    kind = typing_context.unify_types(a, b)

    def codegen(context, builder, signature, arguments):
        given = zip(arguments, signature.args, strict=True)
        a, b = (context.cast(builder, value, own, kind) for value, own in given)
        is_float = isinstance(kind, types.Float)
        compare = builder.fcmp_ordered if is_float else builder.icmp_signed
        return builder.select(compare(comparison, b, a), b, a)

    return kind(a, b), codegen


@compiles(_portable.chosen)
def chosen(condition, a, b):
    return a if condition else b


@compiles(_portable.softmax)
def softmax(p, out):
    largest = p[0]
    for k in range(1, p.size):
        largest = larger(largest, p[k])
    for k in range(p.size):
        out[k] = exponentials.exp(p[k] - largest)
    total = 0.0
    for k in range(p.size):
        total += out[k]
    for k in range(p.size):
        out[k] /= total


@compiles(_portable.log_sum_exp)
def log_sum_exp(p):
    largest = p[0]
    for k in range(1, p.size):
        largest = larger(largest, p[k])
    total = 0.0
    for k in range(p.size):
        total += exponentials.exp(p[k] - largest)
    return largest + np.log(total)


@compiles(_portable.inner)
def inner(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiles(_portable.copy_into)
def copy_into(a, out):
    for i in range(a.size):
        out[i] = a[i]


@compiles(_portable.flat)
@intrinsic
def flat(typing_context, array):
    """Return a view without an owner; `ravel` would take as long as a short loop."""
    if array.layout != "C":
        return None  # which is refused: entries are not side by side

    def codegen(context, builder, signature, arguments):
        array = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
        view = arrayobj.make_array(signature.return_type)(context, builder)
        size, step = array.nitems, array.itemsize
        arrayobj.populate_array(view, array.data, [size], [step], step, None)
        return view._getvalue()

    return array.copy(ndim=1)(array), codegen


@compiles(_portable.count_at_most)
def count_at_most(values, limit, n):
    count = 0
    for i in range(n):
        count += values[i] <= limit
    return count


@compiles(_portable.sum_at_most)
def sum_at_most(values, limit, n, a):
    total = 0.0
    for i in range(n):
        total += chosen(values[i] <= limit, a[i], 0.0)
    return total


@compiles(_portable.add_multiple)
def add_multiple(factor, a, out):
    for i in range(a.size):
        out[i] += factor * a[i]


@compiles(_portable.box_distance)
def box_distance(x, low, high, factors):
    total = 0.0
    for j in range(x.size):
        total += (max(low[j] - x[j], 0.0) + max(x[j] - high[j], 0.0)) * factors[j]
    return total


@compiles(_portable.extend_box)
def extend_box(x, low, high):
    for j in range(x.size):
        low[j] = min(low[j], x[j])
        high[j] = max(high[j], x[j])


@compiles(_portable.clip_into)
def clip_into(a, largest, out):
    for i in range(a.size):
        out[i] = min(max(a[i], -largest), largest)


@compiles(_portable.trace)
def trace(P, n):
    # Each of a block's four entries has a sum of its own, so that none waits.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for first in range(0, n, BLOCK):
        step = first + BLOCK + 1
        i = _start_of_row(first) + first
        a += P[i]
        b += P[i + step]
        c += P[i + 2 * step]
        d += P[i + 3 * step]
    return (a + b) + (c + d)


@compiles(_portable.move_and_multiply)
def move_and_multiply(w, P, v, g, root, growth, x, u):
    _pass_over(w, P, v, g, root, growth, x, u)
    return inner(w, x), inner(u, x)


def _start_of_row(i):
    """Return the place of the first entry of a triangle's row."""
    block = i // BLOCK
    return BLOCK * (block + 1) * (BLOCK // 2 * block + i % BLOCK)


@intrinsic
def _pass_over(typing_context, w, P, v, g, root, growth, x, u):
    def codegen(context, builder, signature, arguments):
        array_types = dict(enumerate(signature.args))
        w, P, v, x, u = (
            arrayobj.make_array(array_types[i])(context, builder, arguments[i])
            for i in (0, 1, 2, 6, 7)
        )
        g, root, growth = (repeated(builder, arguments[i], BLOCK) for i in (3, 4, 5))
        n = cgutils.unpack_tuple(builder, x.shape)[0]
        n_blocks = builder.udiv(n, _whole(BLOCK))
        one = ir.Constant(NUMBER, 1.0)
        grows = builder.fcmp_unordered("!=", arguments[5], one)
        with builder.if_else(grows) as branches:
            for branch, factor in zip(branches, (growth, None), strict=True):
                with branch, cgutils.for_range(builder, n_blocks) as outer:
                    numbers = g, root, factor
                    _pass_over_rows(builder, outer.index, w, P, v, *numbers, x, u)
        return context.get_dummy_value()

    return types.void(w, P, v, g, root, growth, x, u), codegen


def _pass_over_rows(builder, block, w, P, v, g, root, growth, x, u):
    """Four rows of the matrix: columns before the diagonal, then the block on it.

    Without a growth, None, it takes a quarter less.
    """
    first = builder.mul(block, _whole(BLOCK))
    v_rows, x_rows = _load(builder, v, first), _load(builder, x, first)
    w_rows = _load(builder, w, first)
    moved = builder.fadd(w_rows, builder.fmul(g, v_rows, flags=FUSED), flags=FUSED)
    _store(builder, w, first, moved)
    scaled = builder.fmul(root, v_rows)
    width = builder.add(first, _whole(BLOCK))
    # Blocks of four rows before this one hold 4 * 4 * (1 + 2 + ... + block) numbers.
    start = builder.mul(width, builder.mul(block, _whole(BLOCK // 2)))
    starts, scaled_row, x_row, sums = [], [], [], []
    for r in range(BLOCK):
        starts.append(builder.add(start, builder.mul(width, _whole(r))))
        scaled_row.append(repeated(builder, _entry(builder, scaled, r), BLOCK))
        x_row.append(repeated(builder, _entry(builder, x_rows, r), BLOCK))
        sums.append(cgutils.alloca_once_value(builder, ir.Constant(VECTOR, None)))
        builder.store(ir.Constant(VECTOR, [ir.Constant(NUMBER, 0.0)] * BLOCK), sums[r])

    def changed(r, column, scaled_columns):
        product = builder.fmul(scaled_row[r], scaled_columns, flags=FUSED)
        p = _load(builder, P, builder.add(starts[r], column))
        p = builder.fsub(p, product, flags=FUSED)
        return p if growth is None else builder.fmul(growth, p)

    def add_up(r, p, x_columns):
        product = builder.fmul(p, x_columns, flags=FUSED)
        total = builder.fadd(builder.load(sums[r]), product, flags=FUSED)
        builder.store(total, sums[r])

    with cgutils.for_range(builder, block) as inner:
        column = builder.mul(inner.index, _whole(BLOCK))
        scaled_columns = builder.fmul(root, _load(builder, v, column))
        x_columns, products = _load(builder, x, column), []
        for r in range(BLOCK):
            p = changed(r, column, scaled_columns)
            _store(builder, P, builder.add(starts[r], column), p)
            add_up(r, p, x_columns)
            products.append(builder.fmul(p, x_row[r], flags=FUSED))
        # In pairs: waiting for the previous sum would take most of the time.
        while len(products) > 1:
            products = [
                builder.fadd(*pair, flags=FUSED)
                for pair in zip(products[::2], products[1::2], strict=True)
            ]
        total = builder.fadd(_load(builder, u, column), products[0])
        _store(builder, u, column, total)
    for r in range(BLOCK):
        p = changed(r, first, scaled)
        floor = ir.Constant(VECTOR, [0.0 if i == r else -np.inf for i in range(BLOCK)])
        p = builder.select(builder.fcmp_ordered("<", p, floor), floor, p)
        _store(builder, P, builder.add(starts[r], first), p)
        add_up(r, p, x_rows)
    _store(builder, u, first, _sums(builder, [builder.load(total) for total in sums]))


def _sums(builder, vectors):
    """Sums of the entries of four vectors, as a vector."""
    a, b, c, d = vectors

    def paired(a, b, places, others):
        return builder.fadd(
            builder.shuffle_vector(a, b, _places(places)),
            builder.shuffle_vector(a, b, _places(others)),
        )

    of_a_and_b = paired(a, b, (0, 4, 2, 6), (1, 5, 3, 7))
    of_c_and_d = paired(c, d, (0, 4, 2, 6), (1, 5, 3, 7))
    return paired(of_a_and_b, of_c_and_d, (0, 1, 4, 5), (2, 3, 6, 7))


def _whole(n):
    return ir.Constant(cgutils.intp_t, n)


def _place(r):
    return ir.Constant(ir.IntType(32), r)


def _places(places):
    return ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))


def _entry(builder, vector, r):
    return builder.extract_element(vector, _place(r))


def repeated(builder, number, n):
    """Return a vector of one number."""
    none = ir.Constant(ir.VectorType(number.type, n), ir.Undefined)
    vector = builder.insert_element(none, number, _place(0))
    return builder.shuffle_vector(vector, none, _places([0] * n))


def pointer_to(builder, array, i, vector):
    """Return a pointer to numbers of an array from place `i` on, as a vector."""
    return builder.bitcast(builder.gep(array.data, [i]), vector.as_pointer())


def _load(builder, array, i):
    return builder.load(pointer_to(builder, array, i, VECTOR), align=8)


def _store(builder, array, i, vector):
    builder.store(vector, pointer_to(builder, array, i, VECTOR), align=8)
