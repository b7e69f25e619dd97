"""Implicit online Newton steps: a matrix of second order for each output."""

from operator import itemgetter
from typing import NamedTuple

import numpy as np

from .._portable import (
    clip_into,
    copy_into,
    exp,
    inner,
    inverse,
    larger,
    move_and_multiply,
    padded,
    portable,
    smaller,
    square,
    store_square,
    trace,
    triangle,
)
from ..losses import methods

__all__ = ["Change", "OnlineNewton", "VovkAzouryWarmuth"]


# Gauss-Hermite quadrature: the mean of a function of a standard normal variable.
NODES, SHARES = np.polynomial.hermite_e.hermegauss(7)
# With one of no share there are eight, which compiled code does four at a time.
NODES, SHARES = np.append(NODES, 0.0), np.append(SHARES / SHARES.sum(), 0.0)

#: Up to this variance of a prediction, the mode of its distribution is the mean.
NARROW = 0.01


class State(NamedTuple):
    """The first axis is that of outputs; vectors are padded with zeros.

    What a row teaches is known once it is learned, and goes into `w` and `P` when they
    are read for the next one: until then, `w` lacks ``g v``, and `P` lacks that the
    square of `root` times ``v v'`` is taken away and the rest multiplied by `growth`.
    """

    w: np.ndarray  # (K, n), weights
    P: np.ndarray  # (K, n_stored), their covariance: see `triangle`
    x: np.ndarray  # (K, n), the row at hand
    u: np.ndarray  # (K, n), P x of it
    v: np.ndarray  # (K, n), the same of the row before
    q: np.ndarray  # (K,), <x, P x>: the variance of a prediction
    g: np.ndarray  # (K,)
    root: np.ndarray  # (K,)
    growth: np.ndarray  # (K,)
    prior_left: np.ndarray  # (K,), what is not forgotten of the prior
    most: np.ndarray  # (K,), the trace of P before the first row
    step: np.ndarray  # (K,), room for a joint loss
    weight_sum: np.ndarray  # (K,), of the rows that the next three are means of
    distance: np.ndarray  # (K,), of predictions from the minimisers of their losses
    curvature: np.ndarray  # (K,)
    noise: np.ndarray  # (K,), squared errors over 1 + q
    excess: np.ndarray  # (K,), what the forecaster's bound has of the rows


