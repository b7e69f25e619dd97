"""Log-linear pools of mixtures, and late labels: against references and promises."""

import copy
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.comparisons import assert_close
from support.experts import EXPERTS, scripts
from support.naive_late import LateClasses, LateNumbers, floats
from support.registry import seeds
from support.sums import linear

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineNewtonClassifier,
    config_context,
    merge_models,
)
from sklearn_scinol import losses as package_losses
from sklearn_scinol._shards import Shards
from sklearn_scinol.baselines import BaselineClassifier
from sklearn_scinol.blocks import Block, RowWeights
from sklearn_scinol.config import current_engine
from sklearn_scinol.models.pool import PoolModel


def stream(loss, n_outputs, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(n, 4)) + np.array([0.0, 1.0, -3.0, 0.0])
    y = linear(10.0 * X, rng.normal(size=(4, n_outputs))) + rng.normal(
        size=(n, n_outputs)
    )
    if loss == "log_loss":
        y = y.argmax(axis=1) if n_outputs > 1 else 1 * (y[:, 0] > y.mean())
    return X, (y[:, 0] if y.ndim == 2 and n_outputs == 1 else y)


def weights_of_rows(n):
    c = np.random.default_rng(2).exponential(size=n)
    c[::7] = 0.0
    return c


def charged(model, X, y, c, **method):
    classifies = isinstance(model, HedgeClassifier)
    method = {"method": "predict_log_proba"} if classifies else {}
    if classifies:
        method["classes"] = np.arange(max(y.max() + 1, 2))
    return model.partial_fit_predict(X, y, sample_weight=c, **method)


@pytest.mark.cases(3)
@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weighted"])
@pytest.mark.parametrize(
    ("loss", "n_outputs"),
    [("log_loss", 1), ("log_loss", 3), ("absolute_error", 1), ("squared_error", 1)],
)
def test_agrees_with_reference(loss, n_outputs, weighted, engine):
    X, y = stream(loss, n_outputs)
    c = weights_of_rows(len(y)) if weighted else np.ones(len(y))
    classifies = loss == "log_loss"
    make = partial(HedgeClassifier if classifies else HedgeRegressor, loss=loss)
    experts = [
        (name, clone(each).set_params(loss=loss)) for name, each in EXPERTS[classifies]
    ]
    alone = [make([expert], exclude=["pools"]) for expert in experts]
    said = np.array([charged(each, X, y, c) for each in alone])
    reference = LateNumbers(3, loss)
    if classifies:
        reference = LateClasses(3, max(n_outputs, 2))
    expected = []
    for r, (y_r, c_r) in enumerate(zip(y, c, strict=True)):
        served = reference.serve(said[:, r], c_r)
        expected.append(served["answer"])
        if c_r > 0:
            reference.learn(served, y_r, c_r)
    model = make(experts)
    assert_close(charged(model, X, y, c), expected, 1e-9)
    assert_allclose(model.weights_, floats(reference.hedge.weights()), rtol=1e-9)
    assert_allclose(model.cumulative_loss_, reference.total, rtol=1e-9)
    assert_allclose(model.pool_weights_.sum(), 1.0)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile"])
def test_engines_agree_on_several_outputs(loss):
    """Of a chunk, the targets of an output are not side by side in memory."""
    pytest.importorskip("numba")
    X, y = stream("absolute_error", 2)
    model = HedgeRegressor(EXPERTS[False], loss=loss)
    if loss == "quantile":
        model, y = model.set_params(quantile=[0.1, 0.9]), y[:, 0]
    said = []
    for name in "numpy", "numba":
        with config_context(engine=name):
            said.append(clone(model).partial_fit_predict(X, y))
    assert_close(*said, 1e-9)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_predictions_of_experts_who_are_too_sure(n_outputs, engine):
    """Their log odds are limited in learning and in predicting alike."""
    X, y = stream("log_loss", n_outputs, n=60)
    wild = BaselineClassifier("sgd", learning_rate=100.0)
    model = HedgeClassifier([*EXPERTS[True], ("wild", wild)])
    classes = np.arange(max(n_outputs, 2))
    model.partial_fit(X[:30], y[:30], classes=classes)
    assert np.abs(model.named_estimators_["wild"].decision_function(X)).max() > 20
    for r in range(30, 60):
        expected = model.decision_function(X[r : r + 1])
        said = model.partial_fit_predict(
            X[r : r + 1], y[r : r + 1], method="decision_function"
        )
        assert_allclose(said, expected, rtol=1e-9, atol=1e-12)


