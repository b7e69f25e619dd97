r"""The least total loss of a linear model, with a proof of how close it is.

The total loss of weights `w` is :math:`F(w) = \sum_i c_i \ell(y_i, \langle w, x_i
\rangle)`. By Fenchel's duality no model has less than

.. math:: -\sum_i c_i \ell^*(y_i, a_i), \qquad \text{where } \sum_i c_i a_i x_i = 0,

whatever the slopes `a` are; in a ball of radius `R`, no more than :math:`R \|\sum_i c_i
a_i x_i\|` less than that, and the sum may be anything. The slopes at the minimum make
both sides equal, those near it nearly so.
"""

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import linprog, minimize
from scipy.sparse.linalg import LinearOperator, cg

from ..losses import Huber

__all__ = ["least_loss"]

# With more parameters than this, no matrix of second derivatives is made.
MAX_HESSIAN = 1000

# With more entries of rows than this, no linear program is solved.
MAX_PROGRAM = 30_000

# How much a loss is smoothed, and how much the ball repels, from stage to stage; in
# units of the predictions and of the loss of always predicting 0.
STAGES = 10.0 ** np.arange(-1, -12, -1)

# Steps of a method at most, of first and of second order.
MAX_FIRST_ORDER, MAX_ITER = 1000, 200

# The gap of a stage is this share of that before, but for so many stages at most.
ENOUGH_LESS, MAX_IN_VAIN = 0.9, 3

# How often slopes are changed so that their sums vanish, and what is left of these.
MAX_PROJECTIONS, ROUNDING_OF_SUMS = 20, 1e-9

# Variation of a feature that is not told from rounding of its mean.
ROUNDING = 1e-14


def least_loss(
    X, targets, sample_weight, loss, n_outputs, *, fit_intercept, radius, tol
):
    """Coefficients of least total loss, and a lower bound of it.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, n_features)
    targets : ndarray of shape (n,) or (n, n_outputs)
        As the loss takes them; of one dimension for a joint loss alone.
    sample_weight : ndarray of shape (n,)
        Positive weights.
    loss : Loss
    n_outputs : int
    fit_intercept : bool
    radius : float
        Of the ball that each output's weights, with the intercept, are kept in.
        Infinity for none.
    tol : float
        How far the bound may be below the least loss found, in units of the loss of
        always predicting 0.

    Returns
    -------
    coef : ndarray of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    bound : float
        No model (in the ball) has a smaller total loss.
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
    """Rows in other units, and the weights of features in those that fit.

    Features are divided by their largest values and, where they are dense and there is
    no ball, centred before that. So no weight of a model with predictions of a certain
    size is much larger than 1, whatever the units of features are.

    Parameters
    ----------
    X, sample_weight, fit_intercept, radius
        See :func:`least_loss`.
    size : float
        Of predictions.
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
        """Coefficients and intercepts of the rows as they were."""
        weights = weights * self.units
        if not self.fit_intercept:
            return weights, np.zeros(len(weights))
        coef, intercept = weights[:, :-1], weights[:, -1]
        return coef, intercept - coef @ self.mean


class Smoothed:
    r"""A piecewise linear loss, less a little next to its kinks, where it is bent.

    It is the loss's Moreau envelope: :math:`\min_u \ell(u) + (u - p)^2 / (2 \mu)`,
    where the kinks are far enough apart.
    """

    joint = False

    def __init__(self, loss, y, mu):
        self.mu = mu
        self.kinks = kinks(loss, y)
        self.sides = [Huber(slope) for slope in np.abs(end_slopes(loss, y))]

    def _ways(self, p):
        """Ways to the kinks from outside, in units of the smoothing."""
        left, right = self.kinks
        return np.maximum(left - p, 0) / self.mu, np.maximum(p - right, 0) / self.mu

    def value(self, y, p):
        return self.mu * sum(
            side.value(0.0, way)
            for side, way in zip(self.sides, self._ways(p), strict=True)
        )

    def gradient(self, y, p):
        fall, rise = (
            side.gradient(0.0, way)
            for side, way in zip(self.sides, self._ways(p), strict=True)
        )
        return rise - fall

    def curvature(self, y, p):
        return (
            sum(
                (way > 0) * side.curvature(0.0, way)
                for side, way in zip(self.sides, self._ways(p), strict=True)
            )
            / self.mu
        )


def kinks(loss, y):
    """Where the loss begins to fall below the target, and to rise above it."""
    minimiser = np.vectorize(loss.minimiser, otypes=[float])
    return minimiser(y, -np.inf), minimiser(y, np.inf)


def end_slopes(loss, y):
    """Slopes of the loss far below and far above the targets."""
    with np.errstate(over="ignore"):
        return tuple(loss.gradient(y, np.full(y.shape, end)) for end in (-1e300, 1e300))


