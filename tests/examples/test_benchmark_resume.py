"""Learning that is killed and resumed."""

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("skops", reason="skops is not installed")


@pytest.mark.thorough
def test_killed_learning(load, capsys):
    script = load("resume")
    options = "--rows", "4000", "--kills", "2", "--chunk-rows", "500"
    assert script.main([*options, "--save-every", "500"]) == 0
    *_, line, equal = capsys.readouterr().out.splitlines()
    assert equal == "The models are equal to the last bit."
    name, rows, whole, kills, killed, _, _, pause = line.split()
    assert (name, rows) == ("scinol", "4,000")
    assert 1 <= int(kills) <= 2
    assert float(killed) > float(whole) > 0.0
    assert float(pause) > 0.0
    assert script.main(["--rows", "0"]) == 2
