"""Kinds of columns: how to infer them, and to convert values to them."""

from datetime import date, datetime
from math import isinf, isnan

import numpy as np

from .frames import Column, as_text, as_texts, as_utc
from .strings import Strings

__all__ = [
    "KINDS",
    "as_kind",
    "infer_kind",
    "parse_boolean",
    "parse_date",
    "parse_number",
    "parse_text",
]

KINDS = "number", "category", "boolean", "date", "text"

# Minimum mean number of words of text; more than half of the strings must be distinct.
MIN_MEAN_WORDS = 3.0

# Number of strings that decide.
MAX_INSPECTED = 1000

BOOLEANS = {"0": False, "1": True, "false": False, "true": True}


def infer_kind(column):
    """Infer a column's kind from its type or strings; None if all are missing."""
    values = column.values
    if column.is_missing.all():
        return None
    if not isinstance(values, Strings):
        return {"b": "boolean", "f": "number", "M": "date"}[values.dtype.kind]
    given = np.flatnonzero(~column.is_missing)[:MAX_INSPECTED]
    texts = [values[i] for i in given]
    n_words = sum(len(text.split()) for text in texts)
    is_text = n_words >= MIN_MEAN_WORDS * len(texts) and 2 * len({*texts}) > len(texts)
    return "text" if is_text else "category"


def as_kind(column, kind, name):
    """Convert a column to float64 with NaN, bool, datetime64[us] or strings.

    Raises
    ------
    ValueError
        If a value cannot be of that kind, with the column's name and the value.
    """
    if kind in ("category", "text"):
        return column._replace(values=as_texts(column))
    try:
        values = _READERS[kind](column)
    except ValueError as error:
        raise ValueError(f"Column {name!r} is of kind {kind!r}: {error}") from error
    if kind == "date":
        return Column(values, np.isnat(values))
    if kind == "boolean":
        return column._replace(values=values)
    is_missing = np.isnan(values)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise ValueError(
            f"Column {name!r} contains infinity or a value too large for "
            f"dtype('float64'), first in row {infinite[0]} of the chunk."
        )
    return Column(values, is_missing)


def _numbers(column):
    values = column.values
    if isinstance(values, Strings):
        return _by_text(column, float, np.nan)
    if values.dtype.kind == "M":
        raise ValueError("could not convert dates to float.")
    if values.dtype.kind == "b":
        return np.where(column.is_missing, np.nan, values)
    return values


def _booleans(column):
    values = column.values
    if isinstance(values, Strings):
        return _by_text(column, _boolean, False).astype(bool)
    if values.dtype.kind != "b":
        wrong = values[~column.is_missing]
        if values.dtype.kind == "f":
            wrong = wrong[(wrong != 0.0) & (wrong != 1.0)]
        if wrong.size:
            raise ValueError(f"{wrong[0]} is neither 0 nor 1.")
        values = values == 1.0
    return values


def _boolean(text):
    if text.lower() not in BOOLEANS:
        raise ValueError(f"{text!r} is not one of {list(BOOLEANS)}.")
    return BOOLEANS[text.lower()]


def _dates(column):
    values = column.values
    if isinstance(values, Strings):
        return _by_text(column, _date, np.datetime64("NaT")).astype("datetime64[us]")
    if values.dtype.kind != "M":
        raise ValueError(f"expected dates, got dtype {values.dtype}.")
    return np.where(column.is_missing, np.datetime64("NaT"), values)


def _date(text):
    try:
        return np.datetime64(text.strip().removesuffix("Z"), "us")
    except ValueError as error:
        raise ValueError(
            f"{text!r} is not a date in ISO 8601, such as '2026-01-31' or "
            "'2026-01-31T18:00'."
        ) from error


def _by_text(column, read, missing):
    """Read the strings of a column, each distinct one once."""
    known = {}
    values = []
    for i, is_missing in enumerate(column.is_missing):
        text = None if is_missing else column.values[i]
        if text is not None and text not in known:
            known[text] = read(text)
        values.append(missing if text is None else known[text])
    return np.array(values)


# Parse a single value of the usual types as `as_kind` does; None if it is missing.
# Other types raise errors, for `as_kind` to have a closer look.


def parse_number(value):
    """Parse a value as a number."""
    if value is None:
        return None
    if type(value) not in (int, float, str):
        raise TypeError(type(value))
    number = float(value)
    if isinf(number):
        raise ValueError(value)
    return None if isnan(number) else number


def parse_boolean(value):
    """Parse a value as a boolean."""
    if value is None or type(value) is bool:
        return value
    if type(value) is str:
        return _boolean(value)
    number = parse_number(value)
    if number not in (None, 0.0, 1.0):
        raise ValueError(value)
    return None if number is None else number == 1.0


def parse_date(value):
    """Parse a value as a date."""
    if value is None:
        return None
    if type(value) is str:
        day = _date(value)
        return None if np.isnat(day) else day
    if type(value) not in (date, datetime):
        raise TypeError(type(value))
    return as_utc(value)


def parse_text(value):
    """Return a value as a string."""
    if value is None or type(value) is str:
        return value
    if type(value) is bool:
        return as_text(value)
    number = parse_number(value)
    return None if number is None else as_text(number)


_READERS = {"number": _numbers, "boolean": _booleans, "date": _dates}
