"""What rows may come in: all give the same model, none is changed, few are copied."""

import pickle
import tracemalloc
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


def assert_usable(estimator, X, expected_X):
    """Learning, to the last bit, and predicting are as on `expected_X`."""
    y = targets(estimator)
    parameters = {"random_state": 0, "max_iter": 2, "tol": None}
    for learn in (partial_fit, estimator.fit):
        given = learn(estimator(**parameters), X, y)
        expected = learn(estimator(**parameters), expected_X, y)
        assert state(given) == state(expected)
        assert_allclose(score(given, X), score(expected, expected_X), rtol=1e-12)


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
    X = DENSE[name](np.abs(rows()))
    before = pickle.dumps(X)
    assert_usable(estimator, X, np.array(X, dtype=float))
    assert pickle.dumps(X) == before


# Sparse rows.


def parts(X):
    """Everything that a sparse array keeps, whatever its format."""
    names = ("data", "indices", "indptr", "row", "col", "coords", "rows", "offsets")
    return pickle.dumps(
        {name: getattr(X, name) for name in names if hasattr(X, name)}
        if X.format != "dok"
        else dict(X)
    )


@all_estimators
@pytest.mark.parametrize("name", SPARSE)
def test_sparse(estimator, name, engine):
    X = SPARSE[name](rows())
    before = parts(X)
    expected = sparse.csr_array(rows())
    if name in ("duplicates", "duplicates-float32"):
        assert not X.has_canonical_format
    y = targets(estimator)
    given, other = (partial_fit(estimator(), X_, y) for X_ in (X, expected))
    # Entries of a row may be summed in another order.
    assert_allclose(given.coef_, other.coef_, rtol=1e-12, atol=1e-15)
    assert_allclose(given.intercept_, other.intercept_, rtol=1e-12)
    assert given.regret_bound(np.ones(given.coef_.shape)) == pytest.approx(
        other.regret_bound(np.ones(given.coef_.shape)), rel=1e-12
    )
    assert_allclose(score(given, X), score(other, expected), rtol=1e-12)
    given, other = (
        estimator(random_state=0, max_iter=2, tol=None).fit(X_, y)
        for X_ in (X, expected)
    )
    assert_allclose(given.coef_, other.coef_, rtol=1e-12, atol=1e-15)
    assert parts(X) == before


@all_estimators
def test_wide_and_hardly_filled(estimator, engine):
    """Few entries, many columns; predictions take a way of their own."""
    wide = sparse.random(30, 100_000, density=2e-5, random_state=0, format="csr")
    y = targets(estimator, 30)
    given = partial_fit(estimator(), wide, y)
    X = 10 * wide  # beyond what was seen
    together = score(given, X)
    for r in range(3):
        assert_allclose(score(given, X[[r]])[0], together[r], rtol=1e-12)
        assert_allclose(score(given, X[[r]].toarray())[0], together[r], rtol=1e-12)


@all_estimators
def test_centring_of_sparse_rows(estimator, engine):
    X, y = rows(), targets(estimator)
    words = "Cannot center sparse matrices"
    with pytest.raises(ValueError, match=words):
        partial_fit(estimator(center=True), sparse.csr_array(X), y)
    fitted = partial_fit(estimator(center=True), X, y)
    with pytest.raises(ValueError, match=words):
        partial_fit(fitted, sparse.csr_array(X), y)


# Frames.


def assert_same_as_array(estimator, frame, y, class_names=None):
    expected = partial_fit(estimator(), rows(), targets(estimator))
    given = estimator()
    keywords = {"classes": class_names} if class_names is not None else {}
    if is_classifier(given):
        given.partial_fit(frame, y, **({"classes": [0, 1, 2]} | keywords))
    else:
        given.partial_fit(frame, y)
    assert_array_equal(given.coef_, expected.coef_)
    assert_array_equal(given.intercept_, expected.intercept_)
    names = getattr(StandardScaler().fit(frame), "feature_names_in_", None)
    assert_array_equal(getattr(given, "feature_names_in_", None), names)
    assert_allclose(score(given, frame), score(expected, rows()), rtol=1e-12)
    if class_names is not None:
        predicted = np.asarray(class_names)[expected.predict(rows())]
        assert_array_equal(given.predict(frame), predicted)


@all_estimators
def test_pandas(estimator, engine):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows(), columns=["a", "b", "c", "d"])
    index = np.random.default_rng(2).permutation(40)
    y = pandas.Series(targets(estimator), index=index)  # labels of rows do not count
    before = frame.copy()
    for given in (
        frame,
        frame.astype(np.float32),
        frame.astype(int),
        frame.astype({"a": int, "b": np.float32}),
        frame.astype("Float64"),
        frame.set_index(index),
    ):
        assert_same_as_array(estimator, given, y)
    pandas.testing.assert_frame_equal(frame, before)
    if is_classifier(estimator()):
        names = ["no", "perhaps", "yes"]
        for dtype in (None, object, "category", "string"):
            labels = pandas.Series(np.take(names, y), dtype=dtype)
            assert_same_as_array(estimator, frame, labels, names)
    else:
        outputs = pandas.DataFrame({"one": y, "two": -y})
        both = estimator().fit(frame, outputs)
        assert both.predict(frame).shape == (40, 2)


