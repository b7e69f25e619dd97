"""The best model in hindsight, and the regret against it along a stream."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, QuantileRegressor
from sklearn.svm import LinearSVC
from support.sums import linear

from sklearn_scinol import (
    AdaImplicitClassifier,
    AdaImplicitRegressor,
    HedgeClassifier,
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
)
from sklearn_scinol.evaluation import (
    Comparator,
    RegretCurveDisplay,
    best_comparator,
    minimum,
    regret_curve,
    temporal_variability,
)
from sklearn_scinol.losses import CLASSIFICATION, REGRESSION, CrossEntropy

LOSS_NAMES = [*CLASSIFICATION, *REGRESSION]
every_loss = pytest.mark.parametrize("loss", LOSS_NAMES)
UNITS = 10.0 ** np.array([-80, 80, 0, 3, -3])


def noisy(loss, n=80, n_outputs=1):
    """Rows, and targets that no model predicts without loss."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X[:, 2] += 3.0
    decision = linear(X, rng.normal(size=(5, n_outputs))) + 3 * rng.normal(
        size=(n, n_outputs)
    )
    decision -= np.median(decision, axis=0)
    if loss in REGRESSION:
        return X, 10 + decision if n_outputs > 1 else 10 + decision[:, 0]
    return X, decision.argmax(axis=1) if n_outputs > 1 else 1 * (decision[:, 0] > 0)


def of_zero(X, y, loss):
    """Loss of always predicting 0: that of a model in next to no ball."""
    return best_comparator(X, y, loss=loss, radius=1e-300).total_loss


@pytest.mark.cases(4)
@pytest.mark.parametrize("radius", [None, 0.5])
@pytest.mark.parametrize("n_outputs", [1, 3])
@every_loss
def test_nothing_is_better(loss, n_outputs, radius):
    """The gap is small, and holds: no other model found has a smaller loss."""
    X, y = noisy(loss, n_outputs=n_outputs)
    best = best_comparator(X, y, loss=loss, radius=radius)
    assert best.coef.shape == (n_outputs, 5)
    assert best.gap <= 2e-6 * of_zero(X, y, loss)
    assert best.total_loss < 0.999 * of_zero(X, y, loss)
    weights = np.column_stack([best.coef, best.intercept])
    assert_allclose(best.total_loss, total_loss(X, y, loss, weights), rtol=1e-12)
    norms = np.linalg.norm(weights, axis=1)
    if radius is not None:
        assert (norms <= radius).all()
        assert norms.max() > 0.99 * radius
    rng = np.random.default_rng(1)
    for size in 1e-4, 1e-2, 1.0:
        other = weights + size * rng.normal(size=weights.shape)
        if radius is not None:
            norms = np.linalg.norm(other, axis=1, keepdims=True)
            other *= np.minimum(1, radius / norms)
        total = total_loss(X, y, loss, other)
        assert total >= best.total_loss - best.gap
        assert total > best.total_loss or size < 1


def total_loss(X, y, name, weights):
    """Weights have the intercept last; an output is a class or a target."""
    P = X @ weights[:, :-1].T + weights[:, -1]
    if name in REGRESSION:
        return REGRESSION[name]().value(y.reshape(P.shape), P).sum()
    if name == "log_loss" and P.shape[1] > 1:
        return CrossEntropy().value(y, P).sum()
    classes = [1] if P.shape[1] == 1 else range(P.shape[1])
    signs = np.where(y[:, np.newaxis] == classes, 1.0, -1.0)
    return CLASSIFICATION[name]().value(signs, P).sum()


def test_same_as_others():
    """Models of scikit-learn that minimise the same."""
    X, y = noisy("squared_error")
    others = LinearRegression().fit(X, y)
    best = best_comparator(X, y, loss="squared_error")
    assert_allclose(best.coef[0], others.coef_, rtol=1e-6)
    assert_allclose(best.intercept, others.intercept_, rtol=1e-6)

    other = QuantileRegressor(quantile=0.8, alpha=0).fit(X, y)
    best = best_comparator(X, y, loss="quantile", quantile=0.8)
    assert_allclose(best.coef[0], other.coef_, rtol=1e-6)

    for n_outputs in 1, 3:
        X, y = noisy("log_loss", n_outputs=n_outputs)
        other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, y)
        best = best_comparator(X, y, loss="log_loss")
        P, Q = X @ best.coef.T, X @ other.coef_.T
        spread = P - P.mean(axis=1, keepdims=True) if n_outputs > 1 else P
        assert_allclose(spread, Q, atol=1e-3)

    X, y = noisy("hinge")
    best = best_comparator(X, y, loss="squared_hinge")
    other = LinearSVC(C=1e6, dual=False, intercept_scaling=1e3, tol=1e-8).fit(X, y)
    assert_allclose(best.coef, other.coef_, rtol=1e-3)


