"""Files as streams of rows, of any size, in chunks to learn from."""

from .errors import ReadError
from .reading import TableStream, read_table
from .rows import BadRow

__all__ = ["BadRow", "ReadError", "TableStream", "read_table"]
