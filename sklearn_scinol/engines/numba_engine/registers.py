"""A coordinate's state in registers while a row's pass works on it.

Learners write their state into arrays, and the processor would have to read back what
it has just written, which takes longer than most formulas do. So compiled loops give
them arrays of one entry each, which the compiler replaces by registers once it has put
a learner's methods in place.
"""

from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np import arrayobj

__all__ = ["load", "move", "registers", "store"]


def registers(s):
    """Room for one coordinate of the state; uncompiled, the state itself."""
    return s


def load(own, s, i):
    """Take coordinate `i` of the state; returns where it is in `own`."""
    return i


def store(own, s, i):
    """Put coordinate `i` of the state back."""


def move(own, s, i, target, j):
    """Copy coordinate `i` of the state to coordinate `j` of another."""
    for values, of_target in zip(s, target, strict=True):
        of_target[j] = values[i]


# The memory is on the caller's stack, so `registers` must be inlined.
@overload(registers, inline="always")
def _registers(s):
    return lambda s: _room(s)


@overload(load)
def _load(own, s, i):
    return lambda own, s, i: _taken(own, s, i)


@overload(store)
def _store(own, s, i):
    return lambda own, s, i: _put(own, s, i)


@overload(move)
def _move(own, s, i, target, j):
    def through_registers(own, s, i, target, j):
        _taken(own, s, i)
        _put(own, target, j)

    return through_registers


@intrinsic
def _room(typing_context, s):
    def codegen(context, builder, signature, arguments):
        room = arguments[0]
        for field, type_ in enumerate(_of_coordinates(s)):
            array = arrayobj.make_array(type_)(context, builder)
            number = context.get_data_type(type_.dtype)
            one, size = (context.get_constant(types.intp, n) for n in (1, 8))
            arrayobj.populate_array(
                array,
                data=cgutils.alloca_once(builder, number),
                shape=[one, one],
                strides=[size, size],
                itemsize=size,
                meminfo=None,
            )
            room = builder.insert_value(room, array._getvalue(), field)
        return room

    return s(s), codegen


@intrinsic
def _taken(typing_context, own, s, i):
    def codegen(context, builder, signature, arguments):
        own_value, s_value, index = arguments
        _copy(
            builder,
            _places(context, builder, s, s_value, index),
            _places(context, builder, own, own_value),
        )
        return context.get_constant_null(i)

    return i(own, s, i), codegen


@intrinsic
def _put(typing_context, own, s, i):
    def codegen(context, builder, signature, arguments):
        own_value, s_value, index = arguments
        _copy(
            builder,
            _places(context, builder, own, own_value),
            _places(context, builder, s, s_value, index),
        )
        return context.get_dummy_value()

    return types.void(own, s, i), codegen


def _copy(builder, sources, targets):
    for source, target in zip(sources, targets, strict=True):
        builder.store(builder.load(source), target)


def _of_coordinates(s):
    """Types of the arrays of a state; of none if it is not one of coordinates."""
    return s.types if all(array.ndim == 2 for array in s.types) else ()


def _places(context, builder, s, value, i=None):
    """Pointers to the entries of a state at an index, or of registers."""
    for field, type_ in enumerate(_of_coordinates(s)):
        array = arrayobj.make_array(type_)(
            context, builder, builder.extract_value(value, field)
        )
        if i is None:
            yield array.data
        else:
            yield cgutils.get_item_pointer(
                context, builder, type_, array, cgutils.unpack_tuple(builder, i)
            )
