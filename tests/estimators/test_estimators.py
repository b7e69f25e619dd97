"""The estimators as a user of scikit-learn meets them: fitting, attributes, answers."""

import inspect
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier, SGDRegressor
from support.estimator_checks import with_checks
from support.registry import (
    AVERAGING_ESTIMATORS,
    ESTIMATORS,
    FORESTS,
    ONE_PASS,
    PUBLIC_ESTIMATORS,
    as_given,
    thoroughly,
)
from support.sums import linear

from sklearn_scinol import (
    AdaFTRLClassifier,
    AdaFTRLRegressor,
    AdaImplicitClassifier,
    AdaImplicitRegressor,
    DFEGClassifier,
    DFEGRegressor,
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import BaselineRegressor

CLASSIFIERS = [estimator for estimator in ESTIMATORS if is_classifier(estimator())]
REGRESSORS = [estimator for estimator in ESTIMATORS if estimator not in CLASSIFIERS]

all_estimators = pytest.mark.parametrize("estimator", ESTIMATORS)
classifiers = pytest.mark.parametrize("classifier", CLASSIFIERS)
regressors = pytest.mark.parametrize("regressor", REGRESSORS)


# Where it does not matter how long a model learns.
FEW_EPOCHS = {"max_iter": 2, "tol": None}

# Two epochs will do for most checks; how accurate models are takes some longer.
SHORT = {"n_iter_no_change": 1, "tol": 10.0}
LONGER = {
    AdaFTRLClassifier: {"n_iter_no_change": 1},
    AdaImplicitClassifier: {"n_iter_no_change": 1, "tol": 0.05},
    BaselineRegressor: {"n_iter_no_change": 1, "tol": 0.05},
    DFEGRegressor: {"max_iter": 30, "tol": None},
    **{key: {} for key in ONE_PASS},
    **{key: {"n_estimators": 3} for key in FORESTS},
    OnlineNewtonClassifier: {**SHORT, "max_iter": 2},
    OnlineNewtonRegressor: {**SHORT, "max_iter": 2},
}


def checked(estimator):
    return estimator(**LONGER.get(estimator, SHORT))


OTHER_PARAMETERS = {"algorithm": "scinol1", "center": False, "average": 10, "tol": 0.05}
HUNDRED = {"loss": "squared_error", "radius": 100.0}


def has_bound(estimator):
    """Whether there is a bound with the default parameters, on rows as they are."""
    return hasattr(estimator(**as_given(estimator)), "regret_bound")


@pytest.mark.cases(80)
@with_checks(
    *map(checked, PUBLIC_ESTIMATORS),
    *thoroughly(
        DFEGClassifier(loss="hinge", kernel="rbf", max_support=20, n_iter_no_change=1),
        DFEGRegressor(kernel="precomputed", max_iter=30, tol=None),
        ScInOLClassifier(loss="hinge", **OTHER_PARAMETERS),
        AdaImplicitRegressor(**HUNDRED, max_iter=2000),
        AdaFTRLRegressor(**HUNDRED, center=False),
        ScInOLRegressor(loss="huber", **OTHER_PARAMETERS),
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def rows(n_samples=60, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_samples, n_features)) * 10.0 ** np.arange(n_features)


def labels(X, n_classes=2):
    """Noisy labels 0 .. n_classes - 1, all of which occur."""
    rng = np.random.default_rng(1)
    Z = X / np.abs(X).max(axis=0)
    y = linear(Z, rng.normal(size=(X.shape[1], n_classes))).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return y


def targets(X, n_outputs=None):
    rng = np.random.default_rng(1)
    shape = (X.shape[0],) if n_outputs is None else (X.shape[0], n_outputs)
    coef = rng.normal(size=(X.shape[1], *shape[1:]))
    return linear(X / np.abs(X).max(axis=0), coef) + 0.1 * rng.normal(size=shape)


def data(estimator):
    X = rows()
    return X, labels(X) if is_classifier(estimator()) else targets(X)


def partial_fit(estimator, X, y, **keywords):
    if is_classifier(estimator):
        keywords["classes"] = [0, 1]
    return estimator.partial_fit(X, y, **keywords)


def assert_same_model(actual, expected):
    assert_array_equal(actual.coef_, expected.coef_)
    assert_array_equal(actual.intercept_, expected.intercept_)
    assert actual.t_ == expected.t_
    assert actual.cumulative_loss_ == expected.cumulative_loss_


# Parameters and attributes.


@pytest.mark.parametrize(
    ("estimator", "sgd"),
    [
        *product([ScInOLClassifier, AdaImplicitClassifier], [SGDClassifier]),
        *product([ScInOLRegressor, AdaImplicitRegressor], [SGDRegressor]),
    ],
)
def test_drop_in_for_sgd(estimator, sgd):
    """What both have has the same name, place and default where a default is free."""

    def both(name):
        methods = getattr(estimator, name), getattr(sgd, name)
        return [inspect.signature(method).parameters for method in methods]

    ours, theirs = both("__init__")
    shared = ours.keys() & theirs.keys()
    assert shared >= {"loss", "max_iter", "tol", "shuffle", "average", "warm_start"}
    by_place = [name for name in ours if ours[name].kind.name != "KEYWORD_ONLY"]
    assert by_place == ["self", "loss"]
    for name in shared - {"loss", "max_iter", "tol", "n_iter_no_change"}:
        assert ours[name].default == theirs[name].default
        assert ours[name].kind == theirs[name].kind
    for method in "fit", "partial_fit", "predict", "score":
        ours, theirs = both(method)
        assert [*ours] == [name for name in theirs if not name.endswith("_init")]


@classifiers
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_shapes_of_classifiers(classifier, n_classes, loss, engine):
    X = rows()
    names = np.array(["ham", "spam", "unsure"])[:n_classes]
    y = names[labels(X, n_classes)]
    fitted = classifier(loss=loss, **FEW_EPOCHS).fit(X, y)
    n_outputs = 1 if n_classes == 2 else n_classes
    assert_array_equal(fitted.classes_, names)
    assert fitted.coef_.shape == (n_outputs, 4)
    assert fitted.intercept_.shape == (n_outputs,)
    assert fitted.coef_.dtype == fitted.intercept_.dtype == np.float64
    decision, predicted = fitted.decision_function(X), fitted.predict(X)
    assert decision.shape == ((60,) if n_classes == 2 else (60, n_classes))
    assert predicted.dtype == fitted.classes_.dtype
    chosen = decision > 0 if n_classes == 2 else decision.argmax(axis=1)
    assert_array_equal(predicted, names[chosen.astype(int)])
    assert fitted.score(X, y) == np.mean(predicted == y)
    if loss == "hinge":
        for name in "predict_proba", "predict_log_proba":
            assert hasattr(classifier(), name)
            with pytest.raises(AttributeError, match=name):
                getattr(fitted, name)
            with pytest.raises(AttributeError, match=name):
                fitted.partial_fit_predict(X, y, method=name)


# Fitting.


@pytest.mark.cases(1)
@all_estimators
def test_tol(estimator):
    """Fit ends at the first epoch that is not better by `tol`, on the same path."""
    X, y = (part[:30] for part in data(estimator))

    def fit(tol, max_iter=110):
        return estimator(tol=tol, max_iter=max_iter, random_state=0).fit(X, y)

    whole_curve = fit(None).loss_curve_
    tolerant, strict = fit(1e-1), fit(5e-2)
    for fitted in (tolerant, strict):
        assert fitted.loss_curve_ == whole_curve[: fitted.n_iter_]
    assert 1 < tolerant.n_iter_ <= strict.n_iter_ < len(whole_curve) == 110
    with pytest.warns(ConvergenceWarning, match="Maximum number of iteration"):
        fit(1e-1, max_iter=tolerant.n_iter_ - 1)
    # Converged in the last epoch allowed, or no convergence asked for: no warning.
    fit(1e-1, max_iter=tolerant.n_iter_)
    fit(None, max_iter=1)


@pytest.mark.cases(3)
@all_estimators
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_shuffling(estimator, container, engine):
    """A new order in each epoch, in which weights follow their rows."""
    X, y = data(estimator)
    X, c = container(X), np.random.default_rng(2).exponential(size=60)

    def fit(random_state, **parameters):
        given = {"max_iter": 3, "tol": None, "random_state": random_state}
        return estimator(**given, **parameters).fit(X, y, sample_weight=c)

    assert_same_model(fit(0), fit(0))
    assert_same_model(fit(0), fit(np.random.RandomState(0)))
    assert np.any(fit(0).coef_ != fit(1).coef_)
    in_order = fit(0, shuffle=False)
    assert_same_model(in_order, fit(1, shuffle=False))
    assert np.any(in_order.coef_ != fit(0).coef_)
    generator = np.random.RandomState(0)
    streamed = estimator()
    for _ in range(3):
        order = generator.permutation(60)
        partial_fit(streamed, X[order], y[order], sample_weight=c[order])
    assert_same_model(streamed, fit(0))


@all_estimators
def test_scalar_and_integer_weights(estimator, engine):
    X, y = data(estimator)
    expected = partial_fit(estimator(), X, y, sample_weight=np.full(60, 2.0))
    for weight in (2, [2] * 60, np.full(60, 2, dtype=np.int8)):
        same = partial_fit(estimator(), X, y, sample_weight=weight)
        assert_same_model(same, expected)
    fitted = partial_fit(estimator(), X, y, sample_weight=np.arange(60) % 3)
    assert fitted.n_samples_seen_ == 40
    assert fitted.t_ == 41.0
    assert fitted.loss_curve_ == [pytest.approx(fitted.cumulative_loss_ / 60)]


# Classification.


@classifiers
@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "predict"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_partial_fit_predict_answers_like_the_method(
    classifier, method, n_classes, engine
):
    X = rows()
    y = np.array(["no", "yes", "perhaps"])[labels(X, n_classes)]
    estimator = classifier()
    answers = estimator.partial_fit_predict(X, y, classes=np.unique(y), method=method)
    same = getattr(estimator, method)(X)
    assert answers.shape == same.shape
    assert answers.dtype == same.dtype
    # The first row is predicted by a model that has learned nothing.
    nothing = {"predict_proba": pytest.approx(1 / n_classes), "decision_function": 0.0}
    assert all(each == nothing.get(method, "no") for each in np.ravel(answers[0]))
    # Classes may be passed again, in any order.
    estimator.partial_fit(X, y, classes=np.unique(y)[::-1])


@classifiers
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_weight_is_sample_weight(classifier, n_classes, loss, weighted, engine):
    X = rows(30)
    y = labels(X, n_classes)
    c = np.random.default_rng(2).exponential(size=30) if weighted else None
    parameters = {"loss": loss, "random_state": 0, **FEW_EPOCHS}
    class_weight = {0: 0.5, 1: 3.0}  # a class that is not named weighs 1
    by_class = classifier(**parameters, class_weight=class_weight)
    by_class.fit(X, y, sample_weight=c)
    both = np.array([0.5, 3.0, 1.0])[y] * (1.0 if c is None else c)
    by_row = classifier(**parameters).fit(X, y, sample_weight=both)
    for _ in range(2):
        assert_same_model(by_class, by_row)
        by_class.partial_fit(X, y, sample_weight=c)
        by_row.partial_fit(X, y, sample_weight=both)


def test_more_classes_than_a_byte_counts():
    X, y = rows(280), np.arange(280)
    estimator = ScInOLClassifier().partial_fit(X[-20:], y[-20:], classes=y)
    assert np.isfinite(estimator.coef_).all()
    assert estimator.predict(X).max() > 255


@pytest.mark.parametrize("estimator", AVERAGING_ESTIMATORS)
def test_ways_to_ask_for_averaging(estimator, engine):
    true, one, false, late = (
        partial_fit(estimator(average=average), *data(estimator))
        for average in (True, 1, False, 1000)
    )
    assert_same_model(true, one)
    assert_allclose(late.coef_, false.coef_, rtol=1e-12)  # not yet
    assert np.any(true.coef_ != false.coef_)


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.parametrize("dtype", ["boolean", "bool", "Int64", "category"])
@pytest.mark.parametrize("as_table", [False, True])
def test_labels_of_pandas_types(dtype, as_table):
    """They come back as NumPy's booleans and integers, not as floats."""
    pd = pytest.importorskip("pandas")
    values = np.array([1, 2, 1] if dtype == "Int64" else [True, False, True])
    y = pd.Series(values, dtype=dtype)
    y = y.to_frame() if as_table else y
    model = ScInOLClassifier(new_classes="add").partial_fit(np.eye(3), y)
    for classes in ScInOLClassifier().fit(np.eye(3), y).classes_, model.classes_:
        assert classes.dtype == values.dtype
        assert_array_equal(classes, np.unique(values))


# Regret bounds; tests/learners/test_regret_bounds.py has what they promise.


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if has_bound(e)])
def test_comparators(estimator):
    X, y = data(estimator)
    parameters = as_given(estimator) | FEW_EPOCHS
    model = estimator(**parameters).fit(X, y)
    assert not np.isnan(model.regret_bound(model.coef_, model.intercept_))
    for coef in (np.ones(3), np.ones((2, 4))):
        with pytest.raises(ValueError, match=r"coef.shape == .*, expected \(1, 4\)"):
            model.regret_bound(coef)
    with pytest.raises(ValueError, match=r"intercept.shape == .*, expected \(1,\)"):
        model.regret_bound(np.ones(4), np.ones((1, 1, 1)))
    several = labels(X, 3) if is_classifier(model) else targets(X, 3)
    several = clone(model).fit(X, several)
    assert not np.isnan(several.regret_bound(several.coef_, several.intercept_))
    without = estimator(fit_intercept=False, **parameters).fit(X, y)
    assert not np.isnan(without.regret_bound(np.ones(4)))
    with pytest.raises(ValueError, match="intercept must be 0"):
        without.regret_bound(np.ones(4), 1.0)
    for value in np.nan, np.inf:
        with pytest.raises(ValueError, match=r"Input coef contains (NaN|infinity)"):
            without.regret_bound(np.full(4, value))
