"""Slow references, written straight from the papers' pseudo-code.

One row at a time, most in decimals, of which there are arrays, too; sums are plain sums
over the recorded trials. Nothing here is shared with the package. The equations are of

M. Kempka, W. Kotłowski, M. K. Warmuth: Adaptive Scale-Invariant Online Algorithms for
Learning Linear Models, ICML 2019: Algorithms 1 and 2 (one output), 3 and 4 (several
outputs, Appendix G), Theorems 3.1, 3.2, G.1 and G.2.

N. Campolongo, F. Orabona: Temporal Variability in Implicit Online Learning, NeurIPS
2020: Algorithms 1 and 2, Theorem 5.2, and the gradient descent that they compare with.
Here the steps are solved by bisection in decimal numbers of `DIGITS` digits, so that
what is compared with them shows its own rounding errors only.

F. Orabona: Dimension-Free Exponentiated Gradient, NIPS 2013: Algorithm 1, Theorem 1.

J. de Vilmarest, O. Wintenberger: Stochastic Online Optimization using Kalman Recursion,
JMLR 22, 2021, with implicit steps. Here the inverse of the covariance is kept, and
solved for.

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
from scipy.special import xlogy

from support.naive_competitors import COMPETITORS, ByCoordinate, column, positive

DIGITS = 50
INFINITY = Decimal("Infinity")

#: Arrays of decimals.
decimals = np.vectorize(Decimal, otypes=[object])


def in_decimals():
    return decimal.localcontext(decimal.Context(prec=DIGITS))


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


class AbsoluteError(EpsilonInsensitive):
    """|p - y|."""

    def __init__(self):
        super().__init__(0.0)


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


class ScInOL(ByCoordinate):
    """Base of ScInOL1 and ScInOL2; the paper has a loss with Lipschitz constant 1."""

    takes_unit_lipschitz = True

    def __init__(self, *given, initial_wealth=1.0):
        super().__init__(*given)
        self.epsilon = initial_wealth
        self.M = np.zeros((self.shape[0], 1))
        self.G, self.S2 = np.zeros((2, *self.shape))
        # Units of the initial wealth: the first one, and that of the next row.
        self.start = self.unit = 1.0

    def set_unit(self, start, unit):
        """Set the unit of the initial wealth before a row."""
        growth = self.epsilon * (unit - self.unit)
        self.start, self.unit = start, unit
        self.add_wealth(growth)

    def receive(self, x):
        super().receive(x)
        self.M = np.maximum(self.M, np.abs(column(x)))

    def step(self, gradient):
        self.G -= gradient
        self.S2 += gradient**2

    @property
    def root(self):
        return positive(np.sqrt(self.S2 + self.M**2))  # the convention 0/0 = 0

    def regret_bound(self, u, trials):
        """Theorems 3.1, 3.2, G.1, G.2 from the recorded trials."""
        rows = np.array([self.scaled(x, c) for x, c, *_ in trials])
        gradients = np.array([self.loss.gradient(y, p) for *_, y, p, _ in trials])
        squares = (rows**2).T @ (gradients / self.lipschitz) ** 2
        seen = rows.any(axis=0)
        x_tau = np.abs(rows[(rows != 0.0).argmax(axis=0), np.arange(len(seen))])
        limit = self.bound(
            np.abs(u),
            np.sqrt(squares + self.M**2),
            positive(column(x_tau)),
            len(trials),
            self.epsilon * self.start,
            self.epsilon * (self.unit - self.start),
        )
        return np.minimum(limit, self.linear_regret(np.array(u)))[seen].sum()

    def linear_regret(self, u):
        """Regret on the losses' tangents, in one coordinate and output; or infinity."""
        return np.inf


