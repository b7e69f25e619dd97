"""Checks of learners and losses: they pass correct ones, and no others."""

import numpy as np
import pytest
from support.outside import (
    CoshLoss,
    Descent,
    LeastSquares,
    MarginLoss,
    MergingDescent,
    SqrtLoss,
    Weights,
)
from support.registry import LEARNERS, thoroughly

from sklearn_scinol import learners, losses
from sklearn_scinol.checks import check_learner, check_loss

CHECKED = [Descent(0.5), MergingDescent(0.5), LeastSquares(0.5), learners.ScInOL2()]
CHECKED += [learners.ScInOL2(max_share=1.5), learners.CODE(), learners.Adam(0.1)]
CHECKED += [learners.OGD(0.5)]
CHECKED += thoroughly(
    *(
        cls(*[6.0 for field in cls._fields if field not in cls._field_defaults])
        for name, cls in LEARNERS.items()
        if name != "online_newton"
    )
)


@pytest.mark.cases(3)
@pytest.mark.parametrize("learner", CHECKED, ids=lambda one: type(one).__name__)
def test_checked_learner(learner, engine):
    check_learner(learner, engines=("numpy" if engine == "numpy" else "numba",))


def test_both_engines_are_checked(monkeypatch):
    numba = pytest.importorskip("numba", reason="numba is not installed")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    check_learner(Descent(0.5))

    def update(self, s, i, x, g, w, t):
        s.w[i] -= (1.0 if np.size(x) > 1 else 1.001) * g * x

    with pytest.raises(AssertionError, match="all engines agree"):
        check_learner(broken(Descent(0.5), update=update))


def broken(learner, **declarations):
    """It with other declarations; of a class that pickle finds."""
    global Broken
    Broken = type("Broken", (type(learner),), {"__slots__": (), **declarations})
    return Broken(*learner)


def peek(self, s, i, x, t):
    s.w[i] += 1e-3
    return s.w[i]


def decay(self, s, i, x, g, w, t):
    s.w[i] = 0.9 * s.w[i] - g * x


def blow_up(self, s, i, x, g, w, t):
    s.w[i] -= g * x * np.exp(np.abs(x))


def own_x(self, s, i, x, t):
    return s.w[i] / (1.0 + np.abs(x))


def says_one(self, s, shared, t):
    yield "weights are 1", s.w == 1.0


def not_finite(self, s, shared, w, x, t):
    return Weights(w / 0.0), None


def no_bound(self, s, shared, u, t, first):
    return 0.0 * u - 1.0


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("declarations", "statement"),
    [
        ({"weight": peek}, "makes? no difference|before it is learned|change nothing"),
        ({"update": decay}, "dense and sparse rows agree"),
        ({"weight": own_x}, "a row is charged for what is predicted before"),
        ({"scale_invariant": True}, "powers of two"),
        ({"invariants": says_one}, "weights are 1"),
        ({"regret_bound": no_bound}, "is at most its bound, -"),
        ({"update": blow_up, "stays_finite": True}, "Floating-point|stay finite"),
        ({"merged": not_finite}, "is finite"),
    ],
    ids=lambda one: "-".join(one) if isinstance(one, dict) else "",
)
def test_broken_learner(declarations, statement):
    with pytest.raises((AssertionError, ValueError), match=statement):
        check_learner(broken(Descent(0.5), **declarations), engines=("numpy",))


def test_checks_refuse_what_is_none():
    with pytest.raises(TypeError, match="Expected an instance of a learner, got <"):
        check_learner(Descent)
    with pytest.raises(TypeError, match="Expected an instance of a loss, got 'hinge'"):
        check_loss("hinge")
    with pytest.raises(TypeError, match="A learner must declare `State`"):
        check_learner(SqrtLoss())


LOSSES = [SqrtLoss(2.0), CoshLoss(), MarginLoss()]
LOSSES += [
    cls()
    for kind in (losses.CLASSIFICATION, losses.JOINT, losses.REGRESSION)
    for cls in kind.values()
]


@pytest.mark.cases(20)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda one: type(one).__name__)
def test_checked_loss(loss, engine):
    check_loss(loss, engines=("numpy" if engine == "numpy" else "numba",))


@pytest.mark.parametrize(
    ("loss", "declarations", "statement"),
    [
        (SqrtLoss(), {"lipschitz": 1.0}, "slopes are at most `lipschitz`"),
        (SqrtLoss(), {"gradient": lambda self, y, p: 0.5 * p - y}, "`gradient` is the"),
        (SqrtLoss(), {"value": lambda self, y, p: -y * p}, "not negative"),
        (CoshLoss(), {"minimiser": lambda self, y, p: y + 1.0}, "`minimiser` is one"),
        (CoshLoss(), {"proximal": lambda self, y, p, s: (0.0, 0.0)}, "`proximal` min"),
        (MarginLoss(), {"row_value": lambda self, y, p: 0.0}, "`row_value` is `value`"),
        (SqrtLoss(), {"log_probabilities": lambda self, p: p}, "column for each class"),
    ],
    ids=lambda one: "-".join(one) if isinstance(one, dict) else "",
)
def test_broken_loss(loss, declarations, statement):
    with pytest.raises(AssertionError, match=statement):
        check_loss(broken(loss, **declarations), engines=("numpy",))