class Change(NamedTuple):
    """Of the units of features and targets, and of their zeros.

    What was ``z`` is ``slope z + shift``, in either; a slope is 0 where the unit was
    not known before, and all values were taken to be alike.
    """

    slope: np.ndarray  # (n_features,)
    shift: np.ndarray  # (n_features,)
    target_slope: np.ndarray  # (K,)
    target_shift: np.ndarray  # (K,)
    unit_free: bool  # whether the loss in the new unit is that number of times smaller


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
    squares. Losses of straight pieces have no curvature: theirs is that of the parabola
    whose minimum is at the kink and that has the slope of the loss at the prediction,
    :math:`h = |\ell'(s)| / \max(|e|, e_0)`, with :math:`e` the distance from the
    minimum and :math:`e_0` half its mean so far. So is that of the Huber loss where it
    is straight, but at :math:`s'`, where no :math:`e_0` is needed.

    A joint loss has a matrix for each output, and one minimum for all :math:`s'`.

    If predictions are moderated, they are log odds, and the weights are taken for
    normal: :math:`w` and :math:`P` become the mean and the covariance given the row,
    for which :math:`s'` and :math:`h` are only where a quadrature is centred
    (assumed-density filtering).

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
    """

    prior_scale: float = 0.3
    forgetting: float = 0.0
    moderate: bool = False
    limit: float = np.inf
    fit_intercept: bool = True

    State = State
    parameters = {}
    scale_invariant = False
    bounded_gradients = False
    stays_finite = True
    keeps_first = False

    @property
    def moderates(self):
        """Whether what it says depends on the variance of a prediction."""
        return self.moderate

    def prior(self, n):
        """Diagonal of the covariance of `n` weights before the first row."""
        variances = np.full(n, self.prior_scale)
        if self.fit_intercept:
            variances[-1] = max(self.prior_scale, 1.0)
        return variances

    def initial_arrays(self, n_outputs, n_coordinates):
        """State before the first row."""
        rows, _, places = triangle(n_coordinates)
        P = np.zeros((n_outputs, rows.size))
        variances = self.prior(n_coordinates)
        P[:, np.diagonal(places)] = variances
        w, x, u, v = np.zeros((4, n_outputs, padded(n_coordinates)))
        numbers = np.zeros((len(State._fields) - 5, n_outputs))
        state = State(w, P, x, u, v, *numbers)
        state.growth[:] = state.prior_left[:] = 1.0
        state.most[:] = variances.sum()
        return state

    def score(self, s, k, x, t):
        """Prediction of the model itself; looks at the row's variance."""
        clipped = s.x[k]
        clip_into(x, self.limit, clipped)
        return look(self, s, k, clipped)

    def charged(self, s, k, p, c):
        """What the learner says where the model predicts `p`."""
        return self.moderated(p, s.q[k], c)

    def moderated(self, p, q, c):
        """The same, where `p` has the variance `q` and the row the weight `c`."""
        return p / np.sqrt(1.0 + np.pi / 8.0 * q) if self.moderate else p

    def learn_implicitly(self, s, k, loss, y, c, scale, p):
        """Learn from a loss of one output, of ``offset + spread * p``."""
        offset, spread, slope = scale
        unit, q = smaller(c * slope, methods.MAX_STEP) * spread, s.q[k]
        unit = smaller(unit, methods.MAX_STEP)
        if unit * q == 0.0:
            keep(self, s, k, 0.0, 0.0)
            return
        said = offset + spread * p
        s.weight_sum[k] = (1.0 - self.forgetting) * s.weight_sum[k] + c
        share = 1.0 / s.weight_sum[k]
        if loss.piecewise_linear:
            way = (methods.minimiser(loss, y, said) - said) / spread
            size = smaller(np.abs(way), methods.MAX_STEP)
            s.distance[k] += share * c * (size - s.distance[k])
            pull = c * slope * np.abs(methods.gradient(loss, y, said))
            h = pull / larger(size, larger(0.5 * s.distance[k], 1e-300))
            g = h * way / (1.0 + h * q)
        else:
            step = smaller(q * unit, methods.MAX_STEP)
            way, _ = methods.proximal(loss, y, said, step)
            g = way / (spread * q)
            h = unit * methods.stiffness(loss, y, said + way, -way / step)
        flatness, error = 1.0 / (1.0 + h * q), y - said
        taken = h * flatness
        if self.moderate and q > NARROW:
            g, taken = matched(loss, y, c, p, g * q, q, q * flatness)
        s.curvature[k] += share * (h - c * s.curvature[k])
        s.noise[k] += share * c * (error * error * flatness - s.noise[k])
        s.excess[k] += c * y * y * (h * q * flatness)
        keep(self, s, k, g, taken)

    def learn_jointly(self, s, loss, y, c, p):
        """Learn from a loss of all outputs."""
        for k in range(p.size):
            s.step[k] = smaller(c * s.q[k], methods.MAX_STEP)
        methods.row_proximal(loss, y, p, s.step, s.g)
        for k in range(p.size):
            s.step[k] = p[k] - s.step[k] * s.g[k]
        methods.row_curvature(loss, y, s.step, s.root)
        for k in range(p.size):
            h = c * s.root[k]
            keep(self, s, k, -c * s.g[k], h / (1.0 + h * s.q[k]))

    def settle(self, s):
        """Let `w` and `P` lack nothing, and forget the row."""
        s.x[:] = 0.0
        for k in range(s.w.shape[0]):
            look(self, s, k, s.x[k])
        s.u[:] = 0.0
        s.v[:] = 0.0
        s.q[:] = 0.0
        s.step[:] = 0.0

    def weights(self, s, t):
        """Weights of the next row."""
        return s.w

    def covariances(self, s, n):
        """Of the `n` weights of each output, a list of matrices."""
        return [square(P, n) for P in s.P]

    def change_units(self, s, change):
        """Let the state be that of the same rows in other units, with the same prior.

        What the rows say of the weights is the inverse of their covariance, less that
        of the prior, and its product with the weights; both are linear in the rows.
        """
        n, left = change.slope.size + self.fit_intercept, s.prior_left
        prior = self.prior(n)
        # What was a row z is slope z + shift times the intercept's 1, which is last.
        slope, shift = np.ones(n), np.zeros(n)
        copy_into(change.slope, slope)
        if self.fit_intercept:
            copy_into(change.shift, shift)
        for k in range(s.w.shape[0]):
            of_target, weight = change.target_slope[k], 1.0
            if change.unit_free:
                weight = 1.0 / of_target if of_target > 0.0 else 0.0
            A, said = inverse(square(s.P[k], n)), np.empty(n)
            for i in range(n):
                said[i] = inner(A[i], s.w[k, :n])
                A[i, i] -= left[k] / prior[i]
            said = weight * of_target * (slope * said + shift * said[-1])
            for i in range(n):
                row = weight * slope[i] * A[i] + weight * shift[i] * A[-1]
                copy_into(row * slope + row[-1] * shift, A[i])
            if self.fit_intercept:
                said += change.target_shift[k] * A[:, -1]
            for i in range(n):
                if A[i, i] < 0.0:
                    A[i, i] = 0.0
                A[i, i] += left[k] / prior[i]
            P, w = inverse(A), s.w[k, :n]
            for i in range(n):
                w[i] = inner(P[i], said)
            if not (np.isfinite(w).all() and np.isfinite(P).all()):
                # Of values that far apart rounding has left nothing: begin again.
                w[:], P[:], left[k] = 0.0, 0.0, 1.0
                for i in range(n):
                    P[i, i] = prior[i]
            store_square(P, s.P[k])
            s.distance[k] *= of_target
            s.curvature[k] *= weight

    def merged(self, s, shared, w, x, t):
        """State that has learned what several have, in the same units.

        `s` has each with what it began with. What rows say of the weights adds up: the
        inverse of the covariance, less that of the prior, and its product with the
        weights. New weights follow from these, whatever `w` is.
        """
        n = w.shape[1]
        pairs, s = s, s.of(itemgetter(0))
        left = s.prior_left.mean()

        def difference(pair):
            learned, began = (self._information(each, n) for each in pair)
            return learned - began

        information = pairs.of(difference).sum(1) + self._information(s.start, n)
        merged = State(*self.initial_arrays(len(w), n))
        self._take_information(merged, information, left)
        merged.excess[:] = s.excess.sum()
        merged.weight_sum[:] = larger(s.weight_sum.sum(1), 0.0)
        of_all = np.where(merged.weight_sum > 0.0, merged.weight_sum, 1.0)
        for name in "distance", "curvature", "noise":
            total = s.of(lambda s, name=name: s.weight_sum * getattr(s, name)).sum(1)
            getattr(merged, name)[:] = larger(total / of_all, 0.0)
        return merged, None

    def _information(self, s, n):
        """What rows have said of `n` weights: shape (n_outputs, n + 1, n)."""
        information = np.empty((len(s.w), n + 1, n))
        for k, of_output in enumerate(information):
            A = inverse(square(s.P[k], n))
            of_output[n] = A @ s.w[k, :n]
            of_output[:n] = A - np.diag(s.prior_left[k] / self.prior(n))
        return information

    def _take_information(self, s, information, left):
        """Let weights and covariances be those that follow, with what is left of prior.

        `s` is changed.
        """
        n = information.shape[2]
        for k, of_output in enumerate(information):
            A = of_output[:n]
            A.flat[:: n + 1] = larger(A.flat[:: n + 1], 0.0) + left[k] / self.prior(n)
            P = inverse(A)
            s.w[k, :n] = P @ of_output[n]
            store_square(P, s.P[k])
        s.prior_left[:] = left

    def with_columns(self, s, forward):
        """State of rows that are multiplied by a matrix, as if learned so."""
        n, placed = len(forward), State(*(array.copy() for array in s))
        information = self._information(s, n) @ forward.T
        of_rows = forward @ information[:, :n]
        information = np.concatenate([of_rows, information[:, n:]], axis=1)
        self._take_information(placed, information, s.prior_left)
        return placed

    def invariants(self, s, shared, t):
        """What holds after `t` rows."""
        diagonal = np.diagonal(triangle(s.w.shape[1])[2])
        yield "variances are not negative", s.P[:, diagonal] >= 0.0
        yield "nothing is lacking", (s.g == 0.0) & (s.root == 0.0) & (s.growth == 1.0)
        yield "distance >= 0", s.distance >= 0.0
        yield "noise >= 0", s.noise >= 0.0
        yield "excess >= 0", s.excess >= 0.0


