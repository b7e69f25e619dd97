"""Options, files, models, printing and error messages of the commands."""

import os
import re
import shlex
import sys
from argparse import ArgumentTypeError
from contextlib import closing
from functools import partial
from pathlib import Path

from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from .._files import check_regular_file
from .._optional import import_optional
from .._validation import is_fitted
from ..preprocessing import TableEncoder
from ..streams import read_table
from ..streams.columns import LateType
from ..streams.errors import is_float, quote
from ..streams.files import FORMATS, find_files, format_of
from ..streams.pipes import Pipe
from ..streams.reading import ON_BAD_ROW

EXIT_STATUS = """\
exit status:
  0    success
  1    bad data, file or model, as the message says, or a closed output
  2    bad command line
  130  interrupted
"""

#: Name of standard input among the files.
STDIN = "-"

#: Options that name a column.
COLUMN_ROLES = "target", "weight", "time", "label_time"

FILES_HELP = f"file, folder or pattern of names, or {STDIN} for standard input"

#: Maximum memory that unpacking a model may take, of wide tables.
MAX_BYTES = 2**33

#: Options of :func:`add_reading` that are parameters of `read_table`.
OF_READING = (
    *("chunk_rows", "delimiter", "encoding"),
    *("file_format", "null_values", "on_bad_row"),
)

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
    add(
        "--delimiter",
        type=lambda text: text.replace(r"\t", "\t"),
        metavar="CHARACTER",
        help=r"between the values of a CSV file, such as '\t'",
    )
    add("--encoding", metavar="NAME", help="of text, such as latin-1 (default: utf-8)")
    for name, what in (
        ("missing", "a column of the model, or of the first file, that a file lacks"),
        ("new", "a column that the files of `learn` did not have"),
    ):
        add(
            f"--{name}-columns",
            choices=["error", "ignore"],
            help=f"what to do with {what} (default: as the model was learned with, "
            "at first error)",
        )
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
        raise ArgumentTypeError(f"expected a name, = and a value, got {text!r}")
    return name, value


# Files.


def open_stream(arguments, files, model, names, kinds, columns, keep=(), **options):
    """Open a stream of files for a model, by the options of :func:`add_reading`.

    `names` are all columns of the files that the model has learned; None stands for
    those that it knows, and an empty list for a new model. `kinds` and `columns` are of
    :func:`known_columns`, `keep` names of columns of which the text is wanted as it is,
    and `options` further ones of `read_table`.
    """
    file_format, types = format_of(find_files(files), arguments.file_format), {}
    is_json, is_of_text = file_format == "json", file_format in ("csv", "json")
    if columns is not None:
        added = [name for name in dict.fromkeys(keep) if name not in columns]
        columns = [*columns, *added]
        if is_of_text:
            types = dict.fromkeys(added, "string")
    for name, kind in kinds.items():
        if kind in TYPES_OF_KINDS:  # numbers and texts look alike in text files
            is_text = kind in ("category", "text") and is_of_text
            is_amount = kind == "number" and name == options.get("target")
            is_type = is_text or (is_amount and not is_json)  # else the file's own
            types[name] = (str if is_type else LateType)(TYPES_OF_KINDS[kind])
    types |= arguments.column_types
    encoder = encoder_of(model)
    for name in "missing_columns", "new_columns":
        options[name] = getattr(arguments, name) or getattr(encoder, name, "error")
    if names == [] and arguments.columns:  # files may have others
        options["new_columns"] = "ignore"
    if names is None:
        roles = (getattr(arguments, each, None) for each in COLUMN_ROLES)
        names = [*getattr(model, "feature_names_in_", ()), *filter(None, roles)]
    options = {name: getattr(arguments, name) for name in OF_READING} | options
    stream = read_table(files, columns=columns, column_types=types or None, **options)
    if missing := [name for name in keep if name not in stream.columns]:
        raise ValueError(f"{stream.files[0]} has no column {missing[0]!r} to keep.")
    new = {*stream.columns} - {*names, *(columns or ()), *keep} if names else {}
    if new and options["new_columns"] == "error":
        raise ValueError(
            f"{stream.files[0]} also has {quote(str(sorted(new))[1:-1])}, which the "
            "model does not know: pass --new-columns ignore to leave such columns out."
        )
    return stream


