"""The script that compares mixtures with ensembles of streaming trees."""

from shutil import which

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import cohen_kappa_score, log_loss

from sklearn_scinol import HedgeClassifier


@pytest.fixture
def script(load):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    return load("tree_ensembles")


@pytest.fixture
def keystroke(tmp_path):
    """Write 200 rows of three classes that stay for some rows."""
    rng = np.random.default_rng(0)
    y = np.repeat(rng.integers(3, size=50), 4)
    X = y[:, np.newaxis] + rng.normal(size=(200, 2))
    np.savez(tmp_path / "keystroke.npz", X=X, y=np.array(["a", "b", "c"])[y])
    return X, y


def scores(out, stream):
    """Numbers that are printed of a stream, by learner."""
    lines = out[out.index(stream) :].split("\n\n")[0].splitlines()[3:]
    return {line[:32].strip(): [*map(float, line[32:].split())] for line in lines}


@pytest.mark.thorough
def test_without_other_packages(script, keystroke, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(script, "find_spec", lambda name: None)
    options = "--data-dir", str(tmp_path), "--max-rows", "180"
    assert script.main([*options]) == 0
    out = capsys.readouterr().out
    assert "Learners of river are left out: there is no package river.\n" in out
    assert "Learners of MOA are left out: there is no package capymoa" in out
    assert "elec2 is not at hand.\n" in out
    assert "turning hyperplane: 180 rows, 10 features, 2 classes\n" in out
    assert "Agrawal" not in out

    found = scores(out, "keystroke: 180 rows, 2 features, 3 classes")
    assert [*found] == ["Hedge", "same label as before", "most frequent label"]
    X, y = (each[:180] for each in keystroke)
    same = np.append(0, y[:-1])
    shown = [(same == y).mean(), cohen_kappa_score(y, same), 0.0]
    assert found["same label as before"] == pytest.approx(shown, abs=5.1e-5)
    counts = [np.bincount(y[:row], minlength=3) for row in range(180)]
    share = (np.argmax(counts, axis=1) == y).mean()
    assert found["most frequent label"][0] == pytest.approx(share, abs=5.1e-5)
    P = HedgeClassifier().partial_fit_predict(
        X, y, classes=[0, 1, 2], method="predict_proba"
    )
    right = (P.argmax(axis=1) == y).mean()
    gain = (right - shown[0]) / (1 - shown[0])
    kappa = cohen_kappa_score(y, P.argmax(axis=1))
    expected = right, kappa, gain, log_loss(y, P)
    assert found["Hedge"][:4] == pytest.approx(expected, abs=1e-3)
    assert found["Hedge"][-1] == 1.0


def test_temporal_kappa(script):
    assert script.temporal_kappa(0.85, 0.85) == 0.0
    assert script.temporal_kappa(1.0, 0.85) == 1.0
    assert script.temporal_kappa(0.7, 0.85) == pytest.approx(-1.0)


def test_log_loss_of_impossible_labels(script):
    P = np.array([[1.0, 0.0], [0.5, 0.5]])
    expected = (np.log(1.001 / 0.001) + np.log(2)) / 2
    assert script.mean_log_loss([1, 1], P) == pytest.approx(expected)


@pytest.mark.thorough
def test_learners_of_two_classes(script, keystroke, tmp_path, monkeypatch, capsys):
    """Gradient boosted trees are not run on a stream of three classes."""
    known = dict.fromkeys((script.OF_TWO_CLASSES, script.SAME_LABEL), script.same_label)
    monkeypatch.setattr(
        script, "learners", lambda: {script.HEDGE: script.hedge} | known
    )
    assert script.main(["--data-dir", str(tmp_path), "--max-rows", "40"]) == 0
    out = capsys.readouterr().out
    assert script.OF_TWO_CLASSES in scores(out, "SEA")
    assert script.OF_TWO_CLASSES not in scores(out, "keystroke")


def test_learners_of_river(script):
    pytest.importorskip("river", reason="river is not installed")
    assert {*script.RIVER} <= {*script.learners()}
    made = {name: (X, y) for name, X, y in script.streams(None, 402)}
    assert [len(y) for _, y in made.values()] == [402] * 6
    assert [X.shape[1] for X, _ in made.values()] == [5, 3, 10, 9, 24, 10]
    for name in script.RIVER.values():
        P = script.of_river(name, *made["SEA"], 2)
        assert_allclose(P.sum(axis=1), 1.0)
        assert_allclose(P[0], 0.5)
        assert (P.argmax(axis=1) == made["SEA"][1]).mean() > 0.7


def test_learners_of_moa(script):
    """They predict rows as in the evaluation that CapyMOA has."""
    pytest.importorskip("capymoa", reason="CapyMOA is not installed")
    if not which("java"):
        pytest.skip("Java is not installed")
    from capymoa.classifier import HoeffdingTree
    from capymoa.evaluation import prequential_evaluation
    from capymoa.stream import NumpyStream

    assert {*script.MOA} <= {*script.learners()}
    _, X, y = script.sea(300)
    for name in script.MOA.values():
        P = script.of_moa(name, X, y, 2)
        assert_allclose(P.sum(axis=1), 1.0)
        assert 0.6 < (P.argmax(axis=1) == y).mean() < 0.95
    stream = NumpyStream(X, y)
    model = HoeffdingTree(stream.get_schema(), random_seed=1)
    found = prequential_evaluation(stream, model, store_predictions=True)
    said = np.array([0 if k is None else k for k in found.predictions()])
    assert (said == P.argmax(axis=1)).all()
