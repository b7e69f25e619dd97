"""Run the blocks of code that pages show, each alone, and compare what they print.

A block of "python" runs in a process and a folder of its own. What it prints stands in
the block of "text" right after it; one that prints nothing has none. Blocks of "python
no-run" are left out. As a script it does so for pages and says what differs, or writes
it into them with `--write`.
"""

import argparse
import atexit
import gc
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "doc").rglob("*.md"))]
BLOCK = re.compile(
    r"^```python\n(?P<source>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
SECONDS = 120
# What blocks may need, and the tests may not have.
OPTIONAL = "dask", "matplotlib", "pandas", "polars", "pyarrow", "skops"
# Large ones, each with a test of its own: what they warn of is theirs.
ENGINES = "mlflow", "pyspark", "ray"
# A broker of Kafka that has rows for one of the pages.
STAND_INS = ROOT / "tests" / "stand_ins"
# What nearly all import, or what takes long.
COMMON = "sklearn.datasets", "sklearn_scinol.evaluation", "sklearn_scinol.streams"
COMMON += "matplotlib.pyplot", "pandas", "skops.io"


class Snippet(NamedTuple):
    """A block of a page."""

    page: Path
    line: int
    source: str
    shown: str

    @property
    def name(self):
        page = self.page
        page = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
        return f"{page.as_posix()}:{self.line}"

    def imports(self, name):
        pattern = rf"^\s*(import|from) {name}\b"
        return re.search(pattern, self.source, re.MULTILINE) is not None

    @property
    def engine(self):
        """The one of `ENGINES` that it imports, or None."""
        return next(filter(self.imports, ENGINES), None)

    def missing(self):
        """A package that it imports and that is not installed."""
        needed = [*filter(self.imports, OPTIONAL)]
        needed += ["pyarrow"] * ("read_table" in self.source)
        needed += ["skops"] * (".persistence" in self.source)
        return next((n for n in needed if importlib.util.find_spec(n) is None), None)


def snippets(page):
    """Read the code blocks of a page, with the output shown below each."""
    text = page.read_text(encoding="utf-8")
    found = []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start("source")) + 1
        found.append(Snippet(page, line, block["source"], block["shown"] or ""))
    return found


def printed(snippet):
    """Run a block; return what it prints, with the traceback if it fails."""
    # Not a TemporaryDirectory: a copy of this process would delete it in the end.
    folder = Path(mkdtemp())
    try:
        script, output = folder / "snippet.py", folder / "output"
        # Blank lines before it, so that a traceback has the line of the page.
        script.write_text("\n" * (snippet.line - 1) + snippet.source, encoding="utf-8")
        work, errors = folder / "work", folder / "errors"
        work.mkdir()
        with output.open("wb") as stdout, errors.open("wb") as stderr:
            if hasattr(os, "fork"):
                status = in_copy_of_this_process(script, work, stdout, stderr)
            else:
                status = subprocess.run(
                    [sys.executable, script],
                    cwd=work,
                    stdout=stdout,
                    stderr=stderr,
                    timeout=SECONDS,
                    check=False,
                    env=os.environ | {"PYTHONIOENCODING": "utf-8"},
                ).returncode
        said = output.read_text(encoding="utf-8")
        if status:
            said += f"Status {status}\n" + errors.read_text(encoding="utf-8")
        return said.replace(str(script), snippet.name)
    finally:
        shutil.rmtree(folder)


def in_copy_of_this_process(script, folder, stdout, stderr):
    """Run a script as a fresh interpreter would that has imported what takes long."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 0
    try:
        os.setsid()
        os.chdir(folder)
        os.dup2(stdout.fileno(), 1)
        os.dup2(stderr.fileno(), 2)
        sys.argv = [str(script)]
        main = ModuleType("__main__")
        main.__file__ = str(script)
        sys.modules["__main__"] = main
        code = compile(script.read_text(encoding="utf-8"), str(script), "exec")
        signal.alarm(SECONDS)
        exec(code, main.__dict__)
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        # As at the end of an interpreter: pools of processes are told to go.
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def run(pages=PAGES, engine=None):
    """Run the blocks that import `engine` in a new process; return what each prints.

    Others run on the NumPy engine, their own processes too: compiling takes longer.
    """
    with TemporaryDirectory() as folder:
        numpy = "from sklearn_scinol import set_config; set_config(engine='numpy')"
        if engine is None:  # which have threads, for which this would not hold
            Path(folder, "sitecustomize.py").write_text(numpy, encoding="utf-8")
        path = os.pathsep.join([folder, str(STAND_INS), *filter(None, sys.path)])
        options = ["--engine", engine] if engine else []
        command = [sys.executable, "-W", "default" if engine else "error", __file__]
        done = subprocess.run(
            [*command, "--json", *options, *map(str, pages)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env=os.environ | {"PYTHONPATH": path, "MPLBACKEND": "agg"},
        )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def answer(pages, engine=None):
    """Run blocks in copies of this process, after the imports that many share."""
    for name in COMMON if len(pages) > 1 else ():
        if importlib.util.find_spec(name.partition(".")[0]):
            importlib.import_module(name)
    gc.freeze()  # or the collector of each copy writes to all pages of memory
    found = [snippet for page in pages for snippet in snippets(page)]
    return {
        s.name: printed(s) for s in found if s.engine == engine and s.missing() is None
    }


def write(page, said):
    """Put what blocks print into a page."""
    blocks = iter(snippets(page))

    def shown(block):
        snippet = next(blocks)
        output = said.get(snippet.name, snippet.shown)
        text = f"```python\n{snippet.source}```\n"
        return text + (f"\n```text\n{output}```\n" if output else "")

    text = page.read_text(encoding="utf-8")
    page.write_text(BLOCK.sub(shown, text), encoding="utf-8")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", type=lambda p: Path(p).resolve())
    parser.add_argument("--json", action="store_true", help="print what they print")
    parser.add_argument("--engine", choices=ENGINES, help="those that import it")
    parser.add_argument("--write", action="store_true", help="write it into the pages")
    arguments = parser.parse_args(argv)
    pages = arguments.pages or PAGES
    if arguments.json:
        json.dump(answer(pages, arguments.engine), sys.stdout)
        return 0
    said, wrong = run(pages, arguments.engine), 0
    for page in pages:
        for snippet in snippets(page):
            output = said.get(snippet.name, snippet.shown)
            if output != snippet.shown:
                wrong += 1
                print(f"{snippet.name}\n{output}")
        if arguments.write:
            write(page, said)
    print(f"{len(said)} blocks ran, {wrong} printed something else than is shown.")
    return wrong > 0 and not arguments.write


if __name__ == "__main__":
    sys.exit(main())
