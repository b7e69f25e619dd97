"""
Loss against the learning rate
==============================

Compares `ScInOLClassifier`, `HedgeClassifier` and the regressors, which have no
learning rate, with `SGDClassifier` and `SGDRegressor` over a grid of learning rates, on
data that come with scikit-learn, in raw units. All are scored by
`progressive_validation`: one pass over the rows in shuffled order, with each row
predicted before it is learned. The first figure shows the mean loss against the
learning rate; the second figure shows it after each feature was multiplied by a random
factor between 1/10,000 and 10,000.

To run it on data of your own, read in chunks::

    python examples/benchmarks/no_tuning.py --data FILE.csv --target COLUMN
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import compress
from operator import not_
from textwrap import fill

import numpy as np
import sklearn
from data_folder import open_csv
from interface import (
    add_file_options,
    add_output_dir,
    add_rates,
    add_separator,
    gives_status,
    legend_below,
    panels,
    parse_file_options,
    positive,
    save_figure,
    show_progress,
)
from joblib import Parallel, delayed
from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator, NullLocator
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
)
from sklearn_scinol.evaluation import progressive_validation

# Compiling takes longer than learning so few rows.
FEW_ROWS = 20_000


def engine_for(n_rows):
    """Return the engine that learns a number of rows sooner, compilation included."""
    return "numpy" if n_rows < FEW_ROWS else "auto"


# %%
# Data
# ----
#
# A data set can be read repeatedly, in blocks. Our estimators predict each row right
# before they learn it, however large the blocks are. SGD predicts a whole block and
# then learns it. To make this disadvantage negligible, the first blocks are one row
# each, and no later block has more than 5 % of the rows before it.


@dataclass
class DataSet:
    """A data set: `read` yields chunks (X, y); `classes` is None for regression."""

    name: str
    read: Callable
    n_rows: int
    n_features: int
    classes: list | None

    def blocks(self, units=1.0):
        """Yield (X, y), each feature multiplied by its unit."""
        n_before = 0
        for X, y in self.read():
            start = 0
            while start < len(y):
                size = max(1, n_before // 20)
                block = slice(start, start + size)
                yield X[block] * units, y[block]
                n_before += len(y[block])
                start += size


@dataclass
class Rows:
    """Rows in memory: one chunk."""

    X: np.ndarray
    y: np.ndarray

    def __call__(self):
        yield self.X, self.y


def bundled_data_sets():
    """Real data in raw units, in shuffled order."""
    data_sets = []
    for name, load, options in (
        ("breast cancer", load_breast_cancer, {}),
        ("digits", load_digits, {}),
        ("wine", load_wine, {}),
        ("diabetes", load_diabetes, {"scaled": False}),
    ):
        X, y = load(return_X_y=True, **options)
        order = np.random.default_rng(0).permutation(len(y))
        classes = None if load is load_diabetes else np.unique(y)
        data_sets.append(DataSet(name, Rows(X[order], y[order]), *X.shape, classes))
    return data_sets


def data_set_from_csv(arguments):
    """The user's own file, in the order of its rows."""
    stream = open_csv(
        arguments.data,
        arguments.target,
        separator=arguments.separator,
        chunk_size=arguments.chunk_size,
        task=arguments.task,
        classes=arguments.classes,
        show=lambda frames: show_progress(frames, "Looking through the file"),
    )
    kind = "regression" if stream.classes is None else f"{len(stream.classes)} classes"
    print(
        f"{stream.path}: {stream.n_rows:,} rows, {stream.n_features} features after "
        f"encoding; target {stream.target!r}, {kind}."
    )
    if stream.left_out:
        print(f"Left out, too many different texts: {', '.join(stream.left_out)}.")
    return DataSet(
        stream.path.name, stream, stream.n_rows, stream.n_features, stream.classes
    )


# %%
# Methods
# -------
#
# The loss is the logarithmic loss in classification and the absolute error in
# regression, for all methods. SGD's rate falls with the square root of the number of
# rows, as its theory asks for.


def untuned(name, classes):
    if name == "Hedge":
        return HedgeRegressor() if classes is None else HedgeClassifier()
    scinol = ScInOLRegressor if classes is None else ScInOLClassifier
    return scinol(algorithm=name.lower())


def sgd(rate, classes, standardise):
    options = {
        "penalty": None,
        "learning_rate": "invscaling",
        "power_t": 0.5,
        "eta0": rate,
        "shuffle": False,
    }
    if classes is None:
        model = SGDRegressor(loss="epsilon_insensitive", epsilon=0, **options)
    else:
        model = SGDClassifier(loss="log_loss", **options)
    return make_pipeline(StandardScaler(), model) if standardise else model


