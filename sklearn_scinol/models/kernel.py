"""Kernel models: combinations of rows that were learned."""

from copy import copy
from dataclasses import dataclass, field
from numbers import Real

import numpy as np
from scipy import linalg, sparse
from sklearn import config_context
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from .._invariants import finite, floats, is_count
from ..blocks import Block, Combination, CSRRows, DenseRows
from ..config import current_engine
from ..learners.combination import loop_of
from ..losses import as_targets
from ..losses.methods import is_by_output
from ..transforms.ranges import check_values
from .growing import GrowingArray, GrowingSparseArray
from .model import Learned, ordered_blocks
from .online import OnlineModel
from .served import exchange_predictions

# Largest number of kernels of a block with the support vectors (8 MB).
BLOCK_ENTRIES = 2**20

# Rows whose kernels with the support vectors are computed at once: enough to hide the
# overhead of a call, few enough for their kernels with each other not to matter.
BLOCK_ROWS = 256

# Number of rows for a square of kernels, of which only the diagonal is used.
DIAGONAL_ROWS = 16


def block_size(n_support):
    """Return the number of rows to learn at once: fewer if more are stored."""
    return min(max(BLOCK_ENTRIES // (n_support + 1), 1), BLOCK_ROWS)


@dataclass
class Kernel:
    """A kernel of scikit-learn, by its name, or a function of two rows."""

    metric: object
    parameters: dict = field(default_factory=dict)

    def invariants(self):
        is_kernel = callable(self.metric) or self.metric in PAIRWISE_KERNEL_FUNCTIONS
        yield "metric is the name of a kernel, or a function", is_kernel
        yield "parameters have names", all(isinstance(n, str) for n in self.parameters)
        if isinstance(self.metric, str):
            values = self.parameters.values()
            are_numbers = all(isinstance(value, Real | None) for value in values)
            yield "parameters are numbers or None", are_numbers

    def __call__(self, X, Y=None):
        """Return kernels of the rows of `X` with rows of `Y`, or with each other."""
        by_name = isinstance(self.metric, str)
        if by_name:
            X, Y = _with_small_indices(X), _with_small_indices(Y)
        elif Y is not None:
            Y = Y.copy()  # a function may keep its arguments; `Y` may move
        with config_context(assume_finite=True):
            return pairwise_kernels(
                X, Y, metric=self.metric, filter_params=by_name, **self.parameters
            )

    def diagonal(self, X):
        """Return the kernel of each row with itself."""
        blocks = [
            np.diagonal(self(X[start : start + DIAGONAL_ROWS]))
            for start in range(0, X.shape[0], DIAGONAL_ROWS)
        ]
        return np.concatenate(blocks)


def _with_small_indices(X):
    """Return sparse rows with 32-bit indices, which all kernels take, if possible."""
    if not sparse.issparse(X) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if max(X.nnz, X.shape[1]) > np.iinfo(np.int32).max:
        return X
    indices, indptr = (i.astype(np.int32, copy=False) for i in (X.indices, X.indptr))
    return type(X)((X.data, indices, indptr), X.shape)


class KernelModel(OnlineModel):
    r"""Weights :math:`\theta = \sum_s c_s \phi(x_s)`, times a factor.

    Rows are stored until there are `max_support`. From then on, the learner sees the
    projection of each row to the subspace that they span, whose inner products are
    :math:`k(x, S) k(S, S)^+ k(S, x')`.

    Parameters
    ----------
    learner : GradientSum
        See :class:`OnlineModel` for other parameters.
    kernel : Kernel or None
        None if rows are themselves kernels, with all rows of the stream in order.
    max_support : int or None
        Largest number of rows to store.
    is_sparse : bool
        Whether rows are stored as a sparse matrix.

    Attributes
    ----------
    vectors : GrowingArray or GrowingSparseArray
        The stored rows; without columns if there is no kernel.
    support : GrowingArray
        Indices of the stored rows, counted from the first row of the stream.
    coef : GrowingArray of shape (n_support, n_outputs)
        The coefficients :math:`c_s`.
    coef_sums : GrowingArray of shape (n_support, n_outputs or 0)
        With averaging, minus the sum of each change of a coefficient times the clock
        then: the sum of the weights has coefficients ``coef_sums + clock * coef``.
    projection : ndarray of shape (n_support, rank) or None
        A root of :math:`k(S, S)^+`, once the subspace is complete.
    n_rows : int
        Number of rows so far, including weight 0; of the latest pass without a kernel.
    pass_start : ndarray
        Without a kernel, the first row of a pass, with which the next pass begins.
    """

    def __init__(self, *arguments, kernel, max_support, is_sparse, **keywords):
        super().__init__(*arguments, **keywords)
        self.kernel = kernel
        self.max_support = max_support
        growing = GrowingSparseArray if is_sparse else GrowingArray
        self.vectors = growing(0 if kernel is None else self.n_features)
        self.support = GrowingArray(dtype=np.intp)
        self.coef = GrowingArray(self.n_outputs)
        self.coef_sums = GrowingArray(self.n_outputs if self.average else 0)
        self.projection = None
        self.n_rows = 0
        self.pass_start = np.zeros(0)
        self._first_row = 0  # index of the first row of the present chunk
        self._place = None  # support index of each row of the chunk, if it is repeated

    def _add_outputs(self, origins):
        super()._add_outputs(origins)
        for name in "coef", *(["coef_sums"] if self.average else []):
            grown = GrowingArray(self.n_outputs)
            grown.append(getattr(self, name).rows[:, origins.sources] * origins.signs)
            setattr(self, name, grown)

    @property
    def n_support(self):
        return self.support.rows.size

    def _undo(self, X):
        # Rows that are stored stay as they are. Coefficients may change.
        saved = []
        for array in self.coef, self.coef_sums:
            array.make_writable()
            saved.append((array.rows, array.rows.copy()))
        return lambda: [np.copyto(rows, before) for rows, before in saved]

    def is_finite(self, chunk):
        arrays = self.numbers, self.shared, self.coef.rows, self.coef_sums.rows
        return all(np.isfinite(array).all() for array in arrays)

    def invariants(self):
        if self.kernel is not None:
            yield "kernel is of type Kernel", isinstance(self.kernel, Kernel)
        yield from super().invariants()
        yield "n_rows is a number of rows", is_count(self.n_rows)
        is_row = is_count(self._first_row) and self._first_row <= self.n_rows
        yield "_first_row is one of the rows", is_row
        support, n = self.support.rows, self.n_support
        yield from floats("coef", self.coef.rows, (n, self.n_outputs))
        shape = n, self.n_outputs if self.average else 0
        yield from floats("coef_sums", self.coef_sums.rows, shape)
        yield "no row is stored twice", np.unique(support).size == n
        n_rows = self.n_features if self.kernel is None else self.n_rows
        yield "stored rows are rows of the stream", (support >= 0) & (support < n_rows)
        n_columns = self.n_features if self.kernel is None and self.n_rows else 0
        yield from floats("pass_start", self.pass_start, (n_columns,))
        if self.max_support is not None:
            yield "max_support is a number of rows", is_count(self.max_support, 1)
            yield "n_support <= max_support", n <= self.max_support
        if self.projection is not None:
            shape = n, self.projection.shape[-1]
            yield from floats("projection", self.projection, shape)
        if self.kernel is not None:
            vectors = self.vectors.rows
            yield "each stored row has a vector", vectors.shape == (n, self.n_features)
            yield from finite("vectors", vectors)
        yield from self._learner_invariants(None)

    # Learning.

    def learn(self, chunk, order=None, is_repeated=False, are_new=True):
        engine = current_engine()
        self._begin_chunk(chunk.X, is_repeated)
        for rows in self._blocks(chunk.X, order):
            targets = as_targets(chunk.y[rows], self.loss, self.n_outputs)
            weights = chunk.weights(self.weight_scale, rows)
            block = Block((), None, targets, weights, None)
            predicted = self._empty_predictions(len(targets))
            self._learn_block(engine, chunk.X, rows, block, predicted)
            if chunk.served is not None:
                rest = block, chunk.served[rows], predicted
                predicted = exchange_predictions(engine, self, *rest)
            engine.compute_losses(self.loss, block, predicted.predictions, self.numbers)
            self.weight_scale.learned(weights)
            yield Learned(rows, predicted.reported, predicted.all_finite)

    def _begin_chunk(self, X, is_repeated):
        """Prepare to learn rows, and count them."""
        self.coef.make_writable()
        self.coef_sums.make_writable()
        n = X.shape[0]
        if not is_repeated:
            if self.kernel is None and self.n_rows == self.n_features:
                self.n_rows = 0  # the next pass over the matrix
            if self.kernel is None and self.n_rows == 0:
                self.pass_start = np.array(X[0], dtype=np.float64)
            self._first_row = self.n_rows
            self.n_rows += n
        if self.kernel is None and self.n_rows > self.n_features:
            raise ValueError(
                "Precomputed kernels need a column for each row of the stream. Input "
                f"has {self.n_features} columns for {self.n_rows} rows."
            )
        self._place = None
        if is_repeated or self.kernel is None:
            numbers = self.support.rows - self._first_row
            stored = np.flatnonzero((numbers >= 0) & (numbers < n))
            self._place = np.full(n, -1)
            self._place[numbers[stored]] = stored

    def _blocks(self, X, order=None):
        return ordered_blocks(
            X.shape[0], BLOCK_ROWS, order, lambda rows: block_size(self.n_support)
        )

    def _learn_block(self, engine, X, rows, block, predicted):
        Z = self._as_stored(X[rows])
        is_sparse = sparse.issparse(Z)
        csr = (Z.data, Z.indices, Z.indptr) if is_sparse else ()
        block_rows = CSRRows(*csr) if is_sparse else DenseRows(Z)
        check_values(engine, block_rows, block.weights)
        numbers = np.r_[rows]
        start = 0
        while start < len(numbers):  # twice where the last vector is stored
            part = slice(start, None)
            with np.errstate(all="ignore"):
                weights = block.weights.part(part)
                start += self._learn_rows(
                    engine,
                    Z[part],
                    numbers[part],
                    Block((), None, block.targets[part], weights, None),
                    type(predicted)(*(a if a is None else a[part] for a in predicted)),
                )

    def _learn_rows(self, engine, Z, numbers, block, predicted):
        """Learn rows until no more can be stored; return their number."""
        n = len(numbers)
        place = np.full(n, -1) if self._place is None else self._place[numbers]
        is_new, room = place < 0, n
        k = self._with_support(Z)
        if self.projection is not None:
            is_new[:] = False
        elif self.max_support is not None:
            room = self.max_support - self.n_support
        values, sums = self._combine(k, self.coef), None
        if predicted.averaged is not None:
            sums = self._combine(k, self.coef_sums)
        if self.projection is None:
            del k  # large, and not needed any more
            gram = np.ascontiguousarray(self._with_rows(Z, numbers))
        else:
            k = k @ self.projection
            gram = k @ k.T
        combination = Combination(
            gram, values, sums, is_new, room, self.coef.rows, self.coef_sums.rows
        )
        increments = np.zeros((n, self.n_outputs))
        sum_increments = np.zeros((n, self.coef_sums.rows.shape[1]))
        shared = self.learner.Shared(*self.shared)
        n, self.numbers[0] = engine.run_loop(
            loop_of(is_by_output(self.loss), predicted.averaged is not None),
            self.learner,
            self.loss,
            self.task,
            shared,
            self.clock,
            float(self.numbers[0]),
            block,
            combination,
            predicted,
            (increments, sum_increments),
        )
        if self.projection is not None:
            onto_support = self.projection @ k[:n].T
            self.coef.rows[:] += onto_support @ increments[:n]
            self.coef_sums.rows[:] += onto_support @ sum_increments[:n]
            return n
        old = np.flatnonzero(place[:n] >= 0)
        self.coef.rows[place[old]] += increments[old]
        self.coef_sums.rows[place[old]] += sum_increments[old]
        new = np.flatnonzero(is_new[:n] & increments[:n].any(axis=1))
        self.coef.append(increments[new])
        self.coef_sums.append(sum_increments[new])
        self.support.append(self._first_row + numbers[new])
        if self.kernel is not None:
            self.vectors.append(Z[new])
        if self.n_support == self.max_support:
            self._keep_subspace()
        return n

    def _keep_subspace(self):
        k = self._with_support(self.vectors.rows)
        if not np.isfinite(k).all():
            raise ValueError("The kernel of stored rows contains NaN or infinity.")
        values, directions = linalg.eigh(k, overwrite_a=True)
        cutoff = values.size * np.finfo(np.float64).eps * values[-1]
        kept = values > cutoff
        self.projection = directions[:, kept] / np.sqrt(values[kept])

    # Merging.

    @property
    def _options(self):
        return {
            "kernel": self.kernel,
            "max_support": self.max_support,
            "is_sparse": isinstance(self.vectors, GrowingSparseArray),
        }

    def with_columns(self, placement):
        if self.kernel is None:
            raise ValueError("Models of precomputed kernels cannot be merged.")
        model = copy(self)
        rows, model.vectors = self.vectors.rows, self.fresh().vectors
        model.vectors.append(placement.rows(rows))
        return model

    @classmethod
    def merged(cls, shards):
        """Merge models of disjoint rows; average weights by numbers of rows."""
        start, model = shards.start, shards.start.fresh()
        if model.kernel is None:
            raise ValueError("Models of precomputed kernels cannot be merged.")
        shards = model.merge_counts(shards)
        n_start, model.n_rows = start.n_support, start.n_rows
        parts = [(start.vectors.rows, start.support.rows)]
        for part in shards.members:
            numbers = part.support.rows[n_start:] + (model.n_rows - start.n_rows)
            parts.append((part.vectors.rows[n_start:], numbers))
            model.n_rows += part.n_rows - start.n_rows
        vectors, numbers = zip(*parts, strict=True)
        stack = sparse.vstack if sparse.issparse(vectors[0]) else np.vstack
        both = shards.map(
            lambda part: np.hstack([part._latest_weights(), part._weights()])
        )
        start_weights = both.map(lambda w: w[:n_start]).mean()
        new_weights = both.map(lambda w: w[n_start:]).parts()
        weights = np.vstack([start_weights, *new_weights])
        model._store(stack(vectors), np.concatenate(numbers), weights)
        model._learn_norm(shards.map(lambda part: part.shared_state()))
        return model

    def _store(self, vectors, numbers, weights):
        """Store the vectors of the largest weights, and project the others to these."""
        most = self.max_support or len(numbers)
        order = np.argsort(-np.abs(weights).max(axis=1), kind="stable")
        kept, others = np.sort(order[:most]), order[most:]
        self.vectors.append(self._as_stored(vectors[kept]))
        self.support.append(numbers[kept])
        if len(kept) == self.max_support:
            self._keep_subspace()
        weights, projected = weights[kept], weights[others]
        if others.size:
            k = self._with_support(self._as_stored(vectors[others])) @ self.projection
            weights = weights + self.projection @ (k.T @ projected)
        w, averaged = np.hsplit(weights, 2)
        n_outputs = self.n_outputs
        self.coef.append(w)
        counted = max(self.t - self.averaging_starts, 0)
        self.coef_sums.append(counted * averaged[:, : n_outputs if self.average else 0])

    def _learn_norm(self, shared):
        """Merge the shared numbers of models, for the present weights."""
        w = self.coef.rows
        squares = np.einsum("ik,ik->k", w, self._with_support(self.vectors.rows) @ w)
        w_norm = np.sqrt(np.maximum(squares, 0.0))
        shared, norm = self.learner.merged_shared(shared, w_norm, self.t)
        self.shared = np.stack(shared)
        known = w_norm > 0.0
        w *= np.divide(norm, w_norm, out=np.zeros_like(norm), where=known)

    # Kernels and predictions.

    def _as_stored(self, X):
        if isinstance(self.vectors, GrowingSparseArray):
            return sparse.csr_array(X, dtype=np.float64)
        X = X.toarray() if sparse.issparse(X) else X
        return X.astype(np.float64, copy=False)

    def _with_support(self, Z):
        """Return kernels of rows with the support vectors: (n, n_support)."""
        if self.kernel is None:
            k = Z[:, self.support.rows]
        elif self.n_support == 0:
            return np.zeros((Z.shape[0], 0))
        else:
            k = self.kernel(Z, self.vectors.rows)
        if self.fit_intercept:
            k += 1.0
        return k

    def _with_rows(self, Z, numbers):
        """Return kernels of rows with each other."""
        if self.kernel is None:
            return Z[:, self._first_row + numbers] + self.fit_intercept
        return self.kernel(Z) + self.fit_intercept

    @staticmethod
    def _combine(k, coefficients):
        """Return products of kernels and coefficients, of shape (n_outputs, n)."""
        return np.ascontiguousarray((k @ coefficients.rows).T)

    def decision(self, X):
        return self._decision(X, self.averages)

    def _decision(self, X, averages):
        """Predict rows, perhaps by averaged weights."""
        p = np.empty((X.shape[0], self.n_outputs))
        with np.errstate(all="ignore"):
            for rows in self._blocks(X):
                Z = self._as_stored(X[rows])
                k = self._with_support(Z)
                if averages:
                    p[rows] = k @ self._weights()[: k.shape[1]]
                else:
                    q = self.scale_of_predicted**2 * self._squares(Z, k)
                    p[rows] = (k @ self.coef.rows[: k.shape[1]]) * self._factor(q)
        return p

    def serve(self, chunk):
        # Rows of weight 0 count among those of the stream.
        charged = self._decision(chunk.X, averages=False)
        decision = self.decision(chunk.X) if self.averages else charged
        kinds = [charged, decision] if self.average else [charged]
        chunk.served.values[:] = np.hstack(kinds)
        return decision

    def _squares(self, Z, k):
        """Return squared norms of rows as the learner sees them: (n, 1)."""
        if self.projection is not None:
            k = k @ self.projection
            squares = (k * k).sum(axis=1)
        elif self.kernel is None:  # on the diagonal; of new rows unknown, count as 0
            is_known, column = True, self.n_rows
            if self.n_rows == self.n_features:  # perhaps the next pass begins
                is_known, column = (self.pass_start == Z).all(axis=1), 0
            squares = is_known * (Z[:, column] + self.fit_intercept)
        else:
            squares = self.kernel.diagonal(Z) + self.fit_intercept
        return np.maximum(squares, 0.0)[:, np.newaxis]

    def _weights(self):
        """Return coefficients of the weights, of shape (n_support, n_outputs)."""
        if self.averages:
            total = self.coef_sums.rows + self.clock[0] * self.coef.rows
            return total / (self.t - self.averaging_starts)
        return self._latest_weights()

    def _latest_weights(self):
        """Return coefficients of the weights, without averaging."""
        return self.coef.rows * self._output_factors()

    def coefficients(self):
        """Return coefficients (n_outputs, n_support) and intercepts."""
        with np.errstate(all="ignore"):
            dual_coef = self._weights().T
        return dual_coef, dual_coef.sum(axis=1) * self.fit_intercept

    def regret_bound(self, norms):
        """Bound on the regret against weights of given norms, on the rows so far."""
        return self._bound(None, norms[:, np.newaxis], None)
