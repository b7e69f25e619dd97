"""Learn from files in one pass, each row predicted before it is learned.

While it learns, a table shows at rows 1, 2, 4, 8, ... the mean loss of all predictions
so far and since the line before, then label, prediction and number of features of the
latest row. With --confidence-level it also shows the share of targets in their
intervals so far, and the mean width of these.

If a bad row or an interruption ends it early, --model is saved with the place in the
files, and a message names the command that goes on from there, with the same result to
the last bit as without a stop. After a crash or a kill, --resume goes on from the
latest save of --save-every. A model that came to the end of its files has no such
place: --resume then learns all rows of the given files, unless they are the same.

Standard input (-) is learned while it comes, a chunk when --chunk-rows have come, or
when no more come for about a second. The first chunk decides the task and the kinds of
columns: name them with --task, --kind and --column-type where few rows can mislead.
"""

import os
import re
import signal
import threading
from argparse import ArgumentTypeError
from contextlib import contextmanager, suppress
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_regressor

import sklearn_scinol

from .. import OnlineConformalRegressor
from ..estimators.regressor import with_quantiles
from ..evaluation.arrivals import Arrivals
from ..evaluation.monitor import LossMonitor
from ..evaluation.progressive import ProgressiveEstimator
from ..evaluation.scores import default_metrics
from ..pipeline import make_online_pipeline
from ..preprocessing import OnlineHistory, TableEncoder
from ..streams.arrow import pa
from ..streams.columns import as_array
from ..streams.errors import one_line, quote
from ..streams.files import find_files
from ..streams.rows import Position
from ..tables.frames import MAX_WHOLE
from ..tables.kinds import KINDS
from . import common, report, saving
from .scores import RunningTable, score_test

#: Beginning of the names of classifier and regressor of each family.
FAMILIES = {
    "hedge": "Hedge",
    "scinol": "ScInOL",
    "newton": "OnlineNewton",
    "implicit": "AdaImplicit",
    "dfeg": "DFEG",
    "adaftrl": "AdaFTRL",
}

#: Signals that interrupt.
SIGNALS = signal.SIGINT, signal.SIGTERM

#: Maximum number of distinct whole numbers that are taken for classes.
MAX_NUMERIC_CLASSES = 20

#: Patterns of numbers, amounts of money and percentages, and of dates.
NUMBER = re.compile(r"\W*+\d[\d.,'\s]*+(?:e[+-]?\d+)?+\W*+", re.IGNORECASE)
DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\b.*")


# Arguments.


