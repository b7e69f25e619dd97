"""
DFEG beside gradient descent with a kernel
==========================================

Repeats the experiments of F. Orabona, "Dimension-free exponentiated gradient" (NIPS
2013), with the absolute error. On targets that alternate between -1 and 1 nothing can
be learned, and the figure shows the regret. On real data, with a Gaussian kernel, it
shows the total loss of one pass against the learning rate eta of Kernel GD, whose
weights are eta / (2 sqrt(t)) times minus the sum of the gradients.

The paper used the data sets cadata and cpusmall. It does not state their units,
although the results depend on them: neither algorithm is scale-free. Here features are
scaled to [-1, 1], as in the scaled variants that LIBSVM offers, and targets are divided
by their largest absolute value. With raw features most rows would be so far apart,
relative to the kernel's width, that no row would help to predict another. Rows come in
a fixed random order.

The data sets are California housing and the activity of a computer. They are read from
a folder of files in CSV format, cal_housing.csv and cpusmall.csv, compressed or not, or
from other files that you name::

    python examples/benchmarks/dfeg.py --data-dir FOLDER
    python examples/benchmarks/dfeg.py --data-dir FOLDER --only NAME

Without a folder, California housing is downloaded if possible, with features that are
averages per household, and diabetes comes with scikit-learn.
"""

import argparse
import csv
import socket
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import numpy as np
from implicit_updates import data_sets_in, read_diabetes, scaled
from interface import (
    InputError,
    add_folder_options,
    add_output_dir,
    choose,
    gives_status,
    panels,
    save_figure,
    show_progress,
)
from matplotlib.ticker import LogLocator, NullLocator
from scipy import sparse
from sklearn.datasets import fetch_california_housing
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import maxabs_scale, minmax_scale
from sklearn.utils import gen_batches

from sklearn_scinol import DFEGRegressor, config_context
from sklearn_scinol.baselines import BaselineRegressor

# Powers of two, so that division is exact.
RATES = 2.0 ** np.arange(-10, 16)

# Names of the paper's data sets, as files.
PAPER = ["cal_housing", "cpusmall"]

DOWNLOAD_TIMEOUT = 10  # seconds without a byte

# %%
# Nothing to learn
# ----------------
#
# All rows are equal, and the targets alternate. After an even number of rows the
# best weight is 0, with a loss of 1 in each row.


def alternating_regrets(n_rows=10_000):
    """Return the regret after 2, 4, ... rows, by algorithm."""
    X = np.ones((n_rows, 1))
    rows = np.arange(1, n_rows + 1)
    y = np.where(rows % 2 == 0, 1.0, -1.0)
    models = {"DFEG": DFEGRegressor(fit_intercept=False)}
    for rate in (0.1, 1.0, 10.0):
        models[f"Kernel GD, rate {rate:g}"] = BaselineRegressor(
            "kernel_gd", learning_rate=rate, center=False, fit_intercept=False
        )
    regrets = {}
    for name, model in models.items():
        losses = np.abs(model.partial_fit_predict(X, y) - y)
        regrets[name] = (np.cumsum(losses) - rows)[1::2]
    return regrets


# %%
# Real data
# ---------


def bundled_data_sets():
    """Return functions that read the data sets, by name."""
    return {"California housing": read_california, "diabetes": read_diabetes}


def read_california():
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(DOWNLOAD_TIMEOUT)
    try:
        with warnings.catch_warnings(action="ignore"):  # that it tries twice
            X, y = fetch_california_housing(return_X_y=True, n_retries=1, delay=0.1)
    except OSError as error:
        reason = str(getattr(error, "reason", error)).rstrip(".")
        raise InputError(f"it cannot be downloaded: {reason}.") from None
    finally:
        socket.setdefaulttimeout(before)
    return scaled(X, y, regression=True)


def prepare(data_set):
    """Scale and shuffle rows and targets."""
    if data_set.n_classes is not None:
        raise InputError("its target holds classes, and amounts are needed.")
    X, y = data_set.X, maxabs_scale(data_set.y)
    if not sparse.issparse(X):  # divided by the largest absolute values already
        X = minmax_scale(X, feature_range=(-1, 1))
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


# %%
# The paper has a Gaussian kernel "with variance equal to the average distance between
# training input vectors". We take this literally: the kernel is
# exp(-|x - x'|^2 / (2 sigma^2)), and sigma^2 the mean Euclidean
# distance of two rows. With sigma as the mean distance, or with squared
# distances, little would change, since the mean is about 1 with these features.


def gaussian_kernel(X, n_rows=2000):
    """Return parameters of a Gaussian kernel, from pairs of sampled rows."""
    n_rows = min(n_rows, X.shape[0])
    total = pairwise_distances(X[:n_rows]).sum()  # the order is random
    if total == 0:
        raise InputError("all of its rows are the same.")
    variance = total / (n_rows * (n_rows - 1))
    return {"kernel": "rbf", "gamma": 1 / (2 * variance), "fit_intercept": False}


