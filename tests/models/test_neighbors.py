"""Predictions from the nearest of the last rows of a stream."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from support import naive_neighbors
from support.comparisons import assert_identical, learned
from support.copies import COPIES
from support.registry import ENGINES, NEIGHBORS, compiled

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineKNeighborsClassifier,
    OnlineKNeighborsRegressor,
    ScInOLClassifier,
    config_context,
    merge_models,
)
from sklearn_scinol.blocks import Block, RowWeights
from sklearn_scinol.engines import get_engine

engines = pytest.mark.parametrize("engine", ENGINES, indirect=True)
estimators = pytest.mark.parametrize("estimator", NEIGHBORS)

#: Windows and numbers of rows: rings that turn, of more than one block, or of a part.
SIZES = [(140, 300), (5, 60)]


def data(n=150, d=5, n_outputs=1, seed=0):
    """Rows in units far apart, some of which come back, and targets or classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2, size=(n, d)) * 10.0 ** np.arange(-2, d - 2)
    X[rng.random(X.shape) < 0.3] = 0.0
    X[1::5] = X[::5]
    y = X @ rng.normal(size=(d, n_outputs)) / 10.0 ** (d - 3)
    y += rng.normal(size=y.shape)
    return X, y if n_outputs > 1 else y[:, 0]


def labels(y, n_classes):
    return np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))


def stream(estimator, **sizes):
    """Rows and targets for an estimator, and what `partial_fit` needs besides."""
    X, y = data(**sizes)
    if is_classifier(estimator()):
        return X, labels(y, 3), {"classes": [0, 1, 2]}
    return X, y, {}


def weights(n):
    c = np.random.default_rng(1).choice([0.5, 1.0, 3.0], n)
    c[0] = 1.0
    return c


# Formulas.


@pytest.mark.parametrize(("window", "n"), SIZES)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@engines
def test_classes_by_their_definition(window, n, n_classes, weighted, engine):
    X, y = data(n)
    y, c = labels(y, n_classes), weights(len(y)) if weighted else np.ones(len(y))
    reference = naive_neighbors.Neighbors(3, window, naive_neighbors.counts(n_classes))
    expected = [
        reference.predict_learn(*row)
        for row in zip(X.tolist(), y.tolist(), c.tolist(), strict=True)
    ]
    model = OnlineKNeighborsClassifier(3, window=window)
    said = model.partial_fit_predict(
        X, y, classes=range(n_classes), sample_weight=c, method="predict_proba"
    )
    assert_allclose(said, expected, rtol=1e-10)
    assert_allclose(said[0], 1 / n_classes)
    losses = -np.log(said[np.arange(len(y)), y])
    assert model.cumulative_loss_ == pytest.approx(losses @ c)
    assert model.n_samples_seen_ == len(y)


def squares(y, p):
    return (y - p) ** 2


def pinball(quantile):
    return lambda y, p: max(quantile * (y - p), (1.0 - quantile) * (p - y))


MEDIAN = naive_neighbors.least(pinball(0.5))


def mean(nearest):
    total = sum(c for _, c in nearest)
    return sum(c * y for y, c in nearest) / total if nearest else 0.0


PREDICTIONS = {
    "absolute_error": ({}, MEDIAN),
    "huber": ({"epsilon": 0.3}, MEDIAN),
    "epsilon_insensitive": ({"epsilon": 0.2}, MEDIAN),
    "quantile": ({"quantile": 0.75}, naive_neighbors.least(pinball(0.75))),
    "squared_error": ({}, mean),
}


