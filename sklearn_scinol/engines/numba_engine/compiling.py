"""Compile formulas of learners and losses, with the options for each kind."""

import hashlib
import re
import sys
from contextlib import suppress
from functools import cache, cached_property, partial
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from pkgutil import walk_packages

import numba
import numpy as np
from numba.core.types import BaseNamedTuple
from numba.extending import (
    overload,
    overload_attribute,
    overload_method,
    register_jitable,
)

from ... import _portable, advice, learners, losses, transforms
from ..._hyperparameters import is_native
from ...losses import methods
from . import exponentials
from .disk_cache import Cache
from .matrices import overload_vectors
from .outside import can_be_found, code_of, origin

__all__ = [
    "STRICT",
    "compiled",
    "compiled_modules",
    "exact",
    "inlined",
    "jitable",
    "source_digest",
]

# All flags of "fast math" except those that exclude NaN and infinity.
OPTIONS = {
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
}

# For code whose operations must keep their order, whatever `fastmath` of the caller.
STRICT = {"error_model": "numpy", "fastmath": False}

# Functions called for each row are inlined: otherwise references to each array argument
# are counted up and down, which takes as long as a short row.
INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
INLINE = {**OPTIONS, **INNER, "forceinline": True}
INLINE_STRICTLY = {**STRICT, **INNER, "forceinline": True}

RELATIVE_IMPORT = re.compile(
    r"^from (\.+[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE
)


@overload(_portable.larger, jit_options=INLINE)
def _larger(a, b):
    return lambda a, b: b if b > a else a


@overload(_portable.smaller, jit_options=INLINE)
def _smaller(a, b):
    return lambda a, b: b if b < a else a


@overload(_portable.chosen, jit_options=INLINE)
def _chosen(condition, a, b):
    return lambda condition, a, b: a if condition else b


@overload(_portable.exp, jit_options=INLINE_STRICTLY)
def _exp(x):
    return exponentials.exp


@overload(_portable.expm1, jit_options=INLINE_STRICTLY)
def _expm1(x):
    return exponentials.expm1


@overload(_portable.log1p, jit_options=INLINE_STRICTLY)
def _log1p(x):
    return exponentials.log1p


@overload(_portable.softmax, jit_options=INLINE)
def _softmax(p, out):
    def softmax(p, out):
        largest = p[0]
        for k in range(1, p.size):
            largest = _portable.larger(largest, p[k])
        for k in range(p.size):
            out[k] = _portable.exp(p[k] - largest)
        total = 0.0
        for k in range(p.size):
            total += out[k]
        for k in range(p.size):
            out[k] /= total

    return softmax


@overload(_portable.log_sum_exp, jit_options=INLINE)
def _log_sum_exp(p):
    def log_sum_exp(p):
        largest = p[0]
        for k in range(1, p.size):
            largest = _portable.larger(largest, p[k])
        total = 0.0
        for k in range(p.size):
            total += _portable.exp(p[k] - largest)
        return largest + np.log(total)

    return log_sum_exp


overload_vectors(INLINE, {**OPTIONS, **INNER})

jitable = register_jitable(**OPTIONS, **INNER)
inlined = register_jitable(**INLINE)
exact = register_jitable(**INLINE_STRICTLY)

# The lists are full when all modules of formulas have been imported.
for package in advice, learners, losses, transforms:
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)
exact(exponentials.parts_of_exp)
n_registered = {inlined: 0, exact: 0}


def register_formulas():
    """Register the functions that were marked since the last call."""
    for register, marked in (inlined, _portable.PORTABLE), (exact, _portable.EXACT):
        while n_registered[register] < len(marked):
            register(marked[n_registered[register]])
            n_registered[register] += 1


register_formulas()

#: Names of the methods of learners and losses that are compiled.
compiled_methods: set[str] = set()


def _method(name):
    compiled_methods.add(name)
    return overload_method(BaseNamedTuple, name, jit_options=INLINE, strict=False)


def _function(function, options=INLINE):
    compiled_methods.add(function.__name__)
    return overload(function, jit_options=options, strict=False)


# The methods of learners that compiled code calls. Branches of the loop that are never
# taken also name methods that a learner may lack.


def _square(self, s, i, x):
    return 0.0


def _of_coordinate(self, s, i, x, t):
    return 0.0


def _of_vector(self, s, k, x, t):
    return 0.0


def _no_update(self, s, i, x, g, w, t):
    pass


def _no_learning(self, s, k, x, g, t):
    pass


def _no_fold(self, s, i, scale):
    pass


def _no_stiffness(self, y, p, slope):
    return 0.0


def _own(self, name, default=None):
    return getattr(self.instance_class, name, default)


_method("weight")(lambda self, s, i, x, t: _own(self, "weight", _of_coordinate))
_method("update")(lambda self, s, i, x, g, w, t: _own(self, "update", _no_update))
_method("score")(lambda self, s, k, x, t: _own(self, "score", _of_vector))
_method("learn")(lambda self, s, k, x, g, t: _own(self, "learn", _no_learning))
_method("charged")(lambda self, s, k, p, c: _own(self, "charged"))
_method("moderated")(lambda self, p, q, c: _own(self, "moderated"))
_method("learn_implicitly")(
    lambda self, s, k, loss, y, c, scale, p: _own(self, "learn_implicitly")
)
_method("learn_jointly")(lambda self, s, loss, y, c, p: _own(self, "learn_jointly"))
_method("settle")(lambda self, s: _own(self, "settle"))
_method("prior")(lambda self, n: _own(self, "prior"))
_method("change_units")(lambda self, s, change: _own(self, "change_units"))
_method("square")(lambda self, s, i, x: _own(self, "square", _square))
_method("factor")(lambda self, shared, k, q, t: _own(self, "factor"))
_method("row_step")(lambda self, shared, k, g, dot, q, t: _own(self, "row_step"))
_method("implicit_row_step")(
    lambda self, shared, k, loss, y, c, scale, dot, q, t: _own(
        self, "implicit_row_step"
    )
)
_method("take_scale")(lambda self, shared, k: _own(self, "take_scale"))
_method("fold")(lambda self, s, i, scale: _own(self, "fold", _no_fold))

