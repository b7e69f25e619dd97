"""Slow references in plain Python, written straight from the papers' pseudo-code.

One row and one coordinate at a time, on lists of numbers; sums are plain sums over the
recorded trials. Nothing here is shared with the package. The equations are those of

M. Kempka, W. Kotłowski, M. K. Warmuth: Adaptive Scale-Invariant Online Algorithms for
Learning Linear Models, ICML 2019: Algorithms 1 and 2 (one output), 3 and 4 (several
outputs, Appendix G), Theorems 3.1, 3.2, G.1 and G.2.

N. Campolongo, F. Orabona: Temporal Variability in Implicit Online Learning, NeurIPS
2020: Algorithms 1 and 2, Theorem 5.2, and the gradient descent that they compare with.
Here the steps are solved by bisection in decimal numbers of `DIGITS` digits, so that
what is compared with them shows its own rounding errors only.

F. Orabona: Dimension-Free Exponentiated Gradient, NIPS 2013: Algorithm 1, Theorem 1.

J. de Vilmarest, O. Wintenberger: Stochastic Online Optimization using Kalman Recursion,
JMLR 22, 2021, with implicit steps; V. Vovk: Competitive On-line Statistics, 2001. Here
the inverse of the covariance is kept, and solved for.

K. Chen, J. Langford, F. Orabona: Better Parameter-Free Stochastic Optimization with ODE
Updates for Coin-Betting, AAAI 2022: CODE. Here the time is what is solved for.

W. M. Koolen: AdaFTRL, 2016; F. Orabona, D. Pál: Scale-Free Online Learning, 2016.

The papers' competitors are in `naive_competitors`.
"""

import copy
import decimal
import math
from decimal import Decimal

import numpy as np
from numpy import polynomial

from support.naive_competitors import COMPETITORS

DIGITS = 50
INFINITY = Decimal("Infinity")


class Loss:
    """A loss of one output. `value` and `gradient` take floats, or decimals."""

    lipschitz = 1.0

    def subdifferential(self, y, p):
        """The interval of all subgradients: one number, unless `p` is at a kink."""
        g = self.gradient(y, p)
        return g, g

    def minimisers(self, y):
        """The interval where the loss is smallest, in decimals."""
        return y, y


class Logistic(Loss):
    """ln(1 + exp(-yp)), y = +1 or -1."""

    def value(self, y, p):
        margin = y * p
        return log1p(exp(-abs(margin))) + max(0, -margin)

    def gradient(self, y, p):
        odds = exp(-abs(p))
        return -y / (1 + odds) if y * p <= 0 else -y * odds / (1 + odds)

    def minimisers(self, y):
        return y * INFINITY, y * INFINITY


class Hinge(Loss):
    """max(0, 1 - yp), y = +1 or -1."""

    def value(self, y, p):
        return max(0, 1 - y * p)

    def gradient(self, y, p):
        return -y if y * p <= 1 else 0

    def subdifferential(self, y, p):
        if y * p == 1:
            return min(-y, 0), max(-y, 0)
        return super().subdifferential(y, p)

    def minimisers(self, y):
        return (y, INFINITY) if y > 0 else (-INFINITY, y)


class SquaredHinge(Loss):
    """max(0, 1 - yp)^2 / 2, y = +1 or -1."""

    lipschitz = math.inf

    def value(self, y, p):
        return (1 - y * p) ** 2 / 2 if y * p < 1 else 0

    def gradient(self, y, p):
        return -y * max(0, 1 - y * p)

    def minimisers(self, y):
        return (y, INFINITY) if y > 0 else (-INFINITY, y)


class AbsoluteError(Loss):
    """|p - y|."""

    def value(self, y, p):
        return abs(p - y)

    def gradient(self, y, p):
        return sign(p - y)

    def subdifferential(self, y, p):
        return (1 if p > y else -1), (-1 if p < y else 1)


class SquaredError(Loss):
    """(p - y)^2 / 2."""

    lipschitz = math.inf

    def value(self, y, p):
        return (p - y) ** 2 / 2

    def gradient(self, y, p):
        return p - y


class Huber(Loss):
    """(p - y)^2 / 2 as far as |p - y| <= epsilon, from there on with slope epsilon."""

    def __init__(self, epsilon=0.1):
        self.epsilon = self.lipschitz = epsilon

    def value(self, y, p):
        residual, epsilon = abs(p - y), type(p)(self.epsilon)
        if residual <= epsilon:
            return residual**2 / 2
        return epsilon * residual - epsilon**2 / 2

    def gradient(self, y, p):
        epsilon = type(p)(self.epsilon)
        if abs(p - y) <= epsilon:
            return p - y
        return epsilon * sign(p - y)


class EpsilonInsensitive(Loss):
    """max(0, |p - y| - epsilon)."""

    def __init__(self, epsilon=0.1):
        self.epsilon = epsilon

    def value(self, y, p):
        return max(0, abs(p - y) - type(p)(self.epsilon))

    def gradient(self, y, p):
        return sign(p - y) if abs(p - y) > type(p)(self.epsilon) else 0

    def subdifferential(self, y, p):
        low, high = self.minimisers(y)
        return (
            (-1 if p <= low else 0 if p <= high else 1),
            (1 if p >= high else 0 if p >= low else -1),
        )

    def minimisers(self, y):
        return y - Decimal(self.epsilon), y + Decimal(self.epsilon)


class Quantile(Loss):
    """quantile * (y - p) below the target, (1 - quantile) * (p - y) above it."""

    def __init__(self, quantile=0.5):
        self.quantile = quantile
        self.lipschitz = max(quantile, 1 - quantile)

    def value(self, y, p):
        quantile = type(p)(self.quantile)
        return quantile * (y - p) if p < y else (1 - quantile) * (p - y)

    def gradient(self, y, p):
        quantile = type(p)(self.quantile)
        if p == y:
            return 0
        return -quantile if p < y else 1 - quantile

    def subdifferential(self, y, p):
        if p == y:
            return -type(p)(self.quantile), 1 - type(p)(self.quantile)
        return super().subdifferential(y, p)


class Separate:
    """The sum over the outputs of a loss of one output; y is a list of targets."""

    def __init__(self, loss):
        self.loss = loss
        self.lipschitz = loss.lipschitz

    def value(self, y, p):
        return sum(self.loss.value(y_k, p_k) for y_k, p_k in zip(y, p, strict=True))

    def gradient(self, y, p):
        return [self.loss.gradient(y_k, p_k) for y_k, p_k in zip(y, p, strict=True)]


class CrossEntropy:
    """ln sum_k exp(p_k) - p_y, where y is the index of a class."""

    lipschitz = 1.0

    def value(self, y, p):
        largest = max(p)
        return largest + math.log(sum(math.exp(p_k - largest) for p_k in p)) - p[y]

    def gradient(self, y, p):
        largest = max(p)
        total = sum(exp(p_k - largest) for p_k in p)
        return [exp(p_k - largest) / total - (k == y) for k, p_k in enumerate(p)]


