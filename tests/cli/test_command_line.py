"""The command line: what it learns and prints, and a sentence for all that is wrong."""

import csv
import gzip
import logging
import os
import re
import sys
import warnings
from contextlib import contextmanager, nullcontext
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss, mean_absolute_error, r2_score
from support.corrupt_files import ENCODINGS, WHOLE, mutilated
from support.files import N_ROWS, pa, table, write_csv

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

pytest.importorskip("skops", reason="skops is not installed")

#: Files that are damaged at random.
N_MUTILATED = int(os.environ.get("MUTILATED_FILES", 10))

SMALL = "--estimator scinol --n-hashed 64"
TARGET = f"--target y {SMALL}"
CLASSES = f"{TARGET} --kind amount=drop"
AMOUNTS = f"--target amount {SMALL} --kind y=drop"
PREDICT = "predict data.csv --model m.skops"


@pytest.fixture(autouse=True)
def no_progress_bar(monkeypatch):
    """Print the same on a slow machine, where a bar would appear."""
    monkeypatch.setattr(progressive, "_progress_bar", lambda progress: nullcontext())


def write(name="data.csv", start=0, stop=N_ROWS, late_class=None, times=False):
    """Write rows, without times if these are not asked for."""
    part = table(start, stop)
    part = part if times else part.drop_columns(["when", "known"])
    if late_class is not None:
        labels = pa.array([*part["y"].to_pylist()[:-1], late_class])
        part = part.set_column(part.column_names.index("y"), "y", labels)
    write_csv(name, part)
    return name


def write_lines(header, lines, name="data.csv"):
    Path(name).write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")


def stdin_of(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text.encode())))


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


def cells_of(out):
    """Names and rows of numbers of a CSV file."""
    names, *rows = csv.reader(StringIO(out))
    return names, np.array(rows, dtype=float)


# Learning.


@pytest.mark.parametrize("options", ["", " --weight w"], ids=["", "weights"])
def test_table_and_scores_are_those_of_progressive_validation(works, options):
    model = make_online_pipeline(
        TableEncoder(kinds={"amount": "drop"}), ScInOLClassifier()
    )
    stream = read_table(write(), target="y", sample_weight="w" if options else None)
    result = progressive_validation(model, stream, progress=False)
    argv = f"learn data.csv {CLASSES} --chunk-rows 40{options}"
    out = works(argv)
    ((X, y, *c),) = stream
    c = c[0] if c else np.ones(N_ROWS)
    (counted,) = c.nonzero()  # rows that weigh nothing do not count
    lines, n = table_in(out), counted.size
    points = [*(2**k for k in range(9) if 2**k < n), n]
    assert [int(line["rows"]) for line in lines] == points
    shown = {int(line["rows"]): float(line["average"]) for line in lines}
    curve = zip(result.n_samples, -result.curves["neg_log_loss"], strict=True)
    expected = {rows: loss for rows, loss in curve if rows in shown}
    assert expected == pytest.approx({k: shown[k] for k in expected}, rel=1e-5)
    last = counted[np.array(points) - 1]
    weights = c.cumsum()[last]
    losses = np.array([*shown.values()]) * weights
    since = np.diff(losses, prepend=0.0) / np.diff(weights, prepend=0)
    assert_allclose([float(line["since"]) for line in lines], since, rtol=1e-3)
    assert [line["label"] for line in lines] == y[last].tolist()
    row = model[:-1].transform(X.slice(last[-1], 1))
    assert int(lines[-1]["features"]) == row.nnz
    assert score_in(out, "rows") == result.n_samples[-1] == n
    for name, metric in ("log loss", "neg_log_loss"), ("accuracy", "accuracy"):
        expected = abs(result.scores[metric])
        assert score_in(out, name) == pytest.approx(expected, rel=1e-5)
    assert score_in(out, "rows learned per second") > 0
    quiet = works(argv, "--quiet")
    assert not table_in(quiet)
    assert score_in(quiet, "log loss") == score_in(out, "log loss")


