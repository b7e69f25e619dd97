"""What rows may come in: all give the same model, none is changed, few are copied."""

import pickle
import tracemalloc
from functools import partial
from tempfile import TemporaryFile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.preprocessing import StandardScaler
from support import formats
from support.formats import SPARSE, read_only
from support.registry import thoroughly

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor

all_estimators = pytest.mark.parametrize(
    "estimator", [ScInOLClassifier, ScInOLRegressor]
)


def rows(n_samples=40):
    """Small integers, which every format and type holds exactly; half of them zero."""
    rng = np.random.default_rng(0)
    X = rng.integers(-5, 6, size=(n_samples, 4)).astype(float)
    X[rng.random(X.shape) < 0.5] = 0.0
    return X


def targets(estimator, n_samples=40):
    y = np.random.default_rng(1).integers(0, 3, size=n_samples)
    return y if is_classifier(estimator()) else y.astype(float)


def partial_fit(estimator, X, y, **keywords):
    if is_classifier(estimator):
        keywords["classes"] = [0, 1, 2]
    return estimator.partial_fit(X, y, **keywords)


def state(estimator):
    """The model, to the last bit."""
    return pickle.dumps(estimator._model)


def score(estimator, X):
    return getattr(
        estimator, "decision_function" if is_classifier(estimator) else "predict"
    )(X)


def fit(estimator, X, y):
    return estimator(random_state=0, max_iter=2, tol=None).fit(X, y)


def contents(X):
    """Everything that an array keeps, whatever its format."""
    if sparse.issparse(X) and X.format != "dok":
        X = {name: part for name, part in vars(X).items() if not name.startswith("_")}
    return pickle.dumps(X)


# Dense rows.


def not_aligned(X):
    data = np.frombuffer(b"." + X.tobytes(), dtype=np.float64, offset=1)
    return data.reshape(X.shape)


def memory_mapped(X):
    with TemporaryFile() as file:
        X.tofile(file)
        return np.memmap(file, dtype=np.float64, mode="r", shape=X.shape)


DENSE = {
    **formats.DENSE,
    "not-aligned": not_aligned,
    "memory-mapped": memory_mapped,
    "unsigned": np.uint8,
    "boolean": lambda X: X > 2.0,
}


@all_estimators
@pytest.mark.parametrize("name", DENSE)
def test_dense(estimator, name, engine):
    """Learning, to the last bit, and predicting are as on an array of floats."""
    X, y = DENSE[name](np.abs(rows())), targets(estimator)
    before, expected_X = contents(X), np.array(X, dtype=float)
    for given, expected in (
        (partial_fit(estimator(), X, y), partial_fit(estimator(), expected_X, y)),
        (fit(estimator, X, y), fit(estimator, expected_X, y)),
    ):
        assert state(given) == state(expected)
        assert_allclose(score(given, X), score(expected, expected_X), rtol=1e-12)
    assert contents(X) == before


# Sparse rows.


@all_estimators
@pytest.mark.parametrize("name", SPARSE)
def test_sparse(estimator, name, engine):
    """Entries of a row may be summed in another order."""
    X, expected_X = SPARSE[name](rows()), sparse.csr_array(rows())
    y = targets(estimator)
    before = contents(X)
    for given, expected in (
        (partial_fit(estimator(), X, y), partial_fit(estimator(), expected_X, y)),
        (fit(estimator, X, y), fit(estimator, expected_X, y)),
    ):
        assert_allclose(given.coef_, expected.coef_, rtol=1e-12, atol=1e-15)
        assert_allclose(given.intercept_, expected.intercept_, rtol=1e-12)
        bounds = [e.regret_bound(np.ones(e.coef_.shape)) for e in (given, expected)]
        assert bounds[0] == pytest.approx(bounds[1], rel=1e-12)
        assert_allclose(score(given, X), score(expected, expected_X), rtol=1e-12)
    assert contents(X) == before


@all_estimators
def test_wide_and_hardly_filled(estimator, engine):
    """Few entries, many columns; predictions take a way of their own."""
    wide = sparse.random(30, 100_000, density=2e-5, random_state=0, format="csr")
    given = partial_fit(estimator(), wide, targets(estimator, 30))
    X = 10 * wide  # beyond what was seen
    for r, expected in enumerate(score(given, X)[:3]):
        assert_allclose(score(given, X[[r]])[0], expected, rtol=1e-12)
        assert_allclose(score(given, X[[r]].toarray())[0], expected, rtol=1e-12)


@all_estimators
def test_centring_of_sparse_rows(estimator, engine):
    X, y = rows(), targets(estimator)
    for fitted in estimator(center=True), partial_fit(estimator(center=True), X, y):
        with pytest.raises(ValueError, match="Cannot center sparse matrices"):
            partial_fit(fitted, sparse.csr_array(X), y)


# Frames.


def pandas_frames(X):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    index = np.random.default_rng(2).permutation(40)  # labels of rows do not count
    types = np.float32, int, {"a": int, "b": np.float32}, "Float64"
    frames = [frame, frame.set_index(index), *map(frame.astype, types)]
    labels = [partial(pd.Series, dtype=t) for t in (None, object, "category", "string")]
    return frames, labels


def polars_frames(X):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d"])
    return [frame, *map(frame.cast, (pl.Float32, pl.Int8))], [pl.Series]


