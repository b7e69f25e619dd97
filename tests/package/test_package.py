"""What is imported when, what may import what, and the public names."""

import ast
import inspect
import os
import subprocess
import sys
from email.message import Message
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator
from support.public_api import LISTED, public_objects

import sklearn_scinol
from sklearn_scinol import ScInOLRegressor, _docstrings
from sklearn_scinol.pipeline import OnlinePipeline
from sklearn_scinol.preprocessing import OnlineHistory

PACKAGE = Path(sklearn_scinol.__file__).parent
OPTIONAL = {"dask", "distributed", "matplotlib", "numba", "pandas", "polars", "pyarrow"}
OPTIONAL |= {"skops", "tqdm"}
STEPS = f"""
import sys
def tell():
    print(*({OPTIONAL} & sys.modules.keys()))
import sklearn.base
tell()  # those that scikit-learn imports by itself do not count
import {", ".join(LISTED)}
tell()
from sklearn_scinol import ScInOLRegressor, config_context
for engine in "numpy", "auto":
    with config_context(engine=engine):
        ScInOLRegressor().partial_fit([[1.0]], [2.0])
    tell()
"""


@pytest.mark.thorough
def test_what_is_imported_when():
    """Optional dependencies wait for who asks for them, Numba for the first rows."""
    process = subprocess.run(
        [sys.executable, "-c", STEPS],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = [{*line.split()} for line in process.stdout.split("\n")]
    by_scikit_learn, by_import, by_numpy, by_auto, _ = loaded
    assert by_import <= by_scikit_learn | {"skops"}  # alone, for its errors to be early
    assert "numba" not in by_numpy
    assert ("numba" in by_auto) == (find_spec("numba") is not None)


@pytest.mark.parametrize("module", LISTED)
def test_public_names(module):
    """The page of the API lists them all, and nothing else."""
    public = import_module(module)
    assert sorted(LISTED[module]) == sorted(public.__all__)
    assert all(getattr(public, name).__doc__ for name in public.__all__)


def imports(path):
    """The modules that a file imports: absolute names, and relative ones with dots."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def imports_of(*paths):
    """The first parts of what files import."""
    return {name.split(".")[0] for path in paths for name in imports(path)}


def test_only_the_compiled_engine_imports_numba():
    files = PACKAGE.rglob("*.py")
    folders = {path.parent for path in files if "numba" in imports_of(path)}
    assert folders == {PACKAGE / "engines" / "numba_engine"}


@pytest.mark.parametrize("layer", ["_portable", "losses", "learners", "transforms"])
def test_formulas_are_those_of_numpy(layer):
    """They leave scikit-learn and the compiler to the layers above."""
    files = [path for path in PACKAGE.rglob("*.py") if room_of(path) == layer]
    assert files
    assert not imports_of(*files) & {"numba", "sklearn"}


#: The rooms of the package, folders and modules: each imports rooms before it only.
ROOMS = [
    *("_version", "_files", "_hyperparameters", "_portable", "_hashing"),
    *("_invariants", "_state", "_locks", "_rollback", "_shards", "_typing"),
    *("_optional", "_plotting", "_curves", "blocks", "losses", "_docstrings"),
    *("_parameters", "learners", "mixing", "transforms", "engines", "config", "views"),
    *("_parallel", "models", "tables", "_validation", "inspection", "estimators"),
    *("streams", "preprocessing", "mixtures", "experts", "baselines", "_steps"),
    *("conformal", "pipeline", "merging", "compiling", "evaluation", "checks"),
    *("__init__", "persistence", "dask", "cli", "__main__"),
]


def imported_modules(path):
    """What a file imports of the package: dotted names below it."""
    place = [*path.relative_to(PACKAGE).with_suffix("").parts]
    if "sklearn_scinol" in imports(path):
        yield "__init__"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            start = place[: len(place) - node.level]
            if node.module is not None:
                yield ".".join([*start, node.module])
                continue
            for alias in node.names:  # of a module, or of what a package has
                name = ".".join([*start, alias.name])
                is_module = find_spec(f"sklearn_scinol.{name}") is not None
                yield name if is_module else ".".join(start) or "__init__"


def test_rooms_are_those_of_the_package():
    assert sorted(ROOMS) == sorted({room_of(path) for path in PACKAGE.rglob("*.py")})


def room_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


@pytest.mark.parametrize("room", ROOMS)
def test_imports_go_one_way(room):
    allowed = ROOMS[: ROOMS.index(room) + 1]
    for path in PACKAGE.rglob("*.py"):
        if room_of(path) == room:
            for name in imported_modules(path):
                assert name.partition(".")[0] in allowed, path


@pytest.mark.parametrize("has_pages", [False, True])
def test_links_to_pages(monkeypatch, has_pages):
    """They are there when the pages have an address, those of the API."""
    message = Message()
    message["Project-URL"] = "Paper, https://b.example"
    if has_pages:
        message["Project-URL"] = "Documentation, https://a.example/stable/"
    monkeypatch.setattr(_docstrings, "metadata", lambda name: message)
    arguments = {
        OnlinePipeline: {"steps": [("a", ScInOLRegressor())]},
        OnlineHistory: {"keys": ["key"]},
    }
    names = [f"{module}.{name}" for module in LISTED for name in LISTED[module]]
    links = {
        name: public(**arguments.get(public, {}))._get_doc_link()
        for name, public in zip(names, public_objects(), strict=True)
        if inspect.isclass(public) and issubclass(public, BaseEstimator)
    }
    assert len(links) > 20
    page = "https://a.example/stable/generated/{}.html" if has_pages else ""
    assert links == {name: page.format(name) for name in links}
    own = type("Own", (ScInOLRegressor,), {"__module__": "elsewhere"})
    assert own()._get_doc_link() == ""


def test_no_links_where_nothing_is_installed(monkeypatch):
    def metadata(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(_docstrings, "metadata", metadata)
    assert ScInOLRegressor()._get_doc_link() == ""
