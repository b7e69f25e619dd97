"""Calls of compiled loops whose arguments are bound once.

Numba looks at all arguments in each call, which takes longer than to learn a row. So
they are written once into a table, as the words that compiled code passes: of an array
its address, shape and strides. A small function reads the table and calls the loop. Any
number of such calls, one after the other, are a single one for Python.
"""

import ctypes
from functools import cache
from itertools import groupby

import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

WORD = ir.IntType(64)
POINTER = WORD.as_pointer()


class BoundCalls:
    """Calls of compiled loops, one after the other; they read arrays when called.

    `places`, of shape (n_calls, 2), are addresses of functions that read a table, and
    of their tables; `kept` is what is at these addresses.
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
    """Return the words of an argument, in the order of its data model in Numba."""
    if isinstance(type_, types.Array):
        sizes = value.size, value.itemsize
        signed = [0, 0, *sizes, value.ctypes.data, *value.shape, *value.strides]
        return [word % 2**64 for word in signed]
    if isinstance(type_, types.BaseTuple):
        pairs = zip(type_.types, value, strict=True)
        return [word for pair in pairs for word in _words(*pair)]
    if type_ == types.float64:
        return [int(np.float64(value).view(np.uint64))]
    return [] if value is None else [int(value) % 2**64]


@cache
def _reader(restype, argtypes):
    """Return the address of a function that reads a table and calls a loop."""
    call_conv = cpu_target.target_context.call_conv
    _, _, *kinds = call_conv.get_function_type(restype, argtypes).args
    # All pointers are the same word to compiled code.
    kinds = [WORD if isinstance(kind, ir.PointerType) else kind for kind in kinds]
    function = ir.FunctionType(ir.IntType(32), [POINTER, POINTER, *kinds])
    given, body = [], ["%result = alloca i64, i64 8", "%error = alloca i64"]
    for i, kind in enumerate([WORD, *kinds]):
        body += [
            f"%place{i} = getelementptr i64, {POINTER} %table, i64 {i}",
            f"%word{i} = load i64, {POINTER} %place{i}",
        ]
        given.append(f"{kind} %word{i}")
        if kind != WORD:
            conversion = "bitcast" if kind == ir.DoubleType() else "trunc"
            body.append(f"%part{i} = {conversion} i64 %word{i} to {kind}")
            given[i] = f"{kind} %part{i}"
    given[0] = f"{POINTER} %result, {POINTER} %error"
    body += [
        f"%loop = inttoptr i64 %word0 to {function.as_pointer()}",
        f"call i32 %loop({', '.join(given)})",
        "ret void",
    ]
    return _compiled(f"define void @f({POINTER} %table)", body)


@cache
def _runner():
    """Return a function that makes calls: their number, and where their places are."""
    reader = ir.FunctionType(ir.VoidType(), [POINTER]).as_pointer()
    body = [
        "br label %loop",
        "loop:",
        "%i = phi i64 [0, %0], [%after, %loop]",
        "%at = mul i64 %i, 2",
        f"%place = getelementptr i64, {POINTER} %places, i64 %at",
        f"%address = load i64, {POINTER} %place",
        f"%next = getelementptr i64, {POINTER} %place, i64 1",
        f"%table = load i64, {POINTER} %next",
        f"%read = inttoptr i64 %address to {reader}",
        f"%given = inttoptr i64 %table to {POINTER}",
        f"call void %read({POINTER} %given)",
        "%after = add i64 %i, 1",
        "%is_left = icmp slt i64 %after, %n",
        "br i1 %is_left, label %loop, label %end",
        "end:",
        "ret void",
    ]
    address = _compiled(f"define void @f(i64 %n, {POINTER} %places)", body)
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(address)


_engines: list = []  # which own the code


@global_compiler_lock
def _compiled(signature, body):
    """Compile a function; return its address."""
    code = "\n".join([f"{signature} {{", *body, "}"])
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(code), machine)
    engine.finalize_object()
    _engines.append(engine)
    return engine.get_function_address("f")