def check_not_read(path, files):
    """Refuse to write to a file that is read."""
    if path is None or not os.path.isfile(path):
        return
    for file in files:
        if not isinstance(file, Pipe) and os.path.samefile(file, path):
            same = "" if str(file) == path else f" ({file})"
            raise FileExistsError(
                f"{path}{same} is an input: writing to it would destroy it."
            )


def open_standard_input(arguments):
    """Set `arguments.paths` to the files, where standard input is a pipe."""
    arguments.paths = arguments.files
    if STDIN not in arguments.files:
        return
    if arguments.files.count(STDIN) > 1:
        arguments.error("standard input can be read only once")
    if sys.stdin is None:
        raise ValueError("standard input is closed.")
    file = sys.stdin.buffer  # whose lock a thread must not hold when Python ends
    pipe = Pipe(STDIN, "standard input", getattr(file, "raw", file))
    arguments.paths = [pipe if each == STDIN else each for each in arguments.files]


def read_first(stream, on_bad_row):
    """Return the first chunk of a stream; `on_bad_row` counts if all rows are bad."""
    for how in "skip", on_bad_row:
        stream._on_bad_row = how
        with closing(iter(stream)) as chunks:
            if (first := next(chunks, None)) is not None:
                return first
    raise no_rows(stream)


def no_rows(stream):
    """Return an error about a stream without good rows."""
    files = ", ".join(stream.files)
    if stream.n_bad_rows:
        return ValueError(f"{files} has no good rows: {stream.bad_rows[0]}")
    return ValueError(f"{files} has no rows.")


# Models.


def load_with_progress(path):
    """Load a fitted model, and what `learn` has saved with it, if any."""
    from .. import persistence

    model, progress = persistence.load_with_progress(path, max_bytes=MAX_BYTES)
    is_estimator = isinstance(model, BaseEstimator)
    if not (is_estimator and (is_classifier(model) or is_regressor(model))):
        raise ValueError(f"{path} is not a classifier or regressor.")
    if not is_fitted(model):
        raise ValueError(f"The model of {path} has not learned anything.")
    return model, progress


def encoder_of(model):
    """Return the encoder before a model's last step, or None."""
    steps = model[:-1] if isinstance(model, Pipeline) else ()
    return next((step for step in steps if isinstance(step, TableEncoder)), None)


def check_can_save(path):
    """Raise an error, before any work, if no model can be saved there."""
    import_optional("skops.io", "`save`")
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


def csv_cells(is_escaped):
    """Return a function that makes cells of CSV.

    It writes an apostrophe before formulas if `is_escaped`; else a message warns, once.
    """
    warned = []

    def cell(value):
        is_formula = isinstance(value, str) and FORMULA.match(value)
        if not is_formula or is_float(value):
            return value
        if is_escaped:
            return f"'{value}"
        if not warned:
            warned.append(value)
            print_line(
                f"Spreadsheets take {quote(value)!r} for a formula: import the column "
                "as text, or pass --escape-formulas.",
                file=sys.stderr,
            )
        return value

    return cell


def print_line(text="", **options):
    """Print a line, with characters escaped that a terminal takes for commands."""
    if not text.isprintable():
        letters = (each if each.isprintable() else ascii(each)[1:-1] for each in text)
        text = "".join(letters)
    print(text, **options)


# Errors.

