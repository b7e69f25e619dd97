"""Loops to compile, shared by processes; and a message where compiling takes long."""

import hashlib
import logging
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter

import numba

#: Seconds of compiling in this process after which a message says so, once.
MANY_SECONDS = 3.0

NO_FOLDER = (
    "no folder for the cache can be written: set NUMBA_CACHE_DIR to one that can"
)

logger = logging.getLogger("sklearn_scinol")


class ClaimedElsewhere(Exception):
    """Another process compiles the loop."""


class Report:
    """Report of what is compiled in a block of :func:`share_compiling`.

    Attributes
    ----------
    has_compiled : bool
        Whether this process has compiled a loop.
    unsaved : str
        Why a loop is not kept on disk; empty if all are.
    """

    has_compiled = False
    unsaved = ""


class _Sharing(threading.local):
    folder = on_missing = report = None
    is_quiet = False


_sharing, _seconds = _Sharing(), [0.0]


@contextmanager
def share_compiling(folder=None, on_missing=None, *, is_quiet=False):
    """See :class:`Engine`."""
    _sharing.folder, _sharing.on_missing = folder, on_missing
    _sharing.is_quiet = is_quiet
    _sharing.report = None if numba.config.DISABLE_JIT else Report()
    try:
        yield _sharing.report
    finally:
        _sharing.folder = _sharing.on_missing = _sharing.report = None
        _sharing.is_quiet = False


def tell_unsaved(why):
    """Tell that a loop is not kept on disk."""
    if _sharing.report is not None:
        _sharing.report.has_compiled, _sharing.report.unsaved = True, why


def tell_missing():
    """Tell that a loop is not in the cache; start sharing, once."""
    if _sharing.report is not None:
        _sharing.report.has_compiled = True
    on_missing, _sharing.on_missing = _sharing.on_missing, None
    if on_missing is not None:
        on_missing()


@contextmanager
def compiling(name, is_cached):
    """Claim a loop that the block compiles or loads.

    A claim is an empty file; a file of one byte says that the loop is in the cache.
    """
    claim = _claim(name)
    if not is_cached:
        tell_unsaved(NO_FOLDER)
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
            else f"in each process, since {NO_FOLDER}.",
        )
