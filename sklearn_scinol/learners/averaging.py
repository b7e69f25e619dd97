"""Running sums of weights that only change where a row touches them."""

from ._portable import larger, portable


@portable
def sum_before(total, last, i, w, t):
    """Sum of the weights after the trials `last + 1` .. `t - 1` added to `total`.

    `total` holds the sum up to trial `last`; since then no row touched coordinate `i`,
    so all later weights equal the present one, `w`.
    """
    return total[i] + larger(t - 1.0 - last[i], 0.0) * w


@portable
def record_sum(total, last, i, value, t):
    """Store what :func:`sum_before` gave for trial `t`."""
    total[i] = value
    last[i] = larger(last[i], t - 1.0)
