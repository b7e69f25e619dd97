"""The benchmark of implicit updates: bundled data, and folders of files."""

import csv as csv_format
import gzip
import re

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from support.scripts import assert_folders_have_nothing, assert_refuses, caller

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def implicit(load, monkeypatch):
    """The example with five values of beta."""
    module = load("implicit_updates")
    monkeypatch.setattr(module, "BETAS", 2.0 ** np.array([-20, -10, 0, 10, 20]))
    return module


@pytest.fixture
def run_implicit(implicit, tmp_path, capsys):
    first = "--output-dir", tmp_path / "figures", "--jobs", 1, "--shuffles", 2
    return caller(implicit, capsys, *first)


@pytest.fixture
def folder(tmp_path):
    """A folder with an amount as CSV, classes as sparse rows, and another file."""
    random = np.random.default_rng(0)
    folder = tmp_path / "data"
    folder.mkdir()
    lines = ["length,colour,target"]
    for _ in range(40):
        length, colour = random.normal(50, 10), random.choice(["red", "green"])
        lines.append(f"{length:.3f},{colour},{length / 10 + (colour == 'red'):.3f}")
    with gzip.open(folder / "amounts.csv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    X = random.normal(size=(30, 5)) * (random.random((30, 5)) < 0.4)
    dump_svmlight_file(X, np.sign(X[:, 0] + 0.1), str(folder / "signs.svm"))
    (folder / "README").write_text("Not a data set.")
    return folder


@pytest.mark.thorough
def test_implicit_bundled_data(run_implicit, tmp_path):
    numbers = tmp_path / "new" / "numbers.csv"
    options = ["--only", "wine", "--only", "diabetes", "--csv", numbers]
    status, out, err = run_implicit(*options)
    assert (status, err) == (0, "")
    # The paper's synthetic experiment.
    text = " ".join(out.split())
    for words in ("OGD 444.1", "AdaOGD 0.379", "Implicit 457.5", "AdaImplicit 0.153"):
        assert words in text
    # Four best losses, each with a number of values of beta.
    assert len(re.findall(r"^(?:wine|diabetes)(?: +[\d.]+ +[1-5]){4} ", out, re.M)) == 2
    assert re.search(r"theirs on \d of 2 data\ssets", out)
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "implicit_beta.png",
        "implicit_synthetic.png",
    ]
    with numbers.open(encoding="utf-8") as file:
        rows = list(csv_format.DictReader(file))
    assert len(rows) == 4 * 2000 + 2 * 4 * 5
    assert all(np.isfinite(float(row["loss"])) for row in rows)
    assert run_implicit(*options)[1] == out


@pytest.mark.thorough
def test_implicit_folder(run_implicit, folder):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    status, out, err = run_implicit("--data-dir", folder)
    assert (status, err) == (0, "")
    assert "Skipped" not in out
    assert re.search(r"^amounts .*^signs ", out, re.M | re.S)
    assert "of 2 data" in out


def test_implicit_preparation(implicit, folder):
    data_set = implicit.data_sets_in(folder, "target")["signs"]()
    assert data_set.X.format == "csr"
    largest = abs(data_set.X).max(axis=0).toarray()
    np.testing.assert_allclose(largest, np.ones((1, 5)), rtol=1e-15)
    assert (data_set.n_classes, data_set.loss_of_zero) == (2, 1)
    assert set(data_set.y) == {0, 1}


@pytest.mark.thorough
def test_implicit_skips_what_it_cannot_read(run_implicit, folder):
    (folder / "amounts.csv.gz").unlink()
    (folder / "broken.svm").write_text("1 one:1\n")
    (folder / "constant.svm").write_text("1 1:1\n1 1:2\n")
    (folder / "empty.csv").touch()
    names = ("signs", "broken", "constant", "empty", "nothing")
    options = [option for name in names for option in ("--only", name)]
    status, out, err = run_implicit("--data-dir", folder, *options)
    assert (status, err) == (0, "")
    assert "Skipped nothing: there is no data set of that name.\n" in out
    assert "broken.svm cannot be read as LIBSVM text: " in out
    assert "constant.svm is the same in all rows.\n" in out
    assert out.count("Skipped") == 4
    assert "of 1 data" in out


def test_implicit_nothing_to_do(run_implicit, tmp_path):
    assert_folders_have_nothing(run_implicit, tmp_path)
    status, _, err = run_implicit("--only", "nothing")
    assert (status, err) == (2, "No data set is left.\n")


def test_implicit_bad_options(run_implicit, capsys):
    assert_refuses(run_implicit, ["--shuffles", "0"], capsys)
