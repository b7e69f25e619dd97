"""Linear models under an online learner: rows in, learning, merging, rolling back."""

from copy import copy
from functools import partial, reduce

import numpy as np
from scipy import sparse

from .._shards import Shards, columns_differ
from .._state import checkpoint, make_writable
from ..blocks import Block, CSRRows, State, TargetScale
from ..config import current_engine
from ..learners.bases.averaging import record_sum, sum_before
from .linear_state import MAX_FLOAT, LinearState
from .model import MAX_SAFE_VALUE, at_once, dense_rows
from .transformed import TransformsRows

# From this size on, checking values before they are learned takes longer than a copy of
# the state.
MANY_ENTRIES, MANY_ROWS = 2**15, 64

# With this many columns for each entry of sparse rows, copying the columns with entries
# is faster than copying all.
MIN_COLUMNS_PER_ENTRY = 4


class LinearModel(TransformsRows, LinearState):
    """Linear model that transforms its rows, and learns them.

    See :class:`LinearState` for parameters and attributes.
    """

    def ensure_layout(self, X):
        """Convert the state to the layout for rows of the type of `X`."""
        order = "F" if self.learner_sees_csr(X) else "C"
        self.fields = np.require(self.fields, requirements=order)
        self.features.ensure_layout(self.learns_sparse(X))

    def _count_rows(self, chunk):
        """Return a function that cuts blocks where a wealth grows, or None."""
        if not self.traits.has_wealth:
            return None
        return partial(chunk.count_of_one_prior, self.weight_scale)

    def _learn_many(self, engine, chunk, rows):
        """Learn many dense rows, whose values the engine checks as it learns.

        Returns None, without a change, for few rows, or if there are large values.
        """
        n = len(chunk.y[rows])
        are_many = n >= MANY_ROWS and n * self.n_features >= MANY_ENTRIES
        if not are_many or self.learner_sees_csr(chunk.X):
            return None
        restore = checkpoint(self, chunk.X)
        block = self.block(engine, chunk, rows, checks=False)
        self._set_prior(block.weights.prior)
        predicted = self._empty_predictions(n)
        if engine.learn_rows(self.task, self._engine_state(), block, predicted):
            self.end_block(engine)
            return predicted
        restore()
        return None

    def block(self, engine, chunk, rows, checks=True):
        """Return a block of rows for the engine; the transforms learn from it.

        Without `checks`, the engine has to check the values.
        """
        y = chunk.targets(self.loss, self.n_outputs, rows)
        weights = chunk.weights(self.weight_scale, rows)
        largest = np.inf if checks else self.features.largest
        # The whole chunk is checked once, perhaps for several models.
        checks = checks and not chunk.is_within(self.features.largest, weights)
        rows, moments = self._block_rows(engine, chunk, rows, weights, checks)
        scale = self.target_scale(engine, y, weights)
        return Block(rows, moments, y, weights, scale, largest)

    def target_scale(self, engine, y, weights, once=at_once):
        scale = super().target_scale(engine, y, weights, once)
        ratios = self.slope_ratios
        if ratios is None:
            return scale
        slope = np.tile(ratios, (len(y), 1))
        if scale is None:
            return TargetScale(np.zeros_like(y), slope, slope)
        engine.run(np.multiply, scale.slope, ratios, slope)
        return scale._replace(slope=slope)

    def _block_rows(self, engine, chunk, rows, weights, checks):
        """Return rows for the engine, and moments to transform them by."""
        rows = self.rows(chunk.X, rows)
        rows, outgrown = self.features.learn_and_convert(engine, rows, weights, checks)
        self.forget(outgrown)
        return rows, self.features.state()

    def forget(self, features):
        """Reset the state of features, unless the learner does not see their unit."""
        if features.size and not (self.features.scale or self.traits.by_vector):
            self.fields[:, :, features] = self._initial_fields()
            self.first[features] = 0.0

    def learn_block(self, engine, block):
        """Learn a block; return predictions made before, with their losses."""
        if block.weights.prior != self.prior:
            self._set_prior(block.weights.prior)
        predicted = self._empty_predictions(len(block.weights.given))
        engine.learn_rows(self.task, self._engine_state(), block, predicted)
        self.end_block(engine)
        return predicted

    def end_block(self, engine):
        """Change what changes by more than learning rows, see :attr:`next_change`."""

    @staticmethod
    def learn_together(engine, models, block, are_new=True):
        """Learn a block; see :meth:`LocalModel.learn_together`."""
        return [model.learn_block(engine, block) for model in models]

    def _set_prior(self, prior):
        """Set the unit of the learner's wealth, before rows are learned."""
        if not self.traits.has_wealth or prior == self.prior:
            return
        learner, idle = self._learner_of(prior), self._initial_fields()
        # Checkpoints of a few columns keep the former array.
        self.fields = self.fields.copy(order="K")
        is_idle = (self.fields == idle).all(axis=0)
        with np.errstate(all="ignore"):
            if self.average:
                w = self.learner.weight(self.state(), ..., 0.0, self.t + 1)
                sums, clock = self.fields[-2:], self.clock[0, :, np.newaxis]
                record_sum(*sums, ..., sum_before(*sums, ..., w, clock), clock)
            learner.add_wealth(self.state(), self.learner.initial_wealth)
        self.learner, self.prior = learner, prior
        np.copyto(self.fields, self._initial_fields(), where=is_idle)

    def _engine_state(self):
        """State that learning changes, for engines."""
        arrays = self.fields, self.shared, self.arrays, self.first, self.clock
        return State(*arrays, self.numbers, self.weight_scale.numbers)

    @property
    def skips_zeros(self):
        """Whether zeros of sparse rows change nothing, so that rows stay sparse."""
        return not (self.features.center or self.traits.touches_all)

    def learner_sees_csr(self, X):
        """Whether the transformed rows are sparse."""
        return self.learns_sparse(X)

    def rows(self, X, rows):
        if not self.learns_sparse(X):
            return dense_rows(X, rows)
        if isinstance(rows, slice):  # a slice of the matrix would be a copy
            indptr = X.indptr[rows.start : rows.stop + 1]
            entries = slice(indptr[0], indptr[-1])
            data, indices = X.data[entries], X.indices[entries]
            indptr = indptr - indptr[0] if indptr[0] else indptr
        else:
            X = X[rows]
            data, indices, indptr = X.data, X.indices, X.indptr
        return CSRRows(
            np.require(data, np.float64, ["C", "W"]),
            np.require(indices, np.int32, ["C", "W"]).view(np.uint32),
            np.require(indptr, np.int32, ["C", "W"]),
        )

    def can_replay(self, is_sparse):
        flags = self.fields.flags
        by_records = is_sparse or self.learner_sees_csr(None)
        if not (flags.f_contiguous if by_records else flags.c_contiguous):
            return False
        if is_sparse and self._changes_absent_features:
            return False
        return super().can_replay(is_sparse)

    @property
    def _changes_absent_features(self):
        """Whether sparse rows may change the state of features that they lack."""
        shrinks = self.traits.folds and getattr(self.learner, "radius", 0.0) < np.inf
        return shrinks or (self.traits.by_row and bool(self.average))

    # Merging.

    @property
    def _options(self):
        target = None if self.target is None else self.target.fresh()
        return {"features": self.features.fresh(), "target": target}

    def with_columns(self, placement):
        if self.traits.by_vector and not hasattr(self.learner, "with_columns"):
            raise columns_differ(type(self.learner).__name__)
        model, d = copy(self), self.n_features
        model.n_features = placement.n_columns
        model.features = self.features.with_columns(placement)
        values, others = np.split(self.fields, [d], axis=2)
        values = placement.apply(
            values, self._learned_columns(), self._initial_fields()
        )
        model.fields = np.concatenate([values, others], axis=2)
        first, others = np.split(self.first, [d])
        model.first = np.append(placement.apply(first, first > 0.0), others)
        return model

    def _learned_columns(self):
        """Mask of the features with another state than at first."""
        is_new = self.fields[:, :, : self.n_features] == self._initial_fields()
        return ~is_new.all(axis=(0, 1))

    def seen_columns(self):
        if self.traits.by_vector:
            return None
        return self._learned_columns() | self.features.seen

    @classmethod
    def merged(cls, shards):
        """Merge models of disjoint rows, which started from the same model.

        Weights are averaged by numbers of rows; sums over rows are added up.
        """
        if any(part.features.kind != shards.start.features.kind for part in shards):
            raise ValueError(
                "Models with centred rows cannot be merged with models without: set "
                "center to True or False where some rows are sparse."
            )
        model = shards.start.fresh()
        shards = model.merge_counts(shards)
        scales = model._merge_transforms(shards)
        model.prior = model.weight_scale.priors[1]
        model.learner = model._learner_of(model.prior)
        seen = model.in_units_of_means(shards) if model.sees_means else shards
        model._merge_learner(seen, scales)
        if model.traits.keeps_first:
            first = reduce(lambda a, b: np.where(a == 0.0, b, a), shards.first)
            model.first = np.minimum(first, model.state()[0][0])
        return model

    def _merge_learner(self, shards, scales):
        """Merge the states of the learner."""

        def mean(weights):
            pairs = zip(shards, scales, strict=True)
            matrices = [m._to_units(*weights(m), scale) for m, scale in pairs]
            return self._from_units(Shards(matrices, None, shards.shares).mean())

        w, averaged = mean(LinearModel._latest_weights), mean(LinearModel._weights)
        ones = np.ones(self.n_coordinates - self.n_features)
        pairs = zip(shards.units, scales, strict=True)
        units = [unit * np.append(scale, ones) for unit, scale in pairs]
        s, shared = shards.map(lambda model: model.state()).in_units(units), None
        if self.traits.has_wealth:
            pairs = zip(shards.units, s, strict=True)
            s.members = [own._make((*own[:-1], unit * own[-1])) for unit, own in pairs]
        if self.traits.by_row:
            shared = shards.map(lambda model: model.shared_state())
        x = np.zeros(self.n_coordinates)
        x[self.n_columns :] = self.scale_of_predicted
        state, shared = self.learner.merged(s, shared, w, x, self.t)
        if self.traits.by_vector:
            self.arrays = tuple(state)
            return
        self.fields[: len(state)] = np.stack(np.broadcast_arrays(*state))
        if shared is not None:
            self.shared = np.stack(shared)
        if self.averages:
            self.fields[-2] = averaged * (self.t - self.averaging_starts)

    def _to_units(self, w, b, scale):
        """Return weights and intercepts as a matrix, for rows in other units."""
        d = self.n_features
        of_values, b = self.features.to_units(w[:, :d], b, self.weight_scale.smallest)
        w = np.hstack([of_values / scale, w[:, d:]])
        if self.target is not None:
            w, b = self.target.to_weights(w, b)
        return np.clip(np.column_stack([w, b]), -MAX_FLOAT, MAX_FLOAT)

    def _from_units(self, weights):
        """Return weights of coordinates; the inverse of :meth:`_to_units`."""
        d, w, b = self.n_features, weights[:, :-1], weights[:, -1]
        if self.target is not None:
            w, b = self.target.from_weights(w, b)
        of_values, b = self.features.from_units(w[:, :d], b, self.weight_scale.smallest)
        weights = np.column_stack([of_values, w[:, d:], b])
        return np.clip(weights[:, : self.n_coordinates], -MAX_FLOAT, MAX_FLOAT)

    # Rolling back.

    def stays_finite(self, largest):
        """Whether no row with values and targets up to `largest` makes it diverge."""
        is_bounded = np.isfinite(self.loss.lipschitz)
        return self.traits.stays_finite and (is_bounded or largest <= MAX_SAFE_VALUE)

    def is_finite(self, chunk):
        if not np.isfinite(self.numbers).all():
            return False
        if self.stays_finite(np.inf):
            return True
        fields = self.fields
        if self.learns_sparse(chunk.X):
            if self.stays_finite(chunk.largest):
                return True
            if chunk.X.nnz < self.n_features:
                of_rest = np.arange(self.n_features, self.n_coordinates)
                fields = fields[:, :, np.append(chunk.X.indices, of_rest)]
        return all(np.isfinite(a).all() for a in (self.shared, fields, *self.arrays))

    def _seen(self, X, features):
        if not self.learns_sparse(X) or self._changes_absent_features:
            return X, None
        is_few = MIN_COLUMNS_PER_ENTRY * X.nnz < self.n_features
        return X, X.indices if is_few else None

    def checkpoint_row_boundary(self, chunk):
        if self._learns_whole_rows(chunk):
            return self._checkpoint_new_features(chunk.X)
        return checkpoint(self, chunk.X)

    def _learns_whole_rows(self, chunk):
        """Whether interruptions leave a whole number of sparse rows, and finite state.

        Then one call of an engine changes all of the state.
        """
        if not (self.learns_sparse(chunk.X) and self.n_coordinates > 1):
            return False
        if not current_engine().LEARNS_AT_ONCE:
            return False
        features = self.features
        if features.limits is not None or features.has_moments or self.target:
            return False
        units, largest, c = features.units, chunk.largest, chunk.sample_weight
        if not (largest <= MAX_SAFE_VALUE and (units is None or units.are_one)):
            return False
        if c is not None and c.any():
            smallest = self.weight_scale.unit or c[c > 0].min()
            if not max(c.max(), 1.0) <= MAX_SAFE_VALUE * min(smallest, 1.0):
                return False
        weights = chunk.weights(self.weight_scale, slice(None))
        keeps_prior = weights.keeps_prior(self.weight_scale.numbers)
        return keeps_prior and self.stays_finite(largest)

    def _checkpoint_new_features(self, X):
        """Return a function that forgets new features that were not learned."""
        make_writable(self)
        self.ensure_layout(X)
        units = self.features.units
        if units is None:
            return lambda: None
        has_few = X.nnz < self.n_features
        columns = X.indices if has_few else np.arange(self.n_features)
        new = columns[~units.seen[columns]]

        def restore():
            unlearned = self.fields[:, :, new] == self._initial_fields()
            units.forget(new[unlearned.all(axis=(0, 1))])

        return restore

    # Predictions.

    @staticmethod
    def decisions_of_transformed(models, Z):
        """Predict transformed rows with several models."""
        return [model.decision_of_transformed(Z) for model in models]

    def term(self, feature, values):
        """Return the term of a feature's values in predictions: (n, n_outputs)."""
        X = np.zeros((len(values), self.n_features))
        X[:, feature] = values
        is_other = np.ones(self.n_columns, dtype=bool)
        is_other[self.columns_of(feature)] = False
        Z = sparse.csr_array(self.transform(X))
        Z.data[is_other[Z.indices]] = 0.0
        if not self.learner_sees_csr(X):
            Z = Z.toarray()
        of_zeros = self.decision_of_transformed(0.0 * Z[:1])
        return self.decision_of_transformed(Z) - of_zeros

    def columns_of(self, feature):
        """Return the columns of transformed rows that depend on a feature."""
        return [feature]