def test_regression(works, fails):
    columns = ["length", "city", "zip"]
    ((X, y),) = read_table(write(), target="amount", columns=columns)
    model = make_online_pipeline(TableEncoder(), ScInOLRegressor())
    said = model.partial_fit_predict(X, y)
    out = works(f"learn data.csv {AMOUNTS} --kind w=drop --model m.skops")
    absolute_error = score_in(out, "absolute error")
    assert absolute_error == pytest.approx(mean_absolute_error(y, said), rel=1e-5)
    assert score_in(out, "R2") == pytest.approx(r2_score(y, said), rel=1e-4)
    last = table_in(out)[-1]
    assert float(last["label"]) == pytest.approx(y[-1], rel=1e-5)
    assert float(last["prediction"]) == pytest.approx(said[-1], rel=1e-5)
    fails(PREDICT, "--proba", words="has no probabilities")


@pytest.mark.thorough
def test_alarms(works):
    """Labels follow a rule for 1,000 rows, and are then at random."""
    random = np.random.default_rng(0)
    x = random.normal(size=1500)
    rule = x + 0.3 * random.normal(size=1500) > 0
    y = np.where(np.arange(1500) < 1000, rule, random.random(1500) < 0.5)
    write_lines("x,y", (f"{a:.3f},{b}" for a, b in zip(x, y, strict=True)))
    model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    result = progressive_validation(
        model, read_table("data.csv", target="y"), monitor=LossMonitor(1e-3)
    )
    alarms = [each for each in result.alarms if each.direction == "rise"]
    assert 1000 < alarms[0].row < 1100
    argv = f"learn data.csv {TARGET}"
    out = works(argv, "--chunk-rows 200 --alarms 0.001")
    assert score_in(out, "alarms") == len(result.alarms)
    past = {"rise": "risen", "fall": "fallen"}
    for each in result.alarms:
        line = (
            f"row {each.row:,}: losses have {past[each.direction]} since about "
            f"row {each.change:,}\n"
        )
        before, _, after = out.partition(line)
        assert after  # between the lines of the table for the rows around it
        assert int(table_in(before)[-1]["rows"].replace(",", "")) < each.row
        assert int(table_in(after)[0]["rows"].replace(",", "")) >= each.row
    quiet = works(argv, "--alarms 0.001 --quiet")
    assert "losses" not in quiet
    assert score_in(quiet, "alarms") == len(result.alarms)
    by_default = works(argv, "--quiet --alarms")
    assert 0 < score_in(by_default, "alarms") <= len(result.alarms)


def test_test_file(works):
    write("train.csv", 0, 140), write("test.csv", 140)
    argv = f"learn train.csv {CLASSES} --model m.skops --test-file test.csv"
    _, of_test = works(argv, "--chunk-rows 30").split("\ntest.csv, not learned:\n")
    model = load("m.skops")
    ((X, y),) = read_table("test.csv", target="y")
    X = X.select(list(model[0].kinds_))
    assert score_in(of_test, "rows") == 100
    expected = log_loss(y, model.predict_proba(X), labels=model.classes_)
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
        (lambda k: f"id{k}", "identifiers, .*'id0'"),
        (lambda k: f"{1 + k % 28:02d}.{1 + k % 12}.1999", "dates, .*'01.1.1999'"),
        (lambda k: f'"{k},50 €"', "numbers, .*'0,50 €'"),
        (lambda k: f"{k}%", "numbers, .*'0%'"),
    ],
)
def test_what_targets_are(works, fails, label_of, task):
    write_lines("x,y", (f"{row},{label_of(row)}" for row in range(60)))
    argv = f"learn data.csv {TARGET} --quiet"
    if task in ("classes", "amounts"):
        assert ("accuracy" in works(argv)) == (task == "classes")
        return
    fails(argv, words=f"The target 'y' looks like {task}, .*--task classification")
    works(argv, "--task classification")


def test_amounts_may_have_fractions_later(works):
    wide = 1000 * "-"  # so that the last row is beyond the first megabyte
    rows = [f"{wide},{row},{row}" for row in range(1500)]
    write_lines("wide,x,y", [*rows, "-,7,0.5"])
    assert score_in(works(f"learn data.csv {TARGET} --quiet"), "rows") == 1501


@pytest.mark.cases(1)
@pytest.mark.parametrize("family", learn.FAMILIES)
def test_families(works, family):
    write(stop=5)
    size = "" if family == "newton" else " --n-hashed 8"  # it needs few columns
    options = f"--estimator {family}{size} --model m.skops"
    for target, kind in ("y", "Classifier"), ("amount", "Regressor"):
        works(f"learn data.csv --target {target} {options}")
        works("inspect m.skops")
        expected = f"{learn.FAMILIES[family]}{kind}"
        assert type(load("m.skops")[-1]).__name__ == expected


