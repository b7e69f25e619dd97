"""Where the columns of rows that several models learned lie in rows of one layout."""

import numpy as np
from scipy import sparse

__all__ = ["Moves", "Placement"]


class Placement:
    """Where the columns of one model's rows lie among those of a merged one's.

    Parameters
    ----------
    shares : CSR array of shape (n_merged, n_columns)
        Of which columns each merged one is. Most often it is one column, perhaps at
        another place, or none. It can be several: of what is kept for each, it then has
        the mean over those that were seen, by their shares.
    forward : CSR array of shape (n_merged, n_columns)
        What part of each column's values goes to which merged one.
    """

    def __init__(self, shares, forward):
        self.shares, self.forward = shares, forward

    @classmethod
    def unmoved(cls, n_columns):
        """That of columns that stay where they are."""
        stay = sparse.eye_array(n_columns, format="csr")
        return cls(stay, stay)

    @property
    def n_columns(self):
        """How many columns the merged model has."""
        return self.shares.shape[0]

    def take(self, columns):
        """The same for some of the merged columns, which then are all there are."""
        return Placement(self.shares[columns], self.forward[columns])

    def reversed(self):
        """The way back, where no column is of several."""
        return Placement(self.shares.T.tocsr(), self.forward.T.tocsr())

    def reaches(self, is_seen):
        """Which merged columns are of one of the columns that rows had."""
        return self.shares @ is_seen > 0.0

    def of(self, values, is_seen, initial=0.0):
        """What is kept for each column, as the merged ones have it.

        Parameters
        ----------
        values : ndarray of shape (..., n_columns)
        is_seen : ndarray of bool of shape (n_columns,)
            Which columns some row had.
        initial : float or ndarray
            What is kept for a column that no row had, for each of the others axes.

        Returns
        -------
        values : ndarray of shape (..., n_merged)
        """
        shares = self.shares.copy()
        shares.data *= is_seen[shares.indices]
        sums = shares.sum(axis=1)
        # Along the first axis, which is how the state of sparse rows is in memory.
        placed = shares @ values.T.reshape(values.shape[-1], -1)
        placed /= np.where(sums > 0.0, sums, 1.0)[:, np.newaxis]
        placed = placed.reshape(self.n_columns, *values.shape[-2::-1])
        placed = placed.astype(values.dtype)
        placed[sums == 0.0] = np.broadcast_to(initial, (*values.shape[:-1], 1)).T
        return placed.T

    def rows(self, X):
        """Rows as they would be in the merged columns: an ndarray or a CSR array."""
        placed = X @ self.forward.T
        return placed.tocsr() if sparse.issparse(placed) else placed


class Moves:
    """What becomes of columns, noted a few at a time; at first all stay as they are.

    Parameters
    ----------
    n_columns : int

    Attributes
    ----------
    source : ndarray of int of shape (n_columns,)
        For each merged column the one that it was, or -1.
    place : ndarray of int of shape (n_columns,)
        For each of the model's columns the one that its values are in now, or -1.
    """

    def __init__(self, n_columns):
        self.source, self.place = np.arange(n_columns), np.arange(n_columns)
        self._more = []

    def block(self, start, source, place):
        """Let columns from one on be others of them, by their numbers in the block."""
        columns = slice(start, start + len(source))
        self.source[columns] = np.where(source < 0, -1, start + source)
        self.place[columns] = np.where(place < 0, -1, start + place)

    def join(self, columns, sources, shares):
        """Let columns be of some more, of which they have these shares."""
        if columns.size:
            self._more.append((columns, sources, shares))

    def placement(self):
        """All of it; None if all columns stay where they are."""
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
