r"""Learn the weights of a log-linear pool of experts.

Experts :math:`e` give the classes :math:`k` probabilities :math:`p_e(k)`. With
:math:`f_e(k) = \ln p_e(k)` and weights :math:`w` that all classes share, the pool is

.. math::
    p(k) \propto \exp \sum_e w_e f_e(k) = \prod_e p_e(k)^{w_e}.

The derivative of its log loss by the weights is :math:`\bar f - f(y)`, with
:math:`\bar f = \sum_k p(k) f(k)`, and the second derivative :math:`\sum_k p(k) (f(k) -
\bar f)(f(k) - \bar f)^\top`. Newton steps take one step of rank one a class.
:class:`ScInOL2` needs the first derivative alone, and a bound on it that is known
before the label: the range of :math:`f_e` over the classes stands for the absolute
value of a feature. With two classes a pool is logistic regression on the experts' log
odds, which both learn like other features.
"""

import numpy as np

from .._portable import (
    TINY,
    add_multiple,
    copy_into,
    inner,
    larger,
    move_and_multiply,
    smaller,
    trace,
)
from .online_newton import forget


def take_steps(learner, loss, s, F, y, weights, scores, buffers):
    """Learn rows by Newton steps; `scores` become those of classes before each row.

    In each row `F[r, k]` is :math:`f(k)`.
    """
    p, g, direction = buffers
    for r in range(scores.shape[0]):
        for k in range(p.size):
            p[k] = inner(s.w[0], F[r, k])
        copy_into(p, scores[r])
        if weights.given[r] > 0.0:
            c = weights.to_mean[r]
            take_step(learner, s, loss, F[r], y[r], c, p, g, direction)


def take_step(learner, s, loss, F, y, c, p, g, direction):
    """Learn the weights from a row of weight `c` and class `y`, with scores `p`.

    Arrays are overwritten: `p` and `g`, one number a class, and `direction`, one a
    weight. The step ends early where the loss would rise again.
    """
    w, P, x, u, v = s.w[0], s.P[0], s.x[0], s.u[0], s.v[0]
    growth, root = 1.0, 0.0
    if learner.forgetting > 0.0:
        growth = forget(learner, s, 0, trace(P, x.size))
    loss.row_gradient(y, p, g)
    direction[:] = 0.0
    for k in range(p.size):
        add_multiple(g[k] + (k == y), F[k], direction)
    for k in range(p.size):
        copy_into(F[k], x)
        add_multiple(-1.0, direction, x)
        _, q = move_and_multiply(w, P, v, 0.0, root, growth, x, u)
        growth, h = 1.0, c * (g[k] + (k == y))
        root = np.sqrt(h / (1.0 + h * larger(q, 0.0)))
        copy_into(u, v)
    add_multiple(-1.0, F[y], direction)
    _, fall = move_and_multiply(w, P, v, 0.0, root, 1.0, direction, u)
    for k in range(p.size):
        p[k] -= c * inner(u, F[k])
    loss.row_gradient(y, p, g)
    rise = 0.0
    for k in range(p.size):
        rise -= g[k] * inner(u, F[k])
    length = c
    if rise > 0.0:
        length *= fall / (fall + rise)
    add_multiple(-length, u, w)


def place_bets(learner, loss, s, F, y, weights, scores, buffers):
    """Learn rows by a learner such as ScInOL2; see :func:`take_steps`.

    It learns how far weights are from 1 for the first input, and from 0 for others.
    """
    (p, g, w), n = buffers, s.M.shape[1]
    for r in range(scores.shape[0]):
        c = weights.relative[r]
        for k in range(p.size):
            p[k] = F[r, k, 0]
        for j in range(n):
            _, size = least_and_range(F, r, j)
            w[j] = learner.weight(s, (0, j), c * size, 0.0)
            for k in range(p.size):
                p[k] += w[j] * F[r, k, j]
        copy_into(p, scores[r])
        if weights.given[r] > 0.0:
            loss.row_gradient(y[r], p, g)
            for j in range(n):
                least, size = least_and_range(F, r, j)
                slope = 0.0
                for k in range(p.size):
                    slope += g[k] * (F[r, k, j] - least)
                # Without the limits, rounding might leave a share beyond them.
                share = larger(smaller(slope / larger(size, TINY), 1.0), -1.0)
                learner.update(s, (0, j), c * size, share, w[j], 0.0)


def least_and_range(F, r, j):
    """Return the smallest of the log probabilities of an input, and their range."""
    least = largest = F[r, 0, j]
    for k in range(1, F.shape[1]):
        least, largest = smaller(least, F[r, k, j]), larger(largest, F[r, k, j])
    return least, largest - least
