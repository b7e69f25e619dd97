"""Learners and losses from outside the package."""

import importlib
import linecache
import pickle
import sys
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from support.outside import (
    CoshLoss,
    Descent,
    MarginLoss,
    MergingDescent,
    SqrtLoss,
    Weights,
)
from support.registry import compiled
from support.sums import linear

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    config_context,
    learners,
    losses,
    merge_models,
    persistence,
)
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.evaluation import regret_curve

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = linear(X, [1.0, -2.0, 0.5]) + 0.1 * RNG.normal(size=40)
LABELS = (Y > 0.3).astype(int)
THREE = LABELS + (X[:, 0] > 0.5)


def classifier(learner=Descent(0.5), loss=SqrtLoss(2.0), **parameters):  # noqa: B008
    return BaselineClassifier(learner, loss=loss, center=False, **parameters)


def learned(estimator, labels=LABELS, container=np.array):
    return estimator.partial_fit(container(X), labels, classes=np.unique(labels))


def assert_same_models(one, other):
    assert type(one._model.learner) is type(other._model.learner)
    assert one._model.learner == other._model.learner
    assert one._model.loss == other._model.loss
    assert one.coef_.tobytes() == other.coef_.tobytes()
    assert one.cumulative_loss_ == other.cumulative_loss_


# They learn.


def by_hand(rate, softness):
    """Weights and total loss of `Descent` with `SqrtLoss`."""
    w, total = np.zeros(4), 0.0
    for t, (x, label) in enumerate(zip(np.c_[X, np.ones(40)], LABELS, strict=True), 1):
        y, p = 2.0 * label - 1.0, x @ w
        total += np.sqrt(softness + p * p) - y * p
        w -= rate / np.sqrt(t) * (p / np.sqrt(softness + p * p) - y) * x
    return w, total


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_learner_and_loss(container, engine):
    model = learned(classifier(), container=container)
    w, total = by_hand(0.5, 2.0)
    assert_allclose([*model.coef_[0], *model.intercept_], w, rtol=1e-10)
    assert_allclose(model.cumulative_loss_, total, rtol=1e-10)
    assert not hasattr(model, "regret_bound")
    assert not hasattr(model, "predict_proba")
    again = classifier()
    rows = again.row_by_row(classes=[0, 1])
    for x, label in zip(X, LABELS, strict=True):
        rows.learn_one(x, label)
    if container is np.array:
        assert_same_models(again, model)


def test_int_is_a_float(engine):
    """Compiled code is for numbers of one type; what was passed stays as it is."""
    model = learned(classifier(Descent(1), SqrtLoss(1)))
    assert_same_models(model, learned(classifier(Descent(1.0), SqrtLoss(1.0))))
    assert type(model._model.learner.rate) is float
    assert type(model.algorithm.rate) is int


@pytest.mark.parametrize(
    ("learner", "name", "loss", "loss_name", "labels"),
    [
        (learners.AdaGrad(0.3), "adagrad", losses.CrossEntropy(), "log_loss", THREE),
        (learners.AdaGrad(0.3), "adagrad", losses.Hinge(), "hinge", THREE),
        (learners.OGD(0.3), "ogd", losses.Logistic(), "log_loss", LABELS),
    ],
)
def test_instances_are_what_names_are(learner, name, loss, loss_name, labels, engine):
    """With three classes, too: separate losses are learned one versus rest."""
    given = learned(classifier(learner, loss), labels)
    named = BaselineClassifier(name, loss=loss_name, learning_rate=0.3, center=False)
    assert_same_models(given, learned(named, labels))
    assert hasattr(given, "predict_proba") == hasattr(named, "predict_proba")
    if name == "ogd":
        bounds = [one.regret_bound(np.ones(3)) for one in (given, named)]
        assert bounds[0] == bounds[1]


def test_joint_loss(engine):
    model = learned(classifier(loss=MarginLoss()), THREE)
    assert model.coef_.shape == (3, 3)
    assert model.score(X, THREE) > 0.7
    with pytest.raises(ValueError, match="is of three or more classes, got 2"):
        learned(classifier(loss=MarginLoss()))
    with pytest.raises(ValueError, match="takes losses of one output only"):
        learned(classifier(learners.CODE(), MarginLoss()), THREE)


def test_in_a_mixture(engine):
    experts = [(str(rate), classifier(Descent(rate))) for rate in (1, 0.1)]
    experts.append(("own", BaselineClassifier(learners.Coin(), center=False)))
    assert learned(HedgeClassifier(experts)).weights_.shape == (3,)
    experts = [("own", BaselineRegressor(Descent(), loss=CoshLoss()))]
    assert HedgeRegressor(experts).partial_fit(X, Y).n_samples_seen_ == 40
    three = HedgeClassifier([("margin", classifier(loss=MarginLoss()))])
    assert learned(three, THREE).predict_proba(X).shape == (40, 3)