def test_kinds_and_interactions(works):
    options = "--kind zip=category --kind w=drop --interactions city,zip"
    works(f"learn {write()} {CLASSES} {options} --n-hashed 1024 --model m.skops")
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
        ("--key city --key city,hour", [("city",), ("city", "hour")]),
        ("--key zip,city --delay 1h", [("zip", "city")]),
    ],
)
def test_history(works, options, keys):
    """A saved model goes on, and predicts by what it has seen of the keys."""
    for name, *rows in ("data.csv",), ("first.csv", 0, 99), ("rest.csv", 99):
        write(name, *rows, times=True)
    kinds = "--kind zip=category --kind w=drop --kind known=drop"
    argv = f"learn {CLASSES} {kinds} {options} --time when"
    works(argv, "data.csv --model whole.skops")
    works(argv, "first.csv --model m.skops")
    late = "--delay 1h --time when " if "--delay" in options else ""
    works(f"learn --target y --resume m.skops --model m.skops {late}rest.csv")
    model, whole = load("m.skops"), load("whole.skops")
    assert (model[0].keys_, model[0].values_) == (keys, ["length"])
    assert model.n_samples_seen_ == N_ROWS
    if not late:  # rows wait no longer than a file
        assert_allclose(model.cumulative_loss_, whole.cumulative_loss_, rtol=1e-12)
    assert "city_target_mean_8" in works("inspect m.skops --top 999")
    works("predict rest.csv --model m.skops --output p.csv")
    columns, types = ["length", "city", "zip", "when"], {"zip": "string"}
    ((X, _),) = read_table("rest.csv", target="y", columns=columns, column_types=types)
    with Path("p.csv").open() as file:
        said = [row["prediction"] for row in csv.DictReader(file)]
    assert said == model.predict(X).tolist()


def test_declared_numbers_make_rows_bad_that_have_none(run, fails, works):
    write_lines("x,y", [*["1,a", "2,b"] * 5, "?,a"])
    argv = f"learn data.csv {TARGET} -q"
    fails(argv, "--kind x=number", words=r"Row 11 .* has '\?' in column 'x'")
    out = works(argv, "--kind x=number --on-bad-row skip")
    assert score_in(out, "bad rows left out") == 1
    assert score_in(out, "rows") == 10
    status, _, err = run(argv, "--kind x=number --on-bad-row warn")
    assert (status, err.count("\n")) == (0, 1)
    assert err.startswith("Row 11 of data.csv has '?' in column 'x'")
    works(argv, "--null-value ?")


@pytest.mark.parametrize("options", ["", " --kind c=time"])
def test_times_of_the_day(works, options, monkeypatch):
    """Whether the kind is found or declared; fractions come after the first block."""
    monkeypatch.setattr("sklearn_scinol.streams.text.BLOCK_BYTES", 1000)
    times = [f"{i % 24:02}:{i % 60:02}:30" for i in range(200)]
    times += [f"{t}.250" for t in times]
    labels = [str(int(c < "12")) for c in times]
    write_lines("c,y", map(",".join, zip(times, labels, strict=True)))
    works(f"learn data.csv {TARGET} --chunk-rows 50 --model m.skops{options}")
    assert "times of the day" in works("inspect m.skops")
    read = [line.split(",")[0] for line in works(PREDICT).splitlines()[1:]]
    assert np.mean(np.array(read) == labels) > 0.9


@pytest.mark.parametrize(
    ("name", "content", "words", "remedy"),
    [
        ("a.csv", b"x,y,,\n1,0,,\n2,1,,\n", "without a name", "--columns=x"),
        ("b.csv", b"x,y\n0x10,0\n2,1\n", "column-type x=s", "--column-type=x=string"),
        ("d.csv", b'x,y\n"a,0\n2,1\n', "Row 1 .* pass --on-bad", "--on-bad-row=skip"),
        ("e.csv", "x,y\né,0\n2,1\n".encode("utf-16"), "'utf-16'", "--encoding=utf-16"),
        ("f.jsonl", b'{"x": [1], "z": 1, "y": 0}', "--kind x=drop", "--kind=x=drop"),
        ("g.json", b'[{"x": 1, "y": 0}]', "jq -c '.\\[\\]'", None),
    ],
)
def test_remedies_for_files(works, fails, name, content, words, remedy):
    Path(name).write_bytes(content)
    fails(f"learn {name} {TARGET}", words=words)
    if remedy is not None:
        works(f"learn {name} {TARGET}", remedy)


