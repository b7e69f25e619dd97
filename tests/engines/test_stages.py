"""Each stage of a row's way alone, on both engines, against plain formulas."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax
from support import naive_hedge

from sklearn_scinol import ScInOLRegressor
from sklearn_scinol._shards import Shards
from sklearn_scinol.blocks import (
    Block,
    CSRRows,
    DenseRows,
    Predictions,
    RowWeights,
    State,
)
from sklearn_scinol.engines import get_engine
from sklearn_scinol.learners import ScInOL2
from sklearn_scinol.losses import CrossEntropy, Huber
from sklearn_scinol.mixing.adahedge import AdaHedgeState
from sklearn_scinol.models.base import Chunk
from sklearn_scinol.models.linear import LinearModel
from sklearn_scinol.transforms.features import FeatureTransform
from sklearn_scinol.transforms.targets import TargetTransform

transforms = pytest.mark.parametrize(
    ("center", "scale", "container"),
    [
        (True, False, np.array),
        (False, True, np.array),
        (True, True, np.array),
        (False, True, sparse.csr_array),
    ],
    ids=["centred", "scaled", "standardised", "sparse-scaled"],
)


@pytest.fixture
def loops(engine):
    """The module of the engine in use."""
    return get_engine("numpy" if engine == "numpy" else "numba")


def stream(n=30, seed=0):
    """Rows with zeros, in units far apart, and their weights, of which some are 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(1.0, 2.0, size=(n, 4)) * [1e-3, 1.0, 50.0, 1e4]
    X[rng.random(X.shape) < 0.4] = 0.0
    return X, rng.choice([0.0, 0.3, 1.0, 4.0], size=n)


def of_rows(c):
    """Weights; those of 0 are predicted at weight 1."""
    return RowWeights(c, *2 * [np.where(c > 0.0, c, 1.0)], np.zeros(7))


def as_rows(X):
    if sparse.issparse(X):
        indices, indptr = X.indices.astype(np.uint32), X.indptr.astype(np.int32)
        return CSRRows(X.data, indices, indptr)
    return DenseRows(np.ascontiguousarray(X))


def as_array(rows, like):
    if isinstance(rows, DenseRows):
        return rows.X
    shape = like.shape
    return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape).toarray()


def moments(X, c):
    """Weighted mean and variance of rows."""
    mean = np.average(X, axis=0, weights=c)
    return mean, np.average((X - mean) ** 2, axis=0, weights=c)


def transformed(x, before, c_before, c, center, scale):
    """A row by the moments of those before and itself, of weight 1 if of weight 0."""
    mean, variance = moments(np.vstack([before, x]), np.append(c_before, c or 1.0))
    z = x - mean if center else x
    return z / np.sqrt(np.where(variance > 0.0, variance, np.inf)) if scale else z


def learned(loops, X, c, center, scale, container=np.array):
    """A transform that has learned rows, in two chunks, and what became of these."""
    transform = FeatureTransform(X.shape[1], center=center, scale=scale)
    Z = []
    for rows in np.split(np.arange(len(c)), [11]):
        chunk = container(X[rows])
        transform.ensure_layout(sparse.issparse(chunk))
        weights = of_rows(c[rows])
        Z.append(as_array(transform.learn(loops, as_rows(chunk), weights), chunk))
    return transform, np.vstack(Z)


# Features.


@transforms
def test_rows_are_learned_and_transformed(center, scale, container, loops):
    X, c = stream()
    transform, Z = learned(loops, X, c, center, scale, container)
    for r in range(len(c)):
        expected = transformed(X[r], X[:r], c[:r], c[r], center, scale)
        assert_allclose(Z[r], expected, rtol=1e-9, atol=1e-12)
    assert_allclose(transform.weight_sum, c.sum())
    mean, variance = moments(X, c)
    if scale:
        of_transform = transform.mean_and_variance()
        assert_allclose(of_transform[0], mean, rtol=1e-12)
        assert_allclose(of_transform[1], variance, rtol=1e-12)
    else:
        assert_allclose(transform.moments[0], mean, rtol=1e-12)


@transforms
def test_new_rows_are_transformed_and_not_learned(center, scale, container, loops):
    X, c = stream()
    new, _ = stream(8, seed=1)
    transform, _ = learned(loops, X, c, center, scale, container)
    before = transform.moments.copy()
    Z = transform.transform(container(new), 1.0)
    Z = Z.toarray() if sparse.issparse(Z) else Z
    for z, x in zip(Z, new, strict=True):
        expected = transformed(x, X, c, 1.0, center, scale)
        assert_allclose(z, expected, rtol=1e-9, atol=1e-12)
    assert_array_equal(transform.moments, before)
    assert_allclose(transform.weight_sum, c.sum())


