"""Rows that were read: how to find bad ones, and make chunks of equal size."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..tables.frames import is_string_type
from .columns import check_names
from .errors import parse_errors
from .files import folder_keys


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
    n_rows: int  # good and bad
    faults: list  # of Fault, of the bad ones


class Tables(ABC):
    """Base of the readers of tables."""

    #: Whether values are text that has to be parsed.
    is_text: bool

    #: Columns of the first file, and the only ones that are read.
    names = chosen = None

    @abstractmethod
    def infer_schema(self):
        """Return names and types of the columns of files."""

    def open(self, named, is_chosen, column_types):
        """Return names and types of all columns, given which are asked for."""
        import pyarrow as pa

        self.named, self.column_types = named, column_types
        self.chosen = named if is_chosen else None
        self.keys = dict(zip(self.files, folder_keys(self.files), strict=True))
        kinds = self.infer_schema()
        self.names = list(kinds)
        for name, value in self.keys[self.files[0]].items():
            kinds.setdefault(name, value.type)
        return pa.schema(kinds)

    def prepare(self, roles, schema):
        """Set what to read, before the first row."""
        import pyarrow as pa

        self.roles, self.schema = roles, schema
        self.schema_in_file = pa.schema(
            map(schema.field, filter({*self.names}.__contains__, schema.names))
        )

    def check_names(self, file, names):
        """Check that a file has the columns of the first one, or those asked for."""
        first = names if self.names is None else self.names
        check_names(first, names, self.files[0], file, self.chosen)

    def add_keys(self, table, file):
        """Add the columns that folders stand for."""
        import pyarrow as pa

        if table.num_columns == len(self.schema):
            return table
        known = {*table.column_names}
        for field in self.schema:
            if field.name not in known:
                value = self.keys[file][field.name].cast(field.type)
                column = pa.repeat(value, table.num_rows)
                table = table.append_column(field, column)
        return table.select(self.schema.names)

    @property
    def features(self):
        """Schema of the features."""
        import pyarrow as pa

        return pa.schema(map(self.schema.field, self.roles.features))

    def join(self, tables):
        """Join tables without a copy."""
        import pyarrow as pa

        return pa.concat_tables(tables)

    def unpack(self, table):
        """Return `X`, or a tuple of `X` and the target and weight that exist."""
        return self.roles.unpack(table)


class SparseRows(NamedTuple):
    """A sparse matrix with its targets, which can be sliced and joined like a table."""

    X: sparse.csr_matrix
    y: np.ndarray

    @property
    def num_rows(self):
        return self.y.shape[0]

    def slice(self, start, length=None):
        stop = None if length is None else start + length
        return SparseRows(self.X[start:stop], self.y[start:stop])

    @staticmethod
    def join(parts):
        if len(parts) == 1:
            return parts[0]
        X, y = zip(*parts, strict=True)
        return SparseRows(sparse.vstack(X, format="csr"), np.concatenate(y))


def parse_by_halves(parse, start, stop):
    """Parse rows in parts as large as possible; bad rows end up alone, by halving.

    Yields
    ------
    start : int
        Number of the first row.
    rows : object or None
        The result of `parse(start, stop)`.
    error : Exception or None
        The error of a single row.
    """
    if start == stop:  # of empty lines
        return
    try:
        rows = parse(start, stop)
        if rows.num_rows != stop - start:
            raise ValueError("it does not end where its line ends")
    except parse_errors() as error:
        if stop - start == 1:
            yield start, None, error
            return
    else:
        yield start, rows, None
        return
    middle = (start + stop) // 2
    yield from parse_by_halves(parse, start, middle)
    yield from parse_by_halves(parse, middle, stop)


def parse_lines(parse, lines):
    """Parse lines of text by :func:`parse_by_halves`."""
    return parse_by_halves(lambda i, j: parse(b"".join(lines[i:j])), 0, len(lines))


def split_faults(parts, check, explain, only_first):
    """Separate the rows that :func:`parse_by_halves` yields into good rows and faults.

    `check` gives the good ones of parsed rows, and faults of the others; `explain`
    gives reason and remedy for the error of a row. `only_first` stops at the first bad
    row.
    """
    good, faults = [], []
    for first, rows, error in parts:
        if error is not None:
            found = [Fault(0, *explain(error))]
        else:
            rows, found = check(rows)
            good.append(rows.slice(0, found[0].row) if found and only_first else rows)
        faults += [fault._replace(row=first + fault.row) for fault in found]
        if faults and only_first:
            return good, faults[:1]
    return good, faults


def check_rows(table, roles):
    """Return the rows with finite values, target and weight, and faults of others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bad = {}
    for name in roles.features:
        if pa.types.is_floating(table.schema.field(name).type):
            for i in _places(pc.is_inf(table[name])):
                value = table[name][i].as_py()
                bad[i] = f"has the value {value} in column {name!r}"
    if roles.target is not None:
        target = table[roles.target]
        if pa.types.is_dictionary(target.type):
            target = target.cast(target.type.value_type)
        wrong = pc.is_null(target, nan_is_null=True)
        if pa.types.is_floating(target.type):
            wrong = pc.or_(wrong, pc.fill_null(pc.is_inf(target), False))
        elif is_string_type(target.type):
            wrong = pc.or_(wrong, pc.fill_null(pc.equal(target, ""), False))
        for i in _places(wrong):
            value = target[i].as_py()
            found = f"the target {value}" if value else "no target"
            bad.setdefault(i, f"has {found} in column {roles.target!r}")
    if roles.sample_weight is not None:
        weight = table[roles.sample_weight]
        fine = pc.and_(pc.greater_equal(weight, 0.0), pc.is_finite(weight))
        for i in _places(pc.invert(pc.fill_null(fine, False))):
            value = weight[i].as_py()
            found = "no weight" if value is None else f"the weight {value}"
            bad.setdefault(i, f"has {found} in column {roles.sample_weight!r}")
    if bad:
        keep = np.ones(table.num_rows, dtype=bool)
        keep[list(bad)] = False
        table = table.filter(pa.array(keep))
    return table, [Fault(i, reason) for i, reason in sorted(bad.items())]


def _places(mask):
    """Return the places where a mask of pyarrow is true."""
    import pyarrow.compute as pc

    return np.flatnonzero(mask).tolist() if pc.any(mask).as_py() else []


def rechunk(parts, size, join):
    """Yield rows in chunks of a size, except the last, and bad rows up to their end.

    Parts are pairs of rows and a list of bad rows; `join` joins slices of rows.
    """
    waiting, bad, n_waiting = [], [], 0
    for rows, more_bad in parts:
        bad += more_bad
        while rows is not None and rows.num_rows:
            piece = rows.slice(0, size - n_waiting)
            rows = rows.slice(piece.num_rows)
            waiting.append(piece)
            n_waiting += piece.num_rows
            if n_waiting == size:
                yield join(waiting), bad
                waiting, bad, n_waiting = [], [], 0
    if waiting or bad:
        yield (join(waiting) if waiting else None), bad
