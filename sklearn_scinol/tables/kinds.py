"""Kinds of columns: how to infer them, and to convert values to them."""

import re
import warnings
from contextlib import suppress
from datetime import date, datetime, time
from functools import cache
from math import isfinite, isinf, isnan

import numpy as np

from . import frames
from .strings import Strings

KINDS = "number", "category", "boolean", "date", "time", "text"

# Minimum mean number of words of text; more than half of the strings must be distinct.
MIN_MEAN_WORDS = 3.0

# Number of strings that decide.
MAX_INSPECTED = 1000

# Minimum number of rows to tell whether they are in order of time.
MIN_ROWS = 200

# Dates of ISO 8601 that cannot be confused with other numbers.
DATE = re.compile(r"\d{4}(-\d\d)?|(\d{4}-\d\d-\d\d|\d{8})([Tt ].+)?", re.ASCII)

# Beginning of strings that are dates without being declared.
DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)", re.ASCII)

TIME = re.compile(r"\d?\d:\d\d(:\d\d(\.\d+)?)?", re.ASCII)

BOOLEANS = {"0": False, "1": True, "false": False, "true": True}


def infer_kind(column):
    """Infer a column's kind from its type or strings; None if all are missing."""
    values = column.values
    if column.is_missing.all():
        return None
    if isinstance(column, frames.Categories):
        return "category"
    if not isinstance(values, Strings):
        of_dtype = (kind for kind in _READERS if _READERS[kind][1] == values.dtype)
        return next(of_dtype, "number")
    given = np.flatnonzero(~column.is_missing)[:MAX_INSPECTED]
    texts = [values[i] for i in given]
    if all(DAY.match(text) and can_be(text, "date") for text in texts):
        return "date"
    n_words = sum(len(text.split()) for text in texts)
    is_text = n_words >= MIN_MEAN_WORDS * len(texts) and 2 * len({*texts}) > len(texts)
    return "text" if is_text else "category"


def kind_of_times(frame, name):
    """Infer the kind of a column of times: dates or numbers; None if all are missing.

    Strings are dates, if they can be read.
    """
    if name not in frame.names:
        raise ValueError(f"There is no column {name!r} (columns: {frame.names}).")
    kind = infer_kind(frame.column(name))
    if kind in ("category", "text"):
        return "date"
    if kind not in ("date", "number", None):
        raise ValueError(
            f"Times must be dates or numbers, but the column {name!r} is of kind "
            f"{kind!r}."
        )
    return kind


def as_kind(column, kind, name):
    """Convert a column to float64 with NaN, bool, datetime64, timedelta64 or strings.

    A ValueError names the column, and a value that cannot be of that kind.
    """
    if column.is_missing.all():
        column = frames.all_missing(len(column.is_missing))  # of any type
    if kind in ("category", "text"):
        return column._replace(values=frames.as_texts(column))
    try:
        values = _converted(column, kind)
    except ValueError as error:
        raise ValueError(f"Column {name!r} is of kind {kind!r}: {error}") from error
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise ValueError(
            f"Column {name!r} contains infinity or a value too large for "
            f"dtype('float64'), first in row {infinite[0]} of the chunk."
        )
    return frames.Column(values, column.is_missing | (values != values))  # NaN and NaT


def _converted(column, kind):
    """Return values as the type of a kind; missing ones are NaN, NaT or False."""
    values, (read, dtype) = column.values, _READERS[kind]
    if isinstance(values, Strings):
        read_once, gaps = cache(read), enumerate(column.is_missing)
        found = [None if is_gap else read_once(values[i]) for i, is_gap in gaps]
        return np.array(found, dtype)
    if values.dtype.kind in "iuO":
        values = values.astype(np.float64)
    if kind == "boolean" and values.dtype.kind == "f":
        wrong = values[~column.is_missing & (values != 0.0) & (values != 1.0)]
        if wrong.size:
            raise ValueError(f"{wrong[0]} is neither 0 nor 1.")
        values = values == 1.0
    if kind == "number" and values.dtype.kind == "b":
        values = values.astype(np.float64)
    if values.dtype != dtype:
        found = next((k for k, (_, d) in _READERS.items() if d == values.dtype), None)
        found = f"{found}s" if found else f"dtype {values.dtype}"
        raise ValueError(f"expected {kind}s, got {found}.")
    return np.where(column.is_missing, np.array(None, dtype), values)


