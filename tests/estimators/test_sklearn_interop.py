"""The estimators inside scikit-learn's machinery."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_wine
from sklearn.multioutput import MultiOutputClassifier

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor

all_estimators = pytest.mark.parametrize(
    "estimator", [ScInOLClassifier, ScInOLRegressor]
)
FEW_EPOCHS = {"max_iter": 3, "tol": None, "random_state": 0}
WEIGHT = np.random.default_rng(1).exponential(size=150)


def data(estimator):
    """With labels that are not the numbers 0, 1, ... in which classes are counted."""
    load = load_wine if is_classifier(estimator()) else load_diabetes
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:150]
    names = np.array(["barolo", "grignolino", "barbera"])
    y = names[y] if load is load_wine else y
    return X[order], y[order]


def score(estimator, X):
    name = "decision_function" if is_classifier(estimator) else "predict"
    return getattr(estimator, name)(X)


# Estimators made of estimators, and metadata that they pass on.


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_weights_and_classes_of_partial_fit(routing):
    X, y = data(ScInOLClassifier)
    Y = np.column_stack([y == "barolo", y == "barbera"])
    given = {"sample_weight": True, "classes": True}
    model = MultiOutputClassifier(ScInOLClassifier().set_partial_fit_request(**given))
    model.partial_fit(X, Y, classes=[[0, 1]] * 2, sample_weight=WEIGHT)
    for k in range(2):
        alone = ScInOLClassifier()
        alone.partial_fit(X, Y[:, k], classes=[0, 1], sample_weight=WEIGHT)
        assert_array_equal(model.estimators_[k].coef_, alone.coef_)


# Callbacks of scikit-learn 1.9.


class Recorder:
    """Keeps what it is told: events, tasks, and what the model of an epoch predicts."""

    def __init__(self, stop_after=None):
        pytest.importorskip("sklearn.callback")
        self.stop_after = stop_after
        self.events, self.inputs, self.models = [], [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.events.append(("begin", context.task_name, context.task_id))
        self.inputs.append((X, y, metadata))
        self.max_subtasks = (context.parent or context).max_subtasks

    def on_fit_task_end(
        self, estimator, context, *, X, y, metadata=None, fitted_estimator
    ):
        self.events.append(("end", context.task_name, context.task_id))
        self.inputs.append((X, y, metadata))
        self.models.append(fitted_estimator)
        return context.parent is not None and context.task_id + 1 == self.stop_after

    def teardown(self, estimator, context):
        self.events.append("teardown")


def epochs(n):
    """The events of a fit of `n` epochs."""
    steps = [(event, "epoch", k) for k in range(n) for event in ("begin", "end")]
    return ["setup", ("begin", "fit", 0), *steps, ("end", "fit", 0), "teardown"]


@all_estimators
def test_callbacks(estimator, engine):
    """Each epoch is a task, after which the callback has a model that is of use."""
    X, y = data(estimator)
    recorder, parameters = Recorder(), dict(FEW_EPOCHS)
    if is_classifier(estimator()):
        parameters["class_weight"] = "balanced"
    model = estimator(**parameters).set_callbacks(recorder)
    model.fit(X, y, sample_weight=WEIGHT)
    assert recorder.events == epochs(3)
    assert recorder.max_subtasks == 3
    for n_epochs, of_epoch in enumerate(recorder.models[:3], start=1):
        expected = estimator(**parameters | {"max_iter": n_epochs}).fit(X, y, WEIGHT)
        assert_array_equal(score(of_epoch, X), score(expected, X))
        assert of_epoch.score(X, y) == expected.score(X, y)
        assert of_epoch.n_iter_ == n_epochs
        assert of_epoch.loss_curve_ == expected.loss_curve_
        of_epoch.partial_fit(X, y)  # independent of the one that is being fitted
    assert_array_equal(score(model, X), score(expected, X))
    names = {"_callback_fit_ctx", "_skl_callbacks_to_teardown"}
    assert not names & vars(model).keys()
    assert len(recorder.inputs) == 8
    for X_told, y_told, metadata in recorder.inputs:  # as given
        assert X_told is X
        assert_array_equal(y_told, y)
        assert_array_equal(metadata["sample_weight"], WEIGHT)


@all_estimators
def test_callback_that_stops(estimator):
    """No warning, though `tol` was not reached: epochs did not run out."""
    X, y = data(estimator)
    recorder = Recorder(stop_after=2)
    parameters = {"max_iter": 4, "tol": 0.0, "random_state": 0}
    model = estimator(**parameters).set_callbacks(recorder).fit(X, y)
    assert recorder.events == epochs(2)
    assert model.n_iter_ == len(model.loss_curve_) == 2
    parameters |= {"max_iter": 2, "tol": None}
    assert_array_equal(model.coef_, estimator(**parameters).fit(X, y).coef_)


@all_estimators
def test_callbacks_end_when_a_fit_fails(estimator):
    X, y = data(estimator)
    recorder = Recorder()
    model = estimator(**FEW_EPOCHS).set_callbacks(recorder)
    before = vars(model).copy()
    broken = X.copy()
    broken[-1, -1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(broken, y)
    assert recorder.events.count("setup") == recorder.events.count("teardown")
    assert vars(model) == before
    recorder.events.clear()
    model.fit(X, y)
    assert recorder.events == epochs(3)
    recorder.events.clear()
    model.partial_fit(X, y)
    assert recorder.events == []
