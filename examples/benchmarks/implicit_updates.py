"""
Implicit updates beside gradient descent
========================================

Repeats the two experiments of N. Campolongo and F. Orabona, "Temporal variability in
implicit online learning" (NeurIPS 2020), with these algorithms, each with a step size
parameter beta:

- OGD: online gradient descent with steps beta / sqrt(t);
- AdaOGD: online gradient descent with steps beta / sqrt(sum of squared gradients);
- Implicit: implicit updates with the penalty sqrt(t) / (2 beta) |w - w_t|^2;
- AdaImplicit: implicit updates with the adaptive penalty.

The first figure shows the cumulative loss on a target that drifts slowly. The second
shows the mean loss of one pass over real data against beta. The width of the valley and
the losses beside it matter, since nobody can try 41 values on a stream. The data come
with scikit-learn, or from a folder of files in CSV or LIBSVM format::

    python examples/benchmarks/implicit_updates.py --data-dir FOLDER
"""

import argparse
import csv
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from data_folder import holds_classes, open_csv, read_svm, readers_in
from interface import (
    InputError,
    add_folder_options,
    add_output_dir,
    choose,
    gives_status,
    legend_below,
    panels,
    positive,
    save_figure,
    show_progress,
)
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.preprocessing import maxabs_scale

from sklearn_scinol import (
    AdaImplicitClassifier,
    AdaImplicitRegressor,
    config_context,
)
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor

BETAS = 2.0 ** np.arange(-20, 21)

# %%
# Algorithms
# ----------


@dataclass
class Algorithm:
    """An algorithm and its style in figures; `key` is its name in the estimators."""

    name: str
    key: str
    colour: str
    style: str = "-"

    def estimator(self, beta, regression, **options):
        options["center"] = False
        if self.key in ("ogd", "adaogd"):
            baseline = BaselineRegressor if regression else BaselineClassifier
            return baseline(self.key, learning_rate=beta, **options)
        implicit = AdaImplicitRegressor if regression else AdaImplicitClassifier
        return implicit(algorithm=self.key, beta=beta, **options)


ALGORITHMS = [
    Algorithm("OGD", "ogd", "#d95f02"),
    Algorithm("AdaOGD", "adaogd", "#5e60a8"),
    Algorithm("Implicit", "iomd", "#6fc7a7", "--"),
    Algorithm("AdaImplicit", "adaimplicit", "#00705a"),
]


# %%
# A target that drifts slowly
# ---------------------------
#
# The loss of row t is (w - y_t)^2 / 4, where w is the weight of
# the only feature. It equals "squared_error", (w x_t - z_t)^2 / 2, for a
# feature x_t that is always 1 / sqrt(2) and targets
# z_t = y_t x_t.


def cumulative_losses(n_rows=2000):
    """Return the cumulative loss at each row, by algorithm."""
    X = np.full((n_rows, 1), np.sqrt(0.5))
    y = 100 * np.sin(np.pi * np.arange(1, n_rows + 1) / (10 * n_rows))
    losses = {}
    for algorithm in ALGORITHMS:
        model = algorithm.estimator(
            1.0, True, loss="squared_error", radius=75, fit_intercept=False
        )
        # Compiling takes longer than learning so few rows.
        with config_context(engine="numpy"):
            predictions = model.partial_fit_predict(X, y * X[:, 0])
        losses[algorithm.name] = np.cumsum((predictions - y * X[:, 0]) ** 2 / 2)
    return losses


# %%
# Real data
# ---------
#
# Each feature is divided by its largest absolute value, as in the paper. This needs the
# whole data set, so it cannot be done on a stream.


@dataclass
class DataSet:
    """Rows in memory, dense or CSR; targets are numbers or class indices."""

    X: np.ndarray | sparse.csr_matrix
    y: np.ndarray
    n_classes: int | None  # None in regression

    @property
    def loss_of_zero(self):
        """Return the mean loss of always predicting 0, summed over outputs."""
        if self.n_classes is None:
            return np.abs(self.y).mean()
        return 1 if self.n_classes == 2 else self.n_classes


def scaled(X, y, regression):
    if regression:
        return DataSet(maxabs_scale(X), y, None)
    classes, y = np.unique(y, return_inverse=True)
    return DataSet(maxabs_scale(X), y, len(classes))


def bundled_data_sets():
    """Return functions that read the data sets, by name."""
    return {
        "breast cancer": partial(read_bundled, load_breast_cancer),
        "iris": partial(read_bundled, load_iris),
        "wine": partial(read_bundled, load_wine),
        "digits": partial(read_bundled, load_digits),
        "odd digits": read_odd_digits,
        "diabetes": read_diabetes,
    }


def read_bundled(load):
    return scaled(*load(return_X_y=True), regression=False)


def read_odd_digits():
    X, y = load_digits(return_X_y=True)
    return scaled(X, y % 2, regression=False)


