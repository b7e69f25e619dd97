"""The example of DFEG: bundled data, a folder of data sets, and what can be wrong."""

import csv
import re
from functools import partial
from urllib.error import URLError

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from support.scripts import assert_folders_have_nothing, caller

from sklearn_scinol.baselines import BaselineRegressor

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def example(load, monkeypatch):
    """The example with five rates, where nothing can be downloaded."""

    def fetch(**options):
        raise URLError("there is no network")

    module = load("dfeg")
    monkeypatch.setattr(module, "fetch_california_housing", fetch)
    monkeypatch.setattr(module, "RATES", 2.0 ** np.array([-10, -4, 1, 6, 12]))
    return module


@pytest.fixture
def run(example, tmp_path, capsys):
    return caller(example, capsys, "--output-dir", tmp_path / "figures")


@pytest.fixture
def few_rows(example, monkeypatch):
    """Cut the synthetic experiment short."""
    short = partial(example.alternating_regrets, n_rows=100)
    monkeypatch.setattr(example, "alternating_regrets", short)


@pytest.fixture
def folder(tmp_path):
    """A folder with amounts under the name of one of the paper's, and as sparse rows.

    A third file has classes.
    """
    random = np.random.default_rng(0)
    folder = tmp_path / "data"
    folder.mkdir()
    lines = ["length,colour,target"]
    for _ in range(60):
        length, colour = random.normal(50, 10), random.choice(["red", "green"])
        lines.append(f"{length:.3f},{colour},{length / 10 + (colour == 'red'):.3f}")
    (folder / "cpusmall.csv").write_text("\n".join(lines) + "\n")
    X = random.normal(size=(40, 5)) * (random.random((40, 5)) < 0.5)
    dump_svmlight_file(X, X[:, 0] + 0.1, str(folder / "sparse.svm"))
    dump_svmlight_file(X, np.sign(X[:, 0] + 0.1), str(folder / "signs.svm"))
    return folder


# What it prints and draws.


@pytest.mark.thorough
def test_bundled_data(run, tmp_path):
    numbers = tmp_path / "new" / "numbers.csv"
    status, out, err = run("--csv", numbers)
    assert (status, err) == (0, "")
    assert out.startswith(
        "Skipped California housing: it cannot be downloaded: there is no network.\n"
    )
    # The synthetic experiment of the paper.
    assert re.search(r"^DFEG +0\.931 +1\.025$", out, re.M)
    assert re.search(r"^Kernel GD, rate 1 +4\.509 +49\.486$", out, re.M)
    # DFEG beats all rates but the best, which is not far away.
    (row,) = re.findall(r"^diabetes .*", out, re.M)
    zero, dfeg, best, rate, worst, worst_rate, better = (
        float(cell.replace(",", "")) for cell in row.split()[1:]
    )
    assert best < dfeg < 1.6 * best < zero < worst / 100
    assert (rate, worst_rate, better) == (2, 4096, 1)
    assert "1 of them do better than DFEG" in " ".join(out.split())
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["dfeg.png"]
    with numbers.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 5000 + 1 + 5
    assert all(np.isfinite(float(row["value"])) for row in rows)


@pytest.mark.usefixtures("few_rows")
def test_california_housing(example, run, monkeypatch):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(50, 8)), random.random(50)
    monkeypatch.setattr(example, "fetch_california_housing", lambda **options: (X, y))
    status, out, err = run("--only", "California housing")
    assert (status, err) == (0, "")
    assert "Skipped" not in out
    assert re.search(r"^California housing  +\d", out, re.M)


@pytest.mark.thorough
@pytest.mark.usefixtures("few_rows")
def test_folder(run, folder):
    pytest.importorskip("pandas", reason="pandas is not installed")
    status, out, err = run("--data-dir", folder)
    assert (status, err) == (0, "")
    assert "Skipped cal_housing: there is no data set of that name.\n" in out
    assert re.search(r"^cpusmall +\d", out, re.M)
    assert "sparse" not in out
    names = ["--only", "sparse", "--only", "signs"]
    status, out, err = run("--data-dir", folder, *names)
    assert (status, err) == (0, "")
    assert "Skipped signs: its target holds classes, and amounts are needed.\n" in out
    assert re.search(r"^sparse +\d", out, re.M)


# What is learned.


def test_preparation(example, folder):
    X, y = example.prepare(example.read_diabetes())
    np.testing.assert_allclose(X.min(axis=0), -1, rtol=1e-14)
    np.testing.assert_allclose(X.max(axis=0), 1, rtol=1e-14)
    assert (y.shape, y.max()) == ((442,), 1)
    kernel = example.gaussian_kernel(X)
    distances = np.linalg.norm(X[:, np.newaxis] - X, axis=2)
    mean = distances[~np.eye(442, dtype=bool)].mean()
    np.testing.assert_allclose(kernel["gamma"], 1 / (2 * mean), rtol=1e-12)
    X, _ = example.prepare(example.data_sets_in(folder, "target")["sparse"]())
    assert sparse.issparse(X)


def test_rates_as_outputs(example):
    """Rate 1 on scaled targets is as good as any rate on the targets."""
    data_set = example.read_diabetes()
    losses = example.compare("diabetes", data_set).kernel_gd
    X, y = example.prepare(data_set)
    for rate, loss in zip(example.RATES, losses, strict=True):
        model = BaselineRegressor(
            "kernel_gd", learning_rate=rate, **example.gaussian_kernel(X)
        )
        expected = np.abs(model.partial_fit_predict(X, y) - y).sum()
        np.testing.assert_allclose(loss, expected, rtol=1e-9)


# What may be wrong: a sentence for each data set, and status 2 if none is left.


def test_unusable_files(run, folder):
    pytest.importorskip("pandas", reason="pandas is not installed")
    (folder / "broken.csv.gz").write_bytes(b"no archive")
    (folder / "same.svm").write_text("1.5 1:2\n2 1:2\n")
    (folder / "missing.svm").write_text("1 1:nan\n2 1:2\n")
    names = ["broken", "missing", "same"]
    options = [option for name in names for option in ("--only", name)]
    status, out, err = run("--data-dir", folder, *options)
    assert (status, err) == (2, "No data set is left; --only chooses others.\n")
    skipped = out.splitlines()
    assert len(skipped) == 3
    for line, words in zip(
        skipped,
        ("cannot be read: ", "not finite.", "all of its rows are the same."),
        strict=True,
    ):
        assert words in line


def test_nothing_to_do(run, tmp_path):
    assert_folders_have_nothing(run, tmp_path)


def test_folder_that_cannot_be_written(example, tmp_path, capsys):
    occupied = tmp_path / "file"
    occupied.touch()
    assert example.main(["--output-dir", str(occupied)]) == 2
    assert str(occupied) in capsys.readouterr().err
