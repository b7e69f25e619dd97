"""Running sums of weights that only change where a row touches them.

The weights of an output are a factor times a vector (the factor is 1 for most learners)
and the factor may change with each trial. A clock, one an output, sums the factors
after each trial that counts; without a factor it is the number of those trials.
"""

from .._portable import portable

#: A factor below this goes into the vector. That takes a pass over all coordinates, so
#: without averages it is only done long before numbers leave the range; sums of factors
#: lose their digits sooner.
SMALLEST_FACTOR, SMALLEST_AVERAGED_FACTOR = 1e-50, 1e-3


@portable
def sum_before(total, last, i, w, clock):
    """Sum of the weights from the start to now, the present trial excluded.

    `total` holds the sum up to when the clock was at `last`; since then no row touched
    coordinate `i`, whose vector is `w` all that time.
    """
    return total[i] + (clock - last[i]) * w


@portable
def record_sum(total, last, i, value, clock):
    """Store what :func:`sum_before` gave."""
    total[i] = value
    last[i] = clock
