"""What the formulas of learners and losses share, on arrays and on scalars alike.

Formulas are run twice: by NumPy on whole rows, and by Numba, from the same source, on
one coordinate at a time. Most of NumPy's functions mean the right thing in both; the
few that do not, or that are slow on a scalar, have a stand-in here.

Functions of scalars alone may branch and loop: NumPy runs them as they are.
"""

from functools import lru_cache

import numpy as np
from scipy.linalg.lapack import dpotrf

__all__ = [
    "BLOCK",
    "EXACT",
    "MAX_WEALTH",
    "MIN_SCALE",
    "MIN_VARIANCE",
    "PORTABLE",
    "TINY",
    "chosen",
    "clip_into",
    "copy_into",
    "exact",
    "exp",
    "expm1",
    "inner",
    "inverse",
    "larger",
    "log1p",
    "log_sum_exp",
    "move_and_multiply",
    "norm",
    "padded",
    "portable",
    "smaller",
    "softmax",
    "square",
    "squared_scale",
    "store_square",
    "trace",
    "triangle",
]

#: Sums of squares start here instead of at 0, so that a coordinate that was never seen
#: divides 0 by a number. It is lost in the first square that is added.
TINY = np.finfo(np.float64).tiny

#: The largest feature so far is taken to be at least this: its square is a number.
MIN_SCALE = 1e-150

#: Wealth and weights that grow exponentially stop here, far from overflow: even the
#: square of it, and its sum over any number of features, is finite.
MAX_WEALTH = 1e150

#: Rounding leaves no variance below this, so that its inverse is a number.
MIN_VARIANCE = 1e-200

#: Rows and columns of the blocks that symmetric matrices are stored by.
BLOCK = 4

#: Between these, a sum of squares has lost nothing to the ends of the range.
MIN_SQUARE, MAX_SQUARE = 1e-280, 1e280

#: The functions that formulas may call: a compiling engine registers them. Those that
#: are exact it must compile operation for operation; in others it may reorder sums and
#: products, which can overflow then, or lose digits.
PORTABLE: list = []
EXACT: list = []


def portable(function):
    """Mark a function of scalars or arrays as callable from a formula."""
    PORTABLE.append(function)
    return function


def exact(function):
    """Mark one in which the order of the operations matters."""
    EXACT.append(function)
    return function


def larger(a, b):
    """Maximum of `a` and `b`; `a` where `b` is NaN."""
    return np.fmax(a, b)


def smaller(a, b):
    """Minimum of `a` and `b`; `a` where `b` is NaN."""
    return np.fmin(a, b)


def chosen(condition, a, b):
    """`a` where the condition holds, `b` elsewhere."""
    return np.where(condition, a, b)


def exp(x):
    """Exponential; from ``|x| = 708`` on, something at least as extreme as there."""
    return np.exp(x)


def expm1(x):
    """Exponential minus 1; from ``x = 708`` on, something not smaller than there."""
    return np.expm1(x)


def log1p(x):
    """Logarithm of 1 + x, for x from 0 to 1."""
    return np.log1p(x)


def softmax(p, out):
    """Exponentials of a row of numbers, divided by their sum, into `out`."""
    np.exp(p - np.maximum.reduce(p), out=out)
    out /= np.add.reduce(out)


def log_sum_exp(p):
    """Logarithm of the sum of the exponentials of a row of numbers."""
    largest = np.maximum.reduce(p)
    return largest + np.log(np.add.reduce(np.exp(p - largest)))


# Of vectors, which these change in place where they return nothing.


def inner(a, b):
    """Inner product."""
    return np.add.reduce(a * b)


def copy_into(a, out):
    """Let `out` begin with the entries of `a`.

    Compiled, that is a loop. For ``out[:] = a`` Numba compiles the making of the text
    that says which shapes do not fit, which takes longer than all of a simple learner.
    """
    out[: a.size] = a


def clip_into(a, largest, out):
    """Let `out` begin with the entries of `a`, clipped at plus and minus a number."""
    np.minimum(np.maximum(a, -largest), largest, out=out[: a.size])


