r"""Corrections of quantiles, which are ends of intervals or thresholds of sets.

Errors are measured in a running mean of their absolute values, the unit. An end is a
predicted quantile of the error at a level :math:`\tau`, plus a correction
:math:`\theta`. The correction makes gradient steps on the pinball loss of the end:

.. math::

    \theta \leftarrow \theta + \eta\, (1[s > b + \theta] - (1 - \tau)),

where :math:`s` is the error in units and :math:`b` the predicted quantile. Steps add up
to the change of :math:`\theta`, so that targets are above the end as often as the level
says, but for :math:`|\theta| / \eta` rows [1]_. The bound holds for any step
:math:`\eta` and any :math:`b`. So it holds for each group of rows, too, which corrects
the ends that are learned from all rows.

For a set of labels :math:`s` is the score of the row's label and :math:`b` a running
mean of scores. All ends are upper ones, see :mod:`sklearn_scinol.conformal.thresholds`.

.. [1] I. Gibbs and E. Candès (2021). "Adaptive conformal inference under distribution
   shift". NeurIPS 34.
"""

from typing import NamedTuple

import numpy as np

from .._portable import exact, larger, smaller

#: Share of the past that each running mean of absolute errors forgets with a row.
RATES = 0.2, 0.01, 0.0

#: Index of the running mean that is the unit of errors.
UNIT = 1

#: Factor of the steps for all rows if there are groups, whose corrections vary as well.
FACTOR_OF_ALL = 0.2


class ErrorSizes(NamedTuple):
    """Running means of absolute errors, or of scores of labels."""

    rates: np.ndarray  # share that is forgotten with a row, (n_means,)
    weights: np.ndarray  # weight of the rows that are remembered, (n_means,)
    means: np.ndarray  # (n_means,)


class Corrections(NamedTuple):
    """Corrections of predicted quantiles by all rows, then those by groups of rows."""

    level: np.ndarray  # probability of targets below the end, (n_ends,)
    correction: np.ndarray  # (n_groups, n_ends)
    largest: np.ndarray  # largest absolute correction so far, (n_groups, n_ends)
    limits: np.ndarray  # the range of errors so far, and 0: (2,)
    weights: np.ndarray  # first and largest weight of a row, their sum: (n_groups, 3)
    step: np.ndarray  # of gradients, (1,)


def learn_weight(s, group, c):
    """Learn the weight of a row; return it relative to the largest of its group."""
    if s.weights[group, 2] == 0.0:
        s.weights[group, 0] = c
    s.weights[group, 1] = max(s.weights[group, 1], c)
    s.weights[group, 2] += c
    return c / s.weights[group, 1]


def nest(ends, n_lower):
    """Move the innermost ends to their middle if they cross; widen outer intervals.

    Each outer interval contains the next inner one. Its own ends may cross: they stay
    where they are beyond the inner ones, so that a target there still moves them.

    Lower ends, if there are any, come first, from the widest interval on, then upper
    ends. Each may be a number, or an array of several rows.
    """
    if n_lower > 0:
        i, k = n_lower - 1, n_lower
        middle = 0.5 * (ends[i] + ends[k])
        ends[i], ends[k] = smaller(ends[i], middle), larger(ends[k], middle)
        for j in range(1, n_lower):
            ends[i - j] = smaller(ends[i - j], ends[i - j + 1])
    for j in range(n_lower + 1, len(ends)):
        ends[j] = larger(ends[j], ends[j - 1])


def learn_end(s, group, i, error, end, c):
    """Correct an end by an error in units; one that is exactly the end is neutral."""
    is_above, is_off = 1.0 * (error > end), 1.0 * (error != end)
    s.correction[group, i] += s.step[0] * c * is_off * (is_above - (1.0 - s.level[i]))
    size = np.abs(s.correction[group, i])
    s.largest[group, i] = larger(s.largest[group, i], size)


@exact
def learn_sizes(s, sizes, weights, out):
    """Learn sizes of errors; fill `out` with their means before each row.

    Rows of weight 0 are not learned.
    """
    for r in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[r, i] = s.means[i]
            if weights[r] > 0.0:
                s.weights[i] = (1.0 - s.rates[i]) * s.weights[i] + weights[r]
                s.means[i] += weights[r] / s.weights[i] * (sizes[r] - s.means[i])


def learn_row(s, group, error, ends, weight, n_lower, factor):
    """Correct the ends of a row in place; learn its error unless its weight is 0."""
    for i in range(len(ends)):
        ends[i] += s.correction[group, i]
    nest(ends, n_lower)
    if weight > 0.0:
        c = factor * learn_weight(s, group, weight)
        for i in range(len(ends)):
            learn_end(s, group, i, error, ends[i], c)


@exact
def learn_rows(s, groups, errors, quantiles, weights, n_lower, out):
    """Correct quantiles, of shape (n, n_ends); fill `out` with ends before each row.

    Rows of weight 0 are not learned.
    """
    for r in range(out.shape[0]):
        least, most = s.limits[0], s.limits[1]
        for i in range(out.shape[1]):
            out[r, i] = smaller(larger(quantiles[r, i], least), most)
        group, factor = groups[r], FACTOR_OF_ALL if groups[r] > 0 else 1.0
        learn_row(s, 0, errors[r], out[r], weights[r], n_lower, factor)
        if group > 0:
            learn_row(s, group, errors[r], out[r], weights[r], n_lower, 1.0)
        if weights[r] > 0.0:
            s.limits[0] = smaller(least, errors[r])
            s.limits[1] = larger(most, errors[r])


def learn_ends(s, group, error, quantiles, weight, n_lower, ends):
    """Correct the ends of a group by a row; widen the range of errors.

    The ends are those that were used for the row, perhaps some rows ago. If they are
    those of a group, all rows correct the ends that the quantiles have now.
    """
    if group > 0:
        of_all = np.clip(quantiles, *s.limits)
        learn_row(s, 0, error, of_all, weight, n_lower, FACTOR_OF_ALL)
    learn_end(s, group, ..., error, ends, learn_weight(s, group, weight))
    s.limits[:] = min(s.limits[0], error), max(s.limits[1], error)