class ScInOL1(ScInOL):
    """Algorithms 1 and 3."""

    def __init__(self, *given, **parameters):
        super().__init__(*given, **parameters)
        self.beta = np.full(self.shape, self.epsilon)

    @np.errstate(divide="ignore", invalid="ignore")
    def receive(self, x):
        super().receive(x)
        limit = self.epsilon * self.unit * (self.S2 + self.M**2)
        # The convention c/0 = infinity.
        self.beta = np.fmin(self.beta, limit / (column(x) ** 2 * self.t))

    def add_wealth(self, growth):
        """Raise `beta` so that the potential grows by at most `growth`."""
        half = np.abs(self.G) / self.root / 2.0
        self.beta += growth / np.maximum(np.exp(half) - half - 1.0, 1.0)

    def received_weights(self):
        theta = self.G / self.root
        factor = self.beta * np.sign(theta) / (2.0 * self.root)
        return factor * np.expm1(np.abs(theta) / 2.0)

    @staticmethod
    def bound(u, root, x_tau, n_trials, epsilon, added):
        """The term of one coordinate and output in Theorems 3.1 and G.1.

        The wealth that was added counts as much, and once where it was added.
        """
        of_rows = (epsilon + added) * (1.0 + math.log(n_trials))
        logarithm = np.log(1.0 + 2.0 * u * root * n_trials / epsilon)
        return 2.0 * u * root * logarithm + of_rows + added


class ScInOL2(ScInOL):
    """Algorithms 2 and 4; in wide rows among the first 300, `M` grows by more."""

    def __init__(self, *given, max_share=128, **parameters):
        super().__init__(*given, **parameters)
        self.max_share = max_share
        self.eta = np.full(self.shape, self.epsilon)
        self.n_learned = 0

    def add_wealth(self, growth):
        self.eta += growth

    def received_weights(self):
        return np.clip(self.G / self.root, -1.0, 1.0) / (2.0 * self.root) * self.eta

    def update(self, x, g):
        self.eta -= np.outer(x, g) * self.received_weights()
        super().update(x, g)
        self.n_learned += 1
        size = np.abs(column(x))
        share = np.sum(size / positive(self.M))
        if share > self.max_share and self.n_learned <= 300:
            self.M = np.maximum(self.M, size * share / self.max_share)

    @staticmethod
    def bound(u, root, x_tau, n_trials, epsilon, added):
        """The term of one coordinate and output in Theorems 3.2 and G.2."""
        of_u = xlogy(u, 3.0 * u * root**3 / epsilon / x_tau**2) - u
        return epsilon + added + 2.0 * root * of_u

    def linear_regret(self, u):
        return self.epsilon * self.unit - self.eta + self.G * u


class InDecimals:
    """Base of algorithms whose state is in decimals; `w` has a row for each output.

    A row of weight c is a row under the loss c * l.
    """

    def __init__(self, n_coordinates, n_outputs, loss):
        self.loss, self.t = loss, 0
        self.w = decimals(np.zeros((n_outputs, n_coordinates)))

    def predict(self, x, sample_weight):
        """The prediction of the row, were it the next one; nothing is stored."""
        with in_decimals():
            return self.charged(decimals(x), Decimal(sample_weight)).astype(float)

    def learn(self, x, y, sample_weight):
        """Learn from a row, return its prediction."""
        with in_decimals():
            x, c = decimals(x), Decimal(sample_weight)
            p = self.charged(x, c)
            self.t += 1
            y = y if isinstance(self.loss, CrossEntropy) else decimals(y)
            self.update(x, y, p, c)
        return p.astype(float)

    def charged(self, x, c):
        return self.w @ x

    def at_rest(self, x, sample_weight):
        """The prediction of a row as if it were not there to change the weights."""
        return x @ self.weights()

    def weights(self):
        return self.w.T.astype(float)


