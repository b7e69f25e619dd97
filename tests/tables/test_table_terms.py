"""Plots of what linear models have learned of the columns of a table."""

import datetime as dt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import clone
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from support.tables import KINDS, SETTINGS, late_table, table

from sklearn_scinol import (
    AdaImplicitClassifier,
    HedgeClassifier,
    HedgeRegressor,
    OnlineKNeighborsClassifier,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import BaselineClassifier
from sklearn_scinol.inspection import Term, TermsDisplay
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

pytestmark = pytest.mark.usefixtures("pyplot")

#: Columns of a table and their parts.
PARTS = {(name, kind) for name, kind in KINDS.items() if kind != "date"}
PARTS |= {("when", part) for part in ("time", "season", "weekday", "hour")}


def targets(rows):
    """Return classes that depend on every kind of column."""
    score = [
        (row["age"] or 0.0) / 20
        + (row["city"] == "c1")
        + bool(row["flag"])
        + ("free" in (row["message"] or ""))
        for row in rows
    ]
    return np.digitize(score, [2.0, 3.5])


def learned(estimator, rows, n_classes=2, **settings):
    """Return a pipeline that has learned the rows."""
    encoder = TableEncoder(**SETTINGS | {"n_hashed": 2**12} | settings)
    model = make_online_pipeline(encoder, clone(estimator))
    y = np.minimum(targets(rows), n_classes - 1)
    classes = {"classes": range(n_classes)} if is_classifier(estimator) else {}
    return model.partial_fit(rows, y, **classes)


def all_terms(model, **options):
    """Return all terms by column and part."""
    columns = list(model[-2].kinds_)
    terms = model.plot_terms(columns, **options).terms
    return {(term.column, term.part): term for term in terms}


ESTIMATORS = [
    ScInOLClassifier(),
    AdaImplicitClassifier(),
    BaselineClassifier(),
    SGDClassifier(loss="log_loss", random_state=0),
    ScInOLRegressor(),
    pytest.param(HedgeClassifier(exclude=["pools"]), marks=pytest.mark.slow),
    pytest.param(HedgeRegressor(), marks=pytest.mark.slow),
]


@pytest.mark.cases(3)
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_terms_are_differences_of_decisions(estimator, late):
    """Rows that differ in one column differ in its term."""
    rows = (late_table if late else table)(300)
    model = learned(estimator, rows, interactions=None)
    terms = all_terms(model)
    assert {*terms} == PARTS
    base = dict.fromkeys(model[0].kinds_)

    def decisions(column, values):
        changed = [base | {column: value} for value in (None, *values)]
        # One mixes probabilities, the other clips predictions.
        if isinstance(estimator, HedgeClassifier | HedgeRegressor):
            X, last = model[0].transform(changed), model[-1]
            return X @ last.coef_.ravel() + last.intercept_
        decide = getattr(model, "decision_function", model.predict)
        return decide(changed)

    for name, kind in KINDS.items():
        if kind == "date":
            continue
        term = terms[name, kind]
        points, values = term.points.tolist(), term.values
        if kind == "text":  # words; pairs come with two words
            points = [word for word in points if " " not in word]
            values = values[[" " not in word for word in term.points]]
        if kind == "number":  # rows with new maxima are predicted with other weights
            seen = [row[name] for row in rows if row[name] is not None]
            is_known = np.abs(term.points - np.mean(seen)) <= np.std(seen)
            values = values[is_known]
            points = term.points[is_known].tolist()
        if kind == "boolean":
            assert points == ["False", "True"]
            points = [False, True]
        expected = decisions(name, points)
        assert np.ptp(values) > 0.0 or name == "constant"
        assert_allclose(
            values - term.missing, expected[1:] - expected[0], rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("late", [False, True])
def test_terms_of_dates_add_up(late):
    rows = (late_table if late else table)(300)
    model = learned(ScInOLClassifier(), rows)
    terms = all_terms(model)
    parts = [terms["when", part] for part in ("time", "season", "weekday", "hour")]
    time, season, weekday, hour = parts
    base = dict.fromkeys(model[0].kinds_)
    for moment, of_time in zip(time.points.tolist(), time.values, strict=True):
        missing, there = model.decision_function([base, base | {"when": moment}])
        day = dt.date(2000, moment.month, moment.day)
        # The year of the season has a 29th of February.
        n_day = (moment.date() - dt.date(moment.year, 1, 1)).days
        is_leap_day = n_day == (day - dt.date(2000, 1, 1)).days
        if not is_leap_day:
            continue
        expected = of_time + season.values[n_day]
        expected += weekday.values[moment.weekday()] + hour.values[moment.hour]
        assert_allclose(there - missing, expected - time.missing, atol=1e-9)


def test_pairs_of_words():
    model = learned(ScInOLClassifier(), table(300), interactions=None)
    term = all_terms(model)["message", "text"]
    of_words = dict(zip(term.points, term.values, strict=True))
    expected = of_words["free"] + of_words["entry"] + of_words["free entry"]
    base = dict.fromkeys(model[0].kinds_)
    texts = [base | {"message": text} for text in (" ", "free entry")]
    without, there = model.decision_function(texts)
    assert_allclose(there - without, expected, atol=1e-9)


@pytest.mark.parametrize("n_hashed", [5, 2**18])
def test_hashed_values_and_combinations(n_hashed):
    """Combinations have names that begin as those of values do."""
    rows = table(300)
    model = learned(ScInOLClassifier(), rows, n_named=2, n_hashed=n_hashed)
    term = all_terms(model)["city", "category"]
    cities = {row["city"] for row in rows} - {None}
    assert {*term.points} <= cities
    if n_hashed > 5:  # else only the first two of a column are remembered
        assert {*term.points} == cities
    # The combinations are the same for equal rows but for the city: leave them out.
    coef, encoder = model[-1].coef_[0], model[0]
    settings = SETTINGS | {"n_named": 2, "n_hashed": n_hashed, "interactions": None}
    alone = TableEncoder(**settings).fit(rows)
    X = alone.transform([{"city": city} for city in term.points])
    base = alone.transform([{}])
    assert X.shape[1] == encoder.transform(rows[:1]).shape[1] == coef.size
    assert_allclose(
        term.values - term.missing, X @ coef - base @ coef, rtol=1e-9, atol=1e-9
    )


def test_numbers():
    rows = [{"n": k % 7} for k in range(300)]
    model = make_online_pipeline(TableEncoder(), ScInOLRegressor())
    model.partial_fit(rows, [row["n"] ** 2 for row in rows])
    (term,) = model.plot_terms().terms
    assert isinstance(term, Term)
    assert_array_equal(term.points[term.recurs], np.arange(7))
    assert_array_equal(np.sort(term.points), term.points)
    edges = model[0]._encoding.groups[0].bins.edges[0]
    for edge in edges[~np.isnan(edges)]:
        assert {edge, np.nextafter(edge, 9), np.nextafter(edge, -9)} <= {*term.points}
    assert term.points[0] < 0
    assert term.points[-1] > 6
    assert term.missing == 0.0


EXTREMES = {
    "largest numbers": [
        {"a": 1.7e308 * (-1) ** k, "b": 5e-324 * k} for k in range(150)
    ],
    "first and last dates": [
        {"a": dt.datetime(1 + 9998 * (k % 2), 1, 1)} for k in range(9)
    ],
    "one row": table(1),
    "empty texts": [{"a": "", "b": "=", "c": "a b c d"}] * 5,
    "nothing": [{"a": None}] * 3,
    "too few numbers for bins": [{"a": k**0.5, "b": 3.0, "c": None} for k in range(99)],
    "close numbers": [{"a": 1e9 + k * 1e-6} for k in range(150)],
}


@pytest.mark.cases(3)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        *((name, None) for name in EXTREMES),
        *(("nothing", kind) for kind in ("number", "category", "date", "text")),
    ],
)
def test_extremes(name, kinds):
    rows = EXTREMES[name]
    encoder = TableEncoder(n_hashed=64, kinds=kinds and {"a": kinds})
    model = make_online_pipeline(encoder, ScInOLRegressor())
    display = model.partial_fit(rows, np.arange(len(rows))).plot_terms()
    for term in display.terms:
        assert np.isfinite(term.values).all()
        is_number = term.points.dtype.kind == "f"
        assert not is_number or np.isfinite(term.points).all()
    assert bool(display.terms) == (name != "nothing")
    if display.terms:
        display.figure_.canvas.draw()


