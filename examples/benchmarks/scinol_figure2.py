"""
=====================================
Six data sets, untuned against tuned
=====================================

This repeats the experiment of Figures 2 and 4 of M. Kempka, W. Kotłowski and M. K.
Warmuth, "Adaptive scale-invariant online algorithms for learning linear models" (ICML
2019). Methods learn from six data sets in several epochs, each in another order.
After each epoch their current weights are tested on other rows, by
cross-entropy and accuracy. SGD, AdaGrad, Adam and NAG are run with six rates; the
figures show the rate with the smallest final cross-entropy on the test rows, which
favours them. CoCoB, Alg1-K17 and ScInOL have no rate.

As in the paper, columns of text are one-hot encoded without their first category,
missing text is a category of its own, and a missing number is zero, with an indicator
feature. Only the pixels of MNIST are scaled, divided by
255. There is an intercept. NAG divides by the sum over features, as it was published.
The official test set is used if there is one, otherwise a third of the rows, different
in each repetition.

The data are downloaded: Covertype and, from OpenML, Census (number 4535), Madelon
(1485), MNIST (554) and Shuttle (40685), as well as Bank from the UCI repository, since
Bank on OpenML (1461) is an older form with other columns. OpenML does not say which
rows of Madelon and Shuttle are the official test sets, so a third of the rows is used.
To read the data from files instead::

    python examples/benchmarks/scinol_figure2.py --data-dir FOLDER

The folder has these files in CSV format, compressed or not, with a header and a column
"target": ``bank_additional_full.csv``, ``census_income_kdd.csv`` and ``covtype.csv``
(or parts of them, with more in the name), ``madelon_train.csv`` and
``madelon_valid.csv``, and ``shuttle.csv``; besides ``mnist.npz``, with arrays ``X`` and
``y``. If MNIST and Shuttle have all rows in the published order, their test sets are
the official ones.

One repetition of a method with one rate on one data set is stored when it is finished,
so that the experiment may be interrupted. The defaults are those of the paper;
``--repetitions`` and ``--epochs`` make it smaller.
"""

import argparse
import hashlib
import io
import sys
import zipfile
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import fill
from urllib.request import urlopen

import data_folder
import joblib
import numpy as np
from cells import (
    ONE_BY_ONE,
    Cell,
    Method,
    add_options,
    complete,
    deviation,
    folder_of_cells,
    write_csv,
)
from interface import InputError, choose, gives_status, panels, positive, save_figure
from joblib import Parallel
from scipy import sparse
from scipy.special import log_softmax
from sklearn.compose import ColumnTransformer
from sklearn.datasets import fetch_covtype, fetch_openml
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)

METHODS = [
    Method("SGD", "sgd", RATES),
    Method("AdaGrad", "adagrad", RATES),
    Method("Adam", "adam", RATES),
    Method("NAG", "nag", RATES, {"normalizer": "sum"}),
    Method("CoCoB", "cocob"),
    Method("Alg1-K17", "k17"),
    Method("ScInOL1", "scinol1"),
    Method("ScInOL2", "scinol2"),
]

EPOCHS = {
    "bank": 10,
    "census": 10,
    "covertype": 10,
    "madelon": 60,
    "mnist": 30,
    "shuttle": 20,
}

# %%
# Data
# ----


@dataclass
class DataSet:
    """Rows, dense or CSR, and their class indices.

    If there is an official test set, it follows the first `n_train` rows.
    """

    X: np.ndarray | sparse.csr_matrix
    y: np.ndarray
    n_train: int | None

    def __post_init__(self):
        """Compute the digest, which distinguishes different data of the same name."""
        self.digest = joblib.hash((self.X, self.y, self.n_train))

    @property
    def n_classes(self):
        return self.y.max() + 1

    def split(self, repetition):
        """Return the training rows and the test rows."""
        n = len(self.y)
        if self.n_train is not None:
            return slice(self.n_train), slice(self.n_train, None)
        order = np.random.default_rng(repetition).permutation(n)
        return order[: 2 * n // 3], order[2 * n // 3 :]


def data_set(X, y, n_train=None):
    """Make a data set of an array and labels; CSR if this is faster."""
    X = X if sparse.issparse(X) else np.asarray(X, dtype=float)
    density = (X.nnz if sparse.issparse(X) else np.count_nonzero(X)) / np.prod(X.shape)
    if density < 0.25:
        X = sparse.csr_matrix(X)
    elif sparse.issparse(X):
        X = X.toarray()
    classes, y = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) < 2:
        raise InputError("its target is the same in all rows.")
    return DataSet(X, y, n_train)


