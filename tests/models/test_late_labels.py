"""Rows that wait for their labels are learned as if they came with them, bitwise."""

import contextlib
import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from support.comparisons import assert_identical
from support.registry import THOROUGH
from support.steps import assert_same, assert_same_steps

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineConformalClassifier,
    OnlineConformalRegressor,
    OnlineKNeighborsClassifier,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import (
    BaselineClassifier,
    BaselineRegressor,
    LastLabelClassifier,
)
from sklearn_scinol.estimators.waiting import Waiting
from sklearn_scinol.persistence import load, save
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineHistory, OnlineScaler, TableEncoder


def data(n=60, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * 10.0 ** np.arange(-1, d - 1)
    return X, (X[:, 0] + rng.normal(size=n) * 0.1 > 0.0).astype(int)


def fitted(estimator, X, y):
    classes = {} if hasattr(estimator, "quantile") else {"classes": [0, 1]}
    return copy.deepcopy(estimator).partial_fit(X[:20], y[:20], **classes)


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "model",
    [
        make_online_pipeline(TableEncoder(), ScInOLClassifier()),
        make_online_pipeline(TableEncoder(), HedgeClassifier()),
        OnlineKNeighborsClassifier(window=30),
    ],
    ids=str,
)
def test_many_rows_are_learned_as_one_by_one(model, engine):
    """Bitwise, whether they come, and their labels, at once or not; and stored."""
    if hasattr(model, "steps"):
        rows, y = [{"a": str(i % 7), "b": i * 0.1} for i in range(60)], [0, 1] * 30
    else:
        rows, y = data()
    first = copy.deepcopy(model).partial_fit(rows[:20], y[:20], classes=[0, 1])
    late = [
        copy.deepcopy(first).row_by_row().with_late_labels(max_waiting=25)
        for _ in range(2)
    ]
    one, many = late
    expected = [one.predict_proba_one(rows[i], i) for i in range(20, 50)]
    many.predict_proba_one(rows[20], 20)
    for i, j in (21, 30), (30, 50):
        part = many.predict_many(rows[i:j], range(i, j), method="predict_proba")
        assert_identical(part, np.array(expected[i - 20 : j - 20]))
    assert [*many] == [*one] == [*range(25, 50)]
    assert many.n_dropped == one.n_dropped == 5
    kept = pickle.loads(pickle.dumps(many.items()))
    many = many.rows.with_late_labels()
    for key, row in kept:
        many.keep_one(row, key)
    order = [*range(28, 40), 26, 25, *range(45, 40, -1)]
    for i in order:
        one.learn_one(i, y[i], 1.0 + i % 2)
    for part in order[:1], order[1:6], order[6:]:
        many.learn_many(part, np.array(y)[part], [1.0 + i % 2 for i in part])
    assert [*many] == [*one]
    answers = [each.rows.estimator.predict_proba(rows[50:]) for each in (one, many)]
    assert_identical(*answers)


def test_many_rows_or_none():
    """A call that fails changes nothing."""
    X, y = data()
    model = fitted(make_online_pipeline(ScInOLClassifier()), X, y)
    late = model.row_by_row().with_late_labels(max_waiting=5)
    late.predict_many(X[20:22], "ab")
    late.predict_one(X[22], "c")
    before = copy.deepcopy(model)
    for call, error, words in [
        (lambda: late.predict_many(X[:2], "dd"), ValueError, "A key is repeated"),
        (lambda: late.predict_many(X[:2], "d"), ValueError, "inconsistent numbers"),
        (lambda: late.predict_many(X[:2] * np.nan, "de"), ValueError, "NaN"),
        (lambda: late.predict_many(X[:6], "defghi"), ValueError, "Only 5 rows"),
        (lambda: late.learn_many("ad", [0, 1]), KeyError, "No row waits"),
        (lambda: late.learn_many("aa", [0, 1]), ValueError, "A key is repeated"),
        (lambda: late.learn_many("ab", [0]), ValueError, "inconsistent numbers"),
        (lambda: late.learn_many("cab", [0, 1, 7]), ValueError, "unseen labels"),
        (lambda: late.learn_many("ac", [0, 7]), ValueError, "unseen labels"),
    ]:
        with pytest.raises(error, match=words):
            call()
        assert [*late] == ["a", "b", "c"]
        assert_same_steps(model, before)
    late.learn_many("ca", [0, 1])
    assert [*late] == ["b"]