def test_kernels_and_additive_models():
    given = learned(BaselineClassifier(learners.KernelGD(0.5), kernel="rbf"))
    named = BaselineClassifier("kernel_gd", learning_rate=0.5, kernel="rbf")
    assert_array_equal(given.dual_coef_, learned(named).dual_coef_)
    with pytest.raises(ValueError, match=r"algorithm=Descent\(rate=1.0\)"):
        learned(BaselineClassifier(Descent(), kernel="rbf"))
    additive = BaselineClassifier(Descent(), additive=True)
    assert learned(additive)._model.n_columns > 3


# They are parameters.


def test_parameters():
    model = classifier()
    assert clone(model).get_params() == model.get_params()
    assert model.get_params()["algorithm__rate"] == 0.5
    assert model.get_params()["loss__softness"] == 2.0
    assert "algorithm__rate" not in model.get_params(deep=False)
    model.set_params(algorithm__rate=0.1, average=3)
    assert model.algorithm == Descent(0.1)
    assert model.average == 3
    model.set_params(algorithm=learners.AdaGrad(), algorithm__eta=0.2)
    assert model.algorithm == learners.AdaGrad(eta=0.2)
    for other in model, BaselineClassifier("ogd"):
        with pytest.raises(ValueError, match="Invalid parameter 'algorithm__rate' for"):
            other.set_params(algorithm__rate=1.0)
    assert "algorithm=Descent(rate=0.5)" in repr(classifier())


# Errors for missing or invalid declarations.


def without(complete, *names):
    """A class with the fields of another and its declarations, but for some."""
    lacking = NamedTuple("Lacking", [(name, float) for name in complete._fields])
    for name, value in vars(complete).items():
        is_own = not name.startswith("_") and name not in complete._fields
        if is_own and name not in names:
            setattr(lacking, name, value)
    return lacking(*[1.0] * len(lacking._fields))


ODD = without(Descent)
type(ODD).weight = lambda self, s, i, x: 0.0


class Bare(NamedTuple("NoFields", [])):
    State = Weights
    initial_state = Descent.initial_state
    weight, update = Descent.weight, Descent.update


UNKNOWN = "must be a str among .* or an instance of a "
ROWS = without(MarginLoss, "row_value", "row_gradient")

#: Parameters of which one must not be what it is, and what is said of it.
REFUSED = [
    ({"algorithm": Descent}, ValueError, UNKNOWN + "learner. Got <class"),
    ({"algorithm": BaselineClassifier()}, ValueError, UNKNOWN + "learner. Got Base"),
    ({"algorithm": 3}, ValueError, UNKNOWN + "learner. Got 3"),
    ({"algorithm": "descent"}, ValueError, UNKNOWN + "learner. Got 'descent'"),
    ({"algorithm": losses.Huber()}, TypeError, "A learner must declare `State`"),
    ({"algorithm": Descent("a")}, TypeError, "must be numbers, got rate='a'"),
    ({"algorithm": Descent(np.nan)}, TypeError, "must be numbers, got rate=nan"),
    ({"algorithm": Bare()}, TypeError, "A learner must have a hyperparameter"),
    ({"algorithm": ODD}, TypeError, r"`weight` of a learner must take .*s, i, x, t\)"),
    ({"algorithm": learners.OnlineNewton()}, ValueError, "of OnlineNewtonClass"),
    ({"radius": 1.0}, ValueError, "radius must be None"),
    ({"loss": SqrtLoss}, ValueError, UNKNOWN + "loss. Got <class"),
    ({"loss": Descent()}, TypeError, "A loss must declare `is_classification`"),
    ({"loss": ROWS}, TypeError, "A loss must declare `row_value` and `row_gradient`"),
    ({"loss": CoshLoss()}, ValueError, "a loss of regressors, for instance of Hed"),
    ({"loss": losses.Huber()}, ValueError, "Huber.* is a loss of regressors"),
    ({"new_classes": "add"}, ValueError, "new_classes='add' needs loss='log_loss'"),
    (
        {"algorithm": learners.ScInOL2(), "loss": losses.SquaredHinge()},
        ValueError,
        "needs one with a bounded slope",
    ),
    (
        {"algorithm": learners.AdaImplicit()},
        TypeError,
        "A loss for AdaImplicit must declare `minimiser` and `proximal`, as Sqrt",
    ),
]
REFUSED += [
    ({kind: without(complete, name)}, TypeError, f"must declare `{name}`")
    for kind, complete, names in [
        ("algorithm", Descent, ["State", "initial_state", "weight", "update"]),
        ("loss", SqrtLoss, ["is_classification", "joint", "lipschitz", "value"]),
    ]
    for name in names
]


