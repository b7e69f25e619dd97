r"""Running mean and variance, of features and of targets.

Rows have weights. With `share` that of a new row in the sum of all weights so far, its
own included, and `deviation` its way from the mean so far (Welford, 1962; West, 1979),

.. math::
    \mu \leftarrow \mu + \mathit{share} \cdot \mathit{deviation}, \qquad
    \sigma^2 \leftarrow (1 - \mathit{share})
    (\sigma^2 + \mathit{share} \cdot \mathit{deviation}^2).

All terms are non-negative: nothing cancels, and a unit that is a power of two goes
through to the last bit. Many equal rows at once are one row of their total weight, so
that zeros of sparse rows can wait until their feature comes up again.
"""

import numpy as np

from .._portable import chosen, portable

__all__ = ["inverse_deviation", "moved_mean", "moved_variance", "waiting_share"]


@portable
def moved_mean(mean, share, deviation):
    """Mean with a new row."""
    return mean + share * deviation


@portable
def moved_variance(variance, share, deviation):
    """Variance with a new row."""
    return (1.0 - share) * (variance + share * (deviation * deviation))


@portable
def inverse_deviation(variance):
    """One over the standard deviation; 0 for what has not varied yet."""
    return chosen(variance > 0.0, 1.0 / np.sqrt(variance), 0.0)


@portable
def waiting_share(weight_sum, recorded):
    """Share of rows of total weight `weight_sum` after those of weight `recorded`."""
    return chosen(weight_sum > recorded, 1.0 - recorded / weight_sum, 0.0)
