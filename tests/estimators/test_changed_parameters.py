"""Parameters that change after the first rows: `fit` takes them, learning refuses."""

import copy
import pickle
from contextlib import suppress

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import SGDRegressor
from support.comparisons import assert_identical
from support.hostile import parameters_of
from support.registry import PUBLIC_ESTIMATORS, has

from sklearn_scinol import (
    DFEGRegressor,
    HedgeClassifier,
    HedgeRegressor,
    OnlineConformalClassifier,
    OnlineConformalRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    learners,
)
from sklearn_scinol.baselines import BaselineClassifier
from sklearn_scinol.merging import merge_models
from sklearn_scinol.persistence import load, save
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineHistory,
    OnlineTargetEncoder,
    RandomFourierFeatures,
    TableEncoder,
)

METHODS = "predict", "decision_function", "predict_proba", "predict_interval"
METHODS += "predict_set", "coef_", "intercept_", "support_", "coverage_"


def rows(n=20):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, 1 * (X[:, 0] + X[:, 1] ** 2 > 0.5)


def begun(estimator):
    """Learn first rows, and some more of them alike."""
    X, y = rows()
    first = {"classes": [0, 1]} if is_classifier(estimator) else {}
    return clone(estimator).partial_fit(X, y, **first).partial_fit(X, y)


def answers(model):
    X, _ = rows()
    found = {name: getattr(model, name) for name in METHODS if hasattr(model, name)}
    return {name: each(X) if callable(each) else each for name, each in found.items()}


def assert_refused(model, name, learn_one=None):
    """Refuse rows, however they come, naming the parameter; and stay the same."""
    X, y = rows()
    before = copy.deepcopy(vars(model))
    rows_of = model.row_by_row()
    for learn in (
        lambda: model.partial_fit(X, y),
        lambda: model.partial_fit_predict(X, y),
        lambda: rows_of.learn_one(X[0], y[0]),
        *([] if learn_one is None else [lambda: learn_one(X[0], y[0])]),
    ):
        with pytest.raises(ValueError, match=rf"`{name}` is not the same as.*`fit`"):
            learn()
    assert_identical(vars(model), before)


@pytest.mark.cases(5)
@pytest.mark.parametrize("estimator", PUBLIC_ESTIMATORS)
def test_each_parameter(estimator):
    X, y = rows()
    quick = {"random_state": 0, "max_iter": 1, "tol": None}
    quick = {name: value for name, value in quick.items() if has(estimator, name)}
    model, n_refused = begun(estimator(**quick)), 0
    given, said = model.get_params(deep=False), answers(model)
    same = copy.deepcopy(model).partial_fit(X, y)
    for name, values in parameters_of(estimator, compiled=False).items():
        for value in values:
            changed = copy.deepcopy(model).set_params(**{name: value})
            with suppress(ValueError):
                copy.deepcopy(changed)._settle_parameters(begins=False)
                assert name in changed._changeable or value == given[name]
                continue
            try:
                clone(changed).fit(X, y)
            except ValueError:  # no value that goes with the others
                continue
            n_refused += 1
            assert_identical(answers(changed), said)
            assert_refused(changed, name)
            changed._check_state()
            again = copy.deepcopy(changed).set_params(**{name: given[name]})
            assert_identical(vars(again.partial_fit(X, y)), vars(same))
            assigned = copy.deepcopy(model)
            setattr(assigned, name, value)
            assert_identical(vars(assigned), vars(changed))
            new = clone(changed).fit(X, y)
            assert_identical(answers(changed.fit(X, y)), answers(new))
            changed.partial_fit(X, y)
            break
    assert n_refused > 0


def mixture():
    return HedgeClassifier([("one", ScInOLClassifier()), ("two", begun(linear()))])


def linear():
    return BaselineClassifier(learners.AdaGrad(0.3))


def quantiles():
    return ScInOLRegressor("quantile", quantile=np.array([0.2, 0.8]))


