"""What is known of flat functions, on disk beside Numba's cache.

To flatten a loop takes longer than to load it from Numba's cache, which needs no more
than the digest of the flat function and the parts of arguments that it takes. So these
are kept, with all that was read in modules: a file serves the sources it was made of.
Loops that have to do with modules from elsewhere are flattened in each process.
"""

import ast
import hashlib
import json
import os
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from secrets import token_hex
from types import FunctionType
from typing import NamedTuple

import numba
import numpy as np

from ..._hyperparameters import is_native
from .disk_cache import Located

PACKAGE = Path(__file__).parents[2]


class Flat(NamedTuple):
    """What is known of a flat function.

    Parameters
    ----------
    digest : str
        Of all that is compiled with it.
    arguments : list of str
        Names of the parts of arguments that it takes.
    read : dict
        Maps a module's name and a name in it, as "module:name", to what was found.
    """

    digest: str
    arguments: list
    read: dict


class Elsewhere(Exception):
    """A loop has to do with what is not of this package."""


def load(function, values, is_strict):
    """Return what is known of a function that is flat for these values, or None."""
    try:
        found = json.loads(_path(function, values, is_strict).read_bytes())
        stamp, *fields = found
        flat = Flat(*fields)
        is_current = stamp == _stamp() and all(
            value == described(_look_up(name)) for name, value in flat.read.items()
        )
    except Exception:  # which a damaged file can raise of any kind
        return None
    return flat if is_current else None


def save(function, values, is_strict, flat):
    """Keep what is known of a flat function, where the disk can be written."""
    with suppress(Elsewhere, OSError, RuntimeError):  # no folder for the cache
        path = _path(function, values, is_strict)
        temporary = path.with_suffix(f".{token_hex(8)}")
        temporary.write_text(json.dumps([_stamp(), *flat]), encoding="utf-8")
        os.replace(temporary, path)


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
    raise Elsewhere


def _name(thing):
    if not is_native(thing) and thing.__module__ != "builtins":
        raise Elsewhere
    return f"{thing.__module__}.{thing.__qualname__}"