@pytest.mark.parametrize("n_steps", [0, 1, 2])
def test_single_rows_are_learned_together_or_not(n_steps, engine):
    steps = [OnlineHistory(["k"]), TableEncoder()][2 - n_steps :]
    rows = [{"k": "abac"[i % 4], "x": i % 3} for i in range(24)]
    X = rows if steps else np.array([[i % 4, i % 3] for i in range(24)], float)
    model = make_online_pipeline(*steps, ScInOLClassifier())
    model.partial_fit(X[:20], np.arange(20) % 2, classes=[0, 1])
    late = model.row_by_row().with_late_labels()
    for x, key in zip(X[20:], "abcd", strict=True):
        late.predict_one(x, key)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match="unseen labels"):
        late.learn_many("dbca", [0, 1, 1, 7])
    assert_same_steps(model, before)


def test_early_rows_that_cannot_be_observed():
    """They are refused when they are learned."""
    model = make_online_pipeline(
        OnlineHistory(["k"]), TableEncoder(), ScInOLClassifier()
    )
    late = model.row_by_row(classes=[0, 1]).with_late_labels()
    for key, row in ("bad", {"other": 1}), ("good", {"k": "a"}):
        late.keep_one(row, key)
    late.learn_one("good", 1).keep_one({"k": "b"}, "later")
    with pytest.raises(ValueError, match="feature names"):
        late.learn_one("bad", 1)
    assert [*late] == ["bad", "later"]


def test_rows_are_copied():
    """However they are given."""
    X, y = data()
    model, plain = fitted(ScInOLClassifier(center=False), X, y), None
    plain = copy.deepcopy(model)
    late = model.row_by_row().with_late_labels()
    indices, values, whole = np.array([0, 2]), np.array([1.0, -3.0]), X[0].copy()
    listed, cells = X[1].tolist(), X[2].astype(object)
    for key, x in enumerate([(indices, values), whole, listed, cells]):
        late.decision_function_one(x, key)
    kept = [[whole[0], 0.0, 0.0, 0.0], whole.copy(), listed[:], cells.copy()]
    kept[0][:3] = 1.0, 0.0, -3.0
    served = plain._serve(np.array(kept, float))[1]
    indices[:], values[:], whole[:], listed[0], cells[:] = 1, 5.0, 6.0, 7.0, 8.0
    for key, x in enumerate(kept):
        late.learn_one(key, 1)
        X_row = np.array([x], float)
        plain._partial_fit(X_row, [1], None, served=served[key : key + 1])
    assert_allclose(model.coef_, plain.coef_, rtol=1e-12)
    assert model.cumulative_loss_ == pytest.approx(plain.cumulative_loss_)


# Labels that never come.


@pytest.mark.parametrize(
    ("max_waiting", "error"), [(0, ValueError), (2.5, TypeError), (None, TypeError)]
)
def test_bad_limits(max_waiting, error):
    rows = ScInOLRegressor().row_by_row()
    with pytest.raises(error, match="max_waiting"):
        rows.with_late_labels(max_waiting=max_waiting)


# Errors.


