"""Loops to compile, shared by processes; and a message where compiling takes long."""

import hashlib
import logging
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace

import numba

from ..clock import learning_time, turn_back

#: Seconds of compiling after which a message says so.
MANY_SECONDS = 2.0

#: Seconds without compiling after which a message may come again.
PAUSE = 1.0

NO_FOLDER = (
    "no folder for the cache can be written: set NUMBA_CACHE_DIR to one that can"
)

logger = logging.getLogger("sklearn_scinol")


class ClaimedElsewhere(Exception):
    """Another process compiles the loop."""


class Report:
    """Report of what is compiled in a block of :func:`share_compiling`."""

    has_compiled = False  # whether this process has compiled a loop
    unsaved = ""  # why a loop is not kept on disk; empty if all are


class _Sharing(threading.local):
    folder = on_missing = report = notice = None
    is_quiet = False


_sharing = _Sharing()

# Seconds of compiling since the last pause, when it last ended, and whether a message
# said so.
_recent = SimpleNamespace(seconds=0.0, end=0.0, has_told=False)


@contextmanager
def share_compiling(folder=None, on_missing=None, *, is_quiet=False):
    """See :class:`Engine`."""
    _sharing.folder, _sharing.on_missing = folder, on_missing
    _sharing.is_quiet = is_quiet
    _sharing.report = None if numba.config.DISABLE_JIT else Report()
    start = learning_time()
    try:
        yield _sharing.report
    finally:
        turn_back(start)
        _sharing.folder = _sharing.on_missing = _sharing.report = None
        _sharing.is_quiet = False


def tell_unsaved(why):
    """Tell that a loop is not kept on disk."""
    if _sharing.report is not None:
        _sharing.report.has_compiled, _sharing.report.unsaved = True, why


def tell_missing():
    """Tell that a loop is not in the cache; start sharing, once."""
    _sharing.notice.start()
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
    start, since = perf_counter(), learning_time()
    if start - _recent.end > PAUSE:
        _recent.seconds, _recent.has_told = 0.0, False
    wait = max(MANY_SECONDS - _recent.seconds, 0.0)
    arguments = is_cached, _sharing.is_quiet
    _sharing.notice = notice = threading.Timer(wait, _tell_seconds, arguments)
    if not is_cached:
        notice.start()
    try:
        yield
    finally:
        notice.cancel()
        if notice.ident is not None:  # it was started, since the cache has no such loop
            _recent.end = perf_counter()
            _recent.seconds += _recent.end - start
            turn_back(since)
    if claim is not None:
        with suppress(OSError):
            claim.write_bytes(b"1")


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


def _tell_seconds(is_cached, is_quiet):
    """Log that compiling takes long, once between pauses; by default on stderr."""
    if is_quiet or _recent.has_told:
        return
    _recent.has_told = True
    kept = "kept on disk for later" if is_cached else f"not kept, since {NO_FOLDER}"
    logger.warning(
        "Compiling code for this kind of estimator and data takes more than %g s; it "
        "is %s. sklearn_scinol.compile(estimator, X, y) compiles beforehand, on all "
        "processors.",
        MANY_SECONDS,
        kept,
    )
