"""Models that are saved while they learn, with the place in the files where they are.

One file has the model and its progress: the position between two rows of the files, the
rows that wait for their labels, the running scores and the monitor. A file whose stream
has ended has no position, but what tells whether the files are others now.
"""

import os
import re
import shlex
import sys
from contextlib import contextmanager
from copy import deepcopy
from threading import Thread
from time import perf_counter
from typing import NamedTuple

from .._invariants import is_count
from .._validation import is_fitted
from ..streams.files import find_files
from ..streams.pipes import Pipe
from ..streams.rows import BadRow, Position
from .common import COLUMN_ROLES, STDIN, describe_error, load_with_progress, print_line

#: Seconds of the units of time.
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}

#: Options that decide what is learned of a row, which must stay when learning goes on.
ROLES = *COLUMN_ROLES, "delay", "alarms"


class Interval(NamedTuple):
    """How often to save: every so many seconds, or rows."""

    text: str
    seconds: float
    n_rows: float

    def __str__(self):
        return self.text


def interval(text):
    """Parse an interval such as 30s, 5m, 1h or a number of rows."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if found is None or not float(found[1]) > 0.0:
        raise ValueError
    if found[2]:
        return Interval(text, float(found[1]) * UNITS[found[2]], float("inf"))
    return Interval(text, float("inf"), int(found[1]))


def roles_of(arguments, arrivals):
    """Return the options that must stay when learning goes on, by their names."""
    roles = {name: getattr(arguments, name) for name in ROLES}
    return roles if arrivals is not None else roles | {"time": None}


class Saver:
    """Saves a model that learns, with its progress, unless `path` is None.

    `every` is the :class:`Interval` to save at between chunks, or None; `describe`
    returns the progress as plain data, with the item "position". The attribute
    `position` is that of the file that was saved last.
    """

    def __init__(self, path, every, model, describe):
        self.path, self.every, self.model, self.describe = path, every, model, describe
        self.position, self.thread = None, None
        self.n_rows, self.start = 0, perf_counter()  # since the model was saved

    def add(self, n_rows):
        """Take notice of rows that were learned, and save if it is time."""
        self.n_rows += n_rows
        if self.path is None or self.every is None:
            return
        is_due = self.n_rows and (  # a pipe may pause
            self.n_rows >= self.every.n_rows
            or perf_counter() - self.start >= self.every.seconds
        )
        is_busy = self.thread is not None and self.thread.is_alive()
        if is_due and not is_busy and is_fitted(self.model):
            # Learning waits for the copy only.
            copies = deepcopy((self.model, self.describe()))
            self.thread = Thread(target=self._try, args=copies)
            self.n_rows, self.start = 0, perf_counter()
            self.thread.start()

    def _try(self, *copies):
        try:
            self._write(*copies)
        except Exception as error:  # the next time may be better
            message = f"{self.path} is not saved now: {describe_error(error)}"
            print_line(message, file=sys.stderr)

    def _write(self, model, progress):
        from ..persistence import save_with_progress

        save_with_progress(model, progress, self.path)
        self.position = progress["position"]

    def join(self):
        """Wait until the file is written, if it is."""
        if self.thread is not None:
            self.thread.join()

    def finish(self):
        """Save what was learned since."""
        self.join()
        if self.path is None or not is_fitted(self.model):
            return
        progress = self.describe()
        if progress["position"] is None or progress["position"] != self.position:
            self._write(self.model, progress)


# Going on.


def load_progress(arguments, roles):
    """Return the model to go on with, and its progress, whose position may be None."""
    model, progress = load_with_progress(arguments.resume)
    if arguments.from_start or progress is None:
        names = (progress or {}).get("names")
        return model, {"position": None, "names": names}
    if progress["position"] is None:
        return model, progress
    remedy = "to go on, or --from-start to learn all rows of the given files"
    with valid(arguments.resume):
        position, files = _check(progress)
    found = find_files(arguments.paths)
    n_common = position.file + 1
    if [*map(os.fspath, found)][:n_common] != files[:n_common]:
        raise ValueError(
            f"{arguments.resume} was saved at {describe_position(position, files)}: "
            f"pass {shlex.join(files)} {remedy}."
        )
    for name, value in progress["roles"].items():
        if roles[name] != value:
            option = f"--{name.replace('_', '-')}"
            before = f"with {option} {value}" if value is not None else "without it"
            raise ValueError(
                f"{option} has changed: {arguments.resume} was saved {before}: pass "
                f"the same {remedy}."
            )
    for file, size in zip(found[: position.file], progress["sizes"], strict=False):
        if size_of(file) != size:
            raise ValueError(
                f"{file} has changed since its rows were learned: pass the same files "
                f"{remedy}."
            )
    return model, progress


def size_of(file):
    """Return the size of a file, 0 of a pipe."""
    return 0 if isinstance(file, Pipe) else os.stat(file).st_size


def identity_of(files):
    """Return what changes when files are written, or None if there is a pipe."""
    if any(isinstance(file, Pipe) for file in files):
        return None
    found = [(os.fspath(file), os.stat(file)) for file in files]
    return [[name, of_file.st_size, of_file.st_mtime_ns] for name, of_file in found]


def _check(progress):
    """Return position and files of a progress, which may come from elsewhere."""
    position, files = Position(*progress["position"]), [*progress["files"]]
    names = [*files, *progress["known"]["kinds"], *(progress["known"]["columns"] or ())]
    if not all(map(is_count, position)) or position.file >= len(files):
        raise ValueError("no position")
    if {*map(type, names)} != {str} or progress["roles"].keys() != {*ROLES}:
        raise TypeError("no names")
    return position, files


@contextmanager
def valid(path):
    """Raise that a file is damaged if the block fails, which uses its content."""
    try:
        yield
    except Exception as error:  # of any kind, by a forged file
        raise ValueError(f"{path} is not a saved model, or is damaged.") from error


def describe_position(position, files):
    """Describe a place in files, such as "row 300 of a.csv"."""
    return f"row {position.row:,} of {files[position.file]}"


def start_at(stream, progress):
    """Set the position where a stream begins to the saved one, and print it."""
    position, files = Position(*progress["position"]), progress["files"]
    place = describe_position(position, files)
    if files[position.file] == STDIN:
        position = position._replace(byte=0, skip=0)
        print_line(f"Standard input should begin with the row after {place}.")
    else:
        print_line(f"Going on after {place}.")
    bad_rows = [BadRow(*each) for each in progress["bad_rows"]]
    stream._start_at(position, int(progress["n_bad_rows"]), bad_rows)


def how_to_go_on(arguments, position, files):
    """Describe what was saved, and the command that goes on."""
    place = describe_position(position, files)
    feed = ""
    if files[position.file] == STDIN:
        feed = f"feed it from row {position.row + 1:,} on, below the header if any, "
    words = ["sklearn-scinol", "learn", *arguments.files]
    skipped = {option.dest for option in arguments.new_model_options}
    skipped |= {"files", "help", "resume", "from_start", "traceback"}
    if arguments.delay is None and arguments.label_time is None:
        skipped.add("time")  # which was of the history, and the model knows
    for option in arguments.options:
        if option.dest in skipped:
            continue
        value = getattr(arguments, option.dest)
        if value is None or value is False or value == option.default:
            continue
        for each in value if isinstance(value, list) else [value]:
            words.append(option.option_strings[-1])
            if type(each) is tuple:
                each = "=".join(each)
            if each is not True:
                words.append(str(each))
    command = shlex.join([*words, "--resume", arguments.model])
    return (
        f"{arguments.model} has the model up to {place}: {feed}to go on run "
        f"`{command}`."
    )