def test_weights_of_levels_and_pools(engine):
    X, y = stream("log_loss", 1)
    model = HedgeClassifier(EXPERTS[True]).partial_fit(X, y, classes=[0, 1])
    points, curve = model.pool_weights_curve_
    assert_array_equal(points, model.weights_curve_[0])
    assert curve.shape == (len(points), 4)
    assert_allclose(curve[0], [0.5, 1 / 6, 1 / 6, 1 / 6])
    assert_array_equal(curve[-1], model.pool_weights_)
    assert model.pool_coef_.shape == (3, 4)
    X, y = stream("absolute_error", 2)
    model = HedgeRegressor(EXPERTS[False]).partial_fit(X, y)
    assert model.pool_weights_.shape == (2, 4)
    assert model.pool_coef_.shape == (2, 3, 5)
    assert_allclose(model.pool_coef_.sum(axis=2), 1.0)
    assert model.pool_weights_curve_[1].shape == (len(points), 2, 4)


@pytest.mark.parametrize("name", ["pool_weights_", "pool_coef_"])
def test_without_pools(name):
    X, y = stream("log_loss", 1)
    with pytest.raises(NotFittedError):
        getattr(HedgeClassifier(), name)
    model = HedgeClassifier(exclude=["pools"]).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(AttributeError, match="no pools of experts: `expert_kinds_`"):
        getattr(model, name)


def test_pools_learn_rows_once():
    """In later epochs experts know the rows: their predictions are too good."""
    X, y = stream("log_loss", 1, n=60)
    for early_stopping in True, False:
        model = HedgeClassifier(
            EXPERTS[True], max_iter=4, tol=None, early_stopping=early_stopping
        ).fit(X, y)
        (level,) = model._model.levels
        assert {pool.t for pool in level.pools} == {level.hedge.n_rounds_} == {60}


def test_a_third_class_keeps_the_weights(engine):
    X, y = stream("log_loss", 3, n=60)
    few = y < 2
    model = HedgeClassifier(EXPERTS[True], new_classes="add")
    model.partial_fit(X[few], y[few], classes=[0, 1])
    before = model.pool_coef_.copy()
    model._add_classes(np.arange(3), np.array([False, False, True]))
    assert_array_equal(model.pool_coef_, before)
    model.partial_fit(X[~few], y[~few])
    assert (model.pool_coef_ != before).all()
    (level,) = model._model.levels
    assert {pool.t for pool in level.pools} == {60}


def test_rows_of_any_weight(engine):
    """A row that counts a million times moves the pools to its minimum, not beyond."""
    for n_outputs in 1, 3:
        X, y = stream("log_loss", n_outputs)
        c = np.where(np.arange(len(y)) == 20, 1e6, 1.0)
        model = HedgeClassifier(EXPERTS[True])
        model.partial_fit(X, y, classes=np.arange(max(n_outputs, 2)), sample_weight=c)
        assert np.abs(model.pool_coef_).max() < 30.0


def test_pools_have_nested_mixtures():
    """Mixtures without random features are pooled: they do not ignore all features."""
    inner = HedgeClassifier(EXPERTS[True], exclude=["random_features"])
    experts = [("newton", OnlineNewtonClassifier()), ("mixture", inner)]
    mixture = HedgeClassifier(experts)
    X, y = stream("log_loss", 1)
    mixture.partial_fit(X, y, classes=[0, 1])
    assert (mixture.pool_coef_ != 0.0).all()


