"""The experiments of the ScInOL paper: what they learn from, compute, keep and draw."""

import csv
import re

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
def cells(script):
    return script("cells")  # which shows bars of progress


def few_methods(module):
    """NAG with two rates, and ScInOL."""
    named = {method.name: method for method in module.METHODS}
    nag = module.Method("NAG", "nag", (0.1, 1.0), dict(named["NAG"].parameters))
    return [nag, named["ScInOL1"], named["ScInOL2"]]


@pytest.fixture
def figure1(script, cells):
    """200 training rows, tested after every 50, and three methods."""
    methods = few_methods(script("scinol_figure1"))
    values = {"N_TRAIN": 200, "N_TEST": 1500, "COMPARED": (100, 200)}
    with config_context(engine="numpy"):  # compiling takes longer
        yield script("scinol_figure1", **values, METHODS=methods)


@pytest.fixture
def figure2(script, cells):
    """Few methods, of which one has a rate that is far too large."""
    module = script("scinol_figure2")
    others = ("SGD", "sgd", (1e-3, 1e20)), ("CoCoB", "cocob"), ("Alg1-K17", "k17")
    methods = [*few_methods(module), *(module.Method(*other) for other in others)]
    with config_context(engine="numpy"):
        yield script("scinol_figure2", METHODS=methods)


@pytest.fixture
def run(run, tmp_path):
    """Run an experiment with one process, and the folder `output`."""
    return lambda module, *options: run(
        module, "--output-dir", tmp_path / "output", "--n-jobs", 1, *options
    )


def frozen(model):
    """Its weights as they stand: a row to be predicted does not change them."""
    linear = LogisticRegression()
    linear.classes_ = model.classes_
    linear.coef_, linear.intercept_ = model.coef_, model.intercept_
    return linear


