"""Every estimator against the plain references of `naive`."""

import math

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from registry import CASES, LAYOUTS

cases = pytest.mark.parametrize("case", CASES, ids=str)
layouts = pytest.mark.parametrize("layout", LAYOUTS, ids=str)


def reference(case, n_features, **parameters):
    """The plain counterpart of ``case.make(**parameters)``."""
    defaults = {"average": case.average, **case.ball}
    if case.diverges:
        defaults["beta"] = 1e-7
    parameters = defaults | parameters
    loss = case.reference_loss()
    return naive.Model(case.algorithm, loss, n_features, case.n_outputs, **parameters)


def learn(case, model, X, y, sample_weight):
    """Predictions of the reference, each before its row was learned."""
    predictions = []
    for x, target, weight in zip(
        X, case.reference_targets(y), sample_weight, strict=True
    ):
        # Only an average predicts with anything but what the algorithm is charged for.
        predictions.append(model.decision_function(x, weight or 1.0))
        if weight > 0.0:
            model.learn(x, target, weight)
    return np.array(predictions)


def assert_agrees(actual, expected):
    """Equal to 1e-10, relative to the size of what is compared."""
    expected = np.asarray(expected)
    assert_allclose(
        actual, expected, rtol=1e-10, atol=1e-11 * np.abs(expected).max(initial=0.0)
    )


def assert_same_model(case, estimator, model):
    shape = estimator.coef_.shape
    assert_agrees(estimator.coef_, np.reshape(model.coef, shape))
    assert_agrees(
        np.broadcast_to(estimator.intercept_, case.n_outputs), model.intercept
    )
    assert_agrees(estimator.cumulative_loss_, model.cumulative_loss)
    assert estimator.n_samples_seen_ == len(model.trials)
    assert estimator.t_ == len(model.trials) + 1


@cases
@layouts
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("other", [False, True], ids=["defaults", "other-parameters"])
def test_learning(case, layout, weighted, other, engine):
    X, y = case.data()
    rng = np.random.default_rng(1)
    weights = rng.exponential(size=len(y)) if weighted else np.ones(len(y))
    if weighted:
        weights[[0, 7, 8, 31]] = 0.0
    parameters = {"fit_intercept": False, **case.hyperparameters} if other else {}
    estimator = case.make(center=layout.center, **case.as_estimator_calls(parameters))
    model = reference(case, X.shape[1], center=layout.center, **parameters)

    keywords = {"sample_weight": weights} if weighted else {}
    charged = case.charged(estimator, layout.container(X), y, **keywords)
    assert_agrees(charged, learn(case, model, X, y, weights))
    assert_same_model(case, estimator, model)

    beyond = X * rng.choice([0.0, 0.5, 1.0, 30.0], size=X.shape)
    assert_agrees(
        case.decision(estimator, layout.container(beyond)),
        [model.decision_function(x) for x in beyond],
    )

    for size in 0.0, 1e-6, 1.0, 1e3:
        coef = size * rng.normal(size=(case.n_outputs, X.shape[1])) / np.abs(X).max(0)
        intercept = size * rng.normal(size=case.n_outputs)
        if not estimator.fit_intercept:
            intercept[:] = 0.0
        assert_agrees(
            estimator.regret_bound(coef, intercept),
            model.regret_bound(coef.tolist(), intercept.tolist()),
        )


@pytest.mark.parametrize("case", [case for case in CASES if case.average], ids=str)
@layouts
@pytest.mark.parametrize("average", [True, 1000])
def test_average_from(case, layout, average, engine):
    X, y = case.data()
    estimator = case.make(center=layout.center, average=average)
    model = reference(case, X.shape[1], center=layout.center, average=average)
    charged = case.charged(estimator, layout.container(X), y)
    assert_agrees(charged, learn(case, model, X, y, np.ones(len(y))))
    assert_same_model(case, estimator, model)


@pytest.mark.parametrize("case", [case for case in CASES if case.classifies], ids=str)
def test_class_weight(case, engine):
    X, y = case.data()
    of_class = dict(enumerate([0.25, 3.0, 0.0][: len(case.classes()["classes"])]))
    sample_weight = np.random.default_rng(1).exponential(size=len(y))
    estimator = case.make(class_weight=of_class)
    charged = case.charged(estimator, X, y, sample_weight=sample_weight)

    model = reference(case, X.shape[1])
    weights = sample_weight * [of_class[label] for label in y]
    assert_agrees(charged, learn(case, model, X, y, weights))
    assert_same_model(case, estimator, model)


@pytest.mark.parametrize(
    "loss",
    [
        naive.Logistic(),
        naive.Hinge(),
        naive.AbsoluteError(),
        naive.Huber(0.3),
        naive.EpsilonInsensitive(0.2),
        naive.Quantile(0.8),
    ],
    ids=lambda loss: type(loss).__name__,
)
def test_gradients_of_the_references(loss):
    step = 1e-6
    for y in (-1.0, 1.0):
        for p in np.linspace(-3.0, 3.0, 50):
            slope = (loss.value(y, p + step) - loss.value(y, p - step)) / (2 * step)
            assert math.isclose(loss.gradient(y, p), slope, rel_tol=1e-6, abs_tol=1e-6)
            assert abs(loss.gradient(y, p)) <= loss.lipschitz


def test_gradient_of_the_reference_cross_entropy():
    loss, step = naive.CrossEntropy(), 1e-6
    p = [0.3, -1.2, 2.0, 0.0]
    for y in range(4):
        for k, slope in enumerate(loss.gradient(y, p)):
            above, below = p.copy(), p.copy()
            above[k] += step
            below[k] -= step
            numeric = (loss.value(y, above) - loss.value(y, below)) / (2 * step)
            assert math.isclose(slope, numeric, rel_tol=1e-6, abs_tol=1e-6)
