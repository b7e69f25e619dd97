"""
Learning that is killed and resumed
===================================

Learns a file by the command line, once as a whole, and once with a number of kills at
random times (SIGKILL), after each of which `--resume` goes on from the latest save. The
models must be equal to the last bit. The table shows the time of both, start-up of all
processes included, what a kill costs, and the longest time for which a save kept
learning waiting::

    python examples/benchmarks/resume.py --rows 3000000 --kills 10
    python examples/benchmarks/resume.py --rows 200000 --kills 3 --estimator hedge
"""

import argparse
import os
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from hashlib import sha256
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from interface import InputError, gives_status
from out_of_core import batches

from sklearn_scinol.cli import main as run_command
from sklearn_scinol.cli.saving import Saver
from sklearn_scinol.persistence import load

# %%
# Equal models
# ------------


def fingerprint(model):
    """Return a hash of all that a model has learned, to the last bit."""
    digest = sha256()
    _add(model, digest, set())
    return digest.hexdigest()


def _add(thing, digest, parents):
    digest.update(type(thing).__name__.encode())
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        digest.update(f"{thing.dtype}{thing.shape}".encode() + thing.tobytes())
    elif isinstance(thing, (list, tuple, dict, np.ndarray)):
        for each in thing.items() if isinstance(thing, dict) else thing:
            _add(each, digest, parents)
    elif isinstance(thing, frozenset):  # random names of where a model began
        digest.update(str(len(thing)).encode())
    elif hasattr(thing, "__dict__") and not callable(thing):
        if id(thing) not in parents:
            _add(vars(thing), digest, {*parents, id(thing)})
    elif not hasattr(thing, "__dict__"):
        digest.update(repr(thing).encode())


# %%
# Learning
# --------


def write_rows(path, n_rows):
    """Write a CSV file of numbers on all scales, and a city."""
    import pyarrow.csv

    with open(path, "wb") as file:
        for table in batches(np.random.default_rng(0)):
            part = table.slice(0, n_rows)
            options = pyarrow.csv.WriteOptions(include_header=file.tell() == 0)
            pyarrow.csv.write_csv(part, file, options)
            n_rows -= len(part)
            if not n_rows:
                return


def command(path, model, options):
    return ["learn", str(path), "--target", "y", "--model", str(model), "-q", *options]


def learn(argv, seconds=None):
    """Learn in a process of its own, for so long at most; return whether it ended."""
    command = [sys.executable, "-m", "sklearn_scinol", *argv]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            return False
    if status:
        raise InputError(f"learning has failed with status {status}.")
    return True


def learn_with_kills(path, model, new, options, seconds):
    """Learn a file, killed after each of these times; return the number of kills."""
    n_kills = 0
    for limit in [*seconds, None]:
        how = ["--resume", str(model)] if model.exists() else new
        if learn(command(path, model, [*options, *how]), limit):
            break
        n_kills += 1
    return n_kills


def longest_pause(path, model, new, options):
    """Return the longest time for which a save keeps learning waiting, in seconds."""
    pauses, add = [0.0], Saver.add

    def timed(saver, n_rows):
        start = perf_counter()
        add(saver, n_rows)
        pauses.append(perf_counter() - start)

    Saver.add = timed
    try:
        with redirect_stdout(TextIOWrapper(BytesIO())):
            run_command(command(path, model, [*options, *new]))
    finally:
        Saver.add = add
    return max(pauses)


# %%
# Command line
# ------------

COLUMNS = "{:<14}{:>12}{:>14}{:>8}{:>15}{:>8}{:>14}{:>11}".format
HEADER = COLUMNS(
    *("learner", "rows", "as a whole, s", "kills", "with kills, s", "more"),
    *("s per kill", "pause, ms"),
)


def parse(argv):
    parser = argparse.ArgumentParser(description="Kill learning, and resume it.")
    parser.add_argument("--rows", type=int, default=100_000, help="(%(default)s)")
    parser.add_argument("--kills", type=int, default=3, help="(%(default)s)")
    parser.add_argument("--estimator", default="scinol", help="(%(default)s)")
    parser.add_argument("--save-every", default="2s", help="(%(default)s)")
    parser.add_argument("--chunk-rows", default="8192", help="(%(default)s)")
    parser.add_argument("--folder", help="where to write the file, deleted then")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    if min(arguments.rows, arguments.kills) < 1:
        raise InputError("--rows and --kills must be at least 1.")
    new = ["--estimator", arguments.estimator]
    chunks = ["--chunk-rows", arguments.chunk_rows]
    options = [*chunks, "--save-every", arguments.save_every]
    random = np.random.default_rng(0)
    with TemporaryDirectory(dir=arguments.folder) as folder:
        path, whole, model = (Path(folder, name) for name in ("rows.csv", "w", "m"))
        write_rows(path, arguments.rows)
        start = perf_counter()
        learn(command(path, whole, [*chunks, *new]))
        seconds = perf_counter() - start
        # The time between two kills is that of all rows, divided, and a start.
        limits = random.uniform(0.5, 1.5, arguments.kills) * seconds / arguments.kills
        start = perf_counter()
        n_kills = learn_with_kills(path, model, new, options, limits)
        with_kills = perf_counter() - start
        if fingerprint(load(model)) != fingerprint(load(whole)):
            raise InputError("the models differ.")
        pause = longest_pause(path, Path(folder, "p"), new, options)
    more = with_kills - seconds
    print("\n".join([HEADER, "-" * len(HEADER)]))
    print(
        COLUMNS(
            *(arguments.estimator, f"{arguments.rows:,}", f"{seconds:.1f}", n_kills),
            *(f"{with_kills:.1f}", f"{more / seconds:.1%}"),
            *(f"{more / max(n_kills, 1):.2f}", f"{1000 * pause:.1f}"),
        )
    )
    print("The models are equal to the last bit.")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
