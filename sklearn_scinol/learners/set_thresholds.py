r"""Thresholds of sets of labels: corrections of a mean score.

A label's score is the logarithm of the odds against it, :math:`s(k) = \ln((1 - p(k)) /
p(k))`. A set has the labels whose score is at most a threshold: the mean :math:`b` of
the scores of recent rows' labels, plus a correction :math:`\theta`. The correction
makes gradient steps on the pinball loss of the threshold, as ends of intervals do, see
:mod:`~sklearn_scinol.learners.interval_ends`:

.. math::

    \theta \leftarrow \theta + \eta\, (1[s(y) > b + \theta] - \alpha).

Any increasing function of :math:`1 - p(k)` gives the same sets for one threshold, but
other steps. Steps on log odds fit all classifiers: where they are nearly certain,
thresholds of :math:`1 - p(k)` are much smaller than where they are not.
"""

from typing import NamedTuple

import numpy as np

from .interval_ends import correct

#: Share of the past that the mean score forgets with a row.
RATE = 0.01

#: Step of corrections, in log odds. The bound holds for any step. From 0.1 to 0.3 sets
#: of labels become less than 1.5 % larger, and hold the coverage of fewer rows.
STEP = 0.3


class SetThresholds(NamedTuple):
    """Corrections of the mean score."""

    level: np.ndarray  # probability of labels in the set, (n_levels,)
    correction: np.ndarray  # (n_levels,)
    largest: np.ndarray  # largest absolute correction so far, (n_levels,)
    weights: np.ndarray  # first and largest weight of a row, and their sum: (3,)


def learn_threshold(s, i, score, threshold, c):
    """Correct a threshold by a score; one that is exactly the threshold is neutral."""
    correct(s, i, score, threshold, c, STEP)
