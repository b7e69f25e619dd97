"""Proximal steps that several losses share: along a slope, a parabola, a bend."""

import numpy as np

from .._portable import larger, smaller, softmax

MAX_ITERATIONS = 100


def linear_step(m, slope, s):
    """Proximal step down a slope that ends after `m`, and the decrease."""
    u = slope * s
    if u <= m:
        return u, 0.5 * slope * u
    return m, m * (slope - 0.5 * (m / s))


def quadratic_step(m, s):
    """Proximal step down the parabola ``m**2 / 2`` towards 0, and the decrease."""
    u = m / (1.0 + 1.0 / s)
    return u, 0.5 * m * u


def halley(u, s, derivative):
    """Next iterate for ``u = s sigma(-m - u)``, from sigma now, `derivative`."""
    f = u - s * derivative
    curvature = s * derivative * (1.0 - derivative)
    slope = 1.0 + curvature
    bend = 0.5 * f * curvature * (1.0 - 2.0 * derivative)
    return u - f * slope / (slope * slope + bend)


def long_logistic_step(m, s, high):
    """Proximal step and decrease from a margin `m`, for a large step size.

    The root lies below `high`, the step along the slope, and below the logarithm of `s`
    beyond the point where the loss bends.
    """
    high = smaller(high, np.log1p(s) + larger(-m, 0.0))
    # The equation at the upper end gives a lower bound of the root.
    low, u = 0.0, larger(0.0, np.log(s / high - 1.0) - m)
    for _ in range(MAX_ITERATIONS):
        derivative = 1.0 / (1.0 + np.exp(m + u))
        if u > s * derivative:
            high = u
        else:
            low = u
        last, u = u, halley(u, s, derivative)
        if not low <= u <= high:
            u = 0.5 * (low + high)
        if np.abs(u - last) ** 3 <= 1e-16 * u:  # the remaining error is smaller
            break
    derivative = u / s
    if u < 1.0:
        decline = np.log1p(derivative * np.expm1(u))
    elif m < -1.0:
        decline = u + np.log(derivative + (1.0 - derivative) * np.exp(-u))
    else:
        decline = np.log1p(np.exp(-m)) - np.log1p(np.exp(-m - u))
    return u, decline - 0.5 * u * derivative


def safe_length(y, p, s, g, direction, d, z, q):
    """Length of a damped Newton step for ``g = softmax(p - s g) - e_y``.

    The full step moves two predictions apart by at most `d`. The third derivative of
    the logarithm of a sum of exponentials is at most `d` times the second, so that the
    length ``log(1 + d) / d`` always descends (Sun and Tran-Dinh, 2019). Where the loss
    is nearly a line, longer steps are tried first. `z` and `q` are overwritten.
    """
    if d < 1e-4:
        return 1.0
    safe, length = np.log1p(d) / d, 1.0
    while d > 1.0 and length > safe:
        for k in range(p.size):
            z[k] = p[k] - s[k] * (g[k] + length * direction[k])
        softmax(z, q)
        ascent = 0.0
        for k in range(p.size):
            residual = q[k] - (k == y) - (g[k] + length * direction[k])
            ascent -= s[k] * direction[k] * residual
        if ascent <= 0.0:
            return length
        length *= 0.5
    return safe
