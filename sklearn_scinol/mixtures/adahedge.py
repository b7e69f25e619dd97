"""AdaHedge: weights for experts, learned from their losses."""

import math

import numpy as np

from .._invariants import ROUNDING
from ..mixing import adahedge
from ..mixing.adahedge import AdaHedgeState
from .expert_weights import ExpertWeights


class AdaHedge(ExpertWeights):
    r"""Weights for experts, learned from their losses, with nothing to tune.

    In each round the weights are announced, then the experts' losses come in, and the
    mixture is charged the mean of these losses under the weights. In the end that is
    little more than the loss of the best expert, whatever the losses were [1]_.
    Neither the range of the losses nor the number of rounds is needed beforehand:
    losses in another unit lead to the same weights, to the last bit if its ratio is a
    power of two, and a constant added to all losses of a round changes nothing either.

    A round costs O(n_experts).

    Parameters
    ----------
    n_experts : int
        Number of experts, at least 1.

    Attributes
    ----------
    weights_
    cumulative_losses_
    cumulative_loss_
    mixability_gap_ : float
        Sum of the mixability gaps, see the notes. The regret, which is
        `cumulative_loss_` less the smallest of `cumulative_losses_`, is at most twice
        that.
    learning_rate_
    regret_bound_
    n_rounds_

    See Also
    --------
    sklearn_scinol.HedgeClassifier : Estimators as experts, all in one estimator.

    Notes
    -----
    For cumulative losses :math:`L_k` of `K` experts the weights are :math:`w_k \propto
    e^{-\eta L_k}`. The learning rate is :math:`\eta = \ln K / \Delta`, where
    :math:`\Delta` (`mixability_gap_`) sums over the rounds by how much the loss
    :math:`\langle w, l \rangle` of the mixture exceeded the mix loss :math:`-\frac1\eta
    \ln \sum_k w_k e^{-\eta l_k}`. While :math:`\Delta` is 0, the weight is shared
    equally by the experts of the smallest :math:`L_k`.

    The regret is at most :math:`2 \Delta \le \sqrt{\ln K \sum_t s_t^2} + 2 \max_t s_t`,
    where :math:`s_t` is the difference between the largest and the smallest loss of
    round `t` [1]_ [2]_. The right-hand side is `regret_bound_`.

    Where experts predict and the loss is convex in the prediction, the prediction
    :math:`\sum_k w_k p_k` costs no more than :math:`\langle w, l \rangle`.

    References
    ----------
    .. [1] S. de Rooij, T. van Erven, P. D. Grünwald, W. M. Koolen. "Follow the leader
       if you can, hedge if you must." Journal of Machine Learning Research 15, 2014.
       https://jmlr.org/papers/v15/rooij14a.html
    .. [2] W. M. Koolen. "AdaFTRL." 2016. (The bound with these constants.)

    Examples
    --------
    >>> from sklearn_scinol.experts import AdaHedge
    >>> hedge = AdaHedge(n_experts=3)
    >>> hedge.update([0.0, 1.0, 2.0])  # the weights before these losses
    array([0.33333333, 0.33333333, 0.33333333])
    >>> hedge.weights_.round(2)
    array([0.69, 0.23, 0.08])
    >>> _ = hedge.update([[0.0, 1.0, 2.0], [5.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    >>> hedge.weights_.round(2)
    array([0.36, 0.54, 0.11])
    >>> hedge.cumulative_losses_
    array([5., 4., 8.])
    >>> regret = hedge.cumulative_loss_ - hedge.cumulative_losses_.min()
    >>> print(f"{regret:.2f} is at most {hedge.regret_bound_:.2f}")
    2.73 is at most 13.55
    """

    _sums: tuple[str, ...] = *ExpertWeights._sums, "lead"

    def _initial_state(self, K):
        return AdaHedgeState(
            log_K=math.log(K),
            lead=np.zeros(K),
            weights=np.full(K, 1.0 / K),
            totals=np.zeros(K),
            numbers=np.zeros(5),
        )

    def _merged_state(self, shards):
        totals, gap = shards.totals.sum(), float(shards.gap.sum())
        lead = shards.lead.sum()
        lead = lead - lead.min()
        scale = adahedge.inverse_rate(gap, shards.start.log_K)
        with np.errstate(all="ignore"):
            shares = adahedge.share(lead, scale)
        norm = math.sqrt(shards.map(lambda state: state.norm_of_ranges**2).sum())
        of_losses = gap, shards.loss.sum(), shards.largest_range.max(), norm
        return shards.start._replace(
            lead=lead,
            weights=shares / shares.sum(),
            totals=totals,
            numbers=np.array([shards.t.sum(), *of_losses], float),
        )

    def __repr__(self):
        return f"{type(self).__name__}(n_experts={self.n_experts})"

    @property
    def learning_rate_(self) -> float:
        """Rate of the next round, an inverse loss; infinite while there is no gap."""
        gap = self._state.gap
        return math.inf if gap == 0.0 else self._state.log_K / gap

    @property
    def regret_bound_(self) -> float:
        """Bound on the regret by the theorem, in units of the losses."""
        return self.regret_bound()

    def _bound(self, n_switches, n_copies=1):
        if n_switches > 0:  # the theorem is about one expert for all rounds
            return math.inf
        state = self._state
        return math.sqrt(state.log_K) * state.norm_of_ranges + 2 * state.largest_range

    def _invariants(self):
        yield from super()._invariants()
        state = self._state
        log_K = math.log(self.n_experts)
        yield "log_K is ln(n_experts)", math.isclose(state.log_K, log_K)
        yield "lead >= 0", state.lead >= 0.0
        yield "an expert leads", state.lead.min() == 0.0
        yield "weights >= 0", state.weights >= 0.0
        yield "weights sum to one", abs(state.weights.sum() - 1.0) < 1e-9
        yield "gap >= 0", state.gap >= 0.0
        yield "largest_range >= 0", state.largest_range >= 0.0
        norm = state.norm_of_ranges
        yield "largest_range <= norm_of_ranges", state.largest_range <= ROUNDING * norm
        largest = ROUNDING * math.sqrt(self.n_rounds_) * state.largest_range
        yield "norm_of_ranges^2 <= n_rounds_ largest_range^2", norm <= largest
