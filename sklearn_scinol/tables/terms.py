"""Functions of the columns of a table, as linear models of encoded rows have them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from . import columns
from .column_group import keys_of_values
from .frames import Column
from .strings import Strings

# Points on the axis of a number, without the points on both sides of each edge.
N_POINTS = 50

# Numbers and dates that can be drawn, with a margin.
MAX_NUMBER = 1e300
DATES = np.array(["0010-01-01", "9990-01-01"], "datetime64[us]")


@dataclass(frozen=True, eq=False)
class Term:
    """Function of a feature, or of a column of a table, as a model has learned it.

    The decision of a row of a table is the sum of the terms of all columns at the row's
    values, of the intercept, and of combinations of columns, if the encoder has any. A
    text adds the terms of all its words and pairs of words.

    Parameters
    ----------
    column : str
        Name of the feature or column.
    part : str
        The kind of the column: "number", as of all features of arrays, "category",
        "boolean" or "text". A date has four terms: "time", "season", "weekday" and
        "hour"; a time has "time of day".
    points : ndarray of shape (n_points,)
        Where the function was evaluated: numbers, dates (as datetime64), hours of the
        day with fractions, or strings:
        values of a category, largest term first, and words and pairs of words of a
        text.
    values : ndarray of shape (n_points,)
        The term at each point, in the unit of the decision, or of the target in
        regression.
    recurs : ndarray of bool of shape (n_points,)
        Whether a point is a number that the encoder gives a column of its own, since it
        comes again. The terms of other numbers do not have the effect of that column.
    missing : float
        The term of a missing value; 0 as long as there was none.

    Attributes
    ----------
    variation : float
        The largest value less the smallest one, with that of a missing value if there
        was any.
    """

    column: str
    part: str
    points: NDArray
    values: NDArray[np.float64]
    recurs: NDArray[np.bool_]
    missing: float

    @property
    def variation(self) -> float:
        """Largest value less the smallest one."""
        values = self.values
        return float(np.ptp([*values, self.missing] if self.missing else values))


def table_terms(engine, encoding, coef):
    """Return terms of all columns that had values, in the order of the encoding.

    They are a list of :class:`Term`, by the coefficients of the encoded columns.
    """
    terms, n_before = [], 0
    remembered = _Remembered(encoding.hashed, coef[encoding.n_named_columns :])
    for group in encoding.groups:
        places = encoding.value_columns[n_before : n_before + group.n_values]
        n_before += group.n_values
        slopes = coef[places].reshape(len(group.names), -1)
        if make := MAKERS.get(type(group)):
            terms += make(engine, group, slopes, coef, remembered)
    return [term for term in terms if term.points.size]


def _numbers(engine, group, slopes, coef, _):
    n_each = [_points_of_number(group, j) for j in range(len(group.names))]
    X = _side_by_side([points for points, _ in n_each], np.nan)
    encoded = group.encode(engine, Column(X, np.isnan(X)), learns=False)
    # A number has a code for its bin and one for its slot, where there are any.
    values = slopes[:, 0] * np.nan_to_num(encoded.values)
    codes = encoded.codes.reshape(len(X), -1, len(group.names))
    values += np.where(codes >= 0, coef[codes], 0.0).sum(axis=1)
    for j, (points, recurs) in enumerate(n_each):
        term = values[: points.size, j].copy()
        yield _term(group, j, "number", points, term, coef, recurs)


def _points_of_number(group, j):
    """Return points on the axis of a number, and which of them have slots.

    The axis has the edges of bins, numbers that recur, and one standard deviation
    around the mean.
    """
    edges = group.bins.edges[j]
    edges = edges[~np.isnan(edges)]
    own, slots = np.empty(0), group.vocabulary.slots
    if slots.is_open[j]:
        own = slots.keys[j, : slots.n_used[j]].view(np.float64)
    ends = [edges, own]
    if group.standard.moments[2, j] > 0.0:
        mean, variance = (each[j] for each in group.standard.raw_moments())
        ends.append(mean + np.sqrt(variance) * np.array([-1.0, 1.0]))
    ends = np.clip(np.concatenate(ends), -MAX_NUMBER, MAX_NUMBER)
    if not ends.size:
        return np.empty(0), np.empty(0, bool)
    margin = 0.05 * np.ptp(ends)
    grid = np.linspace(ends.min() - margin, ends.max() + margin, N_POINTS)
    with np.errstate(over="ignore", under="ignore"):
        beside = np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)
    points = np.unique(np.concatenate([grid, edges, *beside, own]))
    points = points[(points >= grid[0]) & (points <= grid[-1])]
    return points, np.isin(points, own)


def _side_by_side(arrays, fill):
    """Put arrays of different lengths side by side, filled at the end."""
    stacked = np.full((max(1, *map(len, arrays)), len(arrays)), fill)
    for j, array in enumerate(arrays):
        stacked[: len(array), j] = array
    return stacked


def _dates(engine, group, slopes, coef, _):
    days = np.arange("2000-01-01", "2001-01-01", dtype="datetime64[D]")
    moments = [_points_of_date(group, j) for j in range(len(group.names))]
    times = _of_dates(engine, group, _side_by_side(moments, np.datetime64("NaT", "us")))
    all_days = np.tile(days[:, np.newaxis], len(group.names)).astype("datetime64[us]")
    seasons = _of_dates(engine, group, all_days)
    for j in range(len(group.names)):
        ends = group.starts()[j] + 1 + np.cumsum([0, *map(len, group.parts)])
        months, weekdays, hours = (coef[slice(*pair)] for pair in pairwise(ends))
        of_month = months[
            days.astype("datetime64[M]").astype(int) % len(columns.MONTHS)
        ]
        season = seasons[:, j, 1:] @ slopes[j, 1:] + of_month
        time = slopes[j, 0] * times[: moments[j].size, j, 0]
        if moments[j].size:
            yield _term(group, j, "time", moments[j], time, coef)
            yield _term(group, j, "season", days, season)
            named = zip(
                ["weekday", "hour"], group.parts[1:], [weekdays, hours], strict=True
            )
            for part, labels, values in named:
                yield _term(group, j, part, np.array(labels, object), values.copy())


def _times(engine, group, slopes, coef, _):
    minutes = np.arange(0, 24 * 60, 15)
    times = np.tile(60_000_000 * minutes[:, np.newaxis], len(group.names))
    values = _of_dates(engine, group, times.astype("m8[us]")) * slopes
    for j in range(len(group.names)):
        hours = coef[group.starts()[j] + 1 + minutes // 60]  # after missing values
        points = minutes[: minutes.size * (group.standard.moments[2, j] > 0.0)] / 60.0
        terms = values[:, j].sum(axis=1) + hours
        yield _term(group, j, "time of day", points, terms, coef)


def _of_dates(engine, group, dates):
    """Return the values of dates or times: time, sine and cosine, (n, n_names, 3)."""
    encoded = group.encode(engine, Column(dates, np.isnat(dates)), learns=False)
    return np.nan_to_num(encoded.values.reshape(*dates.shape, -1))


def _points_of_date(group, j):
    """Return evenly spaced dates, two standard deviations around the mean."""
    if not group.standard.moments[2, j] > 0.0:
        return np.empty(0, "datetime64[us]")
    mean, variance = (each[j] for each in group.standard.raw_moments())
    seconds = mean + np.sqrt(variance) * np.linspace(-2.0, 2.0, N_POINTS)
    moments = np.clip(1e6 * seconds, *DATES.astype(np.int64))
    return moments.astype(np.int64).astype("datetime64[us]")


def _booleans(engine, group, slopes, coef, _):
    points = np.array(["False", "True"], object)
    for j, start in enumerate(group.starts()):
        yield _term(group, j, "boolean", points, np.array([0.0, coef[start]]), coef)


def _categories(engine, group, slopes, coef, remembered):
    for j, name in enumerate(group.names):
        known = group.vocabulary.names[j]
        first = group.starts()[j] + 1  # after that of missing values
        terms = dict(zip(known, coef[first : first + len(known)], strict=True))

        def keys_of(texts, name=name):
            keys = engine.hash_strings(texts.data, texts.offsets)
            return keys_of_values(engine, name, keys)

        terms = remembered.terms(name, keys_of) | terms
        yield _of_strings(group, j, "category", terms, coef)


def _texts(engine, group, slopes, coef, remembered):
    for j, name in enumerate(group.names):

        def keys_of(texts, name=name):
            # The last key of one word is its own, and of two words that of the pair.
            words = columns.hash_words(
                engine, name, Column(texts, np.zeros(len(texts), bool))
            )
            keys = np.zeros(len(texts), np.uint64)
            keys[words.rows] = words.keys
            return keys

        terms = remembered.terms(name, keys_of)
        yield _of_strings(group, j, "text", terms, coef)


def _of_strings(group, j, part, terms, coef):
    """Make a term of strings, the largest value first."""
    points = np.array([*terms], object)
    values = np.array([*terms.values()], float)
    order = np.argsort(-values, kind="stable")
    return _term(group, j, part, points[order], values[order], coef)


def _term(group, j, part, points, values, coef=None, recurs=None):
    """Make a term of a column; without coefficients, missing values have none."""
    missing = 0.0 if coef is None else coef[group.starts()[j] + group.missing_code]
    recurs = np.zeros(len(points), bool) if recurs is None else recurs
    return Term(group.names[j], part, points, values, recurs, float(missing))


MAKERS = {
    columns.Numbers: _numbers,
    columns.Dates: _dates,
    columns.Times: _times,
    columns.Booleans: _booleans,
    columns.Categories: _categories,
    columns.Texts: _texts,
}


class _Remembered:
    """Values that were hashed and whose names are known, and their coefficients."""

    def __init__(self, hashed, coef):
        self.hashed, self.coef = hashed, coef
        self.names = [
            (column, name) for column, names in hashed.names().items() for name in names
        ]

    def terms(self, column, keys_of):
        """Map the values of a column of the table to their coefficients."""
        start = f"{column}="
        found = [each for each in self.names if each[1].startswith(start)]
        if not found:
            return {}
        places = np.array([place for place, _ in found])
        values = [name.removeprefix(start) for _, name in found]
        keys = keys_of(Strings.encode(values))
        # Combinations of columns may have names that begin so.
        is_key = keys == self.hashed.first[places]
        is_key |= keys == self.hashed.second[places]
        terms = zip(values, self.coef[places].tolist(), is_key.tolist(), strict=True)
        return {value: coef for value, coef, is_own in terms if is_own}
