"""JSON lines: files of one object a line."""

import json
import re
from contextlib import suppress
from functools import partial

import numpy as np

from ..tables.frames import is_string_type
from .ahead import open_bytes
from .arrow import pa, pj
from .columns import UnfitError, convert, large_columns, type_for, type_option
from .errors import ReadError, one_line, parse_errors, quote, with_article
from .rows import NOT_A_LINE, Tables, parse_by_halves
from .text import ENCODING, MAX_BLOCKS_WITHOUT_ROWS, TextFormat

#: Maximum depth of nested values. Beyond, pyarrow takes time that is quadratic in the
#: depth, and ends the process. Parquet files have the same limit.
MAX_JSON_DEPTH = 100

TOO_DEEP = f"is nested more than {MAX_JSON_DEPTH} deep"

#: Change of the depth by each byte.
STEPS = np.zeros(256, np.int8)
STEPS[[*b"[{"]], STEPS[[*b"]}"]] = 1, -1

#: Reason why a row is bad that has a value of another type than its column.
OTHER_TYPE = re.compile(r"has an? \w+( in column '(.*)', which is not .*)")

#: Bytes to delete: all but brackets, quotes and ends of lines.
NO_BRACKETS = bytes({*range(256)} - {*b'[]{}"\r\n'})

#: A string, whose letters are deleted; one that is never closed ends with its line.
STRING = re.compile(rb'"[^"\r\n]*+"?+')

#: Beginning of an array of objects, and of an object of several lines.
OVER_LINES = re.compile(rb"\s*+(?:\[\s*+(?:\{|\Z)|\{(?:[^\n]*,)?[ \r]*\n)")

#: A null that is a row: any other null follows a colon, a comma or "[".
NULL_ROW = re.compile(rb"(?:\A|[}\]])\s*+null")


