"""Compiling ahead, and the message where compiling takes long."""

import gc
import os
import pickle
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import SGDClassifier

import sklearn_scinol
from sklearn_scinol import (
    DFEGClassifier,
    HedgeClassifier,
    ScInOLClassifier,
    ScInOLRegressor,
    compiling,
    config_context,
)
from sklearn_scinol.engines.clock import learning_time
from sklearn_scinol.estimators import rehearsal

numba = pytest.importorskip("numba", reason="numba is not installed")

from numba.core.errors import NumbaError  # noqa: E402

from sklearn_scinol.engines.numba_engine import compiling as numba_compiling  # noqa: E402
from sklearn_scinol.engines.numba_engine import disk_cache, sharing  # noqa: E402

#: Counts loops that are not in the cache, in a process with an empty one.
SCRIPT = """
import logging
import sys
import numpy as np
import sklearn_scinol
from sklearn_scinol import HedgeClassifier, ScInOLClassifier
from sklearn_scinol.engines.numba_engine import disk_cache, sharing
records = []
handler = logging.Handler()
handler.emit = lambda record: records.append(record.getMessage())
sharing.logger.addHandler(handler)
sharing.MANY_SECONDS, sharing.PAUSE = 0.001, 1e9
missing = []
tell = disk_cache.tell_missing
disk_cache.tell_missing = lambda: (missing.append(1), tell())
X = np.random.default_rng(0).standard_normal((9, 2))
experts = [("a", ScInOLClassifier()), ("b", ScInOLClassifier(center=False))]
y = np.arange(9) % 2
models = [ScInOLClassifier(new_classes="add")]
if sys.argv[1] == "ahead":
    models.append(HedgeClassifier(experts, new_classes="add"))
for model in models:
    if sys.argv[1] == "ahead":
        assert sklearn_scinol.compile(model, X, y)
        assert not hasattr(model, "classes_")
        assert missing
        missing.clear()
        assert not sklearn_scinol.compile(model, X, y)
    model.partial_fit(X, y)
    assert bool(missing) == (sys.argv[1] == "first")
    missing.clear()
    model.partial_fit(X, np.arange(9) % 3)
    model.predict(X)
    assert not missing
    assert model.classes_.size == 3
assert len(records) == (sys.argv[1] == "first"), records
assert all("sklearn_scinol.compile" in record for record in records)
"""


