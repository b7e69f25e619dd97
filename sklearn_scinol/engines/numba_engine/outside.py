"""Digests of code outside the package that compiled loops call."""

import hashlib
import pickle
import sys
from types import CodeType, FunctionType, ModuleType

from ..._hyperparameters import is_native

__all__ = ["can_be_found", "code_of", "origin"]

# Packages whose functions Numba has versions of its own of.
COMPILED_BY_NUMBA = ("builtins", "math", "numpy", "typing")


def can_be_found(cls):
    """Whether other processes can import a learner or a loss, and its state."""
    named = [getattr(cls, name, cls) for name in ("State", "Shared")]
    return all(map(_is_importable, [cls, *named]))


def _is_importable(cls):
    found = module = sys.modules.get(cls.__module__)
    if cls.__module__ == "__main__" or not getattr(module, "__file__", None):
        return False
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is cls


def origin(classes):
    """Return a name for the source of classes, empty if there are none."""
    places = [
        (sys.modules[cls.__module__].__file__, cls.__module__, cls.__qualname__)
        for cls in classes
    ]
    return hashlib.sha256(repr(places).encode()).hexdigest()[:16] if places else ""


def code_of(classes, methods):
    """Follow the code of learners and losses through all functions that it calls.

    Parameters
    ----------
    classes : sequence of type
    methods : set of str
        Names of their methods that are compiled.

    Returns
    -------
    code : list of bytes
        Bytecode, constants and global values outside this package.
    modules : set of str
        Modules of this package that it leads to.
    """
    code, modules, visited, to_visit = [], set(), {}, [*classes]
    while to_visit:
        value = to_visit.pop()
        value = getattr(value, "py_func", value)  # of functions that Numba compiled
        if id(value) in visited or _is_compiled_by_numba(value):
            continue
        visited[id(value)] = value
        if isinstance(value, type):
            to_visit += value.__mro__[1:]
        if isinstance(value, (type, FunctionType)) and is_native(value):
            modules.add(value.__module__)
        elif isinstance(value, type):
            fields = getattr(value, "_fields", ())
            code.append(repr((value.__qualname__, fields)).encode())
            to_visit += [vars(value).get(name) for name in sorted(methods)]
        elif isinstance(value, FunctionType):
            code.append(_bytes_of(value.__code__))
            to_visit += _named(value)
        elif not isinstance(value, ModuleType):
            try:
                code.append(pickle.dumps(value))
            except Exception:  # of values that no formula can use
                code.append(repr(value).encode())
    return code, modules


def _is_compiled_by_numba(value):
    home = getattr(value, "__module__", None)
    if isinstance(value, ModuleType):
        home = value.__name__
    return isinstance(home, str) and home.partition(".")[0] in COMPILED_BY_NUMBA


def _bytes_of(code):
    """Return bytecode, names and constants of a function and of its inner functions."""
    constants = [
        _bytes_of(one) if isinstance(one, CodeType) else repr(one).encode()
        for one in code.co_consts
    ]
    names = repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    return b"\0".join([code.co_code, names, *constants])


def _named(function):
    """Return what a function has by names: globals, defaults, what it closes over."""
    codes, names = [function.__code__], set()
    for code in codes:
        names |= {*code.co_names}
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    names = sorted(names)
    found = [function.__globals__.get(name) for name in names]
    found += function.__defaults__ or ()
    found += [cell.cell_contents for cell in function.__closure__ or ()]
    for module in [one for one in found if isinstance(one, ModuleType)]:
        if not _is_compiled_by_numba(module):
            found += [vars(module).get(name) for name in names]
    return found
