"""Learn a few rows by repeating the calls of an engine.

Preparing a call costs more than learning a row. So the calls by which a model learns
some number of rows are recorded, with arrays that the next rows are copied into, and
repeated for each chunk of that size. Rows that need other calls, for instance with huge
values, are learned as any chunk is.
"""

from functools import partial
from itertools import chain
from operator import is_
from weakref import ref

import numpy as np
from scipy.linalg.blas import ddot

from .._locks import locks_of
from .._rollback import finish, roll_back, rollbacks_around
from .._state import (
    NeedsRoom,
    UndoLog,
    assignments,
    attributes_of,
    checkpoint,
    make_writable,
    parts_of,
)
from ..blocks import RowWeights
from ..config import current_engine
from ..losses import as_targets
from ..transforms.bins import FeatureBins
from ..views import TableRows
from .model import MAX_SAFE_VALUE
from .served import ServedRows, learn_served

# Minimum number of entries that a sparse row has space for.
MIN_CAPACITY = 64

# Attributes that the calls depend on, beside arrays.
WATCHED_ATTRIBUTES = "are_one", "arrays", "is_fixed", "_state"

# Largest chunks that have sessions, by rows, and by entries, which are copied. In
# others, calls take little of the time.
MAX_ROWS, MAX_ENTRIES = 512, 2**15


# Largest number of rows that a session predicts.
MAX_PREDICTED = 256

# Number of sizes of chunks that a model has sessions for.
MAX_SESSIONS = 8


class Rows:
    """Chunk of some rows, in arrays that are reused.

    Parameters
    ----------
    capacity : int, default=None
        Number of entries that a single sparse row can have; it uses the first of them.
    n_dense : int, default=None
        Number of features of the dense view of a sparse row.

    Attributes
    ----------
    total_weight : float
        Sum of the sample weights; 0 if rows are only predicted.
    is_learned : ndarray of bool or slice
        Which rows are learned, if some are.
    """

    dense_view = None

    def __init__(self, n_features, n_classes, n_rows=1, capacity=None, n_dense=None):
        if capacity is None:
            self.X = np.zeros((n_rows, n_features))
        else:
            indptr = np.array([0, capacity], np.int32)
            csr = np.zeros(capacity), np.zeros(capacity, np.int32), indptr
            self.X = TableRows(csr, shape=(1, n_features))
        if n_dense is not None:
            self.dense_view = Rows(n_dense, n_classes)
            self.X.dense_view = self.dense_view.X
        self.capacity, self.all = capacity, slice(0, n_rows)
        self.total_weight = 0.0
        self._codes = None if n_classes is None else np.arange(n_classes)
        self._targets = {}
        self._weights = None

    def __len__(self):
        return self.X.shape[0]

    def is_within(self, largest, weights):
        """See :class:`Chunk`; :meth:`Session.accepts_rows` checks the values."""
        return True

    def targets(self, loss, n_outputs, rows):
        """See :class:`Chunk`."""
        key = loss.joint, n_outputs
        if key not in self._targets:
            by_code = np.zeros((1, n_outputs))
            if self._codes is not None:
                by_code = as_targets(self._codes, loss, n_outputs)
            target = by_code[np.zeros(len(self), np.intp)]
            self._targets[key] = target, by_code, (loss, n_outputs)
        return self._targets[key][0]

    def weights(self, scale, rows):
        """See :class:`Chunk`."""
        if self._weights is None:  # all models have the same scale
            n, numbers = len(self), np.concatenate(scale.relative(np.zeros(len(self))))
            weights = RowWeights(*numbers[: 3 * n].reshape(3, n), numbers[3 * n :])
            self._weights = scale, numbers, weights
        return self._weights[2]

    @property
    def values(self):
        """Values of the rows; only stored ones, if they are sparse."""
        if self.capacity is None:
            return self.X.ravel()
        return self.X.data[: self.X.indptr[1]]

    @property
    def indices(self):
        """Features of the stored values of a sparse row."""
        return self.X.indices[: self.X.indptr[1]]

    @property
    def views(self):
        """The rows themselves, and their dense view if there is one."""
        return [self] if self.dense_view is None else [self, self.dense_view]

    def set_values(self, values, indices=None, dense_view=None):
        """Copy values into the rows."""
        X = self.X
        if self.dense_view is not None:
            self.dense_view.set_values(dense_view)
        if self.capacity is not None:
            n = X.indptr[1] = len(indices)
            X.data[:n], X.indices[:n] = values, indices
        elif indices is None:
            X[:] = values
        else:
            X[:] = 0.0
            X[0, indices] = values

    def set_target(self, y):
        """Set the target of a row: the index of a class, or a number each output."""
        for view in self.views:
            for target, by_code, _ in view._targets.values():
                target[0] = y if self._codes is None else by_code[y]

    def set_chunk(self, chunk):
        """Copy a chunk into the rows; return False if none are to be learned."""
        c = chunk.sample_weight
        if c is not None and not c.any():
            return False
        self.set_values(chunk.X)
        for target, _, kind in self._targets.values():
            target[:] = chunk.targets(*kind, self.all)
        self.set_weights(np.ones(len(self)) if c is None else c)
        return True

    @property
    def keeps_prior(self):
        """Whether the rows do not change the unit of an initial wealth."""
        scale, _, weights = self._weights
        return weights.keeps_prior(scale.numbers)

    def set_weights(self, c):
        """Set the sample weights, an array or that of a single row.

        Rows of weight 0 are only predicted.
        """
        if isinstance(c, float):
            total, self.is_learned = c, slice(None)
        else:
            total, self.is_learned = float(c.sum()), c > 0.0
        for view in self.views:
            view.total_weight = total
            scale, numbers, _ = view._weights
            if len(self) == 1:
                numbers[:] = scale.relative_of_one(total)
            else:
                numbers[:] = np.concatenate(scale.relative(c))


