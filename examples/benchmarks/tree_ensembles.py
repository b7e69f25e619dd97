"""
Ensembles of trees that learn streams
=====================================

Compares `HedgeClassifier` with ensembles of trees, all with the defaults of their
packages, on streams whose rows are learned in their order. Each row is predicted before
it is learned::

    python examples/benchmarks/tree_ensembles.py
    python examples/benchmarks/tree_ensembles.py --data-dir FOLDER

CapyMOA (``pip install capymoa``; it needs Java) has the learners of MOA: a Hoeffding
tree, and with 100 trees each an adaptive random forest, streaming random patches and
streaming gradient boosted trees. These are run on streams of two classes only: they
have 100 trees for each further class. river has an adaptive random forest and an
aggregated Mondrian forest with ten trees each; features of the latter are scaled to
between 0 and 1 by all rows, as its documentation asks for. Learners whose package is
missing are left out.

Of Elec2 all rows are learned, of other streams at most 10,000. Data sets are looked for
in the folder, as ``.csv`` or ``.csv.gz``. Three streams are those of ``drift.py``, and
three come from generators of river, with changes as in the evaluation of adaptive
random forests [1]_. Nothing of this package was chosen on these three.

Two predictions need no features: the same label as before, and the most frequent label
so far. Printed are, for each learner,

- the accuracy, and Cohen's kappa,
- the temporal kappa [2]_, which is 0 for the same label as before and 1 if all rows are
  predicted correctly,
- the log loss, with probabilities of at least 0.001, since trees give unseen labels 0,
- the CPU time of a row in µs, and that divided by the time of `HedgeClassifier`.

.. [1] H. M. Gomes, A. Bifet, J. Read, J. P. Barddal, F. Enembreck, B. Pfahringer,
   G. Holmes, T. Abdessalem. "Adaptive random forests for evolving data stream
   classification." Machine Learning 106, 2017.
.. [2] I. Žliobaitė, A. Bifet, J. Read, B. Pfahringer, G. Holmes. "Evaluation methods
   and decision theory for classification of streaming data with temporal dependence."
   Machine Learning 98, 2015.
"""

import argparse
import os
import sys
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from time import process_time

import numpy as np
from drift import N_ROWS, sea, swapped_labels, turning_hyperplane
from interface import gives_status, positive, processes, show_progress
from joblib import Parallel, delayed
from quality import readers_of_folder
from sklearn.metrics import accuracy_score, cohen_kappa_score, log_loss
from sklearn.preprocessing import minmax_scale

from sklearn_scinol import HedgeClassifier

# Streams
# -------

OF_FOLDER = (
    "elec2",
    "chessboard_drift",
    "moving_squares",
    "outdoor",
    "keystroke",
    "covtype_sample92962",
)


