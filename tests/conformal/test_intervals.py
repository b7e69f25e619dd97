"""Prediction intervals: their formulas, their coverage, and the ways to learn them."""

from copy import deepcopy
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from support.comparisons import assert_identical
from support.conformal import (
    INTERVALS,
    halves,
    learned,
    weights,
)
from support.conformal import targets as data
from support.naive_intervals import interval_offsets, standardised
from support.registry import ENGINES

from sklearn_scinol import ScInOLRegressor
from sklearn_scinol.config import current_engine
from sklearn_scinol.conformal.offsets import STEP, Offsets
from sklearn_scinol.evaluation import progressive_validation
from sklearn_scinol.learners.interval_ends import learn_ends, learn_rows
from sklearn_scinol.mixtures.mixture_model import recorded_deviations
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineHistory,
    OnlineScaler,
    TableEncoder,
)

engines = pytest.mark.parametrize("engine", ENGINES, indirect=True)

MIXTURE = INTERVALS.mixture
ESTIMATORS = {"linear": ScInOLRegressor(), "mixture": MIXTURE}
estimators = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)

with_intervals, intervals_of = INTERVALS.make, INTERVALS.said


@pytest.mark.cases(3)
@estimators
@pytest.mark.parametrize("coverage", [0.8, [0.5, 0.8, 0.95]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [None, "auto", halves])
@engines
def test_reference(estimator, coverage, weighted, groups, engine):
    X, y = data(90)
    c = weights(len(y)) if weighted else np.ones(len(y))
    model = with_intervals(estimator, coverage).set_params(groups=groups)
    found = intervals_of(model, X, y, sample_weight=c)
    alone = clone(estimator)
    with recorded_deviations(alone) as recorded:
        p = alone.partial_fit_predict(X, y, sample_weight=c)
    deviations = np.concatenate(recorded)[:, 0].tolist() if recorded else None
    assert (deviations is not None) == (estimator is MIXTURE)
    c[: np.flatnonzero(c)[0] + 1] = 0.0  # the first has no prediction
    features = [standardised(each, c > 0.0) for each in np.column_stack([p, X]).T]
    levels = np.atleast_1d(coverage).tolist()
    given = halves(X).tolist() if groups is halves else groups
    rows = (y - p).tolist(), c.tolist(), np.transpose(features), deviations
    lower, upper, corrections = interval_offsets(*rows, levels, given)
    expected = p[:, np.newaxis, np.newaxis] + np.stack([lower, upper], axis=1)
    expected = expected if np.ndim(coverage) else expected[..., 0]
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    (offsets,) = model._outputs
    for label, of_group in corrections.items():
        code = 0 if label is None else 1 + model.groups_.index(label)
        assert_allclose(offsets.ends.correction[code], of_group, rtol=1e-9, atol=1e-9)
    is_scored = c > 0.0
    is_scored[np.flatnonzero(is_scored)[0]] = False  # the first has no unit
    inside = (y >= found[:, 0].T) & (y <= found[:, 1].T)
    width = (found[:, 1] - found[:, 0]).T
    c = c[is_scored]
    assert_allclose(model.coverage_, inside[..., is_scored] @ c / c.sum())
    assert_allclose(model.mean_width_, width[..., is_scored] @ c / c.sum())


def test_rows_that_are_kept_count_with_what_they_would_have_got(engine):
    """Rows before the first label count as predicted right after it."""
    X, y = data(40)
    model = with_intervals(ScInOLRegressor())
    kept, predicted = (deepcopy(model).row_by_row().with_late_labels() for _ in "ab")
    for r in range(20):
        kept.keep_one(X[r], r)
    kept.learn_one(19, y[19])
    predicted.keep_one(X[19], 19).learn_one(19, y[19])
    for r in [*range(19), *range(20, 40)]:
        predicted.predict_interval_one(X[r], r)
    for r in range(20, 40):
        kept.keep_one(X[r], r)
    for r in [*kept]:
        kept.learn_one(r, y[r])
        predicted.learn_one(r, y[r])
    assert_identical(learned(kept.rows.estimator), learned(predicted.rows.estimator))


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


class Fixed(RegressorMixin, BaseEstimator):
    """Predicts 0, in single precision, and learns nothing."""

    def fit(self, X, y):
        return self.partial_fit(X, y)

    def partial_fit(self, X, y, sample_weight=None):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return np.zeros(len(X), np.float32)


#: Targets chosen by an opponent who sees the interval, in row `r`.
HOSTILE = {
    "above": lambda low, high, size, r, random: high + size,
    "just above": lambda low, high, size, r, random: high + 1e-6 * size,
    "inside": lambda low, high, size, r, random: low + 0.3 * (high - low),
    "exploding": lambda low, high, size, r, random: (
        3.0 ** min(r, 180) * (-1.0) ** (r // 7)
    ),
    "in turn": lambda low, high, size, r, random: (
        high + size if r // 50 % 2 else 0.3 * low + 0.7 * high
    ),
    "outliers": lambda low, high, size, r, random: random.standard_cauchy() ** 3,
    "silent": lambda low, high, size, r, random: random.normal() * (r % 100 < 3),
    "shrinking": lambda low, high, size, r, random: random.normal() * 0.9**r,
}


@pytest.mark.cases(20)
@pytest.mark.parametrize("kind", HOSTILE)
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
        low, high = interval if np.isfinite(interval).all() else (-1.0, 1.0)
        y = HOSTILE[kind](low, high, max(high - low, 1.0), r, random)
        y = float(np.clip(y, -1e90, 1e90))
        c = random.choice([0.5, 1.0, 2.0]) if weighted else 1.0
        before, unit = offsets.total_weights.sum(), offsets.sizes.means[1]
        model.partial_fit(x, [y], sample_weight=[c])
        if offsets.total_weights.sum() > before:
            total += c
            distances = (y - interval) / unit
            is_end = np.abs(distances) <= 1e-9 * np.abs(interval / unit)
            ties += c * is_end.any()
            below += c * (distances[0] < 0.0 and not is_end[0])
            above += c * (distances[1] > 0.0 and not is_end[1])
    if not total:
        return
    of_ends = offsets.ends.largest[0] * (2.0 * offsets.ends.weights[0, 1] - 0.5)
    of_ends = np.maximum(of_ends, 1e-12) / STEP + 1e-9
    for outside, of_end in zip((below, above), of_ends, strict=True):
        assert -of_end - ties <= outside - 0.1 * total <= of_end
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


#: Targets that move ends of several levels towards each other; `j` is any level.
CROSSING = {
    "inside the outer end": lambda low, high, j, r, random: high[-1] - 1e-9,
    "inside the outer ends in turn": lambda low, high, j, r, random: (
        low[0] + 1e-9 if r // 50 % 2 else high[-1] - 1e-9
    ),
    "inside an end": lambda low, high, j, r, random: (
        high[j] - 1e-9 if random.random() < 0.9 else high[-1] + 1.0
    ),
    "between two ends": lambda low, high, j, r, random: (
        (high[j] + high[max(j - 1, 0)]) / 2.0
    ),
    "noise": lambda low, high, j, r, random: random.normal(),
}


@pytest.mark.cases(20)
@pytest.mark.parametrize("kind", CROSSING)
@pytest.mark.parametrize(
    "coverage", [[0.8], [0.5, 0.9], [0.3, 0.6, 0.9], [0.2, 0.4, 0.6, 0.8]]
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("delay", [0, 20, "any"])
@pytest.mark.parametrize("groups", [[0], [1, 2]])
@engines
def test_corrections_of_all_levels_are_bounded(
    kind, coverage, weighted, delay, groups, engine
):
    """Whatever the quantiles, C <= (i + 1/2) D + i (1 + d) STEP at level i.

    Rows of groups come in any order, and each group holds its levels. Its D is also the
    range of the ends that it corrects, whose own corrections have no delay.
    """
    n, k = 1200 if "outer" in kind else 300, len(coverage)
    offsets = Offsets(np.array(coverage))
    offsets.make_groups(1 + groups[-1])
    learn = partial(current_engine().run_loop, learn_rows)
    random, waiting, out = np.random.default_rng(0), [], np.empty((1, 2 * k))
    above, ties, total = np.zeros((3, 2 * k)), np.zeros((3, 2 * k)), np.zeros((3, 1))
    n_learned, d, of_all, of_ends = 0, 0, np.zeros(1, np.intp), (0.0, 0.0)
    for r in range(n):
        scale = 0.0 if "outer" in kind else random.choice([0.0, 0.1, 1.0, 10.0])
        quantiles = np.sort(random.normal(size=(1, 2 * k)) * scale)
        group = random.choice(groups, size=1)
        learn(offsets.ends, of_all, np.zeros(1), quantiles, np.zeros(1), k, out)
        of_ends = min(of_ends[0], out.min()), max(of_ends[1], out.max())
        learn(offsets.ends, group, np.zeros(1), quantiles, np.zeros(1), k, out)
        assert (np.diff(out[0]) >= 0.0).all()
        target = CROSSING[kind](out[0, :k], out[0, k:], random.integers(k), r, random)
        target = float(np.clip(target, -1.0, 1.0))
        waiting.append((group, target, quantiles, out[0].copy(), n_learned))
        if r < (random.integers(2 * n) if delay == "any" else delay):
            continue
        place = random.integers(len(waiting)) if delay == "any" else 0
        group, target, quantiles, ends, n_before = waiting.pop(place)
        d, n_learned = max(d, n_learned - n_before), n_learned + 1
        c = random.choice([0.1, 1.0, 7.0]) if weighted else 1.0
        if delay:
            learn_ends(offsets.ends, group[0], target, quantiles[0], c, k, ends)
        else:
            row = np.array([target]), quantiles, np.array([c])
            learn(offsets.ends, group, *row, k, out)
        total[group] += c
        above[group] += c * (target > ends)
        ties[group] += c * (target == ends)
    range_, levels = np.diff(offsets.ends.limits), np.arange(1, k + 1)
    range_of_all = np.ptp([*offsets.ends.limits, *of_ends])
    lower, upper = np.split(offsets.ends.largest, 2, axis=1)
    found, d_of_all = np.maximum(lower[:, ::-1], upper), 0 if groups[0] else d
    bounds = (levels + 0.5) * range_ + levels * (1.0 + d_of_all) * STEP
    assert (found[0] <= bounds).all()
    bounds = (levels + 0.5) * range_of_all + levels * (1.0 + d) * STEP
    assert (found[groups] <= bounds).all()
    first, largest, _ = offsets.ends.weights.T[..., np.newaxis]
    deviations = (above - (1.0 - offsets.ends.level) * total)[groups]
    bounds = (offsets.ends.largest * (2.0 * largest - first) / STEP)[groups]
    assert (deviations <= bounds + 1e-6).all()
    assert (deviations + ties[groups] >= -bounds - 1e-6).all()


@engines
def test_a_target_that_is_an_end_does_not_move_it(engine):
    ends = Offsets(np.array([0.8])).ends
    learn = partial(current_engine().run_loop, learn_rows)
    for k, error in (None, 3.0), (None, 0.0), (1, "end"), (0, "end"):
        before = ends.correction[0].copy()
        error = before[k] if error == "end" else error
        out, row = np.empty((1, 2)), (np.array([error]), np.zeros((1, 2)), np.ones(1))
        learn(ends, np.zeros(1, np.intp), *row, 1, out)
        assert_array_equal(out[0], before)
        assert_array_equal(ends.correction[0] == before, [k == 0, k == 1])


def test_errors():
    X, y = data(20)
    model = with_intervals(Fixed()).partial_fit(X, y)
    with pytest.raises(ValueError, match="expected 3"):
        model.predict_interval(X[:, :2])
    model.estimator_.predict = lambda X: np.full(len(X), np.nan)
    with pytest.raises(ValueError, match="Fixed predicts a value that is NaN"):
        model.partial_fit(X, y)


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
    random = np.random.default_rng(0)
    X, y = random.normal(size=(90, 2)), np.cumsum(random.normal(size=90)) / 10.0
    model = make_online_pipeline(OnlineScaler(), with_intervals(estimator))
    for rows in (slice(n_fitted // 2), slice(n_fitted // 2, n_fitted)):
        if n_fitted:
            model.partial_fit(X[rows], y[rows])
    late = deepcopy(model).row_by_row().with_late_labels()
    ends = [n_fitted, n_fitted + 5, n_fitted + 6, 60, 90]
    chunks = [(X[start:end], y[start:end]) for start, end in pairwise(ends)]
    metrics = ["coverage", "mean_width"]
    result = progressive_validation(model, chunks, metrics=metrics, delay=10)
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


# Tables.


def noisy_table(n):
    """Rows whose noise grows with a number; columns of several kinds."""
    rng = np.random.default_rng(0)
    late = np.where(np.arange(n) < 30, np.nan, rng.normal(size=n))
    columns = {"c": rng.choice(["a", "b"], n), "z": rng.integers(0, 50, n)}
    frame = pd.DataFrame({**columns, "late": late, "is_low": columns["z"] < 9})
    return frame, rng.normal(size=n) * (0.1 + frame["z"].to_numpy())


FORMS = {
    "reordered": lambda frame: frame[frame.columns[::-1]],
    "dicts": lambda frame: frame.to_dict("records"),
    "nullable": lambda frame: frame.convert_dtypes(),
    "texts": lambda frame: frame.astype({"z": str}),
    "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
    "arrow": lambda frame: pytest.importorskip("pyarrow").Table.from_pandas(frame),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "steps", [[TableEncoder()], [OnlineHistory(["c"]), TableEncoder()]], ids=len
)
def test_intervals_of_tables_in_any_form(form, steps):
    frame, y = noisy_table(160)
    model = with_intervals(make_online_pipeline(*steps, ScInOLRegressor()))
    model.partial_fit(frame[:100], y[:100])
    given, frame, y, other = (
        FORMS[form](frame[100:]),
        frame[100:],
        y[100:],
        deepcopy(model),
    )
    assert_array_equal(model.predict_interval(given), model.predict_interval(frame))
    learn = partial(other.partial_fit_predict, method="predict_interval")
    intervals = learn(given, y)
    assert_array_equal(intervals, intervals_of(model, frame, y))
    assert_identical(learned(other), learned(model))
    widths = np.diff(intervals)[:, 0]
    assert np.corrcoef(widths, frame["z"])[0, 1] > 0.5


def test_intervals_of_tables_do_not_depend_on_chunks():
    frame, y = noisy_table(60)
    model = with_intervals(make_online_pipeline(TableEncoder(), ScInOLRegressor()))
    whole, rows = clone(model).partial_fit(frame, y), model.row_by_row()
    for x, target in zip(frame.to_dict("records"), y, strict=True):
        rows.learn_one(x, target)
    assert_identical(learned(model), learned(whole))
    lacking = {"c": "a", "is_low": False}
    interval = rows.predict_interval_one(lacking)
    of_frame = frame[:1].assign(c="a", is_low=False, late=None, z=pd.array([pd.NA]))
    assert_array_equal(whole.predict_interval(of_frame), [interval])


def test_transformers_of_other_packages_may_take_columns_in_any_order():
    frame, y = noisy_table(60)
    take = FunctionTransformer(lambda frame: frame[["z", "late"]].fillna(0.0))
    model = with_intervals(make_online_pipeline(take, ScInOLRegressor()))
    numbers = frame[["z", "late"]]
    model.partial_fit(numbers, y)
    more = numbers[["late", "z"]].assign(more=1.0)
    assert_array_equal(model.predict_interval(more), model.predict_interval(numbers))


def test_missing_numbers_of_nullable_types():
    X = pd.DataFrame({"a": pd.array([1, None, 3, 4] * 5, dtype="Int64"), "b": 1.0})
    model = with_intervals(make_online_pipeline(OnlineBinner(), ScInOLRegressor()))
    plain = X.astype(float)
    model.partial_fit(plain, np.arange(20.0))
    assert_array_equal(model.predict_interval(X), model.predict_interval(plain))
