"""
Loss of every learner in one pass over real data
================================================

Prints the mean progressive loss of every estimator of this package, untuned, and of
every baseline, on each data set: each row is predicted before it is learned, in a fixed
random order, with features in raw units. The loss is the log loss in
classification and the absolute error in regression::

    python examples/benchmarks/quality.py
    python examples/benchmarks/quality.py --data-dir FOLDER --max-rows 20000
    python examples/benchmarks/quality.py --data-dir FOLDER --in-order elec2

Data sets named after ``--in-order`` keep the order of their rows, as streams do.

With ``--baseline`` it guards against regressions: only untuned methods are run, and
compared with a table that ``--output`` has written before. If a loss has become worse
by more than 0.5 %, it is listed, and the exit status is 1. The table for the data that
come with scikit-learn is in the folder of this script::

    python examples/benchmarks/quality.py --baseline examples/benchmarks/quality.csv

Baselines that need a learning rate are shown with the best rate in hindsight, among
0.001, 0.003, 0.01, ..., 3, and beyond as long as that lowers the loss. In regression,
rates are multiplied by the mean absolute target. SGD* has features standardised in
hindsight as well, and only these eight rates. All methods are compared with SGD*.

If the packages vowpalwabbit and river are installed, Vowpal Wabbit (VW: with defaults,
with ``--coin`` and with ``--freegrad``) and river's logistic or linear regression
behind its ``StandardScaler`` are run, too. They are used as in their manuals: river's
linear regression minimises the squared error, and both learn several classes one versus
rest.

A data set of the folder is a file in CSV or LIBSVM format, .csv or .svm, compressed or
not, or an .npz with the arrays X and y. Text in a CSV file is one-hot encoded without
its first level; a missing number is replaced by the mean of its column, and columns
with more than 200 different texts are left out. A target holds classes if it is text,
or if it has at most 20 different numbers, all of them integers.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from statistics import median

import guard
import numpy as np
from data_folder import (
    MAX_CATEGORIES,
    are_classes,
    check_finite,
    read_frame,
    read_npz,
    read_svm,
    readers_in,
)
from epochs import data_sets as bundled_data_sets
from interface import (
    InputError,
    add_folder_options,
    gives_status,
    positive,
    processes,
    show_progress,
)
from joblib import Parallel, delayed
from no_tuning import engine_for
from scipy import sparse
from sklearn.metrics import log_loss, mean_absolute_error
from sklearn.preprocessing import StandardScaler

from sklearn_scinol import (
    AdaFTRLClassifier,
    AdaFTRLRegressor,
    AdaImplicitClassifier,
    AdaImplicitRegressor,
    DFEGClassifier,
    DFEGRegressor,
    HedgeClassifier,
    HedgeRegressor,
    MondrianForestClassifier,
    MondrianForestRegressor,
    OnlineExtraTreesClassifier,
    OnlineExtraTreesRegressor,
    OnlineKNeighborsClassifier,
    OnlineKNeighborsRegressor,
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
)
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor

# Sparse rows with no more columns than this are made dense, to be centred as well.
MAX_DENSE_COLUMNS = 1000

# River's time, in products of a weight and a feature: about a minute.
MAX_RIVER_PRODUCTS = 50_000_000

# The time of online Newton steps, in products of two features: about a minute.
MAX_SQUARES = 50_000_000_000

# Data
# ----


@dataclass
class DataSet:
    """Rows in the order of learning; classes are 0, 1, ..."""

    name: str
    X: np.ndarray | sparse.csr_matrix
    y: np.ndarray
    n_classes: int | None  # None in regression

    @property
    def target_scale(self):
        """Return the factor of learning rates."""
        return 1.0 if self.n_classes else np.abs(self.y).mean()

    @property
    def n_outputs(self):
        return self.n_classes if (self.n_classes or 2) > 2 else 1

    @property
    def title(self):
        n_rows, n_features = self.X.shape
        if self.n_classes:
            kind = f"log loss, {self.n_classes} classes"
        else:
            kind = "absolute error"
        return f"{self.name}: {n_rows:,} rows, {n_features:,} features, {kind}"


def make_data_set(name, X, y, max_rows=None, in_order=False):
    """Check, encode and, unless the order matters, shuffle rows."""
    if X.shape[0] != len(y) or len(y) < 2 or X.shape[1] == 0:
        raise InputError("it needs a target in each row, two rows and a feature.")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) == 1:
        raise InputError("its target is the same in all rows.")
    if not are_classes(y):
        y, n_classes = y.astype(float), None
    else:
        y, n_classes = codes, len(classes)
    order = np.arange(len(y))
    if not in_order:
        order = np.random.default_rng(0).permutation(order)
    X, y = X[order[:max_rows]], y[order[:max_rows]]
    if sparse.issparse(X) and X.shape[1] <= MAX_DENSE_COLUMNS:
        X = X.toarray()
    return DataSet(name, X, y, n_classes)


def readers_of_folder(folder, target):
    """Return functions that read X and y of the folder's files, by name."""
    formats = {
        "csv": partial(read_csv, target=target),
        "svm": read_svm,
        "npz": read_npz,
    }
    return readers_in(folder, formats)


