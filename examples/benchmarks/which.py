"""
Which estimator: losses and times by kind of data
=================================================

Prints what ScInOL, AdaImplicit, Newton steps, trees and the mixture lose in one pass
over data sets of several kinds, and the time that they take, divided by what a scaled
SGD does: `SGDClassifier` or `SGDRegressor` behind scikit-learn's `StandardScaler`::

    python examples/benchmarks/which.py
    python examples/benchmarks/which.py --data-dir FOLDER --in-order elec2

Each row is predicted before it is learned. The loss is the log loss in classification
and the absolute error in regression, the mean over the first 100, 1,000 and 10,000
rows; sets with at least half as many rows count. SGD, without a penalty, has the rate
c/sqrt(t), with the best c of 0.001, 0.01, 0.1 and 1 on its first 200 rows, which it
then learns from the beginning; in regression c is multiplied by their mean absolute
target. The scaler learns each row before it transforms it. All else is untuned.

The kinds are regression; tables with text; sparse rows; wide rows, of more than 128
features; many classes, more than five; and all others, called narrow. Tables go to
ScInOL, AdaImplicit and the mixture through a `TableEncoder`, to the others one-hot
encoded; messages are counted by words. Embeddings are generated: classes around centres
with correlated noise.

Times are those of learning 100 rows at a time, ours with predictions of all rows, SGD's
without. Newton steps are left out where they would take too long.
"""

import argparse
import sys
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from data_folder import read_frame, read_npz, read_svm, readers_in
from joblib import Parallel, delayed
from quality import (
    InputError,
    add_data_options,
    gives_status,
    make_data_set,
    nth_rate,
    read_csv,
    readers,
    show_progress,
)
from scipy import sparse
from scipy.stats import gmean
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.preprocessing import StandardScaler

