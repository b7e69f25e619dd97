"""No stream and no comparator make the regret larger than `regret_bound`.

Of all comparators the hardest minimises its own loss plus the bound: if even that sum
is no less than the learner's loss, no comparator violates the bound. It is looked for
with scipy, starting from the best model in hindsight, itself found with scipy.

Hostile streams have labels against the predictions. In units so far apart that scipy
fails they are learned against the best comparator and random ones; HOSTILE_STREAMS says
how many of these each learner gets.
"""

import os
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from support.comparators import Comparators
from support.registry import CASES, LAYOUTS, LOSS_PARAMETERS, thinned

from sklearn_scinol.estimators import scinol
from sklearn_scinol.evaluation import best_comparator

# Averaging changes what is predicted, not what the algorithm is charged for. Wild
# streams take gradients of squares near the end of the range of numbers.
BOUNDED = [
    case
    for case in CASES
    if not case.average
    and case.has_bound
    and (case.traits.implicit or not case.loss.startswith("squared"))
]
cases = pytest.mark.parametrize("case", BOUNDED, ids=str)

SIZES = [1e-3, 1.0, 1e3]  # of the algorithm's own parameter


def with_ones(X):
    """Rows, and a last column for the intercept."""
    return np.column_stack([X, np.ones(len(X))])


@pytest.mark.cases(20)
@thinned(BOUNDED, growth_and_size=[(1.0, 1.0), (1.5, 1e-3), (1.5, 1e3)])
def test_bound_holds_against_an_adversary(case, growth_and_size):
    """Targets made to contradict each prediction."""
    n, (growth, size) = 40, growth_and_size
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2)) * growth ** np.arange(n)[:, np.newaxis]
    y = case.targets(np.zeros((n, case.n_outputs)))
    estimator = case.make(**case.of_size(size))
    case.partial_fit(estimator, X[:1], y[:1])
    for r in range(1, n):
        decision = case.decision(estimator, X[r : r + 1])
        away = np.where(decision > 0, -1.0, 1.0) * 10.0 ** (r % 4)
        y[r] = case.targets(-decision if case.classifies else away)[0]
        case.partial_fit(estimator, X[r : r + 1], y[r : r + 1])
    Comparators(case, estimator, with_ones(X), y, np.ones(n)).check_hardest()


