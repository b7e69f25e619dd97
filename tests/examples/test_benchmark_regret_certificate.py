"""The example of regret beside its bound: bundled data, and what can be wrong."""

import re

import numpy as np
import pytest
from support.scripts import (
    assert_says_that_nothing_is_there,
    caller,
    write_data_sets,
)

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def run(load, tmp_path, capsys, monkeypatch):
    """Call it with some options and fewer radii; its status, stdout and stderr."""
    example = load("regret_certificate")
    monkeypatch.setattr(example, "RADII", (1.0,))
    return caller(example, capsys, "--output-dir", tmp_path / "figures")


def test_bundled_data(run, tmp_path):
    status, out, err = run("--only", "wine", "--max-rows", 60)
    assert (status, err) == (0, "")
    assert out.startswith("wine: 60 rows")
    assert "All 4 certificates hold" in out
    lines = re.findall(r"^ +(1|none)  ScInOL[12] +(.*)$", out, re.M)
    assert len(lines) == 4
    for _, numbers in lines:
        loss, best, regret, bound = np.array(
            [float(number.replace(",", "")) for number in numbers.split()]
        )
        assert regret == pytest.approx(loss - best, abs=0.11)
        assert regret < bound
    assert [p.name for p in (tmp_path / "figures").iterdir()] == [
        "regret_certificate.png"
    ]


def test_bad_folder(run, tmp_path):
    folder = write_data_sets(tmp_path / "data", 30, 30)
    assert_says_that_nothing_is_there(run, folder, tmp_path / "missing")