#: By the names that the estimators give them.
LOSSES = {
    "log_loss": Logistic,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "absolute_error": AbsoluteError,
    "squared_error": SquaredError,
    "huber": Huber,
    "epsilon_insensitive": EpsilonInsensitive,
    "quantile": Quantile,
}


class ScInOL:
    """Base of ScInOL1 and ScInOL2.

    The paper takes a loss with Lipschitz constant 1. A row of weight c under a loss
    with Lipschitz constant L is the row L * c * x under a loss whose gradient is g / L;
    the prediction is that of the row itself.
    """

    def __init__(self, n_coordinates, n_outputs, loss, *, initial_wealth=1.0):
        self.loss = loss
        self.epsilon = initial_wealth
        self.t = 0
        self.M = [0.0] * n_coordinates
        self.G = matrix(n_coordinates, n_outputs, 0.0)
        self.S2 = matrix(n_coordinates, n_outputs, 0.0)
        # Units of the initial wealth: the first one, and that of the next row.
        self.start = self.unit = 1.0

    def predict(self, x, sample_weight):
        """The prediction of the row, were it the next one; nothing is stored."""
        algorithm = copy.deepcopy(self)
        algorithm.receive(self.scaled(x, sample_weight))
        return dot(algorithm.weights(), x)

    def at_rest(self, x, sample_weight):
        """The prediction of a row that each coordinate has seen."""
        return self.predict(x, sample_weight)

    def learn(self, x, y, sample_weight):
        """Learn from a row, return its prediction."""
        scaled = self.scaled(x, sample_weight)
        self.receive(scaled)
        p = dot(self.weights(), x)
        self.update(scaled, self.scaled_gradient(y, p))
        return p

    def set_unit(self, start, unit):
        """Set the unit of the initial wealth before a row."""
        growth = self.epsilon * (unit - self.unit)
        self.start, self.unit = start, unit
        for i, of_outputs in enumerate(self.G):
            for k in range(len(of_outputs)):
                self.add_wealth(i, k, growth)

    def scaled(self, x, sample_weight):
        return [self.loss.lipschitz * sample_weight * x_i for x_i in x]

    def scaled_gradient(self, y, p):
        return [g_k / self.loss.lipschitz for g_k in self.loss.gradient(y, p)]

    def weights(self):
        return [
            [self.weight(i, k) for k in range(len(row))] for i, row in enumerate(self.G)
        ]

    def regret_bound(self, u, trials):
        """Theorems 3.1, 3.2, G.1, G.2 from the recorded trials."""
        rows = [self.scaled(x, c) for x, c, _, _, _ in trials]
        gradients = [self.scaled_gradient(y, p) for _, _, y, p, _ in trials]
        total = 0.0
        for i in range(len(u)):
            x = [row[i] for row in rows]
            nonzero = [abs(x_t) for x_t in x if x_t != 0.0]
            if not nonzero:
                continue
            for k in range(len(u[i])):
                squares = sum(
                    (g[k] * x_t) ** 2 for g, x_t in zip(gradients, x, strict=True)
                )
                limit = self.bound(
                    u[i][k],
                    math.sqrt(squares + self.M[i] ** 2),
                    nonzero[0],
                    len(trials),
                    self.epsilon * self.start,
                    self.epsilon * (self.unit - self.start),
                )
                total += min(limit, self.linear_regret(u[i][k], i, k, len(trials)))
        return total

    def linear_regret(self, u, i, k, n_trials):
        """Regret on the losses' tangents, in one coordinate and output; or infinity."""
        return INFINITY


class ScInOL1(ScInOL):
    """Algorithms 1 and 3."""

    def __init__(self, n_coordinates, n_outputs, loss, **parameters):
        super().__init__(n_coordinates, n_outputs, loss, **parameters)
        self.beta = matrix(n_coordinates, n_outputs, self.epsilon)

    def receive(self, x):
        self.t += 1
        for i, x_i in enumerate(x):
            self.M[i] = max(self.M[i], abs(x_i))
            if x_i == 0.0:
                continue  # the convention c/0 = infinity
            for k in range(len(self.beta[i])):
                self.beta[i][k] = min(
                    self.beta[i][k],
                    self.epsilon
                    * self.unit
                    * (self.S2[i][k] + self.M[i] ** 2)
                    / (x_i**2 * self.t),
                )

    def add_wealth(self, i, k, growth):
        """Raise `beta` so that the potential grows by at most `growth`."""
        root = math.sqrt(self.S2[i][k] + self.M[i] ** 2)
        half = abs(self.G[i][k]) / root / 2.0 if root else 0.0
        potential = math.exp(half) - half - 1.0
        self.beta[i][k] += growth / max(potential, 1.0)

    def weight(self, i, k):
        root = math.sqrt(self.S2[i][k] + self.M[i] ** 2)
        if root == 0.0:
            return 0.0  # the convention 0/0 = 0
        theta = self.G[i][k] / root
        return (
            self.beta[i][k] * sign(theta) / (2.0 * root) * math.expm1(abs(theta) / 2.0)
        )

    def update(self, x, g):
        for i, x_i in enumerate(x):
            for k, g_k in enumerate(g):
                self.G[i][k] -= g_k * x_i
                self.S2[i][k] += (g_k * x_i) ** 2

    @staticmethod
    def bound(u, root, x_tau, n_trials, epsilon, added):
        """The term of one coordinate and output in Theorems 3.1 and G.1.

        The wealth that was added counts as much, and once where it was added.
        """
        u = abs(u)
        of_rows = (epsilon + added) * (1.0 + math.log(n_trials))
        return (
            2.0 * u * root * math.log(1.0 + 2.0 * u * root * n_trials / epsilon)
            + of_rows
            + added
        )


class ScInOL2(ScInOL):
    """Algorithms 2 and 4; in wide rows among the first 300, `M` grows by more."""

    def __init__(self, n_coordinates, n_outputs, loss, *, max_share=128, **parameters):
        super().__init__(n_coordinates, n_outputs, loss, **parameters)
        self.max_share = max_share
        self.eta = matrix(n_coordinates, n_outputs, self.epsilon)
        self.n_learned = 0

    def receive(self, x):
        for i, x_i in enumerate(x):
            self.M[i] = max(self.M[i], abs(x_i))

    def add_wealth(self, i, k, growth):
        self.eta[i][k] += growth

    def weight(self, i, k):
        root = math.sqrt(self.S2[i][k] + self.M[i] ** 2)
        if root == 0.0:
            return 0.0  # the convention 0/0 = 0
        theta = self.G[i][k] / root
        return sign(theta) * min(abs(theta), 1.0) / (2.0 * root) * self.eta[i][k]

    def update(self, x, g):
        for i, x_i in enumerate(x):
            for k, g_k in enumerate(g):
                w = self.weight(i, k)
                self.G[i][k] -= g_k * x_i
                self.S2[i][k] += (g_k * x_i) ** 2
                self.eta[i][k] -= g_k * x_i * w
        self.n_learned += 1
        share = sum(abs(x_i) / M for x_i, M in zip(x, self.M, strict=True) if M)
        if share > self.max_share and self.n_learned <= 300:
            for i, x_i in enumerate(x):
                self.M[i] = max(self.M[i], abs(x_i) * share / self.max_share)

    @staticmethod
    def bound(u, root, x_tau, n_trials, epsilon, added):
        """The term of one coordinate and output in Theorems 3.2 and G.2."""
        u = abs(u)
        if u == 0.0:
            return epsilon + added
        return (
            epsilon
            + added
            + 2.0 * u * root * (math.log(3.0 * u * root**3 / epsilon / x_tau**2) - 1.0)
        )

    def linear_regret(self, u, i, k, n_trials):
        return self.epsilon * self.unit - self.eta[i][k] + self.G[i][k] * u


