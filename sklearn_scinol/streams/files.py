"""Which files are meant, which format they have, and how they are opened."""

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

#: Formats by the endings of names.
ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
}

FORMATS = tuple(dict.fromkeys(ENDINGS.values()))

#: How text can be compressed, by the last ending.
COMPRESSIONS = {
    ".gz": "gzip",
    ".bz2": "bz2",
    ".xz": "xz",
    ".zst": "zstd",
    ".lz4": "lz4",
}

#: Encodings that need no change.
UTF8 = "ascii", "utf-8", "utf-8-sig"

TABS = ".tsv", ".tab"


def find_files(path):
    """The files of a path, a folder, a pattern, or a list of such."""
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
    """The files of a folder, but for hidden ones and those that start with "_"."""
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
    """The format that all files have."""
    if file_format != "auto":
        if file_format not in FORMATS:
            raise ValueError(
                f"file_format must be one of {('auto', *FORMATS)}, got {file_format!r}."
            )
        return file_format
    formats = {}
    for file in files:
        ending = _endings(file)[0]
        if ending not in ENDINGS:
            raise ReadError(
                f"The name of {file} does not tell its format: pass file_format=, one "
                f"of {FORMATS}.",
                file,
            )
        formats.setdefault(ENDINGS[ending], file)
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
    """What stands between the values, going by the name of the file."""
    return "\t" if _endings(file)[0] in TABS else ","


def _endings(file):
    """Endings of a name in small letters: that of the format, of the compression."""
    suffixes = [suffix.lower() for suffix in Path(file).suffixes]
    compression = (
        suffixes.pop() if suffixes[-1:] and suffixes[-1] in COMPRESSIONS else ""
    )
    return (suffixes[-1] if suffixes else ""), compression


@contextmanager
def open_text(file, encoding="utf-8"):
    """The bytes of a text file, decompressed and in UTF-8."""
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
    """Return the name of an encoding if there is one of text by that name."""
    try:
        "text".encode(encoding)  # others than those of text cannot be used so
    except (LookupError, ValueError):
        raise ValueError(
            f"encoding={encoding!r} is no encoding of text, as 'utf-8' and 'latin-1' "
            "are."
        ) from None
    return encoding