@dataclass
class Outcome:
    """Mean loss, error rate (NaN in regression), and time to learn."""

    loss: float
    error: float
    seconds: float


DIVERGED = Outcome(np.inf, np.nan, 0.0)


def evaluate(estimator, data_set, units=1.0):
    if data_set.classes is None:
        metrics = {"negative loss": "neg_mean_absolute_error"}
    else:
        metrics = {"negative loss": "neg_log_loss", "accuracy": "accuracy"}
    engine = engine_for(data_set.n_rows)
    try:
        # SGD may leave the range of floating-point numbers. Its blocks are small, and
        # scikit-learn would spend a fifth of the time on the names of its parameters.
        with (
            config_context(engine=engine),
            sklearn.config_context(skip_parameter_validation=True),
            np.errstate(over="ignore", invalid="ignore"),
        ):
            result = progressive_validation(
                estimator,
                data_set.blocks(units),
                metrics=metrics,
                classes=data_set.classes,
                progress=False,
            )
    except ValueError as error:
        # The data are finite numbers, SGD's weights or predictions no longer.
        if not any(word in str(error) for word in ("overflow", "infinity", "NaN")):
            raise
        return DIVERGED
    scores = result.scores
    return Outcome(
        -scores["negative loss"], 1 - scores.get("accuracy", np.nan), result.seconds
    )


@dataclass
class Method:
    """A learner, and the settings to try."""

    name: str
    make: Callable  # from a setting and the classes to an estimator
    settings: list
    colour: str
    marker: str


def methods(rates):
    return [
        *(
            Method(name, untuned, [name], colour, "")
            for name, colour in (
                ("Hedge", "k"),
                ("ScInOL2", "#00705a"),
                ("ScInOL1", "#6fc7a7"),
            )
        ),
        Method("SGD, raw", partial(sgd, standardise=False), rates, "#d95f02", "o"),
        Method(
            "SGD, standardised", partial(sgd, standardise=True), rates, "#5e60a8", "s"
        ),
    ]


def random_units(n_features):
    """Return random factors for the features: real numbers, and powers of two.

    Multiplying by a power of two is exact, so it shows whether the predictions of an
    algorithm depend on the units in any digit.
    """
    random = np.random.default_rng(0)
    return {
        "raw": np.ones(n_features),
        "random": 10.0 ** random.uniform(-4, 4, n_features),
        "powers of two": 2.0 ** random.integers(-13, 14, n_features),
    }


def compare(data_sets, rates, jobs, is_quick):
    """Return outcomes of all settings, by data set, method and choice of units.

    If `is_quick`, a table without mixtures comes first, and mixtures learn at last, in
    raw units only.
    """
    runs = [
        (data_set, method, choice, units, setting)
        for data_set in data_sets
        for choice, units in random_units(data_set.n_features).items()
        for method in methods(rates)
        if choice != "powers of two" or method.make is untuned
        if choice == "raw" or method.name != "Hedge" or not is_quick
        for setting in method.settings
    ]
    outcomes = defaultdict(list)
    if is_quick:
        first = [run[2] == "raw" and run[1].name != "Hedge" for run in runs]
        learn(compress(runs, first), outcomes, jobs)
        print(table(data_sets, outcomes, rates), flush=True)
        runs = compress(runs, map(not_, first))
    learn(runs, outcomes, jobs)
    return outcomes


def learn(runs, outcomes, jobs):
    """Evaluate runs, and add their outcomes."""
    runs = [*runs]
    found = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(evaluate)(
            method.make(setting, classes=data_set.classes), data_set, units
        )
        for data_set, method, _, units, setting in runs
    )
    progress = show_progress(zip(runs, found, strict=True), "Learning", len(runs))
    for (data_set, method, choice, *_), outcome in progress:
        outcomes[data_set.name, method.name, choice].append(outcome)


def best(outcomes):
    return min(outcomes, key=lambda outcome: outcome.loss)


# %%
# Table
# -----
#
# SGD has its best setting in hindsight, which nobody knows beforehand.


def table(data_sets, outcomes, rates):
    width = max(13, *(len(data_set.name) for data_set in data_sets)) + 2
    columns = f"{{:<{width}}}{{:<18}}{{:>9}}{{:>14}}{{:>8}}{{:>10}}{{:>9}}".format
    header = columns(
        "data set", "method", "loss", "random units", "error", "settings", "seconds"
    )
    lines = [
        "Mean loss of one pass: log loss, or absolute error in regression. For SGD the",
        "smallest of all settings, known in hindsight only; seconds for all of them.",
        "",
        header,
        "-" * len(header),
    ]
    for data_set in data_sets:
        name = data_set.name
        for method in methods(rates):
            if not (raw := outcomes.get((data_set.name, method.name, "raw"))):
                continue
            random = outcomes.get((data_set.name, method.name, "random"))
            error = best(raw).error
            lines.append(
                columns(
                    name,
                    method.name,
                    f"{best(raw).loss:.4g}",
                    f"{best(random).loss:.4g}" if random else "-",
                    "-" if np.isnan(error) else f"{error:.1%}",
                    len(raw),
                    f"{sum(outcome.seconds for outcome in raw):.2f}",
                )
            )
            name = ""
        lines.append("")
    return "\n".join(lines)


