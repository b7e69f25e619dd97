"""The command line: what it learns and prints, and a sentence for all that is wrong."""

import csv
import gzip
import json
import logging
import os
import re
import signal
import subprocess
import sys
import warnings
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss, mean_absolute_error, r2_score
from support.corrupt_files import ENCODINGS, WHOLE, mutilated

import sklearn_scinol
from sklearn_scinol import (
    OnlineConformalRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.cli import COMMANDS, compile, learn, main
from sklearn_scinol.compiling import UNSAVED
from sklearn_scinol.evaluation import LossMonitor, progressive, progressive_validation
from sklearn_scinol.persistence import load, save
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineScaler, TableEncoder
from sklearn_scinol.streams import read_table
from sklearn_scinol.tables.kinds import KINDS

pa_csv = pytest.importorskip("pyarrow.csv", reason="pyarrow is not installed")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("skops", reason="skops is not installed")

N_ROWS = 300

#: Files that are damaged at random.
N_MUTILATED = int(os.environ.get("MUTILATED_FILES", 10))


@pytest.fixture(autouse=True)
def no_progress_bar(monkeypatch):
    """Print the same on a slow machine, where a bar would appear."""
    monkeypatch.setattr(progressive, "_progress_bar", lambda progress: nullcontext())


def write(name="data.csv", rows=slice(None), late_class=None):
    """Numbers, categories and gaps, a class, an amount and a weight."""
    random = np.random.default_rng(0)
    lines = []
    for row in range(N_ROWS):
        length, city = random.normal(50, 10), random.choice(["oslo", "rome", ""])
        label = "yes" if length + 20 * (city == "oslo") > 55 else "no"
        shown = "" if row == 7 else f"{length:.3f}"
        zip_code = f"{random.integers(5):05d}"
        amount = length / 10 + random.normal()
        lines.append(f"{shown},{city},{zip_code},{label},{amount:.3f},{row % 3}")
    if late_class is not None:
        lines[-1] = lines[-1].replace("yes", late_class).replace("no", late_class)
    text = "\n".join(["length,city,zip,y,amount,w", *lines[rows]]) + "\n"
    Path(name).write_text(text, encoding="utf-8")
    return name


SMALL = "--estimator", "scinol", "--n-hashed", "64"
CLASSES = "--target", "y", *SMALL, "--kind", "amount=drop"
AMOUNTS = "--target", "amount", *SMALL, "--kind", "y=drop"

TABLE_LINE = re.compile(
    r" +(?P<average>[\d.e-]+) +(?P<since>[\d.e-]+) +(?P<rows>[\d,]+)"
    r" +(?P<label>\S+) +(?P<prediction>\S+) +(?P<features>\d+)"
)


def table_in(out):
    return [
        found.groupdict() for found in map(TABLE_LINE.match, out.split("\n")) if found
    ]


def score_in(out, name):
    return float(re.search(rf"^{name} +([\d.,e+-]+)$", out, re.M)[1].replace(",", ""))


def validate(model, stream, metrics=None):
    return progressive_validation(model, stream, metrics=metrics, progress=False)


# Learning.


@pytest.mark.parametrize("options", [(), ("--weight", "w")], ids=["", "weights"])
def test_table_and_scores_are_those_of_progressive_validation(works, options):
    model = make_online_pipeline(
        TableEncoder(kinds={"amount": "drop"}), ScInOLClassifier()
    )
    stream = read_table(write(), target="y", sample_weight=[*options, None, None][1])
    result = validate(model, stream)
    out = works("learn", "data.csv", *CLASSES, "--chunk-rows", 40, *options)
    ((X, y, *c),) = stream
    c = c[0] if c else np.ones(N_ROWS)
    (counted,) = c.nonzero()  # rows that weigh nothing do not count
    lines, n = table_in(out), counted.size
    points = [*(2**k for k in range(9) if 2**k < n), n]
    assert [int(line["rows"]) for line in lines] == points
    for line in lines:
        rows = int(line["rows"])
        if rows in result.n_samples:
            (place,) = np.flatnonzero(result.n_samples == rows)
            expected = -result.curves["neg_log_loss"][place]
            assert float(line["average"]) == pytest.approx(expected, rel=1e-5)
    last = counted[np.array(points) - 1]
    weights = c.cumsum()[last]
    losses = np.array([float(line["average"]) for line in lines]) * weights
    since = np.diff(losses, prepend=0.0) / np.diff(weights, prepend=0)
    for line, expected in zip(lines, since, strict=True):
        assert float(line["since"]) == pytest.approx(expected, rel=1e-3)
    assert [line["label"] for line in lines] == y[last].tolist()
    row = model[:-1].transform(X.slice(last[-1], 1))
    assert int(lines[-1]["features"]) == row.nnz
    assert score_in(out, "rows") == result.n_samples[-1] == n
    for name, metric in ("log loss", "neg_log_loss"), ("accuracy", "accuracy"):
        expected = abs(result.scores[metric])
        assert score_in(out, name) == pytest.approx(expected, rel=1e-5)
    assert score_in(out, "rows learned per second") > 0
    quiet = works("learn", "data.csv", *CLASSES, *options, "--quiet")
    assert not table_in(quiet)
    assert score_in(quiet, "log loss") == score_in(out, "log loss")


def test_regression(works, fails):
    stream = read_table(write(), target="amount", columns=["length", "city", "zip"])
    model = make_online_pipeline(TableEncoder(), ScInOLRegressor())
    ((X, y),) = stream
    said = model.partial_fit_predict(X, y)
    options = "--kind", "w=drop", "--model", "m.skops"
    out = works("learn", "data.csv", *AMOUNTS, *options)
    absolute_error = score_in(out, "absolute error")
    assert absolute_error == pytest.approx(mean_absolute_error(y, said), rel=1e-5)
    assert score_in(out, "R2") == pytest.approx(r2_score(y, said), rel=1e-4)
    last = table_in(out)[-1]
    assert float(last["label"]) == pytest.approx(y[-1], rel=1e-5)
    assert float(last["prediction"]) == pytest.approx(said[-1], rel=1e-5)
    predict = "predict", "data.csv", "--model", "m.skops", "--proba"
    fails(*predict, words="has no probabilities")


def as_int(text):
    return int(text.replace(",", ""))


def write_changing():
    """Labels that are those of a rule for 1,000 rows, and then are at random."""
    random = np.random.default_rng(0)
    x = random.normal(size=1500)
    rule = x + 0.3 * random.normal(size=1500) > 0
    y = np.where(np.arange(1500) < 1000, rule, random.random(1500) < 0.5)
    lines = [f"{a:.3f},{b}" for a, b in zip(x, y, strict=True)]
    Path("changing.csv").write_text("\n".join(["x,y", *lines]))


@pytest.mark.thorough
def test_alarms(run, works):
    write_changing()
    model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    result = progressive_validation(
        model, read_table("changing.csv", target="y"), monitor=LossMonitor(1e-3)
    )
    alarms = [each for each in result.alarms if each.direction == "rise"]
    assert 1000 < alarms[0].row < 1100
    argv = "learn", "changing.csv", "--target", "y", *SMALL
    out = works(*argv, "--chunk-rows", 200, "--alarms", "0.001")
    assert score_in(out, "alarms") == len(result.alarms)
    past = {"rise": "risen", "fall": "fallen"}
    for each in result.alarms:
        line = (
            f"row {each.row:,}: losses have {past[each.direction]} since about "
            f"row {each.change:,}\n"
        )
        before, _, after = out.partition(line)
        assert after  # between the lines of the table for the rows around it
        assert as_int(table_in(before)[-1]["rows"]) < each.row
        assert as_int(table_in(after)[0]["rows"]) >= each.row
    _, quiet, _ = run(*argv, "--alarms", "0.001", "--quiet")
    assert "losses" not in quiet
    assert score_in(quiet, "alarms") == len(result.alarms)
    _, by_default, _ = run(*argv, "--quiet", "--alarms")
    assert 0 < score_in(by_default, "alarms") <= len(result.alarms)


def test_test_file(works):
    write("train.csv", slice(0, 200)), write("test.csv", slice(200, None))
    out = works(
        *("learn", "train.csv", *CLASSES, "--model", "m.skops"),
        *("--test-file", "test.csv", "--chunk-rows", "30"),
    )
    _, of_test = out.split("\ntest.csv, not learned:\n")
    model = load("m.skops")
    ((X, y),) = read_table("test.csv", target="y")
    X = X.select(list(model[0].kinds_))
    probabilities = model.predict_proba(X)
    assert score_in(of_test, "rows") == 100
    expected = log_loss(y, probabilities, labels=model.classes_)
    assert score_in(of_test, "log loss") == pytest.approx(expected, rel=1e-5)
    expected = np.mean(model.predict(X) == y)
    assert score_in(of_test, "accuracy") == pytest.approx(expected)


@pytest.mark.cases(20)
@pytest.mark.parametrize(
    ("label_of", "task"),
    [
        (lambda k: "ab"[k % 2], "classes"),
        (lambda k: f"{k % 2}.0", "classes"),
        (lambda k: ["true", "false"][k % 2], "classes"),
        (lambda k: k % 20, "classes"),
        (lambda k: k % 21, "amounts"),
        (lambda k: 0.5 + k % 2, "amounts"),
        (lambda k: k % 2 * 123456789012345678, "classes"),
        (lambda k: k % 2 * 12345678901234567890, "amounts"),
        (lambda k: f"city {k % 21}", "classes"),
        (lambda k: f"id{k}", "identifiers, most of which come once, such as 'id0'"),
        (lambda k: f"{1 + k % 28:02d}.{1 + k % 12}.1999", "dates, such as '01.1.1999'"),
        (lambda k: f"2024-1-{1 + k % 31:02d} noon", "dates, such as '2024-1-01 noon'"),
        (lambda k: f'"{k},50 €"', "numbers, such as '0,50 €'"),
        (lambda k: f"{k}%", "numbers, such as '0%'"),
    ],
)
def test_what_targets_are(works, fails, label_of, task):
    rows = [f"{row},{label_of(row)}" for row in range(60)]
    Path("data.csv").write_text("\n".join(["x,y", *rows]), encoding="utf-8")
    argv = "learn", "data.csv", "--target", "y", *SMALL, "--quiet"
    if task in ("classes", "amounts"):
        assert ("accuracy" in works(*argv)) == (task == "classes")
        return
    fails(*argv, words=f"The target 'y' looks like {task}, .*--task classification")
    works(*argv, "--task", "classification")


def test_amounts_may_have_fractions_later(works):
    wide = 1000 * "-"  # so that the last row is beyond the first megabyte
    rows = [f"{wide},{row},{row}" for row in range(1500)] + ["-,7,0.5"]
    Path("data.csv").write_text("\n".join(["wide,x,y", *rows]))
    options = "--target", "y", *SMALL, "--quiet"
    out = works("learn", "data.csv", *options)
    assert score_in(out, "rows") == 1501


@pytest.mark.cases(1)
@pytest.mark.parametrize("family", learn.FAMILIES)
def test_families(works, family):
    write(rows=slice(0, 5))
    options = () if family == "newton" else ("--n-hashed", 8)  # it needs few columns
    for target in "y", "amount":
        works(
            *("learn", "data.csv", "--target", target, "--estimator", family),
            *(*options, "--model", "m.skops"),
        )
        works("inspect", "m.skops")
        kind = "Classifier" if target == "y" else "Regressor"
        expected = f"{learn.FAMILIES[family]}{kind}"
        assert type(load("m.skops")[-1]).__name__ == expected


def test_kinds_and_interactions(run):
    write()
    status, *_ = run(
        *("learn", "data.csv", *CLASSES, "--kind", "zip=category", "--kind", "w=drop"),
        *("--interactions", "city,zip", "--n-hashed", "1024", "--model", "m.skops"),
    )
    assert status == 0
    encoder = load("m.skops")[0]
    kinds = {"length": "number", "city": "category", "zip": "category"}
    assert encoder.kinds_ == kinds
    # Leading zeros are there, which those of numbers are not.
    assert sorted(encoder.categories_["zip"]) == [f"0000{k}" for k in range(5)]
    assert encoder.interactions == [["city", "zip"]]
    names = " ".join(encoder.get_feature_names_out())
    assert re.search("city=oslo & zip=0000[0-4]", names)


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        (["--key", "city", "--key", "city,hour"], [("city",), ("city", "hour")]),
        (["--key", "zip,city", "--delay", "1h"], [("zip", "city")]),
    ],
)
def test_history(works, options, keys):
    """A saved model goes on, and predicts by what it has seen of the keys."""
    header, *lines = Path(write()).read_text().splitlines()
    start, step = datetime(2026, 1, 1), timedelta(minutes=7)
    lines = [f"{line},{start + i * step}" for i, line in enumerate(lines)]
    for name, part in ("data", lines), ("first", lines[:99]), ("rest", lines[99:]):
        Path(f"{name}.csv").write_text("\n".join([f"{header},at", *part]))
    kinds = "--kind", "zip=category", "--kind", "w=drop"
    argv = "learn", *CLASSES, *kinds, *options, "--time", "at"
    works(*argv, "data.csv", "--model", "whole.skops")
    works(*argv, "first.csv", "--model", "m.skops")
    on = "learn", "--target", "y", "--resume", "m.skops", "--model", "m.skops"
    on += ("--delay", "1h", "--time", "at") if "--delay" in options else ()
    works(*on, "rest.csv")
    model, whole = load("m.skops"), load("whole.skops")
    assert (model[0].keys_, model[0].values_) == (keys, ["length"])
    assert model.n_samples_seen_ == N_ROWS
    if "--delay" not in options:  # rows wait no longer than a file
        assert_allclose(model.cumulative_loss_, whole.cumulative_loss_, rtol=1e-12)
    assert "city_target_mean_8" in works("inspect", "m.skops", "--top", "999")
    works("predict", "rest.csv", "--model", "m.skops", "--output", "p.csv")
    columns, types = ["length", "city", "zip", "at"], {"zip": "string"}
    ((X, _),) = read_table("rest.csv", target="y", columns=columns, column_types=types)
    with Path("p.csv").open() as file:
        assert [row["prediction"] for row in csv.DictReader(file)] == [
            *model.predict(X)
        ]


