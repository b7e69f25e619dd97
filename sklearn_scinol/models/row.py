"""One row at a time: all that learning from a row takes, made ready once.

A row of many features costs less to learn than to tell an engine what it is. So the
calls that a model makes to learn from a row are noted, with arrays that the next rows
are put into, and made again for each. That is what the model does in any case: a row
that needs more, such as one with huge values, has to be learned as others are.
"""

from functools import lru_cache, partial
from operator import is_

import numpy as np
from scipy import sparse

from .._rollback import finish, rollbacks_around
from ..blocks import RowWeights
from ..losses import as_targets
from .base import MAX_SAFE_VALUE
from .weights import WeightScale

__all__ = ["ONE", "PreparedModel", "Row", "prepare"]

ONE = slice(0, 1)

# Room for so many entries of sparse rows at least.
MIN_ROOM = 64

# What else makes a difference to the calls.
CHANGING = "are_one", "arrays", "is_fixed", "kept"


class Row:
    """The next row, in arrays that stay the same: for models a chunk of one.

    Parameters
    ----------
    n_features : int
    n_classes : int or None
        None in regression.
    room : int, default=None
        If rows are sparse, for how many entries there is room. Only so many as the row
        has count, which `indptr` says.

    Attributes
    ----------
    X : ndarray or CSR array of shape (1, n_features)
    given : float
        The weight of its loss.
    largest : float
        See :class:`Chunk`; it has to be looked at elsewhere.
    """

    largest = 0.0

    def __init__(self, n_features, n_classes, room=None):
        if room is None:
            self.X = np.zeros((1, n_features))
        else:
            indices, ends = np.zeros(room, np.int32), np.array([0, room], np.int32)
            csr = np.zeros(room), indices, ends
            self.X = sparse.csr_array(csr, shape=(1, n_features))
        self.room = room
        self.given = 1.0
        self._codes = None if n_classes is None else np.arange(n_classes)
        self._targets = {}
        self._weights = {}
        self._relative = {}

    def targets(self, loss, n_outputs, rows):
        """See :class:`Chunk`."""
        if loss.joint not in self._targets:
            of_codes = np.zeros((1, n_outputs))
            if self._codes is not None:
                of_codes = as_targets(self._codes, loss, n_outputs)
            self._targets[loss.joint] = of_codes[:1].copy(), of_codes
        return self._targets[loss.joint][0]

    def weights(self, scale, rows):
        """See :class:`Chunk`."""
        if id(scale) not in self._weights:
            weights = RowWeights(np.ones(1), np.ones(1), np.ones(2))
            self._weights[id(scale)] = scale, weights
        return self._weights[id(scale)][1]

    @property
    def values(self):
        """Those of the row."""
        return self.X if self.room is None else self.X.data[: self.X.indptr[1]]

    @property
    def indices(self):
        """Features of the values of a sparse row."""
        return self.X.indices[: self.X.indptr[1]]

    def put(self, values, indices=None):
        """Let this be the row."""
        X = self.X
        if self.room is not None:
            n = X.indptr[1] = len(indices)
            X.data[:n], X.indices[:n] = values, indices
        elif indices is None:
            X[0] = values
        else:
            X[:] = 0.0
            X[0, indices] = values

    def put_target(self, y):
        """Let this be the target: the index of a class, or a number for each output."""
        for target, of_codes in self._targets.values():
            target[0] = y if self._codes is None else of_codes[y]

    def put_weight(self, c):
        """Let this be the weight, 0 for a row that is only predicted."""
        self.given = c
        for scale, weights in self._weights.values():
            relative = _relative(c, *scale.numbers.tolist())
            if relative is not self._relative.get(id(scale)):
                self._relative[id(scale)] = relative
                for array, values in zip(weights, relative, strict=True):
                    array[:] = values


@lru_cache(maxsize=64)
def _relative(c, unit, smallest):
    """Weights of a row, on a stream with a scale that knows these numbers."""
    scale = WeightScale()
    scale.numbers[:] = unit, smallest
    return scale.relative(np.array([c]))


def prepare(kind, model, models, engine, n_features, n_classes, n_entries):
    """Prepare a model to learn one row after the other.

    Parameters
    ----------
    kind : type
        :class:`PreparedModel`, or one that is derived from it.
    model : Model
        Has learned a row.
    models : list of LinearModel
        The linear models in it, of which there is at least one.
    engine, n_features, n_classes, n_entries
        See :meth:`Model.prepared`.

    Returns
    -------
    prepared : PreparedModel or None
        None where the rows of this kind cannot be prepared.
    """
    if engine.Recorder is None:
        return None
    passes_over_zeros = {each.passes_over_zeros for each in models}
    if n_entries is not None and len(passes_over_zeros) > 1:
        return None
    is_sparse = n_entries is not None and passes_over_zeros == {True}
    if not all(each.learns_rows_alike(is_sparse) for each in models):
        return None
    room = max(2 * n_entries, MIN_ROOM) if is_sparse else None
    return kind(model, engine, Row(n_features, n_classes, room))