def test_order_and_what_is_not_shown():
    model = learned(ScInOLClassifier(), table(300))
    display, everything = model.plot_terms(), all_terms(model)
    variations = [np.ptp([*term.values, term.missing]) for term in display.terms]
    assert len(variations) == len(display.axes_) == 9
    assert variations == sorted(variations, reverse=True)
    shown = {(term.column, term.part) for term in display.terms}
    smaller = [everything[key].variation for key in everything.keys() - shown]
    assert max(smaller) <= variations[-1]
    pairs = ["city & flag", "age & city", "gain & flag & city"]
    assert display.not_shown == [*pairs, "2 smaller terms"]
    assert "smaller terms" in display.figure_.get_supxlabel()
    ((low, high),) = limits_of_terms(display)
    values = np.concatenate([[0.0, t.missing, *t.values] for t in display.terms])
    margin = 0.05 * np.ptp(values)
    assert_allclose((low, high), (values.min() - margin, values.max() + margin))


def test_pools_are_not_shown():
    others = ["constant-forgetting", "last-label", "dense view", "pools"]
    for mixture, expected in (
        (HedgeClassifier(), others),
        (HedgeClassifier(exclude=["pools"]), others[::2]),
        (HedgeRegressor(), others[::2]),
    ):
        model = learned(mixture, table(60), interactions=None)
        assert model.plot_terms(["age"]).not_shown == expected


