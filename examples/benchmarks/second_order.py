"""
Online Newton steps: the prior, and the optimum
===============================================

Prints two tables. The first has the mean progressive loss of one pass over each data
set, with five values of `prior_scale`, divided by the loss of the mixture of linear
learners of first order, `HedgeClassifier` or `HedgeRegressor` without other experts and
without pools. The last column is the loss of the default, divided by the lowest
of the five. The loss is the log loss in classification and the absolute error in
regression; features are in raw units::

    python examples/benchmarks/second_order.py
    python examples/benchmarks/second_order.py --data-dir FOLDER

The second compares one pass with scikit-learn's `LogisticRegression` at its optimum,
without a penalty, on 300,000 rows of 20 correlated features: for each solver the time
of the pass divided by the solver's, and the log loss of new rows divided by the
solver's. Labels are drawn from a logistic model. The solvers get standardised rows; the
time to standardise is not counted.
"""

import argparse
import sys
from statistics import median
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed
from quality import (
    InputError,
    add_data_options,
    chosen_readers,
    gives_status,
    read_data_sets,
    second_order,
    show_progress,
    untuned,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
)

PRIOR_SCALES = (0.03, 0.1, 0.3, 1.0, 3.0)
DEFAULT = OnlineNewtonClassifier().prior_scale
SOLVERS = ("lbfgs", "newton-cholesky")
TOLERANCE = 1e-8  # of their gradients
N_ROWS, N_FEATURES = 300_000, 20
REPEATS = 5


def losses(data_set, parallel):
    """Return the losses of the mixture, and of each prior."""
    kinds = "additive", "second_order", "random_features", "neighbors", "forest"
    first_order = {"exclude": [*kinds, "pools"]}
    runs = [delayed(untuned)(HedgeClassifier, HedgeRegressor, first_order, data_set)]
    newton = OnlineNewtonClassifier, OnlineNewtonRegressor
    runs += [
        delayed(second_order)(*newton, {"prior_scale": scale}, data_set)
        for scale in PRIOR_SCALES
    ]
    outcomes = parallel(show_progress(runs, data_set.name))
    of_mixture, *of_priors = (loss for loss, _ in outcomes)
    return of_mixture, of_priors


def compare_priors(data_sets, parallel):
    columns = "".join(f"{scale:>8g}" for scale in PRIOR_SCALES)
    print(f"{'data set':28}{columns}{'default / best':>17}")
    costs = []
    for data_set in data_sets:
        try:
            of_mixture, of_priors = losses(data_set, parallel)
        except InputError as error:
            print(f"Skipped {data_set.name}: {error}")
            continue
        of_default = of_priors[PRIOR_SCALES.index(DEFAULT)]
        costs.append(of_default / min(of_priors))
        ratios = "".join(f"{loss / of_mixture:8.3f}" for loss in of_priors)
        print(f"{data_set.name:28}{ratios}{costs[-1]:17.3f}", flush=True)
    if costs:
        print(f"default / best: median {median(costs):.3f}, largest {max(costs):.3f}")
    print()


def correlated(rng, n, mixing, weights):
    """Generate rows of correlated features in different units, and labels."""
    X = rng.standard_normal((n, weights.size)) @ mixing
    scores = X @ weights
    scores *= 2.0 / scores.std()
    return X, (scores + rng.logistic(size=n) > 0).astype(int)


def seconds(run):
    start = perf_counter()
    result = run()
    return perf_counter() - start, result


def compare_with_optimum(n_rows, n_features):
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((n_features, n_features))
    mixing *= 10.0 ** rng.uniform(-3.0, 3.0, size=n_features)
    weights = rng.standard_normal(n_features) / mixing.std(axis=0)
    X, y = correlated(rng, n_rows, mixing, weights)
    X_new, y_new = correlated(rng, n_rows, mixing, weights)
    scaler = StandardScaler()
    Z, Z_new = scaler.fit_transform(X), scaler.transform(X_new)

    def one_pass():
        return OnlineNewtonClassifier().partial_fit(X, y, classes=[0, 1])

    one_pass()  # compiles
    print(f"{'solver':28}{'time of a pass':>16}{'loss of new rows':>18}")
    for solver in SOLVERS:
        offline = LogisticRegression(
            C=np.inf, solver=solver, tol=TOLERANCE, max_iter=10_000
        )
        times = []
        for _ in range(REPEATS):
            ours, model = seconds(one_pass)
            theirs, _ = seconds(lambda offline=offline: offline.fit(Z, y))
            times.append(ours / theirs)
        loss = log_loss(y_new, model.predict_proba(X_new))
        optimum = log_loss(y_new, offline.predict_proba(Z_new))
        print(f"{solver:28}{median(times):16.3f}{loss / optimum:18.5f}", flush=True)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    add_data_options(parser)
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    chosen = chosen_readers(arguments)
    with Parallel(n_jobs=arguments.n_jobs) as parallel:
        data_sets = read_data_sets(chosen, arguments.max_rows, arguments.in_order)
        compare_priors(data_sets, parallel)
    compare_with_optimum(N_ROWS, N_FEATURES)


if __name__ == "__main__":
    sys.exit(main())
