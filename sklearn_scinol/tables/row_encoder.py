"""Encode single rows that are dicts.

A chunk of one row takes dozens of calls of NumPy on tiny arrays. Here Python encodes
value by value, texts are looked up in dicts, and only moments are left to the engine.
Rows that change more than moments, counts, and names of hashed columns are encoded as
chunks: the first ones, and those with a value that gets a slot.
"""

from bisect import bisect_left
from functools import partial
from math import nan
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .._state import checkpoint, make_writable
from ..transforms.standard import standardise
from ..transforms.units import MAX_IN_UNITS
from .column_group import keys_of_values
from .columns import Booleans, Categories, Dates, Numbers, Times, Undecided
from .inputs import CHANGED_TYPE, MISSING, OUT_OF_RANGE, UNSEEN, looks_like_number
from .kinds import parse_boolean, parse_number, parse_text
from .strings import Strings

# Maximum number of known texts of a column, and of their lengths.
MAX_TEXTS = 2**14
MAX_LENGTH = 100

# By encodings. They are no attributes of these, for they are neither copied nor saved.
ENCODERS: WeakKeyDictionary = WeakKeyDictionary()


def row_encoder(encoding, engine, names):
    """Return the :class:`RowEncoder` of an encoding, or None if it has none.

    It takes rows with columns of these `names`.
    """
    found = ENCODERS.get(encoding)
    if found is not None and found[0] is engine:
        return found[1]
    is_plain = all(type(group) in PARTS for group in encoding.groups)
    encoder = None
    if is_plain and not encoding.interactions:
        encoder = RowEncoder(encoding, engine, names)
    ENCODERS[encoding] = engine, encoder
    return encoder


class NeedsChunk(Exception):
    """The row must be encoded as a chunk; nothing has changed."""


class NewText(NamedTuple):
    """A text to be hashed whose column is not known."""

    part: "CategoriesOfRow"
    j: int
    text: str
    key: np.ndarray

    @property
    def name(self):
        """Name of the column of the table."""
        return self.part.names[self.j]


