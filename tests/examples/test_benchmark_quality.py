"""The table of one-pass losses, against plain loops over the rows."""

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler
from support.scripts import caller

import sklearn_scinol
from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import BaselineClassifier

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


@pytest.mark.thorough
def test_folder(example, run, folder, tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    file = tmp_path / "new" / "losses.csv"
    status, out, err = run("--data-dir", folder, "--output", file)
    assert (status, err) == (0, "")
    assert "three: 70 rows, 2 features, log loss, 3 classes\n" in out
    losses = losses_in(file)
    assert len(losses) == 3 * len(example.methods())
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


@pytest.mark.parametrize("best", [1e-12, 3e-4, 0.001, 0.03, 3.0, 300.0])
def test_best_rate(example, best):
    """Rates far above it may diverge."""

    def loss_of(rate):
        return np.inf if rate > 1e8 * best else 1 + abs(np.log(rate / best))

    loss, rate = example.best_rate(loss_of)
    assert (loss, rate) == (pytest.approx(1), pytest.approx(best, rel=1e-12))
    assert example.best_rate(lambda rate: np.inf)[0] == np.inf


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


TEXTS = "".join(f"text {row},{row}\n" for row in range(201))
NEEDS_ROWS = "it needs a target in each row, two rows and a feature."
#: Files by name: what they hold, and what is said of them.
UNUSABLE = {
    "archive.csv.gz": ("no archive", "cannot be read as CSV"),
    "arrays.npz": ({"a": np.ones(3)}, "has no arrays X and y"),
    "column.csv": ("a,b\n1,2\n", "no column 'target'; --target names another."),
    "empty.csv": ("", "is empty."),
    "gaps.csv": ("a,target\n1,x\n2,\n", "has rows without a target."),
    "infinite.svm": ("1 1:inf\n2 1:2\n", "has numbers that are not finite."),
    "one.csv": ("a,target\nx,1\nx,2\n", NEEDS_ROWS),
    "only.csv": ("target\n1\n2\n", "has no feature: beside the target there must"),
    "same.svm": ("1 1:1\n1 1:2\n", "its target is the same in all rows."),
    "shapes.npz": ({"X": np.ones((3, 2)), "y": np.arange(2)}, NEEDS_ROWS),
    "text.svm": ("no numbers\n", "cannot be read as LIBSVM text"),
    "texts.csv": (f"a,target\n{TEXTS}", "of numbers, or of at most 200 different"),
    "vector.npz": ({"X": np.ones(3), "y": np.arange(3)}, "needs a matrix of numbers"),
}


def test_unusable_files(run, tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    for name, (content, _) in UNUSABLE.items():
        if isinstance(content, dict):
            np.savez(tmp_path / name, **content)
        else:
            (tmp_path / name).write_text(content)
    status, out, err = run("--data-dir", tmp_path)
    assert (status, err) == (2, "No data set is left.\n")
    lines = out.splitlines()[2:]
    for line, (name, (_, words)) in zip(lines, UNUSABLE.items(), strict=True):
        assert line.startswith(f"Skipped {name.partition('.')[0]}: ")
        assert words in line
