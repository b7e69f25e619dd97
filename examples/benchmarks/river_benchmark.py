"""
river's benchmark, and its published figures
============================================

The documentation of river has a benchmark of stream learners: the accuracy or the mean
absolute error of predictions made before each row is learned, with rows in their
original order. This script learns these streams with `HedgeClassifier` or
`HedgeRegressor` with defaults, and prints their rank in river's tables::

    python examples/benchmarks/river_benchmark.py
    python examples/benchmarks/river_benchmark.py --data-dir FOLDER

Most of the data sets come with river, if that is installed; Elec2 is looked for in the
folder, as ``elec2.csv``, ``elec2.csv.gz`` or ``elec2.npz``. If river is installed, its
logistic or linear regression behind a `StandardScaler` is run as well, and the seconds
of both are printed. Times are not quoted from the tables.

The tables are those of river 0.19.0, in `docs/benchmarks` of its repository (commit
7468665 for classification, 5b8a8dc for regression); `river_published.csv`, beside this
script, has the figures.
"""

import argparse
import csv
import sys
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import numpy as np
from quality import (
    InputError,
    gives_status,
    make_data_set,
    readers_of_folder,
    show_progress,
)
from sklearn.feature_extraction import DictVectorizer

from sklearn_scinol import HedgeClassifier, HedgeRegressor

PUBLISHED = Path(__file__).with_name("river_published.csv")

#: Data sets of regression, where smaller scores are better.
REGRESSION = ("ChickWeights", "TrumpApproval")


def published():
    """Read the published scores, by data set and model."""
    tables = {}
    with PUBLISHED.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            table = tables.setdefault(row["data set"], {})
            table[row["model"]] = float(row["score"])
    return tables


# %%
# Streams
# -------


def streams(names, folder):
    """Yield name, rows and targets of the available data sets."""
    files = {} if folder is None else readers_of_folder(folder, "target")
    for name in names:
        if name.lower() in files:
            data = make_data_set(name, *files[name.lower()](), in_order=True)
            yield name, data.X, data.y
        elif found := rows_of_river(name):
            rows, targets = zip(*found, strict=True)
            X = DictVectorizer(sparse=False).fit_transform(rows)
            yield name, X, np.array(targets)
        else:
            print(f"{name} is not at hand.\n")


def rows_of_river(name):
    """Return pairs of row and target of a data set that comes with river."""
    if find_spec("river") is None:
        return []
    from river import datasets

    data = getattr(datasets, name)()
    return list(data) if getattr(data, "is_downloaded", True) else []


# %%
# Learners
# --------


def ours(X, y, is_regression):
    if is_regression:
        return HedgeRegressor().partial_fit_predict(X, y)
    return HedgeClassifier().partial_fit_predict(X, y, classes=np.unique(y))


def of_river(X, y, is_regression):
    """Return predictions of river's linear model, row by row."""
    from river.linear_model import (
        LinearRegression,
        LogisticRegression,
        SoftmaxRegression,
    )
    from river.preprocessing import StandardScaler

    model = LinearRegression()
    if not is_regression:
        model = LogisticRegression() if len(np.unique(y)) == 2 else SoftmaxRegression()
    model = StandardScaler() | model
    said = []
    for values, target in zip(X.tolist(), y.tolist(), strict=True):
        row = dict(enumerate(values))
        said.append(model.predict_one(row))
        model.learn_one(row, target)
    return np.array(said)


def measure(learn, X, y, is_regression):
    """Return the score of a pass, and its seconds."""
    start = perf_counter()
    said = learn(X, y, is_regression)
    seconds = perf_counter() - start
    if is_regression:
        return np.abs(said - y).mean(), seconds
    return (said == y).mean(), seconds


# %%
# Tables
# ------

OURS = "Hedge, of sklearn-scinol"
OF_RIVER = "river's linear model, run here"
COLUMNS = "{:<44}{:>10}{:>10}".format


def table(name, n_rows, scores, measured):
    """Return lines of all models, best first, with seconds for those run here."""
    is_regression = name in REGRESSION
    n_published = len(scores)
    scores = scores | {model: score for model, (score, _) in measured.items()}
    best_first = sorted(scores, key=scores.get, reverse=not is_regression)
    what = "error" if is_regression else "accuracy"
    header = COLUMNS(f"{name}: {n_rows:,} rows", what, "seconds")
    lines = [header, "-" * len(header)]
    for model in best_first:
        seconds = f"{measured[model][1]:.2f}" if model in measured else ""
        lines.append(COLUMNS(model, f"{scores[model]:.4g}", seconds).rstrip())
    above = best_first[: best_first.index(OURS)]
    better = sum(model not in measured for model in above)
    lines.append(f"{OURS}: {better} of the {n_published} published are better.")
    return "\n".join([*lines, ""])


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Learn the streams of river's benchmark, beside its own figures."
    )
    parser.add_argument(
        "--data-dir", type=Path, metavar="FOLDER", help="where elec2 is"
    )
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    tables = published()
    found = 0
    found_streams = streams(tables, arguments.data_dir)
    for name, X, y in show_progress(found_streams, "data sets"):
        is_regression = name in REGRESSION
        ours(X[:20], y[:20], is_regression)  # compiles
        measured = {OURS: measure(ours, X, y, is_regression)}
        if find_spec("river") is not None:
            measured[OF_RIVER] = measure(of_river, X, y, is_regression)
        print(table(name, len(y), tables[name], measured), flush=True)
        found += 1
    if not found:
        raise InputError(
            "No data set is at hand: install river, or give a folder that has elec2."
        )


if __name__ == "__main__":
    sys.exit(main())
