"""Mixtures of experts: against references, their guarantees, and what breaks them.

`CHUNKED_STREAMS=200` cuts so many sparse streams into chunks, on the compiled engine.
"""

import copy
import os
import pickle
from functools import partial

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    clone,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from support import naive_hedge
from support.comparisons import assert_close, assert_identical
from support.invariances import weights
from support.registry import compiled, seeds, thoroughly
from support.sums import linear

from sklearn_scinol import (
    AdaImplicitClassifier,
    AdaImplicitRegressor,
    HedgeClassifier,
    HedgeRegressor,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
)
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.engines import get_engine
from sklearn_scinol.experts import AdaHedge, ExpertWeightsDisplay, FixedShare
from sklearn_scinol.mixtures import (
    classifier,
    default_experts,
    expert,
    mixture_estimator,
)
from sklearn_scinol.mixtures import mixture_model as mixture
from sklearn_scinol.mixtures.expert import Expert
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.transforms import bins


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Streams are short: let bins be known early in them."""
    monkeypatch.setattr(bins, "N_SAMPLES", 12)


def few_experts(classifies, loss):
    """Three that are far from each other."""
    as_given = {"loss": loss, "center": False}
    scinol = partial(ScInOLClassifier if classifies else ScInOLRegressor, **as_given)
    baseline = BaselineClassifier if classifies else BaselineRegressor
    baseline = partial(baseline, **as_given)
    third = baseline("cocob") if loss.startswith("squared") else scinol()
    return [
        ("nag", baseline("nag", learning_rate=0.3)),
        ("adaogd", baseline("adaogd", learning_rate=0.01)),
        ("third", third),
    ]


def rows(n_samples=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(n_samples, 5)) + np.array([0.0, 1.0, -3.0, 0.0, 10.0])
    X[rng.random(X.shape) < 0.3] = 0.0
    return X * 10.0 ** np.arange(-2, 3)


def targets(X, n_outputs):
    rng = np.random.default_rng(1)
    Z = X / np.abs(X).max(axis=0)
    return 100.0 * linear(Z, rng.normal(size=(5, n_outputs))) + rng.normal(
        scale=5.0, size=(len(X), n_outputs)
    )


class Problem:
    """A mixture and a stream for it, with what the reference needs."""

    def __init__(self, loss, n_outputs=1, seed=0):
        self.loss, self.n_outputs = loss, n_outputs
        self.classifies = loss in ("log_loss", "hinge", "squared_hinge")
        self.X = rows(seed=seed)
        scores = targets(self.X, n_outputs)
        if not self.classifies:
            self.y = scores[:, 0] if n_outputs == 1 else scores
            self.classes = {}
        else:
            self.y = scores.argmax(axis=1) if n_outputs > 1 else 1 * (scores[:, 0] > 0)
            self.classes = {"classes": np.arange(max(n_outputs, 2))}
        self.method = {"method": "decision_function"} if self.classifies else {}

    def make(self, **parameters):
        mixture = HedgeClassifier if self.classifies else HedgeRegressor
        return mixture(loss=self.loss, **parameters)

    def charged(self, estimator, X, y, **keywords):
        return estimator.partial_fit_predict(
            X, y, **self.classes, **self.method, **keywords
        )

    def decision(self, estimator, X):
        method = "decision_function" if self.classifies else "predict"
        return getattr(estimator, method)(X)

    def signs(self):
        """Targets of one versus rest."""
        columns = range(1, 2) if self.n_outputs == 1 else range(self.n_outputs)
        return np.column_stack([np.where(self.y == k, 1, -1) for k in columns])

    def __str__(self):
        return f"{self.loss}-{self.n_outputs}"


PROBLEMS = [
    Problem("log_loss"),
    Problem("log_loss", 3),
    Problem("hinge", 3),
    Problem("absolute_error"),
    Problem("squared_error", 2),
]
problems = pytest.mark.parametrize("problem", PROBLEMS, ids=str)
of_each_kind = pytest.mark.parametrize(
    "problem", [PROBLEMS[0], PROBLEMS[1], Problem("absolute_error", 2)], ids=str
)
containers = pytest.mark.parametrize(
    "container", [np.array, sparse.csr_array], ids=["dense", "sparse"]
)


def learned(estimator):
    """All that was learned, as nested dictionaries."""

    def of_object(value):
        if isinstance(value, list):
            return {i: of_object(item) for i, item in enumerate(value)}
        if isinstance(value, (BaseEstimator, Expert)):
            return {
                name: of_object(attribute)
                for name, attribute in vars(value).items()
                if name not in ("loss_curve_", "n_iter_", "mean")
            }
        return value

    model = estimator._model
    return {name: of_object(getattr(model, name)) for name in vars(model)}


@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weighted"])
def test_hinge_loss_agrees_with_reference(weighted, engine):
    """Other losses are in `test_pools.py`, with pools, which this one has not."""
    problem = Problem("hinge", 3)
    experts = few_experts(True, "hinge")
    c = np.random.default_rng(2).exponential(size=60) if weighted else np.ones(60)
    rows = problem.X, problem.y
    mixture = problem.make(estimators=experts)
    charged = problem.charged(mixture, *rows, sample_weight=c)
    said = [problem.charged(each, *rows, sample_weight=c) for _, each in experts]
    own_losses = np.maximum(0, 1 - problem.signs() * said).sum(axis=2)
    reference, expected = naive_hedge.FixedShare(3), []
    said = np.clip(said, -1, 1).swapaxes(0, 1)
    for of_row, signs, c_r in zip(said, problem.signs(), c, strict=True):
        expected.append(np.array(reference.weights(), float) @ of_row)
        reference.update(np.maximum(0, 1 - signs * of_row).sum(axis=1), c_r)
    assert_close(charged, np.array(expected), 1e-11)
    w = np.array(reference.weights(), float)
    assert_allclose(mixture.weights_, w, rtol=1e-12, atol=1e-12)
    assert_allclose(mixture.expert_losses_, own_losses @ c, rtol=1e-12)
    losses = np.maximum(0, 1 - problem.signs() * charged).sum(axis=1)
    assert_allclose(mixture.cumulative_loss_, losses @ c, rtol=1e-10)


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_means_of_probabilities(n_outputs, engine):
    """Also of experts who are sure: no probability is 0."""
    loops = get_engine("numpy" if engine == "numpy" else "numba")
    rng = np.random.default_rng(0)
    answers = 10.0 * rng.normal(size=(3, 6, n_outputs))
    answers[0, 0, 0] = 900.0
    weights = rng.dirichlet(np.ones(3), (1, 6))
    scores = answers
    if n_outputs == 1:
        scores = np.concatenate([np.zeros_like(answers), answers], axis=2)
    shares = np.maximum(softmax(scores, axis=2), 1e-300)
    mean = np.log(np.einsum("re,erk->rk", weights[0], shares))
    if n_outputs == 1:
        mixed = loops.mix("log_odds", answers, weights)[:, 0]
        assert_allclose(mixed, mean[:, 1] - mean[:, 0], rtol=1e-12)
    else:
        assert_allclose(loops.mix("softmax", answers, weights), mean, rtol=1e-12)


#: Losses without parameters are equal as tuples, and not the same.
OWN_LOSSES = [
    *(
        (loss, BaselineClassifier("adaogd", loss=loss, scale=True))
        for loss in ("hinge", "squared_hinge", "log_loss")
    ),
    ("rest", AdaImplicitClassifier("log_loss", scale=True)),
]


@pytest.mark.parametrize("has_own_losses", [False, True])
@problems
def test_experts_are_what_they_would_be_alone(problem, has_own_losses, engine):
    experts = few_experts(problem.classifies, problem.loss)
    if has_own_losses:
        if problem.loss != "log_loss":
            pytest.skip("a mixture of probabilities has experts of all losses")
        experts = [(name, clone(expert)) for name, expert in OWN_LOSSES]
    mixture = problem.make(estimators=experts)
    problem.charged(mixture, problem.X, problem.y)
    for k, (name, alone) in enumerate(experts):
        inside, is_log = mixture.estimators_[k], alone.loss == "log_loss"
        assert mixture.named_estimators_[name] is inside
        method = {"method": "predict_proba"} if is_log else {}
        rows = problem.X, problem.y
        said = alone.partial_fit_predict(*rows, **problem.classes, **method)
        assert_identical(vars(inside)["_model"], vars(alone)["_model"])
        if is_log:
            own = -np.log(said[np.arange(len(said)), problem.y]).sum()
            assert_allclose(mixture.expert_losses_[k], own, rtol=1e-10)


class Scripted(RegressorMixin, BaseEstimator):
    """Says what it was told to say."""

    def __init__(self, script=None):
        self.script = script

    def partial_fit(self, X, y, classes=None):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return self.script[: len(X)]


class ScriptedClassifier(ClassifierMixin, Scripted):
    decision_function = Scripted.predict


numbers = st.floats(-1e6, 1e6).map(lambda number: float(np.float32(number)))


def least_with_a_switch(losses):
    """Smallest loss of experts (n_experts, n) of which one gives way to another."""
    before = np.cumsum(losses, axis=1)[:, :-1]
    after = losses.sum(axis=1, keepdims=True) - before
    return (before.min(axis=0) + after.min(axis=0)).min()


@pytest.mark.slow
@given(
    scripts=arrays(float, (4, 12), elements=numbers),
    y=arrays(float, 12, elements=numbers),
)
def test_bound_against_the_best_expert(scripts, y):
    experts = [(f"e{i}", Scripted(s)) for i, s in enumerate(scripts)]
    mixture = HedgeRegressor(experts)
    with config_context(engine="numpy"):
        mixture.partial_fit([[0.0]], [0.0])  # they say 0 until they have learned
        mixture.partial_fit(np.zeros((12, 1)), y)
    losses = np.abs(scripts - y)
    rounding = 1e-12 * (np.abs(y).max() + losses.sum())
    assert_allclose(mixture.expert_losses_, losses.sum(axis=1), 1e-12, rounding)
    regret = mixture.cumulative_loss_ - losses.sum(axis=1).min()
    assert mixture.regret_bound_ == mixture.regret_bound()
    assert regret <= mixture.regret_bound() + 1e-9 * losses.sum(axis=1).max()
    regret = mixture.cumulative_loss_ - least_with_a_switch(losses)
    rounding = 1e-9 * losses.sum(axis=1).max()
    assert regret <= mixture.regret_bound(n_switches=1) + rounding
    assert np.isfinite(mixture.regret_bound(n_switches=1))


@pytest.mark.slow
@given(
    scripts=arrays(float, (4, 12), elements=st.floats(-1e4, 1e4)),
    y=arrays(int, 12, elements=st.integers(0, 1)),
)
def test_bound_against_the_best_expert_on_log_odds(scripts, y):
    """Also of experts that are sure of what is wrong."""
    experts = [(f"e{i}", ScriptedClassifier(s)) for i, s in enumerate(scripts)]
    mixture = HedgeClassifier(experts)
    with config_context(engine="numpy"):
        mixture.partial_fit([[0.0]], [0], classes=[0, 1])  # all say 1/2
        decision = mixture.partial_fit_predict(
            np.zeros((12, 1)), y, method="decision_function"
        )
    assert np.isfinite(decision).all()
    losses = np.logaddexp(0, (1 - 2 * y) * scripts)
    totals = np.log(2) + losses.sum(axis=1)
    assert_allclose(mixture.expert_losses_, totals, rtol=1e-12, atol=1e-12)
    regret = mixture.cumulative_loss_ - totals.min()
    rounding = 1e-9 * totals.max() + 1e-12
    assert regret <= mixture.regret_bound() + rounding
    # The bound of the first level, and that of the second; equal losses need none.
    bound = np.log(5 * 4) + np.log(5 * 2)
    assert mixture.regret_bound() <= bound * (1 + 1e-12)
    if np.ptp(losses, axis=0).max() > 1e-9:
        assert mixture.regret_bound() >= np.log(5 * 4)
    regret = mixture.cumulative_loss_ - np.log(2) - least_with_a_switch(losses)
    assert regret <= mixture.regret_bound(n_switches=1) + rounding


@pytest.mark.cases(1)
@of_each_kind
@containers
@seeds
def test_powers_of_two(problem, container, seed, engine):
    problem = Problem(problem.loss, problem.n_outputs, seed)
    units = 2.0 ** np.array([-900, 900, 7, -300, 0])
    plain, scaled = problem.make(), problem.make()
    c = weights(len(problem.y))
    y = problem.y
    with_unit = y if problem.classifies else y * 2.0**9
    expected = problem.charged(plain, container(problem.X), y, sample_weight=c)
    charged = problem.charged(
        scaled, container(problem.X * units), with_unit, sample_weight=c
    )
    new = rows(seed=3)
    decision = problem.decision(scaled, container(new * units))
    if not problem.classifies:
        charged, decision = charged / 2.0**9, decision / 2.0**9
    assert_identical(charged, expected)
    assert_identical(decision, problem.decision(plain, container(new)))
    assert_identical(scaled.weights_, plain.weights_)


def test_outputs_have_weights_of_their_own(engine):
    """But for trees whose splits are chosen for all outputs."""
    problem, exclude = Problem("absolute_error", 2), ["extra_trees"]
    both = problem.make(exclude=exclude)
    charged = problem.charged(both, problem.X, problem.y)
    for k in range(2):
        alone = problem.make(exclude=exclude)
        of_output = problem.charged(alone, problem.X, problem.y[:, k])
        assert_close(of_output, charged[:, k], 1e-12)
        assert_close(both.weights_[k], alone.weights_, 1e-12)
    assert both.weights_.shape == both.expert_losses_.shape
    assert both.weights_curve_[1].shape[1:] == both.weights_.shape


@pytest.mark.cases(1)
@of_each_kind
@containers
def test_chunks_do_not_matter(problem, container, engine, monkeypatch):
    X, y, c = container(problem.X), problem.y, weights(len(problem.y))
    whole = problem.make()
    charged = problem.charged(whole, X, y, sample_weight=c)
    for size in 1, 7:
        parts = problem.make()
        of_parts = [
            problem.charged(parts, X[s : s + size], y[s : s + size], sample_weight=w)
            for s in range(0, len(y), size)
            for w in [c[s : s + size]]
        ]
        assert_identical(np.concatenate(of_parts), charged)
        assert_identical(learned(parts), learned(whole))
    monkeypatch.setattr(mixture, "BLOCK_ENTRIES", 25)
    inside = problem.make()
    assert_identical(problem.charged(inside, X, y, sample_weight=c), charged)
    assert_identical(learned(inside), learned(whole))
    assert_identical(problem.decision(inside, X), problem.decision(whole, X))


@pytest.fixture
def few_classes(monkeypatch):
    """Let mixtures and their experts be for four classes at most."""
    for module in mixture_estimator, classifier, default_experts:
        monkeypatch.setattr(module, "MAX_CLASSES", 4)
    monkeypatch.setattr(default_experts, "MAX_FOURIER_CLASSES", 4)


def test_classes_that_are_too_many_for_experts(few_classes):
    """Those named at first have simple experts; in a stream they are refused."""
    X, y = np.eye(6, 3), np.arange(6)
    for n in 4, 5:
        model = HedgeClassifier().partial_fit(X[:n], y[:n], classes=y[:n])
        for name in "newton-forgetting-0.02", "bins-scinol2":
            assert (name in model.named_estimators_) == (n == 4)
        assert ("adaogd-0.125" in model.named_estimators_) == (n == 5)
    kinds = "second_order", "random_features", "additive", "pools"
    words = f"6 classes .* set exclude=.{', '.join(map(repr, kinds))}.\\."
    model = HedgeClassifier(new_classes="add")
    with pytest.raises(ValueError, match=words):
        clone(model).partial_fit(X, y)
    model.partial_fit(X[:3], y[:3])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=words):
        model.partial_fit(X[3:], y[3:])
    assert pickle.dumps(model) == before
    assert model.partial_fit(X[3:4], y[3:4]).classes_.size == 4
    for experts in None, [("one", ScInOLClassifier())]:
        simple = HedgeClassifier(experts, new_classes="add", exclude=kinds)
        assert simple.partial_fit(X, y).classes_.size == 6
    named = HedgeClassifier(new_classes="add").partial_fit(X[:1], y[:1], classes=y[:5])
    assert named.partial_fit(X[5:], y[5:]).classes_.size == 6


N_STREAMS = int(os.environ.get("CHUNKED_STREAMS", 2))


def sparse_stream(rng, classifies):
    """Rows of any shape and density, targets, and weights or None."""
    n, d = rng.integers(20, 120), rng.choice([2, 9, 40, 300])
    n_outputs = rng.choice([2, 3] if classifies else [1, 2])
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.02, 0.1, 0.5]))
    X = sparse.csr_array(X * 10.0 ** rng.uniform(-3, 3, size=d))
    kind = rng.choice([np.int32, np.int64])
    X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
    y = rng.integers(n_outputs, size=n)
    if not classifies:
        y = rng.normal(size=(n, n_outputs))
    c = np.append(1.0, rng.choice([0.0, 0.5, 1.0, 3.0], n - 1))
    return X, y, c if rng.random() < 0.5 else None


@pytest.mark.thorough
@compiled
@pytest.mark.parametrize("seed", range(N_STREAMS))
def test_chunks_of_sparse_streams_do_not_matter(seed, engine):
    """Experts of one algorithm learn side by side, however few rows there are."""
    rng, classifies = np.random.default_rng(seed), seed % 2 == 0
    X, y, c = sparse_stream(rng, classifies)
    kind = BaselineClassifier if classifies else BaselineRegressor
    experts = [
        (f"{rate:g}", kind("adaogd", learning_rate=rate, scale=True))
        for rate in (0.1, 1.0)
    ]
    mixture = HedgeClassifier(experts) if classifies else HedgeRegressor(experts)
    classes = {"classes": np.unique(y)} if classifies else {}

    def in_chunks(size):
        model = clone(mixture)
        for start in range(0, len(y), size):
            rows = slice(start, start + size)
            of_rows = None if c is None else c[rows]
            model.partial_fit(X[rows], y[rows], sample_weight=of_rows, **classes)
        return learned(model)

    whole = in_chunks(len(y))
    for size in 1, rng.integers(2, 20):
        assert_identical(in_chunks(size), whole)


@pytest.mark.thorough
@of_each_kind
def test_fit_is_partial_fit(problem, engine):
    streamed = problem.make()
    fitted = problem.make(max_iter=1, tol=None, shuffle=False)
    problem.charged(streamed, problem.X, problem.y)
    assert_identical(learned(fitted.fit(problem.X, problem.y)), learned(streamed))
    assert fitted.loss_curve_ == streamed.loss_curve_


def test_weights_learn_from_experts_that_have_had_epochs(engine, monkeypatch):
    monkeypatch.setattr(mixture_estimator, "N_BEFORE_REPEATS", 10)
    monkeypatch.setattr(mixture_estimator, "N_REPEATS", 2)
    X = np.random.default_rng(0).normal(size=(35, 3))
    y, c = (X[:, 0] > 0).astype(int), weights(35)
    model = HedgeClassifier(
        [("scinol2", ScInOLClassifier())],
        exclude=["pools"],
        max_iter=2,
        tol=None,
        early_stopping=False,
        shuffle=False,
    ).fit(X, y, c)
    expert, lost = ScInOLClassifier(), 0.0
    for start, stop, n_repeats in (0, 10, 2), (10, 20, 2), (20, 35, 1):
        new, before = slice(start, stop), getattr(expert, "cumulative_loss_", 0.0)
        expert.partial_fit(X[new], y[new], [0, 1], c[new])
        lost += expert.cumulative_loss_ - before
        for _ in range(n_repeats):  # the last one is the second epoch
            expert.partial_fit(X[:stop], y[:stop], sample_weight=c[:stop])
    assert_allclose(model.expert_losses_, [lost])
    assert_allclose(model.loss_curve_[0], lost / c.sum())
    assert_allclose(model.decision_function(X), expert.decision_function(X))
    assert model.n_samples_seen_ == expert.n_samples_seen_
    assert len(model.loss_curve_) == 2


@pytest.mark.cases(1)
@of_each_kind
def test_rows_of_weight_zero(problem, engine):
    c = weights(len(problem.y))
    counts = c > 0
    X = problem.X.copy()
    X[~counts] *= 1e6
    all_rows, some_rows = problem.make(), problem.make()
    charged = problem.charged(all_rows, X, problem.y, sample_weight=c)
    expected = problem.charged(
        some_rows, X[counts], problem.y[counts], sample_weight=c[counts]
    )
    assert_identical(charged[counts], expected)
    assert_identical(learned(all_rows), learned(some_rows))
    problem.charged(all_rows, X, problem.y, sample_weight=np.zeros(len(c)))
    assert_identical(learned(all_rows), learned(some_rows))


@pytest.mark.cases(1)
@of_each_kind
@containers
def test_prediction_is_what_is_charged(problem, container, engine):
    mixture = problem.make()
    problem.charged(mixture, container(problem.X[:10]), problem.y[:10])
    for r in range(10, 20):
        x, y = container(problem.X[r : r + 1]), problem.y[r : r + 1]
        decision = problem.decision(mixture, x)
        answer = mixture.predict(x)
        before = copy.deepcopy(mixture)
        assert_close(problem.charged(mixture, x, y), decision, 1e-10)
        assert_close(before.partial_fit_predict(x, y), answer, 1e-10)


@pytest.mark.cases(1)
@of_each_kind
@pytest.mark.parametrize(
    "engine", ["numpy", "uncompiled", *thoroughly("numba")], indirect=True
)
def test_parallel(problem, engine):
    X, y = problem.X, problem.y
    alone, together = problem.make(), problem.make(n_jobs=2)
    expected = [problem.charged(alone, X[s], y[s]) for s in (slice(40), slice(40, 60))]
    charged = [
        problem.charged(together, X[s], y[s]) for s in (slice(40), slice(40, 60))
    ]
    assert_identical(problem.decision(together, X), problem.decision(alone, X))
    assert_identical(np.concatenate(charged), np.concatenate(expected))
    assert_identical(together.weights_, alone.weights_)
    with joblib.parallel_backend("threading", n_jobs=2):  # without a word of ours
        again = problem.make()
        assert_identical(problem.charged(again, X[:40], y[:40]), expected[0])


def test_parameters_of_the_loss_reach_the_experts():
    X = rows()
    model = HedgeRegressor(loss="quantile", quantile=0.9)
    model.fit(X, targets(X, 1)[:, 0])
    assert {expert.quantile for expert in model.estimators_} == {0.9}
    for kind in "forest", "extra_trees":
        assert model.expert_kinds_[kind] == "none: forests predict means"
    above = (model.predict(X) > targets(X, 1)[:, 0]).mean()
    assert above > 0.7


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive", "quantile"])
def test_losses_whose_parameter_has_the_unit_of_the_target(loss, engine):
    X = rows(30)
    y = targets(X, 1)[:, 0]
    plain = HedgeRegressor(loss=loss, epsilon=2.0)
    other = HedgeRegressor(loss=loss, epsilon=2e5)
    expected = plain.partial_fit_predict(X, y)
    assert_close(other.partial_fit_predict(X, 1e5 * y) / 1e5, expected, 1e-9)


FOREIGN = [
    SGDClassifier(loss="log_loss", random_state=0),  # predict_log_proba
    GaussianNB(),  # which is sure of itself
    SGDClassifier(random_state=0),  # decision_function alone
    Perceptron(random_state=0),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", FOREIGN, ids=str)
def test_other_estimators_predict_chunks(estimator, n_classes, monkeypatch):
    """What they say of a chunk is said before it is learned; nothing of the first."""
    monkeypatch.setattr(expert, "CHUNK_ROWS", 20)
    X = StandardScaler().fit_transform(rows())
    y = targets(X, n_classes).argmax(axis=1)
    model = HedgeClassifier([("foreign", estimator)], exclude=["pools"])
    said = model.partial_fit_predict(
        X, y, classes=np.arange(n_classes), method="predict_proba"
    )
    assert_allclose(said[:20], 1 / n_classes)
    alone = clone(estimator).partial_fit(X[:20], y[:20], classes=np.arange(n_classes))
    if hasattr(alone, "predict_proba"):
        expected = alone.predict_proba(X[20:40])
    else:
        scores = alone.decision_function(X[20:40])
        if n_classes == 2:
            scores = np.column_stack([np.zeros(20), scores])
        expected = softmax(scores, axis=1)
    assert_allclose(said[20:40], expected, atol=1e-12)
    assert_allclose(said.sum(axis=1), 1.0)


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
@pytest.mark.parametrize("precisions", [("f4", "f8"), ("f8", "f4")])
def test_precisions_in_turn(container, precisions):
    """scikit-learn's linear models go on in the precision of their first rows."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.integers(0, 2, 20)
    model = HedgeClassifier([("sgd", SGDClassifier(loss="log_loss"))])
    for precision, rows in zip(precisions, (slice(10), slice(10, 20)), strict=True):
        chunk = container(X[rows].astype(precision))
        model.partial_fit(chunk, y[rows], classes=[0, 1])
        assert model.predict(chunk).shape == (10,)


