"""What `scale` and `standardize_target` mean, and what holds with them.

Features are standardised here with plain sums over the rows up to each: any learner,
without scaling, must do the same with those.
"""

import copy
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from support.comparisons import assert_close, assert_identical
from support.invariances import weights
from support.naive import LOSSES
from support.registry import CASES, LAYOUTS, LOSS_PARAMETERS, Case, as_linear, thinned
from support.scaled import (
    ALL,
    PLAIN,
    has_target,
    make,
)

from sklearn_scinol import (
    ScInOLRegressor,
)

OF_TARGETS = [
    case
    for case in CASES
    if has_target(case) and case.n_outputs == 1 and not case.average
]

in_layouts = thinned(ALL, layout=LAYOUTS)


# Coefficients.


@pytest.mark.cases(3)
@thinned(
    [case for case in ALL if case.algorithm not in ("dfeg", "k17")],
    layout=LAYOUTS[:2],
    n_samples=[100, 500],
)
def test_coefficients_are_the_model(case, layout, n_samples, engine):
    """Of a row at the mean; a row elsewhere takes part in its deviation.

    With share `a` in the variance, its deviation `r` in units of the standard one, that
    divides it by the root of 1 + a r^2, at most 1 + a r^2 / 2.
    """
    rng = np.random.default_rng(0)
    X = rng.normal([0.0, 1.0, -2.0], [1e-3, 1.0, 1e3], size=(n_samples, 3))
    y = case.data(n_samples)[1]
    estimator = make(case, layout, **as_linear(case.estimator))
    case.partial_fit(estimator, X, y)
    coef = estimator.coef_.reshape(case.n_outputs, 3)

    mean, deviation = X.mean(axis=0), X.std(axis=0)
    rows = np.vstack([mean, mean + rng.uniform(-1.5, 1.5, size=(20, 3)) * deviation])
    terms = np.abs(rows - mean if layout.center else rows)
    shares = ((rows - mean) / deviation) ** 2 / n_samples
    bound = (shares * terms) @ np.abs(coef).T / 2
    rounding = 1e-10 * (np.abs(rows) @ np.abs(coef).T + np.abs(estimator.intercept_))
    linear = rows @ coef.T + estimator.intercept_
    assert np.all(np.abs(case.decision(estimator, rows) - linear) <= bound + rounding)
    assert np.abs(coef).min() > 0.0


@in_layouts
def test_coefficients_of_what_has_not_varied(case, layout, engine):
    X, y = case.data()
    X[:, 2] = 0.1
    X[:, 4] = 0.0
    estimator = make(case, layout)
    case.partial_fit(estimator, layout.container(X), y, sample_weight=weights(len(y)))
    assert_array_equal(estimator.coef_[..., [2, 4]], 0.0)
    assert np.any(estimator.coef_ != 0.0)


# Targets.

PLAIN_OF_TARGETS = [case for case in PLAIN if has_target(case) and case.n_outputs == 1]
in_layouts_of_targets = thinned(PLAIN_OF_TARGETS, layout=LAYOUTS)


def weighted_moments(y, sample_weight):
    """Mean and standard deviation of targets; 0 of none, and exactly 0 of one."""
    y, sample_weight = y[sample_weight > 0.0], sample_weight[sample_weight > 0.0]
    if len(y) < 2:
        return y.sum(), 0.0
    mean = np.average(y, weights=sample_weight)
    return mean, np.sqrt(np.average((y - mean) ** 2, weights=sample_weight))


