"""The experiments of the ScInOL paper: what they learn from, compute, keep and draw."""

import csv
import hashlib
import importlib
import io
import json
import re
import zipfile
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from joblib import Parallel
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from support import ROOT
from support.scripts import EXAMPLES

from sklearn_scinol import ScInOLClassifier, config_context
from sklearn_scinol.baselines import BaselineClassifier
from sklearn_scinol.estimators.base import OVERFLOW

PAPERS = EXAMPLES / "papers"
AUTHORS = ROOT.parent / "shared" / "reference" / "scinol_figure1_authors_series.csv"

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def load(monkeypatch):
    """Import an experiment by its name; nothing can be downloaded."""
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    monkeypatch.syspath_prepend(PAPERS.parent / "benchmarks")
    monkeypatch.syspath_prepend(PAPERS)
    # Bars appear after a while, which would make what is printed a matter of time.
    cells = importlib.import_module("cells")
    monkeypatch.setattr(cells, "show_progress", lambda iterable, _: iterable)
    with config_context(engine="numpy"):  # compiling takes longer
        yield importlib.import_module
    plt.close("all")


@pytest.fixture
def cells(load):
    return load("cells")


@pytest.fixture
def figure1(load, monkeypatch):
    """200 training rows, tested after every 50, and three methods with two rates."""
    module = load("scinol_figure1")
    monkeypatch.setattr(module, "N_TRAIN", 200)
    monkeypatch.setattr(module, "N_TEST", 1500)
    monkeypatch.setattr(module, "COMPARED", (100, 200))
    monkeypatch.setattr(module, "METHODS", few_methods(module))
    return module


@pytest.fixture
def figure2(load, monkeypatch):
    def no_network(*args, **options):
        raise URLError("there is no network")

    module = load("scinol_figure2")
    monkeypatch.setattr(module, "fetch_covtype", no_network)
    monkeypatch.setattr(module, "fetch_openml", no_network)
    monkeypatch.setattr(module, "urlopen", no_network)
    return module


def few_methods(module):
    methods = []
    for method in module.METHODS:
        if method.name == "NAG":
            methods.append(
                module.Method("NAG", "nag", (0.1, 1.0), dict(method.parameters))
            )
        elif method.name in ("ScInOL1", "ScInOL2"):
            methods.append(method)
    return methods


@pytest.fixture
def call(tmp_path, capsys):
    """Run an experiment with one process; its status, stdout and stderr."""

    def call(module, *options):
        output = tmp_path / "output"
        status = module.main(
            ["--output", str(output), "--n-jobs", "1", *map(str, options)]
        )
        return status, *capsys.readouterr()

    return call


def frozen(model):
    """Its weights as they stand: a row to be predicted does not change them."""
    linear = LogisticRegression()
    linear.classes_ = model.classes_
    linear.coef_, linear.intercept_ = model.coef_, model.intercept_
    return linear