def test_sparse_rows_need_experts_that_take_them():
    assert get_tags(HedgeClassifier()).input_tags.sparse
    assert get_tags(HedgeClassifier([("a", ScInOLClassifier())])).input_tags.sparse
    assert not get_tags(HedgeClassifier([("a", GaussianNB())])).input_tags.sparse


@pytest.mark.cases(4)
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("classifies", [True, False])
def test_coefficients(classifies, container, n_outputs):
    """Those of experts whose deviations of rare features fall for ever are left out."""
    X = np.zeros((300, 3))
    X[:, 0], X[5, 1] = np.random.default_rng(0).normal(size=300), 1.0
    mixture, *kinds = (
        (HedgeClassifier, ScInOLClassifier, AdaImplicitClassifier)
        if classifies
        else (HedgeRegressor, ScInOLRegressor, AdaImplicitRegressor)
    )
    forgets = kinds[1](scale=True, moment_forgetting=0.1)
    experts = [("one", kinds[0]()), ("forgets", forgets), ("two", kinds[1](scale=True))]
    y = np.column_stack([X[:, 0] > 0, X[:, 0] > 1])[:, :n_outputs].astype(int)
    y, first = y.squeeze(), {}
    if classifies:
        y, first = y.reshape(300, -1).sum(axis=1), {"classes": range(n_outputs + 1)}
    model = mixture(experts).partial_fit(container(X), y, **first)
    assert abs(model.coef_).max() < 50.0
    w = np.atleast_2d(model.weights_)[:, ::2]
    w_one, w_two = (w / w.sum(axis=1, keepdims=True)).T
    for name in "coef_", "intercept_":
        one, _, two = (np.transpose(getattr(each, name)) for each in model.estimators_)
        expected = np.transpose(w_one * one + w_two * two)
        assert_allclose(getattr(model, name), expected, rtol=1e-12)
    alone = mixture(experts[1:2]).partial_fit(container(X), y, **first)
    with pytest.raises(AttributeError, match="'forgets' has none that describes"):
        alone.coef_  # noqa: B018


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_plot_of_weights(pyplot):
    problem = Problem("absolute_error", 2)
    model = problem.make().partial_fit(problem.X[:20], problem.y[:20])
    _, ax = pyplot.subplots()
    display = model.plot_weights(output=1, n_largest=None, alpha=0.5, ax=ax)
    assert display.ax_ is ax
    names = legend_of(display.ax_)
    pools = ["pool", "pool, forgetting", "pool, forgetting fast"]
    assert sorted(names) == sorted([*model.named_estimators_, *pools])
    assert len(display.areas_) == len(names)
    of_levels = model.pool_weights_curve_[1][:, 1]
    of_experts = of_levels[:, :1] * model.weights_curve_[1][:, 1]
    assert_array_equal(display.weights, np.hstack([of_experts, of_levels[:, 1:]]))
    assert_allclose(display.weights.sum(axis=1), 1.0)
    assert display.areas_[0].get_alpha() == 0.5
    with pytest.raises(ValueError, match="output == 2, must be <= 1"):
        ExpertWeightsDisplay.from_estimator(model, output=2)
    with pytest.raises(NotFittedError):
        HedgeRegressor().plot_weights()


