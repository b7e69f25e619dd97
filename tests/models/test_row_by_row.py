"""Rows that are learned one at a time leave what `partial_fit` would leave, bitwise."""

import copy
import pickle
from itertools import count

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier, SGDRegressor
from support import sums
from support.comparisons import assert_identical
from support.copies import COPIES
from support.kinds import CLASSES, KINDS, Kind
from support.registry import (
    ENGINES,
    REPRESENTATIVES,
    compiled,
    paired,
    thinned,
    thoroughly,
)
from support.rows import assert_learns_alike

from sklearn_scinol import (
    AdaImplicitClassifier,
    DFEGClassifier,
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
)
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.models.session import Session
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineScaler


@pytest.fixture
def fast_rows(monkeypatch):
    """Counts the rows that took the short way."""
    learned, learn = count(), Session.learn

    def learn_and_count(prepared, *estimator):
        next(learned)
        return learn(prepared, *estimator)

    monkeypatch.setattr(Session, "learn", learn_and_count)
    return lambda: next(copy.copy(learned))


def stream(n, d=6, n_outputs=1, classifies=True, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** np.arange(-2, d - 2)
    decision = sums.linear(X / X.std(axis=0), rng.normal(size=(d, n_outputs)))
    decision += rng.normal(size=decision.shape)
    if not classifies:
        return X, decision if n_outputs > 1 else decision[:, 0]
    y = decision.argmax(axis=1) if n_outputs > 1 else decision[:, 0] > 0.0
    return X, y.astype(int)


def classes_of(estimator, n_outputs=1):
    if not is_classifier(estimator):
        return {}
    return {"classes": np.arange(max(n_outputs, 2))}


@thinned(
    REPRESENTATIVES,
    center=[False, True],
    scale=[False, True],
    standardize_target=[False, True],
    weighted=[False, True],
)
def test_every_learner(case, center, scale, standardize_target, weighted, engine):
    parameters = {"center": center, "scale": scale}
    if case.has("standardize_target"):
        parameters["standardize_target"] = standardize_target
    X, y = case.data(25)
    c = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 4.0], len(y))
    c[0] = 1.0
    method = "decision_function" if case.classifies else "predict"
    estimator = case.make(**parameters)
    c = c if weighted else None
    assert_learns_alike(estimator, X, y, c, method, **case.classes())


FOREIGN = [("ours", ScInOLClassifier()), ("theirs", SGDClassifier(random_state=0))]
NUMBERS = [("ours", ScInOLRegressor()), ("theirs", SGDRegressor(random_state=0))]
LOSSES = [
    ("hinge", ScInOLClassifier("hinge")),
    ("averages", AdaImplicitClassifier(average=5)),
    ("weighs", ScInOLClassifier(class_weight={0: 2.0})),
]
MIXTURES = {
    "log odds": Kind(HedgeClassifier()),
    "scores": Kind(HedgeClassifier(loss="hinge"), 3),
    "regression": Kind(HedgeRegressor(), 2),
    "squares": Kind(HedgeRegressor(loss="squared_error")),
    "teams": Kind(HedgeClassifier(exclude=["additive", "second_order"]), 3),
    "foreign": Kind(HedgeClassifier(FOREIGN), 3),
    "foreign regressor": Kind(HedgeRegressor(NUMBERS)),
    "other losses": Kind(HedgeClassifier(LOSSES)),
    "nested": Kind(HedgeClassifier([("one", HedgeClassifier(LOSSES[2:]))])),
}
#: Pipelines, intervals and sets have tests of their own, and so have labels.
ALL_KINDS = MIXTURES | {
    name: kind
    for name, kind in KINDS.items()
    if not (hasattr(kind.estimator, "steps") or hasattr(kind.estimator, "estimator"))
    if not kind.n_labels and name != "kernel-precomputed"
}
kinds = pytest.mark.parametrize(
    ("name", "engine"), paired([*ALL_KINDS], ENGINES), indirect=["engine"]
)
#: Between the first rows and the hundredth, after which edges of bins are fixed.
ROWS_AT_ONCE = range(12, 95)


def stream_of(name, n, d=4):
    """Estimator and rows of a kind, and what `partial_fit` needs besides."""
    estimator, n_outputs, *_ = ALL_KINDS[name]
    X, y = stream(n, d, n_outputs, is_classifier(estimator))
    if not is_classifier(estimator):
        return estimator, X, y, {}
    return estimator, X, CLASSES[y], {"classes": CLASSES[: max(n_outputs, 2)]}


