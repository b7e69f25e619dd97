"""Classes that come in the middle of a stream."""

import pickle
from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import log_softmax
from sklearn.base import clone, is_classifier
from sklearn.linear_model import SGDClassifier
from support import naive
from support.naive_agreement import assert_agrees
from support.registry import (
    ENGINES,
    ESTIMATORS,
    REPRESENTATIVES,
    paired,
    thinned,
)

from sklearn_scinol import (
    AdaImplicitClassifier,
    DFEGClassifier,
    HedgeClassifier,
    OnlineKNeighborsClassifier,
    OnlineNewtonClassifier,
    ScInOLClassifier,
    config_context,
)
from sklearn_scinol.baselines import BaselineClassifier
from sklearn_scinol.models.online import OnlineModel

CLASSIFIERS = [estimator for estimator in ESTIMATORS if is_classifier(estimator())]
CASES = [
    case
    for case in REPRESENTATIVES
    if case.classifies and case.loss == "log_loss" and case.n_outputs == 3
]
N_ROWS = 30

#: In the order in which they come.
LABELS = np.array(["d", "b", "c", "a"])
FIRSTS = [0, 4, 11, 20]


def stream(case=CASES[0], n_rows=N_ROWS, seed=0):
    """Rows, and labels of which the four kinds come one after the other."""
    rng = np.random.default_rng(seed)
    X, codes = case._replace(n_outputs=len(LABELS)).data(n_rows, seed)
    n_known = np.searchsorted(FIRSTS, np.arange(n_rows), side="right")
    codes = np.where(codes < n_known, codes, rng.integers(n_known))
    for code, first in enumerate(FIRSTS):
        codes[first] = code
    return X, LABELS[codes]


def state(estimator):
    return pickle.dumps(estimator, protocol=3)  # without random origins


def learned(estimator, X, y, parts=(), sample_weight=None, **keywords):
    """A clone that has learned chunks which end before these rows, and the last one."""
    model = clone(estimator)
    for rows in map(slice, [0, *parts], [*parts, len(y)]):
        c = None if sample_weight is None else sample_weight[rows]
        model.partial_fit(X[rows], y[rows], sample_weight=c, **keywords)
    return model


def assert_same(actual, expected, X):
    """All that was learned, to the last bit; with kernels, what new rows are like."""
    assert_array_equal(actual.classes_, expected.classes_)
    compare = assert_array_equal
    if getattr(actual, "kernel", "linear") != "linear":
        compare = partial(assert_allclose, rtol=1e-10, atol=1e-10)
    compare(actual.cumulative_loss_, expected.cumulative_loss_)
    assert actual.n_samples_seen_ == expected.n_samples_seen_
    for method in "decision_function", "predict_proba":
        answers = (getattr(model, method)(X) for model in (actual, expected))
        compare(*answers)


# What is learned.


