"""The benchmark script about outliers."""

from importlib import import_module

import pytest
from support.scripts import EXAMPLES


@pytest.fixture
def outliers(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES / "benchmarks")
    return import_module("outliers")


@pytest.mark.thorough
def test_table(outliers, capsys, monkeypatch):
    wine = {"wine": outliers.DATA_SETS["wine"]}
    monkeypatch.setattr(outliers, "DATA_SETS", wine)
    outliers.main()
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.count("|") == 6
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[1] for row in cells] == ["ScInOLClassifier", "HedgeClassifier"]
    for row in cells:
        damage, clipped, cost = map(float, row[2:])
        assert damage > clipped + 0.1
        assert cost < 1.1
