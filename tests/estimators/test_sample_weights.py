"""Sample weights: how learners and predictions take them."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from support.comparisons import assert_close, assert_identical
from support.invariances import weights
from support.naive import Weights, relative_to_means
from support.registry import LAYOUTS, REPRESENTATIVES, as_linear, name_of, thinned

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    MondrianForestClassifier,
    OnlineKNeighborsClassifier,
    OnlineNewtonClassifier,
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
    merge_models,
)
from sklearn_scinol.baselines import BaselineClassifier
from sklearn_scinol.models.weights import WeightScale

# Of all layouts, and standardised.
LINEAR = [case for case in REPRESENTATIVES if case.has("center")]
numpy_only = pytest.mark.parametrize("engine", ["numpy"], indirect=True)
# Predictions are those of `coef_` for all rows within the values seen.
WITHIN_VALUES = [
    case for case in LINEAR if case.algorithm not in ("k17", "dfeg", "adaftrl")
]


def streamed(case, layout, factor, scale=False):
    """What an estimator says and knows after rows whose weights have a factor."""
    X, y = case.data()
    new, _ = case.data(seed=3)
    c = factor * weights(len(y), seed=2)
    estimator = case.make(center=layout.center, scale=scale)
    charged = case.charged(estimator, layout.container(X), y, sample_weight=c)
    known = [
        charged,
        case.decision(estimator, layout.container(30.0 * new)),
        estimator.coef_,
        estimator.intercept_,
        estimator.cumulative_loss_ / factor,
    ]
    if hasattr(estimator, "regret_bound"):
        coef = np.ones(estimator.coef_.shape)
        known.append(estimator.regret_bound(coef) / factor)
    return known


@pytest.mark.cases(20)
@thinned(LINEAR, layout=LAYOUTS, scale=[False, True])
def test_a_factor_of_all_weights(case, layout, scale, engine):
    plain = streamed(case, layout, 1.0, scale)
    for exponent in -100, 20:
        of_power = streamed(case, layout, 2.0**exponent, scale)
        assert_identical(of_power, plain)
    for factor in 1e-6, 1 / 178, 1e6:
        others = streamed(case, layout, factor, scale)
        for other, one in zip(others, plain, strict=True):
            assert_close(other, one, 1e-9)


@thinned(WITHIN_VALUES, layout=LAYOUTS, first=[1e-3, 1.0, 1e3])
def test_coefficients_predict_rows_within_the_values_seen(case, layout, first, engine):
    """Also those that came with the smallest weights."""
    X, y = case.data()
    rng = np.random.default_rng(5)
    c = 10.0 ** rng.uniform(-3.0, 3.0, size=len(y))
    c[0] = first
    linear = as_linear(case.estimator)
    estimator = case._replace(average=0).make(center=layout.center, **linear)
    case.partial_fit(estimator, layout.container(X), y, sample_weight=c)
    within = X * rng.uniform(-1.0, 1.0, size=X.shape)
    if layout.center:  # distances from the mean were smaller before it came to rest
        within = X.mean(axis=0) + 0.01 * (within - X.mean(axis=0))
    coef = estimator.coef_.reshape(case.n_outputs, -1)
    expected = within @ coef.T + estimator.intercept_
    assert_close(case.decision(estimator, layout.container(within)), expected, 1e-9)


@thinned(LINEAR, layout=LAYOUTS)
def test_rows_of_weight_zero_are_predicted_as_new_rows(case, layout, engine):
    """What is said of a row before each of others, and what would have been said."""
    c = np.random.default_rng(6).choice([0.01, 1.0, 30.0], size=40)
    X, y = case.data()
    X = layout.container(X)
    estimator = case.make(center=layout.center)
    said, expected = [], []
    for r in range(11):
        row = slice(r, r + 1)
        case.partial_fit(estimator, X[row], y[row], sample_weight=c[row])
        expected.append(case.decision(estimator, X[-1:]))
        said.append(case.charged(estimator, X[-1:], y[-1:], sample_weight=[0.0]))
    assert_close(np.array(said), np.array(expected), 1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("estimator", [HedgeClassifier, HedgeRegressor])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_mixtures(estimator, container, engine):
    X, c = np.random.default_rng(0).normal(size=(60, 4)), weights(60)
    y, X = (X[:, 0] > 0).astype(int), container(X)
    classes = {"classes": [0, 1]} if estimator is HedgeClassifier else {}
    decide = "decision_function" if classes else "predict"
    plain = estimator().partial_fit(X, y, sample_weight=c, **classes)
    for factor in 2.0**-30, 1e-6, 1 / 60, 1e6:
        other = estimator().partial_fit(X, y, sample_weight=factor * c, **classes)
        assert_close(getattr(other, decide)(X), getattr(plain, decide)(X), 1e-9)
        assert_allclose(other.weights_, plain.weights_, rtol=1e-9)
        assert_allclose(other.cumulative_loss_, factor * plain.cumulative_loss_)


# Weights out of range.


@pytest.mark.cases(3)
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
@pytest.mark.parametrize("weight", [5e-324, 9.9e-51, 1.01e50, 1e308])
@pytest.mark.parametrize("estimator", [ScInOLRegressor, HedgeRegressor])
def test_weights_out_of_range(weight, container, estimator, engine):
    X, y = container(np.random.default_rng(0).normal(size=(20, 3))), np.ones(20)
    c = np.where(np.arange(20) == 7, weight, 1.0)
    model = estimator()
    for _ in "fresh", "fitted":
        unchanged = copy.deepcopy(model)
        with pytest.raises(ValueError, match=r"must be 0 or between 1e-50 and 1e\+50"):
            model.partial_fit(X, y, sample_weight=c)
        assert_identical(vars(model), vars(unchanged))
        model.partial_fit(X, y)


@pytest.mark.parametrize("ends", [(1e-50, 1e50), (1e50, 1e-50)])
def test_weights_at_the_ends_of_the_range(ends, engine):
    """Also after one another."""
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.ones(20)
    plain, model = ScInOLRegressor().partial_fit(X, y), ScInOLRegressor()
    model.partial_fit(X, y, sample_weight=np.full(20, ends[0]))
    assert model.n_samples_seen_ == 20
    assert_close(model.predict(X), plain.predict(X), 1e-9)
    model.partial_fit(X, y, sample_weight=np.full(20, ends[1]))
    model._check_state()
    assert np.isfinite(model.predict(X)).all()


def mean_log_loss(model, X, y, c):
    """Mean log loss of predictions before each row, without weights."""
    keywords = {"classes": np.unique(y), "method": "predict_proba"}
    p = model.partial_fit_predict(X, y, sample_weight=c, **keywords)
    return -np.log(np.maximum(p[np.arange(len(y)), y], 1e-15)).mean()


def shuffled(load, n=300):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:n]
    return X[order], y[order]


@numpy_only
@pytest.mark.parametrize(
    ("model", "load"),
    [
        (ScInOLClassifier(), load_digits),
        *(
            (model, load_breast_cancer)
            for model in (
                ScInOLClassifier(),
                ScInOLClassifier("log_loss", algorithm="scinol1"),
                OnlineNewtonClassifier(),
                MondrianForestClassifier(3, random_state=0),
                OnlineKNeighborsClassifier(),
                BaselineClassifier("freegrad"),
                BaselineClassifier("nag"),
            )
        ),
    ],
    ids=name_of,
)
def test_the_first_weight_sets_no_prior(model, load, engine):
    """Nor does a heavy row, whose features, centred at a mean it moved, are small."""
    X, y = shuffled(load)
    equal = mean_log_loss(copy.deepcopy(model), X, y, np.ones(len(y)))
    heavy = [(0, 0.01), (0, 100.0)] + [(5, 100.0)] * (load is load_digits)
    for place, weight in heavy:
        c = np.where(np.arange(len(y)) == place, weight, 1.0)
        assert mean_log_loss(copy.deepcopy(model), X, y, c) < 1.5 * equal


@numpy_only
def test_balanced_forests_do_not_depend_on_the_first_class(engine):
    rng = np.random.default_rng(3)
    y = np.where(rng.random(1000) < 0.01, 1, 0)
    X = rng.normal(size=(1000, 3)) + 2.0 * y[:, np.newaxis]
    c = np.where(y == 1, 0.5 / y.mean(), 0.5 / (1.0 - y.mean()))
    losses = []
    for of_class in 0, 1:
        first = np.flatnonzero(y == of_class)[:1]
        order = np.append(first, np.delete(np.arange(1000), first))
        model = MondrianForestClassifier(3, random_state=0)
        losses.append(mean_log_loss(model, X[order], y[order], c[order]))
    assert max(losses) < 1.5 * min(losses)


@pytest.mark.cases(20)
@pytest.mark.parametrize("seed", range(20))
def test_weights_in_all_units(seed):
    """Against plain sums; chunks and single rows to the last bit."""
    rng = np.random.default_rng(seed)
    c = 10.0 ** rng.uniform(-3, 3, size=40)
    c[: rng.integers(10)] = c[0]
    c[rng.random(40) < 0.2] = 0.0
    whole, learned = WeightScale().relative(c), c > 0.0
    assert_array_equal(whole.relative[learned], c[learned] / c[learned][0])
    means = relative_to_means(c)[learned]
    assert_allclose(whole.to_mean[learned], means, rtol=1e-13)

    scale, reference, priors = WeightScale(), Weights(), []
    for r, c_r in enumerate(c):
        part = scale.relative(c[r : r + 1])
        assert_array_equal(np.concatenate(part), scale.relative_of_one(float(c_r)))
        assert_array_equal([each[0] for each in part[:-1]], [a[r] for a in whole[:-1]])
        scale.learned(part)
        if c_r > 0.0:
            reference.learned(c_r)
        priors.append(scale.priors)
        assert priors[-1] == reference.units_of_wealth()
    assert_array_equal(scale.numbers, whole.after)
    changes = np.flatnonzero(np.diff(np.array(priors)[learned, 1]))
    n_same = WeightScale().count_of_one_prior(c)
    assert n_same == np.flatnonzero(learned)[changes[0] + 1]


@pytest.mark.parametrize("algorithm", ["scinol1", "scinol2"])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_chunks_where_weights_begin_to_differ(algorithm, container, engine):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.integers(2, size=60)
    X[rng.random(X.shape) < 0.4] = 0.0
    c = np.append(np.ones(30), rng.exponential(size=30))
    whole, parts, rows = (
        ScInOLClassifier(algorithm=algorithm, center=False) for _ in range(3)
    )
    whole.partial_fit(container(X), y, classes=[0, 1], sample_weight=c)
    for part in np.split(np.arange(60), [1, 29, 32, 33]):
        keywords = {"classes": [0, 1], "sample_weight": c[part]}
        parts.partial_fit(container(X[part]), y[part], **keywords)
    assert_identical(parts._model, whole._model)
    if container is np.array:
        single = rows.row_by_row(classes=[0, 1])
        for row in zip(X, y, c, strict=True):
            single.learn_one(*row)
        assert_identical(rows._model, whole._model)


@pytest.mark.parametrize("algorithm", ["scinol1", "scinol2"])
@pytest.mark.parametrize("weight", [1e-17, 1e-40])
def test_a_first_weight_far_above_all_others(algorithm, weight):
    """Wealth in the unit of the first row must not cancel."""
    options = {"fit_intercept": False, "standardize_target": False}
    model = ScInOLRegressor(algorithm=algorithm, center=False, **options)
    X, y, c = np.ones((2000, 1)), np.ones(2000), np.full(2000, weight)
    X[0], y[0], c[0] = weight, 0.0, 1.0
    with config_context(engine="numpy"):
        model.partial_fit(X, y, sample_weight=c)
    model._check_state()
    regret = model.cumulative_loss_  # of the weight 1, after a first row of target 0
    assert regret <= model.regret_bound([1.0]) * (1 + 1e-9)
    assert model.predict([[1.0]]) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("algorithm", ["scinol1", "scinol2"])
def test_merged_models_of_one_row_each(algorithm):
    """The next row is not the second one of a stream."""
    models = [
        ScInOLRegressor(algorithm=algorithm).partial_fit(
            [[x, 1.0 - x]], [y], sample_weight=[c]
        )
        for x, y, c in ((0.3, 1.0, 1.0), (0.7, -2.0, 30.0), (0.1, 3.0, 8.0))
    ]
    merged = merge_models(models)
    merged.partial_fit([[0.5, 0.2]], [1.0], sample_weight=[1e-3])
    merged._check_state()
