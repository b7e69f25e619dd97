"""Implicit online Newton steps, with a full covariance matrix for each output."""

from operator import itemgetter
from typing import NamedTuple

import numpy as np

from .._portable import (
    add_multiple,
    clip_into,
    copy_into,
    exp,
    inner,
    inverse,
    larger,
    move_and_multiply,
    padded,
    smaller,
    square,
    store_square,
    trace,
    triangle,
)
from ..losses import methods

# Gauss-Hermite quadrature: the mean of a function of a standard normal variable.
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
# One more of weight 0 makes eight, which compiled code takes four at a time.
NODES = np.append(NODES, 0.0)
NODE_WEIGHTS = np.append(NODE_WEIGHTS / NODE_WEIGHTS.sum(), 0.0)

#: Smallest variance in any direction, as a share of the prior's, that is sure to have
#: digits left.
MIN_SHARE = 1e-10

#: Largest variance of a prediction for which its mode stands for its mean.
MAX_NARROW_VARIANCE = 0.01


class State(NamedTuple):
    """Arrays whose first axis is outputs; vectors are padded with zeros.

    With a shared covariance only the first output has a matrix, and only its `u`, `v`,
    `root` and `growth` are used.

    An update is pending until the next row is predicted, so that one pass over `P` does
    both: then `w` becomes ``w + g v`` and `P` becomes ``growth (P - root^2 v v')``.
    """

    w: np.ndarray  # (K, n), weights
    P: np.ndarray  # (K or 1, n_stored), their covariance: see `triangle`
    x: np.ndarray  # (K, n), the present row
    u: np.ndarray  # (K, n), P x of the present row
    v: np.ndarray  # (K, n), P x of the row before
    q: np.ndarray  # (K,), <x, P x>: the variance of a prediction
    g: np.ndarray  # (K,)
    root: np.ndarray  # (K,)
    growth: np.ndarray  # (K,)
    prior_left: np.ndarray  # (K,), share of the prior that is not forgotten
    initial_trace: np.ndarray  # (K,), trace of P before the first row
    step: np.ndarray  # (K,), buffer for a joint loss, as are the next three
    moved: np.ndarray
    share: np.ndarray
    direction: np.ndarray
    weight_sum: np.ndarray  # (K,), of the rows that the next three are means of
    distance: np.ndarray  # (K,), of predictions from the minimisers of their losses
    curvature: np.ndarray  # (K,)
    noise: np.ndarray  # (K,), squared errors over 1 + q
    excess: np.ndarray  # (K,), part of the bound on the regret that rows add to


class UnitChange(NamedTuple):
    """Change of the units and zeros of features and targets: ``slope z + shift``.

    A slope is 0 where the unit was not known before, and all values counted as equal.
    """

    slope: np.ndarray  # (n_features,)
    shift: np.ndarray  # (n_features,)
    target_slope: np.ndarray  # (K,)
    target_shift: np.ndarray  # (K,)
    unit_free: bool  # whether the loss is divided by the unit of the target