def test_classes(works):
    write(late_class="maybe")
    works(f"learn data.csv {CLASSES} --chunk-rows 50 --classes no,yes,maybe --model m")
    assert load("m").classes_.tolist() == ["maybe", "no", "yes"]


# Labels that come late.


@pytest.mark.parametrize(
    "given",
    [{"delay": 7}, {"delay": "2d", "time": "when"}, {"label_time": "known"}],
    ids=str,
)
def test_late_labels(works, given):
    """Scores and model are those of progressive validation."""
    write("times.csv", times=True)
    kinds, n_rows = {"amount": "drop"}, N_ROWS
    if "label_time" in given:
        given, n_rows = {"time": "when", **given}, N_ROWS - 4
    else:
        kinds["known"] = "drop"
    options = " ".join(f"--{k.replace('_', '-')} {given[k]}" for k in given)
    dropped = " ".join(f"--kind {name}=drop" for name in kinds)
    argv = f"learn times.csv {TARGET} {dropped} --chunk-rows 40 {options} -q"
    out = works(argv, "--model m.skops")
    types = {"amount": "string"}
    stream = read_table("times.csv", target="y", chunk_rows=40, column_types=types)
    others = {"missing_columns": "ignore", "new_columns": "ignore"}
    encoder = TableEncoder(n_hashed=64, kinds=kinds, **others)
    model = make_online_pipeline(encoder, ScInOLClassifier())
    result = progressive_validation(model, stream, classes=["no", "yes"], **given)
    assert f"{-result.scores['neg_log_loss']:.6g}" in out
    assert load("m.skops").n_samples_seen_ == model.n_samples_seen_ == n_rows
    assert "known" not in load("m.skops")[0].kinds_ or "known" in kinds
    more = f"--from-start --resume m.skops --target y {options} --test-file times.csv"
    assert "average" in works(f"learn times.csv {more}")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--delay 2d", "--delay 2d needs --time, the column"),
        ("--time when", "With --time, pass either --delay or --label-time: "),
        ("--delay soon --time when", "number with one of the units"),
        ("--label-time known", "--label-time needs --time, the column"),
    ],
)
def test_bad_delays(run, options, words):
    status, _, err = run(f"learn {write(times=True)} {CLASSES} {options}")
    assert status == 2
    assert words in err


def test_resume_of_a_model_without_encoder(works):
    ((X, y),) = read_table(write(), target="amount", columns=["length", "w"])
    save(ScInOLRegressor().partial_fit(X.to_pandas().fillna(0.0), y), "m.skops")
    write_lines("w,length,amount", ["1,50,4", "2,60,6"])
    out = works("learn data.csv --target amount --resume m.skops --model n.skops")
    assert table_in(out)[-1]["features"] == "2"
    assert load("n.skops").n_samples_seen_ == N_ROWS + 2


# Predicting.


@pytest.fixture
def model(works):
    """A model that was learned from `data.csv`."""
    works(f"learn {write()} {CLASSES} --model m.skops")
    return load("m.skops")


@pytest.mark.slow
def test_predict(works, model):
    (X,) = read_table("data.csv", columns=list(model[0].kinds_))
    out = works(PREDICT)
    assert out.splitlines() == ["prediction", *model.predict(X)]
    names, said = cells_of(works(PREDICT, "--proba"))
    assert names == ["no", "yes"]
    assert_array_equal(said, model.predict_proba(X))
    # Neither the target nor the size of chunks matters, nor where it is written.
    write_csv("bare.csv", X.select(["w", "zip", "city", "length"]))
    argv = "predict bare.csv --model m.skops --chunk-rows 7"
    assert works(argv) == out
    works(argv, "--output said.csv")
    assert Path("said.csv").read_text() == out
    works(argv, "--output /dev/null")
    assert not Path("/dev/null").is_file()


