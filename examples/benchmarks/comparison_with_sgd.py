"""
ScInOL2 beside a grid search for SGD
====================================

Compares on data that come with scikit-learn, in raw units, by cross-validation on the
same splits:

- ScInOL2 with defaults;
- SGD whose learning rate and scaler (none, or `StandardScaler`) are searched for by
  `GridSearchCV` within the training rows of each split, by log loss;
- SGD with each single setting, to see the results without a search.

Both minimise the log loss, SGD one class versus the rest. Its rate falls with the root
of the number of rows, there is no penalty, and a fit stops by SGD's default rule: when
five epochs in a row have not lowered the training loss by 0.001, or after 1000 epochs.
(With ``learning_rate="adaptive"`` SGD comes nearer to ScInOL2 on digits, with a log
loss of 0.16, but takes two to six times as long and often warns that it has not
converged.) Everything runs in one process, and compiling is not counted.

To run it on data of your own::

    python examples/benchmarks/comparison_with_sgd.py --data FILE.csv --target COLUMN
"""

import argparse
import sys
import warnings
from dataclasses import dataclass
from textwrap import fill
from time import perf_counter

import numpy as np
from data_folder import open_csv
from interface import (
    InputError,
    add_file_options,
    add_output_dir,
    add_rates,
    add_separator,
    gives_status,
    legend_below,
    panels,
    parse_file_options,
    save_figure,
    show_progress,
)
from matplotlib.ticker import LogLocator, NullLocator
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    StratifiedKFold,
    cross_validate,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_scinol import ScInOLClassifier

# Splits for scoring the methods, and splits of the search within each.
N_SPLITS = 5
N_INNER_SPLITS = 3

OURS, SEARCHED, SINGLE = "ScInOL2, untuned", "SGD, grid search", "SGD, one setting"
SINGLE_IN_LEGEND = "SGD, each setting by itself (arrowheads: off the scale)"
COLOURS = {OURS: "#00705a", SEARCHED: "#d95f02", SINGLE: "#d95f02"}


# %%
# Data
# ----


@dataclass
class DataSet:
    """Rows and targets, with a name."""

    name: str
    X: np.ndarray
    y: np.ndarray


def bundled_data_sets():
    return [
        DataSet("breast cancer", *load_breast_cancer(return_X_y=True)),
        DataSet("wine", *load_wine(return_X_y=True)),
        DataSet("digits", *load_digits(return_X_y=True)),
    ]


def data_set_from_csv(arguments):
    stream = open_csv(
        arguments.data,
        arguments.target,
        separator=arguments.separator,
        chunk_size=sys.maxsize,  # one chunk
    )
    if stream.classes is None:
        raise InputError(
            f"The target {stream.target!r} holds amounts, and classes are needed."
        )
    ((X, y),) = stream()
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < N_SPLITS:
        raise InputError(
            f"The class {str(classes[counts.argmin()])!r} of {stream.target!r} has "
            f"{counts.min()} rows, and {N_SPLITS} are needed."
        )
    return DataSet(stream.path.name, X, y)


# %%
# Methods
# -------


def sgd():
    model = SGDClassifier(
        loss="log_loss",
        penalty=None,
        learning_rate="invscaling",
        power_t=0.5,
        max_iter=1000,
        tol=1e-3,
        random_state=0,
    )
    return Pipeline([("scaler", None), ("sgd", model)])


def settings(rates):
    return {"scaler": [None, StandardScaler()], "sgd__eta0": rates}


def search(rates):
    inner = StratifiedKFold(N_INNER_SPLITS, shuffle=True, random_state=0)
    return GridSearchCV(sgd(), settings(rates), scoring="neg_log_loss", cv=inner)


@dataclass
class Outcome:
    """Scores on the test rows, and times, one for each split."""

    method: str
    losses: np.ndarray
    accuracies: np.ndarray
    n_fits: int
    seconds: float

    @property
    def loss(self):
        """Mean over the splits; infinite if a fit failed."""
        mean = self.losses.mean()
        return mean if np.isfinite(mean) else np.inf


def evaluate(method, estimator, data_set):
    splits = StratifiedKFold(N_SPLITS, shuffle=True, random_state=0)
    start = perf_counter()
    # A search has to cope with settings that diverge or do not converge.
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        try:
            scores = cross_validate(
                estimator,
                data_set.X,
                data_set.y,
                cv=splits,
                scoring=["neg_log_loss", "accuracy"],
            )
        except ValueError as error:
            if "fits failed" not in str(error):
                raise
            none = np.full(N_SPLITS, np.nan)
            scores = {"test_neg_log_loss": none, "test_accuracy": none}
    seconds = perf_counter() - start
    n_fits = N_SPLITS
    if isinstance(estimator, GridSearchCV):
        n_settings = len(ParameterGrid(estimator.param_grid))
        n_fits *= n_settings * N_INNER_SPLITS + 1  # and once more with the best
    losses, accuracies = -scores["test_neg_log_loss"], scores["test_accuracy"]
    return Outcome(method, losses, accuracies, n_fits, seconds)


