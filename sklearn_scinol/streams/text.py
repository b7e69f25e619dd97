"""CSV, JSON lines and LIBSVM text: files whose rows are lines of text.

They are read in blocks of whole rows, each of which is parsed by itself, in threads.
That is faster than the readers of whole files that pyarrow has, takes little memory,
and leaves a block that has something wrong in it to be looked at row by row.
"""

import re
from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from itertools import chain

import numpy as np
from sklearn.datasets import load_svmlight_file

from .ahead import map_ahead
from .columns import check_names, name_of_type
from .errors import ReadError, one_line, read_errors, refused
from .files import check_encoding, delimiter_of, open_text
from .rows import Fault, Part, SparseRows, Tables, check_rows, gather, halves

__all__ = ["CSV", "LIBSVM", "JSONLines"]

#: So much text is parsed at once. Smaller blocks take longer, and so do larger ones,
#: which do not stay in the processor's cache.
BLOCK_BYTES = 2**20

#: A block of wide rows is larger: it has so many rows, or so many bytes. Each column of
#: a block takes as long as a hundred of its values.
MIN_BLOCK_ROWS = 100
MAX_BLOCK_BYTES = 2**25

#: No row is longer.
MAX_ROW_LENGTH = 2**26

#: No value in quotes that has several lines is longer.
MAX_QUOTED = 2**20

#: No value of a JSON object is nested deeper: pyarrow takes time that is quadratic in
#: it, and ends the process in the end. Parquet files have the same limit.
MAX_JSON_DEPTH = 100

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

LINE_END = b"\r\n"

TOO_DEEP = f"is nested more than {MAX_JSON_DEPTH} deep"

ENCODING = "encoding=, such as 'latin-1'"

#: Makes one kind of all brackets; deletes all but these, quotes and ends of lines.
BRACKETS = bytes.maketrans(b"[]", b"{}")
NO_BRACKETS = bytes({*range(256)} - {*b'[]{}"\r\n'})

#: A string, whose letters are deleted; one that is never closed ends with its line.
STRING = re.compile(rb'"[^"\r\n]*+"?+')

#: A null that is no value: those follow a colon, a comma or "[".
NULL_ROW = re.compile(rb"(?:\A|[}\]])\s*+null")

ANY_LINE = re.compile(rb"[^\r\n]*+(?:\r\n|\n|\r)")


