"""The entries of rows, dense or sparse."""

from scipy import sparse

__all__ = ["of_entries"]


def of_entries(function, X):
    """Rows with other values.

    Parameters
    ----------
    function : callable
        Takes values and which features they are of, `...` for all features in turn.
        Zeros must stay zeros.
    X : ndarray or CSR array of shape (n, n_features)

    Returns
    -------
    Z : ndarray or CSR array of shape (n, n_features)
    """
    if not sparse.issparse(X):
        return function(X, ...)
    return type(X)((function(X.data, X.indices), X.indices, X.indptr), X.shape)
