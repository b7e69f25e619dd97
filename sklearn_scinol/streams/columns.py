"""Roles and types of columns."""

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ..tables.frames import MAX_WHOLE, as_single_array, is_string_type
from .arrow import pa, pc
from .errors import ReadError, is_float, parse_errors, quote, with_article


class LateType(str):
    """Name of a type for a column whose first values are missing."""

    __slots__ = ()


class Roles(NamedTuple):
    """Names of the columns, by their roles."""

    features: list
    target: str | None
    sample_weight: str | None

    @property
    def others(self):
        """Names of the target and weight that exist."""
        return [name for name in self[1:] if name is not None]

    @classmethod
    def choose(cls, names, columns, target, sample_weight, file):
        """Choose the roles of columns as :func:`read_table` is asked to."""
        named = {"target": target, "sample_weight": sample_weight}
        for parameter, name in named.items():
            if name is not None:
                check_are_columns([name], names, file, f"{parameter}={name!r}: ")
        others = [name for name in named.values() if name is not None]
        if len(set(others)) < len(others):
            raise ValueError(f"The column {target!r} cannot be both target and weight.")
        if isinstance(columns, str):
            raise TypeError(f"columns must be a list of names, got {columns!r}.")
        if columns is None:
            columns = [name for name in names if name not in others]
        columns = list(columns)
        check_are_columns(columns, names, file)
        for role, name in ("target", target), ("weight", sample_weight):
            if name is not None and name in columns:
                raise ValueError(f"columns= has the {role}, {name!r}.")
        if len(set(columns)) < len(columns):
            raise ValueError("columns has a name twice.")
        if not columns:
            raise ReadError(f"{file} has no column of features.", file)
        return cls(columns, target, sample_weight)


def check_are_columns(given, names, file, prefix=""):
    """Check that a file has columns of these names."""
    known = {*names}
    if missing := [name for name in given if name not in known]:
        columns = "column" if len(missing) == 1 else "columns"
        raise ValueError(
            f"{prefix}{file} has no {columns} {quote(', '.join(map(repr, missing)))} "
            f"(columns: {quote(str(names)[1:-1])}){_remedy_for_names(names)}."
        )


def _remedy_for_names(names):
    """Return advice if names look like those of a file that was read wrongly."""
    if names and names[0].startswith("{"):
        return ": pass file_format='json'"
    delimiters = [each for each in ";\t|" if len(names) == 1 and each in names[0]]
    return f": pass delimiter={delimiters[0]!r}" if delimiters else ""


def schema_to_read(kinds, roles, column_types, large, file):
    """Return the schema to read, given types of all columns.

    If they were inferred from rows, `large` has the names of :func:`large_columns`,
    else it is None.
    """
    kinds = {name: kinds[name] for name in [*roles.features, *roles.others]}
    if large is not None:
        for name, kind in kinds.items():
            kinds[name] = _widened(kind, name == roles.target or name in large)
    for name, kind in column_types.items():
        if name in kinds:
            kinds[name] = as_type(kind)
    if roles.sample_weight is not None:
        kinds[roles.sample_weight] = pa.float64()
    if roles.target is not None:
        kind = kinds[roles.target]
        values = _general(kind)
        if not (is_string_type(values) or may_be_numbers(values)):
            raise ReadError(
                f"The target {roles.target!r} of {file} is {kind}: it must be numbers, "
                "booleans or strings.",
                file,
            )
    return pa.schema(kinds)


def large_columns(table):
    """Return the names of columns of numbers of which float64 cannot have all."""
    large = set()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if _is(column.type, "integer", "floating"):  # NumPy is faster than pyarrow
            sizes = np.abs(column.to_numpy().astype(float, copy=False))
            if np.fmax.reduce(sizes, initial=0.0) >= MAX_WHOLE:
                large.add(name)
    return large


def check_exact(texts):
    """Refuse whole numbers, in columns of texts, that float64 would round."""
    for name, column in zip(texts.column_names, texts.columns, strict=True):
        is_whole = pc.match_substring_regex(column, r"^\s*[+-]?[0-9]{16,309}\s*$")
        for text in column.filter(is_whole).to_pylist():
            if int(text) != float(text):
                raise UnfitError(name, pa.array([text.strip()]), pa.float64())


def _widened(kind, keeps_integers):
    """Return a type that later rows are likely to fit, too."""
    types = pa.types
    if types.is_null(kind) or (types.is_integer(kind) and not keeps_integers):
        return pa.float64()
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if types.is_time(kind):
        return pa.time64("us")
    return pa.string() if types.is_binary(kind) else kind


