"""
One row out of all proportion
=============================

In one row, after a quarter of a stream, the three features that vary most have values a
thousand times as large as any before, as after typing errors or with failing sensors.
Prints the log loss over the rows after it, divided by the loss of the learner without
the outlier::

    python examples/benchmarks/outliers.py

The last column has the effect of `clip_ratio=2` on data without an outlier: the log
loss of all rows with clipping, divided by the loss without clipping.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import log_loss

from sklearn_scinol import HedgeClassifier, ScInOLClassifier


def simulated():
    """Generate rows, with labels drawn from a logistic model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 20))
    noise = 3.0 * rng.logistic(size=5000)
    return X, (X @ rng.normal(size=20) + noise > 0).astype(int)


DATA_SETS = {
    "simulated": simulated,
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
}
LEARNERS = ScInOLClassifier, HedgeClassifier


def mean_loss(learner, X, y, start=0):
    """Return the progressive log loss from a row on."""
    said = learner.partial_fit_predict(
        X, y, classes=np.unique(y), method="predict_proba"
    )
    return log_loss(y[start:], said[start:])


def ratios(learner, X, y):
    """Return loss ratios without and with clipping, and without an outlier."""
    row, columns = len(y) // 4, X.std(axis=0).argsort()[-3:]
    disturbed = X.copy()
    disturbed[row, columns] = 1000.0 * np.abs(X[: row + 1, columns]).max(axis=0)
    ordinary = mean_loss(learner(), X, y, row + 1)
    return (
        mean_loss(learner(), disturbed, y, row + 1) / ordinary,
        mean_loss(learner(clip_ratio=2), disturbed, y, row + 1) / ordinary,
        mean_loss(learner(clip_ratio=2), X, y) / mean_loss(learner(), X, y),
    )


def main():
    print("| data | learner | no clipping | `clip_ratio=2` | the same, no outlier |")
    print("|---|---|---|---|---|")
    for name, load in DATA_SETS.items():
        X, y = load()
        order = np.random.default_rng(0).permutation(len(y))
        for learner in LEARNERS:
            found = ratios(learner, X[order], y[order])
            cells = " | ".join(f"{ratio:.3f}" for ratio in found)
            title = f"{name}, {len(y):,} rows"
            print(f"| {title} | {learner.__name__} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