def read_rows(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Cells.


def test_cells_are_computed_once(cells, tmp_path):
    computed = []

    def compute(number):
        computed.append(number)
        return {"square": number**2, "bound": [float("inf"), float("nan")]}

    def values(numbers, **key):
        todo = [
            cells.Cell({"number": n, "pair": (n, n), **key}, compute, (n,))
            for n in numbers
        ]
        return cells.complete(todo, tmp_path, Parallel(n_jobs=1), "")

    assert [value["square"] for value in values([2, 3])] == [4, 9]
    assert [value["square"] for value in values([3, 4, 2])] == [9, 16, 4]
    assert computed == [2, 3, 4]
    # Whatever else determines them makes them other cells.
    values([2], epochs=5)
    assert computed == [2, 3, 4, 2]
    # JSON has no infinity, but Python's has.
    first, second = values([2])[0]["bound"]
    assert first == np.inf
    assert np.isnan(second)


@pytest.mark.parametrize(
    "damage", ["", '{"key": {"a', "[]", '{"key": {}, "values": 1}']
)
def test_damaged_cells_are_computed_again(cells, tmp_path, damage):
    cell = cells.Cell({"number": 3}, lambda: 9, ())
    cell.store(tmp_path)
    assert list(tmp_path.iterdir()) == [cell.path(tmp_path)]
    assert cell.values(tmp_path) == 9
    cell.path(tmp_path).write_text(damage)
    assert cell.values(tmp_path) is None
    assert cells.complete([cell], tmp_path, Parallel(n_jobs=1), "") == [9]


def test_interrupted_write_leaves_no_cell(cells, tmp_path, monkeypatch):
    def stop(self, target):
        raise KeyboardInterrupt

    cell = cells.Cell({"number": 3}, lambda: 9, ())
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            cell.store(tmp_path)
    assert cell.values(tmp_path) is None
    cell.store(tmp_path)
    assert cell.values(tmp_path) == 9


def test_deviation(cells):
    np.testing.assert_array_equal(cells.deviation([[1, 2]]), [np.nan, np.nan])
    np.testing.assert_allclose(
        cells.deviation([[1, np.inf], [3, 2]]), [np.sqrt(2), np.nan]
    )


# Figure 1.


def test_figure1(figure1, call, tmp_path, monkeypatch):
    status, out, err = call(figure1, "--runs", 2)
    assert (status, err) == (0, "")
    output = tmp_path / "output"
    assert (output / "scinol_figure1.png").stat().st_size > 10_000
    rows = read_rows(output / "scinol_figure1.csv")
    assert len(rows) == 4 * 4  # NAG has two rates

    # The same without any of its functions.
    losses, errors = [], []
    for run in range(2):
        rng = np.random.default_rng(run)
        sigma = 2.0 ** np.arange(-10, 11)
        coef = rng.choice([-1.0, 1.0], size=21) / sigma
        X, y = [], []
        for n in (200, 1500):
            X.append(rng.standard_normal((n, 21)) * sigma)
            y.append(rng.random(n) < 1 / (1 + np.exp(-X[-1] @ coef)))
        model = BaselineClassifier(
            "nag", learning_rate=1.0, normalizer="mean", fit_intercept=False
        )
        model.partial_fit(X[0][:100], y[0][:100], classes=[False, True])
        model = frozen(model)
        losses.append(log_loss(y[1], model.predict_proba(X[1])))
        errors.append(1 - model.score(X[1], y[1]))
    (row,) = (
        r for r in rows if (r["method"], r["rate"], r["row"]) == ("NAG", "1.0", "100")
    )
    np.testing.assert_allclose(float(row["loss"]), np.mean(losses), rtol=1e-10)
    np.testing.assert_allclose(float(row["error"]), np.mean(errors), rtol=1e-10)
    np.testing.assert_allclose(
        float(row["deviation of loss"]), np.std(losses, ddof=1), rtol=1e-8
    )

    # What is printed is the rate that is best in the end.
    final = {
        row["rate"]: float(row["loss"])
        for row in rows
        if row["method"] == "NAG" and row["row"] == "200"
    }
    rate = min(final, key=final.get)
    assert f"NAG, rate {float(rate):g} " in out
    assert f"{final[rate]:.4f}" in out

    # Once more, with nothing left to compute.
    monkeypatch.setattr(figure1, "toy_data", None)
    assert call(figure1, "--runs", 2) == (0, out, "")


def test_losses_do_not_overflow(figure1):
    X, y = np.array([[1.0], [-1.0], [1.0], [1.0]]), np.array([1, 1, 0, 0])
    losses, errors = figure1.test(np.array([[1e4], [0.5]]), X, y)
    np.testing.assert_allclose(losses[0], 0.75e4)
    np.testing.assert_allclose(losses[1], np.logaddexp(0, [-0.5, 0.5, 0.5, 0.5]).mean())
    np.testing.assert_array_equal(errors, [0.75, 0.75])


def authors_file(path, **changes):
    """Series like ours, with noise."""
    names = ["NAG (0.1)", "NAG (1.0)", "ScInOL_1", "ScInOL_2"]
    columns = ["t", *names, *(f"{name} 0/1" for name in names)]
    lines = [",".join(columns)]
    for t in range(50, 201, 50):
        losses = dict.fromkeys(names, 0.6) | changes
        lines.append(",".join(map(str, [t, *losses.values(), *[0.2] * len(names)])))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.thorough
def test_comparison_with_authors(figure1, call, tmp_path):
    file = authors_file(tmp_path / "authors.csv", ScInOL_2=100.0)
    status, out, err = call(
        figure1, "--runs", 2, "--deviation-runs", 3, "--authors", file
    )
    assert (status, err) == (0, "")
    assert re.search(r"^  the authors  +0\.6000 +0\.6000 +0\.2000$", out, re.M)
    (row,) = re.findall(r"^ScInOL2 +-[\d.]+\* +-[\d.]+\*$", out, re.M)
    assert "of 8 differences from the authors' series" in out
    assert "0 of 2 with ScInOL2." in " ".join(out.split())

    # The standard error, from runs beyond those of the mean.
    losses = np.array(
        [
            figure1.learning_curves(figure1.METHODS[-1], run, (100, 200))["loss"][0]
            for run in range(5)
        ]
    )
    expected = (losses[:2].mean(axis=0) - 100) / losses[2:].std(axis=0, ddof=1)
    shown = [float(cell.rstrip("*")) for cell in row.split()[1:]]
    np.testing.assert_allclose(shown, expected, rtol=1e-3)
    rows = read_rows(tmp_path / "output" / "scinol_figure1.csv")
    assert {row["series"] for row in rows} == {"ours", "authors"}


def test_unusable_series_of_authors(figure1, call, tmp_path):
    file = tmp_path / "authors.csv"
    for text, words in (
        (None, "There is no file"),
        ("a,b\n1,2\n", "no CSV file with a column 't'"),
        ("t,NAG (0.1)\n50,1\n", "has no column or no row"),
    ):
        if text:
            file.write_text(text)
        status, out, err = call(figure1, "--authors", file)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert words in err
    authors_file(file, ScInOL_1="many")
    status, out, err = call(figure1, "--authors", file)
    assert (status, err) == (2, f"{file} has something else than numbers.\n")
    status, out, err = call(figure1, "--deviation-runs", 1)
    assert (status, err) == (2, "A deviation needs two runs at least.\n")


@pytest.mark.skipif(not AUTHORS.is_file(), reason="the authors' series are not here")
def test_authors_series_are_read(load):
    module = load("scinol_figure1")
    authors = module.read_authors(AUTHORS, (50, 5000))
    np.testing.assert_allclose(authors["loss"]["ScInOL2"][0, -1], 0.29088971229216443)
    np.testing.assert_allclose(authors["loss"]["SFMD"][-1, -1], 0.2799, atol=1e-4)
    np.testing.assert_allclose(authors["error"]["ScInOL1"][0, -1], 0.1543, atol=1e-4)


# Figure 2: data.


def test_encoding(figure2):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame(
        {
            "length": [1.5, np.nan, 3.0, 4.0],
            "colour": ["red", None, "NA", "red"],
            "size": pd.Categorical(["s", "m", "s", np.nan]),
            "flag": [1, 0, 0, 1],
        }
    )
    X = figure2.encode(frame)
    X = X.toarray() if sparse.issparse(X) else X
    # Numbers, whether one is missing; then text without its first category, the
    # missing one last.
    np.testing.assert_array_equal(
        X,
        [
            [1.5, 1, 0, 1, 0, 1, 0],
            [0.0, 0, 1, 0, 1, 0, 0],
            [3.0, 0, 0, 0, 0, 1, 0],
            [4.0, 1, 0, 1, 0, 0, 1],
        ],
    )


def test_layout_and_split(figure2):
    X = np.zeros((9, 5))
    X[:, 0] = np.arange(1, 10)
    y = np.array(list("abcabcabc"))
    few = figure2.data_set(X, y)
    assert few.X.format == "csr"
    np.testing.assert_array_equal(few.y, [0, 1, 2] * 3)
    many = figure2.data_set(sparse.csr_matrix(X[:, :2]), y)
    assert isinstance(many.X, np.ndarray)
    assert few.digest != many.digest

    train, test = few.split(0)
    assert (len(train), len(test)) == (6, 3)
    assert set(train) | set(test) == set(range(9))
    assert list(few.split(1)[0]) != list(train)
    train, test = figure2.data_set(X, y, n_train=4).split(1)
    np.testing.assert_array_equal(np.arange(9)[train], range(4))
    np.testing.assert_array_equal(np.arange(9)[test], range(4, 9))
    with pytest.raises(figure2.InputError, match="the same in all rows"):
        figure2.data_set(X, np.ones(9))


@pytest.fixture
def folder(tmp_path):
    """Files like those of the paper, with few rows."""
    random = np.random.default_rng(0)
    folder = tmp_path / "data"
    folder.mkdir()

    def table(name, n_rows, n_columns, n_classes, text=False):
        X = random.normal(size=(n_rows, n_columns)) * 10.0 ** np.arange(n_columns)
        y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 5) * (n_classes > 2)
        names = [f"f{i}" for i in range(n_columns)]
        lines = [",".join([*names, *["kind"] * text, "target"])]
        for row, label in zip(X, y, strict=True):
            kind = [random.choice(["?", "NA", "x"])] * text
            lines.append(",".join([*map(str, row), *kind, str(label)]))
        (folder / name).write_text("\n".join(lines) + "\n")

    table("bank_additional_full.csv", 90, 3, 2, text=True)
    table("census_income_kdd_test.csv", 90, 3, 2, text=True)
    table("covtype_sample.csv", 90, 4, 3)
    table("madelon_train.csv", 60, 4, 2)
    table("madelon_valid.csv", 30, 4, 2)
    table("shuttle.csv", 90, 4, 3)
    X = random.integers(0, 256, size=(90, 16)) * (random.random((90, 16)) < 0.2)
    np.savez(folder / "mnist.npz", X=X.astype(np.uint8), y=np.arange(90) % 3)
    return folder


