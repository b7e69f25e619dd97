"""The benchmark script about sets of labels."""

from math import ceil, inf

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_scinol import HedgeClassifier, OnlineConformalClassifier, config_context


@pytest.fixture
def script(load, monkeypatch):
    """The script, with blocks of 20 rows and no wait for a compiler."""
    module = load("label_sets")
    monkeypatch.setattr(module, "N_BLOCK", 20)
    with config_context(engine="numpy"):
        yield module


def test_quality(script):
    y = np.repeat([0, 1, 2], [10, 25, 20])
    sets = np.zeros((55, 3), bool)
    sets[:10] = True  # do not count
    sets[10:29, 1] = True  # 19 of 20
    sets[30:35] = True
    sets[35:41, 2] = True  # 11 of 20, then 5 that do not fill a block
    found = script.quality(sets, y, n_first=10)
    assert_allclose(found, [(5.0 + 35.0) / 2, 35.0, (25 + 15) / 45, 15 / 45])
    assert not found.holds


def test_adaptive_conformal_inference(script, monkeypatch):
    """Compared with the definition: quantiles of all scores before."""
    monkeypatch.setattr(script, "STEPS", (0.02, 0.3))
    scores = np.random.default_rng(0).normal(size=200).tolist()
    found = script.adaptive_conformal_inference(scores)
    for step, thresholds in zip(script.STEPS, found, strict=True):
        alpha, seen = 1.0 - 0.9, set()
        for t, score in enumerate(scores):
            past = sorted(scores[:t])
            place = ceil((1.0 - alpha) * (t + 1))
            expected = -inf if place <= 0 else inf
            if 0 < place <= t:
                expected = past[place - 1]
            assert thresholds[t] == expected
            seen.add(np.isfinite(expected))
            alpha += step * (1.0 - 0.9 - (score > expected))
        assert seen == {True, False}


def test_cumulative_scores(script):
    """With the random part, a set has the label with the probability of its size."""
    P = np.random.default_rng(0).dirichlet(np.ones(4), size=5000)
    scores = script.cumulative_scores(P)
    top = P.argmax(axis=1)
    rows = np.arange(len(P))
    assert (scores[rows, top] <= P.max(axis=1)).all()
    assert (scores[rows, P.argmin(axis=1)] >= 1.0 - P.min(axis=1) - 1e-12).all()
    assert_allclose((P * (scores <= 0.7)).sum(axis=1).mean(), 0.7, atol=0.01)


@pytest.mark.thorough
def test_table(script, tmp_path, capsys):
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 3))
    y = np.argmax(X + random.gumbel(size=X.shape), axis=1)
    np.savez(tmp_path / "made.npz", X=X, y=y)
    sizes = ["--min-rows", "100", "--skip", "30", "--n-jobs", "1"]
    assert script.main(["--data-dir", str(tmp_path), "--in-order", "made", *sizes]) == 0
    _, _, line, *summary, of_aci, of_aps = capsys.readouterr().out.splitlines()
    assert line.split()[:3] == ["made", "150", "3"]
    numbers = [float(cell) for cell in line.split()[3:]]
    assert [text.split()[1:] for text in summary] == [line.split()[3:]] * 3
    model = OnlineConformalClassifier(HedgeClassifier(random_state=0))
    sets = model.partial_fit_predict(X, y, classes=[0, 1, 2], method="predict_set")
    inside = sets[np.arange(150), y][30:]
    shares = inside.reshape(6, 20).mean(axis=1)
    deviations = 100 * abs(shares - 0.9)
    expected = deviations.mean(), deviations.max(), sets[30:].sum(axis=1).mean()
    assert_allclose(numbers[:3], expected, atol=6e-3)
    for text, labels in (of_aci, numbers[6]), (of_aps, numbers[7]):
        assert f"geometric mean {numbers[2] / labels:.2f}" in text[:-1]