def add_arguments(parser):
    """Add the arguments of the command."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help=common.FILES_HELP)
    add_columns(parser)
    add(
        "--test-file",
        action="append",
        default=[],
        metavar="FILE",
        help="score the model in the end on rows that it does not learn; may be given "
        "several times",
    )
    add(
        "--alarms",
        type=common.probability,
        nargs="?",
        const=LossMonitor().false_alarm,
        metavar="RATE",
        help="print a line when the losses have changed, with at most this rate of "
        "false alarms per row (default: %(const)s)",
    )
    add(
        "--delay",
        type=_delay,
        metavar="TIME",
        help="time between a row and its label: a number of rows or, with --time, such "
        "as 2d or 12h, or a number if times are numbers",
    )
    add(
        "--label-time",
        metavar="COLUMN",
        help="column with the times at which labels were known, instead of --delay; "
        "the model does not see it",
    )
    add("--report", metavar="FILE", help=report.HELP)
    add("-q", "--quiet", action="store_true", help="print the final report only")
    group = parser.add_argument_group("model")
    group.add_argument("--model", metavar="FILE", help="where to save the model")
    group.add_argument(
        "--save-every",
        type=saving.interval,
        metavar="TIME",
        help="save while it learns, between chunks: every 30s, 5m or 1h, or every so "
        "many rows",
    )
    add_estimator(parser, group)
    group.add_argument(
        "--from-start",
        action="store_true",
        help="with --resume: learn all rows of the files, also if some or all "
        "of them are learned",
    )
    common.add_reading(parser)


def add_columns(parser):
    """Add the options for columns with a role."""
    add = parser.add_argument
    add("--target", required=True, metavar="COLUMN", help="column to predict")
    add("--weight", metavar="COLUMN", help="column with weights of the rows")
    add(
        "--time",
        metavar="COLUMN",
        help="column with the times of rows in order, for --key and --delay",
    )


def add_estimator(parser, group):
    """Add the options for the model to learn with."""
    add = group.add_argument
    add_names = partial(add, type=column_names, metavar="A,B,...")
    add(
        "--resume",
        metavar="FILE",
        help="go on with a saved model, as it is: where it is in the files, if it did "
        "not come to their end, else with all rows",
    )
    new = [
        add_names("--columns", help="columns to learn from (default: all others)"),
        add(
            "--estimator",
            choices=FAMILIES,
            help="family of learners (default: hedge, which mixes several)",
        ),
        add(
            "--task",
            choices=["auto", "classification", "regression"],
            help="auto: the target holds classes if it is text, or if the first chunk "
            f"has at most {MAX_NUMERIC_CLASSES} different numbers, all whole; more "
            "different texts than these are refused if they look like numbers, dates "
            "or identifiers (default: auto)",
        ),
        add_names(
            "--classes",
            help="all classes, as in the file (default: those of the first chunk, to "
            "which later ones are added where the estimator can)",
        ),
        add(
            "--kind",
            dest="kinds",
            type=_kind,
            action="append",
            metavar="COLUMN=KIND",
            help=f"kind of a column: {', '.join(KINDS)}, or drop to leave it out; may "
            "be given several times (default: as the first chunk looks)",
        ),
        add_names(
            "--interactions",
            action="append",
            help="columns whose values are combined; may be given several times",
        ),
        add_names(
            "--key",
            dest="keys",
            action="append",
            help="column, or columns whose values together are a key, of which the "
            "history is learned: earlier rows, their numbers and targets; hour, "
            "weekday, day or month are those of --time; may be given several times",
        ),
        add(
            "--n-hashed",
            type=common.positive_int,
            metavar="N",
            help="columns that rare categories and words share (default: 262144)",
        ),
        add(
            "--confidence-level",
            type=common.probability,
            metavar="SHARE",
            help="learn prediction intervals that contain this share of the targets, "
            "such as 0.9; in regression",
        ),
    ]
    parser.set_defaults(new_model_options=new)


def column_names(text):
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError
    return names


def _delay(text):
    for kind in int, float:
        with suppress(ValueError):
            return kind(text)
    return text


def _kind(text):
    name, kind = common.pair(text)
    if kind not in (kinds := (*KINDS, "drop")):
        raise ArgumentTypeError(f"expected one of {kinds} for {name!r}, got {kind!r}")
    return name, kind


def check_options(arguments):
    """Refuse options that do not go together."""
    if arguments.columns and arguments.time not in (None, *arguments.columns):
        arguments.error(f"--columns lacks {arguments.time!r}, the column of --time")
    if arguments.resume:
        for option in arguments.new_model_options:
            if getattr(arguments, option.dest) is not None:
                arguments.error(
                    f"{option.option_strings[0]} is for new models: leave it out, "
                    "--resume goes on as the model was learned"
                )


# The command.


def run(arguments):
    """Learn, print scores, and save the model."""
    check_options(arguments)
    if arguments.save_every and not arguments.model:
        arguments.error("--save-every needs --model")
    if arguments.from_start and not arguments.resume:
        arguments.error("--from-start needs --resume")
    common.open_standard_input(arguments)
    files = find_files([*arguments.paths, *arguments.test_file])
    report.check(arguments.report, files)
    if arguments.model:
        common.check_can_save(arguments.model)
        common.check_not_read(arguments.model, files)
    arrivals = _arrivals(arguments)
    learning = open_learning(arguments, saving.roles_of(arguments, arrivals))
    learner = ProgressiveEstimator(
        learning.model, _metrics(learning.model), learning.classes
    )
    monitor = None if arguments.alarms is None else LossMonitor(arguments.alarms)
    table = RunningTable(learner, arguments.quiet, monitor, arrivals)
    found = _learn(arguments, learning, table)
    if arguments.test_file:
        found["test"] = _test(arguments, learning, learner)
    report.write(arguments.report, found)


def _test(arguments, learning, learner):
    """Score the model on rows that it does not learn; print and return the report."""
    model, facts = learning.model, learning.facts
    known = common.known_columns(model, arguments.target)
    stream = _open(arguments, model, arguments.test_file, known, facts)
    record = report.Report("predicted")
    chunks = (chunk.rows for chunk in record.chunks(stream) if chunk.rows is not None)
    result = score_test(learner, chunks, arguments.label_time)
    common.print_line()
    common.print_line(f"{', '.join(arguments.test_file)}, not learned:")
    return report.print_report(
        record.finish(result=result), int(result["n_samples"][-1])
    )


def _arrivals(arguments):
    """Return when labels come, or None if they come at once."""
    times = arguments.delay, arguments.time, arguments.label_time
    if times == (None, None, None) or (arguments.keys and times[::2] == (None, None)):
        return None
    try:
        return Arrivals(*times)
    except (TypeError, ValueError) as error:
        arguments.error(common.in_options(str(error)))


class Learning(NamedTuple):
    """A model and what it learns."""

    model: Any
    classes: Any
    stream: Any
    progress: dict  # of a saved model, whose position may be None
    facts: dict  # that are saved with the model, and are not progress


def open_learning(arguments, roles=None):
    """Return a new or a saved model and the stream for it to learn."""
    classes, progress = None, {"position": None}
    if arguments.resume:
        if roles is None:
            model, _ = common.load_with_progress(arguments.resume)
        else:
            model, progress = saving.load_progress(arguments, roles)
        known = common.known_columns(model, arguments.target)
        if progress["position"] is not None and common.STDIN not in progress["files"]:
            known = progress["known"]  # as the first rows were read
    else:
        known = {"columns": arguments.columns, "kinds": dict(arguments.kinds or ())}
        model, classes = _new_model(arguments, known)
        if is_regressor(model):
            known["kinds"][arguments.target] = "number"
    stream = _open(arguments, model, arguments.paths, known, progress)
    names = {*(stream.columns or ()), *(progress.get("names") or ())}
    facts = {"roles": roles, "known": known, "names": sorted(names)}
    return Learning(model, classes, stream, progress, facts)


def _open(arguments, model, files, known, progress):
    """Open files for a model, with the columns of which it knows."""
    columns, label_time = known["columns"], getattr(arguments, "label_time", None)
    if label_time and columns is not None:
        columns = [*columns, label_time]
    names = progress.get("names") if arguments.resume else []
    return common.open_stream(
        arguments,
        files,
        model,
        names,
        **known | {"columns": columns},
        target=arguments.target,
        sample_weight=arguments.weight,
    )


def _learn(arguments, learning, table):
    """Learn all chunks; print a report and save the model, also if it ends early."""
    stream, progress = learning.stream, learning.progress
    # The place in the files up to which rows were learned: None if it is not known.
    place = SimpleNamespace(position=progress["position"])
    found = find_files(arguments.paths)
    files, identity = [*map(os.fspath, found)], saving.identity_of(found)
    facts = learning.facts | {"files": files, "sizes": [*map(saving.size_of, found)]}
    record = report.Report("learned")
    if place.position is not None:
        with saving.valid(arguments.resume):
            record = report.Report("learned", *progress["report"])
            table.restore(progress["table"])
            saving.start_at(stream, progress)

    def describe():
        """Return what is saved with the model, as plain data."""
        if place.position is None:
            return {"position": None, "names": facts["names"], "learned": identity}
        return facts | {
            "position": place.position,
            "n_bad_rows": stream.n_bad_rows,
            "bad_rows": [tuple(vars(each).values()) for each in stream.bad_rows],
            "report": record.state(),
            "table": table.state(),
        }

    saver = saving.Saver(
        arguments.model, arguments.save_every, learning.model, describe
    )
    if identity is not None and progress.get("learned") == identity:
        common.print_line("These files are learned: --from-start learns them again.")
        saver.finish()
        return {}
    if arguments.resume == arguments.model:
        saver.position = place.position
    is_complete = False
    try:
        # To terminate is to interrupt: the model is saved.
        with _handling([signal.SIGTERM], signal.default_int_handler):
            _learn_chunks(stream, table, place, saver, record)
            with _delayed_interruption():
                place.position = None
                table.learn_rest()
        is_complete = True
    except BaseException as error:
        error.add_note(f"{table.n_added:,} rows were learned.")
        if arguments.model:
            saver.join()
            if place.position is not None:
                saver.finish()
            error.add_note(
                "The model is not saved."
                if saver.position is None
                else saving.how_to_go_on(arguments, Position(*saver.position), files)
            )
        raise
    finally:
        try:
            if is_complete:
                saver.finish()
        finally:
            if is_complete or table.n_added:
                columns = report.shares_by_column(learning.model)
                found = record.finish(columns, table.finish())
                report.print_report(found, table.n_added)
    return found


def _learn_chunks(stream, table, place, saver, record):
    """Learn all chunks of a stream, and save in between."""
    is_empty = place.position is None
    for chunk in record.chunks(stream):
        is_empty &= chunk.rows is None
        with _delayed_interruption():
            place.position = None
            if chunk.rows is not None:
                table.learn(*chunk.rows)
            place.position = tuple(chunk.end)
            saver.add(sum(span.n_rows for span in chunk.spans))
    if is_empty:
        raise common.no_rows(stream)


@contextmanager
def _handling(signals, handle):
    """Handle signals by a function in the block."""
    if threading.current_thread() is not threading.main_thread():  # has no signals
        yield
        return
    before = {each: signal.signal(each, handle) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _delayed_interruption():
    """Delay the first interruption until all steps have learned the chunk."""
    is_interrupted = threading.Event()

    def wait(*_):
        is_interrupted.set()
        for each in SIGNALS:  # another one interrupts at once
            signal.signal(each, signal.default_int_handler)

    with _handling(SIGNALS, wait):
        yield
    if is_interrupted.is_set():
        raise KeyboardInterrupt


def _metrics(model):
    metrics = default_metrics(model)
    if is_regressor(model) and with_quantiles(model) is None:
        metrics = [*metrics, "r2"]
        has_intervals = hasattr(model, "predict_interval")
        if has_intervals and np.ndim(model[-1].confidence_level) == 0:
            metrics += ["coverage", "mean_width"]
    return metrics


def _new_model(arguments, known):
    """Make a model for the first chunk; return it and the classes."""
    # Bad rows are reported when they are read again.
    stream = common.open_stream(
        arguments,
        arguments.paths,
        None,
        [],
        **known,
        target=arguments.target,
        read_ahead=0,
    )
    X, y = common.read_first(stream, arguments.on_bad_row)
    task = arguments.task or "auto"
    if task == "auto":
        task = "classification" if holds_classes(y) else "regression"
        if task == "classification" and not arguments.classes:
            _check_labels(arguments.target, y)
    if task == "regression" and arguments.classes:
        raise ValueError(
            f"The target {arguments.target!r} holds amounts, which have no classes: "
            "pass --task classification if each is one."
        )
    if task == "regression" and y.dtype.kind not in "iuf":
        raise ValueError(
            f"The target {arguments.target!r} must hold numbers in regression, but the "
            f"first row has {str(y[0])!r}."
        )
    if task == "classification" and arguments.confidence_level:
        raise ValueError(
            f"The target {arguments.target!r} holds classes, which have no intervals: "
            "pass --task regression if these are amounts."
        )
    family = FAMILIES[arguments.estimator or "hedge"]
    kind = "Regressor" if task == "regression" else "Classifier"
    estimator = getattr(sklearn_scinol, f"{family}{kind}")()
    if arguments.confidence_level:
        estimator = OnlineConformalRegressor(
            estimator, confidence_level=arguments.confidence_level
        )
    if task == "classification" and not arguments.classes:
        estimator.set_params(new_classes="add")
    names = "n_hashed", "missing_columns", "new_columns"
    options = {n: getattr(arguments, n) for n in names if getattr(arguments, n)}
    kinds = dict(arguments.kinds or ())
    if arguments.keys:  # their history has no columns that are dropped
        dropped = {name for name, kind in kinds.items() if kind == "drop"}
        dropped.add(getattr(arguments, "label_time", None))
        known["columns"] = [name for name in X.column_names if name not in dropped]
        kinds = {name: kind for name, kind in kinds.items() if kind != "drop"}
    encoder = TableEncoder(
        kinds=kinds or None,
        interactions=arguments.interactions,
        # Newton steps learn a covariance of any two columns: there must be few.
        sparse_output=False if family == "OnlineNewton" else "auto",
        **options,
    )
    steps = [encoder, estimator]
    if arguments.keys:
        keys = [tuple(key) for key in arguments.keys]
        steps.insert(0, OnlineHistory(keys, arguments.time, **options))
    classes = None
    if task == "classification":
        names = arguments.classes
        classes = _as_labels(names, y) if names else np.unique(y)
    return make_online_pipeline(*steps), classes


def holds_classes(y):
    """Whether a target looks like classes."""
    if y.dtype.kind not in "iuf":
        return True
    values = np.unique(y)
    is_whole = values % 1 == 0
    if y.dtype.kind == "f":
        is_whole &= np.abs(values) <= MAX_WHOLE
    return bool(is_whole.all()) and values.size <= MAX_NUMERIC_CLASSES


def _check_labels(target, y):
    """Refuse labels of the first chunk that do not look like classes."""
    labels, counts = np.unique(y, return_counts=True)
    if labels.size <= MAX_NUMERIC_CLASSES:
        return
    if all(map(DATE.fullmatch, labels)):
        kind = "dates"
    elif all(map(NUMBER.fullmatch, labels)):
        kind = "numbers"
    elif 2 * np.count_nonzero(counts == 1) > labels.size:
        kind = "identifiers, most of which come once"
    else:
        return
    raise ValueError(
        f"The target {target!r} looks like {kind}, such as {quote(str(labels[0]))!r}, "
        f"{labels.size:,} different ones in {y.size:,} rows: name a target of classes "
        "or amounts, or pass --task classification if each is a class."
    )


def _as_labels(names, y):
    """Convert names of classes to the type of the target."""
    labels = pa.array(names)
    if y.dtype.kind in "biuf":
        try:
            labels = labels.cast(pa.from_numpy_dtype(y.dtype))
        except pa.ArrowInvalid as error:
            raise ValueError(
                f"cannot convert the classes {names} to the target's type {y.dtype}: "
                f"{one_line(error)}."
            ) from None
    return as_array(labels)
