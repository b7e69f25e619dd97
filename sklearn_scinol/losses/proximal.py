r"""Solve the step of implicit updates exactly, also in a ball.

For a loss :math:`\ell` of the prediction :math:`\langle w, x \rangle`, a weight `c` of
the row and :math:`\lambda \ge 0`, the new weights are

.. math::
    w' = \arg\min_{\|w'\| \le R} c\, \ell(\langle w', x \rangle)
    + \tfrac{\lambda}{2} \|w' - w\|^2 = \mathrm{shrink} \cdot w + \mathrm{step} \cdot x,

for :math:`\lambda = 0` the minimiser next to `w`. Of the vectors it needs
:math:`p = \langle w, x \rangle`, :math:`q = \|x\|^2` and :math:`\|w\|^2`.

On the sphere, :math:`w'` has the direction of :math:`\lambda w - \tau x`, where
:math:`\tau = c\, \ell'(p')` at the new prediction. Lengths are in units of `R` and of
:math:`\|x\|`, and the direction is given by the share of the row in it, from 0 to 1, so
that nothing overflows for any :math:`\lambda`.
"""

import numpy as np

from .._portable import larger, smaller
from . import methods

MAX_ITERATIONS = 100

#: A step is no longer than this, so that predictions stay finite.
MAX_NORM = 1e150


def proximal_step(loss, y, p, q, c, lam, norm2, radius):
    """Factor `shrink`, multiple `step` of the row, and decrease of the objective.

    The decrease is the paper's delta, ``c l(p) - c l(p') - lam / 2 ||w' - w||^2``.
    """
    if c * q == 0.0:
        return 1.0, 0.0, 0.0
    if lam == 0.0 and radius < np.inf:
        return step_to(loss, y, p, q, c, lam, norm2, radius)
    s = smaller(methods.MAX_STEP, c * q / lam)
    if not s > 0.0:
        return 1.0, 0.0, 0.0
    u, decrease = loss.proximal(y, p, s)
    longest = MAX_NORM * np.sqrt(q)
    step = larger(smaller(u, longest), -longest) / q
    if radius == np.inf or norm2 + step * (2.0 * p + step * q) <= radius * radius:
        return 1.0, step, c * decrease
    if not loss.piecewise_linear:
        return step_along_sphere(loss, y, p, q, c, lam, norm2, radius)
    target = loss.minimiser(y, p)
    side = np.sign(p - target)
    pull = c * np.abs(loss.gradient(y, p))
    share = 1.0 / (1.0 + lam / pull * (radius / np.sqrt(q)))
    shrink, step, new_p = to_sphere(share, side, p, q, norm2, radius)
    if (new_p - target) * side <= 0.0:
        return step_to(loss, y, p, q, c, lam, norm2, radius)
    return with_decrease(loss, y, p, q, c, lam, norm2, radius, shrink, step, new_p)


def step_to(loss, y, p, q, c, lam, norm2, radius):
    """Step to the nearest point of the ball that predicts the minimiser."""
    target = loss.minimiser(y, p)
    if target == p:
        return 1.0, 0.0, 0.0
    reach = radius * np.sqrt(q)
    if np.abs(target) >= reach:
        target = np.sign(target) * reach
        shrink = 0.0
    else:
        # The part orthogonal to the row is shortened where the ball has no room for it.
        orthogonal = norm2 / (radius * radius) - (p / reach) ** 2
        room = 1.0 - (target / reach) ** 2
        shrink = 1.0 if orthogonal <= room else np.sqrt(room / orthogonal)
    step = (target - shrink * p) / q
    return with_decrease(loss, y, p, q, c, lam, norm2, radius, shrink, step, target)


def step_along_sphere(loss, y, p, q, c, lam, norm2, radius):
    """Step along the sphere to where the loss balances the distance from `w`.

    The balance falls with the row's share. The method of Chandrupatla (1997) finds its
    root: inverse quadratic interpolation where that is safe, else bisection.
    """
    side = np.sign(loss.gradient(y, p))
    a, b = 0.0, 1.0
    f_a = balance(loss, y, a, side, p, q, c, lam, norm2, radius)
    f_b = -lam * (radius / np.sqrt(q))
    share, t = (b if f_a > 0.0 else a), f_a / (f_a - f_b)
    for _ in range(MAX_ITERATIONS if f_a > 0.0 > f_b else 0):
        x = a + t * (b - a)
        f = balance(loss, y, x, side, p, q, c, lam, norm2, radius)
        if (f > 0.0) == (f_a > 0.0):
            third, f_third = a, f_a
        else:
            third, f_third, b, f_b = b, f_b, a, f_a
        a, f_a = x, f
        share = a if np.abs(f_a) < np.abs(f_b) else b
        shortest = 2e-16 * share / np.abs(b - a)
        if shortest > 0.5 or f_a == 0.0:
            break
        xi, phi = (a - b) / (third - b), (f_a - f_b) / (f_third - f_b)
        t = 0.5
        if phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi:
            of_b = f_a / (f_b - f_a) * (f_third / (f_b - f_third))
            of_third = f_a / (f_third - f_a) * (f_b / (f_third - f_b))
            t = of_b + (third - a) / (b - a) * of_third
        t = larger(smaller(t, 1.0 - shortest), shortest)
    shrink, step, new_p = to_sphere(share, side, p, q, norm2, radius)
    return with_decrease(loss, y, p, q, c, lam, norm2, radius, shrink, step, new_p)


def balance(loss, y, share, side, p, q, c, lam, norm2, radius):
    """Derivative of the objective along the sphere, up to a positive factor."""
    _, _, new_p = to_sphere(share, side, p, q, norm2, radius)
    slope = c * side * loss.gradient(y, new_p)
    return (1.0 - share) * slope - share * lam * (radius / np.sqrt(q))


def to_sphere(share, side, p, q, norm2, radius):
    """Point of the sphere where the row has a given share, and its prediction."""
    length = np.sqrt(q)
    along, of_w, of_x = p / (radius * length), 1.0 - share, side * share
    orthogonal = larger(0.0, norm2 / (radius * radius) - along * along)
    square = (of_w * along - of_x) ** 2 + of_w * of_w * orthogonal
    if square > 1e-20:
        norm = np.sqrt(square)
        shrink, step = of_w / norm, -of_x / norm
    else:  # `w` is a multiple of the row: the point jumps to the opposite one
        shrink, step = 0.0, -side
    new_p = radius * length * (shrink * along + step)
    return shrink, step * (radius / length), new_p


def with_decrease(loss, y, p, q, c, lam, norm2, radius, shrink, step, new_p):
    """Return a step with its decrease of the objective."""
    along, change = p / (radius * np.sqrt(q)), shrink - 1.0
    added = step * (np.sqrt(q) / radius)
    distance2 = change * change * (norm2 / (radius * radius))
    distance2 += added * (2.0 * change * along + added)
    fall = c * (methods.value(loss, y, p) - methods.value(loss, y, new_p))
    return shrink, step, larger(0.0, fall - 0.5 * lam * radius * radius * distance2)
