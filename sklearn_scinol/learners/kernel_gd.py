"""Gradient descent on the sum of gradients, which also learns with kernels."""

from typing import NamedTuple

import numpy as np

from .bases.gradient_sum import GradientSum


class Shared(NamedTuple):  # one entry for each output
    delta_sum: np.ndarray  # the regret bound less its term of the comparator


class Parameters(NamedTuple):
    """Hyperparameters.

    Parameters
    ----------
    eta : float
        Scale of the step sizes.
    """

    eta: float = 1.0


class KernelGD(GradientSum, Parameters):
    r"""Mirror descent with the regulariser :math:`\sqrt t \|w\|^2 / \eta`.

    .. math:: w_t = \frac{\eta}{2 \sqrt t} \theta_t

    The competitor of Orabona (NIPS 2013), Section 5. Its regret against `u` is at most
    :math:`\sqrt T \|u\|^2 / \eta + \sum_t \eta \|g_t x_t\|^2 / (4 \sqrt t)`.
    """

    __slots__ = ()

    Shared = Shared
    parameters = {"eta": "learning_rate"}

    def initial_shared(self):
        return Shared(delta_sum=0.0)

    def factor(self, shared, k, q, t):
        return 0.5 * self.eta / np.sqrt(t)

    def row_step(self, shared, k, g, dot, q, t):
        """Add the row's term to the regret bound."""
        shared.delta_sum[k] += 0.25 * self.eta * (g * g * q) / np.sqrt(t)
        return g

    def regret_bound(self, s, shared, u, t, first):
        return np.sqrt(t) / self.eta * (u * u).sum(axis=1) + shared.delta_sum

    def merged_shared(self, shared, w_norm, t):
        norm = w_norm / self.factor(None, ..., 0.0, t + 1)
        return Shared(shared.delta_sum.sum()), norm

    def invariants(self, s, shared, t):
        yield "delta_sum >= 0", shared.delta_sum >= 0.0
