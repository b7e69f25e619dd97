"""Encodings of columns by kind: values, codes, and keys to be hashed.

Each class encodes all columns of a kind. Values fill columns of their own; a code is a
one in one of several columns; keys are hashed to columns that all share.
"""

import re
from collections.abc import Callable
from itertools import chain, pairwise

import numpy as np

from .._hashing import combine
from ..transforms.bins import FeatureBins
from ..transforms.standard import StandardTransform
from .column_group import ColumnGroup, Encoded, Hashed, Keys, keys_of_values
from .frames import Column, is_missing_value
from .kinds import parse_boolean, parse_date, parse_number, parse_text, parse_time
from .strings import Strings
from .vocabulary import Vocabulary

#: Kinds of columns that can be combined with others.
COMBINED_KINDS = "number", "category", "boolean"

#: A word, or a mark that is part of none.
TOKEN = re.compile(r"\w+|[^\w\s]")

DAYS_OF_YEAR = 365.25
MICROS_OF_DAY = 86_400_000_000
MONTHS = tuple(
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
)
WEEKDAYS = "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"
HOURS = tuple(f"{hour:02d}h" for hour in range(24))


class Numbers(ColumnGroup):
    """Numbers: their standardised value, their bin, and the value as one of a few.

    Up to `n_named` values have a column each; for bins see :class:`FeatureBins`.
    """

    n_values_each = 1
    dense_parts = ("",)
    dtype = np.float64
    learned = "standard", "bins", "vocabulary"
    parse = staticmethod(parse_number)

    def __init__(self, names, n_samples, n_quantiles, n_named):
        super().__init__(names)
        self.standard = StandardTransform(len(names))
        self.bins = FeatureBins(len(names), n_samples, n_quantiles)
        self.vocabulary = Vocabulary(len(names), n_named, 2 * n_named)

    @property
    def widths(self):
        return self.bins.n_columns, self.vocabulary.n_slots

    @property
    def missing_code(self):
        return self.bins.n_columns - 1

    def skip(self, n_rows):
        n_counted = min(n_rows, self.bins.n_samples)
        self.bins.learn(np.full((n_counted, len(self.names)), np.nan))

    def encode(self, engine, columns, learns):
        X, is_missing = columns
        if learns:
            Z = self.standard.learn(engine, X)
            last = self.bins.learn_and_convert(engine, X, np.ones(len(X), bool))
        else:
            Z = self.standard.transform(X)
            last = self.bins.convert(engine, X)
        codes = np.full(X.shape, -1, np.int32)
        starts = self.starts()
        np.add(last, starts, out=codes[len(X) - len(last) :], casting="unsafe")
        if not self.bins.has_edges.all():
            codes[:, ~self.bins.has_edges] = -1
        if is_missing.any():
            missing = (starts + self.missing_code).astype(np.int32)
            np.copyto(codes, missing, where=is_missing)
        if self.vocabulary.slots.is_open.any():
            codes = np.hstack([codes, self._slots(engine, X, is_missing, learns)])
        return Encoded(codes, Z, (), lambda j: self._keys(j, X, codes), lambda: X)

    def _slots(self, engine, X, is_missing, learns):
        """Return codes of the values that have columns of their own."""
        bits = (X + 0.0).view(np.uint64)  # -0.0 is 0.0
        found = self.vocabulary.find(
            engine, bits, ~is_missing, lambda row, j: f"{X[row, j]:.12g}", learns
        )
        return np.where(found >= 0, found + self.starts(1).astype(np.int32), -1)

    def _keys(self, j, X, codes):
        """Return keys of bins, or of values where there are no bins."""
        bins, slots = codes[:, j], codes[:, len(self.names) :]
        own = slots[:, j] if slots.size else -1
        combined = np.where(bins < 0, own, bins)
        first = self.starts()[j]

        def name_of(row):
            if combined[row] < 0:
                return f"{self.names[j]}_other"
            if bins[row] < 0:
                return f"{self.names[j]}={X[row, j]:.12g}"
            return self._bin_names(j)[bins[row] - first]

        keys = combined.astype(np.int64).view(np.uint64)
        return Keys(keys, lambda rows: Strings.encode(map(name_of, rows)))

    def value_names(self):
        return self.names

    def code_names(self):
        bins = [self._bin_names(j) for j in range(len(self.names))]
        slots = [
            self.vocabulary.slot_names(j, name) for j, name in enumerate(self.names)
        ]
        return [name for names in bins + slots for name in names]

    def _bin_names(self, j):
        name, edges = self.names[j], self.bins.edges[j]
        edges = [f"{edge:.6g}" for edge in edges[~np.isnan(edges)]]
        names = []
        if edges:
            between = pairwise(edges)
            names = [f"{name}<={edges[0]}", f"{name}>{edges[-1]}"]
            names[1:1] = [f"{low}<{name}<={high}" for low, high in between]
        n_bins = self.bins.n_columns - 1
        names += [f"{name}_bin{k}" for k in range(len(names), n_bins)]
        return [*names, f"{name}_missing"]

    def retired_columns(self):
        starts = self.starts(1)[~self.vocabulary.slots.is_open]
        return (starts[:, np.newaxis] + np.arange(self.vocabulary.n_slots)).ravel()

    def add_moves(self, other, moves, hashed_columns):
        self.bins.add_moves(other.bins, self.starts(), moves)
        self.vocabulary.add_moves(other.vocabulary, self.starts(1), moves)

    def keys_match(self, other, name):
        """Whether a column of numbers has bins, or equal slots in a merged group.

        Few rows come before there are bins and have other keys, as with one model.
        """
        j, mine, theirs = self.names.index(name), self.vocabulary, other.vocabulary
        known = theirs.keys_of(j)
        return bool(self.bins.has_edges[j]) or known == mine.keys_of(j)[: len(known)]