def as_type(kind):
    """Return a type of pyarrow, given itself or its name."""
    if isinstance(kind, pa.DataType):
        return kind
    try:
        return pa.type_for_alias(kind)
    except (TypeError, ValueError):
        raise ValueError(
            f"column_types: {kind!r} is not a type, such as 'float64' or 'string'."
        ) from None


NUMBERS = "integer", "floating", "decimal"


def _is(kind, *families):
    """Whether a type of pyarrow is of one of its families."""
    return any(getattr(pa.types, f"is_{family}")(kind) for family in families)


def may_be_numbers(kind):
    """Whether a type of pyarrow is for numbers, or booleans, which can be 0 and 1."""
    return _is(kind, *NUMBERS, "boolean")


def _general(kind):
    """Return the type that stands for all that pyarrow does not unify with it."""
    if _is(kind, "dictionary"):
        return kind.value_type
    if _is(kind, "date"):
        return pa.timestamp("s")
    return pa.timestamp(kind.unit, "UTC") if getattr(kind, "tz", None) else kind


def common_type(*kinds):
    """Return a type that all can be converted to; None if there is none."""
    kinds = [_general(kind) for kind in kinds]
    are_numbers = all(_is(kind, *NUMBERS) for kind in kinds)
    if are_numbers and any(_is(kind, "floating") for kind in kinds):
        return pa.float64()  # float32 would round integers
    try:
        schemas = [pa.schema({"": kind}) for kind in kinds]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def convert(column, kind, is_asked, name=None):
    """Convert a column, rounded only if asked for; else raise :class:`UnfitError`."""
    if column.type == kind:
        return column
    column = as_single_array(column)
    with suppress(*parse_errors()):
        new, is_same = _converted(column, kind, is_asked)
        if pc.all(is_same, min_count=0).as_py():
            return new
    raise UnfitError(name, column, kind)


def _converted(column, kind, is_asked):
    """Convert a column; return it, and which values, if not missing, are the same."""
    source, is_float = column.type, _is(kind, "floating")
    if _is(source, "temporal") and _is(kind, *NUMBERS):
        raise ValueError("numbers have no unit")
    if is_string_type(kind):
        if _is(source, "boolean"):
            column = pc.if_else(column, "True", "False")  # as str in Python
        return column.cast(kind), True
    if is_string_type(source):
        column = pc.utf8_trim_whitespace(column)
        is_number = pc.match_substring_regex(column, "^[^xX]*$")  # not hexadecimal
        return column.cast(kind), pc.or_(is_number, not _is(kind, "integer"))
    if is_float and _is(source, "decimal"):
        new = column.cast("string").cast(kind)  # rounded well
    else:
        new = column.cast(kind, safe=not (is_float and is_asked))
    if is_float and (is_asked or _is(source, "floating")):
        return new, pc.invert(pc.is_inf(new))
    return new, _is(source, "null") or pc.equal(new.cast(source, safe=False), column)


def remedy_for(name, *kinds):
    """Return the option with which columns of these types can be read, or ""."""
    if any(_is(kind, "nested") for kind in kinds):
        return ""
    are_numbers = all(map(may_be_numbers, kinds))
    return type_option(name, "float64" if are_numbers else "string")


def type_option(name, kind):
    """Return the option that gives a column a type."""
    return f"column_types={{{name!r}: {kind!r}}}"


def type_for(text):
    """Return the name of a type for a value that a type of integers lacks."""
    is_exact = is_float(text) and abs(float(text)) < MAX_WHOLE
    return "float64" if is_exact else "string"


class UnfitError(ValueError):
    """Raised with name, column and type when a value does not fit the type."""

    def explain(self):
        """Return reason and remedy, for a column of one row."""
        name, column, kind = self.args
        value = quote(repr(str(column[0])))
        reason = f"has {value} in column {name!r}, which does not fit the type {kind}"
        return reason, remedy_for(name, column.type, kind)


def describe_type(kind):
    """Describe a type in words, such as "a number"."""
    if _is(kind, "floating", "decimal"):
        return "a number"
    return "a whole number" if _is(kind, "integer") else with_article(str(kind))


def as_array(column):
    """Convert a column of pyarrow to a NumPy array, strings to NumPy's own."""
    column = as_single_array(column)
    if is_string_type(column.type):
        codes = pc.dictionary_encode(column)
        if codes.null_count:
            return column.to_numpy(zero_copy_only=False)
        texts = np.array(codes.dictionary.to_pylist(), dtype=str)
        return texts[codes.indices.to_numpy()]
    if pa.types.is_decimal(column.type):
        column = convert(column, pa.float64(), True)
    return column.to_numpy(zero_copy_only=False)
