"""What a release is made of fits together."""

import json
import re
import subprocess
import sys
import tomllib
from functools import partial

import pytest
import yaml
from sklearn.utils.fixes import parse_version
from support import ROOT

from sklearn_scinol import __version__

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def run(script, *arguments):
    """Status, stdout and stderr of a script of continuous integration."""
    command = [sys.executable, ROOT / ".ci" / script, *arguments]
    process = subprocess.run(command, capture_output=True, text=True)
    return process.returncode, process.stdout, process.stderr


#: The last version with a date; the package may be ahead of it.
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
LAST = re.search(r"(?m)^## \[(\d.*?)\]", CHANGELOG)[1]


def test_versions_agree():
    """Of package, changelog, citation, recipe and saved models."""
    _, out, err = run("release.py", "check", f"v{LAST}")
    later = ["[project.urls]"] + [f"_version.py has {__version__}"] * (
        __version__ != LAST
    )
    assert err == ""
    assert all(any(words in line for words in later) for line in out.splitlines())
    assert parse_version(__version__) >= parse_version(LAST)


@pytest.mark.parametrize("candidate", ["", "rc1"])
def test_notes(candidate):
    """They are one section of the changelog."""
    status, notes, _ = run("release.py", "notes", f"v{LAST}{candidate}")
    assert status == 0
    assert notes.strip() in CHANGELOG
    assert not re.search(r"^## ", notes, re.MULTILINE)
    assert run("release.py", "notes", "v99.0.0")[0] == 1


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_what_exists(path):
    """Actions are pinned by hash; scripts, targets and steps are there."""
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    for job in workflow["jobs"].values():
        needed = job.get("needs", [])
        assert {*([needed] if isinstance(needed, str) else needed)} <= {
            *workflow["jobs"]
        }
        if "uses" in job:
            assert (ROOT / job["uses"]).is_file()
    for action in re.findall(r"uses: +(.+)", text):
        assert re.fullmatch(
            r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./\.github/.*", action
        )
    scripts = {*re.findall(r"\.ci/[\w.]+", text)}
    assert all((ROOT / script).is_file() for script in scripts)
    targets = re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"))
    assert {*re.findall(r"run: make (\w+)", text)} <= {*targets}
    steps = re.findall(r"(?m)^(\w+)\(\) {", (ROOT / ".ci" / "run").read_text("utf-8"))
    assert {*re.findall(r"\.ci/run (\w+)", text)} <= {*steps}
    for listed in re.findall(r"step: \[(.*)\]", text):
        assert {*listed.split(", ")} <= {*steps}


def test_recipe():
    """conda-forge's dependencies are those of the package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text("utf-8"))
    requirements = recipe["requirements"]
    conda_names = {"matplotlib": "matplotlib-base", "dask": "dask-core"}

    def as_conda(dependency):
        name, least = re.sub(r"\[.*\]", "", dependency).split(">=")
        return f"{conda_names.get(name, name)} >={least}"

    python, *run = requirements["run"]
    assert python == "python >=${{ python_min }}"
    assert project["project"]["requires-python"] == ">=3.11"
    assert run == [as_conda(one) for one in project["project"]["dependencies"]]
    extras = project["project"]["optional-dependencies"]
    others = ("all", "test", "doc", "engines", "site", "dev")
    users = [extra for extra in extras if extra not in others]
    optional = {as_conda(one) for extra in users for one in extras[extra]}
    assert {*requirements["run_constraints"]} == optional
    (build,) = project["build-system"]["requires"]
    assert as_conda(build) in requirements["host"]
    (script,) = project["project"]["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(script)]


def test_versions_of_the_documentation(tmp_path):
    """They lie side by side, and the last release is the stable one."""
    site, built, put = tmp_path / "site", tmp_path / "built", partial(run, "site.py")
    (built / ".doctrees").mkdir(parents=True)
    for version in ("dev", "0.9", "0.10", "0.9", "dev"):
        (built / "index.html").write_text(version)
        assert put(site, version, built, "/sklearn-scinol") == (0, "", "")
        if version == "dev" and not (site / "stable").exists():
            assert "url=./dev/" in (site / "index.html").read_text()
    found = json.loads((site / "versions.json").read_text())
    assert [entry["version"] for entry in found] == ["dev", "0.10", "0.9"]
    assert [entry.get("preferred", False) for entry in found] == [False, True, False]
    assert found[1]["url"] == "/sklearn-scinol/0.10/"
    assert (site / "stable" / "index.html").read_text() == "0.10"
    assert "url=./stable/" in (site / "index.html").read_text()
    assert (site / ".nojekyll").exists()
    assert not (site / "dev" / ".doctrees").exists()
    status, _, said = put(site, "v0.2.0", built, "/sklearn-scinol")
    assert status == 1
    assert "neither dev nor a version" in said