@pytest.mark.cases(4)
@kinds
def test_every_kind_of_model(name, engine):
    """Also once the edges of bins are fixed, and moments have changed."""
    estimator, X, y, classes = stream_of(name, 110)
    # Models of scikit-learn refuse weights that are all zero.
    weights = [0.5, 2.0] if "SGD" in str(estimator) else [0.0, 1.0, 2.0]
    c = np.random.default_rng(1).choice(weights, len(y))
    assert_learns_alike(estimator, X, y, c, chunk=ROWS_AT_ONCE, **classes)


@pytest.mark.cases(1)
@compiled
@pytest.mark.parametrize(
    "estimator",
    [
        ScInOLClassifier(),
        MIXTURES["teams"].estimator,
        *thoroughly(HedgeClassifier(), HedgeRegressor()),
    ],
    ids=str,
)
def test_compiled_rows(estimator, engine, fast_rows, tmp_path):
    """In the end all rows take the short way, also where arrays can only be read."""
    X, y = stream(400, 5, classifies=is_classifier(estimator))
    model = assert_learns_alike(estimator, X, y, **classes_of(estimator))
    assert fast_rows() > 250
    rows, before = model.row_by_row(), copy.deepcopy(model)
    said = [rows.predict_one(x) for x in X[:20]]
    np.testing.assert_allclose(said, before.predict(X[:20]), rtol=1e-9)
    assert_identical(vars(model), vars(before))
    mapped, n_before = COPIES["joblib-mapped"](model, tmp_path / "model"), fast_rows()
    rows = mapped.row_by_row()
    for i in range(10):
        rows.learn_one(X[i], y[i])
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert fast_rows() > n_before
    assert_identical(mapped.predict(X), model.predict(X))
    assert mapped.cumulative_loss_ == model.cumulative_loss_


@pytest.mark.cases(4)
@kinds
def test_predictions(name, engine):
    """They are those of `predict`, and change nothing."""
    estimator, X, y, classes = stream_of(name, 120)
    model = copy.deepcopy(estimator).partial_fit(X, y, **classes)
    before = copy.deepcopy(model)
    rows = model.row_by_row()
    for x in stream(10, 4, seed=1)[0]:
        for method in "predict", "decision_function", "predict_proba":
            if hasattr(model, method):
                said = getattr(rows, f"{method}_one")(x)
                expected = getattr(model, method)(x[np.newaxis])[0]
                if is_classifier(model) and method == "predict":
                    assert said == expected
                else:
                    np.testing.assert_allclose(said, expected, rtol=1e-9)
    assert_identical(vars(model), vars(before))


def refused(model, X, y):
    with pytest.raises(ValueError, match=r"NaN|unseen labels|is not the same"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"NaN|unseen labels|is not the same"):
        model.row_by_row().learn_one(X[0], y[0])


def refused_parameters(model, X, y):
    refused(model.set_params(clip_ratio=3.0), X, y)
    model.set_params(clip_ratio=None)


USES = {
    "chunk": lambda model, X, y: model.partial_fit(X, y),
    "sparse chunk": lambda model, X, y: model.partial_fit(sparse.csr_array(X), y),
    "prediction": lambda model, X, y: model.predict(X),
    "refused chunk": lambda model, X, y: refused(model, X * np.nan, y),
    "other labels": lambda model, X, y: refused(model, X, y + 7),
    "huge values": lambda model, X, y: model.partial_fit(X * 2.0**300, y),
    "epochs": lambda model, X, y: model.set_params(max_iter=2).fit(X, [0, 1, 0, 1, 1]),
    "other parameters": refused_parameters,
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "estimator",
    [
        ScInOLClassifier(),
        ScInOLClassifier(center=False, scale=True),
        BaselineClassifier("adagrad", scale=True, additive=True),
        HedgeClassifier(shuffle=False),
    ],
    ids=["ScInOL", "scaled", "bins", "mixture"],
)
def test_other_uses_in_between(estimator, use, engine):
    X, y = stream(120, 4)
    by_rows = copy.deepcopy(estimator).partial_fit(X[:110], y[:110], classes=[0, 1])
    by_rows.set_params(random_state=0, tol=None)
    by_calls = copy.deepcopy(by_rows)
    rows = by_rows.row_by_row()
    for start in range(110, 120, 5):
        for i in range(start, start + 5):
            rows.learn_one(X[i], y[i])
            by_calls.partial_fit(X[i : i + 1], y[i : i + 1])
        for model in by_rows, by_calls:
            USES[use](model, X[start : start + 5], y[start : start + 5])
        assert_identical(vars(by_rows), vars(by_calls))


