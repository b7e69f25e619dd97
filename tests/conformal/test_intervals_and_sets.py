"""Intervals and sets of labels: what holds for both, in learning and in failing."""

import pickle
from copy import deepcopy
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.preprocessing import StandardScaler
from support.comparisons import assert_identical
from support.conformal import (
    INTERVALS,
    SETS,
    in_halves,
    labels,
    learned,
    targets,
    weights,
)
from support.estimator_checks import with_checks
from support.registry import ENGINES, paired

from sklearn_scinol import OnlineConformalRegressor, ScInOLRegressor, merge_models
from sklearn_scinol.conformal import conformal_estimator
from sklearn_scinol.persistence import load, save
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineScaler, TableEncoder

KINDS = {
    "intervals": INTERVALS,
    "sets": SETS,
    "intervals by thirds": INTERVALS._replace(groups="auto"),
    "intervals by column": INTERVALS._replace(groups=1, data=in_halves(targets)),
    "sets by thirds": SETS._replace(groups="auto"),
    "sets by column": SETS._replace(groups=1, data=in_halves(labels)),
}

kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
both_kinds = pytest.mark.parametrize("kind", [*KINDS.values()][:2], ids=[*KINDS][:2])
mixed = pytest.mark.parametrize("is_mixture", [False, True])
engines = pytest.mark.parametrize("engine", ENGINES, indirect=True)


def estimator_of(kind, is_mixture):
    return kind.mixture if is_mixture else kind.linear()


@pytest.mark.cases(2)
@kinds
@mixed
@engines
def test_what_is_predicted_is_what_is_charged(kind, is_mixture, engine):
    X, y = kind.data(60)
    whole = kind.make(estimator_of(kind, is_mixture))
    said = kind.said(whole, X, y)
    model = clone(whole).partial_fit(X[:1], y[:1], **kind.first)
    assert np.isnan(model.coverage_)  # nothing is measured
    for r in range(1, len(y)):
        row = X[r : r + 1], y[r : r + 1]
        before = deepcopy(learned(model))
        assert_allclose(kind.predict(model, row[0])[0], said[r], rtol=1e-9)
        assert_identical(learned(model), before)
        model.partial_fit(*row)
    assert said[:2].all() if not kind.has_ends else np.isinf(said[:2]).all()


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("kind", "n_outputs"),
    [(INTERVALS, None), (INTERVALS, 2), (SETS, 3)],
    ids=["intervals", "intervals of 2 outputs", "sets"],
)
@mixed
@engines
def test_chunks_do_not_matter(kind, n_outputs, is_mixture, engine):
    X, y = kind.data(60, n_outputs)
    c, levels = weights(len(y)), [0.5, 0.9]
    whole = kind.make(estimator_of(kind, is_mixture), levels)
    said = kind.said(whole, X, y, sample_weight=c)
    for ends in [1, 2, 30], range(1, len(y)):
        model, found = clone(whole), []
        for rows in np.split(np.arange(len(y)), ends):
            found.append(kind.said(model, X[rows], y[rows], sample_weight=c[rows]))
        assert_array_equal(np.concatenate(found), said)
        assert_identical(learned(model), learned(whole))
    assert_identical(learned(clone(whole).fit(X, y, c)), learned(whole))


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("kind", "n_outputs", "names", "engine"),
    [
        (INTERVALS, None, None, "numpy"),
        (INTERVALS, 2, None, "uncompiled"),
        (INTERVALS, None, None, "numba"),
        (SETS, 3, ["a", "b", "c"], "numpy"),
        (SETS, 3, None, "numba"),
    ],
    indirect=["engine"],
)
def test_row_by_row(kind, n_outputs, names, engine):
    X, y = kind.data(80, n_outputs)
    c, first = weights(len(y)), kind.first
    if names:
        y, first = np.array(names)[y], {"classes": names}
    whole = kind.make(kind.mixture, [0.5, 0.9])
    said = kind.said(whole, X, y, sample_weight=c, **first)
    rows = kind.make(kind.mixture, [0.5, 0.9]).row_by_row(**first)
    rows = pickle.loads(pickle.dumps(rows))
    model = rows.estimator
    found = [
        rows.predict_learn_one(*row, method=kind.method)
        for row in zip(X, y, c, strict=True)
    ]
    assert_array_equal(found, said)
    assert_identical(learned(model), learned(whole))
    methods = [*model._METHODS]
    both = rows.predict_learn_one(X[0], y[0], 0.0, method=methods)
    for found, method in zip(both, methods, strict=True):
        one = getattr(rows, f"{method}_one")(X[0])
        assert_array_equal(one, getattr(whole, method)(X[:1])[0])
        assert np.array_equal(found, one) or np.allclose(found, one, rtol=1e-9)
    rows.learn_one(X[0], y[0])
    assert_identical(learned(model), learned(whole.partial_fit(X[:1], y[:1])))


