"""Which engine runs: the configuration of each thread."""

import importlib.util
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.sums import linear

import sklearn_scinol
from sklearn_scinol import (
    ScInOLClassifier,
    ScInOLRegressor,
    config,
    config_context,
    engines,
    get_config,
    set_config,
)

X = np.random.default_rng(0).normal(size=(30, 3))
y = linear(X, [1.0, -2.0, 0.5])
no_numba = importlib.util.find_spec("numba") is None


@pytest.fixture(autouse=True)
def default():
    assert get_config() == {"engine": "auto"}
    yield
    set_config(engine="auto")


@pytest.fixture
def used(monkeypatch):
    """The names of the engines that were asked for, one a block of rows."""
    names = []

    def spy():
        engine = config.current_engine()
        names.append(engine.__name__.rpartition(".")[2])
        return engine

    monkeypatch.setattr(sklearn_scinol.models.transformed, "current_engine", spy)
    return names


@pytest.fixture
def without_numba(monkeypatch):
    """As if Numba were not installed."""
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    engines.get_engine.cache_clear()
    yield
    engines.get_engine.cache_clear()


def test_set():
    set_config(engine="numpy")
    set_config()
    set_config(engine=None)
    get_config()["engine"] = "numba"  # of a copy
    assert get_config() == {"engine": "numpy"}


def test_context():
    with config_context(engine="numpy"):
        with config_context(engine="numba"), config_context():
            assert get_config() == {"engine": "numba"}
        assert get_config() == {"engine": "numpy"}
        set_config(engine="auto")
    with pytest.raises(ZeroDivisionError), config_context(engine="numpy"):
        _ = 1 / 0
    assert get_config() == {"engine": "auto"}


@pytest.mark.parametrize("engine", ["cuda", "Numba", "", 1, ["numpy"]])
def test_unknown_engine(engine):
    words = r"engine must be one of \('auto', 'numba', 'numpy'\), got .* instead"
    with pytest.raises(ValueError, match=words):
        set_config(engine=engine)
    with pytest.raises(ValueError, match=words), config_context(engine=engine):
        raise AssertionError
    assert get_config() == {"engine": "auto"}


def test_unknown_option():
    with pytest.raises(TypeError, match="threads"):
        set_config(threads=2)
    with pytest.raises(TypeError):
        set_config("numpy")


def test_threads_have_their_own():
    seen = {}
    inside, go_on = threading.Event(), threading.Event()

    def other():
        seen["at first"] = get_config()["engine"]
        with config_context(engine="numpy"):
            inside.set()
            go_on.wait(60)
            seen["inside"] = get_config()["engine"]

    set_config(engine="numba")
    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(60)
    assert get_config() == {"engine": "numba"}
    set_config(engine="auto")
    go_on.set()
    thread.join()
    assert seen == {"at first": "auto", "inside": "numpy"}


@pytest.mark.slow
@pytest.mark.skipif(no_numba, reason="numba is not installed")
def test_engine_may_change_between_chunks(used):
    """Numba is used where it is installed, and NumPy where it is asked for."""
    expected = ScInOLRegressor().partial_fit(X, y)
    used.clear()
    given = ScInOLRegressor().partial_fit(X[:10], y[:10])
    with config_context(engine="numpy"):
        given.partial_fit(X[10:20], y[10:20])
    with config_context(engine="numba"):
        given.partial_fit(X[20:], y[20:])
    assert used == ["numba_engine", "numpy_engine", "numba_engine"]
    assert_allclose(given.coef_, expected.coef_, rtol=1e-12)


def test_auto_does_without_numba(used, without_numba):
    ScInOLRegressor().partial_fit(X, y)
    assert set(used) == {"numpy_engine"}


@pytest.mark.parametrize("estimator", [ScInOLClassifier, ScInOLRegressor])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_numba_that_is_not_installed(estimator, method, without_numba):
    """One clear sentence, and nothing learned."""
    targets = y if estimator is ScInOLRegressor else (y > 0).astype(int)
    keywords = {}
    if estimator is ScInOLClassifier and method == "partial_fit":
        keywords["classes"] = [0, 1]
    fresh = estimator()
    words = r"The engine 'numba' needs numba: .*pip install"
    with (
        config_context(engine="numba"),
        pytest.raises(ImportError, match=words) as refusal,
    ):
        getattr(fresh, method)(X, targets, **keywords)
    assert "\n" not in str(refusal.value)
    assert vars(fresh) == fresh.get_params()
