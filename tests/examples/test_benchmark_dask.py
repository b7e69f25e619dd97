"""The benchmark script about partitions on workers."""

from importlib import import_module

import pytest
from support.scripts import EXAMPLES

pytest.importorskip("dask.array", reason="dask is not installed")
pytest.importorskip("distributed", reason="distributed is not installed")


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES / "benchmarks")
    module = import_module("dask_partitions")
    monkeypatch.setattr(module, "WIDE", 1000)
    return module


def numbers(text):
    return [float(word.strip("%").replace(",", "")) for word in text.split()]


@pytest.mark.thorough
def test_tables(script, capsys):
    options = {"--partitions": "2", "--rows": "1500", "--repeats": "1"}
    script.main([*sum(options.items(), ()), "--only", "scinol"])
    out, err = capsys.readouterr()
    assert err == ""
    _, rates, costs, task, _, outlook = (
        part.splitlines() for part in out.split("\n\n")
    )
    assert len(rates) == 2
    here, there, overhead, merged, ratio = numbers(rates[1].removeprefix("ScInOL"))
    # Of one repetition all are from the same seconds.
    assert overhead / 100 == pytest.approx(here / there - 1, abs=1e-3)
    assert ratio == pytest.approx(merged / there, abs=0.01)
    found = {row[:24].strip(): numbers(row[24:]) for row in costs[1:]}
    assert [*found] == ["ScInOL, 54", "ScInOL, 1,000"]
    assert 1000 < found["ScInOL, 54"][0] < found["ScInOL, 1,000"][0]
    assert all(value >= 0 for row in found.values() for value in row)
    assert float(task[0].removeprefix("task ")) > 0
    in_order, shards, _ = numbers(outlook[1].removeprefix("ScInOL"))
    assert in_order == pytest.approx(1e12 / here / 86400, rel=0.1)
    assert shards == pytest.approx(1e9 / here / 60, rel=0.1)