class OfKnown(naive.CrossEntropy):
    """The cross-entropy of the classes that are known, in the order of all.

    Of two classes it is the logistic loss: the first one's score is 0 and stays so.
    """

    def __init__(self):
        self.known = []

    def value(self, y, p):
        return super().value(self.known.index(y), [p[k] for k in self.known])

    def gradient(self, y, p):
        of_known = super().gradient(self.known.index(y), [p[k] for k in self.known])
        g = [0] * len(p)
        for k, g_k in zip(self.known, of_known, strict=True):
            g[k] = g_k
        if len(self.known) == 2:
            g[self.known[0]] = 0
        return g


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in CASES
        if case.is_joint and case.algorithm not in ("scinol1", "online_newton")
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_as_if_losses_had_had_no_slope(case, weighted, engine):
    """A plain model with all outputs from the start, some of which are left out.

    Rows that have weights are sparse ones.
    """
    X, y = stream(case, n_rows=28)
    X /= np.abs(X).max(axis=0)  # slopes such as 1e-200 are none, but in decimals
    weight = np.ones(len(y))
    if weighted:
        weight = np.random.default_rng(1).exponential(size=len(y))
        weight[[2, 4, 13]] = 0.0  # "b" then comes with its second row
    loss, classes = OfKnown(), sorted(LABELS)
    parameters = {"average": case.average, **case.ball}
    expected = naive.Model(case.algorithm, loss, X.shape[1], len(classes), **parameters)
    said, cumulative_loss = np.full((len(y), len(classes)), -np.inf), 0.0
    for r, (x, label, c) in enumerate(zip(X, y, weight, strict=True)):
        k = classes.index(label)
        if k not in loss.known and (c > 0.0 or r == 0):
            loss.known = sorted([*loss.known, k])
        p = expected.decision_function(x, c or None)
        said[r, loss.known] = [p[k] for k in loss.known]
        if c > 0.0 and len(loss.known) > 1:
            cumulative_loss += c * loss.value(k, expected.learn(x, k, c))
    keywords = {"sample_weight": weight} if weighted else {}
    model = case.make(new_classes="add")
    rows = sparse.csr_array(X) if weighted else X
    actual = model.partial_fit_predict(rows, y, method="decision_function", **keywords)
    assert_array_equal(np.isfinite(actual), np.isfinite(said))
    is_known = np.isfinite(said)
    assert_agrees(case, actual[is_known], said[is_known])
    assert_agrees(case, model.coef_, expected.coef)
    assert_agrees(case, model.cumulative_loss_, cumulative_loss)
    assert model.n_samples_seen_ == len(expected.trials)


@pytest.mark.parametrize("average", [False, FIRSTS[-1]])
@pytest.mark.parametrize("algorithm", ["adaimplicit", "constant"])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_one_versus_rest(algorithm, average, container, engine):
    """Each output is a model of its own, of the rows since its class is there."""
    X, y = stream(next(case for case in CASES if not case.is_joint))
    X = container(X)
    parameters = {"algorithm": algorithm, "beta": 0.1, "average": average}
    model = AdaImplicitClassifier(**parameters, new_classes="add")
    model.partial_fit(X, y)
    since = {"a": FIRSTS[3], "b": FIRSTS[1], "c": FIRSTS[2], "d": FIRSTS[1]}
    for k, (label, first) in enumerate(since.items()):
        alone = AdaImplicitClassifier(**parameters)
        if average:  # by which all outputs are there
            alone.set_params(average=average - first + FIRSTS[1])
        alone.partial_fit(X[first:], y[first:] == label, classes=[False, True])
        assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-12)
        assert_allclose(model.intercept_[k], alone.intercept_[0], rtol=1e-12)


@pytest.mark.cases(3)
@thinned(CASES, container=[np.array, sparse.csr_array])
def test_chunks_do_not_matter(case, container, engine):
    X, y = stream(case)
    assert_chunks_do_not_matter(case.make(), container(X), y)


OTHERS = {
    "mixture": HedgeClassifier(),
    "mixture of mixtures": HedgeClassifier([("default", HedgeClassifier())]),
    "standardised": OnlineNewtonClassifier(forgetting=0.01),
    "shared covariance": OnlineNewtonClassifier(shared_covariance=True),
    "random features": OnlineNewtonClassifier(random_features=5, random_state=0),
    "moments": BaselineClassifier("adagrad", center="auto", scale=True, average=True),
    "additive": ScInOLClassifier(additive=True),
    "kernel": DFEGClassifier(kernel="rbf", gamma=0.5),
    "averaged kernel": BaselineClassifier(
        "kernel_gd", kernel="rbf", gamma=0.5, average=5
    ),
    "budget": DFEGClassifier(kernel="rbf", gamma=0.5, max_support=8),
    "neighbors": OnlineKNeighborsClassifier(window=9),
    "mixture of neighbors": HedgeClassifier(
        [("few", OnlineKNeighborsClassifier(1)), ("more", OnlineKNeighborsClassifier())]
    ),
    "class weights": ScInOLClassifier(class_weight={"b": 3.0, "d": 0.5}),
    "balanced": ScInOLClassifier(class_weight="balanced"),
    "balanced mixture": HedgeClassifier(class_weight="balanced"),
    "weighted experts": HedgeClassifier(
        [
            ("balanced", ScInOLClassifier(class_weight="balanced")),
            ("given", AdaImplicitClassifier(class_weight={0: 2.0, 3: 0.1})),
            ("none", OnlineNewtonClassifier()),
        ]
    ),
}