class OnlineNewton(NamedTuple):
    r"""Newton steps that are implicit, in the metric of the weights' covariance.

    With :math:`w = 0` and :math:`P = p_0 I` at first, the row :math:`x` is predicted
    by :math:`s = \langle w, x \rangle`, of which :math:`q = \langle x, P x \rangle` is
    the variance. Then

    .. math::
        s' = \arg\min_{s'} \ell(s') + \frac{(s' - s)^2}{2 q}, \qquad
        w \leftarrow w + \frac{s' - s}{q} P x, \qquad
        P \leftarrow P - \frac{h}{1 + h q} P x x^\top P,

    where :math:`h = \ell''(s')`. For the squared error these are recursive least
    squares. A piecewise linear loss has no curvature. It takes that of the parabola
    with its minimum at the kink and the slope of the loss at the prediction,
    :math:`h = |\ell'(s)| / \max(|e|, e_0)`, where :math:`e` is the distance from the
    minimum and :math:`e_0` half its mean so far. The Huber loss does the same at
    :math:`s'`, where it is straight, without :math:`e_0`.

    A joint loss has a matrix for each output, and one minimum over all :math:`s'`. Or
    all outputs share one matrix; :math:`h` is then the sum of their curvatures, divided
    by one less than their number.

    If predictions are moderated, they are log odds, and the weights count as normal:
    :math:`w` and :math:`P` become the mean and the covariance given the row, by a
    quadrature around :math:`s'` with the curvature :math:`h` (assumed-density
    filtering).

    Parameters
    ----------
    prior_scale : float
        :math:`p_0`, the variance of each weight before the first row. That of the
        intercept is at least 1.
    forgetting : float
        After each row, `P` is divided by 1 minus this, as long as its trace stays below
        that of the prior.
    moderate : bool
        Whether predictions are divided by :math:`\sqrt{1 + \pi q / 8}`, and the step
        matches moments.
    limit : float
        Values of features are clipped at plus and minus this; at least 1.
    fit_intercept : bool
        Whether the last coordinate is the intercept's.
    shared_covariance : bool
        Whether all outputs share one matrix, of a joint loss or of one output.
    """

    prior_scale: float = 0.3
    forgetting: float = 0.0
    moderate: bool = False
    limit: float = np.inf
    fit_intercept: bool = True
    shared_covariance: bool = False

    State = State
    parameters = {}
    stays_finite = True

    @property
    def moderates(self):
        """Whether predictions depend on their variance."""
        return self.moderate

    def prior(self, n):
        """Return the diagonal of the initial covariance of `n` weights."""
        variances = np.full(n, self.prior_scale)
        if self.fit_intercept:
            variances[-1] = max(self.prior_scale, 1.0)
        return variances

    def initial_arrays(self, n_outputs, n_coordinates):
        rows, _, places = triangle(n_coordinates)
        P = np.zeros((1 if self.shared_covariance else n_outputs, rows.size))
        variances = self.prior(n_coordinates)
        P[:, np.diagonal(places)] = variances
        w, x, u, v = np.zeros((4, n_outputs, padded(n_coordinates)))
        numbers = np.zeros((len(State._fields) - 5, n_outputs))
        state = State(w, P, x, u, v, *numbers)
        state.growth[:] = state.prior_left[:] = 1.0
        state.initial_trace[:] = variances.sum()
        return state

    def score(self, s, k, x, t):
        """Prediction before moderation; its variance goes into `q`."""
        clipped = s.x[k]
        clip_into(x, self.limit, clipped)
        return apply_and_predict(self, s, k, clipped)

    def charged(self, s, k, p, c):
        return self.moderated(p, s.q[k], c)

    def moderated(self, p, q, c):
        """Prediction to report where `p` has variance `q`, and the row weight `c`."""
        return p / np.sqrt(1.0 + np.pi / 8.0 * q) if self.moderate else p

    def learn_implicitly(self, s, k, loss, y, c, scale, p):
        _, spread, slope = scale
        unit, q = smaller(c * slope, methods.MAX_STEP) * spread, s.q[k]
        unit = smaller(unit, methods.MAX_STEP)
        g = taken = 0.0
        if unit * q > 0.0:
            g, taken = self._step(s, k, loss, y, c, scale, p, unit)
        defer_update(self, s, k, g, taken)

    def _step(self, s, k, loss, y, c, scale, p, unit):
        """Step along ``P x`` for a row, and the share of `P` that it takes."""
        (offset, spread, slope), q = scale, s.q[k]
        predicted = offset + spread * p
        s.weight_sum[k] = (1.0 - self.forgetting) * s.weight_sum[k] + c
        share = 1.0 / s.weight_sum[k]
        if loss.piecewise_linear:
            move = (loss.minimiser(y, predicted) - predicted) / spread
            size = smaller(np.abs(move), methods.MAX_STEP)
            s.distance[k] += share * c * (size - s.distance[k])
            is_number, size_of_y = not loss.is_classification, abs(y) + abs(offset)
            if is_number and methods.meets(loss, y, predicted, size_of_y):
                predicted = y
            pull = c * slope * np.abs(loss.gradient(y, predicted))
            h = pull / larger(size, larger(0.5 * s.distance[k], 1e-300))
            g = h * move / (1.0 + h * q)
        else:
            step = smaller(q * unit, methods.MAX_STEP)
            move, _ = loss.proximal(y, predicted, step)
            g = move / (spread * q)
            h = unit * loss.stiffness(y, predicted + move, -move / step)
        flatness, error = 1.0 / (1.0 + h * q), y - predicted
        taken = h * flatness
        if self.moderate and q > MAX_NARROW_VARIANCE:
            g, taken = match_moments(loss, y, c, p, g * q, q, q * flatness)
        s.curvature[k] += share * (h - c * s.curvature[k])
        s.noise[k] += share * c * (error * error * flatness - s.noise[k])
        square_in_bound = self.square_in_bound(y, p, error, flatness)
        s.excess[k] += c * square_in_bound * (h * q * flatness)
        return g, taken

    def square_in_bound(self, y, p, error, flatness):
        """Square that is in the bound on the regret, of an error of `p`."""
        return error * error

    def learn_jointly(self, s, loss, y, c, p):
        for k in range(p.size):
            s.step[k] = smaller(c * s.q[k], methods.MAX_STEP)
        buffers = s.moved, s.share, s.direction
        loss.row_proximal(y, p, s.step, s.g, buffers)
        for k in range(p.size):
            s.step[k] = p[k] - s.step[k] * s.g[k]
        loss.row_curvature(y, s.step, s.root)
        if self.shared_covariance:
            h = 0.0
            for k in range(p.size):
                h += c * s.root[k] / (p.size - 1.0)
                s.g[k] *= -c
                s.root[k] = 0.0
            defer_update(self, s, 0, s.g[0], h / (1.0 + h * s.q[0]))
        else:
            for k in range(p.size):
                h = c * s.root[k]
                defer_update(self, s, k, -c * s.g[k], h / (1.0 + h * s.q[k]))

    def settle(self, s):
        """Apply pending updates, and clear the row."""
        s.x[:] = 0.0
        for k in range(s.w.shape[0]):
            apply_and_predict(self, s, k, s.x[k])  # leaves zeros in u and q
        for k in range(s.w.shape[0]):
            copy_into(s.u[k], s.v[k])
            s.step[k] = 0.0

    def weights(self, s, t):
        return s.w

    def covariances(self, s, n):
        """Covariance matrices of the `n` weights, one for each output."""
        return [square(s.P[k], n) for k, w in of_matrices(s) for _ in w]

    def change_units(self, s, change, inverse):
        """Convert the state to other units of the rows, with the same prior.

        The information of the rows is linear in them: the inverse of the covariance
        less that of the prior, and the product of that inverse with the weights.
        """
        n, left = change.slope.size + self.fit_intercept, s.prior_left
        prior = self.prior(n)
        # A row z becomes slope z + shift times the intercept's 1, which is last.
        slope, shift = np.ones(n), np.zeros(n)
        slope[: change.slope.size] = change.slope
        if self.fit_intercept:
            shift[:-1] = change.shift
        for k, of_outputs in of_matrices(s):
            of_target, weight = change.target_slope[k], 1.0
            if change.unit_free:
                weight = 1.0 / of_target if of_target > 0.0 else 0.0
            A = inverse(square(s.P[k], n))
            vectors = [np.add.reduce(A * w[:n], axis=1) for w in of_outputs]
            A.flat[:: n + 1] -= left[k] / prior
            A = weight * (slope[:, np.newaxis] * A + shift[:, np.newaxis] * A[-1])
            A = A * slope + A[:, -1:] * shift
            of_shift = 0.0
            if self.fit_intercept:
                of_shift = change.target_shift[k] * A[:, -1]
            A.flat[:: n + 1] = larger(A.flat[:: n + 1], 0.0) + left[k] / prior
            P = inverse(A)
            for w, b in zip(of_outputs, vectors, strict=True):
                b = weight * of_target * (slope * b + shift * b[-1]) + of_shift
                w[:n] = np.add.reduce(P * b, axis=1)
            if not (np.isfinite(of_outputs).all() and np.isfinite(P).all()):
                # Rounding has left nothing of values that far apart: start again.
                of_outputs[:], P, left[k] = 0.0, np.diag(prior), 1.0
            store_square(P, s.P[k])
            s.distance[k] *= of_target
            s.curvature[k] *= weight

    def merged(self, s, shared, w, x, t):
        """Merge states in the same units, by adding up the information of their rows.

        If rows are forgotten, none remembers the start, nor more rows than another one:
        information is averaged. Each member of `s` has the state, and its start in the
        same units. The weights follow from the information, whatever `w` is.
        """
        n = w.shape[1]
        members, s = s, s.map(itemgetter(0))

        def difference(member):
            learned, began = (self._information(each, n) for each in member)
            return learned - began

        if self.forgetting > 0.0:
            information = s.map(lambda s: self._information(s, n)).mean()
        else:
            information = members.map(difference).sum(1)
            information = information + self._information(s.start, n)
        merged = State(*self.initial_arrays(len(w), n))
        self._set_information(merged, information, s.prior_left.mean())
        merged.excess[:] = s.excess.sum()
        merged.weight_sum[:] = larger(s.weight_sum.sum(1), 0.0)
        of_all = np.where(merged.weight_sum > 0.0, merged.weight_sum, 1.0)
        for name in "distance", "curvature", "noise":
            total = s.map(lambda s, name=name: s.weight_sum * getattr(s, name)).sum(1)
            getattr(merged, name)[:] = larger(total / of_all, 0.0)
        return merged, None

    def _information(self, s, n):
        """Information of rows on `n` weights: (n_matrices, n + n_of_matrix, n)."""
        n_matrices = len(s.P)
        information = np.empty((n_matrices, n + len(s.w) // n_matrices, n))
        for (k, w), output in zip(of_matrices(s), information, strict=True):
            A = inverse(square(s.P[k], n))
            output[n:] = w[:, :n] @ A
            output[:n] = A - np.diag(s.prior_left[k] / self.prior(n))
        return information

    def _set_information(self, s, information, left):
        """Set weights and covariances from information and a share of the prior."""
        n = information.shape[2]
        for (k, w), output in zip(of_matrices(s), information, strict=True):
            A = output[:n]
            A.flat[:: n + 1] = larger(A.flat[:: n + 1], 0.0) + left[k] / self.prior(n)
            P = inverse(A)
            w[:, :n] = output[n:] @ P
            store_square(P, s.P[k])
        s.prior_left[:] = left

    def with_columns(self, s, forward):
        """Return the state as if rows had been multiplied by a matrix."""
        n, placed = len(forward), State(*(array.copy() for array in s))
        information = self._information(s, n) @ forward.T
        of_rows = forward @ information[:, :n]
        information = np.concatenate([of_rows, information[:, n:]], axis=1)
        self._set_information(placed, information, s.prior_left)
        return placed

    def regret_bound(self, s, shared, u, t, first):
        """Half the squared norm of `u` in the prior's metric, and half the excess.

        Only for the squared error. Infinite if rounding may have left too little of the
        covariance.
        """
        prior = self.prior(u.shape[1])
        bounds = 0.5 * ((u**2 / prior).sum(axis=1) + s.excess)
        for k, P in enumerate(s.P):
            shares = square(P, prior.size) / np.sqrt(np.outer(prior, prior))
            if np.linalg.eigvalsh(shares)[0] < MIN_SHARE:
                bounds[k] = np.inf
        return bounds

    def invariants(self, s, shared, t):
        diagonal = np.diagonal(triangle(s.w.shape[1])[2])
        yield "variances are not negative", s.P[:, diagonal] >= 0.0
        yield "no update is pending", (s.g == 0.0) & (s.root == 0.0) & (s.growth == 1.0)
        yield "distance >= 0", s.distance >= 0.0
        yield "noise >= 0", s.noise >= 0.0


class VovkAzouryWarmuth(OnlineNewton):
    r"""The forecaster of Vovk (2001) and of Azoury and Warmuth (2001).

    Recursive least squares whose predictions are divided by :math:`1 + q`, as if the
    row had been learned with a target of 0.
    """

    __slots__ = ()

    moderates = True

    def moderated(self, p, q, c):
        return p / (1.0 + c * q)

    def square_in_bound(self, y, p, error, flatness):
        return y * y - flatness * p * p


def of_matrices(s):
    """Return pairs of the number of a covariance matrix and the weights it is of."""
    size = len(s.w) // len(s.P)
    return [(k, s.w[k * size : (k + 1) * size]) for k in range(len(s.P))]


def apply_and_predict(learner, s, k, x):
    """Apply the pending update; predict the next row, and store its variance."""
    p = 0.0
    if k > 0 and learner.shared_covariance:
        add_multiple(s.g[k], s.v[0], s.w[k])
        p = inner(s.w[k], x)
        s.q[k] = s.q[0]
    else:
        p, q = move_and_multiply(
            s.w[k], s.P[k], s.v[k], s.g[k], s.root[k], s.growth[k], x, s.u[k]
        )
        s.q[k] = larger(q, 0.0)
    s.g[k] = s.root[k] = 0.0
    s.growth[k] = 1.0
    return p


def match_moments(loss, y, c, p, mode, q, variance):
    """Step along ``P x``, and share to take from `P`, that match two moments.

    The score is normal with mean `p` and variance `q` before the row; given the row,
    its density is multiplied by ``exp(-c loss)``. The quadrature is centred on the mode
    ``p + mode``, and scaled by `variance`.
    """
    at_mode, deviation = methods.value(loss, y, p + mode), np.sqrt(variance)
    total = first = second = 0.0
    for j in range(NODES.size):
        node = NODES[j]
        move = deviation * node
        fall = c * (at_mode - methods.value(loss, y, p + mode + move))
        fall -= 0.5 * move * (2.0 * mode + move) / q
        # Above 0 by rounding only.
        weight = NODE_WEIGHTS[j] * exp(smaller(fall, 0.0) + 0.5 * node * node)
        total += weight
        first += weight * move
        second += weight * move * move
    mean = first / total
    left = (second / total - mean * mean) / q
    return (mode + mean) / q, larger(1.0 - left, 0.0) / q


def defer_update(learner, s, k, g, h):
    """Store an update for the next row, see :class:`State`; `h` is `root` squared."""
    u, v = s.u[k], s.v[k]
    copy_into(u, v)
    s.g[k], s.root[k] = g, np.sqrt(h)
    if learner.forgetting > 0.0:
        left = trace(s.P[k], u.size) - h * inner(v, v)
        s.growth[k] = forget(learner, s, k, left)


def forget(learner, s, k, left):
    """Forget a share of the prior; return the factor of `P`, which has trace `left`."""
    growth = smaller(1.0 / (1.0 - learner.forgetting), s.initial_trace[k] / left)
    growth = larger(1.0, growth)
    s.prior_left[k] /= growth
    return growth