@transforms
def test_coefficients_for_raw_rows(center, scale, container, loops):
    """Those of a row at the mean, where the deviation does not depend on the row."""
    X, c = stream()
    transform, _ = learned(loops, X, c, center, scale, container)
    w = np.array([[1.0, -2.0, 0.5, 3.0], [0.0, 1.0, 1.0, -1.0]])
    b = np.array([0.3, -4.0])
    mean, variance = moments(X, c)
    near = mean + 1e-7 * np.sqrt(variance) * np.random.default_rng(2).normal(size=4)
    of_raw, intercept = transform.to_raw(w, b, 1.0)
    for x in mean, near:
        expected = transform.transform(x[np.newaxis], 1.0)[0] @ w.T + b
        assert_allclose(of_raw @ x + intercept, expected, rtol=1e-10)


def test_nothing_to_do(loops):
    transform = FeatureTransform(4)
    X, c = stream()
    rows = as_rows(X)
    assert not transform.has_moments
    assert transform.state() is None
    assert transform.learn(loops, rows, of_rows(c)) is rows
    assert_array_equal(transform.transform(X, 1.0), X)
    w, b = np.ones((2, 4)), np.ones(2)
    for raw, given in zip(transform.to_raw(w, b, 1.0), (w, b), strict=True):
        assert_array_equal(raw, given)


@transforms
@pytest.mark.parametrize("n_first", [0, 1, 17, 30])
def test_merged_moments_are_those_of_all_rows(center, scale, container, n_first, loops):
    X, c = stream()
    c[0] = 0.3
    rest, c_rest = stream(9, seed=1)
    parts = [
        learned(loops, X[rows], c[rows], center, scale, container)[0]
        for rows in (slice(n_first), slice(n_first, None))
    ]
    whole, _ = learned(loops, X, c, center, scale, container)
    before = [(part.moments.copy(), part.weight_sum) for part in parts]
    shares = np.array([n_first, 30 - n_first]) / 30
    shards = Shards(parts, parts[0].fresh(), shares)
    merged, scales = FeatureTransform.merged(shards)
    assert_array_equal(scales, np.ones((2, 4)))
    for part, (moments, weight_sum) in zip(parts, before, strict=True):
        assert_array_equal(part.moments, moments)
        assert part.weight_sum == weight_sum
    assert_allclose(merged.weight_sum, whole.weight_sum)
    expected = whole.transform(rest, 1.0)
    assert_allclose(merged.transform(rest, 1.0), expected, rtol=1e-10)

    chunk = container(rest)
    of_merged, of_whole = [], []
    for transform, kept in (merged, of_merged), (whole, of_whole):
        transform.ensure_layout(sparse.issparse(chunk))
        learned_rows = transform.learn(loops, as_rows(chunk), of_rows(c_rest))
        kept.append(as_array(learned_rows, chunk))
    assert_allclose(of_merged, of_whole, rtol=1e-10, atol=1e-12)


def test_rows_that_are_dense_and_sparse_in_turn(loops):
    """Zeros of sparse rows wait until rows are dense."""
    X, c = stream()
    transform = FeatureTransform(4, scale=True)
    for rows in np.split(np.arange(len(c)), [7, 12, 20]):
        is_sparse = rows[0] in (7, 20)
        chunk = sparse.csr_array(X[rows]) if is_sparse else X[rows]
        transform.ensure_layout(is_sparse)
        transform.learn(loops, as_rows(chunk), of_rows(c[rows]))
    mean, variance = moments(X, c)
    of_transform = transform.mean_and_variance()
    assert_allclose(of_transform[0], mean, rtol=1e-12)
    assert_allclose(of_transform[1], variance, rtol=1e-12)


# Targets.


