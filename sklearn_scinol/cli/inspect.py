"""Show a saved model and its largest terms.

A term is the coefficient of a feature. Numbers are standardised, so that terms can be
compared, but for those of the estimator newton.
"""

import csv
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_feature_names_in

from .._files import replacing
from .._optional import import_optional
from . import common

#: Plurals of kinds.
PLURALS = {
    "number": "numbers",
    "category": "categories",
    "boolean": "booleans",
    "date": "dates",
    "time": "times of the day",
    "text": "texts",
    None: "undecided",
}


def add_arguments(parser):
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model that was saved")
    parser.add_argument(
        "--top",
        type=common.positive_int,
        default=20,
        metavar="N",
        help="number of terms to show (default: %(default)s)",
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the terms of each column of the table, those that vary most, as PNG "
        "or any other format of Matplotlib, by the name's ending",
    )
    parser.add_argument(
        "--plot-class",
        metavar="LABEL",
        help="class to draw the terms of, if there are more than two (default: the "
        "first)",
    )
    common.add_output(parser, "write all terms that are not 0 as CSV")


def run(arguments):
    """Print facts about the model, and its terms."""
    common.check_not_read(arguments.output, [arguments.model])
    common.check_not_read(arguments.plot, [arguments.model])
    if arguments.plot_class is not None and arguments.plot is None:
        arguments.error("--plot-class needs --plot")
    model, _ = common.load_with_progress(arguments.model)
    for name, value in _facts(model):
        common.print_line(f"{name:12}{value}")
    model = getattr(model, "_explained", model)
    if arguments.plot:
        _plot(model, arguments.plot, arguments.plot_class)
    try:
        outputs = _terms(model)
    except AttributeError as error:
        message = f"There are no terms to show: {error}"
        if arguments.output:
            raise ValueError(message) from None
        common.print_line()
        common.print_line(message)
        return
    for label, intercept, names, coef in outputs:
        of_output = "" if label is None else f" of {label}"
        common.print_line()
        common.print_line(f"The largest of {len(coef):,} terms{of_output}:")
        common.print_line(f"{intercept:>+14.5g}  (intercept)")
        for name, value in list(zip(names, coef, strict=True))[: arguments.top]:
            common.print_line(f"{value:>+14.5g}  {name}")
    if arguments.output:
        _write(outputs, arguments.output, arguments.escape_formulas)


def _facts(model):
    """Yield facts about a model: names and values."""
    steps = model.steps if isinstance(model, Pipeline) else [("", model)]
    yield "model", ", ".join(" ".join(repr(step).split()) for _, step in steps)
    n_rows = getattr(model, "n_samples_seen_", 0)
    if n_rows:
        yield "rows", f"{n_rows:,}"
        loss = model.cumulative_loss_
        yield "loss", f"{loss:.6g}, {loss / n_rows:.6g} a row, before each was learned"
    if is_classifier(model):
        yield "classes", ", ".join(map(str, model.classes_))
    if encoder := common.encoder_of(model):
        for kind, plural in PLURALS.items():
            names = [name for name, each in encoder.kinds_.items() if each == kind]
            if names:
                yield plural, ", ".join(names)


def _terms(model):
    """Return name, intercept, and features and coefficients, largest first, by output.

    Raise AttributeError if the model has no coefficients.
    """
    if isinstance(model, Pipeline):
        final, names = model[-1], model[:-1].get_feature_names_out()
    else:
        final, names = model, _check_feature_names_in(model)
    final = getattr(final, "_explained", final)
    coefs = np.atleast_2d(final.coef_)
    if (encoder := common.encoder_of(model)) and encoder.sparse_output:
        coefs[:, encoder._encoding.retired_columns()] = 0.0
    intercepts = np.broadcast_to(final.intercept_, len(coefs))
    labels = range(len(coefs)) if len(coefs) > 1 else [None]
    if is_classifier(model):
        labels = model.classes_[-len(coefs) :]
    outputs = []
    for label, intercept, coef in zip(labels, intercepts, coefs, strict=True):
        order = np.argsort(-np.abs(coef), kind="stable")[: np.count_nonzero(coef)]
        outputs.append((label, float(intercept), names[order], coef[order].tolist()))
    return outputs


def _plot(model, path, label):
    """Draw the terms of a model into a file."""
    pyplot = import_optional("matplotlib.pyplot", "`--plot`")
    try:
        plot_terms = model.plot_terms
    except AttributeError as error:
        reason = str(error.__cause__ or error).rstrip(".")  # scikit-learn says less
        raise ValueError(f"There are no terms to plot: {reason}.") from None
    output = 0 if label is None else _output_of_class(model, label)
    pyplot.switch_backend("agg")  # no window
    figure = plot_terms(output=output).figure_
    try:
        if figure is None:
            raise ValueError("There are no terms to plot: no column had values yet.")
        with replacing(path) as file:
            figure.savefig(file, format=Path(path).suffix[1:], dpi=150)
    finally:
        pyplot.close(figure)


def _output_of_class(model, label):
    """Return the number of the output that is the decision of a class."""
    classes = [*map(str, model.classes_)] if is_classifier(model) else []
    if len(classes) < 3:
        raise ValueError("--plot-class is for models of more than two classes.")
    if label not in classes:
        raise ValueError(f"There is no class {label!r} (classes: {classes}).")
    return classes.index(label)


def _write(outputs, path, is_escaped):
    cell = common.csv_cells(is_escaped)
    with replacing(path, "x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["output", "term", "coefficient"])
        for label, intercept, names, coef in outputs:
            writer.writerow([cell(label), "(intercept)", intercept])
            for name, value in zip(names, coef, strict=True):
                writer.writerow([cell(label), cell(name), value])