@pytest.mark.parametrize("loss", PREDICTIONS)
@pytest.mark.parametrize("n_neighbors", [1, 4, 7])
@pytest.mark.parametrize("weighted", [False, True])
@engines
def test_numbers_by_their_definition(loss, n_neighbors, weighted, engine):
    parameters, predict = PREDICTIONS[loss]
    X, y = data(n_outputs=2)
    c = weights(len(y)) if weighted else np.ones(len(y))
    expected = []
    for targets in y.T:
        reference = naive_neighbors.Neighbors(n_neighbors, 70, predict)
        rows = zip(X.tolist(), targets.tolist(), c.tolist(), strict=True)
        expected.append([reference.predict_learn(*row) for row in rows])
    model = OnlineKNeighborsRegressor(n_neighbors, window=70, loss=loss, **parameters)
    said = model.partial_fit_predict(X, y, sample_weight=c)
    assert_allclose(said, np.transpose(expected), rtol=1e-10, atol=1e-10)
    alone = clone(model).partial_fit_predict(X, y[:, 1], sample_weight=c)
    assert_array_equal(alone, said[:, 1])


@engines
def test_later_rows_come_first(engine):
    """The latest of rows at equal distances wins, also where the ring has turned."""
    for n in (2, 3, 63, 64, 65, 70, 90, 129, 150):
        model = OnlineKNeighborsRegressor(1, window=131)
        model.partial_fit([[0.0], [1.0]] * n, np.arange(2.0 * n))
        assert_array_equal(model.predict([[0.0], [1.0]]), [2 * n - 2, 2 * n - 1])


@pytest.mark.parametrize("n_features", [1, 4, 7, 8, 9, 33])
@compiled
def test_engines_find_the_same_rows(n_features, engine):
    """To the last bit, whatever is given up half-way."""
    X, y = data(300, n_features)
    said = {}
    for each in engine, "numpy":
        with config_context(engine=each):
            model = OnlineKNeighborsRegressor(7, window=130)
            predictions = model.partial_fit_predict(X, y)
            said[each] = predictions, model._model.recent.rows
    (found, rows), (expected, expected_rows) = said.values()
    assert_array_equal(found, expected)
    assert_allclose(rows, expected_rows, rtol=1e-6, atol=1e-7)


@estimators
@engines
def test_rows_that_come_back_are_known(estimator, engine):
    """Each visitor has habits that no function of the features explains."""
    rng = np.random.default_rng(0)
    visitors, habits = rng.normal(size=(20, 4)), rng.integers(3, size=20)
    visits = np.concatenate([rng.permutation(20) for _ in range(10)])
    kind = {"classes": [0, 1, 2]} if is_classifier(estimator()) else {}
    model = estimator(1, window=40)
    said = model.partial_fit_predict(visitors[visits], habits[visits], **kind)
    assert_array_equal(said[100:], habits[visits[100:]])
    assert_array_equal(model.predict(visitors), habits)


# Properties of all learners.


@estimators
@pytest.mark.parametrize("n_outputs", [1, 2])
@engines
def test_chunks_do_not_matter(estimator, n_outputs, engine):
    X, y, kind = stream(estimator)
    if n_outputs > 1:
        X, y = (X, y % 2) if kind else data(n_outputs=n_outputs)
        kind = {"classes": [0, 1]} if kind else {}
    c = weights(len(y))
    c[::7] = 0.0
    whole = estimator(3, window=70)
    said = whole.partial_fit_predict(X, y, sample_weight=c, **kind)
    for cuts in [1, 2, 3, 60, 64, 65, 131], range(1, len(y)):
        parts = estimator(3, window=70)
        found = []
        for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
            rows = slice(start, stop)
            found.append(
                parts.partial_fit_predict(
                    X[rows], y[rows], sample_weight=c[rows], **kind
                )
            )
        assert_array_equal(np.concatenate(found), said)
        assert_identical(learned(parts), learned(whole))
    fitted = estimator(3, window=70).fit(X, y, c)
    assert_identical(learned(fitted), learned(whole))
    fitted.fit(X, y, c)
    assert_identical(learned(fitted), learned(whole))
    assert fitted.n_iter_ == 1


@estimators
@engines
def test_predictions_are_those_that_are_charged(estimator, engine):
    X, y, kind = stream(estimator, n=100)
    ahead, asked = estimator(window=30), "decision_function" if kind else "predict"
    keywords = {"method": asked, **kind}
    said = ahead.partial_fit_predict(X, y, **keywords)
    model = estimator(window=30).partial_fit(X[:1], y[:1], **kind)
    for r in range(1, len(y)):
        before = deepcopy(learned(model))
        assert_allclose(getattr(model, asked)(X[r : r + 1])[0], said[r], rtol=1e-10)
        assert_identical(learned(model), before)
        model.partial_fit(X[r : r + 1], y[r : r + 1])


