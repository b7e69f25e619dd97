r"""Running means of targets, of the rows that have a key in common.

With the sum :math:`s` and the number :math:`n` of the targets of earlier rows with a
key, and the mean :math:`m` of all earlier targets, the key has the mean

.. math::
    \frac{s + a m}{n + a}

as if there had been :math:`a` more rows with the mean of all. Each row is given the
means that were known before its own target.
"""

from copy import copy

import numpy as np

from .._hashing import place
from .._invariants import floats, is_count, is_number
from .._portable import larger
from .._state import RecordsChanges, as_writable
from ..blocks import Means

# Smallest positive number in full precision.
TINY = np.finfo(np.float64).tiny


def mean_of_all(total, weight, start, n_start):
    """Return the mean of all targets; `n_start` rows more have the target `start`."""
    return (total + n_start * start) / larger(weight + n_start, TINY)


def mean_of_key(total, weight, mean, smooth):
    """Return the mean of a key, as if `smooth` rows more had the mean of all."""
    return (total + smooth * mean) / (weight + smooth)


def learn_rows(means, places, indptr, smooth, targets, c, learns, of_keys, of_all):
    """Fill means of keys and of all before each row, which is then learned.

    `places` are those of the keys of all rows, one after the other, of which `indptr`
    says where each row begins; -1 stands for no key, whose mean is that of all.
    """
    sums, weights, total = means.sums, means.weights, means.total
    for r in range(targets.shape[0]):
        for k in range(targets.shape[1]):
            of_all[r, k] = mean_of_all(
                total[1 + k], total[0], means.start, means.n_start
            )
        for e in range(indptr[r], indptr[r + 1]):
            at = places[e]
            for k in range(targets.shape[1]):
                of_keys[e, k] = of_all[r, k]
                if at >= 0:
                    of_keys[e, k] = mean_of_key(
                        sums[at, k], weights[at], of_all[r, k], smooth[e]
                    )
        if not learns:
            continue
        for e in range(indptr[r], indptr[r + 1]):
            at = places[e]
            if at < 0:
                continue
            weights[at] += c[r]
            for k in range(targets.shape[1]):
                sums[at, k] += c[r] * targets[r, k]
        total[0] += c[r]
        for k in range(targets.shape[1]):
            total[1 + k] += c[r] * targets[r, k]


class TargetMeans(RecordsChanges):
    """Running means of targets by keys, which are hashed to a number of places.

    Parameters
    ----------
    n_places : int
        Keys that are hashed to one place share a mean.
    start : float
        Mean before the first row.
    n_start : float
        Number of rows that it counts for.

    Attributes
    ----------
    sums : ndarray of shape (n_places, n_targets)
        Sums of targets.
    weights : ndarray of shape (n_places,)
        Sums of the weights of their rows.
    total : ndarray of shape (1 + n_targets,)
        Weight of all rows, and sums of their targets.
    """

    _replaced = ("_log",)
    _undone = "sums", "weights", "total"

    def __init__(self, n_places, n_targets, start, n_start):
        super().__init__()
        self.start, self.n_start = start, n_start
        self.sums = np.zeros((n_places, n_targets))
        self.weights = np.zeros(n_places)
        self.total = np.zeros(1 + n_targets)

    def fresh(self):
        """Return means before the first row."""
        return TargetMeans(*self.sums.shape, self.start, self.n_start)

    def places(self, keys):
        """Return the places of keys."""
        return place(keys, np.uint64(len(self.weights))).astype(np.int32)

    def encode(self, engine, places, indptr, smooth, targets=None, c=None):
        """Return means of keys before each row, and of all; then learn the targets.

        For the arguments see :func:`learn_rows`. Without targets nothing is learned.
        The means are of shape (n_keys, n_targets) and (n, n_targets).
        """
        n, learns = len(indptr) - 1, targets is not None
        if not learns:
            targets, c = np.zeros((n, self.sums.shape[1])), np.zeros(n)
        else:
            changed = places[places >= 0]
            self._record(
                (changed, self.sums[changed], self.weights[changed], self.total.copy())
            )
        # Arrays that are mapped from disk are copied, for predictions.
        arrays = map(as_writable, (self.sums, self.weights, self.total))
        state = Means(*arrays, self.start, self.n_start)
        of_keys = np.empty((len(places), targets.shape[1]))
        of_all = np.empty(targets.shape)
        rows = places, indptr, smooth, targets, c, learns
        engine.run_loop(learn_rows, state, *rows, of_keys, of_all)
        return of_keys, of_all

    def _undo(self, X):
        log, start = self._begin_log()

        def restore():
            for places, sums, weights, total in reversed(log[start:]):
                self.sums[places], self.weights[places] = sums, weights
                self.total[:] = total
            del log[start:]

        return restore

    def in_order(self, numbers):
        """Return the means with their targets in the order of these numbers."""
        if np.array_equal(numbers, np.arange(len(numbers))):
            return self
        means = copy(self)
        means.sums = self.sums[:, numbers]
        means.total = np.append(self.total[0], self.total[1:][numbers])
        return means

    @classmethod
    def merged(cls, shards):
        """Merge means of several parts of the rows."""
        merged = shards.start.fresh()
        for name in "sums", "weights", "total":
            parts = shards.map(lambda each, name=name: getattr(each, name))
            setattr(merged, name, parts.sum())
        merged.weights = np.maximum(merged.weights, 0.0)
        return merged

    def invariants(self):
        """Yield what holds between two calls."""
        yield "there are places", is_count(len(self.weights), 1)
        shape = len(self.weights), len(self.total) - 1
        yield from floats("sums", self.sums, shape)
        yield from floats("weights", self.weights, shape[:1])
        yield from floats("total", self.total, (1 + shape[1],))
        yield "weights are not negative", self.weights >= 0.0
        for value in self.start, self.n_start:
            yield "the start is a share", is_number(value, float) and 0 <= value <= 1
        yield "the weight of all is not negative", self.total[0] >= 0.0
