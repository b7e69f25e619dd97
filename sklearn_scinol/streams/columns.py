"""Roles and types of columns."""

from contextlib import suppress
from importlib import import_module
from typing import NamedTuple

import numpy as np

from ..tables.frames import as_single_array, is_string_type
from .errors import ReadError, parse_errors, quote, with_article


class LateType(str):
    """Name of a type for a column whose first values are missing."""

    __slots__ = ()


class Roles(NamedTuple):
    """Names of the columns, by their roles."""

    features: list
    target: str | None
    sample_weight: str | None

    @property
    def all(self):
        others = [name for name in self[1:] if name is not None]
        return [*self.features, *others]

    @classmethod
    def choose(cls, names, columns, target, sample_weight, file):
        """Choose the roles of columns as :func:`read_table` is asked to."""
        named = {"target": target, "sample_weight": sample_weight}
        for parameter, name in named.items():
            if name is not None:
                _check_are_columns([name], names, file, f"{parameter}={name!r}: ")
        others = [name for name in named.values() if name is not None]
        if len(set(others)) < len(others):
            raise ValueError(f"The column {target!r} cannot be both target and weight.")
        if columns is None:
            columns = [name for name in names if name not in others]
        else:
            if isinstance(columns, str):
                raise TypeError(f"columns must be a list of names, got {columns!r}.")
            columns = list(columns)
            _check_are_columns(columns, names, file)
            for name in columns:
                if name in others:
                    raise ValueError(f"The column {name!r} has another role.")
            if len(set(columns)) < len(columns):
                raise ValueError("columns has a name twice.")
        if not columns:
            raise ReadError(f"{file} has no column of features.", file)
        return cls(columns, target, sample_weight)

    def unpack(self, table):
        """Return `X`, or a tuple of `X` and the target and weight that exist."""
        X = table.select(self.features)
        others = [as_array(table[name]) for name in self[1:] if name is not None]
        return (X, *others) if others else X


def _check_are_columns(given, names, file, prefix=""):
    """Check that a file has columns of these names."""
    known = {*names}
    if missing := [name for name in given if name not in known]:
        columns = "column" if len(missing) == 1 else "columns"
        raise ValueError(
            f"{prefix}{file} has no {columns} {quote(', '.join(map(repr, missing)))} "
            f"(columns: {quote(str(names)[1:-1])})."
        )


def check_names(expected, names, first, file, chosen=None):
    """Check that a file has the columns of the first file, each once.

    If some are chosen, the others do not matter.
    """
    given, known = set(), {*expected}
    for name in names:
        if name in given and (chosen is None or name in chosen):
            twice = f"the column {name!r} twice" if name else "columns without a name"
            message = f"{file} has {twice}: pass columns= with other ones."
            raise ReadError(message, file)
        given.add(name)
    if chosen is not None:
        expected = names = [name for name in expected if name in chosen]
    wrong = [f"does not have {name!r}" for name in expected if name not in given]
    wrong += [f"also has {name!r}" for name in names if name not in known]
    if wrong:
        remedy = ": pass columns= with those that all have" if chosen is None else ""
        wrong = quote(" and ".join(wrong))
        raise ReadError(
            f"{file} has other columns than {first}: it {wrong}{remedy}.", file
        )


def schema_to_read(schema, roles, column_types, is_inferred, file):
    """Return names and types of the columns to read, given the first file's schema.

    `is_inferred` tells whether its types were inferred from the first rows.
    """
    import pyarrow as pa

    kinds = {name: schema.field(name).type for name in roles.all}
    if is_inferred:
        for name, kind in kinds.items():
            kinds[name] = _widened(kind, name == roles.target)
    late = {name for name in column_types if isinstance(column_types[name], LateType)}
    named = [name for name in column_types if name not in late]
    _check_are_columns(named, schema.names, file, "column_types: ")
    for name, kind in column_types.items():
        if name in kinds and (
            name not in late or pa.types.is_null(schema.field(name).type)
        ):
            kinds[name] = _as_type(kind)
    if roles.sample_weight is not None:
        kinds[roles.sample_weight] = pa.float64()
    if roles.target is not None and not _is_target(kinds[roles.target]):
        raise ReadError(
            f"The target {roles.target!r} of {file} is {kinds[roles.target]}: it must "
            "be numbers, booleans or strings.",
            file,
        )
    return pa.schema(kinds)


def _widened(kind, is_target):
    """Return a type that later rows are likely to fit, too."""
    import pyarrow as pa

    types = pa.types
    if types.is_null(kind) or (types.is_integer(kind) and not is_target):
        return pa.float64()
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.string() if types.is_binary(kind) else kind


def _as_type(kind):
    import pyarrow as pa

    if isinstance(kind, pa.DataType):
        return kind
    try:
        return pa.type_for_alias(kind)
    except (TypeError, ValueError):
        raise ValueError(
            f"column_types: {kind!r} is not a type, such as 'float64' or 'string'."
        ) from None


#: Units of time, the coarsest first.
UNITS = "s", "ms", "us", "ns"

