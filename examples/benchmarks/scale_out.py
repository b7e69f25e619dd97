"""
Shards on a cluster: loss and time
==================================

Learns 64 partitions with `fit_dask` on a cluster of processes on this machine: in
order, and in 2 to 64 shards whose models are merged. The figure shows the log loss on
held-out rows, relative to that of one model, and the time, which more shards than
processes cannot shorten. The rows are so few here that a good part of the time is
Dask's overhead; ``dask_partitions.py`` measures large partitions.

To run it on the data sets of two classes in a folder::

    python examples/benchmarks/scale_out.py --data-dir FOLDER --only a9a
"""

import argparse
import logging
import sys
from contextlib import contextmanager
from importlib.util import find_spec
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
from joblib import cpu_count
from quality import add_data_options, chosen_readers, of_two_classes, read_data_sets
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sklearn_scinol import HedgeClassifier, ScInOLClassifier

# %%
# Data
# ----
#
# Rows of two classes, a fifth of which are held out.

N_ROWS = 50_000


class Data(NamedTuple):
    """Rows to learn and rows to predict; labels are 0 and 1."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def split(name, X, y):
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    return Data(name, X, y, X_test, y_test)


def own_data():
    X, y = make_classification(
        N_ROWS, n_features=20, n_informative=8, flip_y=0.05, random_state=0
    )
    return [split("two classes", X, y)]


def data_of_folder(arguments):
    readers = chosen_readers(arguments)
    data_sets = read_data_sets(readers, arguments.max_rows, arguments.in_order)
    return [split(*data) for data in of_two_classes(data_sets)]


# %%
# A cluster
# ---------
#
# On a real one, pass `distributed.Client` the address of its scheduler.

N_PARTITIONS = 64


@contextmanager
def cluster(n_workers):
    from dask import config
    from distributed import Client, LocalCluster

    n_workers = cpu_count() if n_workers < 0 else n_workers
    quiet = {"distributed.admin.large-graph-warning-threshold": "1 GB"}
    options = {"dashboard_address": ":0", "silence_logs": logging.ERROR}
    with (
        config.set(quiet),  # of arrays that are sent, which files would not be
        LocalCluster(n_workers=n_workers, threads_per_worker=1, **options) as workers,
        Client(workers) as client,
    ):
        yield client


def partitioned(client, data):
    """Return Dask arrays of the rows to learn, in the memory of the workers."""
    import dask.array as da

    n_rows = -(-len(data.y) // N_PARTITIONS)
    X = da.from_array(data.X, chunks=(n_rows, -1))
    return client.persist([X, da.from_array(data.y, chunks=n_rows)])


# %%
# Learning
# --------

LEARNERS = {"Hedge": HedgeClassifier, "ScInOL2": ScInOLClassifier}
SHARDS = (2, 4, 8, 16, 32, 64)


class Result(NamedTuple):
    """Loss and time of one strategy."""

    learner: str
    n_shards: int  # 1 for one model
    loss: float
    seconds: float


def learn(data, X, y):
    """Return results of all learners, in order and with all numbers of shards."""
    from sklearn_scinol.dask import fit_dask

    ways = {1: {}} | {n: {"strategy": "merge", "n_shards": n} for n in SHARDS}
    results = []
    for name, make in LEARNERS.items():
        few = X.blocks[:2], y.blocks[:2]  # workers load what is compiled
        fit_dask(make(), *few, classes=[0, 1], strategy="merge")
        for n_shards, way in show_progress(ways.items(), f"{data.name}, {name}"):
            start = perf_counter()
            model = fit_dask(make(), X, y, classes=[0, 1], **way)
            seconds = perf_counter() - start
            loss = log_loss(data.y_test, model.predict_proba(data.X_test))
            results.append(Result(name, n_shards, loss, seconds))
    return results


# %%
# Table
# -----

COLUMNS = "{:<22}{:<10}{:>8}{:>10}{:>10}{:>10}".format
HEADER = COLUMNS("data", "learner", "shards", "log loss", "relative", "seconds")


def relative(results):
    """Return losses and times of merged models, relative to those of one model."""
    (one,) = (result for result in results if result.n_shards == 1)
    return [(each.loss / one.loss, each.seconds / one.seconds) for each in results]


def lines(data, results):
    for name in LEARNERS:
        ours = [result for result in results if result.learner == name]
        for result, (loss, _) in zip(ours, relative(ours), strict=True):
            shards = "in order" if result.n_shards == 1 else result.n_shards
            yield COLUMNS(
                data.name,
                name,
                shards,
                f"{result.loss:.4f}",
                f"{loss:.4f}",
                f"{result.seconds:.2f}",
            )


# %%
# Figure
# ------

COLOURS = {"Hedge": "#00705a", "ScInOL2": "#d9730d"}
LABELS = "loss, relative to one model", "time, relative to one model"


def draw(of_data):
    figure, axes = panels(2 * len(of_data), 2, 4.2, 3.0)
    for k, (data, results) in enumerate(of_data):
        for j, (ax, label) in enumerate(zip(axes[2 * k :], LABELS, strict=False)):
            for name in LEARNERS:
                ours = [result for result in results if result.learner == name]
                shards = [result.n_shards for result in ours]
                values = [ratios[j] for ratios in relative(ours)]
                ax.plot(shards[1:], values[1:], "o-", color=COLOURS[name], label=name)
            ax.axhline(1.0, color="k", linewidth=1, linestyle=":", label="one model")
            ax.set(title=data.name, xlabel="shards", ylabel=label, xscale="log")
            ax.set_xticks(SHARDS, SHARDS)
            ax.minorticks_off()
        ax.set_ylim(bottom=0)
    axes[0].legend(frameon=False)
    return figure


# %%
# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Learn partitions on a cluster, in order and in shards."
    )
    add_data_options(parser)
    add_output_dir(parser, "figure")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    if find_spec("dask") is None or find_spec("distributed") is None:
        raise InputError('this needs Dask: run `pip install ".[all]"`.')
    of_folder = arguments.data_dir is not None
    data_sets = data_of_folder(arguments) if of_folder else own_data()
    print("\n".join([HEADER, "-" * len(HEADER)]))
    of_data = []
    with cluster(arguments.n_jobs) as client:
        for data in data_sets:
            results = learn(data, *partitioned(client, data))
            print("\n".join([*lines(data, results), ""]), flush=True)
            of_data.append((data, results))
    save_figure(draw(of_data), arguments.output_dir / "scale_out.png")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
