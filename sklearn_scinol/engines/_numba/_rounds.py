"""The loop over rounds of experts' losses.

Their sums are not reordered: exponentials take the time, and rounds must give the same
numbers wherever arrays happen to lie.
"""

from functools import cache

import numpy as np

from ... import _portable
from ...learners import hedge
from ._compiling import STRICT, compiled, source_digest

__all__ = ["learn_rounds"]


def learn_rounds(losses, smallest, log_K, L, w, totals, Delta, mixture_loss, weights):
    """Learn from rounds of experts' losses in order: see the NumPy engine's."""
    kernel = _kernel()
    excess = np.empty_like(L)
    return kernel(
        losses, smallest, log_K, L, w, totals, Delta, mixture_loss, weights, excess
    )


@cache
def _kernel():
    digest = source_digest()

    def learn_rounds(
        losses, smallest, log_K, L, w, totals, Delta, mixture_loss, weights, excess
    ):
        digest  # noqa: B018 - see source_digest
        n, K = losses.shape
        unit = hedge.unit(Delta, log_K)
        for r in range(n):
            h = 0.0
            rise = np.inf
            for k in range(K):
                weights[r, k] = w[k]
                totals[k] += losses[r, k]
                excess[k] = losses[r, k] - smallest[r]
                h += w[k] * excess[k]
                L[k] += excess[k]
                rise = _portable.smaller(rise, L[k])
            mixture_loss += smallest[r] + h
            for k in range(K):
                L[k] -= rise
            if hedge.is_mild(h, unit):
                spreads = 0.0
                for k in range(K):
                    if w[k] > 0.0:  # in the end that is true of few
                        spreads += hedge.spread(w[k], excess[k], h, unit)
                Delta += hedge.gap_from_spreads(spreads, unit)
            else:
                shares = largest = 0.0
                for k in range(K):
                    shares += hedge.share(L[k], unit)
                    largest = _portable.larger(largest, w[k])
                Delta += hedge.gap_from_shares(h, rise, largest, shares, unit)
            unit = hedge.unit(Delta, log_K)
            shares = 0.0
            for k in range(K):
                w[k] = 0.0 if hedge.is_lost(L[k], unit) else hedge.share(L[k], unit)
                shares += w[k]
            for k in range(K):
                w[k] /= shares
        return Delta, mixture_loss

    return compiled(learn_rounds, STRICT)