@thinned([case for case in OF_TARGETS if not case.traits.implicit])
def test_learner_is_told_the_derivative(case, engine):
    """A plain learner is told it, too, by targets as far from its own predictions.

    It is divided by the bound on it, or else by the target's deviation. The first
    target teaches its mean alone.
    """
    X, y = case.data(15)
    c = weights(len(y))
    estimator = make(case, LAYOUTS[1])
    charged = case.charged(estimator, X, y, sample_weight=c)[:, 0]

    loss = LOSSES[case.loss](**LOSS_PARAMETERS.get(case.loss, {}))
    is_bounded = np.isfinite(loss.lipschitz)
    if is_bounded:
        other = case._replace(loss="huber")
        plain = make(other, LAYOUTS[1], target=False, epsilon=1.0)
    else:
        plain = make(case, LAYOUTS[1], target=False)
    expected = []
    for r in range(len(y)):
        mean, deviation = weighted_moments(y[:r], c[:r])
        row = X[r : r + 1], np.zeros(1)
        own = case.charged(copy.deepcopy(plain), *row, sample_weight=c[r : r + 1])[0, 0]
        expected.append(mean + deviation * own)
        slope = loss.lipschitz if is_bounded else deviation
        gradient = loss.gradient(y[r], expected[-1]) if c[:r].any() else 0.0
        target = own - (gradient / slope if slope else 0.0)
        case.partial_fit(plain, X[r : r + 1], [target], sample_weight=c[r : r + 1])
    assert_close(charged, expected, 1e-9)

    new, _ = case.data(seed=3)
    mean, deviation = weighted_moments(y, c)
    expected = mean + deviation * plain.predict(new)
    assert_close(estimator.predict(new), expected, 1e-9)
    assert_close(estimator.coef_, deviation * plain.coef_, 1e-9)
    assert_close(estimator.intercept_, mean + deviation * plain.intercept_, 1e-9)


def in_units(case, layout, unit):
    """The estimator for targets in another unit, in which a threshold is, too."""
    parameters = {}
    if case.loss in ("huber", "epsilon_insensitive"):
        parameters["epsilon"] = LOSS_PARAMETERS[case.loss]["epsilon"] * unit
    return make(case, layout, **parameters)


@pytest.mark.cases(20)
@thinned(OF_TARGETS, layout=LAYOUTS)
def test_any_units_of_the_target(case, layout, engine):
    X, y = case.data()
    X, c = layout.container(X), np.append(1.0, weights(len(y) - 1))
    new = layout.container(case.data(seed=3)[0])
    y *= np.sign(y[0])
    unit, shift = 371.0, -1e4
    assert y[0] * (unit * y[0] + shift) < 0.0  # 0 is on different sides
    plain, moved = in_units(case, layout, 1.0), in_units(case, layout, unit)
    charged = case.charged(plain, X, y, sample_weight=c)
    of_moved = case.charged(moved, X, unit * y + shift, sample_weight=c)
    assert charged[0] == of_moved[0] == 0.0
    assert_close((of_moved[1:] - shift) / unit, charged[1:], 1e-9)
    assert_close((moved.predict(new) - shift) / unit, plain.predict(new), 1e-9)
    assert_close(moved.coef_ / unit, plain.coef_, 1e-9)


@pytest.mark.cases(20)
@thinned(OF_TARGETS, layout=LAYOUTS, exponent=[-300, 300])
def test_powers_of_two_of_the_target(case, layout, exponent, engine):
    X, y = case.data()
    X, c, unit = layout.container(X), weights(len(y)), 2.0**exponent
    new = layout.container(case.data(seed=3)[0])
    plain, scaled = in_units(case, layout, 1.0), in_units(case, layout, unit)
    assert_identical(
        case.charged(scaled, X, unit * y, sample_weight=c) / unit,
        case.charged(plain, X, y, sample_weight=c),
    )
    assert_identical(scaled.predict(new) / unit, plain.predict(new))
    assert_identical(scaled.coef_ / unit, plain.coef_)
    assert_identical(scaled.intercept_ / unit, plain.intercept_)


@in_layouts_of_targets
def test_outputs_do_not_matter_to_each_other(case, layout, engine):
    case = case._replace(n_outputs=2)
    X, y = case.data()
    y = y * [1.0, 1e-4] + [0.0, 7.0]
    X, c = layout.container(X), weights(len(y))
    new = layout.container(case.data(seed=3)[0])
    together = make(case, layout)
    charged = together.partial_fit_predict(X, y, sample_weight=c)
    for k in range(2):
        alone = make(case, layout)
        of_alone = alone.partial_fit_predict(X, y[:, k], sample_weight=c)
        assert_close(charged[:, k], of_alone, 1e-12)
        assert_close(together.predict(new)[:, k], alone.predict(new), 1e-12)
        assert_close(together.coef_[k], alone.coef_, 1e-12)
        assert_close(together.intercept_[k], alone.intercept_[0], 1e-12)


