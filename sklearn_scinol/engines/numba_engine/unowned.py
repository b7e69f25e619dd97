"""Arrays that loops need not count as in use.

Compiled code counts the uses of an array up and down again wherever the array is sliced
or taken out of a tuple, by operations that cost as much as ten others. A loop whose
caller holds the arrays while it runs can do without.
"""

from numba.core import cgutils, types
from numba.extending import intrinsic

from .flattening.values import names_of


def unowned(value):
    """Return the arrays of an argument as views without an owner."""
    return value


def _view(flattener, value):
    flattener.unowned.update(dict.fromkeys(names_of(value), without_owner))
    return value


HANDLERS = {unowned: _view}


@intrinsic
def without_owner(typing_context, value):
    def codegen(context, builder, signature, arguments):
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return value(value), codegen


def _without_owner(context, builder, type_, value):
    if isinstance(type_, types.Array):
        array = context.make_array(type_)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        return array._getvalue()
    if isinstance(type_, types.BaseTuple):
        for i, part in enumerate(type_.types):
            unowned_part = _without_owner(
                context, builder, part, builder.extract_value(value, i)
            )
            value = builder.insert_value(value, unowned_part, i)
    return value
