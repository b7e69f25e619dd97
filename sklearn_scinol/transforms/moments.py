r"""Running mean and variance, of features and of targets.

Rows have weights. With `share` that of a new row in the sum of all weights so far, its
own included, `past` that of the rows before, and `deviation` the way from their mean
(Welford, 1962; West, 1979),

.. math::
    \mu \leftarrow \mu + \mathit{share} \cdot \mathit{deviation}, \qquad
    \sigma^2 \leftarrow \mathit{past} \cdot
    (\sigma^2 + \mathit{share} \cdot \mathit{deviation}^2).

All terms are non-negative: nothing cancels, and units that are powers of two are exact.
Many equal rows at once are one row of their total weight, so that zeros of sparse rows
can wait until their feature comes up again.

With forgetting, each row multiplies the weight of earlier rows by `kept`, a number
below 1. For a feature of sparse rows this, too, waits until the feature comes up again:
then its weight is multiplied once, for all rows since. The deviation of a feature that
no longer varies falls to where :math:`x - \mu` is nothing but rounding: below 1e-8 of
the mean it counts as 0.

Squares have half the range of numbers: deviations below 1e-162 count as 0, and larger
ones than 1e150 as 1e150.
"""

import numpy as np

from .._portable import chosen, exp, smaller

#: Maximum of a square: the sum of two is finite.
MAX_SQUARE = 1e300

#: Deviations below this times the mean count as rounding, where moments forget.
MIN_DEVIATION = 1e-8


def moved_mean(mean, share, deviation):
    """Return the mean with a new row."""
    return mean + share * deviation


def moved_variance(variance, share, past, deviation):
    """Return the variance with a new row."""
    return past * (variance + share * smaller(deviation * deviation, MAX_SQUARE))


def least_variance(mean, kept):
    """Return the variance that counts as 0; 0 for moments that forget nothing."""
    least = MIN_DEVIATION * mean
    return chosen(kept < 1.0, smaller(least * least, MAX_SQUARE), 0.0)


def inverse_deviation(variance, least=0.0):
    """Return one over the standard deviation; 0 for what has not varied."""
    return chosen(variance > least, 1.0 / np.sqrt(variance), 0.0)


def standardised(x, mean, factor):
    """Centre a value and multiply it by `factor`; 0 if that is 0."""
    return chosen(factor > 0.0, (x - mean) * factor, 0.0)


def merged(shards):
    """Merge mean, variance and sum of weights of several parts of the rows.

    Chan, Golub and LeVeque (1979) merge two.
    """
    weight = np.maximum(shards.map(lambda m: m[2]).sum(1), 0.0)
    share = np.where(weight > 0.0, 1.0 / np.where(weight > 0.0, weight, 1.0), 0.0)
    first = shards.members[0][0]
    mean = first + share * shards.map(lambda m: m[2] * (m[0] - first)).sum(1)

    def square(moments):
        mean_of_part, variance, weight_of_part = moments
        deviation = mean_of_part - mean
        between = smaller(deviation * deviation, MAX_SQUARE)
        return weight_of_part * (variance + between)

    return mean, np.maximum(share * shards.map(square).sum(1), 0.0), weight


def decayed(recorded, n_rows, log_kept):
    """Return a sum of weights `n_rows` later; `log_kept` is the logarithm of `kept`."""
    return recorded * exp(n_rows * log_kept)


def shares_of_waiting(weight_sum, recorded):
    """Return shares of waiting rows, and of rows with the total weight `recorded`."""
    any_waits = weight_sum > recorded
    return (
        chosen(any_waits, (weight_sum - recorded) / weight_sum, 0.0),
        chosen(any_waits, recorded / weight_sum, 1.0),
    )


def add_weight(weight_sum, c, learns, kept=1.0):
    """Return the sum of weights with a row of weight `c`, and shares of row and past.

    The weight of the past is multiplied by `kept` before. A row that is not learned has
    shares too, but leaves the sum as it is.
    """
    past = kept * weight_sum
    total = past + c
    return total if learns else weight_sum, c / total, past / total
