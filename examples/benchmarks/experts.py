"""
What each expert of a mixture earns
===================================

Prints the one-pass loss of the default mixture on each data set: whole, without each of
its experts, and with each of some candidates. Data, losses and SGD*, the reference, are
those of ``quality.py``::

    python examples/benchmarks/experts.py
    python examples/benchmarks/experts.py --data-dir FOLDER --max-rows 20000

What an expert earns is the loss of the mixture without it, divided by that with it. An
expert takes time, so the rule is: it belongs to the mixture if it earns at least 0.2 %
in the geometric mean over the data sets that it suits, of classification or regression.

Experts look better on the data sets that they were chosen on than on others. To see by
how much, the rule is applied to one half of the data sets and its mixture is measured
on the other half, and vice versa. A half is every second name in alphabetical order.
Files whose names differ only by _train, _test or _valid count as one data set.
"""

import argparse
import re
import sys
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from joblib import Parallel, delayed
from quality import (
    DataSet,
    Entry,
    add_data_options,
    chosen_readers,
    gives_status,
    in_short,
    one_pass,
    read_data_sets,
    show_progress,
    standardised,
    table,
)
from scipy.stats import gmean
from sklearn.base import clone, is_classifier

from sklearn_scinol import HedgeClassifier, HedgeRegressor
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor

LEAST_GAIN = 1.002  # of an expert: 0.2 %

# Candidates
# ----------


class Candidate(NamedTuple):
    """Another form of a default expert; it suits the data sets that have this one."""

    original: str
    parameters: dict
    gamma: float = 1.0  # of random features, times that of the original
    is_baseline: bool = False  # instead of an estimator of the original's class

    def made_of(self, experts):
        """Return the estimator, given the default experts of a data set by name."""
        model = clone(experts[self.original])
        if self.is_baseline:
            make = BaselineClassifier if is_classifier(model) else BaselineRegressor
            shared = model.get_params().keys() & make().get_params().keys()
            model = make(**{name: getattr(model, name) for name in shared})
        model.set_params(**self.parameters)
        if self.gamma != 1.0:
            model.set_params(gamma=self.gamma * model.gamma)
        return model


def baseline(algorithm, rate=1.0, original="scinol2", **parameters):
    """Return a baseline on standardised features as a candidate."""
    parameters |= {"algorithm": algorithm, "learning_rate": rate, "scale": True}
    return Candidate(original, parameters, is_baseline=True)


STATIC = {"prior_scale": 0.3, "forgetting": 0.0}
NARROW = {"random_features": 32, "forgetting": 0.01}
CANDIDATES = {
    "scinol1": Candidate("scinol2", {"algorithm": "scinol1"}),
    "freegrad": baseline("freegrad"),
    "cocob": baseline("cocob"),
    "adaogd-0.125": baseline("adaogd", 1 / 8),
    "adaogd-0.5": baseline("adaogd", 1 / 2),
    "adaogd-2": baseline("adaogd", 2.0),
    "adagrad-0.25": baseline("adagrad", 1 / 4),
    "nag-0.25": baseline("nag", 1 / 4, normalizer="mean"),
    "newton": Candidate("newton-forgetting-0.003", STATIC),
    "newton-forgetting-0.01": Candidate("newton-forgetting-0.02", {"forgetting": 0.01}),
    "fourier-0.5-forgetting": Candidate("fourier-1-forgetting", {}, gamma=4.0),
    "fourier-1": Candidate("fourier-1-forgetting", STATIC),
    "fourier-2": Candidate("fourier-1-forgetting", STATIC, gamma=1 / 4),
    "fourier-0.25-forgetting": Candidate("fourier-1-forgetting", NARROW, gamma=16.0),
    "neighbors-30": Candidate("neighbors-10", {"n_neighbors": 30}),
    "bins-adagrad-0.25": baseline("adagrad", 1 / 4, "bins-scinol2"),
}

# Losses
# ------

OTHER_HALF, SAME_HALF = "chosen on other half", "chosen on same half"
MIXTURES = "default", "first level", "best expert", OTHER_HALF, SAME_HALF


@dataclass(eq=False)
class Result:
    """A data set and losses of mixtures.

    `changes` are those of one expert: "- name" is an expert of the default mixture,
    which is left out, "+ name" a candidate, which is added.
    """

    data_set: DataSet
    changes: dict
    losses: dict

    @property
    def origin(self):
        """Name of the data set without its suffix _train, _test or _valid."""
        return re.sub("_(train|test|valid)$", "", self.data_set.name)

    def loss_after(self, changes, **options):
        """Return a delayed call that gives the loss of the changed mixture."""
        chosen = [c for c in self.changes if (c in changes) == (c[0] == "+")]
        experts = [(change[2:], self.changes[change]) for change in chosen]
        model = mixture(self.data_set, experts, **options)
        return delayed(loss_of)(self.data_set, model)


def mixture(data_set, experts=None, **options):
    """Return a mixture for a data set, of default experts unless others are given."""
    hedge = HedgeClassifier if data_set.n_classes else HedgeRegressor
    return hedge(experts or None, **options)


def loss_of(data_set, model):
    """Return the mean loss of a mixture in one pass over a data set."""
    return one_pass(model, data_set.X, data_set.y, data_set.n_classes)


