"""A linear model under an online learner: its state, and what can be read from it."""

from copy import copy, deepcopy

import numpy as np
from scipy import sparse

from .._invariants import floats
from .._shards import Shards, columns_differ
from ..blocks import Block, CSRRows, DenseRows, as_writable
from ..config import current_engine
from ..engines import get_engine
from ..learners.bases.averaging import sum_before
from ..losses import identity
from ..transforms.features import FeatureTransform
from ..transforms.targets import TargetTransform
from .base import (
    BLOCK_ROWS,
    MAX_SAFE_VALUE,
    Learned,
    OnlineModel,
    ordered_blocks,
    snapshot,
)
from .row import PreparedModel, prepare

__all__ = ["MAX_FLOAT", "LinearModel"]

#: Coefficients beyond the largest number are that.
MAX_FLOAT = np.finfo(np.float64).max

# Entries of a block, of which a copy may be needed, at most (8 MB).
BLOCK_ENTRIES = 2**20

# From so many entries and rows on, a look at all values before they are learned takes
# longer than to keep the state until they are.
MANY_ENTRIES, MANY_ROWS = 2**15, 64

# With so many columns an entry of sparse rows, a copy of those with entries takes less
# time than one of all.
FEW_ENTRIES = 4


class LinearModel(OnlineModel):
    """State of an online learner of a linear model, and its predictions.

    Rows go through a transform of the features before the learner sees them, targets
    perhaps through one of their own.

    Parameters
    ----------
    learner, loss, n_features, n_outputs, fit_intercept, average
        See :class:`OnlineModel`.
    features : FeatureTransform, default=None
        None for rows as they are.
    target : TargetTransform, default=None
        If given, predictions are the target's running mean plus its running standard
        deviation times what the learner predicts.

    Attributes
    ----------
    fields : ndarray of shape (n_fields, n_outputs, n_coordinates)
        The learner's state. In C order for dense rows (each field contiguous), in
        Fortran order for sparse ones (one record a coordinate). With averaging, two
        fields more: the sum of the weights, and the clock up to which it goes.
    arrays : tuple of ndarray
        The state of a learner that sees rows as vectors, which has no fields.
    first : ndarray of shape (n_coordinates,)
        First non-zero value ``|x|`` as the learner saw it, where it asks for that.
    """

    #: Whether it learns from rows as its transform gives them, like other models.
    shares_rows = True

    def __init__(
        self,
        learner,
        loss,
        n_features,
        n_outputs,
        *,
        fit_intercept,
        average,
        features=None,
        target=None,
    ):
        super().__init__(learner, loss, n_features, n_outputs, fit_intercept, average)
        self.features = FeatureTransform(n_features) if features is None else features
        self.target = target
        self.arrays = ()
        if self.traits.by_vector:
            self.arrays = tuple(learner.initial_arrays(n_outputs, self.n_coordinates))
        initial = self._initial_fields()
        self.fields = np.empty((len(initial), n_outputs, self.n_coordinates))
        self.fields[:] = initial
        self.first = np.zeros(self.n_coordinates)

    def _initial_fields(self):
        """What `fields` have of coordinates that were not seen: (n_fields, 1, 1)."""
        values = () if self.traits.by_vector else self.learner.initial_state()
        return np.reshape([*values, *([0.0] * (2 if self.average else 0))], (-1, 1, 1))

    def arrays_of_outputs(self):
        return [self.fields, *self.arrays]

    def _add_outputs(self, origins):
        super()._add_outputs(origins)
        is_new, learner = origins.is_new, self.learner
        if self.traits.by_vector:
            arrays = learner.initial_arrays(is_new.size, self.n_coordinates)
            for values, old in zip(arrays, self.arrays, strict=True):
                values[~is_new] = old[origins.places[~is_new]]
            self.arrays = tuple(arrays)
        if self.fields.flags.c_contiguous:
            self.fields = self.fields.take(origins.places, axis=1)
        else:
            self.fields = self.fields.T.take(origins.places, axis=1).T
        if self.traits.by_vector:
            return
        names = learner.State._fields
        some = learner.State(*self.fields[: len(names), is_new])
        self._store_idle("state", self.fields, some, is_new)
        self.fields[len(names) :, is_new] = 0.0  # nothing to average yet
        is_odd = [name in getattr(learner, "odd", ()) for name in names]
        is_odd += [True, False] if self.average else []
        self.fields[np.ix_(is_odd, origins.signs < 0)] *= -1.0

    @property
    def n_columns(self):
        """Number of columns of rows as the learner sees them."""
        return self.n_features

    @property
    def n_coordinates(self):
        return self.n_columns + self.fit_intercept

    @property
    def parts(self):
        """The objects that the state of the transforms is in."""
        return [*self.features.parts, *([self.target] if self.target else [])]

    @property
    def lipschitz(self):
        """What derivatives of the loss are divided by for the learner.

        That of a standardised target sees a loss without unit: divided by its Lipschitz
        constant or, where there is none, by the target's standard deviation, which its
        transform does.
        """
        if self.target is None:
            return super().lipschitz
        return self.loss.lipschitz if self.target.unit_free else 1.0

    @property
    def row_scale(self):
        return self.lipschitz if self.target is None else 1.0

    def state(self):
        """Named arrays of the learner."""
        if self.traits.by_vector:
            return self.learner.State(*self.arrays)
        return self.learner.State(*self.fields[: len(self.learner.State._fields)])

    def invariants(self):
        yield from super().invariants()
        names = () if self.traits.by_vector else self.learner.State._fields
        names += ("sum of weights", "clock of the sum") if self.average else ()
        yield "fields has an array for each name", len(self.fields) == len(names)
        shape = self.n_outputs, self.n_coordinates
        for name, values in zip(names, self.fields, strict=True):
            yield from floats(name, values, shape)
        for name, values in zip(self.learner.State._fields, self.arrays, strict=False):
            yield from floats(name, values, values.shape)
        yield from floats("first", self.first, shape[1:])
        yield "first >= 0", self.first >= 0.0
        if self.average:
            last, clock = self.fields[-1], self.clock[0, :, np.newaxis]
            yield "clock of the sum is not ahead", (last >= 0.0) & (last <= clock)
        if self.traits.keeps_first:
            largest = self.state()[0]
            yield "first is not above the largest", self.first <= largest
        yield from self._learner_invariants(self.state())

    def _sizes(self):
        yield from super()._sizes()
        n_features, target = self.features.n_features, self.target
        yield "features are those of rows", n_features == self.n_features
        if target is not None:
            shape = 2, self.n_outputs
            yield "target is of the outputs", target.moments.shape == shape
            is_bounded = np.isfinite(self.loss.lipschitz)
            yield "slopes have no unit if bounded", is_bounded or not target.unit_free
        shape = (self.n_coordinates,)
        yield "first is of the coordinates", self.first.shape == shape

    # Learning.

    def learn(self, chunk, order=None, again=False, are_new=True):
        engine = get_engine(current_engine())
        self.ensure_layout(chunk.X)
        for rows in self.blocks(chunk.X, order):
            answers = self._learn_many(engine, chunk, rows)
            if answers is None:
                # No name holds the block, of which there may be a copy, until the next.
                answers = self.learn_block(engine, self.block(engine, chunk, rows))
            yield Learned(rows, answers.reported, answers.all_finite)

    def ensure_layout(self, X):
        """Get ready for rows such as these."""
        super()._ensure_layout()
        order = "F" if self.gives_csr(X) else "C"
        self.fields = as_writable(self.fields, order)
        self.arrays = tuple(as_writable(a, "C") for a in self.arrays)
        self.first = as_writable(self.first)
        self.features.ensure_layout(self.learns_sparse(X))
        if self.target is not None:
            self.target.ensure_layout()

    def blocks(self, X, order=None):
        """Give rows of `X` in order, as slices or indices, some at a time."""
        n, entries = X.shape[0], self.largest_row
        if self.learns_sparse(X):
            entries = X.nnz // n
        size = BLOCK_ENTRIES // max(entries, self.n_outputs, 1)
        return ordered_blocks(n, min(max(size, 1), BLOCK_ROWS), order)

    def _learn_many(self, engine, chunk, rows):
        """Learn many dense rows, which the engine looks at as it learns them.

        Returns None, and the model is as it was, if that does not pay, or if values are
        so large that it takes a look at all of them before.
        """
        n = len(chunk.y[rows])
        are_many = n >= MANY_ROWS and n * self.n_features >= MANY_ENTRIES
        if not are_many or self.gives_csr(chunk.X):
            return None
        restore = self.checkpoint(chunk.X)
        block = self.block(engine, chunk, rows, checks=False)
        answers = self._answers(n)
        if engine.learn_rows(self.task, self._own_state(), block, answers):
            return answers
        restore()
        return None

    def block(self, engine, chunk, rows, checks=True):
        """A block of rows for the engine, of which the transforms learn.

        Where values are not looked at before, the engine has to.
        """
        y = chunk.targets(self.loss, self.n_outputs, rows)
        weights = chunk.weights(self.weight_scale, rows)
        largest = np.inf if checks else self.features.largest
        if checks and self.learns_sparse(chunk.X):
            # The whole chunk is looked at once, others may have done that before.
            checks = not chunk.largest <= self.features.largest / weights.heaviest
        of_block, moments = self._rows_of_block(engine, chunk.X, rows, weights, checks)
        scale = None
        if self.target is not None:
            scale = self.target.learn(engine, y, weights)
        return Block(of_block, moments, y, weights, scale, largest)

    def _rows_of_block(self, engine, X, rows, weights, checks):
        """Rows for the engine, and moments that it is to transform them with."""
        rows = self.rows(X, rows)
        rows, outgrown = self.features.learn_and_convert(engine, rows, weights, checks)
        self.forget(outgrown)
        return rows, self.features.state()

    def learn_transforms(self, engine, X, rows, weights, once):
        """Rows as the learner sees them, of which the transforms of features learn.

        Parameters
        ----------
        engine : Engine
        X : ndarray or CSR array of shape (n, n_features)
        rows : slice or ndarray of int
        weights : RowWeights
        once : callable
            Is given a transform and a function, which it calls the first time that it
            is given that transform; returns what that gave.

        Returns
        -------
        rows : DenseRows or CSRRows
        """

        def transformed():
            entered = self.features.learn_and_convert(
                engine, self.rows(X, rows), weights
            )
            return self.features.learn(engine, entered[0], weights), entered[1]

        seen, outgrown = once(id(self.features), transformed)
        self.forget(outgrown)
        return seen

    @property
    def sees(self):
        """Equal for models that see the same rows."""
        return (id(self.features),)

    def share_transforms(self, shared):
        """Take over transforms of models that see all rows alike.

        Parameters
        ----------
        shared : dict
            Transforms by what they do, to which those that are new are added.
        """
        key = "features", self.features.kind, self.passes_over_zeros
        self.features = shared.setdefault(key, self.features)
        if self.target is not None:
            key = "target", self.target.kind
            self.target = shared.setdefault(key, self.target)

    def forget(self, features):
        """Take features as not seen, unless the learner does not see their unit."""
        if features.size and not (self.features.scale or self.traits.by_vector):
            self.fields[:, :, features] = self._initial_fields()
            self.first[features] = 0.0

    def learn_block(self, engine, block):
        """Learn from a block; return what was said and what it cost."""
        (answers,) = self.learn_stacked(engine, [self], block)
        return answers

    @property
    def stack_key(self):
        """Equal for models that may learn side by side, None for one that may not."""
        if self.average or self.traits.by_vector:
            return None
        algorithm = type(self.learner), identity(self.loss), self.fit_intercept
        return *algorithm, self.t, self.sees, id(self.target)

    @staticmethod
    def learn_stacked(engine, models, block):
        """Learn with several models of a team; see :meth:`learn_block`."""
        answers = [model._answers(len(block.weights.given)) for model in models]
        states = [model._own_state() for model in models]
        engine.learn_stacked([model.task for model in models], states, block, answers)
        return answers

    def _own_state(self):
        return self._state(self.fields, self.arrays, self.first)

    @property
    def passes_over_zeros(self):
        """Whether sparse rows are learned as such."""
        return not (self.features.center or self.traits.touches_all)

    def learns_sparse(self, X):
        """Whether these are."""
        return sparse.issparse(X) and self.passes_over_zeros

    def gives_csr(self, X):
        """Whether the learner is given sparse rows."""
        return self.learns_sparse(X)

    @property
    def largest_row(self):
        """Number of entries of a dense row as the learner is given it."""
        return self.n_features

    def rows(self, X, rows):
        """Rows as the engines take them; a copy only where they cannot be used."""
        if not sparse.issparse(X):
            return DenseRows(np.require(X[rows], np.float64, ["C", "W"]))
        if not self.learns_sparse(X):
            return DenseRows(X[rows].toarray().astype(np.float64, copy=False))
        if isinstance(rows, slice):  # slicing the matrix would copy
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

    def learns_rows_alike(self, is_sparse):
        """Whether what it does with rows depends on no value that is ordinary.

        It does where it is still arranged for other rows.

        Parameters
        ----------
        is_sparse : bool
            Whether rows are sparse, and learned as such.
        """
        features, flags = self.features, self.fields.flags
        by_records = is_sparse or self.gives_csr(None)
        kept = 1.0 if is_sparse else 1.0 - features.forgetting
        if not (flags.f_contiguous if by_records else flags.c_contiguous):
            return False
        if self._may_pass_over_all if is_sparse else features.has_waiting_zeros:
            return False
        if features.kept != kept or features.limits is not None:
            return False
        return features.units is None or features.units.are_one

    @property
    def _may_pass_over_all(self):
        """Whether sparse rows may change what is kept of features they do not have."""
        shrinks = self.traits.folds and getattr(self.learner, "radius", 0.0) < np.inf
        return shrinks or (self.traits.by_row and bool(self.average))

    #: Number of trials that end with more than what the engine learns.
    next_change = np.inf

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
        values = placement.of(values, self._learned_columns(), self._initial_fields())
        model.fields = np.concatenate([values, others], axis=2)
        first, others = np.split(self.first, [d])
        model.first = np.append(placement.of(first, first > 0.0), others)
        return model

    def _learned_columns(self):
        """Which features have another state than at first."""
        is_new = self.fields[:, :, : self.n_features] == self._initial_fields()
        return ~is_new.all(axis=(0, 1))

    def seen_columns(self):
        if self.traits.by_vector:
            return None
        return self._learned_columns() | self.features.seen

    @classmethod
    def merged(cls, shards):
        """A model that has learned what several have, of other rows each.

        Its weights are the mean of theirs, by numbers of rows, and what rows add to
        adds up.

        Parameters
        ----------
        shards : Shards
            Models of this class that began in the same way.

        Returns
        -------
        model : LinearModel
        """
        if any(part.features.kind != shards.start.features.kind for part in shards):
            raise ValueError(
                "Models that have centred their rows and others that have not cannot "
                "be merged: set center to True or False where some rows are sparse."
            )
        model = shards.start.fresh()
        shards = model.take_numbers(shards)
        scales = model._merge_transforms(shards)
        model._merge_learner(shards, scales)
        if model.traits.keeps_first:
            model.first = np.minimum(_first_of([*shards.first]), model.state()[0][0])
        return model

    def _merge_transforms(self, shards):
        """Take the transforms of several; see :meth:`FeatureTransform.merged`."""
        features = shards.of(lambda model: model.features)
        self.features, scales = FeatureTransform.merged(features)
        if self.target is not None:
            self.target = TargetTransform.merged(shards.of(lambda model: model.target))
        return scales

    def _merge_learner(self, shards, scales):
        """Take the mean of the weights of several, and the sums of their rows."""

        def mean(weights):
            pairs = zip(shards, scales, strict=True)
            of_each = [m._to_units(*weights(m), scale) for m, scale in pairs]
            return self._of_units(Shards(of_each, None, shards.shares).mean())

        w, averaged = mean(LinearModel._present_weights), mean(LinearModel._weights)
        ones = np.ones(self.n_coordinates - self.n_features)
        units = [
            unit * np.append(scale, ones)
            for unit, scale in zip(shards.units, scales, strict=True)
        ]
        s, shared = shards.of(lambda model: model.state()).in_units(units), None
        if self.traits.by_row:
            shared = shards.of(lambda model: model.shared_state())
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
        """Weights as a matrix, for rows in units that are multiplied by a scale."""
        d = self.n_features
        of_values, b = self.features.to_units(w[:, :d], b, self.weight_scale.smallest)
        w = np.hstack([of_values / scale, w[:, d:]])
        if self.target is not None:
            w, b = self.target.to_weights(w, b)
        return np.clip(np.column_stack([w, b]), -MAX_FLOAT, MAX_FLOAT)

    def _of_units(self, weights):
        """Weights of coordinates, from what :meth:`_to_units` gives."""
        d, w, b = self.n_features, weights[:, :-1], weights[:, -1]
        if self.target is not None:
            w, b = self.target.from_weights(w, b)
        of_values, b = self.features.from_units(w[:, :d], b, self.weight_scale.smallest)
        weights = np.column_stack([of_values, w[:, d:], b])
        return np.clip(weights[:, : self.n_coordinates], -MAX_FLOAT, MAX_FLOAT)

    # Going back.

    def stays_finite(self, largest):
        """Whether no row with values and targets up to `largest` makes it diverge.

        They are in the range of :mod:`.transforms.ranges` in any case.
        """
        bounded = np.isfinite(self.loss.lipschitz)
        return self.traits.stays_finite and (bounded or largest <= MAX_SAFE_VALUE)

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
                fields = fields[:, :, self._touched(chunk.X)]
        return all(np.isfinite(a).all() for a in (self.shared, fields, *self.arrays))

    def _touched(self, X):
        """Coordinates of sparse rows; some of them more than once."""
        return np.append(X.indices, np.arange(self.n_features, self.n_coordinates))

    def checkpoint(self, X):
        has_few = self.learns_sparse(X) and FEW_ENTRIES * X.nnz < self.n_features
        if not has_few or self._may_pass_over_all:
            return snapshot(self, self.weight_scale, *self.parts)
        # Of a few sparse rows, only the columns that they touch are kept.
        names = "numbers", "shared", "clock", "target", "weight_scale"
        small = {name: deepcopy(vars(self)[name]) for name in names}
        coordinates = self._touched(X)
        # One record a coordinate, which is how they are in memory.
        fields = self.fields.T.take(coordinates, axis=0)
        first = self.first.take(coordinates)
        features = self.features.checkpoint(X.indices)

        def restore():
            vars(self).update(small)
            self.fields.T[coordinates], self.first[coordinates] = fields, first
            features()

        return restore

    def checkpoint_row_boundary(self, chunk):
        if self._learns_whole_rows(chunk):
            return self._way_to_learned_units(chunk.X)
        return self.checkpoint(chunk.X)

    def _learns_whole_rows(self, chunk):
        """Whether interruptions leave a whole number of sparse rows, and all is finite.

        That is where one call of an engine changes all of the state.
        """
        if not self.learns_sparse(chunk.X):
            return False
        if not get_engine(current_engine()).LEARNS_AT_ONCE:
            return False
        if self.features.limits is not None or self.target is not None:
            return False
        if self.n_coordinates == 1:
            return False
        units, largest, c = self.features.units, chunk.largest, chunk.sample_weight
        if not (largest <= MAX_SAFE_VALUE and (units is None or units.are_one)):
            return False
        if c is not None and c.any():
            smallest = self.weight_scale.unit or c[c > 0].min()
            if not max(c.max(), 1.0) <= MAX_SAFE_VALUE * min(smallest, 1.0):
                return False
        return self.stays_finite(largest)

    def _way_to_learned_units(self, X):
        """How to take features as not seen that are new, if nothing was learned."""
        units = self.features.units
        if units is None:
            return lambda: None
        few = X.nnz < self.n_features
        columns = X.indices if few else np.arange(self.n_features)
        new = columns[~units.seen[columns]]

        def restore():
            unlearned = self.fields[:, :, new] == self._initial_fields()
            units.forget(new[unlearned.all(axis=(0, 1))])

        return restore

    # One row at a time.

    def prepared(self, engine, n_features, n_classes, n_entries=None):
        rows = n_features, n_classes, n_entries
        return prepare(PreparedModel, self, [self], engine, *rows)

    # Predictions.

    def decision(self, X):
        p = np.empty((X.shape[0], self.n_outputs))
        for rows in self.blocks(X):
            p[rows] = self.decision_of_transformed(self.transform(X[rows]))
        return p

    def transform(self, X):
        """Rows as the learner sees them."""
        with np.errstate(all="ignore"):
            return self.features.transform(X, self.weight_scale.smallest)

    def term(self, features, values):
        """What predictions have of a feature, or of two beside what they have of each.

        Parameters
        ----------
        features : tuple of one or two int
        values : ndarray of shape (n, n_values)
            Of these features; all other features are at rest.

        Returns
        -------
        p : ndarray of shape (n, n_outputs)
        """
        X = np.zeros((len(values), self.n_features))
        X[:, list(features)] = values
        at_rest = np.ones(self.n_columns, dtype=bool)
        at_rest[self.columns_of(features)] = False
        Z = sparse.csr_array(self.transform(X))
        Z.data[at_rest[Z.indices]] = 0.0
        if not self.gives_csr(X):
            Z = Z.toarray()
        nothing = self.decision_of_transformed(0.0 * Z[:1])
        return self.decision_of_transformed(Z) - nothing

    def columns_of(self, features):
        """Columns of transformed rows that are of these features only."""
        return list(features) if len(features) == 1 else []

    def decision_of_transformed(self, Z):
        """Predictions of rows that are transformed."""
        # A row beyond the values seen so far has weights of its own; elsewhere this is
        # one product with the weights that all rows share.
        with np.errstate(all="ignore"):
            p = self._predict_averaged(Z) if self.averages else self._predict(Z)
            return p if self.target is None else self.target.to_raw(p)

    def _predict_averaged(self, Z):
        w, b = self._weights()
        return Z @ w.T + b

    def _predict(self, Z):
        if not self.traits.reaches:
            return self._predict_shared(Z)
        return self._predict_reached(Z) * self._factor(0.0)

    def _predict_shared(self, Z):
        """All rows share their weights, up to a factor."""
        w, b = self._vectors()
        squares = Z.multiply(Z) if sparse.issparse(Z) else Z * Z
        q = np.asarray(squares.sum(axis=1)).reshape(-1, 1) + self.fit_intercept
        return (Z @ w.T + b) * self._factor(self.scale_of_predicted**2 * q)

    def _predict_reached(self, Z):
        """Rows within reach share their weights; entries beyond have their own."""
        scale, s, t = self.scale_of_predicted, self.state(), self.t + 1
        is_sparse = sparse.issparse(Z)
        if is_sparse:
            entries = sparse.coo_array(Z)
            row, column, z = entries.row, entries.col, entries.data
        if is_sparse and z.size < self.n_columns:
            # Cheaper than the weights of all features, most of which are not needed.
            p = np.tile(self._intercepts(), (Z.shape[0], 1))
        else:
            w, b = self._vectors()
            features = (slice(None), slice(self.n_columns))
            reach = self.learner.reach(s, features, t).min(axis=0) / scale
            if is_sparse:
                beyond = np.abs(z) > reach[column]
                row, column, z = row[beyond], column[beyond], z[beyond]
                within = Z.copy()
                within.data[beyond] = 0.0
            else:
                beyond = np.abs(Z) > reach
                row, column = np.nonzero(beyond)
                z = Z[beyond]
                within = np.where(beyond, 0.0, Z) if z.size else Z
            p = within @ w.T + b
        if z.size:
            own = self.learner.weight(s, (slice(None), column), scale * z, t)
            for k, more in enumerate(own * z):
                p[:, k] += np.bincount(row, more, minlength=p.shape[0])
        return p

    def _weights(self):
        """Weights of the features of rows within reach, and the intercepts."""
        if self.averages:
            w, b = np.split(self._averaged_weights(), [self.n_columns], axis=1)
            return w, b.sum(axis=1)
        return self._present_weights()

    def _present_weights(self):
        """The same of the algorithm itself."""
        w, b = self._vectors()
        factor = self._factor_at_rest()
        return factor[:, np.newaxis] * w, factor * b

    def _vectors(self):
        """The same before they are multiplied by the factor."""
        if self.traits.by_vector:
            w = self.learner.weights(self.state(), self.t + 1)
            w, b = np.split(w, [self.n_columns], axis=1)
            return w, b.sum(axis=1)
        i = (slice(None), slice(self.n_columns))
        return self.learner.weight(self.state(), i, 0.0, self.t + 1), self._intercepts()

    def _intercepts(self):
        if not self.fit_intercept:
            return np.zeros(self.n_outputs)
        i = (slice(None), self.n_columns)
        return self.learner.weight(self.state(), i, self.scale_of_predicted, self.t + 1)

    def _averaged_weights(self):
        total, last = self.fields[-2:]
        at_rest = self.learner.weight(self.state(), ..., 0.0, self.t + 1)
        w_sum = sum_before(total, last, ..., at_rest, self.clock[0, :, np.newaxis])
        return w_sum / (self.t - self.averaging_starts)

    def coefficients(self):
        """Weights and intercepts in the units of the features.

        Returns
        -------
        coef : ndarray of shape (n_outputs, n_features)
        intercept : ndarray of shape (n_outputs,)
        """
        with np.errstate(all="ignore"):
            w, b = self.features.to_raw(*self._weights(), self.weight_scale.smallest)
            if self.target is not None:
                w, b = self.target.to_weights(w, b)
        # Weights of tiny values may be beyond the largest number; then they are that.
        return np.clip(w, -MAX_FLOAT, MAX_FLOAT), b

    def regret_bound(self, coef, intercept):
        """Bound on the regret against a comparator, on the rows so far.

        Parameters
        ----------
        coef : ndarray of shape (n_outputs, n_features)
        intercept : ndarray of shape (n_outputs,)

        Returns
        -------
        bound : float
        """
        if self.features.has_altered_values:
            return np.inf
        if self.features.units is not None:
            coef = self.features.units.from_raw(coef)
        u = np.hstack([coef, intercept[:, np.newaxis]])[:, : self.n_coordinates]
        return self._bound(self.state(), u, self.first)


def _first_of(arrays):
    """Of each entry, the first that is not 0."""
    first = np.zeros_like(arrays[0])
    for array in arrays:
        first = np.where(first == 0.0, array, first)
    return first
