"""Engines beyond their numbers: what is compiled when, and what is kept on disk."""

import copy
import decimal
import errno
import importlib.util
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from support.formats import DENSE, SPARSE, read_only
from support.packages import run
from support.registry import NEIGHBORS, thoroughly

from sklearn_scinol import (
    AdaFTRLRegressor,
    AdaImplicitRegressor,
    DFEGClassifier,
    DFEGRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    _portable,
    config_context,
)
from sklearn_scinol.baselines import BaselineClassifier
from sklearn_scinol.blocks import Predictions, State
from sklearn_scinol.engines import get_engine
from sklearn_scinol.experts import AdaHedge
from sklearn_scinol.learners import ScInOL2
from sklearn_scinol.losses import Huber
from sklearn_scinol.models.linear import LinearModel
from sklearn_scinol.models.model import Chunk

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None, reason="numba is not installed"
)


@pytest.fixture
def kernels(monkeypatch):
    """The compiled loops that are called while the test runs, each once.

    Of each there is another, which has not been called before.
    """
    from sklearn_scinol.engines.numba_engine.compiling import Loop

    found, call = {}, Loop.__call__

    def spy(loop, *arguments):
        if id(loop) not in found:
            found[id(loop)] = copy.copy(loop)
            vars(found[id(loop)]).update(_get_leaves=None, _entries={})
        return call(found[id(loop)], *arguments)

    monkeypatch.setattr(Loop, "__call__", spy)
    with config_context(engine="numba"):
        yield found


def signatures(kernels):
    """For which types of arguments each loop was compiled."""
    return [list(kernel.dispatcher.signatures) for kernel in kernels.values()]


def learn(estimator, X, y, **keywords):
    if is_classifier(estimator):
        keywords["classes"] = np.unique(y)
    estimator.partial_fit(X, y, **keywords)


def memory_mapped(array, path):
    array.tofile(path)
    return np.memmap(path, dtype=array.dtype, mode="r", shape=array.shape)


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "n_outputs", "container"),
    [
        (ScInOLClassifier(), 3, np.array),
        (BaselineClassifier(), 3, sparse.csr_array),
        (DFEGRegressor(kernel="rbf", average=True), 1, sparse.csr_array),
        *thoroughly(
            (AdaImplicitRegressor("huber", radius=1.0, center=False), 1, np.array),
            (AdaFTRLRegressor(), 1, sparse.csr_array),
            (DFEGClassifier(kernel="rbf"), 3, np.array),
            (DFEGRegressor(kernel="poly", max_support=4), 3, np.array),
        ),
    ],
    ids=str,
)
def test_compiled_once(estimator, n_outputs, container, kernels, tmp_path):
    """One variant of a kernel serves every input and every size."""
    estimator = clone(estimator)
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(20, 3)).astype(float)
    if is_classifier(estimator):
        y = np.arange(20) % max(n_outputs, 2)
    else:
        y = rng.normal(size=(20, n_outputs) if n_outputs > 1 else 20)
    learn(estimator, container(X), y)
    estimator.partial_fit(container(X[:1]), y[:1])
    loops, compiled_for = [*kernels.values()], signatures(kernels)
    # That over rows, and those that look for large values and, of kernels, for losses.
    expected = {"learn_rows", "_norm"}
    if getattr(estimator, "kernel", "linear") != "linear":
        expected = {"learn_combination", "_norm", "compute_losses"}
    elif estimator._model.features.units is not None and container is not np.array:
        expected.add("_first_values")
    assert sorted(expected) == sorted(loop._function.__name__ for loop in loops)
    assert {*map(len, compiled_for)} == {1}

    weight = np.arange(20) % 3 / 2
    formats = [*(DENSE if container is np.array else SPARSE).values()]
    same = [convert(X) for convert in formats]
    if container is np.array:
        same.append(memory_mapped(X, tmp_path / "rows"))
    X = container(X)
    for rows in same:
        learn(estimator, rows, y)
    for targets in (read_only(y), np.repeat(y, 2, axis=0)[::2], y.astype(np.int32)):
        learn(estimator, X, targets)
    for weights in (
        weight,
        read_only(weight),
        np.repeat(weight, 2)[::2],
        weight.astype(np.float32),
        memory_mapped(weight, tmp_path / "weights"),
        2,
    ):
        learn(estimator, X, y, sample_weight=weights)
    estimator.set_params(max_iter=2, tol=None, random_state=0).fit(X, y)
    estimator.fit(X, y, sample_weight=weight)
    # Other sizes, down to arrays that are contiguous in both senses.
    for n_samples, n_features in ((5, 7), (1, 1)):
        for fit_intercept in (True, False):
            other = type(estimator)(**estimator.get_params())
            other.set_params(fit_intercept=fit_intercept)
            rows = container(np.ones((n_samples, n_features)))
            keywords = {"classes": np.unique(y)} if is_classifier(estimator) else {}
            other.partial_fit(rows, y[:n_samples], **keywords)

    assert list(kernels.values()) == loops
    assert signatures(kernels) == compiled_for