@estimators
@engines
def test_units_do_not_matter(estimator, engine):
    X, y, kind = stream(estimator)
    powers = 2.0 ** np.array([-300, 300, 17, -5, 0])
    expected = estimator().partial_fit_predict(X, y, **kind)
    assert_array_equal(estimator().partial_fit_predict(X * powers, y, **kind), expected)
    for other in (X * [1e3, 1e-5, 7.0, 0.1, 3.0], X[:, ::-1], X + 10.0):
        said = estimator().partial_fit_predict(other, y, **kind)
        # Rounding may decide which of two rows is nearer.
        assert np.mean(np.isclose(said, expected, rtol=1e-9)) > 0.98
    padded = np.hstack([X, np.zeros((len(y), 1))])
    assert_array_equal(estimator().partial_fit_predict(padded, y, **kind), expected)
    said = estimator().partial_fit_predict(
        X, y, sample_weight=np.full(len(y), 8.0), **kind
    )
    assert_array_equal(said, expected)


@engines
def test_units_of_targets(engine):
    X, y = data()
    for loss in "absolute_error", "squared_error":
        expected = OnlineKNeighborsRegressor(loss=loss).partial_fit_predict(X, y)
        said = OnlineKNeighborsRegressor(loss=loss).partial_fit_predict(X, 2.0**90 * y)
        assert_array_equal(said, 2.0**90 * expected)


@estimators
@engines
def test_rows_of_weight_0_are_not_stored(estimator, engine):
    X, y, kind = stream(estimator)
    c = np.arange(len(y)) % 2.0
    model = estimator(window=40).partial_fit(X, y, sample_weight=c, **kind)
    half = estimator(window=40).partial_fit(X[1::2], y[1::2], **kind)
    assert_identical(learned(model), learned(half))


@estimators
@pytest.mark.parametrize("container", [sparse.csr_array, np.asfortranarray])
@engines
def test_other_rows_are_made_dense(estimator, container, engine):
    X, y, kind = stream(estimator)
    expected = estimator(window=40).partial_fit(X, y, **kind)
    model = estimator(window=40).partial_fit(container(X), y, **kind)
    assert_identical(learned(model), learned(expected))
    assert_array_equal(model.predict(container(X)), expected.predict(X))


@estimators
@engines
def test_extreme_values(estimator, engine):
    """They count as four deviations, and take no other row with them."""
    X, y, kind = stream(estimator)
    X[50, 0], X[90, 1] = 1e308, -1e308
    model = estimator(window=70)
    assert np.isfinite(model.partial_fit_predict(X, y, **kind)).all()
    assert np.abs(model._model.recent.rows).max() == 4.0
    model.predict(1e308 * np.sign(X))


@estimators
@pytest.mark.parametrize("way", COPIES)
@engines
def test_copies_go_on_where_the_original_would(estimator, way, tmp_path, engine):
    X, y, kind = stream(estimator)
    model = estimator(window=70).partial_fit(X[:100], y[:100], **kind)
    copy = COPIES[way](model, tmp_path / "model")
    assert_array_equal(copy.predict(X), model.predict(X))
    for each in model, copy:
        each.partial_fit(X[100:], y[100:])
    assert_identical(copy._model, model._model)
    copy._check_state()


@estimators
@engines
def test_memory_grows_with_the_rows(estimator, engine):
    X, y, kind = stream(estimator, n=300)
    models = [
        estimator(window=window).partial_fit(X, y, **kind) for window in (10**12, 300)
    ]
    for model, n_slots in zip(models, (512, 384), strict=True):
        recent = model._model.recent
        assert recent.rows.nbytes == n_slots * X.shape[1] * 4
        assert len(recent.targets) == len(recent.weights) == n_slots
    assert_array_equal(*(model.predict(X) for model in models))


