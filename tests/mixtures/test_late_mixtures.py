"""Mixtures whose labels come late: against a reference, and what is promised."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from support.comparisons import assert_close
from support.naive_late import LateClasses, LateNumbers, floats
from support.registry import seeds
from support.sums import linear

from sklearn_scinol import HedgeClassifier, HedgeRegressor, ScInOLClassifier
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor

EXPERTS = {
    True: [
        ("nag", BaselineClassifier("nag", learning_rate=0.3)),
        ("adaogd", BaselineClassifier("adaogd", learning_rate=0.1)),
        ("scinol", ScInOLClassifier()),
    ],
    False: [
        (f"adaogd {rate}", BaselineRegressor("adaogd", learning_rate=rate))
        for rate in (0.01, 0.1, 1.0)
    ],
}


class Stream:
    """Rows that come in blocks, each `delay` blocks before its labels."""

    def __init__(self, n_outputs, classifies, seed, weighted, n=48):
        rng = np.random.default_rng(seed)
        self.n, self.classifies = n, classifies
        self.X = rng.standard_t(3, size=(n, 4)) + np.array([0.0, 1.0, -3.0, 0.0])
        y = linear(10.0 * self.X, rng.normal(size=(4, n_outputs)))
        y += rng.normal(size=(n, n_outputs))
        if classifies:
            y = y.argmax(axis=1) if n_outputs > 1 else 1 * (y[:, 0] > np.median(y))
            y[:n_outputs] = np.arange(n_outputs)
        self.y = y[:, 0] if y.ndim == 2 and n_outputs == 1 else y
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
def test_agrees_with_reference(n_outputs, classifies, weighted, seed, engine):
    """A mixture in blocks, and its reference row by row."""
    stream = Stream(n_outputs, classifies, seed, weighted)
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


class Script(ClassifierMixin, BaseEstimator):
    """Predicts the probability in a column."""

    def __init__(self, column=0):
        self.column = column

    def partial_fit(self, X, y, classes=None):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        p = X[:, self.column]
        return np.column_stack([1.0 - p, p])


@seeds
@pytest.mark.parametrize("delay", [1, 9])
def test_bound_with_late_labels(delay, seed, engine):
    """Experts who are better by turns, as long as labels are late, or at random."""
    rng = np.random.default_rng(seed)
    turns = np.arange(120) // (delay + 1) % 2 if seed % 2 else rng.integers(2, size=120)
    far = rng.uniform(0.02, 0.45)
    X = np.where(turns[:, np.newaxis] == [0, 1], 1.0 - far, far)
    y, experts = np.ones(120, int), [("a", Script(0)), ("b", Script(1))]
    model = HedgeClassifier(experts, exclude=["pools"])
    model.partial_fit([[0.5, 0.5]], [1], classes=[0, 1])
    served = [model._serve(X[t : t + 1])[1] for t in range(delay)]
    for t in range(delay, len(X) + delay):
        if t < len(X):
            served.append(model._serve(X[t : t + 1])[1])
        row = slice(t - delay, t - delay + 1)
        model._partial_fit(X[row], y[row], None, served=served.pop(0))
    ranges = np.abs(np.diff(np.log(X), axis=1))[:, 0]
    late = sum(ranges[max(t - delay, 0) : t].sum() for t in range(len(X)))
    regret = model.cumulative_loss_ - model.expert_losses_.min()
    assert regret <= np.log(10) + 2.0 * late + 1e-9
