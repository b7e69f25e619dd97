"""Recommendations of `which_estimator.md` agree with what `which.py` measured."""

import json
import re
from math import inf

import pytest
from support import ROOT

MEASURED = ROOT / "doc" / "measured" / "which.json"


def measured():
    """Ratios of loss and of time to SGD's, by kind of data and rows, and estimator."""
    lines = json.loads(MEASURED.read_text(encoding="utf-8"))["printed"]
    first = next(k for k, line in enumerate(lines) if line.startswith("kind "))
    header, _, *lines = lines[first:]
    names, found = re.split("  +", header)[3:], {}
    for line in lines:
        kind, size, _, *cells = re.split("  +", line)
        pairs = [re.findall(r"[\d.]+", cell) or (inf, inf) for cell in cells]
        ratios = {
            name: (float(loss), float(time))
            for name, (loss, time) in zip(names, pairs, strict=True)
        }
        found[kind, int(size.replace(",", ""))] = ratios
    return found


RATIOS = measured()


@pytest.mark.parametrize("data", RATIOS, ids=str)
def test_mixture_when_in_doubt(data):
    """Its loss is the lowest, but for 3 %."""
    lowest = min(loss for loss, _ in RATIOS[data].values())
    assert RATIOS[data]["mixture"][0] <= 1.03 * lowest < 1.03


@pytest.mark.parametrize("data", RATIOS, ids=str)
def test_others(data):
    """Mixtures without slow parts, ScInOL in place of SGD, Newton for few features."""
    ratios, (kind, n_rows) = RATIOS[data], data
    loss, time = ratios["without slow parts"]
    linear = [ratios[name][0] for name in ("ScInOL", "AdaImplicit", "Newton")]
    assert loss <= 1.03 * min(linear)
    assert time <= 1.1 * ratios["mixture"][1]
    if kind in ("sparse", "wide", "many classes", "table") and n_rows == 1_000:
        assert ratios["ScInOL"][0] < 1.0
        assert ratios["ScInOL"][1] < time
    if kind in ("narrow", "many classes", "regression"):
        assert ratios["Newton"][0] < ratios["ScInOL"][0]
