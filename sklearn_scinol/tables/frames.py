"""Columns of frames of pandas, polars and pyarrow, of arrays, and of dicts.

All become one of a few kinds of arrays, whatever library they are from. A library is
imported for its own frames only, but pyarrow for all: it reads strings faster.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .strings import Strings

#: Whole numbers up to this one are exact as float64.
MAX_WHOLE = 2**53

#: How to convert values of types that are not supported, by the start of their names.
REMEDIES = {
    "interval": "make them text, by .astype('string') of the column or str() of each",
    "period": "make them dates, by .dt.to_timestamp() or .to_timestamp() of each",
    "sparse": "make them dense, by .sparse.to_dense() of the column",
    "complex": "pass real and imaginary parts as two columns",
    "": "convert them to numbers or text",
}


class Column(NamedTuple):
    """The values of a column.

    Numbers are float64; int64, uint64 or objects if some that are whole would be
    rounded, and objects if booleans are among them.
    """

    values: np.ndarray | Strings  # numbers, bool, datetime64[us] or timedelta64[us]
    is_missing: np.ndarray  # bool, (n,)


class Categories(Column):
    """The values of a column whose type is for categories."""


class Frame:
    """Columns of a library by name, which `read` converts to a :class:`Column`.

    `has_names` tells whether names are strings; else columns are called x0, x1, ...
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
        """Read the column of that name; if there is none, all values are missing."""
        if name not in self._columns:
            return all_missing(self.n_rows)
        try:
            column = self._read(self._columns[name])
        except (TypeError, ValueError, OverflowError, NotImplementedError) as error:
            raise ValueError(f"Column {name!r} cannot be read: {error}") from error
        if isinstance(column.values, Strings):
            is_empty = np.diff(column.values.offsets) == 0
            column = column._replace(is_missing=column.is_missing | is_empty)
        return column


def all_missing(n_rows):
    """Return a column without any value."""
    return Column(Strings.encode([""] * n_rows), np.ones(n_rows, bool))


def is_dict_rows(X):
    """Whether `X` is a list of dicts."""
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping)


def library_of(X):
    """Return the name of the package that has the type of `X`, such as "pandas"."""
    return type(X).__module__.partition(".")[0]


def open_frame(X):
    """Open a frame, an array or a list of dicts as a :class:`Frame`."""
    library = library_of(X)
    if is_dict_rows(X):
        return _from_dicts(X)
    if isinstance(X, Mapping) and not sparse.issparse(X):
        raise TypeError("A row that is a dict must be in a list: pass [row].")
    if library == "pyarrow" and hasattr(X, "schema"):
        return Frame(X.schema.names, X.columns, X.num_rows, _from_arrow)
    if library == "polars" and hasattr(X, "get_columns"):
        return Frame(X.columns, X.get_columns(), X.height, _from_polars)
    if library == "pandas" and getattr(X, "ndim", 0) == 2:
        columns = [X.iloc[:, j] for j in range(X.shape[1])]
        return Frame(X.columns, columns, len(X), _from_pandas)
    X = check_array(X, accept_sparse=False, dtype=None, ensure_all_finite=False)
    if X.dtype.kind in "US":
        X = X.astype(object)
    return Frame(range(X.shape[1]), X.T, len(X), _from_array)


def _from_dicts(rows):
    columns = defaultdict(lambda: [None] * len(rows))
    for r, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"Row {r} is not a dict, but of type {type(row).__name__}.")
        for name, value in row.items():
            columns[name][r] = value
    has_names = any(isinstance(name, str) for name in columns)
    names = columns if has_names else [f"x{name}" for name in columns]
    return Frame(names, columns.values(), len(rows), _from_objects)


def _from_array(values):
    kind = values.dtype.kind
    if kind == "b":
        return Column(values, np.zeros(len(values), bool))
    if kind in "iuf":
        return _from_numbers(values, None if kind == "f" else lambda: values)
    if kind == "M":
        values = values.astype("datetime64[us]")
        return Column(values, np.isnat(values))
    if kind == "m":
        return _from_numbers(values / np.timedelta64(1, "s"))
    if kind == "O":
        return _from_objects(values.tolist())
    raise TypeError(_not_supported(values.dtype))


