"""Arrays that loops need not count as in use.

Compiled code counts the uses of an array up and down again wherever the array is sliced
or taken out of a tuple, by operations that cost as much as ten others. Loops can do
without: their callers hold the arrays while they run.
"""

from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def without_owner(typing_context, value):
    """Return an array, or the arrays of a tuple, as views without an owner."""

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
