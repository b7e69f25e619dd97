"""Places of the columns of several models among the columns of a merged model."""

import numpy as np
from scipy import sparse


class Placement:
    """Places of a model's columns among the columns of a merged model.

    Parameters
    ----------
    shares : CSR array of shape (n_merged, n_columns)
        Shares of columns in each merged one: most often a single column or none. The
        state of a merged column is the mean over columns that were seen, by share.
    forward : CSR array of shape (n_merged, n_columns)
        Shares of each column's values that go to each merged one.
    """

    def __init__(self, shares, forward):
        self.shares, self.forward = shares, forward

    @classmethod
    def identity(cls, n_columns):
        """Return the placement of columns that stay where they are."""
        stay = sparse.eye_array(n_columns, format="csr")
        return cls(stay, stay)

    @property
    def n_columns(self):
        """Number of columns of the merged model."""
        return self.shares.shape[0]

    def take(self, columns):
        """Return the placement in some of the merged columns."""
        return Placement(self.shares[columns], self.forward[columns])

    def reversed(self):
        """Return the inverse placement, of columns with one source each."""
        return Placement(self.shares.T.tocsr(), self.forward.T.tocsr())

    def place_mask(self, is_seen):
        """Mask of the merged columns that have a source which rows had."""
        return self.shares @ is_seen > 0.0

    def apply(self, values, is_seen, initial=0.0):
        """Return an array of the state, of shape (..., n_columns), in merged columns.

        `is_seen` is a mask of the columns that some row had; the others have the
        initial state, perhaps one for each of the other axes.
        """
        shares = self.shares.copy()
        shares.data *= is_seen[shares.indices]
        sums = shares.sum(axis=1)
        # Along the first axis: the state of sparse rows has this order in memory.
        placed = shares @ values.T.reshape(values.shape[-1], -1)
        placed /= np.where(sums > 0.0, sums, 1.0)[:, np.newaxis]
        placed = placed.reshape(self.n_columns, *values.shape[-2::-1])
        placed = placed.astype(values.dtype)
        placed[sums == 0.0] = np.broadcast_to(initial, (*values.shape[:-1], 1)).T
        return placed.T

    def rows(self, X):
        """Return rows in the merged columns: an ndarray or a CSR array."""
        placed = X @ self.forward.T
        return placed.tocsr() if sparse.issparse(placed) else placed


class Moves:
    """Moves of columns, collected for a placement.

    Attributes
    ----------
    source : ndarray of int of shape (n_columns,)
        The column that each merged one was, or -1.
    place : ndarray of int of shape (n_columns,)
        The merged column that the values of each column go to, or -1.
    """

    def __init__(self, n_columns):
        self.source, self.place = np.arange(n_columns), np.arange(n_columns)
        self._more = []

    def add_block(self, start, source, place):
        """Move columns of a block that begins at `start`, by their numbers in it."""
        columns = slice(start, start + len(source))
        self.source[columns] = np.where(source < 0, -1, start + source)
        self.place[columns] = np.where(place < 0, -1, start + place)

    def add(self, columns, sources, shares):
        """Add sources of columns, with their shares."""
        if columns.size:
            self._more.append((columns, sources, shares))

    def placement(self):
        """Return the :class:`Placement`; None if all columns stay where they are."""
        numbers = np.arange(self.source.size)
        if np.array_equal(self.source, numbers) and not self._more:
            return None
        kept, moved = self.source >= 0, self.place >= 0
        known = [(numbers[kept], self.source[kept], np.ones(kept.sum())), *self._more]
        columns, sources, shares = map(np.concatenate, zip(*known, strict=True))
        shape = numbers.size, numbers.size
        forward = np.ones(moved.sum()), (self.place[moved], numbers[moved])
        return Placement(
            sparse.csr_array((shares, (columns, sources)), shape),
            sparse.csr_array(forward, shape),
        )
