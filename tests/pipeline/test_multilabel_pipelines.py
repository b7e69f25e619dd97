"""Pipelines that learn several labels a row."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from sklearn_scinol import HedgeClassifier, ScInOLClassifier, ScInOLRegressor
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineScaler, OnlineTargetEncoder, TableEncoder

PIPELINES = {
    "scaler": make_online_pipeline(OnlineScaler(), ScInOLClassifier()),
    "table": make_online_pipeline(TableEncoder(), ScInOLClassifier()),
    "dense view": make_online_pipeline(
        TableEncoder(n_hashed=64), HedgeClassifier(exclude=["random_features"])
    ),
    "target means": make_online_pipeline(
        OnlineTargetEncoder(), ScInOLClassifier(max_iter=2, tol=None, random_state=0)
    ),
}


def table(name, n_rows=40):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(n_rows, 2)), columns=["a", "b"])
    X["c"] = rng.choice(["u", "v", "w"], n_rows)
    if name == "scaler":
        X = X[["a", "b"]].to_numpy()
    elif name == "target means":
        X = X[["c"]]
    return X, rng.integers(0, 2, size=(n_rows, 3))


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", PIPELINES)
def test_labels(name):
    X, Y = table(name)
    whole, parts, rows = (clone(PIPELINES[name]) for _ in range(3))
    expected = whole.partial_fit_predict(X, Y, method="predict_proba")
    assert expected.shape == Y.shape
    as_given = np.asarray, sparse.csr_array, np.ndarray.tolist
    found = [
        parts.partial_fit_predict(
            X[start : start + 10],
            container(Y[start : start + 10]),
            method="predict_proba",
        )
        for start, container in zip(
            range(0, 40, 10), [*as_given, np.asarray], strict=True
        )
    ]
    assert_array_equal(np.concatenate(found), expected)
    assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    one_by_one = rows.row_by_row(classes=range(3))
    as_rows = X if name == "scaler" else X.to_dict("records")
    for x, y in zip(as_rows, Y, strict=True):
        one_by_one.learn_one(x, y)
    assert_array_equal(rows.predict(X), whole.predict(X))


@pytest.mark.cases(1)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", PIPELINES)
def test_fit(name, container):
    X, Y = table(name)
    pipeline = clone(PIPELINES[name]).fit(X, container(Y))
    assert pipeline.predict(X).shape == Y.shape
    assert pipeline.score(X, Y) == (pipeline.predict(X) == Y).all(axis=1).mean()


def test_means_are_the_shares_of_labels():
    """As those of numbers, so that rows are what they are in regression."""
    X, Y = table("target means")
    labels = clone(PIPELINES["target means"]).partial_fit(X, Y)
    numbers = make_online_pipeline(OnlineTargetEncoder(), ScInOLRegressor())
    numbers.partial_fit(X, Y.astype(float))
    assert_array_equal(labels[0].transform(X), numbers[0].transform(X))