class RowEncoder:
    """Encodes rows as :meth:`Encoding.encode` encodes chunks of one.

    What it knows of the state holds until the state is restored.
    """

    def __init__(self, encoding, engine, names):
        self._names, self._engine = {*names}, engine
        self._hashed, self._n_named = encoding.hashed, encoding.n_named_columns
        self.n_columns = encoding.n_columns
        self._parts = [
            PARTS[type(each)](
                each, engine, encoding.counts, encoding.places_in_counts(each)
            )
            for each in encoding.groups
        ]
        self._arrays = [array for part in self._parts for array in part.changed]
        self._counts = encoding.counts
        self._others = [
            group for group in encoding.groups if PARTS[type(group)] is OthersOfRow
        ]
        self._value_columns = encoding.value_columns.tolist()
        self._is_late = bool(encoding.late)
        self._groups, self._dense_columns = encoding.groups, None

    def read(self, row, learns):
        """Read a dict for `encode`; None if it must be encoded as a chunk."""
        if not row.keys() <= self._names:
            return None
        new, events = [], []
        try:
            parts = [part.read(row, learns, new, events) for part in self._parts]
            return parts, new, events
        except (NeedsChunk, TypeError, ValueError, OverflowError):
            return None

    def encode(self, read, rollbacks=None):
        """Encode a row that was read, and learn it before if there are `rollbacks`.

        What restores the state is appended to these before it changes. Return indices
        and values of a sparse row.
        """
        of_parts, new, events = read
        learns = rollbacks is not None
        if learns:
            rollbacks += [checkpoint(group) for group in self._others]
            before, counts = [array.copy() for array in self._arrays], self._counts
            n_rows = counts.n_rows

            def copy_back():
                counts.n_rows = n_rows
                for array, values in zip(self._arrays, before, strict=True):
                    array[:] = values

            rollbacks.append(copy_back)
            counts.n_rows = n_rows + 1
        values, codes = [], []
        for part, of_part in zip(self._parts, of_parts, strict=True):
            part.encode(of_part, learns, values, codes)
        if new:
            codes += self._columns_of(new, events, rollbacks)
        if learns and events:
            rollbacks.append(checkpoint(self._counts))
            self._counts.add_row(events)
        codes = sorted({*codes})
        pairs = zip(self._value_columns, values, strict=True)
        if self._is_late:
            pairs = sorted(pairs)
        given = {j: x for j, x in pairs if x < 0.0 or x > 0.0}  # neither NaN nor 0
        indices = np.array([*given, *codes], np.int32)
        return indices, np.array([*given.values()] + [1.0] * len(codes))

    def encode_dense(self, read, dense, rollbacks=None, targets=None):
        """Encode the dense view of a row that was read; see :meth:`encode`.

        The row's targets are learned after it, if there are `rollbacks`.
        """
        numbers, keys, n_missing = self._read_dense(read)
        if learns := rollbacks is not None:
            rollbacks.append(checkpoint(dense))
        rows = np.array([numbers], np.float64), keys, np.array([n_missing]), (), {}
        columns = self._columns_of_dense(dense)
        return dense.join(self._engine, columns, rows, targets, learns)

    def learn_targets(self, read, dense, rollbacks, targets):
        """Learn the targets of a row that was learned without."""
        for part, of_part in zip(self._parts, read[0], strict=True):
            if type(part) is OthersOfRow:
                part.encode(of_part, False, [], [])
        _, keys, _ = self._read_dense(read)
        rollbacks.append(checkpoint(dense))
        dense.learn_keys(self._engine, self._columns_of_dense(dense), keys, targets)

    def _read_dense(self, read):
        """Return the numbers and keys of a row, and how many values are missing."""
        numbers, keys, n_missing = [], [], 0
        for part, of_part in zip(self._parts, read[0], strict=True):
            n_missing += part.read_dense(of_part, numbers, keys)
        return numbers, np.array([keys], np.uint64), n_missing

    def _columns_of_dense(self, dense):
        if self._dense_columns is None:
            self._dense_columns = dense.columns(self._groups)
        return self._dense_columns

    def _columns_of(self, new, events, rollbacks):
        """Return the columns of new texts; remember these if there are `rollbacks`."""
        keys = [keys_of_values(self._engine, each.name, each.key) for each in new]
        keys = np.concatenate(keys)
        places = self._hashed.places(keys)
        columns = (self._n_named + places).tolist()
        if rollbacks is None:
            return columns

        def get_names(numbers):
            return Strings.encode(f"{new[k].name}={new[k].text}" for k in numbers)

        def forget():
            for part, j, text, _ in new:
                part.column_of[j].pop(text, None)

        rollbacks += [checkpoint(self._hashed), forget]
        unseen = self._hashed.remember(self._engine, places, keys, get_names)
        events += [(UNSEEN, new[k].part.counted[new[k].j], None) for k in unseen]
        for each, column in zip(new, columns, strict=True):
            each.part.keep(each.j, each.text, column)
        return columns


class KnownSlots:
    """Which columns of a vocabulary have slots left, and how many are taken."""

    def __init__(self, vocabulary):
        make_writable(vocabulary)
        self.vocabulary = vocabulary
        self._state = None

    def update(self):
        """Read the state of the slots; return it, the same object until it changes."""
        slots = self.vocabulary.slots
        state = slots.n_used.tobytes(), slots.is_open.tobytes()
        if state == self._state:
            return self._state
        has_room = slots.is_open & (slots.n_used < self.vocabulary.n_slots)
        self.n_used, self.is_open = slots.n_used.tolist(), slots.is_open.tolist()
        self.has_room, self._counted = has_room.tolist(), has_room.astype(np.int64)
        self._counts = True in self.has_room
        self._state = state  # last: known once all is read
        return state

    def count(self, missing):
        """Count a row without values of the `missing` columns."""
        if self._counts:
            n_seen = self.vocabulary.slots.n_seen
            n_seen += self._counted
            for j in missing:
                n_seen[j] -= self._counted[j]


