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
    inverted = A.copy()
    return inverted if _sweep(inverted, np.empty(len(A))) else None


@compiled
def _sweep(A, row):
    """Invert a symmetric matrix in place, by sweeps; return whether it is definite."""
    n, is_definite = len(A), True
    for k in range(n):
        for j in range(n):
            row[j] = A[max(j, k), min(j, k)]
        pivot = row[k]
        is_definite &= pivot > 0.0
        for i in range(n):
            factor = row[i] / pivot
            for j in range(i + 1):
                A[i, j] -= factor * row[j]
        for j in range(n):
            A[max(j, k), min(j, k)] = row[j] / pivot
        A[k, k] = -1.0 / pivot
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = A[j, i] = -A[i, j]
    return is_definite
