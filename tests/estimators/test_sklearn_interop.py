"""The estimators inside scikit-learn's machinery."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor

all_estimators = pytest.mark.parametrize(
    "estimator", [ScInOLClassifier, ScInOLRegressor]
)
FEW_EPOCHS = {"max_iter": 3, "tol": None, "random_state": 0}


def data(estimator):
    load = load_wine if is_classifier(estimator()) else load_diabetes
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:150]
    return X[order], y[order]


def partial_fit(estimator, X, y, **keywords):
    if is_classifier(estimator):
        keywords["classes"] = [0, 1, 2]
    return estimator.partial_fit(X, y, **keywords)


def score(estimator, X):
    name = "decision_function" if is_classifier(estimator) else "predict"
    return getattr(estimator, name)(X)


# Pipelines and searches.


@all_estimators
def test_pipeline(estimator, engine):
    X, y = data(estimator)
    model = make_pipeline(StandardScaler(), estimator(**FEW_EPOCHS)).fit(X, y)
    alone = estimator(**FEW_EPOCHS).fit(StandardScaler().fit_transform(X), y)
    assert_array_equal(
        model.predict(X), alone.predict(StandardScaler().fit_transform(X))
    )
    # Online centring and scale invariance make the scaler superfluous.
    raw = estimator(**FEW_EPOCHS).fit(X, y)
    assert_allclose(score(raw, X), score(model[-1], model[:-1].transform(X)), rtol=1e-6)


# Estimators made of estimators.


def test_one_versus_rest(engine):
    X, y = data(ScInOLClassifier)
    model = OneVsRestClassifier(ScInOLClassifier(loss="hinge"))
    for rows in (slice(75), slice(75, None)):
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    own = ScInOLClassifier(loss="hinge").partial_fit(X, y, classes=[0, 1, 2])
    assert_allclose(model.decision_function(X), own.decision_function(X), rtol=1e-9)


# Metadata routing.


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@all_estimators
def test_weights_through_a_pipeline(estimator, routing):
    X, y = data(estimator)
    weight = np.random.default_rng(1).exponential(size=150)
    model = estimator(**FEW_EPOCHS).set_fit_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipeline = Pipeline([("scale", scaler), ("learn", model)])
    pipeline.fit(X, y, sample_weight=weight)
    X_scaled = StandardScaler().fit_transform(X)
    alone = estimator(**FEW_EPOCHS).fit(X_scaled, y, sample_weight=weight)
    assert_array_equal(pipeline[-1].coef_, alone.coef_)


def test_weights_and_classes_of_partial_fit(routing):
    X, y = data(ScInOLClassifier)
    Y = np.column_stack([y == 0, y == 1])
    weight = np.random.default_rng(1).exponential(size=150)
    requested = ScInOLClassifier().set_partial_fit_request(
        sample_weight=True, classes=True
    )
    model = MultiOutputClassifier(requested)
    model.partial_fit(X, Y, classes=[[0, 1]] * 2, sample_weight=weight)
    for k in range(2):
        alone = ScInOLClassifier()
        alone.partial_fit(X, Y[:, k], classes=[0, 1], sample_weight=weight)
        assert_array_equal(model.estimators_[k].coef_, alone.coef_)


@all_estimators
def test_requests(estimator, routing):
    made = estimator()
    requests = made.get_metadata_routing()
    assert requests.fit.requests == {"sample_weight": None}
    assert requests.score.requests == {"sample_weight": None}
    expected = {"sample_weight": None}
    if is_classifier(made):
        expected["classes"] = None
    assert requests.partial_fit.requests == expected
    X, y = data(estimator)
    with pytest.raises(ValueError, match="sample_weight"):
        GridSearchCV(made, {}, cv=3).fit(X, y, sample_weight=np.ones(150))


# Callbacks of scikit-learn 1.9.


class Recorder:
    """Keeps what it is told: events, tasks, and what the model of an epoch predicts."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.events = []
        self.inputs = []
        self.models = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.events.append(("begin", context.task_name, context.task_id))
        self.inputs.append((X, y, metadata))
        self.max_subtasks = (context.parent or context).max_subtasks

    def on_fit_task_end(
        self,
        estimator,
        context,
        *,
        X=None,
        y=None,
        metadata=None,
        fitted_estimator=None,
    ):
        self.events.append(("end", context.task_name, context.task_id))
        self.inputs.append((X, y, metadata))
        self.models.append(fitted_estimator)
        return context.parent is not None and context.task_id + 1 == self.stop_after

    def teardown(self, estimator, context):
        self.events.append("teardown")


