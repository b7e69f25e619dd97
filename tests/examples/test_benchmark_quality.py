"""The table of one-pass losses, against plain loops over the rows."""

import csv
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler
from support import ROOT
from support.scripts import assert_says_that_nothing_is_there, caller

import sklearn_scinol
from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
)
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor

#: Larger sets, where they lie next to the project.
FOLDER = ROOT.parent / "shared" / "data"

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def example(load, monkeypatch):
    """The script, where neither Vowpal Wabbit nor river is installed."""
    module = load("quality")
    installed = module.find_spec
    monkeypatch.setattr(
        module,
        "find_spec",
        lambda name: None if name in ("vowpalwabbit", "river") else installed(name),
    )
    return module


@pytest.fixture
def run(example, capsys):
    return caller(example, capsys, "--n-jobs", 1)


@pytest.fixture
def folder(tmp_path):
    """Two classes in CSV, amounts in LIBSVM text, three classes as arrays."""
    random = np.random.default_rng(0)
    folder = tmp_path / "data"
    folder.mkdir()
    lines = ["length,colour,note,target"]
    for row in range(250):
        length, colour = random.normal(50, 10), random.choice(["red", "green", "NA"])
        label = "yes" if length + 10 * (colour == "red") > 53 else "no"
        shown = "" if row == 7 else f"{length:.3f}"
        lines.append(f"{shown},{colour},note {row},{label}")
    (folder / "two.csv").write_text("\n".join(lines) + "\n")
    X = random.normal(size=(60, 5)) * (random.random((60, 5)) < 0.5)
    y = 10 * X[:, 0] + random.normal(20, 1, 60)
    dump_svmlight_file(X, y, str(folder / "amounts.svm"))
    X = random.normal(size=(70, 2))
    np.savez(folder / "three.npz", X=X, y=np.argmax(np.c_[X, 0 * X[:, 0]], axis=1))
    return folder


def read_all(example, folder):
    return {
        name: example.make_data_set(name, *read())
        for name, read in example.readers_of_folder(folder, "target").items()
    }


def losses_in(file):
    with file.open(encoding="utf-8") as rows:
        return {
            (row["data set"], row["method"]): (float(row["loss"]), row["rate"])
            for row in csv.DictReader(rows)
        }


# What it prints.


@pytest.mark.thorough
def test_folder(example, run, folder, tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    file = tmp_path / "new" / "losses.csv"
    status, out, err = run("--data-dir", folder, "--output", file)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[:2] == [
        "Vowpal Wabbit is left out: there is no package vowpalwabbit.",
        "River is left out: there is no package river.",
    ]
    assert "amounts: 60 rows, 5 features, absolute error" in lines
    assert "three: 70 rows, 2 features, log loss, 3 classes" in lines
    assert "two: 250 rows, 3 features, log loss, 2 classes" in lines
    assert max(map(len, lines)) <= 100
    losses = losses_in(file)
    assert len(losses) == 3 * len(example.methods())
    # All methods, best first.
    _, *blocks, _ = re.split(r"(?m)^\w+: .*\n\n.*\n---.*\n", out)
    assert len(blocks) == 2

    data_sets = read_all(example, folder)
    for name, n_classes in (("two", 2), ("three", 3)):
        X, y = data_sets[name].X, data_sets[name].y
        for method, estimator in (
            ("ScInOL2", ScInOLClassifier(center=False)),
            ("ScInOL2, centred", ScInOLClassifier(center=True)),
            ("Hedge", HedgeClassifier()),
        ):
            probabilities = estimator.partial_fit_predict(
                X, y, classes=range(n_classes), method="predict_proba"
            )
            loss, rate = losses[name, method]
            assert loss == pytest.approx(log_loss(y, probabilities), rel=1e-9)
            assert rate == ""
    X, y = data_sets["amounts"].X, data_sets["amounts"].y
    for method, estimator in (
        ("ScInOL2", ScInOLRegressor(center=False)),
        ("Hedge", HedgeRegressor()),
    ):
        predictions = estimator.partial_fit_predict(X, y)
        loss, _ = losses["amounts", method]
        assert loss == pytest.approx(np.abs(predictions - y).mean(), rel=1e-12)
    for rate in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3):
        model = BaselineRegressor("nag", normalizer="mean", center=False)
        model.set_params(learning_rate=rate * np.abs(y).mean())
        predictions = model.partial_fit_predict(X, y)
        loss = np.abs(predictions - y).mean()
        assert loss >= losses["amounts", "NAG"][0] * (1 - 1e-12)
        if float(losses["amounts", "NAG"][1]) == rate:
            assert loss == pytest.approx(losses["amounts", "NAG"][0], rel=1e-12)


