"""Streams that go on and on: learners stay sane, sums and moments exact.

`make long` runs them over a million rows, with the compiled engine.
"""

import math
import os

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone, is_classifier
from support.registry import REPRESENTATIVES
from support.sums import linear

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    MondrianForestClassifier,
    MondrianForestRegressor,
    config_context,
    get_config,
)
from sklearn_scinol.blocks import CSRRows, DenseRows, RowWeights
from sklearn_scinol.engines import get_engine
from sklearn_scinol.transforms.features import FeatureTransform

#: Rows in all, which come again in this many chunks.
N_ROWS = int(os.environ.get("LONG_RUNS", 600))
N_CHUNKS = 20

#: One estimator for each algorithm, and the mixtures.
ESTIMATORS = {
    case.algorithm: case.make()
    for case in REPRESENTATIVES
    if case.n_outputs == 1 and not case.average and case.radius is None
}
ESTIMATORS |= {
    "classification": HedgeClassifier(),
    "regression": HedgeRegressor(),
    "forest": MondrianForestClassifier(3, max_nodes=5000, random_state=0),
    "forest of means": MondrianForestRegressor(3, max_nodes=5000, random_state=0),
}


@pytest.fixture
def engine():
    """Compiling takes longer than a few rows."""
    with config_context(engine="numba" if "LONG_RUNS" in os.environ else "numpy"):
        yield


# Streams: rows, and decisions that targets are made of.


def separable(rng, n):
    X = rng.normal(size=(n, 4))
    decision = linear(X, [1.0, -2.0, 0.5, 0.0])
    return X, np.where(decision > 0.0, 1.0, -1.0)


def one_label(rng, n):
    return rng.normal(size=(n, 4)), np.ones(n)


def flipping(rng, n):
    return rng.normal(size=(n, 4)), np.resize([1.0, -1.0], n)


def degenerate(rng, n):
    """A column twice, one that is constant, one of zeros."""
    X, decision = separable(rng, n)
    return np.column_stack([X, X[:, 0], np.full(n, 7.0), np.zeros(n)]), decision


STREAMS = {f.__name__: f for f in (separable, one_label, flipping, degenerate)}


@pytest.mark.cases(3)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_learners_go_on(name, stream, engine):
    """The later half costs no more than the first; all invariants hold."""
    X, decision = STREAMS[stream](np.random.default_rng(0), N_ROWS // N_CHUNKS)
    estimator = clone(ESTIMATORS[name])
    keywords, y = {}, decision
    if is_classifier(estimator):
        keywords, y = {"classes": [0, 1]}, (decision > 0.0).astype(int)
    losses = []
    for _ in range(N_CHUNKS):
        before = getattr(estimator, "cumulative_loss_", 0.0) if losses else 0.0
        estimator.partial_fit(X, y, **keywords)
        losses.append(estimator.cumulative_loss_ - before)
    estimator._check_state()
    assert estimator.n_samples_seen_ == N_CHUNKS * len(X)
    assert_allclose(estimator.cumulative_loss_, math.fsum(losses), rtol=1e-9)
    first, later = sum(losses[: N_CHUNKS // 2]), sum(losses[N_CHUNKS // 2 :])
    # Adam's steps do not become smaller.
    assert later <= (1.5 if name == "adam" else 1.05) * first + 1e-9


# Running moments.


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("is_sparse", "scale"), [(False, False), (False, True), (True, True)]
)
def test_moments_of_many_rows(is_sparse, scale, engine):
    """Against exact sums over rows of which each comes many times."""
    rng = np.random.default_rng(0)
    n, times = 1_000, max(N_ROWS // 1_000, 20)
    X = rng.normal(size=(n, 3)) * [1.0, 1e-3, 1e3] + [0.0, 1e3, 1e-3]
    if is_sparse:
        X[rng.random(X.shape) < 0.7] = 0.0
    c = rng.uniform(0.5, 2.0, size=n)
    transform = FeatureTransform(3, center=not is_sparse, scale=scale)
    transform.ensure_layout(is_sparse)
    rows = DenseRows(X)
    if is_sparse:
        S = sparse.csr_array(X)
        rows = CSRRows(S.data, S.indices.astype(np.uint32), S.indptr.astype(np.int32))
    functions = get_engine(get_config()["engine"])
    for _ in range(times):
        transform.learn(functions, rows, RowWeights(c, c, c, c[:7]))
    total = math.fsum(c)
    mean = np.array([math.fsum(c * x) / total for x in X.T])
    spread = [
        math.fsum(c * (x - m) ** 2) / total for x, m in zip(X.T, mean, strict=True)
    ]
    rounding = 1e-12 * max(N_ROWS / 1_000_000, 1.0)
    assert_allclose(transform.weight_sum, times * total, rtol=rounding)
    if scale:
        found, variance = transform.mean_and_variance()
        assert_allclose(variance, spread, rtol=1e-11)
    else:
        found = transform.moments[0]
    assert_allclose(found, mean, rtol=1e-11, atol=1e-12 * np.sqrt(max(spread)))
