"""
What a row costs, alone and in a chunk
======================================

Prints the microseconds to predict and learn a single row by `row_by_row` of an
estimator and by `partial_fit`, and the ratio to the time of `SGDClassifier`, with its
defaults and with its fastest settings. If river is installed, its logistic regression
learns the rows too, from dicts and behind its `StandardScaler`. Then it prints the time
of a row in chunks of 1,000::

    python examples/benchmarks/one_row.py
    python examples/benchmarks/one_row.py --features 5 100 --rows 500
    python examples/benchmarks/one_row.py --data-dir FOLDER

A third part has rows of a table as dicts, with numbers, categories and missing values.
It times a pipeline of `TableEncoder` and a learner by `row_by_row` and by
`partial_fit_predict`, and river's logistic regression behind its `StandardScaler` and
`OneHotEncoder`. The rows are generated, or with `--data-dir` read from
``adult_raw.csv``, compressed or not, whose column "target" has the labels.

Then come events as dicts, with a time, a number and three keys: a pipeline with
`OnlineHistory` of one or all keys, and one that gets the columns of that step
ready-made.

Medians over passes are printed. All learners run alternately in each pass, so that
other load on the machine affects all alike; quote the median ratios.
"""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from competitors import river_model
from data_folder import read_frame, readers_in
from interface import InputError, gives_status, positive, show_progress
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

from sklearn_scinol import (
    HedgeClassifier,
    OnlineNewtonClassifier,
    ScInOLClassifier,
)
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineHistory, TableEncoder

REFERENCE = "SGDClassifier, partial_fit"
REFERENCE_OF_DICTS = "ScInOLClassifier, row_by_row"
REFERENCE_OF_EVENTS = "no history, row_by_row"
ADULT = "adult_raw"
LEAST_WORK = {"shuffle": False, "penalty": None}
ESTIMATORS = ScInOLClassifier, OnlineNewtonClassifier, HedgeClassifier
CHUNK = 1000
SECONDS = 30.0  # between two events


