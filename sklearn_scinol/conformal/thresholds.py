r"""Thresholds of sets of labels, learned from the probabilities of labels.

A label's score is the logarithm of the odds against it, :math:`s(k) = \ln((1 - p(k)) /
p(k))`. A set has the labels whose score is at most a threshold: the mean of the scores
of recent rows' labels, plus a correction, as of an upper end of intervals, see
:mod:`~sklearn_scinol.learners.interval_ends`.

Any increasing function of :math:`1 - p(k)` gives the same sets for one threshold, but
other steps. Steps on log odds fit all classifiers: where they are nearly certain,
thresholds of :math:`1 - p(k)` are much smaller than where they are not.
"""

import numpy as np

from ..learners.interval_ends import learn_sizes
from ..models.pool import MAX_LOG_ODDS
from .levels import Levels

#: Share of the past that the mean score forgets with a row.
RATE = 0.01

#: Step of corrections, in log odds. From 0.1 to 0.3 sets of labels become less than
#: 1.5 % larger, and hold the coverage of fewer rows.
STEP = 0.3

# Score of labels that are in no set, as long as their class is not known.
OUTSIDE = 1e50


def log_odds_against(P):
    """Return the scores of labels, the log odds against them, given probabilities."""
    with np.errstate(divide="ignore"):
        odds = np.log1p(-P) - np.log(P)
    return np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)


class Thresholds(Levels):
    """Thresholds of the scores of labels, see :func:`log_odds_against`.

    Before the first row they are so high that sets have all labels. They are upper
    ends, from the running mean of the scores of the rows' labels; sizes in `sums` are
    numbers of labels in sets. The third, if any, is of scores of the likeliest labels.
    """

    _step = STEP

    def __init__(self, levels, n_thirds=0):
        limit = MAX_LOG_ODDS
        super().__init__(levels.copy(), len(levels), [RATE], limit, limit, n_thirds)

    def learn(self, engine, groups, scores, codes, weights, served=None):
        """Learn the labels of rows; return the sets before each, (n, ..., n_levels).

        Scores, of shape (n, n_classes), are infinite for classes that were not known at
        a row; codes are the rows' classes. See also :meth:`Offsets.learn`.
        """
        rows = np.arange(len(codes))
        of_labels = np.minimum(scores[rows, codes], OUTSIDE)
        sizes, means = np.minimum(of_labels, MAX_LOG_ODDS), np.empty((len(rows), 1))
        engine.run_loop(learn_sizes, self.sizes, sizes, weights, means)
        quantiles = np.repeat(means, self.n_levels, axis=1)
        of_groups = of_ends = None
        if served is not None:
            of_ends, of_groups = served.split(self.n_levels, bool(self.n_thirds))
        values = self._values(scores)
        groups = self._learn_groups(engine, groups, values, weights, of_groups)
        of_rows = groups, of_labels, quantiles, weights, of_ends
        thresholds = self._correct(engine, *of_rows)
        sets = _sets(scores, thresholds)
        self._add_to_sums(groups, (sets[rows, codes], sets.sum(axis=1)), weights)
        return sets

    @property
    def n_served(self):
        """Number of columns of the second value of :meth:`predict`."""
        return self.n_levels + bool(self.n_thirds)

    def predict(self, groups, scores):
        """Return the sets of rows, and their thresholds and groups; see `learn`."""
        means = np.tile(self.sizes.means, (len(scores), self.n_levels))
        groups, thresholds = self._ends_of(groups, self._values(scores), means)
        served = [thresholds, *[groups] * bool(self.n_thirds)]
        return _sets(scores, thresholds), np.column_stack(served)

    def _values(self, scores):
        """Return the scores of the likeliest labels, whose thirds are the groups."""
        least = np.minimum(scores.min(axis=1), MAX_LOG_ODDS)
        return least[:, np.newaxis][:, : self.n_thirds]

    def invariants(self):
        yield from super().invariants()
        yield "the mean is that of scores", np.abs(self.sizes.means) <= MAX_LOG_ODDS


def _sets(scores, thresholds):
    """Return which labels have a score of at most each threshold."""
    return scores[:, :, np.newaxis] <= thresholds[:, np.newaxis]