def restarted(late):
    """Return other late labels of a copy, where the rows wait again."""
    other = deepcopy(late.rows.estimator).row_by_row().with_late_labels()
    for key, x in pickle.loads(pickle.dumps(late.items())):
        other.keep_one(x, key)
    return other


@pytest.mark.cases(4)
@both_kinds
@pytest.mark.parametrize(
    ("delay", "how"),
    paired(
        [0, 5, 20], [*product([0.8, [0.5, 0.8]], [False, True], [deepcopy, restarted])]
    ),
)
def test_late_labels_learn_what_was_served(kind, delay, how, engine):
    """Rows count as they were served, also if their class came while they waited."""
    levels, in_pipeline, again = how
    X, y = kind.data(100)
    y, new = y.cumsum() / 9.0, {}
    if not kind.has_ends:
        y, new = kind.data(100)[1], {"new_classes": "add"}
        y = np.where(np.arange(100) < 50, y % 2, y)
        y[:3] = 0, 1, 0
    model = kind.make(kind.linear(**new), levels)
    if in_pipeline:
        model = make_online_pipeline(OnlineScaler(), model)
    late = model.partial_fit(X[:3], y[:3]).row_by_row().with_late_labels()

    def counts():
        model = late.rows.estimator
        (output,) = (model[-1] if in_pipeline else model)._outputs
        return output.total_weights[0], *deepcopy(output.sums[0])

    def counted(said, target):
        """Whether a target is covered, and the size of its interval or set."""
        if kind.has_ends:
            return (said[0] <= target) & (target <= said[1]), said[1] - said[0]
        outside = np.zeros(said.shape[1:])
        return said[target] if target < len(said) else outside, said.sum(axis=0)

    before, served = counts(), []
    for r in range(3, 100):
        expected = getattr(late.rows, f"{kind.method}_one")(X[r])
        if r % 3:
            found = getattr(late, f"{kind.method}_one")(X[r], r)
            assert_allclose(1.0 * found, 1.0 * expected, rtol=1e-12)
        else:
            late.predict_one(X[r], r)
        served.append(expected)
        if r == 50:
            late = again(late)
        if r >= delay + 3:
            late.learn_one(r - delay, y[r - delay])
    pairs = [counted(*pair) for pair in zip(served, y[3 : 100 - delay], strict=False)]
    n, covered, sizes = (now - then for now, then in zip(counts(), before, strict=True))
    assert n == len(pairs)
    assert_array_equal(covered, np.atleast_1d(sum(1 * each for each, _ in pairs)))
    assert_allclose(sizes, np.atleast_1d(sum(size for _, size in pairs)))


@kinds
def test_levels(kind):
    X, y = kind.data(2000)
    model = kind.make(level=[0.5, 0.7, 0.9])
    said = kind.said(model, X, y)
    assert said.shape == (2000, said.shape[1], 3)
    growth = np.diff(1.0 * said[3:], axis=2)  # the first are infinite
    if kind.has_ends:
        growth[:, 0] *= -1.0  # of lower ends
    assert (growth >= 0.0).all()
    assert_allclose(model.coverage_, [0.5, 0.7, 0.9], atol=0.03)
    assert model.coverage_bound().shape == (3,)
    asked = kind.predict(model, X)
    in_pipeline = make_online_pipeline("passthrough", model)
    for each in model, in_pipeline:
        ask = getattr(each, kind.method)
        assert_array_equal(ask(X, confidence_level=0.5), asked[..., 0])
        assert_array_equal(ask(X, confidence_level=[0.9, 0.7]), asked[..., [2, 1]])
        with pytest.raises(ValueError, match=r"confidence_level=0\.8 was not learned"):
            ask(X, confidence_level=0.8)
    assert not hasattr(make_online_pipeline(kind.linear()), kind.method)


