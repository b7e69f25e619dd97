"""Learn single rows by replaying the calls of an engine.

Preparing a call costs more than learning a row. So the calls by which a model learns a
row are recorded, with arrays that the next rows are copied into, and repeated for each.
A row that needs other calls, for instance with huge values, is learned as a chunk.
"""

from functools import partial
from itertools import chain
from operator import is_

import numpy as np

from .._rollback import finish, roll_back, rollbacks_around
from .._state import checkpoint, make_writable, parts_of
from ..blocks import RowWeights
from ..losses import as_targets
from ..transforms.bins import FeatureBins
from ..views import TableRows
from .base import MAX_SAFE_VALUE

ONE_ROW = slice(0, 1)

# Minimum number of entries that a sparse row has space for.
MIN_CAPACITY = 64

# Attributes that the calls depend on, beside arrays.
WATCHED_ATTRIBUTES = "are_one", "arrays", "is_fixed", "kept"


class Row:
    """Chunk of one row, in arrays that are reused.

    Parameters
    ----------
    n_features : int
    n_classes : int or None
        None in regression.
    capacity : int, default=None
        Number of entries that a sparse row can have; the row uses the first of them.
    n_dense : int, default=None
        Number of features of the dense view of a sparse row.

    Attributes
    ----------
    X : ndarray or CSR array of shape (1, n_features)
    given : float
        Sample weight.
    dense_view : Row or None
    """

    dense_view = None

    def is_within(self, largest, weights):
        """See :class:`Chunk`; :meth:`PreparedModel.accepts_row` checks the values."""
        return True

    def __init__(self, n_features, n_classes, capacity=None, n_dense=None):
        if capacity is None:
            self.X = np.zeros((1, n_features))
            self._dense = self.X[0]
        else:
            indptr = np.array([0, capacity], np.int32)
            csr = np.zeros(capacity), np.zeros(capacity, np.int32), indptr
            self.X = TableRows(csr, shape=(1, n_features))
        if n_dense is not None:
            self.dense_view = Row(n_dense, n_classes)
            self.X.dense_view = self.dense_view.X
        self.capacity = capacity
        self.given = 1.0
        self._codes = None if n_classes is None else np.arange(n_classes)
        self._targets = {}
        self._weights = {}

    def targets(self, loss, n_outputs, rows):
        """See :class:`Chunk`."""
        if loss.joint not in self._targets:
            by_code = np.zeros((1, n_outputs))
            if self._codes is not None:
                by_code = as_targets(self._codes, loss, n_outputs)
            self._targets[loss.joint] = by_code[:1].copy(), by_code
        return self._targets[loss.joint][0]

    def weights(self, scale, rows):
        """See :class:`Chunk`."""
        if id(scale) not in self._weights:
            numbers = np.array(scale.relative_of_one(0.0))
            weights = RowWeights(*numbers[:3].reshape(3, 1), numbers[3:])
            self._weights[id(scale)] = scale, numbers, weights
        return self._weights[id(scale)][2]

    @property
    def values(self):
        """Values of the row; only stored ones, if it is sparse."""
        return self._dense if self.capacity is None else self.X.data[: self.X.indptr[1]]

    @property
    def indices(self):
        """Features of the stored values of a sparse row."""
        return self.X.indices[: self.X.indptr[1]]

    @property
    def views(self):
        """The row itself, and its dense view if there is one."""
        return [self] if self.dense_view is None else [self, self.dense_view]

    def set_values(self, values, indices=None, dense_view=None):
        """Copy values into the row."""
        X = self.X
        if self.dense_view is not None:
            self.dense_view.set_values(dense_view)
        if self.capacity is not None:
            n = X.indptr[1] = len(indices)
            X.data[:n], X.indices[:n] = values, indices
        elif indices is None:
            self._dense[:] = values
        else:
            self._dense[:] = 0.0
            self._dense[indices] = values

    def set_target(self, y):
        """Set the target: the index of a class, or a number for each output."""
        for view in self.views:
            for target, by_code in view._targets.values():
                target[0] = y if self._codes is None else by_code[y]

    @property
    def keeps_prior(self):
        """Whether the row does not change the unit of an initial wealth."""
        scales = self._weights.values()
        return all(w.prior == scale.numbers[-1] for scale, _, w in scales)

    def set_weight(self, c):
        """Set the sample weight: 0 for a row that is only predicted."""
        if self.dense_view is not None:
            self.dense_view.set_weight(c)
        self.given = c
        for scale, numbers, _ in self._weights.values():
            numbers[:] = scale.relative_of_one(c)


def prepare(kind, model, models, engine, n_features, n_classes, n_entries, of_dense=()):
    """Return a :class:`PreparedModel`, of class `kind`, or None if that is impossible.

    The model has learned a row, and consists of linear `models`, and `of_dense` of the
    dense view. For the other parameters see :meth:`Model.prepared`.
    """
    if engine.Recorder is None:
        return None
    skips_zeros = {each.skips_zeros for each in models}
    if n_entries is not None and len(skips_zeros) > 1:
        return None
    is_sparse = n_entries is not None and skips_zeros == {True}
    can_replay = [each.can_replay(is_sparse) for each in models]
    can_replay += [is_sparse and each.can_replay(False) for each in of_dense]
    if not all(can_replay):
        return None
    capacity = max(2 * n_entries, MIN_CAPACITY) if is_sparse else None
    n_dense = of_dense[0].n_features if of_dense else None
    return kind(model, engine, Row(n_features, n_classes, capacity, n_dense))


