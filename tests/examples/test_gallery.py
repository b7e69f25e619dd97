"""Scripts of the gallery are short, warn of nothing and draw figures."""

import re
import runpy
import tomllib

import pytest
from support import ROOT
from support.registry import THOROUGH
from support.scripts import EXAMPLES

from sklearn_scinol import config_context

pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

GALLERY = {path.stem: path for path in sorted(EXAMPLES.glob("plot_*.py"))}
#: `make doc` draws all.
DRAWN = [
    name
    for name, path in GALLERY.items()
    if THOROUGH or "Hedge" not in path.read_text("utf-8")
]


@pytest.fixture
def alt_texts():
    text = (ROOT / "doc" / "alt_texts.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def test_all_have_alt_texts(alt_texts):
    assert {f"plot_{name}" for name in alt_texts} == {*GALLERY}


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", DRAWN)
def test_draws(name, pyplot, alt_texts, monkeypatch, capsys):
    monkeypatch.setattr(pyplot, "show", lambda: None)  # which warns without a window
    with config_context(engine="numpy"):
        runpy.run_path(str(GALLERY[name]))
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    for figure in figures:
        figure.canvas.draw()
        assert any(ax.has_data() for ax in figure.axes)
    assert len(figures) == len(alt_texts[name.removeprefix("plot_")])
    out = capsys.readouterr().out
    assert out.count("\n") <= 6
    assert not re.search(r"/\w+/", out)  # no folder of this machine
