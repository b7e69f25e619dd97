"""Streams of chunks from files."""

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from numbers import Integral
from os import PathLike
from typing import Any, Literal, TypeAlias, get_args

from sklearn.utils import check_scalar

from .ahead import read_ahead as made_ahead
from .columnar import Arrow, Parquet
from .columns import Roles, wanted_schema
from .errors import ReadError
from .files import find_files, format_of
from .rows import BadRow, Tables, rechunk
from .text import CSV, LIBSVM, JSONLines

__all__ = ["TableStream", "read_table"]

READERS = {
    "csv": CSV,
    "parquet": Parquet,
    "arrow": Arrow,
    "json": JSONLines,
    "libsvm": LIBSVM,
}

#: What is kept of the bad rows of a stream.
MAX_BAD_ROWS = 1000

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
) -> "TableStream":
    """Read files of any size as a stream of chunks, in the order of the rows.

    Whatever the size of the files, a few chunks are in memory, and the next ones are
    read in threads while the latest is learned from. This is for
    :func:`~sklearn_scinol.evaluation.progressive_validation`, and for loops over
    `partial_fit`.

    Parameters
    ----------
    path : path-like or list of path-like
        A file; a folder, of which all files are read, sorted by name, but for those
        whose names begin with "." or "_"; or a pattern, such as ``2024-*.csv``. All
        files must have the same columns. Text can be compressed (".gz", ".bz2", ".xz",
        ".zst", ".lz4").
    target : str, default=None
        The column to predict. LIBSVM files have it anyway.
    sample_weight : str, default=None
        The column with weights of the rows.
    columns : list of str, default=None
        The columns of features. All others by default.
    chunk_rows : int, default=32768
        Number of rows of a chunk. All have as many but for the last one, however they
        are spread over files.
    file_format : {"auto", "csv", "parquet", "arrow", "json", "libsvm"}, default="auto"
        "auto" goes by the names: .csv, .tsv and .tab (values with tabs between them),
        .parquet and .pq, .arrow, .arrows, .feather and .ipc (files and streams),
        .json, .jsonl and .ndjson (an object a line), .svm, .libsvm and .svmlight.
    on_bad_row : {"error", "skip", "warn"}, default="error"
        What becomes of a row that has too few or too many values, a value that is not
        of the type of its column, no target (or one that is empty or not finite), or
        no weight (or one that is negative or not finite). "error" raises a
        :class:`ReadError` that names file and row. "skip" leaves it out, and "warn"
        says so: the attributes `n_bad_rows` and `bad_rows` of the stream tell of them.
    read_ahead : int, default=2
        Number of chunks that are read ahead in threads. 0 stands for no threads.
    column_types : dict of str to str or pyarrow.DataType, default=None
        Types of some columns, such as ``{"zip": "string"}``, see
        :func:`pyarrow.type_for_alias`.
    delimiter : str, default=None
        CSV only: the character between values. By default a comma, or a tab where the
        name says so.
    column_names : list of str, default=None
        CSV only: names of the columns, if the files have no header.
    null_values : list of str, default=None
        CSV only: what stands for a missing value, besides nothing at all. By default
        "NA", "NaN", "null" and the like, as pyarrow has them.
    encoding : str, default=None
        That of text, "utf-8" by default.
    n_features : int, default=None
        LIBSVM only: number of features. By default the files are looked through for it.
    zero_based : bool, default=None
        LIBSVM only: whether numbers of features start at 0, and not at 1.

    Returns
    -------
    stream : TableStream
        Yields `X` if there is no target, `(X, y)`, or `(X, y, sample_weight)`.

    Raises
    ------
    FileNotFoundError
        If there is no such file, or none in the folder.
    PermissionError
        If it must not be read.
    ReadError
        If a file is empty, damaged, or something else than said. This is a ValueError,
        and is raised here for what the first rows of the first file tell, and for all
        else when the stream gets there.
    ImportError
        If pyarrow is not installed.

    Notes
    -----
    Columns of CSV and JSON files have the types that pyarrow infers from the first
    block of the first file, about a megabyte or a hundred rows, with the following
    exceptions, so that no later row is refused for them. Integers are read as float64,
    as are columns that are empty there: a later row may have a fraction, and whole
    numbers up to 2 ** 53 are exact. Weights are float64 too. Only a target keeps its
    integers, which may be classes. Times are read in microseconds. JSON fields that no
    object of the first block has are left out.

    A value in quotes may go on in the next line, for up to a megabyte: what is longer
    is taken for a quote that is never closed, and the row for a bad one. So is a JSON
    object that is nested more than 100 deep.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_scinol import ScInOLRegressor
    >>> from sklearn_scinol.evaluation import progressive_validation
    >>> from sklearn_scinol.streams import read_table
    >>> folder = TemporaryDirectory()
    >>> file = Path(folder.name) / "rents.csv"
    >>> _ = file.write_text("rooms,area,rent\\n1,25,400\\n2,50,790\\n?,40,600\\n")
    >>> stream = read_table(
    ...     file, target="rent", column_types={"rooms": "float64"}, on_bad_row="skip"
    ... )
    >>> for X, y in stream:
    ...     print(X.column_names, X.num_rows, y)
    ['rooms', 'area'] 2 [400 790]
    >>> print(stream.bad_rows[0].reason)
    has '?' in column 'rooms', which is no number
    >>> result = progressive_validation(ScInOLRegressor(), stream)
    >>> result.n_samples[-1]
    np.int64(2)
    >>> folder.cleanup()
    """
    _check_pyarrow()
    check_scalar(chunk_rows, "chunk_rows", Integral, min_val=1, max_val=sys.maxsize)
    check_scalar(read_ahead, "read_ahead", Integral, min_val=0, max_val=sys.maxsize)
    if on_bad_row not in ON_BAD_ROW:
        raise ValueError(f"on_bad_row must be one of {ON_BAD_ROW}, got {on_bad_row!r}.")
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
    reader_class = READERS[file_format]
    known = signature(reader_class).parameters
    _refuse(file_format, {k: options[k] for k in options if k not in known})
    reader = reader_class(files, **{k: options[k] for k in options if k in known})
    if isinstance(reader, Tables):
        schema = reader.look()
        roles = Roles.choose(schema.names, columns, target, sample_weight, files[0])
        types = wanted_schema(schema, roles, column_types, reader.is_text, files[0])
        reader.prepare(roles, types)
    else:
        named = {"target": target, "sample_weight": sample_weight, "columns": columns}
        _refuse(file_format, {**named, "column_types": column_types})
    return TableStream(reader, int(chunk_rows), on_bad_row, int(read_ahead))


