"""Mixtures of experts: their weights, and means of their predictions."""

from functools import singledispatch

import numpy as np
from scipy.special import softmax

from ..._portable import difference
from ...mixing import adahedge, fixed_share, probabilities
from ...mixing.adahedge import AdaHedgeState
from ...mixing.fixed_share import FixedShareState


@singledispatch
def learn_rounds(state, losses, c, weights, late=None):
    raise NotImplementedError(type(state))


@learn_rounds.register
def learn_hedge(state: AdaHedgeState, losses, c, weights, late=None):
    lead, w, totals, numbers, log_K = state
    t, gap, loss, largest_range, norm = numbers.tolist()
    scale = adahedge.inverse_rate(gap, log_K)
    with np.errstate(all="ignore"):
        for r, losses_of_round in enumerate(losses.sum(axis=2).T):
            weights[r] = w
            if not c[r] > 0.0:
                continue
            weighted = c[r] * losses_of_round
            smallest = np.minimum.reduce(weighted)
            excess = difference(weighted, smallest)
            largest = np.maximum.reduce(weighted) - smallest
            largest_range, norm = max(largest_range, largest), np.hypot(norm, largest)
            totals += weighted
            hedge_loss = np.add.reduce(w * excess)
            t += 1.0
            loss += smallest + hedge_loss
            lead += excess
            rise = np.minimum.reduce(lead)
            lead -= rise
            if adahedge.is_mild(hedge_loss, scale):
                spreads = np.add.reduce(adahedge.spread(w, excess, hedge_loss, scale))
                gap += adahedge.gap_from_spreads(spreads, scale)
            else:
                shares = np.add.reduce(adahedge.share(lead, scale))
                largest = np.maximum.reduce(w)
                gap += adahedge.gap_from_shares(
                    hedge_loss, rise, largest, shares, scale
                )
            scale = adahedge.inverse_rate(gap, log_K)
            w[:] = adahedge.share(lead, scale)
            w /= np.add.reduce(w)
    numbers[:] = t, gap, loss, largest_range, norm


@learn_rounds.register
def learn_shares(state: FixedShareState, losses, c, weights, late=None):
    shares, of_shares, of_experts, w, totals, numbers, *scalars = state
    mixable_scale, log_paths = scalars
    t, gap, loss, scale = numbers.tolist()
    K = w.size
    with np.errstate(all="ignore"):
        for r, losses_of_round in enumerate(losses.sum(axis=2).T):
            weights[r] = w
            announced, before = w, None
            if late is not None:
                before = _announced_before(late, r, of_experts)
            if before is not None:
                announced = np.einsum("a,ak->k", of_shares, before)
                announced /= np.add.reduce(announced)
                weights[r] = announced
            if not c[r] > 0.0:
                continue
            weighted = c[r] * losses_of_round
            smallest = np.minimum.reduce(weighted)
            totals += weighted
            excess = difference(weighted, smallest)
            # Losses that are equal ask for no lower rate, whatever they weigh.
            lowest_scale = c[r] * mixable_scale
            is_record = lowest_scale > scale and excess.any()
            is_late = is_record and scale > 0.0
            if is_record:
                _temper(of_shares, of_experts, scale / lowest_scale)
                scale = lowest_scale
            earned = fixed_share.likelihood(excess, scale)
            mean = np.add.reduce(announced * earned)
            if is_late:
                of_tempered = np.add.reduce(of_experts * earned, axis=1)
                tempered_mean = np.add.reduce(of_shares * of_tempered)
                gap += fixed_share.lag(mean, tempered_mean, scale)
            if mixable_scale > 0.0:
                loss += smallest - scale * np.log(mean)
            else:
                hedge_loss = np.add.reduce(announced * excess)
                loss += smallest + hedge_loss
                gap += fixed_share.gap(hedge_loss, mean, scale)
                lasting = fixed_share.lasting_scale(gap, log_paths, scale)
                if lasting > scale:
                    _temper(of_shares, of_experts, scale / lasting)
                    scale = lasting
                    earned = fixed_share.likelihood(excess, scale)
            t += 1.0
            of_experts *= earned
            sums = np.add.reduce(of_experts, axis=1)
            of_experts *= 1.0 / sums[:, np.newaxis]
            share = fixed_share.share_after(shares, t)[:, np.newaxis]
            of_experts[:] = fixed_share.shared(of_experts, share, K)
            if before is not None:
                sums = np.add.reduce(before * earned, axis=1)
            of_shares *= sums
            of_shares /= np.add.reduce(of_shares)
            of_shares[:] = fixed_share.shared(of_shares, 0.0, of_shares.size)
            np.einsum("a,ak->k", of_shares, of_experts, out=w)
            w /= np.add.reduce(w)
    numbers[:] = t, gap, loss, scale


def _announced_before(late, r, of_experts):
    """Return weights that predicted a round, unless they are what they were."""
    own = late.of_experts[r]
    late.is_late[r] = late.is_known[r] and not np.array_equal(own, of_experts)
    if late.is_late[r]:
        return own
    own[:] = of_experts
    return None


def _temper(of_shares, of_experts, ratio):
    """Lower the learning rate of all weights."""
    of_shares[:] = fixed_share.tempered(of_shares, ratio)
    of_shares /= np.add.reduce(of_shares)
    of_experts[:] = fixed_share.tempered(of_experts, ratio)
    of_experts /= np.add.reduce(of_experts, axis=1)[:, np.newaxis]


def mix(kind, predictions, weights):
    # Elementwise, so that a row's mean does not depend on the rows beside it.
    mean = 0.0
    for p, weight in zip(predictions, np.moveaxis(weights, 2, 0), strict=True):
        if kind == "log_odds":
            p = np.stack(probabilities.of_log_odds(p))
        elif kind == "softmax":
            p = softmax(p, axis=1)
            p = np.maximum(p, probabilities.MIN_PROBABILITY)
        mean = mean + weight.T * p
    if kind == "log_odds":
        return probabilities.odds_ratio(*mean)
    return np.log(mean) if kind == "softmax" else mean
