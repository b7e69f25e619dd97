"""Proximal steps that several losses take: along a slope, a parabola, a bend."""

import numpy as np

from .._portable import larger, portable, smaller, softmax

__all__ = [
    "halley",
    "linear_step",
    "long_logistic_step",
    "quadratic_step",
    "safe_length",
]

MAX_ITERATIONS = 100


@portable
def linear_step(m, slope, s):
    """Way down a slope that ends after `m`, and the decrease."""
    way = slope * s
    if way <= m:
        return way, 0.5 * slope * way
    return m, m * (slope - 0.5 * (m / s))


@portable
def quadratic_step(m, s):
    """Way down the parabola ``m**2 / 2`` towards ``m = 0``, and the decrease."""
    way = m / (1.0 + 1.0 / s)
    return way, 0.5 * m * way


@portable
def halley(u, s, derivative):
    """Next iterate for ``u = s sigma(-m - u)``, where `derivative` is that sigma."""
    f = u - s * derivative
    curvature = s * derivative * (1.0 - derivative)
    slope = 1.0 + curvature
    bend = 0.5 * f * curvature * (1.0 - 2.0 * derivative)
    return u - f * slope / (slope * slope + bend)


@portable
def long_logistic_step(m, s, high):
    """Way and decrease from a margin `m`, where the step along the slope is too long.

    The root is looked for in a bracket. Besides `high`, the step along the slope, it is
    below the logarithm of `s` beyond the point where the loss bends.
    """
    high = smaller(high, np.log1p(s) + larger(-m, 0.0))
    # What the equation gives for the upper end is below the root.
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
        if np.abs(u - last) ** 3 <= 1e-16 * u:  # what is left to go is less
            break
    derivative = u / s
    if u < 1.0:
        fall = np.log1p(derivative * np.expm1(u))
    elif m < -1.0:
        fall = u + np.log(derivative + (1.0 - derivative) * np.exp(-u))
    else:
        fall = np.log1p(np.exp(-m)) - np.log1p(np.exp(-m - u))
    return u, fall - 0.5 * u * derivative


@portable
def safe_length(y, p, s, g, way, d, z, q):
    """How much of a Newton step for ``g = softmax(p - s g) - e_y`` leads down.

    The step moves two predictions apart by at most `d`. The third derivative of the
    logarithm of a sum of exponentials is at most `d` times the second, so that a share
    ``log(1 + d) / d`` always does (Sun and Tran-Dinh, 2019). Where the loss
    is nearly a line much more does, and is tried. `z` and `q` are overwritten.
    """
    if d < 1e-4:
        return 1.0
    safe, length = np.log1p(d) / d, 1.0
    while d > 1.0 and length > safe:
        for k in range(p.size):
            z[k] = p[k] - s[k] * (g[k] + length * way[k])
        softmax(z, q)
        ascent = 0.0
        for k in range(p.size):
            lack = q[k] - (k == y) - (g[k] + length * way[k])
            ascent -= s[k] * way[k] * lack
        if ascent <= 0.0:
            return length
        length *= 0.5
    return safe
