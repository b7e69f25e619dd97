"""Models of several quantiles of one target, which learn the same rows."""

import numpy as np

from .._invariants import is_number
from .._state import Part, checkpoint
from .base import Learned
from .session import Session


class QuantileModels(Part):
    """One model for each quantile of a list, with the interface of a :class:`Model`.

    Each learns what it would learn alone. Predictions are theirs, side by side, and may
    cross.

    Parameters
    ----------
    quantiles : list of float
        In ascending order.
    singles : list of Model
        Models of one output, which differ in the quantile of their loss. Experts of a
        mixture may have other losses.
    """

    #: See :class:`Model`.
    __slots__ = ("_sessions",)

    def __init__(self, quantiles, singles):
        self.quantiles, self.singles = quantiles, singles

    def __getstate__(self):
        return vars(self)

    @property
    def n_outputs(self):
        """Number of quantiles."""
        return len(self.singles)

    @property
    def t(self):
        """Number of rows learned, which have a positive weight."""
        return self.singles[0].t

    @property
    def cumulative_loss(self):
        """Sum of the losses of all quantiles."""
        return sum(single.cumulative_loss for single in self.singles)

    def learn(self, chunk, order=None, is_repeated=False, are_new=True):
        """Learn rows block by block, see :meth:`Model.learn`."""
        streams = [
            single.learn(chunk, order, is_repeated, are_new) for single in self.singles
        ]
        for blocks in _in_step(streams):
            rows, predictions, all_finite = zip(*blocks, strict=True)
            yield Learned(rows[0], np.hstack(predictions), all(all_finite))

    def end_call(self):
        """Record the losses of experts on the rows of this call."""
        for single in self.singles:
            single.end_call()

    def decision(self, X):
        """Predict rows, each as if it were the next one: shape (n, n_quantiles)."""
        return self._of_each("decision", X)

    def mean_loss(self, chunk):
        """Return the sum of the mean losses of all quantiles."""
        return sum(single.mean_loss(chunk) for single in self.singles)

    def _of_each(self, method, *arguments):
        """Return what a method of each model returns, of shape (n, 1), side by side."""
        return np.hstack([getattr(each, method)(*arguments) for each in self.singles])

    # Interface of linear and kernel models.

    def coefficients(self):
        """Weights (n_quantiles, n_features or n_support) and intercepts."""
        each = [single.coefficients() for single in self.singles]
        w, b = zip(*each, strict=True)
        return np.vstack(w), np.concatenate(b)

    def regret_bound(self, *comparator):
        """Bound on the regret against models, whose arrays have a row a quantile."""
        return sum(
            single.regret_bound(*(part[k : k + 1] for part in comparator))
            for k, single in enumerate(self.singles)
        )

    def term(self, features, values):
        """Return the term of features in predictions: shape (n, n_quantiles)."""
        return self._of_each("term", features, values)

    def in_units_of_loss(self, name):
        """Shared numbers that are sums of losses, in the unit of the weights."""
        return np.concatenate([each.in_units_of_loss(name) for each in self.singles])

    def target_variances(self, X):
        """Variances of the targets around predictions: shape (n, n_quantiles)."""
        return self._of_each("target_variances", X)

    @property
    def noise(self):
        """Variances of the targets around the models: shape (n_quantiles,)."""
        return np.concatenate([single.noise for single in self.singles])

    def coef_covariance(self, **keywords):
        """Covariances of weights: shape (n_quantiles, n_features, n_features)."""
        each = [single.coef_covariance(**keywords) for single in self.singles]
        return np.concatenate(each)

    # Merging.

    def fresh(self):
        """Return a copy that has not learned anything."""
        return self._with([single.fresh() for single in self.singles])

    def _with(self, singles):
        return type(self)(self.quantiles, singles)

    def with_columns(self, placement):
        """Return a copy for rows with other columns, to be merged with others."""
        return self._with([each.with_columns(placement) for each in self.singles])

    def seen_columns(self):
        """Return a mask of learned columns, or None if others may have changed."""
        seen = [single.seen_columns() for single in self.singles]
        if any(of_single is None for of_single in seen):
            return None
        return np.logical_or.reduce(seen)

    @classmethod
    def merged(cls, shards):
        """Merge models of disjoint rows, one quantile after the other."""
        singles = []
        for k, single in enumerate(shards.start.singles):
            of_quantile = shards.map(lambda model, k=k: model.singles[k])
            singles.append(type(single).merged(of_quantile))
        return shards.start._with(singles)

    # Restoring.

    def is_finite(self, chunk):
        """Whether the state is finite, after finite predictions for a chunk."""
        return all(single.is_finite(chunk) for single in self.singles)

    def checkpoint_row_boundary(self, chunk):
        """Return a function that undoes learning a chunk.

        Interrupted, the models may have learned different numbers of rows.
        """
        return checkpoint(self, chunk.X)

    def invariants(self):
        """Yield statements that hold between calls; see :mod:`.._invariants`."""
        levels, singles = self.quantiles, self.singles
        yield "quantiles and models are lists", type(levels) is type(singles) is list
        yield "each quantile has a model", 0 < len(levels) == len(singles)
        yield "quantiles are numbers", all(is_number(each, float) for each in levels)
        yield "quantiles ascend from 0 to 1", np.diff([0.0, *levels, 1.0]) > 0.0
        first = singles[0]
        for single in singles:
            yield "models are of one type", type(single) is type(first)
            yield "each model has one output", single.n_outputs == 1
            yield "models learned the same rows", single.t == first.t

    # A few rows at a time.

    def session(self, *sizes, **keywords):
        """Return a :class:`Session` for chunks of some rows, or None."""
        each = [single.session(*sizes, **keywords) for single in self.singles]
        return None if None in each else QuantileSession(self, each)


