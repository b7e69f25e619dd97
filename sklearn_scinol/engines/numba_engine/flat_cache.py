"""Digests and arguments of flat functions, kept on disk beside Numba's cache.

To flatten a loop takes longer than to load it from Numba's cache, which needs no more
than the digest of the flat function and the parts of arguments that it takes. So these
are kept, with all that was read in modules: a file serves the sources it was made of.
Loops that use code from outside this package are flattened in each process.
"""

import ast
import hashlib
import json
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import FunctionType
from typing import NamedTuple

import numba
import numpy as np

from ..._files import replacing
from ..._hyperparameters import is_native
from .disk_cache import Located

PACKAGE = Path(__file__).parents[2]


class Description(NamedTuple):
    """Description of a flat function: what is needed to load it when it is compiled."""

    digest: str  # of all that is compiled with it
    arguments: list  # names of the parts of arguments that it takes
    read: dict  # maps names in modules, as "module:name", to what was found


class Foreign(Exception):
    """A loop uses code from outside this package."""


def load(function, values, is_strict):
    """Return the description of a function flattened for some values, or None."""
    try:
        stamp, *fields = json.loads(_path(function, values, is_strict).read_bytes())
        description = Description(*fields)
        is_current = stamp == _stamp() and all(
            value == described(_look_up(name))
            for name, value in description.read.items()
        )
    except Exception:  # which a damaged file can raise of any kind
        return None
    return description if is_current else None


def save(function, values, is_strict, description):
    """Keep the description of a flat function, where the disk can be written."""
    with suppress(Foreign, OSError, RuntimeError):  # no folder for the cache
        path = _path(function, values, is_strict)
        with replacing(path, "x", encoding="utf-8") as file:
            json.dump([_stamp(), *description], file)


def described(value):
    """Describe what was found in a module."""
    value = getattr(value, "fget", value)  # of a property
    if isinstance(value, np.ndarray):
        return value.tobytes().hex()
    name = getattr(value, "__qualname__", None)
    return f"{value.__module__}:{name}" if name else repr(value)


def _look_up(name):
    module, _, path = name.partition(":")
    return attrgetter(path)(import_module(module))


@cache
def _stamp():
    """Return a digest of the sources and of what makes code of them."""
    digest = hashlib.sha256(f"{sys.version} {numba.__version__}".encode())
    for path in [PACKAGE / "__init__.py", *sorted(PACKAGE.rglob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _path(function, values, is_strict):
    """Return the path of the file for a function and values."""
    key = repr([is_strict, _key(function), *map(_key, values)])
    name = hashlib.sha256(key.encode()).hexdigest()
    return Path(Located(function).locator.get_cache_path(), f"{name}.json")


def _key(value):
    """Return a key for an object that is known before compiling."""
    if isinstance(value, type):
        return _name(value)
    if isinstance(value, FunctionType):
        cells = value.__closure__ or ()
        return _name(value), *(_key(cell.cell_contents) for cell in cells)
    if isinstance(value, ast.Name):
        return value.id, value.ndim
    if isinstance(value, dict):
        return tuple((name, _key(part)) for name, part in value.items())
    if isinstance(value, tuple):
        return _name(type(value)), *map(_key, value)
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    raise Foreign


def _name(thing):
    if not is_native(thing) and thing.__module__ != "builtins":
        raise Foreign
    return f"{thing.__module__}.{thing.__qualname__}"