def test_rows_that_cannot_be_predicted_do_not_wait():
    X, y = data()
    model = fitted(ScInOLClassifier("hinge"), X, y)
    late = model.row_by_row().with_late_labels(max_waiting=1)
    late.predict_one(X[20], "first")
    for x in X[0, :2], X[0] * np.nan, {"a": 1.0}:
        with pytest.raises((ValueError, TypeError)):
            late.predict_one(x, "second")
    with pytest.raises(AttributeError, match="predict_proba"):
        late.predict_proba_one(X[0], "second")
    with pytest.raises(TypeError, match="unhashable"):
        late.predict_one(X[0], ["second"])
    assert [*late] == ["first"]
    assert late.n_dropped == 0
    late = ScInOLRegressor().row_by_row().with_late_labels()
    with pytest.raises(ValueError, match="method must be one of"):
        late.decision_function_one(X[0], 0)


# Copies and threads.


@pytest.mark.parametrize(
    "way", [copy.deepcopy, lambda late: pickle.loads(pickle.dumps(late))]
)
def test_copies_have_what_waits(way):
    X, y = data()
    late = fitted(ScInOLClassifier(), X, y).row_by_row().with_late_labels(max_waiting=3)
    for i in range(20, 25):
        late.predict_one(X[i], i)
    other = way(late)
    late.learn_one(23, 0).predict_one(X[30], 30)
    assert [*other] == [22, 23, 24]
    assert (other.n_dropped, other.max_waiting) == (2, 3)
    other.learn_one(23, 0).predict_one(X[30], 30)
    assert_identical(vars(other.rows.estimator), vars(late.rows.estimator))
    assert [*other] == [*late]


def test_row_that_comes_while_another_is_learned():
    """It waits until that one has left, and drops none."""
    X, y = data()
    late = fitted(ScInOLClassifier(), X, y).row_by_row().with_late_labels(max_waiting=2)
    late.keep_one(X[20], "a").keep_one(X[21], "b")
    learn_one = late.rows.learn_one
    other = threading.Thread(target=late.keep_one, args=(X[22], "c"))

    def learn_while_another_comes(waiting, y, sample_weight):
        learn_one(waiting, y, sample_weight)
        other.start()
        other.join(timeout=0.05)

    late.rows.learn_one = learn_while_another_comes
    late.learn_one("a", 1)
    other.join(timeout=60)
    assert [*late] == ["b", "c"]
    assert late.n_dropped == 0


@pytest.mark.thorough
def test_threads():
    """Each row is learned or dropped, and none twice."""
    X, y = data(400)
    model = fitted(ScInOLClassifier(), X, y)
    late = model.row_by_row().with_late_labels(max_waiting=50)
    barrier = threading.Barrier(6)

    def predict(start):
        barrier.wait()
        for i in range(20 + start, 400, 2):
            late.predict_one(X[i], i)
        return 0

    def learn(_):
        barrier.wait()
        n_learned = 0
        for _ in range(300):
            for key in [*late][:3]:
                with contextlib.suppress(KeyError):
                    late.learn_one(key, y[key])
                    n_learned += 1
        return n_learned

    with ThreadPoolExecutor(6) as pool:
        work = [(predict, 0), (predict, 1), *((learn, i) for i in range(4))]
        n_learned = sum(done.result() for done in [pool.submit(*each) for each in work])
    assert model.n_samples_seen_ == 20 + n_learned
    assert n_learned + late.n_dropped + len(late) == 380


@pytest.mark.parametrize("scaler", [OnlineScaler(), StandardScaler()])
def test_rows_that_wait_while_the_pipeline_is_fitted_anew(scaler):
    """Their encoding is not that of the new steps: nothing is learned of them."""
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
    pipeline = make_online_pipeline(scaler, ScInOLClassifier())
    pipeline.partial_fit(X[:10], y[:10], classes=[0, 1])
    late = pipeline.row_by_row().with_late_labels()
    late.predict_one(X[10], "one")
    late.predict_many(X[11:13], ["two", "three"])
    late = pickle.loads(pickle.dumps(late))
    pipeline = late.rows.estimator
    late.learn_one("two", 1)
    n_learned = pipeline.fit(100.0 * X, y)[-1].n_samples_seen_
    for learn, *row in (late.learn_one, "one", 1), (late.learn_many, ["three"], [1]):
        with pytest.raises(ValueError, match="before this pipeline was fitted anew"):
            learn(*row)
    assert (pipeline[-1].n_samples_seen_, [*late]) == (n_learned, ["one", "three"])
    assert repr(late) == (
        "LateLabels(OnlinePipeline, waiting=2, max_waiting=10000, n_dropped=0)"
    )
    late.keep_one(X[10], "one").learn_one("one", 1)
    assert pipeline[-1].n_samples_seen_ == n_learned + 1


