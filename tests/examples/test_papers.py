"""The experiments of the ScInOL paper: what they learn from, compute, keep and draw."""

import csv
import hashlib
import io
import re
import zipfile
from urllib.error import URLError

import numpy as np
import pytest
from joblib import Parallel
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from sklearn_scinol import ScInOLClassifier, config_context
from sklearn_scinol.baselines import BaselineClassifier

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def load(load):
    """Import an experiment by its name."""
    load("cells")  # which shows bars of progress
    with config_context(engine="numpy"):  # compiling takes longer
        yield load


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
            ["--output-dir", str(output), "--n-jobs", "1", *map(str, options)]
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
    """Files like two of the paper's, with few rows."""
    random, folder = np.random.default_rng(0), tmp_path / "data"
    folder.mkdir()
    for name, n_rows in ("madelon_train", 60), ("madelon_valid", 30), ("shuttle", 90):
        X = random.normal(size=(n_rows, 4)) * 10.0 ** np.arange(4)
        y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 5) * (name == "shuttle")
        rows = [",".join(map(str, [*x, k])) for x, k in zip(X, y, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,c,d,target", *rows]) + "\n")
    return folder


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
