"""Steps learn rows when they come and labels when these come, as both at once."""

from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.comparisons import assert_identical
from support.steps import attributes
from support.tables import state_of, table

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

N, PAIRS = 90, [("city", "flag")]


def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(1.0, 2.0, (N, 4)) * [1.0, 1e3, 1e-6, 0.0]
    return np.column_stack([X, rng.integers(0, 5, N), np.maximum(X[:, 0], 0.0)])


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


@pytest.mark.cases(8)
@pytest.mark.parametrize("of", TARGETS)
@pytest.mark.parametrize("kind", STEPS)
def test_rows_then_labels(kind, of, engine):
    """Row by row this is what `partial_fit_transform` does, to the last bit."""
    step, make = STEPS[kind]
    X, y = make(), TARGETS[of]
    whole, apart = clone(step), clone(step)
    given = classes_of(y)
    expected = whole.partial_fit_transform(X, y, **given)
    apart.partial_fit_transform(X[:1], y[:1], **given)
    one = deepcopy(apart)
    for r in range(1, N):
        Z = apart.observe_transform(X[r : r + 1])
        for found, all_rows in zip(cut(Z), cut(expected), strict=True):
            assert_identical(found[0], all_rows[r][: found.shape[1]])
        apart.learn_labels(X[r : r + 1], y[r : r + 1], **given)
        one.observe(X[r : r + 1])
        one.learn_labels(X[r : r + 1], y[r : r + 1], **given)
    assert_identical(state(apart), state(whole))
    assert_identical(state(one), state(whole))


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


def test_first_rows_of_target_means_need_targets():
    with pytest.raises(NotFittedError):
        OnlineTargetEncoder().observe(cells())


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
