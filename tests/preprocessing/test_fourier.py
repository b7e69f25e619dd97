"""Transformers of features: random Fourier features."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from support.naive_fourier import FourierFeatures
from support.registry import seeds

from sklearn_scinol.merging import merge_models
from sklearn_scinol.preprocessing import RandomFourierFeatures


def rows(n=60, d=5, seed=0):
    """Rows in units far apart; a feature varies late, and another one never."""
    rng = np.random.default_rng(seed)
    X = rng.normal(1.0, 2.0, size=(n, d)) * 10.0 ** np.arange(d)
    X[:, 1] = 7.0
    X[:20, 2] = 0.0
    X[n // 2, 3] *= 100.0  # beyond the clip
    return X


def expected(X, n_components, gamma, seed):
    naive = FourierFeatures(X.shape[1], n_components, gamma, seed)
    Z = []
    for x in X.tolist():
        Z.append(naive.features_of(x))
        naive.learn(x)
    return np.array(Z), naive


@pytest.mark.parametrize("n_components", [1, 3, 5, 12])
@pytest.mark.parametrize("gamma", ["scale", 0.0, 2.0])
def test_features(n_components, gamma, engine):
    X = rows()
    fourier = RandomFourierFeatures(gamma, n_components, random_state=3)
    Z = fourier.partial_fit_transform(X)
    value = 1 / 5 if gamma == "scale" else gamma
    features, naive = expected(X, n_components, value, 3)
    assert_allclose(Z, features, rtol=0, atol=1e-10)
    new = rows(20, seed=1)
    features = [naive.features_of(x) for x in new.tolist()]
    assert_allclose(fourier.transform(new), features, rtol=0, atol=1e-10)
    directions = np.repeat(naive.directions, 2, axis=0)[:n_components]
    assert_allclose(fourier.random_weights_.T, directions, atol=1e-12)
    angles = np.resize([0.0, -np.pi / 2], n_components)
    assert_allclose(fourier.random_offset_, angles)
    assert fourier.n_samples_seen_ == len(X)
    assert all(np.all(holds) for _, holds in fourier._invariants())


@pytest.mark.cases(20)
@pytest.mark.parametrize("exponents", [[0, 3, -7, 1, 0], [-300, 0, 300, -90, 290]])
@seeds
def test_powers_of_two_cancel(exponents, seed, engine):
    X, new = rows(seed=seed), rows(20, seed=seed + 100)
    plain, other = (RandomFourierFeatures(random_state=0) for _ in range(2))
    units = np.ldexp(1.0, exponents)
    assert_array_equal(
        other.partial_fit_transform(units * X), plain.partial_fit_transform(X)
    )
    assert_array_equal(other.transform(units * new), plain.transform(new))


@pytest.mark.cases(20)
@seeds
def test_shifts_cancel(seed, engine):
    X = rows(seed=seed)
    plain, other = (RandomFourierFeatures(random_state=0) for _ in range(2))
    Z = plain.partial_fit_transform(X)
    assert_allclose(other.partial_fit_transform(X - 5.0), Z, rtol=0, atol=1e-9)


def test_constant_features_do_not_matter(engine):
    X, found = rows(), []
    for constant in 7.0, 0.0, -1e300:
        X[:, 1] = constant
        found.append(RandomFourierFeatures(random_state=0).partial_fit_transform(X))
    for Z in found[1:]:
        assert_array_equal(Z, found[0])


def test_an_outgrown_unit(engine):
    """A value of another order than all before begins the feature anew."""
    X = rows()
    X[30:, 0] *= 2.0**800
    Z = RandomFourierFeatures(random_state=0).partial_fit_transform(X)
    assert np.isfinite(Z).all()
    X[:30, 0] = 0.0
    again = RandomFourierFeatures(random_state=0).partial_fit_transform(X)
    assert_array_equal(Z[-5:], again[-5:])


@pytest.mark.parametrize("gamma", [1e10, 1.7e308])
def test_large_gamma(gamma, engine):
    Z = RandomFourierFeatures(gamma, random_state=0).partial_fit_transform(rows())
    assert np.abs(Z).max() <= np.sqrt(2.0 / 64) * (1 + 1e-12)


def test_names_and_frames():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X = pandas.DataFrame(rows()[:, :2], columns=["a", "b"], index=range(3, 63))
    fourier = RandomFourierFeatures(n_components=3, random_state=0)
    fourier.set_output(transform="pandas")
    Z = fourier.partial_fit_transform(X)
    names = [f"randomfourierfeatures{k}" for k in range(3)]
    assert [*fourier.get_feature_names_out()] == [*Z.columns] == names
    assert [*Z.index] == [*X.index]


def test_directions_are_drawn_once():
    X = rows()
    one, other = (RandomFourierFeatures(random_state=k).fit(X) for k in range(2))
    assert (one.random_weights_ != other.random_weights_).all()
    drawn = one.random_weights_
    assert_array_equal(one.partial_fit(X).random_weights_, drawn)
    one.set_params(random_state=1)
    assert_array_equal(one.fit(X).random_weights_, other.random_weights_)
    random_state = np.random.RandomState(1)
    again = RandomFourierFeatures(random_state=random_state).fit(X)
    assert_array_equal(again.random_weights_, other.random_weights_)


@pytest.mark.parametrize("n_start", [0, 15])
def test_merging(n_start):
    X, new = rows(100), rows(20, seed=1)
    model = RandomFourierFeatures(random_state=0)
    start = clone(model).partial_fit(X[:n_start]) if n_start else None
    models = [
        deepcopy(start or model).partial_fit(X[part])
        for part in np.split(np.arange(n_start, 100), [30, 70])
    ]
    merged, whole = merge_models(models, start=start), model.partial_fit(X)
    assert merged.n_samples_seen_ == 100
    for _ in range(2):
        assert_allclose(merged.transform(new), whole.transform(new), atol=1e-9)
        for each in merged, whole:
            assert all(np.all(holds) for _, holds in each._invariants())
            each.partial_fit(X[:60])
    models = [RandomFourierFeatures().partial_fit(X) for _ in range(2)]
    before = pickle.dumps(models)
    for words, others in (
        ("pass the same int as random_state", models),
        ("gamma differs", [models[0], RandomFourierFeatures(2.0).partial_fit(X)]),
    ):
        with pytest.raises(ValueError, match=words):
            merge_models(others)
    assert pickle.dumps(models) == before
    copies = [deepcopy(models[0]).partial_fit(X) for _ in range(2)]
    assert merge_models(copies, start=models[0]).n_samples_seen_ == 3 * len(X)
