"""The dense view of tables, against a plain reference."""

import datetime as dt
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from support.comparisons import assert_identical
from support.naive_dense_view import dense_view
from support.tables import KINDS, table

from sklearn_scinol import (
    HedgeClassifier,
    ScInOLClassifier,
)
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder
from sklearn_scinol.tables.dense import MAX_TARGETS
from sklearn_scinol.views import TableRows

N = 120


def labels(n_classes, n=N):
    return np.random.default_rng(1).integers(n_classes, size=n)


def encoder(**parameters):
    return TableEncoder(kinds=KINDS, sparse_output=False, **parameters)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_of_classes_are_those_of_a_plain_loop(n_classes, engine):
    """A pipeline hands weights of rows to the encoder; of weight 0 are no labels."""
    rows, y = table(N), labels(n_classes)
    c = np.random.default_rng(2).choice([0.0, 1.0, 3.0], N)
    c[0], classes, of_rows = 1.0, range(n_classes), np.eye(n_classes)[y][:, 1:].tolist()
    Z = encoder().partial_fit_transform(rows, y, classes=classes)
    expected = dense_view(rows, KINDS, of_rows, np.ones(N), True)
    assert_allclose(Z, expected, rtol=1e-10, atol=1e-12)
    model = make_online_pipeline(encoder(), ScInOLClassifier())
    model.partial_fit(rows[:-1], y[:-1], sample_weight=c[:-1], classes=classes)
    expected = dense_view(rows, KINDS, of_rows, c, True)[-1:]
    assert_allclose(model[0].transform(rows[-1:]), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_means_of_numbers_are_those_of_a_plain_loop(n_outputs, engine):
    rows, y = table(N), np.random.default_rng(1).normal(size=(N, n_outputs))
    expected = dense_view(rows, KINDS, y.tolist(), np.ones(N), False)
    Z = encoder().partial_fit_transform(rows, y[:, 0] if n_outputs == 1 else y)
    assert_allclose(Z, expected, rtol=1e-10, atol=1e-12)


def chunks(size, n=N):
    return [slice(start, start + size) for start in range(0, n, size)]


def test_interactions_have_means():
    rows, y = table(N), labels(2)
    model = encoder(interactions=[("city", "flag")])
    model.partial_fit(rows, y, classes=[0, 1])
    j = [*model.get_feature_names_out()].index("city & flag_mean")
    same = [
        r
        for r, row in enumerate(rows)
        if (row["city"], row["flag"]) == (rows[5]["city"], rows[5]["flag"])
    ]
    mean = (y.sum() + 0.5) / (N + 1)
    expected = (y[same].sum() + 20 * mean) / (len(same) + 20)
    assert model.transform(rows[5:6])[0, j] == pytest.approx(expected)


def test_labels_may_come_later():
    """Without classes, labels have columns in the order in which they come."""
    rows, y = table(N), np.array(["b", "c", "a"])[labels(3)]
    whole, parts = TableEncoder(kinds=KINDS), TableEncoder(kinds=KINDS)
    expected = whole.partial_fit_transform(rows, y).dense_view
    said = [parts.partial_fit_transform(rows[s], y[s]).dense_view for s in chunks(7)]
    assert_identical(np.concatenate(said), expected)
    names = clone(whole).set_params(sparse_output=False).fit(rows, y)
    names = [each for each in names.get_feature_names_out() if "city" in each]
    first = [*dict.fromkeys(y)]
    assert names == [f"city_mean_{label}" for label in [*first, *range(3, MAX_TARGETS)]]
    many = labels(50, 500)
    model = encoder().fit(table(500), many, classes=np.arange(50))
    names = model.get_feature_names_out()
    assert sum("city" in name for name in names) == MAX_TARGETS


def test_means_take_a_fixed_number_of_places():
    """A million of different values take no more memory than a few."""
    model = TableEncoder(n_hashed=64, sparse_output=False)
    rows = [{"city": str(k)} for k in range(1000)]
    model.partial_fit(rows, labels(2, 1000), classes=[0, 1])
    size = len(pickle.dumps(model))
    model.partial_fit([{"city": f"{k}+"} for k in range(1000)], labels(2, 1000))
    assert len(pickle.dumps(model)) < 1.1 * size


@pytest.mark.thorough
@pytest.mark.parametrize("last", [HedgeClassifier(), ScInOLClassifier()])
def test_fit_sees_earlier_rows_only(last):
    """As in a stream, with all classes known; rows to predict know all labels."""
    rows, y = table(N), np.array(["no", "yes", "perhaps"])[labels(3)]
    model = make_online_pipeline(TableEncoder(kinds=KINDS), last).fit(rows, y)
    assert isinstance(model[0].transform(rows[:3]), TableRows)
    Z = TableEncoder(kinds=KINDS).fit_transform(rows, y, classes=model.classes_)
    stream = TableEncoder(kinds=KINDS)
    expected = stream.partial_fit_transform(rows, y, classes=model.classes_)
    assert_identical(Z.dense_view, expected.dense_view)
    assert_identical(Z.toarray(), stream.transform(rows).toarray())
    assert {*model.predict(rows)} <= {*y}


def test_mixtures_ask_for_the_view_that_they_learned():
    rows, y = table(N), labels(2)
    model = make_online_pipeline(
        TableEncoder(kinds=KINDS, n_hashed=256), HedgeClassifier()
    )
    model.partial_fit(rows, y, classes=[0, 1])
    Z = model[0].transform(rows)
    X = Z.tocsr(copy=True)
    X.dense_view = None
    for method in model[-1].predict, lambda X: model[-1].partial_fit(X, y):
        with pytest.raises(ValueError, match="X has no dense view, which experts have"):
            method(X)
    X.dense_view = Z.dense_view[:, 1:]
    with pytest.raises(ValueError, match="The dense view of X has shape"):
        model[-1].predict(X)


def test_rows_of_both_views_are_chosen_together():
    Z = TableEncoder(kinds=KINDS).partial_fit_transform(table(9), labels(2, 9))
    for key in slice(2, 5), np.array([3, 1]), Z.toarray()[:, 0] > 0:
        part = Z[key]
        assert_identical(part.dense_view, Z.dense_view[key])
        assert_identical(part.toarray(), Z.toarray()[key])
    assert_identical(pickle.loads(pickle.dumps(Z)).dense_view, Z.dense_view)
    assert_identical(Z.copy().dense_view, Z.dense_view)
    assert Z[1:3, 2:4].dense_view is None


VALUES = {
    "number": st.floats(allow_infinity=False),
    "boolean": st.booleans(),
    "category": st.sampled_from(["", "a", "b"]) | st.text(max_size=3),
    "date": st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2262, 1, 1)),
    "text": st.text(max_size=9) | st.sampled_from(["a b a", "b a"]),
}


@pytest.mark.slow
@given(
    st.lists(
        st.fixed_dictionaries({k: v | st.none() for k, v in VALUES.items()}),
        min_size=2,
        max_size=12,
    ),
    st.integers(1, 5),
    st.lists(st.floats(-1e100, 1e100), min_size=12, max_size=12),
    st.sets(st.sampled_from(["boolean", "number"])),
)
def test_whatever_comes_rows_are_finite_and_chunks_do_not_matter(rows, size, y, known):
    """Columns that are not known, and are missing at first, are late ones."""
    kinds = {name: name for name in {*known, "category", "date", "text"}}
    views = []
    for parts in chunks(len(rows), len(rows)), chunks(size, len(rows)):
        model = TableEncoder(kinds=kinds, sparse_output=False, n_hashed=5)
        view = [model.partial_fit_transform(rows[s], y[: len(rows)][s]) for s in parts]
        views.append(np.concatenate(view))
    assert np.isfinite(views[0]).all()
    assert_identical(*views)
