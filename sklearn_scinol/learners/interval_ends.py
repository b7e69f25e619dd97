r"""Ends of prediction intervals: the sizes of errors, and corrections of quantiles.

Errors are measured in a running mean of their absolute values, the unit. An end is a
predicted quantile of the error at a level :math:`\tau`, plus a correction
:math:`\theta`. The correction makes gradient steps on the pinball loss of the end:

.. math::

    \theta \leftarrow \theta + \eta\, (1[s > b + \theta] - (1 - \tau)),

where :math:`s` is the error in units and :math:`b` the predicted quantile. Steps add up
to the change of :math:`\theta`, so that targets are above the end as often as the level
says, but for :math:`|\theta| / \eta` rows [1]_.

.. [1] I. Gibbs and E. Candès (2021). "Adaptive conformal inference under distribution
   shift". NeurIPS 34.
"""

from typing import NamedTuple

import numpy as np

from .._portable import larger, smaller

#: Share of the past that each running mean of absolute errors forgets with a row.
RATES = 0.2, 0.01, 0.0

#: Index of the running mean that is the unit of errors.
UNIT = 1

#: Step of corrections, in units of errors. The bound holds for any step. The scores of
#: intervals depend little on it; a smaller one lets the coverage of few rows wander.
STEP = 0.05


class ErrorSizes(NamedTuple):
    """Running means of absolute errors, or of scores of labels."""

    rates: np.ndarray  # share that is forgotten with a row, (n_means,)
    weights: np.ndarray  # weight of the rows that are remembered, (n_means,)
    means: np.ndarray  # (n_means,)


class IntervalEnds(NamedTuple):
    """Corrections of predicted quantiles."""

    level: np.ndarray  # probability of targets below the end, (n_ends,)
    correction: np.ndarray  # (n_ends,)
    largest: np.ndarray  # largest absolute correction so far, (n_ends,)
    limits: np.ndarray  # the range of errors so far, and 0: (2,)
    weights: np.ndarray  # first and largest weight of a row, and their sum: (3,)


def learn_size(s, i, size, c):
    """Learn the absolute error of a row of weight `c`."""
    s.weights[i] = (1.0 - s.rates[i]) * s.weights[i] + c
    s.means[i] += c / s.weights[i] * (size - s.means[i])


def learn_weight(s, c):
    """Learn the weight of a row; return it relative to the largest so far."""
    if s.weights[2] == 0.0:
        s.weights[0] = c
    s.weights[1] = max(s.weights[1], c)
    s.weights[2] += c
    return c / s.weights[1]


def nest(ends):
    """Move the innermost ends to their middle if they cross; widen outer intervals.

    Each outer interval contains the next inner one. Its own ends may cross: they stay
    where they are beyond the inner ones, so that a target there still moves them.

    Lower ends come first, from the widest interval on, then upper ends. Each may be a
    number, or an array of several rows.
    """
    n_levels = len(ends) // 2
    i, k = n_levels - 1, n_levels
    middle = 0.5 * (ends[i] + ends[k])
    ends[i], ends[k] = smaller(ends[i], middle), larger(ends[k], middle)
    for j in range(1, n_levels):
        ends[i - j] = smaller(ends[i - j], ends[i - j + 1])
        ends[k + j] = larger(ends[k + j], ends[k + j - 1])


def learn_end(s, i, error, end, c):
    """Correct an end by an error in units; one that is exactly the end is neutral."""
    correct(s, i, error, end, c, STEP)


def learn_ends(s, error, ends, c):
    """Correct all ends by the error of a row of weight `c`; widen the range of errors.

    The ends are those that were used for the row, perhaps some rows ago.
    """
    learn_end(s, ..., error, ends, learn_weight(s, c))
    s.limits[:] = min(s.limits[0], error), max(s.limits[1], error)


def correct(s, i, error, end, c, step):
    """Make a gradient step on the pinball loss of an end, times the weight `c`."""
    is_above, is_off = 1.0 * (error > end), 1.0 * (error != end)
    s.correction[i] += step * c * is_off * (is_above - (1.0 - s.level[i]))
    s.largest[i] = larger(s.largest[i], np.abs(s.correction[i]))