class MirrorDescent:
    """Implicit updates and gradient descent: each output by itself, in a ball.

    A row of weight c is a row under the loss c * l. The state is in decimals.
    """

    def __init__(self, n_coordinates, n_outputs, loss, *, beta=1.0, radius=None):
        self.loss = loss
        self.beta = Decimal(beta)
        self.radius = INFINITY if radius is None else Decimal(radius)
        self.t = 0
        self.w = [[Decimal(0)] * n_coordinates for _ in range(n_outputs)]
        self.largest_norm = [Decimal(0)] * n_outputs
        self.lambda_ = [Decimal(0)] * n_outputs
        self.delta_sum = [Decimal(0)] * n_outputs

    def predict(self, x, sample_weight):
        """The prediction of the row, which does not depend on its weight."""
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            x = [Decimal(x_i) for x_i in x]
            return [float(inner(w_k, x)) for w_k in self.w]

    def learn(self, x, y, sample_weight):
        """Learn from a row, return its prediction."""
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            x = [Decimal(x_i) for x_i in x]
            p = [inner(w_k, x) for w_k in self.w]
            self.t += 1
            self.update(x, y, p, Decimal(sample_weight))
            self.largest_norm = [
                max(largest, inner(w_k, w_k).sqrt())
                for largest, w_k in zip(self.largest_norm, self.w, strict=True)
            ]
        return [float(p_k) for p_k in p]

    def at_rest(self, x, sample_weight):
        return dot(self.weights(), x)

    def weights(self):
        return [[float(w_ik) for w_ik in w_i] for w_i in zip(*self.w, strict=True)]

    def regret_bound(self, u, trials):
        """Theorem 5.2, its distances from u as large as they can have been."""
        total = 0.0
        for k, u_k in enumerate(zip(*u, strict=True)):
            norm = math.hypot(*u_k)
            if norm > float(self.radius) * (1 + 1e-12):
                return math.inf
            distance = norm + float(self.largest_norm[k])
            total += distance**2 / 2 * float(self.lambda_[k])
            total += float(self.delta_sum[k])
        return total


class Implicit(MirrorDescent):
    """Algorithms 1 and 2, whose `lambda_` differ."""

    def update(self, x, y, p, c):
        for k in range(len(p)):
            loss, y_k = self.loss.loss, Decimal(y[k])
            lambda_k = self.before_step(k, loss, x, y_k, p[k], c)
            self.w[k], delta = implicit_step(
                loss, self.w[k], x, y_k, c, lambda_k, self.radius
            )
            self.delta_sum[k] += delta
            self.lambda_[k] = self.after_step(lambda_k, delta)


class IOMD(Implicit):
    """Algorithm 1 with lambda_t = sqrt(t) / beta."""

    def before_step(self, k, loss, x, y, p, c):
        return Decimal(self.t).sqrt() / self.beta

    def after_step(self, lambda_, delta):
        return lambda_


class ConstantImplicit(IOMD):
    """IOMD with lambda = 1 / beta at all rows."""

    def before_step(self, k, loss, x, y, p, c):
        return 1 / self.beta


class AdaImplicit(Implicit):
    """Algorithm 2.

    Where a loss has no minimiser, the step of lambda = 0 is taken with the largest
    lambda that it could lead to.
    """

    def before_step(self, k, loss, x, y, p, c):
        if self.lambda_[k] > 0 or self.radius < INFINITY or not any(x):
            return self.lambda_[k]
        if loss.minimisers(y) == (y * INFINITY, y * INFINITY):
            return c * loss.value(y, p) / self.beta**2
        return self.lambda_[k]

    def after_step(self, lambda_, delta):
        return lambda_ + delta / self.beta**2


def implicit_step(loss, w, x, y, c, lambda_, radius):
    """The minimiser of c l(<w', x>) + lambda / 2 ||w' - w||^2 in the ball, and delta.

    Of several minimisers the one that is nearest to w.
    """
    if not any(x):
        return w, Decimal(0)
    if lambda_ == 0:
        new = nearest_minimiser(loss, w, x, y, radius)
    else:
        tau = subgradient(loss, w, x, y, c, lambda_, radius)
        new = projected(
            [w_i - tau / lambda_ * x_i for w_i, x_i in zip(w, x, strict=True)], radius
        )
    fall = loss.value(y, inner(w, x)) - loss.value(y, inner(new, x))
    change = [new_i - w_i for new_i, w_i in zip(new, w, strict=True)]
    delta = c * fall - lambda_ / 2 * inner(change, change)
    return new, max(Decimal(0), delta)


def subgradient(loss, w, x, y, c, lambda_, radius):
    """The tau that is a subgradient of c l at the prediction of w - tau / lambda x.

    That point is brought back to the ball first. It is the larger tau that has the
    smaller prediction and subgradients, and tau = 0 has those of w.
    """
    norm2, p, q = inner(w, w), inner(w, x), inner(x, x)
    low, high = loss.subdifferential(y, p)
    if low <= 0 <= high:
        return Decimal(0)
    low, high = min(c * low, Decimal(0)), max(c * high, Decimal(0))
    while high - low > Decimal("1e-30") * max(-low, high):
        tau = (low + high) / 2
        new_p = p - tau / lambda_ * q
        square = norm2 - 2 * tau / lambda_ * p + (tau / lambda_) ** 2 * q
        if square > radius**2:
            new_p *= radius / square.sqrt()
        smallest, largest = loss.subdifferential(y, new_p)
        if c * smallest > tau:
            low = tau
        elif c * largest < tau:
            high = tau
        else:
            return tau
    return (low + high) / 2