def data(n_rows, n_features):
    """Generate rows of two classes that a line does not quite separate."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_features))
    decision = X @ random.normal(size=n_features) + random.normal(size=n_rows)
    return X, (decision > 0.0).astype(int)


def dicts(n_rows):
    """Generate dicts with six numbers and eight categories, some missing."""
    random = np.random.default_rng(0)
    numbers = random.exponential(100.0, size=(n_rows, 6)).round(1)
    categories = random.zipf(1.5, size=(n_rows, 8)) % 50
    decision = numbers[:, 0] + 20.0 * (categories[:, 0] % 3) - 90.0
    rows = [
        {f"n{j}": x for j, x in enumerate(of_numbers)}
        | {f"c{j}": f"value {code}" for j, code in enumerate(codes)}
        for of_numbers, codes in zip(numbers.tolist(), categories.tolist(), strict=True)
    ]
    for row in rows[::5]:
        del row["n1"], row["c1"]
    return rows, decision + random.normal(size=n_rows) * 50.0 > 0.0


def adult(folder, n_rows):
    """Read the first rows of Adult as dicts, without missing values."""
    readers = readers_in(folder, {"csv": read_frame})
    if ADULT not in readers:
        raise InputError(f"There is no {ADULT}.csv in {folder}.")
    frame = readers[ADULT]().head(n_rows)
    if "target" not in frame:
        raise InputError(f"{ADULT}.csv has no column 'target'.")
    y = (frame.pop("target") == ">50K").to_numpy()
    return [
        {name: value for name, value in row.items() if value == value}
        for row in frame.to_dict("records")
    ], y


# %%
# Ways to learn
# -------------
# Each function learns rows by an estimator that has learned all rows once.


def by_partial_fit(estimator, X, y, n_rows=1):
    estimator.partial_fit(X, y, classes=[0, 1])
    return lambda i: estimator.partial_fit(X[i : i + n_rows], y[i : i + n_rows])


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
    """Return functions that learn a row, by name."""
    found = ways_of_chunks(X, y, 1)
    for estimator in ESTIMATORS:
        name = estimator.__name__
        found[f"{name}, row_by_row"] = by_rows(estimator(), X, y)
        found[f"{name}, predictions"] = predictions_by_rows(estimator(), X, y)
    if find_spec("river") is not None:
        found["river, logistic regression"] = of_river(X, y)
    return found


def ways_of_chunks(X, y, n_rows):
    """Return functions that learn so many rows at once, by name."""
    estimators = {
        REFERENCE: SGDClassifier("log_loss"),
        "SGDClassifier, least work": SGDClassifier("log_loss", **LEAST_WORK),
        **{f"{one.__name__}, partial_fit": one() for one in ESTIMATORS},
    }
    return {
        name: by_partial_fit(estimator, X, y, n_rows)
        for name, estimator in estimators.items()
    }


def dicts_by_partial_fit(estimator, rows, y):
    model = make_online_pipeline(TableEncoder(), estimator)
    model.partial_fit(rows, y, classes=[False, True])
    return lambda i: model.partial_fit_predict(rows[i : i + 1], y[i : i + 1])


def dicts_by_rows(estimator, rows, y):
    model = make_online_pipeline(TableEncoder(), estimator)
    one = model.partial_fit(rows, y, classes=[False, True]).row_by_row()
    return lambda i: one.predict_learn_one(rows[i], y[i])


def dicts_of_river(rows, y):
    model, labels = river_model(), y.tolist()

    def predict_and_learn(i):
        model.predict_one(rows[i])
        model.learn_one(rows[i], labels[i])

    for i in range(len(rows)):
        predict_and_learn(i)
    return predict_and_learn


def ways_of_dicts(rows, y):
    """Return functions that learn a dict, by name."""
    found = {}
    for estimator in ScInOLClassifier, HedgeClassifier:
        name = estimator.__name__
        found[f"{name}, row_by_row"] = dicts_by_rows(estimator(), rows, y)
        found[f"{name}, partial_fit"] = dicts_by_partial_fit(estimator(), rows, y)
    if find_spec("river") is not None:
        found["river, logistic regression"] = dicts_of_river(rows, y)
    return found


def events(n_rows):
    """Generate events as dicts: the time, a number and three keys; and labels."""
    random = np.random.default_rng(0)
    keys = {f"key{k}": random.integers(100, size=n_rows).astype(str) for k in range(3)}
    values = {"time": SECONDS * np.arange(n_rows)}
    values["amount"] = random.exponential(size=n_rows)
    columns = {name: each.tolist() for name, each in (values | keys).items()}
    rows = [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    return rows, random.random(n_rows) < 0.5


def ways_of_events(rows, y, n_first):
    """Return functions that learn the next event, by name, after the first ones."""
    names, labels = ["key0", "key1", "key2"], {"classes": [False, True]}
    given, rest = (y, n_first), (TableEncoder(), ScInOLClassifier())
    found = {REFERENCE_OF_EVENTS: next_by_rows(rest, rows, *given)}
    for keys in names[:1], names:
        history = OnlineHistory(keys, "time")
        known = clone(history).partial_fit_transform(rows, y, **labels)
        of_history = next_by_rows((history, *rest), rows, *given)
        found[f"history of {len(keys)}, row_by_row"] = of_history
        ready_made = next_by_rows(rest, known, *given)
        found[f"{len(known[0])} columns, row_by_row"] = ready_made
    return found


def next_by_rows(steps, rows, y, n_first):
    model = make_online_pipeline(*map(clone, steps))
    model.partial_fit(rows[:n_first], y[:n_first], classes=[False, True])
    one, stream = model.row_by_row(), zip(rows[n_first:], y[n_first:], strict=True)
    return lambda i: one.predict_learn_one(*next(stream))


def microseconds(found, n_rows, repeats, step=1):
    """Time a row in each pass, by name."""
    times = {name: [] for name in found}
    for _ in show_progress(range(repeats), "passes"):
        for name, learn in found.items():
            start = perf_counter()
            for i in range(0, n_rows, step):
                learn(i)
            times[name].append(1e6 * (perf_counter() - start) / n_rows)
    return times


# %%
# Table
# -----

COLUMNS = "{:<37}{:>14}{:>24}".format


def table(title, times, reference):
    header = COLUMNS(title, "microseconds", f"of {reference.split(',')[0]}'s")
    lines = [header, "-" * len(header)]
    for name, of_passes in times.items():
        ratios = map(float.__truediv__, of_passes, times[reference])
        lines.append(COLUMNS(name, f"{median(of_passes):.2f}", f"{median(ratios):.2f}"))
    return "\n".join([*lines, ""])


def parse(argv):
    parser = argparse.ArgumentParser(description="Measure what one row costs.")
    parser.add_argument("--features", type=positive, nargs="+", default=[20])
    parser.add_argument("--rows", type=positive, default=2000)
    parser.add_argument("--repeats", type=positive, default=5)
    parser.add_argument(
        "--data-dir", type=Path, metavar="FOLDER", help=f"where {ADULT}.csv is"
    )
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    for n_features in arguments.features:
        # The default mixture first learns rows until it has its bins; these are not
        # timed.
        n_in_chunks = 5 * arguments.rows
        chunk = min(CHUNK, arguments.rows)
        X, y = data(max(n_in_chunks, 200), n_features)
        times = microseconds(ways(X, y), arguments.rows, arguments.repeats)
        print(table(f"{n_features} features", times, REFERENCE), flush=True)
        found = ways_of_chunks(X, y, chunk)
        times = microseconds(found, n_in_chunks, arguments.repeats, chunk)
        print(table(f"in chunks of {chunk:,}", times, REFERENCE), flush=True)
    n_rows = max(arguments.rows, 200)
    if arguments.data_dir is None:
        title, (rows, y) = "dicts, generated", dicts(n_rows)
    else:
        title, (rows, y) = "dicts of Adult", adult(arguments.data_dir, n_rows)
    n_rows = min(arguments.rows, len(rows))
    times = microseconds(ways_of_dicts(rows, y), n_rows, arguments.repeats)
    print(table(title, times, REFERENCE_OF_DICTS), flush=True)
    n_first = max(arguments.rows, 200)
    n_events = n_first + arguments.repeats * arguments.rows
    found = ways_of_events(*events(n_events), n_first)
    times = microseconds(found, arguments.rows, arguments.repeats)
    print(table("events", times, REFERENCE_OF_EVENTS), flush=True)


if __name__ == "__main__":
    sys.exit(main())