def epochs(n):
    """The events of a fit of `n` epochs."""
    steps = [
        (event, "epoch", epoch) for epoch in range(n) for event in ("begin", "end")
    ]
    return ["setup", ("begin", "fit", 0), *steps, ("end", "fit", 0), "teardown"]


def named_data(estimator):
    """With labels that are not the numbers 0, 1, ... in which classes are counted."""
    X, y = data(estimator)
    if is_classifier(estimator()):
        y = np.array(["barolo", "grignolino", "barbera"])[y]
    return X, y


@all_estimators
def test_callbacks(estimator, engine):
    """Each epoch is a task, after which the callback has a model that is of use."""
    pytest.importorskip("sklearn.callback")
    X, y = named_data(estimator)
    recorder = Recorder()
    model = estimator(**FEW_EPOCHS).set_callbacks(recorder).fit(X, y)
    assert recorder.events == epochs(3)
    assert recorder.max_subtasks == 3
    for n_epochs, of_epoch in enumerate(recorder.models[:3], start=1):
        expected = estimator(**FEW_EPOCHS).set_params(max_iter=n_epochs).fit(X, y)
        assert_array_equal(score(of_epoch, X), score(expected, X))
        assert of_epoch.score(X, y) == expected.score(X, y)
        assert of_epoch.n_iter_ == n_epochs
        assert of_epoch.loss_curve_ == expected.loss_curve_
        of_epoch.partial_fit(X, y)  # independent of the one that is being fitted
    assert_array_equal(score(model, X), score(estimator(**FEW_EPOCHS).fit(X, y), X))
    names = {"_callback_fit_ctx", "_skl_callbacks_to_teardown"}
    assert not names & vars(model).keys()


@all_estimators
def test_callbacks_see_the_data_as_given(estimator, engine):
    pytest.importorskip("sklearn.callback")
    X, y = named_data(estimator)
    weight = np.random.default_rng(1).exponential(size=150)
    recorder = Recorder()
    model = estimator(**FEW_EPOCHS).set_callbacks(recorder)
    if is_classifier(model):
        model.set_params(class_weight="balanced")
    model.fit(X, y, sample_weight=weight)
    assert len(recorder.inputs) == 8
    for X_told, y_told, metadata in recorder.inputs:
        assert X_told is X
        assert_array_equal(y_told, y)
        assert_array_equal(metadata["sample_weight"], weight)


@all_estimators
def test_callback_that_stops(estimator):
    pytest.importorskip("sklearn.callback")
    X, y = data(estimator)
    recorder = Recorder(stop_after=2)
    # Stopped, not out of epochs: no warning, though `tol` was not reached.
    parameters = {"max_iter": 4, "tol": 0.0, "random_state": 0}
    model = estimator(**parameters).set_callbacks(recorder).fit(X, y)
    assert recorder.events == epochs(2)
    assert model.n_iter_ == len(model.loss_curve_) == 2
    parameters = {"max_iter": 2, "tol": None, "random_state": 0}
    assert_array_equal(model.coef_, estimator(**parameters).fit(X, y).coef_)


@all_estimators
def test_callbacks_end_when_a_fit_fails(estimator):
    pytest.importorskip("sklearn.callback")
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


@all_estimators
def test_no_callbacks_in_partial_fit(estimator):
    pytest.importorskip("sklearn.callback")
    X, y = data(estimator)
    recorder = Recorder()
    partial_fit(estimator().set_callbacks(recorder), X, y)
    assert recorder.events == []