def read_csv(path, target):
    frame = read_frame(path)
    if target not in frame:
        raise InputError(f"{path} has no column {target!r}; --target names another.")
    y = frame.pop(target)
    if y.isna().any():
        raise InputError(f"{path} has rows without a target.")
    text = frame.select_dtypes(exclude="number")
    frame = frame.drop(columns=text.columns[text.nunique() > MAX_CATEGORIES])
    if frame.columns.empty:
        raise InputError(
            f"{path} has no feature: beside the target there must be a column of "
            f"numbers, or of at most {MAX_CATEGORIES} different texts."
        )
    import pandas as pd

    frame = pd.get_dummies(frame, drop_first=True, dtype=float).astype(float)
    X, y = frame.fillna(frame.mean()).fillna(0.0).to_numpy(), y.to_numpy()
    check_finite(path, X, y)
    return X, y


# Learning rates
# --------------


def nth_rate(step):
    """Return the n-th rate: ..., 0.3 for -1, 1 for 0, 3 for 1, 10 for 2, ..."""
    return float(f"{(1, 3)[step % 2]}e{step // 2}")


STANDARD_STEPS = range(-6, 2)  # from 0.001 to 3


def best_rate(loss_of):
    """Find the rate of smallest loss, from 0.001 to 3 or beyond if that is better.

    Parameters
    ----------
    loss_of : callable
        Returns the loss of a rate.

    Returns
    -------
    loss, rate : float
    """
    losses = {step: loss_of(nth_rate(step)) for step in STANDARD_STEPS}
    while True:
        # The smallest of equally good rates, so that divergence leads to smaller rates.
        best = min(sorted(losses), key=losses.get)
        if best == min(losses):
            beyond = best - 1
        elif best == max(losses):
            beyond = best + 1
        else:
            break
        before, losses[beyond] = losses[best], loss_of(nth_rate(beyond))
        # If learning does harm, ever smaller rates help, ever less.
        gains = losses[beyond] < 0.999 * before or np.isinf(before)
        if not gains or abs(beyond) == 40:
            break
    best = min(sorted(losses), key=losses.get)
    return losses[best], nth_rate(best)


# Methods
# -------
#
# A method returns the loss on a data set, and the learning rate or None. It raises
# InputError if it is not made for the data.


@dataclass
class Method:
    """A function of a data set that returns a loss and a learning rate, or None."""

    name: str
    run: Callable


def one_pass(estimator, X, y, n_classes):
    """Return the mean progressive loss of our estimator, infinite if it diverges."""
    first_call = {"classes": np.arange(n_classes)} if n_classes else {}
    try:
        estimator.partial_fit(X, y, **first_call)
    except ValueError as error:
        if "under-/overflow" not in str(error):
            raise
        return np.inf
    return finite_or_infinite(estimator.cumulative_loss_ / len(y))


def finite_or_infinite(loss):
    """Return the loss as a float, infinite for NaN."""
    return float(loss) if np.isfinite(loss) else np.inf


