"""
The mixture and its experts
===========================

Learns data that come with scikit-learn, in raw units, by `HedgeClassifier` and
`HedgeRegressor` with defaults. The figure shows the losses and the weights of the
experts along the stream. The table compares the mixture's loss with that of its best
expert, and with stochastic gradient descent at the best rate in hindsight; SGD* also
has features standardised in hindsight. Rows come in a fixed random order, and all
losses are of predictions made before a row was learned.

To run it on all files of a folder::

    python examples/benchmarks/hedge.py --data-dir FOLDER
"""

import argparse
import sys
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from interface import (
    add_output_dir,
    gives_status,
    legend_below,
    panels,
    positive,
    save_figure,
    show_progress,
)
from joblib import Parallel, delayed
from matplotlib.ticker import LogLocator, NullLocator
from no_tuning import engine_for
from quality import (
    add_data_options,
    chosen_readers,
    in_short,
    read_data_sets,
    standardised,
    tuned,
)

from sklearn_scinol import HedgeClassifier, HedgeRegressor, config_context

# The curves have about so many points.
N_POINTS = 150

# %%
# Learning
# --------
#
# The loss is the logarithmic loss in classification, the absolute error in regression.
# To record it, rows are learned in growing chunks, which changes no prediction.


@dataclass
class Course:
    """Losses and weights along the stream, and the final model."""

    model: HedgeClassifier | HedgeRegressor
    rows: np.ndarray
    losses: np.ndarray  # mean so far
    expert_losses: np.ndarray  # the same, (points, experts)


def follow(data_set):
    """Learn from all rows, and record losses and weights."""
    X, y, n_classes = data_set.X, data_set.y, data_set.n_classes
    model = HedgeClassifier() if n_classes else HedgeRegressor()
    classes = {"classes": np.arange(n_classes)} if n_classes else {}
    rows = np.unique(np.geomspace(1, len(y), N_POINTS).round().astype(int))
    losses, expert_losses = [], []
    for start, end in pairwise([0, *rows]):
        model.partial_fit(X[start:end], y[start:end], **classes)
        losses.append(model.cumulative_loss_ / end)
        expert_losses.append(model.expert_losses_ / end)
    return Course(model, rows, np.array(losses), np.array(expert_losses))


@dataclass
class Comparison:
    """Mean losses of one pass over a data set; SGD's are with the best rates."""

    name: str
    title: str
    course: Course
    sgd: float
    sgd_star: float

    @property
    def hedge(self):
        return self.course.losses[-1]

    @property
    def best(self):
        """Return the name of the best expert in hindsight, and its loss."""
        losses = self.course.expert_losses[-1]
        best = losses.argmin()
        return [*self.course.model.named_estimators_][best], losses[best]

    @property
    def times_best(self):
        return self.hedge / self.best[1]

    @property
    def times_sgd_star(self):
        return self.hedge / self.sgd_star


def compare(data_set, parallel):
    methods = [follow, partial(tuned, {"algorithm": "sgd"}), standardised]
    course, (sgd, _), (sgd_star, _) = parallel(
        delayed(run)(method, data_set)
        for method in show_progress(methods, data_set.name)
    )
    return Comparison(data_set.name, data_set.title, course, sgd, sgd_star)


def run(method, data_set):
    with config_context(engine=engine_for(len(data_set.y))):
        return method(data_set)


# %%
# Table
# -----

COLUMNS = "{:<23}{:>10}{:>10}  {:<18}{:>6}{:>10}{:>10}{:>6}".format
HEADER = COLUMNS("data set", "hedge", "best", "expert", "times", "SGD", "SGD*", "times")
LEGEND = """\
Mean loss of one pass, log loss or absolute error: of the mixture, of its best expert in
hindsight, and of SGD with the best learning rate in hindsight, SGD* on features that
are standardised in hindsight. Times: the mixture's in multiples of that.
"""


def line(comparison):
    expert, best = comparison.best
    return COLUMNS(
        comparison.name,
        in_short(comparison.hedge, 5),
        in_short(best, 5),
        expert,
        f"{comparison.times_best:.3f}",
        in_short(comparison.sgd, 5),
        in_short(comparison.sgd_star, 5),
        f"{comparison.times_sgd_star:.3f}",
    )


def summary(comparisons):
    below = sum(comparison.times_sgd_star < 1 for comparison in comparisons)
    worst = max(comparisons, key=lambda comparison: comparison.times_best)
    return (
        f"Below SGD* on {below} of {len(comparisons)} data sets; at most "
        f"{worst.times_best:.3f} times the loss of the best expert, on {worst.name}."
    )


# %%
# Figure
# ------
#
# Each data set has two panels above each other: losses, and weights.

