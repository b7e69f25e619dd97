r"""
===============================
Features of very different size
===============================

This repeats the experiment of Figure 1 of M. Kempka, W. Kotłowski and M. K. Warmuth,
"Adaptive scale-invariant online algorithms for learning linear models" (ICML 2019).
There are 21 features, whose standard deviations are :math:`2^{-10}, 2^{-9}, \dots,
2^{10}`, and labels drawn from a logistic model in which all features matter alike. The
methods learn from 5,000 rows, and after every 50 rows their current weights are tested
on 100,000 other rows. The figure shows the mean over 10 training sets.

Methods that have a learning rate are run with nine rates: the best rate in hindsight is
drawn thick, the others thin. ScInOL has no rate. SGD, AdaGrad and Adam treat all
features alike, but a rate that suits one feature does not suit the others; NAG, SFMD
and ScInOL do not depend on the units of features. No method has an intercept. NAG
divides by the mean over features: only then is the authors' figure reproduced.

The authors published their series. A file of these series, with the column "t" and
others such as "NAG (0.1)", "Orabona (1.0)" and "ScInOL_2", is drawn next to ours, and
compared::

    python examples/benchmarks/scinol_figure1.py --authors FILE

Differences are given in standard errors of the difference of two means of 10 runs. The
standard deviation of a run is estimated from further training sets, since 10 are too
few, and the authors' deviation is assumed to be equal. Each finished training set is
stored, so that the experiment may be interrupted.
"""

import argparse
import csv
import sys
from itertools import pairwise
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt
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
from interface import InputError, gives_status, positive, save_figure
from joblib import Parallel
from sklearn.utils import gen_batches

RATES = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)

METHODS = [
    Method("SGD", "sgd", RATES),
    Method("AdaGrad", "adagrad", RATES),
    Method("Adam", "adam", RATES),
    Method("NAG", "nag", RATES, {"normalizer": "mean"}),
    Method("SFMD", "sfmd", RATES),
    Method("ScInOL1", "scinol1"),
    Method("ScInOL2", "scinol2"),
]

# The authors' other names of the methods.
AUTHORS_NAMES = {"SFMD": "Orabona", "ScInOL1": "ScInOL_1", "ScInOL2": "ScInOL_2"}

N_TRAIN, N_TEST = 5_000, 100_000
EVERY = 50
COMPARED = (500, 1000, 2500, 5000)  # where we compare with the authors

# %%
# Data
# ----
#
# Run :math:`r` has the seed :math:`r`, its own signs of the weights and its own test
# set.


def toy_data(run):
    """Generate training rows, and test rows."""
    rng = np.random.default_rng(run)
    sigma = 2.0 ** np.arange(-10, 11)
    coef = rng.choice([-1.0, 1.0], size=sigma.size) / sigma

    def rows(n):
        X = rng.standard_normal((n, coef.size)) * sigma
        y = rng.random(n) < 1.0 / (1.0 + np.exp(-X @ coef))
        return X, y.astype(int)

    return *rows(N_TRAIN), *rows(N_TEST)


# %%
# A run
# -----


def learning_curves(method, run, after):
    """Return test losses and error rates for each rate along the training rows."""
    X, y, X_test, y_test = toy_data(run)
    weights = []
    for rate in method.rates:
        model = method.estimator(rate, fit_intercept=False)
        for start, end in pairwise([0, *after]):
            model.partial_fit(X[start:end], y[start:end], classes=[0, 1])
            weights.append(model.coef_[0])
    losses, errors = test(np.array(weights), X_test, y_test)
    shape = len(method.rates), len(after)
    return {
        "loss": losses.reshape(shape).tolist(),
        "error": errors.reshape(shape).tolist(),
    }


def test(weights, X, y):
    """Return the mean loss and error rate of each row of weights."""
    signed = np.where(y == 1, 1.0, -1.0)[:, np.newaxis] * X
    losses = np.zeros(len(weights))
    errors = np.zeros(len(weights))
    for rows in gen_batches(len(y), 1000):  # which stay in the cache
        margins = signed[rows] @ weights.T
        errors += np.count_nonzero(margins <= 0, axis=0)
        # ln(1 + exp(-margin)), without overflow.
        losses -= np.minimum(margins, 0).sum(axis=0)
        np.abs(margins, out=margins)
        np.negative(margins, out=margins)
        np.exp(margins, out=margins)
        losses += np.log1p(margins, out=margins).sum(axis=0)
    return losses / len(y), errors / len(y)


