"""Rows that were read: which are bad, and chunks of equal size."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..tables.frames import is_text
from .errors import refused

__all__ = [
    "BadRow",
    "Fault",
    "Part",
    "SparseRows",
    "Tables",
    "check_rows",
    "gather",
    "halves",
    "rechunk",
]


@dataclass(frozen=True)
class BadRow:
    """A row that was left out.

    Parameters
    ----------
    path : str
        The file.
    row : int
        Its number among the rows of data in the file, counted from 1. The header and
        empty lines are not counted.
    reason : str
        What is wrong with it.
    text : str or None
        The row as it is in the file, if that is text.
    """

    path: str
    row: int
    reason: str
    text: str | None

    def __str__(self):
        return f"Row {self.row} of {self.path} {self.reason}."


class Fault(NamedTuple):
    """What is wrong with a row."""

    row: int  # among those that were read together, from 0
    reason: str
    remedy: str = ""  # what else than to skip the row can be done
    text: str | None = None


class Part(NamedTuple):
    """What comes of some rows that follow each other.

    Attributes
    ----------
    rows : list of pyarrow.Table or SparseRows
        The good ones.
    n_rows : int
        How many there are, good and bad.
    faults : list of Fault
        Of the bad ones.
    """

    rows: list
    n_rows: int
    faults: list


class Tables(ABC):
    """What readers have in common that give tables."""

    #: Whether values are text that has to be parsed.
    is_text: bool

    @abstractmethod
    def look(self):
        """Names and types of the columns, as the first file has them."""

    def prepare(self, roles, schema):
        """Be told what to read, before the first row is."""
        self.roles, self.schema = roles, schema

    @property
    def features(self):
        """Names and types of the features."""
        import pyarrow as pa

        return pa.schema(map(self.schema.field, self.roles.features))

    def join(self, tables):
        """A table of the rows of several, which are not copied."""
        import pyarrow as pa

        return pa.concat_tables(tables)

    def unpack(self, table):
        """What the table is to who learns from it."""
        return self.roles.unpack(table)


class SparseRows(NamedTuple):
    """A sparse matrix with its targets, which is cut and joined as a table is."""

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


def halves(parse, start, stop):
    """Yield what can be made of rows in order, in parts that are as large as possible.

    Rows that cannot be parsed end up alone: what is wrong with one row does not depend
    on others, so that halving finds them. This is for the rare case only, and costs
    nothing else than that.

    Yields
    ------
    start : int
        Number of the first row.
    rows : object or None
        What `parse(start, stop)` gives.
    error : Exception or None
        What it raises for the one row.
    """
    try:
        rows = parse(start, stop)
        if rows.num_rows != stop - start:
            raise ValueError("it does not end where its line ends")
    except refused() as error:
        if stop - start == 1:
            yield start, None, error
            return
    else:
        yield start, rows, None
        return
    middle = (start + stop) // 2
    yield from halves(parse, start, middle)
    yield from halves(parse, middle, stop)


def gather(parts, check, explain, only_first):
    """Separate good rows from bad ones.

    Parameters
    ----------
    parts : iterable
        What :func:`halves` yields.
    check : callable
        Gives the good ones of rows that could be parsed, and faults of the others.
    explain : callable
        Gives reason and remedy of the error of a row that could not be.
    only_first : bool
        Whether to stop at the first bad row.

    Returns
    -------
    good : list of rows
    faults : list of Fault
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
    """The rows of a table that have a target and a weight, and why others have not.

    Returns
    -------
    table : pyarrow.Table
    faults : list of Fault
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    bad = {}
    if roles.target is not None:
        target = table[roles.target]
        if pa.types.is_dictionary(target.type):
            target = target.cast(target.type.value_type)
        wrong = pc.is_null(target, nan_is_null=True)
        if pa.types.is_floating(target.type):
            wrong = pc.or_(wrong, pc.fill_null(pc.is_inf(target), False))
        elif is_text(target.type):
            wrong = pc.or_(wrong, pc.fill_null(pc.equal(target, ""), False))
        for i in _places(wrong):
            value = target[i].as_py()
            said = f"the target {value}" if value else "no target"
            bad[i] = f"has {said} in column {roles.target!r}"
    if roles.sample_weight is not None:
        weight = table[roles.sample_weight]
        fine = pc.and_(pc.greater_equal(weight, 0.0), pc.is_finite(weight))
        for i in _places(pc.invert(pc.fill_null(fine, False))):
            value = weight[i].as_py()
            said = "no weight" if value is None else f"the weight {value}"
            bad.setdefault(i, f"has {said} in column {roles.sample_weight!r}")
    if bad:
        keep = np.ones(table.num_rows, dtype=bool)
        keep[list(bad)] = False
        table = table.filter(pa.array(keep))
    return table, [Fault(i, reason) for i, reason in sorted(bad.items())]


def _places(mask):
    """Where a mask of pyarrow holds."""
    import pyarrow.compute as pc

    return np.flatnonzero(mask).tolist() if pc.any(mask).as_py() else []


def rechunk(parts, size, join):
    """Yield rows in chunks of a size, all but the last, and the bad rows up to there.

    Parameters
    ----------
    parts : iterable of (rows, list of BadRow)
    size : int
    join : callable
        Puts a list of rows together, which are slices of what comes in.
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
