"""Predictions are aligned with the rows that were read, bad ones too."""

import csv
import json
import re
import sys
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pytest
from support.files import WRITERS, pa, write_csv

from sklearn_scinol.persistence import load

pytest.importorskip("skops", reason="skops is not installed")

N_ROWS = 60

#: Size of the blocks of text files that are read.
BLOCK_BYTES = 300

#: Numbers of rows, from 0, in which the number is infinite.
BAD = [0, 1, 17, 29, 30, 59]

SKIP = "--model m.skops --on-bad-row skip"


def table(bad=()):
    random = np.random.default_rng(0)
    length = random.normal(50, 10, N_ROWS).round(3)
    length[[*bad]] = np.inf
    ids = [f"{i:05d}" for i in range(N_ROWS)]
    city = random.choice(["oslo", "rome"], N_ROWS)
    y = np.where(random.normal(50, 10, N_ROWS) > 50, "yes", "no")
    return pa.table({"id": ids, "length": length, "city": city, "y": y})


ENDINGS = ".csv", ".csv.gz", ".parquet", ".arrow", ".jsonl"


@pytest.fixture
def model(works):
    write_csv("learned.csv", table())
    options = "--kind id=drop --estimator scinol --n-hashed 64 --model m.skops -q"
    works(f"learn learned.csv --target y {options}")
    return load("m.skops")


def rows_of(text):
    return list(csv.DictReader(StringIO(text)))


def expected_labels(model, part):
    return model.predict(part.select(["length", "city"])).tolist()


@pytest.mark.parametrize("ending", ENDINGS)
def test_bad_rows_have_empty_predictions(run, model, ending):
    good = table()
    for name, first in (f"a{ending}", 0), (f"b{ending}", 30):
        file = WRITERS[ending](name, table(BAD).slice(first, 30))
        if ending == ".jsonl":
            file.write_text(file.read_text().replace("Infinity", '"forty"'))
    status, out, err = run(
        f"predict a{ending} b{ending} {SKIP} --chunk-rows 8",
        "--keep id --keep length --row-number --reason",
    )
    assert (status, err) == (0, "6 bad rows have no prediction.\n")
    rows = rows_of(out)
    names = ["file", "row", "id", "length", "prediction", "reason"]
    assert [*rows[0]] == names
    assert len(rows) == N_ROWS
    labels = expected_labels(model, good)
    lengths = good["length"].to_pylist()
    for i, row in enumerate(rows):
        assert row["file"] == f"{'ab'[i // 30]}{ending}"
        assert int(row["row"]) == i % 30 + 1
        if i in BAD:
            assert row["prediction"] == ""
            assert "in column 'length'" in row["reason"]
        else:
            assert row["prediction"] == labels[i]
            assert row["reason"] == ""
            assert float(row["length"]) == lengths[i]
        is_known = i not in BAD or ending not in (".parquet", ".arrow")
        assert row["id"] == (f"{i:05d}" if is_known else "")


@pytest.mark.parametrize("options", [["--proba"], []])
def test_all_rows_are_bad(run, model, options):
    Path("a.csv").write_text("length,city\n1\n2\n")
    status, out, err = run(f"predict a.csv {SKIP}", *options)
    assert (status, err) == (0, "2 bad rows have no prediction.\n")
    header, *lines = out.splitlines()
    assert lines == [",".join([""] * len(header.split(","))) or '""'] * 2


def test_probabilities(run, model):
    write_csv("a.csv", table([5]))
    rows = rows_of(run(f"predict a.csv {SKIP} --proba --keep id")[1])
    assert [*rows[0]] == ["id", "no", "yes"]
    assert [*rows[5].values()] == ["00005", "", ""]
    found = [float(row["yes"]) for i, row in enumerate(rows) if i != 5]
    X = table().select(["length", "city"])
    expected = np.delete(model.predict_proba(X)[:, 1], 5)
    np.testing.assert_array_equal(found, expected)


def test_standard_input(run, model, monkeypatch):
    write_csv("a.csv", table())
    argv = "predict --model m.skops --keep id"
    text = Path("a.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text)))
    assert run(argv, "-") == run(argv, "a.csv")
    text = re.sub(b"\n00003,[^,]*", b"\n00003,forty", text)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text)))
    _, out, err = run(argv, "- --on-bad-row warn --row-number --reason")
    assert "Row 4 of standard input has 'forty' in column 'length'" in err
    assert out.splitlines()[4] == (
        "4,00003,,\"has 'forty' in column 'length', which is not a number\""
    )


def test_kept_columns_are_as_in_the_file(run, model):
    """Zeros at the beginning, and more digits than a float has."""
    ids = ["007", "12345678901234567890", "1.50", "2026-01-31", ""]
    rows = [f"{name},{i},oslo" for i, name in enumerate(ids)]
    Path("a.csv").write_text("\n".join(["id,length,city", *rows]))
    argv = "predict --model m.skops --keep id --keep length"
    found = rows_of(run(argv, "a.csv")[1])
    assert [row["id"] for row in found] == ids
    assert [row["length"] for row in found] == [*"01234"]
    big = [12345678901234567, 2, 3]
    rows = [{"id": each, "length": 1.5, "city": "oslo"} for each in big]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = rows_of(run(argv, "a.jsonl")[1])
    assert [int(row["id"]) for row in found] == big


def test_kept_columns_that_are_not_there_or_twice(run, fails, model):
    argv = "predict learned.csv --model m.skops --keep"
    fails(argv, "no", words="learned.csv has no column 'no'")
    fails(argv, "id --keep id", words="--keep id: the output has this column already")


def test_chunks_change_nothing(run, model):
    """Bad rows at the ends of chunks, blocks and files."""
    good = Path("learned.csv").read_text().splitlines()
    random = np.random.default_rng(1)
    lines = [line if random.random() < 0.6 else "1,2" for line in good[1:]]
    for name, part in ("a.csv", lines[:23]), ("b.csv", lines[23:]):
        Path(name).write_text("\n".join([good[0], *part]))
    argv = f"predict a.csv b.csv {SKIP} --keep id --chunk-rows"
    outs = [run(argv, n)[1] for n in (1, 2, 3, 7, 99)]
    assert {*outs} == {outs[0]}
    rows, labels = rows_of(outs[0]), expected_labels(model, table())
    assert [row["prediction"] for row in rows] == [
        "" if line == "1,2" else label
        for line, label in zip(lines, labels, strict=True)
    ]


def test_models_of_wide_tables(fails, works, model, monkeypatch):
    """They take more memory than Python allows for files of anybody."""
    for name in "MIN_LIMIT", "MAX_RATIO":
        monkeypatch.setattr(f"sklearn_scinol.persistence.{name}", 1)
    argv = "predict learned.csv --model m.skops"
    works(argv)
    monkeypatch.setattr("sklearn_scinol.cli.common.MAX_BYTES", 1)
    fails(argv, words=r"load it in Python with `max_bytes=\d+` if you trust")
