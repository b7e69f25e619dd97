"""Rows that were read: how to find bad ones, and make chunks of equal size."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..models.weights import MAX_WEIGHT, MIN_WEIGHT
from ..tables.frames import as_single_array, is_string_type
from ..tables.kinds import can_be
from .arrow import pa, pc
from .columns import (
    LateType,
    Roles,
    as_array,
    as_type,
    check_are_columns,
    check_exact,
    large_columns,
    may_be_numbers,
    schema_to_read,
    type_option,
)
from .errors import ReadError, parse_errors, quote
from .files import folder_keys

#: Kinds of columns whose values may be texts, by the names of types of pyarrow.
KINDS_OF_TYPES = {"bool": "boolean", "timestamp[us]": "date", "time64[us]": "time"}

NOT_A_LINE = "it does not end where its line ends"


@dataclass(frozen=True)
class BadRow:
    """A row that was left out.

    Parameters
    ----------
    path : str
        The file.
    row : int
        Number of the row among the rows of data in the file, counted from 1. The header
        and empty lines are not counted.
    reason : str
        What is wrong with the row.
    text : str or None
        The row in the file, if that is text.
    """

    path: str
    row: int
    reason: str
    text: str | None

    def __str__(self):
        return f"Row {self.row} of {self.path} {self.reason}."


class Fault(NamedTuple):
    """Reason why a row is bad."""

    row: int  # among the rows that were read together, from 0
    reason: str
    remedy: str = ""  # what to do instead of skipping the row
    text: str | None = None


class Part(NamedTuple):
    """Consecutive rows, good and bad."""

    rows: list  # of pyarrow.Table or SparseRows, the good ones
    faults: list  # of Fault, of the bad ones, in order
    byte: int = 0  # of the file's text, where a row begins
    skip: int = 0  # rows from there to the first of these
    is_pause: bool = False  # of a pipe, after which other rows come later

    @property
    def n_good(self):
        """Number of good rows."""
        return sum(rows.num_rows for rows in self.rows)

    @property
    def n_rows(self):
        """Number of all rows."""
        return self.n_good + len(self.faults)

    def end_of(self, n_good):
        """Return how many rows there are up to the good row of this number."""
        end = n_good
        for fault in self.faults:
            if fault.row >= end:
                break
            end += 1
        return end

    def cut(self, n):
        """Return the first `n` rows, and the others."""
        bad = [fault for fault in self.faults if fault.row < n]
        others = [
            fault._replace(row=fault.row - n) for fault in self.faults[len(bad) :]
        ]
        first, rest, n_good = [], [], n - len(bad)
        for rows in self.rows:
            n_here = min(n_good, rows.num_rows)
            first.append(rows.slice(0, n_here))
            rest.append(rows.slice(n_here))
            n_good -= n_here
        return (
            self._replace(rows=first, faults=bad),
            self._replace(rows=rest, faults=others, skip=self.skip + n),
        )


class Position(NamedTuple):
    """Place between two rows of a stream, from which it can go on."""

    file: int  # index of the file
    row: int  # number of rows of the file before it, good or bad
    byte: int  # of the file's text, decompressed and in UTF-8, where a row begins
    skip: int  # rows from there to the place


class Span(NamedTuple):
    """Consecutive rows of a file, good or bad."""

    file: int  # index of the file
    row: int  # number of rows of the file before them
    n_rows: int


class Chunk(NamedTuple):
    """Good rows, and the bad ones among them."""

    rows: Any  # None if all are bad
    bad: list  # of BadRow
    places: list  # of the bad rows among all rows of the chunk, from 0
    spans: list  # of Span
    end: Position


class Tables(ABC):
    """Base of the readers of tables."""

    #: Names of columns of large whole numbers, if types are inferred from values.
    large: set | None = None

    @abstractmethod
    def infer_schema(self):
        """Return types of the columns by their names."""

    def open(
        self, target, sample_weight, columns, column_types, missing_columns, new_columns
    ):
        """Set what to read, before the first row."""
        self.missing_columns = missing_columns
        default = "error" if columns is None else "ignore"
        self.new_columns = default if new_columns is None else new_columns
        self.needed = [name for name in (target, sample_weight) if name is not None]
        types = dict(column_types or {}).items()
        late = {name: kind for name, kind in types if isinstance(kind, LateType)}
        self.column_types = {name: kind for name, kind in types if name not in late}
        self.typed = [*dict(types)]
        self.named = {*(columns or ()), target, sample_weight} - {None}
        self.chosen = None if columns is None else self.named
        self.keys = folder_keys(self.files)
        kinds = self.infer_schema()
        self.found = [*kinds, *self.keys.column_names]
        if missing_columns == "ignore":
            kinds = dict.fromkeys(columns or (), pa.null()) | kinds
        in_file, file = {*kinds}, self.files[0]
        for field in self.keys.schema:
            kinds.setdefault(field.name, field.type)
        self.roles = Roles.choose([*kinds], columns, target, sample_weight, file)
        check_are_columns(self.typed, [*kinds], file, "column_types: ")
        for name, kind in late.items():
            late_type = as_type(kind)
            if kinds[name] == pa.null():
                kinds[name] = late_type
            elif pa.types.is_floating(late_type) and not may_be_numbers(kinds[name]):
                self.column_types[name] = late_type  # other values make rows bad
        self.schema = schema_to_read(
            kinds, self.roles, self.column_types, self.large, file
        )
        self.kinds = {
            name: KINDS_OF_TYPES[kind]
            for name, kind in late.items()
            if kind in KINDS_OF_TYPES and is_string_type(self.schema.field(name).type)
        }
        self.schema_in_file = pa.schema(f for f in self.schema if f.name in in_file)
        self.inferred = [  # as float64, for which nobody asked
            field.name
            for field in self.schema_in_file
            if field.type == pa.float64()
            and field.name not in {*self.column_types, *self.roles.others}
        ]

    def check_names(self, file, names):
        """Check that a file has the columns of the first one, or those to read.

        These must be there once only.
        """
        first, chosen, given = self.files[0], self.chosen, set()
        if file == first:
            self.found = names
        for name in names:
            if name in given and (chosen is None or name in chosen):
                twice = (
                    f"the column {name!r} twice" if name else "columns without a name"
                )
                message = f"{file} has {twice}: pass columns= with other ones."
                raise ReadError(message, file)
            given.add(name)
        needed = chosen if self.missing_columns == "error" else self.needed
        expected = [name for name in self.found if needed is None or name in needed]
        missing = [f"does not have {name!r}" for name in expected if name not in given]
        known = given if self.new_columns == "ignore" else self.found
        new = [f"also has {name!r}" for name in given.difference(known)]
        if wrong := [*missing, *sorted(new)]:
            remedies = ["missing_columns='ignore'"] * bool(missing)
            remedies += ["new_columns='ignore'"] * bool(new)
            raise ReadError(
                f"{file} has other columns than {first}: it "
                f"{quote(' and '.join(wrong))}: pass {' and '.join(remedies)}, or "
                "columns= with those that all have.",
                file,
            )

    def check(self, table, file):
        """Add the columns of folders; return the good rows, and faults of others."""
        own = self.keys.slice(self.files.index(file), 1)
        for name in {*self.schema.names}.difference(table.column_names):
            kind, is_key = self.schema.field(name).type, name in own.column_names
            value = own[name].cast(kind)[0] if is_key else pa.scalar(None, kind)
            table = table.append_column(name, pa.repeat(value, table.num_rows))
        return check_rows(table.select(self.schema.names), self.roles, self.kinds)

    def check_exact(self, table, read_texts):
        """Refuse whole numbers that float64 rounds, in columns that were inferred.

        `read_texts` reads columns, given by their names, as texts.
        """
        if large := large_columns(table.select(self.inferred)):
            check_exact(read_texts([*large]))

    @property
    def features(self):
        """Schema of the features."""
        return pa.schema(map(self.schema.field, self.roles.features))

    def join(self, tables):
        """Return `X`, or a tuple of `X` and the target and weight that exist."""
        table = pa.concat_tables(tables)  # without a copy
        X = table.select(self.roles.features)
        others = [as_array(table[name]) for name in self.roles.others]
        return (X, *others) if others else X


class SparseRows(NamedTuple):
    """A sparse matrix with its targets, which can be sliced like a table."""

    X: sparse.csr_matrix
    y: np.ndarray

    @property
    def num_rows(self):
        return self.y.shape[0]

    def slice(self, start, length=None):
        stop = None if length is None else start + length
        return SparseRows(self.X[start:stop], self.y[start:stop])


def parse_by_halves(parse, rows, start=0):
    """Yield start, rows and error of the largest parts without, or of a single row."""
    if not len(rows):
        return
    try:
        parsed = parse(b"".join(rows) if isinstance(rows, list) else rows)
        if parsed.num_rows != len(rows):
            raise ValueError(NOT_A_LINE)
    except parse_errors() as error:
        if len(rows) == 1:
            yield start, None, error
            return
    else:
        yield start, parsed, None
        return
    middle = len(rows) // 2
    yield from parse_by_halves(parse, rows[:middle], start)
    yield from parse_by_halves(parse, rows[middle:], start + middle)


def split_faults(parts, check, explain, only_first):
    """Return a part with what :func:`parse_by_halves` yields."""
    good, faults = [], []
    for first, rows, error in parts:
        if error is not None:
            found = [Fault(0, *explain(error))]
        else:
            rows, found = check(rows)
            good.append(rows.slice(0, found[0].row) if found and only_first else rows)
        faults += [fault._replace(row=first + fault.row) for fault in found]
        if faults and only_first:
            return Part(good, faults[:1])
    return Part(good, faults)


def check_rows(table, roles, kinds):
    """Return the rows with finite values, target and weight, and faults of others.

    `kinds` are those of columns of text whose values must be read as such.
    """
    bad = {}

    def find(name, wrong, noun):
        for i in np.flatnonzero(wrong).tolist():
            value = table[name][i].as_py()
            found = f"no {noun}" if value in (None, "") else f"the {noun} {value}"
            bad.setdefault(i, Fault(i, f"has {found} in column {name!r}"))

    for name in roles.features:
        if pa.types.is_floating(table.schema.field(name).type):
            find(name, np.isinf(table[name].to_numpy()), "value")
    for name, kind in kinds.items():
        texts = filter(None, pc.unique(table[name]).to_pylist())
        wrong = [text for text in texts if not can_be(text, kind)]
        if wrong:
            is_wrong = pc.is_in(table[name], pa.array(wrong, table[name].type))
            for i in np.flatnonzero(is_wrong).tolist():
                value = quote(repr(table[name][i].as_py()))
                reason = f"has {value} in column {name!r}, which is not a {kind}"
                bad.setdefault(i, Fault(i, reason, type_option(name, "string")))
    if roles.target is not None:
        target = as_single_array(table[roles.target])
        wrong = pc.is_null(target, nan_is_null=True)
        if pa.types.is_floating(target.type):
            wrong = pc.or_kleene(wrong, pc.is_inf(target))
        elif is_string_type(target.type):
            wrong = pc.or_kleene(wrong, pc.equal(target, ""))
        find(roles.target, wrong, "target")
    if roles.sample_weight is not None:
        weight = table[roles.sample_weight]
        fine = pc.and_(
            pc.greater_equal(weight, MIN_WEIGHT), pc.less_equal(weight, MAX_WEIGHT)
        )
        fine = pc.or_(fine, pc.equal(weight, 0.0))
        find(roles.sample_weight, pc.invert(pc.fill_null(fine, False)), "weight")
    if bad:
        keep = np.ones(table.num_rows, dtype=bool)
        keep[list(bad)] = False
        table = table.filter(pa.array(keep))
    return table, sorted(bad.values())


def parts_after(skip, parts):
    """Leave out the first rows of parts."""
    for part in parts:
        first, rest = part.cut(min(skip, part.n_rows))
        skip -= first.n_rows
        if rest.n_rows or rest.is_pause:
            yield rest


def rechunk(parts, size, files, join):
    """Yield each :class:`Chunk` of as many good rows, or fewer at a pause and the end.

    Parts are pairs of a :class:`Position`, where it begins, and a :class:`Part`.
    `join` makes the rows of a chunk from the good rows of parts.
    """
    rows, bad, places, spans, n_good = [], [], [], [], 0
    for start, part in parts:
        while part.n_rows or part.is_pause:
            is_last = n_good + part.n_good < size
            end = part.n_rows if is_last else part.end_of(size - n_good)
            now, part = part.cut(end)
            n_before = sum(span.n_rows for span in spans)
            for fault in now.faults:
                where = str(files[start.file]), start.row + fault.row + 1
                bad.append(BadRow(*where, fault.reason, fault.text))
                places.append(n_before + fault.row)
            spans.append(Span(start.file, start.row, end))
            start = start._replace(
                row=start.row + end, byte=now.byte, skip=now.skip + end
            )
            rows += [each for each in now.rows if each.num_rows]
            n_good += now.n_good
            if n_good == size or now.is_pause:
                yield Chunk(join(rows) if rows else None, bad, places, spans, start)
                part = part._replace(is_pause=False)
                rows, bad, places, spans, n_good = [], [], [], [], 0
    if spans:
        yield Chunk(join(rows) if rows else None, bad, places, spans, start)
