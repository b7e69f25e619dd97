"""Cache of compiled loops on disk, which ignores errors of the disk."""

import os
from contextlib import suppress
from typing import Any

from llvmlite.binding import parse_assembly, parse_bitcode
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.runtime import rtsys

from .sharing import tell_missing, tell_unsaved

# Numba's classes for folders of the cache, the one of NUMBA_CACHE_DIR first.
Named: Any
Named, *others = CompileResultCacheImpl._locator_classes


class ReadOnly(Named):
    """Folder of NUMBA_CACHE_DIR that has loops, and that cannot be written."""

    def ensure_cache_path(self):
        os.listdir(self.get_cache_path())


class Located(CompileResultCacheImpl):
    """Loops of the first folder that can be used; Numba skips those it cannot write."""

    _locator_classes = [Named, ReadOnly, *others]

    def reduce(self, cres):
        """Return what is stored of a loop.

        That is machine code, and only the names of what other functions could call:
        none do, and to read it takes longer than the machine code.
        """
        (name, kind, (code, bitcode)), *others = super().reduce(cres)
        module = parse_bitcode(bitcode)
        defined = [*module.functions, *module.global_variables]
        names = [each.name for each in defined if not each.is_declaration]
        module = parse_assembly("".join(f'@"{each}" = global i8 0\n' for each in names))
        return (name, kind, (code, module.as_bitcode())), *others


class Cache(FunctionCache):
    """Numba's cache, which ignores damaged files and failed writes.

    What cannot be read is compiled again, and replaces what was there; what cannot be
    written is there for this process alone. A folder that NUMBA_CACHE_DIR names may be
    read-only, as in an image of a container. The digest is that of all that is compiled
    with the loop; `on_missing` is called where a loop must be compiled.
    """

    _impl_class = Located

    def __init__(self, function, digest, on_missing):
        super().__init__(function)
        self._digest = digest
        self._on_missing = on_missing

    def _index_key(self, signature, codegen):
        return signature, codegen.magic_tuple(), self._digest

    def load_overload(self, signature, context):
        # Loaded code needs Numba's runtime alone. Numba's own method would also set up
        # all that it compiles with, which takes longer than to load some loops.
        rtsys.initialize(context)
        found = None
        # A damaged file can raise anything.
        try:
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(signature, context)
        except Exception:
            with suppress(OSError):
                self.flush()
        if found is None:
            tell_missing()
            self._on_missing()
        return found

    def save_overload(self, *arguments):
        try:
            super().save_overload(*arguments)
        except Exception as error:
            tell_unsaved(f"the cache cannot be written: {error}")
