r"""Minimise the total loss of a linear model, with a lower bound as a certificate.

The total loss of weights `w` is :math:`F(w) = \sum_i c_i \ell(y_i, \langle w, x_i
\rangle)`. By Fenchel's duality, for any slopes `a`, no model has less than

.. math:: -\sum_i c_i \ell^*(y_i, a_i), \qquad \text{where } \sum_i c_i a_i x_i = 0.

In a ball of radius `R` the sum may be anything, and the bound is :math:`R \|\sum_i c_i
a_i x_i\|` lower. The slopes at the minimum make both sides equal.
"""

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import linprog, minimize
from scipy.sparse.linalg import LinearOperator, cg

from .smoothing import Curvature, JointCurvature, SmoothedLoss, end_slopes, kinks

# Largest number of parameters for a matrix of second derivatives.
MAX_HESSIAN = 1000

# Largest number of entries of rows for a linear program.
MAX_PROGRAM = 30_000

# Smoothing and weight of the barrier in each stage, in units of the predictions and of
# the loss of always predicting 0.
STAGES = 10.0 ** np.arange(-1, -12, -1)

# Largest number of steps of methods of first and of second order.
MAX_FIRST_ORDER, MAX_SECOND_ORDER = 1000, 200

# Share of the gap above which a stage has stalled, and number of stages that may stall.
MAX_GAP_RATIO, MAX_STALLED = 0.9, 3

# Number of projections of slopes until their sums vanish, and relative sums left.
MAX_PROJECTIONS, MAX_RELATIVE_SUM = 20, 1e-9

# Smaller relative variation of a feature counts as rounding of its mean.
ROUNDING = 1e-14


def minimise_loss(
    X, targets, sample_weight, loss, n_outputs, *, fit_intercept, radius, tol
):
    """Find weights of least total loss; return coef, intercept and a lower bound.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, n_features)
    targets : ndarray of shape (n,) for a joint loss, or (n, n_outputs)
    sample_weight : ndarray of shape (n,)
        Positive weights.
    loss : Loss
    n_outputs : int
    fit_intercept : bool
    radius : float
        Largest norm of each output's weights with the intercept, or infinity.
    tol : float
        Gap to aim at, in units of the loss of always predicting 0.
    """
    if loss.joint:
        size, groups = 1.0, [(targets, n_outputs)]
    else:
        size = np.abs(targets).max() or 1.0
        groups = [(column[:, np.newaxis], 1) for column in targets.T]
    columns = Coordinates(X, sample_weight, fit_intercept, radius, size)
    found = []
    for y, n_outputs in groups:
        problem = Problem(columns, y, n_outputs, sample_weight, loss, size)
        with np.errstate(all="ignore"):
            found.append(problem.solve(tol))
    weights = np.vstack([v for v, _ in found])
    return *columns.to_raw(weights), sum(bound for _, bound in found)


class Coordinates:
    """Rows in units in which weights are around 1, for predictions of a given size.

    Features are divided by their largest values. Dense features are centred before
    that, unless weights are kept in a ball.
    """

    def __init__(self, X, sample_weight, fit_intercept, radius, size):
        self.fit_intercept, self.in_ball = fit_intercept, radius < np.inf
        self.mean = np.zeros(X.shape[1])
        n, centred = X.shape[0], fit_intercept and not self.in_ball
        if sparse.issparse(X):
            largest = abs(X).max(axis=0).toarray().ravel()
        else:
            largest = np.abs(X).max(axis=0)
            if centred:
                self.mean = sample_weight / sample_weight.sum() @ X
                X = X - self.mean
                varies = np.abs(X).max(axis=0) > ROUNDING * largest
                X[:, ~varies] = 0.0
                largest = np.abs(X).max(axis=0)
        if fit_intercept:
            stack = sparse.hstack if sparse.issparse(X) else np.hstack
            X = stack([X, np.ones((n, 1))])
            largest = np.append(largest, 1.0)
        with np.errstate(divide="ignore", over="ignore"):
            self.units = np.minimum(np.minimum(size / largest, radius), 1e300)
            self.units[largest == 0.0] = min(size, radius)
        # A weight of 1 in units of the radius.
        self.share = self.units / radius
        self.Z = X @ sparse.diags_array(self.units)
        if sparse.issparse(self.Z):
            self.Z = self.Z.tocsr()

    def to_raw(self, weights):
        """Return coefficients and intercepts in the units of `X`."""
        weights = weights * self.units
        if not self.fit_intercept:
            return weights, np.zeros(len(weights))
        coef, intercept = weights[:, :-1], weights[:, -1]
        return coef, intercept - coef @ self.mean


