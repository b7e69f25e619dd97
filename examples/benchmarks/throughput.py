r"""
Time of a row, compared with SGD
================================

Times ``partial_fit``, and that of :class:`~sklearn.linear_model.SGDClassifier` or
:class:`~sklearn.linear_model.SGDRegressor` with equal loss, on the same arrays,
alternately, in one process, and prints the median time of a row and the median ratios::

    python examples/benchmarks/throughput.py
    python examples/benchmarks/throughput.py --learner ScInOL --engine numpy

SGD is timed twice: with defaults, where it shuffles and so reads dense rows in random
order, and with its fastest settings, ``shuffle=False``, ``alpha=0`` and a constant
rate. Quote the ratios: all times are measured alternately on one machine.
HedgeClassifier with two jobs is compared with one job. A last part
times the first compiled fit of a new process, with Numba's import, with and without its
disk cache.

``--output FILE`` writes the table. ``--baseline FILE`` compares with a table written
before: learners that take more than 15 % longer relative to SGD are listed, and the
exit status is 1. A slower learner raises both ratios, while other load on the machine
affects only one. So a learner is listed only if both ratios are larger, also when
measured again. With the table of this folder, of the compiled engine::

    python examples/benchmarks/throughput.py --engine numba \
        --baseline examples/benchmarks/throughput.csv
"""

import argparse
import os
import subprocess
import sys
import tempfile
from statistics import median
from time import perf_counter
from typing import NamedTuple

import guard
import numpy as np
from interface import gives_status, positive
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.linear_model import SGDClassifier, SGDRegressor

from sklearn_scinol import (
    AdaFTRLClassifier,
    AdaFTRLRegressor,
    AdaImplicitClassifier,
    AdaImplicitRegressor,
    DFEGClassifier,
    DFEGRegressor,
    HedgeClassifier,
    OnlineNewtonClassifier,
    ScInOLClassifier,
    config_context,
)
from sklearn_scinol.baselines import BaselineClassifier

FIRST_FIT = """
from time import perf_counter
import numpy as np
from sklearn_scinol import ScInOLClassifier
X = np.random.default_rng(0).standard_normal((100, 20))
y = X[:, 0] > 0
start = perf_counter()
ScInOLClassifier().partial_fit(X, y, classes=[False, True])
print(perf_counter() - start)
"""


def dense(rng, n, d, n_classes=2):
    X = rng.standard_normal((n, d))
    scores = X @ rng.standard_normal((d, n_classes)) / np.sqrt(d)
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def csr(rng, n, d, draws):
    """Generate rows of `draws` columns, as frequent as words; duplicates are summed."""
    columns = (d ** rng.random((n, draws))).astype(np.int32) - 1
    indptr = np.arange(0, columns.size + 1, draws, dtype=np.int32)
    values = rng.standard_normal(columns.size)
    X = sparse.csr_array((values, columns.ravel(), indptr), shape=(n, d))
    X.sum_duplicates()
    return X, (X @ rng.standard_normal(d) > 0).astype(int)


FASTEST = {"shuffle": False, "alpha": 0, "learning_rate": "constant", "eta0": 0.01}


class Competitors(NamedTuple):
    """The estimators that a learner is compared with."""

    as_it_comes: BaseEstimator
    fastest: BaseEstimator


def sgd(loss):
    return Competitors(SGDClassifier(loss=loss), SGDClassifier(loss=loss, **FASTEST))


def sgd_regression():
    absolute_error = {"loss": "epsilon_insensitive", "epsilon": 0}
    return Competitors(
        SGDRegressor(**absolute_error), SGDRegressor(**absolute_error, **FASTEST)
    )


ONE_JOB = Competitors(HedgeClassifier(), HedgeClassifier())


STANDARDISED = BaselineClassifier("adaogd", center="auto", scale=True)

OTHERS = "additive", "second_order", "random_features", "neighbors", "forest", "pools"
FIRST_ORDER = HedgeClassifier(exclude=OTHERS)