@pytest.mark.thorough
@pytest.mark.parametrize("estimator", NEIGHBORS)
def test_searches_are_compiled_once(estimator, kernels, tmp_path):
    """One variant serves every input, any number of neighbours, and predictions."""
    y = np.arange(20.0) % 3
    for n_features in 1, 3:
        X = np.random.default_rng(0).normal(size=(20, n_features))
        for rows in X, np.asfortranarray(X), read_only(X), X[:4], sparse.csr_array(X):
            for targets in y, read_only(y), np.repeat(y, 2)[::2]:
                model = estimator(n_features, window=7)
                learn(model, rows, targets[: rows.shape[0]])
                model.predict(rows)
        joblib.dump(model, tmp_path / "model")
        joblib.load(tmp_path / "model", mmap_mode="r").predict(X)
    names = [loop._function.__name__ for loop in kernels.values()]
    assert "_learn_neighbors" in names
    assert {*map(len, signatures(kernels))} == {1}


@pytest.mark.thorough
def test_parameters_are_not_compiled_in(kernels):
    X, y = np.ones((5, 3)), np.ones(5)
    for epsilon in (0.1, 1, 2.0):
        for initial_wealth in (1, 0.5):
            parameters = {"epsilon": epsilon, "initial_wealth": initial_wealth}
            made = ScInOLRegressor(loss="huber", center=False, **parameters)
            made.partial_fit(X, y)
    assert [*map(len, signatures(kernels))] == [1]


def exp_of(x):
    return _portable.exp(x)


def expm1_of(x):
    return _portable.expm1(x)


def write_exponentials(x, y):
    for j in range(x.size):
        y[j] = _portable.exp(x[j]) + _portable.expm1(x[j])


@pytest.fixture(scope="module")
def compiled_exponentials():
    from sklearn_scinol.engines.numba_engine.compiling import compiled

    return {"exp": compiled(exp_of), "expm1": compiled(expm1_of)}


@pytest.mark.slow
@given(x=st.floats(-708.0, 708.0))
@example(x=0.0)
@example(x=5e-324)
@example(x=-1e-300)
def test_compiled_exponentials(compiled_exponentials, x):
    with decimal.localcontext(prec=40, Emin=-999999, Emax=999999):
        expected = {"exp": Decimal(x).exp(), "expm1": Decimal(x).exp() - 1}
        if abs(x) < 1e-8:
            expected["expm1"] = Decimal(x) + Decimal(x) ** 2 / 2
        expected = {name: float(value) for name, value in expected.items()}
    for name, function in compiled_exponentials.items():
        assert_allclose(function(x), expected[name], rtol=5e-16, atol=5e-324)


