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

from typing import NamedTuple

import numpy as np

from .._portable import exact, larger, smaller

__all__ = [
    "AdaHedgeState",
    "gap_from_shares",
    "gap_from_spreads",
    "inverse_rate",
    "is_lost",
    "is_mild",
    "share",
    "spread",
]

#: A round is mild up to this hedge loss, in units of 1 / eta: exp(500) is finite.
MAX_MILD_LOSS = 500.0

#: The exponential of minus that is 0.
MAX_EXPONENT = 746.0


class AdaHedgeState(NamedTuple):
    """State of AdaHedge, see advice/adahedge.py."""

    log_K: float
    lead: np.ndarray  # (K,), cumulative losses less the smallest of them
    weights: np.ndarray  # (K,)
    totals: np.ndarray  # (K,), cumulative losses as they are
    gap: float  # sum of the mixability gaps
    loss: float  # sum of the losses of the mixture
    largest_range: float  # of a round: the largest loss less the smallest
    norm_of_ranges: float  # root of the sum of their squares


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
    return MAX_EXPONENT * scale < L


@exact
def is_mild(hedge_loss, scale):
    """Whether the gap follows from the experts' spreads, else from their shares.

    Spreads are accurate for gaps far below `scale`, where shares are not; but they may
    overflow where `scale` is small.
    """
    return hedge_loss < MAX_MILD_LOSS * scale


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