def test_files(figure2, folder):
    pytest.importorskip("pandas", reason="pandas is not installed")
    sets = {name: read() for name, read in figure2.data_sets_in(folder).items()}
    assert {name: data.X.shape for name, data in sets.items()} == {
        "bank": (90, 5),
        "census": (90, 5),
        "covertype": (90, 4),
        "madelon": (90, 4),
        "mnist": (90, 16),
        "shuttle": (90, 4),
    }
    assert {name: data.n_train for name, data in sets.items() if data.n_train} == {
        "madelon": 60
    }
    assert sparse.issparse(sets["mnist"].X)
    assert sets["mnist"].X.max() <= 1
    assert sets["shuttle"].n_classes == 3


def test_official_test_sets(figure2):
    X, y = np.zeros((70_000, 1), np.uint8), np.arange(70_000) % 10
    assert figure2.images(X, y).n_train == 60_000


def test_downloads(figure2, monkeypatch):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 3)), np.arange(30) % 2
    asked = []

    def fetch_openml(*, data_id, **options):
        asked.append(data_id)
        if data_id == 4535:
            assert options["target_column"] == "V42"
            frame = pd.DataFrame(
                {"V1": X[:, 0], "V2": pd.Categorical(["p", "q", None] * 10)}
            )
            return frame, pd.Series(y.astype(str))
        return X, y.astype(str).astype(object)

    bank = '"age";"job";"y"\n50;"none";"no"\n40;"maid";"yes"\n30;"none";"no"\n'

    def urlopen(url, timeout):
        asked.append(url)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(figure2.BANK_FILE, bank)
        buffer.seek(0)
        return buffer

    monkeypatch.setattr(figure2, "fetch_openml", fetch_openml)
    monkeypatch.setattr(figure2, "fetch_covtype", lambda **options: (X, y + 1))
    monkeypatch.setattr(figure2, "urlopen", urlopen)
    with pytest.raises(figure2.InputError, match="than was published"):
        figure2.published_data_sets()["bank"]()
    asked.clear()
    monkeypatch.setattr(
        figure2, "BANK_SHA256", hashlib.sha256(bank.encode()).hexdigest()
    )
    sets = {name: read() for name, read in figure2.published_data_sets().items()}
    assert list(sets) == list(figure2.EPOCHS)
    assert asked == [figure2.BANK, 4535, 1485, 554, 40685]
    np.testing.assert_array_equal(sets["bank"].X, [[50, 1], [40, 0], [30, 1]])
    np.testing.assert_array_equal(sets["bank"].y, [0, 1, 0])
    assert sets["census"].X.shape == (30, 3)  # number, "q", missing
    np.testing.assert_allclose(sets["mnist"].X, X / 255)
    for name in ("covertype", "madelon", "shuttle"):
        np.testing.assert_array_equal(sets[name].X, X)
        np.testing.assert_array_equal(sets[name].y, y)