@pytest.mark.parametrize("change", ["engine", "pickled"])
def test_goes_on_in_between(change):
    """With another engine, or as a copy."""
    pytest.importorskip("numba", reason="numba is not installed")
    X, y = stream(60, 4)
    expected, rows = ScInOLClassifier(), ScInOLClassifier().row_by_row(classes=[0, 1])
    for i in range(60):
        engine = ["numpy", "numba"][change == "engine" and i // 10 % 2]
        if change == "pickled" and i % 20 == 10:
            rows = pickle.loads(pickle.dumps(rows))
        with config_context(engine=engine):
            rows.learn_one(X[i], y[i])
            expected.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    assert_identical(vars(rows.estimator), vars(expected))


# Rows as they come.


def forms(x):
    yield x
    yield x.tolist()
    yield tuple(x.tolist())
    yield np.repeat(x, 2)[::2]
    yield np.asfortranarray(x)
    indices = np.flatnonzero(x)
    for kind in np.int32, np.int64:
        yield indices.astype(kind), x[indices]


@pytest.mark.thorough
@pytest.mark.parametrize("center", ["auto", False])
@pytest.mark.parametrize("estimator", [ScInOLClassifier, HedgeClassifier])
def test_forms_of_rows(estimator, center, engine):
    X, y = stream(112, 3)
    X[np.abs(X) < X.std(axis=0) / 2] = 0.0
    model = estimator() if estimator is HedgeClassifier else estimator(center=center)
    model.partial_fit(X[:105], y[:105], classes=[0, 1])
    for i in range(105, 112):
        states = []
        for x in forms(X[i]):
            one = copy.deepcopy(model)
            one.row_by_row().learn_one(x, y[i])
            is_sparse = type(x) is tuple and isinstance(x[0], np.ndarray)
            expected = copy.deepcopy(model)
            X_i = X[i : i + 1]
            expected.partial_fit(sparse.csr_array(X_i) if is_sparse else X_i, y[i:][:1])
            assert_identical(vars(one), vars(expected))
            states.append(one)
        model = states[0]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int64, np.uint8, bool])
def test_types_of_numbers(kind, engine):
    X, y = stream(20, 3)
    X = np.abs(X * 1.5).clip(0.0, 200.0).astype(kind)
    assert_learns_alike(ScInOLClassifier(), X, y, classes=[0, 1])
    for targets in X[:, 0], X[:, :2]:
        assert_learns_alike(ScInOLRegressor(), X, targets, c=X[:, 1])


def test_values_whose_squares_overflow(engine):
    X, y = stream(20, 3)
    X[19, 1] = 1e200
    model = ScInOLClassifier().partial_fit(X[:19], y[:19], classes=[0, 1])
    model.row_by_row().learn_one(X[19], y[19])
    assert model.n_samples_seen_ == 20


SPARSE = {
    "ScInOL": ScInOLClassifier(),
    "scaled": AdaImplicitClassifier(scale=True),
    "forgets": AdaImplicitClassifier(scale=True, moment_forgetting=0.1),
    "in a ball": BaselineClassifier("ogd", radius=1e-6, learning_rate=10.0),
    "averages": AdaImplicitClassifier(average=5),
    "weights": ScInOLClassifier(average=3),
    "several": ScInOLClassifier(),
    "made dense": DFEGClassifier(),
    "mixture": HedgeClassifier(),
    "some made dense": HedgeClassifier(
        [("one", ScInOLClassifier()), ("two", DFEGClassifier())]
    ),
    "squares": BaselineRegressor("sgd", loss="squared_error", learning_rate=0.01),
    "mixture of regressors": HedgeRegressor(),
}


@pytest.mark.cases(1)
@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_rows(kind, engine):
    """Of any size, with features and huge or tiny values that come late; dense ones."""
    rng, d = np.random.default_rng(0), 300
    X = rng.normal(size=(60, d)) * (rng.random((60, d)) < 0.02)
    X[40] = rng.normal(size=d) * (rng.random(d) < 0.5)  # more than there is room for
    X[45] = 0.0
    X[50, 7], X[52, 8], X[53, 9] = 1e-70, 1e35, -0.0
    y = rng.integers(3 if kind == "several" else 2, size=60)
    c = rng.choice([0.0, 1.0, 3.0], 60)
    by_rows, by_calls = copy.deepcopy(SPARSE[kind]), copy.deepcopy(SPARSE[kind])
    classes = {"classes": np.unique(y)} if is_classifier(by_rows) else {}
    rows = by_rows.row_by_row(**classes, n_features=d)
    for i in range(60):
        chunk, row = X[i : i + 1], X[i]
        if i not in (20, 21, 48):
            chunk = sparse.csr_array(chunk)
            row = chunk.indices, chunk.data
        said = rows.predict_learn_one(row, y[i], c[i])
        expected = by_calls.partial_fit_predict(
            chunk, y[i : i + 1], sample_weight=c[i : i + 1], **classes
        )
        assert said == expected[0]
        rows.predict_one(row)
    assert_identical(vars(by_rows), vars(by_calls))
    by_rows._check_state()