def test_merged_pools_have_learned_all_rows(engine):
    """Merge pools of fixed experts: with squared errors they are ridge regressions."""
    rng = np.random.default_rng(0)
    F, y, ones = rng.normal(size=(60, 3)), rng.normal(size=(60, 1)), np.ones(60)
    start = PoolModel(package_losses.SquaredError(), 3, 0.1, 0.0)

    def learned(rows):
        pool, weights = start.fresh(), RowWeights(*[ones[rows]] * 3, np.ones(7))
        block = Block((), None, y[rows], weights, None)
        pool.learn_scores(current_engine(), F[rows], block)
        return pool

    parts = [learned(slice(0, 20)), learned(slice(20, 60))]
    merged = PoolModel.merged(Shards(parts, start, [1 / 3, 2 / 3]))
    whole = learned(slice(None))
    assert_allclose(merged.weights, whole.weights, rtol=1e-9)
    assert_allclose(merged.state().P, whole.state().P, rtol=1e-9, atol=1e-12)
    X, y = stream("log_loss", 3, n=90)
    start = HedgeClassifier(EXPERTS[True]).partial_fit(X[:30], y[:30], classes=range(3))
    shards = slice(30, 50), slice(50, 90)
    parts = [copy.deepcopy(start).partial_fit(X[s], y[s]) for s in shards]
    merged = merge_models(parts, start=start)
    (level,) = merged._model.levels
    assert level.pools[0].t == level.hedge.n_rounds_ == 90
    assert level.pools[0].weight_scale is merged._model.weight_scale
    merged.partial_fit(X, y)._check_state()


# Labels that come late.


class LateStream:
    """Rows that come in blocks, each `delay` blocks before its labels."""

    def __init__(self, n_outputs, classifies, seed, weighted, n=48):
        rng = np.random.default_rng(seed)
        self.n, self.classifies = n, classifies
        loss = "log_loss" if classifies else "absolute_error"
        self.X, self.y = stream(loss, n_outputs, n, seed)
        if classifies:
            self.y[:n_outputs] = np.arange(n_outputs)
        self.c = rng.exponential(size=n) if weighted else np.ones(n)
        self.classes = np.arange(max(n_outputs, 2)) if classifies else None
        self.method = "predict_log_proba" if classifies else "predict"
        cuts = np.sort(rng.choice(np.arange(2, n), 11, replace=False))
        self.blocks = [slice(*ends) for ends in np.stack([cuts[:-1], cuts[1:]], axis=1)]
        self.blocks.insert(0, slice(1, cuts[0]))
        self.delay = int(rng.integers(1, 4))

    def follow(self, serve, learn):
        """Call a function for each block that comes, and one for its labels."""
        for i, block in enumerate(self.blocks):
            serve(block)
            if i >= self.delay:
                learn(self.blocks[i - self.delay])
        for block in self.blocks[len(self.blocks) - self.delay :]:
            learn(block)

    def first(self, model):
        """Return a model that has learned the first row."""
        row = self.X[:1], self.y[:1], self.c[:1], self.classes
        return model._partial_fit(*row)

    def said(self, model):
        """Predictions of an estimator alone, which no loss of others changes."""
        self.first(model)
        said = np.full(
            (self.n, *model._serve(self.X[:1], self.method)[0][0].shape), 0.0
        )

        def serve(block):
            for r in range(self.n)[block]:
                row, nothing = slice(r, r + 1), np.zeros(1)
                target = self.y[:1]
                said[r] = model._partial_fit(
                    self.X[row], target, nothing, method=self.method
                )[0]

        def learn(block):
            model._partial_fit(self.X[block], self.y[block], self.c[block])

        self.follow(serve, learn)
        return said