def nearest_minimiser(loss, w, x, y, radius):
    """Find the nearest w' in the ball that has the smallest loss."""
    p, q = inner(w, x), inner(x, x)
    low, high = loss.minimisers(y)
    reach = radius * q.sqrt()
    new_p = min(max(p, low), high)
    new_p = min(max(new_p, -reach), reach)
    new = [w_i + (new_p - p) / q * x_i for w_i, x_i in zip(w, x, strict=True)]
    if inner(new, new) <= radius**2:
        return new
    along = [new_p / q * x_i for x_i in x]
    across = [w_i - p / q * x_i for w_i, x_i in zip(w, x, strict=True)]
    room = max(Decimal(0), radius**2 - new_p**2 / q)
    length = (room / inner(across, across)).sqrt() if any(across) else Decimal(0)
    return [a_i + length * b_i for a_i, b_i in zip(along, across, strict=True)]


def projected(w, radius):
    """The point of the ball that is nearest to w."""
    norm = inner(w, w).sqrt()
    if norm <= radius:
        return w
    return [w_i * (radius / norm) for w_i in w]


class GradientDescent(MirrorDescent):
    """Steps along the gradient at the old weights, then back to the ball."""

    def update(self, x, y, p, c):
        if isinstance(self.loss, Separate):
            y = [Decimal(y_k) for y_k in y]
        for k, g in enumerate(self.loss.gradient(y, p)):
            gradient = [c * g * x_i for x_i in x]
            eta = self.step_size(k, gradient)
            if eta is None:
                continue
            self.lambda_[k] = 1 / eta
            self.delta_sum[k] += eta * inner(gradient, gradient) / 2
            new = [
                w_i - eta * g_i for w_i, g_i in zip(self.w[k], gradient, strict=True)
            ]
            self.w[k] = projected(new, self.radius)


class OGD(GradientDescent):
    """eta_t = beta / sqrt(t)."""

    def step_size(self, k, gradient):
        return self.beta / Decimal(self.t).sqrt()


class AdaOGD(GradientDescent):
    """eta_t = beta / sqrt(sum of ||g_s||^2 for s <= t); no step while the sum is 0."""

    def __init__(self, n_coordinates, n_outputs, loss, **parameters):
        super().__init__(n_coordinates, n_outputs, loss, **parameters)
        self.squares = [Decimal(0)] * n_outputs

    def step_size(self, k, gradient):
        self.squares[k] += inner(gradient, gradient)
        return self.beta / self.squares[k].sqrt() if self.squares[k] else None


class CODE(MirrorDescent):
    """Coin betting by an equation that is followed until a model of the loss is 0.

    That model is linear, and truncated at 0. Each output is by itself, in decimals. A
    row of weight c is a row under the loss c * l.
    """

    regret_bound = None

    def __init__(self, n_coordinates, n_outputs, loss):
        super().__init__(n_coordinates, n_outputs, loss)
        self.theta = [[Decimal(0)] * n_coordinates for _ in range(n_outputs)]
        self.H = [Decimal(1)] * n_outputs
        self.log_wealth = [Decimal(0)] * n_outputs

    def update(self, x, y, p, c):
        for k, p_k in enumerate(p):
            loss, y_k = self.loss.loss, Decimal(y[k])
            gradient = [c * loss.gradient(y_k, p_k) * x_i for x_i in x]
            value = c * loss.value(y_k, p_k)
            if any(gradient):
                self.follow(k, gradient, value)

    def follow(self, k, gradient, value):
        before = inner(gradient, self.after(k, gradient, Decimal(0))[-1])

        def model(h):
            return value + inner(gradient, self.after(k, gradient, h)[-1]) - before

        h = Decimal(1)
        if model(h) < 0:
            h = root(model, Decimal(0), h)
        state = self.after(k, gradient, h)
        self.theta[k], self.H[k], self.log_wealth[k], self.w[k] = state

    def after(self, k, gradient, h):
        """Sum of gradients, H, logarithm of the wealth and weights at the time h."""
        theta, H = self.theta[k], self.H[k]
        square, along = inner(gradient, gradient), inner(gradient, theta)
        new_H, growth = H + h * square, h * square / H
        # Of a small growth, 1 + growth has too few digits.
        log = growth - growth**2 / 2 if growth < Decimal("1e-20") else (1 + growth).ln()
        gain = h - (along + H) / square * log
        log_wealth = self.log_wealth[k] + gain
        theta = [a - h * g for a, g in zip(theta, gradient, strict=True)]
        factor = log_wealth.exp() / new_H
        return theta, new_H, log_wealth, [factor * theta_i for theta_i in theta]


def root(f, low, high):
    """Find where a falling function becomes negative, by regula falsi.

    Illinois: the value at an end that stays is halved.
    """
    f_low, f_high, last = f(low), f(high), 0
    while high - low > Decimal("1e-30") * high and f_low != 0:
        middle = (low * f_high - high * f_low) / (f_high - f_low)
        if not low < middle < high:
            middle = (low + high) / 2
        f_middle = f(middle)
        if abs(f_middle) < Decimal("1e-35") * abs(f_low - f_high):
            return middle
        if f_middle > 0:
            low, f_low = middle, f_middle
            f_high = f_high / 2 if last == 1 else f_high
            last = 1
        else:
            high, f_high = middle, f_middle
            f_low = f_low / 2 if last == -1 else f_low
            last = -1
    return low if f_low == 0 else high


class GradientSum:
    """Weights that are a multiple of theta, minus the sum of the gradients.

    A row of weight c is the row c * x under a loss whose gradient is g. Everything is
    computed from the list of the gradients so far, in decimals.
    """

    def __init__(self, n_coordinates, n_outputs, loss):
        self.loss = loss
        self.t = 0
        self.theta = [[Decimal(0)] * n_coordinates for _ in range(n_outputs)]
        # Of each output, the gradients; and the rows that they belong to.
        self.gradients = [[] for _ in range(n_outputs)]
        self.rows = []

    def predict(self, x, sample_weight):
        """The prediction of the row, were it the next one; nothing is stored."""
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            x = [Decimal(x_i) for x_i in x]
            scaled = [Decimal(sample_weight) * x_i for x_i in x]
            return [
                float(inner(self.weights_of(k, scaled), x))
                for k in range(len(self.theta))
            ]

    def learn(self, x, y, sample_weight):
        """Learn from a row, return its prediction."""
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            x = [Decimal(x_i) for x_i in x]
            scaled = [Decimal(sample_weight) * x_i for x_i in x]
            p = [inner(self.weights_of(k, scaled), x) for k in range(len(self.theta))]
            if isinstance(self.loss, Separate):
                y = [Decimal(y_k) for y_k in y]
            gradients = self.loss.gradient(y, p)
            self.t += 1
            self.rows.append(scaled)
            for k, g in enumerate(gradients):
                self.suffer(k, [g * x_i for x_i in scaled])
        return [float(p_k) for p_k in p]

    def at_rest(self, x, sample_weight):
        """The prediction of a row as if it were not there to change the weights."""
        return dot(self.weights(), x)

    def suffer(self, k, gradient):
        self.gradients[k].append(gradient)
        self.theta[k] = [a - b for a, b in zip(self.theta[k], gradient, strict=True)]

    def weights(self):
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            zero = [Decimal(0)] * len(self.theta[0])
            of_outputs = [self.weights_of(k, zero) for k in range(len(self.theta))]
        return [[float(w_ik) for w_ik in w_i] for w_i in zip(*of_outputs, strict=True)]

    def regret_bound(self, u, trials):
        u = [[Decimal(u_i) for u_i in u_k] for u_k in zip(*u, strict=True)]
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            return float(sum(self.bound(k, norm(u_k)) for k, u_k in enumerate(u)))


