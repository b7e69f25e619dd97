"""
Regret and its bound on real data
=================================

Computes the regret and its bound along data that come with scikit-learn, against the
linear model of least loss, and against the best models in balls around 0. The figure
shows `regret_curve` for ScInOL1 and ScInOL2 against the best model in a ball of radius
1; the table has all models, at the end of the stream. Bounds grow with the weights:
they are most informative for models of moderate weights. The last column is the bound
of gradient descent whose learning rates, one for each feature, are tuned in hindsight.

To run it on all files of a folder::

    python examples/benchmarks/regret_certificate.py --data-dir FOLDER
"""

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from interface import add_output_dir, gives_status, panels, save_figure, show_progress
from quality import add_data_options, chosen_readers, read_data_sets

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor, config_context
from sklearn_scinol.evaluation import RegretCurveDisplay, best_comparator, regret_curve

# Norms of the weights, in units of 1 over the standard deviations of the features; in
# regression times the mean absolute target.
RADII = 0.1, 1.0, 10.0
SHOWN = 1.0

# The row at the far end of the linear part of the figure's scale.
LINEAR_UP_TO = 1.0

# %%
# Certificates
# ------------
#
# Units in which each feature is about 1 suit all algorithms; ScInOL's predictions are
# the same in any units.


@dataclass
class Certificate:
    """A learner on a stream, and a comparator."""

    data_set: str
    learner: str
    radius: float | None
    result: object

    @property
    def holds(self):
        """Whether the regret is below the bound at each point, but for rounding."""
        result = self.result
        rounding = 1e-9 * (result.cumulative_loss + result.comparator_loss)
        return bool((result.regret <= result.bound + rounding).all())


def learners(n_classes):
    estimator = ScInOLRegressor if n_classes is None else ScInOLClassifier
    return {
        name: estimator(algorithm=name.lower(), center=False)
        for name in ("ScInOL1", "ScInOL2")
    }


def in_their_deviations(X):
    """Divide features by their standard deviations."""
    squares = X.multiply(X) if hasattr(X, "multiply") else X * X
    mean, square = (np.asarray(part.mean(axis=0)).ravel() for part in (X, squares))
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    deviation[deviation <= 1e-12 * np.sqrt(square)] = 1.0
    if hasattr(X, "multiply"):
        return X.multiply(1.0 / deviation).tocsr()
    return X / deviation


def comparators(X, data_set):
    """Return the best model for each radius of the ball; None stands for no ball."""
    regression = data_set.n_classes is None
    loss = "absolute_error" if regression else "log_loss"
    classes = {} if regression else {"classes": np.arange(data_set.n_classes)}
    for radius in (*RADII, None):
        in_units = None if radius is None else radius * data_set.target_scale
        yield (
            radius,
            best_comparator(X, data_set.y, loss=loss, radius=in_units, **classes),
        )


def certify(data_set):
    """Return certificates of each learner against each comparator."""
    X = in_their_deviations(data_set.X)
    n_classes = data_set.n_classes
    found = []
    for radius, comparator in comparators(X, data_set):
        for name, estimator in learners(n_classes).items():
            result = regret_curve(
                estimator,
                [(X, data_set.y)],
                comparator=comparator,
                classes=None if n_classes is None else np.arange(n_classes),
                progress=False,
            )
            found.append(Certificate(data_set.name, name, radius, result))
    return found


# %%
# Table and figure
# ----------------


def table(certificates):
    columns = "{:>8}  {:<8}{:>14}{:>14}{:>12}{:>14}{:>14}".format
    first = certificates[0]
    n_rows = first.result.n_samples[-1]
    header = columns(
        "radius", "learner", "its loss", "the best's", "regret", "bound", "if tuned"
    )
    lines = [f"{first.data_set}: {n_rows:,} rows", header, "-" * len(header)]
    for certificate in certificates:
        result, radius = certificate.result, certificate.radius
        lines.append(
            columns(
                "none" if radius is None else f"{radius:g}",
                certificate.learner,
                f"{result.cumulative_loss[-1]:,.1f}",
                f"{result.comparator_loss[-1]:,.1f}",
                f"{result.regret[-1]:,.1f}",
                f"{result.bound[-1]:,.1f}",
                f"{result.tuned_bound[-1]:,.1f}",
            )
        )
    return "\n".join([*lines, ""])


def conclusion(certificates):
    n_points = sum(len(c.result.n_samples) for c in certificates)
    n_broken = sum(not c.holds for c in certificates)
    if n_broken:
        return f"{n_broken} of {len(certificates)} certificates do not hold."
    return (
        f"All {len(certificates)} certificates hold: at none of {n_points:,} points "
        "was the regret above its bound."
    )


def draw(by_data_set):
    figure, axes = panels(len(by_data_set), 2, 5.5, 3.6)
    for ax, certificates in zip(axes, by_data_set, strict=True):
        for certificate in certificates:
            if certificate.radius == SHOWN:
                RegretCurveDisplay.from_result(
                    certificate.result, name=certificate.learner, ax=ax
                )
        ax.set_yscale("symlog", linthresh=LINEAR_UP_TO)
        ax.set_title(certificates[0].data_set)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


# %%
# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description=(
            "Show the regret of ScInOL beside its bound, on data that come with "
            "scikit-learn or on those of a folder."
        )
    )
    add_data_options(parser)
    add_output_dir(parser, "figure")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    readers = chosen_readers(arguments)
    if arguments.data_dir is None and not arguments.only:
        del readers["digits"]  # the best in a ball of 650 weights takes minutes
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    by_data_set = []
    with config_context(engine="numpy" if arguments.data_dir is None else "auto"):
        data_sets = read_data_sets(readers, arguments.max_rows, arguments.in_order)
        for data_set in show_progress(data_sets, "Certifying"):
            by_data_set.append(certify(data_set))
            print(table(by_data_set[-1]))
    print(conclusion([c for certificates in by_data_set for c in certificates]))

    path = arguments.output_dir / "regret_certificate.png"
    save_figure(draw(by_data_set), path, bbox_inches=None)


if __name__ == "__main__" and (status := main()):
    sys.exit(status)