@pytest.mark.thorough
def test_guard(run, folder, tmp_path):
    table = tmp_path / "table.csv"
    options = "--data-dir", folder, "--only", "three"
    assert run(*options, "--untuned", "--output", table)[0] == 0
    losses = losses_in(table)
    assert ("three", "Hedge") in losses
    assert ("three", "SGD") not in losses
    status, out, err = run(*options, "--baseline", table)
    assert (status, err) == (0, "")
    end = f"Compared {len(losses)} losses with {table}.\n"
    assert out.endswith(end + "None is worse by more than 0.5%.\n")

    changed = {"Hedge": 0.994, "ScInOL2": 0.996, "CoCoB": 0.5, "Coin": 2.0}
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["data set", "method", "loss", "rate"])
        for (_, method), (loss, _) in losses.items():
            writer.writerow(["three", method, loss * changed.get(method, 1), ""])
        writer.writerow(["another", "Hedge", 0.1, ""])
    status, out, err = run(*options, "--baseline", table)
    assert (status, err) == (1, "")
    _, _, worse = out.partition("Worse by more than 0.5%:\n")
    lines = sorted(worse.splitlines())
    assert [line.partition(":")[0] for line in lines] == [
        "CoCoB on three",
        "Hedge on three",
    ]
    loss = losses["three", "CoCoB"][0]
    assert lines[0].endswith(f": {loss:.5g} instead of {loss / 2:.5g}")


def test_tables_that_are_none(run, folder, tmp_path):
    missing, text = tmp_path / "missing.csv", tmp_path / "text.csv"
    text.write_text("a,b\n1,2\n")
    for path, words in (
        (missing, f"{missing}: No such file or directory.\n"),
        (text, f"{text} is not a table that --output has written.\n"),
    ):
        status, _, err = run("--data-dir", folder, "--baseline", path)
        assert (status, err) == (2, words)


def test_stored_table_has_all_estimators(example):
    """That of the data that come with scikit-learn, which CI compares with."""
    stored = example.read_losses(Path(example.__file__).with_name("quality.csv"))
    names = [method.name for method in example.untuned_methods()]
    data_sets = ("breast cancer", "digits", "wine", "diabetes")
    assert stored.keys() == {(data, name) for data in data_sets for name in names}


def sgd(X, y, rate):
    """Mean absolute error of gradient descent, from its definition."""
    w, b, loss = np.zeros(X.shape[1]), 0.0, 0.0
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        p = w @ x + b
        loss += abs(p - target)
        step = rate / np.sqrt(t) * np.sign(p - target)
        w, b = w - step * x, b - step
    return loss / len(y)


def test_tuned_in_hindsight(example, folder):
    data_set = read_all(example, folder)["amounts"]
    scale = np.abs(data_set.y).mean()
    rates = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3]
    assert rates == [example.nth_rate(step) for step in example.STANDARD_STEPS]
    X = StandardScaler().fit_transform(data_set.X)
    losses = [sgd(X, data_set.y, rate * scale) for rate in rates]
    loss, rate = example.standardised(data_set)
    assert loss == pytest.approx(min(losses), rel=1e-9)
    assert rate == rates[np.argmin(losses)]
    losses = [sgd(data_set.X, data_set.y, rate * scale) for rate in rates]
    loss, rate = example.tuned({"algorithm": "sgd"}, data_set)
    assert 0.001 < rate < 3
    assert loss == pytest.approx(min(losses), rel=1e-9)


