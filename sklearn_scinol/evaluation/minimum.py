r"""Minimise the total loss of a linear model, with a lower bound as a certificate.

The total loss of weights `w` is :math:`F(w) = \sum_i c_i \ell(y_i, \langle w, x_i
\rangle)`. By Fenchel's duality, for any slopes `a`, no model of norm `R` or less has
less than

.. math:: -\sum_i c_i \ell^*(y_i, a_i) - R \big\|\sum_i c_i a_i x_i\big\|.

The slopes at the minimum make both sides equal.
"""

from collections import deque
from itertools import count

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import linprog, minimize

from .._portable import TINY

# Largest number of entries of rows whose columns are made orthogonal.
MAX_ENTRIES = 20_000_000

# Largest number of Newton steps for one barrier, and number of barriers.
MAX_STEPS, N_BARRIERS = 300, 5

# Largest number of weights whose Hessian is stored, and not only multiplied by steps.
MAX_DENSE = 200

# Largest norm, relative to that of the weights found, of the weights that the lower
# bound holds for; in a ball all if it is tight.
REACH = 10.0

# Number of folds of a sector of a ball, whose error is below 2e-8.
N_FOLDS = 12

# Smaller relative variation of a feature, or of a sum of features, counts as rounding.
ROUNDING = 1e-14


def minimise_loss(
    X, targets, sample_weight, loss, n_outputs, *, fit_intercept, radius, tol
):
    """Find weights of least total loss; return coef, intercept and a lower bound.

    Targets are of shape (n,) for a joint loss, else (n, n_outputs). The radius, perhaps
    infinite, limits the norm of each output's weights with the intercept. `tol` is the
    gap to aim at, in units of the loss of always predicting 0.
    """
    if loss.joint:
        size, groups = 1.0, [(targets, n_outputs)]
    else:
        size = np.abs(targets).max() or 1.0
        groups = [(column[:, np.newaxis], 1) for column in targets.T]
    columns = Coordinates(X, sample_weight, fit_intercept, radius, size)
    found = []
    for y, n_outputs in groups:
        problem = Problem(columns, y, n_outputs, sample_weight, loss)
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
        self.size, radius = size, radius * (1.0 - ROUNDING)
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

    def norms(self, weights):
        """Return the norms of weights, in units of the radius."""
        return np.linalg.norm(self.share * weights, axis=1, keepdims=True)

    def reach(self, sums, weights):
        """Return the largest product of sums and weights in a ball and within reach.

        The ball limits weights of features in usual units, if any. Of features in huge
        units, rounding of the sums alone would be more than their products.
        """
        reach = REACH * np.linalg.norm(weights)
        found = [reach * np.linalg.norm(sums)]
        for smallest in (0.0, 1e-6) if self.in_ball else ():
            limited = self.share > smallest
            in_ball = sums[:, limited] / self.share[limited]
            rest = reach * np.linalg.norm(sums[:, ~limited])
            found.append(np.linalg.norm(in_ball, axis=1).sum() + rest)
        return min(found)

    def orthogonal(self, c):
        """Return rows, if they are few, in other columns, and their basis.

        The mean square of predictions, in units of their size, and the squared norm in
        units of the radius sum to that of the weights.
        """
        n, d = self.Z.shape
        if (n + d) * d > MAX_ENTRIES:
            return self.Z, sparse.eye_array(d)
        Z = self.Z.toarray() if sparse.issparse(self.Z) else self.Z
        both = np.vstack([np.sqrt(c / c.sum()) / self.size * Z, np.diag(self.share)])
        _, s, directions = linalg.svd(both, full_matrices=False)
        kept = s > ROUNDING * n * s[0]
        basis = directions[kept].T / s[kept]
        return Z @ basis, basis