def encode(frame):
    """Encode columns as numbers; columns that are not numeric are one-hot encoded."""
    from pandas.api.types import is_numeric_dtype

    numbers = [name for name in frame if is_numeric_dtype(frame[name])]
    text = [name for name in frame if name not in numbers]
    frame = frame.astype(dict.fromkeys(text, object))
    frame[text] = frame[text].where(frame[text].notna(), np.nan)
    encoder = ColumnTransformer(
        [
            (
                "numbers",
                SimpleImputer(
                    strategy="constant",
                    fill_value=0,
                    add_indicator=True,
                    keep_empty_features=True,
                ),
                numbers,
            ),
            ("text", OneHotEncoder(drop="first"), text),
        ]
    )
    return encoder.fit_transform(frame)


# %%
# Data from files


def data_sets_in(folder):
    """Return functions that read the files of a folder, by name."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.")
    return {
        "bank": partial(read_table, folder, "bank_additional_full"),
        "census": partial(read_table, folder, "census_income_kdd*"),
        "covertype": partial(read_table, folder, "covtype*"),
        "madelon": partial(read_madelon, folder),
        "mnist": partial(read_mnist, folder),
        "shuttle": partial(read_shuttle, folder),
    }


def find_file(folder, pattern):
    found = sorted(folder.glob(pattern))
    if not found:
        raise InputError(f"there is no file {folder / pattern}.")
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise InputError(f"it could be any of {names} in {folder}.")
    return found[0]


def read_frame(folder, stem):
    """Read features and labels; only empty fields are missing."""
    path = find_file(folder, f"{stem}.csv*")
    frame = data_folder.read_frame(path)
    if "target" not in frame:
        raise InputError(f"{path} has no column 'target'.")
    if frame["target"].isna().any():
        raise InputError(f"{path} has rows without a target.")
    return frame.drop(columns="target"), frame["target"].to_numpy()


def read_table(folder, stem):
    frame, y = read_frame(folder, stem)
    return data_set(encode(frame), y)


def read_madelon(folder):
    X, y = read_frame(folder, "madelon_train")
    X_test, y_test = read_frame(folder, "madelon_valid")
    if X.shape[1] != X_test.shape[1]:
        raise InputError(f"its two files in {folder} differ in their columns.")
    return data_set(np.vstack([X, X_test]), np.append(y, y_test), n_train=len(y))


def read_mnist(folder):
    path = find_file(folder, "mnist.npz")
    try:
        with np.load(path) as arrays:
            for name in ("X", "y"):
                if name not in arrays:
                    raise InputError(f"{path} has no array {name!r}.")
            return images(arrays["X"], arrays["y"])
    except (TypeError, ValueError, EOFError, zipfile.BadZipFile):
        raise InputError(f"{path} cannot be read as arrays of NumPy.") from None


def images(X, y):
    n_train = 60_000 if len(y) == 70_000 else None
    return data_set(np.asarray(X) / 255, y, n_train)


def read_shuttle(folder):
    frame, y = read_frame(folder, "shuttle")
    n_train = 43_500 if len(y) == 58_000 else None
    return data_set(encode(frame), y, n_train)


# %%
# Data that are downloaded

BANK = (
    "https://archive.ics.uci.edu/ml/machine-learning-databases/00222/"
    "bank-additional.zip"
)
BANK_FILE = "bank-additional/bank-additional-full.csv"
BANK_SHA256 = "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8"


def published_data_sets():
    """Return functions that download the data sets, by name.

    scikit-learn stores all but Bank, and verifies their checksums.
    """
    return {
        "bank": downloaded(fetch_bank),
        "census": downloaded(fetch_census),
        "covertype": downloaded(lambda: data_set(*fetch_covtype(return_X_y=True))),
        "madelon": downloaded(lambda: data_set(*fetch_numbers(1485))),
        "mnist": downloaded(lambda: images(*fetch_numbers(554))),
        "shuttle": downloaded(lambda: data_set(*fetch_numbers(40685))),
    }


def downloaded(fetch):
    """Wrap a download so that its errors are InputError."""

    def read():
        try:
            return fetch()
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            reason = str(getattr(error, "reason", error)).rstrip(".")
            raise InputError(f"it cannot be downloaded: {reason}.") from None
        except ImportError:
            raise InputError("it needs pandas, which is not installed.") from None

    return read


def fetch_bank():
    import pandas as pd

    with urlopen(BANK, timeout=60) as response:
        archive = zipfile.ZipFile(io.BytesIO(response.read()))
    file = archive.read(BANK_FILE)
    if hashlib.sha256(file).hexdigest() != BANK_SHA256:
        raise InputError(f"{BANK} has another {BANK_FILE} than was published.")
    frame = pd.read_csv(io.BytesIO(file), sep=";", keep_default_na=False)
    y = frame.pop("y")
    return data_set(encode(frame), y)


def fetch_census():
    frame, y = fetch_openml(
        data_id=4535, target_column="V42", as_frame=True, return_X_y=True
    )
    return data_set(encode(frame), y)


def fetch_numbers(data_id):
    return fetch_openml(data_id=data_id, as_frame=False, return_X_y=True)


# %%
# A run
# -----


def learning_curve(method, rate, data, repetition, epochs):
    """Return cross-entropy and accuracy of the test rows after each epoch.

    Once the weights overflow, the loss is infinite and the accuracy NaN.
    """
    train, test = data.split(repetition)
    X, y = data.X[train], data.y[train]
    X_test, y_test = data.X[test], data.y[test]
    model = method.estimator(
        rate,
        max_iter=1,
        tol=None,
        warm_start=True,
        random_state=np.random.RandomState(repetition),
    )
    losses, accuracies = np.full(epochs, np.inf), np.full(epochs, np.nan)
    for epoch in range(epochs):
        try:
            model.fit(X, y)
        except ValueError as error:
            if "overflow" not in str(error):
                raise
            break
        scores = scores_of(model, X_test, data.n_classes)
        if not np.isfinite(scores[:, model.classes_]).all():
            break
        losses[epoch] = -log_softmax(scores, axis=1)[
            np.arange(len(y_test)), y_test
        ].mean()
        accuracies[epoch] = (scores.argmax(axis=1) == y_test).mean()
    return {"loss": losses.tolist(), "accuracy": accuracies.tolist()}


def scores_of(model, X, n_classes):
    """Return the score of each class, by the current weights."""
    with np.errstate(over="ignore", invalid="ignore"):
        outputs = X @ model.coef_.T + model.intercept_
    if len(model.classes_) == 2:
        outputs = np.column_stack([np.zeros(len(outputs)), outputs])
    scores = np.full((len(outputs), n_classes), -np.inf)  # classes not in training
    scores[:, model.classes_] = outputs
    return scores


# %%
# All runs
# --------


@dataclass
class Curves:
    """Curves of a method, with axes (rates, repetitions, epochs)."""

    method: Method
    losses: np.ndarray
    accuracies: np.ndarray

    @property
    def best(self):
        """Return the rate with the smallest mean loss after the last epoch."""
        return self.losses[:, :, -1].mean(axis=1).argmin()

    @property
    def rate(self):
        return self.method.rates[self.best]

    @property
    def loss(self):
        """Return losses with axes (repetitions, epochs)."""
        return self.losses[self.best]

    @property
    def accuracy(self):
        return self.accuracies[self.best]

    @property
    def final_loss(self):
        return self.loss[:, -1].mean()

    @property
    def mean_deviation(self):
        """Return the deviation of the loss over repetitions, averaged over epochs."""
        return deviation(self.loss).mean()


@dataclass
class Result:
    """Curves on a data set, by the name of the method."""

    name: str
    title: str
    curves: dict

    @property
    def ranking(self):
        """Return names by the loss after the last epoch, smallest first."""
        return sorted(self.curves, key=lambda name: self.curves[name].final_loss)

    @property
    def ranking_of_untuned(self):
        return [name for name in self.ranking if not self.curves[name].method.is_tuned]


def run(name, data, epochs, repetitions, folder, parallel):
    arms = [(method, rate) for method in METHODS for rate in method.rates]
    cells = [
        Cell(
            {
                "experiment": "ScInOL, figure 2",
                "data": [name, data.digest],
                "method": method.key,
                "parameters": method.parameters,
                "rate": rate,
                "repetition": repetition,
                "epochs": epochs,
            },
            learning_curve,
            (method, rate, data, repetition, epochs),
        )
        for method, rate in arms
        for repetition in range(repetitions)
    ]
    values = complete(cells, folder, parallel, name)

    def gather(method, what):
        of_method = [
            value[what]
            for cell, value in zip(cells, values, strict=True)
            if cell.arguments[0] is method
        ]
        return np.reshape(of_method, (len(method.rates), repetitions, epochs))

    n_rows, n_features = data.X.shape
    title = f"{name}: {n_rows:,} rows, {n_features} features, {data.n_classes} classes"
    curves = {
        method.name: Curves(method, gather(method, "loss"), gather(method, "accuracy"))
        for method in METHODS
    }
    return Result(name, title, curves)


def run_all(readers, arguments):
    """Run all data sets; skip those that cannot be read."""
    folder = folder_of_cells(arguments.output_dir)
    results = []
    with Parallel(n_jobs=arguments.n_jobs, **ONE_BY_ONE) as parallel:
        for name, read in readers.items():
            try:
                data = read()
            except InputError as error:
                print(f"Skipped {name}: {error}")
                continue
            epochs = min(EPOCHS[name], arguments.epochs or EPOCHS[name])
            results.append(
                run(name, data, epochs, arguments.repetitions, folder, parallel)
            )
    return results


# %%
# Tables
# ------


def table(result):
    header = f"{'method':<12}{'rate':>8}{'loss':>10}{'deviation':>11}{'accuracy':>10}"
    lines = [result.title, "", header, "-" * len(header)]
    for name in result.ranking:
        curves = result.curves[name]
        rate = "" if curves.rate is None else f"{curves.rate:g}"
        lines.append(
            f"{name:<12}{rate:>8}{curves.final_loss:>10.4f}"
            f"{deviation(curves.loss)[-1]:>11.5f}"
            f"{curves.accuracy[:, -1].mean():>10.4f}"
        )
    return "\n".join([*lines, ""])


def table_of_deviations(results):
    width = max(11, *(len(result.name) + 2 for result in results))
    header = f"{'method':<12}{''.join(f'{r.name:>{width}}' for r in results)}"
    lines = [
        "Deviation of the test cross-entropy between repetitions, mean over epochs:",
        "",
        header,
        "-" * len(header),
    ]
    for method in METHODS:
        cells = (result.curves[method.name].mean_deviation for result in results)
        lines.append(
            f"{method.name:<12}{''.join(f'{cell:>{width}.5f}' for cell in cells)}"
        )
    return "\n".join([*lines, ""])


def claims(results):
    """Return the numbers behind the paper's claims."""
    n = len(results)
    worse = [
        result.name
        for result in results
        if result.curves["ScInOL2"].final_loss >= result.curves["ScInOL1"].final_loss
    ]
    exceptions = f", not on {', '.join(worse)}" if worse else ""
    first = Counter(result.ranking[0] for result in results)
    untuned = Counter(result.ranking_of_untuned[0] for result in results)
    deviations = []
    if len(results[0].curves["ScInOL2"].loss) > 1:
        deviations = [
            claim_about_deviation(name, results) for name in ("ScInOL1", "ScInOL2")
        ]
    return [
        f"ScInOL2 has a smaller loss than ScInOL1 after the last epoch on "
        f"{n - len(worse)} of {n} data sets{exceptions}.",
        f"The smallest loss after the last epoch: {counts(first)}. ScInOL2 or CoCoB: "
        f"{first['ScInOL2'] + first['CoCoB']} of {n}. Among the methods without a "
        f"rate: {counts(untuned)}.",
        *deviations,
        "The loss of Alg1-K17 after the last epoch, divided by that of ScInOL2: "
        + ratios(
            results,
            lambda curves: curves["Alg1-K17"].final_loss / curves["ScInOL2"].final_loss,
        ),
    ]