# Figure 2: runs.


@pytest.fixture
def small(figure2, monkeypatch):
    """Fewer methods, of which one has a rate that is far too large."""
    methods = [
        *few_methods(figure2),
        figure2.Method("SGD", "sgd", (1e-3, 1e20)),
        figure2.Method("CoCoB", "cocob"),
        figure2.Method("Alg1-K17", "k17"),
    ]
    monkeypatch.setattr(figure2, "METHODS", methods)


@pytest.mark.thorough
@pytest.mark.usefixtures("small")
def test_figure2(figure2, call, folder, tmp_path, monkeypatch):
    pytest.importorskip("pandas", reason="pandas is not installed")
    options = ["--data-dir", folder, "--repetitions", 2, "--epochs", 3]
    options += ["--only", "madelon", "--only", "shuttle"]
    status, out, err = call(figure2, *options)
    assert (status, err) == (0, "")
    output = tmp_path / "output"
    for name in ("scinol_figure2.png", "scinol_figure4.png"):
        assert (output / name).stat().st_size > 10_000
    rows = read_rows(output / "scinol_figure2.csv")
    assert len(rows) == 2 * 8 * 3

    # The same without any of its functions.
    data = figure2.data_sets_in(folder)["shuttle"]()
    losses, accuracies = [], []
    for repetition in range(2):
        order = np.random.default_rng(repetition).permutation(90)
        shuffled = np.random.RandomState(repetition)
        model = ScInOLClassifier(algorithm="scinol1", center=False)
        train, test = order[:60], order[60:]
        for _ in range(2):
            rows_of_epoch = train[shuffled.permutation(60)]
            model.partial_fit(data.X[rows_of_epoch], data.y[rows_of_epoch], [0, 1, 2])
        model = frozen(model)
        probabilities = model.predict_proba(data.X[test])
        losses.append(log_loss(data.y[test], probabilities, labels=[0, 1, 2]))
        accuracies.append(model.score(data.X[test], data.y[test]))
    (row,) = (
        row
        for row in rows
        if (row["data set"], row["method"], row["epoch"]) == ("shuttle", "ScInOL1", "2")
    )
    np.testing.assert_allclose(float(row["loss"]), np.mean(losses), rtol=1e-9)
    np.testing.assert_allclose(float(row["accuracy"]), np.mean(accuracies), rtol=1e-9)
    np.testing.assert_allclose(
        float(row["deviation of loss"]), np.std(losses, ddof=1), rtol=1e-7
    )

    # A rate that is far too large is not the one that is shown.
    sgd = {row["rate"]: row for row in rows if row["method"] == "SGD"}
    assert float(sgd["1e+20"]["loss"]) > 1e20
    assert sgd["1e+20"]["shown"] == "False"
    assert sgd["0.001"]["shown"] == "True"
    assert re.search(r"^SGD +0\.001 +[\d.]+ +[\d.]+ +[\d.]+$", out, re.M)
    assert "of 2 data sets" in out
    assert "Deviation of the test cross-entropy" in out

    # Once more, with nothing left to compute.
    monkeypatch.setattr(figure2, "learning_curve", None)
    assert call(figure2, *options) == (0, out, "")


