"""CSV, LIBSVM, and the base of formats whose rows are lines of text.

Files are read in blocks of whole rows, which threads parse one by one. That is faster
than pyarrow's readers of whole files, takes little memory, and lets a block with a bad
row be parsed row by row.
"""

import os
import re
from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager
from functools import partial
from io import BytesIO, FileIO
from itertools import chain, islice

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from .ahead import map_ahead, open_bytes
from .arrow import csv, pa
from .columns import UnfitError, describe_type, large_columns, type_for, type_option
from .errors import ReadError, not_text, one_line, parse_errors, read_errors
from .files import check_encoding, delimiter_of, open_text
from .rows import (
    Fault,
    Part,
    SparseRows,
    Tables,
    parse_by_halves,
    parts_after,
    split_faults,
)

#: Bytes parsed at once. Smaller blocks take longer, and so do larger ones, which do not
#: stay in the processor's cache.
BLOCK_BYTES = 2**20

#: Maximum number of blocks without a good row, in search of the types of columns.
MAX_BLOCKS_WITHOUT_ROWS = 8

#: Rows of a block of wide rows, up to a number of bytes: each column of a block takes
#: as long as a hundred values.
MIN_BLOCK_ROWS = 100
MAX_BLOCK_BYTES = 2**25

#: Maximum number of bytes of a row.
MAX_ROW_LENGTH = 2**26

#: Maximum number of bytes of a value in quotes that has several lines.
MAX_QUOTED = 2**20

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: Beginnings of files of gzip, bzip2, xz, Zstandard, LZ4 and ZIP.
COMPRESSED = b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd", b'\x04"M\x18', b"PK\3\4"

ENCODING = "encoding=, such as 'latin-1'"

ANY_LINE = re.compile(rb"[^\r\n]*+(?:\r\n|\n|\r)")


