"""A linear model under an online learner: its state, and what can be read from it."""

from abc import ABCMeta, abstractmethod
from copy import deepcopy

import numpy as np
from scipy import sparse

from ._config import get_config
from .engines import SparseRows, get_engine
from .learners import moments
from .learners.averaging import sum_before

__all__ = ["LinearModel", "Model", "OnlineModel"]

# A block is what the engines see at a time: enough rows to forget what a block costs,
# few enough for a copy, where one is needed, to be small (8 MB).
BLOCK_ENTRIES = 2**20
BLOCK_ROWS = 8192


class Model(metaclass=ABCMeta):
    """What an estimator has learned: predicts, learns, counts what it was charged.

    Parameters
    ----------
    loss : Loss
        The loss, with its parameters.
    n_outputs : int
        Number of outputs.

    Attributes
    ----------
    t : int
        Number of trials so far: rows with a positive weight.
    cumulative_loss : float
        Weighted sum of the losses of the predictions made before each update.
    """

    def __init__(self, loss, n_outputs):
        self.loss = loss
        self.n_outputs = n_outputs
        self.t = 0
        self.cumulative_loss = 0.0

    @abstractmethod
    def learn(self, X, targets, sample_weight=None, order=None, again=False):
        """Learn from rows in order.

        Parameters
        ----------
        X : ndarray or CSR array of shape (n, n_features)
            Features.
        targets : callable
            Gives the loss's targets of some rows: of shape (m, n_outputs), or (m,)
            for a joint loss.
        sample_weight : ndarray of shape (n,), default=None
            Non-negative weights; None stands for ones.
        order : ndarray of int, default=None
            The order of the rows; None stands for the one they have.
        again : bool, default=False
            Whether these are the rows of the last call once more.

        Yields
        ------
        rows : slice or ndarray
            The rows of a block that was learned.
        predictions : ndarray of shape (m, n_outputs)
            Their predictions, each made before its row was learned.
        """

    @abstractmethod
    def decision(self, X):
        """Predictions of rows, each as if it were the next one to learn from.

        Parameters
        ----------
        X : ndarray or CSR array of shape (n, n_features)

        Returns
        -------
        p : ndarray of shape (n, n_outputs)
        """

    @abstractmethod
    def checkpoint(self):
        """Copy that goes on from here, whatever the model learns from now on."""

    @abstractmethod
    def is_small_beside(self, X):
        """Whether a checkpoint costs little beside learning from the rows."""

    def _suffer(self, y, c, predictions):
        with np.errstate(all="ignore"):
            losses = self.loss.value(y, predictions)
            if not self.loss.joint:
                losses = losses.sum(axis=1)
            # One by one, so that the sum does not depend on where blocks begin.
            running = np.cumsum(np.append(self.cumulative_loss, c * losses))
        self.cumulative_loss = float(running[-1])


def ordered_blocks(n, size, order=None):
    """Give `n` rows in order, as slices or indices, at most `size` at a time."""
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        yield rows if order is None else order[rows]


def weights_of(rows, n, sample_weight):
    """Weights of `n` rows, which are ones where none are given."""
    if sample_weight is None:
        return np.ones(n)
    return np.require(sample_weight[rows], np.float64, ["C", "W"])


