"""Compile what an estimator will need, by learning a few rows with copies of it."""

import multiprocessing
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from tempfile import TemporaryDirectory

import joblib
import numpy as np
import sklearn
from joblib import Parallel, cpu_count, delayed
from joblib.parallel import get_active_backend
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .._validation import last_step
from ..config import config_context, current_engine
from ..transforms.bins import N_SAMPLES
from .labels import is_multilabel

# Numbers of rows to learn: without bins, and until bins have edges.
N_ROWS = 4, N_SAMPLES

# Maximum number of processes: the largest estimators have some twenty loops.
MAX_PROCESSES = 8

# Maximum number of kinds of estimators and rows that a process remembers.
MAX_KEYS = 1000

# Estimators, and kinds of estimators and rows, whose loops this process has compiled.
_estimators: weakref.WeakSet = weakref.WeakSet()
_keys: set[str] = set()

# Whether this thread learns with a copy.
_rehearses: ContextVar[bool] = ContextVar("rehearses", default=False)


def is_rehearsal():
    """Whether this thread learns with a copy, so that loops are compiled."""
    return _rehearses.get()


def compile_once(estimator, X):
    """Compile what a third class will need, once per kind of estimator and rows."""
    share = current_engine().share_compiling
    if share is None or estimator in _estimators:
        return
    kind_of_rows = type(X), X.dtype, getattr(X, "indices", X).dtype, X.shape[1]
    _estimators.add(estimator)  # also if it fails, since it would fail again
    key = joblib.hash((clone(estimator), kind_of_rows))
    if key in _keys:
        return
    compile_loops(estimator, X, np.zeros(X.shape[0]))
    if len(_keys) >= MAX_KEYS:
        _keys.clear()
    _keys.add(key)


def compile_loops(estimator, X, y, classes=None, *, is_quiet=False):
    """Compile the loops for rows like these, in several processes side by side.

    They start when the first loop is not in the cache. Without a cache, or where this
    process is one of several itself, it compiles all. Returns the engine's reports, or
    None if it compiles nothing. If `is_quiet`, nobody waits to learn a row: it also
    compiles what late labels need.
    """
    share = current_engine().share_compiling
    if share is None:
        return None

    def stream(n_rows):
        rows = np.arange(n_rows) % _num_samples(X)
        of_rows = _safe_indexing(X, rows), _safe_indexing(y, rows)
        return estimator, *of_rows, classes, is_quiet

    few, many = map(stream, N_ROWS)
    n_helpers, config, started = _n_helpers(), sklearn.get_config(), []
    # Helpers end before their folder is removed.
    with TemporaryDirectory() as folder, ThreadPoolExecutor(1) as thread:

        def start():
            started.append(True)
            thread.submit(_run_helpers, n_helpers, config, folder, *few)

        on_missing = start if n_helpers else None
        with share(folder, on_missing, is_quiet=is_quiet) as first:
            if first is None:
                return None
            is_prepared = _rehearse(*few)
        # No process claims another loop now.
    with share(is_quiet=is_quiet) as last:
        if started:
            is_prepared = _rehearse(*few)
        if not is_prepared:
            _rehearse(*many)
    return first, last


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
        share = current_engine().share_compiling
        with suppress(Exception), share(folder, is_quiet=True):
            _rehearse(*stream)


def _rehearse(estimator, X, y, classes, is_late):
    """Learn and predict rows with copies, in each way that has loops of its own.

    If `is_late`, labels come late, too. Returns whether single rows will take the same
    loops after more rows.
    """
    before = _rehearses.set(True)
    try:
        with warnings.catch_warnings(action="ignore"):
            model = _copy(estimator)
            if not is_classifier(model):
                return _learn(model, X, y, is_late)
            if is_multilabel(y) or not adds_classes(model):
                return _learn(model, X, y, is_late, classes=classes)
            # A third class has the last rows.
            _learn(model, X, np.arange(len(y)) % 2, is_late, classes=[0, 1])
            return _learn(model, X, np.minimum(np.arange(len(y)), 2), is_late)
    finally:
        _rehearses.reset(before)


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
    return getattr(last_step(estimator), "new_classes", None) == "add"


def _learn(model, X, y, is_late, **first):
    """Learn and predict several rows, and one; see :func:`_rehearse`."""
    row = _safe_indexing(X, [0])
    model.partial_fit(X, y, **first)
    model.partial_fit(row, y[:1])
    model.predict(X)
    if len(getattr(model, "steps", ())) > 1 and _single(row) is None:  # a frame
        model, row = model[-1], model[:-1].transform(row)
    if not hasattr(model, "row_by_row") or (x := _single(row)) is None:
        return True
    rows = model.row_by_row().learn_one(x, y[0])
    rows.predict_one(x)
    if is_late:
        late = model.row_by_row().with_late_labels()
        late.predict_one(x, "key")
        late.learn_one("key", y[0])
    return any(getattr(rows, "_sessions", {}).values())


def _single(row):
    """Convert a matrix or list of one row to a row of :class:`RowByRow`."""
    if sparse.issparse(row):
        row = row.tocsr()
        return row.indices, row.data
    return row[0] if isinstance(row, np.ndarray | list) else None
