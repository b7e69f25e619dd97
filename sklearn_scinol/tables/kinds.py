"""Kinds of columns: which one a column is of, and its values as those of a kind."""

from datetime import date, datetime
from math import isinf, isnan

import numpy as np

from .frames import Column, in_utc, text_of, texts_of
from .strings import Strings

__all__ = [
    "KINDS",
    "as_kind",
    "kind_of",
    "plain_boolean",
    "plain_date",
    "plain_number",
    "plain_text",
]

KINDS = "number", "category", "boolean", "date", "text"

# Strings are text if they have so many words on average, and if no more than half of
# them came before.
MEAN_WORDS = 3.0

# So many strings decide.
N_LOOKED_AT = 1000

BOOLEANS = {"0": False, "1": True, "false": False, "true": True}


def kind_of(column):
    """Kind of a column by the type of its values, or by how its strings look.

    None if all of them are missing.
    """
    values = column.values
    if column.is_missing.all():
        return None
    if not isinstance(values, Strings):
        return {"b": "boolean", "f": "number", "M": "date"}[values.dtype.kind]
    given = np.flatnonzero(~column.is_missing)[:N_LOOKED_AT]
    texts = [values[i] for i in given]
    n_words = sum(len(text.split()) for text in texts)
    is_text = n_words >= MEAN_WORDS * len(texts) and 2 * len({*texts}) > len(texts)
    return "text" if is_text else "category"


def as_kind(column, kind, name):
    """The column with values of a kind.

    Numbers are float64, and NaN where they are missing; booleans are bool, dates
    datetime64[us], and all others strings.

    Raises
    ------
    ValueError
        If a value cannot be of that kind; it names the column and the value.
    """
    if kind in ("category", "text"):
        return column._replace(values=texts_of(column))
    try:
        values = _READERS[kind](column)
    except ValueError as error:
        raise ValueError(f"Column {name!r} is of kind {kind!r}: {error}") from error
    if kind == "date":
        return Column(values, np.isnat(values))
    if kind == "number":
        return _finite(values, name)
    return column._replace(values=values)


def _finite(values, name):
    """A column of numbers, none of which is infinite."""
    is_missing = ~np.isfinite(values)
    if is_missing.any():
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
        given = values[~column.is_missing]
        wrong = (
            given[(given != 0.0) & (given != 1.0)]
            if values.dtype.kind == "f"
            else given
        )
        if wrong.size:
            raise ValueError(f"{wrong[0]} is neither 0 nor 1.")
        values = values == 1.0
    return values


def _boolean(text):
    if text.lower() not in BOOLEANS:
        raise ValueError(f"{text!r} is none of {list(BOOLEANS)}.")
    return BOOLEANS[text.lower()]


def _dates(column):
    values = column.values
    if isinstance(values, Strings):
        return _by_text(column, _date, np.datetime64("NaT")).astype("datetime64[us]")
    if values.dtype.kind != "M":
        raise ValueError(f"{values[0]} is no date.")
    return np.where(column.is_missing, np.datetime64("NaT"), values)


def _date(text):
    try:
        return np.datetime64(text.strip().removesuffix("Z"), "us")
    except ValueError as error:
        raise ValueError(
            f"{text!r} is no date as in ISO 8601, such as '2026-01-31' or "
            "'2026-01-31T18:00'."
        ) from error


def _by_text(column, read, missing):
    """Values of strings, each different one read once."""
    known = {}
    values = []
    for i, is_missing in enumerate(column.is_missing):
        text = None if is_missing else column.values[i]
        if text is not None and text not in known:
            known[text] = read(text)
        values.append(missing if text is None else known[text])
    return np.array(values)


# A single value of a type that most have, as `as_kind` reads it; None if it is missing.
# Others raise errors, for `as_kind` to have a closer look.


def plain_number(value):
    """A value as a number."""
    if value is None:
        return None
    if type(value) not in (int, float, str):
        raise TypeError(type(value))
    number = float(value)
    if isinf(number):
        raise ValueError(value)
    return None if isnan(number) else number


def plain_boolean(value):
    """A value as a boolean."""
    if value is None or type(value) is bool:
        return value
    if type(value) is str:
        return _boolean(value)
    number = plain_number(value)
    if number not in (None, 0.0, 1.0):
        raise ValueError(value)
    return None if number is None else number == 1.0


def plain_date(value):
    """A value as a date."""
    if value is None:
        return None
    if type(value) is str:
        day = _date(value)
        return None if np.isnat(day) else day
    if type(value) not in (date, datetime):
        raise TypeError(type(value))
    return in_utc(value)


def plain_text(value):
    """A value as a string."""
    if value is None or type(value) is str:
        return value
    if type(value) is bool:
        return text_of(value)
    number = plain_number(value)
    return None if number is None else text_of(number)


_READERS = {"number": _numbers, "boolean": _booleans, "date": _dates}