@pytest.mark.slow
def test_cells_that_are_formulas(run, works):
    labels = "=cmd|' /C calc'!A0", "-1.5", "+", "plain"
    write_lines("=x,y,id", (f"{k % 4},{labels[k % 4]},=1+{k}" for k in range(40)))
    works(f"learn data.csv {TARGET} --model m.skops --kind id=drop")
    for argv, formula in (
        (PREDICT, labels[0]),
        (f"{PREDICT} --proba", labels[0]),
        (f"{PREDICT} --keep id", "=1+0"),
        ("inspect m.skops", "=x=2"),
    ):
        status, _, err = run(argv, "--output plain.csv")
        assert status == 0
        assert f"{formula!r}" in err
        assert "--escape-formulas" in err
        works(argv, "--output escaped.csv --escape-formulas")
        plain, escaped = (
            [*csv.reader(StringIO(Path(name).read_text()))]
            for name in ("plain.csv", "escaped.csv")
        )
        cells = [cell for row in plain for cell in row]
        assert formula in cells
        expected = [f"'{cell}" if cell.startswith("=") else cell for cell in cells]
        assert [cell for row in escaped for cell in row] == expected


@pytest.mark.thorough
def test_intervals(works, fails):
    argv = f"learn {write()} {AMOUNTS} --task regression --model m.skops"
    out = works(argv, "--confidence-level 0.8")
    assert "interval        width\n" in out
    last = [line.split() for line in out.split("\n") if TABLE_LINE.match(line)][-1]
    coverage, width = score_in(out, "coverage"), score_in(out, "mean width")
    assert [float(cell) for cell in last[-2:]] == [coverage, width]
    assert coverage == pytest.approx(0.8, abs=0.05)
    model = load("m.skops")
    assert model[-1].confidence_level == 0.8
    ((X, _),) = read_table("data.csv", target="amount")
    names, rows = cells_of(works(PREDICT))
    assert names == ["prediction", "lower", "upper"]
    predictions = model.predict(X)
    assert_array_equal(rows, np.c_[predictions, model.predict_interval(X)])
    model[-1].set_params(confidence_level=[0.5, 0.8])
    save(model.fit(X, predictions), "m.skops")
    names, rows = cells_of(works(PREDICT, "--new-columns ignore"))
    assert names == ["prediction", "lower_0.5", "upper_0.5", "lower_0.8", "upper_0.8"]
    ends = model.predict_interval(X)[:, [0, 1, 0, 1], [0, 0, 1, 1]]
    assert_array_equal(rows[:, 1:], ends)
    out = works("learn data.csv --target amount --resume m.skops")
    assert "coverage" not in out  # of several levels
    argv = f"learn data.csv {CLASSES} --confidence-level 0.8"
    fails(argv, words="have no intervals")


def test_output_is_all_or_nothing(fails, model):
    file, output = Path("data.csv"), Path("said.csv")
    output.write_text("before")
    file.write_text(file.read_text() + "1,2\n")
    words = f"Row {N_ROWS + 1} of data.csv has 2 values"
    fails(PREDICT, "--chunk-rows 10 --output said.csv", words=words)
    assert output.read_text() == "before"
    assert not [*Path().glob(".*")]


# Looking at models.


def test_inspect(works, model):
    out = works("inspect m.skops --top 3 --output t.csv")
    assert "ScInOLClassifier(new_classes='add')" in out
    loss = f"{model.cumulative_loss_ / N_ROWS:.6g}"
    for line in (
        *(f"rows +{N_ROWS}", f"loss .* {loss} a row", "classes +no, yes"),
        *("numbers +length, zip, w", "categories +city"),
    ):
        assert re.search(f"^{line}", out, re.M)
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
    argv = f"--target {ESCAPE}y {SMALL} --model m.skops"
    outs = [run(f"learn data.csv {argv} --test-file data.csv")]
    outs.append(run("inspect m.skops"))
    assert [status for status, *_ in outs] == [0, 0]
    assert r" \x1b]0;title\x07\x1b[2J\u202ex" in outs[1][1]
    Path("data.csv").write_text("\n".join([f"{ESCAPE}x,{ESCAPE}y,z", "1"]))
    for option in "error", "skip", "warn":
        outs.append(run(f"learn data.csv {argv} --on-bad-row {option}"))
    for name in f"{ESCAPE}x", "w":
        outs.append(run(f"learn data.csv --target {name} --kind q=drop"))
    for _, *printed in outs:
        assert "".join(printed).replace("\n", "").isprintable()


