"""Fixtures of scripts in `examples/`."""

import inspect

import pytest


@pytest.fixture
def script(load, monkeypatch):
    """Import a benchmark by its name, with other values of some of its names."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")

    def script(name, **values):
        module = load(name)
        for each, value in values.items():
            monkeypatch.setattr(module, each, value)
        return module

    return script


@pytest.fixture
def run(capsys):
    """Run a script; return what it prints."""

    def run(script, *options):
        given = inspect.signature(script.main).parameters and [[*map(str, options)]]
        status = script.main(*given)
        out, err = capsys.readouterr()
        assert not status, err
        return out

    return run