def _from_numbers(values, get_exact=None):
    """Make a column of numbers, exact ones if float64 would round whole numbers."""
    values = values.astype(np.float64, copy=False)
    is_missing = np.isnan(values)
    if get_exact and np.fmax.reduce(np.abs(values), initial=0.0) >= MAX_WHOLE:
        values = get_exact()
    return Column(values, is_missing)


def _from_pandas(series):
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return _from_array(series.to_numpy())
    if series.isna().all():
        return all_missing(len(series))
    if str(dtype).lower().startswith((*filter(None, REMEDIES),)):
        raise TypeError(_not_supported(dtype))
    if hasattr(dtype, "categories"):
        codes = series.cat.codes.to_numpy()
        categories = _from_pandas(series.cat.categories.to_series()).values
        return Categories(categories.take(np.maximum(codes, 0)), codes < 0)
    if find_spec("pyarrow"):
        infer_dtype = import_module("pandas").api.types.infer_dtype
        if dtype.name != "object" or infer_dtype(series, skipna=True) == "string":
            return _from_arrow(import_module("pyarrow").array(series, from_pandas=True))
    return _from_objects(series.astype(object).to_list())


def _from_polars(series):
    if find_spec("pyarrow"):
        return _from_arrow(series.to_arrow())
    if series.dtype.is_numeric() and not series.dtype.is_decimal():
        get_exact = partial(np.array, series.fill_null(0).to_list(), object)
        return _from_numbers(series.cast(float).to_numpy(), get_exact)
    column = _from_objects(series.to_list())
    is_category = str(series.dtype).startswith(("Categorical", "Enum"))
    return Categories(*column) if is_category else column


def _from_arrow(array):
    pa = import_module("pyarrow")
    types = pa.types
    if types.is_dictionary(array.type):
        return Categories(*_from_arrow(as_single_array(array)))
    array = as_single_array(array)
    kind = array.type
    if array.null_count == len(array):
        return all_missing(len(array))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        values = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        if types.is_floating(kind):
            return _from_numbers(values)
        return _from_numbers(
            values, lambda: array.fill_null(0).to_numpy(zero_copy_only=False)
        )
    if types.is_duration(kind):
        return _from_array(array.to_numpy(zero_copy_only=False).astype("m8[us]"))
    is_missing = np.zeros(len(array), bool)
    if array.null_count:
        is_missing = array.is_null().to_numpy(zero_copy_only=False)
    if types.is_boolean(kind):
        array = array.fill_null(False)
        return Column(array.to_numpy(zero_copy_only=False), is_missing)
    if types.is_time(kind):
        array = array.cast(pa.time64("us"), safe=False).cast(pa.int64()).fill_null(0)
        return Column(array.to_numpy().view("timedelta64[us]"), is_missing)
    if types.is_date(kind) or types.is_timestamp(kind):
        array = array.cast(pa.timestamp("us"), safe=False)
        return Column(array.to_numpy(zero_copy_only=False), is_missing)
    if is_string_type(kind):
        if str(kind) == "string_view":
            array = array.cast(pa.large_string())
        return Column(_arrow_strings(array), is_missing)
    raise TypeError(_not_supported(kind))


def as_single_array(column):
    """Return a column of pyarrow as one array, without a dictionary."""
    pa = import_module("pyarrow")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if isinstance(column, pa.ChunkedArray):  # as many chunks as dictionaries
        column = column.combine_chunks()
    return column


def is_string_type(kind):
    """Whether a type of pyarrow stands for strings."""
    return str(kind) in ("string", "large_string", "string_view")