# Rows and late labels in any order: as a plain list of what waits would learn them.

MAX_WAITING = 3
LABELS = "low", "high", "new", "rare"

EXPERTS = {
    True: [
        ("scinol", ScInOLClassifier(new_classes="add")),
        (
            "adagrad",
            BaselineClassifier("adagrad", learning_rate=0.5, new_classes="add"),
        ),
    ],
    False: [
        ("scinol", ScInOLRegressor()),
        ("adagrad", BaselineRegressor("adagrad", learning_rate=0.5)),
    ],
}
MIXTURE = HedgeClassifier(EXPERTS[True], new_classes="add")

ESTIMATORS = {
    "classes": ScInOLClassifier(new_classes="add"),
    "class weights": ScInOLClassifier(class_weight="balanced", new_classes="add"),
    "neighbors": OnlineKNeighborsClassifier(window=30, new_classes="add"),
    "last label": LastLabelClassifier(new_classes="add"),
    "numbers": ScInOLRegressor(),
    "mixture": MIXTURE,
    "mixture of numbers": HedgeRegressor(EXPERTS[False]),
    "sets": OnlineConformalClassifier(ScInOLClassifier(new_classes="add")),
    "intervals": OnlineConformalRegressor(HedgeRegressor(EXPERTS[False])),
    "scaler": make_online_pipeline(OnlineScaler(), MIXTURE),
    "table": make_online_pipeline(
        OnlineHistory(["city", ()], "at", n_hashed=3),
        TableEncoder(n_hashed=64),
        MIXTURE,
    ),
    "table of sets": make_online_pipeline(
        TableEncoder(n_hashed=64),
        OnlineConformalClassifier(ScInOLClassifier(new_classes="add")),
    ),
}

ROWS = st.integers(0, 11)
KEYS = ROWS.map(lambda i: i if i % 2 else (i, f"row {i}"))
WEIGHTS = st.sampled_from([None, None, 0.0, 0.5, 3.0])
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["predict_one", "keep_one"]), ROWS, KEYS),
        st.tuples(st.just("learn"), KEYS, ROWS, WEIGHTS),
        st.tuples(st.just("learn now"), ROWS, ROWS, WEIGHTS),
        st.tuples(st.sampled_from(["observe", "store", "bad row", "bad label"])),
    ),
    max_size=15,
)


