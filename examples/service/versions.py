"""Versions of what a process has in memory, and a log of what came after each."""

import errno
import fcntl
import json
import logging
import os
import pickle
from pathlib import Path

from sklearn_scinol.persistence import load, save

#: Versions that are kept.
N_VERSIONS = 3


class Versions:
    """Files of a folder: for each version a model, a pickle, and a log.

    The log of a version has a line of JSON for each thing that came after it. So each
    version with all logs from it on tells what there is now, and if the newest version
    does not load, an older one loses nothing.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.lock = os.open(self.folder / "lock", os.O_CREAT | os.O_WRONLY)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self.lock)
            message = f"Another process uses {self.folder}: choose another folder."
            raise RuntimeError(message) from error
        numbers = [*self._numbers("model-*"), *self._numbers("log-*")]
        self.number = max(numbers, default=0)
        self.log, self.size, self.error = None, 0, None

    def load(self):
        """Return the newest model that loads, its pickle, and what came after it.

        None if there is no version yet.
        """
        numbers = sorted(self._numbers("model-*"), reverse=True)
        for number in numbers:
            try:
                model = load(self._path("model", number))
                rest = pickle.loads(self._path("rest", number).read_bytes())
            except Exception as error:  # of any kind, by a damaged file
                self.error = f"Version {number} of the model does not load: {error}"
                logging.error(self.error)
                continue
            logging.warning("Version %d of the model was loaded.", number)
            logs = sorted(log for log in self._numbers("log-*") if log >= number)
            return model, rest, [event for log in logs for event in self._events(log)]
        if numbers:
            raise RuntimeError(f"No version of the model in {self.folder} loads.")
        return None

    def append(self, event):
        """Write what is about to change, so that a crash does not lose it."""
        line = json.dumps(event).encode() + b"\n"
        try:
            if self.log.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            self.log.truncate(self.size)
            raise
        self.size += len(line)

    def begin(self):
        """Begin the log of a new version, which :meth:`save` has to save."""
        path = self._path("log", self.number + 1)
        log = path.open("xb", buffering=0)
        self._close_log()
        self.log, self.size, self.number = log, 0, self.number + 1

    def save(self, model, rest):
        """Save a version, and remove those that are too old."""
        path = self._path("rest", self.number)
        with path.open("wb") as file:
            pickle.dump(rest, file)
            file.flush()
            os.fsync(file.fileno())
        save(model, self._path("model", self.number))  # last: there is a version now
        oldest = sorted(self._numbers("model-*"))[-N_VERSIONS:][0]
        for kind in "model", "rest", "log":
            for number in self._numbers(f"{kind}-*"):
                if number < oldest:
                    self._path(kind, number).unlink()

    def close(self):
        """Write the log to the disk, and leave the folder to others."""
        self._close_log()
        os.close(self.lock)

    def _close_log(self):
        if self.log:
            os.fsync(self.log.fileno())
            self.log.close()

    def _path(self, kind, number):
        suffix = {"model": "skops", "rest": "pickle", "log": "jsonl"}[kind]
        return self.folder / f"{kind}-{number:08d}.{suffix}"

    def _numbers(self, pattern):
        return [int(path.stem.partition("-")[2]) for path in self.folder.glob(pattern)]

    def _events(self, number):
        """Return what a log tells; a crash may have torn the last line."""
        path, events = self._path("log", number), []
        lines = path.read_bytes().split(b"\n")
        for k, line in enumerate(lines[:-1], 1):
            try:
                events.append(json.loads(line))
            except ValueError as error:
                raise RuntimeError(f"{path}, line {k}, is damaged: {error}") from error
        if lines[-1]:
            logging.warning("%s: the last line, which was torn, is left out.", path)
        return events
