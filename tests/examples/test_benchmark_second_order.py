"""The benchmark script about online Newton steps."""

import pytest


@pytest.fixture
def script(load, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    module = load("second_order")
    monkeypatch.setattr(module, "N_ROWS", 3_000)
    monkeypatch.setattr(module, "N_FEATURES", 4)
    monkeypatch.setattr(module, "REPEATS", 1)
    return module


@pytest.mark.thorough
def test_tables(script, capsys):
    assert script.main(["--only", "wine", "--n-jobs", "1"]) == 0
    of_priors, of_solvers = capsys.readouterr().out.split("\n\n")
    head, wine, summary = of_priors.splitlines()
    assert head.split()[2:7] == ["0.03", "0.1", "0.3", "1", "3"]
    *ratios, cost = map(float, wine.split()[1:])
    assert cost == pytest.approx(ratios[2] / min(ratios), abs=2e-3)
    assert f"median {cost:.3f}, largest {cost:.3f}" in summary
    _, *solvers = of_solvers.splitlines()
    assert [line.split()[0] for line in solvers] == ["lbfgs", "newton-cholesky"]
    for line in solvers:
        _, time, loss = line.split()
        assert float(time) > 0.0
        assert 0.99 < float(loss) < 1.05


def test_data_that_are_not_there(script, capsys, tmp_path):
    missing = tmp_path / "missing"
    assert script.main(["--data-dir", str(missing)]) == 2
    assert capsys.readouterr().err == f"There is no folder {missing}.\n"


@pytest.mark.thorough
def test_data_that_take_too_long(script, capsys, monkeypatch):
    monkeypatch.setattr("quality.MAX_SQUARES", 1)
    assert script.main(["--only", "wine", "--n-jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert "Skipped wine: it would take too long.\n\n" in said