def test_declared_numbers_make_rows_bad_that_have_none(run, fails, works):
    Path("data.csv").write_text("x,y\n" + "1,a\n2,b\n" * 5 + "?,a\n")
    options = "learn", "data.csv", "--target", "y", *SMALL, "-q"
    fails(*options, "--kind", "x=number", words=r"Row 11 .* has '\?' in column 'x'")
    out = works(*options, "--kind", "x=number", "--on-bad-row", "skip")
    assert score_in(out, "bad rows left out") == 1
    assert score_in(out, "rows") == 10
    status, _, err = run(*options, "--kind", "x=number", "--on-bad-row", "warn")
    assert status == 0
    assert err.startswith("Row 11 of data.csv has '?' in column 'x'")
    assert err.count("\n") == 1
    works(*options, "--null-value", "?")


@pytest.mark.cases(1)
@pytest.mark.parametrize("kind", KINDS)
def test_chunks_without_a_value(run, works, kind):
    """A column may be missing throughout, at first or in a whole file."""
    value = {
        "number": 1.5,
        "boolean": True,
        "date": "2024-01-31",
        "time": "09:30:00",
    }.get(kind, "a b c")
    values = [None] * 20 + [value] * 20
    rows = [{"c": c, "x": i, "y": i % 2} for i, c in enumerate(values)]
    for ending, empty in (".csv", "c,x\n,1\n"), (".jsonl", '{"x": 1}\n'):
        if ending == ".csv":
            cells = ["" if c is None else str(c).lower() for c in values]
            lines = [f"{c},{i},{i % 2}" for i, c in enumerate(cells)]
            Path("rows.csv").write_text("\n".join(["c,x,y", *lines]))
        else:
            lines = [
                json.dumps({k: v for k, v in r.items() if v is not None}) for r in rows
            ]
            Path("rows.jsonl").write_text("\n".join(lines))
        file, options = f"rows{ending}", ("--chunk-rows", 5, "--model", "m.skops")
        learn = "learn", file, "--target", "y", *SMALL
        works(*learn, "--kind", f"c={kind}", *options)
        status, out, err = run("predict", file, *options)
        assert (status, out.count("\n"), err) == (0, 41, "")
        Path(f"empty{ending}").write_text(empty)
        works("predict", f"empty{ending}", "--model", "m.skops")


