"""The benchmark script about reading files."""

from importlib import import_module

import pytest
from support.scripts import EXAMPLES


@pytest.fixture
def reading(monkeypatch):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    monkeypatch.syspath_prepend(EXAMPLES / "benchmarks")
    return import_module("reading")


@pytest.mark.thorough
def test_table(reading, capsys):
    reading.main(["--rows", "3000", "--repeats", "2"])
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["csv", "parquet", "feather"]
    for row in rows:
        assert all(float(ratio) > 0 for ratio in row.split()[-2:])
