"""Rows whose labels come later are learned as they were served, by every kind."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_classifier
from support import comparisons
from support.comparisons import assert_identical
from support.kinds import CLASSES, KINDS, N_ROWS

from sklearn_scinol import HedgeClassifier, ScInOLClassifier
from sklearn_scinol.estimators.served import Served

#: Pipelines serve by their last step.
NAMES = [name for name, kind in KINDS.items() if hasattr(kind.estimator, "_serve")]
of_every_kind = pytest.mark.parametrize("name", NAMES)


def learned(estimator):
    """All that was learned; of intervals and sets by what they hold and predict."""
    if not hasattr(estimator, "estimator_"):
        return comparisons.learned(estimator)
    states = [(each.sizes, each.ends, each.sums) for each in estimator._outputs]
    return [estimator.cumulative_loss_, states]


CHUNKS = [slice(start, start + 6) for start in range(6, N_ROWS, 6)]


def learn(kind, model, rows, **late):
    """Learn rows; return their predictions before, and what else there is."""
    classes = {}
    if is_classifier(model) and not kind.n_labels and rows.start == 0:
        classes["classes"] = CLASSES if kind.n_outputs > 1 else CLASSES[:2]
    X, y = kind.rows()[rows], kind.targets()[rows]
    return model._partial_fit(X, y, None, method="predict", **classes, **late)


@pytest.mark.cases(12)
@of_every_kind
def test_served_as_of_today(name, engine):
    """Rows served right before they are learned change nothing, in any chunks."""
    kind = KINDS[name]
    expected = clone(kind.estimator)
    learn(kind, expected, slice(0, 6))
    recorded, as_served, one_by_one = (copy.deepcopy(expected) for _ in range(3))
    for rows in CHUNKS:
        answers = learn(kind, expected, rows)
        of_recorded, served = learn(kind, recorded, rows, serves=True)
        assert_array_equal(of_recorded, answers)
        served = pickle.loads(pickle.dumps(served))
        parts = served[:2], served[[2, 3]], served[4:]
        again = learn(kind, as_served, rows, served=Served.concatenate(parts))
        assert_array_equal(again, answers)
        for i in range(6):
            row = slice(rows.start + i, rows.start + i + 1)
            learn(kind, one_by_one, row, served=served[i : i + 1])
    # Products of kernels depend on the rows beside a row.
    of_kernels = name.startswith(("kernel", "dfeg", "hedge"))
    for model in recorded, as_served, *([] if of_kernels else [one_by_one]):
        assert_identical(learned(model), learned(expected))


@pytest.mark.cases(12)
@of_every_kind
def test_serving_changes_nothing(name, engine):
    """Rows are served what `predict` says, to the last bits, and none is learned."""
    kind = KINDS[name]
    model = clone(kind.estimator)
    learn(kind, model, slice(0, 12))
    before = copy.deepcopy(model)
    rows = slice(12, 18)
    answers, served = model._serve(kind.rows()[rows], ["predict"])
    assert_identical(learned(model), learned(before))
    expected = model.predict(kind.rows()[rows])
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(answers[0], expected, rtol=1e-10, atol=1e-12)
    else:
        assert_array_equal(answers[0], expected)
    assert len(served) == 6


@pytest.mark.cases(12)
@of_every_kind
def test_late_labels_in_any_chunks(name, engine):
    """Rows that waited are learned alike in one call and one by one."""
    kind = KINDS[name]
    together = clone(kind.estimator)
    learn(kind, together, slice(0, 6))
    served = together._serve(kind.rows()[12:18])[1]
    learn(kind, together, slice(6, 12))
    alone = copy.deepcopy(together)
    answers = learn(kind, together, slice(12, 18), served=served)
    for i in range(6):
        row = learn(kind, alone, slice(12 + i, 13 + i), served=served[[i]])
        assert_array_equal(row, answers[i : i + 1])
    if name.startswith(("kernel", "dfeg", "hedge")):  # see above
        np.testing.assert_allclose(alone.cumulative_loss_, together.cumulative_loss_)
        return
    assert_identical(learned(alone), learned(together))


def test_losses_are_of_what_was_served(engine):
    X, y = np.arange(8.0).reshape(-1, 1) % 3, np.array([0, 1, 1, 0, 1, 0, 1, 1])
    model = ScInOLClassifier().partial_fit(X[:4], y[:4], classes=[0, 1])
    before = model.cumulative_loss_
    P, served = model._serve(X[4:], "predict_proba")
    model.partial_fit(X[:4], y[:4])
    between = model.cumulative_loss_
    model._partial_fit(X[4:], y[4:], None, served=served)
    losses = -np.log(P[np.arange(4), y[4:]])
    np.testing.assert_allclose(model.cumulative_loss_ - between, losses.sum())
    np.testing.assert_allclose(model.loss_curve_[-1], losses.mean())
    assert between > before


@pytest.mark.parametrize("change", ["classes", "experts", "anew"])
def test_what_estimators_served_that_have_changed_since(change, engine):
    """Such rows are learned as if they had not been served, beside others."""
    X, y = np.arange(16.0).reshape(8, 2) % 5, np.array([0, 1, 1, 0, 1, 0, 1, 1])
    experts = [("a", ScInOLClassifier()), ("b", ScInOLClassifier(algorithm="scinol1"))]
    model = HedgeClassifier(experts, new_classes="add")
    model.partial_fit(X[:4], y[:4], classes=[0, 1])
    served = model._serve(X[4:])[1]
    if change == "classes":
        model.partial_fit(X[:1], [2])
    else:
        model = clone(model).set_params(estimators=experts[: 1 + (change == "anew")])
        model.partial_fit(X[:4], y[:4], classes=[0, 1])
    expected = copy.deepcopy(model).partial_fit(X[4:], y[4:])
    actual = copy.deepcopy(model)
    actual._partial_fit(X[4:], y[4:], None, served=served)
    assert_identical(learned(actual), learned(expected))
    later = model._serve(X[6:])[1]
    mixed = Served.concatenate([served[:2], later, Served.unknown(1)])
    assert len(mixed) == 5
    model._partial_fit(X[4:8], y[4:8], None, served=mixed[:4])
    assert model.n_samples_seen_ == actual.n_samples_seen_


def test_wrong_number_of_served_rows(engine):
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 1, 0])
    model = ScInOLClassifier().partial_fit(X, y, classes=[0, 1])
    served, before = model._serve(X)[1], copy.deepcopy(model)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model._partial_fit(X[:3], y[:3], None, served=served)
    assert_identical(learned(model), learned(before))


def bound_of(model):
    """Return the bound of a model, or the reason why it has none."""
    try:
        bound = model.regret_bound
        return bound() if hasattr(model, "expert_losses_") else bound
    except AttributeError as error:
        return str(error.__cause__ or error)


@pytest.mark.cases(12)
@of_every_kind
def test_no_bound_with_late_labels(name, engine):
    """It is for the predictions of one order, and labels that come before the next."""
    kind = KINDS[name]
    model = clone(kind.estimator)
    learn(kind, model, slice(0, 6))
    if isinstance(bound_of(model), str):
        pytest.skip("there is no bound in any case")
    served = model._serve(kind.rows()[6:12])[1]
    in_order = copy.deepcopy(model)
    learn(kind, in_order, slice(6, 7), served=served[:1])
    assert not isinstance(bound_of(in_order), str)
    learn(kind, model, slice(12, 30))
    assert not isinstance(bound_of(model), str)
    learn(kind, model, slice(6, 12), served=served)
    assert "labels that come before the next row" in bound_of(model)
