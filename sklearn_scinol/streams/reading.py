"""Streams of chunks from files."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from numbers import Integral
from os import PathLike
from typing import Any, Literal, TypeAlias, get_args

from sklearn.utils import check_scalar

from .._optional import import_optional
from .ahead import read_ahead as made_ahead
from .arrow import pa
from .columnar import Arrow, Parquet
from .errors import ReadError
from .files import find_files, format_of
from .json_lines import JSONLines
from .pipes import Pipe
from .rows import BadRow, Position, Tables, rechunk
from .text import CSV, LIBSVM

READERS = {
    "csv": CSV,
    "parquet": Parquet,
    "arrow": Arrow,
    "json": JSONLines,
    "libsvm": LIBSVM,
}

#: Maximum number of bad rows that a stream keeps.
MAX_BAD_ROWS = 1000

#: Where the first file begins.
BEGINNING = Position(0, 0, 0, 0)

OnBadRow: TypeAlias = Literal["error", "skip", "warn"]
ON_BAD_ROW = get_args(OnBadRow)

Path: TypeAlias = str | PathLike[str]


def read_table(
    path: Path | Sequence[Path],
    *,
    target: str | None = None,
    sample_weight: str | None = None,
    columns: Sequence[str] | None = None,
    chunk_rows: int = 2**15,
    file_format: Literal["auto", "csv", "parquet", "arrow", "json", "libsvm"] = "auto",
    on_bad_row: OnBadRow = "error",
    read_ahead: int = 2,
    column_types: Mapping[str, Any] | None = None,
    delimiter: str | None = None,
    column_names: Sequence[str] | None = None,
    null_values: Sequence[str] | None = None,
    encoding: str | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    missing_columns: Literal["error", "ignore"] = "error",
    new_columns: Literal["error", "ignore"] | None = None,
) -> TableStream:
    r"""Read files of any size as a stream of chunks, in the order of the rows.

    Only a few chunks are in memory; threads read the next ones while a model learns the
    latest. Streams are for :func:`~sklearn_scinol.evaluation.progressive_validation`
    and for loops over `partial_fit`.

    Parameters
    ----------
    path : path-like or list of path-like
        A file; a folder, whose files are read in order of their names, 2 before 10,
        except those that begin with "." or "_"; or a pattern, such as ``2024-*.csv``.
        Folders ``name=value`` are columns of the files in them. All files must have the
        same columns, but for `missing_columns` and `new_columns`. Text can be
        compressed (".gz", ".bz2", ".xz", ".zst", ".lz4").
    target : str, default=None
        The column to predict, except in LIBSVM files.
    sample_weight : str, default=None
        The column with weights of the rows.
    columns : list of str, default=None
        The columns of features. All others by default. Files may have others.
    chunk_rows : int, default=32768
        Number of rows of a chunk; fewer in the last one only. Chunks may span files.
    file_format : {"auto", "csv", "parquet", "arrow", "json", "libsvm"}, default="auto"
        "auto" goes by the names: .csv, .tsv and .tab (values with tabs between them),
        .parquet and .pq, .arrow, .arrows, .feather and .ipc (files and streams),
        .json, .jsonl and .ndjson (an object a line), .svm, .libsvm and .svmlight.
    on_bad_row : {"error", "skip", "warn"}, default="error"
        What to do with a row that has too few or too many values, a value of another
        type than its column, an infinite feature, text that the encoding does not have,
        no finite target, or no weight that is 0 or between 1e-50 and 1e50.
        "error" raises a :class:`ReadError` that names file and row. "skip" leaves it
        out, "warn" also warns; the stream's `n_bad_rows` and `bad_rows` record it.
    read_ahead : int, default=2
        Number of chunks that are read ahead in threads. 0 stands for no threads.
    column_types : dict of str to str or pyarrow.DataType, default=None
        Types of some columns, such as ``{"zip": "string"}``, see
        :func:`pyarrow.type_for_alias`. Values are converted if nothing is lost; numbers
        are rounded to floats.
    delimiter : str, default=None
        CSV only: the character between values. By default a comma, or a tab where the
        name says so.
    column_names : list of str, default=None
        CSV only: names of the columns, if the files have no header.
    null_values : list of str, default=None
        CSV only: texts of missing values, besides the empty one. By default "NA",
        "NaN", "null" and the like, as in pyarrow.
    encoding : str, default=None
        Encoding of text, "utf-8" by default.
    n_features : int, default=None
        LIBSVM only: number of features. By default the files are searched for it.
    zero_based : bool, default=None
        LIBSVM only: whether numbers of features start at 0, and not at 1.
    missing_columns : {"error", "ignore"}, default="error"
        What to do with a file that lacks a column of features, of the first file or of
        `columns`. "ignore" takes its values as missing.
    new_columns : {"error", "ignore"}, default=None
        What to do with a file that has a column which the first does not have. "ignore"
        leaves it out. None stands for "error" without `columns`, else for "ignore".

    Returns
    -------
    stream : TableStream
        Yields `X` if there is no target, `(X, y)`, or `(X, y, sample_weight)`.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    PermissionError
        If a file must not be read.
    ReadError
        If a file is empty, damaged, or of another format. This is a ValueError. The
        first rows of the first file, and types in Parquet and Arrow files, raise it
        here, all others during iteration.
    ImportError
        If pyarrow is not installed.

    Notes
    -----
    Columns of CSV and JSON files have the types that pyarrow infers from the first
    block of the first file, about a megabyte or a hundred rows, except that later rows
    may have other numbers: integers, empty columns and weights are read as float64,
    which is exact for whole numbers up to 2 ** 53. A target keeps its integers, which
    may be classes, and so does a column with larger ones in that block, such as keys.
    Any other whole number of a feature that float64 would round makes its row bad,
    unless `column_types` asks for float64. Times are read in microseconds. JSON fields
    that no object of the first block has are left out, unless `columns` or
    `column_types` name them.

    Columns of Parquet and Arrow files have the type that holds the values of all files:
    whole numbers and fractions are float64, dates and times are times. Types without
    such a type, and values that it would change, are errors.

    A value in quotes may span lines, for up to a megabyte: a longer one is taken for a
    quote that is never closed, and the row is bad. So is a JSON object that is nested
    more than 100 deep.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_scinol import ScInOLRegressor
    >>> from sklearn_scinol.evaluation import progressive_validation
    >>> from sklearn_scinol.streams import read_table
    >>> folder = TemporaryDirectory()
    >>> file = Path(folder.name) / "rents.csv"
    >>> _ = file.write_text("rooms,area,rent\n1,25,400\n2,50,790\n?,40,600\n")
    >>> stream = read_table(
    ...     file, target="rent", column_types={"rooms": "float64"}, on_bad_row="skip"
    ... )
    >>> for X, y in stream:
    ...     print(X.column_names, X.num_rows, y)
    ['rooms', 'area'] 2 [400 790]
    >>> print(stream.bad_rows[0].reason)
    has '?' in column 'rooms', which is not a number
    >>> result = progressive_validation(ScInOLRegressor(), stream)
    >>> result.n_samples[-1]
    np.int64(2)
    >>> folder.cleanup()
    """
    import_optional("pyarrow", "`read_table`")
    check_scalar(chunk_rows, "chunk_rows", Integral, min_val=1, max_val=sys.maxsize)
    check_scalar(read_ahead, "read_ahead", Integral, min_val=0, max_val=sys.maxsize)
    if on_bad_row not in ON_BAD_ROW:
        raise ValueError(f"on_bad_row must be one of {ON_BAD_ROW}, got {on_bad_row!r}.")
    others = {"missing_columns": missing_columns, "new_columns": new_columns or "error"}
    for name, given in others.items():
        if given not in ("error", "ignore"):
            raise ValueError(f"{name} must be 'error' or 'ignore', got {given!r}.")
    files = find_files(path)
    file_format = format_of(files, file_format)
    options = {
        "delimiter": delimiter,
        "column_names": column_names,
        "null_values": null_values,
        "encoding": encoding,
        "n_features": n_features,
        "zero_based": zero_based,
    }
    roles = {
        "target": target,
        "sample_weight": sample_weight,
        "columns": columns,
        "column_types": column_types,
    }
    reader_class = READERS[file_format]
    known = options.keys() & signature(reader_class).parameters
    is_table = issubclass(reader_class, Tables)
    for name, value in {**options, **roles}.items():
        if value is not None and name not in known and not (is_table and name in roles):
            raise ValueError(f"{name}= cannot be used with {file_format} files.")
    reader = reader_class(files, **{name: options[name] for name in known})
    if is_table:
        reader.open(**roles, missing_columns=missing_columns, new_columns=new_columns)
    return TableStream(reader, int(chunk_rows), on_bad_row, int(read_ahead))


class TableStream:
    """Chunks of rows that :func:`~sklearn_scinol.streams.read_table` reads from files.

    It can be iterated over any number of times, and reads the files again each time.

    Parameters
    ----------
    reader : object
        Reads parts of the files.
    chunk_rows : int
        See :func:`read_table`.
    on_bad_row : {"error", "skip"}
        See :func:`read_table`.
    read_ahead : int
        See :func:`read_table`.

    Attributes
    ----------
    files : list of str
        The files, in the order in which they are read.
    columns : list of str or None
        Names of all columns of the first file; None of LIBSVM files.
    schema : pyarrow.Schema or None
        Names and types of the columns of `X`; None if it is a sparse matrix.
    n_bad_rows : int
        Number of rows that the latest iteration has left out.
    bad_rows : list of BadRow
        The first thousand of them.
    """

    def __init__(
        self, reader: Any, chunk_rows: int, on_bad_row: OnBadRow, read_ahead: int
    ) -> None:
        self._reader = reader
        self._chunk_rows = chunk_rows
        self._on_bad_row = on_bad_row
        self._read_ahead = read_ahead
        self.files = list(map(str, reader.files))
        self.columns: list[str] | None = getattr(reader, "found", None)
        self.schema = reader.features
        self.n_bad_rows = 0
        self.bad_rows: list[BadRow] = []
        self._start_at(BEGINNING)

    def __iter__(self) -> Iterator[Any]:
        for chunk in self._chunks():
            if chunk.rows is not None:
                yield chunk.rows

    def _start_at(self, position, n_bad_rows=0, bad_rows=()):
        """Set the position where iterations begin, after `n_bad_rows` bad rows."""
        self._start = position, n_bad_rows, [*bad_rows]

    def _chunks(self, is_last=False):
        """Yield each :class:`Chunk`, and report its bad rows.

        If `is_last`, pipes are not read again.
        """
        position, self.n_bad_rows, bad_rows = self._start
        self.bad_rows = [*bad_rows]
        reader, parts = self._reader, self._parts(position)
        for file in reader.files:
            if isinstance(file, Pipe):
                file.is_last = is_last

        made = rechunk(parts, self._chunk_rows, self.files, reader.join)
        for chunk in made_ahead(made, self._read_ahead):
            self.n_bad_rows += len(chunk.bad)
            self.bad_rows += chunk.bad[: MAX_BAD_ROWS - len(self.bad_rows)]
            if chunk.bad and self._on_bad_row == "warn":
                n_more = len(chunk.bad) - 1
                more = f", and {n_more} more after it" if n_more else ""
                warnings.warn(f"{chunk.bad[0]} It is left out{more}.", stacklevel=3)
            yield chunk

    def _parts(self, start):
        """Yield where each part begins, and the part."""
        is_error = self._on_bad_row == "error"
        for i, file in enumerate(self._reader.files[start.file :], start.file):
            # Threads would keep the last blocks back while a pipe pauses.
            is_ahead = self._read_ahead and not isinstance(file, Pipe)
            n_threads = pa.cpu_count() if is_ahead else 0
            row = start.row
            where = file, n_threads, is_error, start.byte, start.skip
            for part in self._reader.read(*where):
                good, fault = part, None
                if part.faults and is_error:
                    fault = part.faults[0]
                    good, _ = part.cut(fault.row)
                yield Position(i, row, 0, 0), good
                if fault is not None:
                    number = row + fault.row + 1
                    bad = BadRow(str(file), number, fault.reason, fault.text)
                    raise ReadError(_with_remedy(str(bad), fault.remedy), file, number)
                row += part.n_rows
            start = BEGINNING


def _with_remedy(message, remedy):
    skip = "on_bad_row='skip' to leave such rows out"
    remedies = f"{remedy}, or {skip}" if remedy else skip
    return f"{message.rstrip('.')}: pass {remedies}."