@pytest.fixture
def without_terms():
    """Models that have none: additive, linear ones, and without an encoder."""
    X, y = [[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0]
    scaled = make_online_pipeline(OnlineScaler(), ScInOLRegressor())
    for name, model in (
        ("additive", ScInOLRegressor(additive=True)),
        ("linear", ScInOLRegressor()),
        ("scaled", scaled),
    ):
        save(model.partial_fit(X, y), f"{name}.skops")


@pytest.mark.usefixtures("without_terms")
def test_inspect_what_has_no_terms(works, fails):
    assert "There are no terms to show: " in works("inspect additive.skops")
    fails("inspect additive.skops --output t.csv", words="There are no terms")
    assert not Path("t.csv").exists()


def test_inspect_what_has_intervals(works, pyplot):
    rows = [{"city": "oslo", "size": n} for n in range(9)] + [{"city": "rome"}]
    alone = make_online_pipeline(TableEncoder(n_hashed=4), ScInOLRegressor())
    around = OnlineConformalRegressor(clone(alone))
    last = make_online_pipeline(alone[0], OnlineConformalRegressor(alone[1]))
    shown = []
    for model in alone, around, clone(last):
        save(model.partial_fit(rows, range(10)), "m.skops")
        out = works("inspect m.skops --plot t.png")
        shown.append(out[out.index("The largest of ") :])
    assert shown == [shown[0]] * 3


@pytest.mark.slow
def test_plot(works, fails, pyplot):
    works(f"learn {write(late_class='maybe')} {CLASSES} --model m.skops")
    n_before = len(pyplot.get_fignums())
    plot = "inspect m.skops --plot-class yes --plot"
    for name, begins in ("t.png", b"\x89PNG"), ("t.svg", b"<?xml"), ("t.PDF", b"%PDF"):
        assert "The largest of " in works(plot, name)
        assert Path(name).read_bytes().startswith(begins)
    assert "terms of class yes" in Path("t.svg").read_text(encoding="utf-8")
    assert len(pyplot.get_fignums()) == n_before
    words = r"no class 'perhaps' \(classes: \['maybe', 'no'"
    fails(plot, "t.svg --plot-class perhaps", words=words)


@pytest.mark.usefixtures("without_terms")
def test_plot_says_what_is_wrong(fails, model, monkeypatch, pyplot):
    n_before = len(pyplot.get_fignums())
    for argv, words in (
        ("m.skops --plot t.docx", r"^Format 'docx' is not supported .*, png, "),
        ("m.skops --plot t.png --plot-class no", "of more than two classes"),
        ("linear.skops --plot t.png", "no terms to plot: .*add"),
        ("scaled.skops --plot t.png", "no TableEncoder before the last step"),
    ):
        fails(f"inspect {argv}", words=words)
    assert len(pyplot.get_fignums()) == n_before
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    fails("inspect m.skops --plot t.png", words=r"`--plot` needs matplotlib: run")
    assert not list(Path().glob("t.*"))


def test_inspect_an_estimator_of_others(works):
    X = np.random.default_rng(0).normal(size=(20, 2))
    save(SGDClassifier(random_state=0).fit(X, np.arange(20) % 2), "m.skops")
    assert re.search("[+-][0-9.]+  x[01]", works("inspect m.skops"))


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
    out = works(f"compile {write()} {options}")
    assert re.fullmatch(r"Compiled in \d+\.\d s\.\n", out)
    out = works(f"compile data.csv {options} --weight w")
    assert re.fullmatch(r"Nothing to compile: .* checked in \d+\.\d s\.\n", out)
    works(f"learn data.csv {options} --model m.skops")
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
    write_lines(
        "x,z,y", [*[",one,a"] * 9, *(f"{i},text of row {i},b" for i in range(99))]
    )
    works(f"compile data.csv {TARGET} --kind x=number")
    ((model, *_),) = compiled
    assert model[0].kinds == {"x": "number", "z": "text"}


@pytest.mark.thorough
def test_compile_for_a_saved_model(works, compiled, model):
    works("compile data.csv --target y --resume m.skops")
    ((resumed, kinds, _, classes),) = compiled
    assert kinds == model[0].kinds_
    assert repr(resumed[-1]) == repr(model[-1])
    assert classes is None


@pytest.mark.thorough
def test_compile_from_standard_input(works, fails, compiled, monkeypatch):
    stdin_of(monkeypatch, Path(write()).read_text("utf-8"))
    works(f"compile - {CLASSES}")
    stdin_of(monkeypatch, '{"x": 1, "y": "a"}\n{"x": 2, "y": "b"}\n')
    argv = "compile - --target y"
    works(argv, "--file-format json")
    assert [len(y) for _, _, y, _ in compiled] == [N_ROWS, 2]
    stdin_of(monkeypatch, "x,y\n1,a\n2\n")
    fails(argv, words="^Row 2 of standard input has 1 values, not 2")
    stdin_of(monkeypatch, "")
    fails(argv, words="^standard input is empty.")


def test_nothing_to_compile(fails):
    fails(f"compile {write()} {CLASSES}", words="^Nothing to compile: .*'numpy'")
    fails(f"compile no.csv {CLASSES}", words="There is no file no.csv.")
    fails("compile data.csv --target z", words="--target z: .* no column 'z'")


def test_compiled_loops_that_are_not_kept(fails, monkeypatch):
    def compile_estimator(*_, **__):
        warnings.warn(
            RuntimeWarning(f"{UNSAVED}, since the disk is full."), stacklevel=2
        )

    monkeypatch.setattr(compile, "compile_estimator", compile_estimator)
    words = f"{UNSAVED}, since the disk is full."
    fails(f"compile {write()} {CLASSES}", words=words)


def test_messages_of_the_package_are_printed(run, monkeypatch):
    """Messages to users are printed in the command line's words, none on experts."""
    logger, learn_chunk = logging.getLogger("sklearn_scinol"), learn.RunningTable.learn

    def log_and_learn(table, *chunk):
        logger.warning("Call sklearn_scinol.compile(estimator, X, y) before.")
        logger.getChild("mixtures").info("an expert")
        learn_chunk(table, *chunk)

    monkeypatch.setattr(learn.RunningTable, "learn", log_and_learn)
    status, _, err = run(f"learn {write()} {CLASSES}")
    assert (status, err) == (0, "Call `sklearn-scinol compile` before.\n")
    assert logger.handlers == []


# What may be wrong.


@pytest.mark.cases(30)
@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", "", "data.csv is empty."),
        ("x,y\n", "", "data.csv has no rows."),
        ("x,z\n1,2\n", "", r"--target y: .* has no column 'y' \(columns: 'x', 'z'\)"),
        ("x,y\n1,a\n", "--classes a", r"greater than one; got 1 class\. 0 rows"),
        ("x,y\n1,a\n2,b\n3\n", "", "Row 3 .* has 1 values, .*: pass --on-bad-row skip"),
        ("x,y\n1,a\nü,b\n", "", "pass --encoding, such as 'latin-1'"),
        ("x,y\n1,a\n", "--task regression", "must hold numbers .* 'a'"),
        ("x,y\n1,.5\n", "--classes a,b", "holds amounts, which have no classes"),
        ("x,y\n1,1\n2,0\n", "--classes a,b", "cannot convert the classes .* int64"),
        ("x,y\n1,a\n2,b\n", "--classes a,c", "unseen labels: .*b.* Name .*--"),
        ("x,y\na,a\nb,b\n", "--kind x=date", "'a' in column 'x', which is not a date"),
        ("x,y\n1,a\n2,b\n", "--kind x=drop", "no columns, or all are dropped"),
        ("x,y\n1,a\n2,b\n", "--weight w", "--weight w: .* has no column 'w'"),
        ("x,y\n1,a\n", "--column-type x=red", "'red' is not a type"),
        ("x,y\n1,a\n", "--column-type z=string", "^--column-type or --kind: data"),
        ("x;y\n1;a\n", "", "no column 'y' .*: pass --delimiter ';'"),
        ('{"x": 1, "y": "a"}\n', "", "no column 'y' .*: pass --file-format json"),
        ("gzip", "", "data.csv is compressed: decompress it, or give"),
        ("x,y\n1,a\n", "--resume missing.skops", "missing.skops: No such file"),
        ("x,y\n1,a\n", "--model no/m.skops", "There is no folder"),
        ("x,y\n1,a\n", "--model .", "is not a regular file"),
        ("x,y\n1\n", "--on-bad-row skip", "no good rows: Row 1 .* 1 values, not 2"),
        (f"x,y\n{2**64 - 1},1\n", "", "Row 1 of .*: pass --column-type x=string, or"),
        ("x,y\n1,a\n", "--delay 2d --time then", "no column 'then'"),
    ],
)
def test_bad_data(fails, text, options, words):
    content = gzip.compress(b"x,y\n") if text == "gzip" else text.encode("latin-1")
    Path("data.csv").write_bytes(content)
    parts = [] if "--resume" in options else [SMALL]
    parts += [options] if options else []
    fails("learn data.csv --target y", *parts, words=words)


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
    fails(argv, written, words=words)
    assert Path(read).read_bytes() == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="all may be read")