@pytest.mark.parametrize("x", [709.0, 1e4, 1e300, np.inf])
def test_compiled_exponentials_of_large_numbers(compiled_exponentials, x):
    for name, function in compiled_exponentials.items():
        assert function(708.0) <= function(x) <= np.inf
        smallest = {"exp": 0.0, "expm1": -1.0}[name]
        assert smallest <= function(-x) <= function(-708.0)


def test_compiled_exponentials_call_nothing(cache_folder):
    """Or else the loop around them would take one number at a time."""
    from sklearn_scinol.engines.numba_engine.compiling import compiled

    loop = compiled(write_exponentials)
    loop(np.zeros(3), np.zeros(3))
    (optimised,) = loop.dispatcher.inspect_llvm().values()
    assert not re.search(r"@(llvm\.)?exp", optimised)


LEARN = """
import gc
from sklearn_scinol import ScInOLRegressor
X = np.linspace(-1.0, 2.0, 60).reshape(20, 3)
said = ScInOLRegressor(center=False).partial_fit(X, X[:, 0]).coef_
from sklearn_scinol.engines.numba_engine.compiling import Loop
loops = [loop for loop in gc.get_objects() if isinstance(loop, Loop)]
(loop,) = [loop for loop in loops if loop._function.__name__ == "learn_rows"]
"""

#: Takes less time to compile.
HEDGE = """
from sklearn_scinol.engines.numba_engine.mixing import _learn_hedge
from sklearn_scinol.experts import AdaHedge, FixedShare
hedge = AdaHedge(3)
hedge.update(np.arange(12.0).reshape(4, 3) ** 2 % 7)
said, loop = hedge.weights_, _learn_hedge
"""


def in_new_process(code, package, **environment):
    """What a loop does in a new process with this package, and what was cached."""
    code = f"""
import json
import joblib
import numpy as np
{code}
print(json.dumps({{
    "said": said.tolist(),
    "folder": loop.dispatcher.stats.cache_path,
    "hits": sum(loop.dispatcher.stats.cache_hits.values()),
    "misses": sum(loop.dispatcher.stats.cache_misses.values()),
    "flattened": hasattr(loop.dispatcher.py_func, "source"),
}}))
"""
    return json.loads(run(code, package, **environment))