class Problem:
    """Total loss of one output, or of the outputs of a joint loss, as a function.

    Its argument is the array of the weights in :class:`Coordinates`, its unit the loss
    of always predicting 0.
    """

    def __init__(self, columns, y, n_outputs, sample_weight, loss):
        self.columns, self.Z, self.y, self.loss = columns, columns.Z, y, loss
        self.shape = n_outputs, columns.Z.shape[1]
        losses = loss.value(y, np.zeros((len(y), n_outputs)))
        self.unit = float(sample_weight @ losses.reshape(len(y)))
        self.c = sample_weight[:, np.newaxis] / (self.unit or 1.0)

    def solve(self, tol):
        """Return weights of shape (n_outputs, n_coordinates), and the lower bound."""
        of_zero = np.zeros(self.shape)
        if self.unit == 0.0:
            return of_zero, 0.0
        if getattr(self.loss, "piecewise_linear", False):
            v, bound = self._solve_program()
        else:
            v, bound = self._descend(tol)
        if not self._total(self.Z @ v.T) < 1.0:
            v = of_zero
        return v, np.fmax(bound, 0.0) * self.unit

    def _total(self, P):
        return float((self.c * self.loss.value(self.y, P).reshape(self.c.shape)).sum())

    # Piecewise linear losses, by their dual problem.

    def _pieces(self):
        """Return the parts that slopes are sums of, one for each kink of a row's loss.

        These are the indices of rows, the predictions at kinks, and the ranges of the
        parts. The conjugate is the sum of the parts, each times the prediction.
        """
        y = self.y[:, 0]
        left, right = (
            np.vectorize(self.loss.minimiser, otypes=[float])(y, end)
            for end in (-np.inf, np.inf)
        )
        low, high = (
            self.loss.gradient(y, np.full(y.shape, end)) for end in (-1e300, 1e300)
        )
        are_one, nothing = left == right, np.zeros(len(y))
        rises = np.flatnonzero(are_one | (high > 0.0))
        falls = np.flatnonzero(~are_one & (low < 0.0))
        return [
            np.concatenate([rising[rises], falling[falls]])
            for rising, falling in (
                (np.arange(len(y)), np.arange(len(y))),
                (right, left),
                (np.where(are_one, low, 0.0), low),
                (high, nothing),
            )
        ]

    def _solve_program(self):
        """Solve a linear program, whose multipliers are the weights."""
        n, (rows, kinks, low, high) = len(self.y), self._pieces()
        c = n * self.c[rows, 0]
        A = sparse.csr_array(sparse.diags_array(c) @ self.Z[rows])
        in_ball, share, m = self.columns.in_ball, self.columns.share, A.shape[1]
        ball, limits = sparse.csr_array((0, m)), np.zeros(0)
        if in_ball:
            ball, limits = ball_constraints(share, m)
        empty = sparse.csr_array((len(rows), ball.shape[1] - m))
        found = linprog(
            np.concatenate([c * kinks, limits]),
            A_eq=sparse.vstack([sparse.hstack([A, empty]), ball]).T,
            b_eq=np.zeros(ball.shape[1]),
            bounds=[*zip(low, high, strict=True), *[(0.0, None)] * len(limits)],
        )
        if found.x is None:
            return np.zeros(self.shape), 0.0
        v, x = found.eqlin.marginals[np.newaxis, :m], found.x[: len(rows)]
        if in_ball:
            v = v / np.maximum(self.columns.norms(v), 1.0)
        left = self.columns.reach((x @ A)[np.newaxis], v)
        return v, -(c @ (x * kinks) + left) / n

    # Smooth losses.

    def _descend(self, tol):
        """Minimise the loss by Newton steps; a tangent gives the lower bound.

        A ball adds a barrier: minus the logarithm of the room inside, times a factor
        that falls to next to nothing.
        """
        shape, last = (self.shape[0], -1), 0.01 * tol
        Z, basis = self.columns.orthogonal(self.c)
        ball = sparse.diags_array(self.columns.share) @ basis

        def in_ball(u):
            """Return weights in units of the radius, and how far inside they are."""
            w = u @ ball.T
            return w, 1.0 - (w * w).sum(axis=1, keepdims=True)

        def value_and_gradient(x, factor):
            u = x.reshape(shape)
            P, (w, room) = Z @ u.T, in_ball(u)
            if not (room > 0.0).all():
                return np.inf, x
            gradient = (self.c * self._slopes(P)).T @ Z
            gradient += 2.0 * factor / room * (w @ ball)
            return self._total(P) - factor * np.log(room).sum(), gradient.ravel()

        def hessian_times(x, direction, factor):
            u, step = x.reshape(shape), direction.reshape(shape)
            (w, room), change = in_ball(u), step @ ball.T
            along = 2.0 * (w * change).sum(axis=1, keepdims=True) / room
            product = (self.c * self._slope_changes(Z @ u.T, Z @ step.T)).T @ Z
            product += 2.0 * factor / room * ((change + along * w) @ ball)
            return product.ravel()

        def hessian(x, factor):
            return np.array([hessian_times(x, each, factor) for each in np.eye(x.size)])

        x = np.zeros(self.shape[0] * Z.shape[1])
        method = {"method": "trust-ncg", "hessp": hessian_times}
        if x.size <= MAX_DENSE:
            method = {"method": "trust-exact", "hess": hessian}
        is_limited = self.columns.in_ball
        for factor in np.geomspace(1.0, last, N_BARRIERS) if is_limited else [0.0]:
            x = minimize(
                value_and_gradient,
                x,
                (factor,),
                jac=True,
                options={"gtol": 0.1 * max(factor, last), "maxiter": MAX_STEPS},
                **method,
            ).x
        u = x.reshape(shape)
        if self.loss.joint and not is_limited:
            u = u - u.mean(axis=0)  # which changes no loss
        P, (w, room) = Z @ u.T, in_ball(u)
        slopes = self.c * self._slopes(P)
        pull, norms = slopes.T @ Z, np.linalg.norm(w, axis=1)
        far = REACH * np.linalg.norm(u) + is_limited
        # The sphere holds the weights against the slopes, but for a rest. Its force is
        # that of the barrier or, more precise next to it, the pull along the weights.
        along = -(pull * u).sum(axis=1) / np.maximum(norms**2, TINY)
        left = [
            np.abs(force) * norms
            + far * np.linalg.norm(pull + force[:, np.newaxis] * (w @ ball), axis=1)
            for force in (2.0 * factor / room[:, 0], along)
        ]
        bound = self._total(P) - (slopes * P).sum() - np.min(left, axis=0).sum()
        return u @ basis.T, bound

    def _slopes(self, P):
        if not self.loss.joint:
            return self.loss.gradient(self.y, P)
        is_class = self.y[:, np.newaxis] == np.arange(P.shape[1])
        return np.exp(self.loss.log_probabilities(P)) - is_class

    def _slope_changes(self, P, changes):
        """Return how fast the slopes change as predictions do."""
        if self.loss.joint:
            p = np.exp(self.loss.log_probabilities(P))
            return p * (changes - (p * changes).sum(axis=1, keepdims=True))
        step = 1e-6 * (1.0 + np.abs(P))
        ahead, behind = (self.loss.gradient(self.y, P + s) for s in (step, -step))
        return (ahead - behind) / (2.0 * step) * changes


