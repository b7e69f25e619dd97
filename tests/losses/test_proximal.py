"""Proximal steps, of the losses and of the weights: optimal, in the ball, accurate.

That a point is optimal is shown by what a tangent of the loss cannot go below: of a
convex function a tangent is a lower bound, the loss replaced by it the minimum over the
ball is that of a parabola, and for the right tangent both are the same number.
"""

import decimal
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from support import naive

from sklearn_scinol.losses import (
    CLASSIFICATION,
    REGRESSION,
    AbsoluteError,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Quantile,
    SquaredError,
    SquaredHinge,
)
from sklearn_scinol.losses.methods import MAX_STEP
from sklearn_scinol.losses.proximal import proximal_step


class LossCase(NamedTuple):
    """A loss, its plain counterpart, and where it has kinks and is smallest."""

    loss: NamedTuple
    plain: naive.Loss
    kinks: callable = lambda y: []
    minimisers: callable = lambda y: (y, y)

    @property
    def classifies(self):
        return type(self.loss) in CLASSIFICATION.values()


def beyond_margin(y):
    return (1.0, np.inf) if y > 0 else (-np.inf, -1.0)


LOSSES = {
    "logistic": LossCase(
        Logistic(), naive.Logistic(), minimisers=lambda y: (y * np.inf, y * np.inf)
    ),
    "hinge": LossCase(Hinge(), naive.Hinge(), lambda y: [y], beyond_margin),
    "squared hinge": LossCase(
        SquaredHinge(), naive.SquaredHinge(), minimisers=beyond_margin
    ),
    "absolute": LossCase(AbsoluteError(), naive.AbsoluteError(), lambda y: [y]),
    "squared": LossCase(SquaredError(), naive.SquaredError()),
    "huber": LossCase(Huber(0.7), naive.Huber(0.7)),
    "tube": LossCase(
        EpsilonInsensitive(0.3),
        naive.EpsilonInsensitive(0.3),
        lambda y: [y - 0.3, y + 0.3],
        lambda y: (y - 0.3, y + 0.3),
    ),
    "tube of no width": LossCase(
        EpsilonInsensitive(0.0), naive.EpsilonInsensitive(0.0), lambda y: [y]
    ),
    "quantile": LossCase(Quantile(0.8), naive.Quantile(0.8), lambda y: [y]),
}

losses = pytest.mark.parametrize("tested", LOSSES.values(), ids=LOSSES)


@pytest.fixture(autouse=True)
def floating_point_as_in_the_engines():
    with np.errstate(all="ignore"):
        yield


def test_every_loss_is_tested():
    tested = {type(tested.loss) for tested in LOSSES.values()}
    assert tested == {*CLASSIFICATION.values(), *REGRESSION.values()}