NUMBERS = "integer", "floating", "decimal"


def is_time_of_numbers(source, kind):
    """Whether a conversion makes times of numbers, whose unit the type tells."""
    return _is(source, *NUMBERS) and _is(kind, "temporal")


def common_type(one, other):
    """Return a type that both can be converted to; None if there is none."""
    import pyarrow as pa

    kinds = [
        kind.value_type if pa.types.is_dictionary(kind) else kind
        for kind in (one, other)
    ]
    if kinds[0] == kinds[1]:
        return kinds[0]
    if all(map(is_string_type, kinds)):
        return pa.large_string()
    if all(_is(kind, *NUMBERS) for kind in kinds):
        if sum(_is(kind, "floating") for kind in kinds) == 1:
            return pa.float64()
    elif all(_is(kind, "timestamp", "date") for kind in kinds):
        zones = {getattr(kind, "tz", None) for kind in kinds}
        if None in zones and len(zones) == 2:
            return None
        unit = max((getattr(kind, "unit", "s") for kind in kinds), key=UNITS.index)
        return pa.timestamp(unit, zones.pop() if len(zones) == 1 else "UTC")
    elif any(_is(kind, "nested", "binary", "large_binary") for kind in kinds):
        return next((k for k in kinds if pa.null() in kinds and k != pa.null()), None)
    try:
        schemas = [pa.schema({"": kind}) for kind in kinds]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def convert(column, kind, is_asked, name=None):
    """Convert a column to a type; an :class:`UnfitError` if a value would change.

    Only where a type of floats is asked for, numbers are rounded.
    """
    import pyarrow.compute as pc

    column = as_single_array(column)
    try:
        new, is_same = _converted(column, kind, is_asked)
        if pc.all(is_same, min_count=0).as_py():
            return new
    except parse_errors():
        pass
    raise UnfitError(name, column, kind)


def _converted(column, kind, is_asked):
    """Convert a column; return it, and which values, if not missing, are the same."""
    import pyarrow.compute as pc

    source = column.type
    if _is(source, "temporal") and _is(kind, *NUMBERS):
        raise ValueError("numbers have no unit")
    if _is(source, "decimal") and _is(kind, "floating"):  # rounded well
        floats = column.cast("string").cast(kind)
        return floats, is_asked or pc.equal(floats.cast(source), column)
    if is_string_type(kind):
        if _is(source, "boolean"):
            column = pc.if_else(column, "True", "False")  # as str in Python
        return column.cast(kind), True
    if is_string_type(source):
        column = pc.utf8_trim_whitespace(column)
        is_number = pc.match_substring_regex(column, "^[^xX]*$")  # not hexadecimal
        return column.cast(kind), pc.or_(is_number, not _is(kind, "integer"))
    if _is(kind, "floating") and (is_asked or _is(source, "floating")):
        new = column.cast(kind, safe=False)
        is_same = pc.is_finite(new)
        if _is(source, "floating"):  # only NaN and infinities stay so
            is_same = pc.or_(is_same, pc.invert(pc.is_finite(column)))
        return new, is_same
    new = column.cast(kind)
    return new, _is(source, "null") or pc.equal(new.cast(source, safe=False), column)


def remedy_for(name, *columns):
    """Return the option for columns of one or several types; "" if there is none."""
    import pyarrow as pa

    def are(*families):
        return all(_is(column.type, *families) for column in columns)

    kinds = ["float64"] * (len(columns) == 1 or are(*NUMBERS, "boolean"))
    for kind in kinds + ["timestamp[us]"] * are("date", "timestamp") + ["string"]:
        with suppress(UnfitError):
            for column in columns:
                convert(column, pa.type_for_alias(kind), True)
            return f"column_types={{{name!r}: {kind!r}}}"
    return ""


class UnfitError(ValueError):
    """Raised when a value does not fit the type of its column."""

    def __init__(self, name, column, kind):
        super().__init__(name, column, kind)

    def explain(self):
        """Return reason and remedy, for a column of one row."""
        import pyarrow as pa

        name, column, kind = self.args
        value = quote(repr(str(column[0])))
        reason = f"has {value} in column {name!r}, which does not fit the type {kind}"
        return reason, remedy_for(name, column, pa.array([], kind))


def _is(kind, *families):
    """Whether a type of pyarrow, or that of a dictionary's values, is of a family."""
    types = import_module("pyarrow").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(getattr(types, f"is_{family}")(kind) for family in families)


def describe_type(kind):
    """Describe a type in words, such as "a number"."""
    import pyarrow as pa

    types = pa.types
    if types.is_floating(kind) or types.is_decimal(kind):
        return "a number"
    return "a whole number" if types.is_integer(kind) else with_article(str(kind))


def _is_target(kind):
    families = *NUMBERS, "boolean", "string", "large_string"
    return _is(kind, *families) or is_string_type(kind)


def as_array(column):
    """Convert a column of pyarrow to a NumPy array, strings to NumPy's own."""
    import pyarrow as pa
    import pyarrow.compute as pc

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