@pytest.mark.thorough
@pytest.mark.usefixtures("small")
def test_changes_are_computed(figure2, call, folder, tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    stored = tmp_path / "output" / "cells"

    def n_cells(*options):
        options = ["--data-dir", folder, "--only", "madelon", *options]
        status, _, err = call(figure2, *options)
        assert (status, err) == (0, "")
        return len(list(stored.iterdir()))

    assert n_cells("--repetitions", 1, "--epochs", 1) == 8
    assert n_cells("--repetitions", 2, "--epochs", 1) == 16
    assert n_cells("--repetitions", 1, "--epochs", 2) == 24
    for path in stored.iterdir():
        cell = json.loads(path.read_text())
        assert len(cell["values"]["loss"]) == cell["key"]["epochs"]
    # Other data under the same name.
    lines = (folder / "madelon_train.csv").read_text().splitlines()
    (folder / "madelon_train.csv").write_text("\n".join(lines[:-1]) + "\n")
    assert n_cells("--repetitions", 1, "--epochs", 1) == 32


def test_a_rate_that_overflows(figure2, monkeypatch):
    """It is infinitely bad from then on."""

    def overflow_later(estimator, X, y, fit=BaselineClassifier.fit):
        if hasattr(estimator, "t_"):
            raise ValueError(OVERFLOW)
        return fit(estimator, X, y)

    monkeypatch.setattr(BaselineClassifier, "fit", overflow_later)
    X = np.random.default_rng(0).normal(size=(90, 3))
    data = figure2.DataSet(X, (X[:, 0] > 0).astype(int), None)
    curve = figure2.learning_curve(
        figure2.Method("SGD", "sgd", (1.0,)), 1.0, data, 0, 3
    )
    assert np.isfinite(curve["loss"]).tolist() == [True, False, False]
    assert np.isfinite(curve["accuracy"]).tolist() == [True, False, False]


def test_best_rate(figure2):
    method = figure2.Method("SGD", "sgd", (0.1, 1.0, 10.0))
    losses = np.array(
        [
            [[0.1, 0.5], [0.1, 0.7]],
            [[0.9, 0.4], [0.9, 0.6]],
            [[0.1, 0.1], [0.1, np.inf]],
        ]
    )
    curves = figure2.Curves(method, losses, 1 - losses)
    assert (curves.rate, curves.final_loss) == (1.0, 0.5)
    np.testing.assert_array_equal(curves.loss, losses[1])
    np.testing.assert_array_equal(curves.accuracy, 1 - losses[1])
    np.testing.assert_allclose(curves.mean_deviation, np.sqrt(0.02) / 2)


def test_classes_that_are_not_in_training(figure2):
    """They have infinite loss, and the rows are counted as errors."""
    X = np.ones((6, 1))
    data = figure2.data_set(X, [0, 2, 0, 2, 1, 2], n_train=4)
    values = figure2.learning_curve(figure2.METHODS[-1], None, data, 0, 1)
    assert values["loss"] == [np.inf]
    assert values["accuracy"][0] in (0, 0.5)


# What may be wrong: a sentence for each data set, and status 2 if none is left.


def test_nothing_to_do(figure2, call, tmp_path):
    missing = tmp_path / "missing"
    assert call(figure2, "--data-dir", missing) == (
        *(2, ""),
        f"There is no folder {missing}.\n",
    )
    status, out, err = call(figure2, "--data-dir", tmp_path)
    assert (status, err) == (2, "No data set is left.\n")
    assert out.count("there is no file") == 6
    status, out, err = call(figure2)
    assert (status, err) == (2, "No data set is left.\n")
    assert out.count("it cannot be downloaded: there is no network.") == 6


def test_unusable_files(figure2, call, folder):
    pytest.importorskip("pandas", reason="pandas is not installed")
    (folder / "bank_additional_full.csv").write_text("a,b\n1,2\n")
    (folder / "census_income_kdd.csv").write_text("a,target\n1,2\n")
    (folder / "covtype_sample.csv").write_text("a,target\n1,\n")
    (folder / "madelon_valid.csv").write_text("a,target\n1,1\n")
    (folder / "mnist.npz").write_text("no arrays")
    (folder / "shuttle.csv").write_text("a,target\n1,2\n2,2\n")
    status, out, err = call(figure2, "--data-dir", folder)
    assert (status, err) == (2, "No data set is left.\n")
    for line, words in zip(
        out.splitlines(),
        (
            "has no column 'target'.",
            "it could be any of census_income_kdd.csv, census_income_kdd_test.csv",
            "has rows without a target.",
            "differ in their columns.",
            "cannot be read as arrays of NumPy.",
            "its target is the same in all rows.",
        ),
        strict=True,
    ):
        assert words in line
    np.savez(folder / "mnist.npz", X=np.ones((3, 2)))
    _, out, _ = call(figure2, "--data-dir", folder, "--only", "mnist", "--only", "iris")
    assert "has no array 'y'." in out
    assert "Skipped iris: there is no data set of that name." in out


@pytest.mark.parametrize("name", ["scinol_figure1", "scinol_figure2"])
def test_folder_that_cannot_be_written(load, tmp_path, capsys, name):
    occupied = tmp_path / "file"
    occupied.touch()
    options = ["--data-dir", str(tmp_path)] if name == "scinol_figure2" else []
    assert load(name).main(["--output", str(occupied), *options]) == 2
    assert str(occupied) in capsys.readouterr().err