@pytest.mark.parametrize("unit_free", [True, False])
def test_location_and_scale_of_targets(unit_free, loops):
    y = np.random.default_rng(0).normal([5.0, -1e3], [1e-2, 1e2], size=(20, 2))
    _, c = stream(20)
    c[:3] = 0.0, 0.3, 1.0
    transform = TargetTransform(2, unit_free=unit_free)
    scales = [
        transform.learn(loops, y[:9], of_rows(c[:9])),
        transform.learn(loops, y[9:], of_rows(c[9:])),
    ]
    offset, deviation, slope = map(np.vstack, zip(*scales, strict=True))
    for r in range(20):
        mean, variance = np.zeros(2), np.zeros(2)
        if c[:r].any():
            mean, variance = moments(y[:r], c[:r])
        assert_allclose(offset[r], mean, rtol=1e-12)
        assert_allclose(deviation[r], np.sqrt(variance), rtol=1e-9, atol=1e-10)
        if unit_free:
            assert_array_equal(slope[r], float(c[:r].any()))
        elif np.count_nonzero(c[:r]) > 1:
            assert_allclose(slope[r], 1.0 / np.sqrt(variance), rtol=1e-9)
        else:
            assert_array_equal(slope[r], 0.0)
    mean, variance = moments(y, c)
    assert_allclose(transform.weight_sum, [c.sum()])
    p = np.array([[0.0, 2.0], [1.0, -3.0]])
    assert_allclose(transform.to_raw(p), mean + np.sqrt(variance) * p, rtol=1e-9)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_buffers_of_a_refused_row_may_be_used_again(n_outputs, engine):
    """NaN in them, of a row that was refused, does not reach the next row."""
    if engine == "numpy":
        pytest.skip("NumPy has no buffers")
    from sklearn_scinol.engines.numba_engine.learning import learn_call

    X, c = stream()
    y, coefs = np.random.default_rng(1).normal(size=(30, n_outputs)), []
    for is_used in False, True:
        model = LinearModel(
            ScInOL2(1.0), Huber(0.5), 4, n_outputs, fit_intercept=True, average=0
        )
        model.ensure_layout(X)
        state = State(*map(model_part(model), State._fields))
        out = Predictions(np.empty(y.shape), None, np.empty(y.shape))
        block = model.block(get_engine("numba"), Chunk(X, y, c), slice(0, 30))
        loop, arguments = learn_call(model.task, state, block, out)
        scratch = arguments[-1]
        if is_used:
            for array in scratch.x[:, :4], scratch.w, scratch.g, scratch.step:
                array[:] = np.nan
        assert loop(*arguments)
        coefs.append(model.fields.copy())
    assert np.isfinite(coefs[0]).all()
    assert_array_equal(*coefs)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_values_are_looked_at_as_they_are_learned(n_outputs, center, loops):
    """Rows of weight 0 may have larger ones, if these are finite."""

    def in_range(value, weight=1.0):
        X, c = np.ones((6, 2)), np.ones(6)
        X[4, 1], c[4] = value, weight
        model = (
            ScInOLRegressor(center=center)
            .partial_fit(np.eye(2), np.ones((2, n_outputs)))
            ._model
        )
        model.ensure_layout(X)
        chunk = Chunk(X, np.ones((6, n_outputs)), c)
        block = model.block(loops, chunk, slice(0, 6), checks=False)
        block = block._replace(largest=1e100)
        answers = model._empty_predictions(6)
        return loops.learn_rows(model.task, model._engine_state(), block, answers)

    assert in_range(-9e99)
    assert in_range(1e10, weight=9e49)
    assert in_range(9e99, 0.1)
    assert not in_range(1.1e100)
    assert not in_range(-1e300)
    assert not in_range(1.1e60, weight=1e40)
    assert not in_range(np.nan)
    assert not in_range(np.inf, weight=0.0)


def test_first_values_of_sparse_rows(loops):
    X, c = stream()
    c[:4] = 0.0
    X[:, 2] = 0.0
    seen = np.array([False, True, False, False])
    features, values = loops.first_values(
        seen, as_rows(sparse.csr_array(X)), of_rows(c)
    )
    learned = X[c > 0.0]
    found = dict(zip(features.tolist(), values.tolist(), strict=True))
    first = (learned != 0.0).argmax(axis=0)
    assert found == {i: learned[first[i], i] for i in (0, 3)}
    assert_array_equal(seen, [True, True, False, True])
    features, values = loops.first_values(
        seen, as_rows(sparse.csr_array(X)), of_rows(c)
    )
    assert features.size == values.size == 0


def model_part(model):
    """What a model calls the parts of the state that engines change."""
    return lambda name: (
        model.weight_scale.numbers if name == "weight_scale" else getattr(model, name)
    )


# What predictions cost.


def block_of(targets, c):
    return Block(DenseRows(np.empty((len(c), 0))), None, targets, of_rows(c), None)


def test_losses_of_outputs_on_their_own(loops):
    rng = np.random.default_rng(0)
    p, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    _, c = stream(20)
    numbers = np.array([0.0, 7.0])
    losses = loops.compute_losses(Huber(0.5), block_of(y, c), p, numbers)
    error = np.abs(y - p)
    expected = np.where(error < 0.5, error**2 / 2, 0.5 * (error - 0.25))
    assert_allclose(losses, expected, rtol=1e-14)
    running = 7.0
    for of_row, c_r in zip(losses, c, strict=True):
        running += c_r * ((of_row[0] + of_row[1]) + of_row[2])
    assert numbers[1] == running  # to the last bit: blocks must not matter