def measure(data_set, parallel):
    """Measure the default mixture, all changes of it, and the reference."""
    model = mixture(data_set)
    losses = {"default": loss_of(data_set, model)}
    losses["best expert"] = float(model.expert_losses_.min() / len(data_set.y))
    experts = {name: clone(expert) for name, expert in model.named_estimators_.items()}
    changes = {f"- {name}": expert for name, expert in experts.items()} | {
        f"+ {name}": candidate.made_of(experts)
        for name, candidate in CANDIDATES.items()
        if candidate.original in experts and name not in experts
    }
    result = Result(data_set, changes, losses)
    calls = [result.loss_after([change]) for change in changes]
    calls += [result.loss_after([], exclude=["pools"]), delayed(standardised)(data_set)]
    *found, (reference, _) = parallel(show_progress(calls, data_set.name))
    losses |= zip([*changes, "first level", "SGD*"], [*found, reference], strict=True)
    return result


# The rule
# --------


def gains(results):
    """Return losses without an expert over those with it, by change and data set."""
    found = {}
    for result in results:
        for change in result.changes:
            ratio = result.losses[change] / result.losses["default"]
            gain = 1 / ratio if change[0] == "+" else ratio
            found.setdefault(change, {})[result.data_set.name] = gain
    return found


def choose(results):
    """Return the changes by which the rule makes its mixture of the default one."""
    means = {name: gmean([*each.values()]) for name, each in gains(results).items()}
    return [c for c, mean in means.items() if (mean >= LEAST_GAIN) == (c[0] == "+")]


def halves(results):
    """Return the results of every second origin in alphabetical order, and others."""
    first = sorted({result.origin for result in results})[::2]
    return [
        [result for result in results if (result.origin in first) == is_first]
        for is_first in (True, False)
    ]


def by_task(results):
    """Return the results of each task there is."""
    tasks = {"classification": [], "regression": []}
    for result in results:
        classifies = result.data_set.n_classes
        tasks["classification" if classifies else "regression"].append(result)
    return {task: of_task for task, of_task in tasks.items() if of_task}


def measure_chosen(results, parallel):
    """Measure everywhere what the rule chooses on each half; return that as text."""
    lines = ["What the rule changes by each half of the data sets:"]
    for k, half in enumerate(halves(results), 1):
        for task, of_task in by_task(results).items():
            changes = choose([result for result in of_task if result in half])
            lines.append(f"{task}, half {k}: {', '.join(changes) or 'nothing'}")
            calls = [result.loss_after(changes) for result in of_task]
            losses = parallel(show_progress(calls, "chosen"))
            for result, loss in zip(of_task, losses, strict=True):
                result.losses[SAME_HALF if result in half else OTHER_HALF] = loss
    return "\n".join([*lines, ""])


# Summary
# -------


def at(end, by_name):
    """Return the smallest or largest number, and its name."""
    name = end(by_name, key=by_name.get)
    return f"{in_short(by_name[name], 4)} {name}"


def summary_of_changes(task, results):
    """Return a table of what experts earn, and what candidates would."""
    columns = "{:<26}{:>4}{:>8}  {:<32}{}".format
    header = columns("expert", "sets", "mean", "smallest, on", "largest, on")
    lines = [
        f"What experts (-) earn, and candidates (+) would, in {task}: the loss",
        "without them over that with them; geometric mean, smallest and largest.",
        *("", header, "-" * len(header)),
    ]
    found = gains(results)
    means = {change: gmean([*by_name.values()]) for change, by_name in found.items()}
    for change in sorted(found, key=lambda change: (change[0] == "+", -means[change])):
        by_name = found[change]
        ends = at(min, by_name), at(max, by_name)
        lines.append(columns(change, len(by_name), f"{means[change]:.4f}", *ends))
    return "\n".join([*lines, ""])


def summary_of_mixtures(results):
    """Return a table that compares mixtures with the reference and the default one."""
    columns = "{:<22}{:>6}{:>7}  {:<32}{:>6}  {}".format
    header = columns("mixture", "median", "below", "largest, on", "mean", "largest, on")
    lines = [
        f"Loss of each mixture / that of SGD*, on {len(results)} data sets: median, on",
        "how many below 1, largest; and / that of the default: geometric mean, "
        "largest.",
        *("", header, "-" * len(header)),
    ]
    for name in filter(results[0].losses.get, MIXTURES):
        of_reference, of_default = (
            {r.data_set.name: r.losses[name] / r.losses[divisor] for r in results}
            for divisor in ("SGD*", "default")
        )
        below = sum(ratio < 1 for ratio in of_reference.values())
        half, mean = median(of_reference.values()), gmean([*of_default.values()])
        cells = f"{half:.3f}", below, at(max, of_reference), f"{mean:.3f}"
        lines.append(columns(name, *cells, at(max, of_default)))
    return "\n".join([*lines, ""])


# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description="One-pass loss of mixtures with and without each expert."
    )
    add_data_options(parser)
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    readers = chosen_readers(arguments)
    results = []
    with Parallel(n_jobs=arguments.n_jobs) as parallel:
        for data_set in read_data_sets(readers, arguments.max_rows, arguments.in_order):
            results.append(measure(data_set, parallel))
            losses = sorted(results[-1].losses.items(), key=lambda item: item[1])
            entries = [Entry(name, loss, None) for name, loss in losses]
            print(table(data_set, entries), flush=True)
        for task, of_task in by_task(results).items():
            print(summary_of_changes(task, of_task))
        if all(halves(results)):
            print(measure_chosen(results, parallel))
    print(summary_of_mixtures(results))


if __name__ == "__main__":
    sys.exit(main())