@all_estimators
def test_sparse_pandas(estimator, engine):
    pandas = pytest.importorskip("pandas")
    names = ["a", "b", "c", "d"]
    X, y = sparse.csr_matrix(rows()), targets(estimator)
    frame = pandas.DataFrame.sparse.from_spmatrix(X, columns=names)
    given = partial_fit(estimator(), frame, y)
    expected = partial_fit(estimator(), X, y)
    assert_allclose(given.coef_, expected.coef_, rtol=1e-12)


@all_estimators
def test_polars(estimator, engine):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(rows(), schema=["a", "b", "c", "d"])
    y = polars.Series(targets(estimator))
    assert_same_as_array(estimator, frame, y)
    assert_same_as_array(estimator, frame.cast(polars.Float32), y)
    assert_same_as_array(estimator, frame.cast(polars.Int8), y)
    if is_classifier(estimator()):
        names = ["no", "perhaps", "yes"]
        labels = polars.Series(np.take(names, y.to_numpy()).tolist())
        assert_same_as_array(estimator, frame, labels, names)


# Targets and weights.


@all_estimators
def test_targets_and_weights_in_any_format(estimator, engine):
    X, y = rows(), targets(estimator)
    weight = np.arange(40) % 3 / 2
    expected = partial_fit(estimator(), X, y, sample_weight=weight)
    for convert in (
        list,
        read_only,
        lambda values: np.repeat(values, 2)[::2],
        lambda values: values[::-1].copy()[::-1],
        lambda values: values.astype(object),
        lambda values: values.astype(np.float32),
    ):
        y_given, weight_given = convert(y), convert(weight)
        before = pickle.dumps((y_given, weight_given))
        given = partial_fit(estimator(), X, y_given, sample_weight=weight_given)
        assert pickle.dumps((y_given, weight_given)) == before
        assert state(given) == state(expected)


# Memory.

LARGE = 60 * 2**20
ALLOWED = 25 * 2**20


def peak_rise(call):
    """Bytes that a call needs at most beyond what it finds; NumPy's are traced."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


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
in_earnest = pytest.mark.parametrize(
    ("estimator", "engine"),
    [
        (ScInOLClassifier, "numpy"),
        (ScInOLRegressor, "numba"),
        *thoroughly((ScInOLClassifier, "numba"), (ScInOLRegressor, "numpy")),
    ],
    indirect=["engine"],
)


@pytest.mark.cases(3)
@pytest.mark.slow
@in_earnest
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_rows_are_not_copied(estimator, order, large, engine):
    X = large if order == "C" else large.T.reshape(large.shape, order="F")
    assert X.nbytes > LARGE - 2**20
    y = np.arange(X.shape[0]) % 2
    weight = np.ones(X.shape[0])
    keywords = {"classes": [0, 1]} if is_classifier(estimator()) else {}
    fitted = estimator().partial_fit(X[:10], y[:10], **keywords)

    def learn():
        fitted.partial_fit(X, y, sample_weight=weight)

    assert peak_rise(learn) < ALLOWED
    assert peak_rise(lambda: fitted.partial_fit_predict(X, y)) < ALLOWED


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [ScInOLRegressor, *thoroughly(ScInOLClassifier)])
@pytest.mark.parametrize("engine", ["numba"], indirect=True)
def test_many_short_rows_are_not_copied(estimator, engine):
    """Nor are their targets; NumPy would take as long for each row."""
    X = np.zeros((LARGE // 8 // 4, 4))
    y = np.arange(X.shape[0]) % 2
    y = y if is_classifier(estimator()) else y.astype(float)
    keywords = {"classes": [0, 1]} if is_classifier(estimator()) else {}
    fitted = estimator().partial_fit(X[:10], y[:10], **keywords)
    assert peak_rise(lambda: fitted.partial_fit(X, y)) < ALLOWED


@pytest.mark.thorough
@in_earnest
def test_sparse_rows_are_not_copied(estimator, engine):
    n_samples, nnz = 100, 80_000
    data = np.ones(n_samples * nnz)
    indices = np.tile(np.arange(nnz, dtype=np.int32), n_samples)
    indptr = nnz * np.arange(n_samples + 1, dtype=np.int32)
    X = sparse.csr_array((data, indices, indptr), shape=(n_samples, nnz))
    assert data.nbytes + indices.nbytes > 3 * ALLOWED
    y = np.arange(n_samples) % 2
    keywords = {"classes": [0, 1]} if is_classifier(estimator()) else {}
    fitted = estimator().partial_fit(X[:10], y[:10], **keywords)
    assert peak_rise(lambda: fitted.partial_fit(X, y)) < ALLOWED
