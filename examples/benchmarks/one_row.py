"""
One row at a time
=================

What a row costs that comes alone: microseconds to predict and learn one row by
`row_by_row` of an estimator, and for `partial_fit` with one row, whose ratio to the
time of `SGDClassifier` is printed as well, at its defaults and with the least work that
it can be set to. Where river is installed, the logistic regression of that learns the
same rows, from dicts and behind its `StandardScaler`::

    python examples/benchmarks/one_row.py
    python examples/benchmarks/one_row.py --features 5 100 --rows 500

Printed are medians over passes, in each of which all learn in turn, so that what else
the machine does falls on all alike; that of ratios is what to quote.
"""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from sklearn.linear_model import SGDClassifier

from sklearn_scinol import HedgeClassifier, ScInOLClassifier

sys.path.append(str(Path(__file__).parents[1]))  # the other examples
from interface import gives_status, positive, show_progress

REFERENCE = "SGDClassifier, partial_fit"
LEAST_WORK = {"shuffle": False, "penalty": None}


def data(n_rows, n_features):
    """Rows of two classes that a line does not quite separate."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_features))
    decision = X @ random.normal(size=n_features) + random.normal(size=n_rows)
    return X, (decision > 0.0).astype(int)


# %%
# Ways to learn
# -------------
# Each is a function of one row, of an estimator that has learned all rows once.


def by_partial_fit(estimator, X, y):
    estimator.partial_fit(X, y, classes=[0, 1])
    return lambda i: estimator.partial_fit(X[i : i + 1], y[i : i + 1])


def by_rows(estimator, X, y):
    rows = estimator.partial_fit(X, y, classes=[0, 1]).row_by_row()
    return lambda i: rows.predict_learn_one(X[i], y[i])


def predictions_by_rows(estimator, X, y):
    rows = estimator.partial_fit(X, y, classes=[0, 1]).row_by_row()
    return lambda i: rows.predict_one(X[i])


def of_river(X, y):
    from river.linear_model import LogisticRegression
    from river.preprocessing import StandardScaler

    model = StandardScaler() | LogisticRegression()
    rows = [dict(enumerate(x)) for x in X.tolist()]
    labels = y.tolist()

    def predict_and_learn(i):
        model.predict_one(rows[i])
        model.learn_one(rows[i], labels[i])

    return predict_and_learn


def ways(X, y):
    """What learns, by name."""
    found = {
        REFERENCE: by_partial_fit(SGDClassifier("log_loss"), X, y),
        "SGDClassifier, least work": by_partial_fit(
            SGDClassifier("log_loss", **LEAST_WORK), X, y
        ),
    }
    for estimator in ScInOLClassifier, HedgeClassifier:
        name = estimator.__name__
        found[f"{name}, partial_fit"] = by_partial_fit(estimator(), X, y)
        found[f"{name}, row_by_row"] = by_rows(estimator(), X, y)
        found[f"{name}, predictions"] = predictions_by_rows(estimator(), X, y)
    if find_spec("river") is not None:
        found["river, logistic regression"] = of_river(X, y)
    return found


def microseconds(found, n_rows, repeats):
    """Time of a row in each pass, by name."""
    times = {name: [] for name in found}
    for _ in show_progress(range(repeats), "passes"):
        for name, learn in found.items():
            start = perf_counter()
            for i in range(n_rows):
                learn(i)
            times[name].append(1e6 * (perf_counter() - start) / n_rows)
    return times


# %%
# Table
# -----

COLUMNS = "{:<34}{:>14}{:>22}".format


def table(n_features, times):
    header = COLUMNS(f"{n_features} features", "microseconds", "of SGDClassifier's")
    lines = [header, "-" * len(header)]
    for name, of_passes in times.items():
        ratios = map(float.__truediv__, of_passes, times[REFERENCE])
        lines.append(COLUMNS(name, f"{median(of_passes):.1f}", f"{median(ratios):.2f}"))
    return "\n".join([*lines, ""])


def parse(argv):
    parser = argparse.ArgumentParser(description="Measure what one row costs.")
    parser.add_argument("--features", type=positive, nargs="+", default=[20])
    parser.add_argument("--rows", type=positive, default=2000)
    parser.add_argument("--repeats", type=positive, default=5)
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    for n_features in arguments.features:
        # Rows until the default mixture has its bins come before those that count.
        X, y = data(max(arguments.rows, 200), n_features)
        times = microseconds(ways(X, y), arguments.rows, arguments.repeats)
        print(table(n_features, times), flush=True)


if __name__ == "__main__":
    sys.exit(main())