def untuned(classifier, regressor, options, data_set):
    if options.get("center") and sparse.issparse(data_set.X):
        raise InputError("sparse rows cannot be centred.")
    if data_set.n_classes:
        model = classifier(**options)
    else:
        model = regressor(loss="absolute_error", **options)
    return one_pass(model, data_set.X, data_set.y, data_set.n_classes), None


def second_order(classifier, regressor, options, data_set):
    n_rows, n_features = data_set.X.shape
    if n_rows * n_features**2 * data_set.n_outputs > MAX_SQUARES:
        raise InputError("it would take too long.")
    return untuned(classifier, regressor, options, data_set)


def forest(classifier, regressor, options, data_set):
    if data_set.n_classes:
        return untuned(classifier, None, options, data_set)
    said = regressor(**options).partial_fit_predict(data_set.X, data_set.y)
    return mean_absolute_error(data_set.y, said), None


def tuned(options, data_set):
    loss, rate = best_rate(partial(loss_of_rate, options, data_set, data_set.X))
    return loss, rate


def loss_of_rate(options, data_set, X, rate):
    baseline = BaselineClassifier if data_set.n_classes else BaselineRegressor
    rate *= data_set.target_scale
    model = baseline(learning_rate=rate, center=False, **options)
    return one_pass(model, X, data_set.y, data_set.n_classes)


def standardised(data_set):
    scaler = StandardScaler(with_mean=not sparse.issparse(data_set.X))
    X = scaler.fit_transform(data_set.X)
    return min(
        (loss_of_rate({"algorithm": "sgd"}, data_set, X, rate), rate)
        for rate in map(nth_rate, STANDARD_STEPS)
    )


def our_methods():
    """Return our untuned methods, as published and with online centring."""
    scinol = ScInOLClassifier, ScInOLRegressor
    implicit = AdaImplicitClassifier, AdaImplicitRegressor
    adaftrl = AdaFTRLClassifier, AdaFTRLRegressor
    for name, estimators, options in (
        ("ScInOL1", scinol, {"algorithm": "scinol1"}),
        ("ScInOL2", scinol, {"algorithm": "scinol2"}),
        ("AdaImplicit", implicit, {"algorithm": "adaimplicit"}),
        ("IOMD", implicit, {"algorithm": "iomd"}),
        ("IOMD, constant", implicit, {"algorithm": "constant"}),
        ("DFEG", (DFEGClassifier, DFEGRegressor), {}),
        ("AdaFTRL", adaftrl, {"tuning": "koolen"}),
        ("AdaFTRL, original", adaftrl, {"tuning": "orabona_pal"}),
    ):
        for suffix, center in (("", False), (", centred", True)):
            run = partial(untuned, *estimators, {**options, "center": center})
            yield Method(name + suffix, run)
    newton = OnlineNewtonClassifier, OnlineNewtonRegressor
    yield Method("OnlineNewton", partial(second_order, *newton, {}))
    neighbors = OnlineKNeighborsClassifier, OnlineKNeighborsRegressor
    yield Method("OnlineKNeighbors", partial(untuned, *neighbors, {}))
    forests = MondrianForestClassifier, MondrianForestRegressor
    yield Method("MondrianForest", partial(forest, *forests, {"random_state": 0}))
    trees = OnlineExtraTreesClassifier, OnlineExtraTreesRegressor
    yield Method("OnlineExtraTrees", partial(forest, *trees, {"random_state": 0}))
    yield Method("Hedge", partial(untuned, HedgeClassifier, HedgeRegressor, {}))


def untuned_baseline_methods():
    baselines = BaselineClassifier, BaselineRegressor
    for name, algorithm in (
        ("CoCoB", "cocob"),
        ("K17", "k17"),
        ("FreeGrad", "freegrad"),
        ("Coin", "coin"),
        ("CODE", "code"),
    ):
        options = {"algorithm": algorithm, "center": False}
        yield Method(name, partial(untuned, *baselines, options))


def tuned_baseline_methods():
    for name, options in (
        # "ogd" without a ball equals "sgd".
        ("SGD", {"algorithm": "sgd"}),
        ("AdaOGD", {"algorithm": "adaogd"}),
        ("AdaGrad", {"algorithm": "adagrad"}),
        ("Adam", {"algorithm": "adam"}),
        # The other normaliser only multiplies the rate.
        ("NAG", {"algorithm": "nag", "normalizer": "mean"}),
        ("SFMD", {"algorithm": "sfmd"}),
        ("Kernel GD", {"algorithm": "kernel_gd"}),
    ):
        yield Method(name, partial(tuned, options))
    yield Method("SGD*", standardised)