class DFEG(GradientSum):
    """Orabona (2013): Algorithm 1, and the bound of Theorem 1."""

    def __init__(self, n_coordinates, n_outputs, loss, *, a=0.882, delta=1.0):
        super().__init__(n_coordinates, n_outputs, loss)
        self.a, self.delta = Decimal(a), Decimal(delta)
        self.L = Decimal(loss.lipschitz)

    def H(self, rows):
        lengths = [norm(x) for x in rows]
        return self.delta + sum(self.L**2 * max(x, x**2) for x in lengths)

    def weights_of(self, k, x):
        theta, length = self.theta[k], norm(self.theta[k])
        if length == 0:
            return theta
        H = self.H([*self.rows, x])
        alpha, beta = self.a * H.sqrt(), H ** Decimal("1.5")
        factor = (length / alpha).exp() / beta / length
        return [factor * theta_i for theta_i in theta]

    def bound(self, k, u):
        if not self.rows:
            return Decimal(0)
        H = self.H(self.rows)
        constant = 4 * (1 + 1 / self.a).exp() / (self.L * self.delta.sqrt())
        if u == 0:
            return constant
        return constant + self.a * u * H.sqrt() * ((H ** Decimal("1.5") * u).ln() - 1)


class KernelGD(GradientSum):
    """Mirror descent, regularised by sqrt(t) / eta * ||w||^2 (Section 5)."""

    def __init__(self, n_coordinates, n_outputs, loss, *, beta=1.0, radius=None):
        super().__init__(n_coordinates, n_outputs, loss)
        self.eta = Decimal(beta)

    def weights_of(self, k, x):
        factor = self.eta / (2 * Decimal(self.t + 1).sqrt())
        return [factor * theta_i for theta_i in self.theta[k]]

    def bound(self, k, u):
        squares = sum(
            self.eta * inner(g, g) / (4 * Decimal(t).sqrt())
            for t, g in enumerate(self.gradients[k], start=1)
        )
        return Decimal(self.t).sqrt() / self.eta * u**2 + squares


class AdaFTRL(GradientSum):
    """Koolen (2016) with R(w) = ||w||^2 / 2 on a ball.

    The mix losses are the minima themselves, and the gaps their differences.
    """

    divisor = 1

    def __init__(self, n_coordinates, n_outputs, loss, *, radius=1.0):
        super().__init__(n_coordinates, n_outputs, loss)
        self.radius = Decimal(radius)
        self.D = self.radius**2 / 2
        self.gaps = [Decimal(0)] * n_outputs

    def eta(self, k):
        return self.divisor * self.D / self.gaps[k] if self.gaps[k] else INFINITY

    def leader(self, theta, eta):
        """The w of the ball that minimises R(w) / eta - <w, theta>."""
        if not any(theta):
            return theta
        if eta == INFINITY:
            return [self.radius / norm(theta) * theta_i for theta_i in theta]
        return projected([eta * theta_i for theta_i in theta], self.radius)

    def mix_loss(self, theta, eta):
        w = self.leader(theta, eta)
        return inner(w, w) / 2 / eta - inner(w, theta)

    def weights_of(self, k, x):
        return self.leader(self.theta[k], self.eta(k))

    def suffer(self, k, gradient):
        eta, before = self.eta(k), self.theta[k]
        loss = inner(self.leader(before, eta), gradient)
        super().suffer(k, gradient)
        mix = self.mix_loss(self.theta[k], eta) - self.mix_loss(before, eta)
        self.gaps[k] += max(Decimal(0), loss - mix)

    def bound(self, k, u):
        if u > self.radius * (1 + Decimal("1e-12")):
            return INFINITY
        squares = sum(inner(g, g) for g in self.gradients[k])
        largest = max((2 * self.radius * norm(g) for g in self.gradients[k]), default=0)
        return 2 * (self.D * squares).sqrt() + 2 * largest


class AdaFTRLOfOrabonaPal(AdaFTRL):
    """The regularisation and the constant of Orabona and Pál (2016)."""

    divisor = 16

    def bound(self, k, u):
        if u > self.radius * (1 + Decimal("1e-12")):
            return INFINITY
        squares = sum(inner(g, g) for g in self.gradients[k])
        return Decimal("5.3") * (self.D * squares).sqrt()


