"""
How many epochs `fit` should take
=================================

Follows the held-out loss of the untuned estimators over 100 epochs and reports, for
several values of `tol`, the epoch at which :meth:`fit` would stop and the held-out loss
there over the lowest of all epochs. The default ``tol=1e-3`` comes from it::

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
TOLERANCES = (1e-2, 1e-3, 1e-4)
MOST_ROWS = 30_000
MOST_CLASSES = 20


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
    """Mean training loss and held-out loss after each epoch."""
    is_regression = y.dtype.kind in "if" and np.unique(y).size > MOST_CLASSES
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
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
    training, held_out = [], []
    for _ in range(EPOCHS):
        training += estimator.fit(X_train, y_train).loss_curve_
        if is_regression:
            loss = mean_absolute_error(y_test, estimator.predict(X_test))
        else:
            p = estimator.predict_proba(X_test)
            loss = log_loss(y_test, p, labels=estimator.classes_)
        held_out.append(loss)
    return training, held_out


def stop(training, tol):
    """Epoch (from 1) at which `fit` stops."""
    best = np.inf
    for epoch, loss in enumerate(training, start=1):
        if loss > best - tol * training[0]:
            return epoch
        best = min(best, loss)
    return EPOCHS


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--data-dir", help="folder with more data sets")
    parser.add_argument("--average", action="store_true", help="averaged weights")
    arguments = parser.parse_args()

    heads = "".join(f"{f'tol={tol:g}':>16}" for tol in TOLERANCES)
    print(f"{'data set':24}{heads}   (epochs, held-out loss over the lowest)")
    results = {tol: [] for tol in TOLERANCES}
    for name, X, y in data_sets(arguments.data_dir):
        training, held_out = curves(X, y, arguments.average)
        for tol in TOLERANCES:
            epoch = stop(training, tol)
            results[tol].append((epoch, held_out[epoch - 1] / min(held_out)))
        row = "".join("{:9d} {:6.3f}".format(*results[tol][-1]) for tol in TOLERANCES)
        print(f"{name:24}{row}", flush=True)
    row = "".join(
        f"{median(e for e, _ in pairs):9g} {median(r for _, r in pairs):6.3f}"
        for pairs in results.values()
    )
    print(f"{'median':24}{row}")


if __name__ == "__main__":
    main()
