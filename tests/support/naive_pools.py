"""Slow references of log-linear pools, in decimals, straight from the formulas.

Pools of two classes and of numbers are Newton steps, see :mod:`.naive`. Only those and
linear equations are shared with other references, nothing with the package.
"""

import copy
import decimal
from decimal import Decimal

import numpy as np

from .naive import DIGITS, OnlineNewton, ScInOL2, Weights, diagonal, inner, solved

#: Place of the pool of classes that ScInOL2 learns.
BETTING = 1

#: Variances of weights before the first row, and the shares that are forgotten.
POOLS = (0.1, 0.0), (0.1, 0.003), (1.0, 0.01)


def pools_of_scores(loss, n_experts, first_weight):
    """Newton steps that begin with a weight of 1 or 0 for the first feature."""
    pools = []
    for prior, forgetting in POOLS:
        pool = OnlineNewton(
            n_experts,
            1,
            loss,
            prior_scale=prior,
            forgetting=forgetting,
            fit_intercept=False,
        )
        pool.w[0][0] = Decimal(first_weight)
        pools.append(pool)
    return pools


class ClassPool:
    """Weights of log probabilities that all classes share.

    With A the inverse of the covariance, a row of weight c adds c times the second
    derivative of its loss to A, and the step is the solution for its derivative.
    """

    def __init__(self, n_experts, prior, forgetting):
        self.prior = Decimal.from_float(prior)
        self.w = [Decimal(k == 0) for k in range(n_experts)]
        self.A = diagonal([1 / self.prior] * n_experts)
        self.left = 1 - Decimal(forgetting)

    def probabilities(self, F, w):
        scores = [inner(w, of_class) for of_class in F]
        odds = [(score - max(scores)).exp() for score in scores]
        return [o / sum(odds) for o in odds]

    def mean(self, p, F):
        return [inner(p, column) for column in zip(*F, strict=True)]

    def forget(self):
        n = len(self.w)
        units = diagonal([Decimal(1)] * n)
        trace = sum(solved(self.A, units[i])[i] for i in range(n))
        growth = max(Decimal(1), min(1 / self.left, n * self.prior / trace))
        self.A = [[a / growth for a in row] for row in self.A]

    def learn(self, F, y, c):
        """Return the probabilities; `F` has a row for each class."""
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            F, c = [[Decimal(float(f)) for f in row] for row in F], Decimal(float(c))
            p = self.probabilities(F, self.w)
            if c == 0:
                return [float(p_k) for p_k in p]
            self.forget()
            mean = self.mean(p, F)
            for p_k, f in zip(p, F, strict=True):
                d = [f_i - m for f_i, m in zip(f, mean, strict=True)]
                self.A = [
                    [a + c * p_k * d_i * d_j for a, d_j in zip(row, d, strict=True)]
                    for row, d_i in zip(self.A, d, strict=True)
                ]
            gradient = [m - f for m, f in zip(mean, F[y], strict=True)]
            step = [-c * s for s in solved(self.A, gradient)]
            # Derivatives along the step: at its start, and at its end.
            w = [w_i + s for w_i, s in zip(self.w, step, strict=True)]
            at_end = self.mean(self.probabilities(F, w), F)
            start_slope = inner(gradient, step)
            end_slope = inner([m - f for m, f in zip(at_end, F[y], strict=True)], step)
            if end_slope > 0:
                length = start_slope / (start_slope - end_slope)
                step = [length * s for s in step]
            self.w = [w + s for w, s in zip(self.w, step, strict=True)]
            return [float(p_k) for p_k in p]


class BettingPool:
    """Weights by ScInOL2, to which the range of log probabilities is a feature's value.

    Its weights are those of the pool, less 1 for the first input.
    """

    def __init__(self, n_experts):
        self.algorithm = ScInOL2(n_experts, 1, None)
        self.weights = Weights()

    def learn(self, F, y, c):
        """Return the probabilities; see :class:`ClassPool`. Weights are as given."""
        F, algorithm = np.array(F), self.algorithm
        if c > 0:
            c = self.weights.learned(c)
            algorithm.set_unit(*self.weights.units_of_wealth())
        else:
            c, algorithm, y = (
                self.weights.predicted(None),
                copy.deepcopy(algorithm),
                None,
            )
        algorithm.receive(c * np.ptp(F, axis=0))
        w = [w_k + (k == 0) for k, (w_k,) in enumerate(algorithm.weights())]
        p = np.exp(F @ w - np.max(F @ w))
        p /= p.sum()
        if y is not None:
            algorithm.update(c * (p @ F - F[y]), [1.0])
        return p


def log_probabilities(p):
    """At least those of one in a million."""
    return np.log(np.maximum(p, 1e-6))
