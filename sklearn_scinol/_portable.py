"""Functions that formulas may call, on arrays and scalars alike.

NumPy runs formulas on whole rows, and Numba compiles the same source for one coordinate
at a time. Most functions of NumPy serve both; functions that do not, or are slow on a
scalar, have a substitute here. Functions of scalars alone may branch and loop.
"""

from functools import lru_cache

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

#: Start of sums of squares instead of 0, so that an unseen coordinate divides 0 by a
#: number. It is lost in the first square that is added.
TINY = np.finfo(np.float64).tiny

#: Minimum of the largest feature so far, whose square is a normal number.
MIN_SCALE = 1e-150

#: Maximum of wealth and of weights that grow exponentially: its square, summed over any
#: number of features, is finite.
MAX_WEALTH = 1e150

#: Minimum of a variance, whose inverse is a normal number.
MIN_VARIANCE = 1e-200

#: Number of rows and columns of the blocks of symmetric matrices.
BLOCK = 4

#: Range in which a sum of squares is accurate.
MIN_SQUARE, MAX_SQUARE = 1e-280, 1e280

#: Numbers that differ by a smaller share of themselves count as equal: the last digits
#: depend on units, and on the order in which sums are taken.
ROUNDING_SHARE = 1e-13

#: Functions in which a compiling engine must keep the order of operations. In others it
#: may reorder sums and products, which can overflow then, or lose digits.
EXACT: list = []


def exact(function):
    """Mark a function of formulas in which the order of operations matters."""
    EXACT.append(function)
    return function


def each(start, stop):
    """Return the places of a range, for a loop that computes nothing but elementwise.

    NumPy takes them at once; compiled code takes one after the other.
    """
    return (slice(start, stop),)


def larger(a, b):
    """Return the maximum of `a` and `b`; `a` where `b` is NaN."""
    return np.fmax(a, b)


def smaller(a, b):
    """Return the minimum of `a` and `b`; `a` where `b` is NaN."""
    return np.fmin(a, b)


def difference(a, b):
    """Return ``a - b``, or 0 where no more than rounding may separate the two."""
    d = a - b
    return d * (np.abs(d) >= ROUNDING_SHARE * larger(np.abs(a), np.abs(b)))


def chosen(condition, a, b):
    """Return `a` where the condition holds, `b` elsewhere."""
    return np.where(condition, a, b)


def exp(x):
    """Return the exponential of `x`, possibly clipped to ±708."""
    return np.exp(x)


def expm1(x):
    """Return the exponential minus 1, of `x` possibly clipped at 708."""
    return np.expm1(x)


def log1p(x):
    """Return the logarithm of 1 + x, for x from 0 to 1."""
    return np.log1p(x)


def cosine(turns):
    """Return the cosine of an angle in full turns."""
    return np.cos(2.0 * np.pi * (turns - np.rint(turns)))


def softmax(p, out):
    """Write the exponentials of a row, divided by their sum, into `out`."""
    np.exp(p - np.maximum.reduce(p), out=out)
    out /= np.add.reduce(out)


def log_sum_exp(p):
    """Return the logarithm of the sum of the exponentials of a row."""
    largest = np.maximum.reduce(p)
    return largest + np.log(np.add.reduce(np.exp(p - largest)))


# Functions of vectors.


def inner(a, b):
    """Return the inner product."""
    return np.add.reduce(a * b)


def copy_into(a, out):
    """Copy `a` to the beginning of `out`.

    Compiled, that is a loop: ``out[:] = a`` would compile the message about shapes that
    do not fit, which takes longer than a simple learner.
    """
    out[: a.size] = a


def flat(array):
    """Return all entries of a C-contiguous array, as a view."""
    return array.ravel()


def add_multiple(factor, a, out):
    """Add a multiple of `a` to `out`."""
    out += factor * a


def box_distance(x, low, high, factors):
    """Return the sum of the distances from `x` to a box along axes, times factors."""
    outside = np.fmax(low - x, 0.0) + np.fmax(x - high, 0.0)
    return np.add.reduce(outside * factors)


def extend_box(x, low, high):
    """Extend the smallest and largest values in a box to those of `x`."""
    np.minimum(low, x, out=low)
    np.maximum(high, x, out=high)


def count_at_most(values, limit, n):
    """Return how many of the first `n` values are at most a limit."""
    return np.count_nonzero(values[:n] <= limit)


def sum_at_most(values, limit, n, a):
    """Return the sum of the entries of `a` at the first `n` values up to a limit."""
    return np.add.reduce(a[:n] * (values[:n] <= limit))


def clip_into(a, largest, out):
    """Copy `a`, clipped at plus and minus `largest`, to the beginning of `out`."""
    np.minimum(np.maximum(a, -largest), largest, out=out[: a.size])


# Functions of symmetric matrices. The lower triangle is stored, four rows after four,
# each row up to the end of its block of 4 x 4 on the diagonal. Vectors that go with a
# matrix are padded with zeros to a multiple of four.


def padded(n):
    """Return the length of vectors that go with a matrix of `n` rows."""
    return -(-n // BLOCK) * BLOCK


@lru_cache(maxsize=4)
def triangle(n):
    """Return rows and columns of the stored entries, and the places of all entries."""
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
    """Return all entries of a stored matrix of `n` rows, as a new array."""
    return P[triangle(n)[2]]


def store_square(A, P):
    """Store the matrix `A` in the first entries of `P`."""
    n = len(A)
    rows, columns, _ = triangle(n)
    stored = (rows < n) & (columns < n)
    P[stored] = A[rows[stored], columns[stored]]


def invert_definite(A):
    """Return the inverse of a positive definite matrix, or None of another one."""
    factor, failed_at = dpotrf(A, lower=True)
    if failed_at:
        return None
    root, _ = dtrtri(factor, lower=True)
    return root.T @ root


def inverse(A, invert=invert_definite):
    """Return the inverse of a matrix that is positive definite but for rounding.

    Zeros between independent blocks stay exact. If an entry is not finite, all are NaN.
    """
    units = np.sqrt(np.maximum(np.diag(A), MIN_VARIANCE))
    units = units * units[:, np.newaxis]
    scaled, added = 0.5 * (A + A.T) / units, 0.0
    while (inverted := invert(scaled + added * np.eye(len(A)))) is None:
        added = 10.0 * added or 1e-16
        if not np.isfinite(scaled).all():
            return np.full_like(A, np.nan)
    return inverted / units


def trace(P, n):
    """Return the trace of a stored matrix of `n` rows."""
    return np.add.reduce(P[np.diagonal(triangle(n)[2])])


def move_and_multiply(w, P, v, g, root, growth, x, u):
    """Update ``w += g v`` and ``P = growth (P - root^2 v v')``, then ``u = P x``.

    Rounding leaves nothing negative on the diagonal of `P`. Returns the inner products
    of `x` with `w` and with `u`.
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
    """Return the root of the sum of two squares, without a call if in range."""
    square = a * a + b * b
    if MIN_SQUARE < square < MAX_SQUARE:
        return np.sqrt(square)
    return np.hypot(a, b)


def squared_scale(s, i, x):
    """Return the papers' ``S^2 + M^2``, with ``|x|`` in the maximum `M`."""
    M = larger(s.M[i], np.abs(x))
    return s.S2[i] + M * M