def assert_chunks_do_not_matter(estimator, X, y, weight=None):
    estimator = clone(estimator).set_params(new_classes="add")
    whole = learned(estimator, X, y, sample_weight=weight)
    for parts in FIRSTS[1:], [3, 12], range(1, len(y)):
        assert_same(learned(estimator, X, y, parts, sample_weight=weight), whole, X)
    whole._check_state()


@pytest.mark.cases(1)
@pytest.mark.parametrize("kind", OTHERS)
def test_chunks_do_not_matter_to_others(kind, engine):
    weight = np.random.default_rng(3).choice([0.0, 1.0, 2.0], size=N_ROWS)
    assert_chunks_do_not_matter(OTHERS[kind], *stream(), weight)


@pytest.mark.slow
@given(
    labels=st.lists(st.sampled_from([3, 1, 4, 0, 5]), min_size=1, max_size=12),
    weights=st.lists(st.sampled_from([0.0, 0.5, 2.0]), min_size=12, max_size=12),
    cuts=st.sets(st.integers(1, 11)),
    class_weight=st.sampled_from([None, "balanced", {3: 0.0, 1: 2.0}]),
    by_expert=st.booleans(),
)
def test_any_order(labels, weights, cuts, class_weight, by_expert):
    X = np.random.default_rng(0).normal(size=(12, 2))
    y, weight, X = np.array(labels), np.array(weights)[: len(labels)], X[: len(labels)]
    estimator = ScInOLClassifier(class_weight=class_weight, new_classes="add")
    if by_expert:
        estimator = HedgeClassifier(
            [("one", ScInOLClassifier()), ("two", AdaImplicitClassifier())],
            class_weight=class_weight,
            new_classes="add",
        )
    with config_context(engine="numpy"):
        whole = clone(estimator)
        of_rows = whole.partial_fit_predict(
            X, y, sample_weight=weight, method="predict_proba"
        )
        parts = sorted(cut for cut in cuts if cut < len(y))
        assert_same(learned(estimator, X, y, parts, sample_weight=weight), whole, X)
    whole._check_state()
    weighs_nothing = weight == 0.0
    if isinstance(class_weight, dict):
        weighs_nothing |= y == 3
    assert_array_equal(whole.classes_, np.union1d(y[:1], y[~weighs_nothing]))
    # Each row is charged for the probability that its label had.
    assert_allclose(of_rows.sum(axis=1), 1.0)
    is_charged = ~weighs_nothing
    places = np.searchsorted(whole.classes_, y[is_charged])
    assert (of_rows[is_charged, places] > 0.0).all()


@pytest.mark.parametrize("name", ["scinol1", "freegrad"])
def test_probabilities_of_a_new_output(name, engine):
    """It shares what it knows of the rows, and has the score 0."""
    case = next(case for case in CASES if case.algorithm == name)
    X, y = stream(case)
    model = learned(case.make(new_classes="add"), X[: FIRSTS[2]], y[: FIRSTS[2]])
    model.partial_fit(X[:1], y[:1], classes=["a", "c"])
    model._check_state()
    assert_array_equal(model.classes_, sorted(LABELS))
    # The first of two classes has had the score 0 so far, and has learned one row.
    assert model.decision_function(X)[:, 3].any()


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, HedgeClassifier])
def test_of_two_classes_nothing_is_new(estimator, engine):
    """The model of two classes is the one that has them from the second's first row."""
    X, y = stream()
    y, start = np.where(y == "b", "b", "d"), FIRSTS[1]
    expected = learned(estimator(), X[start:], y[start:], classes=["b", "d"])
    model = learned(estimator(new_classes="add"), X, y)
    assert_same(model, expected, X)
    model = estimator(new_classes="add")
    assert_same(learned(model, X[start:], y[start:], classes=["b", "d"]), expected, X)
    few = {"max_iter": 2, "tol": None, "random_state": 0}
    models = [estimator(new_classes=each, **few).fit(X, y) for each in ("add", "error")]
    assert_same(*models, X)
    with pytest.raises(ValueError, match="The number of classes has to be greater"):
        estimator(new_classes="add").fit(X[:3], y[:3])


