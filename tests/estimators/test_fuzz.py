"""Hostile streams: nothing gives way, and the checks see it where something does."""

import copy
import os
import re
from functools import partial
from itertools import product

import numpy as np
import pytest
from fuzz import Failed, judge
from scipy import sparse
from sklearn.base import clone
from support.hostile import Call, Case, seeded_case
from support.registry import PUBLIC_ESTIMATORS, REPRESENTATIVES

from sklearn_scinol import (
    DFEGRegressor,
    HedgeRegressor,
    ScInOLRegressor,
)

all_estimators = pytest.mark.parametrize("estimator", PUBLIC_ESTIMATORS)

#: Number of streams for each estimator. `make fuzz` has more, and compiled loops.
N_CASES = int(os.environ.get("FUZZ_CASES", 40))
BATCH = 20


@pytest.fixture
def checked_states():
    """The judge does that, where it says what failed."""


def loops_as_they_stand(case):
    """What waits for the compiler is left to `make fuzz`."""
    waits = case.engine == "compiled" and N_CASES <= 40
    return case._replace(engine="uncompiled") if waits else case


@pytest.mark.cases(4)
@all_estimators
@pytest.mark.parametrize("first", range(0, N_CASES, BATCH))
def test_seeded_cases(estimator, first):
    found = []
    for seed in range(first, first + BATCH):
        case = loops_as_they_stand(seeded_case(estimator, seed))
        try:
            judge(case)
        except Failed as failure:
            found.append(f"tests/fuzz.py {estimator.__name__} {seed}: {failure}")
    assert not found, "\n".join(found)


# The judge.


def spoiled(method, instead):
    """An estimator of which a method does something else; it is given its own way."""
    own = getattr(ScInOLRegressor, method)

    def spoil(self, **given):
        return instead(partial(own, self), self, *given.values())

    return type("Spoiled", (ScInOLRegressor,), {method: spoil})


def learn_and_refuse(learn, model, X, y):
    learn(X, y)
    raise ValueError("y is not what it should be")


def learn_infinity(learn, model, X, y):
    learn(X, y)._model.fields[0, 0, 0] = np.inf
    return model


def count_and_predict(predict, model, X):
    model._model.numbers[0] += 1
    return predict(X)


#: Faults of a method, and the finding that each is reported as.
SPOILED = {
    "careless": (
        "partial_fit",
        lambda learn, _, X, y: learn(X[:, [7]], y),
        "exception: IndexError: index 7 is out of bounds",
    ),
    "forgetful": ("partial_fit", learn_and_refuse, "changed: the state, by a call"),
    "infinite": ("partial_fit", learn_infinity, "state: Spoiled._model: expected"),
    "clueless": ("predict", lambda *_: np.full(4, np.nan), "answer: predict is NaN"),
    "nosy": ("predict", count_and_predict, "changed: the state, by a call that only"),
    "untidy": (
        "partial_fit",
        lambda learn, _, X, y: X.fill(0.0) or learn(X, y),
        "changed: the argument X of partial_fit",
    ),
}


@pytest.mark.parametrize(("method", "instead", "words"), SPOILED.values(), ids=SPOILED)
def test_judge(method, instead, words):
    def calls():
        X, y = np.random.default_rng(0).normal(size=(4, 3)), np.arange(4.0)
        return [Call("partial_fit", {"X": X, "y": y}), Call("predict", {"X": X})]

    judge(Case(ScInOLRegressor(), "numpy", calls()))
    with pytest.raises(Failed) as failure:
        judge(Case(spoiled(method, instead)(), "numpy", calls()))
    assert f"{failure.value.verdict}: {failure.value.cause}".startswith(words)


# Invariants.


def fitted_with_arrays(case):
    """An estimator, and the numbers that its linear model keeps, by name."""
    X, y = case.data()
    estimator = case.partial_fit(case.make(), X, y)
    model = estimator._model
    found = {"first": model.first, "clock": model.clock}
    found |= zip(model.learner.State._fields, model.fields, strict=False)
    if model.traits.by_vector:
        found |= zip(model.learner.State._fields, model.arrays, strict=True)
    if model.traits.by_row:
        found |= zip(model.learner.Shared._fields, model.shared, strict=True)
    return estimator, found


