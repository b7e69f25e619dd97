"""
Measure the numbers that the documentation quotes
=================================================

Runs the scripts whose numbers README and documentation quote, as listed in
`doc/measured/runs.toml`. The output of a script goes to a file in that
folder, with command, versions and kind of machine; its figures go to `doc/images`::

    make figures
    make figures ARGS="--data-dir FOLDER"
    python examples/benchmarks/measure.py hedge scales

Without names it runs the scripts that take less than ten minutes and need only the data
that come with scikit-learn, or the given folder. It lists the
others, with the reason. To store the output of a script that ran elsewhere, with the
same versions, pass ``--store FILE`` after its name.

`tests/package/test_numbers.py` compares the numbers of the pages with the stored
output, and `doc/tables.py` makes tables of it; `make figures` runs that, too.
"""

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from interface import InputError, gives_status
from PIL import Image

EXAMPLES = Path(__file__).resolve().parents[1]
MEASURED = EXAMPLES.parent / "doc" / "measured"
PACKAGES = "sklearn-scinol", "numpy", "scipy", "scikit-learn", "numba"


def reason_not_to(run, data_dir):
    """Return why a script is not run, or an empty text."""
    missing = [name for name in run.get("packages", ()) if find_spec(name) is None]
    if "FOLDER" in run["command"] and data_dir is None:
        return "needs --data-dir FOLDER"
    return f"needs {' and '.join(missing)}" if missing else ""


def printed_by(run, data_dir, folder):
    """Run a script, move its figures to the pages' folder, and return its output."""
    script, *options = shlex.split(run["command"].replace("FOLDER", str(data_dir)))
    if "figures" in run:
        options += ["--output-dir", folder]
    command = [sys.executable, EXAMPLES / script, *options]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        check=False,
        text=True,
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "Agg"},
    )
    if done.returncode:
        raise InputError(f"{script} ended with status {done.returncode}.")
    for figure in run.get("figures", ()):
        target = EXAMPLES.parent / "doc" / "images" / figure
        if target.suffix == ".png":  # smaller, with a palette
            image = Image.open(Path(folder, figure)).convert("RGB")
            image.quantize(128).save(target, optimize=True)
        else:
            shutil.copy(Path(folder, figure), target)
    return done.stdout


def store(name, run, printed, data_dir):
    """Write the output of a script, without the names of folders."""
    if data_dir is not None:
        printed = printed.replace(str(data_dir), "FOLDER")
    lines = [line.rstrip() for line in printed.splitlines()]
    measured = {
        "command": f"python examples/{run['command']}",
        "versions": {"Python": platform.python_version()}
        | {package: version(package) for package in PACKAGES}
        | {package: version(package) for package in run.get("packages", ())},
        "machine": {"cores": os.cpu_count(), "architecture": platform.machine()},
        "printed": [line for line in lines if not line.startswith("Wrote ")],
    }
    text = json.dumps(measured, indent=1, ensure_ascii=False)
    (MEASURED / f"{name}.json").write_text(text + "\n", encoding="utf-8")


@gives_status
def main(argv=None):
    runs = tomllib.loads((MEASURED / "runs.toml").read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(runs)}")
    parser.add_argument("--data-dir", type=Path, metavar="FOLDER", help="more data")
    parser.add_argument("--store", type=Path, metavar="FILE", help="what one printed")
    arguments = parser.parse_args(argv)
    if unknown := {*arguments.names} - {*runs}:
        parser.error(f"runs.toml has no {', '.join(sorted(unknown))}")
    data_dir = arguments.data_dir and arguments.data_dir.resolve()
    if arguments.store:
        (name,) = arguments.names
        store(name, runs[name], arguments.store.read_text(encoding="utf-8"), data_dir)
        return
    for name in arguments.names or runs:
        run = runs[name]
        why_not = "" if arguments.names else run.get("by_name", "")
        if why_not := why_not or reason_not_to(run, data_dir):
            print(f"{name}: not run, {why_not}: {run['command']}", flush=True)
            continue
        start = time.perf_counter()
        with TemporaryDirectory() as folder:
            store(name, run, printed_by(run, data_dir, folder), data_dir)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