class VovkAzouryWarmuth(OnlineNewton):
    r"""The forecaster of Vovk (2001) and of Azoury and Warmuth (2001).

    Recursive least squares whose predictions are divided by :math:`1 + q`: the row has
    a part in its own prediction, as if its target were 0.
    """

    __slots__ = ()

    moderates = True

    def moderated(self, p, q, c):
        """What it says where the model predicts `p`."""
        return p / (1.0 + c * q)

    def regret_bound(self, s, shared, u, t, first):
        """Halves of the squared comparator in the prior's metric, and of the excess."""
        squares = (u**2 / self.prior(u.shape[1])).sum(axis=1)
        return 0.5 * (squares + s.excess)


@portable
def look(learner, s, k, x):
    """Take the row before into the state; prediction and variance of the next one."""
    p, q = move_and_multiply(
        s.w[k], s.P[k], s.v[k], s.g[k], s.root[k], s.growth[k], x, s.u[k]
    )
    s.q[k] = larger(q, 0.0)
    s.g[k] = s.root[k] = 0.0
    s.growth[k] = 1.0
    return p


@portable
def matched(loss, y, c, p, way, q, variance):
    """How far to go along ``P x``, and what to take from `P`, to match two moments.

    The score has mean `p` and variance `q` before the row; given the row, its density
    is that times ``exp(-c loss)``. It is integrated as if around its mode, at ``p +
    way``, it were normal with that variance but for a factor.
    """
    at_mode, deviation = methods.value(loss, y, p + way), np.sqrt(variance)
    total = first = second = 0.0
    for j in range(NODES.size):
        node = NODES[j]
        move = deviation * node
        fall = c * (at_mode - methods.value(loss, y, p + way + move))
        fall -= 0.5 * move * (2.0 * way + move) / q
        # It is at most 0, by rounding as well.
        weight = SHARES[j] * exp(smaller(fall, 0.0) + 0.5 * node * node)
        total += weight
        first += weight * move
        second += weight * move * move
    mean = first / total
    left = (second / total - mean * mean) / q
    return (way + mean) / q, larger(1.0 - left, 0.0) / q


@portable
def keep(learner, s, k, g, h):
    """Keep for the next row what to do: see :class:`State`, with the root of `h`."""
    u, v = s.u[k], s.v[k]
    copy_into(u, v)
    s.g[k], s.root[k] = g, np.sqrt(h)
    if learner.forgetting > 0.0:
        left = trace(s.P[k], u.size) - h * inner(v, v)
        growth = smaller(1.0 / (1.0 - learner.forgetting), s.most[k] / left)
        s.growth[k] = larger(1.0, growth)
        s.prior_left[k] /= s.growth[k]