@pytest.mark.parametrize(
    "coverage", [0.0, 1.0, [], [0.5, 1.0], [[0.5]], [0.5, 0.5], [0.6, 0.5]]
)
def test_bad_coverage(coverage):
    for kind in KINDS.values():
        with pytest.raises(ValueError, match="confidence_level"):
            kind.make(level=coverage).partial_fit([[1.0]], [1], **kind.first)


@kinds
def test_none_stands_for_the_mixture(kind):
    X, y = kind.data(6)
    model = kind.model().partial_fit(X, y, **kind.first)
    assert isinstance(model.estimator_, type(kind.mixture))
    assert model.n_samples_seen_ == 6
    assert model.n_features_in_ == 3
    assert model.cumulative_loss_ == model.estimator_.cumulative_loss_
    if kind.has_ends:
        prediction, deviation = model.predict(X, return_std=True)
        assert_array_equal(prediction, model.predict(X))
        assert deviation.shape == prediction.shape


@kinds
def test_layouts(kind):
    X, y = kind.data()
    model = kind.make(kind.linear(center=False))
    said = kind.said(clone(model), X[1:], y[1:])
    if kind.has_ends:  # whose widths are learned from dense features alone
        said = kind.said(clone(model).partial_fit(X[:1], y[:1]), X[1:], y[1:])
        model = model.partial_fit(X[:1], y[:1])
    rows = model.row_by_row(n_features=3, **kind.first)
    found = kind.said(deepcopy(model), sparse.csr_array(X[1:]), y[1:])
    assert_allclose(found, said, rtol=1e-9)
    found = [
        rows.predict_learn_one((np.arange(3), x), label, method=kind.method)
        for x, label in zip(X[1:], y[1:], strict=True)
    ]
    assert_allclose(found, said, rtol=1e-9)


@pytest.mark.cases(300)
@with_checks(*(kind.make() for kind in (INTERVALS, SETS)))
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@kinds
def test_bad_input_changes_nothing(kind):
    X, y = kind.data(50)
    for estimator in kind.mixture, make_online_pipeline(kind.elsewhere):
        model = kind.make(estimator)
        for rows in slice(30), slice(30, 50):
            model.partial_fit(X[rows], y[rows], **kind.first)
        before = deepcopy(learned(model))
        bad = X.copy()
        bad[7, 1] = np.nan
        other = y + 7 if not kind.has_ends else np.full(50, np.inf)
        for each in (bad, y), (X, other), (X[:, :2], y), (X, y[:3]):
            with pytest.raises(ValueError):  # noqa: PT011  (in scikit-learn's words)
                model.partial_fit(*each)
            assert_identical(learned(model), before)
        with pytest.raises(ValueError, match="method must be one of"):
            model.partial_fit_predict(X, y, method="decision_function")
        with pytest.raises(ValueError, match="weight"):
            model.partial_fit(X, y, sample_weight=-np.ones(50))
        assert_identical(learned(model), before)


@kinds
def test_failure_after_the_estimator_has_learned(kind, monkeypatch):
    X, y = kind.data(50)
    model = kind.make(kind.mixture).partial_fit(X[:30], y[:30], **kind.first)
    before = deepcopy(learned(model))
    twin = deepcopy(model)

    def fail(*arguments):
        raise KeyboardInterrupt

    for each in model, make_online_pipeline(model), model.row_by_row():
        with monkeypatch.context() as patch:
            patch.setattr(type(model._outputs[0]), "_add_to_sums", fail)
            with pytest.raises(KeyboardInterrupt):
                if hasattr(each, "learn_one"):
                    each.learn_one(X[30], y[30])
                else:
                    each.partial_fit(X[30:], y[30:])
        assert_identical(learned(model), before)
    model.partial_fit(X[30:], y[30:])
    assert_identical(learned(model), learned(twin.partial_fit(X[30:], y[30:])))


