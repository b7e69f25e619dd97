"""The range of the targets, which experts' predictions are clipped to."""

import numpy as np

__all__ = ["TargetRange"]


class TargetRange:
    """Smallest and largest target so far, and predictions clipped to lie between.

    A prediction beyond all targets that there were costs without bound where it is
    wrong. Clipped it costs no more, as long as the next target is not beyond them, too.

    Parameters
    ----------
    limits : ndarray of shape (2, n_outputs)
        To begin with; infinity and its negative where nothing is known.

    Attributes
    ----------
    limits : ndarray of shape (2, n_outputs)
        Smallest and largest target so far.
    """

    def __init__(self, limits):
        self.limits = limits

    @classmethod
    def unknown(cls, n_outputs):
        """Return the range of outputs whose targets may be any numbers."""
        return cls(np.outer([np.inf, -np.inf], np.ones(n_outputs)))

    @classmethod
    def of_signs(cls, n_outputs):
        """Return the range of targets -1 and 1; clipping to it costs no loss."""
        return cls(np.outer([-1.0, 1.0], np.ones(n_outputs)))

    @classmethod
    def merged(cls, shards):
        """Merge the ranges of the targets of several mixtures."""
        least = np.minimum.reduce([part.limits[0] for part in shards.members])
        return cls(np.stack([least, shards.map(lambda part: part.limits[1]).max()]))

    def learn(self, y, learned):
        """Learn from targets in order.

        Parameters
        ----------
        y : ndarray of shape (n, n_outputs)
        learned : ndarray of bool of shape (n,)
            Which rows count.

        Returns
        -------
        limits : ndarray of shape (2, n, n_outputs)
            Before each row.
        """
        least, most = self.limits
        if ((least <= y) & (y <= most)).all():  # true of most rows
            return np.repeat(self.limits[:, np.newaxis], len(y), axis=1)
        learned = learned[:, np.newaxis]
        least = np.vstack([least, np.where(learned, y, np.inf)])
        most = np.vstack([most, np.where(learned, y, -np.inf)])
        limits = np.stack([np.minimum.accumulate(least), np.maximum.accumulate(most)])
        self.limits = limits[:, -1].copy()
        return limits[:, :-1]

    @staticmethod
    def clip(predictions, limits):
        """Clip predictions of shape (..., n, n_outputs) to limits."""
        least, most = limits
        known = least <= most
        return np.clip(
            predictions, np.where(known, least, -np.inf), np.where(known, most, np.inf)
        )

    def invariants(self):
        """Yield what holds between two calls."""
        least, most = self.limits
        unknown = (least == np.inf) & (most == -np.inf)
        yield "lower limits are at most upper limits", (least <= most) | unknown
        yield "limits are finite", np.isfinite(self.limits) | unknown
