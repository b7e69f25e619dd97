"""Values clipped at a multiple of the largest of their feature before."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from support.comparisons import assert_identical, learned
from support.invariances import weights
from support.naive import clipped_rows
from support.registry import LAYOUTS, REPRESENTATIVES, SCALED_LAYOUTS, seeds, thinned

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor

LINEAR = [case for case in REPRESENTATIVES if case.has("center")]
CONTAINERS = [np.array, sparse.csr_array]


def rows_with_outliers(case):
    X, y = case.data()
    X[20, :3] = 1e4 * X[:20, :3].max(axis=0)
    X[30, 2:] = -1e3 * X[:30, 2:].max(axis=0)
    return X, y


def learned_but_limits(estimator):
    """What was learned, but for where values are clipped from now on."""
    estimator = copy.deepcopy(estimator)
    estimator._model.features.limits = None
    return learned(estimator)


@thinned(LINEAR, layout=LAYOUTS + SCALED_LAYOUTS)
def test_same_as_learning_clipped_rows(case, layout, engine):
    """In chunks, with rows of weight 0, and when predicting."""
    X, y = rows_with_outliers(case)
    c = weights(len(y), seed=2)
    c[20] = 0.0
    ratio = 2.5
    expected = np.array(clipped_rows(X.tolist(), c.tolist(), ratio))
    assert (expected != X).sum() > 6
    parameters = {"center": layout.center, "scale": layout.scale}
    estimator = case.make(clip_ratio=ratio, **parameters)
    reference = case.make(**parameters)
    for rows in slice(0, 7), slice(7, 28), slice(28, None):
        given = layout.container(X[rows])
        as_given = given.copy()
        charged = case.charged(estimator, given, y[rows], sample_weight=c[rows])
        assert abs(given - as_given).max() == 0.0
        assert_identical(
            charged,
            case.charged(
                reference,
                layout.container(expected[rows]),
                y[rows],
                sample_weight=c[rows],
            ),
        )
    assert_identical(learned_but_limits(estimator), learned(reference))
    learned_rows = expected[c > 0.0]
    limit = ratio * np.abs(learned_rows).max(axis=0)
    new = np.vstack([expected[:3], -10.0 * limit])
    within = np.vstack([expected[:3], -limit])
    assert_identical(
        case.decision(estimator, layout.container(new)),
        case.decision(reference, layout.container(within)),
    )


@pytest.mark.cases(20)
@pytest.mark.parametrize("container", CONTAINERS)
@seeds
def test_units_do_not_matter(container, seed, engine):
    """To the last bit, where they are powers of two; at the ends of the range, too."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1, size=(60, 4))
    y = rng.integers(2, size=60)
    units = 2.0 ** np.array([-900, -3, 200, 900])
    said = [
        ScInOLClassifier(clip_ratio=2.0).partial_fit_predict(
            container(rows), y, classes=[0, 1], method="decision_function"
        )
        for rows in (X, X * units)
    ]
    assert_array_equal(*said)


def test_a_feature_may_grow():
    """The limit follows it in as many rows as the logarithm of its growth."""
    X = np.ones((60, 1))
    X[5:] = 1e12
    y = np.arange(60) % 2
    estimator = ScInOLRegressor(clip_ratio=2.0).partial_fit(X, y)
    assert estimator._model.features.limits.largest == 1e12
    until = 5 + int(np.log2(1e12)) + 1
    limits = [2.0**i for i in range(1, until - 4)]
    X[5:until, 0] = np.minimum(limits, 1e12)
    reference = ScInOLRegressor().partial_fit(X, y)
    assert_identical(learned_but_limits(estimator), learned(reference))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_values_that_are_not_finite_are_refused(value, container, engine):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    estimator = ScInOLRegressor(clip_ratio=2.0).partial_fit(container(X), y)
    before = learned(estimator)
    X[11, 1] = value
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        estimator.partial_fit(container(X), y)
    assert_identical(learned(estimator), before)


@pytest.mark.parametrize("container", CONTAINERS)
def test_bound_until_a_value_is_clipped(container):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(1.0, 1.9, size=(20, 3)), rng.normal(size=20)
    estimator = ScInOLRegressor(center=False, clip_ratio=2.0)
    plain = ScInOLRegressor(center=False).partial_fit(container(X), y)
    estimator.partial_fit(container(X), y)
    coef = np.ones(3)
    assert estimator.regret_bound(coef) == plain.regret_bound(coef)
    X[3, 1] = 50.0
    estimator.partial_fit(container(X), y, sample_weight=np.arange(20) != 3)
    assert estimator.regret_bound(coef) < np.inf
    estimator.partial_fit(container(X), y)
    assert estimator.regret_bound(coef) == np.inf
