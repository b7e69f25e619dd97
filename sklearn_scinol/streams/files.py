"""Files: how to find them, tell their format and open them."""

import codecs
import glob
import lzma
import os
import re
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain, takewhile
from pathlib import Path
from urllib.parse import unquote

from .arrow import pa
from .columns import UnfitError, convert
from .errors import ReadError, read_errors
from .pipes import Pipe

#: Endings of the names of files of each format.
FORMATS = {
    "csv": (".csv", ".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".arrows", ".feather", ".ipc"),
    "json": (".jsonl", ".ndjson", ".json"),
    "libsvm": (".svm", ".libsvm", ".svmlight"),
}
FORMAT_OF_ENDING = {end: name for name, ends in FORMATS.items() for end in ends}

#: Endings of compressed text.
COMPRESSIONS = ".gz", ".bz2", ".xz", ".zst", ".lz4"

#: Handler that turns what an encoding does not have into what UTF-8 does not have.
INVALID = "sklearn_scinol.invalid"

#: Name of the folder for missing values of a key.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

#: Encodings that need no conversion.
UTF8 = "ascii", "utf-8", "utf-8-sig"


def find_files(path):
    """Find the files of a path, a folder, a pattern, or a list of these."""
    if isinstance(path, (list, tuple)):
        files = list(chain.from_iterable(map(find_files, path)))
        if not files:
            raise ValueError("The list of files is empty.")
        return files
    if isinstance(path, Pipe):
        return [path]
    name = os.fspath(path)
    if os.path.isdir(name):
        files = _files_in(Path(name))
        missing = f"There are no files in the folder {name}."
    elif os.path.exists(name):  # it may look like a pattern
        if not os.path.isfile(name):
            raise ReadError(
                f"{name} is a pipe or a device, which is read once: write its rows to "
                "a file, or pass them to the command line on standard input (-).",
                name,
            )
        return [Path(name)]
    else:
        files = filter(Path.is_file, map(Path, glob.glob(name, recursive=True)))
        pattern = "that matches " if glob.has_magic(name) else ""
        missing = f"There is no file {pattern}{name}."
    files = sorted(files, key=_natural_order)
    if not files:
        raise FileNotFoundError(missing)
    return files


def _files_in(folder):
    """Yield the files of a folder and of folders key=value in it."""
    with read_errors(folder):
        for file in folder.iterdir():
            if file.name.startswith((".", "_")):
                continue
            if file.is_file():
                yield file
            elif "=" in file.name:
                yield from _files_in(file)


def _natural_order(file):
    """Return a key for sorting in which 2 comes before 10."""
    padded = [re.sub("[0-9]+", lambda n: n[0].zfill(30), part) for part in file.parts]
    return padded, file


def folder_keys(files):
    """Return a table of the folders name=value right above each file, a row a file."""
    rows = []
    for file in files:
        folders = takewhile(lambda folder: "=" in folder.name, file.parents)
        pairs = [folder.name.split("=", 1) for folder in folders][::-1]
        rows.append(
            {unquote(k): None if v == NO_VALUE else unquote(v) for k, v in pairs}
        )
        if rows[-1].keys() != rows[0].keys():
            message = f"{file} is in folders with other names than {files[0]}."
            raise ReadError(message, file)
    table = pa.Table.from_pylist(rows)
    for i, name in enumerate(table.column_names):
        with suppress(UnfitError):  # as pyarrow infers them
            table = table.set_column(i, name, convert(table[i], pa.int32(), False))
    return table


def format_of(files, file_format):
    """Return the format of all files."""
    known = ("auto", *FORMATS)
    if file_format not in known:
        raise ValueError(f"file_format must be one of {known}, got {file_format!r}.")
    if file_format != "auto":
        return file_format
    formats = {}
    for file in files:
        ending = _endings(file)[0]
        if ending not in FORMAT_OF_ENDING:
            if isinstance(file, Pipe):
                continue
            raise ReadError(
                f"The name of {file} does not tell its format: pass file_format=, one "
                f"of {tuple(FORMATS)}.",
                file,
            )
        formats.setdefault(FORMAT_OF_ENDING[ending], file)
    if not formats:
        return "csv"
    (one, first), *others = formats.items()
    for other, another in others:
        raise ReadError(
            f"All files must have one format, but {first} is {one} and {another} is "
            f"{other}.",
            another,
        )
    return one


def delimiter_of(file):
    """Return the delimiter of a CSV file, by its name."""
    return "\t" if _endings(file)[0] in (".tsv", ".tab") else ","


def _endings(file):
    """Return the endings of a name for format and compression, in lower case."""
    suffixes = ["", *(suffix.lower() for suffix in Path(file).suffixes)]
    compression = suffixes.pop() if suffixes[-1] in COMPRESSIONS else ""
    return suffixes[-1], compression


@contextmanager
def open_text(file, encoding="utf-8"):
    """Open the bytes of a text file, decompressed and in UTF-8."""
    compression = _endings(file)[1]
    with ExitStack() as opened:
        if isinstance(file, Pipe):
            stream, compression = file.open(), ""
        else:
            stream = opened.enter_context(open(file, "rb", buffering=0))
        if compression == ".xz":
            stream = opened.enter_context(lzma.open(stream))
        elif compression:
            codec = pa.Codec.detect(compression).name
            stream = opened.enter_context(pa.CompressedInputStream(stream, codec))
        if codecs.lookup(encoding) not in map(codecs.lookup, UTF8):
            stream = _Recoded(stream, encoding)
        yield stream


class _Recoded:
    """Stream in UTF-8 of one in another encoding."""

    def __init__(self, stream, encoding):
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(INVALID)

    def read(self, size):
        if (data := self._stream.read(size)) is None:  # at a pause of a pipe
            return None
        text = self._decoder.decode(data, final=not data)
        return text.encode(errors=INVALID) or (None if data else b"")


def _invalid(error):
    is_read = isinstance(error, UnicodeDecodeError)
    return "\udcff" if is_read else b"\xff", error.end


codecs.register_error(INVALID, _invalid)


def check_encoding(encoding):
    """Return the name of a text encoding, or raise an error."""
    try:
        "text".encode(encoding)  # which only text encodings can
    except (LookupError, ValueError):
        raise ValueError(
            f"encoding={encoding!r} is not a text encoding, such as 'utf-8' or "
            "'latin-1'."
        ) from None
    return encoding
