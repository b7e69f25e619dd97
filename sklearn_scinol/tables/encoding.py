"""How a table becomes rows of numbers: which columns there are, and what fills them."""

from copy import copy

import numpy as np
from scipy import sparse

from .._invariants import is_count, same_structure
from ..blocks import Entries
from ..transforms.placement import Moves
from .columns import (
    Booleans,
    Categories,
    Dates,
    Hashed,
    Numbers,
    Texts,
    Undecided,
    key_of_text,
    keys_of_values,
)
from .hashed import HashedColumns
from .kinds import KINDS
from .strings import Strings

__all__ = ["Encoding"]

# Columns for the values of a column, of whichever kind: those of dates.
MAX_VALUES = Dates.n_values_each

# No file may make more columns for the codes of a single one.
MAX_ROOM = 2**24


class Encoding:
    """What the columns of a table become, one beside the other.

    First come values, then codes, and last the columns that keys go to by hashing. What
    a column becomes whose first value is missing must not depend on how soon its kind
    is known: among values and codes these columns come last, and have as much room each
    as any kind needs.

    Parameters
    ----------
    kinds : dict
        From names of columns to their kinds; None for those whose first value is
        missing.
    interactions : list of tuple of str
        Columns whose values are hashed together.
    n_hashed, n_named, n_samples, n_quantiles : int
        See :class:`HashedColumns`, :class:`Vocabulary` and :class:`FeatureBins`.

    Attributes
    ----------
    late : dict
        Kinds of the columns whose first value is missing; None where none is known.
    n_values : int
        Number of columns for values.
    room : int
        Number of columns for codes that each of the late ones has.
    missing : ndarray of int of shape (n_late,)
        The columns that say of each of these that its value is missing.
    value_columns : ndarray of int
        The columns of the values of all groups, one after the other.
    """

    late: dict = {}  # of models that version 0.2.0 has saved

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
        self._group_late(0)

    def _room_of_any_kind(self):
        """Return numbers of columns for codes: before missing ones, and in all."""
        groups = self._groups_of({kind: kind for kind in KINDS})
        before = max(group.missing_code for group in groups)
        return before, max(
            before - group.missing_code + group.n_codes for group in groups
        )

    def _groups_of(self, kinds):
        """Make a group of the columns of each kind that there is."""
        n_named, n_samples, n_quantiles = self.sizes
        makers = {
            "number": lambda names: Numbers(names, n_samples, n_quantiles, n_named),
            "date": Dates,
            "boolean": Booleans,
            "category": lambda names: Categories(names, n_named),
            "text": Texts,
            None: Undecided,
        }
        groups = []
        for kind, make in makers.items():
            if names := [name for name, each in kinds.items() if each == kind]:
                groups.append(make(names))
        return groups

    def decided(self, kinds, n_rows):
        """Know the kinds of some more columns, which were missing in so many rows.

        Returns
        -------
        encoding : Encoding
            Another one, which has what it can in common with this one; this one if
            there are no such columns.
        """
        if not self.late:
            return self
        encoding = copy(self)
        encoding.late = self.late | kinds
        encoding._group_late(n_rows)
        return encoding

    def _group_late(self, n_rows):
        """Group the columns whose first value is missing by their kinds, as known."""
        former = {type(group): group for group in self.groups if group.is_late}
        self.groups = [group for group in self.groups if not group.is_late]
        n_values = sum(group.n_values for group in self.groups)
        for group in self._groups_of(self.late):
            group.places = self._places_of(group)
            known = former.get(type(group))
            if known is None:
                group.skip(n_rows)
            else:
                group.put(known)  # a copy: what is decided may be taken back
            self.groups.append(group)
        self.value_columns = self._columns_of_values(n_values)

    def _numbers_of(self, group):
        """Return the numbers of a group's columns among the late ones."""
        return np.array([[*self.late].index(name) for name in group.names])

    def _places_of(self, group):
        return self.missing[self._numbers_of(group)] - group.missing_code

    def _columns_of_values(self, n_early):
        """Return the columns of the values of all groups, one after the other."""
        columns = [np.arange(n_early)]
        for group in self.groups:
            if group.is_late:
                first = n_early + MAX_VALUES * self._numbers_of(group)[:, np.newaxis]
                columns.append((first + np.arange(group.n_values_each)).ravel())
        return np.concatenate(columns)

    @property
    def n_columns(self):
        return self.n_named_columns + self.hashed.n_columns

    def encode(self, engine, columns, n_rows, learns):
        """Rows of numbers.

        Parameters
        ----------
        engine : Engine
        columns : dict
            From names to :class:`Column`, with values of their kinds.
        n_rows : int
        learns : bool
            Whether rows are learned in order, each before it is encoded; else each is
            encoded as if it came next.

        Returns
        -------
        rows : CSR array of shape (n_rows, n_columns)
        """
        stacked = [
            group.stacked([columns[name] for name in group.names])
            for group in self.groups
        ]
        data, indices, indptr = self.join(engine, stacked, n_rows, learns)
        rows = sparse.csr_array((data, indices, indptr), shape=(n_rows, self.n_columns))
        rows.has_canonical_format = True
        return rows

    def stacked_row(self, row):
        """What `join` takes, of a dict; errors if its values are not plain."""
        return [group.of_row(row) for group in self.groups]

    def join(self, engine, stacked, n_rows, learns):
        """The three arrays of rows as CSR.

        Parameters
        ----------
        stacked : list
            For each of the groups of columns what it takes, see `stacked` and `of_row`
            of :class:`Columns`.
        engine, n_rows, learns
            See :meth:`encode`.
        """
        groups = [
            group.encode(engine, columns, learns)
            for group, columns in zip(self.groups, stacked, strict=True)
        ]
        values = [each.values for each in groups if each.values is not None]
        codes = [each.codes for each in groups]
        hashed = [each for group in groups for each in group.hashed]
        hashed += [self._together(engine, names, groups) for names in self.interactions]
        values = _side_by_side(values, n_rows, np.float64)
        codes = _side_by_side(codes, n_rows, np.int32)
        if self.late:
            given, values = values, np.full((n_rows, self.n_values), np.nan)
            values[:, self.value_columns] = given
            codes = np.sort(codes, axis=1)
        entries = Entries(
            values,
            codes,
            *self._hash(engine, hashed, n_rows, learns),
        )
        return engine.join_entries(entries, self.n_named_columns)

    def _together(self, engine, names, encoded):
        """Keys of the values of several columns together."""
        members = [self._keys_of(name, encoded) for name in names]
        together = key_of_text(engine, " & ".join(names))
        for member in members:
            together = engine.mix_keys(together, member.keys)

        def names_of(rows):
            pieces = [members[0].names_of(rows)]
            for member in members[1:]:
                pieces += " & ", member.names_of(rows)
            return Strings.joined(pieces)

        return Hashed(together, None, None, names_of)

    def _keys_of(self, name, encoded):
        for group, of_group in zip(self.groups, encoded, strict=True):
            if name in group.names:
                return of_group.keys_of(group.names.index(name))
        raise KeyError(name)

    def _hash(self, engine, hashed, n_rows, learns):
        """Columns of keys: as many for all rows, then those of which rows have some."""
        places, of_all, some, rows = [], [], [], []
        for each in hashed:
            places.append(self.hashed.places(each.keys))
            if each.is_given is not None:
                places[-1][~each.is_given] = -1
            if each.rows is None:
                of_all.append(places[-1][:, np.newaxis])
            else:
                some.append(places[-1])
                rows.append(each.rows)
        if learns and hashed:
            self._remember_in_order(engine, hashed, places, n_rows)
        indptr = np.zeros(n_rows + 1, np.int64)
        words = np.empty(0, np.int32)
        if some:
            rows = np.concatenate(rows)
            np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
            words = np.concatenate(some)[np.argsort(rows, kind="stable")]
        return _side_by_side(of_all, n_rows, np.int32), words, indptr

    def _remember_in_order(self, engine, hashed, places, n_rows):
        """Remember keys row by row, so that chunks do not decide which came first."""
        of_all = np.arange(n_rows)
        rows = [of_all if each.rows is None else each.rows for each in hashed]
        order = np.argsort(np.concatenate(rows), kind="stable")
        sizes = np.array([len(each.keys) for each in hashed])
        ends = np.cumsum(sizes)

        def names_of(new):
            numbers = order[new]
            sources = np.searchsorted(ends, numbers, side="right")
            by_source = np.argsort(sources, kind="stable")
            numbers -= (ends - sizes)[sources]
            names = [
                hashed[source].names_of(numbers[sources == source])
                for source in np.unique(sources)
            ]
            return Strings.concatenated(names).take(np.argsort(by_source))

        keys = np.concatenate([each.keys for each in hashed])[order]
        self.hashed.remember(engine, np.concatenate(places)[order], keys, names_of)

    def names(self):
        """Names of all columns: an array of strings."""
        of_values = [name for group in self.groups for name in group.value_names()]
        of_codes = [name for group in self.groups for name in group.code_names()]
        of_hashed = [f"hashed_{k}" for k in range(self.hashed.n_columns)]
        for column, found in self.hashed.names().items():
            of_hashed[column] = " | ".join(found)
        if not self.late:
            return np.array(of_values + of_codes + of_hashed, dtype=object)
        names = np.empty(self.n_columns, object)
        for number, name in enumerate(self.late):
            n_after = len(self.late) - number
            value = self.n_values - MAX_VALUES * n_after
            code = self.n_named_columns - self.room * n_after
            columns = np.r_[value : value + MAX_VALUES, code : code + self.room]
            names[columns] = [f"{name}_column{k}" for k in range(columns.size)]
        names[self.value_columns] = of_values
        names[np.concatenate([group.code_columns() for group in self.groups])] = (
            of_codes
        )
        names[self.n_named_columns :] = of_hashed
        return names

    def categories(self):
        """Values that have columns of their own, by the names of table columns."""
        found = {}
        for group in self.groups:
            found |= group.categories()
        return found

    def retired_columns(self):
        """Columns that no row will come to any more: of values that were given up."""
        return np.concatenate([group.retired_columns() for group in self.groups])

    def hashed_names(self):
        """From columns that are hashed to, to the names that came to them."""
        start = self.n_named_columns
        return {start + place: names for place, names in self.hashed.names().items()}

    # Merging.

    def take(self, engine, shards):
        """Learn what several of the same kinds have, before the first row.

        Parameters
        ----------
        engine : Engine
        shards : Shards
            Encodings, which stay as they are.
        """
        for number, group in enumerate(self.groups):
            group.take(shards.of(lambda each, number=number: each.groups[number]))
        for encoding in shards:
            self._check_interactions(encoding)
        for encoding in shards:
            self._remember(engine, encoding)

    def _check_interactions(self, other):
        """Check that combined columns have the same keys as in one of those taken."""
        combined = {name for names in self.interactions for name in names}
        for group, of_other in zip(self.groups, other.groups, strict=True):
            for name in combined.intersection(group.names):
                if not group.keys_match(of_other, name):
                    raise ValueError(
                        f"Models cannot be merged that have interactions of {name!r} "
                        "and know its values in another order: let all begin as copies "
                        "of one that has seen the first rows."
                    )

    def _remember(self, engine, other):
        """Remember what another one has hashed, and what is to be from now on."""
        self.hashed.remember_all(engine, other.hashed)
        for group, of_other in zip(self.groups, other.groups, strict=True):
            for keys, names in group.without_slots(engine, of_other):
                places = self.hashed.places(keys)
                self.hashed.remember(engine, places, keys, names.take)

    def placement(self, engine, other):
        """Where the columns of rows lie of one whose state this has taken.

        Parameters
        ----------
        engine : Engine
        other : Encoding

        Returns
        -------
        placement : Placement or None
            None if they are the same.
        """

        def columns_of(name, keys):
            keys = keys_of_values(engine, name, keys)
            return self.n_named_columns + self.hashed.places(keys)

        moves = Moves(self.n_columns)
        for group, of_other in zip(self.groups, other.groups, strict=True):
            group.move(of_other, moves, columns_of)
        return moves.placement()

    def invariants(self):
        """What holds between two calls."""
        early = [group for group in self.groups if not group.is_late]
        n_values = sum(group.n_values for group in early)
        start = n_values + MAX_VALUES * len(self.late)
        for group in self.groups:
            yield from same_structure(
                group, group.fresh(), f"the {type(group).__name__}"
            )
        for group in early:
            yield "columns follow one another", group.start == start
            start += group.n_codes
        if self.late:
            yield from self._invariants_of_late(n_values, start)
            start += self.room * len(self.late)
        yield "hashed columns come last", self.n_named_columns == start
        fresh = HashedColumns(len(self.hashed.first))
        yield from same_structure(self.hashed, fresh, "the hashed columns")
        names = {name for group in self.groups for name in group.names}
        for together in self.interactions:
            yield "columns that are combined are there", names.issuperset(together)

    def _invariants_of_late(self, n_values, start):
        """State where columns whose first value is missing come after the others."""
        n_late = len(self.late)
        yield "room is a number of columns", is_count(self.room, 1)
        yield "there is no room without bound", self.room <= MAX_ROOM
        yield "there are three sizes", len(self.sizes) == 3
        yield "sizes are numbers", all(map(is_count, self.sizes))
        yield "sizes fit into the room", max(self.sizes[0], self.sizes[2]) <= self.room
        before, room = self._room_of_any_kind()
        yield "any kind has room", self.room == room
        missing = start + before + room * np.arange(n_late)
        yield "missing is where it was", _are_equal(self.missing, missing)
        yield "values come first", self.n_values == n_values + MAX_VALUES * n_late
        groups = [group for group in self.groups if group.is_late]
        for group, fresh in zip(groups, self._groups_of(self.late), strict=True):
            yield "late columns have their kind", type(group) is type(fresh)
            yield "late columns have their names", group.names == fresh.names
            yield from same_structure(group, fresh, f"the late {type(group).__name__}")
            yield (
                "late columns have their places",
                _are_equal(group.places, self._places_of(group)),
            )
        yield (
            "values have their columns",
            _are_equal(self.value_columns, self._columns_of_values(n_values)),
        )

    def checkpoint(self):
        """How to undo what will be learned."""
        ways = [group.checkpoint() for group in self.groups]
        ways.append(self.hashed.checkpoint())
        return lambda: [way() for way in ways]


def _are_equal(state, expected):
    """Whether a state is an array of integers with the expected values."""
    is_array = isinstance(state, np.ndarray) and state.dtype == expected.dtype
    return is_array and np.array_equal(state, expected)


def _side_by_side(blocks, n_rows, dtype):
    """One array of the columns of several, without a copy of a single one."""
    if len(blocks) == 1:
        return blocks[0].astype(dtype, copy=False)
    return np.hstack([np.empty((n_rows, 0), dtype), *blocks], dtype=dtype)
