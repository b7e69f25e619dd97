"""Advice of messages: the same command works with it."""

import json
import re
from pathlib import Path
from shlex import split

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("skops", reason="skops is not installed")

NEW = "--target y --estimator scinol --n-hashed 64 -q"

#: Options that a message may advise.
OPTION = re.compile(r"--[a-z-]+ [^ ,:]*[^ ,:.]")


#: Good values of a column, a bad one, and what the bad one is not.
VALUES = {
    "number": ([31, 52.5, 47, 28], "forty", "a number|type double"),
    "boolean": ([True, False, True, True], "perhaps", "boolean|bool"),
    "date": (["2026-01-31", "2026-02-01"] * 2, "31.31.2026", "date|timestamp"),
    "time": (["18:00:30", "06:30:00"] * 2, "noon", "time"),
}


def rows_of(kind, bad=()):
    good, wrong, _ = VALUES[kind]
    rows = [{"id": i, "x": good[i % 4], "y": "ab"[i % 2]} for i in range(12)]
    for i in bad:
        rows[i]["x"] = wrong
    return rows


def write(name, rows):
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), name)
        return
    lines = [json.dumps(row) for row in rows]
    if name.endswith(".csv"):
        cells = [[str(value) for value in row.values()] for row in rows]
        lines = [",".join(row) for row in [list(rows[0]), *cells]]
    Path(name).write_text("\n".join(lines) + "\n")


def write_mixed(name, kind):
    """Rows of which the sixth is bad; in Parquet all values are texts."""
    rows = rows_of(kind, bad=[5])
    if name.endswith(".parquet"):
        rows = [row | {"x": str(row["x"])} for row in rows]
    write(name, rows)


ENDINGS = ".csv", ".jsonl", ".parquet"


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", VALUES)
def test_wrong_value_for_a_model(run, works, kind, ending):
    """The message names file, row, column and value, and each advice works."""
    learned, mixed = f"learned{ending}", f"mixed{ending}"
    write(learned, rows_of(kind))
    write_mixed(mixed, kind)
    works(f"learn {learned} {NEW} --kind x={kind} --model m.skops")
    wrong, what = VALUES[kind][1:]
    for argv in (
        f"predict {mixed} --model m.skops",
        f"learn {mixed} --target y --resume m.skops",
        f"learn {mixed} {NEW} --kind x={kind}",
    ):
        status, _, err = run(argv)
        assert status == 1
        assert re.match(f"Row 6 of {mixed} has '{wrong}' in column 'x'.*({what})", err)
        assert err.count("\n") == 1
        advice = OPTION.findall(err.strip())
        assert "--on-bad-row skip" in advice
        assert "--kind x=category" in advice
        assert run(argv, "--on-bad-row skip")[0] == 0
        assert ("learn anew" in err) == ("--kind" not in argv)
        others = [part for each in advice if "skip" not in each for part in split(each)]
        works(f"learn {mixed} {NEW} --model anew.skops", *others)
        works(f"predict {mixed} --model anew.skops")


# Columns that are missing, or new.


@pytest.fixture
def learned(works):
    write("learned.csv", rows_of("number"))
    works(f"learn learned.csv {NEW} --model m.skops")


def without(name, rows):
    return [{key: row[key] for key in row if key != name} for row in rows]


COMMANDS = {
    "predict": "predict --model m.skops",
    "resume": "learn --target y --resume m.skops",
}


@pytest.mark.usefixtures("learned")
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("command", COMMANDS)
def test_columns_that_are_missing_or_new(run, works, command, ending):
    rows = rows_of("number")
    for change, part in (
        ("missing", without("x", rows)),
        ("new", [row | {"z": 1} for row in rows]),
    ):
        file = f"{change}{ending}"
        write(file, part)
        status, _, err = run(COMMANDS[command], file)
        if (change, ending) == ("missing", ".jsonl"):  # objects need not have all
            assert (status, err) == (0, "")
            continue
        assert status == 1
        assert err.count("\n") == 1
        option = f"--{change}-columns"
        assert OPTION.findall(err.strip()) == [f"{option} ignore"]
        works(COMMANDS[command], file, option, "ignore")


@pytest.mark.usefixtures("learned")
def test_a_missing_column_is_predicted_as_missing_values(run, fails):
    rows = rows_of("number")
    write("missing.csv", without("x", rows))
    write("empty.csv", [row | {"x": ""} for row in rows])
    argv = "predict --model m.skops --missing-columns ignore --proba"
    assert run(argv, "missing.csv") == run(argv, "empty.csv")
    fails(argv, "missing.csv --keep x", words="missing.csv has no column 'x' to keep")


@pytest.mark.parametrize("ending", ENDINGS[::2])
def test_later_files_that_differ(fails, works, ending):
    """A new model keeps what `--missing-columns` and the like ask for."""
    rows = rows_of("number")
    write(f"a{ending}", rows)
    write(f"b{ending}", [row | {"z": 1} for row in without("x", rows)])
    argv = f"learn a{ending} b{ending} {NEW}"
    options = "--missing-columns ignore", "--new-columns ignore"
    fails(argv, words=".*".join(["does not have 'x' and also has 'z'", *options]))
    out = works(argv, *options, "--model m.skops")
    assert re.search("^rows +24$", out, re.M)
    out = works(f"predict b{ending} --model m.skops")
    assert len(out.splitlines()) == 13
    works(argv, "--columns id")
