"""Loops to compile, shared by processes; and a message where compiling takes long."""

import hashlib
import logging
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter

__all__ = ["ClaimedElsewhere", "compiling", "share_compiling", "tell_missing"]

#: Seconds of compiling in this process after which a message says so, once.
MANY_SECONDS = 3.0

logger = logging.getLogger("sklearn_scinol")


class ClaimedElsewhere(Exception):
    """Another process compiles the loop."""


class _Sharing(threading.local):
    folder = on_missing = None
    is_quiet = False


_sharing, _seconds = _Sharing(), [0.0]


@contextmanager
def share_compiling(folder=None, on_missing=None, *, is_quiet=False):
    """See :class:`Engine`."""
    _sharing.folder, _sharing.on_missing = folder, on_missing
    _sharing.is_quiet = is_quiet
    try:
        yield
    finally:
        _sharing.folder = _sharing.on_missing = None
        _sharing.is_quiet = False


def tell_missing():
    """Tell, once, that a loop is not in the cache."""
    on_missing, _sharing.on_missing = _sharing.on_missing, None
    if on_missing is not None:
        on_missing()


@contextmanager
def compiling(name, is_cached):
    """Claim a loop that the block compiles or loads.

    A claim is an empty file; a file of one byte says that the loop is in the cache.
    """
    claim = _claim(name)
    start = perf_counter()
    yield
    if claim is not None:
        with suppress(OSError):
            claim.write_bytes(b"1")
    if not _sharing.is_quiet:
        _add_seconds(perf_counter() - start, is_cached)


def _claim(name):
    """Claim a loop for this process; raise ClaimedElsewhere if another compiles it."""
    if _sharing.folder is None:
        return None
    claim = Path(_sharing.folder) / hashlib.sha256(name.encode()).hexdigest()
    try:
        claim.touch(exist_ok=False)
    except OSError:
        with suppress(OSError):
            if claim.stat().st_size:
                return None
        raise ClaimedElsewhere from None
    return claim


def _add_seconds(seconds, is_cached):
    before, _seconds[0] = _seconds[0], _seconds[0] + seconds
    if before <= MANY_SECONDS < _seconds[0]:
        logger.info(
            "Compiling takes more than %g s, %s",
            MANY_SECONDS,
            "once on this machine: sklearn_scinol.compile(estimator, X, y) does "
            "it beforehand, on all processors."
            if is_cached
            else "in each process, since no folder for the cache can be written: set "
            "NUMBA_CACHE_DIR to one that can.",
        )
