"""Losses to try."""

from sklearn_scinol.losses import (
    AbsoluteError,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Quantile,
    SquaredError,
    SquaredHinge,
)

#: Losses of one output, with targets to try and where each has a kink.
SEPARATE = {
    "logistic": (Logistic(), [-1.0, 1.0], lambda y: []),
    "hinge": (Hinge(), [-1.0, 1.0], lambda y: [y]),
    "squared hinge": (SquaredHinge(), [-1.0, 1.0], lambda y: [y]),
    "squared": (SquaredError(), [-2.5, 0.0, 3.0], lambda y: []),
    "absolute": (AbsoluteError(), [-2.5, 0.0, 3.0], lambda y: [y]),
    "huber": (Huber(0.7), [-2.5, 0.0, 3.0], lambda y: [y - 0.7, y + 0.7]),
    "tube": (EpsilonInsensitive(0.3), [-2.5, 0.0], lambda y: [y - 0.3, y + 0.3]),
    "tube of no width": (EpsilonInsensitive(0.0), [-2.5, 0.0], lambda y: [y]),
    "median": (Quantile(0.5), [-2.5, 3.0], lambda y: [y]),
    "low quantile": (Quantile(0.1), [-2.5, 3.0], lambda y: [y]),
    "high quantile": (Quantile(0.8), [-2.5, 3.0], lambda y: [y]),
}