class TextFormat(ABC):
    """Reads text files of a format."""

    def __init__(self, files, *, encoding=None):
        self.files = files
        self.large = set()
        self.encoding = "utf-8" if encoding is None else check_encoding(encoding)

    # Parts of a format.

    def start(self, file, block):
        """Return names of columns, if needed, and the first block without a header."""
        return None, block

    @abstractmethod
    def parse(self, names, block):
        """Parse the rows of a block."""

    @abstractmethod
    def explain(self, names, error):
        """Return a reason that continues "Row 1 of a file", and a remedy."""

    def name_value(self, reason, text):
        """Return a reason with the value of the row that is wrong, if it lacks it."""
        return reason

    @abstractmethod
    def check(self, rows, file):
        """Return the rows with valid values, and faults of the others."""

    def end_of_rows(self, data):
        """Return where the last complete row ends; 0 if there is none."""
        # A return at the very end may be half of a line's end.
        return data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, -1) + 1

    def rows_in(self, block):
        """Split a block into rows, each with the end of its line."""
        return [line for line in bytes(block).splitlines(True) if not line.isspace()]

    # Reading.

    def read(self, file, n_threads, only_first_bad, byte=0, skip=0):
        """Yield a :class:`Part` for each block of a file, after some rows from a byte.

        If `only_first_bad`, the part with a bad row ends with it, and is the last.
        """
        only_first_bad = only_first_bad and not skip  # which may be of bad rows
        with self.open_blocks(file, byte) as (names, blocks):
            part = partial(self._part, file, names, only_first_bad)
            yield from parts_after(skip, map_ahead(part, blocks, n_threads))

    @contextmanager
    def open_blocks(self, file, byte=0):
        """Open a file: names of its columns, and an iterator over its blocks.

        Blocks are pairs: where it begins, at the given byte or after it, and the bytes.
        """
        with read_errors(file, self.encoding), ExitStack() as opened:
            blocks = self.blocks(opened.enter_context(open_text(file, self.encoding)))
            first = bytes(next(filter(len, blocks), b""))
            n_bytes = len(first)
            first = first.removeprefix(BYTE_ORDER_MARK)
            if not first or first.isspace():
                raise ReadError(f"{file} is empty.", file)
            if first.startswith(COMPRESSED):
                raise ReadError(
                    f"{file} is compressed: decompress it, or give the file a name "
                    "that tells, such as rows.csv.gz.",
                    file,
                )
            if b"\0" in first.partition(b"\n")[0]:
                raise not_text(file, self.encoding, "utf-16")
            names, first = self.start(file, first)
            start = n_bytes - len(first)
            if byte:
                stream = opened.enter_context(open_text(file, self.encoding))
                start, first, blocks = byte, b"", self.blocks(stream, byte)
            yield names, _with_starts(chain(filter(len, [first]), blocks), start)

    def blocks(self, stream, byte=0):
        """Cut text into blocks of whole rows, from a byte on, where a row begins.

        A block without rows stands for a pause of a pipe.
        """
        data, size = _skip(stream, byte), BLOCK_BYTES
        while True:
            new = stream.read(max(size - len(data), BLOCK_BYTES))
            data += new or b""
            if new and len(data) < size:
                continue
            if new and _is_short(data):
                size = 2 * len(data)
                continue
            if data and new == b"" and not data.endswith(b"\n"):
                data += b"\n"
            end = self.end_of_rows(data)
            if not end and (new == b"" or len(data) > MAX_QUOTED):
                end = data.find(b"\n") + 1  # a quote is never closed
            if end:
                yield memoryview(data)[:end]
                data = data[end:]
            elif len(data) > MAX_ROW_LENGTH:
                raise ValueError(f"it has a row of more than {MAX_ROW_LENGTH} bytes")
            if new is None:
                yield b""
            elif not (new or data):
                return

    def _part(self, file, names, only_first_bad, start_and_block):
        """Parse a block, and find the bad rows."""
        byte, block = start_and_block
        if not len(block):
            return Part([], [], is_pause=True)
        try:
            parts = [(0, self.parse(names, block), None)]
        except parse_errors():
            parts = parse_by_halves(partial(self.parse, names), self.rows_in(block))
        part = split_faults(
            parts,
            lambda rows: self.check(rows, file),
            partial(self.explain, names),
            only_first_bad,
        )
        lines = self.rows_in(block) if part.faults else []
        for i, fault in enumerate(part.faults):
            text = lines[fault.row].decode(errors="backslashreplace").rstrip("\r\n")
            reason = self.name_value(fault.reason, text)
            part.faults[i] = fault._replace(reason=reason, text=text)
        return part._replace(byte=byte)


