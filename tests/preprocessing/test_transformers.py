"""Transformers that learn from a stream: what holds for all."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.comparisons import assert_identical
from support.steps import attributes
from support.tables import SETTINGS, late_table, state_of, table

from sklearn_scinol import config_context
from sklearn_scinol.checks import check_step
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineHistory,
    OnlineScaler,
    OnlineTargetEncoder,
    RandomFourierFeatures,
    TableEncoder,
)
from sklearn_scinol.preprocessing.stream import StreamTransformer
from sklearn_scinol.tables.dense import Targets

OF_NUMBERS = OnlineScaler(), OnlineBinner(50), RandomFourierFeatures(random_state=0)
#: As of scikit-learn's TargetEncoder.
FAILING = dict.fromkeys(
    ["check_transformer_general", "check_transformer_data_not_an_array"],
    "rows of fit_transform do not know their own target",
)


def name_of(value):
    return type(value).__name__


@pytest.mark.cases(400)
@parametrize_with_checks(
    [
        *(OnlineScaler(), OnlineTargetEncoder(), OnlineHistory()),
        OnlineBinner(n_samples=3, n_quantiles=1),
        OnlineHistory([0], target=False, n_hashed=3),
        RandomFourierFeatures(0.5, 3, random_state=0),
        TableEncoder(n_hashed=7, n_named=2, n_quantiles=1),
    ],
    expected_failed_checks=lambda each: (
        FAILING if isinstance(each, OnlineTargetEncoder | OnlineHistory) else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def rows(n=110, seed=0):
    """Return rows of numbers, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(1.0, 2.0, (n, 4)) * [1.0, 1e3, 1e-6, 0.0]
    X = np.column_stack([X, rng.integers(0, 5, n), np.maximum(X[:, 0], 0.0)])
    return X, rng.normal(size=n)


def dense(Z):
    return Z.toarray() if sparse.issparse(Z) else Z


@pytest.mark.cases(12)
@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.ones((3, 5)), "X has 5 features, but {} is expecting 6"),
        (np.full((3, 6), np.inf), "Input X contains infinity"),
        (np.full((3, 6), "a"), "could not convert string to float"),
        (np.ones((0, 6)), "Found array with 0 sample"),
    ],
)
@pytest.mark.parametrize("transformer", OF_NUMBERS, ids=name_of)
def test_bad_rows_leave_the_state_alone(transformer, X, words):
    fitted = clone(transformer).partial_fit(rows()[0])
    before = pickle.dumps(fitted)
    for method in fitted.partial_fit, fitted.partial_fit_transform, fitted.transform:
        with pytest.raises(ValueError, match=words.format(name_of(transformer))):
            method(X)
    assert pickle.dumps(fitted) == before


def test_missing_values():
    X = np.full((3, 2), np.nan)
    assert dense(OnlineBinner(3).fit(X).transform(X))[:, -1].all()
    assert np.isnan(OnlineScaler().fit_transform(X)).all()
    with pytest.raises(ValueError, match="FourierFeatures does not accept missing"):
        RandomFourierFeatures().fit(X)


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("transformer", "attribute"),
    [
        (OnlineBinner(), "edges_"),
        (OnlineBinner(), "get_feature_names_out"),
        (OnlineScaler(), "mean_"),
        (OnlineScaler(), "var_"),
        (RandomFourierFeatures(), "random_weights_"),
        (RandomFourierFeatures(), "random_offset_"),
    ],
)
def test_what_is_not_known_before_the_first_row(transformer, attribute):
    with pytest.raises(NotFittedError):
        transformer.transform([[1.0]])
    with pytest.raises(NotFittedError):
        getattr(transformer, attribute)()