@pytest.mark.parametrize("estimator", [HedgeClassifier(), HedgeRegressor()], ids=str)
def test_rare_categories(estimator):
    rows = table(400)
    for k in 5, 6:
        rows[k]["city"] = "rare"
    model = learned(estimator, rows, interactions=None)
    assert "rare" in all_terms(model)["city", "category"].points
    assert abs(model[-1].coef_).max() < 50.0


@pytest.mark.parametrize("output", [0, 1, 2])
def test_several_classes(output):
    model = learned(ScInOLClassifier(), table(300), n_classes=3, interactions=None)
    display = model.plot_terms(["flag"], output=output)
    assert display.label == str(output)
    rows = [dict.fromkeys(model[0].kinds_) | {"flag": flag} for flag in (False, True)]
    without, there = model.decision_function(rows)[:, output]
    assert_allclose(display.terms[0].values, [0.0, there - without], atol=1e-9)


def limits_of_terms(display):
    """Return the limits of each axis of terms."""
    return {
        ax.get_xlim() if ax.get_xlabel().startswith("term") else ax.get_ylim()
        for ax in display.axes_
    }


def test_axes(pyplot):
    model = learned(ScInOLClassifier(), table(60))
    figure, axes = pyplot.subplots(2)
    display = model.plot_terms(["flag", "age"], axes=axes)
    assert display.figure_ is figure
    assert [term.column for term in display.terms] == ["flag", "age"]
    assert len(limits_of_terms(display)) == 1
    with pytest.raises(ValueError, match="Expected 4 axes, got 2"):
        model.plot_terms(["when"], axes=axes)
    # Drawn again, in a figure of its own.
    assert display.plot().figure_ is not figure


def test_pipelines_of_scikit_learn():
    model = learned(SGDClassifier(random_state=0), table(60))
    pipeline = Pipeline(model.steps)
    (term,) = TermsDisplay.from_estimator(pipeline, ["age"]).terms
    assert_array_equal(term.values, model.plot_terms(["age"]).terms[0].values)


def test_it_says_what_is_wrong():
    rows = table(60)
    model = learned(ScInOLClassifier(), rows)
    with pytest.raises(ValueError, match=r"has no column 'rooms'"):
        model.plot_terms(["rooms"])
    with pytest.raises(ValueError, match="output == 1, must be <= 0"):
        model.plot_terms(output=1)
    unknown = make_online_pipeline(TableEncoder(), ScInOLRegressor())
    unknown.partial_fit([{"a": 1.0, "none": None}] * 2, [0.0, 1.0])
    with pytest.raises(ValueError, match="Column 'none' has no term"):
        unknown.plot_terms(["none"])
    with pytest.raises(NotFittedError):
        make_online_pipeline(TableEncoder(), SGDRegressor()).plot_terms()
    X = np.random.default_rng(0).normal(size=(60, 2))
    for other in make_pipeline(StandardScaler(), ScInOLRegressor()), ScInOLRegressor():
        with pytest.raises(ValueError, match="or a pipeline with a TableEnc"):
            TermsDisplay.from_estimator(other.fit(X, X[:, 0]))
    scaled = make_online_pipeline(StandardScaler(), ScInOLRegressor())
    with pytest.raises(AttributeError, match="no attribute 'plot_terms'"):
        scaled.partial_fit(X, X[:, 0]).plot_terms()
    model = make_online_pipeline(TableEncoder(n_hashed=8), KNeighborsClassifier())
    with pytest.raises(AttributeError, match="no attribute 'plot_terms'"):
        model.fit(rows, targets(rows)).plot_terms()
    model = learned(OnlineKNeighborsClassifier(), rows, n_hashed=8)
    assert not hasattr(model, "plot_terms")
