"""
Streams that change
===================

Generates three streams of two classes. In the first stream the labels are suddenly
swapped, twice. In the second, SEA [1]_, the threshold of a sum jumps three times, and a
tenth of the labels is wrong. In the third a hyperplane turns slowly. The figure shows
the share of errors among the latest rows, and the weights of the mixture's experts. The
table has the log loss and the accuracy of predictions made before each row was learned:
of the mixture, of ScInOL2, and of gradient descent with the best constant rate in
hindsight, on features standardised in hindsight.

To run it on the data sets of two classes in a folder, whose rows are learned in the
order of the file::

    python examples/benchmarks/drift.py --data-dir FOLDER --only elec2

If river is installed, ``--river`` adds some of its learners, which take minutes.

.. [1] W. N. Street, Y. Kim. "A streaming ensemble algorithm (SEA) for large-scale
   classification." KDD 2001.
"""

import argparse
import sys
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from hedge import COLOURS
from interface import (
    InputError,
    add_output_dir,
    gives_status,
    panels,
    save_figure,
    show_progress,
)
from joblib import Parallel, delayed
from quality import add_data_options, chosen_readers, of_two_classes, read_data_sets
from scipy import special
from sklearn.metrics import accuracy_score, log_loss
from sklearn.preprocessing import StandardScaler

from sklearn_scinol import HedgeClassifier, ScInOLClassifier

# %%
# Streams
# -------

N_ROWS = 10_000  # of each, unless --max-rows says otherwise


class Stream(NamedTuple):
    """A stream of rows, with labels 0 and 1."""

    name: str
    X: np.ndarray
    y: np.ndarray


def swapped_labels(n_rows):
    """Generate a linear rule whose labels are swapped after each third of the rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, 5))
    y = X @ random.normal(size=5) + 0.5 * random.normal(size=n_rows) > 0
    third = np.arange(n_rows) * 3 // n_rows
    return Stream("swapped labels", X, np.where(third == 1, ~y, y).astype(int))


def sea(n_rows):
    """Generate SEA: two of three features decide, by thresholds of their sum."""
    random = np.random.default_rng(1)
    X = random.uniform(0, 10, size=(n_rows, 3))
    quarter = np.arange(n_rows) * 4 // n_rows
    threshold = np.array([8.0, 9.0, 7.0, 9.5])[quarter]
    y = X[:, 0] + X[:, 1] <= threshold
    wrong = random.random(n_rows) < 0.1
    return Stream("SEA", X, (y ^ wrong).astype(int))


def turning_hyperplane(n_rows):
    """Generate a linear rule of ten features, whose weights turn full circle."""
    random = np.random.default_rng(2)
    X = random.uniform(-1, 1, size=(n_rows, 10))
    angles = np.linspace(0, 2 * np.pi, n_rows)[:, np.newaxis]
    start, side = np.linalg.qr(random.normal(size=(10, 2)))[0].T
    weights = np.cos(angles) * start + np.sin(angles) * side
    y = (X * weights).sum(axis=1) + 0.1 * random.normal(size=n_rows) > 0
    return Stream("turning hyperplane", X, y.astype(int))


def streams_of_folder(arguments):
    readers = chosen_readers(arguments)
    data_sets = read_data_sets(readers, arguments.max_rows, in_order=readers)
    return [Stream(*data) for data in of_two_classes(data_sets)]


# %%
# Learners
# --------
#
# Each learner predicts the probability of class 1 for each row, then learns it. The
# mixture learns in chunks only to record its weights now and then.

CHUNK_ROWS = 50


class Course(NamedTuple):
    """Predictions of a learner along a stream, and its weights."""

    name: str
    p: np.ndarray  # (n,), probabilities of class 1
    rows: np.ndarray | None = None  # at which the weights were looked at
    weights: np.ndarray | None = None
    experts: list | None = None


def mixture(X, y):
    model, p, weights = HedgeClassifier(), [], []
    starts = range(0, len(y), CHUNK_ROWS)
    for start in starts:
        rows = slice(start, start + CHUNK_ROWS)
        said = model.partial_fit_predict(
            X[rows], y[rows], classes=[0, 1], method="predict_proba"
        )
        p.append(said[:, 1])
        weights.append(model.weights_)
    experts = [*model.named_estimators_]
    rows = np.minimum(np.array(starts) + CHUNK_ROWS, len(y))
    return Course("mixture", np.concatenate(p), rows, np.array(weights), experts)


def scinol2(X, y):
    p = ScInOLClassifier().partial_fit_predict(
        X, y, classes=[0, 1], method="predict_proba"
    )
    return Course("ScInOL2", p[:, 1])


RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def gradient_descent(X, y):
    """Run gradient descent with each constant rate, and return the best run."""
    Z = np.column_stack([StandardScaler().fit_transform(X), np.ones(len(y))])
    w = np.zeros((len(RATES), Z.shape[1]))
    p = np.empty((len(y), len(RATES)))
    for r, (z, label) in enumerate(zip(Z, y, strict=True)):
        p[r] = special.expit(w @ z)
        w -= np.outer(RATES * (p[r] - label), z)
    losses = [mean_log_loss(y, of_rate) for of_rate in p.T]
    best = int(np.argmin(losses))
    return Course(f"SGD, constant rate {RATES[best]:g}", p[:, best])


def of_river(name):
    """Return a function that runs one of river's learners."""

    def run(X, y):
        from river.forest import ARFClassifier
        from river.linear_model import ALMAClassifier, LogisticRegression
        from river.preprocessing import StandardScaler

        model = {
            "logistic regression": lambda: StandardScaler() | LogisticRegression(),
            "ALMA": lambda: StandardScaler() | ALMAClassifier(),
            "adaptive random forest": lambda: ARFClassifier(seed=0),
        }[name]()
        p = []
        for values, label in zip(X.tolist(), y.tolist(), strict=True):
            row = dict(enumerate(values))
            p.append(model.predict_proba_one(row).get(True, 0.5))
            model.learn_one(row, label == 1)
        return Course(f"river, {name}", np.array(p, dtype=float))

    return run