def ball_constraints(share, n):
    """Return linear constraints of weights in a ball, ``constraints @ z <= limits``.

    The first `n` of the variables `z` are the weights; others may have any value. The
    norm of two numbers is the larger coordinate of the point, once it was folded into
    an ever narrower sector: A. Ben-Tal and A. Nemirovski (2001), "On polyhedral
    approximations of the second-order cone".
    """
    rows, variables = [], count(n)

    def size(terms):
        """Return a variable that is at least the absolute value of a sum."""
        variable = next(variables)
        for sign in 1.0, -1.0:
            rows.append({variable: -1.0} | {j: sign * a for j, a in terms.items()})
        return variable

    norms = deque(size({j: a}) for j, a in enumerate(share))
    while len(norms) > 1:
        x, y = norms.popleft(), norms.popleft()
        for angle in np.pi / 2.0 ** np.arange(2, N_FOLDS + 2):
            cos, sin = np.cos(angle), np.sin(angle)
            turned = next(variables)
            rows.append({turned: -1.0, x: cos, y: sin})
            x, y = turned, size({x: -sin, y: cos})
        rows.append({x: -np.tan(angle), y: 1.0})
        norms.append(x)
    rows.append({norms[0]: 1.0})
    entries = [(i, j, a) for i, row in enumerate(rows) for j, a in row.items()]
    i, j, factors = zip(*entries, strict=True)
    limits = np.zeros(len(rows))
    limits[-1] = 1.0
    return sparse.csr_array((factors, (i, j)), (len(rows), next(variables))), limits
