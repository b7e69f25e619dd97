"""Proximal steps, of the losses and of the weights: as bisection in decimals finds."""

import decimal
from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import naive
from support.losses import SEPARATE

from sklearn_scinol import losses
from sklearn_scinol.losses.methods import MAX_STEP
from sklearn_scinol.losses.proximal import proximal_step

each_loss = pytest.mark.parametrize(
    ("loss", "plain"), [both[:2] for both in SEPARATE.values()], ids=SEPARATE
)


@pytest.fixture(autouse=True)
def floating_point_as_in_the_engines():
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


@each_loss
def test_extremes_stay_finite(loss, plain):
    sizes = np.array([-1e150, -1.0, -1e-150, 0.0, 1e-150, 1.0, 1e150])
    for s in (1e-300, 1e-150, 1e-20, 1.0, 1e20, 1e150, MAX_STEP):
        for p in sizes:
            for y in np.array([-1.0, 1.0]) if classifies(loss) else sizes:
                numbers = loss.proximal(y, p, np.float64(s))
                assert np.isfinite(numbers).all(), (y, p, s, *numbers)
                assert numbers[1] >= 0.0, (y, p, s, *numbers)