# Shades of one colour for each kind of expert.
COLOURS = {
    "scinol2": "#00705a",
    "adagrad-0.25": "#4fa88f",
    "adaogd-0.125": "#8cc9b6",
    "constant-forgetting": "#bcc5ee",
    "newton-forgetting-0.003": "#a8326f",
    "newton-forgetting-0.02": "#e3a6c6",
    "fourier-1-forgetting": "#d9730d",
    "fourier-0.25-forgetting": "#8a3f00",
    "fourier-2": "#fbdcc0",
    "neighbors-1": "#7d6b14",
    "neighbors-3": "#d8c25a",
    "neighbors-10": "#f0e6b2",
    "mondrian-forest": "#2f7d32",
    "last-label": "#444444",
    "extra-trees": "#6fae72",
    "extra-trees-recent": "#b5d8b7",
    "bins-scinol2": "#1f5f8b",
    "pool": "#4d4d4d",
    "pool, ScInOL2": "#989898",
    "pool, forgetting": "#989898",
    "pool, forgetting fast": "#d3d3d3",
}

# Losses over the first rows are noisy; values beyond the later losses are cut off.
FIRST_ROW = 10


def handles_of(axes):
    """Return handles for a legend by label; not all data have all experts."""
    handles = {}
    for ax in axes:
        found, labels = ax.get_legend_handles_labels()
        handles |= dict(zip(labels, found, strict=True))
    return handles


def draw(comparisons):
    n = len(comparisons)
    figure, axes = panels(2 * n, n, 3.7, 2.9)
    for upper, lower, comparison in zip(axes[:n], axes[n:], comparisons, strict=True):
        names = [*comparison.course.model.named_estimators_]
        is_classifier = isinstance(comparison.course.model, HedgeClassifier)
        middle = "pool, ScInOL2" if is_classifier else "pool, forgetting"
        pools = ["pool", middle, "pool, forgetting fast"]
        colours = [COLOURS[name] for name in names + pools]
        comparison.course.model.plot_weights(ax=lower, n_largest=None, colors=colours)
        lower.set_xscale("log")
        lower.get_legend().remove()  # one for all is enough
        lower.xaxis.set_major_formatter("{x:,g}")
        draw_losses(upper, comparison)
        upper.set_xlim(lower.get_xlim())
        upper.tick_params(labelbottom=False)
        for ax in (upper, lower):
            ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("mean loss so far")
    for ax in axes[n + 1 :]:
        ax.set_ylabel("")
        ax.tick_params(labelleft=False)
    of_lines, of_areas = handles_of(axes[:n]), handles_of(axes[n:])
    experts = [name for name in COLOURS if name in of_lines]
    others = [name for name in of_lines if name not in COLOURS]
    pools = [name for name in COLOURS if name.startswith("pool") and name in of_areas]
    handles = [of_lines[name] for name in experts + others]
    handles += [of_areas[name] for name in pools]
    legend_below(figure, handles, experts + others + pools, ncols=8)
    return figure


def draw_losses(ax, comparison):
    course = comparison.course
    names = [*course.model.named_estimators_]
    ax.set_prop_cycle(color=[COLOURS[name] for name in names])
    ax.plot(course.rows, course.expert_losses, linewidth=1.5, label=names)
    ax.plot(course.rows, course.losses, "k", linewidth=3, label="mixture")
    label = "SGD*, in the end"
    ax.axhline(comparison.sgd_star, color="k", linestyle=":", label=label)
    later = course.expert_losses[course.rows >= min(FIRST_ROW, course.rows[-1])]
    lowest = min(later.min(), comparison.hedge, comparison.sgd_star)
    ax.set(
        title=comparison.title.replace(", ", "\n", 1),
        xscale="log",
        yscale="log",
        ylim=(0.9 * lowest, 1.1 * later.max()),
    )
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
    ax.yaxis.set_major_formatter("{x:,g}")
    ax.yaxis.set_minor_locator(NullLocator())


# %%
# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description=(
            "Show whom a mixture of learners trusts, and how it compares with them and "
            "with tuned SGD, on data of scikit-learn or on those in a folder."
        ),
        epilog=(
            "A data set of a folder is a file in CSV or LIBSVM format, .csv or .svm, "
            "compressed or not, or an .npz with the arrays X and y. Text in features "
            "is one-hot encoded; for a missing number stands the mean of its column. A "
            "target holds classes if it is text, or if it has at most 20 different "
            "numbers, all whole."
        ),
    )
    add_data_options(parser)
    parser.add_argument(
        "--draw",
        type=positive,
        default=3,
        metavar="N",
        help="how many data sets, those with the most rows, are in the figure "
        "(default: %(default)s)",
    )
    add_output_dir(parser, "figure")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    comparisons = []
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    readers = chosen_readers(arguments)
    print("\n".join([LEGEND, HEADER, "-" * len(HEADER)]))
    with Parallel(n_jobs=arguments.n_jobs) as parallel:
        for data_set in read_data_sets(readers, arguments.max_rows, arguments.in_order):
            comparison = compare(data_set, parallel)
            print(line(comparison), flush=True)
            comparisons.append(comparison)
    print("\n" + summary(comparisons))

    most_rows = sorted(comparisons, key=lambda c: -c.course.rows[-1])[: arguments.draw]
    save_figure(draw(most_rows), arguments.output_dir / "hedge.png")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