#: Goes on to count them when bins have edges and single rows are learned.
BINS_SCRIPT = """
from sklearn_scinol import ScInOLRegressor
from sklearn_scinol.transforms.bins import N_SAMPLES
X = np.random.default_rng(0).standard_normal((N_SAMPLES, 2))
model = ScInOLRegressor(additive=True)
sklearn_scinol.compile(model, X[:9], X[:9, 0])
assert missing
missing.clear()
rows = model.partial_fit(X, X[:, 0]).row_by_row()
assert not missing
rows.learn_one(X[0], 1.0)
assert any(rows._sessions.values())
assert not missing
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("script", "n_processes"),
    [((SCRIPT, "ahead"), 2), ((SCRIPT + BINS_SCRIPT, "first"), 1)],
)
def test_a_new_label_or_row_compiles_nothing(script, n_processes, tmp_path):
    """Loops are not optimised, which takes less time: they are counted only."""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_OPT": "0"}
    environment["LOKY_MAX_CPU_COUNT"] = str(n_processes)
    process = subprocess.run(
        [sys.executable, "-c", *script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr


@pytest.fixture
def impatient(monkeypatch):
    """Messages that come at once, and again after each loop in the cache."""
    monkeypatch.setattr(sharing, "MANY_SECONDS", 0.0)
    monkeypatch.setattr(sharing, "PAUSE", -np.inf)


def wait_for(condition):
    deadline = time.monotonic() + 10.0
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)


def test_the_clock_of_learning_stands_still():
    start, before = time.perf_counter(), learning_time()
    with sharing.share_compiling(), sharing.compiling("loop", is_cached=False):
        time.sleep(0.05)
    elapsed, learning = time.perf_counter() - start, learning_time() - before
    assert learning < elapsed - 0.05


def test_nothing_to_compile():
    X, y = np.eye(2), [0, 1]
    with (
        config_context(engine="auto"),
        pytest.raises(TypeError, match="no part of SGD"),
    ):
        sklearn_scinol.compile(SGDClassifier(), X, y)
    with config_context(engine="numpy"), pytest.raises(ValueError, match="'numpy'"):
        sklearn_scinol.compile(ScInOLClassifier(), X, y)


@pytest.fixture
def ahead(monkeypatch):
    """Estimators with which a process that has compiled nothing compiles ahead."""
    estimators = []
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)  # the rows are few
    monkeypatch.setattr(
        rehearsal, "compile_loops", lambda estimator, *_: estimators.append(estimator)
    )
    monkeypatch.setattr(rehearsal, "_keys", set())
    monkeypatch.setattr(rehearsal, "_estimators", weakref.WeakSet())
    with config_context(engine="numba"):
        yield estimators


def stream():
    X = np.random.default_rng(0).standard_normal((9, 2))
    return X, np.arange(9) % 2


@pytest.mark.parametrize("is_cached", [True, False])
def test_messages_while_compiling(is_cached, impatient, caplog, monkeypatch):
    """One until a pause; none of loops in the cache, or where nobody listens."""

    def compile_a_loop(n_messages, is_missing=True):
        with sharing.compiling("loop", is_cached):
            if is_cached and is_missing:
                sharing.tell_missing()
            time.sleep(0.02)
            wait_for(lambda: len(caplog.messages) >= n_messages)
        assert len(caplog.messages) == n_messages

    with sharing.share_compiling(is_quiet=True):
        compile_a_loop(0)
    if is_cached:
        compile_a_loop(0, is_missing=False)
    compile_a_loop(1)
    assert ("it is kept" if is_cached else "not") in caplog.messages[0]
    monkeypatch.setattr(sharing, "PAUSE", np.inf)
    compile_a_loop(1)
    monkeypatch.setattr(sharing, "PAUSE", -np.inf)
    compile_a_loop(2)


def test_a_process_compiles_once_ahead(ahead, monkeypatch):
    X, y = stream()
    for model, rows, n in (
        (ScInOLClassifier(new_classes="add"), X, 1),
        (ScInOLClassifier(new_classes="add"), X, 1),
        (ScInOLClassifier(new_classes="add"), sparse.csr_array(X), 2),
        (ScInOLClassifier(new_classes="add"), X[:, :1], 3),
        (ScInOLClassifier(new_classes="add", center=False), X, 4),
        (DFEGClassifier(new_classes="add"), X, 5),
        (HedgeClassifier([("a", ScInOLClassifier())], new_classes="add"), X, 6),
        (ScInOLClassifier(), X, 6),
    ):
        for _ in range(2):
            model.partial_fit(rows, y, classes=[0, 1])
            assert len(ahead) == n
    # The number of remembered kinds is bounded.
    monkeypatch.setattr(rehearsal, "MAX_KEYS", 2)
    rehearsal._keys.clear()
    for n, wealth in enumerate([1.0, 2.0, 3.0, 4.0, 1.0]):
        model = ScInOLClassifier(new_classes="add", initial_wealth=wealth)
        model.partial_fit(X, y)
        assert len(ahead) == n + 7
        assert len(rehearsal._keys) <= 2


@pytest.mark.parametrize("is_by_row", [False, True])
def test_a_loaded_model_compiles_ahead(ahead, is_by_row):
    X, y = stream()
    model = ScInOLClassifier(new_classes="add").partial_fit(X, y)
    assert len(ahead) == 1
    rehearsal._keys.clear()  # as in another process
    loaded = pickle.loads(pickle.dumps(model))
    rows = loaded.row_by_row()
    rows.predict_one(X[0])
    assert len(ahead) == 1
    for _ in range(2):
        if is_by_row:
            rows.learn_one(X[0], y[0])
            assert any(rows._sessions.values())
        else:
            loaded.partial_fit(X, y)
        assert ahead[1:] == [loaded]
    rehearsal._keys.clear()
    with_third = pickle.loads(pickle.dumps(loaded.partial_fit(X, y + 1)))
    assert with_third.partial_fit(X, y).classes_.size == 3
    assert len(ahead) == 2


def test_nothing_is_compiled_where_loops_run_uncompiled(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    rehearsed = []
    monkeypatch.setattr(rehearsal, "_rehearse", rehearsed.append)
    X, y = stream()
    with config_context(engine="numba"):
        ScInOLClassifier(new_classes="add").partial_fit(X, y)
        with pytest.raises(ValueError, match="NUMBA_DISABLE_JIT is set"):
            sklearn_scinol.compile(ScInOLClassifier(), X, y)
    assert not rehearsed


def without_folder():
    with sharing.compiling("loop", is_cached=False):
        pass


def on_full_disk():
    disk_cache.Cache.save_overload(object.__new__(disk_cache.Cache), None, None)


@pytest.mark.parametrize(
    ("compile_loop", "words"),
    [(without_folder, "no folder .* NUMBA_CACHE_DIR"), (on_full_disk, "No space")],
)
def test_a_warning_says_that_loops_are_not_kept(compile_loop, words, monkeypatch):
    def fail(*_):
        raise OSError("No space left on device")

    def compile_loops(*_, **__):
        with sharing.share_compiling() as report:
            compile_loop()
        return report, sharing.Report()

    monkeypatch.setattr(disk_cache.FunctionCache, "save_overload", fail)
    monkeypatch.setattr(compiling, "compile_loops", compile_loops)
    X, y = stream()
    with pytest.warns(RuntimeWarning, match=f"this process alone, since .*{words}"):
        assert sklearn_scinol.compile(ScInOLRegressor(), X, y)


def test_classes_are_those_of_a_fitted_model(monkeypatch):
    given = []

    def compile_loops(estimator, X, y, classes, **_):
        given.append(list(classes))
        return ()

    monkeypatch.setattr(compiling, "compile_loops", compile_loops)
    X, y = stream()
    model = ScInOLClassifier()
    assert not sklearn_scinol.compile(model, X, y)
    model.partial_fit(X, y, classes=[0, 1, 2])
    sklearn_scinol.compile(model, X, y)
    sklearn_scinol.compile(model, X, y, classes=[0, 1, 2, 3])
    assert given == [[0, 1], [0, 1, 2], [0, 1, 2, 3]]


def test_threads_compile_a_loop_at_once(monkeypatch):
    """Each goes on with its own dispatcher where another thread makes one meanwhile."""

    def double(x):
        for i in range(x.size):
            x[i] *= 2.0

    monkeypatch.setattr(numba.config, "DISABLE_JIT", False)
    loop, x = numba_compiling.compiled(double), np.ones(3)
    loop._flatten((x,))
    first = loop.dispatcher.compile

    def compile_meanwhile(types):
        loop._flatten((x,))
        return first(types)

    loop.dispatcher.compile = compile_meanwhile
    loop.bind(x)()
    loop(x)
    assert x.tolist() == [4.0, 4.0, 4.0]


@pytest.mark.parametrize("was_enabled", [True, False])
def test_no_garbage_is_collected_while_a_loop_compiles(was_enabled, monkeypatch):
    """Later it is as before, also if that fails."""
    are_enabled = []

    def add_one(x):
        x[0] += 1.0

    def fail(*_):
        are_enabled.append(gc.isenabled())
        raise NumbaError("no code")

    monkeypatch.setattr(numba.config, "DISABLE_JIT", False)
    monkeypatch.setattr(numba_compiling.FlatCompiler, "compile_extra", fail)
    (gc.enable if was_enabled else gc.disable)()
    try:
        with pytest.raises(NumbaError, match="no code"):
            numba_compiling.compiled(add_one)(np.ones(1))
        are_enabled.append(gc.isenabled())
    finally:
        gc.enable()
    assert are_enabled == [False, was_enabled]


def test_entries_of_arrays_of_any_layout(monkeypatch):
    """Indices may be negative, and numbers of another type than the array's."""

    def fill(strided, by_column, cube, codes, out):
        for i in range(-2, 3):
            x = strided[i] + by_column[i, 0] * by_column[1, codes[i]]
            cube[i, codes[i], -1] += x
            out[codes[-1], i // 2] = cube[0, 1, 2] - x
        out[0, 0] = codes[0] > 0
        codes[1] = 2.0 * codes[2]

    rng = np.random.default_rng(0)
    numbers = [rng.integers(-9, 9, size).astype(float) for size in ((5, 2), (3, 6))]
    numbers += [rng.integers(-9, 9, size).astype(float) for size in ((3, 3, 3), (4, 4))]

    def arguments():
        strided, by_column, cube, out = (each.copy() for each in numbers)
        codes = np.array([2, 0, 1, 1, 2], np.uint32)
        return strided[:, 1], np.asfortranarray(by_column), cube, codes, out[:, ::2]

    monkeypatch.setattr(numba.config, "DISABLE_JIT", False)
    of_python, of_loop = arguments(), arguments()
    fill(*of_python)
    numba_compiling.compiled(fill)(*of_loop)
    for expected, found in zip(of_python, of_loop, strict=True):
        assert found.tolist() == expected.tolist()
