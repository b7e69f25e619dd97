"""Models that learned different parts of a stream, merged."""

from copy import deepcopy
from functools import partial
from itertools import chain

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from support.comparisons import assert_identical
from support.registry import (
    CASES,
    LAYOUTS,
    REPRESENTATIVES,
    SCALED_LAYOUTS,
    seeds,
    thinned,
)
from support.sums import linear

from sklearn_scinol import (
    AdaImplicitClassifier,
    DFEGClassifier,
    HedgeClassifier,
    HedgeRegressor,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    merge_models,
)
from sklearn_scinol.baselines import BaselineRegressor
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineScaler

CONTAINERS = [np.array, sparse.csr_array]
AS_GIVEN = {"center": False, "scale": False, "standardize_target": False}


def learned(estimator, X, y, sizes, c=None, **classes):
    """Copies of an estimator, each of which has learned a part, of the rows in turn."""
    models = []
    for rows in np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]):
        weights = {} if c is None else {"sample_weight": c[rows]}
        models.append(
            deepcopy(estimator).partial_fit(X[rows], y[rows], **weights, **classes)
        )
    return models


def assert_mean(merged, models, shares, rtol, atol=0.0):
    for name in "coef_", "intercept_":
        means = [getattr(model, name) for model in models]
        expected = np.average(means, axis=0, weights=shares)
        assert_allclose(getattr(merged, name), expected, rtol=rtol, atol=atol)


def stays_where_it_was(case, center):
    """Whether the mean of weights is as good as any in the place where weights are."""
    # A ball is one around the mean of the rows, which is another for each model.
    return not (center and (case.radius is not None or case.traits.in_ball))


@thinned(CASES, layout=[*LAYOUTS, *SCALED_LAYOUTS])
def test_weights_are_means(case, layout, engine):
    # States of these hold weights up to a limit, which their mean may exceed.
    has_limit = case.algorithm in ("scinol1", "sfmd")
    X, y = case.data(42, seed=0 if has_limit else None)
    center, scale, container = layout.center, layout.scale, layout.container
    estimator, sizes = case.make(center=center, scale=scale), [20, 12, 10]
    models = learned(estimator, container(X), y, sizes, **case.classes())
    before = deepcopy(models)
    merged = merge_models(models)
    merged._check_state()
    assert_identical([*map(vars, models)], [*map(vars, before)])
    assert merged.n_samples_seen_ == 42
    losses = [model.cumulative_loss_ for model in models]
    assert merged.cumulative_loss_ == pytest.approx(sum(losses))
    curves = [model.loss_curve_ for model in models]
    assert merged.loss_curve_ == [*chain.from_iterable(curves)]
    assert not hasattr(merged, "regret_bound")
    is_exact = not case.traits.by_vector and stays_where_it_was(case, center)
    if hasattr(merged, "coef_") and is_exact and not (scale and case.traits.in_ball):
        assert_mean(merged, models, sizes, 1e-6, 1e-9)
    case.partial_fit(merged, container(X), y)
    merged._check_state()
    assert merged.n_samples_seen_ == 84


@thinned(REPRESENTATIVES, container=CONTAINERS, weighted=[False, True])
def test_a_single_model_goes_on_as_it_would(case, container, weighted, engine):
    X, y = case.data(60)
    c = np.random.default_rng(1).choice([0.5, 1.0, 4.0], 60) if weighted else None
    first, rest = container(X[:40]), container(X[40:])
    model = case.partial_fit(
        case.make(), first, y[:40], sample_weight=c if c is None else c[:40]
    )
    nothing = case.partial_fit(case.make(), first[:2], y[:2], sample_weight=[0.0, 0.0])
    merged = merge_models([model, nothing])
    said = case.decision(model, rest)
    assert_allclose(case.decision(merged, rest), said, rtol=1e-6)
    for each in model, merged:
        case.partial_fit(each, rest, y[40:], sample_weight=c if c is None else c[40:])
    assert_allclose(case.decision(merged, X), case.decision(model, X), rtol=1e-5)
    assert merged.cumulative_loss_ == pytest.approx(model.cumulative_loss_)


