"""
Which experts the estimators that hedge should have
===================================================

Prints the one-pass loss of many candidates, and of mixtures of several sets of them by
AdaHedge, on each data set: each row is predicted before it is learned, in an order that
is random but always the same, features in raw units. It is the log loss in
classification and the absolute error in regression::

    python examples/benchmarks/experts.py
    python examples/benchmarks/experts.py --data-dir FOLDER --max-rows 20000

The default experts of :class:`~sklearn_scinol.HedgeClassifier` and
:class:`~sklearn_scinol.HedgeRegressor` come from it. They should be few, for each costs
its time; a mixture of them should be close to the best candidate on every data set, and
no less close to its own best member, which is what a guarantee there is about.

SGD* is stochastic gradient descent with the best learning rate in hindsight, on
features standardised in hindsight, and data sets are read as in ``quality.py``. In
regression, all experts have their target standardised online.
"""

import argparse
import csv
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from quality import (
    add_data_options,
    chosen_readers,
    gives_status,
    in_short,
    one_pass,
    read_data_sets,
    show_progress,
    standardised,
)
from scipy.stats import gmean
from sklearn.base import clone

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor

# Candidates
# ----------

# What is done to the features, online; sparse ones are not centred.
PREPARATIONS = {
    "raw": {"center": False},
    "centred": {"center": "auto"},
    "standardised": {"center": "auto", "scale": True},
}


class Candidate(NamedTuple):
    """An algorithm, and what is done to the features before."""

    algorithm: str
    rate: float | None
    preparation: str

    @property
    def name(self):
        rate = "" if self.rate is None else f" {self.rate:g}"
        return f"{self.algorithm}{rate}, {self.preparation}"

    def estimator(self, is_regression):
        options = {"algorithm": self.algorithm, **PREPARATIONS[self.preparation]}
        if is_regression:
            options["standardize_target"] = True
        if self.algorithm.startswith("scinol"):
            return (ScInOLRegressor if is_regression else ScInOLClassifier)(**options)
        if self.rate is not None:
            options["learning_rate"] = self.rate
        if self.algorithm == "nag":
            options["normalizer"] = "mean"
        return (BaselineRegressor if is_regression else BaselineClassifier)(**options)


def powers(first, last):
    """Powers of two with the exponents from the first to the last."""
    return [2.0**k for k in range(first, last + 1)]


CANDIDATES = [
    Candidate(algorithm, rate, preparation)
    for algorithm, rates, preparations in (
        ("scinol1", [None], PREPARATIONS),
        ("scinol2", [None], PREPARATIONS),
        ("freegrad", [None], ["centred", "standardised"]),
        ("coin", [None], ["centred", "standardised"]),
        ("cocob", [None], ["standardised"]),
        ("nag", powers(-4, 1), ["centred", "standardised"]),
        ("adaogd", powers(-4, 2), ["standardised"]),
        ("adagrad", powers(-5, -1), ["standardised"]),
    )
    for preparation in preparations
    for rate in rates
]

# Sets of them
# ------------

SCINOL2 = Candidate("scinol2", None, "centred")

SIX = [
    Candidate("scinol2", None, "raw"),
    Candidate("nag", 0.3, "raw"),
    Candidate("nag", 0.1, "centred"),
    *(Candidate("adaogd", rate, "standardised") for rate in (0.1, 0.3, 1.0)),
]

SETS = {
    "all candidates": CANDIDATES,
    "AdaOGD 1/8 to 2, ScInOL2": [
        SCINOL2,
        *(Candidate("adaogd", rate, "standardised") for rate in powers(-3, 1)),
    ],
    "AdaOGD 1/8 to 2, NAG, ScInOL2": [
        SCINOL2,
        Candidate("nag", 0.25, "standardised"),
        *(Candidate("adaogd", rate, "standardised") for rate in powers(-3, 1)),
    ],
    "AdaGrad 1/32 to 1/4, ScInOL2": [
        SCINOL2,
        *(Candidate("adagrad", rate, "standardised") for rate in powers(-5, -2)),
    ],
    "AdaOGD 0.1 to 1, NAG, ScInOL2": SIX,
    "AdaOGD 0.1 to 3, NAG, ScInOL2": [
        *SIX,
        SCINOL2,
        *(Candidate("nag", rate, "centred") for rate in (0.3, 1.0)),
        Candidate("nag", 1.0, "raw"),
        Candidate("adaogd", 3.0, "standardised"),
    ],
}


def sets_of_experts(data_set):
    """Estimators by name, in sets by name; that of all candidates is the first."""
    is_regression = data_set.n_classes is None
    sets = {
        title: {c.name: c.estimator(is_regression) for c in candidates}
        for title, candidates in SETS.items()
    }
    return {**sets, "default": default_experts(data_set)}


def default_experts(data_set):
    """Those of the estimator that has learned a row."""
    model = HedgeRegressor() if data_set.n_classes is None else HedgeClassifier()
    one_pass(model, data_set.X[:1], data_set.y[:1], data_set.n_classes)
    return {name: clone(expert) for name, expert in model.named_estimators_.items()}


# Losses
# ------


@dataclass
class Mixture:
    """Mean losses of a set of experts."""

    title: str
    loss: float
    losses: dict  # of the experts, by name

    @property
    def best(self):
        """Name of the best expert."""
        return min(self.losses, key=self.losses.get)

    @property
    def best_loss(self):
        return self.losses[self.best]


