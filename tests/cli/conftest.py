"""Fixtures of the command line."""

import re

import pytest

from sklearn_scinol.cli import main


@pytest.fixture
def in_folder(tmp_path, monkeypatch, request):
    """Names of files are short, and blocks of text have a few rows."""
    monkeypatch.chdir(tmp_path)
    size = request.module.BLOCK_BYTES
    monkeypatch.setattr("sklearn_scinol.streams.text.BLOCK_BYTES", size)
    monkeypatch.setattr("sklearn_scinol.streams.text.MIN_BLOCK_ROWS", 1)


@pytest.fixture
def run(capsys):
    """Run a command; its status, stdout and stderr."""

    def run(*argv):
        return main(list(map(str, argv))), *capsys.readouterr()

    return run


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
