"""Fixtures of the command line."""

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
