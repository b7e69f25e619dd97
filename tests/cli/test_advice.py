"""Advice of messages: the same command works with it."""

import json
import re
import shlex
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("skops", reason="skops is not installed")

SMALL = "--estimator", "scinol", "--n-hashed", "64", "-q"

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
    new = "--target", "y", *SMALL
    kinds = "--kind", f"x={kind}"
    argv = "learn", learned, *new, *kinds, "--model", "m.skops"
    works(*argv)
    wrong, what = VALUES[kind][1:]
    for argv in (
        ["predict", mixed, "--model", "m.skops"],
        ["learn", mixed, "--target", "y", "--resume", "m.skops"],
        ["learn", mixed, *new, *kinds],
    ):
        status, _, err = run(*argv)
        assert status == 1
        assert re.match(f"Row 6 of {mixed} has '{wrong}' in column 'x'.*({what})", err)
        assert err.count("\n") == 1
        advice = OPTION.findall(err.strip())
        assert "--on-bad-row skip" in advice
        assert "--kind x=category" in advice
        assert run(*argv, "--on-bad-row", "skip")[0] == 0
        assert ("learn anew" in err) == (kinds[1] not in argv)
        anew = ["learn", mixed, *new, "--model", "anew.skops"]
        for each in advice:
            if each != "--on-bad-row skip":
                anew += shlex.split(each)
        works(*anew)
        works("predict", mixed, "--model", "anew.skops")


def test_wrong_value_for_a_new_model(run, works):
    write_mixed("mixed.csv", "number")
    argv = "learn", "mixed.csv", "--target", "y", *SMALL, "--column-type", "x=float64"
    status, _, err = run(*argv)
    assert status == 1
    (skip,) = (each for each in OPTION.findall(err.strip()) if "skip" in each)
    works(*argv, *shlex.split(skip))
    argv = argv[:-2]
    (other,) = (each for each in OPTION.findall(err.strip()) if "skip" not in each)
    works(*argv, *shlex.split(other))


# Columns that are missing, or new.


@pytest.fixture
def learned(works):
    write("learned.csv", rows_of("number"))
    argv = "learn", "learned.csv", "--target", "y", *SMALL, "--model", "m.skops"
    works(*argv)


def without(name, rows):
    return [{key: row[key] for key in row if key != name} for row in rows]


COMMANDS = {
    "predict": ["predict", "--model", "m.skops"],
    "resume": ["learn", "--target", "y", "--resume", "m.skops"],
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
        argv = *COMMANDS[command], file
        status, _, err = run(*argv)
        if (change, ending) == ("missing", ".jsonl"):  # objects need not have all
            assert (status, err) == (0, "")
            continue
        assert status == 1
        assert err.count("\n") == 1
        option = f"--{change}-columns"
        assert OPTION.findall(err.strip()) == [f"{option} ignore"]
        works(*argv, option, "ignore")


@pytest.mark.usefixtures("learned")
def test_a_missing_column_is_predicted_as_missing_values(run):
    rows = rows_of("number")
    write("missing.csv", without("x", rows))
    write("empty.csv", [row | {"x": ""} for row in rows])
    argv = "predict", "--model", "m.skops", "--missing-columns", "ignore", "--proba"
    assert run(*argv, "missing.csv") == run(*argv, "empty.csv")
    status, _, err = run(*argv, "missing.csv", "--keep", "x")
    assert (status, err) == (1, "missing.csv has no column 'x' to keep.\n")


@pytest.mark.parametrize("ending", ENDINGS[::2])
def test_later_files_that_differ(fails, works, ending):
    """A new model keeps what `--missing-columns` and the like ask for."""
    rows = rows_of("number")
    write(f"a{ending}", rows)
    write(f"b{ending}", [row | {"z": 1} for row in without("x", rows)])
    argv = "learn", f"a{ending}", f"b{ending}", "--target", "y", *SMALL
    options = "--missing-columns", "ignore", "--new-columns", "ignore"
    words = "it does not have 'x' and also has 'z'"
    fails(*argv, words=".*".join([words, *map(" ".join, (options[:2], options[2:]))]))
    out = works(*argv, *options, "--model", "m.skops")
    assert re.search("^rows +24$", out, re.M)
    out = works("predict", f"b{ending}", "--model", "m.skops")
    assert len(out.splitlines()) == 13
    works(*argv, "--columns", "id")


def test_dropped_and_chosen_columns_are_known(works):
    write("a.csv", rows_of("number"))
    for options in ("--kind", "id=drop"), ("--columns", "x"), ("--key", "x"):
        argv = "learn", "a.csv", "--target", "y", *SMALL, "--model", "m.skops"
        works(*argv, *options)
        for argv in COMMANDS.values():
            works(*argv, "a.csv")
        again = *COMMANDS["resume"], "a.csv", "--model", "m.skops"
        works(*again)
        works(*COMMANDS["predict"], "a.csv")


@pytest.mark.usefixtures("learned")
def test_labels_that_a_model_does_not_take(fails, works):
    argv = "learn", "learned.csv", "--target", "y", *SMALL, "--classes", "a,b"
    works(*argv, "--model", "m.skops")
    rows = rows_of("number")
    rows[3]["y"] = "c"
    write("other.csv", rows)
    argv = "learn", "other.csv", "--target", "y", "--resume", "m.skops"
    fails(*argv, words="or learn anew with --classes")