def test_plot_of_the_largest_weights(pyplot):
    """Weights hold up to the next point, so "a" and "b" are large for few rows only."""
    display = ExpertWeightsDisplay(
        n_samples=[0, 1, 2, 100],
        weights=[
            [0.9, 0.1, 0.0, 0.0, 0.0],
            [0.0, 0.9, 0.1, 0.0, 0.0],
            [0.1, 0.1, 0.25, 0.5, 0.05],
            [0.9, 0.0, 0.0, 0.1, 0.0],
        ],
        names=["a", "b", "c", "d", "e"],
    )
    ax = display.plot(n_largest=2).ax_
    assert legend_of(ax) == ["d", "c", "3 others"]
    areas = [area.get_paths()[0] for area in display.areas_]
    for k, weight in enumerate([0.1, 0.2, 0.3, 0.45, 0.55, 0.95]):
        inside = [area.contains_point((50, weight)) for area in areas]
        assert inside == [k // 2 == i for i in range(3)]
    with pytest.raises(ValueError, match="n_largest == 0, must be >= 1"):
        display.plot(n_largest=0)
    # One alone is named.
    _, ax = pyplot.subplots()  # where nothing makes room for a legend
    assert legend_of(display.plot(ax, n_largest=4).ax_) == ["e", "d", "c", "b", "a"]


@pytest.mark.parametrize(
    ("estimators", "error", "words"),
    [
        ([], ValueError, "should be a non-empty list of"),
        ([ScInOLClassifier()], ValueError, "should be a non-empty list of"),
        ((("a", ScInOLClassifier()),), ValueError, "'estimators' parameter"),
        ([("a", ScInOLClassifier())] * 2, ValueError, "Names provided are not unique"),
        ([("a__b", ScInOLClassifier())], ValueError, "must not contain __"),
        ([("loss", ScInOLClassifier())], ValueError, "conflict with constructor"),
        ([("a", "drop")], ValueError, "All estimators are dropped"),
        ([("a", ScInOLRegressor())], ValueError, "ScInOLRegressor should be a class"),
        ([("a", RandomForestClassifier())], ValueError, "should have partial_fit"),
    ],
)
def test_estimators_that_are_no_experts(estimators, error, words):
    X = rows()
    model = HedgeClassifier(estimators)
    for _ in range(2):
        with pytest.raises(error, match=words):
            model.fit(X, 1 * (X[:, 0] > 0))
        assert not hasattr(model, "estimators_")
        with pytest.raises(NotFittedError):
            model.predict(X)


class Failing(RegressorMixin, BaseEstimator):
    """Fails when a target is negative."""

    def partial_fit(self, X, y):
        if y.min() < 0:
            raise ArithmeticError("a negative target")
        self.n_learned_ = getattr(self, "n_learned_", 0) + len(y)
        return self

    def predict(self, X):
        return np.full(X.shape[0], 0.0 if self.n_learned_ < 300 else np.nan)


def test_experts_that_lack_something():
    """Coefficients, scores that a hinge needs, and sample weights."""
    X = rows()
    y = 1 * (X[:, 0] > 0)
    foreign = [("ours", ScInOLClassifier()), ("nb", GaussianNB())]
    model = HedgeClassifier(foreign)
    with pytest.raises(NotFittedError):
        model.coef_  # noqa: B018
    assert not hasattr(model.partial_fit(X, y, classes=[0, 1]), "coef_")
    with pytest.raises(AttributeError, match="expert 'nb' has none"):
        model.coef_  # noqa: B018
    model = HedgeClassifier(foreign[1:], loss="hinge")
    with pytest.raises(ValueError, match="'nb' should have decision_function"):
        model.partial_fit(X, y, classes=[0, 1]).predict(X)
    model = HedgeRegressor([("other", Failing())])
    with pytest.raises(TypeError, match="does not support sample weights"):
        model.partial_fit(X, y, sample_weight=np.ones(60))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("failing", ["learning", "predicting"])
@containers
def test_an_expert_that_fails_leaves_all_as_they_were(
    failing, container, n_jobs, engine
):
    """Not even those have learned that cannot diverge."""
    X, y = container(rows(800)), np.abs(targets(rows(800), 1)[:, 0])
    team = BaselineRegressor("adaogd"), BaselineRegressor("adaogd", learning_rate=0.1)
    ours = ScInOLRegressor(), *team, HedgeRegressor([("slow", team[1])])
    experts = [*((str(k), each) for k, each in enumerate(ours)), ("other", Failing())]
    model = HedgeRegressor(experts, n_jobs=n_jobs).partial_fit(X[:100], y[:100])
    before, said = pickle.dumps(model), model.predict(X[:5])
    if failing == "learning":
        y[700] = -1.0
        error, words = ArithmeticError, "a negative target"
        rows_ = slice(700, 800)
    else:
        error, words = ValueError, "'other' contain NaN"
        rows_ = slice(100, 700)
    with pytest.raises(error, match=words):
        model.partial_fit(X[rows_], y[rows_])
    assert_identical(learned(model), learned(pickle.loads(before)))
    assert_array_equal(model.predict(X[:5]), said)


@pytest.mark.parametrize("n_outputs", [None, 2])
@pytest.mark.parametrize("exclude", [["pools"], []])
def test_standard_deviations(n_outputs, exclude, engine):
    rng = np.random.default_rng(0)
    X, shape = rng.normal(size=(60, 3)), (60,) if n_outputs is None else (60, n_outputs)
    y, c = rng.normal(size=shape) + 100.0, rng.choice([0.0, 1.0, 3.0], size=60)
    experts = [("scinol", ScInOLRegressor()), ("newton", OnlineNewtonRegressor())]
    model, charged = HedgeRegressor(experts, exclude=exclude), []
    for rows in slice(1), slice(1, 30), slice(30, 60):
        of_rows = model.partial_fit_predict(X[rows], y[rows], sample_weight=c[rows])
        charged.append(of_rows)
    c[np.flatnonzero(c)[0]] = 0.0  # its error depends on the zero of the target
    noise = c @ (y - np.concatenate(charged)).reshape(60, -1) ** 2 / c.sum()
    p, deviations = make_online_pipeline(model).predict(X, return_std=True)
    assert_array_equal(p, model.predict(X))
    means = np.stack([each.predict(X) for each in model.estimators_], axis=-1)
    lowest, highest = y.min(axis=0), y.max(axis=0)  # predictions are clipped
    means = np.clip(means, np.expand_dims(lowest, -1), np.expand_dims(highest, -1))
    spread = np.sum(model.weights_ * (means - p[..., np.newaxis]) ** 2, axis=-1)
    expected = np.sqrt(noise.reshape(shape[1:]) + spread)
    assert_allclose(deviations, expected, rtol=1e-7)


@pytest.mark.thorough
def test_random_states_are_honoured():
    """Experts are drawn by an int, or an instance, as in scikit-learn."""
    X, y = np.reshape(np.sin(np.arange(90.0) ** 2), (30, 3)), np.arange(30) % 2
    states = [np.random.RandomState(seed) for seed in (5, 5, 6)]
    one, same, other, by_default, zero = (
        HedgeClassifier(random_state=state).fit(X, y).decision_function(X)
        for state in (*states, None, 0)
    )
    assert_array_equal(one, same)
    assert_array_equal(by_default, zero)
    assert (one != other).any()
    assert (by_default != one).any()


QUANTILE = {"loss": "quantile", "quantile": 0.8}
SQUARED = {"loss": "squared_error"}


def mixture_of(kinds, **loss):
    experts = [(str(k), kind(**loss)) for k, kind in enumerate(kinds)]
    return HedgeRegressor(experts, **loss)


FAR_APART = ScInOLRegressor, OnlineNewtonRegressor
# Until forgetting makes a difference, both predict the same but for rounding.
ALIKE = OnlineNewtonRegressor, partial(OnlineNewtonRegressor, forgetting=0.01)
MIXTURES = {
    "absolute error": mixture_of(FAR_APART),
    "quantile": mixture_of(FAR_APART, **QUANTILE),
    "squared error": mixture_of(ALIKE, **SQUARED),
}

#: What targets become: of few values, experts are often clipped to the one that comes.
CHANGES = np.asarray, np.sign, np.round

both_engines = pytest.mark.parametrize("engine", ["numpy", "numba"], indirect=True)


@pytest.mark.cases(1)
@both_engines
@pytest.mark.parametrize("mixture", MIXTURES)
def test_other_units(mixture, engine):
    for seed in range(20):
        random = np.random.default_rng(seed)
        X = random.normal(size=(50, 3))
        noise = (random.exponential(size=50) - 0.5) * np.exp(X[:, 0])
        y = CHANGES[seed % 3](linear(X, [1.0, 2.0, 3.0]) + noise)

        def predicted(X, y):
            return clone(MIXTURES[mixture]).partial_fit_predict(X, y)

        plain, size = predicted(X, y), np.abs(y).max()
        scaled = predicted(X * [3.0, 1.0, 1e5], 7.0 * y) / 7.0
        assert_allclose(scaled, plain, rtol=0.0, atol=1e-9 * size)
        # The first prediction is 0, whatever the target's zero.
        moved = predicted(X + np.array([30.0, 0.0, -7.0]), y + 100.0)[1:]
        assert_allclose(moved, plain[1:] + 100.0, rtol=0.0, atol=1e-7 * size)


@both_engines
@pytest.mark.parametrize("weights", [AdaHedge, FixedShare])
def test_losses_that_differ_by_rounding_are_equal(weights, engine):
    losses = np.array([0.1 + 0.2, 0.3, 1.0, 0.3])
    assert losses[0] != losses[1]
    found, expected = weights(4), weights(4)
    found.update(losses[np.newaxis])
    expected.update(np.array([[0.3, 0.3, 1.0, 0.3]]))
    assert_allclose(found.weights_, expected.weights_, rtol=1e-12)
