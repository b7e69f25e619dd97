"""Sets of labels: their formulas, their coverage, and the ways to learn them."""

import re
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from support.comparisons import assert_identical
from support.conformal import (
    SETS,
    halves,
    learned,
    weights,
)
from support.conformal import labels as data
from support.naive_sets import MAX_SCORE, label_sets
from support.registry import ENGINES

from sklearn_scinol import (
    HedgeClassifier,
    OnlineConformalClassifier,
    ScInOLClassifier,
    merge_models,
)
from sklearn_scinol.conformal.thresholds import STEP
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

engines = pytest.mark.parametrize("engine", ENGINES, indirect=True)

MIXTURE = SETS.mixture
ESTIMATORS = {"linear": ScInOLClassifier(), "mixture": MIXTURE}
estimators = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)

with_sets, sets_of = SETS.make, SETS.said


@pytest.mark.cases(3)
@estimators
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("coverage", [0.8, [0.5, 0.8, 0.95]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [None, "auto", halves])
@engines
def test_reference(estimator, n_classes, coverage, weighted, groups, engine):
    X, y = data(90, n_classes)
    c = weights(len(y)) if weighted else np.ones(len(y))
    rows, classes = {"sample_weight": c}, np.arange(n_classes)
    model = with_sets(estimator, coverage).set_params(groups=groups)
    found = sets_of(model, X, y, classes=classes, **rows)
    alone = clone(estimator)
    P = alone.partial_fit_predict(X, y, classes=classes, method="predict_proba", **rows)
    c = c.copy()
    c[: np.flatnonzero(c)[0] + 1] = 0.0  # the first is not learned
    levels = np.atleast_1d(coverage).tolist()
    given = halves(X).tolist() if groups is halves else groups
    known = P.tolist(), y.tolist(), c.tolist()
    sets, corrections = label_sets(*known, levels, given)
    sets = np.array(sets)
    assert_array_equal(found, sets if np.ndim(coverage) else sets[..., 0])
    assert 0.0 < sets[50:].mean() < 1.0
    (thresholds,) = model._outputs
    for label, of_group in corrections.items():
        code = 0 if label is None else 1 + model.groups_.index(label)
        found = thresholds.ends.correction[code]
        assert_allclose(found, of_group, rtol=1e-9, atol=1e-9)
    inside, size = sets[np.arange(len(y)), y], sets.sum(axis=1)
    assert_allclose(np.atleast_1d(model.coverage_), c @ inside / c.sum())
    assert_allclose(np.atleast_1d(model.mean_size_), c @ size / c.sum())
    twin = with_sets(estimator, coverage)
    arguments = {"classes": classes, **rows}
    assert_array_equal(
        twin.partial_fit_predict(X, y, method="predict_proba", **arguments), P
    )
    assert_array_equal(
        with_sets(estimator).partial_fit_predict(X, y, **arguments), P.argmax(axis=1)
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("hard", [False, True])
@engines
def test_new_classes(weighted, hard, engine):
    """A class is in no set up to its first row, even if sets have all labels."""
    n = 120
    X, y = data(n)
    c = weights(n) if weighted else np.ones(n)
    y = np.where(np.arange(n) < 40, y % 2, y)  # the last class comes late
    c[y == 2] += 0.5 * (np.arange(n) < 60)[y == 2]
    if weighted:  # the first row of positive weight brings a class
        c[:3], y[:3] = [0.0, 1.0, 1.0], [0, 1, 0]
    if hard:  # labels that nobody can know
        y[3:40] = np.arange(3, 40) // 3 % 2
    made = with_sets(ScInOLClassifier(new_classes="add"), [0.8, 0.999])
    whole, rows, found = clone(made), made.row_by_row(), []
    said = sets_of(whole, X, y, sample_weight=c, classes=None)
    assert said.shape == (n, 3, 2)
    (first,) = np.flatnonzero((y == 2) & (c > 0.0))[:1]
    assert not said[: first + 1, 2].any()
    assert said[first + 1 :, 2].any()
    for row in zip(X, y, c, strict=True):
        of_row = rows.predict_learn_one(*row, method="predict_set")
        found.append(np.zeros((3, 2), bool))
        found[-1][np.isin([0, 1, 2], made.classes_)] = of_row
    assert_array_equal(found, said)
    assert_identical(learned(made), learned(whole))
    assert_array_equal(whole.classes_, [0, 1, 2])


def test_rows_of_new_classes_count_as_outside():
    """However high the threshold is, and in the bound, too."""
    model = with_sets(ScInOLClassifier(new_classes="add"), [0.5, 0.9])
    rows = model.row_by_row().learn_one([1.0], 0)
    outside = np.zeros(2)
    for label in range(1, 60):
        n_classes = len(model.classes_)
        old, new = rows.predict_set_one([1.0]), label % 3 == 0
        y = n_classes if new else label % n_classes
        outside += 1.0 if new else ~old[y]
        rows.learn_one([1.0], y)
    (thresholds,) = model._outputs
    assert_allclose(model.coverage_, 1.0 - outside / 59.0)
    deviations = np.abs(model.coverage_ - [0.5, 0.9])
    assert (deviations <= model.coverage_bound() + 1e-9).all()
    n_new = len(model.classes_) - 1
    bounds = 2.0 * MAX_SCORE + STEP * (np.array([1.0, 2.0]) + n_new)
    assert (thresholds.ends.largest <= bounds).all()


def test_classes_named_later():
    X, y = data()
    y = y % 2
    model = with_sets(ScInOLClassifier(new_classes="add"), 0.999)
    model.partial_fit(X, y, classes=[0, 1])
    found = sets_of(model, X, y, classes=[0, 1, 7])
    assert_array_equal(model.classes_, [0, 1, 7])
    assert found[0, 2]  # it is known from the first row of the chunk on


def test_class_weights_are_those_of_the_estimator():
    X, y = data(300)
    alone = ScInOLClassifier(class_weight="balanced")
    model, given = with_sets(alone), {"classes": [0, 1, 2], "method": "predict_proba"}
    P = model.partial_fit_predict(X, y, **given)
    assert_array_equal(P, alone.partial_fit_predict(X, y, **given))
    assert model._outputs[0].total_weights.sum() == 299.0


class Given(ClassifierMixin, BaseEstimator):
    """Predicts the features as probabilities, and learns nothing."""

    def fit(self, X, y):
        return self.partial_fit(X, y)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.classes_ = np.arange(np.shape(X)[1])
        return self

    def predict(self, X):
        return np.argmax(X, axis=1)

    def predict_proba(self, X):
        return np.array(X)


#: Probabilities and a label of an opponent who knows the thresholds, in row `r`.
HOSTILE = {
    "outside": lambda P, inside, threshold, r: (P, np.argmin(inside(P))),
    "inside": lambda P, inside, threshold, r: (P, np.argmax(inside(P))),
    "always wrong": lambda P, inside, threshold, r: ([1.0, 0.0, 0.0], 1),
    "always right": lambda P, inside, threshold, r: ([1.0, 0.0, 0.0], 0),
    "just outside": lambda P, inside, threshold, r: (odds_of(threshold), 0),
    "in turn": lambda P, inside, threshold, r: ([0.98, 0.01, 0.01], r // 40 % 2),
    "equal": lambda P, inside, threshold, r: ([1.0, 1.0, 1.0], r**2 % 11 % 3),
}


def odds_of(threshold):
    """Return probabilities of which the first is just outside."""
    p = 1.0 / (1.0 + np.exp(np.clip(threshold + 1e-7, -13.0, 13.0)))
    return p, 1.0 - p, 0.0


@pytest.mark.cases(20)
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("coverage", [0.8, [0.5, 0.9]])
@pytest.mark.parametrize("weighted", [False, True])
def test_coverage_bound_on_hostile_streams(kind, coverage, weighted):
    random = np.random.default_rng(0)
    model = with_sets(Given(), coverage)
    model.partial_fit([[0.2, 0.3, 0.5]], [0], classes=[0, 1, 2])
    (thresholds,) = model._outputs
    levels = np.atleast_1d(coverage)
    outside = ties = total = 0.0

    def inside(P):
        return model.predict_set([P / P.sum()], levels[0])[0]

    for r in range(400):
        threshold = thresholds.sizes.means + thresholds.ends.correction[0]
        P = np.exp(random.normal(size=3) * 10.0 ** random.integers(-2, 3))
        P, y = HOSTILE[kind](P, inside, threshold[0], r)
        P = np.array(P) / np.sum(P)
        c = random.choice([0.5, 1.0, 2.0]) if weighted else 1.0
        threshold = np.maximum.accumulate(threshold)
        with np.errstate(divide="ignore"):
            score = np.clip(np.log1p(-P[y]) - np.log(P[y]), -MAX_SCORE, MAX_SCORE)
        model.partial_fit([P], [y], sample_weight=[c])
        is_tie = np.abs(score - threshold) <= 1e-9
        total, ties = total + c, ties + c * is_tie
        outside = outside + c * (score > threshold) * ~is_tie
    largest = thresholds.ends.largest[0]
    bound = largest * (2.0 * thresholds.ends.weights[0, 1] - 0.5) / STEP
    assert (outside - (1.0 - levels) * total <= bound + 1e-9).all()
    assert (outside + ties - (1.0 - levels) * total >= -bound - 1e-9).all()
    if not np.any(ties):
        deviation = np.abs(model.coverage_ - coverage)
        assert (deviation <= model.coverage_bound() + 1e-9).all()
    assert largest.max() <= 2.0 * MAX_SCORE + len(levels) * STEP
    assert largest.max() <= 27.7 + 0.3 * len(levels)  # as the docstring says


@pytest.mark.slow
def test_dense_view_of_tables():
    """The default mixture has the probabilities that it has alone."""
    random = np.random.default_rng(0)
    rows = [{"city": "ab"[k % 2], "x": x} for k, x in enumerate(random.normal(size=30))]
    y = np.array([row["x"] > 0.0 for row in rows])
    found = [
        make_online_pipeline(TableEncoder(n_hashed=64), last).partial_fit_predict(
            rows, y, classes=[False, True], method="predict_proba"
        )
        for last in (OnlineConformalClassifier(), HedgeClassifier())
    ]
    assert_array_equal(*found)


def test_errors():
    X, y = data(20)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        with_sets(ScInOLClassifier()).partial_fit(X, y)
    P = np.abs(X) / np.abs(X).sum(axis=1, keepdims=True)
    model = with_sets(Given()).partial_fit(P, y)
    before = deepcopy(learned(model))
    with pytest.raises(ValueError, match="predicts a probability that is NaN or not"):
        model.partial_fit(-P, y)
    with pytest.raises(ValueError, match=re.escape("unseen labels: [8]")):
        model.partial_fit(P, np.where(y == 1, 8, y))
    assert_identical(learned(model), before)
    model.estimator_.predict_proba = lambda X: X[:, :2]
    with pytest.raises(ValueError, match=r"predicts an array of shape \(20, 2\)"):
        model.partial_fit(P, y)


def test_merging_of_different_classes():
    X, y = data(900)
    estimator = ScInOLClassifier(new_classes="add")
    models = [
        with_sets(estimator, 0.9).partial_fit(X[y != k], y[y != k]) for k in (0, 2)
    ]
    merged = merge_models(models)
    assert_array_equal(merged.classes_, [0, 1, 2])
    assert merged.predict_set(X).shape == (900, 3)
    sets = sets_of(merged, X, y, classes=None)
    assert abs(sets[np.arange(900), y].mean() - 0.9) < 0.03