@pytest.mark.cases(12)
@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        *((OnlineBinner, "n_samples", value) for value in (0, 2.5, "8")),
        *((OnlineBinner, "n_quantiles", value) for value in (-1, None)),
        *((RandomFourierFeatures, "gamma", value) for value in (-1.0, "auto", None)),
        *((RandomFourierFeatures, "n_components", value) for value in (0, 2.5)),
        (RandomFourierFeatures, "random_state", "a"),
        (OnlineTargetEncoder, "smooth", 0.0),
    ],
)
def test_bad_parameters(kind, name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of"):
        kind(**{name: value}).partial_fit([[1.0]], [1.0])


def test_frames_of_encoded_tables():
    """Frames hold the dense view of a table, and no sparse rows."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    rows = [{"city": "Oslo", "rooms": 2}, {"city": "Rome", "rooms": None}] * 5
    table, y = pandas.DataFrame(rows, index=np.arange(10) + 7), [0, 1] * 5
    encoder = TableEncoder(n_hashed=64).set_output(transform="pandas").fit(table)
    before = pickle.dumps(encoder)
    with pytest.raises(ValueError, match=r"set_output\(transform=.default"):
        encoder.fit_transform(table, y, classes=[0, 1])
    assert pickle.dumps(encoder) == before
    Z = encoder.set_params(sparse_output=False).fit_transform(table, y, classes=[0, 1])
    assert Z.shape == (10, 3)
    assert_array_equal(Z.index, table.index)
    assert [*Z.columns] == [*encoder.get_feature_names_out()]


N, PAIRS = 90, [("city", "flag")]


def numbers():
    return rows(N)[0]


def cells():
    rng = np.random.default_rng(1)
    X = rng.choice([*"abcdefg"], (N, 2)).astype(object)
    X[rng.random(N) < 0.1, 0] = None
    return X


STEPS = {
    "scaler": (OnlineScaler(), numbers),
    "binner": (OnlineBinner(50), numbers),
    "fourier": (RandomFourierFeatures(random_state=0), numbers),
    "target encoder": (OnlineTargetEncoder(), cells),
    "history": (OnlineHistory([0, (), (4, 5)], 0, n_hashed=9), numbers),
    "table": (TableEncoder(n_hashed=200), lambda: table(N)),
    "pairs": (TableEncoder(n_hashed=200, interactions=PAIRS), lambda: table(N)),
    "dense": (TableEncoder(n_named=5, sparse_output=False), lambda: table(N)),
    "sparse": (TableEncoder(n_hashed=50, sparse_output=True), lambda: table(N)),
    "crowded": (
        TableEncoder(**SETTINGS | {"n_named": 1}, n_hashed=40),
        lambda: table(N),
    ),
    "late": (TableEncoder(**SETTINGS, n_hashed=50), lambda: late_table(N)),
}

TARGETS = {
    "classes": np.random.default_rng(2).choice(["no", "so", "yes"], N),
    "numbers": np.random.default_rng(3).normal(size=N),
    "outputs": np.random.default_rng(4).normal(size=(N, 2)),
}


def state(step):
    return state_of(step) if isinstance(step, TableEncoder) else attributes(step)


def cut(Z, n=1):
    """Return the first rows as arrays, which sparse rows may get more columns than."""
    found = [Z.toarray() if sparse.issparse(Z) else Z]
    if getattr(Z, "dense_view", None) is not None:
        found.append(Z.dense_view)
    return found


def classes_of(y):
    return {} if y.dtype.kind == "f" else {"classes": ["no", "so", "yes"]}


@pytest.mark.cases(20)
@pytest.mark.parametrize("of", [*TARGETS, None])
@pytest.mark.parametrize("kind", STEPS)
def test_rows_are_learned_one_by_one(kind, of, engine):
    """In any chunks, each after its copy was transformed by the rows before it."""
    step, make = STEPS[kind]
    if of is None and step._wants_targets(None):
        pytest.skip("it needs targets")
    before = vars(step).copy()
    check_step(step, make(), TARGETS.get(of))
    assert vars(step) == before
    learned = clone(step).partial_fit(make(), TARGETS.get(of))
    assert all(np.all(holds) for _, holds in learned._invariants())


@pytest.mark.cases(12)
@pytest.mark.parametrize("of", TARGETS)
@pytest.mark.parametrize("kind", STEPS)
def test_engines_agree(kind, of):
    pytest.importorskip("numba", reason="numba is not installed")
    step, make = STEPS[kind]
    found = []
    for engine in "numpy", "numba":
        with config_context(engine=engine):
            Z = clone(step).partial_fit_transform(make(), TARGETS[of])
            found.append(cut(Z))
    for one, other in zip(*found, strict=True):
        assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.cases(8)
@pytest.mark.parametrize("late", [1, 7, 40])
@pytest.mark.parametrize("kind", STEPS)
def test_chunks_of_late_labels_do_not_matter(kind, late, engine):
    """Rows and labels may come in any chunks, if their order is the same."""
    step, make = STEPS[kind]
    X, y = make(), TARGETS["classes"]
    first = clone(step)
    first.partial_fit(X[:1], y[:1], **classes_of(y))
    plain, chunked = deepcopy(first), deepcopy(first)
    expected = []
    for start in range(1, N, late):
        rows = range(start, min(start + late, N))
        expected += [cut(plain.observe_transform(X[r : r + 1])) for r in rows]
        for r in rows[::-1]:
            plain.learn_labels(X[r : r + 1], y[r : r + 1])
        rows = slice(start, start + late)
        found = cut(chunked.observe_transform(X[rows]))
        alone = zip(*expected[start - 1 :], strict=True)
        for each, of_rows in zip(found, alone, strict=True):
            for row, (of_row,) in zip(each, of_rows, strict=True):
                assert_identical(row[: of_row.size], of_row[: row.size])
        chunked.learn_labels(X[rows][::-1], y[rows][::-1])
    assert_identical(state(chunked), state(plain))


@pytest.mark.parametrize("kind", STEPS)
def test_errors_change_nothing(kind):
    step, make = STEPS[kind]
    X, y = make(), TARGETS["classes"]
    unfitted = clone(step)
    with pytest.raises(NotFittedError):
        unfitted.learn_labels(X[:1], y[:1])
    step = clone(step).partial_fit(X[:20], y[:20], **classes_of(y))
    before = deepcopy(step)
    if step._wants_targets(None):
        with pytest.raises(ValueError, match="inconsistent numbers"):
            step.learn_labels(X[:3], y[:2])
    with pytest.raises(ValueError, match=r"0 sample|2D array"):
        step.observe(X[:0])
    with pytest.raises((ValueError, TypeError)):
        step.observe_transform([{"other": 1}])
    assert_identical(state(step), state(before))


@pytest.mark.cases(6)
@pytest.mark.parametrize("of", TARGETS)
@pytest.mark.parametrize("kind", [k for k in STEPS if STEPS[k][0]._wants_targets(None)])
def test_labels_between_rows_in_one_call(kind, of, engine):
    """As one call after the other, with weights."""
    step, make = STEPS[kind]
    X, y = make(), TARGETS[of]
    begun = clone(step).partial_fit(X[:30], y[:30], **classes_of(y))
    begun.observe(X[30:60])
    is_label = np.random.default_rng(5).permutation([True] * 30 + [False] * (N - 60))
    order = np.random.default_rng(6).permutation(30)
    late = [X[30 + r] for r in order]
    late = late if isinstance(X, list) else np.array(late)
    classes = classes_of(y).get("classes")
    targets = Targets(y[30:60][order], classes, np.arange(30.0))
    together, apart = deepcopy(begun), deepcopy(begun)
    found = together._follow(X[60:], late, targets, is_label)
    expected = StreamTransformer._follow(apart, X[60:], late, targets, is_label)
    for each, of_runs in zip(cut(found), cut(expected), strict=True):
        assert_identical(each, of_runs)
    assert_identical(state(together), state(apart))
