"""Slow references of weights for experts, in plain Python, straight from the papers.

One round and one expert at a time, in decimal numbers with so many digits that it need
not care for what is well-conditioned. Nothing here is shared with the package. The
equations are those of

S. de Rooij, T. van Erven, P. D. Grünwald, W. M. Koolen: Follow the Leader If You Can,
Hedge If You Must, JMLR 2014.

W. M. Koolen: AdaFTRL, 2016: the definitions, Propositions 1, 2 and 5, and the section
on the Hedge setting with its regret bound.

M. Herbster, M. K. Warmuth: Tracking the Best Expert, Machine Learning 32, 1998: the
fixed-share algorithm.
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


class FixedShare:
    """Fixed share of Herbster and Warmuth, for several shares, which Bayes' rule mixes.

    `update` takes the losses of one round and their weight. Beside the paper's there
    are the package's own rules for the learning rate, and for weights that are too
    small for floating-point numbers.
    """

    shares = "0", "1 / (t + 1)", "0.001", "0.01", "0.1"
    growth = Decimal("1.25")
    smallest_weight = Decimal.from_float(1e-300)

    def __init__(self, n_experts, learning_rate=None, digits=50):
        self.context = decimal.Context(
            digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX
        )
        self.K, self.A = n_experts, len(self.shares)
        self.rate = learning_rate and Decimal(learning_rate)
        with decimal.localcontext(self.context):
            self.w = [[Decimal(1) / self.K] * self.K for _ in self.shares]
            self.of_shares = [Decimal(1) / self.A] * self.A
        self.log_paths = self.context.ln(self.A * self.K)
        self.eta = INFINITY
        self.t = 0
        self.Delta = self.loss = Decimal(0)
        self.L = [Decimal(0)] * n_experts

    def weights(self):
        with decimal.localcontext(self.context):
            columns = zip(*self.w, strict=True)
            return normalised([dot(self.of_shares, column) for column in columns])

    def slow_down(self, eta):
        """A prior to a power, which is what all weights are, and nothing else moves."""
        ratio = Decimal(0) if self.eta == INFINITY else eta / self.eta
        self.w = [normalised([w_k**ratio for w_k in w]) for w in self.w]
        self.of_shares = normalised([o**ratio for o in self.of_shares])
        self.eta = eta

    def share(self, alpha):
        if alpha == "1 / (t + 1)":
            return 1 / Decimal(self.t + 1)
        return Decimal(float(alpha))

    def likelihoods(self, losses):
        least = min(losses)
        if self.eta == INFINITY:
            return [Decimal(l_k == least) for l_k in losses]
        exponents = [self.eta * (l_k - least) for l_k in losses]
        return [Decimal(0) if x > 700 else (-x).exp() for x in exponents]

    def mix_loss(self, w, losses):
        """Return it less the smallest of the losses."""
        mean = dot(w, self.likelihoods(losses))
        return 0 if self.eta == INFINITY else -mean.ln() / self.eta

    def update(self, losses, c=1.0, before=None):
        """Learn a round that was predicted by weights `before` of all shares."""
        with decimal.localcontext(self.context):
            losses = [Decimal(float(l_k * c)) for l_k in losses]
            announced, late = self.weights(), self.eta < INFINITY
            if before == self.w:
                before = None
            if before is not None:
                columns = zip(*before, strict=True)
                announced = normalised([dot(self.of_shares, each) for each in columns])
            differ = max(losses) - min(losses) > Decimal("1e-13") * max(
                map(abs, losses)
            )
            if self.rate and differ and self.rate / Decimal(float(c)) < self.eta:
                self.slow_down(self.rate / Decimal(float(c)))
            mix = self.mix_loss(announced, losses)
            if self.rate:
                # What the weights that were announced are charged above those that
                # the theorem is about.
                self.loss += min(losses) + mix
                tempered = self.mix_loss(self.weights(), losses)
                self.Delta += max(mix - tempered, Decimal(0)) if late else 0
            else:
                hedge = dot(announced, losses)
                self.loss += hedge
                # But for rounding, it is never negative.
                self.Delta += max(hedge - min(losses) - mix, Decimal(0))
                if self.Delta and self.eta > self.log_paths / self.Delta:
                    self.slow_down(self.log_paths / self.Delta / self.growth)
            self.L = [L_k + l_k for L_k, l_k in zip(self.L, losses, strict=True)]
            self.t += 1
            if self.eta == INFINITY:  # all losses were the same
                return
            likelihoods = self.likelihoods(losses)
            evidence = [dot(w, likelihoods) for w in before or self.w]
            for a, alpha in enumerate(map(self.share, self.shares)):
                v = [w * e for w, e in zip(self.w[a], likelihoods, strict=True)]
                self.w[a] = [
                    max((1 - alpha) * v_k + alpha / self.K, self.smallest_weight)
                    for v_k in normalised(v)
                ]
            of_shares = [o * e for o, e in zip(self.of_shares, evidence, strict=True)]
            self.of_shares = [
                max(o, self.smallest_weight) for o in normalised(of_shares)
            ]

    def regret_bound(self, n_switches):
        """Theorem of the mixture of shares, each with its prior on sequences."""
        with decimal.localcontext(self.context):
            K, T, costs = Decimal(self.K), self.t, []
            for alpha in self.shares:
                if alpha == "1 / (t + 1)":
                    cost, last = Decimal(T).ln(), 1 / Decimal(T)
                else:
                    last = Decimal(float(alpha))
                    stays = T - 1 - n_switches
                    cost = -stays * (1 - last + last / K).ln()
                if n_switches and not last:
                    continue
                costs.append(cost + (n_switches * (K / last).ln() if last else 0))
            total = Decimal(self.A).ln() + K.ln() + min(costs)
            return self.Delta + (total / self.eta if self.eta < INFINITY else 0)


def clip_limits(targets):
    """Limits of predictions of the row after some targets; none before the first."""
    if not targets:
        return -float("inf"), float("inf")
    reach = []
    for sign in -1, 1:
        jumps = [0.0, 0.0, 0.0]
        for r in range(1, len(targets)):
            farthest = max(sign * y for y in targets[:r])
            jumps.append(max(0.0, sign * targets[r] - farthest))
        reach.append(sorted(jumps[-32:])[-3])
    return min(targets) - reach[0], max(targets) + reach[1]


def dot(a, b):
    return sum(a_k * b_k for a_k, b_k in zip(a, b, strict=True))


def normalised(values):
    total = sum(values)
    return [value / total for value in values]
