"""Models that predict from rows near by: neighbours and forests."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from support.comparisons import assert_checkpoints_nest, assert_identical, learned
from support.local import data, labels, make, stream, weights
from support.registry import (
    EXTRA_TREES,
    FORESTS,
    NEIGHBORS,
    ONE_PASS,
    seeds,
)

from sklearn_scinol.blocks import SIDE_BY_SIDE

estimators = pytest.mark.parametrize("estimator", ONE_PASS)
classifiers = pytest.mark.parametrize(
    "estimator", [each for each in ONE_PASS if is_classifier(each())]
)


@pytest.mark.cases(2)
@estimators
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_chunks_do_not_matter(estimator, n_outputs, engine):
    X, y, kind = stream(estimator)
    if n_outputs > 1:
        X, y = (X, y % 2) if kind else data(n_outputs=n_outputs)
        kind = {"classes": [0, 1]} if kind else {}
    c = weights(len(y))
    c[::7] = 0.0
    whole = make(estimator)
    said = whole.partial_fit_predict(X, y, sample_weight=c, **kind)
    for cuts in [1, 2, 3, 60, 64, 65, 131], range(1, len(y)):
        parts = make(estimator)
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
    fitted = make(estimator).fit(X, y, c)
    assert_identical(learned(fitted), learned(whole))
    fitted.fit(X, y, c)
    assert_identical(learned(fitted), learned(whole))
    assert fitted.n_iter_ == 1


@estimators
def test_predictions_are_those_that_are_charged(estimator, engine):
    X, y, kind = stream(estimator, n=100)
    asked = "decision_function" if kind else "predict"
    keywords = {"method": asked, **kind}
    said = make(estimator).partial_fit_predict(X, y, **keywords)
    model = make(estimator).partial_fit(X[:1], y[:1], **kind)
    for r in range(1, len(y)):
        before = deepcopy(learned(model))
        assert_allclose(getattr(model, asked)(X[r : r + 1])[0], said[r], rtol=1e-10)
        assert_identical(learned(model), before)
        model.partial_fit(X[r : r + 1], y[r : r + 1])


@pytest.mark.cases(3)
@estimators
@seeds
def test_units_do_not_matter(estimator, seed, engine):
    X, y, kind = stream(estimator, seed=seed)
    powers = 2.0 ** np.array([-300, 300, 17, -5, 0])
    alike = [(X * powers, None), (X, np.full(len(y), 8.0))]
    if estimator not in EXTRA_TREES:  # which draw from all features
        alike.append((np.hstack([X, np.zeros((len(y), 1))]), None))
    expected = make(estimator).partial_fit_predict(X, y, **kind)
    for rows, c in alike:
        said = make(estimator).partial_fit_predict(rows, y, sample_weight=c, **kind)
        assert_array_equal(said, expected)
    for rows in X * [1e3, 1e-5, 7.0, 0.1, 3.0], X + np.array([1.0, -0.1, 0.3, 9, 7]):
        said = make(estimator).partial_fit_predict(rows, y, **kind)
        # Rounding may decide which of two rows is nearer.
        share = 0.98 if estimator in NEIGHBORS else 1.0
        assert np.mean(np.isclose(said, expected, rtol=1e-9)) >= share


@pytest.mark.cases(1)
@pytest.mark.parametrize("estimator", FORESTS)
def test_forests_draw_by_their_seeds(estimator, engine):
    X, y, kind = stream(estimator)
    said = [
        make(estimator, random_state=seed).partial_fit(X, y, **kind).predict(X)
        for seed in (0, 0, 1, np.random.RandomState(0))
    ]
    assert_array_equal(said[0], said[1])
    assert_array_equal(said[0], said[3])
    assert np.any(said[0] != said[2])


#: Bytes of a node, besides those of the box around its rows.
NODES = {
    "MondrianForestClassifier": 3 * 8 + 60,
    "MondrianForestRegressor": 24 + 44,
    "OnlineExtraTreesClassifier": 3 * 8 + 68,
    "OnlineExtraTreesRegressor": 24 + 52,
}


@pytest.mark.cases(2)
@pytest.mark.parametrize("estimator", FORESTS)
def test_memory_of_forests(estimator, engine):
    """As documented: bytes of a node and of a row, and slots by powers of four."""
    X, y, kind = stream(estimator, n=400)
    model = estimator(2, random_state=0).partial_fit(X, y, **kind)
    memory, n_slots = model._model.memory, 64
    of_node = sum(getattr(memory, name)[0, 0].nbytes for name in memory._BY_NODE)
    is_extra = estimator in EXTRA_TREES
    assert of_node == NODES[estimator.__name__] + (not is_extra) * 16 * X.shape[1]
    while n_slots < model.n_nodes_.max() + 64:
        n_slots *= 4
    assert is_extra or memory.n_slots == n_slots
    bounded = make(estimator, max_nodes=50).partial_fit(X, y, **kind)
    memory = bounded._model.memory
    assert memory.n_slots == 50
    if is_extra:
        n_slots = 2 * SIDE_BY_SIDE  # for 70 rows
        assert memory.recent.rows.nbytes == n_slots * 8 * X.shape[1]
        assert memory.gaps.nbytes == n_slots * 4 * 3


@pytest.mark.parametrize("estimator", [e for e in ONE_PASS if is_regressor(e())])
@seeds
def test_units_of_targets(estimator, seed, engine):
    X, y, _ = stream(estimator, seed=seed)
    expected = make(estimator).partial_fit_predict(X, y)
    said = make(estimator).partial_fit_predict(X, 2.0**90 * y)
    assert_array_equal(said, 2.0**90 * expected)


@estimators
def test_rows_of_weight_0_are_not_learned(estimator, engine):
    X, y, kind = stream(estimator)
    c = np.arange(len(y)) % 2.0
    model = make(estimator).partial_fit(X, y, sample_weight=c, **kind)
    half = make(estimator).partial_fit(X[1::2], y[1::2], **kind)
    assert_identical(learned(model), learned(half))
    nothing = make(estimator).partial_fit(X, y, sample_weight=0.0 * c, **kind)
    before = deepcopy(learned(nothing))
    assert_identical(learned(nothing), before)
    nothing.partial_fit(X[1::2], y[1::2])
    assert_identical(learned(nothing), learned(half))


@pytest.mark.cases(3)
@estimators
@pytest.mark.parametrize("container", [sparse.csr_array, np.asfortranarray])
def test_other_rows_are_made_dense(estimator, container, engine):
    X, y, kind = stream(estimator)
    expected = make(estimator).partial_fit(X, y, **kind)
    model = make(estimator).partial_fit(container(X[:80]), y[:80], **kind)
    model.partial_fit(container(X[80:]), y[80:])
    assert_identical(learned(model), learned(expected))
    assert_array_equal(model.predict(container(X)), expected.predict(X))


@estimators
def test_extreme_values_are_learned(estimator, engine):
    X, y, kind = stream(estimator)
    X[50, 0], X[90, 1] = 1e308, -1e308
    model = make(estimator)
    assert np.isfinite(model.partial_fit_predict(X, y, **kind)).all()
    model.predict(1e308 * np.sign(X))
    model._check_state()
    if estimator in NEIGHBORS:  # where they count as four deviations
        assert np.abs(model._model.memory.rows).max() == 4.0


@estimators
def test_a_call_that_fails_changes_nothing(estimator, engine):
    X, y, kind = stream(estimator)
    for n_before in 3, 60:
        model = make(estimator).partial_fit(X[:n_before], y[:n_before], **kind)
        before = deepcopy(vars(model))
        bad, c = X.copy(), np.ones(len(y))
        bad[-1, 0], c[-1] = np.nan, 1e200
        for rows, given in (bad, None), (X, c):
            with pytest.raises(ValueError, match=r"NaN|Sample weights must be"):
                model.partial_fit(rows, y, sample_weight=given)
            assert_identical(vars(model), before)


@pytest.mark.cases(4)
@estimators
def test_checkpoints_within_checkpoints(estimator, engine):
    """Chunks are undone, also where memory grows or a unit, in any order of both."""
    X, y, kind = stream(estimator)
    X[60, 0] = 1e200
    model = make(estimator).partial_fit(X[:3], y[:3], **kind)

    def learn(rows):
        model.partial_fit(X[rows], y[rows])

    assert_checkpoints_nest(model._model, learn, len(y))


@estimators
def test_a_row_that_fails_is_undone(estimator, engine, monkeypatch):
    X, y, kind = stream(estimator, n=80)
    rows = make(estimator).row_by_row(**kind)
    for x, target in zip(X[:70], y[:70], strict=True):
        rows.learn_one(x, target)
    before = deepcopy(learned(rows.estimator))

    def fail(*arguments):
        raise KeyboardInterrupt

    (prepared,) = rows._sessions.values()
    if prepared is not None:
        monkeypatch.setattr(prepared, "_record_loss", fail)
        with pytest.raises(KeyboardInterrupt):
            rows.learn_one(X[70], y[70])
    assert_identical(learned(rows.estimator), before)


@classifiers
def test_new_classes(estimator, engine):
    X, y = data()
    y = labels(y, 4)
    _, first = np.unique(y, return_index=True)
    letters = np.array(list("dbca"))  # as they come: each moves others
    y = letters[np.argsort(np.argsort(first))[y]]
    whole = make(estimator, new_classes="add").partial_fit(X, y)
    rows = make(estimator, new_classes="add")
    for r in range(len(y)):
        rows.partial_fit(X[r : r + 1], y[r : r + 1])
    assert_identical(learned(rows), learned(whole))
    # The first rows of a single class are not learned.
    start = np.flatnonzero(y != y[0])[0]
    known = make(estimator).partial_fit(X[start:], y[start:], classes=list("abcd"))
    said, expected = whole.predict_proba(X), known.predict_proba(X)
    if hasattr(known, "window"):
        assert_allclose(said, expected, rtol=1e-10)
    else:  # the prior of earlier rows had fewer classes
        assert np.abs(said - expected).mean() < 0.05


@pytest.mark.parametrize("estimator", [*NEIGHBORS, *FORESTS])
def test_too_many_features_are_refused(estimator):
    """Hashed text would take gigabytes for the first rows or nodes."""
    X, y = sparse.csr_array((2, 2**18)), np.array([0, 1])
    words = rf"262144 features are too many for {estimator.__name__}: .* use ScInOL"
    model = estimator()
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)
    classes = {"classes": y} if is_classifier(model) else {}
    with pytest.raises(ValueError, match=words):
        model.row_by_row(**classes).learn_one(np.zeros(2**18), y[0])
    assert not hasattr(model, "n_features_in_")
