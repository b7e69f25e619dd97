"""Balanced weights of classes: in a stream, from the counts of the rows so far."""

from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils.class_weight import compute_sample_weight
from support.registry import ESTIMATORS

from sklearn_scinol import (
    AdaImplicitClassifier,
    HedgeClassifier,
    OnlineNewtonClassifier,
    ScInOLClassifier,
)

CLASSIFIERS = [estimator for estimator in ESTIMATORS if is_classifier(estimator())]
CLASSIFIERS.append(HedgeClassifier)
CLASSES = np.array(["a", "b", "c"])


def rows(n_rows=40, seed=0):
    """Rows of which those of some classes are rare, and the last class comes late."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = CLASSES[rng.choice(3, n_rows, p=[0.7, 0.2, 0.1])]
    y[: n_rows // 4] = "b"
    return X, y


def running_weights(y, sample_weight, counts=()):
    """Return weights of rows, each by scikit-learn's formula for the rows up to it."""
    counts, weights = Counter(counts), []
    for label, c in zip(y, sample_weight, strict=True):
        if c > 0.0:
            counts[label] += 1
            c *= counts.total() / (len(counts) * counts[label])
        weights.append(c)
    return np.array(weights)


def assert_same_model(actual, expected, X):
    assert actual.cumulative_loss_ == expected.cumulative_loss_
    assert actual.n_samples_seen_ == expected.n_samples_seen_
    for method in "predict", "decision_function":
        answers = (getattr(model, method)(X) for model in (actual, expected))
        assert_array_equal(*answers)


@pytest.mark.cases(3)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_partial_fit(classifier, container, weighted, engine):
    """Class weights act as sample weights, in any chunks and after failing calls."""
    X, y = rows()
    X, c = container(X), np.ones(len(y))
    if weighted:
        c = np.random.default_rng(1).choice([0.0, 0.5, 2.0], size=len(y))
    given = {"sample_weight": c} if weighted else {}
    expected, whole, in_parts = (
        classifier(class_weight=weights) for weights in (None, "balanced", "balanced")
    )
    assert_array_equal(
        whole.partial_fit_predict(X, y, classes=CLASSES, **given),
        expected.partial_fit_predict(
            X, y, classes=CLASSES, sample_weight=running_weights(y, c)
        ),
    )
    assert_same_model(whole, expected, X)
    for part in np.array_split(np.arange(len(y)), [1, 2, 11, 30]):
        given = {"sample_weight": c[part]} if weighted else {}
        in_parts.partial_fit(X[part], y[part], classes=CLASSES, **given)
        in_parts._check_state()
        with pytest.raises(ValueError, match="infinity"):
            in_parts.partial_fit(X * np.inf, y)
    assert_same_model(in_parts, expected, X)


@pytest.mark.cases(3)
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_goes_on_from_the_rows_of_fit(classifier, engine):
    X, y = rows(60)
    few = {"max_iter": 2, "tol": None, "random_state": 0}
    c = np.random.default_rng(2).exponential(size=40)
    model = classifier(class_weight="balanced", **few).fit(X[:40], y[:40], c)
    weights = compute_sample_weight("balanced", y[:40])
    expected = classifier(**few).fit(X[:40], y[:40], weights * c)
    assert_same_model(model, expected, X)
    for part in slice(40, 45), slice(45, 60):
        weight = running_weights(y[part], np.ones(60)[part], Counter(y[: part.start]))
        expected.partial_fit(X[part], y[part], sample_weight=weight)
        model.partial_fit(X[part], y[part])
    assert_same_model(model, expected, X)


def test_fit_goes_on(engine):
    """With the weights of all rows so far: the same where they come again."""
    X, y = rows(60)
    parameters = {"max_iter": 2, "tol": None, "warm_start": True, "shuffle": False}
    model = ScInOLClassifier(class_weight="balanced", **parameters)
    expected = ScInOLClassifier(**parameters)
    counts = Counter()
    for part in slice(0, 40), slice(0, 40), slice(30, 45):
        counts.update(y[part])
        of_label = {k: counts.total() / (3 * n) for k, n in counts.items()}
        model.fit(X[part], y[part])
        expected.fit(X[part], y[part], [of_label[label] for label in y[part]])
        assert_same_model(model, expected, X)


def test_experts_have_weights_of_their_own(engine):
    """Each learns as it does alone, given the weights of the mixture's rows."""
    X, y = rows()
    c = np.random.default_rng(3).choice([0.0, 0.5, 2.0], size=len(y))
    experts = [
        ("scinol", ScInOLClassifier(class_weight="balanced")),
        ("implicit", AdaImplicitClassifier(class_weight={0: 2.0})),
        ("newton", OnlineNewtonClassifier(class_weight="balanced")),
    ]
    for class_weight in None, "balanced":
        model = HedgeClassifier(experts, class_weight=class_weight)
        model.partial_fit(X[:7], y[:7], classes=CLASSES, sample_weight=c[:7])
        model.partial_fit(X[7:], y[7:], sample_weight=c[7:])
        model._check_state()
        given = c if class_weight is None else running_weights(y, c)
        codes = np.searchsorted(CLASSES, y)
        for (_, expert), fitted in zip(experts, model.estimators_, strict=True):
            alone = clone(expert).partial_fit(X, codes, range(3), given)
            assert_same_model(fitted, alone, X)
