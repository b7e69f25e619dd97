"""Running sums of weights, updated only where a row has entries.

The weights of an output are a factor times a vector (the factor is 1 for most learners)
and the factor may change with each trial. A clock, one an output, sums the factors
after each trial that counts; without a factor it is the number of trials. A second row
of the clock counts trials. Where factors have become small the clock restarts from 0,
which takes a pass over all coordinates.
"""

#: Largest ratio of the mean tick to the next one: times are differences of clock
#: readings, and lose two digits at most.
MAX_TICK = 1e2


def sum_before(total, last, i, w, clock):
    """Sum of the weights of all trials before the present one.

    `total` holds the sum up to when the clock was at `last`; since then no row touched
    coordinate `i`, whose vector is `w` all that time.
    """
    return total[i] + (clock - last[i]) * w


def record_sum(total, last, i, value, clock):
    """Store a sum from :func:`sum_before`, and the time of it."""
    total[i] = value
    last[i] = clock


def must_restart(clock, k, factor):
    """Whether all sums must be recorded before the clock ticks by a factor."""
    return clock[0, k] > MAX_TICK * clock[1, k] * factor


def tick(clock, k, factor):
    """Advance the clock by a factor, and count the trial."""
    clock[0, k] += factor
    clock[1, k] += 1.0
