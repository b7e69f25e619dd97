"""Mixtures whose labels come late: against a reference, and what is promised."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.comparisons import assert_close
from support.experts import EXPERTS, scripts
from support.naive_late import LateClasses, LateNumbers, floats
from support.registry import seeds
from support.sums import linear

from sklearn_scinol import HedgeClassifier, HedgeRegressor


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
