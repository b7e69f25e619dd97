"""What is imported when, what may import what, and the public names."""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from public_api import LISTED, public_objects

import sklearn_scinol

PACKAGE = Path(sklearn_scinol.__file__).parent
OPTIONAL = {
    "dask",
    "distributed",
    "matplotlib",
    "numba",
    "pandas",
    "polars",
    "pyarrow",
    "skops",
    "tqdm",
}
FIRST_FIT = """
from sklearn_scinol import ScInOLRegressor, config_context
with config_context(engine="{engine}"):
    ScInOLRegressor().partial_fit([[1.0]], [2.0])
"""


@cache
def loaded(code):
    """The optional dependencies that a new process has imported after `code`."""
    code += f"\nimport sys; print(*({OPTIONAL} & sys.modules.keys()))"
    process = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(process.stdout.split())


def test_import_leaves_optional_dependencies_alone():
    # Those that scikit-learn imports by itself do not count.
    assert loaded(f"import {', '.join(LISTED)}") <= loaded("import sklearn.base")


def test_first_compiled_fit_imports_numba():
    pytest.importorskip("numba")
    assert "numba" in loaded(FIRST_FIT.format(engine="numba"))


def test_engine_numpy_leaves_numba_alone():
    assert "numba" not in loaded(FIRST_FIT.format(engine="numpy"))


def test_engine_auto_is_numba_where_it_is_installed():
    is_loaded = "numba" in loaded(FIRST_FIT.format(engine="auto"))
    assert is_loaded == (find_spec("numba") is not None)


@pytest.mark.parametrize("module", LISTED)
def test_public_names(module):
    """The page of the API lists them all, and nothing else."""
    assert sorted(LISTED[module]) == sorted(import_module(module).__all__)


def test_public_names_have_docstrings():
    for public in public_objects():
        documentation = public.__doc__
        assert documentation
        assert not re.search(r"\S -{4,}", documentation)  # a heading in a paragraph


def imports(path):
    """The modules that a file imports: absolute names, and relative ones with dots."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def test_only_the_compiled_engine_imports_numba():
    importing = {
        path.relative_to(PACKAGE).parent.as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(name.split(".")[0] == "numba" for name in imports(path))
    }
    assert importing == {"engines/numba_engine"}


#: What a module may import of the package, by the folder it is in or its own name.
FORMULAS = "_portable", "_invariants"
LAYERS = {
    "_portable": set(),
    "_invariants": set(),
    "_locks": set(),
    "_rollback": {"_locks"},
    "_shards": set(),
    "losses": {"_portable", "losses"},
    "learners": {*FORMULAS, "losses", "learners"},
    "transforms": {*FORMULAS, "_shards", "transforms", "engines.protocol"},
    "engines": {"_portable", "losses", "learners", "transforms", "engines"},
    "models": {
        "_invariants",
        "_rollback",
        "_shards",
        "config",
        "losses",
        "learners",
        "transforms",
        "engines",
        "models",
    },
    "tables": {
        "_invariants",
        "engines.protocol",
        "models.base",
        "transforms",
        "tables",
    },
    "dask": {
        "_typing",
        "config",
        "dask",
        "evaluation",
        "merging",
        "persistence",
        "streams.ahead",
    },
}


def imported_modules(path):
    """What a file imports of the package: dotted names below it."""
    place = [*path.relative_to(PACKAGE).with_suffix("").parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            start = place[: len(place) - node.level]
            name = ".".join([*start, *filter(None, [node.module])])
            if node.module is None:  # from .. import module
                yield from (".".join([*start, alias.name]) for alias in node.names)
            else:
                yield name


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_go_one_way(layer):
    files = [PACKAGE / f"{layer}.py", *(PACKAGE / layer).rglob("*.py")]
    files = [path for path in files if path.exists()]
    assert files
    for path in files:
        for name in imported_modules(path):
            assert any(f"{name}.".startswith(f"{one}.") for one in LAYERS[layer]), path
        for name in imports(path):
            assert name.split(".")[0] != "sklearn_scinol"


@pytest.mark.parametrize("layer", ["_portable", "losses", "learners", "transforms"])
def test_formulas_are_those_of_numpy(layer):
    """They leave scikit-learn and the compiler to the layers above."""
    for path in [PACKAGE / f"{layer}.py", *(PACKAGE / layer).rglob("*.py")]:
        if path.exists():
            others = {name.split(".")[0] for name in imports(path)}
            assert not others & {"numba", "sklearn"}