# %%
# Kernel GD learns only from the signs of its errors, and its rate multiplies its
# predictions. So its prediction with rate eta on targets y is
# eta times that with rate 1 on y / eta: each rate becomes an
# output of one model, and kernels are computed once for all rates.


@dataclass
class Comparison:
    """Total losses of one pass: one of DFEG, and one of Kernel GD for each rate."""

    name: str
    title: str
    loss_of_zero: float
    dfeg: float
    kernel_gd: np.ndarray

    @property
    def n_better(self):
        """Number of rates for which Kernel GD's loss is below DFEG's."""
        return np.count_nonzero(self.kernel_gd < self.dfeg)


def compare(name, data_set):
    X, y = prepare(data_set)
    kernel = gaussian_kernel(X)
    dfeg = predict_and_learn(DFEGRegressor(**kernel), X, y, f"{name}, DFEG")
    kernel_gd = RATES * predict_and_learn(
        BaselineRegressor("kernel_gd", learning_rate=1.0, **kernel),
        X,
        y[:, np.newaxis] / RATES,
        f"{name}, Kernel GD",
    )
    n_rows, n_features = X.shape
    return Comparison(
        name,
        f"{name}: {n_rows:,} rows, {n_features} features",
        np.abs(y).sum(),
        np.abs(dfeg - y).sum(),
        np.abs(kernel_gd - y[:, np.newaxis]).sum(axis=0),
    )


def predict_and_learn(model, X, y, description):
    """Return predictions of all rows, each made before the row was learned."""
    batches = list(gen_batches(len(y), 500))
    return np.concatenate(
        [
            model.partial_fit_predict(X[rows], y[rows])
            for rows in show_progress(batches, description)
        ]
    )


def compare_all(readers):
    """Compare on all data sets; skip those that cannot be used."""
    comparisons = []
    for name, read in readers.items():
        try:
            comparisons.append(compare(name, read()))
        except InputError as error:
            print(f"Skipped {name}: {error}")
    return comparisons


# %%
# Tables
# ------


def table_of_regrets(regrets):
    columns = "{:<22}{:>12}{:>12}".format
    n_rows = 2 * len(regrets["DFEG"])
    lines = [
        "Regret on targets that alternate between -1 and 1:",
        "",
        columns("algorithm", "100 rows", f"{n_rows:,} rows"),
        "-" * 46,
    ]
    for name, values in regrets.items():
        lines.append(columns(name, f"{values[49]:.3f}", f"{values[-1]:.3f}"))
    return "\n".join([*lines, ""])


def table_of_losses(comparisons):
    width = max(13, *(len(comparison.name) for comparison in comparisons)) + 2
    columns = f"{{:<{width}}}{{:>8}}{{:>9}}{{:>9}}{{:>6}}{{:>12}}{{:>7}}{{:>8}}".format
    header = columns(
        "data set", "zero", "DFEG", "best", "rate", "worst", "rate", "better"
    )
    lines = [
        "Total loss of one pass, in multiples of the largest target: of predicting 0,",
        f"of DFEG, and of Kernel GD with the best and the worst of {len(RATES)} "
        "rates. Better:",
        "how many of these do better than DFEG.",
        "",
        header,
        "-" * len(header),
    ]
    for comparison in comparisons:
        losses = comparison.kernel_gd
        best, worst = losses.argmin(), losses.argmax()
        lines.append(
            columns(
                comparison.name,
                f"{comparison.loss_of_zero:.1f}",
                f"{comparison.dfeg:.1f}",
                f"{losses[best]:.1f}",
                f"{RATES[best]:g}",
                f"{losses[worst]:,.0f}",
                f"{RATES[worst]:g}",
                comparison.n_better,
            )
        )
    return "\n".join([*lines, ""])


def conclusions(regrets, comparisons):
    """Return the conclusions from the numbers, in sentences."""
    n_rows = 2 * len(regrets["DFEG"])
    growth = ", ".join(
        f"{values[-1] - values[49]:.3g} with {name}" for name, values in regrets.items()
    )
    sentences = [
        f"From 100 to {n_rows:,} rows that alternate, the regret grew by {growth}."
    ]
    for comparison in comparisons:
        losses = comparison.kernel_gd
        sentences.append(
            f"{comparison.name}: the loss of DFEG is "
            f"{comparison.dfeg / losses.min():.2f} times that of Kernel GD with the "
            f"best of {len(RATES)} rates, known in hindsight only. "
            f"{comparison.n_better} of them do better than DFEG; the worst has "
            f"{losses.max() / comparison.dfeg:,.0f} times its loss."
        )
    return sentences


