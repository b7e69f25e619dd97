"""Arrays of strings, stored as bytes and offsets."""

import numpy as np


class Strings:
    """An array of strings: their bytes in UTF-8, one after the other, as uint8.

    The `offsets`, int64, are where each begins, and where the last one ends.
    """

    def __init__(self, data, offsets):
        self.data, self.offsets = data, offsets

    @classmethod
    def encode(cls, texts):
        """Make an array of strings of Python, which may have lone surrogates."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        offsets = offsets_of([len(text) for text in encoded])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, i):
        data = self.data[self.offsets[i] : self.offsets[i + 1]]
        return data.tobytes().decode("utf-8", "replace")

    def invariants(self):
        """Yield what holds between two calls."""
        yield "data are bytes", self.data.dtype == np.uint8 and self.data.ndim == 1
        yield "offsets are integers", self.offsets.dtype == np.int64
        yield "offsets have one dimension", self.offsets.ndim == 1
        ends = np.concatenate([[0], self.offsets, self.data.shape])
        yield "offsets are in order", np.diff(ends) >= 0

    def take(self, places):
        """Return the strings at some places."""
        starts, sizes = self.offsets[places], np.diff(self.offsets)[places]
        offsets = offsets_of(sizes)
        moves = np.repeat(starts - offsets[:-1], sizes)
        return Strings(self.data[np.arange(offsets[-1]) + moves], offsets)

    @classmethod
    def concatenate(cls, parts):
        """Return the strings of several arrays, one after the other."""
        sizes = [np.diff(part.offsets) for part in parts]
        data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
        return cls(np.concatenate(data), offsets_of(np.concatenate(sizes)))

    @classmethod
    def join(cls, pieces):
        """Join arrays of strings, or a string that all have, string by string."""
        n = max(len(piece) for piece in pieces if isinstance(piece, Strings))
        pieces = [
            Strings.encode([piece]).take([0] * n) if isinstance(piece, str) else piece
            for piece in pieces
        ]
        order = np.arange(n * len(pieces)).reshape(len(pieces), n).T.ravel()
        ordered = Strings.concatenate(pieces).take(order)
        return cls(ordered.data, ordered.offsets[:: len(pieces)])


def offsets_of(sizes):
    """Return where each of consecutive pieces begins, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def unique(names, columns, own):
    """Number names that come twice or are in `columns`, but at the places `own`."""
    taken, own = {*columns}, {*own}
    for place, name in enumerate(names):
        number = 1
        while place not in own and names[place] in taken:
            number += 1
            names[place] = f"{name}_{number}"
        taken.add(names[place])
    return names
