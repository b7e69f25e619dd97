"""Fixed share: weights for experts that may take turns at being the best."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar

from ..mixing import fixed_share
from ..mixing.fixed_share import FixedShareState, LateRounds
from .expert_weights import ExpertWeights

# The largest learning rate; the smallest is its inverse.
MAX_RATE = 1e100


def learn_rounds(engine, rounds, served=None, is_late=None):
    """Learn rounds by fixed share: what :meth:`Engine.learn_rounds` takes.

    If rows were served, the :class:`ServedRows` are of the weights of all shares, and
    `is_late` becomes 1 if these have changed since they served a row that is learned.
    """
    if served is None:
        engine.learn_rounds(*rounds)
        return
    state, _, c, _ = rounds
    values, n = np.empty(served.values.shape), len(c)
    late = LateRounds(
        values.reshape(n, *state.of_experts.shape),
        served.is_known,
        np.zeros(n, dtype=bool),
    )
    engine.run(np.copyto, values, served.values)
    engine.learn_rounds(*rounds, late)
    engine.run(np.copyto, served.values, values)
    engine.run(_find_late, late.is_late, c, is_late)


def _find_late(is_late, c, any_late):
    any_late[0] = max(any_late[0], float((is_late & (c > 0.0)).any()))


class FixedShare(ExpertWeights):
    r"""Weights for experts that may take turns at being the best.

    Where the best expert changes as the stream goes on, :class:`AdaHedge` is too late:
    an expert that was bad for long has to make good for all of it before it gets any
    weight. Fixed share [1]_ moves a little weight from the good experts to all of them
    after each round, so that experts which become good are found soon. In the end the
    mixture is charged little more than the best *sequence* of experts, with a price for
    each change. How much to share need not be known: five shares run side by side and
    are mixed, among them none at all and one that decreases as 1/t.

    With `learning_rate` None nothing about the losses needs to be known either, as with
    :class:`AdaHedge`: the weights do not change with the unit of the losses, or with a
    constant added to all losses of a round.

    A round costs O(n_experts).

    Parameters
    ----------
    n_experts : int
        Number of experts, at least 1.
    learning_rate : float, default=None
        For losses that are mixable: where predictions are mixed in such a way that the
        mixture's loss is at most :math:`-\frac1\eta \ln \sum_k w_k e^{-\eta l_k}`, this
        is :math:`\eta`, from 1e-100 to 1e100. For the log loss of a weighted mean of
        probabilities it is 1, and the rule is Bayes'. None learns the rate from the
        losses, for which it is enough that the mixture is charged their weighted mean.

    Attributes
    ----------
    weights_
    shares_
    share_weights_
    cumulative_losses_
    cumulative_loss_ : float
        Sum of what the mixture was charged at most, in the same units: with a
        `learning_rate` of the expression above, with None of the weighted means of the
        losses.
    mixability_gap_ : float
        Sum of the mixability gaps, see the notes; 0 with a `learning_rate` if no sample
        weight is larger than that of the first round whose losses differed.
    learning_rate_
    n_rounds_

    See Also
    --------
    AdaHedge : Against one expert for all rounds.
    sklearn_scinol.HedgeClassifier : Estimators as experts, all in one estimator.

    Notes
    -----
    With the share :math:`\alpha`, the losses :math:`l_k` of a round turn the weights
    :math:`w_k` of `K` experts into :math:`v_k \propto w_k e^{-\eta l_k}`, and then into
    :math:`(1 - \alpha) v_k + \alpha / K`. The shares 0, :math:`1 / (t + 1)` after round
    `t`, .001, .01 and .1 have weights that learn from their mixtures' losses by the
    first of the two rules. `weights_` are the mean of the weights under these.

    This is Bayes' rule for a prior on sequences of experts. The sum of the mix losses
    :math:`-\frac1\eta \ln \sum_k w_k e^{-\eta l_k}` therefore exceeds the loss of no
    sequence by more than :math:`\frac1\eta` times minus the logarithm of its prior
    probability. For one with :math:`n` switches in :math:`T` rounds that is, for each
    :math:`\alpha`, at most

    .. math::
        C = \ln 5 + \ln K + n \ln \frac{K}{\alpha_{T-1}}
            - \sum_t \ln (1 - \alpha_t + \alpha_t / K),

    where :math:`\alpha_{T-1}` is the last and for the decreasing share the sum at most
    :math:`\ln T`. :meth:`regret_bound` is :math:`\Delta + C / \eta_T` with the smallest
    `C` of the five. The sum of the gaps :math:`\Delta`, by how much the mixture's
    losses exceeded the mix losses, is 0 with a `learning_rate` and equal sample
    weights. So a mixture of probabilities is then charged at most :math:`\ln K + \ln 5`
    nats more than any single expert, in total and whatever the data.

    With None, the rate is lowered before :math:`\eta \Delta` exceeds :math:`\ln 5 K`.
    Since a gap is at most :math:`s_t` and :math:`\eta s_t^2 / 8`, with :math:`s_t` the
    difference between the largest and the smallest loss of round `t`, this leads to
    :math:`\Delta \le \frac12 \sqrt{\ln 5K \sum_t s_t^2} + \max_t s_t`, as for AdaHedge
    [2]_. A lower rate raises all weights to a power below 1, the ratio of the rates,
    and divides them by their sum, which keeps to the bound of each share. That of their
    mixture is proved up to :math:`\ln K / \eta_T` more, since the round counts at the
    lower rate for the weights of the shares as well.

    A sample weight multiplies the losses of its round. The weight of a mixable loss
    does so to its `learning_rate`, which is divided by the largest weight so far of a
    round whose losses differed, :math:`c`. In such a round of larger weight, `weights_`
    :math:`w`
    were announced for a higher rate, and the bound is on the mix loss of those for the
    new one, :math:`w'`. The gap of the round is then what the former are charged above
    that, :math:`\frac c\eta \big[ \ln \sum_k w'_k e^{-\eta l_k} - \ln \sum_k w_k
    e^{-\eta l_k} \big]_+` for its losses :math:`l` without the weight. It depends on
    the data: before such a round nothing bounds it but the losses.

    References
    ----------
    .. [1] M. Herbster, M. K. Warmuth. "Tracking the best expert." Machine Learning 32,
       1998.
    .. [2] S. de Rooij, T. van Erven, P. D. Grünwald, W. M. Koolen. "Follow the leader
       if you can, hedge if you must." Journal of Machine Learning Research 15, 2014.
       https://jmlr.org/papers/v15/rooij14a.html

    Examples
    --------
    Two experts who are right in turn, for a hundred rounds each:

    >>> import numpy as np
    >>> from sklearn_scinol.experts import AdaHedge, FixedShare
    >>> losses = np.repeat([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], 100, axis=0)
    >>> hedge, fixed_share = AdaHedge(n_experts=2), FixedShare(n_experts=2)
    >>> for learner in hedge, fixed_share:
    ...     _ = learner.update(losses)
    ...     print(f"{learner.cumulative_loss_:.0f}")
    102
    11
    >>> print(f"{fixed_share.regret_bound(n_switches=2):.0f}")
    20
    """

    def __init__(self, n_experts: int, learning_rate: float | None = None) -> None:
        if learning_rate is not None:
            check_scalar(
                learning_rate,
                "learning_rate",
                Real,
                min_val=1 / MAX_RATE,
                max_val=MAX_RATE,
            )
            if math.isnan(learning_rate):
                raise ValueError("learning_rate == nan, must be a number.")
        self.learning_rate = learning_rate
        super().__init__(n_experts)

    def _initial_state(self, K):
        A, rate = len(fixed_share.SHARES), self.learning_rate
        return FixedShareState(
            mixable_scale=0.0 if rate is None else 1.0 / float(rate),
            log_paths=math.log(A * K),
            shares=np.array(fixed_share.SHARES),
            of_shares=np.full(A, 1.0 / A),
            of_experts=np.full((A, K), 1.0 / K),
            weights=np.full(K, 1.0 / K),
            totals=np.zeros(K),
            numbers=np.zeros(4),
        )

    def _merged_state(self, shards):
        gap = float(shards.gap.sum())
        scale = float(shards.scale.max())
        scale = fixed_share.lasting_scale(gap, shards.start.log_paths, scale)

        def mean(name):
            """The geometric mean of weights.

            Losses add up, and so does what they are divided by.
            """
            logs = shards.map(
                lambda state: np.log(
                    np.maximum(getattr(state, name), fixed_share.MIN_WEIGHT)
                )
            ).mean()
            weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
            weights = np.maximum(weights, fixed_share.MIN_WEIGHT)
            return weights / weights.sum(axis=-1, keepdims=True)

        of_shares, of_experts = mean("of_shares"), mean("of_experts")
        return shards.start._replace(
            of_shares=of_shares,
            of_experts=of_experts,
            weights=of_shares @ of_experts,
            totals=shards.totals.sum(),
            numbers=np.array([shards.t.sum(), gap, shards.loss.sum(), scale], float),
        )

    def __repr__(self):
        rate = self.learning_rate
        rate = "" if rate is None else f", learning_rate={rate}"
        return f"{type(self).__name__}(n_experts={self.n_experts}{rate})"

    @property
    def shares_(self) -> NDArray[np.float64]:
        """The shares of the next round: shape (n_shares,)."""
        return fixed_share.share_after(self._state.shares, self._state.t)

    @property
    def share_weights_(self) -> NDArray[np.float64]:
        """Weights of the shares, of sum 1: shape (n_shares,)."""
        return self._state.of_shares

    @property
    def learning_rate_(self) -> float:
        """Learning rate of the next round, an inverse loss.

        It is infinite while all losses of each round have been equal.
        """
        scale = self._state.scale or self._state.mixable_scale
        return math.inf if scale == 0.0 else 1.0 / scale

    def _bound(self, n_switches, n_copies=1):
        state = self._state
        # Experts that are equal have the weight of one.
        K = self.n_experts / n_copies
        smallest = min(
            fixed_share.complexity(share, K, self.n_rounds_, n_switches)
            for share in fixed_share.SHARES
        )
        return state.gap + state.scale * (math.log(state.shares.size) + smallest)

    def _invariants(self):
        yield from super()._invariants()
        state, K, A = self._state, self.n_experts, len(fixed_share.SHARES)
        yield "shares are SHARES", state.shares == fixed_share.SHARES
        yield "log_paths is ln(A K)", math.isclose(state.log_paths, math.log(A * K))
        rate = self.learning_rate
        yield (
            "mixable_scale is 1 / learning_rate, or 0",
            (state.mixable_scale == (0.0 if rate is None else 1.0 / float(rate))),
        )
        for name in "of_shares", "of_experts", "weights":
            sums = getattr(state, name).sum(axis=-1)
            yield f"{name} > 0", getattr(state, name) > 0.0
            yield f"{name} sum to one", np.abs(sums - 1.0) < 1e-9
        yield "scale >= 0", state.scale >= 0.0
        yield "gap >= 0", state.gap >= 0.0
        if state.mixable_scale == 0.0:
            yield "gap <= log_paths scale", state.gap <= state.log_paths * state.scale
