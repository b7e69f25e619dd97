"""Compile what an estimator will need, by learning a few rows with copies of it."""

import multiprocessing
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from tempfile import TemporaryDirectory

import numpy as np
import sklearn
from joblib import Parallel, cpu_count, delayed
from joblib.parallel import get_active_backend
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ..config import config_context, current_engine
from ..engines import get_engine

__all__ = ["compile_loops", "is_rehearsal"]

# Number of rows to learn.
N_ROWS = 4

# Maximum number of processes: the largest estimators have some twenty loops.
MAX_PROCESSES = 8


class _Local(threading.local):
    is_rehearsal = False


_local = _Local()


def is_rehearsal():
    """Whether this thread learns with a copy, so that loops are compiled."""
    return _local.is_rehearsal


def compile_loops(estimator, X, y, classes=None, *, is_quiet=False):
    """Compile the loops for rows like these, in several processes side by side.

    They start when the first loop is not in the cache. Without a cache, or where this
    process is one of several itself, it compiles all.
    """
    share = get_engine(current_engine()).share_compiling
    if share is None:
        return
    rows = np.arange(N_ROWS) % _num_samples(X)
    stream = estimator, _safe_indexing(X, rows), _safe_indexing(y, rows), classes
    n_helpers, config, started = _n_helpers(), sklearn.get_config(), []
    with ThreadPoolExecutor(1) as thread, TemporaryDirectory() as folder:

        def start():
            started.append(True)
            thread.submit(_run_helpers, n_helpers, config, folder, *stream)

        with share(folder, start if n_helpers else None, is_quiet=is_quiet):
            _rehearse(*stream)
        # No process claims another loop now.
    if started:
        with share(is_quiet=is_quiet):
            _rehearse(*stream)


def _n_helpers():
    """Return the number of further processes that may be started."""
    backend, _ = get_active_backend()
    if multiprocessing.parent_process() is not None or backend.nesting_level:
        return 0
    return min(cpu_count(), MAX_PROCESSES) - 1


def _run_helpers(n_helpers, *arguments):
    # For a single job joblib would start no process.
    with Parallel(n_jobs=n_helpers + 1, backend="loky") as parallel:
        parallel(delayed(_help)(*arguments) for _ in range(n_helpers))


def _help(config, folder, *stream):
    """Compile loops that no other process has claimed."""
    with config_context(engine="numba"), sklearn.config_context(**config):
        share = get_engine("numba").share_compiling
        with suppress(Exception), share(folder):
            _rehearse(*stream)


def _rehearse(estimator, X, y, classes):
    """Learn and predict rows with copies, in each way that has loops of its own."""
    before, _local.is_rehearsal = _local.is_rehearsal, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = _copy(estimator)
            if not is_classifier(model):
                _learn(model, X, y)
            elif not adds_classes(model):
                _learn(model, X, y, classes=classes)
            else:  # a third class has the last rows
                _learn(model, X, np.arange(N_ROWS) % 2, classes=[0, 1])
                _learn(model, X, np.minimum(np.arange(N_ROWS), 2))
    finally:
        _local.is_rehearsal = before


def _copy(estimator):
    """Return an unfitted copy for other labels, that runs in this thread."""
    model = clone(estimator)
    params = model.get_params()
    changes = {name: 1 for name in params if name.split("__")[-1] == "n_jobs"}
    if adds_classes(model):
        weights = {
            n: v for n, v in params.items() if n.split("__")[-1] == "class_weight"
        }
        changes |= {n: "balanced" for n, v in weights.items() if isinstance(v, dict)}
    return model.set_params(**changes)


def adds_classes(estimator):
    """Whether an estimator, or the last step of a pipeline, takes new classes later."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return getattr(last, "new_classes", None) == "add"


def _learn(model, X, y, **first):
    """Learn and predict several rows, and one."""
    row = _safe_indexing(X, [0])
    model.partial_fit(X, y, **first)
    model.partial_fit(row, y[:1])
    model.predict(X)
    if hasattr(model, "row_by_row") and (x := _single(row)) is not None:
        rows = model.row_by_row().learn_one(x, y[0])
        rows.predict_one(x)


def _single(row):
    """Convert a matrix or list of one row to a row of :class:`RowByRow`."""
    if sparse.issparse(row):
        row = row.tocsr()
        return row.indices, row.data
    return row[0] if isinstance(row, np.ndarray | list) else None
