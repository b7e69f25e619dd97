"""Files: how to find them, tell their format and open them."""

import codecs
import glob
import lzma
import os
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path

from .errors import ReadError

__all__ = [
    "FORMATS",
    "check_encoding",
    "delimiter_of",
    "find_files",
    "format_of",
    "open_text",
]

#: Endings of the names of files of each format.
FORMATS = {
    "csv": (".csv", ".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".arrows", ".feather", ".ipc"),
    "json": (".jsonl", ".ndjson", ".json"),
    "libsvm": (".svm", ".libsvm", ".svmlight"),
}
FORMAT_OF_ENDING = {end: name for name, ends in FORMATS.items() for end in ends}

#: Compressions of text by the last ending.
COMPRESSIONS = {
    ".gz": "gzip",
    ".bz2": "bz2",
    ".xz": "xz",
    ".zst": "zstd",
    ".lz4": "lz4",
}

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
        return _files_in(Path(name))
    if not os.path.exists(name) and glob.has_magic(name):
        files = sorted(filter(os.path.isfile, glob.glob(name, recursive=True)))
        if not files:
            raise FileNotFoundError(f"There is no file that matches {name}.")
        return [Path(file) for file in files]
    if not os.path.exists(name):
        raise FileNotFoundError(f"There is no file {name}.")
    return [Path(name)]


def _files_in(folder):
    """Find the files of a folder, except names that start with "." or "_"."""
    try:
        files = sorted(
            file
            for file in folder.iterdir()
            if file.is_file() and not file.name.startswith((".", "_"))
        )
    except PermissionError:
        raise PermissionError(f"{folder} cannot be read: permission denied.") from None
    if not files:
        raise FileNotFoundError(f"There are no files in the folder {folder}.")
    return files


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
        if compression == "xz":
            stream = opened.enter_context(lzma.open(stream))
        elif compression is not None:
            stream = opened.enter_context(pa.CompressedInputStream(stream, compression))
        if codecs.lookup(encoding) not in map(codecs.lookup, UTF8):
            stream = codecs.EncodedFile(stream, "utf-8", encoding)
        yield stream


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
