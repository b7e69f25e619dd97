"""
Forests beside river's
======================

Compares `MondrianForestClassifier` with the `AMFClassifier` of river, both with ten
trees, by predictions made before each row was learned: accuracy and log loss, means
over ten seeds with their standard errors, and the time of a row::

    python examples/benchmarks/forests.py
    python examples/benchmarks/forests.py --data-dir FOLDER

river is needed, and brings the data sets Bananas, Phishing and ImageSegments; pendigits
and elec2 are looked for in the folder, as ``pendigits.csv`` or ``.csv.gz``. "mails" is
drawn at random: 57 frequencies of words, most of them 0. river's features are scaled to
between 0 and 1 by all rows, as its documentation asks for; ours are as they come. At
most 5,000 rows are learned. river gives classes that it has not seen no probability,
which counts as 1 over the number of classes here.

Our forest is shown with the parameter `dirichlet` at 0.5 as river's, and as it is by
default. Times are medians over the seeds, of both in turns, after ours is compiled. The
NumPy engine learns the first 500 rows.
"""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from quality import (
    InputError,
    gives_status,
    make_data_set,
    readers_of_folder,
    show_progress,
)
from river_benchmark import streams
from sklearn.preprocessing import minmax_scale

from sklearn_scinol import MondrianForestClassifier, config_context

MAX_ROWS, MAX_ROWS_OF_NUMPY = 5000, 500
OF_RIVER = "Bananas", "Phishing", "ImageSegments"
OF_FOLDER = "pendigits", "elec2"

COLUMNS = "{:<15}{:>6}{:>5}{:>18}{:>18}{:>18}".format
HEADER = COLUMNS("", "rows", "d", "river", "dirichlet=0.5", "default")


def mails(n_rows=MAX_ROWS, n_features=57):
    """Draw frequencies of words in mails, some of which are spam."""
    rng = np.random.default_rng(0)
    is_spam = rng.random(n_rows) < 0.4
    often = rng.gamma(0.4, 0.3, size=(2, n_features))
    is_there = rng.random((n_rows, n_features)) < often[is_spam.astype(int)]
    return is_there * rng.gamma(1.0, 0.5, size=is_there.shape), is_spam.astype(int)


def data_sets(folder):
    """Yield names, rows and labels."""
    yield from streams(OF_RIVER, None)
    files = {} if folder is None else readers_of_folder(folder, "target")
    for name in OF_FOLDER:
        if name in files:
            data = make_data_set(name, *files[name](), in_order=name == "elec2")
            yield name, data.X, data.y
        else:
            print(f"{name} is not at hand.\n")
    yield "mails", *mails()


def of_river(X, y, seed):
    """Return probabilities of each row's label, whether it was right, and seconds."""
    from river.forest import AMFClassifier

    model, n_classes = AMFClassifier(n_estimators=10, seed=seed), len(np.unique(y))
    rows = [dict(enumerate(row)) for row in minmax_scale(X).tolist()]
    likely, right, start = [], [], perf_counter()
    for row, label in zip(rows, y.tolist(), strict=True):
        p = model.predict_proba_one(row)
        model.learn_one(row, label)
        likely.append(p.get(label, 1.0 / n_classes))
        right.append(bool(p) and max(p, key=p.get) == label)
    return np.array(likely), np.array(right), perf_counter() - start


def of_ours(X, y, seed, **parameters):
    """Return what :func:`of_river` does."""
    model = MondrianForestClassifier(random_state=seed, **parameters)
    start = perf_counter()
    p = model.partial_fit_predict(X, y, classes=np.unique(y), method="predict_proba")
    seconds = perf_counter() - start
    return p[np.arange(len(y)), y], p.argmax(axis=1) == y, seconds


def measure(name, X, y, n_seeds):
    """Return lines of the table."""
    learners = {
        "river": of_river,
        "dirichlet=0.5": lambda *data: of_ours(*data, dirichlet=0.5),
        "default": of_ours,
    }
    of_ours(X, y, 0)  # compiles
    results = {learner: [] for learner in learners}
    for seed in show_progress(range(n_seeds), name):
        for learner, learn in learners.items():
            likely, right, seconds = learn(X, y, seed)
            scores = right.mean(), -np.log(likely).mean()
            results[learner].append((*scores, 1e6 * seconds / len(y)))
    columns = {learner: np.array(found).T for learner, found in results.items()}

    def cells(k):
        found = [of_learner[k] for of_learner in columns.values()]
        return [f"{each.mean():.4f} ± {error(each):.4f}" for each in found]

    times = {learner: median(found[2]) for learner, found in columns.items()}
    ratios = [f"{times['river'] / time:.0f}" for time in times.values()]
    yield COLUMNS(name, *map(str, X.shape), *cells(0))
    yield COLUMNS("  log loss", "", "", *cells(1))
    yield COLUMNS("  µs a row", "", "", *(f"{time:.1f}" for time in times.values()))
    yield COLUMNS("  times faster", "", "", *ratios)
    X, y = X[:MAX_ROWS_OF_NUMPY], y[:MAX_ROWS_OF_NUMPY]
    with config_context(engine="numpy"):
        *_, seconds = of_ours(X, y, 0)
    time = f"{1e6 * seconds / len(y):.0f}"
    yield COLUMNS("  µs, NumPy", "", "", "", "", time)


def error(values):
    """Return the standard error of the mean."""
    return np.std(values, ddof=1) / np.sqrt(len(values))


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Compare aggregated Mondrian forests with those of river."
    )
    parser.add_argument("--data-dir", type=Path, metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=10, metavar="N")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    if not find_spec("river"):
        raise InputError("river is not installed: pip install river.")
    print("\n".join([HEADER, "-" * len(HEADER)]))
    for name, X, y in data_sets(arguments.data_dir):
        X = np.ascontiguousarray(X[:MAX_ROWS], float)
        y = np.unique(y[:MAX_ROWS], return_inverse=True)[1]
        for line in measure(name, X, y, arguments.seeds):
            print(line, flush=True)


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