@dataclass
class Comparison:
    """Losses of an untuned learner, and of SGD with each setting, on one data set."""

    data_set: DataSet
    ours: Outcome
    searched: Outcome
    single: list  # an outcome for each setting

    @property
    def median_setting(self):
        """Return the median setting, the worse of two middle ones."""
        ordered = sorted(self.single, key=lambda outcome: outcome.loss)
        return ordered[len(ordered) // 2]


def compare(data_set, rates):
    # Compiles what has not been compiled yet.
    ScInOLClassifier(max_iter=1, tol=None).fit(data_set.X, data_set.y)
    runs = [(OURS, ScInOLClassifier(random_state=0)), (SEARCHED, search(rates))]
    runs += [
        (SINGLE, sgd().set_params(**setting))
        for setting in ParameterGrid(settings(rates))
    ]
    ours, searched, *single = (
        evaluate(method, estimator, data_set)
        for method, estimator in show_progress(runs, data_set.name)
    )
    return Comparison(data_set, ours, searched, single)


# %%
# Table
# -----


def table(comparisons):
    width = max(13, *(len(c.data_set.name) for c in comparisons)) + 2
    columns = f"{{:<{width}}}{{:<20}}{{:>6}}{{:>9}}{{:>18}}{{:>17}}".format
    header = columns("data set", "method", "fits", "seconds", "accuracy", "log loss")
    lines = [
        f"Means over {N_SPLITS} splits, with standard deviations. Of SGD's settings by "
        "themselves,",
        "the one in the middle.",
        "",
        header,
        "-" * len(header),
    ]
    for comparison in comparisons:
        name = comparison.data_set.name
        for outcome in (
            comparison.ours,
            comparison.searched,
            comparison.median_setting,
        ):
            accuracy, loss = "-", "diverged"
            if np.isfinite(outcome.loss):
                accuracy = in_words(outcome.accuracies, ".1%", ".1%")
                loss = in_words(outcome.losses, ".3g", ".2g")
            seconds = f"{outcome.seconds:.2f}"
            lines.append(
                columns(name, outcome.method, outcome.n_fits, seconds, accuracy, loss)
            )
            name = ""
        lines.append("")
    return "\n".join(lines)


def in_words(scores, mean, deviation):
    """Format mean and standard deviation."""
    return f"{scores.mean():{mean}} ± {scores.std():{deviation}}"


def conclusions(comparisons):
    """Return the conclusions from the numbers, in sentences."""
    losses, times, worse = [], [], []
    for comparison in comparisons:
        on = f"on {comparison.data_set.name}"
        ours, searched = comparison.ours, comparison.searched
        losses.append(f"{ours.loss / searched.loss:.2f} {on}")
        times.append(f"{searched.seconds / ours.seconds:.0f} {on}")
        n_worse = sum(outcome.loss > ours.loss for outcome in comparison.single)
        worse.append(f"{n_worse} of {len(comparison.single)} {on}")
    return [
        "The test log loss of ScInOL2, in multiples of that of SGD after its search: "
        f"{', '.join(losses)}.",
        f"The search took this many times as long as ScInOL2: {', '.join(times)}.",
        f"Settings of SGD that are worse than ScInOL2: {', '.join(worse)}.",
    ]


# %%
# Figure
# ------


def draw(comparisons):
    """Draw test loss against time, in a panel for each data set."""
    figure, axes = panels(len(comparisons), 3, 4.4, 3.8)
    for ax, comparison in zip(axes, comparisons, strict=True):
        draw_panel(ax, comparison)
    figure.suptitle("What a grid search costs and what it brings")
    legend_below(
        figure,
        *axes[0].get_legend_handles_labels(),
        ncols=3 if len(comparisons) > 1 else 1,
    )
    return figure


def draw_panel(ax, comparison):
    ours, searched = comparison.ours, comparison.searched
    lowest = min(ours.loss, searched.loss, *(o.loss for o in comparison.single))
    # Larger losses are cut off.
    top = 60 * lowest
    ax.set(
        title=comparison.data_set.name,
        xscale="log",
        yscale="log",
        ylim=(0.4 * lowest, top),
        xlabel="seconds",
        ylabel="log loss on test rows",
    )
    single = np.array([(o.seconds, min(o.loss, 2 * top)) for o in comparison.single])
    options = {"color": COLOURS[SINGLE], "alpha": 0.5, "linestyle": ""}
    ax.plot(*single.T, marker="o", label=SINGLE_IN_LEGEND, **options)
    beyond = single[single[:, 1] > top, 0]
    if len(beyond):
        at_edge = np.full(len(beyond), top)
        ax.plot(beyond, at_edge, marker="^", clip_on=False, **options)
    for outcome, marker, side in ((searched, "s", "right"), (ours, "D", "left")):
        ax.errorbar(
            outcome.seconds,
            outcome.loss,
            yerr=outcome.losses.std(),
            fmt=marker,
            color=COLOURS[outcome.method],
            markersize=11,
            label=outcome.method,
            zorder=3,
        )
        ax.annotate(
            f"{outcome.n_fits} fits\n{outcome.accuracies.mean():.1%} right",
            (outcome.seconds, outcome.loss),
            xytext=(9 if side == "left" else -9, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            color=COLOURS[outcome.method],
            fontsize=9,
        )
    ax.margins(x=0.15)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 3)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.3)


# %%
# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description=(
            "Compare ScInOL, untuned, with SGD after a grid search, by "
            "cross-validation, on data that come with scikit-learn or on a CSV file."
        )
    )
    add_file_options(parser, "column to predict: classes")
    add_separator(parser)
    add_rates(parser)
    add_output_dir(parser, "figure")
    return parse_file_options(parser, argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    if arguments.data is None:
        data_sets = bundled_data_sets()
    else:
        data_sets = [data_set_from_csv(arguments)]

    comparisons = [compare(data_set, arguments.rates) for data_set in data_sets]
    print(table(comparisons))
    for sentence in conclusions(comparisons):
        print(fill(sentence, width=83))
    save_figure(draw(comparisons), arguments.output_dir / "comparison_with_sgd.png")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
