"""Errors about files, in one sentence each."""

from contextlib import contextmanager
from lzma import LZMAError
from os import PathLike

from .arrow import pa

#: Maximum number of characters that a message quotes of a file.
MAX_QUOTE = 200


class ReadError(ValueError):
    """Raised when a file cannot be read as a table, or a row of it is bad.

    Parameters
    ----------
    message : str
        What is wrong.
    path : str or path-like
        The file.
    row : int, default=None
        Number of the bad row among the rows of data in the file, counted from 1. The
        header and empty lines are not counted.
    """

    def __init__(
        self, message: str, path: str | PathLike[str], row: int | None = None
    ) -> None:
        super().__init__(message)
        self.path = str(path)
        self.row = row

    def __reduce__(self):
        return type(self), (*self.args, self.path, self.row)


def parse_errors():
    """Return the exceptions that parsers raise for bad data."""
    others = EOFError, LZMAError, MemoryError, NotImplementedError, OverflowError
    return pa.ArrowException, OSError, ValueError, *others


@contextmanager
def read_errors(path, encoding="utf-8"):
    """Turn the errors of a block that reads a file into sentences."""
    try:
        yield
    except ReadError:
        raise
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: permission denied.") from None
    except UnicodeError:
        raise not_text(path, encoding, "latin-1") from None
    except parse_errors() as error:
        raise ReadError(f"{path} cannot be read: {one_line(error)}.", path) from error


def not_text(path, encoding, other):
    """Return an error about an encoding, which names another one."""
    message = f"{path} is not text in {encoding}: pass encoding=, such as {other!r}."
    return ReadError(message, path)


def one_line(error):
    """Return the message of an error without the full stop."""
    words = " ".join(str(error).split()).rstrip(".")
    return quote(words) or type(error).__name__


def quote(text):
    """Return the beginning of a long text."""
    return text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}…"


def with_article(noun):
    """Return a noun with "a" or "an"."""
    return f"an {noun}" if noun[0] in "aeio" else f"a {noun}"


def is_float(text):
    """Whether a text stands for a number: no underscores, and ASCII alone."""
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text
