"""Fixtures of the command line."""

import os
import re
import signal
from pathlib import Path

import pytest

import sklearn_scinol
from sklearn_scinol.cli import main


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch, request):
    """Names of files are short; blocks of text have a few rows, if a module says so."""
    monkeypatch.chdir(tmp_path)
    if size := getattr(request.module, "BLOCK_BYTES", None):
        monkeypatch.setattr("sklearn_scinol.streams.text.BLOCK_BYTES", size)
        monkeypatch.setattr("sklearn_scinol.streams.text.MIN_BLOCK_ROWS", 1)


@pytest.fixture
def run(capsys):
    """Run a command, some of whose words are in one text; status, stdout, stderr."""

    def run(*argv):
        words = [word for part in argv for word in str(part).split(" ")]
        return main(words), *capsys.readouterr()

    return run


@pytest.fixture
def interruptions():
    """Are not ignored, whatever runs the tests, nor by processes that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def environment():
    """The environment of processes, which learn few rows."""
    package = Path(sklearn_scinol.__file__).parents[1]
    return os.environ | {
        "PYTHONPATH": str(package),
        "PYTHONIOENCODING": "utf-8",
        "NUMBA_DISABLE_JIT": "1",
    }


@pytest.fixture
def works(run):
    """Run a command that succeeds without a message; return what it printed."""

    def works(*argv):
        status, out, err = run(*argv)
        assert (status, err) == (0, "")
        return out

    return works


@pytest.fixture
def fails(run):
    """Run a command that fails; the sentence it says, after what it printed."""

    def fails(*argv, status=1, words):
        found, out, err = run(*argv)
        assert found == status, err
        assert err.count("\n") == 1
        assert err.endswith((".\n", ".)\n"))
        assert re.search(words, err), err
        return out

    return fails
