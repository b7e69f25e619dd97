"""Digests and arguments of flat functions, kept on disk beside Numba's cache.

To flatten a loop takes longer than to load it from Numba's cache, which needs no more
than the digest of the flat function and the parts of arguments that it takes. So these
are kept. A file serves the sources that it was made of, as they stand in their files.
Loops that use code from outside this package are flattened in each process.
"""

import ast
import hashlib
import json
import sys
from contextlib import suppress
from functools import cache
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


class Foreign(Exception):
    """A loop uses code from outside this package."""


def load(function, values, is_strict):
    """Return the description of a function flattened for some values, or None."""
    try:
        stamp, *fields = json.loads(_path(function, values, is_strict).read_bytes())
        return Description(*fields) if stamp == _stamp() else None
    except Exception:  # which a damaged file can raise of any kind
        return None


def save(function, values, is_strict, description):
    """Keep the description of a flat function, where the disk can be written."""
    with suppress(Foreign, OSError, RuntimeError):  # no folder for the cache
        path = _path(function, values, is_strict)
        with replacing(path, "x", encoding="utf-8") as file:
            json.dump([_stamp(), *description], file)


@cache
def _stamp():
    """Return a digest of the sources and of what makes code of them."""
    versions = sys.version, numba.__version__, np.__version__
    digest = hashlib.sha256(" ".join(versions).encode())
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
