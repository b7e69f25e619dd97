"""AdaGrad and Adam: gradient descent with a step size for each coordinate."""

from typing import NamedTuple

import numpy as np

from .._portable import exact, larger


class AdaGradState(NamedTuple):  # one entry for each coordinate and output
    w: np.ndarray  # the weights
    G: np.ndarray  # the initial value plus the sum of the squared gradients (g x)^2


class AdaGrad(NamedTuple):
    r"""Diagonal AdaGrad of Duchi, Hazan and Singer (2011).

    After a row, for each coordinate with value :math:`x`, :math:`G \leftarrow G +
    (g x)^2` and then :math:`w \leftarrow w - \eta g x / \sqrt G`.

    Parameters
    ----------
    eta : float
        Learning rate, in units of the weights.
    initial_accumulator : float
        What :math:`G` starts from.
    """

    eta: float = 1.0
    initial_accumulator: float = 0.1

    State = AdaGradState
    parameters = {"eta": "learning_rate"}
    stays_finite = True

    def initial_state(self):
        return AdaGradState(w=0.0, G=self.initial_accumulator)

    def weight(self, s, i, x, t):
        return s.w[i]

    def update(self, s, i, x, g, w, t):
        gx = g * x
        s.G[i] += gx * gx
        s.w[i] -= self.eta * gx / np.sqrt(s.G[i])

    def merged(self, s, shared, w, x, t):
        return AdaGradState(w, larger(s.G.sum(2), self.initial_accumulator)), None

    def invariants(self, s, shared, t):
        yield "G >= initial_accumulator", self.initial_accumulator <= s.G


class AdamState(NamedTuple):  # one entry for each coordinate and output
    w: np.ndarray  # the weights
    m: np.ndarray  # running mean of the gradients g x
    v: np.ndarray  # running mean of their squares


class Adam(NamedTuple):
    r"""Adam of Kingma and Ba (2015), Algorithm 1.

    After row :math:`t`, for each coordinate with value :math:`x`,

    .. math::
        m \leftarrow \beta_1 m + (1 - \beta_1) g x, \qquad
        v \leftarrow \beta_2 v + (1 - \beta_2) (g x)^2, \qquad
        w \leftarrow w - \alpha \frac{m / (1 - \beta_1^t)}
        {\sqrt{v / (1 - \beta_2^t)} + \epsilon}.

    Weights go on moving where :math:`x = 0`.

    Parameters
    ----------
    alpha : float
        Learning rate, in units of the weights.
    beta1, beta2 : float
        Decay of the running means.
    epsilon : float
        Added to the root.
    """

    alpha: float = 1.0
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    State = AdamState
    parameters = {"alpha": "learning_rate"}
    stays_finite = True
    touches_all = True

    def initial_state(self):
        return AdamState(w=0.0, m=0.0, v=0.0)

    def weight(self, s, i, x, t):
        return s.w[i]

    def update(self, s, i, x, g, w, t):
        gx = g * x
        s.m[i] = decayed(s.m[i], gx, self.beta1)
        s.v[i] = decayed(s.v[i], gx * gx, self.beta2)
        m, v = 1.0 - self.beta1**t, 1.0 - self.beta2**t
        s.w[i] -= self.alpha * adam_step(s.m[i] / m, s.v[i] / v, self.epsilon)

    def merged(self, s, shared, w, x, t):
        return AdamState(w, s.m.mean(), s.v.mean()), None

    def invariants(self, s, shared, t):
        yield "v >= 0", s.v >= 0.0


@exact
def decayed(mean, value, beta):
    """Update a running mean by a value; infinity stays infinity."""
    return beta * mean + (1.0 - beta) * value


@exact
def adam_step(m, v, epsilon):
    """Step of a weight; 0 where `v` has overflowed."""
    return m / (np.sqrt(v) + epsilon)