DENSE = TableEncoder(sparse_output=False)
SGD = SGDRegressor(shuffle=False)
LAMBDA = DFEGRegressor(kernel=lambda x, y: x @ y)
INTERVALS = OnlineConformalRegressor(ScInOLRegressor())
SETS = OnlineConformalClassifier(ScInOLClassifier())
CHANGES = [
    (mixture(), {"one__loss": "hinge"}),
    (mixture(), {"two__algorithm__eta": 0.1}),
    (mixture(), {"one": BaselineClassifier()}),
    (mixture(), {"estimators": None}),
    (linear(), {"algorithm__eta": 0.1}),
    (linear(), {"class_weight": {0: 1.0, 1: 2.0}}),
    (quantiles(), {"quantile": np.array([0.2, 0.7])}),
    (quantiles(), {"quantile": [0.2, 0.5, 0.8]}),
    (HedgeRegressor([("kernel", LAMBDA)]), {"kernel__delta": 2.0}),
    (INTERVALS, {"estimator__loss": "huber"}),
    (INTERVALS, {"estimator": SGD}),
    (INTERVALS, {"confidence_level": [0.5, 0.9]}),
    (clone(SETS).set_params(groups=0), {"groups": "auto"}),
    (SETS, {"groups": 0}),
    *(
        (make_online_pipeline(*steps, ScInOLRegressor()), changes)
        for steps, changes in (
            ([], {"scinolregressor__loss": "huber"}),
            ([OnlineBinner(5)], {"onlinebinner__n_samples": 9}),
            ([RandomFourierFeatures()], {"randomfourierfeatures__random_state": 3}),
            ([TableEncoder()], {"tableencoder__interactions": [("x0", "x1")]}),
            ([DENSE], {"tableencoder__sparse_output": True}),
            ([OnlineTargetEncoder()], {"onlinetargetencoder__smooth": 3.0}),
            ([OnlineHistory([()])], {"onlinehistory__time": 0}),
        )
    ),
]


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("estimator", "changes"), CHANGES, ids=[next(iter(each)) for _, each in CHANGES]
)
def test_parameters_of_parts(estimator, changes, engine, tmp_path):
    X, y = rows()
    model, (name,) = begun(estimator), changes
    before = model.get_params()[name]
    same = copy.deepcopy(model)
    learn_one = model.row_by_row().learn_one
    for each in zip(X, y, strict=True):  # prepared, as far as it can be
        learn_one(*each)
        same.partial_fit(each[0][np.newaxis], each[1:])
    said = answers(model)
    model.set_params(**changes)
    assert_identical(answers(model), said)
    steps = getattr(model, "steps", None)
    own_name = name.removeprefix(f"{steps[0][0]}__") if steps else name
    assert_refused(model, own_name, learn_one)
    others = [copy.deepcopy(model)]
    if "<lambda>" not in str(model.get_params()):
        save(model, tmp_path / "model")
        others += pickle.loads(pickle.dumps(model)), load(tmp_path / "model")
    for other in others:
        assert_identical(answers(other), said)
        assert_refused(other, own_name)
    if hasattr(model, "_merged"):
        with pytest.raises(ValueError, match=rf"`{own_name}` is not the same"):
            merge_models([model, others[0]])
    # It goes on when it is set back, and begins anew by `fit`.
    same.partial_fit(X, y)
    for other in model, *others:
        other.set_params(**{name: before})
        assert_identical(answers(other.partial_fit(X, y)), answers(same))
    learn_one(X[0], y[0])
    last = steps[-1][1] if steps else model
    given, once = last.get_params(deep=False), {"max_iter": 1, "shuffle": False}
    once |= {"tol": None}
    last.set_params(**{key: once[key] for key in once.keys() & given.keys()})
    fitted = clone(model).set_params(**changes).fit(X, y)
    model.set_params(**changes).fit(X, y)
    if "random_state" not in name:
        assert_identical(answers(model), answers(fitted))


def test_what_may_change():
    """Parameters that each call reads, or only `fit`; equal ones, and ones set back."""
    X, y = rows()
    model = begun(HedgeClassifier([("one", ScInOLClassifier())]))
    model.set_params(n_jobs=2, verbose=1, max_iter=3, new_classes="add", tol=None)
    model.set_params(estimators=[("one", ScInOLClassifier(initial_wealth=1))])
    model.set_params(exclude=[])
    assert model.partial_fit(X, y + 1).classes_.tolist() == [0, 1, 2]
    assert model.set_params(warm_start=True).fit(X, y).n_samples_seen_ == 120
    with pytest.raises(ValueError, match="`one__initial_wealth` is not the same"):
        model.set_params(one__initial_wealth=2.0).fit(X, y)
    model.set_params(one__loss="hinge", one__initial_wealth=1.0)
    with pytest.raises(ValueError, match="`one__loss` is not the same"):
        model.fit(X, y)
    assert model.set_params(one__loss="log_loss").fit(X, y).n_samples_seen_ == 180
    # Experts that learn cannot change either.
    model.named_estimators_["one"].set_params(initial_wealth=2.0)
    with pytest.raises(ValueError, match="`initial_wealth` is not the same"):
        model.partial_fit(X, y)
    encoder = TableEncoder().partial_fit(X)
    encoder.set_params(new_columns="ignore").partial_fit(np.eye(20, 4))


def test_fit_that_fails():
    """The estimator stays as it was: with the parameters that have changed."""
    X, y = rows()
    model = begun(ScInOLClassifier()).set_params(loss="hinge")
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X * np.nan, y)
    assert_refused(model, "loss")
    with pytest.raises(ValueError, match="Invalid parameter 'no'"):
        begun(ScInOLClassifier()).set_params(loss="hinge", no=1)
