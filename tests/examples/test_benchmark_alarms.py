"""The benchmark of alarms: what it counts, and its tables."""

import re

import numpy as np
import pytest

from sklearn_scinol.evaluation import LossMonitor

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def alarms(load):
    return load("alarms")


class Countdown:
    """A detector that raises an alarm after a number of rows."""

    def __init__(self, n):
        self.n = n

    def __call__(self):
        left = self.n

        def update(losses):
            nonlocal left
            left -= len(losses)
            return left + len(losses) - 1 if left <= 0 else None

        return update

    def __str__(self):
        return f"Countdown({self.n})"


def test_rows_are_counted(alarms, monkeypatch):
    monkeypatch.setattr(alarms, "MAX_ROWS", 5000)
    runs = alarms.Runs(n_jobs=1)
    for n, expected in (1, 1), (1600, 1600), (4000, 4000), (6000, 5000):
        assert [*runs.false_alarms(Countdown(n), 0.1, 2)] == [expected] * 2
    assert [*runs.delays(Countdown(1010), 0.1, 0.2, 1000, 2)] == [10, 10]
    assert runs.delays(Countdown(1000), 0.1, 0.2, 1000, 2).size == 0


def test_losses_change(alarms):
    """The error rate is the one before the change, then the one after it."""
    seen = []

    def make():
        return lambda losses: seen.append(losses) or (0 if len(seen) == 2 else None)

    assert alarms.delay(make, 0.1, 0.9, 1600, seed=0) == 1
    assert abs(np.mean(seen[0]) - 0.1) < 0.05
    assert abs(np.mean(seen[1]) - 0.9) < 0.05


def test_our_detector(alarms):
    losses = alarms.wrong_labels(0.1)(np.random.default_rng(0), 20_000)
    places = LossMonitor(0.01).update(losses)
    assert alarms.Detector("LossMonitor", false_alarm=0.01)()(losses) == places[0]


def test_tables_and_figure(alarms, tmp_path, capsys, monkeypatch):
    pytest.importorskip("river", reason="river is not installed")
    monkeypatch.setattr(alarms, "MAX_ROWS", 4000)
    monkeypatch.setattr(alarms, "MAX_DELAY", 800)
    monkeypatch.setattr(alarms, "N_BEFORE", (200, 100))
    monkeypatch.setattr(alarms, "DELTAS", (0.1, 0.9))
    options = "--streams", "4", "--delays", "30", "--output-dir", str(tmp_path)
    assert alarms.main([*options]) == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"^(?:error|exp|Cauchy).* 4 +10?,000 ", out, re.M)) == 4
    assert out.count("LossMonitor / ADWIN with as many false alarms: ") == 3
    assert [path.name for path in tmp_path.iterdir()] == ["alarms.png"]


def test_without_river(alarms, capsys, monkeypatch):
    monkeypatch.setattr(alarms, "find_spec", lambda name: None)
    assert alarms.main([]) == 2
    assert capsys.readouterr().err.startswith("river is not installed")