class NumbersOfRow:
    """Encodes the numbers of a row; learning it changes the arrays in `changed`."""

    def __init__(self, group, engine, counts, counted):
        self._group, self._slots = group, KnownSlots(group.vocabulary)
        self._slot_of = [{} for _ in group.names]
        self._counts, self._counted, self._limits = counts, counted, None
        self._columns, self._state, self._all_seen = [], None, False
        standard = group.standard
        make_writable(standard)
        self.changed = standard.moments, group.vocabulary.slots.n_seen
        self._X, self._Z = np.zeros((2, 1, len(group.names)))
        given = standard.moments, self._X, self._Z
        self._standardise = partial(engine.run_loop, standardise, *given)

    def _look_up(self):
        """Return what encodes the values of each column."""
        group, slots = self._group, self._slots
        starts, own_starts = group.starts().tolist(), group.starts(1).tolist()
        columns = []
        for j, name in enumerate(group.names):
            edges = group.bins.edges[j]
            edges = edges[~np.isnan(edges)].tolist() or None
            slot_of, keys = self._slot_of[j], slots.vocabulary.slots.keys[j]
            for bits in keys[len(slot_of) : slots.n_used[j]]:
                slot_of[bits.view(np.float64).item()] = own_starts[j] + len(slot_of)
            is_open = slots.is_open[j]
            columns.append((name, edges, starts[j], slot_of if is_open else None))
        return columns

    def read(self, row, learns, new, events):
        """Return the numbers of a row, their codes, and which are missing."""
        group, slots = self._group, self._slots
        units = group.standard.units
        if not (group.bins.is_fixed and units.are_one):
            raise NeedsChunk
        state = slots.update()
        if state is not self._state:
            self._columns, self._state = self._look_up(), state
        if self._counts.limits is not self._limits:
            self._limits = self._counts.limits
            self._low, self._high = self._limits[:, self._counted].tolist()
        low, high = self._low, self._high
        numbers, codes, own, missing = [], [], [], []
        for j, (name, edges, first, slot_of) in enumerate(self._columns):
            x = row.get(name)
            if type(x) is not float and (x := parse_number(x)) is None:
                x = nan
            numbers.append(x)
            if x != x:
                missing.append(j)
                codes.append(first + group.missing_code)
                events.append((MISSING, self._counted[j], None))
                continue
            if not low[j] <= x <= high[j]:
                events.append((OUT_OF_RANGE, self._counted[j], x))
            if not -MAX_IN_UNITS < x < MAX_IN_UNITS:
                raise NeedsChunk
            if edges is not None:
                codes.append(first + bisect_left(edges, x))
            if slot_of is not None:
                slot = slot_of.get(x)
                if slot is not None:
                    own.append(slot)
                elif slots.has_room[j]:
                    if learns:
                        raise NeedsChunk
                    own.append(group.starts(1)[j].item() + slots.n_used[j])
        if learns and not self._all_seen:
            self._check_seen(numbers)
        return numbers, codes + own, missing

    def _check_seen(self, numbers):
        """Refuse the first value of a column, which has its unit."""
        seen = self._group.standard.units.seen
        self._all_seen = bool(seen.all())
        if np.nan_to_num(numbers)[~seen].any():
            raise NeedsChunk

    def read_dense(self, read, numbers, keys):
        """Add numbers of a row that was read; return how many values are missing."""
        own, _, missing = read
        numbers += own
        return len(missing)

    def encode(self, read, learns, values, codes):
        """Add the values and codes of a row that was read."""
        numbers, own, missing = read
        if learns:
            self._X[0] = numbers
            self._standardise()
            Z = self._Z
            self._slots.count(missing)
        else:
            Z = self._group.standard.transform(np.array([numbers]))
        values += Z[0].tolist()
        codes += own