def stream(name):
    """Rows, and labels or numbers."""
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(12, 3)) * [1.0, 10.0, 0.1], rng.normal(size=12)
    labels = [LABELS[min(i // 3, 3)] for i in range(12)]
    y = z.tolist() if "numbers" in name or name == "intervals" else labels
    if "table" in name:
        cities = ["Oslo", "Rome", "Bern", "Kyiv", None]
        X = [
            {"city": cities[i % 5], "at": float(i), "size": x}
            for i, x in enumerate(X[:, 0].tolist())
        ]
    return X, y


class Reference:
    """Reference: a dict of the rows that wait, and an estimator that learns one."""

    def __init__(self, model):
        self.model, self.waiting, self.n_dropped = model, {}, 0

    @property
    def is_fitted(self):
        return hasattr(self.model, "n_features_in_")

    def observe_early(self):
        """Observe the rows that came before the estimator was fitted."""
        for key, row in self.waiting.items():
            if self.is_fitted and not isinstance(row, Waiting):
                _, self.waiting[key] = self.model._come(chunk(row), ["predict"])

    def come(self, x, key):
        self.observe_early()
        (answer,), waiting = [None], x
        if self.is_fitted:
            (answer,), waiting = self.model._come(chunk(x), ["predict"])
        if key not in self.waiting and len(self.waiting) == MAX_WAITING:
            del self.waiting[next(iter(self.waiting))]
            self.n_dropped += 1
        self.n_dropped += key in self.waiting
        self.waiting = {k: v for k, v in self.waiting.items() if k != key}
        self.waiting[key] = waiting
        return answer

    def learn(self, key, y, c):
        self.observe_early()
        row = self.waiting[key]
        if isinstance(row, Waiting):
            self.model._learn_waiting(row, np.array([y]), weights(c))
        else:
            self.model.partial_fit(chunk(row), [y], sample_weight=weights(c))
        del self.waiting[key]
        self.observe_early()


def chunk(x):
    return [x] if isinstance(x, dict) else x[np.newaxis]


def weights(c):
    return None if c is None else np.array([c])


def stored(model, tmp_path_factory):
    """Save a model, and load it."""
    file = tmp_path_factory.mktemp("models") / "model"
    save(model, file)
    return load(file)


@pytest.mark.cases(5)
@pytest.mark.parametrize("name", ESTIMATORS)
@settings(
    max_examples=100 if THOROUGH else 10,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(actions=ACTIONS, begins=st.booleans())
def test_as_a_list_of_what_waits(name, actions, begins, engine, tmp_path_factory):
    X, y = stream(name)
    fitted = copy.deepcopy(ESTIMATORS[name])
    if not begins:
        fitted.partial_fit(X[:6], y[:6])
    late = copy.deepcopy(fitted).row_by_row().with_late_labels(max_waiting=MAX_WAITING)
    plain = Reference(fitted)
    for what, *details in actions:
        model = late.rows.estimator
        if what in ("predict_one", "keep_one"):
            i, key = details
            if what == "predict_one" and not plain.is_fitted:
                with pytest.raises(NotFittedError):
                    late.predict_one(X[i], key)
                continue
            answer = getattr(late, what)(X[i], key)
            expected = plain.come(X[i], key)
            assert answer is late or [answer] == expected
        elif what == "learn":
            key, i, c = details
            if key not in plain.waiting:
                with pytest.raises(KeyError, match="No row waits"):
                    late.learn_one(key, y[i], c)
                continue
            late.learn_one(key, y[i], c)
            plain.learn(key, y[i], c)
        elif what == "learn now":
            i, k, c = details
            late.rows.learn_one(X[i], y[k], c)
            plain.model.partial_fit(chunk(X[i]), [y[k]], sample_weight=weights(c))
        elif not plain.is_fitted:
            continue
        elif what == "observe" and hasattr(model, "steps"):
            late.rows.observe_one(X[0])
            plain.model.observe(chunk(X[0]))
        elif what == "store":
            items, n_dropped = pickle.dumps(late.items()), late.n_dropped
            rows = stored(model, tmp_path_factory).row_by_row()
            late = rows.with_late_labels(max_waiting=MAX_WAITING)
            for key, row in pickle.loads(items):
                late.keep_one(row, key)
            late.n_dropped = n_dropped
            plain.model = stored(plain.model, tmp_path_factory)
            plain.observe_early()
        elif what == "bad row":
            plain.observe_early()
            with pytest.raises(ValueError, match=r"feature names|NaN"):
                late.predict_one({"none": 1} if "table" in name else [np.nan] * 3, 0)
        elif what == "bad label" and plain.waiting:
            plain.observe_early()
            with pytest.raises(ValueError, match="NaN"):
                late.learn_one(next(iter(late)), None if "table" in name else np.nan)
    if plain.is_fitted:  # rows from before come with the next one
        late.keep_one(X[0], "last")
        plain.come(X[0], "last")
    assert [*late] == [*plain.waiting]
    assert late.n_dropped == plain.n_dropped
    assert_same(late.rows.estimator, plain.model)