class PreparedModel:
    """Linear model with the calls by which it learns a row.

    Parameters
    ----------
    model : LinearModel
    engine : Engine
    row : Row

    Attributes
    ----------
    reported : ndarray of shape (1, n_outputs)
        Prediction of the latest row before it was learned.
    """

    def __init__(self, model, engine, row):
        self.model, self.row = model, row
        self._engine = engine
        self._models = self._linear_models()
        of_views = self._models_of_views()
        make_writable(model)
        for view, models in zip(row.views, of_views, strict=True):
            for each in models:
                each.ensure_layout(view.X)
        self._sparse_models, self._dense_row = of_views[0], row.views[-1]
        parts = parts_of(model)
        self._bins = [
            part
            for part in parts
            if isinstance(part, FeatureBins) and not part.is_fixed
        ]
        recorder = engine.Recorder()
        rollbacks = [checkpoint(bins) for bins in self._bins]
        try:
            predictions = self._record_calls(recorder)
        finally:  # the recorded row is none of the stream
            finish(partial(roll_back, rollbacks))
        self._calls = recorder.calls
        attributes = [
            (part, name, value)
            for part in parts
            for name, value in vars(part).items()
            if isinstance(value, np.ndarray) or name in WATCHED_ATTRIBUTES
            if not (part in self._bins and name == "first")  # bins get another
        ]
        self._places = [[*each] for each in zip(*attributes, strict=True)]
        self._units, self._seen, self._has_unseen = [], [], False
        for view, models in zip(row.views, of_views, strict=True):
            units = {id(m.row_units): m.row_units for m in models}
            units = [each for each in units.values() if each is not None]
            if view.capacity is not None:
                self._units = units
                continue
            self._seen = [(each, each.seen.tobytes()) for each in units]
            self._unseen = np.zeros(view.X.shape[1], dtype=bool)
            for each in units:
                self._unseen |= ~each.seen
            self._has_unseen = self._unseen.any()
        self._next_change = self._find_next_change()
        #: Whether sparse rows are made dense.
        self.makes_dense = not any(m.skips_zeros for m in of_views[0])
        memories = [getattr(model, "memories", ()) for model in self._models]
        self._memories = {id(each): each for each in chain.from_iterable(memories)}
        recorded = [
            part
            for part in parts
            if part not in self._bins and id(part) not in self._memories
        ]
        whole, by_feature = self._split_arrays(_float_arrays(recorded))
        self._state = engine.SavedArrays(whole, by_feature, row.X)
        whole, by_feature = self._split_arrays(self._divergent_arrays())
        self._checked = engine.SavedArrays([*predictions, *whole], by_feature, row.X)

    def _linear_models(self):
        return [self.model]

    def _models_of_views(self):
        """Return the models of each view of the rows."""
        return [self._models]

    def _record_calls(self, recorder):
        """Record the calls; return the arrays of their predictions."""
        model, row = self.model, self.row
        predicted = model.learn_block(recorder, model.block(recorder, row, ONE_ROW))
        self.reported = predicted.reported
        return predicted.predictions, predicted.reported

    def _divergent_arrays(self):
        """Yield arrays that may become infinite or NaN, see :meth:`Model.is_finite`."""
        for model in self._models:
            yield model.numbers
            if not model.stays_finite(np.inf):
                yield from (model.shared, model.fields, *model.arrays)

    def _split_arrays(self, arrays):
        """Split arrays into arrays to save as a whole and arrays to save by feature.

        Sparse rows change few features. The rest of their arrays is of the intercept.
        """
        if self.row.capacity is None:
            return [*arrays], []
        n_features, whole, by_feature = self.row.X.shape[1], [], []
        ids_by_feature = {
            id(array)
            for m in self._sparse_models
            for array in (m.fields, m.first, m.features.moments)
        }
        for array in arrays:
            if id(array) in ids_by_feature:
                by_feature.append(array.T[:n_features])
                array = array.T[n_features:]
            whole.append(array)
        return whole, by_feature

    @property
    def is_current(self):
        """Whether the model still has the arrays of the recorded calls."""
        owners, names, values = self._places
        if not all(map(is_, map(getattr, owners, names), values)):
            return False
        return all(units.seen.tobytes() == seen for units, seen in self._seen)

    def accepts(self, n_entries):
        """Whether a row with `n_entries` fits; None stands for a dense row."""
        if self.row.capacity is None:
            return n_entries is None or self.makes_dense
        return n_entries is not None and n_entries <= self.row.capacity

    def accepts_row(self):
        """Whether the recorded calls are all that the row needs."""
        row = self.row
        for view in row.views:
            # False for NaN. Values are in range then, whatever the weights are.
            values = view.values
            if not values.dot(values) <= MAX_SAFE_VALUE**2:
                return False
        if self._has_unseen and self._dense_row.X[0, self._unseen].any():
            return False
        if row.given == 0.0:
            return True
        if not row.keeps_prior:
            return False
        if any(bins.n_missing == 1 for bins in self._bins):
            return False
        if self._models[0].t + 1 >= self._next_change:  # perhaps it has moved on
            self._next_change = self._find_next_change()
        return self._models[0].t + 1 < self._next_change

    def _find_next_change(self):
        """Return the number of rows of the first model where some model changes.

        All models learn the same rows.
        """
        n_left = min(
            min(model.next_change, model.next_growth) - model.t
            for model in self._models
        )
        return self._models[0].t + n_left

    def learn(self, estimator=None):
        """Predict the row, and learn it if it has a weight.

        An estimator records the loss, of a row that is learned. Returns whether all is
        finite. If not, or after an error, the state is as it was.
        """
        rollbacks = self._rollbacks()
        restore = partial(roll_back, rollbacks)
        if estimator is not None:
            loss_before = self.model.cumulative_loss
            around = rollbacks_around(estimator)
            if around is not None:
                around.append(restore)
        try:
            if self._learn_new_features() and self._learn_row():
                if estimator is not None:
                    self._add_to_curves(estimator, loss_before, rollbacks)
                    self._add_to_expert_curves(rollbacks)
                return True
            restore()
            return False
        except BaseException:
            finish(restore)
            raise

    def _rollbacks(self):
        """Save the state; return functions that restore it, to call in reverse."""
        self._state.save()
        row, rollbacks, self._new_units = self.row, [self._state.restore], []
        if row.capacity is not None and row.given > 0.0:
            indices = row.indices
            new = [each for each in self._units if not each.seen[indices].all()]
            rollbacks += [checkpoint(each, row.X, indices.copy()) for each in new]
            self._new_units = new
        if row.given > 0.0:
            rollbacks.extend(map(checkpoint, self._bins))
            rollbacks += [checkpoint(each, row.X) for each in self._memories.values()]
        return rollbacks

    def _learn_new_features(self):
        """Learn the units of a sparse row; return whether all are 1."""
        row = self.row
        if row.capacity is None or row.given == 0.0:
            return True
        for units in self._new_units:
            weights = row.weights(self.model.weight_scale, ONE_ROW)
            rows = self._sparse_models[0].rows(row.X, ONE_ROW)
            units.learn_and_convert(self._engine, rows, weights, checks=False)
        return all(units.are_one for units in self._units)

    def _learn_row(self):
        """Make the calls; return whether all results are finite."""
        for call in self._calls:
            call()
        if self.row.given > 0.0:
            for bins in self._bins:
                bins.learn(self._dense_row.X)
        return self._checked.are_finite()

    def estimators(self, own):
        """Return the estimators that record losses: of the model, and inside it."""
        return [own]

    def _add_to_curves(self, estimator, loss_before, rollbacks):
        """Add the loss of a learned row to the curve of an estimator."""
        if estimator.n_iter_ != 1:
            rollbacks.append(partial(setattr, estimator, "n_iter_", estimator.n_iter_))
            estimator.n_iter_ = 1
        estimator._record_row(loss_before, self.row.given, rollbacks)

    def _add_to_expert_curves(self, rollbacks):
        """Add the losses of a learned row to the curves of experts, if any."""


