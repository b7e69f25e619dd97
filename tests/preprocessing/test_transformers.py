"""Transformers that learn from a stream: what holds for all."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.comparisons import assert_identical
from support.copies import mapped, saved

from sklearn_scinol import config_context
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineHistory,
    OnlineScaler,
    OnlineTargetEncoder,
    RandomFourierFeatures,
    TableEncoder,
)

OF_NUMBERS = OnlineScaler(), OnlineBinner(50), RandomFourierFeatures(random_state=0)
ALL = (
    *OF_NUMBERS,
    OnlineTargetEncoder(),
    OnlineHistory([4, (), (4, 5)], 0, n_hashed=30),
)

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
        *(*ALL[:-1], TableEncoder(), OnlineBinner(n_samples=3, n_quantiles=1)),
        *(OnlineHistory(), OnlineHistory([0], target=False, n_hashed=3)),
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


def assert_sound(transformer):
    assert all(np.all(holds) for _, holds in transformer._invariants())


@pytest.mark.cases(32)
@pytest.mark.parametrize("size", [1, 7, 49, 51])
@pytest.mark.parametrize("transformer", ALL, ids=name_of)
def test_chunks_do_not_matter(transformer, size, engine):
    X, y = rows()
    whole, parts, learned = (clone(transformer) for _ in range(3))
    Z = dense(whole.partial_fit_transform(X, y))
    for start in range(0, len(X), size):
        chunk = slice(start, start + size)
        if start:
            asked = dense(parts.transform(X[start:][:1]))
            assert_allclose(asked, Z[start:][:1], rtol=1e-12, atol=1e-12)
        assert_array_equal(
            dense(parts.partial_fit_transform(X[chunk], y[chunk])), Z[chunk]
        )
        assert_sound(parts)
        learned.partial_fit(X[chunk], y[chunk])
    for each in parts, learned:
        assert_identical(vars(each), vars(whole))
    new, _ = rows(20, seed=1)
    alone = [dense(whole.transform(x[np.newaxis])) for x in new]
    assert_array_equal(np.vstack(alone), dense(whole.transform(new)))


@pytest.mark.parametrize("transformer", ALL, ids=name_of)
def test_engines_agree(transformer):
    pytest.importorskip("numba", reason="numba is not installed")
    X, y = rows()
    Z = []
    for engine in "numpy", "numba":
        with config_context(engine=engine):
            Z.append(dense(clone(transformer).partial_fit_transform(X, y)))
    assert_allclose(*Z, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("copy", [saved, mapped])
@pytest.mark.parametrize("transformer", ALL, ids=name_of)
def test_copies_go_on(transformer, copy, tmp_path, engine):
    X, y = rows()
    original = clone(transformer).partial_fit(X[:60], y[:60])
    revived = copy(original, tmp_path / "transformer")
    assert_array_equal(dense(revived.transform(X)), dense(original.transform(X)))
    Z, again = (
        each.partial_fit_transform(X[60:], y[60:]) for each in (original, revived)
    )
    assert_array_equal(dense(again), dense(Z))


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
    """Sparse columns of pandas; with targets one of two views."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    rows = [{"city": "Oslo", "rooms": 2}, {"city": "Rome", "rooms": None}] * 5
    table = pandas.DataFrame(rows, index=np.arange(10) + 7)
    encoder = TableEncoder(n_hashed=64).set_output(transform="pandas")
    Z = encoder.fit_transform(table)
    assert_array_equal(Z.index, table.index)
    assert [*Z.columns] == [*encoder.get_feature_names_out()]
    assert_array_equal(Z["city=Rome"], [0.0, 1.0] * 5)
    plain = clone(encoder).set_output(transform="default").fit_transform(table)
    assert len(Z.columns) == plain.shape[1]
    has_values = np.unique(plain.indices)
    assert_array_equal(Z.iloc[:, has_values], plain[:, has_values].toarray())
    before = pickle.dumps(encoder)
    with pytest.raises(ValueError, match="dense rows or True for sparse ones"):
        encoder.fit_transform(table, [0, 1] * 5, classes=[0, 1])
    assert pickle.dumps(encoder) == before
    with pytest.raises(ValueError, match=r"26\d,\d+ columns.*, or a smaller n_hashed"):
        clone(encoder).set_params(n_hashed=2**18).fit_transform(table)
    sparse = clone(encoder).set_params(sparse_output=True)
    again = sparse.fit(table, [0, 1] * 5).transform(table)
    assert again.equals(Z)
    dense = encoder.set_params(sparse_output=False)
    assert dense.fit_transform(table, [0, 1] * 5, classes=[0, 1]).shape == (10, 3)
