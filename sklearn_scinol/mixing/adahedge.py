r"""AdaHedge: weights of experts, learned from losses in any unit.

With the experts' cumulative losses :math:`L_k` the weights are :math:`w_k \propto
e^{-\eta (L_k - \min L)}`. The losses :math:`l` of a round cost them the hedge loss
:math:`h = \langle w, l \rangle`, which exceeds the mix loss :math:`-\frac1\eta \ln
\sum_k w_k e^{-\eta l_k}` by the mixability gap :math:`\delta \ge 0`. The learning rate
is :math:`\eta = \ln K / \Delta` with :math:`\Delta` the sum of the gaps: infinite at
first, when all weight is on the leaders.

Here `excess` is a loss less the smallest of the round, `hedge_loss` is less that one as
well, and `L` is a cumulative loss less the smallest of these. All are only ever divided
by ``scale = 1 / eta``: nothing overflows whatever the unit of the losses, and a unit
that is a power of two cancels to the last bit.
"""

from typing import NamedTuple

import numpy as np

from .._portable import exact, larger, smaller

#: A round is mild up to this hedge loss, in units of 1 / eta: exp(500) is finite.
MAX_MILD_LOSS = 500.0

#: The exponential of minus that is 0.
MAX_EXPONENT = 746.0


class AdaHedgeState(NamedTuple):
    """State of AdaHedge."""

    lead: np.ndarray  # (K,), cumulative losses less the smallest of them
    weights: np.ndarray  # (K,)
    totals: np.ndarray  # (K,), cumulative losses as they are
    numbers: np.ndarray  # (5,), in the order of the properties
    log_K: float

    @property
    def t(self):
        """Number of rounds."""
        return self.numbers.item(0)

    @property
    def gap(self):
        """Sum of the mixability gaps."""
        return self.numbers.item(1)

    @property
    def loss(self):
        """Sum of the losses of the mixture."""
        return self.numbers.item(2)

    @property
    def largest_range(self):
        """Largest difference between the largest and the smallest loss of a round."""
        return self.numbers.item(3)

    @property
    def norm_of_ranges(self):
        """Root of the sum of the squares of these differences."""
        return self.numbers.item(4)


@exact
def inverse_rate(Delta, log_K):
    """Return ``1 / eta``, which is 0 while the gap is 0, and for a single expert."""
    return Delta / log_K if Delta > 0.0 else 0.0


@exact
def share(L, scale):
    """Weight of an expert, in multiples of the leader's."""
    # Where `scale` is 0 the quotient is infinite; for leaders it is NaN, which gives 1.
    return smaller(1.0, np.exp(-(L / scale)))


@exact
def is_lost(L, scale):
    """Whether the share of an expert is 0, which saves computing it."""
    return MAX_EXPONENT * scale < L


@exact
def is_mild(hedge_loss, scale):
    """Whether the gap is computed from spreads, else from shares.

    Spreads are accurate for gaps far below `scale`, but overflow where it is small.
    """
    return hedge_loss < MAX_MILD_LOSS * scale


@exact
def spread(w, excess, hedge_loss, scale):
    """Contribution of an expert to ``sum_k w_k exp((h - excess_k) / scale) - 1``."""
    return w * np.expm1((hedge_loss - excess) / scale)


@exact
def gap_from_spreads(sum_of_spreads, scale):
    """Mixability gap of a mild round, see :func:`is_mild`."""
    return larger(0.0, scale * np.log1p(sum_of_spreads))


@exact
def gap_from_shares(hedge_loss, rise, largest_weight, sum_of_shares, scale):
    """Mixability gap of a round that is not mild, also with an infinite rate.

    `rise` is the increase of the smallest cumulative loss. The shares are of after the
    round, at the rate before it; their sum before is 1 over the largest weight.
    """
    return larger(
        0.0, hedge_loss - rise + scale * np.log(largest_weight * sum_of_shares)
    )
