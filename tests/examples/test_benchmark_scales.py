"""The benchmark script about scales of features."""

from importlib import import_module

import pytest
from support.scripts import EXAMPLES


@pytest.fixture
def scales(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES / "benchmarks")
    return import_module("scales")


@pytest.mark.thorough
def test_table(scales, capsys):
    scales.main()
    head, _, *rows = capsys.readouterr().out.splitlines()
    names = [cell.strip() for cell in head.strip("|").split("|")]
    assert names == ["scale", "ScInOL", "SGD", "StandardScaler, SGD"]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[0] for row in cells] == list(scales.SCALES)
    (ours,) = {row[1] for row in cells}
    assert float(ours) > 0.94
    assert cells[-1][2:] == ["refused", "refused"]
    assert float(cells[3][3]) > 0.9 > float(cells[3][2])
