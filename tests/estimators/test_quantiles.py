"""A list of quantiles: each is learned as if alone, and predictions do not cross."""

import copy
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDRegressor
from sklearn.metrics import d2_pinball_score, mean_pinball_loss, r2_score
from sklearn.model_selection import cross_val_score
from support.comparisons import assert_identical
from support.registry import CASES, LAYOUTS, thinned
from support.sums import linear

from sklearn_scinol import (
    AdaFTRLRegressor,
    AdaImplicitRegressor,
    DFEGRegressor,
    HedgeRegressor,
    OnlineKNeighborsRegressor,
    OnlineNewtonRegressor,
    ScInOLRegressor,
    merge_models,
)
from sklearn_scinol.baselines import BaselineRegressor
from sklearn_scinol.losses import Quantile
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineScaler

LEVELS = [0.1, 0.5, 0.75]

OF_QUANTILE = [case for case in CASES if case.loss == "quantile"]
OF_QUANTILE += [
    case._replace(average=15)
    for case in OF_QUANTILE
    if case.averages and case.radius is None
]

#: Estimators that are not linear, or of more than one learner.
LOSS = {"loss": "quantile"}
OTHERS = [
    OnlineKNeighborsRegressor(**LOSS),
    OnlineNewtonRegressor(**LOSS, random_features=5, random_state=0),
    ScInOLRegressor(**LOSS, additive=True),
    DFEGRegressor(**LOSS, kernel="rbf", gamma=0.1, max_support=12),
    BaselineRegressor(**LOSS, algorithm="kernel_gd", kernel="laplacian", average=9),
    HedgeRegressor(**LOSS),
    HedgeRegressor(**LOSS, exclude=["pools"]),
]