def streams(folder, max_rows):
    """Yield names, rows and labels."""
    files = {} if folder is None else readers_of_folder(folder, "target")
    for name in OF_FOLDER:
        if name in files:
            X, y = files[name]()
            n_rows = max_rows or (len(y) if name == "elec2" else N_ROWS)
            yield name, X[:n_rows], y[:n_rows]
        else:
            print(f"{name} is not at hand.")
    n_rows = max_rows or N_ROWS
    for make in swapped_labels, sea, turning_hyperplane:
        yield make(n_rows)
    if find_spec("river"):
        for name, parts in generators_of_river().items():
            n_each = -(-n_rows // len(parts))
            rows = [row for part in parts for row in part.take(n_each)][:n_rows]
            X = np.array([[*x.values()] for x, _ in rows])
            yield name, X, np.array([label for _, label in rows])


def generators_of_river():
    """Return generators of the parts of streams, by name."""
    from river.datasets.synth import Agrawal, LEDDrift, RandomRBFDrift

    centres = {"n_classes": 5, "n_features": 10, "change_speed": 0.0001}
    return {
        "Agrawal": [
            Agrawal(classification_function=k, perturbation=0.05, seed=k)
            for k in range(4)
        ],
        "LED": [LEDDrift(k, 0.1, True, n_drift_features=k) for k in (1, 3, 5, 7)],
        "moving centres": [RandomRBFDrift(seed_model=1, seed_sample=1, **centres)],
    }


# Learners
# --------
#
# Each returns the probabilities of all classes for each row, or the labels.


def hedge(X, y, n_classes):
    return HedgeClassifier().partial_fit_predict(
        X, y, classes=np.arange(n_classes), method="predict_proba"
    )


def of_moa(name, X, y, n_classes):
    """Run a learner of MOA."""
    # One thread frees memory, whose time is counted.
    os.environ.setdefault("CAPYMOA_JVM_ARGS", "-Xmx4g -Xss10M -XX:+UseSerialGC")
    from capymoa import classifier
    from capymoa.stream import NumpyStream

    stream = NumpyStream(X, y)
    model = getattr(classifier, name)(stream.get_schema(), random_seed=1)
    P = np.full((len(y), n_classes), 1 / n_classes)
    for row, instance in enumerate(stream):
        votes = model.predict_proba(instance)
        if votes is not None:
            P[row] = votes
        model.train(instance)
    return P


def of_river(name, X, y, n_classes):
    """Run a forest of river."""
    from river import forest

    if name == "AMFClassifier":
        X = minmax_scale(X)
    model = getattr(forest, name)(seed=1)
    P = np.full((len(y), n_classes), 1 / n_classes)
    for row, (values, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(values))
        if votes := model.predict_proba_one(x):
            P[row] = [votes.get(k, 0.0) for k in range(n_classes)]
        model.learn_one(x, label)
    return P


def same_label(X, y, n_classes):
    return np.append(0, y[:-1])


def most_frequent(X, y, n_classes):
    labels = np.eye(n_classes)[y]
    return (labels.cumsum(axis=0) - labels).argmax(axis=1)


MOA = {
    "adaptive random forest, MOA": "AdaptiveRandomForestClassifier",
    "streaming random patches, MOA": "StreamingRandomPatches",
    "gradient boosted trees, MOA": "StreamingGradientBoostedTrees",
    "Hoeffding tree, MOA": "HoeffdingTree",
}
RIVER = {
    "adaptive random forest, river": "ARFClassifier",
    "Mondrian forest, river": "AMFClassifier",
}
OF_TWO_CLASSES = "gradient boosted trees, MOA"
HEDGE, SAME_LABEL = "Hedge", "same label as before"


def learners():
    """Return learners whose packages are installed, by name; print versions."""
    found = {HEDGE: hedge}
    if find_spec("capymoa") and (which("java") or "JAVA_HOME" in os.environ):
        print(f"CapyMOA {version('capymoa')}")
        found |= {name: partial(of_moa, moa) for name, moa in MOA.items()}
    else:
        print("Learners of MOA are left out: there is no package capymoa, or no Java.")
    if find_spec("river"):
        print(f"river {version('river')}")
        found |= {name: partial(of_river, river) for name, river in RIVER.items()}
    else:
        print("Learners of river are left out: there is no package river.")
    return found | {SAME_LABEL: same_label, "most frequent label": most_frequent}


def timed(learn, X, y, n_classes):
    """Return what a learner predicts, and the seconds of CPU time that it takes."""
    if learn is hedge:
        hedge(X[:100], y[:100], n_classes)  # compiles
    start = process_time()
    return learn(X, y, n_classes), process_time() - start


# Table
# -----

COLUMNS = "{:<32}{:>9}{:>8}{:>10}{:>10}{:>9}{:>9}".format
HEADER = "accuracy", "kappa", "temporal", "log loss", "µs", "/ Hedge"
MIN_PROBABILITY = 0.001


def temporal_kappa(accuracy, of_same_label):
    """Return the gain over the same label as before, as a share of the largest."""
    return (accuracy - of_same_label) / (1 - of_same_label)


def mean_log_loss(y, P):
    P = np.clip(P, MIN_PROBABILITY, 1.0)
    P /= P.sum(axis=1, keepdims=True)
    return log_loss(y, P, labels=range(P.shape[1]))


def table(name, X, y, results):
    """Return lines of all learners, given their predictions and seconds by name."""
    n_classes, seconds = y.max() + 1, results[HEDGE][1]
    of_same_label = accuracy_score(y, results[SAME_LABEL][0])
    title = f"{name}: {len(y):,} rows, {X.shape[1]} features, {n_classes} classes"
    lines = [title, COLUMNS("", *HEADER), "-" * len(COLUMNS("", *HEADER))]
    for learner, (said, taken) in results.items():
        gives_probabilities = said.ndim == 2
        predicted = said.argmax(axis=1) if gives_probabilities else said
        accuracy = accuracy_score(y, predicted)
        kappa = cohen_kappa_score(y, predicted)
        cells = [accuracy, kappa, temporal_kappa(accuracy, of_same_label)]
        cells = [f"{cell:.4f}" for cell in cells]
        if gives_probabilities:
            cells.append(f"{mean_log_loss(y, said):.4f}")
            cells += [f"{1e6 * taken / len(y):.0f}", f"{taken / seconds:.1f}"]
        lines.append(COLUMNS(learner, *cells, *[""] * (6 - len(cells))).rstrip())
    return "\n".join([*lines, ""])


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Compare HedgeClassifier with ensembles of trees on streams."
    )
    parser.add_argument("--data-dir", type=Path, metavar="FOLDER")
    parser.add_argument("--max-rows", type=positive, metavar="N", help="of each stream")
    parser.add_argument("--n-jobs", type=processes, default=1, metavar="N")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    found = learners()
    print()
    for name, X, y in streams(arguments.data_dir, arguments.max_rows):
        X, (classes, y) = X.astype(float), np.unique(y, return_inverse=True)
        n_classes = len(classes)
        run = [each for each in found if n_classes == 2 or each != OF_TWO_CLASSES]
        tasks = [delayed(timed)(found[each], X, y, n_classes) for each in run]
        results = Parallel(arguments.n_jobs)(show_progress(tasks, name))
        print(table(name, X, y, dict(zip(run, results, strict=True))), flush=True)


if __name__ == "__main__":
    sys.exit(main())
