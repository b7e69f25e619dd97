"""Predict the rows of files with a saved model, and write CSV, a line for each row.

A model that learned with --confidence-level also writes the ends of its intervals.
Columns are found by their names; others in the files, such as the target, are ignored.
"""

import csv
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from .._files import replacing
from ..streams.files import find_files
from .common import (
    FILES_HELP,
    add_output,
    add_reading,
    check_not_read,
    csv_cells,
    has_intervals,
    known_columns,
    load_model,
    open_stream,
    print_line,
)

#: Name of the column with predictions.
PREDICTION = "prediction"


def add_arguments(parser):
    """Add the arguments of the command."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help=FILES_HELP)
    add("--model", required=True, metavar="FILE", help="model that was saved")
    add_output(parser, "where to write, all or nothing (default: standard output)")
    proba_help = "write the probability of each class, in a column named by the class"
    add("--proba", action="store_true", help=proba_help)
    add_reading(parser)


def run(arguments):
    """Predict chunk by chunk."""
    files = find_files(arguments.files)
    check_not_read(arguments.output, [*files, arguments.model])
    model = load_model(arguments.model)
    if arguments.proba and not hasattr(model, "predict_proba"):
        raise ValueError(f"The model of {arguments.model} has no probabilities.")
    classes = model.classes_.tolist() if is_classifier(model) else []
    cell = csv_cells(classes, arguments.escape_formulas)
    stream = open_stream(arguments, arguments.files, **known_columns(model))
    names = [PREDICTION]
    if arguments.proba:
        names = classes
    elif has_intervals(model):
        names = [PREDICTION, *_names_of_ends(model)]
    with _output(arguments.output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(cell, names))
        for X in stream:
            if arguments.proba:
                writer.writerows(model.predict_proba(X).tolist())
            elif has_intervals(model):
                writer.writerows(_with_intervals(model, X).tolist())
            else:
                writer.writerows([cell(each)] for each in model.predict(X).tolist())
    if stream.n_bad_rows:
        print_line(
            f"{stream.n_bad_rows:,} bad rows have no prediction.", file=sys.stderr
        )


def _with_intervals(model, X):
    """Return predictions, lower and upper ends; with several levels, ends of each."""
    ends = model.predict_interval(X)
    ends = ends.reshape(len(ends), 2, -1).transpose(0, 2, 1)
    return np.column_stack([model.predict(X), ends.reshape(len(ends), -1)])


def _names_of_ends(model):
    last = model[-1] if isinstance(model, Pipeline) else model
    levels = last.confidence_level
    if np.ndim(levels) == 0:
        return ["lower", "upper"]
    return [f"{end}_{level:g}" for level in levels for end in ("lower", "upper")]


def _output(path):
    if path is None:
        sys.stdout.reconfigure(encoding="utf-8")
        return nullcontext(sys.stdout)
    if Path(path).exists() and not Path(path).is_file():  # such as a pipe
        return open(path, "w", encoding="utf-8", newline="")
    return replacing(path, "x", encoding="utf-8", newline="")