@pytest.mark.parametrize("case", REPRESENTATIVES, ids=str)
def test_every_array_is_checked(case):
    estimator, arrays = fitted_with_arrays(case)
    for name, values in arrays.items():
        estimator._check_state()
        kept, values.flat[0] = values.flat[0], np.nan
        with pytest.raises(AssertionError, match=f"{name} is finite"):
            estimator._check_state()
        values.flat[0] = kept


@pytest.mark.parametrize("case", REPRESENTATIVES, ids=str)
def test_every_statement_can_be_broken(case):
    """By numbers of another sign or size."""
    rng = np.random.default_rng(0)
    estimator, arrays = fitted_with_arrays(case)
    model = estimator._model

    def statements():
        states = model.state(), model.shared_state()
        return model.learner.invariants(*states, model.t)

    unbroken = {what for what, _ in statements()}
    assert unbroken
    if model.n_outputs == 1:
        unbroken = {what for what in unbroken if "for all outputs" not in what}
    for values in arrays.values():
        kept = values.copy()
        for _ in range(20):
            size = rng.choice([1e-3, 1.0, 1e10, 1e304])
            values[:] = size * rng.normal(size=values.shape)
            with np.errstate(all="ignore"):
                unbroken -= {what for what, holds in statements() if not np.all(holds)}
        values[:] = kept
    assert not unbroken


MODELS = {
    "linear": ScInOLRegressor(scale=True, standardize_target=True, average=2),
    "mixture": HedgeRegressor(),
    "combination": DFEGRegressor(kernel="rbf"),
}
#: Ways to break a model, and what is said of it then.
BREAKING = {
    "linear": [
        (lambda m: m.numbers.put(0, 1.5), "t is a whole number"),
        (lambda m: m.numbers.put(0, -1), "t is a number of rows"),
        (lambda m: m.numbers.put(1, np.nan), "numbers is finite"),
        (lambda m: m.numbers.put(1, -1.0), "cumulative_loss >= 0"),
        (lambda m: setattr(m, "first", m.first + 9.0), "first is at most"),
        (lambda m: m.features.moments[1].fill(-1.0), "features: expected that varianc"),
        (lambda m: m.features.moments[2].fill(99.0), "that recorded <= weight"),
        (lambda m: setattr(m, "fields", m.fields[:, :, 1:]), "has shape (6, 1, 4)"),
        (lambda m: m.target.moments.fill(-1.0), "target: expected that variance >= 0"),
        (lambda m: m.fields[-1].fill(1e9), "sums are not ahead of the clock"),
    ],
    "mixture": [
        (lambda m: m.hedges[0].weights_.fill(1.0), "weights sum to one"),
        (lambda m: m.hedges[0]._state.of_shares.fill(0.0), "of_shares > 0"),
        (lambda m: m.hedges[0]._state.of_experts[1].fill(1.0), "of_experts sum to one"),
        (lambda m: m.target_range.limits.fill(np.nan), "lower limits"),
        (lambda m: setattr(m, "curve", m.curve[::-1]), "points ascend"),
        (lambda m: m.curve.pop(), "no point is missing"),
        (lambda m: m.curve[-1][1].fill(np.inf), "curve is finite"),
        (lambda m: m.hedges[0]._state.numbers.put(0, 2.0), "points are below"),
        (lambda m: m.numbers.put(0, 5), "weights have learned at most t rows"),
        (lambda m: m.experts[0].estimator._model.fields.fill(-1.0), "first is at most"),
    ],
    "combination": [
        (lambda m: m.support.rows.fill(0), "no row is stored twice"),
        (lambda m: setattr(m, "n_rows", 1), "stored rows are rows of the stream"),
        (lambda m: m.coef.rows.fill(np.nan), "coef is finite"),
        (lambda m: m.coef.append(m.coef.rows[:1]), "coef has shape"),
        (lambda m: m.vectors.append(m.vectors.rows[:1]), "stored row has a vector"),
        (lambda m: setattr(m, "max_support", 2), "n_support <= max_support"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "container"),
    [*product(MODELS, [np.array]), ("combination", sparse.csr_array)],
)
def test_broken_models(kind, container):
    X = np.random.default_rng(0).normal(size=(9, 3))
    fitted = clone(MODELS[kind]).partial_fit(container(X), X[:, 0])
    fitted._check_state()
    for breaking, words in BREAKING[kind]:
        model = copy.deepcopy(fitted)
        breaking(model._model)
        with pytest.raises(AssertionError, match=re.escape(words)):
            model._check_state()