class OnlineNewton:
    """Implicit Newton steps; in decimals, with the inverse A of the covariance.

    A row of weight c is a row under the loss c * l.
    """

    def __init__(
        self,
        n_coordinates,
        n_outputs,
        loss,
        *,
        prior_scale=0.3,
        forgetting=0.0,
        moderate=False,
        vovk=False,
        center=False,
        fit_intercept=True,
        shared_covariance=False,
    ):
        self.loss = loss
        self.center, self.fit_intercept = center, fit_intercept
        self.shared_covariance = shared_covariance
        # Rows and their weights, and what is taken for the mean of their features.
        self.rows, self.mean = [], [Decimal(0)] * n_coordinates
        self.next_change = 1
        self.moderate, self.vovk = moderate, vovk
        self.row_weight = 1.0  # of the next row in means of features
        self.left = 1 - Decimal(forgetting)
        prior = [Decimal(prior_scale)] * n_coordinates
        if fit_intercept:
            prior[-1] = Decimal(max(prior_scale, 1.0))
        self.prior = prior
        self.w = [[Decimal(0)] * n_coordinates for _ in range(n_outputs)]
        self.A = [diagonal([1 / p for p in prior]) for _ in range(n_outputs)]
        self.prior_left = [Decimal(1)] * n_outputs
        # Weights and distances from the minimisers of the losses.
        self.distances = [[] for _ in range(n_outputs)]
        self.excess = [Decimal(0)] * n_outputs

    @property
    def has_bound(self):
        """For the squared error, whose steps are exact, if nothing is forgotten.

        No bound is known for rows that are centred.
        """
        of_output = getattr(self.loss, "loss", None)
        is_exact = isinstance(of_output, SquaredError) and self.left == 1
        return is_exact and not self.center

    def predict(self, x, sample_weight):
        """The prediction of the row, were it the next one; nothing is stored."""
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            return [float(p) for p in self.charged(x, Decimal(sample_weight))]

    def at_rest(self, x, sample_weight):
        if self.fit_intercept:
            return dot(self.weights(), x)
        return [float(inner(w_k, self.centred(x))) for w_k in self.w]

    def weights(self):
        """Return weights of rows as given; without an intercept, of centred rows."""
        w = [list(w_k) for w_k in self.w]
        if self.fit_intercept:
            for w_k in w:
                w_k[-1] -= inner(w_k[:-1], self.mean[:-1])
        return [[float(w_ik) for w_ik in w_i] for w_i in zip(*w, strict=True)]

    def centred(self, x):
        if self.center and not self.next_change > 1:  # the mean is not known yet
            x = [0.0] * (len(x) - self.fit_intercept) + [1.0] * self.fit_intercept
        return [Decimal(x_i) - m for x_i, m in zip(x, self.mean, strict=True)]

    def change_mean(self):
        """Go over to the mean of all rows; say the same of them in other coordinates.

        The inverse of the covariance less that of the prior, and its product with the
        weights, are sums over rows. Without an intercept rows stay what they were.
        """
        t = len(self.rows)
        self.next_change = t + max(1, t // 2)
        n = len(self.mean) - self.fit_intercept
        total = sum(c for _, c in self.rows)
        new = [sum(c * x[i] for x, c in self.rows) / total for i in range(n)]
        new += [Decimal(0)] * self.fit_intercept
        shift = [a - b for a, b in zip(self.mean, new, strict=True)]
        if t == 1:  # before, there were no coordinates
            shift = [Decimal(0)] * len(new)
        self.mean = new
        if not self.fit_intercept:
            return
        N = diagonal([Decimal(1)] * (n + 1))
        for i in range(n):
            N[i][n] = shift[i]
        for k, A in enumerate(self.A):
            prior = diagonal([self.prior_left[k] / p for p in self.prior])
            said = [inner(row, self.w[k]) for row in A]
            said = [inner(row, said) for row in N]
            data = [
                [a - b for a, b in zip(*rows, strict=True)]
                for rows in zip(A, prior, strict=True)
            ]
            half = [[inner(a, b) for b in data] for a in N]  # both are symmetric
            data = [[inner(a, b) for b in N] for a in half]
            self.A[k] = [
                [a + b for a, b in zip(*rows, strict=True)]
                for rows in zip(data, prior, strict=True)
            ]
            self.w[k] = solved(self.A[k], said)

    def charged(self, x, c):
        """Scores, divided by what their variances say."""
        x = self.centred(x)
        scores = []
        for w, A in zip(self.w, self.A, strict=True):
            q = inner(x, solved(A, x))
            s = inner(w, x)
            if self.moderate:
                s /= (1 + Decimal(math.pi) / 8 * q).sqrt()
            if self.vovk:
                s /= 1 + c * q
            scores.append(s)
        return scores

    def learn(self, x, y, sample_weight):
        """Learn from a row, return its prediction."""
        with decimal.localcontext(decimal.Context(prec=DIGITS)):
            c = Decimal(sample_weight)
            said = self.charged(x, c)
            row = [Decimal(x_i) for x_i in x]
            self.rows.append((row, Decimal(self.row_weight)))
            x = self.centred(x)
            ways = [solved(A, x) for A in self.A]
            s = [inner(w, x) for w in self.w]
            q = [inner(way, x) for way in ways]
            if isinstance(self.loss, CrossEntropy):
                steps = self.joint_steps(y, s, q, c)
            else:
                steps = [
                    self.separate_step(k, Decimal(y[k]), s[k], q[k], c)
                    for k in range(len(s))
                ]
            for k, (g, h) in enumerate(steps):
                self.w[k] = [
                    w - g * way for w, way in zip(self.w[k], ways[k], strict=True)
                ]
                self.A[k] = [
                    [a + h * x_i * x_j for a, x_j in zip(row, x, strict=True)]
                    for row, x_i in zip(self.A[k], x, strict=True)
                ]
                self.forget(k)
            if self.center and len(self.rows) == self.next_change:
                self.change_mean()
        return [float(p) for p in said]

    def forget(self, k):
        """Let the covariance grow, as long as its trace is below that of the prior."""
        n = len(self.prior)
        units = diagonal([Decimal(1)] * n)
        trace = sum(solved(self.A[k], units[i])[i] for i in range(n))
        growth = max(Decimal(1), min(1 / self.left, sum(self.prior) / trace))
        self.A[k] = [[a / growth for a in row] for row in self.A[k]]
        self.prior_left[k] /= growth

    def separate_step(self, k, y, s, q, c):
        """Derivative to go along, and curvature, of c times the loss."""
        if q == 0:
            return Decimal(0), Decimal(0)
        loss = self.loss.loss
        low, high = loss.minimisers(y)
        e = min(max(s, low), high) - s
        self.distances[k] = [(w * self.left, d) for w, d in self.distances[k]]
        self.distances[k].append((c, abs(e)))
        square = y**2 - s**2 / (1 + c * q) if self.vovk else (y - s) ** 2
        self.excess[k] += c * square * c * q / (1 + c * q)
        if isinstance(loss, (Hinge, AbsoluteError, EpsilonInsensitive, Quantile)):
            total = sum(weight for weight, _ in self.distances[k])
            mean = sum(weight * size for weight, size in self.distances[k]) / total
            if e == 0:
                return Decimal(0), Decimal(0)
            h = c * abs(loss.gradient(y, s)) / max(abs(e), mean / 2)
            return -h * e / (1 + h * q), h
        g = subgradient(loss, [s], [Decimal(1)], y, c, 1 / q, INFINITY)
        h = c * second_derivative(loss, y, s - q * g)
        if self.moderate and q > Decimal("0.01"):
            return self.matched(loss, y, c, s, q, s - q * g, q / (1 + h * q))
        return g, h

    def matched(self, loss, y, c, s, q, mode, variance):
        """Return the step that matches mean and variance of the score, given the row.

        By the quadrature with seven nodes, whose numbers are those of doubles.
        """
        nodes, shares = (
            [Decimal(float(a)) for a in part]
            for part in polynomial.hermite_e.hermegauss(7)
        )
        scores = [mode + variance.sqrt() * node for node in nodes]
        weights = [
            share * (node**2 / 2 - c * loss.value(y, z) - (z - s) ** 2 / (2 * q)).exp()
            for share, node, z in zip(shares, nodes, scores, strict=True)
        ]
        mean = inner(weights, scores) / sum(weights)
        left = inner(weights, [(z - mean) ** 2 for z in scores]) / sum(weights)
        h = 1 / left - 1 / q
        return (s - mean) / q, h

    def joint_steps(self, y, s, q, c):
        """Return the steps of all outputs, by Newton's method."""
        K = len(s)
        if not any(q):
            return [(Decimal(0), Decimal(0))] * K
        z = list(s)
        for _ in range(60):
            p = softmax(z)
            lack = [c * (p[k] - (k == y)) + (z[k] - s[k]) / q[k] for k in range(K)]
            hessian = [
                [c * p[k] * ((k == j) - p[j]) + ((k == j) / q[k]) for j in range(K)]
                for k in range(K)
            ]
            way = solved(hessian, lack)
            length = Decimal(1)
            while self.objective(
                y, [a - length * b for a, b in zip(z, way, strict=True)], s, q, c
            ) > self.objective(y, z, s, q, c) and length > Decimal("1e-30"):
                length /= 2
            z = [a - length * b for a, b in zip(z, way, strict=True)]
            if max(map(abs, way)) < Decimal("1e-25"):
                break
        curvatures = [c * p * (1 - p) for p in softmax(z)]
        if self.shared_covariance:
            curvatures = [sum(curvatures) / (K - 1)] * K
        return [((s[k] - z[k]) / q[k], h) for k, h in enumerate(curvatures)]

    def objective(self, y, z, s, q, c):
        largest = max(z)
        total = largest + sum((a - largest).exp() for a in z).ln() - z[y]
        return c * total + sum(
            (a - b) ** 2 / (2 * v) for a, b, v in zip(z, s, q, strict=True)
        )

    def regret_bound(self, u, trials):
        """Half the squared comparator plus half the excess."""
        total = sum(self.excess)
        for u_k in zip(*u, strict=True):
            total += sum(
                Decimal(u_i) ** 2 / p for u_i, p in zip(u_k, self.prior, strict=True)
            )
        return float(total / 2)


def second_derivative(loss, y, p):
    """Curvature of a loss; where it is straight, of the parabola with its minimum."""
    if isinstance(loss, Logistic):
        odds = (-abs(p)).exp()
        return odds / (1 + odds) ** 2
    if isinstance(loss, SquaredHinge):
        return Decimal(y * p < 1)
    if isinstance(loss, Huber):
        return Decimal(loss.epsilon) / max(abs(p - y), Decimal(loss.epsilon))
    return Decimal(1)


def softmax(z):
    odds = [(a - max(z)).exp() for a in z]
    return [a / sum(odds) for a in odds]


def diagonal(values):
    return [
        [value if i == j else Decimal(0) for j in range(len(values))]
        for i, value in enumerate(values)
    ]


def solved(A, b):
    """The solution of A x = b, by Gaussian elimination of a positive definite A."""
    rows = [[*row, b_i] for row, b_i in zip(A, b, strict=True)]
    n = len(rows)
    for i in range(n):
        for j in range(i + 1, n):
            share = rows[j][i] / rows[i][i]
            if share:
                rows[j] = [a - share * c for a, c in zip(rows[j], rows[i], strict=True)]
    x = [Decimal(0)] * n
    for i in reversed(range(n)):
        rest = rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))
        x[i] = rest / rows[i][i]
    return x


