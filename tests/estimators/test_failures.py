"""A call that fails while it learns leaves the estimator as it was."""

import copy
from operator import methodcaller
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from support.comparisons import assert_identical

from sklearn_scinol import HedgeRegressor, ScInOLRegressor
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.models.linear import LinearModel

N_FEATURES = 40


REFUSED = r"under-/overflow occurred|NaN or infinity|sums of losses are too large"


def rows(n, seed=0):
    """Rows with three entries each."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, N_FEATURES))
    for x in X:
        x[rng.choice(8, 3, replace=False)] = rng.normal(1.0, 0.1, size=3)
    return X


RATE = {"learning_rate": 1e20, "fit_intercept": False, "center": False}


def diverging(**parameters):
    """Learns at a rate that only rows of 1e-10 can bear."""
    return BaselineRegressor("sgd", loss="squared_error", **RATE | parameters)


def assert_unchanged_by(fail, estimator):
    """Every attribute is bitwise what it was, and is not what it was by chance."""
    before = copy.deepcopy(estimator)
    with pytest.raises(ValueError, match=REFUSED):
        fail(estimator)
    assert_identical(vars(estimator), vars(before))
    return before


class Diverging(NamedTuple):
    """An estimator, targets that it can learn from tame rows, and others.

    Tame and wild rows are in units that make the steps on them small and infinite.
    """

    estimator: BaseEstimator
    tame: np.ndarray
    wild: np.ndarray
    units: tuple = (1e-10, 1e95)
    containers: tuple = (np.array, sparse.csr_array)


CODES, HUGE, ONES = np.arange(300) % 3, np.full(300, 1e98), np.ones(300)
NOISE = np.random.default_rng(0).normal(size=300)
#: Whose moments go back as well: those of the columns that came up, and all.
STANDARDISED = diverging(center=True, scale=True, standardize_target=True)
CLASSES = BaselineClassifier("sgd", loss="squared_hinge", **RATE)
#: With one expert that diverges, whatever the others had learned by then.
MEMBERS = ScInOLRegressor(center=False), diverging(), ScInOLRegressor("huber")
MIXTURE = HedgeRegressor([*zip("abc", MEMBERS, strict=True)], loss="squared_error")
KINDS = {
    "plain": Diverging(diverging(), HUGE, ONES),
    "averaged": Diverging(diverging(average=3), HUGE, ONES),
    "scaled": Diverging(diverging(scale=True), 0.0 * ONES, ONES, (1.0, 1.0)),
    "standardised": Diverging(STANDARDISED, 3.0 * ONES, NOISE, (1.0, 1.0), (np.array,)),
    "classes": Diverging(CLASSES, CODES, CODES),
    "mixture": Diverging(MIXTURE, HUGE, ONES),
}


@pytest.mark.cases(12)
@pytest.mark.parametrize(
    ("kind", "container"),
    [(kind, each) for kind in KINDS for each in KINDS[kind].containers],
)
# One row, rows with fewer entries than there are features, rows with more.
@pytest.mark.parametrize("n_rows", [1, 12, 300])
def test_rows_too_large_for_the_rate(kind, n_rows, container, engine):
    estimator, of_tame, of_wild, units, _ = KINDS[kind]
    if units[1] == 1.0 and n_rows == 1:
        pytest.skip("a single row has no standard deviation")
    tame = container(rows(20) * units[0]), of_tame[:20]
    wild = container(rows(n_rows, seed=1) * units[1]), of_wild[:n_rows]
    first = {"classes": range(3)} if is_classifier(estimator) else {}
    estimator = clone(estimator).partial_fit(*tame, **first)
    for method in "partial_fit", "partial_fit_predict":
        for weights in {}, {"sample_weight": np.ones(n_rows)}:
            fail = methodcaller(method, *wild, **weights)
            before = assert_unchanged_by(fail, estimator)
    one, other = (each.partial_fit_predict(*tame) for each in (estimator, before))
    assert_identical(one, other)
    assert_identical(vars(estimator), vars(before))


@pytest.mark.parametrize("average", [False, 3])
def test_balls(average, engine, monkeypatch):
    """Now and then a sparse row changes what is kept of all features."""
    X, y = sparse.csr_array(rows(30)), np.random.default_rng(0).normal(size=30)
    model = BaselineRegressor(
        "ogd", loss="squared_error", learning_rate=1e6, radius=1e-9, average=average
    )
    model.partial_fit(X[:1], y[:1])
    for i in range(1, 30):
        with monkeypatch.context() as patch:
            patch.setattr(LinearModel, "is_finite", lambda *_: False)
            assert_unchanged_by(methodcaller("partial_fit", X[[i]], y[[i]]), model)
        model.partial_fit(X[[i]], y[[i]])
