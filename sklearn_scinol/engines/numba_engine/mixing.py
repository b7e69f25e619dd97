"""Mixtures of experts: their weights, and means of their predictions.

Sums over rounds are not reordered: rounds must give the same numbers wherever arrays
happen to lie, and whatever block they are in.
"""

from functools import cache

import numpy as np

from ... import _portable
from ...mixing import adahedge, fixed_share, probabilities
from ...mixing.adahedge import AdaHedgeState
from .compiling import STRICT, compiled, runs_loop, strict


@runs_loop
def learn_rounds(state, losses, c, weights, late=None):
    """Learn from rounds of experts' losses."""
    is_hedge = isinstance(state, AdaHedgeState)
    room = np.empty((2 if is_hedge else 3, *state.weights.shape))
    if is_hedge:
        return _learn_hedge, (state, losses, c, weights, room), None
    loop = _shares_loop(late is not None)
    return loop, (state, losses, c, weights, room, late), None


@strict
def _learn_hedge(state, losses, c, weights, room):
    lead, w, totals, numbers = (state.lead, state.weights, state.totals, state.numbers)
    t, gap, loss = numbers[0], numbers[1], numbers[2]
    largest_range, norm_of_ranges = numbers[3], numbers[4]
    weighted, excess = room
    K, n = losses.shape[:2]
    scale = adahedge.inverse_rate(gap, state.log_K)
    for r in range(n):
        for k in range(K):
            weights[r, k] = w[k]
        if not c[r] > 0.0:
            continue
        t += 1.0
        smallest, largest = np.inf, -np.inf
        for k in range(K):
            weighted[k] = c[r] * sum_of(losses[k, r])
            smallest = _portable.smaller(smallest, weighted[k])
            largest = _portable.larger(largest, weighted[k])
        largest_range = _portable.larger(largest_range, largest - smallest)
        norm_of_ranges = np.hypot(norm_of_ranges, largest - smallest)
        hedge_loss = 0.0
        rise = np.inf
        for k in range(K):
            totals[k] += weighted[k]
            excess[k] = _portable.difference(weighted[k], smallest)
            hedge_loss += w[k] * excess[k]
            lead[k] += excess[k]
            rise = _portable.smaller(rise, lead[k])
        loss += smallest + hedge_loss
        for k in range(K):
            lead[k] -= rise
        if adahedge.is_mild(hedge_loss, scale):
            spreads = 0.0
            for k in range(K):
                if w[k] > 0.0:  # in the end that is true of few
                    spreads += adahedge.spread(w[k], excess[k], hedge_loss, scale)
            gap += adahedge.gap_from_spreads(spreads, scale)
        else:
            shares = heaviest = 0.0
            for k in range(K):
                shares += adahedge.share(lead[k], scale)
                heaviest = _portable.larger(heaviest, w[k])
            gap += adahedge.gap_from_shares(hedge_loss, rise, heaviest, shares, scale)
        scale = adahedge.inverse_rate(gap, state.log_K)
        shares = 0.0
        for k in range(K):
            w[k] = 0.0
            if not adahedge.is_lost(lead[k], scale):
                w[k] = adahedge.share(lead[k], scale)
            shares += w[k]
        for k in range(K):
            w[k] /= shares
    numbers[0], numbers[1], numbers[2] = t, gap, loss
    numbers[3], numbers[4] = largest_range, norm_of_ranges


@cache
def _shares_loop(has_late):
    """Return the loop over rounds, perhaps for :class:`LateRounds`."""

    def learn_shares(state, losses, c, weights, room, late):
        of_shares, of_experts = state.of_shares, state.of_experts
        w, totals, numbers = state.weights, state.totals, state.numbers
        t, gap, loss, scale = numbers[0], numbers[1], numbers[2], numbers[3]
        weighted, excess, earned = room
        K, n = losses.shape[:2]
        A = of_shares.size
        for r in range(n):
            for k in range(K):
                weights[r, k] = w[k]
            if has_late:
                find_late(late, r, of_shares, of_experts, weights)
            if not c[r] > 0.0:
                continue
            smallest = np.inf
            for k in range(K):
                weighted[k] = c[r] * sum_of(losses[k, r])
                totals[k] += weighted[k]
                smallest = _portable.smaller(smallest, weighted[k])
            largest = 0.0
            for k in range(K):
                excess[k] = _portable.difference(weighted[k], smallest)
                largest = _portable.larger(largest, excess[k])
            lowest_scale = c[r] * state.mixable_scale
            # Losses that are equal ask for no lower rate, whatever they weigh.
            is_record = lowest_scale > scale and largest > 0.0
            is_late = is_record and scale > 0.0
            if is_record:
                temper(of_shares, of_experts, scale / lowest_scale)
                scale = lowest_scale
            mean = hedge_loss = 0.0
            for k in range(K):
                earned[k] = fixed_share.likelihood(excess[k], scale)
                w_k = w[k]
                if has_late:
                    w_k = weights[r, k]
                mean += w_k * earned[k]
                hedge_loss += w_k * excess[k]
            if is_late:
                tempered_mean = 0.0
                for a in range(A):
                    for k in range(K):
                        tempered_mean += of_shares[a] * of_experts[a, k] * earned[k]
                gap += fixed_share.lag(mean, tempered_mean, scale)
            if state.mixable_scale > 0.0:
                loss += smallest - scale * np.log(mean)
            else:
                loss += smallest + hedge_loss
                gap += fixed_share.gap(hedge_loss, mean, scale)
                lasting = fixed_share.lasting_scale(gap, state.log_paths, scale)
                if lasting > scale:
                    temper(of_shares, of_experts, scale / lasting)
                    scale = lasting
                    for k in range(K):
                        earned[k] = fixed_share.likelihood(excess[k], scale)
            t += 1.0
            total = 0.0
            for a in range(A):
                of_share = 0.0
                for k in range(K):
                    of_experts[a, k] *= earned[k]
                    of_share += of_experts[a, k]
                share = fixed_share.share_after(state.shares[a], t)
                inverse = 1.0 / of_share
                for k in range(K):
                    v = of_experts[a, k] * inverse
                    of_experts[a, k] = fixed_share.shared(v, share, K)
                if has_late:
                    of_share = earned_before(late, r, a, earned, of_share)
                of_shares[a] *= of_share
                total += of_shares[a]
            w[:] = 0.0
            for a in range(A):
                of_shares[a] = fixed_share.shared(of_shares[a] / total, 0.0, A)
                for k in range(K):
                    w[k] += of_shares[a] * of_experts[a, k]
            total = 0.0
            for k in range(K):
                total += w[k]
            for k in range(K):
                w[k] /= total
        numbers[0], numbers[1], numbers[2], numbers[3] = t, gap, loss, scale

    return compiled(learn_shares, STRICT)


