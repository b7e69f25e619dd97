"""
How many epochs `fit` should take
=================================

Follows the loss of new rows over 100 epochs of the untuned estimators and reports, for
several values of `tol` and of `n_iter_no_change`, the number of epochs after which
:meth:`fit` would stop, and the loss of the epoch that it would keep, divided by the
lowest loss. The defaults ``tol=1e-3`` and ``n_iter_no_change=5`` were chosen by this
script::

    python examples/benchmarks/epochs.py
    python examples/benchmarks/epochs.py --data-dir FOLDER

A folder may hold more data sets: CSV files (also ``.csv.gz``) with a header and the
label in a column ``target``; string columns are one-hot encoded. A target with many
numeric values is regression.
"""

import argparse
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
)
from sklearn.metrics import log_loss, mean_absolute_error
from sklearn.model_selection import train_test_split

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor

EPOCHS = 100
RULES = ((1e-2, 5), (1e-3, 1), (1e-3, 5), (1e-4, 5))  # tol, n_iter_no_change
MAX_ROWS = 30_000
MAX_CLASSES = 20


def data_sets(folder):
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    yield "digits", *load_digits(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    yield "diabetes", *load_diabetes(return_X_y=True, scaled=False)
    if folder is not None:
        import pandas as pd

        for path in sorted(Path(folder).glob("*.csv*")):
            frame = pd.read_csv(path, keep_default_na=False)
            y = frame.pop("target").to_numpy()
            X = pd.get_dummies(frame, drop_first=True, dtype=float).to_numpy(float)
            yield path.name.split(".")[0], X, y


def curves(X, y, average):
    """Return the mean training loss of each epoch, and the test loss after it."""
    is_regression = y.dtype.kind in "if" and np.unique(y).size > MAX_CLASSES
    rows = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    X_train, X_test, y_train, y_test = train_test_split(
        X[rows], y[rows], test_size=1 / 3, random_state=0
    )
    estimator = ScInOLRegressor() if is_regression else ScInOLClassifier()
    estimator.set_params(
        max_iter=1,
        tol=None,
        warm_start=True,
        average=average,
        random_state=np.random.RandomState(0),
    )
    training, new = [], []
    for _ in range(EPOCHS):
        training += estimator.fit(X_train, y_train).loss_curve_
        if is_regression:
            loss = mean_absolute_error(y_test, estimator.predict(X_test))
        else:
            p = estimator.predict_proba(X_test)
            loss = log_loss(y_test, p, labels=estimator.classes_)
        new.append(loss)
    return training, new


def stop(training, tol, n_iter_no_change):
    """Return the epoch (from 1) at which `fit` stops."""
    best, n_no_change = np.inf, 0
    for epoch, loss in enumerate(training, start=1):
        no_change = loss > best - tol * training[0]
        n_no_change = n_no_change + 1 if no_change else 0
        if n_no_change == n_iter_no_change:
            return epoch
        best = min(best, loss)
    return EPOCHS


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--data-dir", help="folder with more data sets")
    parser.add_argument("--average", action="store_true", help="averaged weights")
    arguments = parser.parse_args()

    heads = "".join(f"{f'{tol:g}, {wait}':>16}" for tol, wait in RULES)
    print(f"{'data set':24}{heads}   (epochs, loss of new rows over the lowest)")
    results = {rule: [] for rule in RULES}
    for name, X, y in data_sets(arguments.data_dir):
        training, new = curves(X, y, arguments.average)
        for rule in RULES:
            n_epochs = stop(training, *rule)
            kept = np.argmin(training[:n_epochs])
            results[rule].append((n_epochs, new[kept] / min(new)))
        row = "".join("{:9d} {:6.3f}".format(*results[rule][-1]) for rule in RULES)
        print(f"{name:24}{row}", flush=True)
    row = "".join(
        f"{median(e for e, _ in pairs):9g} {median(r for _, r in pairs):6.3f}"
        for pairs in results.values()
    )
    print(f"{'median':24}{row}")


if __name__ == "__main__":
    main()