@pytest.mark.cases(len(REFUSED))
@pytest.mark.parametrize(("parameters", "error", "message"), REFUSED)
def test_what_cannot_be_is_refused(parameters, error, message):
    """Before a row is learned: the estimator is as it was."""
    model = learned(classifier()).set_params(**parameters)
    fresh = clone(model)
    before = vars(fresh).copy()
    with pytest.raises(error, match=message):
        learned(fresh)
    assert vars(fresh) == before
    before = pickle.dumps(model._model)
    with pytest.raises(error, match=message):
        model.fit(X, LABELS)
    assert pickle.dumps(model._model) == before


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (SqrtLoss(), "is a loss of classifiers, for instance"),
        (losses.Huber(0.0), "lipschitz == 0.0 of Huber"),
        (losses.Huber(1e30), "lipschitz == 1e"),
    ],
)
def test_what_cannot_be_in_regression(loss, words):
    with pytest.raises(ValueError, match=words):
        BaselineRegressor(loss=loss, standardize_target=False).partial_fit(X, Y)


def test_comparators_of_losses():
    model = classifier(learners.OGD(0.3))
    labels = np.roll(LABELS, 1)  # which nothing separates
    best = regret_curve(model, [(X, labels)], classes=[0, 1])
    assert best.comparator.gap <= 1e-4 * best.comparator.total_loss
    zero = np.zeros(3), 0.0
    curve = regret_curve(model, [(X, labels)], comparator=zero, classes=[0, 1])
    assert (curve.regret <= curve.bound).all()
    assert (best.regret >= curve.regret)[-1]
    with pytest.raises(ValueError, match="comparator must be given with loss=Margin"):
        regret_curve(
            classifier(learners.OGD(0.3), MarginLoss()), [(X, LABELS)], classes=range(3)
        )


# They are stored, and merged.


def copied(model, how, folder):
    if how == "pickle":
        return pickle.loads(pickle.dumps(model))
    pytest.importorskip("skops", reason="skops is not installed")
    persistence.save(model, folder / "model.skops")
    with pytest.raises(TypeError, match="not trusted"):
        persistence.load(folder / "model.skops")
    trusted = [Descent, SqrtLoss, InheritedLoss]
    return persistence.load(folder / "model.skops", trusted=trusted)


class InheritedLoss(SqrtLoss):
    """A NamedTuple that inherits its fields, which skops would take for a tuple."""

    __slots__ = ()


@pytest.mark.cases(3)
@pytest.mark.parametrize("how", ["pickle", "skops"])
@pytest.mark.parametrize("loss", [SqrtLoss(2.0), InheritedLoss(2.0)])
def test_copies_go_on(how, loss, tmp_path, engine):
    alone = learned(classifier(loss=loss))
    for model in alone, learned(HedgeClassifier([("own", clone(alone))])):
        copy = copied(model, how, tmp_path)
        one, other = model.partial_fit(X, LABELS), copy.partial_fit(X, LABELS)
        said = [each.decision_function(X).tobytes() for each in (one, other)]
        assert said[0] == said[1]
        if isinstance(copy, BaselineClassifier):
            assert type(copy.loss) is type(loss)
            assert copy.get_params() == model.get_params()
            assert_same_models(copy, model)


def test_merging():
    models = [learned(classifier(MergingDescent())) for _ in range(2)]
    merged = merge_models(models)
    assert_allclose(merged.coef_, models[0].coef_, rtol=1e-12)
    assert merged.partial_fit(X, LABELS).n_samples_seen_ == 120
    models = [learned(classifier()) for _ in range(2)]
    with pytest.raises(TypeError, match="Descent cannot be merged: a learner must"):
        merge_models(models)
    models = [learned(classifier()), learned(classifier(Descent(0.1)))]
    with pytest.raises(ValueError, match="same parameters can be merged: algorithm"):
        merge_models(models)


# They are compiled, and kept on disk.

MINE = """
from support.outside import Descent

FACTOR = {factor}

def scaled(rate):
    return FACTOR * rate

class Mine(Descent):
    __slots__ = ()

    def update(self, s, i, x, g, w, t):
        s.w[i] -= scaled(self.rate) * g * x
"""


@compiled
@pytest.mark.thorough
def test_compiled_code_follows_its_source(tmp_path, monkeypatch, engine):
    """Digests follow all called code."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for factor in 2.0, 3.0:
        (tmp_path / "mine.py").write_text(MINE.format(factor=factor), "utf-8")
        monkeypatch.delitem(sys.modules, "mine", raising=False)
        linecache.checkcache()
        learner = importlib.import_module("mine").Mine(0.1)
        found = learned(classifier(learner)).coef_
        with config_context(engine="numpy"):
            assert_allclose(found, learned(classifier(learner)).coef_, rtol=1e-12)


@compiled
def test_code_without_a_source_is_refused(engine):
    update = eval("lambda self, s, i, x, g, w, t: None")
    typed = type("Typed", (Descent,), {"__slots__": (), "update": update})
    with pytest.raises(TypeError, match=r"The source of .* cannot be found"):
        learned(classifier(typed(1.0)))
