"""Losses: values, slopes, links and proximal steps, and both engines.

That their formulas fit together is checked by `check_loss`, see `test_checks.py`.
"""

import decimal
from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import naive

from sklearn_scinol import losses
from sklearn_scinol.losses.methods import MAX_STEP
from sklearn_scinol.losses.proximal import proximal_step


def both(name, targets, kinks, *parameters):
    """A loss of one output, its reference, targets to try, and where it has kinks."""
    pair = (getattr(each, name)(*parameters) for each in (losses, naive))
    return *pair, targets, kinks


SIGNS, NUMBERS = [-1.0, 1.0], [-2.5, 0.0, 3.0]
SEPARATE = {
    "logistic": both("Logistic", SIGNS, lambda y: []),
    "hinge": both("Hinge", SIGNS, lambda y: [y]),
    "squared hinge": both("SquaredHinge", SIGNS, lambda y: [y]),
    "squared": both("SquaredError", NUMBERS, lambda y: []),
    "absolute": both("AbsoluteError", NUMBERS, lambda y: [y]),
    "huber": both("Huber", NUMBERS, lambda y: [y - 0.7, y + 0.7], 0.7),
    "tube": both("EpsilonInsensitive", NUMBERS, lambda y: [y - 0.3, y + 0.3], 0.3),
    "tube of no width": both("EpsilonInsensitive", NUMBERS, lambda y: [y], 0.0),
    "median": both("Quantile", NUMBERS, lambda y: [y], 0.5),
    "low quantile": both("Quantile", NUMBERS, lambda y: [y], 0.1),
    "high quantile": both("Quantile", NUMBERS, lambda y: [y], 0.8),
}

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


# Proximal steps, of losses and of weights: as bisection in decimals finds.

each_loss = pytest.mark.parametrize(
    ("loss", "plain"), [both[:2] for both in SEPARATE.values()], ids=SEPARATE
)


@pytest.fixture
def as_engines_compute():
    """Leave floating-point warnings out, as the engines do."""
    with np.errstate(all="ignore"):
        yield


def classifies(loss):
    return type(loss) in losses.CLASSIFICATION.values()


def implicit_step(plain, w, x, *numbers):
    """New weights and decrease by bisection in decimals."""
    with decimal.localcontext(decimal.Context(prec=naive.DIGITS)):
        vectors = ([Decimal(v) for v in vector] for vector in (w, x))
        new, decrease = naive.implicit_step(plain, *vectors, *map(Decimal, numbers))
        change = [float(a - Decimal(b)) for a, b in zip(new, w, strict=True)]
    return np.array(new, dtype=float), change, float(decrease)


LAMBDAS = [0.0, 1e-20, 1e-12, *(10.0**exponent for exponent in range(-6, 7, 2))]
PLACES = ["no ball", "inside", "on the sphere", "outward", "zero", "along"]


def random_steps(loss, place, lam, n):
    """Weights in a given place, a row, its target and weight, lambda and the ball."""
    rng = np.random.default_rng([1, PLACES.index(place), LAMBDAS.index(lam)])
    for _ in range(n):
        d = rng.integers(1, 6)
        x = rng.normal(size=d) * 10.0 ** rng.uniform(-1.0, 1.0)
        radius = 10.0 ** rng.uniform(-1.5, 1.0)
        w = rng.normal(size=d)
        w *= radius / np.linalg.norm(w)
        y = rng.choice([-1.0, 1.0]) if classifies(loss) else 3.0 * rng.normal()
        if place in ("no ball", "inside"):
            w *= rng.uniform()
        elif place == "zero":
            w *= 0.0
        elif place == "along":
            w = rng.choice([-1.0, 1.0]) * x * radius / np.linalg.norm(x)
        elif place == "outward":
            w *= rng.uniform(0.9, 1.0)
            y = np.sign(w @ x) * (1.0 if classifies(loss) else abs(w @ x) + abs(y))
        radius = np.inf if place == "no ball" else radius
        yield w, x, y, rng.choice([1.0, rng.exponential()]), lam, radius


@pytest.mark.usefixtures("as_engines_compute")
@pytest.mark.cases(12)
@each_loss
@pytest.mark.parametrize("place", PLACES)
def test_step_agrees_with_bisection_in_decimals(loss, plain, place):
    for lam in LAMBDAS:
        if place == "no ball" and lam == 0.0 and type(loss) is losses.Logistic:
            continue  # there is no solution
        for w, x, y, c, _, radius in random_steps(loss, place, lam, 5):
            p, q = w @ x, x @ x
            arguments = map(np.float64, (y, p, q, c, lam, w @ w, radius))
            shrink, step, decrease = proximal_step(loss, *arguments)
            new = shrink * w + step * x
            expected, _, delta = implicit_step(plain, w, x, y, c, lam, radius)
            size = np.linalg.norm(w) + np.linalg.norm(expected)
            assert_allclose(new, expected, rtol=0.0, atol=1e-12 * size)
            assert np.linalg.norm(new) <= radius * (1 + 1e-12)
            value = 0.0 if radius == np.inf else c * loss.value(y, p)
            assert decrease == pytest.approx(delta, rel=1e-12, abs=1e-14 * value)
            assert decrease >= 0.0


@pytest.mark.usefixtures("as_engines_compute")
@each_loss
@pytest.mark.parametrize("exponent", range(-12, 13, 2))
def test_decrease_keeps_its_digits(loss, plain, exponent):
    rng = np.random.default_rng(exponent + 12)
    for _ in range(10):
        s = 10.0**exponent * rng.uniform(0.5, 2.0)
        p = rng.choice([3.0, 30.0]) * rng.normal()
        y = rng.choice([-1.0, 1.0]) if classifies(loss) else 3.0 * rng.normal()
        said = loss.proximal(*np.float64([y, p, s]))
        lam = 1 / Decimal(s)
        _, (way,), decrease = implicit_step(plain, [p], [1], y, 1, lam, naive.INFINITY)
        assert said == pytest.approx((way, decrease), rel=1e-12)


@pytest.mark.usefixtures("as_engines_compute")
@each_loss
def test_extremes_stay_finite(loss, plain):
    sizes = np.array([-1e150, -1.0, -1e-150, 0.0, 1e-150, 1.0, 1e150])
    for s in (1e-300, 1e-150, 1e-20, 1.0, 1e20, 1e150, MAX_STEP):
        for p in sizes:
            for y in np.array([-1.0, 1.0]) if classifies(loss) else sizes:
                numbers = loss.proximal(y, p, np.float64(s))
                assert np.isfinite(numbers).all(), (y, p, s, *numbers)
                assert numbers[1] >= 0.0, (y, p, s, *numbers)
