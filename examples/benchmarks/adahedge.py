"""
AdaHedge and 27 experts
=======================

Weights by `AdaHedge` gradient descent with each of many learning rates, in two
variants, and ScInOL2. The rows are the images of digits that come with scikit-learn.
The first half comes digit by digit, as in files that are ordered by group, the second
half in random order: no expert is best throughout. All losses are of predictions made
before a row was learned.

To run it on data of your own, whose rows are learned in order::

    python examples/benchmarks/adahedge.py --data FILE.csv --target COLUMN
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from textwrap import fill

import numpy as np
from data_folder import open_csv
from interface import (
    add_file_options,
    add_output_dir,
    gives_status,
    legend_below,
    panels,
    parse_file_options,
    save_figure,
    show_progress,
)
from matplotlib.ticker import PercentFormatter
from no_tuning import FEW_ROWS, engine_for
from scipy.special import logsumexp
from sklearn.datasets import load_digits
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import gen_batches

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor, config_context
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.experts import AdaHedge

RATES = 2.0 ** np.arange(-8, 5)

# The curves have about so many points.
N_POINTS = 400

# %%
# Data
# ----
#
# Each feature is divided by its largest absolute value up to the end of the chunk. This
# uses the features of rows that are about to be predicted, never their labels.


@dataclass
class Stream:
    """A stream: `read` yields chunks (X, y); `classes` is None in regression."""

    title: str
    read: Callable
    n_rows: int
    classes: list | None

    def chunks(self):
        """Yield (X, y), scaled."""
        scaler = MaxAbsScaler()
        for X, y in self.read():
            yield scaler.partial_fit(X).transform(X), y


def digits():
    """Return digits, the first half sorted by label, the second in random order."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    first, second = np.array_split(order, 2)
    order = np.concatenate([first[np.argsort(y[first], kind="stable")], second])
    return Stream(
        f"digits: {len(y):,} rows, sorted by label up to row {len(first)}",
        lambda: [(X[order], y[order])],
        len(y),
        np.unique(y),
    )


def stream_from_csv(path, target):
    """The user's own file, in the order of its rows."""
    stream = open_csv(
        path,
        target,
        chunk_size=FEW_ROWS,
        show=lambda frames: show_progress(frames, "Looking through the file"),
    )
    classes = None if stream.classes is None else np.unique(stream.classes)
    title = f"{stream.path.name}: {stream.n_rows:,} rows"
    return Stream(title, stream, stream.n_rows, classes)


# %%
# Experts
# -------
#
# The loss is the logarithmic loss in classification, the absolute error in regression.


def experts(regression):
    """Return the estimators by name."""
    baseline = BaselineRegressor if regression else BaselineClassifier
    named = {
        f"{name}, rate {Fraction(rate)}": baseline(
            algorithm, learning_rate=rate, center=False
        )
        for name, algorithm in (("OGD", "ogd"), ("AdaOGD", "adaogd"))
        for rate in RATES
    }
    named["ScInOL2"] = ScInOLRegressor() if regression else ScInOLClassifier()
    return named


def predict_and_learn(expert, X, y, classes):
    """Return predictions of rows before they were learned, and their losses.

    In classification, a prediction is the log probability of the label.
    """
    if classes is None:
        predictions = expert.partial_fit_predict(X, y)
        return predictions, np.abs(predictions - y)
    log_probabilities = expert.partial_fit_predict(
        X, y, classes=classes, method="predict_log_proba"
    )
    of_label = np.take_along_axis(
        log_probabilities, np.searchsorted(classes, y)[:, np.newaxis], axis=1
    )[:, 0]
    return of_label, -of_label


# %%
# Mixture
# -------
#
# AdaHedge's guarantee is about the mean of the experts' losses under the weights. One
# may instead predict the mean of the experts' predictions under the weights. Since the
# losses are convex, the loss of the mean prediction is no larger, in each row.


def mixture_losses(weights, predictions, y, classes):
    if classes is None:
        return np.abs((weights * predictions).sum(axis=1) - y)
    # The logarithm of the mean probability, without underflow.
    return -logsumexp(predictions, b=weights, axis=1)