@pytest.mark.parametrize("options", [(), ("--kind", "c=time")])
def test_times_of_the_day(run, works, options, monkeypatch):
    """Whether the kind is found or declared; fractions come after the first block."""
    monkeypatch.setattr("sklearn_scinol.streams.text.BLOCK_BYTES", 1000)
    times = [f"{i % 24:02}:{i % 60:02}:30" for i in range(200)]
    rows = [f"{c},{int(c < '12')}" for c in [*times, *(f"{t}.250" for t in times)]]
    Path("rows.csv").write_text("\n".join(["c,y", *rows]))
    learn = "learn", "rows.csv", "--target", "y", *options, "--chunk-rows", "50"
    works(*learn, "--model", "m.skops", *SMALL)
    assert "times of the day" in run("inspect", "m.skops")[1]
    out = works("predict", "rows.csv", "--model", "m.skops")
    read = [line.split(",")[0] for line in out.splitlines()[1:]]
    expected = [row.split(",")[1] for row in rows]
    assert np.mean([a == b for a, b in zip(read, expected, strict=True)]) > 0.9


@pytest.mark.parametrize(
    ("name", "content", "words", "remedy"),
    [
        (
            "a.csv",
            "x,y,,\n1,0,,\n2,1,,\n",
            "without a name: pass --columns",
            "--columns=x",
        ),
        ("b.csv", "x,y\n0x10,0\n2,1\n", "column-type x=s", "--column-type=x=string"),
        ("d.csv", 'x,y\n"a,0\n2,1\n', "Row 1 .* pass --on-bad", "--on-bad-row=skip"),
        ("e.csv", "x,y\né,0\n2,1\n".encode("utf-16"), "'utf-16'", "--encoding=utf-16"),
        ("f.jsonl", '{"x": [1], "z": 1, "y": 0}', "--kind x=drop", "--kind=x=drop"),
        ("g.json", '[{"x": 1, "y": 0}]', "jq -c '.\\[\\]'", None),
    ],
)
def test_remedies_for_files(works, fails, name, content, words, remedy):
    content = content if isinstance(content, bytes) else content.encode()
    Path(name).write_bytes(content)
    command = "learn", name, "--target", "y", *SMALL
    fails(*command, words=words)
    if remedy is not None:
        works(*command, remedy)