@pytest.mark.cases(4)
@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weighted"])
@pytest.mark.parametrize(
    ("n_outputs", "classifies"),
    [(1, True), (3, True), (1, False), (2, False)],
    ids=["2 classes", "3 classes", "number", "2 numbers"],
)
@seeds
def test_late_labels_agree_with_reference(
    n_outputs, classifies, weighted, seed, engine
):
    """A mixture in blocks, and its reference row by row."""
    stream = LateStream(n_outputs, classifies, seed, weighted)
    experts = EXPERTS[classifies]
    make = HedgeClassifier if classifies else HedgeRegressor
    model = make(experts)
    said = np.stack([stream.said(make([each], exclude=["pools"])) for each in experts])
    if classifies:
        references = [LateClasses(len(experts), max(n_outputs, 2))]
    else:
        references = [LateNumbers(len(experts)) for _ in range(n_outputs)]
    said = (
        [said] if classifies else np.moveaxis(said.reshape(*said.shape[:2], -1), 2, 0)
    )
    targets = stream.y.reshape(stream.n, -1).T.tolist()
    waiting, of_model, expected = {}, {}, np.zeros_like(stream.y, dtype=float)
    if classifies:
        expected = np.zeros((stream.n, stream.classes.size))
    actual = expected.copy()

    def serve(block):
        rows = np.arange(stream.n)[block]
        actual[block], of_model[block.start] = model._serve(
            stream.X[block], stream.method
        )
        for r in rows:
            pairs = zip(references, said, strict=True)
            waiting[r] = [each.serve(own[:, r]) for each, own in pairs]
            answers = [each["answer"] for each in waiting[r]]
            expected[r] = answers[0] if np.ndim(expected[r]) == 0 else np.ravel(answers)

    def learn(block):
        served = of_model.pop(block.start)
        answers = model._partial_fit(
            stream.X[block],
            stream.y[block],
            stream.c[block],
            method=stream.method,
            served=served,
        )
        assert answers.tobytes() == actual[block].tobytes()
        for r in range(stream.n)[block]:
            parts = zip(references, waiting.pop(r), targets, strict=True)
            for each, own, of_output in parts:
                each.learn(own, of_output[r], stream.c[r])

    stream.first(model)
    zeros = [np.zeros(own[:, 0].shape) for own in said]
    if classifies:
        zeros = [np.log(np.full((len(experts), stream.classes.size), 1.0))]
        zeros[0] -= np.log(stream.classes.size)
    for each, of_first, of_output in zip(references, zeros, targets, strict=True):
        each.learn(each.serve(of_first), of_output[0], stream.c[0])
    stream.follow(serve, learn)
    assert_close(actual[1:], expected[1:], 1e-8)
    weights = [floats(each.hedge.weights()) for each in references]
    assert_allclose(model.weights_, np.squeeze(weights), rtol=1e-8, atol=1e-9)
    of_levels = [floats(each.levels.weights()) for each in references]
    of_levels = [[w[:3].sum(), *w[3:]] for w in of_levels]
    assert_allclose(model.pool_weights_, np.squeeze(of_levels), rtol=1e-7, atol=1e-8)
    totals = [each.total for each in references]
    assert_allclose(model.cumulative_loss_, sum(totals), rtol=1e-8)
    with pytest.raises(AttributeError, match="labels that come before the next row"):
        model.regret_bound()


# Who is right about a row, of experts with these weights.
ADVERSARIES = {
    "turns": lambda t, d, weights, rng: (np.arange(weights.size) + t // (1 + d)) % 2,
    "random": lambda t, d, weights, rng: rng.integers(2, size=weights.size),
    "against": lambda t, d, weights, rng: weights <= np.median(weights),
    "one": lambda t, d, weights, rng: weights > weights.min(),
}


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("is_fixed", [False, True])
@seeds
def test_bound_with_late_labels(adversary, weighted, is_fixed, seed, engine):
    """Labels in any order, of rows that an adversary chooses by what is known."""
    rng, n = np.random.default_rng(seed), 40
    n_experts, n_classes = rng.integers(2, 5, size=2)
    model = HedgeClassifier(scripts(n_experts, n_classes), exclude=["pools"])
    first = np.full((1, n_experts * n_classes), 1.0 / n_classes)
    model.partial_fit(first, [0], classes=range(n_classes))
    d, low = rng.integers(1, 15), 10.0 ** -rng.uniform(0.4, 6.0)
    delays = np.full(n, d) if is_fixed else rng.integers(d + 1, size=n)
    c = rng.choice([1.0, 0.5, 0.01], size=n) if weighted else np.ones(n)
    y, ranges, served, learned, late = rng.integers(n_classes, size=n), [], [], [], 0.0
    for t in range(n + d + 1):
        for r in np.flatnonzero(np.arange(min(t, n)) + delays[:t] == t - 1):
            X, of_row, n_before = served[r]
            model._partial_fit(X, y[[r]], c[[r]], served=of_row)
            meanwhile = sum(c[s] * ranges[s] for s in learned[n_before:])
            late += c[r] * min(ranges[r], meanwhile)
            learned.append(r)
        if t < n:
            is_right = ADVERSARIES[adversary](t, d, model.weights_, rng)
            p = np.where(is_right, 1.0 - low, low)[:, np.newaxis]
            P = np.where(np.arange(n_classes) == y[t], p, (1.0 - p) / (n_classes - 1))
            X = P.reshape(1, -1)
            served.append((X, model._serve(X)[1], len(learned)))
            ranges.append(np.ptp(np.log(P[:, y[t]])))
    assert len(learned) == n
    regret = model.cumulative_loss_ - model.expert_losses_.min()
    assert regret <= np.log(5 * n_experts) + 2.0 * late + 1e-9