def test_summary(example):
    entries = {
        "a": [("x", 1.0), ("SGD*", 2.0), ("y", np.inf)],
        "b": [("x", 3.0), ("SGD*", 1.0)],
    }
    results = {
        name: [example.Entry(method, loss, None) for method, loss in pairs]
        for name, pairs in entries.items()
    }
    *_, sgd, ours, diverged = example.summary(results).splitlines()
    assert sgd.split() == ["SGD*", "2", "1.000", "0", "1", "a"]
    assert ours.split() == ["x", "2", "1.750", "1", "3", "b"]
    assert diverged.split() == ["y", "1", "inf", "0", "inf", "a"]


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0.123456, "0.123"), (1, "1"), (999, "999"), (1234, "1e+03"), (np.inf, "inf")],
)
def test_in_short(example, number, expected):
    assert example.in_short(number, 3) == expected


# Learning rates.


@pytest.mark.parametrize("best", [1e-12, 3e-4, 0.001, 0.03, 3.0, 300.0])
def test_best_rate(example, best):
    loss, rate = example.best_rate(lambda rate: 1 + abs(np.log(rate / best)))
    assert rate == pytest.approx(best, rel=1e-12)
    assert loss == pytest.approx(1)


def test_best_rate_where_most_diverge(example):
    loss, rate = example.best_rate(
        lambda rate: np.inf if rate > 1e-8 else 1 + abs(np.log(rate / 1e-9))
    )
    assert (loss, rate) == (pytest.approx(1), pytest.approx(1e-9))
    assert example.best_rate(lambda rate: np.inf)[0] == np.inf


def test_best_rate_where_nothing_can_be_learned(example):
    tried = []
    loss, _ = example.best_rate(lambda rate: tried.append(rate) or 1 + rate)
    assert loss == pytest.approx(1, rel=1e-3)
    assert len(tried) < 12


def test_divergence_is_an_infinite_loss(example):
    random = np.random.default_rng(0)
    X, y = 1e3 * random.normal(size=(200, 3)), random.normal(size=200)
    model = BaselineRegressor("sgd", loss="squared_error", learning_rate=10.0)
    assert example.one_pass(model, X, y, None) == np.inf
    # Other errors are none.
    with pytest.raises(ValueError, match="learning_rate"):
        example.one_pass(BaselineRegressor("sgd", learning_rate=-1.0), X, y, None)


# Nothing is missing.


def test_all_estimators_are_there(example):
    found = [method.run.args for method in example.our_methods()]
    classes = {estimator for args in found for estimator in args[:2]}
    public = {
        getattr(sklearn_scinol, name)
        for name in sklearn_scinol.__all__
        if name.endswith(("Classifier", "Regressor")) and "Conformal" not in name
    }
    assert classes == public
    for parameter in ("algorithm", "tuning"):
        for estimator in public:
            if parameter in estimator._parameter_constraints:
                (constraint,) = estimator._parameter_constraints[parameter]
                used = {args[2][parameter] for args in found if estimator in args[:2]}
                assert used == constraint.options
    *tuned, _ = example.tuned_baseline_methods()  # the last is SGD*
    baselines = [*example.untuned_baseline_methods(), *tuned]
    used = {method.run.args[-1]["algorithm"] for method in baselines}
    constraint, _ = BaselineClassifier._parameter_constraints["algorithm"]
    assert used == constraint.options - {"ogd"}


# Numbers known from another implementation.


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("name", "scinol2", "sgd"),
    [
        ("abalone", 1.808, 1.677),
        ("cpusmall", 6.364, 5.058),
        ("bank_additional_full", 0.2212, 0.2200),
    ],
)
def test_known_losses(example, name, scinol2, sgd):
    pytest.importorskip("pandas", reason="pandas is not installed")
    if not (FOLDER / f"{name}.csv.gz").exists():
        pytest.skip("there is no ../shared/data next to the project")
    read = example.readers_of_folder(FOLDER, "target")[name]
    data_set = example.make_data_set(name, *read())
    digit = 1e-4 if data_set.n_classes else 1e-3
    (method,) = (m for m in example.our_methods() if m.name == "ScInOL2")
    with config_context(engine="auto"):
        assert method.run(data_set)[0] == pytest.approx(scinol2, abs=0.5 * digit)
        assert example.standardised(data_set)[0] == pytest.approx(sgd, abs=0.5 * digit)


