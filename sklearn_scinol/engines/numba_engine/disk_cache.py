"""Cache of compiled loops on disk, which ignores errors of the disk."""

from contextlib import suppress

from numba.core.caching import FunctionCache

from .sharing import tell_missing, tell_unsaved

__all__ = ["Cache"]


class Cache(FunctionCache):
    """Numba's cache, which ignores damaged files and failed writes.

    What cannot be read is compiled again, and replaces what was there; what cannot be
    written is there for this process alone.

    Parameters
    ----------
    function : callable
        The loop.
    digest : str
        Of all that is compiled with it.
    """

    def __init__(self, function, digest):
        super().__init__(function)
        self._digest = digest

    def _index_key(self, signature, codegen):
        return signature, codegen.magic_tuple(), self._digest

    def load_overload(self, *arguments):
        # A damaged file can raise anything.
        try:
            found = super().load_overload(*arguments)
        except Exception:
            found = None
            with suppress(OSError):
                self.flush()
        if found is None:
            tell_missing()
        return found

    def save_overload(self, *arguments):
        try:
            super().save_overload(*arguments)
        except Exception as error:
            tell_unsaved(f"the cache cannot be written: {error}")