def kept(folder):
    """The files below a folder, and when each was written."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path: path.stat().st_mtime_ns for path in files}


@pytest.mark.thorough
def test_cache_on_disk(package, tmp_path):
    """A later process finds the kernel; with another formula, it must not.

    Not optimised, which takes less time, and must make no difference to what is said.
    """
    cache = tmp_path / "cache"
    environment = {"NUMBA_CACHE_DIR": str(cache), "NUMBA_OPT": "0"}
    first = in_new_process(LEARN, package, **environment)
    assert (first["hits"], first["misses"], first["flattened"]) == (0, 1, True)
    X = np.linspace(-1.0, 2.0, 60).reshape(20, 3)
    with config_context(engine="numpy"):
        expected = ScInOLRegressor(center=False).partial_fit(X, X[:, 0]).coef_
    assert_allclose(first["said"], expected, rtol=1e-9)
    assert Path(first["folder"]).is_relative_to(cache)
    files = kept(cache)
    assert files

    later = in_new_process(LEARN, package, **environment)
    assert later == first | {"hits": 1, "misses": 0, "flattened": False}
    assert kept(cache) == files
    for compiled in cache.rglob("*.nb?"):
        compiled.unlink()
    assert in_new_process(LEARN, package, **environment) == first

    formula = package / "learners" / "scinol2.py"
    source = formula.read_text(encoding="utf-8")
    assert source.count("s.G[i] -= gx") == 1
    changed = source.replace("s.G[i] -= gx", "s.G[i] -= 0.5 * gx")
    formula.write_text(changed, encoding="utf-8")
    edited = in_new_process(LEARN, package, **environment)
    assert (edited["hits"], edited["misses"]) == (0, 1)
    assert np.abs(np.subtract(edited["said"], first["said"])).min() > 1e-3


@pytest.mark.thorough
def test_two_processes_compile_at_once(package, tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_OPT": "0"}
    with ThreadPoolExecutor(2) as pool:
        at_once = [
            pool.submit(in_new_process, HEDGE, package, **environment) for _ in range(2)
        ]
        first, other = (one.result() for one in at_once)
    assert first["said"] == other["said"]
    assert first["hits"] + first["misses"] == other["hits"] + other["misses"] == 1
    assert first["misses"] or other["misses"]
    later = in_new_process(HEDGE, package, **environment)
    assert later == first | {"hits": 1, "misses": 0, "flattened": False}


@pytest.mark.thorough
@pytest.mark.skipif(os.name == "nt", reason="the folder of caches is elsewhere")
def test_no_place_for_a_cache(package, tmp_path):
    """All is compiled for the process alone, without a word."""
    file = tmp_path / "file"
    file.touch()
    folder = package / "engines" / "numba_engine" / "__pycache__"
    folder.touch()  # as a file, which stops even the superuser
    nowhere = str(file / "nowhere")
    learned = in_new_process(
        HEDGE, package, NUMBA_CACHE_DIR=nowhere, XDG_CACHE_HOME=nowhere, HOME=nowhere
    )
    assert learned["folder"] is None
    hedge = AdaHedge(3)
    with config_context(engine="numpy"):
        hedge.update(np.arange(12.0).reshape(4, 3) ** 2 % 7)
    assert_allclose(learned["said"], hedge.weights_, rtol=1e-12)


def double(x):
    return 2.0 * x


def doubled():
    """Twice 21, as a new process compiles it; and how often it was found on disk."""
    from sklearn_scinol.engines.numba_engine.compiling import compiled

    loop = compiled(double)
    result = loop(21.0)
    return result, sum(loop.dispatcher.stats.cache_hits.values())


@pytest.fixture
def cache_folder(monkeypatch, tmp_path):
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.cases(3)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.9, None])
def test_damaged_caches(suffix, share, cache_folder):
    """They are compiled anew, and mended."""
    assert doubled() == (42.0, 0)
    assert doubled() == (42.0, 1)
    (file,) = cache_folder.rglob(f"*{suffix}")
    whole = file.read_bytes()
    size = len(whole) if share is None else int(share * len(whole))
    file.write_bytes(bytes(size) if share is None else whole[:size])
    assert doubled() == (42.0, 0)
    assert doubled() == (42.0, 1)


def test_descriptions_of_flat_functions(cache_folder, monkeypatch):
    """It serves the sources that it was made of, and no others."""
    from sklearn_scinol.engines.numba_engine import compiling, flat_cache
    from sklearn_scinol.engines.numba_engine.flattening import structure

    values = [structure(1.0, "a"), structure(2.0, "b")]
    function = _portable.norm
    _, description = compiling.flat_function(function, values, True)

    def loaded(is_strict=True, given=values):
        return flat_cache.load(function, given, is_strict)

    assert loaded() is None
    flat_cache.save(function, values, True, description)
    assert loaded() == description
    assert loaded(is_strict=False) is None
    assert loaded(given=[*values[:1], structure(np.ones(2), "b")]) is None
    with monkeypatch.context() as patch:
        patch.setattr(flat_cache, "_stamp", lambda: "of other sources")
        assert loaded() is None
    (file,) = cache_folder.rglob("*.json")
    whole = file.read_bytes()
    for damaged in (b"", whole[:-9], b"{}", b"[1, 2, 3, 4]", b"[]"):
        file.write_bytes(damaged)
        assert loaded() is None
    flat_cache.save(function, values, True, description)
    assert loaded() == description
    flat_cache.save(double, values[:1], True, description)  # of this file
    assert [*cache_folder.rglob("*.json")] == [file]


def test_a_function_is_flattened_to_be_compiled_only(cache_folder, monkeypatch):
    """For other types, and where there is no folder for the cache, too."""
    from sklearn_scinol.engines.numba_engine import compiling

    def loop():
        return compiling.compiled(_portable.norm, compiling.STRICT)

    first = loop()
    assert first(3.0, 4.0) == 5.0
    assert hasattr(first.dispatcher.py_func, "source")
    later = loop()
    assert later(3.0, 4.0) == 5.0
    assert not hasattr(later.dispatcher.py_func, "source")
    assert later(3.0, 4) == 5.0
    assert hasattr(later.dispatcher.py_func, "source")
    for file in cache_folder.rglob("*.nb?"):
        file.unlink()
    assert loop()(3.0, 4.0) == 5.0

    class Nowhere(compiling.Cache):
        def __init__(self, *_):
            raise RuntimeError

    monkeypatch.setattr(compiling, "Cache", Nowhere)
    assert loop()(3.0, 4.0) == 5.0


def test_a_read_only_cache_is_read(cache_folder, monkeypatch):
    """Elsewhere nothing is looked for or kept, although other folders can be written.

    For the superuser a folder is read-only only on a file system that is.
    """
    from numba.core import caching

    assert doubled() == (42.0, 0)
    before = kept(cache_folder)

    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(caching.tempfile, "TemporaryFile", refuse)
    monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", refuse)
    assert doubled() == (42.0, 1)
    assert kept(cache_folder) == before
    for path in before:
        path.unlink()
    assert doubled() == (42.0, 0)
    assert doubled() == (42.0, 0)
    assert not kept(cache_folder)


SQUARES = """
from sklearn_scinol._portable import exact

