"""Predict the rows of files with a saved model, and write CSV, a line for each row.

Lines are in the order of the rows. With --on-bad-row skip or warn, a row that cannot be
read has empty cells, and --reason tells why. A model that learned with
--confidence-level also writes the ends of its intervals. Columns are found by their
names, and others that the files of `learn` had, such as the target, are ignored. With
--output, a report is printed in the end. Rows of standard input (-) wait for about a
second until they are predicted.
"""

import csv
import json
import os
import sys
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np

from .._files import replacing
from .._validation import last_step
from ..streams.files import find_files
from ..tables.frames import MAX_WHOLE
from ..tables.inputs import MEASURES
from . import common, report

#: Names of the columns with predictions, numbers of rows, and reasons.
PREDICTION, FILE, ROW, REASON = "prediction", "file", "row", "reason"


def add_arguments(parser):
    """Add the arguments of the command."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help=common.FILES_HELP)
    add("--model", required=True, metavar="FILE", help="model that was saved")
    common.add_output(
        parser, "where to write, all or nothing (default: standard output)"
    )
    proba_help = "write the probability of each class, in a column named by the class"
    add("--proba", action="store_true", help=proba_help)
    add(
        "--keep",
        action="append",
        default=[],
        metavar="COLUMN",
        help="also write this column, such as an identifier; may be given again",
    )
    add(
        "--row-number",
        action="store_true",
        help="also write the number of each row in its file, without header, from 1, "
        "and the file if there are several",
    )
    add(
        "--reason",
        action="store_true",
        help="also write why a row has no prediction, with --on-bad-row skip or warn",
    )
    add("--report", metavar="FILE", help=report.HELP)
    common.add_reading(parser)


def run(arguments):
    """Predict chunk by chunk."""
    common.open_standard_input(arguments)
    files = find_files(arguments.paths)
    common.check_not_read(arguments.output, [*files, arguments.model])
    report.check(arguments.report, [*files, arguments.model])
    model, progress = common.load_with_progress(arguments.model)
    if arguments.proba and not hasattr(model, "predict_proba"):
        raise ValueError(f"The model of {arguments.model} has no probabilities.")
    lines, record = _Lines(arguments, model, files), report.Report("predicted")
    known = common.known_columns(model)
    names = (progress or {}).get("names")
    stream = common.open_stream(
        arguments, arguments.paths, model, names, **known, keep=arguments.keep
    )
    with _output(arguments.output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(lines.cell, lines.header))
        for chunk in record.chunks(stream):
            writer.writerows(lines.of(chunk, stream, known["columns"]))
            file.flush()  # rows of a pipe may come slowly
    found = record.finish(lines.shares_by_column())
    report.write(arguments.report, found)
    if arguments.output:  # else standard output has the lines
        report.print_report(found)
    if stream.n_bad_rows:
        common.print_line(
            f"{stream.n_bad_rows:,} bad rows have no prediction.", file=sys.stderr
        )


class _Lines:
    """Makes the lines of the output."""

    def __init__(self, arguments, model, files):
        self.arguments, self.model = arguments, model
        self.cell = common.csv_cells(arguments.escape_formulas)
        self.files = [*map(os.fspath, files)]
        self.names = [PREDICTION]
        if arguments.proba:
            self.names = model.classes_.tolist()
        elif hasattr(model, "predict_interval"):
            self.names += _names_of_ends(model)
        self.n_rows, self.sums = 0, {}
        numbers = [FILE] * (len(files) > 1) + [ROW] if arguments.row_number else []
        self.header = [*numbers, *arguments.keep, *self.names]
        self.header += [REASON] * arguments.reason
        twice = [name for name in arguments.keep if self.header.count(name) > 1]
        if twice:
            raise ValueError(f"--keep {twice[0]}: the output has this column already.")

    def of(self, chunk, stream, columns):
        """Yield the lines of a chunk, good rows and bad ones."""
        predicted = kept = iter(())
        if (X := chunk.rows) is not None:
            kept = _kept(X, self.arguments.keep)
            X = X if columns is None else X.select(columns)
            predicted = self._predictions(X)
            if self.arguments.report:
                self.n_rows += len(X)
                for name, sums in report.sums_by_column(self.model, X).items():
                    self.sums[name] = self.sums.get(name, 0 * sums) + sums
        bad = dict(zip(chunk.places, chunk.bad, strict=True))
        for place, number in enumerate(self._numbers(chunk.spans)):
            if (row := bad.get(place)) is None:
                line, reason = [*next(kept), *next(predicted)], ""
            else:
                own = _values_of(row, stream._reader)
                line = [own.get(name, "") for name in self.arguments.keep]
                line, reason = [*line, *[""] * len(self.names)], row.reason
            line = [*number, *line, *[reason] * self.arguments.reason]
            yield map(self.cell, line)

    def shares_by_column(self):
        """Return shares of what the model has not seen, or None if not reported."""
        if not self.n_rows:
            return None
        return {
            name: dict(zip(MEASURES, (sums / self.n_rows).tolist(), strict=True))
            for name, sums in self.sums.items()
        }

    def _numbers(self, spans):
        for span in spans:
            file = [self.files[span.file]] * (len(self.files) > 1)
            for row in range(span.row + 1, span.row + 1 + span.n_rows):
                yield [*file, row] if self.arguments.row_number else ()

    def _predictions(self, X):
        """Iterate over the cells of each row."""
        if self.arguments.proba:
            return iter(self.model.predict_proba(X).tolist())
        if hasattr(self.model, "predict_interval"):
            ends = self.model.predict_interval(X)
            ends = ends.reshape(len(ends), 2, -1).transpose(0, 2, 1)
            ends = ends.reshape(len(ends), -1)
            return iter(np.column_stack([self.model.predict(X), ends]).tolist())
        return ([each] for each in self.model.predict(X).tolist())


def _kept(X, names):
    """Return an iterator over the values of columns, row by row."""
    if not names:
        return iter([()] * len(X))
    columns = [map(_cell_of, X[name].to_pylist()) for name in names]
    return zip(*columns, strict=True)


def _cell_of(value):
    """Return a value as in a file: whole numbers, which are read as floats, are so."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_WHOLE:
        return int(value)
    return value


def _values_of(row, reader):
    """Return the values of a bad row by their columns, as far as they are known."""
    with suppress(Exception):  # of any kind: the row is bad
        if not hasattr(reader, "parsing"):
            return json.loads(row.text)
        (values,) = csv.reader([row.text], delimiter=reader.parsing.delimiter)
        return dict(zip(reader.names[row.path], values, strict=True))
    return {}


def _names_of_ends(model):
    """Return names of the ends of intervals: with several levels, of each."""
    levels = last_step(model).confidence_level
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