def run_all(runs, after, folder, parallel, description):
    """Return losses and error rates by method, with axes (runs, rates, rows)."""
    cells = [
        Cell(
            {
                "experiment": "ScInOL, figure 1",
                "method": method.key,
                "parameters": method.parameters,
                "rates": method.rates,
                "run": run,
                "after": list(after),
                "rows": [N_TRAIN, N_TEST],
            },
            learning_curves,
            (method, run, after),
        )
        for run in runs
        for method in METHODS
    ]
    values = complete(cells, folder, parallel, description)
    return {
        method.name: {
            what: np.array([cell[what] for cell in values[i :: len(METHODS)]])
            for what in ("loss", "error")
        }
        for i, method in enumerate(METHODS)
    }


def mean(curves, what="loss"):
    """Return means over runs by method, with axes (rates, rows)."""
    return {name: values[what].mean(axis=0) for name, values in curves.items()}


# %%
# The authors' series
# -------------------


def read_authors(path, after):
    """Read the authors' losses and error rates, in the form of `mean`."""
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        at = {int(row["t"]): row for row in rows}
    except (KeyError, TypeError, ValueError, csv.Error):
        raise InputError(f"{path} is no CSV file with a column 't'.") from None

    def series(suffix):
        return {
            method.name: np.array(
                [
                    [float(at[t][column(method, rate) + suffix]) for t in after]
                    for rate in method.rates
                ]
            )
            for method in METHODS
        }

    try:
        return {"loss": series(""), "error": series(" 0/1")}
    except KeyError as error:
        raise InputError(f"{path} has no column or no row {error}.") from None
    except (TypeError, ValueError):
        raise InputError(f"{path} has something else than numbers.") from None


def column(method, rate):
    name = AUTHORS_NAMES.get(method.name, method.name)
    return name if rate is None else f"{name} ({rate})"


def standard_errors(ours, authors, further, n_runs, after):
    """Return differences in standard errors by method, with axes (rates, rows)."""
    at = [list(after).index(t) for t in COMPARED]
    distances = {}
    for name, values in further.items():
        of_difference = deviation(values["loss"]) * np.sqrt(2 / n_runs)
        difference = mean(ours)[name] - authors["loss"][name]
        distances[name] = difference[:, at] / of_difference
    return distances


# %%
# Tables
# ------


def best_rate(losses):
    """Return the index of the rate with the smallest final loss."""
    return losses[:, -1].argmin()


def table_of_losses(ours, authors, after):
    losses, errors = mean(ours), mean(ours, "error")
    at = [list(after).index(t) for t in COMPARED]
    header = f"{'method':<20}{''.join(f'{t:>9,}' for t in COMPARED)}{'error':>9}"
    lines = [
        "Test loss after so many rows, and error rate in the end, with the best rate:",
        "",
        header,
        "-" * len(header),
    ]

    def line(title, losses, errors):
        cells = "".join(f"{loss:>9.4f}" for loss in losses[at])
        return f"{title:<20}{cells}{errors[-1]:>9.4f}"

    for method in METHODS:
        name = method.name
        i = best_rate(losses[name])
        title = method.label(method.rates[i])
        lines.append(line(title, losses[name][i], errors[name][i]))
        if authors:
            lines.append(line("  the authors", *(authors[w][name][i] for w in authors)))
    return "\n".join([*lines, ""])


def table_of_differences(distances):
    header = f"{'method':<20}{''.join(f'{t:>9,}' for t in COMPARED)}"
    lines = [
        "Our test loss minus the authors' after so many rows, in standard errors; more",
        "than three are marked:",
        "",
        header,
        "-" * len(header),
    ]
    for method in METHODS:
        for rate, row in zip(method.rates, distances[method.name], strict=True):
            cells = "".join(f"{d:>8.1f}{'*' if abs(d) > 3 else ' '}" for d in row)
            lines.append(f"{method.label(rate):<20}{cells}".rstrip())
    return "\n".join([*lines, ""])


def count_of_differences(distances):
    """Count the differences within three standard errors, in a sentence."""
    flat = np.concatenate([rows.ravel() for rows in distances.values()])
    within = np.count_nonzero(np.abs(flat) <= 3)
    counts = ", ".join(
        f"{np.count_nonzero(np.abs(rows) <= 3)} of {rows.size} with {name}"
        for name, rows in distances.items()
    )
    return (
        f"{within} of {flat.size} differences from the authors' series are within "
        f"three standard errors: {counts}."
    )


