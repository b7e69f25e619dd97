"""
Loss of models merged from shards
=================================

Prints the loss on held-out rows of models that were merged from shards, divided by
the loss of one model that learned all rows in order: the log loss in classification
and the absolute error in regression, in one pass, with features in raw units::

    python examples/benchmarks/merging.py
    python examples/benchmarks/merging.py --data-dir FOLDER --only a9a --shards 8 64 256

A fifth of the rows is held out; a data set whose name ends in _train is tested on the
one whose name ends in _test. There are four strategies, each adding to the one before:

- "alone": each shard begins with a new model;
- "start": all shards begin with copies of a model that has learned 1,000 rows, or an
  eighth of all rows if that is fewer;
- "final": the merged model learns the last 2,000 rows itself, or a quarter of all;
- "second pass": each shard learns its rows once more, from the merged model.
"""

import argparse
import sys
from copy import deepcopy

import numpy as np
from joblib import Parallel, delayed
from quality import (
    DataSet,
    InputError,
    add_data_options,
    chosen_readers,
    gives_status,
    make_data_set,
    positive,
    show_progress,
)
from sklearn.metrics import log_loss, mean_absolute_error

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    merge_models,
)

LEARNERS = (
    (HedgeClassifier, HedgeRegressor),
    (OnlineNewtonClassifier, OnlineNewtonRegressor),
    (ScInOLClassifier, ScInOLRegressor),
)
#: Rows of the start, rows at the end, and passes.
WAYS = {
    "alone": (0, 0, 1),
    "start": (1000, 0, 1),
    "final": (1000, 2000, 1),
    "second pass": (1000, 2000, 2),
}


def learn_shards(model, X, y, n_shards, n_start=0, n_final=0, n_passes=1, **classes):
    """Learn shards one after the other in one process, and merge the models."""
    n_start, n_final = min(n_start, len(y) // 8), min(n_final, len(y) // 4)
    start, begin, end = None, n_start, len(y) - n_final
    if n_start:
        start = model = model.partial_fit(X[:begin], y[:begin], **classes)
    for _ in range(n_passes):
        shards = np.array_split(np.arange(begin, end), n_shards)
        models = [
            deepcopy(model).partial_fit(X[rows], y[rows], **classes) for rows in shards
        ]
        start = model = merge_models(models, start=start)
        if n_final:
            model.partial_fit(X[end:], y[end:])
        begin = 0
    return model


def held_out_loss(learners, training, test, n_shards, way):
    classifier, regressor = learners
    X, y = training.X, training.y
    if n_classes := test.n_classes:
        classes = {"classes": np.arange(n_classes)}
        model = learn_shards(classifier(), X, y, n_shards, *way, **classes)
        p = model.predict_proba(test.X)
        return log_loss(test.y, p, labels=np.arange(n_classes))
    model = learn_shards(regressor(), X, y, n_shards, *way)
    return mean_absolute_error(test.y, model.predict(test.X))


def split(name, readers, max_rows):
    """Split rows into training and test rows."""
    training = make_data_set(name, *readers[name](), max_rows)
    test_name = test_of(name)
    if test_name in readers:
        test = make_data_set(test_name, *readers[test_name]())
        if test.n_classes != training.n_classes:
            raise InputError(f"{test_name} has other classes.")
        return training, with_columns(test, training.X.shape[1])
    n = len(training.y) * 4 // 5
    X, y, n_classes = training.X, training.y, training.n_classes
    parts = slice(0, n), slice(n, None)
    return tuple(DataSet(name, X[part], y[part], n_classes) for part in parts)


def test_of(name):
    """Return the name of the data set with the test rows, if there is one."""
    return f"{name.removesuffix('_train')}_test" if name.endswith("_train") else None


def with_columns(data_set, n_columns):
    """Add trailing columns of zeros, which sparse files leave out."""
    X = data_set.X[:, :n_columns]
    if n_missing := n_columns - X.shape[1]:
        X = np.pad(X, [(0, 0), (0, n_missing)])
    return DataSet(data_set.name, X, data_set.y, data_set.n_classes)


def table(name, readers, arguments, parallel):
    """Return lines about a data set: the loss in order, and with shards."""
    training, test = split(name, readers, arguments.max_rows)
    # At least half of the rows are in shards.
    sizes = [n for n in arguments.shards if len(training.y) >= 2 * n]
    if not sizes:
        raise InputError(f"{len(training.y):,} rows are too few.")
    cases = [(n, *way) for n in sizes for way in WAYS.items()]
    tasks = [
        delayed(held_out_loss)(learners, training, test, n_shards, way)
        for learners in LEARNERS
        for n_shards, way in [(1, WAYS["alone"]), *((n, way) for n, _, way in cases)]
    ]
    losses = np.reshape(parallel(show_progress(tasks, name)), (len(LEARNERS), -1))
    names = [learners[not test.n_classes].__name__ for learners in LEARNERS]
    lines = [f"{training.title}; {len(test.y):,} to test on"]
    lines.append(f"{'shards':>7}  {'':12}" + "".join(f"{each:>24}" for each in names))
    for (n_shards, way, *_), of_case in zip([(1, ""), *cases], losses.T, strict=True):
        cells = "".join(
            f"{loss:14.4f}{f'({loss / one:.3f})':>10}"
            for loss, one in zip(of_case, losses[:, 0], strict=True)
        )
        lines.append(f"{n_shards:7}  {way:12}{cells}")
    return "\n".join(lines) + "\n"


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    add_data_options(parser)
    parser.add_argument(
        "--shards",
        type=positive,
        nargs="+",
        default=[8, 64, 256],
        metavar="N",
        help="how many (default: 8 64 256)",
    )
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    readers = chosen_readers(arguments)
    tests = {test_of(name) for name in readers}
    with Parallel(n_jobs=arguments.n_jobs) as parallel:
        for name in readers:
            if name in tests:
                continue
            try:
                print(table(name, readers, arguments, parallel), flush=True)
            except InputError as error:
                print(f"Skipped {name}: {error}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
