"""Additive models: functions of features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from support import naive
from support.comparisons import assert_close, assert_identical
from support.naive_agreement import assert_agrees, learn, new_rows, sample_weights
from support.registry import thinned, varied

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.inspection import TermsDisplay
from sklearn_scinol.models.additive import AdditiveModel
from sklearn_scinol.models.linear import LinearModel
from sklearn_scinol.models.random_features import RandomFeaturesModel
from sklearn_scinol.transforms import bins

#: Small, since references are slow.
N_SAMPLES, N_QUANTILES = 12, 2

CASES = [case._replace(variant="") for case in varied("additive")]


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(bins, "N_SAMPLES", N_SAMPLES)
    monkeypatch.setattr(bins, "N_QUANTILES", N_QUANTILES)


def unit(case):
    """Data in like units: learners that are not scale-invariant see bins as well."""
    X, y = case.data()
    return X / 10.0 ** np.arange(-3, 3), y


@pytest.mark.cases(3)
@thinned(CASES, center=[False, True])
def test_reference(case, center, engine):
    X, y = (a[:25] for a in unit(case))
    c = sample_weights(len(y), weighted=True)
    reference = naive.Additive(
        case.algorithm,
        case.reference_loss(),
        X.shape[1],
        case.n_outputs,
        n_samples=N_SAMPLES,
        n_quantiles=N_QUANTILES,
        center=center,
        average=case.average,
        **({"beta": 1e-7} if case.diverges else {}),
    )
    expected = learn(case, reference, X, y, c)
    assert any(reference.edges)
    estimator = case.make(additive=True, center=center)
    assert_agrees(case, case.charged(estimator, X, y, sample_weight=c), expected)
    of_new = [reference.decision_function(x) for x in new_rows(X)]
    assert_agrees(case, case.decision(estimator, new_rows(X)), of_new)
    assert_agrees(case, estimator.cumulative_loss_, reference.cumulative_loss)
    estimator._check_state()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("estimator", [ScInOLClassifier, HedgeClassifier])
def test_epochs_have_bins_of_all_rows(estimator, container):
    """Seen before: of the first rows, or with few rows of those of two epochs."""
    X = np.random.default_rng(0).integers(0, 9, size=(40, 2)).astype(float)
    y, c = X[:, 0] > X[:, 1], np.arange(40) % 4
    is_mixture = estimator is HedgeClassifier
    additive = ScInOLClassifier(additive=True)

    def edges(**parameters):
        model = estimator([("additive", additive)]) if is_mixture else additive
        model.set_params(tol=None, shuffle=False, **parameters)
        model.fit(container(X), y, sample_weight=c)
        return (model.estimators_[0] if is_mixture else model)._model.bins.edges

    for n_epochs, rows in (1, X[c > 0][:N_SAMPLES]), (2, X[c > 0]):
        expected = bins.FeatureBins(2, len(rows), N_QUANTILES)
        expected.learn(rows)
        assert_array_equal(edges(max_iter=n_epochs), expected.edges)


def test_features_with_up_to_two_values_have_no_codes():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=50), rng.integers(0, 2, 50), np.ones(50)])
    model = ScInOLClassifier(additive=True).partial_fit(
        X, rng.integers(0, 2, 50), classes=[0, 1]
    )
    Z = model._model.transform(X)
    assert_array_equal(np.diff(Z.indptr), 4)
    assert model._model.bins.has_edges.tolist() == [True, False, False]


# What they say of themselves.


def additive_model(n=1000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) * [1.0, 100.0, 1e-3] + 5.0
    y = X[:, 0] ** 2 + rng.normal(size=n)
    model = BaselineRegressor(
        "adagrad",
        learning_rate=0.1,
        additive=True,
        center=True,
        scale=True,
        standardize_target=True,
    )
    return model.partial_fit(X, y), X


def test_terms_add_up_to_the_decision():
    model, X = additive_model()
    X = X[50:60]
    terms = sum(model._term(j, X[:, j]) for j in range(3))
    # The target is standardised: what is left is the same for all rows.
    rest = model.predict(X) - terms[:, 0]
    assert_allclose(rest, rest[0], rtol=1e-12)


def names_of(display):
    return [term.column for term in display.terms]


def test_plot_terms(pyplot):
    model, X = additive_model()
    display = model.plot_terms()
    assert isinstance(display, TermsDisplay)
    assert len(display.axes_) == 3
    assert {*names_of(display)} == {"x0", "x1", "x2"}
    for term in display.terms:
        expected = model._term(int(term.column[1:]), term.points)[:, 0]
        assert_allclose(np.diff(term.values), np.diff(expected), atol=1e-9)
        assert_allclose(term.values.min(), -term.values.max())
    assert len({ax.get_ylim() for ax in display.axes_}) == 1
    # The function that is there varies most.
    assert names_of(display)[0] == "x0"
    points = display.terms[0].points
    edges = model._model.bins.edges[0]
    assert points[0] < np.nanmin(edges)
    assert points[-1] > np.nanmax(edges)

    figure, axes = pyplot.subplots(2)
    display = model.plot_terms([1, 0], axes=axes)
    assert names_of(display) == ["x1", "x0"]
    assert display.figure_ is figure
    assert not figure.get_supxlabel()
    assert [ax.get_title() for ax in axes] == ["x1", "x0"]
    with pytest.raises(ValueError, match="Expected 1 axes, got 2"):
        model.plot_terms([0], axes=axes)

    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = ScInOLClassifier(additive=True)
    model.partial_fit(X, X["a"] > 5, classes=[False, True])
    assert names_of(model.plot_terms(["c", "a"])) == ["c", "a"]
    with pytest.raises(ValueError, match="Feature 'd' not in feature_names"):
        model.plot_terms(["d"])


@pytest.mark.parametrize("fitted", [False, True])
def test_what_only_linear_models_have(fitted):
    model = BaselineClassifier("adagrad", additive=True, center=False)
    linear = BaselineClassifier("adagrad", center=False)
    if fitted:
        X = np.random.default_rng(0).normal(size=(20, 2))
        for each in model, linear:
            each.partial_fit(X, X[:, 0] > 0, classes=[False, True])
        for attribute in "coef_", "intercept_":
            assert hasattr(linear, attribute)
            with pytest.raises(AttributeError, match="is additive: see `plot_terms`"):
                getattr(model, attribute)
    assert hasattr(model, "plot_terms")
    assert not hasattr(linear, "plot_terms")
    bounded = ScInOLClassifier(additive=True, center=False)
    with pytest.raises(AttributeError, match="regret_bound") as error:
        bounded.regret_bound  # noqa: B018
    assert "pass `additive=False`" in str(error.value.__cause__)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (BaselineClassifier("adam", additive=True), "must be False with algorithm"),
        (
            BaselineRegressor("kernel_gd", kernel="rbf", additive=True, center=False),
            "additive must be False with a kernel",
        ),
    ],
)
def test_parameters_that_do_not_fit(estimator, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, X[:, 0] > 0)


# In mixtures.

FIRST = ["scinol2", "constant-forgetting"]
LINEAR = ["scinol2", "adaogd-0.125", "constant-forgetting"]
NEWTON = ["newton-forgetting-0.003", "newton-forgetting-0.02"]
BINS = ["bins-scinol2"]
ADAGRAD = ["scinol2", "adagrad-0.25", *LINEAR[1:]]
OTHERS = ["random_features", "neighbors", "forest", "extra_trees", "last_label"]


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("d", "excluded", "expected"),
    [
        (1, [], FIRST + NEWTON + BINS),
        (64, [], FIRST + NEWTON + BINS),
        (65, [], ADAGRAD + NEWTON),
        (128, [], ADAGRAD + NEWTON),
        (129, [], ADAGRAD + NEWTON[:1]),
        (256, [], ADAGRAD + NEWTON[:1]),
        (257, [], ADAGRAD),
        (5, ["second_order"], LINEAR + BINS),
        (5, ["additive"], ADAGRAD + NEWTON),
        (5, ["additive", "second_order"], ADAGRAD),
    ],
)
def test_experts(d, excluded, expected):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3, d)), rng.normal(size=3)
    parameters = {"exclude": [*OTHERS, *excluded], "max_iter": 1, "tol": None}
    for mixture, target in ((HedgeRegressor, y), (HedgeClassifier, [0, 1, 0])):
        model = mixture(**parameters).fit(X, target)
        names = expected
        if d > 128 and mixture is HedgeClassifier:  # all classes share a covariance
            names = [name.replace(NEWTON[0], "newton") for name in expected]
        assert [*model.named_estimators_] == names
    squared = HedgeRegressor(loss="squared_error", **parameters).fit(X, y)
    bounded = [name for name in expected if "scinol" not in name]
    if NEWTON[0] in bounded:
        bounded.insert(bounded.index(NEWTON[0]) + 1, "newton-unclipped")
    assert [*squared.named_estimators_] == bounded


EXPERTS = [
    ("scinol2", ScInOLRegressor()),
    ("adagrad", BaselineRegressor("adagrad")),
    ("bins", ScInOLRegressor(additive=True)),
]


def test_dense_and_sparse_chunks(engine, monkeypatch):
    """What one expert makes dense another may learn as it is, in turn."""
    monkeypatch.setattr(bins, "N_SAMPLES", 7)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), rng.normal(size=40)
    X[rng.random(X.shape) < 0.5] = 0.0
    losses = []
    for containers in [sparse.csr_array] * 3, [sparse.csr_array, np.array] * 2:
        model = HedgeRegressor(EXPERTS)
        for container, rows in zip(
            containers, np.split(np.arange(40), [10, 20]), strict=False
        ):
            model.partial_fit(container(X[rows]), y[rows])
        losses.append(model.expert_losses_)
    assert_allclose(*losses, rtol=1e-9)


def test_experts_of_sparse_rows():
    """Sparse rows have one expert with a constant rate, and no additive ones."""
    X = sparse.csr_array(np.eye(3))
    model = HedgeClassifier().partial_fit(X, [0, 1, 0], classes=[0, 1])
    linear = ADAGRAD + NEWTON
    assert [*model.named_estimators_] == [*linear, "last-label"]
    assert model.named_estimators_["constant-forgetting"].beta == 1 / 32
    assert not hasattr(model, "plot_terms")


def test_experts_share_bins_and_learn_as_alone(engine):
    case, scaled = CASES[0], {"center": True, "scale": True}
    X, y = unit(case)
    model = HedgeClassifier(
        [
            ("linear", BaselineClassifier("adaogd", **scaled)),
            ("bins", ScInOLClassifier(additive=True, **scaled)),
            ("adagrad", BaselineClassifier("adagrad", additive=True, **scaled)),
        ]
    )
    for rows in np.split(np.arange(len(y)), [5, 11, 30]):
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    _, *with_bins = model.estimators_
    assert len({id(expert._model.bins) for expert in with_bins}) == 1
    assert len({id(expert._model.features) for expert in model.estimators_}) == 1
    for expert in with_bins:
        assert isinstance(expert._model, AdditiveModel)
        alone = clone(expert).partial_fit(X, y, classes=[0, 1])
        assert_identical(alone.decision_function(X), expert.decision_function(X))
        assert_close(alone.cumulative_loss_, expert.cumulative_loss_, 1e-12)
    model._check_state()


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_terms_of_mixtures(n_outputs, pyplot):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, :n_outputs] ** 2 if n_outputs > 1 else X[:, 0] ** 2
    model = HedgeRegressor().partial_fit(X, y)
    display = model.plot_terms([0], output=n_outputs - 1)
    # Random features and neighbours have no functions of single features.
    terms = {
        name: expert._model.term(0, display.terms[0].points)[:, -1]
        for name, expert in model.named_estimators_.items()
        if isinstance(expert._model, LinearModel)
        and not isinstance(expert._model, RandomFeaturesModel)
    }
    shown = [name in terms for name in model.named_estimators_]
    w = model.weights_.reshape(n_outputs, -1)[-1][shown]
    expected = (
        sum(a * term for a, term in zip(w, terms.values(), strict=True)) / w.sum()
    )
    expected -= (expected.min() + expected.max()) / 2
    assert_allclose(display.terms[0].values, expected, rtol=1e-12, atol=1e-15)
    not_shown = [name for name in model.named_estimators_ if name not in terms]
    assert display.not_shown == not_shown
    note = display.figure_.get_supxlabel().replace("\n", " ")
    assert note == "not shown: " + ", ".join(not_shown)
    linear = HedgeClassifier(exclude=OTHERS)
    linear.partial_fit(X, X[:, 0] > 0, classes=[False, True])
    assert linear.plot_terms([0]).not_shown == ["pools"]