def test_joint_losses(loops):
    rng = np.random.default_rng(0)
    p, y = 5.0 * rng.normal(size=(20, 4)), rng.integers(4, size=20)
    _, c = stream(20)
    numbers = np.array([0.0, 1.5])
    losses = loops.compute_losses(CrossEntropy(), block_of(y, c), p, numbers)
    expected = -np.log(softmax(p, axis=1)[np.arange(20), y])
    assert_allclose(losses[:, 0], expected, rtol=1e-12, atol=1e-14)
    assert_allclose(numbers[1], 1.5 + c @ expected, rtol=1e-12)


# Mixtures.


@pytest.mark.parametrize("weights_of_rows", [True, False])
@pytest.mark.parametrize(("kind", "n_outputs"), [("mean", 2), ("mean", 1)])
def test_means_of_predictions(kind, n_outputs, weights_of_rows, loops):
    rng = np.random.default_rng(0)
    answers = rng.normal(size=(3, 6, n_outputs))
    weights = rng.dirichlet(np.ones(3), (n_outputs, 6 if weights_of_rows else 1))
    expected = np.zeros((6, n_outputs))
    for r in range(6):
        for k in range(n_outputs):
            w = weights[k, r if weights_of_rows else 0]
            expected[r, k] = sum(w[e] * answers[e, r, k] for e in range(3))
    assert_allclose(loops.mix(kind, answers, weights), expected, rtol=1e-13)


def test_means_of_probabilities(loops):
    rng = np.random.default_rng(0)
    answers = 10.0 * rng.normal(size=(3, 6, 1))
    answers[0, 0] = 900.0
    weights = rng.dirichlet(np.ones(3), (1, 6))
    p = 1.0 / (1.0 + np.exp(-answers[..., 0]))
    q = 1.0 / (1.0 + np.exp(np.minimum(answers[..., 0], 700.0)))
    mean, rest = ((weights[0].T * of_class).sum(axis=0) for of_class in (p, q))
    mixed = loops.mix("log_odds", answers, weights)
    assert_allclose(mixed[:, 0], np.log(mean / rest), rtol=1e-12)


def test_means_of_probabilities_of_several_classes(loops):
    rng = np.random.default_rng(0)
    answers = 10.0 * rng.normal(size=(3, 6, 4))
    answers[:, 5, 2] = -2000.0
    weights = rng.dirichlet(np.ones(3), (1, 6))
    shares = softmax(answers, axis=2)
    mean = np.einsum("re,erk->rk", weights[0], np.maximum(shares, 1e-300))
    mixed = loops.mix("softmax", answers, weights)
    assert_allclose(mixed, np.log(mean), rtol=1e-12)
    assert mixed.shape == (6, 4)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_weights_of_experts(scale, loops):
    """Rounds of which some cost far more than the others, in two blocks."""
    rng = np.random.default_rng(0)
    losses = scale * rng.exponential(size=(40, 3)) * rng.choice([1, 1, 500], (40, 1))
    arrays = np.zeros(3), np.full(3, 1 / 3), np.zeros(3), np.zeros(5)
    state = AdaHedgeState(*arrays, math.log(3))
    reference, expected = naive_hedge.AdaHedge(3), []
    for of_round in losses:
        expected.append([float(w) for w in reference.weights()])
        reference.update(of_round)
    weights = np.empty((40, 3))
    for rows in slice(0, 13), slice(13, 40):
        c = np.ones(rows.stop - rows.start)
        of_experts = losses[rows].T.copy()[..., np.newaxis]
        loops.learn_rounds(state, of_experts, c, weights[rows])
    assert_allclose(weights, expected, rtol=1e-9, atol=1e-15)
    assert_allclose(state.gap, float(reference.Delta), rtol=1e-12)
    assert_allclose(state.loss, float(reference.hedge_loss), rtol=1e-12)
    assert_allclose(state.totals, losses.sum(axis=0), rtol=1e-12)
    assert_allclose(state.lead, state.totals - state.totals.min(), rtol=1e-9, atol=1e-9)
    assert_allclose(state.weights.sum(), 1.0)
    ranges = np.ptp(losses, axis=1)
    assert state.largest_range == ranges.max()
    assert_allclose(state.norm_of_ranges, np.linalg.norm(ranges))