ALGORITHMS = {
    "code": CODE,
    "online_newton": OnlineNewton,
    "scinol1": ScInOL1,
    "scinol2": ScInOL2,
    "adaimplicit": AdaImplicit,
    "iomd": IOMD,
    "constant": ConstantImplicit,
    "ogd": OGD,
    "adaogd": AdaOGD,
    "dfeg": DFEG,
    "kernel_gd": KernelGD,
    "koolen": AdaFTRL,
    "orabona_pal": AdaFTRLOfOrabonaPal,
    **COMPETITORS,
}


def relative_to_means(weights):
    """Weights of rows relative to the mean up to each row; 0 stays 0."""
    found, learned = [], []
    for c in weights:
        learned += [c] if c > 0.0 else []
        found.append(c / (sum(learned) / len(learned)) if c > 0.0 else 0.0)
    return np.array(found)


class Weights:
    """Weights of rows relative to the first; a row without one has the smallest.

    `seen` are those that the algorithm sees, if they are relative `to_means` instead.
    """

    def __init__(self, to_means=False):
        self.unit, self.to_means = None, to_means
        self.relative, self.seen = [], []

    def learned(self, sample_weight):
        if self.unit is None:
            self.unit = float(sample_weight)
        c = sample_weight / self.unit
        self.seen.append(self.seen_next(c))
        self.relative.append(c)
        return c

    def seen_next(self, c):
        """Return the weight that the algorithm sees for the next row."""
        return relative_to_means([*self.relative, c])[-1] if self.to_means else c

    def units_of_wealth(self, *predicted):
        """The first unit of an initial wealth, and that of the last row."""
        relative, units = [*self.relative, *predicted], []
        for t, c in enumerate(relative[1:], start=1):
            capped = min(c, 4.0 * sum(relative[:t]) / t)
            units.append(max([*units[-1:], 2.0 ** math.ceil(math.log2(capped))]))
        return (units[0], units[-1]) if units else (1.0, 1.0)

    def predicted(self, sample_weight):
        if sample_weight is None:
            return min(self.relative, default=1.0)
        return sample_weight / (self.unit or float(sample_weight))

    def predicted_seen(self, sample_weight):
        if sample_weight is None:
            return min(self.seen, default=1.0)
        return self.seen_next(self.predicted(sample_weight))