class Session:
    """Model with the calls by which it learns some rows.

    If labels come late, the rows exchange predictions with those `served`. Predictions
    of the latest rows before each was learned are `reported`.
    """

    def __init__(self, model, engine, rows, served=None):
        self.model, self.rows, self.served = model, rows, served
        self._engine = engine
        of_views = self.models_of_views(model)
        self._models = [*chain.from_iterable(of_views)]
        of_views = [
            [each for each in models if each.skips_zeros is not None]
            for models in of_views
        ]
        make_writable(model)
        for view, models in zip(rows.views, of_views, strict=True):
            for each in models:
                each.ensure_layout(view.X)
        self._sparse_models, self._dense_rows = of_views[0], rows.views[-1]
        parts = parts_of(model)
        self._bins = [
            part
            for part in parts
            if isinstance(part, FeatureBins) and not part.is_fixed
        ]
        recorder = self._recorder = engine.Recorder()
        rollbacks = [checkpoint(bins) for bins in self._bins]
        try:
            predictions = self._record_calls(recorder)
        finally:  # recorded rows are none of the stream
            finish(partial(roll_back, rollbacks))
        self._calls = recorder.functions
        attributes = [
            (part, name, value)
            for part in parts
            for name, value in attributes_of(part)
            if isinstance(value, np.ndarray) or name in WATCHED_ATTRIBUTES
        ]
        self._places = [*zip(*attributes, strict=True)]
        self._units, self._seen, self._has_unseen = [], [], False
        for view, models in zip(rows.views, of_views, strict=True):
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
        self._memories = [part for part in parts if part._undone]
        others = {*map(id, self._bins + self._memories)}
        recorded = [part for part in parts if id(part) not in others]
        whole, by_feature = self._split_arrays(_float_arrays(recorded))
        self._state = engine.SavedArrays(whole, by_feature, rows.X)
        whole, by_feature = self._split_arrays(self._divergent_arrays())
        self._checked = engine.SavedArrays([*predictions, *whole], by_feature, rows.X)
        #: Returns what undoes earlier rows, while they may be undone with later ones.
        self._undoable = ref(UndoLog())
        #: Number of assignments when the arrays were looked at.
        self._n_assignments = -1
        #: Curve of the losses of the estimator, a copy, and its maximum length.
        self._curve, self._longest_curve = None, 0
        self._estimators = [each for each in parts if hasattr(each, "_learned_with")]

    @staticmethod
    def models_of_views(model):
        """Return the models of the rows, and of their dense view if there are any."""
        return [[model]]

    def _record_calls(self, recorder):
        """Record the calls; return the arrays of their predictions."""
        model, rows = self.model, self.rows
        block = model.block(recorder, rows, rows.all)
        served = None if self.served is None else [self.served]
        (predicted,) = learn_served(recorder, [model], block, served)
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
        if self.rows.capacity is None:
            return [*arrays], []
        n_features, whole, by_feature = self.rows.X.shape[1], [], []
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
        if self._n_assignments == assignments.n:
            return True
        n_assignments, (owners, names, values) = assignments.n, self._places
        if not all(map(is_, map(getattr, owners, names), values)):
            return False
        if any(each._learned_with for each in self._estimators):
            return False  # learning will refuse the parameters
        if not all(units.seen.tobytes() == seen for units, seen in self._seen):
            return False
        self._n_assignments = n_assignments
        return True

    def accepts(self, n_entries):
        """Whether a row with `n_entries` fits; None stands for a dense row."""
        if self.rows.capacity is None:
            return n_entries is None or self.makes_dense
        return n_entries is not None and n_entries <= self.rows.capacity

    def accepts_rows(self):
        """Whether the recorded calls are all that the rows need."""
        rows = self.rows
        for view in rows.views:
            # False for NaN. Values are in range then, whatever the weights are.
            values = view.values
            if values.size and not ddot(values, values) <= MAX_SAFE_VALUE**2:
                return False
        if self._has_unseen and self._dense_rows.X[:, self._unseen].any():
            return False
        if rows.total_weight == 0.0:
            return True
        if not rows.keeps_prior:
            return False
        if self._bins and any(0 < bins.n_missing <= len(rows) for bins in self._bins):
            return False
        t = self._models[0].t + len(rows)
        if t >= self._next_change:  # perhaps it has moved on
            self._next_change = self._find_next_change()
        return t < self._next_change

    def _find_next_change(self):
        """Return the number of rows of the first model where some model changes.

        All models learn the same rows.
        """
        n_left = min(
            min(model.next_change, model.next_growth) - model.t
            for model in self._models
        )
        return self._models[0].t + n_left

    def learn(self, estimator):
        """Predict the rows, then learn them; the estimator records their loss.

        Returns whether all is finite. If not, or after an error, the state is as
        before.
        """
        if self.rows.total_weight == 0.0:
            return self.make_calls()
        rollbacks = self._rollbacks()
        restore = partial(roll_back, rollbacks)
        loss_before = self.model.cumulative_loss
        around = rollbacks_around(estimator)
        if around is not None:
            around.append(restore)
        try:
            if self._learn_new_features() and self.make_calls():
                self._record_loss(estimator, loss_before, rollbacks)
                return True
            restore()
            return False
        except NeedsRoom:
            finish(restore)
            return False
        except BaseException:
            finish(restore)
            raise

    def predict(self, X):
        """Return predictions for rows, up to as many as learn, or None if it cannot."""
        if self.served is not None:
            self.served.is_known[:] = False
        self.rows.set_values(0.0)
        self.rows.X[: len(X)] = X
        self.rows.set_weights(np.zeros(len(self.rows)))
        can_predict = self.accepts_rows() and self.make_calls()
        return self.reported[: len(X)].copy() if can_predict else None

    def _rollbacks(self):
        """Save the state; return functions that restore it, to call in reverse."""
        state, rows, self._new_units = self._state, self.rows, []
        is_sparse, first = rows.capacity is not None, self._undoable()
        if first is not None and first.pending is state:
            first.append(partial(np.copyto, state.room, state.room.copy()))
            first.pending = None
        state.save()
        rollbacks = UndoLog([state.restore])
        if first is None or is_sparse:  # the first of dense rows restores all
            rollbacks.pending, self._undoable = state, ref(rollbacks)
        if is_sparse:
            for array in rows.X.indices, rows.X.indptr:
                rollbacks.append(partial(np.copyto, array, array.copy()))
            indices = rows.indices
            new = [each for each in self._units if not each.seen[indices].all()]
            rollbacks += [checkpoint(each, rows.X, indices.copy()) for each in new]
            self._new_units = new
        rollbacks.extend(map(checkpoint, self._bins))
        rollbacks += [memory._undo(rows.X) for memory in self._memories]
        return rollbacks

    def _learn_new_features(self):
        """Learn the units of a sparse row; return whether all are 1."""
        rows = self.rows
        if rows.capacity is None:
            return True
        for units in self._new_units:
            weights = rows.weights(self.model.weight_scale, rows.all)
            own = self._sparse_models[0].rows(rows.X, rows.all)
            units.learn_and_convert(self._engine, own, weights, checks=False)
        return all(units.are_one for units in self._units)

    def make_calls(self):
        """Make the calls; return whether all results are finite.

        Rows without weight are only predicted: they change no state.
        """
        for call in self._calls:
            call()
        if self.rows.total_weight > 0.0:
            for bins in self._bins:
                bins.learn(self._dense_rows.X[self.rows.is_learned])
        return self._checked.are_finite()

    def _record_loss(self, estimator, loss_before, rollbacks):
        """Add the mean loss of the rows to the curve of the estimator."""
        if estimator.n_iter_ != 1:
            rollbacks.append(partial(setattr, estimator, "n_iter_", estimator.n_iter_))
            estimator.n_iter_ = 1
        # Sessions of other sizes, too, take the curve over.
        if estimator.loss_curve_ is not self._curve:
            self._curve = estimator.loss_curve_ = [*estimator.loss_curve_]
            self._longest_curve = estimator._max_curve
        curve = self._curve
        loss = (self.model.cumulative_loss - loss_before) / self.rows.total_weight
        rollbacks.append(partial(_take_back, curve, len(curve), curve[:1], loss))
        curve.append(loss)
        if len(curve) > self._longest_curve:
            del curve[0]


