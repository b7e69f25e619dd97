"""
Partitions on two workers
=========================

Times :func:`~sklearn_scinol.dask.fit_dask` on two processes of one thread each, and
`partial_fit` on the same partitions in this process, alternately. Prints medians of the
rows per second and of the ratios::

    python examples/benchmarks/dask_partitions.py
    python examples/benchmarks/dask_partitions.py --partitions 4 --repeats 3

Partitions are dense, of 100,000 rows and 54 features, and in the memory of the workers,
so no time is spent on reading. "overhead" is the additional time, relative to
`partial_fit`, of one model that goes from partition to partition. "merged" has one
shard per worker, and "speed-up" is its rows per second divided by those of the one
model. Quote the ratios: all times are measured alternately on one machine, which needs
two idle cores.

Two settings of Dask differ from its defaults. Neighbouring partitions are on the same
worker, so that shards do not wait for each other; by default they are anywhere. And
workers keep the memory that they have allocated, as this process does; by default
(``--default-memory``) they return it at once, which takes a mixture a third more time.

The second table has the overheads of a model that leaves a worker: its size as a
pickle, and the milliseconds to copy it, to pickle and unpickle it, and to merge it with
another. "task" is the time of a task that does nothing, in ms: messages between
scheduler and workers wait up to 5 ms for others. Learning a partition should take many
times as long.

The third table extrapolates the measured rates to 10¹² rows, without reading: one model
in order, and shards on 1,000 such workers, merged eight at a time.
"""

import argparse
import math
import pickle
from copy import deepcopy
from functools import partial
from time import perf_counter

import dask
import dask.array as da
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster, wait
from interface import positive
from scipy import sparse

from sklearn_scinol import (
    HedgeClassifier,
    OnlineNewtonClassifier,
    ScInOLClassifier,
    merge_models,
)
from sklearn_scinol.dask import fit_dask
from sklearn_scinol.dask.graphs import SPLIT_EVERY

N_FEATURES = 54
CLASSES = [0, 1]
ESTIMATORS = {
    "ScInOL": ScInOLClassifier,
    "OnlineNewton": OnlineNewtonClassifier,
    "Hedge": HedgeClassifier,
}
WIDE = 2**20  # features of hashed rows
N_ROWS, N_WORKERS = 10**12, 1000  # of the outlook

NEIGHBOURS = {"distributed.scheduler.worker-saturation": "inf"}
ENVIRONMENT = "distributed.nanny.pre-spawn-environ"  # of workers
KEEPS_MEMORY = {
    f"{ENVIRONMENT}.MALLOC_TRIM_THRESHOLD_": 2**28,
    f"{ENVIRONMENT}.MALLOC_MMAP_THRESHOLD_": 2**25,
}


def generate(n_partitions, n_rows):
    """Generate random partitions, and their labels."""
    random = da.random.default_rng(0)
    shape, chunks = (n_partitions * n_rows, N_FEATURES), (n_rows, N_FEATURES)
    X = random.normal(size=shape, chunks=chunks)
    noise = random.logistic(size=len(X), chunks=n_rows)
    return X, (X[:, :8].sum(axis=1) + noise > 0).astype(int)


def seconds(function, *arguments, **options):
    start = perf_counter()
    answer = function(*arguments, **options)
    return perf_counter() - start, answer


def median_ms(function, *arguments, repeats):
    return 1e3 * np.median([seconds(function, *arguments)[0] for _ in range(repeats)])


# Rows per second.


def learn(estimator, parts):
    """Learn partitions in this process."""
    model = deepcopy(estimator)
    for X, y in parts:
        model.partial_fit(X, y)
    return model


def compare(estimator, X, y, parts, repeats):
    """Time partial_fit, one model on the workers, and merged models, in seconds."""
    estimator.partial_fit(*(each[:1000] for each in parts[0]), classes=CLASSES)
    for strategy in "sequential", "merge":  # all workers compile
        fit_dask(estimator, X, y, strategy=strategy)
    times = []
    for _ in range(repeats):
        here, expected = seconds(learn, estimator, parts)
        there, model = seconds(fit_dask, estimator, X, y)
        said, same_said = (
            each.decision_function(parts[0][0]) for each in (expected, model)
        )
        assert (said == same_said).all()
        merged, model = seconds(fit_dask, estimator, X, y, strategy="merge")
        assert model.n_samples_seen_ == expected.n_samples_seen_
        times.append((here, there, merged))
    return np.transpose(times)


