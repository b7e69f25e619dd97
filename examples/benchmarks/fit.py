"""
Test loss after `fit`, compared with batch solvers
==================================================

Fits `HedgeClassifier` and `HedgeRegressor` with their defaults, in raw units, and
prints their loss on new rows, averaged over 5 folds, divided by the loss of
scikit-learn's batch solvers on standardised features. In classification the loss is the
log loss, and the solver `LogisticRegression` with its defaults. In regression the loss
is the absolute error, and the solver the best of `LinearRegression`, `HuberRegressor`
and `QuantileRegressor` with ``alpha=0`` (the median), chosen in hindsight. The last
column has the loss divided by that of scikit-learn's boosted trees with their defaults,
`HistGradientBoostingClassifier` or `HistGradientBoostingRegressor`, which in regression
minimise the absolute error::

    python examples/benchmarks/fit.py
    python examples/benchmarks/fit.py --data-dir FOLDER

With ``--sgd`` it compares regressors with `SGDRegressor` on standardised features, all
with their defaults but for the mixture's squared error: R² and absolute error on new
rows, those after a single epoch, and the time of `fit`::

    python examples/benchmarks/fit.py --sgd --data-dir FOLDER --classes outdoor

Other columns have no boosted trees among the experts, and a single epoch. Numbers of
boosted trees were chosen on six of the data sets: the last row is about the others. At
most 5,000 rows of each data set are used (``--max-rows``), and no class with fewer rows
than folds. Files of the folder are read as in quality.py.
"""

import argparse
import sys
import warnings
from statistics import geometric_mean, median
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed
from quality import (
    add_data_options,
    chosen_readers,
    gives_status,
    read_data_sets,
    show_progress,
)
from scipy import sparse
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
    SGDRegressor,
)
from sklearn.metrics import log_loss, mean_absolute_error, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineNewtonRegressor,
    ScInOLRegressor,
)

N_FOLDS = 5
MAX_ROWS = 5_000

# Data sets on which numbers of boosted trees were chosen.
CHOSEN_ON = "cal_housing", "cpusmall", "elec2", "kin8nm", "madelon_train", "sonar"

OPTIONS = {
    "Hedge": {},
    "no boosted trees": {"exclude": "boosted_trees"},
    "one epoch": {"max_iter": 1, "tol": None},
}


def without_rare_classes(data_set):
    """Return rows and targets of the classes that are in every fold."""
    X, y = data_set.X, data_set.y
    if data_set.n_classes:
        kept = np.bincount(y)[y] >= N_FOLDS
        X, y = X[kept], y[kept]
    return X, y


def folds(X, y, classifies):
    splitter = StratifiedKFold if classifies else KFold
    return splitter(N_FOLDS, shuffle=True, random_state=0).split(X, y)


def solvers(classifies):
    if classifies:
        return [LogisticRegression()]
    return [
        LinearRegression(),
        HuberRegressor(max_iter=10_000),
        QuantileRegressor(alpha=0.0),
    ]


def boosted_trees(classifies):
    if classifies:
        return HistGradientBoostingClassifier(random_state=0)
    return HistGradientBoostingRegressor(loss="absolute_error", random_state=0)


def estimators(classifies):
    """Return the estimators of this package, the solvers, and boosted trees."""
    hedge = HedgeClassifier if classifies else HedgeRegressor
    ours = [hedge(random_state=0, **options) for options in OPTIONS.values()]
    linear = [make_pipeline(StandardScaler(), s) for s in solvers(classifies)]
    return [*ours, *linear, boosted_trees(classifies)]


def new_loss(estimator, X, y, training, new, classifies):
    """Return the mean loss of new rows, and the number of epochs or None."""
    if sparse.issparse(X) and "HistGradientBoosting" in type(estimator).__name__:
        X = X.toarray()
    with warnings.catch_warnings():
        # lbfgs warns when its default number of iterations is too small.
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X[training], y[training])
    if classifies:
        p = estimator.predict_proba(X[new])
        loss = log_loss(y[new], p, labels=estimator.classes_)
    else:
        loss = mean_absolute_error(y[new], estimator.predict(X[new]))
    return loss, getattr(estimator, "n_iter_", None)


def compare(data_set, parallel):
    """Return our losses divided by others', and our epochs with defaults.

    They are divided by the best solver's; the last one has our loss with defaults
    divided by that of boosted trees.
    """
    X, y = without_rare_classes(data_set)
    classifies = data_set.n_classes is not None
    runs = [
        delayed(new_loss)(estimator, X, y, *fold, classifies)
        for estimator in estimators(classifies)
        for fold in folds(X, y, classifies)
    ]
    found = parallel(show_progress(runs, data_set.name))
    losses = np.array([loss for loss, _ in found]).reshape(-1, N_FOLDS).mean(axis=1)
    ours, of_solvers = losses[: len(OPTIONS)], losses[len(OPTIONS) : -1]
    ratios = [*ours / of_solvers.min(), ours[0] / losses[-1]]
    return ratios, median(epochs for _, epochs in found[:N_FOLDS])


