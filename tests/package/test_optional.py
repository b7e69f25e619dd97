"""Errors where an optional package is missing, and the line that installs all."""

import ast
import re
import sys
import tomllib
from functools import partial
from importlib import import_module
from itertools import chain

import pytest
import snippets
from snippets import ENGINES, ROOT, STAND_INS

from sklearn_scinol.evaluation import ProgressiveValidationDisplay, RegretCurveDisplay
from sklearn_scinol.streams import read_table


def of_module(name, function, *arguments):
    """A call of a function in a module, imported only by then."""
    return lambda: getattr(import_module(f"sklearn_scinol.{name}"), function)(
        *arguments
    )


#: Callers and packages, and calls that say so before they look at their arguments.
CALLS = {
    ("`save`", "skops"): of_module("persistence", "save", None, None),
    ("`load`", "skops"): of_module("persistence", "load", None),
    ("`read_table`", "pyarrow"): lambda: read_table(None),
    ("`fit_dask`", "dask"): of_module("dask", "fit_dask", None, None),
    ("`predict_dask`", "dask"): of_module("dask", "predict_dask", None, None),
}
for display in ProgressiveValidationDisplay, RegretCurveDisplay:
    caller = f"{display.__name__}.from_estimator"
    CALLS[caller, "matplotlib"] = partial(display.from_estimator, None, None)


@pytest.mark.parametrize(("caller", "package"), CALLS)
def test_missing_package(caller, package, monkeypatch):
    pytest.importorskip("sklearn_scinol.persistence", reason="skops is not installed")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError) as error:
        CALLS[caller, package]()
    advice = 'run `pip install ".[all]"` in a clone of sklearn-scinol.'
    assert str(error.value) == f"{caller} needs {package}: {advice}"


def test_models_that_cannot_be_saved_are_not_learned(monkeypatch):
    """Scripts import `save` at the top."""
    pytest.importorskip("sklearn_scinol.persistence", reason="skops is not installed")
    monkeypatch.delitem(sys.modules, "sklearn_scinol.persistence")
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(
        ImportError, match=r"^sklearn_scinol\.persistence needs skops: "
    ):
        import_module("sklearn_scinol.persistence")


def imported(source):
    """Names of packages that a program imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


def test_one_line_installs_what_pages_import():
    """But for brokers and clusters, which pages name."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    (names,) = re.findall(r"\[(.*)\]", *extras["all"])
    needed = chain(project["dependencies"], *map(extras.get, names.split(",")))
    known = {re.match(r"[\w-]+", one)[0] for one in needed} | {*sys.stdlib_module_names}
    known |= {"sklearn", "sklearn_scinol", *ENGINES}
    known |= {path.stem for path in STAND_INS.glob("*.py")}
    pages = [ROOT / "README.md", ROOT / "doc" / "getting_started.md"]
    for page in [*pages, *(ROOT / "doc" / "howto").glob("*.md")]:
        for snippet in snippets.snippets(page):
            assert {*imported(snippet.source)} <= known, snippet.name