@pytest.mark.parametrize("radius", [None, 0.5])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_columns_that_are_too_many_to_be_orthogonal(n_outputs, radius, monkeypatch):
    X, y = noisy("log_loss", n_outputs=n_outputs)
    expected = best_comparator(X, y, loss="log_loss", radius=radius)
    monkeypatch.setattr(minimum, "MAX_ENTRIES", 0)
    for rows in X, sparse.csr_array(X):
        best = best_comparator(rows, y, loss="log_loss", radius=radius)
        assert_allclose(best.total_loss, expected.total_loss, rtol=1e-6)


@every_loss
def test_balls_and_hostile_data(loss):
    """Heavy tails, all units, features that nearly or exactly repeat others, zeros."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_t(1.5, size=(40, 6)) * 10.0 ** rng.integers(-6, 7, size=6)
        X[rng.random(X.shape) < 0.3] = 0.0
        X[:, 1] = -1e-3 * X[:, 0]
        X[:, 2] = 1e3 + 1e-6 * rng.normal(size=40)
        y = linear(X / np.abs(X).max(axis=0), rng.normal(size=6)) + rng.normal(size=40)
        y = y * 10.0 ** rng.integers(-3, 4) if loss in REGRESSION else y > np.median(y)
        radius = 10.0 ** rng.integers(-6, 4)
        best = best_comparator(X, y, loss=loss, radius=radius)
        assert np.linalg.norm([*best.coef[0], *best.intercept]) <= radius
        assert best.gap <= 2e-6 * of_zero(X, y, loss)


@pytest.mark.parametrize(
    ("loss", "radius"),
    [(loss, None) for loss in LOSS_NAMES] + [("log_loss", 0.5), ("huber", 0.5)],
)
def test_layouts_and_weights(loss, radius):
    """Sparse rows, weights instead of repeated rows, rows of weight 0."""
    X, y = noisy(loss)
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0.0
    times = np.arange(len(y)) % 3
    repeated = best_comparator(
        np.repeat(X, times, axis=0), np.repeat(y, times), loss=loss, radius=radius
    )
    allowed = 1e-5 * of_zero(X, y, loss)
    for rows in X, sparse.coo_array(X):
        best = best_comparator(
            rows, y, loss=loss, radius=radius, sample_weight=times.astype(float)
        )
        assert abs(best.total_loss - repeated.total_loss) <= allowed
        assert best.gap <= allowed


@pytest.mark.cases(20)
@pytest.mark.parametrize("fit_intercept", [False, True])
@every_loss
def test_units_of_features(loss, fit_intercept):
    X, y = noisy(loss)
    one = best_comparator(X, y, loss=loss, fit_intercept=fit_intercept)
    other = best_comparator(X * UNITS, y, loss=loss, fit_intercept=fit_intercept)
    assert_allclose(other.total_loss, one.total_loss, rtol=1e-4)
    assert other.gap <= 2e-6 * of_zero(X, y, loss)
    assert fit_intercept or not one.intercept.any()


@every_loss
def test_features_that_say_nothing_new(loss):
    """Twice the same, constant, 0, far from 0: the loss is as without."""
    X, y = noisy(loss)
    expected = best_comparator(X, y, loss=loss).total_loss
    n = len(y)
    more = np.column_stack([X, X[:, 0], np.full((n, 2), 0.1), np.zeros(n), -X[:, 1]])
    more[:, 2] += 1e6
    best = best_comparator(more, y, loss=loss)
    assert_allclose(best.total_loss, expected, rtol=1e-4)


def test_infimum_that_is_not_attained():
    """Of one class nearly all rows can be told apart, at no cost but that of others."""
    X = np.array([[0.0], [0.0], [1.0]])
    best = best_comparator(X, [0, 1, 1], loss="log_loss")
    assert_allclose(best.total_loss, 2 * np.log(2), rtol=1e-6)
    assert best.gap < 1e-5
    many = best_comparator(np.eye(4)[[0, 0, 1, 2, 3]], [0, 1, 2, 2, 3], loss="log_loss")
    assert_allclose(many.total_loss, 2 * np.log(2), rtol=1e-5)


def test_classes():
    X, y = noisy("log_loss", n_outputs=3)
    names = np.array(["a", "b", "c"])[y]
    best = best_comparator(X, names, loss="log_loss")
    assert best.total_loss == best_comparator(X, y, loss="log_loss").total_loss
    rest = best_comparator(X, y, loss="log_loss", multi_class="ovr")
    alone = [best_comparator(X, y == k, loss="log_loss").total_loss for k in range(3)]
    assert_allclose(rest.total_loss, sum(alone), rtol=1e-9)
    assert rest.total_loss > 1.1 * best.total_loss
    more = best_comparator(X, y, loss="log_loss", classes=range(5))
    assert more.coef.shape == (5, 5)
    assert_allclose(more.total_loss, best.total_loss, rtol=1e-5)


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_warns_where_it_does_not_converge(loss, monkeypatch):
    X, y = noisy(loss)
    given_up = linprog([1.0], A_ub=[[1.0]], b_ub=[-1.0])
    assert given_up.x is None
    monkeypatch.setattr(minimum, "linprog", lambda *arguments, **keywords: given_up)
    monkeypatch.setattr(minimum, "MAX_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="did not converge: the duality gap"):
        best = best_comparator(X, y, loss=loss)
    monkeypatch.undo()
    expected = best_comparator(X, y, loss=loss).total_loss
    assert best.total_loss - best.gap <= expected < best.total_loss


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "log"}, "The 'loss' parameter of best_comparator must be a str"),
        ({"radius": 0}, "The 'radius' parameter of best_comparator must be a float"),
        ({"X": [[np.nan]] * 3}, "Input X contains NaN"),
        ({"y": [1, 2]}, "Found input variables with inconsistent numbers of samples"),
        ({"y": [1, 1, 1]}, "number of classes has to be greater than one; got 1 class"),
        ({"y": [0.5, 1.0, 2.0]}, "Unknown label type: continuous"),
        ({"classes": [0, 2]}, "y contains previously unseen labels: "),
        ({"sample_weight": [1, -1, 1]}, "Negative values in data passed to"),
        ({"sample_weight": [0, 0, 0]}, "must contain at least one non-zero number"),
        ({"sample_weight": [1]}, "sample_weight.shape == "),
    ],
)
def test_bad_input(changes, message):
    given = {"X": [[1.0], [2.0], [3.0]], "y": [0, 1, 1], "loss": "log_loss", **changes}
    X, y = given.pop("X"), given.pop("y")
    with pytest.raises(ValueError, match=message):
        best_comparator(X, y, **given)
    message = message.replace("best_comparator", "temporal_variability")
    given.setdefault("radius", 1)
    if "classes" in given:
        return
    with pytest.raises(ValueError, match=message):
        temporal_variability(X, y, **given)


def regret(estimator, stream, **keywords):
    with config_context(engine="numpy"):
        return regret_curve(estimator, stream, progress=False, **keywords)


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "estimator",
    [
        ScInOLClassifier(center=False),
        ScInOLClassifier("hinge", center=False, class_weight={0: 3.0, 1: 1.0, 2: 1.0}),
        AdaImplicitClassifier(radius=1.0, center=False),
        ScInOLRegressor(center=False, fit_intercept=False),
    ],
    ids=str,
)
def test_regret_curve(estimator):
    """At each point what a new estimator has that learned the rows up to there."""
    loss = "log_loss" if is_classifier(estimator) else "absolute_error"
    X, y = noisy(loss, n_outputs=3 if is_classifier(estimator) else 1)
    weight = np.arange(len(y)) % 3 + 0.5
    classes = {"classes": [0, 1, 2]} if is_classifier(estimator) else {}
    result = regret(estimator, [(X, y, weight)], **classes)
    assert not hasattr(estimator, "coef_")
    u = result.comparator.coef, result.comparator.intercept
    assert result.n_samples[-1] == len(y)
    assert_array_equal(result.n_samples[:20], np.arange(1, 21))
    for point in 0, 10, -1:
        n = result.n_samples[point]
        alone = type(estimator)(**estimator.get_params())
        alone.partial_fit(X[:n], y[:n], sample_weight=weight[:n], **classes)
        assert_allclose(result.cumulative_loss[point], alone.cumulative_loss_)
        assert_allclose(result.bound[point], alone.regret_bound(*u))
    assert_allclose(result.comparator_loss[-1], result.comparator.total_loss)
    assert (result.regret <= result.bound).all()
    in_chunks = [(X[:7], y[:7], weight[:7]), (X[7:], y[7:], weight[7:])]
    again = regret(estimator, in_chunks, **classes, comparator=result.comparator)
    assert_allclose(again.regret, result.regret, rtol=1e-9)
    given = regret(estimator, iter(in_chunks), **classes, comparator=u)
    assert_allclose(given.bound, result.bound)
    assert isinstance(given.comparator, Comparator)
    in_csr = [(sparse.csr_array(X), y, weight)]
    from_sparse = regret(estimator, in_csr, **classes).regret[-1]
    assert_allclose(from_sparse, result.regret[-1], rtol=1e-3)


@pytest.mark.cases(3)
@pytest.mark.parametrize("algorithm", ["scinol1", "scinol2"])
def test_bound_with_rates_tuned_in_hindsight(algorithm):
    """Weights of the comparator times the roots of sums of squared gradients."""
    X, y = noisy("quantile", n_outputs=2)
    c, u = np.arange(len(y)) % 3 + 0.5, (np.arange(12.0) - 5).reshape(2, 6)
    model = ScInOLRegressor("quantile", algorithm=algorithm, quantile=0.2, center=False)
    stream = [(X * UNITS, y, c)]
    result = regret(model, stream, comparator=(u[:, :5] / UNITS, u[:, 5]))
    predicted = model.partial_fit_predict(X * UNITS, y, sample_weight=c)
    g = c[:, np.newaxis] * np.where(y > predicted, -0.2, 0.8)
    squares = linear((g**2).T, np.column_stack([X, np.ones(len(X))]) ** 2)
    assert_allclose(result.tuned_bound[-1], (np.abs(u) * np.sqrt(squares)).sum())
    assert (np.diff(result.tuned_bound) >= 0).all()
    implicit = AdaImplicitClassifier(center=False)
    result = regret(
        implicit, [(X, y[:, 0] > 10)], comparator=(u[0, :5], 0), classes=[0, 1]
    )
    assert np.isnan(result.tuned_bound).all()


def test_what_has_no_regret_curve():
    X, y = noisy("log_loss")
    for estimator, message in (
        (ScInOLClassifier(center=True), "pass `center=False`"),
        (ScInOLClassifier(), "fit with `center=False`"),
        (HedgeClassifier(), "HedgeClassifier is relative to its experts"),
    ):
        with pytest.raises(AttributeError) as error:
            regret(estimator, [(X, y)], classes=[0, 1])
        assert message in str(error.value.__cause__ or error.value)
    for parameter in {"class_weight": "balanced"}, {"new_classes": "add"}:
        estimator = ScInOLClassifier(center=False, **parameter)
        with pytest.raises(ValueError, match="regret_curve does not take"):
            regret(estimator, [(X, y)], classes=[0, 1])
    quantiles = ScInOLRegressor("quantile", quantile=[0.1, 0.9], center=False)
    with pytest.raises(ValueError, match="does not take quantile="):
        regret(quantiles, [(X, y)])
    scinol = ScInOLClassifier(center=False)
    with pytest.raises(ValueError, match="classes must be passed for a classifier"):
        regret(scinol, [(X, y)])
    with pytest.raises(ValueError, match="The stream is empty"):
        regret(scinol, [], classes=[0, 1])
    with pytest.raises(ValueError, match=r"coef.shape == \(2,\), expected"):
        regret(scinol, [(X, y)], classes=[0, 1], comparator=([1.0, 2.0], 0.0))
    with pytest.raises(ValueError, match="comparator must be what best_comparator"):
        regret(scinol, [(X, y)], classes=[0, 1], comparator=3)


def test_regret_display(pyplot):
    X, y = noisy("absolute_error")
    display = RegretCurveDisplay.from_estimator(
        ScInOLRegressor(center=False), [(X, y)], progress=False, color="red"
    )
    for name in "", "bound_", "tuned_bound_":
        line = getattr(display, f"{name}line_")
        assert_array_equal(line.get_ydata(), getattr(display, name[:-1] or "regret"))
    assert display.bound_line_.get_color() == display.line_.get_color() == "red"
    assert len(display.ax_.get_legend().get_texts()) == 3


def naive_variability(X, y, loss, radius, c, n=400):
    """Largest rises over points of the disk of weights: for two coordinates."""
    grid = np.linspace(-radius, radius, n)
    W = np.array([(a, b) for a in grid for b in grid if a * a + b * b <= radius**2])
    angles = np.linspace(0.0, 2.0 * np.pi, 20 * n)
    W = np.vstack([W, radius * np.column_stack([np.cos(angles), np.sin(angles)])])
    losses = [w * loss.value(t, linear(W, x)) for x, t, w in zip(X, y, c, strict=True)]
    return sum((b - a).max() for a, b in pairwise(losses))


@pytest.mark.cases(3)
@pytest.mark.parametrize("fit_intercept", [False, True])
@every_loss
def test_temporal_variability(loss, fit_intercept):
    """As by trying all weights, and the same in other units, layouts and outputs."""
    rng = np.random.default_rng(0)
    n, radius = 12, 1.7
    X, c = rng.normal(size=(n, 2 - fit_intercept)), rng.uniform(0.5, 2.0, size=n)
    X[5], X[6] = X[4], 0.0
    c[8] = 0.0
    y = rng.normal(size=n) if loss in REGRESSION else np.arange(n) % 3 % 2
    targets = y if loss in REGRESSION else 2.0 * y - 1.0
    rows = np.column_stack([X, np.ones(n)]) if fit_intercept else X
    kept = c > 0.0
    named = (REGRESSION | CLASSIFICATION)[loss]()
    expected = naive_variability(rows[kept], targets[kept], named, radius, c[kept])
    given = {"loss": loss, "sample_weight": c, "fit_intercept": fit_intercept}
    found = temporal_variability(X, y, radius=radius, **given)
    assert_allclose(found, expected, rtol=2e-3)
    assert found >= expected - 1e-9
    for other in sparse.csr_array(X), np.column_stack([X, np.zeros(n)]):
        again = temporal_variability(other, y, radius=radius, **given)
        assert_allclose(again, found, rtol=1e-9)
    if not fit_intercept:
        far = temporal_variability(X * 2.0**300, y, radius=radius / 2.0**300, **given)
        assert_allclose(far, found, rtol=1e-9)
    if loss in REGRESSION:
        twice = temporal_variability(X, np.column_stack([y, y]), radius=radius, **given)
        assert_allclose(twice, 2.0 * found, rtol=1e-9)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber"])
def test_variability_of_two_rises_next_to_as_large(loss):
    """The larger one is found, also where both are narrow."""
    angles, value = np.linspace(0.0, 2.0 * np.pi, 50_001), REGRESSION[loss]().value
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    for seed in 78, 79, 87, 184, 360:
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(2, 2)), rng.normal(size=2)
        radius = 10.0 ** rng.uniform(0, 4)
        X[1] = X[0] * rng.uniform(-2, 2) + 0.1 * X[1]
        before, later = (value(y[t], linear(radius * circle, X[t])) for t in (0, 1))
        given = {"loss": loss, "radius": radius, "fit_intercept": False}
        found, expected = temporal_variability(X, y, **given), (later - before).max()
        assert expected - 1e-9 * later.max() <= found <= expected + 1e-3 * later.max()


@pytest.mark.cases(3)
@pytest.mark.parametrize("loss", ["absolute_error", "squared_error", "huber"])
def test_variability_bounds_the_regret_of_implicit_updates(loss):
    """Theorem 6.2, first term: also where it is next to nothing."""
    radius, rng = 2.0, np.random.default_rng(0)
    drifting, ones = np.sin(np.linspace(0.0, 3.0, 60)), np.ones((60, 2))
    hard = rng.normal(size=(60, 2)), rng.permutation(drifting)
    for X, y in (ones, drifting), hard, (ones, ones[:, 0]):
        model = AdaImplicitRegressor(
            loss, radius=radius, beta=np.sqrt(2) * radius, center=False
        ).partial_fit(X, y)
        v = temporal_variability(X, y, loss=loss, radius=radius)
        named = REGRESSION[loss]()
        of_last = named.value(y[-1], model.predict(X[-1:])[0])
        most = 2.0 * (named.value(y[0], 0.0) - of_last + v)
        assert model.regret_bound([0.0, 0.0], 0.0) <= most * (1.0 + 1e-9)
        assert (v < 1e-12) == (y[0] == y[-1])