@in_layouts_of_targets
def test_targets_that_never_vary(case, layout, engine):
    X, _ = case.data()
    new = layout.container(case.data(seed=3)[0])
    y = np.full((len(X), case.n_outputs), 0.1)
    estimator = make(case, layout)
    c = np.append([0.0, 0.3], weights(len(y) - 2))
    charged = case.charged(estimator, layout.container(X), y, sample_weight=c)
    assert_array_equal(charged[:2], 0.0)
    assert_array_equal(charged[2:], 0.1)
    assert_array_equal(estimator.predict(new), 0.1)
    assert_array_equal(estimator.coef_, 0.0)
    assert_array_equal(estimator.intercept_, 0.1)


# Numbers of any size.


@st.composite
def weighted_values(draw):
    """One feature of a few rows, many of them the same, and the weights of the rows."""
    of_any_size = st.floats(-100.0, 99.0).map(lambda exponent: 10.0**exponent)
    sizes = draw(st.lists(of_any_size, min_size=1, max_size=4))
    near = [size * (1.0 + 1e-4) for size in sizes]
    values = st.sampled_from([0.0, *sizes, *near, *(-size for size in sizes)])
    weight = st.sampled_from([0.0, 1.0]) | st.floats(1e-6, 1e6)
    rows = draw(st.lists(st.tuples(values, weight), min_size=1, max_size=12))
    return np.array(rows).T


def exact_moments(values, sample_weight):
    values = [Fraction(value) for value in values]
    c = [Fraction(c_r) for c_r in sample_weight]
    mean = sum(c_r * x for c_r, x in zip(c, values, strict=True)) / sum(c)
    squares = [(x - mean) ** 2 for x in values]
    variance = sum(c_r * q for c_r, q in zip(c, squares, strict=True)) / sum(c)
    return float(mean), float(variance)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@settings(suppress_health_check=list(HealthCheck))
@given(rows=weighted_values())
def test_moments(layout, engine, rows):
    values, c = rows
    c = c if c.any() else np.ones_like(c)
    case = Case(ScInOLRegressor, "absolute_error", "scinol2")
    estimator = make(case, layout)
    X = values[:, np.newaxis]
    assert_finite(case, estimator, layout.container, X, values, c)
    model = estimator._model
    mean, variance = exact_moments(values, c)
    # Subtracting the mean leaves a rounding error of its own size.
    largest = np.abs(values[c > 0.0]).max()
    units = model.features.units.exponents[0] * np.array([1, 2])
    of_features = np.ldexp(np.ravel(model.features.mean_and_variance()), units)
    for said in of_features, np.ravel(model.target.moments):
        assert_allclose(said[0], mean, rtol=1e-9, atol=1e-14 * largest)
        assert_allclose(said[1], variance, rtol=1e-9, atol=(1e-10 * largest) ** 2)
    if layout.center:
        # The mean moves along; `M` is the largest row times its weight.
        c = c / c[(c > 0.0).argmax()]
        before = np.cumsum(c) - c
        assert model.state().M[0, 0] <= (1.0 + 1e-9) * np.sqrt(c * before).max()


@in_layouts
def test_extremes(case, layout, engine):
    rng, n = np.random.default_rng(0), 100
    # Of more than that the deviation is not known, and gradients are not bounded.
    size = 149 if case.algorithm in ("ogd", "kernel_gd") else 290
    large, small = 10.0**size, 10.0**-size
    X = rng.normal(size=(n, 7))
    X[:, 0] *= large
    X[:, 1] *= small
    X[:, 2] = large
    X[:, 3] = 1e8 * (1.0 + 1e-15 * X[:, 3])
    X[:, 4] *= np.where(np.arange(n) % 9 == 8, large, small)
    X[:, 5] = np.where(np.arange(n) == n // 2, large, 0.0)
    X[:, 6] *= 10.0 ** np.linspace(-size, size, n)
    y = case.data(n)[1] * (1e90 if has_target(case) else 1)
    assert_finite(case, make(case, layout), layout.container, X, y, weights(n))


def assert_finite(case, estimator, container, X, y, c):
    """Also predictions of rows that are larger."""
    charged = case.charged(estimator, container(X), y, sample_weight=c)
    assert np.isfinite(charged).all()
    assert np.isfinite(case.decision(estimator, container(X[::-1] * 3.0))).all()
    assert np.isfinite(estimator.coef_).all()
    assert np.isfinite(estimator.intercept_).all()
    assert np.isfinite(estimator.cumulative_loss_)
