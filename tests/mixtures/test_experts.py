"""Weights of experts: their numbers, their guarantees, and what they do not mind."""

import copy
import math
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from support import naive_hedge
from support.registry import compiled, seeds

from sklearn_scinol import config_context
from sklearn_scinol.experts import AdaHedge, FixedShare

RNG = np.random.default_rng(0)
UNIFORM = RNG.random((60, 5))

STREAMS = {
    "uniform": UNIFORM,
    "both signs": RNG.normal(size=(60, 5)),
    "heavy tails": RNG.standard_cauchy((60, 5)) ** 3,
    "zeros and ones": RNG.integers(0, 2, size=(60, 5)),
    "two experts in turn": np.tile([[1.0, 0.0], [0.0, 1.0]], (30, 1)),
    "the same in all rounds": np.tile(np.arange(5.0), (60, 1)),
    "all equal": np.ones((60, 5)),
    "zeros first": np.vstack([np.zeros((5, 5)), UNIFORM]),
    "far from zero": UNIFORM + 1e6,
    "a hopeless expert": np.hstack([UNIFORM, np.full((60, 1), 1e6)]),
    "a leader that fails": np.vstack(
        [np.eye(5)[0] + np.ones((40, 5)), 1e4 * np.eye(5)]
    ),
    "large, then small": np.vstack([1e8 * UNIFORM[:5], UNIFORM]),
    "small, then large": np.vstack([UNIFORM, 1e8 * UNIFORM[:5], UNIFORM]),
    "growing": UNIFORM * np.exp(np.linspace(0, 600, 60))[:, np.newaxis],
    "scales of their own": UNIFORM * 10.0 ** np.arange(-4, 6, 2),
    "a scale for each loss": UNIFORM * 10.0 ** RNG.integers(-20, 20, size=(60, 5)),
    "tiny": 1e-300 * UNIFORM,
    "huge": 1e300 * (UNIFORM - 0.5),
    "an expert without weight": np.vstack(
        [
            [[0.0, 0.0, 1e-200], [0.0, 0.0, 1e-190], [0.0, 0.0, 1e-150]],
            np.hstack([1e-160 * UNIFORM[:, :2], np.full((60, 1), 1e150)]),
        ]
    ),
    "one expert": RNG.integers(-9, 9, size=(20, 1)),
    "many experts": RNG.random((10, 150)),
}
EXTREME = {"growing", "tiny", "huge"}
streams = pytest.mark.parametrize("losses", STREAMS.values(), ids=STREAMS)

ALGORITHMS = {
    "adahedge": AdaHedge,
    "fixed share": FixedShare,
    "fixed share, mixable": partial(FixedShare, learning_rate=1.0),
}
algorithms = pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
scale_free = pytest.mark.parametrize("algorithm", [AdaHedge, FixedShare])


def learned(losses, algorithm=AdaHedge):
    model = algorithm(np.shape(losses)[-1])
    model.update(losses)
    return model


def regret(model):
    return model.cumulative_loss_ - model.cumulative_losses_.min()


def assert_same_state(actual, expected):
    """Equal to the last bit."""
    assert pickle.dumps(actual, 3) == pickle.dumps(expected, 3)  # no origins


def compare_with_reference(losses, digits):
    model = AdaHedge(losses.shape[1])
    reference = naive_hedge.AdaHedge(losses.shape[1], digits)
    expected = []
    for l_t in losses:
        expected.append(reference.weights())
        reference.update(l_t)
    charged = model.update(losses)
    weights = np.vstack([charged, model.weights_])
    expected = np.array([*expected, reference.weights()], float)
    assert_allclose(weights, expected, rtol=0, atol=1e-12)
    assert model.n_rounds_ == len(losses)
    for name, value in {
        "mixability_gap_": reference.Delta,
        "cumulative_loss_": reference.hedge_loss,
        "regret_bound_": reference.regret_bound(),
        "learning_rate_": reference.eta(),
    }.items():
        assert_allclose(getattr(model, name), float(value), rtol=1e-12)
    totals, largest = np.array(reference.L, float), np.abs(losses).max()
    assert_allclose(model.cumulative_losses_, totals, rtol=1e-12, atol=1e-12 * largest)