@thinned(REPRESENTATIVES, center=[False, True])
def test_order_and_steps_do_not_matter(case, center, engine):
    X, y = case.data(48)
    start = case.partial_fit(case.make(center=center), X[:12], y[:12])
    models = learned(start, X[12:], y[12:], [10, 12, 8, 6], **case.classes())
    a, b, c, d = models
    at_once = merge_models(models, start=start)
    pairs = merge_models([a, b], start=start), merge_models([d, c], start=start)
    by_steps = merge_models(pairs, start=start)
    assert at_once.n_samples_seen_ == by_steps.n_samples_seen_ == 48
    assert by_steps.cumulative_loss_ == pytest.approx(at_once.cumulative_loss_)
    # Weights of DFEG are of a certain size at least.
    if stays_where_it_was(case, center) and case.algorithm != "dfeg":
        said, expected = by_steps.coef_, at_once.coef_
        assert_allclose(said, expected, atol=1e-6 * np.abs(expected).max())
    c = np.resize([0.25, 4.0, 1.0, 1.0, 3.0], 48)
    models = learned(case.make(center=center), X, y, [16, 15, 17], c, **case.classes())
    merged = [merge_models(models), merge_models(models[::-1])]
    if case.traits.has_wealth:
        merged.append(merge_models([merge_models(models[:2]), models[2]]))
    for each in merged[1:]:
        said, expected = case.decision(each, X), case.decision(merged[0], X)
        assert_allclose(said, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.cases(20)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("unit", [2.0**-5, 2.0**300])
@seeds
def test_units_cancel_to_the_last_bit(unit, container, seed):
    """Also those of the first values of each part."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(90, 3)), rng.integers(2, size=90)
    units, said = np.array([1.0, unit, 1.0 / unit]), []
    for rows in container(X), container(X * units):
        models = learned(ScInOLClassifier(), rows, y, [40, 50], classes=[0, 1])
        merged = merge_models(models).partial_fit(rows[:20], y[:20])
        said.append(merged.decision_function(rows))
    assert (said[0] == said[1]).all()
    far = container(np.array([[2.0**300], [2.0**300], [2.0**310], [2.0**310]]))
    plain = ScInOLClassifier(center=False)
    models = learned(plain, far, np.array([0, 1, 1, 1]), [2, 2], classes=[0, 1])
    merged = merge_models(models)
    merged._check_state()
    assert_mean(merged, models, [2, 2], 1e-12)


@pytest.mark.parametrize("algorithm", ["scinol1", "scinol2"])
def test_wealth_is_in_the_unit_of_weights_of_each_model(algorithm):
    """A first row of hardly any weight, which sets the unit, does not matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y, losses = (linear(X, rng.normal(size=5)) > 0.0).astype(int), []
    for first in 1.0, 1e-4:
        c = np.ones(200)
        c[0] = first
        estimator = ScInOLClassifier(algorithm=algorithm)
        merged = merge_models(learned(estimator, X, y, [100, 100], c, classes=[0, 1]))
        before = merged.cumulative_loss_
        losses.append(merged.partial_fit(X[200:], y[200:]).cumulative_loss_ - before)
    assert losses[1] < 1.02 * losses[0]


# What is exact.


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_all_rows(container, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * 10.0 ** np.arange(4) + [0.0, 1e3, 0.0, -5.0]
    X[rng.random(X.shape) < 0.3] = 0.0
    X[:100] += 7.0  # parts that differ
    y = rng.normal(size=300)
    c = rng.choice([0.1, 1.0, 3.0], 300) if weighted else np.ones(300)
    estimator, classes = ScInOLRegressor(scale=True), {}
    if container is not np.array:
        estimator, classes = AdaImplicitClassifier(scale=True), {"classes": [0, 1]}
        y = 1 * (y > 0)
    rows = container(X), y
    models = learned(estimator, *rows, [100, 150, 50], c, **classes)
    (one,) = learned(estimator, *rows, [300], c, **classes)
    merged, one = merge_models(models)._model, one._model
    assert_allclose(
        merged.features.mean_and_variance(),
        one.features.mean_and_variance(),
        rtol=1e-10,
    )
    assert_allclose(merged.features.weight_sum, one.features.weight_sum)
    if merged.target is not None:
        assert_allclose(merged.target.moments, one.target.moments, rtol=1e-10)


@pytest.mark.cases(3)
@pytest.mark.parametrize("n_start", [0, 30])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_least_squares_of_all_rows(n_outputs, weighted, n_start, engine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = linear(X, rng.normal(size=(5, n_outputs))) + rng.normal(size=(200, n_outputs))
    y = y[:, 0] if n_outputs == 1 else y
    c = rng.choice([0.5, 2.0, 4.0], 200) if weighted else np.ones(200)
    start = OnlineNewtonRegressor(**AS_GIVEN, clip_deviations=None)
    one = deepcopy(start).partial_fit(X, y, sample_weight=c)
    if n_start:
        start.partial_fit(X[:n_start], y[:n_start], sample_weight=c[:n_start])
    rest = X[n_start:], y[n_start:], [60, 30, 60, 50 - n_start], c[n_start:]
    merged = merge_models(learned(start, *rest), start=start if n_start else None)
    if weighted:  # each model has learned weights relative to its own mean
        assert_allclose(merged.coef_, one.coef_, atol=0.05)
        return
    assert_allclose(merged.coef_, one.coef_, rtol=1e-10)
    assert_allclose(merged.intercept_, one.intercept_, rtol=1e-9, atol=1e-10)
    covariances = [model._model.coef_covariance() for model in (merged, one)]
    assert_allclose(*covariances, rtol=1e-10)
    for model in merged, one:
        model.partial_fit(X[:50], y[:50])
    assert_allclose(merged.coef_, one.coef_, rtol=1e-10)


@pytest.mark.parametrize("n_start", [0, 20])
def test_newton_steps_where_models_have_seen_one_value(n_start):
    """Its rows stay where they were, in whichever steps models are merged."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) + 5.0
    X[:90, 2] = 7.0
    y = linear(X, np.ones(3)) + rng.normal(size=200)
    start = OnlineNewtonRegressor()
    if n_start:
        start.partial_fit(X[:n_start], y[:n_start])
    a, b, c = models = learned(start, X[n_start:], y[n_start:], [60, 60, 80 - n_start])
    start = start if n_start else None
    by_steps = merge_models([merge_models([a, b], start=start), c], start=start)
    assert_allclose(
        by_steps.predict(X), merge_models(models, start=start).predict(X), rtol=1e-9
    )


# Mixtures, functions of features, kernels.


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("make", "loss"),
    [
        (HedgeClassifier, "log_loss"),
        (HedgeClassifier, "hinge"),
        (HedgeRegressor, "squared_error"),
        (HedgeRegressor, "absolute_error"),
    ],
)
def test_mixture(make, loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] - X[:, 1] ** 2 + 0.3 * rng.normal(size=150)
    y = (y > 0).astype(int) if make is HedgeClassifier else y
    classes = {"classes": [0, 1]} if make is HedgeClassifier else {}
    models = learned(make(loss=loss), X, y, [50, 50, 50], **classes)
    merged = merge_models(models)
    merged._check_state()
    losses = sum(model.expert_losses_ for model in models)
    assert_allclose(merged.expert_losses_, losses)
    for k, expert in enumerate(merged.estimators_):
        alone = merge_models([model.estimators_[k] for model in models])
        assert_identical(expert.predict(X), alone.predict(X))
    assert merged.weights_.sum() == pytest.approx(1.0)
    best = np.argsort(np.mean([model.weights_ for model in models], axis=0))[-1]
    assert merged.weights_[best] > 1 / len(merged.weights_)
    with pytest.raises(AttributeError, match="each of the models"):
        merged.regret_bound()
    assert merged.score(X, y) > min(model.score(X, y) for model in models)
    n_points = len(merged.weights_curve_[0])
    merged.partial_fit(X, y)
    merged._check_state()
    assert merged.n_samples_seen_ == 300
    assert len(merged.weights_curve_[0]) > n_points


def test_weights_of_experts_are_geometric_means():
    rng = np.random.default_rng(0)
    experts = [("a", ScInOLClassifier()), ("b", AdaImplicitClassifier())]
    X, y = rng.normal(size=(30, 2)), rng.integers(2, size=30)
    models = learned(HedgeClassifier(experts), X, y, [20, 10], classes=[0, 1])
    states = [model._model.hedges[0]._state for model in models]
    merged = merge_models(models)._model.hedges[0]
    for name in "of_shares", "of_experts":
        a, b = (np.asarray(getattr(state, name)) for state in states)
        mean = a ** (2 / 3) * b ** (1 / 3)
        mean /= mean.sum(axis=-1, keepdims=True)
        assert_allclose(getattr(merged._state, name), mean)
    assert merged.n_rounds_ == 30
    assert_allclose(merged._state.totals, states[0].totals + states[1].totals)


@pytest.mark.parametrize("n_start", [0, 100])
def test_functions_of_features(n_start, engine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    y, classes = np.abs(X[:, 0]) < 0.7, {"classes": [False, True]}
    start = ScInOLClassifier(additive=True, scale=True)
    if n_start:
        start.partial_fit(X[:n_start], y[:n_start], **classes)
    sizes = [233, 233, 234 - n_start]
    models = learned(start, X[n_start:], y[n_start:], sizes, **classes)
    merged = merge_models(models, start=start if n_start else None)
    merged._check_state()
    said = [model.decision_function(X) for model in models]
    # Where bins are the same, decision functions are means but for what centring does.
    allowed = 0.1 if n_start else 0.5
    distance = merged.decision_function(X) - np.mean(said, axis=0)
    assert np.abs(distance).mean() < allowed * np.abs(said).mean()
    assert merged.score(X, y) >= max(model.score(X, y) for model in models) - 0.02
    merged.partial_fit(X, y)
    merged._check_state()


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("max_support", [None, 30])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("n_start", [0, 20])
def test_kernels(n_start, average, max_support, container, engine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(110, 3))
    y, classes = (X**2).sum(axis=1) > 2, {"classes": [False, True]}
    start = DFEGClassifier(kernel="rbf", average=average, max_support=max_support)
    given = {}
    if n_start:
        start.partial_fit(container(X[:n_start]), y[:n_start], **classes)
        given = {"start": start}
    rest = container(X[n_start:]), y[n_start:], [30, 30, 50 - n_start]
    models = learned(start, *rest, **classes)
    merged = merge_models(models, **given)
    merged._check_state()
    if max_support is not None:
        assert merged._model.n_support <= max_support
    elif not average:
        of_models = sum(model._model.n_support for model in models)
        of_start = 2 * start._model.n_support if n_start else 0
        assert merged._model.n_support == of_models - of_start
    merged.partial_fit(container(X), y)
    merged._check_state()


def test_kernel_expansions_are_means():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    make = BaselineRegressor("kernel_gd", kernel="rbf", learning_rate=0.5)
    models = learned(make, X, y, [40, 20])
    coefs = [model.dual_coef_ for model in models]
    expected = np.hstack([2 / 3 * coefs[0], 1 / 3 * coefs[1]])
    assert_allclose(merge_models(models).dual_coef_, expected, rtol=1e-9)


# Classes.


def test_classes_that_only_some_have_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.array(["a", "b", "c"])[np.argmax(X, axis=1)]
    make = ScInOLClassifier(new_classes="add", class_weight="balanced")
    ab = deepcopy(make).partial_fit(X[y != "c"], y[y != "c"])
    bc = deepcopy(make).partial_fit(X[y != "a"], y[y != "a"])
    merged = merge_models([ab, bc])
    merged._check_state()
    assert merged.classes_.tolist() == ["a", "b", "c"]
    assert ab.classes_.tolist() == ["a", "b"]
    counts = np.array([[*ab._class_counts, 0], [0, *bc._class_counts]])
    assert merged._class_counts.tolist() == counts.sum(axis=0).tolist()
    assert merged.score(X, y) > 0.7
    merged.partial_fit(X, y)
    fixed = [
        ScInOLClassifier().partial_fit(X[:2], ["a", "b"], classes=classes)
        for classes in (["a", "b"], ["a", "b", "c"])
    ]
    with pytest.raises(ValueError, match="new_classes='add'"):
        merge_models(fixed)


# What does not fit together.


def test_refused():
    X, y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    classes = {"classes": y}
    model = ScInOLClassifier().partial_fit(X, y, **classes)
    before, later = deepcopy(model), deepcopy(model).partial_fit(X, y)
    experts = [("ours", ScInOLClassifier()), ("theirs", SGDClassifier())]
    foreign = HedgeClassifier(experts).partial_fit(X, y, **classes)
    precomputed = DFEGClassifier(kernel="precomputed").fit(np.eye(4), [0, 1, 0, 1])
    other, hinge = AdaImplicitClassifier(), ScInOLClassifier("hinge")
    narrow, as_sparse = ScInOLClassifier(), ScInOLClassifier()
    narrow.partial_fit([[0.0]], [0], **classes)
    as_sparse.partial_fit(sparse.csr_array(X), y, **classes)
    for each in other, hinge:
        each.partial_fit(X, y, **classes)
    for models, start, error, words in [
        ([], None, ValueError, "at least one model"),
        ([model, ScInOLClassifier()], None, NotFittedError, "not fitted"),
        ([model, SGDClassifier().fit(X, y)], None, TypeError, "SGDClassifier cannot"),
        ([foreign, deepcopy(foreign)], None, TypeError, "SGDClassifier cannot"),
        ([precomputed, deepcopy(precomputed)], None, ValueError, "precomputed kernels"),
        ([model, other], None, ValueError, "cannot be merged with ScInOLClassifier"),
        ([model, hinge], None, ValueError, "same parameters .* loss differs"),
        ([model, narrow], None, ValueError, "same features"),
        ([model, as_sparse], None, ValueError, "with centred rows cannot be merged"),
        ([model], later, ValueError, "A model is not a copy of `start`"),
    ]:
        with pytest.raises(error, match=words):
            merge_models(models, start=start)
        assert_identical(vars(model), vars(before))
    merge_models([model, later], start=model)
    # Parameters that learn nothing may differ.
    a = HedgeClassifier(n_jobs=1, random_state=0).partial_fit(X, y, **classes)
    b = HedgeClassifier(n_jobs=2, verbose=1).partial_fit(X, y, **classes)
    assert merge_models([a, b]).n_samples_seen_ == 4


@pytest.mark.parametrize(
    "make",
    [
        partial(ScInOLClassifier, "hinge"),
        HedgeClassifier,
        partial(make_online_pipeline, OnlineScaler(), ScInOLClassifier()),
    ],
    ids=["linear", "mixture", "pipeline"],
)
def test_start_that_went_on_learning(make):
    """Its copies have learned more rows, but others."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    start = make().partial_fit(X[:10], y[:10], classes=[0, 1])
    models = [deepcopy(start) for _ in range(2)]
    kept = deepcopy(start)
    models[0].partial_fit(X[10:30], y[10:30])
    for i in range(30, 50):
        models[1].partial_fit(X[i : i + 1], y[i : i + 1])
    start.partial_fit(X[50:], y[50:])
    with pytest.raises(ValueError, match="A model is not a copy of `start`"):
        merge_models(models, start=start)
    assert merge_models(models, start=kept).n_samples_seen_ == 50
    with_same_rows = deepcopy(kept).partial_fit(X[10:30], y[10:30])
    later = deepcopy(with_same_rows).partial_fit(X[30:], y[30:])
    merge_models([with_same_rows, later], start=models[0])