def _number(text):
    if "_" in text or not text.isascii():  # which Python takes, and files do not have
        raise ValueError(f"could not convert string to float: {text!r}")
    return float(text)


def _boolean(text):
    if text.lower() not in BOOLEANS:
        raise ValueError(f"{text!r} is not one of {list(BOOLEANS)}.")
    return BOOLEANS[text.lower()]


def _date(text):
    text = text.strip()
    if text == "NaT":
        return None
    if DATE.fullmatch(text):
        first_day = "0000-01-01"[len(text) :] if len(text) < 8 else ""
        with suppress(ValueError, OverflowError):
            return frames.as_utc(datetime.fromisoformat(text + first_day))
    raise ValueError(
        f"{text!r} is not a date in ISO 8601, such as '2026-01-31' or "
        "'2026-01-31T18:00'."
    )


def _time(text):
    text = text.strip()
    if TIME.fullmatch(text):
        with suppress(ValueError):
            padded = text if text[2] == ":" else f"0{text}"
            return frames.as_timedelta(time.fromisoformat(padded))
    raise ValueError(f"{text!r} is not a time of the day, such as '18:00:30'.")


def can_be(text, kind):
    """Whether a text can be read as a number, boolean, date or time."""
    with suppress(ValueError):
        _READERS[kind][0](text)
        return True
    return False


# Parse a single value of the usual types as `as_kind` does; None if it is missing.
# Other types raise errors, for `as_kind` to have a closer look.


def _parse(value, read, convert, *types):
    """Read a text, or convert a value of some types; None if it is missing."""
    if value is None:
        return None
    if type(value) is str:
        return read(value) if value else None
    if type(value) not in types:
        raise TypeError(type(value))
    return convert(value)


def parse_number(value):
    """Parse a value as a number."""
    if type(value) is float and isfinite(value):
        return value
    number = _parse(value, _number, float, int, float)
    if number is None or isnan(number):
        return None
    if isinf(number):
        raise ValueError(value)
    return number


def parse_boolean(value):
    """Parse a value as a boolean."""
    flag = _parse(value, _boolean, float, bool, int, float)
    if flag not in (None, 0.0, 1.0):
        raise ValueError(value)
    return None if flag is None else flag == 1.0


def parse_date(value):
    """Parse a value as a date."""
    return _parse(value, _date, frames.as_utc, date, datetime)


def parse_time(value):
    """Parse a value as a time of the day."""
    return _parse(value, _time, frames.as_timedelta, time)


def parse_text(value):
    """Return a value as a string."""
    if value is None or type(value) is str:
        return value or None
    if type(value) is not bool and parse_number(value) is None:
        return None
    return frames.as_text(value)


_READERS = {
    "number": (_number, np.dtype(np.float64)),
    "boolean": (_boolean, np.dtype(bool)),
    "date": (_date, np.dtype("datetime64[us]")),
    "time": (_time, np.dtype("timedelta64[us]")),
}


def check_order(times, latest, name, unit=None):
    """Warn if most of the next rows are before the latest time, in a column `name`.

    Dates are in a `unit` of microseconds, numbers have none.
    """
    times = times[~np.isnan(times)]
    if len(times) < MIN_ROWS:
        return
    until = np.fmax.accumulate(np.append(latest, times))
    if np.mean(times < until[1:]) > 0.5:
        last = until[-1] if unit is None else np.datetime64(int(until[-1] * unit), "us")
        warnings.warn(
            f"Most rows are before {last}, the latest time so far in {name!r}, and "
            "count as at that time: sort the rows by time, or correct that one.",
            stacklevel=2,
        )