# Methods of losses are functions here: Numba has no methods of an empty NamedTuple.
# Values of the last rows of a chunk are not vectorised: `value` is strict, so that
# results do not depend on where chunks end.
_function(methods.value, INLINE_STRICTLY)(lambda loss, y, p: loss.instance_class.value)
_function(methods.row_value)(lambda loss, y, p: loss.instance_class.row_value)
_function(methods.row_gradient)(lambda loss, y, p, g: loss.instance_class.row_gradient)
_function(methods.gradient)(lambda loss, y, p: loss.instance_class.gradient)
_function(methods.minimiser)(lambda loss, y, p: loss.instance_class.minimiser)
_function(methods.proximal)(lambda loss, y, p, s: loss.instance_class.proximal)
_function(methods.stiffness)(
    lambda loss, y, p, slope: getattr(loss.instance_class, "stiffness", _no_stiffness)
)
_function(methods.row_proximal)(
    lambda loss, y, p, s, g: loss.instance_class.row_proximal
)
_function(methods.row_curvature)(
    lambda loss, y, p, h: loss.instance_class.row_curvature
)


@overload_attribute(BaseNamedTuple, "piecewise_linear")
def _piecewise_linear(loss):
    answer = loss.instance_class.piecewise_linear
    return lambda loss: answer


class Loop:
    """A loop, compiled when it is first called with arguments of a type.

    Numba's switch ``NUMBA_DISABLE_JIT`` is looked at in each call: where it is set, the
    loop runs as it stands, slowly and with the same numbers up to rounding.

    """

    def __init__(self, function, options, foreign):
        self._function = function
        self._options = {"nogil": True, **options}
        self._foreign = foreign
        self._entries = {}

    @cached_property
    def dispatcher(self):
        """The dispatcher of Numba."""
        dispatcher = numba.njit(self._function, **self._options)
        if all(map(can_be_found, self._foreign)):
            with suppress(RuntimeError):  # no folder for the cache
                dispatcher._cache = Cache(self._function, origin(self._foreign))
        return dispatcher

    def __call__(self, *arguments):
        if not numba.config.DISABLE_JIT:
            return self.dispatcher(*arguments)
        with np.errstate(all="ignore"):  # compiled code does not warn
            return self._function(*arguments)

    def bind(self, *arguments):
        """Bind arguments; return a function that reads the arrays when called.

        To look at the types of many arrays takes several times as long as to learn a
        row; here that is done once.
        """
        if numba.config.DISABLE_JIT:
            return partial(self, *arguments)
        kind = type_key(arguments)
        if kind not in self._entries:
            types = tuple(map(self.dispatcher.typeof_pyval, arguments))
            self._entries[kind] = self.dispatcher.compile(types)
        return partial(self._entries[kind], *arguments)


def type_key(value):
    """Key that is equal for arguments of one Numba type, and fast to compute."""
    if isinstance(value, tuple):
        return type(value), *map(type_key, value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    return type(value)


def compiled(loop, options=OPTIONS, classes=()):
    """The loop of a function that may close over others.

    It is kept on disk if other processes can import all learners and losses that it is
    for. Those from outside have files of their own: Numba imports the modules of all
    that is in a file, in every process.
    """
    register_formulas()
    return Loop(loop, options, [cls for cls in classes if not is_native(cls)])


def source_digest(*classes):
    """Return the digest of the source that a loop of learners and losses compiles.

    Numba keeps loops on disk. It sees when the file of a loop has changed, but not
    when formulas in other files have, so each loop closes over this, too. A learner
    that changes leaves the loops of others alone.
    """
    digest = hashlib.sha256()
    for module in compiled_modules(*classes):
        digest.update(_source(module))
    for code in code_of(classes, compiled_methods)[0]:
        digest.update(code)
    return digest.hexdigest()


@cache
def compiled_modules(*classes):
    """Return the names of the modules that a loop of learners and losses may compile.

    The modules of the engine and of the classes, and all modules that they import. The
    `__init__` of a package counts, but not the modules that it imports.
    """
    engine = walk_packages([str(Path(__file__).parent)], f"{__package__}.")
    found = set()
    _, modules = code_of(classes, compiled_methods)
    to_read = {__package__, *(module.name for module in engine), *modules}
    while to_read:
        found |= to_read
        to_follow = [name for name in to_read if not _is_other_package(name)]
        to_read = {name for one in to_follow for name in _imported(one)} - found
    return sorted(found)


def _is_other_package(module):
    """Whether a module is a package other than the engine's."""
    return module != __package__ and hasattr(sys.modules[module], "__path__")


@cache
def _source(module):
    return Path(sys.modules[module].__file__).read_bytes()


def _imported(module):
    """Return the modules of this package that a module imports."""
    for place, *names in RELATIVE_IMPORT.findall(_source(module).decode()):
        package = resolve_name(place, sys.modules[module].__package__)
        for name in re.findall(r"\w+", " ".join(names)):
            imported = f"{package}.{name}"
            yield imported if imported in sys.modules else package