def untuned_methods():
    return [*our_methods(), *untuned_baseline_methods()]


def methods():
    found = [*untuned_methods(), *tuned_baseline_methods()]
    if find_spec("vowpalwabbit") is None:
        print("Vowpal Wabbit is left out: there is no package vowpalwabbit.")
    else:
        for option in ([], ["--coin"], ["--freegrad"]):
            name = " ".join(["VW", *option])
            found.append(Method(name, partial(vowpal_wabbit, option)))
    if find_spec("river") is None:
        print("River is left out: there is no package river.")
    else:
        found.append(Method("river", river))
    return found


# Vowpal Wabbit
# -------------
#
# Vowpal Wabbit reads a file and writes its progressive predictions.


def vowpal_wabbit(options, data_set):
    from vowpalwabbit import Workspace

    n_columns = data_set.X.shape[1] * data_set.n_outputs
    options = [*options, "--bit_precision", str(max(18, n_columns.bit_length() + 1))]
    if data_set.n_classes is None:
        options += ["--loss_function", "quantile", "--quantile_tau", "0.5"]
    else:
        options += ["--loss_function", "logistic"]
    if data_set.n_outputs > 1:
        options += ["--oaa", str(data_set.n_outputs), "--probabilities"]
    with tempfile.TemporaryDirectory() as folder:
        rows, predictions = Path(folder, "rows.txt"), Path(folder, "predictions.txt")
        with rows.open("w", encoding="ascii") as file:
            file.writelines(vowpal_wabbit_lines(data_set))
        files = ["--data", str(rows), "--predictions", str(predictions)]
        Workspace(arg_list=["--quiet", *files, *options]).finish()
        lines = predictions.read_text(encoding="ascii").splitlines()
    if data_set.n_outputs > 1:
        # "1:0.25 2:0.75"
        probabilities = [
            [float(entry.partition(":")[2]) for entry in line.split()] for line in lines
        ]
        return loss_of_probabilities(data_set, np.array(probabilities)), None
    predictions = np.array(lines, dtype=float)
    if data_set.n_classes is None:
        return finite_or_infinite(np.abs(predictions - data_set.y).mean()), None
    signs = 2 * data_set.y - 1
    return finite_or_infinite(np.logaddexp(0, -signs * predictions).mean()), None


def vowpal_wabbit_lines(data_set):
    if data_set.n_classes is None:
        labels = data_set.y.tolist()
    elif data_set.n_classes == 2:
        labels = (2 * data_set.y - 1).tolist()
    else:
        labels = (data_set.y + 1).tolist()
    X = sparse.csr_matrix(data_set.X)
    for row, label in enumerate(labels):
        entries = slice(X.indptr[row], X.indptr[row + 1])
        features = zip(X.indices[entries], X.data[entries], strict=True)
        yield f"{label} | {' '.join(f'{i}:{x:.9g}' for i, x in features)}\n"


def loss_of_probabilities(data_set, probabilities):
    if not np.isfinite(probabilities).all():
        return np.inf
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    labels = range(data_set.n_classes)
    return float(log_loss(data_set.y, probabilities, labels=labels))


# River
# -----