@kinds
def test_errors(kind):
    X, y = kind.data(20)
    with pytest.raises(NotFittedError):
        kind.predict(kind.make(), X)
    wrong = SGDClassifier() if kind.has_ends else SGDRegressor()
    message = "SGDClassifier should be a regressor|'estimator' parameter"
    for estimator in wrong, StandardScaler():
        with pytest.raises(ValueError, match=message):
            kind.model(estimator).partial_fit(X, y)
    for name in "coverage_", "classes_":
        assert not hasattr(kind.model(), name)


@both_kinds
def test_first_chunk_goes_in_parts(kind):
    """Only the first 100 rows have no honest prediction, in one call or in several."""
    X, y = kind.data(250)
    made = kind.make(kind.elsewhere, [0.5, 0.9])
    whole, parts = clone(made), clone(made)
    said = kind.said(whole, X, y, sample_weight=weights(250))
    rows = [slice(start, min(start + 100, 250)) for start in (0, 100, 200)]
    of_parts = [
        kind.said(parts, X[part], y[part], sample_weight=weights(250)[part])
        for part in rows
    ]
    assert_array_equal(said, np.concatenate(of_parts))
    assert np.isinf(said[:100]).all() if kind.has_ends else said[:100].all()
    assert np.isfinite(said[110:]).all() if kind.has_ends else not said[110:].all()
    assert_identical(learned(whole), learned(parts))
    assert_identical(learned(clone(made).fit(X, y, weights(250))), learned(whole))
    for wrong in (X[:240], y), (X, y[:240]), (X, y, weights(240)):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            clone(made).fit(*wrong)
    assert clone(made).fit(X, y, 2.0).coverage_.shape == (2,)


@pytest.mark.cases(2)
@kinds
@mixed
def test_merging(kind, is_mixture):
    X, y = kind.data(1200)
    model = kind.make(estimator_of(kind, is_mixture))
    start = clone(model).partial_fit(X[:200], y[:200], **kind.first)
    parts = slice(200, 600), slice(600, 1200)
    models = [deepcopy(start).partial_fit(X[part], y[part]) for part in parts]
    merged = merge_models(models, start=start)
    assert merged.n_samples_seen_ == 1200
    new, targets = kind.data(1000, seed=1)
    covered = kind.covered(kind.predict(merged, new), targets)
    # Nothing more is learned; groups have few rows each.
    assert abs(covered.mean() - 0.8) < (0.1 if kind.groups is None else 0.12)
    counts = [m.coverage_ * m._outputs[0].total_weights[0] for m in (*models, start)]
    total = merged._outputs[0].total_weights[0]
    assert_allclose(merged.coverage_ * total, counts[0] + counts[1] - counts[2])
    merged.partial_fit(new[:9], targets[:9])
    with pytest.raises(AttributeError, match="holds for each of the models"):
        merged.coverage_bound()
    other = clone(model).set_params(confidence_level=0.9)
    other.partial_fit(X[:9], y[:9], **kind.first)
    with pytest.raises(ValueError, match="confidence_level differs"):
        merge_models([start, other])
    if kind.groups == 1:  # which an encoder would replace
        return
    pipeline = make_online_pipeline(TableEncoder(), kind.make())
    pipelines = [
        clone(pipeline).partial_fit(X[part], y[part], **kind.first) for part in parts
    ]
    covered = kind.covered(kind.predict(merge_models(pipelines), new), targets)
    assert abs(covered.mean() - 0.8) < 0.1


# Groups of rows that hold the level each.


def table(n=400, seed=0):
    """Rows of three places, whose noise differs."""
    rng = np.random.default_rng(seed)
    places = rng.choice(["north", "south", None], size=n, p=[0.6, 0.3, 0.1])
    noise = np.where(places == "south", 5.0, 1.0) * rng.normal(size=n)
    frame = pd.DataFrame({"size": rng.normal(size=n), "place": places})
    return frame, frame["size"].to_numpy() + noise


