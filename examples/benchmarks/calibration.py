"""
Calibration of the probabilities of a mixture
=============================================

Prints the calibration error of the default `HedgeClassifier` in one pass over each data
set of at least 5,000 rows, each row predicted before it is learned::

    python examples/benchmarks/calibration.py --data-dir FOLDER
    python examples/benchmarks/calibration.py --data-dir FOLDER --in-order elec2

Rows are sorted by a predicted probability into 20 bins of equal count. The calibration
error is the mean over the bins of the absolute difference between the mean probability
and the share of rows on which the event came true. With two classes the event is the
second class, with more it is the class of the highest probability. Columns of a data
set are

- error: the calibration error;
- by chance: that of labels drawn from the probabilities themselves, which bins of few
  rows leave to any forecaster, as the mean of 20 draws;
- class by class: the mean over the classes of the error of their own probability;
- temperature: the error of a mixture whose only expert is the default one. Its pools
  multiply all log odds by a number, the temperature, which they learn online;
- loss: the log loss with that temperature over the one without.

Data sets are read as by ``quality.py``.
"""

import argparse
import sys
from statistics import mean, median
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from quality import (
    InputError,
    add_data_options,
    chosen_readers,
    gives_status,
    positive,
    read_data_sets,
    show_progress,
)
from sklearn.metrics import log_loss

from sklearn_scinol import HedgeClassifier

N_BINS = 20
N_DRAWS = 20


class Calibration(NamedTuple):
    """Calibration errors of a mixture on a data set, and a quotient of losses."""

    error: float
    by_chance: float
    class_by_class: float
    temperature: float
    loss: float


def calibration_error(p, came_true):
    """Return the mean absolute difference of probabilities and frequencies in bins.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Probabilities of an event for each row.
    came_true : ndarray of bool of shape (n,)
    """
    bins = np.array_split(np.argsort(p, kind="stable"), N_BINS)
    return np.mean([abs(p[rows].mean() - came_true[rows].mean()) for rows in bins])


def error_of(P, y):
    """Return the calibration error of the second of two classes, or of the likeliest.

    Parameters
    ----------
    P : ndarray of shape (n, n_classes)
        Probabilities.
    y : ndarray of int of shape (n,)
        Classes.
    """
    event = np.ones(len(y), int) if P.shape[1] == 2 else P.argmax(axis=1)
    return calibration_error(P[np.arange(len(y)), event], y == event)


def error_by_chance(P):
    """Return the mean error of labels that are drawn from the probabilities."""
    random, sums = np.random.default_rng(0), P.cumsum(axis=1)
    draws = random.uniform(size=(N_DRAWS, len(P), 1)) * sums[:, -1:]
    return np.mean([error_of(P, (sums <= draw).sum(axis=1)) for draw in draws])


def probabilities(model, data_set, method="predict_proba"):
    """Return the probabilities of the classes for each row, before it was learned."""
    classes = np.arange(data_set.n_classes)
    rows = data_set.X, data_set.y
    return model.partial_fit_predict(*rows, classes=classes, method=method)


def measure(data_set):
    y, n_classes = data_set.y, data_set.n_classes
    P = probabilities(HedgeClassifier(random_state=0), data_set)
    mixture = HedgeClassifier([("mixture", HedgeClassifier(random_state=0))])
    scaled = probabilities(mixture, data_set)
    losses = [log_loss(y, each, labels=range(n_classes)) for each in (scaled, P)]
    return Calibration(
        error_of(P, y),
        error_by_chance(P),
        np.mean([calibration_error(P[:, k], y == k) for k in range(n_classes)]),
        error_of(scaled, y),
        losses[0] / losses[1],
    )


def make_parser(documentation):
    """Make a parser of a script's options."""
    parser = argparse.ArgumentParser(description=documentation.split("\n\n")[1])
    add_data_options(parser)
    parser.add_argument(
        "--min-rows",
        type=positive,
        default=5_000,
        metavar="N",
        help="leave out smaller data sets (default: %(default)s)",
    )
    return parser


def measure_all(arguments, measure):
    """Measure each data set of classes that is large enough.

    Returns
    -------
    results : list of (DataSet, object)
        Data sets, and what `measure` returns of them.
    """
    chosen = chosen_readers(arguments)
    data_sets = [
        each
        for each in read_data_sets(chosen, arguments.max_rows, arguments.in_order)
        if each.n_classes and len(each.y) >= arguments.min_rows
    ]
    if not data_sets:
        raise InputError(f"No data set has classes and {arguments.min_rows} rows.")
    calls = [delayed(measure)(each) for each in data_sets]
    with Parallel(n_jobs=arguments.n_jobs) as parallel:
        results = parallel(show_progress(calls, "data sets"))
    return [*zip(data_sets, results, strict=True)]


@gives_status
def main(argv=None):
    results = measure_all(make_parser(__doc__).parse_args(argv), measure)
    columns = "{:<24}{:>7}{:>9}{:>8}{:>11}{:>16}{:>13}{:>8}".format
    names = "error", "by chance", "class by class", "temperature", "loss"
    header = columns("data set", "rows", "classes", *names)
    print(header, "-" * len(header), sep="\n")
    for data_set, result in results:
        cells = data_set.name, len(data_set.y), data_set.n_classes
        print(columns(*cells, *(f"{number:.4f}" for number in result)))
    numbers = [result for _, result in results]
    for name, function in ("median", median), ("mean", mean):
        cells = (f"{function(each):.4f}" for each in zip(*numbers, strict=True))
        print(columns(name, "", "", *cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
