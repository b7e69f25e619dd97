"""Options, files, models, printing and error messages of the commands."""

import os
import re
import sys
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path

from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._files import check_regular_file
from ..persistence import import_skops, load
from ..preprocessing import TableEncoder
from ..streams import read_table
from ..streams.columns import LateType
from ..streams.errors import is_float, quote
from ..streams.files import FORMATS, find_files, format_of
from ..streams.reading import ON_BAD_ROW

EXIT_STATUS = """\
exit status:
  0    success
  1    bad data, file or model, as the message says, or a closed output
  2    bad command line
  130  interrupted
"""

FILES_HELP = "file, folder or pattern of names"

#: Types of columns by their kinds.
TYPES_OF_KINDS = {
    "number": "float64",
    "category": "string",
    "text": "string",
    "boolean": "bool",
    "date": "timestamp[us]",
    "time": "time64[us]",
}


# Arguments.


def add_reading(parser):
    """Add the options for reading files."""
    add = parser.add_argument_group("reading").add_argument
    add(
        "--on-bad-row",
        choices=ON_BAD_ROW,
        default="error",
        help="what to do with a row that cannot be read (default: %(default)s)",
    )
    add(
        "--chunk-rows",
        type=positive_int,
        default=2**15,
        metavar="N",
        help="rows to read at once (default: %(default)s)",
    )
    add(
        "--file-format",
        choices=["auto", *(name for name in FORMATS if name != "libsvm")],
        default="auto",
        help="of all files; auto goes by their names (default: %(default)s)",
    )
    add("--delimiter", metavar="CHARACTER", help="between the values of a CSV file")
    add("--encoding", metavar="NAME", help="of text, such as latin-1 (default: utf-8)")
    add(
        "--null-value",
        dest="null_values",
        action="append",
        metavar="TEXT",
        help="text of missing values in CSV files, besides the empty one; may be given "
        "several times (default: NA, NaN, null and the like)",
    )
    add(
        "--column-type",
        dest="column_types",
        type=pair,
        action="append",
        default=[],
        metavar="COLUMN=TYPE",
        help="type of a column, such as zip=string; may be given several times",
    )


def add_output(parser, description):
    """Add the options for writing CSV."""
    parser.add_argument("--output", metavar="FILE", help=description)
    parser.add_argument(
        "--escape-formulas",
        action="store_true",
        help="write an apostrophe before text that looks like a formula, such as =1+1",
    )


def positive_int(text):
    """Parse a whole number above 0."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def probability(text):
    """Parse a number between 0 and 1, both excluded."""
    if not 0.0 < float(text) < 1.0:
        raise ValueError
    return float(text)


def pair(text):
    """Parse a pair of name and value, as in name=value."""
    name, is_there, value = text.rpartition("=")
    if not (name and is_there and value):
        raise ValueError
    return name, value


# Files.


def open_stream(arguments, files, kinds=None, **options):
    """Open a stream of files by the options of :func:`add_reading` and further ones.

    `kinds` are known kinds of columns.
    """
    types = {}
    is_csv = format_of(find_files(files), arguments.file_format) == "csv"
    for name, kind in (kinds or {}).items():
        if kind in TYPES_OF_KINDS:  # numbers and texts look alike in CSV files
            is_type = is_csv and kind in ("number", "category", "text")
            types[name] = (str if is_type else LateType)(TYPES_OF_KINDS[kind])
    types |= arguments.column_types
    return read_table(
        files,
        chunk_rows=arguments.chunk_rows,
        file_format=arguments.file_format,
        column_types=types or None,
        delimiter=arguments.delimiter,
        encoding=arguments.encoding,
        null_values=arguments.null_values,
        **{"on_bad_row": arguments.on_bad_row, **options},
    )


def check_not_read(path, files):
    """Refuse to write to a file that is read."""
    if path is None or not os.path.isfile(path):
        return
    for file in files:
        if os.path.samefile(file, path):
            same = "" if str(file) == path else f" ({file})"
            raise FileExistsError(
                f"{path}{same} is an input: writing to it would destroy it."
            )


@contextmanager
def read_chunks(stream):
    """Read the first chunk of a stream; yield it, and an iterator over all chunks."""
    with closing(iter(stream)) as chunks:
        first = next(chunks, None)
        if first is None:
            files = ", ".join(stream.files)
            if stream.n_bad_rows:
                raise ValueError(f"{files} has no good rows: {stream.bad_rows[0]}")
            raise ValueError(f"{files} has no rows.")
        yield first, chain([first], chunks)


# Models.


def load_model(path):
    """Load a fitted model."""
    model = load(path)
    is_estimator = isinstance(model, BaseEstimator)
    if not (is_estimator and (is_classifier(model) or is_regressor(model))):
        raise ValueError(f"{path} is not a classifier or regressor.")
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise ValueError(f"The model of {path} has not learned anything.") from None
    return model


def encoder_of(model):
    """Return the encoder before a model's last step, or None."""
    steps = model[:-1] if isinstance(model, Pipeline) else ()
    return next((step for step in steps if isinstance(step, TableEncoder)), None)