def by_place(**parameters):
    pipeline = make_online_pipeline(TableEncoder(), ScInOLRegressor())
    return OnlineConformalRegressor(pipeline, groups="place", **parameters)


@both_kinds
@pytest.mark.parametrize("groups", ["auto", 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_group_is_within_its_bound(kind, groups, weighted):
    """Each group, and all: sums of rows that were covered, but for ties."""
    rng = np.random.default_rng(0)
    X, y = kind.data(3000)
    X[:, 1] = rng.choice(5, size=len(y), p=[0.5, 0.3, 0.1, 0.09, 0.01])
    c = rng.choice([0.0, 0.1, 1.0, 7.0], size=len(y)) if weighted else None
    model = kind.make(level=[0.5, 0.9]).set_params(groups=groups)
    covered = kind.covered(kind.said(model, X, y, sample_weight=c), y)
    coverage, bounds = model.group_coverage_, model.coverage_bound(by_group=True)
    assert [*coverage] == [*bounds] == model.groups_
    (state,) = model._outputs
    for label, bound in bounds.items():
        assert (np.abs(coverage[label] - [0.5, 0.9]) <= bound + 1e-9).all()
    weights = state.total_weights[1:, np.newaxis]
    for found, whole in (coverage, model.coverage_), (bounds, model.coverage_bound()):
        total = (weights * np.array([*found.values()])).sum(axis=0)
        assert_allclose(total / weights.sum(), whole)
    if groups == 1 and not weighted:
        for label in model.groups_:
            is_of_group = (X[:, 1] == label) & (np.arange(len(y)) > 2)
            near = covered[is_of_group].mean(axis=0)
            assert_allclose(coverage[label], near, atol=2.0 / is_of_group.sum())


def test_columns_of_frames():
    """By name or as several, of rows of any kind; a missing value is a group."""
    frame, y = table()
    model = by_place().partial_fit(frame[:200], y[:200])
    assert {*model.groups_} == {"north", "south", None}
    twin = deepcopy(model)
    said = model.partial_fit_predict(frame[200:], y[200:], method="predict_interval")
    rows = twin.row_by_row()
    records = frame[200:].to_dict("records")
    found = [
        rows.predict_learn_one(x, target, method="predict_interval")
        for x, target in zip(records, y[200:], strict=True)
    ]
    assert_array_equal(found, said)
    assert model.group_coverage_ == twin.group_coverage_
    pa = pytest.importorskip("pyarrow")
    batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    expected = model.predict_interval(frame)
    assert_array_equal(model.predict_interval(batch), expected)
    for record in records:  # dicts may lack a column, once it is known
        if record["place"] is None:
            del record["place"]
    assert_array_equal(model.predict_interval(records), expected[200:])
    with pytest.raises(ValueError, match="no column 'place'"):
        by_place().partial_fit([{"size": 1.0}], [1.0])
    named = OnlineConformalRegressor(
        model.estimator, groups=lambda X: X["place"].fillna("none")
    )
    listed = by_place().set_params(groups=["place", "place"])
    for other in named, listed:
        other.partial_fit(frame, y)
        assert [*other.group_coverage_.values()] == [*model.group_coverage_.values()]
    assert listed.groups_ == [(label, label) for label in model.groups_]


def test_rows_of_a_new_group():
    frame, y = table()
    model = by_place().partial_fit(frame, y)
    state = deepcopy(learned(model))
    new = frame[:5].assign(place="west")
    missing = model.predict_interval(frame[:5].assign(place=frame["place"].iloc[0]))
    assert (model.predict_interval(new) != missing).all()
    assert_identical(learned(model), state)
    model.partial_fit(new, y[:5], sample_weight=np.zeros(5))
    assert "west" not in model.groups_
    model.partial_fit(new, y[:5])
    assert model.groups_[-1] == "west"


def test_saved_and_merged(tmp_path):
    frame, y = table(900)
    start = by_place().partial_fit(frame[:20], y[:20])
    save(start, tmp_path / "model.skops")
    parts = [frame[20:500], frame[500:].assign(place="west")]
    models = [load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(start))]
    for model, part in zip(models, parts, strict=True):
        model.partial_fit(part, y[part.index])
    merged = merge_models(models, start=start)
    assert {*merged.groups_} == {"north", "south", None, "west"}
    (state,) = merged._outputs
    codes = {label: code for code, label in enumerate(merged.groups_, 1)}
    assert_allclose(state.total_weights[codes["west"]], 400.0)
    (alone,) = models[0]._outputs
    for label in "north", "south":
        own = alone.ends.correction[1 + models[0].groups_.index(label)]
        assert_allclose(state.ends.correction[codes[label]], own)
    merged.partial_fit(frame[:9], y[:9])


def test_several_outputs():
    X, y = INTERVALS.data(200, n_outputs=2)
    model = INTERVALS.make(level=[0.5, 0.9]).set_params(groups="auto").partial_fit(X, y)
    assert model.group_coverage_["wide, low"].shape == (2, 2)


@both_kinds
def test_errors_of_groups(kind, monkeypatch):
    X, y = kind.data(40)
    model = kind.make().set_params(groups=1)
    monkeypatch.setattr(conformal_estimator, "MAX_GROUPS", 10)
    model.partial_fit(X[:5], y[:5], **kind.first)
    state = deepcopy(learned(model))
    with pytest.raises(ValueError, match="groups=1 makes more than 10 groups"):
        model.partial_fit(X, y)
    assert_identical(learned(model), state)
    with pytest.raises(NotFittedError):
        kind.make().group_coverage_  # noqa: B018
    for wrong, words in (1.5, "The 'groups' parameter"), ([[]], "groups must name"):
        with pytest.raises(ValueError, match=words):
            kind.make().set_params(groups=wrong).partial_fit(X, y, **kind.first)
    for wrong in "place", 7, [], lambda X: X[:3, 0], lambda X: X:
        with pytest.raises(ValueError, match="groups"):
            kind.make().set_params(groups=wrong).partial_fit(X, y, **kind.first)


@both_kinds
def test_groups_of_few_rows_correct_the_ends_of_all_rows(kind):
    X, y = kind.data(3000)
    X[:, 1] = np.arange(len(y)) // 60 * 6 + np.arange(len(y)) % 6
    model = kind.make(level=0.9).set_params(groups=1)
    covered = kind.covered(kind.said(model, X, y), y)[200:]
    assert abs(covered.mean() - 0.9) < 0.02


@pytest.mark.parametrize("dtype", ["string", "category", "object"])
def test_missing_values_are_one_group(dtype):
    frame, y = table(30)
    frame["place"] = frame["place"].astype("string").astype(dtype)
    model = by_place().partial_fit(frame, y)
    rows = [{"size": 1.0, "place": gap} for gap in (pd.NA, pd.NaT, np.nan, None, "")]
    model.partial_fit(rows, np.arange(5.0))
    assert {*model.groups_} == {"north", "south", None}


DAYS = np.array(["2026-01-01", "2026-01-02T03"], "M8[ns]")


@pytest.mark.parametrize(
    ("values", "others"),
    [
        (np.array([1, 0]), [np.int64(1), np.int8(0)]),
        (np.array([True, False]), [np.True_, False]),
        (pd.array([1, None], dtype="Int64"), [1, pd.NA]),
        (DAYS, [*pd.to_datetime(DAYS)]),
        (DAYS, [*DAYS.astype("M8[s]")]),
        (pd.to_datetime(DAYS).tz_localize("UTC"), [*DAYS]),
    ],
)
def test_groups_are_the_same_in_frames_and_dicts(values, others):
    frame = pd.DataFrame({"size": [1.0, 2.0], "place": values})
    model = by_place().partial_fit(pd.concat([frame, frame]), np.arange(4.0))
    labels = model.groups_
    dicts = [{"size": 1.0, "place": other} for other in others]
    model.partial_fit(dicts, [1.0, 2.0])
    assert model.groups_ == labels
    assert len(labels) == 2
