"""What must hold of a state between two calls, stated for tests and for debugging.

An invariant is a pair: a statement in words, and where it holds, as a bool or an array
of them. Each class that keeps state has a method `invariants`, a generator of such
pairs, so that a statement may rely on those before it. Learning never calls them.
"""

import numpy as np
from scipy import sparse

__all__ = ["ROUNDING", "check", "finite", "floats", "within"]

#: What is not more than a bound is, for all that was rounded, not more than this times
#: the bound.
ROUNDING = 1 + 1e-9


def check(invariants, of):
    """Raise an error that names the first invariant that is broken.

    Parameters
    ----------
    invariants : iterable of (str, bool or ndarray of bool)
    of : str
        Whose they are.

    Raises
    ------
    AssertionError
    """
    with np.errstate(all="ignore"):
        for statement, holds in invariants:
            if holds is not True and not np.asarray(holds).all():
                where = np.argwhere(~np.atleast_1d(holds))[0].tolist()
                at = f", first at {where}" if np.ndim(holds) else ""
                raise AssertionError(f"{of}: not so that {statement}{at}")


def floats(name, values, shape):
    """Of an array of the state: finite numbers, of this shape."""
    yield (
        f"{name} is an array of float64",
        (isinstance(values, np.ndarray) and values.dtype == np.float64),
    )
    yield f"{name} has shape {shape}", values.shape == shape
    yield f"{name} is finite", np.isfinite(values)


def finite(name, value):
    """Of numbers of any kind, perhaps in lists; nothing of what has none."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from finite(name, item)
        return
    if sparse.issparse(value):
        value = value.data
    value = np.asarray(value)
    if value.dtype.kind in "fc":
        yield f"{name} is finite", np.isfinite(value)


def within(name, invariants):
    """The same, each statement with the name of the part that it is about."""
    for statement, holds in invariants:
        yield f"{name}: {statement}", holds