def river(data_set):
    n_products = data_set.X.shape[0] * data_set.X.shape[1] * data_set.n_outputs
    if n_products > MAX_RIVER_PRODUCTS:
        raise InputError("it would take river too long.")
    from river.linear_model import LinearRegression, LogisticRegression
    from river.multiclass import OneVsRestClassifier
    from river.preprocessing import StandardScaler

    if data_set.n_classes is None:
        model = LinearRegression()
    elif data_set.n_classes == 2:
        model = LogisticRegression()
    else:
        model = OneVsRestClassifier(LogisticRegression())
    model = StandardScaler() | model
    X = data_set.X.toarray() if sparse.issparse(data_set.X) else data_set.X
    y = (data_set.y == 1 if data_set.n_classes == 2 else data_set.y).tolist()
    predictions = []
    for values, target in zip(X, y, strict=True):
        row = dict(enumerate(values.tolist()))
        if data_set.n_classes is None:
            predictions.append(model.predict_one(row))
        else:
            predictions.append(model.predict_proba_one(row))
        model.learn_one(row, target)
    if data_set.n_classes is None:
        predictions = np.array(predictions)
        if not np.isfinite(predictions).all():
            return np.inf, None
        return float(mean_absolute_error(data_set.y, predictions)), None
    # River adds a class at its first row.
    classes = [False, True] if data_set.n_classes == 2 else range(data_set.n_classes)
    unknown = 1 / data_set.n_classes
    probabilities = [[p.get(c, unknown) for c in classes] for p in predictions]
    return loss_of_probabilities(data_set, np.array(probabilities)), None


# Table
# -----


@dataclass
class Entry:
    """The loss of a method on a data set."""

    method: str
    loss: float
    rate: float | None


def run_all(data_set, methods, parallel):
    """Return entries of the methods that suit the data, best first."""
    outcomes = parallel(
        delayed(run)(method, data_set)
        for method in show_progress(methods, data_set.name)
    )
    for outcome in outcomes:
        if isinstance(outcome, str):
            print(outcome)
    entries = [outcome for outcome in outcomes if isinstance(outcome, Entry)]
    return sorted(entries, key=lambda entry: entry.loss)


def run(method, data_set):
    """Return an entry of the table, or a sentence why there is none."""
    try:
        with config_context(engine=engine_for(len(data_set.y))):
            return Entry(method.name, *method.run(data_set))
    except InputError as error:
        return f"{method.name} is left out on {data_set.name}: {error}"


def in_short(number, n_digits):
    """Format a number with some digits, or a huge number by its magnitude."""
    if 10**n_digits <= number < np.inf:
        return f"{number:.0e}"
    return f"{number:.{n_digits}g}"


def table(data_set, entries):
    """Return a table of methods in two columns."""
    best = entries[0].loss
    columns = "{:<26}{:>9}{:>7}{:>7}".format
    header = columns("method", "loss", "/ best", "rate")
    cells = [
        columns(
            entry.method,
            in_short(entry.loss, 5),
            in_short(entry.loss / best, 3),
            "" if entry.rate is None else f"{entry.rate:g}",
        )
        for entry in entries
    ]
    half = -(-len(cells) // 2)
    lines = [f"{header}  {header}", f"{'-' * len(header)}  {'-' * len(header)}"]
    for left, right in zip_longest(cells[:half], cells[half:], fillvalue=""):
        lines.append(f"{left}  {right}".rstrip())
    return "\n".join([data_set.title, "", *lines, ""])


def summary(results):
    """Compare each method with SGD*.

    Parameters
    ----------
    results : dict of {str: list of Entry}
        By name of data set.
    """
    ratios = {}
    for name, entries in results.items():
        (reference,) = (entry.loss for entry in entries if entry.method == "SGD*")
        for entry in entries:
            ratios.setdefault(entry.method, {})[name] = entry.loss / reference
    header = f"{'method':<26}{'sets':>5}{'median':>8}{'below':>7}{'worst':>9}   on"
    lines = [
        "Loss in multiples of that of SGD*: in the median, on how many data sets it is "
        "below,",
        "and the largest.",
        "",
        header,
        "-" * max(len(header), 75),
    ]
    for method, by_name in sorted(ratios.items(), key=lambda m: median(m[1].values())):
        worst = max(by_name, key=by_name.get)
        below = sum(ratio < 1 for ratio in by_name.values())
        lines.append(
            f"{method:<26}{len(by_name):>5}{median(by_name.values()):>8.3f}{below:>7}"
            f"{in_short(by_name[worst], 4):>9}   {worst}"
        )
    return "\n".join(lines)


# Guard
# -----

TOLERANCE = 0.005


def write_csv(path, results):
    rows = [
        [name, entry.method, entry.loss, entry.rate]
        for name, entries in results.items()
        for entry in entries
    ]
    guard.write(path, ["data set", "method", "loss", "rate"], rows)


def read_losses(path):
    """Read losses by data set and method from a file of `write_csv`."""
    return guard.read(path, ["data set", "method"], "loss")


def compare(results, stored, path):
    """Print what has become worse; return the exit status, then 1."""
    losses = {
        (name, entry.method): entry.loss
        for name, entries in results.items()
        for entry in entries
    }
    worse = [
        f"{method} on {name}: {in_short(loss, 5)} instead of "
        f"{in_short(stored[name, method], 5)}"
        for (name, method), loss in losses.items()
        if guard.is_worse(loss, stored.get((name, method)), TOLERANCE)
    ]
    n_compared = len(losses.keys() & stored.keys())
    return guard.report(n_compared, f"losses with {path}", worse, TOLERANCE)


# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description="One-pass loss of every learner of the package, and of others."
    )
    add_data_options(parser)
    guard.add_options(parser, "losses", "; implies --untuned")
    parser.add_argument(
        "--untuned", action="store_true", help="run only what needs no tuning"
    )
    return parser.parse_args(argv)


