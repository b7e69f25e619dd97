"""Slow references of the competitors, like those of `naive`.

One row at a time, each step as the source states it, on arrays of coordinates by
outputs, or by one. Nothing here is shared with the package. The equations are those of

J. Duchi, E. Hazan, Y. Singer: Adaptive Subgradient Methods for Online Learning and
Stochastic Optimization, JMLR 12, 2011: AdaGrad, with diagonal matrices.

D. P. Kingma, J. Ba: Adam: A Method for Stochastic Optimization, ICLR 2015: Algorithm 1.

S. Ross, P. Mineiro, J. Langford: Normalized Online Learning, UAI 2013: NAG.

F. Orabona, K. Crammer, N. Cesa-Bianchi: A Generalized Online Mirror Descent with
Applications to Classification and Regression, Machine Learning 99, 2015: scale-free
mirror descent.

F. Orabona, T. Tommasi: Training Deep Networks without Learning Rates Through Coin
Betting, NIPS 2017: Algorithm 2, COCOB-Backprop.

W. Kotłowski: Scale-Invariant Unconstrained Online Learning, ALT 2017: Algorithm 1.

Z. Mhammedi, W. M. Koolen: Lipschitz and Comparator-Norm Adaptivity in Online Learning,
COLT 2020: Algorithm 2, FreeGrad, for each coordinate of a linear model.

Vowpal Wabbit, `--coin`: coin betting on normalised features.
"""

import copy

import numpy as np

__all__ = ["COMPETITORS"]


class ByCoordinate:
    """Base of algorithms that give each coordinate and output a weight by itself.

    A row of weight c is the row c * x under a loss whose gradient is g. An algorithm
    that takes a loss with Lipschitz constant 1 sees the row L * c * x and the gradient
    g / L. The prediction is that of the row itself.

    An algorithm has `received_weights` for the row that was last received, and takes a
    `step` for the gradient.
    """

    takes_unit_lipschitz = False

    def __init__(self, n_coordinates, n_outputs, loss):
        self.loss, self.t = loss, 0
        self.shape = n_coordinates, n_outputs

    @property
    def lipschitz(self):
        return self.loss.lipschitz if self.takes_unit_lipschitz else 1.0

    def predict(self, x, sample_weight):
        """The prediction of the row, were it the next one; nothing is stored."""
        return x @ self.weights_for(self.scaled(x, sample_weight))

    def at_rest(self, x, sample_weight):
        """The prediction of a row, as intercepts are evaluated."""
        return self.predict(x, sample_weight)

    def learn(self, x, y, sample_weight):
        """Learn from a row, return its prediction."""
        scaled = self.scaled(x, sample_weight)
        self.receive(scaled)
        p = x @ self.received_weights()
        self.update(scaled, np.divide(self.loss.gradient(y, p), self.lipschitz))
        return p

    def scaled(self, x, sample_weight):
        return self.lipschitz * sample_weight * np.asarray(x)

    def receive(self, x):
        """Update the state by a row before the row is predicted."""
        self.t += 1

    def update(self, x, g):
        self.step(np.outer(x, g))

    def weights(self):
        """The weights, coordinates by outputs, for a row of zeros that came next."""
        return self.weights_for(np.zeros(self.shape[0]))

    def weights_for(self, x):
        """The weights for the row, were it the next one; nothing is stored."""
        algorithm = copy.deepcopy(self)
        algorithm.receive(x)
        return algorithm.received_weights()


def column(x):
    return np.reshape(x, (-1, 1))


def positive(a):
    """The divisor, where 0 / 0 is 0."""
    return np.where(a > 0.0, a, 1.0)


class Descent(ByCoordinate):
    """Algorithms that move stored weights at a learning rate."""

    def __init__(self, *given, learning_rate=1.0):
        super().__init__(*given)
        self.learning_rate = learning_rate
        self.w = np.zeros(self.shape)

    def received_weights(self):
        return self.w.copy()


class AdaGrad(Descent):
    """Duchi, Hazan, Singer (2011); the sum of squares starts at 0.1, not at 0."""

    G = 0.1

    def step(self, gradient):
        self.G = self.G + gradient**2
        self.w -= self.learning_rate * gradient / np.sqrt(self.G)


class Adam(Descent):
    """Kingma, Ba (2015), Algorithm 1. Also where x = 0 do weights go on moving."""

    beta1, beta2, epsilon = 0.9, 0.999, 1e-8
    m = v = 0.0

    def step(self, gradient):
        self.m = self.beta1 * self.m + (1.0 - self.beta1) * gradient
        self.v = self.beta2 * self.v + (1.0 - self.beta2) * gradient**2
        m_hat = self.m / (1.0 - self.beta1**self.t)
        v_hat = self.v / (1.0 - self.beta2**self.t)
        self.w -= self.learning_rate * m_hat / (np.sqrt(v_hat) + self.epsilon)


class NAG(Descent):
    """Ross, Mineiro, Langford (2013), normalised adaptive gradient descent.

    With `normalizer="mean"`, N is divided by the number of coordinates.
    """

    N = G = 0.0

    def __init__(self, *given, normalizer="sum", **parameters):
        super().__init__(*given, **parameters)
        self.divisor = {"sum": 1, "mean": self.shape[0]}[normalizer]
        self.s = np.zeros((self.shape[0], 1))

    def receive(self, x):
        super().receive(x)
        x = np.abs(column(x))
        self.w *= np.where(x > self.s, self.s / positive(x), 1.0)
        self.s = np.maximum(self.s, x)
        self.N += np.sum((x / positive(self.s)) ** 2)

    def step(self, gradient):
        self.G = self.G + gradient**2
        if self.N:
            rate = self.learning_rate * np.sqrt(self.t / (self.N / self.divisor))
            self.w -= rate * gradient / (positive(self.s) * positive(np.sqrt(self.G)))


