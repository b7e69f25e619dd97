"""Fixtures of all tests."""

import importlib.util

import numpy as np
import pytest
from hypothesis import settings
from registry import ENGINES

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
