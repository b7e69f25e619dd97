r"""Fixed share: weights of experts that take turns at being the best.

With the learning rate :math:`\eta` a round of losses :math:`l` turns the weights into
:math:`v_k \propto w_k e^{-\eta l_k}`, and a share :math:`\alpha` of them is then given
to all experts alike: :math:`w_k = (1 - \alpha) v_k + \alpha / K`. That is Bayes' rule
where before each round, with probability :math:`\alpha`, the best expert is drawn
anew. Several :math:`\alpha` run side by side and are weighted by the same rule.

Where the rate falls, all weights are raised to the power of the ratio of the new one to
the old one, and divided by their sum. With `scale = 1 / eta`, each step keeps to

    sum of the mix losses <= loss of a sequence of experts + scale * complexity,

where the complexity is minus the logarithm of the probability of the sequence. The mix
loss is :math:`-\frac1\eta \ln \sum_k w_k e^{-\eta l_k}`. Where a loss is mixable with a
known rate, the mixture is charged the mix loss. Otherwise it is charged the hedge loss
:math:`\langle w, l \rangle`. Its excess over the mix loss, the gap, sums to
:math:`\Delta`, and the rate stays below :math:`\ln(A K) / \Delta` for `A` shares, as in
AdaHedge.

The weights that predict are announced before the weight of their round is known. If it
is larger than all before whose losses differed, the rate falls in this round. The bound
is on the mix loss of the weights at the new rate; what the announced ones are charged
above that, the lag, adds to the gaps.

Here `excess` is a loss less the smallest of the round, as in :mod:`.adahedge`.
"""

import math
from typing import NamedTuple

import numpy as np

from .._portable import chosen, exact, exp, larger

#: Stands for the share 1 / (t + 1) after round `t`.
DECREASING = -1.0

#: Shares that run side by side, from none to one that forgets within ten rounds.
SHARES = (0.0, DECREASING, 0.001, 0.01, 0.1)

#: The scale grows by more than it must, so that it grows seldom.
GROWTH = 1.25

#: No weight falls below this, so that it can grow again.
MIN_WEIGHT = 1e-300

#: The exponential of minus this counts as 0.
MAX_EXPONENT = 700.0


class LateRounds(NamedTuple):
    """Weights of experts for each share, when rounds were predicted.

    Shares are weighed by the losses of the weights that predicted, whatever came in
    between: a share that follows the latest rounds is not better for knowing more than
    it did then.
    """

    of_experts: np.ndarray  # (n, A, K), filled for rounds that are not known
    is_known: np.ndarray  # bool, (n,)
    is_late: np.ndarray  # bool, (n,), filled: whether these weights have changed since


class FixedShareState(NamedTuple):
    """State of fixed share with `A` shares and `K` experts."""

    shares: np.ndarray  # (A,)
    of_shares: np.ndarray  # (A,), weights of the shares
    of_experts: np.ndarray  # (A, K), weights of the experts for each share
    weights: np.ndarray  # (K,), weights of the experts for all shares
    totals: np.ndarray  # (K,), cumulative losses
    numbers: np.ndarray  # (4,), in the order of the properties
    mixable_scale: float  # 1 / eta where the loss is mixable with the rate eta, else 0
    log_paths: float  # ln(A K)

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
    def scale(self):
        """1 / eta of the next round."""
        return self.numbers.item(3)


@exact
def likelihood(excess, scale):
    """Factor of a weight; 1 while `scale` is 0, and for an `excess` of 0."""
    if scale == 0.0:
        return 1.0
    return chosen(MAX_EXPONENT * scale < excess, 0.0, exp(-(excess / scale)))


@exact
def gap(hedge_loss, mean_likelihood, scale):
    """Hedge loss less mix loss, both less the smallest loss of the round."""
    if scale == 0.0:
        return hedge_loss
    return larger(0.0, hedge_loss + scale * np.log(mean_likelihood))


@exact
def lag(mean_likelihood, tempered_mean, scale):
    """Mix loss of the announced weights less that of the tempered ones, if above 0."""
    return larger(0.0, scale * np.log(tempered_mean / mean_likelihood))


@exact
def lasting_scale(Delta, log_paths, scale):
    """Return the scale, enlarged if the gaps require it; `log_paths` is ln(A K)."""
    return GROWTH * Delta / log_paths if log_paths * scale < Delta else scale


@exact
def tempered(w, ratio):
    """Weight at a smaller rate, up to a common factor."""
    return w**ratio


@exact
def share_after(share, t):
    """Share of the weights that is divided among all experts after round `t`."""
    return chosen(share < 0.0, 1.0 / (t + 1.0), share)


@exact
def shared(v, share, K):
    """Mix a weight with the uniform weight 1 / K, by a share."""
    return larger(v + share * (1.0 / K - v), MIN_WEIGHT)


def complexity(share, K, n_rounds, n_switches):
    """Largest complexity of a sequence of experts that switches `n_switches` times.

    That is minus the logarithm of its probability before any loss is known.
    """
    if K == 1:
        return 0.0
    stays = max(n_rounds - 1 - n_switches, 0)
    if share == DECREASING:
        smallest, of_stays = 1.0 / max(n_rounds, 1), math.log(max(n_rounds, 1))
    else:
        smallest, of_stays = share, -stays * math.log1p(share / K - share)
    if n_switches == 0:
        return math.log(K) + of_stays
    if smallest == 0.0:
        return math.inf
    return math.log(K) + of_stays + n_switches * math.log(K / smallest)
