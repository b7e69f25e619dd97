"""Prediction intervals: their formulas, their coverage, and the ways to learn them."""

import pickle
import re
from copy import deepcopy
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support import comparisons
from support.comparisons import assert_identical
from support.copies import COPIES
from support.estimator_checks import with_checks
from support.naive_intervals import interval_offsets, standardised
from support.registry import ENGINES, paired
from support.sums import linear

from sklearn_scinol import (
    AdaImplicitRegressor,
    HedgeRegressor,
    OnlineConformalRegressor,
    OnlineNewtonRegressor,
    ScInOLRegressor,
    merge_models,
)
from sklearn_scinol.config import current_engine
from sklearn_scinol.conformal.offsets import Offsets
from sklearn_scinol.engines import get_engine
from sklearn_scinol.evaluation import progressive_validation
from sklearn_scinol.learners.interval_ends import STEP, learn_ends
from sklearn_scinol.mixtures.model import recorded_deviations
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineScaler, TableEncoder

engines = pytest.mark.parametrize("engine", ENGINES, indirect=True)

#: A mixture of few experts, which has standard deviations.
MIXTURE = HedgeRegressor(
    [("linear", ScInOLRegressor()), ("newton", OnlineNewtonRegressor())]
)
ESTIMATORS = {"linear": ScInOLRegressor(), "mixture": MIXTURE}
estimators = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


