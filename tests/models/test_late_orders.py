"""Rows and late labels in any order: as a plain list of what waits would learn them."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from support.registry import THOROUGH
from support.steps import assert_same

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
    """What waits, in a dict, and chunks of one row for all else."""

    def __init__(self, model):
        self.model, self.waiting, self.n_dropped = model, {}, 0

    @property
    def is_fitted(self):
        return hasattr(self.model, "n_features_in_")

    def observe_early(self):
        """Let rows come that waited before there was a model."""
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
