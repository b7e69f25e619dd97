"""
Sets of labels: coverage and size
=================================

Prints how well sets of labels of `OnlineConformalClassifier` hold the level 0.9 in one
pass over each data set of at least 5,000 rows, and how large they are::

    python examples/benchmarks/label_sets.py --data-dir FOLDER
    python examples/benchmarks/label_sets.py --data-dir FOLDER --in-order elec2

The classifier is the default `HedgeClassifier`. The first 1,000 rows do not count, or
those of ``--skip``. Columns of a data set are

- mean, worst: the mean and the largest deviation of the coverage of each 1,000 rows
  from the level, in percentage points;
- labels, empty: the mean number of labels in a set, and the share of empty sets;
- ACI: the mean number of labels with adaptive conformal inference [1]_ on the same
  probabilities, and its deviations. Its step is the best of seven in hindsight: the one
  of the smallest sets among those whose deviations are at most 2 points in the mean and
  4 in the worst case, or if there is none, of the smallest mean deviation;
- APS: the mean number of labels with the scores of adaptive prediction sets [2]_, which
  add up probabilities from the likeliest class on, with the best step as well.

.. [1] I. Gibbs and E. Candès (2021). "Adaptive conformal inference under distribution
   shift". NeurIPS 34.
.. [2] Y. Romano, M. Sesia, E. Candès (2020). "Classification with valid and adaptive
   coverage". NeurIPS 33.

Data sets are read as by ``quality.py``.
"""

import sys
from bisect import insort
from functools import partial
from math import ceil, inf
from statistics import mean, median
from typing import NamedTuple

import numpy as np
from calibration import make_parser, measure_all, probabilities
from quality import gives_status, positive

from sklearn_scinol import HedgeClassifier, OnlineConformalClassifier

LEVEL = 0.9
N_BLOCK = 1_000
STEPS = 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1
MAX_MEAN, MAX_WORST = 2.0, 4.0


class Quality(NamedTuple):
    """How well sets hold their level, and how large they are."""

    mean: float
    worst: float
    labels: float
    empty: float

    @property
    def holds(self):
        return self.mean <= MAX_MEAN and self.worst <= MAX_WORST


def quality(sets, y, n_first):
    """Return the quality of sets.

    Parameters
    ----------
    sets : ndarray of bool of shape (n, n_classes)
    y : ndarray of int of shape (n,)
        Classes.
    n_first : int
        Number of rows that do not count.
    """
    sets, y = sets[n_first:], y[n_first:]
    is_inside, sizes = sets[np.arange(len(y)), y], sets.sum(axis=1)
    n = len(y) // N_BLOCK * N_BLOCK
    shares = is_inside[:n].reshape(-1, N_BLOCK).mean(axis=1)
    deviations = 100.0 * np.abs(shares - LEVEL)
    return Quality(
        deviations.mean(), deviations.max(), sizes.mean(), (sizes == 0).mean()
    )


def adaptive_conformal_inference(scores):
    """Return the thresholds before each row, for each of the steps.

    A threshold is a quantile of all scores before, of a probability that makes the
    gradient steps.

    Parameters
    ----------
    scores : list of float
        Of the rows' labels.

    Returns
    -------
    thresholds : ndarray of shape (n_steps, n)
    """
    alpha, steps = 1.0 - LEVEL, np.array(STEPS)
    alphas, past = np.full(len(steps), alpha), []
    thresholds = np.empty((len(steps), len(scores)))
    for t, score in enumerate(scores):
        for i, a in enumerate(alphas.tolist()):
            place = ceil((1.0 - a) * (t + 1)) - 1
            known = past[max(place, 0)] if place < t else inf
            thresholds[i, t] = -inf if a >= 1.0 else inf if a <= 0.0 else known
        alphas += steps * (alpha - (score > thresholds[:, t]))
        insort(past, score)
    return thresholds


def best_of_steps(scores, y, n_first):
    """Return the quality of adaptive conformal inference with the best step.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes)
        Of all labels.
    """
    of_labels = scores[np.arange(len(y)), y]
    thresholds = adaptive_conformal_inference(of_labels.tolist())
    found = [quality(scores <= each[:, np.newaxis], y, n_first) for each in thresholds]
    holding = [each for each in found if each.holds]
    if holding:
        return min(holding, key=lambda each: each.labels)
    return min(found, key=lambda each: each.mean)


def cumulative_scores(P):
    """Return the scores of adaptive prediction sets, with a random part of the last."""
    order = np.argsort(-P, axis=1, kind="stable")
    descending = np.take_along_axis(P, order, axis=1)
    part = np.random.default_rng(0).uniform(size=(len(P), 1))
    scores = np.empty(P.shape)
    sums = descending.cumsum(axis=1) - part * descending
    np.put_along_axis(scores, order, sums, axis=1)
    return scores


def measure(data_set, n_first):
    y, mixture = data_set.y, HedgeClassifier(random_state=0)
    model = OnlineConformalClassifier(mixture, confidence_level=LEVEL)
    ours = quality(probabilities(model, data_set, "predict_set"), y, n_first)
    P = probabilities(mixture, data_set)
    return ours, *(
        best_of_steps(scores, y, n_first) for scores in (1.0 - P, cumulative_scores(P))
    )


@gives_status
def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument(
        "--skip",
        type=positive,
        default=1_000,
        metavar="N",
        help="number of rows that do not count (default: %(default)s)",
    )
    arguments = parser.parse_args(argv)
    results = measure_all(arguments, partial(measure, n_first=arguments.skip))
    columns = "{:<24}{:>7}{:>9}{:>6}{:>7}{:>8}{:>7}{:>10}{:>6}{:>7}{:>8}".format
    names = "mean", "worst", "labels", "empty", "ACI: mean", "worst", "labels", "APS"
    header = columns("data set", "rows", "classes", *names)
    print(header, "-" * len(header), sep="\n")
    numbers = [
        (*ours, aci.mean, aci.worst, aci.labels, aps.labels)
        for _, (ours, aci, aps) in results
    ]

    def cells(values):
        digits = 2, 2, 3, 3, 2, 2, 3, 3
        return [f"{v:.{d}f}" for v, d in zip(values, digits, strict=True)]

    for (data_set, _), of_set in zip(results, numbers, strict=True):
        size = data_set.name, len(data_set.y), data_set.n_classes
        print(columns(*size, *cells(of_set)))
    for name, function in ("median", median), ("mean", mean), ("largest", max):
        of_all = map(function, zip(*numbers, strict=True))
        print(columns(name, "", "", *cells(of_all)))
    ratios = [
        (ours.labels / aci.labels, ours.labels / aps.labels)
        for _, (ours, aci, aps) in results
    ]
    for name, of_all in zip(("ACI", "APS"), zip(*ratios, strict=True), strict=True):
        print(
            f"labels / those of {name}: geometric mean "
            f"{np.exp(np.mean(np.log(of_all))):.3f}, "
            f"smallest {min(of_all):.3f}, largest {max(of_all):.3f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
