"""Classification losses: of two classes, of one versus rest, and of all at once."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_expit, log_softmax, logsumexp

from .._portable import (
    ROUNDING_SHARE,
    exp,
    larger,
    log1p,
    log_sum_exp,
    smaller,
    softmax,
)
from .steps import (
    MAX_ITERATIONS,
    halley,
    linear_step,
    long_logistic_step,
    quadratic_step,
    safe_length,
)


class Logistic(NamedTuple):
    r"""Logistic loss :math:`\ln(1 + e^{-yp})`, for :math:`y = \pm 1`."""

    is_classification = True
    joint = False
    piecewise_linear = False
    lipschitz = 1.0

    def value(self, y, p):
        return np.maximum(-y * p, 0.0) + log1p(exp(-np.abs(p)))

    def gradient(self, y, p):
        return -y / (1.0 + np.exp(y * p))

    def stiffness(self, y, p, slope):
        return np.abs(slope) * (1.0 - np.abs(slope))

    def minimiser(self, y, p):
        return y * np.inf

    def proximal(self, y, p, s):
        # With m = yp, u is the root of f(u) = u - s sigma(-m - u).
        m = y * p
        odds = np.exp(m)
        derivative = 1.0 / (1.0 + odds)
        high = s * derivative
        if high == 0.0:
            return 0.0, 0.0
        if high > 1.0:
            u, decrease = long_logistic_step(m, s, high)
            return y * u, decrease
        # Here f is nearly a line: two steps from u = 0 are nearly always enough.
        u = growth = 0.0  # growth is e^u - 1
        for _ in range(MAX_ITERATIONS):
            last, u = u, halley(u, s, derivative)
            change = u - last
            if np.abs(change**3) * smaller(s, 1.0) <= 1e-16 * u:
                growth += (1.0 + growth) * change * (1.0 + change / 2 + change**2 / 6)
                break
            growth = np.expm1(u)
            derivative = 1.0 / (1.0 + odds * (1.0 + growth))
        derivative = u / s
        return y * u, np.log1p(derivative * growth) - 0.5 * u * derivative

    def log_probabilities(self, p):
        """Log probabilities of the classes, from predictions of shape (n, 1) or (n, K).

        K columns are one versus rest: K probabilities, divided by their sum.
        """
        if p.shape[1] == 1:
            return log_expit(np.concatenate([-p, p], axis=1))
        of_each = log_expit(p)
        return of_each - logsumexp(of_each, axis=1, keepdims=True)


class CrossEntropy(NamedTuple):
    r"""Multinomial logistic loss :math:`\ln \sum_k e^{p_k} - p_y`."""

    is_classification = True
    joint = True
    lipschitz = 1.0

    def value(self, y, p):
        of_class = np.asarray(y)[..., np.newaxis]
        return -np.take_along_axis(log_softmax(p, axis=-1), of_class, axis=-1)[..., 0]

    def row_value(self, y, p):
        return log_sum_exp(p) - p[y]

    def row_gradient(self, y, p, g):
        softmax(p, g)
        g[y] -= 1.0

    def row_proximal(self, y, p, s, g, buffers):
        # Newton's method for g = softmax(p - s g) - e_y, with e_y the unit vector.
        z, q, direction = buffers
        for k in range(p.size):
            g[k] = 0.0
        for _ in range(MAX_ITERATIONS):
            for k in range(p.size):
                z[k] = p[k] - s[k] * g[k]
            softmax(z, q)
            slope = share = 0.0
            for k in range(p.size):
                direction[k] = q[k] - (k == y) - g[k]  # residual of the equation
                stiffness = 1.0 + s[k] * q[k]
                slope += s[k] * q[k] * direction[k] / stiffness
                share += q[k] / stiffness
            lowest, highest = np.inf, -np.inf
            for k in range(p.size):
                direction[k] = (direction[k] + q[k] * (slope / share)) / (
                    1.0 + s[k] * q[k]
                )
                lowest = smaller(lowest, s[k] * direction[k])
                highest = larger(highest, s[k] * direction[k])
            length = safe_length(y, p, s, g, direction, highest - lowest, z, q)
            for k in range(p.size):
                g[k] += length * direction[k]
            if highest - lowest <= 1e-9:  # the next step would be its square
                break

    def row_curvature(self, y, p, h):
        softmax(p, h)
        for k in range(p.size):
            h[k] *= 1.0 - h[k]

    def log_probabilities(self, p):
        """Log probabilities of the classes, from predictions of shape (n, K)."""
        return log_softmax(p, axis=-1)


class Hinge(NamedTuple):
    r"""Hinge loss :math:`\max(0, 1 - yp)`, for :math:`y = \pm 1`."""

    is_classification = True
    joint = False
    piecewise_linear = True
    lipschitz = 1.0

    def value(self, y, p):
        return np.maximum(1.0 - y * p, 0.0)

    def gradient(self, y, p):
        return -y * (y * p <= 1.0 + ROUNDING_SHARE)

    def minimiser(self, y, p):
        return y if y * p < 1.0 else p

    def proximal(self, y, p, s):
        m = 1.0 - y * p
        if m <= 0.0:
            return 0.0, 0.0
        u, decrease = linear_step(m, 1.0, s)
        return y * u, decrease


class SquaredHinge(NamedTuple):
    r"""Half the squared hinge loss, :math:`\max(0, 1 - yp)^2 / 2`."""

    is_classification = True
    joint = False
    piecewise_linear = False
    lipschitz = np.inf

    def value(self, y, p):
        return 0.5 * np.maximum(1.0 - y * p, 0.0) ** 2

    def gradient(self, y, p):
        return -y * np.maximum(1.0 - y * p, 0.0)

    def stiffness(self, y, p, slope):
        return 1.0 * (y * p < 1.0 - ROUNDING_SHARE)

    def minimiser(self, y, p):
        return y if y * p < 1.0 else p

    def proximal(self, y, p, s):
        m = 1.0 - y * p
        if m <= 0.0:
            return 0.0, 0.0
        u, decrease = quadratic_step(m, s)
        return y * u, decrease