class OnlineModel(Model):
    """A model under an online learner, whatever its weights are stored as.

    Parameters
    ----------
    learner : Learner
        The algorithm, with its hyperparameters.
    loss : Loss
        The loss, with its parameters.
    n_features, n_outputs : int
        Numbers of features and of outputs.
    fit_intercept : bool
        Whether a constant feature 1 is added, as the last coordinate.
    average : int
        The trial from which on weights are averaged; 0 for none.

    Attributes
    ----------
    shared : ndarray of shape (n_shared, n_outputs)
        What the learner keeps for all coordinates of an output, if anything.
    clock : ndarray of shape (2, n_outputs)
        See :mod:`.learners.averaging`.
    """

    def __init__(self, learner, loss, n_features, n_outputs, fit_intercept, average):
        super().__init__(loss, n_outputs)
        self.learner = learner
        self.n_features = n_features
        self.fit_intercept = fit_intercept
        self.average = average
        shared = [*learner.initial_shared()] if self.learns_by_row else []
        self.shared = np.tile(np.reshape(shared, (-1, 1)), n_outputs)
        self.clock = np.zeros((2, n_outputs))

    @abstractmethod
    def _blocks(self, X, order=None):
        """Give rows of `X` in order, as slices or indices, some at a time."""

    @abstractmethod
    def _learn_block(self, engine, X, rows, y, c, predictions, averaged):
        """Learn from a block of rows; see the engines' functions."""

    @property
    def averaging_starts(self):
        """Number of trials before averaging."""
        return max(self.average - 1, 0)

    @property
    def averages(self):
        """Whether predictions are those of averaged weights by now."""
        return 0 < self.average <= self.t

    @property
    def learns_by_row(self):
        """Whether the learner keeps numbers that all coordinates share."""
        return hasattr(self.learner, "Shared")

    def shared_state(self):
        """Named arrays of what the learner keeps for all coordinates of an output."""
        return self.learner.Shared(*self.shared) if self.learns_by_row else None

    @property
    def lipschitz(self):
        """The loss's Lipschitz constant, which goes into the rows; else 1."""
        return self.loss.lipschitz if self.learner.bounded_gradients else 1.0

    def learn(self, X, targets, sample_weight=None, order=None, again=False):
        engine = get_engine(get_config()["engine"])
        self._arrange(X, again)
        for rows in self._blocks(X, order):
            y = targets(rows)
            c = weights_of(rows, len(y), sample_weight)
            predictions = np.empty((len(y), self.n_outputs))
            averaged = np.empty_like(predictions) if self.average else None
            self._learn_block(engine, X, rows, y, c, predictions, averaged)
            self._suffer(y, c, predictions)
            yield rows, predictions if averaged is None else averaged

    def _arrange(self, X, again):
        """Make the state what engines take; joblib maps large ones, to be read only."""
        self.shared = np.require(self.shared, requirements=["W", "E"])
        self.clock = np.require(self.clock, requirements=["W", "E"])

    def _factor(self, q):
        """What the vectors are multiplied by, for rows of squared norm `q`."""
        if not self.learns_by_row:
            return 1.0
        return self.learner.factor(self.shared_state(), ..., q, self.t + 1)

    def _factor_at_rest(self):
        """The same for each output, but without a row."""
        return self._factor(0.0) * np.ones(self.n_outputs)