class Problem:
    """The total loss of outputs that are coupled, or of one that is not.

    Its argument is the flat array of the weights in :class:`Coordinates`, its unit the
    loss of always predicting 0.

    Parameters
    ----------
    columns : Coordinates
    y : ndarray of shape (n,) or (n, 1)
        Targets, as the loss takes them.
    n_outputs : int
    sample_weight : ndarray of shape (n,)
    loss : Loss
    size : float
        Of predictions.
    """

    def __init__(self, columns, y, n_outputs, sample_weight, loss, size):
        self.columns, self.Z, self.y = columns, columns.Z, y
        self.loss, self.size = loss, size
        self.shape = n_outputs, columns.Z.shape[1]
        losses = loss.value(y, np.zeros((len(y), n_outputs)))
        self.unit = float(sample_weight @ losses.reshape(len(y)))
        self.c = sample_weight[:, np.newaxis] / (self.unit or 1.0)
        self.smoothed, self.repulsion = loss, 0.0

    @property
    def is_dense(self):
        return np.prod(self.shape) <= MAX_HESSIAN

    def solve(self, tol):
        """Weights of shape (n_outputs, n_coordinates), and the lower bound."""
        best_value, best, bound = 1.0, np.zeros(self.shape), 0.0
        if self.unit == 0.0:
            return best, 0.0
        n_in_vain = 0
        for v, slopes in self._candidates(tol):
            gap = best_value - bound
            value = self._total(self.loss, self._predict(v))
            if value < best_value:
                best_value, best = value, v
            bound = max(bound, self._lower_bound(v, slopes))
            n_in_vain += best_value - bound > ENOUGH_LESS * gap
            if best_value - bound <= tol or n_in_vain == MAX_IN_VAIN:
                break
        return best, bound * self.unit

    def _candidates(self, tol):
        """Yield weights, each perhaps closer to the minimum, and the slopes there."""
        if self.is_program and (solution := self._solve_program()) is not None:
            yield solution
        for v in self._approach(tol):
            yield v, self._slopes(self._predict(v))

    @property
    def piecewise_linear(self):
        return not self.loss.joint and self.loss.piecewise_linear

    @property
    def is_program(self):
        """Whether the minimum is that of a linear program of some size at most."""
        return (
            self.piecewise_linear
            and not self.columns.in_ball
            and np.prod(self.Z.shape) <= MAX_PROGRAM
        )

    def _solve_program(self):
        """Weights, and slopes of the losses there; None where the solver gives up.

        Its variables are the weights, in units of the predictions' size, and each row's
        ways to the kinks of its loss.
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

    def _approach(self, tol):
        v = np.zeros(self.shape)
        if not (self.piecewise_linear or self.columns.in_ball):
            v = self._descend(v, tol)
            yield v
            yield self._minimise(v, tol)
            return
        for stage in STAGES:
            if self.piecewise_linear:
                self.smoothed = Smoothed(self.loss, self.y, stage * self.size)
            if self.columns.in_ball:
                self.repulsion = stage
            v = self._minimise(v, tol)
            yield v

    @staticmethod
    def _stop_near_zero(tol):
        """Callback that ends where the loss is next to nothing: there is no less."""

        def stop(intermediate_result):
            if intermediate_result.fun <= 0.1 * tol:
                raise StopIteration

        return stop

    def _descend(self, v, tol):
        """First order steps, which cost little."""
        found = minimize(
            self._value_and_gradient,
            v.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=self._stop_near_zero(tol),
            options={"gtol": 1e-3 * tol, "ftol": 0.0, "maxiter": MAX_FIRST_ORDER},
        )
        return found.x.reshape(self.shape)

    def _minimise(self, v, tol):
        """Second order steps."""
        if self.is_dense:
            how = {"method": "trust-exact", "hess": self._hessian}
        else:
            how = {"method": "trust-ncg", "hessp": self._hessian_product}
        options = {"gtol": 1e-3 * tol, "maxiter": MAX_ITER, "max_trust_radius": 1e8}
        try:
            found = minimize(
                self._value_and_gradient,
                v.ravel(),
                jac=True,
                callback=self._stop_near_zero(tol),
                options=options,
                **how,
            )
        except (UnboundLocalError, ValueError, np.linalg.LinAlgError):
            # SciPy gives up in these ways on second derivatives that are not finite, or
            # that rounding keeps from being positive.
            return v
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
        if self.repulsion:
            room, toward = self._room(v), self.columns.share**2 * v
            value -= self.repulsion * np.log(room).sum()
            gradient += 2.0 * self.repulsion * toward / room
        return value, gradient.ravel()

    def _room(self, v):
        """What is left of the squared radius, as a share of it; 0 outside the ball."""
        square = ((self.columns.share * v) ** 2).sum(axis=1, keepdims=True)
        return np.maximum(1.0 - square, 0.0)

    # Second derivatives.

    def _bend(self, P):
        """What turns changes of predictions into changes of slopes."""
        if not self.loss.joint:
            return Bend(self.smoothed.curvature(self.y, P))
        return JointBend(_shares(self.loss, P))

    def _hessian(self, x):
        v = x.reshape(self.shape)
        hessian = self._bend(self._predict(v)).hessian(self.Z, self.c)
        if self.repulsion:
            # Outside, second derivatives are asked for and not used.
            room, toward = self._room(v), self.columns.share**2 * v
            room[room == 0.0] = 1.0
            n = self.shape[1]
            for k, (own_room, own) in enumerate(zip(room, toward, strict=True)):
                block = np.diag(2.0 * self.columns.share**2 / own_room)
                block += 4.0 * np.outer(own, own) / own_room**2
                rows = slice(k * n, (k + 1) * n)
                hessian[rows, rows] += self.repulsion * block
        return hessian

    def _hessian_product(self, x, direction):
        v, way = x.reshape(self.shape), direction.reshape(self.shape)
        bend = self._bend(self._predict(v))
        product = (self.c * bend(self._predict(way))).T @ self.Z
        if self.repulsion:
            room, toward = self._room(v), self.columns.share**2 * v
            along = (toward * way).sum(axis=1, keepdims=True)
            straight = 2.0 * self.columns.share**2 * way / room
            bent = 4.0 * toward * along / room**2
            product += self.repulsion * (straight + bent)
        return product.ravel()

    # The lower bound.

    def _lower_bound(self, v, a):
        """From slopes near those of the losses at `v`."""
        bounds = [0.0, self._without_ball(v, a)]
        if self.columns.in_ball:
            sums = (self.c * a).T @ self.Z
            norms = np.linalg.norm(sums / self.columns.share, axis=1)
            bounds.append(-self._total_conjugate(a) - norms.sum())
        return np.nanmax(bounds)

    def _total_conjugate(self, a):
        return float((self.c * self.loss.conjugate(self.y, a).reshape(-1, 1)).sum())

    def _without_ball(self, v, a):
        """Change the slopes until no direction has a slope, as little as possible."""
        for _ in range(MAX_PROJECTIONS):
            sums = (self.c * a).T @ self.Z
            left = np.abs(sums)
            size = (self.c * np.abs(a)).T @ abs(self.Z)
            if (left <= 1e-14 * size).all():
                break
            bend = self._bend_of_slopes(a)
            a = self._in_range(a - bend(self._predict(self._solve(bend, sums))))
        if not (left <= ROUNDING_OF_SUMS * size).all():
            return -np.inf
        return -self._total_conjugate(a) - (left * np.abs(v)).sum()

    def _bend_of_slopes(self, a):
        """Slopes next to the ends of their range are hardly to be changed."""
        if self.loss.joint:
            return JointBend(np.maximum(self._shares_of_slopes(a), 0.0))
        low, high = end_slopes(self.loss, self.y)
        return Bend(np.minimum(np.minimum(a - low, high - a), np.abs(a).max()))

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

    def _solve(self, bend, sums):
        if self.is_dense:
            hessian = bend.hessian(self.Z, self.c)
            units = np.sqrt(np.diag(hessian))
            units[units == 0.0] = 1.0
            hessian /= units
            hessian /= units[:, np.newaxis]
            if not (np.isfinite(hessian).all() and np.isfinite(sums).all()):
                return np.zeros(self.shape)
            x = linalg.lstsq(hessian, sums.ravel() / units, cond=1e-14)[0] / units
        else:

            def product(x):
                way = self._predict(x.reshape(self.shape))
                return ((self.c * bend(way)).T @ self.Z).ravel()

            size = sums.size
            operator = LinearOperator((size, size), product, dtype=np.float64)
            x, _ = cg(operator, sums.ravel(), rtol=1e-12, maxiter=MAX_ITER)
        return x.reshape(self.shape)


class Bend:
    """Second derivatives of the losses of one output, of shape (n, 1)."""

    def __init__(self, curvature):
        self.curvature = curvature

    def __call__(self, ways):
        return self.curvature * ways

    def hessian(self, Z, c):
        return _gram(Z, c * self.curvature, Z)


class JointBend:
    """Those of a joint loss, from the probabilities, of shape (n, n_outputs)."""

    def __init__(self, shares):
        self.shares = shares

    def __call__(self, ways):
        mean = (self.shares * ways).sum(axis=1, keepdims=True)
        return self.shares * (ways - mean)

    def hessian(self, Z, c):
        K, n = self.shares.shape[1], Z.shape[1]
        hessian = np.empty((K, n, K, n))
        for k in range(K):
            for other in range(k + 1):
                own, others = self.shares[:, [k]], self.shares[:, [other]]
                block = _gram(Z, c * own * ((k == other) - others), Z)
                hessian[k, :, other] = hessian[other, :, k] = block
        return hessian.reshape(K * n, K * n)


def _gram(Z, weights, other):
    if sparse.issparse(Z):
        return (Z.T @ sparse.diags_array(weights[:, 0]) @ other).toarray()
    return Z.T @ (weights * other)


def _shares(loss, P):
    return np.exp(loss.log_probabilities(P))
