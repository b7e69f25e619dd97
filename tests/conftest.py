"""Fixtures of all tests."""

import importlib.util

import numpy as np
import pytest
from hypothesis import settings
from registry import ENGINES
from scripts import EXAMPLES

from sklearn_scinol import config_context

settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")


@pytest.fixture(autouse=True)
def seed():
    """Let estimators with `random_state=None`, too, do the same in every run."""
    np.random.seed(0)  # noqa: NPY002  (its state is what they take)


@pytest.fixture(params=ENGINES)
def engine(request):
    """The name of an engine, which is in use while the test runs."""
    if request.param == "numba" and importlib.util.find_spec("numba") is None:
        pytest.skip("numba is not installed")
    with config_context(engine=request.param):
        yield request.param


@pytest.fixture
def load(monkeypatch):
    """Import a script of the examples by its name."""

    def load(name):
        module = importlib.import_module(name)
        # Bars appear after a while, which would make what is printed a matter of time.
        monkeypatch.setattr(module, "show_progress", lambda iterable, _: iterable)
        return module

    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.syspath_prepend(EXAMPLES / "benchmarks")
    if importlib.util.find_spec("matplotlib") is None:
        yield load
        return
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    yield load
    plt.close("all")