class TableStream:
    """Chunks of rows that :func:`read_table` reads from files.

    It can be iterated over any number of times, and reads the files again each time.

    Parameters
    ----------
    reader : object
        Reads parts of the files.
    chunk_rows : int
        Number of rows in a chunk.
    on_bad_row : {"error", "skip"}
        What to do with a row that does not fit.
    read_ahead : int
        Number of chunks that threads read ahead.

    Attributes
    ----------
    files : list of str
        The files, in the order in which they are read.
    schema : pyarrow.Schema or None
        Names and types of the columns of `X`; None if it is a sparse matrix.
    n_bad_rows : int
        Number of rows that the latest iteration has left out so far.
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
        self.schema = reader.features
        self.n_bad_rows = 0
        self.bad_rows: list[BadRow] = []

    def __iter__(self) -> Iterator[Any]:
        self.n_bad_rows, self.bad_rows = 0, []
        for chunk, bad in made_ahead(self._chunks(), self._read_ahead):
            self._report(bad)
            if chunk is not None:
                yield chunk

    def _chunks(self):
        """Yield chunks, and the bad rows since the one before."""
        reader = self._reader
        for rows, bad in rechunk(self._parts(), self._chunk_rows, reader.join):
            yield None if rows is None else reader.unpack(rows), bad

    def _parts(self):
        """Yield rows in order, and the bad ones among them."""
        n_threads = n_cores() if self._read_ahead else 0
        is_error = self._on_bad_row == "error"
        for file in self._reader.files:
            n_before = 0
            for part in self._reader.read(file, n_threads, is_error):
                bad = [
                    BadRow(str(file), n_before + row + 1, reason, text)
                    for row, reason, _, text in part.faults
                ]
                yield from ((rows, []) for rows in part.rows)
                if bad and is_error:
                    raise ReadError(_sentence(bad[0], part.faults[0]), file, bad[0].row)
                yield None, bad
                n_before += part.n_rows

    def _report(self, bad):
        if not bad:
            return
        self.n_bad_rows += len(bad)
        self.bad_rows += bad[: MAX_BAD_ROWS - len(self.bad_rows)]
        if self._on_bad_row == "warn":
            more = f" So are {len(bad) - 1} rows after it." if len(bad) > 1 else ""
            warnings.warn(f"{bad[0]} It is left out.{more}", stacklevel=3)


def _sentence(bad_row, fault):
    """What to say of a row that is bad."""
    remedy = "on_bad_row='skip' to leave such rows out"
    if fault.remedy:
        remedy = f"{fault.remedy}, or {remedy}"
    return f"{str(bad_row).rstrip('.')}: pass {remedy}."


def n_cores():
    import pyarrow as pa

    return pa.cpu_count()


def _check_pyarrow():
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "`read_table` needs pyarrow: install it with "
            "`pip install sklearn-scinol[stream]`."
        ) from error


def _refuse(file_format, options):
    """Refuse what somebody asks of files of a format that do not have it."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{name}= cannot be used with {file_format} files.")
