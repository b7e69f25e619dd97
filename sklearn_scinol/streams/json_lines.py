"""JSON lines: files of one object a line."""

import re

from .errors import ReadError, one_line, with_article
from .rows import parse_lines
from .text import ENCODING, TextTable

__all__ = ["JSONLines"]

#: Maximum depth of nested values. Beyond, pyarrow takes time that is quadratic in the
#: depth, and ends the process. Parquet files have the same limit.
MAX_JSON_DEPTH = 100

TOO_DEEP = f"is nested more than {MAX_JSON_DEPTH} deep"

#: Turns square brackets into braces; deletes all but braces, quotes and ends of lines.
BRACKETS = bytes.maketrans(b"[]", b"{}")
NO_BRACKETS = bytes({*range(256)} - {*b'[]{}"\r\n'})

#: A string, whose letters are deleted; one that is never closed ends with its line.
STRING = re.compile(rb'"[^"\r\n]*+"?+')

#: A null that is a row: any other null follows a colon, a comma or "[".
NULL_ROW = re.compile(rb"(?:\A|[}\]])\s*+null")


class JSONLines(TextTable):
    """Lines of one object each."""

    def infer_schema(self):
        """Return names and types of the columns, from the first rows."""
        import pyarrow as pa

        kinds, errors = {}, []
        with self.open_blocks(self.files[0]) as (_, blocks):
            lines = self.rows_in(next(blocks))
            for _, rows, error in parse_lines(self._read, lines):
                if error is not None:
                    errors.append(error)
                    continue
                for field in rows.schema:
                    if kinds.get(field.name) in (None, pa.null()):
                        kinds[field.name] = field.type
        if not kinds:
            reason, _ = self.explain(None, errors[0]) if errors else ("is empty", "")
            file = self.files[0]
            message = f"{file} has no row that can be read: the first one {reason}."
            raise ReadError(message, file)
        return pa.schema(kinds)

    def parse(self, names, block):
        table = self._read(
            block, explicit_schema=self.schema, unexpected_field_behavior="ignore"
        )
        table.validate(full=True)  # the parser does not check UTF-8
        return table.select(self.schema.names)

    def _read(self, block, **keywords):
        import pyarrow as pa
        import pyarrow.json as pj

        block = bytes(block)
        if _is_deep(block):
            raise ValueError(TOO_DEEP)
        if _has_null_row(block):  # which ends the process in pyarrow
            raise ValueError("it is null")
        return pj.read_json(
            pa.BufferReader(pa.py_buffer(block)),
            pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pj.ParseOptions(**keywords),
        )

    def explain(self, names, error):
        words = one_line(error)
        if words == TOO_DEEP:
            return words, ""
        if found := re.search(r"Column\(/(.*?)\) changed from (\w+) to (\w+)", words):
            name, expected, kind = found.groups()
            kind, expected = with_article(kind), with_article(expected)
            return f"has {kind} in column {name!r}, which is not {expected}", ""
        if isinstance(error, UnicodeError) or "UTF8" in words:
            return "has text that is not UTF-8", ENCODING
        if found := re.search(r"Column\(/(.*?)\) was specified twice", words):
            return f"has the key {found[1]!r} twice", ""
        if "Number too big" in words:
            return "has a number that is too large for float64", ""
        if found := re.search(r"Failed to convert JSON to (\w+).*?:(.*)", words):
            return f"has {found[2].strip()}, which is not {with_article(found[1])}", ""
        words = re.sub(r"^JSON parse error: |\.? in row 0$", "", words)
        return f"is not a JSON object: {words}", ""


def _is_deep(block):
    """Whether JSON is nested too deep, at least up to its first error."""
    if b"[" not in block and block.count(b"{") <= block.count(b"}\n{") + 1:
        return False  # each object begins where the one before ends
    brackets = (
        _without_escapes(block)
        .translate(BRACKETS, NO_BRACKETS)
        .replace(b'""', b"")  # most strings
    )
    brackets = STRING.sub(b"", brackets).translate(None, b"\r\n")
    depth = 0
    while b"{}" in brackets and depth <= MAX_JSON_DEPTH:
        brackets = brackets.replace(b"{}", b"")  # the innermost ones
        depth += 1
    return depth + brackets.count(b"{") > MAX_JSON_DEPTH


def _has_null_row(block):
    """Whether a row of JSON is null instead of an object."""
    if block.count(b"null") <= block.count(b": null") + block.count(b":null"):
        return False
    return NULL_ROW.search(STRING.sub(b"", _without_escapes(block))) is not None


def _without_escapes(block):
    return block.replace(rb"\\", b"").replace(rb"\"", b"")