def claim_about_deviation(name, results):
    tuned = [method.name for method in METHODS if method.is_tuned]

    def of_tuned(curves):
        return [curves[other].mean_deviation for other in tuned]

    smaller = sum(
        result.curves[name].mean_deviation < other
        for result in results
        for other in of_tuned(result.curves)
    )
    return (
        f"The deviation of {name}, divided by the median of those of "
        f"{', '.join(tuned)}: "
        + ratios(
            results,
            lambda curves: curves[name].mean_deviation / np.median(of_tuned(curves)),
        )
        + f" It is the smaller one in {smaller} of {len(tuned) * len(results)} pairs."
    )


def counts(counter):
    return ", ".join(f"{name} on {count}" for name, count in counter.most_common())


def ratios(results, of):
    return ", ".join(f"{of(r.curves):.3g} on {r.name}" for r in results) + "."


def write_numbers(path, results):
    """Write the curves of all rates, also of those not in the figures."""

    def rows():
        for result in results:
            for name, curves in result.curves.items():
                for i, rate in enumerate(curves.method.rates):
                    runs = curves.losses[i], curves.accuracies[i]
                    numbers = [f(run) for run in runs for f in (mean, deviation)]
                    for epoch, row in enumerate(zip(*numbers, strict=True), start=1):
                        yield result.name, name, rate, i == curves.best, epoch, *row

    columns = ["data set", "method", "rate", "shown", "epoch", "loss"]
    columns += ["deviation of loss", "accuracy", "deviation of accuracy"]
    write_csv(path, columns, rows())


