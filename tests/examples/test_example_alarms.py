"""The example of alarms on digits that different people have written."""

import re

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def test_digits(load, tmp_path, capsys):
    assert load("plot_alarms").main(["--output-dir", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    for name in "learned 600 digits", "goes on learning":
        (found,) = re.findall(rf"^{name}: rise at (\d+), since about (\d+)$", out, re.M)
        row, change = map(int, found)
        assert 1400 < change < row < 1700
    assert [path.name for path in tmp_path.iterdir()] == ["alarms_digits.png"]