class Times(ColumnGroup):
    """Times of the day: standardised, their place on a circle, and the hour."""

    n_values_each = 3
    dense_parts: tuple[str, ...] = ("", "_day_sin", "_day_cos")
    parts: tuple[tuple[str, ...], ...] = (HOURS,)
    cycle = "day"
    dtype = "timedelta64[us]"
    learned = ("standard",)
    parse = staticmethod(parse_time)

    def __init__(self, names):
        super().__init__(names)
        self.standard = StandardTransform(len(names))

    @property
    def widths(self):
        return (1 + sum(map(len, self.parts)),)

    def encode(self, engine, columns, learns):
        times, is_missing = columns
        micros = np.where(is_missing, 0, times.astype(np.int64))
        angle = 2 * np.pi * micros / MICROS_OF_DAY
        numbers = micros / 1e6, np.sin(angle), np.cos(angle)
        parts = [micros * 24 // MICROS_OF_DAY]
        return self._encode(engine, is_missing, angle, numbers, parts, learns)

    def _encode(self, engine, is_missing, angle, numbers, parts, learns, get_keys=None):
        """Encode seconds (the first numbers), angles on a circle and parts of it."""
        n = len(is_missing)
        numbers = np.stack(numbers, axis=-1)
        numbers[is_missing] = np.nan
        if learns:
            times = self.standard.learn(engine, numbers[..., 0])
        else:
            times = self.standard.transform(numbers[..., 0])
        angle = np.where(is_missing, np.nan, angle)
        values = np.stack([times, np.sin(angle), np.cos(angle)], axis=-1)
        first = np.cumsum([1, *map(len, self.parts[:-1])])
        codes = np.stack(parts, axis=-1) + first + self.starts()[:, np.newaxis]
        codes[is_missing] = -1
        codes[..., 0] = np.where(is_missing, self.starts(), codes[..., 0])
        codes, values, numbers = (x.reshape(n, -1) for x in (codes, values, numbers))
        return Encoded(codes, values, (), get_keys, lambda: numbers)

    def value_names(self):
        parts = "", f"_{self.cycle}_sin", f"_{self.cycle}_cos"
        return [f"{name}{part}" for name in self.names for part in parts]

    def code_names(self):
        parts = "missing", *(label for labels in self.parts for label in labels)
        return [f"{name}_{part}" for name in self.names for part in parts]


class Dates(Times):
    """Dates: the time itself, standardised, the season, month, weekday and hour."""

    dense_parts, has_means = ("", "_hour", "_weekday", "_day_of_year"), True
    cycle, parts = "year", (MONTHS, WEEKDAYS, HOURS)
    dtype = "datetime64[us]"
    parse = staticmethod(parse_date)

    def encode(self, engine, columns, learns):
        dates, is_missing = columns
        dates = np.where(is_missing, np.datetime64(0, "us"), dates)
        days = dates.astype("datetime64[D]")
        of_year = (days - dates.astype("datetime64[Y]")).astype(np.int64)
        weekdays = (days.astype(np.int64) + 3) % 7  # the first day was a Thursday
        months = dates.astype("datetime64[M]").astype(np.int64) % 12
        of_day = (dates - days).astype(np.int64)
        parts = months, weekdays, of_day * 24 // MICROS_OF_DAY
        numbers = dates.astype(np.int64) / 1e6, of_day / 3.6e9, weekdays, of_year
        angle = 2 * np.pi * of_year / DAYS_OF_YEAR

        def get_keys(j):  # of days
            keys = days[:, j].astype(np.int64).view(np.uint64)
            return Keys(np.where(is_missing[:, j], self.missing_key(j), keys), None)

        return self._encode(engine, is_missing, angle, numbers, parts, learns, get_keys)


class Booleans(ColumnGroup):
    """Booleans: whether they are true, and whether they are missing."""

    widths, missing_code, dense_parts = (2,), 1, ("",)
    dtype = bool
    parse = staticmethod(parse_boolean)

    def encode(self, engine, columns, learns):
        is_true, is_missing = columns
        starts = self.starts()
        codes = np.where(is_missing, starts + 1, np.where(is_true, starts, -1))
        return Encoded(
            codes,
            get_keys=lambda j: self._keys(j, codes[:, j]),
            get_numbers=lambda: np.where(is_missing, np.nan, is_true),
        )

    def _keys(self, j, codes):
        names = f"{self.names[j]}=False", self.names[j], f"{self.names[j]}_missing"
        numbers = np.where(codes < 0, 0, codes - self.starts()[j] + 1)
        keys = numbers.astype(np.uint64)
        if self.is_late:
            keys[numbers == 2] = self.missing_key(j)
        return Keys(keys, lambda rows: Strings.encode(names[k] for k in numbers[rows]))

    def code_names(self):
        return [f"{name}{part}" for name in self.names for part in ("", "_missing")]


class Categories(ColumnGroup):
    """Categories: the first ones have a column each, the others are hashed."""

    learned, has_means = ("vocabulary",), True
    parse = staticmethod(parse_text)
    stack_values = staticmethod(Strings.concatenate)

    def __init__(self, names, n_named):
        super().__init__(names)
        self.vocabulary = Vocabulary(len(names), n_named, 0)

    @property
    def widths(self):
        return (1 + self.vocabulary.n_slots,)

    def stack_parsed(self, values):
        return Strings.encode([text or "" for text in values])

    def encode(self, engine, columns, learns):
        texts, is_missing = columns
        n, m = is_missing.shape
        keys = engine.hash_strings(texts.data, texts.offsets)
        keys = np.ascontiguousarray(keys.reshape(m, n).T)
        slots = self.vocabulary.find(
            engine, keys, ~is_missing, lambda row, j: texts[j * n + row], learns
        )
        starts = self.starts()
        codes = np.where(slots >= 0, starts + 1 + slots, -1)
        codes = np.where(is_missing, starts, codes)
        hashed = []
        for j in np.flatnonzero((codes < 0).any(axis=0)):
            rows = np.flatnonzero(codes[:, j] < 0)
            others = keys_of_values(engine, self.names[j], keys[rows, j])
            get_names = _prefixed(self.names[j], texts, j * n + rows)
            hashed.append(Hashed(others, rows, get_names, self.names[j]))

        def get_keys(j):
            def name_of(row):
                if is_missing[row, j]:
                    return f"{self.names[j]}_missing"
                return f"{self.names[j]}={texts[j * n + row]}"

            own = np.where(is_missing[:, j], self.missing_key(j), keys[:, j])
            return Keys(own, lambda rows: Strings.encode(map(name_of, rows)))

        return Encoded(codes, hashed=tuple(hashed), get_keys=get_keys)

    def code_names(self):
        return [
            each
            for j, name in enumerate(self.names)
            for each in (f"{name}_missing", *self.vocabulary.slot_names(j, name))
        ]

    def add_moves(self, other, moves, hashed_columns):
        """Add moves of columns; values without a slot are hashed."""
        mine, theirs = self.vocabulary, other.vocabulary
        starts = self.starts() + 1
        mine.add_moves(theirs, starts, moves)
        for j, (name, start) in enumerate(zip(self.names, starts, strict=True)):
            if theirs.is_full[j]:
                slots, keys = mine.slots_not_in(theirs, j)
                moves.source[start + slots] = hashed_columns(name, keys)
            slots, keys = theirs.slots_not_in(mine, j)
            columns = hashed_columns(name, keys)
            moves.place[start + slots] = columns
            moves.add(columns, start + slots, np.ones(slots.size))

    def newly_hashed(self, engine, other):
        for j, name in enumerate(self.names):
            slots, keys = other.vocabulary.slots_not_in(self.vocabulary, j)
            if slots.size:
                texts = Strings.encode(other.vocabulary.names[j][k] for k in slots)
                names = Strings.join([f"{name}=", texts])
                yield keys_of_values(engine, name, keys), names


def _prefixed(name, texts, places):
    return lambda numbers: Strings.join([f"{name}=", texts.take(places[numbers])])


class Texts(ColumnGroup):
    """Texts: their words, and pairs of words next to each other, are hashed."""

    has_means = has_words = True
    parse = staticmethod(parse_text)
    stack_values: Callable = staticmethod(list)

    def stack_parsed(self, values):
        return [Strings.encode([text or ""]) for text in values]

    def encode(self, engine, columns, learns):
        texts, is_missing = columns
        codes = np.where(is_missing, self.starts(), -1)
        hashed = [
            hash_words(engine, name, Column(*column))
            for name, *column in zip(self.names, texts, is_missing.T, strict=True)
        ]
        return Encoded(codes, hashed=tuple(hashed))


def hash_words(engine, name, column):
    """Hash the words of a column of texts, and pairs of words."""
    texts, gaps = column.values, enumerate(column.is_missing)
    found = [[] if is_gap else TOKEN.findall(texts[i].lower()) for i, is_gap in gaps]
    words = Strings.encode(chain.from_iterable(found))
    rows = np.repeat(np.arange(len(found)), [*map(len, found)])
    keys = engine.hash_strings(words.data, words.offsets)
    word_keys = keys_of_values(engine, name, keys)
    first = np.flatnonzero(rows[1:] == rows[:-1])  # words of pairs
    pair_keys = combine(word_keys[first], keys[first + 1])

    def name_of(number):
        if number < len(words):
            return f"{name}={words[number]}"
        at = first[number - len(words)]
        return f"{name}={words[at]} {words[at + 1]}"

    return Hashed(
        np.concatenate([word_keys, pair_keys]),
        np.concatenate([rows, rows[first]]),
        lambda numbers: Strings.encode(map(name_of, numbers.tolist())),
    )


#: Groups by kind of column.
GROUPS: dict[str, type[ColumnGroup]] = {
    "number": Numbers,
    "date": Dates,
    "time": Times,
    "boolean": Booleans,
    "category": Categories,
    "text": Texts,
}


class Undecided(ColumnGroup):
    """Columns of which all values were missing so far: any kind may follow."""

    @staticmethod
    def parse(value):
        if not is_missing_value(value):
            raise ValueError(value)

    @staticmethod
    def stack_values(values):
        """Return nothing: there are no values to look at."""

    stack_parsed = stack_values

    def encode(self, engine, columns, learns):
        n = len(columns.is_missing)
        names = self.code_names()

        def get_keys(j):
            keys = np.full(n, self.missing_key(j))
            return Keys(keys, lambda rows: Strings.encode([names[j]] * len(rows)))

        return Encoded(np.tile(self.starts(), (n, 1)), get_keys=get_keys)