def test_classes(run):
    write(late_class="maybe")
    options = "learn", "data.csv", *CLASSES, "--chunk-rows", "50", "-q"
    status, *_ = run(*options, "--classes", "no,yes,maybe", "--model", "m.skops")
    assert status == 0
    assert load("m.skops").classes_.tolist() == ["maybe", "no", "yes"]


# Labels that come late.


def write_times(name="times.csv"):
    """Three rows a day, with the times at which their labels were known."""
    rows = Path(write(name)).read_text("utf-8").splitlines()
    start = np.datetime64("2026-01-05T08:00")
    lines = [rows[0] + ",when,known"]
    for i, row in enumerate(rows[1:]):
        when = start + np.timedelta64(8 * i, "h")
        known = "" if i % 50 == 49 else when + np.timedelta64(24 + i % 7, "h")
        lines.append(f"{row},{when},{known}")
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name


@pytest.mark.parametrize(
    "given",
    [{"delay": 7}, {"delay": "2d", "time": "when"}, {"label_time": "known"}],
    ids=str,
)
def test_late_labels(works, given):
    """Scores and model are those of progressive validation."""
    write_times()
    if "label_time" in given:
        given, dropped = {"time": "when", **given}, []
    else:
        dropped = ["--kind", "known=drop"]
    options = [
        part
        for name, value in given.items()
        for part in (f"--{name.replace('_', '-')}", value)
    ]
    classes = *CLASSES, "--chunk-rows", 40, *dropped
    out = works("learn", "times.csv", *classes, *options, "-q", "--model", "m.skops")
    stream = read_table(
        "times.csv", target="y", chunk_rows=40, column_types={"amount": "string"}
    )
    encoder = TableEncoder(
        n_hashed=64,
        kinds={"amount": "drop"} | ({"known": "drop"} if dropped else {}),
        missing_columns="ignore",
        new_columns="ignore",
    )
    model = make_online_pipeline(encoder, ScInOLClassifier())
    classes = ["no", "yes"]
    result = progressive_validation(model, stream, classes=classes, **given)
    assert f"{-result.scores['neg_log_loss']:.6g}" in out
    n_rows = N_ROWS - (6 if "label_time" in given else 0)
    assert load("m.skops").n_samples_seen_ == model.n_samples_seen_ == n_rows
    assert "known" not in load("m.skops")[0].kinds_ or dropped
    more = "--resume", "m.skops", "--target", "y", *options, "--test-file", "times.csv"
    assert "average" in works("learn", "times.csv", *more)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--delay", "2d"], "--delay 2d needs --time, the column"),
        (["--time", "when"], "With --time, pass either --delay or --label-time: "),
        (["--delay", "soon", "--time", "when"], "number with one of the units"),
        (["--label-time", "known"], "--label-time needs --time, the column"),
    ],
)
def test_bad_delays(run, options, words):
    write_times()
    status, _, err = run("learn", "times.csv", *CLASSES, *options)
    assert status == 2
    assert words in err


def test_resume_of_a_model_without_encoder(works):
    write()
    columns = ["length", "w"]
    stream = read_table("data.csv", target="amount", columns=columns)
    ((X, y),) = stream
    X = X.to_pandas().fillna(0.0)
    save(ScInOLRegressor().partial_fit(X, y), "m.skops")
    Path("more.csv").write_text("w,length,amount\n1,50,4\n2,60,6\n")
    out = works(
        *("learn", "more.csv", "--target", "amount", "--resume", "m.skops"),
        *("--model", "n.skops"),
    )
    assert table_in(out)[-1]["features"] == "2"
    assert load("n.skops").n_samples_seen_ == N_ROWS + 2


# Predicting.


@pytest.fixture
def model(works):
    """A model that was learned from `data.csv`."""
    write()
    works("learn", "data.csv", *CLASSES, "--model", "m.skops")
    return load("m.skops")


@pytest.mark.slow
def test_predict(run, works, model):
    (X,) = read_table("data.csv", columns=list(model[0].kinds_))
    out = works("predict", "data.csv", "--model", "m.skops")
    header, *said = out.splitlines()
    assert header == "prediction"
    assert said == model.predict(X).tolist()
    proba = works("predict", "data.csv", "--model", "m.skops", "--proba")
    header, *said = csv.reader(StringIO(proba))
    assert header == ["no", "yes"]
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(np.array(said, dtype=float), expected)
    # Neither the target nor the size of chunks matters, nor where it is written.
    bare = X.select(["w", "zip", "city", "length"])
    pa_csv.write_csv(bare, "bare.csv")
    options = "predict", "bare.csv", "--model", "m.skops", "--chunk-rows", 7
    assert run(*options) == (0, out, "")
    assert run(*options, "--output", "said.csv")[::2] == (0, "")
    assert Path("said.csv").read_text() == out
    assert run(*options, "--output", "/dev/null")[::2] == (0, "")
    assert not Path("/dev/null").is_file()


@pytest.mark.slow
def test_cells_that_are_formulas(run, works):
    labels = "=cmd|' /C calc'!A0", "-1.5", "+", "plain"
    rows = [f"{row % 4},{labels[row % 4]},=1+{row}" for row in range(40)]
    Path("data.csv").write_text("\n".join(["=x,y,id", *rows]))
    options = "--target", "y", *SMALL, "--model", "m.skops", "--kind", "id=drop"
    works("learn", "data.csv", *options)
    for argv, formula in (
        (("predict", "data.csv", "--model", "m.skops"), labels[0]),
        (("predict", "data.csv", "--model", "m.skops", "--proba"), labels[0]),
        (("predict", "data.csv", "--model", "m.skops", "--keep", "id"), "=1+0"),
        (("inspect", "m.skops"), "=x=2"),
    ):
        status, _, err = run(*argv, "--output", "plain.csv")
        assert status == 0
        assert err == (
            f"Spreadsheets take {formula!r} for a formula: import the column as text, "
            "or pass --escape-formulas.\n"
        )
        argv = *argv, "--output", "escaped.csv", "--escape-formulas"
        works(*argv)
        plain, escaped = (
            list(csv.reader(StringIO(Path(name).read_text())))
            for name in ("plain.csv", "escaped.csv")
        )
        cells = [cell for row in plain for cell in row]
        assert formula in cells
        expected = [f"'{cell}" if cell.startswith("=") else cell for cell in cells]
        assert [cell for row in escaped for cell in row] == expected