REFUSED = [
    *(
        (estimator(loss="hinge"), "needs loss='log_loss'")
        for estimator in (*CLASSIFIERS, HedgeClassifier)
    ),
    *(
        (HedgeClassifier([("one", ScInOLClassifier()), ("two", expert)]), words)
        for expert, words in [
            (SGDClassifier(loss="log_loss"), "needs estimators of this package.*'two'"),
            (ScInOLClassifier("hinge"), "needs loss='log_loss'"),
            (HedgeClassifier(loss="hinge"), "needs loss='log_loss'"),
            (HedgeClassifier([("sgd", SGDClassifier(loss="log_loss"))]), "'sgd'"),
        ]
    ),
]


def test_balanced_weights(engine):
    """Rows of one class alone are not learned, and not counted."""
    X, y = stream()
    weights, counts = np.ones(len(y)), Counter()
    for r in range(FIRSTS[1], len(y)):
        counts[y[r]] += 1
        weights[r] = counts.total() / (len(counts) * counts[y[r]])
    expected = ScInOLClassifier(new_classes="add")
    expected.partial_fit(X, y, sample_weight=weights)
    for parts in [], [2, 9], range(1, len(y)):
        model = ScInOLClassifier(class_weight="balanced", new_classes="add")
        assert_same(learned(model, X, y, parts), expected, X)


@pytest.mark.parametrize("weight", [1e300, 1e-60])
def test_weights_while_one_class_is_known(weight):
    """They have no effect, but those that no row may have are refused."""
    X, y = stream()
    model = ScInOLClassifier(new_classes="add").partial_fit(X[:1], y[:1])
    before = state(model)
    with pytest.raises(ValueError, match="Sample weights must be 0 or between"):
        model.partial_fit(X[1:3], y[[0, 0]], sample_weight=[0.0, weight])
    assert state(model) == before
    model.partial_fit(X[1:3], y[[0, 0]], sample_weight=[0.0, 5.0])
    assert model.n_samples_seen_ == 0


# What is said of the rows.


def test_one_class(engine):
    X, y = stream()
    for model in (
        ScInOLClassifier(new_classes="add"),
        HedgeClassifier(new_classes="add"),
    ):
        said = model.partial_fit_predict(X[:3], y[:3], method="predict_proba")
        assert_array_equal(said, np.ones((3, 1)))
        assert_array_equal(model.classes_, ["d"])
        assert_array_equal(model.predict(X), np.full(len(y), "d"))
        assert_array_equal(model.decision_function(X), np.zeros(len(y)))
        assert_array_equal(model.predict_log_proba(X), np.zeros((len(y), 1)))
        assert model.cumulative_loss_ == model.n_samples_seen_ == 0
        assert model.loss_curve_ == []
        assert not model.coef_.any()
        model._check_state()


@pytest.mark.thorough
@pytest.mark.parametrize("estimator", [ScInOLClassifier, HedgeClassifier])
def test_answers_to_a_chunk(estimator, engine):
    """Rows are answered as they came, in columns for the classes at the end."""
    X, y = stream()
    all_classes = sorted(LABELS)
    for method in "predict", "predict_proba", "predict_log_proba", "decision_function":
        whole = estimator(new_classes="add")
        answers = whole.partial_fit_predict(X, y, method=method)
        model = estimator(new_classes="add")
        for r in range(len(y)):
            rows = slice(r, r + 1)
            (answer,) = model.partial_fit_predict(X[rows], y[rows], method=method)
            if method == "predict":
                assert answers[r] == answer
                continue
            if np.ndim(answer) == 0:
                answer = [0.0, answer][-model.classes_.size :]
            expected = np.full(4, 0.0 if method == "predict_proba" else -np.inf)
            expected[np.searchsorted(all_classes, model.classes_)] = answer
            assert_array_equal(answers[r], expected)
        assert len(whole.loss_curve_) == 1
        assert_allclose(
            whole.loss_curve_[0] * whole.n_samples_seen_, whole.cumulative_loss_
        )


