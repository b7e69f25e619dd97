"""Encoding of tables as rows of numbers: the columns of all groups, side by side."""

from copy import copy
from functools import partial

import numpy as np

from .._hashing import combine
from .._invariants import is_count, same_structure
from .._state import Part
from ..blocks import Entries
from ..transforms.placement import Moves
from . import inputs
from .column_group import Hashed, key_of_text, keys_of_values
from .columns import GROUPS, Booleans, Categories, Dates, Numbers, Undecided
from .hashed import HashedColumns
from .kinds import KINDS
from .row_encoder import ENCODERS
from .strings import Strings, offsets_of, unique

# Maximum number of columns for the values of a column, which dates have.
MAX_VALUES = Dates.n_values_each

# Maximum of the sizes of vocabularies and bins, in models from files.
MAX_SIZE = 2**15

# Attributes that follow from the kinds of columns.
FROM_KINDS = "n_values", "room", "missing", "n_named_columns", "value_columns"


class Encoding(Part):
    """Encodes the columns of a table as columns of numbers.

    Values come first, then codes, and last the columns that keys are hashed to. A
    column is *late* if its first value is missing. What it becomes must not depend on
    when its kind is known: among values and codes late columns come last, and each has
    as much room as any kind needs. `kinds`, by names of columns, has None for them.

    For the other parameters see :class:`HashedColumns`, :class:`Vocabulary` and
    :class:`FeatureBins`.

    Attributes
    ----------
    late : dict
        Kinds of late columns; None where none is known yet.
    n_values : int
        Number of columns for values.
    room : int
        Number of columns for the codes of each late column.
    missing : ndarray of int of shape (n_late,)
        The column for missing values of each late column.
    value_columns : ndarray of int
        The columns of the values of all groups, one after the other.
    counted : dict of int
        Places of the columns of the table in `counts`, an :class:`InputCounts`.
    """

    def __init__(self, kinds, interactions, n_hashed, n_named, n_samples, n_quantiles):
        self.interactions = interactions
        self.sizes = n_named, n_samples, n_quantiles
        self.late = {name: None for name, kind in kinds.items() if kind is None}
        known = {name: kind for name, kind in kinds.items() if kind is not None}
        self.groups = self._groups_of(known)
        self.n_values = sum(group.n_values for group in self.groups)
        self.n_values += MAX_VALUES * len(self.late)
        start = self.n_values
        for group in self.groups:
            group.start = start
            start += group.n_codes
        before, self.room = self._room_of_any_kind()
        self.missing = start + before + self.room * np.arange(len(self.late))
        self.n_named_columns = start + self.room * len(self.late)
        self.hashed = HashedColumns(n_hashed)
        early = [name for group in self.groups for name in group.names]
        self.counted = {name: j for j, name in enumerate([*early, *self.late])}
        self.counts = inputs.InputCounts(len(self.counted))
        self._group_late(0)

    def _room_of_any_kind(self):
        """Return numbers of columns for codes: before the missing one, and in all."""
        groups = self._groups_of({kind: kind for kind in KINDS})
        before = max(group.missing_code for group in groups)
        return before, max(
            before - group.missing_code + group.n_codes for group in groups
        )

    def _groups_of(self, kinds):
        """Return a group of columns for each kind that there is."""
        n_named, n_samples, n_quantiles = self.sizes
        makers = GROUPS | {
            "number": lambda names: Numbers(names, n_samples, n_quantiles, n_named),
            "category": lambda names: Categories(names, n_named),
            None: Undecided,
        }
        names_of = {kind: [n for n in kinds if kinds[n] == kind] for kind in makers}
        return [makers[kind](names) for kind, names in names_of.items() if names]

    @property
    def first_kinds(self):
        """Kinds of the columns by their first values: None for late ones."""
        kind_of = {group: kind for kind, group in GROUPS.items()}
        early = [group for group in self.groups if not group.is_late]
        known = {name: kind_of[type(group)] for group in early for name in group.names}
        return known | dict.fromkeys(self.late)

    def with_kinds(self, kinds, n_rows):
        """Return an encoding that knows the kinds of more late columns.

        Their values were missing in the first `n_rows` rows. Groups of other columns
        are shared with this encoding.
        """
        if not self.late:
            return self
        encoding = copy(self)
        encoding.late = self.late | kinds
        encoding._group_late(n_rows)
        return encoding

    def _group_late(self, n_rows):
        """Group late columns by their kinds, as far as known."""
        former = {type(group): group for group in self.groups if group.is_late}
        self.groups = [group for group in self.groups if not group.is_late]
        n_values = sum(group.n_values for group in self.groups)
        for group in self._groups_of(self.late):
            group.places = self.missing[self._numbers_of(group)] - group.missing_code
            known = former.get(type(group))
            if known is None:
                group.skip(n_rows)
            else:
                group.copy_from(known)  # which may be used again
            self.groups.append(group)
        columns = [np.arange(n_values)]
        for group in self.groups:
            if group.is_late:
                first = n_values + MAX_VALUES * self._numbers_of(group)[:, np.newaxis]
                columns.append((first + np.arange(group.n_values_each)).ravel())
        self.value_columns = np.concatenate(columns)

    def _numbers_of(self, group):
        """Return the places of a group's columns among the late ones."""
        return np.array([[*self.late].index(name) for name in group.names])

    @property
    def n_columns(self):
        return self.n_named_columns + self.hashed.n_columns

    def stack(self, columns):
        """Stack columns, a dict by name, for each group."""
        return [group.stack([columns[n] for n in group.names]) for group in self.groups]

    def encode_groups(self, engine, stacked, learns):
        """Encode the stacked columns of each group.

        If `learns`, each row is learned before it is encoded; else each is encoded as
        if it came next.
        """
        if learns:
            self.counts.n_rows += len(stacked[0].is_missing)
        encoded = []
        for group, columns in zip(self.groups, stacked, strict=True):
            is_category = learns and type(group) is Categories
            n_before = group.vocabulary.slots.n_used.copy() if is_category else None
            encoded.append(group.encode(engine, columns, learns))
            if learns:
                self._count(group, columns, encoded[-1].codes, n_before)
        return encoded

    def places_in_counts(self, group):
        """Return the places of a group's columns in the counts."""
        return [self.counted[name] for name in group.names]

    def _count(self, group, columns, codes, n_before):
        """Count what is missing, new or out of range in rows that were learned."""
        places, counts = np.array(self.places_in_counts(group)), self.counts
        counts.add(inputs.MISSING, places, columns.is_missing)
        if type(group) is Numbers:
            counts.add_numbers(places, columns.values)
        if type(group) is Categories:
            counts.add_texts(places, columns.values, columns.is_missing)
            for j in np.flatnonzero(group.vocabulary.slots.n_used > n_before):
                slots = codes[:, j] - group.starts()[j] - 1
                new = inputs.rows_of_new(slots, n_before[j], len(codes))
                counts.add(inputs.UNSEEN, places[j : j + 1], new)

    def input_flags(self, engine, stacked):
        """Return what `counts` would count of each row if it came next, by measure."""
        n_rows = len(stacked[0].is_missing)
        flags = np.zeros((len(inputs.MEASURES), n_rows, len(self.counted)), bool)
        groups = self.encode_groups(engine, stacked, learns=False)
        for group, columns, encoded in zip(self.groups, stacked, groups, strict=True):
            places, counts = self.places_in_counts(group), self.counts
            flags[inputs.MISSING][:, places] = columns.is_missing
            if type(group) is Numbers:
                is_out = counts.is_out_of_range(places, columns.values)
                flags[inputs.OUT_OF_RANGE][:, places] = is_out
            if type(group) is Categories:
                has_changed = counts.has_changed_type(places, *columns)
                flags[inputs.CHANGED_TYPE][:, places] = has_changed
                slots = encoded.codes - group.starts() - 1
                flags[inputs.UNSEEN][:, places] = slots >= group.vocabulary.slots.n_used
                for each in encoded.hashed:
                    place = self.counted[each.column]
                    flags[inputs.UNSEEN][each.rows, place] = self.hashed.are_new(
                        each.keys
                    )
        return flags

    def combine(self, engine, groups):
        """Combine the encoded columns of interactions; return a list of Hashed."""
        return [self._combine(engine, names, groups) for names in self.interactions]

    def join_groups(self, engine, groups, combined, n_rows, learns):
        """Join the encoded columns of all groups; return the three arrays of CSR."""
        values = [each.values for each in groups if each.values is not None]
        codes = [each.codes for each in groups]
        hashed = [each for group in groups for each in group.hashed] + combined
        values = _hstack(values, n_rows, np.float64)
        codes = _hstack(codes, n_rows, np.int32)
        if self.late:
            given, values = values, np.full((n_rows, self.n_values), np.nan)
            values[:, self.value_columns] = given
            codes = np.sort(codes, axis=1)
        entries = Entries(values, codes, *self._hash(engine, hashed, n_rows, learns))
        return engine.join_entries(entries, self.n_named_columns)

    def _combine(self, engine, names, encoded):
        """Return the combined values of several columns, to be hashed."""
        members = [self._keys(name, encoded) for name in names]
        keys = key_of_text(engine, " & ".join(names))
        for member in members:
            keys = combine(keys, member.keys)

        def get_names(rows):
            pieces = [members[0].get_names(rows)]
            for member in members[1:]:
                pieces += " & ", member.get_names(rows)
            return Strings.join(pieces)

        return Hashed(keys, np.arange(len(keys)), get_names)

    def _keys(self, name, encoded):
        place = next(i for i, group in enumerate(self.groups) if name in group.names)
        return encoded[place].get_keys(self.groups[place].names.index(name))

    def _hash(self, engine, hashed, n_rows, learns):
        """Return the columns of keys, row by row, and where each row begins.

        Keys are remembered in this order: chunks do not decide which came first.
        """
        keys = np.concatenate([np.empty(0, np.uint64), *(each.keys for each in hashed)])
        rows = np.concatenate([np.empty(0, np.intp), *(each.rows for each in hashed)])
        order = np.argsort(rows, kind="stable")
        starts = np.cumsum([0, *(len(each.keys) for each in hashed)])

        def get_names(new):
            numbers = order[new]
            sources = np.searchsorted(starts, numbers, side="right") - 1
            by_source = np.argsort(sources, kind="stable")
            numbers -= starts[sources]
            names = [
                hashed[source].get_names(numbers[sources == source])
                for source in np.unique(sources)
            ]
            return Strings.concatenate(names).take(np.argsort(by_source))

        keys = keys[order]
        places = self.hashed.places(keys)
        if learns:
            new = order[self.hashed.remember(engine, places, keys, get_names)]
            sources = np.searchsorted(starts, new, side="right") - 1
            for source in np.unique(sources):
                if (name := hashed[source].column) is not None:
                    flags = np.zeros((n_rows, 1), bool)
                    flags[rows[new[sources == source]]] = True
                    self.counts.add(inputs.UNSEEN, [self.counted[name]], flags)
        return places, offsets_of(np.bincount(rows, minlength=n_rows))

    def names(self):
        """Return the names of all columns: an array of strings."""
        hashed = [f"hashed_{k}" for k in range(self.hashed.n_columns)]
        for column, found in self.hashed.names().items():
            hashed[column] = " | ".join(found)
        names = np.empty(self.n_columns, object)
        for number, name in enumerate(self.late):
            n_after = len(self.late) - number
            value = self.n_values - MAX_VALUES * n_after
            code = self.n_named_columns - self.room * n_after
            columns = np.r_[value : value + MAX_VALUES, code : code + self.room]
            names[columns] = [f"{name}_column{k}" for k in range(columns.size)]
        names[self.n_named_columns :] = hashed
        values, own = self.value_columns, []
        for group in self.groups:
            of_group, values = values[: group.n_values], values[group.n_values :]
            names[of_group] = group.value_names()
            names[group.code_columns()] = group.code_names()
            own += [*of_group[:: group.n_values_each or 1]]
            if type(group) is Booleans:
                own += [*group.starts()]
        return unique(names, [name for each in self.groups for name in each.names], own)

    def categories(self):
        """Return the values with columns of their own, by the names of columns."""
        found = {}
        for group in self.groups:
            if group.vocabulary is not None:
                names = map(list, group.vocabulary.names)
                found |= zip(group.names, names, strict=True)
        return found

    def retired_columns(self):
        """Return the columns that no further row can have."""
        return np.concatenate([group.retired_columns() for group in self.groups])

    def hashed_names(self):
        """Map hashed columns to the names of their first keys."""
        start = self.n_named_columns
        return {start + place: names for place, names in self.hashed.names().items()}

    # Merging.

    def merge(self, engine, shards):
        """Merge encodings of equal kinds into this one, before its first row."""
        for number, group in enumerate(self.groups):
            group.merge(shards.map(lambda each, number=number: each.groups[number]))
        self.counts = inputs.InputCounts.merged(shards.map(lambda each: each.counts))
        for encoding in shards:
            self._check_interactions(encoding)
        for encoding in shards:
            self._remember(engine, encoding)

    def _check_interactions(self, other):
        """Check that combined columns have equal keys in another encoding."""
        combined = {name for names in self.interactions for name in names}
        for group, theirs in zip(self.groups, other.groups, strict=True):
            for name in combined.intersection(group.names):
                if not group.keys_match(theirs, name):
                    raise ValueError(
                        f"Models cannot be merged that have interactions of {name!r} "
                        "and know its values in another order: let all begin as copies "
                        "of one that has seen the first rows."
                    )

    def _remember(self, engine, other):
        """Remember keys that another encoding has hashed, or would hash now."""
        self.hashed.remember_all(engine, other.hashed)
        for group, theirs in zip(self.groups, other.groups, strict=True):
            for keys, names in group.newly_hashed(engine, theirs):
                self.hashed.remember(engine, self.hashed.places(keys), keys, names.take)

    def placement(self, engine, other):
        """Return a :class:`Placement` of the columns of an encoding that was merged.

        None stands for columns at the same places.
        """

        def hashed_columns(name, keys):
            keys = keys_of_values(engine, name, keys)
            return self.n_named_columns + self.hashed.places(keys)

        moves = Moves(self.n_columns)
        for group, theirs in zip(self.groups, other.groups, strict=True):
            group.add_moves(theirs, moves, hashed_columns)
        return moves.placement()

    def invariants(self):
        """Yield what holds between two calls: all but what is learned follows."""
        n_named, n_samples, n_quantiles = self.sizes
        for size in self.sizes:
            yield "sizes are numbers", is_count(size, 1)
            yield "sizes are at most their limit", size <= MAX_SIZE
        first = self.first_kinds, self.interactions, len(self.hashed.first)
        fresh = Encoding(*first, n_named, n_samples, n_quantiles)
        fresh = fresh.with_kinds(self.late, 0)
        for name in FROM_KINDS:
            value, expected = getattr(self, name), getattr(fresh, name)
            yield from same_structure(value, expected, name)
            yield f"{name} follows from the kinds", np.array_equal(value, expected)
        yield "each kind has a group", len(self.groups) == len(fresh.groups)
        for group, expected in zip(self.groups, fresh.groups, strict=True):
            name = f"the {type(expected).__name__}"
            yield from same_structure(group, expected, name)
            yield f"{name} has its place", group.start == expected.start
            yield f"{name} has places", np.array_equal(group.places, expected.places)
        yield from same_structure(self.hashed, fresh.hashed, "the hashed columns")
        yield from same_structure(self.counts, fresh.counts, "the counts of inputs")
        yield "columns are counted", self.counted == fresh.counted
        for together in self.interactions:
            yield "combined columns exist", first[0].keys() >= {*together}

    def _undo(self, X):
        return partial(ENCODERS.pop, self, None)


def _hstack(blocks, n_rows, dtype):
    """Put arrays side by side; return a single array as it is."""
    if len(blocks) == 1:
        return blocks[0].astype(dtype, copy=False)
    return np.hstack([np.empty((n_rows, 0), dtype), *blocks], dtype=dtype)