def read_diabetes():
    return scaled(*load_diabetes(return_X_y=True, scaled=False), regression=True)


def data_sets_in(folder, target):
    """Return functions that read the files of a folder, by name."""
    formats = {"csv": partial(read_csv, target=target), "svm": read_scaled_svm}
    return readers_in(folder, formats)


def read_csv(path, target):
    stream = open_csv(path, target, chunk_size=sys.maxsize)  # one chunk
    ((X, y),) = stream()
    return scaled(X, y, regression=stream.classes is None)


def read_scaled_svm(path):
    X, y = read_svm(path)
    return scaled(X, y, regression=not holds_classes(path, y))


# %%
# The sweep
# ---------
#
# Classification has the hinge loss, one versus rest with more than two classes;
# regression has the absolute error. Weights are not limited to a ball. The
# losses are of predictions made before each row was learned.


@dataclass
class Sweep:
    """Mean losses on a data set by algorithm, one for each value of beta."""

    name: str
    title: str
    loss_of_zero: float
    losses: dict

    def best(self, algorithm):
        return self.losses[algorithm].min()

    def width(self, algorithm):
        """Return the number of values of beta within 10 % of the best loss."""
        return np.count_nonzero(self.losses[algorithm] <= 1.1 * self.best(algorithm))

    def worst(self, algorithm):
        """Return the largest loss, divided by that of always predicting 0."""
        return self.losses[algorithm].max() / self.loss_of_zero

    @property
    def is_widest(self):
        """Whether AdaImplicit has a wider range than both kinds of gradient descent."""
        return self.width("AdaImplicit") > max(self.width("OGD"), self.width("AdaOGD"))


def mean_losses(algorithm, data_set, seed):
    """Return the mean loss of one pass in random order, for each value of beta."""
    order = np.random.default_rng(seed).permutation(len(data_set.y))
    X, y = data_set.X[order], data_set.y[order]
    regression = data_set.n_classes is None
    loss = "absolute_error" if regression else "hinge"
    first_call = {} if regression else {"classes": np.arange(data_set.n_classes)}
    losses = []
    for beta in BETAS:
        model = algorithm.estimator(beta, regression, loss=loss)
        model.partial_fit(X, y, **first_call)
        losses.append(model.cumulative_loss_ / len(y))
    return np.array(losses)


def sweep_betas(name, data_set, n_shuffles, parallel):
    """Average losses over random orders, with equal orders for all algorithms."""
    losses = {}
    for algorithm in show_progress(ALGORITHMS, name):
        runs = parallel(
            delayed(mean_losses)(algorithm, data_set, seed)
            for seed in range(n_shuffles)
        )
        losses[algorithm.name] = np.mean(runs, axis=0)
    n_rows, n_features = data_set.X.shape
    title = f"{name}: {n_rows:,} rows, {n_features} features"
    return Sweep(name, title, data_set.loss_of_zero, losses)


def sweep_all(readers, n_shuffles, n_jobs):
    """Sweep over all data sets; skip those that cannot be read."""
    sweeps = []
    with Parallel(n_jobs=n_jobs) as parallel:
        for name, read in readers.items():
            try:
                data_set = read()
            except InputError as error:
                print(f"Skipped {name}: {error}")
            else:
                sweeps.append(sweep_betas(name, data_set, n_shuffles, parallel))
    return sweeps


# %%
# Tables
# ------


def table_of_drift(losses):
    lines = ["Cumulative loss on a target that drifts slowly, beta = 1:", ""]
    lines += [f"{name:<12}{values[-1]:>9.3f}" for name, values in losses.items()]
    return "\n".join([*lines, ""])


def table_of_sweeps(sweeps):
    names = [algorithm.name for algorithm in ALGORITHMS]
    width = max(13, *(len(sweep.name) for sweep in sweeps)) + 2
    columns = f"{{:<{width}}}{'{:>14}' * len(names)}{{:>9}}".format
    header = columns("data set", *names, "widest")
    lines = [
        f"Smallest mean loss, and for how many of the {len(BETAS)} values of beta the "
        "loss is",
        "within 10 % of it. Widest: for more than with OGD and with AdaOGD.",
        "",
        header,
        "-" * len(header),
    ]
    for sweep in sweeps:
        cells = [f"{sweep.best(name):.4g} {sweep.width(name):>3}" for name in names]
        is_widest = "yes" if sweep.is_widest else "no"
        lines.append(columns(sweep.name, *cells, is_widest))
    return "\n".join([*lines, ""])