def conclusions(data_sets, outcomes, rates):
    """Return the conclusions from the numbers, in sentences."""
    ours = [method for method in methods(rates) if method.make is untuned]
    others = [method for method in methods(rates) if method.make is not untuned]
    beaten, better, inflated = [], [], []
    largest_change = {"random": 0.0, "powers of two": 0.0}
    for name in (data_set.name for data_set in data_sets):
        loss = best(outcomes[name, "Hedge", "raw"]).loss
        losses = [o.loss for m in others for o in outcomes[name, m.name, "raw"]]
        n_beaten = sum(loss < other for other in losses)
        beaten.append(f"{n_beaten} of {len(losses)} on {name}")
        if min(losses) < loss:
            better.append(name)
        before, after = (
            best(outcomes[name, "SGD, raw", choice]).loss
            for choice in ("raw", "random")
        )
        inflated.append(f"{after / before:.3g} on {name}")
        for method in ours:
            (before,) = outcomes[name, method.name, "raw"]
            for choice in largest_change:
                if not (later := outcomes.get((name, method.name, choice))):
                    continue
                (after,) = later
                change = abs(after.loss / before.loss - 1)
                largest_change[choice] = max(change, largest_change[choice])
    in_words = {
        choice: f"at most {change:.0e} of it" if change else "nothing, to the last bit"
        for choice, change in largest_change.items()
    }
    return [
        "Settings of SGD that did worse than Hedge, which was not tuned: "
        f"{', '.join(beaten)}.",
        "The best setting in hindsight did better than Hedge on "
        f"{', '.join(better) if better else 'none of the data'}.",
        "Random units multiplied the smallest loss of SGD on raw features by "
        f"{', '.join(inflated)}.",
        f"The loss of an untuned learner they changed by {in_words['random']}; units "
        f"that are powers of two, by {in_words['powers of two']}.",
    ]


# %%
# Figures
# -------


def draw(data_sets, outcomes, rates, choice, title):
    """Draw loss against learning rate, in a panel for each data set."""
    figure, axes = panels(len(data_sets), 2, 5, 3.4)
    for ax, data_set in zip(axes, data_sets, strict=True):
        draw_panel(ax, data_set, outcomes, rates, choice)
    figure.suptitle(title)
    legend_below(
        figure,
        *axes[0].get_legend_handles_labels(),
        ncols=3 if len(data_sets) > 1 else 2,
    )
    return figure


def draw_panel(ax, data_set, outcomes, rates, choice):
    drawn = {
        method.name: [o.loss for o in learned]
        for method in methods(rates)
        if (learned := outcomes.get((data_set.name, method.name, choice)))
    }
    size = f"{data_set.n_rows:,} rows, {data_set.n_features} features"
    reference = drawn["ScInOL2"][0]
    finite = [loss for losses in drawn.values() for loss in losses if np.isfinite(loss)]
    # Beyond a hundred times our loss, how absurd a loss is does not matter.
    top = 1.5 * min(max(finite), 100 * reference)
    ax.set(
        title=f"{data_set.name}: {size}",
        xscale="log",
        yscale="log",
        ylim=(0.7 * min(finite), top),
        xlabel="learning rate of SGD",
        ylabel="mean absolute error" if data_set.classes is None else "mean log loss",
    )
    for method in methods(rates):
        if not (losses := drawn.get(method.name)):
            continue
        if method.make is untuned:
            label = f"{method.name}, no learning rate"
            ax.axhline(losses[0], color=method.colour, linewidth=2.5, label=label)
        else:
            draw_curve(ax, rates, losses, method.name, method.colour, method.marker)
    if choice != "raw":
        losses = [o.loss for o in outcomes[data_set.name, "SGD, raw", "raw"]]
        draw_curve(ax, rates, losses, "SGD, raw, in raw units", "#d95f02", "", ":")
    ax.xaxis.set_major_locator(LogLocator(numticks=len(rates) + 1))
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
    ax.yaxis.set_major_formatter("{x:,g}")
    ax.yaxis.set_minor_locator(NullLocator())
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.3)


