"""What the columns of each kind become: values, codes, and keys to be hashed.

Each class encodes all columns of a kind. Values fill columns of their own; a code is a
one in one of several columns; keys go by hashing to columns that all share.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..models.base import snapshot
from ..transforms.bins import FeatureBins
from ..transforms.standard import StandardTransform
from .frames import Column, is_missing_value
from .kinds import plain_boolean, plain_date, plain_number, plain_text
from .strings import Strings
from .vocabulary import Vocabulary

__all__ = [
    "COMBINED_KINDS",
    "Booleans",
    "Categories",
    "Dates",
    "Encoded",
    "Hashed",
    "Keys",
    "Numbers",
    "Texts",
    "Undecided",
    "key_of_text",
    "keys_of_values",
]

#: Kinds of columns that can be combined with others.
COMBINED_KINDS = "number", "category", "boolean"

#: Key of a category that is missing, where it is combined with others.
MISSING = np.uint64(1)

#: Words, and each mark that is part of none.
TOKEN = re.compile(r"\w+|[^\w\s]")

DAYS_OF_YEAR = 365.25
MONTHS = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)
WEEKDAYS = "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"
HOURS = tuple(f"{hour:02d}h" for hour in range(24))


class Keys(NamedTuple):
    """What a column is in combinations with others."""

    keys: np.ndarray  # uint64, (n,)
    names_of: Callable  # gives Strings for the numbers of some rows


class Hashed(NamedTuple):
    """Keys that go to columns by hashing."""

    keys: np.ndarray  # uint64, (n,) or, where rows have several, (n_keys,)
    rows: np.ndarray | None  # those that they are of, if rows have several
    is_given: np.ndarray | None  # which of them go there; None for all
    names_of: Callable  # gives Strings for the numbers of some keys


class Encoded(NamedTuple):
    """What columns of a table have become."""

    codes: np.ndarray  # int, (n, n_parts), ascending numbers of columns; -1 for none
    values: np.ndarray | None = None  # (n, n_values); NaN for none
    hashed: tuple = ()  # of Hashed
    keys_of: Callable | None = None  # gives Keys for the number of a column


class Columns:
    """Columns of a kind.

    Parameters
    ----------
    names : list of str

    Attributes
    ----------
    start : int
        The first column for codes.
    places : ndarray of int of shape (n_names,) or None
        The first column for codes of each, where they do not lie side by side.
    vocabulary : Vocabulary or None
        Of values that have columns of their own.
    """

    start = 0
    places = vocabulary = None

    def __init__(self, names):
        self.names = names

    # What subclasses give.

    #: Number of columns for the values of each.
    n_values_each = 0

    #: Numbers of columns for the codes of each. Those of all come block after block.
    widths: tuple[int, ...] = ()

    #: Which of the columns for codes says that the value is missing.
    missing_code = 0

    plain: Callable  # makes a value of a row one of the kind, see kinds.py
    stack: Callable = staticmethod(np.column_stack)  # values, as `encode` takes them
    stack_plain: Callable  # the same of plain values of a row

    # What they get.

    @property
    def n_values(self):
        """Number of columns for values."""
        return len(self.names) * self.n_values_each

    @property
    def n_codes(self):
        """Number of columns for codes."""
        return len(self.names) * sum(self.widths)

    def starts(self, block=0):
        """The first column of each in a block of columns for codes."""
        widths, n = self.widths, len(self.names)
        before = sum(widths[:block])
        if self.places is not None:
            return self.places + before
        return _evenly_spaced(self.start + n * before, n, widths[block])

    def code_columns(self):
        """Columns for codes, in the order of their names."""
        blocks = [
            (self.starts(block)[:, np.newaxis] + np.arange(width)).ravel()
            for block, width in enumerate(self.widths)
        ]
        return np.concatenate(blocks)

    @property
    def is_late(self):
        """Whether the first values were missing, see :class:`Encoding`."""
        return self.places is not None

    def missing_key(self, j):
        """Key of a missing value of a column, where it is combined with others."""
        if self.places is None:
            return MISSING
        return np.uint64(self.places[j] + self.missing_code)

    def stacked(self, columns):
        """Columns of a table, as `encode` takes them: a :class:`Column` of all."""
        is_missing = np.column_stack([column.is_missing for column in columns])
        return Column(self.stack([column.values for column in columns]), is_missing)

    def of_row(self, row):
        """The same of a row that is a dict, if its values are plain; errors if not."""
        plain = [self.plain(row.get(name)) for name in self.names]
        is_missing = np.array([[value is None for value in plain]])
        return Column(self.stack_plain(plain), is_missing)

    def fresh(self):
        """The same before the first row."""
        return type(self)(self.names)

    def value_names(self):
        """Names of the columns of values."""
        return []

    def code_names(self):
        """Names of the columns of codes."""
        return []

    def categories(self):
        """Values that have columns of their own, by the names of table columns."""
        if self.vocabulary is None:
            return {}
        return dict(zip(self.names, map(list, self.vocabulary.names), strict=True))

    def retired_columns(self):
        """Columns that no row will come to any more."""
        return np.empty(0, np.intp)

    def checkpoint(self):
        """How to undo what will be learned."""
        return lambda: None

    #: Attributes that rows change, each of a class with `put` and `merged`.
    learned: tuple[str, ...] = ()

    def skip(self, n_rows):
        """Count so many rows, in which all values were missing, before the first."""

    def put(self, group):
        """Take what a group of some of these columns has learned, before any row."""
        for name in self.learned:
            places = [self.names.index(of_column) for of_column in group.names]
            getattr(self, name).put(getattr(group, name), places)

    # Merging.

    def take(self, shards):
        """Learn what several have."""
        for name in self.learned:
            of_each = shards.of(lambda group, name=name: getattr(group, name))
            setattr(self, name, type(of_each.start).merged(of_each))

    def keys_match(self, other, name):
        """Whether values in combinations have the keys of one of those taken."""
        return True

    def move(self, other, moves, columns_of):
        """Note where the columns of one of those taken lie among these.

        Parameters
        ----------
        other : Columns
        moves : Moves
            Of columns that all stay where they are; changed.
        columns_of : callable
            Gives the columns that values go to by hashing, for the name of a table's
            column and their keys.
        """

    def without_slots(self, engine, other):
        """Values to be hashed now, that had slots in one of those taken.

        Yields
        ------
        keys : ndarray of uint64
        names : Strings
        """
        return ()


@lru_cache(maxsize=1024)
def _evenly_spaced(start, n, step):
    """So many numbers, an array that is not to be changed."""
    return start + step * np.arange(n)


class Numbers(Columns):
    """Numbers: their standardised value, their bin, and the value as one of a few.

    Parameters
    ----------
    names : list of str
    n_samples, n_quantiles : int
        See :class:`FeatureBins`.
    n_named : int
        Up to how many different values have a column each.
    """

    def __init__(self, names, n_samples, n_quantiles, n_named):
        super().__init__(names)
        self.standard = StandardTransform(len(names))
        self.bins = FeatureBins(len(names), n_samples, n_quantiles)
        self.vocabulary = Vocabulary(len(names), n_named, 2 * n_named)

    n_values_each = 1

    @property
    def widths(self):
        return self.bins.n_columns, self.vocabulary.n_slots

    @property
    def missing_code(self):
        return self.bins.n_columns - 1

    def fresh(self):
        n_quantiles = self.bins.edges.shape[1] // 2
        n_named = self.vocabulary.n_slots
        return Numbers(self.names, self.bins.n_samples, n_quantiles, n_named)

    def stacked(self, columns):
        """See :class:`Columns`."""
        X = np.column_stack([column.values for column in columns])
        return Column(X, np.isnan(X))

    plain = staticmethod(plain_number)

    @staticmethod
    def stack_plain(values):
        """See :class:`Columns`."""
        return np.array([values], np.float64)

    def skip(self, n_rows):
        """See :class:`Columns`."""
        n_counted = min(n_rows, self.bins.n_samples)
        self.bins.learn(np.full((n_counted, len(self.names)), np.nan))

    def encode(self, engine, columns, learns):
        """What columns have become."""
        X, is_missing = columns
        if learns:
            Z = self.standard.learn(engine, X)
            last = self.bins.learn_and_convert(engine, X, np.ones(len(X), bool))
        else:
            Z = self.standard.transform(X)
            last = self.bins.of_rows(engine, X)
        codes = np.full(X.shape, -1, np.int32)
        starts = self.starts()
        np.add(last, starts, out=codes[len(X) - len(last) :], casting="unsafe")
        if not self.bins.has_edges.all():
            codes[:, ~self.bins.has_edges] = -1
        if is_missing.any():
            missing = (starts + self.missing_code).astype(np.int32)
            np.copyto(codes, missing, where=is_missing)
        if self.vocabulary.some_open:
            codes = np.hstack([codes, self._slots(engine, X, is_missing, learns)])
        return Encoded(codes, Z, keys_of=lambda j: self._keys(j, X, codes))

    def _slots(self, engine, X, is_missing, learns):
        """Codes of the values that have columns of their own."""
        bits = (X + 0.0).view(np.uint64)  # -0.0 has those of 0.0
        found = self.vocabulary.find(
            engine, bits, ~is_missing, lambda row, j: f"{X[row, j]:.12g}", learns
        )
        starts = self.starts(1).astype(np.int32)
        return np.where(found >= 0, found + starts, -1)

    def _keys(self, j, X, codes):
        """In combinations a number is its bin, or itself if it has that code only."""
        bins, slots = codes[:, j], codes[:, len(self.names) :]
        own = slots[:, j] if slots.size else -1
        together = np.where(bins < 0, own, bins)
        first = self.starts()[j]

        def name_of(row):
            if together[row] < 0:
                return f"{self.names[j]}_other"
            if bins[row] < 0:
                return f"{self.names[j]}={X[row, j]:.12g}"
            return self._bin_names(j)[bins[row] - first]

        keys = together.astype(np.int64).view(np.uint64)
        return Keys(keys, lambda rows: Strings.of(map(name_of, rows)))

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

    def checkpoint(self):
        ways = (
            self.standard.checkpoint(),
            snapshot(self.bins),
            self.vocabulary.checkpoint(),
        )
        return lambda: [way() for way in ways]

    learned = "standard", "bins", "vocabulary"

    def move(self, other, moves, columns_of):
        """See :class:`Columns`."""
        self.bins.move(other.bins, self.starts(), moves)
        self.vocabulary.move(other.vocabulary, self.starts(1), moves)

    def keys_match(self, other, name):
        """See :class:`Columns`.

        Numbers have where they have bins, or their values the same slots. Before there
        are bins, few rows have other keys, as with one model.
        """
        j, mine, theirs = self.names.index(name), self.vocabulary, other.vocabulary
        known = theirs.keys_of(j)
        return bool(self.bins.has_edges[j]) or known == mine.keys_of(j)[: len(known)]


class Dates(Columns):
    """Dates: the time itself, standardised, the season, month, weekday and hour."""

    n_values_each = 3
    widths = (1 + len(MONTHS) + len(WEEKDAYS) + len(HOURS),)

    def __init__(self, names):
        super().__init__(names)
        self.standard = StandardTransform(len(names))

    plain = staticmethod(plain_date)

    @staticmethod
    def stack_plain(values):
        """See :class:`Columns`."""
        return np.array([values], "datetime64[us]")

    def encode(self, engine, columns, learns):
        """What columns have become."""
        dates, is_missing = columns
        moments = np.where(is_missing, np.nan, dates.astype(np.int64) / 1e6)
        learn = (
            self.standard.learn if learns else lambda _, X: self.standard.transform(X)
        )
        dates = np.where(is_missing, np.datetime64(0, "us"), dates)
        days = dates.astype("datetime64[D]")
        of_year = (days - dates.astype("datetime64[Y]")).astype(np.int64)
        angle = np.where(is_missing, np.nan, 2 * np.pi * of_year / DAYS_OF_YEAR)
        values = np.stack(
            [learn(engine, moments), np.sin(angle), np.cos(angle)], axis=-1
        )
        parts = (
            1 + dates.astype("datetime64[M]").astype(np.int64) % 12,
            (days.astype(np.int64) + 3) % 7,  # the first day was a Thursday
            (dates - days).astype("timedelta64[h]").astype(np.int64),
        )
        first = np.cumsum([0, 1 + len(MONTHS), len(WEEKDAYS)])  # of each part
        codes = np.where(
            is_missing[..., np.newaxis], -1, np.stack(parts, axis=-1) + first
        )
        codes[is_missing, 0] = 0
        starts = self.starts()
        codes = np.where(codes >= 0, codes + starts[:, np.newaxis], -1)
        return Encoded(codes.reshape(len(dates), -1), values.reshape(len(dates), -1))

    def value_names(self):
        parts = "", "_year_sin", "_year_cos"
        return [f"{name}{part}" for name in self.names for part in parts]

    def code_names(self):
        parts = "missing", *MONTHS, *WEEKDAYS, *HOURS
        return [f"{name}_{part}" for name in self.names for part in parts]

    def checkpoint(self):
        return self.standard.checkpoint()

    learned = ("standard",)


class Booleans(Columns):
    """Booleans: whether they are true, and whether they are missing."""

    widths, missing_code = (2,), 1

    plain = staticmethod(plain_boolean)

    @staticmethod
    def stack_plain(values):
        """See :class:`Columns`."""
        return np.array([values], bool)

    def encode(self, engine, columns, learns):
        """What columns have become."""
        is_true, is_missing = columns
        starts = self.starts()
        codes = np.where(is_missing, starts + 1, np.where(is_true, starts, -1))
        return Encoded(codes, keys_of=lambda j: self._keys(j, codes[:, j]))

    def _keys(self, j, codes):
        names = f"{self.names[j]}=False", self.names[j], f"{self.names[j]}_missing"
        numbers = np.where(codes < 0, 0, codes - self.starts()[j] + 1)
        keys = numbers.astype(np.uint64)
        if self.is_late:
            keys[numbers == 2] = self.missing_key(j)
        return Keys(
            keys,
            lambda rows: Strings.of(names[number] for number in numbers[rows]),
        )

    def code_names(self):
        return [f"{name}{part}" for name in self.names for part in ("", "_missing")]


class Categories(Columns):
    """Categories: the first ones have a column each, the others are hashed."""

    def __init__(self, names, n_named):
        super().__init__(names)
        self.vocabulary = Vocabulary(len(names), n_named, 0)

    @property
    def widths(self):
        return (1 + self.vocabulary.n_slots,)

    def fresh(self):
        return Categories(self.names, self.vocabulary.n_slots)

    plain = staticmethod(plain_text)
    stack: Callable = staticmethod(Strings.concatenated)

    @staticmethod
    def stack_plain(values):
        """See :class:`Columns`."""
        return Strings.of([text or "" for text in values])

    def encode(self, engine, columns, learns):
        """What columns have become."""
        texts, is_missing = columns
        n, m = is_missing.shape
        keys = engine.hash_strings(texts.data, texts.offsets)
        keys = np.ascontiguousarray(keys.reshape(m, n).T)
        slots = self.vocabulary.find(
            engine, keys, ~is_missing, lambda row, j: texts[j * n + row], learns
        )
        starts = self.starts()
        codes = np.where(
            is_missing, starts, np.where(slots >= 0, starts + 1 + slots, -1)
        )
        hashed = []
        for j in np.flatnonzero((codes < 0).any(axis=0)):
            others = keys_of_values(engine, self.names[j], keys[:, j])
            names_of = _names_of_texts(self.names[j], texts, j * n)
            hashed.append(Hashed(others, None, codes[:, j] < 0, names_of))

        def keys_of(j):
            def name_of(row):
                if is_missing[row, j]:
                    return f"{self.names[j]}_missing"
                return f"{self.names[j]}={texts[j * n + row]}"

            together = np.where(is_missing[:, j], self.missing_key(j), keys[:, j])
            return Keys(together, lambda rows: Strings.of(map(name_of, rows)))

        return Encoded(codes, hashed=tuple(hashed), keys_of=keys_of)

    def code_names(self):
        return [
            each
            for j, name in enumerate(self.names)
            for each in (f"{name}_missing", *self.vocabulary.slot_names(j, name))
        ]

    def checkpoint(self):
        return self.vocabulary.checkpoint()

    learned = ("vocabulary",)

    def move(self, other, moves, columns_of):
        """See :class:`Columns`; values without a place of their own are hashed."""
        mine, theirs = self.vocabulary, other.vocabulary
        starts = self.starts() + 1
        mine.move(theirs, starts, moves)
        for j, (name, start) in enumerate(zip(self.names, starts, strict=True)):
            if theirs.is_full[j]:
                slots, keys = mine.beside(theirs, j)
                moves.source[start + slots] = columns_of(name, keys)
            slots, keys = theirs.beside(mine, j)
            columns = columns_of(name, keys)
            moves.place[start + slots] = columns
            moves.join(columns, start + slots, np.ones(slots.size))

    def without_slots(self, engine, other):
        """See :class:`Columns`."""
        for j, name in enumerate(self.names):
            slots, keys = other.vocabulary.beside(self.vocabulary, j)
            texts = Strings.of(other.vocabulary.names[j][slot] for slot in slots)
            if slots.size:
                names = Strings.joined([f"{name}=", texts])
                yield keys_of_values(engine, name, keys), names


def keys_of_values(engine, name, keys):
    """Keys to be hashed, of values of a column with that name."""
    if not keys.size:
        return keys
    return engine.mix_keys(key_of_text(engine, f"{name}="), keys)


def _names_of_texts(name, texts, first):
    return lambda rows: Strings.joined([f"{name}=", texts.take(first + rows)])


class Texts(Columns):
    """Texts: their words, and pairs of words next to each other, are hashed."""

    plain = staticmethod(plain_text)
    stack: Callable = staticmethod(list)

    @staticmethod
    def stack_plain(values):
        """See :class:`Columns`."""
        return [Strings.of([text or ""]) for text in values]

    widths = (1,)

    def encode(self, engine, columns, learns):
        """What columns have become."""
        texts, is_missing = columns
        codes = np.where(is_missing, self.starts(), -1)
        hashed = [
            _hashed_words(engine, name, Column(*of_column))
            for name, *of_column in zip(self.names, texts, is_missing.T, strict=True)
        ]
        return Encoded(codes, hashed=tuple(hashed))

    def code_names(self):
        return [f"{name}_missing" for name in self.names]


def _hashed_words(engine, name, column):
    texts, n_words, words = column.values, [], []
    for i, is_missing in enumerate(column.is_missing):
        of_text = [] if is_missing else TOKEN.findall(texts[i].lower())
        n_words.append(len(of_text))
        words += of_text
    words = Strings.of(words)
    rows = np.repeat(np.arange(len(n_words)), n_words)
    keys = engine.hash_strings(words.data, words.offsets)
    of_words = keys_of_values(engine, name, keys)
    first = np.flatnonzero(rows[1:] == rows[:-1])
    of_pairs = engine.mix_keys(of_words[first], keys[first + 1])

    def names_of(numbers):
        for number in numbers.tolist():
            if number < len(words):
                yield f"{name}={words[number]}"
            else:
                at = first[number - len(words)]
                yield f"{name}={words[at]} {words[at + 1]}"

    return Hashed(
        np.concatenate([of_words, of_pairs]),
        np.concatenate([rows, rows[first]]),
        None,
        lambda numbers: Strings.of(names_of(numbers)),
    )


class Undecided(Columns):
    """Columns of which all values were missing so far, so that any kind may follow."""

    widths = (1,)

    @staticmethod
    def plain(value):
        """See :class:`Columns`."""
        if not is_missing_value(value):
            raise ValueError(value)

    @staticmethod
    def stack(values):
        """See :class:`Columns`; there is nothing to look at."""

    stack_plain = stack

    def encode(self, engine, columns, learns):
        """What columns have become."""
        n = len(columns.is_missing)
        keys = [self.missing_key(j) for j in range(len(self.names))]
        codes = np.tile(self.starts(), (n, 1))
        names = self.code_names()
        return Encoded(
            codes,
            keys_of=lambda j: Keys(
                np.full(n, keys[j]), lambda rows: Strings.of([names[j]] * len(rows))
            ),
        )

    def code_names(self):
        return [f"{name}_missing" for name in self.names]


@lru_cache(maxsize=1024)
def key_of_text(engine, text):
    """Key of a single string, an array that is not to be changed."""
    strings = Strings.of([text])
    return engine.hash_strings(strings.data, strings.offsets)