@streams
def test_agrees_with_reference(losses, engine):
    compare_with_reference(losses, digits=50)


def weights_of_rounds(n_rounds):
    c = np.random.default_rng(3).choice([0.125, 1.0, 1.0, 7.0], n_rounds)
    c[2 * n_rounds // 3] = 50.0  # larger than all before
    return c


@streams
@pytest.mark.parametrize("rate", [None, 1.0, 0.02], ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weighted"])
def test_shares_agree_with_reference(losses, rate, weighted, engine):
    losses = losses[:40, :20]
    c = weights_of_rounds(len(losses)) if weighted else np.ones(len(losses))
    model = FixedShare(losses.shape[1], learning_rate=rate)
    reference = naive_hedge.FixedShare(losses.shape[1], rate)
    expected = []
    for l_t, c_t in zip(losses, c, strict=True):
        expected.append(reference.weights())
        reference.update(l_t, c_t)
    charged = model.update(losses, c if weighted else None)
    weights = np.vstack([charged, model.weights_])
    expected = np.array([*expected, reference.weights()], float)
    assert_allclose(weights, expected, rtol=0, atol=1e-9)
    unit = np.abs(losses).max() + (1 / rate if rate else 0)
    loss = float(reference.loss)
    assert_allclose(model.cumulative_loss_, loss, rtol=1e-12, atol=1e-12 * unit)
    # With a known rate, what is far below 1 / rate is lost in rounding.
    lost = 1e-12 / rate if rate else 0
    assert_allclose(model.mixability_gap_, float(reference.Delta), rtol=1e-9, atol=lost)
    eta = float(reference.eta) if reference.eta < np.inf else rate or np.inf
    assert_allclose(model.learning_rate_, eta, rtol=1e-9)
    assert_allclose(model.share_weights_, np.array(reference.of_shares, float), 1e-6)
    for n in range(3):
        bound = float(reference.regret_bound(n))
        assert_allclose(model.regret_bound(n), bound, rtol=1e-9)


@pytest.mark.thorough
def test_agrees_with_reference_where_units_change_between_extremes(engine):
    units = 10.0 ** np.random.default_rng(1).integers(-150, 150, size=(15, 1))
    compare_with_reference(UNIFORM[:15] * units, digits=700)


@pytest.mark.cases(6)
@streams
@algorithms
def test_engines_agree(losses, algorithm):
    pytest.importorskip("numba", reason="numba is not installed")
    models = []
    for engine in ("numpy", "numba"):
        with config_context(engine=engine):
            models.append(learned(losses, algorithm))
    a, b = models
    assert_allclose(a.weights_, b.weights_, rtol=0, atol=1e-12)
    assert_allclose(a.mixability_gap_, b.mixability_gap_, rtol=1e-12)
    # That of mixable losses is a logarithm, in units of the rate.
    atol = 0.0 if algorithm in (AdaHedge, FixedShare) else 1e-12
    assert_allclose(a.cumulative_loss_, b.cumulative_loss_, rtol=1e-12, atol=atol)
    assert_array_equal(a.cumulative_losses_, b.cumulative_losses_)


@pytest.mark.cases(1)
def test_small_rounds_after_a_large_one_hardly_change_the_gap(engine):
    model = AdaHedge(2)
    model.update([0.0, 1e10])
    before = model.mixability_gap_
    model.update(np.random.default_rng(0).random((20_000, 2)))
    # The sum of the gaps is about 1e-7.
    assert_allclose(model.mixability_gap_, before, rtol=1e-15)


def check_guarantees(losses):
    model = AdaHedge(losses.shape[1])
    scale = 0.0
    for l_t in losses:
        gap = model.mixability_gap_
        model.update(l_t)
        scale += np.abs(l_t).max()
        rounding = 1e-12 * scale
        assert gap <= model.mixability_gap_ <= gap + np.ptp(l_t) + rounding
        assert regret(model) <= 2 * model.mixability_gap_ + rounding
        assert 2 * model.mixability_gap_ <= model.regret_bound_ + rounding
        assert model.weights_.min() >= 0
        assert_allclose(model.weights_.sum(), 1, rtol=1e-14)


def losses_of_any_scale():
    """Few values that recur, for ties, at scales that change from round to round."""
    return st.integers(1, 5).flatmap(
        lambda n_experts: st.lists(
            st.tuples(
                arrays(float, n_experts, elements=st.integers(-3, 3)),
                st.integers(-200, 200).map(lambda p: 2.0**p) | st.just(1.0),
            ).map(lambda round: round[0] * round[1]),
            min_size=1,
            max_size=30,
        ).map(np.array)
    )


def check_guarantees_of_sequences(losses, rate=None, c=None):
    """Against the best sequence of all that there are with few switches."""
    model = FixedShare(losses.shape[1], learning_rate=rate)
    model.update(losses, c)
    weighted = losses if c is None else losses * c[:, np.newaxis]
    rounding = 1e-11 * (np.abs(weighted).sum() + (c.max() if c is not None else 1.0))
    # The least that sequences with n switches cost, by dynamic programming.
    least = np.zeros((4, losses.shape[1]))
    least[1:] = np.inf
    for t, of_round in enumerate(weighted):
        switched = np.vstack([np.full_like(least[:1], np.inf), least[:-1]])
        if t > 0:
            others = [np.delete(switched, k, axis=1) for k in range(losses.shape[1])]
            best = [o.min(axis=1, initial=np.inf) for o in others]
            least = np.minimum(least, np.column_stack(best))
        least = least + of_round
    for n_switches, cost in enumerate(least.min(axis=1)):
        bound = model.regret_bound(n_switches)
        assert model.cumulative_loss_ <= cost + bound + rounding
    assert model.weights_.min() > 0
    assert_allclose(model.weights_.sum(), 1, rtol=1e-14)
    if rate and (c is None or (c <= c[0]).all()):
        assert model.mixability_gap_ == 0
    s = np.ptp(weighted, axis=1)
    log_paths = math.log(5 * losses.shape[1])
    bound = math.sqrt(log_paths) * math.hypot(*s) / 2 + s.max()
    assert rate or model.mixability_gap_ <= bound + rounding
    for statement, holds in model._invariants():
        assert np.all(holds), statement


@pytest.mark.slow
@given(losses=losses_of_any_scale(), rate=st.sampled_from([None, 1.0, 1e-3]))
def test_guarantees_of_sequences_on_any_losses(losses, rate):
    with config_context(engine="numpy"):
        check_guarantees_of_sequences(losses, rate)
        c = weights_of_rounds(len(losses))
        check_guarantees_of_sequences(losses, rate, c)


@given(losses=losses_of_any_scale())
def test_guarantees_on_any_losses(losses):
    with config_context(engine="numpy"):
        check_guarantees(losses)


@pytest.mark.parametrize("n_experts", [2, 3, 30])
def test_regret_against_an_adversary(n_experts, engine):
    """Who has the most weight loses: the regret must be large, and is bounded."""
    model = AdaHedge(n_experts)
    for _ in range(300):
        model.update(np.arange(n_experts) == model.weights_.argmax())
    assert 0.1 * model.regret_bound_ < regret(model) <= model.regret_bound_


def test_regret_is_bounded_by_a_constant_where_one_expert_is_best(engine):
    losses = np.random.default_rng(0).random((4000, 10))
    losses[:, 3] *= 0.5
    model = learned(losses)
    assert regret(model) < 0.15 * model.regret_bound_
    assert model.weights_[3] > 0.999


# The others would leave the range of floating-point numbers.
@pytest.mark.cases(20)
@pytest.mark.parametrize("exponent", [-300, -7, 1, 300])
@pytest.mark.parametrize("stream", sorted(STREAMS.keys() - EXTREME))
@scale_free
def test_powers_of_two_cancel_to_the_last_bit(algorithm, stream, exponent, engine):
    losses, unit = STREAMS[stream], 2.0**exponent
    plain, scaled = algorithm(losses.shape[1]), algorithm(losses.shape[1])
    assert_array_equal(plain.update(losses), scaled.update(losses * unit))
    assert_array_equal(plain.weights_, scaled.weights_)
    for name in ("mixability_gap_", "cumulative_loss_", "cumulative_losses_"):
        assert_array_equal(unit * getattr(plain, name), getattr(scaled, name))
    assert_allclose(unit * plain.regret_bound(), scaled.regret_bound(), rtol=1e-15)


@scale_free
def test_weights_of_rounds_multiply_losses(algorithm, engine):
    c = weights_of_rounds(60)
    plain, weighted = algorithm(5), algorithm(5)
    charged = weighted.update(UNIFORM, c)
    assert_array_equal(charged, plain.update(UNIFORM * c[:, np.newaxis]))
    assert_same_state(weighted, plain)


@algorithms
def test_rounds_of_weight_zero_count_for_nothing(algorithm, engine):
    c = np.where(np.arange(60) % 3 == 1, 0.0, weights_of_rounds(60))
    some, all_rounds = algorithm(5), algorithm(5)
    charged = all_rounds.update(UNIFORM, c)
    assert_array_equal(charged[c > 0], some.update(UNIFORM[c > 0], c[c > 0]))
    assert_array_equal(charged[:-1][c[:-1] == 0], charged[1:][c[:-1] == 0])
    assert_same_state(all_rounds, some)


@pytest.mark.cases(20)
@seeds
def test_a_factor_of_all_weights_cancels(seed, engine):
    """Of mixable losses, whose unit is fixed: the weights have one."""
    losses, c = np.random.default_rng(seed).random((60, 5)), weights_of_rounds(60)
    for factor in (2.0**-30, 2.0**7):
        plain, scaled = (FixedShare(5, learning_rate=1.0) for _ in range(2))
        assert_array_equal(plain.update(losses, c), scaled.update(losses, factor * c))
        assert plain.regret_bound() * factor == scaled.regret_bound()


@pytest.mark.parametrize("sizes", [[1] * 60, [59, 1], [7, 20, 33]], ids=str)
@pytest.mark.parametrize("n_experts", [1, 2, 5])
@algorithms
def test_division_into_blocks_changes_nothing(algorithm, n_experts, sizes, engine):
    losses = UNIFORM[:, :n_experts]
    whole, in_parts = algorithm(n_experts), algorithm(n_experts)
    expected = whole.update(losses)
    blocks = np.split(losses, np.cumsum(sizes)[:-1])
    assert_array_equal(np.vstack([in_parts.update(b) for b in blocks]), expected)
    assert_same_state(in_parts, whole)


@compiled
@pytest.mark.parametrize(
    ("algorithm", "loop_of"),
    [
        (AdaHedge, lambda mixing: mixing._learn_hedge),
        (FixedShare, lambda mixing: mixing._shares_loop(False)),
    ],
)
def test_input_formats(algorithm, loop_of, engine):
    """Nothing is compiled again for another memory layout."""
    from sklearn_scinol.engines.numba_engine import mixing

    expected, read_only = learned(UNIFORM, algorithm), UNIFORM.copy()
    read_only.flags.writeable = False
    signatures = loop_of(mixing).dispatcher.signatures
    for losses in UNIFORM.tolist(), np.asfortranarray(UNIFORM), read_only:
        assert_same_state(learned(losses, algorithm), expected)
    algorithm(5).update(UNIFORM[0])
    assert loop_of(mixing).dispatcher.signatures == signatures


def test_bound_beyond_the_range_of_numbers(engine):
    model = AdaHedge(2)
    model.update([[1.7e308, 0.0], [-1.7e308, 0.0]])
    assert model.regret_bound_ == math.inf
    assert np.isfinite(model.mixability_gap_)


FAR_FROM_THE_LEADER = [[1.2e308, 0, 0], [0, -1.2e308, 0]]


TOO_LARGE = "sums of losses are too large"


@pytest.mark.parametrize(
    ("losses", "weights", "words"),
    [
        ([1.0, 2.0], None, "losses has 2 experts, but {} is expecting 3 experts"),
        (np.ones((3, 4)), None, "losses has 4 experts, but {} is expecting 3 experts"),
        (np.ones((2, 2, 3)), None, "Found array with dim 3"),
        (np.ones((0, 3)), None, "Found array with 0 sample"),
        ([[1.0, 2.0, 3.0], [1.0, math.nan, 3.0]], None, "Input losses contains NaN"),
        ([[1.0, 2.0, math.inf]], None, "Input losses contains infinity"),
        (["a", "b", "c"], None, "could not convert string to float"),
        (3.0, None, "array"),
        (sparse.csr_array(np.eye(3)), None, "[Ss]parse"),
        (np.ones((2, 3)), [1.0, -1.0], "Negative values"),
        (np.ones((2, 3)), [1.0], "inconsistent|shape"),
        (np.ones((2, 3)), [1.0, math.nan], "contains NaN"),
        # Sums of an expert's losses, of its distance to the leader, of the mixture's
        # losses, of the gaps.
        ([[1.7e308, 0.0, -1.7e308]], None, TOO_LARGE),
        (np.full((2, 3), 1.7e308), None, TOO_LARGE),
        ([[-1e308, -6e307, -6e307]] * 2, None, TOO_LARGE),
        (FAR_FROM_THE_LEADER, None, TOO_LARGE),
        ([[1.5e308] * 3, [2.9e307, 0, 2.9e307], [0, 2.9e307, 0]], None, TOO_LARGE),
        ([[-1e308] * 3, *[[1.7e308, 0, 0], [-1.7e308, 0, 0]] * 5], None, TOO_LARGE),
    ],
)
@pytest.mark.cases(18)
@scale_free
def test_bad_losses_leave_the_state_alone(algorithm, losses, weights, words, engine):
    if algorithm is FixedShare and losses is FAR_FROM_THE_LEADER:
        pytest.skip("a sum that it does not keep")
    model = learned(UNIFORM[:, :3], algorithm)
    before = pickle.dumps(model)
    with pytest.raises((ValueError, TypeError), match=words.format(algorithm.__name__)):
        model.update(losses, weights)
    assert pickle.dumps(model) == before


@pytest.mark.cases(20)
@pytest.mark.parametrize(
    ("call", "name", "bad"),
    [
        *((AdaHedge, "n_experts", bad) for bad in (0, -1, 2.0, "3")),
        *(
            (partial(FixedShare, 3), "learning_rate", bad)
            for bad in (0, -1.0, 1e101, math.nan, "1")
        ),
        *((each(3).regret_bound, "n_switches", -1) for each in ALGORITHMS.values()),
        *((each(3).regret_bound, "n_switches", 0.5) for each in ALGORITHMS.values()),
    ],
)
def test_bad_parameters(call, name, bad):
    of_type = isinstance(bad, str) or (bad in (2.0, 0.5) and name != "learning_rate")
    with pytest.raises(TypeError if of_type else ValueError, match=name):
        call(**{name: bad})


def test_bound_of_adahedge_is_for_one_expert(engine):
    model = learned(UNIFORM)
    assert model.regret_bound() == model.regret_bound_ < math.inf
    assert model.regret_bound(n_switches=1) == math.inf


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["copy", "deepcopy", "pickle"],
)
@algorithms
def test_copies_go_on_alike_and_apart(algorithm, duplicate, engine):
    """Nor does what was handed out change."""
    model = learned(UNIFORM[:30], algorithm)
    at_half, shown = pickle.dumps(model), (model.weights_, model.cumulative_losses_)
    before, other = [each.copy() for each in shown], duplicate(model)
    charged = other.update(UNIFORM[30:])
    assert pickle.dumps(model) == at_half
    assert_array_equal(charged, model.update(UNIFORM[30:]))
    assert_same_state(other, model)
    for each, as_before in zip(shown, before, strict=True):
        assert_array_equal(each, as_before)