@pytest.mark.parametrize(("labels", "sign"), [(["a", "b"], -1), (["b", "a"], 1)])
def test_scores_of_two_classes(labels, sign, engine):
    """Before the second came, the score says that it could not."""
    X = np.ones((3, 1))
    model = ScInOLClassifier(new_classes="add")
    y = np.array([labels[0], labels[1], labels[0]])
    scores = model.partial_fit_predict(X, y, method="decision_function")
    assert scores[0] == sign * np.inf
    assert scores[1] == 0.0
    assert np.isfinite(scores[2])


# Regret.


@pytest.mark.cases(20)
@pytest.mark.parametrize(
    "case", [case for case in CASES if case.has_bound and not case.average], ids=str
)
def test_regret_is_bounded(case, engine):
    """Against a model that is charged for the classes known at each row."""
    rng = np.random.default_rng(5)
    for seed in range(3):
        X, y = stream(case, n_rows=200, seed=seed)
        model = case.make(new_classes="add")
        scores = model.partial_fit_predict(X, y, method="decision_function")
        model.partial_fit(X[:1], y[:1], classes=["e"], sample_weight=[0.0])
        is_known = np.column_stack([np.isfinite(scores), np.zeros(len(y), bool)])
        codes = np.searchsorted(model.classes_, y)
        for size in 0.0, 0.01, 0.3, 3.0:
            coef = size * rng.normal(size=(5, X.shape[1])) / np.abs(X).max(axis=0)
            intercept = size * rng.normal(size=5)
            p = X @ coef.T + intercept
            if case.is_joint:
                p = np.where(is_known, p, -np.inf)
                losses = -log_softmax(p, axis=1)[np.arange(len(y)), codes]
            else:
                signs = np.where(codes[:, np.newaxis] == np.arange(5), 1.0, -1.0)
                losses = np.logaddexp(0.0, -signs * p)
                losses = np.where(is_known, losses, 0.0).sum(axis=1)
            rows = is_known.sum(axis=1) > 1
            regret = model.cumulative_loss_ - losses[rows].sum()
            assert regret <= model.regret_bound(coef, intercept) * (1 + 1e-9)


def test_bound_is_of_differences(engine):
    """Of a joint loss, which is the same for scores that are all moved alike."""
    X, y = stream()
    model = learned(ScInOLClassifier(center=False, new_classes="add"), X, y)
    coef = np.random.default_rng(6).normal(size=(4, X.shape[1]))
    intercept = np.arange(4.0)
    moved = coef + np.random.default_rng(7).normal(size=X.shape[1])
    assert_allclose(
        model.regret_bound(moved, intercept + 3.0), model.regret_bound(coef, intercept)
    )
    # From the first of two classes, whose score was 0 as long as there were two.
    assert model.classes_[model._model.reference] == "b"


# Calls that fail, and others.


@pytest.mark.cases(20)
@pytest.mark.parametrize(("estimator", "words"), REFUSED, ids=str)
def test_only_with_log_loss(estimator, words):
    X, y = stream()
    model = estimator.set_params(new_classes="add")
    for method in "partial_fit", "partial_fit_predict", "fit":
        before = state(model)
        with pytest.raises(ValueError, match=words):
            getattr(model, method)(X, y)
        assert state(model) == before


