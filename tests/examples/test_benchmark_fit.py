"""The benchmark script about `fit` beside batch solvers."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.fixture
def script(load, monkeypatch):
    module = load("fit")
    monkeypatch.setattr(module, "N_FOLDS", 2)
    options = {
        "fast": {"exclude": ["additive", "second_order"]},
        "one epoch": {"max_iter": 1, "tol": None},
    }
    monkeypatch.setattr(module, "OPTIONS", options)
    return module


def numbers(text):
    return [float(number) for number in text.split()]


@pytest.mark.thorough
def test_table(script, capsys):
    assert script.main(["--only", "e", "--max-rows", "150", "--n-jobs", "1"]) == 0
    head, *rows, median, mean, largest = capsys.readouterr().out.splitlines()
    assert head.endswith(f"{'fast':>19}{'one epoch':>19}{'Hedge / boosting':>19}")
    rows = {row[:28].rstrip(): numbers(row[28:]) for row in rows}
    assert {"wine", "diabetes"} <= set(rows)
    for epochs, *ratios in rows.values():
        assert epochs > 5
        assert all(0.2 < ratio < 4.0 for ratio in ratios)
    ratios = np.array([ratios for _, *ratios in rows.values()])
    for line, expected in (
        (median, np.median(ratios, axis=0)),
        (mean, np.exp(np.log(ratios).mean(axis=0))),
        (largest, ratios.max(axis=0)),
    ):
        np.testing.assert_allclose(numbers(line[36:]), expected, atol=1e-3)


def test_losses_of_solvers(script):
    X, y = load_wine(return_X_y=True)
    solver = make_pipeline(StandardScaler(), LogisticRegression())
    folds = list(script.folds(X, y, True))
    losses = [script.new_loss(solver, X, y, *fold, True)[0] for fold in folds]
    expected = cross_val_score(solver, X, y, cv=folds, scoring="neg_log_loss")
    np.testing.assert_allclose(losses, -expected)


def test_data_that_are_not_there(script, capsys, tmp_path):
    missing = tmp_path / "missing"
    assert script.main(["--data-dir", str(missing)]) == 2
    assert capsys.readouterr().err == f"There is no folder {missing}.\n"