class JSONLines(Tables, TextFormat):
    """Lines of one object each."""

    def infer_schema(self):
        """Return types of the columns of the first rows, and of those asked for."""
        kinds, errors = {}, []
        for n_before, block in enumerate(self._all_blocks()):
            if kinds and not len(block):
                break  # a pipe pauses
            for _, rows, error in parse_by_halves(self._read, self.rows_in(block)):
                if error is not None:
                    errors.append(error)
                    continue
                self.large |= large_columns(rows)
                for field in rows.schema:
                    if kinds.get(field.name) in (None, pa.null()):
                        kinds[field.name] = field.type
            known = {name for name, kind in kinds.items() if kind != pa.null()}
            is_late = self.named - known - {*self.typed}
            if not is_late if kinds else n_before == MAX_BLOCKS_WITHOUT_ROWS:
                break
        if not kinds:
            reason, _ = self.explain(None, errors[0]) if errors else ("is empty", "")
            file = self.files[0]
            message = f"{file} has no row that can be read: the first one {reason}."
            raise ReadError(message, file)
        return kinds | {name: kinds.get(name, pa.null()) for name in self.typed}

    def _all_blocks(self):
        for file in self.files:
            with self.open_blocks(file) as (_, blocks):
                yield from (block for _, block in blocks)

    def start(self, file, block):
        if OVER_LINES.match(block):
            raise ReadError(
                f"{file} does not have an object a line: write it so, such as with "
                "`jq -c '.[]'` if it is an array, else with `jq -c .`.",
                file,
            )
        return None, block

    def parse(self, names, block):
        schema, asked = self.schema_in_file, self.column_types
        try:
            return self._parse(block, schema)
        except parse_errors():
            if asked.keys().isdisjoint(schema.names):
                raise
            others = [field for field in schema if field.name not in asked]
            table = self._parse(block, pa.schema(others))
            rows = [LOADS(line) for line in self.rows_in(block)]
            for field in schema:
                if field.name in asked:
                    column = [row.get(field.name) for row in rows]
                    if any(isinstance(value, dict | list) for value in column):
                        raise
                    texts = pa.array(_as_text(value, field.type) for value in column)
                    column = convert(texts, field.type, True, field.name)
                    table = table.append_column(field, column)
            return table.select(schema.names)

    def _parse(self, block, schema):
        table = self._read(
            block, explicit_schema=schema, unexpected_field_behavior="ignore"
        )
        table.validate(full=True)  # the parser does not check UTF-8

        def read_texts(columns):
            rows = [LOADS(line) for line in self.rows_in(block)]
            return pa.table({name: [row.get(name) for row in rows] for name in columns})

        self.check_exact(table, read_texts)
        return table.select(schema.names)

    def _read(self, block, **keywords):
        block = bytes(block)
        if _is_deep(block):
            raise ValueError(TOO_DEEP)
        if _has_null_row(block):  # which ends the process in pyarrow
            raise ValueError("it is null")
        table = pj.read_json(
            open_bytes(block),
            pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pj.ParseOptions(**keywords),
        )
        list(table.column_names)  # which is an error if a key is not UTF-8
        if table.num_rows != len(self.rows_in(block)):
            raise ValueError(NOT_A_LINE)
        return table

    def explain(self, names, error):
        if isinstance(error, UnfitError):
            return error.explain()
        words = one_line(error)
        if words == TOO_DEEP:
            return words, ""
        if found := re.search(r"Column\(/(.*?)\) changed from (\w+) to (\w+)", words):
            name, expected, kind = found.groups()
            is_text = kind in ("string", "number", "boolean")
            remedy = type_option(name, "string") if is_text else ""
            kind, expected = with_article(kind), with_article(expected)
            return f"has {kind} in column {name!r}, which is not {expected}", remedy
        if isinstance(error, UnicodeError) or "UTF8" in words:
            return "has text that is not UTF-8", ENCODING
        if found := re.search(r"Column\(/(.*?)\) was specified twice", words):
            return f"has the key {found[1]!r} twice", ""
        if "Number too big" in words:
            return "has a number that is too large for float64", ""
        if found := re.search(r"Failed to convert JSON to (\w+).*?:(.*)", words):
            value = found[2].strip()
            reason = f"has {value}, which is not {with_article(found[1])}"
            whole = [each.name for each in self.schema if pa.types.is_int64(each.type)]
            if found[1] != "int64" or len(whole) != 1:
                return reason, ""
            return reason, type_option(whole[0], type_for(value))
        words = re.sub(r"^JSON parse error: |\.? in row \d+$", "", words)
        return f"is not a JSON object: {words}", ""

    def name_value(self, reason, text):
        if found := OTHER_TYPE.match(reason):
            with suppress(ValueError):
                value = json.loads(text).get(found[2])
                if not isinstance(value, dict | list):
                    return f"has {quote(repr(value))}{found[1]}"
        return reason


def _as_text(value, kind):
    """Return the text of a value, None if it is missing."""
    is_missing = value is None or (value == "" and not is_string_type(kind))
    return None if is_missing else str(value)


def _once(pairs):
    """Make an object of JSON, if no key comes twice."""
    row = {}
    for name, value in pairs:
        if name in row:
            raise ValueError(f"Column(/{name}) was specified twice")
        row[name] = value
    return row


#: Reads an object with numbers as text.
LOADS = partial(
    json.loads,
    parse_int=str,
    parse_float=str,
    parse_constant=str,
    object_pairs_hook=_once,
)


def _is_deep(block):
    """Whether JSON is nested too deep, at least up to its first error."""
    if b"[" not in block and block.count(b"{") <= block.count(b"}\n{") + 1:
        return False  # each object begins where the one before ends
    brackets = _without_escapes(block).translate(None, NO_BRACKETS)
    brackets = STRING.sub(b"", brackets.replace(b'""', b""))  # most strings
    steps = STEPS[np.frombuffer(brackets, np.uint8)]
    return steps.cumsum(dtype=int).max(initial=0) > MAX_JSON_DEPTH


def _has_null_row(block):
    """Whether a row of JSON is null instead of an object."""
    if block.count(b"null") <= block.count(b": null") + block.count(b":null"):
        return False
    return NULL_ROW.search(STRING.sub(b"", _without_escapes(block))) is not None


def _without_escapes(block):
    return block.replace(rb"\\", b"").replace(rb"\"", b"")
