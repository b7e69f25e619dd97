"""The second level of a mixture: log-linear pools of its experts."""

import numpy as np
from scipy.special import log_softmax

from .._portable import difference, padded
from .._state import Part
from ..losses.classification import Logistic
from ..models.model import fill
from ..models.pool import (
    MAX_DIFFERENCE,
    MAX_LOG_ODDS,
    MIN_PROBABILITY,
    BettingPool,
    PoolModel,
)
from ..models.served import find_late
from ..transforms.targets import TargetTransform
from .fixed_share import FixedShare, learn_rounds
from .target_range import TargetRange

#: Parameters of Newton steps in pools: the variance of the weights before the first
#: row, and the share of the past that is forgotten with each row.
POOLS = (0.1, 0.0), (0.1, 0.003), (1.0, 0.01)

#: Place of the pool that with classes is learned by ScInOL2 instead.
BETTING = 1


class SecondLevel(Part):
    r"""Pools of experts, mixed with the mean of the experts, the first level.

    A mean of probabilities is never surer than the surest expert. A log-linear pool
    multiplies powers of the experts' probabilities, so that experts who know different
    things make each other surer. In regression it adds multiples of the differences
    from the first level, of experts and of the mean of the targets: if experts are too
    careful, its weight is negative. The weights of a pool are learned by Newton steps,
    or by ScInOL2. It begins as the first level.

    First level and pools are then mixed by weights of their own, learned from losses
    like those of experts. The first level counts as often as there are pools, which
    gives it half of the weight before the first row.

    Attributes
    ----------
    pools : list of PoolModel or BettingPool
    hedge : FixedShare
        The weights of first level and pools.
    errors : TargetTransform or None
        Scale of the first level's errors, in regression.
    targets : TargetTransform or None
        Mean of the targets, in regression.
    """

    def __init__(self, mixing_scale, n_experts):
        self.mixing_scale = mixing_scale
        self.n_experts = n_experts
        loss, self.errors, self.targets = Logistic(), None, None
        if mixing_scale.n_classes is None:
            loss = mixing_scale.loss
            unit_free = bool(np.isfinite(loss.lipschitz))
            self.errors = TargetTransform(1, unit_free=unit_free)
            self.targets = self.errors.fresh()
        self.pools = [PoolModel(loss, 1 + n_experts, *each) for each in POOLS]
        if self.errors is None:
            self.pools[BETTING] = BettingPool.of(1 + n_experts)
        self.hedge = FixedShare(2 * len(POOLS), mixing_scale.learning_rate)

    @property
    def weights(self):
        """Weights of the first level and of the pools at the next row."""
        return of_levels(self.hedge.weights_)

    @property
    def regret_bound(self):
        """Bound on the loss less that of the first level."""
        return self.hedge._bound(0, n_copies=len(self.pools))

    def bound_against(self, weights):
        """Bound on the loss less that of a pool with fixed weights of its features."""
        return self.hedge.regret_bound() + self.betting_pool.bound_against(weights)

    @property
    def betting_pool(self):
        """The pool with a bound on its loss less that of fixed weights."""
        return self.pools[BETTING]

    @property
    def coefficients(self):
        """Weights in the pools: of first level, experts, and the mean of the targets.

        Of shape (n_pools, 1 + n_experts), in regression (n_pools, 2 + n_experts).
        """
        weights = np.stack([pool.weights for pool in self.pools])
        if self.errors is None:
            return weights
        return np.column_stack([1.0 - weights.sum(axis=1), weights])

    def learn(
        self,
        engine,
        block,
        predictions,
        first,
        limits=None,
        served=None,
        weights_served=None,
        is_late=None,
    ):
        """Predict rows, then learn them.

        For predictions see :meth:`predict`. If rows were served, those of experts and
        first level are what was served, `served` has the :class:`ServedRows` of each
        pool; for those of weights, and for `is_late`, see :func:`learn_rounds`.

        Also returns the weights of the copies of the first level, and of pools, before
        each row: of shape (n, 2 * n_pools).
        """
        if self.mixing_scale.loss.joint or not first.flags.c_contiguous:
            scores, first = first, np.empty(first.shape)
            engine.run(fill, first, self.normalised, scores)
        if not block.targets.flags.c_contiguous:  # of several outputs
            targets = np.empty(first.shape)
            engine.run(np.copyto, targets, block.targets)
            block = block._replace(targets=targets)
        pooled = self.learn_pools(engine, block, predictions, first)
        if served is not None:
            pairs = zip(served, pooled, strict=True)
            charged = [own.exchange(engine, of_pool) for own, of_pool in pairs]
            pair, c = (charged[BETTING], pooled[BETTING]), block.weights.given
            engine.run(find_late, *pair, c, self.betting_pool.is_late)
            pooled = charged
        levels = engine.stack(with_copies(first, pooled))
        if limits is not None:
            engine.run(TargetRange.clip, levels, limits, levels)
        loss, of_pools = self.mixing_scale.loss, levels[len(pooled) :]
        losses = [
            engine.compute_losses(loss, block, level, np.zeros(2))
            for level in [levels[0], *of_pools]
        ]
        losses = engine.stack(with_copies(losses[0], losses[1:]))
        weights = np.empty((len(first), len(levels)))
        rounds = self.hedge._state, losses, block.weights.given, weights
        learn_rounds(engine, rounds, weights_served, is_late)
        return engine.mix(self.mixing_scale.kind, levels, weights[np.newaxis]), weights

    def predict(self, engine, predictions, first, limits=None):
        """Predict rows.

        Parameters
        ----------
        predictions : ndarray of shape (n_experts, n, n_outputs)
            Of the experts, on the scale of the mixture.
        first : ndarray of shape (n, n_outputs)
            Of the first level.
        limits : ndarray of shape (2, n or 1, n_outputs), default=None
            Least and largest predictions.
        """
        first, offset, deviation = self.normalised(first), 0.0, 1.0
        F = self._new_inputs(first)
        if self.errors is None:
            self._fill_log_probabilities(predictions, first, F)
        else:
            offset, deviation = first, np.sqrt(self.errors.moments[1])
            mean = self.targets.moments[:1]
            fill_differences(predictions, mean, first, deviation, F)
        pooled = []
        for pool in self.pools:
            scores = pool.predict_scores(F)
            pooled.append(offset + deviation * scores.reshape(first.shape))
        levels = np.stack(with_copies(first, pooled))
        if limits is not None:
            TargetRange.clip(levels, limits, levels)
        weights = self.hedge.weights_[np.newaxis, np.newaxis]
        return engine.mix(self.mixing_scale.kind, levels, weights)

    def learn_pools(self, engine, block, predictions, first):
        """Learn rows with all pools; return predictions before."""
        loss, scale, F = self.mixing_scale.loss, None, self._new_inputs(first)
        if self.errors is None:
            engine.run(self._fill_log_probabilities, predictions, first, F)
            if loss.joint:
                return [p.learn_classes(engine, loss, F, block) for p in self.pools]
        else:
            errors = np.empty(first.shape)
            engine.run(self._fill_errors, block, first, errors)
            scale = self.errors.learn(engine, errors, block.weights)
            mean = self.targets.learn(engine, block.targets, block.weights).offset
            engine.run(fill_differences, predictions, mean, first, scale.deviation, F)
            scale = scale._replace(offset=first)
        learned = [p.learn_scores(engine, F, block, scale) for p in self.pools]
        return [each.predictions for each in learned]

    def _new_inputs(self, first):
        """Return an array for what the pools of some rows take."""
        n, n_outputs = first.shape
        if self.mixing_scale.loss.joint:
            return np.empty((n, n_outputs, padded(1 + self.n_experts)))
        return np.empty((n, self.pools[0].n_features))

    def normalised(self, first):
        """Predictions of the first level, which pools begin with to the last bit."""
        joint = self.mixing_scale.loss.joint
        return log_softmax(first, axis=1) if joint else first

    def _fill_errors(self, block, first, errors):
        """Fill errors of the first level; 0 for the first row, of unknown scale.

        Otherwise their scale would depend on the zero of the target.
        """
        np.subtract(block.targets, first, out=errors)
        learned = block.weights.given > 0.0
        if self.errors.weight_sum == 0.0 and learned.any():
            errors[learned.argmax()] = 0.0

    def _fill_log_probabilities(self, predictions, first, F):
        """Fill log probabilities for the pools; with two classes, log odds."""
        if not self.mixing_scale.loss.joint:
            F[:, :1], F[:, 1:] = first, predictions[:, :, 0].T
            np.minimum(F, MAX_LOG_ODDS, out=F)
            np.maximum(F, -MAX_LOG_ODDS, out=F)
            return
        n_inputs = 1 + len(predictions)
        values = log_softmax([first, *predictions], axis=2)
        np.maximum(values, np.log(MIN_PROBABILITY), out=values)
        F[:, :, :n_inputs], F[:, :, n_inputs:] = values.transpose(1, 2, 0), 0.0

    # Merging.

    @classmethod
    def merged(cls, shards):
        """Merge second levels that learned disjoint rows."""
        start = shards.start
        merged = cls(start.mixing_scale, start.n_experts)
        merged.hedge = FixedShare._merged(shards.hedge)
        for k in range(len(merged.pools)):
            pools = shards.map(lambda each, k=k: each.pools[k])
            merged.pools[k] = merged.pools[k].merged(pools)
        if merged.errors is not None:
            merged.errors = TargetTransform.merged(shards.errors)
            merged.targets = TargetTransform.merged(shards.targets)
        return merged

    def invariants(self):
        """Yield what holds between two calls."""
        n_pools, is_regression = len(POOLS), self.mixing_scale.n_classes is None
        yield "there are all pools", len(self.pools) == n_pools
        yield "levels have weights", self.hedge.n_experts == 2 * n_pools
        for name in "errors", "targets":
            has_it = getattr(self, name) is not None
            yield f"only regression has {name}", is_regression == has_it
        for pool in self.pools:
            yield "pools have all experts", pool.n_features == 1 + self.n_experts


def fill_differences(predictions, mean, first, deviation, F):
    """Fill differences from the first level's predictions, in units of its errors.

    The last are those of the mean of the targets.
    """
    known = deviation > 0.0
    inverse = np.where(known, 1.0 / np.where(known, deviation, 1.0), 0.0)
    for values, columns in (predictions, F[:, :-1]), (mean[np.newaxis], F[:, -1:]):
        differences = (difference(values, first) * inverse)[:, :, 0].T
        np.clip(differences, -MAX_DIFFERENCE, MAX_DIFFERENCE, out=columns)


def with_copies(first, pooled):
    """Return what weights are about: the first level as often as there are pools."""
    return [first] * len(pooled) + [*pooled]


def of_levels(weights):
    """Add up the weights of the copies of the first level."""
    n_pools = weights.shape[-1] // 2
    first = np.add.reduce(weights[..., :n_pools], axis=-1, keepdims=True)
    return np.concatenate([first, weights[..., n_pools:]], axis=-1)