def write_csv(path, regrets, comparisons):
    """Write the curves of all panels, against the number of rows or the rate."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["panel", "data set", "algorithm", "abscissa", "value"])
        for name, values in regrets.items():
            for i, regret in enumerate(values, start=1):
                writer.writerow(["regret", "", name, 2 * i, regret])
        for comparison in comparisons:
            name = comparison.name
            writer.writerow(["total loss", name, "DFEG", "", comparison.dfeg])
            for rate, loss in zip(RATES, comparison.kernel_gd, strict=True):
                writer.writerow(["total loss", name, "Kernel GD", rate, loss])


# %%
# Figure
# ------

COLOURS = {"DFEG": "#00705a", "Kernel GD": "#d95f02"}
STYLES = [":", "-", "--"]  # of Kernel GD's regrets


def draw(regrets, comparisons):
    figure, (first, *others) = panels(1 + len(comparisons), 3, 4, 3.2)
    draw_regrets(first, regrets)
    for ax, comparison in zip(others, comparisons, strict=True):
        draw_losses(ax, comparison)
    for ax in (first, *others):
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", alpha=0.3)
        ax.legend(frameon=False)
    return figure


def draw_regrets(ax, regrets):
    others = [name for name in regrets if name != "DFEG"]
    rows = 2 * np.arange(1, len(regrets["DFEG"]) + 1)
    ax.plot(rows, regrets["DFEG"], color=COLOURS["DFEG"], linewidth=2.5, label="DFEG")
    for name, style in zip(others, STYLES, strict=True):
        ax.plot(rows, regrets[name], style, color=COLOURS["Kernel GD"], label=name)
    ax.set(
        title="Targets that alternate",
        xlabel="number of rows",
        ylabel="regret",
        xscale="log",
        yscale="log",
        ylim=(2e-3, None),  # room for the legend
    )
    ax.xaxis.set_major_formatter("{x:,g}")
    ax.yaxis.set_major_formatter("{x:,g}")


def draw_losses(ax, comparison):
    ax.axhline(
        comparison.dfeg,
        color=COLOURS["DFEG"],
        linewidth=2.5,
        label="DFEG, no learning rate",
    )
    ax.plot(RATES, comparison.kernel_gd, color=COLOURS["Kernel GD"], label="Kernel GD")
    ax.axhline(comparison.loss_of_zero, color="grey", linestyle=":", label="always 0")
    lowest = min(comparison.dfeg, comparison.kernel_gd.min())
    ax.set(
        title=comparison.title,
        xlabel=r"learning rate $\eta$ of Kernel GD",
        ylabel="total loss",
        yscale="log",
        # Beyond the panel, curves go on rising in proportion to the rate.
        ylim=(0.7 * lowest, 10 * comparison.loss_of_zero),
    )
    ax.set_xscale("log", base=2)
    ax.set_xticks(RATES[::5])
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
    ax.yaxis.set_major_formatter("{x:,g}")
    ax.yaxis.set_minor_locator(NullLocator())


# %%
# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description=(
            "Repeat the experiments of the paper on dimension-free exponentiated "
            "gradient, on data of scikit-learn or on those in a folder."
        ),
        epilog=(
            "A data set of a folder is a file in CSV or LIBSVM format, .csv or .svm, "
            "and may be compressed; its target must be amounts. Text in features is "
            "one-hot encoded; for a missing number stands the mean of its column. What "
            "cannot be used is skipped."
        ),
    )
    add_folder_options(parser)
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="a data set to use, by its name without the suffix; may be repeated "
        f"(default: {' and '.join(PAPER)} of a folder, otherwise all)",
    )
    add_output_dir(parser, "figure")
    parser.add_argument(
        "--csv", type=Path, metavar="FILE", help="where to write the numbers in it"
    )
    return parser.parse_args(argv)


def find(arguments):
    """Return functions that read the selected data sets, by name."""
    if arguments.data_dir is None:
        readers, names = bundled_data_sets(), arguments.only
    else:
        readers = data_sets_in(arguments.data_dir, arguments.target)
        names = arguments.only or PAPER
    return choose(readers, names) if names else readers


@gives_status
def main(argv=None):
    arguments = parse(argv)
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    if arguments.csv:
        arguments.csv.parent.mkdir(parents=True, exist_ok=True)
    # Most of the time goes into kernels, and compiling would take longer.
    with config_context(engine="numpy"):
        comparisons = compare_all(find(arguments))
        if not comparisons:
            raise InputError("No data set is left; --only chooses others.")
        regrets = alternating_regrets()
    if arguments.csv:
        write_csv(arguments.csv, regrets, comparisons)

    print(table_of_regrets(regrets))
    print(table_of_losses(comparisons))
    for sentence in conclusions(regrets, comparisons):
        print(fill(sentence, width=83))

    save_figure(draw(regrets, comparisons), arguments.output_dir / "dfeg.png")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
