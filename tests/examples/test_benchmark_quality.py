"""The tables of one-pass losses, against plain loops over the rows."""

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import log_loss
from support.scripts import caller, write_data_sets

import sklearn_scinol
from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import BaselineClassifier

pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture
def quality(script):
    """The script, where neither Vowpal Wabbit nor river is installed."""
    installed, others = script("quality").find_spec, ("vowpalwabbit", "river")
    return script(
        "quality", find_spec=lambda name: None if name in others else installed(name)
    )


@pytest.fixture
def call(quality, capsys):
    return caller(quality, capsys, "--n-jobs", 1)


@pytest.fixture
def folder(tmp_path):
    """Two classes in CSV, amounts in LIBSVM text, three classes as arrays."""
    folder, random = (
        write_data_sets(tmp_path / "data", 60, 70),
        np.random.default_rng(0),
    )
    (folder / "wide.svm").unlink()
    lines = ["length,colour,note,target"]
    for row in range(250):
        length, colour = random.normal(50, 10), random.choice(["red", "green", "NA"])
        label = "yes" if length + 10 * (colour == "red") > 53 else "no"
        shown = "" if row == 7 else f"{length:.3f}"
        lines.append(f"{shown},{colour},note {row},{label}")
    (folder / "two.csv").write_text("\n".join(lines) + "\n")
    return folder


def read_all(quality, folder):
    return {
        name: quality.make_data_set(name, *read())
        for name, read in quality.readers_of_folder(folder, "target").items()
    }


def losses_in(file):
    with file.open(encoding="utf-8") as rows:
        return {
            (row["data set"], row["method"]): float(row["loss"])
            for row in csv.DictReader(rows)
        }


@pytest.mark.thorough
def test_folder(quality, call, folder, tmp_path):
    file = tmp_path / "new" / "losses.csv"
    status, _, err = call("--data-dir", folder, "--output", file)
    assert (status, err) == (0, "")
    losses = losses_in(file)
    assert len(losses) == 3 * len(quality.methods())
    data_sets = read_all(quality, folder)
    for name, classes in ("two", [0, 1]), ("three", [0, 1, 2]):
        X, y = data_sets[name].X, data_sets[name].y
        for method, model in (
            ("ScInOL2", ScInOLClassifier(center=False)),
            ("ScInOL2, centred", ScInOLClassifier(center=True)),
            ("Hedge", HedgeClassifier()),
        ):
            p = model.partial_fit_predict(X, y, classes=classes, method="predict_proba")
            assert losses[name, method] == pytest.approx(log_loss(y, p), rel=1e-9)
    X, y = data_sets["amounts"].X, data_sets["amounts"].y
    for method, model in (
        ("ScInOL2", ScInOLRegressor(center=False)),
        ("Hedge", HedgeRegressor()),
    ):
        loss = np.abs(model.partial_fit_predict(X, y) - y).mean()
        assert losses["amounts", method] == pytest.approx(loss, rel=1e-12)


@pytest.mark.thorough
def test_guard(call, folder, tmp_path):
    table = tmp_path / "table.csv"
    options = "--data-dir", folder, "--only", "three"
    assert call(*options, "--untuned", "--output", table)[0] == 0
    losses = losses_in(table)
    assert ("three", "Hedge") in losses
    assert ("three", "SGD") not in losses
    status, out, _ = call(*options, "--baseline", table)
    assert status == 0
    end = f"Compared {len(losses)} losses with {table}.\n"
    assert out.endswith(end + "None is worse by more than 0.5%.\n")

    changed = {"Hedge": 0.994, "ScInOL2": 0.996, "CoCoB": 0.5, "Coin": 2.0}
    lines = ["data set,method,loss,rate", "another,Hedge,0.1,"]
    for (_, method), loss in losses.items():
        lines.append(f'three,"{method}",{loss * changed.get(method, 1)},')
    table.write_text("\n".join(lines))
    status, out, _ = call(*options, "--baseline", table)
    assert status == 1
    cocob, hedge = sorted(out.partition("Worse by more than 0.5%:\n")[2].splitlines())
    assert hedge.startswith("Hedge on three: ")
    loss = losses["three", "CoCoB"]
    assert cocob == f"CoCoB on three: {loss:.5g} instead of {loss / 2:.5g}"


def test_stored_table_has_all_estimators(quality):
    """That of the data that come with scikit-learn, which CI compares with."""
    stored = quality.read_losses(Path(quality.__file__).with_name("quality.csv"))
    names = [method.name for method in quality.untuned_methods()]
    data_sets = ("breast cancer", "digits", "wine", "diabetes")
    assert stored.keys() == {(data, name) for data in data_sets for name in names}


def test_all_estimators_are_there(quality):
    found = [method.run.args for method in quality.our_methods()]
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
    *tuned, _ = quality.tuned_baseline_methods()  # the last is SGD*
    baselines = [*quality.untuned_baseline_methods(), *tuned]
    used = {method.run.args[-1]["algorithm"] for method in baselines}
    constraint, _ = BaselineClassifier._parameter_constraints["algorithm"]
    assert used == constraint.options - {"ogd"}


def test_data_sets(quality, folder):
    data_sets = read_all(quality, folder)
    assert list(data_sets) == ["amounts", "three", "two"]
    # Length, and which of the two later colours; the notes are too many.
    lengths, *colours = data_sets["two"].X.T
    assert np.isfinite(lengths).all()
    assert set(np.unique(colours)) == {0, 1}
    X, y = quality.readers_of_folder(folder, "target")["two"]()
    assert X[7, 0] == pytest.approx(np.delete(X[:, 0], 7).mean())
    order = np.random.default_rng(0).permutation(250)
    np.testing.assert_array_equal(data_sets["two"].X, X[order])
    np.testing.assert_array_equal(data_sets["two"].y, y[order] == "yes")
    few = quality.make_data_set("two", X, y, 20)
    np.testing.assert_array_equal(few.X, X[order[:20]])


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gaps.csv", "a,target\n1,x\n2,\n", "has rows without a target."),
        ("infinite.svm", "1 1:inf\n2 1:2\n", "has numbers that are not finite."),
        ("same.svm", "1 1:1\n1 1:2\n", "its target is the same in all rows."),
    ],
)
def test_unusable_files(call, tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    status, out, err = call("--data-dir", tmp_path)
    assert (status, err) == (2, "No data set is left.\n")
    assert words in out


# The guard of the times beside SGD's.


def test_stored_table_of_times(script):
    """It has all learners that are compared with SGD, compiled, and all rows."""
    module = script("throughput")
    stored = module.read(Path(module.__file__).with_name("throughput.csv"))
    with_sgd = {
        label
        for label, _, competitors in module.LEARNERS
        if competitors is not module.ONE_JOB
    }
    assert {key[0] for key in stored} == {label for label, *_ in module.CASES}
    assert {key[1] for key in stored} == with_sgd
    assert {key[2] for key in stored} == {"numba"}
    assert all(ratio > 0 for ratios in stored.values() for ratio in ratios)
