"""How `fit` ends: standardised targets, patience, the best epoch, held-out rows."""

from copy import deepcopy
from itertools import count

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from support.comparisons import assert_identical, learned
from support.registry import WITH_EPOCHS, algorithms, has
from support.sums import linear

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.models.model import Chunk

REGRESSORS = [e for e in WITH_EPOCHS if not is_classifier(e())]
STANDARDIZING = [e for e in REGRESSORS if has(e, "center")]
HELD_OUT = "validation_loss_curve_"


def rows(n=120, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def noisy(estimator, X):
    """Labels or targets of which a good part says nothing."""
    noise = np.random.default_rng(1).normal(size=len(X))
    if is_classifier(estimator):
        return (X[:, 0] + noise > 0).astype(int)
    return linear(X, np.arange(X.shape[1])) + noise


def stopping(**parameters):
    return ScInOLClassifier(early_stopping=True, random_state=0, **parameters)


# Targets far from zero.

# Adam's rate is that of each value of a row: its best one is far lower.
BASELINES = sorted({*algorithms(BaselineRegressor)} - {"adam"})


@pytest.mark.cases(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [regressor() for regressor in REGRESSORS] + [*map(BaselineRegressor, BASELINES)],
    ids=str,
)
def test_target_far_from_zero(model):
    X = rows(150, 10)
    y = linear(X, np.arange(1.0, X.shape[1] + 1.0))
    y = 200_000.0 + 50_000.0 * y / y.std()
    model = clone(model).set_params(random_state=0)
    assert model.fit(X, y).score(X, y) >= 0.98


@pytest.mark.parametrize("regressor", STANDARDIZING)
@pytest.mark.parametrize(
    ("center", "container"),
    [
        ("auto", np.array),
        ("auto", sparse.csr_array),
        (True, np.array),
        (False, np.array),
    ],
)
def test_standardised_where_centred(regressor, center, container):
    if regressor().standardize_target is True:
        pytest.skip("It always does.")
    X, y = container(rows()), 5.0 + rows(d=1)[:, 0]
    expected = center is True or (center == "auto" and container is np.array)
    model = regressor(center=center).partial_fit(X, y)
    other = regressor(center=center, standardize_target=expected)
    assert_identical(learned(model), learned(other.partial_fit(X, y)))
    assert (model._model.target is not None) == expected


def test_large_epsilon_needs_units():
    X, y = rows(), rows(d=1)[:, 0]
    huge, raw = (
        ScInOLRegressor("huber", epsilon=1e50, center=c) for c in (True, False)
    )
    huge.partial_fit(X, y)
    for model, given in (raw, X), (raw, sparse.csr_array(X)):
        with pytest.raises(ValueError, match="unless the target is standardised"):
            model.partial_fit(given, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_kernels_have_targets_as_they_are(kernel):
    X, y = rows(), rows(d=1)[:, 0]
    model = BaselineRegressor("kernel_gd", kernel=kernel, center="auto")
    model.partial_fit(X, y)
    assert hasattr(model, "regret_bound") == (kernel == "rbf")


# The best epoch.


@pytest.mark.cases(3)
@pytest.mark.parametrize("estimator", WITH_EPOCHS)
@pytest.mark.parametrize("early_stopping", [False, True])
def test_best_epoch_is_kept(estimator, early_stopping):
    X = rows(80)
    y = noisy(estimator(), X)
    parameters = {"tol": 1e-2, "max_iter": 200, "n_iter_no_change": 5}
    parameters |= {"early_stopping": early_stopping, "random_state": 0}
    model = estimator(**parameters).fit(X, y)
    curve = getattr(model, HELD_OUT) if early_stopping else model.loss_curve_
    assert model.n_iter_ == len(curve) == len(model.loss_curve_) < 200
    best = assert_like_best_epoch(model, X, y, curve)
    fraction = model.validation_fraction if early_stopping else 0.0
    n_held_out = round(80 * fraction)
    assert model.n_samples_seen_ == best * (80 - n_held_out) + n_held_out
    model.set_params(early_stopping=False, tol=None, max_iter=1).fit(X, y)
    assert not hasattr(model, HELD_OUT)


def assert_like_best_epoch(model, X, y, curve):
    best = int(np.argmin(curve)) + 1
    expected = clone(model).set_params(tol=None, max_iter=best).fit(X, y)
    ends, best_ends = ({**learned(each), HELD_OUT: None} for each in (model, expected))
    assert_identical(ends, best_ends)
    return best


@pytest.mark.parametrize("early_stopping", [False, True])
def test_patience(early_stopping):
    X = rows()
    model = ScInOLClassifier(tol=0.01, random_state=0, early_stopping=early_stopping)
    five = clone(model).fit(X, noisy(model, X))
    one = model.set_params(n_iter_no_change=1).fit(X, noisy(model, X))
    assert five.n_iter_no_change == 5
    assert one.n_iter_ + 4 <= five.n_iter_
    assert five.loss_curve_[: one.n_iter_] == one.loss_curve_


def test_warm_start_goes_on_from_the_best_epoch():
    X = rows(60, 20)
    model = stopping(warm_start=True)
    seen = model.fit(X, noisy(model, X)).n_samples_seen_
    best = int(np.argmin(model.fit(X, noisy(model, X)).validation_loss_curve_)) + 1
    assert model.n_samples_seen_ == seen + best * 54 + 6


def test_sparse_rows_of_many_features():
    """Only what the rows touch is taken back."""
    X = sparse.random(60, 5000, density=1e-3, format="csr", random_state=0)
    model = stopping().fit(X, np.arange(60) % 2)
    assert_like_best_epoch(model, X, np.arange(60) % 2, model.validation_loss_curve_)


# Rows that are held out.


def test_held_out_rows_are_stratified_and_have_weight():
    y, c = np.repeat([0, 1, 2], [700, 200, 100]), np.arange(1000) % 2.0
    chunk = Chunk(np.zeros((1000, 1)), y, c)
    training, held_out = stopping()._hold_out(chunk, np.random.RandomState(0))
    assert_array_equal(np.bincount(y[held_out]), [35, 10, 5])
    assert c[held_out].all()
    assert_array_equal(np.sort([*training, *held_out]), np.arange(1000))


@pytest.mark.parametrize("classifier", [ScInOLClassifier, HedgeClassifier])
def test_held_out_loss(classifier):
    """It is the estimator's own, with weights, of what it says before it learns."""
    X = rows()
    y, c = noisy(classifier(), X), np.random.default_rng(3).exponential(size=120)
    parameters = {"max_iter": 1, "tol": None, "shuffle": False, "random_state": 0}
    model = classifier(early_stopping=True, **parameters).fit(X, y, c)
    training, held_out = model._hold_out(Chunk(X, y, c), np.random.RandomState(0))
    other = classifier().partial_fit(X[training], y[training], [0, 1], c[training])
    p = other.predict_proba(X[held_out])
    expected = log_loss(y[held_out], p, sample_weight=c[held_out])
    assert_allclose(model.validation_loss_curve_, [expected])
    other.partial_fit(X[held_out], y[held_out], sample_weight=c[held_out])
    assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert model.cumulative_loss_ == other.cumulative_loss_
    assert model.loss_curve_ == other.loss_curve_[:1]


def test_held_out_rows_of_a_kernel_matrix():
    X = rows(60)
    y, parameters = noisy(ScInOLClassifier(), X), {"random_state": 0, "tol": 0.01}
    other = BaselineClassifier("kernel_gd", early_stopping=True, **parameters)
    model = clone(other).set_params(kernel="precomputed")
    kernel = rbf_kernel(X, gamma=1 / (X.shape[1] * X.var()))  # gamma="scale"
    model.fit(kernel, y)
    other.set_params(kernel="rbf").fit(X, y)
    assert_allclose(model.validation_loss_curve_, other.validation_loss_curve_)
    assert_allclose(model.decision_function(kernel), other.decision_function(X))


@pytest.mark.parametrize(
    ("estimator", "y", "reason"),
    [
        (ScInOLClassifier, np.repeat([0, 1], [11, 1]), "only 1 member"),
        (ScInOLClassifier, np.arange(12), "only 1 member"),
        (ScInOLClassifier, np.arange(12) % 4, "number of classes = 4"),
        (ScInOLRegressor, np.zeros(1), "n_samples=1"),
    ],
)
def test_too_few_rows_to_hold_out(estimator, y, reason):
    X, model = rows(), estimator(early_stopping=True, random_state=0)
    before = deepcopy(model.fit(X, noisy(model, X)))
    with pytest.raises(ValueError, match=rf"^Cannot hold out .*{reason}"):
        model.fit(X[: len(y)], y)
    assert_identical(vars(model), vars(before))


@pytest.mark.parametrize("warm_start", [False, True])
def test_a_fit_that_fails_changes_nothing(warm_start, monkeypatch):
    X = rows()
    model = stopping(warm_start=warm_start)
    before = deepcopy(model.fit(X, noisy(model, X)))
    mean_loss, n_calls = type(model._model).mean_loss, count(1)

    def fails_at_the_third(*arguments):
        if next(n_calls) == 3:
            raise KeyboardInterrupt
        return mean_loss(*arguments)

    monkeypatch.setattr(type(model._model), "mean_loss", fails_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, noisy(model, X))
    assert_identical(vars(model), vars(before))


@pytest.mark.parametrize("estimator", [ScInOLRegressor, HedgeRegressor])
def test_a_loss_of_zero_is_not_improved(estimator):
    model = estimator(n_iter_no_change=2).fit(rows(60), np.zeros(60))
    assert model.n_iter_ == 3


# Mixtures.


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("parameters", "n_rows", "holds_out"),
    [
        ({}, 50, True),
        ({}, 49, False),
        ({"validation_fraction": 0.5}, 20, True),
        ({"tol": None, "max_iter": 3}, 50, False),
        ({"early_stopping": False}, 50, False),
        ({"early_stopping": True, "tol": None, "max_iter": 3}, 20, True),
    ],
)
@pytest.mark.parametrize("estimator", [HedgeClassifier, HedgeRegressor])
def test_when_mixtures_hold_out_rows(estimator, parameters, n_rows, holds_out):
    X = rows(n_rows)
    model = estimator(random_state=0, n_iter_no_change=1, **parameters)
    y = noisy(model, X)
    assert hasattr(model.fit(X, y), HELD_OUT) == holds_out


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_mixtures_hold_out_no_class_of_a_single_row():
    X, y = rows(), np.r_[np.zeros(60), np.ones(59), 2]
    assert not hasattr(HedgeClassifier(max_iter=2).fit(X, y), HELD_OUT)
    assert not hasattr(HedgeClassifier(max_iter=1).fit(X, y % 2), HELD_OUT)


@pytest.mark.thorough
@pytest.mark.parametrize("estimator", [HedgeClassifier, HedgeRegressor])
def test_weights_learn_new_rows_only(estimator):
    """Seen before: weights of the experts that remember best what they have learned."""
    X = rows(60)
    y = noisy(estimator(), X)

    def fit(**parameters):
        # Bins of an additive expert are placed by all rows if there are epochs.
        options = {"shuffle": False, "random_state": 0, "exclude": "additive"}
        return estimator(**options, **parameters).fit(X, y)

    one, three = (fit(max_iter=n, tol=None, early_stopping=False) for n in (1, 3))
    for name in "weights_", "expert_losses_", "regret_bound_":
        assert_array_equal(getattr(three, name), getattr(one, name))
    for actual, expected in zip(three.weights_curve_, one.weights_curve_, strict=True):
        assert_array_equal(actual, expected)
    assert three.n_samples_seen_ == 180
    # The experts learn, as they do alone.
    alone = clone(three.estimators_[0]).set_params(max_iter=3, tol=None, shuffle=False)
    assert_allclose(three.estimators_[0].coef_, alone.fit(X, y).coef_)
    stopped = fit()
    points, _ = stopped.weights_curve_
    assert points[-1] == 60
    assert np.diff(points).min() > 0
    assert np.abs(stopped.weights_ - fit(early_stopping=False).weights_).max() > 1e-3
    for model in three, stopped:
        model._check_state()