class Step(NamedTuple):
    """A problem: the weights, the row, its target and weight; lambda and the ball."""

    w: np.ndarray
    x: np.ndarray
    y: float
    c: float
    lam: float
    radius: float

    @property
    def p(self):
        return self.w @ self.x

    @property
    def reach(self):
        """No prediction in the ball is larger."""
        return self.radius * np.linalg.norm(self.x)

    def solve(self, loss):
        """The package's new weights and decrease."""
        q, norm2 = self.x @ self.x, self.w @ self.w
        arguments = self.y, self.p, q, self.c, self.lam, norm2, self.radius
        shrink, step, decrease = proximal_step(loss, *map(np.float64, arguments))
        return shrink * self.w + step * self.x, decrease

    def solve_plainly(self, plain):
        """New weights and decrease by bisection in decimals."""
        with decimal.localcontext(decimal.Context(prec=naive.DIGITS)):
            new, decrease = naive.implicit_step(
                plain,
                [Decimal(w_i) for w_i in self.w],
                [Decimal(x_i) for x_i in self.x],
                *map(Decimal, (self.y, self.c, self.lam, self.radius)),
            )
        return np.array(new, dtype=float), float(decrease)

    def objective(self, loss, new):
        distance2 = (new - self.w) @ (new - self.w)
        return self.c * loss.value(self.y, new @ self.x) + self.lam / 2 * distance2

    def project(self, new):
        return new * min(1.0, self.radius / max(np.linalg.norm(new), 1e-300))

    def minimiser_of_tangent(self, slope):
        if self.lam == 0.0:
            return -np.sign(slope) * self.radius * self.x / np.linalg.norm(self.x)
        return self.project(self.w - self.c * slope / self.lam * self.x)

    def tangent_bound(self, loss, at, slope):
        """The least value of the objective with a tangent instead of the loss."""
        new = self.minimiser_of_tangent(slope)
        tangent = loss.value(self.y, at) + slope * (new @ self.x - at)
        return self.c * tangent + self.lam / 2 * (new - self.w) @ (new - self.w)

    def lower_bound(self, tested, new_p):
        """The best bound by tangents at the new prediction and at the kinks."""
        if self.lam == 0.0 and self.radius == np.inf:
            return 0.0  # as low as every loss gets somewhere
        loss = tested.loss
        bounds = [self.tangent_bound(loss, new_p, loss.gradient(self.y, new_p))]
        for kink in tested.kinks(self.y):
            # On either side the slope is the same all the way to the next kink.
            slopes = [loss.gradient(self.y, kink + side) for side in (-0.1, 0.1)]
            if slopes[0] < 0.0 < slopes[1]:
                slopes.append(0.0)
            if self.lam > 0.0:
                # The bound rises with the slope where its own minimiser is beyond.
                misses = [self.minimiser_of_tangent(g) @ self.x - kink for g in slopes]
                if misses[0] > 0.0 > misses[1]:
                    slopes.append(
                        brentq(
                            lambda g, kink=kink: (
                                self.minimiser_of_tangent(g) @ self.x - kink
                            ),
                            *slopes[:2],
                            xtol=1e-300,
                            rtol=1e-15,
                        )
                    )
            bounds += [self.tangent_bound(loss, kink, slope) for slope in slopes]
        return max(bounds)


LAMBDAS = [0.0, 1e-20, 1e-12, *(10.0**exponent for exponent in range(-6, 7, 2))]
PLACES = ["no ball", "inside", "on the sphere", "outward", "zero", "along"]


def random_steps(tested, place, lam, n, seed=0):
    """Problems with the old weights in a given place."""
    rng = np.random.default_rng([seed, PLACES.index(place), LAMBDAS.index(lam)])
    for _ in range(n):
        d = rng.integers(1, 6)
        x = rng.normal(size=d) * 10.0 ** rng.uniform(-1.0, 1.0)
        radius = 10.0 ** rng.uniform(-1.5, 1.0)
        w = rng.normal(size=d)
        w *= radius / np.linalg.norm(w)
        y = rng.choice([-1.0, 1.0]) if tested.classifies else 3.0 * rng.normal()
        if place in ("no ball", "inside"):
            w *= rng.uniform()
        elif place == "zero":
            w *= 0.0
        elif place == "along":
            w = rng.choice([-1.0, 1.0]) * x * radius / np.linalg.norm(x)
        elif place == "outward":
            w *= rng.uniform(0.9, 1.0)
            y = np.sign(w @ x) * (1.0 if tested.classifies else abs(w @ x) + abs(y))
        radius = np.inf if place == "no ball" else radius
        yield Step(w, x, y, rng.choice([1.0, rng.exponential()]), lam, radius)


places = pytest.mark.parametrize("place", PLACES)


def has_no_solution(tested, place, lam):
    return place == "no ball" and lam == 0.0 and type(tested.loss) is Logistic


def steps_with_solution(tested, place, n, seed=0):
    """Some steps with each weight of the loss."""
    for lam in LAMBDAS:
        if not has_no_solution(tested, place, lam):
            yield from random_steps(tested, place, lam, n, seed)


@losses
@places
def test_step_is_optimal(tested, place):
    for step in steps_with_solution(tested, place, 10):
        new, decrease = step.solve(tested.loss)
        assert np.linalg.norm(new) <= step.radius * (1 + 1e-12)

        value = step.objective(tested.loss, new)
        tolerance = 1e-8 * (1.0 + abs(value))
        assert value <= step.lower_bound(tested, new @ step.x) + tolerance

        fall = step.c * tested.loss.value(step.y, step.p) - value
        assert decrease == pytest.approx(fall, abs=tolerance)
        assert decrease >= 0.0


