"""
Time and memory of a large file
===============================

Generates a file with numbers on all scales, categories and missing values, and learns
it in one pass: by ScInOL2, by the default mixture, and by `SGDClassifier`, all from the
rows that `TableEncoder` encodes. The table shows rows per second, scores of predictions
made before rows were learned (chunk by chunk with SGD), and the peak memory beyond that
of Python and the imported packages. Each learner has a process of its own. The figure
shows the log loss along the file::

    python examples/benchmarks/out_of_core.py --gigabytes 4
    python examples/benchmarks/out_of_core.py --gigabytes 0.1 --format csv
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import numpy as np
from interface import (
    InputError,
    add_output_dir,
    gives_status,
    panels,
    save_figure,
    show_progress,
)
from joblib.externals.loky import ProcessPoolExecutor
from sklearn.linear_model import SGDClassifier

from sklearn_scinol import HedgeClassifier, ScInOLClassifier
from sklearn_scinol.evaluation import progressive_validation
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder
from sklearn_scinol.streams import read_table

# %%
# A file
# ------

N_NUMBERS, N_CATEGORIES, BATCH_ROWS = 18, 200, 2**17


def batches(random):
    """Yield batches of an endless table."""
    import pyarrow as pa

    scales = 10.0 ** random.integers(-4, 5, N_NUMBERS)
    weights = random.normal(size=N_NUMBERS)
    effects = random.normal(size=N_CATEGORIES)
    names = np.array([f"city_{k}" for k in range(N_CATEGORIES)])
    while True:
        Z = random.normal(size=(BATCH_ROWS, N_NUMBERS))
        cities = random.integers(N_CATEGORIES, size=BATCH_ROWS)
        score = Z @ weights / 2 + np.abs(Z[:, 0]) + effects[cities]
        y = score + random.logistic(size=BATCH_ROWS) > 0
        X = np.where(random.random(Z.shape) < 0.02, np.nan, 5 * scales + scales * Z)
        columns = {
            f"x{j}": pa.array(X[:, j], from_pandas=True) for j in range(N_NUMBERS)
        }
        yield pa.table(columns | {"city": names[cities], "y": y.astype(np.int8)})


def generate(path, n_bytes):
    """Write a file of about the given size; return its number of rows."""
    import pyarrow.csv
    import pyarrow.parquet

    made = batches(np.random.default_rng(0))
    first = next(made)
    is_csv = path.suffix == ".csv"
    kind = pyarrow.csv.CSVWriter if is_csv else pyarrow.parquet.ParquetWriter
    with kind(path, first.schema) as writer:
        writer.write_table(first)
        others = range(n_batches(path, n_bytes))
        for _ in show_progress(others, "writing"):
            writer.write_table(next(made))
    return (1 + len(others)) * BATCH_ROWS


def n_batches(path, n_bytes):
    """Estimate the number of further batches to reach the size."""
    bytes_of_number = 18 if path.suffix == ".csv" else 8
    return int(n_bytes / (bytes_of_number * N_NUMBERS * BATCH_ROWS))


# %%
# Learners
# --------

LEARNERS = {
    "ScInOL2": ScInOLClassifier,
    "Hedge": HedgeClassifier,
    "SGDClassifier": lambda: SGDClassifier(loss="log_loss", random_state=0),
}


class Pass(NamedTuple):
    """One pass over a file."""

    scores: dict
    n_rows: int
    seconds: float
    megabytes: float  # beyond what was taken before; NaN where nobody knows
    points: np.ndarray  # numbers of rows
    losses: np.ndarray  # log loss over the rows so far


def learn(name, path):
    """Learn a file, in a new process."""
    before = peak_memory()
    model = make_online_pipeline(TableEncoder(), LEARNERS[name]())
    start = perf_counter()
    result = progressive_validation(
        model,
        read_table(path, target="y"),
        metrics=["neg_log_loss", "accuracy"],
        classes=[0, 1],
        progress=False,
    )
    return Pass(
        result.scores,
        int(result.n_samples[-1]),
        perf_counter() - start,
        peak_memory() - before,
        result.n_samples,
        -result.curves["neg_log_loss"],
    )


def peak_memory():
    """Return the peak memory of this process so far, in megabytes."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return np.nan
    kilobytes = getrusage(RUSAGE_SELF).ru_maxrss
    return kilobytes / (2**20 if sys.platform == "darwin" else 2**10)


def run(path, names):
    passes = {}
    for name in names:
        with ProcessPoolExecutor(1) as pool:
            passes[name] = pool.submit(learn, name, path).result()
    return passes


# %%
# Command line
# ------------

COLUMNS = "{:<16}{:>12}{:>10}{:>10}{:>10}{:>12}".format
HEADER = COLUMNS("learner", "rows", "rows/s", "log loss", "accuracy", "memory, MB")


def draw(passes):
    figure, (ax,) = panels(1, 1, 5.5, 3.5)
    for name, one in passes.items():
        ax.plot(one.points, one.losses, label=name)
    ax.set(xscale="log", xlabel="rows", ylabel="mean log loss so far")
    ax.set_ylim(0.95 * min(one.losses[-1] for one in passes.values()), 1)
    ax.legend(frameon=False)
    return figure


def parse(argv):
    parser = argparse.ArgumentParser(description="Learn a file larger than memory.")
    parser.add_argument("--gigabytes", type=float, default=0.2, help="(%(default)s)")
    parser.add_argument("--format", choices=["parquet", "csv"], default="parquet")
    parser.add_argument("--only", nargs="+", choices=LEARNERS, default=[*LEARNERS])
    parser.add_argument(
        "--folder", type=Path, help="where to write the file, which is deleted then"
    )
    add_output_dir(parser, "figure")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    if not arguments.gigabytes > 0:
        raise InputError("--gigabytes must be a number above 0.")
    with TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / f"rows.{arguments.format}"
        n_rows = generate(path, 2**30 * arguments.gigabytes)
        size = f"{path.stat().st_size / 2**30:.2f} GB"
        print(f"A file of {size}: {n_rows:,} rows of {N_NUMBERS} numbers and a city\n")
        passes = run(path, arguments.only)
    print("\n".join([HEADER, "-" * len(HEADER)]))
    for name, one in passes.items():
        speed = f"{one.n_rows / one.seconds:.0f}"
        loss = f"{-one.scores['neg_log_loss']:.4f}"
        accuracy = f"{one.scores['accuracy']:.4f}"
        memory = f"{one.megabytes:.0f}"
        print(COLUMNS(name, one.n_rows, speed, loss, accuracy, memory))
    print()
    save_figure(draw(passes), arguments.output_dir / "out_of_core.png")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