def is_small(X):
    """Whether a session may learn a chunk of rows like these."""
    return type(X) is np.ndarray and len(X) <= MAX_ROWS and X.size <= MAX_ENTRIES


def prepare_session(
    model, engine, n_features, n_classes, n_rows=1, n_entries=None, serves=False
):
    """Return a :class:`Session` for chunks of some rows, or None if it is impossible.

    The model has learned a row. In regression `n_classes` is None. If rows are sparse
    and come one by one, `n_entries` is the number of entries of the next row. If it
    `serves`, it has :class:`ServedRows`.
    """
    kind = model.session_type
    if kind is None or engine.Recorder is None:
        return None
    models, *of_dense = kind.models_of_views(model)
    skips_zeros = {each.skips_zeros for each in models} - {None}
    if n_entries is not None and len(skips_zeros) > 1:
        return None
    is_sparse = n_entries is not None and False not in skips_zeros
    can_replay = [each.can_replay(is_sparse) for each in models]
    for view in of_dense:
        can_replay += [is_sparse and each.can_replay(False) for each in view]
    if not all(can_replay):
        return None
    capacity = max(2 * n_entries, MIN_CAPACITY) if is_sparse else None
    n_dense = of_dense[0][0].n_features if of_dense else None
    rows = Rows(n_features, n_classes, n_rows, capacity, n_dense)
    served = ServedRows.unknown(n_rows, model.n_served) if serves else None
    session = kind(model, engine, rows, served)
    return session if session.is_current else None