from sklearn_scinol import (
    AdaImplicitClassifier,
    AdaImplicitRegressor,
    HedgeClassifier,
    HedgeRegressor,
    OnlineExtraTreesClassifier,
    OnlineExtraTreesRegressor,
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

SIZES = 100, 1_000, 10_000
CHUNK = 100
RATES, SEARCH_ROWS = [nth_rate(step) for step in (-6, -4, -2, 0)], 200
MAX_SQUARES = 1_000_000_000  # the time of Newton steps, in products of two features
MIN_WIDE, MIN_CLASSES, MAX_DENSITY = 129, 6, 0.25
SLOW_PARTS = ["random_features", "neighbors", "forest", "pools"]
KINDS = "narrow", "wide", "sparse", "table", "many classes", "regression"

# %%
# Data
# ----


@dataclass
class Rows:
    """Rows in the order of learning, as matrix and perhaps as table, and targets."""

    name: str
    X: np.ndarray | sparse.csr_array
    frame: object
    y: np.ndarray
    n_classes: int | None

    @property
    def kind(self):
        if self.n_classes is None:
            return "regression"
        if self.frame is not None:
            return "table"
        if sparse.issparse(self.X):
            return "sparse"
        if self.X.shape[1] >= MIN_WIDE:
            return "wide"
        return "many classes" if self.n_classes >= MIN_CLASSES else "narrow"

    @property
    def sizes(self):
        """Numbers of rows, each with the one that is asked for."""
        n = len(self.y)
        return [(size, min(size, n)) for size in SIZES if 2 * n >= size]


def read_table(path, target):
    """Read matrix, table or None, and target of a CSV file."""
    frame = read_frame(path)
    try:
        X, y = read_csv(path, target)
    except InputError:
        if target not in frame:
            raise
        y = frame.pop(target).to_numpy()
        texts = frame.astype(str).agg(" ".join, axis=1)
        return CountVectorizer().fit_transform(texts).astype(float), None, y
    frame = frame.drop(columns=target)
    has_text = not frame.select_dtypes(exclude="number").empty
    return X, frame if has_text else None, y


def readers_of(arguments):
    """Return functions that read matrix, table and target, by name."""

    def without_frame(read):
        def read_all(*path):
            X, y = read(*path)
            return X, None, y

        return read_all

    if arguments.data_dir is None:
        found = readers(None, arguments.target).items()
        found = {name: without_frame(read) for name, read in found}
    else:
        formats = {
            "csv": lambda path: read_table(path, arguments.target),
            "svm": without_frame(read_svm),
            "npz": without_frame(read_npz),
        }
        found = readers_in(arguments.data_dir, formats)
    return found | {"embeddings": embeddings}


def embeddings(n_rows=2000, n_features=1500, n_classes=20):
    """Draw rows around centres of classes, with correlated noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n_rows)
    hidden = rng.normal(size=(n_classes, 60))[y] + rng.normal(size=(n_rows, 60))
    X = hidden @ rng.normal(size=(60, n_features)) / 2 + rng.normal(size=n_features)
    return X + rng.normal(size=X.shape), None, y


def data_sets(arguments):
    """Yield the data sets that can be used."""
    found = readers_of(arguments).items()
    chosen = {name: read for name, read in found if arguments.only in name}
    if not chosen:
        raise InputError(f"No data set has {arguments.only!r} in its name.")
    for name, read in chosen.items():
        try:
            X, frame, y = read()
            place = np.arange(len(y))[:, np.newaxis]
            limit = min(arguments.max_rows or SIZES[-1], SIZES[-1])
            y = y.astype(str) if name in arguments.classes else y
            data = make_data_set(name, place, y, limit, name in arguments.in_order)
        except InputError as error:
            print(f"Skipped {name}: {error}")
            continue
        order = data.X[:, 0]
        X = X[order]
        if sparse.issparse(X):
            is_dense = X.nnz > MAX_DENSITY * np.prod(X.shape)
            X = X.toarray() if is_dense else sparse.csr_array(X)
        if frame is not None:
            frame = frame.iloc[order].reset_index(drop=True)
        yield Rows(name, X, frame, data.y, data.n_classes)


# %%
# Scaled SGD
# ----------


def scaled_sgd(rows, c):
    """Return scaler and model with the rate c/sqrt(t)."""
    options = {"eta0": c, "learning_rate": "invscaling", "power_t": 0.5}
    options |= {"penalty": None, "random_state": 0}
    if rows.n_classes:
        model = SGDClassifier("log_loss", **options)
    else:
        options["eta0"] *= np.abs(rows.y[:SEARCH_ROWS]).mean()
        model = SGDRegressor("epsilon_insensitive", epsilon=0.0, **options)
    return StandardScaler(with_mean=not sparse.issparse(rows.X)), model


def learn_sgd(rows, scaler, model, chunk):
    scaler.partial_fit(rows.X[chunk])
    classes = {"classes": np.arange(rows.n_classes)} if rows.n_classes else {}
    Z = scaler.transform(rows.X[chunk])
    return lambda: model.partial_fit(Z, rows.y[chunk], **classes), Z


def losses_of_sgd(rows, c, n_rows):
    """Return the loss of each row, before it was learned."""
    scaler, model = scaled_sgd(rows, c)
    predictions = []
    for r in range(n_rows):
        learn, z = learn_sgd(rows, scaler, model, slice(r, r + 1))
        if r > 0:
            method = model.predict_proba if rows.n_classes else model.predict
            (prediction,) = method(z)
        else:
            n_classes = rows.n_classes
            prediction = np.full(n_classes, 1 / n_classes) if n_classes else 0.0
        predictions.append(prediction)
        learn()
    return losses(rows, np.array(predictions))


def losses(rows, predictions):
    """Return the loss of each of the first rows."""
    y = rows.y[: len(predictions)]
    if rows.n_classes is None:
        return np.abs(predictions - y)
    return -np.log(np.clip(predictions[np.arange(len(y)), y], 1e-15, None))


def chunks(start, stop):
    return [slice(s, min(s + CHUNK, stop)) for s in range(start, stop, CHUNK)]


def measure_sgd(rows):
    """Return losses and seconds by number of rows, and c."""
    with np.errstate(all="ignore"):
        n_search = min(SEARCH_ROWS, len(rows.y))
        found = {c: losses_of_sgd(rows, c, n_search).mean() for c in RATES}
        c = min(RATES, key=lambda c: found[c] if np.isfinite(found[c]) else np.inf)
        of_rows = losses_of_sgd(rows, c, rows.sizes[-1][1])
        scaler, model = scaled_sgd(rows, c)
        results, seconds, start = {}, 0.0, 0
        for size, n in rows.sizes:
            for chunk in chunks(start, n):
                begin = perf_counter()
                learn_sgd(rows, scaler, model, chunk)[0]()
                seconds += perf_counter() - begin
            start, results[size] = n, (of_rows[:n].mean(), seconds)
    return results, c


# %%
# Estimators
# ----------

#: Classifier, regressor, and parameters; whether it learns tables by an encoder.
ESTIMATORS = {
    "ScInOL": (ScInOLClassifier, ScInOLRegressor, {}, True),
    "AdaImplicit": (AdaImplicitClassifier, AdaImplicitRegressor, {"scale": True}, True),
    "Newton": (OnlineNewtonClassifier, OnlineNewtonRegressor, {}, False),
    "trees": (
        OnlineExtraTreesClassifier,
        OnlineExtraTreesRegressor,
        {"random_state": 0},
        False,
    ),
    "mixture": (HedgeClassifier, HedgeRegressor, {}, True),
    "without slow parts": (
        HedgeClassifier,
        HedgeRegressor,
        {"exclude": SLOW_PARTS},
        True,
    ),
}


def measure(name, rows):
    """Return losses and seconds of an estimator by number of rows."""
    classifier, regressor, parameters, encodes = ESTIMATORS[name]
    model = (classifier if rows.n_classes else regressor)(**parameters)
    if not rows.n_classes and "loss" in model.get_params():
        model.set_params(loss="absolute_error")
    X = rows.X
    if encodes and rows.frame is not None:
        X, model = rows.frame, make_online_pipeline(TableEncoder(), model)
    keywords = {}
    if rows.n_classes:
        keywords = {"classes": np.arange(rows.n_classes), "method": "predict_proba"}

    def learn(model, chunk):
        part = X.iloc[chunk] if X is rows.frame else X[chunk]
        return model.partial_fit_predict(part, rows.y[chunk], **keywords)

    sizes = rows.sizes
    if name == "Newton":
        squares = rows.X.shape[1] ** 2 * (rows.n_classes or 1)
        sizes = [(size, n) for size, n in sizes if n * squares <= MAX_SQUARES]
    if sizes:
        learn(clone(model), slice(CHUNK))  # compiles
    results, seconds, start, found = {}, 0.0, 0, []
    for size, n in sizes:
        for chunk in chunks(start, n):
            begin = perf_counter()
            predictions = learn(model, chunk)
            seconds += perf_counter() - begin
            part = Rows("", None, None, rows.y[chunk], rows.n_classes)
            found.append(losses(part, predictions))
        start, results[size] = n, (np.concatenate(found).mean(), seconds)
    return results


# %%
# Tables
# ------


def line(kind, size, sets_or_loss, *cells):
    return f"{kind:<12}{size:>8}{sets_or_loss:>9}" + "".join(f"{c:>20}" for c in cells)


def print_data_set(rows, of_sgd, c, of_ours):
    n_rows, n_features = rows.X.shape
    print(
        f"{rows.name}: {rows.kind}, {n_rows:,} rows, {n_features:,} features"
        + (f", {rows.n_classes} classes" if rows.n_classes else "")
        + f"; SGD's c {c:g}, loss:"
    )
    for size, (loss, seconds) in of_sgd.items():
        cells = [
            f"{each[size][0] / loss:.3f} ({each[size][1] / seconds:.2f})"
            if size in each
            else "-"
            for each in of_ours
        ]
        print(line("", f"{size:,}", f"{loss:.4g}", *cells))
    print(flush=True)


def print_summary(results):
    print("Geometric means of loss / SGD's, and in brackets of time / SGD's:\n")
    header = line("kind", "rows", "sets", *ESTIMATORS)
    print("\n".join([header, "-" * len(header)]))
    for kind in KINDS:
        for size in SIZES:
            of_kind = [
                (of_sgd[size], [each.get(size) for each in of_ours])
                for of_rows, of_sgd, of_ours in results
                if of_rows == kind and size in of_sgd
            ]
            if not of_kind:
                continue
            cells = []
            for k in range(len(ESTIMATORS)):
                pairs = [(ours[k], sgd) for sgd, ours in of_kind if ours[k]]
                ratios = np.array([np.divide(*pair) for pair in pairs])
                is_all = len(pairs) == len(of_kind)
                means = gmean(ratios) if is_all else None
                cells.append(f"{means[0]:.3f} ({means[1]:.2f})" if is_all else "-")
            print(line(kind, f"{size:,}", len(of_kind), *cells))


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Loss and time of estimators by kind of data, beside scaled SGD."
    )
    add_data_options(parser)
    parser.set_defaults(n_jobs=1)
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments, results = parse(argv), []
    with Parallel(n_jobs=arguments.n_jobs) as parallel:
        for rows in data_sets(arguments):
            calls = [delayed(measure_sgd)(rows)]
            calls += [delayed(measure)(name, rows) for name in ESTIMATORS]
            (of_sgd, c), *of_ours = parallel(show_progress(calls, rows.name))
            results.append((rows.kind, of_sgd, of_ours))
            print_data_set(rows, of_sgd, c, of_ours)
    if not results:
        raise InputError("No data set is left.")
    print_summary(results)


if __name__ == "__main__":
    sys.exit(main())