def mean(runs):
    return runs.mean(axis=0)


# %%
# Figures
# -------


def draw(results, what):
    """Draw means and standard deviations over repetitions, a panel per data set.

    Panels of losses end at three times the smallest loss.
    """
    figure, axes = panels(len(results), 3, 4.6, 3.3)
    for ax, result in zip(axes, results, strict=True):
        draw_panel(ax, result, what)
    axes[0].set_ylabel("test cross-entropy" if what == "loss" else "test accuracy")
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=min(8, 4 * len(results)),
        frameon=False,
    )
    return figure


def draw_panel(ax, result, what):
    smallest = np.inf
    for curves in result.curves.values():
        runs = getattr(curves, what)
        centre, width = mean(runs), deviation(runs)
        epochs = np.arange(1, len(centre) + 1)
        smallest = min(smallest, centre.min())
        ax.fill_between(
            epochs,
            centre - width,
            centre + width,
            color=curves.method.colour,
            alpha=0.15,
            linewidth=0,
        )
        ax.plot(
            epochs,
            centre,
            "." if len(epochs) == 1 else "-",  # a line needs two points
            color=curves.method.colour,
            linewidth=1.3,
            label=curves.method.name,
        )
    if what == "loss":  # what is larger is out of competition
        bottom, top = ax.get_ylim()
        ax.set_ylim(max(bottom, 0.85 * smallest), min(top, 3 * smallest))
    ax.set(title=result.title, xlabel="epoch")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.3)


