"""Predictions from the nearest of the last rows of a stream."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from support import naive_neighbors
from support.comparisons import assert_identical
from support.local import data, labels, stream, weights
from support.registry import NEIGHBORS, compiled

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineKNeighborsClassifier,
    OnlineKNeighborsRegressor,
    config_context,
    merge_models,
)

estimators = pytest.mark.parametrize("estimator", NEIGHBORS)

#: Windows and numbers of rows: rings that turn, of more than one block, or of a part.
SIZES = [(140, 200), (5, 60)]

# Formulas.


@pytest.mark.cases(3)
@pytest.mark.parametrize(("window", "n"), SIZES)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("candidates", [(), (1, 1.5), (6, 2.0)])
def test_classes_by_their_definition(
    window, n, n_classes, weighted, candidates, engine
):
    X, y = data(n)
    y, c = labels(y, n_classes), weights(len(y)) if weighted else np.ones(len(y))
    counts = naive_neighbors.counts(n_classes)
    reference = naive_neighbors.Neighbors(3, window, counts, *candidates)
    names = "n_candidates", "clip_deviations"
    options = dict(zip(names, candidates, strict=False))
    model = OnlineKNeighborsClassifier(3, window=window, **options)
    said = model.partial_fit_predict(
        X, y, classes=range(n_classes), sample_weight=c, method="predict_proba"
    )
    assert_allclose(said, reference.predictions(X, y, c), rtol=1e-10)
    assert_allclose(said[0], 1 / n_classes)
    losses = -np.log(said[np.arange(len(y)), y])
    assert model.cumulative_loss_ == pytest.approx(losses @ c)
    assert model.n_samples_seen_ == len(y)


MEDIAN = naive_neighbors.least(lambda y, p: abs(y - p))


PREDICTIONS = {
    "absolute_error": ({}, MEDIAN),
    "huber": ({"epsilon": 0.3}, MEDIAN),
    "epsilon_insensitive": ({"epsilon": 0.2}, MEDIAN),
    "quantile": (
        {"quantile": 0.75},
        naive_neighbors.least(lambda y, p: max(0.75 * (y - p), 0.25 * (p - y))),
    ),
    "squared_error": ({}, naive_neighbors.mean),
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("loss", PREDICTIONS)
@pytest.mark.parametrize("n_neighbors", [1, 4, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_by_their_definition(loss, n_neighbors, weighted, engine):
    parameters, predict = PREDICTIONS[loss]
    X, y = data(n_outputs=2)
    c = weights(len(y)) if weighted else np.ones(len(y))
    model = OnlineKNeighborsRegressor(n_neighbors, window=70, loss=loss, **parameters)
    said = model.partial_fit_predict(X, y, sample_weight=c)
    for k, targets in enumerate(y.T):
        reference = naive_neighbors.Neighbors(n_neighbors, 70, predict)
        expected = reference.predictions(X, targets, c)
        assert_allclose(said[:, k], expected, rtol=1e-10, atol=1e-10)
    alone = clone(model).partial_fit_predict(X, y[:, 1], sample_weight=c)
    assert_array_equal(alone, said[:, 1])


@pytest.mark.cases(1)
@estimators
def test_memory_grows_with_the_rows(estimator, engine):
    X, y, kind = stream(estimator, n=300)
    models = [
        estimator(window=window).partial_fit(X, y, **kind) for window in (10**12, 300)
    ]
    for model, n_slots in zip(models, (512, 320), strict=True):
        recent = model._model.memory
        assert recent.rows.nbytes == n_slots * X.shape[1] * 4
        assert recent.features.nbytes == 0
        assert len(recent.targets) == len(recent.weights) == n_slots
    assert_array_equal(*(model.predict(X) for model in models))


@estimators
def test_more_neighbors_than_rows(estimator, engine):
    X, y, kind = stream(estimator, n=30)
    for window, n in (9, 9), (10**12, 30):
        said = estimator(10**12, window=window).partial_fit_predict(X, y, **kind)
        as_many = estimator(n, window=n).partial_fit_predict(X, y, **kind)
        assert_array_equal(said, as_many)


def test_later_rows_come_first(engine):
    """The latest of rows at equal distances wins, also where the ring has turned."""
    for n in (2, 3, 63, 64, 65, 70, 90, 129, 150):
        model = OnlineKNeighborsRegressor(1, window=131)
        model.partial_fit([[0.0], [1.0]] * n, np.arange(2.0 * n))
        assert_array_equal(model.predict([[0.0], [1.0]]), [2 * n - 2, 2 * n - 1])


@pytest.mark.parametrize("n_features", [1, 4, 7, 8, 9, 33])
@pytest.mark.parametrize("n_candidates", [None, 20])
@compiled
def test_engines_find_the_same_rows(n_features, n_candidates, engine):
    """To the last bit, whatever is given up half-way."""
    X, y = data(300, n_features)
    said = {}
    for each in engine, "numpy":
        with config_context(engine=each):
            model = OnlineKNeighborsRegressor(7, window=130, n_candidates=n_candidates)
            predictions = model.partial_fit_predict(X, y)
            said[each] = predictions, model._model.memory.rows
    (found, rows), (expected, expected_rows) = said.values()
    assert_array_equal(found, expected)
    assert_allclose(rows, expected_rows, rtol=1e-6, atol=1e-7)


# Experts of mixtures, and shared memory.


@estimators
def test_one_search_for_several_models(estimator, engine):
    """Experts that share the rows learn and predict as each would alone."""
    X, y, kind = stream(estimator)
    experts = [(str(k), estimator(k, window=70)) for k in (1, 3, 10)]
    mixture = HedgeClassifier(experts) if kind else HedgeRegressor(experts)
    for rows in slice(90), slice(90, None):
        mixture.partial_fit(X[rows], y[rows], **kind)
    assert len({id(each._model.memory) for each in mixture.estimators_}) == 1
    for (_, alone), inside in zip(experts, mixture.estimators_, strict=True):
        alone.partial_fit(X, y, **kind)
        assert_identical(inside._model, alone._model)
        assert_array_equal(inside.predict(X), alone.predict(X))


def test_shared_rows_are_renumbered_once(engine):
    X, y, kind = stream(OnlineKNeighborsClassifier)
    model = OnlineKNeighborsClassifier(window=70).partial_fit(X, y, **kind)
    recent, before = model._model.memory, model._model.memory.targets
    for _ in range(3):
        recent.add_classes(np.array([False, True, False, False]))
    assert_array_equal(recent.targets, np.array([0.0, 2.0, 3.0])[before.astype(int)])


# Merging.


@estimators
@pytest.mark.parametrize("n_candidates", [None, 5])
@pytest.mark.parametrize(("window", "n_start"), [(60, 30), (200, 30), (60, 0)])
def test_merging_keeps_the_latest_rows(
    estimator, n_candidates, window, n_start, engine
):
    X, y, kind = stream(estimator)
    start = estimator(window=window, n_candidates=n_candidates)
    if n_start:
        start.partial_fit(X[:n_start], y[:n_start], **kind)
    long, short = deepcopy(start), deepcopy(start)
    long.partial_fit(X[n_start:120], y[n_start:120], **kind)
    short.partial_fit(X[120:], y[120:], **kind)
    given = {"start": start} if n_start else {}
    merged = merge_models([long, short], **given)
    merged._check_state()
    assert merged.n_samples_seen_ == 150
    recent = merged._model.memory
    assert recent.n_rows[0] == 150
    size = min(window, 150)
    assert recent.latest.size == np.unique(recent.latest).size == size
    if (window, n_start) == (60, 30):
        latest = long._model.memory, short._model.memory
        sizes = zip(latest, (45, 15), strict=True)
        kept = [ring._at(ring.latest[:size], 1.0) for ring, size in sizes]
        for actual, *expected in zip(
            recent._at(recent.latest, 1.0), *kept, strict=True
        ):
            assert_array_equal(
                np.sort(actual, axis=0), np.sort(np.concatenate(expected), axis=0)
            )
    if window == 200:
        whole = estimator(window=200).partial_fit(X, y, **kind)
        targets = [each._model.memory.targets[:150] for each in (merged, whole)]
        assert_array_equal(*(np.sort(each, axis=0) for each in targets))
        alone = merge_models([long, deepcopy(start)], start=start)
        assert_allclose(alone.predict(X), long.predict(X))
    assert_identical(merge_models([long, short], **given)._model.memory, recent)
    merged.partial_fit(X, y)
    merged._check_state()


def test_merging_models_of_other_classes():
    X, y = data()
    y = labels(y, 3)
    models = [
        OnlineKNeighborsClassifier(new_classes="add").partial_fit(X[rows], y[rows])
        for rows in (y != 0, y != 1)
    ]
    merged = merge_models(models)
    merged._check_state()
    assert_array_equal(merged.classes_, [0, 1, 2])
    stored = [model._model.memory for model in (*models, merged)]
    codes = [ring.targets[ring.latest, 0].astype(int) for ring in stored]
    of_each = np.array([1, 2])[codes[0]], np.array([0, 2])[codes[1]]
    assert_array_equal(np.sort(codes[2]), np.sort(np.concatenate(of_each)))


def test_weights_are_merged_in_one_unit():
    X, y = data()
    models = [
        OnlineKNeighborsRegressor(loss="squared_error").partial_fit(
            X[rows], y[rows], sample_weight=np.full(len(y[rows]), c)
        )
        for rows, c in ((slice(0, 70), 2.0), (slice(70, None), 6.0))
    ]
    recent = merge_models(models)._model.memory
    mean = np.mean(np.where(np.arange(len(y)) < 70, 2.0, 6.0))
    weights = np.unique(recent.weights[recent.latest])
    assert_allclose(weights, np.array([2.0, 6.0]) / mean, rtol=1e-14)