def draw_overview(data_set, outcomes, rates):
    """Draw one data set, with names beside the lines."""
    drawn = [
        (method, [o.loss for o in outcomes[data_set.name, method.name, "raw"]])
        for method in methods(rates)
        if method.name != "ScInOL1"
    ]
    lowest = min(loss for _, losses in drawn for loss in losses)
    style = {"font.size": 14, "axes.spines.right": False, "axes.spines.top": False}
    with plt.rc_context(style):
        figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
        ax.set(
            xscale="log",
            yscale="log",
            ylim=(0.7 * lowest, 30 * lowest),
            xlabel="learning rate of SGD",
            ylabel="mean log loss",
        )
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        ax.yaxis.set_major_formatter("{x:,g}")
        ax.minorticks_off()
        ax.margins(x=0)
        below = {"textcoords": "offset points", "va": "top", "weight": "bold"}
        for method, losses in drawn:
            if method.make is untuned:
                ax.axhline(losses[0], color=method.colour, linewidth=4)
                text, at, offset = f"{method.name}, no learning rate", 0, (8, -4)
            else:
                draw_curve(ax, rates, losses, method.name, method.colour, method.marker)
                text, at, offset = method.name, np.argmin(losses), (-45, -9)
            ax.annotate(
                text, (rates[at], losses[at]), offset, color=method.colour, **below
            )
    return figure


def draw_curve(ax, rates, losses, label, colour, marker, style="-"):
    """Draw a curve of SGD, with arrowheads at the top edge for larger losses."""
    top = ax.get_ylim()[1]
    # Far beyond the edge, but finite, so that the line leads there.
    losses = np.minimum(losses, 1e3 * top)
    ax.plot(rates, losses, color=colour, marker=marker, linestyle=style, label=label)
    beyond = [rate for rate, loss in zip(rates, losses, strict=True) if loss > top]
    if marker and beyond:
        at_edge = np.full(len(beyond), top)
        ax.plot(beyond, at_edge, color=colour, marker="^", linestyle="", clip_on=False)


# %%
# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description=(
            "Compare untuned learners with SGD over a grid of learning rates, by "
            "progressive validation, on data that come with scikit-learn or on a CSV "
            "file."
        ),
        epilog=(
            "A CSV file is read in chunks, several times, and its rows are learned in "
            "their order. Its first megabyte decides which columns are numbers and "
            "which are text. Text is one-hot encoded (with more than 200 different "
            "values it is left out); for a missing number stands the mean of its "
            "column in the first chunk. The classes are those of the first chunk: a "
            "class that first shows up later is an error, unless --classes names it."
        ),
    )
    add_file_options(parser)
    parser.add_argument(
        "--chunk-size",
        type=positive,
        default=1000,
        metavar="N",
        help="rows to read at once (default: %(default)s)",
    )
    add_separator(parser)
    parser.add_argument(
        "--task",
        choices=["auto", "classification", "regression"],
        default="auto",
        help="auto: the target holds classes if it is text, or if the first chunk has "
        "at most 20 different numbers, all whole (default: %(default)s)",
    )
    parser.add_argument(
        "--classes", nargs="+", metavar="CLASS", help="all classes, as in the file"
    )
    add_rates(parser)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="leave out digits and wine, and let mixtures learn in raw units only",
    )
    add_output_dir(parser, "figures")
    parser.add_argument(
        "--jobs",
        type=int,
        default=-1,
        metavar="N",
        help="processes to use (default: one for each core)",
    )
    return parse_file_options(parser, argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    rates = sorted(arguments.rates)
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    if arguments.data is None:
        data_sets = bundled_data_sets()
        if arguments.quick:
            data_sets = [d for d in data_sets if d.name not in ("digits", "wine")]
    else:
        data_sets = [data_set_from_csv(arguments)]
    outcomes = compare(data_sets, rates, arguments.jobs, arguments.quick)

    print(table(data_sets, outcomes, rates))
    for sentence in conclusions(data_sets, outcomes, rates):
        print(fill(sentence, width=83))

    for choice, name, title in (
        ("raw", "no_tuning.png", "One pass over data in raw units"),
        (
            "random",
            "no_tuning_random_units.png",
            "The same data, each feature in a random unit",
        ),
    ):
        figure = draw(data_sets, outcomes, rates, choice, title)
        save_figure(figure, arguments.output_dir / name)
    if arguments.data is None and not arguments.quick:
        digits = next(data_set for data_set in data_sets if data_set.name == "digits")
        figure = draw_overview(digits, outcomes, rates)
        options = {"dpi": "figure", "bbox_inches": None, "metadata": {"Date": None}}
        save_figure(figure, arguments.output_dir / "loss_against_rate.svg", **options)


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
