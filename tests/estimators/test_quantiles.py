"""A list of quantiles: each is learned as if alone, and predictions do not cross."""

import copy
import logging

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDRegressor
from sklearn.metrics import d2_pinball_score, mean_pinball_loss
from sklearn.model_selection import cross_val_score
from support.comparisons import assert_identical
from support.registry import CASES, LAYOUTS, THOROUGH, compiled, thinned
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
OTHERS = [
    OnlineKNeighborsRegressor(loss="quantile"),
    OnlineNewtonRegressor(loss="quantile", random_features=5, random_state=0),
    ScInOLRegressor(loss="quantile", additive=True),
    DFEGRegressor(loss="quantile", kernel="rbf", gamma=0.1, max_support=12),
    BaselineRegressor(
        loss="quantile", algorithm="kernel_gd", kernel="laplacian", average=9
    ),
    HedgeRegressor(loss="quantile"),
    HedgeRegressor(loss="quantile", exclude=["pools"]),
]


def noisy(n=60, seed=0):
    """Rows whose noise depends on a feature, with weights that may be 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[rng.random(X.shape) < 0.3] = 0.0
    y = linear(X, [1.0, -2.0, 0.5]) + (1.0 + np.abs(X[:, 0])) * rng.standard_t(
        3, size=n
    )
    return X, y, rng.choice([0.0, 0.5, 1.0, 2.0], size=n)


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


def test_predictions_do_not_cross():
    X, y, _ = noisy(300)
    model = ScInOLRegressor(loss="quantile", quantile=[0.4, 0.45, 0.5, 0.55])
    predictions = model.partial_fit_predict(X, y)
    raw = model._model.decision(X)
    assert (np.diff(raw, axis=1) < 0.0).any()
    assert (np.diff(predictions, axis=1) >= 0.0).all()
    assert (np.diff(model.predict(X), axis=1) >= 0.0).all()
    sorted_loss, raw_loss = (
        sum(
            mean_pinball_loss(y, of_level, alpha=level)
            for level, of_level in zip(model.quantile, p.T, strict=True)
        )
        for p in (model.predict(X), raw)
    )
    assert sorted_loss < raw_loss


def test_deviations_go_with_their_predictions():
    X, y, _ = noisy(200)
    levels = [0.05, 0.5, 0.95]
    model = OnlineNewtonRegressor(loss="quantile", quantile=levels).partial_fit(X, y)
    singles = [
        OnlineNewtonRegressor(loss="quantile", quantile=level).partial_fit(X, y)
        for level in levels
    ]
    X = 10.0 * X  # far away lines cross
    each = [single.predict(X, return_std=True) for single in singles]
    crosses = False
    for row, predictions, deviations in zip(
        range(len(X)), *model.predict(X, return_std=True), strict=True
    ):
        pairs = [(p[row], deviation[row]) for p, deviation in each]
        crosses |= pairs != sorted(pairs)
        assert_alike(np.column_stack([predictions, deviations]), sorted(pairs))
    assert crosses
    assert model.noise_variance_.shape == (3,)
    assert model.coef_covariance_.shape == (3, 3, 3)


# Epochs, single rows, merging, saving.


def test_fit_learns_each_quantile_for_the_same_epochs():
    X, y, _ = noisy()
    options = {"max_iter": 3, "tol": None, "random_state": 0}
    estimator = AdaImplicitRegressor(loss="quantile", **options)
    model = all_together(estimator).fit(X, y)
    singles = [each.fit(X, y) for each in each_alone(estimator)]
    expected = side_by_side([each.predict(X) for each in singles])
    assert_alike(model.predict(X), expected)
    curves = [each.loss_curve_ for each in singles]
    np.testing.assert_allclose(model.loss_curve_, np.sum(curves, axis=0), rtol=1e-14)
    # With a tolerance, the sum of the losses decides.
    stops = AdaImplicitRegressor(loss="quantile", quantile=LEVELS, early_stopping=True)
    stops.fit(X, y)
    assert stops.n_iter_ < stops.max_iter


@pytest.mark.cases(1)
@compiled
@pytest.mark.parametrize(
    "estimator",
    [
        ScInOLRegressor(loss="quantile"),
        AdaFTRLRegressor(loss="quantile", average=5),
        ScInOLRegressor(loss="quantile", additive=True),
        OnlineKNeighborsRegressor(loss="quantile"),
        HedgeRegressor(loss="quantile"),
        HedgeRegressor([("a", DFEGRegressor()), ("b", ScInOLRegressor(average=True))]),
    ],
)
def test_single_rows_are_learned_alike(estimator, engine):
    is_short = isinstance(estimator, HedgeRegressor) and not THOROUGH
    X, y, c = noisy(40 if is_short else 130)
    by_chunk = all_together(estimator).set_params(loss="quantile")
    by_row = clone(by_chunk)
    rows = by_row.row_by_row()
    for x, target, weight in zip(X, y, c, strict=True):
        if by_row.__sklearn_is_fitted__():
            (expected,) = by_chunk.predict([x])
            np.testing.assert_allclose(rows.predict_one(x), expected, rtol=1e-12)
        (expected,) = by_chunk.partial_fit_predict(
            [x], [target], sample_weight=[weight]
        )
        prediction = rows.predict_learn_one(x, target, weight)
        np.testing.assert_array_equal(prediction, expected)
    assert any(rows._sessions.values())
    assert_identical(by_row, by_chunk)


@pytest.mark.cases(3)
@pytest.mark.parametrize("estimator", [ScInOLRegressor(loss="quantile"), *OTHERS])
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


def test_models_of_other_quantiles_are_not_merged():
    X, y, _ = noisy()
    models = [
        ScInOLRegressor(loss="quantile", quantile=levels).partial_fit(X, y)
        for levels in ([0.1, 0.9], [0.2, 0.9])
    ]
    with pytest.raises(ValueError, match="same parameters can be merged: quantile"):
        merge_models(models)


def test_damaged_lists_of_quantiles_are_found():
    X, y, _ = noisy()

    def damaged(change):
        model = ScInOLRegressor(loss="quantile", quantile=LEVELS).partial_fit(X, y)
        change(model._model)
        with pytest.raises(AssertionError):
            model._check_state()

    def replace(levels):
        damaged(lambda model: setattr(model, "loss", Quantile(levels)))

    replace(np.array(LEVELS[::-1]))
    replace(np.array(LEVELS[:-1]))
    replace(np.array([0.1, 0.5, 1.0]))
    replace(np.array([0.1, 0.5, 0.75], dtype=np.float32))
    replace(np.array([0.1, 0.5, 0.75], dtype=object))


def test_quantiles_pass_through_pipelines():
    X, y, _ = noisy()
    model = ScInOLRegressor(loss="quantile", quantile=LEVELS)
    pipeline = make_online_pipeline(OnlineScaler(), clone(model))
    predictions = pipeline.partial_fit_predict(X, y)
    Z = OnlineScaler().partial_fit_transform(X)
    np.testing.assert_allclose(predictions, model.partial_fit_predict(Z, y))
    assert pipeline.row_by_row().predict_learn_one(X[0], y[0]).shape == (3,)


# Parameters and targets.


@pytest.mark.parametrize(
    "quantile",
    [[], [0.9, 0.1], [0.5, 0.5], [0.0, 0.5], [0.5, 1.0], [[0.1], [0.9]], ["a"], None],
)
def test_other_lists_are_refused(quantile):
    X, y, _ = noisy()
    message = (
        "The 'quantile' parameter of HedgeRegressor must be a float in the range "
        r"\(0.0, 1.0\) or an array-like of strictly increasing numbers"
    )
    with pytest.raises(ValueError, match=message):
        HedgeRegressor(loss="quantile", quantile=quantile).partial_fit(X, y)


def test_a_list_is_a_parameter_like_others():
    X, y, _ = noisy()
    for levels in LEVELS, tuple(LEVELS), np.array(LEVELS):
        model = ScInOLRegressor(loss="quantile", quantile=levels)
        assert model.get_params()["quantile"] is levels
        assert type(clone(model).quantile) is type(levels)
        assert clone(model).partial_fit(X, y).predict(X).shape == (60, 3)
    # The fitted model keeps its list of levels until it is fitted again.
    model.partial_fit(X, y).set_params(quantile=0.5)
    assert model.predict(X).shape == (60, 3)
    one_quantile = clone(model).set_params(quantile=[0.5]).partial_fit(X, y)
    assert one_quantile.predict(X).shape == (60, 1)
    # Other losses have no quantile.
    other = ScInOLRegressor(loss="absolute_error", quantile=LEVELS).partial_fit(X, y)
    assert other.predict(X).shape == (60,)


def test_lists_take_one_target():
    X, y, _ = noisy()
    model = ScInOLRegressor(loss="quantile", quantile=LEVELS)
    with pytest.raises(ValueError, match=r"y should be a 1d array, got .*\(60, 2\)"):
        model.partial_fit(X, np.column_stack([y, y]))
    assert not hasattr(model, "_model")
    assert not model.__sklearn_tags__().target_tags.multi_output
    model.partial_fit(X, y)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match="expected"):
        model.partial_fit(X, np.column_stack([y, y]))
    assert_identical(model, before)


# Attributes.


def test_coefficients_and_bounds_are_of_all_quantiles():
    X, y, _ = noisy()
    for estimator in (
        ScInOLRegressor(loss="quantile", center=False),
        DFEGRegressor(loss="quantile", center=False),
    ):
        model, singles = assert_learns_each_as_alone(estimator, X, y)
        assert_alike(model.coef_, [each.coef_ for each in singles])
        expected = np.concatenate([each.intercept_ for each in singles])
        assert_alike(model.intercept_, expected)
        coef, intercept = np.arange(9.0).reshape(3, 3), np.arange(3.0)
        pairs = zip(singles, coef, intercept, strict=True)
        bounds = [each.regret_bound(w, b) for each, w, b in pairs]
        assert model.regret_bound(coef, intercept) == pytest.approx(sum(bounds))
        with pytest.raises(ValueError, match=r"expected \(3, 3\)"):
            model.regret_bound(coef[0])
    with pytest.raises(AttributeError, match="center=False"):
        all_together(ScInOLRegressor(loss="quantile")).fit(X, y).regret_bound  # noqa: B018


def test_quantiles_have_coefficients_of_the_same_support():
    X, y, _ = noisy()
    estimator = DFEGRegressor(loss="quantile", kernel="rbf", gamma=0.1)
    model, singles = assert_learns_each_as_alone(estimator, X, y)
    for single in singles:
        np.testing.assert_array_equal(model.support_, single.support_)
        np.testing.assert_array_equal(model.support_vectors_, single.support_vectors_)
    assert_alike(model.dual_coef_, np.vstack([each.dual_coef_ for each in singles]))
    assert model.gamma_ == 0.1
    vectors, coef = X[:2], np.ones((3, 2))
    bounds = [each.regret_bound([1.0, 1.0], vectors=vectors) for each in singles]
    assert model.regret_bound(coef, vectors=vectors) == pytest.approx(sum(bounds))


def test_attributes_of_algorithms_have_a_number_for_each_quantile():
    X, y, _ = noisy()
    model, singles = assert_learns_each_as_alone(
        AdaImplicitRegressor(loss="quantile"), X, y
    )
    expected = np.concatenate([each.lambda_ for each in singles])
    assert_alike(model.lambda_, expected)


def test_functions_of_features_are_those_of_each_quantile():
    X, y, _ = noisy(150)
    estimator = ScInOLRegressor(loss="quantile", additive=True)
    model, singles = assert_learns_each_as_alone(estimator, X, y)
    values = np.linspace(-1, 1, 5)
    expected = np.hstack([each._term(0, values) for each in singles])
    assert_alike(model._term(0, values), expected)
    with pytest.raises(AttributeError, match="additive"):
        model.coef_  # noqa: B018


@pytest.mark.thorough
def test_experts_have_weights_for_each_quantile(caplog):
    X, y, _ = noisy()
    estimator = HedgeRegressor(loss="quantile", exclude=["random_features"])
    model, singles = assert_learns_each_as_alone(estimator, X, y)
    for name in "weights_", "pool_weights_", "pool_coef_", "expert_losses_":
        assert_alike(getattr(model, name), [getattr(each, name) for each in singles])
    for name in "weights_curve_", "pool_weights_curve_":
        points, curve = getattr(model, name)
        np.testing.assert_array_equal(points, getattr(singles[0], name)[0])
        expected = np.stack([getattr(each, name)[1] for each in singles], axis=1)
        assert_alike(curve, expected)
    assert model.regret_bound_ == pytest.approx(
        sum(each.regret_bound_ for each in singles)
    )
    assert model.expert_kinds_ == singles[0].expert_kinds_
    for name, expert in model.named_estimators_.items():
        of_singles = [each.named_estimators_[name].predict(X) for each in singles]
        assert_alike(expert.predict(X), side_by_side(of_singles))
        losses = [each.named_estimators_[name].cumulative_loss_ for each in singles]
        assert expert.cumulative_loss_ == pytest.approx(sum(losses), rel=1e-12)
        assert expert.quantile == LEVELS
    with caplog.at_level(logging.INFO, logger="sklearn_scinol"):
        all_together(estimator).partial_fit(X, y)
    assert sum("experts" in message for message in caplog.messages) == 1


def test_coefficients_of_mixtures_are_means_for_each_quantile():
    X, y, _ = noisy()
    experts = [("a", ScInOLRegressor(loss="quantile")), ("b", AdaFTRLRegressor())]
    experts[0][1].set_params(quantile=LEVELS)
    model = HedgeRegressor(experts, loss="quantile", quantile=LEVELS).fit(X, y)
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
    quantiles = ScInOLRegressor(loss="quantile", quantile=LEVELS)
    one_output = SGDRegressor(random_state=0)
    experts = [("a", quantiles), ("b", one_output), ("c", ScInOLRegressor())]
    model = HedgeRegressor(experts, loss="quantile", quantile=LEVELS)
    predictions = model.partial_fit_predict(X, y)
    singles = []
    for level in LEVELS:
        alone = "a", clone(quantiles).set_params(quantile=level)
        single = HedgeRegressor([alone, *experts[1:]], loss="quantile", quantile=level)
        singles.append(single.partial_fit_predict(X, y))
    assert_alike(predictions, side_by_side(singles))
    assert type(model.named_estimators_["b"]) is SGDRegressor
    for other in {"quantile": 0.5}, {"quantile": [0.1, 0.2]}, {"loss": "huber"}:
        wrong = clone(model).set_params(**other)
        with pytest.raises(ValueError, match="estimator 'a' has quantile="):
            wrong.partial_fit(X, y)


def test_pipelines_are_experts_by_their_sorted_quantiles():
    X, y, _ = noisy()
    quantiles = ScInOLRegressor(loss="quantile", quantile=LEVELS)
    pipeline = make_online_pipeline(OnlineScaler(), quantiles)
    experts = [("a", pipeline), ("b", quantiles)]
    model = HedgeRegressor(experts, loss="quantile", quantile=LEVELS).partial_fit(X, y)
    predictions = pipeline.partial_fit_predict(X, y)
    losses = Quantile(np.array(LEVELS)).value(y[:, np.newaxis], predictions)
    assert_alike(model.expert_losses_[:, 0], losses.sum(axis=0))


# Scores.


def test_score_is_the_mean_share_of_pinball_loss_explained():
    X, y, c = noisy()
    model = ScInOLRegressor(loss="quantile", quantile=LEVELS, max_iter=2, tol=None)
    model.fit(X, y)
    pairs = [*zip(LEVELS, model.predict(X).T, strict=True)]
    expected = [d2_pinball_score(y, p, alpha=level) for level, p in pairs]
    assert model.score(X, y) == pytest.approx(np.mean(expected))
    expected = [
        d2_pinball_score(y, p, alpha=level, sample_weight=c) for level, p in pairs
    ]
    assert model.score(X, y, c) == pytest.approx(np.mean(expected))
    assert np.isfinite(cross_val_score(model, X, y)).all()
    single = ScInOLRegressor(loss="quantile").partial_fit(X, y)
    residuals = ((y - single.predict(X)) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert single.score(X, y) == pytest.approx(1.0 - residuals)