def _arrow_strings(array):
    is_large = str(array.type) == "large_string"
    _, offsets, data = array.buffers()
    if len(array) == 0 or offsets is None:
        return Strings.encode([])
    offsets = np.frombuffer(offsets, np.int64 if is_large else np.int32)
    offsets = offsets[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(b"" if data is None else data, np.uint8)
    return Strings(data, offsets.astype(np.int64))


def _from_objects(values):
    """Make a column of Python objects, or of scalars of NumPy and pandas."""
    missing = [is_missing_value(value) for value in values]
    is_missing = np.array(missing, bool)

    given = [value for value, is_gap in zip(values, missing, strict=True) if not is_gap]

    def filled(fill):
        pairs = zip(values, missing, strict=True)
        return [fill if is_gap else value for value, is_gap in pairs]

    if given and all(map(_is_bool, given)):
        return Column(np.array(filled(False), bool), is_missing)
    if given and all(map(_is_number, given)):
        numbers = np.array(filled(np.nan), np.float64)
        return _from_numbers(numbers, lambda: np.array(filled(0), object))
    if given and all(_is_bool(value) or _is_number(value) for value in given):
        return Column(np.array(filled(0), object), is_missing)  # True is no category 1
    if given and all(isinstance(value, time) for value in given):
        times = [as_timedelta(value) for value in filled(time())]
        return Column(np.array(times, "timedelta64[us]"), is_missing)
    if given and all(isinstance(value, timedelta) for value in given):
        seconds = [value.total_seconds() for value in filled(timedelta())]
        return _from_numbers(np.where(is_missing, np.nan, seconds))
    if given and all(isinstance(value, date | np.datetime64) for value in given):
        dates = [as_utc(value) for value in filled(np.datetime64("NaT"))]
        return Column(np.array(dates, "datetime64[us]"), is_missing)
    return Column(Strings.encode(map(as_text, filled(""))), is_missing)


def is_missing_value(value):
    """Whether a Python object, or a scalar of NumPy or pandas, is a missing value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not value
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(value != value)


def check_not_missing(y, name="y"):
    """Refuse labels or targets of which some are missing, in any library's way."""
    if type(y) is list and {*map(type, y)} <= {bool, int}:  # never missing
        return
    if y is None or sparse.issparse(y):
        return
    if hasattr(y, "isna"):
        is_missing = y.isna()
    else:
        y = np.asarray(y, object if isinstance(y, list | tuple) else None)
        is_missing = y != y if y.dtype.kind in "fMm" else False
        if y.dtype.kind == "O":
            others = (x for x in y.flat if not isinstance(x, str))
            is_missing = any(map(is_missing_value, others))
    if is_missing is not False and np.any(is_missing):
        raise ValueError(f"Input {name} contains NaN.")


def _is_bool(value):
    return isinstance(value, bool | np.bool_)


def _is_number(value):
    return isinstance(value, Real | Decimal) and not _is_bool(value)


def as_utc(value):
    """Return a date or time in UTC, without a zone."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def as_timedelta(value):
    """Return how long a time of the day is after midnight."""
    if value.tzinfo is not None:
        raise ValueError(f"{value} has a time zone, but no date.")
    return datetime.combine(date.min, value) - datetime.min


def _not_supported(kind):
    """Say that values of a type are not supported, and what to do about it."""
    start = next(each for each in REMEDIES if str(kind).lower().startswith(each))
    return (
        f"values of type {kind} are not supported. Please {REMEDIES[start]}, or leave "
        "the column out, by its kind 'drop'."
    )


def as_text(value):
    """Write a value as text, equal for equal numbers of all types."""
    if isinstance(value, str):
        return value
    if isinstance(value, Integral) and not _is_bool(value):
        return str(int(value))
    if _is_number(value):
        number = float(value)
        if not number.is_integer():
            return repr(number)
        return str(round(value) if isinstance(value, Decimal) else int(number))
    if isinstance(value, date | np.datetime64):
        return str(np.datetime64(as_utc(value), "us"))
    if isinstance(value, bool | np.bool_ | time):
        return str(value)
    raise TypeError(_not_supported(type(value).__name__))


def as_texts(column):
    """Return the values of a column as strings; missing ones are arbitrary."""
    values = column.values
    if isinstance(values, Strings):
        return values
    if values.dtype == object:
        return Strings.encode(map(as_text, values))
    if values.dtype == np.float64:
        values = np.where(column.is_missing, 0.0, values)
    distinct, number = np.unique(values, return_inverse=True)
    if values.dtype.kind == "m":
        distinct = [(datetime.min + each).time() for each in distinct.tolist()]
    return Strings.encode([as_text(value) for value in distinct]).take(number.ravel())
