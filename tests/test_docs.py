"""What README and the documentation show runs, and files that they name are there."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "doc/guide.md"])
def test_python_blocks(page, tmp_path, monkeypatch):
    """They run one after the other: a later one may use an earlier one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert blocks
    namespace = {}
    for block in blocks:
        # Blank lines before it, so that a traceback has the line of the page.
        source = "\n" * text.count("\n", 0, block.start(1)) + block[1]
        exec(compile(source, ROOT / page, "exec"), namespace)


# Blocks that run alone, in an interpreter of their own, and print what follows them.
ALONE = re.compile(
    r"^```python\n(.*?)^```\n+```text\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
PAGES = {
    name: (ROOT / "doc" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("howto/clusters", "how_it_works", "extending")
}


@pytest.mark.parametrize(
    "block", [block for page in PAGES.values() for block in ALONE.findall(page)]
)
def test_blocks_that_run_alone(block, tmp_path):
    source, expected = block
    for name in "dask.array", "dask.dataframe":
        if name in source:
            pytest.importorskip(name, reason=f"{name} is not installed")
    # In all processes, for compiling takes long.
    engine = "from sklearn_scinol import set_config; set_config(engine='numpy')"
    (tmp_path / "sitecustomize.py").write_text(engine)
    script = tmp_path / "recipe.py"
    script.write_text(source, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    said = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert said.stdout == expected, said.stderr


def test_drawing_of_a_row(monkeypatch):
    """It is what its script draws."""
    monkeypatch.syspath_prepend(ROOT / "doc")
    drawn = (ROOT / "doc" / "images" / "row.svg").read_text(encoding="utf-8")
    assert drawn == import_module("diagram").drawing()


def test_all_recipes_are_run_but_those_of_other_engines():
    clusters = PAGES["howto/clusters"]
    not_run = re.findall(
        r"^```python no-run\n(.*?)^```$", clusters, re.MULTILINE | re.DOTALL
    )
    for block, engine in zip(not_run, ("pyspark", "ray", "dask"), strict=True):
        assert re.search(rf"^(import|from) {engine}\b", block, re.MULTILINE)
        compile(block, "clusters.md", "exec")
    assert clusters.count("```python\n") == len(ALONE.findall(clusters)) == 4


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_files_that_are_named(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:sklearn_scinol|tests|examples|doc)/[\w./*]*)", text)
    named += re.findall(r"\]\(((?:doc|examples)/[\w./]+)", text)
    assert named
    for name in named:
        assert list(ROOT.glob(name)), name


def test_public_names_are_in_the_api():
    text = (ROOT / "doc" / "api.rst").read_text(encoding="utf-8")
    for part in text.split(".. currentmodule:: ")[1:]:
        module, *names = part.split()
        listed = {name for name in names if name.isidentifier()}
        assert {*import_module(module).__all__} <= listed