class MirrorDescent(InDecimals):
    """Implicit updates and gradient descent: each output by itself, in a ball."""

    def __init__(self, *given, beta=1.0, radius=None):
        super().__init__(*given)
        self.beta = Decimal(beta)
        self.radius = INFINITY if radius is None else Decimal(radius)
        self.largest_norm, self.lambda_, self.delta_sum = decimals(
            np.zeros((3, len(self.w)))
        )

    def update(self, x, y, p, c):
        self.move(x, y, p, c)
        norms = np.array([norm(w_k) for w_k in self.w])
        self.largest_norm = np.maximum(self.largest_norm, norms)

    def regret_bound(self, u, trials):
        """Theorem 5.2, its distances from u as large as they can have been."""
        norms = np.linalg.norm(u, axis=0)
        if (norms > float(self.radius) * (1 + 1e-12)).any():
            return math.inf
        distances = norms + self.largest_norm.astype(float)
        return np.sum(distances**2 / 2 * self.lambda_.astype(float)) + float(
            self.delta_sum.sum()
        )


class Implicit(MirrorDescent):
    """Algorithms 1 and 2, whose `lambda_` differ."""

    def move(self, x, y, p, c):
        loss = self.loss.loss
        for k, p_k in enumerate(p):
            lambda_k = self.before_step(k, loss, x, y[k], p_k, c)
            self.w[k], delta = implicit_step(
                loss, self.w[k], x, y[k], c, lambda_k, self.radius
            )
            self.delta_sum[k] += delta
            self.lambda_[k] = self.after_step(lambda_k, delta)

    def after_step(self, lambda_, delta):
        return lambda_


class IOMD(Implicit):
    """Algorithm 1 with lambda_t = sqrt(t) / beta."""

    def before_step(self, k, loss, x, y, p, c):
        return Decimal(self.t).sqrt() / self.beta


class ConstantImplicit(Implicit):
    """Algorithm 1 with lambda = 1 / beta at all rows."""

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
    w, x = np.array(w), np.array(x)
    if not any(x):
        return w, Decimal(0)
    if lambda_ == 0:
        new = nearest_minimiser(loss, w, x, y, radius)
    else:
        tau = subgradient(loss, w, x, y, c, lambda_, radius)
        new = projected(w - tau / lambda_ * x, radius)
    fall = loss.value(y, w @ x) - loss.value(y, new @ x)
    delta = c * fall - lambda_ / 2 * ((new - w) @ (new - w))
    return new, max(Decimal(0), delta)


def subgradient(loss, w, x, y, c, lambda_, radius):
    """The tau that is a subgradient of c l at the prediction of w - tau / lambda x.

    That point is brought back to the ball first. It is the larger tau that has the
    smaller prediction and subgradients, and tau = 0 has those of w.
    """
    norm2, p, q = w @ w, w @ x, x @ x
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
    p, q = w @ x, x @ x
    low, high = loss.minimisers(y)
    reach = radius * q.sqrt()
    new_p = min(max(p, low), high)
    new_p = min(max(new_p, -reach), reach)
    new = w + (new_p - p) / q * x
    if new @ new <= radius**2:
        return new
    across = w - p / q * x
    room = max(Decimal(0), radius**2 - new_p**2 / q)
    length = (room / (across @ across)).sqrt() if any(across) else Decimal(0)
    return new_p / q * x + length * across


def projected(w, radius):
    """The point of the ball that is nearest to w."""
    return w if norm(w) <= radius else w * (radius / norm(w))


class GradientDescent(MirrorDescent):
    """Steps along the gradient at the old weights, then back to the ball."""

    def move(self, x, y, p, c):
        for k, g in enumerate(self.loss.gradient(y, p)):
            gradient = c * g * x
            eta = self.step_size(k, gradient)
            if eta is None:
                continue
            self.lambda_[k] = 1 / eta
            self.delta_sum[k] += eta * (gradient @ gradient) / 2
            self.w[k] = projected(self.w[k] - eta * gradient, self.radius)


class OGD(GradientDescent):
    """eta_t = beta / sqrt(t)."""

    def step_size(self, k, gradient):
        return self.beta / Decimal(self.t).sqrt()


class AdaOGD(GradientDescent):
    """eta_t = beta / sqrt(sum of ||g_s||^2 for s <= t); no step while the sum is 0."""

    def __init__(self, *given, **parameters):
        super().__init__(*given, **parameters)
        self.squares = [Decimal(0)] * len(self.w)

    def step_size(self, k, gradient):
        self.squares[k] += gradient @ gradient
        return self.beta / self.squares[k].sqrt() if self.squares[k] else None


