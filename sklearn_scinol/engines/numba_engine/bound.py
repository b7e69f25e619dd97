"""Calls of compiled loops whose arguments are bound once.

Numba looks at all arguments in each call, which takes longer than to learn a row. So
they are written into a table of numbers: of an array its address, shape and strides. A
small function reads the table and calls the loop. Any number of such calls, one after
the other, are a single one for Python.
"""

import ctypes
from functools import cache
from itertools import count, groupby

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.np.arrayobj import populate_array

WORD = ir.IntType(64)
POINTER = WORD.as_pointer()

_numbers = count()


class BoundCalls:
    """Calls of compiled loops, one after the other; they read arrays when called.

    Parameters
    ----------
    places : ndarray of shape (n_calls, 2)
        Addresses of functions that read a table, and of their tables.
    kept : object
        What is at these addresses.
    """

    def __init__(self, places, kept):
        self.places, self.kept = places, kept
        self._arguments = len(places), places.ctypes.data
        self._run = _runner()

    def __call__(self):
        self._run(*self._arguments)


def bind(compiled, arguments):
    """Return the call of a compiled function, whose result is lost.

    Arguments are arrays, numbers, None, and tuples of these.
    """
    own, library = compiled.fndesc, compiled.library
    words = [library.get_pointer_to_function(own.llvm_func_name)]
    for type_, value in zip(own.argtypes, arguments, strict=True):
        words += _words(type_, value)
    table = np.array(words, np.uint64)
    reader = _reader(own.restype, own.argtypes)
    places = np.array([[reader, table.ctypes.data]], np.uint64)
    return BoundCalls(places, (library, table, arguments))


def joined(calls):
    """Join bound calls that follow each other; return all functions, in order."""
    functions = []
    for kind, group in groupby(calls, type):
        group = [*group]
        if kind is BoundCalls:
            places = np.concatenate([each.places for each in group])
            group = [BoundCalls(places, [each.kept for each in group])]
        functions += group
    return functions


def _words(type_, value):
    """Return what a table has of an argument."""
    if isinstance(type_, types.Array):
        signed = [value.ctypes.data, *value.shape, *value.strides]
        return [each % 2**64 for each in signed]
    if isinstance(type_, types.BaseTuple):
        pairs = zip(type_.types, value, strict=True)
        return [word for pair in pairs for word in _words(*pair)]
    if isinstance(type_, types.NoneType):
        return []
    if type_ == types.float64:
        return [int(np.float64(value).view(np.uint64))]
    return [int(value) % 2**64]


def _read(context, builder, words, type_):
    """Return the value of an argument of a type, from an iterator over words."""
    if isinstance(type_, types.Array):
        array = context.make_array(type_)(context, builder)
        data = builder.inttoptr(next(words), array.data.type)
        shape, strides = ([next(words) for _ in range(type_.ndim)] for _ in range(2))
        size = context.get_abi_sizeof(context.get_data_type(type_.dtype))
        populate_array(array, data, shape, strides, WORD(size), meminfo=None)
        return array._getvalue()
    if isinstance(type_, types.BaseTuple):
        parts = [_read(context, builder, words, each) for each in type_.types]
        return context.make_tuple(builder, type_, parts)
    if isinstance(type_, types.NoneType):
        return context.get_dummy_value()
    to = context.get_value_type(type_)
    if type_ == types.float64:
        return builder.bitcast(next(words), to)
    word = next(words)
    return word if to == WORD else builder.trunc(word, to)


@cache
def _reader(restype, argtypes):
    """Return the address of a function that reads a table and calls a loop."""
    context, name = cpu_target.target_context, f"read_table_{next(_numbers)}"
    kind = context.call_conv.get_function_type(restype, argtypes)

    def build(builder, table):
        def words():
            for i in count():
                yield builder.load(builder.gep(table, [WORD(i)]))

        of_table = words()
        function = builder.inttoptr(next(of_table), kind.as_pointer())
        values = [_read(context, builder, of_table, each) for each in argtypes]
        context.call_conv.call_function(builder, function, restype, argtypes, values)
        builder.ret_void()

    return _compiled(name, [POINTER], build)


@cache
def _runner():
    """Return a function that makes calls: their number, and where their places are."""

    def build(builder, n, places):
        reader = ir.FunctionType(ir.VoidType(), [POINTER])
        start, loop = builder.block, builder.append_basic_block("loop")
        end = builder.append_basic_block("end")
        builder.branch(loop)
        builder.position_at_end(loop)
        i = builder.phi(WORD)
        at = builder.mul(i, WORD(2))
        address = builder.load(builder.gep(places, [at]))
        table = builder.load(builder.gep(places, [builder.add(at, WORD(1))]))
        function = builder.inttoptr(address, reader.as_pointer())
        builder.call(function, [builder.inttoptr(table, POINTER)])
        after = builder.add(i, WORD(1))
        i.add_incoming(WORD(0), start)
        i.add_incoming(after, loop)
        builder.cbranch(builder.icmp_signed("<", after, n), loop, end)
        builder.position_at_end(end)
        builder.ret_void()

    address = _compiled("run_calls", [WORD, POINTER], build)
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(address)


_libraries: list = []  # which own the code


@global_compiler_lock
def _compiled(name, parameters, build):
    """Compile a function without a result; return its address."""
    context = cpu_target.target_context
    library, module = (
        context.codegen().create_library(name),
        context.create_module(name),
    )
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), parameters), name)
    build(ir.IRBuilder(function.append_basic_block()), *function.args)
    library.add_ir_module(module)
    library.finalize()
    _libraries.append(library)
    return library.get_pointer_to_function(name)