#: Label, ours, and what it is compared with. Targets of regression are the labels.
LEARNERS = [
    ("ScInOL, centred", ScInOLClassifier(center=True), sgd("log_loss")),
    ("ScInOL", ScInOLClassifier(center=False), sgd("log_loss")),
    ("ScInOL1", ScInOLClassifier(algorithm="scinol1", center=False), sgd("log_loss")),
    ("AdaImplicit", AdaImplicitClassifier(), sgd("log_loss")),
    ("AdaImplicit, ball", AdaImplicitClassifier(radius=1.0), sgd("log_loss")),
    ("AdaImplicit, hinge", AdaImplicitClassifier("hinge"), sgd("hinge")),
    (
        "AdaImplicit, absolute error",
        AdaImplicitRegressor(center=False),
        sgd_regression(),
    ),
    ("DFEG", DFEGClassifier(), sgd("log_loss")),
    ("DFEG, hinge", DFEGClassifier("hinge"), sgd("hinge")),
    ("DFEG, absolute error", DFEGRegressor(), sgd_regression()),
    ("AdaFTRL", AdaFTRLClassifier(center=False), sgd("log_loss")),
    ("AdaFTRL, hinge", AdaFTRLClassifier("hinge", center=False), sgd("hinge")),
    ("AdaFTRL, absolute error", AdaFTRLRegressor(center=False), sgd_regression()),
    ("OnlineNewton", OnlineNewtonClassifier(), sgd("log_loss")),
    ("AdaOGD, scaled", STANDARDISED, sgd("log_loss")),
    ("Hedge", HedgeClassifier(), sgd("log_loss")),
    ("Hedge, linear, first order", FIRST_ORDER, sgd("log_loss")),
    ("Hedge, 2 jobs (SGD: 1 job)", HedgeClassifier(n_jobs=2), ONE_JOB),
]

