"""Several labels a row: each is learned as by a classifier of two classes alone."""

import re
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
from support.comparisons import assert_close, assert_identical, learned
from support.registry import CASES, LAYOUTS, SCALED_LAYOUTS, thinned

from sklearn_scinol import (
    DFEGClassifier,
    HedgeClassifier,
    MondrianForestClassifier,
    OnlineKNeighborsClassifier,
    OnlineNewtonClassifier,
    ScInOLClassifier,
    ScInOLRegressor,
    merge_models,
)
from sklearn_scinol.baselines import BaselineClassifier, LastLabelClassifier
from sklearn_scinol.losses import CrossEntropy

N_LABELS = 3
OF_TWO_CLASSES = [case for case in CASES if case.classifies and case.n_outputs == 1]

#: Models of other kinds than a linear one without functions of features.
OTHER_MODELS = {
    "additive": ScInOLClassifier(additive=True, scale=True),
    "kernel": DFEGClassifier(kernel="rbf", gamma=0.5, average=5),
    "random features": OnlineNewtonClassifier(random_features=5, random_state=0),
    "neighbors": OnlineKNeighborsClassifier(3, window=20),
    "forest": MondrianForestClassifier(2, random_state=0),
    "last label": LastLabelClassifier(),
    "mixture": HedgeClassifier(),
    "mixture, hinge": HedgeClassifier(loss="hinge"),
}


def data(case=None, n_samples=40):
    """Rows, a matrix of labels and weights; one label is rare, and one row has none."""
    rng = np.random.default_rng(1)
    X = rng.standard_t(3, size=(n_samples, 4))
    if case is not None:
        X, _ = case.data(n_samples)
    Y = (X[:, :N_LABELS] + rng.normal(size=(n_samples, N_LABELS)) > 0.0).astype(int)
    Y[:, 1] = np.arange(n_samples) % 17 == 3
    Y[5] = 0
    return X, Y, rng.integers(0, 3, n_samples) / 2.0


SCORES = {"method": "decision_function"}


def alone(estimator, X, Y, c=None):
    """Scores by one estimator of two classes for each label, and these estimators."""
    models, given = [clone(estimator) for _ in Y.T], {"sample_weight": c, **SCORES}
    scores = [
        model.partial_fit_predict(X, y, classes=[0, 1], **given)
        for model, y in zip(models, Y.T, strict=True)
    ]
    return np.column_stack(scores), models


def stacked(models, method, X):
    return np.column_stack([getattr(model, method)(X) for model in models])


def assert_learns_as_if_alone(model, X, Y, c, new):
    """Learn in two chunks; return estimators of one label each."""
    expected, models = alone(model, X, Y, c)
    scores = [
        model.partial_fit_predict(X[rows], Y[rows], sample_weight=c[rows], **SCORES)
        for rows in (slice(0, 25), slice(25, None))
    ]
    assert_close(np.concatenate(scores), expected, 1e-12)
    scores = stacked(models, "decision_function", new)
    assert_close(model.decision_function(new), scores, 1e-12)
    total = sum(each.cumulative_loss_ for each in models)
    assert_close(model.cumulative_loss_, total, 1e-12)
    assert model.n_samples_seen_ == models[0].n_samples_seen_
    model._check_state()
    return models


@thinned(OF_TWO_CLASSES, layout=[*LAYOUTS, *SCALED_LAYOUTS])
def test_labels_are_learned_as_if_alone(case, layout, engine):
    X, Y, c = data(case)
    X = layout.container(X)
    model = case.make(center=layout.center, scale=layout.scale)
    models = assert_learns_as_if_alone(model, X, Y, c, X)
    for name in "coef_", "intercept_":
        expected = np.concatenate([getattr(each, name) for each in models])
        assert_close(getattr(model, name), expected, 1e-12)
    if hasattr(models[0], "regret_bound"):
        coef = np.ones((N_LABELS, X.shape[1]))
        bounds = [each.regret_bound(coef[0]) for each in models]
        assert_close(model.regret_bound(coef), sum(bounds), 1e-12)


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", OTHER_MODELS)
def test_other_models_learn_labels_as_if_alone(name, engine):
    X, Y, c = data()
    assert_learns_as_if_alone(clone(OTHER_MODELS[name]), X, Y, c, X[::-1] + 0.1)


def test_neighbors_of_a_label_share_rows():
    X, Y, _ = data()
    experts = HedgeClassifier().partial_fit(X, Y).estimators_
    neighbors = [e for e in experts if isinstance(e, OnlineKNeighborsClassifier)]
    memories = [[*map(id, each._model.memories)] for each in neighbors]
    assert len(memories) == 3
    assert memories == memories[:1] * 3
    assert len({*memories[0]}) == N_LABELS