def _in_step(streams):
    """Yield the blocks of all streams whenever all have learned the same rows.

    Models with many support vectors learn fewer rows at once than others do.
    """
    n_learned, blocks = [0] * len(streams), [[] for _ in streams]
    while True:
        k = n_learned.index(min(n_learned))
        block = next(streams[k], None)
        if block is None:  # all rows are learned
            return
        n_learned[k] += len(block.predictions)
        blocks[k].append(block)
        if min(n_learned) == max(n_learned):
            yield [_joined(of_stream) for of_stream in blocks]
            blocks = [[] for _ in streams]


def _joined(blocks):
    """Return one block instead of several in order."""
    if len(blocks) == 1:
        return blocks[0]
    rows, predictions, all_finite = zip(*blocks, strict=True)
    if isinstance(rows[0], slice):
        joined = slice(rows[0].start, rows[-1].stop)
    else:
        joined = np.concatenate(rows)
    return Learned(joined, np.concatenate(predictions), all(all_finite))


class QuantileSession(Session):
    """Models of several quantiles with the calls by which each learns some rows.

    Parameters
    ----------
    model : QuantileModels
    sessions : list of Session
        One for each quantile.
    """

    def __init__(self, model, sessions):
        self.model, self._sessions = model, sessions
        self.rows = _Rows([each.rows for each in sessions])

    @property
    def is_current(self):
        return all(each.is_current for each in self._sessions)

    def accepts(self, n_entries):
        return all(each.accepts(n_entries) for each in self._sessions)

    def accepts_rows(self):
        return all(each.accepts_rows() for each in self._sessions)

    def _rollbacks(self):
        return [undo for each in self._sessions for undo in each._rollbacks()]

    def _learn_new_features(self):
        return all(each._learn_new_features() for each in self._sessions)

    def _learn_rows(self):
        if not all(each._learn_rows() for each in self._sessions):
            return False
        self.reported = np.concatenate([p.reported for p in self._sessions], axis=1)
        return True

    def _record_losses(self, *arguments):
        self._curves = None
        super()._record_losses(*arguments)

    def _losses(self):
        of_experts = [loss for each in self._sessions for loss in each._losses()[1:]]
        return [self.model.cumulative_loss, *of_experts]

    def estimators(self, own):
        return [own, *(e for each in self._sessions for e in each.estimators(own)[1:])]


class _Rows:
    """Rows in the arrays that several models learn them from; see :class:`Rows`."""

    def __init__(self, rows):
        self._rows = rows
        self.X, self.dense_view = rows[0].X, rows[0].dense_view

    @property
    def total_weight(self):
        return self._rows[0].total_weight

    def set_values(self, values, indices=None, dense_view=None):
        for rows in self._rows:
            rows.set_values(values, indices, dense_view)

    def set_target(self, y):
        for rows in self._rows:
            rows.set_target(y)

    def set_chunk(self, chunk):
        return all([rows.set_chunk(chunk) for rows in self._rows])

    def set_weights(self, c):
        for rows in self._rows:
            rows.set_weights(c)