#: Label, engines, and how the rows are made.
CASES = [
    ("dense, d = 5", ("numba", "numpy"), lambda rng, k: dense(rng, 200_000 // k, 5)),
    ("dense, d = 20", ("numba", "numpy"), lambda rng, k: dense(rng, 100_000 // k, 20)),
    ("dense, d = 54", ("numba", "numpy"), lambda rng, k: dense(rng, 100_000 // k, 54)),
    ("dense, d = 100", ("numba", "numpy"), lambda rng, k: dense(rng, 50_000 // k, 100)),
    ("dense, d = 128", ("numba",), lambda rng, k: dense(rng, 50_000 // k, 128)),
    ("dense, d = 784", ("numba", "numpy"), lambda rng, k: dense(rng, 10_000 // k, 784)),
    (
        "dense, d = 10,000",
        ("numba", "numpy"),
        lambda rng, k: dense(rng, 2_000 // k, 10_000),
    ),
    (
        "dense, d = 54, 7 classes",
        ("numba", "numpy"),
        lambda rng, k: dense(rng, 50_000 // k, 54, 7),
    ),
    (
        "CSR, 60 of 100,000",
        ("numba", "numpy"),
        lambda rng, k: csr(rng, 20_000 // k, 100_000, 60),
    ),
    (
        "CSR, 100 of 1,000,000",
        ("numba", "numpy"),
        lambda rng, k: csr(rng, 20_000 // k, 1_000_000, 100),
    ),
    (
        "CSR, 300 of 1,000,000",
        ("numba", "numpy"),
        lambda rng, k: csr(rng, 10_000 // k, 1_000_000, 300),
    ),
]


def seconds(estimator, X, y):
    """Time a pass of an estimator that has learned before, without any set-up."""
    start = perf_counter()
    estimator.partial_fit(X, y)
    return perf_counter() - start


class Measured(NamedTuple):
    """Median times of a row, in microseconds, and medians of our ratios."""

    ours: float
    sgd: float
    fastest: float
    ratio: float
    ratio_to_fastest: float


def measure(ours, theirs, X, y, repeats):
    """Time one learner and its competitors."""
    first_call = {"classes": np.unique(y)} if is_classifier(ours) else {}
    estimators = [
        clone(estimator).partial_fit(X, y, **first_call)
        for estimator in (ours, theirs.as_it_comes, theirs.fastest)
    ]
    times = [
        [seconds(estimator, X, y) for estimator in estimators] for _ in range(repeats)
    ]
    return Measured(
        *(1e6 / X.shape[0] * median(column) for column in zip(*times, strict=True)),
        median(of_us / of_them for of_us, of_them, _ in times),
        median(of_us / of_them for of_us, _, of_them in times),
    )


def first_fit(cache):
    """Time the first compiled fit of a new process, with Numba's import, in seconds."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    answer = subprocess.run(
        [sys.executable, "-c", FIRST_FIT],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(answer.stdout)


TOLERANCE = 0.15


RATIOS = "/ SGD", "/ fastest"


def read(path):
    """Read both ratios of a table, by rows, learner and engine."""
    keys = "rows", "learner", "engine"
    both = [guard.read(path, keys, column) for column in RATIOS]
    return {key: tuple(ratios[key] for ratios in both) for key in both[0]}


def is_slower(result, before):
    """Whether both ratios are above the ratios before, if there are any."""
    ratios = result.ratio, result.ratio_to_fastest
    return before is not None and all(
        guard.is_worse(ratio, one, TOLERANCE)
        for ratio, one in zip(ratios, before, strict=True)
    )


def compare(results, stored, path):
    """Print what has become slower; return the exit status, then 1."""
    worse = [
        f"{learner} on {rows}, {engine}: {result.ratio:.2f} of SGD's time and "
        f"{result.ratio_to_fastest:.2f} of its least, instead of {before[0]:.2f} and "
        f"{before[1]:.2f}"
        for (rows, learner, engine), result in results.items()
        if is_slower(result, before := stored.get((rows, learner, engine)))
    ]
    n_compared = len(results.keys() & stored.keys())
    return guard.report(n_compared, f"learners with {path}", worse, TOLERANCE)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--engine", choices=["numba", "numpy"], help="default: both")
    parser.add_argument(
        "--learner", default="", help="only labels that begin with this"
    )
    parser.add_argument("--repeats", type=positive, default=7, help="pairs; default: 7")
    parser.add_argument("--only", default="", help="cases whose label contains this")
    guard.add_options(parser, "ratios")
    return parser.parse_args(argv)


def cases(arguments):
    """Yield label, engine, and rows of the selected cases."""
    rng = np.random.default_rng(0)
    for label, engines, make in CASES:
        if arguments.only not in label:
            continue
        for engine in engines:
            if arguments.engine in (None, engine):
                yield label, engine, *make(rng, 10 if engine == "numpy" else 1)


def learners(arguments, X, y):
    """Yield the selected learners that can learn the rows."""
    for learner, estimator, competitors in LEARNERS:
        skipped = not learner.startswith(arguments.learner)
        centred = getattr(estimator, "center", None) is True
        many_classes = not is_classifier(estimator) and y.max() > 1
        # Its matrix has the square of this number of entries.
        too_wide = isinstance(estimator, OnlineNewtonClassifier) and X.shape[1] > 1000
        no_centre = centred and sparse.issparse(X)
        if not (skipped or no_centre or many_classes or too_wide):
            yield learner, estimator, competitors


@gives_status
def main(argv=None):
    arguments = parse(argv)
    guard.make_folder(arguments.output)
    stored = read(arguments.baseline)
    results = {}
    print(
        f"{'rows':24} {'learner':27} {'engine':6} {'µs/row':>8} {'SGD':>8} "
        f"{'fastest':>8} {'/ SGD':>6} {'/ fastest':>9}"
    )
    for label, engine, X, y in cases(arguments):
        for learner, *estimators in learners(arguments, X, y):
            key = label, learner, engine
            with config_context(engine=engine):
                result = measure(*estimators, X, y, arguments.repeats)
                if is_slower(result, stored.get(key)):
                    result = measure(*estimators, X, y, arguments.repeats)
            # The time of two jobs depends on the load of the machine.
            if estimators[1] is not ONE_JOB:
                results[key] = result
            print(
                f"{label:24} {learner:27} {engine:6} {result.ours:8.3f} "
                f"{result.sgd:8.3f} {result.fastest:8.3f} {result.ratio:6.2f} "
                f"{result.ratio_to_fastest:9.2f}",
                flush=True,
            )
    if arguments.output:
        columns = ["rows", "learner", "engine", "µs", *RATIOS]
        shown = "ours", "ratio", "ratio_to_fastest"
        rows = [
            [*key, *(f"{getattr(result, name):.4g}" for name in shown)]
            for key, result in results.items()
        ]
        guard.write(arguments.output, columns, rows)
    if arguments.engine != "numpy" and not arguments.only:
        with tempfile.TemporaryDirectory() as cache:
            without = first_fit(cache)
            times = [first_fit(cache) for _ in range(3)]
        print(
            f"first compiled fit: {without:.2f} s without cache, "
            f"{median(times):.2f} s with"
        )
    if arguments.baseline:
        return compare(results, stored, arguments.baseline)
    return 0


if __name__ == "__main__":
    sys.exit(main())