ONE_OF_EACH = {
    "linear": ScInOLClassifier(),
    "averaged": ScInOLClassifier(average=5),
    "neighbors": OnlineKNeighborsClassifier(3, window=20),
    "mixture": HedgeClassifier(exclude=["neighbors", "forest", "extra_trees"]),
    "mixture of all": HedgeClassifier(exclude=["random_features", "additive"]),
}
one_of_each = pytest.mark.parametrize("name", ONE_OF_EACH)


@pytest.mark.cases(1)
@one_of_each
def test_row_by_row(name, engine):
    X, Y, c = data()
    model = clone(ONE_OF_EACH[name])
    rows = model.row_by_row(classes=range(N_LABELS))
    scores = [
        rows.predict_learn_one(*row, **SCORES)
        for row in zip(X, Y.tolist(), c, strict=True)
    ]
    expected = clone(model)
    said = expected.partial_fit_predict(X, Y, sample_weight=c, **SCORES)
    assert_array_equal(scores, said)
    assert_array_equal(rows.predict_one(X[0]), expected.predict(X[:1])[0])
    assert rows.predict_proba_one(X[0]).shape == (N_LABELS,)
    for y in ([1, 0], [2, 0, 1], 1, [0.5, 0.0, 1.0]):
        with pytest.raises(ValueError, match="y"):
            rows.learn_one(X[0], y)
    assert_array_equal(model.decision_function(X), expected.decision_function(X))
    assert model.cumulative_loss_ == expected.cumulative_loss_


@pytest.mark.cases(3)
@one_of_each
def test_merging(name):
    X, Y, _ = data(n_samples=60)
    start = clone(ONE_OF_EACH[name]).partial_fit(X[:20], Y[:20])
    parts = [slice(20, 35), slice(35, 60)]
    models = [deepcopy(start).partial_fit(X[rows], Y[rows]) for rows in parts]
    merged = merge_models(models, start=start)
    merged._check_state()
    _, starts = alone(start, X[:20], Y[:20])
    for k, first in enumerate(starts):
        members = [deepcopy(first).partial_fit(X[rows], Y[rows, k]) for rows in parts]
        expected = merge_models(members, start=first)
        scores = merged.decision_function(X)[:, k]
        assert_close(scores, expected.decision_function(X), 1e-10)
    one = ScInOLClassifier().partial_fit(X, Y[:, 0], classes=[0, 1])
    two = ScInOLClassifier().partial_fit(X, Y[:, :2])
    with pytest.raises(ValueError, match="same features and targets"):
        merge_models([one, two])


def test_epochs():
    """Without a choice of epochs each label is as if alone."""
    X, Y, _ = data()
    model = ScInOLClassifier(max_iter=4, tol=None, random_state=0).fit(X, Y)
    models = [clone(model).fit(X, y) for y in Y.T]
    scores = stacked(models, "decision_function", X)
    assert_close(model.decision_function(X), scores, 1e-12)
    curves = [each.loss_curve_ for each in models]
    assert_close(model.loss_curve_, np.sum(curves, axis=0), 1e-12)


def test_early_stopping():
    """The sum of all labels decides, on rows that need not have each label."""
    X, Y, _ = data()
    Y[:, 1] = np.arange(len(Y)) == 3  # which no stratified choice could halve
    model = ScInOLClassifier(early_stopping=True, random_state=0, max_iter=20)
    curve = model.fit(X, Y).validation_loss_curve_
    assert len(curve) == model.n_iter_ < 20
    assert np.argmin(curve) < model.n_iter_ - 1


@pytest.mark.cases(3)
@one_of_each
def test_predictions(name):
    X, Y, _ = data()
    model = clone(ONE_OF_EACH[name])
    assert not hasattr(model, "multilabel_")
    assert model.partial_fit(X, Y).multilabel_
    assert_array_equal(model.classes_, np.arange(N_LABELS))
    separate = MultiOutputClassifier(model)
    separate.partial_fit(X, Y, classes=[[0, 1]] * N_LABELS)
    of_label = [each[:, 1] for each in separate.predict_proba(X)]
    probabilities, labels = model.predict_proba(X), model.predict(X)
    assert_close(probabilities, np.column_stack(of_label), 1e-12)
    assert_close(np.exp(model.predict_log_proba(X)), probabilities, 1e-15)
    assert labels.dtype.kind == "i"
    assert_array_equal(labels, separate.predict(X))
    assert model.score(X, Y) == accuracy_score(Y, labels)