def test_parameters_and_labels_that_do_not_fit(engine):
    X, y = stream()
    model = ScInOLClassifier("hinge", max_iter=2, tol=None)
    model.partial_fit(X[:11], y[:11], classes=["b", "d"])
    model.set_params(loss="log_loss", new_classes="add")
    with pytest.raises(ValueError, match="`loss` is not the same"):
        model.partial_fit(X, y)
    assert_array_equal(model.fit(X, y).classes_, sorted(LABELS))  # begins anew
    model = ScInOLClassifier(new_classes="add").partial_fit(X[:3], [0, 1, 2])
    before = state(model)
    dates = np.array(["1970", "1971", "1972"], dtype="datetime64[Y]")
    for labels, words in [
        ([0, 1, 2.5], "Unknown label type: continuous|Classification metrics"),
        (["a", "b", "c"], "Mix of label input types"),
        (dates, "Mix of label input types; got int64 and datetime64"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X[:3], labels)
        assert state(model) == before


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("container", "engine"),
    paired([np.array, sparse.csr_array], ENGINES),
    indirect=["engine"],
)
@pytest.mark.parametrize(
    "estimator",
    [
        ScInOLClassifier(center=False),
        ScInOLClassifier(class_weight="balanced"),
        DFEGClassifier(kernel="rbf"),
        HedgeClassifier(),
    ],
)
def test_failing_calls_change_nothing(estimator, container, engine):
    """Also where it is the last row that is unusable, after classes were taken in."""
    X, y = stream()
    bad = X.copy()
    bad[-1] = 1e200
    weight = np.ones(len(y))
    weight[-1] = 1e40
    for start in 0, 2, 15:
        model = clone(estimator).set_params(new_classes="add")
        if start:
            model.partial_fit(container(X[:start]), y[:start])
        before = state(model)
        with pytest.raises(ValueError, match=r"must be|too large"):
            model.partial_fit(
                container(bad), y, classes=["e", "d"], sample_weight=weight * 1e40
            )
        assert state(model) == before


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_interrupted_between_classes(container, class_weight, engine, monkeypatch):
    X, y = stream()
    X = container(X)
    model = ScInOLClassifier(new_classes="add", class_weight=class_weight)
    model.partial_fit(X[:15], y[:15])
    classes = model.classes_

    def add_classes(self, loss, is_new):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(OnlineModel, "add_classes", add_classes)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[15:], y[15:])
    assert_array_equal(model.classes_, classes)
    model._check_state()
    n_rows = FIRSTS[1] + model.n_samples_seen_
    expected = learned(model, X[:n_rows], y[:n_rows])
    assert_same(model, expected, X)
    model.partial_fit(X[n_rows:], y[n_rows:])
    assert_same(model, learned(model, X, y), X)


@pytest.mark.parametrize(
    ("labels", "more"),
    [
        ([1, 0], [2, 7]),
        ([True, False], [True]),
        (["a", "aa"], ["ccc", "b"]),
        ([1.0, -1.0], [0.0]),
        (np.array(["a", "b"], dtype=object), np.array(["long"], dtype=object)),
    ],
)
def test_kinds_of_labels(labels, more, engine):
    model = ScInOLClassifier(new_classes="add")
    for y in labels, more:
        model.partial_fit(np.ones((len(y), 1)), y)
    every = [*labels, *more]
    assert_array_equal(model.classes_, np.unique(every))
    assert set(model.predict(np.ones((1, 1)))) <= set(every)
    # Classes that are named may have no rows, and those named later are added.
    model = ScInOLClassifier(new_classes="add")
    model.partial_fit(np.ones((1, 1)), labels[:1], classes=labels[:1])
    model.partial_fit(np.ones((1, 1)), labels[:1], classes=more)
    assert_array_equal(model.classes_, np.unique([labels[0], *more]))
    model._check_state()


def test_fit_goes_on_with_more_classes(engine):
    X, y = stream()
    parameters = {"max_iter": 1, "tol": None, "shuffle": False, "warm_start": True}
    for n_rows in 3, 8, 15:
        model = ScInOLClassifier(new_classes="add", **parameters)
        model.partial_fit(X[:n_rows], y[:n_rows])
        expected = learned(model, X[:n_rows], y[:n_rows])
        expected.partial_fit(X, y, classes=LABELS)
        assert_same(model.fit(X, y), expected, X)
    with pytest.raises(ValueError, match="previously unseen labels"):
        ScInOLClassifier(**parameters).fit(X[:8], y[:8]).fit(X, y)
    model = ScInOLClassifier(new_classes="add", **parameters)
    model.partial_fit(X[:3], y[:3])
    with pytest.raises(ValueError, match="The number of classes has to be greater"):
        model.fit(X[:3], y[:3])
