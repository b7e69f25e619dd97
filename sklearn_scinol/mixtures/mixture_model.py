"""A mixture of experts, which are estimators: predictions, by learned weights."""

from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import clone

from .._curves import point_after
from .._invariants import floats, is_count, same_structure
from .._parallel import run_in_turn, workers
from .._shards import merge
from ..blocks import Block
from ..config import current_engine
from ..estimators.online_estimator import OnlineEstimator
from ..losses import identity
from ..losses.methods import is_by_output
from ..models.linear import MAX_FLOAT
from ..models.model import Learned, Model, ordered_blocks
from ..models.session import predict_few
from ..models.shared_block import SharedBlock
from ..views import dense_view_of
from .expert import (
    CHUNK_ROWS,
    Expert,
    learn_block,
    learn_chunk,
    predict,
    predict_transformed,
)
from .fixed_share import FixedShare, learn_rounds
from .mixing_scale import MixingScale
from .second_level import SecondLevel, of_levels
from .session import MixtureSession
from .target_range import TargetRange

# Number of entries of a block of rows, which all experts learn before the next block,
# since it stays in a processor's second cache. Blocks are larger for threads, which
# wait for each other after a block, and for sparse rows, where caches hold states.
BLOCK_ENTRIES = 2**18
LARGE_BLOCK_ENTRIES = 2**21

# Limit of squared errors: their weighted sums are finite.
MAX_SQUARE = 1e200

# The mixture whose deviations are recorded, and the list that gets them.
_recorded: ContextVar = ContextVar("recorded", default=(None, None))


@contextmanager
def recorded_deviations(mixture):
    """Record the standard deviations of the targets of rows learned in the block.

    The block gets a list of arrays of shape (n, n_outputs), with what
    :meth:`HedgeRegressor.predict` would return before each of the rows, in order.
    """
    deviations: list = []
    token = _recorded.set((mixture, deviations))
    try:
        yield deviations
    finally:
        _recorded.reset(token)


class OwnServed(NamedTuple):
    """Predictions of a mixture without its experts: :class:`ServedRows`, or None."""

    first: Any  # predictions of the first level
    pools: Any  # list of those of each pool
    both: Any  # predictions of both levels
    limits: Any  # list of lower and upper limits that predictions were clipped to
    hedges: Any  # list of what :func:`learn_late_rounds` takes, for each set of weights
    levels: Any  # list of the same for the levels


