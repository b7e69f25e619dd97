"""The columns of frames of pandas, polars and pyarrow, of arrays, and of dicts.

All become one of a few kinds of arrays, whatever library they are from. None of these
is imported unless the frame is one of it, but for pyarrow, which reads strings faster.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .strings import Strings

__all__ = [
    "Column",
    "Frame",
    "all_missing",
    "in_utc",
    "is_missing_value",
    "is_of_dicts",
    "is_text",
    "one_array",
    "open_frame",
    "text_of",
    "texts_of",
]


class Column(NamedTuple):
    """The values of a column."""

    #: float64 with NaN for what is missing, bool, datetime64[us] or strings
    values: np.ndarray | Strings
    is_missing: np.ndarray  # bool, (n,)


class Frame:
    """Columns by name.

    Parameters
    ----------
    names : iterable of str
    columns : iterable
        As the library has them.
    n_rows : int
    read : callable
        Makes a :class:`Column` of such a column.

    Attributes
    ----------
    has_names : bool
        Whether columns had names that are strings.
    """

    def __init__(self, names, columns, n_rows, read):
        names = list(names)
        is_string = [isinstance(name, str) for name in names]
        self.has_names = any(is_string)
        if not self.has_names:
            names = [f"x{j}" for j in range(len(names))]
        elif not all(is_string):
            raise TypeError(
                "Feature names are only supported if all input features have string "
                f"names, but your input has {names} as feature names."
            )
        self._columns = dict(zip(names, columns, strict=True))
        if len(self._columns) < len(names):
            twice = sorted(name for name, n in Counter(names).items() if n > 1)
            raise ValueError(f"Names of columns must not be repeated: {twice}.")
        self.n_rows, self._read = n_rows, read

    @property
    def names(self):
        return list(self._columns)

    def column(self, name):
        """The column of that name."""
        try:
            return self._read(self._columns[name])
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"Column {name!r} cannot be read: {error}") from error


def all_missing(n_rows):
    """A column without any value."""
    return Column(Strings.of([""] * n_rows), np.ones(n_rows, bool))


def is_of_dicts(X):
    """Whether these are rows that are dicts."""
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping)


def open_frame(X):
    """Find the columns of a frame, of an array or of rows that are dicts.

    Raises
    ------
    TypeError
        If it is none of these, or names are no strings.
    ValueError
        If the array has not two dimensions, or a name comes twice.
    """
    library = type(X).__module__.partition(".")[0]
    if is_of_dicts(X):
        return _of_dicts(X)
    if isinstance(X, Mapping) and not sparse.issparse(X):
        raise TypeError("A row that is a dict must be in a list: pass [row].")
    if library == "pyarrow" and hasattr(X, "schema"):
        return Frame(X.schema.names, X.columns, X.num_rows, _of_arrow)
    if library == "polars" and hasattr(X, "get_columns"):
        return Frame(X.columns, X.get_columns(), X.height, _of_polars)
    if library == "pandas" and getattr(X, "ndim", 0) == 2:
        columns = [X.iloc[:, j] for j in range(X.shape[1])]
        return Frame(X.columns, columns, len(X), _of_pandas)
    X = check_array(X, accept_sparse=False, dtype=None, ensure_all_finite=False)
    if X.dtype.kind in "US":
        X = X.astype(object)
    return Frame(range(X.shape[1]), X.T, len(X), _of_array)


def _of_dicts(rows):
    columns = {}
    for r, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"Row {r} is no dict, but of type {type(row).__name__}.")
        for name, value in row.items():
            if name not in columns:
                columns[name] = [None] * len(rows)
            columns[name][r] = value
    return Frame(columns, columns.values(), len(rows), _of_objects)


def _of_array(values):
    kind = values.dtype.kind
    if kind == "b":
        return Column(values, np.zeros(len(values), bool))
    if kind in "iuf":
        return _of_numbers(values)
    if kind == "M":
        values = values.astype("datetime64[us]")
        return Column(values, np.isnat(values))
    if kind == "m":
        return _of_numbers(values / np.timedelta64(1, "s"))
    if kind == "O":
        return _of_objects(values.tolist())
    raise TypeError(f"values of type {values.dtype} are not supported.")


def _of_numbers(values):
    values = values.astype(np.float64, copy=False)
    return Column(values, np.isnan(values))


def _of_pandas(series):
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return _of_array(series.to_numpy())
    if hasattr(dtype, "categories"):
        codes = series.cat.codes.to_numpy()
        return _of_categories(_of_pandas(series.cat.categories.to_series()), codes)
    if find_spec("pyarrow"):
        infer_dtype = import_module("pandas").api.types.infer_dtype
        if dtype.name != "object" or infer_dtype(series, skipna=True) == "string":
            array = import_module("pyarrow").array(series, from_pandas=True)
            return _of_arrow(array)
    return _of_objects(series.astype(object).to_list())


def _of_categories(categories, codes):
    """A column by the numbers of its values among some; -1 for what is missing."""
    is_missing = codes < 0
    values = categories.values
    if len(values) == 0:
        return _of_objects([None] * len(codes))
    codes = np.where(is_missing, 0, codes)
    values = values.take(codes) if isinstance(values, Strings) else values[codes]
    if values is not None and getattr(values, "dtype", None) == np.float64:
        values = np.where(is_missing, np.nan, values)
    return Column(values, is_missing)


def _of_polars(series):
    if find_spec("pyarrow"):
        return _of_arrow(series.to_arrow())
    if series.dtype.is_numeric() and not series.dtype.is_decimal():
        return _of_numbers(series.cast(float).to_numpy())
    return _of_objects(series.to_list())


def _of_arrow(array):
    pa = import_module("pyarrow")
    types = pa.types
    array = one_array(array)
    kind = array.type
    if types.is_null(kind):
        return _of_objects([None] * len(array))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        array = array.cast(pa.float64(), safe=False)
        return _of_numbers(array.to_numpy(zero_copy_only=False))
    if types.is_duration(kind):
        return _of_array(array.to_numpy(zero_copy_only=False).astype("m8[us]"))
    is_missing = np.zeros(len(array), bool)
    if array.null_count:
        is_missing = array.is_null().to_numpy(zero_copy_only=False)
    if types.is_boolean(kind):
        array = array.fill_null(False)
        return Column(array.to_numpy(zero_copy_only=False), is_missing)
    if types.is_date(kind) or types.is_timestamp(kind):
        array = array.cast(pa.timestamp("us"), safe=False)
        return Column(array.to_numpy(zero_copy_only=False), is_missing)
    if is_text(kind):
        if str(kind) == "string_view":
            array = array.cast(pa.large_string())
        return Column(_strings_of_arrow(array), is_missing)
    raise TypeError(f"values of type {kind} are not supported.")


def one_array(column):
    """A column of pyarrow in one piece, with values instead of places of them."""
    pa = import_module("pyarrow")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if isinstance(column, pa.ChunkedArray):  # as many chunks as dictionaries
        column = column.combine_chunks()
    return column


def is_text(kind):
    """Whether a type of pyarrow is one of strings."""
    types = import_module("pyarrow").types
    # Old versions of pyarrow have no views.
    is_view = str(kind) == "string_view"
    return types.is_string(kind) or types.is_large_string(kind) or is_view


def _strings_of_arrow(array):
    is_large = str(array.type) == "large_string"
    _, offsets, data = array.buffers()
    if len(array) == 0 or offsets is None:
        return Strings.of([])
    offsets = np.frombuffer(offsets, np.int64 if is_large else np.int32)
    offsets = offsets[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(b"" if data is None else data, np.uint8)
    return Strings(data, offsets.astype(np.int64))


def _of_objects(values):
    """A column of objects of Python, or of scalars of NumPy and pandas."""
    missing = [is_missing_value(value) for value in values]
    is_missing = np.array(missing, bool)

    def filled(instead):
        pairs = zip(values, missing, strict=True)
        return [instead if is_gap else value for value, is_gap in pairs]

    def all_are(is_kind):
        return not is_missing.all() and all(
            is_gap or is_kind(value)
            for value, is_gap in zip(values, missing, strict=True)
        )

    if all_are(_is_flag):
        return Column(np.array([bool(value) for value in filled(False)]), is_missing)
    if all_are(_is_number):
        return _of_numbers(np.array(filled(np.nan), np.float64))
    if all_are(lambda value: isinstance(value, timedelta)):
        seconds = [value.total_seconds() for value in filled(timedelta())]
        return _of_numbers(np.where(is_missing, np.nan, seconds))
    if all_are(lambda value: isinstance(value, date | np.datetime64)):
        dates = [in_utc(value) for value in filled(np.datetime64("NaT"))]
        return Column(np.array(dates, "datetime64[us]"), is_missing)
    return Column(Strings.of(map(text_of, filled(""))), is_missing)


def is_missing_value(value):
    """Whether an object of Python, or a scalar of NumPy or pandas, stands for none."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(value != value)


def _is_flag(value):
    return isinstance(value, bool | np.bool_)


def _is_number(value):
    return isinstance(value, Real | Decimal) and not _is_flag(value)


def in_utc(value):
    """A date or time without a zone."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def text_of(value):
    """How a value is written, the same for numbers of all types."""
    if isinstance(value, str):
        return value
    if isinstance(value, Integral) and not _is_flag(value):
        return str(int(value))
    if _is_number(value):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, bool | np.bool_ | date | np.datetime64):
        return str(value)
    raise TypeError(f"a value of type {type(value).__name__} is not supported.")


def texts_of(column):
    """The values of a column as strings; of what is missing anything."""
    values = column.values
    if isinstance(values, Strings):
        return values
    filled = values
    if values.dtype == np.float64:
        filled = np.where(column.is_missing, 0.0, values)
    distinct, number = np.unique(filled, return_inverse=True)
    return Strings.of([text_of(value) for value in distinct]).take(number.ravel())