class SFMD(ByCoordinate):
    """Orabona, Crammer, Cesa-Bianchi (2015), scale-free mirror descent."""

    def __init__(self, *given, learning_rate=1.0):
        super().__init__(*given)
        self.learning_rate = learning_rate
        self.M = np.zeros((self.shape[0], 1))
        self.G, self.S2 = np.zeros(self.shape), np.ones(self.shape)

    def receive(self, x):
        super().receive(x)
        self.M = np.maximum(self.M, np.abs(column(x)))

    def received_weights(self):
        rate = self.learning_rate / np.sqrt(self.shape[0] * self.S2)
        return -rate * self.G / positive(self.M) ** 2

    def step(self, gradient):
        self.G += gradient
        self.S2 += (gradient / positive(self.M)) ** 2


class CoCoB(ByCoordinate):
    """Orabona, Tommasi (2017), Algorithm 2, from initial weights 0."""

    alpha = 100.0

    def __init__(self, *given):
        super().__init__(*given)
        self.L = np.full(self.shape, 1e-8)
        self.absolute, self.reward, self.theta = np.zeros((3, *self.shape))

    def received_weights(self):
        L = self.L
        fraction = self.theta / (L * np.maximum(self.absolute + L, self.alpha * L))
        return fraction * (L + self.reward)

    def step(self, gradient):
        w = self.received_weights()
        self.L = np.maximum(self.L, np.abs(gradient))
        self.absolute += np.abs(gradient)
        self.reward = np.maximum(self.reward - gradient * w, 0.0)
        self.theta -= gradient


class K17(ByCoordinate):
    """Kotłowski (2017), Algorithm 1; the weight by its logarithm."""

    takes_unit_lipschitz = True
    alpha = 9 / 8
    s2 = 0.0

    def __init__(self, *given):
        super().__init__(*given)
        self.h = np.zeros(self.shape)

    def receive(self, x):
        super().receive(x)
        self.x = column(x)
        self.s2 = self.s2 + self.x**2

    @np.errstate(divide="ignore")
    def received_weights(self):
        h, s2 = self.h, positive(self.s2)
        log_eta = (h**2 + self.x**2) / (2.0 * self.alpha * s2)
        log_eta -= np.log(self.alpha * self.t * self.shape[0])
        return np.copysign(np.exp(log_eta + np.log(np.abs(h) / s2)), h)

    def step(self, gradient):
        self.h -= gradient


class FreeGrad(ByCoordinate):
    """Mhammedi, Koolen (2020), Algorithm 2; the weight by its logarithm.

    `B` is the sum over the rows of |x| / h, and `_tau` marks values at the restart.
    """

    takes_unit_lipschitz = True

    def __init__(self, *given):
        super().__init__(*given)
        self.h, self.B, self.h_tau, self.B_tau = np.zeros((4, self.shape[0], 1))
        self.G, self.V = np.zeros((2, *self.shape))

    def receive(self, x):
        super().receive(x)
        x = np.abs(column(x))
        self.h = np.maximum(self.h, x)
        restarts = ((x > 0.0) & (self.h > self.h_tau * (self.B + 1.0)))[:, 0]
        self.B += x / positive(self.h)
        self.h_tau[restarts], self.B_tau[restarts] = self.h[restarts], self.B[restarts]
        self.G[restarts], self.V[restarts] = 0.0, self.h[restarts] ** 2

    @np.errstate(divide="ignore")
    def received_weights(self):
        G, V, h = np.abs(self.G), positive(self.V), self.h
        factor = (2.0 * V + h * G) * self.h_tau**2
        factor /= 2.0 * (V + h * G) ** 2 * np.sqrt(V)
        factor /= positive(self.h_tau * self.B_tau)
        exponent = G**2 / (2.0 * V + 2.0 * h * G)
        return -np.copysign(np.exp(exponent + np.log(G * factor)), self.G)

    def step(self, gradient):
        self.G += gradient
        self.V += gradient**2


class Coin(ByCoordinate):
    """Vowpal Wabbit's `--coin`; `wealth` is what was won beyond the first alpha."""

    takes_unit_lipschitz = True
    alpha = 4.0

    def __init__(self, *given):
        super().__init__(*given)
        self.X = np.zeros((self.shape[0], 1))
        self.Z, self.A, self.wealth = np.zeros((3, *self.shape))

    def receive(self, x):
        super().receive(x)
        self.X = np.maximum(self.X, np.abs(column(x)))

    def received_weights(self):
        X = positive(self.X)
        return (self.alpha + self.wealth) * self.Z / (X * (X + self.A))

    def step(self, gradient):
        self.wealth -= gradient * self.received_weights()
        self.Z -= gradient
        self.A += np.abs(gradient)


#: By the names that the estimators give them.
COMPETITORS = {
    "adagrad": AdaGrad,
    "adam": Adam,
    "nag": NAG,
    "sfmd": SFMD,
    "cocob": CoCoB,
    "k17": K17,
    "freegrad": FreeGrad,
    "coin": Coin,
}
