"""Progressive validation with late labels is a plain loop, however rows are chunked."""

import gc
import weakref
from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support import late
from support.comparisons import assert_identical, learned
from support.registry import REPRESENTATIVES, thinned
from support.sums import linear

from sklearn_scinol import (
    AdaImplicitClassifier,
    DFEGClassifier,
    HedgeClassifier,
    HedgeRegressor,
    MondrianForestClassifier,
    OnlineKNeighborsClassifier,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import LastLabelClassifier
from sklearn_scinol.evaluation import (
    progressive_validation,
)
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineScaler

SGD = SGDClassifier(loss="log_loss", random_state=0)


def data(n=60, d=4, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** np.arange(-1, d - 1)
    decision = linear(X / X.std(axis=0), rng.normal(size=(d, n_classes)))
    return X, (decision + rng.normal(size=decision.shape)).argmax(axis=1)


def targets(X, seed=0):
    weights = np.random.default_rng(seed).normal(size=X.shape[1])
    return linear(X / X.std(axis=0), weights)


def chunks(*arrays, size=7):
    for start in range(0, len(arrays[1]), size):
        yield tuple(array[start : start + size] for array in arrays)


def plainly(model, X, y, delay, method="predict", c=None, **classes):
    """Predict each row, then learn the row that came `delay` rows before."""
    times = range(len(y))
    known = [time + delay + 1 for time in times]
    return late.plainly(model, X, y, times, known, method, c, **classes)[1]


def validate(model, stream, delay, method="predict", **given):
    """Return predictions of the rows that are scored, their labels, and the result."""
    y, p, result = late.validated(model, stream, method, delay=delay, **given)
    return p, y, result


def assert_close(predictions, expected):
    """Equal but for rounding: of one row products are summed in another order."""
    np.testing.assert_allclose(predictions, expected, rtol=1e-9, atol=1e-12)


def assert_all_close(one, other):
    if isinstance(one, tuple):
        for part, of_other in zip(one, other, strict=True):
            assert_close(part, of_other)
    else:
        assert_close(one, other)


@pytest.mark.cases(3)
@thinned(REPRESENTATIVES, delay=[1, 6, 35], size=[1, 7, 40])
def test_every_learner(case, delay, size, engine):
    X, y = case.data()
    c = np.random.default_rng(1).choice([0.5, 1.0, 4.0], len(y))
    method = "decision_function" if case.classifies else "predict"
    plain, delayed = case.make(), case.make()
    expected = plainly(plain, X, y, delay, method, c, **case.classes())
    stream = chunks(X, y, c, size=size)
    predictions, labels, _ = validate(delayed, stream, delay, method, **case.classes())
    assert_close(predictions, expected)
    np.testing.assert_array_equal(labels, y[delay + 1 :])
    assert_identical(learned(delayed), learned(plain))


FOREIGN = [("ours", ScInOLClassifier()), ("theirs", SGDClassifier(random_state=0))]
MODELS = {
    "class weights": ScInOLClassifier(class_weight="balanced"),
    "clips": ScInOLClassifier(clip_ratio=1.5),
    "kernel": DFEGClassifier(kernel="rbf", gamma=0.1),
    "forgets": AdaImplicitClassifier(scale=True, moment_forgetting=0.1),
    "additive": ScInOLClassifier(additive=True),
    "Newton": OnlineNewtonRegressor(forgetting=0.01, center=False),
    "random features": OnlineNewtonRegressor(random_features=5, random_state=0),
    "targets": ScInOLRegressor(standardize_target=True),
    "neighbors": OnlineKNeighborsClassifier(window=20),
    "forest": MondrianForestClassifier(random_state=0),
    "last label": LastLabelClassifier(),
    "mixture": HedgeClassifier(),
    "without pools": HedgeClassifier(exclude=["pools"]),
    "regression": HedgeRegressor(),
    "foreign expert": HedgeClassifier(FOREIGN),
    "pipeline": make_online_pipeline(OnlineScaler(), ScInOLClassifier()),
    "foreign scaler": make_online_pipeline(StandardScaler(), ScInOLRegressor()),
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_of_model(kind, engine):
    """Chunks change nothing at all, but for kernels, which sum in another order.

    Rows of weight 0 come between others, and are neither learned nor scored.
    """
    (X, y), delay = data(40, 3), 9
    least = 0.5 if kind == "foreign expert" else 0.0  # which takes no rows of weight 0
    c = np.random.default_rng(0).choice([least, 1.0, 2.0], len(y))
    c[0] = 1.0
    compare = assert_all_close if kind == "kernel" else assert_identical
    last = MODELS[kind][-1] if hasattr(MODELS[kind], "steps") else MODELS[kind]
    method, given = "predict", {}
    if is_classifier(last):
        method, given = "decision_function", {"classes": [0, 1]}
    else:
        y = targets(X)
    plain = clone(MODELS[kind])
    expected = np.array(plainly(plain, X, y, delay, method, c, **given))
    is_scored, found = c[delay + 1 :] > 0, []
    for size in 1, 11, 40:
        model, stream = clone(MODELS[kind]), chunks(X, y, c, size=size)
        predictions, labels, result = validate(model, stream, delay, method, **given)
        assert result.estimator is model
        assert model.n_samples_seen_ == plain.n_samples_seen_
        np.testing.assert_array_equal(labels, y[delay + 1 :][is_scored])
        assert_close(predictions, expected[is_scored])
        found.append((predictions, getattr(model, method)(X), model.cumulative_loss_))
        compare(found[0], found[-1])
    compare(found[0][1], getattr(plain, method)(X))
    compare(found[0][2], plain.cumulative_loss_)


def test_estimator_that_is_fitted():
    """It predicts all rows, and goes on from where it is."""
    X, y = data(90)
    for scaled in False, True:
        model = ScInOLClassifier()
        if scaled:
            model = make_online_pipeline(OnlineScaler(), model)
        model.partial_fit(X[:30], y[:30], classes=[0, 1])
        plain = deepcopy(model)
        expected = plainly(plain, X[30:], y[30:], 10, "predict_proba")
        stream = chunks(X[30:], y[30:])
        predictions, labels, _ = validate(model, stream, 10, "predict_proba")
        assert_close(predictions, np.array(expected)[:, 1])
        np.testing.assert_array_equal(labels, y[30:])
        assert model.n_samples_seen_ == 90
        assert_identical(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.cases(3)
@pytest.mark.parametrize("size", [1, 7, 60])
@pytest.mark.parametrize("in_pipeline", [False, True])
@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "predict"])
def test_classes_that_come_late(method, in_pipeline, size):
    """Give a class the probability 0 in predictions made before it was learned."""
    X, y = data(60, n_classes=4)
    y = np.array(["d", "b", "ccc", "a"])[y]
    y[:15] = "b"
    y[15:30] = np.where(y[15:30] == "a", "d", y[15:30])
    model = ScInOLClassifier(new_classes="add")
    if in_pipeline:
        model = make_online_pipeline("passthrough", model)
    # Two classes have one decision value: which of them came is not to be seen.
    first = {"classes": ["b", "d"]} if method == "decision_function" else {}
    plain, expected, known = clone(model), [], np.unique(y)
    for i in range(60 + 8):
        if 8 < i < 60:
            answer = getattr(plain, method)(X[i : i + 1])[0]
            if method != "predict":
                values = np.full(4, 0.0 if method == "predict_proba" else -np.inf)
                columns = np.searchsorted(known, plain.classes_)
                if plain.classes_.size == 2 and method == "decision_function":
                    answer = [0.0, answer]
                values[columns] = answer
                answer = values
            expected.append(answer)
        if i >= 8:
            plain.partial_fit(X[i - 8 : i - 7], y[i - 8 : i - 7], **first)
    stream = chunks(X, y, size=size)
    predictions, labels, result = validate(model, stream, 8, method, **first)
    np.testing.assert_array_equal(labels, y[9:])
    assert_identical(result.estimator.predict_proba(X), plain.predict_proba(X))
    if method == "predict":
        np.testing.assert_array_equal(predictions, expected)
    else:
        assert_close(predictions, expected)


def test_sparse_and_dense_rows():
    """Also in one stream, and of other precision."""
    X, y = data()
    X[np.abs(X) < X.std(axis=0) / 2] = 0.0
    plain = ScInOLClassifier(center=False)
    expected = plainly(plain, X, y, 10, "predict_proba", classes=[0, 1])
    kinds = [
        [sparse.csr_array],
        [sparse.csc_matrix, sparse.coo_array],
        [np.array, sparse.csr_matrix, np.ndarray.tolist],
    ]
    for mixed in kinds:
        stream = [
            (mixed[i % len(mixed)](X), y) for i, (X, y) in enumerate(chunks(X, y))
        ]
        model = ScInOLClassifier(center=False)
        predictions, _, _ = validate(model, stream, 10, "predict_proba", classes=[0, 1])
        assert_close(predictions, np.array(expected)[:, 1])
        assert_close(model.coef_, plain.coef_)
    single = [
        (X.astype(kind), y)
        for (X, y), kind in zip(chunks(X, y), [np.float32, float] * 9, strict=False)
    ]
    rounded = np.concatenate([X for X, _ in single])
    plain, model = ScInOLClassifier(), ScInOLClassifier()
    plainly(plain, rounded, y, 10, classes=[0, 1])
    validate(model, single, 10, classes=[0, 1])
    assert_identical(model.coef_, plain.coef_)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    (X, y), model = data(50), ScInOLClassifier()
    frame = frames.DataFrame({f"x{i}": X[:, i] for i in range(4)} | {"label": y})
    parts = [frame[start : start + 25] for start in (0, 25)]
    given = 10, "predict_proba"
    by_arrays = validate(clone(model), chunks(X, y), *given, classes=[0, 1])
    found = validate(model, parts, *given, classes=[0, 1], target="label")
    assert_close(found[0], by_arrays[0])
    assert [*model.feature_names_in_] == [f"x{i}" for i in range(4)]


def test_columns_of_targets():
    X, _ = data()
    Y = np.column_stack([targets(X), targets(X, 1)])
    for model in ScInOLRegressor(), make_online_pipeline(ScInOLRegressor()):
        expected = plainly(clone(model), X, Y, 4)
        predictions, labels, _ = validate(model, chunks(X, Y), 4)
        assert_close(predictions, expected)
        np.testing.assert_array_equal(labels, Y[5:])


def test_arrays_that_are_reused():
    """What waits is a copy, and all that is kept."""
    X, y = data()

    def stream():
        rows, labels = np.empty((7, 4)), np.empty(7, int)
        for part, label in chunks(X[:56], y[:56]):
            rows[:], labels[:] = part, label
            yield rows, labels

    for model in ScInOLClassifier(), make_online_pipeline(ScInOLClassifier()), SGD:
        kept, reused = clone(model), clone(model)
        given = {"method": "predict_proba"} if model is not SGD else {}
        expected = validate(kept, chunks(X[:56], y[:56]), 10, classes=[0, 1], **given)
        found = validate(reused, stream(), 10, classes=[0, 1], **given)
        assert_identical(found[:2], expected[:2])


@pytest.mark.thorough
def test_chunks_are_not_kept():
    """Neither by the rows that wait nor by their predictions."""
    X, y = data(400)
    seen = []

    def stream():
        for part in chunks(X, y, size=50):
            copies = tuple(map(np.copy, part))
            yield copies
            seen.append([weakref.ref(each) for each in copies])
            del copies
        gc.collect()
        assert all(ref() is None for refs in seen[:-1] for ref in refs)

    for model in ScInOLClassifier(), make_online_pipeline(ScInOLClassifier()):
        seen.clear()
        progressive_validation(
            model, stream(), classes=[0, 1], delay=70, progress=False, window=10
        )
        assert len(seen) == 8


@pytest.mark.parametrize("scaled", [False, True])
def test_other_estimators_predict_chunk_by_chunk(scaled):
    """A scaler learns a row when its label comes, as all steps."""
    X, y = data(100)
    scaler, model, expected = StandardScaler(), clone(SGD), []

    def transformed(rows):
        return scaler.transform(X[rows]) if scaled else X[rows]

    for start in range(0, 100, 20):
        rows = slice(start, start + 20)
        if start:
            expected.append(model.predict_proba(transformed(rows))[:, 1])
        due = slice(max(start - 10, 0), start + 10)
        scaler.partial_fit(X[due])
        model.partial_fit(transformed(due), y[due], classes=[0, 1])
    scaler.partial_fit(X[90:])
    pipeline = clone(SGD)
    if scaled:
        pipeline = make_pipeline(StandardScaler(), "passthrough", pipeline)
    predictions, labels, _ = validate(
        pipeline, chunks(X, y, size=20), 10, "predict_proba", classes=[0, 1]
    )
    assert_identical(predictions, np.concatenate(expected))
    np.testing.assert_array_equal(labels, y[20:])
    last = pipeline[-1] if scaled else pipeline
    assert last.t_ == 101


@pytest.mark.parametrize(("delay", "error"), [(-1, ValueError), (2.5, TypeError)])
def test_bad_delays(delay, error):
    model = ScInOLClassifier()
    with pytest.raises(error, match="delay"):
        validate(model, chunks(*data()), delay, classes=[0, 1])
    assert not hasattr(model, "_model")


@pytest.mark.parametrize("model", [ScInOLClassifier(), clone(SGD)])
def test_no_label_comes_in_time(model):
    """All rows are learned all the same."""
    X, y = data()
    for delay in 59, 60, 1000:
        unfitted = clone(model)
        with pytest.raises(ValueError, match="came before anything was learned"):
            validate(unfitted, chunks(X, y, size=60), delay, classes=[0, 1])
        assert unfitted.t_ == 61
    with pytest.raises(ValueError, match="The stream is empty"):
        validate(clone(model), [(X[:0], y[:0])], 3, classes=[0, 1])


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_bad_row(in_pipeline):
    """It is refused when it comes, and what was scored is in the result."""
    X, y = data()
    X[30] = np.nan
    model = ScInOLClassifier()
    if in_pipeline:
        model = make_online_pipeline(model)
    with pytest.raises(ValueError, match="Input X contains NaN") as failure:
        validate(model, chunks(X, y), 5, classes=[0, 1])
    assert "chunk 4 of the stream" in failure.value.__notes__[0]
    assert failure.value.result.n_samples[-1] == 28 - 5 - 6


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_bad_label(in_pipeline):
    """It is refused when it is learned; classes that are missing are noted."""
    X, y = data(60, n_classes=3)
    y[:] = np.minimum(y, 1)
    y[:2] = 0, 1
    y[20] = 2
    model = ScInOLClassifier()
    if in_pipeline:
        model = make_online_pipeline(model)
    with pytest.raises(ValueError, match=r"previously unseen labels: \[2\]") as failure:
        validate(model, chunks(X, y), 30)
    assert "chunk 7 of the stream" in failure.value.__notes__[0]
    assert "pass classes= with all of them" in failure.value.__notes__[-1]
    with pytest.raises(ValueError, match="unseen labels") as failure:
        validate(clone(model), chunks(X, y), 45)  # after the last chunk
    assert "pass classes= with all of them" in failure.value.__notes__[-1]


def test_lengths_that_differ():
    X, y = data()
    for chunk in (X, y[:-1]), (X, y, np.ones(59)):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            validate(ScInOLClassifier(), [chunk], 5, classes=[0, 1])


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_labels_between_rows_take_few_calls(monkeypatch, in_pipeline):
    """Rows and labels that alternate are learned in one call for a chunk."""
    (X, y), calls, partial_fit = data(), [], ScInOLClassifier._partial_fit

    def counted(self, *arguments, **keywords):
        calls.append(len(arguments[1]))
        return partial_fit(self, *arguments, **keywords)

    for convert in np.array, sparse.csr_array, np.ndarray.tolist:
        model = ScInOLClassifier(center=False)
        if in_pipeline:
            model = make_online_pipeline("passthrough", model)
        model.partial_fit(X, y, classes=[0, 1])
        with monkeypatch.context() as patch:
            patch.setattr(ScInOLClassifier, "_partial_fit", counted)
            validate(model, [(convert(X), y) for X, y in chunks(X, y, size=10)], 10)
        assert calls == [20, 20, 20, 20, 20, 10]
        calls.clear()