class CODE(InDecimals):
    """Coin betting by an equation that is followed until a model of the loss is 0.

    That model is linear, and truncated at 0. Each output is by itself.
    """

    def __init__(self, n_coordinates, n_outputs, loss):
        super().__init__(n_coordinates, n_outputs, loss)
        self.theta = self.w.copy()
        self.H = [Decimal(1)] * n_outputs
        self.log_wealth = [Decimal(0)] * n_outputs

    def update(self, x, y, p, c):
        loss = self.loss.loss
        for k, p_k in enumerate(p):
            gradient = c * loss.gradient(y[k], p_k) * x
            if any(gradient):
                self.follow(k, gradient, c * loss.value(y[k], p_k))

    def follow(self, k, gradient, value):
        before = gradient @ self.after(k, gradient, Decimal(0))[-1]

        def model(h):
            return value + gradient @ self.after(k, gradient, h)[-1] - before

        h = Decimal(1)
        if model(h) < 0:
            h = root(model, Decimal(0), h)
        state = self.after(k, gradient, h)
        self.theta[k], self.H[k], self.log_wealth[k], self.w[k] = state

    def after(self, k, gradient, h):
        """Sum of gradients, H, logarithm of the wealth and weights at the time h."""
        theta, H = self.theta[k], self.H[k]
        square, along = gradient @ gradient, gradient @ theta
        new_H = H + h * square
        gain = h - (along + H) / square * log1p(h * square / H)
        log_wealth = self.log_wealth[k] + gain
        theta = theta - h * gradient
        return theta, new_H, log_wealth, log_wealth.exp() / new_H * theta


def root(f, low, high):
    """Find where a falling function becomes negative, by bisection."""
    while high - low > Decimal("1e-30") * high:
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return low


class GradientSum(InDecimals):
    """Weights that are a multiple of theta, minus the sum of the gradients.

    A row of weight c is the row c * x under a loss whose gradient is g. Everything is
    computed from the list of the gradients so far.
    """

    def __init__(self, n_coordinates, n_outputs, loss):
        super().__init__(n_coordinates, n_outputs, loss)
        self.theta = self.w
        # Of each output, the gradients; and the rows that they belong to.
        self.gradients = [[] for _ in range(n_outputs)]
        self.rows = []

    def charged(self, x, c):
        return np.array([self.weights_of(k, c * x) @ x for k in range(len(self.theta))])

    def weights_of(self, k, x):
        norms = [norm(row) for row in (*self.rows, x)]
        return self.factor(norm(self.theta[k]), norms) * self.theta[k]

    def update(self, x, y, p, c):
        self.rows.append(c * x)
        for k, g in enumerate(self.loss.gradient(y, p)):
            self.suffer(k, g * c * x)

    def suffer(self, k, gradient):
        self.gradients[k].append(gradient)
        self.theta[k] = self.theta[k] - gradient

    def weights(self):
        with in_decimals():
            zero = 0 * self.theta[0]
            of_outputs = [self.weights_of(k, zero) for k in range(len(self.theta))]
        return np.array(of_outputs, dtype=float).T

    def regret_bound(self, u, trials):
        with in_decimals():
            norms = [norm(x) for x in self.rows]
            outputs = zip(decimals(u).T, self.gradients, strict=True)
            return float(sum(self.bound(norm(u_k), norms, g) for u_k, g in outputs))