def has_intervals(model):
    """Whether a model predicts intervals."""
    return hasattr(model, "predict_interval")


def check_can_save(path):
    """Raise an error, before any work, if no model can be saved there."""
    import_skops("save")
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    check_regular_file(path)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written to: permission denied.")


def known_columns(model, target=None):
    """Return the columns of a model and their kinds, for :func:`open_stream`."""
    names, kinds = getattr(model, "feature_names_in_", None), {}
    if encoder := encoder_of(model):
        kinds = dict(encoder.kinds_)
        if model[0] is encoder:
            names = [*kinds]  # without those that are dropped
        else:  # the encoder has columns that the steps before it make
            kinds = {name: kinds[name] for name in names if name in kinds}
    if target is not None and (kind := _kind_of_target(model)):
        kinds[target] = kind
    return {"columns": None if names is None else list(names), "kinds": kinds}


def _kind_of_target(model):
    if is_regressor(model):
        return "number"
    return {"b": None, "i": "number", "u": "number", "f": "number"}.get(
        model.classes_.dtype.kind, "category"
    )


# Printing, and writing CSV.

#: Beginning of a text that spreadsheets take for a formula.
FORMULA = re.compile(r"[=+\-@\t\r].", re.DOTALL)


def csv_cells(texts, is_escaped):
    """Return a function that makes cells of CSV, given all texts to be written.

    It writes an apostrophe before formulas if `is_escaped`; else a message warns.
    """
    formulas = [text for text in texts if _is_formula(text)]
    if formulas and not is_escaped:
        print_line(
            f"Spreadsheets take {quote(str(formulas[0]))!r} for a formula: import the "
            "column as text, or pass --escape-formulas.",
            file=sys.stderr,
        )
    escaped = {text: f"'{text}" for text in formulas if is_escaped}
    return lambda value: escaped.get(value, value)


def _is_formula(text):
    return isinstance(text, str) and FORMULA.match(text) and not is_float(text)


def print_line(text="", **options):
    """Print a line, with characters escaped that a terminal takes for commands."""
    if not text.isprintable():
        letters = (each if each.isprintable() else ascii(each)[1:-1] for each in text)
        text = "".join(letters)
    print(text, **options)


# Errors.

# Options of the command line by the parameters of the library.
OPTIONS = {
    "columns": "--columns",
    "delimiter": "--delimiter",
    "encoding": "--encoding",
    "file_format": "--file-format",
    "null_values": "--null-value",
    "on_bad_row": "--on-bad-row",
    "sample_weight": "--weight",
    "target": "--target",
}
OPTION = re.compile(rf"(^|pass |, or )({'|'.join(OPTIONS)})=(?:'([^']*)')?")
CLASSES = re.compile(r"Pass all labels .* as classes= .* set new_classes='add'\.")
DROPPED = re.compile(r"(Column '(.*?)' .*), by its kind 'drop'")
COLUMN_TYPES = re.compile(r"pass column_types=\{'(.*)': '([^']+)'\}")


def describe_error(error):
    """Describe an error in one sentence."""
    if isinstance(error, KeyboardInterrupt):
        message = "Interrupted."
    elif isinstance(error, OSError) and error.filename and error.strerror:
        message = f"{error.filename}: {error.strerror}."
    elif isinstance(error, (OSError, ValueError, TypeError, ImportError)):
        message = in_options(str(error))
    elif isinstance(error, MemoryError):
        message = "There is not enough memory."
    else:
        message = (
            f"{type(error).__name__}: {error} (This is a bug; --traceback shows where.)"
        )
    if message and not message.endswith((".", ".)")):  # as scikit-learn's do
        message += "."
    words = " ".join([message, *getattr(error, "__notes__", [])]).split()
    return " ".join(words) or type(error).__name__


def in_options(message):
    """Replace names of the library in a message by those of the command line."""
    message = message.replace(
        "sklearn_scinol.compile(estimator, X, y)", "`sklearn-scinol compile`"
    )
    message = CLASSES.sub("Name all labels with --classes, or leave it out.", message)
    message = DROPPED.sub(r"\1: pass --kind \2=drop", message)
    message = COLUMN_TYPES.sub(r"pass --column-type \1=\2", message)
    return OPTION.sub(_option, message)


def _option(found):
    before, name, value = found.groups()
    return f"{before}{OPTIONS[name]}" + ("" if value is None else f" {value}")
