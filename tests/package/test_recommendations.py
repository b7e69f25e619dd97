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
of_all = pytest.mark.parametrize(
    "ratios", RATIOS.values(), ids=[f"{kind}-{n}" for kind, n in RATIOS]
)


@of_all
def test_mixture_when_in_doubt(ratios):
    """Its loss is the lowest, but for 3 %."""
    lowest = min(loss for loss, _ in ratios.values())
    assert ratios["mixture"][0] <= 1.03 * lowest < 1.03


@of_all
def test_mixture_without_its_slow_parts(ratios):
    """Its loss is below that of linear models, but for 3 %; it takes less time."""
    loss, time = ratios["without slow parts"]
    linear = [ratios[name][0] for name in ("ScInOL", "AdaImplicit", "Newton")]
    assert loss <= 1.03 * min(linear)
    assert time <= 1.1 * ratios["mixture"][1]


@pytest.mark.parametrize("kind", ["sparse", "wide", "many classes", "table"])
def test_scinol_in_place_of_sgd(kind):
    """Where rows have to be cheap, from 1,000 rows on."""
    for ratios in (each for of, each in RATIOS.items() if of == (kind, 1_000)):
        assert ratios["ScInOL"][0] < 1.0
        assert ratios["ScInOL"][1] < ratios["without slow parts"][1]


@pytest.mark.parametrize("kind", ["narrow", "many classes", "regression"])
def test_newton_for_few_features(kind):
    """It has a lower loss than ScInOL."""
    for ratios in (each for (of, _), each in RATIOS.items() if of == kind):
        assert ratios["Newton"][0] < ratios["ScInOL"][0]
