"""Groups of columns of one kind, and their encodings."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._hashing import combine
from .._state import Part
from .frames import Column
from .strings import Strings

#: Key of a missing category, where it is combined with other columns.
MISSING = np.uint64(1)


class Keys(NamedTuple):
    """Keys of a column's values, for combinations with other columns."""

    keys: np.ndarray  # uint64, (n,)
    get_names: Callable  # gives the names of the values in some rows, as Strings


class Hashed(NamedTuple):
    """Keys that are hashed to columns."""

    keys: np.ndarray  # uint64, (n_keys,)
    rows: np.ndarray  # the row of each key, in ascending order but for pairs of words
    get_names: Callable  # gives the names of the keys at some places, as Strings
    column: str | None = None  # of categories


class Encoded(NamedTuple):
    """Columns of a group, encoded."""

    codes: np.ndarray  # int, (n, n_parts), ascending numbers of columns; -1 for none
    values: np.ndarray | None = None  # (n, n_values); NaN for none
    hashed: tuple = ()  # of Hashed
    get_keys: Callable | None = None  # gives Keys for the number of a column
    get_numbers: Callable | None = None  # gives (n, n_dense), for the dense view


class ColumnGroup(Part):
    """Columns of one kind.

    Attributes
    ----------
    start : int
        The first column for codes.
    places : ndarray of int of shape (n_names,) or None
        The first column for codes of each, where they do not lie side by side.
    vocabulary : Vocabulary or None
        Of values that have columns of their own.
    """

    start: int = 0
    places: np.ndarray | None = None
    vocabulary = None

    #: Number of columns for the values of each.
    n_values_each = 0

    #: Suffixes of the columns for numbers of each in the dense view.
    dense_parts: tuple[str, ...] = ()

    #: Whether the dense view has means of targets, and those of words.
    has_means = has_words = False

    #: Widths of blocks of columns for codes, for one column of the table.
    widths: tuple[int, ...] = (1,)

    #: Which of the columns for codes stands for a missing value.
    missing_code = 0

    #: Attributes that rows change, of classes with `copy_from` and `merged`.
    learned: tuple[str, ...] = ()

    encode: Callable  # encodes stacked columns; learns them row by row if `learns`
    parse: Callable  # reads a single value as one of the kind, see kinds.py
    stack_values: Callable = staticmethod(np.column_stack)  # puts columns side by side
    dtype: type | str  # of an array of values

    def __init__(self, names):
        self.names = names

    @property
    def n_values(self):
        """Number of columns for values."""
        return len(self.names) * self.n_values_each

    @property
    def n_codes(self):
        """Number of columns for codes."""
        return len(self.names) * sum(self.widths)

    def starts(self, block=0):
        """Return the first column of each in a block of columns for codes."""
        widths, n = self.widths, len(self.names)
        before = sum(widths[:block])
        if self.places is not None:
            return self.places + before
        return self.start + n * before + widths[block] * np.arange(n)

    def code_columns(self):
        """Return the columns for codes, in the order of their names."""
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
        """Return the key of a column's missing values, in combinations."""
        if self.places is None:
            return MISSING
        return np.uint64(self.places[j] + self.missing_code)

    def stack(self, columns):
        """Put columns of a table into one :class:`Column`, as `encode` takes it."""
        is_missing = np.column_stack([column.is_missing for column in columns])
        values = self.stack_values([column.values for column in columns])
        return Column(values, is_missing)

    def stack_row(self, row):
        """Stack a row that is a dict; errors if it has other than plain values."""
        values = [self.parse(row.get(name)) for name in self.names]
        is_missing = np.array([[value is None for value in values]])
        return Column(self.stack_parsed(values), is_missing)

    def stack_parsed(self, values):
        """Stack the parsed values of one row."""
        return np.array([values], self.dtype)

    def value_names(self):
        """Return names of the columns of values."""
        return []

    def code_names(self):
        """Return names of the columns of codes."""
        return [f"{name}_missing" for name in self.names]

    def retired_columns(self):
        """Return the columns that no further row can have."""
        return np.empty(0, np.intp)

    def skip(self, n_rows):
        """Count rows before the first one, in which all values were missing."""

    def copy_from(self, group):
        """Copy the state of a group that has some of these columns."""
        for name in self.learned:
            places = [self.names.index(each) for each in group.names]
            getattr(self, name).copy_from(getattr(group, name), places)

    # Merging.

    def merge(self, shards):
        """Merge the states of several groups into this one, before its first row."""
        for name in self.learned:
            parts = shards.map(lambda group, name=name: getattr(group, name))
            setattr(self, name, type(parts.start).merged(parts))

    def keys_match(self, other, name):
        """Whether a column's values have equal keys in a group that was merged."""
        return True

    def add_moves(self, other, moves, hashed_columns):
        """Add moves from the columns of a merged group to the columns of this one.

        `hashed_columns(name, keys)` gives the columns that values are hashed to.
        """

    def newly_hashed(self, engine, other):
        """Yield keys and names of values without slots, unlike in a merged group."""
        return ()


@lru_cache(maxsize=1024)
def key_of_text(engine, text):
    """Return the key of a single string, as a read-only array."""
    strings = Strings.encode([text])
    return engine.hash_strings(strings.data, strings.offsets)


def keys_of_values(engine, name, keys):
    """Return keys to be hashed, from keys of the values of the column `name`."""
    if not keys.size:
        return keys
    return combine(key_of_text(engine, f"{name}="), keys)