def test_sparse_rows_of_pipelines():
    X, y = stream(20, 3)
    x = np.array([0, 2]), np.ones(2)
    model = make_online_pipeline("passthrough", ScInOLClassifier(center=False))
    model.partial_fit(X, y, classes=[0, 1])
    expected = model.predict(sparse.csr_array([[1.0, 0.0, 1.0]]))
    assert model.row_by_row().predict_one(x) == expected
    model = make_online_pipeline(OnlineScaler(), model[-1]).partial_fit(X, y)
    with pytest.raises(TypeError, match="Sparse data was passed for X, but dense"):
        model.row_by_row().learn_one(x, 1)


@pytest.mark.parametrize("n_before", [1, 5])
def test_sparse_rows_that_fail(n_before, engine):
    """Also their new features are as they were: see `test_rows_that_diverge`."""
    parameters = {"loss": "squared_error", "learning_rate": 1e6, "scale": True}
    model = BaselineRegressor("sgd", fit_intercept=False, **parameters)
    rows = model.row_by_row(n_features=9)
    for j in range(n_before):
        rows.learn_one((np.array([j]), np.array([1e-10])), 1.0)
    x, before = (np.array([2, 7]), np.array([1.0, 1e20])), copy.deepcopy(model)
    with pytest.raises(ValueError, match=r"under-/overflow|too larg"):
        for _ in range(99):
            before = copy.deepcopy(model)
            rows.learn_one(x, 1.0)
    assert_identical(vars(model), vars(before))


def test_answers_stay(engine):
    """They are not overwritten by those of the next rows."""
    X, y = stream(20, 3, 3)
    targets = stream(20, 3, 3, classifies=False)[1]
    for estimator, y_, method in (
        (ScInOLClassifier(), y, "decision_function"),
        (ScInOLClassifier(), y, "predict_proba"),
        (ScInOLRegressor(), targets, "predict"),
    ):
        estimator.partial_fit(X, y_, **classes_of(estimator, 3))
        rows = estimator.row_by_row()
        said = [rows.predict_learn_one(X[i], y_[i], method=method) for i in range(20)]
        assert len({answer.tobytes() for answer in said}) == 20


def test_centring_refuses_sparse_rows(engine):
    X, y = stream(20, 3)
    model = ScInOLClassifier(center=True).partial_fit(X, y, classes=[0, 1])
    rows = model.row_by_row().learn_one(X[0], y[0])
    with pytest.raises(ValueError, match="Cannot center sparse matrices"):
        rows.learn_one((np.array([1]), np.array([1.0])), 1)


def test_curve_is_that_of_calls(engine):
    """A row is a call; the curve has the latest ones, and is nobody else's."""
    X, y = stream(30, 3)
    model = ScInOLClassifier(max_iter=1).partial_fit(X, y, classes=[0, 1])
    model.loss_curve_ *= 990
    curve, rows = model.loss_curve_, model.row_by_row()
    for x, label in zip(X, y, strict=True):
        rows.learn_one(x, label)
    assert len(curve) == 990
    assert len(model.loss_curve_) == 1000
    assert model.loss_curve_[:970] == curve[20:]
    assert model.n_samples_seen_ == 60
    rows.learn_one(X[0], y[0], 0.0)
    assert len(model.loss_curve_) == 1000


# What is refused.