def session_of(model, engine, *sizes, at_once=False, serves=False):
    """Return the session of a model for chunks of dense rows, or None.

    There is one from the second chunk of the same size on, or `at_once`. The sizes are
    `n_features`, `n_classes` and `n_rows`.
    """
    sessions, key = getattr(model, "_sessions", None), (engine, *sizes, serves)
    if sessions is None:
        sessions = model._sessions = {}
    if key not in sessions:
        for oldest in [*sessions][: len(sessions) - MAX_SESSIONS + 1]:
            sessions.pop(oldest, None)
        sessions[key] = None
        if not at_once:
            return None
    session = sessions[key]
    if session is None or not session.is_current:
        session = sessions[key] = prepare_session(model, engine, *sizes, serves=serves)
    return session


def predict_few(model, X, n_classes, served=None):
    """Return predictions of a model for a few rows by a session, or None.

    Numbers of rows are rounded up to powers of two, so that few sessions serve all.
    Models whose arrays are in a file predict without: they would be copied. If they are
    given, the rows' :class:`ServedRows` get their predictions.
    """
    is_few = is_small(X) and len(X) <= MAX_PREDICTED and model.t > 0
    if not (is_few and model.numbers.flags.writeable):
        return None
    sizes = X.shape[1], n_classes, 1 << (len(X) - 1).bit_length()
    # One thread at a time: some learners have room for a row in their state.
    with locks_of(model).state:
        serves = served is not None
        kinds = {"at_once": True, "serves": serves}
        session = session_of(model, current_engine(), *sizes, **kinds)
        predictions = session and session.predict(X)
        if serves and predictions is not None:
            served.values[:] = session.served.values[: len(X)]
        return predictions


def _take_back(curve, n, first, loss):
    """Take a loss off a curve again, if it was added."""
    if curve and curve[-1] is loss:
        del curve[-1]
    if len(curve) < n:
        curve[:0] = first


def _float_arrays(parts):
    """Yield the arrays of floats of parts of models."""
    for part in parts:
        for _, value in attributes_of(part):
            for array in value if isinstance(value, tuple) else (value,):
                if not isinstance(array, np.ndarray) or array.dtype != np.float64:
                    continue
                # Read-only arrays do not change.
                if array.flags.writeable and array.flags.forc:
                    yield array
