"""The script that measures prediction intervals."""

import numpy as np
import pytest


@pytest.fixture
def script(load):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    return load("intervals")


def test_adaptive_conformal_inference(script):
    errors = np.random.default_rng(0).normal(size=3000)
    widths = script.adaptive(errors, 0.0)
    assert widths[-1] == pytest.approx(1.645, abs=0.1)
    assert widths[10] == sorted(np.abs(errors[:10]))[9]
    widths = script.adaptive(errors * np.linspace(1.0, 30.0, 3000), 0.05)
    assert np.mean(np.abs(errors * np.linspace(1.0, 30.0, 3000)) <= widths) > 0.89


def test_scores(script, monkeypatch):
    monkeypatch.setattr(script, "N_UNSCORED", 0)
    monkeypatch.setattr(script, "BLOCK", 2)
    y = np.array([0.0, 1.0, 5.0, -3.0])
    lower, upper = np.full(4, -1.0), np.full(4, 2.0)
    assert script.score(y, lower, upper) == 3.0 + 20.0 * (3.0 + 2.0) / 4.0
    np.testing.assert_allclose(script.deviations(y, lower, upper), [10.0, 90.0])


@pytest.mark.thorough
def test_lines(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(script, "find_spec", lambda name: None)
    monkeypatch.setattr(script, "made_streams", lambda: [("made*", X, y)])
    monkeypatch.setattr(script, "cost", lambda estimator: (1.25, 3.0))
    monkeypatch.setattr(script, "BLOCK", 100)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = X.sum(axis=1) + rng.normal(size=500)
    table = np.column_stack([X, rng.integers(2, size=500)])
    np.savetxt(
        tmp_path / "pendigits.csv",
        table,
        header="a,b,target",
        comments="",
        delimiter=",",
    )
    pytest.importorskip("pandas", reason="pandas is not installed")
    assert script.main(["--data-dir", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "river is not installed." in out
    assert "elec2 is not at hand." in out
    lines = {line[:24].strip(): line[24:].split() for line in out.splitlines()}
    points, (ratio,) = script.measure(X, y, False)
    numbers = [points.mean(), points.max(), ratio]
    assert lines["made*"][0] == "500"
    assert [float(cell) for cell in lines["made*"][1:]] == pytest.approx(
        numbers, abs=0.06
    )
    assert lines["mean, chosen on"][-1] == lines["made*"][-1]
    assert lines["mean, others"][-1] == lines["pendigits, last x"][-1]
    assert "HedgeRegressor alone: 1.25 (3.00 µs a row more)." in out


def test_made_streams(script, monkeypatch):
    for _, X, y in script.made_streams():
        assert len(X) == len(y) >= 17_500
        assert np.isfinite(X).all()
        assert np.isfinite(y).all()
