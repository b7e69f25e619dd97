"""Cache of compiled loops on disk, which ignores errors of the disk."""

from contextlib import suppress

from numba.core.caching import FunctionCache, IndexDataCacheFile

__all__ = ["Cache"]


class Cache(FunctionCache):
    """Numba's cache, which ignores damaged files and failed writes.

    What cannot be read is compiled again, and replaces what was there; what cannot be
    written is there for this process alone.

    Parameters
    ----------
    function : callable
        The loop.
    suffix : str
        Of the names of files: loops with another suffix are not looked at.
    """

    def __init__(self, function, suffix=""):
        super().__init__(function)
        if suffix:
            self._cache_file = IndexDataCacheFile(
                cache_path=self._cache_path,
                filename_base=f"{self._impl.filename_base}-{suffix}",
                source_stamp=self._impl.locator.get_source_stamp(),
            )

    def load_overload(self, *arguments):
        # A damaged file can raise anything.
        try:
            return super().load_overload(*arguments)
        except Exception:
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, *arguments):
        with suppress(Exception):
            super().save_overload(*arguments)