def rates(name, X, y, parts, repeats):
    """Return a line of the first table, and the rows per second of partial_fit."""
    here, there, merged = compare(ESTIMATORS[name](), X, y, parts, repeats)
    of_each = [len(X) / np.median(each) for each in (here, there, merged)]
    line = (
        f"{name:14}{of_each[0]:12,.0f}{of_each[1]:12,.0f}"
        f"{np.median(there / here) - 1:10.1%}{of_each[2]:12,.0f}"
        f"{np.median(there / merged):10.2f}"
    )
    return line, of_each[0]


# Overheads of a model that goes from one worker to another.


def same(model):
    return pickle.loads(pickle.dumps(model))


def costs(name, model, rows, labels, repeats):
    """Return a line of the second table, and the milliseconds of a merge."""
    model.partial_fit(rows, labels, classes=CLASSES)
    models = [model, same(model)]
    merge = partial(merge_models, start=model)
    merge_ms = median_ms(merge, models, repeats=repeats)
    line = (
        f"{name:24}{len(pickle.dumps(model)):14,}"
        f"{median_ms(deepcopy, model, repeats=repeats):9.2f}"
        f"{median_ms(same, model, repeats=repeats):9.2f}"
        f"{merge_ms:9.2f}"
    )
    return line, merge_ms


def outlook(name, rate, merge_ms):
    """Return a line of the third table."""
    rounds = math.ceil(math.log(N_WORKERS, SPLIT_EVERY))
    merging = rounds * (SPLIT_EVERY - 1) * merge_ms / 1e3
    in_order = N_ROWS / rate
    return (
        f"{name:14}{in_order / 86400:14,.1f}{in_order / N_WORKERS / 60:14,.1f}"
        f"{merging:14,.1f}"
    )


def pass_on(model, rows):
    return model


def chain(X):
    """Make a chain of tasks that do nothing, each on the worker of a partition."""
    model = 0
    for rows in X.to_delayed().ravel():
        model = delayed(pass_on, pure=False)(model, rows)
    return model.compute()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    add = parser.add_argument
    add("--partitions", type=positive, default=10, help="default: %(default)s")
    add("--rows", type=positive, default=100_000, help="of each, default: %(default)s")
    add("--repeats", type=positive, default=7, help="default: %(default)s")
    add("--only", default="", help="estimators with this in their names")
    add("--default-memory", action="store_true", help="that of Dask's workers")
    arguments = parser.parse_args(arguments)
    n, repeats = arguments.partitions, arguments.repeats
    names = [name for name in ESTIMATORS if arguments.only.lower() in name.lower()]
    dask.config.set(NEIGHBOURS | ({} if arguments.default_memory else KEEPS_MEMORY))
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        X, y = client.persist(generate(n, arguments.rows))
        wait([X, y])
        parts = [dask.compute(X.blocks[i], y.blocks[i]) for i in range(n)]
        print(f"{n} partitions of {arguments.rows:,} rows, {N_FEATURES} features\n")
        print(
            f"{'rows/s':14}{'partial_fit':>12}{'sequential':>12}{'overhead':>10}"
            f"{'merged':>12}{'speed-up':>10}"
        )
        found = {}
        for name in names:
            line, found[name] = rates(name, X, y, parts, repeats)
            print(line, flush=True)
        task = median_ms(chain, X, repeats=repeats) / n
    print(f"\n{'cost of a model':24}{'bytes':>14}{'copy':>9}{'pickle':>9}{'merge':>9}")
    merging = {}
    for name in names:
        model = ESTIMATORS[name]()
        title = f"{name}, {N_FEATURES}"
        line, merging[name] = costs(title, model, *parts[0], repeats)
        print(line, flush=True)
        if name == "ScInOL":
            wide = sparse.random_array((1000, WIDE), density=1e-4, rng=0, format="csr")
            labels = np.arange(1000) % 2
            title = f"{name}, {WIDE:,}"
            print(costs(title, ESTIMATORS[name](), wide, labels, repeats)[0])
    print(f"\ntask {task:.2f}")
    print(f"\n10¹² rows, {N_WORKERS:,} workers\n")
    print(f"{'':14}{'in order, days':>14}{'shards, min':>14}{'merging, s':>14}")
    for name in names:
        print(outlook(name, found[name], merging[name]))


if __name__ == "__main__":
    main()