class CategoriesOfRow:
    """Encodes the categories of a row."""

    def __init__(self, group, engine, counts, counted):
        self._group, self._engine = group, engine
        self.names, self._slots = group.names, KnownSlots(group.vocabulary)
        self.counted, self._counts, self._types = counted, counts, None
        self.changed = (group.vocabulary.slots.n_seen,)
        self.column_of = [{} for _ in group.names]
        self._key_of = [{} for _ in group.names]
        self._starts = group.starts().tolist()

    def read(self, row, learns, new, events):
        """Return the codes of a row, which values are missing, and its texts."""
        self._slots.update()
        if self._counts.types is not self._types:
            self._types = self._counts.types
            self._is_number = self._types[self.counted].tolist()
        is_number = self._is_number
        codes, missing, texts = [], [], []
        for j, name in enumerate(self.names):
            text = row.get(name)
            if type(text) is not str or not text:
                text = parse_text(text)
            texts.append(text)
            if text is None:
                codes.append(self._starts[j])
                missing.append(j)
                events.append((MISSING, self.counted[j], None))
                continue
            if (is_one := looks_like_number(text)) != is_number[j]:
                events.append((CHANGED_TYPE, self.counted[j], is_one))
            column = self.column_of[j].get(text)
            if column is None:
                column = self._find(j, text, learns, new)
            if column is not None:
                codes.append(column)
        return codes, missing, texts

    def read_dense(self, read, numbers, keys):
        """Add keys of a row that was read; return how many values are missing."""
        _, missing, texts = read
        for j, text in enumerate(texts):
            key = self._key_of[j].get(text)
            keys.append(self._key(j, text) if key is None else key)
        return len(missing)

    def _key(self, j, text):
        """Return the key of a text, or of a missing one, and keep it."""
        key = np.array([self._group.missing_key(j)])
        if text is not None:
            strings = Strings.encode([text])
            key = self._engine.hash_strings(strings.data, strings.offsets)
        (key,) = keys_of_values(self._engine, self.names[j], key).tolist()
        if len(self._key_of[j]) >= MAX_TEXTS:
            self._key_of[j].clear()
        if text is None or len(text) <= MAX_LENGTH:
            self._key_of[j][text] = key
        return key

    def _find(self, j, text, learns, new):
        """Return the column of a text for its slot; None if it is hashed."""
        slots = self._slots
        strings = Strings.encode([text])
        key = self._engine.hash_strings(strings.data, strings.offsets)
        n_used, first = slots.n_used[j], self._starts[j] + 1
        found = np.flatnonzero(slots.vocabulary.slots.keys[j, :n_used] == key)
        if found.size:
            return self.keep(j, text, first + found[0].item())
        if not slots.has_room[j]:
            return new.append(NewText(self, j, text, key))
        if learns:
            raise NeedsChunk
        return first + n_used

    def keep(self, j, text, column):
        """Keep the column of a text that was learned."""
        column_of = self.column_of[j]
        if len(column_of) >= MAX_TEXTS:
            column_of.clear()
        if len(text) <= MAX_LENGTH:
            column_of[text] = column
        return column

    def encode(self, read, learns, values, codes):
        """Add the codes of a row that was read."""
        own, missing, _ = read
        if learns:
            self._slots.count(missing)
        codes += own


class BooleansOfRow:
    """Encodes the booleans of a row."""

    changed = ()

    def __init__(self, group, engine, counts, counted):
        starts = group.starts().tolist()
        self._columns = [*zip(group.names, starts, counted, strict=True)]

    def read(self, row, learns, new, events):
        """Return the codes of a row, and its values."""
        codes, values = [], []
        for name, first, place in self._columns:
            value = parse_boolean(row.get(name))
            if value is None:
                events.append((MISSING, place, None))
            if value is not False:
                codes.append(first if value else first + Booleans.missing_code)
            values.append(value)
        return codes, values

    def read_dense(self, read, numbers, keys):
        """Add numbers of a row that was read; return how many values are missing."""
        _, values = read
        numbers += [nan if value is None else float(value) for value in values]
        return values.count(None)

    def encode(self, read, learns, values, codes):
        """Add the codes of a row that was read."""
        codes += read[0]


class OthersOfRow:
    """Encodes the columns of a group as chunks of one."""

    changed = ()

    def __init__(self, group, engine, counts, counted):
        self._group, self._engine, self._counted = group, engine, counted

    def read(self, row, learns, new, events):
        """Stack the values of a row."""
        read = self._group.stack_row(row)
        missing = np.flatnonzero(read.is_missing[0])
        events += [(MISSING, self._counted[j], None) for j in missing]
        return read

    def read_dense(self, read, numbers, keys):
        """Add numbers and keys of the row encoded last; return how many are missing."""
        group, encoded = self._group, self._encoded
        if group.dense_parts:
            numbers += encoded.get_numbers()[0].tolist()
        if group.has_means:
            for j, name in enumerate(group.names):
                key = encoded.get_keys(j).keys
                keys += keys_of_values(self._engine, name, key).tolist()
        return int(read.is_missing.sum())

    def encode(self, read, learns, values, codes):
        """Add the values and codes of a row that was read."""
        encoded = self._encoded = self._group.encode(self._engine, read, learns)
        if encoded.values is not None:
            values += encoded.values[0].tolist()
        codes += [code for code in encoded.codes[0].tolist() if code >= 0]


PARTS = {
    Numbers: NumbersOfRow,
    Categories: CategoriesOfRow,
    Booleans: BooleansOfRow,
    Dates: OthersOfRow,
    Times: OthersOfRow,
    Undecided: OthersOfRow,
}
