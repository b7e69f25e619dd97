"""
How tight the bounds are on real data
=====================================

Learns each data set once, in random order, with everything that has a bound, and
divides the bound by what it bounds: the regret against the best linear model of norm 1,
of features divided by their standard deviations and targets by their mean absolute
value; of mixtures the regret against the best expert; of intervals and sets of labels
the deviation of the coverage from its level. "below" stands for a regret of at most 0.

To run it on some files of a folder::

    python examples/benchmarks/tightness.py --data-dir FOLDER
"""

import argparse
import sys
from functools import cache

import numpy as np
from interface import gives_status, show_progress
from quality import add_data_options, chosen_readers, read_data_sets
from regret_certificate import in_their_deviations

from sklearn_scinol import (
    AdaFTRLClassifier,
    AdaFTRLRegressor,
    AdaImplicitClassifier,
    AdaImplicitRegressor,
    DFEGClassifier,
    DFEGRegressor,
    HedgeClassifier,
    HedgeRegressor,
    OnlineConformalClassifier,
    OnlineConformalRegressor,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.evaluation import best_comparator

# Data sets of the folder: classification, then regression.
CHOSEN = "breast_cancer_wisconsin", "elec2", "ionosphere", "german_numer"
CHOSEN += "abalone", "cal_housing", "cpusmall", "housing"

RADIUS, LEVEL = 1.0, 0.9


def first_order(classifies):
    """Return learners of first order by name."""
    both = [
        (ScInOLRegressor, ScInOLClassifier),
        (AdaImplicitRegressor, AdaImplicitClassifier),
        (AdaFTRLRegressor, AdaFTRLClassifier),
        (DFEGRegressor, DFEGClassifier),
        (BaselineRegressor, BaselineClassifier),
    ]
    scinol, implicit, ftrl, dfeg, baseline = (pair[classifies] for pair in both)
    return {
        "ScInOL1": scinol(algorithm="scinol1", center=False),
        "ScInOL2": scinol(center=False),
        "AdaImplicit": implicit(
            radius=RADIUS, beta=np.sqrt(2.0) * RADIUS, center=False
        ),
        "AdaFTRL": ftrl(radius=RADIUS, center=False),
        "DFEG": dfeg(center=False),
        "OGD": baseline("ogd", center=False),
        "AdaOGD": baseline("adaogd", center=False),
    }


def newton():
    """Return learners of second order by name."""
    raw = {"center": False, "scale": False, "standardize_target": False}
    return {
        "Newton, squared error": OnlineNewtonRegressor(**raw),
        "Newton, vovk=True": OnlineNewtonRegressor(vovk=True, **raw),
    }


def bounds(data_set):
    """Yield names, and what is bounded, with its bound."""
    classifies, y = data_set.n_classes is not None, data_set.y
    X, given = in_their_deviations(data_set.X), {}
    if classifies:
        given = {"classes": np.arange(data_set.n_classes)}
    else:
        y = y / data_set.target_scale

    @cache
    def best(loss):
        return best_comparator(X, y, loss=loss, radius=RADIUS, **given)

    for name, learner in (first_order(classifies) | newton()).items():
        if isinstance(learner, OnlineNewtonRegressor) and classifies:
            continue
        if not classifies and not isinstance(learner, OnlineNewtonRegressor):
            learner.set_params(loss="absolute_error", standardize_target=False)
        model = learner.partial_fit(X, y, **given)
        u = best(model.loss)
        regret = model.cumulative_loss_ - u.total_loss
        yield name, regret, model.regret_bound(u.coef, u.intercept)

    mixture = (HedgeClassifier if classifies else HedgeRegressor)()
    mixture.partial_fit(X, y, **given)
    regret = mixture.cumulative_loss_ - mixture.expert_losses_.min()
    yield "mixture, best expert", regret, mixture.regret_bound_

    conformal = OnlineConformalClassifier if classifies else OnlineConformalRegressor
    inner = (ScInOLClassifier if classifies else ScInOLRegressor)()
    for name, groups in ("coverage", None), ("coverage, groups", "auto"):
        model = conformal(inner, confidence_level=LEVEL, groups=groups)
        model.partial_fit(X, y, **given)
        yield name, abs(model.coverage_ - LEVEL), model.coverage_bound()


def main_table(data_set):
    """Return lines of a data set, with a line for each bound."""
    lines = [f"{data_set.name}: {len(data_set.y):,} rows"]
    n_broken = 0
    for name, value, bound in bounds(data_set):
        n_broken += value > bound * (1.0 + 1e-9)
        ratio = f"{bound / value:,.1f}" if value > 0.0 else "below"
        lines.append(f"{name:<24}{value:>14.4g}{bound:>14.4g}{ratio:>12}")
    return [*lines, ""], n_broken


@gives_status
def main(argv=None):
    parser = argparse.ArgumentParser(
        description="Divide each bound by what it bounds, on real data."
    )
    add_data_options(parser)
    arguments = parser.parse_args(argv)
    readers = chosen_readers(arguments)
    if arguments.data_dir is not None and not arguments.only:
        readers = {name: readers[name] for name in CHOSEN if name in readers}
    data_sets = read_data_sets(readers, arguments.max_rows, arguments.in_order)
    n_broken = 0
    for data_set in show_progress(data_sets, "Learning"):
        lines, n = main_table(data_set)
        n_broken += n
        print("\n".join(lines))
    print(f"{n_broken or 'None'} of the bounds were passed.")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