def test_a_class_a_row_after_labels():
    X, Y, _ = data()
    model = ScInOLClassifier(max_iter=2, tol=None, random_state=0)
    expected = clone(model).fit(X, Y[:, 0]).decision_function(X)
    model.fit(X, Y).fit(X, Y[:, 0])
    assert not model.multilabel_
    assert_array_equal(model.decision_function(X), expected)


FORMATS = {
    "list": np.ndarray.tolist,
    "bool": lambda Y: Y.astype(bool),
    "float": lambda Y: Y.astype(float),
    "Fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "csc matrix": sparse.csc_matrix,
    "pandas": lambda Y: pytest.importorskip("pandas").DataFrame(Y),
    "pandas bool": lambda Y: pytest.importorskip("pandas").DataFrame(Y == 1),
    "pandas Int64": lambda Y: pytest.importorskip("pandas").DataFrame(Y, dtype="Int64"),
    "polars": lambda Y: pytest.importorskip("polars").DataFrame(Y),
}


@pytest.mark.parametrize("convert", FORMATS.values(), ids=FORMATS)
def test_formats(convert):
    X, Y, _ = data()
    model = ScInOLClassifier(max_iter=2, tol=None, shuffle=False)
    fitted, expected = clone(model).fit(X, convert(Y)), clone(model).fit(X, Y)
    assert_identical(learned(fitted), learned(expected))
    for rows in slice(0, 1), slice(1, None):
        model.partial_fit(X[rows], convert(Y[rows]))
    assert_identical(learned(model), learned(ScInOLClassifier().partial_fit(X, Y)))


NO_INDICATORS = "y must be a matrix of zeros and ones"
BAD_LABELS = {
    "a class a row": (lambda Y: Y[:, 0], "y.shape == (40,), expected (40, 3)!"),
    "fewer": (lambda Y: Y[:, :2], "y.shape == (40, 2), expected (40, 3)!"),
    "two": (lambda Y: Y * 2, NO_INDICATORS),
    "half": (lambda Y: Y / 2, NO_INDICATORS),
    "text": (lambda Y: Y.astype(str), NO_INDICATORS),
    "NaN": (lambda Y: np.where(Y, np.nan, 0.0), "Input y contains NaN"),
    "fewer rows": (lambda Y: Y[:9], "inconsistent numbers of samples"),
    "three dimensions": (lambda Y: Y[:, :, np.newaxis], "Found array with dim 3"),
    "masked": (lambda Y: np.ma.masked_equal(Y, 1), "y has masked values"),
}


@pytest.mark.parametrize("bad", BAD_LABELS)
@pytest.mark.parametrize("new_classes", ["error", "add"])
def test_bad_labels(bad, new_classes):
    X, Y, _ = data()
    change, words = BAD_LABELS[bad]
    model = ScInOLClassifier(new_classes=new_classes).partial_fit(X, Y)
    before = deepcopy(learned(model))
    with pytest.raises(ValueError, match=re.escape(words)):
        model.partial_fit(X, change(Y))
    assert_identical(learned(model), before)


def test_labels_for_a_model_of_classes():
    X, Y, _ = data()
    model = ScInOLClassifier().partial_fit(X, Y[:, 0], classes=[0, 1])
    with pytest.raises(ValueError, match=r"y should be a 1d array, got .* \(40, 3\)"):
        model.partial_fit(X, Y)
    assert ScInOLRegressor().partial_fit(X, Y).predict(X).shape == Y.shape  # numbers


def test_classes_are_the_columns():
    X, Y, _ = data()
    model = ScInOLClassifier().partial_fit(X, Y, classes=[2, 0, 1])
    for each in model, ScInOLClassifier():
        with pytest.raises(ValueError, match="are not the labels, which are the col"):
            each.partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="classes must be passed"):
        ScInOLClassifier().row_by_row()


def test_refused_with_labels():
    X, Y, _ = data()
    experts = [("ours", ScInOLClassifier()), ("sgd", SGDClassifier())]
    weights, weighs = "class_weight must be None with several", ScInOLClassifier
    for model, words in (
        (weighs(class_weight="balanced"), weights),
        (weighs(class_weight={0: 2.0, 1: 1.0}), weights),
        (HedgeClassifier(experts), "SGDClassifier does not take several labels"),
        (BaselineClassifier(loss=CrossEntropy()), "three or more classes, got 2"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(X, Y)


def test_experts_of_other_packages():
    """A classifier that takes labels is asked for the probabilities of all."""
    X, Y, _ = data()
    other = MLPClassifier((3,), random_state=0)
    model = HedgeClassifier([("mlp", other)], exclude=["pools"]).partial_fit(X, Y)
    expected = clone(other).partial_fit(X, Y, classes=range(N_LABELS))
    assert_close(model.predict_proba(X), expected.predict_proba(X), 1e-6)
