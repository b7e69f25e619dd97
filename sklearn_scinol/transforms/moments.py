r"""Running mean and variance, of features and of targets.

Rows have weights. With `share` that of a new row in the sum of all weights so far, its
own included, `past` that of the rows before, and `deviation` the way from their mean
(Welford, 1962; West, 1979),

.. math::
    \mu \leftarrow \mu + \mathit{share} \cdot \mathit{deviation}, \qquad
    \sigma^2 \leftarrow \mathit{past} \cdot
    (\sigma^2 + \mathit{share} \cdot \mathit{deviation}^2).

All terms are non-negative: nothing cancels, and a unit that is a power of two goes
through to the last bit. Many equal rows at once are one row of their total weight, so
that zeros of sparse rows can wait until their feature comes up again.

With forgetting, each row multiplies the weight of those before by a number below 1,
`kept`. The deviation of a feature that no longer varies then falls from row to row, to
where :math:`x - \mu` is nothing but rounding: below 1e-8 of the mean it counts as 0.

Squares have half the range of numbers: deviations below 1e-162 count as none, and those
above 1e150 as that.
"""

import numpy as np

from .._portable import chosen, portable, smaller

__all__ = [
    "add_weight",
    "inverse_deviation",
    "least_variance",
    "merged",
    "moved_mean",
    "moved_variance",
    "shares_of_waiting",
    "standardised",
]

#: Its sum with another is finite.
MAX_SQUARE = 1e300

#: Deviations below it times the mean are of rounding, where moments forget.
MIN_DEVIATION = 1e-8


@portable
def moved_mean(mean, share, deviation):
    """Mean with a new row."""
    return mean + share * deviation


@portable
def moved_variance(variance, share, past, deviation):
    """Variance with a new row."""
    return past * (variance + share * smaller(deviation * deviation, MAX_SQUARE))


@portable
def least_variance(mean, kept):
    """Up to which a variance counts as none: 0 for moments that forget nothing."""
    least = MIN_DEVIATION * mean
    return chosen(kept < 1.0, smaller(least * least, MAX_SQUARE), 0.0)


@portable
def inverse_deviation(variance, least=0.0):
    """One over the standard deviation; 0 for what does not vary, or has not yet."""
    return chosen(variance > least, 1.0 / np.sqrt(variance), 0.0)


@portable
def standardised(x, mean, factor):
    """Value in units of which `factor` are one; 0 where none is known yet."""
    return chosen(factor > 0.0, (x - mean) * factor, 0.0)


def merged(shards):
    """Mean and variance of all rows, and the sum of their weights.

    As of Chan, Golub and LeVeque (1979), who merge two.

    Parameters
    ----------
    shards : Shards
        Of mean, variance and sum of weights.
    """
    weight = np.maximum(shards.of(lambda m: m[2]).sum(1), 0.0)
    share = np.where(weight > 0.0, 1.0 / np.where(weight > 0.0, weight, 1.0), 0.0)
    first = shards.members[0][0]
    mean = first + share * shards.of(lambda m: m[2] * (m[0] - first)).sum(1)

    def square(moments):
        mean_of_part, variance, weight_of_part = moments
        deviation = mean_of_part - mean
        between = smaller(deviation * deviation, MAX_SQUARE)
        return weight_of_part * (variance + between)

    return mean, np.maximum(share * shards.of(square).sum(1), 0.0), weight


@portable
def shares_of_waiting(weight_sum, recorded):
    """Shares of the rows that wait, and of those recorded, which weigh `recorded`."""
    any_waits = weight_sum > recorded
    return (
        chosen(any_waits, (weight_sum - recorded) / weight_sum, 0.0),
        chosen(any_waits, recorded / weight_sum, 1.0),
    )


@portable
def add_weight(weight_sum, c, learns, kept=1.0):
    """Sum of the weights with a row of weight `c`; shares of the row and of the past.

    The weight of the past is multiplied by `kept` before. A row that is not learned has
    shares as well, is no part of the sum, and nothing is forgotten for it.
    """
    past = kept * weight_sum
    total = past + c
    return total if learns else weight_sum, c / total, past / total
