"""What is special to the competitors."""

import copy
import pickle
import tracemalloc
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from support.sums import linear

from sklearn_scinol import config_context
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.evaluation import progressive_validation

WITHOUT_RATE = {"cocob", "k17", "freegrad", "coin", "code"}
BOUNDED = ["coin", "freegrad", "k17"]
ADAPTIVE = ["adagrad", "adam", "cocob", "nag", "sfmd", *BOUNDED]

#: The published algorithms.
regressor = partial(BaselineRegressor, center=False)

estimators = pytest.mark.parametrize(
    "estimator", [BaselineClassifier, regressor], ids=["classifier", "regressor"]
)
adaptive = pytest.mark.parametrize("algorithm", ADAPTIVE)


def rows(n_samples=60, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    return X, linear(X, rng.standard_normal(n_features)) + 0.3 * rng.standard_normal(
        n_samples
    )


def targets(estimator, y):
    return (y > 0).astype(int) if estimator is BaselineClassifier else y


def charged(model, X, y, **keywords):
    """Learn; what the algorithm was charged for."""
    if is_classifier(model):
        keywords |= {"classes": [0, 1], "method": "decision_function"}
    return model.partial_fit_predict(X, y, **keywords)


@estimators
def test_sgd_is_ogd_without_a_ball(estimator, engine):
    X, y = rows()
    y = targets(estimator, y)
    sgd, ogd = estimator("sgd", learning_rate=0.2), estimator("ogd", learning_rate=0.2)
    assert_array_equal(charged(sgd, X, y), charged(ogd, X, y))
    assert sgd.regret_bound(np.ones(4)) == ogd.regret_bound(np.ones(4))


@estimators
def test_normalizer_is_a_factor_of_the_rate(estimator, engine):
    """The root of the number of coordinates, the intercept's included."""
    X, y = rows()
    y = targets(estimator, y)
    for fit_intercept, d in (True, 5), (False, 4):
        options = {"fit_intercept": fit_intercept}
        mean = estimator("nag", learning_rate=0.1, normalizer="mean", **options)
        rate = 0.1 * np.sqrt(d)
        literal = estimator("nag", learning_rate=rate, normalizer="sum", **options)
        assert_allclose(charged(mean, X, y), charged(literal, X, y), rtol=1e-10)
        assert_array_equal(
            charged(estimator("nag", learning_rate=rate, **options), X, y),
            charged(copy.deepcopy(literal).__class__(**literal.get_params()), X, y),
        )


@estimators
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_cocob_does_not_mind_the_unit_of_the_loss(estimator, container, engine):
    X, y = rows()
    X, y = container(X), targets(estimator, y)
    plain = charged(estimator("cocob"), X, y)
    for unit in 2.0**-8, 2.0**100:
        weight = np.full(len(y), unit)
        assert_array_equal(
            charged(estimator("cocob"), X, y, sample_weight=weight), plain
        )


@estimators
@pytest.mark.parametrize("algorithm", sorted(WITHOUT_RATE))
def test_algorithms_without_a_rate(estimator, algorithm, engine):
    X, y = rows()
    y = targets(estimator, y)
    fast, slow = (estimator(algorithm, learning_rate=rate) for rate in (1.0, 1e-3))
    assert_array_equal(charged(fast, X, y), charged(slow, X, y))


@pytest.mark.parametrize("algorithm", sorted(set(ADAPTIVE) - WITHOUT_RATE))
def test_algorithms_with_a_rate(algorithm, engine):
    X, y = rows()
    fast, slow = (regressor(algorithm, learning_rate=r) for r in (1.0, 1e-3))
    assert np.abs(charged(fast, X, y)).sum() > 10 * np.abs(charged(slow, X, y)).sum()


def test_adam_moves_where_features_are_zero(engine):
    """Of the others a coordinate rests as long as its feature is 0."""
    X = np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    for algorithm in ADAPTIVE:
        for container in np.array, sparse.csr_array:
            model = regressor(algorithm, fit_intercept=False)
            model.partial_fit(container(X[:1]), [3.0])
            before = model.coef_[1]
            model.partial_fit(container(X[1:]), [5.0, 7.0])
            rests = algorithm != "adam"
            if algorithm == "k17":  # whose weights are a multiple of 1 / t
                before *= 2 / 4
                assert_allclose(model.coef_[1], before, rtol=1e-12)
            else:
                assert (model.coef_[1] == before) == rests
            assert model.coef_[0] != before


@pytest.mark.thorough
def test_sparse_rows_of_adam_are_made_dense_a_block_at_a_time():
    """All of them at once would take 120 MB."""
    X = sparse.random(300, 50_000, density=1e-4, format="csr", random_state=0)
    y = np.arange(300) % 2
    model = BaselineClassifier("adam").partial_fit(X[:2], y[:2], classes=[0, 1])
    tracemalloc.start()
    model.partial_fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40e6


@estimators
def test_unusable_combinations(estimator, engine):
    X, y = rows()
    y = targets(estimator, y)
    squared = "squared_hinge" if estimator is BaselineClassifier else "squared_error"
    for model, words in [
        *(
            (
                estimator(algorithm, loss=squared),
                f"loss='{squared}' is not supported with algorithm='{algorithm}'",
            )
            for algorithm in BOUNDED
        ),
        *(
            (
                estimator(algorithm, radius=1.0),
                f"radius must be None with algorithm='{algorithm}'",
            )
            for algorithm in ["sgd", *ADAPTIVE]
        ),
        *(
            (
                estimator(algorithm, kernel="rbf"),
                f"kernel must be 'linear' with algorithm='{algorithm}'",
            )
            for algorithm in ["sgd", *ADAPTIVE]
        ),
        (estimator("nag", normalizer="max"), "The 'normalizer' parameter of"),
        (estimator("adam", learning_rate=0.0), "The 'learning_rate' parameter of"),
        (estimator("rmsprop"), "The 'algorithm' parameter of"),
    ]:
        before = pickle.dumps(vars(model))
        with pytest.raises(ValueError, match=words):
            model.fit(X, y)
        with pytest.raises(ValueError, match=words):
            charged(model, X, y)
        assert pickle.dumps(vars(model)) == before


@estimators
def test_regret_bound_only_where_one_is_known(estimator, engine):
    X, y = rows()
    y = targets(estimator, y)
    for algorithm in "sgd", "ogd", "adaogd", "kernel_gd", *ADAPTIVE:
        model = estimator(algorithm)
        assert hasattr(model, "regret_bound") == (algorithm not in ADAPTIVE)
        charged(model, X, y)
        assert hasattr(model, "regret_bound") == (algorithm not in ADAPTIVE)
    assert not hasattr(estimator("rmsprop"), "regret_bound")


@adaptive
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_extreme_features(algorithm, container, engine):
    """Either too large, in scikit-learn's words, or harmless."""
    _, y = rows(12, 3)
    for value in (5e-324, 1e-200, 1e-100, 1e100, 1e155, 1e200, 1e300, -1.7e308):
        X, _ = rows(12, 3)
        X[3:, 0] = np.sign(X[3:, 0]) * value
        X[5, 0] = 0.0
        model = regressor(algorithm, learning_rate=0.1).partial_fit(X[:3], y[:3])
        before = pickle.dumps(vars(model))
        try:
            predictions = charged(model, container(X[3:]), y[3:])
        except ValueError as refusal:
            assert "Input X contains a value that is too large" in str(refusal)
            assert pickle.dumps(vars(model)) == before
            assert abs(value) > 1e100
            assert not model._model.traits.scale_invariant
        else:
            assert np.isfinite(predictions).all()
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.cumulative_loss_)


