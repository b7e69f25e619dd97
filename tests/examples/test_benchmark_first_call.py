"""The benchmark script about the time of the first call."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_scinol import ScInOLClassifier

pytest.importorskip("numba", reason="numba is not installed")


@pytest.fixture
def script(load):
    return load("first_call")


def test_the_function_by_hand_is_the_learner(script):
    """It is what ScInOL does, so that their times can be compared."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(X.sum(axis=1) > 0.5, 1.0, -1.0)
    c = rng.choice([0.0, 1.0], 60)
    c[0] = 1.0
    mean, numbers, state = np.zeros(4), np.zeros(3), np.zeros((5, 5))
    state[2], state[3] = np.finfo(float).tiny, 1.0
    predictions, losses = np.zeros((2, 60))
    assert script.learn_rows(X, y, c, mean, *state, predictions, losses, numbers)
    model = ScInOLClassifier().partial_fit(X, y, [-1, 1], c)
    learned = c > 0.0
    assert numbers[0] == learned.sum()
    assert_allclose(numbers[2], model.cumulative_loss_, rtol=1e-12)
    again = ScInOLClassifier(center=False).partial_fit(X, y, [-1, 1], c)
    assert again.cumulative_loss_ != pytest.approx(numbers[2])


def test_table(script, monkeypatch, capsys):
    times = iter(range(1, 1 + 2 * len(script.CASES)))
    monkeypatch.setattr(script, "measure_apart", lambda _: (next(times), 3.0, 0.5, 0.6))
    assert script.main(["--n-repeats", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert len(lines) == len(script.CASES)
    n = len(script.CASES)
    assert " ".join(lines[0].split()) == "one function by hand 5.50 s 1.0 3.00 s"
    expected = f"ScInOL {2 + n / 2:.2f} s 1.2 3.00 s 0.50 s"
    assert " ".join(lines[1].split()) == expected


def test_bad_options(script, capsys):
    with pytest.raises(SystemExit):
        script.main(["--n-repeats", "0"])
    assert "--n-repeats must be at least 1" in capsys.readouterr().err
