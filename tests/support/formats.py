"""Rows of the same values in other containers, types and layouts."""

import numpy as np
from scipy import sparse


def read_only(array):
    array = array.copy(order="K")
    array.flags.writeable = False
    return array


def strided(X):
    """Rows between others that must not be read."""
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


DENSE = {
    "C-order": np.ascontiguousarray,
    "Fortran-order": np.asfortranarray,
    "float32": np.float32,
    "float32-Fortran-order": lambda X: np.asfortranarray(X, dtype=np.float32),
    "float16": np.float16,
    "longdouble": np.longdouble,
    "big-endian": lambda X: X.astype(">f8"),
    "int8": lambda X: X.astype(np.int8),
    "int64": lambda X: X.astype(np.int64),
    "object": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "tuple": lambda X: tuple(map(tuple, X.tolist())),
    "tuple-of-arrays": tuple,
    "read-only": read_only,
    "read-only-float32": lambda X: read_only(X.astype(np.float32)),
    "strided": strided,
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
}


def with_long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted(X):
    """The entries of each row in reversed order."""
    X = sparse.csr_array(X)
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:stop] = X.indices[start:stop][::-1].copy()
        X.data[start:stop] = X.data[start:stop][::-1].copy()
    X.has_sorted_indices = False
    return X


def with_duplicates(X):
    """Each entry as two, which sum to it."""
    X = sparse.csr_array(X)
    data = np.repeat(X.data, 2)
    data[::2] -= 7
    data[1::2] = 7
    indices = np.repeat(X.indices, 2)
    return sparse.csr_array((data, indices, 2 * X.indptr), shape=X.shape)


def with_explicit_zeros(X):
    n, d = X.shape
    at = np.tile(np.arange(d), n)
    return sparse.csr_array((X.ravel(), at, np.arange(n + 1) * d), shape=(n, d))


def read_only_csr(X):
    X = sparse.csr_array(X)
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    return X


SPARSE = {
    **{
        f"{kind}_{name}": getattr(sparse, f"{kind}_{name}")
        for kind in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
        for name in ("matrix", "array")
    },
    "float32": lambda X: sparse.csr_array(X, dtype=np.float32),
    "int64": lambda X: sparse.csr_array(X.astype(np.int64)),
    "int64-indices": lambda X: with_long_indices(sparse.csr_array(X)),
    "int64-indices-csc": lambda X: with_long_indices(sparse.csc_array(X)),
    "unsorted": unsorted,
    "duplicates": with_duplicates,
    "duplicates-float32": lambda X: with_duplicates(X.astype(np.float32)),
    "explicit-zeros": with_explicit_zeros,
    "read-only": read_only_csr,
}