@estimators
@engines
def test_more_neighbors_than_rows(estimator, engine):
    X, y, kind = stream(estimator, n=30)
    said = estimator(10**12, window=9).partial_fit_predict(X, y, **kind)
    nine = estimator(9, window=9).partial_fit_predict(X, y, **kind)
    assert_array_equal(said, nine)
    said = estimator(10**12, window=10**12).partial_fit_predict(X, y, **kind)
    all_rows = estimator(30, window=30).partial_fit_predict(X, y, **kind)
    assert_array_equal(said, all_rows)


@estimators
def test_one_row_at_a_time(estimator, engine):
    X, y, kind = stream(estimator, n=40)
    expected = estimator(window=20).partial_fit_predict(X, y, **kind)
    rows = estimator(window=20).row_by_row(**kind)
    said = [rows.predict_learn_one(*row) for row in zip(X, y, strict=True)]
    assert_array_equal(said, expected)


def test_parameters_of_a_window():
    X, y, _ = stream(OnlineKNeighborsRegressor)
    for name, value in ("n_neighbors", 0), ("window", 0), ("window", 2.5):
        with pytest.raises(ValueError, match=f"The '{name}' parameter"):
            OnlineKNeighborsRegressor(**{name: value}).fit(X, y)
    with pytest.raises(NotFittedError):
        OnlineKNeighborsRegressor().predict(X)


@estimators
@engines
def test_a_call_that_fails_changes_nothing(estimator, engine):
    X, y, kind = stream(estimator)
    model = estimator(window=70).partial_fit(X[:60], y[:60], **kind)
    before = deepcopy(vars(model))
    bad = X.copy()
    bad[-1, 0] = np.nan
    c = np.ones(len(y))
    c[-1] = 1e200
    for rows, given in (bad, None), (X, c):
        with pytest.raises(ValueError, match=r"NaN|Sample weights must be"):
            model.partial_fit(rows, y, sample_weight=given)
        assert_identical(vars(model), before)


# Classes that come later.


@engines
def test_new_classes(engine):
    X, y = data()
    y = labels(y, 4)
    _, first = np.unique(y, return_index=True)
    letters = np.array(list("dbca"))  # as they come: each moves others
    y = letters[np.argsort(np.argsort(first))[y]]
    whole = OnlineKNeighborsClassifier(window=200, new_classes="add").partial_fit(X, y)
    rows = OnlineKNeighborsClassifier(window=200, new_classes="add")
    for r in range(len(y)):
        rows.partial_fit(X[r : r + 1], y[r : r + 1])
    assert_identical(learned(rows), learned(whole))
    # The first rows of a single class are not learned.
    start = np.flatnonzero(y != y[0])[0]
    known = OnlineKNeighborsClassifier(window=200)
    known.partial_fit(X[start:], y[start:], classes=list("abcd"))
    assert_allclose(whole.predict_proba(X), known.predict_proba(X), rtol=1e-10)


# Experts of mixtures, and shared memory.


@estimators
@engines
def test_experts_of_a_mixture(estimator, engine):
    X, y, kind = stream(estimator)
    mixture = HedgeClassifier if kind else HedgeRegressor
    model = mixture([(str(k), estimator(k, window=70)) for k in (1, 3)])
    model.partial_fit(X, y, **kind)
    alone = estimator(3, window=70).partial_fit(X, y, **kind)
    assert_identical(learned(model.estimators_[1])["_model"], learned(alone)["_model"])
    parts = clone(model)
    for rows in slice(0, 50), slice(50, None):
        parts.partial_fit(X[rows], y[rows], **kind)
    assert_array_equal(parts.predict(X), model.predict(X))


@engines
def test_experts_take_new_classes(engine):
    X, y = data()
    y = labels(y, 4)
    y[:40] = y[:40] % 2
    experts = [("near", OnlineKNeighborsClassifier()), ("line", ScInOLClassifier())]
    model = HedgeClassifier(experts, new_classes="add").partial_fit(X, y)
    assert model.n_samples_seen_ > 140
    assert model.predict_proba(X).shape == (150, 4)


