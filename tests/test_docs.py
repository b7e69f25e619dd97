"""What the README shows runs."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_readme(tmp_path, monkeypatch):
    """Its Python blocks, one after the other: a later one may use an earlier one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    text = README.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert blocks
    namespace = {}
    for block in blocks:
        # Blank lines before it, so that a traceback has the line of the README.
        source = "\n" * text.count("\n", 0, block.start(1)) + block[1]
        exec(compile(source, README, "exec"), namespace)