@pytest.mark.thorough
def test_intervals(run, fails):
    path = write()
    learn = "learn", path, *AMOUNTS, "--task", "regression", "--model", "m"
    _, out, _ = run(*learn, "--confidence-level", "0.8")
    header = "interval        width\n"
    assert header in out
    last = [line.split() for line in out.split("\n") if TABLE_LINE.match(line)][-1]
    coverage, width = score_in(out, "coverage"), score_in(out, "mean width")
    assert [float(cell) for cell in last[-2:]] == [coverage, width]
    assert coverage == pytest.approx(0.8, abs=0.05)
    model = load("m")
    assert model[-1].confidence_level == 0.8
    ((X, _),) = read_table(path, target="amount")
    expected = np.column_stack([model.predict(X), model.predict_interval(X)])
    names, *rows = csv.reader(StringIO(run("predict", path, "--model", "m")[1]))
    assert names == ["prediction", "lower", "upper"]
    np.testing.assert_array_equal(np.array(rows, dtype=float), expected)
    model[-1].set_params(confidence_level=[0.5, 0.8])
    save(model.fit(X, expected[:, 0]), "m")
    predict = "predict", path, "--model", "m", "--new-columns", "ignore"
    names, *rows = csv.reader(StringIO(run(*predict)[1]))
    assert names == ["prediction", "lower_0.5", "upper_0.5", "lower_0.8", "upper_0.8"]
    ends = model.predict_interval(X)[:, [0, 1, 0, 1], [0, 0, 1, 1]]
    np.testing.assert_array_equal(np.array(rows, dtype=float)[:, 1:], ends)
    _, out, _ = run("learn", path, "--target", "amount", "--resume", "m")
    assert "coverage" not in out  # of several levels
    fails(
        "learn", path, *CLASSES, "--confidence-level", "0.8", words="have no intervals"
    )


def test_output_is_all_or_nothing(fails, model):
    file, output = Path("data.csv"), Path("said.csv")
    output.write_text("before")
    file.write_text(file.read_text() + "1,2\n")
    fails(
        *("predict", file, "--model", "m.skops", "--chunk-rows", 10),
        *("--output", output),
        words=f"Row {N_ROWS + 1} of data.csv has 2 values",
    )
    assert output.read_text() == "before"
    assert not [*Path().glob(".*")]


# Looking at models.


def test_inspect(works, model):
    out = works("inspect", "m.skops", "--top", "3", "--output", "t.csv")
    assert "ScInOLClassifier(new_classes='add')" in out
    assert re.search(f"^rows +{N_ROWS}$", out, re.M)
    assert re.search(
        rf"^loss .* {model.cumulative_loss_ / N_ROWS:.6g} a row", out, re.M
    )
    assert re.search("^classes +no, yes$", out, re.M)
    assert re.search("^numbers +length, zip, w$", out, re.M)
    assert re.search("^categories +city$", out, re.M)
    coef, names = model[-1].coef_[0], model[0].get_feature_names_out()
    coef[model[0]._encoding.retired_columns()] = 0.0
    largest = np.argsort(-np.abs(coef))[:3]
    lines = [f"{coef[j]:>+14.5g}  {names[j]}" for j in largest]
    _, terms = out.split(" terms of yes:\n")
    assert terms.splitlines()[1:] == lines
    with Path("t.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1 + np.count_nonzero(coef)
    found = {row["term"]: float(row["coefficient"]) for row in rows}
    assert found.pop("(intercept)") == model[-1].intercept_[0]
    used = np.flatnonzero(coef)
    assert found == dict(zip(names[used], coef[used], strict=True))


ESCAPE = "\x1b]0;title\x07\x1b[2J\u202e"


def test_text_of_files_is_escaped_where_it_is_printed(run, fails):
    rows = [f"{row},{ESCAPE}{row % 2},{row % 3}" for row in range(20)]
    Path("data.csv").write_text("\n".join([f"{ESCAPE}x,{ESCAPE}y,z\r", *rows]))
    argv = "--target", f"{ESCAPE}y", *SMALL, "--model", "m.skops"
    outs = [run("learn", "data.csv", *argv, "--test-file", "data.csv")]
    outs.append(run("inspect", "m.skops"))
    assert [status for status, *_ in outs] == [0, 0]
    assert r" \x1b]0;title\x07\x1b[2J\u202ex" in outs[1][1]
    Path("data.csv").write_text("\n".join([f"{ESCAPE}x,{ESCAPE}y,z", "1"]))
    for option in "error", "skip", "warn":
        outs.append(run("learn", "data.csv", *argv, "--on-bad-row", option))
    for name in f"{ESCAPE}x", "w":
        outs.append(run("learn", "data.csv", "--target", name, "--kind", "q=drop"))
    for _, *printed in outs:
        assert "".join(printed).replace("\n", "").isprintable()


def test_inspect_what_has_no_terms(works, fails):
    model = ScInOLRegressor(additive=True)
    save(model.partial_fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0]), "m.skops")
    out = works("inspect", "m.skops")
    assert "There are no terms to show: " in out
    fails("inspect", "m.skops", "--output", "t.csv", words="There are no terms")
    assert not Path("t.csv").exists()


def test_inspect_what_has_intervals(works, pyplot):
    rows = [{"city": "oslo", "size": n} for n in range(9)] + [{"city": "rome"}]
    alone = make_online_pipeline(TableEncoder(n_hashed=4), ScInOLRegressor())
    around = OnlineConformalRegressor(clone(alone))
    last = make_online_pipeline(alone[0], OnlineConformalRegressor(alone[1]))
    shown = []
    for model in alone, around, clone(last):
        save(model.partial_fit(rows, range(10)), "m.skops")
        out = works("inspect", "m.skops", "--plot", "t.png")
        shown.append(out[out.index("The largest of ") :])
    assert shown == [shown[0]] * 3


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", ["t.png", "t.svg", "t.PDF"])
def test_plot(works, model, pyplot, name):
    n_before = len(pyplot.get_fignums())
    out = works("inspect", "m.skops", "--plot", name)
    assert "The largest of " in out
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[2:].lower()]
    assert Path(name).read_bytes().startswith(begins)
    assert len(pyplot.get_fignums()) == n_before


