"""Inverses of matrices."""

import numpy as np

from ... import _portable
from .compiling import compiled


def inverse(A):
    """Invert a matrix that is positive definite but for rounding.

    LAPACK would wait for threads, even for a small matrix.
    """
    return _portable.inverse(A, _invert_definite)


def _invert_definite(A):
    factor, root, inverted = np.zeros((3, *A.shape))
    return inverted if _invert(A, factor, root, inverted) else None


@compiled
def _invert(A, factor, root, inverted):
    n, is_definite = len(A), True
    for i in range(n):
        for j in range(i):
            total = A[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = total / factor[j, j]
        total = A[i, i]
        for k in range(i):
            total -= factor[i, k] * factor[i, k]
        is_definite &= total > 0.0
        factor[i, i] = np.sqrt(total)
    # From the rows of the factor's inverse, added up.
    for i in range(n):
        root[i, i] = 1.0
        for j in range(i):
            for k in range(j + 1):
                root[i, k] -= factor[i, j] * root[j, k]
        for k in range(i + 1):
            root[i, k] /= factor[i, i]
        for j in range(i + 1):
            for k in range(j + 1):
                inverted[j, k] += root[i, j] * root[i, k]
    for i in range(n):
        for j in range(i):
            inverted[j, i] = inverted[i, j]
    return is_definite
