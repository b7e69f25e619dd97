"""Every estimator against the plain references of `naive`."""

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import naive
from support.naive_agreement import assert_agrees, learn, new_rows, sample_weights
from support.registry import CASES, ENGINES, LAYOUTS, THOROUGH, thinned

from sklearn_scinol.estimators import scinol

layouts = pytest.mark.parametrize("layout", LAYOUTS, ids=str)
N_ROWS = 25  # the references are slow


def reference(case, n_features, **parameters):
    """The plain counterpart of ``case.make(**parameters)``."""
    defaults = {"average": case.average, **case.ball}
    if case.diverges:
        defaults["beta"] = 1e-7
    if case.algorithm == "online_newton":
        defaults["moderate"] = case.loss == "log_loss" and case.n_outputs == 1
    parameters = defaults | parameters
    loss = case.reference_loss()
    return naive.Model(case.algorithm, loss, n_features, case.n_outputs, **parameters)


def assert_same_model(case, estimator, model):
    coef = np.reshape(estimator.coef_, (case.n_outputs, -1))
    intercept = np.broadcast_to(estimator.intercept_, case.n_outputs)
    # Together: gradients of an intercept can sum up to nothing but rounding errors.
    assert_agrees(
        case,
        np.column_stack([coef, intercept]),
        np.column_stack([model.coef, model.intercept]),
    )
    assert_agrees(case, estimator.cumulative_loss_, model.cumulative_loss)
    assert estimator.n_samples_seen_ == len(model.trials)
    if case.traits.implicit and hasattr(model.algorithm, "delta_sum"):
        assert estimator.lambda_.shape == estimator.intercept_.shape
        assert_agrees(case, estimator.lambda_, model.lambda_)
        assert_allclose(estimator.delta_sum_, model.delta_sum, rtol=1e-11)
    assert estimator.t_ == len(model.trials) + 1


class Reference(NamedTuple):
    """A plain model that has learned, and what it said."""

    model: naive.Model
    charged: np.ndarray
    of_new_rows: list
    bounds: list


def other_parameters(case, other):
    return {"fit_intercept": False, **case.hyperparameters} if other else {}


def has_bound(case, center, other):
    forgets = other and "forgetting" in case.hyperparameters
    return case.has_bound and not (center or forgets)


def comparators(case, X, fit_intercept):
    rng = np.random.default_rng(3)
    for size in 0.0, 1e-6, 1.0, 1e3:
        coef = size * rng.normal(size=(case.n_outputs, X.shape[1])) / np.abs(X).max(0)
        intercept = size * rng.normal(size=case.n_outputs) * fit_intercept
        yield coef, intercept


@lru_cache(maxsize=4)
def learned_reference(case, center, other):
    """Slow: the engines and layouts that are compared with it come in turn."""
    X, y = case.data(N_ROWS)
    model = reference(case, X.shape[1], center=center, **other_parameters(case, other))
    charged = learn(case, model, X, y, sample_weights(len(y), other))
    return Reference(
        model,
        charged,
        [model.decision_function(x) for x in new_rows(X)],
        [
            model.regret_bound(coef.tolist(), intercept.tolist())
            for coef, intercept in comparators(case, X, not other)
            if has_bound(case, center, other)
        ],
    )


@pytest.mark.cases(60)
@pytest.mark.parametrize(
    ("case", "layout", "other", "engine"),
    [
        pytest.param(case, layout, bool(i % 2), name, id=f"{case}-{layout}-{name}")
        for i, (case, layout) in enumerate(product(CASES, LAYOUTS))
        for n, name in enumerate(ENGINES)
        if THOROUGH or i // 2 % 2 == n
    ],
    indirect=["engine"],
)
def test_learning(case, layout, other, engine):
    """With defaults, or with sample weights and other parameters.

    Layouts are odd in number, so that each meets both with half of the cases, and each
    engine with half of these.
    """
    X, y = case.data(N_ROWS)
    expected = learned_reference(case, layout.center, other)
    parameters = case.as_estimator_calls(other_parameters(case, other))
    estimator = case.make(center=layout.center, **parameters)
    keywords = {}
    if other:
        keywords["sample_weight"] = sample_weights(len(y), other)
    charged = case.charged(estimator, layout.container(X), y, **keywords)
    assert_agrees(case, charged, expected.charged)
    assert_same_model(case, estimator, expected.model)
    assert_agrees(
        case,
        case.decision(estimator, layout.container(new_rows(X))),
        expected.of_new_rows,
    )
    is_bounded = has_bound(case, layout.center, other)
    assert hasattr(estimator, "regret_bound") == is_bounded
    for (coef, intercept), bound in zip(
        comparators(case, X, not other), expected.bounds, strict=is_bounded
    ):
        assert_agrees(case, estimator.regret_bound(coef, intercept), bound)


@thinned([case for case in CASES if case.algorithm == "scinol2"], layout=LAYOUTS)
def test_wide_rows(case, layout, engine, monkeypatch):
    monkeypatch.setattr(scinol, "MAX_SHARE", 1.5)
    X, y = case.data(N_ROWS)
    model = reference(
        case, X.shape[1], center=layout.center, average=case.average, max_share=1.5
    )
    weights = sample_weights(len(y), True)
    expected = learn(case, model, X, y, weights)
    estimator = case.make(center=layout.center)
    charged = case.charged(estimator, layout.container(X), y, sample_weight=weights)
    assert_agrees(case, charged, expected)
    assert_same_model(case, estimator, model)
    for coef, intercept in () if layout.center else comparators(case, X, True):
        bound = model.regret_bound(coef.tolist(), intercept.tolist())
        assert_agrees(case, estimator.regret_bound(coef, intercept), bound)
