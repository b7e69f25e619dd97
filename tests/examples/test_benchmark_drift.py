"""The example of streams that change, on its own data and on those of a folder."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss
from support.scripts import assert_refuses, assert_says_that_nothing_is_there, runner

from sklearn_scinol import HedgeClassifier, ScInOLClassifier

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def example(load, monkeypatch):
    module = load("drift")
    monkeypatch.setattr(module, "WINDOW", 50)
    return module


@pytest.fixture
def run(example, tmp_path, capsys):
    return runner(example, tmp_path, capsys)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    np.savez(folder / "two.npz", X=X, y=1 * (X[:, 0] > np.arange(120) / 60 - 1))
    np.savez(folder / "amounts.npz", X=X, y=X[:, 1])
    return folder


def lines(out):
    """Log loss and accuracy by stream and learner."""
    body = out.partition("\n---")[2].splitlines()[1:-1]
    return {
        (line[:22].strip(), line[22:54].strip()): tuple(map(float, line[54:].split()))
        for line in body
        if line
    }


@pytest.mark.thorough
def test_own_streams(run, tmp_path):
    status, out, err = run("--max-rows", "300")
    assert (status, err) == (0, "")
    found = lines(out)
    assert len(found) == 9
    for (_, learner), (loss, accuracy) in found.items():
        assert 0 < loss < 1
        assert 0.4 < accuracy < 1, learner
    swapped = {learner: v for (name, learner), v in found.items() if "swap" in name}
    assert swapped["mixture"][0] < swapped["ScInOL2"][0]
    path = tmp_path / "figures" / "drift.png"
    assert out.endswith(f"Wrote {path}\n")
    assert path.stat().st_size > 10_000


@pytest.mark.thorough
def test_folder_is_learned_in_its_order(run, folder, example):
    status, out, err = run("--data-dir", folder)
    assert (status, err) == (0, "")
    assert "Skipped amounts: it does not have two classes.\n" in out
    data = np.load(folder / "two.npz")
    X, y = data["X"], data["y"]
    found = lines(out)
    for name, model in (
        ("mixture", HedgeClassifier()),
        ("ScInOL2", ScInOLClassifier()),
    ):
        p = model.partial_fit_predict(X, y, classes=[0, 1], method="predict_proba")
        accuracy = (p.argmax(axis=1) == y).mean()
        expected = log_loss(y, p), accuracy
        assert found["two", name] == pytest.approx(expected, abs=6e-5)


def test_gradient_descent_is_that_of_the_best_rate(example):
    stream = example.swapped_labels(300)
    course = example.gradient_descent(stream.X, stream.y)
    Z = (stream.X - stream.X.mean(axis=0)) / stream.X.std(axis=0)
    Z = np.column_stack([Z, np.ones(len(Z))])
    losses, said = [], []
    for rate in example.RATES:
        w, p = np.zeros(6), []
        for z, label in zip(Z, stream.y, strict=True):
            p.append(1 / (1 + np.exp(-w @ z)))
            w = w - rate * (p[-1] - label) * z
        losses.append(log_loss(stream.y, p))
        said.append(p)
    best = np.argmin(losses)
    assert course.name.endswith(f" {example.RATES[best]:g}")
    assert_allclose(course.p, said[best], rtol=1e-9)


def test_learners_of_river(example):
    pytest.importorskip("river", reason="river is not installed")
    stream = example.sea(300)
    for name in example.OF_RIVER:
        course = example.of_river(name)(stream.X, stream.y)
        assert 0.5 < ((course.p > 0.5) == stream.y).mean() < 1


def test_river_that_is_not_there(run, example, monkeypatch):
    monkeypatch.setattr(example, "find_spec", lambda name: None)
    said = "river is not installed: `pip install river` does it.\n"
    assert run("--river") == (2, "", said)


def test_what_is_not_there(run, folder, tmp_path, capsys):
    assert_says_that_nothing_is_there(run, folder, tmp_path / "missing")
    status, _, err = run("--data-dir", folder, "--only", "amounts")
    assert (status, err) == (2, "No data set is left.\n")
    assert_refuses(run, ["--max-rows", "0"], capsys)