@dataclass
class Result:
    """Everything about a data set."""

    name: str
    title: str
    sgd_star: float
    mixtures: list

    @property
    def candidates(self):
        """The mixture of all."""
        return self.mixtures[0]


def mix(title, experts, data_set):
    hedge = HedgeRegressor if data_set.n_classes is None else HedgeClassifier
    model = hedge(list(experts.items()))
    loss = one_pass(model, data_set.X, data_set.y, data_set.n_classes)
    losses = (model.expert_losses_ / len(data_set.y)).tolist()
    return Mixture(title, loss, dict(zip(experts, losses, strict=True)))


def measure(data_set, parallel):
    tasks = [
        delayed(mix)(title, experts, data_set)
        for title, experts in sets_of_experts(data_set).items()
    ]
    tasks.append(delayed(standardised)(data_set))
    *mixtures, (sgd_star, _) = parallel(show_progress(tasks, data_set.name))
    return Result(data_set.name, data_set.title, sgd_star, mixtures)


# Tables
# ------


def table(result):
    """A line for each set of experts."""
    columns = "{:<30}{:>3}{:>11}{:>8}{:>8}{:>10}  {}".format
    header = columns("experts", "", "loss", "/ SGD*", "/ best", "/ member", "member")
    of_best = result.candidates.best_loss
    lines = [
        columns(
            mixture.title,
            len(mixture.losses),
            in_short(mixture.loss, 5),
            in_short(mixture.loss / result.sgd_star, 4),
            in_short(mixture.loss / of_best, 4),
            in_short(mixture.loss / mixture.best_loss, 4),
            mixture.best,
        )
        for mixture in result.mixtures
    ]
    return "\n".join([result.title, "", header, "-" * len(header), *lines, ""])


def summary_of_sets(results):
    """How the mixtures compare, over all data sets."""
    columns = "{:<30}{:>3}{:>8}{:>8}{:>10}{:>7}  {}".format
    header = columns("experts", "", "/ SGD*", "/ best", "/ member", "below", "on")
    lines = [
        "Loss of each mixture in multiples of that of SGD* and of the best candidate,",
        "geometric means over data sets; the largest multiple of that of its own best",
        "member, and on which; and on how many data sets it is below SGD*.",
        "",
        header,
        "-" * len(header),
    ]
    losses = np.array([[m.loss for m in r.mixtures] for r in results])
    members = np.array([[m.best_loss for m in r.mixtures] for r in results])
    of_sgd_star, of_best = multiples(losses, results)
    of_member = losses / members
    for k, mixture in enumerate(results[0].mixtures):
        worst = of_member[:, k].argmax()
        lines.append(
            columns(
                mixture.title,
                len(mixture.losses),
                in_short(gmean(of_sgd_star[:, k]), 4),
                in_short(gmean(of_best[:, k]), 4),
                in_short(of_member[worst, k], 4),
                np.count_nonzero(of_sgd_star[:, k] < 1),
                results[worst].name,
            )
        )
    return "\n".join([*lines, ""])


def summary_of_candidates(results):
    """How the candidates compare, over all data sets; best first."""
    columns = "{:<30}{:>8}{:>8}{:>9}{:>6}  {}".format
    header = columns("candidate", "/ SGD*", "/ best", "largest", "best", "on")
    lines = [
        "Loss of each candidate in multiples of that of SGD* and of the best one,",
        "geometric means over data sets; the largest of the latter, and on which; and",
        "on how many data sets it is the best.",
        "",
        header,
        "-" * len(header),
    ]
    names = [*results[0].candidates.losses]
    losses = np.array([[*result.candidates.losses.values()] for result in results])
    of_sgd_star, of_best = multiples(losses, results)
    means = gmean(of_sgd_star)
    for k in means.argsort():
        worst = of_best[:, k].argmax()
        lines.append(
            columns(
                names[k],
                in_short(means[k], 4),
                in_short(gmean(of_best[:, k]), 4),
                in_short(of_best[worst, k], 4),
                np.count_nonzero(losses.argmin(axis=1) == k),
                results[worst].name,
            )
        )
    return "\n".join([*lines, ""])


def multiples(losses, results):
    """A row of losses for each result over those of SGD* and of the best candidate."""
    of_sgd_star = np.array([[result.sgd_star] for result in results])
    of_best = np.array([[result.candidates.best_loss] for result in results])
    return losses / of_sgd_star, losses / of_best


def write_csv(path, results):
    """Losses of all mixtures, of their experts, and of SGD*."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["data set", "experts", "expert", "loss"])
        for result in results:
            writer.writerow([result.name, "SGD*", "", result.sgd_star])
            for mixture in result.mixtures:
                writer.writerow([result.name, mixture.title, "", mixture.loss])
                for name, loss in mixture.losses.items():
                    writer.writerow([result.name, mixture.title, name, loss])


# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description="One-pass loss of candidates for experts, and of their mixtures."
    )
    add_data_options(parser)
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="CSV file to write the losses to"
    )
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    results = []
    readers = chosen_readers(arguments)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with Parallel(n_jobs=arguments.n_jobs) as parallel:
        for data_set in read_data_sets(readers, arguments.max_rows):
            results.append(measure(data_set, parallel))
            print(table(results[-1]), flush=True)
    if arguments.output:
        write_csv(arguments.output, results)
    print(summary_of_candidates(results))
    print(summary_of_sets(results))


if __name__ == "__main__":
    sys.exit(main())