class Problem:
    """Total loss of one output, or of the outputs of a joint loss, as a function.

    Its argument is the flat array of the weights in :class:`Coordinates`, its unit the
    loss of always predicting 0. Predictions are of about `size`.
    """

    def __init__(self, columns, y, n_outputs, sample_weight, loss, size):
        self.columns, self.Z, self.y = columns, columns.Z, y
        self.loss, self.size = loss, size
        self.shape = n_outputs, columns.Z.shape[1]
        losses = loss.value(y, np.zeros((len(y), n_outputs)))
        self.unit = float(sample_weight @ losses.reshape(len(y)))
        self.c = sample_weight[:, np.newaxis] / (self.unit or 1.0)
        self.smoothed, self.barrier = loss, 0.0

    @property
    def is_dense(self):
        return np.prod(self.shape) <= MAX_HESSIAN

    def solve(self, tol):
        """Return weights of shape (n_outputs, n_coordinates), and the lower bound."""
        best_value, best, bound = 1.0, np.zeros(self.shape), 0.0
        if self.unit == 0.0:
            return best, 0.0
        n_stalled = 0
        for v, slopes in self._candidates(tol):
            gap = best_value - bound
            value = self._total(self.loss, self._predict(v))
            if value < best_value:
                best_value, best = value, v
            bound = max(bound, self._lower_bound(v, slopes))
            n_stalled += best_value - bound > MAX_GAP_RATIO * gap
            if best_value - bound <= tol or n_stalled == MAX_STALLED:
                break
        return best, bound * self.unit

    def _candidates(self, tol):
        """Yield weights ever closer to the minimum, with slopes of their losses."""
        if self.has_small_program and (solution := self._solve_program()) is not None:
            yield solution
        for v in self._approximations(tol):
            yield v, self._slopes(self._predict(v))

    @property
    def piecewise_linear(self):
        return not self.loss.joint and self.loss.piecewise_linear

    @property
    def has_small_program(self):
        """Whether the minimum is the solution of a linear program of moderate size."""
        return (
            self.piecewise_linear
            and not self.columns.in_ball
            and np.prod(self.Z.shape) <= MAX_PROGRAM
        )

    def _solve_program(self):
        """Return weights and slopes of their losses, or None if the solver fails.

        Variables are the weights, in units of the predictions' size, and the distances
        of each row's prediction beyond the kinks of its loss.
        """
        n, m = self.Z.shape
        low, high = end_slopes(self.loss, self.y)
        left, right = kinks(self.loss, self.y)
        has_left, has_right = (low < 0.0)[:, 0], (high > 0.0)[:, 0]
        Z = sparse.csr_array(self.Z) / self.size
        rows = sparse.vstack([-Z[has_left], Z[has_right]])
        slack = sparse.eye_array(rows.shape[0])
        costs = np.concatenate([(-self.c * low)[has_left], (self.c * high)[has_right]])
        found = linprog(
            n * np.concatenate([np.zeros(m), self.size * costs[:, 0]]),
            A_ub=sparse.hstack([rows, -slack]),
            b_ub=np.concatenate([-left[has_left], right[has_right]]) / self.size,
            bounds=[(None, None)] * m + [(0.0, None)] * rows.shape[0],
        )
        if found.x is None:
            return None
        slopes = np.zeros(n)
        multipliers = -found.ineqlin.marginals / (n * self.size)
        slopes[has_left] -= multipliers[: has_left.sum()]
        slopes[has_right] += multipliers[has_left.sum() :]
        slopes = np.clip(slopes[:, np.newaxis] / self.c, low, high)
        return found.x[np.newaxis, :m], slopes

    def _approximations(self, tol):
        v = np.zeros(self.shape)
        if not (self.piecewise_linear or self.columns.in_ball):
            v = self._descend(v, tol)
            yield v
            yield self._minimise(v, tol)
            return
        for stage in STAGES:
            if self.piecewise_linear:
                self.smoothed = SmoothedLoss(self.loss, self.y, stage * self.size)
            if self.columns.in_ball:
                self.barrier = stage
            v = self._minimise(v, tol)
            yield v

    def _descend(self, v, tol):
        """Take cheap steps of first order."""
        options = {"ftol": 0.0, "maxiter": MAX_FIRST_ORDER}
        return self._run(v, tol, options, method="L-BFGS-B")

    def _minimise(self, v, tol):
        """Take steps of second order."""
        if self.is_dense:
            how = {"method": "trust-exact", "hess": self._hessian}
        else:
            how = {"method": "trust-ncg", "hessp": self._hessian_product}
        options = {"maxiter": MAX_SECOND_ORDER, "max_trust_radius": 1e8}
        try:
            return self._run(v, tol, options, **how)
        except (UnboundLocalError, ValueError, np.linalg.LinAlgError):
            # SciPy's errors for second derivatives that are not finite, or not positive
            # by rounding.
            return v

    def _run(self, v, tol, options, **how):
        """Run a method of SciPy from `v`."""

        def stop_near_zero(intermediate_result):
            if intermediate_result.fun <= 0.1 * tol:  # next to the infimum
                raise StopIteration

        options = {"gtol": 1e-3 * tol, **options}
        found = minimize(
            self._value_and_gradient,
            v.ravel(),
            jac=True,
            callback=stop_near_zero,
            options=options,
            **how,
        )
        return found.x.reshape(self.shape)

    # The loss.

    def _predict(self, v):
        return self.Z @ v.T

    def _total(self, loss, P):
        return float((self.c * loss.value(self.y, P).reshape(self.c.shape)).sum())

    def _slopes(self, P):
        if self.loss.joint:
            return self._slopes_of_shares(_shares(self.loss, P))
        return self.smoothed.gradient(self.y, P)

    def _value_and_gradient(self, x):
        v = x.reshape(self.shape)
        P = self._predict(v)
        value = self._total(self.smoothed, P)
        gradient = (self.c * self._slopes(P)).T @ self.Z
        if self.barrier:
            room, toward = self._room(v), self.columns.share**2 * v
            value -= self.barrier * np.log(room).sum()
            gradient += 2.0 * self.barrier * toward / room
        return value, gradient.ravel()

    def _room(self, v):
        """Return the share of the squared radius that is left; 0 outside the ball."""
        square = ((self.columns.share * v) ** 2).sum(axis=1, keepdims=True)
        return np.maximum(1.0 - square, 0.0)

    # Second derivatives.

    def _curvature(self, P):
        """Return second derivatives, which map changes of predictions to slopes."""
        if not self.loss.joint:
            return Curvature(self.smoothed.curvature(self.y, P))
        return JointCurvature(_shares(self.loss, P))

    def _hessian(self, x):
        v = x.reshape(self.shape)
        hessian = self._curvature(self._predict(v)).hessian(self.Z, self.c)
        if self.barrier:
            # Outside the ball, second derivatives are computed but not used.
            room, toward = self._room(v), self.columns.share**2 * v
            room[room == 0.0] = 1.0
            n = self.shape[1]
            for k, (own_room, own) in enumerate(zip(room, toward, strict=True)):
                block = np.diag(2.0 * self.columns.share**2 / own_room)
                block += 4.0 * np.outer(own, own) / own_room**2
                rows = slice(k * n, (k + 1) * n)
                hessian[rows, rows] += self.barrier * block
        return hessian

    def _hessian_product(self, x, direction):
        v, change = x.reshape(self.shape), direction.reshape(self.shape)
        curvature = self._curvature(self._predict(v))
        product = (self.c * curvature(self._predict(change))).T @ self.Z
        if self.barrier:
            room, toward = self._room(v), self.columns.share**2 * v
            along = (toward * change).sum(axis=1, keepdims=True)
            straight = 2.0 * self.columns.share**2 * change / room
            bent = 4.0 * toward * along / room**2
            product += self.barrier * (straight + bent)
        return product.ravel()

    # The lower bound.

    def _lower_bound(self, v, a):
        """Return a lower bound of the total loss, from slopes near weights `v`."""
        bounds = [0.0, self._project_and_bound(v, a)]
        if self.columns.in_ball:
            sums = (self.c * a).T @ self.Z
            norms = np.linalg.norm(sums / self.columns.share, axis=1)
            bounds.append(-self._total_conjugate(a) - norms.sum())
        return np.nanmax(bounds)

    def _total_conjugate(self, a):
        return float((self.c * self.loss.conjugate(self.y, a).reshape(-1, 1)).sum())

    def _project_and_bound(self, v, a):
        """Project slopes to slopes whose sums vanish; return their lower bound."""
        for _ in range(MAX_PROJECTIONS):
            sums = (self.c * a).T @ self.Z
            left = np.abs(sums)
            size = (self.c * np.abs(a)).T @ abs(self.Z)
            if (left <= 1e-14 * size).all():
                break
            curvature = self._dual_curvature(a)
            change = curvature(self._predict(self._solve(curvature, sums)))
            a = self._in_range(a - change)
        if not (left <= MAX_RELATIVE_SUM * size).all():
            return -np.inf
        return -self._total_conjugate(a) - (left * np.abs(v)).sum()

    def _dual_curvature(self, a):
        """Return a metric in which slopes at the ends of their range hardly change."""
        if self.loss.joint:
            return JointCurvature(np.maximum(self._shares_of_slopes(a), 0.0))
        low, high = end_slopes(self.loss, self.y)
        return Curvature(np.minimum(np.minimum(a - low, high - a), np.abs(a).max()))

    def _in_range(self, a):
        if not self.loss.joint:
            return np.clip(a, *end_slopes(self.loss, self.y))
        shares = np.maximum(self._shares_of_slopes(a), 0.0)
        return self._slopes_of_shares(shares / shares.sum(axis=1, keepdims=True))

    def _shares_of_slopes(self, a):
        return a + self._is_class(a)

    def _slopes_of_shares(self, shares):
        return shares - self._is_class(shares)

    def _is_class(self, a):
        return self.y[:, np.newaxis] == np.arange(a.shape[1])

    def _solve(self, curvature, sums):
        if self.is_dense:
            hessian = curvature.hessian(self.Z, self.c)
            units = np.sqrt(np.diag(hessian))
            units[units == 0.0] = 1.0
            hessian /= units
            hessian /= units[:, np.newaxis]
            if not (np.isfinite(hessian).all() and np.isfinite(sums).all()):
                return np.zeros(self.shape)
            x = linalg.lstsq(hessian, sums.ravel() / units, cond=1e-14)[0] / units
        else:

            def product(x):
                change = self._predict(x.reshape(self.shape))
                return ((self.c * curvature(change)).T @ self.Z).ravel()

            size = sums.size
            operator = LinearOperator((size, size), product, dtype=np.float64)
            x, _ = cg(operator, sums.ravel(), rtol=1e-12, maxiter=MAX_SECOND_ORDER)
        return x.reshape(self.shape)


def _shares(loss, P):
    return np.exp(loss.log_probabilities(P))