@estimators
@engines
def test_one_search_for_several_models(estimator, engine):
    """Models that share the rows predict as each would alone."""
    X, y, kind = stream(estimator)
    alone = [estimator(k, window=70) for k in (1, 3, 10)]
    for model in alone:
        model.partial_fit(X[:90], y[:90], **kind)
    together = [deepcopy(model._model) for model in alone]
    shared = {}
    for model in together:
        model.share_transforms(shared)
    assert len(shared) == 2  # the transform and the rows
    first, n = together[0], len(y) - 90
    weights = RowWeights(np.ones(n), np.ones(n), np.ones(2))
    loops = get_engine("numpy" if engine == "numpy" else "numba")
    Z = first.learn_transforms(
        loops, X, slice(90, None), weights, lambda key, function: function()
    )
    targets = y[90:] if kind else y[90:, np.newaxis]
    block = Block(Z, None, targets, weights, None)
    for model, said in zip(
        alone, first.learn_stacked(loops, together, block), strict=True
    ):
        method = {"method": "decision_function"} if kind else {}
        expected = model.partial_fit_predict(X[90:], y[90:], **method)
        assert_array_equal(said.predictions.reshape(expected.shape), expected)
    assert_identical(first.recent, alone[0]._model.recent)


@engines
def test_shared_rows_are_renumbered_once(engine):
    X, y, kind = stream(OnlineKNeighborsClassifier)
    model = OnlineKNeighborsClassifier(window=70).partial_fit(X, y, **kind)
    recent, before = model._model.recent, model._model.recent.targets
    for _ in range(3):
        recent.add_classes(np.array([False, True, False, False]))
    assert_array_equal(recent.targets, np.array([0.0, 2.0, 3.0])[before.astype(int)])


# Merging.


@estimators
@engines
def test_merging_keeps_the_latest_rows(estimator, engine):
    X, y, kind = stream(estimator)
    start = estimator(window=60).partial_fit(X[:30], y[:30], **kind)
    long, short = deepcopy(start), deepcopy(start)
    long.partial_fit(X[30:120], y[30:120])
    short.partial_fit(X[120:], y[120:])
    merged = merge_models([long, short], start=start)
    merged._check_state()
    assert merged.n_samples_seen_ == 150
    recent = merged._model.recent
    latest = long._model.recent, short._model.recent
    sizes = zip(latest, (45, 15), strict=True)
    kept = [ring._at(ring.latest[:size], 1.0) for ring, size in sizes]
    found = recent._at(recent.latest, 1.0)
    for actual, *expected in zip(found, *kept, strict=True):
        assert_array_equal(
            np.sort(actual, axis=0), np.sort(np.concatenate(expected), axis=0)
        )
    assert_identical(merge_models([long, short], start=start)._model.recent, recent)
    merged.partial_fit(X, y)
    merged._check_state()


@estimators
@engines
def test_merging_few_rows_keeps_all(estimator, engine):
    X, y, kind = stream(estimator)
    start = estimator(window=200).partial_fit(X[:30], y[:30], **kind)
    models = [deepcopy(start) for _ in range(3)]
    for model, rows in zip(models, (slice(30, 90), slice(90, 150)), strict=False):
        model.partial_fit(X[rows], y[rows])
    merged = merge_models(models, start=start)
    assert merged._model.recent.latest.size == 150
    assert np.unique(merged._model.recent.latest).size == 150
    model = estimator(window=200).partial_fit(X, y, **kind)
    targets = [each._model.recent.targets[:150] for each in (merged, model)]
    assert_array_equal(*(np.sort(each, axis=0) for each in targets))
    (one, nothing) = models[0], deepcopy(start)
    alone = merge_models([one, nothing], start=start)
    assert_allclose(alone.predict(X), one.predict(X))


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
    stored = [model._model.recent for model in (*models, merged)]
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
    recent = merge_models(models)._model.recent
    assert_array_equal(np.unique(recent.weights[recent.latest]), [1.0, 3.0])
