"""What is wrong with files, each in one sentence."""

from contextlib import contextmanager
from lzma import LZMAError
from os import PathLike

__all__ = ["ReadError", "one_line", "quote", "read_errors", "refused"]

#: No message quotes more of a file than so many characters.
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
        Number of the row, if there is one to blame: of the rows of data in the file,
        counted from 1. The header and empty lines are not counted.
    """

    def __init__(
        self, message: str, path: str | PathLike[str], row: int | None = None
    ) -> None:
        super().__init__(message)
        self.path = str(path)
        self.row = row

    def __reduce__(self):
        return type(self), (*self.args, self.path, self.row)


def refused():
    """The exceptions of pyarrow, and of others that read for it, about what is read."""
    import pyarrow as pa

    return (
        pa.ArrowException,
        EOFError,
        LZMAError,
        MemoryError,
        NotImplementedError,
        OSError,
        OverflowError,
        ValueError,
    )


@contextmanager
def read_errors(path, encoding="utf-8"):
    """Say in one sentence what goes wrong with a file in the block."""
    try:
        yield
    except ReadError:
        raise
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: permission denied.") from None
    except UnicodeError:
        raise ReadError(
            f"{path} is not text in {encoding}: pass encoding=, such as 'latin-1'.",
            path,
        ) from None
    except refused() as error:
        raise ReadError(f"{path} cannot be read: {one_line(error)}.", path) from error


def one_line(error):
    """The words of an error, without the full stop."""
    words = " ".join(str(error).split()).rstrip(".")
    return quote(words) or type(error).__name__


def quote(text):
    """The beginning of a text, if it is long."""
    return text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}…"
