"""The script that puts mixtures into the tables of river's benchmark."""

import numpy as np
import pytest

from sklearn_scinol import HedgeClassifier


@pytest.fixture
def script(load):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    return load("river_benchmark")


@pytest.fixture
def without_river(script, monkeypatch):
    monkeypatch.setattr(script, "find_spec", lambda name: None)


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    labels = np.where(X[:, 0] + 0.3 * random.normal(size=200) > 0, "UP", "DOWN")
    np.savez(tmp_path / "elec2.npz", X=X, y=labels)
    return tmp_path


def test_published_figures(script):
    tables = script.published()
    sizes = {name: len(table) for name, table in tables.items()}
    assert sizes == {
        "Bananas": 18,
        "Elec2": 18,
        "Phishing": 18,
        "ImageSegments": 14,
        "ChickWeights": 17,
        "TrumpApproval": 17,
    }
    assert max(tables["Elec2"], key=tables["Elec2"].get) == "ALMA"
    for name, table in tables.items():
        largest = 1000 if name in script.REGRESSION else 1
        assert all(0 < score < largest for score in table.values())


@pytest.mark.thorough
def test_place_in_the_table(script, without_river, folder, capsys):
    data = np.load(folder / "elec2.npz")
    said = HedgeClassifier().partial_fit_predict(
        data["X"], data["y"], classes=["DOWN", "UP"]
    )
    accuracy = (said == data["y"]).mean()
    assert script.main(["--data-dir", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.count(" is not at hand.\n") == 5
    lines = out[out.index("Elec2: 200 rows") :].splitlines()
    models = [line[:44].strip() for line in lines[2:21]]
    assert len(set(models)) == 19
    scores = [float(line[44:54]) for line in lines[2:21]]
    assert scores == sorted(scores, reverse=True)
    assert scores[models.index(script.OURS)] == pytest.approx(accuracy, rel=1e-3)
    better = sum(score > accuracy for score in script.published()["Elec2"].values())
    assert lines[21].endswith(f": {better} of the 18 published are better.")


def test_errors_are_sorted_upwards(script):
    measured = {script.OURS: (1.0, 0.1), script.OF_RIVER: (0.5, 0.2)}
    table = script.table("ChickWeights", 5, {"a": 2.0, "b": 0.7}, measured)
    lines = table.splitlines()
    found = [line[:44].strip() for line in lines[2:6]]
    assert found == [script.OF_RIVER, "b", script.OURS, "a"]
    assert lines[6].endswith(": 1 of the 2 published are better.")


def test_nothing_at_hand(script, without_river, tmp_path, capsys):
    missing = tmp_path / "missing"
    assert script.main(["--data-dir", str(missing)]) == 2
    assert capsys.readouterr().err == f"There is no folder {missing}.\n"
    assert script.main([]) == 2
    said = "No data set is at hand: install river, or give a folder that has elec2.\n"
    assert capsys.readouterr().err == said


def test_streams_of_river(script):
    pytest.importorskip("river", reason="river is not installed")
    ((name, X, y),) = script.streams(["Phishing"], None)
    assert (name, X.shape, set(y)) == ("Phishing", (1250, 9), {False, True})
    score, seconds = script.measure(script.of_river, X, y, False)
    assert 0.85 < score < 0.95
    assert seconds > 0
