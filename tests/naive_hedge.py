"""A slow reference of AdaHedge in plain Python, written straight from the papers.

One round and one expert at a time, in decimal numbers with so many digits that it need
not care for what is well-conditioned. Nothing here is shared with the package. The
equations are those of

S. de Rooij, T. van Erven, P. D. Grünwald, W. M. Koolen: Follow the Leader If You Can,
Hedge If You Must, JMLR 2014.

W. M. Koolen: AdaFTRL, 2016: the definitions, Propositions 1, 2 and 5, and the section
on the Hedge setting with its regret bound.
"""

import decimal
from decimal import Decimal

INFINITY = Decimal("Infinity")


class AdaHedge:
    """`update` takes the losses of one round."""

    def __init__(self, n_experts, digits=50):
        # Exponentials of any size, such as occur where units change between extremes.
        self.context = decimal.Context(
            digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX
        )
        self.log_K = self.context.ln(n_experts)
        self.L = [Decimal(0)] * n_experts
        self.Delta = Decimal(0)
        self.hedge_loss = Decimal(0)
        self.ranges = []

    def eta(self):
        return self.log_K / self.Delta if self.Delta else INFINITY

    def unnormalised(self, L):
        if self.eta() == INFINITY:
            return [Decimal(L_k == min(L)) for L_k in L]
        return [(-self.eta() * (L_k - min(L))).exp() for L_k in L]

    def weights(self):
        with decimal.localcontext(self.context):
            unnormalised = self.unnormalised(self.L)
            return [u_k / sum(unnormalised) for u_k in unnormalised]

    def cumulative_mix_loss(self, L):
        """The minimum over w of <w, L> + KL(w, uniform) / eta."""
        if self.eta() == INFINITY:
            return min(L)
        mean = sum(self.unnormalised(L)) / len(L)
        return min(L) - mean.ln() / self.eta()

    def update(self, losses):
        with decimal.localcontext(self.context):
            losses = [Decimal(float(l_k)) for l_k in losses]
            hedge = sum(
                w_k * l_k for w_k, l_k in zip(self.weights(), losses, strict=True)
            )
            L = [L_k + l_k for L_k, l_k in zip(self.L, losses, strict=True)]
            mix = self.cumulative_mix_loss(L) - self.cumulative_mix_loss(self.L)
            self.L = L
            self.Delta += max(hedge - mix, Decimal(0))  # but for rounding, it is so
            self.hedge_loss += hedge
            self.ranges.append(max(losses) - min(losses))

    def regret_bound(self):
        with decimal.localcontext(self.context):
            squares = sum(s * s for s in self.ranges)
            return (self.log_K * squares).sqrt() + 2 * max(self.ranges)