@pytest.mark.cases(20)
@thinned(BOUNDED)
def test_bound_holds_on_a_long_stream(case):
    """So long that a learner with linear regret would break the bound."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(1000, 1))
    coef = np.linspace(3.0, -3.0, case.n_outputs)
    y = case.targets(X * coef)
    estimator = case.make()
    case.partial_fit(estimator, X, y)
    comparators = Comparators(case, estimator, with_ones(X), y, np.ones(len(y)))
    model = np.column_stack([coef, np.zeros_like(coef)]).ravel()
    for scale in 0.0, 0.1, 0.3, 1.0, 3.0, 10.0:
        comparators.check(scale * model)


@pytest.mark.cases(20)
@cases
def test_bound_before_the_first_trial(case):
    estimator = case.make()
    X, y = case.data(5)
    case.partial_fit(estimator, X, y, sample_weight=np.zeros(5))
    # Newton steps pay for the comparator at once.
    intercept = 0.0 if case.algorithm == "online_newton" else 0.5
    assert estimator.regret_bound(np.zeros(estimator.coef_.shape), intercept) == 0.0


# Hostile streams.

N_HOSTILE = int(os.environ.get("HOSTILE_STREAMS", 6))
N_RANDOM = 20  # comparators


class Hostile(NamedTuple):
    """Rows as bad as they come, and targets that will contradict the predictions."""

    X: np.ndarray
    sizes: np.ndarray  # of targets
    sample_weight: np.ndarray
    is_sparse: bool
    hyperparameter: float

    @classmethod
    def make(cls, rng, widest):
        """Units, and growth from row to row, differ by 10 to the power of `widest`."""
        n, d = rng.integers(2, 41), rng.integers(1, 5)
        draw = [
            rng.standard_normal,
            rng.standard_cauchy,
            lambda size: rng.choice([-1.0, 1.0], size=size),
        ]
        X = draw[rng.integers(3)]((n, d)).clip(-1e6, 1e6)
        X[rng.random(X.shape) < rng.choice([0.0, 0.5, 0.9])] = 0.0
        if rng.random() < 0.3:
            X[:, rng.integers(d)] = X[:, 0] * rng.choice([-1.0, 1.0, 0.1])
        if rng.random() < 0.3:
            X[:, rng.integers(d)] = 1.0
        if rng.random() < 0.5:
            X *= 10.0 ** rng.uniform(-widest / 2, widest / 2, size=d)
        rows = rng.integers(6)
        if rows == 0:
            X *= 10.0 ** rng.uniform(-widest / 2, widest / 2, size=(n, 1))
        elif rows == 1:
            X *= rng.choice([0.5, 1.5]) ** np.arange(n)[:, np.newaxis]
        elif rows == 2:
            X[0] *= 10.0 ** (-widest / 2)
        elif rows == 3:
            X[-1] *= 10.0 ** (widest / 2)
        sizes = 10.0 ** rng.choice([-widest, -3, 0, 0, 0, 3, widest])
        if rng.random() < 0.3:
            sizes = sizes * 10.0 ** rng.uniform(-3, 3, size=n)
        spread = rng.choice([0, 0, 3, widest / 2])
        sample_weight = 10.0 ** rng.uniform(-spread, spread, size=n)
        sample_weight[1:][rng.random(n - 1) < rng.choice([0.0, 0.2])] = 0.0
        limit = 1e99 / np.maximum(sample_weight / sample_weight[0], 1.0)
        X = X.clip(-limit[:, np.newaxis], limit[:, np.newaxis])
        sizes, is_sparse = np.full(n, sizes), rng.random() < 0.5
        return cls(X, sizes, sample_weight, is_sparse, rng.choice(SIZES))

    def attack(self, case, estimator, rng):
        """Let it learn; the targets, which are against what it predicts."""
        y = case.targets(np.zeros((len(self.X), case.n_outputs)))
        container = LAYOUTS[2].container if self.is_sparse else np.array
        resolve = rng.choice([1.0, 0.8, 0.0])  # how often they are
        starts = np.unique(rng.integers(1, len(y) + 1, size=rng.integers(2, 12)))
        for rows in map(slice, [0, *starts], [*starts, len(y)]):
            X = container(self.X[rows])
            if X.shape[0] == 0:
                continue
            against = np.ones((X.shape[0], case.n_outputs))
            if rows.start > 0:
                against = np.where(case.decision(estimator, X) > 0, -1.0, 1.0)
            by_chance = rng.choice([-1.0, 1.0], size=against.shape)
            signs = np.where(rng.random(against.shape) < resolve, against, by_chance)
            signs = signs * self.sizes[rows, np.newaxis]
            if case.classifies and case.n_outputs > 1:
                signs += rng.random(signs.shape) * 1e-3 * np.abs(signs)
            y[rows] = case.targets(signs)
            case.partial_fit(
                estimator, X, y[rows], sample_weight=self.sample_weight[rows]
            )
        return y


def best_model(case, comparators, y, sample_weight):
    """The best in hindsight, as :class:`Comparators` has models."""
    X = comparators.Z[:, :-1] * comparators.units[:-1]
    with warnings.catch_warnings():
        # Rounding leaves a gap where units differ by more than numbers have digits.
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = best_comparator(
            X,
            y,
            loss=case.loss,
            sample_weight=sample_weight,
            multi_class="multinomial" if case.is_joint else "ovr",
            radius=comparators.radius,
            **{"classes": case.classes()["classes"]} if case.classifies else {},
            **LOSS_PARAMETERS.get(case.loss, {}),
        )
    coef = np.column_stack([best.coef, best.intercept])
    return (coef * comparators.units).ravel()


def attacked(case, seed, widest):
    """Comparators of an estimator that has learned a hostile stream, and the stream."""
    rng = np.random.default_rng(seed)
    stream = Hostile.make(rng, widest)
    if not case.classifies and case.loss.startswith("squared"):
        stream = stream._replace(sizes=np.clip(stream.sizes, 1e-40, 1e40))
    estimator = case.make(**case.of_size(stream.hyperparameter))
    y = stream.attack(case, estimator, rng)
    rows = with_ones(stream.X), y, stream.sample_weight
    return Comparators(case, estimator, *rows), stream, y, rng


def check_hostile(case, seed):
    try:
        comparators, stream, y, rng = attacked(case, seed, widest=80)
    except ValueError as error:  # squares of errors may be too large for any model
        assert "Floating-point under-/overflow" in str(error)
        assert case.loss == "squared_error"
        return
    comparators.check(best_model(case, comparators, y, stream.sample_weight))
    size = 1.0 if case.classifies else stream.sizes.max()
    for _ in range(N_RANDOM):
        u = rng.standard_normal(comparators.shape) * 10.0 ** rng.uniform(-3, 3)
        if rng.random() < 0.5:  # small in their own units, not in those of the rows
            u *= np.minimum(comparators.units, 1e80)
        else:
            u *= size
        comparators.check(u.ravel())


@pytest.mark.cases(20)
@thinned(BOUNDED)
def test_bound_holds(case):
    """Against the hardest comparator, where scipy can tell which that is."""
    for k in range(3):
        comparators, *_ = attacked(case, 3 * BOUNDED.index(case) + k, widest=6)
        comparators.check_hardest()


ATTACKED = {}
for case in BOUNDED:
    ATTACKED.setdefault(case.algorithm, []).append(case)


@pytest.mark.cases(20)
@pytest.mark.parametrize("algorithm", ATTACKED)
def test_bound_holds_on_hostile_streams(algorithm):
    """Units and weights up to 80 powers of ten apart, labels against predictions."""
    variants = ATTACKED[algorithm]
    for seed in range(N_HOSTILE):
        check_hostile(variants[seed % len(variants)], seed)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", ATTACKED["scinol2"], ids=str)
def test_bound_holds_in_wide_rows(case, monkeypatch):
    monkeypatch.setattr(scinol, "MAX_SHARE", 1.5)
    for seed in range(N_HOSTILE):
        check_hostile(case, seed)