# Parameters of the library for which there are options, and other names of these.
PARAMETERS = (
    *("columns", "delay", "delimiter", "encoding", "file_format", "label_time"),
    *("missing_columns", "new_columns", "null_values", "on_bad_row"),
    *("sample_weight", "target", "time"),
)
OTHER_NAMES = {"null_values": "null-value", "sample_weight": "weight"}
BEFORE = "^|pass |either | or | and |needs |With "
OPTION = re.compile(rf"({BEFORE})({'|'.join(PARAMETERS)})=(?:'([^']*)')?")
CLASSES = re.compile(r"Pass all labels .* as classes= .* set new_classes='add'\.")
DROPPED = re.compile(r"(Column '(.*?)' .*), by its kind 'drop'")
COLUMNS = re.compile(r"(: pass|, or) columns= with[\w ]*(?=\.)")
NO_COLUMN = re.compile(r"[^:]* has no columns? .* \(columns: ")
MAX_MODEL = re.compile(r"pass (`max_bytes=\d+`)")
LEAVE_OUT = "to leave such rows out"
COLUMN_TYPES = re.compile(r"pass column_types=\{'(.*)': '([^']+)'\}")


def describe_error(error, arguments=None):
    """Describe an error in one sentence, with what the command's options can do."""
    if isinstance(error, KeyboardInterrupt):
        message = "Interrupted."
    elif isinstance(error, OSError) and error.strerror:
        message = ": ".join(map(str, filter(None, (error.filename, error.strerror))))
    elif isinstance(error, (OSError, ValueError, TypeError, ImportError)):
        message = str(error)
        if arguments is not None:
            message = advise(message, arguments)
        message = in_options(message)
    elif isinstance(error, MemoryError):
        message = "There is not enough memory."
    else:
        message = (
            f"{type(error).__name__}: {error} (This is a bug; --traceback shows where.)"
        )
    if message and not message.endswith((".", ".)")):  # as scikit-learn's do
        message += "."
    message = " ".join(message.split())  # notes have names of files
    words = " ".join([message, *getattr(error, "__notes__", [])])
    return words or type(error).__name__


def advise(message, arguments):
    """Replace advice that is for other commands or models by what can be done now."""
    is_prediction = arguments.command == "predict"
    if not (is_prediction or getattr(arguments, "resume", None)):
        return COLUMN_TYPES.sub(partial(_kind_or_type, arguments), message)
    if is_prediction:
        message = message.replace(LEAVE_OUT, "to leave their predictions empty")
    found = COLUMN_TYPES.search(message)
    if found:
        name, kind = found.groups()
        is_target = name == getattr(arguments, "target", None)
        option = f"--column-type {name}={kind}"
        if kind == "string" and not is_target:
            option = f"--kind {name}=category"
        anew = f"or learn anew with {option}"
        before, _, after = message.partition(f"{found[0]}, or ")
        if after:
            return f"{before}pass {after.rstrip('.')}, {anew}."
        return f"{message[: found.start()]}{anew.removeprefix('or ')}."
    message = CLASSES.sub("Leave such rows out, or learn anew with --classes.", message)
    message = DROPPED.sub(r"\1: learn anew with --kind \2=drop", message)
    message = COLUMNS.sub("", message)
    if NO_COLUMN.match(message) and ": pass " not in message:
        which = "them" if " no columns " in message else "it"
        remedy = f"pass missing_columns='ignore' to take {which} as missing"
        message = f"{message.rstrip('.')}: {remedy}."
    return message


def _kind_or_type(arguments, found):
    """Return the option with which a new model takes a column for categories."""
    name, kind = found.groups()
    if kind == "string" and name in dict(getattr(arguments, "kinds", None) or ()):
        return f"pass --kind {name}=category"
    return found[0]


def in_options(message):
    """Replace names of the library in a message by those of the command line."""
    message = message.replace(
        "sklearn_scinol.compile(estimator, X, y)", "`sklearn-scinol compile`"
    )
    message = re.sub("^column_types: ", "--column-type or --kind: ", message)
    message = message.replace(", 'libsvm')", ")")  # whose features have no names
    message = MAX_MODEL.sub("load it in Python with \\1", message)
    message = CLASSES.sub("Name all labels with --classes, or leave it out.", message)
    message = DROPPED.sub(r"\1: pass --kind \2=drop", message)
    message = COLUMN_TYPES.sub(r"pass --column-type \1=\2", message)
    return OPTION.sub(_option, message)


def _option(found):
    before, name, value = found.groups()
    option = OTHER_NAMES.get(name, name.replace("_", "-"))
    return f"{before}--{option}" + (f" {shlex.quote(value)}" if value else "")
