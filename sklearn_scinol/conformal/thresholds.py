"""Thresholds of sets of labels, learned from the probabilities of labels."""

import numpy as np

from ..learners.interval_ends import ErrorSizes, learn_weight
from ..learners.set_thresholds import RATE, STEP, SetThresholds, learn_threshold
from ..models.pool import MAX_LOG_ODDS
from .levels import Levels


def log_odds_against(P):
    """Return the scores of labels, the log odds against them, given probabilities."""
    with np.errstate(divide="ignore"):
        odds = np.log1p(-P) - np.log(P)
    return np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)


class Thresholds(Levels):
    """Thresholds of the scores of labels, see :func:`log_odds_against`.

    Before the first row they are so high that sets have all labels.

    Parameters
    ----------
    levels : ndarray of shape (n_levels,)
        Shares of the rows whose label sets have to contain, ascending.

    Attributes
    ----------
    sizes : ErrorSizes
        Running mean of the scores of the rows' labels.
    ends : SetThresholds
    sums : ndarray of shape (2, n_levels)
        Weight of the rows whose label was in the set, and weighted sums of the numbers
        of labels in the sets.
    """

    _step = STEP

    def __init__(self, levels):
        n_levels = len(levels)
        mean = np.zeros(1), np.array([MAX_LOG_ODDS])
        self.sizes = ErrorSizes(np.array([RATE]), *mean)
        corrections = np.zeros(n_levels), np.zeros(n_levels)
        self.ends = SetThresholds(levels.copy(), *corrections, np.zeros(3))
        self.sums = np.zeros((2, n_levels))

    def learn(self, engine, scores, codes, weights, served=None):
        """Learn the labels of rows; return the sets before each.

        Parameters
        ----------
        engine : Engine
        scores : ndarray of shape (n, n_classes)
            Infinite for classes that were not known at a row.
        codes : ndarray of int of shape (n,)
            Indices of the rows' classes.
        weights : ndarray of shape (n,)
            Rows of weight 0 are not learned.
        served : ndarray of shape (1, n_levels), default=None
            Thresholds that the only row was served, if it waited for its label.

        Returns
        -------
        sets : ndarray of bool of shape (n, n_classes, n_levels)
        """
        rows = np.arange(len(codes))
        of_labels = scores[rows, codes]  # infinite ones are outside of all sets
        sizes, means = np.minimum(of_labels, MAX_LOG_ODDS), np.empty((len(rows), 1))
        engine.learn_error_sizes(self.sizes, sizes, weights, means)
        if served is None:
            thresholds = np.empty((len(rows), self.n_levels))
            state = self.ends, of_labels, means[:, 0].copy(), weights, thresholds
            engine.learn_set_thresholds(*state)
        else:
            thresholds = served
            if weights[0] > 0.0:
                c = learn_weight(self.ends, weights[0])
                learn_threshold(self.ends, ..., of_labels[0], thresholds[0], c)
        sets = _sets(scores, thresholds)
        self._add_to_sums((sets[rows, codes], sets.sum(axis=1)), weights)
        return sets

    def predict(self, scores):
        """Return the sets of rows and their thresholds; for `scores` see `learn`."""
        thresholds = np.maximum.accumulate(self.sizes.means + self.ends.correction)
        thresholds = thresholds[np.newaxis]
        return _sets(scores, thresholds), thresholds

    # Merging.

    @classmethod
    def merged(cls, members, start=None):
        """Merge thresholds that learned disjoint rows; those of `start` count once."""
        fresh = cls(members[0].ends.level)
        fresh._merge(members, fresh if start is None else start)
        return fresh

    def invariants(self):
        """Yield what holds between two calls."""
        yield from super().invariants()
        yield "there is one running mean", self.sizes.rates.shape == (1,)
        is_score = np.abs(self.sizes.means) <= MAX_LOG_ODDS
        yield "the mean is that of scores", is_score
        yield "each level has a threshold", len(self.ends.level) == self.n_levels


def _sets(scores, thresholds):
    """Return which labels have a score of at most each threshold."""
    return scores[:, :, np.newaxis] <= thresholds[:, np.newaxis]
