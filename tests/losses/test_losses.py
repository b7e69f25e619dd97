"""Losses: values at points, bounds, links, and both engines.

That their formulas fit together is checked by `check_loss`, see `test_checks.py`.
"""

from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support.losses import SEPARATE

from sklearn_scinol import losses

separate = pytest.mark.parametrize(
    ("loss", "plain", "targets", "kinks"), SEPARATE.values(), ids=SEPARATE
)
GRID = np.linspace(-6.0, 6.0, 241)


def joint_gradient(y, p):
    """Derivatives of a joint loss, which it puts into an array."""
    g = np.full(p.shape, np.nan)
    assert losses.CrossEntropy().row_gradient(y, p, g) is None
    return g


def test_every_loss_is_tested():
    tested = {type(loss) for loss, *_ in SEPARATE.values()}
    assert {*losses.CLASSIFICATION.values(), *losses.REGRESSION.values()} == tested
    assert {*losses.JOINT.values()} == {losses.CrossEntropy}


@pytest.mark.cases(20)
@separate
def test_values_slopes_and_minimisers(loss, plain, targets, kinks):
    """At kinks, too, where slopes are those of SGDClassifier."""
    assert loss.lipschitz == plain.lipschitz
    for y in targets:
        for p in [*kinks(y), *GRID, -800.0, 800.0]:
            with np.errstate(over="ignore"):  # as the engines do
                said = loss.value(y, p), loss.gradient(y, p), loss.minimiser(y, p)
            low, high = plain.minimisers(Decimal(y))
            nearest = min(max(Decimal(p), low), high)
            expected = plain.value(y, p), plain.gradient(y, p), float(nearest)
            assert_allclose(said, expected, rtol=1e-14, atol=1e-15)


def test_values_of_cross_entropy():
    loss = losses.CrossEntropy()
    p = np.log([1.0, 2.0, 5.0])
    assert loss.value(1, p) == pytest.approx(np.log(4.0))
    assert_allclose(joint_gradient(1, p), [0.125, -0.75, 0.625])
    many = loss.value(np.array([0, 2]), np.array([p, p]))
    assert_allclose(many, [np.log(8.0), np.log(1.6)])
    extreme = np.array([-1e5, 0.0, 1e5])
    assert loss.value(0, extreme) == 2e5
    assert_array_equal(joint_gradient(0, extreme), [-1.0, 0.0, 1.0])


def test_probabilities_are_those_of_the_loss():
    """The loss is minus the logarithm of the probability of the label."""
    p = GRID[:, np.newaxis]
    logarithms = losses.Logistic().log_probabilities(p)
    assert_allclose(-logarithms[:, 1], losses.Logistic().value(1.0, GRID))
    assert_allclose(-logarithms[:, 0], losses.Logistic().value(-1.0, GRID))
    p = np.random.default_rng(0).normal(size=(30, 4))
    y = np.arange(30) % 4
    logarithms = losses.CrossEntropy().log_probabilities(p)
    assert_allclose(-logarithms[np.arange(30), y], losses.CrossEntropy().value(y, p))
    # Each class by itself, then divided by their sum, as in scikit-learn.
    alone = 1.0 / (1.0 + np.exp(-p))
    expected = alone / alone.sum(axis=1, keepdims=True)
    assert_allclose(
        np.exp(losses.Logistic().log_probabilities(p)), expected, rtol=1e-13
    )
    for loss, scale in product(
        [losses.Logistic(), losses.CrossEntropy()], [100.0, 1e10, 1e300]
    ):
        logarithms = loss.log_probabilities(scale * p)
        assert np.isfinite(logarithms).all()
        assert_allclose(np.exp(logarithms).sum(axis=1), 1.0, rtol=1e-14)


@pytest.fixture
def compiled():
    """The methods of losses, as compiled code calls them."""
    pytest.importorskip("numba", reason="numba is not installed")
    from sklearn_scinol.engines.numba_engine.compiling import compiled

    return lambda loss, name: compiled(getattr(type(loss), name))


@pytest.mark.cases(3)
@separate
@pytest.mark.parametrize("method", ["value", "gradient", "minimiser", "proximal"])
def test_compiled_method(loss, plain, targets, kinks, method, compiled):
    function = compiled(loss, method)
    steps, rtol, atol = [()], 1e-14, 1e-12
    if method == "proximal":
        steps = [(s,) for s in 10.0 ** np.array([-12.0, -3.0, 0.0, 3.0, 300.0])]
        rtol, atol = 1e-12, 0.0
    for y in targets:
        for p in np.array([*kinks(y), *GRID[:: len(steps)], -1e5, 1e5]):
            for step in steps:
                with np.errstate(all="ignore"):
                    expected = getattr(loss, method)(y, p, *step)
                said = function(loss, y, p, *step)
                assert_allclose(said, expected, rtol, atol)


def test_compiled_joint_loss(compiled):
    loss = losses.CrossEntropy()
    gradient, value = (compiled(loss, f"row_{name}") for name in ("gradient", "value"))
    g = np.empty(5)
    for p in 30.0 * np.random.default_rng(0).normal(size=(20, 5)):
        for y in range(5):
            gradient(loss, y, p, g)
            assert_allclose(g, joint_gradient(y, p), rtol=1e-13, atol=1e-15)
            assert value(loss, y, p) == pytest.approx(loss.value(y, p), abs=1e-13)
