"""Learning that is stopped goes on where it was, to the last bit."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from functools import partialmethod
from io import BytesIO, TextIOWrapper
from itertools import count
from pathlib import Path

import pytest
from support.comparisons import assert_identical, learned
from support.files import N_ROWS, WRITERS, table, write_csv

from sklearn_scinol import persistence
from sklearn_scinol.cli import learn, main, saving
from sklearn_scinol.cli.saving import Saver
from sklearn_scinol.persistence import load, load_with_progress

pytest.importorskip("skops", reason="skops is not installed")

#: Size of the blocks of text files that are read.
BLOCK_BYTES = 700

SMALL = "--estimator scinol --n-hashed 64"
CHUNKS = "--kind zip=drop --chunk-rows 30"
CLASSES = f"--target y {SMALL} --kind amount=drop {CHUNKS}"
AMOUNTS = f"--target amount {SMALL} --kind y=drop {CHUNKS}"
MIXTURE = f"--target y --n-hashed 64 {CHUNKS}"

ENDINGS = ".csv", ".csv.gz", ".parquet", ".arrow", ".arrows", ".jsonl"


class Killed(BaseException):
    """Stands for a signal that nothing can handle."""


def kill_after(n_chunks, patch):
    """Stop learning before a further chunk, as if the process was killed."""
    number, learn_chunk = count(), learn.RunningTable.learn

    def learn_or_stop(running, *chunk):
        if next(number) == n_chunks:
            raise Killed
        learn_chunk(running, *chunk)

    patch.setattr(learn.RunningTable, "learn", learn_or_stop)


def write_at_once(patch):
    """Write each file at once, so that it has what was learned up to the kill."""
    add = Saver.add
    patch.setattr(Saver, "add", lambda saver, n: (add(saver, n), saver.join()))


def go_on(message):
    """The command that a message names."""
    (command,) = re.findall("`(.*)`", message)
    return " ".join(shlex.split(command)[1:])


def learn_and_kill(works, argv, kills, capsys):
    """Learn with kills after so many chunks each, and to the end; what is printed."""
    for n_chunks in kills:
        message = killed(f"{argv} --model m.skops --save-every 1", n_chunks)
        argv = go_on(message)
    capsys.readouterr()
    return works(argv)


def killed(argv, n_chunks):
    """Learn until it is killed; the note on how to go on."""
    with pytest.MonkeyPatch.context() as patch:
        write_at_once(patch)
        kill_after(n_chunks, patch)
        with pytest.raises(Killed) as error:
            main(argv.split())
    return error.value.__notes__[-1]


def final_scores(out):
    """The lines of the report, but for the speed."""
    lines = re.findall(r"^([a-zR][\w ]+?) +([\d.,e+-]+)$", out, re.M)
    return [line for line in lines if "per second" not in line[0]]


def report_of(path):
    """All of a report but times."""
    report = json.loads(Path(path).read_text())
    return {name: report[name] for name in report if "second" not in name}


def assert_same_model(path, other):
    for step, expected in zip(load(path), load(other), strict=True):
        assert_identical(vars(step), vars(expected))


@pytest.fixture
def check(run, works, capsys):
    """Check that learning with kills gives what it gives without, to the last bit."""

    def check(argv, kills=(1, 2, 3)):
        status, out, _ = run(argv, "--model whole.skops --report whole.json")
        assert status == 0
        resumed = learn_and_kill(works, f"{argv} --report r.json", kills, capsys)
        assert "Going on after row" in resumed
        assert final_scores(resumed) == final_scores(out) != []
        assert_same_model("m.skops", "whole.skops")
        assert report_of("r.json") == report_of("whole.json")
        assert load_with_progress("m.skops")[1]["position"] is None

    return check


@pytest.mark.parametrize("ending", ENDINGS)
def test_formats(check, ending):
    names = [f"{part}{ending}" for part in "abc"]
    for i, name in enumerate(names):
        WRITERS[ending](name, table(80 * i, 80 * (i + 1)))
    check(f"learn {' '.join(names)} {CLASSES}", kills=(2, 3))


KNOWN = "--kind known=drop"
DELAYS = {
    "rows": f"--delay 7 {KNOWN}",
    "time": f"--delay 30h --time when {KNOWN}",
    "label time": "--label-time known --time when",
}


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "options", [CLASSES, AMOUNTS, MIXTURE], ids=["classes", "amounts", "mixture"]
)
@pytest.mark.parametrize("delay", DELAYS)
def test_rows_that_wait(check, delay, options):
    write_csv("a.csv", table())
    check(f"learn a.csv {options} {DELAYS[delay]}")


@pytest.mark.parametrize(
    "options",
    [
        f"{CLASSES} --alarms 0.01 --weight w",
        f"{AMOUNTS} --alarms 0.05 --confidence-level 0.8",
        f"{CLASSES} --key city --time when --delay 30h",
        f"{CLASSES} --key city --time when",
    ],
    ids=["alarms", "intervals", "late history", "history"],
)
def test_options(check, options):
    write_csv("a.csv", table())
    check(f"learn a.csv {options}")


def test_bad_rows(run, check):
    """Are counted once, wherever learning stops among them."""
    for name, start, stop in ("a.csv", 0, 100), ("b.csv", 100, N_ROWS):
        write_csv(name, table(start, stop))
        lines = Path(name).read_text().splitlines()
        for i in range(2, len(lines), 9):
            lines[i : i + 1] = ["1,2", lines[i], "1,2,3"]
        Path(name).write_text("\n".join([*lines, "1,2"]))
    argv = f"learn a.csv b.csv {CLASSES} --on-bad-row skip"
    check(argv, kills=(1, 1, 1, 1, 1))
    assert "bad rows left out" in run(argv)[1]


@pytest.fixture
def feed(monkeypatch):
    """Write all rows into a.csv, and feed the header and those from a row on."""
    write_csv("a.csv", table())
    header, *rows = Path("a.csv").read_text().splitlines(keepends=True)

    def feed(first):
        text = "".join([header, *rows[first - 1 :]]).encode()
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text)))

    return feed


def test_standard_input(works, feed):
    """It says what to feed, and learns that."""
    argv = f"learn - {CLASSES}"
    feed(1)
    works(argv, "--model whole.skops")
    for n_chunks, first in (2, 1), (3, 61):
        feed(first)
        note = killed(f"{argv} --model m.skops --save-every 1", n_chunks)
        assert "m.skops has the model up to row" in note
        found = re.search("feed it from row ([0-9]+) on, below the header", note)
        argv = go_on(note)
    feed(int(found[1]))
    out = works(argv)
    assert "Standard input should begin with the row after row 150 of -." in out
    assert_same_model("m.skops", "whole.skops")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are others")
def test_pipe_that_stays_open(works, feed, environment):
    """Rows are learned and saved while none come, and others later."""
    lines = Path("a.csv").read_text().splitlines(keepends=True)
    code = (
        "import sys; from sklearn_scinol import cli, config\n"
        "with config.config_context(engine='numpy'): sys.exit(cli.main())\n"
    )
    argv = f"learn - {CLASSES} --model m.skops --save-every 0.1s"
    learning = subprocess.Popen(
        [sys.executable, "-c", code, *argv.split()],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for start, stop in (0, 100), (100, 150):
        learning.stdin.write("".join(lines[start + bool(start) : stop + 1]))
        learning.stdin.write(lines[stop + 1][:5])
        learning.stdin.flush()
        lines[stop + 1] = lines[stop + 1][5:]
        wait_for_row(stop)
    learning.send_signal(signal.SIGTERM)
    _, err = learning.communicate(timeout=300)
    assert learning.returncode == 130
    assert "m.skops has the model up to row 150 of -: feed it from row 151 on" in err
    feed(151)
    works(go_on(err))
    works(f"learn a.csv {CLASSES} --model whole.skops")
    for step, expected in zip(load("m.skops"), load("whole.skops"), strict=True):
        assert_identical(learned(step), learned(expected))


def wait_for_row(row):
    """Wait until the model is saved that has learned so many rows."""
    end = time.monotonic() + 300.0
    while time.monotonic() < end:
        if Path("m.skops").exists():
            progress = load_with_progress("m.skops")[1]
            if progress["position"][1] == row:
                return
        time.sleep(0.05)
    pytest.fail(f"no model that has learned {row} rows")


@pytest.mark.usefixtures("interruptions")
def test_interruption_saves(run, works):
    """It waits for the chunk, and the command that it names goes on."""
    write_csv("a.csv", table())
    argv, learn_chunk = f"learn a.csv {CLASSES} -q", learn.RunningTable.learn
    works(argv, "--model whole.skops")

    def interrupt_and_learn(running, *chunk, number):
        if running.n_added == 60:
            os.kill(os.getpid(), number)
        learn_chunk(running, *chunk)

    for number in signal.SIGINT, signal.SIGTERM:
        with pytest.MonkeyPatch.context() as patch:
            interrupted = partialmethod(interrupt_and_learn, number=number)
            patch.setattr(learn.RunningTable, "learn", interrupted)
            status, out, err = run(argv, "--model m.skops")
        assert status == 130
        assert dict(final_scores(out))["rows"] == "90"
        begin = "Interrupted. 90 rows were learned. m.skops has the model up to row"
        assert err.startswith(f"{begin} 90 of a.csv: to go on run `")
        works(go_on(err))
        assert_same_model("m.skops", "whole.skops")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


LEARN = f"learn a.csv b.csv {CLASSES} --chunk-rows 20 --model"


@pytest.fixture
def stopped(run):
    """A model saved after 100 rows of a.csv, of which the next is bad; how to go on."""
    write_csv("a.csv", table(0, 100))
    write_csv("b.csv", table(100))
    text = Path("a.csv").read_text()
    Path("a.csv").write_text(f"{text}1,2\n")
    status, _, err = run(LEARN, "m.skops")
    assert status == 1
    assert "Row 101 of a.csv has 2 values" in err
    return go_on(err)


def test_errors_save_what_was_learned(fails, works, stopped):
    """A bad row can be repaired, or skipped, and learning goes on."""
    before = Path("m.skops").read_bytes()
    said = "100 rows were learned. m.skops has the model up to row 100"
    fails(stopped, words=said)
    assert Path("m.skops").read_bytes() == before
    out = works(stopped, "--on-bad-row skip")
    assert dict(final_scores(out))["rows"] == str(N_ROWS)
    write_csv("a.csv", table(0, 100))
    works(LEARN, "whole.skops")
    assert_same_model("m.skops", "whole.skops")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("$", " --delay 3", "--delay has changed: .* without it"),
        ("$", " --weight w", "--weight has changed"),
        (" a.csv", "", "at row 100 of a.csv: pass a"),
        ("^learn", "learn b.csv", "pass a.csv b.csv to go on, or"),
    ],
)
def test_what_must_stay_the_same(fails, stopped, old, new, words):
    fails(re.sub(old, new, stopped), words=f"{words}.*--from-start")


def test_files_that_have_changed(fails, stopped):
    text = Path("a.csv").read_text()
    Path("a.csv").write_text(text[:1000])
    fails(stopped, words="a.csv cannot be read: it is shorter than when it was read")


def test_from_start(works, stopped):
    """All rows are learned again, by a model that has learned some."""
    write_csv("a.csv", table(0, 100))
    assert "Going on" not in works(stopped, "--from-start")
    assert load("m.skops").n_samples_seen_ == 100 + N_ROWS
    # It has come to the end of all files: others are learned as a whole. The same ones
    # are not learned twice, if a kill came between the last save and the end.
    out = works(stopped, "--model n.skops")
    assert out == "These files are learned: --from-start learns them again.\n"
    assert_identical(vars(load("n.skops")[-1]), vars(load("m.skops")[-1]))
    write_csv("a.csv", table(0, 100))
    works(stopped)
    assert load("m.skops").n_samples_seen_ == 100 + 2 * N_ROWS


def test_nothing_is_left(run, works):
    """Learning stopped after the last row, before the end of the files was seen."""
    write_csv("a.csv", table(0, 90))
    argv = f"learn a.csv {CLASSES} --model"
    whole = works(argv, "whole.skops")
    with pytest.MonkeyPatch.context() as patch:
        write_at_once(patch)
        patch.setattr(learn.RunningTable, "learn_rest", lambda _: int(""))
        status, _, err = run(argv, "m.skops --save-every 30")
    assert status == 1
    assert "m.skops has the model up to row 90 of a.csv" in err
    out = works("learn a.csv --target y --resume m.skops")
    assert final_scores(out) == final_scores(whole)


def test_predict_with_a_model_that_is_not_finished(works, stopped):
    out = works("predict b.csv --model m.skops")
    assert len(out.splitlines()) == 1 + 140


# When it is saved.


def test_saved_when_it_is_time_and_something_was_learned(works, monkeypatch):
    write_csv("a.csv", table())
    saved, write = [], Saver._write

    def record(saver, model, progress):
        saved.append(progress["position"] and progress["position"][1])
        write(saver, model, progress)

    write_at_once(monkeypatch)
    monkeypatch.setattr(Saver, "_write", record)
    argv = f"learn a.csv {CLASSES} --model m.skops --save-every"
    works(argv, "50")
    assert saved == [60, 120, 180, 240, None]
    saved.clear()
    works(argv, "1h")
    assert saved == [None]
    saved.clear()
    clock = count()
    monkeypatch.setattr(saving, "perf_counter", lambda: next(clock))
    works(argv, "3s")
    assert len(saved) > 2


def test_saving_that_fails_is_tried_again(run, monkeypatch):
    write_csv("a.csv", table())
    fails, save = iter([True, False]), persistence.save_with_progress

    def save_or_fail(*given):
        if next(fails, False):
            raise OSError(28, "No space left on device", "m.skops")
        save(*given)

    write_at_once(monkeypatch)
    monkeypatch.setattr(persistence, "save_with_progress", save_or_fail)
    status, _, err = run(f"learn a.csv {CLASSES} --model m.skops --save-every 50")
    assert status == 0
    assert err == "m.skops is not saved now: m.skops: No space left on device.\n"
    assert load("m.skops").n_samples_seen_ == N_ROWS


# Damaged files.


@pytest.mark.cases(4)
@pytest.mark.parametrize("key", ["position", "table", "roles", "files", "bad_rows"])
def test_forged_progress(fails, stopped, key):
    model, progress = load_with_progress("m.skops")
    persistence.save_with_progress(model, progress | {key: [3, "x"]}, "m.skops")
    argv = "learn a.csv b.csv --target y --resume m.skops"
    fails(argv, words="m.skops is not a saved model, or is damaged")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are others")
def test_killed_process(environment, works):
    """Killed in earnest, after it was saved."""
    write_csv("a.csv", table())
    code = (
        "import os, signal, sys; from sklearn_scinol import cli, config\n"
        "old = cli.learn.RunningTable.learn\n"
        "def new(table, *chunk):\n"
        "    old(table, *chunk)\n"
        "    if table.n_added == 150:\n"
        "        while not os.path.exists('m.skops'): pass\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "cli.learn.RunningTable.learn = new\n"
        "with config.config_context(engine='numpy'): sys.exit(cli.main())\n"
    )
    argv = f"learn a.csv {CLASSES} --model"
    command = [sys.executable, "-c", code, *f"{argv} m.skops --save-every 60".split()]
    killed = subprocess.run(command, env=environment, check=False).returncode
    assert killed == -signal.SIGKILL
    again = "--target y --chunk-rows 30 --resume m.skops --model m.skops"
    works(f"learn a.csv {again}")
    works(argv, "whole.skops")
    assert_same_model("m.skops", "whole.skops")
