"""Slow reference of a mixture whose labels come late, in plain Python.

Weights, pools and the scale of errors are those of the other references. Here is only
in what order they are asked and told: a row is served by all that was learned before it
came; when its label comes, all learn from what it was served.
"""

import copy

import numpy as np

from .naive import LOSSES, Logistic, Separate
from .naive_hedge import FixedShare, clip_limits
from .naive_pools import (
    BETTING,
    POOLS,
    BettingPool,
    ClassPool,
    log_probabilities,
    pools_of_scores,
)


class Late:
    """What both mixtures have: weights of experts, and of levels."""

    def __init__(self, n_experts, *joint):
        self.hedge, self.levels = FixedShare(n_experts, *joint), FixedShare(6, *joint)
        self.total, self.weights = 0.0, []

    def served(self, **row):
        """What is kept of a row, with the weights of all shares that serve it."""
        row |= {name: [*map(list, vars(self)[name].w)] for name in ("hedge", "levels")}
        return row

    def learn_levels(self, served, losses, c):
        # Rounding must not decide which is the best where losses are equal.
        losses = np.where(np.isclose(losses, losses[0], rtol=1e-12), losses[0], losses)
        self.levels.update(losses, c, served["levels"])


class LateClasses(Late):
    """Mixture of log probabilities, of shape (n_experts, n_classes) for a row."""

    def __init__(self, n_experts, n_classes):
        super().__init__(n_experts, 1)
        self.n_classes, n = n_classes, n_experts + 1
        if n_classes > 2:
            self.pools = [ClassPool(n, *each) for each in POOLS]
        else:
            self.pools = pools_of_scores(Separate(Logistic()), n, 1)
        self.pools[BETTING] = BettingPool(n)

    def ask(self, pool, F, c):
        if isinstance(pool, BettingPool):
            return copy.deepcopy(pool).learn(F, 0, c)
        if self.n_classes > 2:
            return pool.learn(F, 0, 0.0)
        (score,) = pool.predict(F[1] - F[0], 1.0)
        return 1.0 / (1.0 + np.exp([score, -score]))

    def serve(self, said, c=0.0):
        """Serve a row, whose weight may be known already."""
        first = floats(self.hedge.weights()) @ np.exp(said)
        F = log_probabilities(np.exp([np.log(first), *said])).T
        of_levels = np.array(
            [first] * 3 + [self.ask(pool, F, c) for pool in self.pools]
        )
        answer = np.log(floats(self.levels.weights()) @ of_levels)
        return self.served(said=said, F=F, of_levels=of_levels, answer=answer)

    def learn(self, served, y, c):
        self.hedge.update(-served["said"][:, y], c, served["hedge"])
        self.weights.append(c)
        for pool in self.pools:
            relative = c / np.mean(self.weights)
            if isinstance(pool, BettingPool):
                pool.learn(served["F"], y, c)
            elif self.n_classes > 2:
                pool.learn(served["F"], y, relative)
            else:
                f = served["F"][1] - served["F"][0]
                pool.learn(f, [2.0 * y - 1.0], relative)
        self.learn_levels(served, -np.log(served["of_levels"][:, y]), c)
        self.total += -c * served["answer"][y]


class LateNumbers(Late):
    """Mixture of predictions under a loss of numbers, (n_experts,) for a row."""

    def __init__(self, n_experts, loss="absolute_error"):
        super().__init__(n_experts)
        self.loss = LOSSES[loss]()
        self.pools = pools_of_scores(Separate(self.loss), n_experts + 1, 0)
        self.targets, self.errors = [], []

    def deviation(self):
        if not self.errors:
            return 0.0
        mean = np.average(self.errors, weights=self.weights)
        squares = (np.array(self.errors) - mean) ** 2
        return np.sqrt(np.average(squares, weights=self.weights))

    def differences(self, said, first, deviation):
        mean = np.average(self.targets, weights=self.weights) if self.targets else 0.0
        said = np.append(said, mean)
        # Rounding is no difference.
        differ = ~np.isclose(said, first, rtol=1e-12, atol=0.0) & (deviation > 0)
        return np.where(differ, said - first, 0.0) / (deviation or 1.0)

    def serve(self, said, c=0.0):
        limits, deviation = clip_limits(self.targets), self.deviation()
        said = np.clip(said, *limits)
        first = floats(self.hedge.weights()) @ said
        x, of_levels = self.differences(said, first, deviation), [first] * 3
        for pool in self.pools:
            (p,) = pool.predict(x, 1.0)
            of_levels.append(first + deviation * p)
        of_levels = np.clip(of_levels, *limits)
        answer = floats(self.levels.weights()) @ of_levels
        return self.served(said=said, first=first, of_levels=of_levels, answer=answer)

    def learn(self, served, y, c):
        said, first = served["said"], served["first"]
        self.hedge.update(self.losses(y, said), c, served["hedge"])
        deviation = self.deviation()
        x = self.differences(said, first, deviation)
        self.errors.append(y - first if self.errors else 0.0)
        self.weights.append(c)
        self.targets.append(y)
        for pool in self.pools:
            if deviation > 0:
                pool.learn(x, [(y - first) / deviation], c / np.mean(self.weights))
        self.learn_levels(served, self.losses(y, served["of_levels"]), c)
        self.total += c * self.loss.value(y, served["answer"])

    def losses(self, y, said):
        return np.array([self.loss.value(y, float(p)) for p in said])


def floats(numbers):
    return np.array([float(number) for number in numbers])
