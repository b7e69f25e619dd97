"""The script that compares forests with those of river."""

import sys
from types import ModuleType

import numpy as np
import pytest

from sklearn_scinol import MondrianForestClassifier


@pytest.fixture
def script(load):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    return load("forests")


class Counts:
    """Predicts classes by their frequencies, in the manner of river."""

    def __init__(self, n_estimators, seed):
        self.counts = {}

    def predict_proba_one(self, x):
        total = sum(self.counts.values())
        return {label: n / total for label, n in self.counts.items()}

    def learn_one(self, x, y):
        self.counts[y] = self.counts.get(y, 0) + 1


@pytest.fixture
def river(script, monkeypatch):
    """Stand in for river, which has no data sets then."""
    forest = ModuleType("river.forest")
    forest.AMFClassifier = Counts
    monkeypatch.setitem(sys.modules, "river.forest", forest)
    monkeypatch.setattr(script, "find_spec", lambda name: True)
    monkeypatch.setattr(script, "streams", lambda names, folder: [])


@pytest.mark.thorough
def test_lines(script, river, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(script, "mails", lambda: (X, y))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(2, size=60)
    np.savez(tmp_path / "pendigits.npz", X=X, y=np.array(["a", "b"])[y])
    assert script.main(["--data-dir", str(tmp_path), "--seeds", "3"]) == 0
    out = capsys.readouterr().out
    assert "elec2 is not at hand." in out
    *_, accuracy, losses, times, ratios, of_numpy = out.splitlines()
    assert accuracy.split()[:3] == ["mails", "60", "3"]
    likely, right, _ = script.of_river(X, y, 0)
    assert likely[0] == 0.5
    shown = [float(line.split(" ± ")[0].split()[-1]) for line in (accuracy, losses)]
    assert shown == pytest.approx([right.mean(), -np.log(likely).mean()], abs=1e-4)
    model = MondrianForestClassifier(random_state=1)
    said = model.partial_fit_predict(X, y, classes=[0, 1])
    assert script.of_ours(X, y, 1)[1].mean() == (said == y).mean()
    assert len(times.split()) == 6
    assert ratios.split()[:3] == ["times", "faster", "1"]
    assert float(of_numpy.removeprefix("  µs, NumPy")) > 0.0


def test_made_mails(script):
    X, y = script.mails(500)
    assert X.shape == (500, 57)
    assert X.min() == 0.0
    assert 0.3 < y.mean() < 0.5
    assert (X == 0.0).mean() > 0.5


def test_without_river(script, monkeypatch, capsys):
    monkeypatch.setattr(script, "find_spec", lambda name: None)
    assert script.main([]) == 2
    assert "river is not installed" in capsys.readouterr().err