class PreparedModel:
    """A linear model with the calls by which it learns a row.

    Parameters
    ----------
    model : LinearModel
    engine : Engine
    row : Row

    Attributes
    ----------
    said : ndarray of shape (1, n_outputs)
        What the model said of the latest row before it was learned.
    """

    def __init__(self, model, engine, row):
        self.model, self.row = model, row
        self._engine = engine
        self._models = self._linear_models()
        for each in (model, *self._models):
            each.ensure_layout(row.X)
        recorder = engine.Recorder()
        said = self._note_calls(recorder)
        self._calls = recorder.calls
        parts = {id(part): part for part in self._parts()}.values()
        self._attributes = [
            (part, name, value)
            for part in parts
            for name, value in vars(part).items()
            if isinstance(value, np.ndarray) or name in CHANGING
        ]
        self._places = [[*each] for each in zip(*self._attributes, strict=True)]
        units = {id(m.features.units): m.features.units for m in self._models}
        self._units = [each for each in units.values() if each is not None]
        self._seen = []
        if row.room is None:
            self._seen = [(each, each.seen.tobytes()) for each in self._units]
            self._unseen = np.zeros(row.X.shape[1], dtype=bool)
            for each in self._units:
                self._unseen |= ~each.seen
            self._any_unseen = self._unseen.any()
        # All of them learn the same rows.
        self._next = min(self._models, key=lambda m: m.next_change - m.t)
        #: Whether sparse rows are made dense.
        self.takes_sparse = not any(m.passes_over_zeros for m in self._models)
        whole, of_features = self._apart(_numbers_of(parts))
        self._state = engine.SavedArrays(whole, of_features, row.X)
        whole, of_features = self._apart(self._that_may_diverge())
        self._checked = engine.SavedArrays([*said, *whole], of_features, row.X)

    def _linear_models(self):
        return [self.model]

    def _note_calls(self, recorder):
        """Note the calls; return arrays with what they will say."""
        model, row = self.model, self.row
        answers = model.learn_block(recorder, model.block(recorder, row, ONE))
        self.reported = answers.reported
        return answers.predictions, answers.reported

    def _parts(self):
        for model in self._models:
            yield from (model, model.weight_scale, *model.parts)

    def _that_may_diverge(self):
        """Arrays that may have numbers that are not finite, see `is_finite`."""
        for model in self._models:
            yield model.numbers
            if not model.stays_finite(np.inf):
                yield from (model.shared, model.fields, *model.arrays)

    def _apart(self, arrays):
        """Arrays of which all may change, and those with records of features.

        Sparse rows change few of these; the others of that array are the intercept's.
        """
        if self.row.room is None:
            return [*arrays], []
        n_features, whole, of_features = self.row.X.shape[1], [], []
        by_features = {
            id(array)
            for m in self._models
            for array in (m.fields, m.first, m.features.moments)
        }
        for array in arrays:
            if id(array) not in by_features:
                whole.append(array)
                continue
            whole.append(array.T[n_features:])
            of_features.append(array.T[:n_features])
        return whole, of_features

    @property
    def is_current(self):
        """Whether all arrays are the model's own: other calls may give it new ones."""
        owners, names, values = self._places
        if not all(map(is_, map(getattr, owners, names), values)):
            return False
        return all(units.seen.tobytes() == seen for units, seen in self._seen)

    def takes(self, n_entries):
        """Whether these are the calls for rows of so many entries; None for all."""
        if self.row.room is None:
            return n_entries is None or self.takes_sparse
        return n_entries is not None and n_entries <= self.row.room

    def takes_row(self):
        """Whether the row is such that the noted calls are all there is to do."""
        row = self.row
        # False of NaN. Whatever the weights are, values are in their range then.
        if not self._engine.norm(row.values) <= MAX_SAFE_VALUE:
            return False
        if row.room is None and self._any_unseen and row.X[0, self._unseen].any():
            return False
        return row.given == 0.0 or self._next.t + 1 < self._next.next_change

    def learn(self, estimator=None):
        """Predict the row, and learn it if it has a weight.

        Parameters
        ----------
        estimator : OnlineEstimator, default=None
            To record the loss, of a row that is not only predicted.

        Returns
        -------
        is_done : bool
            Whether all is finite. Otherwise all is as it was, as it is after an error.
        """
        self._state.save()
        rollbacks = self._rollbacks()

        def restore():
            for rollback in reversed(rollbacks):
                rollback()

        if estimator is not None:
            loss_before = self.model.cumulative_loss
            around = rollbacks_around(estimator)
            if around is not None:
                around.append(restore)
        try:
            if self._sees_new_features() and self._go():
                if estimator is not None:
                    self._add_to_curves(estimator, loss_before, rollbacks)
                return True
            restore()
            return False
        except BaseException:
            finish(restore)
            raise

    def _rollbacks(self):
        row, rollbacks = self.row, [self._state.restore]
        if row.room is not None and row.given > 0.0:
            rollbacks += [each.checkpoint(row.indices.copy()) for each in self._units]
        return rollbacks

    def _sees_new_features(self):
        """Let units learn the features of a sparse row; False if one is not 1."""
        row = self.row
        if row.room is None or row.given == 0.0:
            return True
        for units in self._units:
            if not units.seen[row.indices].all():
                weights = row.weights(self.model.weight_scale, ONE)
                rows = self._models[0].rows(row.X, ONE)
                units.learn_and_convert(self._engine, rows, weights, checks=False)
        return all(units.are_one for units in self._units)

    def _go(self):
        """Make the calls; return whether all that came of them is finite."""
        for call in self._calls:
            call()
        return self._checked.are_finite()

    def estimators(self, own):
        """Estimators that record losses: that of the model, and those inside it."""
        return [own]

    def _add_to_curves(self, estimator, loss_before, rollbacks):
        """Add the loss of a row that was learned to the curve of each estimator."""
        if estimator.n_iter_ != 1:
            rollbacks.append(partial(setattr, estimator, "n_iter_", estimator.n_iter_))
            estimator.n_iter_ = 1
        estimator._record_row(loss_before, self.row.given, rollbacks)


def _numbers_of(parts):
    """Arrays of numbers that parts of models have."""
    for part in parts:
        for value in vars(part).values():
            for array in value if isinstance(value, tuple) else (value,):
                if not isinstance(array, np.ndarray) or array.dtype != np.float64:
                    continue
                # Others do not change, and may be mapped to be read only.
                if array.flags.writeable and array.flags.forc:
                    yield array