BAD_ROWS = {
    "too short": (np.ones(3), 1, None, "X has 3 features"),
    "of one": (np.ones(1), 1, None, "X has 1 features"),
    "a number": (1.0, 1, None, "x must be one row"),
    "a matrix": (np.ones((1, 4)), 1, None, "x must be one row"),
    "NaN": (np.array([1.0, np.nan, 0.0, 0.0]), 1, None, "Input X contains NaN"),
    "infinity": ([1.0, np.inf, 0.0, 0.0], 1, None, "Input X contains infinity"),
    "words": (["a", "b", "c", "d"], 1, None, "could not convert string to float"),
    "complex": (np.ones(4) * 1j, 1, None, "Complex data not supported"),
    "label": (np.ones(4), 7, None, r"y contains previously unseen labels: \[7\]"),
    "no label": (np.ones(4), None, None, "Input y contains NaN"),
    "labels": (np.ones(4), [0, 1], None, "1d array"),
    "negative": (np.ones(4), 1, -1.0, "Negative values in data"),
    "not a weight": (np.ones(4), 1, np.nan, "Input sample_weight contains NaN"),
    "tiny weight": (np.ones(4), 1, 1e-300, "Sample weights must be 0 or"),
    "order": ((np.array([1, 0]), np.ones(2)), 1, None, "in ascending order"),
    "twice": ((np.array([1, 1]), np.ones(2)), 1, None, "in ascending order"),
    "beyond": ((np.array([1, 4]), np.ones(2)), 1, None, "from 0 to 3"),
    "below": ((np.array([-1, 2]), np.ones(2)), 1, None, "from 0 to 3"),
    "no indices": ((np.ones(2), np.ones(2)), 1, None, "in ascending order"),
    "lengths": ((np.array([0, 1]), np.ones(3)), 1, None, "as many values"),
}
bad_rows = pytest.mark.parametrize(
    ("x", "y", "c", "words"), BAD_ROWS.values(), ids=[*BAD_ROWS]
)


@pytest.mark.cases(3)
@bad_rows
@pytest.mark.parametrize("estimator", [ScInOLClassifier(), HedgeClassifier()])
def test_bad_rows(estimator, x, y, c, words, engine):
    X, labels = stream(110, 4)
    model = copy.deepcopy(estimator).partial_fit(X, labels, classes=[0, 1])
    rows = model.row_by_row().learn_one(X[0], labels[0])
    before = copy.deepcopy(model)
    with pytest.raises((ValueError, TypeError), match=words):
        rows.learn_one(x, y, c)
    assert_identical(vars(model), vars(before))
    rows.learn_one(X[1], labels[1])
    before.partial_fit(X[1:2], labels[1:2])
    assert_identical(vars(model), vars(before))


def test_bad_targets(engine):
    X, y = stream(20, 4, classifies=False)
    model = ScInOLRegressor().partial_fit(X, y)
    rows, before = model.row_by_row(), copy.deepcopy(model)
    for bad in np.nan, np.inf, 1e300, "x", None, [1.0, 2.0]:
        with pytest.raises((ValueError, TypeError)):
            rows.learn_one(X[0], bad)
        assert_identical(vars(model), vars(before))


def test_rows_before_anything_is_known():
    with pytest.raises(ValueError, match="classes must be passed to row_by_row"):
        ScInOLClassifier().row_by_row()
    with pytest.raises(ValueError, match="'loss' parameter of ScInOLClassifier"):
        ScInOLClassifier("x").row_by_row(classes=[0, 1])
    rows = ScInOLClassifier().row_by_row(classes=[0, 1])
    with pytest.raises(NotFittedError):
        rows.predict_one([1.0, 2.0])
    with pytest.raises(ValueError, match="n_features must be passed to row_by_row"):
        rows.learn_one((np.array([0]), np.array([1.0])), 1)
    assert not hasattr(rows.estimator, "_model")
    with pytest.raises(ValueError, match="method must be one of"):
        rows.predict_learn_one([1.0, 2.0], 1, method="transform")
    with pytest.raises(ValueError, match="is not the same as on last call"):
        rows.learn_one([1.0], 1).estimator.row_by_row(classes=[0, 2])
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        ScInOLClassifier("hinge").row_by_row(classes=[0, 1]).predict_proba_one([1.0])


@pytest.mark.parametrize("in_mixture", [False, True])
def test_rows_that_diverge(in_mixture, engine):
    """All is as it was, also of experts that had learned the row."""
    wild = BaselineRegressor(
        "sgd",
        loss="squared_error",
        learning_rate=1e20,
        center=False,
        fit_intercept=False,
    )
    model = wild
    if in_mixture:
        model = HedgeRegressor([("tame", ScInOLRegressor()), ("wild", wild)])
    model.partial_fit(np.full((5, 2), 1e-10), np.full(5, 1e98))
    rows, before = model.row_by_row(), copy.deepcopy(model)
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"under-/overflow|NaN or infinity|too larg"
        ):
            for x in 1e25, 1e25, 1e25, 1e25, 1e25, 1e25:
                before = copy.deepcopy(model)
                rows.learn_one(np.full(2, x), 1e90)
        assert_identical(vars(model), vars(before))
