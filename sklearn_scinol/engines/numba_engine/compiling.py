"""Compile loops as flat functions, with the options for each kind."""

import gc
import hashlib
import inspect
from contextlib import contextmanager
from functools import cache, partial, wraps
from pathlib import Path
from types import FunctionType

import numba
import numpy as np
from numba.core import types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.errors import NumbaError
from numba.extending import register_jitable

from ... import _portable
from ...losses import methods
from . import exponentials, flat_cache, registers, substitutes
from .bound import bind
from .disk_cache import Cache
from .flat_cache import Description
from .flattening import Flattener, getter, named, parsed, shape, structure
from .sharing import ClaimedElsewhere, compiling
from .target import FlatContext

# Numba's passes for what flat functions do not have: closures, overloads to inline,
# branches that are never taken, array expressions. Theirs are variables of one type, so
# that they need no other form than the one in which they are written.
UNNEEDED = {
    *("WithLift", "InlineClosureLikes", "RewriteSemanticConstants", "DeadBranchPrune"),
    *("RewriteDynamicRaises", "MakeFunctionToJitFunction", "InlineInlinables"),
    *("FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass"),
    *("ReconstructSSA", "PreLowerStripPhis", "InlineOverloads", "NopythonRewrites"),
}


class KnownTypes:
    """Numba's typing context, which finds the type of an operation once a function."""

    def __init__(self, context):
        self._context = context
        self._found = {}

    def __getattr__(self, name):
        return getattr(self._context, name)

    def resolve_function_type(self, function, arguments, keywords):
        find = self._context.resolve_function_type
        if keywords or not isinstance(function, types.Function):
            return find(function, arguments, keywords)
        key = function, tuple(arguments)
        if key not in self._found:
            self._found[key] = find(function, arguments, keywords)
        return self._found[key]


class FlatCompiler(CompilerBase):
    """Numba's compiler, without what flat functions do not need.

    Compiled code counts the uses of an array up and down again wherever the array is
    sliced, by operations that cost as much as ten others. Only loops that make arrays
    need that, with all functions that they call: callers hold all others meanwhile.
    """

    def __init__(self, context, *arguments):
        super().__init__(KnownTypes(context), *arguments)
        self.state.targetctx = FlatContext.of(self.state.targetctx)
        self._arguments = context, *arguments

    def compile_extra(self, function):
        try:
            return super().compile_extra(function)
        except NumbaError:  # perhaps since uses are not counted
            if self.state.flags.nrt or self.state.flags.no_cpython_wrapper:
                raise
        *others, flags, of_locals = self._arguments
        counting = flags.copy()
        counting.nrt = True
        return FlatCompiler(*others, counting, of_locals).compile_extra(function)

    def define_pipelines(self):
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        kept = [each for each in pipeline.passes if each[0].__name__ not in UNNEEDED]
        pipeline.passes, pipeline._finalized = kept, False
        pipeline.finalize()
        return [pipeline]


# For code whose operations must keep their order.
STRICT = {"error_model": "numpy", "fastmath": False, "pipeline_class": FlatCompiler}
STRICT |= {"no_cfunc_wrapper": True}

# All flags of "fast math" except those that exclude NaN and infinity.
OPTIONS = STRICT | {"fastmath": {"reassoc", "contract", "arcp", "nsz"}}

# Functions that a loop calls become part of it at last.
INNER = {"no_cpython_wrapper": True, "forceinline": True}

#: Digests of compiled functions that loops call, by these functions.
digests: dict = {}


