"""
Time of the first call, which compiles
======================================

Measures how long the first `partial_fit` takes in a new process, with an empty cache of
compiled loops and once they are there, on 569 rows of 30 features, in processor time
and seconds on the clock, without the time to import the package::

    python examples/benchmarks/first_call.py
    python examples/benchmarks/first_call.py --n-repeats 5

Each case runs in a process of its own. Times are medians over the repeats, in which the
cases take turns. They are compared with the loop of ScInOL2 written by hand as one
function: the same centring, logistic loss and bookkeeping, and nothing else.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from statistics import median
from time import perf_counter, process_time

import numba
import numpy as np
from quality import show_progress
from sklearn.base import is_classifier

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    MondrianForestClassifier,
    OnlineNewtonClassifier,
    ScInOLClassifier,
    ScInOLRegressor,
)

N_ROWS, N_FEATURES = 569, 30


def learn_rows(X, y, c, mean, M, G, S2, eta, w, predictions, losses, numbers):
    """Learn rows with ScInOL2 and an intercept; labels are 1 and -1."""
    n, d = X.shape
    x = np.empty(d + 1)
    t, weight_sum = numbers[0], numbers[1]
    for r in range(n):
        if not c[r] > 0.0:
            continue
        t += 1.0
        past = weight_sum / (weight_sum + c[r])
        weight_sum += c[r]
        p = square = 0.0
        for j in range(d + 1):
            x[j] = 1.0
            if j < d:
                deviation = X[r, j] - mean[j]
                mean[j] += c[r] / weight_sum * deviation
                x[j] = past * deviation
                square += X[r, j] * X[r, j]
            M[j] = max(M[j], abs(c[r] * x[j]))
            scale = np.sqrt(S2[j] + M[j] * M[j])
            theta = G[j] / scale
            w[j] = max(min(theta, 1.0), -1.0) * eta[j] / (2.0 * scale)
            p += w[j] * x[j]
        if not square < np.inf:
            return False
        predictions[r] = p
        losses[r] = max(-y[r] * p, 0.0) + np.log1p(np.exp(-abs(p)))
        g = -y[r] / (1.0 + np.exp(y[r] * p))
        for j in range(d + 1):
            gx = g * c[r] * x[j]
            G[j] -= gx
            S2[j] += gx * gx
            eta[j] = min(eta[j] - gx * w[j], 1e150)
    for r in range(n):
        numbers[2] += c[r] * losses[r]
    numbers[0], numbers[1] = t, weight_sum
    return True


def learn_by_hand(X, y, _):
    """Compile and call the loop that is written by hand."""
    options = {"nogil": True, "error_model": "numpy"}
    loop = numba.njit(**options, fastmath={"reassoc", "contract", "arcp", "nsz"})
    n, d = X.shape
    state = np.zeros((5, d + 1))
    state[2], state[3] = np.finfo(float).tiny, 1.0
    targets = np.where(y == 1, 1.0, -1.0)
    rows = np.empty((2, n))
    loop(learn_rows)(
        X, targets, np.ones(n), np.zeros(d), *state, rows[0], rows[1], np.zeros(3)
    )


def learn_with(make, **keywords):
    """Return a function that learns rows with a new estimator."""

    def learn(X, y, _):
        first = {"classes": np.unique(y)} if is_classifier(make()) else {}
        make(**keywords).partial_fit(X, y, **first)

    return learn


classifier = learn_with(HedgeClassifier)

#: Functions to measure, each with one to call before in the same process, or None.
CASES = {
    "one function by hand": (learn_by_hand, None),
    "ScInOL": (learn_with(ScInOLClassifier), None),
    "ScInOL, regression": (learn_with(ScInOLRegressor), None),
    "Newton": (learn_with(OnlineNewtonClassifier), None),
    "forest": (learn_with(MondrianForestClassifier), None),
    "mixture": (classifier, None),
    "mixture, third class": (
        lambda X, _, y3: learn_with(HedgeClassifier)(X, y3, None),
        classifier,
    ),
    "mixture, regression": (learn_with(HedgeRegressor), classifier),
    "mixture, hinge loss": (learn_with(HedgeClassifier, loss="hinge"), classifier),
}


def measure(name):
    """Return processor time and seconds of a case, in this process."""
    learn, before = CASES[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    y = (X.sum(axis=1) > 0.0).astype(int)
    y3 = np.arange(N_ROWS) % 3
    if before is not None:
        before(X, y, y3)
    start, begin = process_time(), perf_counter()
    learn(X, y, y3)
    return process_time() - start, perf_counter() - begin


def measure_apart(name):
    """Measure a case in two new processes, the first with an empty cache."""
    times = []
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, __file__, "--measure", name],
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            )
            times += map(float, done.stdout.split())
    return times


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--n-repeats", type=int, default=3, help="default: 3")
    parser.add_argument("--measure", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.measure is not None:
        print(*measure(options.measure))
        return 0
    if options.n_repeats < 1:
        parser.error("--n-repeats must be at least 1")
    times = {name: [] for name in CASES}
    for name in show_progress([*CASES] * options.n_repeats, "first calls"):
        times[name].append(measure_apart(name))
    print("first call, empty cache      processor  by hand = 1  on the clock   kept")
    print("-" * 72)
    by_hand = median(processor for processor, *_ in times["one function by hand"])
    for name, of_case in times.items():
        processor, clock, later, _ = map(median, zip(*of_case, strict=True))
        # The function by hand is not kept.
        kept = f"{later:4.2f} s" if CASES[name][0] is not learn_by_hand else ""
        ratio = processor / by_hand
        line = f"{name:27} {processor:8.2f} s {ratio:12.1f} {clock:11.2f} s {kept}"
        print(line.rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