class TextFormat(ABC):
    """Reads text files of a format.

    Parameters
    ----------
    files : list of Path
    encoding : str, default=None
        "utf-8" by default.
    """

    def __init__(self, files, *, encoding=None):
        self.files = files
        self.encoding = "utf-8" if encoding is None else check_encoding(encoding)

    # What a format gives.

    def start(self, file, block):
        """Begin with the first block of a file.

        Returns
        -------
        names : list of str or None
            Those of the columns in the order of the file, if that matters.
        block : bytes-like
            The first block, without what is not data.
        """
        return None, block

    @abstractmethod
    def parse(self, names, block):
        """Make rows of a block."""

    @abstractmethod
    def explain(self, names, error):
        """What is wrong with a row, as it follows on "Row 1 of a file", and a remedy.

        Returns
        -------
        reason, remedy : str
        """

    @abstractmethod
    def check(self, rows):
        """The rows that have a target and a weight, and faults of the others."""

    def end_of_rows(self, data):
        """Where the last row of some text ends; 0 if none does."""
        # A return at the very end may be half of a line's end.
        return data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, -1) + 1

    def rows_in(self, block):
        """The rows of a block, each with the end of its line."""
        return [line for line in bytes(block).splitlines(True) if not line.isspace()]

    # What is done with it.

    def read(self, file, n_threads, only_first_bad):
        """Yield a :class:`Part` for each block of a file."""
        with self.opened(file) as (names, blocks):
            part = partial(self._part, names, only_first_bad)
            yield from map_ahead(part, blocks, n_threads)

    @contextmanager
    def opened(self, file):
        """The names of the columns of a file, and an iterator over its blocks."""
        with read_errors(file, self.encoding), open_text(file, self.encoding) as stream:
            blocks = self.blocks(stream)
            first = bytes(next(blocks, b"")).removeprefix(BYTE_ORDER_MARK)
            if first.isspace():
                first = b""
            if not first:
                raise ReadError(f"{file} is empty.", file)
            names, first = self.start(file, first)
            yield names, filter(len, chain([first], blocks))

    def blocks(self, stream):
        """Cut text into blocks of whole rows."""
        data, size = b"", BLOCK_BYTES
        while True:
            new = stream.read(size)
            data += new
            if _is_short(data) and len(new) >= max(1, size // 4):  # a pipe gives less
                size = len(data)
                continue
            if data and not new and not data.endswith(b"\n"):
                data += b"\n"
            end = self.end_of_rows(data)
            if not end and (not new or len(data) > MAX_QUOTED):
                end = data.find(b"\n") + 1  # a quote is never closed
            if end:
                yield memoryview(data)[:end]
                data = data[end:]
            elif len(data) > MAX_ROW_LENGTH:
                raise ValueError(f"it has a row of more than {MAX_ROW_LENGTH} bytes")
            if not (new or data):
                return

    def _part(self, names, only_first_bad, block):
        """What comes of a block."""
        lines = None
        try:
            rows = self.parse(names, block)
            n_rows, parts = rows.num_rows, [(0, rows, None)]
        except refused():
            lines = self.rows_in(block)
            n_rows = len(lines)
            parts = halves(
                lambda i, j: self.parse(names, b"".join(lines[i:j])), 0, n_rows
            )
        good, faults = gather(
            parts, self.check, partial(self.explain, names), only_first_bad
        )
        if faults and lines is None:
            lines = self.rows_in(block)
        for i, fault in enumerate(faults):
            line = lines[fault.row].decode(errors="backslashreplace")
            faults[i] = fault._replace(text=line.rstrip("\r\n"))
        return Part(good, n_rows, faults)


class TextTable(Tables, TextFormat):
    """Those whose columns have names."""

    is_text = True

    def check(self, rows):
        return check_rows(rows, self.roles)


class CSV(TextTable):
    """Values with something between them, below a header with the columns' names."""

    def __init__(
        self,
        files,
        *,
        encoding=None,
        delimiter=None,
        column_names=None,
        null_values=None,
    ):
        super().__init__(files, encoding=encoding)
        if delimiter is None:
            delimiter = delimiter_of(files[0])
        if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
            raise ValueError(f"delimiter must be one character, got {delimiter!r}.")
        self.delimiter = delimiter
        self.row = _pattern_of_rows(delimiter)
        self.column_names = None if column_names is None else list(column_names)
        if isinstance(null_values, str):
            raise TypeError(f"null_values must be a list, got {null_values!r}.")
        self.null_values = null_values
        self.names = None

    def look(self):
        """Types of the columns, by the first rows of the first file."""
        with self.opened(self.files[0]) as (names, blocks):
            self.names = names
            block = next(blocks, b"\n")
            options = self._convert_options()
            try:
                return self._read(names, options, block).schema
            except refused():
                block = self._without_bad_rows(names, block)
                return self._read(names, options, block).schema

    def _without_bad_rows(self, names, block):
        """The rows that have as many values as there are columns."""
        import pyarrow as pa
        import pyarrow.csv as pc

        lines = self.rows_in(block)
        options = pc.ConvertOptions(column_types=dict.fromkeys(names, pa.binary()))
        parts = halves(
            lambda i, j: self._read(names, options, b"".join(lines[i:j])),
            0,
            len(lines),
        )
        good = [
            line
            for first, rows, _ in parts
            if rows is not None
            for line in lines[first : first + rows.num_rows]
        ]
        return b"".join(good) or b"\n"

    def prepare(self, roles, schema):
        super().prepare(roles, schema)
        self.options = self._convert_options(
            include_columns=schema.names, column_types=schema
        )

    def start(self, file, block):
        names = self.column_names
        if names is None:
            names, block = self._header(file, block)
        check_names(self.names or names, names, self.files[0], file)
        return names, block

    def _header(self, file, block):
        import pyarrow as pa
        import pyarrow.csv as pc

        block = block.lstrip(b"\r\n")
        header = self.row.match(block)
        if header is None:
            raise ReadError(f"The header of {file} has a quote left open.", file)
        names = pc.read_csv(
            pa.BufferReader(header[0]), parse_options=self._parse_options()
        ).column_names
        return names, block[header.end() :]

    def parse(self, names, block):
        table = self._read(names, self.options, block)
        # A quote that is left open swallows all that follows, up to the end.
        if table.num_rows == 1 and not self.row.fullmatch(block):
            raise ValueError("a quote is never closed")
        return table

    def _read(self, names, options, block):
        import pyarrow as pa
        import pyarrow.csv as pc

        return pc.read_csv(
            pa.BufferReader(pa.py_buffer(block)),
            pc.ReadOptions(
                column_names=names, use_threads=False, block_size=len(block) + 1
            ),
            self._parse_options(),
            options,
        )

    def _parse_options(self):
        import pyarrow.csv as pc

        return pc.ParseOptions(delimiter=self.delimiter)

    def _convert_options(self, **keywords):
        import pyarrow.csv as pc

        if self.null_values is not None:
            keywords["null_values"] = ["", *self.null_values]
        return pc.ConvertOptions(strings_can_be_null=True, **keywords)

    def explain(self, names, error):
        words = one_line(error)
        if isinstance(error, UnicodeError):
            return "has text that is not UTF-8", ENCODING
        if found := re.search(r"Expected (\d+) columns, got (\d+)", words):
            return f"has {found[2]} values, not {found[1]}", ""
        if found := re.match(r"In CSV column #(\d+): (.*)", words):
            name = names[int(found[1])]
            value = re.search("invalid value (.*)", found[2])
            if value is None and "UTF8" in words:
                return f"has text in column {name!r} that is not UTF-8", ENCODING
            value = "a value" if value is None else value[1]
            kind = name_of_type(self.schema.field(name).type)
            reason = f"has {value} in column {name!r}, which is no {kind}"
            other = "float64" if _is_float(value.strip("'")) else "string"
            return reason, f"column_types={{{name!r}: {other!r}}}"
        return f"cannot be read: {words}", ""

    def end_of_rows(self, data):
        end = super().end_of_rows(data)
        if _is_even(data, end):
            return end
        # A quote is open there, or is none, such as that of 5" in a text.
        end = 0
        while row := self.row.match(data, end):
            end = row.end()
        return end

    def rows_in(self, block):
        block, rows, end = bytes(block), [], 0
        while end < len(block):
            row = self.row.match(block, end) or ANY_LINE.match(block, end)
            rows.append(row[0])
            end = row.end()
        return [row for row in rows if row.strip(LINE_END)]


class JSONLines(TextTable):
    """An object a line."""

    def look(self):
        """Types of the columns, by the first rows of the first file."""
        import pyarrow as pa

        kinds, errors = {}, []
        with self.opened(self.files[0]) as (_, blocks):
            lines = self.rows_in(next(blocks))
            parts = halves(lambda i, j: self._read(b"".join(lines[i:j])), 0, len(lines))
            for _, rows, error in parts:
                if error is not None:
                    errors.append(error)
                    continue
                for field in rows.schema:
                    if kinds.get(field.name) in (None, pa.null()):
                        kinds[field.name] = field.type
        if not kinds:
            reason, _ = self.explain(None, errors[0]) if errors else ("is empty", "")
            raise ReadError(
                f"{self.files[0]} has no row that can be read: the first one {reason}.",
                self.files[0],
            )
        return pa.schema(kinds)

    def parse(self, names, block):
        table = self._read(
            block,
            explicit_schema=self.schema,
            unexpected_field_behavior="ignore",
        )
        table.validate(full=True)  # that text is UTF-8, which the parser does not
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
            article = "an" if kind[0] in "ao" else "a"
            reason = f"has {article} {kind} in column {name!r}, which is no {expected}"
            return reason, ""
        if isinstance(error, UnicodeError) or "UTF8" in words:
            return "has text that is not UTF-8", ENCODING
        if found := re.search(r"Column\(/(.*?)\) was specified twice", words):
            return f"has the key {found[1]!r} twice", ""
        if "Number too big" in words:
            return "has a number that is too large for float64", ""
        if found := re.search(r"Failed to convert JSON to (\w+).*?:(.*)", words):
            return f"has {found[2].strip()}, which is no {found[1]}", ""
        words = re.sub(r"^JSON parse error: |\.? in row 0$", "", words)
        return f"is no JSON object: {words}", ""


class LIBSVM(TextFormat):
    """A target a line, then features by their numbers, where they are not 0."""

    features = None
    join = staticmethod(SparseRows.join)

    def __init__(self, files, *, encoding=None, n_features=None, zero_based=None):
        super().__init__(files, encoding=encoding)
        self.zero_based = bool(zero_based)
        self.n_features = n_features
        if n_features is None:
            self.n_features = max(1, *map(self._n_features_in, files))

    def _n_features_in(self, file):
        """Look through a file for the largest number of a feature."""
        parts = self.read(file, 0, False)
        return max((rows.X.shape[1] for part in parts for rows in part.rows), default=0)

    def parse(self, names, block):
        return SparseRows(
            *load_svmlight_file(
                BytesIO(block), n_features=self.n_features, zero_based=self.zero_based
            )
        )

    def rows_in(self, block):
        return [line for line in super().rows_in(block) if line.split(b"#")[0].strip()]

    def check(self, rows):
        finite = np.isfinite(rows.y)
        if finite.all():
            return rows, []
        faults = [
            Fault(int(i), f"has the target {rows.y[i]}")
            for i in np.flatnonzero(~finite)
        ]
        return SparseRows(rows.X[finite], rows.y[finite]), faults

    def unpack(self, rows):
        return tuple(rows)

    def explain(self, names, error):
        words = one_line(error)
        if words.startswith("Invalid index 0 "):
            return "has a feature 0", "zero_based=True"
        return f"cannot be read: {words}", ""


def _is_deep(block):
    """Whether JSON is nested too deep, at least up to its first error."""
    if b"[" not in block and block.count(b"{") <= block.count(b"}\n{") + 1:
        return False  # each object begins where the one before ends
    brackets = (
        block.replace(rb"\\", b"")
        .replace(rb"\"", b"")
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
    """Whether JSON has a null instead of an object."""
    if block.count(b"null") <= block.count(b": null") + block.count(b":null"):
        return False
    unescaped = block.replace(rb"\\", b"").replace(rb"\"", b"")
    return NULL_ROW.search(STRING.sub(b"", unescaped)) is not None


def _is_short(block):
    """Whether a block should have more rows."""
    return len(block) < MAX_BLOCK_BYTES and all(
        len(block.split(end, MIN_BLOCK_ROWS)) <= MIN_BLOCK_ROWS
        for end in (b"\n", b"\r")
    )


def _is_float(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_even(data, end):
    """Whether the number of quotes up to an end is even."""
    if data.find(b'"', 0, end) < 0:
        return True
    characters = np.frombuffer(data, dtype=np.uint8, count=end)
    return np.count_nonzero(characters == ord('"')) % 2 == 0


def _pattern_of_rows(delimiter):
    """Regular expression of a row, with the end of its line.

    Quotes count as such at the beginning of a value only.
    """
    d = re.escape(delimiter.encode())
    quoted = rb'"[^"]*+(?:""[^"]*+)*+"[^%b\r\n]*+' % d
    value = rb'(?:%b|(?!")[^%b\r\n]*+)' % (quoted, d)
    return re.compile(rb"%b(?:%b%b)*+(?:\r\n|\n|\r)" % (value, d, value))
