"""The comparison with a grid search: what is counted, scored, drawn and refused."""

import re

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from support.scripts import caller
from support.sums import linear

from sklearn_scinol import ScInOLClassifier

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def example(load):
    return load("comparison_with_sgd")


@pytest.fixture
def run(example, tmp_path, capsys):
    return caller(example, capsys, "--output-dir", tmp_path / "new")


@pytest.fixture
def data_set(example):
    """Two classes that overlap, features in different units."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3)) * [1, 100, 1e-3]
    y = np.where(linear(X, [1, 0.02, 500]) + random.normal(size=60) > 0, "yes", "no")
    return example.DataSet("two classes", X, y)


def folds(data_set):
    splits = StratifiedKFold(5, shuffle=True, random_state=0)
    for train, test in splits.split(data_set.X, data_set.y):
        X, y = data_set.X, data_set.y
        yield X[train], y[train], X[test], y[test]


@pytest.mark.thorough
def test_scores(example, data_set):
    """Untuned, searched and single settings, by plain loops over the same splits."""
    comparison = example.compare(data_set, [0.01, 1.0])
    ours = [
        log_loss(y_test, ScInOLClassifier(random_state=0).fit(X, y).predict_proba(test))
        for X, y, test, y_test in folds(data_set)
    ]
    np.testing.assert_allclose(comparison.ours.losses, ours, rtol=1e-12)

    settings = list(example.ParameterGrid(example.settings([0.01, 1.0])))
    models = [example.sgd().set_params(**setting) for setting in settings]
    assert len(comparison.single) == len(models) == 4
    inner = StratifiedKFold(3, shuffle=True, random_state=0)
    searched, accuracies = [], []
    for X, y, test, y_test in folds(data_set):
        losses = []
        for model in models:
            parts = [
                log_loss(y[right], model.fit(X[left], y[left]).predict_proba(X[right]))
                for left, right in inner.split(X, y)
            ]
            losses.append(np.mean(parts))
        best = models[np.argmin(losses)].fit(X, y)
        searched.append(log_loss(y_test, best.predict_proba(test)))
        accuracies.append(np.mean(best.predict(test) == y_test))
    np.testing.assert_allclose(comparison.searched.losses, searched, rtol=1e-12)
    np.testing.assert_allclose(comparison.searched.accuracies, accuracies, rtol=1e-12)
    for model, outcome in zip(models, comparison.single, strict=True):
        losses = [
            log_loss(y_test, model.fit(X, y).predict_proba(test))
            for X, y, test, y_test in folds(data_set)
        ]
        np.testing.assert_allclose(outcome.losses, losses, rtol=1e-12)
    ordered = sorted(outcome.loss for outcome in comparison.single)
    assert comparison.median_setting.loss == ordered[2]


@pytest.mark.thorough
def test_number_of_fits(example, data_set, monkeypatch):
    """As many as the models were really fitted."""
    fits = []
    fit = example.SGDClassifier.fit

    def counted(self, X, y, **options):
        fits.append(len(y))
        return fit(self, X, y, **options)

    monkeypatch.setattr(example.SGDClassifier, "fit", counted)
    comparison = example.compare(data_set, [0.01, 1.0])
    assert (comparison.ours.n_fits, comparison.searched.n_fits) == (5, 65)
    assert len(fits) == 65 + sum(outcome.n_fits for outcome in comparison.single) == 85


@pytest.mark.thorough
def test_settings_that_fail(example, data_set):
    """Features so large that SGD overflows unless they are standardised."""
    data_set.X[:, 0] *= 1e200
    comparison = example.compare(data_set, [1.0, 1e150])
    assert {np.isinf(outcome.loss) for outcome in comparison.single} == {True, False}
    assert np.isfinite(comparison.ours.loss)
    assert np.isfinite(comparison.searched.loss)
    lines = example.table([comparison]).rstrip().splitlines()
    assert re.fullmatch(r" +SGD, one setting +5 +[\d.]+ +- +diverged", lines[-1])
    example.draw([comparison]).canvas.draw()


@pytest.mark.thorough
def test_bundled_data(example, run, monkeypatch, tmp_path):
    everything = example.bundled_data_sets()
    assert [data_set.X.shape for data_set in everything] == [
        (569, 30),
        (178, 13),
        (1797, 64),
    ]
    monkeypatch.setattr(example, "bundled_data_sets", lambda: everything[1:2])
    status, out, err = run("--rates", "0.1", "1")
    assert (status, err) == (0, "")
    assert re.search(r"^wine +ScInOL2, untuned +5 +[\d.]+ +98.3% ± 1.4%", out, re.M)
    assert re.search(r"^ +SGD, grid search +65 +[\d.]+ +97.8% ± 2.1%", out, re.M)
    assert "worse than ScInOL2: 4 of 4 on wine." in " ".join(out.split())
    assert max(map(len, out.splitlines()[:-1])) <= 90
    assert [path.name for path in (tmp_path / "new").iterdir()] == [
        "comparison_with_sgd.png"
    ]


@pytest.mark.thorough
def test_own_data(run, data_set, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    lines = [
        f"{a},{b},{c},{label}"
        for (a, b, c), label in zip(data_set.X, data_set.y, strict=True)
    ]
    file = tmp_path / "own.csv"
    file.write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    status, out, err = run("--data", str(file), "--target", "y", "--rates", "1")
    assert (status, err) == (0, "")
    assert re.search(r"^own.csv +ScInOL2, untuned +5 ", out, re.M)
    # What may be wrong with it.
    assert run("--data", str(file), "--target", "a") == (
        *(2, ""),
        "The target 'a' holds amounts, and classes are needed.\n",
    )
    file.write_text("\n".join(["a,b,c,y", *lines, "1,2,3,rare"]) + "\n")
    assert run("--data", str(file), "--target", "y") == (
        *(2, ""),
        "The class 'rare' of 'y' has 1 rows, and 5 are needed.\n",
    )
    missing = tmp_path / "missing.csv"
    assert run("--data", str(missing), "--target", "y") == (
        *(2, ""),
        f"There is no file {missing}.\n",
    )


def test_incomplete_options(run):
    with pytest.raises(SystemExit):
        run("--target", "y")
