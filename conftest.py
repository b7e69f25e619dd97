"""For the doctests; the fixtures of all other tests are in tests/conftest.py."""

import pytest

from sklearn_scinol import config_context


@pytest.fixture(autouse=True)
def uncompiled_doctests(request):
    """Compiling the example of a docstring would take longer than running it."""
    shows_engines = request.node.name.startswith("sklearn_scinol.config")
    if shows_engines or not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    with config_context(engine="numpy"):
        yield
