"""
The choice of experts for mixtures
==================================

Prints the one-pass loss of many candidates, and of mixtures of sets of candidates by
fixed share, on each data set: each row is predicted before it is learned, in a fixed
random order, with features in raw units. The loss is the log loss in
classification and the absolute error in regression::

    python examples/benchmarks/experts.py
    python examples/benchmarks/experts.py --data-dir FOLDER --max-rows 20000

The default experts of :class:`~sklearn_scinol.HedgeClassifier` and
:class:`~sklearn_scinol.HedgeRegressor` were chosen with this script. Experts should be
few, since each takes time. Their mixture should be close to the best candidate on every
data set, and as close to its own best expert, which the guarantee is about.

Mixtures are means of experts here, without the pools that estimators have besides.

Experts look better on the data sets that they were chosen on than on others. To see by
how much, sets of experts are also chosen by a rule, without the data sets that they are
measured on. The rule starts with no candidate and repeatedly adds the one that makes
the geometric mean of the mixture's losses over the data sets smallest, until there are
eleven candidates or none lowers the mean. It is applied

- to one half of the data sets and measured on the other half, and vice versa; a half is
  every second name in alphabetical order;
- to all data sets but one and measured on the remaining one, for each data set;
- to all data sets and measured on all, which shows how good the rule looks where it
  chose.

Files whose names differ only by _train, _test or _valid count as one data set.

SGD* is stochastic gradient descent with the best learning rate in hindsight, on
features standardised in hindsight. Data sets are read as in ``quality.py``. In
regression, all experts have their target standardised online. Second-order and additive
candidates are run on up to 200 features, candidates with pairs on up to 24.
"""

import argparse
import csv
import re
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
    positive,
    read_data_sets,
    show_progress,
    standardised,
)
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import gmean
from sklearn.base import clone