def test_permissions(fails, model):
    Path("data.csv").chmod(0)
    fails(f"learn data.csv {CLASSES}", words="permission denied")
    Path("folder").mkdir(0o500)
    write()
    fails(f"learn data.csv {CLASSES} --model folder/m.skops", words="denied")


def test_bad_models(fails, model):
    def refuses(words):
        for argv in (
            "predict data.csv --model bad.skops",
            "inspect bad.skops",
            "learn data.csv --target y --resume bad.skops",
        ):
            fails(argv, words=words)

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
    write_lines("length,town,zip,w", ["1,oslo,2,3"])
    fails(PREDICT, words="has no column 'city'")
    write_lines("length\tcity", ["1\toslo"])
    fails(PREDICT, words=r"\): pass --delimiter '\\t'.$")
    options = "--missing-columns ignore"
    works(PREDICT, options, r"--delimiter \t")
    Path("data.csv").rename("data")
    words = r"pass --file-format, one of \('csv', 'parquet', 'arrow', 'json'\)\."
    fails("predict data --model m.skops", options, words=words)


def test_unknown_class_in_test_file(fails):
    write("train.csv"), write("test.csv", late_class="maybe")
    argv = f"learn train.csv {CLASSES} --test-file test.csv --model m.skops"
    out = fails(argv, words="has the class maybe, but the model does not")
    assert score_in(out, "rows") == N_ROWS
    assert load("m.skops").n_samples_seen_ == N_ROWS