LEARNERS = (mixture, scinol2, gradient_descent)
OF_RIVER = ("logistic regression", "ALMA", "adaptive random forest")


def mean_log_loss(y, p):
    # Some learners give a wrong label probability 1.
    return log_loss(y, np.clip(p, 1e-15, 1 - 1e-15))


def run(streams, learners, n_jobs):
    """Return courses of all learners, in a list for each stream."""
    tasks = [delayed(learn)(s.X, s.y) for s in streams for learn in learners]
    courses = Parallel(n_jobs=n_jobs)(show_progress(tasks, "learning"))
    n = len(learners)
    return [courses[n * k : n * (k + 1)] for k in range(len(streams))]


# %%
# Table
# -----

COLUMNS = "{:<22}{:<32}{:>10}{:>10}".format
HEADER = COLUMNS("stream", "learner", "log loss", "accuracy")


def lines(stream, courses):
    return [
        COLUMNS(
            stream.name,
            course.name,
            f"{mean_log_loss(stream.y, course.p):.4f}",
            f"{accuracy_score(stream.y, course.p > 0.5):.4f}",
        )
        for course in courses
    ]


# %%
# Figure
# ------
#
# The upper panels show the share of errors in a window, the lower panels the weights of
# the mixture's experts.

WINDOW = 500


def draw(streams, of_streams):
    n = len(streams)
    figure, axes = panels(2 * n, n, 4.2, 2.7)
    for upper, lower, stream, courses in zip(
        axes[:n], axes[n:], streams, of_streams, strict=True
    ):
        window = min(WINDOW, len(stream.y))
        rows = np.arange(window, len(stream.y) + 1)
        for course in courses:
            errors = np.cumsum(np.append(0, (course.p > 0.5) != stream.y))
            label = course.name.partition(" rate")[0]
            share = (errors[window:] - errors[:-window]) / window
            upper.plot(rows, share, label=label, linewidth=1)
        upper.set(title=stream.name, ylim=(0, None), xlim=(0, len(stream.y)))
        ours = courses[0]
        colours = [COLOURS[name] for name in ours.experts]
        lower.stackplot(ours.rows, ours.weights.T, labels=ours.experts, colors=colours)
        lower.set(xlabel="row", ylim=(0, 1), xlim=(0, len(stream.y)))
    axes[0].set_ylabel(f"errors among {WINDOW} rows")
    axes[n].set_ylabel("weights of experts")
    for row, y in ((axes[:n], 1.0), (axes[n:], 0.48)):
        legends = [ax.get_legend_handles_labels() for ax in row]
        figure.legend(
            *max(legends, key=lambda legend: len(legend[1])),  # as in hedge.py
            loc="upper left",
            bbox_to_anchor=(1, y),  # beside the panels
            frameon=False,
        )
    return figure


# %%
# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Learn from streams that change, with nothing to tune."
    )
    add_data_options(parser)
    parser.add_argument(
        "--river", action="store_true", help="run learners of river as well"
    )
    add_output_dir(parser, "figure")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    if arguments.river and find_spec("river") is None:
        raise InputError("river is not installed: `pip install river` does it.")
    if arguments.data_dir is None:
        n_rows = arguments.max_rows or N_ROWS
        streams = [make(n_rows) for make in (swapped_labels, sea, turning_hyperplane)]
    else:
        streams = streams_of_folder(arguments)
    learners = [*LEARNERS, *(map(of_river, OF_RIVER) if arguments.river else ())]
    of_streams = run(streams, learners, arguments.n_jobs)
    print("\n".join([HEADER, "-" * len(HEADER)]))
    for stream, courses in zip(streams, of_streams, strict=True):
        print("\n".join([*lines(stream, courses), ""]))
    save_figure(draw(streams, of_streams), arguments.output_dir / "drift.png")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