def noisy(n=60, seed=0):
    """Rows whose noise depends on a feature, with weights that may be 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[rng.random(X.shape) < 0.3] = 0.0
    noise = (1.0 + np.abs(X[:, 0])) * rng.standard_t(3, size=n)
    return X, linear(X, [1.0, -2.0, 0.5]) + noise, rng.choice([0.0, 0.5, 1.0, 2.0], n)


def each_alone(estimator):
    return [clone(estimator).set_params(quantile=level) for level in LEVELS]


def all_together(estimator):
    return clone(estimator).set_params(quantile=LEVELS)


def side_by_side(predictions):
    return np.sort(np.column_stack(predictions), axis=1)


def assert_alike(found, expected):
    """Compare up to rounding: the order of sums depends on the number of outputs."""
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def assert_learns_each_as_alone(estimator, X, y, c=None):
    """Learn in two chunks; compare with estimators of one quantile."""
    model, singles = all_together(estimator), each_alone(estimator)
    for rows in slice(None, 25), slice(25, None):
        stream = X[rows], y[rows]
        weights = {"sample_weight": None if c is None else c[rows]}
        predictions = model.partial_fit_predict(*stream, **weights)
        expected = [each.partial_fit_predict(*stream, **weights) for each in singles]
        assert_alike(predictions, side_by_side(expected))
    of_models = [each._model.decision(X)[:, 0] for each in singles]
    assert_alike(model._model.decision(X), np.column_stack(of_models))
    assert_alike(model.predict(X), side_by_side(of_models))
    losses = [each.cumulative_loss_ for each in singles]
    assert model.cumulative_loss_ == pytest.approx(sum(losses), rel=1e-12)
    assert model.n_samples_seen_ == singles[0].n_samples_seen_
    model._check_state()
    return model, singles


@pytest.mark.cases(6)
@thinned(OF_QUANTILE, layout=LAYOUTS, standardize_target=[False, True])
def test_each_quantile_is_learned_as_if_alone(case, layout, standardize_target, engine):
    X, y = case.data(60)
    parameters = {"center": layout.center, "scale": layout.scale}
    if case.has("standardize_target"):
        parameters["standardize_target"] = standardize_target
    c = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 3.0], size=len(y))
    assert_learns_each_as_alone(case.make(**parameters), layout.container(X), y, c)


@pytest.mark.cases(3)
@pytest.mark.parametrize("estimator", OTHERS)
def test_other_estimators_learn_each_quantile_as_if_alone(estimator):
    assert_learns_each_as_alone(estimator, *noisy())


# Crossing.


def pinball_loss(y, predictions, levels, loss=mean_pinball_loss):
    pairs = zip(levels, predictions.T, strict=True)
    return [loss(y, p, alpha=level) for level, p in pairs]


def test_predictions_do_not_cross():
    X, y, _ = noisy(300)
    levels = [0.4, 0.45, 0.5, 0.55]
    model = ScInOLRegressor("quantile", quantile=levels)
    predictions = model.partial_fit_predict(X, y)
    raw, said = model._model.decision(X), model.predict(X)
    assert (np.diff(raw, axis=1) < 0.0).any()
    assert (np.diff(predictions, axis=1) >= 0.0).all()
    assert (np.diff(said, axis=1) >= 0.0).all()
    assert sum(pinball_loss(y, said, levels)) < sum(pinball_loss(y, raw, levels))


def test_deviations_go_with_their_predictions():
    X, y, _ = noisy(200)
    estimator = OnlineNewtonRegressor(**LOSS)
    model = all_together(estimator).partial_fit(X, y)
    X = 10.0 * X  # far away lines cross
    each = [single.partial_fit(X / 10.0, y) for single in each_alone(estimator)]
    each = np.array([single.predict(X, return_std=True) for single in each])
    crosses = False
    said = np.stack(model.predict(X, return_std=True), axis=-1)
    for row, pairs in enumerate(each.transpose(2, 0, 1)):
        expected = pairs[np.argsort(pairs[:, 0])]
        crosses |= (pairs != expected).any()
        assert_alike(said[row], expected)
    assert crosses
    assert model.noise_variance_.shape == (3,)
    assert model.coef_covariance_.shape == (3, 3, 3)


# Epochs, single rows, merging, saving.


def test_fit_learns_each_quantile_for_the_same_epochs():
    X, y, _ = noisy()
    options = {"max_iter": 3, "tol": None, "random_state": 0}
    estimator = AdaImplicitRegressor(**LOSS, **options)
    model = all_together(estimator).fit(X, y)
    singles = [each.fit(X, y) for each in each_alone(estimator)]
    assert_alike(model.predict(X), side_by_side([each.predict(X) for each in singles]))
    assert_alike(model.loss_curve_, sum(np.array(each.loss_curve_) for each in singles))
    # With a tolerance, the sum of the losses decides.
    stops = all_together(AdaImplicitRegressor(**LOSS, early_stopping=True)).fit(X, y)
    assert stops.n_iter_ < stops.max_iter


@pytest.mark.cases(3)
@pytest.mark.parametrize("estimator", [ScInOLRegressor(**LOSS), *OTHERS])
def test_merged_quantiles_are_the_quantiles_of_merged_models(estimator):
    X, y, _ = noisy()
    parts = slice(0, 25), slice(25, 60)

    def merged(model):
        start = model.partial_fit(X[:20], y[:20])
        models = [copy.deepcopy(start).partial_fit(X[p], y[p]) for p in parts]
        return merge_models(models, start=start)

    model = merged(all_together(estimator))
    expected = side_by_side([merged(e).predict(X) for e in each_alone(estimator)])
    assert_alike(model.predict(X), expected)
    model.partial_fit(X, y)._check_state()
    other = clone(model).set_params(quantile=[0.2, 0.9]).partial_fit(X, y)
    with pytest.raises(ValueError, match="same parameters can be merged: quantile"):
        merge_models([model, other])


# Parameters and targets.


@pytest.mark.parametrize(
    "quantile",
    [[], [0.9, 0.1], [0.5, 0.5], [0.0, 0.5], [0.5, 1.0], [[0.1], [0.9]], ["a"], None],
)
def test_other_lists_are_refused(quantile):
    X, y, _ = noisy()
    words = "The 'quantile' parameter of HedgeRegressor must be .* strictly increasing"
    with pytest.raises(ValueError, match=words):
        HedgeRegressor(**LOSS, quantile=quantile).partial_fit(X, y)


@pytest.mark.cases(12)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
@pytest.mark.parametrize("levels", [LEVELS[::-1], LEVELS[:-1], [0.1, 0.5, 1.0], LEVELS])
def test_damaged_lists_of_quantiles_are_found(levels, dtype):
    X, y, _ = noisy()
    model = ScInOLRegressor(**LOSS, quantile=LEVELS).partial_fit(X, y)
    model._model.loss = Quantile(np.array(levels, dtype=dtype))
    if levels is not LEVELS or dtype is not np.float64:
        with pytest.raises(AssertionError):
            model._check_state()


def test_a_list_is_a_parameter_like_others():
    X, y, _ = noisy()
    for levels in LEVELS, tuple(LEVELS), np.array(LEVELS):
        model = ScInOLRegressor(**LOSS, quantile=levels)
        assert model.get_params()["quantile"] is levels
        assert type(clone(model).quantile) is type(levels)
        assert clone(model).partial_fit(X, y).predict(X).shape == (60, 3)
    # The fitted model keeps its list of levels until it is fitted again.
    model.partial_fit(X, y).set_params(quantile=0.5)
    assert model.predict(X).shape == (60, 3)
    one_quantile = clone(model).set_params(quantile=[0.5]).partial_fit(X, y)
    assert one_quantile.predict(X).shape == (60, 1)
    other = clone(model).set_params(loss="absolute_error", quantile=LEVELS)
    assert other.partial_fit(X, y).predict(X).shape == (60,)


def test_lists_take_one_target():
    X, y, _ = noisy()
    model = ScInOLRegressor(**LOSS, quantile=LEVELS)
    assert not model.__sklearn_tags__().target_tags.multi_output
    for words in r"y should be a 1d array, got .*\(60, 2\)", "expected":
        before = copy.deepcopy(model)
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X, np.column_stack([y, y]))
        assert_identical(vars(model), vars(before))
        model.partial_fit(X, y)


# Attributes.


#: Estimators, and attributes that have a row or number for each quantile.
WITH_ATTRIBUTES = [
    (ScInOLRegressor(**LOSS, center=False), ["coef_", "intercept_"]),
    (DFEGRegressor(**LOSS, center=False), ["coef_", "intercept_"]),
    (DFEGRegressor(**LOSS, kernel="rbf", gamma=0.1), ["dual_coef_"]),
    (AdaImplicitRegressor(**LOSS), ["lambda_"]),
]


@pytest.mark.parametrize(("estimator", "names"), WITH_ATTRIBUTES)
def test_attributes_are_of_all_quantiles(estimator, names):
    X, y, _ = noisy()
    model, singles = assert_learns_each_as_alone(estimator, X, y)
    for name in names:
        expected = np.array([getattr(each, name) for each in singles])
        assert_alike(getattr(model, name), expected.reshape(getattr(model, name).shape))
    if names == ["dual_coef_"]:
        for name in "support_", "support_vectors_":
            assert_identical(getattr(model, name), getattr(singles[0], name))
        vectors, coef = X[:2], np.ones((3, 2))
        bounds = [each.regret_bound(coef[0], vectors=vectors) for each in singles]
        assert model.regret_bound(coef, vectors=vectors) == pytest.approx(sum(bounds))
    elif hasattr(model, "regret_bound"):
        coef, intercept = np.arange(9.0).reshape(3, 3), np.arange(3.0)
        pairs = zip(singles, coef, intercept, strict=True)
        bounds = [each.regret_bound(w, b) for each, w, b in pairs]
        assert model.regret_bound(coef, intercept) == pytest.approx(sum(bounds))
        with pytest.raises(ValueError, match=r"expected \(3, 3\)"):
            model.regret_bound(coef[0])


def test_coefficients_of_mixtures_are_means_for_each_quantile():
    X, y, _ = noisy()
    experts = [("a", all_together(ScInOLRegressor(**LOSS))), ("b", AdaFTRLRegressor())]
    model = all_together(HedgeRegressor(experts, loss="quantile")).fit(X, y)
    of_list, of_one = (each.coef_ for each in model.estimators_)
    assert (of_list.shape, of_one.shape) == ((3, 3), (3,))
    weights = model._model.weights_in_mean
    expected = weights[:, :1] * of_list + weights[:, 1:] * of_one
    np.testing.assert_allclose(model.coef_, expected)
    of_list, of_one = (each.intercept_ for each in model.estimators_)
    expected = weights[:, 0] * of_list + weights[:, 1] * of_one
    expected += model._model.part_of_targets
    np.testing.assert_allclose(model.intercept_, expected)


def test_given_experts_have_the_quantiles_of_the_mixture():
    X, y, _ = noisy()
    quantiles = ScInOLRegressor(**LOSS, quantile=LEVELS)
    one_output = SGDRegressor(random_state=0)
    experts = [("a", quantiles), ("b", one_output), ("c", ScInOLRegressor())]
    model = HedgeRegressor(experts, **LOSS, quantile=LEVELS)
    predictions = model.partial_fit_predict(X, y)
    singles = [
        clone(model).set_params(a__quantile=level, quantile=level) for level in LEVELS
    ]
    expected = [single.partial_fit_predict(X, y) for single in singles]
    assert_alike(predictions, side_by_side(expected))
    assert type(model.named_estimators_["b"]) is SGDRegressor
    for other in {"quantile": 0.5}, {"quantile": [0.1, 0.2]}, {"loss": "huber"}:
        wrong = clone(model).set_params(**other)
        with pytest.raises(ValueError, match="estimator 'a' has quantile="):
            wrong.partial_fit(X, y)


def test_pipelines_are_experts_by_their_sorted_quantiles():
    X, y, _ = noisy()
    quantiles = ScInOLRegressor(**LOSS, quantile=LEVELS)
    pipeline = make_online_pipeline(OnlineScaler(), quantiles)
    experts = [("a", pipeline), ("b", quantiles)]
    model = HedgeRegressor(experts, **LOSS, quantile=LEVELS).partial_fit(X, y)
    predictions = pipeline.partial_fit_predict(X, y)
    losses = Quantile(np.array(LEVELS)).value(y[:, np.newaxis], predictions)
    assert_alike(model.expert_losses_[:, 0], losses.sum(axis=0))
    assert pipeline.row_by_row().predict_learn_one(X[0], y[0]).shape == (3,)


# Scores.


def test_score_is_the_mean_share_of_pinball_loss_explained():
    X, y, c = noisy()
    model = ScInOLRegressor(**LOSS, quantile=LEVELS, max_iter=2, tol=None).fit(X, y)
    for weights in None, c:
        loss = partial(d2_pinball_score, sample_weight=weights)
        expected = np.mean(pinball_loss(y, model.predict(X), LEVELS, loss))
        assert model.score(X, y, weights) == pytest.approx(expected)
    assert np.isfinite(cross_val_score(model, X, y)).all()
    single = ScInOLRegressor(**LOSS).partial_fit(X, y)
    assert single.score(X, y) == pytest.approx(r2_score(y, single.predict(X)))