def write_numbers(path, ours, authors, after):
    """Write the numbers of the figure, and the deviation of a run."""

    def rows():
        for method in METHODS:
            values = ours[method.name]
            means = {what: runs.mean(axis=0) for what, runs in values.items()}
            deviations = {what: deviation(runs) for what, runs in values.items()}
            for i, rate in enumerate(method.rates):
                for j, t in enumerate(after):
                    numbers = (
                        source[what][i, j]
                        for what in ("loss", "error")
                        for source in (means, deviations)
                    )
                    yield "ours", method.name, rate, t, *numbers
                    if authors:
                        loss, error = (authors[w][method.name][i, j] for w in authors)
                        yield "authors", method.name, rate, t, loss, "", error, ""

    columns = ["series", "method", "rate", "row"]
    columns += ["loss", "deviation of loss", "error", "deviation of error"]
    write_csv(path, columns, rows())


# %%
# Figure
# ------


def draw(ours, authors, after):
    """Draw all rates on a log scale, enlarged below, with the authors' on the right."""
    columns = {"Ours": mean(ours)}
    if authors:
        columns["The authors'"] = authors["loss"]
    best = {name: best_rate(losses) for name, losses in mean(ours).items()}
    figure, axes = plt.subplots(
        2,
        len(columns),
        figsize=(5.4 * len(columns) + 0.6, 8),
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for (title, losses), (whole, enlarged) in zip(columns.items(), axes.T, strict=True):
        for ax in (whole, enlarged):
            draw_curves(ax, losses, best, after)
        whole.set(title=title, yscale="log")
        enlarged.set(ylim=(0.25, 0.85), xlabel="number of rows")
        enlarged.xaxis.set_major_formatter("{x:,.0f}")
    axes[0, 0].set_ylabel("test loss, all rates")
    axes[1, 0].set_ylabel("test loss, enlarged")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4 if authors else 3,
        frameon=False,
    )
    return figure


def draw_curves(ax, losses, best, after):
    for method in METHODS:
        for i, rate in enumerate(method.rates):
            is_best = i == best[method.name]
            ax.plot(
                after,
                losses[method.name][i],
                color=method.colour,
                linewidth=2.2 if is_best else 0.7,
                alpha=1 if is_best else 0.45,
                label=method.label(rate) if is_best else None,
                zorder=3 if is_best else 2,
            )
    ax.axhline(np.log(2), color="black", linestyle=":", linewidth=1, label="always 0")
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.01)


# %%
# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Repeat the experiment of Figure 1 of the ScInOL paper."
    )
    parser.add_argument(
        "--authors", type=Path, metavar="FILE", help="the authors' series, as CSV"
    )
    parser.add_argument(
        "--runs",
        type=positive,
        default=10,
        metavar="N",
        help="training sets to average over (default: %(default)s)",
    )
    parser.add_argument(
        "--deviation-runs",
        type=positive,
        default=40,
        metavar="N",
        help="further training sets, at least 2, from which the deviation of a run is "
        "estimated to compare with the authors (default: %(default)s)",
    )
    add_options(parser)
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    after = tuple(range(EVERY, N_TRAIN + 1, EVERY))
    n_runs, distances = arguments.runs, None
    if arguments.deviation_runs < 2:
        raise InputError("A deviation needs two runs at least.")
    authors = arguments.authors and read_authors(arguments.authors, after)
    folder = folder_of_cells(arguments.output_dir)
    with Parallel(n_jobs=arguments.n_jobs, **ONE_BY_ONE) as parallel:
        ours = run_all(range(n_runs), after, folder, parallel, "runs")
        if authors:
            further = run_all(
                range(n_runs, n_runs + arguments.deviation_runs),
                COMPARED,
                folder,
                parallel,
                "runs for the deviation",
            )
            distances = standard_errors(ours, authors, further, n_runs, after)
    numbers = arguments.output_dir / "scinol_figure1.csv"
    write_numbers(numbers, ours, authors, after)

    print(table_of_losses(ours, authors, after))
    if distances:
        print(table_of_differences(distances))
        print(fill(count_of_differences(distances), width=83))
    path = arguments.output_dir / "scinol_figure1.png"
    figure = draw(ours, authors, after)
    save_figure(figure, path)
    plt.close(figure)
    print(f"Wrote {numbers}")


if __name__ == "__main__":
    sys.exit(main())