# Vowpal Wabbit and river.


class Workspace:
    """Vowpal Wabbit's, as far as it is used: predicts the first feature."""

    calls = []

    def __init__(self, arg_list):
        data, predictions = (
            Path(arg_list[arg_list.index(option) + 1])
            for option in ("--data", "--predictions")
        )
        rows = data.read_text().splitlines()
        type(self).calls.append((arg_list, rows))
        lines = []
        for row in rows:
            first = re.search(r" 0:(\S+)", row)
            value = float(first[1]) if first else 0.0
            if "--oaa" in arg_list:
                p = 1 / (1 + np.exp(-value))
                lines.append(f"1:{p / 2:g} 2:{p / 2:g} 3:{1 - p:g}")
            else:
                lines.append(f"{value:.9g}")
        predictions.write_text("\n".join(lines) + "\n")

    def finish(self):
        pass


def test_vowpal_wabbit_by_a_stub(example, folder, monkeypatch):
    pytest.importorskip("pandas", reason="pandas is not installed")
    monkeypatch.setattr(Workspace, "calls", [])
    stub = SimpleNamespace(Workspace=Workspace)
    monkeypatch.setitem(sys.modules, "vowpalwabbit", stub)
    monkeypatch.setattr(example, "find_spec", lambda name: name != "river")
    found = [m for m in example.methods() if m.name.startswith("VW")]
    assert [m.name for m in found] == ["VW", "VW --coin", "VW --freegrad"]
    data_sets = read_all(example, folder)
    losses = {name: found[1].run(data) for name, data in data_sets.items()}
    first = {name: data.X[:, 0] for name, data in data_sets.items()}

    y = data_sets["amounts"].y
    assert losses["amounts"] == (
        pytest.approx(np.abs(first["amounts"] - y).mean(), rel=1e-6),
        None,
    )
    y = data_sets["two"].y
    p = 1 / (1 + np.exp(-first["two"]))
    margins = np.where(y == 1, first["two"], -first["two"])
    assert losses["two"][0] == pytest.approx(np.log1p(np.exp(-margins)).mean())
    y = data_sets["three"].y
    p = 1 / (1 + np.exp(-first["three"]))
    expected = log_loss(y, np.c_[p / 2, p / 2, 1 - p])
    assert losses["three"][0] == pytest.approx(expected, rel=1e-4)

    for (arguments, rows), (name, data_set) in zip(
        Workspace.calls, data_sets.items(), strict=True
    ):
        assert "--coin" in arguments
        expected = "quantile" if name == "amounts" else "logistic"
        assert arguments[arguments.index("--loss_function") + 1] == expected
        assert len(rows) == len(data_set.y)
        labels = [float(row.partition(" | ")[0]) for row in rows]
        values = data_set.y + {"amounts": 0, "three": 1, "two": 0}[name]
        np.testing.assert_array_equal(
            labels, 2 * values - 1 if name == "two" else values
        )
        for row, x in zip(rows, data_set.X, strict=True):
            features = dict(
                entry.split(":") for entry in row.partition(" | ")[2].split()
            )
            written = [float(features.pop(str(i), 0)) for i in range(len(x))]
            np.testing.assert_allclose(written, x, rtol=1e-8)
            assert not features


@pytest.mark.parametrize("option", [[], ["--coin"]])
def test_vowpal_wabbit(example, folder, option):
    """Its predictions are those made before each row is learned."""
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    data_set = read_all(example, folder)["amounts"]
    workspace = vowpalwabbit.Workspace(
        arg_list=["--quiet", "--loss_function", "quantile", *option]
    )
    losses = []
    for line, target in zip(
        example.vowpal_wabbit_lines(data_set), data_set.y, strict=True
    ):
        losses.append(abs(workspace.predict(line) - target))
        workspace.learn(line)
    loss, _ = example.vowpal_wabbit(option, data_set)
    assert loss == pytest.approx(np.mean(losses), rel=1e-5)


