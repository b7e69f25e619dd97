"""Files: how to find them, tell their format and open them."""

import bz2
import codecs
import glob
import gzip
import lzma
import os
import re
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from urllib.parse import unquote

from .errors import DamageError, ReadError, one_line, parse_errors

#: Endings of the names of files of each format.
FORMATS = {
    "csv": (".csv", ".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".arrows", ".feather", ".ipc"),
    "json": (".jsonl", ".ndjson", ".json"),
    "libsvm": (".svm", ".libsvm", ".svmlight"),
}
FORMAT_OF_ENDING = {end: name for name, ends in FORMATS.items() for end in ends}

#: Compressions of text by the last ending: functions, which also read what is left of
#: a damaged file, or names of pyarrow.
COMPRESSIONS = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": "zstd",
    ".lz4": "lz4",
}

#: Bytes that pyarrow decompresses at once. An error loses as many good ones.
SMALL_BYTES = 2**12

#: Handler that turns what an encoding does not have into what UTF-8 does not have.
INVALID = "sklearn_scinol.invalid"

#: Name of the folder for missing values of a key.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

#: Encodings that need no conversion.
UTF8 = "ascii", "utf-8", "utf-8-sig"

TABS = ".tsv", ".tab"


def find_files(path):
    """Find the files of a path, a folder, a pattern, or a list of these."""
    if isinstance(path, (list, tuple)):
        files = list(chain.from_iterable(map(find_files, path)))
        if not files:
            raise ValueError("The list of files is empty.")
        return files
    name = os.fspath(path)
    if os.path.isdir(name):
        files = list(_files_in(Path(name)))
        if not files:
            raise FileNotFoundError(f"There are no files in the folder {name}.")
    elif not os.path.exists(name) and glob.has_magic(name):
        files = map(Path, glob.glob(name, recursive=True))
        files = list(filter(Path.is_file, files))
        if not files:
            raise FileNotFoundError(f"There is no file that matches {name}.")
    elif not os.path.exists(name):
        raise FileNotFoundError(f"There is no file {name}.")
    else:
        files = [Path(name)]
    return sorted(files, key=_natural_order)


def _files_in(folder):
    """Yield the files of a folder and of folders key=value in it."""
    try:
        for file in folder.iterdir():
            if file.name.startswith((".", "_")):
                continue
            if file.is_file():
                yield file
            elif "=" in file.name:
                yield from _files_in(file)
    except PermissionError:
        raise PermissionError(f"{folder} cannot be read: permission denied.") from None


def _natural_order(file):
    """Return a key for sorting in which 2 comes before 10."""
    parts = [re.split("([0-9]+)", part) for part in file.parts]
    for part in parts:  # texts and numbers in turn
        part[1::2] = map(int, part[1::2])
    return parts, file


def folder_keys(files):
    """Return names and values of the folders name=value right above each file.

    Values are integers of 32 bits if all of a name are, as pyarrow infers them.
    """
    import pyarrow as pa

    keys = []
    for file in files:
        folders = takewhile(lambda folder: "=" in folder.name, file.parents)
        pairs = [map(unquote, folder.name.split("=", 1)) for folder in folders]
        keys.append(dict(reversed([*map(tuple, pairs)])))
        if keys[-1].keys() != keys[0].keys():
            message = f"{file} is in folders with other names than {files[0]}."
            raise ReadError(message, file)
    for name in keys[0]:
        texts = [own[name] if own[name] != NO_VALUE else None for own in keys]
        values = pa.array(texts, pa.string())
        if not any("x" in (text or "").lower() for text in texts):  # as in 0x10
            with suppress(pa.ArrowInvalid):
                values = values.cast(pa.int32())
        for own, value in zip(keys, values, strict=True):
            own[name] = value
    return keys


def format_of(files, file_format):
    """Return the format of all files."""
    if file_format != "auto":
        if file_format not in FORMATS:
            known = ("auto", *FORMATS)
            raise ValueError(
                f"file_format must be one of {known}, got {file_format!r}."
            )
        return file_format
    formats = {}
    for file in files:
        ending = _endings(file)[0]
        if ending not in FORMAT_OF_ENDING:
            raise ReadError(
                f"The name of {file} does not tell its format: pass file_format=, one "
                f"of {tuple(FORMATS)}.",
                file,
            )
        formats.setdefault(FORMAT_OF_ENDING[ending], file)
    if len(formats) > 1:
        (one, file), (other, another) = list(formats.items())[:2]
        raise ReadError(
            f"All files must have one format, but {file} is {one} and {another} is "
            f"{other}.",
            another,
        )
    (file_format,) = formats
    return file_format


def delimiter_of(file):
    """Return the delimiter of a CSV file, by its name."""
    return "\t" if _endings(file)[0] in TABS else ","


def _endings(file):
    """Return the endings of a name for format and compression, in lower case."""
    suffixes = ["", *(suffix.lower() for suffix in Path(file).suffixes)]
    compression = suffixes.pop() if suffixes[-1] in COMPRESSIONS else ""
    return suffixes[-1], compression


@contextmanager
def open_text(file, encoding="utf-8"):
    """Open the bytes of a text file, decompressed and in UTF-8."""
    import pyarrow as pa

    compression = COMPRESSIONS.get(_endings(file)[1])
    with ExitStack() as opened:
        stream = opened.enter_context(open(file, "rb", buffering=0))
        if isinstance(compression, str):
            stream = opened.enter_context(pa.CompressedInputStream(stream, compression))
            stream = _Whole(partial(stream.read, SMALL_BYTES))
        elif compression is not None:
            stream = _Whole(opened.enter_context(compression(stream)).read1)
        if codecs.lookup(encoding) not in map(codecs.lookup, UTF8):
            stream = codecs.EncodedFile(stream, "utf-8", encoding, INVALID)
        yield stream


class _Whole:
    """Reads as much as is wanted, or all up to damage, which the next call raises."""

    def __init__(self, read):
        self._read, self._error = read, None

    def read(self, size):
        data = b""
        while len(data) < size and self._error is None:
            try:
                data += (part := self._read())
            except parse_errors() as error:
                self._error = DamageError(one_line(error))
            else:
                if not part:
                    break
        if self._error is not None and not data:
            raise self._error
        return data


def _invalid(error):
    if isinstance(error, UnicodeDecodeError):
        return "\udcff", error.end
    return b"\xff" * (error.end - error.start), error.end


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