# %%
# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Repeat the experiment of Figures 2 and 4 of the ScInOL paper."
    )
    parser.add_argument(
        "--data-dir", type=Path, metavar="FOLDER", help="files to use, not downloads"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help=f"a data set to use, of {', '.join(EPOCHS)}; may be repeated",
    )
    parser.add_argument(
        "--repetitions",
        type=positive,
        default=10,
        metavar="N",
        help="runs to average over (default: %(default)s)",
    )
    parser.add_argument(
        "--epochs",
        type=positive,
        metavar="N",
        help="the most epochs, where the paper has more: "
        + ", ".join(f"{name} {epochs}" for name, epochs in EPOCHS.items()),
    )
    add_options(parser)
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    numbers = arguments.output_dir / "scinol_figure2.csv"
    if arguments.data_dir is None:
        readers = published_data_sets()
    else:
        readers = data_sets_in(arguments.data_dir)
    if arguments.only:
        readers = choose(readers, arguments.only)
    results = run_all(readers, arguments)
    if not results:
        raise InputError("No data set is left.")
    write_numbers(numbers, results)

    print("Test cross-entropy after the last epoch, with the best rate:\n")
    for result in results:
        print(table(result))
    if arguments.repetitions > 1:
        print(table_of_deviations(results))
    for sentence in claims(results):
        print(fill(sentence, width=83))
    print(f"Wrote {numbers}")
    for what, name in (("loss", "scinol_figure2"), ("accuracy", "scinol_figure4")):
        path = arguments.output_dir / f"{name}.png"
        save_figure(draw(results, what), path)


if __name__ == "__main__":
    sys.exit(main())