class MixtureModel(Model):
    """Experts and their weights.

    :class:`MixingScale` says what is mixed. Weights learn new rows only: the losses of
    rows that experts have learned before say how well they remember. Rows are
    transformed once for all linear models that see them in the same way.

    Parameters
    ----------
    estimators : list of (str, estimator) or (str, estimator, bool)
        The experts, and whether they see the dense view of :class:`TableRows`.
    n_classes : int or None
        See :class:`MixingScale`.
    pooling : bool
        Whether there is a second level.

    Attributes
    ----------
    n_jobs : int or None
        Number of experts that learn or predict at the same time.
    has_dense_view : bool
        Whether some experts see the dense view of :class:`TableRows`.
    hedges : list of FixedShare
        One for each set of weights.
    target_range : TargetRange or None
        The range that predictions are clipped to, where their mean is taken.
    clipping : ndarray of shape (n_hedges, 1 + n_experts)
        For each set of weights, at most how much more experts in turn were charged than
        they would have been unclipped; and the sum of the losses of each expert as it
        is, less what it was charged.
    squared_errors : ndarray of shape (1 + n_outputs,) or (1,)
        In regression, the total weight of the rows but the first, and weighted sums of
        their squared errors. The first error depends on the zero of the target.
    levels : list of SecondLevel
        One for each set of weights, or none.
    curve : list of (int, ndarray, ndarray)
        Numbers of rows, and after each what `weights` and `level_weights` were.
    """

    def __init__(self, estimators, loss, n_outputs, n_classes, *, pooling=False):
        super().__init__(loss, n_outputs)
        self.mixing_scale = MixingScale(loss, n_outputs, n_classes)
        self.n_jobs = None
        self.experts = [
            Expert(name, estimator, self.mixing_scale, *view)
            for name, estimator, *view in estimators
        ]
        self.has_dense_view = any(each.sees_dense_view for each in self.experts)
        self.target_range = None
        self.squared_errors = np.zeros(1 + (0 if n_classes else n_outputs))
        if self.mixing_scale.kind == "mean":
            self.target_range = TargetRange(n_outputs, bool(n_classes))
        n_hedges = 1 if self.mixing_scale.shares_weights else n_outputs
        rate = self.mixing_scale.learning_rate
        self.hedges = [FixedShare(len(estimators), rate) for _ in range(n_hedges)]
        self.clipping = np.zeros((n_hedges, 1 + len(estimators)))
        self.levels = []
        if pooling:
            self.levels = [
                SecondLevel(self.mixing_scale.of_weights(k), len(estimators))
                for k in range(n_hedges)
            ]
        self.curve = []
        self.has_begun = False

    def add_classes(self, loss, is_new):
        self.loss, self.n_outputs = loss, is_new.size
        self.mixing_scale = MixingScale(loss, is_new.size, is_new.size)
        for level in self.levels:
            level.mixing_scale = self.mixing_scale
        for expert in self.experts:
            expert.add_classes(self.mixing_scale, is_new, self.has_begun)

    # Learning.

    def look_ahead(self, chunk):
        self._begin(chunk)
        for expert in self.experts:
            if expert.model is not None:
                expert.model.look_ahead(expert.view_of(chunk))

    def look_back(self, chunk, order=None, run=run_in_turn):
        with workers(self.n_jobs) as run_some:  # in place of what another mixture gives
            for expert in self.experts:
                if expert.model is not None:
                    expert.model.look_back(expert.view_of(chunk), order, run_some)

    def _begin(self, chunk):
        """Create the models of all experts; return labels as experts take them."""
        y = chunk.y
        labels = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if not self.has_begun:
            for expert in self.experts:
                expert.begin(expert.view_of(chunk.X), labels)
            self._share_transforms()
            self.has_begun = True
        return labels

    def learn(self, chunk, order=None, is_repeated=False, are_new=True):
        engine = current_engine()
        X = chunk.X
        self._check_dense_view(X)
        labels = self._begin(chunk)
        self.ensure_layout(X)
        for expert in self.experts:
            expert.check_parameters()
        with workers(self.n_jobs) as run:
            groups = self.groups()
            count = partial(self._count_rows, chunk, groups)
            for rows in self._blocks(X, order, count):
                blocks = self.shared_blocks(engine, chunk, rows)
                of_rows = None if chunk.served is None else chunk.served[rows]
                served, of_mixture = self.split_served(of_rows)
                calls = self.calls(groups, blocks, labels, served, are_new)
                results = self._run(run, calls)
                predictions, losses = zip(*results, strict=True)
                block = self.block(blocks[0])
                predictions = self.learn_predictions(
                    engine, block, predictions, losses, of_mixture, are_new
                )
                for hedge in self._all_hedges:
                    hedge._check_finite()
                yield Learned(rows, predictions, bool(np.isfinite(predictions).all()))

    def _count_rows(self, chunk, groups, rows):
        """Count the first of some rows before a model changes by more than learning."""
        n = chunk.count_of_one_prior(self.weight_scale, rows)
        next_change = min(
            [model.next_change for model, _ in groups if model] or [np.inf]
        )
        return min(n, chunk.count_to(rows, next_change - self.t))

    def block(self, shared):
        """Return the block of the mixture itself, from a :class:`SharedBlock`."""
        y = shared.targets(self.loss, self.n_outputs, shared.rows)
        return Block((), None, y, shared.row_weights, None)

    # Rows whose labels come later: the predictions of each expert, of the first level,
    # of each pool and of both levels, the limits that they were clipped to, and the
    # weights of all shares.

    @property
    def n_served(self):
        return sum(each.n_served for each in self.experts) + sum(self._served_sizes)

    @property
    def _served_sizes(self):
        """Numbers of columns of what :meth:`_split_own` returns."""
        n_pools = len(self.levels[0].pools) + 1 if self.levels else 0
        n_limits = 0 if self.target_range is None else 2
        of_weights = [each._state.of_experts.size for each in self._all_hedges]
        return [self.n_outputs] * (1 + n_pools + n_limits) + of_weights

    @property
    def served_key(self):
        experts = ", ".join(each.served_key for each in self.experts)
        return f"{super().served_key} ({experts})"

    def split_served(self, served):
        """Return the :class:`ServedRows` of each expert, and of the mixture itself."""
        if served is None:
            return None, None
        sizes = [each.n_served for each in self.experts]
        *of_all, own = served.split(*sizes, served.values.shape[1] - sum(sizes))
        return of_all, own

    def _split_own(self, served):
        """Return the :class:`ServedRows` of the mixture itself by what they are."""
        if served is None:
            no_levels = [None] * len(self.hedges)
            return OwnServed(None, None, None, None, no_levels, no_levels)
        parts, pools, both, limits = served.split(*self._served_sizes), None, None, None
        first = parts.pop(0)
        if self.levels:
            n_pools = len(self.levels[0].pools)
            *pools, both = parts[: n_pools + 1]
            del parts[: n_pools + 1]
        if self.target_range is not None:
            limits, parts = parts[:2], parts[2:]
        n_hedges = len(self.hedges)
        weights = parts[:n_hedges], parts[n_hedges:]
        return OwnServed(first, pools, both, limits, *weights)

    def learn_predictions(
        self, engine, block, predictions, losses, served=None, are_new=True
    ):
        """Mix what experts predicted for a block, and learn from their losses.

        Predictions are arrays of shape (n, n_outputs), losses of (n, n_outputs or 1).
        `served` are the :class:`ServedRows` of the mixture itself.
        """
        given, n_experts = block.weights.given, len(predictions)
        n, n_outputs, limits, of_both = len(given), self.n_outputs, None, []
        engine.run(self.weight_scale.learned, block.weights)
        predictions, losses = engine.stack(predictions), engine.stack(losses)
        own_served = self._split_own(served)
        if self.target_range is not None:
            limits = np.empty((2, n, n_outputs))
            arguments = predictions, losses, limits, own_served.limits, are_new
            engine.run(self._clip, block, *arguments)
        weights = np.empty((len(self.hedges), n, n_experts))
        known = block
        if not are_new:
            nothing = block.weights._replace(given=np.zeros(n))
            known = block._replace(weights=nothing)
        for k, hedge in enumerate(self.hedges):
            own = losses[..., self._outputs_of(k)]
            rounds = hedge._state, own, known.weights.given, weights[k]
            late = own_served.hedges[k]
            learn_rounds(engine, rounds, late, self.is_late)
        mean = engine.mix(self.mixing_scale.kind, predictions, weights)
        if served is not None:
            mean = own_served.first.exchange(engine, mean)
        if self.levels:
            arguments = predictions, mean, limits, own_served
            mean, of_both = self._learn_levels(engine, known, *arguments)
        if self.mixing_scale.n_classes is None:
            engine.run(self._learn_errors, block, predictions, weights, mean)
        engine.run(self.count_learned, block.weights)
        if are_new:
            engine.run(self._record_weights, weights, of_both, given)
        engine.compute_losses(self.loss, block, mean, self.numbers)
        return mean

    def _learn_errors(self, block, predictions, weights, mean):
        """Learn squared errors; tell the deviations before each row, if asked to."""
        c = block.weights.given[:, np.newaxis]
        if self.t == 0:
            c = np.where(np.cumsum(c > 0.0, axis=0) > 1, c, 0.0)
        steps = np.hstack([c, c * _squared(block.targets - mean)])
        sums = np.vstack([self.squared_errors, steps])
        np.cumsum(sums, axis=0, out=sums)
        self.squared_errors[:] = sums[-1]
        mixture, deviations = _recorded.get()
        if mixture is not None and mixture._model is self:
            deviations.append(_deviations(sums[:-1], predictions, weights, mean))

    def _learn_levels(self, engine, block, predictions, mean, limits, served):
        """Predict by both levels, and let the second one learn.

        `mean` is the prediction of the first level, and `limits` is the range to clip
        to, of shape (2, n, n_outputs), or None. Also returns the weights of the levels
        before each row, see :meth:`SecondLevel.learn`.
        """
        of_both, weights = np.empty(mean.shape), []
        for k, level in enumerate(self.levels):
            own, of_pools = self._outputs_of(k), None
            if served.pools is not None:
                of_pools = [each.columns(own) for each in served.pools]
            of_own = block
            if not self.mixing_scale.shares_weights:
                of_own = block._replace(targets=block.targets[:, own])
            late = of_pools, served.levels[k], self.is_late
            own_limits = None if limits is None else limits[:, :, own]
            values = predictions[:, :, own], mean[:, own], own_limits
            of_level, of_own_weights = level.learn(engine, of_own, *values, *late)
            engine.run(np.copyto, of_both[:, own], of_level)
            weights.append(of_own_weights)
        if served.both is not None:
            of_both = served.both.exchange(engine, of_both)
        return of_both, weights

    def _predict_levels(self, engine, predictions, mean, limits):
        """Predict by both levels; see :meth:`_learn_levels`."""
        if not self.levels:
            return mean
        means = []
        for k, level in enumerate(self.levels):
            own = self._outputs_of(k)
            own_limits = None if limits is None else limits[:, :, own]
            values = predictions[:, :, own], mean[:, own], own_limits
            means.append(level.predict(engine, *values))
        return np.hstack(means)

    def _outputs_of(self, k):
        """Return the slice of outputs that a set of weights is about."""
        return slice(None) if self.mixing_scale.shares_weights else slice(k, k + 1)

    def ensure_layout(self, X):
        """Convert the state to the layout for rows of the type of `X`."""
        for expert in self.experts:
            if (model := expert.block_model) is not None:
                model.ensure_layout(expert.view_of(X))

    def groups(self):
        """Group experts that share a memory; others are alone.

        Returns pairs of the first model, or None if they do not learn blocks of the
        mixture, and of the places of the experts.
        """
        groups = {}
        for place, expert in enumerate(self.experts):
            model = expert.block_model
            key = None if model is None else model.memory_key
            key = place if key is None else key
            groups.setdefault(key, (model, []))[1].append(place)
        return list(groups.values())

    def _check_dense_view(self, X):
        """Refuse rows without the dense view that experts have learned."""
        if not self.has_dense_view:
            return
        seen = [expert.model for expert in self.experts if expert.sees_dense_view]
        dense = dense_view_of(X)
        if dense is None:
            raise ValueError(
                "X has no dense view, which experts have learned: pass the rows of a "
                "TableEncoder that has learned y, or put encoder and mixture into an "
                "OnlinePipeline."
            )
        if seen[0] is not None and dense.shape != (X.shape[0], seen[0].n_features):
            raise ValueError(
                f"The dense view of X has shape {dense.shape}, expected "
                f"{(X.shape[0], seen[0].n_features)}."
            )

    def shared_blocks(self, engine, chunk, rows):
        """Return blocks of rows in both views; the second one may be None."""
        scale, dense = self.weight_scale, None
        if self.has_dense_view:
            dense = SharedBlock(engine, chunk.dense_view, rows, scale)
        return SharedBlock(engine, chunk, rows, scale), dense

    def calls(self, groups, blocks, labels, served, are_new):
        """Return what experts have to do to learn a block, for :meth:`_run`."""
        calls = []
        for model, places in groups:
            shared = blocks[self.experts[places[0]].sees_dense_view]
            own = served and [served[place] for place in places]
            if model is None:
                part = shared.part if own is None else shared.part.with_served(*own)
                calls.append((learn_chunk, places, part, labels[shared.rows]))
            else:
                block = shared.for_model(model)
                calls.append((learn_block, places, block, own, are_new))
        return calls

    def _run(self, run, calls):
        """Return the results of calls, in the order of the experts.

        A call is a function, the places of its experts, and its other arguments.
        """
        results = [None] * len(self.experts)
        for_experts = [
            (function, [self.experts[place] for place in places], *arguments)
            for function, places, *arguments in calls
        ]
        for (_, places, *_), of_call in zip(calls, run(for_experts), strict=True):
            for place, result in zip(places, of_call, strict=True):
                results[place] = result
        return results

    def _share_transforms(self):
        """Share weights of rows, and transforms among models that see rows alike."""
        shared = {}, {}
        for expert in self.experts:
            if (model := expert.block_model) is None:
                continue
            model.weight_scale = self.weight_scale
            if identity(model.loss) == identity(self.loss):
                model.loss = self.loss
            if model.shares_rows:
                model.share_transforms(shared[expert.sees_dense_view])
        for level in self.levels:
            for pool in level.pools:
                pool.weight_scale = self.weight_scale

    def _clip(self, block, predictions, losses, limits, served, are_new):
        """Clip predictions to the range of the targets before each row, in place.

        If rows were served, that is the range when they came.
        """
        given, engine = block.weights.given, current_engine()
        self.target_range.learn(block.targets, given > 0.0, limits)
        for own, limit in zip(served or (), limits, strict=False):
            limit[:] = own.swap(limit)
        clipped = self.target_range.clip(predictions, limits)
        if np.array_equal(predictions, clipped):
            return
        before = losses.copy()
        for of_expert, own, after in zip(losses, predictions, clipped, strict=True):
            if not np.array_equal(own, after):
                of_expert[:] = engine.compute_losses(
                    self.loss, block, after, np.zeros(2)
                )
        predictions[:] = clipped
        if are_new:
            self._learn_clipping(before, losses, given)

    def _learn_clipping(self, losses, charged, c):
        """Add to `clipping` by how much losses differ from those of clipped experts."""
        for k, sums in enumerate(self.clipping):
            own, of_clipped = (
                self.mixing_scale.losses_of_weights(k, each)
                for each in (losses, charged)
            )
            with np.errstate(over="ignore"):
                steps = np.minimum(own - of_clipped, MAX_FLOAT)
                excess = np.maximum.reduce(-steps, axis=0, initial=0.0)
                steps = np.column_stack([sums, c * np.vstack([excess, steps])])
                sums[:] = np.minimum(np.cumsum(steps, axis=1)[:, -1], MAX_FLOAT)

    def _record_weights(self, weights, of_both, c):
        """Add weights of rows that were learned to the curves."""
        while (point := self._next_point) < self.n_rounds:
            learned = np.flatnonzero(c > 0.0)
            row = learned[point - (self.n_rounds - len(learned))]
            of_row = np.array([of_levels(w[row]) for w in of_both])
            self.curve.append((point, weights[:, row].copy(), of_row))

    def invariants(self):
        yield from super().invariants()
        shape = len(self.hedges), len(self.experts)
        n_classes, n_outputs = self.mixing_scale.n_classes, self.n_outputs
        n_hedges = n_outputs
        if self.mixing_scale.shares_weights:
            n_hedges = 1
            yield "n_outputs fits n_classes", n_outputs == n_classes
        yield "the number of hedges fits", shape[0] == n_hedges
        n_targets = n_outputs if n_classes is None else 0
        yield from floats("squared_errors", self.squared_errors, (1 + n_targets,))
        yield "squared_errors >= 0", self.squared_errors >= 0.0
        yield from floats("clipping", self.clipping, (shape[0], 1 + shape[1]))
        if self.target_range is not None:
            limits = self.target_range.limits
            yield "limits have all outputs", limits.shape == (2, n_outputs)
        estimators = [expert.estimator for expert in self.experts]
        yield from same_structure(self, self._with_experts(estimators), "model")
        mixing_scale = MixingScale(self.loss, self.n_outputs, n_classes)
        for part in self, *self.experts:
            yield "mixing scales are equal", part.mixing_scale.key == mixing_scale.key
        for k, level in enumerate(self.levels):
            key = mixing_scale.of_weights(k).key
            yield "mixing scales of levels fit", level.mixing_scale.key == key
        for hedge in self.hedges:
            yield "each expert has a weight", hedge.n_experts == shape[1]
            yield "hedges learned the same rows", hedge.n_rounds_ == self.n_rounds
        yield "weights have learned at most t rows", self.n_rounds <= self.t
        yield "each set of weights has a level", len(self.levels) in (0, n_hedges)
        points = [point for point, *_ in self.curve]
        yield "points are numbers of rows", all(map(is_count, points))
        yield "points ascend", np.diff(points) > 0
        yield "points are below n_rounds", np.less(points, max(self.n_rounds, 1))
        yield "no point is missing at the end", self._next_point >= self.n_rounds
        for level in self.levels:
            yield "levels learned the same rows", level.hedge.n_rounds_ == self.n_rounds
        shape_of_levels = self.level_weights.shape
        for _, weights, own in self.curve:
            yield from floats("curve", weights, shape)
            yield from floats("curve of levels", own, shape_of_levels)
        for expert in self.experts:
            is_native = isinstance(expert.estimator, OnlineEstimator)
            yield "is_native fits the type of the expert", expert.is_native == is_native
            if is_native:
                has_begun = expert.model is not None
                yield "experts began with the mixture", has_begun == self.has_begun
            if expert.model is not None:
                own = is_by_output(expert.model.loss) or not is_by_output(self.loss)
                expected = n_outputs if own else 1
                yield "the number of outputs fits", expert.model.n_outputs == expected

    @property
    def _all_hedges(self):
        """Weights of experts, and of levels."""
        return [*self.hedges, *(level.hedge for level in self.levels)]

    @property
    def weights(self):
        """Weights of the next row, of shape (n_hedges, n_experts)."""
        return np.stack([hedge.weights_ for hedge in self.hedges])

    @property
    def expert_losses(self):
        """Sums of the losses of experts as they are, of shape (n_hedges, n_experts)."""
        charged = np.stack([hedge.cumulative_losses_ for hedge in self.hedges])
        return np.clip(charged + self.clipping[:, 1:], 0.0, MAX_FLOAT)

    @property
    def weights_in_mean(self):
        """Weights of experts in means: in regression, of both levels.

        A mean of probabilities, and a pool, have no weights in common.
        """
        weights = self.weights
        if self.mixing_scale.n_classes is not None or not self.levels:
            return weights
        own = self._weights_of_levels
        return own[:, :1] * weights + own[:, 1:-1]

    @property
    def part_of_targets(self):
        """Part of predictions that comes from the mean of the targets: (n_outputs,)."""
        if self.mixing_scale.n_classes is not None or not self.levels:
            return np.zeros(self.n_outputs)
        means = [level.targets.moments[0, 0] for level in self.levels]
        return self._weights_of_levels[:, -1] * means

    @property
    def _weights_of_levels(self):
        """Weights of the mean of experts, of experts, and of the targets' mean."""
        of_pools = self.level_weights[:, 1:]
        own = np.einsum("hp,hpe->he", of_pools, self.pool_coefficients)
        own[:, 0] += self.level_weights[:, 0]
        return own

    @property
    def pool_coefficients(self):
        """Weights of :attr:`SecondLevel.coefficients` for each level."""
        return np.stack([level.coefficients for level in self.levels])

    @property
    def level_weights(self):
        """Weights of the levels at the next row: shape (n_hedges, 1 + n_pools).

        Empty if there is one level.
        """
        return np.array([level.weights for level in self.levels])

    def curve_point(self, n_rows):
        """Return a point of the curve: the present weights, after some rows."""
        return n_rows, self.weights, self.level_weights

    @property
    def n_rounds(self):
        """Number of rows that the weights have learned."""
        return self.hedges[0].n_rounds_

    @property
    def _next_point(self):
        return point_after(self.curve[-1][0]) if self.curve else 0

    def _blocks(self, X, order=None, count=None):
        n, entries = X.shape
        if sparse.issparse(X):
            entries = X.nnz // n
        if self.has_dense_view:
            entries += dense_view_of(X).shape[1]
        entries = max(
            entries, 1 + max(self.mixing_scale.n_classes or 1, self.n_outputs)
        )
        is_dense = not sparse.issparse(X) or self.has_dense_view
        meets_often = is_dense and effective_n_jobs(self.n_jobs) == 1
        size = (BLOCK_ENTRIES if meets_often else LARGE_BLOCK_ENTRIES) // entries
        if any(not expert.is_native for expert in self.experts):
            size = max(size // CHUNK_ROWS, 1) * CHUNK_ROWS
        return ordered_blocks(n, max(size, 1), order, count)

    # Merging.

    def fresh(self):
        return self._with_experts(clone(expert.estimator) for expert in self.experts)

    def _with_experts(self, estimators):
        """Return a mixture that has learned nothing, with these estimators."""
        experts = zip(self.experts, estimators, strict=True)
        return MixtureModel(
            [(each.name, own, each.sees_dense_view) for each, own in experts],
            self.loss,
            self.n_outputs,
            self.mixing_scale.n_classes,
            pooling=bool(self.levels),
        )

    def with_columns(self, placement):
        model = copy(self)
        model.experts = [
            expert.with_columns(placement, self.has_begun) for expert in self.experts
        ]
        model._share_transforms()
        return model

    def seen_columns(self):
        if not (self.has_begun and all(expert.is_native for expert in self.experts)):
            return None
        seen = [
            expert.model.seen_columns()
            for expert in self.experts
            if not expert.sees_dense_view
        ]
        if any(of_expert is None for of_expert in seen):
            return None
        return np.logical_or.reduce(seen)

    @classmethod
    def merged(cls, shards):
        """Merge mixtures of the same experts that learned disjoint rows.

        Experts are merged one by one, and their weights, see :class:`ExpertWeights`.
        """
        model, in_own_units = shards.start.fresh(), shards
        shards = model.merge_counts(shards)
        start = shards.start if shards.start.has_begun else None
        for k, expert in enumerate(model.experts):
            estimators = [each.experts[k].estimator for each in shards.members]
            of_start = start and start.experts[k].estimator
            expert.estimator = merge(estimators, of_start)
            expert.has_learned = True
        model.has_begun = True
        for k in range(len(model.levels)):
            levels = in_own_units.map(lambda m, k=k: m.levels[k])
            model.levels[k] = SecondLevel.merged(levels)
        model._share_transforms()
        for k in range(len(model.hedges)):
            hedges = shards.map(lambda m, k=k: m.hedges[k])
            model.hedges[k] = FixedShare._merged(hedges)
        if model.target_range is not None:
            model.target_range = TargetRange.merged(shards.target_range)
        model.squared_errors = np.maximum(in_own_units.squared_errors.sum(), 0.0)
        model.clipping = shards.clipping.sum()
        model.curve = shards.members[0].curve.copy()
        if (point := model._next_point) < model.n_rounds:
            while (after := point_after(point)) < model.n_rounds:
                point = after
            model.curve.append(model.curve_point(point))
        return model

    # Predictions.

    def decision(self, X, deviations=None):
        """Return predictions; put standard deviations of targets into `deviations`."""
        self._check_dense_view(X)
        if deviations is None:
            has_codes = self.n_outputs == 1 or self.mixing_scale.shares_weights
            n_codes = self.mixing_scale.n_classes if has_codes else None
            if (predictions := predict_few(self, X, n_codes)) is not None:
                return predictions
        engine = current_engine()
        p = np.empty((X.shape[0], self.n_outputs))
        weights, groups = self.weights[:, np.newaxis], self.groups()
        with workers(self.n_jobs) as run:
            for rows in self._blocks(X):
                calls, transformed = [], {}
                part = X[rows]
                for model, places in groups:
                    own = self.experts[places[0]].view_of(part)
                    if model is None:
                        calls.append((predict, places, own))
                        continue
                    if model.transforms_key not in transformed:
                        transformed[model.transforms_key] = model.transform(own)
                    Z = transformed[model.transforms_key]
                    calls.append((predict_transformed, places, Z))
                predictions, limits = np.stack(self._run(run, calls)), None
                if self.target_range is not None:
                    limits = self.target_range.clip_limits[:, np.newaxis]
                    predictions = self.target_range.clip(predictions, limits)
                mean = engine.mix(self.mixing_scale.kind, predictions, weights)
                p[rows] = self._predict_levels(engine, predictions, mean, limits)
                if deviations is not None:
                    sums = self.squared_errors[np.newaxis]
                    deviations[rows] = _deviations(sums, predictions, weights, p[rows])
        return p

    # Restoring.

    def is_finite(self, chunk):
        return bool(np.isfinite(self.numbers).all()) and all(
            each.model is None or each.model.is_finite(each.view_of(chunk))
            for each in self.experts
        )

    def _seen(self, X, features):
        self._check_dense_view(X)
        return X, features

    # A few rows at a time.

    @property
    def session_type(self):
        learns_blocks = all(expert.block_model is not None for expert in self.experts)
        return MixtureSession if learns_blocks else None


def _deviations(sums, predictions, weights, mean):
    """Return standard deviations of targets: their noise, and the experts' spread.

    `sums` are those of squared errors before each row, see :class:`MixtureModel`.
    """
    weight = np.where(sums[:, :1] > 0.0, sums[:, :1], 1.0)
    squares = np.ascontiguousarray(_squared(predictions - mean).transpose(1, 2, 0))
    # A sum over the last axis is the same for any number of rows.
    spread = np.add.reduce(squares * weights.transpose(1, 0, 2), axis=-1)
    return np.sqrt(sums[:, 1:] / weight + spread)


def _squared(errors):
    """Return squares, limited to those of errors that targets can have."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.fmin(errors**2, MAX_SQUARE)
