"""
Reading files, compared with pyarrow
====================================

Times :func:`~sklearn_scinol.streams.read_table` and pyarrow on the same files,
alternately, in one process, and prints medians of the times and of the ratios::

    python examples/benchmarks/reading.py
    python examples/benchmarks/reading.py --rows 100000 --repeats 3

The files have 18 columns of numbers, two of categories and a class. "scan" is pyarrow's
dataset, which has a few batches in memory, as `read_table` does; "whole" reads all of
the file at once. "learn" is a loop of `partial_fit` over the numbers, from the file to
the model. Quote the ratios: all times are measured alternately on one machine.
"""

import argparse
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.streams import read_table

NUMBERS = [f"x{i}" for i in range(18)]

#: For each ending, how a table is written to a file, and a file is read as a whole.
FORMATS = {
    ".csv": (pyarrow.csv.write_csv, pyarrow.csv.read_csv),
    ".parquet": (pyarrow.parquet.write_table, pyarrow.parquet.read_table),
    ".feather": (pyarrow.feather.write_feather, pyarrow.feather.read_table),
}


def generate(n_rows):
    """Generate a random table."""
    random = np.random.default_rng(0)
    X = random.normal(size=(len(NUMBERS), n_rows)) * 10.0 ** random.integers(
        -2, 3, (len(NUMBERS), 1)
    )
    y = X.T @ (random.normal(size=len(X)) / X.std(axis=1)) > 0
    cities = np.array([f"city_{i}" for i in range(300)])
    colours = np.array(["red", "green", "blue"])
    return pa.table(
        dict(zip(NUMBERS, X.round(6), strict=True))
        | {
            "city": cities[random.integers(300, size=n_rows)],
            "colour": colours[random.integers(3, size=n_rows)],
            "y": y.astype(int),
        }
    )


def scan(file):
    """Read a file with pyarrow's dataset."""
    batches = pa.dataset.dataset(file, format=file.suffix[1:]).to_batches()
    return sum(batch.num_rows for batch in batches)


def stream(file):
    """Read a file in chunks."""
    return sum(len(y) for _, y in read_table(file, target="y"))


def learn(file):
    """Learn from the numbers of a file."""
    model = ScInOLClassifier()
    for X, y in read_table(file, target="y", columns=NUMBERS):
        model.partial_fit(X, y, classes=[0, 1])
    return model.n_samples_seen_


def seconds(function, file):
    start = perf_counter()
    n_rows = function(file)
    return perf_counter() - start, n_rows


def compare(file, whole, n_rows, repeats):
    """Return medians of times, and of our times divided by the scan's."""
    ways = [scan, lambda file: whole(file).num_rows, stream, learn]
    learn(file)  # compiles
    times = []
    for _ in range(repeats):
        pairs = [seconds(way, file) for way in ways]
        assert {n for _, n in pairs} == {n_rows}
        times.append([spent for spent, _ in pairs])
    of_scan, of_whole, of_stream, of_learn = np.transpose(times)
    return (
        *map(median, (of_scan, of_whole, of_stream, of_learn)),
        median(of_stream / of_scan),
        median(of_learn / of_scan),
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--rows", type=int, default=1_000_000, help="default: 1e6")
    parser.add_argument("--repeats", type=int, default=7, help="default: 7")
    parser.add_argument("--only", default="", help="the format, such as csv")
    arguments = parser.parse_args(arguments)

    table = generate(arguments.rows)
    print(
        f"{'format':10} {'scan, s':>8} {'whole':>8} {'stream':>8} {'learn':>8} "
        f"{'stream / scan':>14} {'learn / scan':>13}"
    )
    with TemporaryDirectory() as folder:
        for ending, (write, whole) in FORMATS.items():
            if arguments.only not in ending:
                continue
            write(table, file := Path(folder) / f"rows{ending}")
            results = compare(file, whole, arguments.rows, arguments.repeats)
            *times, of_stream, of_learn = results
            row = " ".join(f"{spent:8.3f}" for spent in times)
            print(
                f"{ending[1:]:10} {row} {of_stream:14.2f} {of_learn:13.2f}", flush=True
            )


if __name__ == "__main__":
    main()