def test_plot_of_a_class(run, works, fails, pyplot):
    write(late_class="maybe")
    run("learn", "data.csv", *CLASSES, "--model", "m.skops")
    plot = "inspect", "m.skops", "--plot", "t.svg", "--plot-class"
    works(*plot, "yes")
    assert "terms of class yes" in Path("t.svg").read_text(encoding="utf-8")
    fails(*plot, "perhaps", words=r"no class 'perhaps' \(classes: \['maybe', 'no'")


def test_plot_says_what_is_wrong(fails, model, monkeypatch, pyplot):
    plot, n_before = ("inspect", "m.skops", "--plot"), len(pyplot.get_fignums())
    fails(*plot, "t.docx", words=r"^Format 'docx' is not supported .*, png, ")
    fails(*plot, "t.png", "--plot-class", "no", words="of more than two classes")
    save(ScInOLRegressor().partial_fit([[1.0], [2.0]], [1.0, 2.0]), "linear.skops")
    fails("inspect", "linear.skops", "--plot", "t.png", words="no terms to plot: .*add")
    scaled = make_online_pipeline(OnlineScaler(), ScInOLRegressor())
    save(scaled.partial_fit([[1.0], [2.0]], [1.0, 2.0]), "scaled.skops")
    fails(
        *("inspect", "scaled.skops", "--plot", "t.png"),
        words="There are no terms to plot: .* no TableEncoder before the last step",
    )
    assert len(pyplot.get_fignums()) == n_before
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    fails(*plot, "t.png", words=r"`--plot` needs matplotlib: run")
    assert not list(Path().glob("t.*"))


def test_inspect_an_estimator_of_others(works):
    X = np.random.default_rng(0).normal(size=(20, 2))
    save(SGDClassifier(random_state=0).fit(X, np.arange(20) % 2), "m.skops")
    assert re.search("[+-][0-9.]+  x[01]", works("inspect", "m.skops"))


# Compiling ahead.


@pytest.fixture
def compiled(monkeypatch):
    """List of what is compiled: models, kinds of columns, targets and classes."""
    calls = []

    def compile_estimator(model, X, y, *, classes):
        # A copy learns, so that the model stays as it was passed.
        kinds = clone(model).fit(X, y)[0].kinds_
        calls.append((model, kinds, y, classes))
        return len(calls) == 1

    monkeypatch.setattr(compile, "compile_estimator", compile_estimator)
    return calls


@pytest.mark.thorough
@pytest.mark.parametrize("options", [CLASSES, AMOUNTS], ids=["classes", "amounts"])
def test_compile(works, compiled, options):
    write()
    out = works("compile", "data.csv", *options)
    assert re.fullmatch(r"Compiled in \d+\.\d s\.\n", out)
    out = works("compile", "data.csv", *options, "--weight", "w")
    assert re.fullmatch(
        r"Nothing to compile: all was in the cache, checked in \d+\.\d s\.\n", out
    )
    works("learn", "data.csv", *options, "--model", "m.skops")
    learned = load("m.skops")
    for (model, kinds, y, classes), n_columns in zip(compiled, [4, 3], strict=True):
        assert type(model[-1]) is type(learned[-1])
        assert model[-1].get_params() == learned[-1].get_params()
        assert len(kinds) == n_columns
        assert kinds.items() <= learned[0].kinds_.items()
        assert len(y) == N_ROWS
        assert (classes is None) == (options is AMOUNTS)
        assert classes is None or [*classes] == ["no", "yes"]


def test_compile_knows_the_kinds_of_the_whole_chunk(works, compiled):
    """The first rows of a column may be empty, or look like categories."""
    texts = [",one,a\n"] * 9 + [f"{i},some text of row {i},b\n" for i in range(99)]
    Path("data.csv").write_text("x,z,y\n" + "".join(texts))
    argv = "compile", "data.csv", "--target", "y", "--kind", "x=number", *SMALL
    works(*argv)
    ((model, *_),) = compiled
    assert model[0].kinds == {"x": "number", "z": "text"}


@pytest.mark.thorough
def test_compile_for_a_saved_model(works, compiled, model):
    argv = "compile", "data.csv", "--target", "y", "--resume", "m.skops"
    works(*argv)
    ((resumed, kinds, _, classes),) = compiled
    assert kinds == model[0].kinds_
    assert repr(resumed[-1]) == repr(model[-1])
    assert classes is None


@pytest.mark.thorough
def test_compile_from_standard_input(works, fails, compiled, monkeypatch):
    def stdin(text):
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text.encode())))

    stdin(Path(write()).read_text("utf-8"))
    works("compile", "-", *CLASSES)
    stdin('{"x": 1, "y": "a"}\n{"x": 2, "y": "b"}\n')
    argv = "compile", "-", "--target", "y"
    works(*argv, "--file-format", "json")
    assert [len(y) for _, _, y, _ in compiled] == [N_ROWS, 2]
    stdin("x,y\n1,a\n2\n")
    fails(*argv, words="^Row 2 of standard input has 1 values, not 2")
    stdin("")
    fails(*argv, words="^standard input is empty.")


def test_nothing_to_compile(fails):
    write()
    fails("compile", "data.csv", *CLASSES, words="^Nothing to compile: .*'numpy'")
    fails("compile", "no.csv", *CLASSES, words="There is no file no.csv.")
    fails("compile", "data.csv", "--target", "z", words="--target z: .* no column 'z'")


def test_compiled_loops_that_are_not_kept(fails, monkeypatch):
    def compile_estimator(*_, **__):
        warnings.warn(
            RuntimeWarning(f"{UNSAVED}, since the disk is full."), stacklevel=2
        )

    monkeypatch.setattr(compile, "compile_estimator", compile_estimator)
    fails("compile", write(), *CLASSES, words=f"{UNSAVED}, since the disk is full.")


def test_messages_of_the_package_are_printed(run, monkeypatch):
    """Messages to users are printed in the command line's words, none on experts."""
    logger, learn_chunk = logging.getLogger("sklearn_scinol"), learn.RunningTable.learn

    def log_and_learn(table, *chunk):
        logger.warning("Call sklearn_scinol.compile(estimator, X, y) before.")
        logger.getChild("mixtures").info("an expert")
        learn_chunk(table, *chunk)

    monkeypatch.setattr(learn.RunningTable, "learn", log_and_learn)
    status, _, err = run("learn", write(), *CLASSES)
    assert (status, err) == (0, "Call `sklearn-scinol compile` before.\n")
    assert logger.handlers == []


