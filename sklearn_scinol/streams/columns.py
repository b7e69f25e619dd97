"""Columns: what they are for, and of which types."""

from typing import NamedTuple

import numpy as np

from ..tables.frames import is_text, one_array
from .errors import ReadError, quote

__all__ = [
    "Roles",
    "as_array",
    "check_names",
    "name_of_type",
    "wanted_schema",
]


class Roles(NamedTuple):
    """Names of the columns, by what they are for."""

    features: list
    target: str | None
    sample_weight: str | None

    @property
    def all(self):
        others = [name for name in self[1:] if name is not None]
        return [*self.features, *others]

    @classmethod
    def choose(cls, names, columns, target, sample_weight, file):
        """Those of a file with these columns, as somebody asks for them."""
        named = {"target": target, "sample_weight": sample_weight}
        for parameter, name in named.items():
            if name is not None:
                _check_are_columns([name], names, file, f"{parameter}=")
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
                    raise ValueError(f"The column {name!r} has another role already.")
            if len(set(columns)) < len(columns):
                raise ValueError("columns has a name twice.")
        if not columns:
            raise ReadError(f"{file} has no column of features.", file)
        return cls(columns, target, sample_weight)

    def unpack(self, table):
        """What the table is to who learns from it."""
        X = table.select(self.features)
        answer = [as_array(table[name]) for name in self[1:] if name is not None]
        return (X, *answer) if answer else X


def _check_are_columns(given, names, file, prefix=""):
    """Check that a file has columns of some names; name all that it has not."""
    known = {*names}
    if missing := [name for name in given if name not in known]:
        are = "is" if len(missing) == 1 else "are"
        raise ValueError(
            f"{prefix}{quote(', '.join(map(repr, missing)))} {are} none of the columns "
            f"of {file}: {quote(str(names))}."
        )


def check_names(expected, names, first, file):
    """Check that a file has the columns of the first one, each once."""
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


def wanted_schema(schema, roles, column_types, is_inferred, file):
    """Names and types of the columns to read.

    Parameters
    ----------
    schema : pyarrow.Schema
        What the first file has.
    roles : Roles
    column_types : dict or None
        What somebody says about some columns.
    is_inferred : bool
        Whether types are those of the first rows, and later ones may differ.
    file : Path
        The first file.
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
    """A type that later rows have, too, as far as can be foreseen."""
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
            f"column_types: {kind!r} is no type, as 'float64' and 'string' are."
        ) from None


def name_of_type(kind):
    """What users call it."""
    import pyarrow as pa

    types = pa.types
    if types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    return "whole number" if types.is_integer(kind) else str(kind)


def _is_target(kind):
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    kinds = types.is_integer, types.is_floating, types.is_decimal, types.is_boolean
    return is_text(kind) or any(is_kind(kind) for is_kind in kinds)


def as_array(column):
    """A column of pyarrow as a NumPy array: numbers, booleans or strings.

    Strings become NumPy's own, whose comparisons are fast.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = one_array(column)
    if is_text(column.type):
        codes = pc.dictionary_encode(column)
        if codes.null_count:
            return column.to_numpy(zero_copy_only=False)
        texts = np.array(codes.dictionary.to_pylist(), dtype=str)
        return texts[codes.indices.to_numpy()]
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)