@pytest.mark.cases(3)
@adaptive
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
@pytest.mark.parametrize("size", [1e-100, 1e-50, 1.0])
def test_always_wrong(algorithm, container, size, engine):
    """In the same direction, so that wealth grows as fast as it can."""
    X = size * np.ones((1000, 2))
    model = regressor(algorithm)
    predictions = charged(model, container(X), np.full(1000, 1e100))
    assert np.isfinite(predictions).all()
    assert np.isfinite(model.coef_).all()
    assert (np.diff(predictions[:500]) >= 0).mean() > 0.9


@pytest.mark.parametrize("algorithm", ["nag", "sfmd", "k17", "freegrad", "coin"])
def test_rows_of_zeros_first(algorithm, engine):
    """Where no feature has been seen there is nothing to divide by."""
    X, y = rows()
    model = regressor(algorithm, fit_intercept=False)
    assert_array_equal(charged(model, np.zeros((5, 4)), y[:5]), 0.0)
    later = charged(model, X, y)
    assert np.isfinite(later).all()
    assert later[1:].any()


@pytest.mark.cases(3)
@pytest.mark.parametrize("algorithm", ["sgd", *ADAPTIVE])
def test_learns(algorithm):
    """Better than no features on rows that it passes a few times over."""
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), scale(y)
    rates = {"sfmd": 3.0, "adam": 0.01, "sgd": 0.3, "nag": 0.5}
    model = regressor(
        algorithm, learning_rate=rates.get(algorithm, 0.1), max_iter=20, tol=None
    )
    model.set_params(random_state=0).fit(X, y)
    constant = np.abs(y - np.median(y)).mean()
    assert np.abs(y - model.predict(X)).mean() < 0.8 * constant


@pytest.mark.cases(3)
@pytest.mark.parametrize("algorithm", ["adagrad", "adam", "nag", "sfmd"])
def test_in_grid_search_and_progressive_validation(algorithm):
    X, y = load_iris(return_X_y=True)
    X, order = scale(X), np.random.default_rng(0).permutation(150)
    with config_context(engine="numpy"):
        search = GridSearchCV(
            make_pipeline(BaselineClassifier(algorithm, max_iter=5, tol=None)),
            {"baselineclassifier__learning_rate": [1e-6, 0.3]},
            cv=3,
        ).fit(X, y)
        assert search.best_params_ == {"baselineclassifier__learning_rate": 0.3}
        result = progressive_validation(
            BaselineClassifier(algorithm, learning_rate=0.3),
            [(X[rows], y[rows]) for rows in np.array_split(order, 5)],
            metrics="accuracy",
            classes=[0, 1, 2],
        )
    assert result.scores["accuracy"] > 0.6