def conclusions(sweeps):
    """Return the conclusions from the numbers, in sentences."""
    others = [sweep.name for sweep in sweeps if not sweep.is_widest]
    count = f"{len(sweeps) - len(others)} of {len(sweeps)} data sets"
    exceptions = f", not on {', '.join(others)}" if others else ""
    worst = {
        algorithm.name: max(sweep.worst(algorithm.name) for sweep in sweeps)
        for algorithm in ALGORITHMS
    }
    in_words = ", ".join(f"{ratio:.2g} with {name}" for name, ratio in worst.items())
    return [
        "AdaImplicit is within 10 % of its best loss for more values of beta than OGD "
        f"and AdaOGD are of theirs on {count}{exceptions}.",
        "The largest loss of all, in multiples of that of always predicting 0: "
        f"{in_words}.",
    ]


def write_csv(path, drift, sweeps):
    """Write the curves of the figures, against the row or beta."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["figure", "data set", "algorithm", "abscissa", "loss"])
        for name, losses in drift.items():
            for row, loss in enumerate(losses, start=1):
                writer.writerow(["synthetic", "", name, row, loss])
        for sweep in sweeps:
            for name, losses in sweep.losses.items():
                for beta, loss in zip(BETAS, losses, strict=True):
                    writer.writerow(["beta", sweep.name, name, beta, loss])


# %%
# Figures
# -------


def draw_drift(losses):
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for algorithm in ALGORITHMS:
        values = losses[algorithm.name]
        label = f"{algorithm.name}: {values[-1]:.3g} in the end"
        draw_curve(ax, np.arange(1, len(values) + 1), values, algorithm, label)
    ax.set(
        title="A target that drifts slowly",
        xlabel="row",
        ylabel="cumulative loss",
        yscale="log",
    )
    ax.legend(frameon=False)
    return figure


def draw_sweeps(sweeps):
    """Draw loss against beta, in a panel for each data set."""
    figure, axes = panels(len(sweeps), 3, 4, 3)
    for ax, sweep in zip(axes, sweeps, strict=True):
        draw_panel(ax, sweep)
    figure.suptitle(
        "One pass over real data; panels end at 1.5 times the loss of predicting 0"
    )
    legend_below(
        figure,
        *axes[0].get_legend_handles_labels(),
        ncols=4 if len(sweeps) > 1 else 2,
    )
    return figure


def draw_panel(ax, sweep):
    # Beyond the panel, curves go on rising in proportion to beta.
    for algorithm in ALGORITHMS:
        draw_curve(ax, BETAS, sweep.losses[algorithm.name], algorithm, algorithm.name)
    ax.set(
        title=sweep.title,
        xlabel=r"$\beta$",
        ylabel="mean loss",
        ylim=(0, 1.5 * sweep.loss_of_zero),
    )
    ax.set_xscale("log", base=2)
    ax.set_xticks(BETAS[::10])
    ax.grid(axis="y", alpha=0.3)


def draw_curve(ax, x, losses, algorithm, label):
    ax.plot(x, losses, algorithm.style, color=algorithm.colour, label=label)
    ax.spines[["top", "right"]].set_visible(False)


# %%
# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description=(
            "Repeat the experiments of the paper on implicit updates, on data that "
            "come with scikit-learn or on those in a folder."
        ),
        epilog=(
            "A data set of a folder is a file in CSV or LIBSVM format, .csv or .svm, "
            "and may be compressed. Its target holds classes if it is text, or if it "
            "has at most 20 different numbers, all whole. Text in features is one-hot "
            "encoded; for a missing number stands the mean of its column. What cannot "
            "be read is skipped."
        ),
    )
    add_folder_options(parser)
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="a data set to use, by its name without the suffix; may be repeated",
    )
    parser.add_argument(
        "--shuffles",
        type=positive,
        default=10,
        metavar="N",
        help="random orders to average over (default: %(default)s)",
    )
    add_output_dir(parser, "figures")
    parser.add_argument(
        "--csv", type=Path, metavar="FILE", help="where to write the numbers in them"
    )
    parser.add_argument(
        "--jobs",
        "--n-jobs",
        type=int,
        default=-1,
        metavar="N",
        help="processes to use (default: one for each core)",
    )
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    if arguments.csv:
        arguments.csv.parent.mkdir(parents=True, exist_ok=True)
    if arguments.data_dir is None:
        readers = bundled_data_sets()
    else:
        readers = data_sets_in(arguments.data_dir, arguments.target)
    if arguments.only:
        readers = choose(readers, arguments.only)
    sweeps = sweep_all(readers, arguments.shuffles, arguments.jobs)
    if not sweeps:
        raise InputError("No data set is left.")
    drift = cumulative_losses()
    if arguments.csv:
        write_csv(arguments.csv, drift, sweeps)

    print(table_of_drift(drift))
    print(table_of_sweeps(sweeps))
    for sentence in conclusions(sweeps):
        print(fill(sentence, width=83))

    save_figure(draw_drift(drift), arguments.output_dir / "implicit_synthetic.png")
    save_figure(draw_sweeps(sweeps), arguments.output_dir / "implicit_beta.png")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
