"""Mixtures of experts: their weights, and means of what they say."""

import numpy as np
from scipy.special import softmax

from ...learners import hedge
from ..protocol import Hedge

__all__ = ["learn_rounds", "mix"]


def learn_rounds(state, losses):
    log_K, lead, w, totals, gap, loss, largest_range, norm = state
    weights = np.empty_like(losses)
    with np.errstate(all="ignore"):
        smallest = losses.min(axis=1)
        ranges = losses.max(axis=1) - smallest
        # One by one, so that the norm does not depend on where blocks begin.
        norm = np.hypot.accumulate(np.append(norm, ranges))[-1]
        scale = hedge.inverse_rate(gap, log_K)
        for r in range(losses.shape[0]):
            weights[r] = w
            totals += losses[r]
            excess = losses[r] - smallest[r]
            hedge_loss = np.add.reduce(w * excess)
            loss += smallest[r] + hedge_loss
            lead += excess
            rise = np.minimum.reduce(lead)
            lead -= rise
            if hedge.is_mild(hedge_loss, scale):
                spreads = np.add.reduce(hedge.spread(w, excess, hedge_loss, scale))
                gap += hedge.gap_from_spreads(spreads, scale)
            else:
                shares = np.add.reduce(hedge.share(lead, scale))
                largest = np.maximum.reduce(w)
                gap += hedge.gap_from_shares(hedge_loss, rise, largest, shares, scale)
            scale = hedge.inverse_rate(gap, log_K)
            w[:] = hedge.share(lead, scale)
            w /= np.add.reduce(w)
    largest_range = max(largest_range, ranges.max(initial=0.0))
    numbers = map(float, (gap, loss, largest_range, norm))
    return Hedge(log_K, lead, w, totals, *numbers), weights


def mix(kind, answers, weights):
    # Elementwise, so that a row's mean does not depend on the rows beside it.
    mean = 0.0
    for answer, weight in zip(answers, np.moveaxis(weights, 2, 0), strict=True):
        if kind == "log_odds":
            answer = np.hstack(hedge.probabilities(answer))
        elif kind == "softmax":
            answer = softmax(answer, axis=1)
            answer = np.maximum(answer, hedge.SMALLEST_PROBABILITY)
        mean = mean + weight.T * answer
    if kind == "log_odds":
        return hedge.odds_ratio(mean[:, :1], mean[:, 1:])
    return np.log(mean) if kind == "softmax" else mean