def add_data_options(parser):
    """Add options for the data sets and the number of processes."""
    add_folder_options(parser)
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="data sets whose name contains this"
    )
    parser.add_argument(
        "--in-order",
        nargs="+",
        default=[],
        metavar="NAME",
        help="data sets whose rows are a stream, and are not to be shuffled",
    )
    parser.add_argument(
        "--classes",
        nargs="+",
        default=[],
        metavar="NAME",
        help="data sets whose numbers are classes, however many",
    )
    parser.add_argument(
        "--max-rows", type=positive, metavar="N", help="rows to learn (default: all)"
    )
    parser.add_argument(
        "--n-jobs",
        type=processes,
        default=-1,
        metavar="N",
        help="processes to use (default: one for each core)",
    )


def readers(folder, target):
    if folder is not None:
        return readers_of_folder(folder, target)
    return {name: lambda X=X, y=y: (X, y) for name, X, y in bundled_data_sets(None)}


def chosen_readers(arguments):
    """Return functions that read X and y of the selected data sets, by name."""
    available = readers(arguments.data_dir, arguments.target)
    chosen = {name: read for name, read in available.items() if arguments.only in name}
    if not chosen:
        raise InputError(f"No data set has {arguments.only!r} in its name.")
    for name in {*arguments.classes} & {*chosen}:
        chosen[name] = partial(read_as_classes, chosen[name])
    return chosen


def read_as_classes(read):
    """Read rows and targets by a function; return targets as text."""
    X, y = read()
    return X, y.astype(str)


def read_data_sets(readers, max_rows, in_order=()):
    """Yield the data sets; skip those that cannot be used."""
    is_left = False
    for name, read in readers.items():
        try:
            data_set = make_data_set(name, *read(), max_rows, name in in_order)
        except InputError as error:
            print(f"Skipped {name}: {error}")
            continue
        is_left = True
        yield data_set
    if not is_left:
        raise InputError("No data set is left.")


def of_two_classes(data_sets):
    """Return names, dense rows and labels of data sets; skip those of other kinds."""
    found = []
    for data in data_sets:
        if data.n_classes == 2:
            X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
            found.append((data.name, X, data.y))
        else:
            print(f"Skipped {data.name}: it does not have two classes.")
    if not found:
        raise InputError("No data set is left.")
    return found


@gives_status
def main(argv=None):
    arguments = parse(argv)
    results = {}
    chosen = chosen_readers(arguments)
    guard.make_folder(arguments.output)
    stored = read_losses(arguments.baseline)
    guards = arguments.untuned or arguments.baseline is not None
    found = untuned_methods() if guards else methods()
    with Parallel(n_jobs=arguments.n_jobs) as parallel:
        for data_set in read_data_sets(chosen, arguments.max_rows, arguments.in_order):
            entries = run_all(data_set, found, parallel)
            results[data_set.name] = entries
            print(table(data_set, entries), flush=True)
    if arguments.output:
        write_csv(arguments.output, results)
    if arguments.baseline:
        return compare(results, stored, arguments.baseline)
    if not guards:
        print(summary(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