@exact
def added(a, b):
    return a + b

def sum_of_squares(x):
    total = 0.0
    for i in range(x.size):
        total = added(total, x[i] * x[i])
    return total
"""


def test_digest_follows_exact_functions(tmp_path, monkeypatch):
    """They are compiled by themselves, so the source of the loop does not show them."""
    from sklearn_scinol.engines.numba_engine.compiling import compiled

    monkeypatch.syspath_prepend(tmp_path)
    sources, results = {}, []
    for name, source in ("one", SQUARES), ("other", SQUARES.replace("a + b", "a - b")):
        (tmp_path / f"{name}.py").write_text(source, "utf-8")
        loop = compiled(importlib.import_module(name).sum_of_squares)
        results.append(loop(np.array([1.0, 2.0])))
        digest = loop.dispatcher._cache._digest
        sources[digest] = loop.dispatcher.py_func.source
    assert results == [5.0, -5.0]
    assert len(sources) == 2
    assert len({*sources.values()}) == 1


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("engine", ["uncompiled"], indirect=True)
def test_buffers_of_a_refused_row_may_be_used_again(n_outputs, engine):
    """NaN in them, of a row that was refused, does not reach the next row."""
    from sklearn_scinol.engines.numba_engine.learning import learn_call

    rng, coefs = np.random.default_rng(0), []
    X, y = rng.normal(size=(30, 4)), rng.normal(size=(30, n_outputs))
    for is_used in False, True:
        model = LinearModel(
            ScInOL2(1.0), Huber(0.5), 4, n_outputs, fit_intercept=True, average=0
        )
        model.ensure_layout(X)
        parts = {name: getattr(model, name, None) for name in State._fields}
        state = State(**parts | {"weight_scale": model.weight_scale.numbers})
        out = Predictions(np.empty(y.shape), None, np.empty(y.shape))
        block = model.block(get_engine("numba"), Chunk(X, y, None), slice(0, 30))
        loop, arguments = learn_call(model.task, state, block, out)
        scratch = arguments[-1]
        if is_used:
            for array in scratch.x[:, :4], scratch.w, scratch.g, scratch.step:
                array[:] = np.nan
        assert loop(*arguments)
        coefs.append(model.fields.copy())
    assert np.isfinite(coefs[0]).all()
    assert_array_equal(*coefs)