class Counting:
    """A model with river's methods: classes by frequency, targets by their mean."""

    def __init__(self, *_):
        self.rows = []
        self.targets = []

    def __ror__(self, scaler):
        assert scaler == "scaler"
        return self

    def predict_one(self, row):
        assert list(row) == list(range(len(row)))
        return np.mean(self.targets) if self.targets else 0.0

    def predict_proba_one(self, row):
        classes, counts = np.unique(self.targets, return_counts=True)
        shares = counts / max(len(self.targets), 1)
        return dict(zip(classes.tolist(), shares, strict=True))

    def learn_one(self, row, target):
        self.rows.append(list(row.values()))
        self.targets.append(target)


def test_river_by_a_stub(example, folder, monkeypatch):
    pytest.importorskip("pandas", reason="pandas is not installed")
    modules = {
        "river": SimpleNamespace(),
        "river.linear_model": SimpleNamespace(
            LinearRegression=Counting, LogisticRegression=Counting
        ),
        "river.multiclass": SimpleNamespace(OneVsRestClassifier=Counting),
        "river.preprocessing": SimpleNamespace(StandardScaler=lambda: "scaler"),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(example, "find_spec", lambda name: name != "vowpalwabbit")
    (method,) = (m for m in example.methods() if m.name == "river")
    data_sets = read_all(example, folder)
    y = data_sets["amounts"].y
    expected = [abs(y[0]), *(abs(y[:t].mean() - y[t]) for t in range(1, len(y)))]
    assert method.run(data_sets["amounts"]) == (pytest.approx(np.mean(expected)), None)
    for name, n_classes in (("two", 2), ("three", 3)):
        y = data_sets[name].y
        rows = []
        for t in range(len(y)):
            counts = np.bincount(y[:t], minlength=n_classes)
            # A class that has not been seen has its share of what all had.
            p = np.where(counts, counts / max(t, 1), 1 / n_classes)
            rows.append(p / p.sum())
        loss, _ = method.run(data_sets[name])
        assert loss == pytest.approx(log_loss(y, rows))
    monkeypatch.setattr(example, "MAX_RIVER_PRODUCTS", 100)
    assert example.run(method, data_sets["two"]) == (
        "river is left out on two: it would take river too long."
    )


def test_river(example, folder):
    river = pytest.importorskip("river")
    from river import linear_model, preprocessing

    assert river
    data_set = read_all(example, folder)["amounts"]
    model = preprocessing.StandardScaler() | linear_model.LinearRegression()
    losses = []
    for x, target in zip(data_set.X, data_set.y, strict=True):
        row = dict(enumerate(x))
        losses.append(abs(model.predict_one(row) - target))
        model.learn_one(row, target)
    assert example.river(data_set)[0] == pytest.approx(np.mean(losses), rel=1e-9)


# What is read.


def test_data_sets(example, folder):
    pytest.importorskip("pandas", reason="pandas is not installed")
    data_sets = read_all(example, folder)
    assert list(data_sets) == ["amounts", "three", "two"]
    for data_set in data_sets.values():
        assert isinstance(data_set.X, np.ndarray)
    # Length, and which of the two later colours; the notes are too many.
    lengths, *colours = data_sets["two"].X.T
    assert np.isfinite(lengths).all()
    assert set(np.unique(colours)) == {0, 1}
    X, y = example.readers_of_folder(folder, "target")["two"]()
    assert X[7, 0] == pytest.approx(np.delete(X[:, 0], 7).mean())
    order = np.random.default_rng(0).permutation(250)
    np.testing.assert_array_equal(data_sets["two"].X, X[order])
    np.testing.assert_array_equal(data_sets["two"].y, y[order] == "yes")
    few = example.make_data_set("two", X, y, 20)
    np.testing.assert_array_equal(few.X, X[order[:20]])


def test_wide_sparse_rows(example, folder):
    """Remain sparse, so that nothing is centred."""
    random = np.random.default_rng(0)
    X = np.zeros((40, 1200))
    X[np.arange(40), random.integers(1200, size=40)] = 1.0
    X[:, -1] = random.normal(size=40)
    dump_svmlight_file(X, X[:, -1], str(folder / "wide.svm"))
    data_set = example.make_data_set("wide", *example.read_svm(folder / "wide.svm"))
    methods = {method.name: method for method in example.our_methods()}
    assert example.run(methods["ScInOL2, centred"], data_set) == (
        "ScInOL2, centred is left out on wide: sparse rows cannot be centred."
    )
    for method in ("ScInOL2", "Hedge"):
        assert np.isfinite(example.run(methods[method], data_set).loss)
    assert np.isfinite(example.standardised(data_set)[0])


def test_bundled_data(example):
    assert {
        name: example.make_data_set(name, *read()).n_classes
        for name, read in example.readers(None, "target").items()
    } == {"breast cancer": 2, "digits": 10, "wine": 3, "diabetes": None}


# What may be wrong: a sentence for each data set, and status 2 if none is left.


def test_unusable_files(run, tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    expected = {
        "archive": "cannot be read as CSV",
        "arrays": "has no arrays X and y",
        "column": "has no column 'target'; --target names another.",
        "empty": "is empty.",
        "gaps": "has rows without a target.",
        "infinite": "has numbers that are not finite.",
        "one": "it needs a target in each row, two rows and a feature.",
        "only": "has no feature: beside the target there must be a column",
        "same": "its target is the same in all rows.",
        "shapes": "it needs a target in each row, two rows and a feature.",
        "text": "cannot be read as LIBSVM text",
        "texts": "of numbers, or of at most 200 different texts.",
        "vector": "needs a matrix of numbers X and a vector y.",
    }
    (tmp_path / "archive.csv.gz").write_bytes(b"no archive")
    np.savez(tmp_path / "arrays.npz", a=np.ones(3))
    (tmp_path / "column.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "gaps.csv").write_text("a,target\n1,x\n2,\n")
    (tmp_path / "infinite.svm").write_text("1 1:inf\n2 1:2\n")
    (tmp_path / "one.csv").write_text("a,target\nx,1\nx,2\n")
    (tmp_path / "only.csv").write_text("target\n1\n2\n")
    texts = "".join(f"text {row},{row}\n" for row in range(201))
    (tmp_path / "texts.csv").write_text(f"a,target\n{texts}")
    (tmp_path / "same.svm").write_text("1 1:1\n1 1:2\n")
    np.savez(tmp_path / "shapes.npz", X=np.ones((3, 2)), y=np.arange(2))
    (tmp_path / "text.svm").write_text("no numbers\n")
    np.savez(tmp_path / "vector.npz", X=np.ones(3), y=np.arange(3))
    status, out, err = run("--data-dir", tmp_path)
    assert (status, err) == (2, "No data set is left.\n")
    lines = out.splitlines()[2:]
    for line, (name, words) in zip(lines, expected.items(), strict=True):
        assert line.startswith(f"Skipped {name}: ")
        assert words in line


def test_without_pandas(example, run, folder, monkeypatch):
    monkeypatch.setattr("data_folder.find_spec", lambda name: None)
    status, out, err = run("--data-dir", folder, "--only", "two")
    assert (status, err) == (2, "No data set is left.\n")
    assert out.endswith(
        "Skipped two: reading CSV files needs pandas, which is not installed.\n"
    )


def test_nothing_to_do(run, folder, tmp_path):
    assert_says_that_nothing_is_there(run, folder, tmp_path / "missing")
    status, out, err = run("--data-dir", tmp_path)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"There is no data set in {tmp_path}: ")


@pytest.mark.parametrize(
    "options", [["--max-rows", "0"], ["--max-rows", "x"], ["--n-jobs", "0"]]
)
def test_wrong_options(run, options):
    with pytest.raises(SystemExit) as exit:
        run(*options)
    assert exit.value.code == 2
