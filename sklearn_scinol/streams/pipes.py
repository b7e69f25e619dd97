"""Pipes: files whose bytes come once, while another program writes them."""

from itertools import tee
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from types import SimpleNamespace

#: Seconds that bytes wait for others before their rows are used.
MAX_WAIT = 1.0

#: Bytes read at once, and how many times a thread reads ahead.
PIECE_BYTES, N_AHEAD = 2**16, 16


class Pipe:
    """Path of a pipe, which can be opened several times, each time from its beginning.

    It has a `path` among files, and a `name` in messages. The `file` is not closed. If
    `is_last`, it is opened only once more: bytes that were read are forgotten.
    """

    #: Folders that it is in.
    parents = ()

    def __init__(self, path, name, file):
        self.path, self.name, self.is_last = path, name, False
        self._pieces = _pieces(file)

    def __fspath__(self):
        return self.path

    def __str__(self):
        return self.name

    def open(self):
        """Return a stream: `read` gives some bytes, b"" at the end, None at a pause."""
        self._pieces, pieces = tee(self._pieces)
        if self.is_last:
            self._pieces = iter(())
        return SimpleNamespace(read=lambda size: next(pieces, b""))


def _pieces(file):
    """Yield the bytes of a file, and None if others do not come in time."""
    pieces, deadline = Queue(N_AHEAD), None
    # It ends with the process, even while it waits for bytes.
    Thread(target=_receive, args=(file, pieces), daemon=True).start()
    while True:
        wait = MAX_WAIT if deadline is None else max(0.0, deadline - monotonic())
        try:
            piece = pieces.get(timeout=wait)
        except Empty:
            piece = deadline = None
        else:
            deadline = deadline or monotonic() + MAX_WAIT
        if isinstance(piece, Exception):
            raise piece
        if piece == b"":
            return
        yield piece


def _receive(file, pieces):
    """Put the bytes of a file into a queue, b"" at its end, or an error."""
    try:
        while piece := file.read(PIECE_BYTES):
            pieces.put(piece)
        pieces.put(b"")
    except Exception as error:
        pieces.put(error)
