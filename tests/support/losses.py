"""Losses to try."""

from sklearn_scinol import losses

#: Losses of one output, with targets to try and where each has a kink.
SEPARATE = {
    "logistic": (losses.Logistic(), [-1.0, 1.0], lambda y: []),
    "hinge": (losses.Hinge(), [-1.0, 1.0], lambda y: [y]),
    "squared hinge": (losses.SquaredHinge(), [-1.0, 1.0], lambda y: [y]),
    "squared": (losses.SquaredError(), [-2.5, 0.0, 3.0], lambda y: []),
    "absolute": (losses.AbsoluteError(), [-2.5, 0.0, 3.0], lambda y: [y]),
    "huber": (losses.Huber(0.7), [-2.5, 0.0, 3.0], lambda y: [y - 0.7, y + 0.7]),
    "tube": (losses.EpsilonInsensitive(0.3), [-2.5, 0.0], lambda y: [y - 0.3, y + 0.3]),
    "tube of no width": (losses.EpsilonInsensitive(0.0), [-2.5, 0.0], lambda y: [y]),
    "median": (losses.Quantile(0.5), [-2.5, 3.0], lambda y: [y]),
    "low quantile": (losses.Quantile(0.1), [-2.5, 3.0], lambda y: [y]),
    "high quantile": (losses.Quantile(0.8), [-2.5, 3.0], lambda y: [y]),
}