def data(n=150, n_outputs=None, seed=0):
    """Targets with errors that are skewed and larger for some rows."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    shape = (n,) if n_outputs is None else (n, n_outputs)
    noise = (random.exponential(size=shape) - 0.5).T * np.exp(X[:, 0])
    return X, (linear(X, [1.0, 2.0, 3.0]) + noise).T


def weights(n):
    c = np.random.default_rng(1).choice([0.0, 0.1, 1.0, 5.0], size=n)
    c[:4] = 0.0, 1.0, 1.0, 0.1  # the third row is the first whose error is learned
    return c


def with_intervals(estimator, level=0.8):
    return OnlineConformalRegressor(clone(estimator), confidence_level=level)


def learned(model):
    """All that was learned, without what counts calls."""
    found = vars(model).copy()
    found["estimator_"] = _learned(model.estimator_)
    found["_outputs"] = [
        vars(each) | {"quantiles": _learned(each.quantiles)} for each in model._outputs
    ]
    return found


def _learned(estimator):
    if hasattr(estimator, "steps"):
        return [_learned(step) for _, step in estimator.steps if step != "passthrough"]
    if isinstance(estimator, HedgeRegressor):
        experts = [comparisons.learned(each) for each in estimator.estimators_]
        return [experts, estimator.weights_, estimator._model.squared_errors]
    return comparisons.learned(estimator)


def intervals_of(model, X, y, **arguments):
    return model.partial_fit_predict(X, y, method="predict_interval", **arguments)


# Formulas.


@pytest.mark.cases(3)
@estimators
@pytest.mark.parametrize("coverage", [0.8, [0.5, 0.8, 0.95]])
@pytest.mark.parametrize("weighted", [False, True])
@engines
def test_reference(estimator, coverage, weighted, engine):
    X, y = data(90)
    c = weights(len(y)) if weighted else np.ones(len(y))
    model = with_intervals(estimator, coverage)
    found = intervals_of(model, X, y, sample_weight=c)
    alone = clone(estimator)
    with recorded_deviations(alone) as recorded:
        p = alone.partial_fit_predict(X, y, sample_weight=c)
    deviations = np.concatenate(recorded)[:, 0].tolist() if recorded else None
    assert (deviations is not None) == (estimator is MIXTURE)
    c[: np.flatnonzero(c)[0] + 1] = 0.0  # the first has no prediction
    features = [standardised(each, c > 0.0) for each in np.column_stack([p, X]).T]
    levels = np.atleast_1d(coverage).tolist()
    lower, upper, corrections = interval_offsets(
        (y - p).tolist(), c.tolist(), np.transpose(features), deviations, levels
    )
    expected = p[:, np.newaxis, np.newaxis] + np.stack([lower, upper], axis=1)
    expected = expected if np.ndim(coverage) else expected[..., 0]
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    (offsets,) = model._outputs
    assert_allclose(offsets.ends.correction, corrections, rtol=1e-9, atol=1e-9)
    is_scored = c > 0.0
    is_scored[np.flatnonzero(is_scored)[0]] = False  # the first has no unit
    inside = (y >= found[:, 0].T) & (y <= found[:, 1].T)
    width = (found[:, 1] - found[:, 0]).T
    c = c[is_scored]
    assert_allclose(model.coverage_, inside[..., is_scored] @ c / c.sum())
    assert_allclose(model.mean_width_, width[..., is_scored] @ c / c.sum())


@pytest.mark.cases(1)
@estimators
@engines
def test_predicted_intervals_are_those_that_are_charged(estimator, engine):
    X, y = data(60)
    said = intervals_of(with_intervals(estimator), X, y)
    model = with_intervals(estimator).partial_fit(X[:1], y[:1])
    for r in range(1, len(y)):
        row = X[r : r + 1], y[r : r + 1]
        before = deepcopy(learned(model))
        assert_allclose(model.predict_interval(row[0])[0], said[r], rtol=1e-9)
        assert_identical(learned(model), before)
        model.partial_fit(*row)


@pytest.mark.cases(1)
@estimators
@pytest.mark.parametrize("n_outputs", [None, 2])
@engines
def test_chunks_do_not_matter(estimator, n_outputs, engine):
    X, y = data(60, n_outputs)
    c = weights(len(y))
    whole = with_intervals(estimator)
    said = intervals_of(whole, X, y, sample_weight=c)
    for ends in [1, 2, 30], range(1, len(y)):
        model, found = with_intervals(estimator), []
        for rows in np.split(np.arange(len(y)), ends):
            part = X[rows], y[rows]
            found.append(intervals_of(model, *part, sample_weight=c[rows]))
        assert_array_equal(np.concatenate(found), said)
        assert_identical(learned(model), learned(whole))
    assert_identical(learned(clone(whole).fit(X, y, c)), learned(whole))


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("n_outputs", "engine"),
    [(None, "numpy"), (2, "uncompiled"), (None, "numba")],
    indirect=["engine"],
)
def test_row_by_row(n_outputs, engine):
    X, y = data(80, n_outputs)
    c = weights(len(y))
    whole = with_intervals(MIXTURE, [0.5, 0.9])
    said = intervals_of(whole, X, y, sample_weight=c)
    model = with_intervals(MIXTURE, [0.5, 0.9])
    rows = pickle.loads(pickle.dumps(model.row_by_row()))
    model = rows.estimator
    found = [
        rows.predict_learn_one(*row, method="predict_interval")
        for row in zip(X, y, c, strict=True)
    ]
    assert_array_equal(found, said)
    assert_identical(learned(model), learned(whole))
    assert_array_equal(
        rows.predict_interval_one(X[0]), whole.predict_interval(X[:1])[0]
    )
    assert_array_equal(rows.predict_one(X[0]), whole.predict(X[:1])[0])
    both = ["predict", "predict_interval"]
    expected = rows.predict_one(X[0]), rows.predict_interval_one(X[0])
    for one, other in zip(
        rows.predict_learn_one(X[0], y[0], 0.0, method=both), expected, strict=True
    ):
        assert_allclose(one, other, rtol=1e-9)
    rows.learn_one(X[0], y[0])
    assert_identical(learned(model), learned(whole.partial_fit(X[:1], y[:1])))


# Late labels.


def random_walk(n):
    random = np.random.default_rng(0)
    return random.normal(size=(n, 2)), np.cumsum(random.normal(size=n))


def restarted(late):
    """Return other late labels of a copy, where the rows wait again."""
    other = deepcopy(late.rows.estimator).row_by_row().with_late_labels()
    for key, x in pickle.loads(pickle.dumps(late.items())):
        other.keep_one(x, key)
    return other


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("delay", "how"),
    paired(
        [0, 5, 20],
        [*product([0.9, [0.5, 0.9]], [False, True], [deepcopy, restarted])],
    ),
)
def test_late_labels_learn_the_intervals_that_were_served(delay, how, engine):
    (coverage, in_pipeline, again), (X, y) = how, random_walk(100)
    model = with_intervals(ScInOLRegressor(), coverage)
    if in_pipeline:
        model = make_online_pipeline(OnlineScaler(), model)
    late = model.partial_fit(X[:3], y[:3]).row_by_row().with_late_labels()
    before = model[-1] if in_pipeline else model
    total, sums = before._outputs[0].total_weight, before._outputs[0].sums.copy()
    served = []
    for r in range(3, len(y)):
        method = late.predict_interval_one if r % 3 else late.predict_one
        expected = late.rows.predict_interval_one(X[r])
        found = method(X[r], r)
        if r % 3:
            assert_array_equal(found, expected)
        else:
            assert found == late.rows.predict_one(X[r])
        served.append(expected)
        if r == 50:
            late = again(late)
        if r >= delay + 3:
            late.learn_one(r - delay, y[r - delay])
    model = late.rows.estimator
    (offsets,) = (model[-1] if in_pipeline else model)._outputs
    lower, upper = np.moveaxis(served[: len(y) - delay - 3], 1, 0)
    target = y[3 : len(y) - delay].reshape(-1, *[1] * (lower.ndim - 1))
    is_inside = ((lower <= target) & (target <= upper)).sum(axis=0)
    assert_array_equal(offsets.sums[0] - sums[0], np.atleast_1d(is_inside))
    width = (upper - lower).sum(axis=0)
    assert_allclose(offsets.sums[1] - sums[1], np.atleast_1d(width))
    assert offsets.total_weight - total == len(target)


@pytest.mark.cases(1)
@engines
def test_late_labels_without_a_delay_are_those_in_time(engine):
    """With one output or several, whatever predicted the row."""
    for n_outputs in None, 2:
        X, y = data(60, n_outputs)
        c = np.ceil(
            weights(60) / 9.0
        )  # other weights change the estimator's predictions
        plain = with_intervals(ScInOLRegressor(), [0.5, 0.9])
        plain.partial_fit(X[:5], y[:5])
        late = deepcopy(plain).row_by_row().with_late_labels()
        for r in range(5, 30):
            predict = late.predict_interval_one if r % 2 else late.predict_one
            predict(X[r], r)
            late.learn_one(r, y[r], c[r])
            plain.row_by_row().learn_one(X[r], y[r], c[r])
        model = late.rows.estimator
        assert_allclose(model.coverage_, plain.coverage_)
        assert_allclose(model.mean_width_, plain.mean_width_, rtol=1e-9)
        assert_allclose(model.predict_interval(X), plain.predict_interval(X), rtol=1e-9)


def test_rows_kept_without_a_prediction_are_learned_as_if_they_came_then(engine):
    X, y = data(40)
    plain = with_intervals(ScInOLRegressor())
    late = deepcopy(plain).row_by_row().with_late_labels()
    for r in range(40):
        late.keep_one(X[r], r)
    for r in range(39, -1, -1):
        late.learn_one(r, y[r])
        plain.row_by_row().learn_one(X[r], y[r])
    assert_identical(learned(late.rows.estimator), learned(plain))


def test_rows_served_before_the_model_was_fitted_anew():
    """With other levels, what was served cannot be learned: the row is."""
    X, y = data(40)
    model = with_intervals(ScInOLRegressor()).partial_fit(X, y)
    late = model.row_by_row().with_late_labels()
    late.predict_interval_one(X[0], 0)
    model.set_params(confidence_level=[0.5, 0.9]).fit(X, y)
    twin = deepcopy(model)
    late.learn_one(0, y[0])
    assert_identical(learned(model), learned(twin.partial_fit(X[:1], y[:1])))


def test_row_that_cannot_be_learned_as_served_goes_on_waiting():
    X, y = data(40)
    model = with_intervals(ScInOLRegressor()).partial_fit(X[:30], y[:30])
    late = model.row_by_row().with_late_labels(max_waiting=2)
    for r in 30, 31, 32:
        late.predict_interval_one(X[r], r)
    assert late.n_dropped == 1
    before = deepcopy(learned(model))
    with pytest.raises(ValueError, match="NaN"):
        late.learn_one(31, np.nan)
    assert_identical(learned(model), before)
    assert [*late.learn_one(31, y[31])] == [32]
    assert model.n_samples_seen_ == 31


def test_outputs_are_independent():
    X, y = data(n_outputs=3)
    model = with_intervals(ScInOLRegressor(), [0.5, 0.8])
    found = intervals_of(model, X, y)
    assert found.shape == (len(y), 3, 2, 2)
    for k in range(3):
        alone = with_intervals(ScInOLRegressor(), [0.5, 0.8])
        assert_allclose(found[:, k], intervals_of(alone, X, y[:, k]), rtol=1e-9)
        assert_allclose(model.coverage_[k], alone.coverage_)
        assert_allclose(model.coverage_bound()[k], alone.coverage_bound())
        assert_allclose(model.mean_width_[k], alone.mean_width_)


@pytest.mark.cases(4)
@estimators
@engines
@pytest.mark.parametrize("seeds", [range(k, 20, 4) for k in range(4)], ids=str)
def test_units_and_zeros_do_not_matter(estimator, engine, seeds):
    for seed in seeds:
        assert_units_and_zeros_do_not_matter(estimator, seed)


def assert_units_and_zeros_do_not_matter(estimator, seed):
    X, y = data(60 if seed else 150, seed=seed)
    plain = intervals_of(with_intervals(estimator), X, y)
    units = 2.0 ** np.array([-300, 0, 300])
    scaled = intervals_of(with_intervals(estimator), X * units, 2.0**80 * y)
    assert_array_equal(scaled, 2.0**80 * plain)
    moved = intervals_of(with_intervals(estimator), X * [3.0, 1.0, 1e5], 7.0 * y)
    assert_allclose(moved, 7.0 * plain, rtol=1e-6, atol=1e-9)
    if estimator is MIXTURE:  # the first prediction is 0, whatever the target's zero
        moved = intervals_of(
            with_intervals(estimator), X + np.array([1e3, 0, 7]), y + 1e2
        )
        assert_allclose(moved[2:], plain[2:] + 1e2, rtol=1e-6)


# Coverage.


def blocks_of(is_inside, size=1000):
    n = len(is_inside) // size
    return is_inside[: n * size].reshape(n, size).mean(axis=1)


def stream(name, n=8000):
    random = np.random.default_rng(0)
    X, half = random.normal(size=(n, 4)), np.arange(n) >= n // 2
    y = linear(X, [1.0, -1.0, 2.0, 0.0]) + random.normal(size=n)
    if name == "swapped":
        y = np.where(half, -y, y)
    elif name == "louder":
        y += np.where(half, 9.0, 0.0) * random.normal(size=n)
    elif name == "drifting":
        y += np.cumsum(random.normal(size=n)) / 10.0
    return X, y


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["stationary", "swapped", "louder", "drifting"])
def test_each_thousand_rows_have_the_coverage(name):
    X, y = stream(name)
    lower, upper = intervals_of(with_intervals(ScInOLRegressor(), 0.9), X, y).T
    deviations = np.abs(blocks_of(((lower <= y) & (y <= upper))[1000:]) - 0.9)
    assert deviations.mean() <= 0.01
    assert deviations.max() <= 0.025


class Fixed(RegressorMixin, BaseEstimator):
    """Predicts 0, and learns nothing."""

    def fit(self, X, y):
        return self.partial_fit(X, y)

    def partial_fit(self, X, y, sample_weight=None):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return np.zeros(len(X))


def hostile_target(kind, interval, r, random):
    """Return a target chosen by an opponent who sees the interval."""
    lower, upper = interval if np.isfinite(interval).all() else (-1.0, 1.0)
    width = max(upper - lower, 1.0)
    match kind:
        case "above":
            return upper + width
        case "just above":
            return upper + 1e-6 * width
        case "inside":
            return lower + 0.3 * (upper - lower)
        case "exploding":
            return 3.0 ** min(r, 180) * (-1.0) ** (r // 7)
        case "in turn":
            inside = 0.3 * lower + 0.7 * upper
            return upper + width if r // 50 % 2 else inside
        case "outliers":
            return random.standard_cauchy() ** 3
        case "silent":
            return random.normal() if r % 100 < 3 else 0.0
        case "shrinking":
            return random.normal() * 0.9**r
        case _:
            raise AssertionError(kind)


@pytest.mark.cases(20)
@pytest.mark.parametrize(
    "kind",
    [
        *("above", "just above", "inside", "exploding"),
        *("in turn", "outliers", "silent", "shrinking"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_coverage_bound_on_hostile_streams(kind, weighted):
    random = np.random.default_rng(0)
    model = with_intervals(Fixed(), 0.8)
    x = np.zeros((1, 1))
    model.partial_fit(x, [0.0])
    (offsets,) = model._outputs
    above = below = ties = total = 0.0
    for r in range(200):
        interval = model.predict_interval(x)[0]
        y = float(np.clip(hostile_target(kind, interval, r, random), -1e90, 1e90))
        c = random.choice([0.5, 1.0, 2.0]) if weighted else 1.0
        before, unit = offsets.total_weight, offsets.sizes.means[1]
        model.partial_fit(x, [y], sample_weight=[c])
        if offsets.total_weight > before:
            total += c
            distances = (y - interval) / unit
            is_end = np.abs(distances) <= 1e-9 * np.abs(interval / unit)
            ties += c * is_end.any()
            below += c * (distances[0] < 0.0 and not is_end[0])
            above += c * (distances[1] > 0.0 and not is_end[1])
    if not total:
        return
    of_ends = offsets.ends.largest * (2.0 * offsets.ends.weights[1] - 0.5)
    of_ends = np.maximum(of_ends, 1e-12) / STEP
    assert above - 0.1 * total <= of_ends[1] + 1e-9
    assert above + ties - 0.1 * total >= -of_ends[1] - 1e-9
    assert below - 0.1 * total <= of_ends[0] + 1e-9
    assert below + ties - 0.1 * total >= -of_ends[0] - 1e-9
    if not ties:
        assert abs(model.coverage_ - 0.8) <= model.coverage_bound() + 1e-9
    least, most = offsets.ends.limits
    assert offsets.ends.largest.max() <= 1.5 * (most - least) + 2.0 * STEP


def test_no_errors():
    model = with_intervals(Fixed())
    for _ in range(3):
        model.partial_fit(np.zeros((5, 1)), np.zeros(5))
        assert np.isnan([model.coverage_, model.mean_width_]).all()
        assert model.coverage_bound() == 1.0
    assert_array_equal(model.predict_interval([[0.0]]), [[0.0, 0.0]])


def crossing_target(kind, ends, r, random):
    """Return a target that moves ends of several levels towards each other."""
    lower, upper = ends.reshape(2, -1)
    j = random.integers(lower.size)
    match kind:
        case "inside the outer end":
            return upper[-1] - 1e-9
        case "inside the outer ends in turn":
            return lower[0] + 1e-9 if r // 50 % 2 else upper[-1] - 1e-9
        case "inside an end":
            return upper[j] - 1e-9 if random.random() < 0.9 else upper[-1] + 1.0
        case "between two ends":
            return (upper[j] + upper[j - 1 if j else 0]) / 2.0
        case "noise":
            return random.normal()
        case _:
            raise AssertionError(kind)


@pytest.mark.cases(20)
@pytest.mark.parametrize(
    "kind",
    [
        *("inside the outer end", "inside the outer ends in turn"),
        *("inside an end", "between two ends", "noise"),
    ],
)
@pytest.mark.parametrize(
    "coverage", [[0.8], [0.5, 0.9], [0.3, 0.6, 0.9], [0.2, 0.4, 0.6, 0.8]]
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("delay", [0, 20])
@engines
def test_corrections_of_all_levels_are_bounded(kind, coverage, weighted, delay, engine):
    """Whatever the quantiles, C <= (i + 1/2) D + i (1 + delay) STEP at level i."""
    n, k = 1200 if "outer" in kind else 300, len(coverage)
    offsets = Offsets(np.array(coverage))
    learn = get_engine(current_engine()).learn_interval_ends
    random, waiting, out = np.random.default_rng(0), [], np.empty((1, 2 * k))
    above, ties, total = np.zeros(2 * k), np.zeros(2 * k), 0.0
    for r in range(n):
        scale = 0.0 if "outer" in kind else random.choice([0.0, 0.1, 1.0, 10.0])
        quantiles = np.sort(random.normal(size=(1, 2 * k)) * scale)
        learn(offsets.ends, np.zeros(1), quantiles, np.zeros(1), out)
        assert (np.diff(out[0]) >= 0.0).all()
        target = float(np.clip(crossing_target(kind, out[0], r, random), -1.0, 1.0))
        waiting.append((target, quantiles, out[0].copy()))
        if r < delay:
            continue
        target, quantiles, ends = waiting.pop(0)
        c = random.choice([0.1, 1.0, 7.0]) if weighted else 1.0
        if delay:
            learn_ends(offsets.ends, target, ends, c)
        else:
            learn(offsets.ends, np.array([target]), quantiles, np.array([c]), out)
        total, above = total + c, above + c * (target > ends)
        ties += c * (target == ends)
    range_, levels = np.diff(offsets.ends.limits), np.arange(1, k + 1)
    bounds = (levels + 0.5) * range_ + levels * (1.0 + delay) * STEP
    lower, upper = offsets.ends.largest.reshape(2, -1)
    assert (np.maximum(lower[::-1], upper) <= bounds).all()
    first, largest, _ = offsets.ends.weights
    deviations = above - (1.0 - offsets.ends.level) * total
    bounds = offsets.ends.largest * (2.0 * largest - first) / STEP
    assert (deviations <= bounds + 1e-6).all()
    assert (deviations + ties >= -bounds - 1e-6).all()


@engines
def test_a_target_that_is_an_end_does_not_move_it(engine):
    ends = Offsets(np.array([0.8])).ends
    learn = get_engine(current_engine()).learn_interval_ends
    for k, error in (None, 3.0), (None, 0.0), (1, "end"), (0, "end"):
        before = ends.correction.copy()
        error = before[k] if error == "end" else error
        out = np.empty((1, 2))
        learn(ends, np.array([error]), np.zeros((1, 2)), np.ones(1), out)
        assert_array_equal(out[0], before)
        assert_array_equal(ends.correction == before, [k == 0, k == 1])


# Levels.


def test_levels():
    X, y = data(400)
    model = with_intervals(ScInOLRegressor(), [0.5, 0.7, 0.9])
    said = intervals_of(model, X, y)
    assert said.shape == (400, 2, 3)
    assert (said[:, 1, 1:] >= said[:, 1, :-1]).all()
    assert (said[:, 0, 1:] <= said[:, 0, :-1]).all()
    assert_allclose(model.coverage_, [0.5, 0.7, 0.9], atol=0.03)
    assert model.coverage_bound().shape == (3,)
    asked = model.predict_interval(X)
    assert_array_equal(model.predict_interval(X, 0.5), asked[..., 0])
    assert_array_equal(model.predict_interval(X, [0.9, 0.7]), asked[..., [2, 1]])
    with pytest.raises(
        ValueError, match=r"confidence_level=0.8 was not learned: the levels"
    ):
        model.predict_interval(X, 0.8)


@pytest.mark.parametrize(
    "coverage", [0.0, 1.0, [], [0.5, 1.0], [[0.5]], [0.5, 0.5], [0.6, 0.5]]
)
def test_bad_coverage(coverage):
    with pytest.raises(ValueError, match="confidence_level"):
        with_intervals(ScInOLRegressor(), coverage).partial_fit([[1.0]], [1.0])


# Estimators.


@pytest.mark.thorough
def test_estimators_from_elsewhere():
    X, y = data(1000)
    estimator = make_online_pipeline(StandardScaler(), SGDRegressor(random_state=0))
    model = with_intervals(estimator.set_params(standardscaler="passthrough"), 0.9)
    chunks = [slice(start, start + 50) for start in range(0, 1000, 50)]
    found = []
    for rows in chunks:
        before = None if rows.start == 0 else model.predict(X[rows])
        found.append(intervals_of(model, X[rows], y[rows]))
        if before is None:
            assert np.isinf(found[0]).all()  # nothing was predicted before
    assert_allclose(model.coverage_, 0.9, atol=0.02)
    assert_identical(
        learned(clone(model).fit(X[:250], y[:250]).partial_fit(X[250:], y[250:])),
        learned(clone(model).fit(X[:250], y[:250]).partial_fit(X[250:], y[250:])),
    )
    fitted = clone(model).fit(X, y)
    assert_allclose(fitted.coverage_, 0.9, atol=0.02)
    rows = fitted.row_by_row().learn_one(X[0], y[0])
    assert_array_equal(rows.predict_interval_one(X[1]), fitted.predict_interval(X)[1])


def test_none_stands_for_the_mixture():
    X, y = data(20)
    model = OnlineConformalRegressor().partial_fit(X, y)
    assert isinstance(model.estimator_, HedgeRegressor)
    assert model.n_samples_seen_ == 20
    assert model.n_features_in_ == 3
    assert model.cumulative_loss_ == model.estimator_.cumulative_loss_
    prediction, deviation = model.predict(X, return_std=True)
    assert_array_equal(model.predict(X), prediction)
    assert deviation.shape == prediction.shape


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_layouts(container):
    X, y = data()
    dense = with_intervals(ScInOLRegressor(center=False))
    said = intervals_of(dense, X, y)
    model = with_intervals(ScInOLRegressor(center=False)).partial_fit(X[:1], y[:1])
    found = intervals_of(model, container(X[1:]), y[1:])
    assert_allclose(found, said[1:], rtol=1e-9)


@pytest.mark.thorough
def test_pipelines():
    random = np.random.default_rng(0)
    rows = [
        {"city": str(random.choice(["a", "b"])), "x": random.normal()}
        for _ in range(200)
    ]
    y = np.array([row["x"] + 5.0 * (row["city"] == "a") for row in rows])
    y += random.normal(size=len(y))
    mixture = HedgeRegressor(
        [("scinol", ScInOLRegressor()), ("implicit", AdaImplicitRegressor())]
    )
    last = make_online_pipeline(TableEncoder(), with_intervals(mixture))
    first = with_intervals(make_online_pipeline(TableEncoder(), mixture))
    for model in last, first:
        twin = clone(model)
        said = intervals_of(twin, rows, y)
        found = model.row_by_row()
        found = [
            found.predict_learn_one(*each, method="predict_interval")
            for each in zip(rows, y, strict=True)
        ]
        assert_array_equal(found, said)
        assert_array_equal(
            model.row_by_row().predict_interval_one(rows[0]),
            twin.predict_interval(rows[:1])[0],
        )
        lower, upper = said[50:].T
        assert abs(np.mean((lower <= y[50:]) & (y[50:] <= upper)) - 0.8) < 0.06
    assert_array_equal(
        last.predict_interval(rows, confidence_level=[0.8])[..., 0],
        last.predict_interval(rows),
    )
    assert not hasattr(make_online_pipeline(ScInOLRegressor()), "predict_interval")


@pytest.mark.cases(150)
@with_checks(OnlineConformalRegressor(ScInOLRegressor()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# Failures.


def test_bad_input_changes_nothing():
    X, y = data(50)
    for estimator in (MIXTURE, make_online_pipeline(SGDRegressor(random_state=0))):
        model = with_intervals(estimator)
        for rows in slice(30), slice(30, 50):
            model.partial_fit(X[rows], y[rows])
        before = deepcopy(learned(model))
        bad = X.copy()
        bad[7, 1] = np.nan
        for each in (bad, y), (X, np.full(50, np.inf)), (X[:, :2], y), (X, y[:3]):
            with pytest.raises(ValueError):  # noqa: PT011  (in scikit-learn's words)
                model.partial_fit(*each)
            assert_identical(learned(model), before)
        with pytest.raises(ValueError, match="method must be one of"):
            model.partial_fit_predict(X, y, method="predict_proba")
        with pytest.raises(ValueError, match="weight"):
            model.partial_fit(X, y, sample_weight=-np.ones(50))
        assert_identical(learned(model), before)


def test_failure_after_the_estimator_has_learned(monkeypatch):
    X, y = data(50)
    model = with_intervals(MIXTURE).partial_fit(X[:30], y[:30])
    before = deepcopy(learned(model))
    twin = deepcopy(model)

    def fail(*arguments):
        raise KeyboardInterrupt

    pipeline = make_online_pipeline(model)
    for each in model, pipeline, model.row_by_row():
        with monkeypatch.context() as patch:
            patch.setattr("sklearn_scinol.conformal.offsets.Offsets._by_level", fail)
            with pytest.raises(KeyboardInterrupt):
                if hasattr(each, "learn_one"):
                    each.learn_one(X[30], y[30])
                else:
                    each.partial_fit(X[30:], y[30:])
        assert_identical(learned(model), before)
    model.partial_fit(X[30:], y[30:])
    assert_identical(learned(model), learned(twin.partial_fit(X[30:], y[30:])))


def test_errors():
    X, y = data(20)
    with pytest.raises(NotFittedError):
        with_intervals(ScInOLRegressor()).predict_interval(X)
    with pytest.raises(ValueError, match="SGDClassifier should be a regressor"):
        OnlineConformalRegressor(SGDClassifier()).partial_fit(X, y)
    with pytest.raises(ValueError, match=re.escape("'estimator' parameter")):
        OnlineConformalRegressor(StandardScaler()).partial_fit(X, y)
    assert not hasattr(OnlineConformalRegressor(), "coverage_")
    model = with_intervals(Fixed()).partial_fit(X, y)
    with pytest.raises(ValueError, match="expected 3"):
        model.predict_interval(X[:, :2])
    model.estimator_.predict = lambda X: np.full(len(X), np.nan)
    with pytest.raises(ValueError, match="Fixed predicts a value that is NaN"):
        model.partial_fit(X, y)


# Copies and merging.


@pytest.mark.cases(3)
@pytest.mark.parametrize("copied", COPIES)
def test_copies_go_on(copied, tmp_path):
    X, y = data()
    model = with_intervals(MIXTURE, [0.5, 0.8]).partial_fit(X[:100], y[:100])
    again = COPIES[copied](model, tmp_path / "model")
    assert_array_equal(
        intervals_of(again, X[100:], y[100:]), intervals_of(model, X[100:], y[100:])
    )
    assert_array_equal(again.predict_interval(X), model.predict_interval(X))


@pytest.mark.thorough
@estimators
def test_merging(estimator):
    X, y = data(1500)
    start = with_intervals(estimator, 0.8).partial_fit(X[:300], y[:300])
    parts = slice(300, 800), slice(800, 1500)
    models = [deepcopy(start).partial_fit(X[part], y[part]) for part in parts]
    merged = merge_models(models, start=start)
    assert merged.n_samples_seen_ == 1500
    new, targets = data(1000, seed=1)
    lower, upper = merged.predict_interval(new).T
    assert abs(np.mean((lower <= targets) & (targets <= upper)) - 0.8) < 0.1
    counts = [m.coverage_ * m._outputs[0].total_weight for m in (*models, start)]
    total = merged._outputs[0].total_weight
    assert_allclose(merged.coverage_ * total, counts[0] + counts[1] - counts[2])
    merged.partial_fit(new[:9], targets[:9])
    with pytest.raises(AttributeError, match="holds for each of the models"):
        merged.coverage_bound()
    other = with_intervals(estimator, 0.9).partial_fit(X[:9], y[:9])
    with pytest.raises(ValueError, match="confidence_level differs"):
        merge_models([start, other])
    last = with_intervals(ScInOLRegressor())
    pipelines = [make_online_pipeline(TableEncoder(), last) for _ in "ab"]
    pipelines = [
        clone(pipeline).partial_fit(X[part], y[part])
        for pipeline, part in zip(pipelines, parts, strict=True)
    ]
    merged = merge_models(pipelines)
    lower, upper = merged.predict_interval(new).T
    assert abs(np.mean((lower <= targets) & (targets <= upper)) - 0.8) < 0.1


# Evaluation.


@pytest.mark.parametrize("n_outputs", [None, 2])
def test_metrics(n_outputs):
    X, y = data(300, n_outputs)
    c = weights(300)
    model = with_intervals(ScInOLRegressor(), 0.9)
    twin = clone(model)
    rows = [slice(0, 100), slice(100, 101), slice(101, 300)]
    result = progressive_validation(
        model,
        [(X[part], y[part], c[part]) for part in rows],
        metrics=["coverage", "mean_width", "neg_mean_absolute_error"],
        window=50,
    )
    p, intervals = twin.partial_fit_predict(
        X, y, sample_weight=c, method=["predict", "predict_interval"]
    )
    inside = (intervals[..., 0] <= y) & (y <= intervals[..., 1])
    c = c.reshape(-1, *[1] * (y.ndim - 1))
    error = result.scores["neg_mean_absolute_error"]
    assert_allclose(error, -(c * np.abs(y - p)).sum() / (c.sum() * (n_outputs or 1)))
    assert np.isinf(intervals[:3]).all()  # no error is known
    width = intervals[3:, ..., 1] - intervals[3:, ..., 0]
    counts = c[3:].sum() * (n_outputs or 1)
    assert_allclose(result.scores["coverage"], (c * inside)[3:].sum() / counts)
    assert_allclose(result.scores["mean_width"], (c[3:] * width).sum() / counts)
    assert np.isnan(result.curves["coverage"][0])
    assert result.window_curves["coverage"].shape == result.window_n_samples.shape


def test_metrics_of_intervals_say_what_they_need():
    X, y = data(20)
    with pytest.raises(AttributeError, match="needs predict_interval"):
        progressive_validation(ScInOLRegressor(), [(X, y)], metrics="coverage")
    model = with_intervals(ScInOLRegressor(), [0.5, 0.9])
    with pytest.raises(ValueError, match="for one level of coverage"):
        progressive_validation(model, [(X, y)], metrics="coverage")
    model = make_pipeline(StandardScaler(), with_intervals(ScInOLRegressor()))
    with pytest.raises(ValueError, match="need an OnlinePipeline"):
        progressive_validation(model, [(X, y)], metrics="coverage", delay=2)
    chunks = [(X[:10], y[:10]), (X[10:], y[10:])]
    assert progressive_validation(clone(model), chunks, delay=2).n_samples[-1] == 10


@pytest.mark.cases(1)
@pytest.mark.parametrize("estimator", [ScInOLRegressor(), SGDRegressor(random_state=0)])
@pytest.mark.parametrize("n_fitted", [0, 20])
def test_metrics_with_a_delay_are_of_the_intervals_that_are_learned(
    estimator, n_fitted
):
    X, y = random_walk(90)
    y /= 10.0
    model = make_online_pipeline(OnlineScaler(), with_intervals(estimator))
    for rows in (slice(0, n_fitted // 2), slice(n_fitted // 2, n_fitted)):
        if n_fitted:
            model.partial_fit(X[rows], y[rows])
    late = deepcopy(model).row_by_row().with_late_labels()
    ends = [n_fitted, n_fitted + 5, n_fitted + 6, 60, 90]
    chunks = [slice(*each) for each in pairwise(ends)]
    metrics = ["coverage", "mean_width", "neg_mean_absolute_error"]
    result = progressive_validation(
        model, [(X[rows], y[rows]) for rows in chunks], metrics=metrics, delay=10
    )
    served = np.full((90, 2), np.nan)
    for r in range(n_fitted, 90):
        if hasattr(late.rows.estimator[-1], "coverage_"):
            served[r] = late.predict_interval_one(X[r], r)
        else:
            late.keep_one(X[r], r)
        if r >= n_fitted + 10:
            late.learn_one(r - 10, y[r - 10])
    for r in [*late]:
        late.learn_one(r, y[r])
    assert_identical(learned(late.rows.estimator[-1]), learned(model[-1]))
    is_known = np.isfinite(served).all(axis=1)
    assert is_known.sum() == 70 if n_fitted else 65 < is_known.sum() < 80
    (lower, upper), y = served[is_known].T, y[is_known]
    assert_allclose(result.scores["coverage"], ((lower <= y) & (y <= upper)).mean())
    assert_allclose(result.scores["mean_width"], (upper - lower).mean())
