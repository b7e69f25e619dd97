"""
Features of any scale
=====================

One pass over scikit-learn's breast cancer data, with all features multiplied by a
number. Prints the progressive accuracy of ScInOL, and of `SGDClassifier` with defaults,
on raw rows and behind an online `StandardScaler`::

    python examples/benchmarks/scales.py
"""

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.evaluation import progressive_validation

SCALES = {
    "2^-900": 2.0**-900,
    "2^-300": 2.0**-300,
    "1e-6": 1e-6,
    "1": 1.0,
    "1e6": 1e6,
    "2^300": 2.0**300,
    "2^900": 2.0**900,
}
CHUNK_SIZE = 10


def learners():
    def sgd():
        return SGDClassifier("log_loss", random_state=0)

    return {
        "ScInOL": ScInOLClassifier(),
        "SGD": sgd(),
        "StandardScaler, SGD": make_pipeline(StandardScaler(), sgd()),
    }


def accuracy(learner, X, y):
    """Return the progressive accuracy; None if the learner refused the rows."""
    chunks = np.array_split(np.arange(len(y)), len(y) // CHUNK_SIZE)
    stream = [(X[rows], y[rows]) for rows in chunks]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of what overflows: the accuracy tells
        try:
            result = progressive_validation(
                learner, stream, metrics="accuracy", classes=[0, 1], progress=False
            )
        except ValueError:
            return None
    return result.scores["accuracy"]


def main():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    names = list(learners())
    print("| scale | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names))
    for name, scale in SCALES.items():
        found = [accuracy(learner, X * scale, y) for learner in learners().values()]
        cells = ["refused" if share is None else f"{share:.3f}" for share in found]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
