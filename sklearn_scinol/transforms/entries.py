"""Entries of rows, dense or sparse."""

from scipy import sparse

__all__ = ["map_entries"]


def map_entries(function, X):
    """Replace the values of rows: an ndarray or a CSR array of the same shape.

    The function takes values and which features they are of, `...` for all features in
    turn. Zeros must stay zeros.
    """
    if not sparse.issparse(X):
        return function(X, ...)
    return type(X)((function(X.data, X.indices), X.indices, X.indptr), X.shape)
