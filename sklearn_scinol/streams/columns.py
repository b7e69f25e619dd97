"""Roles and types of columns."""

from typing import NamedTuple

import numpy as np

from ..tables.frames import as_single_array, is_string_type
from .errors import ReadError, quote, with_article

__all__ = ["Roles", "as_array", "check_names", "describe_type", "schema_to_read"]


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


def check_names(expected, names, first, file):
    """Check that a file has the columns of the first file, each once."""
    given, known = set(), {*expected}
    for name in names:
        if name in given:
            raise ReadError(f"{file} has the column {name!r} twice.", file)
        given.add(name)
    wrong = [f"does not have {name!r}" for name in expected if name not in given]
    wrong += [f"also has {name!r}" for name in names if name not in known]
    if wrong:
        raise ReadError(
            f"{file} has other columns than {first}: it {quote(' and '.join(wrong))}.",
            file,
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
    column_types = column_types or {}
    _check_are_columns(column_types, schema.names, file, "column_types: ")
    for name, kind in column_types.items():
        if name in kinds:
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


def describe_type(kind):
    """Describe a type in words, such as "a number"."""
    import pyarrow as pa

    types = pa.types
    if types.is_floating(kind) or types.is_decimal(kind):
        return "a number"
    return "a whole number" if types.is_integer(kind) else with_article(str(kind))


def _is_target(kind):
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    kinds = types.is_integer, types.is_floating, types.is_decimal, types.is_boolean
    return is_string_type(kind) or any(is_kind(kind) for is_kind in kinds)


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
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)