# What may be wrong.


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", [], "data.csv is empty."),
        ("x,y\n", [], "data.csv has no rows."),
        ("x,z\n1,2\n", [], r"--target y: .* has no column 'y' \(columns: 'x', 'z'\)"),
        ("x,y\n1,a\n", ["--classes", "a"], r"greater than one; got 1 class\. 0 rows"),
        ("x,y\n1,a\n2,b\n3\n", [], "Row 3 .* has 1 values, .*: pass --on-bad-row skip"),
        ("x,y\n1,a\n,b\n2,\n", [], "Row 3 .* has no target"),
        ("x,y\n1,a\nü,b\n".encode("latin-1"), [], "pass --encoding, such as 'latin-1'"),
        ("x,y\n1,a\n", ["--task", "regression"], "must hold numbers .* 'a'"),
        ("x,y\n1,.5\n", ["--classes", "a,b"], "holds amounts, which have no classes"),
        (
            "x,y\n1,1\n2,0\n",
            ["--classes", "a,b"],
            "cannot convert the classes .* type int64",
        ),
        ("x,y\n1,a\n2,b\n", ["--classes", "a,c"], "unseen labels: .*b.* Name .*--"),
        ("x,y\n1,a\n2,b\n", ["--kind", "z=number"], "has no column 'z'"),
        (
            "x,y\na,a\nb,b\n",
            ["--kind", "x=date"],
            "'a' in column 'x', which is not a date",
        ),
        ("x,y\n1,a\n2,b\n", ["--kind", "x=drop"], "no columns, or all are dropped"),
        ("x,y\n1,a\n2,b\n", ["--interactions", "x,z"], "interactions has 'z'"),
        ("x,y\n1,a\n2,b\n", ["--weight", "w"], "--weight w: .* has no column 'w'"),
        ("x,y\n1,a\n", ["--column-type", "x=red"], "'red' is not a type"),
        ("x,y\n1,a\n", ["--column-type", "z=string"], "^--column-type or --kind: data"),
        ("x;y\n1;a\n", [], "no column 'y' .*: pass --delimiter ';'"),
        ("x\ty\n1\ta\n", [], r"no column 'y' .*: pass --delimiter '\\t'"),
        ('{"x": 1, "y": "a"}\n', [], "no column 'y' .*: pass --file-format json"),
        (gzip.compress(b"x,y\n"), [], "data.csv is compressed: decompress it, or give"),
        ("x,y\n1,a\n", ["--resume", "missing.skops"], "missing.skops: No such file"),
        ("x,y\n1,a\n", ["--model", "no/m.skops"], "There is no folder"),
        ("x,y\n1,a\n", ["--model", "."], "is not a regular file"),
        (
            "x,y\n1\n",
            ["--on-bad-row", "skip"],
            "no good rows: Row 1 .* 1 values, not 2",
        ),
        ("x,y\n1,a\n", ["--delay", "2d", "--time", "then"], "no column 'then'"),
    ],
)
def test_bad_data(fails, text, options, words):
    Path("data.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    estimator = () if "--resume" in options else SMALL
    fails("learn", "data.csv", "--target", "y", *estimator, *options, words=words)


@pytest.mark.parametrize("link", [None, Path.symlink_to, Path.hardlink_to])
@pytest.mark.parametrize(
    ("read", "argv"),
    [
        ("data.csv", "predict data.csv --model m.skops --output"),
        ("data.csv", "predict *.csv --model m.skops --output"),
        ("m.skops", "predict data.csv --model m.skops --output"),
        ("data.csv", "learn data.csv --target y --model"),
        ("data.csv", "learn [d]*.csv --target y --model"),
        ("data.csv", "learn other.csv --target y --test-file data.csv --model"),
        ("data.csv", "learn data.csv --target y --resume m.skops --model"),
        ("m.skops", "inspect m.skops --output"),
        ("m.skops", "inspect m.skops --plot"),
    ],
)
def test_what_is_read_is_not_written(fails, read, argv, link):
    write(), write("other.csv")
    Path("m.skops").write_bytes(b"a model")
    before, written = Path(read).read_bytes(), read
    if link:
        link(Path(written := "link"), read)
    words = r"is an input: writing to it would destroy it\.$"
    fails(*argv.split(), written, words=words)
    assert Path(read).read_bytes() == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="all may be read")
def test_permissions(fails, model):
    Path("data.csv").chmod(0)
    fails("learn", "data.csv", *CLASSES, words="permission denied")
    Path("folder").mkdir(0o500)
    write()
    fails("learn", "data.csv", *CLASSES, "--model", "folder/m.skops", words="denied")


