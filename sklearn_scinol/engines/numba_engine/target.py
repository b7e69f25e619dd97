"""Numba's target with less code for each entry of an array that is read or written.

Numba stores an array's address, shape and strides in memory and reads back what it
needs of them; LLVM removes that again, which is 6 % of the time of compiling.
"""

import operator
from copy import copy
from functools import partial

from numba.core import cgutils, types
from numba.core.cpu import CPUContext
from numba.np import arrayobj

ACCESS = operator.getitem, operator.setitem


class FlatContext(CPUContext):
    """Numba's target for flat functions, which changes nothing of what they compute."""

    @classmethod
    def of(cls, context):
        """Return a copy of Numba's own target, for one function."""
        context = copy(context)
        context.__class__ = cls
        return context

    def get_function(self, function, signature, _firstcall=True):
        if _is_of_entry(function, signature) and not self.enable_boundscheck:
            return partial(_reach_entry, self, signature.args)
        return super().get_function(function, signature, _firstcall)


def _index_types(index):
    return index.types if isinstance(index, types.BaseTuple) else (index,)


def _is_of_entry(function, signature):
    """Whether a function gets or sets a single entry of an array."""
    if getattr(function, "typing_key", None) not in ACCESS:
        return False
    array, index, *_ = signature.args
    indices = _index_types(index)
    are_integers = all(isinstance(each, types.Integer) for each in indices)
    return type(array) is types.Array and are_integers and array.ndim == len(indices)


def _reach_entry(context, kinds, builder, arguments):
    """Write code that gets an entry of an array, or sets it to a third argument."""
    (kind, index_type, *value_type), (array, index, *value) = kinds, arguments
    model = context.data_model_manager[kind]

    def part(name):
        return builder.extract_value(array, model.get_field_position(name))

    shape = cgutils.unpack_tuple(builder, part("shape"))
    is_tuple = isinstance(index_type, types.BaseTuple)
    given = cgutils.unpack_tuple(builder, index) if is_tuple else [index]
    indices = [
        arrayobj.fix_integer_index(context, builder, *of_axis)
        for of_axis in zip(_index_types(index_type), given, shape, strict=True)
    ]
    strides = cgutils.unpack_tuple(builder, part("strides"))
    place = cgutils.get_item_pointer2(
        context, builder, part("data"), shape, strides, kind.layout, indices
    )
    if not value:
        return arrayobj.load_item(context, builder, kind, place)
    value = context.cast(builder, *value, *value_type, kind.dtype)
    return arrayobj.store_item(context, builder, kind, value, place)