class Model:
    """A linear model learned row by row by one of `ALGORITHMS`.

    Weights of rows are relative to the first. The intercept is a feature that is always
    1. With `center`, the learner is run on the rows minus their running mean (that row
    included). `average` is the first trial whose weights enter the average, 0 for none.
    Other parameters are the algorithm's.
    """

    def __init__(
        self,
        algorithm,
        loss,
        n_features,
        n_outputs=1,
        *,
        center=False,
        fit_intercept=True,
        average=0,
        **parameters,
    ):
        if algorithm == "online_newton":  # it centres by itself
            parameters |= {"fit_intercept": fit_intercept, "center": center}
            center = False
        self.algorithm = ALGORITHMS[algorithm](
            n_features + fit_intercept, n_outputs, loss, **parameters
        )
        self.loss = loss
        self.n_features = n_features
        self.n_outputs = n_outputs
        self.center = center
        self.fit_intercept = fit_intercept
        self.average = average
        self.mean = [0.0] * n_features
        has_bound = getattr(self.algorithm, "regret_bound", None) is not None
        has_bound &= getattr(self.algorithm, "has_bound", True)
        # No bound is known for rows that are centred.
        has_bound &= not center or isinstance(self.algorithm, ScInOL)
        self.weights = Weights(to_means=not has_bound)
        self.total_weight = 0.0
        # One entry a trial: the row as centred, its weight, its target, the prediction
        # that was charged for, the weights after the trial.
        self.trials = []

    def learn(self, x, y, sample_weight=1.0):
        """Learn from a row of positive weight, return the prediction charged for."""
        x, sample_weight = (
            [float(x_i) for x_i in x],
            self.weights.learned(sample_weight),
        )
        z = self._centred(x, sample_weight)
        if isinstance(self.algorithm, ScInOL):
            self.algorithm.set_unit(*self.weights.units_of_wealth())
        self.algorithm.row_weight = sample_weight  # of moments
        p = self.algorithm.learn(z, y, self.weights.seen[-1])

        self.total_weight += sample_weight
        if self.center:
            share = sample_weight / self.total_weight
            for i in range(self.n_features):
                self.mean[i] += (x[i] - self.mean[i]) * share
        self.trials.append((z, sample_weight, y, p, self.algorithm.weights()))
        return p

    def decision_function(self, x, sample_weight=None):
        """The prediction of the row, were it the next one; nothing is stored."""
        z = self._centred(x, self.weights.predicted(sample_weight))
        if self._averaging():
            return dot(self._average(), z)
        algorithm = self.algorithm
        if sample_weight is not None and isinstance(algorithm, ScInOL):
            algorithm = copy.deepcopy(algorithm)
            c = self.weights.predicted(sample_weight)
            algorithm.set_unit(*self.weights.units_of_wealth(c))
        return algorithm.predict(z, self.weights.predicted_seen(sample_weight))

    @property
    def coef(self):
        """Rows of coefficients, one an output, in the units of the rows given."""
        shrink = self._shrink(self.weights.predicted(None))
        weights = self._average() if self._averaging() else self.algorithm.weights()
        return [
            [weights[i][k] * shrink for i in range(self.n_features)]
            for k in range(self.n_outputs)
        ]

    @property
    def intercept(self):
        """One intercept an output, in the units of the rows given."""
        c = self.weights.predicted(None)
        z = self._centred(self.mean, c)
        if self._averaging():
            at_mean = dot(self._average(), z)
        else:
            at_mean = self.algorithm.at_rest(z, self.weights.predicted_seen(None))
        return [
            p - sum(c * m for c, m in zip(coef, self.mean, strict=True))
            for p, coef in zip(at_mean, self.coef, strict=True)
        ]

    @property
    def cumulative_loss(self):
        losses = [c * self.loss.value(y, p) for _, c, y, p, _ in self.trials]
        return self.weights.unit * sum(losses)

    @property
    def lambda_(self):
        """Inverse step size of each output, for implicit updates and OGD."""
        unit = self.weights.unit
        return [unit * float(lambda_k) for lambda_k in self.algorithm.lambda_]

    @property
    def delta_sum(self):
        """Part of each output's regret bound that does not depend on u."""
        unit = self.weights.unit
        return [unit * float(delta_k) for delta_k in self.algorithm.delta_sum]

    def regret_bound(self, coef, intercept):
        """The theorem's, with the parameters of the algorithm."""
        u = self._comparator(coef, intercept)
        return self.weights.unit * self.algorithm.regret_bound(u, self.trials)

    def _centred(self, x, sample_weight):
        z = [float(x_i) for x_i in x]
        if self.center:
            shrink = self._shrink(sample_weight)
            z = [(x_i - m) * shrink for x_i, m in zip(z, self.mean, strict=True)]
        return z + [1.0] * self.fit_intercept

    def _shrink(self, sample_weight):
        """What is left of the distance to the mean once the row is in the mean."""
        if not self.center:
            return 1.0
        return self.total_weight / (self.total_weight + sample_weight)

    def _averaging(self):
        return 0 < self.average <= len(self.trials)

    def _average(self):
        after = [trial[-1] for trial in self.trials[int(self.average) - 1 :]]
        return [
            [sum(w[i][k] for w in after) / len(after) for k in range(self.n_outputs)]
            for i in range(len(after[0]))
        ]

    def _comparator(self, coef, intercept):
        """The matrix of a comparator, coordinates by outputs."""
        u = [[coef[k][i] for k in range(self.n_outputs)] for i in range(len(coef[0]))]
        return u + [list(intercept)] * self.fit_intercept


class Additive(Model):
    """A :class:`Model` of features and of their bins.

    The learner's rows have a one-hot code of each feature after the features as they
    are given. Edges come from the first rows; those have no codes.
    """

    def __init__(
        self,
        algorithm,
        loss,
        n_features,
        n_outputs=1,
        *,
        n_samples,
        n_quantiles,
        **parameters,
    ):
        self.n_samples, self.n_quantiles = n_samples, n_quantiles
        self.first, self.edges = [], None
        self.n_bins = 2 * n_quantiles + 2
        n_columns = n_features * (1 + self.n_bins)
        super().__init__(algorithm, loss, n_columns, n_outputs, **parameters)
        self.n_features, self.mean = n_features, self.mean[:n_features]

    def learn(self, x, y, sample_weight=1.0):
        p = super().learn(x, y, sample_weight)
        if self.edges is None:
            self.first.append(list(x))
            if len(self.first) == self.n_samples:
                columns = zip(*self.first, strict=True)
                self.edges = [edges_of(values, self.n_quantiles) for values in columns]
        return p

    def _centred(self, x, sample_weight):
        z = super()._centred(x, sample_weight)
        return z[: self.n_features] + self.codes(x) + z[self.n_features :]

    def codes(self, x):
        """Zeros, and ones for the bins that a row is in."""
        codes = [0.0] * (len(x) * self.n_bins)
        for i, edges in enumerate(self.edges or ()):
            if edges:
                codes[i * self.n_bins + sum(edge < x[i] for edge in edges)] = 1.0
        return codes


def edges_of(values, n_quantiles):
    """Edges of the bins of a feature from its first values; NaN is none."""
    values = sorted(v for v in values if v == v)
    distinct = sorted(set(values))
    edges = set()
    if len(distinct) > 2:
        for ordered in (values, distinct):
            for k in range(1, n_quantiles + 1):
                edges.add(ordered[k * len(ordered) // (n_quantiles + 1)])
    return sorted(edge for edge in edges if edge < distinct[-1])


def matrix(n_rows, n_columns, value):
    return [[value] * n_columns for _ in range(n_rows)]


def dot(weights, x):
    """The predictions of all outputs, from a matrix of coordinates by outputs."""
    return [inner(column, x) for column in zip(*weights, strict=True)]


def inner(a, b):
    return sum(a_i * b_i for a_i, b_i in zip(a, b, strict=True))


def norm(a):
    return inner(a, a).sqrt()


def sign(a):
    return 1 if a > 0 else -1 if a < 0 else 0


def exp(a):
    return a.exp() if isinstance(a, Decimal) else math.exp(a)


def log1p(a):
    if not isinstance(a, Decimal):
        return math.log1p(a)
    # In the sum next to nothing would be left of so small a number.
    return a - a**2 / 2 + a**3 / 3 if a < Decimal("1e-17") else (1 + a).ln()


def clipped_rows(X, weights, ratio):
    """Rows with values of at most `ratio` times the largest of their feature before."""
    largest, rows = [0.0] * len(X[0]), []
    for x, weight in zip(X, weights, strict=True):
        row = list(x)
        for i, value in enumerate(x):
            if 0.0 < ratio * largest[i] < abs(value):
                row[i] = ratio * largest[i] * (1.0 if value > 0.0 else -1.0)
            if weight > 0.0:
                largest[i] = max(largest[i], abs(row[i]))
        rows.append(row)
    return rows
