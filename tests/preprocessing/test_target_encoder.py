"""Running means of a target by category, against a plain loop."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.comparisons import assert_identical

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.merging import merge
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineTargetEncoder, TableEncoder

N = 90


def categories(n=N):
    rng = np.random.default_rng(0)
    X = np.stack([rng.choice(["a", "b", "c"], n), rng.choice([*"vwxyz"], n)], axis=1)
    X = X.astype(object)
    X[rng.random(n) < 0.1, 0] = None
    return X


def labels(n_classes, n=N):
    return np.random.default_rng(1).integers(n_classes, size=n)


def plain(X, Y, smooth, start):
    """Means before each row; the mean of all begins at `start`, once or never."""
    rows = []
    for t, x in enumerate(X):
        n, total = t + (start is not None), Y[:t].sum(axis=0) + (start or 0.0)
        mean = total / max(n, 1)
        for j, value in enumerate(x):
            same = Y[:t][X[:t, j] == value]
            rows.append((same.sum(axis=0) + smooth * mean) / (len(same) + smooth))
    return np.reshape(rows, (len(X), -1))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_shares_of_classes(n_classes, engine):
    X, y = categories(), labels(n_classes)
    expected = plain(X, np.eye(n_classes)[y][:, 1:], 20.0, 1 / n_classes)
    Z = OnlineTargetEncoder().partial_fit_transform(X, y, classes=range(n_classes))
    assert_allclose(Z, expected, rtol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_means_of_numbers(n_outputs, engine):
    X, Y = categories(), np.random.default_rng(2).normal(size=(N, n_outputs))
    expected = plain(X, Y, 0.5, None)
    y = Y[:, 0] if n_outputs == 1 else Y
    Z = OnlineTargetEncoder(0.5).partial_fit_transform(X, y)
    assert_allclose(Z, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [object, "Float64", str])
@pytest.mark.parametrize("encoder", [OnlineTargetEncoder(), TableEncoder()])
def test_targets_of_regressors_are_numbers(encoder, kind):
    X, y = pd.DataFrame(categories()).fillna(""), pd.Series(labels(4) / 4.0)
    expected, found = (
        make_online_pipeline(clone(encoder), HedgeRegressor(random_state=0))
        .partial_fit(X, targets)
        .predict(X)
        for targets in (y, y.astype(kind))
    )
    assert_array_equal(found, expected)


def test_new_values_have_the_mean_of_all():
    X, y = categories(), labels(2)
    encoder = OnlineTargetEncoder().fit(X, y, classes=[0, 1])
    mean = (y.sum() + 0.5) / (N + 1)
    assert_allclose(encoder.transform([["new", "other"]]), mean)


def test_names_and_frames():
    X = pd.DataFrame(categories(), columns=["city", "shop"])
    encoder = OnlineTargetEncoder().set_output(transform="pandas")
    Z = encoder.fit_transform(X, np.array(["no", "yes"])[labels(2)] == "yes")
    assert [*Z.columns] == ["city_mean", "shop_mean"]
    encoder.fit(X, labels(3), classes=[0, 1, 2])
    assert [*encoder.get_feature_names_out()] == [
        *("city_mean_1", "city_mean_2", "shop_mean_1", "shop_mean_2")
    ]
    with pytest.raises(ValueError, match="The feature names should match"):
        encoder.transform(X.rename(columns={"shop": "store"}))


@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform"])
def test_targets_are_needed(method):
    encoder = OnlineTargetEncoder()
    with pytest.raises(ValueError, match="requires y to be passed, but the target"):
        getattr(encoder, method)(categories())
    with pytest.raises(NotFittedError):
        encoder.observe(categories())


@pytest.mark.parametrize(
    ("first", "bad", "message"),
    [
        ([1.0, 2.0], ["a"], "could not convert string to float"),
        ([1.0, 2.0], [np.nan], "Input y contains NaN"),
        ([1.0, 2.0], [1.0, 2.0], "inconsistent numbers of samples"),
        ([1.0, 2.0], [[1.0, 2.0]], "outputs of y is 2, but means of 1 are"),
        ([[1.0, 2.0], [3.0, 4.0]], [1.0], "outputs of y is 1, but means of 2"),
        ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0, 3.0]], "outputs of y is 3"),
        (["a", "b"], [[1.0, 2.0]], "y should be a 1d array"),
        (["a", "b"], [["a", "b"]], "y should be a 1d array"),
    ],
)
def test_later_targets_are_as_the_first(first, bad, message, engine):
    encoder = OnlineTargetEncoder().partial_fit([["u"], ["v"]], first)
    before = encoder.transform([["u"], ["v"]])
    with pytest.raises(ValueError, match=message):
        encoder.partial_fit([["u"]], bad)
    assert_identical(encoder.transform([["u"], ["v"]]), before)
    assert encoder.n_samples_seen_ == 2


def test_rows_of_dicts_that_are_refused_change_nothing(engine):
    X = pd.DataFrame(categories(), columns=["city", "shop"]).to_dict("records")
    y = np.random.default_rng(2).normal(size=N)
    model = make_online_pipeline(OnlineTargetEncoder(), ScInOLRegressor())
    model.partial_fit(X[:50], y[:50])
    before, rows = model[0].transform(X), model.row_by_row()
    for bad in np.nan, "x":
        with pytest.raises(ValueError, match=r"NaN|could not convert"):
            rows.learn_one(X[50], bad)
        assert_identical(model[0].transform(X), before)
    rows.learn_one(X[50], y[50])
    assert (model[0].transform(X) != before).any()


@pytest.mark.parametrize(
    "encoder", [OnlineTargetEncoder(), TableEncoder(sparse_output=False)]
)
def test_merged_means_are_of_all_labels(encoder):
    """Columns of labels that came in another order are moved."""
    X = pd.DataFrame(categories(), columns=["city", "shop"])
    learner, parts = ScInOLClassifier(new_classes="add"), [slice(0, 50), slice(50, N)]
    y = np.resize(["a", "b"], 50), np.resize(["b", "b", "c"], N - 50)
    models = [clone(make_online_pipeline(encoder, learner)) for _ in parts]
    for model, rows, labels in zip(models, parts, y, strict=True):
        model.partial_fit(X[rows], labels)
    merged = merge(models)
    assert merged[0]._dense.labels == ["a", "b", "c"]
    whole = clone(encoder).fit(X, np.concatenate(y))
    Z = whole.transform(X)
    assert_allclose(merged[0].transform(X), Z, rtol=1e-12)
    columns = np.arange(Z.shape[1])
    for first in 0, 8:
        columns[first : first + 3] = first + np.array([2, 0, 1])
    rows = clone(encoder).partial_fit_transform(X[parts[1]], y[1])
    moved = clone(learner).partial_fit(rows[:, columns], y[1])
    expected = merge([models[0][-1], moved]).decision_function(Z)
    assert_allclose(merged.decision_function(X), expected, rtol=1e-9, atol=1e-12)


def test_late_classes_of_some_merged_models():
    X, y = pd.DataFrame(categories(), columns=["city", "shop"]), np.arange(N) % 2
    few = HedgeClassifier(new_classes="add", exclude=["neighbors", "forest", "pools"])
    start = make_online_pipeline(TableEncoder(n_hashed=256), few)
    start.partial_fit(X[:30], y[:30])
    models = [deepcopy(start) for _ in range(2)]
    for model, n_classes in zip(models, [2, 3], strict=True):
        model.partial_fit(X[30:], np.arange(30, N) % n_classes)
    merged = merge(models, start=start)
    assert merged[0]._dense.labels == [0, 1, 2]
    assert merged.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(merged.decision_function(X)).all()
    other = deepcopy(start).partial_fit(X[30:], 9 * y[30:])
    with pytest.raises(ValueError, match="the columns before it differ"):
        merge([models[1], other], start=start)
    many = deepcopy(start).partial_fit(X[30:], np.arange(100, 70 + N) % 7 + 10)
    with pytest.raises(ValueError, match="together at most 8"):
        merge([models[1], many], start=start)