class CSV(Tables, TextFormat):
    """Values with a delimiter, below a header with the names of columns."""

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
        delimiter = delimiter_of(files[0]) if delimiter is None else delimiter
        if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
            raise ValueError(f"delimiter must be one character, got {delimiter!r}.")
        self.parsing = csv.ParseOptions(delimiter=delimiter)
        self.row = _pattern_of_rows(delimiter)
        self.column_names = None if column_names is None else list(column_names)
        self.names = {}  # of the columns of each file
        if isinstance(null_values, str):
            raise TypeError(f"null_values must be a list, got {null_values!r}.")
        self.null_values = null_values

    def infer_schema(self):
        """Return names and types of the columns, from the first good rows."""
        with self.open_blocks(self.files[0]) as (names, blocks):
            options = self._convert_options(include_columns=[*dict.fromkeys(names)])
            with_rows = filter(len, (block for _, block in blocks))
            some = islice(with_rows, MAX_BLOCKS_WITHOUT_ROWS)
            for block in chain(some, [b"\n"]):
                try:
                    table = self._read(names, options, block)
                except parse_errors():
                    block = self._without_bad_rows(names, block)
                    table = self._read(names, options, block)
                if table.num_rows:
                    break
            self.large = large_columns(table)
            return dict(zip(table.column_names, table.schema.types, strict=True))

    def _without_bad_rows(self, names, block):
        """Drop rows that have more or fewer values than there are columns."""
        lines, good = self.rows_in(block), []
        # pyarrow's `invalid_row_handler` cannot read rows that are not UTF-8.
        parse = partial(self._read, names, self._options_of_type(names, pa.binary()))
        for first, rows, _ in parse_by_halves(parse, lines):
            if rows is not None:
                good += lines[first : first + rows.num_rows]
        return b"".join(good) or b"\n"

    def open(self, **options):
        super().open(**options)
        schema = self.schema_in_file
        self.options = self._convert_options(
            include_columns=schema.names, column_types=schema
        )
        integers = [field.name for field in schema if pa.types.is_integer(field.type)]
        self.floats = self._options_of_type(integers, pa.float64())

    def start(self, file, block):
        names = self.column_names
        if names is None:
            names, block = self._header(file, block)
        self.check_names(file, names)
        self.names[str(file)] = names
        return names, block

    def _header(self, file, block):
        block = block.lstrip(b"\r\n")
        header = self.row.match(block)
        if header is None:
            raise ReadError(f"The header of {file} has a quote left open.", file)
        table = csv.read_csv(open_bytes(header[0]), parse_options=self.parsing)
        return table.column_names, block[header.end() :]

    def parse(self, names, block):
        if self.floats.column_types:
            text = bytes(block)  # in which a search for one letter is fast
            if any(x in text and b"0" + x in text for x in (b"x", b"X")):
                self._read(names, self.floats, block)  # refuses hexadecimal numbers
        table = self._read(names, self.options, block)

        def read_texts(columns):
            return self._read(names, self._options_of_type(columns, pa.string()), block)

        self.check_exact(table, read_texts)
        return table

    def _read(self, names, options, block):
        reading = csv.ReadOptions(
            column_names=names, use_threads=False, block_size=len(block) + 1
        )
        if not self.row.match(block):
            raise ValueError("a quote is never closed")
        return csv.read_csv(open_bytes(block), reading, self.parsing, options)

    def _convert_options(self, **keywords):
        if self.null_values is not None:
            keywords["null_values"] = ["", *self.null_values]
        return csv.ConvertOptions(
            strings_can_be_null=True, include_missing_columns=True, **keywords
        )

    def _options_of_type(self, columns, kind):
        """Return options to read some columns as one type."""
        types = dict.fromkeys(columns, kind)
        return self._convert_options(include_columns=columns, column_types=types)

    def explain(self, names, error):
        if isinstance(error, UnfitError):
            return error.explain()
        words, encoding = one_line(error), self.encoding.upper()
        if isinstance(error, UnicodeError):
            return f"has text that is not {encoding}", ENCODING
        if found := re.search(r"Expected (\d+) columns, got (\d+)", words):
            return f"has {found[2]} values, not {found[1]}", ""
        if found := re.match(r"In CSV column #(\d+): (.*)", words):
            name = names[int(found[1])]
            value = re.search("invalid value (.*)", found[2])
            if value is None and "UTF8" in words:
                return f"has text in column {name!r} that is not {encoding}", ENCODING
            value = "a value" if value is None else value[1]
            kind, text = self.schema.field(name).type, value.strip("'")
            wrong = f"is not {describe_type(kind)}"
            if text.lstrip("+-").isdecimal():  # it is too large
                wrong = f"does not fit the type {kind}"
            reason = f"has {value} in column {name!r}, which {wrong}"
            return reason, type_option(name, type_for(text))
        return f"cannot be read: {words}", ""

    def end_of_rows(self, data):
        end = super().end_of_rows(data)
        if self._is_closed(data, end):
            return end
        end = 0
        while row := self.row.match(data, end):
            end = row.end()
        return end

    def _is_closed(self, data, end):
        """Whether quotes come in pairs up to an end, and none stands for itself.

        The first of a pair begins a value, or follows the one before, as in "5"" pipe".
        """
        if data.find(b'"', 0, end) < 0:
            return True
        characters = np.frombuffer(data, np.uint8, end)
        quotes = np.flatnonzero(characters == ord('"'))
        before = characters[quotes[::2] - 1]  # the end of a line, before the beginning
        begins = np.isin(before, [*f'{self.parsing.delimiter}\r\n"'.encode()])
        return quotes.size % 2 == 0 and bool(begins.all())

    def rows_in(self, block):
        block, rows, end = bytes(block), [], 0
        while end < len(block):
            row = self.row.match(block, end) or ANY_LINE.match(block, end)
            rows.append(row[0])
            end = row.end()
        return [row for row in rows if row.strip(b"\r\n")]


