"""How formulas of learners and losses are compiled, and with which options."""

import hashlib
from functools import cache
from importlib import import_module
from importlib.resources import files
from pkgutil import iter_modules

import numba
from numba.core.types import BaseNamedTuple
from numba.extending import (
    overload,
    overload_attribute,
    overload_method,
    register_jitable,
)

from ... import _portable, learners, losses
from . import _exponentials

__all__ = ["STRICT", "compiled", "expanded", "inlined", "jitable", "source_digest"]

# Everything of "fast math" but the promise that there are no NaN and infinities.
OPTIONS = {
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
}

# For what must be done operation for operation. "fastmath" would be the caller's.
STRICT = {"error_model": "numpy", "fastmath": False}

# What is called for every row becomes part of the kernel. Otherwise references to each
# array that goes in are counted up and down again, which takes as long as a short row.
INLINE = {**OPTIONS, "forceinline": True}
INLINE_STRICTLY = {**STRICT, "forceinline": True}


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
    return _exponentials.exp


@overload(_portable.expm1, jit_options=INLINE_STRICTLY)
def _expm1(x):
    return _exponentials.expm1


jitable = register_jitable(**OPTIONS)
inlined = register_jitable(**INLINE)
# What the compiler should know the constants of: left to itself it keeps some calls.
expanded = register_jitable(inline="always", **OPTIONS)
exact = register_jitable(**INLINE_STRICTLY)

# The lists are full when all modules of formulas have been imported.
for module in iter_modules(learners.__path__):
    import_module(f"{learners.__name__}.{module.name}")
for function in _portable.PORTABLE:
    inlined(function)
for function in [*_portable.EXACT, _exponentials.parts_of_exp]:
    exact(function)


def _method(name):
    return overload_method(BaseNamedTuple, name, jit_options=INLINE, strict=False)


def _function(function):
    return overload(function, jit_options=INLINE, strict=False)


# The methods of learners and losses that compiled code calls.
_method("weight")(lambda self, s, i, x, t: self.instance_class.weight)
_method("update")(lambda self, s, i, x, g, w, t: self.instance_class.update)
_method("square")(lambda self, s, i, x: self.instance_class.square)
_method("factor")(lambda self, h, k, q, t: self.instance_class.factor)
_method("step")(lambda self, h, k, g, dot, q, t: self.instance_class.step)
_method("implicit_step")(
    lambda self, h, k, loss, y, c, dot, q, t: self.instance_class.implicit_step
)
_method("take_scale")(lambda self, h, k: self.instance_class.take_scale)
_method("fold")(lambda self, s, i, scale: self.instance_class.fold)

# Those of losses stand behind functions: Numba has no methods of an empty NamedTuple.
_function(losses.value)(lambda loss, y, p: loss.instance_class.value)
_function(losses.gradient)(lambda loss, y, p: loss.instance_class.gradient)
_function(losses.minimiser)(lambda loss, y, p: loss.instance_class.minimiser)
_function(losses.proximal)(lambda loss, y, p, s: loss.instance_class.proximal)


@overload_attribute(BaseNamedTuple, "piecewise_linear")
def _piecewise_linear(loss):
    answer = loss.instance_class.piecewise_linear
    return lambda loss: answer


def compiled(kernel, options=OPTIONS):
    """The kernel, to be compiled when it is first called with arguments of a type."""
    try:
        return numba.njit(kernel, nogil=True, cache=True, **options)
    except RuntimeError:  # there is no folder to keep it in
        return numba.njit(kernel, nogil=True, **options)


@cache
def source_digest():
    """Of all source that kernels are compiled from.

    Numba keeps kernels on disk. It sees when the file of a kernel has changed, but not
    when formulas and parts in other files have, so each kernel closes over this, too.
    """
    package = files(__package__.partition(".")[0])
    sources = [package / "_portable.py", package / "losses.py"]
    for folder in files(learners), files(__package__):
        modules = (file for file in folder.iterdir() if file.suffix == ".py")
        sources += sorted(modules, key=lambda file: file.name)
    return hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()
