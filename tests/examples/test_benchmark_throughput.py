"""Times beside SGD's: the table, and what it is compared with."""

import csv
from pathlib import Path

import numpy as np
import pytest
from support.scripts import caller

from sklearn_scinol import ScInOLClassifier

NAMES = ["one", "two"]


@pytest.fixture
def throughput(load):
    return load("throughput")


@pytest.fixture
def example(throughput, monkeypatch):
    """The script, with two learners and a few rows."""
    module = throughput
    rows = [("few rows", ("numpy",), lambda rng, k: module.dense(rng, 20, 3))]
    monkeypatch.setattr(module, "CASES", rows)
    learner = ScInOLClassifier(center=False)
    learners = [(name, learner, module.sgd("log_loss")) for name in NAMES]
    monkeypatch.setattr(module, "LEARNERS", learners)
    return module


@pytest.fixture
def run(example, capsys):
    return caller(example, capsys, "--engine", "numpy", "--repeats", 1)


def test_table(run, tmp_path):
    file = tmp_path / "new" / "table.csv"
    status, out, err = run("--output", str(file))
    assert (status, err) == (0, "")
    with file.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    shown = [line.rsplit(maxsplit=5) for line in out.splitlines()[1:]]
    assert [row["learner"] for row in rows] == NAMES
    for row, (_, *numbers) in zip(rows, shown, strict=True):
        assert (row["rows"], row["engine"]) == ("few rows", "numpy")
        written = [float(row[name]) for name in ("µs", "/ SGD", "/ fastest")]
        ours, sgd, fastest, *ratios = map(float, numbers)
        np.testing.assert_allclose(written, [ours, *ratios], rtol=0.01, atol=0.01)
        expected = [ours / sgd, ours / fastest]
        np.testing.assert_allclose(ratios, expected, rtol=0.01, atol=0.01)


@pytest.mark.parametrize(
    ("ratios", "worse"),
    [
        # Those of the first learner, and of the second; the stored ones are 2 and 4.
        ([(2.29, 9), (1, 1)], []),
        ([(9, 4.59), (1, 9)], []),
        ([(2.31, 4.61), (2.31, 4.59), (1, 1)], []),
        ([(2.31, 4.61), (2.5, 4.7), (1, 1)], ["one", "2.50", "4.70"]),
        ([(2, 4), (9, 9), (8, 7)], ["two", "8.00", "7.00"]),
    ],
)
def test_guard(example, run, tmp_path, monkeypatch, ratios, worse):
    """What seems slower is timed again, and listed if it is so once more."""
    table = tmp_path / "table.csv"
    lines = ["rows,learner,engine,/ SGD,/ fastest"]
    lines += [f"{rows},{k},numpy,2,4" for rows in ("few rows", "others") for k in NAMES]
    table.write_text("\n".join(lines))
    left = iter(ratios)
    monkeypatch.setattr(
        example, "measure", lambda *_: example.Measured(1, 1, 1, *next(left))
    )
    status, out, err = run("--baseline", str(table))
    assert (status, err, list(left)) == (int(bool(worse)), "", [])
    _, _, said = out.partition(f"Compared 2 learners with {table}.\n")
    if worse:
        learner, ratio, to_fastest = worse
        assert said == (
            "Worse by more than 15.0%:\n"
            f"{learner} on few rows, numpy: {ratio} of SGD's time and {to_fastest} "
            "of its least, instead of 2.00 and 4.00\n"
        )
    else:
        assert said == "None is worse by more than 15.0%.\n"


def test_stored_table(throughput):
    """It has all learners that are compared with SGD, compiled, and all rows."""
    stored = throughput.read(Path(throughput.__file__).with_name("throughput.csv"))
    with_sgd = {
        label
        for label, _, competitors in throughput.LEARNERS
        if competitors is not throughput.ONE_JOB
    }
    assert {key[0] for key in stored} == {label for label, *_ in throughput.CASES}
    assert {key[1] for key in stored} == with_sgd
    assert {key[2] for key in stored} == {"numba"}
    assert all(ratio > 0 for ratios in stored.values() for ratio in ratios)