class DFEG(GradientSum):
    """Orabona (2013): Algorithm 1, and the bound of Theorem 1."""

    def __init__(self, *given, a=0.882, delta=1.0):
        super().__init__(*given)
        self.a, self.delta = Decimal(a), Decimal(delta)
        self.L = Decimal(self.loss.lipschitz)

    def H(self, norms):
        return self.delta + sum(self.L**2 * max(x, x**2) for x in norms)

    def factor(self, length, norms):
        """Return the factor of theta, of that length; the last row is predicted."""
        if length == 0:
            return Decimal(0)
        H = self.H(norms)
        alpha, beta = self.a * H.sqrt(), H ** Decimal("1.5")
        return (length / alpha).exp() / beta / length

    def bound(self, u, norms, gradients):
        if not norms:
            return Decimal(0)
        H = self.H(norms)
        constant = 4 * (1 + 1 / self.a).exp() / (self.L * self.delta.sqrt())
        if u == 0:
            return constant
        return constant + self.a * u * H.sqrt() * ((H ** Decimal("1.5") * u).ln() - 1)


class KernelGD(GradientSum):
    """Mirror descent, regularised by sqrt(t) / eta * ||w||^2 (Section 5)."""

    def __init__(self, *given, beta=1.0, radius=None):
        super().__init__(*given)
        self.eta = Decimal(beta)

    def factor(self, length, norms):
        return self.eta / (2 * Decimal(len(norms)).sqrt())

    def bound(self, u, norms, gradients):
        squares = sum(
            self.eta * (g @ g) / (4 * Decimal(t).sqrt())
            for t, g in enumerate(gradients, start=1)
        )
        return Decimal(len(norms)).sqrt() / self.eta * u**2 + squares


class AdaFTRL(GradientSum):
    """Koolen (2016) with R(w) = ||w||^2 / 2 on a ball.

    The mix losses are the minima themselves, and the gaps their differences.
    """

    divisor = 1

    def __init__(self, *given, radius=1.0):
        super().__init__(*given)
        self.radius = Decimal(radius)
        self.D = self.radius**2 / 2
        self.gaps = [Decimal(0)] * len(self.theta)

    def eta(self, k):
        return self.divisor * self.D / self.gaps[k] if self.gaps[k] else INFINITY

    def leader(self, theta, eta):
        """The w of the ball that minimises R(w) / eta - <w, theta>."""
        if not any(theta):
            return theta
        if eta == INFINITY:
            return self.radius / norm(theta) * theta
        return projected(eta * theta, self.radius)

    def mix_loss(self, theta, eta):
        w = self.leader(theta, eta)
        return w @ w / 2 / eta - w @ theta

    def weights_of(self, k, x):
        return self.leader(self.theta[k], self.eta(k))

    def suffer(self, k, gradient):
        eta, before = self.eta(k), self.theta[k].copy()
        loss = self.leader(before, eta) @ gradient
        super().suffer(k, gradient)
        mix = self.mix_loss(self.theta[k], eta) - self.mix_loss(before, eta)
        self.gaps[k] += max(Decimal(0), loss - mix)

    def bound(self, u, norms, gradients):
        if u > self.radius * (1 + Decimal("1e-12")):
            return INFINITY
        squares = sum(g @ g for g in gradients)
        largest = max((2 * self.radius * norm(g) for g in gradients), default=0)
        return self.limit((self.D * squares).sqrt(), largest)

    def limit(self, root, largest):
        return 2 * root + 2 * largest


class AdaFTRLOfOrabonaPal(AdaFTRL):
    """The regularisation and the constant of Orabona and Pál (2016)."""

    divisor = 16

    def limit(self, root, largest):
        return Decimal("5.3") * root