class LinearModel(OnlineModel):
    """State of an online learner of a linear model, and its predictions.

    Parameters
    ----------
    learner, loss, n_features, n_outputs, fit_intercept, average
        See :class:`OnlineModel`.
    center, scale : bool
        Whether features are centred at their running mean, and divided by their running
        standard deviation. The intercept is not.
    standardize_target : bool
        Whether the same is done to the target: predictions are its running mean plus
        its running standard deviation times what the learner predicts.

    Attributes
    ----------
    fields : ndarray of shape (n_fields, n_outputs, n_coordinates)
        The learner's state. In C order for dense rows (each field contiguous), in
        Fortran order for sparse ones (one record a coordinate). With averaging, two
        fields more: the sum of the weights, and the clock up to which it goes.
    first : ndarray of shape (n_coordinates,)
        First non-zero value ``|x|`` as the learner saw it, where it asks for that.
    moments : ndarray of shape (3, 1 or 0, n_features)
        With centring or scaling the weighted mean of the rows so far; with scaling
        their variance, and the sum of the weights of the rows that both are of: sparse
        rows leave out their zeros until the feature comes up again. In the same order
        as `fields`.
    target_moments : ndarray of shape (2, n_outputs)
        Weighted mean and variance of the targets so far, if these are standardised.
    weight_sum : float
        Sum of the weights of the rows so far, if there are moments.
    """

    def __init__(
        self,
        learner,
        loss,
        n_features,
        n_outputs,
        *,
        fit_intercept,
        average,
        center=False,
        scale=False,
        standardize_target=False,
    ):
        super().__init__(learner, loss, n_features, n_outputs, fit_intercept, average)
        self.center = center
        self.scale = scale
        self.standardize_target = standardize_target
        initial = [*learner.initial_state()]
        if average:
            initial += [0.0, 0.0]
        shape = (len(initial), n_outputs, self.n_coordinates)
        self.fields = np.empty(shape)
        self.fields[:] = np.reshape(initial, (-1, 1, 1))
        self.first = np.zeros(self.n_coordinates)
        self.moments = np.zeros((3 if scale else int(center), n_features))
        self.target_moments = np.zeros((2, n_outputs if standardize_target else 0))
        self.weight_sum = 0.0

    @property
    def n_coordinates(self):
        return self.n_features + self.fit_intercept

    @property
    def keeps_moments(self):
        """Whether moments of features or targets are kept."""
        return self.center or self.scale or self.standardize_target

    @property
    def lipschitz(self):
        """What derivatives of the loss are divided by for the learner.

        That of a standardised target sees a loss without unit: divided by its Lipschitz
        constant or, where there is none, by the target's standard deviation, which the
        engines do.
        """
        if not self.standardize_target:
            return super().lipschitz
        return 1.0 if self.divides_by_deviation else self.loss.lipschitz

    @property
    def divides_by_deviation(self):
        """Whether the derivative of a standardised target's loss has its unit."""
        return self.standardize_target and not np.isfinite(self.loss.lipschitz)

    @property
    def row_scale(self):
        """What rows are multiplied by for the learner, so that its loss is the loss."""
        return 1.0 if self.standardize_target else self.lipschitz

    def state(self, fields=None):
        """Named arrays of the learner in `fields`, by default the model's own."""
        fields = self.fields if fields is None else fields
        return self.learner.State(*fields[: len(self.learner.State._fields)])

    def checkpoint(self):
        return deepcopy(self)

    def is_small_beside(self, X):
        return not sparse.issparse(X) and X.size > self.fields.size

    def _arrange(self, X, again):
        super()._arrange(X, again)
        learns_sparse = self._learns_sparse(X)
        order = "F" if learns_sparse else "C"
        self.fields = np.require(self.fields, requirements=[order, "W", "E"])
        if self.scale and not learns_sparse:
            self.moments = np.stack([*self._moments(), self.moments[2]])
        self.moments = np.require(self.moments, requirements=[order, "W", "E"])
        self.first = np.require(self.first, requirements=["W", "E"])
        self.target_moments = np.require(self.target_moments, requirements=["W", "E"])

    def _learn_block(self, engine, X, rows, y, c, predictions, averaged):
        engine.learn(self, self._rows(X, rows), y, c, predictions, averaged)
        if self.scale and not self._learns_sparse(X):
            self.moments[2] = self.weight_sum

    def _moments(self, features=...):
        """Means and variances of all rows so far, zeros that wait included."""
        mean, variance, recorded = self.moments[:, features]
        with np.errstate(all="ignore"):
            shares = moments.shares_of_waiting(self.weight_sum, recorded)
            variance = moments.moved_variance(variance, *shares, -mean)
            return moments.moved_mean(mean, shares[0], -mean), variance

    def _blocks(self, X, order=None):
        n, entries = X.shape[0], X.shape[1]
        if self._learns_sparse(X):
            entries = X.nnz // n
        size = BLOCK_ENTRIES // max(entries, self.n_outputs, 1)
        return ordered_blocks(n, min(max(size, 1), BLOCK_ROWS), order)

    def _learns_sparse(self, X):
        """Whether zeros can be passed over."""
        touches_all = self.center or getattr(self.learner, "touches_all", False)
        return sparse.issparse(X) and not touches_all

    def _rows(self, X, rows):
        """Rows as the engines take them; a copy only where they cannot be used."""
        if not sparse.issparse(X):
            return np.require(X[rows], np.float64, ["C", "W"])
        if not self._learns_sparse(X):
            return X[rows].toarray().astype(np.float64, copy=False)
        if isinstance(rows, slice):  # slicing the matrix would copy
            indptr = X.indptr[rows.start : rows.stop + 1]
            entries = slice(indptr[0], indptr[-1])
            data, indices, indptr = (
                X.data[entries],
                X.indices[entries],
                indptr - indptr[0],
            )
        else:
            X = X[rows]
            data, indices, indptr = X.data, X.indices, X.indptr
        return SparseRows(
            np.require(data, np.float64, ["C", "W"]),
            np.require(indices, np.int32, ["C", "W"]).view(np.uint32),
            np.require(indptr, np.int32, ["C", "W"]),
        )

    def decision(self, X):
        # A row beyond the values seen so far has weights of its own; elsewhere this is
        # one product with the weights that all rows share.
        p = np.empty((X.shape[0], self.n_outputs))
        predict = self._predict_averaged if self.averages else self._predict
        with np.errstate(all="ignore"):
            for rows in self._blocks(X):
                p[rows] = predict(self._transformed(X[rows]))
            return self._in_units_of_target(p)

    def _transformed(self, X):
        """Rows as the learner sees them; each takes part, at weight 1, in its moments.

        That is a share in the sum of weights.
        """
        if sparse.issparse(X):
            if not self.center:
                Z = X.astype(np.float64, copy=self.scale)
                if self.scale:
                    Z.data *= self._inverse_deviations(Z.data, Z.indices)
                return Z
            X = X.toarray()
        Z = X.astype(np.float64, copy=False)
        if not self.center:
            return Z * self._inverse_deviations(Z) if self.scale else Z
        factors = self._inverse_deviations(Z) if self.scale else 1.0
        return (Z - self.moments[0]) * self._shares[1] * factors

    @property
    def _shares(self):
        """Those of a row of weight 1 in its own moments, and of all rows before."""
        return 1.0 / (self.weight_sum + 1.0), self.weight_sum / (self.weight_sum + 1.0)

    def _inverse_deviations(self, values, features=...):
        """What values of features are multiplied by; each counts for itself."""
        mean, variance = self._moments(features)
        variance = moments.moved_variance(variance, *self._shares, values - mean)
        return moments.inverse_deviation(variance)

    def _in_units_of_target(self, p):
        if not self.standardize_target:
            return p
        mean, variance = self.target_moments
        return mean + np.sqrt(variance) * p

    def _predict_averaged(self, Z):
        w, b = self._weights()
        return Z @ w.T + b

    def _predict(self, Z):
        if not hasattr(self.learner, "reach"):
            return self._predict_shared(Z)
        return self._predict_reached(Z) * self._factor(0.0)

    def _predict_shared(self, Z):
        """All rows share their weights, up to a factor."""
        w, b = self._vectors()
        squares = Z.multiply(Z) if sparse.issparse(Z) else Z * Z
        q = np.asarray(squares.sum(axis=1)).reshape(-1, 1) + self.fit_intercept
        return (Z @ w.T + b) * self._factor(self.row_scale**2 * q)

    def _predict_reached(self, Z):
        """Rows within reach share their weights; entries beyond have their own."""
        scale, s, t = self.row_scale, self.state(), self.t + 1
        is_sparse = sparse.issparse(Z)
        if is_sparse:
            entries = sparse.coo_array(Z)
            row, column, z = entries.row, entries.col, entries.data
        if is_sparse and z.size < self.n_features:
            # Cheaper than the weights of all features, most of which are not needed.
            p = np.tile(self._intercepts(), (Z.shape[0], 1))
        else:
            w, b = self._vectors()
            features = (slice(None), slice(self.n_features))
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
            w, b = np.split(self._averaged_weights(), [self.n_features], axis=1)
            return w, b.sum(axis=1)
        w, b = self._vectors()
        factor = self._factor_at_rest()
        return factor[:, np.newaxis] * w, factor * b

    def _vectors(self):
        """The same before they are multiplied by the factor."""
        i = (slice(None), slice(self.n_features))
        return self.learner.weight(self.state(), i, 0.0, self.t + 1), self._intercepts()

    def _intercepts(self):
        if not self.fit_intercept:
            return np.zeros(self.n_outputs)
        i = (slice(None), self.n_features)
        return self.learner.weight(self.state(), i, self.row_scale, self.t + 1)

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
            w, b = self._weights()
            if self.scale:
                # Of a row at the mean: others take part in their standard deviation.
                w = w * self._inverse_deviations(self._moments()[0])
            if self.center:
                w = w * self._shares[1]
                b = b - w @ self.moments[0]
            if self.standardize_target:
                w = np.sqrt(self.target_moments[1])[:, np.newaxis] * w
                b = self._in_units_of_target(b)
        return w, b

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
        u = np.hstack([coef, intercept[:, np.newaxis]])[:, : self.n_coordinates]
        with np.errstate(all="ignore"):
            bounds = self.learner.regret_bound(
                self.state(), self.shared_state(), u, self.t, self.first
            )
        return float(bounds.sum())