from sklearn_scinol import (
    AdaImplicitClassifier,
    AdaImplicitRegressor,
    HedgeClassifier,
    HedgeRegressor,
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.experts import FixedShare

# Candidates
# ----------

# Online transforms of features; sparse features are not centred. With "forgetting",
# moments forget that share with each row.
PREPARATIONS = {
    "raw": {"center": False},
    "centred": {"center": "auto"},
    "standardised": {"center": "auto", "scale": True},
    **{
        f"forgetting {part}": {
            "center": "auto",
            "scale": True,
            "moment_forgetting": part,
        }
        for part in (0.01, 0.03, 0.1)
    },
    "bins": {"center": "auto", "scale": True, "additive": True},
    "pairs": {"center": "auto", "scale": True, "interactions": True},
}


# The maximum numbers of features for candidates of second order, additive candidates,
# and candidates with pairs of features; the latter two are run on dense rows only.
MAX_SECOND_ORDER = 200
MAX_BINNED = 200
MAX_PAIRED = 24


class Candidate(NamedTuple):
    """An algorithm, and the transform of the features before it."""

    algorithm: str
    rate: float | None
    preparation: str

    @property
    def name(self):
        rate = "" if self.rate is None else f" {self.rate:g}"
        return f"{self.algorithm}{rate}, {self.preparation}"

    def suits(self, data_set):
        """Whether the candidate can be run on a data set in a reasonable time."""
        X = data_set.X
        most = np.inf
        if self.algorithm.startswith("newton"):
            most = MAX_SECOND_ORDER
        elif self.preparation in ("bins", "pairs"):
            is_paired = self.preparation == "pairs"
            most = MAX_PAIRED if is_paired else MAX_BINNED
            most = 0 if sparse.issparse(X) else most
        return X.shape[1] <= most

    def estimator(self, is_regression):
        if self.algorithm.startswith("newton"):
            options = {"prior_scale": self.rate}
            if self.algorithm.endswith("forgetting"):
                options["forgetting"] = 0.01
            if is_regression:
                return OnlineNewtonRegressor("absolute_error", **options)
            return OnlineNewtonClassifier(**options)
        options = {"algorithm": self.algorithm, **PREPARATIONS[self.preparation]}
        if is_regression:
            options["standardize_target"] = True
        if self.algorithm == "constant":
            options["beta"] = self.rate
            implicit = AdaImplicitRegressor if is_regression else AdaImplicitClassifier
            return implicit(**options)
        if self.algorithm.startswith("scinol"):
            return (ScInOLRegressor if is_regression else ScInOLClassifier)(**options)
        if self.rate is not None:
            options["learning_rate"] = self.rate
        if self.algorithm == "nag":
            options["normalizer"] = "mean"
        return (BaselineRegressor if is_regression else BaselineClassifier)(**options)


def powers(first, last):
    """Return powers of two, from the first exponent to the last."""
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
        ("constant", powers(-5, 1), ["standardised"]),
        ("constant", powers(-2, 1), [p for p in PREPARATIONS if "forget" in p]),
        ("adagrad", powers(-3, -1), ["bins", "pairs"]),
        ("adaogd", powers(-2, 0), ["bins", "pairs"]),
        ("newton", [0.1, 0.3, 1.0], ["standardised"]),
        ("newton, forgetting", [0.3, 1.0], ["standardised"]),
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
    "AdaGrad, AdaOGD, ScInOL2": [
        SCINOL2,
        *(Candidate("adagrad", rate, "standardised") for rate in (1 / 16, 1 / 4)),
        *(Candidate("adaogd", rate, "standardised") for rate in (1 / 8, 1 / 2, 2.0)),
    ],
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
    """Return named sets of named estimators; the first set has all candidates."""
    is_regression = data_set.n_classes is None
    sets = {
        title: {
            c.name: c.estimator(is_regression) for c in candidates if c.suits(data_set)
        }
        for title, candidates in SETS.items()
    }
    return {**sets, "default": default_experts(data_set)}


def default_experts(data_set):
    """Return the default experts of an estimator that has learned a row."""
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


class Predictions:
    """Predictions of experts for each row before they learned it, and their mixtures.

    A prediction is the log probability of the label, or in regression the error of the
    prediction clipped to the range of targets so far: in both cases ± the loss.

    Parameters
    ----------
    by_name : dict of {str: ndarray of shape (n_rows,)}
        Predictions of each expert.
    is_regression : bool
    """

    def __init__(self, by_name, is_regression):
        self.by_name = by_name
        self.is_regression = is_regression
        self._known = {}

    def loss(self, names):
        """Return the mean loss of a mixture of the named experts that were run."""
        key = frozenset(name for name in names if name in self.by_name)
        if not key:
            return np.inf
        if key not in self._known:
            answers = np.column_stack([self.by_name[name] for name in sorted(key)])
            rate = None if self.is_regression else 1.0
            weights = FixedShare(len(key), rate).update(np.abs(answers))
            if self.is_regression:
                mixed = (weights * answers).sum(axis=1)
            else:
                mixed = logsumexp(answers, axis=1, b=weights)
            self._known[key] = np.abs(mixed).mean()
        return self._known[key]

    def mix(self, title, names):
        losses = {
            name: np.abs(self.by_name[name]).mean()
            for name in names
            if name in self.by_name
        }
        return Mixture(title, self.loss(names), losses)


def answers_of(expert, data_set):
    """Return an estimator's predictions, in the form of :class:`Predictions`."""
    X, y = data_set.X, data_set.y
    if data_set.n_classes is None:
        said = expert.partial_fit_predict(X, y)
        least, most = np.minimum.accumulate(y), np.maximum.accumulate(y)
        said[1:] = np.clip(said[1:], least[:-1], most[:-1])
        return said - y
    log_probabilities = expert.partial_fit_predict(
        X, y, classes=np.arange(data_set.n_classes), method="predict_log_proba"
    )
    return log_probabilities[np.arange(len(y)), y]


@dataclass
class Result:
    """Losses of candidates and mixtures on a data set."""

    name: str
    title: str
    sgd_star: float
    mixtures: list
    answers: Predictions

    @property
    def candidates(self):
        """The mixture of all candidates."""
        return self.mixtures[0]

    @property
    def origin(self):
        """Name of the data set without its suffix _train, _test or _valid."""
        return re.sub("_(train|test|valid)$", "", self.name)


def measure(data_set, parallel):
    sets = sets_of_experts(data_set)
    experts = {name: expert for some in sets.values() for name, expert in some.items()}
    tasks = [delayed(answers_of)(expert, data_set) for expert in experts.values()]
    tasks.append(delayed(standardised)(data_set))
    *answers, (sgd_star, _) = parallel(show_progress(tasks, data_set.name))
    by_name = dict(zip(experts, answers, strict=True))
    answers = Predictions(by_name, data_set.n_classes is None)
    mixtures = [answers.mix(*item) for item in sets.items()]
    return Result(data_set.name, data_set.title, sgd_star, mixtures, answers)


# Choosing
# --------

CHOSEN = ("chosen on the other half", "chosen on all others", "chosen on all")


def candidates_of(results):
    """Return the names of all candidates that were run on some data set."""
    return list(dict.fromkeys(n for r in results for n in r.candidates.losses))


def choose(results, n_members):
    """Return the names of the candidates that the rule chooses, in order."""
    chosen, smallest = [], np.inf
    while len(chosen) < n_members:
        means = {
            name: gmean([result.answers.loss([*chosen, name]) for result in results])
            for name in candidates_of(results)
            if name not in chosen
        }
        best = min(means, key=means.get, default=None)
        if best is None or means[best] >= smallest:
            break
        chosen.append(best)
        smallest = means[best]
    return chosen


def folds(results):
    """Yield an entry of CHOSEN, the data sets to choose on and to measure on."""
    origins = sorted({result.origin for result in results})
    other_half, all_others, everything = CHOSEN
    held_out = [(other_half, origins[::2]), (other_half, origins[1::2])]
    held_out += [(all_others, [origin]) for origin in origins]
    for title, names in held_out:
        yield (
            title,
            [result for result in results if result.origin not in names],
            [result for result in results if result.origin in names],
        )
    yield everything, results, results


def add_chosen(results, n_members):
    """Add mixtures of the chosen candidates to the results."""
    for title, others, measured in folds(results):
        names = choose(others, n_members)
        for result in measured:
            result.mixtures.append(result.answers.mix(title, names))


# Tables
# ------


def table(result):
    """Return a table with a line for each set of experts."""
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
    """Compare the mixtures over all data sets, in a table for each reference."""
    losses = np.array([[m.loss for m in r.mixtures] for r in results])
    members = np.array([[m.best_loss for m in r.mixtures] for r in results])
    of_sgd_star, of_best = multiples(losses, results)
    tables = {
        "SGD*": of_sgd_star,
        "the best candidate": of_best,
        "its own best member": losses / members,
    }
    return "\n".join(
        table_of_sets(reference, ratios, results)
        for reference, ratios in tables.items()
    )


def table_of_sets(reference, ratios, results):
    """Return a table with a line for each mixture; `ratios` has a row per result."""
    columns = "{:<30}{:>3}{:>8}{:>8}{:>9}{:>7}  {}".format
    header = columns("experts", "", "median", "mean", "largest", "below", "on")
    lines = [
        f"Loss of each mixture in multiples of that of {reference}:",
        "median, geometric mean and largest over data sets, on how many it is below 1,",
        "and on which it is the largest.",
        "",
        header,
        "-" * len(header),
    ]
    for k, mixture in enumerate(results[0].mixtures):
        worst = ratios[:, k].argmax()
        lines.append(
            columns(
                mixture.title,
                max(len(result.mixtures[k].losses) for result in results),
                in_short(np.median(ratios[:, k]), 4),
                in_short(gmean(ratios[:, k]), 4),
                in_short(ratios[worst, k], 4),
                np.count_nonzero(ratios[:, k] < 1),
                results[worst].name,
            )
        )
    return "\n".join([*lines, ""])


def summary_of_choices(results):
    """Count how often the rule chose each candidate; the most frequent first."""
    columns = "{:<30}{:>12}{:>12}{:>5}".format
    header = columns("candidate", "other half", "all others", "all")
    lines = [
        f"For how many of the {len(results)} data sets the rule chose each candidate:",
        "on the other half of them, on all others, and on all.",
        "",
        header,
        "-" * len(header),
    ]
    counts = {
        name: [
            sum(
                mixture.title == title and name in mixture.losses
                for result in results
                for mixture in result.mixtures
            )
            for title in CHOSEN
        ]
        for name in candidates_of(results)
    }
    for name in sorted(counts, key=lambda name: -sum(counts[name])):
        if any(counts[name]):
            lines.append(columns(name, *counts[name]))
    return "\n".join([*lines, ""])


def summary_of_candidates(results):
    """Compare the candidates over all data sets; the best first."""
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
    names = candidates_of(results)
    losses = [
        [r.candidates.losses.get(name, np.nan) for name in names] for r in results
    ]
    losses = np.array(losses)
    of_sgd_star, of_best = multiples(losses, results)
    means = gmean(of_sgd_star, nan_policy="omit")
    for k in means.argsort():
        worst = np.nanargmax(of_best[:, k])
        lines.append(
            columns(
                names[k],
                in_short(means[k], 4),
                in_short(gmean(of_best[:, k], nan_policy="omit"), 4),
                in_short(of_best[worst, k], 4),
                np.count_nonzero(np.nanargmin(losses, axis=1) == k),
                results[worst].name,
            )
        )
    return "\n".join([*lines, ""])


def multiples(losses, results):
    """Divide the losses of each result by those of SGD* and of the best candidate."""
    of_sgd_star = np.array([[result.sgd_star] for result in results])
    of_best = np.array([[result.candidates.best_loss] for result in results])
    return losses / of_sgd_star, losses / of_best


def write_csv(path, results):
    """Write losses of all mixtures, of their experts, and of SGD*."""
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
    parser.add_argument(
        "--members",
        type=positive,
        default=11,
        metavar="N",
        help="experts to choose at most (default: %(default)s)",
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
        for data_set in read_data_sets(readers, arguments.max_rows, arguments.in_order):
            results.append(measure(data_set, parallel))
            print(table(results[-1]), flush=True)
    has_others = len({result.origin for result in results}) > 1
    if has_others:
        add_chosen(results, arguments.members)
    if arguments.output:
        write_csv(arguments.output, results)
    print(summary_of_candidates(results))
    if has_others:
        print(summary_of_choices(results))
    print(summary_of_sets(results))


if __name__ == "__main__":
    sys.exit(main())