@dataclass
class Course:
    """Losses and weights recorded along the stream."""

    title: str
    names: np.ndarray  # of the experts
    rows: np.ndarray
    expert_losses: np.ndarray  # cumulative, (points, experts)
    hedge_losses: np.ndarray  # cumulative loss of AdaHedge
    mixture_losses: np.ndarray  # cumulative loss of the mean prediction
    weights: np.ndarray  # (points, experts)
    gap: float  # sum of the mixability gaps, in the end
    bound: float  # on the regret, in the end
    n_cheaper: int  # rows where the mean prediction's loss was below the mean loss

    @property
    def best(self):
        """The best expert in hindsight."""
        return self.expert_losses[-1].argmin()

    @property
    def regret(self):
        return self.hedge_losses - self.expert_losses[:, self.best]

    @property
    def leaders(self):
        """The expert with the smallest cumulative loss at each point."""
        return self.expert_losses.argmin(axis=1)


def follow(stream):
    """Run all experts and AdaHedge over the stream, and record their losses."""
    named = experts(regression=stream.classes is None)
    hedge = AdaHedge(len(named))
    mixture_loss, n_cheaper, notes = 0.0, 0, []
    for X, y in stream.chunks():
        progress = f"Row {hedge.n_rounds_ + 1:,} to {hedge.n_rounds_ + len(y):,}"
        pairs = [
            predict_and_learn(expert, X, y, stream.classes)
            for expert in show_progress(named.values(), progress)
        ]
        predictions, losses = np.moveaxis(pairs, 0, -1)
        for rows in gen_batches(len(y), -(-stream.n_rows // N_POINTS)):
            weights = hedge.update(losses[rows])
            charged = (weights * losses[rows]).sum(axis=1)
            of_mixture = mixture_losses(
                weights, predictions[rows], y[rows], stream.classes
            )
            mixture_loss += of_mixture.sum()
            n_cheaper += (of_mixture < charged).sum()
            notes.append(
                (
                    hedge.n_rounds_,
                    hedge.cumulative_losses_,
                    hedge.cumulative_loss_,
                    mixture_loss,
                    hedge.weights_,
                )
            )
    return Course(
        stream.title,
        np.array(list(named)),
        *map(np.array, zip(*notes, strict=True)),
        gap=hedge.mixability_gap_,
        bound=hedge.regret_bound_,
        n_cheaper=n_cheaper,
    )


# %%
# Table
# -----


def table(course):
    totals = course.expert_losses[-1]
    order = totals.argsort()
    lines = {
        f"best expert: {course.names[order[0]]}": totals[order[0]],
        f"second best: {course.names[order[1]]}": totals[order[1]],
        "median expert": np.median(totals),
        "mean of the experts": totals.mean(),
        "worst expert": totals.max(),
        "AdaHedge, loss of the weights": course.hedge_losses[-1],
        "AdaHedge, mean prediction": course.mixture_losses[-1],
        "best expert + twice the mixability gap": totals.min() + 2 * course.gap,
        "best expert + bound on the regret": totals.min() + course.bound,
    }
    width = max(map(len, lines)) + 2
    columns = f"{{:<{width}}}{{:>12}}{{:>10}}".format
    header = columns(course.title, "total loss", "mean")
    n_rows = course.rows[-1]
    body = [
        columns(name, f"{total:,.1f}", f"{total / n_rows:.4g}")
        for name, total in lines.items()
    ]
    return "\n".join([header, "-" * len(header), *body, ""])


def conclusions(course):
    """Return the conclusions from the numbers, in sentences."""
    totals, names, best = course.expert_losses[-1], course.names, course.best
    regret, mixture_loss = course.regret[-1], course.mixture_losses[-1]
    beside_best = mixture_loss / totals[best] - 1
    saved = 1 - mixture_loss / course.hedge_losses[-1]
    n_worse = (totals > course.hedge_losses[-1]).sum()
    return [
        f"{names[best]} is the best of {len(names)} experts. {when_it_led(course)} "
        f"{course.weights[-1, best]:.1%} of the weight is on it in the end.",
        f"AdaHedge was charged {regret:,.1f} more in total than the best expert; its "
        f"guarantee is {course.bound:,.1f}. An expert drawn at random is charged "
        f"{totals.mean() - totals.min():,.1f} more on average, and {n_worse} of the "
        f"{len(names)} are charged more than AdaHedge.",
        "The mean prediction costs less than the mean loss in "
        f"{course.n_cheaper:,} of {course.rows[-1]:,} rows. In total it costs "
        f"{saved:.1%} less than that, and {abs(beside_best):.1%} "
        f"{'less' if beside_best < 0 else 'more'} than the best expert.",
    ]


def when_it_led(course):
    others = np.flatnonzero(course.leaders != course.best)
    if others.size == 0:
        return "It was so from the start."
    last = others[-1]
    leader = course.names[course.leaders[last]]
    return f"Up to row {course.rows[last]:,} it was not: {leader} led."


# %%
# Figure
# ------

COLOURS = ["#d95f02", "#5e60a8", "#e6ab02", "#6fc7a7", "#a6761d"]
OTHERS = "#cccccc"


def colours(course):
    """Return colours of ScInOL2 and of the other experts with the most weight."""
    scinol = len(course.names) - 1
    most = course.weights[:, :scinol].mean(axis=0).argsort()[::-1]
    return {scinol: "#00705a", **dict(zip(most, COLOURS, strict=False))}


def draw(course):
    figure, (left, right) = panels(2, 2, 5.5, 4)
    draw_losses(left, course)
    draw_weights(right, course)
    figure.suptitle(course.title)
    legend_below(figure, *left.get_legend_handles_labels(), ncols=5)
    return figure


def draw_losses(ax, course):
    """Draw cumulative losses minus that of the best expert in hindsight."""
    of_best = course.expert_losses[:, [course.best]]
    of_experts = course.expert_losses - of_best
    of_mixture = course.mixture_losses - of_best[:, 0]
    coloured = colours(course)
    ax.plot(course.rows, course.regret, "k", linewidth=3, label="AdaHedge", zorder=3)
    label = "AdaHedge, mean prediction"
    ax.plot(course.rows, of_mixture, "k--", linewidth=2, label=label, zorder=3)
    for k, colour in coloured.items():
        ax.plot(course.rows, of_experts[:, k], colour, label=course.names[k])
    others = np.delete(of_experts, list(coloured), axis=1)
    lines = ax.plot(course.rows, others, OTHERS, linewidth=0.8, zorder=1)
    lines[0].set_label("other experts")
    # Some of the others go far beyond.
    shown = np.column_stack([course.regret, of_mixture, of_experts[:, list(coloured)]])
    margin = 0.05 * np.ptp(shown)
    ax.set(
        title="Cumulative loss less that of the best expert",
        xlabel="row",
        xlim=(0, course.rows[-1]),
        ylim=(shown.min() - margin, shown.max() + margin),
    )
    ax.spines[["top", "right"]].set_visible(False)


def draw_weights(ax, course):
    coloured = colours(course)
    others = np.delete(course.weights, list(coloured), axis=1).sum(axis=1)
    ax.stackplot(
        course.rows,
        *(course.weights[:, k] for k in coloured),
        others,
        colors=[*coloured.values(), OTHERS],
    )
    ax.set(title="Weights", xlabel="row", xlim=(0, course.rows[-1]), ylim=(0, 1))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.spines[["top", "right"]].set_visible(False)


# %%
# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description=(
            "Let AdaHedge find the best of many learners, on data that come with "
            "scikit-learn or on a CSV file."
        ),
        epilog=(
            "A CSV file is read in chunks of 20,000 rows, which are learned in their "
            "order. Its target holds classes if it is text, or if the first chunk has "
            "at most 20 different numbers, all whole; a class that first shows up in a "
            "later one is an error. Text in features is one-hot encoded; for a missing "
            "number stands the mean of its column in the first chunk."
        ),
    )
    add_file_options(parser)
    add_output_dir(parser, "figure")
    return parse_file_options(parser, argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    if arguments.data is None:
        stream = digits()
    else:
        stream = stream_from_csv(arguments.data, arguments.target)
    # Compiling takes longer than learning so few rows.
    with config_context(engine=engine_for(stream.n_rows)):
        course = follow(stream)

    print(table(course))
    for sentence in conclusions(course):
        print(fill(sentence, width=83))

    save_figure(draw(course), arguments.output_dir / "adahedge.png")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