def test_bad_models(fails, model):
    def refuses(words):
        for argv in (
            ("predict", "data.csv", "--model", "bad.skops"),
            ("inspect", "bad.skops"),
            ("learn", "data.csv", "--target", "y", "--resume", "bad.skops"),
        ):
            fails(*argv, words=words)

    content = Path("m.skops").read_bytes()
    Path("bad.skops").write_bytes(content[: len(content) // 2])
    refuses("bad.skops is not a saved model, or is damaged")
    save([1, 2, 3], "bad.skops")
    refuses("is not a classifier or regressor")
    save(ScInOLClassifier(), "bad.skops")
    refuses("has not learned anything")
    Path("bad.skops").unlink()
    refuses("bad.skops: No such file or directory.")


def test_other_columns_than_learned(works, fails, model):
    Path("other.csv").write_text("length,town,zip,w\n1,oslo,2,3\n")
    options = "--model", "m.skops"
    fails("predict", "other.csv", *options, words="has no column 'city'")
    Path("other.csv").write_text("length\tcity\n1\toslo\n")
    words = r"\): pass --delimiter '\\t'.$"
    fails("predict", "other.csv", *options, words=words)
    options += "--missing-columns", "ignore"
    works("predict", "other.csv", *options, "--delimiter", r"\t")
    Path("other.csv").rename("other")
    words = r"pass --file-format, one of \('csv', 'parquet', 'arrow', 'json'\)\."
    fails("predict", "other", *options, words=words)


def test_unknown_class_in_test_file(fails):
    write("train.csv"), write("test.csv", late_class="maybe")
    out = fails(
        *("learn", "train.csv", *CLASSES, "--test-file", "test.csv"),
        *("--model", "m.skops"),
        words="has the class maybe, but the model does not",
    )
    assert score_in(out, "rows") == N_ROWS
    assert load("m.skops").n_samples_seen_ == N_ROWS


def test_scores_are_there_if_the_model_cannot_be_saved(fails, monkeypatch):
    write()

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    options = "learn", "data.csv", *CLASSES, "--model", "m.skops"
    out = fails(*options, words="m.skops: No space left on device.")
    assert score_in(out, "rows") == N_ROWS


@pytest.mark.parametrize("module", ["pyarrow", "skops"])
def test_missing_extras(fails, monkeypatch, module):
    write()
    monkeypatch.setitem(sys.modules, module, None)
    words = rf"needs {module}: run `pip install \"\.\[all\]\"` in a clone"
    fails("learn", "data.csv", *CLASSES, "--model", "m.skops", words=words)


def test_what_should_not_happen(fails, run, monkeypatch):
    write()

    def fail(*_):
        raise KeyError("what")

    monkeypatch.setattr(learn.RunningTable, "learn", fail)
    fails("learn", "data.csv", *CLASSES, words="KeyError: 'what' .*--traceback")
    with pytest.raises(KeyError):
        run("learn", "data.csv", *CLASSES, "--traceback")


LEARN = "learn f.csv --target y"


@pytest.mark.cases(30)
@pytest.mark.parametrize(
    "argv",
    [
        *("", "teach", "learn data.csv", "learn --target y", "predict data.csv"),
        *("inspect", "inspect m.skops --top -1", "inspect m.skops --plot-class yes"),
        *("compile data.csv", "compile f.csv --target y --model m.skops"),
        *(f"{LEARN} --chunk-rows 0", f"{LEARN} --kind x", f"{LEARN} --kind x=colour"),
        *(f"{LEARN} --column-type x", f"{LEARN} --classes a,,b"),
        *(f"{LEARN} --confidence-level 1", f"{LEARN} --alarms 1"),
        *(f"{LEARN} --estimator best", f"{LEARN} --save-every 1m"),
        f"{LEARN} --resume m --estimator hedge",
        *(f"{LEARN} --from-start", f"{LEARN} --columns a,b --time c"),
        "predict - - --model m.skops",
        "compile f.csv --target y --resume m --confidence-level 0.9",
    ],
)
def test_bad_arguments(run, argv):
    status, out, err = run(*argv.split())
    assert (status, out) == (2, "")
    assert err.startswith("usage: sklearn-scinol")
    assert "error: " in err
    assert "invalid _" not in err  # a name that nobody should see


def test_help_tells_the_exit_status(run, works):
    for argv in ["--help"], *([name, "-h"] for name in COMMANDS):
        out = works(*argv)
        assert "exit status:" in out
    assert run("--version") == (0, f"{sklearn_scinol.__version__}\n", "")


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "wide.csv", "jsonl", "nested.jsonl"])
def test_mutilated_files(run, ending):
    content, statuses = WHOLE[ending](), []
    for seed in range(N_MUTILATED):
        random = np.random.default_rng(seed)
        file = Path(f"data.{ending}")
        file.write_bytes(mutilated(content, random))
        encoding = random.choice(ENCODINGS)
        status, out, err = run(
            *("learn", file, "--target", "y", *SMALL),
            *("--chunk-rows", 16, "--model", "m.skops"),
            *("--on-bad-row", random.choice(["error", "skip", "warn"])),
            *(["--encoding", encoding] if encoding else []),
            *(["--kind", "inner=drop"] if "nested" in ending else []),
        )
        statuses.append(status)
        assert status in (0, 1), (seed, err)
        assert "This is a bug" not in err, (seed, err)
        assert (status == 1) <= err.endswith((".\n", ".)\n")), (seed, err)
        assert f"{out}{err}".replace("\n", "").isprintable(), (seed, err)
    assert {0, 1} == {*statuses}


# With other streams than pytest's.


@contextmanager
def stdout_in(file, encoding):
    """Redirect what commands print to a binary file in an encoding."""
    with pytest.MonkeyPatch.context() as patch, TextIOWrapper(file, encoding) as out:
        patch.setattr(sys, "stdout", out)
        yield


def test_letters_that_the_terminal_does_not_have(works):
    text = Path(write()).read_text(encoding="utf-8").replace("yes", "ja, så være")
    text = re.sub("ja, så være", '"ja, så være"', text)
    Path("data.csv").write_text(text, encoding="utf-8")
    learning = "learn", "data.csv", *CLASSES, "--model", "m.skops"
    with stdout_in(open("learned", "wb"), "ascii"):
        assert main(learning) == 0
    learned = Path("learned").read_text("ascii")
    assert score_in(learned, "rows") == N_ROWS
    assert "ja, s\\xe5 v" in learned
    argv = "predict", "data.csv", "--model", "m.skops"
    with stdout_in(open("predicted", "wb"), "ascii"):
        assert main(argv) == 0
    assert "ja, så være" in Path("predicted").read_text("utf-8")
    works(*argv, "--output", "said.csv")
    assert Path("said.csv").read_bytes() == Path("predicted").read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="pipes are others")
@pytest.mark.parametrize(
    "argv",
    [("predict", "data.csv", "--model", "m.skops"), ("learn", "data.csv", *CLASSES)],
)
def test_broken_pipe(argv, model, capsys):
    """Nobody reads what it prints."""
    read, written = os.pipe()
    os.close(read)
    with stdout_in(open(written, "wb"), "utf-8"):
        assert main(argv) == 1
    assert capsys.readouterr() == ("", "")


# As processes.


def command(argv):
    return [sys.executable, "-m", "sklearn_scinol", *map(str, argv)]


def environment():
    package = Path(sklearn_scinol.__file__).parents[1]
    return {
        **os.environ,
        "PYTHONPATH": str(package),
        "PYTHONIOENCODING": "utf-8",
        "NUMBA_DISABLE_JIT": "1",  # the rows are few
    }


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="signals are others")
@pytest.mark.usefixtures("interruptions")
def test_interrupted_process():
    """Interrupted while it waits for rows, which a pipe gives it."""
    learning = subprocess.Popen(
        command(["learn", "-", *CLASSES]),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    learning.stdin.write("x,y\n" * 2**15)  # it has read some when this ends
    learning.send_signal(signal.SIGINT)
    out, err = learning.communicate(timeout=60)
    assert (learning.returncode, out, err) == (130, "", "Interrupted.\n")