@pytest.mark.cases(3)
@losses
@places
def test_step_agrees_with_bisection_in_decimals(tested, place):
    for step in steps_with_solution(tested, place, 5, seed=1):
        new, decrease = step.solve(tested.loss)
        expected, delta = step.solve_plainly(tested.plain)
        size = np.linalg.norm(step.w) + np.linalg.norm(expected)
        assert_allclose(new, expected, rtol=0.0, atol=1e-12 * size)
        if step.radius == np.inf:
            assert decrease == pytest.approx(delta, rel=1e-12)
        else:
            value = step.c * tested.loss.value(step.y, step.p)
            assert decrease == pytest.approx(delta, rel=1e-12, abs=1e-14 * value)


@losses
@places
def test_without_regularisation_the_nearest_minimiser(tested, place):
    if has_no_solution(tested, place, 0.0):
        pytest.skip("there is no minimiser")
    for step in random_steps(tested, place, 0.0, 40):
        new, _ = step.solve(tested.loss)
        low, high = np.clip(tested.minimisers(step.y), -step.reach, step.reach)
        assert low - 1e-12 * abs(low) <= new @ step.x <= high + 1e-12 * abs(high)
        # Around the nearest point of a convex set, the set is on the other side of the
        # plane through the point: none of it is further in the direction of `w`. The
        # set has a disc for every prediction; in each the furthest point is taken.
        normal = step.w - new
        if step.radius == np.inf:
            nearest = np.clip(step.p, low, high)
            assert np.linalg.norm(normal) == pytest.approx(
                abs(step.p - nearest) / np.linalg.norm(step.x), rel=1e-12, abs=1e-15
            )
            continue
        unit = step.x / np.linalg.norm(step.x)
        if low == high and abs(low) == step.reach:  # one point alone
            assert_allclose(new, np.sign(low) * step.radius * unit, rtol=1e-12)
            continue
        along = np.linspace(low, high, 501) / np.linalg.norm(step.x)
        across = np.sqrt(np.maximum(step.radius**2 - along**2, 0.0))
        normal_across = np.linalg.norm(normal - (normal @ unit) * unit)
        furthest = np.max(along * (normal @ unit) + across * normal_across)
        assert furthest <= normal @ new + 1e-12 * step.radius**2


@losses
@pytest.mark.parametrize("exponent", range(-12, 13, 2))
def test_decrease_keeps_its_digits(tested, exponent):
    rng = np.random.default_rng(exponent + 12)
    for _ in range(10):
        s = 10.0**exponent * rng.uniform(0.5, 2.0)
        p = rng.choice([3.0, 30.0]) * rng.normal()
        y = rng.choice([-1.0, 1.0]) if tested.classifies else 3.0 * rng.normal()
        way, decrease = tested.loss.proximal(*np.float64([y, p, s]))
        with decimal.localcontext(decimal.Context(prec=naive.DIGITS)):
            (new_p,), expected = naive.implicit_step(
                tested.plain,
                [Decimal(p)],
                [Decimal(1)],
                Decimal(y),
                Decimal(1),
                1 / Decimal(s),
                naive.INFINITY,
            )
            expected_way = float(new_p - Decimal(p))
        assert way == pytest.approx(expected_way, rel=1e-12)
        assert decrease == pytest.approx(float(expected), rel=1e-12)


@losses
def test_extremes_stay_finite(tested):
    sizes = [0.0, 1e-150, 1.0, 1e150]
    targets = [1.0] if tested.classifies else sizes
    for s in (1e-300, 1e-150, 1e-20, 1.0, 1e20, 1e150, MAX_STEP):
        for p in sizes:
            for y in targets:
                for signs in np.ndindex(2, 2):
                    arguments = y * (-1) ** signs[0], p * (-1) ** signs[1], s
                    numbers = tested.loss.proximal(*map(np.float64, arguments))
                    assert np.isfinite(numbers).all(), (*arguments, *numbers)
                    assert numbers[1] >= 0.0, (*arguments, *numbers)