def read_rows(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def row_of(rows, **values):
    (row,) = (row for row in rows if values.items() <= row.items())
    return row


def assert_shown(row, name, values, rtol):
    """That a row has the mean of losses, or of other values, over runs."""
    np.testing.assert_allclose(float(row[name]), np.mean(values), rtol=rtol)


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
    np.testing.assert_equal(values([2])[0]["bound"], [np.inf, np.nan])


@pytest.mark.parametrize(
    "damage", ["", '{"key": {"a', "[]", '{"key": {}, "values": 1}']
)
def test_damaged_cells_are_computed_again(cells, tmp_path, damage):
    cell = cells.Cell({"number": 3}, lambda: 9, ())
    cell.store(tmp_path)
    assert cell.values(tmp_path) == 9
    cell.path(tmp_path).write_text(damage)
    assert cell.values(tmp_path) is None
    assert cells.complete([cell], tmp_path, Parallel(n_jobs=1), "") == [9]


def test_figure1(figure1, run, tmp_path, monkeypatch):
    out = run(figure1, "--runs", 2)
    assert (tmp_path / "output" / "scinol_figure1.png").stat().st_size > 10_000
    rows = read_rows(tmp_path / "output" / "scinol_figure1.csv")
    assert len(rows) == 4 * 4  # NAG has two rates

    # The same without any of its functions.
    losses, errors = [], []
    for seed in range(2):
        rng = np.random.default_rng(seed)
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
    row = row_of(rows, method="NAG", rate="1.0", row="100")
    assert_shown(row, "loss", losses, 1e-10)
    assert_shown(row, "error", errors, 1e-10)
    assert_shown(row, "deviation of loss", np.std(losses, ddof=1), 1e-8)

    # What is printed is the rate that is best in the end.
    final = {
        row["rate"]: float(row["loss"])
        for row in rows
        if row["method"] == "NAG" and row["row"] == "200"
    }
    rate = min(final, key=final.get)
    assert re.search(rf"NAG, rate {float(rate):g} .*{final[rate]:.4f}", out)

    # Once more, with nothing left to compute.
    monkeypatch.setattr(figure1, "toy_data", None)
    assert run(figure1, "--runs", 2) == out


@pytest.mark.thorough
def test_comparison_with_authors(figure1, run, tmp_path):
    """With their series, here like ours, in standard errors."""
    names = ["NAG (0.1)", "NAG (1.0)", "ScInOL_1", "ScInOL_2"]
    lines = [",".join(["t", *names, *(f"{name} 0/1" for name in names)])]
    lines += [f"{t},0.6,0.6,0.6,100{4 * ',0.2'}" for t in range(50, 201, 50)]
    file = tmp_path / "authors.csv"
    file.write_text("\n".join(lines) + "\n")
    out = run(figure1, "--runs", 2, "--deviation-runs", 3, "--authors", file)
    assert re.search(r"^  the authors  +0\.6000 +0\.6000 +0\.2000$", out, re.M)
    (row,) = re.findall(r"^ScInOL2 +-[\d.]+\* +-[\d.]+\*$", out, re.M)
    assert "0 of 2 with ScInOL2." in " ".join(out.split())

    # The standard error, from runs beyond those of the mean.
    curves = [
        figure1.learning_curves(figure1.METHODS[-1], seed, (100, 200))["loss"][0]
        for seed in range(5)
    ]
    losses = np.array(curves)
    expected = (losses[:2].mean(axis=0) - 100) / losses[2:].std(axis=0, ddof=1)
    shown = [float(cell.rstrip("*")) for cell in row.split()[1:]]
    np.testing.assert_allclose(shown, expected, rtol=1e-3)


def test_encoding(figure2):
    """Numbers, whether one is missing; then text without its first category."""
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
    expected = [
        [1.5, 1, 0, 1, 0, 1, 0],
        [0.0, 0, 1, 0, 1, 0, 0],
        [3.0, 0, 0, 0, 0, 1, 0],
        [4.0, 1, 0, 1, 0, 0, 1],
    ]
    np.testing.assert_array_equal(sparse.csr_array(X).toarray(), expected)


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


@pytest.mark.thorough
def test_figure2(figure2, run, tmp_path, monkeypatch):
    pytest.importorskip("pandas", reason="pandas is not installed")
    random, folder = np.random.default_rng(0), tmp_path / "data"
    folder.mkdir()
    for name, n_rows in ("madelon_train", 60), ("madelon_valid", 30), ("shuttle", 90):
        X = random.normal(size=(n_rows, 4)) * 10.0 ** np.arange(4)
        y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 5) * (name == "shuttle")
        rows = [",".join(map(str, [*x, k])) for x, k in zip(X, y, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,c,d,target", *rows]) + "\n")
    options = ["--data-dir", folder, "--repetitions", 2, "--epochs", 3]
    options += ["--only", "madelon", "--only", "shuttle"]
    out = run(figure2, *options)
    for name in ("scinol_figure2.png", "scinol_figure4.png"):
        assert (tmp_path / "output" / name).stat().st_size > 10_000
    rows = read_rows(tmp_path / "output" / "scinol_figure2.csv")
    assert len(rows) == 2 * 8 * 3

    # The same without any of its functions.
    data = figure2.data_sets_in(folder)["shuttle"]()
    losses, accuracies = [], []
    for repetition in range(2):
        order = np.random.default_rng(repetition).permutation(90)
        shuffled, train, test = (
            np.random.RandomState(repetition),
            order[:60],
            order[60:],
        )
        model = ScInOLClassifier(algorithm="scinol1", center=False)
        for _ in range(2):
            rows_of_epoch = train[shuffled.permutation(60)]
            model.partial_fit(data.X[rows_of_epoch], data.y[rows_of_epoch], [0, 1, 2])
        model = frozen(model)
        losses.append(log_loss(data.y[test], model.predict_proba(data.X[test])))
        accuracies.append(model.score(data.X[test], data.y[test]))
    row = row_of(rows, **{"data set": "shuttle", "method": "ScInOL1", "epoch": "2"})
    assert_shown(row, "loss", losses, 1e-9)
    assert_shown(row, "accuracy", accuracies, 1e-9)
    assert_shown(row, "deviation of loss", np.std(losses, ddof=1), 1e-7)

    # A rate that is far too large is not the one that is shown.
    sgd = {row["rate"]: row for row in rows if row["method"] == "SGD"}
    assert float(sgd["1e+20"]["loss"]) > 1e20
    assert [sgd[rate]["shown"] for rate in ("1e+20", "0.001")] == ["False", "True"]
    assert re.search(r"^SGD +0\.001 +[\d.]+ +[\d.]+ +[\d.]+$", out, re.M)

    # Once more, with nothing left to compute.
    monkeypatch.setattr(figure2, "learning_curve", None)
    assert run(figure2, *options) == out