class OnlineNewton(InDecimals):
    """Implicit Newton steps; with the inverse A of the covariance."""

    def __init__(
        self,
        *given,
        prior_scale=0.3,
        forgetting=0.0,
        moderate=False,
        center=False,
        fit_intercept=True,
        shared_covariance=False,
    ):
        super().__init__(*given)
        n_outputs, n_coordinates = self.w.shape
        self.center, self.fit_intercept = center, fit_intercept
        self.shared_covariance = shared_covariance
        # Rows and their weights, and what is taken for the mean of their features.
        self.rows, self.mean = [], 0 * self.w[0]
        self.next_change = 1
        self.moderate = moderate
        self.row_weight = 1.0  # of the next row in means of features
        self.left = 1 - Decimal(forgetting)
        self.prior = decimals(np.full(n_coordinates, prior_scale))
        if fit_intercept:
            self.prior[-1] = Decimal(max(prior_scale, 1.0))
        self.A = [diagonal(1 / self.prior) for _ in range(n_outputs)]
        self.prior_left = [Decimal(1)] * n_outputs
        # Weights and distances from the minimisers of the losses.
        self.distances = [[] for _ in range(n_outputs)]
        self.excess = Decimal(0)

    @property
    def has_bound(self):
        """For the squared error, whose steps are exact, if nothing is forgotten.

        No bound is known for rows that are centred.
        """
        of_output = getattr(self.loss, "loss", None)
        is_exact = isinstance(of_output, SquaredError) and self.left == 1
        return is_exact and not self.center

    def at_rest(self, x, sample_weight):
        if self.fit_intercept:
            return super().at_rest(x, sample_weight)
        return (self.w @ self.centred(decimals(x))).astype(float)

    def weights(self):
        """Return weights of rows as given; without an intercept, of centred rows."""
        w = self.w.copy()
        if self.fit_intercept:
            w[:, -1] -= w[:, :-1] @ self.mean[:-1]
        return w.T.astype(float)

    def centred(self, x):
        if self.center and not self.next_change > 1:  # the mean is not known yet
            x = np.append(0 * x[:-1], x[-1] if self.fit_intercept else 0)
        return x - self.mean

    def change_mean(self):
        """Go over to the mean of all rows; say the same of them in other coordinates.

        The inverse of the covariance less that of the prior, and its product with the
        weights, are sums over rows. Without an intercept rows stay what they were.
        """
        t = len(self.rows)
        self.next_change = t + max(1, t // 2)
        new = sum(c * x for x, c in self.rows) / sum(c for _, c in self.rows)
        if self.fit_intercept:
            new[-1] = Decimal(0)
        shift, self.mean = self.mean - new, new
        if not self.fit_intercept:
            return
        N = diagonal([Decimal(1)] * len(new))
        if t > 1:  # before, there were no coordinates
            N[:, -1] += shift
        for k, A in enumerate(self.A):
            prior = diagonal(self.prior_left[k] / self.prior)
            self.A[k] = N @ (A - prior) @ N.T + prior
            self.w[k] = solved(self.A[k], N @ (A @ self.w[k]))

    def charged(self, x, c):
        """Scores, divided by what their variances say."""
        x = self.centred(x)
        q = np.array([x @ solved(A, x) for A in self.A])
        s = self.w @ x
        if self.moderate:
            s /= np.sqrt(1 + Decimal(math.pi) / 8 * q)
        return s

    def update(self, x, y, p, c):
        self.rows.append((x, Decimal(self.row_weight)))
        x = self.centred(x)
        ways = np.array([solved(A, x) for A in self.A])
        s, q = self.w @ x, ways @ x
        if isinstance(self.loss, CrossEntropy):
            steps = self.joint_steps(y, s, q, c)
        else:
            steps = [self.separate_step(k, y[k], s[k], q[k], c) for k in range(len(s))]
        for k, (g, h) in enumerate(steps):
            self.w[k] -= g * ways[k]
            self.A[k] = self.A[k] + h * np.outer(x, x)
            self.forget(k)
        if self.center and len(self.rows) == self.next_change:
            self.change_mean()

    def forget(self, k):
        """Let the covariance grow, as long as its trace is below that of the prior."""
        trace = np.trace(solved(self.A[k], diagonal([Decimal(1)] * len(self.prior))))
        growth = max(Decimal(1), min(1 / self.left, sum(self.prior) / trace))
        self.A[k] = self.A[k] / growth
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
        self.excess += c * (y - s) ** 2 * c * q / (1 + c * q)
        if isinstance(loss, (Hinge, EpsilonInsensitive, Quantile)):
            weights, sizes = np.transpose(self.distances[k])
            if e == 0:
                return Decimal(0), Decimal(0)
            mean = weights @ sizes / sum(weights)
            h = c * abs(loss.gradient(y, s)) / max(abs(e), mean / 2)
            return -h * e / (1 + h * q), h
        g = subgradient(loss, np.array([s]), decimals([1]), y, c, 1 / q, INFINITY)
        h = c * second_derivative(loss, y, s - q * g)
        if self.moderate and q > Decimal("0.01"):
            return self.matched(loss, y, c, s, q, s - q * g, q / (1 + h * q))
        return g, h

    def matched(self, loss, y, c, s, q, mode, variance):
        """Return the step that matches mean and variance of the score, given the row.

        By the quadrature with seven nodes, whose numbers are those of doubles.
        """
        nodes, shares = map(decimals, polynomial.hermite_e.hermegauss(7))
        z = mode + variance.sqrt() * nodes
        losses = np.array([loss.value(y, z_i) for z_i in z])
        weights = shares * np.exp(nodes**2 / 2 - c * losses - (z - s) ** 2 / (2 * q))
        mean = weights @ z / sum(weights)
        left = weights @ (z - mean) ** 2 / sum(weights)
        return (s - mean) / q, 1 / left - 1 / q

    def joint_steps(self, y, s, q, c):
        """Return the steps of all outputs, by Newton's method."""
        if not any(q):
            return [(Decimal(0), Decimal(0))] * len(s)
        z, unit = s, np.arange(len(s)) == y
        for _ in range(60):
            p = softmax(z)
            hessian = c * (diagonal(p) - np.outer(p, p)) + diagonal(1 / q)
            way = solved(hessian, c * (p - unit) + (z - s) / q)
            length, now = Decimal(1), self.objective(y, z, s, q, c)
            while length > Decimal("1e-30"):
                if self.objective(y, z - length * way, s, q, c) <= now:
                    break
                length /= 2
            z = z - length * way
            if max(abs(way)) < Decimal("1e-25"):
                break
        p = softmax(z)
        curvatures = c * p * (1 - p)
        if self.shared_covariance:
            curvatures = [sum(curvatures) / (len(s) - 1)] * len(s)
        return [*zip((s - z) / q, curvatures, strict=True)]

    def objective(self, y, z, s, q, c):
        total = max(z) + sum(np.exp(z - max(z))).ln() - z[y]
        return c * total + sum((z - s) ** 2 / (2 * q))

    def regret_bound(self, u, trials):
        """Half the squared comparator plus half the excess."""
        squares = sum(decimals(u) ** 2 / self.prior[:, np.newaxis])
        return float((self.excess + sum(squares)) / 2)


def second_derivative(loss, y, p):
    """Curvature of a loss; where it is straight, of the parabola with its minimum."""
    if isinstance(loss, Logistic):
        odds = (-abs(p)).exp()
        return odds / (1 + odds) ** 2
    if isinstance(loss, SquaredHinge):
        return Decimal(bool(y * p < 1))
    if isinstance(loss, Huber):
        return Decimal(loss.epsilon) / max(abs(p - y), Decimal(loss.epsilon))
    return Decimal(1)


def softmax(z):
    odds = np.exp(z - max(z))
    return odds / sum(odds)


def diagonal(values):
    return np.diag(np.array(values, dtype=object))


def solved(A, b):
    """The solution of A x = b, by elimination in a positive definite A."""
    n = len(b)
    rows = np.column_stack([A, b])
    for i in range(n):
        rows[i] = rows[i] / rows[i, i]
        others = np.arange(n) != i
        rows[others] -= np.outer(rows[others, i], rows[i])
    return rows[:, n:].reshape(np.shape(b))


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
        self.loss, self.average = loss, average
        self.center, self.fit_intercept = center, fit_intercept
        self.mean = np.zeros(n_features)
        has_bound = getattr(self.algorithm, "has_bound", True)
        has_bound &= hasattr(self.algorithm, "regret_bound")
        # No bound is known for rows that are centred.
        has_bound &= not center or isinstance(self.algorithm, ScInOL)
        self.weights = Weights(to_means=not has_bound)
        self.total_weight = 0.0
        # One entry a trial: the row as centred, its weight, its target, the prediction
        # that was charged for, the weights after the trial.
        self.trials = []

    def learn(self, x, y, sample_weight=1.0):
        """Learn from a row of positive weight, return the prediction charged for."""
        c = self.weights.learned(sample_weight)
        z = self._centred(x, c)
        if isinstance(self.algorithm, ScInOL):
            self.algorithm.set_unit(*self.weights.units_of_wealth())
        self.algorithm.row_weight = c  # of moments
        p = self.algorithm.learn(z, y, self.weights.seen[-1])
        self.total_weight += c
        if self.center:
            self.mean += (x - self.mean) * (c / self.total_weight)
        self.trials.append((z, c, y, p, self.algorithm.weights()))
        return p

    def decision_function(self, x, sample_weight=None):
        """The prediction of the row, were it the next one; nothing is stored."""
        z = self._centred(x, self.weights.predicted(sample_weight))
        if self._averaging():
            return z @ self._average()
        algorithm = self.algorithm
        if sample_weight is not None and isinstance(algorithm, ScInOL):
            algorithm = copy.deepcopy(algorithm)
            c = self.weights.predicted(sample_weight)
            algorithm.set_unit(*self.weights.units_of_wealth(c))
        return algorithm.predict(z, self.weights.predicted_seen(sample_weight))

    @property
    def coef(self):
        """Rows of coefficients, one an output, in the units of the rows given."""
        weights = self._average() if self._averaging() else self.algorithm.weights()
        return weights[: len(self.mean)].T * self._shrink(self.weights.predicted(None))

    @property
    def intercept(self):
        """One intercept an output, in the units of the rows given."""
        z = self._centred(self.mean, self.weights.predicted(None))
        if self._averaging():
            at_mean = z @ self._average()
        else:
            at_mean = self.algorithm.at_rest(z, self.weights.predicted_seen(None))
        return at_mean - self.coef @ self.mean

    @property
    def cumulative_loss(self):
        losses = [c * self.loss.value(y, p) for _, c, y, p, _ in self.trials]
        return self.weights.unit * sum(losses)

    @property
    def lambda_(self):
        """Inverse step size of each output, for implicit updates and OGD."""
        return self.weights.unit * self.algorithm.lambda_.astype(float)

    @property
    def delta_sum(self):
        """Part of each output's regret bound that does not depend on u."""
        return self.weights.unit * self.algorithm.delta_sum.astype(float)

    def regret_bound(self, coef, intercept):
        """The theorem's, with the parameters of the algorithm."""
        u = np.transpose(coef)
        if self.fit_intercept:
            u = np.vstack([u, intercept])
        return self.weights.unit * self.algorithm.regret_bound(u, self.trials)

    def _centred(self, x, sample_weight):
        z = np.asarray(x, dtype=float)
        if self.center:
            z = (z - self.mean) * self._shrink(sample_weight)
        return np.append(z, [1.0] * self.fit_intercept)

    def _shrink(self, sample_weight):
        """What is left of the distance to the mean once the row is in the mean."""
        if not self.center:
            return 1.0
        return self.total_weight / (self.total_weight + sample_weight)

    def _averaging(self):
        return 0 < self.average <= len(self.trials)

    def _average(self):
        after = [trial[-1] for trial in self.trials[int(self.average) - 1 :]]
        return np.mean(after, axis=0)


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
        self.mean = self.mean[:n_features]

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
        codes = np.zeros((len(x), self.n_bins))  # ones for the bins that a row is in
        for i, edges in enumerate(self.edges or ()):
            if edges:
                codes[i, sum(edge < x[i] for edge in edges)] = 1.0
        return np.insert(z, len(x), codes.ravel())


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


def inner(a, b):
    return sum(a_i * b_i for a_i, b_i in zip(a, b, strict=True))


def norm(a):
    return (a @ a).sqrt()


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