@all_estimators
@pytest.mark.parametrize("frames_of", [pandas_frames, polars_frames])
def test_frames(estimator, frames_of, engine):
    X, y = rows(), targets(estimator)
    (frames, labels), given_y = frames_of(X), y
    expected = partial_fit(estimator(), X, y)
    names = getattr(StandardScaler().fit(frames[0]), "feature_names_in_", None)
    for k, frame in enumerate(frames):
        before, given = frame.__copy__(), estimator()
        if is_classifier(given):
            classes = np.array(["no", "perhaps", "yes"])
            given_y = labels[k % len(labels)](classes[y].tolist())
            given.partial_fit(frame, given_y, classes=classes)
            predicted = classes[expected.predict(X)]
            assert_array_equal(given.predict(frame), predicted)
        else:
            given.partial_fit(frame, labels[0](y))
        assert_array_equal(given.coef_, expected.coef_)
        assert_array_equal(given.intercept_, expected.intercept_)
        assert_array_equal(getattr(given, "feature_names_in_", None), names)
        assert_allclose(score(given, frame), score(expected, X), rtol=1e-12)
        assert frame.equals(before)


@all_estimators
def test_sparse_frames_and_frames_of_targets(estimator, engine):
    pd = pytest.importorskip("pandas")
    X, y = sparse.csr_matrix(rows()), targets(estimator)
    frame = pd.DataFrame.sparse.from_spmatrix(X, columns=["a", "b", "c", "d"])
    given, expected = (partial_fit(estimator(), each, y) for each in (frame, X))
    assert_allclose(given.coef_, expected.coef_, rtol=1e-12)
    if not is_classifier(given):
        several = given.fit(rows(), pd.DataFrame({"one": y, "two": -y}))
        assert several.predict(rows()).shape == (40, 2)


# Targets and weights.


@all_estimators
def test_targets_and_weights_in_any_format(estimator, engine):
    X, y, c = rows(), targets(estimator), np.arange(40) % 3 / 2
    expected = partial_fit(estimator(), X, y, sample_weight=c)
    for convert in (
        list,
        read_only,
        lambda values: np.repeat(values, 2)[::2],
        lambda values: values[::-1].copy()[::-1],
        lambda values: values.astype(object),
        lambda values: values.astype(np.float32),
    ):
        given = convert(y), convert(c)
        before = pickle.dumps(given)
        made = partial_fit(estimator(), X, given[0], sample_weight=given[1])
        assert pickle.dumps(given) == before
        assert state(made) == state(expected)


# Memory.

LARGE = 60 * 2**20
ALLOWED = 25 * 2**20


def assert_not_copied(fitted, X, method="partial_fit", **keywords):
    """Learning needs little memory beyond what it finds; NumPy's is traced."""
    y = np.arange(X.shape[0]) % 2
    y = y if is_classifier(fitted) else y.astype(float)
    classes = {"classes": [0, 1]} if is_classifier(fitted) else {}
    fitted.partial_fit(X[:10], y[:10], **classes)
    learn = getattr(fitted, method)
    tracemalloc.start()
    try:
        learn(X, y, **keywords)
        assert tracemalloc.get_traced_memory()[1] < ALLOWED
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_parameters_in_other_precisions(kind):
    X, y = rows(), targets(ScInOLRegressor)
    expected, found = (
        ScInOLRegressor("huber", epsilon=number(0.5), initial_wealth=number(2.0))
        for number in (float, kind)
    )
    assert state(found.partial_fit(X, y)) == state(expected.partial_fit(X, y))


@pytest.fixture(scope="module", params=["float64", "float32"])
def large(request):
    """60 MB of few long rows, so that learning from them takes no time."""
    n_features = 50_000
    dtype = np.dtype(request.param)
    n_samples = LARGE // (n_features * dtype.itemsize)
    X = np.zeros((n_samples, n_features), dtype)
    X[:, ::1000] = np.random.default_rng(0).normal(size=(n_samples, 50))
    return X


# So many rows take compiled loops, or NumPy's on long rows.
IN_EARNEST = [
    (ScInOLClassifier, "numpy"),
    (ScInOLRegressor, "numba"),
    *thoroughly((ScInOLClassifier, "numba"), (ScInOLRegressor, "numpy")),
]
in_earnest = pytest.mark.parametrize(
    ("estimator", "engine"), IN_EARNEST, indirect=["engine"]
)


@pytest.mark.cases(3)
@pytest.mark.slow
@in_earnest
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_rows_are_not_copied(estimator, order, large, engine):
    X = large if order == "C" else large.T.reshape(large.shape, order="F")
    assert X.nbytes > LARGE - 2**20
    model = estimator()
    assert_not_copied(model, X, sample_weight=np.ones(X.shape[0]))
    assert_not_copied(model, X, "partial_fit_predict")


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [ScInOLRegressor, *thoroughly(ScInOLClassifier)])
@pytest.mark.parametrize("engine", ["numba"], indirect=True)
def test_many_short_rows_are_not_copied(estimator, engine):
    """Nor are their targets; NumPy would take as long for each row."""
    assert_not_copied(estimator(), np.zeros((LARGE // 8 // 4, 4)))


@pytest.mark.thorough
@in_earnest
def test_sparse_rows_are_not_copied(estimator, engine):
    n, nnz = 100, 80_000
    indices = np.tile(np.arange(nnz, dtype=np.int32), n)
    indptr = nnz * np.arange(n + 1, dtype=np.int32)
    X = sparse.csr_array((np.ones(n * nnz), indices, indptr), shape=(n, nnz))
    assert X.data.nbytes + indices.nbytes > 3 * ALLOWED
    assert_not_copied(estimator(), X)