# Of symmetric matrices. What is stored of one is its lower triangle, by blocks of four
# rows and columns: four rows at a time, one row after the other, each up to the end of
# the block on the diagonal. Vectors that go with one end with zeros, if need be, so
# that their length is a multiple of four as well.


def padded(n):
    """Length of vectors that go with a symmetric matrix of `n` rows."""
    return -(-n // BLOCK) * BLOCK


@lru_cache(maxsize=4)
def triangle(n):
    """Where the entries of a symmetric matrix of `n` rows are stored.

    Returns
    -------
    rows, columns : ndarray of shape (n_stored,)
        Of the entries that are stored.
    places : ndarray of shape (n, n)
        Of the entries of the matrix.
    """
    starts = np.arange(0, padded(n), BLOCK)
    stored = [
        np.mgrid[start : start + BLOCK, : start + BLOCK].reshape(2, -1)
        for start in starts
    ]
    rows, columns = np.concatenate(stored, axis=1)
    places = np.empty((padded(n), padded(n)), dtype=np.intp)
    places[columns, rows] = places[rows, columns] = np.arange(rows.size)
    return rows, columns, places[:n, :n]


def square(P, n):
    """All entries of a matrix of `n` rows, as an array of their own."""
    return P[triangle(n)[2]]


def store_square(A, P):
    """Let `P` be what is stored of the matrix `A`, but for what goes beyond it."""
    n = len(A)
    rows, columns, _ = triangle(n)
    stored = (rows < n) & (columns < n)
    P[stored] = A[rows[stored], columns[stored]]


def inverse(A):
    """Of a symmetric matrix that is positive definite but for rounding errors.

    What has nothing to do with the rest, to the last bit, still has not in the inverse.
    That of a matrix with numbers that are not finite is NaN.
    """
    units = np.sqrt(np.maximum(np.diag(A), MIN_VARIANCE))
    scaled = 0.5 * (A + A.T) / units / units[:, np.newaxis]
    added = 0.0
    while True:
        factor, failed_at = dpotrf(scaled + added * np.eye(len(A)), lower=True)
        if not failed_at:
            break
        added = 10.0 * added or 1e-16
        if not np.isfinite(scaled).all():
            return np.full_like(A, np.nan)
    # Row by row: LAPACK would wait for threads, however small the matrix is.
    root = np.eye(len(A))
    for i in range(len(A)):
        root[i] -= factor[i, :i] @ root[:i]
        root[i] /= factor[i, i]
    root /= units
    return root.T @ root


def trace(P, n):
    """Sum of the diagonal of a matrix of `n` rows."""
    return np.add.reduce(P[np.diagonal(triangle(n)[2])])


def move_and_multiply(w, P, v, g, root, growth, x, u):
    """Change `w` and `P` by a vector, and let `u` be ``P x``, in one pass.

    Before `u`, `w` becomes ``w + g v`` and `P` becomes ``growth (P - root^2 v v')``,
    with nothing negative on its diagonal by rounding.

    Returns
    -------
    p, q : float
        Inner products of `x` with `w` and with `u`.
    """
    n = x.size
    rows, columns, places = triangle(n)
    diagonal = np.diagonal(places)
    w += g * v
    scaled = root * v
    P -= scaled[rows] * scaled[columns]
    P[diagonal] = np.maximum(P[diagonal], 0.0)
    P *= growth
    np.einsum("ij,j->i", P[places], x, out=u)
    return inner(w, x), inner(u, x)


@exact
def norm(a, b):
    """Root of the sum of two squares: where these are in range, without a call."""
    square = a * a + b * b
    if MIN_SQUARE < square < MAX_SQUARE:
        return np.sqrt(square)
    return np.hypot(a, b)


@portable
def squared_scale(s, i, x):
    """The papers' ``S^2 + M^2``, with ``|x|`` taken into the maximum `M`."""
    M = larger(s.M[i], np.abs(x))
    return s.S2[i] + M * M
