"""Slow references of the competitors, in plain Python like those of `naive`.

One row and one coordinate at a time, on lists of floats, each step as the source states
it. Nothing here is shared with the package. The equations are those of

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
import math

__all__ = ["COMPETITORS"]


class Competitor:
    """Base of the competitors.

    A row of weight c is the row c * x under a loss whose gradient is g. An algorithm
    that takes a loss with Lipschitz constant 1 sees the row L * c * x and the gradient
    g / L. The prediction is that of the row itself.

    An algorithm has a `weight` for the row that was last received, and takes a `step`
    for its `gradient`, of each coordinate i and output k.
    """

    takes_unit_lipschitz = False

    def __init__(self, n_coordinates, n_outputs, loss):
        self.loss = loss
        self.lipschitz = loss.lipschitz if self.takes_unit_lipschitz else 1.0
        self.d = n_coordinates
        self.n_outputs = n_outputs
        self.t = 0

    def predict(self, x, sample_weight):
        """The prediction of the row, were it the next one; nothing is stored."""
        return dot(self.weights_for(self.scaled(x, sample_weight)), x)

    def at_rest(self, x, sample_weight):
        """The prediction of a row, as intercepts are evaluated."""
        return self.predict(x, sample_weight)

    def learn(self, x, y, sample_weight):
        """Learn from a row, return its prediction."""
        scaled = self.scaled(x, sample_weight)
        self.receive(scaled)
        p = dot(self.received_weights(), x)
        g = [g_k / self.lipschitz for g_k in self.loss.gradient(y, p)]
        for i, x_i in enumerate(scaled):
            for k, g_k in enumerate(g):
                self.step(i, k, g_k * x_i)
        return p

    def scaled(self, x, sample_weight):
        return [self.lipschitz * sample_weight * x_i for x_i in x]

    def receive(self, x):
        """Update the state by a row before the row is predicted."""
        self.t += 1

    def weights(self):
        """The weights, coordinates by outputs, for a row of zeros that came next."""
        return self.weights_for([0.0] * self.d)

    def weights_for(self, x):
        """The weights for the row, were it the next one; nothing is stored."""
        algorithm = copy.deepcopy(self)
        algorithm.receive(x)
        return algorithm.received_weights()

    def received_weights(self):
        return [
            [self.weight(i, k) for k in range(self.n_outputs)] for i in range(self.d)
        ]

    def matrix(self, value):
        return [[value] * self.n_outputs for _ in range(self.d)]


class Descent(Competitor):
    """Algorithms that move stored weights at a learning rate."""

    def __init__(self, n_coordinates, n_outputs, loss, *, learning_rate=1.0):
        super().__init__(n_coordinates, n_outputs, loss)
        self.learning_rate = learning_rate
        self.w = self.matrix(0.0)

    def weight(self, i, k):
        return self.w[i][k]


class AdaGrad(Descent):
    """Duchi, Hazan, Singer (2011); the sum of squares starts at 0.1, not at 0."""

    def __init__(self, n_coordinates, n_outputs, loss, **parameters):
        super().__init__(n_coordinates, n_outputs, loss, **parameters)
        self.G = self.matrix(0.1)

    def step(self, i, k, gradient):
        self.G[i][k] += gradient**2
        self.w[i][k] -= self.learning_rate * gradient / math.sqrt(self.G[i][k])


class Adam(Descent):
    """Kingma, Ba (2015), Algorithm 1. Also where x = 0 do weights go on moving."""

    beta1, beta2, epsilon = 0.9, 0.999, 1e-8

    def __init__(self, n_coordinates, n_outputs, loss, **parameters):
        super().__init__(n_coordinates, n_outputs, loss, **parameters)
        self.m = self.matrix(0.0)
        self.v = self.matrix(0.0)

    def step(self, i, k, gradient):
        self.m[i][k] = self.beta1 * self.m[i][k] + (1.0 - self.beta1) * gradient
        self.v[i][k] = self.beta2 * self.v[i][k] + (1.0 - self.beta2) * gradient**2
        m_hat = self.m[i][k] / (1.0 - self.beta1**self.t)
        v_hat = self.v[i][k] / (1.0 - self.beta2**self.t)
        self.w[i][k] -= self.learning_rate * m_hat / (math.sqrt(v_hat) + self.epsilon)


class NAG(Descent):
    """Ross, Mineiro, Langford (2013), normalised adaptive gradient descent.

    With `normalizer="mean"`, N is divided by the number of coordinates.
    """

    def __init__(
        self, n_coordinates, n_outputs, loss, *, normalizer="sum", **parameters
    ):
        super().__init__(n_coordinates, n_outputs, loss, **parameters)
        self.divisor = {"sum": 1, "mean": n_coordinates}[normalizer]
        self.s = [0.0] * n_coordinates
        self.N = 0.0
        self.G = self.matrix(0.0)

    def receive(self, x):
        super().receive(x)
        for i, x_i in enumerate(x):
            if abs(x_i) > self.s[i]:
                for k in range(self.n_outputs):
                    self.w[i][k] *= self.s[i] / abs(x_i)
                self.s[i] = abs(x_i)
        self.N += sum(
            (x_i / s_i) ** 2 for x_i, s_i in zip(x, self.s, strict=True) if s_i > 0.0
        )

    def step(self, i, k, gradient):
        self.G[i][k] += gradient**2
        if self.G[i][k] == 0.0:
            return
        rate = self.learning_rate * math.sqrt(self.t / (self.N / self.divisor))
        self.w[i][k] -= rate * gradient / (self.s[i] * math.sqrt(self.G[i][k]))


class SFMD(Competitor):
    """Orabona, Crammer, Cesa-Bianchi (2015), scale-free mirror descent."""

    def __init__(self, n_coordinates, n_outputs, loss, *, learning_rate=1.0):
        super().__init__(n_coordinates, n_outputs, loss)
        self.learning_rate = learning_rate
        self.M = [0.0] * n_coordinates
        self.G = self.matrix(0.0)
        self.S2 = self.matrix(1.0)

    def receive(self, x):
        super().receive(x)
        self.M = [max(M_i, abs(x_i)) for M_i, x_i in zip(self.M, x, strict=True)]

    def weight(self, i, k):
        if self.M[i] == 0.0:
            return 0.0
        rate = self.learning_rate / math.sqrt(self.d * self.S2[i][k])
        return -rate * self.G[i][k] / self.M[i] ** 2

    def step(self, i, k, gradient):
        if gradient == 0.0:
            return
        self.G[i][k] += gradient
        self.S2[i][k] += (gradient / self.M[i]) ** 2


class CoCoB(Competitor):
    """Orabona, Tommasi (2017), Algorithm 2, from initial weights 0."""

    alpha = 100.0

    def __init__(self, n_coordinates, n_outputs, loss):
        super().__init__(n_coordinates, n_outputs, loss)
        self.L = self.matrix(1e-8)
        self.absolute = self.matrix(0.0)
        self.reward = self.matrix(0.0)
        self.theta = self.matrix(0.0)

    def weight(self, i, k):
        L = self.L[i][k]
        fraction = self.theta[i][k] / (L * max(self.absolute[i][k] + L, self.alpha * L))
        return fraction * (L + self.reward[i][k])

    def step(self, i, k, gradient):
        w = self.weight(i, k)
        self.L[i][k] = max(self.L[i][k], abs(gradient))
        self.absolute[i][k] += abs(gradient)
        self.reward[i][k] = max(self.reward[i][k] - gradient * w, 0.0)
        self.theta[i][k] -= gradient


class K17(Competitor):
    """Kotłowski (2017), Algorithm 1; the weight by its logarithm."""

    takes_unit_lipschitz = True
    alpha = 9 / 8

    def __init__(self, n_coordinates, n_outputs, loss):
        super().__init__(n_coordinates, n_outputs, loss)
        self.s2 = [0.0] * n_coordinates
        self.h = self.matrix(0.0)

    def receive(self, x):
        super().receive(x)
        self.x = x
        self.s2 = [s2_i + x_i**2 for s2_i, x_i in zip(self.s2, x, strict=True)]

    def weight(self, i, k):
        h, s2, x = self.h[i][k], self.s2[i], self.x[i]
        if h == 0.0:
            return 0.0
        log_eta = (h**2 + x**2) / (2.0 * self.alpha * s2)
        log_eta -= math.log(self.alpha * self.t * self.d)
        return math.copysign(math.exp(log_eta + math.log(abs(h) / s2)), h)

    def step(self, i, k, gradient):
        self.h[i][k] -= gradient


class FreeGrad(Competitor):
    """Mhammedi, Koolen (2020), Algorithm 2; the weight by its logarithm.

    `B` is the sum over the rows of |x| / h, and `_tau` marks values at the restart.
    """

    takes_unit_lipschitz = True

    def __init__(self, n_coordinates, n_outputs, loss):
        super().__init__(n_coordinates, n_outputs, loss)
        self.h = [0.0] * n_coordinates
        self.B = [0.0] * n_coordinates
        self.h_tau = [0.0] * n_coordinates
        self.B_tau = [0.0] * n_coordinates
        self.G = self.matrix(0.0)
        self.V = self.matrix(0.0)

    def receive(self, x):
        super().receive(x)
        for i, x_i in enumerate(x):
            if x_i == 0.0:
                continue
            self.h[i] = max(self.h[i], abs(x_i))
            first = self.h_tau[i] == 0.0
            restart = first or self.h[i] / self.h_tau[i] > self.B[i] + 1.0
            self.B[i] += abs(x_i) / self.h[i]
            if restart:
                self.h_tau[i], self.B_tau[i] = self.h[i], self.B[i]
                for k in range(self.n_outputs):
                    self.G[i][k], self.V[i][k] = 0.0, self.h[i] ** 2

    def weight(self, i, k):
        G, V, h = self.G[i][k], self.V[i][k], self.h[i]
        if G == 0.0:
            return 0.0
        factor = (2.0 * V + h * abs(G)) * self.h_tau[i] ** 2
        factor /= 2.0 * (V + h * abs(G)) ** 2 * math.sqrt(V)
        factor /= self.h_tau[i] * self.B_tau[i]
        exponent = G**2 / (2.0 * V + 2.0 * h * abs(G))
        return -math.copysign(math.exp(exponent + math.log(abs(G) * factor)), G)

    def step(self, i, k, gradient):
        self.G[i][k] += gradient
        self.V[i][k] += gradient**2


class Coin(Competitor):
    """Vowpal Wabbit's `--coin`; `wealth` is what was won beyond the first alpha."""

    takes_unit_lipschitz = True
    alpha = 4.0

    def __init__(self, n_coordinates, n_outputs, loss):
        super().__init__(n_coordinates, n_outputs, loss)
        self.X = [0.0] * n_coordinates
        self.Z = self.matrix(0.0)
        self.A = self.matrix(0.0)
        self.wealth = self.matrix(0.0)

    def receive(self, x):
        super().receive(x)
        self.X = [max(X_i, abs(x_i)) for X_i, x_i in zip(self.X, x, strict=True)]

    def weight(self, i, k):
        X = self.X[i]
        if X == 0.0:
            return 0.0
        fraction = self.Z[i][k] / (X * (X + self.A[i][k]))
        return (self.alpha + self.wealth[i][k]) * fraction

    def step(self, i, k, gradient):
        self.wealth[i][k] -= gradient * self.weight(i, k)
        self.Z[i][k] -= gradient
        self.A[i][k] += abs(gradient)


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


def dot(weights, x):
    """The predictions of all outputs, from a matrix of coordinates by outputs."""
    return [
        sum(w_i * x_i for w_i, x_i in zip(column, x, strict=True))
        for column in zip(*weights, strict=True)
    ]