class LIBSVM(TextFormat):
    """Lines of a target, then numbers and values of the features other than 0."""

    features = None

    def __init__(self, files, *, encoding=None, n_features=None, zero_based=None):
        super().__init__(files, encoding=encoding)
        self.zero_based = bool(zero_based)
        self.n_features = n_features
        if n_features is None:
            self.n_features = max(1, *map(self._n_features_in, files))

    def _n_features_in(self, file):
        """Find the largest number of a feature in a file."""
        parts = self.read(file, 0, False)
        return max((rows.X.shape[1] for part in parts for rows in part.rows), default=0)

    def parse(self, names, block):
        X, y = load_svmlight_file(
            BytesIO(block), n_features=self.n_features, zero_based=self.zero_based
        )
        return SparseRows(X, y)

    def rows_in(self, block):
        return [line for line in super().rows_in(block) if line.split(b"#")[0].strip()]

    def check(self, rows, file):
        X, y = rows
        finite = np.isfinite(y)
        if not np.isfinite(X.data).all():
            finite &= np.isfinite(abs(X).max(axis=1).toarray().ravel())
        if finite.all():
            return rows, []
        of_feature = "has a feature that is not finite"
        faults = [
            Fault(i, of_feature if np.isfinite(y[i]) else f"has the target {y[i]}")
            for i in np.flatnonzero(~finite).tolist()
        ]
        return SparseRows(X[finite], y[finite]), faults

    def join(self, parts):
        X, y = zip(*parts, strict=True)
        return sparse.vstack(X, format="csr"), np.concatenate(y)

    def explain(self, names, error):
        words = one_line(error)
        if words.startswith("Invalid index 0 "):
            return "has a feature 0", "zero_based=True"
        return f"cannot be read: {words}", ""


def _with_starts(blocks, start):
    """Yield where each of consecutive blocks begins, and the block."""
    for block in blocks:
        yield start, block
        start += len(block)


def _skip(stream, n):
    """Skip the first bytes of a stream; return what was read of those after them."""
    if isinstance(stream, FileIO) and n < os.fstat(stream.fileno()).st_size:
        stream.seek(n)
        return b""
    new = b""
    while n > 0:
        if not (new := stream.read(min(n, BLOCK_BYTES))):
            raise ValueError("it is shorter than when it was read before")
        n -= len(new)
    return new[len(new) + n :]


def _is_short(block):
    """Whether a block should get more rows."""
    n_lines = (len(block.split(end, MIN_BLOCK_ROWS)) for end in (b"\n", b"\r"))
    return len(block) < MAX_BLOCK_BYTES and max(n_lines) <= MIN_BLOCK_ROWS


def _pattern_of_rows(delimiter):
    """Compile a pattern of rows; quotes count at the beginning of a value only."""
    d = re.escape(delimiter.encode())
    quoted = rb'"[^"]*+(?:""[^"]*+)*+"[^%b\r\n]*+' % d
    value = rb'(?:%b|(?!")[^%b\r\n]*+)' % (quoted, d)
    return re.compile(rb"%b(?:%b%b)*+(?:\r\n|\n|\r)" % (value, d, value))