# In place of SGDRegressor
# -----------------------


def regressors(**options):
    """Return SGD on standardised features, and what may replace it, by name."""
    options["random_state"] = 0
    return {
        "SGD": make_pipeline(StandardScaler(), SGDRegressor(**options)),
        "ScInOL": ScInOLRegressor(**options),
        "Newton": OnlineNewtonRegressor(**options),
        "Hedge": HedgeRegressor(loss="squared_error", **options),
    }


def new_scores(estimator, X, y, training, new):
    """Return R² and absolute error on new rows, and the seconds of `fit`."""
    start = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X[training], y[training])
    seconds = perf_counter() - start
    predicted = estimator.predict(X[new])
    return (
        r2_score(y[new], predicted),
        mean_absolute_error(y[new], predicted),
        seconds,
    )


def replace_sgd(data_sets, parallel):
    """Print R² of all, and errors divided by SGD's; then how often they are better."""
    names = [*regressors()]
    heads = "".join(f"{f'R², {name}':>14}" for name in names)
    heads += "".join(f"{f'error, {name}':>15}" for name in names[1:])
    print(f"{'error / that of SGD':22}{heads}")
    found = []
    for data_set in data_sets:
        if data_set.n_classes:
            continue
        X, y = data_set.X, data_set.y
        runs = [
            delayed(new_scores)(estimator, X, y, *fold)
            for options in ({}, {"max_iter": 1, "tol": None})
            for estimator in regressors(**options).values()
            for fold in folds(X, y, classifies=False)
        ]
        scores = np.array(parallel(show_progress(runs, data_set.name)))
        scores = scores.reshape(2, len(names), N_FOLDS, 3)
        r2, errors = np.moveaxis(scores[..., :2].mean(axis=2), -1, 0)
        errors /= errors[:, :1]
        seconds = np.median(scores[0, ..., 2], axis=1)
        found.append((r2, errors, seconds / seconds[0]))
        row = "".join(f"{score:14.3f}" for score in r2[0])
        row += "".join(f"{ratio:15.3f}" for ratio in errors[0, 1:])
        print(f"{data_set.name:22}{row}", flush=True)
    r2, errors, times = map(np.array, zip(*found, strict=True))
    print()
    for k, epochs in enumerate(("fit", "one epoch")):
        for i, name in enumerate(names[1:], start=1):
            above = (r2[:, k, i] > r2[:, k, 0]).sum()
            below = (errors[:, k, i] < 1).sum()
            counts = f"R² above SGD's on {above}, error below on {below}"
            print(f"{name}, {epochs}: {counts} of {len(found)} data sets")
    for name, column in zip(names[1:], times.T[1:], strict=True):
        print(f"{name}, fit: {median(column):.1f} times the time of SGD, median")


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Loss of new rows after fit, over that of batch solvers."
    )
    add_data_options(parser)
    parser.add_argument(
        "--sgd", action="store_true", help="compare regressors with SGDRegressor"
    )
    parser.set_defaults(max_rows=MAX_ROWS)
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    chosen = chosen_readers(arguments)
    if arguments.sgd:
        with Parallel(n_jobs=arguments.n_jobs) as parallel:
            data_sets = read_data_sets(chosen, arguments.max_rows, arguments.in_order)
            replace_sgd(data_sets, parallel)
        return
    heads = "".join(f"{name:>19}" for name in [*OPTIONS, "Hedge / boosting"])
    print(f"{'loss / that of the solver':28}{'epochs':>8}{heads}")
    results = {}
    with Parallel(n_jobs=arguments.n_jobs) as parallel:
        for data_set in read_data_sets(chosen, arguments.max_rows, arguments.in_order):
            ratios, epochs = compare(data_set, parallel)
            results[data_set.name] = ratios
            row = "".join(f"{ratio:19.3f}" for ratio in ratios)
            print(f"{data_set.name:28}{epochs:8g}{row}", flush=True)
    found = [*results.values()]
    others = [results[name] for name in results if name not in CHOSEN_ON]
    for name, summary, rows in (
        ("median", median, found),
        ("geometric mean", geometric_mean, found),
        ("largest", max, found),
        ("median, nothing chosen on", median, others or found),
    ):
        row = "".join(f"{summary(column):19.3f}" for column in zip(*rows, strict=True))
        print(f"{name:36}{row}")


if __name__ == "__main__":
    sys.exit(main())