@_portable.exact
def find_late(late, r, of_shares, of_experts, weights):
    """Compute the weights of a round that were announced before, if they differ."""
    own, differ = late.of_experts, False
    if late.is_known[r]:
        for a in range(of_shares.size):
            for k in range(of_experts.shape[1]):
                differ |= own[r, a, k] != of_experts[a, k]
    late.is_late[r] = differ
    if not differ:
        for a in range(of_shares.size):
            for k in range(of_experts.shape[1]):
                own[r, a, k] = of_experts[a, k]
    else:
        total = 0.0
        for k in range(of_experts.shape[1]):
            w_k = 0.0
            for a in range(of_shares.size):
                w_k += of_shares[a] * own[r, a, k]
            weights[r, k] = w_k
        for k in range(of_experts.shape[1]):
            total += weights[r, k]
        for k in range(of_experts.shape[1]):
            weights[r, k] /= total


@_portable.exact
def earned_before(late, r, a, earned, of_share):
    """Return what a share earned by the weights that were announced before."""
    if late.is_late[r]:
        of_share = 0.0
        for k in range(earned.size):
            of_share += late.of_experts[r, a, k] * earned[k]
    return of_share


@_portable.exact
def sum_of(losses):
    """Sum of losses in order."""
    total = losses[0]
    for j in range(1, losses.size):
        total += losses[j]
    return total


@_portable.exact
def temper(of_shares, of_experts, ratio):
    """Lower the learning rate of all weights."""
    tempered_into(of_shares, ratio)
    for a in range(of_shares.size):
        tempered_into(of_experts[a], ratio)


@_portable.exact
def tempered_into(w, ratio):
    """Lower the learning rate of weights of sum 1."""
    total = 0.0
    for k in range(w.size):
        w[k] = fixed_share.tempered(w[k], ratio)
        total += w[k]
    for k in range(w.size):
        w[k] /= total


@runs_loop
def mix(kind, predictions, weights):
    """Mix the predictions of experts."""
    _, n, n_outputs = predictions.shape
    n_sums = 2 * n_outputs if kind == "log_odds" else n_outputs
    mean = np.empty((n, n_outputs))
    room = np.empty((n_sums, n)), np.empty(n), np.empty(n_outputs)
    loop = mean_of_softmax if kind == "softmax" else _mean_loop(kind == "log_odds")
    return loop, (predictions, weights, room, mean), mean


# Over rows for each expert, which vectorises.


@cache
def _mean_loop(are_odds):
    """Return the loop for means of predictions, or of probabilities of log odds."""

    def mean_of_predictions(predictions, weights, room, mean):
        sums, w, _ = room
        n_experts, n, n_outputs = predictions.shape
        sums[:] = 0.0
        for e in range(n_experts):
            for k in range(n_outputs):
                weights_of(e, k if weights.shape[0] > 1 else 0, weights, w)
                for r in range(n):
                    p = predictions[e, r, k]
                    if are_odds:
                        p, p_other = probabilities.of_log_odds(p)
                        sums[n_outputs + k, r] += w[r] * p_other
                    sums[k, r] += w[r] * p
        for r in range(n):
            for k in range(n_outputs):
                p = sums[k, r]
                if are_odds:
                    p = probabilities.odds_ratio(p, sums[n_outputs + k, r])
                mean[r, k] = p

    return strict(mean_of_predictions)


@strict
def mean_of_softmax(predictions, weights, room, mean):
    n_outputs = predictions.shape[2]
    sums, w, share = room
    sums[:] = 0.0
    for e in range(predictions.shape[0]):
        weights_of(e, 0, weights, w)
        for r in range(predictions.shape[1]):
            _portable.softmax(predictions[e, r], share)
            for k in range(n_outputs):
                p = _portable.larger(share[k], probabilities.MIN_PROBABILITY)
                sums[k, r] += w[r] * p
    for r in range(mean.shape[0]):
        for k in range(n_outputs):
            mean[r, k] = np.log(sums[k, r])


def weights_of(e, h, weights, w):
    """Copy the weights of an expert."""
    for r in range(w.size):
        w[r] = weights[h, r if weights.shape[1] > 1 else 0, e]
