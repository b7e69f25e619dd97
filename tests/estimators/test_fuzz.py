"""Hostile streams: nothing gives way, and the checks see it where something does."""

import copy
import os
import re
import signal
import warnings
from itertools import product

import fuzz
import numpy as np
import pytest
from fuzz import Failed, Finding, judge
from scipy import sparse
from sklearn.base import clone
from support.hostile import Call, Case, seeded_case
from support.registry import PUBLIC_ESTIMATORS, REPRESENTATIVES

from sklearn_scinol import (
    DFEGRegressor,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)

all_estimators = pytest.mark.parametrize("estimator", PUBLIC_ESTIMATORS)

#: Of each estimator; `make fuzz` has more.
N_CASES, N_BATCHES = 40, 2


@pytest.fixture
def checked_states():
    """The judge does that, where it says what failed."""


def loops_as_they_stand(case):
    """What waits for the compiler is left to `make fuzz`."""
    return case._replace(engine="uncompiled") if case.engine == "compiled" else case


@pytest.mark.cases(4)
@all_estimators
@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_seeded_cases(estimator, batch):
    found = []
    for seed in range(batch, N_CASES, N_BATCHES):
        case = loops_as_they_stand(seeded_case(estimator, seed))
        try:
            judge(case)
        except Failed as failure:
            found.append(f"--replay {estimator.__name__} {seed}: {failure}")
    assert not found, "\n".join(found)


# The judge.


class Sound(ScInOLRegressor):
    """Goes on as it is; the others do one thing wrong."""


class Mute(Sound):
    def partial_fit(self, X, y):
        raise ValueError("")


class Careless(Sound):
    def partial_fit(self, X, y):
        return super().partial_fit(X[:, [7]], y)


class Forgetful(Sound):
    def partial_fit(self, X, y):
        super().partial_fit(X, y)
        raise ValueError("y is not what it should be")


class Infinite(Sound):
    def partial_fit(self, X, y):
        super().partial_fit(X, y)
        self._model.fields[0, 0, 0] = np.inf
        return self


class Clueless(Sound):
    def predict(self, X):
        return np.full(len(X), np.nan)


class Curt(Sound):
    def predict(self, X):
        return super().predict(X)[1:]


class Nosy(Sound):
    def predict(self, X):
        self._model.numbers[0] += 1
        return super().predict(X)


class Untidy(Sound):
    def partial_fit(self, X, y):
        super().partial_fit(X, y)
        X[0] = 0.0
        return self


class Loud(Sound):
    def partial_fit(self, X, y):
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)
        return super().partial_fit(X, y)


class Weary(Sound):
    def partial_fit(self, X, y):
        if self.__sklearn_is_fitted__():
            raise ValueError("y is not what it should be")
        return super().partial_fit(X, y)


@pytest.mark.cases(10)
@pytest.mark.parametrize(
    ("estimator", "verdict", "cause"),
    [
        (Mute, "exception", "ValueError: "),
        (Careless, "exception", "IndexError: index 7 is out of bounds"),
        (Forgetful, "changed", "the state, by a call that was refused"),
        (Infinite, "state", "Infinite._model: expected that M is finite"),
        (Clueless, "answer", "predict is NaN"),
        (Curt, "answer", "predict has 3 entries for 4 rows"),
        (Nosy, "changed", "the state, by a call that only asked"),
        (Untidy, "changed", "the argument X of partial_fit"),
        (Loud, "warning", "overflow (test_fuzz.py"),
        (Weary, "stuck", "ValueError: y is not what it should be"),
    ],
)
def test_judge(estimator, verdict, cause):
    def calls():
        X, y = np.random.default_rng(0).normal(size=(4, 3)), np.arange(4.0)
        return [Call("partial_fit", {"X": X, "y": y}), Call("predict", {"X": X})]

    judge(Case(Sound(), "numpy", calls()))
    with pytest.raises(Failed) as failure:
        judge(Case(estimator(), "numpy", calls()))
    assert failure.value.verdict == verdict
    assert failure.value.cause.startswith(cause)


def test_scikit_learns_words_are_documented():
    """Whatever they are: these are NumPy's."""
    y = np.array(["a", None, 1], dtype=object)
    judge(Case(ScInOLClassifier(), "numpy", [Call("fit", {"X": np.eye(3), "y": y})]))


def test_cases_repeat_themselves():
    for estimator in PUBLIC_ESTIMATORS:
        one, other = seeded_case(estimator, 3), seeded_case(estimator, 3)
        assert repr(one) == repr(other) != repr(seeded_case(estimator, 4))


def dies(name, seed):
    """Judge nothing, and end the process at the third case."""
    if seed == 2:
        os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.slow
def test_processes_that_die():
    """What they were at is a finding, and the rest goes on in another process."""
    shares = []
    found = fuzz.fuzz(["One"], range(5), 1, lambda *each: shares.append(each), dies)
    assert found == [Finding("One", 2, "crash", "Segmentation fault")]
    assert shares == [(1.0, 1)]


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
        (lambda m: setattr(m, "points", m.points[::-1]), "points ascend"),
        (lambda m: m.curve.pop(), "each point has weights"),
        (lambda m: m.curve[-1].fill(np.inf), "curve is finite"),
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