def test_scores_are_there_if_the_model_cannot_be_saved(fails, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    argv = f"learn {write()} {CLASSES} --model m.skops"
    out = fails(argv, words="m.skops: No space left on device.")
    assert score_in(out, "rows") == N_ROWS


@pytest.mark.parametrize("module", ["pyarrow", "skops"])
def test_missing_extras(fails, monkeypatch, module):
    argv = f"learn {write()} {CLASSES} --model m.skops"
    monkeypatch.setitem(sys.modules, module, None)
    fails(argv, words=rf"needs {module}: run `pip install \"\.\[all\]\"` in a clone")


def test_what_should_not_happen(fails, run, monkeypatch):
    def fail(*_):
        raise KeyError("what")

    monkeypatch.setattr(learn.RunningTable, "learn", fail)
    argv = f"learn {write()} {CLASSES}"
    fails(argv, words="KeyError: 'what' .*--traceback")
    with pytest.raises(KeyError):
        run(argv, "--traceback")


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
        *(f"{LEARN} --model m --save-every={n}" for n in ("0s", "5d", "-3", "1e3")),
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
        assert "exit status:" in works(*argv)
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
            f"learn {file} {TARGET} --chunk-rows 16 --model m.skops",
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
    text = Path(write()).read_text(encoding="utf-8").replace("yes", '"ja, så være"')
    Path("data.csv").write_text(text, encoding="utf-8")
    works(f"learn data.csv {CLASSES} --model m.skops")
    with stdout_in(open("inspected", "wb"), "ascii"):
        assert main(["inspect", "m.skops"]) == 0
    assert "ja, s\\xe5 v" in Path("inspected").read_text("ascii")
    with stdout_in(open("predicted", "wb"), "ascii"):
        assert main(PREDICT.split()) == 0
    assert "ja, så være" in Path("predicted").read_text("utf-8")
    works(PREDICT, "--output said.csv")
    assert Path("said.csv").read_bytes() == Path("predicted").read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="pipes are others")
@pytest.mark.parametrize("argv", [PREDICT, f"learn data.csv {CLASSES}"])
def test_broken_pipe(argv, model, capsys):
    """Nobody reads what it prints."""
    read, written = os.pipe()
    os.close(read)
    with stdout_in(open(written, "wb"), "utf-8"):
        assert main(argv.split()) == 1
    assert capsys.readouterr() == ("", "")
