"""When rows of a stream come, and when their labels do."""

import re
from datetime import timedelta
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_scalar
from sklearn.utils.validation import _num_samples

from ..tables.frames import is_dict_rows, library_of, open_frame
from ..tables.kinds import as_kind, check_order, kind_of_times

#: Microseconds of the units of a delay.
UNITS = {
    "us": 1,
    "ms": 10**3,
    "s": 10**6,
    "min": 60 * 10**6,
    "h": 3600 * 10**6,
    "d": 86_400 * 10**6,
    "w": 7 * 86_400 * 10**6,
}

_DURATION = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]+)\s*", re.IGNORECASE)


class Arrivals:
    """Times at which rows come, and at which their labels do.

    For the parameters see :func:`~sklearn_scinol.evaluation.progressive_validation`.
    """

    def __init__(self, delay, time=None, label_time=None):
        if time is None:
            is_time = isinstance(delay, (str, timedelta, np.timedelta64))
            if is_time or label_time is not None:
                name = f"delay={delay!r}" if is_time else "label_time="
                raise ValueError(f"{name} needs time=, the column with rows' times.")
            check_scalar(delay, "delay", Integral, min_val=0)
            delay = int(delay)
        elif (delay is None) == (label_time is None):
            raise ValueError(
                "With time=, pass either delay= or label_time=: the time between rows "
                "and their labels, or the column with the times of labels."
            )
        elif delay is not None:
            delay = _as_delay(delay)
        self.delay, self.time, self.label_time = delay, time, label_time
        self._kind, self._latest, self._n_rows = None, None, 0

    def state(self):
        """Return what was read so far, as plain data."""
        return {"kind": self._kind, "latest": self._latest, "n_rows": self._n_rows}

    def restore(self, state):
        """Go on from a :meth:`state`."""
        self._kind, self._latest = state["kind"], state["latest"]
        self._n_rows = state["n_rows"]

    def read(self, X):
        """Read the times of the next rows.

        Returns the rows without the times of labels, which no prediction may see; times
        that ascend, since a row whose time is before the last one, or missing, counts
        as at the last time; times of labels, infinite if they never come; and the time
        of the last labels that have come before the next rows.
        """
        if self.time is None:
            first, n = self._n_rows, _num_samples(X)
            self._n_rows += n
            times = np.arange(first, first + n, dtype=np.float64)
            return X, times, times + self.delay + 0.5, first + n - 0.5
        frame = open_frame(X)
        times, is_missing = self._column(frame, self.time)
        if self._latest is None and is_missing[0]:
            raise ValueError(f"The first row has no time, in the column {self.time!r}.")
        start = times[0] if self._latest is None else self._latest
        unit = 1 if self._kind == "date" else None
        check_order(np.where(is_missing, np.nan, times), start, self.time, unit)
        times = np.append(start, np.where(is_missing, start, times))
        times = np.maximum.accumulate(times)[1:]
        if self.label_time is None:
            known = times + self._checked_delay()
        else:
            known, is_missing = self._column(frame, self.label_time)
            known = np.where(is_missing, np.inf, known)
            X = _without(X, frame, self.label_time)
        self._latest = times[-1]
        return X, times, known, self._latest

    def _column(self, frame, name):
        """Return a column as numbers, dates in microseconds, and what is missing."""
        name = f"x{name}" if isinstance(name, Integral) else name
        kind = kind_of_times(frame, name)
        if kind is None:  # all are missing
            return np.zeros(frame.n_rows), np.ones(frame.n_rows, bool)
        if self._kind not in (None, kind):
            raise ValueError(
                f"Times were {self._kind}s before, but the column {name!r} is of kind "
                f"{kind!r}."
            )
        self._kind = kind
        values, is_missing = as_kind(frame.column(name), kind, name)
        if kind == "date":
            values = values.astype("datetime64[us]").astype(np.int64)
        return values.astype(np.float64), is_missing

    def _checked_delay(self):
        """Return the delay in the unit of the times."""
        delay, wanted = self.delay, "a number in the same unit"
        if self._kind == "date":
            wanted = "a time such as '2d'"
        is_time = isinstance(delay, timedelta)
        if self._kind is not None and is_time != (self._kind == "date"):
            raise ValueError(
                f"Times are {self._kind}s: delay must be {wanted}, got {delay!r}."
            )
        return delay / timedelta(microseconds=1) if is_time else delay


def _as_delay(delay):
    """Convert a delay in time to a number or a timedelta, not negative."""
    if isinstance(delay, np.timedelta64):
        delay = delay.astype("timedelta64[us]").item()
    if isinstance(delay, str):
        found = _DURATION.fullmatch(delay)
        unit = found and UNITS.get(found[2].lower())
        if unit is None:
            raise ValueError(
                f"delay must be a number with one of the units {[*UNITS]}, such as "
                f"'2d', got {delay!r}."
            )
        delay = timedelta(microseconds=float(found[1]) * unit)
    if isinstance(delay, timedelta):
        if delay < timedelta():
            raise ValueError(f"delay must not be negative, got {delay!r}.")
        return delay
    if np.isnan(check_scalar(delay, "delay", Real, min_val=0)):
        raise ValueError("delay must not be NaN.")
    return float(delay)


def _without(X, frame, name):
    """Return rows without a column."""
    if isinstance(name, Integral):
        return np.delete(np.asarray(X), name, axis=1)
    if is_dict_rows(X):
        return [{key: row[key] for key in row if key != name} for row in X]
    if library_of(X) == "pyarrow":
        return X.select([each for each in frame.names if each != name])
    return X.drop(columns=name) if library_of(X) == "pandas" else X.drop(name)
