"""
Time and memory of learning with a kernel
=========================================

Learns from a stream with an RBF kernel, in chunks, and prints the time, and the time
for computing only the kernel matrices (with equal blocks of rows and support), on one
core. Then prints the peak memory of learning, and the memory of the stored rows and of
one block of kernels::

    python examples/benchmarks/kernels.py
    python examples/benchmarks/kernels.py --data FILE.csv --target COLUMN

Without a file the rows are random, as many as those of the California housing data.
"""

import argparse
import sys
import tracemalloc
from statistics import median
from time import perf_counter

import numpy as np
from data_folder import open_csv
from interface import InputError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from sklearn_scinol import DFEGRegressor, config_context
from sklearn_scinol.models.kernel import block_size

CHUNK_SIZE = 2048


def random_rows(n=20_640, d=8):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)


def rows_of_file(path, target):
    stream = open_csv(path, target, chunk_size=sys.maxsize)  # one chunk
    ((X, y),) = stream()
    return scale(X), scale(y)


def chunks(X, y):
    for start in range(0, len(y), CHUNK_SIZE):
        rows = slice(start, start + CHUNK_SIZE)
        yield X[rows], y[rows]


def learn(X, y):
    """Return the model, and the seconds to learn it."""
    model = DFEGRegressor(kernel="rbf", gamma=1 / X.shape[1])
    start = perf_counter()
    for chunk in chunks(X, y):
        model.partial_fit(*chunk)
    return model, perf_counter() - start


def kernels_alone(X, support):
    """Time the kernels of each block with all rows stored before it, in seconds."""
    start = perf_counter()
    row = 0
    while row < len(X):
        n_support = np.searchsorted(support, row)
        end = min(row + block_size(n_support), (row // CHUNK_SIZE + 1) * CHUNK_SIZE)
        if n_support:
            rbf_kernel(X[row:end], X[support[:n_support]], gamma=1 / X.shape[1])
        rbf_kernel(X[row:end], gamma=1 / X.shape[1])
        row = end
    return perf_counter() - start


def peak_memory(X, y):
    """Return the peak memory of learning, in bytes."""
    tracemalloc.start()
    learn(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--data", metavar="FILE", help="rows to learn from, as CSV")
    parser.add_argument("--target", default="target", metavar="COLUMN")
    parser.add_argument("--engine", choices=["numba", "numpy"], default="numba")
    parser.add_argument("--repeats", type=int, default=5, help="pairs; default: 5")
    arguments = parser.parse_args()
    try:
        X, y = random_rows()
        if arguments.data:
            X, y = rows_of_file(arguments.data, arguments.target)
    except InputError as error:
        sys.exit(str(error))

    with threadpool_limits(1), config_context(engine=arguments.engine):
        learn(X[:CHUNK_SIZE], y[:CHUNK_SIZE])  # compiles
        model, _ = learn(X, y)
        support = model.support_
        pairs = [
            (learn(X, y)[1], kernels_alone(X, support))
            for _ in range(arguments.repeats)
        ]
        peak = peak_memory(X, y)
    ours, alone = (median(times) for times in zip(*pairs, strict=True))
    stored = model.support_vectors_.nbytes
    block = 8 * len(support) * block_size(len(support))
    print(f"{len(y):,} rows of {X.shape[1]} features, {len(support):,} of them stored")
    print(
        f"learning {ours:.2f} s, kernels alone {alone:.2f} s, "
        f"ratio {median(a / b for a, b in pairs):.2f}"
    )
    print(
        f"peak {peak / 1e6:.1f} MB: one block of kernels {block / 1e6:.1f} MB, and "
        f"{(peak - block) / stored:.2f} times the stored rows' {stored / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    main()
