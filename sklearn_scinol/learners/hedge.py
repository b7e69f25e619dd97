r"""AdaHedge: weights for experts, learned from their losses, in any unit.

With the experts' cumulative losses :math:`L_k` the weights are :math:`w_k \propto
e^{-\eta (L_k - \min L)}`. The losses :math:`l` of a round cost them the hedge loss
:math:`h = \langle w, l \rangle`, which exceeds the mix loss :math:`-\frac1\eta \ln
\sum_k w_k e^{-\eta l_k}` by the mixability gap :math:`\delta \ge 0`. The learning rate
is :math:`\eta = \ln K / \Delta` with :math:`\Delta` the sum of the gaps: infinite at
first, when all weight is on the leaders.

Here `excess` is a loss less the smallest of the round, `h` the hedge loss less the
same, and `L` a cumulative loss less the smallest of these. All are only ever divided by
``scale = 1 / eta``: nothing overflows whatever the unit of the losses, and one that is
a power of two cancels to the last bit.
"""

import numpy as np

from .._portable import chosen, exact, exp, larger, portable, smaller

__all__ = [
    "gap_from_shares",
    "gap_from_spreads",
    "inverse_rate",
    "is_lost",
    "is_mild",
    "odds_ratio",
    "probabilities",
    "share",
    "spread",
]

#: A round is mild up to this hedge loss, in units of 1 / eta: exp(500) is finite.
LARGEST_MILD_LOSS = 500.0

#: The exponential of minus that is 0.
LARGEST_EXPONENT = 746.0

#: Smaller probabilities are mixed as if they were this, which has a logarithm.
SMALLEST_PROBABILITY = 1e-300


@exact
def inverse_rate(Delta, log_K):
    """``1 / eta``; 0 as long as there is no gap, which for one expert is forever."""
    return Delta / log_K if Delta > 0.0 else 0.0


@exact
def share(L, scale):
    """Weight of an expert, in multiples of the leader's."""
    # Where `scale` is 0 the quotient is infinite; that of leaders, NaN, gives 1.
    return smaller(1.0, np.exp(-(L / scale)))


@exact
def is_lost(L, scale):
    """Whether `share` is 0, so that there is no need to compute it."""
    return LARGEST_EXPONENT * scale < L


@exact
def is_mild(hedge_loss, scale):
    """Whether the gap follows from the experts' spreads, else from their shares.

    Spreads are accurate for gaps far below `scale`, where shares are not; but they may
    overflow where `scale` is small.
    """
    return hedge_loss < LARGEST_MILD_LOSS * scale


@exact
def spread(w, excess, hedge_loss, scale):
    """Contribution of an expert to ``sum_k w_k exp((h - excess_k) / scale) - 1``."""
    return w * np.expm1((hedge_loss - excess) / scale)


@exact
def gap_from_spreads(sum_of_spreads, scale):
    """Mixability gap of a mild round."""
    return larger(0.0, scale * np.log1p(sum_of_spreads))


@exact
def gap_from_shares(hedge_loss, rise, largest_weight, sum_of_shares, scale):
    """Mixability gap of any other round, also of one with an infinite rate.

    The `rise` is that of the smallest cumulative loss. The shares are those after the
    round, at the rate before it; the inverse of the largest weight is their sum before.
    """
    return larger(
        0.0, hedge_loss - rise + scale * np.log(largest_weight * sum_of_shares)
    )


@portable
def probabilities(log_odds):
    """Of a class and of the other; that of the unlikely one is accurate as well."""
    odds = exp(-np.abs(log_odds))
    likely = 1.0 / (1.0 + odds)
    unlikely = larger(odds * likely, SMALLEST_PROBABILITY)
    is_likely = log_odds > 0.0
    return chosen(is_likely, likely, unlikely), chosen(is_likely, unlikely, likely)


@portable
def odds_ratio(p, p_other):
    """Log odds of a class with probability `p` against one with `p_other`."""
    return np.log(p / p_other)
