"""Rows of a table in two views: sparse rows, and dense ones beside them."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class TableRows(sparse.csr_array):
    """CSR array of the rows of a table, with a dense view of the same rows.

    Any learner of sparse rows takes it as the CSR array that it is. Mixtures have
    experts on the dense view as well.

    Parameters
    ----------
    arg : object
        As for a CSR array.
    dense_view : ndarray of shape (n_rows, n_dense_features), default=None
        The other view of the rows.
    **kwargs : dict
        As for a CSR array.
    """

    def __init__(
        self,
        arg: Any,
        *args: Any,
        dense_view: NDArray[np.float64] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(arg, *args, **kwargs)
        self.dense_view = dense_view

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        if isinstance(part, TableRows) and part.ndim == 2 and type(key) is not tuple:
            part.dense_view = _part(self.dense_view, key)
        return part

    def copy(self) -> Self:
        copied = super().copy()
        copied.dense_view = _part(self.dense_view, slice(None))
        return copied


def dense_view_of(X):
    """Return the dense view of rows, or None if they have none."""
    return X.dense_view if isinstance(X, TableRows) else None


def _part(dense_view, rows):
    return None if dense_view is None else dense_view[rows]