class LossCalls:
    """An engine that computes losses of predictions for one row.

    Parameters
    ----------
    recorder : Recorder
    loss : Loss
    block : Block
        Of the row.
    n_outputs : int
    """

    def __init__(self, recorder, loss, block, n_outputs):
        self._predictions = np.empty((1, n_outputs))
        self._losses, self._compute_losses = recorder.compute_losses(
            loss, block, self._predictions, 0.0
        )

    def compute_losses(self, loss, block, predictions, total):
        """Return the losses of predictions; see :class:`Engine`."""
        self._predictions[:] = predictions
        loss = self._compute_losses()
        return self._losses.copy(), total + loss


def append_losses(entries, rollbacks):
    """Append losses to curves in place, and drop the first ones of long curves.

    Entries are curves, their losses and maximum lengths. A function that undoes it is
    appended to `rollbacks` before.
    """
    before = [
        (curve, len(curve), loss, curve[: max(len(curve) + 1 - longest, 0)])
        for curve, loss, longest in entries
    ]

    def restore():
        for curve, n, loss, dropped in before:
            if curve and curve[-1] is loss:
                del curve[-1]
            if len(curve) < n:
                curve[:0] = dropped

    rollbacks.append(restore)
    for curve, _, loss, dropped in before:
        curve.append(loss)
        if dropped:
            del curve[: len(dropped)]


def _float_arrays(parts):
    """Yield the arrays of floats of parts of models."""
    for part in parts:
        for value in vars(part).values():
            for array in value if isinstance(value, tuple) else (value,):
                if not isinstance(array, np.ndarray) or array.dtype != np.float64:
                    continue
                # Read-only arrays do not change.
                if array.flags.writeable and array.flags.forc:
                    yield array
