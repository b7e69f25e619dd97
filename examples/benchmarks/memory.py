"""
Peak memory of learning from usable input
=========================================

Prints how far ``partial_fit`` raises the peak memory of the process above the array
that it learns from: usable input is not copied::

    python examples/benchmarks/memory.py
    python examples/benchmarks/memory.py --gigabytes 0.2 --features 20
"""

import argparse
import resource
import subprocess
import sys

import numpy as np

from sklearn_scinol import ScInOLClassifier


def peak():
    """Return the largest resident size so far, in MB."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (2**20 if sys.platform == "darwin" else 2**10)


def rise(gigabytes, features, dtype, order):
    """Return the rise of the peak, in MB, above rows, labels and a loaded engine."""
    n = int(gigabytes * 1e9 / features / np.dtype(dtype).itemsize)
    X = np.empty((n, features), dtype=dtype, order=order)
    rng = np.random.default_rng(0)
    for start in range(0, n, 4096):
        X[start : start + 4096] = rng.standard_normal((min(4096, n - start), features))
    y = (X[:, 0] > 0).astype(np.int64)
    model = ScInOLClassifier().partial_fit(X[:2], y[:2], classes=[0, 1])
    before = peak()
    model.partial_fit(X, y)
    return peak() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--gigabytes", type=float, default=1.0, help="default: 1")
    parser.add_argument("--features", type=int, default=100, help="default: 100")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(rise(arguments.gigabytes, arguments.features, *arguments.one))
        return
    for dtype in ("float64", "float32"):
        for order in ("C", "F"):
            # Each runs in a process of its own, since a peak never falls.
            command = [sys.executable, __file__, *sys.argv[1:], "--one", dtype, order]
            answer = subprocess.run(command, check=True, capture_output=True, text=True)
            print(f"{dtype}, {order} order: {float(answer.stdout):.1f} MB")


if __name__ == "__main__":
    main()