@contextmanager
def without_collections():
    """Put off the collection of garbage until the end of the block.

    Compiling makes so many objects that Python would look through all of the process
    every second, which takes a fifth of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Loop:
    """A loop, compiled when it is first called with arguments of a type.

    All calls pass NamedTuples of the same types; what is None or a tuple of arrays in
    one call is so in all.

    Numba's switch ``NUMBA_DISABLE_JIT`` is looked at in each call: where it is set, the
    loop runs as it stands, slowly and with the same numbers up to rounding.
    """

    def __init__(self, function, options):
        self._function = function
        self._options = {"nogil": True, "_nrt": False, **options}
        self._entries = {}
        self._get_leaves = None
        self.dispatcher = None  # Numba's, of the flat function

    def __call__(self, *arguments):
        if not numba.config.DISABLE_JIT:
            try:
                if self._get_leaves is None:  # the dispatcher would look for extensions
                    leaves = self._leaves(arguments)
                    return self._entry(leaves).entry_point(*leaves)
                return self.dispatcher(*self._get_leaves(arguments))
            except ClaimedElsewhere:
                pass
        with np.errstate(all="ignore"):  # compiled code does not warn
            return self._function(*arguments)

    def bind(self, *arguments):
        """Bind arguments; return a function without any, which returns nothing.

        It reads the arrays among them when it is called.
        """
        if numba.config.DISABLE_JIT:
            return lambda: self(*arguments)
        leaves = self._leaves(arguments)
        try:
            return bind(self._entry(leaves), leaves)
        except ClaimedElsewhere:
            return lambda: self(*arguments)

    def _leaves(self, arguments):
        """Return the parts of arguments that the flat function takes."""
        if self._get_leaves is None:
            self._flatten(arguments)
        return self._get_leaves(arguments)

    def _entry(self, leaves):
        """Return Numba's result for arguments of the types of these."""
        key = tuple(map(type_key, leaves))
        if key not in self._entries:
            dispatcher = self.dispatcher  # which another thread may replace
            types = tuple(map(dispatcher.typeof_pyval, leaves))
            dispatcher.compile(types)
            self._entries[key] = dispatcher.overloads[types]
        return self._entries[key]

    @without_collections()
    def _flatten(self, arguments):
        function, is_strict = self._function, not self._options["fastmath"]
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        places = [f"arguments[{i}]" for i in range(len(names))]
        values = [*map(structure, arguments, names, places)]
        description = flat_cache.load(function, values, is_strict)
        if description is None:
            flat, description = flat_function(function, values, is_strict)
            flat_cache.save(function, values, is_strict, description)
        else:  # its signature will do to load what is compiled
            parameters = ", ".join(description.arguments)
            flat = _defined(f"def {function.__name__}({parameters}): ...", function, {})
        dispatcher = numba.njit(flat, **self._options)

        def flatten_to_compile():
            if not hasattr(dispatcher.py_func, "source"):
                dispatcher.py_func, _ = flat_function(function, values, is_strict)
                dispatcher._compiler.py_func = dispatcher.py_func

        try:
            dispatcher._cache = Cache(flat, description.digest, flatten_to_compile)
        except RuntimeError:  # no folder for the cache
            flatten_to_compile()
        is_cached = isinstance(dispatcher._cache, Cache)
        name = f"{flat.__module__}.{flat.__qualname__} {description.digest}"
        compile_types = dispatcher.compile

        def compile_claimed(types):
            if types in dispatcher.overloads:
                return compile_types(types)
            with compiling(f"{name} {types}", is_cached), without_collections():
                return compile_types(types)

        dispatcher.compile = compile_claimed
        self.dispatcher = dispatcher
        self._get_leaves = getter(values, {*description.arguments})


def type_key(value):
    """Return a key for the type of an argument to Numba, faster than Numba does."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    if isinstance(value, tuple):
        return tuple(map(type_key, value))
    return type(value)


def compiled(function, options=OPTIONS):
    """Return the loop of a function that may close over others."""
    return Loop(function, options)


#: Decorate a loop whose operations must keep their order.
strict = partial(compiled, options=STRICT)


def runs_loop(prepare):
    """Return a function of the engine, from one that prepares a call.

    That returns a loop, its arguments, and the result: one of these, or None for what
    the loop returns. A :class:`.Recorder` finds it as ``__wrapped__``.
    """

    @wraps(prepare)
    def run(*arguments):
        loop, arguments, result = prepare(*arguments)
        returned = loop(*arguments)
        return returned if result is None else result

    return run


@runs_loop
def run_loop(loop, *arguments):
    """Run a loop that a learner has as it stands; return what it returns."""
    kinds = tuple(type(each) for each in arguments if isinstance(each, tuple))
    return _loop_of_learner(loop, kinds), arguments, None


@cache
def _loop_of_learner(loop, kinds):
    return compiled(loop, STRICT if is_exact(loop) else OPTIONS)


def flat_function(function, values, is_strict, takes_all=False):
    """Flatten a function; also return its :class:`Description`."""
    apart = partial(part, is_strict=is_strict)
    flattener = Flattener(substitutes.SUBSTITUTES, registers.HANDLERS, apart)
    source, arguments = flattener.flatten(function, values, takes_all)
    names = flattener.globals
    digest = hashlib.sha256(source.encode())
    for name, value in sorted(names.items()):
        if value is not np:
            digest.update(f"{name} {_digest(value)} {is_strict}".encode())
    flat = _defined(source, function, names)
    flat.source = source
    return flat, Description(digest.hexdigest(), arguments)


def _defined(source, function, names):
    """Return what the source of a function defines, in the place of another."""
    namespace = {**names, "__name__": function.__module__}
    exec(compile(source, inspect.getfile(function), "exec"), namespace)
    return namespace[function.__name__]


def _digest(value):
    """Return a digest of a global value of a flat function."""
    if isinstance(value, FunctionType) and value in digests:
        return digests[value]
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.tobytes()}"
    defined = getattr(value, "_defn", value)  # of an intrinsic
    if isinstance(defined, FunctionType):
        return _digest_of_file(inspect.getfile(defined))
    return repr(value)


@cache
def _digest_of_file(file):
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def part(function, values, is_strict):
    """Return a function that must be compiled by itself, or None; see Flattener."""
    must_be_strict = not is_strict and is_exact(function)
    is_function = isinstance(function, FunctionType)
    if must_be_strict or (is_function and parsed(function).returns_in_loop):
        shapes = tuple(map(shape, values))
        return _part(function, shapes, is_strict or must_be_strict)
    return None


def is_exact(function):
    """Whether the order of operations matters in a function."""
    # Losses of many rows are taken several at once, but for the last: each as it
    # stands, so that it does not matter where chunks end.
    return function in (methods.value, *exponentials.EXACT, *_portable.EXACT)


@cache
def _part(function, shapes, is_strict):
    values = map(named, shapes, parsed(function).parameters)
    flat, description = flat_function(function, [*values], is_strict, takes_all=True)
    options = STRICT if is_strict else OPTIONS
    part = register_jitable(**options, **INNER)(flat)
    digests[part] = description.digest
    return part
